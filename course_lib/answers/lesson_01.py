"""The exercises of lesson 01."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..gemm import Gemm
from ..simulate import simulate
from ..simulator import Report
from .common import (
    ALL_READ,
    COMPLETE,
    FOR_ALL,
    checked_gemm,
    demand,
    demand_kernel,
    demand_no_hazard,
    demand_whole_sectors,
)

FLOATS = 8
"""In a sector."""
MOST_STEPS = 200_000
"""Of a launch of one block or three, which takes some thousands."""


def _demand_sectors(report: Report, floats: int) -> None:
    """Raise as the finding when more sectors move than `floats`, each moved once, take."""
    demand_whole_sectors(report)
    moved, enough = report.counters.total.global_sectors, floats // FLOATS
    demand(
        moved <= enough,
        f"the numbers are right, but {moved} sectors move in all, and {enough} hold the data.",
    )


def _copy_alone(kernel: object) -> None:
    """The first k-tile of each block, turned round by the part that was given."""
    demand_kernel(kernel)
    (tm, tk), blocks = (64, 16), 3
    A = np.asfortranarray(np.arange(blocks * tm * tk, dtype=np.float32).reshape(blocks * tm, tk))
    out = np.full(A.size, np.nan, np.float32)
    report = simulate(kernel, (blocks,), (256,), (A, out, np.int32(len(A))), max_steps=MOST_STEPS)
    demand_no_hazard(report)
    expected = np.concatenate([A[first : first + tm, ::-1].ravel("F") for first in range(0, len(A), tm)])
    demand(np.array_equal(out, expected), f"{(out != expected).sum()} of {out.size} elements are wrong.")
    _demand_sectors(report, 2 * A.size)


def _rectangle(answer: object) -> None:
    """A right product of tiles in shared memory that moves each element of a strip once for each block."""
    tile = (tm, tn, tk) = 64, 32, 16
    if hasattr(
        answer, "code"
    ):  # an endless loop ends here after a second or two; the check below has more patience
        block = Gemm(tm, tn, 2 * tk)
        demand_no_hazard(
            simulate(answer, (1, 1), (256,), block.arguments(*block.inputs), max_steps=MOST_STEPS)
        )
    kernel = checked_gemm(answer, tile=tile, threads=256)
    gemm = Gemm(2 * tm, 3 * tn, 3 * tk)
    report = simulate(kernel, gemm.grid(tile), (256,), gemm.arguments(*gemm.inputs))
    blocks_m, blocks_n = gemm.grid(tile)  # each reads its strips of A and of B, and writes its tile of C
    _demand_sectors(report, blocks_n * gemm.M * gemm.K + blocks_m * gemm.N * gemm.K + gemm.M * gemm.N)


MOVED = {
    "are enough: in line": "neighbouring threads must copy neighbouring rows (see the picture).",
    "sectors move in all": "an element is copied more than once, or one thread copies for many: share the work out.",
}

EXERCISES = {
    "01.1": (_copy_alone, FOR_ALL | COMPLETE | MOVED | {
        "out-of-bounds": "the tile is As[k][row], and A already points to the first row of the block.",
        "": "float i of the tile: row i % TM, column i / TM. A column of A is M floats long, one of the tile TM."}),
    "01.2": (_rectangle, FOR_ALL | COMPLETE | ALL_READ | MOVED | {
        "": "a tile is [k][row], a row is a remainder; a column of A is M floats long, one of B is N; k-tile number "
            "k_tile begins at column k_tile * TK; acc[j][i] adds up row m + 32 * i and column n + 8 * j."}),
    "01.3": (partial(checked_gemm, tile=(64, 64, 16), threads=256), FOR_ALL | ALL_READ | COMPLETE | {
        "": "follow k_tile through two turns: which k-tile is copied, and which one is multiplied?"}),
    "01.4": (partial(checked_gemm, tile=(64, 128, 16), threads=128), {
        "the launch is": "it must be the new tile (64, 128, 16), M first, and 128 threads.",
        "uninitialised-read": "the copy moves too little. Is THREADS the number of threads that you launch?",
        "": "4 warps of 64 x 32 stand side by side along N. Look at m and n, and at TM and TK."}),
}  # fmt: skip
