"""The first page: what one learns, the lessons with their durations, and how they ran."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from course_lib.lessons import sources
from tools.author import sittings
from tools.book import moving

if TYPE_CHECKING:
    from tools.learner.course import Outcome

_PROMISE = re.compile(r"^\*\*Promise\.\*\* (.+?)(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)
TEXT = Path(__file__).with_name("front.md")


def front_page(outcomes: Sequence[Outcome], machine: str) -> str:
    """The Markdown of the first page. `machine` is what ran the kernels, as course_lib.device calls it."""
    of_lessons = [outcome for outcome in outcomes if "/" not in outcome.name]
    failed = [f"* {_plain(o.title)}: {_plain(why)}" for o in outcomes for why in o.failures]
    return Template(TEXT.read_text(encoding="utf-8")).substitute(
        picture=moving.picture(),
        table="\n".join(["| lesson | time | checks |", "|---|---|--:|", *map(_row, of_lessons)]),
        ran=f"They are shown as they ran on this machine (kernels: {machine}).",
        failed="\n".join(["**Not everything went well:**\n", *failed]) if failed else "",
    )


def _row(outcome: Outcome) -> str:
    promise = next((_PROMISE.search(cell.source) for cell in outcome.notebook.cells[:1]), None)
    title = f"[{_plain(outcome.title)}](notebooks/{outcome.name}.ipynb)"
    words = f"<br>{' '.join(promise[1].split())}" if promise else ""
    return f"| {title}{words} | {duration(sources.NOTEBOOKS / f'{outcome.name}.ipynb')} | {outcome.checks} passed |"


def duration(path: Path) -> str:
    """How long a lesson takes, in words; "" for a file that is no lesson of the course."""
    if not path.is_file():
        return ""
    all_parts = sittings.sittings(path)
    needed = [part.promise for part in all_parts if part.title.startswith("Sitting")]
    more = sum(part.promise for part in all_parts if not part.title.startswith("Sitting"))
    return f"{len(needed)} sittings, {_time(sum(needed))}" + (f"<br>optional: {_time(more)}" if more else "")


def _time(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    return " ".join([f"{hours} h"] * bool(hours) + [f"{rest} min"] * bool(rest or not hours))


def _plain(text: str) -> str:
    """A text that Markdown and a table leave as it is."""
    return re.sub(r"([\\`*_{}\[\]<>|&#$])", r"\\\1", text)
