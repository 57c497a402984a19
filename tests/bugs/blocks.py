"""Blocks, grids, launches."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import ptxsim
from tests.bugs.case import HOPPER, PLAIN, Case, ints, nans, told_by

CASES = []


def case(*a, **k):
    CASES.append(Case(*a, **k))


def one_or_two(size, mended):
    """An array twice; a second one for the mended form."""
    x = ints(size, 1, "i4")
    return x, nans(size, "i4") if mended else x


case(
    "grid.sync() in a loop with another number of rounds in each block",
    "predibase/lorax#156, punica-ai/punica#35",
    r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int* rounds, int* y, int most) {
    cg::grid_group grid = cg::this_grid();
    int b = blockIdx.x;
    for (int i = 0; i < rounds[b]; ++i) {
        if (threadIdx.x == 0) atomicAdd(&y[b], 1);
        grid.sync(); //@g
    }
    «¦for (int i = rounds[b]; i < most; ++i) grid.sync();»
}""",
    lambda m: (np.array([2, 3, 2], "i4"), np.zeros(3, "i4"), np.int32(3)),
    lambda a: [(1, a[0].copy())],
    ("deadlock", "nobody-writes", "step-limit"),
    "g",
    grid=3,
    cooperative=True,
    words=("blocks 0", "block 0", "ended", "exited", "of 3 blocks"),
    why="all blocks must come to each grid.sync()",
)

case(
    "__syncthreads() taken for a barrier of the whole grid: block 0 sums what all blocks write",
    "a question in nvidia/Nemotron-CC-Math-v1 ('Race Conditions in Cumulative Sum Calculation')",
    r"""
extern "C" __global__ void k(const float* r, float* r2, float* tau, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    «if (i < n)» r2[i] = r[i] * r[i]; //@w
    __syncthreads();
    if (i == 0) { float s = 0; for (int j = 0; j < «n¦(int)blockDim.x»; ++j) s += r2[j]; *tau = s; } //@r
}""".replace("«if (i < n)»", "if (i < n)"),
    lambda m: (ints(64, low=0, high=4), nans(64), nans(1), np.int32(64)),
    lambda a: [],
    ("block-conflict", "other-block"),
    "r w",
    grid=2,
    words=("block",),
    why="CUDA guide: __syncthreads() is of one block",
)

case(
    "in place across blocks: a block reads elements that the block before writes",
    "NVIDIA/cub#495, NVIDIA/cccl#891",
    r"""
extern "C" __global__ void k(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[(i + 1) % n]; //@w
}""",
    lambda m: (*one_or_two(64, m), np.int32(64)),
    lambda a: [(1, np.roll(a[0], -1))],
    ("block-conflict", "read-after-write", "write-after-read"),
    "w",
    grid=2,
)


case(
    "const T* __restrict__ in and T* __restrict__ out called with one array",
    "vortex-data/vortex#6567",
    r"""
extern "C" __global__ void k(const int* __restrict__ in, int* __restrict__ out) {
    int i = threadIdx.x;
    out[i] = in[i] * 2; //@w
    out[i] += in[i]; //@r
}""",
    lambda m: one_or_two(32, m),
    lambda a: [(1, a[0] * 3)],
    ("block-conflict", "read-only-cache", "write-after-read", "read-after-write"),
    "r w",
    why="ld.global.nc: the data must be read-only for the whole launch; C: __restrict__ promises it",
)


case(
    "last block sums up, but the ticket is an ordinary variable of each block",
    "flashinfer-ai/flashinfer#4742 (review), cholla-hydro/cholla#163",
    r"""
extern "C" __global__ void k(const float* x, float* part, float* y, unsigned* ticket) {
    int t = threadIdx.x, b = blockIdx.x;
    __shared__ bool last;
    if (t == 0) {
        float s = 0; for (int i = 0; i < 32; ++i) s += x[b * 32 + i];
        part[b] = s; //@w
        __threadfence();
        «last = ticket[0] + 1 == gridDim.x; ticket[0] += 1;¦last = atomicAdd(ticket, 1) + 1 == gridDim.x;» //@t
        __threadfence();
        if (last) { float s = 0; for (int i = 0; i < gridDim.x; ++i) s += ((volatile float*)part)[i]; *y = s; }
    }
}""",
    lambda m: (ints(128, low=0, high=5), nans(4), np.zeros(1, "f4"), np.zeros(1, "u4")),
    lambda a: [(2, a[0].sum(keepdims=True))],
    ("block-conflict",),
    "t",
    grid=4,
    words=("atomic",),
    unwanted=("missing there: read, __threadfence(), flag",),
)  # added after the first run: more fences do not mend a lost update


