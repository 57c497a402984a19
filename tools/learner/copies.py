"""The learner's copies of the lessons, in `my_lessons/`: made, and brought up to date; what was written is not touched.

`make lab` and `make course` call `update`. For each lesson `my_lessons/.course.json` knows the version that the learner
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
from pathlib import Path

from course_lib.exercises.logbook import GIVEN, PROGRESS_CELL
from course_lib.lessons import sources
from cupy_or_sim.style import with_words
from tools.install import ROOT, alone, write_whole
from tools.packages import pyproject

FOLDER = "my_lessons"
COLAB_CELL = "host-colab"
STAYS = "you changed it, so it stays as it is. The new version is beside it: "
NO_NOTEBOOK = (ValueError, TypeError, KeyError, AttributeError)
"""What reading a file raises that is no JSON, or JSON but no notebook."""


def update(root: Path) -> list[str]:
    """Make what is missing in `root/my_lessons` and bring the rest up to date. Returns what to tell the learner.

    Safe to interrupt and to repeat; a second one waits. Raises OSError when the folder cannot be written.
    """
    folder, version = root / FOLDER, version_of(root)
    folder.mkdir(exist_ok=True)
    with alone(root / "build" / "my_lessons.lock", f"Another make looks after {FOLDER}: waiting for it."):
        known, said = _read_given(folder / GIVEN)
        if known["version"] not in ("", version):
            said.append(
                f"The course is now {version}, you had {known['version']}: CHANGELOG.md says what is new."
            )
        made = 0
        for lesson in originals(root):
            name = lesson.relative_to(root / "notebooks").as_posix()
            try:
                new = fingerprint(sources.cells_of(lesson))
            except NO_NOTEBOOK:
                said.append(f"notebooks/{name} cannot be read as a notebook; your copy stays as it is.")
                continue
            news = _update_one(lesson, new, folder / name, known["lessons"].get(name), version)
            known["lessons"][name] = new
            if _is_as_given(folder / name, new):
                known["cells"][name] = {
                    cell["id"]: cell_hash(cell) for cell in sources.cells_of(lesson) if "id" in cell
                }
            made += news == "made"
            more = f". make news NEWS={name} shows what is new, and takes it over" * news.startswith(STAYS)
            said += [f"{FOLDER}/{name}: {news}{more}"] * (news not in ("", "made"))
        known["version"] = version
        write_whole(folder / GIVEN, json.dumps(known, indent=1))
    return said + [
        f"{FOLDER}: {made} notebooks made, lessons and exercises. Work on these; nothing you write there is lost."
    ] * (made > 0)


def originals(root: Path) -> list[Path]:
    """The lessons, what goes deeper, and the notebooks with more exercises."""
    return sources.every_notebook(root / "notebooks")


def version_of(root: Path) -> str:
    """The course's version, such as "1.0.0"."""
    return pyproject(root)["project"]["version"]


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
    return cell["cell_type"], "".join(cell["source"])


def _hash(what: object) -> str:
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:16]


def first_code(cells: list[dict]) -> int:
    """Where a cell stands behind the introduction: at the lesson's first code, Colab's cell left out."""
    own = (n for n, cell in enumerate(cells) if cell["cell_type"] == "code" and cell.get("id") != COLAB_CELL)
    return next(own, len(cells))


def given(root: Path) -> dict[str, dict[str, str]]:
    """Name of a copy -> id -> hash of the cells that the learner has been given, where that is known."""
    return _read_given(root / FOLDER / GIVEN)[0]["cells"]


def note_given(root: Path, name: str, cells: dict[str, str | None]) -> None:
    """Note that these cells of a copy are those of the lesson now, or are no more."""
    place = root / FOLDER / GIVEN
    known, _ = _read_given(place)
    noted = known["cells"].get(name, {}) | cells
    known["cells"][name] = {cell: text for cell, text in noted.items() if text}
    write_whole(place, json.dumps(known, indent=1))


