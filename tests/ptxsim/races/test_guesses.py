"""Atomics that the GPU has not: a header's plain read and its loop of atomicCAS are one atomic."""

import re

import numpy as np
import pytest

from tests.ptxsim.small_kernels import run

HEADERS = "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n"
ONE = 0x3F80
"""In bfloat16."""


def launched(body, count=1, arch="sm_80", **more):
    sums, values = np.zeros(64, np.uint16), np.full(64, ONE, np.uint16)
    report = run(
        body, sums, values, parameters="__nv_bfloat16* x, __nv_bfloat16* y", before=HEADERS,
        grid=2, block=64, options=(f"-arch={arch}",), **more,
    )  # fmt: skip
    assert {"cas"} == set(re.findall(r"atom\.\S*(cas)", report.kernel.ptx)) or arch == "sm_90"
    return report, sums


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("atomicAdd(x, y[t]);", 0),
        ("atomicAdd((__nv_bfloat162*)x + 1, __halves2bfloat162(y[t], y[t]));", 2),
        ("for (int i = 0; i < 2; ++i) atomicAdd(x + i, y[t]);", 1),
        (
            "__shared__ __nv_bfloat16 s[1]; if (t == 0) s[0] = __float2bfloat16(0.0f); __syncthreads();\n"
            "atomicAdd(s, y[t]); __syncthreads(); if (t == 0) atomicAdd(x, s[0]);",
            0,
        ),
    ],
)
def test_an_atomic_of_a_header_is_one(body, place, arch):
    report, sums = launched(body, arch=arch)
    assert report.ok, report
    assert sums[place] == 0x4300  # 128 in bfloat16


LOOP = "do { seen = old;\nold = atomicCAS(p, seen, seen + 1);\n} while (old != seen);"


@pytest.mark.parametrize(
    ("body", "ok"),
    [
        (f"int* p = (int*)x, seen;\nint old = *p; // HERE\n{LOOP}", False),
        (f"int* p = (int*)x, seen;\nint old = *(volatile int*)p;\n{LOOP}", True),
        ("atomicAdd(x, y[t]);\ny[t] = x[0]; // HERE", False),
        ("if (t == 3) x[0] = y[1]; // HERE\natomicAdd(x, y[t]);", False),
    ],
)
def test_other_reads_stay_what_they_are(body, ok):
    report, _ = launched(body)
    assert report.ok == ok, report
