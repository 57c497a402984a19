"""The exercises of lesson 06 about the tail: the share of a block, a scheduler, and sums that change blocks."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from course_lib.check.verdict import CheckFailed
from cupy_or_sim import cupy_on_numpy
from cupy_or_sim.simulate import simulate
from ptxsim import Report

from ..figures.lesson_06 import k_row
from .common import MOST_STEPS, demand, demand_also, demand_kernel, demand_no_hazard, fail, results_of
from .untried import Untried

SHAPES = [
    (3, 2, 2),
    (20, 3, 16),
    (4, 5, 16),
    (5, 4, 2),
    (1, 7, 4),
    (9, 1, 4),
    (32, 2, 16),
    (6, 6, 1),
    (7, 3, 3),
]
"""(down, across, group); the first one stands in the exercise."""


def _tile(number: int, down: int, across: int, group: int) -> tuple[int, int]:
    first = number // (group * across) * group
    rows, inside = min(group, down - first), number % (group * across)
    return first + inside % rows, inside // rows


def _by_columns_in_group(number: int, down: int, across: int, group: int) -> tuple[int, int]:
    """Groups of columns in place of rows."""
    row, column = _tile(number, across, down, group)
    return column, row


def _from_row_0(number: int, down: int, across: int, group: int) -> tuple[int, int]:
    """Every group in the rows of the first one."""
    row, column = _tile(number, down, across, group)
    return row % group, column


def _up_and_down(number: int, down: int, across: int, group: int) -> tuple[int, int]:
    """The next column of a group begins where the last one ended."""
    row, column = _tile(number, down, across, group)
    first = row // group * group
    last = min(first + group, down) - 1
    return (first + last - row if column % 2 else row), column


ORDERS: list[tuple[str, str, Callable]] = [
    (
        "along-rows",
        "goes along the rows of C",
        lambda number, down, across, group: (number // across, number % across),
    ),
    (
        "down-columns",
        "goes down whole columns of C",
        lambda number, down, across, group: (number % down, number // down),
    ),
    ("groups-of-columns", "has groups of columns", _by_columns_in_group),
    (
        "16-always",
        "has groups of 16 always",
        lambda number, down, across, group: _tile(number, down, across, 16),
    ),
    ("up-and-down", "goes down one column of a group and up the next", _up_and_down),
    ("column-first", "gives the column first", lambda *case: _tile(*case)[::-1]),
    ("from-row-0", "begins every group at row 0", _from_row_0),
]
"""(a word for what a wrong order does, that in words, its formula)"""


def _scheduler(answer: Any) -> None:
    cases = {shape: [(number, *shape) for number in range(shape[0] * shape[1])] for shape in SHAPES}
    mine = {shape: _tiles(results_of(answer, "tile_of", each)) for shape, each in cases.items()}
    for cause, wrong, order in ORDERS:
        same = all(mine[shape] == [order(*case) for case in each] for shape, each in cases.items())
        demand(not same, f"the order {wrong}.", cause)
    for shape, each in cases.items():
        _demand_order(mine[shape], [_tile(*case) for case in each], *shape)
    try:
        short = _tiles([answer(30, 20, 3)])
    except TypeError:
        short = None
    if short != [_tile(30, 20, 3, 16)]:
        fail("without its last argument, the function does not take groups of 16.", "no-default")


def _tiles(given: list) -> list[tuple[int, int]]:
    """What a function returned, as pairs of whole numbers."""
    for tile in given:
        pair = isinstance(tile, tuple | list) and len(tile) == 2
        demand(pair, f"the function returns {tile!r:.60}; it must return two numbers.", "no-two-numbers")
        for name, value in zip(("row", "column"), tile, strict=True):
            demand(value is not None, f"there is still a gap: {name} is None.", "gap")
            if not isinstance(value, int | np.integer):
                fail(f"{name} is {value!r:.40}, which is no whole number.", "no-whole-number")
    return [(int(row), int(column)) for row, column in given]


def _demand_order(mine: list, right: list, down: int, across: int, group: int) -> None:
    """Each tile of C once, and in the right order."""
    told = f"(down = {down}, across = {across}, group = {group})"
    for number, (row, column) in enumerate(mine):
        inside = 0 <= row < down and 0 <= column < across
        demand(inside, f"tile {number} is ({row}, {column}), which C does not have {told}.", "outside-c")
    (tile, times), *_ = Counter(mine).most_common(1)
    missing = next((one for one in right if one not in mine), None)
    demand(times == 1, f"tile {tile} comes {times} times, and {missing} never {told}.", "twice")
    for number, (one, other) in enumerate(zip(mine, right, strict=True)):
        demand(one == other, f"every tile comes once, but tile {number} is {one}, not {other} {told}.")


# --------------------------------------------------------------------------- 06.3: the share

SHARED = [(4, 5, 8), (132, 145, 64), (5, 1, 10), (3, 7, 4), (6, 6, 3), (7, 2, 5), (7, 61, 4), (114, 77, 12)]
"""(blocks, tiles, k-tiles of a tile); the first one is drawn in the lesson, with the last two a float is not exact."""


def _last_in(begin: int, end: int, tile: int, k_tiles: int) -> bool:
    return begin < (tile + 1) * k_tiles <= end


FINISHED: list[tuple[str, str, Callable[[int, int, int, int], bool]]] = [
    ("whole-tiles-only", "only tiles that lie wholly in its share",
     lambda begin, end, tile, k_tiles: begin <= tile * k_tiles and (tile + 1) * k_tiles <= end),
    ("all-touched", "every tile of which a part lies in its share",
     lambda begin, end, tile, k_tiles: begin < (tile + 1) * k_tiles and tile * k_tiles < end),
    ("first-k-tile", "the tiles whose first k-tile lies in its share",
     lambda begin, end, tile, k_tiles: begin <= tile * k_tiles < end),
    ("end-inside", "no tile that ends where its share ends",
     lambda begin, end, tile, k_tiles: begin < (tile + 1) * k_tiles < end),
    ("begin-counted", "also a tile that ended where its share begins",
     lambda begin, end, tile, k_tiles: begin <= (tile + 1) * k_tiles <= end),
]  # fmt: skip
"""(a word for a wrong rule, what a block finishes by it, whether a share finishes a tile)"""


def _share(answer: Any) -> None:
    """Equal shares of the row, one behind the other, and for each the tiles whose last k-tile it has."""
    for blocks, tiles, k_tiles in SHARED:
        cases = [(block, blocks, tiles, k_tiles) for block in range(blocks)]
        given = [_three(each) for each in results_of(answer, "share", cases)]
        told = f"(blocks = {blocks}, tiles = {tiles}, k_tiles = {k_tiles})"
        _demand_shares([share[:2] for share in given], tiles, k_tiles, told)
        _demand_finished(given, tiles, k_tiles, told)


def _three(given: Any) -> tuple[int, int, set[int]]:
    """What the function returned for a block: begin, end, and the tiles that it finishes."""
    three = isinstance(given, tuple | list) and len(given) == 3
    demand(three, f"the function returns {given!r:.60}; it must return three things.", "no-three-things")
    for name, value in zip(("begin", "end", "finishes"), given, strict=True):
        demand(value is not None, f"there is still a gap: {name} is None.", "gap")
    begin, end, finishes = given
    for name, value in (("begin", begin), ("end", end)):
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        demand(whole, f"{name} is {value!r:.40}, which is no whole number.", "no-whole-number")
    several = isinstance(finishes, Iterable) and not isinstance(finishes, str)
    demand(several, f"finishes is {finishes!r:.40}, and must be a list of tiles.", "no-list")
    named = list(finishes)
    for tile in named:
        whole = isinstance(tile, int | np.integer) and not isinstance(tile, bool)
        demand(whole, f"finishes has {tile!r:.40}, which is no whole number.", "no-whole-number")
    demand(
        len(set(named)) == len(named), f"finishes is {named!r:.40}, and names a tile twice.", "named-twice"
    )
    return int(begin), int(end), {int(tile) for tile in named}


def _demand_shares(shares: list[tuple[int, int]], tiles: int, k_tiles: int, told: str) -> None:
    """The whole row, each k-tile once, in shares that differ by one k-tile at most."""
    row = tiles * k_tiles
    found = [
        (shares[0][0] == 0, f"the first share begins at {shares[0][0]}, and not at 0", "not-from-0"),
        *((one[1] == other[0], f"a share ends at {one[1]}, and the next one begins at {other[0]}",
           "overlap" if other[0] < one[1] else "left-out") for one, other in pairwise(shares)),
        (shares[-1][1] == row, f"the last share ends at {shares[-1][1]}, and the row at {row}",
         "rest-dropped" if shares[-1][1] < row else "beyond-the-row"),
    ]  # fmt: skip
    for right, words, cause in found:
        _demand_drawn(right, f"{words} {told}.", cause, shares, tiles, k_tiles)
    lengths = [end - begin for begin, end in shares]
    even = max(lengths) - min(lengths) <= 1
    words = f"the shares have from {min(lengths)} to {max(lengths)} k-tiles {told}."
    _demand_drawn(even, words, "uneven", shares, tiles, k_tiles)


def _demand_drawn(
    right: bool, words: str, cause: str, shares: list[tuple[int, int]], tiles: int, k_tiles: int
) -> None:
    """As `demand`; a small row is drawn, as it was cut."""
    small = tiles * k_tiles <= 40 and all(0 <= begin <= end <= tiles * k_tiles for begin, end in shares)
    if not right:
        raise CheckFailed(words, causes=(cause,), picture=k_row(tiles, k_tiles, shares) if small else None)


def _demand_finished(given: list[tuple[int, int, set[int]]], tiles: int, k_tiles: int, told: str) -> None:
    def of(rule: Callable) -> list[set[int]]:
        return [{t for t in range(tiles) if rule(begin, end, t, k_tiles)} for begin, end, _ in given]

    mine, right = [finishes for _, _, finishes in given], of(_last_in)
    if mine == right:
        return
    for cause, words, rule in FINISHED:
        demand(mine != of(rule), f"the shares are right; by yours a block finishes {words} {told}.", cause)
    for block, (one, other) in enumerate(zip(mine, right, strict=True)):
        demand(
            one == other,
            f"the shares are right; block {block} finishes {sorted(other)}, and not {sorted(one)} {told}.",
            "other-tiles",
        )


# --------------------------------------------------------------------------- 06.10: sums that change blocks

OF_A_BLOCK = 64, 160
"""Threads of the blocks that are tried."""
MOST_THREADS = 1024
"""Of a larger block, where the kernel treats it apart."""
LONG_WAIT = 2_000_000
"""Steps in which a block that waits with all its threads comes to its end."""
KERNEL = r'extern\s+"C"\s+__global__\s+void\s+pieces\s*\('
BARRIER_BEHIND = """extern "C" __global__ void pieces(const float* sums, float* left, int* flag, float* C)
{
    before_the_barrier(sums, left, flag, C);
    __syncthreads();
}
"""


RIGHT = """__device__ void theirs(const float* sums, float* left, int* flag, float* C)
{
    int t = threadIdx.x;
    float sum = sums[blockIdx.x * blockDim.x + t];
    if (blockIdx.x == 0) {
        left[t] = sum;
        __syncthreads();
        if (t == 0) asm volatile("st.release.gpu.global.s32 [%0], 1;" :: "l"(flag) : "memory");
    } else {
        int up = t > 0;
        while (!up) asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(up) : "l"(flag) : "memory");
        __syncthreads();
        C[t] = sum + left[t];
    }
}
"""
BOTH = """extern "C" __global__ void pieces(const float* sums, float* left, int* flag, float* C)
{{
    if (blockIdx.x == 0)
        {leaves}(sums, left, flag, C);
    else
        {takes}(sums, left, flag, C);
}}
"""
ASKS_ALL = r"__syncthreads_(or|and|count)"


def _leave_and_take(answer: Any) -> None:
    """Right sums, and an order between the two blocks for each thread, which numbers do not show."""
    demand_kernel(answer)
    for threads in OF_A_BLOCK:
        _demand_chain(answer, threads)
    for threads in Untried(answer).blocks({"%ntid.x": 1.0}, max(OF_A_BLOCK), most=MOST_THREADS):
        more = partial(_demand_chain, answer, threads)
        demand_also(more, f"right with {max(OF_A_BLOCK)} threads, and not with {threads}", "many-threads")
    before = _before_the_other(answer, OF_A_BLOCK[0])
    text = "the sums are right, but block 1 gives up"
    demand(
        before != "goes-on", f"{text}: before block 0 has begun it finishes, the flag still down.", "gives-up"
    )
    demand(
        before != "counts",
        f"{text}: its loop has an end of its own, far away, also while the flag is down.",
        "gives-up",
    )
    _demand_barriers_of_all(answer, OF_A_BLOCK[0])


def _demand_chain(answer: Any, threads: int) -> None:
    """Right sums, without a hazard, made of what block 0 leaves."""
    sums = np.arange(2 * threads, dtype=np.float32)
    left, C = np.full((2, threads), np.nan, np.float32)
    report = _in_any_order(answer, threads, (sums, left, np.zeros(1, np.int32), C))
    if conflict := next((each for each in report.hazards if each.kind == "block-conflict"), None):
        why = _broken_link(answer, threads)
        fail(f"block-conflict at line {conflict.line}: {conflict.message}", why, "block-conflict")
    demand_no_hazard(report)
    wrong = (sums[:threads] + sums[threads:] != C).sum()
    demand(not wrong, f"no hazard, and {wrong} of {threads} sums of C are wrong.", "wrong-numbers")
    demand((left == sums[:threads]).all(), "C is right, and block 0 left no sums.", "nothing-left")
    _demand_left_and_taken(answer, threads)


def _in_any_order(answer: Any, threads: int, args: tuple) -> Report:
    """The report of both blocks at once. A wait that all threads take part in needs many steps: it gets them where one
    block after the other comes to an end."""
    report = simulate(answer, (2,), (threads,), args, 0, MOST_STEPS)
    if not any(hazard.kind == "step-limit" for hazard in report.hazards):
        return report
    again = [np.zeros_like(each) for each in args]
    after = simulate(answer, (2,), (threads,), again, 0, MOST_STEPS, in_turn="up")
    if any(hazard.kind == "step-limit" for hazard in after.hazards):
        return report
    args[2][:] = 0
    return simulate(answer, (2,), (threads,), args, 0, LONG_WAIT)


def _demand_barriers_of_all(answer: Any, threads: int) -> None:
    """No barrier stands in the branch of one thread. Where the others have ended they count as come: here they have
    not, since each thread comes to one more barrier behind the kernel."""
    body, name = re.subn(KERNEL, "__device__ void before_the_barrier(", answer.code, count=1)
    if not name:
        return
    code = f"{body}\n{BARRIER_BEHIND}"
    kernel = cupy_on_numpy.RawKernel(code, answer.name, options=answer.options)
    sums, C = np.arange(2 * threads, dtype=np.float32), np.full(threads, np.nan, np.float32)
    args = (sums, np.zeros_like(C), np.zeros(1, np.int32), C)
    demand_no_hazard(simulate(kernel, (2,), (threads,), args, 0, MOST_STEPS, in_turn="up"))


def _before_the_other(answer: Any, threads: int) -> str:
    """What block 1 does before block 0 has begun, the flag down: "waits"; "goes-on", to its end; or "counts", in a loop
    that would end some time. (Of a loop around a barrier that asks all threads the simulator cannot say that.)"""
    sums, C = np.zeros(2 * threads, np.float32), np.full(threads, np.nan, np.float32)
    args = (sums, np.zeros_like(C), np.zeros(1, np.int32), C)
    report = simulate(answer, (2,), (threads,), args, 0, MOST_STEPS, in_turn="down")
    if not np.isnan(C).any():
        return "goes-on"
    counts = any(hazard.kind == "step-limit" for hazard in report.hazards)
    return "counts" if counts and not re.search(ASKS_ALL, answer.code) else "waits"


def _broken_link(answer: Any, threads: int) -> str:
    """Of a chain that does not hold: that nobody waits; else the end at fault, tried with a right other end, and there
    the flag, if it fails a block of one thread, too, else the barrier."""
    if _before_the_other(answer, threads) == "goes-on":
        return "goes-on"
    for end, ends in (("leave", "mine theirs"), ("take", "theirs mine")):
        kernel = _with_ends(answer, *ends.split())
        if kernel is not None and _conflicts(kernel, threads):
            if _conflicts(kernel, 1):
                return f"{end}-flag"
            return "take-fence" if end == "take" and _late_fence(answer, threads) else f"{end}-barrier"
    return "block-conflict"


def _late_fence(answer: Any, threads: int) -> bool:
    """Whether its chain holds with a fence in front of each barrier."""
    code = answer.code.replace("__syncthreads()", "__threadfence(), __syncthreads()")
    fenced = cupy_on_numpy.RawKernel(code, answer.name, options=answer.options)
    return code != answer.code and not _conflicts(fenced, threads)


def _with_ends(answer: Any, leaves: str, takes: str) -> Any | None:
    """A kernel with one end of the answer's; None where its text is not as the cell had it."""
    body, name = re.subn(KERNEL, "__device__ void mine(", answer.code, count=1)
    if not name or not {"release", "acquired"} <= set(re.findall(r"\w+", body)):
        return None
    code = f"{body}\n{RIGHT}\n{BOTH.format(leaves=leaves, takes=takes)}"
    return cupy_on_numpy.RawKernel(code, answer.name, options=answer.options)


