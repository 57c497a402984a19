"""What the exercises of each lesson test, and the hint for each finding."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path


def exercises() -> dict[str, tuple]:
    """Exercise -> (test, hints): `test(answer)` raises what is wrong; `hints` maps patterns of it to hints."""
    lessons = sorted(path.stem for path in Path(__file__).parent.glob("lesson_*.py"))
    rooms = [import_module(f"{__name__}.{lesson}") for lesson in lessons]
    return {name: exercise for room in rooms for name, exercise in room.EXERCISES.items()}
