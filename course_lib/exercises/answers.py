"""What the exercises test: notebooks/answers has it, beside the notebooks."""

from collections.abc import Callable
from functools import cache

from ..lessons import folders


@cache
def exercises() -> dict[str, Callable]:
    """Exercise -> its test, `test(answer)`, which raises what is wrong, and may return a remark on a right one; in the
    order of their numbers."""
    names = sorted(folders.modules("answers"), key=lambda name: (name[:4] == "bank", name))
    rooms = [folders.module(f"answers.{name}") for name in names if name.startswith(("lesson_", "bank_"))]
    found = {name: test for room in rooms for name, test in room.EXERCISES.items()}
    return {name: found[name] for name in sorted(found, key=_numbers)}


def _numbers(exercise: str) -> list[int]:
    """Lesson and number: 00.2 comes before 00.11."""
    return [int(part) for part in exercise.split(".")]
