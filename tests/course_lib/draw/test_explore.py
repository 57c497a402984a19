"""The two figures of course_lib/draw/explore.py: their models against what the lessons say, and their still forms."""

import base64
import html
import itertools
import re
import tomllib
from fnmatch import fnmatch
from math import ceil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from course_lib.draw import explore_chart
from course_lib.draw.explore import LIMITS, handover, pipeline, schedule
from tests.lessons.reading import by_id, cells_of, text_of
from tools.author.numbers import text_shown

LENGTHS = [(969, 1480), (3000, 1000), (1500, 768), (800, 2000), (500, 500), (5000, 100), (50, 5000)]
SVG = "{http://www.w3.org/2000/svg}"
LARGEST = 12_000  # bytes of one output in a notebook


def cycles(copy, math, stages, blocks=1, k_tiles=100):
    return schedule(copy, math, stages, blocks, k_tiles)[-1][3] + math


@pytest.mark.parametrize("copy, math", LENGTHS)
def test_one_block_takes_what_the_lessons_formulas_say(copy, math):
    assert cycles(copy, math, stages=1) == 100 * (copy + math)
    assert cycles(copy, math, stages=2) == copy + 99 * max(copy, math) + math
    for stages in 3, 4, 5, 7:  # lesson 02: max(load / (S - 1), math) for a turn of a long loop
        turn = (cycles(copy, math, stages, k_tiles=121) - cycles(copy, math, stages, k_tiles=61)) / 60
        assert turn == max(copy / (stages - 1), math)


@pytest.mark.parametrize("copy, math", LENGTHS)
def test_the_math_never_waits_from_one_slot_more_than_latency_by_math(copy, math):
    """Lesson 05's exercise: 1 + latency / math, rounded up."""

    def waits(stages):
        return cycles(copy, math, stages) > copy + 100 * math

    needed = 1 + ceil(copy / math)
    assert not waits(needed) and waits(needed - 1)


@pytest.mark.parametrize("copy, math", LENGTHS)
@pytest.mark.parametrize("blocks", [2, 3, 4])
def test_blocks_hide_each_others_copies(copy, math, blocks):
    turn = (cycles(copy, math, 1, blocks, 120) - cycles(copy, math, 1, blocks, 60)) / 60
    assert turn == max(copy + math, blocks * math)


@pytest.mark.parametrize("setting", [*itertools.product((969, 2000), (300, 1480), (1, 2, 3, 5), (1, 2, 4))])
def test_the_loop_of_the_model_breaks_no_rule(setting):
    copy, math, stages, _ = setting
    begins = {(block, k_tile): (issued, start) for block, k_tile, issued, start in schedule(*setting, 50)}
    for (block, k_tile), (issued, start) in begins.items():
        assert start >= issued + copy, "multiplied before it has landed"
        if (block, k_tile - stages) in begins:
            assert issued >= begins[block, k_tile - stages][1] + math, (
                "copied over a k-tile that is still read"
            )
    starts = sorted(start for _, start in begins.values())
    assert all(after - before >= math for before, after in itertools.pairwise(starts)), (
        "math units used twice"
    )


def test_the_text_form_says_the_result():
    assert repr(pipeline(copy=969, math=1480, stages=2)) == (
        "Model: copy 969, math 1480, 2 stages, 1 block. A k-tile every 1480: 1.65 times as fast as one stage and one "
        "block. Math 100 % of the time."
    )
    assert "1.00 times" in repr(pipeline(copy=969, math=1480)) and "Math 60 %" in repr(pipeline(969, 1480))


@pytest.mark.parametrize("wrong", [{"copy": 10}, {"math": 1e3}, {"stages": 9}, {"blocks": True}])
def test_a_wrong_length_is_named(wrong):
    (name,) = wrong
    least, most = LIMITS[name]
    with pytest.raises(ValueError, match=f"{name}=.*: it must be a whole number from {least} to {most}"):
        pipeline(**{"copy": 969, "math": 1480} | wrong)


def still_of(figure):
    """The picture that is seen without scripts."""
    (source,) = re.findall(r'<img [^>]*src="data:image/svg\+xml;base64,([^"]+)"', figure._repr_html_())
    return ElementTree.fromstring(base64.b64decode(source))


def percent(element, name):
    return float(element.get(name).removesuffix("%"))


