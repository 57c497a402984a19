"""One block by its machine code: what its warps issue, of which k-tile, and when units of the SM work for it."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

from course_lib import Gemm, lesson_kernel
from course_lib.check.job import Job
from course_lib.measure import model
from ptxsim import BlockCycles
from ptxsim.clock.costs import FMA
from ptxsim.clock.memory import Rates
from ptxsim.clock.operations import Copy, Exit, Math, Product, Shared, Store
from ptxsim.clock.services import PAUSE, spans_of
from ptxsim.clock.sm import Stream, run
from tests.sample import one_in


@cache
def block_of(notebook: str, name: str, K: int = 4096) -> BlockCycles:
    kernel, launch = lesson_kernel(notebook, name)
    dtype = "float16" if notebook > "04" else "float32"
    return model.block_by_machine_code(Job(kernel, Gemm(4096, 4096, K, dtype), launch))


@pytest.mark.parametrize(
    ("notebook", "name"),
    one_in(3, [("01_mainloop", "mainloop"), ("05_three_stage", "ring"), ("08_never_a_pause", "complete")]),
)
def test_each_warp_is_always_at_some_instruction(notebook, name):
    for issues in block_of(notebook, name).warps:
        assert issues[0].begin == 0
        assert all(before.end == after.begin <= after.end for before, after in pairwise(issues))
        assert [issue.k_tile for issue in issues] == sorted(issue.k_tile for issue in issues)


@pytest.mark.parametrize(
    ("notebook", "name", "math"),
    [("05_three_stage", "ring", 64), ("07_hopper", "ring", 4)],
)
def test_every_k_tile_has_its_math(notebook, name, math):
    """mma of a warp: 2 x 4 x 8 in a k-tile of 32; wgmma of 64 x 256 x 16: 4 in a k-tile of 64, and a wait for them."""
    of_warp = block_of(notebook, name).warps[-1]
    k_tiles = range(max(issue.k_tile for issue in of_warp) + 1)
    assert len(k_tiles) == 64
    for k_tile in list(k_tiles)[2:-2]:
        found = sum(issue.use == "math" for issue in of_warp if issue.k_tile == k_tile)
        assert found in (math, math + 1), k_tile


def test_producers_and_consumers_count_the_same_k_tiles():
    block = block_of("08_never_a_pause", "complete", 512)
    last = {max(issue.k_tile for issue in issues) for issues in block.warps if len(issues) > 100}
    assert last == {15}, "two tiles of C with 8 k-tiles each"


def test_a_launch_with_few_k_tiles_is_played_whole():
    for K in (32, 64, 128):
        block = block_of("01_mainloop", "mainloop", K)
        assert {issue.k_tile for issue in block.warps[0]} <= {-1, *range(K // 32)}
        assert block.turn == block.mean_turn == 0.0


def test_the_oldest_of_an_sms_blocks_is_ahead_of_the_mean():
    block = block_of("01_mainloop", "mainloop")
    assert block.resident == 2 and 0.6 * block.mean_turn < block.turn < block.mean_turn
    alone = block_of("05_three_stage", "ring")
    assert alone.resident == 1 and alone.turn == pytest.approx(alone.mean_turn)


def test_a_play_ends_with_the_block_that_is_shown():
    work, end = [Math(pipe=FMA, interval=2.0)] * 100, Exit()
    round_and_round = Stream(work, 1, loop=(0, 100))
    shown = Stream([*work, end], 0)
    assert run([shown, round_and_round], shown=0).ends[0] < 220


def test_a_unit_works_when_it_is_asked_and_for_one_after_the_other():
    rates = replace(Rates(), l2_bytes=32.0, store_bytes=16.0)
    shared, copy = Shared(wavefronts=8.0), Copy(wavefronts=2.0, sectors=(0, 1, 2, 3))
    spans = spans_of([[shared, shared, copy]], [[0.0, 2.0, 100.0]], rates)
    assert spans == {"shared memory": [(0, 16), (100, 102)], "L2": [(100, 104)]}
    product, store = Product(cycles=128.0), Store(wavefronts=1.0, written=4.0)
    spans = spans_of([[product, store], [product]], [[0.0, 10.0], [0.0]], rates)
    assert spans["tensor cores"] == [(0, 128)], "of the first sub-core, where the second warp is not"
    assert spans["stores"] == [(10, 18)]
    near, far = (spans_of([[shared] * 2], [[0.0, 8 + pause]], rates) for pause in (PAUSE - 1, PAUSE + 1))
    assert [len(found["shared memory"]) for found in (near, far)] == [1, 2]
