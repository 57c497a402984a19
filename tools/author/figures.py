"""Draw the README's pictures and print its table: `python tools/author/figures.py`.

Writes two recorded timelines and three drawings of the lessons into assets/, and into README.md, between two marks,
the table of every lesson's kernels that were measured at 4096 x 4096 x 4096.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from unittest import mock

from course_lib import draw
from course_lib.draw import style
from course_lib.gpu.timing import CUBLAS
from course_lib.lessons import sources
from course_lib.measure import records
from course_lib.measure.events import PHASES
from course_lib.measure.timeline import timeline_of

ROOT = Path(__file__).resolve().parents[2]
PICTURES = {"one_buffer": "timeline_in_turn.svg", "specialised": "timeline_overlapped.svg"}
"""Kernels of lesson 02 whose timelines the README shows."""
FIGURE = "figure:"
"""Cells with the tag `figure:name` draw assets/name.svg: in their order, in one lesson; the last one shows it."""
SHAPE = [4096, 4096, 4096]
MARKS = ("<!-- measured: begin -->", "<!-- measured: end -->")


def main() -> int:
    if not records.files():
        print("There is no record in assets/measurements/ to draw from: run `make record` on a GPU machine.")
        return 1
    record = json.loads(records.files()[0].read_text(encoding="utf-8"))
    for file, entry in recorded_timelines().items():
        figure, alt = timeline_of(entry, PHASES, "recorded").figure()
        style.save_svg(figure, ROOT / "assets" / file, alt)
        print(f"{file}: {alt}")
    for name, (figure, alt) in drawings().items():
        style.save_svg(figure, ROOT / "assets" / name, alt)
        print(f"{name}: {alt}")
    table = steps_table(record)
    readme = ROOT / "README.md"
    readme.write_text(between_marks(readme.read_text(encoding="utf-8"), table), encoding="utf-8")
    print(table)
    return 0


def recorded_timelines() -> dict[str, dict]:
    """File -> the entry of its timeline, of the first GPU that has one."""
    found = {}
    for path in reversed(records.files()):
        record = json.loads(path.read_text(encoding="utf-8"))
        for entry in sorted(record.get("timelines", {}).values(), key=lambda entry: entry["shared_mem"]):
            if file := PICTURES.get(
                entry["kernel"]
            ):  # of several launches the one with a block alone on its SM
                found[file] = {"gpu": record["provenance"]["gpu"], **entry}
    return found


def drawings() -> dict[str, tuple]:
    """File -> (figure, description in words) of the pipelines, drawn by the lessons' own cells."""
    cells: dict[str, list[str]] = {}
    for path in sources.notebooks(sources.NOTEBOOKS):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for tag in cell["metadata"].get("tags", ()):
                if tag.startswith(FIGURE):
                    cells.setdefault(tag.removeprefix(FIGURE) + ".svg", []).append("".join(cell["source"]))
    found = {}
    for file, texts in cells.items():
        names: dict[str, object] = {}
        with mock.patch.object(draw, "show", lambda *shown: found.update({file: shown})):  # noqa: B023
            for source in texts:
                exec(source, names)
    return found


def steps_table(record: dict) -> str:
    """The lessons' kernels and cuBLAS as a table in Markdown, and what was measured, on what and when."""
    speeds = [entry for entry in record["speeds"].values() if entry["shape"] == SHAPE and "data" not in entry]
    lines = [
        "| lesson | kernel | TFLOP/s | share of cuBLAS | registers | sustained TFLOP/s |",
        "|---|---|--:|--:|--:|--:|",
    ]
    shown = []
    for notebook in (path.stem for path in sources.notebooks(sources.NOTEBOOKS)):
        for name, source in sources.kernels(notebook).items():
            key = records.source_key(name, source)
            if found := [
                each for each in speeds if each.get("source") == key and _own_launch(notebook, name, each)
            ]:
                shown.append(max(found, key=lambda entry: entry["tflops"]))
                lines.append(_line(notebook[:2], f"`{name}`", shown[-1]))
    if not shown:
        raise ValueError(f"the record has none of the lessons' kernels at {SHAPE}: run `make record`")
    shown += [entry for entry in speeds if entry["label"] == CUBLAS]
    lines += [_line("", f"cuBLAS, {entry['dtype']}", entry) for entry in shown if entry["label"] == CUBLAS]
    origin, clocks = record["provenance"], [entry["sm_clock_mhz"] for entry in shown]
    note = (
        f"`C = A @ B.T`, {' x '.join(map(str, SHAPE))}; 01 to 03 float32, contiguous along M and N; from 04 on "
        "float16 with float32 sums, contiguous along K; cuBLAS of the same type and layout in the same run. "
        f"Median of {shown[0]['repeats']} launches, warm L2 cache; sustained: over two seconds, in "
        f"which the chip's power limit lowers the clock of tensor-core kernels. {origin['gpu']}, "
        f"SM clock {min(clocks)} to {max(clocks)} MHz, driver {origin['driver']}, NVRTC {origin['nvrtc']}, "
        f"{origin['date']}."
    )
    return "\n".join([*lines, "", note])


def _own_launch(notebook: str, name: str, entry: dict) -> bool:
    """Whether it is of the launch that stands under the kernel: a lesson measures some kernels with others, too."""
    own = {"blocks": None, **sources.kernel_launch(notebook, name).record()}
    return all(entry.get(part) == value for part, value in own.items())


def _line(lesson: str, kernel: str, entry: dict) -> str:
    share, registers = entry["tflops"] / entry["cublas_tflops"], entry.get("registers", "")
    sustained = f"{entry['sustained']:.0f}" if "sustained" in entry else ""
    return f"| {lesson} | {kernel} | {entry['tflops']:.1f} | {share:.0%} | {registers} | {sustained} |"


def between_marks(text: str, table: str) -> str:
    """The text with the table between the two marks."""
    begin, end = MARKS
    if begin not in text or end not in text:
        raise ValueError(f"README.md needs the two lines {begin} and {end} where the table shall stand")
    return text[: text.index(begin)] + f"{begin}\n{table}\n" + text[text.index(end) :]


if __name__ == "__main__":
    sys.exit(main())
