"""Kernels with one mistake in the order of threads each: barriers, masks, named barriers, global memory, messages.

Marked as in known_wrong.py. compute-sanitizer's verdicts on them are frozen beside those on the mutants.
"""

import numpy as np

from tests.kernels.case import WrongCase
from tests.kernels.known_wrong import floats, with_copy, with_marked_copy


def kernel(name: str, body: str, before: str = "") -> str:
    return f"""{before}
extern "C" __global__ void {name}(const float* in, float* out, int n) {{
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
{body}
}}
"""


def counters(n: int = 4):
    """make() for kernels (in, out, n) that count: floats in, n zeros out."""
    return lambda: [np.arange(64, dtype="f4"), np.zeros(n, "f4"), np.int32(64)]


NAMED = """
#define SYNC(count) asm volatile("bar.sync 1, %0;" :: "r"(count) : "memory")
#define ARRIVE(count) asm volatile("bar.arrive 1, %0;" :: "r"(count) : "memory")
"""

TABLE = [
    # -- barriers that not all threads come to
    ("first_thread_skips", "barrier-divergence", """
    __shared__ float tile[64];
    tile[t] = in[t];
    if (t > 0) {
        __syncthreads();  // HERE
        out[t] = tile[t] + 1;
    } else
        out[t] = tile[t];""", {}),
    ("half_a_warp_skips", "barrier-divergence", """
    __shared__ float tile[64];
    tile[t] = in[t];
    if (t % 32 < 16) __syncthreads();  // HERE
    out[t] = tile[t];""", {}),
    ("another_barrier", "barrier-divergence", """
    __shared__ float tile[64];
    tile[t] = in[t];
    if (t < 32) __syncthreads();  // HERE
    else { __syncthreads(); out[t] = 0; }  // HERE
    out[t] = tile[63 - t];""", {}),
    # -- masks of a warp
    ("not_in_its_mask", "warp-mask", """
    unsigned mask = t < 16 ? 0x0000ffff : 0x00007fff;
    out[t] = __ballot_sync(mask, in[t] > 3);  // HERE""", {"threads": 32}),
    ("from_a_lane_that_left", "warp-mask", """
    if (t % 32 >= 16) { out[t] = 0; return; }
    out[t] = __shfl_sync(0x0000ffff, in[t], t + 16);  // HERE""", {"threads": 32}),
    ("syncwarp_of_others", "warp-mask", """
    if (t < 16) __syncwarp(0x0000fff0);  // HERE
    out[t] = in[t];""", {"threads": 32}),
    # -- part of a warp
    ("half_a_warp_meets", "read-after-write", """
    __shared__ float tile[32];
    tile[t] = in[t];
    if (t < 16) __syncwarp(0x0000ffff);
    out[t] = tile[31 - t];  // HERE""", {"threads": 32}),
    ("warp_without_syncwarp", "read-after-write", """
    __shared__ float tile[64];
    tile[t] = in[t];
    out[t] = tile[t ^ 1];  // HERE""", {}),
    ("unordered_atomic", "read-after-write", """
    __shared__ float sums[2];
    if (t == 0) sums[0] = sums[1] = 0;
    __syncthreads();
    if (t >= 64) atomicAdd(&sums[0], in[t]);
    if (t == 0) out[0] = sums[0];  // HERE
    out[t] = in[t];""", {"threads": 96, "make": floats(96)}),
    # -- counts of named barriers
    ("counts_differ", "barrier-count", """
    if (t < 32) SYNC(64);  // HERE
    else ARRIVE(96);  // HERE
    out[t] = in[t];""", {"before": NAMED}),
    ("not_whole_warps", "barrier-count", """
    SYNC(48);  // HERE
    out[t] = in[t];""", {"before": NAMED}),
    # -- asynchronous copies
    ("one_place", "write-after-write", None, {"source": with_marked_copy(r"""
extern "C" __global__ void one_place(const float* in, float* out, int n) {
    __shared__ __align__(16) float tile[128];
    int t = threadIdx.x;
    copy_16(&tile[4 * (t % 32)], &in[4 * t]);  // CALLER
    commit();
    wait<0>();
    __syncthreads();
    out[t] = tile[t];
}
"""), "make": floats(256, 64)}),
    ("store_over_a_copy", "write-after-write", None, {"source": with_copy(r"""
extern "C" __global__ void store_over_a_copy(const float* in, float* out, int n) {
    __shared__ __align__(16) float tile[256];
    int t = threadIdx.x;
    copy_16(&tile[4 * t], &in[4 * t]);
    commit();
    tile[4 * t] = 0;  // HERE
    wait<0>();
    out[t] = tile[4 * t + 1];
}
"""), "make": floats(256, 64)}),
    # -- global memory inside a block
    ("global_neighbour", "read-after-write", """
    out[t] = in[t];
    out[64 + t] = out[63 - t];  // HERE""", {"make": floats(64, 128), "array": ("out", (128,))}),
    ("global_in_place", "write-after-read", """
    float left = t > 0 ? out[t - 1] : 0;
    out[t] = left + in[t];  // HERE""", {"make": lambda: [np.arange(64, dtype="f4"), np.ones(64, "f4"),
                                           np.int32(64)], "array": ("out", (64,))}),
    ("global_one_place", "write-after-write", """
    out[t % 32] = in[t];  // HERE""", {"make": floats(64, 32), "array": ("out", (32,))}),
    # -- between blocks
    ("plain_count", "block-conflict", """
    if (t == 0) out[0] = out[0] + in[0] + 1;  // HERE""", {"make": counters(), "grid": (4,), "array": ("out", (4,))}),
    ("fence_is_no_lock", "block-conflict", """
    __threadfence();
    if (t == 0) out[0] = out[0] + in[0] + 1;  // HERE
    __threadfence();""", {"make": counters(), "grid": (4,), "array": ("out", (4,))}),
    ("guarded_maximum", "block-conflict", """
    int* best = (int*)out;
    if (t == 0 && *best < 7 - (int)blockIdx.x)
        atomicMax(best, 7 - (int)blockIdx.x);  // HERE""", {"make": counters(), "grid": (4,), "array": ("out", (4,))}),
    ("flag_without_fence", "block-conflict", """
    volatile float* flag = out + 1;
    if (blockIdx.x == 0 && t == 0) {
        out[0] = in[1];
        *flag = 1;
    }
    if (blockIdx.x == 1 && t == 0) {
        while (*flag == 0) ;
        out[2] = out[0];  // HERE
    }""", {"make": counters(), "grid": (2,), "array": ("out", (4,))}),
    # -- the kernel ends itself
    ("wrong_assumption", "assertion-failed", """
    assert(in[t] < 63);  // HERE
    out[t] = in[t];""", {}),
    ("unreachable", "assertion-failed", """
    if (t == 5) assert(n < 0);  // HERE
    out[t] = in[t];""", {}),
    ("gives_up", "trap", """
    if (in[t] > 62) __trap();  // HERE
    out[t] = in[t];""", {}),
    ("gives_up_at_once", "trap", """
    __trap();  // HERE
    out[t] = in[t];""", {}),
]  # fmt: skip
"""(name, kind, body, what is not as usual: one block of 64 threads, floats in and out)."""


def case(
    name: str,
    kind: str,
    body: str | None,
    *,
    before="",
    source=None,
    make=None,
    grid=(1,),
    threads=64,
    array=None,
) -> WrongCase:
    return WrongCase(
        name,
        kind,
        source or kernel(name, body, before),
        make or floats(threads),
        grid,
        (threads,),
        array=array,
    )


WRONG = [case(name, kind, body, **unusual) for name, kind, body, unusual in TABLE]
