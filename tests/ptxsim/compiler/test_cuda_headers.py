"""Barriers and pipelines of libcu++, and its functions for PTX: they compile, and what they do is right and clean.

One source for all kernels: its headers take seconds to compile.
"""

import numpy as np
import pytest

import ptxsim
from tests.sample import EVERY

HEAD = """
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>
#include <cuda/std/utility>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;
constexpr int N = 128, ROUNDS = 4;
"""
BARRIER = "__shared__ Barrier bar; if (t == 0) init(&bar, N); __syncthreads();\n"
PIPELINE = "__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;\n"
ADD = "sum += tile[t ^ 37]; bar.arrive_and_wait();"
KERNELS = {
    "barrier": BARRIER
    + "for (int i = 0; i < ROUNDS; ++i) { tile[t] = in[i * N + t]; auto token = bar.arrive();"
    " bar.wait(cuda::std::move(token));" + ADD + "}",
    "memcpy_async": BARRIER + "for (int i = 0; i < ROUNDS; ++i) {"
    " cuda::memcpy_async(tile + t, in + i * N + t, sizeof(float), bar); bar.arrive_and_wait();" + ADD + "}",
    "memcpy_group": BARRIER + "auto all = cg::this_thread_block(); for (int i = 0; i < ROUNDS; ++i) {"
    " cuda::memcpy_async(all, tile, in + i * N, cuda::aligned_size_t<16>(N * 4), bar); bar.arrive_and_wait();"
    + ADD
    + "}",
    "pipeline": PIPELINE
    + """
    auto all = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(all, &state);
    for (int i = 0; i < ROUNDS + 1; ++i) {
        if (i < ROUNDS) {
            pipe.producer_acquire();
            cuda::memcpy_async(all, tile + i % 2 * N, in + i * N, cuda::aligned_size_t<16>(N * 4), pipe);
            pipe.producer_commit();
        }
        if (i > 0) { pipe.consumer_wait(); sum += tile[(i - 1) % 2 * N + (t ^ 37)]; pipe.consumer_release(); }
    }""",
    "roles": PIPELINE
    + """
    auto role = t < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(cg::this_thread_block(), &state, role);
    for (int i = 0; i < ROUNDS; ++i) {
        if (t < 32) {
            pipe.producer_acquire();
            for (int j = t; j < N; j += 32) cuda::memcpy_async(tile + i % 2 * N + j, in + i * N + j, 4, pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            sum += tile[i % 2 * N + (t ^ 37)];
            pipe.consumer_release();
        }
    }""",
}
ON_HOPPER = {
    "ptx_bulk": """
    __shared__ alignas(8) uint64_t bar;
    if (t == 0) { ptx::mbarrier_init(&bar, 1); ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster); }
    __syncthreads();
    for (int i = 0; i < ROUNDS; ++i) {
        if (t == 0) {
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, N * 4);
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in + i * N, N * 4, &bar);
        }
        while (!ptx::mbarrier_try_wait_parity(&bar, i & 1)) {}
        sum += tile[t ^ 37];
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
    }""",
}  # fmt: skip
WRONG = {
    "read-after-write": BARRIER + "tile[t] = in[t]; (void)bar.arrive(); sum = tile[t ^ 37];",
    "unwaited-copy": BARRIER
    + "cuda::memcpy_async(tile + t, in + t, 4, bar); (void)bar.arrive(); sum = tile[t ^ 37];",
    "write-after-write": BARRIER
    + "cuda::memcpy_async(tile + t, in + t, 4, bar); tile[t] = 1; bar.arrive_and_wait();",
}


def kernel(name: str, body: str) -> str:
    return f"""extern "C" __global__ void {name}(float* out, const float* in)
{{
    __shared__ alignas(128) float tile[2 * N];
    int t = threadIdx.x;
    float sum = 0;
    {body}
    out[t] = sum;
}}
"""


def name_of(kind: str) -> str:
    return kind.replace("-", "_")


def source(arch: str) -> str:
    bodies = {**KERNELS, **{name_of(kind): body for kind, body in WRONG.items()}}
    bodies |= ON_HOPPER if arch == "sm_90a" else {}
    return HEAD + "".join(kernel(*item) for item in bodies.items())


def launch(name: str, arch: str, seed: int | None = None):
    compiled = ptxsim.compile(source(arch), name, ("--std=c++17", f"-arch={arch}"))
    given, out = np.arange(512, dtype=np.float32) % 11, np.full(128, np.nan, np.float32)
    return ptxsim.launch(compiled, 1, 128, (out, given), seed=seed), out, given.reshape(4, 128)


ARCHS = ("sm_90a", "sm_80") if EVERY else ("sm_90a",)
CASES = [(name, arch) for arch in ARCHS for name in [*KERNELS, *(ON_HOPPER if arch == "sm_90a" else ())]]


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize(("name", "arch"), CASES)
def test_what_the_headers_do_is_right_and_clean(name, arch, seed):
    report, out, given = launch(name, arch, seed)
    assert report.ok, str(report)
    t = np.arange(32 if name == "roles" else 0, 128)
    assert np.array_equal(out[t], given[:, t ^ 37].sum(axis=0))


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_with_a_barrier_of_the_headers(kind):
    report = launch(name_of(kind), "sm_90a")[0]
    assert kind in [hazard.kind for hazard in report.hazards], str(report)
