"""What came of a notebook that ran, and the table of all of them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

from ptxsim import printable

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Outcome:
    """What happened in one notebook. `failures` says where and why, one line each; `notebook` is as it ran, now or, if
    nothing changed that it depends on, `before`."""

    name: str
    title: str
    cells: int
    checks: int
    seconds: float
    failures: tuple[str, ...]
    notebook: nbformat.NotebookNode = field(repr=False, compare=False)
    before: bool = False

    @property
    def ended(self) -> str:
        """One or two words for the table."""
        return "FAILED" if self.failures else "as before" if self.before else "ok"


def outcome(name: str, notebook: nbformat.NotebookNode, seconds: float, stopped: list[str]) -> Outcome:
    """What a notebook says that has run, and why it stopped, if it did."""
    title, cells, found = title_of(notebook, name), len(code_cells(notebook)), failures(notebook) + stopped
    return Outcome(name, title, cells, count_checks(notebook), seconds, tuple(found), notebook)


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """The code cells that hold something."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def texts(cell: nbformat.NotebookNode) -> list[str]:
    """The text of each output of a cell."""
    return [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs]


def count_checks(notebook: nbformat.NotebookNode) -> int:
    """How many checks passed: lines of output that start with "check passed"."""
    lines = [line for cell in code_cells(notebook) for text in texts(cell) for line in text.splitlines()]
    return sum(line.startswith("check passed") for line in lines)


def checked(outcome: Outcome) -> str:
    """What was checked: in a lesson its own results, "" where it checks none. Further exercises hold nothing that could
    pass before a learner fills it in, so there they are counted."""
    if not outcome.name.startswith("exercises/"):
        return f"{outcome.checks} passed" if outcome.checks else ""
    given = sum("exercise" in cell.metadata.get("tags", []) for cell in outcome.notebook.cells)
    return f"{given} exercises"


def failures(notebook: nbformat.NotebookNode) -> list[str]:
    """One line for each code cell that did not do what it should."""
    found = []
    for number, cell in enumerate(code_cells(notebook), start=1):
        raised = [output for output in cell.outputs if output.output_type == "error"]
        expected = "raises-exception" in cell.metadata.get("tags", [])
        if raised and not expected:
            reason = printable(_COLOUR.sub("", raised[0].evalue).strip().partition("\n")[0])
            found.append(f"code cell {number} raised {raised[0].ename}: {reason}")
        elif expected and not raised:
            found.append(f"code cell {number} should have raised an exception and did not")
        found += [
            f"code cell {number}: {t.splitlines()[0]}" for t in texts(cell) if t.startswith("check failed")
        ]
    return found


def title_of(notebook: nbformat.NotebookNode, name: str) -> str:
    """The first heading of a notebook, or its name."""
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    heading = re.search(r"^#\s+(.+)$", text, re.MULTILINE)
    return heading[1].strip() if heading else name


def name_of(path: Path) -> str:
    """What the table and the book call a notebook: `01_mainloop`, and with its folder what is not on the way:
    `deeper/01_banks`, `exercises/01_mainloop`."""
    return f"{path.parent.name}/{path.stem}" if path.parent.name in ("deeper", "exercises") else path.stem


def table(outcomes: list[Outcome], machine: str) -> str:
    """The one table that is printed: a line for each notebook, then what went wrong."""
    head = ("notebook", "cells", "checks", "seconds", "backend", "")
    rows = [(o.name, str(o.cells), checked(o), f"{o.seconds:.1f}", machine, o.ended) for o in outcomes]
    failed = [f"{outcome.name}, {failure}" for outcome in outcomes for failure in outcome.failures]
    return "\n".join([*aligned([head, *rows]), *failed])


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line for each row of a table, its columns below each other. Others may have written what is in it."""
    shown = [[printable(cell).replace("\n", "\\n") for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in shown]
