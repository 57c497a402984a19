"""What lesson 07 says in its text, held against what it speaks of."""

import json
import re

import pytest

from course_lib import Gemm
from course_lib.lessons import sources
from course_lib.measure.records import course_headers

TEXTS = [
    "".join(cell["source"])
    for cell in json.loads((sources.NOTEBOOKS / "07_hopper.ipynb").read_text(encoding="utf-8"))["cells"]
    if cell["cell_type"] == "markdown"
]
FUNCTION = re.compile(r"^__device__ __forceinline__ \w+ \w+\(.*?(?:\}$|^\})", re.MULTILINE | re.DOTALL)
HEADERS = "".join(
    f"#include <course/{name}.cuh>\n"
    for name in ("cluster", "stmatrix", "tile_order", "wgmma", "wgmma_store")
)


def test_functions_shown_in_the_text_stand_in_the_headers():
    shown = [found for text in TEXTS if "<details>" not in text for found in FUNCTION.findall(text)]
    headers = "\n".join(course_headers(HEADERS).values())
    assert shown and [function for function in shown if function not in headers] == []


@pytest.mark.parametrize(
    ("notebook", "name", "blocks", "said"),
    [("05_fastest", "fastest", 1, 2200), ("07_hopper", "complete", 2, 570)],
)
def test_instructions_of_a_k_tile_are_those_of_the_table(notebook, name, blocks, said, capsys):
    assert any(f"| about {said} |" in text for text in TEXTS)
    kernel, launch = sources.lesson_kernel(notebook, name)
    gemm = Gemm(512, 512, 512, "float16")
    more, less = (
        gemm.one_block(kernel, launch, k_tiles=k_tiles).counters.total.instructions for k_tiles in (9, 6)
    )
    assert (more - less) / 3 / blocks == pytest.approx(said, rel=0.05)
