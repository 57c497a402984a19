"""The list of a launch's findings: how often each was found, and where."""

from ptxsim.ptx.opcode import Opcode
from ptxsim.ptx.program import Instruction, Where
from ptxsim.races.hazards import Hazard, HazardLog


def at(line: int = 7, header: str | None = None) -> Instruction:
    return Instruction(Opcode("trap"), (), None, Where(line, None, header), "trap;")


def found(*where: Instruction) -> list[str]:
    log = HazardLog()
    for place in where:
        log.add("trap", place, "it ends")
    return [str(hazard) for hazard in log.sorted()]


def test_a_finding_is_told_once_and_counted():
    assert found(at()) == ["trap at line 7: it ends"]
    assert found(at(), at()) == ["trap at line 7 (the first of 2): it ends"]
    assert found(at(), at(8)) == ["trap at line 7: it ends", "trap at line 8: it ends"]
    assert Hazard("trap", "trap", 7, None, "it ends").first_of == ""


def test_a_header_is_named_once():
    assert found(at(7, "mma.cuh:3")) == ["trap at line 7: it ends (in mma.cuh:3)"]
    assert found(at(0, "mma.cuh:3")) == ["trap at line 3 of mma.cuh: it ends"]


def test_other_words_for_what_was_counted():
    log = HazardLog()
    log.tell("trap", at(), "once", 1, "", None)
    assert [str(hazard) for hazard in log.sorted()] == ["trap at line 7: once"]
    log.add("trap", at(), "it ends")
    log.tell("trap", at(), "in other words", 1, "", None)
    assert [str(hazard) for hazard in log.sorted()] == ["trap at line 7 (the first of 2): in other words"]
