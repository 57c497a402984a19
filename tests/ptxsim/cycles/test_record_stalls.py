"""The reader of Nsight Compute's page of instructions (tests/golden/record_stalls.py)."""

from types import SimpleNamespace

import pytest

from tests.golden import record_stalls

HEAD = '"Address","Source","Warp Stall Sampling (All Samples)","stall_barrier","stall_long_sb","stall_wait"'
HEAD += ',"stall_wait (Not Issued)"'
ROWS = [  # instruction, its line, all samples, and those at a barrier, a long scoreboard, a fixed time
    ("LDGSTS.E.128 [R9], desc[UR6][R94.64]", 3, 100, 0, 90, 10),
    ("DEPBAR.LE SB0, 0x1", 4, 10, 0, 0, 10),
    ("@!P0 LDS.128 R76, [R11]", 5, 300, 0, 250, 50),
    ("HGMMA.64x256x16.F32 R24, gdesc[UR4], R24", 6, 200, 0, 0, 20),
    ("WARPGROUP.DEPBAR.LE gsb0, 0x1", 7, 390, 360, 0, 30),
]


def text(rows=ROWS) -> str:
    lines = ['"Kernel Name","k",', HEAD]
    lines += [
        f'"0x{at:x}","   {source}","{all_of}","{barrier}","{long}","{wait}","{wait}"'
        for at, (source, _, all_of, barrier, long, wait) in enumerate(rows)
    ]
    return "\n".join(["==PROF== Connected", *lines, '"0xff","      NOP","0","0","0","0","0"'])


CODE = [
    SimpleNamespace(opcode=source.removeprefix("@!P0 ").split()[0], line=line, call_line=None)
    for source, line, *_ in ROWS
]


def test_a_wait_stands_where_the_source_says_what_is_waited_for():
    ((name, page),) = record_stalls.pages(text())
    assert name == "k"
    assert record_stalls.by_line(page, CODE) == {
        3: {"long_sb": 0.09, "wait": 0.01},
        4: {"long_sb": 0.25, "wait": 0.01},
        5: {"wait": 0.05},
        6: {"gmma": 0.18, "wait": 0.02},
        7: {"gmma": 0.36, "wait": 0.03},
    }


def test_pages_of_several_launches_are_told_apart():
    assert [name for name, page in record_stalls.pages(text() + "\n" + text()) if len(page) == 6] == [
        "k",
        "k",
    ]


def test_other_machine_code_is_refused():
    (_, page), *_ = record_stalls.pages(text(ROWS[1:]))
    with pytest.raises(ValueError, match="other instructions"):
        record_stalls.by_line(page, CODE)
