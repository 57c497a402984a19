"""Warps."""

import numpy as np

from tests.bugs.case import Case, ints, nans

CASES = []


def case(*a, **k):
    CASES.append(Case(*a, **k))


case(
    "__shfl_down_sync with the mask of one lane reads lanes that are not in it",
    "NVIDIA/cuda-samples#398",
    r"""
extern "C" __global__ void k(const int* x, int* y, int n) {
    int t = threadIdx.x, v = x[t];
    unsigned mask = __ballot_sync(~0u, t < n);
    if (t < n) {
        «for (int o = 16; o; o /= 2) v += __shfl_down_sync(mask, v, o);¦for (int o = n / 2; o; o /= 2) v += __shfl_xor_sync(mask, v, o);» //@s
        if (t == 0) *y = v;
    }
}""",
    lambda m: (ints(32, 1, "i4"), nans(1, "i4"), np.int32(4)),
    lambda a: [(1, a[0][:4].sum(keepdims=True).astype("i4"))],
    ("absent-lane", "warp-mask"),
    "s",
    why="PTX ISA shfl.sync: undefined from a lane that is not in the mask",
)

case(
    "mask 0x1f taken for 'lanes 0 to 31'",
    "NVIDIA/cutlass#1094",
    r"""
extern "C" __global__ void k(int* y) {
    int t = threadIdx.x;
    int warp = __shfl_sync(«0x1f¦0xffffffff», t / 32, 0); //@s
    y[t] = warp;
}""",
    lambda m: (nans(64, "i4"),),
    lambda a: [(0, np.repeat([0, 1], 32).astype("i4"))],
    ("warp-mask", "not-in-own-mask"),
    "s",
    block=64,
    words=("mask",),
)

case(
    "mask 0",
    "PaddlePaddle/Paddle#8539 (review)",
    r"""
extern "C" __global__ void k(const int* x, int* y) {
    int t = threadIdx.x, v = x[t];
    for (int o = 16; o; o /= 2) v += __shfl_down_sync(«0¦~0u», v, o); //@s
    if (t == 0) *y = v;
}""",
    lambda m: (ints(32, 1, "i4"), nans(1, "i4")),
    lambda a: [(1, a[0].sum(keepdims=True).astype("i4"))],
    ("warp-mask", "not-in-own-mask"),
    "s",
    words=("mask",),
)

case(
    "shuffle behind a test that part of the warp fails (full mask)",
    "uzh-rpg/vilib#5",
    r"""
extern "C" __global__ void k(const int* x, int* y, int n) {
    int t = threadIdx.x, best = 0;
    «if (t < n) { best = x[t]; for (int o = 16; o; o /= 2) best = max(best, __shfl_down_sync(~0u, best, o)); }¦if (t < n) best = x[t]; for (int o = 16; o; o /= 2) best = max(best, __shfl_down_sync(~0u, best, o));» //@s
    y[t + 1] = t;
    if (t == 0) y[0] = best;
}""",
    lambda m: (ints(20, 1, "i4", 1, 90), nans(33, "i4"), np.int32(20)),
    lambda a: [(1, np.concatenate([[a[0].max()], np.arange(32)]).astype("i4"))],
    ("warp-mask", "lane-passes-by", "deadlock"),
    "s",
    words=("mask",),
)

case(
    "lock loop over __activemask(): ballots of a mask that names lanes elsewhere",
    "desul/desul#132",
    r"""
extern "C" __global__ void k(int* lock, int* y, const int* go) {
    int t = threadIdx.x;
    for (int round = 0; round < 2; ++round) {
        if (go[t] <= round) {
            unsigned mask = «__activemask()¦__ballot_sync(round ? ~0u : 0xfffffffdu, 1)», finished = 0; //@m
            bool done = false;
            while (finished != mask) {
                if (!done && atomicCAS(lock, 0, 1) == 0) { __threadfence(); atomicAdd(y, 1); __threadfence(); atomicExch(lock, 0); done = true; }
                finished = __ballot_sync(mask, done);
            }
        }
    }
}""",
    lambda m: (np.zeros(1, "i4"), np.zeros(1, "i4"), (np.arange(32) == 1).astype("i4")),
    lambda a: [(1, np.array([63], "i4"))],
    ("warp-mask", "deadlock", "lane-passes-by"),
    "",
    note=("activemask",),
    why="CUDA guide, __activemask(): no set is promised",
)