@dataclass
class Refused:
    """The faulty launch must be refused with one of the words; the mended one must run clean with the numbers. A launch:
    grid, block, bytes of shared memory."""

    name: str
    report: str
    source: str
    faulty: tuple
    mended: tuple
    args: Callable[[], tuple]
    want: Callable[[tuple], list]
    words: tuple
    options: tuple = PLAIN
    cooperative: bool = False

    def launched(self, grid, block, shared):
        """(report, whether the numbers are right)"""
        kernel = ptxsim.compile(self.source, "k", self.options)
        args = self.args()
        want = self.want(args)
        report = ptxsim.launch(kernel, grid, block, args, shared, cooperative=self.cooperative)
        return report, all(np.array_equal(np.ravel(args[i]), right) for i, right in want)

    def told(self, messages):
        try:
            report, right = self.launched(*self.faulty)
        except (ptxsim.LaunchError, ptxsim.CompileError) as error:
            messages.append(f"{type(error).__name__}: {error}")
            return told_by(str(error), self.words)
        messages.append(str(report))
        if told_by(str(report), self.words) == "found":
            return "found"
        return "wrong kind" if report.hazards else f"MISSED (ran, numbers {'right' if right else 'wrong'})"

    def told_mended(self, messages):
        report, right = self.launched(*self.mended)
        messages.append(f"mended: {report}")
        return ("clean" if right else "WRONG NUMBERS") if report.ok else "FALSE ALARM"


FILL = r"""extern "C" __global__ void k(int* y) { if (threadIdx.x == 0 && blockIdx.y + gridDim.y * blockIdx.x < 4) y[blockIdx.y + gridDim.y * blockIdx.x] = 7; }"""
CASES += [
    Refused(
        "gridDim.y = 65536",
        "ml-explore/mlx#2267, lablup/mlxcel#648",
        FILL,
        ((1, 65536), 1, 0),
        ((1, 4), 1, 0),
        lambda: (nans(4, "i4"),),
        lambda a: [(0, np.full(4, 7, "i4"))],
        ("65535",),
    ),
    Refused(
        "a grid of 0 blocks (no elements left)",
        "pjreddie/darknet#1791",
        FILL,
        (0, 32, 0),
        (4, 32, 0),
        lambda: (nans(4, "i4"),),
        lambda a: [(0, np.full(4, 7, "i4"))],
        ("grid",),
    ),
    Refused(
        "1024 threads of a kernel that is bound to 256",
        "HazyResearch/ThunderKittens#37, EnzymeAD/Enzyme-JAX#2895",
        FILL.replace("void k", "void __launch_bounds__(256) k"),
        ((1, 4), 1024, 0),
        ((1, 4), 256, 0),
        lambda: (nans(4, "i4"),),
        lambda a: [(0, np.full(4, 7, "i4"))],
        ("256", "__launch_bounds__"),
    ),
    Refused(
        "1024 threads of 255 registers each",
        "HazyResearch/ThunderKittens#37",
        r"""
extern "C" __global__ void k(float* y) {
    float a[128], b[100];
    for (int i = 0; i < 128; ++i) a[i] = y[(threadIdx.x + i * 7) % 4]; 
    for (int i = 0; i < 100; ++i) b[i] = y[(threadIdx.x + i * 3) % 4];
    for (int r = 0; r < 3; ++r) {
        #pragma unroll
        for (int i = 0; i < 128; ++i) a[i] = a[i] * b[i % 100] + a[(i * 37 + 11) % 128];
        #pragma unroll
        for (int i = 0; i < 100; ++i) b[i] += a[(i * 29) % 128] * b[(i * 7 + 1) % 100];
    }
    float s = 0;
    for (int i = 0; i < 128; ++i) s += a[i];
    for (int i = 0; i < 100; ++i) s += b[i];
    __syncthreads();
    y[threadIdx.x % 4] = s * 0 + 1;
}""",
        (1, 1024, 0),
        (1, 32, 0),
        lambda: (np.zeros(4, "f4"),),
        lambda a: [(0, np.ones(4, "f4"))],
        ("register",),
    ),
    Refused(
        "cooperative launch of more blocks than fit on the GPU (200 KB each, 140 blocks)",
        "cupy/cupy#8778, NVIDIA/cub#369",
        r"""
extern "C" __global__ void k(int* y) { extern __shared__ int s[]; s[threadIdx.x] = 1; if (blockIdx.x < 4) y[blockIdx.x] = s[threadIdx.x]; }""",
        (140, 32, 200 * 1024),
        (4, 32, 200 * 1024),
        lambda: (nans(4, "i4"),),
        lambda a: [(0, np.ones(4, "i4"))],
        ("132", "resident", "cooperative"),
        options=HOPPER,
        cooperative=True,
    ),
    Refused(
        "__cluster_dims__(4) with a grid of 6",
        "cupy/cupy#8778, NVIDIA/cccl#10868",
        r"""extern "C" __global__ void __cluster_dims__(4, 1, 1) k(int* y) { if (threadIdx.x == 0 && blockIdx.x < 4) y[blockIdx.x] = 7; }""",
        (6, 32, 0),
        (8, 32, 0),
        lambda: (nans(4, "i4"),),
        lambda a: [(0, np.full(4, 7, "i4"))],
        ("cluster",),
        options=HOPPER,
    ),
]

