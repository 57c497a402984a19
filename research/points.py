"""Points that a recorder measured, on file: the GPU, the day, and a line for each point."""

import json
import os
from collections.abc import Iterable
from pathlib import Path

from cupy_or_sim import timing


def freeze(file: Path, points: Iterable[dict]) -> None:
    """Into the folder that the environment variable OUT names, else to where the file stands."""
    rows = ",\n".join(f"  {json.dumps(each)}" for each in points)
    about = f' "gpu": {json.dumps(timing.name())},\n "date": {json.dumps(timing.today())},\n'
    target = Path(os.environ.get("OUT", file.parent)) / file.name
    target.write_text(f'{{\n{about} "points": [\n{rows}\n ]\n}}\n', encoding="utf-8")
