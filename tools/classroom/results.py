"""What was found in a graded notebook: for each exercise its points and, in a line, the reason."""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from ptxsim import printable_line

CLAIM = re.compile(r"\b(\d\d\.\d+) passed\b")
UNKNOWN = "cannot be graded, "
"""So begins the reason where nobody knows what an answer is worth."""
GIVEN = "given"
"""In the metadata of a cell with points, who runs a submission writes what its check gave: a number, or None where
nobody knows. Of a test that a teacher wrote there is none; its outputs count, as nbgrader reads them."""
LONGEST = 100
"""Letters of a reason."""


@dataclass(frozen=True)
class Found:
    """Of one exercise."""

    exercise: str
    points: float | None
    """None: nobody knows, since the answer was lost, or the check stopped at it."""
    most: float
    reason: str
    claimed: bool = False
    """Whether the file says that it is right, and it is not."""


def found(graded: Path, submitted: Path, lost: Collection[str] = ()) -> list[Found]:
    """What the cells with points of a graded notebook say, in their order. `submitted`: the same as it came, whose
    outputs may claim something else. `lost`: exercises whose answers could not be read in it."""
    claimed = set(CLAIM.findall(submitted.read_text(encoding="utf-8", errors="replace")))
    cells = json.loads(graded.read_text(encoding="utf-8"))["cells"]
    checks = [cell for cell in cells if cell["metadata"].get("nbgrader", {}).get("grade")]
    return [_found(cell, claimed, lost) for cell in checks]


def _found(cell: dict, claimed: set[str], lost: Collection[str]) -> Found:
    mark = cell["metadata"]["nbgrader"]
    exercise = mark["grade_id"].removeprefix("check-").replace("-", ".", 1)
    said = next(filter(None, map(_text, cell["outputs"])), "no answer came")
    reason = printable_line(said.removeprefix(exercise))
    shorter = reason if len(reason) <= LONGEST else reason[: LONGEST - 3] + "..."
    most = float(mark["points"])
    points = cell["metadata"][GIVEN] if GIVEN in cell["metadata"] else _points(cell["outputs"])
    if exercise in lost:
        return Found(exercise, None, most, f"{UNKNOWN}the answer was lost")
    if points is None:
        return Found(exercise, None, most, shorter)
    if not points and exercise in claimed:
        return Found(exercise, points, most, f"{shorter} (the file that came says passed)", claimed=True)
    return Found(exercise, points, most, shorter)


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
