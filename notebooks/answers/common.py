"""What the tests of several lessons share."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Any, NoReturn

import numpy as np

from course_lib.check.gemm import Gemm
from course_lib.check.job import Job
from course_lib.check.verdict import MOST, SMALL, CheckFailed, Verdict, check
from course_lib.draw.pictures import sector_figure
from cupy_or_sim import cupy_on_numpy
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import simulate
from ptxsim import Counts, Report, global_sectors
from ptxsim.observe.events import MOST_EVENTS, BulkStore, Copy, Event, Load, Store, Work, in_flight

from .untried import M, N, Untried, untried

MOST_STEPS = 250_000
"""Of one launch of a check: some two seconds, four times what the kernels of the lessons take."""

Warps = list[list[Event]]
"""What each warp of a block does."""

K_TILES = (17, 4, MOST)
"""Of the launches with one block: a loop may end after 8 k-tiles, or after 16."""

FEW = (1, 2, 3, 5)
"""Of the launches with several blocks."""
BLOCKS = (3, 3)
"""The most along M and along N of a launch of the check."""
SEVERAL = SMALL[0][0]
"""Of `Verdict.several`: an odd number, where MOST is an even one."""


def demand(right: Any, message: str, *causes: str) -> None:
    """Raise `message` as the finding, unless it is right. `causes`: words for it that hints know, the most telling
    first."""
    if not right:
        fail(message, *causes)


def fail(message: str, *causes: str) -> NoReturn:
    """Raise `message` as the finding; `causes` as `demand` takes them."""
    raise CheckFailed(message, causes=causes)


def demand_also(ask: Callable[[], object], seen: str, cause: str) -> None:
    """Raise in short what `ask` finds, behind what is `seen` of this answer: that it is right with less. `cause`: the
    word for it. A hazard gives no hint: it comes of what is left out, and not of what is there."""
    try:
        ask()
    except CheckFailed as error:
        raise CheckFailed(f"{seen}: {in_short(error)}", causes=(cause,)) from None


def in_short(error: CheckFailed) -> str:
    """Kind and line of the first hazard; without one, what is wrong with the numbers."""
    return f"{error.hazards[0].kind} at line {error.hazards[0].line}." if error.hazards else str(error)


def demand_no_hazard(report: Report) -> None:
    """Raise its hazards as the finding, if it has any."""
    if not report.ok:
        raise CheckFailed(str(report), report.hazards)


def demand_all_landed(report: Report) -> None:
    """Raise it as the finding where the block may end while a copy into its shared memory is on its way."""
    cause = "copy-in-flight-at-exit"
    left = next((note for note in report.notes if note.cause == cause), "")
    demand(not left, f"the numbers are right, and a copy is left over: {left}.", cause)


def demand_whole_sectors(report: Report) -> None:
    """Raise the worst access to global memory, drawn, as the finding, if sectors move that need not."""
    total = report.counters.total
    if total.global_sectors <= total.global_sectors_ideal:
        return

    def waste(access: tuple[int, Any]) -> float:
        (used,), (ideal,) = global_sectors(np.array([access[1].offsets]), access[1].size)
        return used / ideal

    found = [(line, one) for line, some in report.counters.global_patterns.items() for one in some]
    line, worst = max(found, key=waste)
    if waste((line, worst)) <= 1:  # patterns are of first warps, and tell nothing of atomics
        line, counts = max(report.counters.by_line.items(), key=lambda one: _too_many(one[1]))
        fail(
            f"the numbers are right, but {counts.global_sectors} sectors move for line {line}, where "
            f"{counts.global_sectors_ideal} are enough.",
            "wasted-sectors",
        )
    places = ", ".join(str(offset) for offset in worst.offsets[:3])
    raise CheckFailed(
        f"the numbers are right, but {total.global_sectors} sectors move where {total.global_sectors_ideal} are "
        f"enough: in line {line} the first lanes of a warp are at the bytes {places}, ...",
        causes=("wasted-sectors",),
        picture=sector_figure(*worst),
    )


def _too_many(counts: Counts) -> int:
    """Sectors of a line that need not move."""
    return counts.global_sectors - counts.global_sectors_ideal


def demand_kernel(answer: Any) -> None:
    if not hasattr(answer, "code"):
        fail(f"the answer is a kernel, cp.RawKernel(...), and not {answer!r:.60}.", "no-kernel")


def is_whole(value: Any) -> bool:
    """Whether it is a whole number, of any type of numbers; True and False are none."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return number and float(value).is_integer()


