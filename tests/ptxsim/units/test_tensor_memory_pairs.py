"""tcgen05 of pairs of blocks (cta_group::2). No B200 was at hand: what a GPU does is as docs/tcgen05.md says."""

import re

import numpy as np
import pytest

from ptxsim import TensorMap, compile, launch
from tests.kernels.blackwell import OPTIONS, PAIRS
from tests.ptxsim.units.test_tensor_memory import SEEDS, in_chunks, numbers

BEGIN = """
    unsigned t = threadIdx.x, w = t / 32, rank = blockIdx.x % 2;
    __shared__ unsigned at;
    __shared__ u64 done;
    __shared__ alignas(1024) __half A[ROWS * 16], B[32 * 16];
    for (unsigned i = t; i < ROWS * 16; i += 128) A[i] = in[rank * ROWS * 16 + i];
    for (unsigned i = t; i < 32 * 16; i += 128) B[i] = in[2 * ROWS * 16 + rank * 32 * 16 + i];
    if (t == 0) { INIT(&done, 1); INIT_FENCE; }
    FENCE_ASYNC;
    CLUSTER_SYNC;
    if (w == 0) ALLOC(&at, 64);
    CLUSTER_SYNC;
"""
PRODUCT = """
    if (rank == 0 && t == 0) {
        MMA(at, PLAIN(A, ROWS), PLAIN(B, 32), WHAT(2 * ROWS, 64), 0);
        COMMIT_TO(&done, 3);
    }
"""
RESULT = """
    for (unsigned n = 0; n < COLUMNS; n += 4) {
        unsigned v[4];
        LD(v, at + (w * 32 << 16) + n);
        WAIT_LD;
        for (unsigned i = 0; i < 4; i++) out[(rank * 128 + t) * COLUMNS + n + i] = __uint_as_float(v[i]);
    }
"""
END = "__syncthreads(); if (w == 0) FREE(at, 64); CLUSTER_SYNC;"
RIGHT = f"{BEGIN}{PRODUCT} WAIT(&done, 0);{RESULT}{END}"


def multiply(body: str, rows: int, seed: int | None = None, cluster: int = 2):
    """The report of two blocks of 128 threads with `rows` rows of A each, and whether all sums are right."""
    columns = 64 if rows == 128 else 32
    text = body.replace("ROWS", str(rows)).replace("COLUMNS", str(columns))
    kernel = f"__cluster_dims__({cluster}) k(float* out, const __half* in)\n{{{text}}}"
    source = f'{PAIRS}\nextern "C" __global__ void {kernel}\n'
    a, b = numbers(2 * rows, 16), numbers(64, 16, 1)
    halves = [in_chunks(each) for matrix in (a, b) for each in np.split(matrix, 2)]
    out = np.full((2, 128, columns), np.nan, np.float32)
    report = launch(compile(source, "k", OPTIONS), 2, 128, (out, np.concatenate(halves)), seed=seed)
    want = a.astype(np.float32) @ b.T.astype(np.float32)
    if rows == 64:  # of a block's rows the first half of N lies in lanes 0 to 63, the second in 64 to 127
        want = np.stack([np.vstack(np.split(each, 2, axis=1)) for each in np.split(want, 2)])
    return report, np.array_equal(out.reshape(want.shape), want)


@SEEDS
@pytest.mark.parametrize("rows", [128, 64])
def test_two_blocks_make_one_product(rows, seed):
    report, right = multiply(RIGHT, rows, seed)
    assert report.ok and right, str(report)


@SEEDS
def test_a_relaxed_barrier_is_enough_for_tensor_memory(seed):
    """Behind tcgen05.wait::ld an order of any kind will do; what goes through shared memory needs more."""
    end = "RELAXED_SYNC; if (w == 0) FREE(at, 64); CLUSTER_SYNC;"
    report, right = multiply(RIGHT.replace(END, end), 128, seed)
    assert report.ok and right, str(report)


WRONG = {
    "asks before the other block has started": (
        RIGHT.replace("CLUSTER_SYNC;\n    if (w == 0) ALLOC", "__syncthreads();\n    if (w == 0) ALLOC"),
        "use-before-start",
    ),
    "starts before the other block's half is there": (
        BEGIN.replace("FENCE_ASYNC;\n    CLUSTER_SYNC;", "if (rank == 0) FENCE_ASYNC;\n    CLUSTER_SYNC;")
        + f"{PRODUCT} WAIT(&done, 0);{RESULT}{END}",
        "missing-proxy-fence",
    ),
    "tells its own block alone": (
        RIGHT.replace("COMMIT_TO(&done, 3)", "COMMIT_TO(&done, 1)"),
        "missing-arrival",
    ),
    "tells a block that is not there": (
        RIGHT.replace("COMMIT_TO(&done, 3)", "COMMIT_TO(&done, 7)"),
        "no-such-block",
    ),
    "the other block does not wait": (
        RIGHT.replace("WAIT(&done, 0);", "if (rank == 0) WAIT(&done, 0); __syncthreads();"),
        "product-not-awaited|no-order-in-tensor-memory",
    ),
    "the other block exits": (
        RIGHT.replace(END, "__syncthreads(); if (w == 0) FREE(at, 64);").replace(
            "WAIT(&done, 0);", "if (rank == 1) { if (w == 0) FREE(at, 64); return; } WAIT(&done, 0);"
        ),
        "exit-before-use",
    ),
    "both blocks start it": (
        RIGHT.replace("rank == 0 && t == 0", "t == 0"),
        "product-not-awaited|no-order-in-tensor-memory",
    ),
    "N is no multiple of 16": (RIGHT.replace("WHAT(2 * ROWS, 64)", "WHAT(2 * ROWS, 56)"), "bad-descriptor"),
    "M of one block": (RIGHT.replace("WHAT(2 * ROWS, 64)", "WHAT(64, 64)"), "bad-descriptor"),
}


@SEEDS
@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_of_a_pair_is_found(name, seed):
    body, cause = WRONG[name]
    report, _ = multiply(body, 128, seed)
    assert any(re.fullmatch(cause, hazard.cause) for hazard in report.hazards), str(report)


def test_without_pairs_there_is_none():
    report, _ = multiply(RIGHT, 128, cluster=1)
    assert [hazard.cause for hazard in report.hazards] == ["no-pair"], str(report)


COUNTED = """
    unsigned t = threadIdx.x, rank = blockIdx.x % 2;
    __shared__ u64 came;
    __shared__ alignas(128) float tile[32 * 4];
    if (t == 0) { INIT(&came, 1); INIT_FENCE; }
    CLUSTER_SYNC;
    if (t == 0) {
        if (rank == 0) EXPECT(&came, 1024);
        COPY_TO(tile, &map, 0, 4 * rank, AT(&came) & 0xFEFFFFFF);
    }
    if (rank == 0) WAIT(&came, 0);
    CLUSTER_SYNC;
    for (unsigned i = t; i < 128; i += 32) out[rank * 128 + i] = tile[i];
"""


@SEEDS
def test_the_even_block_counts_what_comes_to_both(seed):
    source = (
        f'{PAIRS}\nextern "C" __global__ void __cluster_dims__(2) '
        f"k(const __grid_constant__ CUtensorMap map, float* out)\n{{{COUNTED}}}\n"
    )
    data, out = np.arange(256, dtype=np.float32).reshape(8, 32), np.full((8, 32), np.nan, np.float32)
    report = launch(compile(source, "k", OPTIONS), 2, 32, (TensorMap(data, (4, 32)), out), seed=seed)
    assert report.ok and np.array_equal(out, data), str(report)
