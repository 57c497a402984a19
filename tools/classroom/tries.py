"""How hard each exercise was for a group: the second table of `python -m tools.classroom.progress`.

A try is an answer that the check judged: the same one again, or a cell with a gap, is none. What was opened counts
until the first right answer: afterwards everybody may look.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median

from course_lib.exercises.logbook import FOLDS

HEAD = ["exercise", "tried", "solved", "tries, median", *(f"{fold} opened" for fold in FOLDS)]


@dataclass
class Work:
    """What one learner did until an exercise was solved, or so far."""

    tries: int = 0
    solved: bool = False
    opened: set[object] = field(default_factory=set)


def of_one(entries: Iterable[dict]) -> dict[object, Work]:
    """An exercise's number -> the work of the learner whose progress these are, in its order."""
    found: dict[object, Work] = {}
    for entry in entries:
        work = found.setdefault(entry.get("exercise"), Work())
        if work.solved:
            continue
        if "solved" in entry:
            work.tries, work.solved = work.tries + 1, entry["solved"] is True
        work.opened.add(entry.get("opened"))
    return found


def table(group: Iterable[list[dict]], exercises: Iterable[str]) -> list[list[str]]:
    """A line for each exercise that somebody tried: how many did, how many solved it, their tries in the median, and
    how many of all had the hint and the solution open before. `group`: the entries of each learner."""
    learners, rows = [of_one(entries) for entries in group], []
    for name in exercises:
        works = [all_of_one.get(name, Work()) for all_of_one in learners]
        works = [work for work in works if work.tries]
        needed = [work.tries for work in works if work.solved]
        opened = (sum(fold in work.opened for work in works) for fold in FOLDS)
        if works:
            of_right = f"{median(needed):g}" if needed else "-"
            rows.append([name, str(len(works)), str(len(needed)), of_right, *map(str, opened)])
    return [HEAD, *rows] if rows else []
