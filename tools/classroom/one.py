"""One submission from its file to its page of feedback.

`python -m tools.classroom.one COURSE ASSIGNMENT STUDENT TOLD`; what was found goes as JSON into the file TOLD.

A process for each, with limits, in which all is done that takes time with what a learner wrote: reading and mending it,
nbgrader's two steps, and reading what came of them. So it ends no other one's grading, and holds up none. Both steps of
nbgrader run in it, since half of what a command of nbgrader takes is its start.
"""

import json
import sys
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import nbformat

from tools.classroom import mend, rebuild, results
from tools.classroom.places import LARGEST, MENDED, SUBMITTED, graded, submitted
from tools.classroom.results import Found


@dataclass(frozen=True)
class Prepared:
    """A file, as nbgrader can take it from `folder`: `why` it cannot, the exercises whose answers were `lost`, and what
    a teacher should know of it."""

    folder: str = SUBMITTED
    why: str = ""
    lost: tuple[str, ...] = ()
    remark: str = ""


def prepared(course: Path, name: str, student: str) -> Prepared:
    """Read what was handed in. A damaged file is put together anew as far as it can be; it stays as it came."""
    file, release = submitted(course, student, name), course / "release" / name / f"{name}.ipynb"
    if why := too_large(file):
        return Prepared(why=why)
    if not (why := unreadable(file, release)):
        return Prepared()
    try:
        notebook, lost = mend.mended(file.read_bytes(), nbformat.read(release, as_version=4))
    except (OSError, rebuild.NoAnswers):  # there is no file, or nothing of use in it
        return Prepared(why=why)
    mend.write(notebook, submitted(course, student, name, MENDED), file)
    return Prepared(MENDED, "", tuple(lost), "put together anew from a damaged file")


def too_large(file: Path) -> str:
    """Why a file is not read at all; "" where it is."""
    size = file.stat().st_size if file.is_file() else 0
    if size <= LARGEST:
        return ""
    what = f"the file has {size / (1 << 20):,.0f} MB, and at most {LARGEST >> 20} are read"
    return f"{what}: let the learner clear all outputs in JupyterLab's menu Edit, save, and hand it in again"


def unreadable(path: Path, assignment: Path) -> str:
    """Why a file is not this assignment, filled by a learner; "" where it is."""
    if not path.is_file():
        return f"the file {path.name} is missing"
    try:
        with warnings.catch_warnings(action="ignore"):
            rebuild.rebuilt(nbformat.read(path, as_version=4), nbformat.read(assignment, as_version=4))
    except rebuild.NoAnswers as error:
        return str(error)
    except Exception as error:  # whatever a file may hold
        return f"it is no notebook ({' '.join(str(error).split())[:80]})"
    return ""


def tell(told: Path, ready: Prepared, found: list[Found]) -> None:
    """Write what `make grade` reads: a file that no learner's code has ever seen."""
    said = {"why": ready.why, "remark": ready.remark, "found": [asdict(each) for each in found]}
    told.write_text(json.dumps(said), encoding="utf-8")


def main(place: str, name: str, student: str, told: str) -> int:
    """0 when the submission has marks. What nbgrader says is printed."""
    from nbgrader.apps import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import PyFileConfigLoader

    course = Path(place)
    ready = prepared(course, name, student)
    if ready.why:
        tell(Path(told), ready, [])
        return 1
    config = PyFileConfigLoader("nbgrader_config.py", path=place).load_config()
    config.CourseDirectory.submitted_directory = ready.folder
    api = NbGraderAPI(CourseDirectory(config=config), config=config)
    marked = api.autograde(name, student)
    _print(marked)
    if not marked["success"]:
        return 1
    _print(api.generate_feedback(name, student))
    found = results.found(graded(course, student, name), submitted(course, student, name), ready.lost)
    tell(Path(told), ready, found)
    return 0


def _print(result: dict) -> None:
    print(result.get("log") or "", result.get("error") or "", sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
