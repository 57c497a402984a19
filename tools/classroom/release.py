"""Make an nbgrader course of the lessons' exercises in build/classroom: `make classroom` calls this.

source/ holds an assignment for each lesson, release/ what learners get, both without solutions. Run it again after
an update: what learners handed in, marks and feedback stay.
"""

import hashlib
import os
import shutil
import sys
from pathlib import Path

import nbformat

from course_lib.lessons import sources
from hiding_latency.outcome import title_of
from ptxsim.ground import whole
from tools.classroom.assignment import assignment, exercises, without_solutions
from tools.install import ROOT, alone

COURSE = ROOT / "build" / "classroom"
BANK = "exercises"
"""The folder of notebooks/ with more exercises for each lesson, under the same names."""
CONFIG = "nbgrader_config.py"
OWN_TEXTS: tuple[str, ...] = ()
"""SHA-256 of the settings that the course brought before: a file with one of these texts is no teacher's own."""


def notebooks() -> dict[str, Path]:
    """Assignment -> the notebook that it is made of. No lesson has the name of an assignment: learners put it beside
    theirs."""
    made = {f"assignment_{path.stem}": path for path in sources.with_kernels(sources.NOTEBOOKS)}
    more = sources.notebooks(sources.NOTEBOOKS / BANK)
    return made | {f"assignment_{path.stem}_more": path for path in more}


def write_course(course: Path, found: dict[str, Path]) -> list[str]:
    """Write settings, assignments, and the lessons without solutions that the sandbox shows. Returns what is made."""
    course.mkdir(parents=True, exist_ok=True)
    if not is_edited(course):
        whole.write(course / CONFIG, Path(__file__).with_name(CONFIG).read_text(encoding="utf-8"))
    made = []
    for name, path in found.items():
        lesson = nbformat.read(path, as_version=4)
        bare = without_solutions(lesson)
        whole.write(course / "lessons" / path.relative_to(sources.NOTEBOOKS), nbformat.writes(bare))
        if exercises(lesson):
            text = nbformat.writes(assignment(lesson, title_of(lesson, name)))
            whole.write(course / "source" / name / f"{name}.ipynb", text)
            made.append(name)
    for old in sorted(set(os.listdir(course / "source")) - set(made)):
        shutil.rmtree(course / "source" / old)
    return made


def is_edited(course: Path) -> bool:
    """Whether the settings are a teacher's own."""
    try:
        text = (course / CONFIG).read_bytes()
    except FileNotFoundError:
        return False
    ours = Path(__file__).with_name(CONFIG).read_bytes()
    return text != ours and hashlib.sha256(text).hexdigest() not in OWN_TEXTS


def unusable(course: Path) -> str:
    """Why the settings are not used, and what to do; "" where they have what grading needs, such as the sandbox."""
    if (course / CONFIG).is_file() and "settings.apply(" in (course / CONFIG).read_text(encoding="utf-8"):
        return ""
    return (
        f"build/classroom/{CONFIG} lacks the line settings.apply(c, HERE), which brings the sandbox and all else that "
        "the course's assignments need. Move the file away, run make classroom, and write your lines into the new one."
    )


def generate(course: Path, names: list[str]) -> list[str]:
    """`nbgrader generate_assignment` for each; returns what went wrong."""
    from nbgrader.apps import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import PyFileConfigLoader

    config = PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()
    api = NbGraderAPI(CourseDirectory(config=config), config=config)
    results = {name: api.generate_assignment(name) for name in names}
    failed = {name: result for name, result in results.items() if not result["success"]}
    return [f"{name}: {result.get('log', '')}{result['error']}" for name, result in failed.items()]


def main() -> int:
    """0 when every assignment was made."""
    with alone(ROOT / "build" / "classroom.lock", "Another make classroom runs here: waiting for it."):
        names = write_course(COURSE, notebooks())
        if reason := unusable(COURSE):
            sys.exit(reason)
        wrong = generate(COURSE, names)
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    for name in names:
        cells = sources.cells_of(COURSE / "source" / name / f"{name}.ipynb")
        points = sum(cell["metadata"].get("nbgrader", {}).get("points", 0) for cell in cells)
        print(f"{name}: {points} points")
    if is_edited(COURSE):
        print(f"\nYour own build/classroom/{CONFIG} stays as it is.")
    print("\nHand out the folders in build/classroom/release. How to collect and grade: docs/instructor.md")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
