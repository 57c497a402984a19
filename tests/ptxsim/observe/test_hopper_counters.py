"""What the counters say of lessons 07 and 08, against a count by hand: one tile of a cluster, three k-tiles."""

from functools import cache

import pytest

from course_lib import Gemm, lesson_kernel
from tests.lessons import hopper_home

K_TILES, BOX = 3, 64 * 128  # bytes of a box


@cache
def counted(name: str):
    kernel, launch = lesson_kernel(hopper_home(name), name)
    gemm = Gemm(256, 256, 64 * K_TILES, "float16")
    return gemm.simulated(kernel, gemm.integers(seed=0), launch.small())[1].counters.total


@pytest.mark.parametrize("name", ["one_slot", "ring", "roles", "persistent"])
def test_each_block_fetches_its_own_tiles(name):
    total = counted(name)
    assert total.bulk_copies == 2 * K_TILES * (2 + 4)  # blocks, boxes of A and of B
    assert total.bulk_bytes == total.bulk_landed_bytes == total.expected_bytes == total.bulk_copies * BOX


@pytest.mark.parametrize("name", ["cluster", "complete"])
def test_what_two_blocks_share_is_fetched_once_and_lands_twice(name):
    total = counted(name)
    assert total.bulk_copies == 2 * K_TILES * (2 + 2)
    assert total.bulk_bytes == total.bulk_copies * BOX
    assert total.bulk_landed_bytes == total.expected_bytes == 2 * K_TILES * (2 + 4) * BOX


def test_wgmma_counts_for_each_warp_and_reads_both_operands():
    total = counted("one_slot")
    of_a_warpgroup = 2 * 2 * K_TILES * 4  # blocks, warpgroups, k-steps of 16
    assert total.wgmma == 4 * of_a_warpgroup
    assert total.wgmma_shared_bytes == of_a_warpgroup * (64 + 256) * 16 * 2


def test_results_leave_through_shared_memory_in_boxes():
    total = counted("complete")
    assert total.stmatrix == 256 * 256 // (4 * 64)
    assert total.bulk_stores == 256 * 256 // (64 * 64) and total.bulk_store_bytes == 256 * 256 * 2
    assert total.shared_wavefronts == total.shared_wavefronts_ideal
