"""Which notebooks `python -m tools.author.outputs` runs."""

import pytest

from hiding_latency.outcome import name_of
from tools.author import outputs

DEEPER = {"deeper/01_banks", "deeper/01_counts", "deeper/01_loop_and_grid"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("01", {"01_mainloop", "exercises/01_mainloop", *DEEPER}),
        ("01_mainloop", {"01_mainloop"}),
        ("exercises/01", {"exercises/01_mainloop"}),
        ("deeper/01_c", {"deeper/01_counts"}),
    ],
)
def test_a_number_names_a_lesson_with_all_that_belongs_to_it(monkeypatch, name, expected):
    monkeypatch.setenv("COURSE_BACKEND", "simulator")  # main sets it
    ran = set()
    monkeypatch.setattr(outputs, "renew", lambda path: not ran.add(name_of(path)))
    assert outputs.main((name,)) == 0
    assert ran == expected


def test_a_lesson_that_fails_keeps_its_outputs_and_ends_make_outputs(tmp_path, monkeypatch):
    (tmp_path / "01_a.ipynb").write_text("as it was")
    monkeypatch.setattr(outputs, "compile_anew", lambda *_: None)
    assert not outputs.renew(tmp_path / "01_a.ipynb")
    assert (tmp_path / "01_a.ipynb").read_text() == "as it was"


def test_a_name_of_nothing_is_said(capsys):
    assert outputs.main(("2",)) == 2
    assert "No notebook begins with 2." in capsys.readouterr().err
