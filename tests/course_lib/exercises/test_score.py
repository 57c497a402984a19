"""What `score` says of a prediction, in words; and that it tells nothing to whoever made none."""

import pytest

from course_lib import score
from course_lib.exercises.predictions import HOW, TELL


@pytest.fixture(autouse=True)
def nobody_asked(monkeypatch):
    monkeypatch.delenv(TELL, raising=False)


@pytest.fixture
def said(capsys):
    def lines(*rows, **asked):
        score(rows, **asked)
        return capsys.readouterr().out.splitlines()

    return lines


@pytest.mark.parametrize(
    ("mine", "right", "words"),
    [
        (4, 4, "right, it is 4"),
        (4.0, 4, "right, it is 4"),
        (10, 9, "you said 10 (11 % too high); it is 9"),
        (0.5, 0.90123, "you said 0.5 (1.8 times too low); it is 0.901"),
        (0.91, 0.90123, "right: you said 0.91; it is 0.901"),
        (231, 232, "nearly right: you said 231; it is 232"),
        (1300, 1305, "nearly right: you said 1300; it is 1305"),
        (232, 240, "you said 232 (3 % too low); it is 240"),
        (248, 240, "you said 248 (3 % too high); it is 240"),
        (1, 0, "you said 1; it is 0"),
        (3, None, "you said 3; it is not known here: no record"),
        ("4", 4, "right, it is 4"),
        ("about 4", 4, "you said about 4; it is 4"),
        # a share or a factor in percent
        (40.6, 1024 / 2524, "right, it is 40.6 %"),
        (55, 0.406, "you said 55 % (35 % too high); it is 40.6 %"),
        ("41 %", 0.406, "right: you said 41 %; it is 40.6 %"),
        (153, 1.53, "right, it is 153 %"),
        (2.0, 0.366, "you said 2 (5.5 times too high); it is 0.366"),
        (1.3, 0.781, "you said 1.3 (1.7 times too high); it is 0.781"),
        (100, 4.67, "you said 100 (21 times too high); it is 4.67"),
        # words in any spelling
        ("Deadlock", "deadlock", "right, it is deadlock"),
        ("read after write", "read-after-write", "right, it is read-after-write"),
        ("32 x 64", "32x64", "right, it is 32x64"),
        ("none", "deadlock", "you said none; it is deadlock"),
        (3, "K", "you said 3; it is K"),
        # more than one
        ((4, 32), (4, 32), "right, it is (4, 32)"),
        ([5, 20], (5, 20), "right, it is (5, 20)"),
        ((4, 31), (4, 32), "you said (4, 31); it is (4, 32)"),
        (5, (5, 20), "you said 5; it is (5, 20)"),
        # yes and no
        (True, True, "right, it is True"),
        (True, False, "you said True; it is False"),
        ("true", True, "right, it is True"),
    ],
)
def test_a_prediction_beside_what_came_out(said, mine, right, words):
    assert said(("q", mine, right, "it is so")) == [f"q: {words}", "    it is so"]


@pytest.mark.parametrize(
    ("mine", "right"),
    [(None, 4), (None, 0.75), (None, "deadlock"), (None, None), ((None, None), (False, True)),
     ((False, None), (False, True)), ([None], (5, 20))],
)  # fmt: skip
def test_without_a_prediction_it_says_how_to_give_one_and_nothing_else(said, mine, right):
    assert said(("q", mine, right, "it is so")) == ["q: no prediction yet", *HOW.splitlines()]
    assert "tell=True" in HOW


def test_of_some_predictions_only_these_are_compared_and_how_to_give_one_is_said_once(said):
    rows = ("a", 4, 4, "why a"), ("b", None, 5, "why b"), ("c", None, 6)
    told = ["a: right, it is 4", "    why a", "b: no prediction yet", "c: no prediction yet"]
    assert said(*rows) == [*told, *HOW.splitlines()]


def test_whoever_asks_is_told_without_a_prediction(said, monkeypatch):
    rows = ("a", 5, 4), ("b", None, 0.90123, "it is so"), ("c", None, None)
    told = ["a: you said 5 (25 % too high); it is 4", "b: it is 0.901", "    it is so"]
    told += ["c: it is not known here: no record"]
    assert said(*rows, tell=True) == told
    monkeypatch.setenv(TELL, "1")
    assert said(*rows) == told
