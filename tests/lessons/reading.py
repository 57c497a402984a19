"""Notebooks as tests read them: their cells, and what stands in one."""

import json
import re
from pathlib import Path

from course_lib.exercises.predictions import HOW, NONE_YET
from course_lib.lessons import sources

LESSONS = tuple(path.stem for path in sources.notebooks(sources.NOTEBOOKS))
DEEPER = tuple(f"deeper/{path.stem}" for path in sources.deeper_notebooks(sources.NOTEBOOKS))
ANSWER = re.compile(r"^(?P<question>\S.*?): it is (?P<answer>.+)$", re.MULTILINE)
"""A line that `score` prints where it tells."""


def cells_of(notebook: str | Path) -> list[dict]:
    """The cells of a file, or of a notebook of the course: `cells_of("deeper/06_tuning")`."""
    path = sources.NOTEBOOKS / f"{notebook}.ipynb" if isinstance(notebook, str) else notebook
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def by_id(notebook: str | Path) -> dict[str, dict]:
    return {cell["id"]: cell for cell in cells_of(notebook)}


def text_of(cell: dict) -> str:
    """What stands in it, code or Markdown."""
    return "".join(cell["source"])


def tags_of(cell: dict) -> list[str]:
    return cell["metadata"].get("tags", [])


def untold(text: str) -> str:
    """What a cell printed, as it prints it where nobody predicted and nobody asked."""
    questions = list(ANSWER.finditer(text))
    if not questions:
        return text
    whys = re.compile(r"(?:\n    .*)*")
    end = whys.match(text, questions[-1].end()).end()
    above = text[: questions[0].start()]
    asked = "".join(f"{each[1]}: {NONE_YET}\n" for each in questions)
    return f"{above}{asked}{HOW}{text[end:]}"


def prose(notebook: str | Path, but: str = "") -> str:
    """All of its Markdown; without the cells that have the tag `but`."""
    told = (cell for cell in cells_of(notebook) if cell["cell_type"] == "markdown")
    return "\n\n".join(text_of(cell) for cell in told if but not in tags_of(cell))
