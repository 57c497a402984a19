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
    __shared__ alignas(128) int s[256];
    __shared__ u64 bar[4];
    int t = threadIdx.x;
    if (t < 4) init(&bar[t], t < 3 ? 1 : 64);
    __syncthreads();
"""
)
END = "if (t == 0) { store(y, s, 512); commit(); wait_read(); }"
LOAD = "expect(&bar[0], 512); load(s, g, 512, &bar[0]);"
LOAD256 = "expect(&bar[0], 256); load(s, g, 256, &bar[0]);"
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
    case("load-over-what-its-thread-read", f"if (t == 0) {{ s[5] = 7; fence(); y[0] = s[5]; {LOAD} }} {READ}"),
    case("load-over-what-others-read",
         f"if (t == 0) {{ {LOAD} }} {READ} __syncthreads(); if (t == 0) {{ {LOAD} }} wait(&bar[0], 1);"),
    case("load-over-what-others-read-behind-a-fence-of-one",
         f"if (t == 0) {{ {LOAD} }} {READ} if (t == 0) fence(); __syncthreads(); if (t == 0) {{ {LOAD} }}\n"
         "wait(&bar[0], 1);"),
    case("load-over-what-others-read-behind-their-fence",
         f"if (t == 0) {{ {LOAD} }} wait(&bar[0], 0); fence(); y[t] = s[t]; __syncthreads(); if (t == 0) {{ {LOAD} }}\n"
         "wait(&bar[0], 1);"),
    case("load-over-what-others-read-before-an-arrival",
         f"if (t == 0) {{ {LOAD} }} {READ} if (t < 64) arrive(&bar[3]);\n"
         f"if (t == 0) {{ wait(&bar[3], 0); {LOAD256} }} wait(&bar[0], 1);"),
    case("load-over-what-others-read-in-the-second-turn",
         f"if (t == 0) {{ {LOAD} }} {READ} fence(); __syncthreads(); if (t == 0) {{ {LOAD} }} wait(&bar[0], 1);\n"
         f"y[t] += s[t]; __syncthreads(); if (t == 0) {{ {LOAD} }} wait(&bar[0], 0);"),
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
         f"if (t == 0) {{ {LOAD} }} {READ} fence(); __syncthreads(); if (t == 0) {{ {LOAD} }} wait(&bar[0], 1);"),
    case("load-over-what-others-read-behind-a-fence-of-the-copying-thread",
         f"if (t == 0) {{ {LOAD} }} {READ} __syncthreads(); if (t == 0) {{ fence(); {LOAD} }} wait(&bar[0], 1);"),
    case("load-over-what-others-read-behind-a-fence-of-a-third-thread",
         f"if (t == 0) {{ {LOAD} }} {READ} __syncthreads(); if (t == 64) fence(); __syncthreads();\n"
         f"if (t == 0) {{ {LOAD} }} wait(&bar[0], 1);"),
    case("load-over-what-others-read-before-an-arrival",
         f"if (t == 0) {{ {LOAD} }} {READ} fence(); if (t < 64) arrive(&bar[3]); else __syncwarp();\n"
         f"if (t == 0) {{ wait(&bar[3], 0); {LOAD256} }} wait(&bar[0], 1);"),
    case("load-over-what-its-thread-read", f"if (t == 0) {{ s[5] = 7; y[0] = s[5]; fence(); {LOAD} }} {READ}"),
    case("load-over-what-nobody-read-again",
         f"if (t == 0) {{ {LOAD} }} {READ} fence(); __syncthreads(); if (t == 0) {{ {LOAD} }} wait(&bar[0], 1);\n"
         f"__syncthreads(); if (t == 0) {{ {LOAD} }} wait(&bar[0], 0);"),
    case("load-beside-what-others-read",
         f"if (t == 0) {{ {LOAD} }} {READ} __syncthreads(); if (t == 0) {{ expect(&bar[0], 512);\n"
         "load(&s[128], g, 512, &bar[0]); } wait(&bar[0], 1);"),
    case("the-copy-engine-read-it", "s[t] = t; fence(); __syncthreads();\n"
         f"if (t == 0) {{ store(y, s, 512); commit(); wait_read(); {LOAD} }} wait(&bar[0], 0);"),
    case("global-memory-that-others-read",
         "s[t] = g[t]; fence(); __syncthreads(); if (t == 0) { store(g, s, 512); commit(); wait_all(); }"),
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


def test_the_report_says_who_read():
    again = f"__syncthreads(); if (t == 0) {{ {LOAD} }} wait(&bar[0], 1);"
    (hazard,) = run(f"if (t == 0) {{ {LOAD} }} {READ} {again}").hazards
    assert hazard.cause == "read-before-copy"
    assert (
        "thread 0 of block 0 lets the copy engine overwrite s[0], which it itself read at line"
        in hazard.message
    )


def test_a_read_that_nothing_orders_is_told_once():
    """What nothing orders needs a barrier first."""
    report = run(f"if (t == 0) {{ {LOAD} }} {READ} if (t == 0) {{ {LOAD} }} wait(&bar[0], 1);")
    assert {hazard.kind for hazard in report.hazards} == {"write-after-read"}, str(report)


MEMCPY_ASYNC = r"""
#include <cuda/barrier>
#include <cooperative_groups.h>
extern "C" __global__ void k(const int* x, int* y, int turns)
{
    __shared__ alignas(16) int s[128];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    auto block = cooperative_groups::this_thread_block();
    if (threadIdx.x == 0) init(&bar, 128);
    s[threadIdx.x] = 7;
    block.sync();
    for (int i = 0; i < turns; ++i) {
        cuda::memcpy_async(block, s, x + 128 * i, cuda::aligned_size_t<16>(512), bar);
        bar.arrive_and_wait();
        y[128 * i + threadIdx.x] = s[127 - threadIdx.x];
        block.sync();
    }
}
"""


def test_memcpy_async_asks_nobody_for_a_fence():
    """It starts bulk copies all the same."""
    x, y = np.arange(512, dtype=np.int32), np.zeros(512, np.int32)
    kernel = ptxsim.compile(MEMCPY_ASYNC, "k", ("--std=c++17", "-arch=sm_90a"))
    report = ptxsim.launch(kernel, 1, 128, (x, y, np.int32(4)))
    assert report.ok, str(report)
    assert report.counters.total.bulk_copies == 4
    assert (y.reshape(4, 128) == x.reshape(4, 128)[:, ::-1]).all()


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
