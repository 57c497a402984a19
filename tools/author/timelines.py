"""How far recorded timelines are from the kernels that were timed: docs/timelines.csv, and its sums in
docs/timelines.md, from the records."""

import csv
import io
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from course_lib.check import kinds
from course_lib.check.job import Job
from course_lib.check.problem import Problem
from course_lib.lessons import sources
from course_lib.measure import model, records
from course_lib.timelines import marks
from course_lib.timelines.assembled import overlap
from course_lib.timelines.events import Shown
from cupy_or_sim import Launch, cupy_on_numpy, device, keys
from ptxsim import Untraceable
from ptxsim.ground import whole
from tools.author import marked

PAGE = Path(__file__).resolve().parents[2] / "docs" / "timelines.md"
DATA = PAGE.with_suffix(".csv")
OFF = 0.05
"""By what part a turn may be longer or shorter in a picture than by the kernel's speed."""
POINTS = 0.10
"""By what share of the time waits may differ from those that Nsight Compute samples."""
HEADER = (
    "lesson", "kernel", "shared memory, B", "size", "time, us", "MHz", "launches with marks", "noting",
    "turn by speed", "drawn", "modelled", "waits drawn", "by ncu", "what does not hold",
)  # fmt: skip
REMARKS = (
    ("the turn drawn", "the turn drawn is more than 5 % off"),
    ("left out", "edges are left out"),
    ("drawn pale", "edges are drawn pale"),
    ("two phases", "two phases of a warp overlap"),
    ("waits", "waits are more than ten points from those of Nsight Compute"),
)
"""How what does not hold begins, and what the page says of it."""


def main() -> int:
    """Write the rows, and into the page what they say together."""
    turns = [(lesson, entry, modelled(entry)) for lesson, entry in entries()]
    rows = [row(*each) for each in turns]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([HEADER, *rows])
    whole.write(DATA, text.getvalue())
    marked.write(PAGE, "measured", told(rows))
    print(f"{DATA.name}: {len(rows)} rows")
    return 0


@cache
def entries() -> list[tuple[str, dict]]:
    """(lesson, entry) of every recorded timeline, with the GPU's name in it."""
    found = []
    for path in records.files():
        record = json.loads(path.read_text(encoding="utf-8"))
        for entry in record.get("timelines", {}).values():
            found.append((lesson_of(entry), {"gpu": record["provenance"]["gpu"], **entry}))
    return sorted(
        found, key=lambda one: (one[0], one[1]["kernel"], one[1]["shape"], one[1]["shared_mem"], one[1]["us"])
    )


def lesson_of(entry: dict) -> str:
    """The number of the lesson that has the kernel, or the one that it was edited from."""
    if home := home_of(entry):
        return home[0][:2]
    calls = f"{entry['kernel']}("
    edited = (path for path in sources.with_kernels(sources.NOTEBOOKS) if calls in path.read_text())
    return next((path.stem[:2] for path in edited), "")


def home_of(entry: dict) -> tuple[str, str] | None:
    """The notebook that has just this kernel, and its source."""
    for path in sources.with_kernels(sources.NOTEBOOKS):
        for name, source in sources.kernels(path.stem).items():
            if name == entry["kernel"] and keys.source_key(name, source) == entry["source"]:
                return path.stem, source
    return None


def modelled(entry: dict) -> float | None:
    """Cycles of a k-tile by the clock; None where no notebook has the kernel, or the clock cannot
    follow it."""
    home = home_of(entry)
    if home is None:
        return None
    launch = replace(
        sources.kernel_launch(home[0], entry["kernel"]),
        tile=tuple(entry["tile"]), threads=entry["threads"], shared_mem=entry["shared_mem"],
    )  # fmt: skip
    try:
        return _turn(home[1], entry["kernel"], kinds.of_record(entry), launch)
    except Untraceable:
        return None


