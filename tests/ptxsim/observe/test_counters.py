"""The counters on micro-kernels and on the lessons' kernels, against what Nsight Compute counted on an H100
(tests/golden/ncu_h100.json).

Wavefronts of loads and stores are those that the hardware counted. It does not count those of asynchronous copies that
bypass L1 (.cg), so these are compared with ncu's source metric, which ncu computes from the addresses.
"""

import json

import pytest

from ptxsim import compile, launch
from tests.kernels.case import Case
from tests.kernels.case import fingerprint as case_fingerprint
from tests.kernels.lesson_cases import LESSON_CASES, lesson_case
from tests.kernels.micro_kernels import MICRO, Micro, fingerprint
from tests.rules import ROOT, missing

FILE = ROOT / "tests" / "golden" / "ncu_h100.json"
HOW_TO_RECORD = "run `python -m tools.author.frozen_ncu` on a machine with an H100"
FROZEN = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {"kernels": {}}
NCU = FROZEN["kernels"]
LESSONS = FROZEN.get("lessons", {})

SHARED = ("shared_wavefronts", "shared_wavefronts_ideal")
GLOBAL = ("global_requests", "global_sectors", "global_sectors_ideal")

DIFFERENT: dict[tuple[str, str], tuple[float, float, str]] = {
    ("cp_async_cg_16_first_13", "shared_wavefronts"): (
        2, 3, "one wavefront more where eight lanes copy whole sectors and half a sector"
    ),
    ("cp_async_cg_16_but_one", "shared_wavefronts"): (
        4, 5, "one wavefront more where eight lanes copy whole sectors and half a sector"
    ),
    ("cp_async_ca_4_random_to_random", "shared_wavefronts"): (
        2, 3, "conflicts of both sides at once cost more than the larger of them"
    ),
}  # fmt: skip
"""(micro-kernel, counter) -> (simulated, on the H100, the rule that would explain it); per warp."""


def measured(micro: Micro) -> dict[str, float]:
    """What ncu counted, per warp, under the names of the simulator's counters."""
    ncu = NCU[micro.name]

    def both(metric: str) -> int:
        return sum(ncu.get(f"{metric}_op_{way}.sum", 0) for way in ("ld", "st", "atom", "red"))

    source = ncu["memory_l1_wavefronts_shared"]
    bypass = "cp_async" in micro.name
    found = {
        "shared_wavefronts": source if bypass else both("l1tex__data_pipe_lsu_wavefronts_mem_shared"),
        "shared_wavefronts_ideal": ncu["memory_l1_wavefronts_shared_ideal"],
        "global_requests": both("l1tex__t_requests_pipe_lsu_mem_global"),
        "global_sectors": both("l1tex__t_sectors_pipe_lsu_mem_global"),
        "global_sectors_ideal": ncu["memory_l2_theoretical_sectors_global_ideal"],
    }
    return {name: value / micro.warps for name, value in found.items()}


def simulated(micro: Micro) -> dict[str, float]:
    """What the simulator counts, per warp."""
    kernel = compile(micro.source, micro.kernel, ("--std=c++17",))
    report = launch(kernel, micro.grid, micro.block, micro.make(), shared_mem=micro.shared_mem)
    return {name: getattr(report.counters.total, name) / micro.warps for name in (*SHARED, *GLOBAL)}


def test_there_are_enough_micro_kernels():
    assert len(MICRO) == len({micro.name for micro in MICRO}) > 200
    assert {micro.what for micro in MICRO} == {"shared", "global"}


@pytest.mark.parametrize("micro", MICRO, ids=lambda micro: micro.name)
def test_counters_are_those_of_ncu(micro):
    if micro.name not in NCU:
        missing(f"counts; {HOW_TO_RECORD}")
    assert NCU[micro.name]["fingerprint"] == fingerprint(micro), f"the micro-kernel changed; {HOW_TO_RECORD}"
    ours, theirs = simulated(micro), measured(micro)
    for counter in (*SHARED, *GLOBAL):
        pair = (ours[counter], theirs[counter])
        listed = DIFFERENT.get((micro.name, counter))
        if listed:
            assert pair == listed[:2], f"{counter}: listed as {listed[:2]}"
        else:
            assert pair[0] == pair[1], f"{counter}: simulated {pair[0]:g}, on the H100 {pair[1]:g} per warp"


def test_listed_differences_are_differences():
    names = {micro.name for micro in MICRO}
    for (name, counter), (ours, theirs, why) in DIFFERENT.items():
        assert name in names and counter in (*SHARED, *GLOBAL)
        assert ours != theirs and why


# --------------------------------------------------------------------------- the lessons' kernels

