"""The figures of lesson 04: fragments, an `ldmatrix`, where chunks lie among the banks, a block, and who waits."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from course_lib.draw.cells import counted
from course_lib.draw.fragment_charts import COLOURS
from cupy_or_sim import style
from ptxsim import fragment

_rectangle, _text = partial(style.box, linewidth=0.6), partial(style.label, zorder=4)
ROWS, CHUNKS, LINE = 8, 4, 8
"""Rows of 64 bytes that one matrix of an `ldmatrix` reads, 16-byte chunks of a row, seats in 128 bytes: all banks."""
MOST_SEATS = 2 * ROWS * CHUNKS
Place = Callable[[int, int], int]
"""(row, chunk) -> the seat of 16 bytes, counted from the begin of the tile."""


def _numbered(axes, width: int, height: int, across: str, down: str) -> None:
    """Axes of width x height elements whose rows and columns have numbers."""
    axes.set(xlim=(-0.1, width + 0.1), ylim=(height + 0.1, -0.1), xlabel=across, ylabel=down)
    axes.set_xticks(np.arange(width) + 0.5, range(width), fontsize=8)
    axes.set_yticks(np.arange(height) + 0.5, range(height), fontsize=8)
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)


def _pairs(axes, operand: str, size: float = 7.5) -> None:
    """The 8 x 8 matrices of a fragment, one colour for each; of the first one also who holds each pair."""
    rows, columns = fragment(operand)[:: -1 if operand == "B" else 1]  # the course's B is N x K
    halves = operand != "C"
    for first in range(0, rows.shape[1], 2):
        row, column = int(rows[0, first]), int(columns[0, first])
        _rectangle(axes, column, row, 8, 8, facecolor=COLOURS[first // 2], alpha=0.4)
        name = operand.lower()
        held = f"{name}[{first // 2}]" if halves else f"c{first} and c{first + 1}"
        for lane in range(1 if first else 32):
            x, y = int(columns[lane, first]), int(rows[lane, first])
            _rectangle(axes, x, y, 2, 1, fill=False, linewidth=0.4 if lane else 2.2, zorder=2 if lane else 3)
            words = f"{lane}: {name}{first} {name}{first + 1}"
            _text(axes, x + 1, y + 0.52, words, size, weight="normal" if lane else "bold")
        if first:
            _text(axes, column + 4, row + 4.5, f"the same lanes,\n{'register ' if halves else ''}{held}", 9)


@style.styled
def fragment_a():
    """Who holds what of A: each pair of the first quarter with its lane, and of the other three what differs."""
    figure = style.new_figure(4.4)
    axes = style.axes(figure)
    _pairs(axes, "A")
    _numbered(axes, 16, 16, "k", "m")
    axes.set_title('The 16 x 16 of A. "5: a0 a1" is a pair of lane 5. Lane 0 is framed.\n'
                   "A colour is one register of 32 bits in every lane: two halves")  # fmt: skip
    return figure, (
        "Who holds what of A, 16 x 16. In the quarter of rows 0 to 7 and columns 0 to 7 each row has four pairs of "
        "neighbours: row 0 those of lanes 0, 1, 2, 3, row 1 those of lanes 4 to 7, row 7 those of lanes 28 to 31. They "
        "are a0 a1, register a[0]. The same lanes hold the quarter below in register a[1], the one to the right in "
        "a[2], the last one in a[3]. Lane 0 holds a0 a1 in row 0, columns 0 and 1, a2 a3 eight rows below, a4 a5 eight "
        "columns to the right, and a6 a7 both."
    )


@style.styled
def fragments_b_and_c():
    """Who holds what of B and of C, side by side."""
    figure = style.new_figure(4.4)
    left, right = figure.subplots(1, 2, width_ratios=(2.5, 1))
    _pairs(left, "B", 7)
    _numbered(left, 16, 8, "k", "n: a row of B is a column of C")
    left.set_title("B, 8 x 16 halves:\ntwo registers")
    _pairs(right, "C", 6.5)
    _numbered(right, 8, 16, "n", "m")
    right.set_title("C, 16 x 8 floats:\nfour registers")
    return figure, (
        "Who holds what of B, 8 x 16, and of C, 16 x 8. Of B lane l holds b0 b1 in row l / 4, columns l % 4 * 2 and "
        "the next, register b[0], and b2 b3 eight columns to the right, register b[1]. Of C it holds c0 and c1 in row "
        "l / 4, columns l % 4 * 2 and the next, and c2 and c3 eight rows below: four floats, four registers."
    )


@style.styled
def ldmatrix():
    """One 8 x 8 matrix: which lane names a row, and which lanes receive it."""
    figure = style.new_figure(2.9)
    axes = style.axes(figure)
    for row in range(8):
        _text(axes, -0.2, row + 0.5, f"lane {row} names row {row}  →", ha="right")
        for pair in range(4):
            _rectangle(axes, 2 * pair, row, 2, 1, facecolor=style.SKY, alpha=0.6)
            _text(axes, 2 * pair + 1, row + 0.5, f"to lane {4 * row + pair}")
    _text(axes, 8.2, 4, "each lane receives\ntwo halves: one register", ha="left")
    axes.set(xlim=(-3.4, 11.2), ylim=(8.05, -0.05), yticks=[])
    axes.set_xticks([column + 0.5 for column in range(8)], range(8), fontsize=8)
    axes.set_xlabel("column of the matrix (8 halves, 16 bytes a row)", fontsize=8)
    axes.set_title("ldmatrix, one matrix of 8 x 8 halves", fontsize=9)
    axes.spines[["left", "bottom"]].set_visible(False)
    return figure, (
        "One 8 x 8 matrix of halves. Lane r names row r, for lanes 0 to 7. Of row r, columns 0 and 1 go to lane 4 r, "
        "columns 2 and 3 to lane 4 r + 1, columns 4 and 5 to lane 4 r + 2, columns 6 and 7 to lane 4 r + 3. Each lane "
        "receives two halves, one register."
    )


def _plain(row: int, chunk: int) -> int:
    return CHUNKS * row + chunk


def _swizzled(row: int, chunk: int) -> int:
    return CHUNKS * row + (chunk ^ row // 2 % CHUNKS)


def _seats(place: Place) -> dict[tuple[int, int], int]:
    """(row, chunk) -> seat. Raises ValueError for a place that is no whole number, or far outside of the tile."""
    seats = {(row, chunk): place(row, chunk) for row in range(ROWS) for chunk in range(CHUNKS)}
    for (row, chunk), seat in seats.items():
        if not isinstance(seat, int | np.integer) or not 0 <= seat < MOST_SEATS:
            raise ValueError(
                f"place({row}, {chunk}) is {seat!r}; a seat is a whole number from 0 to {MOST_SEATS - 1}: "
                "write // for /, and keep near the 32 seats of the eight rows"
            )
    return seats


def _asked(seats: dict[tuple[int, int], int], chunk: int = 0) -> list[set[int]]:
    """For each group of four banks the seats in it that hold this chunk of the eight rows."""
    groups: list[set[int]] = [set() for _ in range(LINE)]
    for row in range(ROWS):
        groups[seats[row, chunk] % LINE].add(seats[row, chunk] // LINE)
    return groups


def _wavefronts(seats: dict[tuple[int, int], int], chunk: int = 0) -> int:
    """Of one matrix: how often the bank that is asked most is asked."""
    return max(map(len, _asked(seats, chunk)))


def _kept(seats: dict[tuple[int, int], int]) -> str:
    """In words: whether each row keeps its own four seats, each used once."""
    if len(set(seats.values())) < len(seats):
        return "Two chunks share a seat: bytes are lost"
    away = [row for (row, _), seat in seats.items() if seat // CHUNKS != row]
    return f"Row {away[0]} leaves its own four seats" if away else "Each row keeps its own four seats"


def _draw_seats(axes, seats: dict[tuple[int, int], int], with_counts: bool = True) -> None:
    """Draw who sits where and, below it, how often the banks are asked for chunk 0."""
    lines = max(4, max(seats.values()) // LINE + 1)
    taken: dict[int, list[str]] = {}
    for (row, chunk), seat in seats.items():
        taken.setdefault(seat, []).append(f"r{row} c{chunk}")
    first = {seats[row, 0] for row in range(ROWS)}
    for seat in range(lines * LINE):
        x, y, owners = seat % LINE, seat // LINE, taken.get(seat, [])
        face, hatch = style.SKY if seat in first else style.FACE, "///" * (seat not in first and bool(owners))
        _rectangle(axes, x, y, facecolor=face, hatch=hatch, linewidth=0.5)
        if owners:
            words = owners[0] if len(owners) == 1 else f"{owners[0]}\nand {counted(len(owners) - 1, 'other')}"
            _text(axes, x + 0.5, y + 0.5, words, 7.5 if len(owners) == 1 else 6.5, face)
    if with_counts:
        for group, found in enumerate(_asked(seats)):
            weight = "bold" if len(found) > 1 else "normal"
            _text(axes, group + 0.5, lines + 0.35, len(found), 9, weight=weight)
        _text(axes, -0.1, lines + 0.35, "asked for", ha="right")
    axes.set(xlim=(0, LINE), ylim=(lines + 0.7 * with_counts, 0))
    axes.set_yticks([line + 0.5 for line in range(lines)], [f"line {line}" for line in range(lines)])
    axes.set_xticks(range(LINE + 1), [*range(0, 4 * LINE, 4), ""], ha="left")
    axes.set_xlabel("bank")
    axes.tick_params(length=0)


@style.styled
def banks(place: Place):
    """Where `place(row, chunk)` puts the chunks of eight rows of 64 bytes, and what reading chunk 0 of them costs."""
    seats = _seats(place)
    lines = max(4, max(seats.values()) // LINE + 1)
    figure = style.new_figure(1.4 + 0.34 * lines)
    axes = style.axes(figure)
    _draw_seats(axes, seats)
    worst = max(range(CHUNKS), key=lambda chunk: _wavefronts(seats, chunk))  # the first of equals
    title = f"Chunk 0 of eight rows: {counted(_wavefronts(seats), 'wavefront')}"
    if worst:
        title += f" (chunk {worst}: {_wavefronts(seats, worst)})"
    seat = _kept(seats)
    axes.set_title(f"{title}. {seat}.\nBlue: chunk 0. The last row: how often its four banks are asked")
    groups = ", ".join(f"banks {4 * g} to {4 * g + 3} {len(found)}" for g, found in enumerate(_asked(seats)))
    return figure, f"{title}. {seat}. Words that a bank delivers for them: {groups}."


@style.styled
def plain_and_swizzled():
    """The chunks of eight rows of 64 bytes, one behind the other, and swizzled."""
    figure = style.new_figure(2.4)
    left, right = figure.subplots(1, 2)
    for axes, place, name in (left, _plain, "plain"), (right, _swizzled, "swizzled"):
        seats = _seats(place)
        _draw_seats(axes, seats, with_counts=False)
        used = counted(_wavefronts(seats), "wavefront")
        axes.set_title(f"{name}: chunk 0 of eight rows takes\n{used}", fontsize=9)
    return figure, (
        "Where chunks of 16 bytes lie, plain and swizzled; each line of 128 bytes holds two rows. Plain: chunk 0 of "
        "rows 0, 2, 4, 6 in banks 0 to 3, of rows 1, 3, 5, 7 in banks 16 to 19: 4 wavefronts. Swizzled: rows 0, 1 put "
        "chunks 0 1 2 3 into seats 0 1 2 3; rows 2, 3 into 1 0 3 2; rows 4, 5 into 2 3 0 1; rows 6, 7 into 3 2 1 0; "
        "chunk 0 of the eight rows lies in eight different groups of banks: 1 wavefront."
    )


@style.styled
def hierarchy():
    """A block of eight warps, a warp's 64 x 64, and one `mma`."""
    figure = style.new_figure(3.3)
    block, warp, one = figure.subplots(1, 3, width_ratios=(1, 1.45, 1.3))

    def tile(axes, x, y, width, height, colour, words, size=8.0, marked=False):
        _rectangle(axes, x, y, width, height, facecolor=colour, alpha=0.5, linewidth=2 if marked else 0.6,
                   zorder=2 if marked else 1)  # fmt: skip
        _text(axes, x + width / 2, y + height / 2, words, size)

    for w in range(8):
        here = style.ORANGE if w == 1 else style.FACE
        tile(block, w // 4 * 64, w % 4 * 64, 64, 64, here, f"warp {w}", marked=w == 1)
    block.set(xlim=(-1, 129), ylim=(257, -1), xticks=[0, 64, 128], yticks=range(0, 257, 64))
    block.set(xlabel="n", ylabel="m", aspect="equal")
    block.set_title("a block: 256 x 128\nof C, eight warps", fontsize=9)
    for i in range(4):
        tile(warp, -15, 16 * i, 13, 16, style.SKY, f"a[{i}]", 7)
        for j in range(8):
            marked = (i, j) == (1, 2)
            tile(warp, 8 * j, 16 * i, 8, 16, style.GREEN if marked else style.FACE, f"{i},{j}", 7, marked)
    for j in range(8):
        tile(warp, 8 * j, -13, 8, 11, style.PURPLE, str(j), 7)
    _text(warp, -2, -7.5, "B", ha="right")
    _text(warp, -17, 32, "A", ha="right")
    warp.set(xlim=(-22, 65), ylim=(65, -14), xticks=[0, 32, 64], yticks=[], xlabel="n", aspect="equal")
    warp.set_title("a warp: 64 x 64, one k-step:\n4 fragments of A, 8 of B, 32 mma", fontsize=9)
    tile(one, 0, 0, 16, 16, style.SKY, "A: 16 x 16\nk →")
    tile(one, 18, 0, 8, 16, style.GREEN, "C\n16 x 8", marked=True)
    tile(one, 18, -18, 8, 16, style.PURPLE, "B: 8 x 16\nturned,\nk ↓", 7)
    one.set(xlim=(-1, 27), ylim=(17, -19), xticks=[], yticks=[], aspect="equal")
    one.set_title("one mma: 16 x 8 of C,\n16 deep", fontsize=9)
    for axes in (warp, one):
        axes.spines[["left", "bottom"]].set_visible(False)
    return figure, (
        "The hierarchy. A block has 256 x 128 of C: eight warps of 64 x 64, four below each other in two columns. A "
        "warp's 64 x 64 are 4 x 8 pieces of 16 x 8, one mma each; for one step, 16 deep, it needs 4 fragments of A "
        "(one for each row of pieces) and 8 of B (one for each column of pieces), 32 mma in all. One mma: A 16 x 16 "
        "times B 8 x 16 gives C 16 x 8."
    )


def _idle(spans: Sequence[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """The stretches from 0 to `length` that none of the spans covers."""
    found, at = [], 0
    for begin, end in sorted(spans):
        if begin > at:
            found.append((at, min(begin, length)))
        at = max(at, end)
    return [*found, (at, length)] if at < length else found


@style.styled
def nobody_multiplies(timeline):
    """A timeline with a band over the stretches in which none of its warps multiplies, and their share of time."""
    figure, words = timeline.figure("steady")
    if not timeline.cycles("math"):  # its marks were left out: nobody knows
        return figure, words
    # means, as the lesson's sentences have them
    spent = ", ".join(f"{phase} {timeline.percent(phase)}" for phase in timeline.phases)
    words = (
        f"Timeline of {timeline.title}, {timeline.origin}. "
        f"Of a turn of {timeline.turn:,} cycles a warp spends: {spent}. {timeline.small_print}"
    )
    shown = timeline.parts["steady"]
    idle = _idle([(each.begin, each.end) for each in shown.events if each.phase == "math"], shown.length)
    (axes,) = figure.axes
    for begin, end in idle:
        axes.axvspan(begin, end, color=style.GRID, alpha=0.5, zorder=0, linewidth=0)
    share = sum(end - begin for begin, end in idle) / shown.length
    said = f"nobody multiplies: {share:.0%} of the time drawn"
    axes.set_title(f"{axes.get_title(loc='left')}\ngrey: {said}")
    return figure, f"{words} Grey bands, where none of these warps has math; {said}."
