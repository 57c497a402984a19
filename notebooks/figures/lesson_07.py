"""The figures of lesson 07."""

from itertools import pairwise

from cupy_or_sim import style

COPY = 2.3
"""A copy of a k-tile, in units of its math: of the schedule, which is a sketch."""
LOOKS = {
    "copy": ({"facecolor": style.SKY, "hatch": "///"}, style.FACE),
    "math": ({"facecolor": style.GREEN}, style.GREEN),
}
"""Of a bar of the schedule, and the ground of its words."""
PARITIES: tuple[dict, dict] = ({"facecolor": style.FACE}, {"facecolor": style.GRID, "hatch": "///"})
"""Of phases of an mbarrier, even and odd ones."""


@style.styled
def who_copies(drawn: int = 96, copies: int = 3072, kilobytes: str = "49,152"):
    """A k-tile comes by many small copies of all warps, or by six boxes that one thread names."""
    figure = style.new_figure(3.0)
    before, after = figure.subplots(1, 2)
    for ax, title in ((before, "lesson 05: eight warps copy"), (after, "Hopper: one thread names six boxes")):
        for x, text in ((0, "global memory"), (8.2, "shared memory")):
            style.box(ax, x, 0, 1.8, 9, facecolor=style.GRID, linewidth=1)
            style.label(ax, x + 0.9, 4.5, text, 9, rotation=90)
        ax.set(xlim=(-0.1, 10.1), ylim=(9.2, -0.4))
        ax.set_title(title, fontsize=9)
        ax.axis("off")
    for arrow in range(drawn):
        y = 0.15 + 8.7 * arrow / (drawn - 1)
        before.plot([1.8, 8.2], [y, y], color=style.SKY, linewidth=0.7)
    for warp in range(8):
        style.box(before, 4.2, 0.2 + 1.1 * warp, 1.6, 0.8, facecolor=style.FACE, linewidth=1)
        style.label(before, 5, 0.6 + 1.1 * warp, f"warp {warp}", 7)
    text = f"{copies:,} copies of 16 bytes, {copies // drawn} for each line"
    style.label(before, 5, 9.15, text, va="top")
    style.box(after, 3.3, 1.2, 2.2, 3.2, facecolor=style.ORANGE, linewidth=1)
    style.label(after, 4.4, 2.8, "copy\nengine", 9, color=style.INK)
    for box in range(6):
        y = 1.45 + 0.54 * box
        after.plot([1.8, 3.3], [y, y], color=style.SKY, linewidth=3)
        style.arrow(after, (5.5, y), (8.2, y), style.SKY, linewidth=2)
    style.box(after, 3.3, 5.6, 2.2, 0.8, facecolor=style.GREEN, linewidth=1)
    style.label(after, 4.4, 6.0, "thread 0", color=style.INK)
    style.arrow(after, (4.4, 5.6), (4.4, 4.4))
    style.box(after, 5.9, 6.2, 2.1, 1.0, facecolor=style.FACE, edgecolor=style.VERMILLION, linewidth=1.6)
    style.label(after, 6.95, 6.7, f"{kilobytes} bytes\nmissing", 7)
    style.label(after, 5, 8.1, "all warps look at the counter")
    return figure, (
        "Left, lesson 05: many lines through eight warps from global to shared memory, each for "
        f"{copies // drawn} copies: {copies:,} copies of 16 bytes. Right, Hopper: one arrow from thread 0 to the copy "
        f"engine, six arrows from there to shared memory, and a counter: {kilobytes} bytes missing."
    )


