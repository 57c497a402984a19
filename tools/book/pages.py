"""A lesson as pages, one a sitting: the first has what stands before them, and leads to the others."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import nbformat

from tools.author.sittings import HEADING, PROMISED


@dataclass(frozen=True)
class Page:
    """Cells of a notebook that stand on one page. `name` as in Outcome, with "-1" for the first sitting."""

    name: str
    title: str  # of the sitting; "" for the first page
    notebook: nbformat.NotebookNode

    @property
    def file(self) -> str:
        return PurePosixPath(self.name).name


def pages_of(notebook: nbformat.NotebookNode, name: str) -> list[Page]:
    """The pages of a notebook: one where it has no sittings. What a cell has above its heading ends the page before."""
    titles: list[str] = [""]
    parts: list[list[nbformat.NotebookNode]] = [[]]
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (heading := HEADING.search(cell.source)):
            if above := cell.source[: heading.start()].rstrip():
                parts[-1].append(nbformat.from_dict({**cell, "source": above}))
            titles.append(heading[1])
            parts.append([])
            cell = nbformat.from_dict({**cell, "source": cell.source[heading.start() :]})
        parts[-1].append(cell)
    return [
        Page(f"{name}-{number}" if number else name, title, nbformat.from_dict({**notebook, "cells": cells}))
        for number, (title, cells) in enumerate(zip(titles, parts))
    ]


def lead_on(first: Page, sittings: Sequence[Page], beside: Sequence[str]) -> None:
    """Make the list of sittings on the first page a list of links, and put what belongs to the lesson below it in the
    contents: sittings with their minutes, then what is `beside` the way, deeper and exercises."""
    text = first.notebook.cells[0].source if first.notebook.cells else ""
    minutes = dict(PROMISED.findall(text))
    for page in sittings:
        promised = re.compile(rf"^\* {re.escape(page.title)}: ", re.MULTILINE)
        text = promised.sub(lambda _, page=page: f"* [{page.title}]({page.file}.ipynb): ", text)
    below = [
        f"{page.title}{f' ({minutes[page.title]} min)' if page.title in minutes else ''} <{page.file}>"
        for page in sittings
    ]
    below += [f"More exercises <{name}>" if name.startswith("exercises/") else name for name in beside]
    if not below:
        return
    if sittings:
        first.notebook.cells[0].source = text
    contents = "```{toctree}\n:hidden:\n\n" + "\n".join(below) + "\n```"
    first.notebook.cells.append(nbformat.v4.new_markdown_cell(contents))
