"""Where a command finds the lessons and a learner's copies."""

import pytest

from hiding_latency import places


def test_in_a_clone_the_copies_are_the_clones():
    here = places.here()
    assert here == places.clone(places.ROOT)
    assert here.folder == places.ROOT / "my_lessons" and not here.alone


@pytest.mark.parametrize(("folder", "installed"), [("mine", False), ("mine", True), (None, True)])
def test_a_named_folder_and_an_installed_courses_lie_alone(monkeypatch, tmp_path, folder, installed):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(places, "INSTALLED", installed)
    monkeypatch.setattr(places.metadata, "version", lambda name: "2.0.0")
    here = places.here(folder)
    assert here.folder == tmp_path / (folder or "my_lessons") and here.alone
    assert here.version == ("2.0.0" if installed else places.version_of(places.ROOT))
