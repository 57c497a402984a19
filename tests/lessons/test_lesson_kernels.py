"""The kernels and exercises of the lessons, as they stand in the notebooks: right answers pass, wrong ones do not.

That the kernels themselves pass `Gemm.check` the lessons show in their own cells, which nbval compares.
Wrong kernels are made by replacing text, so a test here fails too when a lesson's kernel was edited and the
text to replace is gone. What is replaced stands in tests/lessons/.
"""

import re

import numpy as np
import pytest

import ptxsim
from course_lib import HOPPER, OPTIONS, Launch, check_exercise, simulate
from course_lib.check.verdict import CheckFailed
from course_lib.lessons import sources
from course_lib.notebooks.figures.programs import NotRunHere
from course_lib.timelines import marks
from cupy_or_sim import BLACKWELL, cupy_on_numpy
from cupy_or_sim.device import options_for
from cupy_or_sim.keys import canonical, course_headers
from matmul import matmul_source
from ptxsim.compiler import cache
from tests.lessons import BANK, GEMMS, LESSONS, PROBLEMS, cuda_of, kernel, replaced, solved_kernel
from tests.lessons.reading import cells_of, tags_of, text_of
from tests.sample import one_in, sample
from tools.live.inside import blame

every_kernel = pytest.mark.parametrize(("notebook", "name"), GEMMS, ids="-".join)


def launch_of(notebook, name):
    """(the problem, four tiles in each direction; the launch)"""
    launch = GEMMS[notebook, name]
    return PROBLEMS[notebook](*(4 * size for size in launch.tile)), launch


NOTEBOOKS = [path.stem for path in sources.with_kernels(sources.NOTEBOOKS)]
"""From the folder, and not from the rooms: a lesson that has none is found."""


def without_room(kernels):
    """The notebooks of {notebook: its kernels} that have kernels of which the tests know nothing."""
    known = {lesson.NOTEBOOK for lesson in LESSONS}
    return [notebook for notebook, own in kernels.items() if own and notebook not in known]


def test_every_notebook_with_kernels_has_a_room():
    kernels = {notebook: sources.kernels(notebook) for notebook in NOTEBOOKS}
    assert without_room(kernels) == [], "add tests/lessons/lesson_NN.py"
    assert without_room(kernels | {"98_new": {"tiled": ""}, "99_words": {}}) == ["98_new"]


def test_every_room_holds_something():
    rooms = [*LESSONS, *BANK]
    assert [room.__name__ for room in rooms if not (room.WRONG or room.OTHERS or room.WRONG_ANSWERS)] == []


def test_every_kernel_of_the_lessons_is_listed():
    listed = [(lesson.NOTEBOOK, name) for lesson in LESSONS for name in [*lesson.WRONG, *lesson.OTHERS]]
    assert sorted(listed) == sorted((each, name) for each in NOTEBOOKS for name in sources.kernels(each))
    for lesson in LESSONS:
        assert all(len(variants) >= 6 for variants in lesson.WRONG.values())


@pytest.mark.parametrize(("notebook", "name"), one_in(4, GEMMS), ids="-".join)
def test_no_false_alarm_with_the_trace_and_another_order_of_warps(notebook, name):
    gemm, launch = launch_of(notebook, name)
    tile_m, tile_n, tile_k = launch.tile
    small = PROBLEMS[notebook](tile_m, tile_n, 3 * tile_k)
    source, args = sources.kernel_source(notebook, name), small.arguments(*small.inputs)
    passed = small.passed(kernel(source, name), args)
    # With marks it is the same product: more arguments, and clock reads in between.
    points = marks.points_of(source)
    rows = np.zeros((64, marks.BLOCKS + marks.OTHERS, marks.WARPS, 4), np.uint32)  # of up to 64 k-tiles
    trace = [rows, np.uint32(0), np.uint32(1), np.uint32(0), np.int32(0)] if points else []
    options = options_for(source)
    if points:
        source = marks.traced(source, name)
        options = *options, *marks.options_of(points[0], (points[1],), way=3)  # all lanes meet at a mark
    compiled = ptxsim.compile(source, name, options)
    grid = small.grid(launch.but(blocks=compiled.code.program.cluster[0]))  # one block, or one cluster
    report = ptxsim.launch(compiled, grid, launch.block, [*passed, *trace], launch.shared_mem, seed=1)
    assert report.ok, str(report)
    assert not points or rows[0].any()
    expected = small.expected(*small.inputs)
    assert np.allclose(small.result(args), expected, atol=1e-3 if gemm.dtype == "float32" else 5e-2)


