"""An instruction's text, taken apart: what it reads, what it writes, and how wide that is."""

import pytest

from ptxsim.clock.operands import TRUE, ZERO_REGISTER, decode
from ptxsim.compiler.disassembly import SassInstruction, control_of


def decoded(text: str):
    opcode = text.split()[text.startswith("@")]
    return decode(SassInstruction(0, opcode, text, 1, None, control_of(0)))


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        (
            "FFMA.FTZ R77, R12, R17.reuse, R77",
            [(0, 12, 1, False), (1, 17, 1, True), (2, 77, 1, False)],
            (77, 1),
        ),
        ("HMMA.16816.F32 R4, R132.reuse, R136, RZ", [(0, 132, 4, True), (1, 136, 2, False)], (4, 4)),
        ("IMAD.WIDE R20, R5, 0x4, R20", [(0, 5, 1, False), (2, 20, 2, False)], (20, 2)),
        ("LDSM.16.M88.4 R132, [R109+UR4+0x400]", [(0, 109, 1, False)], (132, 4)),
        ("LDS.128 R12, [R84+-0x100]", [(0, 84, 1, False)], (12, 4)),
        ("STS.64 [R2+0x8], R6", [(0, 2, 1, False), (1, 6, 2, False)], (-1, 0)),
        ("STG.E.128 desc[UR8][R38.64], R12", [(0, 38, 2, False), (1, 12, 4, False)], (-1, 0)),
        (
            "@P1 LDGSTS.E.BYPASS.LTC128B.128 [R221+0x1000], desc[UR8][R222.64]",
            [(0, 221, 1, False), (1, 222, 2, False)],
            (-1, 0),
        ),
        ("CS2R R74, SRZ", [], (74, 2)),
        ("ISETP.GT.AND P0, PT, R11, 0x7, PT", [(0, 11, 1, False)], (-1, 0)),
    ],
)
def test_registers_that_an_instruction_reads_and_writes(text, reads, writes):
    found = decoded(text)
    assert (list(found.reads), found.writes) == (reads, writes)


def test_a_guard_an_address_and_numbers():
    found = decoded("@!P3 LDG.E R5, desc[UR6][R20.64+-0x10]")
    assert found.guard == ("P", 3, True) and found.name == "LDG"
    address = found.operands[1]
    assert (address.number, address.terms) == (-16, (("R", 20, True),))
    assert decoded("@!PT LDS RZ, [RZ]").guard == ("P", TRUE, True)
    constant, negative = decoded("IADD3 R1, -R2, c[0x0][0x230], -0x1").operands[2:]
    assert (constant.kind, constant.number) == ("const", 0x230) and negative.number == 0xFFFFFFFF
    assert decoded("LOP3.LUT R2, R2, ~R3, RZ, 0xc0, !PT").operands[2].negated
    assert decoded("IADD3 R1, R2, R3, RZ").operands[3].number == ZERO_REGISTER
