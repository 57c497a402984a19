"""One submission from its file to its page of feedback.

`python -m tools.classroom.one COURSE ASSIGNMENT STUDENT FOLDER`, where FOLDER has what was handed in.

A process for each, so that what a learner wrote can end no other one's grading. Both steps of nbgrader run in it, since
half of what a command of nbgrader takes is its start.
"""

import sys
from pathlib import Path

from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from traitlets.config import PyFileConfigLoader


def main(course: str, name: str, student: str, folder: str) -> int:
    """0 when the submission has marks. What nbgrader says is printed."""
    config = PyFileConfigLoader("nbgrader_config.py", path=str(Path(course))).load_config()
    config.CourseDirectory.submitted_directory = folder
    api = NbGraderAPI(CourseDirectory(config=config), config=config)
    marked = api.autograde(name, student)
    _tell(marked)
    if marked["success"]:
        _tell(api.generate_feedback(name, student))
    return 0 if marked["success"] else 1


def _tell(result: dict) -> None:
    print(result.get("log") or "", result.get("error") or "", sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
