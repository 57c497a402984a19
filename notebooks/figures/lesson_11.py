"""The figures of lesson 11."""

from cupy_or_sim import style

LANES, COLUMNS = 128, 512
"""Of tensor memory."""
ONE = 5, 40
"""Lane and column of the sum whose address is shown."""
COLUMN = (0.2, 4.85, 9.5, 14.2)
"""Where boxes begin, from the left."""
PLACES = {
    "copy thread": (COLUMN[1], 0.6),
    "copy engine": (COLUMN[2], 0.6),
    "slots": (COLUMN[3], 0.6),
    "multiplying thread": (COLUMN[3], 4.4),
    "tensor cores": (COLUMN[2], 4.4),
    "columns": (COLUMN[1], 4.4),
    "four warps": (COLUMN[0], 4.4),
}
"""Of boxes, their upper left corner: a circle, and the way out of it."""
WIDE, HIGH = 3.2, 1.5
THREADS = ("copy thread", "multiplying thread", "four warps")
STEPS = (
    ("copy thread", "copy engine", "1: boxes"),
    ("copy engine", "slots", "bytes"),
    ("multiplying thread", "tensor cores", "3: products"),
    ("tensor cores", "columns", "sums"),
    ("columns", "four warps", "6: load"),
)
"""Who gives what to whom; those above to the right, those below to the left."""


def _edge(name: str, side: str) -> style.Point:
    """The middle of a side of a box."""
    x, y = PLACES[name]
    right, down = {"left": (0, 0.5), "right": (1, 0.5), "top": (0.5, 0), "bottom": (0.5, 1)}[side]
    return x + right * WIDE, y + down * HIGH


@style.styled
def where_sums_lie() -> style.Drawing:
    """The sums of a tile: in the registers of those who start the products, or in a memory beside the tensor cores."""
    figure = style.new_figure(2.2)
    ax = style.axes(figure)
    for x, name in (0.2, "H100"), (9.2, "B200"):
        style.label(ax, x, 0.5, name, 10, ha="left", weight="bold")
    for x, y, wide, high in (
        (0.2, 1.0, 3.4, 4.2),
        (5.4, 1.0, 2.6, 1.6),
        (9.2, 1.0, 2.6, 1.6),
        (9.2, 3.6, 2.6, 1.6),
    ):
        style.box(ax, x, y, wide, high, linewidth=1, facecolor=style.GRID)
    style.box(ax, 13.9, 1.0, 3.4, 1.6, linewidth=1, facecolor=style.GRID)
    style.box(ax, 13.9, 3.6, 3.4, 1.6, linewidth=1, facecolor=style.FACE)
    for x in 0.5, 14.2:
        style.box(ax, x, 3.85, 2.8, 1.1, facecolor=style.GREEN)
    words = {
        (1.9, 2.4): "128 threads:\nall start,\nall wait",
        (6.7, 1.8): "tensor cores",
        (10.5, 1.8): "one thread:\nit starts",
        (15.6, 1.8): "tensor cores",
        (10.5, 4.4): "four warps",
    }
    for at, said in words.items():
        style.label(ax, *at, said, 8)
    style.label(ax, 1.9, 4.4, "sums, in\nregisters", 8, color=style.INK)
    style.label(ax, 15.6, 4.4, "sums, in tensor\nmemory", 8, color=style.INK)
    for begin, end in ((3.6, 1.5), (5.4, 1.5)), ((11.8, 1.8), (13.9, 1.8)), ((13.9, 4.4), (11.8, 4.4)):
        style.arrow(ax, begin, end)
    for begin, end in ((5.4, 2.2), (3.6, 2.2)), ((15.6, 2.6), (15.6, 3.6)):
        style.arrow(ax, begin, end, style.GREEN, linewidth=2)
    style.label(ax, 12.85, 4.05, "when?", 9, color=style.VERMILLION)
    ax.set(xlim=(0, 17.6), ylim=(5.4, 0.1))
    ax.axis("off")
    return figure, (
        "H100: 128 threads start products at the tensor cores together and wait; the sums come back to them. "
        "B200: one thread starts them, and goes on; the sums come to tensor memory, and four warps fetch them from "
        "there. When? is asked at that arrow."
    )


