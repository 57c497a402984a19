"""What the GPUs of the course have, per SM: limits for the occupancy, rates and latencies for the clock.

Sources: limits from the CUDA C++ Programming Guide (compute capabilities) and the Occupancy Calculator's notes on
allocation; rates of sm_90 measured on an H100 80GB HBM3 (assets/measurements/clock_h100.json where it is
stored) or published where the line says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from .nvrtc import Resources

WARP = 32
REGISTERS = 65536  # 32-bit registers of an SM
REGISTER_UNIT = 256  # registers are given to a warp in multiples of this many


@dataclass(frozen=True)
class Gpu:
    """Limits of one SM. Shared memory in bytes; `reserved` is what the system takes of it for each block."""

    name: str
    arch: str
    sms: int
    warps: int
    blocks: int
    shared: int
    shared_block: int
    reserved: int


GPUS = {
    gpu.arch: gpu
    for gpu in (
        Gpu("T4", "sm_75", 40, 32, 16, 64 << 10, 64 << 10, 0),
        Gpu("A100", "sm_80", 108, 64, 32, 164 << 10, 163 << 10, 1024),
        Gpu("RTX 3090", "sm_86", 82, 48, 16, 100 << 10, 99 << 10, 1024),
        Gpu("RTX 4090", "sm_89", 128, 48, 24, 100 << 10, 99 << 10, 1024),
        Gpu("H100", "sm_90", 132, 64, 32, 228 << 10, 227 << 10, 1024),
    )
}


@dataclass(frozen=True)
class Rates:
    """What the clock charges, in cycles: per sub-core for issue, fma and mma; per SM for the rest.

    `issue` for an instruction of a warp, `fma` for a float32 FMA of a warp, `mma` for an m16n8k16 of 16-bit
    inputs, `wavefront` for 128 bytes of shared memory; `l2_bytes` arrive per cycle when all SMs ask.
    """

    sub_cores: int
    issue: float
    fma: float
    mma: float
    mma_latency: float
    wavefront: float
    shared_latency: float
    l2_bytes: float
    l2_latency: float
    copy_issue: float
    barrier: float
    block_start: float
    clock_mhz: int


RATES = {
    "sm_90": Rates(4, 1.0, 1.035, 6.02, 24, 1.0, 30, 29, 330, 4, 20, 700, 1980),
}


@dataclass(frozen=True)
class Occupancy:
    """Blocks that fit into an SM together, the warps that makes, and what runs out first."""

    blocks: int
    warps: int
    share: float
    limit: str


def occupancy(gpu: Gpu, threads: int, registers: int, shared: int) -> Occupancy:
    """How many blocks of `threads` threads, with `registers` a thread and `shared` bytes a block, fit into an SM."""
    warps = -(-threads // WARP)
    per_warp = -(-registers * WARP // REGISTER_UNIT) * REGISTER_UNIT
    fits = {
        "warps": gpu.warps // warps,
        "blocks": gpu.blocks,
        "registers": REGISTERS // per_warp // 4 * 4 // warps if per_warp else gpu.blocks,
        "shared memory": gpu.shared // (-(-shared // 128) * 128 + gpu.reserved)
        if shared + gpu.reserved
        else gpu.blocks,
    }
    limit = min(fits, key=fits.get)
    if shared > gpu.shared_block:
        return Occupancy(0, 0, 0.0, "shared memory")
    return Occupancy(fits[limit], fits[limit] * warps, fits[limit] * warps / gpu.warps, limit)


@dataclass(frozen=True)
class LaunchResources:
    """What one launch takes on a named GPU, as ptxas reports it, and the occupancy that follows."""

    gpu: Gpu
    kernel: Resources
    dynamic_shared: int
    occupancy: Occupancy

    @property
    def registers(self) -> int:
        return self.kernel.registers

    @property
    def spills(self) -> int:
        """Bytes that spilled registers store and load, for each thread."""
        return self.kernel.spill_stores + self.kernel.spill_loads

    @property
    def static_shared(self) -> int:
        return self.kernel.static_shared


def launch_resources(arch: str, kernel: Resources, threads: int, dynamic_shared: int) -> LaunchResources:
    gpu = GPUS[arch]
    fit = occupancy(gpu, threads, kernel.registers, kernel.static_shared + dynamic_shared)
    return LaunchResources(gpu, kernel, dynamic_shared, fit)
