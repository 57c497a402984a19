"""Hopper's instructions in the counters and in the clock: exact numbers of a small ring, and times that must follow."""

from functools import cache

import numpy as np
import pytest

import ptxsim
from cupy_or_sim.device import HOPPER
from ptxsim import TensorMap
from ptxsim.clock import clock
from ptxsim.clock.engines import wgmma_cycles
from ptxsim.estimate import estimate
from ptxsim.gpus import H100
from ptxsim.observe.events import (
    BulkCommit,
    BulkCopy,
    BulkStore,
    BulkWait,
    MbarrierArrive,
    MbarrierAsk,
    MbarrierExpect,
    MbarrierInit,
    MbarrierWait,
    Work,
)

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
PEAK = 2 * 64 * 256 * 64 / 4096  # cycles of a k-tile's math, alone


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


@cache
def model(slots: int):
    return estimate(kernel(slots), (132,), (256,), arguments, 64, shared(slots), resident=1)


def test_counts_are_exact():
    """4 wgmma of 4 warps in a k-tile; each reads 64 x 16 of A and 256 x 16 of B once."""
    total = report(4, 3).counters.total
    assert total.wgmma == 3 * 4 * 4
    assert total.wgmma_shared_bytes == 3 * 4 * (64 + 256) * 16 * 2
    assert total.bulk_copies == 3 * (1 + 4)  # boxes of 64 rows
    assert total.bulk_bytes == total.bulk_landed_bytes == total.expected_bytes == 3 * (A + B)
    assert (total.bulk_stores, total.bulk_store_bytes) == (0, 0)
    assert (total.cp_async, total.mma) == (0, 0)


def without_work(events: list[list]) -> list[list]:
    return [[event for event in warp if not isinstance(event, Work)] for warp in events]


def test_the_clock_hears_of_a_phase_however_often_a_thread_asked():
    """What a warp waits for does not depend on who ran first, and a loop that asks leaves no trace."""
    for seed in (None, 1, 2):
        events = report(2, 6, seed).events
        assert without_work(events) == without_work(report(2, 6).events)
        assert not any(isinstance(event, MbarrierAsk) for warp in events for event in warp)
        waits = [[event.ahead for event in warp if isinstance(event, MbarrierWait)] for warp in events]
        assert waits[4] == [0] * 6 and set(waits[0]) == {-1}


def test_a_wgmma_takes_half_its_columns_and_not_less_than_16():
    assert [wgmma_cycles(n) for n in (256, 128, 64, 32, 16, 8)] == [128, 64, 32, 24, 20, 18]


def test_one_slot_adds_up_and_a_ring_takes_the_longer_of_copy_and_math():
    rates = H100.rates
    math, copy = PEAK * rates.wgmma / 128, (A + B) / rates.l2_bulk
    one = math + copy + rates.l2_latency
    assert one < model(1).cycles_per_k_tile < one + 150
    assert abs(model(4).cycles_per_k_tile / max(math, copy) - 1) < 0.02


@pytest.mark.parametrize("slots", [2, 3])
def test_fewer_slots_lie_between(slots):
    assert model(4).cycles_per_k_tile < model(slots).cycles_per_k_tile * 1.001
    assert model(slots).cycles_per_k_tile < model(1).cycles_per_k_tile


def test_a_warp_that_waits_for_ever_is_told():
    assert clock.play([[MbarrierInit(0, 1), MbarrierWait(0, 0)], []], H100.rates).stuck == 1


def test_copies_to_two_blocks_bring_what_two_blocks_ask_for():
    """Of a cluster of two, each fetches half: half of L2's time, and the phase is complete all the same."""

    def cycles(size: int, blocks: int) -> float:
        start = [MbarrierInit(0, 1), MbarrierExpect(0, 32768), MbarrierArrive(0, 1)]
        events = [*start, BulkCopy(0, size, blocks), MbarrierWait(0, 0)]
        return clock.play([events], H100.rates).cycles

    assert cycles(32768, 1) - cycles(16384, 2) == pytest.approx(16384 / H100.rates.l2_bulk)


def test_a_store_frees_its_source_before_it_arrives():
    def cycles(read_only: bool, size: int = 8192) -> float:
        events = [BulkStore(size), BulkCommit(), BulkWait(0, read_only)]
        return clock.play([events], H100.rates).cycles

    assert cycles(False) - cycles(True) == pytest.approx(8192 / H100.rates.l2_bulk + H100.rates.l2_latency)
    wavefronts = 8192 / 128
    assert cycles(True, 16384) - cycles(True) == pytest.approx(wavefronts * H100.rates.wavefront)


@pytest.mark.parametrize("resident", [1, None])
@pytest.mark.parametrize("gpu", ["A100", "RTX 3090", "T4"])
def test_a_gpu_without_a_copy_engine_and_wgmma_is_refused_in_words(gpu, resident):
    said = (
        rf"^ring uses wgmma and the copy engine \(cp\.async\.bulk\), for which the clock has no rates of the {gpu}; "
        r'it has them of: H100, H200\. Pass gpu="H100"$'
    )
    with pytest.raises(ValueError, match=said):
        estimate(kernel(4), (132,), (256,), arguments, 64, shared(4), gpu, resident)
