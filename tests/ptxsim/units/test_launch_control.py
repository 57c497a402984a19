"""clusterlaunchcontrol: blocks that take over the tiles of blocks that have not begun. No B200 was at hand: what a GPU
does is as docs/tcgen05.md says."""

import numpy as np
import pytest

from ptxsim import compile, launch
from tests.kernels.blackwell import MACROS, OPTIONS
from tests.ptxsim.units.test_tensor_memory import SEEDS

ASK = "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
QUERY = "clusterlaunchcontrol.query_cancel"
CLC = f"""{MACROS}
#define CLUSTER asm volatile("barrier.cluster.arrive.aligned;\\nbarrier.cluster.wait.aligned;" ::: "memory")
#define TRY(to, b) asm volatile("{ASK}.b128 [%0], [%1];" :: "r"(AT(to)), "r"(AT(b)) : "memory")
#define TRY_FOR_ALL(to, b) asm volatile("{ASK}.multicast::cluster::all.b128 [%0], [%1];" \\
    :: "r"(AT(to)), "r"(AT(b)) : "memory")
#define READ(more, x, y, from) asm volatile("{{\\n.reg .b128 answer;\\n.reg .pred p;\\n" \\
    "ld.shared.b128 answer, [%3];\\n" \\
    "{QUERY}.is_canceled.pred.b128 p, answer;\\nselp.u32 %0, 1, 0, p;\\n" \\
    "@p {QUERY}.get_first_ctaid.v4.b32.b128 {{%1, %2, _, _}}, answer;\\n}}" \\
    : "=r"(more), "+r"(x), "+r"(y) : "r"(AT(from)) : "memory")
"""
ALONE = """
    unsigned t = threadIdx.x, x = blockIdx.x, y = blockIdx.y, phase = 0, more = 1;
    __shared__ alignas(16) uint4 answer;
    __shared__ u64 came;
    if (t == 0) { INIT(&came, 1); INIT_FENCE; }
    __syncthreads();
    while (more) {
        if (t == 0) {
            EXPECT(&came, 16);
            TRY(&answer, &came);
        }
        out[(y * gridDim.x + x) * 64 + t] += 1 + x;
        WAIT(&came, phase);
        phase ^= 1;
        READ(more, x, y, &answer);
        FENCE_ASYNC;
        __syncthreads();
    }
"""
TOGETHER = """
    unsigned t = threadIdx.x, rank = blockIdx.x % 2, x = blockIdx.x - rank, y = blockIdx.y, phase = 0, more = 1;
    __shared__ alignas(16) uint4 answer;
    __shared__ u64 came;
    if (t == 0) { INIT(&came, 1); INIT_FENCE; }
    while (more) {
        CLUSTER;
        if (t == 0) {
            EXPECT(&came, 16);
            if (rank == 0) TRY_FOR_ALL(&answer, &came);
        }
        out[(y * gridDim.x + x + rank) * 64 + t] += 1 + x + rank;
        WAIT(&came, phase);
        phase ^= 1;
        READ(more, x, y, &answer);
        FENCE_ASYNC;
    }
    CLUSTER;
"""
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
