"""The runtime library that programs are linked with is built once for all tests, and kept below build/."""

import shutil

import pytest

from ptxsim.program import compile as compiler
from tests.rules import ROOT


@pytest.fixture(autouse=True)
def kept_library(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(ROOT / "build"))


@pytest.fixture
def nvcc():
    """For tests that build a program."""
    if not shutil.which("g++"):
        pytest.skip("no g++")
    try:
        return compiler.toolkit()
    except compiler.BuildError as reason:
        pytest.skip(str(reason))
