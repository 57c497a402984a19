"""What a warp does for one k-block, counted by the simulator: its FMAs, its loads, and what they cost."""

from dataclasses import dataclass
from math import prod

from course_lib.check.gemm import Gemm
from cupy_or_sim.kernel import Kernel
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import simulate

STARTS_A_CYCLE = 4  # of instructions of warps, one by each scheduler of an SM; and one wavefront a cycle


@dataclass(frozen=True)
class KBlock:
    """Of one warp and one k-block: FMA instructions, loads from shared memory, and wavefronts of these loads and of the
    copies to shared memory."""

    fma: int
    loads: int
    load_wavefronts: int
    copy_wavefronts: int

    @property
    def fma_cycles(self) -> float:
        """Cycles of an SM for the FMAs."""
        return self.fma / STARTS_A_CYCLE

    @property
    def start_cycles(self) -> float:
        """Cycles of its schedulers to start the FMAs and the loads."""
        return (self.fma + self.loads) / STARTS_A_CYCLE

    @property
    def shared_cycles(self) -> int:
        """Cycles of its shared memory."""
        return self.load_wavefronts + self.copy_wavefronts

    @property
    def limit(self) -> float:
        """The longest of the three."""
        return max(self.fma_cycles, self.start_cycles, self.shared_cycles)


def k_block(kernel: Kernel, launch: Launch) -> KBlock:
    """What a warp of this GEMM kernel does for a k-block: a block with four k-tiles less one with two, so that
    prologue and epilogue do not count."""
    few, many = (_counted(kernel, launch, k_tiles) for k_tiles in (2, 4))
    k_blocks = 2 * launch.tile[2] * prod(launch.block) // 32
    return KBlock(*((more - less) // k_blocks for less, more in zip(few, many)))


def show_k_blocks(**kernels: tuple[Kernel, Launch]) -> None:
    """Print a line for each (kernel, launch), called by its name."""
    print(
        "for one k-block a warp has   FMAs   loads   wavefronts: of loads   of copies    cycles: FMA   shared"
    )
    for name, (kernel, launch) in kernels.items():
        one = k_block(kernel, launch)
        print(
            f"{name:26} {one.fma:6} {one.loads:7} {one.load_wavefronts:22} {one.copy_wavefronts:11} "
            f"{one.fma_cycles:14.0f} {one.shared_cycles:8}"
        )


def _counted(kernel: Kernel, launch: Launch, k_tiles: int) -> tuple[int, int, int, int]:
    tile_m, tile_n, tile_k = launch.tile
    problem = Gemm(tile_m, tile_n, tile_k * k_tiles)
    args = problem.arguments(*problem.inputs)
    counters = simulate(kernel, (1, 1), launch.block, args, launch.shared_mem).counters
    copies = sum(line.shared_wavefronts for line in counters.by_line.values() if line.cp_async)
    total = counters.total
    return total.fma, total.shared_loads, total.shared_wavefronts - copies, copies