RESIDENT = r"""
extern "C" __global__ void k(unsigned* count, int* y) {
    extern __shared__ int s[];
    s[threadIdx.x] = blockIdx.x;
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(count, 1);
        while (*(volatile unsigned*)count < gridDim.x) { } //@p
        __threadfence();
        if (blockIdx.x < 4) y[blockIdx.x] = s[0];
    }
}"""
CASES.append(
    Refused(
        "a barrier of the grid made by hand, more blocks than can be resident (200 KB, 140 blocks)",
        "NVIDIA/cub#369, mirage-project/mirage#762",
        RESIDENT,
        (140, 32, 200 * 1024),
        (100, 32, 200 * 1024),
        lambda: (np.zeros(1, "u4"), nans(4, "i4")),
        lambda a: [(1, np.arange(4, dtype="i4"))],
        ("resident", "132", "at a time", "same time"),
        options=HOPPER,
    )
)

case(
    "__threadfence_block() before a flag that another block waits for",
    "Genesis-Embodied-AI/quadrants#637, NVIDIA/cuml#4157",
    r"""
extern "C" __global__ void k(float* data, int* flag, float* y) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        data[0] = 3; //@w
        «__threadfence_block();¦__threadfence();»
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) { }
        «__threadfence_block();¦__threadfence();»
        y[0] = data[0]; //@r
    }
}""",
    lambda m: (np.zeros(1, "f4"), np.zeros(1, "i4"), nans(1)),
    lambda a: [(2, np.full(1, 3, "f4"))],
    ("block-conflict", "read-after-write"),
    "r w",
    grid=2,
    words=("__threadfence()",),
    why="the fence's scope has to have both threads",
)

case(
    "shared data, flag in global memory, __threadfence(): legal, a fence is for all memory",
    "CHIP-SPV/chipStar#1453",
    r"""
extern "C" __global__ void k(int* flag, int* y) {
    __shared__ int s;
    int t = threadIdx.x;
    if (t == 0) { s = 5; __threadfence(); atomicExch(flag, 1); }
    else if (t == 32) { while (atomicAdd(flag, 0) == 0) { } __threadfence(); *y = s; }
}""",
    lambda m: (np.zeros(1, "i4"), nans(1, "i4")),
    lambda a: [(1, np.full(1, 5, "i4"))],
    block=64,
    only_mended=True,
)

case(
    "grid barrier by hand, fence by the first thread alone behind __syncthreads(): lenient by its page, and right by causality order",
    "NVIDIA/cuml#4157",
    r"""
extern "C" __global__ void k(const float* x, float* v, unsigned* count, float* y) {
    int t = threadIdx.x, n = blockDim.x, i = blockIdx.x * n + t;
    v[i] = x[i] * 2;
    __syncthreads();
    if (t == 0) { __threadfence(); atomicAdd(count, 1); while (atomicAdd(count, 0) < gridDim.x) { } __threadfence(); }
    __syncthreads();
    y[i] = v[(i + n) % (n * gridDim.x)];
}""",
    lambda m: (ints(128), nans(128), np.zeros(1, "u4"), nans(128)),
    lambda a: [(3, np.roll(a[0] * 2, -64))],
    grid=2,
    block=64,
    only_mended=True,
)

