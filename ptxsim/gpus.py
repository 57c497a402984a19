"""The GPUs, each in one place: limits of an SM for the occupancy, rates for the clock, measured ceilings for the
pictures.

Sources: limits of an SM from the CUDA C++ Programming Guide (compute capabilities); how many SMs there are, and L2's
size, from NVIDIA's white papers. Each other line names its own, and its letter: M: measured. P: published. A: assumed,
because nobody has measured it here.
"""

import re
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

WARP = 32
WARPGROUP = 4  # warps that make a wgmma together
REGISTERS = 65536  # 32-bit registers of an SM
MAX_REGISTERS = 255  # of a thread
REGISTER_UNIT = 256  # registers are given to a warp in multiples of this many
SUB_CORES = 4  # of an SM; each has a quarter of the registers
BANKS = 32  # of shared memory; each gives a word of 4 bytes at a time
SECTOR = 32  # bytes: what global memory moves at a time
SHARED_BY_DEFAULT = 48 << 10  # bytes of shared memory of a block that did not ask for more


@dataclass(frozen=True)
class Sourced:
    """A number, how it is known, and where it stands or why it is taken."""

    value: float
    how: Literal["measured", "published", "assumed"]
    where: str


RANGES = {
    "fma": (1, 2),
    "mma": (1, 64),
    "l2_bytes": (8, 79),
    "l2_alone": (8, 128),
}
"""The least and the most that a number of `Rates` can be. A: the GPUs below have 1 and 2, 8 to 32, 20 to 35 and 64 (of
an H100 6.15, 35.4 and 55 were measured); what is ten times too many bytes is out of range on each of them."""


@dataclass(frozen=True)
class Rates:
    """What the clock takes for a GPU that nobody has calibrated, in cycles: `fma`: a float32 FMA of a warp, `mma`: an
    m16n8k16 of 16-bit inputs with float32 sums, of a sub-core; `l2_bytes`: bytes that arrive per cycle in an SM when
    all SMs ask, `l2_alone` when one does.

    Raises ValueError for a number that no GPU has, and for one without a source.
    """

    fma: Sourced
    mma: Sourced
    l2_bytes: Sourced
    l2_alone: Sourced

    def __post_init__(self) -> None:
        for name in RANGES:
            known = getattr(self, name)
            if not isinstance(known, Sourced):
                raise ValueError(
                    f"{name} is {known!r}: each rate is Sourced(value, how it is known, where it stands)"
                )
            refuse(name, known.value)


def refuse(name: str, value: float) -> None:
    """Raise ValueError for a number that no GPU has."""
    least, most = RANGES[name]
    if not least <= value <= most:
        raise ValueError(
            f"{name} is {value:.4g}, and it is from {least} to {most} on every GPU: look at its unit"
        )


OF_DRAM = (0.1, 20)
"""TB/s, from the slowest known to the fastest. A: a T4 has 0.32 (published), a B200 8."""


@dataclass(frozen=True)
class Dram:
    """What DRAM gives and takes, in TB/s: where all of it is read, written, a third written, and half of it."""

    read: Sourced
    third: Sourced
    half: Sourced
    written: Sourced

    def __post_init__(self) -> None:
        for each in (self.read, self.third, self.half, self.written):
            least, most = OF_DRAM
            if not least <= each.value <= most:
                raise ValueError(
                    f"DRAM moves {each.value:.4g} TB/s, and it is from {least} to {most} on every GPU"
                )

    def at(self, written: float) -> float:
        """TB/s, where so large a part of the bytes is written."""
        known = (self.read, self.third, self.half, self.written)
        parts, times = (0.0, 1 / 3, 0.5, 1.0), [1 / each.value for each in known]
        return 1 / float(np.interp(written, parts, times))


@dataclass(frozen=True)
class Ceilings:
    """What no kernel exceeds. `math`: TFLOP/s and where that comes from, by dtype; `memory`: measured TB/s by level."""

    math: dict[str, tuple[float, str]] = field(default_factory=dict)
    memory: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Gpu:
    """Limits of one SM. Shared memory in bytes, given to blocks in multiples of `shared_unit`; the system takes
    `reserved` more for each block. `l2`: bytes of that cache. `driver_name`: as CUDA calls it. `clock_mhz`: of an SM
    that nothing holds down; 0 where that is not known. `rates`: of GPUs whose numbers were published; what was measured
    lies in rates/."""

    name: str
    arch: str
    sms: int
    warps: int
    blocks: int
    shared: int
    shared_block: int
    reserved: int
    l2: int
    shared_unit: int = 128
    driver_name: str = ""
    clock_mhz: int = 0
    rates: Rates | None = None
    dram: Dram | None = None
    ceilings: Ceilings = Ceilings()


@dataclass(frozen=True)
class Room:
    """How many blocks of a launch a GPU holds at once, fewer than the launch has: `blocks`, `on_sm` of them on each SM;
    `limit` is what runs out first."""

    gpu: Gpu
    blocks: int
    on_sm: int
    limit: str

    def __str__(self) -> str:
        where = f"{self.on_sm} on each of {self.gpu.sms} SMs, limited by {self.limit}"
        return f"the GPU ({self.gpu.name}) holds {self.blocks:,} of them at once ({where})"

    def refuses(self, blocks: int) -> str:
        """Why a cooperative launch of so many blocks is refused."""
        return f"a cooperative launch of {blocks:,} blocks, and {self}"


PORT = Sourced(64, "assumed", "the port of an SM")

H200_DRAM = "tests/golden/dram_nvidia-h200.json: from 128 MiB or 512 to 1024"
AS_AN_H200 = "its copy, and as much faster as on an H200"

