"""Where every cycle went: it sums to the launch's time, names the line that waits, and draws it."""

import re

import pytest

import ptxsim
from course_lib import Gemm, lesson_kernel
from instruments import bubbles
from instruments.bubbles import LOOKS


@pytest.fixture(scope="module")
def one_stage():
    kernel, launch = lesson_kernel("04_tensor_cores", "one_stage")
    return bubbles(kernel, Gemm(4096, 4096, 4096, "float16"), launch)


def test_the_cycles_of_all_lines_are_the_launch_s(one_stage):
    assert sum(sum(found.values()) for found in one_stage.lines.values()) == pytest.approx(one_stage.cycles)
    assert sum(one_stage.reasons.values()) == pytest.approx(1)
    assert one_stage.cycles / one_stage.launch.clock_mhz / 1e3 == pytest.approx(one_stage.launch.ms, rel=0.02)


def test_it_names_the_line_at_which_warps_wait_for_copies(one_stage):
    """One stage: its copies are waited for as soon as they are issued."""
    assert next(iter(one_stage.reasons)) == "copies"
    reason, share = next(iter(one_stage.at("wait").items()))
    assert reason == "copies" and share > 0.25
    assert "issues" in one_stage.at("multiply")
    with pytest.raises(ValueError, match="no line of one_stage"):
        one_stage.at("nothing like this")


def test_text_and_drawing_have_the_lines_their_bars_and_what_they_are(one_stage):
    text = repr(one_stage)
    assert text.startswith("one_stage, Gemm(M=4096") and "modelled on machine code, H100 at 1,770 MHz" in text
    assert re.search(r"\d+\.\d%  \S*c{5,}\S* .*wait", text)
    page = one_stage._repr_html_()
    assert page.count("role='img'") == len(one_stage._shown()) and "background:" in page
    assert "copies 4" in page or "copies 3" in page


def test_each_reason_has_a_look():
    assert set(LOOKS) == set(ptxsim.REASONS)
    assert len({letter for letter, _ in LOOKS.values()}) == len(LOOKS)
