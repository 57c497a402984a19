"""A whole launch by its machine code: what one SM does with the blocks that it gets.

The warps of one block are walked (walk.py), with few k-tiles and with more; as many blocks as fit play on one SM
(sm.py). The further k-tiles take what one of them takes in the middle of the longer play. An SM is not fair: older
blocks get more of it. So each has a rate of its own, and the SM's blocks follow each other at these rates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import ceil, prod
from typing import Any

import numpy as np

from ..compiler.disassembly import SassInstruction
from ..front.kernel import Kernel, literals, machine_code
from ..front.occupancy import launch_resources
from ..gpus import H100, SECTOR, Gpu
from .accesses import Access
from .by_line import Shares, by_line
from .core import Op
from .costs import BLOCK_START, Costs
from .footprint import Footprint, footprint, middle_of
from .instructions import ops_of
from .measured import costs_of, dram_of, gpu_of
from .memory import ARRAY, Rates
from .operations import Arithmetic, Await, Branch, Passing
from .reasons import REASONS
from .registers import Triple
from .sm import Played, Spent, Stream, run
from .walk import Step, constants_of, parameters_at, walk_block

CLOCK_MHZ, TENSOR_MHZ, WGMMA_MHZ = 1980, 1770, 1600
"""M: the SM's clock while kernels run on an H100 in bursts; tensor cores take so much power that it falls. Of others
only the highest clock is known. L2 has a clock of its own."""
LAUNCH_US = 3.7
"""An empty kernel, from event to event. M: on an H100 (tests/golden/clock_h100.json); A: elsewhere."""
BESIDE_SHARED, LEAST_L1 = 28 << 10, 16 << 10
"""Bytes of L1 that no block can have as shared memory. P: 256 KB together and 228 for blocks on an H100, 192 and 164 on
an A100, 128 and 100 on an RTX 3090; A."""
APART = 16
"""Waves of blocks, from which on those of an SM are at k-tiles far apart: where L2 cannot keep what is read, each of
them waits for DRAM. With fewer they go in step, and one of them waits. M: of 4 waves the two of `one_buffer` are at
most 7 % of a block's time apart and the eight of `plain_tile` 3 %, of 62 those of `vector_copy` half of it. A: the
number (those of `register_tile`, with 8, are apart, too), and that they take turns in waiting, with lessons in view."""
KEPT = 0.85
"""Of L2, what it keeps for the next launch on the same arrays. M: of an H200's 50 MiB 40 and not 48
(tests/golden/dram_nvidia-h200.json)."""
FEW, MORE = 4, 12
"""K-tiles of the two walks: 4, and 12 more, which come out even for rings of 2, 3 and 4."""
MOST_OPS = 300_000
"""Instructions of one play; where 12 more k-tiles are more than that, 4 have to do."""
MOST_WAVES, LEAST_WAVES = 8, 3
"""Of blocks that are played whole, one after the other: so many, but no fewer, however long they are."""
LEAST_OPS = 400
"""Of a warp: where 16 k-tiles are fewer, there are more of them."""


@dataclass(frozen=True)
class LaunchCycles:
    """A modelled launch: never a measurement.

    `ms` at `clock_mhz`; `cycles` of the SM that has most to do; `resident` blocks on an SM; `cycles_per_k_tile` of a
    block while all of them are there, the mean; `spent`: by (address, reason) the cycles of a warp, which sum to
    `cycles`; `instructions`: the machine code; `blocks`: a row (SM, begin, end) for each block, in cycles from the
    first begin on. `origin`: where another GPU's numbers come from, in words; "" for an H100, whose stand in costs.py.
    """

    gpu: Gpu
    ms: float
    clock_mhz: float
    cycles: float
    resident: int
    cycles_per_k_tile: float
    spent: Spent = field(repr=False)
    instructions: tuple[SassInstruction, ...] = field(repr=False)
    blocks: np.ndarray = field(repr=False, compare=False)
    origin: str = ""

    def by_line(self) -> Shares:
        """Of each source line (0: what has none), by reason, the share of the time; all shares sum to 1. A wait for
        copies or at a barrier is that of the line which says so."""
        index = {each.address: at for at, each in enumerate(self.instructions)}
        shares = {
            (index[address], REASONS[reason]): cycles / self.cycles
            for (address, reason), cycles in self.spent.items()
        }
        return by_line(self.instructions, shares)

    def __str__(self) -> str:
        origin = f" ({self.origin})" if self.origin else ""
        return (
            f"model on machine code, {self.gpu.name}{origin} at {self.clock_mhz:,.0f} MHz: {self.ms:.3g} ms; "
            f"{self.resident} block{'s' * (self.resident != 1)} on an SM, {self.cycles_per_k_tile:,.0f} cycles a "
            "k-tile of each block"
        )


@dataclass(frozen=True)
class Setting:
    """A launch as an SM sees it: `resident` of its `of_an_sm` blocks are there together. `walked(n)`: what each warp of
    one of them issues with n k-tiles; `walked(n, t)`: and with t tiles of C."""

    gpu: Gpu
    instructions: tuple[SassInstruction, ...]
    clock_mhz: int
    of_an_sm: int
    resident: int
    rates: Rates
    walked: Callable[..., list[list[Op]]]


def setting(
    kernel: Kernel,
    grid: Sequence[int],
    block: Sequence[int],
    args_at: Callable[..., Sequence],
    shared_mem: int,
    gpu: str | Gpu,
    operands: int,
    tiles: int,
    k_tiles: int = 1,
) -> Setting:
    """The arguments are those of `launch_cycles`."""
    target = gpu_of(gpu)
    costs = costs_of(target)
    takes = launch_resources(target, kernel, prod(block), shared_mem)
    instructions = machine_code(kernel, target.arch)
    resident = takes.occupancy.blocks
    if not resident:
        raise ValueError(f"no block of {kernel.name} fits into an SM of a {target.name}")
    of_an_sm = -(-prod(grid) // target.sms)
    resident = min(resident, of_an_sm)
    mhz = _clock(target, costs, instructions)
    shared = resident * (takes.static_shared + takes.dynamic_shared + target.reserved)
    rates = Rates(
        l2_bytes=costs.l2_bytes,
        l2_alone=costs.l2_alone,
        store_bytes=costs.store_bytes,
        dram=operands > target.l2,
        in_step=1 if of_an_sm >= APART * resident else resident,
        l1_sectors=max(target.shared + BESIDE_SHARED - shared, LEAST_L1) // SECTOR,
        costs=costs,
    ).where_slower(mhz / costs.clock_mhz)
    of_grid, is_product = triple(grid), bool(operands) or tiles > 1
    stands_for_all = (0, 0, 0) if is_product else middle_of(of_grid)

    def steps(args: Sequence, size: Sequence[int], at: Triple = (0, 0, 0)) -> list[list[Step]]:
        of_kernel = parameters(kernel, args, target.arch)
        sizes = triple(block), triple(size)
        constants = constants_of(of_kernel, *sizes, target.arch, literals(kernel, target.arch))
        return walk_block(instructions, constants, at, *sizes)

    def walked(n: int, of_block: int = 1) -> list[list[Op]]:
        args, size = (args_at(n), grid) if tiles == 1 else (args_at(n, of_block), kernel.code.program.cluster)
        known: dict[tuple, Op] = {}
        return [ops_of(of_warp, known, costs) for of_warp in steps(args, size, stands_for_all)]

    if not is_product:
        rates = replace(rates, **_from_dram(_touched(steps, args_at, of_grid, k_tiles), target, mhz))
    elif rates.dram:
        beside = _beside(of_grid, target.sms)
        both = (steps(args_at(1), grid, at) for at in ((0, 0, 0), beside))
        rates = replace(rates, of_few=arrays_of_few(*both))
    return Setting(target, instructions, mhz, of_an_sm, resident, rates, walked)


def _touched(
    steps: Callable[..., list[list[Step]]], args_at: Callable[..., Sequence], grid: Triple, k_tiles: int
) -> Footprint:
    """Of a launch: one with a few k-tiles, and as much more as a further one touches. What blocks share in other
    k-tiles is not seen."""

    def of(n: int) -> Footprint:
        return footprint(lambda at: steps(args_at(n), grid, at), grid)

    if k_tiles <= 2:
        return of(k_tiles)
    return of(1).grown(of(2), k_tiles - 1)


def _from_dram(touched: Footprint, gpu: Gpu, mhz: int) -> dict[str, Any]:
    """Of rates: what comes from DRAM and goes to it, where L2 cannot keep what is touched until the next launch."""
    dram = dram_of(gpu)
    if dram is None or touched.size <= KEPT * gpu.l2:
        return {"dram": False, "in_turn": True}
    both = touched.bytes_read + touched.bytes_written
    share = dram.at(touched.bytes_written / both) * 1e6 / mhz / gpu.sms
    few = frozenset(array for array, part in touched.new.items() if 2 * part > 1 and array in touched.read)
    return {"dram": True, "in_turn": True, "dram_bytes": share, "new": touched.new, "of_few": few}


def _beside(grid: Triple, sms: int) -> Triple:
    """The next block in the direction in which those that are at work together, one on each SM, reach farther."""
    return (1, 0, 0) if grid[0] ** 2 >= sms or grid[1] == 1 else (0, 1, 0)


def arrays_of_few(one: list[list[Step]], other: list[list[Step]]) -> frozenset[int]:
    """The arrays of which two blocks read mostly lines of their own: few of the blocks at work read the same ones. Of
    the other arrays many do, and all but the first of these find them in L2."""
    read = [
        {
            sector
            for of_warp in walk
            for step in of_warp
            if isinstance(step.access, Access)
            for sector in step.access.sectors
        }
        for walk in (one, other)
    ]
    of_one, shared = (Counter(sector // ARRAY for sector in each) for each in (read[0], read[0] & read[1]))
    return frozenset(array for array, sectors in of_one.items() if 2 * shared[array] < sectors)


def launch_cycles(
    kernel: Kernel,
    grid: Sequence[int],
    block: Sequence[int],
    args_at: Sequence | Callable[..., Sequence],
    k_tiles: int = 1,
    shared_mem: int = 0,
    gpu: str | Gpu = "H100",
    operands: int = 0,
    tiles: int = 1,
) -> LaunchCycles:
    """Model a launch of `grid` blocks, one of many on the same arrays. `args_at`: its arguments; of a kernel with a
    main loop a function, whose `args_at(n)` are those of the whole launch with n k-tiles (turns of the loop). An
    argument that is no number may be anything, since no data are looked at. `gpu`: a name, or one made of a driver's
    limits; its numbers are those that `make calibrate` measured there (measured.py). `operands`: of a matrix product
    the bytes that all blocks together read; without it walks find what the launch touches of each array (footprint.py),
    and DRAM's rate bounds it. `tiles` of C that a block makes one after the other (the most that one makes); if
    several, `args_at(n, t)` gives the arguments of a launch of a single block (of a single cluster) that makes t of
    them.

    Raises Untraceable where the kernel's branches or addresses depend on data, CompileError where the GPU has not its
    instructions, and ValueError where no block fits or the GPU's numbers are missing or broken.
    """
    arguments = args_at if callable(args_at) else lambda _: args_at
    one = setting(kernel, grid, block, arguments, shared_mem, gpu, operands, tiles, k_tiles)
    target, mhz, rates, walked = one.gpu, one.clock_mhz, one.rates, one.walked
    of_an_sm, resident = one.of_an_sm, one.resident
    work = works(walked, k_tiles, resident)
    paces = {
        together: pace(
            work,
            together,
            rates,
            STEADY_TURNS if together == resident else TAIL_TURNS,
            ceil(of_an_sm / together),
        )
        for together in _counts(resident, of_an_sm)
    }
    blocks = _on_all_sms(paces, prod(grid), target.sms, resident, k_tiles)
    fullest = paces[resident]
    parts = fullest.spent(k_tiles)
    if tiles > 1:
        more, of_tile = further(walked, fullest, resident, rates, k_tiles, tiles)
        blocks[:, 2] += (tiles - 1) * more
        parts = {key: parts.get(key, 0.0) + (tiles - 1) * of_tile.get(key, 0.0) for key in {*parts, *of_tile}}
        parts = {key: part for key, part in parts.items() if part > 0}
    cycles, sum_of = float(blocks[:, 2].max()), sum(parts.values())
    spent = {key: part / sum_of * cycles for key, part in parts.items()}
    ms = LAUNCH_US / 1e3 + cycles / mhz / 1e3
    turn = resident / sum(fullest.rates)
    blocks[:, 1:] -= blocks[:, 1].min()
    origin = rates.costs.origin
    return LaunchCycles(target, ms, mhz, cycles, resident, turn, spent, one.instructions, blocks, origin)


def _clock(target: Gpu, costs: Costs, instructions: Sequence[SassInstruction]) -> int:
    """The SM's clock while a kernel runs: on an H100's processor by the tensor cores' instructions in it."""
    if target.arch != H100.arch:
        return costs.clock_mhz
    names = {one.opcode.partition(".")[0] for one in instructions}
    held = WGMMA_MHZ if "HGMMA" in names else TENSOR_MHZ if "HMMA" in names else CLOCK_MHZ
    return min(held, costs.clock_mhz)


