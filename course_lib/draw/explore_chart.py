"""How the figures of course_lib/draw/explore.py are shown: as HTML that stands alone, with a still form inside.

explore_pipeline.js draws the same timeline and writes the same sentence: tests/browser/test_explore_page.py compares.
Without scripts (a notebook that is not trusted, GitHub) the still form is all there is, so it uses only what JupyterLab
leaves in: no style sheet, the picture as an image with a background of its own.
"""

import base64
import html
import json
from functools import cache
from pathlib import Path

from cupy_or_sim.style import FACE, GREEN, SKY, TEXT, VERMILLION

LEFT, LANE, WINDOW = 1600, 18, 4
"""Labels take 16.00 % of the width; a lane is 18 pixels high; drawn is the time of 4 k-tiles in turn."""
NARROW = 250  # hundredths of a percent: a bar of less has no number
HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="Timeline: copies to the slots, math, and when '
    'nobody computes" width="100%" height="{0}" font-family="sans-serif" font-size="12" fill="currentColor">'
)
PATTERN = (
    '<defs><pattern id="{0}" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    f'<rect width="7" height="7" fill="{SKY}"/><rect width="1" height="7" fill="{TEXT}"/></pattern></defs>'
)
LAYERS = {
    "copy": f'<g fill="url(#{{0}})" stroke="{TEXT}" stroke-width=".6">',
    "math": f'<g fill="{GREEN}" stroke="{TEXT}" stroke-width=".6">',
    "idle": f'<g fill="none" stroke="{VERMILLION}" stroke-width="1.5" stroke-dasharray="4 3">',
    "in copy": f'<g text-anchor="middle" fill="#000" stroke="{SKY}" stroke-width="4" paint-order="stroke">',
    "in math": '<g text-anchor="middle" fill="#000">',
    "in idle": '<g text-anchor="middle">',
    "label": "<g>",
}

STILL = '<p class="still">A still form: run the cell, and it can be moved.</p>'
FIGURE = (
    'document.currentScript?.closest(".course-explore")'
    ' || [...document.querySelectorAll(".course-explore:not(.live)")].pop()'
)
"""The piece of the page that a script belongs to: the one round it, or, where the page runs scripts elsewhere (VS Code,
Colab), the newest one that no script has made live yet."""


def timeline_svg(turns: list[tuple[int, ...]], setting: dict[str, int], name: str) -> str:
    """The first turns as SVG, as wide as its place; `name`: of its hatch, unique on a page."""
    copy, math, stages, blocks = setting.values()
    window = WINDOW * (copy + math)
    layers = {layer: [begin.format(name)] for layer, begin in LAYERS.items()}
    block_height = LANE * (stages + 1 + (blocks > 1)) + 6

    def label(y: int, text: str) -> None:
        layers["label"].append(f'<text x="0" y="{y + 13}">{text}</text>')

    def bar(layer: str, begin: int, end: int, y: int, text: str | int) -> None:
        left, right = (LEFT + (10000 - LEFT) * min(time, window) // window for time in (begin, end))
        if right > left:
            place = (
                f'x="{left / 100:.2f}%" y="{y + 1}" width="{(right - left) / 100:.2f}%" height="{LANE - 2}"'
            )
            layers[layer].append(f"<rect {place}/>")
        if right - left >= NARROW:
            middle = f'x="{(left + right) // 2 / 100:.2f}%" y="{y + 13}"'
            layers[f"in {layer}"].append(f"<text {middle}>{text}</text>")

    for block in range(blocks):
        top = block * block_height
        if blocks > 1:
            label(top, f"block {block}")
        for slot in range(stages):
            label(top + LANE * (slot + (blocks > 1)), f"slot {slot}")
        label(top + block_height - LANE - 6, "math")
    bottom, free = blocks * block_height, 0
    label(bottom, "idle")
    for block, k_tile, issued, begins in turns:
        top = block * block_height + LANE * (blocks > 1)
        bar("copy", issued, issued + copy, top + LANE * (k_tile % stages), k_tile)
        bar("math", begins, begins + math, top + LANE * stages, k_tile)
        bar("idle", free, begins, bottom, "")
        free = begins + math
    layers["label"].append(
        f'<text x="16%" y="{bottom + 32}">0</text>'
        f'<text x="100%" y="{bottom + 32}" text-anchor="end">{window} cycles</text>'
    )
    drawn = "".join("".join(layer) + "</g>" for layer in layers.values())
    return f"{HEAD.format(bottom + 38)}{PATTERN.format(name)}{drawn}</svg>"


def draggable(turns: list[tuple[int, ...]], setting: dict, limits: dict, words: str) -> str:
    """The timeline with its sliders, which the script makes; still, it is the picture of this setting."""
    still = timeline_svg(turns, setting, "still")
    still = still.replace("<defs>", f'<rect width="100%" height="100%" fill="{FACE}"/><defs>', 1)
    height = still.partition(' height="')[2].partition('"')[0]
    source = "data:image/svg+xml;base64," + base64.b64encode(still.encode()).decode()
    picture = f'<img width="100%" height="{height}" alt="Timeline: {html.escape(words)}" src="{source}">'
    drawn = f"Drawn is the time in which one stage and one block do {WINDOW} k-tiles."
    shown = f'<p role="status">{html.escape(words)}</p>{picture}<p>{drawn}</p>'
    return _alone(shown, "pipeline", setting, limits, HEAD, PATTERN, LAYERS)


def stepped(steps: list[dict[str, str]], words: str) -> str:
    """The steps one by one, with buttons, which the script makes; still, they are a table."""

    def row(number: str | int, cells: list[str], tag: str) -> str:
        return (
            f"<tr><th>{number}</th>"
            + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)
            + "</tr>"
        )

    rows = [row("step", list(steps[0]), "th")]
    rows += [row(number, list(step.values()), "td") for number, step in enumerate(steps, 1)]
    caption = f"<caption>{html.escape(words)}; a barrier opens when 64 threads have come to it</caption>"
    return _alone(f"<table>{caption}{''.join(rows)}</table>", "handover")


def _alone(still: str, script: str, *arguments: object) -> str:
    """A piece of HTML that needs nothing else. The script gets the piece and the arguments."""
    call = f"(figure => figure && ({_file(f'explore_{script}.js')})(figure, ...{json.dumps(arguments)}))({FIGURE})"
    style = _file("explore.css")
    return f'<div class="course-explore"><style>{style}</style>{still}{STILL}<script>{call}</script></div>'


@cache
def _file(name: str) -> str:
    """A file beside this one, without indentation and lines of comment: every figure carries its own copy."""
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    return "\n".join(text for line in lines if (text := line.strip()) and not text.startswith("//"))