def whole_number(value: Any, name: str) -> int:
    """The number that a learner gave, as any type of number; `name` says what it is."""
    if not is_whole(value):
        fail(f"{name} is a whole number, and not {value!r:.60}.", "no-whole-number")
    return int(value)


def kernel_and_numbers(answer: Any, *names: str) -> tuple:
    """An answer that is a kernel and whole numbers, which `names` call in words."""
    form = f"(kernel, {', '.join(names)})"
    fits = isinstance(answer, tuple | list) and len(answer) == 1 + len(names)
    demand(fits, f"the answer is {form}, and not {answer!r:.60}.", "wrong-form")
    demand_kernel(answer[0])
    return answer[0], *(whole_number(value, name) for value, name in zip(answer[1:], names))


def results_of(answer: Any, name: str, cases: Iterable[tuple]) -> list:
    """What the learner's Python function, called `name`, gives for each case."""
    if not callable(answer) or hasattr(answer, "code"):
        fail(f"what came is a kernel, a number or a text; pass the function itself: {name}.", "no-function")
    given = []
    for case in cases:
        try:
            given.append(answer(*case))
        except Exception as error:  # a learner's function may raise anything
            fail(f"your function stops with {type(error).__name__}: {error}.", "stops")
    if not all(value is not None for value in given):
        fail("there is still a gap: the function returns None.", "gap")
    return given


def checked_gemm(answer: Any, right: Launch, dtype: str = "float32") -> Any:
    """The kernel. The answer is a kernel for this launch, or a kernel and the launch that the learner chose for it."""
    return checked(answer, right, dtype)[0]


def checked(
    answer: Any, right: Launch, dtype: str = "float32", k_tiles: Sequence[int] = K_TILES
) -> tuple[Any, Verdict]:
    """The same, and the verdict, which knows what the warps of one block with the last of these k-tiles did. More
    k-tiles are tried where a kernel treats them apart."""
    kernel, launch = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, right)
    demand_kernel(kernel)
    if not isinstance(launch, Launch):
        fail(f"the launch is written Launch(tile=..., threads=...), and not {launch!r:.60}.", "wrong-launch")
    demand(launch == right, f"the launch is {launch}.", "wrong-launch")
    M, N, K = (4 * size for size in right.tile)
    gemm = Gemm(M, N, K, dtype)
    verdict = check_k_tiles(Job(kernel, gemm, right), MOST_STEPS, k_tiles)
    if not launch.blocks:
        _demand_own_tile(verdict.several.events, right, dtype)
    return kernel, verdict


def check_k_tiles(job: Job, max_steps: int, k_tiles: Sequence[int]) -> Verdict:
    """The verdict on a kernel that is tried with these k-tiles, and with others, or more blocks, where it treats them
    apart."""
    tile, apart = job.launch.tile, Untried(job.kernel)
    more = apart.k_tiles(tile[2], (*FEW, *k_tiles))
    grids = [] if job.launch.blocks else untried_grids(apart, tile, BLOCKS)
    longest = max((*more, *(prod(grid) for grid in grids)), default=0)
    try:
        return check(job, 0, max_steps * (1 + longest // MOST), (*more, *k_tiles), grids)
    except CheckFailed as error:
        many = error.problem.K // tile[2] if error.problem else 0
        if not error.problem or (error.hazards and many not in more):
            raise
        if many > MOST:
            text = f"right with few k-tiles, and not with {many} of them: {told(error)}"
            raise CheckFailed(text, causes=("many-k-tiles",), problem=error.problem) from None
        down, right = error.problem.tiles(job.launch)
        if (down, right) not in grids and not (
            down * right > 1
            and untried_grids(apart, tile, (1, 1))
            and _right_with_one_block(job, error.problem.K)
        ):
            raise
        text = f"right with few blocks, and not with {down} x {right} of them: {told(error)}"
        raise CheckFailed(text, causes=("many-blocks",), problem=error.problem) from None


def told(error: CheckFailed) -> str:
    """What is wrong, without the size of the product."""
    if error.hazards:
        return f"{error.hazards[0].kind}."
    return "".join(str(error).splitlines()[1:2])


BARRIER = re.compile(
    r"(?:\b__syncthreads\s*\(\s*\)|\bnamed_sync\s*<[^;>]*>\s*\([^;()]*\)"
    r'|\basm\s*(?:volatile\s*)?\(\s*"bar(?:rier)?\.(?:cta\.)?sync[^"]*"[^;"]*\))\s*;'
)
LAMBDA = re.compile(r"\bauto\s+(\w+)\s*=\s*\[[^\]]*\]\s*(?:\(\s*\)\s*)?\{([^{}]*)\}\s*;")
"""A function without parameters that stands in a kernel: its name and its body."""
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def without_each_barrier(source: str) -> list[tuple[int, str]]:
    """(line of a barrier, the source without it), of each that a thread waits at."""
    code = COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), source)
    code = _written_out(code)
    return [
        (code.count("\n", 0, begin) + 1, f"{code[:begin]};{code[end:]}")
        for begin, end in (barrier.span() for barrier in BARRIER.finditer(code))
    ]


