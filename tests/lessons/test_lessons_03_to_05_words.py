"""What lessons 04 and 05 say in their text, held against the tables beside it."""

import json
import re
from collections.abc import Callable
from functools import cache
from statistics import median

import numpy as np
import pytest

from course_lib import Gemm, simulate, timeline
from course_lib.lessons import sources
from course_lib.measure import records
from course_lib.measure.events import PHASES
from course_lib.measure.timeline import Timeline, timeline_of
from ptxsim.gpus import H100
from tests.lessons import kernel

NOTEBOOKS = {path.stem[:2]: path for path in sources.notebooks(sources.NOTEBOOKS)}
LESSONS = ("05",)
PROBLEM = "4096 x 4096 x 4096"
SPEEDS = re.compile(r"((?:\d+(?:\.\d)?(?:, | and | against | or ))*\d+(?:\.\d)?) TFLOP/s")
NO_ROW = {"648", "584", "438", "467", "482", "263"}
"""TFLOP/s that no table shows: the rate of `mma`, two roofs, a kernel of docs/tuning.md with its rival, and a mark of
the roofline."""
FROZEN = "docs.nvidia.com/cuda/cuda-c-programming-guide"


@cache
def cells(lesson: str) -> list[dict]:
    return json.loads(NOTEBOOKS[lesson].read_text(encoding="utf-8"))["cells"]


@cache
def text(lesson: str) -> str:
    """The Markdown of a lesson."""
    return "\n\n".join("".join(cell["source"]) for cell in cells(lesson) if cell["cell_type"] == "markdown")


@cache
def shown(lesson: str) -> list[str]:
    """The lines that its cells print."""
    outputs = [output for cell in cells(lesson) for output in cell.get("outputs", ())]
    parts = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs]
    return "\n".join("".join(part) for part in parts).splitlines()


@cache
def rows(lesson: str) -> list[dict[str, str]]:
    """The rows of its tables of speeds, by column; `problem`: the lines above the table."""
    found, columns, above, problem = [], [], [], ""
    for line in shown(lesson):
        parts = re.split(r" {2,}", line)
        if parts[0] == "kernel":
            columns, problem, above = parts, " ".join(above[-4:]), []
        elif columns and len(parts) == len(columns):
            found.append(dict(zip(columns, parts)) | {"problem": problem})
        else:
            columns = []
            above.append(line)
    return found


def number(lesson: str, label: str, column: str) -> float:
    """Of the kernel with this label at 4096 x 4096 x 4096."""
    row = next(row for row in rows(lesson) if row["kernel"] == label and PROBLEM in row["problem"])
    return float(re.match(r"[\d.,]+", row[column])[0].replace(",", ""))


def gain(lesson: str, label: str) -> float:
    """What its table counts from the row that the heading names."""
    (column,) = {
        name for row in rows(lesson) if row["kernel"] == label for name in row if name.startswith("times ")
    }
    return number(lesson, label, column)


def per_clock(lesson: str, label: str) -> float:
    return number(lesson, label, "FLOP/clk/SM")


def counted(lesson: str, name: str, column: int, which: int = 0) -> float:
    """What the profiler counted, in the first table or another one that has a row with this name."""
    lines = [line for line in shown(lesson) if line.startswith(name + "  ")]
    return float(re.split(r" {2,}", lines[which])[column + 1])


def step(before: str, after: str) -> float:
    """Per cent more FLOP per cycle."""
    return 100 * (per_clock("05", after) / per_clock("05", before) - 1)


def slower(before: str, after: str) -> float:
    return 100 * (1 - number("05", after, "TFLOP/s") / number("05", before, "TFLOP/s"))


def risen(name: str) -> float:
    """From two slots to three."""
    return counted("05", name, 1) / counted("05", name, 0)


