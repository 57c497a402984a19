"""Memory."""

import numpy as np

from tests.bugs.case import HOPPER, Case, ints, nans

CASES = []


def case(*a, **k):
    CASES.append(Case(*a, **k))


case(
    "half2 atomicAdd on an array of one half",
    "BBuf/how-to-optim-algorithm-in-cuda#6",
    r"""
#include <cuda_fp16.h>
extern "C" __global__ void k(const __half* x, __half* out, int n) {
    int i = threadIdx.x;
    «if (i < n / 2) atomicAdd((__half2*)out, __halves2half2(x[2 * i], x[2 * i + 1]));¦if (i < n / 2) { atomicAdd(out, x[2 * i]); atomicAdd(out, x[2 * i + 1]); }» //@a
}""",
    lambda m: (np.ones(64, "f2"), np.zeros(1, "f2"), np.int32(64)),
    lambda a: [(1, np.array([64], "f2"))],
    ("out-of-bounds",),
    "a",
)

case(
    "16-bit atomic by atomicCAS of the word around it: last element of an odd array",
    "fastfields/fastfields-lib#100, ROCm/pytorch#2998, NVIDIA/cccl#10001 (review)",
    r"""
extern "C" __global__ void k(unsigned short* y, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    «unsigned* word = (unsigned*)((size_t)&y[i] & ~(size_t)2);
    unsigned shift = ((size_t)&y[i] & 2) * 8, old = *(volatile unsigned*)word, was; //@a
    do { was = old; unsigned short v = (was >> shift) + 1; old = atomicCAS(word, was, (was & ~(0xffffu << shift)) | (unsigned)v << shift); } while (old != was); //@b¦unsigned short old = *(volatile unsigned short*)&y[i], was;
    do { was = old; old = atomicCAS(&y[i], was, (unsigned short)(was + 1)); } while (old != was);»
}""",
    lambda m: (np.arange(7, dtype="u2"), np.int32(7)),
    lambda a: [(0, np.arange(1, 8, dtype="u2"))],
    ("out-of-bounds",),
    "a b",
    why="two bytes behind the array are read and written",
)

case(
    "atomicAdd of a float4 at an odd offset (sm_90)",
    "tile-ai/tilelang#2478",
    r"""
extern "C" __global__ void k(float* y, int off) {
    atomicAdd((float4*)(y + off), make_float4(1, 2, 3, 4)); //@a
}""",
    lambda m: (np.zeros(12, "f4"), np.int32(4 if m else 5)),
    lambda a: [(0, np.r_[np.zeros(4), 1, 2, 3, 4, np.zeros(4)].astype("f4"))],
    ("misaligned",),
    "a",
    block=1,
    options=HOPPER,
)

case(
    "token * heads * stride wraps to 0 in 32 bits: the row of another token",
    "vllm-project/vllm#45500",
    r"""
extern "C" __global__ void k(float* y, const int* tokens, int heads, int stride) {
    int token = tokens[blockIdx.x];
    unsigned at = «token * heads * stride¦blockIdx.x * stride»; //@i
    y[at + threadIdx.x] = blockIdx.x; //@w
}""",
    lambda m: (nans(64), np.array([0, 1048576], "i4"), np.int32(32), np.int32(128 if not m else 32)),
    lambda a: [(0, np.repeat([0, 1], 32).astype("f4"))],
    ("block-conflict", "out-of-bounds"),
    "w",
    grid=2,
    words=("overflow", "32 bits", "2^32", "wrap"),
    why="2^20 * 32 * 128 = 2^32: in range, and wrong",
)

