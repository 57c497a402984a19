"""What a group has solved: `python -m tools.classroom.progress FOLDER` prints a table with a line for each learner, and
one with a line for each exercise that somebody tried (tries.py).

FOLDER holds the learners' `progress.jsonl` files, renamed (`ada.jsonl`) or in folders (`ada/progress.jsonl`,
`ada/my_lessons/progress.jsonl`). A learner is called as the file or the folder is.
"""

import re
import sys
from pathlib import Path

from course_lib.exercises import logbook
from hiding_latency.outcome import aligned
from hiding_latency.places import FOLDER
from ptxsim import printable_line
from tools.classroom import tries

DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")


def name_of(path: Path) -> str:
    """The learner's name: that of the file, or of the folder it lies in."""
    if path.name != logbook.FILE:
        return path.stem
    return (path.parent.parent if path.parent.name == FOLDER else path.parent).name


def line_of(entries: list[dict], exercises: list[str]) -> list[str]:
    """A learner's line behind the name: solved of all in each lesson, predictions, the last day."""
    rows = logbook.Progress(entries, exercises).rows()
    solved = [f"{list(states.values()).count('solved')}/{len(states)}" for _, states, _ in rows]
    dates = (str(entry.get("date")) for entry in entries)
    last = max(filter(DATE.fullmatch, dates), default="never")
    return [*solved, str(sum(count for *_, count in rows)), last]


def main(arguments: list[str]) -> int:
    """Print the tables; 0 when there was something to read."""
    from course_lib.exercises.answers import exercises

    if len(arguments) != 1:
        print(
            "Usage: python -m tools.classroom.progress FOLDER, a folder with learners' progress files.",
            file=sys.stderr,
        )
        return 2
    paths = sorted(Path(arguments[0]).rglob("*.jsonl"), key=name_of)
    if not paths:
        print(f"There is no progress file (.jsonl) in {arguments[0]}.", file=sys.stderr)
        return 2
    known = list(exercises())
    lessons = sorted({name.partition(".")[0] for name in known})
    head = ["name", *lessons, "predictions", "last day"]
    table, group = [head], []
    for path in paths:
        try:
            group.append(logbook.entries(path))
            line = line_of(group[-1], known)
        except OSError as error:
            print(printable_line(f"{path} cannot be read: {error.strerror}."), file=sys.stderr)
            line = ["?"] * (len(head) - 1)
        table.append([printable_line(name_of(path)), *line])
    print(*aligned(table), sep="\n")
    if by_exercise := tries.table(group, known):
        print("", *aligned(by_exercise), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
