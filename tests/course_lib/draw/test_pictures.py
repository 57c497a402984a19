"""Pictures of banks and fragments: what they say in words, and the numbers that they show."""

import re

import numpy as np
import pytest

import ptxsim
from course_lib import OPTIONS
from course_lib.draw import pictures
from cupy_or_sim import style
from ptxsim.instructions.tensor import fragment

LANE = np.arange(32)


def cells(figure):
    """The texts of the cells of a figure, by (x, y)."""
    (axes,) = figure.axes
    return {
        (int(text.get_position()[0]), int(text.get_position()[1])): text.get_text()
        for text in axes.texts
        if text.get_ha() == "center"
    }


@pytest.mark.parametrize(
    ("offsets", "size", "words"),
    [
        (4 * LANE, 4, "4 bytes a lane: 1 wavefront, ideal 1. Lanes 0 to 31: bank 0 delivers 1 word."),
        (128 * LANE, 4, "4 bytes a lane: 32 wavefronts, ideal 1. Lanes 0 to 31: bank 0 delivers 32 words."),
        (132 * LANE, 4, "4 bytes a lane: 1 wavefront, ideal 1."),  # rows padded by one float
        (0 * LANE, 4, "4 bytes a lane: 1 wavefront, ideal 1."),  # all want the same word
        (8 + 8 * LANE, 4, "2 wavefronts, ideal 1. Lanes 0 to 31: bank 0 delivers 2 words."),
        (
            16 * LANE,
            16,
            "16 bytes a lane: 4 wavefronts, ideal 4. Lanes 0 to 7: bank 0 delivers 1 word; lanes 8",
        ),
        (
            32 * LANE,
            16,
            "16 bytes a lane: 8 wavefronts, ideal 4. Lanes 0 to 7: bank 0 delivers 2 words; lanes",
        ),
        (64 * LANE[:8], 16, "4 wavefronts, ideal 1. Lanes 0 to 7: bank 0 delivers 4 words."),  # ldmatrix.x1
    ],
)
def test_a_bank_picture_says_what_the_access_costs(offsets, size, words):
    figure, alt = pictures.bank_figure(offsets, size)
    assert alt.startswith("One warp's access, lane by bank. Shared memory, ")
    assert words in alt
    (axes,) = figure.axes
    assert axes.get_title(loc="left") in alt


def test_each_word_of_a_bank_has_a_number_and_conflicts_a_hatch():
    figure, _ = pictures.bank_figure(8 * LANE, 4)
    assert cells(figure) == {(2 * i % 32, i): "1" if i < 16 else "2" for i in range(32)}
    hatches = {patch.get_xy(): patch.get_hatch() for patch in figure.axes[0].patches}
    assert all(bool(hatches[2 * i % 32, i]) == (i >= 16) for i in range(32))


def test_wide_accesses_are_drawn_in_phases():
    figure, _ = pictures.bank_figure(32 * LANE, 16)
    shown = cells(figure)
    assert len(shown) == 4 * 32
    assert [shown[0, lane] for lane in range(0, 32, 4)] == ["1", "2"] * 4
    labels = [text.get_text() for text in figure.axes[0].texts if text.get_ha() != "center"]
    assert labels == ["bank 0:\n2 words"] * 4


def test_lanes_that_take_no_part_are_left_out():
    figure, alt = pictures.bank_figure([0, -1, 8, -1], 4)
    assert cells(figure) == {(0, 0): "1", (2, 2): "1"}
    assert "1 wavefront, ideal 1" in alt


@pytest.mark.parametrize(
    ("offsets", "size", "words"),
    [
        (range(33), 1, "1 to 32 lanes"),
        ([], 4, "1 to 32 lanes"),
        ([-1, -1], 4, "1 to 32 lanes"),
        ([0, 4], 3, "1, 2, 4, 8 or 16 bytes"),
        ([0, 6], 4, "at a multiple of them"),
    ],
)
def test_wrong_accesses_are_refused(offsets, size, words):
    with pytest.raises(ValueError, match=words):
        pictures.bank_figure(offsets, size)


