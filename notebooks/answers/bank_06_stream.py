"""One more exercise for lesson 06: a small stream-K, whose blocks take sums from each other."""

import re
from typing import Any

import numpy as np

from course_lib.check.verdict import CheckFailed
from cupy_or_sim import cupy_on_numpy
from cupy_or_sim.simulate import simulate
from ptxsim import Report

from .common import MOST_STEPS, demand, demand_kernel, demand_no_hazard
from .untried import Untried

SHAPES = [(4, 5, 8), (5, 1, 10), (3, 7, 4), (7, 2, 5), (6, 6, 3), (9, 4, 11)]
"""(blocks, tiles, k-tiles of a tile); the first one is drawn in the lesson."""
THREADS, MORE_THREADS = 64, 96
TILES, K_TILES = 4, 5
"""Which of the parameters they are."""
KERNEL = r'extern\s+"C"\s+__global__\s+void\s+stream_k\s*\('
ONE_ALONE = """extern "C" __global__ void stream_k(const float* A, float* left, int* flags, float* C, int tiles,
                                    int k_tiles)
{
    if (blockIdx.x == 1) of_each_block(A, left, flags, C, tiles, k_tiles);
}
"""
FAR = 1000
"""What lies in `left` where it is asked whether anybody takes it: no sum of the exercise is near it."""


