"""Verdicts on the exercises: passed, or not yet, with the finding and the one hint that fits it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

import numpy as np

from .gemm import CheckFailed, Gemm
from .report import simulate
from .simulator import CompileError

GAP = "____"


@dataclass(frozen=True, repr=False)
class ExerciseVerdict:
    """What `check_exercise` returns; `ok` says whether the exercise is solved."""

    name: str
    ok: bool
    text: str

    def __repr__(self) -> str:
        return f"{self.name} {'passed' if self.ok else 'not yet'}: {self.text}"


def check_exercise(name: str, answer: object) -> ExerciseVerdict:
    """The verdict on an answer: a kernel, or what the exercise asks for. A wrong answer raises nothing."""
    if name not in _EXERCISES:
        raise ValueError(f"there is no exercise {name!r}; exercises: {', '.join(_EXERCISES)}")
    parts = answer if isinstance(answer, tuple) else (answer,)
    if any(part is None or GAP in getattr(part, "code", "") for part in parts):
        return ExerciseVerdict(name, False, "there is still a gap (None or ____) to fill.")
    test, hints = _EXERCISES[name]
    try:
        test(answer)
    except CompileError as error:
        first = next((line for line in str(error).splitlines() if "error" in line), str(error))
        return ExerciseVerdict(name, False, f"it does not compile. {first.strip()}")
    except (AssertionError, ValueError, TypeError, RuntimeError) as error:
        hint = next(hint for pattern, hint in hints.items() if re.search(pattern, str(error)))
        return ExerciseVerdict(name, False, f"{_in_short(str(error))} Hint: {hint}")
    return ExerciseVerdict(name, True, "right, and proved by the check.")


def _in_short(finding: str) -> str:
    """The most telling part of a long finding: kind and line of a hazard, a known mistake, what is wrong."""
    for pattern in (r"[a-z-]+ at line \d+[^:(\n]*", "What was written equals .*", r"\d+ of .*"):
        if found := re.search(pattern, finding):
            return found[0].rstrip(" .") + "."
    return finding.partition("\n")[0]


def _check(right: object, message: str) -> None:
    if not right:
        raise CheckFailed(message)


def _outer(kernel: object) -> None:
    x, y = np.arange(1, 65, dtype=np.float32), np.arange(1, 25, dtype=np.float32)
    C, expected = np.full((64, 24), np.nan, np.float32, order="F"), np.outer(x, y)
    report = simulate(kernel, (2, 3), (256,), (x, y, C, np.int32(64), np.int32(24)))
    _check(report.ok, str(report))
    _check(not np.array_equal(C.ravel("F"), expected.ravel("C")), "C is stored row by row.")
    _check(np.array_equal(C, expected), f"{(expected != C).sum()} of {C.size} elements are wrong or missing.")


def _difference(kernel: object) -> None:
    x, y = np.arange(256, dtype=np.float32) ** 2, np.full(256, np.nan, np.float32)
    report = simulate(kernel, (1,), (256,), (x, y))
    _check(report.ok, str(report))
    expected = np.diff(x, prepend=np.float32(0))
    _check(np.array_equal(y, expected), f"{(expected != y).sum()} of {y.size} elements are wrong or missing.")


def _blocks_of_96(answer: tuple[int, int]) -> None:
    blocks, idle = answer
    _check(blocks * 96 >= 1000, f"{blocks} blocks are {blocks * 96} threads: some elements are left out.")
    _check((blocks - 1) * 96 < 1000, f"{blocks} blocks are more than needed.")
    _check(idle == blocks * 96 - 1000, f"{blocks} blocks are right, {idle} idle threads are not.")


def _gemm(answer: object, tile: tuple[int, int, int], threads: int) -> None:
    """The answer is a kernel for this launch, or a kernel and the launch that the learner chose for it."""
    kernel, launch = answer if isinstance(answer, tuple) else (answer, {"tile": tile, "threads": threads})
    _check(tuple(launch["tile"]) == tile and launch["threads"] == threads, f"the launch is {launch}.")
    Gemm(512, 512, 512).check(kernel, **launch)


_FOR_ALL = {"barrier-divergence|deadlock": "all threads must meet at a barrier: move it out of the if."}
_COMPLETE = {
    "read-after-write": "a barrier must stand between writing the tile and reading it.",
    "uninitialised": "a part of the tile is never written: count what the copy moves.",
}
_ALL_READ = {"write-after-read": "a fast warp overwrites the k-tile that a slow warp still multiplies."}

_EXERCISES = {
    "00.1": (_outer, {
        "row by row": "column-major means one column after the other: m + n * M.",
        "": "32 lanes are 32 rows (the remainder by 32); 8 warps are 8 columns (the quotient)."}),
    "00.2": (_difference, _FOR_ALL | _COMPLETE | {"": "thread 0 has no left neighbour; all others have."}),
    "00.3": (_blocks_of_96, {
        "left out": "round up.", "more than": "one block less is still enough.",
        "": "idle threads are the launched ones that have no element."}),
    "01.1": (partial(_gemm, tile=(64, 32, 16), threads=256), _COMPLETE | _ALL_READ | {
        "": "a tile is [k][row], a row is a remainder; a column of A is M floats long, one of B is N."}),
    "01.2": (partial(_gemm, tile=(64, 64, 16), threads=256), _ALL_READ | _COMPLETE | _FOR_ALL | {
        "": "follow k_tile through two turns: which k-tile is copied, and which one is multiplied?"}),
    "01.3": (partial(_gemm, tile=(64, 128, 16), threads=128), {
        "the launch is": "it must be the new tile (64, 128, 16), M first, and 128 threads.",
        "uninitialised": "the copy moves too little. Is THREADS the number of threads that you launch?",
        "": "4 warps of 64 x 32 stand side by side along N. Look at m and n, and at TM and TK."}),
}  # fmt: skip
