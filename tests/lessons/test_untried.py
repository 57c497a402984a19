"""Which numbers of k-tiles a kernel treats apart, by the constants that it compares them with."""

import pytest

from course_lib.notebooks.answers.untried import MOST_K_TILES, M, N, Untried, untried, untried_constants
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
        ({"before": "int turns = 0;", "inside": "if (++turns == 30) return;"}, 30),
        ({"inside": "if (k_tile >> 5) return;"}, 33),
        ({"inside": "if (k_tile & 64) return;"}, 65),
        ({"before": "int left = 30;", "more": "&& left-- > 0"}, 30),
    ],
    ids=lambda value: " ".join(value.values()) if isinstance(value, dict) else "",
)
def test_a_constant_that_ends_a_loop_is_tried(parts, first):
    found = found_in(**parts)
    assert first in found if "==" in "".join(parts.values()) else max(found, default=0) >= first


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("if (STAGES == 4 || STAGES > 5) return;", [4, 6]),
        ("if (6<=STAGES) return;", [6, 7]),
        ("constexpr int STAGES = 3; wait_group<STAGES - 2>(); i < STAGES; i % STAGES", []),
        ("if (STAGES > 64) return;", []),
    ],
)
def test_numbers_of_slots_that_a_text_compares_are_tried(text, slots):
    assert untried_constants(text, "STAGES", (2, 3, 5)) == slots


def test_what_is_compared_with_no_number_of_k_tiles_is_not_tried():
    assert found_in() == []
    assert found_in(before="if (threadIdx.x >= 64) return;") == []
    assert found_in(before=f"if (k_tiles > {MOST_K_TILES + 1}) return;") == []  # would take seconds
    assert found_in(before="if (k_tiles > 12) sum = 1;") == []  # 17 are tried anyway


GRID = r"""
extern "C" __global__ void grid(const float* A, const float* B, float* C, int M, int N, int K)
{
    int m = blockIdx.x * 64 + threadIdx.x, n = blockIdx.y * 32, place = blockIdx.x + blockIdx.y * gridDim.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (APART) return;
    if (m < M) C[m + n * M] = A[m] * B[n] + place + i;
}
"""
ALONG = {"x": {M: 1 / 64, "%ctaid.x": 1.0}, "y": {N: 1 / 32, "%ctaid.y": 1.0}}


def blocks_in(apart, axis):
    return Untried(kernel(GRID.replace("APART", apart), "grid"), threads=256).blocks(ALONG[axis], 3)


@pytest.mark.parametrize(
    ("apart", "axis", "blocks"),
    [
        ("blockIdx.x > 8", "x", 9),
        ("blockIdx.y >= 9", "y", 10),
        ("blockIdx.x == 20", "x", 21),
        ("m >= 640", "x", 11),
        ("n / 32 > 12", "y", 14),
        ("place > 40", "x", 42),
        ("place > 40", "y", 42),
        ("i >= 4096", "x", 17),
        ("M > 640", "x", 11),
        ("N == 640", "y", 20),
        ("blockIdx.x + 1 > 9", "x", 10),
    ],
)
def test_a_constant_that_a_block_is_compared_with_is_passed(apart, axis, blocks):
    found = blocks_in(apart, axis)
    assert found and max(found) >= blocks
    assert blocks in found or "==" not in apart or "N" not in apart


def test_what_is_compared_with_no_place_of_a_block_costs_no_launch():
    for apart in ("threadIdx.x > 64", "K > 4096", "blockIdx.z > 8", "blockIdx.x > 100", "blockIdx.x == 1"):
        assert blocks_in(apart, "x") == blocks_in(apart, "y") == []
    assert blocks_in("blockIdx.x > 8", "y") == blocks_in("blockIdx.y > 8", "x") == []


STAYS = r"""
extern "C" __global__ void stays(const float* A, const float* B, float* C, int M, int N, int K)
{
    int tiles_n = N / 32, tiles = M / 64 * tiles_n, made = 0;
    float sum = 0;
    for (int number = blockIdx.x; number < tiles AND; number += gridDim.x, ++made) {
        #pragma unroll 1
        for (int box = 0; box < 40; ++box) sum += A[box * M + number];
        C[number / tiles_n * 64 + number % tiles_n * 32 * M + threadIdx.x] = sum + made;
    }
}
"""
TILES = {M: 1 / 64, N: 1 / 32, "%ctaid.x": 1.0}


@pytest.mark.parametrize(
    ("more", "tiles"),
    [
        ("&& made < 5", 6),
        ("&& number < 8", 9),
        ("&& made != 12", 13),
        ("&& made < min(tiles, 20)", 21),
        ("", 0),
    ],
)
def test_so_many_tiles_of_a_block_that_stays_are_tried(more, tiles):
    found = Untried(kernel(STAYS.replace("AND", more), "stays")).blocks(TILES, 2)
    assert (max(found) >= tiles) if tiles else found == []


GEMMS = [name for name in EXERCISES if name[:2] in ("01", "02", "03", "04", "05", "06", "07", "08")]


@pytest.mark.parametrize("name", GEMMS)
def test_a_solution_costs_no_long_launch_more(name):
    answer = solved(name)
    answer = answer[0] if isinstance(answer, tuple) else answer
    if "____" not in getattr(answer, "code", "____") and "ARRIVALS" not in answer.code:
        assert set(untried(answer, 16, (1, 2, 3, 4, 5, 8))) <= {13}
        for axis, size in ("x", M), ("y", N):
            blocks = Untried(answer, threads=128).blocks({size: 1 / 64, f"%ctaid.{axis}": 1.0}, 3)
            assert blocks == [] or "int M, int N, int K" not in answer.code
