"""tests/sample.py: which of many like cases are tried."""

from tests import sample


def test_the_first_of_each_kind_are_tried_or_all(monkeypatch):
    words = ["apple", "bean", "ash", "bark", "beech", "cedar"]
    monkeypatch.setattr(sample, "EVERY", False)
    assert sample.sample(words, lambda word: word[0]) == ["apple", "bean", "cedar"]
    assert sample.sample(words, lambda word: word[0], most=2) == ["apple", "bean", "ash", "bark", "cedar"]
    monkeypatch.setattr(sample, "EVERY", True)
    assert sample.sample(words, lambda word: word[0]) == words


def test_one_in_three_begins_with_the_first(monkeypatch):
    monkeypatch.setattr(sample, "EVERY", False)
    assert sample.one_in(3, range(8)) == [0, 3, 6]
    monkeypatch.setattr(sample, "EVERY", True)
    assert sample.one_in(3, range(3)) == [0, 1, 2]