class _Launch:
    """The arguments of a launch, and what each part of them must become."""

    def __init__(self, blocks: int, tiles: int, k_tiles: int, threads: int):
        self.blocks, self.tiles, self.k_tiles, self.threads = blocks, tiles, k_tiles, threads
        random = np.random.default_rng(blocks + tiles + k_tiles)
        self.A = random.integers(1, 9, (tiles * k_tiles, threads)).astype(np.float32)
        self.left = np.full((blocks, threads), np.nan, np.float32)
        self.flags, self.C = np.zeros(blocks, np.int32), np.full((tiles, threads), np.nan, np.float32)
        self.told = f"(blocks = {blocks}, tiles = {tiles}, k_tiles = {k_tiles})"

    def run(self, kernel: Any, **order: Any) -> Report:
        args = (self.A, self.left, self.flags, self.C, np.int32(self.tiles), np.int32(self.k_tiles))
        return simulate(kernel, (self.blocks,), (self.threads,), args, 0, MOST_STEPS, **order)

    def piece(self, block: int, tile: int) -> np.ndarray:
        """What a block has of a tile."""
        row = len(self.A)
        begin = max(row * block // self.blocks, tile * self.k_tiles)
        end = min(row * (block + 1) // self.blocks, (tile + 1) * self.k_tiles)
        return self.A[begin : max(begin, end)].sum(axis=0)

    def leavers(self) -> dict[int, int]:
        """{block that leaves a piece: the tile of that}"""
        ends = {block: len(self.A) * (block + 1) // self.blocks for block in range(self.blocks)}
        return {block: (end - 1) // self.k_tiles for block, end in ends.items() if end % self.k_tiles}

    def finisher(self, tile: int) -> int:
        return next(
            block
            for block in range(self.blocks)
            if len(self.A) * (block + 1) // self.blocks >= (tile + 1) * self.k_tiles
        )

    def whole(self) -> np.ndarray:
        return self.A.reshape(self.tiles, self.k_tiles, self.threads).sum(axis=1)


def _stream(answer: Any) -> None:
    """Right sums, in an order that is sure; each piece left by who made it, before it waits, and taken from there."""
    demand_kernel(answer)
    for shape in SHAPES:
        _demand_sums(answer, _Launch(*shape, THREADS))
    _demand_sums(answer, _Launch(*SHAPES[0], MORE_THREADS))
    _demand_taken(answer)
    _demand_waits(answer)
    _demand_left_first(answer)
    for shape in _far(answer):
        try:
            _demand_sums(answer, _Launch(*shape, THREADS))
        except CheckFailed as error:
            text = f"right for the usual numbers, and not for these: {error}"
            raise CheckFailed(text, causes=("far-size",)) from None


def _far(kernel: Any) -> list[tuple[int, int, int]]:
    """As SHAPES, at constants with which the kernel compares its numbers of blocks, tiles and k-tiles."""
    asked = Untried(kernel, threads=THREADS)
    many = asked.blocks({"%nctaid.x": 1.0, "%ctaid.x": 1.0, TILES: 1.0}, max(shape[0] for shape in SHAPES))
    long = asked.blocks({K_TILES: 1.0}, max(shape[2] for shape in SHAPES))
    return [(blocks, blocks + 1, 3) for blocks in many] + [(4, 5, k_tiles) for k_tiles in long]


def _demand_sums(kernel: Any, launch: _Launch) -> None:
    demand_no_hazard(launch.run(kernel))
    told, own = launch.told, launch.whole()
    for tile in range(launch.tiles):
        mine = launch.finisher(tile)
        own[tile] = launch.piece(mine, tile)
        never, found = np.isnan(launch.C[tile]).any(), launch.C[tile]
        demand(
            not never,
            f"no hazard, and row {tile} of C is not written, or made from NaN {told}.",
            "not-stored",
        )
        if np.array_equal(found, launch.whole()[tile]):
            continue
        alone = np.array_equal(found, own[tile])
        text = f"no hazard, and row {tile} of C has the last piece of its tile alone {told}."
        demand(not alone, text, "last-piece-alone")
        two = np.array_equal(found, own[tile] + launch.piece(mine - 1, tile)) if mine else False
        text = f"no hazard, and row {tile} of C has the last two pieces of its tile alone {told}."
        demand(not two, text, "two-pieces")
        raise CheckFailed(f"no hazard, and row {tile} of C is wrong {told}.", causes=("wrong-numbers",))
    for block, tile in launch.leavers().items():
        text = f"C is right, but block {block} has not left its piece of tile {tile} {told}."
        demand(np.array_equal(launch.left[block], launch.piece(block, tile)), text, "nothing-left")


def _demand_waits(kernel: Any) -> None:
    """The last block, before the others have begun, does not finish the tile of which it has the end alone."""
    launch = _Launch(*SHAPES[0], THREADS)
    launch.left[:] = 0
    launch.run(kernel, in_turn="down")
    text = "the sums are right, but the last block gives up: before the others have begun it finishes a tile of theirs."
    shared = len(launch.A) * (launch.blocks - 1) // launch.blocks // launch.k_tiles
    demand(np.isnan(launch.C[shared]).all(), text, "gives-up")


def _demand_taken(kernel: Any) -> None:
    """With flags that are up already, C is made of what lies in `left`, whatever that is."""
    launch = _Launch(*SHAPES[0], THREADS)
    launch.flags[:] = 1
    launch.left[:] = FAR
    launch.run(kernel, in_turn="down")
    takers = {tile for tile in launch.leavers().values()}
    for tile in takers:
        expected = launch.piece(launch.finisher(tile), tile) + FAR
        text = f"the sums are right, but row {tile} of C is not made of what lies in `left`."
        demand(np.array_equal(launch.C[tile], expected), text, "not-taken")


def _demand_left_first(kernel: Any) -> None:
    """Block 1, alone in a launch of four, has left its piece when it waits."""
    body, name = re.subn(KERNEL, "__device__ void of_each_block(", kernel.code, count=1)
    if not name:
        return
    launch = _Launch(*SHAPES[0], THREADS)
    launch.run(cupy_on_numpy.RawKernel(f"{body}\n{ONE_ALONE}", kernel.name, options=kernel.options))
    text = "the sums are right, but block 1 waits for block 0 before it has left its own piece."
    demand(launch.flags[1], text, "waits-first")


EXERCISES = {"06.15": _stream}
