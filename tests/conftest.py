"""What tests of several folders share."""

import sys

import pytest

from course_lib.measure import records


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where records are looked for: nothing is here yet, and nothing is recorded."""
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    monkeypatch.delenv("COURSE_RECORD", raising=False)
    return tmp_path


@pytest.fixture(autouse=True)
def no_cupy_of_before():
    """No test meets a CuPy that another one made up, and `matmul` has kept."""
    yield
    if warm := sys.modules.get("matmul.warm"):
        warm.cupy.cache_clear()
