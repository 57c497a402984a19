"""Copy engine and tensor cores see what threads wrote behind a fence.proxy.async that lies between the two."""

import numpy as np
import pytest

import ptxsim
from tests.ptxsim.units.test_mbarrier import HOPPER, OPS

BULK = (
    OPS
    + r"""
__device__ void load(void* to, const void* from, int bytes, u64* b)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(at(to)), "l"(from), "r"(bytes), "r"(at(b)) : "memory");
}
__device__ void store(void* to, const void* from, int bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 :: "l"(to), "r"(at(from)), "r"(bytes) : "memory");
}
__device__ void add(void* to, const void* from, int bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;"
                 :: "l"(to), "r"(at(from)), "r"(bytes) : "memory");
}
__device__ void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ void wait_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
__device__ void wait_all() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
__device__ void fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ void fence_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
__device__ void fence_all() { asm volatile("fence.proxy.async;" ::: "memory"); }
extern "C" __global__ void k(int* g, int* y)
{
    __shared__ alignas(128) int s[128];
    __shared__ u64 bar[4];
    int t = threadIdx.x;
    if (t < 4) init(&bar[t], t < 3 ? 1 : 64);
    __syncthreads();
"""
)
END = "if (t == 0) { store(y, s, 512); commit(); wait_read(); }"
LOAD = "expect(&bar[0], 512); load(s, g, 512, &bar[0]);"
READ = "wait(&bar[0], 0); y[t] = s[t];"
FLAG = "__threadfence(); __syncthreads(); if (t == 0) atomicExch(&g[255], 1); }"
AWAIT = "else { if (t == 0) { while (atomicAdd(&g[255], 0) == 0); __threadfence(); }\n__syncthreads();"


def run(body, grid=1, seed=None):
    g, y = np.zeros(256, np.int32), np.zeros(256, np.int32)
    kernel = ptxsim.compile(BULK + body + "\n}", "k", HOPPER)
    return ptxsim.launch(kernel, grid, 128, (g, y), seed=seed)


def case(name, body, grid=1):
    return pytest.param(body, grid, id=name)


UNFENCED = [
    # a fence of one thread before the barrier covers its own writes alone
    case("thread-0-before-the-barrier", f"s[t] = t; if (t == 0) fence(); __syncthreads(); {END}"),
    case("lane-0-of-each-warp", f"s[t] = t; if (t % 32 == 0) fence(); __syncthreads(); {END}"),
    case("warp-0", f"s[t] = t; if (t < 32) fence(); __syncthreads(); {END}"),
    case("before-its-own-write", f"fence(); s[t] = t; __syncthreads(); {END}"),
    case("before-an-arrival", "s[t] = t; if (t < 64) { if (t == 0) fence(); arrive(&bar[3]); }\n"
         "if (t == 64) { wait(&bar[3], 0); store(y, s, 256); commit(); wait_read(); }"),
    case("of-a-thread-that-nobody-waits-for",
         f"s[t] = t; __syncthreads(); if (t == 64) fence(); {END}"),
    case("of-another-space", f"s[t] = t; fence_global(); __syncthreads(); {END}"),
    case("an-atomic", f"s[t] = 0; fence(); __syncthreads(); atomicAdd(&s[t / 2], 1); __syncthreads(); {END}"),
    # global memory: loads, reductions, stores; the same block and another one
    case("load-of-what-its-thread-wrote", f"if (t == 0) {{ g[0] = 5; {LOAD} }} {READ}"),
    case("load-of-what-others-wrote", f"g[t] = t; __syncthreads(); if (t == 0) {{ {LOAD} }} {READ}"),
    case("load-behind-a-fence-for-shared-memory",
         f"g[t] = t; fence(); __syncthreads(); if (t == 0) {{ {LOAD} }} {READ}"),
    case("load-of-what-another-block-wrote",
         f"if (blockIdx.x == 0) {{ g[t] = t; {FLAG} {AWAIT} if (t == 0) {{ {LOAD} }} {READ} }}", 2),
    case("reduction-into-what-its-thread-wrote",
         "s[t] = t; fence(); __syncthreads(); if (t == 0) { g[0] = 5; add(g, s, 512); commit(); wait_all(); }"),
    case("store-over-what-others-wrote",
         "s[t] = t; y[t] = 7; fence(); __syncthreads(); " + END),
    # shared memory that a bulk load overwrites
    case("load-over-what-others-wrote", f"s[t] = 7; __syncthreads(); if (t == 0) {{ {LOAD} }} {READ}"),
    case("load-over-what-its-thread-wrote", f"if (t == 0) {{ s[5] = 7; {LOAD} }} {READ}"),
    case("load-over-what-others-wrote-behind-an-arrival",
         f"if (t < 64) {{ s[t] = 7; arrive(&bar[3]); }} if (t == 64) {{ wait(&bar[3], 0); {LOAD} }} {READ}"),
]  # fmt: skip