case(
    "two tiles of one warp take the same lock and sync the whole warp in between",
    "NVIDIA-Merlin/HierarchicalKV#229",
    r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(int* lock, int* y) {
    auto tile = cg::tiled_partition<4>(cg::this_thread_block());
    bool mine = false;
    while (!mine) {
        if (tile.thread_rank() == 0) mine = atomicCAS(lock, 0, 1) == 0; //@l
        mine = tile.shfl(mine, 0);
    }
    «__syncwarp();¦tile.sync();» //@s
    __threadfence();
    atomicAdd(y, 1);
    tile.sync();
    __threadfence();
    if (tile.thread_rank() == 0) atomicExch(lock, 0);
}""",
    lambda m: (np.zeros(1, "i4"), np.zeros(1, "i4")),
    lambda a: [(1, np.array([32], "i4"))],
    ("deadlock", "nobody-writes", "step-limit"),
    "s l",
    why="the holder waits at __syncwarp() for lanes that wait for its lock",
)

case(
    "xor butterfly over 48 threads: lane 16 of a warp of 16 is not there",
    "tile-ai/tilelang#2542",
    r"""
extern "C" __global__ void k(const int* x, int* y) {
    int t = threadIdx.x, v = x[t], n = blockDim.x;
    «for (int o = 16; o; o /= 2) v += __shfl_xor_sync(~0u, v, o);¦int live = min(32, n - t / 32 * 32); unsigned mask = live == 32 ? ~0u : (1u << live) - 1; for (int o = live / 2; o; o /= 2) v += __shfl_xor_sync(mask, v, o);» //@s
    if (t % 32 == 0) y[t / 32] = v;
}""",
    lambda m: (ints(48, 1, "i4"), nans(2, "i4")),
    lambda a: [(1, np.array([a[0][:32].sum(), a[0][32:].sum()], "i4"))],
    ("absent-lane", "warp-mask"),
    "s",
    block=48,
    words=("not there", "lane"),
)

case(
    "queue of two warps with volatile head and tail and no fence (spin with __nanosleep)",
    "NVIDIA/cudf#6244",
    r"""
extern "C" __global__ void k(const int* x, int* y, int n) {
    __shared__ int queue[4];
    __shared__ volatile int head, tail;
    int t = threadIdx.x;
    if (t == 0) { head = 0; tail = 0; }
    __syncthreads();
    if (t == 0) for (int i = 0; i < n; ++i) {
        while (i - tail >= 4) __nanosleep(20);
        «¦__threadfence_block();»
        queue[i % 4] = x[i]; //@w
        «¦__threadfence_block();»
        head = i + 1;
    }
    if (t == 32) for (int i = 0; i < n; ++i) {
        while (head <= i) __nanosleep(20);
        «¦__threadfence_block();»
        y[i] = queue[i % 4]; //@r
        «¦__threadfence_block();»
        tail = i + 1;
    }
}""",
    lambda m: (ints(10, 1, "i4"), nans(10, "i4"), np.int32(10)),
    lambda a: [(1, a[0].copy())],
    ("read-after-write", "write-after-read"),
    "r w",
    block=64,
    words=("fence",),
    why="PTX memory model: volatile is relaxed; the plain data needs release and acquire",
)

case(
    "whole warp, every lane takes a lock in a loop that ends outside: legal since Volta",
    "NVIDIA/warp#1958, kokkos/kokkos#4377",
    r"""
extern "C" __global__ void k(int* lock, int* y) {
    while (atomicCAS(lock, 0, 1) != 0) { } //@l
    __threadfence();
    *(volatile int*)y = *(volatile int*)y + 1;
    __threadfence();
    atomicExch(lock, 0);
}""",
    lambda m: (np.zeros(1, "i4"), np.zeros(1, "i4")),
    lambda a: [(1, np.array([64], "i4"))],
    block=64,
    only_mended=True,
    why="independent thread scheduling: it ends from sm_70 on",
)
