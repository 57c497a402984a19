"""Kernels with one known mistake each. `// HERE` marks the line that the report must name, `// CALLER` the
line that calls the helper in which it sits. Threads and inputs are few: one mistake needs no more."""

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


# -- copies that nobody waited for -------------------------------------------------------------------------

NO_WAIT = with_copy(r"""
extern "C" __global__ void no_wait(const float* in, float* out, int n) {
    __shared__ __align__(16) float tile[256];
    int t = threadIdx.x;
    copy_16(&tile[4 * t], &in[4 * t]);
    commit();
    __syncthreads();                       // a barrier is no wait
    out[t] = tile[t];  // HERE
}
""")

WAIT_ONE_SHORT = with_copy(r"""
__device__ __forceinline__ float take(const float* tile, int i) {
    return tile[i];  // HERE
}
extern "C" __global__ void wait_one_short(const float* in, float* out, int n) {
    __shared__ __align__(16) float tiles[2][128];
    int t = threadIdx.x;
    copy_16(&tiles[0][4 * t], &in[4 * t]);
    commit();
    copy_16(&tiles[1][4 * t], &in[128 + 4 * t]);
    commit();
    wait<1>();                             // the second group may still be on its way
    __syncthreads();
    out[t] = tiles[0][t];
    out[32 + t] = take(tiles[1], t);  // CALLER
}
""")

NO_COMMIT = with_copy(r"""
// wait_group counts groups: a copy that was never committed is in none of them.
extern "C" __global__ void no_commit(const float* in, float* out, int n) {
    __shared__ __align__(16) float tile[128];
    int t = threadIdx.x;
    copy_16(&tile[4 * t], &in[4 * t]);
    wait<0>();
    __syncthreads();
    out[t] = tile[(t + 1) % 32];  // HERE
}
""")

READ_TOO_EARLY = with_copy(r"""
extern "C" __global__ void read_too_early(const float* in, float* out, int n) {
    __shared__ __align__(16) float tile[128];
    int t = threadIdx.x;
    copy_16(&tile[4 * t], &in[4 * t]);
    commit();
    float early = tile[4 * t];  // HERE
    wait<0>();
    __syncthreads();
    out[t] = early + tile[t];
}
""")

# -- races in shared memory --------------------------------------------------------------------------------

RAW = r"""
extern "C" __global__ void raw(const float* in, float* out, int n) {
    __shared__ float row[64];
    int t = threadIdx.x;
    row[t] = in[t];
    out[t] = row[63 - t];  // HERE
}
"""

RAW_COPY = with_copy(r"""
// The wait is right, but it counts for the own copies only: without a barrier the neighbour's may be missing.
extern "C" __global__ void raw_copy(const float* in, float* out, int n) {
    __shared__ __align__(16) float tile[256];
    int t = threadIdx.x;
    copy_16(&tile[4 * t], &in[4 * t]);
    commit();
    wait<0>();
    out[t] = tile[t];  // HERE
}
""")

RAW_HELPER = r"""
__device__ __forceinline__ float mirror(const float* row, int t) {
    return row[95 - t];  // HERE
}
extern "C" __global__ void raw_helper(const float* in, float* out, int n) {
    extern __shared__ float row[];
    int t = threadIdx.x;
    row[t] = 2.0f * in[t];
    out[t] = mirror(row, t);  // CALLER
}
"""

RAW_NOINLINE = r"""
__device__ __noinline__ float pick(const float* row, int i) {
    return row[i];  // HERE
}
extern "C" __global__ void raw_noinline(const float* in, float* out, int n) {
    __shared__ float row[64];
    int t = threadIdx.x;
    row[t] = in[t];
    out[t] = pick(row, t ^ 32);  // CALLER
}
"""

WAR = r"""
extern "C" __global__ void war(const float* in, float* out, int n) {
    __shared__ float row[64];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int tile = 0; tile < n / 64; ++tile) {
        row[t] = in[tile * 64 + t];  // HERE
        __syncthreads();
        sum += row[63 - t];                // the next turn writes before all have read
    }
    out[t] = sum;
}
"""

WAR_COPY = with_marked_copy(r"""
extern "C" __global__ void war_copy(const float* in, float* out, int n) {
    __shared__ __align__(16) float tile[256];
    int t = threadIdx.x;
    tile[4 * t] = tile[4 * t + 1] = tile[4 * t + 2] = tile[4 * t + 3] = in[t];
    __syncthreads();
    out[t] = tile[255 - t];
    copy_16(&tile[4 * t], &in[4 * t]);  // CALLER
    commit();
    wait<0>();
    __syncthreads();
    out[t] += tile[t];
}
""")

