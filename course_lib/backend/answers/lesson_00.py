"""The exercises of lesson 00."""

from __future__ import annotations

import numpy as np

from ...report import simulate
from .common import COMPLETE, FOR_ALL, demand, demand_no_hazard


def _outer(kernel: object) -> None:
    x, y = np.arange(1, 65, dtype=np.float32), np.arange(1, 25, dtype=np.float32)
    C, expected = np.full((64, 24), np.nan, np.float32, order="F"), np.outer(x, y)
    report = simulate(kernel, (2, 3), (256,), (x, y, C, np.int32(64), np.int32(24)))
    demand_no_hazard(report)
    demand(not np.array_equal(C.ravel("F"), expected.ravel("C")), "C is stored row by row.")
    demand(np.array_equal(C, expected), f"{(expected != C).sum()} of {C.size} elements are wrong or missing.")


def _difference(kernel: object) -> None:
    x, y = np.arange(256, dtype=np.float32) ** 2, np.full(256, np.nan, np.float32)
    report = simulate(kernel, (1,), (256,), (x, y))
    demand_no_hazard(report)
    expected = np.diff(x, prepend=np.float32(0))
    demand(np.array_equal(y, expected), f"{(expected != y).sum()} of {y.size} elements are wrong or missing.")


def _blocks_of_96(answer: tuple[int, int]) -> None:
    whole = isinstance(answer, tuple) and [isinstance(number, int) for number in answer] == [True, True]
    demand(whole, f"the answer is two whole numbers, (blocks, idle_threads), and not {answer!r:.60}.")
    blocks, idle = answer
    demand(blocks * 96 >= 1000, f"{blocks} blocks are {blocks * 96} threads: some elements are left out.")
    demand((blocks - 1) * 96 < 1000, f"{blocks} blocks are more than needed.")
    demand(idle == blocks * 96 - 1000, f"{blocks} blocks are right, {idle} idle threads are not.")


EXERCISES = {
    "00.1": (_outer, {
        "row by row": "column-major means one column after the other: m + n * M.",
        "": "32 lanes are 32 rows (the remainder by 32); 8 warps are 8 columns (the quotient)."}),
    "00.2": (_difference, FOR_ALL | COMPLETE | {"": "thread 0 has no left neighbour; all others have."}),
    "00.3": (_blocks_of_96, {
        "left out": "round up.", "more than": "one block less is still enough.",
        "": "idle threads are the launched ones that have no element."}),
}  # fmt: skip
