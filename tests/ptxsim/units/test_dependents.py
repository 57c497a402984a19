"""A launch that may begin before the kernel before it has ended: whoever touches global memory has waited."""

import numpy as np
import pytest

import ptxsim

HEAD = """
__device__ void wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
extern "C" __global__ void kernel(const int* x, int* y)
{
    __shared__ int there;
"""
COPY = "y[blockIdx.x * 64 + threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x] * 2;"


def run(body, dependent=True, blocks=2):
    x, y = np.arange(64 * blocks, dtype=np.int32), np.zeros(64 * blocks, np.int32)
    kernel = ptxsim.compile(HEAD + body + "\n}", "kernel")
    report = ptxsim.launch(kernel, (blocks,), (64,), (x, y), dependent=dependent)
    return report, bool((y == 2 * x).all())


@pytest.mark.parametrize("body", [
    "wait(); " + COPY,
    "there = 1; wait(); " + COPY,
    "if (threadIdx.x == 0) wait(); __syncthreads(); " + COPY,  # one thread waits for all
])  # fmt: skip
def test_who_waits_first_is_right(body):
    report, right = run(body)
    assert report.ok and right, str(report)


@pytest.mark.parametrize("body", [
    COPY,
    COPY + " wait();",
    "*(volatile const int*)x; wait(); " + COPY,
    "y[threadIdx.x] = 0; wait(); " + COPY,
    "if (blockIdx.x == 0) wait(); " + COPY,  # the other block does not
])  # fmt: skip
def test_who_touches_memory_before_is_reported(body):
    report, _ = run(body)
    assert {(hazard.kind, hazard.cause) for hazard in report.hazards} == {("block-conflict", "kernel-before")}
    assert "before its block has come to griddepcontrol.wait" in str(report)


def test_any_other_launch_need_not_wait():
    report, right = run(COPY, dependent=False)
    assert report.ok and right


def test_a_copy_of_the_copy_engine_counts_too():
    kernel = ptxsim.compile(COPIES, "kernel", ("-arch=sm_90a",))
    for wait, ok in (1, True), (0, False):
        x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
        report = ptxsim.launch(kernel, (1,), (32,), (x, y, np.int32(wait)), dependent=True)
        assert report.ok == ok, str(report)
        assert ok or {hazard.cause for hazard in report.hazards} == {"kernel-before"}


COPIES = """
extern "C" __global__ void kernel(const int* x, int* y, int wait)
{
    __shared__ __align__(16) int there[64];
    __shared__ unsigned long long barrier;
    unsigned to = __cvta_generic_to_shared(there), counts = __cvta_generic_to_shared(&barrier), done = 0;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;"
                     :: "r"(counts) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" :: "r"(counts) : "memory");
        if (wait) asm volatile("griddepcontrol.wait;" ::: "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                     :: "r"(to), "l"(x), "r"(counts) : "memory");
        while (!done)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(counts) : "memory");
        asm volatile("griddepcontrol.wait;" ::: "memory");
        for (int i = 0; i < 64; ++i) y[i] = there[i];
    }
}
"""