@pytest.mark.parametrize(("notebook", "name"), one_in(4, GEMMS), ids="-".join)
def test_no_copy_is_on_its_way_when_a_block_ends(notebook, name):
    """With fewer k-tiles than slots, too."""
    _, launch = launch_of(notebook, name)
    tile_m, tile_n, tile_k = launch.tile
    for k_tiles in 1, 2:
        small = PROBLEMS[notebook](tile_m * 2, tile_n * 2, k_tiles * tile_k)
        _, report = small.simulated(kernel(sources.kernel_source(notebook, name), name), small.inputs, launch)
        assert report.ok and not [note for note in report.notes if note.cause], str(report)


WIDE = re.compile(r"\*\((?:const )?(?:float4|uint4|Word)\*\)&(\w+)")


def not_aligned(source):
    """Arrays of a kernel's own that are read or written 16 bytes at once, and nothing says that they lie so."""
    declared = {
        name: re.search(rf"^[^\n;=*]*\b(?:float|__half)\b[^\n;=*]*\b{name}\[.*", source, re.MULTILINE)
        for name in WIDE.findall(source)
    }
    return [
        name for name, line in declared.items() if line and "alignas" not in line[0] and "(" not in line[0]
    ]


def test_arrays_that_are_accessed_as_float4_are_aligned():
    texts = {
        (lesson, name): source for lesson in NOTEBOOKS for name, source in sources.kernels(lesson).items()
    }
    texts |= {("matmul", lesson): matmul_source(lesson) for lesson in (6, 7)}
    assert {place: found for place, text in texts.items() if (found := not_aligned(text))} == {}
    assert not_aligned("float acc[8][8] = {};\n*(float4*)&C[i] = *(float4*)&acc[j][i];") == ["acc"]
    assert (
        not_aligned("alignas(16) float acc[8];\nfloat* C;\n*(float4*)&C[i] = *(const float4*)&acc[i];") == []
    )


@every_kernel
def test_nothing_spills(notebook, name):
    source = sources.kernel_source(notebook, name)
    needs = ptxsim.resources(ptxsim.compile(source, name, options_for(source)))
    assert needs.spill_stores == needs.spill_loads == 0


# 128 threads of 255 registers always fit twice
@pytest.mark.parametrize("name", ["two_buffers", "double_buffer"])
def test_two_blocks_of_lesson_03_fit_on_a_multiprocessor(name):
    compiled = ptxsim.compile(sources.kernel_source("03_double_buffer", name), name, OPTIONS)
    threads = GEMMS["03_double_buffer", name].threads
    assert ptxsim.resources(compiled).registers * threads * 2 <= 65536


WRONG = [
    (lesson.NOTEBOOK, name, variant)
    for lesson in LESSONS
    for name, variants in lesson.WRONG.items()
    for variant in variants
]
FIRST = sample(WRONG, lambda case: case[:2])  # of each kernel
OF_A_KIND = one_in(8, sample(WRONG, lambda case: (case[0], case[2][-1])))  # in a lesson, by what is said


@pytest.mark.parametrize(
    ("notebook", "name", "variant"),
    [
        pytest.param(*case, id=f"{case[1]}-{case[2][0]}")
        for case in WRONG
        if case in FIRST or case in OF_A_KIND
    ],
)
def test_wrong_kernel_is_rejected(notebook, name, variant):
    _, old, new, words = variant
    wrong = replaced(sources.kernel_source(notebook, name), old, new)
    gemm, launch = launch_of(notebook, name)
    with pytest.raises(CheckFailed, match=words):
        gemm.check(kernel(wrong, name), launch)


def functions_of(header):
    """The device functions of a course header, without comments and white space."""
    text = course_headers(f"#include <course/{header}>")[f"course/{header}"]
    starts = [match.start() for match in re.finditer(r"^(template|__device__)", text, re.MULTILINE)]
    # a template is one with its function
    starts = [at for at in starts if not text[:at].rstrip().endswith(">")]
    return [canonical(text[begin:end]) for begin, end in zip(starts, [*starts[1:], len(text)], strict=True)]


@pytest.mark.parametrize(
    ("header", "notebook", "name"),
    [
        ("tile.cuh", "01_mainloop", "register_tile"),
        ("cp_async.cuh", "02_producer_consumer", "round_trip"),
        ("named_barrier.cuh", "02_producer_consumer", "hand_over"),
    ],
)
def test_header_holds_what_a_lesson_explains(header, notebook, name):
    """A function is written out in a lesson once; later kernels take it from the header."""
    source = canonical(sources.kernel_source(notebook, name))
    assert [function for function in functions_of(header) if function in source]


