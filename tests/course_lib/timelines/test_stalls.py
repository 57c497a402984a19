"""Waits by Nsight Compute's samples of the program counter: of a page as ncu prints it."""

from course_lib.check.job import Job
from course_lib.measure import ncu, samples
from course_lib.timelines import stalls

ROWS = [  # instruction, samples, of them at a long scoreboard, at a barrier
    ("LDGSTS.E.BYPASS.128 [R9], desc[UR6][R94.64]", 100, 90, 0),
    ("LDGDEPBAR", 10, 0, 0),
    ("DEPBAR.LE SB0, 0x1", 10, 0, 0),
    ("BAR.SYNC.DEFER_BLOCKING 0x0", 300, 290, 0),
    ("LDG.E R5, desc[UR6][R94.64]", 0, 0, 0),
    ("LDS.128 R76, [R11]", 100, 10, 80),
    ("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR7], R2", 0, 0, 0),
    ("@!P0 BRA 0x7f7d777e2dd0", 60, 50, 0),
    ("WARPGROUP.DEPBAR.LE gsb0, 0x1", 320, 0, 310),
    ("UCGABAR_WAIT", 100, 0, 100),
]


def page() -> str:
    lines = ['"Kernel Name","k",', '"Address","Source","# Samples","stall_barrier","stall_long_sb"']
    lines += [
        f'"0x{at:x}","   {text}","{n}","{barrier}","{long}"'
        for at, (text, n, long, barrier) in enumerate(ROWS)
    ]
    return "\n".join(lines)


def test_a_wait_is_seen_behind_it_and_a_load_is_none():
    ((_, rows),) = samples.pages("==PROF== Connected\n" + page())
    assert stalls.shares(rows) == {"wait": 0.34, "barrier": 0.08}


def test_without_ncu_there_are_none(monkeypatch):
    def missing(*_):
        raise RuntimeError("ncu was not found")

    monkeypatch.setattr(ncu, "profiled", missing)
    assert stalls.sampled(Job(None, None, None)) == {}