def last_used(root: Path) -> str:
    """The copy that was saved last, relative to `root`; lesson 00 when none was."""
    folder = root / FOLDER
    used = [
        copy
        for lesson in originals(root)
        if (copy := folder / lesson.relative_to(root / "notebooks")).is_file() and _is_used(copy, lesson)
    ]
    latest = max(used, key=lambda path: path.stat().st_mtime, default=folder / "00_start_here.ipynb")
    return latest.relative_to(root).as_posix()


def copy_of(lesson: Path) -> str:
    """The text of a learner's copy: the lesson, a cell that shows the progress, and pictures with words for Lab."""
    notebook = json.loads(lesson.read_text(encoding="utf-8"))
    shows = "# What you have solved of this lesson: run this cell.\nfrom course_lib import show_progress\n\n"
    shows += f'show_progress("{lesson.name[:2]}")'
    cell = {"cell_type": "code", "execution_count": None, "id": PROGRESS_CELL, "outputs": []}
    cell |= {"metadata": {"jupyter": {"source_hidden": True}}, "source": shows.splitlines(keepends=True)}
    notebook["cells"].insert(first_code(notebook["cells"]), cell)
    # What Lab would write when it opens the copy: with another version there, it takes the copy for unsaved.
    notebook["metadata"].setdefault("language_info", {})["version"] = platform.python_version()
    for output in (output for cell in notebook["cells"] for output in cell.get("outputs", ())):
        with_words(output)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _is_used(copy: Path, lesson: Path) -> bool:
    """Whether the learner ran or changed something in it; a newer Python alone does not count."""
    try:
        return sources.cells_of(copy) != json.loads(copy_of(lesson))["cells"]
    except NO_NOTEBOOK:
        return True


def _update_one(lesson: Path, new: str, copy: Path, given: str | None, version: str) -> str:
    """See the table above. `new` and `given`: fingerprints of the lesson and of what the learner was given last.
    Returns the news in words."""
    if not os.path.lexists(copy):
        write_whole(copy, copy_of(lesson))
        return "made"
    try:
        mine = fingerprint(sources.cells_of(copy))
    except OSError as error:
        return f"left as it is, because it cannot be opened ({error.strerror})."
    except NO_NOTEBOOK:
        aside = free(copy.with_name(f"{copy.stem}.broken.ipynb"))
        os.replace(copy, aside)
        write_whole(copy, copy_of(lesson))
        return (
            f"it could not be read as a notebook. It is kept as {aside.name}, and the lesson is made again."
        )
    if mine == new:
        return ""
    if mine == given:
        write_whole(copy, copy_of(lesson))
        return f"replaced by the version of course {version}. You had not changed it."
    if given == new:
        return ""
    beside = copy.with_name(f"{copy.stem}.new-{version}.ipynb")
    if not (beside.is_file() and beside.read_text(encoding="utf-8", errors="replace") == copy_of(lesson)):
        beside = free(beside)
        write_whole(beside, copy_of(lesson))
    return f"{STAYS}{beside.name}"


def _is_as_given(copy: Path, new: str) -> bool:
    """Whether a copy has the text of the lesson, whose fingerprint this is."""
    try:
        return fingerprint(sources.cells_of(copy)) == new
    except (OSError, *NO_NOTEBOOK):
        return False


def _read_given(path: Path) -> tuple[dict, list[str]]:
    """What the learner was given, and what to say about it."""
    empty = {"version": "", "lessons": {}, "cells": {}}
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        cells = {
            name: dict(texts) for name, texts in known.get("cells", {}).items()
        }  # not in those of course 2.0
        return {"version": str(known["version"]), "lessons": dict(known["lessons"]), "cells": cells}, []
    except FileNotFoundError:
        return empty, []
    except NO_NOTEBOOK:
        return empty, [f"{FOLDER}/{path.name} could not be read and is made again; no lesson is overwritten."]


def free(path: Path) -> Path:
    """The path, or the first of name-2, name-3, ... that nothing has."""
    number, free = 2, path
    while os.path.lexists(free):
        free, number = path.with_name(f"{path.stem}-{number}{path.suffix}"), number + 1
    return free


if __name__ == "__main__":  # for who starts Lab by other means, such as JupyterHub
    print("".join(f"{line}\n" for line in update(ROOT)), end="", flush=True)
