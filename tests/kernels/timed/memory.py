"""Kernels that are no matrix products, and their problems: copies, transposes, reductions, scans, stencils, softmax,
layer norm and what else moves data, on arrays that L2 keeps and on such that it does not."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from course_lib import cp
from cupy_or_sim.kernel import Kernel
from cupy_or_sim.simulate import compiled
from ptxsim import launch_cycles

SOURCE = (Path(__file__).parent / "memory.cu").read_text(encoding="utf-8")
GPU = "H200"


@dataclass(frozen=True)
class Floats:
    """An array of so many."""

    count: int


@dataclass(frozen=True)
class Point:
    """One kernel on one problem. `args_at(n)`: its arguments with n turns of its loop; it has `turns`."""

    name: str
    function: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args_at: Callable[[int], tuple]
    turns: int = 1


def _flat(function: str, count: int, each: int, arrays: int, threads: int = 256, *more: object) -> Point:
    """A kernel whose threads make `each` floats of `count`."""
    args = (*(Floats(count) for _ in range(arrays)), *more)
    name = f"{function}, {count >> 20} Mi floats, {threads} threads"
    return Point(name, function, (count // each // threads,), (threads,), lambda n: args)


def _square(function: str, side: int, tile: tuple[int, int], block: tuple[int, int]) -> Point:
    args = Floats(side * side), Floats(side * side), np.int32(side)
    grid = side // tile[0], side // tile[1]
    return Point(f"{function}, {side} x {side}", function, grid, block, lambda n: args)


def _rows(function: str, rows: int, columns: int, of_a_block: int, threads: int, turns: int = 1) -> Point:
    """A block makes so many rows."""

    def args(n: int) -> tuple:
        return Floats(rows * columns), Floats(rows * columns), np.int32(columns // turns * n)

    name = f"{function}, {rows} x {columns}, {threads} threads"
    return Point(name, function, (rows // of_a_block,), (threads,), args, turns)


def points() -> Iterator[Point]:
    """All of them; each name once."""
    MI = 1 << 20
    yield _flat("copy2", 64 * MI, 2, 2)
    yield _flat("copy_backwards", 64 * MI, 1, 2)
    yield _flat("scale", 128 * MI, 4, 1)
    yield _flat("scale", 6 * MI, 4, 1)
    yield _flat("axpy", 64 * MI, 1, 2)
    yield _flat("axpy", 2 * MI, 1, 2)
    yield _flat("axpy", 64 * MI, 1, 2, 1024)
    yield _flat("triad", 64 * MI, 4, 3)
    yield _flat("to_half", 128 * MI, 8, 2)
    yield _flat("gelu", 64 * MI, 4, 2)
    yield _flat("polynomial", 64 * MI, 4, 2)
    yield _flat("planes", 48 * MI, 3, 2)
    yield _flat("every_other", 64 * MI, 2, 2)
    yield _flat("every_eighth", 128 * MI, 8, 2)
    yield _flat("upsample", 64 * MI, 1, 2)
    for side in (1024, 8192):
        yield _square("transpose_reads", side, (32, 8), (32, 8))
        yield _square("transpose_writes", side, (8, 32), (32, 8))
        yield _square("transpose_tile", side, (32, 32), (32, 8))
        yield _square("transpose_padded", side, (32, 32), (32, 8))
    yield _flat("tree_sums", 64 * MI, 4, 2)
    yield _flat("tree_sums", 4 * MI, 4, 2)
    yield _flat("shuffle_sums", 64 * MI, 16, 2)
    yield _flat("block_scan", 64 * MI, 1, 2, 512)
    yield _flat("shuffle_scan", 64 * MI, 4, 2)
    yield _flat("stencil1", 64 * MI, 1, 2)
    for side in (2048, 8192):
        yield _square("stencil2", side, (32, 8), (32, 8))
        yield _square("stencil2_tile", side, (32, 8), (32, 8))
    cube = Floats(512**3), Floats(512**3), np.int32(512)
    yield Point("stencil3, 512 cubed", "stencil3", (16, 64, 512), (32, 8), lambda n: cube)
    yield _rows("row_of_warp", 65536, 1024, 8, 256, 32)
    yield _rows("row_of_block", 65536, 1024, 1, 256)
    yield _rows("row_of_thread", 65536, 1024, 128, 128, 256)
    yield _rows("column_of_thread", 8192, 8192, 256, 256, 512)
    yield _rows("softmax", 65536, 1024, 1, 256)
    yield _rows("softmax", 4096, 1024, 1, 256)
    yield _rows("softmax_of_warp", 262144, 256, 8, 256)
    yield _rows("layer_norm", 65536, 1024, 1, 256)
    yield _rows("layer_norm", 4096, 1024, 1, 256)
    yield _rows("layer_norm", 65536, 1024, 1, 128)
    yield _rows("bias_relu", 65536, 1024, 1, 256)
    yield _rows("matvec", 16384, 8192, 8, 256, 64)
    yield _rows("matvec", 2048, 2048, 8, 256, 16)
    for blocks in (132, 1056):

        def strided(n: int, blocks: int = blocks) -> tuple:
            return Floats(64 * MI), Floats(64 * MI), np.int32(n * blocks * 256)

        yield Point(
            f"grid_stride, {blocks} blocks",
            "grid_stride",
            (blocks,),
            (256,),
            strided,
            64 * MI // 4 // 256 // blocks,
        )
    yield _flat("through_shared", 64 * MI, 4, 2)


def kernel(point: Point) -> Kernel:
    return cp.RawKernel(SOURCE, point.function, options=("--std=c++17",))


def model(point: Point) -> float:
    """Microseconds by the clock."""

    def args_at(n: int) -> tuple:
        return tuple(None if isinstance(each, Floats) else each for each in point.args_at(n))

    return (
        1000
        * launch_cycles(compiled(kernel(point)), point.grid, point.block, args_at, point.turns, gpu=GPU).ms
    )
