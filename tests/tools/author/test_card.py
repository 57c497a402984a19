"""The quick-reference card: the files are what the course says today, and what it says is right."""

import re

import numpy as np
import pytest

from course_lib import kernel_source
from ptxsim.observe.counters import bank_cycles
from tools.author import card


@pytest.fixture(scope="module")
def page():
    return card.card()


def test_the_file_is_that_of_today(page):
    """`python -m tools.author.card` writes it, with a hash of what stands where."""
    pdf = card.CARD.read_bytes()
    assert re.search(rb"/Keywords \((\w+)\)", pdf)[1].decode() == card.stamp(page)
    assert pdf.count(b"/Type /Page ") == 1 and b"CreationDate" not in pdf
    assert re.search(rb"/MediaBox \[ 0 0 595\.\d+ 841\.\d+ \]", pdf)
    assert len(pdf) < 100_000


def test_another_word_or_place_gives_another_stamp(page):
    before, text = card.stamp(page), page.texts[0]
    words, place = text.get_text(), text.get_position()
    for change, back in ((text.set_text, words), (text.set_position, place)):
        change("another" if back is words else (0.5, 0.5))
        assert card.stamp(page) != before
        change(back)
    assert card.stamp(page) == before


def test_it_has_what_it_promises(page):
    text = " ".join(card.written(page))
    for part in (
        "wait_group<STAGES - 2>();",
        "(M + TM - 1) // TM",
        "ldmatrix.x4",
        "mbarrier_expect(&s.full[slot], sizeof(Slot));",
        "mbarrier_arrive(",
        "wgmma_wait<1>();  // scores are there, values not yet softmax(scores, most, sum, factor, scale);",
        "no register spilling",
        "FLOP in a cycle: 2730 of mma.sync, 4096 of wgmma, 256 of float32",
        "26 from L2, if all SMs load",  # as lessons 05 and 07 say: 6.84 TB/s
    ):
        assert part in text, part
    assert "28.5" not in text and "321" not in text  # numbers of the model, which stand in no lesson


def test_nothing_leaves_the_page_or_its_column(page):
    across, down = (size * page.dpi for size in card.A4)
    for text in page.texts:
        box = text.get_window_extent()
        assert box.x0 > 0.02 * across and box.x1 < 0.98 * across and box.y0 > 0.02 * down, text.get_text()
        if box.x0 < card.LEFT * page.dpi + 1 and text.get_family() == ["DejaVu Sans Mono"]:
            assert box.x1 < card.RIGHT * page.dpi, text.get_text()


def test_code_is_cut_and_fitted():
    source = "a();\n    TRACE_BEGIN(x, 1); b(1, 2);  // why b is called\n\n    TRACE_END(x, 1);\n    c();\n"
    assert card.cut(source, "b(", "c()") == "b(1, 2);  // why b is called\nc();"
    assert card.fitting("    b(1, 2);      // why", 30) == "    b(1, 2);  // why"
    assert card.fitting("    b(1, 2);  // why b is called", 24) == "    // why b is called\n    b(1, 2);"
    assert card.fitting("call(one, two, three);", 16) == "call(one, two,\n        three);"
    with pytest.raises(ValueError, match="no line with 'z'"):
        card.cut(source, "z", "c()")


def test_the_turns_of_a_ring_are_those_of_the_kernel():
    """The count of the wait is the one in lesson 05's text, in every turn."""
    source = kernel_source("05_three_stage", "ring")
    assert "wait_group<STAGES - 2>()" in source and "issue(k_tile + STAGES - 1)" in source
    for stages in (2, 3, 4, 5):
        for turn, slot, k_tile, into, keep in card.turns(stages, 9):
            newest = turn + stages - 1
            assert (slot, k_tile, into, keep) == (turn % stages, newest, (turn - 1) % stages, stages - 2)


@pytest.mark.parametrize("halves", [32, 64])
def test_the_swizzle_keeps_a_chunk_out_of_its_neighbours_banks(halves):
    places = card.swizzle(halves)
    assert (np.sort(places) == np.arange(halves // 8)).all()  # a row's chunks stay in it
    for chunk in range(halves // 8):
        offsets = np.arange(8) * halves * 2 + places[:, chunk] * 16
        assert bank_cycles(offsets[None], 16, 8) == [1]


def test_what_ldmatrix_brings_is_what_mma_wants():
    """Register r of lane 0 comes from rows and columns of the fragment's register r."""
    a, b = card.named(card.ldmatrix())
    lanes, registers = card.held("A")
    for register, (first, chunk) in enumerate(re.findall(r"rows (\d+)-\d+, chunk (\d)", a)):
        at = int(first), int(chunk) * 4
        assert (lanes[at], registers[at]) == (0, register)
    lanes, registers = card.held("B")
    found = re.findall(r"rows (\d+)-\d+, chunk (\d)", b)
    for register, (first, chunk) in enumerate(found):  # two fragments of B, 8 columns of C each
        assert int(first) == register // 2 * 8
        assert (lanes[0, int(chunk) * 4], registers[0, int(chunk) * 4]) == (0, register % 2)
