"""Public programs with a planted fault each (tests/golden/planted.toml): in `ptxsim run`, and what was found of them.

`python -m tools.author.planted` prints ptxsim/docs/planted.csv, and the table of its README. research/record_planted.py
runs them anew.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import monotonic

from tests.rules import ROOT

TABLE = ROOT / "tests" / "golden" / "planted.toml"
FROZEN = TABLE.with_name("planted_h100.json")
VERSIONS = "right", "wrong"
BESIDE = (".cu", ".cuh", ".h", ".hpp", ".cpp", ".txt")
"""Of a program's folder, what is copied."""


@dataclass(frozen=True)
class Fault:
    """A program and the edit that makes it wrong."""

    name: str
    kind: str
    repository: str
    folder: str
    files: tuple[str, ...]
    old: str
    new: str
    nth: int = 1
    sizes: tuple[tuple[str, str], ...] = ()
    include: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()

    @property
    def checkout(self) -> str:
        """The folder of its repository."""
        return self.repository.replace("/", "+")

    @property
    def short(self) -> str:
        """As a folder's name."""
        return re.sub(r"\W+", "-", self.name)

    def text(self, source: str, version: str) -> str:
        """The first file as it is compiled. Raises ValueError where an edit finds no place."""
        for old, new in self.sizes:
            source = _replaced(source, old, new, 1)
        return source if version == "right" else _replaced(source, self.old, self.new, self.nth)


def faults(which: str = "fault") -> list[Fault]:
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    names = table["repositories"]
    return [Fault(**each | {"repository": names[each["repository"]]}) for each in table[which]]


def _replaced(text: str, old: str, new: str, nth: int) -> str:
    parts = text.split(old)
    if len(parts) <= nth:
        raise ValueError(f"there is no {old!r} number {nth}")
    return old.join(parts[:nth]) + new + old.join(parts[nth:])


def prepare(repositories: Path, folder: Path, chosen: list[Fault] | None = None) -> None:
    """Each program twice, and a line each for record_planted.sh: name, version, folder, options, files, arguments."""
    rows = []
    for fault in chosen or [*faults(), *faults("spare")]:
        root = repositories / fault.checkout
        for each in fault.include:
            shutil.copytree(
                root / each,
                folder / "include" / fault.repository.replace("/", "+") / each,
                dirs_exist_ok=True,
            )
        for version in VERSIONS:
            into = folder / version / fault.short
            into.mkdir(parents=True, exist_ok=True)
            for path in (root / fault.folder).iterdir():
                if path.is_file() and path.suffix in BESIDE:
                    shutil.copyfile(path, into / path.name)
            first = into / fault.files[0]
            text = (root / fault.folder / fault.files[0]).read_text(encoding="utf-8")
            first.write_text(fault.text(text, version), encoding="utf-8")
            rows.append(
                "\t".join(
                    [
                        fault.short,
                        version,
                        " ".join(f"-I ../../{each}" for each in _include(fault)) or "-I .",
                        " ".join(fault.files),
                        " ".join(fault.arguments) or "-",
                    ]
                )
            )
    (folder / "run.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def _include(fault: Fault) -> list[str]:
    return [f"include/{fault.repository.replace('/', '+')}/{each}" for each in fault.include]


def run(folder: Path, fault: Fault, version: str) -> dict:
    """What the simulator says of one program that was prepared, as it is frozen."""
    return of_ours(simulated(folder / version / fault.short, fault))


def frozen() -> dict:
    """{program: {version: {tool: what it said}}}"""
    return json.loads(FROZEN.read_text(encoding="utf-8"))["programs"]


def simulated(folder: Path, fault: Fault) -> dict:
    include = [word for each in _include(fault) for word in ("-I", f"../../{each}")]
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    began = monotonic()
    command = [sys.executable, "-m", "ptxsim", "run", *fault.files, *include, "--limit", "60"]
    try:
        done = subprocess.run(
            [*command, "--json", report.name, "--", *fault.arguments],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=300,
        )
        status, said = done.returncode, done.stderr
    except subprocess.TimeoutExpired:
        status, said = 124, ""
    known = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
    return {
        "status": status,
        "seconds": round(monotonic() - began, 1),
        "simulated": known.get("seconds", 0.0),
        "hazards": [[each["kind"], each["cause"], each["place"]] for each in known.get("hazards", [])],
        "conflicts": [each["message"] for each in known.get("conflicts", [])],
        "refused": [f"{each['call']} gives {each['error']}" for each in known.get("refused", [])],
        "leaks": len(known.get("leaks", [])),
        "notes": known.get("notes", []),
        "returned": known.get("returned", 0),
        "stopped": known.get("stopped", ""),
        "summary": (said.strip().splitlines() or [""])[-1],
    }


TOOLS = "memcheck", "racecheck", "initcheck", "synccheck"
LEAKS = {"Leaked", "never freed"}


def of_ours(row: dict) -> dict:
    kinds = [kind for kind, _, _ in row["hazards"]] + ["stream-conflict"] * len(row["conflicts"])
    kinds += row["refused"] + ["never freed"] * row["leaks"]
    return {
        "status": row["status"],
        "seconds": row["seconds"],
        "simulated": round(row["simulated"], 1),
        "reports": dict(Counter(kinds)),
    }


def found(row: dict, tool: str) -> list[str]:
    """The kinds that a tool reports of the faulty program and not of the right one."""
    right, wrong = (row[version][tool]["reports"] for version in VERSIONS)
    return [kind for kind in wrong if kind not in right]


def rows() -> str:
    """What each tool finds of the forty, as ptxsim/docs/planted.csv has it."""
    known, text = frozen(), io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["fault", "program", *TOOLS, "ptxsim run"])
    for fault in faults():
        row = known[fault.short]
        cells = ("yes" if found(row, tool) else "" for tool in TOOLS)
        lines.writerow([fault.kind, fault.name, *cells, _shown(found(row, "ptxsim"))])
    return text.getvalue()


def sums() -> str:
    """The short table of ptxsim/README.md: faults found, right programs with a report, seconds of both versions."""
    known = frozen()
    rows = [known[fault.short] for fault in faults()]
    lines = ["| |finds|reports of right ones|median seconds|", "|---|--:|--:|--:|"]
    for name, tools in {
        **{tool: (tool,) for tool in TOOLS},
        "these four": TOOLS,
        "`ptxsim run`, no GPU": ("ptxsim",),
    }.items():
        finds = sum(any(found(row, tool) for tool in tools) for row in rows)
        right = sum(any(set(row["right"][tool]["reports"]) - LEAKS for tool in tools) for row in rows)
        seconds = median(
            sum(row[version][tool]["seconds"] for tool in tools) for row in rows for version in VERSIONS
        )
        lines.append(f"|{name}|{finds}|{right}|{seconds:.1f}{', nvcc included' * (tools == ('ptxsim',))}|")
    return "\n".join(lines)


def _shown(kinds: list[str]) -> str:
    """The most serious one."""
    return kinds[0] if kinds else ""


if __name__ == "__main__":
    print(rows(), sums(), sep="\n")
