"""clusterlaunchcontrol: blocks that take over the tiles of blocks that have not begun. No B200 was at hand: what a GPU
does is as docs/tcgen05.md says."""

import numpy as np
import pytest

from ptxsim import compile, launch
from tests.kernels.blackwell import ALONE, CLC, OPTIONS, TOGETHER
from tests.ptxsim.units.test_tensor_memory import SEEDS

GRID = (4, 3)


def run(body: str, seed: int | None, cluster: int = 1):
    """The report of a grid of 4 x 3 blocks of 64 threads, and whether each tile was done once."""
    head = f'extern "C" __global__ void __cluster_dims__({cluster}) k(unsigned* out)'
    out = np.zeros((12, 64), np.uint32)
    report = launch(compile(f"{CLC}{head}\n{{{body}}}\n", "k", OPTIONS), GRID, 64, (out,), seed=seed)
    return report, np.array_equal(out, np.tile(np.arange(1, 5)[:, None], (3, 64)))


@SEEDS
@pytest.mark.parametrize(("body", "cluster"), [(ALONE, 1), (TOGETHER, 2)], ids=["alone", "together"])
def test_each_tile_is_done_once(body, cluster, seed):
    report, right = run(body, seed, cluster)
    assert report.ok and right, str(report)


def test_some_block_takes_a_tile_over_from_another():
    """Each block counts what it does: fewer blocks than tiles have begun."""
    body = ALONE.replace(
        "unsigned t = threadIdx.x,",
        "out[12 * 64 + blockIdx.y * 4 + blockIdx.x] = 1; unsigned t = threadIdx.x,",
    )
    head = 'extern "C" __global__ void k(unsigned* out)'
    out = np.zeros(13 * 64, np.uint32)
    report = launch(compile(f"{CLC}{head}\n{{{body}}}\n", "k", OPTIONS), GRID, 64, (out,))
    assert report.ok and out[12 * 64 :].sum() == 6, str(report)


WRONG = {
    "nobody waits for the answer": (ALONE, "WAIT(&came, phase);", "", "READ(", "phase-not-awaited"),
    "no fence before it is overwritten": (ALONE, "FENCE_ASYNC;", "", "TRY(", "read-before-copy"),
    "asked again before all have read": (
        ALONE,
        "FENCE_ASYNC;\n        __syncthreads();",
        "FENCE_ASYNC;",
        "TRY(|READ(",
        "no-barrier",
    ),
    "one block of the cluster expects its bytes": (
        TOGETHER,
        "EXPECT(&came, 16);",
        "if (rank == 0) EXPECT(&came, 16);",
        "WAIT(",
        "missing-arrival",
    ),
}


@SEEDS
@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_found_where_it_is(name, seed):
    body, right, wrong, lines, cause = WRONG[name]
    report, _ = run(body.replace(right, wrong), seed, 2 if body is TOGETHER else 1)
    source = report.kernel.source.splitlines()
    assert any(
        each.cause == cause and any(line in source[each.line - 1] for line in lines.split("|"))
        for each in report.hazards
    ), str(report)
