"""What the exercises test, and the hint for each finding: lesson_NN.py those of a lesson, bank_NN.py more of them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path


def exercises() -> dict[str, tuple]:
    """Exercise -> (test, hints), in the order of their numbers: `test(answer)` raises what is wrong; `hints` maps words
    for that to hints. A key is one word or several, "a|b": kinds and causes of hazards, causes that the test gives to
    what it raises itself (`demand`), or "" for all else. Of two hints for a word the later one counts."""
    here = Path(__file__).parent
    names = [path.stem for kind in ("lesson", "bank") for path in sorted(here.glob(f"{kind}_*.py"))]
    rooms = [import_module(f"{__name__}.{name}") for name in names]
    found = {name: exercise for room in rooms for name, exercise in room.EXERCISES.items()}
    return {name: found[name] for name in sorted(found, key=_numbers)}


def _numbers(exercise: str) -> list[int]:
    """Lesson and number: 00.2 comes before 00.11."""
    return [int(part) for part in exercise.split(".")]
