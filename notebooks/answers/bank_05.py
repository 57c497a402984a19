"""More exercises for lesson 05."""

import re
from functools import lru_cache

import numpy as np

from course_lib.check.gemm import Gemm
from cupy_or_sim import cupy_on_numpy
from cupy_or_sim.simulate import compiled, simulate
from instruments.sass import sass
from ptxsim import Report
from ptxsim.observe.events import Barrier, Commit, Wait

from .common import (
    demand,
    demand_kernel,
    demand_no_hazard,
    fail,
    k_tiles_on_their_way,
    kernel_and_numbers,
)

MOST_STEPS = 250_000


def _one_block(
    kernel, tile: tuple[int, int, int], k_tiles: int, threads: int = 64, seed: int = 0
) -> tuple[bool, Report]:
    """Whether one block makes the exact product, and its report."""
    gemm, random = Gemm(*tile[:2], tile[2] * k_tiles, "float16"), np.random.default_rng(seed)
    A, B = (random.integers(-4, 5, (size, gemm.K)).astype(np.float16) for size in (gemm.M, gemm.N))
    args = gemm.arguments(A, B)
    report = simulate(kernel, (1, 1), (threads,), args, 0, MOST_STEPS)
    return np.array_equal(args[2], (A.astype("f4") @ B.astype("f4").T).astype(np.float16)), report


# --------------------------------------------------------------------------- 05.11: how many are on their way?


def _orders(answer: object) -> None:
    """The numbers that the simulator counts, with each ORDER."""
    kernel, *mine = kernel_and_numbers(answer, *(f"the number of ORDER {order}" for order in range(1, 5)))
    for order, number in enumerate(mine, 1):
        counted = _on_their_way(kernel.code, kernel.name, (*kernel.options, f"-DORDER={order}"))
        demand(number == counted, f"ORDER {order}: the simulator counts not {number}.", f"order-{order}")


@lru_cache(maxsize=8)
def _on_their_way(code: str, name: str, options: tuple[str, ...]) -> int:
    right, report = _one_block(cupy_on_numpy.RawKernel(code, name, options), (64, 64, 32), 8, 32)
    demand_no_hazard(report)
    demand(right, f"the kernel is not right any more with {options[-1]}: take the one of the exercise.")
    return k_tiles_on_their_way(report, 8)


# --------------------------------------------------------------------------- 05.12: the last k-tiles

TILE = (128, 64, 32)


def _drained(answer: object) -> None:
    """A right ring of four slots, in which no wait covers more than the k-tile of its turn."""
    demand_kernel(answer)
    for k_tiles in 4, 1:
        right, report = _one_block(answer, TILE, k_tiles)
        demand_no_hazard(report)
        demand(right, f"the product is wrong for {k_tiles} k-tiles.", "wrong-numbers")
        for turn, left in enumerate(_left_on_their_way(report)):
            may = min(2, k_tiles - 1 - turn)
            text = f"right, but with {k_tiles} k-tiles turn {turn} waits for {turn + 1} too, if not for more."
            demand(left >= may, text, "waits-for-more")


def _left_on_their_way(report: Report) -> list[int]:
    """Groups that are on their way when the first warp comes to the barrier of each turn."""
    found, groups = [], 0
    for event in report.events[0]:
        match event:
            case Commit():
                groups += 1
            case Wait(keep=None):
                groups = 0
            case Wait():
                groups = min(groups, event.keep)
            case Barrier():
                found.append(groups)
    return found[:-1]  # behind the loop stands one more


# --------------------------------------------------------------------------- 05.13: which cure?

ANSWER = "(kernels, my_kind, my_cures, my_best)"


