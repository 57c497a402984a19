"""What the lessons say of the simulator's clock agrees with the clock's own page; and with what it says now, where no
cell shows it."""

import itertools
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from course_lib import Gemm, Launch, benchmark, kernel_source
from course_lib.instruments import bubbles
from course_lib.lessons import sources
from course_lib.measure import records, samples
from course_lib.measure.model import WITHIN
from cupy_or_sim.simulate import compiled
from tests.kernels.timed.lessons import STALLS, sampled
from tests.lessons import GEMMS, cuda_of, kernel
from tests.sample import in_long
from tools.author import clock

SAID = (sources.NOTEBOOKS / "deeper/00_model.ipynb").read_text(encoding="utf-8")


def test_what_is_said_of_times_and_order_is_in_the_rows_beside_the_page():
    """Rows of lesson, kernel, ms on the H100 and of the model by machine code, their ratio."""
    _, *rows = clock.written("lessons")
    off = [abs(float(ratio) - 1) for *_, ratio in rows]
    assert max(off) <= WITHIN
    said = f"within {100 * WITHIN:.0f} % of the time on an H100 for all {len(rows)} kernels of the lessons, "
    assert said + f"{100 * np.mean(off):.0f} % off on average" in SAID
    times = [(lesson, float(measured), float(modelled)) for lesson, _, measured, modelled, *_ in rows]
    wrong = [
        pair
        for pair in itertools.permutations(times, 2)
        if pair[0][0] == pair[1][0] and pair[0][1] > 1.05 * pair[1][1] and pair[0][2] <= pair[1][2]
    ]
    assert wrong == [] and "every pair inside a lesson that is 5 % apart on the H100 is in its order" in SAID


def test_what_is_said_of_turns_and_waits_is_in_the_rows_beside_the_page():
    _, *timelines = clock.written("timelines")
    rows = [(ratio, *(share.rstrip("%") for share in shares)) for _, _, _, _, ratio, *shares in timelines]
    off = [abs(float(ratio) - 1) for ratio, *_ in rows]
    assert f"{100 * np.mean(off):.0f} % off on average, in {len(rows)} recorded timelines" in SAID
    near = sum(abs(int(recorded) - int(modelled)) <= 16 for _, recorded, modelled in rows)
    assert f"within 16 points of the record for {near} of the {len(rows)}" in SAID


def prose(notebook: str) -> str:
    """The prose of a notebook."""
    return "\n".join(
        "".join(cell["source"]) for cell in sources.cells_of(sources.NOTEBOOKS / f"{notebook}.ipynb")
        if cell["cell_type"] == "markdown"
    )  # fmt: skip


@in_long
def test_shares_beside_nsight_compute_s():
    job = sampled()["02_producer_consumer", "one_buffer"]
    text = compiled(job.kernel).source
    recorded = json.loads(STALLS.read_text(encoding="utf-8"))["kernels"]
    modelled = bubbles(job.kernel, job.gemm, job.launch, model=True)
    gpu = replace(modelled, lines=samples.lines_of(recorded[records.kernel_key(job)], text))
    turn = "another warp first"
    all_of = [f"{one.reasons[what]:.0%}" for what in ("copies", turn) for one in (modelled, gpu)]
    at = [
        f"{one.at(line)[turn]:.0%}"
        for line in ("load_fragments(a", "multiply_add(a")
        for one in (modelled, gpu)
    ]
    assert [each.replace("%", " %") for each in all_of + at] == re.findall(
        r"\d+ %", prose("deeper/00_model").split("counts about as much")[1].split("Trust no line")[0]
    )


@in_long
@pytest.mark.parametrize("size", [4096, 1024])
def test_the_gain_of_a_narrow_tile(size):
    words = prose("deeper/01_loop_and_grid")
    narrow = kernel(cuda_of(words), "mainloop")
    wide = kernel(kernel_source("01_mainloop", "mainloop"), "mainloop")
    launches = {"wide": (wide, GEMMS["01_mainloop", "mainloop"])}
    launches["narrow"] = narrow, Launch(tile=(64, 128, 16), threads=128)
    modelled = benchmark(Gemm(size, size, size), launches, model=True)
    gain = f"{modelled.gain('narrow', 'wide'):.2f} times"
    assert gain in words[words.index("The model says") :]
