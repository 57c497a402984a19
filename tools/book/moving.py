"""The moving picture of a pipeline, from a model of a few lines, as an SVG that the front page holds.

One band copies and computes in turn, the other has three slots. A curtain uncovers both at the same pace; where a
reader wants no motion there is no curtain, and the whole picture stands still.
"""

from __future__ import annotations

from typing import NamedTuple

from course_lib.draw import style

COPY, APART, MATH, TILES = 3, 1, 2, 5
"""Units of time from the issue of a copy to its landing, between two landings at least, and for the math; k-tiles."""
COLOURS = {"copy": style.SKY, "math": style.GREEN}
"""As in every timeline of the lessons, where orange is a wait."""
UNIT, LEFT, ROW = 18, 116, 22  # pixels: a unit of time, the labels, a row


class Span(NamedTuple):
    """What happens with one k-tile from `begin` to `end`, in units of time."""

    tile: int
    begin: int
    end: int


def modelled(slots: int) -> tuple[list[Span], list[Span]]:
    """(copies, math) of a loop over k-tiles: a copy begins when its slot is free, math when its copy has landed and
    the math before it is done. Copies are on their way together, and land one after the other."""
    copies: list[Span] = []
    math: list[Span] = []
    for tile in range(TILES):
        free = math[tile - slots].end if tile >= slots else 0
        landed = max(free + COPY, copies[-1].end + APART if copies else 0)
        copies.append(Span(tile, free, landed))
        begin = max(copies[-1].end, math[-1].end if math else 0)
        math.append(Span(tile, begin, begin + MATH))
    return copies, math


def picture() -> str:
    """The picture and its button, as HTML without an empty line, so that Markdown takes it as one piece."""
    last = modelled(1)[1][-1].end
    gain = last / modelled(3)[1][-1].end
    width, height = LEFT + UNIT * last + 12, 10 * ROW + 8
    words = (
        f"Two timelines of {TILES} k-tiles, from a model. With one slot each copy waits for the math before it: "
        f"{last} units of time. With three slots copies run behind the math, which never stops again once it has "
        f"begun: {gain:.1f} times as fast."
    )
    note = (
        f"model: a copy takes {COPY} units of time, and copies land at least {APART} apart; the math of a k-tile takes "
        f"{MATH}; three slots: {gain:.1f} x as fast"
    )
    lines = [
        '<figure class="pipeline">',
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{words}">',
        *_band(1, 0),
        *_band(3, 4 * ROW),
        f'<g class="curtain"><rect class="shade" x="{LEFT}" y="0" width="{width - LEFT}" height="{height}"/>'
        f'<path class="now" d="M{LEFT} {ROW}V{3 * ROW}M{LEFT} {5 * ROW}V{9 * ROW}"/></g>',  # not through the titles
        _text(0, 14, "one slot: copy and math in turn", "title"),
        _text(0, 4 * ROW + 14, "three slots: copies run ahead of the math", "title"),
        "</svg>",
        f'<figcaption>{note}<button type="button" class="pause" hidden>Pause</button></figcaption>',
        "</figure>",
    ]
    return "\n".join(lines)


def _band(slots: int, top: int) -> list[str]:
    """The rows of a loop with so many slots; the first row's place is left for a title, which no curtain hides."""
    copies, math = modelled(slots)
    rows = []
    for slot in range(slots):
        y = top + ROW * (slot + 1)
        rows.append(_text(0, y + 15, f"copy, slot {slot}", "row"))
        rows += [_box(span, y, "copy") for span in copies if span.tile % slots == slot]
    y = top + ROW * (slots + 1)
    rows.append(_text(0, y + 15, "math", "row"))
    return rows + [_box(span, y, "math") for span in math]


def _text(x: int, y: int, words: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x}" y="{y}">{words}</text>'


def _box(span: Span, y: int, kind: str) -> str:
    x, width = LEFT + UNIT * span.begin, UNIT * (span.end - span.begin)
    return (
        f'<rect fill="{COLOURS[kind]}" x="{x + 1}" y="{y + 1}" width="{width - 2}" height="{ROW - 3}" rx="2"/>'
        f'<text class="tile" x="{x + width / 2:g}" y="{y + 15}">{span.tile}</text>'
    )
