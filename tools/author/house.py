"""The picture of docs/house.md: who stands on whom. `python -m tools.author.house` draws assets/house.svg.

The floors are those of the contract in pyproject.toml that forbids imports from above.
"""

from html import escape

from cupy_or_sim.style import FACE, GRID, IN_THE_DARK, SKY, TEXT
from hiding_latency.packages import pyproject
from tools.install import ROOT

PICTURE = ROOT / "assets" / "house.svg"
CONTRACT = "No package imports from above"
WORDS = {
    "tools": "what make calls",
    "hiding_latency": "what an installed course calls: lab, test, course; serve, a compiler for readers who have none",
    "course_lib": "what notebooks use: check, measure, draw, exercises; instruments: machine code, waves, counters",
    "matmul": "kernels of 06 and 07 as a function",
    "cupy_or_sim": "CuPy where a GPU is, its stand-in elsewhere; CUDA headers, Launch, timing",
    "ptxsim": "from CUDA C++ or PTX to a report: compiler, machine, races, counters, a clock",
}
ON_TOP = ("notebooks", "lessons and exercises; their answers and figures, loaded by path")
WIDTH, LEFT, RIGHT, FLOOR, GAP = 760, 12, 620, 50, 8
"""Of the picture; of the floors; height of one; between them."""


def floors() -> list[list[str]]:
    """The packages of each floor, from the top; those of one floor do not know each other."""
    settings = pyproject()["tool"]["importlinter"]
    (layers,) = (each["layers"] for each in settings["contracts"] if each["name"] == CONTRACT)
    return [layer.split(" | ") for layer in layers]


def picture() -> str:
    """The SVG, which follows its reader's light or dark page."""
    (beside,), *house = floors()
    rows = [[ON_TOP], *([(name, WORDS[name]) for name in floor] for floor in house)]
    boxes, height = [], len(rows) * (FLOOR + GAP) + GAP
    for level, row in enumerate(rows):
        wide = (RIGHT - LEFT - GAP * (len(row) - 1)) / len(row)
        for at, (name, words) in enumerate(row):
            place = LEFT + at * (wide + GAP), GAP + level * (FLOOR + GAP), wide, FLOOR
            boxes.append(_box(place, name, words, "loose" if level == 0 else ""))
    place = RIGHT + GAP, GAP, WIDTH - RIGHT - GAP - LEFT, height - 2 * GAP
    boxes.append(_box(place, beside, WORDS[beside], "loose"))
    style = (
        f"text{{font:12px sans-serif;fill:{TEXT}}}.name{{font:bold 14px monospace}}"
        f"rect{{fill:{FACE};stroke:{SKY};stroke-width:1.5}}.loose{{stroke:{GRID};stroke-dasharray:5 3}}"
        f"@media(prefers-color-scheme:dark){{text{{fill:{IN_THE_DARK[TEXT]}}}rect{{fill:{IN_THE_DARK[FACE]}}}}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">\n'
        f"<title>{escape(description())}</title>\n<style>{style}</style>\n" + "\n".join(boxes) + "\n</svg>\n"
    )


def description() -> str:
    """What the picture shows, in words: its alt text."""
    (beside,), *house = floors()
    named = "; on it ".join(" and ".join(floor) for floor in reversed(house))
    return f"The house, from the ground: {named}; on top the {ON_TOP[0]}. Beside it {beside}, which may call all."


def _box(place: tuple[float, float, float, float], name: str, words: str, kind: str) -> str:
    x, y, wide, high = place
    return (
        f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="4"/>'
        f'<text class="name" x="{x + 10:g}" y="{y + 20:g}">{name}</text>'
        f'<text x="{x + 10:g}" y="{y + 38:g}">{escape(words)}</text>'
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print(f"{PICTURE.name}: {description()}")
