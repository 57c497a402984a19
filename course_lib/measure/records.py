"""Measurements on file: how a kernel finds its record, and what a record says about its origin.

One file per GPU, `assets/measurements/<gpu>.json`, holds "provenance" (the machine, the software, the method) and the
parts PARTS (one entry per kernel, problem and compiler, found by its key).
"""

import json
import os
from pathlib import Path

from cupy_or_sim import timing
from cupy_or_sim.keys import digest, options_that_count, source_key
from ptxsim.ground import whole

from ..check.job import Job
from ..check.problem import Problem
from ..lessons.folders import place

FOLDER = place("assets") / "measurements"
PARTS = ("speeds", "timelines", "waves", "profiles", "samples", "calls", "texts")


def kernel_key(job: Job) -> str:
    """Key of one measurement: the kernel's text, its options without paths, the problem and the launch."""
    text = source_key(job.kernel.name, job.kernel.code)
    options = options_that_count(job.kernel.options)
    return digest(text, options, job.gemm.record(), *job.launch.record().values())


def text_key(options: str, job: Job) -> str:
    """Key of what a tool with these options prints of a kernel."""
    return digest(kernel_key(job), options.split())


def about(job: Job) -> dict:
    """What an entry says about its kernel; "source" lets a test find out that a kernel was edited since."""
    name, text = job.kernel.name, source_key(job.kernel.name, job.kernel.code)
    return {"kernel": name, "source": text, **job.gemm.record(), **job.launch.record()}


def peer_key(gemm: Problem) -> str:
    """Key of the peer on this problem."""
    return digest(gemm.peer, gemm.record())


def files() -> list[Path]:
    """The measurement files, the H100's first."""
    return sorted(FOLDER.glob("*.json"), key=lambda path: ("h100" not in path.name, path.name))


def stored_key(key: str, nvrtc: str) -> str:
    """Key of an entry in a file: what was measured, and the version of the compiler that made the binary."""
    return digest(key, nvrtc)


def find(part: str, key: str) -> dict | None:
    """The entry with this key in one of the PARTS, and the GPU and compiler it came from."""
    for path in files():
        record = json.loads(path.read_text(encoding="utf-8"))
        origin = {name: record["provenance"][name] for name in ("gpu", "nvrtc")}
        if entry := record.get(part, {}).get(stored_key(key, origin["nvrtc"])):
            return origin | entry
    return None


def remember(part: str, entries: dict[str, dict]) -> None:
    """In record mode (COURSE_RECORD=<path>) add the entries to that file; the file is never half written."""
    if not os.environ.get("COURSE_RECORD"):
        return
    path = Path(os.environ["COURSE_RECORD"])
    record: dict = {part: {} for part in PARTS}
    if path.exists():
        record |= json.loads(path.read_text(encoding="utf-8"))
    record["provenance"] = origin = timing.provenance()
    for key, entry in entries.items():  # the GPU stands once, in the provenance
        kept = {name: value for name, value in entry.items() if name != "gpu"}
        record[part][stored_key(key, origin["nvrtc"])] = kept
    write(path, record)


def write(path: Path, record: dict) -> None:
    """Write a record with one entry per line, in a fixed order, so that a diff shows what changed."""
    lines = [f' "provenance": {json.dumps(record["provenance"], indent=2)}']
    for part in PARTS:
        entries = [f'  "{key}": {json.dumps(entry)}' for key, entry in sorted(record.get(part, {}).items())]
        lines.append(f' "{part}": {{\n' + ",\n".join(entries) + "\n }")
    whole.write(path, "{\n" + ",\n".join(lines) + "\n}\n")
