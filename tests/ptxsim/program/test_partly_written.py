"""Words in global memory of which only a part was written: whoever uses the rest is told, and nobody else."""

import re
from pathlib import Path

import pytest

from ptxsim.__main__ import main

CU = Path(__file__).parent / "cu"
READ = [
    n for n, text in enumerate((CU / "partly.cu").read_text().splitlines(), 1) if text.endswith("// READ")
]


@pytest.mark.parametrize("faulty", [False, True])
def test_what_nobody_wrote_is_told_where_it_is_used(nvcc, monkeypatch, capfd, faulty):
    monkeypatch.chdir(CU)
    status = main(["run", "partly.cu", *(["-D", "FAULTY"] * faulty)])
    printed, report = capfd.readouterr()
    found = [(int(line), kind) for line, kind in re.findall(r"^partly\.cu:(\d+): ([\w-]+)", report, re.M)]
    assert (status, printed) == (int(faulty), "no error\n"), report
    assert found == [(line, "uninitialised-read") for line in READ if faulty], report
