"""What lessons 07 and 08 and what goes deeper there say in their text, held against what they speak of."""

import re

import pytest

from course_lib import Gemm
from course_lib.lessons import sources
from cupy_or_sim.keys import course_headers
from tests.lessons.reading import prose

NOTEBOOKS = [path for path in sources.with_kernels(sources.NOTEBOOKS) if path.stem.startswith(("07", "08"))]
TEXT = "\n\n".join(prose(path, but="solution") for path in NOTEBOOKS)
FUNCTION = re.compile(r"^__device__ __forceinline__ \w+ \w+\(.*?(?:\}$|^\})", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `(\w+)[(<][^`]*` \| (.*) \|$", re.MULTILINE)
HEADERS = "".join(
    f"#include <course/{name}.cuh>\n"
    for name in ("cluster", "stmatrix", "tile_order", "wgmma", "wgmma_store")
)


def test_functions_shown_in_the_text_stand_in_the_headers():
    shown = FUNCTION.findall(TEXT)
    headers = "\n".join(course_headers(HEADERS).values())
    assert shown and [function for function in shown if function not in headers] == []


def in_tables(text: str) -> dict[str, list[str]]:
    """{a function of the headers: what a table says that it is in PTX}"""
    return {name: re.findall(r"`([^`]+)`", says) for name, says in ROW.findall(text)}


def test_a_function_of_a_table_has_the_ptx_that_stands_beside_it():
    of_functions = {
        name: text for text in course_headers(HEADERS).values() for name, text in functions_in(text)
    }
    tables = in_tables(TEXT)
    assert len(tables) >= 11
    wrong = {name: ptx for name, says in tables.items() for ptx in says if ptx not in of_functions[name]}
    assert wrong == {}


def functions_in(header: str) -> list[tuple[str, str]]:
    """(name, text) of each device function of a header."""
    parts = re.split(r"^(?=(?:template .*\n)?__device__ )", header, flags=re.MULTILINE)
    return [(found[1], part) for part in parts if (found := re.search(r"__device__ [^(]*?(\w+)\(", part))]


def test_a_wrong_row_of_such_a_table_is_found():
    text = "".join(course_headers("#include <course/tma.cuh>").values())
    waits = dict(functions_in(text))["wait_stores"]
    row = "| `wait_stores()` | `cp.async.bulk.wait_group.read 0` |\n"
    assert in_tables(row) == {"wait_stores": ["cp.async.bulk.wait_group.read 0"]}
    assert "cp.async.bulk.wait_group.read 0" not in waits and "cp.async.bulk.wait_group 0" in waits


@pytest.mark.parametrize(
    ("notebook", "name", "blocks", "said"),
    [("05_fastest", "fastest", 1, 2200), ("08_never_a_pause", "complete", 2, 570)],
)
def test_instructions_of_a_k_tile_are_those_of_the_table(notebook, name, blocks, said, capsys):
    assert f"| about {said} |" in TEXT
    kernel, launch = sources.lesson_kernel(notebook, name)
    gemm = Gemm(512, 512, 512, "float16")
    more, less = (
        gemm.one_block(kernel, launch, k_tiles=k_tiles).counters.total.instructions for k_tiles in (9, 6)
    )
    assert (more - less) / 3 / blocks == pytest.approx(said, rel=0.05)
