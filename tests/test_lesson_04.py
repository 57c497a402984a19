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


def is_right(source: str, name: str, k_tiles: int, shared_mem: int) -> bool:
    """Whether one block is exact and without a hazard, and copies every k-tile once."""
    tile, threads = LAUNCHES[name]["tile"], LAUNCHES[name]["threads"]
    gemm = Gemm(tile[0], tile[1], k_tiles * tile[2], "float16")
    random = np.random.default_rng(k_tiles)
    A, B = (random.integers(-4, 5, (size, gemm.K)).astype(np.float16) for size in (gemm.M, gemm.N))
    args = gemm.arguments(A, B)
    kernel = standin.RawKernel(source, name, options=OPTIONS)
    report = simulate(kernel, (1, 1), (threads,), args, shared_mem)
    exact = np.array_equal(args[2], (A.astype(float) @ B.astype(float).T).astype(np.float16))
    return report.ok and exact and report.counters.total.cp_async_bytes == 2 * gemm.K * (gemm.M + gemm.N)


RINGS = [(name, stages) for name in ("ring", "three_stage", "fastest") for stages in (2, 3, 4, 5)]
RINGS.remove(("fastest", 5))  # more than the shared memory of an H100


@pytest.mark.parametrize(("name", "stages"), RINGS)
def test_rings_of_every_length_keep_the_pipeline_full(name, stages):
    """For fewer and for more k-tiles than slots."""
    source, slot = lessons.kernel_source(NOTEBOOK, name), LAUNCHES[name]["shared_mem"] // 3
    assert "STAGES = 3" in source
    source = source.replace("STAGES = 3", f"STAGES = {stages}")
    assert all(is_right(source, name, k_tiles, stages * slot) for k_tiles in (1, stages, 2 * stages + 2))


def test_the_fastest_kernel_moves_on_after_each_turn():
    """`Gemm.check` tries at most 5 k-tiles, which is one turn and a half of its loop."""
    source = lessons.kernel_source(NOTEBOOK, "fastest")
    assert "from[i] += STAGES * TK;" in source
    wrong = source.replace("from[i] += STAGES * TK;", "from[i] += TK;")
    assert not is_right(wrong, "fastest", 8, LAUNCHES["fastest"]["shared_mem"])
