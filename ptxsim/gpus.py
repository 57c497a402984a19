"""The GPUs, each in one place: limits of an SM for the occupancy, rates and latencies for the clock,
measured ceilings for the pictures.

Sources: limits from the CUDA C++ Programming Guide (compute capabilities), L2 from NVIDIA's white papers; of the rates,
each line names its own.
"""

import re
from dataclasses import dataclass, field, replace

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
class Rates:
    """What the clock charges, in cycles: per sub-core for fma and mma, per SM for the rest.

    Every instruction of a warp takes one cycle of its sub-core. `fma`: a float32 FMA of a warp; `mma`: an m16n8k16
    of 16-bit inputs with float32 sums; `wavefront`: 128 bytes of shared memory; `l2_bytes`: bytes that arrive per
    cycle when all SMs ask, `l2_alone` when one does; `copy_issue`: an instruction that moves global memory;
    `barrier` + `barrier_warp` a warp; `block_start`: before a new block's first instruction. `launch_us`: an empty
    kernel. Of a GPU that has them: `wgmma`, an m64n256k16 on the four sub-cores; `l2_bulk`, as `l2_bytes`, for bulk
    copies.
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
    wgmma: float = 0.0
    l2_bulk: float = 0.0


@dataclass(frozen=True)
class Ceilings:
    """What no kernel exceeds. `math`: TFLOP/s and where that comes from, by dtype; `memory`: measured TB/s by level."""

    math: dict[str, tuple[float, str]] = field(default_factory=dict)
    memory: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Gpu:
    """Limits of one SM. Shared memory in bytes, given to blocks in multiples of `shared_unit`; the system takes
    `reserved` more for each block. `l2`: bytes of that cache. `driver_name`: as CUDA calls it. `rates` is None where
    the clock knows none."""

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
    rates: Rates | None = None
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


# Where the rates come from. M: measured on an H100 80GB HBM3 (tests/golden/clock_h100.json). P: published.
# A: assumed, because nobody has measured it here.

EVERYWHERE: dict[str, float] = {  # M on the H100; A on the others
    "copy_issue": 6,  # cp.async of one warp, one after the other
    "barrier": 12.3,  # __syncthreads() with nobody late, without ...
    "barrier_warp": 2,  # ... what each warp adds
    "block_start": 1000,  # end of a block to the first copy of the next, 800 to 1500
    "launch_us": 3.7,  # event to event
}

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
    ceilings=Ceilings(
        math={
            "float32": (66.9, "fp32: 132 SMs x 256 FLOP per clock x 1.98 GHz"),
            "float16": (648, "mma.sync alone, measured at 1.80 GHz; cuBLAS uses wgmma"),
        },
        memory={"DRAM": 2.85, "L2": 6.84},
    ),
    rates=Rates(
        fma=1.16,  # M: 110.6 of 128 FMA per cycle in a 4 x 4 outer product (register banks)
        mma=7.9,  # M, fitted: the float16 product without its copies, stages 1, 3, 5. In a loop of nothing else 6.02
        mma_latency=24.1,  # M: dependent
        wavefront=1.0,  # M: 127.9 bytes per cycle
        shared_latency=29.1,  # M: dependent ldmatrix.x4; a 16-byte load 32.5
        l2_bytes=28.5,  # M: cp.async, all SMs, each its own region: 31 in the median, and this in the slowest SM
        l2_alone=55,  # M: 16 SMs, more per SM than one GPC passes on
        l2_latency=321,  # M: one warp's cp.async, issued to landed; a dependent load 277
        **EVERYWHERE,
        clock_mhz=1979,  # M: while these kernels run
        wgmma=168,  # M, fitted: lesson 07's fastest kernels at 8192^3. Alone 128, at the 1.76 GHz that power allows
        l2_bulk=34,  # M, fitted: the same without a cluster
    ),
)

# The same processor with other memory. A: what is not DRAM's is as on the H100 (NVIDIA's data sheets name one chip).
H200 = replace(
    H100,
    name="H200",
    driver_name="NVIDIA H200",
    ceilings=replace(H100.ceilings, memory={"DRAM": 4.8, "L2": 6.84}),  # P: DRAM, H200 data sheet
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
    rates=Rates(
        fma=2,  # P: 64 FMA per cycle (CUDA C++ Programming Guide, throughput of instructions)
        mma=8,  # P: 1024 FMA per cycle (A100 whitepaper)
        mma_latency=33,  # P: arXiv 2206.02874
        wavefront=1.0,  # P: 128 bytes per cycle
        shared_latency=29,  # P: arXiv 2208.11174
        l2_bytes=35,  # A: 3/4 of the peak, 5120 bytes per cycle for 108 SMs (A100 whitepaper)
        l2_alone=64,  # A: the port of an SM
        l2_latency=322,  # P: a load 200 (near) or 357 (far), arXiv 2208.11174. A: and cp.async 44 more, as on the H100
        **EVERYWHERE,
        clock_mhz=1410,  # P: boost
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
    rates=Rates(
        fma=1,  # P: 128 FMA per cycle
        mma=32,  # P: 71 TFLOP/s with float32 sums (GA102 whitepaper)
        mma_latency=33,  # A: as on the A100
        wavefront=1.0,  # P: 128 bytes per cycle
        shared_latency=29,  # A: as on the A100
        l2_bytes=24,  # A
        l2_alone=64,  # A
        l2_latency=280,  # A: a load 236
        **EVERYWHERE,
        clock_mhz=1695,  # P: boost
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
    rates=Rates(
        fma=2,  # P: 64 FMA per cycle
        mma=16,  # P: 65 TFLOP/s (T4 data sheet); as two m16n8k8
        mma_latency=32,  # A: two of 14 to 18
        wavefront=2,  # P: 16 load/store units, 64 bytes per cycle
        shared_latency=23,  # P: arXiv 1903.07486
        l2_bytes=20,  # A: about 1270 GB/s, remembered from arXiv 1903.07486 and not looked up again
        l2_alone=64,  # A
        l2_latency=212,  # P: 188 to 236, arXiv 1903.07486. This GPU has no cp.async
        **EVERYWHERE,
        clock_mhz=1590,  # P: boost
    ),
)

GPUS = {gpu.name: gpu for gpu in (T4, A100, RTX_3090, RTX_4090, H100, H200)}


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
