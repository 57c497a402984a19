"""A submission, put together anew: the assignment's cells, with the learner's answers and own cells in their places.

What the assignment locks cannot be lost: not every program that opens a notebook keeps locked cells from being
deleted, edited or moved. A cell is known by nbgrader's mark or, where a program dropped that, by its id.
"""

import copy
import uuid
from pathlib import Path

import nbformat
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode


class NoAnswers(ValueError):
    """A file is another notebook, or what is left of one."""


class Rebuild(Preprocessor):
    """The first step of `nbgrader autograde`. It takes the assignment from release/, which lies there as learners got
    it, also after an update that gave assignments new names."""

    enabled = True

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        of = resources["nbgrader"]
        release = Path(
            self.config.CourseDirectory.root, "release", of["assignment"], f"{of['notebook']}.ipynb"
        )
        return rebuilt(nb, nbformat.read(release, as_version=4)), resources


def rebuilt(submitted: NotebookNode, assignment: NotebookNode) -> NotebookNode:
    """The assignment's cells in its order. A learner's own cells stay behind the cell that they stand behind, and
    before the check that follows. Raises NoAnswers where there is no cell for an answer."""
    there, own = _sorted_out(submitted, assignment)
    if not any(name in there for name, cell in _named(assignment) if _is(cell, "solution")):
        raise NoAnswers("no cell for an answer of this assignment is in it: it is another notebook")
    made = copy.deepcopy(submitted)
    made.nbformat_minor = max(made.nbformat_minor, assignment.nbformat_minor)
    made.cells, waiting = [], own.get("", [])
    for name, cell in _named(assignment):
        text = "nbgrader" not in cell.metadata
        if name not in there and text:
            continue  # a text that was deleted, or that has no id any more
        if name in there or _is(cell, "grade"):  # not before a cell that was lost: it may undo what they say
            made.cells += waiting
            waiting = []
        made.cells.append(there[name] if text else copy.deepcopy(cell))
        if _is(cell, "solution") and name in there:
            made.cells[-1].source = there[name].source
        waiting = waiting + own.get(name, [])
    made.cells += waiting
    seen = {None}
    for cell in made.cells:
        if cell.get("id") in seen:
            cell.id = uuid.uuid4().hex[:8]
        seen.add(cell.id)
    return made


def _sorted_out(
    submitted: NotebookNode, assignment: NotebookNode
) -> tuple[dict[str, NotebookNode], dict[str, list[NotebookNode]]]:
    """(the assignment's cells that are there, by name; the others, by the name of the cell they stand behind).

    Of a cell that is there twice, because it was split or copied, the last one counts.
    """
    known = {name for name, _ in _named(assignment)}
    names = [_name(cell, known) for cell in submitted.cells]
    last = {name: number for number, name in enumerate(names)}
    there, own, behind = {}, {}, ""
    for number, (name, cell) in enumerate(zip(names, copy.deepcopy(submitted.cells))):
        cell.metadata.pop("nbgrader", None)  # what counts is the assignment's
        if name and number == last[name]:
            there[name], behind = cell, name
        else:
            own.setdefault(behind, []).append(cell)
    return there, own


def _named(assignment: NotebookNode) -> list[tuple[str, NotebookNode]]:
    """The assignment's cells, each with the name by which it is found again."""
    return [(mark(cell).get("grade_id", cell.id), cell) for cell in assignment.cells]


def _name(cell: NotebookNode, known: set[str]) -> str:
    """By which of these names a cell goes; "" for a learner's own."""
    marks = (mark(cell).get("grade_id"), cell.get("id"), cell.metadata.get("id"))
    return next((mark for mark in marks if isinstance(mark, str) and mark in known), "")


def _is(cell: NotebookNode, kind: str) -> bool:
    """Whether nbgrader knows a cell as of this kind, "solution" or "grade"."""
    return bool(mark(cell).get(kind))


def mark(cell: NotebookNode) -> dict:
    """What nbgrader noted in a cell. A learner's file may hold anything there."""
    mark = cell.metadata.get("nbgrader")
    return mark if isinstance(mark, dict) else {}
