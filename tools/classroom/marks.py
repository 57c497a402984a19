"""`nbgrader export` writes grades.csv: a line for each notebook that was handed in, and for no other.

What could not be graded has an empty score and a remark that says why; what was late or put together anew has one too.
nbgrader's own table has 0 points there, and for whatever was not handed in.
"""

import csv
from datetime import timedelta
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin

from tools.classroom import verdicts
from tools.classroom.grade import graded, handed_in, notes
from tools.classroom.wide import in_a_cell

COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score", "remark"),
)


class Marks(ExportPlugin):
    def export(self, gradebook: Gradebook) -> None:
        """The table, with nbgrader's columns and a remark."""
        course = Path(self.parent.coursedir.root)
        came, marked = handed_in(course), handed_in(course, "autograded")  # a file may be taken away later
        with open(self.to or "grades.csv", "w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, COLUMNS)
            table.writeheader()
            for assignment in gradebook.assignments:
                name = assignment.name
                for student in sorted({*came.get(name, ()), *marked.get(name, ())}):
                    if name in (self.assignment or [name]) and student in (self.student or [student]):
                        row = _row(course, gradebook, assignment, student)
                        table.writerow({column: in_a_cell(value) for column, value in row.items()})


def _row(course: Path, gradebook: Gradebook, assignment: object, student: str) -> dict[str, object]:
    """A line of the table; what is not known is empty in it."""
    noted = notes(course).get(f"{student}/{assignment.name}", {})
    row = {
        "assignment": assignment.name,
        "duedate": assignment.duedate,
        "student_id": student,
        "max_score": assignment.max_score,
    }
    try:
        known = gradebook.find_student(student)
        row |= {name: getattr(known, name) for name in ("last_name", "first_name", "email")}
        submission = gradebook.find_submission(assignment.name, student)
    except MissingEntry:  # nbgrader has not seen the learner, or this notebook
        submission = None
    if submission is None or not graded(course, student, assignment.name).is_file():
        return row | {"remark": noted.get("why") or "not graded yet"}
    penalty = submission.late_submission_penalty
    late = submission.total_seconds_late
    older = noted and noted.get("judge") != verdicts.version()  # its file is gone, or nobody has graded since
    remarks = [
        f"late by {timedelta(seconds=round(late))}" if late else "",
        noted.get("remark", ""),
        "the marks are of an earlier version of the course" if older else "",
    ]
    return row | {
        "remark": "; ".join(filter(None, remarks)),
        "timestamp": submission.timestamp,
        "raw_score": submission.score,
        "late_submission_penalty": penalty,
        "score": max(0.0, submission.score - penalty),
    }
