"""The learner's copies of the lessons, in `my_lessons/`: made, and brought up to date; what was written is not touched.

All commands call `update`. For each lesson `my_lessons/.course.json` knows the version that the learner
was given last. A copy counts as changed when the text of its cells differs from that version. Outputs do not count:
running the cells makes them again.

| the copy | the lesson | what happens |
|---|---|---|
| is not there | | it is made |
| untouched, or only run | new version | it is replaced |
| changed | as before | it stays |
| changed | new version | it stays, and the new version is put beside it |
| cannot be read | | it is moved aside and made again |

Every other file in the folder is the learner's own and is left alone.
"""

import hashlib
import json
import os
import platform
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from course_lib.exercises.logbook import GIVEN, PROGRESS_CELL
from course_lib.lessons import sources
from cupy_or_sim.style import with_words
from hiding_latency import linked
from hiding_latency.places import Place
from hiding_latency.safely import alone
from hiding_latency.waiting import waiting
from ptxsim.ground import foreign, whole

COLAB_CELL = "host-colab"
STAYS = "you changed it, so it stays as it is. The new version is beside it: "
LOCK = ".course.lock"
NO_NOTEBOOK = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What reading a file raises that is no JSON, or JSON but no notebook."""


def update(place: Place) -> list[str]:
    """Make what is missing in the learner's folder and bring the rest up to date. Returns what to tell the learner.

    Safe to interrupt and to repeat; a second one waits. Raises OSError when the folder cannot be written.
    """
    folder, version = place.folder, place.version
    folder.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(folder):
        known, said = _read_given(folder / GIVEN)
        if known["version"] not in ("", version):
            page = f"{linked.PAGES}/{linked.NEWS}" if place.alone else linked.NEWS
            said.append(f"The course is now {version}, you had {known['version']}: {page} says what is new.")
        made, texts = 0, []
        for name, lesson in lessons(place).items():
            try:
                text = copy_of(lesson, place.alone)
                cells = sources.cells_of(lesson)
                new = fingerprint(cells)
            except NO_NOTEBOOK:
                said.append(f"notebooks/{name} cannot be read as a notebook; your copy stays as it is.")
                continue
            texts.append(lesson.read_text(encoding="utf-8"))
            news = _update_one(text, new, folder / name, known["lessons"].get(name), version)
            known["lessons"][name] = new
            if _is_as_given(folder / name, new):
                known["cells"][name] = {cell["id"]: cell_hash(cell) for cell in cells if "id" in cell}
            made += news == "made"
            more = f". {asking(place, name)} shows what is new, and takes it over" * news.startswith(STAYS)
            said += [f"{folder.name}/{name}: {news}{more}"] * (news not in ("", "made"))
        if place.alone:
            linked.write(folder, texts)
        known["version"] = version
        whole.write(folder / GIVEN, json.dumps(known, indent=1))
    return said + [
        f"{folder.name}: {made} notebooks made, lessons and exercises. Work on these; nothing you write there is lost."
    ] * (made > 0)


def one_at_a_time(folder: Path) -> AbstractContextManager[None]:
    """The lock of a folder of copies."""
    return alone(folder / LOCK, f"Another one looks after {folder.name}: waiting for it.")


def lessons(place: Place) -> dict[str, Path]:
    """Name of a copy, such as "deeper/06_tuning.ipynb" -> its lesson: those on the way, what goes deeper, exercises."""
    found = sources.every_notebook(place.notebooks)
    return {lesson.relative_to(place.notebooks).as_posix(): lesson for lesson in found}


def asking(place: Place, name: str, more: str = "") -> str:
    """What to type to see what is new of a lesson."""
    if place.alone:
        return f"hiding-latency news {place.folder.name} --lesson {name}{more}"
    return f'make news NEWS="{name}{more}"' if more else f"make news NEWS={name}"


def fingerprint(cells: list[dict]) -> str:
    """Changes with the text, the kind and the order of the cells, and with nothing that running them alters.

    Colab's cell does not count: it names the release, and so is another one in each version.
    """
    return _hash([_text_of(cell) for cell in cells if not is_own(cell)])


def is_own(cell: dict) -> bool:
    """Whether a cell is that of a copy, or Colab's."""
    return cell.get("id") in (PROGRESS_CELL, COLAB_CELL)


def cell_hash(cell: dict) -> str:
    """The same of one cell."""
    return _hash(_text_of(cell))


def _text_of(cell: dict) -> tuple[str, str]:
    return cell["cell_type"], linked.outside("".join(cell["source"]))


def _hash(what: object) -> str:
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:16]


def first_code(cells: list[dict]) -> int:
    """Where a cell stands behind the introduction: at the lesson's first code, Colab's cell left out."""
    own = (n for n, cell in enumerate(cells) if cell["cell_type"] == "code" and cell.get("id") != COLAB_CELL)
    return next(own, len(cells))


def given(place: Place) -> dict[str, dict[str, str]]:
    """Name of a copy -> id -> hash of the cells that the learner has been given, where that is known."""
    cells: dict[str, dict[str, str]] = _read_given(place.folder / GIVEN)[0]["cells"]
    return cells