FENCED = [
    case("every-writer", f"s[t] = t; fence(); __syncthreads(); {END}"),
    case("the-storing-thread-behind-the-barrier",
         "s[t] = t; __syncthreads(); if (t == 0) { fence(); store(y, s, 512); commit(); wait_read(); }"),
    case("a-third-thread-between-two-barriers",
         f"s[t] = t; __syncthreads(); if (t == 64) fence(); __syncthreads(); {END}"),
    case("every-writer-before-an-arrival", "s[t] = t; fence(); if (t < 64) arrive(&bar[3]);\n"
         "if (t == 64) { wait(&bar[3], 0); store(y, s, 256); commit(); wait_read(); }"),
    case("the-reader-behind-a-wait", "s[t] = t; if (t < 64) arrive(&bar[3]);\n"
         "if (t == 64) { wait(&bar[3], 0); fence(); store(y, s, 256); commit(); wait_read(); }"),
    case("fences-in-a-loop", f"for (int i = 0; i < 3; ++i) {{ s[t] = i; fence(); __syncthreads();\n"
         f"{END.replace('wait_read', 'wait_all')}\n__syncthreads(); }}"),
    case("for-all-spaces", f"s[t] = t; fence_all(); __syncthreads(); {END}"),
    case("an-atomic", f"s[t] = 0; __syncthreads(); atomicAdd(&s[t / 2], 1); fence(); __syncthreads(); {END}"),
    case("load-of-what-its-thread-wrote", f"if (t == 0) {{ g[0] = 5; fence_global(); {LOAD} }} {READ}"),
    case("load-of-what-others-wrote", f"g[t] = t; fence_all(); __syncthreads(); if (t == 0) {{ {LOAD} }} {READ}"),
    case("another-block-fences-as-writer",
         f"if (blockIdx.x == 0) {{ g[t] = t; fence_all(); {FLAG} {AWAIT} if (t == 0) {{ {LOAD} }} {READ} }}", 2),
    case("another-block-fences-behind-the-acquire",
         f"if (blockIdx.x == 0) {{ g[t] = t; {FLAG} {AWAIT} if (t == 0) {{ fence_all(); {LOAD} }} {READ} }}", 2),
    case("reduction-into-what-its-thread-wrote",
         "s[t] = t; fence(); __syncthreads(); if (t == 0) { g[0] = 5; fence_all(); add(g, s, 512); commit(); "
         "wait_all(); }"),
    case("load-over-what-others-wrote", f"s[t] = 7; fence(); __syncthreads(); if (t == 0) {{ {LOAD} }} {READ}"),
    case("load-over-what-others-read",
         f"if (t == 0) {{ {LOAD} }} {READ} __syncthreads(); if (t == 0) {{ {LOAD} }} wait(&bar[0], 1);"),
    case("load-of-what-the-copy-engine-wrote", "s[t] = 1; fence(); __syncthreads();\n"
         f"if (t == 0) {{ store(g, s, 512); commit(); wait_all(); {LOAD} }} {READ}"),
    case("threads-read-what-the-copy-engine-wrote", f"if (t == 0) {{ {LOAD} }} {READ}"),
]  # fmt: skip


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize(("body", "grid"), UNFENCED)
def test_a_fence_is_missing(body, grid, seed):
    report = run(body, grid, seed)
    assert {hazard.kind for hazard in report.hazards} == {"missing-proxy-fence"}, str(report)


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize(("body", "grid"), FENCED)
def test_a_fence_lies_between(body, grid, seed):
    report = run(body, grid, seed)
    assert report.ok, str(report)


def test_a_race_is_told_once():
    """What nothing orders needs a barrier first."""
    report = run(f"s[t] = t; fence(); {END}")
    assert "missing-proxy-fence" not in {hazard.kind for hazard in report.hazards}, str(report)


OVER = f"s[t] = 7; __syncthreads(); if (t == 0) {{ {LOAD} }} {READ}"


@pytest.mark.parametrize(
    ("body", "verb"), [(OVER, "overwrite"), (f"s[t] = 7; __syncthreads(); {END}", "read")]
)
def test_the_report_says_what_the_engine_does(body, verb):
    assert f"lets the copy engine {verb} " in run(body).hazards[0].message


def test_what_an_older_fence_covers_is_not_blamed():
    report = run(
        "if (t < 64) s[t] = t; __syncthreads(); if (t == 64) fence(); __syncthreads();\n"
        f"if (t >= 64) s[t] = t; __syncthreads(); {END}"
    )
    (hazard,) = report.hazards
    assert "read s[64], which thread 64 wrote" in hazard.message, str(report)
