"""The headers of the tensor-core lessons hold what lesson 04 writes out."""

import re

import numpy as np
import pytest

from course_lib import OPTIONS, simulate
from course_lib.lessons import sources
from cupy_or_sim import cupy_on_numpy
from cupy_or_sim.keys import canonical, course_headers
from tests.lessons.lesson_04 import NOTEBOOK

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
    source = sources.kernel_source(NOTEBOOK, kernel)
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
        for line in sources.kernel_source(NOTEBOOK, "warp_tile").splitlines()
    }
    header = text_of("mma_tile.cuh")
    for name in "load_fragments", "multiply":
        body = header[header.index(name + "(") :].partition("{\n")[2].partition("\n}")[0]
        inner = [re.sub(r"\s+", " ", line.strip()) for line in body.splitlines()]
        assert [line for line in inner if line not in lines and not line.startswith("int lane")] == []


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
    assert simulate(cupy_on_numpy.RawKernel(source, "order", options=OPTIONS), (6, 3), (1,), (tiles,)).ok
    groups = [(range(0, 4), 3), (range(4, 6), 3)]
    assert tiles.tolist() == [[x, y] for rows, columns in groups for y in range(columns) for x in rows]