@pytest.mark.parametrize("k", [8, 16])
@pytest.mark.parametrize("operand", "ABC")
def test_a_fragment_shows_each_element_once(operand, k):
    figure, alt = pictures.fragment_figure(operand, k)
    rows, columns = fragment(operand, k)
    if operand == "B":  # as it lies in memory: a row of B is a column of C
        rows, columns = columns, rows
    shape = {"A": (16, k), "B": (8, k), "C": (16, 8)}[operand]
    shown = cells(figure)
    assert len(shown) == shape[0] * shape[1]
    for (lane, element), row in np.ndenumerate(rows):
        assert shown[columns[lane, element], row] == f"{lane}: {operand.lower()}{element}"
    assert f"Who holds what of {operand} ({shape[0]} x {shape[1]}) of mma.m16n8k{k}." in alt


def test_the_words_name_registers_and_the_elements_of_lane_0():
    alt = pictures.fragment_figure("A")[1]
    assert "Each lane has 4 registers: a0 a1, a2 a3, a4 a5, a6 a7." in alt
    assert "Lane 0 holds a0 at (0, 0), a1 at (0, 1), a2 at (8, 0), a3 at (8, 1), a4 at (0, 8)," in alt
    assert "Each lane has 4 registers: c0, c1, c2, c3." in pictures.fragment_figure("C")[1]


@pytest.mark.parametrize(("operand", "k"), [("D", 16), ("A", 4)])
def test_wrong_fragments_are_refused(operand, k):
    with pytest.raises(ValueError, match=f"got '{operand}', k = {k}"):
        pictures.fragment_picture(operand, k)


