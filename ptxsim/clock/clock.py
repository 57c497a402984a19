"""A cost model of coarse events: when a kernel copies, waits and computes on one SM. A model, not a measurement.

While a launch runs, a `Recorder` notes for each warp of one block what it does: work (instructions, FMAs, mma,
shared-memory wavefronts), copies, waits, barriers, loads, stores. `play` then plays these events against the rates of
a GPU: four sub-cores, the port of shared memory, the way from L2.

Other blocks on the same SM are not played. They are taken to do the same at other, random times: what they keep busy
on average makes this block's requests take longer (`settle`). That is mean value analysis of a closed queueing
network with processor sharing. Playing all blocks in step was tried: they fall into a perfect rhythm, in which one
computes exactly while the other copies, and which no GPU keeps.

Assumptions. Events keep their PTX order, but ptxas moves arithmetic that needs no memory above barriers and copies
(only memory operations are held in order): `hoist_math` does so too. A stretch of work between two events takes as
long as the busiest resource it needs. All operands come from L2.
"""

from collections.abc import Callable
from dataclasses import astuple, replace

import numpy as np

from ..compiler.nvrtc import CompileError
from ..gpus import GPUS, Rates, find_gpu
from ..kernel import Kernel
from ..observe.events import Event
from ..occupancy import launch_resources, occupancy
from .block import Block, hoist_math
from .played import ALONE, Played, Stretch

STEADY = 2  # parts of the main loop over which its time is taken, after as many to get going
NEXT_READ = 20  # cycles from a read of the clock to the next, where the model knows nothing of them
USUAL_REGISTERS = 32


def play(events: list[list[Event]], rates: Rates, stretch: Stretch = ALONE) -> Played:
    """Play the events of a block, one list a warp."""
    return Block([hoist_math(e) for e in events], rates, stretch).run()


def settle(events: list[list[Event]], rates: Rates, resident: int) -> tuple[Played, Stretch]:
    """Play a block beside `resident` - 1 others like it, which it meets at random times.

    A resource that each block keeps busy for a share `u` of its time serves 1 + (resident - 1) * u of them at
    once, so that everything there takes as many times longer; and that changes `u`. Iterate until it does not.
    """
    return _settle(lambda stretch: play(events, rates, stretch), resident)


def _settle(played_with: Callable[[Stretch], Played], resident: int) -> tuple[Played, Stretch]:
    stretch = Stretch()
    for _ in range(60):
        played = played_with(stretch)
        others = (resident - 1) / max(played.cycles, 1.0)
        wanted = [1 + others * busy for busy in astuple(played.busy)]
        moved = [(old + new) / 2 for old, new in zip(astuple(stretch), wanted, strict=True)]
        close = (
            max(abs(new - old) for old, new in zip(astuple(stretch), wanted, strict=True)) < 0.004 * resident
        )
        stretch = Stretch(*moved)
        if close:
            break
    return played, stretch


def extend(shorter: list[list[Event]], longer: list[list[Event]], times: int) -> list[list[Event]]:
    """The events of `shorter`, with what `longer` has more of them `times` times."""
    result = []
    for a, b in zip(shorter, longer, strict=True):
        if a == b and shorter != longer:  # a warp that has no part in the main loop
            result.append(a)
            continue
        same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
        more = b[same : same + len(b) - len(a)]
        if len(b) <= len(a) or b[same + len(more) :] != a[same:]:
            raise ValueError("the k-tiles of this kernel are not alike, so its time cannot be extrapolated")
        result.append(a[:same] + more * times + a[same:])
    return result


def alike(shorter: list[list[Event]], longer: list[list[Event]]) -> bool:
    """Whether `longer` is `shorter` with more of the same."""
    try:
        return bool(extend(shorter, longer, 1))
    except ValueError:
        return False


def steady(
    shorter: list[list[Event]], longer: list[list[Event]], rates: Rates, resident: int
) -> tuple[float, float, Stretch]:
    """Cycles of a block with `shorter`'s events, cycles of what `longer` has more, and the stretch, with `resident`
    blocks in the middle of long main loops."""
    few, many = (extend(shorter, longer, times) for times in (STEADY, 2 * STEADY))
    ends: list[float] = []

    def in_the_middle(stretch: Stretch) -> Played:
        a, b = play(few, rates, stretch), play(many, rates, stretch)
        ends[:] = [a.cycles, (b.cycles - a.cycles) / STEADY]
        busy = Stretch(*(y - x for x, y in zip(astuple(a.busy), astuple(b.busy), strict=True)))
        return Played(b.cycles - a.cycles, busy)

    _, stretch = _settle(in_the_middle, resident)
    return ends[0] - STEADY * ends[1], ends[1], stretch


