"""What more than one test needs: what it looks for in a file, and how it ends where a record is missing."""

import os
import re
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).parents[1]
"""Of the repository."""

FOLDERS = "home|root|work|tmp|opt|mnt|Users|private|scratch"
ABSOLUTE = re.compile(rf"(?:(?<![\w.~$}}>*-])|(?<=-[IL]))/(?:{FOLDERS})/\w|(?<!\w)[A-Z]:\\\\?\w")
"""A path that exists on one machine only."""


def lacking(why: str) -> NoReturn:
    """End this test: it lacks something, which is a failure where nothing may be missing."""
    (pytest.fail if os.environ.get("COURSE_NOTHING_MISSING") else pytest.skip)(why)


def missing(what: str) -> NoReturn:
    """End this test: there is nothing to compare with."""
    lacking(f"no frozen {what}")
