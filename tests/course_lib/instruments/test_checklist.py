"""The checklist: a kernel that meets everything, and for each item one that misses it, and if possible no other."""

from dataclasses import replace

import pytest

from course_lib import Gemm, Launch, edited, lesson_kernel
from course_lib.check.job import Job
from course_lib.check.verdict import CheckFailed
from course_lib.instruments import checklist
from course_lib.instruments.checklist import COPIES, compute, memory, resources
from course_lib.instruments.evidence import Busy, Evidence
from course_lib.measure import records
from ptxsim import HazardError
from tests.lessons import kernel

SOURCE = r"""
#include <course/cp_async.cuh>
constexpr int TM = 64, TN = 64, TK = 32, THREADS = 256;

extern "C" __global__ void __launch_bounds__(THREADS)
good(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ __align__(16) float As[2][TK][TM], Bs[2][TK][TN], spare[TK][TM];
    int t = threadIdx.x, m = t % 16 * 4, n = t / 16 * 4;
    float sum[4][4] = {};
    A += blockIdx.x * TM, B += blockIdx.y * TN, C += blockIdx.x * TM + m + (size_t)(blockIdx.y * TN + n) * M;
    auto issue = [&](int k_tile) {
        if (k_tile < K / TK)
            for (int turn = 0; turn < TK * TM / 4 / THREADS; ++turn) {
                int k = turn * THREADS / 16 + t / 16, i = t % 16 * 4;
                copy_async<16>(&As[k_tile % 2][k][i], &A[k * M + i]);
                copy_async<16>(&Bs[k_tile % 2][k][i], &B[k * N + i]);
            }
        commit_group();
        A += TK * M, B += TK * N;
    };
    issue(0);
    for (int k_tile = 0; k_tile < K / TK; ++k_tile) {
        wait_group<0>();
        __syncthreads();
        issue(k_tile + 1);
        #pragma unroll
        for (int k = 0; k < TK; ++k) {
            float4 a = *(float4*)&As[k_tile % 2][k][m], b = *(float4*)&Bs[k_tile % 2][k][n];
            float rows[4] = {a.x, a.y, a.z, a.w}, columns[4] = {b.x, b.y, b.z, b.w};
            for (int i = 0; i < 4; ++i) for (int j = 0; j < 4; ++j) sum[i][j] += rows[i] * columns[j];
        }
    }
    for (int j = 0; j < 4; ++j) *(float4*)&C[j * M] = make_float4(sum[0][j], sum[1][j], sum[2][j], sum[3][j]);
}
"""

COPY_A = "copy_async<16>(&As[k_tile % 2][k][i], &A[k * M + i]);"
COPY_B = "copy_async<16>(&Bs[k_tile % 2][k][i], &B[k * N + i]);"
STORE = "*(float4*)&C[j * M] = make_float4(sum[0][j], sum[1][j], sum[2][j], sum[3][j]);"
TURN = "turn < TK * TM / 4 / THREADS"
PLACE = "k = turn * THREADS / 16 + t / 16, i = t % 16 * 4;"
LATE = "wait_group<0>();\n        __syncthreads();\n        issue(k_tile + 1);"
ALSO = {
    "unrolled": "overhead",
    "spills": "overhead",
}  # a counter and its branch; loads and stores of what was spilled
VARIANTS = {
    "coalesced": [(STORE, "for (int i = 0; i < 4; ++i) C[j * M + i] = sum[i][j];")],
    "wide copies": [
        (TURN, TURN.replace("/ 4", "/ 2")),
        (PLACE, PLACE.replace("16", "32").replace("4", "2")),
        (COPY_A, COPY_A.replace("16", "8")),
        (COPY_B, COPY_B.replace("16", "8")),
    ],
    "bank conflicts": [("m = t % 16 * 4,", "m = (t % 2 * 8 + t % 16 / 2) * 4,")],
    "redundant loads": [(COPY_B, COPY_B + " " + COPY_A.replace("As[k_tile % 2]", "spare"))],
    "pipeline depth": [
        ("    issue(0);\n", ""),
        (
            LATE,
            "__syncthreads();\n        issue(k_tile);\n        wait_group<0>();\n        __syncthreads();",
        ),
    ],
    "unrolled": [("#pragma unroll\n", "#pragma unroll 16\n")],
    "overhead": [
        ("float sum", "int mixed = m; float sum"),
        ("float4 a =", "mixed = __popc(mixed) ^ n; mixed = __popc(mixed) + m; float4 a ="),
        (STORE, "if (mixed != -1) " + STORE),
    ],
    "spills": [("(THREADS)", "(THREADS, 8)")],
}
LAUNCH = Launch((64, 64, 32), 256)


@pytest.fixture
def busy(monkeypatch):
    """A busy GPU, so that no test waits for the model."""
    monkeypatch.setattr(Evidence, "busy", Busy(88, "recorded elsewhere", True))


def listed(*changes: tuple[str, str], gemm=Gemm(1024, 1024, 128)):  # noqa: B008
    return checklist(kernel(edited(SOURCE, *changes), "good"), gemm, LAUNCH)