def untouched(place: Place, name: str) -> bool:
    """Whether a copy is as the learner was given it: `make lab` brings the new lesson in its place."""
    return _is_as_given(place.folder / name, _read_given(place.folder / GIVEN)[0]["lessons"].get(name, ""))


def note_given(place: Place, name: str, cells: dict[str, str | None]) -> None:
    """Note that these cells of a copy are those of the lesson now, or are no more."""
    file = place.folder / GIVEN
    known, _ = _read_given(file)
    noted = known["cells"].get(name, {}) | cells
    known["cells"][name] = {cell: text for cell, text in noted.items() if text}
    whole.write(file, json.dumps(known, indent=1))


def last_used(place: Place) -> Path:
    """The copy that was saved last; lesson 00 when none was."""
    used = [
        copy
        for name, lesson in lessons(place).items()
        if (copy := place.folder / name).is_file() and _is_used(copy, lesson, place)
    ]
    return max(used, key=lambda path: path.stat().st_mtime, default=place.folder / "00_start_here.ipynb")


def copy_of(lesson: Path, lies_alone: bool = False) -> str:
    """The text of a learner's copy: the lesson, a cell that shows the progress, and pictures with words for Lab; what
    the learner shall predict is not shown. The links of one that lies alone lead to pages beside it."""
    notebook = json.loads(lesson.read_text(encoding="utf-8"))
    predicted = waiting(notebook["cells"])
    for each in notebook["cells"]:
        if each.get("id") in predicted:
            each["outputs"] = []
    shows = "# What you have solved of this lesson: run this cell.\nfrom course_lib import show_progress\n\n"
    shows += f'show_progress("{lesson.name[:2]}")'
    cell: dict[str, Any] = {"cell_type": "code", "execution_count": None, "id": PROGRESS_CELL, "outputs": []}
    cell["metadata"] = {"jupyter": {"source_hidden": True}, "tags": ["nbval-ignore-output"]}
    cell["source"] = shows.splitlines(keepends=True)
    notebook["cells"].insert(first_code(notebook["cells"]), cell)
    # What Lab would write when it opens the copy: with another version there, it takes the copy for unsaved.
    notebook["metadata"].setdefault("language_info", {})["version"] = platform.python_version()
    for output in (output for cell in notebook["cells"] for output in cell.get("outputs", ())):
        with_words(output)
    text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    return linked.inside(text) if lies_alone else text


def _is_used(copy: Path, lesson: Path, place: Place) -> bool:
    """Whether the learner ran or changed something in it; a newer Python alone does not count."""
    try:
        return sources.cells_of(copy) != json.loads(copy_of(lesson, place.alone))["cells"]
    except (OSError, *NO_NOTEBOOK):
        return True


def _update_one(text: str, new: str, copy: Path, given: str | None, version: str) -> str:
    """See the table above. `text` is a new copy; `new` and `given` are fingerprints of it and of what the learner was
    given last. Returns the news in words."""
    if not os.path.lexists(copy):
        whole.write(copy, text)
        return "made"
    try:
        mine = fingerprint(sources.cells_of(copy))
    except OSError as error:
        return f"left as it is, because it cannot be opened ({error.strerror})."
    except NO_NOTEBOOK:
        aside = free(copy.with_name(f"{copy.stem}.broken.ipynb"))
        os.replace(copy, aside)
        whole.write(copy, text)
        return (
            f"it could not be read as a notebook. It is kept as {aside.name}, and the lesson is made again."
        )
    if mine == new:
        return ""
    if mine == given:
        whole.write(copy, text)
        return f"replaced by the version of course {version}. You had not changed it."
    if given == new:
        return ""
    beside = copy.with_name(f"{copy.stem}.new-{version}.ipynb")
    if not (beside.is_file() and beside.read_text(encoding="utf-8", errors="replace") == text):
        beside = free(beside)
        whole.write(beside, text)
    return f"{STAYS}{beside.name}"


def _is_as_given(copy: Path, text: str) -> bool:
    """Whether a copy has the text of which this is the fingerprint."""
    try:
        return fingerprint(sources.cells_of(copy)) == text
    except (OSError, *NO_NOTEBOOK):
        return False


def _read_given(path: Path) -> tuple[dict, list[str]]:
    """What the learner was given, and what to say about it."""
    empty: dict[str, Any] = {"version": "", "lessons": {}, "cells": {}}
    try:
        known = foreign.json_of(foreign.text_of(path))
        cells = {name: dict(texts) for name, texts in known["cells"].items()}
        return {"version": str(known["version"]), "lessons": dict(known["lessons"]), "cells": cells}, []
    except FileNotFoundError:
        return empty, []
    except NO_NOTEBOOK:
        return empty, [
            f"{path.parent.name}/{path.name} could not be read and is made again; no lesson is overwritten."
        ]


def free(path: Path) -> Path:
    """The path, or the first of name-2, name-3, ... that nothing has."""
    number, free = 2, path
    while os.path.lexists(free):
        free, number = path.with_name(f"{path.stem}-{number}{path.suffix}"), number + 1
    return free