WAW = r"""
extern "C" __global__ void waw(const float* in, float* out, int n) {
    __shared__ float row[64];
    int t = threadIdx.x;
    row[t] = in[t];
    row[63 - t] = in[t] + 1.0f;  // HERE
    __syncthreads();
    out[t] = row[t];
}
"""

WAW_COUNTER = r"""
extern "C" __global__ void waw_one_place(const float* in, float* out, int n) {
    __shared__ float largest;
    if (in[threadIdx.x] > 10.0f) largest = in[threadIdx.x];  // HERE
    __syncthreads();
    out[threadIdx.x] = largest;
}
"""

UNINITIALISED = r"""
extern "C" __global__ void uninitialised(const float* in, float* out, int n) {
    __shared__ float row[66];
    int t = threadIdx.x;
    row[t + 1] = in[t];
    __syncthreads();
    out[t] = row[t] + 1.0f;  // HERE
}
"""

UNINITIALISED_SUM = r"""
__device__ __forceinline__ void count(int* bins, int b) {
    bins[b] += 1;  // HERE
}
extern "C" __global__ void uninitialised_sum(const float* in, float* out, int n) {
    __shared__ int bins[32];
    count(bins, threadIdx.x);  // CALLER
    out[threadIdx.x] = (float)bins[threadIdx.x];
}
"""

# -- global memory -----------------------------------------------------------------------------------------

BLOCK_CONFLICT = r"""
extern "C" __global__ void block_conflict(const float* in, float* out, int n) {
    out[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];  // HERE
}
"""

BLOCK_CONFLICT_SUM = r"""
__device__ __forceinline__ void add(float* total, float value) {
    *total += value;  // HERE
}
extern "C" __global__ void block_conflict_sum(const float* in, float* out, int n) {
    if (threadIdx.x == 0) add(&out[0], in[blockIdx.x] + 1.0f);  // CALLER
}
"""

READ_AFTER_END = r"""
extern "C" __global__ void read_after_end(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i + 1];  // HERE
}
"""

WRITE_AFTER_END = r"""
extern "C" __global__ void write_after_end(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) out[i] = 1.0f;  // HERE
}
"""

READ_BEFORE_START = r"""
__device__ __forceinline__ float left(const float* in, int i) {
    return in[i - 1];  // HERE
}
extern "C" __global__ void read_before_start(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = left(in, i);  // CALLER
}
"""

MATRIX_ROW_TOO_FAR = r"""
extern "C" __global__ void matrix_row_too_far(const float* in, float* out, int n) {
    int column = threadIdx.x, row = threadIdx.y;
    out[row * 8 + column] = in[(row + 1) * 8 + column];  // HERE
}
"""

ATOMIC_OUTSIDE = r"""
extern "C" __global__ void atomic_outside(const float* in, float* out, int n) {
    atomicAdd(&out[n + threadIdx.x], in[0]);  // HERE
}
"""

COPY_OUTSIDE = with_marked_copy(r"""
extern "C" __global__ void copy_outside(const float* in, float* out, int n) {
    __shared__ __align__(16) float tile[256];
    int t = threadIdx.x;
    copy_16(&tile[4 * t], &in[8 * t]);  // CALLER
    commit();
    wait<0>();
    __syncthreads();
    out[t] = tile[t];
}
""")

SHARED_WRITE_OUTSIDE = r"""
extern "C" __global__ void shared_write_outside(const float* in, float* out, int n) {
    __shared__ float row[64];
    int t = threadIdx.x;
    row[t + n / 64] = in[t];  // HERE
    __syncthreads();
    out[t] = row[63 - t];
}
"""

SHARED_READ_OUTSIDE = r"""
extern "C" __global__ void shared_read_outside(const float* in, float* out, int n) {
    extern __shared__ float row[];
    int t = threadIdx.x;
    row[t] = in[t];
    __syncthreads();
    out[t] = row[t + n];  // HERE
}
"""

SHARED_NEGATIVE = r"""
extern "C" __global__ void shared_negative(const float* in, float* out, int n) {
    __shared__ float row[64];
    int t = threadIdx.x;
    row[t] = in[t];
    __syncthreads();
    out[t] = row[t - 1];  // HERE
}
"""

MISALIGNED_READ = r"""
extern "C" __global__ void misaligned_read(const float* in, float* out, int n) {
    int t = threadIdx.x;
    float4 v = *reinterpret_cast<const float4*>(in + t + 1);  // HERE
    out[t] = v.x + v.w;
}
"""

