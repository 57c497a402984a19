"""Modules compiled beforehand: a page would spend seconds on it each time it is opened.

Bytecode fits one version of Python, so Pyodide's own compiles, under Node. Without Node the sources stay.
"""

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

SCRIPT = Path(__file__).with_suffix(".mjs")
SECONDS = 300


class BytecodeError(RuntimeError):
    """Node is there and failed; the message is what it said."""


@dataclass(frozen=True)
class Place:
    """Where the modules of a folder lie in the page, which tracebacks name; and which of them keep their docstrings,
    by the beginnings of their names: "" is all."""

    place: str
    docstrings: tuple[str, ...] = ("",)


def node() -> str | None:
    """The program, where it is installed."""
    return shutil.which("node")


THE_COURSE = {"": Place("/course")}
"""Of a folder that is one place."""


def compile_in_place(folder: Path, pyodide: Path, places: Mapping[str, Place] = THE_COURSE) -> bool:
    """Replace every .py in the folder by its .pyc; False where there is no Node. `places`: of each folder in it."""
    if (program := node()) is None:
        return False
    told = json.dumps({name: asdict(place) for name, place in places.items()})
    command = [program, "--no-warnings", str(SCRIPT), str(pyodide), str(folder), told]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        raise BytecodeError(done.stderr[-2000:])
    return True