@cache
def trace(lesson: str, name: str, slots: int = 3, too_early: bool = False) -> Timeline:
    """The recorded timeline of a kernel of lesson 04 or 05; `too_early`: with a wait for all copies."""
    kernel, launch = sources.lesson_kernel(NOTEBOOKS[lesson].stem, name)
    code = kernel.code.replace("STAGES = 3", f"STAGES = {slots}")
    if too_early:
        code = code.replace("wait_group<STAGES - 2>", "wait_group<0>")
    if lesson == "05":
        launch = launch.but(shared_mem=slots * 24_576)
    kernel = type(kernel)(code, name, options=kernel.options)
    gemm = Gemm(4096, 4096, 4096, "float16")
    entry = records.find("timelines", records.kernel_key(kernel, gemm, launch))
    assert entry["gpu"] == "NVIDIA H200"
    return timeline_of(entry, PHASES, "recorded")


def percent(timeline: Timeline, *phases: str) -> tuple[float, ...]:
    return tuple(100 * timeline.share(phase) for phase in phases)


def waits(timeline: Timeline) -> tuple[float, float]:
    """Of k-tiles of even and of odd number in the steady state."""
    shown = timeline.parts["steady"]
    found = [
        each for each in shown.events if each.phase == "wait" and each.begin > 0 and each.end <= shown.length
    ]
    return tuple(median(each.end - each.begin for each in found if each.k_tile % 2 == odd) for odd in (0, 1))


