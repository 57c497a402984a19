"""`make quick`: what a changed file asks for; that what its table names is there."""

import re

import pytest

from tests.rules import ROOT
from tools.author import quick


def test_every_place_of_the_table_is_there():
    for _, tests in quick.TABLE:
        for test in tests:
            file, _, name = test.partition(" -k ")[0].partition("::")
            assert "{" in file or (ROOT / file).exists(), test
            if name and "{" not in name:
                assert re.search(rf"^def {name}\(", (ROOT / file).read_text(), re.MULTILINE), test


@pytest.mark.parametrize(
    ("changed", "asked"),
    [
        ("ptxsim/instructions/bits.py", "[xor."),
        ("ptxsim/gpus.py", "tests/ptxsim/test_gpus.py"),
        ("ptxsim/races/findings.py", "tests/ptxsim/races/test_hazards_cases.py"),
        ("course_lib/exercises/answers/lesson_02.py", 'tests/lessons/test_lesson_kernels.py -k "02."'),
        ("notebooks/02_producer_consumer.ipynb", "test_every_notebook_with_kernels_has_a_room"),
        ("course_lib/measure/bench.py", "tests/course_lib/measure/test_bench.py"),
        ("tools/learner/lab.py", "tests/tools/learner"),
        ("tools/classroom/feedback.py", "tests/tools/classroom/test_feedback.py"),
        ("tools/book/static/book.css", "tests/tools/book/test_book.py"),
    ],
)
def test_a_changed_file_asks_for_its_tests(changed, asked):
    assert any(asked in test for test in quick.tests_of([changed]))


@pytest.mark.parametrize(
    ("wrong", "ended", "status"),
    [("", 0, 0), ("ruff check", 1, 1), ("ruff format", 1, 1), ("pytest", 1, 1), ("pytest", 5, 0)],
)
def test_it_ends_as_its_steps_do(monkeypatch, wrong, ended, status):
    """pytest ends with 5 where it finds no test of a name."""
    monkeypatch.setattr(quick, "changes", list)
    monkeypatch.setattr(quick, "stale_reports", dict)
    monkeypatch.setattr(quick, "run", lambda command: ended if wrong in " ".join(command) else 0)
    assert quick.main() == status
