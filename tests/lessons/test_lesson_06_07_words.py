"""What lessons 06 and 07 say, held against the record and against the outputs beside it."""

import json
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from course_lib import HOPPER, Gemm
from course_lib.check.job import Job
from course_lib.instruments import sass
from course_lib.lessons import sources
from course_lib.measure import records
from cupy_or_sim import cupy_on_numpy
from matmul import tuned
from ptxsim.gpus import H100
from tests.lessons.reading import by_id, cells_of, prose, text_of
from tests.rules import ROOT
from tools.author.numbers import text_shown

RECORD = json.loads(records.files()[0].read_text(encoding="utf-8"))
AT_4096 = Gemm(4096, 4096, 4096, "float16")


def printed(notebook: str, cell: str) -> str:
    return text_shown(by_id(notebook)[cell])


@pytest.mark.parametrize(
    ("notebook", "cell", "constant", "words"),
    [
        (
            "deeper/06_parts_of_matmul",
            "launch-words",
            r"blocks_on_sm\(threads, (\d+), shared\)",
            "take {} registers",
        ),
        (
            "06_complete_gemm",
            "s3",
            r"product = \{4096: (\d+), 128: ([\d.]+)\}",
            "takes {} us at K = 4096 and {} at K",
        ),
    ],
)
def test_code_counts_with_the_numbers_of_the_text(notebook, cell, constant, words):
    """The text's are those of the record: test_numbers.py."""
    (counted,) = {
        found.groups()
        for each in cells_of(notebook)
        if each["cell_type"] == "code" and (found := re.search(constant, text_of(each)))
    }
    assert words.format(*counted) in text_of(by_id(notebook)[cell])


@pytest.mark.parametrize(
    ("notebook", "cell"), [("deeper/06_limits", "roof-power"), ("08_never_a_pause", "all-steps")]
)
def test_a_limit_stands_only_where_it_holds_the_clock_down(notebook, cell):
    lines = [line for line in printed(notebook, cell).splitlines() if "MHz" in line]
    clocks = {line: [int(mhz) for mhz in re.findall(r"(\d+) MHz", line)][-1] for line in lines}
    assert any("power cap" in line for line in lines)
    free = 0.97 * H100.clock_mhz
    assert [line for line, mhz in clocks.items() if mhz > free and "power cap" in line] == []


def noted(notebook: str, name: str, gemm: Gemm) -> np.ndarray:
    """The recorded blocks of a launch: SM, begin, end."""
    kernel, launch = sources.lesson_kernel(notebook, name)
    entry = records.find("waves", records.kernel_key(Job(kernel, gemm, launch)))
    assert entry["gpu"] == RECORD["provenance"]["gpu"]
    return np.array(entry["spans"])


def test_the_waves_of_lesson_06():
    rows, text = noted("06_parts_of_matmul", "complete", AT_4096), prose("deeper/06_stream_k")
    tiles = Counter(Counter(rows[:, 0]).values())
    assert f"has {len(rows)} tiles of 128 x 256, {len(rows) / 132:.2f} waves" in text
    assert f"{tiles[4]} SMs make a fourth tile, and {tiles[3]} rest in the last quarter" in text
    idle = [rows[rows[:, 0] == sm, 2].max() for sm, made in Counter(rows[:, 0]).items() if made == 3]
    assert max(idle) == pytest.approx(0.75 * rows[:, 2].max(), rel=0.02)


def called(title: str) -> dict[str, tuple[float, float, float]]:
    """Microseconds of each call that a lesson timed under this title: 10 %, median, 90 %."""
    (found,) = (row["us"] for row in RECORD["calls"].values() if row["title"] == title)
    return found


def test_what_is_faster_than_what():
    """ "Slower than the fused kernel up to K = 1024, and faster from K = 2048 on"; "within the spread"; "faster than
    both": the numbers beside these words are those that cells print."""
    layers = {K: called(f"bias and ReLU, 4096 x 4096 x {K}") for K in (128, 512, 1024, 2048, 4096)}
    assert [K for K, us in layers.items() if us["cuBLAS + two kernels"][1] < us["fused"][1]] == [2048, 4096]
    large, short = called("persistent, 8192 x 8192 x 8192"), called("stream-K, 3712 x 1280 x 512")
    assert large["persistent"][0] < large["gemm"][2] and large["gemm"][0] < large["persistent"][2]
    assert short["matmul"][1] < min(short["gemm"][1], short["stream_k"][1])


def row_of(label: str, size: int) -> dict:
    (found,) = (row for row in RECORD["speeds"].values()
                if row["label"] == label and row["shape"] == [size] * 3 and row["dtype"] == "float16")  # fmt: skip
    return found


def test_per_cent_of_what():
    fastest, text = row_of("05 fastest", 4096), prose("deeper/06_limits")
    times = fastest["peer_tflops"] / fastest["tflops"]  # of the same run
    assert f"`fastest` reaches it, and cuBLAS is {times:.2f} times as fast" in text
    whole = [*map(int, re.findall(r"100 % are (\d+)", printed("deeper/06_limits", "roof-percent")))]
    (about,) = map(int, re.findall(r"100 % of this counter are about (\d+) FLOP in a cycle", text))
    assert len(whole) == 7 and max(abs(each - about) for each in whole) < 0.01 * about


def test_only_what_was_timed_in_one_run_is_ranked():
    """The ring of exercise 06.1 is in another one."""
    fastest, ours, own = (row_of(label, 4096) for label in ("05 fastest", "06 complete", "yours"))
    assert fastest["peer_tflops"] == ours["peer_tflops"] != own["peer_tflops"]
    ranked = re.findall(r"^\d  (\w+)", printed("deeper/06_own_gemm", "own-ranking"), re.MULTILINE)
    assert ranked and "yours" not in ranked


def test_sums_of_a_thread_of_two_buffers():
    source = sources.kernel_source("03_double_buffer", "two_buffers")
    rows, columns = re.search(r"float acc\[(\d+)\]\[(\d+)\]", source).groups()
    assert f"`two_buffers` (lesson 03): fp32, {rows} x {columns} sums in each thread" in prose(
        "06_complete_gemm"
    )


def test_who_has_most_pieces_ends_last():
    """The count below the prediction of what stream-K gains: 145 tiles on 132 SMs."""
    assert "at most three at K = 4096 (64 k-tiles), two at K = 512 (8)" in prose("06_complete_gemm")
    for k_tiles, most in (64, 3), (8, 2):
        cuts = [145 * k_tiles * block // 132 for block in range(133)]
        assert max((end - 1) // k_tiles - begin // k_tiles + 1 for begin, end in pairwise(cuts)) == most
        assert f"({k_tiles} + 5) us over {145 * k_tiles / 132:.1f} + {most} x 5" in printed(
            "06_complete_gemm", "gain"
        )


def test_roofs_are_roofs():
    """No problem comes above what memory or `mma` allow; a hundredth where L2, which is warm, still held a part."""
    for (M, N, K), row in tuned().chosen.items():
        flop, moved = 2 * M * N * K, 2 * (M * K + N * K + M * N)
        assert flop / row["us"] / 1e6 < min(1.01 * 2.85 * flop / moved, 648)


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
    page = (ROOT / "assets" / "measurements" / "README.md").read_text(encoding="utf-8")
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