# ---- 00_start_here: its two kernels, checked as the lesson does


def saxpy_is_right(source):
    n = 1000
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    args = (np.float32(2), x, y, np.int32(n))
    return simulate(kernel(source, "saxpy"), (4,), (256,), args).ok and np.array_equal(y, 2 * x + 1)


def mirror_is_right(source):
    x, y = np.arange(1024, dtype=np.float32), np.full(1024, np.nan, np.float32)
    report = simulate(kernel(source, "mirror"), (4,), (256,), (x, y))
    return report.ok and np.array_equal(y.reshape(4, 256), x.reshape(4, 256)[:, ::-1])


START = {
    "saxpy": (
        saxpy_is_right,
        [
            ("if (i < n)", ""),
            ("i < n", "i <= n"),
            ("i < n", "i < n - 1"),
            ("blockIdx.x * blockDim.x + ", ""),
            ("x[i] +", "x[i + 1] +"),
        ],
    ),
    "mirror": (
        mirror_is_right,
        [
            ("__syncthreads();", ""),
            ("255 - t]", "256 - t]"),
            ("255 - t]", "254 - t]"),
            ("y[blockIdx.x * 256 + t]", "y[t]"),
            ("tile[255 - t]", "tile[t]"),
        ],
    ),
}


@pytest.mark.parametrize("name", START)
def test_first_kernels(name):
    source, (is_right, variants) = sources.kernel_source("00_start_here", name), START[name]
    assert is_right(source)
    assert not any(is_right(replaced(source, old, new)) for old, new in variants)


# ---- exercises


def read_exercises():
    """Exercise -> (answer as the unfilled cell gives it, text of the solution cell)."""
    found, answers = {}, []
    given = {
        "cp": cupy_on_numpy,
        "OPTIONS": OPTIONS,
        "HOPPER": HOPPER,
        "BLACKWELL": BLACKWELL,
        "check_exercise": lambda *answer: answers.append(answer),
    }
    given |= {"Launch": Launch, "kernel_source": sources.kernel_source, "edited": sources.edited}
    folder = sources.NOTEBOOKS
    for path in sources.every_notebook(folder):
        kernels = sources.kernels(path.relative_to(folder).with_suffix("").as_posix())
        for cell in cells_of(path):
            tags, source = tags_of(cell), text_of(cell)
            if "exercise" in tags:
                exec(source, given | kernels)
            if "solution" in tags:
                name, unfilled = answers.pop()
                found[name] = unfilled, source
    return found


EXERCISES = read_exercises()
ROOMS = LESSONS + BANK
SOLVED = {name: function for room in ROOMS for name, function in room.SOLVED.items()}
WRONG_ANSWERS = {name: wrong for room in ROOMS for name, wrong in room.WRONG_ANSWERS.items()}


def solved(name, changes=()):
    """The answer of the solution cell, with some of its text replaced."""
    return SOLVED.get(name, solved_kernel)(*EXERCISES[name], changes)


def verdict_of(name, answer):
    """Of a whole program only what is on file is run where there is no nvcc."""
    try:
        return check_exercise(name, answer)
    except NotRunHere as missing:
        pytest.skip(str(missing))


def test_there_are_three_exercises_in_each_lesson_and_all_have_wrong_answers():
    for path in sources.notebooks(sources.NOTEBOOKS):
        assert EXERCISES.keys() >= {f"{path.stem[:2]}.{number}" for number in (1, 2, 3)}
    assert set(EXERCISES) == set(WRONG_ANSWERS)
    assert all(len(wrong) >= 4 for wrong in WRONG_ANSWERS.values())


def test_an_exercise_of_the_bank_has_two_right_and_six_wrong_answers():
    names = {name for name in EXERCISES if int(name[3:]) > 10}
    assert names == {name for room in BANK for name in room.WRONG_ANSWERS}
    for room in BANK:
        assert all(len(wrong) >= 6 for wrong in room.WRONG_ANSWERS.values())
        assert all(len(room.RIGHT_ANSWERS[name]) >= 2 for name in room.WRONG_ANSWERS)


@pytest.mark.parametrize("name", EXERCISES)
def test_unfilled_exercise_says_not_yet(name):
    verdict = check_exercise(name, EXERCISES[name][0])
    assert not verdict.ok
    assert repr(verdict).startswith(f"{name} not yet: ")
    if "____" in getattr(EXERCISES[name][0], "code", ""):
        assert "there is still a gap" in repr(verdict)
    assert "\n" not in repr(verdict)


