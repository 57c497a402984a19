"""What was found in a graded notebook: for each exercise its points and, in a line, the reason."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

CLAIM = re.compile(r"\b(\d\d\.\d+) passed\b")
LONGEST = 100
"""Letters of a reason."""


@dataclass(frozen=True)
class Found:
    """Of one exercise."""

    exercise: str
    points: float
    most: float
    reason: str


def found(graded: Path, submitted: Path) -> list[Found]:
    """What the cells with points of a graded notebook say, in their order. `submitted`: the same as it came, whose
    outputs may claim something else."""
    claimed = set(CLAIM.findall(submitted.read_text(encoding="utf-8", errors="replace")))
    cells = json.loads(graded.read_text(encoding="utf-8"))["cells"]
    return [_found(cell, claimed) for cell in cells if cell["metadata"].get("nbgrader", {}).get("grade")]


def _found(cell: dict, claimed: set[str]) -> Found:
    mark = cell["metadata"]["nbgrader"]
    exercise = mark["grade_id"].removeprefix("check-").replace("-", ".", 1)
    said = next(filter(None, map(_text, cell["outputs"])), "no answer came")
    reason = " ".join(said.removeprefix(exercise).split())
    shorter = reason if len(reason) <= LONGEST else reason[: LONGEST - 3] + "..."
    points = _points(cell["outputs"])
    if not points and exercise in claimed:
        shorter += " (the file that came says passed)"
    return Found(exercise, points, float(mark["points"]), shorter)


def _text(output: dict) -> str:
    text = output.get("text") or output.get("evalue") or ""
    return "".join(text).strip()


def _points(outputs: list[dict]) -> float:
    """What the last line of a check gives, as nbgrader reads it: nothing beside an error."""
    if any(output["output_type"] == "error" or output.get("name") == "stderr" for output in outputs):
        return 0.0
    for output in outputs:
        shown = "".join(output.get("data", {}).get("text/plain", ""))
        if output["output_type"] == "execute_result" and re.fullmatch(r"\d+(\.\d+)?", shown):
            return float(shown)
    return 0.0
