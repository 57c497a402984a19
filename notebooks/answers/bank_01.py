"""The exercises of the bank for lesson 01."""

from typing import Any

import numpy as np

from course_lib.instruments.sass import sass
from cupy_or_sim.simulate import compiled, simulate
from ptxsim import Report
from ptxsim.observe.events import Load, Store

from .common import (
    demand,
    demand_kernel,
    demand_no_hazard,
    demand_parts,
    demand_whole_sectors,
    fail,
    kernel_and_numbers,
    untried_grids,
)
from .untried import Untried

MOST_STEPS = 100_000
"""Of a launch here, which takes some hundreds."""


def _five_loads(answer: Any) -> None:
    kernel, *said = kernel_and_numbers(answer, *(f"the number of wavefronts of {name}" for name in "abcde"))
    report = simulate(kernel, (1,), (32,), (np.zeros(32, np.float32),), max_steps=MOST_STEPS)
    demand_no_hazard(report)
    for name, mine in zip("abcde", said):
        counted = report.counters.at(f" {name} = ").shared_wavefronts
        demand(mine == counted, f"load {name} does not take {mine} wavefronts.", f"load-{name}")


def _scaled(kernel: Any) -> None:
    demand_kernel(kernel)
    more = Untried(kernel, threads=128).blocks({3: 1 / 512, "%ctaid.x": 1.0}, 2)
    for n in 1024, 1001, 1002, 1003, 3, *(512 * blocks for blocks in more):
        x, y = np.arange(n, dtype=np.float32), np.full(n, np.nan, np.float32)
        args = (np.float32(2), x, y, np.int32(n))
        report = simulate(kernel, (-(-n // 512),), (128,), args, max_steps=MOST_STEPS)
        demand_no_hazard(report)
        wrong = int((y != 2 * x).sum())
        causes = ["many-blocks"] * (n > 1024)
        demand(not wrong, f"{wrong} of {n} elements are wrong or missing.", *causes)
        asked, enough = report.counters.total.global_requests, 2 * -(-n // 128)  # a warp has 128 floats
        rest = 2 * (n % 4)
        text = f"n = {n} is right, but warps ask {asked} times; {enough + rest} are enough."
        demand(asked <= enough + rest, text, "many-requests")


def _turned(kernel: Any) -> None:
    demand_kernel(kernel)
    wrong, report, inside = _of_tiles(kernel, 2, 3)
    demand(not wrong, f"{wrong}.", *["not-turned-inside"] * inside)
    for down, right in untried_grids(Untried(kernel), (32, 32), (2, 3), sizes=(2, 3)):
        wrong, *_ = _of_tiles(kernel, down, right)
        demand(not wrong, f"right with few blocks, and not with {down} x {right}: {wrong}.", "many-blocks")
    demand_whole_sectors(report)
    total = report.counters.total
    enough = 2 * 64 * 96 // 8
    if total.global_sectors > enough:
        fail(f"B is right, but {total.global_sectors} sectors move in all.", "many-sectors")
    taken, least = total.shared_wavefronts, total.shared_wavefronts_ideal
    text = f"B is right, but shared memory takes {taken} wavefronts; {least} are enough."
    demand(taken <= least, text, "many-wavefronts")
    demand_parts(report.events, Load, "reads")
    demand_parts(report.events, Store, "writes")


def _of_tiles(kernel: Any, down: int, right: int) -> tuple[str, Report, bool]:
    """How many elements are wrong, in words, of a matrix of so many tiles; the report; and whether each tile stands
    where it should, and as it was in A."""
    M, N = 32 * down, 32 * right
    A = np.arange(M * N, dtype=np.float32).reshape(M, N, order="F")
    B = np.full((N, M), np.nan, np.float32, order="F")
    args = (A, B, np.int32(M), np.int32(N))
    report = simulate(kernel, (down, right), (256,), args, max_steps=MOST_STEPS * (1 + down * right // 8))
    demand_no_hazard(report)
    count = int((B != A.T).sum())
    tiles, places = A.reshape(down, 32, right, 32), B.reshape(right, 32, down, 32)
    as_it_was = np.array_equal(places, tiles.transpose(2, 1, 0, 3))
    return f"{count} of {B.size} elements are wrong or missing" * (count > 0), report, as_it_was


def _three_types(answer: Any) -> None:
    kernel, *said = kernel_and_numbers(
        answer, *(f"the number of LDG of line {name}" for name in ("p", "q and r", "s"))
    )
    code = sass(kernel)
    for line, cause, mine in zip(
        ("Four p = ", "float2 q = ", "float4 s = "), ("line-p", "line-q", "line-s"), said
    ):
        demand(mine == code.at(line).count("LDG"), f"the line with {line}... has not {mine} LDG.", cause)


def _four_loads(answer: Any) -> None:
    kernel, *said = kernel_and_numbers(answer, *(f"the number of sectors of {name}" for name in "abcd"))
    x, y = np.arange(64, dtype=np.float32), np.full(32, np.nan, np.float32)
    report = simulate(kernel, (1,), (32,), (x, y), max_steps=MOST_STEPS)
    demand_no_hazard(report)
    for name, mine in zip("abcd", said):
        counted = report.counters.at(f"float {name} = ").global_sectors
        demand(mine == counted, f"load {name} does not take {mine} sectors.", f"load-{name}")


def _column_sums(kernel: Any) -> None:
    demand_kernel(kernel)
    x = np.random.default_rng(0).integers(-99, 100, (64, 32)).astype(np.float32, order="F")
    sums, expected = np.full(32, np.nan, np.float32), x.sum(axis=0)
    report = simulate(kernel, (1,), (256,), (x, sums), max_steps=MOST_STEPS)
    demand_no_hazard(report)
    demand(np.array_equal(sums, expected), f"{(sums != expected).sum()} of 32 sums are wrong or missing.")
    moved, enough = report.counters.total.global_sectors, (x.size + 32) // 8
    if moved > enough and _atomics_on_global(kernel):
        text = f"the sums are right, but {moved} sectors move in all; {enough} hold the data. An atomicAdd to global"
        fail(f"{text} memory takes one for each lane, where lanes add to one place.", "global-atomics")
    demand_whole_sectors(report)
    if moved > enough:
        fail(f"the sums are right, but {moved} sectors move in all; {enough} hold the data.", "many-sectors")
    demand_parts(report.events, Load, "brings")


def _atomics_on_global(kernel: Any) -> bool:
    opcodes = (each.opcode for each in compiled(kernel).code.program.instructions)
    return any(opcode.root in ("atom", "red") and opcode.has("global") for opcode in opcodes)


EXERCISES = {
    "01.11": _five_loads,
    "01.12": _scaled,
    "01.13": _turned,
    "01.14": _three_types,
    "01.15": _four_loads,
    "01.16": _column_sums,
}
