"""The door to the figures of the lessons: a name finds its function, and one that is none is told what there is."""

import re

import pytest

from course_lib.draw import figures
from cupy_or_sim import style


def test_a_figure_is_shown_with_its_words(monkeypatch):
    shown = []
    monkeypatch.setattr(style, "show", lambda figure, words: shown.append(words))
    figures.figure("05.ring", 4, turns=(0, 1))
    assert shown[0].startswith("A ring of 4 slots in turns 0 to 1.")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("02.turns", "there is no figure '02.turns'; those of lesson 02: turn, hand_over, company"),
        ("02.Turns", "there is no figure '02.Turns'; those of lesson 02: turn, hand_over, company"),
        ("02._bar", "there is no figure '02._bar'; those of lesson 02: turn, hand_over, company"),
        ("05", "there is no figure '05'; those of lesson 05: flights, ring, queue, orders, curves, budget"),
        ("99.turn", "there is no figure '99.turn'; those of lesson 99: none"),
        ("a/b.turn", "there is no figure 'a/b.turn'; those of lesson a/b: none"),
    ],
)
def test_a_name_that_is_none_is_told_those_that_are(name, words):
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        figures.figure(name)
