"""One look for every figure of the course.

Each figure brings its own face and its own text colours, for light and for dark pages. Other colours are those of
Okabe and Ito, which colour-blind readers can tell apart; a hatch or a label says the same thing a second time.
Figures are made without pyplot: nothing is drawn twice and no state is shared.
"""

import base64
import html
import io
import os
import re
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .slim_svg import slim

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:  # Matplotlib costs half a second, so only a drawing imports it
    Axes = Figure = object
Drawing = tuple[Figure, str]
"""A figure, and what it shows in words."""

FACE, TEXT, GRID = "#fbfbf8", "#1a1a1a", "#c9c9c4"
_DARK_FACE, _LIGHT_TEXT = "#14181e", "#e4e6e8"
IN_THE_DARK = {
    FACE: _DARK_FACE, "#ffffff": _DARK_FACE, TEXT: _LIGHT_TEXT, "#000000": _LIGHT_TEXT, GRID: "#565b62",
}  # fmt: skip
INK = "#111111"  # words on a coloured ground, which is the same in the dark
ORANGE, SKY, GREEN = "#e69f00", "#56b4e9", "#009e73"
BLUE, VERMILLION, PURPLE = "#0072b2", "#d55e00", "#cc79a7"
WIDTH = 8.0  # inches, the same for all figures
LARGEST = 60_000  # characters of an SVG in a notebook; what has more to draw is a PNG
BESIDE = {"textcoords": "offset points", "bbox": {"facecolor": FACE, "edgecolor": "none", "pad": 1}}
"""For `annotate`: the place of the text is in points from what it names, and lines do not cross it."""

Point = tuple[float, float]
Look = dict[str, Any]

_RC: dict[Any, Any] = {
    "figure.facecolor": FACE, "axes.facecolor": FACE, "savefig.facecolor": FACE, "text.color": TEXT,
    "axes.edgecolor": TEXT, "axes.labelcolor": TEXT, "xtick.color": TEXT, "ytick.color": TEXT,
    "axes.spines.top": False, "axes.spines.right": False, "grid.color": GRID, "grid.linewidth": 0.6,
    "font.family": "DejaVu Sans", "font.size": 9, "axes.titlesize": 10, "axes.titlelocation": "left",
    "hatch.color": TEXT, "hatch.linewidth": 0.5, "svg.hashsalt": "course", "svg.fonttype": "path",
}  # fmt: skip


def styled(draw: Callable) -> Callable:
    """Decorator: everything that the function draws or writes has the course's style."""

    @wraps(draw)
    def in_style(*args: Any, **kwargs: Any) -> Any:
        from matplotlib import rc_context

        with rc_context(_RC):
            return draw(*args, **kwargs)

    return in_style


@styled
def new_figure(height: float) -> Figure:
    """An empty figure, `height` inches high."""
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH, height), layout="constrained")


@styled
def axes(figure: Figure) -> Axes:
    """The one pair of axes of a figure."""
    return figure.subplots()


def box(axes: Axes, x: float, y: float, width: float = 1, height: float = 1, **look: Any) -> None:
    """Frame or fill a rectangle that begins at x and y: without sizes the cell in column x, row y."""
    from matplotlib.patches import Rectangle

    framed: Look = {"edgecolor": TEXT, "linewidth": 0.4}
    axes.add_patch(Rectangle((x, y), width, height, **framed | look))


def label(
    axes: Axes, x: float, y: float, text: object, size: float = 8, ground: str = "", **look: Any
) -> None:
    """Write around x and y; on a ground, which hides what lies below, in the colour that shows there."""
    middle: Look = {"ha": "center", "va": "center", "fontsize": size}
    covers = {"color": TEXT if ground == FACE else INK, "bbox": on(ground)} if ground else {}
    axes.text(x, y, text, **middle | covers | look)  # type: ignore[arg-type]


def arrow(axes: Axes, begin: Point, end: Point, colour: str = TEXT, **look: Any) -> None:
    """Draw an arrow from `begin` to `end`."""
    axes.annotate("", end, begin, arrowprops={"arrowstyle": "-|>", "color": colour} | look)


def on(ground: str, pad: float = 0.8) -> Look:
    """For `bbox` of a text: it has a ground of this colour, without a frame."""
    return {"facecolor": ground, "edgecolor": "none", "pad": pad}


