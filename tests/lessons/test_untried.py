"""Which numbers of k-tiles a kernel treats apart, by the constants that it compares them with."""

import pytest

from course_lib.notebooks.answers.untried import MOST, untried
from tests.lessons import kernel
from tests.lessons.test_lesson_kernels import EXERCISES, solved

LOOP = r"""
extern "C" __global__ void loop(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float As[16];
    int k_tiles = K / 16;
    float sum = 0;
    BEFORE
    for (int k_tile = 0; k_tile < k_tiles AND; ++k_tile) {
        if (threadIdx.x < 16) As[threadIdx.x] = A[k_tile * 16 + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += As[k] * B[threadIdx.x];
        __syncthreads();
        INSIDE
    }
    C[threadIdx.x] = sum;
}
"""


def found_in(before="", more="", inside=""):
    source = LOOP.replace("BEFORE", before).replace("AND", more).replace("INSIDE", inside)
    return untried(kernel(source, "loop"), 16, (1, 2, 3, 5, 8, 17))


@pytest.mark.parametrize(
    ("parts", "first"),
    [
        ({"before": "if (k_tiles > 64) return;"}, 65),
        ({"before": "if (K >= 512) return;"}, 32),
        ({"before": "if (k_tiles == 20) return;"}, 20),
        ({"before": "k_tiles = min(k_tiles, 40);"}, 41),
        ({"before": "k_tiles = min(K, 640) / 16;"}, 41),
        ({"more": "&& k_tile < 24"}, 25),
        ({"inside": "if (k_tile == 18) break;"}, 20),
        ({"before": "if (k_tiles == 11) return;"}, 11),
        ({"inside": "if (k_tile * 16 >= 320) return;"}, 21),
    ],
    ids=lambda value: " ".join(value.values()) if isinstance(value, dict) else "",
)
def test_a_constant_that_ends_a_loop_is_tried(parts, first):
    assert first in found_in(**parts)


def test_what_is_compared_with_no_number_of_k_tiles_is_not_tried():
    assert found_in() == []
    assert found_in(before="if (threadIdx.x >= 64) return;") == []
    assert found_in(before=f"if (k_tiles > {MOST + 1}) return;") == []  # would take seconds
    assert found_in(before="if (k_tiles > 12) sum = 1;") == []  # 17 are tried anyway


GEMMS = [name for name in EXERCISES if name[:2] in ("01", "02", "03", "04", "05", "06", "07", "08")]


@pytest.mark.parametrize("name", GEMMS)
def test_a_solution_costs_no_launch_more(name):
    answer = solved(name)
    answer = answer[0] if isinstance(answer, tuple) else answer
    if "____" not in getattr(answer, "code", "____") and "ARRIVALS" not in answer.code:
        assert untried(answer, 16, (1, 2, 3, 4, 5, 8)) == []