def _conflicts(kernel: Any, threads: int) -> bool:
    left, C = np.full((2, threads), np.nan, np.float32)
    args = (np.zeros(2 * threads, np.float32), left, np.zeros(1, np.int32), C)
    report = simulate(kernel, (2,), (threads,), args, 0, MOST_STEPS)
    return any(hazard.kind == "block-conflict" for hazard in report.hazards)


def _demand_left_and_taken(answer: Any, threads: int) -> None:
    """Block 0 alone raises the flag and writes no C; block 1, where the flag is up already, makes C of what lies in
    `left`, whatever that is."""
    sums, flag = np.arange(2 * threads, dtype=np.float32), np.zeros(1, np.int32)
    left, C = np.full((2, threads), np.nan, np.float32)
    simulate(answer, (1,), (threads,), (sums, left, flag, C), 0, MOST_STEPS)
    demand(
        np.isnan(C).all(),
        "the sums are right, but block 0 writes C: block 1 finishes the tile.",
        "other-finishes",
    )
    demand(flag[0], "the sums are right, but block 0 leaves them without raising the flag.", "no-flag")
    left[:] = 7 * sums[threads:]
    expected = sums[threads:] + left
    simulate(answer, (2,), (threads,), (sums, left, flag, C), 0, MOST_STEPS, in_turn="down")
    demand(
        np.array_equal(C, expected),
        "the sums are right, but block 1 does not make them of what lies in `left`: with other numbers there C stays "
        "the same.",
        "not-taken",
    )


EXERCISES = {"06.3": _share, "06.10": _leave_and_take, "06.5": _scheduler}
