"""What the tests know of each lesson: wrong variants of its kernels, wrong answers.

A room lesson_0N.py, or lesson_0N_part.py where a lesson has several, holds those of these that its notebook has:

    NOTEBOOK        the name of the notebook
    DTYPE           of its GEMM kernels, where it is not float32
    PROBLEM         what its kernels solve, where that is no GEMM, for (M, N, K) as a launch's tile counts
    OTHERS          {kernel that is no GEMM: function(integers: bool) -> inputs, grid, block, reference of its `Case`}
    WRONG           {kernel: [(what is wrong, text to replace, new text, pattern of what the check says)]}; what mutants
                    do too (tests/ptxsim/races/test_mutants.py), and stands with an earlier kernel, is not repeated
    GAPS            exercises whose solution is the skeleton with its gaps filled
    WRONG_ANSWERS   {exercise: [(what is wrong, [(text of the solution, new text)], words of the verdict)]}
    RIGHT_ANSWERS   {exercise: [(how it is written, [(text of the solution, new text)])]}
    REMARKED        {exercise: [as WRONG_ANSWERS, of right answers: words that stand behind "passed"]}
    SOLVED          {exercise: function(skeleton answer, solution's text, changes) -> answer}, where the answer is not
                    just the kernel in the solution's text

A room deeper_0N_subject.py holds the same of a notebook in notebooks/deeper/; one without kernels and exercises needs
no room.
A room bank_0N.py holds the last five for the exercises in notebooks/exercises/. Where changes fill lines, a table is a
text, in the form that tables.py reads, mostly in a file beside its room: lesson_0N.wrong.txt, lesson_0N.right.txt.
"""

import re
from functools import partial
from importlib import import_module
from pathlib import Path

from course_lib.check.gemm import Gemm
from course_lib.lessons import sources
from cupy_or_sim import cupy_on_numpy
from cupy_or_sim.device import options_for


def kernel(source: str, name: str):
    """A kernel as a notebook makes it on a machine without a GPU."""
    return cupy_on_numpy.RawKernel(source, name, options=options_for(source))


def replaced(source: str, old: str, new: str) -> str:
    """The source with one text replaced, which must be there."""
    assert old in source, f"the notebook has no {old!r} any more: write this wrong variant anew"
    return source.replace(old, new)


def cuda_of(solution: str) -> str:
    """The CUDA source in the text of a solution cell."""
    return "\n" + _code_of(solution, "cuda")


def _code_of(solution: str, language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", solution, re.DOTALL)
    assert found, (
        f"the solution has no code between ```{language} and ```. SOLVED in its room of tests/lessons/ says how the "
        "answer is made: solved_numbers of a kernel and numbers, solved_function of something in Python; of a kernel "
        f"alone it has no row. The solution:\n{solution}"
    )
    return found[1]


def solved_kernel(skeleton, solution: str, changes=()):
    """The kernel in the text of a solution cell, with some of its text replaced; `skeleton` is the unfilled one."""
    return kernel(solved_program(skeleton, solution, changes), skeleton.name)


def solved_program(skeleton, solution: str, changes=()):
    """For SOLVED: the whole program in a solution cell, with some of its text replaced."""
    source = cuda_of(solution)
    for old, new in changes:
        source = replaced(source, old, new)
    return source


def solved_function(name: str):
    """For SOLVED: the Python function or value of this name in a solution cell, with some of its text replaced."""

    def solved(skeleton, solution: str, changes=()):
        source = _code_of(solution, "python")
        for old, new in changes:
            source = replaced(source, old, new)
        names: dict = {}
        exec(source, names)
        assert name in names, f"the solution's Python sets no {name!r}, for which SOLVED asks:\n{source}"
        return names[name]

    return solved


def solved_numbers(skeleton, solution: str, changes=()):
    """For SOLVED: the kernel in the text of a solution cell, else that of the skeleton; and the numbers `my_answer`."""
    assert isinstance(skeleton, tuple), (
        "the exercise's answer is no kernel with numbers, check_exercise(name, (kernel, *my_answer)). Of numbers alone "
        f'SOLVED has solved_function("my_answer"). The answer of its cell: {skeleton!r}'
    )
    for old, new in changes:
        solution = replaced(solution, old, new)
    answer = solved_kernel(skeleton[0], solution) if "```cuda" in solution else skeleton[0]
    numbers = solved_function("my_answer")(skeleton, solution)
    return answer, *(numbers if hasattr(numbers, "__iter__") else (numbers,))


def _rooms(kind: str) -> list:
    paths = sorted(Path(__file__).parent.glob(f"{kind}_*.py"))
    return [_with_all_tables(import_module(f"{__name__}.{path.stem}")) for path in paths]


def _with_all_tables(room):
    """The room; a table that it does not have is empty in it."""
    for table in ("OTHERS", "WRONG", "WRONG_ANSWERS", "RIGHT_ANSWERS", "REMARKED", "SOLVED"):
        vars(room).setdefault(table, {})
    vars(room).setdefault("GAPS", [])
    return room


def hopper_home(name: str) -> str:
    """The lesson in which a kernel for Hopper stands: 07 ends with the ring."""
    return "07_hopper" if name in ("one_slot", "ring") else "08_never_a_pause"


LESSONS, BANK = [*_rooms("lesson"), *_rooms("deeper")], _rooms("bank")
_OTHERS = {(lesson.NOTEBOOK, name) for lesson in LESSONS for name in lesson.OTHERS}
GEMMS = {
    (lesson.NOTEBOOK, name): sources.kernel_launch(lesson.NOTEBOOK, name)
    for lesson in LESSONS
    for name in sources.kernels(lesson.NOTEBOOK)
    if (lesson.NOTEBOOK, name) not in _OTHERS
}
"""(notebook, kernel): its launch, as it stands under the kernel. Every kernel that is not in OTHERS solves a GEMM, or
its room's PROBLEM."""
DTYPES = {lesson.NOTEBOOK: getattr(lesson, "DTYPE", "float32") for lesson in LESSONS}
PROBLEMS = {
    lesson.NOTEBOOK: getattr(lesson, "PROBLEM", partial(Gemm, dtype=DTYPES[lesson.NOTEBOOK]))
    for lesson in LESSONS
}
"""Notebook: what its kernels solve, for (M, N, K) as a launch's tile counts."""
