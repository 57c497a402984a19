"""Draw the README's pictures, and write what the kernels were measured at: `python -m tools.author.figures`.

Writes recorded timelines and the lessons' drawings into assets/; the speeds of all kernels that were measured at
4096 x 4096 x 4096 into docs/measurements.md, and a few of them into README.md.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, cast
from unittest import mock

from course_lib import draw
from course_lib.lessons import sources
from course_lib.measure import records
from course_lib.timelines import timeline_chart
from course_lib.timelines.events import PHASES, Entry
from course_lib.timelines.timeline import timeline_of
from cupy_or_sim import keys, style
from cupy_or_sim.timing import CUBLAS
from tools.author import marked

ROOT = Path(__file__).resolve().parents[2]
PICTURES = {"one_buffer": "timeline_in_turn.svg", "specialised": "timeline_overlapped.svg"}
"""Kernels of lesson 02 whose timelines the README shows."""
COMPARED = {"attention.svg": ("side_by_side", "ahead")}
"""Kernels of lesson 10, whose timelines README and book show on one scale, at ATTENTION."""
ATTENTION = [64, 4096, 4096]
FIGURE = "figure:"
"""Cells with the tag `figure:name` draw assets/name.svg: in their order, in one lesson; the last one shows it."""
SHAPE = [4096, 4096, 4096]
STEPS = {
    ("01", "naive"): "a thread computes one number of C",
    ("01", "register_tile"): "tiles in shared memory, 4 x 4 numbers a thread",
    ("01", "mainloop"): "8 x 8 numbers a thread, all unrolled",
    ("03", "fp32_best"): "three buffers, fragments one step ahead",
    ("04", "one_stage"): "tensor cores, float16",
    ("05", "three_stage"): "a ring of three buffers",
    ("07", "ring"): "an H100's copy engine and `wgmma`",
    ("08", "complete"): "clusters, and stores behind the math",
}
"""(lesson, kernel) -> what is new in it: the rows of the README."""


class Row(NamedTuple):
    """A kernel and what was measured of it. cuBLAS has no lesson."""

    lesson: str
    kernel: str
    entry: dict

    @property
    def tflops(self) -> str:
        return f"{self.entry['tflops']:.1f}"

    @property
    def share(self) -> str:
        """Of cuBLAS in the same run."""
        return f"{self.entry['tflops'] / self.entry['peer_tflops']:.0%}"

    @property
    def sustained(self) -> str:
        """TFLOP/s over two seconds; "" for float32, where power limits nothing."""
        return f"{self.entry['sustained']:.0f}" if "sustained" in self.entry else ""


def main() -> int:
    if not records.files():
        print("There is no record in assets/measurements/ to draw from: run `make record` on a GPU machine.")
        return 1
    record = json.loads(records.files()[0].read_text(encoding="utf-8"))
    for file, entry in recorded_timelines().items():
        figure, alt = timeline_of(entry, PHASES, "recorded").figure()
        style.save_svg(figure, ROOT / "assets" / file, alt)
        print(f"{file}: {alt}")
    for name, (figure, alt) in {**compared(), **drawings()}.items():
        style.save_svg(figure, ROOT / "assets" / name, alt)
        print(f"{name}: {alt}")
    shown = measured(record)
    marked.write(ROOT / "docs" / "measurements.md", "measured", full_table(record, shown))
    marked.write(ROOT / "README.md", "measured", short_table(record, shown))
    print(full_table(record, shown))
    return 0


def recorded_timelines() -> dict[str, Entry]:
    """File -> the entry of its timeline at SHAPE, of the first GPU that has one."""
    found: dict = {}
    for path in reversed(records.files()):
        record = json.loads(path.read_text(encoding="utf-8"))
        for entry in sorted(record.get("timelines", {}).values(), key=lambda entry: entry["shared_mem"]):
            # Of several launches the last one: with a block alone on its SM.
            if entry["shape"] == SHAPE and (file := PICTURES.get(entry["kernel"])):
                found[file] = {"gpu": record["provenance"]["gpu"], **entry}
    return found


def compared() -> dict[str, tuple]:
    """File -> (figure, description in words) of two timelines of one record."""
    found: dict = {}
    for path in reversed(records.files()):
        record = json.loads(path.read_text(encoding="utf-8"))
        gpu = record["provenance"]["gpu"]
        entries = {
            each["kernel"]: cast(Entry, {"gpu": gpu, **each})
            for each in record["timelines"].values()
            if each["shape"] == ATTENTION
        }
        for file, kernels in COMPARED.items():
            if entries.keys() >= set(kernels):
                timelines = [timeline_of(entries[name], PHASES, "recorded") for name in kernels]
                found[file] = timeline_chart.comparison(timelines, "steady")
    return found


def drawings() -> dict[str, tuple]:
    """File -> (figure, description in words) of the pipelines, drawn by the lessons' own cells."""
    cells: dict[str, list[str]] = {}
    for path in sources.with_kernels(sources.NOTEBOOKS):
        for cell in sources.cells_of(path):
            for tag in cell["metadata"].get("tags", ()):
                if tag.startswith(FIGURE):
                    cells.setdefault(tag.removeprefix(FIGURE) + ".svg", []).append("".join(cell["source"]))
    found = {}
    for file, texts in cells.items():
        names: dict[str, object] = {"draw": draw}
        with (
            mock.patch.object(draw, "show", lambda *shown: found.update({file: shown})),  # noqa: B023
            mock.patch.object(style, "show", lambda *shown: found.update({file: shown})),  # noqa: B023
        ):
            for source in texts:
                exec(source, names)
    return found


