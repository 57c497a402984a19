"""Shared memory and barriers."""

import numpy as np

from tests.bugs.case import Case, ints, nans

CASES = []


def case(*a, **k):
    CASES.append(Case(*a, **k))


RACE = ("read-after-write", "write-after-read")

case(
    "cub::BlockScan: one TempStorage used again in the loop, no barrier",
    "NVIDIA/cudf#24249, NVIDIA/Fuser#5252",
    r"""
#include <cub/block/block_scan.cuh>
extern "C" __global__ void k(const int* x, int* y, int n) {
    typedef cub::BlockScan<int, 128, cub::BLOCK_SCAN_WARP_SCANS> Scan;
    __shared__ typename Scan::TempStorage scan_storage;
    int t = threadIdx.x, carry = 0;
    for (int i = 0; i < n; i += 128) {
        int v = x[i + t], before, total;
        Scan(scan_storage).ExclusiveSum(v, before, total); //@s
        y[i + t] = carry + before;
        carry += total;
        «¦__syncthreads();»
    }
}""",
    lambda m: (ints(512, dtype="i4", low=0, high=9), nans(512, "i4"), np.int32(512)),
    lambda a: [(1, (np.cumsum(a[0]) - a[0]).astype("i4"))],
    RACE,
    "s",
    block=128,
    words=("__syncthreads()",),
    why="CUB: __syncthreads() before temporary storage is used again",
)

case(
    "Floyd-Warshall tile: row k and column k read while others write the tile",
    "ORNL/HeCBench#261",
    r"""
extern "C" __global__ void k(const int* x, int* y) {
    __shared__ int s[16][16];
    int i = threadIdx.y, j = threadIdx.x;
    s[i][j] = x[i * 16 + j];
    __syncthreads();
    for (int m = 0; m < 16; ++m) {
        int via = s[i][m] + s[m][j]; //@r
        «¦__syncthreads();»
        if (via < s[i][j]) s[i][j] = via; //@w
        __syncthreads();
    }
    y[i * 16 + j] = s[i][j];
}""",
    lambda m: (fw(), nans(256, "i4")),
    lambda a: [(1, shortest(a[0]))],
    (*RACE,),
    "r w",
    block=(16, 16),
    why="CUDA guide, __syncthreads()",
)


def fw():
    d = ints((16, 16), 5, "i4", 1, 60)
    np.fill_diagonal(d, -1)
    return d.reshape(-1)


def shortest(d):
    d = d.reshape(16, 16).copy()
    for m in range(16):
        d = np.minimum(d, d[:, m : m + 1] + d[m : m + 1])
    return d.reshape(-1).astype("i4")


case(
    "cp.async awaited by each thread, __syncwarp(), other warps' rows read",
    "flashinfer-ai/flashinfer#3439",
    r"""
#include <cuda_pipeline.h>
extern "C" __global__ void k(const float4* x, float* y) {
    __shared__ alignas(16) float state[512];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&((float4*)state)[t], &x[t], 16); //@c
    __pipeline_commit();
    __pipeline_wait_prior(0);
    «__syncwarp();¦__syncthreads();»
    float sum = 0;
    for (int w = 0; w < 4; ++w) sum += state[w * 128 + t]; //@r
    y[t] = sum;
}""",
    lambda m: (ints(512), nans(128)),
    lambda a: [(1, a[0].reshape(4, 128).sum(0).astype("f4"))],
    ("unwaited-copy", "read-after-write", "no-wait"),
    "r",
    block=128,
    words=("__syncthreads()", "barrier"),
    why="CUDA guide, pipeline primitives: the wait is the thread's own",
)

case(
    "row sums read back while the next stage writes the first words",
    "PaddlePaddle/Paddle#47233",
    r"""
extern "C" __global__ void k(const float* x, float* y) {
    __shared__ float shared[64];
    int t = threadIdx.y * 32 + threadIdx.x, lane = threadIdx.x;
    shared[t] = x[t];
    __syncthreads();
    float val = shared[lane] + shared[32 + lane]; //@r
    for (int o = 16; o; o /= 2) val += __shfl_down_sync(~0u, val, o);
    «¦__syncthreads();»
    if (lane == 0) shared[threadIdx.y] = val + threadIdx.y; //@w
    __syncthreads();
    y[t] = shared[threadIdx.y];
}""",
    lambda m: (ints(64), nans(64)),
    lambda a: [(1, (np.repeat([0, 1], 32) + a[0].sum()).astype("f4"))],
    ("write-after-read",),
    "w",
    block=(32, 2),
)

