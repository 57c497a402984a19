"""A damaged file, read as far as it can be: its answers go into a fresh copy of the assignment.

A file may have been cut off, opened by a program that writes other letters, merged by git with its marks left in, or
lost what a notebook must have. Each cell in it is still a piece of JSON by itself.
"""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.classroom import rebuild

BEGIN = re.compile(r"\{\s*\"(?=attachments|cell_type|execution_count|id|metadata|outputs|source)")
"""Where a cell may begin: its names stand in any order."""
CONFLICT = re.compile(r"(?ms)^<{7}[^\n]*\n(.*?)^={7}[^\n]*\n.*?^>{7}[^\n]*\n?")
"""What git leaves where two versions differ; the first one is the learner's own."""

NOTES = ("timestamp.txt", "submission_secret.txt")
"""When a file came, and by which its feedback is found again."""


def mended(damaged: bytes, assignment: NotebookNode) -> tuple[NotebookNode, list[str]]:
    """A whole notebook with the answers of a damaged one, and the exercises whose cell for the answer was lost. Raises
    NoAnswers where there is none."""
    found = copy.deepcopy(assignment)
    found.cells = list(cells(_text(damaged)))
    made = rebuild.rebuilt(found, assignment)
    have = {str(rebuild.mark(cell).get("grade_id", cell.get("id"))) for cell in found.cells}
    wanted = [
        cell.metadata.nbgrader.grade_id for cell in assignment.cells if rebuild.mark(cell).get("solution")
    ]
    lost = [name.removeprefix("answer-").replace("-", ".", 1) for name in wanted if name not in have]
    return made, lost


def write(notebook: NotebookNode, place: Path, beside: Path) -> None:
    """Write the notebook where nbgrader takes it from, with what nbgrader has left beside the damaged one."""
    place.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, place)
    for name in NOTES:
        if beside.with_name(name).is_file():
            place.with_name(name).write_bytes(beside.with_name(name).read_bytes())


def cells(text: str) -> Iterator[NotebookNode]:
    """The cells in a text, whatever stands around them."""
    text, place = CONFLICT.sub(r"\1", text), 0
    decoder = json.JSONDecoder(strict=False)  # a line may end inside a string
    while begin := BEGIN.search(text, place):
        try:
            found, place = decoder.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            place = begin.end()
            continue
        if cell := _cell(found):
            yield cell


def _cell(found: dict) -> NotebookNode | None:
    """What of an object is a cell, as nbformat has it; None of any other object."""
    source = found.get("source")
    if found.get("cell_type") not in ("code", "markdown", "raw") or not isinstance(source, str | list):
        return None
    new = {
        "code": nbformat.v4.new_code_cell,
        "markdown": nbformat.v4.new_markdown_cell,
        "raw": nbformat.v4.new_raw_cell,
    }[found["cell_type"]]
    metadata = found.get("metadata") if isinstance(found.get("metadata"), dict) else {}
    cell = new("".join(map(str, source)), metadata=nbformat.from_dict(metadata))
    if isinstance(found.get("id"), str):
        cell.id = found["id"]
    return cell


def _text(damaged: bytes) -> str:
    """In the letters that a file is written in: UTF-8, UTF-16 with its mark, or those of an older Windows."""
    if damaged[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return damaged.decode("utf-16", errors="replace")
    try:
        return damaged.decode("utf-8-sig")
    except UnicodeDecodeError:
        return damaged.decode("cp1252", errors="replace")
