"""Pictures of what a warp does: an access to shared memory, bank by bank; an access to global memory, sector by
sector; a fragment of a tensor core; an `ldmatrix`, from the lane that names a row to the lanes that receive it.

They show the simulator's own rules. What a kernel did: `bank_picture(*report.counters.pattern(line))` and
`sector_picture(*report.counters.pattern(line, memory="global"))`.
"""

from collections.abc import Sequence

import numpy as np

from cupy_or_sim import style
from ptxsim import NO_LANE, global_sectors, shared_wavefronts
from ptxsim.gpus import BANKS, SECTOR, WARP

from .cells import counted, grid, one_warp, write
from .fragment_charts import fragment_figure, ldmatrix_figure


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
def bank_figure(given: Sequence[int], size: int) -> style.Drawing:
    """The drawing for `bank_picture`, and its description in words."""
    offsets = one_warp(given, size)
    lanes = 4 * BANKS // max(size, 4)  # of a phase: shared memory delivers at most 128 bytes at a time
    phases = [np.arange(first, first + lanes) for first in range(0, WARP, lanes)]
    phases = [phase for phase in phases if (offsets[phase] != NO_LANE).any()]
    height = phases[-1][-1] + 1
    figure = style.new_figure(1.2 + 0.135 * height)
    axes = grid(figure, BANKS, height, every=4)
    axes.vlines(range(1, BANKS), 0, height, color=style.GRID, linewidth=0.4, zorder=0)
    found = []
    for phase in phases:
        # by bank: the words it delivers, one after the other
        queue: list[list[int]] = [[] for _ in range(BANKS)]
        for lane in phase[offsets[phase] != NO_LANE]:
            for word in range(offsets[lane] // 4, (offsets[lane] + size - 1) // 4 + 1):
                mine = queue[word % BANKS]
                if word not in mine:
                    mine.append(word)
                _access(axes, word % BANKS, lane, mine.index(word) + 1)
        most, bank = max((len(words), -bank) for bank, words in enumerate(queue))
        found.append(f"lanes {phase[0]} to {phase[-1]}: bank {-bank} delivers {counted(most, 'word')}")
        axes.axhline(phase[-1] + 1, color=style.TEXT, linewidth=1.2)
        label = f"bank {-bank}:\n{counted(most, 'word')}"
        axes.text(BANKS + 0.4, phase.mean() + 0.5, label, va="center", fontsize=8)
    (used,), (ideal,) = shared_wavefronts(offsets[None], size)
    title = f"Shared memory, {counted(size, 'byte')} a lane: {counted(used, 'wavefront')}, ideal {ideal}"
    axes.set(title=title, ylabel="lane")
    axes.set_xlabel("bank, 4 bytes wide. The number says which of its words the bank delivers: 1 = the first")
    return figure, f"One warp's access, lane by bank. {title}. {'; '.join(found).capitalize()}."


@style.styled
def sector_figure(given: Sequence[int], size: int) -> style.Drawing:
    """The drawing for `sector_picture`, and its description in words. Four sectors stand in a row."""
    offsets, words = one_warp(given, size), SECTOR // 4
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
            look: style.Look = {"facecolor": style.SKY} if asked else {"facecolor": "none", "hatch": "////"}
            style.box(axes, left + word, row, **look)
            if asked:
                who = f"{asked[0]}" + "+" * (len(asked) > 1)
                write(axes, left + word, row, who, fontsize=7, color=style.INK)
    title = f"Global memory, {counted(size, 'byte')} a lane: {counted(moved, 'sector')}, ideal {ideal}"
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


def _access(axes: style.Axes, bank: int, lane: int, turn: int) -> None:
    colour, hatch = (style.SKY, "") if turn == 1 else (style.ORANGE, "////")
    style.box(axes, bank, lane, facecolor=colour, hatch=hatch)
    write(axes, bank, lane, turn, fontsize=7, color=style.INK, bbox=style.on(colour))