def test_an_ldmatrix_goes_from_the_lane_that_names_a_row_to_the_lanes_that_receive_it():
    figure, alt = pictures.ldmatrix_figure(48 * (LANE % 16) + 16 * (LANE // 16) + 96, 48, first=96)
    shown = cells(figure)
    assert len(shown) == 32 and max(y for _, y in shown) == 15 and max(x for x, _ in shown) == 1
    assert shown[0, 9] == "lane 9 → r1 of lanes 4-7"
    assert shown[1, 0] == "lane 16 → r2 of lanes 0-3"
    assert alt.startswith(
        "An ldmatrix.x4 in rows of 48 bytes: lanes 0 to 7 name, for register 0, row 0 chunk 0, row 1"
    )


def test_rows_that_several_lanes_name_are_marked():
    figure, _ = pictures.ldmatrix_figure(32 * (LANE % 8) + 16 * (LANE // 16), 32)
    assert cells(figure)[0, 3] == "lane 3, 11 → r0 of lanes 12-15 and r1 of lanes 12-15"
    assert sum(bool(patch.get_hatch()) for patch in figure.axes[0].patches) == 16
    figure, _ = pictures.ldmatrix_figure(0 * LANE, 32)
    assert cells(figure) == {(0, 0): "32 lanes"}


@pytest.mark.parametrize(("row_bytes", "first"), [(40, 0), (32, 16)])
def test_an_ldmatrix_outside_of_its_tile_is_refused(row_bytes, first):
    with pytest.raises(ValueError, match=f"rows of {row_bytes} bytes from byte {first} on"):
        pictures.ldmatrix_figure(16 * LANE, row_bytes, first)


def test_outside_a_notebook_the_words_are_printed(capsys):
    pictures.bank_picture(128 * LANE, 4)
    pictures.fragment_picture("B", 8)
    lines = capsys.readouterr().out.splitlines()
    assert [re.match(r"One warp's|Who holds", line) is not None for line in lines] == [True, True]


def test_a_picture_is_small_enough_for_a_notebook():
    assert len(style.png(pictures.fragment_figure("A")[0])) < 60_000


STRIDED = r"""
#include <cuda_fp16.h>
extern "C" __global__ void strided(const float* in, float* out)
{
    __shared__ float tile[32][32];
    int t = threadIdx.x;
    for (int i = 0; i < 3; ++i) tile[t % 32][t / 32 + 2 * i] = in[t];
    __syncthreads();
    if (t % 2 == 1) out[t] = tile[t / 32][t % 32];
    if (t < 8) out[t] = tile[0][t] + *(float*)&tile[0][2 * t];
}
"""


@pytest.fixture(scope="module")
def counters():
    args = [np.zeros(64, np.float32), np.zeros(64, np.float32)]
    return ptxsim.launch(ptxsim.compile(STRIDED, "strided", OPTIONS), (1,), (64,), args).counters


def test_the_counters_know_what_a_line_accessed(counters):
    pattern = counters.pattern(7)  # three stores that differ in their column
    assert pattern == (tuple(128 * LANE), 4)
    assert len(counters.patterns[7]) == 3
    assert counters.pattern(7, 2).offsets[:2] == (16, 144)
    assert "32 wavefronts, ideal 1" in pictures.bank_figure(*pattern)[1]


def test_the_pattern_of_a_branch_leaves_lanes_out(counters):
    offsets, size = counters.pattern(9)
    assert offsets == tuple(4 * t if t % 2 else -1 for t in range(32))
    assert size == 4
    both = {counters.pattern(10, which).offsets[:4] for which in (0, 1)}  # in the compiler's order
    assert both == {(0, 4, 8, 12), (0, 8, 16, 24)}
    assert counters.pattern(10).offsets[8:] == (-1,) * 24


def test_lines_without_an_access_say_which_have_one(counters):
    with pytest.raises(ValueError, match="line 8 does not access shared memory; lines that do: 7, 9, 10"):
        counters.pattern(8)
    with pytest.raises(ValueError, match=r"line 7 has 3 patterns of access, 0 to 2; not 3"):
        counters.pattern(7, 3)


@pytest.mark.parametrize(
    ("offsets", "size", "words"),
    [
        (4 * LANE, 4, "4 bytes a lane: 4 sectors, ideal 4. 128 of the 128 bytes that move are asked for."),
        (
            256 * LANE,
            4,
            "32 sectors, ideal 4. 128 of the 1024 bytes that move are asked for. The first lanes are at",
        ),
        (4 + 4 * LANE, 4, "5 sectors, ideal 4. 128 of the 160 bytes"),
        (0 * LANE, 4, "1 sector, ideal 1. 4 of the 32 bytes"),
        (16 * LANE[:8], 16, "16 bytes a lane: 4 sectors, ideal 4. 128 of the 128 bytes"),
    ],
)
def test_a_sector_picture_says_what_the_access_moves(offsets, size, words):
    figure, alt = pictures.sector_figure(offsets, size)
    assert alt.startswith("One warp's access, sector by sector. Global memory, ")
    assert words in alt
    (axes,) = figure.axes
    assert axes.get_title(loc="left").partition("\n")[0] in alt


def test_a_sector_picture_has_a_box_for_each_word_and_a_hatch_where_nobody_asks():
    figure, _ = pictures.sector_figure(16 * LANE, 4)  # lane n asks for word 4 n
    numbers = [text.get_text() for text in figure.axes[0].texts if text.get_ha() == "center"]
    assert numbers == [str(lane) for lane in LANE]
    hatches = [patch.get_hatch() for patch in figure.axes[0].patches]
    assert len(hatches) == 16 * 8 and sum(map(bool, hatches)) == 16 * 6


COPY = r"""
extern "C" __global__ void copy(const float* x, float* y)
{
    y[threadIdx.x] = x[16 * threadIdx.x];
}
"""


def test_a_pattern_of_global_memory_is_that_of_the_first_warp():
    kernel = ptxsim.compile(COPY, "copy", OPTIONS)
    args = [np.zeros(1024, np.float32), np.zeros(64, np.float32)]
    counters = ptxsim.launch(kernel, (1,), (64,), args).counters
    read, written = counters.pattern("= x[", memory="global"), counters.pattern("= x[", 1, "global")
    assert read.size == 4 and read.offsets == tuple(64 * LANE)
    assert written.offsets == tuple(4 * LANE)
    with pytest.raises(ValueError, match="does not access shared memory; lines that do: none"):
        counters.pattern("= x[")