def triple(size: Sequence[int]) -> Triple:
    """Sizes of a grid or a block, in three directions."""
    x, y, z = (*size, 1, 1)[:3]
    return x, y, z


def parameters(kernel: Kernel, args: Sequence, arch: str = "sm_90") -> list[tuple[int, bytes]]:
    """Where each parameter lies, and its bytes. What is no number gets an address of its own."""
    found, offset, address = [], 0, ARRAY * SECTOR
    begin = parameters_at(arch)
    for variable, value in zip(kernel.params, args, strict=True):
        offset = -(-(begin + offset) // variable.align) * variable.align - begin
        if isinstance(value, (np.generic, int, float)):
            number = np.asarray(value)
            data = number.astype(
                number.dtype if number.nbytes == variable.size else f"i{variable.size}"
            ).tobytes()
        else:
            data = address.to_bytes(8, "little") * (variable.size // 8)
            address += ARRAY * SECTOR
        found.append((offset, data))
        offset += variable.size
    return found


EDGE = 2
"""K-tiles at either end of a walk that are not taken as steady."""
RING = 12
"""K-tiles of the loop of a kernel with mbarriers, at most: they come out even for rings of 2, 3, 4 and 6 slots."""


@dataclass(frozen=True)
class Warp:
    """What one warp issues with the longer walk's k-tiles: `ops`, and where k-tiles in the middle begin, as indices;
    the last mark is the end of the one before. Without marks it has nothing to do in a k-tile."""

    ops: list[Op]
    marks: tuple[int, ...]

    @property
    def tile(self) -> float:
        """Instructions of a k-tile."""
        return (self.marks[-1] - self.marks[0]) / (len(self.marks) - 1) if self.loop else 0.0

    @property
    def loop(self) -> tuple[int, int] | None:
        """From where to where it may go round."""
        return (self.marks[0], self.marks[-1]) if len(self.marks) > 1 else None


@dataclass(frozen=True)
class Work:
    """A block's warps: all that they issue with `few` k-tiles, and with `tiles`. `longer` is empty where the launch has
    no more k-tiles than these."""

    few: int
    whole: list[list[Op]]
    tiles: int
    longer: list[Warp]


def works(walked: Callable[[int], list[list[Op]]], k_tiles: int, resident: int) -> Work:
    """Walk a block twice."""
    few, more = FEW, MORE
    whole = walked(min(few, k_tiles))
    while len(whole[0]) * 4 < LEAST_OPS and few < k_tiles:
        few, more = 4 * few, 4 * more
        whole = walked(min(few, k_tiles))
    if len(whole[0]) * len(whole) * resident * 4 > MOST_OPS:
        more = FEW
    if k_tiles <= few + more:
        return Work(k_tiles, walked(k_tiles), k_tiles, [])
    return Work(few, whole, few + more, loops(whole, walked(few + more), few, more))


def loops(short: list[list[Op]], long: list[list[Op]], few: int, more: int) -> list[Warp]:
    """Where the k-tiles of each warp's main loop begin, by walks with `few` of them and with `more` than these."""
    mbarriers = any(isinstance(op, Await) for ops in long for op in ops)
    return [main_loop(both[1]) if mbarriers else _warp(*both, few, more) for both in zip(short, long)]


def first_k_tile(short: list[Op], long: list[Op], few: int, more: int) -> tuple[float, float]:
    """Of a warp: after how many instructions its first k-tile begins, and how many a k-tile has. It begins `few` of
    them before the walks part."""
    tile = (len(long) - len(short)) / more
    pairs = enumerate(zip(short, long))
    parted = next((at for at, both in pairs if _part(*both)), len(short))
    return max(parted - few * tile, 0.0), tile


def _part(one: Op, other: Op) -> bool:
    """Whether two walks are at different instructions here, or do other things with one. Arithmetic that no lane does
    is no difference, nor what only passes."""
    both = (Op if isinstance(op, Arithmetic | Passing) else type(op) for op in (one, other))
    return one.at != other.at or len(set(both)) > 1


def _warp(short: list[Op], long: list[Op], few: int, more: int) -> Warp:
    first, tile = first_k_tile(short, long, few, more)
    marks = tuple(round(first + tile * at) for at in range(EDGE, few + more - EDGE + 1)) if tile else ()
    return Warp(long, marks)


def main_loop(long: list[Op]) -> Warp:
    """Of a kernel with mbarriers, whose first and last k-tiles are of other instructions: the branch that goes back
    most often ends a k-tile. As many of them as come out even: behind the last one comes the slot of the first."""
    back = [
        at for at, (one, after) in enumerate(pairwise(long)) if isinstance(one, Branch) and after.at < one.at
    ]
    if not back:
        return Warp(long, ())
    of_loop, _ = Counter(long[at].at for at in back).most_common(1)[0]
    begins = [at + 1 for at in back if long[at].at == of_loop]
    waits = [
        next((op.mbarrier for op in long[at:] if isinstance(op, Await)), None) for at in begins[: RING + 1]
    ]
    even = [turn for turn, slot in enumerate(waits) if slot == waits[0]]
    return Warp(long, tuple(begins[: (even[-1] or FEW) + 1]))


@dataclass(frozen=True)
class Pace:
    """Blocks that share an SM: `rates`, k-tiles a cycle of each, the oldest first; `extra`: what a block takes besides
    its k-tiles, as a number of k-tiles; what all their warps spend their cycles on in a k-tile of each block, and
    besides."""

    rates: list[float]
    extra: float
    of_k_tile: Spent
    besides: Spent

    def spent(self, k_tiles: int) -> Spent:
        found = dict(self.besides)
        for key, cycles in self.of_k_tile.items():
            found[key] = found.get(key, 0.0) + k_tiles * cycles
        return {key: cycles for key, cycles in found.items() if cycles > 0}


STEADY_ISSUES = 100_000
"""Instructions over which the rates of blocks are taken."""
STEADY_TURNS = 6
"""And k-tiles of each block, at the most; """
TAIL_TURNS = 3
"""The same where the last blocks of an SM have more room; """
LEAST_ISSUES = 20_000
"""but not fewer instructions than these."""


def pace(work: Work, together: int, shared: Rates, turns: int, waves: int = 1) -> Pace:
    """Play `together` blocks: to their end, with few k-tiles, and the main loop of the longer walk without one. Blocks
    that are played whole follow each other: in the `waves` that there are, or fewer."""
    few, warps = work.few, len(work.whole)
    if not work.longer and waves > 1:
        return _of_waves(work, together, shared, waves)
    whole = run([Stream(ops, number) for number in range(together) for ops in work.whole], shared)
    if not work.longer:
        rates = [few / max(whole.ends[at : at + warps]) for at in range(0, together * warps, warps)]
        return Pace(rates, 0.0, {}, whole.spent)
    streams = []
    for number in range(together):
        for warp in work.longer:
            streams.append(Stream(warp.ops, number, warp.marks[:-1], warp.loop))
    of_k_tile = together * sum(warp.tile for warp in work.longer)
    issues = int(min(STEADY_ISSUES, max(turns * of_k_tile, LEAST_ISSUES)))
    steady = run(streams, shared, issues)
    rates = _rates(steady, together)
    made = sum(rates) / together * (steady.end - steady.since)
    spent = {key: cycles / made for key, cycles in steady.spent.items()}
    extra = max(whole.end * sum(rates) / together - few, 0.0)
    besides = {key: whole.spent.get(key, 0.0) - few * spent.get(key, 0.0) for key in {*whole.spent, *spent}}
    return Pace(rates, extra, spent, besides)


def _of_waves(work: Work, together: int, shared: Rates, waves: int) -> Pace:
    """Blocks that are played whole, and others behind them."""
    of_a_wave = together * sum(map(len, work.whole))
    played_waves = min(waves, MOST_WAVES, max(MOST_OPS // of_a_wave, LEAST_WAVES))
    follow = played_waves - 1
    streams = [Stream(ops, number, follow=follow) for number in range(together) for ops in work.whole]
    played = run(streams, shared)
    ends = sorted(end for _, end in played.blocks)
    if played_waves == waves:
        of_a_block = ends[-1] / waves
    else:
        of_a_block = (ends[-1] - ends[together - 1]) / follow
    rate = work.few / max(of_a_block - BLOCK_START, 1.0)
    spent = {key: cycles / played_waves for key, cycles in played.spent.items()}
    return Pace([rate] * together, 0.0, {}, spent)


def further(
    walked: Callable[[int, int], list[list[Op]]],
    known: Pace,
    together: int,
    shared: Rates,
    k_tiles: int,
    tiles: int,
) -> tuple[float, Spent]:
    """What a further tile of C takes that blocks make behind others: the last of three (of two) with a few k-tiles, and
    its further k-tiles."""
    few = k_tiles if k_tiles <= FEW + MORE else RING
    last = min(tiles, 3)
    before, after = (
        run([Stream(ops, number) for number in range(together) for ops in walked(few, count)], shared)
        for count in (last - 1, last)
    )
    rest = k_tiles - few
    spent = {
        key: cycles - before.spent.get(key, 0.0) + rest * known.of_k_tile.get(key, 0.0)
        for key, cycles in after.spent.items()
    }
    return after.end - before.end + rest * together / sum(known.rates), spent


def _rates(played: Played, together: int) -> list[float]:
    """K-tiles a cycle of each block, from `since` to the end of a play."""
    warps = len(played.times) // together
    rates = []
    for block in range(together):
        done = []
        for times in played.times[block * warps : (block + 1) * warps]:
            if len(times) > 1:
                begin, end = np.interp([played.since, played.end], times, range(len(times)))
                turn = (times[-1] - times[0]) / (len(times) - 1)
                begin -= max(times[0] - played.since, 0) / turn
                end += max(played.end - times[-1], 0) / turn
                done.append((end - begin) / (played.end - played.since))
        rates.append(float(np.mean(done)) if done else 0.0)
    return rates


def _counts(resident: int, of_an_sm: int) -> list[int]:
    """With how many blocks on the SM it is played: as many as fit, and where that matters fewer, for the last ones."""
    counts = [resident]
    while counts[-1] > 1 and of_an_sm < 16 * resident:
        counts.append(counts[-1] // 2)
    return counts


def _on_all_sms(paces: dict[int, Pace], blocks: int, sms: int, resident: int, k_tiles: int) -> np.ndarray:
    """Rows (SM, begin, end) of all blocks, in cycles. SMs are alike: some have a block more than the others."""
    of_an_sm = -(-blocks // sms)
    full = blocks - sms * (of_an_sm - 1)
    found: list[tuple[float, float, float]] = []
    for count, numbers in ((of_an_sm, range(full)), (of_an_sm - 1, range(full, sms))):
        spans = _one_after_the_other(paces, count, resident, k_tiles)
        found += [(sm, *span) for sm in numbers for span in spans]
    return np.array(found)


def _one_after_the_other(
    paces: dict[int, Pace], blocks: int, resident: int, k_tiles: int
) -> list[tuple[float, float]]:
    """Begin and end of an SM's blocks, in cycles: whenever one ends the next begins, and is the youngest."""
    there: list[
        tuple[float, float]
    ] = []  # when each began and the k-tiles that are left of it, the oldest first
    found: list[tuple[float, float]] = []
    time = 0.0
    while len(found) < blocks:
        while len(found) + len(there) < blocks and len(there) < resident:
            known = paces[resident]
            left = k_tiles + known.extra + BLOCK_START * sum(known.rates) / resident
            there.append((time + BLOCK_START, left))
        rates = _rates_of(paces, len(there))
        step = min(left / rate for (_, left), rate in zip(there, rates) if rate)
        time += step
        there = [(begin, left - rate * step) for (begin, left), rate in zip(there, rates)]
        found += [(begin, time) for begin, left in there if left <= 1e-6]
        there = [one for one in there if one[1] > 1e-6]
    return found


def _rates_of(paces: dict[int, Pace], together: int) -> list[float]:
    """Of a number of blocks that was not played: as many of the next larger number's."""
    if together in paces:
        return paces[together].rates
    return paces[min(count for count in paces if count > together)].rates[:together]
