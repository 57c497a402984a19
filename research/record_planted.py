"""Public programs with a planted fault each (tools/author/planted.py), run anew: planted_h100.json.

    python -m research.record_planted prepare REPOSITORIES FOLDER    writes FOLDER/right, FOLDER/wrong, FOLDER/run.tsv
    python -m research.record_planted ours FOLDER [NAME ...]         runs both in the simulator: FOLDER/ours.jsonl
    python -m research.record_planted freeze FOLDER RESULTS          planted_h100.json, of both files

REPOSITORIES holds a checkout of each as owner+name. On a machine with a GPU, `bash record_planted.sh FOLDER` reads
FOLDER and writes FOLDER/results.jsonl. Then `python -m tools.author.planted` prints the tables.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path

from tools.author.planted import FROZEN, TOOLS, VERSIONS, faults, of_ours, prepare, simulated

NO_REPORT = re.compile(r"COMPUTE-|Target application|Error: process|Warning: Maximum|\w+ SUMMARY")
SHORT = re.compile(r"^(?:Error: |Warning: )|( of size| between| due to| at host| [\d,]+ bytes| \(error).*$")


def ours(folder: Path, only: list[str]) -> None:
    """A line of JSON for each run, as they come."""
    for fault in [*faults(), *faults("spare")]:
        if only and fault.short not in only:
            continue
        for version in VERSIONS:
            row = {"program": fault.short, "version": version} | simulated(
                folder / version / fault.short, fault
            )
            print(f"{fault.short} {version}: {row['status']} {row['seconds']} s {row['summary']}", flush=True)
            with (folder / "ours.jsonl").open("a", encoding="utf-8") as out:
                out.write(json.dumps(row) + "\n")


def freeze(folder: Path, results: Path) -> None:
    """What each tool reports of each program, by kinds, into planted_h100.json. RESULTS has logs.tgz unpacked."""
    rows = {fault.short: {version: {} for version in VERSIONS} for fault in [*faults(), *faults("spare")]}
    for row in _lines(results / "results.jsonl"):
        if row["tool"] in (*TOOLS, "plain"):
            log = (results / row["version"] / row["program"] / f"{row['tool']}.log").read_text(
                errors="replace"
            )
            kept = {"status": row["status"], "seconds": row["seconds"], "reports": _reports(log)}
            rows[row["program"]][row["version"]][row["tool"]] = kept
    for row in _lines(folder / "ours.jsonl"):
        rows[row["program"]][row["version"]]["ptxsim"] = of_ours(row)
    machine = (results / "machine.txt").read_text(encoding="utf-8").splitlines()
    FROZEN.write_text(json.dumps({"machine": machine, "programs": rows}, indent=1) + "\n", encoding="utf-8")


def _lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _reports(log: str) -> dict[str, int]:
    """Kinds of what compute-sanitizer reports, and how many of each it prints (20 at most)."""
    heads = re.findall(r"^========= (\S.*)$", log, re.M)
    return dict(Counter(SHORT.sub("", SHORT.sub("", head)) for head in heads if not NO_REPORT.match(head)))


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "prepare":
        prepare(Path(rest[0]), Path(rest[1]))
    elif what == "ours":
        ours(Path(rest[0]), rest[1:])
    else:
        freeze(Path(rest[0]), Path(rest[1]))
