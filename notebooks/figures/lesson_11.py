"""The figures of lesson 11."""

from cupy_or_sim import style

LANES, COLUMNS = 128, 512
"""Of tensor memory."""
PLACES = {
    "copy thread": (0.2, 0.6),
    "copy engine": (5.1, 0.6),
    "slots": (10.0, 0.6),
    "multiplying thread": (0.2, 5.0),
    "tensor cores": (5.1, 5.0),
    "columns": (10.0, 5.0),
    "four warps": (14.2, 5.0),
}
"""Of boxes, their upper left corner."""
WIDE, HIGH = 3.2, 1.5
THREADS = ("copy thread", "multiplying thread", "four warps")
STEPS = (
    ("copy thread", "copy engine", "1: boxes"),
    ("copy engine", "slots", "bytes"),
    ("multiplying thread", "tensor cores", "3: products"),
    ("tensor cores", "columns", "sums"),
    ("columns", "four warps", "6: load"),
)
"""Who gives what to whom; to the right."""


def _edge(name: str, side: str) -> style.Point:
    """The middle of a side of a box."""
    x, y = PLACES[name]
    right, down = {"left": (0, 0.5), "right": (1, 0.5), "top": (0.5, 0), "bottom": (0.5, 1)}[side]
    return x + right * WIDE, y + down * HIGH


@style.styled
def who_tells_whom() -> style.Drawing:
    """Threads, engines, and the three kinds of mbarriers by which they tell each other."""
    figure = style.new_figure(3.3)
    ax = style.axes(figure)
    for name, (x, y) in PLACES.items():
        thread = name in THREADS
        style.box(ax, x, y, WIDE, HIGH, linewidth=1, facecolor=style.GREEN if thread else style.GRID)
        words = name.replace("multiplying thread", "thread that\nmultiplies").replace(
            "copy thread", "thread that\ncopies"
        )
        style.label(ax, x + WIDE / 2, y + HIGH / 2, words, 8, color=style.INK if thread else style.TEXT)
    for begin, end, given in STEPS:
        from_, to = _edge(begin, "right"), _edge(end, "left")
        style.arrow(ax, from_, to, style.TEXT)
        style.label(ax, (from_[0] + to[0]) / 2, from_[1] - 0.35, given, 7)
    told = {
        "2: full": (_edge("slots", "bottom"), _edge("multiplying thread", "top"), (8.0, 3.17)),
        "4: empty": (_edge("tensor cores", "top"), _edge("copy thread", "bottom"), (3.3, 2.99)),
    }
    for words, (from_, to, at) in told.items():
        style.arrow(ax, from_, to, style.VERMILLION, linewidth=1.6)
        style.label(ax, *at, words, 8, ground=style.FACE)
    low, (x, y), (right, below) = 7.4, _edge("tensor cores", "bottom"), _edge("four warps", "bottom")
    ax.plot([x, x, right], [y, low, low], color=style.VERMILLION, linewidth=1.6)
    style.arrow(ax, (right, low), (right, below), style.VERMILLION, linewidth=1.6)
    style.label(ax, (x + right) / 2, low, "5: done", 8, ground=style.FACE)
    ax.set(xlim=(0, 17.6), ylim=(7.8, 0.2))
    ax.axis("off")
    return figure, (
        "A thread that copies names boxes to the copy engine, whose bytes land in slots. The mbarrier full tells the "
        "thread that multiplies; it starts products at the tensor cores, whose sums lie in columns. The tensor cores "
        "tell by the mbarrier empty the thread that copies, and by the mbarrier done the four warps, which then load "
        "the sums. Barriers are orange arrows, everything else is black. No thread waits for the tensor cores in "
        "another one's place."
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
    style.label(ax, columns / 2, LANES / 2, f"128 x {columns} sums:\nrow r in lane r", 8, ground=style.FACE)
    rest = COLUMNS - columns
    style.label(ax, columns + rest / 2, LANES / 2, f"{rest} columns\nthat are free", 9, ground=style.FACE)
    ax.set(xlim=(-2, 1.5 * COLUMNS), ylim=(LANES + 2, -2), yticks=[], xticks=[0, columns, COLUMNS])
    ax.set_xlabel("column", fontsize=8, loc="left")
    for side in "left", "bottom":
        ax.spines[side].set_visible(False)
    return figure, (
        f"Tensor memory of an SM: {LANES} lanes and {COLUMNS} columns. The sums of a tile of 128 x {columns} take "
        f"columns 0 to {columns - 1} of all lanes, row r in lane r; {rest} columns are free. Warp 0 reaches lanes 0 to "
        "31, warp 1 lanes 32 to 63, warp 2 lanes 64 to 95, warp 3 lanes 96 to 127."
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
