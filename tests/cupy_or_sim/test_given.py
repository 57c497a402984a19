"""What is no kernel, and no launch, is refused in words by everything that runs or measures one."""

import pytest

from course_lib import Gemm, Launch, benchmark, cp, simulate, timeline
from course_lib.instruments import bubbles, checklist, ncu, profile, sass, waves

GEMM, LAUNCH = Gemm(64, 64, 32), Launch((64, 64, 16), 256)
SOURCE = 'extern "C" __global__ void k(float* A, float* B, float* C, int M, int N, int K) {}'
RAW = r"cp\.RawKernel\(source, name, options=OPTIONS\)"
CALLS = {
    "check": lambda it, launch: GEMM.check(it, launch),
    "run": lambda it, launch: GEMM.run(it, launch),
    "one_block": lambda it, launch: GEMM.one_block(it, launch),
    "benchmark": lambda it, launch: benchmark(GEMM, {"mine": (it, launch)}),
    "profile": lambda it, launch: profile(GEMM, {"mine": (it, launch)}),
    "timeline": lambda it, launch: timeline(it, GEMM, launch),
    "waves": lambda it, launch: waves(it, GEMM, launch),
    "checklist": lambda it, launch: checklist(it, GEMM, launch),
    "bubbles": lambda it, launch: bubbles(it, GEMM, launch),
    "ncu": lambda it, launch: ncu(it, GEMM, launch, "--section Occupancy"),
}
ALONE = {"simulate": lambda it: simulate(it, 1, 32, ()), "sass": sass}


@pytest.mark.parametrize("call", CALLS)
def test_no_kernel_and_no_launch(call):
    with pytest.raises(TypeError, match=rf"expected {RAW}, got a str: the text 'tiled' cannot be launched"):
        CALLS[call]("tiled", LAUNCH)
    with pytest.raises(TypeError, match=r"expected a launch, such as Launch\(tile=.*got a int"):
        CALLS[call](cp.RawKernel(SOURCE, "k"), 256)


@pytest.mark.parametrize("call", [waves, checklist, bubbles, ncu, timeline], ids=lambda call: call.__name__)
def test_a_problem_where_a_kernel_stands_is_told_the_order(call):
    """All of them take the kernel, the problem, the launch."""
    kernel = cp.RawKernel(SOURCE, "k")
    words = "expected the kernel, then its problem, then its launch, got a Gemm, then a RawKernel"
    with pytest.raises(TypeError, match=words):
        call(GEMM, kernel, LAUNCH, *["--section Occupancy"] * (call is ncu))


@pytest.mark.parametrize("call", ALONE)
def test_no_kernel(call):
    with pytest.raises(TypeError, match=f"expected {RAW}, got a str: the source alone cannot be launched"):
        ALONE[call](SOURCE)


@pytest.mark.parametrize("kernels", [cp.RawKernel(SOURCE, "k"), {"mine": cp.RawKernel(SOURCE, "k")}, GEMM])
def test_no_kernels_by_label(kernels):
    with pytest.raises(TypeError, match=r'expected kernels by their labels, \{"mine": \(kernel, launch\)\}'):
        benchmark(GEMM, kernels)
