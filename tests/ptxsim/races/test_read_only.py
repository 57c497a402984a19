"""Loads through the read-only cache (ld.global.nc) of what the same launch writes."""

import numpy as np
import pytest

from tests.ptxsim.small_kernels import found, run

ALIASED = "int* out, const int* __restrict__ in"


def run_in_place(body, **more):
    """`in` and `out` are one array."""
    both = np.arange(256, dtype=np.int32)
    return run(body, both, both, **more)


def causes(report):
    return [hazard.cause for hazard in report.hazards]


WRONG = {
    "own-write": "out[t] = 7; out[t + 64] = __ldg(in + t); // HERE",
    "behind-a-barrier": "out[t] = 7; // HERE\n__syncthreads();\nout[t + 64] = __ldg(in + (t ^ 32)); // HERE",
    "read-before-it-is-written": "int a = __ldg(in + (t ^ 32));\n__syncthreads();\nout[t] = a; // HERE",
    "atomics": "atomicAdd(out + t, 1);\n__syncthreads();\nout[t + 64] = __ldg(in + (t ^ 32)); // HERE",
    "volatile": "*(volatile int*)(out + t) = 3;\n__syncthreads();\nout[t + 64] = __ldg(in + (t ^ 32)); // HERE",
    "a-vector": "out[t] = 7;\n__syncthreads();\nif (t < 16) { int4 v = __ldg((const int4*)in + t); // HERE\n"
    "out[t + 64] = v.x; }",
    "asm": "out[t] = 7;\n__syncthreads();\nint a;\n"
    'asm volatile("ld.global.nc.s32 %0, [%1];" : "=r"(a) : "l"(in + t)); // HERE\nout[t + 64] = a;',
}


@pytest.mark.parametrize("name", WRONG)
def test_the_read_only_cache_need_not_see_what_the_launch_writes(name):
    report = run_in_place(WRONG[name], block=64)
    kinds, unmarked = found(report)
    assert kinds == ["write-after-read" if name == "read-before-it-is-written" else "read-after-write"], str(
        report
    )
    assert not unmarked and causes(report) == ["read-only-cache"], str(report)
    assert "read-only cache" in report.hazards[0].message


@pytest.mark.parametrize(
    "body",
    [
        "out[t] = in[t] + 1;",
        "out[t] = in[t];\n__syncthreads();\nout[t + 64] = in[t ^ 32];",
        "for (int i = 0; i < 2; ++i) { out[t] = in[t ^ 32]; __syncthreads(); }",
    ],
)
def test_two_parameters_that_promise_not_to_name_one_array(body):
    report = run_in_place(body, block=64, parameters="int* __restrict__ out, const int* __restrict__ in")
    assert "read-only-cache" in causes(report), str(report)
    other = run(body, np.zeros(256, np.int32), np.arange(256, dtype=np.int32), block=64, parameters=ALIASED)
    assert other.ok, str(other)


def test_blocks():
    """Behind a flag with fences, what another block wrote is there; the read-only cache need not know."""
    body = """
    if (blockIdx.x == 0) { out[t] = 7; __threadfence(); __syncthreads(); if (t == 0) atomicExch(flag, 1); }
    else {
        if (t == 0) while (atomicAdd(flag, 0) == 0) {}
        __threadfence(); __syncthreads();
        out[t + 64] = LOAD(in + t);
    }
    """
    for load, kinds in (("__ldg", ["block-conflict"]), ("*", [])):
        both, flag = np.arange(256, dtype=np.int32), np.zeros(1, np.int32)
        parameters = "int* out, const int* in, int* flag"
        report = run(body.replace("LOAD", load), both, both, flag, grid=2, block=64, parameters=parameters)
        assert found(report)[0] == kinds, str(report)


@pytest.mark.parametrize(
    "body",
    [
        "out[t] = __ldg(in + t); out[t + 64] = __ldg(in + (t ^ 32));",
        "out[t] = 7; __syncthreads(); out[t + 64] = out[t ^ 32];",
        "out[t] = __ldg(in + t) + __ldg(out + 128 + t);",  # another part of the array
    ],
)
def test_what_is_only_read_may_come_through_it(body):
    out, numbers = np.zeros(256, np.int32), np.arange(256, dtype=np.int32)
    report = run(body, out, numbers, block=64)
    assert report.ok, str(report)
