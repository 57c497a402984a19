"""What lessons 00 to 02 say in words agrees with what their cells show, and does not come before its prediction."""

import itertools
import json
import re

import numpy as np
import pytest

from course_lib import Gemm, benchmark, lesson_kernel, timeline
from course_lib.lessons import sources
from ptxsim.observe.counters import shared_wavefronts

START, MAINLOOP, PRODUCER = "00_start_here", "01_mainloop", "02_producer_consumer"
LARGE = 10
"""From here on a number with a fraction has three digits, and two such numbers that nearly agree mean the same."""
NUMBER = r"(?<![\w.])\d+\.\d+(?![\w.]*\d)"


def cells(notebook: str) -> list[dict]:
    return json.loads((sources.NOTEBOOKS / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]


def words(some: list[dict]) -> str:
    return "\n\n".join("".join(cell["source"]) for cell in some if cell["cell_type"] == "markdown")


def printed(cell: dict) -> str:
    outputs = cell.get("outputs", ())
    return "\n".join("".join(out.get("text") or out["data"].get("text/plain", "")) for out in outputs)


@pytest.mark.parametrize("notebook", [START, MAINLOOP, PRODUCER])
def test_a_number_in_words_is_not_one_off_what_is_printed(notebook):
    shown = set(re.findall(NUMBER, "\n".join(map(printed, cells(notebook)))))
    for number in set(re.findall(NUMBER, words(cells(notebook)))) - shown:
        digits = len(number.partition(".")[2])
        near = {f"{float(number) + step * 10.0**-digits:.{digits}f}" for step in (-1, 1)}
        assert float(number) < LARGE or not near & shown, f"{number} beside {near & shown}"


@pytest.mark.parametrize(
    ("notebook", "prediction", "answer"),
    [
        (START, "my_right_numbers", "leaves the numbers right"),
        (MAINLOOP, "my_16_bytes", "cannot become much faster|no copy could gain"),
        (MAINLOOP, "my_last", "90 ?%|at 90|0.9 of"),
        (PRODUCER, "my_early", "gains (almost )?nothing|One of them fails"),
        (PRODUCER, "my_best", "fastest kernel|wins|the fastest"),
        (PRODUCER, "my_gain_two_blocks", "12 ?%|time almost exactly"),
    ],
)
def test_the_answer_does_not_come_before_the_prediction(notebook, prediction, answer):
    found = cells(notebook)
    (at,) = (
        number for number, cell in enumerate(found) if f"\n{prediction} =" in "\n" + "".join(cell["source"])
    )
    assert not re.search(answer, words(found[:at]))


def test_the_depths_that_a_learner_predicts_stand_only_in_the_optional_part():
    """16 or 32: lesson 02 asks whether a deep k-tile and an overlap pay."""
    text = words(cells(PRODUCER))
    assert "16 pays" not in text[: text.index("Predict: how many FMAs of a k-tile")]


def test_what_lesson_00_says_of_the_model_is_in_its_table():
    """ptxsim/README.md has the times of the lessons' kernels, measured and modelled."""
    table = (sources.NOTEBOOKS.parent / "ptxsim/README.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (0\d) \| (\w+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| \d \|$", table, re.MULTILINE
    )
    ratios = {name: float(ratio) for _, name, _, _, ratio in rows}
    outside = {name for name, ratio in ratios.items() if not 0.76 <= ratio <= 1.35}
    pairs = [
        (float(slow[2]) / float(fast[2]), float(fast[3]) / float(slow[3]))
        for slow, fast in itertools.permutations(rows, 2)
        if slow[0] == fast[0] and float(slow[2]) > 1.05 * float(fast[2])
    ]
    wrong = [(measured, modelled) for measured, modelled in pairs if modelled >= 1]
    h100, model = (round(100 * max(gaps) - 100) for gaps in zip(*wrong, strict=True))
    said = words(cells(START))
    assert outside == {"naive"} and 2.9 < ratios["naive"] < 3.1 and len(wrong) == 5
    assert f"for {len(rows) - 1} of the {len(rows)} kernels" in said
    assert f"gaps of up to {model} % in the model and {h100} % on the H100" in said


def test_what_lesson_00_says_of_the_two_timelines():
    gemm, (kernel, launch) = Gemm(4096, 4096, 4096), lesson_kernel(MAINLOOP, "mainloop")
    median = {}
    for model in False, True:
        shown = timeline(kernel, gemm, launch, model=model).events
        for warp in 0, 2, 4, 6:
            took = [each.end - each.begin for each in shown if (each.warp, each.phase) == (warp, "math")]
            median[model, warp] = round(float(np.median(took)), -2)
    assert {median[True, warp] for warp in (0, 2)} == {4100} and {median[True, warp] for warp in (4, 6)} == {
        8200
    }
    assert all(7100 <= median[False, warp] <= 7400 for warp in (0, 2, 4, 6))
    said = "4,100 cycles in warps 0 and 2 of the model and 8,200 in warps 4 and 6, and 7,100 to 7,400 in all four"
    assert said in words(cells(START))


def test_a_load_of_16_bytes_takes_the_wavefronts_that_lesson_01_explains():
    own, shared = 16 * np.arange(32), 16 * (np.arange(32) // 2)
    used = [int(shared_wavefronts(lanes[None], 16, load=True)[0][0]) for lanes in (own, shared)]
    assert used == [4, 2]
    text = words(cells(MAINLOOP))
    assert "eight lanes at a time, 128 bytes: four wavefronts" in text
    assert "sixteen lanes at a time, which again want at most 128 different bytes: two wavefronts" in text


def turn(notebook: str, name: str, **launch: int) -> float:
    """Cycles from one k-tile's math to the next in the recorded timeline."""
    kernel, own = lesson_kernel(notebook, name)
    shown = timeline(kernel, Gemm(4096, 4096, 4096), own.but(**launch)).events
    begins = sorted((each.warp, each.begin) for each in shown if each.phase == "math")
    steps = [later - first for (one, first), (two, later) in itertools.pairwise(begins) if one == two]
    return float(np.median(steps))


def test_the_traced_turns_are_as_long_as_the_words_say():
    """The trace writes down its times, and that makes a turn longer: the words say so beside the picture."""
    kernel, launch = lesson_kernel(PRODUCER, "specialised")
    alone = {"alone": (kernel, launch.but(shared_mem=116 * 1024))}
    us = benchmark(Gemm(4096, 4096, 4096), alone).rows[0].median_us
    untraced = us * 1980 / (8 * 512)  # cycles at 1.98 GHz; 8 rounds of blocks, 512 k-tiles
    assert turn(PRODUCER, "specialised") / untraced == pytest.approx(1.5, abs=0.05)
    assert "half as long again as it is without" in words(cells(PRODUCER))
    told = next(cell for cell in cells(MAINLOOP) if "cycles at 1.98 GHz" in "".join(cell["source"]))
    whole = re.search(r"(\d+) cycles at", printed(told))[1]
    math = re.search(r"One block of `vector_copy`.*?math ([\d,]+)", words_and_outputs(MAINLOOP), re.DOTALL)[1]
    assert f"its math alone takes {math} cycles" in words(cells(MAINLOOP))
    assert f"a whole turn of the untraced kernel takes {int(whole):,}" in words(cells(MAINLOOP))


def words_and_outputs(notebook: str) -> str:
    return "\n".join("".join(cell["source"]) + "\n" + printed(cell) for cell in cells(notebook))


@pytest.mark.parametrize("notebook", [START, MAINLOOP, PRODUCER])
def test_a_word_is_explained_before_it_is_used(notebook):
    """Where a cell first shows it, words up to there say what it is."""
    explained = {
        "counters.at(": r"`counters\.at` takes a part",
        "wavefronts of a store": r"a \*wavefront\* is",
        "10-90 %": r"eight of ten lie in \*10-90 %\*",
        "FLOP/clk/SM": r"\*FLOP/clk/SM\* is what one SM does",
    }
    first = {
        START: ["counters.at("],
        MAINLOOP: ["wavefronts of a store", "10-90 %", "FLOP/clk/SM"],
        PRODUCER: [],
    }
    found = cells(notebook)
    for word in first[notebook]:
        at = next(n for n, cell in enumerate(found) if cell["cell_type"] == "code"
                  and word in "".join(cell["source"]) + printed(cell))  # fmt: skip
        assert re.search(explained[word], words(found[:at])), word


def test_lesson_00_says_how_to_stop_a_loop():
    (told,) = (text for cell in cells(START) if "*Stop*" in (text := "".join(cell["source"])))
    assert "Exercise 00.2" in told and "*Interrupt*" in told
    assert not re.search(r"\d+ (seconds|steps)|second", told)


@pytest.mark.parametrize("path", sources.notebooks(sources.NOTEBOOKS)[:3], ids=lambda path: path.stem)
def test_links_lead_to_pages_that_are_kept(path):
    """NVIDIA has frozen the old programming guide, and archives versions under their number."""
    links = re.findall(r"\]\((https?://[^)]*)\)", words(cells(path.stem)))
    assert links and not [
        link for link in links if re.search(r"cuda-c-programming-guide|/archive/|/\d+\.\d+", link)
    ]


def test_what_lesson_01_says_of_bytes_in_a_second_follows_from_its_roofline():
    (chart,) = (text for cell in cells(MAINLOOP) if (text := printed(cell)).startswith("Roofline in TFLOP/s"))
    at = {name: (float(tflops), int(flop)) for name, tflops, flop in
          re.findall(r"([\w -]+x?\d*) ([\d.]+) at (\d+) FLOP/byte", chart)}  # fmt: skip
    for name in "registers 4x4", "k-tile 32":
        tflops, flop = next(numbers for label, numbers in at.items() if label.strip().endswith(name))
        assert f"{tflops} / {flop} = {tflops / flop:.1f}" in words(cells(MAINLOOP))
