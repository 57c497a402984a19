"""Permanent ids of the exercises: under these a learner's progress is kept, so that numbers may change.

An exercise's id is the number that it had first: an exercise of course 1.1 that moved keeps its old number as id, and a
new exercise that took over an old number has an id of its own.
"""

IDS = {
    "00.11": "00.11 of 2.0",
    "01.15": "00.11",
    "01.16": "00.14",
    "03.4": "03.6",
    "03.6": "03.4",
    "05.3": "05.3 of 2.0",
    "05.5": "05.3",
    "06.1": "06.7",
    "06.3": "06.3 of 2.0",
    "06.7": "06.7 of 2.0",
    "06.8": "06.1",
    "06.9": "06.3",
    "07.2": "07.4",
    "07.3": "07.2",
    "07.12": "07.12 of 2.0",
    "08.2": "07.5",
    "08.3": "07.3",
    "08.11": "07.12",
    "08.12": "07.14",
    "08.13": "07.15",
}
"""Number -> id, where they differ."""
GONE: tuple[str, ...] = ()
"""Ids of exercises that are no more: no exercise takes one over."""


def id_of(exercise: str) -> str:
    """The permanent id of an exercise: `id_of("02.1")`."""
    return IDS.get(exercise, exercise)
