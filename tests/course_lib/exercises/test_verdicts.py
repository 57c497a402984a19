"""What a verdict says of a long finding, and of a compiler's log: whole lines, from their first word on."""

import html
import re
from collections import Counter

import pytest

import ptxsim
from course_lib import OPTIONS, check_exercise, cp
from course_lib.exercises import hints, verdicts
from course_lib.exercises.answers import exercises
from course_lib.exercises.verdicts import ExerciseVerdict, _in_short
from course_lib.lessons import sources
from ptxsim.machine.machine import Machine
from tests.lessons.reading import LESSONS

HAZARDS = """two_readers: 2 hazards found
write-after-read at line 13 (the first of 3): thread 0 of block 0 writes slot[0]
      13 | slot[lane] = in[32 * piece + lane];
deadlock at line 9 of named_barrier.cuh: no thread can go on"""
GEMM = "check failed with M=192, N=128, K=48 (k-tiles: 3): no hazard, wrong numbers\n"
WRONG = (
    "8186 of 8192 elements of C are wrong: rows 0 to 127, columns 0 to 63.\nThe first is row 0, column 0: ..."
)


@pytest.fixture(autouse=True)
def nobody_failed_yet(monkeypatch):
    monkeypatch.setattr(verdicts, "_not_yet", Counter())


@pytest.mark.parametrize(
    "finding",
    [
        "the report does not name element 256 of the tile.",
        "what is stored lacks the 1 of 1 + erf.",
        "the product is right, but 0 of 1 k-tiles are loaded ahead of the math.",
        "right with 4 slots, but only 1 of 3 k-tiles are on their way during the math.",
        "with 5 tiles: 64 of 64 results are wrong.",
        "32 of 32 sums are wrong or missing.",
    ],
)
def test_a_finding_of_one_line_is_told_whole(finding):
    assert _in_short(finding) == finding


@pytest.mark.parametrize(
    ("finding", "short"),
    [
        (f"with 4 pieces: {HAZARDS}", "write-after-read at line 13."),
        (HAZARDS.splitlines()[-1], "deadlock at line 9 of named_barrier.cuh."),
        (GEMM + WRONG, WRONG.splitlines()[0]),
        (f"{GEMM}{WRONG}\nWhat was written equals A @ B.T.", "What was written equals A @ B.T."),
    ],
)
def test_of_a_long_finding_the_most_telling_line_is_told(finding, short):
    assert _in_short(finding) == short


INCLUDE = "#include <course/cp_async.cuh>\n"
UNUSED = "float a = 0; "  # a warning, too


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("p[0] = nothing;", 'line 2: error: identifier "nothing" is undefined'),
        (
            "copy_async<16>(&p[0], p[4]);",
            'line 2: error: no instance of function template "copy_async" matches the argument list; '
            "argument types are: (float *, float); ",
        ),
        ("copy_async<12>(p, p);", "at line 2 of kernel.cu"),
    ],
)
def test_a_compile_error_says_what_was_given(body, said):
    source = INCLUDE + f'extern "C" __global__ void outer(float* p) {{ {UNUSED}{body} }}'
    verdict = repr(check_exercise("00.1", cp.RawKernel(source, "outer", options=OPTIONS)))
    assert verdict.startswith("00.1 not yet: it does not compile. ") and said in verdict
    assert (
        "^" not in verdict
        and "\n" not in verdict
        and "__global__" not in verdict
        and "warning" not in verdict
    )


@pytest.mark.parametrize(
    ("body", "meant"),
    [
        ("int n = (threadIdx.x // 32);   // column\np[n] = 0;", True),
        ("int n = threadIdx.x // warp_size;\np[n] = 0;", True),
        ("int n = threadIdx.x // (2 * 16);\np[n] = 0;", True),
        ("int n = threadIdx.x   // the thread;\np[n] = 0;", False),
        ("int n = threadIdx.x;  // 32\np[n] = 0", False),
    ],
)
def test_a_division_of_python_is_told_where_the_compiler_misses_a_bracket(body, meant):
    source = f'extern "C" __global__ void outer(float* p) {{\n{body}\n}}'
    verdict = repr(check_exercise("00.1", cp.RawKernel(source, "outer", options=OPTIONS)))
    assert "error: expected a" in verdict
    assert ("begins a comment" in verdict) == meant


