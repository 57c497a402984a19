"""How long a lesson takes, sitting by sitting: `python -m tools.author.sittings` writes it into docs/instructor.md and
docs/pilot.md, and into what each lesson promises.

A sitting is what stands from one heading `# Sitting N · title` to the next. Its minutes are those of somebody who reads
English as a second language: 180 words a minute, 7 seconds a line of shown code, 4 seconds a printed line, a minute for
a picture and for each answer of a prediction, and an exercise as long as its cell says (`"minutes"` in its metadata; 8
where it says nothing). What is folded (hints, solutions) or hidden (the code of drawings) counts nothing. Fitted to the
minutes that readers of lessons 00 to 05 took for their 17 sittings: 4 minutes off, as a root mean square.
"""

import json
import re
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from course_lib.lessons import sources
from tools.author import marked

WORDS, LINES, PRINTED, EXERCISE = 180, 60 / 7, 60 / 4, 8
"""Words a minute, lines of code and of output a minute, minutes for an exercise that does not say its own."""
FOLD = re.compile(r"<details>.*?</details>", re.DOTALL)
LONGEST = 45
PAGE = Path(__file__).resolve().parents[2] / "docs" / "instructor.md"
PILOT, TRIED_FIRST = PAGE.with_name("pilot.md"), "02_producer_consumer"
"""The page for whoever tries the course first with people, and the lesson that they try."""
EXERCISE_HEADING = re.compile(r"^## Exercise (\d\d\.\d+)", re.MULTILINE)
HEADING = re.compile(r"^# (Sitting \d+ · .+|Optional · .+)$", re.MULTILINE)
PROMISED = re.compile(r"^\* (?:(Sitting \d+ · .+?|Optional · .+?)): (\d+) minutes", re.MULTILINE)


@dataclass(frozen=True)
class Sitting:
    title: str
    minutes: float

    @property
    def promise(self) -> int:
        """What the header says: the next five minutes."""
        return 5 * ceil(self.minutes / 5)


def sittings(path: Path) -> list[Sitting]:
    """The sittings of a notebook in order. What stands before the first one belongs to it."""
    found: list[list] = []
    before = 0.0
    for cell in sources.cells_of(path):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown" and (heading := HEADING.search(text)):
            found.append([heading[1], before])
            before = 0.0
        if found:
            found[-1][1] += minutes_of(cell, text)
        else:
            before += minutes_of(cell, text)
    return [Sitting(*each) for each in found]


def promised(path: Path) -> list[tuple[str, int]]:
    """(title, minutes) of the sittings as the lesson's first cell lists them."""
    first = sources.cells_of(path)[0]
    return [(title, int(minutes)) for title, minutes in PROMISED.findall("".join(first["source"]))]


def words(text: str) -> int:
    """Words of a Markdown cell outside folds."""
    return len(FOLD.sub("", text).split())


def minutes_of(cell: dict, text: str) -> float:
    tags = cell["metadata"].get("tags", ())
    if cell["cell_type"] == "markdown":
        return 0.0 if "solution" in tags else words(text) / WORDS
    if "exercise" in tags:
        return cell["metadata"].get("minutes", EXERCISE)
    if "predict" in tags:
        return text.count("= None") + text.count(": None")
    shown = 0.0 if "hide-input" in tags else sum(map(bool, map(str.strip, text.splitlines()))) / LINES
    return shown + sum(map(_minutes_of_output, cell["outputs"]))


def _minutes_of_output(output: dict) -> float:
    data = output.get("data", {})
    if data.keys() & {"image/svg+xml", "image/png"}:
        return 1.0
    return len("".join(output.get("text", data.get("text/plain", ""))).splitlines()) / PRINTED


def table() -> str:
    """A row for each lesson in Markdown: the minutes that it promises for each sitting, and all of them together."""
    minutes = {
        path.stem[:2]: [each.promise for each in sittings(path) if each.title.startswith("Sitting")]
        for path in sources.notebooks(sources.NOTEBOOKS)
    }
    most = max(map(len, minutes.values()))
    rows = [f"|lesson|{'|'.join(f'sitting {1 + number}' for number in range(most))}|together|"]
    rows.append(f"|---|{'--:|' * (most + 1)}")
    for lesson, each in minutes.items():
        rows.append(f"|{lesson}|{'|'.join(map(str, each))}{'|' * (most - len(each))}|{sum(each)}|")
    return "\n".join(rows)


def table_of_pilot() -> str:
    """A row for each sitting of the lesson of the pilot in Markdown: its minutes, and its exercise with its own."""
    path = sources.NOTEBOOKS / f"{TRIED_FIRST}.ipynb"
    exercises: dict[str, list[str]] = {}
    sitting = exercise = ""
    for cell in sources.cells_of(path):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            sitting = heading[1] if (heading := HEADING.search(text)) else sitting
            exercise = heading[1] if (heading := EXERCISE_HEADING.search(text)) else exercise
        elif "exercise" in cell["metadata"].get("tags", ()):
            minutes = cell["metadata"].get("minutes", EXERCISE)
            exercises.setdefault(sitting, []).append(f"{exercise}, {minutes} minutes")
    rows = ["| sitting | minutes | the exercise in it |", "|---|--:|---|"]
    for each in sittings(path):
        if each.title.startswith("Sitting"):
            title = each.title.removeprefix("Sitting ")
            rows.append(f"| {title} | {each.promise} | {'; '.join(exercises.get(each.title, []))} |")
    return "\n".join(rows)


def promise(path: Path) -> None:
    """Write into a lesson's first cell how long its sittings take."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    minutes = {sitting.title: sitting.promise for sitting in sittings(path)}
    first = notebook["cells"][0]
    text = PROMISED.sub(
        lambda line: f"* {line[1]}: {minutes.get(line[1], line[2])} minutes", "".join(first["source"])
    )
    first["source"] = text.splitlines(keepends=True)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    for path in sources.notebooks(sources.NOTEBOOKS):
        promise(path)
    marked.write(PAGE, "sittings", table())
    marked.write(PILOT, "sittings", table_of_pilot())
    print(table())


if __name__ == "__main__":
    main()
