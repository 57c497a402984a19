"""The figures of lesson 02 say the numbers of what they are given."""

import re

from course_lib import Gemm, benchmark, lesson_kernel, timeline
from course_lib.notebooks.figures import lesson_02
from course_lib.timelines.timeline import Timeline

LESSON, GEMM = "02_producer_consumer", Gemm(4096, 4096, 4096)


def in_turn(shared_mem: int) -> tuple:
    kernel, launch = lesson_kernel(LESSON, "one_buffer")
    return kernel, launch.but(shared_mem=shared_mem)


def test_a_turn_is_load_and_math():
    trace = timeline(in_turn(0)[0], GEMM, in_turn(116 * 1024)[1])
    _, words = lesson_02.turn(trace)
    load, turn, math = (
        int(number.replace(",", ""))
        for number in re.search(r"for ([\d,]+) of ([\d,]+) cycles .* then ([\d,]+) cycles", words).groups()
    )
    assert load + math == turn == trace.turn
    assert f"in a long loop {turn / max(load, math):.2f} times." in words
    assert f"{3 * turn / (load + 3 * math):.2f} times as fast" in words


def test_a_turn_without_a_record_says_so():
    _, words = lesson_02.turn(Timeline("other, 1 x 1 x 1 float32", ("copy", "math")))
    assert "no record of this kernel" in words


def test_the_hand_over_opens_each_barrier_once():
    _, words = lesson_02.hand_over()
    assert words.count("it opens") == 2


def test_alone_and_in_company_stand_side_by_side():
    alone = benchmark(GEMM, {"in turn": in_turn(116 * 1024)}, base="in turn")
    company = benchmark(GEMM, {"in turn": in_turn(0)}, base="in turn")
    _, words = lesson_02.company(alone, company, "in turn")
    assert f"in turn alone {alone.rows[0].tflops:.1f}; as many as fit {company.rows[0].tflops:.1f}." in words
    own, other = (results.rows[0].tflops / results.rows[0].of_peer for results in (alone, company))
    assert words.endswith(f"cuBLAS {own:.1f} ({other:.1f} in the run of: in turn, as many as fit).")
    nothing = benchmark(GEMM, {"in turn": in_turn(48)}, base="in turn")
    assert "not every kernel" in lesson_02.company(alone, nothing, "in turn")[1]
