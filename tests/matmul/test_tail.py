"""Lesson 06's persistent kernel and stream-K: right, without hazards, all work once; wrong ones are found."""

import re
from dataclasses import replace

import numpy as np
import pytest

from course_lib import OPTIONS, edited, simulate
from cupy_or_sim import cupy_on_numpy
from matmul import matmul_source, plans
from tests.lessons.reading import by_id, text_of
from tests.matmul import test_matmul
from tests.matmul.test_matmul import SMALL, Problem, check, edit, ready, room, wrong_with
from tests.sample import one_in

NOTEBOOK = "deeper/06_stream_k"
BLOCKS = 5
SHARED = replace(SMALL, shared_by=1)
TILE = "64, 64, 64, 32, 32, 3, true, true"
MMAS = 64 * 64 * 64 // (16 * 8 * 16)  # of a k-tile
WRITTEN = "__syncthreads();                              // all threads have written"
KNOWN = "__syncthreads();                              // all threads know"
SUMS = "__syncthreads();                              // all have read their sums"


@pytest.fixture(autouse=True)
def few_blocks(monkeypatch):
    monkeypatch.setattr(ready, "sms", lambda: BLOCKS)


def cell(name):
    """The names that a cell of the notebook defines."""
    names = {}
    exec(text_of(by_id(NOTEBOOK)[name]), names)
    return names


def staying(M, N, K, *changes):
    """C, what it should be, and the report of `persistent`."""
    source, name = edited(matmul_source(6), *changes), f"persistent<__half, __half, {TILE}>"
    kernel = cupy_on_numpy.RawModule(code=source, options=OPTIONS, name_expressions=(name,)).get_function(
        name
    )
    random = np.random.default_rng(M)
    A, B = (random.integers(-4, 5, (size, K)).astype(np.float16) for size in (M, N))
    C = np.full((M, N), np.nan, np.float16)
    sizes, strides = map(np.int32, (M, N, K)), (np.int64(K), np.int64(K), np.int32(N))
    report = simulate(kernel, (BLOCKS,), (128,), (A, B, C, *sizes, *strides), SMALL.shared_mem)
    return C, (A.astype("f4") @ B.astype("f4").T).astype(np.float16), report