case(
    "sorted lists by atomicMin: a lane waits for the link that a lane of its own warp sets: legal since Volta",
    "kokkos/kokkos#6832",
    r"""
extern "C" __global__ void k(unsigned* start, volatile unsigned* next) {
    unsigned i = threadIdx.x, j = atomicMin(&start[i % 4], i);
    if (i < j) { next[i] = j; return; }
    while (true) {
        unsigned n;
        while ((n = next[j]) == 0xfffffffe) { }
        if (n > i) { next[i] = n; __threadfence(); if (atomicCAS((unsigned*)&next[j], n, i) == n) return; }
        else j = n;
    }
}""",
    lambda m: (np.full(4, 0xFFFFFFFF, "u4"), np.full(64, 0xFFFFFFFE, "u4")),
    lambda a: [
        (0, np.arange(4, dtype="u4")),
        (1, np.where(np.arange(64) < 60, np.arange(64) + 4, 0xFFFFFFFF).astype("u4")),
    ],
    block=64,
    only_mended=True,
)


@dataclass
class Chain:
    """Launches one behind the other, each a source, its arguments' names, and whether it may begin before the one before
    has ended; up to the first with a finding, which the faulty ones must get of these `kinds`."""

    name: str
    report: str
    faulty: list
    mended: list
    kinds: tuple

    def launched(self, steps, messages):
        """The last report, and y."""
        arrays = {"x": np.zeros(64, "f4"), "z": np.zeros(64, "f4"), "y": nans(64)}
        for source, args, dependent in steps:
            kernel = ptxsim.compile(source, "k", HOPPER)
            report = ptxsim.launch(kernel, 2, 32, [arrays[name] for name in args], dependent=dependent)
            messages.append(str(report))
            if not report.ok:
                break
        return report, arrays["y"]

    def told(self, messages):
        report, _ = self.launched(self.faulty, messages)
        names = {name for hazard in report.hazards for name in (hazard.kind, hazard.cause)}
        return "MISSED" if report.ok else "found" if names & set(self.kinds) else "wrong kind"

    def told_mended(self, messages):
        report, y = self.launched(self.mended, messages)
        if not report.ok:
            return "FALSE ALARM"
        return "clean" if np.array_equal(y, np.arange(64) + 1) else "WRONG NUMBERS"


INDEX = "int i = blockIdx.x * 32 + threadIdx.x;"
FIRST = f'extern "C" __global__ void k(float* x) {{ {INDEX} asm volatile("griddepcontrol.launch_dependents;"); x[i] = i; }}'


def second(wait):
    return f'extern "C" __global__ void k(float* z) {{ {INDEX} {wait} asm volatile("griddepcontrol.launch_dependents;"); z[i] = 1; }}'


THIRD = f'extern "C" __global__ void k(const float* x, const float* z, float* y) {{ {INDEX} asm volatile("griddepcontrol.wait;" ::: "memory"); y[i] = x[i] + z[i]; }}'
WAIT = 'asm volatile("griddepcontrol.wait;" ::: "memory");'
EARLY = f'extern "C" __global__ void k(const float* x, float* y) {{ {INDEX} float v = x[i]; {WAIT} y[i] = v + 1; }}'
LATE = f'extern "C" __global__ void k(const float* x, float* y) {{ {INDEX} {WAIT} float v = x[i]; y[i] = v + 1; }}'
CASES += [
    Chain(
        "PDL: reads before griddepcontrol.wait",
        "NVIDIA/cccl#11569",
        [(FIRST, "x", False), (EARLY, "xy", True)],
        [(FIRST, "x", False), (LATE, "xy", True)],
        ("kernel-before", "block-conflict"),
    ),
    Chain(
        "PDL: three kernels, the one in the middle does not wait; the third waits for it alone",
        "NVIDIA/cccl#3131",
        [(FIRST, "x", False), (second(""), "z", True), (THIRD, "xzy", True)],
        [(FIRST, "x", False), (second(WAIT), "z", True), (THIRD, "xzy", True)],
        ("kernel-before", "block-conflict"),
    ),
]


case(
    "cg::tiled_partition<64> of a block of 128: legal (CUDA 11 and newer)",
    "NVIDIA/cuda-samples#29",
    r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int* x, int* y) {
    __shared__ int s[128];
    auto tile = cg::tiled_partition<64>(cg::this_thread_block());
    int t = threadIdx.x, base = t / 64 * 64;
    s[t] = x[t];
    tile.sync();
    y[t] = s[base + 63 - t % 64];
}""",
    lambda m: (ints(128, 1, "i4"), nans(128, "i4")),
    lambda a: [(1, a[0].reshape(2, 64)[:, ::-1].reshape(-1))],
    block=128,
    only_mended=True,
)