@style.styled
def phases(turns: int = 3, period: float = 4.0):
    """Phases of an mbarrier that one thread arrives at, expecting 4096 bytes in two copies."""
    figure = style.new_figure(2.9)
    rows = figure.subplots(4, 1, sharex=True, height_ratios=(0.5, 0.8, 1.3, 0.7))
    line = {"color": style.TEXT}
    for phase in range(turns):
        begin, odd = phase * period, phase % 2
        style.box(rows[0], begin, 0, period, linewidth=0.5, **PARITIES[odd])
        text = f"phase {phase}: parity {odd}"
        style.label(rows[0], begin + period / 2, 0.47, text, 9, bbox=style.on(style.FACE, 1.5))
        rows[1].plot([begin, begin + 0.8, begin + 0.8, begin + period], [1, 1, 0, 0], **line)
        times = [0, 0.8, 0.8, 2.9, 2.9, period, period]
        rows[2].plot([begin + time for time in times], [0, 0, 4096, 4096, 2048, 2048, 0], **line)
        words: dict = {"textcoords": "offset points", "fontsize": 8}
        rows[2].annotate("expect\n4096", (begin + 0.8, 4096), (4, -22), **words)
        rows[2].annotate("2048\nland", (begin + 2.9, 2048), (4, 4), **words)
        rows[2].annotate("2048\nland", (begin + period, 0), (-4, 4), ha="right", **words)
        waits = {"facecolor": style.ORANGE, "hatch": "xxx", "linewidth": 0.5}
        style.box(rows[3], begin + 1, 0.15, period - 1, 0.7, **waits)
        style.label(rows[3], begin + 1 + (period - 1) / 2, 0.47, f"wait for parity {odd}", ground=style.FACE)
    axes: tuple = ("", 1, []), ("arrivals\nmissing", 1.3, [0, 1]), ("bytes\nmissing", 4700, [0, 2048, 4096])
    for ax, (label, top, ticks) in zip(rows, (*axes, ("threads", 1, []))):
        ax.set(xlim=(0, turns * period), ylim=(0, top), xticks=[], yticks=ticks)
        ax.set_ylabel(label, rotation=0, ha="right", va="center", fontsize=8)
    rows[-1].set_xlabel("time →", fontsize=8)
    return figure, (
        f"{turns} phases of an mbarrier on an axis of time, with parities 0 and 1 in turn. In each phase one "
        "arrival is missing until a thread arrives and expects 4096 bytes. The bytes missing rise from 0 to "
        "4096, fall to 2048 when the first copy lands, and to 0 when the second one does. That ends the "
        "phase, and the next one begins."
    )


@style.styled
def bank_groups(rows: int = 10, marked: int = 2):
    """Which chunk of each row lies in which group of four banks, without a swizzle and with that of 128 bytes."""
    figure = style.new_figure(2.7)
    panels = figure.subplots(1, 2)
    for ax, title, swizzle in zip(panels, ("no swizzle", "swizzle of 128 bytes"), (0, 1)):
        for row in range(rows):
            for place in range(8):
                chunk = place ^ row % 8 * swizzle
                found = chunk == marked
                style.box(ax, place, row, facecolor=style.ORANGE if found else style.FACE)
                look: dict = {"fontweight": "bold", "color": style.INK} if found else {}
                style.label(ax, place + 0.5, row + 0.53, chunk, **look)
        ax.axhline(8, color=style.TEXT, linewidth=1.6)
        ax.set(xlim=(0, 8), ylim=(rows, 0))
        named, places = range(0, rows, 2), range(8)
        ax.set_yticks([row + 0.5 for row in named], [f"row {row}" for row in named])
        ax.set_xticks([p + 0.5 for p in places], [f"{4 * p}-{4 * p + 3}" for p in places], fontsize=7)
        ax.set_xlabel("banks", fontsize=8)
        ax.set_title(title, fontsize=9)
    return figure, (
        f"Rows 0 to {rows - 1} of a box of 64 halves a row, eight chunks of 16 bytes, over the eight groups "
        f"of four banks; chunk {marked} is marked. Without a swizzle chunk {marked} of every row lies in one "
        f"group. With the swizzle of 128 bytes chunk {marked} of rows 0 to 7 lies in eight different groups, "
        "and row 8 begins the pattern again."
    )


