"""A tile that threads write and tensor cores or copy engine read, in one block and in several, by one warpgroup and by
two: no finding where a fence.proxy.async lies between, in every block and for every warpgroup, and one where none does.
"""

import sys
from functools import cache

import numpy as np
import pytest

import ptxsim
from tests.sample import one_in

SOURCE = r"""
using u64 = unsigned long long;
constexpr int SIZE = 64 * 16 + 8 * 16;  // A and B of one wgmma
#define FENCE asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define MEET asm volatile("bar.sync %0, 128;" :: "r"(g + 1) : "memory")
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void CLUSTER k(const unsigned short* in, float* out)
{
    __shared__ alignas(1024) unsigned short tiles[WARPGROUPS][1536];
    __shared__ alignas(8) u64 bars[2];
    int g = threadIdx.x / 128, t = threadIdx.x % 128;
    unsigned short* tile = tiles[g];
    unsigned bar = at(&bars[g]);
    if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(bar) : "memory");
    MEET;
WRITE
BEFORE
    MEET;
AFTER
    float d[4] = {};
READ
    for (int i = 0; i < 4; ++i) out[(blockIdx.x * WARPGROUPS * 128 + threadIdx.x) * 4 + i] = d[i];
}
"""
WRITERS = {
    "st.shared": "for (int i = t; i < SIZE; i += 128) tile[i] = in[i];",
    "cp.async": r"""
    for (int i = 8 * t; i < SIZE; i += 1024)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at(tile + i)), "l"(in + i) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
""",
    "stmatrix": r"""
    for (int i = t / 32; i < SIZE / 64; i += 4)
        asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"
                     :: "r"(at(tile + 64 * i + t % 8 * 8)), "r"(0x3c003c00) : "memory");
""",
    "cp.async.bulk": r"""
    if (t == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(bar), "r"(2 * SIZE) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :: "r"(at(tile)), "l"(in), "r"(2 * SIZE), "r"(bar) : "memory");
    }
    asm volatile("{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra again;\n}"
                 :: "r"(bar) : "memory");
""",
}
READERS = {
    "wgmma": r"""
    u64 matrix = ((at(tile) & 0x3ffff) >> 4) | (8ull << 16) | (16ull << 32);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 0, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(matrix), "l"(matrix + 128) : "memory");
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
""",
    "bulk store": r"""
    if (t == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;"
                     :: "l"(out + (blockIdx.x * WARPGROUPS * 128 + threadIdx.x) * 4 + 512 * gridDim.x * WARPGROUPS),
                        "r"(at(tile)) : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
""",
}
FENCES = {
    "by every writer": ("FENCE;", ""),
    "by every reader": ("", "FENCE;"),
    "none": ("", ""),
    "in block 0 alone": ("if (blockIdx.x == 0) FENCE;", ""),
    "in the last block alone": ("", "if (blockIdx.x == gridDim.x - 1) FENCE;"),
    "by warpgroup 0 alone": ("if (g == 0) FENCE;", ""),
    "by warpgroup 1 alone": ("", "if (g == 1) FENCE;"),
}
EVERYWHERE = [
    (writer, fence) for writer in WRITERS for fence in ("by every writer", "by every reader", "none")
]
GRIDS = {"1": (1, 1, 128), "2": (2, 1, 128), "3": (3, 1, 128), "cluster": (2, 2, 128), "batches": (3, 1, 2)}
"""Blocks, blocks of a cluster, and so many that are simulated at once."""


@cache
def compiled(writer, fence, reader, cluster, warpgroups):
    before, after = FENCES[fence]
    parts = {"WRITE": WRITERS[writer], "BEFORE": before, "AFTER": after, "READ": READERS[reader]}
    parts |= {"CLUSTER": f"__cluster_dims__({cluster})" if cluster > 1 else "", "WARPGROUPS": str(warpgroups)}
    source = SOURCE
    for name, text in parts.items():
        source = source.replace(name, text)
    return source, ptxsim.compile(source, "k", ("-arch=sm_90a",))


def run(monkeypatch, writer, fence, reader, grid, warpgroups, seed=None):
    blocks, cluster, at_once = GRIDS[grid]
    monkeypatch.setattr(sys.modules["ptxsim.front.launch"], "LANES_AT_ONCE", at_once * warpgroups * 128)
    source, kernel = compiled(writer, fence, reader, cluster, warpgroups)
    out = np.zeros(blocks * warpgroups * 1024, np.float32)
    report = ptxsim.launch(
        kernel, blocks, warpgroups * 128, (np.ones(1536, np.float16).view(np.uint16), out), seed=seed
    )
    return source, report, out


def line_of(source, instruction):
    """Of the end of its statement: there the compiler puts an asm."""
    end = source.index(");\n", source.index(f'"{instruction}'))
    return source.count("\n", 0, end) + 1


def found(report, source, reader):
    """The one finding, at the instruction that reads."""
    (hazard,) = report.hazards
    reads = "wgmma.mma_async" if reader == "wgmma" else "cp.async.bulk.global"
    assert (hazard.kind, hazard.line) == ("missing-proxy-fence", line_of(source, reads)), report
    return hazard


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("warpgroups", [1, 2])
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize(("writer", "fence"), one_in(2, EVERYWHERE))
def test_the_same_in_every_block_and_warpgroup(monkeypatch, writer, fence, reader, grid, warpgroups):
    source, report, out = run(monkeypatch, writer, fence, reader, grid, warpgroups)
    if reader == "wgmma":
        assert (out[: len(out) // 2] == 16).all()
    if fence != "none" or writer == "cp.async.bulk":
        assert report.ok, report
        return
    hazard = found(report, source, reader)
    assert hazard.count == GRIDS[grid][0] * warpgroups  # each reads a tile of its own
    assert "thread 0 of block 0" in hazard.message


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("grid", ["2", "cluster", "batches"])
@pytest.mark.parametrize(("fence", "fenced"), [("in block 0 alone", 0), ("in the last block alone", -1)])
def test_a_fence_of_another_block_is_none(monkeypatch, fence, fenced, reader, grid, seed):
    fenced %= GRIDS[grid][0]
    source, report, _ = run(monkeypatch, "cp.async", fence, reader, grid, 1, seed)
    hazard = found(report, source, reader)
    assert hazard.count == GRIDS[grid][0] - 1
    assert f"thread 0 of block {fenced} lets" not in hazard.message


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("grid", ["1", "3"])
@pytest.mark.parametrize(("fence", "thread"), [("by warpgroup 0 alone", 128), ("by warpgroup 1 alone", 0)])
def test_a_fence_of_another_warpgroup_is_none(monkeypatch, fence, thread, reader, grid, seed):
    source, report, _ = run(monkeypatch, "st.shared", fence, reader, grid, 2, seed)
    hazard = found(report, source, reader)
    assert f"thread {thread} of block" in hazard.message
    assert hazard.count == GRIDS[grid][0]