def _written_out(code: str) -> str:
    """The code with each lambda that holds a barrier in the places where it is called, on the lines as they are."""
    for found in LAMBDA.finditer(code):
        name, body = found.groups()
        call = re.compile(rf"\b{name}\s*\(\s*\)\s*;")
        calls, uses = len(call.findall(code)), len(re.findall(rf"\b{name}\b", code))
        if BARRIER.search(body) and "return" not in body and uses == calls + 1:
            code = code.replace(found[0], "\n" * found[0].count("\n"))
            written = body.replace("\n", " ")
            code = f"{{{written}}}".join(call.split(code))
    return code


def demand_no_needless_barrier(kernel: Any, right: Callable[[Any], bool], given: int = 0) -> None:
    """Without any one of its barriers a right answer is not right: `right` says it of such a kernel. The last `given`
    of them stood there."""
    without = without_each_barrier(kernel.code)
    own = without[: len(without) - given]
    for line, source in own if len(own) > 1 else ():
        text = f"right, but without the barrier in line {line} it is right, too."
        other = cupy_on_numpy.RawKernel(source, kernel.name, options=kernel.options)
        demand(not right(other), text, "needless-barrier")


def _right_with_one_block(job: Job, K: int) -> bool:
    one = job.gemm.like(*job.launch.tile[:2], K)
    (A, B, C, *_), _ = job.on(one).simulated(one.integers(seed=0))
    return np.array_equal(C, (A.astype(np.float32) @ B.astype(np.float32).T).astype(one.dtype))


def untried_grids(
    apart: Untried, tile: Sequence[int], tried: tuple[int, int], sizes: tuple[int, int] = (M, N)
) -> list[tuple[int, int]]:
    """(blocks along M, along N), of one row or column, for a kernel that treats a block or a C that is far out apart.
    `tried`: the most along both; `sizes`: which parameters M and N are."""
    down = apart.blocks({sizes[0]: 1 / tile[0], "%ctaid.x": 1.0}, tried[0])
    right = apart.blocks({sizes[1]: 1 / tile[1], "%ctaid.y": 1.0}, tried[1])
    return [*((blocks, 1) for blocks in down), *((1, blocks) for blocks in right)]


def for_each_count(warps: Mapping[int, Warps], ask: Callable[[Warps, int], None]) -> None:
    """Ask something of what the warps of a block do with these numbers of k-tiles, some odd and some even. `ask` takes
    one of them, and its k-tiles, and raises what is wrong."""
    first = next(iter(warps))
    for k_tiles, events in warps.items():
        try:
            ask(events, k_tiles)
        except CheckFailed as error:
            if k_tiles == first:
                raise
            text = f"with {first} k-tiles all is as asked, and with {k_tiles} not: {error}"
            raise CheckFailed(text, causes=("other-count-of-k-tiles", *error.causes)) from None


