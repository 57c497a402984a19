"""The figures of lesson 06 and of what goes deeper there."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from cupy_or_sim import style

SHARES = (style.SKY, style.ORANGE, style.GREEN, style.PURPLE, style.BLUE, style.VERMILLION)
"""Of the shares of the row of k-tiles, one block after the other."""
CHUNK, CHUNKS = 8, 4
"""Halves that one copy brings, and copies of a row of a k-tile of 32."""


@style.styled
def edge(M: int, N: int, tile: tuple[int, int]):
    """Left C under its tiles; right the last tile, to scale: what of it exists."""
    figure = style.new_figure(3.3)
    whole, last = figure.subplots(1, 2, width_ratios=(1.35, 1))
    down, across = -(-M // tile[0]), -(-N // tile[1])
    _box(whole, 0, 0, across * tile[1], down * tile[0], style.FACE, "///")
    _box(whole, 0, 0, N, M, style.GREEN)
    for column in range(across + 1):
        whole.plot([column * tile[1]] * 2, [0, down * tile[0]], color=style.TEXT, linewidth=0.8)
    for row in range(down + 1):
        whole.plot([0, across * tile[1]], [row * tile[0]] * 2, color=style.TEXT, linewidth=0.8)
    _words(whole, N / 2, M / 2, f"C: {M} x {N}", style.GREEN)
    whole.set_title(f"tiles of {tile[0]} x {tile[1]}; hatched: no C is there", fontsize=9)
    whole.set(xlim=(-8, across * tile[1] + 8), ylim=(down * tile[0] + 8, -8), aspect="equal")
    rows, columns = M - (down - 1) * tile[0], N - (across - 1) * tile[1]
    _box(last, 0, 0, tile[1], tile[0], style.FACE, "///")
    _box(last, 0, 0, columns, rows, style.GREEN)
    last.annotate("C ends here", (columns, rows), (0.25 * tile[1], 0.3 * tile[0]),
                  arrowprops={"arrowstyle": "-|>", "color": style.TEXT}, bbox=style.on(style.FACE, 1.5),
                  fontsize=8)  # fmt: skip
    _words(last, tile[1] / 2, 0.7 * tile[0], "sums that have\nno place in C", style.FACE)
    last.set_title("its last tile, larger", fontsize=9)
    last.set(xlim=(-2, tile[1] + 2), ylim=(tile[0] + 2, -2), aspect="equal")
    for axes in (whole, last):
        axes.axis("off")
    return figure, (f"C of {M} x {N} in tiles of {tile[0]} x {tile[1]}, which reach over it at the right and below. "
                    "Of its last tile only a corner exists.")  # fmt: skip


@style.styled
def zones(K: int, rows: int, columns: int):
    """The last k-tile of A and of B, a number in each chunk: the bytes that its copy reads; and what C gets of it.
    `rows` of A and `columns` of C are there, of six and of eight that are drawn."""
    figure = style.new_figure(2.9)
    of_a, of_b, of_c = figure.subplots(1, 3, width_ratios=(1, 1, 1.2))
    there, begin = K % (CHUNK * CHUNKS) // CHUNK, K // (CHUNK * CHUNKS) * CHUNK * CHUNKS
    for axes, name, side, lines, size in ((of_a, "A", "M", 6, rows), (of_b, "B", "N", 8, columns)):
        high = 8 / lines
        for line in range(lines):
            for chunk in range(CHUNKS):
                read = line < size and chunk < there
                behind_k = line < size and chunk >= there
                colour = style.GREEN if read else style.ORANGE if behind_k else style.SKY
                _box(axes, 2 * chunk, high * line, 2, high, colour)
                _words(axes, 2 * chunk + 1, high * (line + 0.5), "16" if read else "0", colour)
        axes.set_title(f"{name}: k from {begin} on", fontsize=9)
        axes.text(2 * there, -0.15, f"K = {K}", fontsize=8, ha="center", va="bottom")
        axes.text(-0.15, high * size, side, fontsize=8, ha="right", va="center")
    _box(of_c, 0, 0, 8, 8, style.FACE, "///")
    _box(of_c, 0, 0, columns, 8 / 6 * rows, style.GREEN)
    _words(of_c, columns / 2, 4 / 6 * rows, "stored", style.GREEN)
    _words(of_c, 4, 5.6, "not stored", style.FACE)
    of_c.set_title("C", fontsize=9)
    of_c.text(columns, -0.15, "N", fontsize=8, ha="center", va="bottom")
    of_c.text(-0.15, 8 / 6 * rows, "M", fontsize=8, ha="right", va="center")
    for axes in (of_a, of_b, of_c):
        axes.set(xlim=(-0.9, 8.1), ylim=(8.1, -0.9))
        axes.axis("off")
    return figure, (f"The last k-tile, K is {K}. Of each row of A and of B that exists the first chunk is read, 16 "
                    "bytes; of chunks behind K, and of rows behind M or N, 0. C is stored up to M and N.")  # fmt: skip


def _box(
    axes: style.Axes, x: float, y: float, width: float, height: float, colour: str, hatch: str = ""
) -> None:
    style.box(axes, x, y, width, height, facecolor=colour, linewidth=0.8, hatch=hatch)


def _words(axes: style.Axes, x: float, y: float, words: str, ground: str) -> None:
    style.label(axes, x, y, words, ground=ground, bbox=style.on(ground, 1.5))


@style.styled
def k_row(tiles: int, k_tiles: int, shares: Sequence[tuple[int, int]]):
    """The k-tiles of all tiles in one row, and the share of each block: (its first k-tile, the one behind its last)."""
    figure, words = style.new_figure(1.9), []
    axes, last = style.axes(figure), tiles * k_tiles
    for block, (begin, end) in enumerate(shares):
        for k_tile in range(begin, end):
            _box(axes, k_tile, 0, 1, 1, SHARES[block % len(SHARES)])
        _words(axes, (begin + end) / 2, 0.7, f"block {block}", style.FACE)
        words.append(f"block {block}: {end - begin} from k-tile {begin} on")
        pieces = _pieces(begin, end, k_tiles)
        for number, (first, behind) in enumerate(pieces, 1) if len(pieces) > 1 else ():
            _words(axes, (first + behind) / 2, 0.22, f"{number}.", style.FACE)
        tile_end = -(-end // k_tiles) * k_tiles
        takers = [_pieces(*share, k_tiles) for share in shares if share[0] < tile_end <= share[1]]
        if end % k_tiles and takers:  # what it leaves, and to whom
            taken = next((sum(one) / 2 for one in takers[0] if one[1] == tile_end), end)
            axes.annotate("", (taken, 1.05), (sum(pieces[0]) / 2, 1.05),
                          arrowprops={"arrowstyle": "-|>", "color": style.VERMILLION,
                                      "connectionstyle": "arc3,rad=-0.4"})  # fmt: skip
            axes.text((sum(pieces[0]) / 2 + taken) / 2, 1.65, "sums", fontsize=8, ha="center")
    for tile in range(tiles + 1):
        axes.plot([tile * k_tiles] * 2, [-0.45, 1.1], color=style.TEXT, linewidth=2.2)
    for tile in range(tiles):
        style.label(axes, (tile + 0.5) * k_tiles, -0.3, f"tile {tile}")
    axes.set(xlim=(-0.3, last + 0.3), ylim=(-0.6, 1.95), yticks=[], xlabel="k-tiles in one row, from 0 on")
    axes.set_xticks(range(0, last + 1, k_tiles))
    axes.spines[["left", "bottom"]].set_visible(False)
    return figure, f"{tiles} tiles of {k_tiles} k-tiles each in one row. {'; '.join(words)}."


def _pieces(begin: int, end: int, k_tiles: int) -> list[tuple[int, int]]:
    """The parts into which ends of tiles cut a share, from its end to its beginning, as a block makes them."""
    cuts = [begin, *range((begin // k_tiles + 1) * k_tiles, end, k_tiles), end]
    return [*pairwise(cuts)][::-1] if begin < end else []


LINES = {
    "three kernels": (style.VERMILLION, "o"),
    "cuBLAS + two kernels": (style.BLUE, "s"),
    "fused, GELU": (style.GREEN, "^"),
}


@style.styled
def layer(origin: str, times: Mapping[int, Mapping[str, float]]):
    """Time over that of the fused kernel, over K: {K: {way: microseconds}}, with the way "fused"."""
    figure, words, place = style.new_figure(3.0), [], 0.0
    axes = style.axes(figure)
    over = {label: [times[K][label] / times[K]["fused"] for K in times] for label in LINES}
    highest = max(map(max, over.values()))
    for label in sorted(over, key=lambda label: over[label][-1]):
        colour, marker = LINES[label]
        axes.plot(list(times), over[label], color=colour, marker=marker, markeredgecolor=style.TEXT)
        place = max(over[label][-1], place + 0.08 * highest)  # labels stand apart
        axes.text(4700, place, label, va="center", fontsize=9)
        words.append(f"{label}: " + ", ".join(f"K = {K} {time:.2f}" for K, time in zip(times, over[label])))
    axes.plot([110, 4300], [1, 1], color=style.TEXT, linewidth=1)  # ends before the labels
    axes.text(120, 0.93, "fused, ReLU", va="top", fontsize=8)
    axes.set_xscale("log", base=2)
    axes.set(xlim=(110, 14000), ylim=(0, None), xlabel="K", ylabel="time, fused = 1",
             xticks=list(times), xticklabels=list(times))  # fmt: skip
    axes.set_title(f"bias and ReLU (one line: GELU), C of 4096 x 4096: {origin}", fontsize=9)
    axes.grid(axis="y")
    return figure, f"Time over that of the fused kernel, {origin}. {'; '.join(words)}."


def _short(name: str) -> str:
    """A cube as one number: 2048³."""
    sizes = name.split(" x ")
    return f"{sizes[0]}³" if len(sizes) == 3 and len(set(sizes)) == 1 else name


Mark = tuple[str, float, float]
"""(name, FLOP per byte, TFLOP/s)"""


@style.styled
def roofs(origin: str, terabytes: float, flat: Sequence[tuple[str, float]], problems: Sequence[Mark],
          kernels: Sequence[Mark]):  # fmt: skip
    """Speed over FLOP per byte, where A, B and C move once: problems with one function, and kernels on one problem."""
    figure = style.new_figure(5.0)
    axes, first, last = style.axes(figure), 0.15, 5000.0
    highest = max(speed for _, speed in flat)
    axes.plot([first, highest / terabytes], [first * terabytes, highest], color=style.BLUE, linewidth=1.6)
    style.label(axes, 1.9, 8.2, f"memory: {terabytes} TB/s", rotation=34)
    lowest = min(speed for _, speed in flat) / terabytes  # FLOP per byte: at its left all is below the slope
    for name, speed in flat:
        axes.plot([speed / terabytes, last], [speed] * 2, color=style.BLUE, linewidth=1.6)
        # all names at the right of the slope, which would strike one through
        axes.text(1.1 * highest / terabytes, 1.04 * speed, f"{name}: {speed:g}", va="bottom", fontsize=8)
    for marks, colour, shape, at, side, what in (
        (problems, style.GREEN, "o", (6, -10), "right", "matmul"),
        (kernels, style.VERMILLION, "s", (8, 0), "left", "4096³"),
    ):
        axes.plot([], [], shape, color=colour, markeredgecolor=style.TEXT, label=what)
        for name, x, y in marks:
            axes.plot(x, y, shape, color=colour, markeredgecolor=style.TEXT, zorder=3)
            near = [(other, height) for _, other, height in marks if 0.8 < y / height < 1.25]
            beside = any(x / 10 < other < x for other, _ in near)  # a label at the left is that one's
            # Labels above each other stand apart.
            up = sum((y > height) - (y < height) for other, height in near if other == x)
            below = x < lowest  # no label on the slope
            to = (at[0], at[1] + 2 * up - 3 * below) if beside or below or side == "left" else (-at[0], 0)
            axes.annotate(_short(name), (x, y), to, textcoords="offset points",
                          ha="left" if beside or below else side, va="center", fontsize=7,
                          bbox=style.on(style.FACE, 0.6))  # fmt: skip
    axes.set(xscale="log", yscale="log", xlim=(first, last), ylim=(0.8, 1.6 * highest),
             xlabel="FLOP per byte, if A, B and C each move once", ylabel="TFLOP/s")  # fmt: skip
    axes.xaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(True)
    axes.set_title(origin, fontsize=9)
    axes.legend(loc="lower right", fontsize=8)
    said = "; ".join(f"{name} {y:.1f} at {x:.0f} FLOP/byte" for name, x, y in [*problems, *kernels])
    known = ", ".join(f"{name} {speed:g} TFLOP/s" for name, speed in flat)
    return figure, f"Speed over FLOP per byte, {origin}: {said}. Roofs: memory {terabytes} TB/s, {known}."