OFF = "the H100 counts a copy also where its predicate is false in all lanes, behind the last k-tile"
CHARGED = "ncu's source metric charges 16 copies that no lane makes, behind the last k-tile"
LINES = "rows of 64 bytes, 192 bytes apart: 8 wavefronts a copy on the H100; the rule, fitted to micro-kernels, says 4"
EMPTY = (
    "ncu counts no request for 192 copies that only fill zeros, behind the last k-tile; the simulator does"
)
ZEROS = "120 wavefronts stand with the stores there; probably those that fill zeros. The sum is the same"
BY_CHANCE = {
    (f"lesson.{kernel}", counter)
    for kernel in ("fp32_best", "fastest")
    for counter in ("wavefronts of copies", "ideal wavefronts", "ideal global sectors")
}
"""Not compared: these kernels make copies by predicate, and ncu's source metrics charge those that no lane makes for
whatever their addresses are. Two recordings of one binary gave 128 and 512 wavefronts for the copies of fp32_best."""
NOISE = 1
"""A counter of wavefronts may be one off: of double_buffer a recording counted 3841 wavefronts, another one 3840."""
LESSONS_DIFFERENT: dict[tuple[str, str], tuple[int, int, str]] = {
    ("lesson.saxpy", "fma"): (32, 31, "threads over 32 there; the last warp has 8 threads at work"),
    ("lesson.early_copy", "cp.async"): (48, 64, OFF),
    ("lesson.early_copy", "wavefronts of copies"): (192, 704, CHARGED + ", 32 wavefronts each"),
    ("lesson.early_copy", "ideal wavefronts"): (2496, 2560, CHARGED),
    ("lesson.early_copy", "ideal global sectors"): (2816, 3072, CHARGED),
    ("lesson.early_issue", "cp.async"): (96, 112, OFF),
    ("lesson.example_two_buffers", "cp.async"): (96, 112, OFF),
    ("lesson.example_double_buffer", "cp.async"): (96, 112, OFF),
    ("lesson.double_buffer", "cp.async"): (48, 64, OFF),
    ("lesson.fp32_best", "cp.async"): (48, 80, OFF),
    ("lesson.plain_tile", "wavefronts of copies"): (384, 768, LINES),
    ("lesson.warp_tile", "wavefronts of copies"): (384, 768, LINES),
    ("lesson.one_stage", "wavefronts of copies"): (576, 1152, LINES),
    ("lesson.ring", "wavefronts of copies"): (576, 1152, LINES),
    ("lesson.three_stage", "wavefronts of copies"): (576, 1152, LINES),
    ("lesson.three_stage", "cp.async"): (144, 240, OFF),
    ("lesson.fastest", "cp.async"): (288, 480, OFF),
    ("lesson.complete", "global requests"): (608, 416, EMPTY),
    ("lesson.complete", "wavefronts of copies"): (1920, 1800, ZEROS),
    ("lesson.complete", "wavefronts of loads and stores"): (5376, 5496, ZEROS),
    ("lesson.complete", "ideal global sectors"): (6656, 6720, CHARGED),
}  # fmt: skip
"""(notebook.kernel, counter) -> (simulated, on the H100, why); sums over the launch."""


def lesson_measured(ncu: dict) -> dict[str, int]:
    """What ncu counted in a launch, under the names of `lesson_simulated`; without metrics that ncu did not know."""

    def both(metric: str) -> int:
        return sum(ncu[f"{metric}_op_{way}.sum"] for way in ("ld", "st"))

    wavefronts = both("l1tex__data_pipe_lsu_wavefronts_mem_shared")
    found = {
        "wavefronts of loads and stores": wavefronts,
        "wavefronts of copies": ncu["memory_l1_wavefronts_shared"] - wavefronts,
        "ideal wavefronts": ncu["memory_l1_wavefronts_shared_ideal"],
        "global requests": both("l1tex__t_requests_pipe_lsu_mem_global"),
        "global sectors": both("l1tex__t_sectors_pipe_lsu_mem_global"),
        "ideal global sectors": ncu["memory_l2_theoretical_sectors_global_ideal"],
        "cp.async": ncu["smsp__inst_executed_op_ldgsts.sum"],
        "ldmatrix": ncu["smsp__inst_executed_op_ldsm.sum"],
    }
    tensor = [ncu[name] for name in ncu if name.endswith("pipe_tensor_op_hmma.sum")]
    ffma = ncu.get("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum")
    found |= {"mma": tensor[0]} if tensor else {}
    return found | ({"fma": ffma // 32} if ffma is not None else {})


def lesson_simulated(case: Case) -> dict[str, int]:
    """What the simulator counts in a launch. A line that copies holds no other access to shared memory."""
    kernel = compile(case.source, case.kernel, case.options)
    counters = launch(kernel, case.grid, case.block, case.make(), shared_mem=case.shared_mem).counters
    total, lines = counters.total, counters.by_line.values()
    assert not any(line.cp_async and (line.shared_loads or line.shared_stores) for line in lines)
    copies = sum(line.shared_wavefronts for line in lines if line.cp_async)
    return {
        "wavefronts of loads and stores": total.shared_wavefronts - copies,
        "wavefronts of copies": copies,
        "ideal wavefronts": total.shared_wavefronts_ideal,
        "global requests": total.global_requests,
        "global sectors": total.global_sectors,
        "ideal global sectors": total.global_sectors_ideal,
        "cp.async": total.cp_async,
        "ldmatrix": total.ldmatrix,
        "mma": total.mma,
        "fma": total.fma,
    }


def test_counters_of_the_lessons_kernels_are_those_of_ncu():
    """Every lesson kernel that is recorded with its present text."""
    compared, different = set(), {}
    for case in (lesson_case(*which) for which in LESSON_CASES if which[-1] == "random"):
        recorded = LESSONS.get(case.name)
        if not recorded or recorded["fingerprint"] != case_fingerprint(case):
            continue
        name = case.name.removesuffix(".random")
        compared.add(name)
        ours = lesson_simulated(case)
        for counter, theirs in lesson_measured(recorded).items():
            # ptxas loads some constants with HFMA2.MMA, which the pipe of the tensor cores executes.
            constants = counter == "mma" and not ours["mma"]
            if (name, counter) in BY_CHANCE or constants:
                continue
            if abs(ours[counter] - theirs) > NOISE * counter.startswith("wavefronts"):
                different[name, counter] = ours[counter], theirs
    assert different == {key: listed[:2] for key, listed in LESSONS_DIFFERENT.items() if key[0] in compared}