@style.styled
def descriptor(row: int = 5, k_step: int = 1):
    """A tile as it lies in shared memory, and how an address is made: as if nothing were swizzled, then swapped."""
    figure = style.new_figure(3.3)
    ax = style.axes(figure)
    wanted = 2 * k_step
    for r in range(9):
        top = r + (0.35 if r == 8 else 0)
        for place in range(8):
            chunk = place ^ r % 8
            used = chunk // 2 == k_step
            first = r == row and place == wanted
            colour, ink = (style.GREEN, style.INK) if used else (style.FACE, style.TEXT)
            frame = {"linewidth": 2, "edgecolor": style.VERMILLION} if first else {"linewidth": 0.5}
            style.box(ax, place, top, 1, 0.9, facecolor=colour, **frame)
            style.label(ax, place + 0.5, top + 0.47, chunk, color=ink)
        ax.text(-0.15, top + 0.47, f"row {r}", ha="right", va="center", fontsize=8)
    real = wanted ^ row % 8
    height, bent = row + 0.05, {"connectionstyle": "arc3,rad=-0.45", "linewidth": 1.6}
    style.arrow(ax, (wanted + 0.5, height), (real + 0.5, height), style.VERMILLION, **bent)
    style.arrow(ax, (8.25, 0), (8.25, 8.3), arrowstyle="<->")
    begins = f"k-step {k_step}: the descriptor begins\n{32 * k_step} bytes further, + {wanted}."
    swapped = f"Swapped by its row: place {real},\nwhere chunk {wanted} lies."
    style.label(ax, 8.4, 4.1, "1024 bytes\nto row 8:\n64 units", ha="left")
    style.label(ax, 10.6, 1.6, begins, ha="left")
    style.label(ax, 10.6, row + 0.5, f"In row {row} that is place {wanted} (framed).\n{swapped}", ha="left")
    ax.set(xlim=(-1.2, 15.5), ylim=(9.4, -0.3))
    ax.axis("off")
    return figure, (
        f"Nine rows of eight chunks of 16 bytes, as the copy engine laid them; the chunks of k-step {k_step} "
        f"are marked. Its descriptor begins {32 * k_step} bytes further, {wanted} units. In row {row} that is "
        f"place {wanted}; swapped as the copy engine did, it is place {real}, where chunk {wanted} lies. From "
        "row 0 to row 8 it is 1024 bytes, 64 units."
    )


def _schedule(slots: int, k_tiles: int) -> tuple[list[tuple[str, float, float, float, str]], dict, dict]:
    """(kind, row, begin, end, label) of bars; when each k-tile has landed, and when it has been read. SLOTS - 1 copies
    start at once; then a turn starts one, in the slot that the turn before has read."""
    bars: list[tuple[str, float, float, float, str]] = []
    full: dict[int, float] = {}
    empty: dict[int, float] = {}
    done = 0.0
    for t in range(k_tiles):
        start = (
            0.06 * t if t < slots - 1 else empty[t - slots] if t >= slots else empty.get(t - slots + 1, 0) - 1
        )
        start = max(start, 0.06 * t)
        full[t] = max(start + COPY, full.get(t - 1, 0.0) + 0.4)
        begin = max(done, full[t])
        done = empty[t] = begin + 1
        bars.append(("copy", t % slots, start, full[t], f"copy {t}"))
        bars.append(("math", t % slots, begin, done, f"math {t}"))
        bars.append(("math", slots, begin, done, f"{t}"))
    return bars, full, empty


@style.styled
def ring(slots: int = 4, k_tiles: int = 9):
    """The slots of a ring, the tensor cores, and the phases of slot 0's barriers. A sketch."""
    bars, full, empty = _schedule(slots, k_tiles)
    figure = style.new_figure(3.4)
    ax = style.axes(figure)
    end = max(empty.values()) + 0.2
    for kind, row, begin, stop, label in bars:
        look, ground = LOOKS[kind]
        style.box(ax, begin, row + 0.1, stop - begin, 0.8, linewidth=0.5, **look)
        style.label(ax, (begin + stop) / 2, row + 0.52, label, 7, ground, bbox=style.on(ground, 0.6))
    words = []
    for row, name, ends in ((slots + 1, "full[0]", full), (slots + 2, "empty[0]", empty)):
        edges = [0.0, *(ends[t] for t in range(0, k_tiles, slots)), end]
        for phase, (begin, stop) in enumerate(pairwise(edges)):
            style.box(ax, begin, row + 0.2, stop - begin, 0.6, linewidth=0.5, **PARITIES[phase % 2])
            if stop - begin > 0.9:
                style.label(ax, (begin + stop) / 2, row + 0.52, f"phase {phase}", 7, style.FACE)
        words.append(
            f"Of {name} {len(edges) - 2} phases end, at {', '.join(f'{edge:.1f}' for edge in edges[1:-1])}"
        )
    ax.set(xlim=(0, end), ylim=(slots + 3, 0), xticks=[])
    names = [*(f"slot {slot}" for slot in range(slots)), "tensor cores", "full[0]", "empty[0]"]
    ax.set_yticks([row + 0.5 for row in range(slots + 3)], names)
    ax.set_xlabel("time, in units of the math of a k-tile (a sketch)", fontsize=8)
    return figure, (
        f"A ring of {slots} slots and {k_tiles} k-tiles. {slots - 1} copies start at once, and copy {slots - 1} in "
        "turn 0; each later one starts when its slot has been read. A phase of full ends when a copy has landed, one "
        f"of empty when the math has read the slot. {'. '.join(words)}. Phases of odd number are hatched."
    )
