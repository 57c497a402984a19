"""Findings and errors with the file and the line that an editor jumps to: `src/bad.cu:12`."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from ..compiler.nvrtc import find_header
from ..front.report import Report, header_of
from ..ptx.program import MAIN_FILE
from ..races.hazards import Hazard

_AT_START = re.compile(r"^([^\s()]+)\((\d+)\)(?=: )", re.M)
_TYPED = (
    (r"give a larger max_steps=\.\.\.", "give a larger --max-steps"),
    (r"in ptxsim launch\(\.\.\., cooperative=True\)", "give --cooperative"),
    (r"max_steps=([\d,]+) allows", r"--max-steps \1 allows"),
    (r"the launch gave none: shared_mem=\.\.\., in bytes", "give some: --shared BYTES"),
    (r" as an option of the compiler: -Ifolder", ": --option=-Ifolder"),
    (r"give the launch shared_mem=\.\.\., in bytes", "give the launch --shared BYTES"),
)
"""What the library says, and what is typed here."""
_WITHIN = re.compile(r"\bat line (\d+)(?: of (\S+))?")


def lines(file: str, report: Report) -> list[str]:
    """The report: of each hazard the place and what is wrong, and below it the lines of the source."""
    if report.ok:
        return [f"{file}: {report}"]
    found = [
        line
        for hazard in report.hazards
        for line in (_line(file, report, hazard), *reversed(report.quote(hazard)))
    ]
    return [
        *found,
        *["The launch stopped there."] * report.stopped,
        *(f"note: {note}" for note in report.notes),
    ]


def in_options(message: str) -> str:
    """A message of the library in the words of the command line."""
    for words, typed in _TYPED:
        message = re.sub(words, typed, message)
    return message


def of_compiler(message: str, file: str, options: Sequence[str]) -> str:
    """The compiler's message with `bad.cu:12` for its `kernel.cu(12)`, and so for headers."""

    def place(name: str | None, line: str) -> str:
        return f"{_path(name or MAIN_FILE, file, options)}:{line}"

    message = _AT_START.sub(lambda found: place(found[1], found[2]), message)
    return _WITHIN.sub(lambda found: f"at {place(found[2], found[1])}", message)


def _path(name: str, file: str, options: Sequence[str]) -> str:
    if name == MAIN_FILE:
        return file
    return _near(find_header(name, options)) or name


def _near(path: Path | None) -> str:
    """As one would type it here: relative where it lies below this folder."""
    if path is None:
        return ""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def _line(file: str, report: Report, hazard: Hazard) -> str:
    place = f"{file}:{hazard.call_line or hazard.line}" if hazard.line else _in_header(report, hazard) or file
    called = f" (in the function at line {hazard.line}, called here)" if hazard.call_line else ""
    return f"{place}: {hazard.kind}{called}{hazard.first_of}: {in_options(hazard.message)}"


def _in_header(report: Report, hazard: Hazard) -> str:
    name, _, line = (hazard.header or "").rpartition(":")
    return f"{_near(header_of(report.kernel, name)) or name}:{line}" if name else ""
