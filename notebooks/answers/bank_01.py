"""The exercises of the bank for lesson 01."""

import numpy as np

from cupy_or_sim.simulate import simulate
from instruments.sass import sass

from .common import (
    FOR_ALL,
    demand,
    demand_kernel,
    demand_no_hazard,
    demand_whole_sectors,
    fail,
    kernel_and_numbers,
)

MOST_STEPS = 100_000
"""Of a launch here, which takes some hundreds."""


def _five_loads(answer: object) -> None:
    kernel, *said = kernel_and_numbers(answer, *(f"the number of wavefronts of {name}" for name in "abcde"))
    report = simulate(kernel, (1,), (32,), (np.zeros(32, np.float32),), max_steps=MOST_STEPS)
    demand_no_hazard(report)
    for name, mine in zip("abcde", said):
        counted = report.counters.at(f" {name} = ").shared_wavefronts
        demand(mine == counted, f"load {name} does not take {mine} wavefronts.", f"load-{name}")


def _scaled(kernel: object) -> None:
    demand_kernel(kernel)
    for n in 1024, 1001, 1002, 1003, 3:
        x, y = np.arange(n, dtype=np.float32), np.full(n, np.nan, np.float32)
        args = (np.float32(2), x, y, np.int32(n))
        report = simulate(kernel, (-(-n // 512),), (128,), args, max_steps=MOST_STEPS)
        demand_no_hazard(report)
        wrong = int((y != 2 * x).sum())
        demand(not wrong, f"{wrong} of {n} elements are wrong or missing.")
        asked, enough = report.counters.total.global_requests, 2 * -(-n // 128)  # a warp has 128 floats
        rest = 2 * (n % 4)
        text = f"n = {n} is right, but warps ask {asked} times; {enough + rest} are enough."
        demand(asked <= enough + rest, text, "many-requests")


def _turned(kernel: object) -> None:
    demand_kernel(kernel)
    M, N = 64, 96
    A = np.arange(M * N, dtype=np.float32).reshape(M, N, order="F")
    B = np.full((N, M), np.nan, np.float32, order="F")
    report = simulate(kernel, (2, 3), (256,), (A, B, np.int32(M), np.int32(N)), max_steps=MOST_STEPS)
    demand_no_hazard(report)
    demand(np.array_equal(B, A.T), f"{(B != A.T).sum()} of {B.size} elements are wrong or missing.")
    demand_whole_sectors(report)
    total = report.counters.total
    enough = 2 * A.size // 8
    if total.global_sectors > enough:
        fail(f"B is right, but {total.global_sectors} sectors move in all.", "many-sectors")
    taken, least = total.shared_wavefronts, total.shared_wavefronts_ideal
    text = f"B is right, but shared memory takes {taken} wavefronts; {least} are enough."
    demand(taken <= least, text, "many-wavefronts")


def _three_types(answer: object) -> None:
    kernel, *said = kernel_and_numbers(
        answer, *(f"the number of LDG of line {name}" for name in ("p", "q and r", "s"))
    )
    code = sass(kernel)
    for line, cause, mine in zip(
        ("Four p = ", "float2 q = ", "float4 s = "), ("line-p", "line-q", "line-s"), said
    ):
        demand(mine == code.at(line).count("LDG"), f"the line with {line}... has not {mine} LDG.", cause)


def _four_loads(answer: object) -> None:
    kernel, *said = kernel_and_numbers(answer, *(f"the number of sectors of {name}" for name in "abcd"))
    x, y = np.arange(64, dtype=np.float32), np.full(32, np.nan, np.float32)
    report = simulate(kernel, (1,), (32,), (x, y), max_steps=MOST_STEPS)
    demand_no_hazard(report)
    for name, mine in zip("abcd", said):
        counted = report.counters.at(f"float {name} = ").global_sectors
        demand(mine == counted, f"load {name} does not take {mine} sectors.", f"load-{name}")


def _column_sums(kernel: object) -> None:
    demand_kernel(kernel)
    x = np.random.default_rng(0).integers(-99, 100, (64, 32)).astype(np.float32, order="F")
    sums, expected = np.full(32, np.nan, np.float32), x.sum(axis=0)
    report = simulate(kernel, (1,), (256,), (x, sums), max_steps=MOST_STEPS)
    demand_no_hazard(report)
    demand(np.array_equal(sums, expected), f"{(sums != expected).sum()} of 32 sums are wrong or missing.")
    demand_whole_sectors(report)
    moved, enough = report.counters.total.global_sectors, (x.size + 32) // 8
    if moved > enough:
        fail(f"the sums are right, but {moved} sectors move in all; {enough} hold the data.", "many-sectors")


EXERCISES = {
    "01.11": (_five_loads, {
        "load-a": "floats 0, 2, 4, ... 62. Which banks are used at all, and how many of these floats lie in each?",
        "load-b": "float 33 * t lies in bank 33 * t % 32. Write down the first few.",
        "load-c": "lanes that want the same float are served together. How many different floats are there?",
        "load-d": "float 8 * t lies in bank 8 * t % 32. Which banks are that, and how many floats has each?",
        "load-e": "32 lanes with 16 bytes each, and 128 bytes in a wavefront.",
        "": "five whole numbers, one for each load, in the order a, b, c, d, e."}),
    "01.12": (_scaled, {
        "out-of-bounds": "thread i may take 16 bytes only if float 4 * i + 3 exists; the rest goes one by one up to n.",
        "misaligned": "16 bytes begin at a multiple of 4 floats.",
        "block-conflict|write-after-write|read-after-write": "the rest belongs to one thread, or one float to each.",
        "many-requests": "16 bytes for each whole piece of four floats; one by one only what is left, and once.",
        "": "each float of x is multiplied once, also the last one, two or three when n is no multiple of 4."}),
    "01.13": (_turned, FOR_ALL | {
        "read-after-write": "a barrier must stand between what one thread writes to the tile and another one reads.",
        "uninitialised-read": "a part of the tile is never written: 256 threads bring 32 x 32 floats.",
        "out-of-bounds": "a tile has 32 rows and 32 columns; a column of A has M floats, one of B has N.",
        "block-conflict|write-after-write": "two threads write one element of B: where does the block begin there?",
        "wasted-sectors": "both steps must take neighbours in global memory (see the picture): turn it round in "
        "shared memory.",
        "many-sectors": "each element is read once and written once.",
        "many-wavefronts": "one step walks down a column of the tile, in too few banks. What if a row is one float "
        "longer?",
        "": "element (m, n) of A is element (n, m) of B: block (x, y) reads at row 32 * x, column 32 * y, and "
        "writes at row 32 * y, column 32 * x."}),
    "01.14": (_three_types, {
        "line-p": "a Four is made of floats, so it may begin at any multiple of 4 bytes. How long may one load be?",
        "line-q": "two float2, and each begins at a multiple of 8 bytes.",
        "line-s": "a float4 begins at a multiple of 16 bytes: may all of it come at once?",
        "": "three whole numbers: count the LDG of each line, as with sass(...).at(\"Four p\").count(\"LDG\")."}),
    "01.15": (_four_loads, {
        "load-a": "floats 1 to 32: the first one is not the first of a sector. How many sectors do they touch?",
        "load-b": "floats 0, 2, 4, ... 62: which sectors lie from the first to the last, and is one left out?",
        "load-c": "a sector moves once for the whole warp. Does it matter which lane wants which of its floats?",
        "load-d": "two lanes want the same float. How many different floats does the warp ask for?",
        "": "four whole numbers, one for each load, in the order a, b, c, d."}),
    "01.16": (_column_sums, FOR_ALL | {
        "read-after-write": "a barrier must stand between what one thread writes and another one reads.",
        "uninitialised-read": "a part of the tile is never written. Are 2048 floats copied? Is a sum zero at first?",
        "out-of-bounds": "x and the tile have 2048 elements each: where does the loop end?",
        "write-after-write|write-after-read|block-conflict": "several threads write to one place, and nothing orders "
        "them: let one thread do it, or atomicAdd.",
        "wasted-sectors": "a warp must read 32 neighbouring floats of x, and what many threads add to one sum "
        "belongs in shared memory.",
        "many-sectors": "each float of x is read once, 32 at a time, and each sum written once: which access takes "
        "less than 32 floats, or comes again to one of x or of sums? If one thread does it all, share the work out.",
        "": "column n has the 64 elements from n * 64 on, in x as in a copy of it."}),
}  # fmt: skip
