"""Draw the README's picture and print its table, both from the record: `python tools/figures.py`.

Writes assets/timeline_01.svg, and the table of lesson 01's steps into README.md between two marks. A label of
a benchmark that begins with a number ("3 16-byte copy") is a step of the lesson.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from course_lib import style
from course_lib.backend import records
from course_lib.timeline import LOOKS, timeline_of

ROOT = Path(__file__).resolve().parent.parent
KERNEL = "mainloop"  # whose timeline the README shows
MARKS = ("<!-- measured: begin -->", "<!-- measured: end -->")


def main() -> int:
    if not records.files():
        print("There is no record in assets/measurements/ to draw from: run `make record` on a GPU machine.")
        return 1
    record = json.loads(records.files()[0].read_text(encoding="utf-8"))
    for entry in record["timelines"].values():
        if entry["kernel"] == KERNEL:
            seen = {phase for _, phase, *_ in entry["events"]}
            phases = tuple(phase for phase in LOOKS if phase in seen)
            of_gpu = {"gpu": record["provenance"]["gpu"], **entry}
            figure, alt = timeline_of(of_gpu, phases, "recorded").figure()
            style.save_svg(figure, ROOT / "assets" / "timeline_01.svg", alt)
            print(f"assets/timeline_01.svg: {alt}")
    table = steps_table(record)
    readme = ROOT / "README.md"
    readme.write_text(between_marks(readme.read_text(encoding="utf-8"), table), encoding="utf-8")
    print(table)
    return 0


def steps_table(record: dict) -> str:
    """The steps and cuBLAS as a table in Markdown, with what was measured, on what and when."""
    steps = [entry for entry in record["speeds"].values() if re.match(r"\d", entry["label"])]
    steps.sort(key=lambda entry: (int(re.match(r"\d+", entry["label"])[0]), entry["tflops"]))
    problems = {(tuple(entry["shape"]), entry["dtype"], entry["layout"]) for entry in steps}
    if len(problems) != 1:
        raise ValueError(
            f"the steps must all be measured on one problem; the record has {problems or 'none'}"
        )
    ((shape, dtype, layout),) = problems
    cublas = [
        entry
        for entry in record["speeds"].values()
        if entry["label"] == "cuBLAS" and tuple(entry["shape"]) == shape and entry["dtype"] == dtype
    ]
    lines = ["| kernel | TFLOP/s | share of cuBLAS | registers |", "|---|--:|--:|--:|"]
    for entry in steps + cublas:
        share, registers = entry["tflops"] / entry["cublas_tflops"], entry.get("registers", "")
        lines.append(f"| {entry['label']} | {entry['tflops']:.1f} | {share:.0%} | {registers} |")
    origin, clocks = record["provenance"], [entry["sm_clock_mhz"] for entry in steps]
    note = (
        f"`C = A @ B.T`, {' x '.join(map(str, shape))}, {dtype}, {layout}: "
        f"median of {steps[0]['repeats']} launches, warm L2 cache. {origin['gpu']}, "
        f"SM clock {min(clocks)} to {max(clocks)} MHz, driver {origin['driver']}, NVRTC {origin['nvrtc']}, "
        f"{origin['date']}."
    )
    return "\n".join([*lines, "", note])


def between_marks(text: str, table: str) -> str:
    """The text with the table between the two marks."""
    begin, end = MARKS
    if begin not in text or end not in text:
        raise ValueError(f"README.md needs the two lines {begin} and {end} where the table shall stand")
    return text[: text.index(begin)] + f"{begin}\n{table}\n" + text[text.index(end) :]


if __name__ == "__main__":
    sys.exit(main())