@pytest.mark.parametrize("setting", [(969, 1480, 1, 1), (800, 2000, 2, 1), (1500, 768, 3, 2)])
def test_the_still_picture_is_the_model(setting):
    copy, math, *_ = setting
    layers = [group for group in still_of(pipeline(*setting)) if group.tag == f"{SVG}g"]
    window = 4 * (copy + math)

    def place(cycle):
        return 16 + 84 * min(cycle, window) / window

    turns = schedule(*setting, k_tiles=20)
    wanted = {
        "copies": [(issued, issued + copy) for *_, issued, _ in turns if issued < window],
        "math": [(begins, begins + math) for *_, begins in turns if begins < window],
    }
    for layer, bars in zip(layers, wanted.values(), strict=False):
        drawn = [(percent(bar, "x"), percent(bar, "x") + percent(bar, "width")) for bar in layer]
        assert drawn == [pytest.approx((place(begin), place(end)), abs=0.03) for begin, end in bars]
    idle = sum(percent(bar, "width") for bar in layers[2]) / 84 * window
    busy = sum(min(end, window) - begin for begin, end in wanted["math"])
    assert idle + busy == pytest.approx(window, rel=0.01)


@pytest.mark.parametrize(
    "figure",
    [pipeline(969, 1480), pipeline(969, 1480, 1, 2), pipeline(800, 2000, 2), handover(), handover(3, 6)],
    ids=repr,
)
def test_an_output_is_small_whole_and_always_the_same(figure):
    text = figure._repr_html_()
    assert text == figure._repr_html_() and len(text.encode()) < LARGEST
    assert html.escape(repr(figure)) in text
    assert not re.search(r"https?:(?!//www\.w3\.org/2000/svg)|import\b|fetch\(|url\((?!#)", text)
    assert "\n//" not in text and "</script" not in text.removesuffix("</script></div>")


@pytest.mark.parametrize("slots, k_tiles", [*itertools.product((1, 2, 3, 4), (1, 2, 4, 8))])
def test_the_hand_over_keeps_its_protocol(slots, k_tiles):
    steps = handover(slots, k_tiles).steps()
    read = []
    for before, step in itertools.pairwise([dict.fromkeys(steps[0], "empty"), *steps]):
        assert all(step.values())
        for slot in map(str, range(slots)):
            held, holds = before[f"slot {slot}"], step[f"slot {slot}"]
            if holds != held and holds.startswith("copy of"):
                assert held in ("empty", "has been read"), "a slot is filled that has not been read"
            if holds != held and holds == "has been read":
                assert held.startswith("k-tile")
                read.append(int(held.split()[-1]))
            assert {step[f"FULL {slot}"], step[f"EMPTY {slot}"]} <= {"0", "32", "64"}
    assert read == list(range(k_tiles - 1))  # the last one ends with the last step
    assert [step["consumer"] for step in steps].count(f"multiplies k-tile {k_tiles - 1}") == 2
    for barrier in (f"{name} {slot}" for name in ("FULL", "EMPTY") for slot in range(slots)):
        assert steps[-1][barrier] in ("0", "64"), "somebody came to a barrier and nobody else"


def test_with_two_slots_the_copy_runs_behind_the_math_and_with_one_it_does_not():
    def overlaps(slots):
        return sum(
            step["producer"].startswith("copies") and step["consumer"].startswith("multiplies")
            for step in handover(slots, 6).steps()
        )

    assert overlaps(1) == 0 and overlaps(2) >= 2


def test_the_still_form_of_the_hand_over_is_a_table_of_all_steps():
    figure = handover()
    rows = re.findall(r"<tr>.*?</tr>", figure._repr_html_())
    assert len(rows) == 1 + len(figure.steps())
    assert [len(re.findall("<t[hd]>", row)) for row in rows] == [1 + 2 * 3 + 3] * len(rows)


@pytest.mark.parametrize("wrong", [{"slots": 0}, {"slots": 5}, {"k_tiles": 9}, {"k_tiles": "4"}])
def test_a_wrong_number_of_slots_or_k_tiles_is_named(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{name}=.*: it must be a whole number from 1"):
        handover(**wrong)


def test_the_scripts_are_shipped():
    root = Path(explore_chart.__file__).parent.parent.parent
    shipped = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    for path in Path(explore_chart.__file__).parent.glob("explore*.*s"):
        assert any(fnmatch(path.name, pattern) for pattern in shipped["course_lib.draw"]), path.name


# --- what the lessons say about the figures ------------------------------------------------------------------


def gain(*setting):
    return re.search(r"(\d+\.\d\d) times", repr(pipeline(*setting)))[1]


def test_the_sliders_of_lesson_02_start_where_its_kernel_stands():
    way = by_id("02_producer_consumer")
    shown = text_shown(way["c018"])
    load, math = map(int, re.search(r"load (\d+) cycles, math (\d+) cycles", shown).groups())
    assert f"pipeline(copy={load}, math={math})" in text_of(way["drag-pipeline"])
    assert any(
        f"pipeline(copy={load}, math={math}, blocks=2)" in text_of(cell)
        for cell in cells_of("deeper/02_model")
    )
    assert gain(load, math, 2) == gain(load, math, 3) == gain(load, math, 1, 2), "nothing is left to gain"
