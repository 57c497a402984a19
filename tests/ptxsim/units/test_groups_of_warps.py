"""`cg::tiled_partition<64>` and larger: they meet in memory that a GPU keeps for them."""

import numpy as np
import pytest

from ptxsim import compile, launch
from tests.sample import one_in

SOURCE = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void groups(const int* x, int* reduced, int* scanned, int* turned)
{
    __shared__ int values[BLOCK];
    auto tile = cg::tiled_partition<SIZE>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x, rank = tile.thread_rank();
    values[threadIdx.x] = x[i];
    tile.sync();
    turned[i] = values[threadIdx.x - rank + (rank + 33) % SIZE];
    reduced[i] = cg::reduce(tile, x[i], cg::plus<int>()) + 10000 * tile.shfl(x[i], 5) + tile.any(x[i] == 3);
    scanned[i] = cg::inclusive_scan(tile, x[i]) + 100000 * tile.shfl(x[i], 40);
    if (tile.meta_group_rank() == 0) scanned[i] += tile.all(x[i] >= 0);
}
"""
SIZES = [(64, 64), (64, 192), (128, 256), (512, 512)]


def groups(size: int, block: int, source: str = SOURCE):
    return compile(source.replace("SIZE", str(size)).replace("BLOCK", str(block)), "groups", ("-arch=sm_90",))


@pytest.mark.parametrize(("size", "block"), SIZES)
@pytest.mark.parametrize("seed", one_in(2, [None, 1]))
def test_groups_of_several_warps(size, block, seed):
    x = np.random.default_rng(0).integers(0, 50, 2 * block).astype(np.int32)
    reduced, scanned, turned = (np.zeros_like(x) for _ in range(3))
    kernel = groups(size, block)
    report = launch(kernel, 2, block, (x, reduced, scanned, turned), seed=seed)
    assert report.ok, report
    tiles = x.reshape(-1, size)
    any_3 = (tiles == 3).any(1, keepdims=True)
    want = np.broadcast_to(tiles.sum(1, keepdims=True) + 10000 * tiles[:, 5:6] + any_3, tiles.shape)
    assert (reduced == want.ravel()).all()
    first_of_block = np.arange(len(tiles)) % (block // size) == 0
    assert (scanned == (tiles.cumsum(1) + 100000 * tiles[:, 40:41] + first_of_block[:, None]).ravel()).all()
    assert (turned == np.roll(tiles, -33, axis=1).ravel()).all()
    assert kernel.code.program.static_shared == 4 * block


@pytest.mark.parametrize("seed", [None, 1])
def test_a_missing_sync_of_the_group_is_found(seed):
    source = SOURCE.replace("    tile.sync();\n", "\n")
    reads = source[: source.index("turned[i] =")].count("\n") + 1
    x = np.ones(128, np.int32)
    report = launch(groups(64, 128, source), 1, 128, (x, *(np.zeros_like(x) for _ in range(3))), seed=seed)
    found = {(each.kind, each.line) for each in report.hazards}
    assert found & {("read-after-write", reads), ("write-after-read", reads - 2)}
    assert {line for _, line in found} <= {reads, reads - 2}


def test_addresses_are_told_as_without_groups():
    source = SOURCE.replace("values[threadIdx.x] = x[i];", "values[threadIdx.x + BLOCK] = x[i];")
    x = np.ones(64, np.int32)
    report = launch(groups(64, 64, source), 1, 64, (x, *(np.zeros_like(x) for _ in range(3))))
    assert report.hazards[0].kind == "out-of-bounds"
    assert "byte 256 of shared memory" in report.hazards[0].message
    assert "of which the block has 256" in report.hazards[0].message