@style.styled
def who_tells_whom() -> style.Drawing:
    """Threads, engines, and the three kinds of mbarriers by which they tell each other."""
    figure = style.new_figure(3.3)
    ax = style.axes(figure)
    for name, (x, y) in PLACES.items():
        ground = style.FACE if name in THREADS else style.GREEN if name == "columns" else style.GRID
        style.box(ax, x, y, WIDE, HIGH, linewidth=1, facecolor=ground)
        words = name.replace("multiplying thread", "thread that\nmultiplies").replace(
            "copy thread", "thread that\ncopies"
        )
        style.label(
            ax, x + WIDE / 2, y + HIGH / 2, words, 8, color=style.INK if name == "columns" else style.TEXT
        )
    read = (COLUMN[3] + 0.3, 0.6 + HIGH), (COLUMN[2] + WIDE - 0.3, 4.4)
    style.arrow(ax, *read, style.TEXT)
    style.label(
        ax, (read[0][0] + read[1][0]) / 2, (read[0][1] + read[1][1]) / 2, "A, B", 7, ground=style.FACE
    )
    for begin, end, given in STEPS:
        sides = ("right", "left") if PLACES[begin] < PLACES[end] else ("left", "right")
        from_, to = _edge(begin, sides[0]), _edge(end, sides[1])
        style.arrow(ax, from_, to, style.TEXT)
        style.label(ax, (from_[0] + to[0]) / 2, from_[1] - 0.35, given, 7)
    told = {
        "2: full": (_edge("slots", "bottom"), _edge("multiplying thread", "top")),
        "4: empty": (_edge("tensor cores", "top"), _edge("copy thread", "bottom")),
    }
    for words, (from_, to) in told.items():
        style.arrow(ax, from_, to, style.VERMILLION, linewidth=1.6)
        middle = (from_[0] + to[0]) / 2, (from_[1] + to[1]) / 2
        style.label(ax, *middle, words, 8, ground=style.FACE)
    low, (x, y), (left, below) = 6.8, _edge("tensor cores", "bottom"), _edge("four warps", "bottom")
    ax.plot([x, x, left], [y, low, low], color=style.VERMILLION, linewidth=1.6)
    style.arrow(ax, (left, low), (left, below), style.VERMILLION, linewidth=1.6)
    style.label(ax, (x + left) / 2, low, "5: done", 8, ground=style.FACE)
    ax.set(xlim=(0, 17.6), ylim=(7.2, 0.2))
    ax.axis("off")
    return figure, (
        "A thread that copies names boxes to the copy engine, whose bytes land in slots. The mbarrier full tells the "
        "thread that multiplies; it starts products at the tensor cores, which read A and B in the slots, and whose "
        "sums lie in columns. The tensor cores tell by the mbarrier empty the thread that copies, and by the mbarrier "
        "done the four warps, which then load the sums. Barriers are orange arrows, everything else is black. No "
        "thread waits for the tensor cores in another one's place."
    )


@style.styled
def tensor_memory(columns: int = 128) -> style.Drawing:
    """Lanes and columns, the quarters that warps reach, and one tile of sums."""
    figure = style.new_figure(2.9)
    ax = style.axes(figure)
    style.box(ax, 0, 0, COLUMNS, LANES, linewidth=1, facecolor=style.FACE)
    style.box(ax, 0, 0, columns, LANES, linewidth=1, facecolor=style.GREEN)
    quarter = LANES // 4
    for warp in range(4):
        ax.plot([0, COLUMNS], [quarter * warp] * 2, color=style.TEXT, linewidth=1, linestyle="--")
        lanes = f"lanes {quarter * warp} to {quarter * warp + quarter - 1}: warp {warp}"
        style.label(ax, COLUMNS + 8, quarter * (warp + 0.5), lanes, 8, ha="left")
    style.label(ax, columns / 2, 1.5 * quarter, f"128 x {columns} sums:\nrow r in lane r", 8, color=style.INK)
    rest = COLUMNS - columns
    style.label(ax, columns + rest / 2, 1.5 * quarter, f"{rest} columns\nthat are free", 9)
    lane, column = ONE
    style.box(ax, column - 1, lane - 1, 3, 3, facecolor=style.ORANGE)
    at = columns + rest / 2, quarter / 2
    style.arrow(ax, at, (column + 2, lane + 0.5), style.TEXT, linewidth=1)
    style.label(ax, *at, f"lane {lane}, column {column}: {lane} << 16 | {column}", 8, ground=style.FACE)
    ax.set(xlim=(-2, 1.5 * COLUMNS), ylim=(LANES + 2, -2), yticks=[], xticks=[0, columns, COLUMNS])
    ax.set_xlabel("column", fontsize=8, loc="left")
    for side in "left", "bottom":
        ax.spines[side].set_visible(False)
    return figure, (
        f"Tensor memory of an SM: {LANES} lanes and {COLUMNS} columns. The sums of a tile of 128 x {columns} take "
        f"columns 0 to {columns - 1} of all lanes, row r in lane r; {rest} columns are free. Warp 0 reaches lanes 0 to "
        f"31, warp 1 lanes 32 to 63, warp 2 lanes 64 to 95, warp 3 lanes 96 to 127. One sum is marked: lane {lane}, "
        f"column {column}, with its address, {lane} << 16 | {column}."
    )


MULTIPLY, FETCH = 4.0, 3.0
"""Of a tile, in the sketch's units: fetching is the shorter of the two."""


def _two_halves(tiles: int) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """When each tile is multiplied, and when it is fetched: a half is multiplied anew once it has been read."""
    math: list[tuple[float, float]] = []
    fetched: list[tuple[float, float]] = []
    for tile in range(tiles):
        free = fetched[tile - 2][1] if tile > 1 else 0.0
        begin = max(free, math[-1][1] if math else 0.0)
        math.append((begin, begin + MULTIPLY))
        start = max(math[-1][1], fetched[-1][1] if fetched else 0.0)
        fetched.append((start, start + FETCH))
    return math, fetched