def _cure(answer: object) -> None:
    """The kind of hazard, the changes that cure it, and the one that costs nothing, as the simulator finds them."""
    fits = isinstance(answer, tuple) and len(answer) == 4 and isinstance(answer[0], dict)
    demand(fits, f"the answer is {ANSWER}, and not {answer!r:.60}.", "wrong-form")
    kernels, kind, cures, best = answer
    for name, text in (("my_kind", kind), ("my_cures", cures), ("my_best", best)):
        demand(isinstance(text, str), f"{name} is a text in quotes, and not {text!r:.40}.", "no-text")
    for kernel in kernels.values():
        demand_kernel(kernel)
    found = {name: _found(kernel.code, kernel.name, kernel.options) for name, kernel in kernels.items()}
    letters = [name for name in found if len(name) == 1]
    right_kind, cost = found["as it is"]
    named = kind.strip().lower().replace(" ", "-")
    demand(named == right_kind, f"the report does not name {named!r:.40} first.", "other-kind")
    mine = {letter for letter in cures.upper() if letter.isalpha()}
    for letter in sorted(mine):
        if letter not in letters:
            fail(f"there is no change {letter}; there are {', '.join(letters)}.", "no-change")
        if found[letter][0]:
            fail(f"{letter} is no cure: {found[letter][0]}.", f"{letter}-no-cure", "no-cure")
    left_out = [letter for letter in letters if not found[letter][0] and letter not in mine]
    if left_out:
        fail(f"your {len(mine)} are right, and {len(left_out)} of the five cure it, too.", "more-cures")
    chosen = best.strip().upper()
    demand(chosen in mine, f"my_best is {best!r:.20}, which is no cure.", "best-no-cure")
    demand(found[chosen][1][0] <= cost[0], f"{chosen} takes a barrier more in each turn.", "more-barriers")
    demand(found[chosen][1][1] <= cost[1], f"{chosen} takes more shared memory.", "more-shared-memory")


@lru_cache(maxsize=16)
def _found(code: str, name: str, options: tuple[str, ...]) -> tuple[str, tuple[int, int]]:
    """What is wrong with a kernel, or nothing; its barriers, and its bytes of shared memory."""
    kernel = cupy_on_numpy.RawKernel(code, name, options)
    right, report = _one_block(kernel, TILE, 4)
    cost = report.counters.total.barriers, compiled(kernel).code.program.static_shared
    return report.brief() if not report.ok else "" if right else "wrong numbers", cost


# --------------------------------------------------------------------------- 05.14: sets that are not in registers


def _ping_pong(answer: object) -> None:
    """Right for any number of k-steps, the next fragments loaded ahead, and nothing in local memory."""
    pair = isinstance(answer, tuple) and len(answer) == 2
    demand(pair, f"the answer is (kernel, my_opcode), and not {answer!r:.60}.", "wrong-form")
    kernel, opcode = answer
    demand_kernel(kernel)
    if not isinstance(opcode, str):
        fail(f"the answer is a kernel and an opcode in quotes, and not {opcode!r:.40}.", "wrong-form")
    name = opcode.strip().upper().partition(".")[0]
    if name not in ("LDL", "STL"):
        fail(f"{opcode.strip()!r:.20} is not the opcode that was asked for.", "other-opcode")
    for steps in 1, 3, 8:
        right, report = _one_block(kernel, (16, 16, 16), steps, 32)
        demand_no_hazard(report)
        demand(right, f"the product is wrong for {steps} k-steps.", "other-k-steps")
        total = report.counters.total
        if total.mma != 2 * steps:
            fail(f"{total.mma} mma are made for {steps} k-steps; {2 * steps} are needed.", "other-k-steps")
    text = "right, but the first mma come before the second k-step's fragments are loaded."
    demand(_loaded_ahead(kernel), text, "nothing-ahead")
    code = sass(kernel)
    local = code.count("LDL") + code.count("STL")
    demand(
        not local,
        f"the product is right, but {local} instructions move fragments to local memory and back.",
        "in-local-memory",
    )
    lines = re.sub(r"//.*", "", kernel.code)
    demand(
        re.search(r"#\s*pragma\s+unroll\s*\(?\s*1\b", lines),
        "right, and all in registers, but the line `#pragma unroll 1` is gone.",
        "no-pragma",
    )


def _loaded_ahead(kernel) -> bool:
    """Whether the fragments of two k-steps have been loaded at the first `mma`: the launch is cut off there."""
    gemm = Gemm(16, 16, 128, "float16")

    def counted(steps: int):
        args = gemm.arguments(*gemm.inputs)
        return simulate(kernel, (1, 1), (32,), args, 0, steps).counters

    few, many = 1, 4000
    while few < many:
        steps = (few + many) // 2
        few, many = (few, steps) if counted(steps).total.mma else (steps + 1, many)
    first = counted(few)
    lines = [line for line, counts in first.by_line.items() if counts.ldmatrix]
    different = sum(len(first.patterns[line]) for line in lines)  # of each instruction the first access only
    written = [each for each in compiled(kernel).code.program.instructions if each.opcode.root == "ldmatrix"]
    return first.total.ldmatrix >= 4 and different >= min(4, len(written))


EXERCISES = {
    "05.11": _orders,
    "05.12": _drained,
    "05.13": _cure,
    "05.14": _ping_pong,
}