# --------------------------------------------------------------------------- what clock64() says


class Clock:
    """Gives a warp's reads of the clock the times that the model has for the same warp of the watched block.

    `played`: the watched block. Blocks beyond the first `at_once` begin when those before them end. A warp that reads
    more often than the watched block's goes on in equal steps.
    """

    def __init__(self, played: Played, at_once: int, mhz: int) -> None:
        self.played, self.cycles, self.at_once, self.mhz = played, played.cycles, at_once, mhz
        reads = max(len(times) for times in played.clocks)
        self.table = np.empty((len(played.clocks), reads + 1))
        for row, times in zip(self.table, played.clocks, strict=True):
            last = times[-1] if times else played.cycles
            row[: len(times)] = times
            row[len(times) :] = last + NEXT_READ * np.arange(1, reads + 2 - len(times))

    def read(self, blocks: np.ndarray, warps: np.ndarray, reads: np.ndarray, unit: str) -> np.ndarray:
        """The clock at read number `reads` of these warps of these blocks, in "cycles" or "ns" (uint64)."""
        last = self.table.shape[1] - 1
        later = NEXT_READ * np.maximum(reads - last, 0)
        cycles = blocks // self.at_once * self.cycles + self.table[warps, np.minimum(reads, last)] + later
        return (cycles if unit == "cycles" else cycles * 1000 / self.mhz).astype(np.uint64)


Clocks = dict[tuple, Clock]
"""Of one kernel, by a launch's grid, block and dynamic shared memory."""


def model_launch(
    kernel: Kernel, grid: tuple, block: tuple, shared_mem: int, events: list[list[Event]], gpu: str = "H100"
) -> Clock:
    """The model of one launch on a GPU, from the events of one of its blocks."""
    target = find_gpu(gpu)
    blocks = grid[0] * grid[1] * grid[2]
    resident = 1
    if blocks > target.sms:
        fit = _blocks_of_an_sm(gpu, kernel, block[0] * block[1] * block[2], shared_mem)
        resident = max(1, min(fit, -(-blocks // target.sms)))
    rates = rates_of(gpu, blocks, kernel)
    played, _ = settle(events, rates, resident)
    return Clock(played, resident * target.sms, rates.clock_mhz)


def _blocks_of_an_sm(gpu: str, kernel: Kernel, threads: int, shared_mem: int) -> int:
    """With a usual number of registers where NVRTC cannot compile the kernel: one of a whole program, with the host's
    headers."""
    try:
        return launch_resources(gpu, kernel, threads, shared_mem).occupancy.blocks
    except CompileError:
        shared = kernel.code.program.static_shared + shared_mem
        return occupancy(find_gpu(gpu), threads, USUAL_REGISTERS, shared).blocks


def rates_of(gpu: str, blocks: int, kernel: Kernel) -> Rates:
    """The rates of a GPU while it runs that many blocks of a kernel: few SMs have more of L2's bandwidth each.

    Raises ValueError where the clock knows no rates of this GPU, or none of what the kernel uses.
    """
    target = find_gpu(gpu)
    if not target.rates:
        known = ", ".join(gpu.name for gpu in GPUS.values() if gpu.rates)
        raise ValueError(f"the clock knows no rates of a {target.name}; it knows {known}")
    used = _of_hopper(kernel)
    if used and not target.rates.wgmma:
        others = [gpu.name for gpu in GPUS.values() if gpu.rates and gpu.rates.wgmma]
        raise ValueError(
            f"{kernel.name} uses {' and '.join(used)}, for which the clock has no rates of the {target.name}; it has "
            f'them of: {", ".join(others)}. Pass gpu="{others[0]}"'
        )
    rates, share = target.rates, target.sms / min(blocks, target.sms)
    l2_bytes, l2_bulk = (min(rates.l2_alone, each * share) for each in (rates.l2_bytes, rates.l2_bulk))
    return replace(rates, l2_bytes=l2_bytes, l2_bulk=l2_bulk)


def _of_hopper(kernel: Kernel) -> list[str]:
    """What the kernel uses of which only some GPUs have rates, in words."""
    opcodes = {instruction.opcode for instruction in kernel.code.instructions}
    used = {
        "wgmma": any(opcode.root == "wgmma" for opcode in opcodes),
        "the copy engine (cp.async.bulk)": any(opcode.has("bulk") for opcode in opcodes),
    }
    return [name for name, is_used in used.items() if is_used]
