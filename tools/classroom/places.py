"""Where in the course's folder a learner's work lies: as it came, put together anew, and with marks."""

from pathlib import Path

SUBMITTED = "submitted"
MENDED = "mended"
"""The folder of what was put together anew, beside submitted/, whose files stay as they came."""
LARGEST = 10 << 20
"""Bytes of a file. The largest lesson, with all its pictures, has a seventh of that."""


def submitted(course: Path, student: str, name: str, folder: str = SUBMITTED) -> Path:
    """Where a learner's notebook is put."""
    return course / folder / student / name / f"{name}.ipynb"


def graded(course: Path, student: str, name: str) -> Path:
    """Where the same notebook lies, run, when it has marks."""
    return course / "autograded" / student / name / f"{name}.ipynb"
