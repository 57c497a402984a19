"""All pages of the book from notebooks in memory: a whole book or nothing."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import nbformat

from hiding_latency.outcome import Outcome
from hiding_latency.waiting import waiting
from tools.book import cuda_lines
from tools.book.front import front_page
from tools.book.lesson import chapter
from tools.book.linked import Library
from tools.book.pages import Page, lead_on, pages_of
from tools.live import site

ROOT = Path(__file__).parents[2]
_NOTES = (
    "docs/how-a-lesson-works.md",
    "docs/glossary.md",
    "docs/measurements.md",
    "docs/tuning.md",
    "docs/timelines.md",
    "docs/hangs.md",
    "ptxsim/README.md",
    "docs/hosts.md",
    "docs/house.md",
    "docs/gpus.md",
    "docs/instructor.md",
    "docs/grading.md",
    "docs/hub.md",
    "docs/pilot.md",
)
PLAYGROUND = Path(__file__).with_name("playground.md")
_FOR_READERS = (
    PLAYGROUND.stem,
    *(
        f"docs/{name}"
        for name in ("how-a-lesson-works", "glossary", "measurements", "tuning", "timelines", "hangs")
    ),
    *("docs/gpus", "docs/hosts", "ptxsim/README", "matmul/README", "CHANGELOG"),
)
_FOR_TEACHERS = ("docs/instructor", "docs/grading", "docs/hub", "docs/pilot")
INSIDE = Path(__file__).with_name("inside.md")
"""What else the pages link to, for whoever changes the course: one entry of the contents leads to all of it."""


class BookError(RuntimeError):
    """Sphinx could not make the book; the message is what it said."""


def write_book(outcomes: Sequence[Outcome], machine: str, out: Path, live: bool = False) -> list[str]:
    """Write the book into the folder `out`, in the place of the one there; return what Sphinx remarked, line by line.
    `live`: with Python for a browser, so that its cells run.

    Raises BookError; `out` is then as it was, as it is when the process is stopped. Works in `out`.part beside it.
    """
    part, old = out.with_name(f"{out.name}.part"), out.with_name(f"{out.name}.old")
    if old.exists() and not out.exists():  # stopped between the two moves below
        os.replace(old, out)
    for folder in (part, old):
        shutil.rmtree(folder, ignore_errors=True)
    write_sources(outcomes, machine, part / "source", live)
    about = site.build(part / "live")["bytes"] if live else {}
    told = {f"live_{each}": size for each, size in about.items()}
    remarks = run_sphinx(part / "source", part / "pages", part / "doctrees", told)
    for template in (part / "pages" / "_static").glob("*macros.html"):  # the theme's own, and no page
        template.unlink()
    if live:
        os.replace(part / "live", part / "pages" / "_static" / "live")
    if out.exists():
        os.replace(out, old)
    os.replace(part / "pages", out)
    for folder in (part, old):
        shutil.rmtree(folder, ignore_errors=True)
    return remarks


def write_sources(outcomes: Sequence[Outcome], machine: str, source: Path, live: bool = False) -> None:
    """Write what Sphinx reads, in folders as in the repository: there every link leads to the same place."""
    library = Library(ROOT, source)
    for note in _NOTES:
        library.take(Path(note))
    for outcome in outcomes:
        for page in chapters(outcome, [each.name for each in outcomes]):
            place = Path("notebooks") / f"{page.name}.ipynb"
            for cell in page.notebook.cells:
                if cell.cell_type == "markdown":
                    cell.source = library.follow(cell.source, place.parent)
            (source / place).parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(page.notebook, source / place)
    front = library.follow(front_page(outcomes, machine, live), Path())
    notes = library.notes()
    if live:
        shutil.copy(PLAYGROUND, source)
        notes.insert(0, PLAYGROUND.stem)
    inside = [note for note in notes if note not in (*_FOR_READERS, *_FOR_TEACHERS)]
    text = INSIDE.read_text(encoding="utf-8") + "\n" + _toctree("", inside)
    (source / INSIDE.name).write_text(text, encoding="utf-8")
    notes = [*(note for note in notes if note not in inside), INSIDE.stem]
    (source / "index.md").write_text(f"{front}\n{contents(outcomes, notes)}", encoding="utf-8")


def chapters(outcome: Outcome, names: Sequence[str]) -> list[Page]:
    """A notebook as pages. `names` are those of all notebooks: what is not on the way comes below its lesson in the
    contents."""
    parts = pages_of(outcome.notebook, outcome.name)
    predicted = waiting(outcome.notebook.cells)
    made = [replace(part, notebook=chapter(part.notebook, part.name, predicted)) for part in parts]
    cuda_lines.lead(made)
    lead_on(made[0], made[1:], beside(outcome.name, names))
    return made


def beside(name: str, names: Sequence[str]) -> list[str]:
    """What belongs to a lesson and is not on the way: what goes deeper, then its exercises; nothing of any other."""
    number, lesson = name[:2], "/" not in name
    return [other for other in names if lesson and "/" in other and other.partition("/")[2][:2] == number]


def contents(outcomes: Sequence[Outcome], notes: Sequence[str]) -> str:
    """The tables of contents: lessons, what belongs to lessons that are not there, and what else was taken in."""
    lessons = [outcome.name for outcome in outcomes if "/" not in outcome.name]
    names = [outcome.name for outcome in outcomes]
    alone = sorted({*names} - {*lessons} - {below for lesson in lessons for below in beside(lesson, names)})
    groups = {
        "Lessons": [f"notebooks/{name}" for name in lessons],
        "More exercises": [f"notebooks/{name}" for name in alone],
        "Beside the lessons": [note for note in notes if note not in _FOR_TEACHERS],
        "For teachers": [note for note in notes if note in _FOR_TEACHERS],
    }
    return "\n".join(
        _toctree(f":hidden:\n:caption: {caption}\n", pages) for caption, pages in groups.items() if pages
    )


def _toctree(options: str, pages: Sequence[str]) -> str:
    return f"```{{toctree}}\n{options}\n" + "\n".join(pages) + "\n```\n"


def run_sphinx(source: Path, out: Path, doctrees: Path, told: Mapping[str, int]) -> list[str]:
    """Make pages; return warnings. `told`: what the templates are told, such as the bytes that a page loads.
    A process of its own: Ctrl-C ends it, and nothing of it stays in this one."""
    options = ["-q", "--no-color", "-j", "auto", "-c", str(Path(__file__).parent), "-d", str(doctrees)]
    options += [f"-A{name}={value}" for name, value in told.items()]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-b", "html", *options, str(source), str(out)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    said = [
        re.sub(re.escape(f"{source}{os.sep}"), "", line) for line in done.stderr.splitlines() if line.strip()
    ]
    if done.returncode:
        raise BookError("\n".join(said[-12:]))
    return said
