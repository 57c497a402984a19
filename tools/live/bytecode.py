"""The course's modules compiled beforehand: a page would spend a second on it each time it is opened.

Bytecode fits one version of Python, so Pyodide's own compiles, under Node. Without Node the sources stay.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).with_suffix(".mjs")
SECONDS = 300


class BytecodeError(RuntimeError):
    """Node is there and failed; the message is what it said."""


def compile_in_place(folder: Path, pyodide: Path) -> bool:
    """Replace every .py in the folder by its .pyc; False where there is no Node."""
    node = shutil.which("node")
    if node is None:
        return False
    command = [node, "--no-warnings", str(SCRIPT), str(pyodide), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        raise BytecodeError(done.stderr[-2000:])
    return True
