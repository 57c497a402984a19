"""A ring of slots that the copy engine fills and threads read: a fence.proxy.async stands between the reads and the
next copy over them, by each reader or by the thread that copies, in every block."""

import sys
from functools import cache

import numpy as np
import pytest

import ptxsim
from tests.kernels.hopper_common import COMMON

SOURCE = (
    COMMON
    + r"""
__device__ void arrive(u64* b) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(b)) : "memory"); }
extern "C" __global__ void CLUSTER k(const int* x, int* y, int n)
{
    __shared__ alignas(128) int slots[3][128];
    __shared__ u64 full[3], empty[3];
    int t = threadIdx.x - 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0) for (int i = 0; i < 3; ++i) init(&full[i], 1), init(&empty[i], COUNT);
    __syncthreads();
    if (warp == 0) {
        for (int i = 0; i < n && threadIdx.x == 0; ++i) {
            wait(&empty[i % 3], (i / 3 + 1) % 2);
            COPYING
            expect(&full[i % 3], 512);
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];"
                         :: "r"(at(slots[i % 3])), "l"(x + 128 * i), "r"(at(&full[i % 3])) : "memory");
        }
    } else {
        for (int i = 0; i < n; ++i) {
            wait(&full[i % 3], i / 3 % 2);
            y[(blockIdx.x * n + i) * 128 + t] = slots[i % 3][127 - t];
            READING
        }
    }
}
"""
)
ONE_OF_A_WARP = "__syncwarp(); if (t % 32 == 0) arrive(&empty[i % 3]);"
WAYS = {
    # by each reader, by the copying thread; then how readers free the slot, and arrivals at an mbarrier
    "each reader, all arrive": ("", "fence_async(); arrive(&empty[i % 3]);", 128, True),
    "each reader, a lane arrives": ("", f"fence_async(); {ONE_OF_A_WARP}", 4, True),
    "the lane that arrives": (
        "",
        "__syncwarp(); if (t % 32 == 0) { fence_async(); arrive(&empty[i % 3]); }",
        4,
        True,
    ),
    "the copying thread": ("fence_async();", ONE_OF_A_WARP, 4, True),
    "none, all arrive": ("", "arrive(&empty[i % 3]);", 128, False),
    "none, a lane arrives": ("", ONE_OF_A_WARP, 4, False),
    "behind the arrival": ("", "arrive(&empty[i % 3]); fence_async();", 128, False),
    "one warp": ("", f"if (warp == 1) fence_async(); {ONE_OF_A_WARP}", 4, False),
    "one block": ("if (blockIdx.x == 1) fence_async();", ONE_OF_A_WARP, 4, False),
    "a lane for the others": ("", f"if (t % 32 == 0) fence_async(); {ONE_OF_A_WARP}", 4, False),
}
GRIDS = {"1": (1, 1, 160), "3": (3, 1, 160), "cluster": (2, 2, 160), "batches": (3, 1, 2)}
"""Blocks, blocks of a cluster, and so many that are simulated at once."""


@cache
def compiled(way, cluster):
    copying, reading, count, _ = WAYS[way]
    parts = {"COPYING": copying, "READING": reading, "COUNT": str(count)}
    parts["CLUSTER"] = f"__cluster_dims__({cluster})" if cluster > 1 else ""
    source = SOURCE
    for name, text in parts.items():
        source = source.replace(name, text)
    return source, ptxsim.compile(source, "k", ("-arch=sm_90a",))


@pytest.mark.parametrize(("grid", "seed"), [*((grid, None) for grid in GRIDS), ("3", 1)])
@pytest.mark.parametrize("way", WAYS)
def test_a_slot_is_read_and_filled_again(monkeypatch, way, grid, seed):
    blocks, cluster, at_once = GRIDS[grid]
    monkeypatch.setattr(sys.modules["ptxsim.front.launch"], "LANES_AT_ONCE", at_once * 160)
    source, kernel = compiled(way, cluster)
    x, y = np.arange(1280, dtype=np.int32), np.zeros(blocks * 1280, np.int32)
    report = ptxsim.launch(kernel, blocks, 160, (x, y, np.int32(10)), seed=seed)
    assert (y.reshape(blocks, 10, 128) == x.reshape(10, 128)[:, ::-1]).all()
    if WAYS[way][-1]:
        assert report.ok, report
        return
    (hazard,) = report.hazards
    assert (hazard.kind, hazard.cause) == ("missing-proxy-fence", "read-before-copy"), report
    assert ':: "r"(at(slots' in source.splitlines()[hazard.line - 1]
    assert "lets the copy engine overwrite slots[" in hazard.message


def test_three_turns_overwrite_nothing():
    _, kernel = compiled("none, all arrive", 1)
    report = ptxsim.launch(kernel, 1, 160, (np.zeros(384, np.int32), np.zeros(384, np.int32), np.int32(3)))
    assert report.ok, report
