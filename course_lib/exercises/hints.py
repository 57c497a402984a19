"""What is said of an answer that is not right: a hint for each finding, and a smaller step for who fails again.

notebooks/answers/hints_NN.toml has those of lesson NN, a table for each exercise. A key is one word or several, "a|b":
kinds and causes of hazards, causes that the test gives to what it raises itself (`demand`), or "" for all else. Of two
texts for a word the later one counts. `also` names tables whose texts come before the table's own, of the same file or
of hints.toml; `smaller-step` is one more table for the same words; an empty text there says that
the answer has passed all smaller steps.
"""

import tomllib
from collections.abc import Sequence
from functools import cache

from ..lessons import folders

STEP = "smaller-step"


def hints(exercise: str) -> dict[str, str]:
    """Words -> hint."""
    tables = _read("hints") | _read(f"hints_{exercise[:2]}")
    return _whole("everywhere", tables) | _whole(exercise, tables)


def smaller_steps(exercise: str) -> dict[str, str]:
    """Words -> smaller step; {} for an exercise that has none."""
    return _read(f"hints_{exercise[:2]}")[exercise].get(STEP, {})


def fitting(texts: dict[str, str], words: Sequence[str]) -> str:
    """The text for the first word that has one, else the one for ""."""
    of_word = {word: text for key, text in texts.items() for word in key.split("|")}
    return of_word[next((word for word in words if word in of_word), "")]


def _whole(name: str, tables: dict[str, dict]) -> dict[str, str]:
    """A table, and before its own texts those of the tables that it names."""
    found: dict[str, str] = {}
    for other in tables[name].get("also", ()):
        found |= _whole(other, tables)
    return found | {key: text for key, text in tables[name].items() if key not in ("also", STEP)}


@cache
def _read(name: str) -> dict[str, dict]:
    path = folders.place("notebooks") / "answers" / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))
