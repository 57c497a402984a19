"""What the exercises test, and the hint for each finding: lesson_NN.py those of a lesson, bank_NN.py more of them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path


def exercises() -> dict[str, tuple]:
    """Exercise -> (test, hints): `test(answer)` raises what is wrong; `hints` maps patterns of it to hints."""
    here = Path(__file__).parent
    names = [path.stem for kind in ("lesson", "bank") for path in sorted(here.glob(f"{kind}_*.py"))]
    rooms = [import_module(f"{__name__}.{name}") for name in names]
    return {name: exercise for room in rooms for name, exercise in room.EXERCISES.items()}