def for_every_count(
    kernel: Any, verdict: Verdict, launch: Launch, ask: Callable[[Warps, int], None], dtype: str = "float32"
) -> None:
    """Ask something of what the warps of a block do with MOST k-tiles, and then with SEVERAL, as `for_each_count`; and
    with as many as the kernel treats apart."""
    for_each_count({MOST: verdict.events, SEVERAL: verdict.several.events}, ask)
    tile_m, tile_n, tile_k = launch.tile
    far = untried(kernel, tile_k, (SEVERAL, MOST))
    # Of the last turn nothing may be asked: one more has the turn at the constant before it.
    for k_tiles in (*far, *(last + 1 for last in far[-1:])):
        gemm = Gemm(tile_m, tile_n, k_tiles * tile_k, dtype)
        args = gemm.arguments(*gemm.inputs)
        warps = simulate(kernel, (1, 1), launch.block, args, launch.shared_mem).events
        try:
            if _all_recorded(warps):
                ask(warps, k_tiles)
        except CheckFailed as error:
            text = f"with {MOST} k-tiles all is as asked, and with {k_tiles} not: {error}"
            raise CheckFailed(text, causes=("many-k-tiles", *error.causes)) from None


def _all_recorded(warps: Warps) -> bool:
    """Whether all that the warps did is known: of many events the last ones are not recorded."""
    return all(len(mine) < MOST_EVENTS for mine in warps)


def _demand_own_tile(events: Warps, launch: Launch, dtype: str) -> None:
    """A block stores its own tile of C, and no more, as far as that is known."""
    if not _all_recorded(events):
        return
    stored = sum(event.bytes for mine in events for event in mine if isinstance(event, Store | BulkStore))
    tile = launch.tile[0] * launch.tile[1] * np.dtype(dtype).itemsize
    text = f"the product is right, but block 0 stores {stored:.0f} bytes of C, and its tile has {tile}."
    demand(round(stored) == tile, text, "other-tile")


def demand_tensor_cores(report: Report, launch: Launch, k_tiles: int, ldmatrix: int = 0) -> None:
    """All products of a launch of whole tiles are made by `mma.m16n8k16`; its operands come by at least so many
    `ldmatrix` for each k-tile of a block."""
    total, (M, N, K) = report.counters.total, launch.tile
    turns = k_tiles * prod(report.grid)
    enough = turns * M * N * K // (16 * 8 * 16)
    text = f"the numbers are right, but only {total.mma} mma are made where the products take {enough}."
    demand(total.mma >= enough, text, "few-mma")
    text = f"the numbers are right, but only {total.ldmatrix} ldmatrix are made, and not {turns * ldmatrix}."
    demand(total.ldmatrix >= turns * ldmatrix, text, "not-by-ldmatrix")


def demand_from_tile(warps: Warps, tile: str = "tile") -> None:
    """These warps read nothing from global memory themselves: what they use lies in shared memory, in the `tile`."""
    past = sum(event.bytes for mine in warps for event in mine if isinstance(event, Load))
    text = f"the numbers are right, but {past:.0f} bytes are read from global memory past the {tile}."
    demand(not past, text, "past-the-tile")


def demand_parts(
    events: list[list[Event]], kind: type[Load | Store | Copy], does: str, share: float = 0.5
) -> None:
    """Each warp of a block has so much of an equal part in the bytes that events of this kind move; else the finding
    says of it what it `does`."""
    bytes_of = [sum(event.bytes for event in mine if isinstance(event, kind)) for mine in events]
    idle = min(range(len(bytes_of)), key=bytes_of.__getitem__)
    of_all = f" of {sum(bytes_of):.0f}" * _all_recorded(events)
    text = f"the numbers are right, but warp {idle} {does} {bytes_of[idle]:.0f}{of_all} bytes."
    demand(bytes_of[idle] * len(bytes_of) >= share * sum(bytes_of), text, "other-share")


def k_tiles_on_their_way(report: Report, k_tiles: int) -> int:
    """How many of its `k_tiles` k-tiles a warp copies while it multiplies another one, for most of its math."""
    math: Counter[int] = Counter()
    for events in report.events:
        copied = sum(event.bytes for event in events if isinstance(event, Copy)) or 1.0
        for event, groups, current in in_flight(events):
            if isinstance(event, Work) and event.math:
                math[round((sum(groups) + current) * k_tiles / copied)] += int(event.math)
    return max(math, key=math.__getitem__, default=0)
