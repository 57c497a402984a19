"""How long a launch would take on a GPU: the clock's model of a block, extended to a whole problem.

One block is simulated twice, with few k-tiles; the other k-tiles cost what the model says of one in the middle of
the main loop. An SM works on the blocks that fit into it, wave after wave. A model: see clock.py and docs/clock.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .clock import clock
from .gpus import Gpu, find_gpu
from .kernel import Kernel
from .launch import launch
from .observe.events import Event
from .occupancy import launch_resources

K_TILES, MORE = 8, 4
"""One block is simulated with 8 and with 12 k-tiles: enough for a pipeline of 7 stages to fill, run and drain. Both
keep rows of K elements aligned alike, on which wavefronts depend. A ring of 3 slots, each with barriers of its own,
comes round in 3 x 4 more, one of 5 in 5 x 4."""

ASSUMPTIONS = (
    "All operands come from L2, and every SM asks for its share of L2's bandwidth.",
    "The blocks of an SM meet each other's work at random times; all blocks of a wave begin and end together.",
    "Events keep their order in PTX, but arithmetic overlaps the shared loads of its own stretch: ptxas moves it so, "
    "if it has registers left.",
    "Tensor cores are as fast as in the tests' kernels without copies (7.9 cycles an m16n8k16 on an H100; a loop of "
    "nothing else takes 6.02).",
    "Loads into registers cost what their bytes cost on the way from L2: L1 is not modelled.",
)


@dataclass(frozen=True)
class Estimate:
    """A modelled launch: never a measurement.

    `ms` at `clock_mhz`; `waves` of `resident` blocks on an SM; `cycles_per_k_tile` of one of them beside the others.
    """

    gpu: Gpu
    ms: float
    clock_mhz: float
    cycles_per_k_tile: float
    resident: int
    waves: int
    assumptions: tuple[str, ...] = field(default=ASSUMPTIONS, repr=False)

    def __str__(self) -> str:
        return (
            f"model, {self.gpu.name}: {self.ms:.3g} ms; {self.waves} wave{'s' * (self.waves != 1)} of {self.resident} "
            f"block{'s' * (self.resident != 1)} an SM, {self.cycles_per_k_tile:,.0f} cycles a k-tile of each block"
        )


def estimate(
    kernel: Kernel,
    grid: Sequence[int],
    block: Sequence[int],
    args_at: Callable[..., Sequence],
    k_tiles: int,
    shared_mem: int = 0,
    gpu: str = "H100",
    resident: int | None = None,
    tiles: int = 1,
) -> Estimate:
    """Model a launch of `grid` blocks, each with `k_tiles` k-tiles in each of its `tiles` tiles of C.

    `args_at(n)` gives the arguments of a launch of a single block (of a single cluster, where the kernel has them) with
    n k-tiles; that is what is simulated. `args_at(n, 2)`: of two tiles; asked for when a block has several.
    `resident`: blocks that fit into an SM, where that is known; otherwise the kernel is compiled for the GPU.
    """
    target, blocks = find_gpu(gpu), _product(grid)
    rates = clock.rates_of(gpu, blocks, kernel)
    if resident is None:
        fit = launch_resources(gpu, kernel, _product(block), shared_mem).occupancy
        if not fit.blocks:
            raise ValueError(f"no block of {kernel.name} fits into an SM of a {target.name}: {fit.limit}")
        resident = fit.blocks
    of_an_sm = -(-blocks // target.sms)
    resident = min(resident, of_an_sm)
    few = min(K_TILES, k_tiles)
    shorter = _events(kernel, block, args_at(few), shared_mem)
    more = 0
    for more in (MORE, 3 * MORE, 5 * MORE) if few < k_tiles else ():
        longer = _events(kernel, block, args_at(few + more), shared_mem)
        if clock.alike(shorter, longer):
            break

    two = _events(kernel, block, args_at(few, 2), shared_mem) if tiles > 1 else shorter
    cycles, per_k_tile = 0.0, 0.0
    full, rest = divmod(of_an_sm, resident)
    for waves, together in ((full, resident), (min(rest, 1), rest)):
        if not waves:
            continue
        if few == k_tiles:
            wave, stretch = clock.settle(shorter, rates, together)
            length, k_tile = wave.cycles, wave.cycles / k_tiles
        else:
            first, added, stretch = clock.steady(shorter, longer, rates, together)
            k_tile = added / more
            length, wave = first + (k_tiles - few) * k_tile, clock.play(shorter, rates, stretch)
        # A further tile: what it takes in a block that has two, and the k-tiles that this one has more.
        both = clock.play(two, rates, stretch)
        further = both.cycles - wave.cycles + (k_tiles - few) * k_tile
        cycles += waves * (length + (tiles - 1) * further)
        if wave.stuck:
            raise ValueError(
                f"the clock sees {wave.stuck} warps of a block wait for ever: it plays one block of a cluster, and "
                "takes the others to do the same at the same time"
            )
        if not per_k_tile:
            per_k_tile = k_tile
    ms = rates.launch_us / 1e3 + cycles / rates.clock_mhz / 1e3
    return Estimate(target, ms, rates.clock_mhz, per_k_tile, resident, full + (rest > 0))


def _events(kernel: Kernel, block: Sequence[int], args: Sequence, shared_mem: int) -> list[list[Event]]:
    report = launch(kernel, kernel.code.program.cluster[:1], block, args, shared_mem)
    if not report.ok:
        raise ValueError(f"a launch with a hazard has no time:\n{report}")
    return report.events


def _product(dims: Sequence[int] | int) -> int:
    dims = dims if isinstance(dims, (tuple, list)) else (dims,)
    result = 1
    for dim in dims:
        result *= int(dim)
    return result