H100 = Gpu(
    name="H100",
    arch="sm_90",
    sms=132,
    warps=64,
    blocks=32,
    shared=228 << 10,
    shared_block=227 << 10,
    reserved=1024,
    l2=50 << 20,
    driver_name="NVIDIA H100 80GB HBM3",
    clock_mhz=1979,  # M: while a kernel without tensor cores runs
    dram=Dram(
        read=Sourced(3.31, "assumed", AS_AN_H200),
        third=Sourced(3.07, "assumed", AS_AN_H200),
        half=Sourced(2.85, "measured", "a copy, 2026-11-20"),
        written=Sourced(3.28, "assumed", AS_AN_H200),
    ),
    ceilings=Ceilings(
        math={
            "float32": (66.9, "fp32: 132 SMs x 256 FLOP per clock x 1.98 GHz"),
            "float16": (648, "mma.sync alone, measured at 1.80 GHz; cuBLAS uses wgmma"),
        },
        memory={"DRAM": 2.85, "L2": 6.84},
    ),
)

# The same processor with other memory. A: what is not DRAM's is as on the H100 (NVIDIA's data sheets name one chip).
H200 = replace(
    H100,
    name="H200",
    driver_name="NVIDIA H200",
    dram=Dram(
        read=Sourced(4.71, "measured", H200_DRAM),
        third=Sourced(4.37, "measured", H200_DRAM),
        half=Sourced(4.06, "measured", H200_DRAM),
        written=Sourced(4.67, "measured", H200_DRAM),
    ),
    ceilings=replace(H100.ceilings, memory={"DRAM": 4.8, "L2": 6.84}),  # P: DRAM, H200 data sheet
)

# Limits: P, compute capability 10.0. Nobody here has had one: no rates, and no clock.
B200 = Gpu(
    name="B200",
    arch="sm_100",
    sms=148,
    warps=64,
    blocks=32,
    shared=228 << 10,
    shared_block=227 << 10,
    reserved=1024,
    l2=126 << 20,
    driver_name="NVIDIA B200",
)

A100 = Gpu(
    name="A100",
    arch="sm_80",
    sms=108,
    warps=64,
    blocks=32,
    shared=164 << 10,
    shared_block=163 << 10,
    reserved=1024,
    l2=40 << 20,
    driver_name="NVIDIA A100-SXM4-80GB",
    clock_mhz=1410,  # P: boost
    rates=Rates(
        fma=Sourced(
            2, "published", "64 FMA per cycle: CUDA C++ Programming Guide, throughput of instructions"
        ),
        mma=Sourced(8, "published", "1024 FMA per cycle: A100 whitepaper"),
        l2_bytes=Sourced(35, "assumed", "3/4 of the peak, 5120 bytes per cycle for 108 SMs: A100 whitepaper"),
        l2_alone=PORT,
    ),
)

RTX_3090 = Gpu(
    name="RTX 3090",
    arch="sm_86",
    sms=82,
    warps=48,
    blocks=16,
    shared=100 << 10,
    shared_block=99 << 10,
    reserved=1024,
    l2=6 << 20,
    driver_name="NVIDIA GeForce RTX 3090",
    clock_mhz=1695,  # P: boost
    rates=Rates(
        fma=Sourced(1, "published", "128 FMA per cycle: CUDA C++ Programming Guide"),
        mma=Sourced(32, "published", "71 TFLOP/s with float32 sums: GA102 whitepaper"),
        l2_bytes=Sourced(24, "assumed", "nobody has measured it here"),
        l2_alone=PORT,
    ),
)

RTX_4090 = Gpu(
    name="RTX 4090",
    arch="sm_89",
    sms=128,
    warps=48,
    blocks=24,
    shared=100 << 10,
    shared_block=99 << 10,
    reserved=1024,
    l2=72 << 20,
    driver_name="NVIDIA GeForce RTX 4090",
)

T4 = Gpu(
    name="T4",
    arch="sm_75",
    sms=40,
    warps=32,
    blocks=16,
    shared=64 << 10,
    shared_block=64 << 10,
    reserved=0,
    l2=4 << 20,
    driver_name="Tesla T4",
    shared_unit=256,
    clock_mhz=1590,  # P: boost
    rates=Rates(
        fma=Sourced(2, "published", "64 FMA per cycle: CUDA C++ Programming Guide"),
        mma=Sourced(16, "published", "65 TFLOP/s, T4 data sheet; as two m16n8k8"),
        l2_bytes=Sourced(20, "assumed", "about 1270 GB/s: arXiv 1903.07486, from memory"),
        l2_alone=PORT,
    ),
)

GPUS = {gpu.name: gpu for gpu in (T4, A100, RTX_3090, RTX_4090, H100, H200, B200)}


def find_gpu(name: str | Gpu) -> Gpu:
    """The GPU of this name ("A100"), name at the driver ("NVIDIA H100 80GB HBM3") or architecture: the first that has
    it, for "sm_90" the H100. A GPU is itself."""
    if isinstance(name, Gpu):
        return name
    for gpu in GPUS.values():
        if name and name in (gpu.name, gpu.arch, gpu.driver_name):
            return gpu
    known = ", ".join(f'"{gpu.name}" or "{gpu.arch}"' for gpu in GPUS.values())
    raise ValueError(f"no GPU {name!r} is known here; name one of {known}")


def file_name(gpu: str) -> str:
    """Of what is measured of a GPU: "NVIDIA H100 80GB HBM3" -> "nvidia-h100-80gb-hbm3.json"."""
    return re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-") + ".json"
