"""The pictures of tensor cores: who holds what of a fragment, and how an `ldmatrix` deals it out."""

from collections.abc import Sequence

import numpy as np

from cupy_or_sim import style
from ptxsim import fragment

from .cells import counted, grid, one_warp, write

COLOURS = (style.SKY, style.ORANGE, style.GREEN, style.PURPLE)


@style.styled
def fragment_figure(operand: str, k: int = 16) -> style.Drawing:
    """The drawing for `fragment_picture`, and its description in words."""
    if operand not in ("A", "B", "C") or k not in (8, 16):
        raise ValueError(f'a fragment is that of "A", "B" or "C", with k = 8 or 16; got {operand!r}, k = {k}')
    rows, columns = fragment(operand, k)
    if operand == "B":  # the course's is N x K
        rows, columns = columns, rows
    height, width, packed = rows.max() + 1, columns.max() + 1, 1 if operand == "C" else 2  # in a register
    names = [f"{operand.lower()}{element}" for element in range(rows.shape[1])]
    registers = [" ".join(names[first : first + packed]) for first in range(0, len(names), packed)]
    figure = style.new_figure(1.2 + 0.29 * height)
    axes = grid(figure, width, height)
    for lane, element in np.ndindex(rows.shape):
        x, row = int(columns[lane, element]), int(rows[lane, element])
        weight = "normal" if lane else "bold"
        style.box(axes, x, row, facecolor=COLOURS[element // packed], alpha=0.4)
        if not lane:
            style.box(axes, x, row, fill=False, linewidth=2)
        write(axes, x, row, f"{lane}: {names[element]}", fontsize=7.5, weight=weight)
    what = f"{operand} ({height} x {width}) of mma.m16n8k{k}"
    held = f"Each lane has {counted(len(registers), 'register')}: {', '.join(registers)}"
    axes.set(title=f'{what}: "5: {names[1]}" is element {names[1]} of lane 5. Lane 0 is framed.\n{held}')
    axes.set(ylabel="n" if operand == "B" else "m", xlabel="n" if operand == "C" else "k")
    places = ", ".join(f"{name} at ({r}, {c})" for name, r, c in zip(names, rows[0], columns[0], strict=True))
    return figure, f"Who holds what of {what}. {held}. Lane 0 holds {places}."


@style.styled
def ldmatrix_figure(offsets: Sequence[int], row_bytes: int, first: int = 0) -> style.Drawing:
    """The drawing for `ldmatrix_picture`, and its description in words."""
    places = one_warp(offsets, 16) - first
    if row_bytes % 16 or (places < 0).any():
        raise ValueError(
            f"rows of {row_bytes} bytes from byte {first} on hold no 32 pieces of 16 bytes at {offsets}"
        )
    named: dict[tuple[int, int], list[int]] = {}
    for lane, place in enumerate(places):
        named.setdefault((int(place // row_bytes), int(place % row_bytes // 16)), []).append(lane)
    height, width = max(row for row, _ in named) + 1, row_bytes // 16
    figure = style.new_figure(1.1 + 0.24 * height)
    axes = grid(figure, width, height)
    for row, chunk in np.ndindex(height, width):
        lanes = named.get((row, chunk), [])
        look = {"facecolor": COLOURS[lanes[0] // 8], "alpha": 0.4} if lanes else {"facecolor": style.FACE}
        style.box(axes, chunk, row, **look)
        if len(lanes) > 1:
            style.box(axes, chunk, row, fill=False, linewidth=1.8, hatch="//")
        receivers = [f"r{lane // 8} of lanes {lane % 8 * 4}-{lane % 8 * 4 + 3}" for lane in lanes]
        words = (
            f"lane {', '.join(map(str, lanes))} → {' and '.join(receivers)}"
            if len(lanes) < 3
            else f"{len(lanes)} lanes"
        )
        if lanes:
            size, face = (7 if width < 4 and len(lanes) < 2 else 6), style.FACE if len(lanes) > 1 else "none"
            write(axes, chunk, row, words, fontsize=size, bbox=style.on(face, 0.6))
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
