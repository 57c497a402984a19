"""What the exercises test, and the hint for each finding: notebooks/answers has both, beside the notebooks."""

from ..lessons import folders


def exercises() -> dict[str, tuple]:
    """Exercise -> (test, hints), in the order of their numbers: `test(answer)` raises what is wrong; `hints` maps words
    for that to hints. A key is one word or several, "a|b": kinds and causes of hazards, causes that the test gives to
    what it raises itself (`demand`), or "" for all else. Of two hints for a word the later one counts."""
    names = sorted(folders.modules("answers"), key=lambda name: (name[:4] == "bank", name))
    rooms = [folders.module(f"answers.{name}") for name in names if name.startswith(("lesson_", "bank_"))]
    found = {name: exercise for room in rooms for name, exercise in room.EXERCISES.items()}
    return {name: found[name] for name in sorted(found, key=_numbers)}


def _numbers(exercise: str) -> list[int]:
    """Lesson and number: 00.2 comes before 00.11."""
    return [int(part) for part in exercise.split(".")]
