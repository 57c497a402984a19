"""The exercises of lesson 06 that count: launches and waves; and a copy with padding."""

import re
from collections.abc import Callable, Sequence
from math import ceil
from numbers import Real
from typing import Any

import numpy as np

from cupy_or_sim import cupy_on_numpy
from cupy_or_sim.simulate import simulate

from .common import demand, demand_kernel, demand_no_hazard, demand_whole_sectors, fail, results_of

Wrong = Sequence[tuple[str, str, Callable]]
"""(a word for what a wrong answer does, that in words, what it would then give for a case). A hint for each stands
below."""


def _demand_each(what: str, given: Sequence, cases: Sequence[tuple], right: Callable, wrong: Wrong) -> None:
    """Raise what one number of each case is instead of the right one: a known mistake, or the first wrong number."""
    given, expected = list(map(float, given)), [right(*case) for case in cases]
    if np.allclose(given, expected, rtol=0, atol=1e-6):
        return
    for cause, mistake, formula in wrong:
        same = np.allclose(given, [formula(*case) for case in cases], atol=1e-6)
        demand(not same, f"{what} {mistake}.", cause)
    for case, mine, value in zip(cases, given, expected, strict=True):
        demand(abs(mine - value) <= 1e-6, f"{what} is {mine:.6g} for {case}, and must be {value:.6g}.")


# --------------------------------------------------------------------------- 06.8: the launch

BIG, SQUARE = ((128, 256, 64), (64, 64), 3), ((128, 128, 64), (64, 64), 4)
SMALL = ((64, 96, 64), (32, 48), 4)
LAUNCHES = [
    (512, 768, *BIG),
    (127, 257, *BIG),
    (1, 1, *SQUARE),
    (129, 1023, *SQUARE),
    (3000, 500, *SMALL),
    (191, 97, *SMALL),
    (400, 1000, (192, 128, 64), (48, 64), 3),
    (640, 65, (16, 64, 128), (16, 16), 4),
    (100, 2048, (64, 64, 64), (32, 32), 6),
]
"""(M, N, tile, warp, stages). In each of these the ring needs the most shared memory: the sums fit into it."""
PARTS = ("grid", "threads", "shared_mem")


def _mistakes_of_the_grid(side: int) -> Wrong:
    """Of the tiles down C (side 0) or across it (1)."""

    def of(formula: Callable, which: int = side, step: int = side) -> Callable:
        return lambda M, N, tile, warp, stages: formula((M, N)[which] / tile[step])

    other = 1 - side
    return [
        ("part-dropped", "drops a part of a tile", of(int)),
        ("one-too-many", "is one too many where the tile fits exactly", of(lambda tiles: int(tiles) + 1)),
        ("to-the-nearest", "is rounded to the nearest", of(round)),
        ("other-side", "is that of the other side", of(ceil, other, other)),
        ("other-side", "is that of the other side", of(int, other, other)),
        ("wrong-side-of-tile", "takes the wrong side of the tile", of(ceil, step=other)),
        (
            "parts-of-warps",
            "counts parts of warps",
            lambda M, N, tile, warp, stages: ceil((M, N)[side] / warp[side]),
        ),
    ]


def _warps(tile: Sequence[int], warp: Sequence[int]) -> int:
    return tile[0] // warp[0] * (tile[1] // warp[1])


