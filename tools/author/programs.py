"""Whole programs of others as judges, built by nvcc and run by `ptxsim run`: those with planted faults, and those of
ptxsim/docs/public-programs.md. As in suites.py, {case: verdict}, or None where no checkout is there.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.golden import planted
from tests.rules import ROOT
from tools.author.suites import RIGHT, Verdicts

SECONDS = 240
"""For a program, as when the page was written."""
PAGE = ROOT / "ptxsim" / "docs" / "public-programs.md"
INCLUDE: dict[str, list[str]] = {
    "NVIDIA/cuda-samples": ["Common"],
    "NVIDIA/cutlass": ["include", "tools/util/include", "examples/common"],
    "NVIDIA/cccl": ["thrust", "cub", "libcudacxx/include"],
    "zjin-lcf/HeCBench": ["src/include"],
}
DEFINE = {"yuhc/gpu-rodinia": ["cudaThreadSynchronize=cudaDeviceSynchronize"]}


class Listed(NamedTuple):
    """A row of public-programs.md."""

    repository: str
    name: str
    folder: str
    arguments: str
    ran: bool
    findings: int


def listed() -> list[Listed]:
    """The programs of the page, and what became of them when it was written."""
    found, repository = [], ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        repository = line[3:] if line.startswith("## ") else repository
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 8 and cells[4] in ("yes", "no"):
            name, folder, arguments, _, ran, _, findings, _ = cells
            found.append(
                Listed(repository, name, folder, arguments.strip("`"), ran == "yes", int(findings or 0))
            )
    return found


def public_programs(folder: Path, into: Path) -> Verdicts | None:
    """Whole programs as they are: each runs to its end, or not, and has as many findings as the page says.

    Of 91 those whose repository is there. Needs nvcc and g++, and an hour.
    """
    there = [each for each in listed() if (folder / each.repository.replace("/", "+") / each.folder).is_dir()]
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda each: _program(folder, into, each), there))
    return dict(zip((each.name for each in there), said, strict=True)) or None


def _program(folder: Path, into: Path, program: Listed) -> str:
    checkout = folder / program.repository.replace("/", "+")
    here, report = checkout / program.folder, into / f"{program.name}.json"
    words = program.arguments.split()
    options, arguments = (words[:2], words[3:]) if words[:1] == ["--sms"] else ([], words)
    command = [
        *(sys.executable, "-m", "ptxsim", "run", *_files(here, program.name), "--limit", "60", "--json", str(report)),
        *(word for each in INCLUDE.get(program.repository, ()) for word in ("-I", str(checkout / each))),
        *(word for each in DEFINE.get(program.repository, ()) for word in ("-D", each)),
        *options, "--", *arguments,
    ]  # fmt: skip
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    try:
        subprocess.run(
            command, cwd=here, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, env=env
        )
    except subprocess.TimeoutExpired:
        return RIGHT if not program.ran else f"did not end in {SECONDS} s"
    if not report.exists():
        return RIGHT if not program.ran else "did not run"
    known = json.loads(report.read_text(encoding="utf-8"))
    findings = len(known["hazards"]) + len(known["conflicts"])
    if program.ran and known["stopped"]:
        return f"stopped: {known['stopped']}"
    return (
        RIGHT
        if findings == program.findings or not program.ran
        else f"{findings} findings, were {program.findings}"
    )


def _files(folder: Path, name: str) -> list[str]:
    """The program's own file, or all that no other includes; and beside it the host's."""
    own = [folder / f"{name}.cu"]
    if not own[0].is_file():
        every = sorted(folder.glob("*.cu"))
        texts = "".join(path.read_text(encoding="utf-8", errors="replace") for path in every)
        own = [path for path in every if f'"{path.name}"' not in texts]
    return [path.name for path in (*own, *sorted(folder.glob("*.cpp")))]


def planted_faults(folder: Path, into: Path) -> Verdicts | None:
    """Whole programs, each right and with one fault: `ptxsim run` reports what it reported when it was frozen.

    Of forty those whose repository is there. Needs nvcc and g++, and a quarter of an hour.
    """
    there = [fault for fault in planted.faults() if (folder / fault.checkout).is_dir()]
    if not there:
        return None
    planted.prepare(folder, into, there)
    runs = [(fault, version) for fault in there for version in planted.VERSIONS]
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda run: _planted(into, *run), runs))
    return {f"{fault.short}, {version}": each for (fault, version), each in zip(runs, said, strict=True)}


def _planted(folder: Path, fault: planted.Fault, version: str) -> str:
    now = set(planted.run(folder, fault, version)["reports"])
    before = set(planted.frozen()[fault.short][version]["ptxsim"]["reports"])
    return RIGHT if now == before else f"{sorted(now)}, was {sorted(before)}"
