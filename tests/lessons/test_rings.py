"""The rings of lesson 05, with other numbers of slots and blocks than the lesson has."""

import numpy as np
import pytest

from course_lib import OPTIONS, Gemm, simulate
from course_lib.check.verdict import CheckFailed
from course_lib.lessons import sources
from cupy_or_sim import cupy_on_numpy
from tests.lessons import GEMMS
from tests.lessons.lesson_05 import NOTEBOOK
from tests.sample import one_in

HOMES = {name: notebook for notebook, name in GEMMS if notebook in (NOTEBOOK, "05_fastest")}


def is_right(source: str, name: str, k_tiles: int, shared_mem: int, blocks=(1, 1)) -> bool:
    """Whether these blocks are exact and without a hazard, and copy every k-tile once."""
    tile, threads = GEMMS[HOMES[name], name].tile, GEMMS[HOMES[name], name].threads
    gemm = Gemm(blocks[0] * tile[0], blocks[1] * tile[1], k_tiles * tile[2], "float16")
    random = np.random.default_rng(k_tiles)
    A, B = (random.integers(-4, 5, (size, gemm.K)).astype(np.float16) for size in (gemm.M, gemm.N))
    args = gemm.arguments(A, B)
    kernel = cupy_on_numpy.RawKernel(source, name, options=OPTIONS)
    report = simulate(kernel, blocks, (threads,), args, shared_mem)
    exact = np.array_equal(args[2], (A.astype(float) @ B.astype(float).T).astype(np.float16))
    copied = 2 * gemm.K * (gemm.M * blocks[1] + gemm.N * blocks[0])
    return report.ok and exact and report.counters.total.cp_async_bytes == copied


@pytest.mark.parametrize(("name", "stages"), [("ring", 5), ("three_stage", 2), ("fastest", 4)])
def test_rings_of_other_lengths_copy_each_k_tile_once(name, stages):
    """For fewer and for more k-tiles than slots. (The lesson checks every length for 1 to 8 k-tiles.)"""
    source, slot = sources.kernel_source(HOMES[name], name), GEMMS[HOMES[name], name].shared_mem // 3
    assert "STAGES = 3" in source
    source = source.replace("STAGES = 3", f"STAGES = {stages}")
    assert all(is_right(source, name, k_tiles, stages * slot) for k_tiles in (1, stages, 2 * stages + 2))


@pytest.mark.parametrize("blocks", [(1, 3), (3, 2), (17, 2)])
def test_the_fastest_kernel_makes_every_block_of_c(blocks):
    """`Gemm.check` launches too few blocks for a second group of 16 block rows."""
    source = sources.kernel_source("05_fastest", "fastest")
    shared_mem = GEMMS["05_fastest", "fastest"].shared_mem
    assert is_right(source, "fastest", 1, shared_mem, blocks)
    if blocks == (17, 2):
        assert "B += (tile.y * TN" in source
        wrong = source.replace("B += (tile.y * TN", "B += (blockIdx.y * TN")
        assert not is_right(wrong, "fastest", 1, shared_mem, blocks)


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_issue_behind_the_barrier_keeps_one_more_copy_on_its_way(stages):
    """The other order of the loop in sitting 2, with fewer and more k-tiles too."""
    source = sources.kernel_source(NOTEBOOK, "three_stage").replace("STAGES = 3", f"STAGES = {stages}")
    issue = "        issue(k_tile + STAGES - 1);  "
    math = "        TRACE_BEGIN(math, k_tile + 1);"
    prologue, wait = "k_tile < STAGES - 1; ++k_tile) issue", "wait_group<STAGES - 2>();    TRACE_END(wait, 0)"
    assert all(text in source for text in (issue, math, prologue, wait))
    behind = source.replace(issue, "//").replace(math, "issue(k_tile + STAGES);\n" + math)
    behind = behind.replace(prologue, prologue.replace(" - 1", "")).replace(wait, wait.replace("- 2", "- 1"))
    for k_tiles in 1, stages, 2 * stages + 2:
        assert is_right(behind, "three_stage", k_tiles, stages * 24576)
    early = behind.replace(
        "wait_group<STAGES - 2>();    TRACE_END(wait, k_tile",
        "wait_group<STAGES - 1>();    TRACE_END(wait, k_tile",
    )
    assert not is_right(early, "three_stage", 2 * stages + 2, stages * 24576)


LAST_BARRIER = "    __syncthreads();                                  // all have"


@pytest.mark.parametrize("stages", one_in(2, [2, 3, 4, 5, 6]))
def test_a_ring_without_its_last_barrier_is_found_by_one_block_and_by_the_check(stages, capsys):
    """It is wrong only where the last k-tile lies in the slot in which C is put together."""
    source = sources.kernel_source(NOTEBOOK, "three_stage")
    launch = GEMMS[NOTEBOOK, "three_stage"]
    launch = launch.but(shared_mem=launch.shared_mem // 3 * stages)
    assert source.count(LAST_BARRIER) == 1
    wrong = source.replace("STAGES = 3", f"STAGES = {stages}").replace(LAST_BARRIER, "    //")
    kernel = cupy_on_numpy.RawKernel(wrong, "three_stage", options=OPTIONS)
    assert not Gemm(256, 256, 256, "float16").one_block(kernel, launch).ok
    with pytest.raises(CheckFailed):
        Gemm(256, 256, 256, "float16").check(kernel, launch)