case(
    "16-bit index: unsigned short i wraps, rows beyond 65535 land on the first ones",
    "tinygrad/tinygrad#6987 (the same with 16 bits)",
    r"""
extern "C" __global__ void k(int* y, int n) {
    «unsigned short¦int» i = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x * blockDim.x + threadIdx.x < n) y[i] = blockIdx.x; //@w
}""",
    lambda m: (nans(66560, "i4"), np.int32(66560)),
    lambda a: [(0, (np.arange(66560) // 1024).astype("i4"))],
    ("block-conflict", "write-after-write"),
    "w",
    grid=65,
    block=1024,
)

case(
    "float c[4] never set, then the C of mma.sync",
    "tile-ai/tilelang#2936",
    r"""
extern "C" __global__ void k(const unsigned* a, const unsigned* b, float* y) {
    int t = threadIdx.x;
    float c[4]«¦ = {0, 0, 0, 0}»;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" //@m
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[t]), "r"(a[t + 32]), "r"(a[t + 64]), "r"(a[t + 96]), "r"(b[t]), "r"(b[t + 32])); //@n
    for (int i = 0; i < 4; ++i) y[t * 4 + i] = c[i]; //@y
}""",
    lambda m: (np.full(128, 0x3C003C00, "u4"), np.full(64, 0x3C003C00, "u4"), nans(128)),
    lambda a: [(2, np.full(128, 16, "f4"))],
    ("uninitialised-read", "sums-not-set"),
    "m n",
    why="C++: reading an indeterminate value; the GPU gave NaN",
)


case(
    "second half read although there is one element (n = 1 is a power of two)",
    "NVIDIA/cuda-samples#21",
    r"""
extern "C" __global__ void k(const float* x, float* y, unsigned n) {
    unsigned i = threadIdx.x;
    float sum = 0;
    while (i < n) {
        sum += x[i]; //@x
        «sum += x[i + blockDim.x];¦if (i + blockDim.x < n) sum += x[i + blockDim.x];» //@r
        i += 2 * blockDim.x;
    }
    y[threadIdx.x] = sum;
}""",
    lambda m: (ints(1, low=1, high=9), nans(1), np.uint32(1)),
    lambda a: [(1, a[0].copy())],
    ("out-of-bounds",),
    "r",
    block=1,
)

case(
    "rows of a tile behind the matrix are loaded without a test (M is no multiple of the tile)",
    "PacktPublishing/Learn-CUDA-Programming#14, AlibabaResearch/flash-llm#15",
    r"""
extern "C" __global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float a[16][16], b[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += 16) {
        a[threadIdx.y][threadIdx.x] = «A[row * K + k0 + threadIdx.x]¦row < M ? A[row * K + k0 + threadIdx.x] : 0»; //@a
        b[threadIdx.y][threadIdx.x] = B[(k0 + threadIdx.y) * N + col];
        __syncthreads();
        for (int j = 0; j < 16; ++j) sum += a[threadIdx.y][j] * b[j][threadIdx.x];
        __syncthreads();
    }
    if (row < M) C[row * N + col] = sum;
}""",
    lambda m: (ints((20, 32)), ints((32, 16), 1), nans((20, 16)), np.int32(20), np.int32(16), np.int32(32)),
    lambda a: [(2, (a[0] @ a[1]).reshape(-1))],
    ("out-of-bounds",),
    "a",
    grid=(1, 2),
    block=(16, 16),
)

case(
    "local array one too long in the loop: int best[4], i <= 4",
    "proteneer/timemachine#1214 (memcheck said nothing)",
    r"""
extern "C" __global__ void k(const int* x, int* y) {
    int best[4];
    int t = threadIdx.x;
    for (int i = 0; i «<=¦<» 4; ++i) best[i] = x[(t + i * x[0]) % 32]; //@w
    int s = 0;
    for (int i = 0; i < 4; ++i) s += best[(i * x[1]) % 4];
    y[t] = s;
}""",
    lambda m: (np.arange(1, 33, dtype="i4"), nans(32, "i4")),
    lambda a: [(1, np.array([sum(a[0][(t + (i * 2) % 4) % 32] for i in range(4)) for t in range(32)], "i4"))],
    ("out-of-bounds", "beyond-local-array"),
    "w",
)

case(
    "int4 loads of a sub-array that begins at byte 8",
    "csarofeen/pytorch#2482",
    r"""
extern "C" __global__ void k(const int* x, int* y) {
    __shared__ alignas(16) int s[128];
    int t = threadIdx.x;
    unsigned to = (unsigned)__cvta_generic_to_shared(&s[t * 4]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16; cp.async.commit_group; cp.async.wait_group 0;" :: "r"(to), "l"(x + «2¦4» + t * 4) : "memory"); //@c
    __syncthreads();
    y[t] = s[t * 4];
}""",
    lambda m: (np.arange(140, dtype="i4"), nans(32, "i4")),
    lambda a: [(1, np.arange(4, 132, 4, dtype="i4"))],
    ("misaligned",),
    "c",
)

WMMA = r"""
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void k(const __half* a, float* c) {
    __shared__ __align__(32) __half s[1024];
    for (int i = threadIdx.x; i < 1024; i += 32) s[i] = a[i];
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.f);
    wmma::load_matrix_sync(fa, s + OFFSET, LDM); //@l
    wmma::load_matrix_sync(fb, s + 512, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}"""
for name, offset, ldm in (("rows 20 halfs apart (ldm must be a multiple of 8)", "0", "«20¦24»"),):
    case(
        "wmma::load_matrix_sync: " + name,
        "forums.developer.nvidia.com 306589 (quotes the guide's rule), halo-box/llama.cpp#14 (the same rule in Vulkan)",
        WMMA.replace("OFFSET", offset).replace("LDM", ldm),
        lambda m: (np.ones(1024, "f2"), nans(256)),
        lambda a: [(1, np.full(256, 16, "f4"))],
        ("misaligned",),
        "l",
        why="CUDA guide, load_matrix_sync: mptr 256-bit aligned, ldm a multiple of 16 bytes",
    )
