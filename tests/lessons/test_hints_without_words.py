"""A hint stays when the sentences of findings change: here they are all blank."""

import pytest

from course_lib import check_exercise
from course_lib.check.verdict import CheckFailed
from ptxsim.races.hazards import HazardLog
from tests.lessons.test_lesson_kernels import WRONG_ANSWERS, solved
from tests.sample import one_in

NAMES = ("00.1", "01.2", "02.1", "02.3", "03.2", "04.4", "05.3", "06.2", "06.3", "07.1")


@pytest.fixture
def without_words(monkeypatch):
    """Blank messages, of hazards and of the check itself."""
    add, init = HazardLog.add, CheckFailed.__init__

    def add_blank(log, kind, instruction, message, *args, **more):
        add(log, kind, instruction, "", *args, **more)

    def init_blank(error, message, *args, **more):
        init(error, "", *args, **more)

    monkeypatch.setattr(HazardLog, "add", add_blank)
    monkeypatch.setattr(CheckFailed, "__init__", init_blank)


@pytest.mark.parametrize(
    ("name", "label", "changes", "hint"),
    one_in(2, [(name, *wrong) for name in NAMES for wrong in WRONG_ANSWERS[name][:4]]),
)
def test_the_same_hint_comes_without_the_words_of_the_finding(without_words, name, label, changes, hint):
    found, _, told = check_exercise(name, solved(name, changes)).text.partition(" Hint: ")
    assert hint in told, found
