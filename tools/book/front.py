"""The first page: what this is, two recorded timelines, what the steps gained, and the lessons as rows.

Its figures are those of the records in assets/measurements, of the pictures and of the sittings.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

from course_lib.lessons import sources
from course_lib.measure import records
from hiding_latency.outcome import Outcome
from tools.author import figures, sittings
from tools.book.glyphs import glyph

TEXT = Path(__file__).with_name("front.md")
_RECORDED = re.compile(
    r"<title>Timeline of (\w+), (.+?), recorded on (.+?), (\d{4}-\d\d-\d\d)\..* a turn: ([\d,]+) cycles"
)
_LESSON = re.compile(r"^\| `(\d\d_\w+)` \| (.+?) \|$", re.MULTILINE)


def front_page(outcomes: Sequence[Outcome], machine: str, live: bool = False) -> str:
    """The Markdown of the first page. `machine` is what ran the kernels, as course_lib.device calls it; `live`: cells
    run in the page."""
    lessons = [outcome for outcome in outcomes if "/" not in outcome.name]
    record = json.loads(records.files()[0].read_text(encoding="utf-8"))
    measured = figures.measured(record)
    failed = [f"* {_plain(o.title)}: {_plain(why)}" for o in outcomes for why in o.failures]
    recorded = {name: _recorded(figures.ROOT / "assets" / file) for name, file in figures.PICTURES.items()}
    return Template(TEXT.read_text(encoding="utf-8")).substitute(
        buttons=_buttons(lessons, live),
        in_turn=recorded["one_buffer"],
        overlapped=recorded["specialised"],
        gain=gain(record, measured),
        lessons=_lessons(lessons, best(measured)),
        ran=f"The lessons are shown with what came out of a run (kernels: {machine}).",
        failed="\n".join(["**Not everything went well:**\n", *failed]) if failed else "",
    )


def _buttons(lessons: Sequence[Outcome], live: bool) -> str:
    """Read, try and run; without a lesson there is nothing to read."""
    read = [f"[Read: {_plain(each.title)}](notebooks/{each.name}.ipynb)" for each in lessons[:1]]
    here = ["[Try it here: take a barrier out](playground.md)"] if live else []
    return "\n".join([*read, *here, "[Run it: `make lab`](#run-it)"])


def _recorded(picture: Path) -> str:
    """Of what kernel, on which GPU and when a picture was recorded, and how fast it was, as the picture itself says."""
    kernel, problem, gpu, date, turn = _RECORDED.findall(picture.read_text(encoding="utf-8"))[0]
    return (
        f"A turn of the loop takes {turn} cycles. Lesson 02's `{kernel}`, {problem}, one block on each SM, "
        f"recorded on an {gpu}, {date}."
    )


def gain(record: dict, measured: Sequence[figures.Row]) -> str:
    """The README's kernels, from the first to the last, with a bar for the speed of each."""
    shown = figures.steps(measured)
    first, last = shown[0][0], shown[-1][0]
    most = max(row.entry["tflops"] for row, _ in shown)
    lines = ["| lesson | what is new | TFLOP/s | of cuBLAS |", "|---|---|---|--:|"]
    for row, what in shown:
        bar = f'<span class="bar" style="--part:{row.entry["tflops"] / most:.3f}"></span>'
        lines.append(f"| {row.lesson} | {what}: `{row.kernel}` | {bar}{row.tflops} | {row.share} |")
    origin, shape = record["provenance"], " x ".join(map(str, figures.SHAPE))
    note = (
        f"{shape}, measured on an {origin['gpu']}, {origin['date']}; float32 up to lesson 03, then float16 on tensor "
        "cores; cuBLAS of the same type, layout and run."
    )
    return "\n".join([f"## The steps: {first.tflops} to {last.tflops} TFLOP/s", "", *lines, "", note])


def best(measured: Sequence[figures.Row]) -> dict[str, figures.Row]:
    """Lesson -> its kernel with the largest share of cuBLAS."""
    by_share = sorted(measured, key=lambda row: row.entry["tflops"] / row.entry["peer_tflops"])
    return {row.lesson: row for row in by_share if row.lesson}


def _lessons(lessons: Sequence[Outcome], best_of: Mapping[str, figures.Row]) -> str:
    """A row each: its picture, its name and what it builds, its time, how near it comes to cuBLAS."""
    built = dict(_LESSON.findall((figures.ROOT / "README.md").read_text(encoding="utf-8")))
    lines = ["| pipeline | lesson | time | of cuBLAS |", "|---|---|---|--:|"]
    for each in lessons:
        failed = ' <strong class="failed">✗ failed</strong>' if each.failures else ""
        words = f"<br>{built[each.name]}" if each.name in built else ""
        title = f"[{_plain(each.title)}](notebooks/{each.name}.ipynb){failed}{words}"
        row = best_of.get(each.name[:2])
        share = f"{row.share}<br> `{row.kernel}`" if row else ""
        time = duration(sources.NOTEBOOKS / f"{each.name}.ipynb")
        lines.append(f"| {glyph(each.name[:2])} | {title} | {time} | {share} |")
    return "\n".join(lines)


def duration(path: Path) -> str:
    """How long a lesson takes, in words; "" for a file that is no lesson of the course."""
    if not path.is_file():
        return ""
    all_parts = sittings.sittings(path)
    needed = [part.promise for part in all_parts if part.title.startswith("Sitting")]
    more = sum(part.promise for part in all_parts if not part.title.startswith("Sitting"))
    return f"{sum(needed)} minutes, {len(needed)} sitting{'s' * (len(needed) != 1)}" + (
        f"<br>optional: {more} minutes" if more else ""
    )


def _plain(text: str) -> str:
    """A text that Markdown and a table leave as it is."""
    return re.sub(r"([\\`*_{}\[\]<>|&#$])", r"\\\1", text)
