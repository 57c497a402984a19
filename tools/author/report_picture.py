"""README's first picture, a report that names the lines of a race: `python -m tools.author.report_picture`."""

import re
from textwrap import wrap

import numpy as np

from course_lib import OPTIONS, simulate
from course_lib.lessons import sources
from cupy_or_sim import style
from cupy_or_sim.cupy_on_numpy import RawKernel
from ptxsim import Hazard
from tools.author import marked
from tools.install import ROOT

README, FILE = ROOT / "README.md", "assets/report.svg"
LESSON, KERNEL = "00_start_here", "mirror"
BARRIER = "__syncthreads();"
LETTERS = 88
"""Of a line of the report."""
CODE = {"family": "monospace", "fontsize": 9.5, "va": "center"}


def report() -> tuple[str, Hazard]:
    """Lesson 00's kernel without its barrier, and what the simulator says of it."""
    source = sources.edited(sources.kernel_source(LESSON, KERNEL), (BARRIER, f"// {BARRIER}")).strip("\n")
    x, y = np.arange(1024, dtype=np.float32), np.full(1024, np.nan, dtype=np.float32)
    found = simulate(RawKernel(source, KERNEL, options=OPTIONS), (4,), (256,), (x, y))
    return source, found.hazards[0]


@style.styled
def picture() -> style.Drawing:
    """The kernel with both lines marked, the sentence of the report below, and both in words."""
    source, hazard = report()
    lines = [re.sub(r"(\S) +(//)", r"\1  \2", line) for line in source.splitlines()]
    wrote = next(number for number, line in enumerate(lines, 1) if "tile[t] =" in line)
    said = wrap(f"{hazard.kind} at line {hazard.line}: {hazard.message}", LETTERS)
    below = len(lines) + 1.8
    figure = style.new_figure(0.25 * (below + len(said)))
    axes = style.axes(figure)
    for number, line in enumerate(lines, 1):
        marked = number in (hazard.line, wrote)
        if marked:
            style.box(axes, 0, number - 0.5, 100, facecolor=style.ORANGE, edgecolor="none", alpha=0.35)
        axes.text(3.5, number, f"{'▶ ' if marked else ''}{number}", ha="right", **CODE)
        axes.text(5, number, line, **CODE)
    style.box(axes, 0.2, below - 0.8, 99.6, len(said) + 0.6, facecolor="none", edgecolor=style.VERMILLION)
    for place, words in enumerate(said):
        axes.text(1.5, below + place, words, weight="bold" if not place else None, **CODE)
    axes.set(xlim=(0, 100), ylim=(below + len(said), 0.2))
    axes.axis("off")
    return figure, f"The kernel {KERNEL} of lesson 00 without its barrier, and its report: {' '.join(said)}"


def line(alt: str) -> str:
    """The picture in README."""
    return f"![{alt.replace('[', '(').replace(']', ')')}]({FILE})"


def main() -> None:
    figure, alt = picture()
    style.save_svg(figure, ROOT / FILE, alt)
    marked.write(README, "report", f"\n{line(alt)}\n")


if __name__ == "__main__":
    main()
