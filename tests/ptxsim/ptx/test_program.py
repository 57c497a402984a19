"""What a program's text says: literals (PTX ISA, "Constants")."""

import numpy as np
import pytest

import ptxsim
from ptxsim.ptx.program import Where
from tests.ptxsim.small_kernels import run_on_numbers


@pytest.mark.parametrize(
    ("literal", "value"),
    [("17", 17), ("-17", -17), ("0x1F", 31), ("0X1fU", 31), ("017", 15), ("0b101", 5), ("0", 0)],
)
def test_a_whole_number_has_its_base(literal, value):
    body = f'int value;\nasm("mov.s32 %0, {literal};" : "=r"(value));\nout[t] = value;'
    report, out = run_on_numbers(body, 32, block=32)
    assert report.ok and (out == value).all()


@pytest.mark.parametrize(("literal", "value"), [("0f3F800000", 1), ("0F40400000", 3), ("0f00000000", 0)])
def test_a_float_is_given_by_its_bits(literal, value):
    body = f'float value;\nasm("mov.f32 %0, {literal};" : "=f"(value));\nout[t] = (int)value;'
    report, out = run_on_numbers(body, 32, block=32)
    assert report.ok and (out == value).all()


def test_a_list_of_one_register_is_the_register():
    """So Triton writes it."""
    body = 'int value;\nasm("ld.global.b32 {%0}, [%1 + 0];" : "=r"(value) : "l"(in + t));\n'
    body += 'asm("st.global.b32 [%0 + 0], {%1};" :: "l"(out + t), "r"(value + 1));'
    report, out = run_on_numbers(body, 32, block=32)
    assert report.ok and (out == np.arange(1, 33)).all()


NUMBERED = r"""
/* two lines
of a comment */ .version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) // another one
{
    .reg .b64 %a<2>;
    ld.param.u64 %a1, [p];
    st.global.u32
        [%a1+256], 1;
    ret;
}
"""


def test_a_text_without_lines_has_its_own():
    """Nothing names a line of a source: the PTX is what its reader has."""
    report = ptxsim.launch(ptxsim.from_ptx(NUMBERED), 1, 1, (np.zeros(64, np.int32),))
    assert [hazard.line for hazard in report.hazards] == [10]
    assert "      10 | st.global.u32" in str(report)


def test_a_line_that_nothing_names():
    assert str(Where()) == "a line that the PTX does not name"
