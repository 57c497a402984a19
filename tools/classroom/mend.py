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
OURS, THEIRS, END = ("<" * 7, "=" * 7, ">" * 7)
"""How the lines begin that git leaves where two versions differ; the first one is the learner's own."""
PATIENCE = 5
"""How often a text may be read in vain, from a place where a cell could begin to where it turns out to be none."""
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
    """The cells in a text, whatever stands around them. Takes time in proportion to the text: in one that is made to be
    slow, what comes late is not found."""
    text, place = _own_of_conflicts(text), 0
    decoder, left = json.JSONDecoder(strict=False), PATIENCE * len(text)  # a line may end inside a string
    while left >= 0 and (begin := BEGIN.search(text, place)):
        try:
            found, place = decoder.raw_decode(text, begin.start())
        except (ValueError, RecursionError) as error:
            place = begin.end()
            left -= (
                _read(error, len(text)) - begin.start() + begin.start() // 100
            )  # it counts the lines above
            continue
        if cell := _cell(found):
            yield cell


def _read(error: ValueError | RecursionError, length: int) -> int:
    """How far a text was read until it was no JSON: a string that does not end is known for it at the text's end."""
    ended = isinstance(error, json.JSONDecodeError) and not error.msg.startswith("Unterminated")
    return error.pos if ended else length


def _own_of_conflicts(text: str) -> str:
    """The text with the learner's own version of what git could not merge. A mark without its others stays."""
    kept: list[str] = []
    theirs: list[str] | None = None
    begin = None  # where in `kept` the mark stands
    for line in text.splitlines(keepends=True):
        if begin is None and line.startswith(OURS):
            begin = len(kept)
        elif begin is not None and theirs is None and line.startswith(THEIRS):
            theirs = []
        if theirs is None:
            kept.append(line)
            continue
        theirs.append(line)
        if line.startswith(END):
            del kept[begin]
            begin = theirs = None
    return "".join([*kept, *(theirs or ())])


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
