"""Kernels with one known mistake each. `// HERE` marks the line that the report must name, `// CALLER` the
line that calls the helper in which it sits. Threads and inputs are few: one mistake needs no more."""

from collections.abc import Callable

import numpy as np

from tests.kernels.case import WrongCase, poison

COPY_HELPERS = r"""
__device__ __forceinline__ unsigned place(const void* p) {
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
__device__ __forceinline__ void copy_16(void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(place(to)), "l"(from) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int NEWER> __device__ __forceinline__ void wait() {
    asm volatile("cp.async.wait_group %0;" :: "n"(NEWER) : "memory");
}
"""


def with_copy(kernel: str) -> str:
    """The helpers above, then `kernel`."""
    return COPY_HELPERS + kernel


def with_marked_copy(kernel: str) -> str:
    """The same for a mistake that shows in the copy itself, inside its helper."""
    end = """(from) : "memory");"""
    return COPY_HELPERS.replace(end, f"{end}  // HERE") + kernel


def floats(n_in: int, n_out: int | None = None):
    """make() for kernels (in, out, n): n_in floats, n_out poisoned floats, n = n_in."""

    def make():
        return [np.arange(n_in, dtype="f4"), poison(n_in if n_out is None else n_out, "f4"), np.int32(n_in)]

    return make


def one_sum():
    """The same, but one float that is a sum."""
    return [np.arange(3, dtype="f4"), np.zeros(1, "f4"), np.int32(3)]


def matrices():
    """The same, but two matrices of 4 x 8."""
    return [np.zeros((4, 8), "f4"), poison((4, 8), "f4"), np.int32(32)]


MARKED_COPY = with_marked_copy("")


def wrong(
    name: str,
    kind: str,
    make: Callable,
    block: tuple,
    body: str,
    before: str = "",
    grid: tuple = (1,),
    **more,
) -> WrongCase:
    """A case of one kernel (in, out, n). `before`: what stands above it."""
    source = f'{before}\nextern "C" __global__ void {name}(const float* in, float* out, int n) {{{body}\n}}\n'
    return WrongCase(name, kind, source, make, grid, block, **more)


