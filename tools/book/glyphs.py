"""A small picture of each lesson's pipeline for the first page: rows of copies, math and stores, time to the right."""

from course_lib.timelines.timeline_chart import LOOKS

PIPELINES = {
    "00": ("ccmms       ", "  ccmms     ", "    ccmms   "),
    "01": ("ccc   ccc   ", "   mmm   mmm"),
    "02": ("ccccccccc   ", "   mmmmmmmmm"),
    "03": ("ccc   ccc   ", "   ccc      ", "   mmmmmmmmm"),
    "04": ("cccc  cccc  ", "    mm    mm"),
    "05": ("cccc    cccc", "  cccc    cc", "    cccc    ", "    mmmmmmmm"),
    "06": ("cccccccc    ", "  mmmmmmmm  ", "          ss"),
    "07": ("ccccccccc   ", "  mmmmmmmm  ", "          ss"),
    "08": ("ccccccccccc ", "  mmmmmmmmmm", "      ss  ss"),
    "09": ("ccc  ccc    ", "   mmmmmmmmm"),
    "10": ("cccccccccc  ", "  mm  mm  mm", "    ss  ss  "),
    "11": ("cccccccccc  ", "  mmmmmmmmmm", "     sss sss"),
}
"""Lesson -> rows; a letter is a unit of time. Models, as simple as they can be: recordings stand in the lessons."""
COLOURS = {letter: LOOKS[phase][0] for letter, phase in (("c", "copy"), ("m", "math"), ("s", "epilogue"))}
"""As in every timeline of the lessons."""
UNIT, ROW, GAP = 7, 8, 2  # pixels


def glyph(lesson: str) -> str:
    """The SVG of a lesson, in one line; "" where there is none. Words say the same beside it, so it has none."""
    rows = PIPELINES.get(lesson, ())
    if not rows:
        return ""
    size = f'width="{UNIT * len(rows[0])}" height="{ROW * len(rows)}"'
    boxes = "".join(_box(row, at, letter) for row, text in enumerate(rows) for at, letter in enumerate(text))
    return f'<svg class="glyph" aria-hidden="true" {size}>{boxes}</svg>'


def _box(row: int, at: int, letter: str) -> str:
    if letter == " ":
        return ""
    place = f'x="{UNIT * at}" y="{ROW * row}" width="{UNIT}" height="{ROW - GAP}"'
    return f'<rect {place} fill="{COLOURS[letter]}"/>'
