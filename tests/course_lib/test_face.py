"""The face of the course: its names, and how small it is."""

import subprocess
import sys
from importlib import import_module

import pytest

import course_lib
from tests.rules import ROOT

NAMES = """
HOPPER OPTIONS Gemm Launch benchmark body check_exercise course_header cp draw edited kernel_source lesson_kernel
only_on score show_diff show_env show_progress simulate so_far this_gpu timeline
"""


def test_the_public_names():
    assert sorted(course_lib.__all__) == sorted(NAMES.split())
    assert set(dir(course_lib)) == set(course_lib.__all__)
    with pytest.raises(AttributeError, match="course_lib has no 'gem'"):
        _ = course_lib.gem


def test_a_small_library():
    library = ROOT / "course_lib"
    files = [path for path in library.rglob("*.py") if library / "instruments" not in path.parents]
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    assert len(course_lib.__all__) <= 22 and lines <= 5620


def test_a_name_is_never_hidden_by_the_module_of_the_same_name():
    import_module("course_lib.timelines.timeline")
    for package, names in {
        "course_lib": ["timeline"],
        "cupy_or_sim": ["simulate"],
        "course_lib.instruments": ["checklist", "profile", "sass", "spans", "timed", "waves"],
        "matmul": ["matmul", "tune"],
    }.items():
        assert all(callable(getattr(import_module(package), name)) for name in names), package


def test_what_stands_above_is_not_imported():
    code = "import sys, course_lib; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    above = {"cupy", "course_lib.instruments", "matmul", "matplotlib", "course_lib.notebooks.answers"}
    assert not above & set(done.stdout.split())
