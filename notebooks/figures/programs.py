"""A whole CUDA program, its kernels in the simulator: run here where nvcc and g++ are, a recorded run elsewhere.

A run is kept as what the compiler makes is, under the program's text (ptxsim/compiler/cache.py); `make outputs` writes
those of a lesson into its zip.
"""

from __future__ import annotations

import json
import sys
import textwrap
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ptxsim.compiler import cache

if TYPE_CHECKING:
    from ptxsim.program import ProgramReport

WIDTH = 110
"""Characters of a printed line."""
ARCH = "-arch=sm_"


class NotRunHere(cache.ToolMissing):
    """Nothing here builds the program, and no run of this text is on file."""

    def __init__(self, why: str) -> None:
        RuntimeError.__init__(
            self,
            f"no run of this text is on file, and here it cannot run: {why}. The lesson's own texts show their "
            "recorded runs; an edited one needs Linux, g++ and nvcc (ptxsim/docs/programs.md).",
        )


@dataclass(frozen=True)
class ProgramRun:
    """`printed`: what the program wrote. `report`: what `ptxsim run` says of it, but for the seconds. `kinds` and
    `lines`: of each finding its kind, and the line of the program that it names first."""

    printed: str
    report: str
    kinds: list[str]
    lines: list[int]

    @property
    def findings(self) -> int:
        return len(self.kinds)

    def __repr__(self) -> str:
        return f"{self.printed}{self.report}"


def run_program(source: str, name: str, options: tuple[str, ...] = ()) -> ProgramRun:
    """Build a program of one file, which is called `name`, and run it as `ptxsim run` does. `options`: as a kernel of
    the course takes them, OPTIONS or HOPPER.

    Raises NotRunHere where it cannot be built and no run of it is on file, and BuildError where it does not compile.
    """
    key = cache.key_of("program", source, (name,), options)
    return ProgramRun(**json.loads(cache.made_here(key, partial(_run, source, name, options))))


def _run(source: str, name: str, options: tuple[str, ...]) -> str:
    if sys.platform != "linux":
        raise NotRunHere("this is no Linux")
    from ptxsim import program

    typed = [each for each in options if each[:2] in ("-I", "-D")]
    arch = next((each.removeprefix(ARCH) for each in options if each.startswith(ARCH)), "90")
    with TemporaryDirectory() as folder:
        file, out = Path(folder, name), Path(folder, "printed")
        file.write_text(source, encoding="utf-8")
        try:
            with open(out, "w", encoding="utf-8") as written:
                report = program.run(file, options=typed, arch=arch, stdout=written)
        except program.NoCompiler as missing:
            raise NotRunHere(str(missing)) from None
        except program.BuildError as said:
            raise program.BuildError(_named(str(said), folder)) from None
        return _told(report, out.read_text(encoding="utf-8"), folder)


def _told(report: ProgramReport, printed: str, folder: str) -> str:
    """What is kept of a run: nothing of this machine, and no time."""
    findings = [
        *((each.hazard.kind, each.place) for each in report.hazards),
        *(("stream-conflict", each.at) for each in report.conflicts),
        *((each.error, each.at) for each in report.refused),
    ]
    text = "\n".join([*report.lines(), f"{report.ran()}: {report.found()}"])
    kept = {
        "printed": printed,
        "report": "\n".join(map(_wrapped, _named(text, folder).splitlines())),
        "kinds": [kind for kind, _ in findings],
        "lines": [int(place.rpartition(":")[2] or 0) for _, place in findings],
    }
    return json.dumps(kept, indent=1)


def _named(text: str, folder: str) -> str:
    """With the program's name in place of its path."""
    return text.replace(f"{folder}/", "")


def _wrapped(line: str) -> str:
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.fill(line, WIDTH, subsequent_indent=indent, break_on_hyphens=False)
