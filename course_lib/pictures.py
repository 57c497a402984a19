"""Pictures of what a warp does: an access to shared memory, bank by bank; an access to global memory, sector by
sector; a fragment of a tensor core; an `ldmatrix`, from the lane that names a row to the lanes that receive it.

They show the simulator's own rules. What a kernel did: `bank_picture(*report.counters.pattern(line))` and
`sector_picture(*report.counters.pattern(line, memory="global"))`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import style
from .simulator.counters import BANKS, NO_LANE, SECTOR, WARP, global_sectors, shared_wavefronts
from .simulator.instructions.tensor import fragment

COLOURS = (style.SKY, style.ORANGE, style.GREEN, style.PURPLE)


def bank_picture(offsets: Sequence[int], size: int) -> None:
    """Show one warp's access to shared memory: `offsets`, the byte offset of each lane (negative: it takes no
    part), and `size`, the bytes that each of them moves."""
    style.show(*bank_figure(offsets, size))


def sector_picture(offsets: Sequence[int], size: int) -> None:
    """Show one warp's access to global memory: `offsets`, the byte offset of each lane in its array (negative: it takes
    no part), and `size`, the bytes that each of them moves."""
    style.show(*sector_figure(offsets, size))


def fragment_picture(operand: str, k: int = 16) -> None:
    """Show which lane holds which element of "A" (16 x k), "B" (8 x k) or "C" (16 x 8) of mma.m16n8k{8,16}."""
    style.show(*fragment_figure(operand, k))


def ldmatrix_picture(offsets: Sequence[int], row_bytes: int, first: int = 0) -> None:
    """Show an `ldmatrix.x4`: which lane names which chunk of 16 bytes, and which register of which lanes it comes to.

    `offsets`: byte offsets that the 32 lanes name; `first`: where the tile begins, with rows of `row_bytes`."""
    style.show(*ldmatrix_figure(offsets, row_bytes, first))


@style.styled
def bank_figure(offsets: Sequence[int], size: int):
    """The drawing for `bank_picture`, and its description in words."""
    offsets = _one_warp(offsets, size)
    lanes = 4 * BANKS // max(size, 4)  # of a phase: shared memory delivers at most 128 bytes at a time
    phases = [np.arange(first, first + lanes) for first in range(0, WARP, lanes)]
    phases = [phase for phase in phases if (offsets[phase] != NO_LANE).any()]
    height = phases[-1][-1] + 1
    figure = style.new_figure(1.2 + 0.135 * height)
    axes = _grid(figure, BANKS, height, every=4)
    axes.vlines(range(1, BANKS), 0, height, color=style.GRID, linewidth=0.4, zorder=0)
    found = []
    for phase in phases:
        queue: list[list[int]] = [
            [] for _ in range(BANKS)
        ]  # by bank: the words it delivers, one after the other
        for lane in phase[offsets[phase] != NO_LANE]:
            for word in range(offsets[lane] // 4, (offsets[lane] + size - 1) // 4 + 1):
                mine = queue[word % BANKS]
                if word not in mine:
                    mine.append(word)
                _access(axes, word % BANKS, lane, mine.index(word) + 1)
        most, bank = max((len(words), -bank) for bank, words in enumerate(queue))
        found.append(f"lanes {phase[0]} to {phase[-1]}: bank {-bank} delivers {_count(most, 'word')}")
        axes.axhline(phase[-1] + 1, color=style.TEXT, linewidth=1.2)
        label = f"bank {-bank}:\n{_count(most, 'word')}"
        axes.text(BANKS + 0.4, phase.mean() + 0.5, label, va="center", fontsize=8)
    (used,), (ideal,) = shared_wavefronts(offsets[None], size)
    title = f"Shared memory, {_count(size, 'byte')} a lane: {_count(used, 'wavefront')}, ideal {ideal}"
    axes.set(title=title, ylabel="lane")
    axes.set_xlabel("bank, 4 bytes wide. The number says which of its words the bank delivers: 1 = the first")
    return figure, f"One warp's access, lane by bank. {title}. {'; '.join(found).capitalize()}."


@style.styled
def sector_figure(offsets: Sequence[int], size: int):
    """The drawing for `sector_picture`, and its description in words. Four sectors stand in a row."""
    offsets, words = _one_warp(offsets, size), SECTOR // 4
    lanes: dict[int, list[int]] = {}  # by word of 4 bytes: who asks for it
    for lane in np.flatnonzero(offsets != NO_LANE):
        for word in range(offsets[lane] // 4, (offsets[lane] + size - 1) // 4 + 1):
            lanes.setdefault(word, []).append(int(lane))
    sectors = sorted({word // words for word in lanes})
    (moved,), (ideal,) = global_sectors(offsets[None], size)
    figure = style.new_figure(1.1 + 0.42 * -(-len(sectors) // 4))
    axes = style.axes(figure)
    for place, sector in enumerate(sectors):
        left, row = place % 4 * (words + 1.5), place // 4 * 1.6
        axes.text(left, row - 0.08, f"byte {SECTOR * sector}", fontsize=6.5, va="bottom")
        for word in range(words):
            asked = lanes.get(sector * words + word)
            look = {"facecolor": style.SKY} if asked else {"facecolor": "none", "hatch": "////"}
            _box(axes, left + word, row, **look)
            if asked:
                _write(axes, left + word, row, f"{asked[0]}" + "+" * (len(asked) > 1), fontsize=7)
    title = f"Global memory, {_count(size, 'byte')} a lane: {_count(moved, 'sector')}, ideal {ideal}"
    used = f"{4 * len(lanes)} of the {SECTOR * len(sectors)} bytes that move are asked for"
    axes.set(xlim=(-0.2, 4 * words + 4.8), ylim=((len(sectors) + 3) // 4 * 1.6 - 0.4, -0.8))
    legend = "A number is the lane that asks for the 4 bytes (+: and others); hatched: nobody does"
    axes.set_title(f"{title}. {used}.\n{legend}")
    axes.axis("off")
    first = ", ".join(str(offsets[lane]) for lane in range(4) if offsets[lane] != NO_LANE)
    return (
        figure,
        f"One warp's access, sector by sector. {title}. {used}. The first lanes are at byte {first}.",
    )


@style.styled
def fragment_figure(operand: str, k: int = 16):
    """The drawing for `fragment_picture`, and its description in words."""
    if operand not in ("A", "B", "C") or k not in (8, 16):
        raise ValueError(f'a fragment is that of "A", "B" or "C", with k = 8 or 16; got {operand!r}, k = {k}')
    rows, columns = fragment(operand, k)[:: -1 if operand == "B" else 1]  # the course's B is N x K
    height, width, packed = rows.max() + 1, columns.max() + 1, 1 if operand == "C" else 2  # in a register
    names = [f"{operand.lower()}{element}" for element in range(rows.shape[1])]
    registers = [" ".join(names[first : first + packed]) for first in range(0, len(names), packed)]
    figure = style.new_figure(1.2 + 0.29 * height)
    axes = _grid(figure, width, height)
    for (lane, element), row in np.ndenumerate(rows):
        x, weight = columns[lane, element], "normal" if lane else "bold"
        _box(axes, x, row, facecolor=COLOURS[element // packed], alpha=0.4)
        if not lane:
            _box(axes, x, row, fill=False, linewidth=2)
        _write(axes, x, row, f"{lane}: {names[element]}", fontsize=7.5, weight=weight)
    what = f"{operand} ({height} x {width}) of mma.m16n8k{k}"
    held = f"Each lane has {_count(len(registers), 'register')}: {', '.join(registers)}"
    axes.set(title=f'{what}: "5: {names[1]}" is element {names[1]} of lane 5. Lane 0 is framed.\n{held}')
    axes.set(ylabel="n" if operand == "B" else "m", xlabel="n" if operand == "C" else "k")
    places = ", ".join(f"{name} at ({r}, {c})" for name, r, c in zip(names, rows[0], columns[0], strict=True))
    return figure, f"Who holds what of {what}. {held}. Lane 0 holds {places}."


@style.styled
def ldmatrix_figure(offsets: Sequence[int], row_bytes: int, first: int = 0):
    """The drawing for `ldmatrix_picture`, and its description in words."""
    places = _one_warp(offsets, 16) - first
    if row_bytes % 16 or (places < 0).any():
        raise ValueError(
            f"rows of {row_bytes} bytes from byte {first} on hold no 32 pieces of 16 bytes at {offsets}"
        )
    named: dict[tuple[int, int], list[int]] = {}
    for lane, place in enumerate(places):
        named.setdefault((int(place // row_bytes), int(place % row_bytes // 16)), []).append(lane)
    height, width = max(row for row, _ in named) + 1, row_bytes // 16
    figure = style.new_figure(1.1 + 0.24 * height)
    axes = _grid(figure, width, height)
    for row, chunk in np.ndindex(height, width):
        lanes = named.get((row, chunk), [])
        look = {"facecolor": COLOURS[lanes[0] // 8], "alpha": 0.4} if lanes else {"facecolor": style.FACE}
        _box(axes, chunk, row, **look)
        if len(lanes) > 1:
            _box(axes, chunk, row, fill=False, linewidth=1.8, hatch="//")
        receivers = [f"r{lane // 8} of lanes {lane % 8 * 4}-{lane % 8 * 4 + 3}" for lane in lanes]
        words = (
            f"lane {', '.join(map(str, lanes))} → {' and '.join(receivers)}"
            if len(lanes) < 3
            else f"{len(lanes)} lanes"
        )
        if lanes:
            size, face = (7 if width < 4 and len(lanes) < 2 else 6), style.FACE if len(lanes) > 1 else "none"
            _write(
                axes,
                chunk,
                row,
                words,
                fontsize=size,
                bbox={"facecolor": face, "edgecolor": "none", "pad": 0.6},
            )
    axes.set(
        title="ldmatrix.x4: the lane that names a row of 16 bytes → the register that it comes to, and in which lanes"
    )
    axes.set(ylabel="row of the tile", xlabel="chunk: 8 halves, 16 bytes")
    order = "; ".join(
        f"lanes {8 * i} to {8 * i + 7} name, for register {i}, "
        + ", ".join(
            f"row {place // row_bytes} chunk {place % row_bytes // 16}" for place in places[8 * i : 8 * i + 8]
        )
        for i in range(4)
    )
    return figure, f"An ldmatrix.x4 in rows of {row_bytes} bytes: {order}."


def _one_warp(offsets: Sequence[int], size: int) -> np.ndarray:
    given = np.asarray(offsets, np.int64).reshape(-1)
    if size not in (1, 2, 4, 8, 16) or (given[given >= 0] % size).any():
        raise ValueError(
            f"a lane moves 1, 2, 4, 8 or 16 bytes, at a multiple of them; got {size} at {offsets}"
        )
    if len(given) > WARP or not (given >= 0).any():
        raise ValueError(f"offsets are those of 1 to {WARP} lanes, in bytes; got {offsets}")
    return np.pad(np.where(given < 0, NO_LANE, given), (0, WARP - len(given)), constant_values=NO_LANE)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")


def _grid(figure, width: int, height: int, every: int = 1):
    """Axes of width x height cells, the first one at the top left."""
    axes = style.axes(figure)
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_xticks(np.arange(0, width, every) + 0.5, range(0, width, every))
    axes.set_yticks(np.arange(0, height, every) + 0.5, range(0, height, every))
    return axes


def _access(axes, bank: int, lane: int, turn: int) -> None:
    colour, hatch = (style.SKY, "") if turn == 1 else (style.ORANGE, "////")
    _box(axes, bank, lane, facecolor=colour, hatch=hatch)
    _write(axes, bank, lane, turn, fontsize=7, bbox={"facecolor": colour, "edgecolor": "none", "pad": 0.8})


def _box(axes, x: int, y: int, **look) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), 1, 1, edgecolor=style.TEXT, **{"linewidth": 0.4, **look}))


def _write(axes, x: int, y: int, text: object, **look) -> None:
    axes.text(x + 0.5, y + 0.53, text, ha="center", va="center", **look)
