"""Shares by source line: a wait stands at the line that says it."""

from ptxsim import SassInstruction, by_line
from ptxsim.compiler.disassembly import control_of

CODE = [
    ("LDGDEPBAR", 5), ("DEPBAR.LE", 6), ("BAR.SYNC.DEFER_BLOCKING", 7), ("IADD3", 8), ("LDSM.16.M88.4", 9),
    ("SYNCS.PHASECHK.TRANS64.TRYWAIT", 10), ("BRA", 11), ("FFMA", 0),
]  # fmt: skip
INSTRUCTIONS = [
    SassInstruction(16 * at, opcode, opcode, line, 12 if not line else None, control_of(0))
    for at, (opcode, line) in enumerate(CODE)
]


def lines(reason, *at):
    return list(by_line(INSTRUCTIONS, {(one, reason): 0.5 for one in at}))


def test_a_wait_is_that_of_its_own_line():
    assert lines("copies", 2) == [6] and lines("copies", 1) == [6], "behind the wait, or at it"
    assert lines("copies", 4) == [9], "and nowhere else"
    assert lines("barrier", 3) == [7] and lines("barrier", 4) == [7], "arithmetic may go on behind a barrier"
    assert lines("barrier", 6) == lines("copies", 6) == [10], "an mbarrier"
    assert lines("barrier", 0) == [5], "no barrier stands before it"


def test_other_reasons_stay_and_a_function_s_are_at_its_call():
    assert lines("issues", 2) == [7]
    assert lines("fixed time", 7) == [12]
    assert by_line(INSTRUCTIONS, {(9, "branch"): 0.1, (7, "branch"): 0.2}) == {12: {"branch": 0.1 + 0.2}}