case(
    "in-place scan: shared[i] += shared[i - offset]",
    "modular/mojo-gpu-puzzles#26",
    r"""
extern "C" __global__ void k(const float* x, float* y) {
    __shared__ float s[64];
    int i = threadIdx.x;
    s[i] = x[i];
    __syncthreads();
    for (int offset = 1; offset < 64; offset *= 2) {
        float other = 0;
        «if (i >= offset) s[i] += s[i - offset];¦if (i >= offset) other = s[i - offset]; __syncthreads(); s[i] += other;» //@w
        __syncthreads();
    }
    y[i] = s[i];
}""",
    lambda m: (ints(64), nans(64)),
    lambda a: [(1, np.cumsum(a[0]).astype("f4"))],
    RACE,
    "w",
    block=64,
)

case(
    "index array made for 8 threads, block of 34: it runs into the values behind",
    "Xtra-Computing/thundersvm#99",
    r"""
extern "C" __global__ void k(const double* x, int* y, int n) {
    extern __shared__ __align__(8) int mem[];
    int t = threadIdx.x;
    int size = «n¦blockDim.x»;
    int* index = mem;
    double* value = (double*)&mem[(size + 1) / 2 * 2];
    value[t] = t < n ? x[t] : 1e300; //@v
    index[t] = t; //@w
    __syncthreads();
    for (int o = 32; o; o /= 2) {
        if (t < o && t + o < blockDim.x && value[index[t + o]] < value[index[t]]) index[t] = index[t + o]; //@r
        __syncthreads();
    }
    if (t == 0) *y = index[0];
}""",
    lambda m: (ints(8, 3, "f8", 0, 99), nans(1, "i4"), np.int32(8)),
    lambda a: [(1, np.array([a[0].argmin()], "i4"))],
    ("write-after-write", "read-after-write", "write-after-read", "out-of-bounds"),
    "w v r",
    block=34,
    shared=34 * 8 + 36 * 4,
)

case(
    "one element past a shared array: into the array beside it, in order",
    "torch/cutorch#704 (review)",
    r"""
extern "C" __global__ void k(const int* x, int* y) {
    __shared__ int bmem[64];
    __shared__ int next[64];
    int t = threadIdx.x;
    bmem[t] = 0; bmem[t + 32] = 0; next[t] = 7; next[t + 32] = 7;
    __syncthreads();
    «¦if (t < 31)» bmem[t * 2 + 2] = x[t]; //@w
    __syncthreads();
    y[t] = bmem[t]; y[t + 32] = next[t]; //@r
}""",
    lambda m: (ints(32, 1, "i4", 10, 99), nans(64, "i4")),
    lambda a: [(1, past(a[0]))],
    ("out-of-bounds", "beyond-shared-memory"),
    "w",
    why="C++: index 64 of an array of 64; memcheck's shared bounds are the block's only",
)


def past(x):
    b = np.zeros(64, "i4")
    b[2:64:2] = x[:31]
    return np.concatenate([b[:32], np.full(32, 7, "i4")])


case(
    "while (changed) { changed = false; ... }: the flag is set back while others test it",
    "forums.developer.nvidia.com 37245",
    r"""
extern "C" __global__ void k(int* x) {
    __shared__ int a[66];
    __shared__ bool changed;
    int t = threadIdx.x;
    a[t + 1] = x[t]; if (t == 0) { a[0] = 0; a[65] = 0; }
    changed = true;
    __syncthreads();
    while (changed) { //@r
        «¦__syncthreads();»
        changed = false; //@w
        __syncthreads();
        int m = max(a[t], a[t + 1]);
        __syncthreads();
        if (m > a[t + 1]) { a[t + 1] = m; changed = true; }
        __syncthreads();
    }
    x[t] = a[t + 1];
}""",
    lambda m: (ints(64, 2, "i4", 0, 50),),
    lambda a: [(0, np.maximum.accumulate(a[0]).astype("i4"))],
    (*RACE, "barrier-divergence", "deadlock"),
    "r w",
    block=64,
)

