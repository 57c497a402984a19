"""The exercises of lesson 01."""

from __future__ import annotations

from functools import partial

from ...gemm import Gemm
from ...report import simulate
from .common import ALL_READ, COMPLETE, FOR_ALL, checked_gemm, demand


def _rectangle(answer: object) -> None:
    """A right product that reads and writes global memory in whole sectors."""
    kernel = checked_gemm(answer, tile=(64, 32, 16), threads=256)
    gemm = Gemm(128, 96, 48)
    report = simulate(kernel, gemm.grid((64, 32, 16)), (256,), gemm.arguments(*gemm.inputs))
    moved, enough = report.counters.total.global_sectors, report.counters.total.global_sectors_ideal
    demand(moved <= enough, f"the product is right, but {moved} sectors move where {enough} are enough.")


EXERCISES = {
    "01.1": (_rectangle, COMPLETE | ALL_READ | {
        "sectors move": "neighbouring threads must copy neighbouring rows: a column of A or B is contiguous.",
        "": "a tile is [k][row], a row is a remainder; a column of A is M floats long, one of B is N."}),
    "01.2": (partial(checked_gemm, tile=(64, 64, 16), threads=256), ALL_READ | COMPLETE | FOR_ALL | {
        "": "follow k_tile through two turns: which k-tile is copied, and which one is multiplied?"}),
    "01.3": (partial(checked_gemm, tile=(64, 128, 16), threads=128), {
        "the launch is": "it must be the new tile (64, 128, 16), M first, and 128 threads.",
        "uninitialised-read": "the copy moves too little. Is THREADS the number of threads that you launch?",
        "": "4 warps of 64 x 32 stand side by side along N. Look at m and n, and at TM and TK."}),
}  # fmt: skip
