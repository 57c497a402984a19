"""Public programs with a planted fault each (planted.toml): in `ptxsim run`, and for compute-sanitizer on a GPU.

    python tests/golden/planted.py prepare REPOSITORIES FOLDER    writes FOLDER/right, FOLDER/wrong, FOLDER/run.tsv
    python tests/golden/planted.py ours FOLDER [NAME ...]         runs both in the simulator: FOLDER/ours.jsonl
    python tests/golden/planted.py freeze FOLDER RESULTS          planted_h100.json, of both files
    python tests/golden/planted.py table                          the table of ptxsim/docs/judges.md

REPOSITORIES holds a checkout of each as owner+name. On a machine with a GPU, `bash record_planted.sh FOLDER` reads
FOLDER and writes FOLDER/results.jsonl.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

TABLE = Path(__file__).with_name("planted.toml")
FROZEN = Path(__file__).with_name("planted_h100.json")
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


def prepare(repositories: Path, folder: Path) -> None:
    """Each program twice, and a line each for record_planted.sh: name, version, folder, options, files, arguments."""
    rows = []
    for fault in [*faults(), *faults("spare")]:
        root = repositories / fault.repository.replace("/", "+")
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


def ours(folder: Path, only: list[str]) -> None:
    """A line of JSON for each run, as they come."""
    for fault in [*faults(), *faults("spare")]:
        if only and fault.short not in only:
            continue
        for version in VERSIONS:
            row = {"program": fault.short, "version": version} | _ours(folder / version / fault.short, fault)
            print(f"{fault.short} {version}: {row['status']} {row['seconds']} s {row['summary']}", flush=True)
            with (folder / "ours.jsonl").open("a", encoding="utf-8") as out:
                out.write(json.dumps(row) + "\n")


def _ours(folder: Path, fault: Fault) -> dict:
    include = [word for each in _include(fault) for word in ("-I", f"../../{each}")]
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    began = monotonic()
    command = [sys.executable, "-m", "ptxsim", "run", *fault.files, *include, "--limit", "60"]
    try:
        done = subprocess.run(
            [*command, "--json", report.name, "--", *fault.arguments],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
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


def freeze(folder: Path, results: Path) -> None:
    """What each tool says of each program, short."""
    rows: dict[str, dict] = {
        fault.short: {version: {} for version in VERSIONS} for fault in [*faults(), *faults("spare")]
    }
    for line in (results / "results.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["tool"] != "nvcc":
            rows[row["program"]][row["version"]][row["tool"]] = _of_sanitizer(row)
    for line in (folder / "ours.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        rows[row["program"]][row["version"]]["ptxsim"] = _of_ours(row)
    machine = (results / "machine.txt").read_text(encoding="utf-8").splitlines()
    known = {"machine": machine, "programs": rows}
    FROZEN.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def _of_sanitizer(row: dict) -> dict:
    """`found`: errors or hazards; `leaks`: bytes were not freed; `said`: the first words."""
    counts = {name: int(number) for name, number in row["summaries"]}
    words = [line for line in row["said"] if not line.startswith(("at ", "by ", "Target", "LEAK SUM"))]
    return {
        "status": row["status"],
        "seconds": row["seconds"],
        "found": counts.get("ERROR", counts.get("RACECHECK", 0)),
        "leaks": counts.get("LEAK", 0),
        "said": words[:1] or row["printed"][-1:],
    }


def _of_ours(row: dict) -> dict:
    kinds = [f"{kind} at {place}" for kind, _, place in row["hazards"]]
    kinds += [f"stream-conflict: {row['conflicts'][0]}"[:100]] if row["conflicts"] else []
    return {
        "status": row["status"],
        "seconds": row["seconds"],
        "simulated": round(row["simulated"], 1),
        "found": len(row["hazards"]) + len(row["conflicts"]) + len(row["refused"]),
        "leaks": row["leaks"],
        "said": [*kinds, *row["refused"]][:3],
    }


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "prepare":
        prepare(Path(rest[0]), Path(rest[1]))
    elif what == "ours":
        ours(Path(rest[0]), rest[1:])
    elif what == "freeze":
        freeze(Path(rest[0]), Path(rest[1]))
    else:
        print(table())
