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
from pathlib import Path
from typing import Any

from course_lib.exercises.logbook import GIVEN, PROGRESS_CELL
from course_lib.lessons import sources
from cupy_or_sim.style import with_words
from hiding_latency import linked
from hiding_latency.lock import alone
from hiding_latency.places import Place

COLAB_CELL = "host-colab"
LOCK = ".course.lock"
NO_NOTEBOOK = (ValueError, TypeError, KeyError, AttributeError)
"""What reading a file raises that is no JSON, or JSON but no notebook."""


def update(place: Place) -> list[str]:
    """Make what is missing in the learner's folder and bring the rest up to date. Returns what to tell the learner.

    Safe to interrupt and to repeat; a second one waits. Raises OSError when the folder cannot be written.
    """
    folder, name, version = place.folder, place.folder.name, place.version
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder / LOCK, f"Another one looks after {name}: waiting for it."):
        known, said = _read_given(folder / GIVEN)
        if known["version"] not in ("", version):
            page = f"{linked.PAGES}/{linked.NEWS}" if place.alone else linked.NEWS
            said.append(f"The course is now {version}, you had {known['version']}: {page} says what is new.")
        made, texts = 0, []
        for lesson in sources.every_notebook(place.notebooks):
            of = lesson.relative_to(place.notebooks).as_posix()
            try:
                text = copy_of(lesson)
                new = fingerprint(json.loads(text)["cells"])
            except NO_NOTEBOOK:
                said.append(f"notebooks/{of} cannot be read as a notebook; your copy stays as it is.")
                continue
            texts.append(text)
            text = linked.inside(text) if place.alone else text
            news = _update_one(text, new, folder / of, known["lessons"].get(of), version)
            known["lessons"][of] = new
            made += news == "made"
            said += [f"{name}/{of}: {news}"] * (news not in ("", "made"))
        if place.alone:
            linked.write(folder, texts)
        known["version"] = version
        _write(folder / GIVEN, json.dumps(known, indent=1))
    return said + [
        f"{name}: {made} notebooks made, lessons and exercises. Work on these; nothing you write there is lost."
    ] * (made > 0)


def fingerprint(cells: list[dict]) -> str:
    """Changes with the text, the kind and the order of the cells, and with nothing that running them alters.

    Colab's cell does not count: it names the release, and so is another one in each version.
    """
    texts = [
        (cell["cell_type"], linked.outside("".join(cell["source"])))
        for cell in cells
        if cell.get("id") not in (PROGRESS_CELL, COLAB_CELL)
    ]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]


def first_code(cells: list[dict]) -> int:
    """Where a cell stands behind the introduction: at the lesson's first code, Colab's cell left out."""
    own = (n for n, cell in enumerate(cells) if cell["cell_type"] == "code" and cell.get("id") != COLAB_CELL)
    return next(own, len(cells))


def last_used(place: Place) -> Path:
    """The copy that was saved last; lesson 00 when none was."""
    used = [
        copy
        for lesson in sources.every_notebook(place.notebooks)
        if (copy := place.folder / lesson.relative_to(place.notebooks)).is_file()
        and _is_used(copy, lesson, place)
    ]
    return max(used, key=lambda path: path.stat().st_mtime, default=place.folder / "00_start_here.ipynb")


def copy_of(lesson: Path) -> str:
    """The text of a learner's copy: the lesson, a cell that shows the progress, and pictures with words for Lab."""
    notebook = json.loads(lesson.read_text(encoding="utf-8"))
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
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _is_used(copy: Path, lesson: Path, place: Place) -> bool:
    """Whether the learner ran or changed something in it; a newer Python alone does not count."""
    try:
        text = copy_of(lesson)
        return _cells(copy) != json.loads(linked.inside(text) if place.alone else text)["cells"]
    except NO_NOTEBOOK:
        return True


def _update_one(text: str, new: str, copy: Path, given: str | None, version: str) -> str:
    """See the table above. `text` is a new copy; `new` and `given` are fingerprints of it and of what the learner was
    given last. Returns the news in words."""
    if not os.path.lexists(copy):
        _write(copy, text)
        return "made"
    try:
        mine = fingerprint(_cells(copy))
    except OSError as error:
        return f"left as it is, because it cannot be opened ({error.strerror})."
    except NO_NOTEBOOK:
        aside = _free(copy.with_name(f"{copy.stem}.broken.ipynb"))
        os.replace(copy, aside)
        _write(copy, text)
        return (
            f"it could not be read as a notebook. It is kept as {aside.name}, and the lesson is made again."
        )
    if mine == new:
        return ""
    if mine == given:
        _write(copy, text)
        return f"replaced by the version of course {version}. You had not changed it."
    if given == new:
        return ""
    beside = copy.with_name(f"{copy.stem}.new-{version}.ipynb")
    if not (beside.is_file() and beside.read_text(encoding="utf-8", errors="replace") == text):
        beside = _free(beside)
        _write(beside, text)
    return f"you changed it, so it stays as it is. The new version is beside it: {beside.name}"


def _cells(notebook: Path) -> list[dict]:
    return json.loads(notebook.read_text(encoding="utf-8"))["cells"]


def _read_given(path: Path) -> tuple[dict, list[str]]:
    """What the learner was given, and what to say about it."""
    empty = {"version": "", "lessons": {}}
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        return {"version": str(known["version"]), "lessons": dict(known["lessons"])}, []
    except FileNotFoundError:
        return empty, []
    except (ValueError, TypeError, KeyError):
        return empty, [
            f"{path.parent.name}/{path.name} could not be read and is made again; no lesson is overwritten."
        ]


def _free(path: Path) -> Path:
    """The path, or the first of name-2, name-3, ... that nothing has."""
    number, free = 2, path
    while os.path.lexists(free):
        free, number = path.with_name(f"{path.stem}-{number}{path.suffix}"), number + 1
    return free


def _write(path: Path, text: str) -> None:
    """Write a whole file or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)