def test_a_kernel_that_meets_everything(busy):
    found = listed()
    assert found.missed == () and len(found.items) == 12
    assert str(found).startswith("good, 1024 x 1024 x 128 float32: 12 of 12 met\n✓  coalesced ")
    assert found["spills"].value == "0 bytes" and "<td>✓</td><td>spills</td>" in found._repr_html_()
    with pytest.raises(KeyError, match="there is no item 'spill'; items: coalesced, wide copies, "):
        _ = found["spill"]


@pytest.mark.parametrize("name", VARIANTS)
def test_a_kernel_that_misses_one(busy, name):
    assert set(listed(*VARIANTS[name]).missed) - {ALSO.get(name)} == {name}


def test_items_by_what_was_found():
    """What no kernel can have that runs, or what depends on measurements."""
    found = Evidence(Job(kernel(SOURCE, "good"), Gemm(1024, 1024, 128), LAUNCH))
    needs = found.needs

    def missed(items):
        return [item.name for item in items if item.ok is False]

    assert missed(resources(found)) == []
    found.needs = replace(needs, occupancy=replace(needs.occupancy, warps=4, share=1 / 16))
    assert missed(resources(found)) == ["occupancy"]
    found.needs = replace(needs, dynamic_shared=230 << 10)
    assert missed(resources(found)) == ["shared memory"]
    found.needs, found.launch = needs, found.launch.but(threads=(32, 32))
    assert missed(resources(found)) == []
    found.needs = replace(needs, registers=65)  # of 1024 threads
    assert missed(resources(found)) == ["registers"]

    found.busy = Busy(79.0, "recorded", True)
    assert missed(compute(found)) == ["math units busy"]
    found.busy = Busy(79.0, "the model", False)
    assert (
        compute(found)[0].ok is None
        and compute(found)[0].value == "not measured; 79 % FMA units in the model"
    )
    found.busy = Busy(None, "no measurement, and no model: a branch depends on data, at line 9", False)
    assert (compute(found)[0].ok, compute(found)[0].value) == (None, "not measured")
    found.code = found.loop = None  # no nvdisasm here
    assert [item.ok for item in (memory(found)[1], *compute(found)[2:])] == [None] * 3


def test_how_busy_the_units_are(monkeypatch):
    """From the profiler's record; without it from a speed; without both from the model."""
    found = Evidence(Job(kernel(SOURCE, "good"), Gemm(1024, 1024, 128), LAUNCH))
    of_h100 = {"gpu": "H100", "date": "2026-11-22"}
    known = {
        "profiles": {**of_h100, "metrics": {"FMA units busy, %": 75.0}},
        "speeds": {**of_h100, "tflops": 9.0, "median_us": 30.0, "flop_per_clock": 64},
    }
    monkeypatch.setattr(records, "find", lambda part, key: known.get(part))
    assert found.busy == Busy(75.0, "recorded by Nsight Compute on H100, 2026-11-22", True)
    known.pop("profiles"), vars(found).pop("busy")
    assert found.busy == Busy(25.0, "the speed, recorded on H100, 2026-11-22", True)
    known.pop("speeds"), vars(found).pop("busy")
    assert not found.busy.measured and 0 < found.busy.percent < 100


def test_a_wrong_kernel_has_no_checklist(busy):
    with pytest.raises(HazardError):
        listed(("        __syncthreads();\n", ""))
    with pytest.raises(CheckFailed, match="a checklist is for a kernel that is right"):
        listed(("sum[i][j] +=", "sum[i][j] -="))


def test_other_warps_may_copy():
    """Lesson 02's producer warps: those that multiply copy nothing, and there are two slots."""
    one, launch = lesson_kernel("02_producer_consumer", "specialised")
    found = Evidence(Job(one, Gemm(1024, 1024, 128), launch))
    assert (found.on_their_way, found.slots, found.math_of_a_k_tile) == (1, 2, 512)


def test_a_ring_keeps_two_k_tiles_on_their_way():
    one, launch = lesson_kernel("05_three_stage", "ring")
    assert Evidence(Job(one, Gemm(1024, 1024, 128, "float16"), launch)).on_their_way == 2


def test_no_kernel_fails_for_what_its_copies_take(busy):
    """Lesson 05 says that copies into shared memory cost next to nothing beside reads. The counter has them twice."""
    staged, launch = lesson_kernel("05_three_stage", "three_stage")
    gemm = Gemm(256, 256, 256, "float16")
    total = Evidence(Job(staged, gemm, launch)).total
    found = checklist(staged, gemm, launch)["bank conflicts"]
    assert total.shared_wavefronts > 1.2 * total.shared_wavefronts_ideal
    assert found.ok and found.value.startswith("1.00 x") and "Most of it" not in found.why


def test_reads_with_conflicts_fail_and_are_named(busy):
    reads = str(listed(*VARIANTS["bank conflicts"]))
    assert "Most of it in line" in reads and COPIES.strip() in reads