TILE = r"""
extern "C" __global__ void difference(const float* x, float* y)
{
    __shared__ float tile[256];
    tile[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = tile[(threadIdx.x + 255) % 256] - @;
}
"""


@pytest.mark.parametrize(
    ("value", "link", "more"),
    [("1", "line 6", ""), ("nothing", "line 6", ': error: identifier "nothing" is undefined')],
)
def test_a_line_in_a_verdict_is_a_link_in_its_page_and_plain_in_its_text(value, link, more):
    verdict = check_exercise("00.3", cp.RawKernel(TILE.replace("@", value), "difference", options=OPTIONS))
    page = verdict._repr_html_()
    title = html.escape(verdict.text)
    assert f'<a href="#cuda-line/difference/6" title="{title}">{link}</a>{more}' in page
    assert page.count("<a ") == 1 and html.unescape(re.sub("<[^>]+>", "", page)) == repr(verdict)


def test_what_fails_in_the_simulator_is_no_verdict_on_the_answer(monkeypatch):
    """02.1 once said "not yet: Cannot cast array data" and gave a hint."""

    def fail(machine):
        raise TypeError("Cannot cast array data")

    monkeypatch.setattr(Machine, "run", fail)
    with pytest.raises(ptxsim.SimulatorError, match="mistake in the simulator"):
        check_exercise("00.3", cp.RawKernel(TILE.replace("@", "1"), "difference", options=OPTIONS))


def test_a_verdict_without_a_kernel_is_text_alone():
    for answer in (None, 7, cp.RawKernel(TILE.replace("@", "____"), "difference", options=OPTIONS)):
        assert check_exercise("00.3", answer)._repr_html_() is None


@pytest.mark.parametrize(
    ("finding", "lines"),
    [
        ("write-after-read at line 13.", ["13"]),
        ("write-after-read at line 9 of cp_async.cuh, called from line 13.", ["13"]),
        ('static assertion failed with "x" at line 12 of kernel.cu', ["12"]),
        ("deadlock at line 19 of named_barrier.cuh.", []),
        ("the product is right, but 0 of 1 k-tiles are loaded ahead of the math.", []),
    ],
)
def test_a_line_of_a_header_is_no_link(finding, lines):
    assert ExerciseVerdict("02.1", False, finding)._repr_html_() is None  # of which kernel?
    page = ExerciseVerdict("02.1", False, finding, "ring")._repr_html_() or ""
    assert re.findall(r'href="#cuda-line/ring/(\d+)"', page) == lines


def test_no_hint_on_the_mainloop_holds_its_answer():
    """01.2 asks for the whole loop."""
    said = hints.hints("01.2")
    assert len(said) > 12
    for hint in said.values():
        assert not re.search(r"k_tile \* TK|m \+ 32|n \+ 8|M floats|% T[MN]", hint)


def test_the_third_answer_that_is_not_right_gets_a_smaller_step():
    said = [check_exercise("05.4", lambda tile, latency, ahead: 1).text for _ in range(3)]
    assert "A smaller step" not in said[0] + said[1]
    assert said[2].startswith(said[0]) and hints.smaller_steps("05.4")[""] in said[2]


def test_an_answer_that_has_passed_the_smaller_steps_gets_none(monkeypatch):
    monkeypatch.setitem(verdicts._not_yet, "02.1", verdicts.STEP_AT)
    not_yet = ExerciseVerdict("02.1", False, "not yet")
    assert "A smaller step" in verdicts._with_a_smaller_step(not_yet, ["read-after-write"]).text
    for word in "many-barriers", "many-k-tiles":
        assert verdicts._with_a_smaller_step(not_yet, [word]) == not_yet


def test_the_smaller_step_is_that_of_the_first_edge_that_is_not_right():
    steps = hints.smaller_steps("06.1")
    assert hints.fitting(steps, ["any-n-read", "any-n"]) == steps["any-n"]
    assert hints.fitting(steps, ["any-k-numbers", "any-k"]) == steps[""]


def test_every_exercise_on_the_way_has_a_smaller_step():
    texts = [(sources.NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8") for name in LESSONS]
    asked = {name for text in texts for name in re.findall(r'check_exercise\(\\"(\d\d\.\d+)', text)}
    assert asked <= {name for name in exercises() if "" in hints.smaller_steps(name)}