def nothing(why: str) -> Drawing:
    """A figure of one line: why there is nothing to draw; and that line as its words."""
    figure = new_figure(0.5)
    empty = axes(figure)
    empty.text(0, 0.5, why, fontsize=8, va="center")
    empty.axis("off")
    return figure, why


@styled
def png(figure: Figure) -> bytes:
    """The figure as a PNG of 32 colours, small enough to be kept in a notebook."""
    from PIL import Image

    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=110)
    Image.open(drawn).convert("RGB").quantize(32).save(small, format="png", optimize=True)
    return small.getvalue()


@styled
def svg(figure: Figure) -> str:
    """The figure as an SVG, sharp at any size, small enough to be kept in a notebook. Its words are text: in the
    font of the course, or where that is missing in one that is as wide."""
    from matplotlib import rc_context

    drawn = io.StringIO()
    with rc_context({"svg.fonttype": "none"}):
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return for_dark_pages(
        slim(drawn.getvalue()).replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    )


def for_dark_pages(svg: str) -> str:
    """The drawing with other face, words and lines where the page is dark.

    The picture in an `<img>` follows the `color-scheme` of its place on the page. Face and words change together, so
    they can be read wherever the page is something else. What knows no such rules draws the light picture.
    """
    rules = "".join(
        f'[style*="{what}: {light}"],[{what}="{light}"]{{{what}:{dark} !important}}'
        for light, dark in IN_THE_DARK.items()
        for what in ("fill", "stroke")
    )
    # Matplotlib does not say black. Where words are drawn as paths, they stand in groups text_1, text_2, ...
    words = '[id^="text_"]' if 'id="text_' in svg else "text"
    style = f"<style>@media (prefers-color-scheme:dark){{{rules}{words}{{fill:{_LIGHT_TEXT}}}}}</style>"
    return re.sub(r"<svg\b[^>]*>", lambda begin: f"{begin[0]}\n{style}", svg, count=1)


@styled
def save_svg(figure: Figure, path: Path | str, alt: str) -> None:
    """Write the figure as an SVG with `alt` as its title. The same figure gives the same bytes."""
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Title": alt, "Date": None})
    Path(path).write_text(for_dark_pages(drawn.getvalue()), encoding="utf-8")


PICTURES = ("image/svg+xml", "image/png")
"""The forms of a picture in an output of a notebook."""
AS_LAB = "".join(  # Lab says on <body> whether its theme is light, and nothing of a color-scheme
    f'[data-jp-theme-light="{light}"] .course-figure{{color-scheme:{scheme}}}'
    for light, scheme in {"true": "light", "false": "dark"}.items()
)
PNG_AS_LAB = (  # light and dark change places, and hues stay
    '[data-jp-theme-light="false"] .course-figure[src^="data:image/png"]{filter:invert(.92) hue-rotate(180deg)}'
)


def with_words(output: dict) -> None:
    """Give the picture of a notebook's output its words, for pages that show an image without them: it becomes HTML."""
    for form in PICTURES:
        alt = output.get("metadata", {}).get(form, {}).get("alt")
        if alt and form in output.get("data", {}):
            data = "".join(output["data"].pop(form))
            coded = base64.b64encode(data.encode()).decode() if "svg" in form else data.replace("\n", "")
            words = html.escape(alt)
            image = f'<img alt="{words}" src="data:{form};base64,{coded}" class="course-figure">'
            look = AS_LAB if "svg" in form else PNG_AS_LAB
            output["data"]["text/html"] = f"{image}<style>{look}</style>"


def show(figure: Figure, alt: str) -> None:
    """Show the figure in the notebook; `alt` says in words what it shows.

    The words are stored twice: as the output's plain text, and as the image's alt text for web pages.
    Outside a notebook they are printed.
    """
    ipython = sys.modules.get("IPython")  # a notebook has imported it
    if ipython is None or ipython.get_ipython() is None:
        print(alt)
        return
    from IPython.display import display

    form, drawn = PICTURES[0], svg(figure)
    if len(drawn) > LARGEST:  # thousands of bars or points
        form, drawn = PICTURES[1], base64.b64encode(png(figure)).decode()
    output: dict[str, Any] = {"data": {form: drawn, "text/plain": alt}, "metadata": {form: {"alt": alt}}}
    if "JPY_SESSION_NAME" in os.environ:  # Jupyter's pages, which give no alt text to a plain image (4.6)
        with_words(output)
    display(output["data"], raw=True, metadata=output["metadata"])  # type: ignore[no-untyped-call]
