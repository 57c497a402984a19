"""A whole CUDA program, its kernels in the simulator: run here where nvcc and g++ are, a recorded run elsewhere.

A run is kept as what the compiler makes is, under the program's text (ptxsim/compiler/cache.py); `make outputs` writes
those of a lesson into its zip.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ptxsim.compiler import cache

if TYPE_CHECKING:
    from ptxsim.program import ProgramReport
    from ptxsim.program.orders import Piece

NONE_HERE = "COURSE_NO_PROGRAMS"
"""Environment variable: no program is run, since nobody knows who wrote it (tools/classroom/judge.py)."""
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
    """`printed`: what the program wrote. `report`: what `ptxsim run` says of it, but for the seconds. `kinds`,
    `lines`, `found`: of each finding its kind, the line of the program that it names first, and what it says.
    `beside`: of each launch, how many copies to the device nothing orders with it. `alone`: of each launch that has
    none of these a word why, or "" where none fits. `memory`: the most bytes of the device that it had at a time.
    `returned`: its exit status."""

    printed: str
    report: str
    kinds: list[str]
    lines: list[int]
    found: list[str]
    beside: list[int]
    memory: int
    returned: int
    alone: list[str] = field(default_factory=list)

    @property
    def findings(self) -> int:
        return len(self.kinds)

    def __repr__(self) -> str:
        return f"{self.printed}{self.report}"


def run_program(
    source: str, name: str, options: tuple[str, ...] = (), args: tuple[str, ...] = (), at_once: bool = False
) -> ProgramRun:
    """Build a program of one file, which is called `name`, and run it as `ptxsim run` does. `options`: as a kernel of
    the course takes them, OPTIONS or HOPPER. `args`: its own arguments. `at_once`: its host sees what streams wrote
    without a wait.

    Raises NotRunHere where it cannot be built and no run of it is on file, and BuildError where it does not compile.
    """
    key = cache.key_of("program at once" if at_once else "program", source, (name, *args), options)
    return ProgramRun(**json.loads(cache.made_here(key, partial(_run, source, name, options, args, at_once))))


def _run(source: str, name: str, options: tuple[str, ...], args: tuple[str, ...], at_once: bool) -> str:
    if os.environ.get(NONE_HERE):
        raise NotRunHere("who grades runs no program of a learner")
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
                report = program.run(
                    file, args=args, options=typed, arch=arch, at_once=at_once, stdout=written
                )
        except program.NoCompiler as missing:
            raise NotRunHere(str(missing)) from None
        except program.BuildError as said:
            raise program.BuildError(_named(str(said), folder)) from None
        return _told(report, out.read_text(encoding="utf-8"), folder)


def _told(report: ProgramReport, printed: str, folder: str) -> str:
    """What is kept of a run: nothing of this machine, and no time."""
    findings = [
        *(
            (each.hazard.kind, each.place, f"{each.hazard.kind}: {each.hazard.message}")
            for each in report.hazards
        ),
        *(("stream-conflict", each.at, each.message) for each in report.conflicts),
        *((each.error, each.at, f"{each.call} gives {each.error}: {each.why}") for each in report.refused),
    ]
    beside, alone = _beside(report)
    text = "\n".join([*report.lines(), f"{report.ran()}: {report.found()}"])
    kept = {
        "printed": printed,
        "report": "\n".join(map(_wrapped, _named(text, folder).splitlines())),
        "kinds": [kind for kind, *_ in findings],
        "lines": [int(place.rpartition(":")[2] or 0) for _, place, _ in findings],
        "found": [_named(said, folder) for *_, said in findings],
        "beside": beside,
        "alone": alone,
        "memory": report.memory,
        "returned": report.returned,
    }
    return json.dumps(kept, indent=1)


def _beside(report: ProgramReport) -> tuple[list[int], list[str]]:
    """Of each launch how many copies to the device nothing orders with it; and why there is none."""
    from ptxsim.program.orders import LAUNCH, TO_DEVICE

    launches, copies = (
        [piece for piece in report.work if piece.kind == kind] for kind in (LAUNCH, TO_DEVICE)
    )
    beside = [
        sum(not (launch.is_behind(copy) or copy.is_behind(launch)) for copy in copies) for launch in launches
    ]
    following = copies[1:] if len(copies) == len(launches) else []
    why = [_why_alone(*pair) for pair in zip(launches, following, strict=False)]
    why += ["" if copies else "no-copy"] * (len(launches) - len(why))
    return beside, ["" if some else reason for some, reason in zip(beside, why, strict=True)]


def _why_alone(launch: Piece, following: Piece) -> str:
    """What orders a launch and the copy of the one that follows."""
    from ptxsim.program.orders import DEFAULT

    if following.stream == launch.stream or DEFAULT in (following.stream, launch.stream):
        return "one-stream"
    if launch.is_behind(following):
        return "kernel-waits"
    return "host-waits" if following.waited_in_host(launch) else "copy-waits"


def _named(text: str, folder: str) -> str:
    """With the program's name in place of its path."""
    return text.replace(f"{folder}/", "")


def _wrapped(line: str) -> str:
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.fill(line, WIDTH, subsequent_indent=indent, break_on_hyphens=False)
