"""The short ways through the lessons: `python -m tools.author.short_ways` writes their table into
docs/instructor.md, and what each takes into README.md.

*The evening* is for a workshop of 90 minutes: the sections of lessons 00 to 05 whose first cell has the tag `evening`,
and says so. *The core* are eight sittings for who came for mainloop, producer-consumer, double buffer and three stages:
those that a lesson's first cell calls so.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from course_lib.lessons import sources
from tools.author import marked
from tools.author.sittings import FOLD, PAGE, minutes_of, sittings
from tools.author.sittings import LONGEST as SITTING

README = PAGE.parents[1] / "README.md"

MARK = "☾"
"""Stands in the first cell of each section of the evening, below its heading; the first of all says what it is."""
LONGEST = 90
HEADING = re.compile(r"^#{1,3} (?:Sitting \d+ · )?(.+)$", re.MULTILINE)
CORE = re.compile(r"^\* Sitting (\d+) · .+?: \d+ minutes, core\.", re.MULTILINE)


@dataclass
class Section:
    title: str
    evening: bool
    minutes: float


def sections(path: Path) -> list[Section]:
    """A notebook from heading to heading."""
    found: list[Section] = []
    for cell in sources.cells_of(path):
        text, tags = "".join(cell["source"]), cell["metadata"].get("tags", [])
        shown = "" if cell["cell_type"] == "code" else FOLD.sub("", text)
        if heading := HEADING.search(shown):
            found.append(Section(heading[1], "evening" in tags, 0.0))
        found[-1].minutes += minutes_of(cell, text)
    return found


def core(path: Path) -> list[int]:
    """The numbers of a lesson's sittings that belong to the core."""
    first = sources.cells_of(path)[0]
    return [int(number) for number in CORE.findall("".join(first["source"]))]


def table() -> str:
    """The evening's sections, and the core's sittings, of each lesson as a table in Markdown."""
    rows, whole = ["| lesson | evening | minutes | core |", "|---|---|--:|---|"], 0.0
    for path in sources.notebooks(sources.NOTEBOOKS):
        chosen, numbers = [each for each in sections(path) if each.evening], core(path)
        minutes = sum(each.minutes for each in chosen)
        whole += minutes
        if chosen or numbers:
            titles = "; ".join(re.sub(r"\d\d · .*", "the first screen", each.title) for each in chosen)
            of_core = f"sitting{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}" if numbers else ""
            rows.append(f"| {path.stem[:2]} | {titles} | {minutes:.0f} | {of_core} |")
    return "\n".join([*rows, f"| | **together** | **{whole:.0f}** | |"])


def hours() -> str:
    """What the ways take, and the whole course, by the table of sittings."""
    every, of_core = [], []
    for path in sources.notebooks(sources.NOTEBOOKS):
        found = [each.promise for each in sittings(path) if each.title.startswith("Sitting")]
        every += found
        of_core += [found[number - 1] for number in core(path)]
    return (
        f"Take {LONGEST} minutes (sections marked ☾), {len(of_core)} sittings of at most {SITTING} minutes (*core*, "
        f"{sum(of_core) / 60:.0f} hours), or all {len(every)} of them ({sum(every) / 60:.0f} hours)."
    )


def main() -> None:
    marked.write(PAGE, "short-ways", table())
    marked.write(README, "hours", hours())
    print(table())


if __name__ == "__main__":
    main()
