"""Instructions of tests/kernels/newer.py: nothing is reported, and the numbers are NumPy's and an H100's."""

import numpy as np
import pytest

import ptxsim
from tests.kernels.case import fingerprint, mismatch
from tests.kernels.golden import load
from tests.kernels.newer import CASES, FROZEN
from tests.ptxsim.small_kernels import run
from tests.ptxsim.test_kernels import assert_right, simulate
from tests.sample import one_in

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@every_case
@pytest.mark.parametrize("seed", one_in(2, [None, 1]))
def test_it_gives_the_reference_and_no_report(case, seed):
    assert_right(case, *simulate(case, seed))


def test_it_gives_what_is_frozen():
    """Of cases that are frozen; each belongs to the source, launch and inputs of its case."""
    frozen = load(FROZEN)
    for case in CASES if frozen else ():
        if case.name in frozen.cases:
            assert frozen.cases[case.name]["fingerprint"] == fingerprint(case), case.name
            _, args, _ = simulate(case)
            for index, expected in frozen.outputs(case.name).items():
                assert not (wrong := mismatch(case, index, expected, args[index])), f"{case.name}: {wrong}"


@every_case
def test_its_reference_rejects_a_kernel_that_does_nothing(case):
    args = case.make()
    assert any(mismatch(case, index, array, args[index]) for index, array in case.reference(args).items())


MEETS = """#include <cooperative_groups.h>
extern "C" __global__ void k(int* x) { cooperative_groups::this_grid().sync(); x[threadIdx.x] = gridDim.x; }
"""


def test_a_launch_that_is_not_cooperative_has_no_grid_to_meet():
    report = ptxsim.launch(ptxsim.compile(MEETS, "k"), 2, 32, (np.zeros(32, np.int32),))
    assert report.hazards[-1].kind == "trap" and "launch(..., cooperative=True)" in str(report), report


def test_a_cooperative_launch_is_as_large_as_a_gpu_at_most():
    kernel, x = ptxsim.compile(MEETS, "k"), np.zeros(1024, np.int32)
    assert ptxsim.launch(kernel, 264, 1024, (x,), cooperative=True).brief() == "no hazard"
    with pytest.raises(ptxsim.LaunchError, match=r"launch of 265 blocks, .* holds 264 of them at once"):
        ptxsim.launch(kernel, 265, 1024, (x,), cooperative=True)


def test_who_leaves_a_grid_out_waits_for_ever():
    source = MEETS.replace("{ coop", "{ if (blockIdx.x == 1) return; coop")
    report = ptxsim.launch(ptxsim.compile(source, "k"), 3, 32, (np.zeros(32, np.int32),), cooperative=True)
    assert report.hazards[
        -1
    ].kind == "deadlock" and "Each block of the grid must come to each grid.sync()" in str(report), report


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("atomicAdd((float2*)(x + 1), make_float2(1, 2));", "an atomic of 8 bytes at address 0x10000000004"),
        ("atomicAdd((float4*)(x + 2), make_float4(1, 2, 3, 4));", "must be a multiple of 16"),
        (
            "struct alignas(16) T { long long a, b; }; atomicExch((T*)(x + 2), T{1, 2});",
            "must be a multiple of 16",
        ),
    ],
)
def test_an_atomic_of_many_bytes_is_aligned_to_them(body, words):
    report = run(body, np.zeros(64, np.float32), parameters="float* x", options=("-arch=sm_90a",), block=1)
    assert report.hazards[0].kind == "misaligned" and words in report.hazards[0].message, report


def test_an_atomic_of_several_values_races_with_a_store():
    body = "atomicAdd((float2*)x, make_float2(1, 2)); if (t == 40) x[1] = 3;"
    report = run(body, np.zeros(4, np.float32), parameters="float* x", options=("-arch=sm_90a",), block=64)
    assert "write-after-write" in [hazard.kind for hazard in report.hazards], report