WRONG = [
    # -- copies that nobody waited for
    wrong("no_wait", "unwaited-copy", floats(256, 64), (64,), r"""
    __shared__ __align__(16) float tile[256];
    int t = threadIdx.x;
    copy_16(&tile[4 * t], &in[4 * t]);
    commit();
    __syncthreads();                       // a barrier is no wait
    out[t] = tile[t];  // HERE""", before=COPY_HELPERS),
    wrong("wait_one_short", "unwaited-copy", floats(256, 64), (32,), r"""
    __shared__ __align__(16) float tiles[2][128];
    int t = threadIdx.x;
    copy_16(&tiles[0][4 * t], &in[4 * t]);
    commit();
    copy_16(&tiles[1][4 * t], &in[128 + 4 * t]);
    commit();
    wait<1>();                             // the second group may still be on its way
    __syncthreads();
    out[t] = tiles[0][t];
    out[32 + t] = take(tiles[1], t);  // CALLER""", before=COPY_HELPERS + r"""
__device__ __forceinline__ float take(const float* tile, int i) {
    return tile[i];  // HERE
}"""),
    wrong("no_commit", "unwaited-copy", floats(128, 32), (32,), r"""
    __shared__ __align__(16) float tile[128];
    int t = threadIdx.x;
    copy_16(&tile[4 * t], &in[4 * t]);
    wait<0>();
    __syncthreads();
    out[t] = tile[(t + 1) % 32];  // HERE""", before=COPY_HELPERS + r"""
// wait_group counts groups: a copy that was never committed is in none of them."""),
    wrong("read_too_early", "unwaited-copy", floats(128, 32), (32,), r"""
    __shared__ __align__(16) float tile[128];
    int t = threadIdx.x;
    copy_16(&tile[4 * t], &in[4 * t]);
    commit();
    float early = tile[4 * t];  // HERE
    wait<0>();
    __syncthreads();
    out[t] = early + tile[t];""", before=COPY_HELPERS),
    # -- races in shared memory
    wrong("raw", "read-after-write", floats(64), (64,), r"""
    __shared__ float row[64];
    int t = threadIdx.x;
    row[t] = in[t];
    out[t] = row[63 - t];  // HERE"""),
    wrong("raw_copy", "read-after-write", floats(256, 64), (64,), r"""
    __shared__ __align__(16) float tile[256];
    int t = threadIdx.x;
    copy_16(&tile[4 * t], &in[4 * t]);
    commit();
    wait<0>();
    out[t] = tile[t];  // HERE""", before=COPY_HELPERS + r"""
// The wait is right, but it counts for the own copies only: without a barrier the neighbour's may be missing."""),
    wrong("raw_helper", "read-after-write", floats(96), (96,), r"""
    extern __shared__ float row[];
    int t = threadIdx.x;
    row[t] = 2.0f * in[t];
    out[t] = mirror(row, t);  // CALLER""", before=r"""
__device__ __forceinline__ float mirror(const float* row, int t) {
    return row[95 - t];  // HERE
}""", grid=(2,), shared_mem=384),
    wrong("raw_noinline", "read-after-write", floats(64), (64,), r"""
    __shared__ float row[64];
    int t = threadIdx.x;
    row[t] = in[t];
    out[t] = pick(row, t ^ 32);  // CALLER""", before=r"""
__device__ __noinline__ float pick(const float* row, int i) {
    return row[i];  // HERE
}"""),
    wrong("war", "write-after-read", floats(192, 64), (64,), r"""
    __shared__ float row[64];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int tile = 0; tile < n / 64; ++tile) {
        row[t] = in[tile * 64 + t];  // HERE
        __syncthreads();
        sum += row[63 - t];                // the next turn writes before all have read
    }
    out[t] = sum;"""),
    wrong("war_copy", "write-after-read", floats(256, 64), (64,), r"""
    __shared__ __align__(16) float tile[256];
    int t = threadIdx.x;
    tile[4 * t] = tile[4 * t + 1] = tile[4 * t + 2] = tile[4 * t + 3] = in[t];
    __syncthreads();
    out[t] = tile[255 - t];
    copy_16(&tile[4 * t], &in[4 * t]);  // CALLER
    commit();
    wait<0>();
    __syncthreads();
    out[t] += tile[t];""", before=MARKED_COPY),
    wrong("waw", "write-after-write", floats(64), (64,), r"""
    __shared__ float row[64];
    int t = threadIdx.x;
    row[t] = in[t];
    row[63 - t] = in[t] + 1.0f;  // HERE
    __syncthreads();
    out[t] = row[t];"""),
    wrong("waw_one_place", "write-after-write", floats(64), (64,), r"""
    __shared__ float largest;
    if (in[threadIdx.x] > 10.0f) largest = in[threadIdx.x];  // HERE
    __syncthreads();
    out[threadIdx.x] = largest;"""),
    wrong("uninitialised", "uninitialised-read", floats(64), (64,), r"""
    __shared__ float row[66];
    int t = threadIdx.x;
    row[t + 1] = in[t];
    __syncthreads();
    out[t] = row[t] + 1.0f;  // HERE"""),
    wrong("uninitialised_sum", "uninitialised-read", floats(32), (32,), r"""
    __shared__ int bins[32];
    count(bins, threadIdx.x);  // CALLER
    out[threadIdx.x] = (float)bins[threadIdx.x];""", before=r"""
__device__ __forceinline__ void count(int* bins, int b) {
    bins[b] += 1;  // HERE
}"""),
    # -- global memory
    wrong("block_conflict", "block-conflict", floats(64, 32), (32,), r"""
    out[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];  // HERE""", grid=(2,), array=("out", (32,))),
    wrong("block_conflict_sum", "block-conflict", one_sum, (32,), r"""
    if (threadIdx.x == 0) add(&out[0], in[blockIdx.x] + 1.0f);  // CALLER""", before=r"""
__device__ __forceinline__ void add(float* total, float value) {
    *total += value;  // HERE
}""", grid=(3,), array=("out", (1,))),
    wrong("read_after_end", "out-of-bounds", floats(128), (64,), r"""
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i + 1];  // HERE""", grid=(2,), array=("in", (128,))),
    wrong("write_after_end", "out-of-bounds", floats(100), (64,), r"""
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) out[i] = 1.0f;  // HERE""", grid=(2,), array=("out", (100,))),
    wrong("read_before_start", "out-of-bounds", floats(64), (64,), r"""
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = left(in, i);  // CALLER""", before=r"""
__device__ __forceinline__ float left(const float* in, int i) {
    return in[i - 1];  // HERE
}""", array=("in", (64,))),
    wrong("matrix_row_too_far", "out-of-bounds", matrices, (8, 4), r"""
    int column = threadIdx.x, row = threadIdx.y;
    out[row * 8 + column] = in[(row + 1) * 8 + column];  // HERE""", array=("in", (4, 8))),
    wrong("atomic_outside", "out-of-bounds", floats(32), (32,), r"""
    atomicAdd(&out[n + threadIdx.x], in[0]);  // HERE""", array=("out", (32,))),
    wrong("copy_outside", "out-of-bounds", floats(256, 64), (64,), r"""
    __shared__ __align__(16) float tile[256];
    int t = threadIdx.x;
    copy_16(&tile[4 * t], &in[8 * t]);  // CALLER
    commit();
    wait<0>();
    __syncthreads();
    out[t] = tile[t];""", before=MARKED_COPY, array=("in", (256,))),
    wrong("shared_write_outside", "out-of-bounds", floats(64), (64,), r"""
    __shared__ float row[64];
    int t = threadIdx.x;
    row[t + n / 64] = in[t];  // HERE
    __syncthreads();
    out[t] = row[63 - t];""", follows=("uninitialised-read",)),
    wrong("shared_read_outside", "out-of-bounds", floats(64), (64,), r"""
    extern __shared__ float row[];
    int t = threadIdx.x;
    row[t] = in[t];
    __syncthreads();
    out[t] = row[t + n];  // HERE""", shared_mem=256),
    wrong("shared_negative", "out-of-bounds", floats(64), (64,), r"""
    __shared__ float row[64];
    int t = threadIdx.x;
    row[t] = in[t];
    __syncthreads();
    out[t] = row[t - 1];  // HERE"""),
    wrong("misaligned_read", "misaligned", floats(64), (32,), r"""
    int t = threadIdx.x;
    float4 v = *reinterpret_cast<const float4*>(in + t + 1);  // HERE
    out[t] = v.x + v.w;""", array=("in", (64,))),
    wrong("misaligned_write", "misaligned", floats(128), (32,), r"""
    int t = threadIdx.x;
    store(out + 3 * t, make_float2(in[t], 1.0f));  // CALLER""", before=r"""
__device__ __forceinline__ void store(float* to, float2 value) {
    *reinterpret_cast<float2*>(to) = value;  // HERE
}""", array=("out", (128,))),
    wrong("misaligned_shared", "misaligned", floats(32), (32,), r"""
    __shared__ __align__(16) float rows[32][5];
    int t = threadIdx.x;
    *reinterpret_cast<float4*>(&rows[t][0]) = make_float4(in[t], 1.0f, 2.0f, 3.0f);  // HERE
    out[t] = rows[t][0];"""),
    wrong("misaligned_copy", "misaligned", floats(132, 32), (32,), r"""
    __shared__ __align__(16) float tile[132];
    int t = threadIdx.x;
    copy_16(&tile[4 * t], &in[4 * t + 2]);  // CALLER
    commit();
    wait<0>();
    __syncthreads();
    out[t] = tile[t];""", before=MARKED_COPY, array=("in", (132,))),
    # -- barriers and endless loops
    wrong("two_barriers", "barrier-divergence", floats(64), (64,), r"""
    __shared__ float row[64];
    int t = threadIdx.x;
    row[t] = in[t];
    if (t % 2 == 0) {
        out[t] = in[t];
        __syncthreads();  // HERE
        out[t] += row[63 - t];
    } else {
        out[t] = -in[t];
        __syncthreads();  // HERE
        out[t] -= row[63 - t];
    }"""),
    wrong("barrier_in_branch", "barrier-divergence", floats(64), (64,), r"""
    __shared__ float row[64];
    int t = threadIdx.x;
    row[t] = in[t];
    if (t < 40) {
        __syncthreads();  // HERE
        out[t] = row[t ^ 1];
    }
    __syncthreads();  // HERE
    out[t] = row[t];"""),
    wrong("barrier_in_loop", "barrier-divergence", floats(64), (64,), r"""
    __shared__ float row[64];
    int t = threadIdx.x;
    for (int round = 0; round < 2 + t % 3; ++round) {
        row[t] = in[t] + round;
        everybody();  // CALLER
    }
    everybody();  // CALLER
    out[t] = row[t];""", before=r"""
__device__ __forceinline__ void everybody() {
    __syncthreads();  // HERE
}"""),
    wrong("half_a_warp", "deadlock", floats(32), (32,), r"""
    __shared__ float row[32];
    int t = threadIdx.x;
    row[t] = in[t];
    if (t < 16) {
        __syncwarp();  // HERE
        out[t] = row[t + 16];
    } else {
        __syncthreads();  // HERE
        out[t] = row[t - 16];
    }""", before=r"""
// Half of the warp waits for the other half, which waits at the barrier."""),
    wrong("named_barrier", "deadlock", floats(64), (64,), r"""
    __shared__ float row[64];
    int t = threadIdx.x;
    row[t] = in[t];
    if (t < 32) {
        asm volatile("bar.sync 1, 64;" ::: "memory");  // HERE
        out[t] = row[t + 32];
    } else {
        __syncthreads();  // HERE
        out[t] = row[t - 32];
    }""", before=r"""
// Barrier 1 expects 64 threads, but the second warp waits at barrier 0."""),
    wrong("spin", "deadlock", floats(64), (64,), r"""
    volatile const float* flag = in;
    while (flag[0] < 1.0f) {}  // HERE
    out[threadIdx.x] = 1.0f;"""),
    wrong("stands_still", "step-limit", floats(64), (64,), r"""
    for (float x = 16777216.0f; x < 16777218.0f; x += in[0] + 1.0f) {  // HERE
        ((volatile float*)out)[threadIdx.x] = x;  // HERE
    }""", before=r"""
// The next float behind 16777216 is 16777218: plus 1 is the same.""", max_steps=2000),
    wrong("twice_zero", "step-limit", floats(64), (64,), r"""
    for (int i = threadIdx.x; i < n; i *= 2) out[i] = in[i];  // HERE""", before=r"""
// Thread 0 never gets on: twice 0 is 0.""", max_steps=2000),
    wrong("no_function", "no-function", floats(64), (64,), r"""
    One called = threadIdx.x < 40 ? table[0] : table[1];
    out[threadIdx.x] = called(in[threadIdx.x]);  // HERE""", before=r"""
// Nobody has filled the second place of the table.
typedef float (*One)(float);
__device__ float twice(float x) { return 2 * x; }
__device__ One table[2] = {twice};"""),
    wrong("other_function", "no-function", floats(64), (64,), r"""
    out[threadIdx.x] = (threadIdx.x < 32 ? One(sum) : One(twice))(in[threadIdx.x]);  // HERE""", before=r"""
typedef float (*One)(float);
__device__ __noinline__ float twice(float x) { return 2 * x; }
__device__ __noinline__ float sum(float x, float y) { return x + y; }"""),
]  # fmt: skip