MISALIGNED_WRITE = r"""
__device__ __forceinline__ void store(float* to, float2 value) {
    *reinterpret_cast<float2*>(to) = value;  // HERE
}
extern "C" __global__ void misaligned_write(const float* in, float* out, int n) {
    int t = threadIdx.x;
    store(out + 3 * t, make_float2(in[t], 1.0f));  // CALLER
}
"""

MISALIGNED_SHARED = r"""
extern "C" __global__ void misaligned_shared(const float* in, float* out, int n) {
    __shared__ __align__(16) float rows[32][5];
    int t = threadIdx.x;
    *reinterpret_cast<float4*>(&rows[t][0]) = make_float4(in[t], 1.0f, 2.0f, 3.0f);  // HERE
    out[t] = rows[t][0];
}
"""

MISALIGNED_COPY = with_marked_copy(r"""
extern "C" __global__ void misaligned_copy(const float* in, float* out, int n) {
    __shared__ __align__(16) float tile[132];
    int t = threadIdx.x;
    copy_16(&tile[4 * t], &in[4 * t + 2]);  // CALLER
    commit();
    wait<0>();
    __syncthreads();
    out[t] = tile[t];
}
""")

# -- barriers and endless loops ----------------------------------------------------------------------------

TWO_BARRIERS = r"""
extern "C" __global__ void two_barriers(const float* in, float* out, int n) {
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
    }
}
"""

BARRIER_IN_BRANCH = r"""
extern "C" __global__ void barrier_in_branch(const float* in, float* out, int n) {
    __shared__ float row[64];
    int t = threadIdx.x;
    row[t] = in[t];
    if (t < 40) {
        __syncthreads();  // HERE
        out[t] = row[t ^ 1];
    }
    __syncthreads();  // HERE
    out[t] = row[t];
}
"""

BARRIER_IN_LOOP = r"""
__device__ __forceinline__ void everybody() {
    __syncthreads();  // HERE
}
extern "C" __global__ void barrier_in_loop(const float* in, float* out, int n) {
    __shared__ float row[64];
    int t = threadIdx.x;
    for (int round = 0; round < 2 + t % 3; ++round) {
        row[t] = in[t] + round;
        everybody();  // CALLER
    }
    everybody();  // CALLER
    out[t] = row[t];
}
"""

HALF_A_WARP = r"""
// Half of the warp waits for the other half, which waits at the barrier.
extern "C" __global__ void half_a_warp(const float* in, float* out, int n) {
    __shared__ float row[32];
    int t = threadIdx.x;
    row[t] = in[t];
    if (t < 16) {
        __syncwarp();  // HERE
        out[t] = row[t + 16];
    } else {
        __syncthreads();  // HERE
        out[t] = row[t - 16];
    }
}
"""

NAMED_BARRIER = r"""
// Barrier 1 expects 64 threads, but the second warp waits at barrier 0.
extern "C" __global__ void named_barrier(const float* in, float* out, int n) {
    __shared__ float row[64];
    int t = threadIdx.x;
    row[t] = in[t];
    if (t < 32) {
        asm volatile("bar.sync 1, 64;" ::: "memory");  // HERE
        out[t] = row[t + 32];
    } else {
        __syncthreads();  // HERE
        out[t] = row[t - 32];
    }
}
"""

SPIN = r"""
extern "C" __global__ void spin(const float* in, float* out, int n) {
    volatile const float* flag = in;
    while (flag[0] < 1.0f) {}  // HERE
    out[threadIdx.x] = 1.0f;
}
"""

STANDS = r"""
// The next float behind 16777216 is 16777218: plus 1 is the same.
extern "C" __global__ void stands_still(const float* in, float* out, int n) {
    for (float x = 16777216.0f; x < 16777218.0f; x += in[0] + 1.0f) {  // HERE
        ((volatile float*)out)[threadIdx.x] = x;  // HERE
    }
}
"""

ENDLESS = r"""
// Thread 0 never gets on: twice 0 is 0.
extern "C" __global__ void twice_zero(const float* in, float* out, int n) {
    for (int i = threadIdx.x; i < n; i *= 2) out[i] = in[i];  // HERE
}
"""

