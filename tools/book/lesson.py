"""A notebook as a chapter: one title with everything else below it, and marks on solutions and on what is folded."""

import re
from collections.abc import Set

import nbformat
from markdown_it import MarkdownIt
from markdown_it.token import Token

from cupy_or_sim.style import PICTURES
from hiding_latency.copies import COLAB_CELL

KERNEL = re.compile(r'\w+ = r"""')
"""How a cell with CUDA C++ begins. Its first line is line 1 of the string: the cell's numbers are those of reports."""
FOLDS = "hide-output"
"""The tag by which MyST-NB folds what a cell shows."""


def chapter(
    notebook: nbformat.NotebookNode, name: str, predicted: Set[str] = frozenset()
) -> nbformat.NotebookNode:
    """A copy whose first heading is the only one of its level; a notebook without any is called by its name.
    `predicted`: the ids of cells whose outputs are folded, until a reader has predicted them."""
    made = nbformat.from_dict(notebook)
    made.metadata.setdefault("language_info", {"name": "python", "pygments_lexer": "ipython3"})
    made.cells = [cell for cell in made.cells if cell.get("id") != COLAB_CELL]
    texts = [cell.source for cell in made.cells if cell.cell_type == "markdown"]
    titles = sum(token.markup == "#" for text in texts for token in headings(text))
    above, down = 0, int(titles > 1)  # sittings have the level of the title
    for cell in made.cells:
        if cell.cell_type == "markdown":
            cell.source, above = below_title(cell.source, above, down)
            if "solution" in cell.metadata.get("tags", ()):
                cell.source = cell.source.replace("<details>", '<details class="solution">')
        else:
            cell.metadata["mystnb"] = shown(cell)
            folds = [FOLDS] * (cell.id in predicted)
            runs = f"live-{cell.id}"  # by which it runs in a page
            cell.metadata["tags"] = [*cell.metadata.get("tags", ()), *folds, runs]
    if not above:
        made.cells.insert(0, nbformat.v4.new_markdown_cell(f"# {name}"))
    return made


def shown(cell: nbformat.NotebookNode) -> dict[str, object]:
    """How MyST-NB shows a code cell."""
    options: dict[str, object] = {"number_source_lines": bool(KERNEL.match(cell.source))}
    if "hide-input" in cell.metadata.get("tags", ()):
        what = folded(cell)
        options |= {"code_prompt_show": f"Show {what}", "code_prompt_hide": f"Hide {what}"}
    return options


def folded(cell: nbformat.NotebookNode) -> str:
    """What the folded code of a cell is, in words that stand on the fold."""
    if "kernel" in cell.metadata.tags:
        return "the kernel"
    drawn = any(form in output.get("data", {}) for output in cell.outputs for form in PICTURES)
    return "the code that draws this" if drawn else "the code"


def headings(text: str) -> list[Token]:
    """The headings of a text; `markup` of each is its number signs, `map[0]` its line."""
    return [token for token in MarkdownIt().parse(text) if token.type == "heading_open"]


def below_title(text: str, above: int, down: int = 1) -> tuple[str, int]:
    """The text with its headings `down` levels deeper, below the chapter's title, and the level of the last one.

    `above` is the level of the last heading before, 0 where the title is still to come. None is more than one deeper
    than that before it.
    """
    lines = text.split("\n")
    for token in headings(text):
        above = min(len(token.markup) + down, above + 1)
        line = (token.map or [0])[0]
        lines[line] = f"{'#' * above} {lines[line].lstrip('# ')}"
    return "\n".join(lines), above