def _turn(source: str, name: str, problem: Problem, launch: Launch) -> float:
    kernel = cupy_on_numpy.RawKernel(source, name, options=device.options_for(source))
    return model.by_machine_code(Job(kernel, problem, launch)).cycles_per_k_tile


def written() -> list[list[str]]:
    """The rows as they were written."""
    with DATA.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    if tuple(header) != HEADER:
        raise ValueError(f"{DATA.name} begins with {header}: run python -m tools.author.timelines")
    return rows


def told(rows: Sequence[Sequence[str]]) -> str:
    """In words, what the rows say together."""
    gpus = sorted({f"{entry['gpu']}, {entry['date']}" for _, entry in entries()})
    off = offs(rows)
    lines = [
        f"{len(rows)} timelines, recorded on {'; '.join(gpus)}.",
        f"{len(off)} turns are modelled, {sum(off) / len(off):.1f} % off on average and {max(off):.1f} % at most.",
        "",
        "| what does not hold | timelines |",
        "|---|--:|",
    ]
    for begin, what in REMARKS:
        count = sum(any(part.startswith(begin) for part in cells[-1].split("; ")) for cells in rows)
        lines.append(f"| {what} | {count} |")
    return "\n".join([*lines, f"| nothing of this | {sum(not cells[-1] for cells in rows)} |"])


def offs(rows: Iterable[Sequence[str]]) -> list[float]:
    """How far the modelled turns are from those by speed, in per cent."""
    turns = (cells[HEADER.index("modelled")] for cells in rows)
    return [abs(float(turn.partition("(")[2].rstrip("%)"))) for turn in turns if turn]


def row(lesson: str, entry: dict, turn: float | None = None) -> list[str]:
    """A row; its last cell has in words what is beyond the limits. `turn`: the modelled one."""
    disturbed = {point: by for point, (_, by) in entry["disturbance"].items()}
    used = {point: by for point, by in disturbed.items() if point not in entry["left_out"]}
    off = entry["turn_drawn"] / entry["turn"] - 1
    drawn = _waits(entry["shares"])
    counted = _waits(entry.get("ncu") or {})
    remarks = []
    if abs(off) > OFF:
        remarks.append(f"the turn drawn is {off:+.1%} of the one by the speed")
    if left := ", ".join(f"{point} ({disturbed[point]:+.1%})" for point in entry["left_out"]):
        remarks.append(f"left out, {left}")
    if pale := ", ".join(f"{point} ({by:+.1%})" for point, by in used.items() if abs(by) > marks.SHARP):
        remarks.append(f"drawn pale, {pale}")
    shared = overlap(Shown.of(entry["parts"]["steady"]).events)
    if shared > marks.SHARP * entry["turn_drawn"]:
        remarks.append(f"two phases of a warp overlap by {shared:,} cycles, so a mark moved one of them")
    if drawn is not None and counted is not None and abs(drawn - counted) > POINTS:
        remarks.append(f"waits {drawn:.0%} in the picture, {counted:.0%} by Nsight Compute")
    return [
        lesson, entry["kernel"], str(entry["shared_mem"]), " x ".join(map(str, dict.fromkeys(entry["shape"]))),
        f"{entry['us']:,.0f}", f"{entry['mhz']:,}",
        f"{min(used.values()):+.1%} to {max(used.values()):+.1%}",
        f"{entry['noting']:+.1%}", f"{entry['turn']:,}", f"{entry['turn_drawn']:,} ({off:+.1%})",
        f"{turn:,.0f} ({turn / entry['turn'] - 1:+.1%})" if turn else "",
        *("" if part is None else f"{part:.0%}" for part in (drawn, counted)),
        "; ".join(remarks),
    ]  # fmt: skip


def _waits(shares: dict) -> float | None:
    """Waits and barriers together; None where neither was measured."""
    found = [shares[phase] for phase in ("wait", "barrier") if phase in shares]
    return sum(found) if found else None


if __name__ == "__main__":
    sys.exit(main())
