"""A line that a report or a verdict names leads to that line of the kernel, on this page or an earlier one.

In outputs such a link is `#cuda-line/KERNEL/LINE`; `ptxsim.line_link` makes it, and Lab follows it as it is.
"""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from docutils import nodes

from tools.book.lesson import KERNEL
from tools.book.pages import Page

_LINK = re.compile(
    r' href="#cuda-line/(?P<kernel>\w+)/(?P<line>\d+)"(?P<rest>[^>]*>[^<]*</a>(?:\s*<b>(?P<text>[^<]*)</b>)?)'
)


@dataclass(frozen=True)
class Listing:
    """A cell that holds CUDA C++, and where its lines are."""

    page: Page
    cell: int
    lines: list[str]

    def anchor(self, line: int) -> str:
        return f"{prefix(self.cell)}-{line}"

    def holds(self, kernel: str) -> bool:
        text = "\n".join(self.lines)
        return "__global__" in text and re.search(rf"\b{kernel}\(", text) is not None

    def nearest(self, text: str, line: int) -> int | None:
        """The number of the line with this text that is nearest to `line`; None where there is none."""
        found = [number for number, each in enumerate(self.lines, 1) if each.rstrip() == text.rstrip()]
        return min(found, key=lambda number: abs(number - line), default=None)


def lead(pages: Sequence[Page]) -> None:
    """Make the links in the outputs of a notebook's pages lead to lines of its cells; a link without one is none."""
    above: list[Listing] = []
    for page in pages:
        for number, cell in enumerate(page.notebook.cells):
            if cell.cell_type != "code":
                continue
            if KERNEL.match(cell.source):
                above.append(Listing(page, number, cell.source.splitlines()))
            for output in cell.outputs:
                if "text/html" in output.get("data", {}):
                    led = partial(_led, page=page, above=above)
                    output.data["text/html"] = _LINK.sub(led, output.data["text/html"])


def _led(link: re.Match, page: Page, above: Sequence[Listing]) -> str:
    found = place(above, link["kernel"], int(link["line"]), html.unescape(link["text"] or ""))
    if found is None:
        return link["rest"]
    listing, line = found
    file = "" if listing.page is page else f"{listing.page.file}.html"
    return f' href="{file}#{listing.anchor(line)}"{link["rest"]}'


def place(above: Sequence[Listing], kernel: str, line: int, text: str) -> tuple[Listing, int] | None:
    """The cell and the line that are meant: in the nearest one above with the kernel, where the line has this text (a
    report may be of an edited kernel), else in the nearest part of a source that has it, else by its number."""
    kernels = [each for each in reversed(above) if each.holds(kernel)][:1]
    parts = [each for each in reversed(above) if not any("__global__" in line for line in each.lines)]
    for listing in kernels + parts if text.strip() else []:
        if found := listing.nearest(text, line):
            return listing, found
    return next(((each, line) for each in kernels if line <= len(each.lines)), None)


def prefix(cell: int) -> str:
    """What the ids of a cell's lines begin with."""
    return f"line-{cell}"


def give_ids(app, doctree: nodes.document) -> None:
    """Give every numbered line of a cell an id."""
    for cell in doctree.findall(nodes.container):
        if "cell_index" in cell:
            for code in cell.findall(nodes.literal_block):
                if code.get("linenos"):
                    code["highlight_args"] = {"linespans": prefix(cell["cell_index"])}


def setup(app) -> dict[str, bool]:
    app.connect("doctree-read", give_ids)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
