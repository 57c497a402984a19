"""What lessons 01 and 02 say in words agrees with what their cells show, and does not come before its prediction."""

import json
import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from course_lib import Gemm, lesson_kernel, timeline, waves
from course_lib.lessons import sources
from course_lib.measure.timeline import Timeline
from ptxsim.observe.counters import shared_wavefronts

MAINLOOP, PRODUCER = "01_mainloop", "02_producer_consumer"
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


@pytest.mark.parametrize("notebook", [MAINLOOP, PRODUCER])
def test_a_number_in_words_is_not_one_off_what_is_printed(notebook):
    shown = set(re.findall(NUMBER, "\n".join(map(printed, cells(notebook)))))
    for number in set(re.findall(NUMBER, words(cells(notebook)))) - shown:
        digits = len(number.partition(".")[2])
        near = {f"{float(number) + step * 10.0**-digits:.{digits}f}" for step in (-1, 1)}
        assert float(number) < LARGE or not near & shown, f"{number} beside {near & shown}"


@pytest.mark.parametrize(
    ("notebook", "prediction", "answer"),
    [
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


def test_a_load_of_16_bytes_takes_the_wavefronts_that_lesson_01_explains():
    own, shared = 16 * np.arange(32), 16 * (np.arange(32) // 2)
    used = [int(shared_wavefronts(lanes[None], 16, load=True)[0][0]) for lanes in (own, shared)]
    assert used == [4, 2]
    text = words(cells(MAINLOOP))
    assert "eight lanes at a time, 128 bytes: four wavefronts" in text
    assert "sixteen lanes at a time, which again want at most 128 different bytes: two wavefronts" in text


ALONE = {"shared_mem": 116 * 1024}
GEMM = Gemm(4096, 4096, 4096)


@cache
def recorded(notebook: str, name: str, **launch: int) -> Timeline:
    kernel, own = lesson_kernel(notebook, name)
    return timeline(kernel, GEMM, own.but(**launch))


@cache
def all_blocks() -> np.ndarray:
    """(SM, begin, end) of each block of `mainloop`, by SM and begin."""
    kernel, launch = lesson_kernel(MAINLOOP, "mainloop")
    return waves(kernel, GEMM, launch).rows["mainloop"]


def ends_of_the_first_blocks(which: int) -> float:
    """Of the two that an SM begins with, the one that ends first or second."""
    rows = all_blocks()
    return float(np.median([np.sort(rows[rows[:, 0] == sm, 2])[which] for sm in set(rows[:, 0])]))


def last_us_with_one_block() -> float:
    """How long, at the end, no SM has more than one block."""
    rows = all_blocks()
    second = [np.sort(rows[rows[:, 0] == sm, 2])[-2] for sm in set(rows[:, 0])]
    return rows[:, 2].max() - max(second)


def sms_with_none() -> int:
    rows = all_blocks()
    last = [rows[rows[:, 0] == sm, 2].max() for sm in set(rows[:, 0])]
    return sum(end <= rows[:, 2].max() - last_us_with_one_block() for end in last)


def load_and_math() -> tuple[int, int]:
    in_turn = recorded(PRODUCER, "one_buffer", **ALONE)
    return in_turn.turn - in_turn.cycles("math"), in_turn.cycles("math")


def launch_ms(overlapped: bool) -> float:
    """By the formula: 8 rounds of blocks, 512 k-tiles, 1.98 GHz."""
    load, math = load_and_math()
    cycles = load + 512 * max(load, math) if overlapped else 512 * (load + math)
    return 8 * cycles / 1.98e6


def gain_by_formula() -> float:
    load, math = load_and_math()
    return (load + math) / max(load, math)


def late(word: str) -> int:
    """Of the line that the cell of `late_math` prints."""
    line = next(line for line in words_and_outputs(PRODUCER).splitlines() if line.startswith("a turn of "))
    return int(re.search(word, line)[1])


def vector_copy() -> Timeline:
    return recorded(MAINLOOP, "vector_copy")


def mainloop() -> Timeline:
    return recorded(MAINLOOP, "mainloop")


def through_registers() -> Timeline:
    return recorded(PRODUCER, "through_registers", **ALONE)


CLAIMS: list[tuple[str, str, Callable[[], tuple[float, ...]]]] = [
    (MAINLOOP, r"in all (\d+) % of a turn goes to the copy and to the barrier",
     lambda: (100 * sum(map(vector_copy().share, ("copy", "barrier"))),)),
    (MAINLOOP, r"it takes twice as long, about (\d),000:",
     lambda: ((mainloop().cycles("math") - mainloop().cycles("barrier")) / 1000,)),
    (MAINLOOP, r"waits at the barrier, (\d+) % of a turn",
     lambda: (100 * sum(map(mainloop().share, ("copy", "barrier"))),)),
    (MAINLOOP, r"the first ones end after about (\d+)0 us, the others after about (\d+)00\.",
     lambda: (ends_of_the_first_blocks(0) / 10, ends_of_the_first_blocks(1) / 100)),
    (MAINLOOP, r"has (\d),(\d+) blocks, and 2 x (\d+) = (\d+) run at a time: that is (\d\.\d) times",
     lambda: (1, len(all_blocks()) - 1000, len(set(all_blocks()[:, 0])), 264, len(all_blocks()) / 264)),
    (MAINLOOP, r"For the last (\d+)0 of the 2,(\d+) us no SM has more than one block, and (\d+) SMs have none",
     lambda: (last_us_with_one_block() / 10, all_blocks()[:, 2].max() - 2000, sms_with_none())),
    (PRODUCER, r"draw\.pipeline\(copy=(\d+), math=(\d+)\) ", load_and_math),
    (PRODUCER, r"draw\.pipeline\(copy=(\d+), math=(\d+), blocks=2\)", load_and_math),
    (PRODUCER, r"The second stage is worth (\d\.\d\d)", lambda: (gain_by_formula(),)),
    (PRODUCER, r"takes longer than the math, (\d+) cycles", lambda: load_and_math()[1:]),
    (PRODUCER, r"takes for work, (\d+) cycles", lambda: load_and_math()[1:]),
    (PRODUCER, r"recorded on an H200, add up to (\d\.\d\d)\.", lambda: (launch_ms(overlapped=False),)),
    (PRODUCER, r"from 4\.90 ms towards (\d\.\d\d)", lambda: (launch_ms(overlapped=True),)),
    (PRODUCER, r"The goal is (\d\.\d\d) ms", lambda: (launch_ms(overlapped=True),)),
    (PRODUCER, r"formula promised 4\.90 / (\d\.\d\d) = (\d\.\d)",
     lambda: (launch_ms(overlapped=True), 4.90 / launch_ms(overlapped=True))),
    (PRODUCER, r"are 3\.68 ms, not (\d\.\d\d)", lambda: (launch_ms(overlapped=True),)),
    (PRODUCER, r"The formula said (\d\.\d\d)\.", lambda: (launch_ms(overlapped=True),)),
    (PRODUCER, r"`wait` has become short, (\d+) cycles", lambda: (late(r"wait (\d+)"),)),
    (PRODUCER, r"before the copy, most of (\d+) cycles", lambda: (late(r"and (\d+) that"),)),
    (PRODUCER, r"nothing in the block hides: (\d+) of (\d+) cycles",
     lambda: (through_registers().cycles("wait"), through_registers().turn)),
    (PRODUCER, r"launches with a mark there were (\d+) % \*faster\*",
     lambda: (-100 * through_registers().about["disturbance"]["copy.end"][1],)),
    (PRODUCER, r"Its math takes (\d+) cycles", lambda: (recorded(PRODUCER, "specialised").cycles("math"),)),
    (PRODUCER, r"But a turn takes (\d+)\. The other (\d+) are the hand-over",
     lambda: (recorded(PRODUCER, "specialised").turn,
              recorded(PRODUCER, "specialised").turn - recorded(PRODUCER, "specialised").cycles("math"))),
    (PRODUCER, r"gives 1\.59; the formula says (\d\.\d\d)", lambda: (gain_by_formula(),)),
    (PRODUCER, r"in (\d\.\d\d), 1\.5, 3\.0", lambda: (load_and_math()[0] / load_and_math()[1],)),
    (PRODUCER, r"eight tenths of the math \((\d+) and (\d+) cycles\)", load_and_math),
]  # fmt: skip


@pytest.mark.parametrize(("notebook", "said", "right"), CLAIMS, ids=[claim[1] for claim in CLAIMS])
def test_what_the_words_say_of_a_picture_is_in_its_record(notebook, said, right):
    (found,) = re.findall(said, "\n".join("".join(cell["source"]) for cell in cells(notebook)))
    found = found if isinstance(found, tuple) else (found,)
    for number, value in zip(found, right(), strict=True):
        digits = len(number.partition(".")[2])
        assert abs(float(number) - value) <= 0.501 * 10**-digits, (found, right())


def test_the_strips_of_the_buffers_are_those_of_the_records():
    """Each state is as long as in the timelines, within 25 cycles; all are a turn long, or two turns with two slots."""
    (drawn,) = (text for cell in cells(PRODUCER) if "STRIPS =" in (text := "".join(cell["source"])))
    strips = {name: json.loads(states) for name, states in re.findall(r'\("([\w ,]+)", (\{.*?\}),', drawn)}

    def between(trace: Timeline, begin: str, end: str) -> float:
        """Median cycles from a point, such as `copy.begin`, to the next one of the other kind."""
        at: dict[str, list[int]] = {begin: [], end: []}
        for event in trace.parts["steady"].events:
            for point in at:
                phase, which = point.split(".")
                if event.phase == phase:
                    at[point].append(getattr(event, which))
        return float(np.median([min((later - first for later in at[end] if later > first - 100), default=np.nan)
                                for first in at[begin][:4]]))  # fmt: skip

    in_turn, spec = recorded(PRODUCER, "one_buffer", **ALONE), recorded(PRODUCER, "specialised")
    registers = through_registers()
    expected = {
        "one_buffer": {
            "fill": between(in_turn, "copy.begin", "wait.end"),
            "full": between(in_turn, "wait.end", "math.begin"),
            "read": in_turn.cycles("math"),
        },
        "through_registers": {"fill": registers.cycles("wait")},
        "specialised, slot 0": {
            "fill": spec.cycles("copy"),
            "full": between(spec, "copy.end", "math.begin"),
            "read": spec.cycles("math"),
        },
    }
    for name, states in expected.items():
        for state, cycles in states.items():
            assert strips[name].get(state, 0) == pytest.approx(cycles, abs=25), (name, state)
    assert strips["specialised, slot 1"] == strips["specialised, slot 0"]
    turns = {
        "one_buffer": in_turn.turn,
        "through_registers": registers.turn,
        "late_math": late(r"a turn of (\d+)"),
    }
    turns["specialised, slot 0"] = 2 * spec.turn
    assert {name: sum(strips[name].values()) for name in turns} == turns


def test_most_of_a_turn_of_vector_copy_is_math():
    assert f"Most of the rest is math, {vector_copy().share('math'):.0%}".replace("%", " %") in words(
        cells(MAINLOOP)
    )


def test_the_quarters_of_vector_copy_are_those_of_the_tuning_page():
    """Measured once, in eighths of a block's k-tiles."""
    page = (sources.NOTEBOOKS.parent / "docs/tuning.md").read_text(encoding="utf-8")
    eighths = [int(each.replace(",", "")) for each in
               re.search(r"eighths of a block's k-tiles at ([\d, ]+) cycles", page)[1].split(", ")]  # fmt: skip
    first, last = np.mean(eighths[:2]), np.mean(eighths[4:])
    first, last = (f"{50 * round(each / 50):,}" for each in (first, last))
    said = f"first quarter of its k-tiles a block took about {first} cycles for one, in the second half about {last}"
    assert len(eighths) == 8 and said in words(cells(MAINLOOP))


def test_nobody_excuses_a_picture():
    """The pictures of timelines are of the kernel that was timed: see docs/timelines.md."""
    for notebook in MAINLOOP, PRODUCER:
        assert not re.search(r"writing down|[Rr]ead the order|untraced|their notes", words(cells(notebook)))


def words_and_outputs(notebook: str) -> str:
    return "\n".join("".join(cell["source"]) + "\n" + printed(cell) for cell in cells(notebook))


@pytest.mark.parametrize("notebook", [MAINLOOP, PRODUCER])
def test_a_word_is_explained_before_it_is_used(notebook):
    """Where a cell first shows it, words up to there say what it is."""
    explained = {
        "wavefronts of a store": r"a \*wavefront\* is",
        "10-90 %": r"eight of ten lie in \*10-90 %\*",
        "FLOP/clk/SM": r"\*FLOP/clk/SM\* is what one SM does",
    }
    first = {
        MAINLOOP: ["wavefronts of a store", "10-90 %", "FLOP/clk/SM"],
        PRODUCER: [],
    }
    found = cells(notebook)
    for word in first[notebook]:
        at = next(n for n, cell in enumerate(found) if cell["cell_type"] == "code"
                  and word in "".join(cell["source"]) + printed(cell))  # fmt: skip
        assert re.search(explained[word], words(found[:at])), word


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
