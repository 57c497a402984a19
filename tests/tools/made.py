"""Notebooks and processes that tests of tools make."""

import subprocess
import sys
from pathlib import Path

import nbformat

from tests.rules import ROOT


def write_notebook(path: Path, *cells: str | tuple[str, str]) -> None:
    """A notebook of code cells; a tuple is a cell and its tag."""
    pairs = [cell if isinstance(cell, tuple) else (cell, "") for cell in cells]
    made = [
        nbformat.v4.new_code_cell(source, metadata={"tags": [tag] if tag else []}) for source, tag in pairs
    ]
    heading = nbformat.v4.new_markdown_cell("# A & B")
    nbformat.write(nbformat.v4.new_notebook(cells=[heading, *made]), path)


def started(code: str, *arguments: object) -> subprocess.Popen:
    """A Python of its own in this folder that runs the code."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
