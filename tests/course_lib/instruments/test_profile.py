"""What Nsight Compute counted: its CSV, the record of it, the table and the bars."""

import json
import subprocess
from pathlib import Path

import pytest

from course_lib import Gemm, Launch
from course_lib.instruments import profile
from course_lib.measure import ncu, records
from cupy_or_sim import timing
from cupy_or_sim.cupy_on_numpy import RawKernel

GEMM = Gemm(4096, 4096, 4096)
SOURCE = 'extern "C" __global__ void one(const float* A) {}'
TWO = {"one": (RawKernel(SOURCE, "one"), Launch()), "other": (RawKernel(SOURCE, "one"), Launch(threads=128))}
BUSY, TIME = "FMA units busy, %", "time, us"
CSV = """==PROF== Connected
"ID","Kernel Name","{time}","{busy}"
"","","ns","%"
"0","one","504,432","43.75"
"1","one","315200","n/a"
"""


@pytest.fixture
def record(tmp_path, monkeypatch):
    """Profiles of both kernels, written as `make record` does."""
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    path = tmp_path / "nvidia-h100.json"
    with monkeypatch.context() as patch:
        patch.setenv("COURSE_RECORD", str(path))
        patch.setattr(timing, "name", lambda: "NVIDIA H100")
        patch.setattr(timing, "provenance", lambda: {"gpu": "NVIDIA H100", "nvrtc": "13.0"})
        patch.setattr(
            ncu, "collect", lambda gemm, launches: {"one": {BUSY: 57.0, TIME: 504.4}, "other": {BUSY: 75.0}}
        )
        profile(GEMM, TWO)
    return path


def test_the_csv_becomes_numbers_in_the_units_of_their_names():
    text = CSV.format(time=ncu.METRICS[TIME], busy=ncu.METRICS[BUSY])
    assert ncu.table(text) == [{TIME: 504.4, BUSY: 43.75}, {TIME: 315.2}]


def test_replay(record, capsys):
    found = profile(GEMM, TWO, BUSY, TIME)
    assert found["one", BUSY] == 57.0 and found["other", TIME] is None
    assert repr(found).splitlines() == [
        "C = A @ B.T, 4096 x 4096 x 4096 float32",
        f"recorded by Nsight Compute on NVIDIA H100, {timing.today()}",
        "                     one  other",
        "FMA units busy, %   57.0   75.0",
        "time, us           504.4      -",
    ]
    assert "<td>57.0</td>" in found._repr_html_()
    found.plot()
    assert "FMA units busy, %: one 57, other 75." in capsys.readouterr().out
    entries = json.loads(record.read_text())["profiles"].values()
    assert {entry["threads"] for entry in entries} == {256, 128}


def test_an_edited_kernel_has_no_profile(record, capsys):
    found = profile(GEMM, {"one": (RawKernel(SOURCE.replace("{}", "{ int i; }"), "one"), Launch())}, BUSY)
    assert found["one", BUSY] is None and "no record of these kernels" in repr(found)
    found.plot()
    assert "nothing to draw" in capsys.readouterr().out


def test_a_metric_that_is_not_there_is_named(record):
    with pytest.raises(ValueError, match="there is no metric 'time'; metrics: time, us; SM clock"):
        profile(GEMM, TWO, "time")
    with pytest.raises(KeyError, match="there is no metric 'busy'"):
        _ = profile(GEMM, TWO)["one", "busy"]


def test_each_kernel_is_counted_once_in_its_order(monkeypatch):
    """Also two launches of one kernel name: ncu gives them in the order in which they ran."""
    asked = []

    def run(command, **_):
        asked.append([command, json.loads(Path(command[-1]).read_text())])
        text = CSV.format(time=ncu.METRICS[TIME], busy=ncu.METRICS[BUSY])
        return subprocess.CompletedProcess(command, 0, text, "")

    monkeypatch.setattr(ncu, "find", lambda: "ncu")
    monkeypatch.setattr(subprocess, "run", run)
    assert ncu.collect(GEMM, TWO) == {"one": {TIME: 504.4, BUSY: 43.75}, "other": {TIME: 315.2}}
    ((command, jobs),) = asked
    assert command[command.index("--kernel-name") + 1] == "regex:^(one)$"
    assert [job["launch"].get("threads") for job in jobs] == [256, 128]
    monkeypatch.setattr(
        ncu.subprocess, "run", lambda *a, **k: subprocess.CompletedProcess([], 1, "", "ERR_NVGPUCTRPERM")
    )
    with pytest.raises(RuntimeError, match="ncu failed: ERR_NVGPUCTRPERM"):
        ncu.collect(GEMM, TWO)


def test_what_ncu_prints_is_recorded_and_shown_again(tmp_path, monkeypatch, capsys):
    """On a GPU ncu is asked, and its answer kept, a refusal too; elsewhere the answer is shown."""
    kernel, launch = TWO["other"]
    answers = iter(
        [
            "==PROF== Connected\n[7] python@127.0.0.1\n  one (32, 32, 1)x(128, 1, 1)\n\n  metric  1\n",
            "==ERROR== unknown\n",
        ]
    )

    def run(command, **_):
        assert command[1:5] == ["--section", "Occupancy", "--clock-control", "none"]
        return subprocess.CompletedProcess(command, 0, next(answers), "")

    path = tmp_path / "nvidia-h100.json"
    with monkeypatch.context() as patch:
        patch.setenv("COURSE_RECORD", str(path))
        patch.setattr(ncu.limits, "runs_here", lambda kernel, launch: True)
        patch.setattr(timing, "name", lambda: "NVIDIA H100")
        patch.setattr(timing, "provenance", lambda: {"gpu": "NVIDIA H100", "nvrtc": "13.0"})
        patch.setattr(ncu, "find", lambda: "ncu")
        patch.setattr(ncu.subprocess, "run", run)
        ncu.ncu(kernel, GEMM, launch, "--section Occupancy")
        ncu.ncu(kernel, GEMM, Launch(threads=64), "--section  Occupancy")
    printed = capsys.readouterr().out
    assert "$ ncu --section Occupancy ./gemm_app\nNVIDIA H100, now\n  one (32, 32, 1)x" in printed
    assert "PROF" not in printed and "python@" not in printed and "==ERROR== unknown" in printed
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    ncu.ncu(kernel, GEMM, launch, "--section Occupancy")
    ncu.ncu(kernel, GEMM, launch, "--section Other")
    printed = capsys.readouterr().out
    assert (
        f"recorded on NVIDIA H100, {timing.today()}\n  one (32, 32, 1)x(128, 1, 1)\n  metric  1\n" in printed
    )
    assert printed.splitlines()[-1].startswith("no record of this kernel and these options: it needs a GPU")


@pytest.mark.parametrize(
    ("found", "says"),
    [(None, "ncu was not found"), ("==ERROR== ERR_NVGPUCTRPERM - ...", "may not read the counters here")],
)
def test_where_ncu_is_missing_or_may_not_count_the_record_is_shown(
    found, says, monkeypatch, tmp_path, capsys
):
    def find():
        if not found:
            raise RuntimeError("ncu was not found")
        return "ncu"

    monkeypatch.setattr(ncu.limits, "runs_here", lambda kernel, launch: True)
    monkeypatch.setattr(ncu, "find", find)
    monkeypatch.setattr(ncu.subprocess, "run", lambda c, **_: subprocess.CompletedProcess(c, 1, found, ""))
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    kernel, launch = TWO["one"]
    ncu.ncu(kernel, GEMM, launch, "--section Occupancy")
    printed = capsys.readouterr().out
    assert says in printed and "no record of this kernel" in printed