@style.styled
def two_tiles(tiles: int = 4) -> style.Drawing:
    """Two halves of the columns in turn: multiplied, then fetched while the other one is multiplied. A sketch."""
    math, fetched = _two_halves(tiles)
    figure = style.new_figure(2.3)
    ax = style.axes(figure)
    end = fetched[-1][1] + 0.3
    for tile, ((begin, stop), (start, last)) in enumerate(zip(math, fetched)):
        half = tile % 2
        for row in 0, 2 + half:
            style.box(ax, begin, row + 0.1, stop - begin, 0.8, facecolor=style.GREEN, linewidth=0.5)
            style.label(ax, (begin + stop) / 2, row + 0.52, f"tile {tile}", 8, color=style.INK)
        for row in 1, 2 + half:
            style.box(
                ax, start, row + 0.1, last - start, 0.8, facecolor=style.PURPLE, hatch="\\\\\\", linewidth=0.5
            )
            style.label(
                ax, (start + last) / 2, row + 0.52, f"fetch {tile}", 8, ground=style.PURPLE, color=style.INK
            )
    rows = ("tensor cores", "four warps", "half 0", "half 1")
    ax.set(xlim=(0, end), ylim=(4, 0), xticks=[])
    ax.set_yticks([row + 0.5 for row in range(4)], rows)
    ax.set_xlabel("a sketch, no times: here fetching takes less than the products of a tile", fontsize=8)
    return figure, (
        f"A sketch of {tiles} tiles. The tensor cores multiply one after the other, in half 0 and half 1 in turn; four "
        "warps fetch each tile while the next one is multiplied. A half is multiplied anew when it has been fetched."
    )


PAIR = {"even block": 0.2, "odd block": 9.6}
"""Where each block of a pair begins, from the left."""
HELD = (
    ("A: 128 rows", 0.3, 1.1, 3.5),
    ("B: 128 of 256 rows", 4.0, 1.1, 3.7),
    ("128 x 256 sums", 0.3, 2.5, 7.4),
)
"""What a block holds: words, place in it, width."""
BARRIERS = {"even block": ("full", "empty", "sums_full", "sums_empty"), "odd block": ("empty", "sums_full")}
TOLD = (
    ("the odd one's copies, too", "full", 8.4),
    ("one commit tells both", "empty", 7.6),
    ("one commit tells both", "sums_full", 6.8),
    ("the odd one's threads, too", "sums_empty", 6.0),
)
"""Words, the barrier, and how far below it is told."""


def _at(block: str, barrier: str) -> float:
    """Where a barrier's middle is, from the left: in the odd block mirrored, so that no two lines cross."""
    from_edge = 1.2 + 1.87 * BARRIERS["even block"].index(barrier)
    return PAIR[block] + (from_edge if block == "even block" else 8.0 - from_edge)


@style.styled
def pair() -> style.Drawing:
    """Two blocks that multiply together: what each holds, and in which one the barriers lie."""
    figure = style.new_figure(3.6)
    ax = style.axes(figure)
    for block, x in PAIR.items():
        style.box(ax, x, 0.6, 8.0, 4.9, linewidth=1, facecolor=style.FACE)
        style.label(ax, x, 0.2, block, 9, ha="left", weight="bold")
        for words, right, down, wide in HELD:
            sums = "sums" in words
            style.box(ax, x + right, down, wide, 1.1, facecolor=style.GREEN if sums else style.GRID)
            style.label(
                ax, x + right + wide / 2, down + 0.55, words, 8, color=style.INK if sums else style.TEXT
            )
        for name in BARRIERS[block]:
            style.box(
                ax, _at(block, name) - 0.88, 4.1, 1.76, 0.9, edgecolor=style.VERMILLION, facecolor=style.FACE
            )
            style.label(ax, _at(block, name), 4.55, name, 7)
    for words, barrier, low in TOLD:
        even, odd = _at("even block", barrier), _at("odd block", barrier)
        both = barrier in BARRIERS["odd block"]
        ax.plot([even, odd], [low, low], color=style.VERMILLION, linewidth=1.4)
        style.arrow(ax, (even, low), (even, 5.0), style.VERMILLION, linewidth=1.4)
        if both:
            style.arrow(ax, (odd, low), (odd, 5.0), style.VERMILLION, linewidth=1.4)
        else:
            ax.plot([odd, odd], [low, 5.5], color=style.VERMILLION, linewidth=1.4)
        style.label(ax, (even + odd) / 2, low, words, 7, ground=style.FACE)
    ax.set(xlim=(0, 17.8), ylim=(8.8, -0.2))
    ax.axis("off")
    return figure, (
        "Two blocks of a pair. Each holds 128 rows of A, 128 of the 256 rows of B, and 128 x 256 sums; the tensor "
        "cores of both read both halves of B. In the even block lie the barriers full, empty, sums_full and "
        "sums_empty, in the odd block empty and sums_full. Copies of the odd block count at the even one's full, and "
        "its threads arrive at the even one's sums_empty; one commit tells both blocks' empty, and one both blocks' "
        "sums_full."
    )