def to_50(values: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(50 * round(value / 50) for value in values)


@cache
def modelled(slots: int) -> float:
    """Per cent of the drawn time in which the model's tensor cores work for a block of three_stage."""
    kernel, launch = sources.lesson_kernel("05_three_stage", "three_stage")
    kernel = type(kernel)(
        kernel.code.replace("STAGES = 3", f"STAGES = {slots}"), kernel.name, options=kernel.options
    )
    problem = Gemm(4096, 4096, 4096, "float16")
    shown = timeline(kernel, problem, launch.but(shared_mem=slots * 24_576), model=True).parts["steady"]
    return 100 * sum(end - begin for begin, end in shown.spans["tensor cores"]) / shown.length


SMALL = "128 x 128 x 64, 3 slots", "128 x 128 x 64, 4 slots"
SECTORS = "sectors read in L2, millions"
CLAIMS: list[tuple[str, str, Callable[[], tuple[float, ...]]]] = [
    ("05", r"just issued, (\d+) % of its time", lambda: percent(trace("04", "one_stage"), "wait")),
    ("05", r"the waits are (\d+) % of a turn. The barrier is left, with (\d+) %",
     lambda: percent(trace("05", "ring"), "wait", "barrier")),
    ("05", r"([\d,]+) cycles instead of ([\d,]+), a factor of (\d\.\d+)",
     lambda: (trace("05", "ring").turn, trace("04", "one_stage").turn,
              trace("04", "one_stage").turn / trace("05", "ring").turn)),
    ("05", r"short gaps only, (\d+) % of the time is work, and with two slots it was (\d+) %",
     lambda: (modelled(3), modelled(2))),
    ("05", r"waits (\d+) % of each turn for the copy that was just issued. With three slots it is (\d+) %",
     lambda: percent(trace("05", "three_stage", 2), "wait") + percent(trace("05", "three_stage"), "wait")),
    ("05", r"a turn takes ([\d,]+) cycles with two slots and ([\d,]+) with three",
     lambda: (trace("05", "three_stage", 2).turn, trace("05", "three_stage").turn)),
    ("05", r"The ratio is (\d\.\d+), and the times of the two kernels have nearly the same, (\d\.\d+)",
     lambda: tuple(trace("05", "three_stage", 2).about[of] / trace("05", "three_stage").about[of]
                   for of in ("turn_drawn", "us"))),
    ("05", r"the warps wait (\d+) % of a turn, and it takes ([\d,]+) cycles",
     lambda: (*percent(trace("05", "three_stage", too_early=True), "wait"),
              trace("05", "three_stage", too_early=True).turn)),
    ("05", r"about ([\d,]+) cycles for a k-tile of even number, (\d+) for an odd",
     lambda: to_50(waits(trace("05", "three_stage", 2)))),
    ("05", r"table of sitting 1: (\d+) FLOP per cycle", lambda: (per_clock("05", "1 slot"),)),
    ("05", r"so a turn takes (\d+)0 cycles", lambda: (2 * 256 * 128 * 32 / per_clock("05", "1 slot") / 10,)),
    ("05", r"each brings (\d) % more FLOP per cycle", lambda: (step("2 slots", "3 slots"),)),
    ("05", r"each brings (\d) % more FLOP per cycle",
     lambda: (step("3 slots, issue, then wait", "4 slots, issue, then wait"),)),
    ("05", r"per cycle, the next one (\d) % at most", lambda: (step("3 slots", "4 slots"),)),
    ("05", r"by a factor of (\d\.\d+), and compute throughput by (\d\.\d+)",
     lambda: (risen("memory throughput, %"), risen("compute throughput, %"))),
    ("05", r"(\d+) us instead of (\d+), so",
     lambda: (counted("05", "time, us", 1, 1), counted("05", "time, us", 0, 1))),
    ("05", r"For copies: ([\d.]+) with two slots, ([\d.]+) with three",
     lambda: tuple(counted("05", "warps waiting for copies", column) for column in (0, 1))),
    ("05", r"And L2: ([\d.]+) bytes", lambda: (counted("05", "bytes from L2 per cycle and SM", 1, 1),)),
    ("05", r"instead of none: (\d\.\d\d)", lambda: (gain("05", "2 slots, issue after the barrier"),)),
    ("05", r"loses (\d+) % of its speed", lambda: (slower(*SMALL),)),
    ("05", r"and (\d+) % of the speed is gone", lambda: (slower(*SMALL),)),
    ("05", r"L2 reads (\d+) % fewer sectors",
     lambda: (100 * (1 - counted("05", SECTORS, 1, 1) / counted("05", SECTORS, 0, 1)),)),
    ("05", r"the slowest SM gets ([\d.]+)\)", lambda: (H100.rates.l2_bytes,)),
    ("05", r"single copy out of L2 takes (\d+) cycles", lambda: (H100.rates.l2_latency,)),
]  # fmt: skip


def same(said: str, value: float) -> bool:
    """Whether a number in a text is this one, rounded to the digits that are said."""
    digits = len(said.partition(".")[2])
    return abs(float(said.replace(",", "")) - value) <= 0.501 * 10**-digits


@pytest.mark.parametrize("lesson", LESSONS)
def test_speeds_in_the_text_are_those_of_a_table(lesson):
    measured = [float(row["TFLOP/s"]) for row in rows(lesson)]
    measured += [
        float(row["sustained TFLOP/s"].split()[0]) for row in rows(lesson) if "sustained TFLOP/s" in row
    ]
    said = {number for found in SPEEDS.findall(text(lesson)) for number in re.findall(r"[\d.]+", found)}
    assert len(measured) > 5 and len(said) > 1
    assert [each for each in sorted(said - NO_ROW) if not any(same(each, value) for value in measured)] == []


@pytest.mark.parametrize(("lesson", "words", "right"), CLAIMS, ids=[claim[1] for claim in CLAIMS])
def test_numbers_in_the_text_are_those_of_the_tables(lesson, words, right):
    (said,) = re.findall(words, text(lesson))
    said = said if isinstance(said, tuple) else (said,)
    assert all(same(*pair) for pair in zip(said, right(), strict=True)), (said, right())


@pytest.mark.parametrize("lesson", LESSONS)
def test_links_lead_to_the_guide_that_is_kept_and_to_the_next_lesson(lesson):
    assert FROZEN not in text(lesson)
    (following,) = re.findall(r"## Next\n\n\[[^]]+\]\(([\w.]+)\)", text(lesson))
    assert (sources.NOTEBOOKS / following).is_file()


@pytest.mark.parametrize("name", ["early_issue", "example_double_buffer"])
def test_both_kernels_of_the_example_add_in_order(name):
    """Equal to the last bit, as its page says: each product in turn is added with one rounding."""
    gemm = Gemm(128, 128, 64)
    A, B, C, *sizes = gemm.arguments(*gemm.inputs)
    assert simulate(
        kernel(sources.kernel_source("03_documented_example", name), name), (1, 1), (256,), (A, B, C, *sizes)
    ).ok
    expected = np.zeros((128, 128), np.float32)
    for k in range(64):
        expected = (A[:, k, None].astype(float) * B[:, k].astype(float) + expected).astype(np.float32)
    assert np.array_equal(C, expected)
