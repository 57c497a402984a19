"""What the GPUs of the course have, per SM: limits for the occupancy, rates and latencies for the clock.

Sources: limits from the CUDA C++ Programming Guide (compute capabilities), rules of allocation from the toolkit's
cuda_occupancy.h; of the rates, each line names its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import nvrtc

if TYPE_CHECKING:
    from .launch import Kernel

WARP = 32
REGISTERS = 65536  # 32-bit registers of an SM
REGISTER_UNIT = 256  # registers are given to a warp in multiples of this many
SUB_CORES = 4  # of an SM; each has a quarter of the registers


@dataclass(frozen=True)
class Gpu:
    """Limits of one SM. Shared memory in bytes, given to blocks in multiples of `shared_unit`; the system takes
    `reserved` more for each block."""

    name: str
    arch: str
    sms: int
    warps: int
    blocks: int
    shared: int
    shared_block: int
    reserved: int
    shared_unit: int = 128


GPUS = {
    gpu.arch: gpu
    for gpu in (
        Gpu("T4", "sm_75", 40, 32, 16, 64 << 10, 64 << 10, 0, 256),
        Gpu("A100", "sm_80", 108, 64, 32, 164 << 10, 163 << 10, 1024),
        Gpu("RTX 3090", "sm_86", 82, 48, 16, 100 << 10, 99 << 10, 1024),
        Gpu("RTX 4090", "sm_89", 128, 48, 24, 100 << 10, 99 << 10, 1024),
        Gpu("H100", "sm_90", 132, 64, 32, 228 << 10, 227 << 10, 1024),
    )
}


def find_gpu(name: str) -> Gpu:
    """The GPU of this name ("A100") or architecture ("sm_80")."""
    for gpu in GPUS.values():
        if name in (gpu.name, gpu.arch):
            return gpu
    known = ", ".join(f'"{gpu.name}" or "{gpu.arch}"' for gpu in GPUS.values())
    raise ValueError(f"no GPU {name!r} is known here; name one of {known}")


@dataclass(frozen=True)
class Rates:
    """What the clock charges, in cycles: per sub-core for fma and mma, per SM for the rest.

    Every instruction of a warp takes one cycle of its sub-core. `fma`: a float32 FMA of a warp; `mma`: an m16n8k16
    of 16-bit inputs with float32 sums; `wavefront`: 128 bytes of shared memory; `l2_bytes`: bytes that arrive per
    cycle when all SMs ask, `l2_alone` when one does; `copy_issue`: an instruction that moves global memory;
    `barrier` + `barrier_warp` a warp; `block_start`: before a new block's first instruction. `launch_us`: an empty
    kernel.
    """

    fma: float
    mma: float
    mma_latency: float
    wavefront: float
    shared_latency: float
    l2_bytes: float
    l2_alone: float
    l2_latency: float
    copy_issue: float
    barrier: float
    barrier_warp: float
    block_start: float
    launch_us: float
    clock_mhz: int


# Where the numbers come from. M: measured on an H100 80GB HBM3 (tests/golden/clock_h100.json). P: published.
# A: assumed, because nobody has measured it for this course; where nothing is said, as on the H100.
RATES = {
    "sm_90": Rates(
        fma=1.16,  # M: 110.6 of 128 FMA per cycle in a 4 x 4 outer product (register banks)
        mma=7.9,  # M, fitted: the float16 product without its copies, stages 1, 3, 5. In a loop of nothing else 6.02
        mma_latency=24.1,  # M: dependent
        wavefront=1.0,  # M: 127.9 bytes per cycle
        shared_latency=29.1,  # M: dependent ldmatrix.x4; a 16-byte load 32.5
        l2_bytes=28.5,  # M: cp.async, all SMs, each its own region: 31 in the median, and this in the slowest SM
        l2_alone=55,  # M: 16 SMs, more per SM than one GPC passes on
        l2_latency=321,  # M: one warp's cp.async, issued to landed; a dependent load 277
        copy_issue=6,  # M: cp.async of one warp, one after the other
        barrier=12.3,  # M: __syncthreads() with nobody late, without ...
        barrier_warp=2,  # M: ... what each warp adds
        block_start=1000,  # M: end of a block to the first copy of the next, 800 to 1500
        launch_us=3.7,  # M: event to event
        clock_mhz=1979,  # M: while these kernels run
    ),
    "sm_80": Rates(
        fma=2,  # P: 64 FMA per cycle (CUDA C++ Programming Guide, throughput of instructions)
        mma=8,  # P: 1024 FMA per cycle (A100 whitepaper)
        mma_latency=33,  # P: arXiv 2206.02874
        wavefront=1.0,  # P: 128 bytes per cycle
        shared_latency=29,  # P: arXiv 2208.11174
        l2_bytes=35,  # A: 3/4 of the peak, 5120 bytes per cycle for 108 SMs (A100 whitepaper)
        l2_alone=64,  # A: the port of an SM
        l2_latency=322,  # P: a load 200 (near) or 357 (far), arXiv 2208.11174. A: and cp.async 44 more, as on the H100
        copy_issue=6,
        barrier=12.3,
        barrier_warp=2,
        block_start=1000,
        launch_us=3.7,
        clock_mhz=1410,  # P: boost
    ),
    "sm_86": Rates(
        fma=1,  # P: 128 FMA per cycle
        mma=32,  # P: 71 TFLOP/s with float32 sums (GA102 whitepaper)
        mma_latency=33,  # A: as on the A100
        wavefront=1.0,  # P: 128 bytes per cycle
        shared_latency=29,  # A: as on the A100
        l2_bytes=24,  # A
        l2_alone=64,  # A
        l2_latency=280,  # A: a load 236
        copy_issue=6,
        barrier=12.3,
        barrier_warp=2,
        block_start=1000,
        launch_us=3.7,
        clock_mhz=1695,  # P: boost
    ),
    "sm_75": Rates(
        fma=2,  # P: 64 FMA per cycle
        mma=16,  # P: 65 TFLOP/s (T4 data sheet); as two m16n8k8
        mma_latency=32,  # A: two of 14 to 18
        wavefront=2,  # P: 16 load/store units, 64 bytes per cycle
        shared_latency=23,  # P: arXiv 1903.07486
        l2_bytes=20,  # A: about 1270 GB/s, remembered from arXiv 1903.07486 and not looked up again
        l2_alone=64,  # A
        l2_latency=212,  # P: 188 to 236, arXiv 1903.07486. This GPU has no cp.async
        copy_issue=6,
        barrier=12.3,
        barrier_warp=2,
        block_start=1000,
        launch_us=3.7,
        clock_mhz=1590,  # P: boost
    ),
}


@dataclass(frozen=True)
class Occupancy:
    """Blocks that an SM holds at a time, the warps these have, their share of all warps that an SM can hold, and
    what runs out first."""

    blocks: int
    warps: int
    share: float
    limit: str


def occupancy(gpu: Gpu, threads: int, registers: int, shared: int) -> Occupancy:
    """How many blocks of `threads` threads, with `registers` a thread and `shared` bytes a block, an SM holds.

    The rules of the CUDA Occupancy Calculator; no carve-out of the L1 cache is asked for.
    """
    warps = -(-threads // WARP)
    per_warp = _round_up(max(registers, 1) * WARP, REGISTER_UNIT)
    per_block = _round_up(shared + gpu.reserved, gpu.shared_unit)
    room = {
        "warps": gpu.warps // warps,
        "blocks": gpu.blocks,
        "registers": REGISTERS // SUB_CORES // per_warp * SUB_CORES // warps,
    }
    if per_block:
        room["shared memory"] = gpu.shared // per_block if shared <= gpu.shared_block else 0
    blocks = min(room.values())
    limit = " and ".join(name for name, most in room.items() if most == blocks)
    return Occupancy(blocks, blocks * warps, blocks * warps / gpu.warps, limit)


def _round_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


@dataclass(frozen=True, repr=False)
class LaunchResources:
    """What one launch takes on a GPU, as ptxas reports it, and the occupancy that follows.

    `registers` of a thread; `spills`: bytes that a thread stores and loads because it has too few registers;
    `static_shared` and `dynamic_shared`: bytes of a block.
    """

    gpu: Gpu
    registers: int
    spills: int
    static_shared: int
    dynamic_shared: int
    occupancy: Occupancy

    def __repr__(self) -> str:
        spills = f"{self.spills} bytes of spills" if self.spills else "no spills"
        shared = f"{self.static_shared:,} + {self.dynamic_shared:,} bytes of shared memory (static + dynamic)"
        fit = self.occupancy
        blocks = f"{fit.blocks or 'no'} block{'s' * (fit.blocks != 1)}"
        warps = f"{fit.warps} of {self.gpu.warps} warps, {fit.share:.0%}"
        return (
            f"{self.gpu.name} ({self.gpu.arch}): {self.registers} registers a thread, {spills}, {shared}; "
            f"{blocks} on an SM at a time ({warps}), limited by {fit.limit}"
        )


def launch_resources(name: str, kernel: Kernel, threads: int, dynamic_shared: int) -> LaunchResources:
    """Compile the kernel for the GPU of this name or architecture, which takes a moment, and see what fits."""
    gpu = find_gpu(name)
    try:
        used = nvrtc.resources(kernel.source, kernel.entry, kernel.options, gpu.arch, kernel.name_expressions)
    except nvrtc.CompileError as error:  # ptxas repeats itself for each instruction
        missing = "; ".join(dict.fromkeys(re.findall(r"Feature '.*", str(error))))
        message = f"{kernel.name} does not compile for a {gpu.name} ({gpu.arch}): {missing or error}"
        raise nvrtc.CompileError(message) from None
    spills, shared = used.spill_stores + used.spill_loads, used.static_shared
    fit = occupancy(gpu, threads, used.registers, shared + dynamic_shared)
    return LaunchResources(gpu, used.registers, spills, shared, dynamic_shared, fit)