@pytest.mark.parametrize("name", EXERCISES)
def test_solution_passes(name, monkeypatch):
    """And what the compiler makes for its check ships, for pages and machines that have none."""
    find, asked = cache.find, set()
    monkeypatch.setattr(cache, "find", lambda key, by=None: asked.add(key) or find(key, by))
    with blame.noted() as shown_in_a_page:
        verdict = check_exercise(name, solved(name))
    assert verdict.ok, verdict
    assert verdict.text.endswith(
        "right: the check finds no mistake in it."
    )  # it is no proof, and needs no remark
    assert blame.bad(shown_in_a_page) == [], "hazards of the check's own altered kernels"
    missing = [key for key in asked if find(key) is None]
    assert not missing, "texts of the compiler do not ship: run `make outputs`"


RIGHT = [
    (name, label, changes)
    for room in ROOMS
    for name, answers in room.RIGHT_ANSWERS.items()
    for label, changes in answers
]


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        pytest.param(name, changes, id=f"{name}-{label}")
        for name, label, changes in one_in(8, sample(RIGHT, lambda case: case[0]))
    ],
)
def test_a_right_answer_written_differently_passes(name, changes):
    """With the solution itself, two right answers of every fourth exercise; in `make long` all of each."""
    verdict = verdict_of(name, solved(name, changes))
    assert verdict.ok, verdict


REMARKED = [
    pytest.param(name, changes, words, id=f"{name}-{label}")
    for room in ROOMS
    for name, answers in room.REMARKED.items()
    for label, changes, words in answers
]


@pytest.mark.parametrize(("name", "changes", "words"), REMARKED)
def test_of_a_right_answer_it_is_told_what_can_go(name, changes, words):
    answer = solved(name, changes)
    verdict = check_exercise(name, answer)
    assert verdict.ok and words in verdict.text, verdict
    if line := re.search(r"the barrier in line (\d+)", verdict.text):
        source = (answer[0] if isinstance(answer, tuple) else answer).code.splitlines()
        assert re.search("__syncthreads|named_sync", source[int(line[1]) - 1])


@pytest.mark.parametrize("name", [name for room in ROOMS for name in room.GAPS])
def test_solution_fills_the_gaps_and_changes_nothing_else(name):
    skeleton, solution = EXERCISES[name]
    skeleton, solution = (re.sub(" +", " ", text.strip()) for text in (skeleton.code, cuda_of(solution)))
    # a gap may be a few lines
    assert re.fullmatch(re.escape(skeleton).replace("____", ".+"), solution, re.DOTALL)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        pytest.param(name, wrong, id=f"{name}-{wrong[0]}")
        for name in WRONG_ANSWERS
        for wrong in one_in(32, sample(WRONG_ANSWERS[name], lambda wrong: wrong[-1]))
    ],
)
def test_wrong_answer_gets_the_hint_that_fits(name, wrong):
    _, changes, hint = wrong
    with blame.noted() as shown_in_a_page:
        verdict = verdict_of(name, solved(name, changes))
    assert not verdict.ok
    kinds = [{hazard.kind for hazard in report.hazards} for report in shown_in_a_page]
    assert len(kinds) <= 1 and all(verdict.hazards[0].kind in each for each in kinds)
    assert hint in repr(verdict)
    assert "\n" not in repr(verdict)


@pytest.mark.parametrize(
    "launch", [Launch((128, 64, 16), 128), Launch((64, 128, 16), 256), Launch((64, 128, 32), 128)]
)
def test_wrong_launch_gets_the_hint_that_fits(launch):
    answer = solved("01.4")[0], launch
    assert "M first, and 128 threads" in repr(check_exercise("01.4", answer))


@pytest.mark.parametrize("name", ["00.2", "01.1", "01.2"])
def test_a_learner_sees_the_accesses_that_waste_sectors(name, capsys):
    changes = next(changes for _, changes, hint in WRONG_ANSWERS[name] if "neighbouring" in hint)
    check_exercise(name, solved(name, changes))
    assert "One warp's access, sector by sector. Global memory, " in capsys.readouterr().out


def test_a_source_that_does_not_compile_is_not_yet():
    verdict = check_exercise("00.1", kernel("__global__ void outer() { nonsense; }", "outer"))
    assert repr(verdict).startswith("00.1 not yet: it does not compile.")


def test_unknown_exercise():
    with pytest.raises(ValueError, match=r"no exercise '99\.1'; exercises: 00\.1"):
        check_exercise("99.1", None)
