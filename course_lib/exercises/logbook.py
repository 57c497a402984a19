"""What a learner has tried, solved, predicted and opened, kept in `my_lessons/progress.jsonl`: one line for each new
answer, and one for each hint and solution that was opened.

A line holds the exercise's number, a hash of the answer and the date, and nothing about the person. It
stays in that file: nothing here sends it anywhere. It is written only from a notebook that lies in the folder of a
learner's copies; in a page its browser keeps them. Lines are added at the end, in one piece each, so that two notebooks
at the same time lose nothing, and a line that cannot be read costs only itself.
"""

import hashlib
import json
import os
import sys
from datetime import date
from pathlib import Path
from typing import Any

from ptxsim.ground import foreign

from ..lessons import sources

FILE, GIVEN = "progress.jsonl", ".course.json"
"""In the folder of the copies: the progress, and by which it is known, what `make` notes about the copies."""
PROGRESS_CELL = "safe-progress"
"""The id of the cell that each copy has and the lesson has not."""
FOLDS = ("hint", "solution")
"""What a learner may open below an exercise."""
MARKS = {"solved": "✓", "tried": "~", "open": "·"}
LEGEND = ", ".join(f"{mark} {state}" for state, mark in MARKS.items())


def keep_exercise(name: str, ok: bool) -> None:
    """Note an answer to an exercise. An exercise cell as the lesson brings it is no answer."""
    if _folder() is None:
        return
    cell = _running_cell()
    if ok or cell not in _given_cells(_lesson(name)):
        _keep({"exercise": name, "solved": ok, "answer": _hash(cell)})


def keep_prediction(question: str, mine: object) -> None:
    """Note a prediction."""
    if notebook := _notebook():
        _keep({"lesson": notebook.name[:2], "predicted": question, "answer": _hash(repr(mine))})


def keep_opened(name: str, fold: str) -> None:
    """Note that the hint or the solution of an exercise was unfolded, once. JupyterLab's extension calls it; it raises
    nothing, since nobody would see it."""
    from .answers import exercises

    if name in exercises() and fold in FOLDS:
        _keep({"exercise": name, "opened": fold})


def show_progress(lesson: str | None = None) -> "Progress":
    """What is solved and predicted so far, lesson by lesson; of one lesson only: `show_progress("02")`."""
    from .answers import exercises

    folder = _folder()
    known = [name for name in exercises() if lesson in (None, _lesson(name))]
    if not known:
        raise ValueError(f'there is no lesson {lesson!r} with exercises; a lesson is named like "02"')
    return Progress(entries(folder / FILE) if folder else None, known)


class Progress:
    """Lessons and what was done in each; `entries` None: this notebook is not in a folder of copies."""

    def __init__(self, entries: list[dict] | None, exercises: list[str]) -> None:
        self.entries, self.exercises = entries, exercises

    def states(self) -> dict[str, str]:
        """Exercise -> "solved", "tried" or "open". What was solved once stays solved."""
        states = dict.fromkeys(self.exercises, "open")
        for entry in self.entries or ():
            kept, solved = entry.get("exercise"), entry.get("solved")
            if kept in states and states[kept] != "solved" and solved is not None:
                states[kept] = "solved" if solved is True else "tried"
        return states

    def rows(self) -> list[tuple[str, dict[str, str], int]]:
        """(lesson, its exercises with their states, how many predictions) for each lesson."""
        predicted = (entry for entry in self.entries or () if "predicted" in entry)
        made = {(entry.get("lesson"), entry["predicted"]) for entry in predicted}
        rows: dict[str, dict[str, str]] = {}
        for name, state in self.states().items():
            rows.setdefault(_lesson(name), {})[name] = state
        return [(number, rows[number], sum(of == number for of, _ in made)) for number in sorted(rows)]

    def _cells(self) -> list[tuple[str, str, str]]:
        """What is shown: the lesson, its exercises with marks, predictions."""
        found = []
        for number, states, count in self.rows():
            marks = "  ".join(f"{MARKS[state]} {name}" for name, state in states.items())
            found.append((f"lesson {number}", marks, f"{count} prediction{'s' * (count != 1)}"))
        return found

    def __repr__(self) -> str:
        if self.entries is None:
            return "Progress is kept in your copies, which `make lab` (`hiding-latency lab`) opens; this is none."
        return "\n".join(["   ".join(cells) for cells in self._cells()] + [f"({LEGEND})"])

    def _repr_html_(self) -> str | None:
        if self.entries is None:
            return None
        cell = '<td style="text-align:left;white-space:pre-wrap">{}</td>'
        rows = "".join(f"<tr>{''.join(map(cell.format, cells))}</tr>" for cells in self._cells())
        return f"<table><caption>Your progress: {LEGEND}</caption>{rows}</table>"


def entries(path: Path) -> list[dict]:
    """The lines of a progress file that can be read; none when there is no file. Raises OSError for other reasons."""
    try:
        lines = foreign.text_of(path, errors="replace").splitlines()
    except FileNotFoundError:
        return []
    return [entry for entry in map(_parsed, lines) if entry]


def _parsed(line: str) -> dict:
    """An entry, empty when the line is none."""
    try:
        entry = foreign.json_of(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) and all(type(v) in (str, bool) for v in entry.values()) else {}


def _keep(entry: dict) -> None:
    """Add a line, unless it is there already. A file that cannot be written is said, and nothing is raised."""
    folder = _folder()
    if folder is None:
        return
    path = folder / FILE
    try:
        if any(entry.items() <= known.items() for known in entries(path)):
            return
        line = json.dumps(entry | {"date": date.today().isoformat()}) + "\n"
        with open(path, "a+b", buffering=0) as file:  # what is appended in one piece stays in one piece
            file.seek(max(file.tell() - 1, 0))
            torn = file.read(1) not in (b"", b"\n")  # a line that an interrupted program left half written
            file.write(b"\n" * torn + line.encode())
    except OSError as error:
        print(
            f"({path.name} cannot be written: {error.strerror}. The verdict is right, your progress is not kept.)"
        )


def _folder() -> Path | None:
    """The folder of the copies that the running notebook lies in."""
    notebook = _notebook()
    above = notebook.parents[:2] if notebook else ()
    return next((folder for folder in above if (folder / GIVEN).is_file()), None)


def _notebook() -> Path | None:
    """The notebook that runs here, as Jupyter or VS Code names it."""
    shell = _shell()
    name = shell and (os.environ.get("JPY_SESSION_NAME") or shell.user_ns.get("__vsc_ipynb_file__"))
    return Path(name) if name else None


def _shell() -> Any:
    """IPython, if this is a notebook; a program does not import it for that."""
    ipython = sys.modules.get("IPython")
    return ipython and ipython.get_ipython()


def _running_cell() -> str:
    shell = _shell()
    return shell.history_manager.input_hist_raw[-1].strip() if shell else ""


def _given_cells(lesson: str) -> set[str]:
    """The exercise cells of a lesson as it comes."""
    paths = [path for path in sources.every_notebook(sources.NOTEBOOKS) if path.name.startswith(f"{lesson}_")]
    cells = [cell for path in paths for cell in sources.cells_of(path)]
    return {
        "".join(cell["source"]).strip() for cell in cells if "exercise" in cell["metadata"].get("tags", ())
    }


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _lesson(exercise: str) -> str:
    return exercise.partition(".")[0]