def measured(record: dict) -> list[Row]:
    """The lessons' kernels that are in the record at SHAPE, and behind them cuBLAS.

    Raises ValueError where it has none of them.
    """
    speeds = [entry for entry in record["speeds"].values() if entry["shape"] == SHAPE and "data" not in entry]
    shown = []
    for notebook in (path.stem for path in sources.with_kernels(sources.NOTEBOOKS)):
        for name, source in sources.kernels(notebook).items():
            key = keys.source_key(name, source)
            if found := [
                each for each in speeds if each.get("source") == key and _own_launch(notebook, name, each)
            ]:
                shown.append(Row(notebook[:2], name, max(found, key=lambda entry: entry["tflops"])))
    if not shown:
        raise ValueError(f"the record has none of the lessons' kernels at {SHAPE}: run `make record`")
    return shown + [
        Row("", f"cuBLAS, {entry['dtype']}", entry) for entry in speeds if entry["label"] == CUBLAS
    ]


def full_table(record: dict, shown: list[Row]) -> str:
    """All of them in Markdown, and what was measured, on what and when."""
    lines = [
        "| lesson | kernel | TFLOP/s | cuBLAS in the same run | share | sustained TFLOP/s |",
        "|---|---|--:|--:|--:|--:|",
        *map(_line, shown),
    ]
    origin = record["provenance"]
    note = (
        f"`C = A @ B.T`, {' x '.join(map(str, SHAPE))}; 01 to 03 float32, contiguous along M and N; from 04 on "
        "float16 with float32 sums, contiguous along K; cuBLAS of the same type and layout. "
        f"Median of {shown[0].entry['repeats']} launches, warm L2 cache; sustained: over two seconds, in "
        f"which the chip's power limit lowers the clock of tensor-core kernels. {origin['gpu']}, "
        f"SM clock {origin['max_sm_clock_mhz']} MHz at most, driver {origin['driver']}, NVRTC {origin['nvrtc']}, "
        f"{_dates(shown)}."
    )
    return "\n".join([*lines, "", note])


def _dates(shown: list[Row]) -> str:
    """The date of these measurements, or the first and the last, as ISO 8601 writes an interval."""
    dates = [row.entry["date"] for row in shown]
    return "/".join(dict.fromkeys((min(dates), max(dates))))


def steps(shown: Iterable[Row]) -> list[tuple[Row, str]]:
    """Those of STEPS, in their order, with what is new in each."""
    return [(row, what) for row in shown if (what := STEPS.get((row.lesson, row.kernel)))]


def short_table(record: dict, shown: list[Row]) -> str:
    """Those of STEPS in Markdown, with what is new in each; and cuBLAS where it ran beside some of them."""
    lines = [
        "| lesson | kernel | what is new | TFLOP/s | share of cuBLAS | sustained TFLOP/s |",
        "|---|---|---|--:|--:|--:|",
    ]
    kernels = steps(shown)
    for row, what in kernels:
        lines.append(
            f"| {row.lesson} | `{row.kernel}` | {what} | {row.tflops} | {row.share} | {row.sustained} |"
        )
    for row in shown:
        beside = [f"`{each.kernel}`" for each, _ in kernels if _one_run(each, row)]
        if beside and not row.lesson and row.sustained:
            what = f"beside {' and '.join(beside)}"
            lines.append(f"| | {row.kernel} | {what} | {row.tflops} | {row.share} | {row.sustained} |")
    origin, of_lessons = record["provenance"], [row for row in shown if row.lesson]
    note = (
        f"{' x '.join(map(str, SHAPE))}, {origin['gpu']}, {_dates(shown)}; float32 up to lesson 03, then "
        "float16; cuBLAS of the same type, layout and run. TFLOP/s of a burst of launches; *sustained*, over two "
        "seconds, the chip's power limit lowers the clock of tensor-core kernels. "
        f"[All {len(of_lessons)} kernels](docs/measurements.md)."
    )
    return "\n".join([*lines, "", note])


def _one_run(one: Row, other: Row) -> bool:
    return all(one.entry[part] == other.entry[part] for part in ("peer_tflops", "date", "dtype"))


def _own_launch(notebook: str, name: str, entry: dict) -> bool:
    """Whether it is of the launch that stands under the kernel: a lesson measures some kernels with others, too."""
    own = {"blocks": None, **sources.kernel_launch(notebook, name).record()}
    return all(entry.get(part) == value for part, value in own.items())


def _line(row: Row) -> str:
    kernel = f"`{row.kernel}`" if row.lesson else row.kernel
    beside = f"{row.entry['peer_tflops']:.1f}" if row.lesson else ""
    return f"| {row.lesson} | {kernel} | {row.tflops} | {beside} | {row.share} | {row.sustained} |"


if __name__ == "__main__":
    sys.exit(main())
