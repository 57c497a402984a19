"""What hints match: words that are declared, of a hazard or of the check itself. A typo is found here."""

import ast
import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from course_lib.check import attention_mistakes, mistakes, pairing, verdict
from course_lib.check.verdict import CheckFailed
from course_lib.exercises import hints, verdicts
from course_lib.notebooks import answers
from course_lib.notebooks.answers import (
    bank_07,
    common,
    lesson_03,
    lesson_07_ring,
    lesson_09_program,
    lesson_10,
)
from ptxsim.races.hazards import WORDS, Hazard, Meeting
from tests.course_lib.exercises.reached import FOLDER, reached

checklist = import_module("course_lib.instruments.checklist")
ROOMS = [
    import_module(f"{answers.__name__}.{path.stem}")
    for path in sorted(Path(answers.__file__).parent.glob("*_[0-9]*.py"))
]
CHECKS = (verdict, verdicts, mistakes, attention_mistakes, pairing, checklist)
SHARED = (common, bank_07, lesson_03, lesson_07_ring, lesson_09_program, lesson_10, *CHECKS)


@cache
def given_causes(room) -> list[str]:
    """Patterns of the causes that a module may give to a finding."""
    return causes_in(ast.parse(Path(room.__file__).read_text()))


def causes_in(tree: ast.AST) -> list[str]:
    """The same for a part of a module: its texts, but for the keys of its tables."""
    dictionaries = [node for node in ast.walk(tree) if isinstance(node, ast.Dict)]
    keys = {id(key) for node in dictionaries for key in node.keys}
    texts = [node for node in ast.walk(tree) if id(node) not in keys]
    whole = [node.value for node in texts if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    filled = [pattern(node) for node in texts if isinstance(node, ast.JoinedStr)]
    words = [re.escape(text.replace(" ", "-")) for text in whole]  # as a check names an item of the checklist
    return words + [each for each in filled if "-" in each]


def pattern(text: ast.JoinedStr) -> str:
    parts = [re.escape(part.value) if isinstance(part, ast.Constant) else r"\w+" for part in text.values]
    return "".join(parts)


def unknown(texts: dict[str, str], causes: list[str]) -> list[str]:
    """Words in the keys of hints that no hazard has, and no check gives."""
    words = [word for key in texts for word in key.split("|") if word and word not in WORDS]
    return [word for word in words if not any(re.fullmatch(cause, word) for cause in causes)]


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.__name__.rpartition(".")[2])
def test_every_key_of_a_hint_is_a_declared_word(room):
    causes = [cause for each in (room, *SHARED) for cause in given_causes(each)]
    for name in room.EXERCISES:
        assert not unknown(hints.hints(name), causes), name
        assert "" in hints.hints(name), f'{name} has no hint "", for what has none of its own'
        assert not unknown(hints.smaller_steps(name), causes), name


def never_raised(module: str, exercise: str, keys: Iterable[str]) -> list[str]:
    """Words in these keys that neither the check of this exercise nor what is behind it gives."""
    causes = [cause for node in reached(module, exercise) for cause in causes_in(node)]
    causes += [cause for each in CHECKS for cause in given_causes(each)]
    return unknown(dict.fromkeys(keys, ""), causes)


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.__name__.rpartition(".")[2])
def test_an_exercise_has_hints_for_what_its_own_check_raises(room):
    module = room.__name__.rpartition(".")[2]
    for name in room.EXERCISES:
        of_lesson = (FOLDER / f"hints_{name[:2]}.toml").read_text(encoding="utf-8")
        own = tomllib.loads(of_lesson)[name].keys() - {"also", hints.STEP}
        words = never_raised(module, name, [*own, *hints.smaller_steps(name)])
        assert not words, f"hints of {name}: no check of it raises {words}, so nobody ever reads them"


def test_a_hint_for_a_cause_of_another_exercise_is_found():
    keys = ["two-on-their-way|deadlock", "wrong-form", "no-whole-number", ""]
    assert never_raised("bank_08", "08.11", keys) == ["two-on-their-way", "wrong-form"]


def test_a_typo_in_a_key_is_found():
    causes = ["many\\-loads", "load\\-\\w+"]
    texts = {
        "no-bariere": "",
        "load-a|manyloads": "",
        "deadlock|no-barrier": "",
        "wrong|many-loads": "",
        "": "",
    }
    assert unknown(texts, causes) == ["no-bariere", "manyloads", "wrong"]


def hazard(kind: str, cause: str) -> Hazard:
    return Hazard(kind, cause, 1, None, "words")


HINTS = {"read-after-write|deadlock": "kind", "no-barrier": "cause", "few": "of the check", "": "else"}


@pytest.mark.parametrize(
    ("hint", "error"),
    [
        ("cause", CheckFailed("", (hazard("read-after-write", "no-barrier"),), ("few",))),
        ("kind", CheckFailed("", (hazard("read-after-write", "other-block"),), ("few",))),
        ("kind", CheckFailed("", (hazard("trap", "trap"), hazard("deadlock", "deadlock")), ("few",))),
        ("of the check", CheckFailed("", (hazard("trap", "trap"),), ("unheard-of", "few"))),
        ("else", CheckFailed("read-after-write no-barrier few", (hazard("trap", "trap"),))),
        ("else", ValueError("few")),
    ],
)
def test_the_first_word_that_has_a_hint_counts(hint, error):
    assert hints.fitting(HINTS, verdicts._words(error)) == hint


def test_of_two_hints_for_a_word_the_later_one_counts():
    error = CheckFailed("", (hazard("deadlock", "deadlock"),))
    assert hints.fitting(HINTS | {"deadlock": "its own"}, verdicts._words(error)) == "its own"


SOURCE = "one\ntwo\n__syncwarp();\nfour // __syncwarp();\nfive"


@pytest.mark.parametrize(
    ("other", "earlier", "later", "told"),
    [
        ("thread 224", "line 2", 4, True),
        ("thread 31", "line 2", 4, False),  # of the same warp
        ("thread (0, 7)", "line 2", 4, False),
        ("thread 224", "line 1", 2, False),
        ("thread 224", "line 4", 5, False),  # in a comment
        ("thread 224", "line 5", 3, True),  # round a loop
        ("thread 224", "line 4", 2, False),
        ("thread 224", "line 4", 4, True),  # a line that meets itself, in a loop
        ("thread 224", "line 5, called from line 2", 4, True),
        ("thread 224", "line 9 of tile.cuh", 4, False),
    ],
)
def test_a_barrier_of_one_warp_between_two_warps_is_told(other, earlier, later, told):
    meeting = Meeting("thread 0 of block 0", other, earlier, "tile[0]")
    race = Hazard("read-after-write", "no-barrier", later, None, "words", meeting=meeting)
    said = verdicts._words(CheckFailed("", (race,)), SOURCE)
    assert (said[0] == verdicts.ONE_WARP_WAITS) == told
    assert verdicts._words(CheckFailed("", (race,))) == ["no-barrier", "read-after-write"]
