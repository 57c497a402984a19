"""What lesson 04 says of its headers and its rings, beyond what every lesson's test tries."""

import re

import numpy as np
import pytest

from course_lib import OPTIONS, Gemm, lessons, simulate
from course_lib.backend import standin
from course_lib.backend.records import canonical, course_headers
from tests.lessons.lesson_04 import LAUNCHES, NOTEBOOK

WRITTEN_OUT = {
    "one_warp": {"mma.cuh": ["ldmatrix_x4", "mma_m16n8k16"]},
    "warp_tile": {"mma_tile.cuh": ["swizzled", "copy_rows"]},
    "one_stage": {"mma_store.cuh": ["store_tile"]},
}
"""Kernel -> header -> the functions that the kernel writes out before later kernels take them from the header."""


def text_of(header: str) -> str:
    return course_headers(f"#include <course/{header}>")[f"course/{header}"]


def function(source: str, name: str) -> str:
    """A device function from its `template` or `__device__` to the closing brace in the first column."""
    found = re.search(
        rf"^(?:template [^\n]*\n)?__device__[^\n]*\b{name}\(.*?(?:^\}}| \}}\n)",
        source,
        re.DOTALL | re.MULTILINE,
    )
    assert found, f"no function {name}"
    return canonical(found[0])


@pytest.mark.parametrize("kernel", WRITTEN_OUT)
def test_headers_hold_the_functions_that_the_lesson_explains(kernel):
    source = lessons.kernel_source(NOTEBOOK, kernel)
    for header, names in WRITTEN_OUT[kernel].items():
        for name in names:
            assert function(text_of(header), name) == function(source, name)


def test_every_function_of_the_headers_is_written_out():
    defined = {
        header: set(re.findall(r"^__device__[^\n]*?(\w+)\(", text_of(header), re.MULTILINE))
        for header in ("mma.cuh", "mma_tile.cuh", "mma_store.cuh")
    }
    shown = {header: set(names) for headers in WRITTEN_OUT.values() for header, names in headers.items()}
    shown["mma_tile.cuh"] |= {"load_fragments", "multiply"}  # loops of warp_tile: see the next test
    assert defined == shown


def test_the_inner_loops_of_the_header_are_those_of_the_lesson():
    lines = {
        re.sub(r"\s+", " ", line.strip())
        for line in lessons.kernel_source(NOTEBOOK, "warp_tile").splitlines()
    }
    header = text_of("mma_tile.cuh")
    for name in "load_fragments", "multiply":
        body = header[header.index(name + "(") :].partition("{\n")[2].partition("\n}")[0]
        inner = [re.sub(r"\s+", " ", line.strip()) for line in body.splitlines()]
        assert [line for line in inner if line not in lines and not line.startswith("int lane")] == []


def is_right(source: str, name: str, k_tiles: int, shared_mem: int, blocks=(1, 1)) -> bool:
    """Whether these blocks are exact and without a hazard, and copy every k-tile once."""
    tile, threads = LAUNCHES[name]["tile"], LAUNCHES[name]["threads"]
    gemm = Gemm(blocks[0] * tile[0], blocks[1] * tile[1], k_tiles * tile[2], "float16")
    random = np.random.default_rng(k_tiles)
    A, B = (random.integers(-4, 5, (size, gemm.K)).astype(np.float16) for size in (gemm.M, gemm.N))
    args = gemm.arguments(A, B)
    kernel = standin.RawKernel(source, name, options=OPTIONS)
    report = simulate(kernel, blocks, (threads,), args, shared_mem)
    exact = np.array_equal(args[2], (A.astype(float) @ B.astype(float).T).astype(np.float16))
    copied = 2 * gemm.K * (gemm.M * blocks[1] + gemm.N * blocks[0])
    return report.ok and exact and report.counters.total.cp_async_bytes == copied


@pytest.mark.parametrize(("name", "stages"), [("ring", 5), ("three_stage", 2), ("fastest", 4)])
def test_rings_of_other_lengths_copy_each_k_tile_once(name, stages):
    """For fewer and for more k-tiles than slots. (The lesson checks every length for 1 to 8 k-tiles.)"""
    source, slot = lessons.kernel_source(NOTEBOOK, name), LAUNCHES[name]["shared_mem"] // 3
    assert "STAGES = 3" in source
    source = source.replace("STAGES = 3", f"STAGES = {stages}")
    assert all(is_right(source, name, k_tiles, stages * slot) for k_tiles in (1, stages, 2 * stages + 2))


@pytest.mark.parametrize("blocks", [(1, 3), (3, 2), (17, 2)])
def test_the_fastest_kernel_makes_every_block_of_c(blocks):
    """`Gemm.check` launches too few blocks for a second group of 16 block rows."""
    source, shared_mem = lessons.kernel_source(NOTEBOOK, "fastest"), LAUNCHES["fastest"]["shared_mem"]
    assert is_right(source, "fastest", 1, shared_mem, blocks)
    if blocks == (17, 2):
        assert "B += (tile.y * TN" in source
        wrong = source.replace("B += (tile.y * TN", "B += (blockIdx.y * TN")
        assert not is_right(wrong, "fastest", 1, shared_mem, blocks)


def test_blocks_are_numbered_down_the_rows_of_a_group():
    """The tiles of `grouped_block`: each once, a full group of GROUP rows first, then a group of fewer rows."""
    source = r"""
#include <course/block_order.cuh>
extern "C" __global__ void order(unsigned* tiles)
{
    uint2 tile = grouped_block<4>();
    unsigned block = blockIdx.y * gridDim.x + blockIdx.x;
    tiles[2 * block] = tile.x;
    tiles[2 * block + 1] = tile.y;
}
"""
    tiles = np.full((6 * 3, 2), 99, np.uint32)
    assert simulate(standin.RawKernel(source, "order", options=OPTIONS), (6, 3), (1,), (tiles,)).ok
    groups = [(range(0, 4), 3), (range(4, 6), 3)]
    assert tiles.tolist() == [[x, y] for rows, columns in groups for y in range(columns) for x in rows]


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_issue_behind_the_barrier_keeps_one_more_copy_on_its_way(stages):
    """The optional variant of the notebook, also with other numbers of slots."""
    source = lessons.kernel_source(NOTEBOOK, "three_stage").replace("STAGES = 3", f"STAGES = {stages}")
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
