"""What lessons 06 and 07 and the README say, held against the record and against the outputs beside it."""

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest

from course_lib import HOPPER, sass, tuned
from course_lib.gpu import cupy_on_numpy
from course_lib.lessons import sources
from course_lib.measure import records
from course_lib.measure.events import from_rows

ROOT = Path(__file__).resolve().parent.parent.parent
README, ASSETS = (ROOT / "README.md").read_text(encoding="utf-8"), ROOT / "assets"
RECORD = json.loads(records.files()[0].read_text(encoding="utf-8"))


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
        ("06_complete_gemm", "my_price", r"as fast as before"),
        ("06_complete_gemm", "my_order", r"2\.1"),
        ("06_complete_gemm", "my_faults", r"\bfive\b[^.]{0,40}\bfaults|\bfaults\b[^.]{0,40}\bfive\b"),
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
    said = re.search(r"whose threads take (\d+) registers", prose("06_complete_gemm"))
    code = "\n".join(source(cell) for cell in cells("06_complete_gemm") if cell["cell_type"] == "code")
    assert int(said[1]) == registers == int(re.search(r"blocks_on_sm\(threads, (\d+), shared\)", code)[1])


def test_what_two_slots_cost():
    times, factors = tuned().times[8192, 8192, 8192], {1: [], 2: []}
    for plan, us in times.items():
        three = replace(plan, stages=3)
        if plan.stages == 2 and three in times:
            factors[tuned().at_once(three)].append(round(100 * (us / times[three] - 1)))
    said = re.search(
        r"(\d+) to (\d+) % longer where only one block fits on an SM, and (\d+) %", prose("06_complete_gemm")
    )
    assert [int(number) for number in said.groups()] == [min(factors[1]), max(factors[1]), *factors[2]]


def test_the_price_of_any_shape_has_one_number():
    words = r"`fastest` took ([\d.]+) us and `matmul` ([\d.]+) in one run.*any shape costs ([\d.]+) %"
    said = re.search(words, prose("06_complete_gemm"))
    fastest, ours, percent = map(float, said.groups())
    assert round(100 * (ours / fastest - 1), 1) == percent
    assert f"price of any shape, %: no prediction; it is {percent:.2g}" in printed(
        "06_complete_gemm", "score"
    )


@pytest.mark.parametrize(
    ("notebook", "cell"), [("06_complete_gemm", "roof-bound"), ("07_hopper", "C-limits-seen")]
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


def test_a_turn_of_the_ring():
    (row,) = (
        row for row in speeds("ring", 4096) if row["tile"] == [128, 256, 64] and row["registers"] == 154
    )
    text = prose("07_hopper")
    assert f"4,194,304 / {row['flop_per_clock']}" in text
    assert f"{round(4_194_304 / row['flop_per_clock']):,} by the ring's speed" in text
    (rows,) = (
        each["events"] for each in RECORD["timelines"].values() if each["kernel"] == "ring" and each["threads"] == 256
        and each["shape"] == [8192] * 3
    )  # fmt: skip
    turns = []
    for warp in (0, 2, 4, 6):
        events = (event for event in from_rows(rows) if (event.warp, event.phase) == (warp, "math"))
        begins = sorted(event.begin for event in events)
        turns.append(round(median(b - a for a, b in pairwise(begins)), -2))
    said = re.search(r"a turn of this traced block takes ([\d,]+) to ([\d,]+) cycles", text)
    assert [int(number.replace(",", "")) for number in said.groups()] == [min(turns), max(turns)]


def test_what_several_blocks_leave_of_lesson_02s_gain():
    def fastest(kernel: str, alone: bool) -> float:
        return max(row["tflops"] for row in speeds(kernel, 4096) if bool(row["shared_mem"]) == alone)

    together = fastest("one_buffer", False)
    of_four = [
        row for row in speeds("specialised", 4096) if row["label"] in ("producer warps", "4 producer warps")
    ]
    gains = [100 * (row["tflops"] / together - 1) for row in of_four]
    said = re.search(r"(\d+) to (\d+) % are left \(lesson 02\)", README)
    assert [int(number) for number in said.groups()] == [round(gain) for gain in sorted(gains)]
    share = 100 * fastest("one_buffer", True) / fastest("specialised", True)
    assert f"takes {share:.0f} % of the time of the first" in " ".join(README.split())


def test_sums_of_a_thread_of_two_buffers():
    source = sources.kernel_source("03_double_buffer", "two_buffers")
    rows, columns = re.search(r"float acc\[(\d+)\]\[(\d+)\]", source).groups()
    assert f"`two_buffers` (lesson 03): {rows} x {columns} sums in each thread" in prose("06_complete_gemm")


def test_what_fastest_reads_from_memory():
    """The words about the target of 1000 GB/s."""
    counted = [entry["metrics"] for entry in RECORD["profiles"].values()]
    rates = [1e3 * each["bytes from DRAM, GB"] / each["time, us"] for each in counted]
    (fastest,) = (each["metrics"] for each in RECORD["profiles"].values() if each["kernel"] == "fastest")
    gigabytes, ms = fastest["bytes from DRAM, GB"], fastest["time, us"] / 1000
    said = f"`fastest` reads {gigabytes:.2f} GB in {ms:.2f} ms, {gigabytes / ms:.1f} TB/s"
    assert said in prose("06_complete_gemm") and max(rates) < 1
    assert f"serve the rest, at {fastest['bytes from L2, TB/s']:.0f} TB/s" in prose("06_complete_gemm")


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
