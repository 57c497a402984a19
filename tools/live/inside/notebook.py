"""A notebook's cells. Each runs in what the cells that it needs made, in whatever order a reader asks for them."""

import ast
import json
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from . import blame, names, outputs

SHOWN = 60
"""Characters of a line that names a cell."""
NEVER = "host-colab"
"""The cell for Colab has nothing to do here."""


@dataclass(frozen=True)
class Cell:
    """A code cell as the lesson brings it."""

    id: str
    source: str
    tags: frozenset[str]


@dataclass(frozen=True)
class Ran:
    """A cell that has run: its text, which runs of other cells it took something from, all names that it has; and what
    it said, if it failed."""

    source: str
    of: tuple[int, ...]
    number: int
    space: dict = field(repr=False)
    failure: outputs.Outputs | None = None


class Notebook:
    """The cells of one notebook, and those that have run."""

    def __init__(self, text: str) -> None:
        self.cells = [
            Cell(cell["id"], "".join(cell["source"]), frozenset(cell["metadata"].get("tags", ())))
            for cell in json.loads(text)["cells"]
            if cell["cell_type"] == "code" and cell.get("id") != NEVER
        ]
        self.place = {cell.id: number for number, cell in enumerate(self.cells)}
        self.ran: dict[int, Ran] = {}
        self.runs = 0

    def run(self, cell: str, edits: Mapping[str, str], tell: Callable[[str], None] = lambda _: None) -> dict:
        """Run one cell, and before it, silently, what it needs and has not run or is not as it was. `edits`: texts of
        cells that the reader changed. `tell` hears how far it is."""
        sources = [edits.get(each.id, each.source) for each in self.cells]
        needed = names.needs(sources)
        wanted = self.place[cell]
        *above, _ = names.before(needed, wanted)
        for number in above:
            if not self._is_current(number, sources, needed):
                tell(f"a cell above: {_first_line(sources[number])}")
                self._run(number, sources, needed)
            failure = self.ran[number].failure
            if failure and "raises-exception" not in self.cells[number].tags:
                note = _note(f"A cell above failed: {_first_line(sources[number])}\n")
                return {"outputs": [note, *failure], "reports": [], "blamed": []}
        tell("")
        with blame.noted() as reports:
            said = self._run(wanted, sources, needed)
        bad = blame.bad(reports)
        shown = json.dumps(said)
        pages = [page for report in bad if json.dumps(page := report._repr_html_())[1:-1] not in shown]
        return {"outputs": said, "reports": pages, "blamed": blame.lines(bad)}

    def _is_current(self, number: int, sources: list[str], needed: list[dict[str, int]]) -> bool:
        ran = self.ran.get(number)
        return ran is not None and (ran.source, ran.of) == (sources[number], self._of(needed[number]))

    def _of(self, needed: dict[str, int]) -> tuple[int, ...]:
        return tuple(self.ran[other].number if other in self.ran else 0 for other in needed.values())

    def _run(self, number: int, sources: list[str], needed: list[dict[str, int]]) -> outputs.Outputs:
        """Its outputs, and whether it raised something. Other cells never see a name that was made below them."""
        space = {"__name__": "__main__", "display": outputs.display}
        space |= {
            name: self.ran[other].space[name]
            for name, other in needed[number].items()
            if self._has(other, name)
        }
        with outputs.collected() as said:
            failed = _execute(sources[number], space, said)
        self.runs += 1
        failure = said if failed else None
        self.ran[number] = Ran(sources[number], self._of(needed[number]), self.runs, space, failure)
        return said

    def _has(self, other: int, name: str) -> bool:
        return other in self.ran and name in self.ran[other].space


def _execute(source: str, space: dict, said: outputs.Outputs) -> bool:
    """Run a text as a notebook does: the value of a last expression is shown. Whether it raised something."""
    try:
        tree = ast.parse(source, outputs.CELL)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, outputs.CELL, "exec"), space)
        if last:
            value = eval(compile(ast.Expression(last.value), outputs.CELL, "eval"), space)
            if value is not None:
                said.show(value, "execute_result")
    except ModuleNotFoundError as error:
        if error.name in LATER:
            raise
        said.fail(error)
        return True
    except Exception as error:
        said.fail(error)
        return True
    return False


LATER = ("matplotlib", "PIL")
"""What a browser loads when it is needed: the worker hears of it, loads it, and asks again."""


def _note(text: str) -> dict:
    return {"output_type": "stream", "name": "stdout", "text": text}


def _first_line(source: str) -> str:
    """The first line of code, or a comment where there is nothing else, no longer than a phone shows."""
    lines = [line.strip() for line in source.splitlines() if line.strip()]
    line = next((line for line in lines if not line.startswith("#")), lines[0] if lines else "")
    return textwrap.shorten(line, SHOWN, placeholder=" …")
