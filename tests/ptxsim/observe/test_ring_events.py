"""Hopper's instructions in the counters and among the events: exact numbers of a small ring."""

from functools import cache

import numpy as np

import ptxsim
from cupy_or_sim.device import HOPPER
from ptxsim import TensorMap
from ptxsim.observe.events import MbarrierWait, Store

KERNEL = """
#include <cuda_fp16.h>
#include <course/tma.cuh>
#include <course/wgmma.cuh>
constexpr int TM = 64, TN = 256, TK = 64, SLOTS = %d, SIZE = (TM + TN) * TK * 2;
struct Slot { __half A[TM * TK], B[TN * TK]; };
struct Shared { Slot slots[SLOTS]; Mbarrier full[SLOTS], empty[SLOTS]; };

extern "C" __global__ void __launch_bounds__(256, 1)
ring(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, float* C, int k_tiles)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Shared& s = *(Shared*)memory;
    if (threadIdx.x == 0) {
        for (int slot = 0; slot < SLOTS; ++slot) {
            mbarrier_init(&s.full[slot], 1);
            mbarrier_init(&s.empty[slot], 128);
        }
        mbarrier_init_done();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        for (int k = 0; k < k_tiles && threadIdx.x == 0; ++k) {
            int slot = k %% SLOTS;
            mbarrier_wait(&s.empty[slot], (k / SLOTS + 1) %% 2);
            mbarrier_expect(&s.full[slot], SIZE);
            load_rows(TM, s.slots[slot].A, A, k * TK, 0, &s.full[slot]);
            load_rows(TN, s.slots[slot].B, B, k * TK, 0, &s.full[slot]);
        }
    } else {
        float d[128];
        for (int k = 0; k < k_tiles; ++k) {
            int slot = k %% SLOTS;
            mbarrier_wait(&s.full[slot], k / SLOTS %% 2);
            start_k_tile(d, s.slots[slot].A, s.slots[slot].B, k > 0);
            wgmma_wait<0>();
            mbarrier_arrive(&s.empty[slot]);
        }
        C[threadIdx.x - 128] = d[0];
    }
}
"""
A, B = (64 * 64 * 2, 256 * 64 * 2)  # bytes of a k-tile


@cache
def kernel(slots: int):
    return ptxsim.compile(KERNEL % slots, "ring", HOPPER)


def arguments(k_tiles: int) -> tuple:
    """Zeros: only what happens is looked at."""
    maps = [TensorMap(np.zeros((rows, 64 * k_tiles), np.float16), (64, 64), 128) for rows in (64, 256)]
    return *maps, np.zeros(128, np.float32), np.int32(k_tiles)


def shared(slots: int) -> int:
    return slots * (A + B + 16)


@cache
def report(slots: int, k_tiles: int, seed: int | None = None):
    found = ptxsim.launch(kernel(slots), 1, 256, arguments(k_tiles), shared(slots), seed=seed)
    assert found.ok, found
    return found


def test_counts_are_exact():
    """4 wgmma of 4 warps in a k-tile; each reads 64 x 16 of A and 256 x 16 of B once."""
    total = report(4, 3).counters.total
    assert total.wgmma == 3 * 4 * 4
    assert total.wgmma_shared_bytes == 3 * 4 * (64 + 256) * 16 * 2
    assert total.bulk_copies == 3 * (1 + 4)  # boxes of 64 rows
    assert total.bulk_bytes == total.bulk_landed_bytes == total.expected_bytes == 3 * (A + B)
    assert (total.bulk_stores, total.bulk_store_bytes) == (0, 0)
    assert (total.cp_async, total.mma) == (0, 0)


def test_a_phase_is_noted_once_however_often_a_thread_asked():
    """What a warp waits for does not depend on who ran first, and a loop that asks leaves no trace."""
    for seed in (None, 1, 2):
        events = report(2, 6, seed).events
        assert events == report(2, 6).events
        waits = [[event.ahead for event in warp if isinstance(event, MbarrierWait)] for warp in events]
        assert waits[4] == [0] * 6 and set(waits[0]) == {-1}


STORES = """extern "C" __global__ void f(float* out)
{
    for (int i = 0; i < 64; ++i) out[i * 128 + threadIdx.x] = 1;
}"""


def test_a_store_has_its_bytes():
    out = np.zeros(64 * 128, np.float32)
    events = ptxsim.launch(ptxsim.compile(STORES, "f"), 1, 128, (out,)).events
    assert [event for event in events[0] if isinstance(event, Store)] == [Store(128.0)] * 64
