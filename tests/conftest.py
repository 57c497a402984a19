"""An empty folder of records for the tests in this folder."""

import pytest

from course_lib.measure import records


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where records are looked for: nothing is here yet, and nothing is recorded."""
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    monkeypatch.delenv("COURSE_RECORD", raising=False)
    return tmp_path
