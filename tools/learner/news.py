"""What a new version of a lesson brings to a copy that the learner has edited, and how it gets there: `make news`.

`python -m tools.learner.news` names the copies that a newer lesson lies behind; `... 02` shows each difference with its
number; `... 02 --take 1 3` takes these over, `--take all` all of them. Cells are matched by their ids. By the hash of
what was given first it is known who changed a cell: what the learner wrote stays, below what takes its place.
"""

import argparse
import copy
import difflib
import json
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

from course_lib.lessons import sources
from tools.install import alone, write_whole
from tools.learner import copies
from tools.learner.copies import FOLDER, NO_NOTEBOOK, cell_hash, is_own

SAID = {
    "new": "is new",
    "changed": "is another one now; you had not changed it",
    "both": "is another one now, and you changed it: yours stays, below",
    "differs": "differs; yours stays, below",
    "gone": "is no more; you had not changed it",
}
"""What is said of a kind of change."""


@dataclass(frozen=True)
class Change:
    """A cell of which the lesson has something else: its kind, its id, what the copy has and what the lesson has."""

    kind: str
    name: str
    mine: dict | None
    new: dict | None

    def told(self, number: int) -> str:
        """Its number, what it is, and the lines that differ."""
        old, now = ("".join(each["source"]) if each else "" for each in (self.mine, self.new))
        first = next(filter(None, (now or old).splitlines()), "")
        lines = difflib.unified_diff(old.splitlines(), now.splitlines(), lineterm="", n=1)
        shown = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
        return "\n".join(
            [f"{number}. The cell `{first[:60]}` {SAID[self.kind]}.", *(f"     {line}" for line in shown)]
        )


def changes(mine: list[dict], new: list[dict], given: dict[str, str]) -> list[Change]:
    """The differences that the lesson brings, in its order. `given`: id -> hash of the cell that the copy began with;
    empty where an older version has made the copy."""
    here = {cell["id"]: cell for cell in mine if "id" in cell}
    found = []
    for cell in filter(lambda cell: not is_own(cell), new):
        name, old = cell["id"], here.get(cell["id"])
        kind = _kind(old and cell_hash(old), cell_hash(cell), given.get(name))
        found += [Change(kind, name, old, cell)] * bool(kind)
    there = {cell["id"] for cell in new}
    gone = [name for name in given if name in here and name not in there]
    return found + [
        Change("gone", name, here[name], None) for name in gone if cell_hash(here[name]) == given[name]
    ]


def _kind(mine: str | None, new: str, given: str | None) -> str:
    """What of a cell changed, of which these are the hashes; "" where the lesson brings nothing."""
    if new in (mine, given):
        return ""
    if mine is None:
        return "new"
    if given is None:
        return "differs"
    return "changed" if mine == given else "both"


def taken_over(mine: list[dict], new: list[dict], chosen: list[Change]) -> list[dict]:
    """The copy's cells with the chosen changes. A new cell comes behind the one that it stands behind in the lesson."""
    made = copy.deepcopy(mine)
    order = [cell["id"] for cell in new]
    for change in chosen:
        names = [cell.get("id") for cell in made]
        if change.kind == "gone":
            made.pop(names.index(change.name))
        elif change.kind == "new":
            above = [name for name in order[: order.index(change.name)] if name in names]
            made.insert(names.index(above[-1]) + 1 if above else 0, copy.deepcopy(change.new))
        else:
            place = names.index(change.name)
            own = [_own(made[place])] if change.kind in ("both", "differs") else []
            made[place : place + 1] = [copy.deepcopy(change.new), *own]
    return made


def _own(cell: dict) -> dict:
    """A cell as the learner's own: no update takes it for one of the lesson's."""
    return cell | {"id": uuid.uuid4().hex[:8]}


def edited(root: Path) -> dict[str, Path]:
    """Name of a copy -> its lesson, for all copies of which the lesson has something new."""
    found = {path.relative_to(root / "notebooks").as_posix(): path for path in copies.originals(root)}
    return {name: path for name, path in found.items() if _changes(root, name, path)}


def _changes(root: Path, name: str, lesson: Path) -> list[Change]:
    given = copies.given(root).get(name, {})
    try:
        return changes(sources.cells_of(root / FOLDER / name), _as_copied(lesson), given)
    except (OSError, *NO_NOTEBOOK):  # there is no copy, or it cannot be read: `make lab` says so
        return []


def _as_copied(lesson: Path) -> list[dict]:
    return json.loads(copies.copy_of(lesson))["cells"]


def take(root: Path, name: str, lesson: Path, numbers: list[int]) -> Path:
    """Take over these changes of a copy, counted from 1. Returns where the copy is kept as it was."""
    place = root / FOLDER / name
    found = _changes(root, name, lesson)
    chosen = [found[number - 1] for number in numbers]
    text = place.read_text(encoding="utf-8")
    notebook = json.loads(text)
    notebook["cells"] = taken_over(notebook["cells"], _as_copied(lesson), chosen)
    before = copies.free(place.with_name(f"{place.stem}.before-{copies.version_of(root)}.ipynb"))
    write_whole(before, text)
    write_whole(place, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    copies.note_given(root, name, {change.name: change.new and cell_hash(change.new) for change in chosen})
    return before


def main(arguments: list[str], root: Path = copies.ROOT) -> int:
    parser = argparse.ArgumentParser(prog="make news")
    parser.add_argument(
        "lesson", nargs="?", help="a number, or the name of a copy, such as deeper/06_tuning.ipynb"
    )
    parser.add_argument("--take", nargs="+", metavar="N", help="the numbers of what to take over, or: all")
    asked = parser.parse_args(arguments)
    found = edited(root)
    if not asked.lesson:
        print(*(f"{FOLDER}/{name}: make news NEWS={name}" for name in found), sep="\n")
        print("" if found else f"No lesson has anything new for a copy in {FOLDER}.")
        return 0
    name = next((name for name in found if name == asked.lesson or name.startswith(f"{asked.lesson}_")), None)
    if name is None:
        print(f"{asked.lesson}: the lesson has nothing new for your copy.")
        return 0
    listed = _changes(root, name, found[name])
    if not asked.take:
        print(*(change.told(number) for number, change in enumerate(listed, 1)), sep="\n\n")
        print(f'\nTake over with make news NEWS="{name} --take 1", or --take all. Close the notebook first.')
        return 0
    every = [str(number) for number in range(1, len(listed) + 1)]
    numbers = every if asked.take == ["all"] else asked.take
    if unknown := [number for number in numbers if number not in every]:
        parser.error(f"there is no change {', '.join(unknown)}: {name} has 1 to {len(listed)}")
    with alone(root / "build" / "my_lessons.lock", f"Another make looks after {FOLDER}: waiting for it."):
        before = take(root, name, found[name], [int(number) for number in dict.fromkeys(numbers)])
    print(f"{FOLDER}/{name} has {len(set(numbers))} of {len(listed)} changes. As it was it is {before.name}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
