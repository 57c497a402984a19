"""What a new version of a lesson brings to a copy that the learner has edited, and how it gets there: `make news`.

`hiding-latency news` names the copies that a newer lesson lies behind; `--lesson 02` shows each difference with its
number; `--take 1 3` takes these over, `--take all` all of them. Cells are matched by their ids. By the hash of
what was given first it is known who changed a cell: what the learner wrote stays, below what takes its place.
"""

import copy
import difflib
import json
import sys
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.lessons import sources
from hiding_latency import copies
from hiding_latency.copies import NO_NOTEBOOK, cell_hash, is_own
from hiding_latency.places import Place
from ptxsim.ground import foreign, whole

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
    mine: Any
    new: Any

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
        kind = _kind(cell_hash(old) if old else None, cell_hash(cell), given.get(name))
        found += [Change(kind, name, old, cell)] * bool(kind)
    there = {cell["id"] for cell in new}
    gone = [name for name in given if name in here and name not in there]
    found += [Change("gone", name, here[name], None) for name in gone if cell_hash(here[name]) == given[name]]
    return found


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


def edited(place: Place) -> dict[str, Path]:
    """Name of a copy -> its lesson: those that the learner changed and for which the lesson has something new."""
    return {name: path for name, path in _behind(place).items() if not copies.untouched(place, name)}


def _behind(place: Place) -> dict[str, Path]:
    """The same of all copies."""
    return {name: path for name, path in copies.lessons(place).items() if _changes(place, name, path)}


def _changes(place: Place, name: str, lesson: Path) -> list[Change]:
    given = copies.given(place).get(name, {})
    try:
        return changes(sources.cells_of(place.folder / name), _as_copied(place, lesson), given)
    except (OSError, *NO_NOTEBOOK):  # there is no copy, or it cannot be read: `make lab` says so
        return []


def _as_copied(place: Place, lesson: Path) -> list[dict]:
    cells: list[dict] = json.loads(copies.copy_of(lesson, place.alone))["cells"]
    return cells


def take(place: Place, name: str, lesson: Path, numbers: list[int]) -> Path:
    """Take over these changes of a copy, counted from 1. Returns where the copy is kept as it was."""
    file = place.folder / name
    found = _changes(place, name, lesson)
    chosen = [found[number - 1] for number in numbers]
    text = foreign.text_of(file)
    notebook = foreign.json_of(text)
    notebook["cells"] = taken_over(notebook["cells"], _as_copied(place, lesson), chosen)
    before = copies.free(file.with_name(f"{file.stem}.before-{place.version}.ipynb"))
    whole.write(before, text)
    whole.write(file, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    given = {each.name: cell_hash(each.new) if each.new else None for each in chosen}
    copies.note_given(place, name, given)
    return before


def _said(place: Place, name: str, lesson: Path) -> str:
    """In a sentence, what waits for this copy and how one sees it."""
    many = len(_changes(place, name, lesson))
    cells = "a cell" if many == 1 else f"{many} cells"
    return (
        f"{place.folder.name}/{name}: the new lesson differs from your copy in {cells}; "
        f"{copies.asking(place, name)} shows {'it' if many == 1 else 'them'} and changes nothing yet."
    )


def _named(lesson: str, names: Iterable[str]) -> str | None:
    """The name of a copy that was asked for, by its number or whole."""
    return next((name for name in names if name == lesson or name.startswith(f"{lesson}_")), None)


def _bringing(place: Place) -> str:
    """What to type for new lessons in place of copies that nobody changed."""
    return f"hiding-latency lab {place.folder.name}" if place.alone else "make lab"


def main(place: Place, lesson: str | None, asked: list[str]) -> int:
    """Say what is new, of all copies or of a lesson, or take over what is `asked`. Returns the exit status."""
    found, folder = edited(place), place.folder.name
    if not lesson:
        said = [_said(place, name, path) for name, path in found.items()]
        if others := len(_behind(place)) - len(found):
            what = (
                "a new lesson in place of a copy"
                if others == 1
                else f"{others} new lessons in place of copies"
            )
            said.append(f"{folder}: {_bringing(place)} brings {what} that you did not change.")
        print(*(said or [f"No lesson has anything new for a copy in {folder}."]), sep="\n")
        return 0
    name = _named(lesson, found)
    if name is None:
        why = "the lesson has nothing new for your copy."
        if _named(lesson, _behind(place)):
            why = f"you did not change your copy; {_bringing(place)} brings the new lesson."
        print(f"{lesson}: {why}")
        return 0
    listed = _changes(place, name, found[name])
    if not asked:
        print(*(change.told(number) for number, change in enumerate(listed, 1)), sep="\n\n")
        taking = copies.asking(place, name, " --take 1")
        print(f"\nTake over with {taking}, or --take all. Close the notebook first.")
        return 0
    every = [str(number) for number in range(1, len(listed) + 1)]
    numbers = every if asked == ["all"] else asked
    if unknown := [number for number in numbers if number not in every]:
        print(f"there is no change {', '.join(unknown)}: {name} has 1 to {len(listed)}", file=sys.stderr)
        return 2
    with copies.one_at_a_time(place.folder):
        before = take(place, name, found[name], [int(number) for number in dict.fromkeys(numbers)])
    print(f"{folder}/{name} has {len(set(numbers))} of {len(listed)} changes. As it was it is {before.name}.")
    return 0
