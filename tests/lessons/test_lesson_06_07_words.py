"""What lessons 06 and 07 say, held against the record and against the outputs beside it."""

import json
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from course_lib import HOPPER, Gemm
from course_lib.lessons import sources
from course_lib.measure import records
from cupy_or_sim import cupy_on_numpy
from instruments import sass
from instruments.spans import Spans
from matmul import tuned
from ptxsim.gpus import H100

ROOT = Path(__file__).resolve().parent.parent.parent
ASSETS = ROOT / "assets"
RECORD = json.loads(records.files()[0].read_text(encoding="utf-8"))
AT_4096 = Gemm(4096, 4096, 4096, "float16")


def cells(notebook: str) -> list[dict]:
    return json.loads((sources.NOTEBOOKS / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]


def source(cell: dict) -> str:
    return "".join(cell["source"])


def prose(notebook: str) -> str:
    return "\n\n".join(source(cell) for cell in cells(notebook) if cell["cell_type"] == "markdown")


def printed(notebook: str, cell: str) -> str:
    (found,) = (each for each in cells(notebook) if each["id"] == cell)
    return "".join("".join(output.get("text", "")) for output in found["outputs"])


def speeds(kernel: str, size: int) -> list[dict]:
    return [
        row for row in RECORD["speeds"].values() if row.get("kernel") == kernel and row["shape"] == [size] * 3
    ]


@pytest.mark.parametrize(
    ("notebook", "prediction", "answer"),
    [
        ("deeper/06_notes_kernel", "my_faults", r"\bfive\b[^.]{0,40}\bfaults|\bfaults\b[^.]{0,40}\bfive\b"),
    ],
)
def test_nothing_said_before_a_prediction_holds_its_answer(notebook, prediction, answer):
    before = []
    for cell in cells(notebook):
        if "predict" in cell["metadata"].get("tags", ()) and re.search(
            rf"^{prediction}\b", source(cell), re.MULTILINE
        ):
            break
        before.append(cell)
    else:
        raise AssertionError(f"{prediction} is predicted nowhere")
    found = [
        source(cell) for cell in before if cell["cell_type"] == "markdown" and re.search(answer, source(cell))
    ]
    assert found == []


def test_registers_of_the_complete_kernel():
    (registers,) = {row["registers"] for row in speeds("complete", 4096) if row["tile"] == [128, 256, 64]}
    said = re.search(r"whose threads take (\d+) registers", prose("deeper/06_parts_of_matmul"))
    code = "\n".join(
        source(cell) for cell in cells("deeper/06_parts_of_matmul") if cell["cell_type"] == "code"
    )
    assert int(said[1]) == registers == int(re.search(r"blocks_on_sm\(threads, (\d+), shared\)", code)[1])


def test_what_two_slots_cost():
    times, factors = tuned().times[8192, 8192, 8192], {1: [], 2: []}
    for plan, us in times.items():
        three = replace(plan, stages=3)
        if plan.stages == 2 and three in times:
            factors[tuned().at_once(three)].append(round(100 * (us / times[three] - 1)))
    said = re.search(
        r"(\d+) to (\d+) % longer where only one block fits on an SM, and (\d+) %", prose("deeper/06_tuning")
    )
    assert [int(number) for number in said.groups()] == [min(factors[1]), max(factors[1]), *factors[2]]


def test_the_price_of_any_shape_has_one_number():
    words = "`fastest` took {} us and `matmul`'s kernel {} in one run ([docs/measurements.md]"
    words += "(../../docs/measurements.md)): "
    took = [row_of(label, 4096)["median_us"] for label in ("05 fastest", "06 complete")]
    percent = round(100 * (took[1] / took[0] - 1), 1)
    assert said(words + "any shape costs {} %", "deeper/06_tuning") == [
        *(round(us, 1) for us in took),
        percent,
    ]


@pytest.mark.parametrize(
    ("notebook", "cell"), [("deeper/06_limits", "roof-power"), ("08_never_a_pause", "all-steps")]
)
def test_a_limit_stands_only_where_it_holds_the_clock_down(notebook, cell):
    lines = [line for line in printed(notebook, cell).splitlines() if "MHz" in line]
    clocks = {line: [int(mhz) for mhz in re.findall(r"(\d+) MHz", line)][-1] for line in lines}
    assert any("power cap" in line for line in lines)
    free = 0.97 * H100.rates.clock_mhz
    assert [line for line, mhz in clocks.items() if mhz > free and "power cap" in line] == []


def noted(notebook: str, name: str, gemm: Gemm) -> np.ndarray:
    """The recorded blocks of a launch: SM, begin, end."""
    kernel, launch = sources.lesson_kernel(notebook, name)
    entry = records.find("waves", records.kernel_key(kernel, gemm, launch))
    assert entry["gpu"] == RECORD["provenance"]["gpu"]
    return np.array(entry["spans"])


def test_the_waves_of_lesson_06():
    rows, text = noted("06_parts_of_matmul", "complete", AT_4096), prose("deeper/06_stream_k")
    us, busy = rows[:, 2].max(), Spans("", "", {"": rows}).busy("")
    tiles = Counter(Counter(rows[:, 0]).values())
    assert f"has {len(rows)} tiles of 128 x 256, {len(rows) / 132:.2f} waves" in text
    assert f"{tiles[4]} SMs make a fourth tile, and {tiles[3]} rest" in text
    said = re.search(r"last quarter of (\d+) us.*?busy (\d+) %.*?the count says (\d+) %", text, re.DOTALL)
    assert [int(each) for each in said.groups()] == [
        round(us),
        round(100 * busy),
        round(100 * len(rows) / 528),
    ]
    idle = [rows[rows[:, 0] == sm, 2].max() for sm, made in Counter(rows[:, 0]).items() if made == 3]
    assert max(idle) == pytest.approx(0.75 * us, rel=0.02)


def called(title: str) -> dict[str, float]:
    """Median microseconds of each call that a lesson timed under this title."""
    (found,) = (row["us"] for row in RECORD["calls"].values() if row["title"] == title)
    return {label: median for label, (_, median, _) in found.items()}


def said(words: str, notebook: str) -> list[float]:
    """The numbers that stand for {} in the text."""
    look = re.escape(words).replace(r"\{\}", r"([\d.]+)")
    return [float(number) for number in re.search(look, prose(notebook)).groups()]


def test_what_fusing_gains():
    layers = {K: called(f"bias and ReLU, 4096 x 4096 x {K}") for K in (128, 512, 1024, 2048, 4096)}

    def over(label: str, other: str, K: int) -> float:
        return layers[K][label] / layers[K][other]

    costs = said("cost the kernel {} % at K = 4096**, and GELU {} %", "deeper/06_fused")
    assert costs == [round(100 * over(each, "plain", 4096) - 100, 1) for each in ("fused", "fused, GELU")]
    words = "take {} times as long as the fused one at K = 4096, and {} times at K = 128"
    assert said(words, "deeper/06_fused") == [
        round(over("three kernels", "fused", K), 2) for K in (4096, 128)
    ]
    small = [round(layer["three kernels"] - layer["plain"]) for layer in layers.values()]
    assert said("take {} to {} us together", "deeper/06_fused") == [min(small), max(small)]
    words = "{} times the three kernels' time at K = 128, {} times at K = 4096"
    pieces = [round(over("in 4 pieces, two streams", "three kernels", K), 2) for K in (128, 4096)]
    assert said(words, "deeper/06_fused") == pieces
    faster = [K for K in layers if over("cuBLAS + two kernels", "fused", K) < 1]
    assert faster == [2048, 4096]  # "slower up to K = 1024, and faster from K = 2048 on"


def test_what_a_kernel_without_waves_gains():
    title = "persistent, 8192 x 8192 x 8192"
    times = called(title)
    assert said("is within the spread: {} us against {}", "deeper/06_stream_k") == [
        round(times["persistent"]),
        round(times["gemm"]),
    ]
    (spread,) = (row["us"] for row in RECORD["calls"].values() if row["title"] == title)
    assert spread["persistent"][0] < spread["gemm"][2] and spread["gemm"][0] < spread["persistent"][2]
    long, short = (called(f"stream-K, 3712 x 1280 x {K}") for K in (4096, 512))
    words = (
        "`gemm` takes {} us and `stream_k` {}: it is {} times as fast. With K = 512 it is only {} times, and"
    )
    assert said(words, "deeper/06_stream_k") == [
        round(long["gemm"], 1),
        round(long["stream_k"], 1),
        round(long["gemm"] / long["stream_k"], 2),
        round(short["gemm"] / short["stream_k"], 2),
    ]
    assert short["matmul"] < min(short["gemm"], short["stream_k"])


def row_of(label: str, size: int) -> dict:
    (found,) = (row for row in RECORD["speeds"].values()
                if row["label"] == label and row["shape"] == [size] * 3 and row["dtype"] == "float16")  # fmt: skip
    return found


def test_per_cent_of_what():
    fastest = row_of("05 fastest", 4096)
    times = round(fastest["cublas_tflops"] / fastest["tflops"], 2)  # of the same run
    assert said("`fastest` reaches it, and cuBLAS is {} times as fast", "deeper/06_limits") == [times]
    whole = [
        int(each) for each in re.findall(r"100 % are (\d+)", printed("deeper/06_limits", "roof-percent"))
    ]
    (about,) = said("100 % of this counter are about {} FLOP in a cycle", "deeper/06_limits")
    assert len(whole) == 7 and max(abs(each - about) for each in whole) < 0.01 * about


def test_the_price_of_every_size_in_one_run():
    """`fastest` and `complete` are in one run; the ring of exercise 06.1 is in another one, and is not ranked."""
    fastest, ours, own = (row_of(label, 4096) for label in ("05 fastest", "06 complete", "yours"))
    assert fastest["cublas_tflops"] == ours["cublas_tflops"] != own["cublas_tflops"]
    assert said("takes some {} % longer than `fastest`", "06_complete_gemm") == [
        round(100 * ours["median_us"] / fastest["median_us"] - 100)
    ]
    speeds = [round(row["tflops"]) for row in (ours, fastest)]
    assert said("longer than `fastest`, {} TFLOP/s and {}", "06_complete_gemm") == speeds
    assert "yours" not in re.findall(
        r"^\d  (\w+)", printed("deeper/06_own_gemm", "own-ranking"), re.MULTILINE
    )


def test_sums_of_a_thread_of_two_buffers():
    source = sources.kernel_source("03_double_buffer", "two_buffers")
    rows, columns = re.search(r"float acc\[(\d+)\]\[(\d+)\]", source).groups()
    assert f"`two_buffers` (lesson 03): fp32, {rows} x {columns} sums in each thread" in prose(
        "06_complete_gemm"
    )


def test_the_speeds_of_the_last_wave():
    chosen = tuned().chosen[(4096,) * 3]
    assert chosen["plan"].tile[:2] == (128, 256)
    times = {3000: tuned().best((3000,) * 3, (128, 256))[1], 4096: chosen["us"]}
    speeds = [round(2 * size**3 / us / 1e6) for size, us in times.items()]
    words = "With tiles of 128 x 256, 3000 x 3000 x 3000 runs at {} TFLOP/s and 4096 x 4096 x 4096 at {}"
    assert said(words, "06_complete_gemm") == speeds
    us = [called(f"bias and ReLU, 4096 x 4096 x {K}")["plain"] for K in (4096, 128)]
    words = "The product alone takes {} us at K = 4096 and {} at K = 128"
    assert said(words, "06_complete_gemm") == [round(each) for each in us]


def test_who_has_most_pieces_ends_last():
    """The count below the prediction of what stream-K gains: a k-tile takes 1 us, and a piece 5 us more."""
    shown = printed("06_complete_gemm", "gain")
    assert "at most three at K = 4096 (64 k-tiles), two at K = 512 (8)" in prose("06_complete_gemm")
    for k_tiles, most in (64, 3), (8, 2):
        cuts = [145 * k_tiles * block // 132 for block in range(133)]
        pieces = [(end - 1) // k_tiles - begin // k_tiles + 1 for begin, end in pairwise(cuts)]
        assert max(pieces) == most
        share = 145 * k_tiles / 132
        gain = 2 * (k_tiles + 5) / (share + most * 5)
        assert f"K = {64 * k_tiles}, counted: no prediction; it is {gain:.3g}\n" in shown
        assert f"2 x ({k_tiles} + 5) us over {share:.1f} + {most} x 5" in shown


def test_what_three_kernels_take_at_most_is_counted_from_the_numbers_of_the_text():
    (cell,) = (each for each in cells("06_complete_gemm") if each["id"] == "layer-drawn")
    counted = re.search(r"product = \{4096: (\d+), 128: (\d+)\}", source(cell)).groups()
    words = "The product alone takes {} us at K = 4096 and {} at K = 128"
    assert said(words, "06_complete_gemm") == [float(each) for each in counted]


def test_roofs_are_roofs():
    """No problem comes above what memory or `mma` allow."""
    for (M, N, K), row in tuned().chosen.items():
        flop, moved = 2 * M * N * K, 2 * (M * K + N * K + M * N)
        assert flop / row["us"] / 1e6 < min(2.85 * flop / moved, 648)


def test_what_fastest_reads_from_memory():
    """The words about the target of 1000 GB/s."""
    counted = [entry["metrics"] for entry in RECORD["profiles"].values()]
    rates = [1e3 * each["bytes from DRAM, GB"] / each["time, us"] for each in counted]
    (fastest,) = (each["metrics"] for each in RECORD["profiles"].values() if each["kernel"] == "fastest")
    gigabytes, ms = fastest["bytes from DRAM, GB"], fastest["time, us"] / 1000
    said = f"`fastest` reads {gigabytes:.2f} GB in {ms:.2f} ms, {gigabytes / ms:.1f} TB/s"
    assert said in prose("deeper/06_limits") and max(rates) < 1
    assert f"serve the rest, at {fastest['bytes from L2, TB/s']:.0f} TB/s" in prose("deeper/06_limits")


def test_one_truth_about_the_clock():
    page = (ASSETS / "measurements" / "README.md").read_text(encoding="utf-8")
    assert "while more launches" in RECORD["provenance"]["method"] and "while more launches" in page
    assert "medians" in page and "one reading" not in page and "right after" not in page


ARRIVALS = {
    "mbarrier.arrive": (),
    "mbarrier.arrive.release.cta": (),
    "mbarrier.arrive.release.cluster": ("MEMBAR.ALL.GPU", "ERRBAR", "CGAERRBAR"),
    "fence.release.sync_restrict::shared::cta.cluster; mbarrier.arrive.relaxed.cluster": (
        "FENCE.VIEW.ASYNC.S",
    ),
}


@pytest.mark.parametrize(("arrival", "more"), ARRIVALS.items())
def test_what_an_arrival_at_another_block_takes(arrival, more):
    source = f"""extern "C" __global__ void __cluster_dims__(2, 1, 1) arrive(int* out)
{{
    __shared__ unsigned long long barrier;
    unsigned address = __cvta_generic_to_shared(&barrier);
    out[threadIdx.x] = address;
    asm volatile("{{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, 1;"
                 " {arrival}.shared::cluster.b64 _, [there]; }}" :: "r"(address) : "memory");
}}"""
    opcodes = {
        each.opcode for each in sass(cupy_on_numpy.RawKernel(source, "arrive", options=HOPPER)).instructions
    }
    fences = {"MEMBAR.ALL.GPU", "ERRBAR", "CGAERRBAR", "FENCE.VIEW.ASYNC.S"}
    assert opcodes & fences == set(more)
