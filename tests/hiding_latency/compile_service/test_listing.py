"""The program that lists machine code: within the limits of the copy that started it, ended with it, walled in."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hiding_latency.compile_service import listing, walls
from hiding_latency.compile_service.limits import Limits
from ptxsim.compiler import ToolMissing
from tests.rules import ROOT

from .ask import ENDLESS, GOOD, ask, error
from .conftest import serving

DESK = """
import io, json, sys
from cupy_or_sim.device import INCLUDE
from hiding_latency.compile_service import walls
from hiding_latency.compile_service.limits import Limits
from hiding_latency.compile_service.questions import Question
from hiding_latency.compile_service.worker import FIRST, Desk
from ptxsim.compiler import nvrtc
limits, lister, walled = json.loads(sys.argv[1])
if not walled:
    walls.version = lambda: 0
known, answers = nvrtc.all_headers([INCLUDE]), io.StringIO()
nvrtc.compile_enclosed("ptx", FIRST, (), (), known)
desk = Desk(known, Limits(**limits), answers, lister, "no lister")
desk._begin(1, Question(FIRST, (), (), "code"))
while desk._at_work:
    desk._hear(next(iter(desk._at_work)))
print(answers.getvalue())
"""


def listed_by(*lister, walled=True, **limits):
    """Status and answer when this program stands in nvdisasm's place."""
    limits = {"seconds": 1.0, "patience": 60.0, "memory": 64 << 20} | limits
    done = subprocess.run(
        [sys.executable, "-c", DESK, json.dumps([limits, lister, walled])],
        env=os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    _, status, said, lasting = json.loads(done.stdout)
    return status, str(said), lasting


def test_a_lister_that_never_ends_is_stopped():
    status, said, lasting = listed_by("/bin/sh", "-c", "while :; do :; done")
    assert status == 422 and "was stopped after 1 seconds of work" in said and not lasting


def test_one_that_waits_ends_with_its_copy():
    mark = str(4000 + os.getpid())  # seconds, and by this number it is found
    began = time.monotonic()
    status, said, _ = listed_by("/bin/sleep", mark, patience=1.5)
    assert status == 503 and "not done in 1.5 seconds" in said and time.monotonic() - began < 60
    time.sleep(0.2)
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(mark.encode() in line and b"sleep" in line.split(b"\0")[0] for line in lines)


def test_one_that_says_too_much_is_stopped():
    status, said, _ = listed_by("/usr/bin/yes", seconds=20)
    assert status == 422 and "It may take 64 MB for a text" in said


@pytest.mark.skipif(not walls.version(), reason="this system has no Landlock")
def test_it_reads_and_writes_no_file_of_the_machine(tmp_path):
    secret, written = tmp_path / "secret", tmp_path / "written"
    secret.write_text("/*0000*/ secret 4711 /* 0x0000000000000000 */\n")
    reading = f'while read -r line; do echo "$line"; done < {secret}'
    status, said, _ = listed_by("/bin/sh", "-c", reading)
    assert status == 503 and "4711" not in said
    assert "secret 4711" in listed_by("/bin/sh", "-c", reading, walled=False)[1], "the wall alone keeps it"
    listed_by("/bin/sh", "-c", f"echo 1 > {written}")
    assert not written.exists()


def test_machine_code_that_is_too_long_is_not_listed():
    status, said, _ = listed_by("/bin/false", answer=500)
    assert status == 422 and "and at most 500 are sent: unroll less" in said


def test_a_text_that_does_not_end_is_stopped_before(service):
    status, why = error(service, ENDLESS % 170, kind="code", arch="sm_90")
    assert status == 422 and "was stopped after" in why
    assert ask(service, GOOD % 2, kind="code", arch="sm_90")[1]["code"].startswith(".text.k:")


def test_without_walls_nothing_is_listed_and_in_a_sandbox_of_ones_own_it_is(monkeypatch):
    monkeypatch.setattr(walls, "version", lambda: 0)
    with pytest.raises(ToolMissing, match="this system has no Landlock"):
        listing.command(Limits())
    assert listing.command(Limits(walls=False))[-1] == listing.INPUT


def test_a_machine_without_nvdisasm_says_so_and_compiles(book, monkeypatch, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "from cuda import pathfinder\npathfinder.find_nvidia_binary_utility = lambda name: None\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT)]))
    with serving(book, at_once=1) as server:
        status, why = error(server, GOOD % 1, kind="code", arch="sm_90")
        assert status == 503
        assert why.startswith("The machine that serves this page lists no machine code. nvdisasm, NVIDIA's")
        assert ask(server, GOOD % 1)[0] == 200
