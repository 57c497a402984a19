"""Fragments that mma has read before give what they give when they are read again, whoever wrote to their registers."""

import numpy as np
import pytest

import ptxsim
from course_lib import OPTIONS
from ptxsim.instructions import tensor

SOURCE = r"""
#include <course/mma.cuh>
__device__ void mma_half(unsigned (&d)[2], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
extern "C" __global__ void chain(const unsigned* from, float* sums, unsigned* halves, int apart)
{
    int t = threadIdx.x;
    unsigned a[4], b[2], h[2] = {};
    float d[4] = {}, e[4] = {};
    for (int i = 0; i < 4; ++i) a[i] = from[i * 64 + t];
    for (int i = 0; i < 2; ++i) b[i] = from[(4 + i) * 64 + t];
    #pragma unroll 1
    for (int k = 0; k < 4; ++k) {                        // so that all turns have the same registers
        mma_m16n8k16(d, a, b[0], b[1]);
        mma_m16n8k16(e, a, b[1], b[0]);                  // the same registers in another place
        if (t % 8 == k) a[0] ^= 0x00010001;              // some lanes change a fragment
        if (t < 32 * apart) mma_m16n8k16(d, a, b[0], b[1]);  // one warp alone, or both
        if (t % 16 == k) d[1] += 1, h[0] ^= 1;           // and the sums
        mma_half(h, a, b[0], b[1]);
        mma_m16n8k16(e, a, h[0], h[1]);                  // sums as another operand: other elements in the same lanes
    }
    for (int i = 0; i < 4; ++i) sums[i * 64 + t] = d[i], sums[(4 + i) * 64 + t] = e[i];
    for (int i = 0; i < 2; ++i) halves[i * 64 + t] = h[i];
}
"""


def results(most_registers, apart, monkeypatch, most_known=256):
    monkeypatch.setattr(tensor, "MOST_REGISTERS", most_registers)
    monkeypatch.setattr(tensor, "MOST_KNOWN", most_known)
    values = np.random.default_rng(2).standard_normal(2 * 6 * 64).astype(np.float16)
    values[5] = np.nan
    sums, halves = np.zeros(512, np.float32), np.zeros(128, np.uint32)
    kernel = ptxsim.compile(SOURCE, "chain", OPTIONS)
    report = ptxsim.launch(kernel, (1,), (64,), (values.view(np.uint32), sums, halves, np.int32(apart)))
    assert report.ok, str(report)
    return sums.view(np.uint32), halves


@pytest.mark.parametrize("apart", [1, 2])
@pytest.mark.parametrize("most_known", [3, 256])
def test_known_fragments_are_those_in_the_registers(apart, most_known, monkeypatch):
    once = results(1 << 18, apart, monkeypatch, most_known)
    anew = results(0, apart, monkeypatch)
    for known, read in zip(once, anew, strict=True):
        assert np.array_equal(known, read)


def test_a_fragment_is_read_once(monkeypatch):
    """Of 4 turns with 4 or 5 mma each, of three operands, most are known."""
    kept = []
    original = tensor._keep
    monkeypatch.setattr(
        tensor, "_keep", lambda m, key, matrices: (kept.append(key), original(m, key, matrices))
    )
    results(1 << 18, 2, monkeypatch)
    assert len(kept) < 20 * 3
