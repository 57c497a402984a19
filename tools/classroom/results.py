"""What was found in a graded notebook: for each exercise its points and, in a line, the reason."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

LONGEST = 100
"""Letters of a reason."""


@dataclass(frozen=True)
class Found:
    """Of one exercise."""

    exercise: str
    points: float
    most: float
    reason: str


def found(path: Path) -> list[Found]:
    """What the cells with points of a graded notebook say, in their order."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [_found(cell) for cell in cells if cell["metadata"].get("nbgrader", {}).get("grade")]


def _found(cell: dict) -> Found:
    mark = cell["metadata"]["nbgrader"]
    exercise = mark["grade_id"].removeprefix("check-").replace("-", ".", 1)
    said = next(filter(None, map(_text, cell["outputs"])), "no answer came")
    reason = " ".join(said.removeprefix(exercise).split())
    shorter = reason if len(reason) <= LONGEST else reason[: LONGEST - 3] + "..."
    return Found(exercise, _points(cell["outputs"]), float(mark["points"]), shorter)


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