case(
    "while (__syncthreads_or(..)): the array is searched and then set again in one round",
    "forums.developer.nvidia.com 35006",
    r"""
extern "C" __global__ void k(const int* x, int* y) {
    __shared__ int prefix[32 * 2];
    int t = threadIdx.x, left = x[t], count = 0;
    prefix[t] = left;
    while (__syncthreads_or(left > 0)) {
        int low = 0, high = 63;
        while (low < high) { int mid = (low + high) / 2; if (prefix[mid] <= t) low = mid + 1; else high = mid; } //@r
        count += low;
        left = max(left - 64, 0);
        «¦__syncthreads();»
        prefix[t] = left; //@w
    }
    y[t] = count;
}""",
    lambda m: (np.cumsum(ints(64, 4, "i4", 0, 6)).astype("i4"), nans(64, "i4")),
    lambda a: [(1, searched(a[0]))],
    RACE,
    "r w",
    block=64,
)


def searched(left):
    left, count = left.copy(), np.zeros(64, "i4")
    while (left > 0).any():
        for t in range(64):
            low, high = 0, 63
            while low < high:
                mid = (low + high) // 2
                if left[mid] <= t:
                    low = mid + 1
                else:
                    high = mid
            count[t] += low
        left = np.maximum(left - 64, 0)
    return count


case(
    "idle threads set the shared sum back before its owner has written it out",
    "NVIDIA/Fuser#678",
    r"""
extern "C" __global__ void k(const float* x, float* y, int rows, int n) {
    __shared__ float total;
    int t = threadIdx.x;
    for (int i = 0; i < rows; ++i) {
        if (t >= n) total = 0; //@z
        «¦__syncthreads();»
        if (t == 0) { float s = 0; for (int j = 0; j < n; ++j) s += x[i * n + j]; total = s; }
        __syncthreads();
        if (t == 0) y[i] = total; //@r
        «¦__syncthreads();»
    }
}""",
    lambda m: (ints(20), nans(4), np.int32(4), np.int32(5)),
    lambda a: [(1, a[0].reshape(4, 5).sum(1).astype("f4"))],
    (*RACE, "write-after-write"),
    "z r",
)

case(
    "lane 0 stores its own value again while the other lanes read it (no change of value)",
    "kokkos/kokkos#4855",
    r"""
extern "C" __global__ void k(const int* x, int* y) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncwarp();
    «s[t] = s[0];¦if (t) s[t] = s[0];» //@w
    __syncwarp();
    y[t] = s[t];
}""",
    lambda m: (ints(32, 1, "i4"), nans(32, "i4")),
    lambda a: [(1, np.full(32, a[0][0], "i4"))],
    RACE,
    "w",
    why="racecheck reports it; ptxsim's page says that the same value is no race between WRITERS; here a writer and readers",
)

case(
    "what a lockstep simulator hides: later warps read what earlier warps wrote",
    "zxypro1/algolocal#67",
    r"""
extern "C" __global__ void k(float* y) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = t; //@w
    «¦__syncthreads();»
    y[t] = t >= 32 ? s[t - 32] : s[t]; //@r
}""",
    lambda m: (nans(64),),
    lambda a: [(0, (np.arange(64) % 32).astype("f4"))],
    RACE,
    "r w",
    block=64,
)

case(
    "blockDim 180: the last, partial warp's sum is never read",
    "flashinfer-ai/flashinfer#3879",
    r"""
extern "C" __global__ void k(const float* x, float* y) {
    __shared__ float part[32];
    int t = threadIdx.x, n = blockDim.x;
    if (t < 32) part[t] = 0;
    __syncthreads();
    atomicAdd(&part[t / 32], x[t]);
    __syncthreads();
    if (t == 0) { float s = 0; for (int i = 0; i < «n / 32¦(n + 31) / 32»; ++i) s += part[i]; *y = s; }
}""",
    lambda m: (ints(180, low=1, high=9), nans(1)),
    lambda a: [(1, a[0].sum(keepdims=True))],
    block=180,
    why="nothing is illegal: numbers alone",
    words=(),
)

