"""What lessons 06 and 07 say, held against the record and against the outputs beside it."""

import json
import re
from collections import Counter
from dataclasses import replace
from math import ceil
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from course_lib import HOPPER, Gemm, sass, timeline, tuned
from course_lib.gpu import cupy_on_numpy
from course_lib.lessons import sources
from course_lib.measure import records
from course_lib.measure.events import PHASES
from course_lib.measure.spans import Spans
from course_lib.measure.timeline import Timeline, timeline_of

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
        ("07_hopper", "my_wgmma", r"four instructions|four `wgmma`"),
        (
            "07_hopper",
            "my_share_of_cublas",
            r"as fast as cuBLAS|cuBLAS's speed|\b7[4-9]\d\b TFLOP/s|against 7\d\d",
        ),
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
    words = r"`fastest` took ([\d.]+) us and `matmul` ([\d.]+) in one run.*any shape costs ([\d.]+) %"
    said = re.search(words, prose("deeper/06_tuning"))
    fastest, ours, percent = map(float, said.groups())
    assert round(100 * (ours / fastest - 1), 1) == percent


@pytest.mark.parametrize(
    ("notebook", "cell"), [("deeper/06_limits", "roof-power"), ("07_hopper", "C-limits-seen")]
)
def test_a_limit_stands_only_where_it_holds_the_clock_down(notebook, cell):
    lines = [line for line in printed(notebook, cell).splitlines() if "MHz" in line]
    clocks = {line: [int(mhz) for mhz in re.findall(r"(\d+) MHz", line)][-1] for line in lines}
    assert any("power cap" in line for line in lines)
    assert [line for line, mhz in clocks.items() if mhz == max(clocks.values()) and "power cap" in line] == []


def test_nobody_computes_faster_than_the_tensor_cores_can():
    cycles = dict(re.findall(r"^(\w[\w ]*?) +(\d+)$", printed("07_hopper", "A2-turn"), re.MULTILINE))
    assert len(cycles) == 3 and min(map(int, cycles.values())) >= 1024
    assert f"Of the {cycles['one_slot']} cycles of `one_slot` 1024 are math" in prose("07_hopper")


def recorded(notebook: str, name: str) -> Timeline:
    """The recorded timeline of a lesson's kernel."""
    kernel, launch = sources.lesson_kernel(notebook, name)
    entry = records.find("timelines", records.kernel_key(kernel, AT_4096, launch))
    assert entry["gpu"] == RECORD["provenance"]["gpu"]
    return timeline_of(entry, PHASES, "recorded")


def lengths(trace: Timeline, warp: int, phase: str) -> list[int]:
    """Of the warp's events that are drawn in the steady state."""
    return [
        each.end - each.begin
        for each in trace.parts["steady"].events
        if (each.warp, each.phase) == (warp, phase) and each.begin < trace.parts["steady"].length
    ]


def begins(trace: Timeline, part: str, phase: str) -> dict[tuple[int, int], int]:
    """(warp, k-tile): begin."""
    return {(each.warp, each.k_tile): each.begin for each in trace.parts[part].events if each.phase == phase}


def number(words: str) -> int:
    return int(words.replace(",", ""))


def test_the_waits_of_one_slot():
    trace, text = recorded("07_hopper", "one_slot"), prose("07_hopper")
    assert (
        f"is `wait`, {trace.share('wait'):.0%} of a turn. Behind it stands `math`, {trace.share('math'):.0%},"
        in (text.replace(" %", "%"))
    )
    assert f"(The timeline has {trace.turn:,} for a turn:" in text
    assert f"where `one_slot` takes {trace.turn:,}." in text
    assert trace.share("wait") == pytest.approx(1 / 2, abs=0.03)  # "half of each turn"


def test_a_turn_of_the_ring():
    trace, text = recorded("07_hopper", "ring"), prose("07_hopper")
    assert f"A turn takes {trace.turn:,} cycles, where" in text
    assert f"The warps do wait, {trace.share('wait'):.0%} of a turn".replace("%", " %") in text
    assert f"a turn takes {trace.about['turn']:,} cycles, fewer" in text and trace.about["turn"] < 1024
    assert min(lengths(trace, 0, "copy")) > trace.turn / 2
    math = begins(trace, "steady", "math")
    ahead = [
        begin - math[4, k_tile] for (warp, k_tile), begin in math.items() if warp == 0 and (4, k_tile) in math
    ]
    assert min(ahead) > trace.turn


def test_the_consumers_of_roles_take_turns():
    trace, text = recorded("07_hopper", "roles"), prose("07_hopper")
    said = re.search(r"The producer waits about (\d+) cycles of each turn, a consumer about (\d+)", text)
    assert int(said[1]) == round(median(lengths(trace, 0, "wait")), -2)
    assert {int(said[2])} == {round(median(lengths(trace, warp, "wait")), -2) for warp in (6, 9)}
    assert f"A turn takes {trace.turn:,} cycles, and that is what the math needs" in text
    events = trace.parts["steady"].events
    for warp, other in (6, 9), (9, 6):
        waits = [each for each in events if (each.warp, each.phase) == (warp, "wait")]
        for wait in waits[:3]:  # of the fourth the other's math is cut off
            assert any(
                each.begin - trace.turn / 10 <= wait.begin and wait.end <= each.end + trace.turn / 10
                for each in events
                if (each.warp, each.phase) == (other, "math")
            )


