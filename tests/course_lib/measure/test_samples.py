"""Nsight Compute's samples by machine instruction: real lines in the words of the model, and why there are none."""

import subprocess
from pathlib import Path

import pytest

from course_lib import Gemm, lesson_kernel
from course_lib.check.job import Job
from course_lib.measure import ncu, samples
from course_lib.measure.places import lines_at

CUT = (Path(__file__).parent / "samples_h100.csv").read_text()
"""A few lines each of what ncu printed of three lesson kernels on an H100 80GB HBM3, 2026-11-27."""


def cut(name):
    return dict(samples.pages(CUT))[name]


def largest(rows, reason):
    """The instruction with the most of a reason, and its share."""
    found = {at: share for (at, name), share in samples.shares(rows).items() if name == reason}
    at = max(found, key=found.get)
    return rows[at].opcode, round(found[at], 3)


def test_pages_have_each_kernel_s_instructions_and_all_their_samples():
    assert [name for name, _ in samples.pages(CUT)] == ["through_registers", "one_stage", "one_slot"]
    rows = cut("one_slot")
    assert [row.opcode for row in rows] == [
        "SYNCS.PHASECHK.TRANS64.TRYWAIT", "BRA", "HGMMA.64x256x16.F32", "WARPGROUP.DEPBAR.LE",
    ]  # fmt: skip
    assert rows[1].samples == 22165 and rows[1].stalls["long_sb"] == 22048
    assert all(sum(row.stalls.values()) == row.samples for _, page in samples.pages(CUT) for row in page)


@pytest.mark.parametrize("name", ["through_registers", "one_stage", "one_slot"])
def test_shares_sum_to_one(name):
    assert sum(samples.shares(cut(name)).values()) == pytest.approx(1)


def test_each_reason_has_the_model_s_name():
    registers, stage, slot = map(cut, ("through_registers", "one_stage", "one_slot"))
    assert largest(registers, "global memory") == ("STS.128", 0.144), "a load is waited for where it is used"
    assert largest(registers, "barrier") == ("LDS.128", 0.412)
    assert largest(registers, samples.OTHER) == ("STS.128", 0.063)
    assert largest(stage, "copies") == ("BAR.SYNC.DEFER_BLOCKING", 0.719), "behind DEPBAR"
    assert largest(slot, "copies") == ("BRA", 0.599), "an mbarrier"
    assert largest(slot, "pipe busy") == ("WARPGROUP.DEPBAR.LE", 0.386), "wgmma"
    assert not any(reason == "barrier" for _, reason in samples.shares(slot))


def test_wgmma_s_queue_has_no_column():
    columns = '"Address","Source","# Samples","stall_mio","stall_mio (Not Issued)"'
    page = f'"Kernel Name","k",\n{columns}\n"0x0","HGMMA.64x256x16.F32 R24","30","10","7"\n'
    ((_, rows),) = samples.pages(page)
    assert rows[0].stalls == {"gmma": 20, "mio": 10}
    assert samples.shares(rows) == {(0, "pipe busy"): pytest.approx(1)}, "both wait for the tensor cores"


def test_a_long_scoreboard_is_that_of_the_last_access_before_it():
    """Who waits until a copy's address or a store's value has been read, until a load has come, for an mbarrier."""
    lines = ["LDGSTS.E.128 [R9], desc[UR6][R94.64]", "IADD3 R94, R94, 0x1, RZ"]
    lines += ["STG.E desc[UR14][R10.64], R153", "F2FP.F16.F32.PACK_AB R153, R65, R64"]
    lines += [
        "LDG.E R5, desc[UR6][R94.64]",
        "STS [R4], R5",
        "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR6], R2",
        "@!P0 BRA 0x7",
    ]
    page = ['"Kernel Name","k",', '"Address","Source","# Samples","stall_long_sb"']
    page += [f'"0x{at}","{line}","{10 * (at % 2)}","{10 * (at % 2)}"' for at, line in enumerate(lines)]
    ((_, rows),) = samples.pages("\n".join(page))
    assert samples.shares(rows) == {
        (1, "copies"): 0.25,
        (3, "global memory"): 0.25,
        (5, "global memory"): 0.25,
        (7, "copies"): 0.25,
    }


def test_an_entry_is_read_in_the_lines_of_another_text():
    text = "// new\nint a;\nint b;\n"
    of_b = next(place for place, line in lines_at(text).items() if line == 3)
    entry = {"shares": {"-1": {"issues": 0.1}, "0": {"barrier": 0.2}, str(of_b): {"copies": 0.7}}}
    assert samples.lines_of(entry, text) == {0: {"issues": 0.1}, 2: {"barrier": 0.2}, 3: {"copies": 0.7}}


@pytest.fixture
def job():
    kernel, launch = lesson_kernel("04_tensor_cores", "one_stage")
    return Job(kernel, Gemm(4096, 4096, 4096, "float16"), launch)


@pytest.mark.parametrize(
    "printed, why",
    [
        ("==ERROR== ERR_NVGPUCTRPERM", "an administrator must allow it"),
        ("==PROF== Disconnected", "took no samples of one_stage"),
        ('"Kernel Name","one_stage",\n"Address","Source","# Samples"', "took no samples of one_stage"),
    ],
)
def test_why_there_are_none_is_said(job, printed, why, monkeypatch):
    monkeypatch.setattr(ncu, "profiled", lambda *_: subprocess.CompletedProcess([], 1, printed, ""))
    with pytest.raises(RuntimeError, match=why):
        samples.sampled(job)


def test_ncu_that_does_not_end(job, monkeypatch):
    def slow(*_):
        raise subprocess.TimeoutExpired("ncu", ncu.TIMEOUT)

    monkeypatch.setattr(ncu, "profiled", slow)
    with pytest.raises(RuntimeError, match="not through after 300 s"):
        samples.sampled(job)


def test_other_machine_code_is_refused(job):
    with pytest.raises(RuntimeError, match="the machine code that ncu saw of one_stage is not the one"):
        samples.entry(job, cut("one_stage"), "sm_90")