MISTAKES_OF_THREADS: Wrong = [
    ("warps", "counts warps", lambda M, N, tile, warp, stages: _warps(tile, warp)),
    (
        "one-direction",
        "counts the warps of one direction",
        lambda M, N, tile, warp, stages: tile[0] // warp[0] * 32,
    ),
    (
        "one-direction",
        "counts the warps of one direction",
        lambda M, N, tile, warp, stages: tile[1] // warp[1] * 32,
    ),
    (
        "warps-added",
        "adds the warps of both directions",
        lambda M, N, tile, warp, stages: (tile[0] // warp[0] + tile[1] // warp[1]) * 32,
    ),
    ("elements", "counts elements of C", lambda M, N, tile, warp, stages: tile[0] * tile[1]),
    ("elements", "counts elements of C", lambda M, N, tile, warp, stages: warp[0] * warp[1]),
]


def _bytes(formula: Callable) -> Callable:
    return lambda M, N, tile, warp, stages: formula(*tile, stages)


MISTAKES_OF_SHARED_MEM: Wrong = [
    ("halves", "counts halves", _bytes(lambda TM, TN, TK, stages: stages * (TM + TN) * TK)),
    ("one-slot", "is that of one slot", _bytes(lambda TM, TN, TK, stages: (TM + TN) * TK * 2)),
    ("one-slot-in-halves", "is one slot, in halves", _bytes(lambda TM, TN, TK, stages: (TM + TN) * TK)),
    (
        "one-slot-too-few",
        "is one slot too small",
        _bytes(lambda TM, TN, TK, stages: (stages - 1) * (TM + TN) * TK * 2),
    ),
    ("tm-by-tn", "multiplies TM by TN", _bytes(lambda TM, TN, TK, stages: stages * TM * TN * TK * 2)),
    ("tm-by-tn", "multiplies TM by TN", _bytes(lambda TM, TN, TK, stages: stages * TM * TN * 2)),
    ("tm-by-tn", "multiplies TM by TN", _bytes(lambda TM, TN, TK, stages: TM * TN * 2)),
    ("no-tk", "leaves out TK", _bytes(lambda TM, TN, TK, stages: stages * (TM + TN) * 2)),
    ("floats", "counts floats", _bytes(lambda TM, TN, TK, stages: stages * (TM + TN) * TK * 4)),
    ("one-operand", "holds one operand", _bytes(lambda TM, TN, TK, stages: stages * TM * TK * 2)),
    ("one-operand", "holds one operand", _bytes(lambda TM, TN, TK, stages: stages * TN * TK * 2)),
]


def _three_numbers(answer: Any) -> None:
    """A function that gives the right launch for every case."""
    given = results_of(answer, "launch_of", LAUNCHES)
    three = all(isinstance(one, tuple | list) and len(one) == 3 for one in given)
    demand(three, f"the function returns {given[0]!r:.60}; it must return three things.", "no-three-things")
    grids, threads, shared_mem = zip(*given, strict=True)
    for part, values in zip(PARTS, (grids, threads, shared_mem), strict=True):
        for value in values:
            sides = value if isinstance(value, tuple | list) else [value]
            demand(all(side is not None for side in sides), f"there is still a gap: {part} is None.", "gap")
    pairs = all(isinstance(grid, tuple | list) and len(grid) == 2 for grid in grids)
    demand(pairs, f"grid is {grids[0]!r:.40}, and must be a pair.", "no-pair")
    x, y = ([grid[side] for grid in grids] for side in range(2))
    named: tuple = (("grid[0]", x), ("grid[1]", y), ("threads", threads), ("shared_mem", shared_mem))
    for name, values in named:
        for value in values:
            if not isinstance(value, int | np.integer):
                fail(f"{name} is {value!r:.40}, which is no whole number of type int.", "no-whole-number")
    _demand_each("grid[0]", x, LAUNCHES, lambda M, N, tile, *_: ceil(M / tile[0]), _mistakes_of_the_grid(0))
    _demand_each("grid[1]", y, LAUNCHES, lambda M, N, tile, *_: ceil(N / tile[1]), _mistakes_of_the_grid(1))
    demand(len(set(threads)) > 1, f"threads is {threads[0]} for every tile.", "always-the-same")
    right = lambda M, N, tile, warp, stages: _warps(tile, warp) * 32  # noqa: E731
    _demand_each("threads", threads, LAUNCHES, right, MISTAKES_OF_THREADS)
    right = _bytes(lambda TM, TN, TK, stages: stages * (TM + TN) * TK * 2)
    _demand_each("shared_mem", shared_mem, LAUNCHES, right, MISTAKES_OF_SHARED_MEM)


# --------------------------------------------------------------------------- 06.2: waves

SMS = 132
PROBLEMS = [
    (4096, 4096, (128, 256, 64), 1),
    (12 * 128, 11 * 256, (128, 256, 64), 1),  # 132 tiles: one full wave
    (24 * 128, 22 * 128, (128, 128, 64), 2),  # 528: two
    (19 * 128, 7 * 256, (128, 256, 64), 1),  # 133: one more than a wave
    (1000, 1000, (128, 128, 64), 2),
    (1030, 1030, (128, 128, 64), 1),
    (1300, 1550, (128, 128, 64), 1),  # 143; by area 123, rounded down 120
    (3000, 2000, (64, 64, 64), 3, 114),
    (1, 77, (64, 64, 64), 3, 108),
]
"""(M, N, tile, at_once), and the number of SMs where it is not that of an H100."""


def _of(formula: Callable) -> Callable:
    """A formula of the number of tiles, of those that run at once on an SM, and of the SMs."""
    return lambda M, N, tile, at_once, sms=SMS: formula(ceil(M / tile[0]) * ceil(N / tile[1]), at_once, sms)


def _waves(tiles: float, at_once: int, sms: int) -> int:
    return ceil(tiles / (sms * at_once))


def _last(tiles: int, at_once: int, sms: int) -> float:
    """The share of the last wave's places that have a block."""
    return tiles / (sms * at_once) - _waves(tiles, at_once, sms) + 1


MISTAKES_OF_WAVES: Wrong = [
    (
        "last-wave-dropped",
        "drops the last wave where it is not full",
        _of(lambda tiles, at_once, sms: tiles // (sms * at_once)),
    ),
    ("not-rounded", "is not rounded", _of(lambda tiles, at_once, sms: tiles / (sms * at_once))),
    (
        "one-too-many",
        "is one too many where the last wave is full",
        _of(lambda tiles, at_once, sms: tiles // (sms * at_once) + 1),
    ),
    ("waves-without-at-once", "forgets at_once", _of(lambda tiles, at_once, sms: _waves(tiles, 1, sms))),
    (
        "times-at-once",
        "multiplies by at_once",
        _of(lambda tiles, at_once, sms: _waves(tiles * at_once, 1, sms)),
    ),
    ("132-sms", "takes 132 SMs always", _of(lambda tiles, at_once, sms: _waves(tiles, at_once, SMS))),
    ("no-sms", "leaves out the SMs", _of(lambda tiles, at_once, sms: _waves(tiles, at_once, 1))),
    ("tiles", "is the number of tiles", _of(lambda tiles, at_once, sms: tiles)),
    (
        "by-area",
        "counts tiles by their area",
        lambda M, N, tile, at_once, sms=SMS: _waves(M * N / (tile[0] * tile[1]), at_once, sms),
    ),
    (
        "no-edge",
        "leaves out the tiles at the edge",
        lambda M, N, tile, at_once, sms=SMS: _waves((M // tile[0]) * (N // tile[1]), at_once, sms),
    ),
    (
        "sides-of-tile",
        "takes TN down C and TM across it",
        lambda M, N, tile, at_once, sms=SMS: _waves(ceil(M / tile[1]) * ceil(N / tile[0]), at_once, sms),
    ),
]
MISTAKES_OF_IDLE: Wrong = [
    ("1-where-full", "is 1 where the last wave is full", _of(lambda *case: 1 - _last(*case) % 1)),
    ("busy-share", "is the busy share", _of(_last)),
    (
        "busy-share",
        "is the busy share, and 0 where the last wave is full",
        _of(lambda *case: _last(*case) % 1),
    ),
    ("percent", "is in percent", _of(lambda *case: 100 * (1 - _last(*case)))),
    ("places", "is a number of places", _of(lambda tiles, at_once, sms: -tiles % (sms * at_once))),
    ("all-waves", "is that of all waves", _of(lambda *case: (1 - _last(*case)) / _waves(*case))),
    (
        "sides-of-tile",
        "takes TN down C and TM across it",
        lambda M, N, tile, at_once, sms=SMS: 1 - _last(ceil(M / tile[1]) * ceil(N / tile[0]), at_once, sms),
    ),
    ("share-without-at-once", "forgets at_once", _of(lambda tiles, at_once, sms: 1 - _last(tiles, 1, sms))),
]


def _tail(answer: Any) -> None:
    """A function that gives the waves, and the idle share of the last one."""
    given = results_of(answer, "waves", PROBLEMS)
    two = all(isinstance(one, tuple | list) and len(one) == 2 for one in given)
    demand(two, f"the function returns {given[0]!r:.60}; it must return two numbers.", "no-two-numbers")
    for name, values in zip(("count", "idle"), zip(*given, strict=True), strict=True):
        for value in values:
            demand(value is not None, f"there is still a gap: {name} is None.", "gap")
            demand(isinstance(value, Real), f"{name} is {value!r:.40}, which is no number.", "no-number")
    count, idle = ([float(one[part]) for one in given] for part in range(2))
    _demand_each("the number of waves", count, PROBLEMS, _of(_waves), MISTAKES_OF_WAVES)
    _demand_each("the idle share", idle, PROBLEMS, _of(lambda *case: 1 - _last(*case)), MISTAKES_OF_IDLE)


# --------------------------------------------------------------------------- 06.9: rows with zeros behind them

NAN = 0x7E00
"""What `to` is full of: halves that are NaN."""
WHOLE = (5, 48, 64)
"""A shape whose rows begin and end with sectors."""
SHAPES = [(1, 33, 40), (7, 37, 64), (40, 5, 8), (2, 150, 264), (11, 24, 24), (2, 1, 8), WHOLE, (70, 201, 208)]
"""(rows, width, stride); the largest one last, when it is known that the work is shared out"""
GRIDS = (1, 2)
OF_THREE = (40, 64, 64)
"""A shape for three blocks, of which each finds rows enough."""
PAD = r'extern\s+"C"\s+__global__\s+void\s+pad\s*\('
ONE_ALONE = """extern "C" __global__ void pad(const unsigned short* from, unsigned short* to, int rows,
                               int width, int stride)
{
    if (blockIdx.x == %d) pad_of_all(from, to, rows, width, stride);
}
"""
SECTOR = 32  # bytes
MOST_STEPS = 60_000
"""Of a launch here, which takes up to 4000, and 20,000 if every thread copies all."""


def _pad(kernel: Any) -> None:
    demand_kernel(kernel)
    for shape in SHAPES:
        for blocks in GRIDS:
            _padded(kernel, shape, blocks)
    _demand_each_block(kernel)


def _demand_each_block(kernel: Any) -> None:
    """Of three blocks each writes something: alone, in a launch of three."""
    body, name = re.subn(PAD, "__device__ void pad_of_all(", kernel.code, count=1)
    rows, width, stride = OF_THREE
    for block in range(3) if name else ():
        source, to = np.zeros((rows, width), np.uint16), np.full((rows, stride), NAN, np.uint16)
        code = f"{body}\n{ONE_ALONE % block}"
        alone = cupy_on_numpy.RawKernel(code, kernel.name, options=kernel.options)
        simulate(alone, (3,), (256,), (source, to, *map(np.int32, OF_THREE)), max_steps=MOST_STEPS)
        demand(
            (to != NAN).any(),
            f"the numbers are right, but of three blocks block {block} writes nothing: others do its part.",
            "idle-block",
        )


def _padded(kernel: Any, shape: tuple[int, int, int], blocks: int) -> None:
    rows, width, stride = shape
    source = np.arange(1, rows * width + 1, dtype=np.uint16).reshape(rows, width)
    to, expected = np.full((rows, stride), NAN, np.uint16), np.pad(source, ((0, 0), (0, stride - width)))
    args = (source, to, *map(np.int32, shape))
    report = simulate(kernel, (blocks,), (256,), args, max_steps=MOST_STEPS)
    demand_no_hazard(report)
    wrong, untouched = to != expected, to == NAN
    if wrong.any():
        told = f"(rows = {rows}, width = {width}, stride = {stride}; blocks = {blocks})"
        packed = np.array_equal(to.ravel()[: source.size], source.ravel())
        demand(not packed or rows == 1, f"the rows of `to` stand without a space {told}.", "no-stride")
        blank = stride > width and untouched[:, width:].all() and not wrong[:, :width].any()
        demand(not blank, f"nothing is written behind the rows {told}.", "no-zeros")
        if not wrong[0].any() and untouched[1:].all():
            fail(f"only the first row is written {told}.", "only-first-row")
        only = (untouched == wrong).all()
        demand(not only, f"{wrong.sum()} of {to.size} elements are never written {told}.", "not-stored")
        behind = not wrong[:, :width].any()
        text = f"{wrong.sum()} of {to.size} elements should be zeros and are not {told}."
        demand(not behind, text, "other-than-zeros")
        fail(f"{wrong.sum()} of {to.size} elements are wrong {told}.")
    if shape == WHOLE:
        demand_whole_sectors(report)
        moved, enough = report.counters.total.global_sectors, (source.nbytes + to.nbytes) // SECTOR
        demand(
            moved <= enough,
            f"the numbers are right, but {moved} sectors move in all, and {enough} hold the data.",
            "many-sectors",
        )


EXERCISES = {"06.8": _three_numbers, "06.2": _tail, "06.9": _pad}