@pytest.mark.parametrize("shape", [(1, 1, 8), (64, 64, 200), (130, 200, 72), (321, 70, 136)])
def test_persistent(shape):
    C, expected, report = staying(*shape)
    assert report.ok, str(report)
    assert np.array_equal(C, expected)
    M, N, K = shape
    assert report.counters.total.mma == -(-M // 64) * -(-N // 64) * -(-K // 64) * MMAS


def test_persistent_without_its_barrier():
    *_, report = staying(130, 200, 72, (SUMS, "//"))
    assert {"write-after-read"} <= {hazard.kind for hazard in report.hazards}


def test_a_scheduler_that_leaves_out_tiles():
    C, expected, _ = staying(130, 200, 72, ("rows = min(GROUP, down - group * GROUP)", "rows = GROUP"))
    assert np.isnan(C).any() and not np.array_equal(C, expected)


def test_a_scheduler_that_repeats_tiles_shows_in_the_count_of_work():
    C, expected, report = staying(130, 200, 72, ("number += gridDim.x", "number += gridDim.x - 1"))
    assert np.array_equal(C, expected) and report.counters.total.mma > 12 * 2 * MMAS


# ---- stream-K, through matmul


@pytest.mark.parametrize(
    "problem",
    [
        Problem(
            130, 200, 200, bias=True, activation="relu", alpha=2.0, beta=-1.0
        ),  # whole tiles, then shared ones
        Problem(64, 64, 640),  # one tile for all blocks
        Problem(65, 70, 333, "FC", "bfloat16", "float32", out_order="F", bias=True, beta=0.5),
        Problem(3, 7, 130, "CC", out="bfloat16"),  # fewer k-tiles than blocks
        Problem(200, 260, 72, "FF", whole=False),
    ],
)
def test_stream_k(problem):
    check(problem, SHARED)


def test_stream_k_with_the_tile_that_plans_take():
    check(Problem(130, 260, 328), replace(plans.TILES[0].plan, shared_by=1))


WRONG = {
    "no release": ("st.release.gpu", "st.relaxed.gpu", "block-conflict"),
    "no acquire": ("ld.acquire.gpu", "ld.relaxed.gpu", "block-conflict"),
    "no wait": ("int there = 0; !there;", "int there = 1; !there;", "block-conflict"),
    "no barrier before the flag": (WRITTEN, "//", "block-conflict"),
    "no barrier behind the wait": (KNOWN, "//", "block-conflict"),
    "no barrier at the end": (SUMS, "//", "write-after-read"),
    "one part forgotten": ("first > 0; first = piece", "first > row; first = piece", "wrong, first at"),
    "a k-tile twice": ("first = max(begin - row, 0)", "first = max(begin - row - 1, 0)", "wrong, first at"),
    "another waits first": ("if (last < k_tiles) Sums", "if (first > 0) Sums", "wrong|deadlock|step-limit|conflict"),
}  # fmt: skip


@pytest.mark.parametrize("what", one_in(3, WRONG))
def test_wrong_stream_k_is_found(what, monkeypatch):
    old, new, words = WRONG[what]
    edit(monkeypatch, 6, old, new)
    wrong = wrong_with(Problem(130, 200, 136, seed=1), SHARED)
    assert re.search(words, wrong), wrong


def test_the_flags_are_down_behind_a_launch(monkeypatch):
    """A second launch with the same memory gives the same bits."""
    kept = {}

    def same(maker):
        return lambda size, dtype: kept.setdefault((size, np.dtype(dtype).name), maker(size, dtype))

    cp = room.device.cp
    monkeypatch.setattr(cp, "zeros", same(cp.zeros), raising=False)
    for _ in range(2):
        A, B = np.random.default_rng(0).standard_normal((2, 64, 640)).astype(np.float16)
        C = test_matmul.with_plan(SHARED, lambda A=A, B=B: room.matmul(A, B.T))
        assert kept.setdefault("bits", C.tobytes()) == C.tobytes()
    flags = kept[BLOCKS, "int32"]
    assert flags.shape == (BLOCKS,) and not flags.any()


# ---- who makes what


@pytest.mark.parametrize("seed", range(20))
def test_pieces_are_all_k_tiles_once_and_nobody_waits_for_a_later_block(seed):
    random, pieces = np.random.default_rng(seed), cell("tail-pieces")["pieces"]
    count, k_tiles = (int(random.integers(1, 60)) for _ in range(2))
    blocks = min(int(random.integers(1, 20)), count * k_tiles)
    made = {block: pieces(block, blocks, count, k_tiles) for block in range(blocks)}
    each = [
        (tile, k) for found in made.values() for tile, first, behind in found for k in range(first, behind)
    ]
    assert sorted(each) == [(tile, k) for tile in range(count) for k in range(k_tiles)]
    lengths = [sum(behind - first for _, first, behind in found) for found in made.values()]
    assert max(lengths) - min(lengths) <= 1
    for block, found in made.items():
        assert all(
            behind == k_tiles
            for _, _, behind in found[len(range(block, _whole(count, blocks), blocks)) + 1 :]
        )
        for tile, first, behind in found:
            if behind == k_tiles and first:
                others = {b for b in made for t, f, _ in made[b] if t == tile and f < first}
                assert others and max(others) < block


def _whole(count, blocks):
    return max(count // blocks - 1, 0) * blocks


def test_a_plan_says_how_many_tiles_stay_whole():
    large = replace(plans.TILES[0].plan, shared_by=1)
    assert large.stream(29 * 128, 5 * 256, 4096, 132) == (132, 0)
    assert large.stream(24 * 128, 12 * 256, 3000, 132) == (132, 132)
    assert large.stream(64, 64, 640, 132) == (10, 0)


def test_the_rule_takes_stream_k_where_it_gains():
    """As measured on an H100: docs/tuning.md."""
    taken = [(3712, 1280, 4096), (2304, 2304, 8192), (2560, 2560, 2560), (5120, 5120, 5120)]
    left = [
        (3712, 1280, 512),
        (4096, 4096, 4096),
        (8192, 8192, 8192),
        (6144, 6144, 6144),
        (768, 768, 16384),
        (0, 8, 8),
    ]
    assert all(plans.plan(*shape).shared_by for shape in taken)
    assert not any(plans.plan(*shape).shared_by for shape in [*left, (8, 8, 0)])