@pytest.mark.parametrize("name", ["persistent", "cluster", "complete"])
def test_the_producer_is_ahead_at_the_seam(name):
    """In the second tile, from k-tile 64 on, before the consumers have done the first."""
    trace = recorded("07_hopper", name)
    copies, math = begins(trace, "seam", "copy"), begins(trace, "seam", "math")
    assert {63, 64} <= {k_tile for _, k_tile in math}, (
        "the end of the first tile, and the begin of the second"
    )
    ends = {(each.warp, each.k_tile): each.end for each in trace.parts["seam"].events if each.phase == "math"}
    if name == "persistent":
        assert "While the consumers are at 62 and 63, the producer starts the copies of 64 and 65" in prose(
            "07_hopper"
        )
        assert all(math[warp, 62] < copies[0, 64] and copies[0, 65] < ends[warp, 63] for warp in (6, 9))
    else:
        assert all(copies[0, 65] < ends[warp, 63] + 1000 for warp in (6, 9))  # when `wgmma` has ended


def test_what_an_epilogue_takes():
    of = {name: recorded("07_hopper", name).cycles("epilogue") for name in ("cluster", "complete")}
    words = r"the time of all stores, ([\d,]+) cycles.*between the two halves: ([\d,]+)\. "
    said = re.search(words, prose("07_hopper"))
    assert [number(each) for each in said.groups()] == [of["cluster"], of["complete"]]
    for name, cell in ("cluster", "C-time-cluster"), ("complete", "C-time-complete"):
        assert f"epilogue: {of[name]:,} cycles" in printed("07_hopper", cell)


def test_where_the_model_of_the_epilogue_is_too_good():
    text = prose("07_hopper")
    kernel, launch = sources.lesson_kernel("07_hopper", "complete")
    seam = timeline(kernel, Gemm(8192, 8192, 512, "float16"), launch, model=True).parts["seam"]
    of_warp = {each.warp: each.begin for each in seam.events if each.phase == "epilogue" and each.begin > 0}
    apart = max(of_warp.values()) - min(of_warp.values())
    said = re.search(r"comes to its epilogue about (\d+) cycles before", text)
    assert int(said[1]) == round(apart, -1)
    assert seam.spans["tensor cores"] == [[0, seam.length]]  # no gap
    assert seam.spans["stores"] and seam.spans["stores"][-1][1] < seam.length  # under math
    kernel, launch = sources.lesson_kernel("07_hopper", "cluster")
    seam = timeline(kernel, Gemm(8192, 8192, 512, "float16"), launch, model=True).parts["seam"]
    (_, rest), (work, _) = seam.spans["tensor cores"]
    assert seam.spans["stores"][0][0] < rest + 100 and work - rest > 5000
    together = int(re.search(r"begin their epilogues within (\d+) cycles", text)[1])
    apart = 0
    for name in "cluster", "complete":
        found = begins(recorded("07_hopper", name), "end", "epilogue").values()
        apart = max(apart, max(found) - min(found))
    assert together == 10 * ceil(apart / 10)


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


def test_the_waves_of_lesson_07():
    roles, persistent = (
        noted("07_hopper", name, Gemm(8192, 8192, 8192, "float16")) for name in ("roles", "persistent")
    )
    text = prose("07_hopper")
    tiles = Counter(Counter(roles[:, 0]).values())
    waves = f"`roles` has {len(roles)} blocks in {len(roles) / 132:.1f} waves"
    words = f"{waves}: {tiles[15]} SMs make 15 tiles, {tiles[16]} make 16."
    assert words in text and len(set(persistent[:, 0])) == len(persistent) == 132
    ends = np.sort(persistent[:, 2])
    words = f"64 blocks end at {ends[63]:,.0f} us or before, the others at {ends[64]:,.0f} us or later"
    assert words in text
    assert f"The gain, {ends[-1]:,.0f} us instead of {roles[:, 2].max():,.0f}," in text


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
    assert said("Nothing that the spread does not cover: {} us against {}", "deeper/06_stream_k") == [
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
    cublas, fastest = row_of("cuBLAS", 4096), row_of("05 fastest", 4096)
    times = round(cublas["tflops"] / fastest["tflops"], 2)
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
    assert "yours" not in re.findall(
        r"^\d  (\w+)", printed("deeper/06_own_gemm", "own-ranking"), re.MULTILINE
    )


def test_what_each_step_of_lesson_07_gains():
    def gains(label: str, over: str) -> list[int]:
        """Percent, in bursts and when it runs on and on."""
        new, old = row_of(label, 8192), row_of(over, 8192)
        return [round(100 * new[each] / old[each] - 100) for each in ("tflops", "sustained")]

    words = "A gain of {} % in bursts and of {} % when the kernel runs on and on"
    assert said(words, "07_hopper") == gains("persistent", "roles")
    assert gains("persistent, groups of 4", "persistent") == [-3, -4]  # "lose three or four percent"
    assert min(gains("persistent, groups of 16", "persistent")) > 0
    assert min(gains("persistent, 128 blocks", "persistent")) > 0
    words = "over the same number of blocks is {} % in bursts, and {} % when they run on and on"
    assert said(words, "07_hopper") == gains("cluster", "persistent, 128 blocks")
    assert gains("roles", "roles, 4 slots, no setmaxnreg") == [0, 0]  # "`setmaxnreg` changes nothing"
    words = "in the run of the others cuBLAS had {} TFLOP/s."
    assert said(words, "07_hopper") == [round(row_of("complete", 4096)["cublas_tflops"])]


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
    us = [tuned().best((4096, 4096, K))[1] for K in (4096, 128)]
    words = "The product alone takes {} us at K = 4096 and {} at K = 128"
    assert said(words, "06_complete_gemm") == [round(each) for each in us]


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