WRONG = [
    WrongCase("no_wait", "unwaited-copy", NO_WAIT, floats(256, 64), (1,), (64,)),
    WrongCase("wait_one_short", "unwaited-copy", WAIT_ONE_SHORT, floats(256, 64), (1,), (32,)),
    WrongCase("no_commit", "unwaited-copy", NO_COMMIT, floats(128, 32), (1,), (32,)),
    WrongCase("read_too_early", "unwaited-copy", READ_TOO_EARLY, floats(128, 32), (1,), (32,)),
    WrongCase("raw", "read-after-write", RAW, floats(64), (1,), (64,)),
    WrongCase("raw_copy", "read-after-write", RAW_COPY, floats(256, 64), (1,), (64,)),
    WrongCase("raw_helper", "read-after-write", RAW_HELPER, floats(96), (2,), (96,), shared_mem=384),
    WrongCase("raw_noinline", "read-after-write", RAW_NOINLINE, floats(64), (1,), (64,)),
    WrongCase("war", "write-after-read", WAR, floats(192, 64), (1,), (64,)),
    WrongCase("war_copy", "write-after-read", WAR_COPY, floats(256, 64), (1,), (64,)),
    WrongCase("waw", "write-after-write", WAW, floats(64), (1,), (64,)),
    WrongCase("waw_one_place", "write-after-write", WAW_COUNTER, floats(64), (1,), (64,)),
    WrongCase("uninitialised", "uninitialised-read", UNINITIALISED, floats(64), (1,), (64,)),
    WrongCase("uninitialised_sum", "uninitialised-read", UNINITIALISED_SUM, floats(32), (1,), (32,)),
    WrongCase(
        "block_conflict", "block-conflict", BLOCK_CONFLICT, floats(64, 32), (2,), (32,),
        array=("out", (32,)),
    ),
    WrongCase(
        "block_conflict_sum", "block-conflict", BLOCK_CONFLICT_SUM,
        lambda: [np.arange(3, dtype="f4"), np.zeros(1, "f4"), np.int32(3)], (3,), (32,),
        array=("out", (1,)),
    ),
    WrongCase(
        "read_after_end", "out-of-bounds", READ_AFTER_END, floats(128), (2,), (64,),
        array=("in", (128,)),
    ),
    WrongCase(
        "write_after_end", "out-of-bounds", WRITE_AFTER_END, floats(100), (2,), (64,),
        array=("out", (100,)),
    ),
    WrongCase(
        "read_before_start", "out-of-bounds", READ_BEFORE_START, floats(64), (1,), (64,),
        array=("in", (64,)),
    ),
    WrongCase(
        "matrix_row_too_far", "out-of-bounds", MATRIX_ROW_TOO_FAR,
        lambda: [np.zeros((4, 8), "f4"), poison((4, 8), "f4"), np.int32(32)], (1,), (8, 4),
        array=("in", (4, 8)),
    ),
    WrongCase(
        "atomic_outside", "out-of-bounds", ATOMIC_OUTSIDE, floats(32), (1,), (32,),
        array=("out", (32,)),
    ),
    WrongCase(
        "copy_outside", "out-of-bounds", COPY_OUTSIDE, floats(256, 64), (1,), (64,),
        array=("in", (256,)),
    ),
    WrongCase("shared_write_outside", "out-of-bounds", SHARED_WRITE_OUTSIDE, floats(64), (1,), (64,),
              follows=("uninitialised-read",)),
    WrongCase(
        "shared_read_outside", "out-of-bounds", SHARED_READ_OUTSIDE, floats(64), (1,), (64,),
        shared_mem=256,
    ),
    WrongCase("shared_negative", "out-of-bounds", SHARED_NEGATIVE, floats(64), (1,), (64,)),
    WrongCase("misaligned_read", "misaligned", MISALIGNED_READ, floats(64), (1,), (32,), array=("in", (64,))),
    WrongCase(
        "misaligned_write", "misaligned", MISALIGNED_WRITE, floats(128), (1,), (32,),
        array=("out", (128,)),
    ),
    WrongCase("misaligned_shared", "misaligned", MISALIGNED_SHARED, floats(32), (1,), (32,)),
    WrongCase(
        "misaligned_copy", "misaligned", MISALIGNED_COPY, floats(132, 32), (1,), (32,),
        array=("in", (132,)),
    ),
    WrongCase("two_barriers", "barrier-divergence", TWO_BARRIERS, floats(64), (1,), (64,)),
    WrongCase("barrier_in_branch", "barrier-divergence", BARRIER_IN_BRANCH, floats(64), (1,), (64,)),
    WrongCase("barrier_in_loop", "barrier-divergence", BARRIER_IN_LOOP, floats(64), (1,), (64,)),
    WrongCase("half_a_warp", "deadlock", HALF_A_WARP, floats(32), (1,), (32,)),
    WrongCase("named_barrier", "deadlock", NAMED_BARRIER, floats(64), (1,), (64,)),
    WrongCase("spin", "deadlock", SPIN, floats(64), (1,), (64,)),
    WrongCase("stands_still", "step-limit", STANDS, floats(64), (1,), (64,), max_steps=2000),
    WrongCase("twice_zero", "step-limit", ENDLESS, floats(64), (1,), (64,), max_steps=2000),
]  # fmt: skip
