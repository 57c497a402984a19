"""FMAs in a row, done as one step, give bit for bit what they give one after the other."""

import numpy as np
import pytest

import ptxsim
from course_lib import OPTIONS
from ptxsim.machine import runs

OUTER = r"""
extern "C" __global__ void outer(const float* a, const float* b, float* c, int n)
{
    int t = threadIdx.x;
    float x[4], y[4], sum[4][4] = {};
    if (t % 3 == n) return;                     // the others go on without these lanes
    for (int k = 0; k < 3; ++k) {
        for (int i = 0; i < 4; ++i) { x[i] = a[(k * 4 + i) * 64 + t]; y[i] = b[(k * 4 + i) * 64 + t]; }
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j) sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
        sum[0][0] = fmaf(sum[0][0], x[1], sum[0][1]);  // reads what was just written
        sum[0][0] = fmaf(sum[0][0], sum[0][0], y[1]);
    }
    for (int i = 0; i < 16; ++i) c[i * 64 + t] = sum[i / 4][i % 4];
}
"""


def results(most_lanes, divergent, monkeypatch):
    monkeypatch.setattr(runs, "MOST_LANES", most_lanes)
    random = np.random.default_rng(1)
    kinds = [
        random.standard_normal(3072),
        random.integers(-9, 9, 3072),
        2.0 ** random.integers(-149, -60, 3072),
    ]
    kinds += [random.choice([np.inf, np.nan, -0.0, 1.5e38], 3072)]
    values = np.choose(random.choice(4, 3072, p=[0.4, 0.3, 0.2, 0.1]), kinds).astype(np.float32)
    a, b, c = values[:1536].copy(), values[1536:].copy(), np.full(1024, np.nan, np.float32)
    kernel = ptxsim.compile(OUTER, "outer", OPTIONS)
    report = ptxsim.launch(kernel, (1,), (64,), (a, b, c, np.int32(0 if divergent else 3)))
    assert report.ok, str(report)
    return c.view(np.uint32), report, kernel


@pytest.mark.parametrize("divergent", [False, True])
def test_a_run_gives_what_its_fmas_give_alone(divergent, monkeypatch):
    together, report, kernel = results(4096, divergent, monkeypatch)
    alone, other, _ = results(0, divergent, monkeypatch)
    assert np.array_equal(together, alone)
    assert report.counters.total == other.counters.total
    blocks = kernel.code._blocks.values()
    fmas = sum(i.opcode.text == runs.FMA for i in kernel.code.program.instructions)
    steps = sum(len(block.steps) for block in blocks)
    assert fmas >= 50 and steps < sum(block.length - 1 for block in blocks) - 20
