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
HEADERS = "".join(
    f"#include <course/{name}.cuh>\n"
    for name in ("cluster", "stmatrix", "tile_order", "wgmma", "wgmma_store")
)


def test_functions_shown_in_the_text_stand_in_the_headers():
    shown = FUNCTION.findall(TEXT)
    headers = "\n".join(course_headers(HEADERS).values())
    assert len(shown) >= 7 and [function for function in shown if function not in headers] == []


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