case(
    "reduction with an odd number of threads: the middle one is added to and read",
    "kaldi-asr/kaldi#3036",
    r"""
extern "C" __global__ void k(const float* x, float* y) {
    __shared__ float b[3];
    int t = threadIdx.x, n = blockDim.x;
    b[t] = x[t];
    __syncthreads();
    while (n > 1) {
        int half = (n + 1) / 2;
        if (t >= half) {
            float temp = 0;
            if (t < n) temp = b[t]; //@r
            «b[t - half] += temp;¦if (t < n) b[t - half] += temp;» //@w
        }
        __syncthreads();
        n = half;
    }
    if (t == 0) *y = b[0];
}""",
    lambda m: (ints(3), nans(1)),
    lambda a: [(1, a[0].sum(keepdims=True))],
    (*RACE, "write-after-write"),
    "w r",
    block=3,
    why="threads that have nothing to add write b[t - half] += 0 where others read",
)

case(
    "struct with padding copied within shared memory: legal",
    "NVIDIA/cuopt#348, llvm/llvm-project#54476, DynamoRIO/drmemory#1022 (false positives of other tools)",
    r"""
struct P { char flag; int n; };
extern "C" __global__ void k(const int* x, int* y) {
    __shared__ P s[32], out[32];
    int t = threadIdx.x;
    s[t].flag = t % 2; s[t].n = x[t];
    __syncthreads();
    out[t] = s[31 - t];
    __syncthreads();
    y[t] = out[31 - t].flag ? out[31 - t].n : -1;
}""",
    lambda m: (ints(32, 1, "i4"), nans(32, "i4")),
    lambda a: [(1, np.where(np.arange(32) % 2, a[0], -1).astype("i4"))],
    only_mended=True,
)

case(
    "tile of 4 threads' flags packed as bytes, read as one word: three never set",
    "TheTom/llama-cpp-turboquant#268 (uninitialised rest of a word)",
    r"""
extern "C" __global__ void k(unsigned* y, int n) {
    __shared__ __align__(4) unsigned char s[128];
    int t = threadIdx.x;
    for (int i = 0; i < «n¦4»; ++i) s[t * 4 + i] = i + 1;
    __syncthreads();
    y[t] = ((unsigned*)s)[31 - t]; //@r
}""",
    lambda m: (nans(32, "u4"), np.int32(1)),
    lambda a: [(0, np.full(32, 0x04030201, "u4"))],
    ("uninitialised-read",),
    "r",
)


PMPP = r"""
extern "C" __global__ void k(const int* x, int* y) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    «if (t % 2 == 0) { __syncthreads(); y[t] = s[63 - t]; }SPLITelse { __syncthreads(); y[t] = -s[63 - t]; }¦__syncthreads(); y[t] = t % 2 ? -s[63 - t] : s[63 - t];» //@b
}"""
for name, split in (("in two lines", " //@b\n    "), ("in one line (or by one macro)", " ")):
    case(
        "__syncthreads() in both arms of an if of even and odd lanes, " + name,
        "tedmoskovitz.github.io, notes on PMPP chapter 4",
        PMPP.replace("SPLIT", split),
        lambda m: (ints(64, 1, "i4"), nans(64, "i4")),
        lambda a: [(1, np.where(np.arange(64) % 2, -a[0][::-1], a[0][::-1]).astype("i4"))],
        ("barrier-divergence", "different-barriers"),
        "b",
        block=64,
    )

NO_BARRIER = ("A __syncthreads() is missing", "A __syncwarp() is missing")
case(
    "all threads add 1 to one shared variable, without an atomic",
    "numba/numba#4907",
    r"""
extern "C" __global__ void k(int* y) {
    __shared__ int s;
    if (threadIdx.x == 0) s = 0;
    __syncthreads();
    «s += 1;¦atomicAdd(&s, 1);» //@a
    __syncthreads();
    y[threadIdx.x] = s;
}""",
    lambda m: (nans(64, "i4"),),
    lambda a: [(0, np.full(64, 64, "i4"))],
    (*RACE, "write-after-write"),
    "a",
    block=64,
    words=("atomic",),
    unwanted=NO_BARRIER,
    why="a barrier does not mend a lost update",
)
