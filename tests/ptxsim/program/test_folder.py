"""The folder of a run: gone when it ends, and when it was killed, gone with the next."""

import os
import subprocess
import sys
import tempfile

import pytest

from ptxsim.program import folder
from tests.rules import ROOT

RUN = """
import sys, time
from ptxsim.program import folder
with folder.of_a_run() as own:
    (own / "program").write_text("made")
    print(own, flush=True)
    time.sleep(100)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def _old(path) -> None:
    os.utime(path, (1_000_000_000,) * 2)


def test_it_is_gone_at_the_end(place):
    with folder.of_a_run() as own:
        assert own.parent == place
    assert list(place.iterdir()) == []


def test_what_a_killed_run_left_goes_and_what_another_holds_stays(place):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(place)}
    command = [sys.executable, "-c", RUN]
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    try:
        killed, held = (each.stdout.readline().strip() for each in running)
        running[0].kill()
        running[0].wait()
        for each in (killed, held):
            _old(each)
        with folder.of_a_run():
            assert not os.path.exists(killed) and os.path.exists(held)
    finally:
        for each in running:
            each.kill()
            each.communicate()


def test_what_is_only_being_made_or_is_no_folder_of_a_run_stays(place):
    for name in ("ptxsim-new", "ptxsim-other"):
        (place / name).mkdir()
    (place / "ptxsim-new" / folder.HELD).touch()
    _old(place / "ptxsim-other")
    with folder.of_a_run():
        assert (place / "ptxsim-new").exists() and (place / "ptxsim-other").exists()
