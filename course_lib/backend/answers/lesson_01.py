"""The exercises of lesson 01."""

from __future__ import annotations

from functools import partial

from .common import ALL_READ, COMPLETE, FOR_ALL, checked_gemm

EXERCISES = {
    "01.1": (partial(checked_gemm, tile=(64, 32, 16), threads=256), COMPLETE | ALL_READ | {
        "": "a tile is [k][row], a row is a remainder; a column of A is M floats long, one of B is N."}),
    "01.2": (partial(checked_gemm, tile=(64, 64, 16), threads=256), ALL_READ | COMPLETE | FOR_ALL | {
        "": "follow k_tile through two turns: which k-tile is copied, and which one is multiplied?"}),
    "01.3": (partial(checked_gemm, tile=(64, 128, 16), threads=128), {
        "the launch is": "it must be the new tile (64, 128, 16), M first, and 128 threads.",
        "uninitialised-read": "the copy moves too little. Is THREADS the number of threads that you launch?",
        "": "4 warps of 64 x 32 stand side by side along N. Look at m and n, and at TM and TK."}),
}  # fmt: skip
