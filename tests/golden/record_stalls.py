"""Sample with Nsight Compute where the warps of the lessons' kernels wait, on this machine's GPU, and freeze it by
source line and reason: stalls_h100.json.

    python tests/golden/record_stalls.py
    python tests/golden/record_stalls.py PAGE.csv gpu=NAME date=DAY driver=VERSION nvrtc=VERSION

It needs CuPy and `ncu`. The second form reads what `ncu --page source --csv` printed of one launch of each kernel, in
the order of the lessons; NVRTC here must make the same machine code, to which the lines belong. The file goes to the
folder that the environment variable OUT names, else next to this script.
"""

import csv
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from course_lib import Gemm, kernel_source
from course_lib.check.job import Job
from course_lib.measure import ncu, records
from cupy_or_sim.simulate import compiled
from ptxsim.compiler.disassembly import SassInstruction
from ptxsim.kernel import machine_code
from tests.golden.record import provenance
from tests.lessons import DTYPES, GEMMS, kernel

HERE = Path(__file__).parent
FILE = "stalls_h100.json"
SIZE = 4096
OPTIONS = ("--csv", "--page", "source", "--section", "SourceCounters", "--cache-control", "none")
ARCH = "sm_90a"
SAMPLES = "Warp Stall Sampling (All Samples)"
NOT_NAMED = "gmma"
"""What ncu calls samples in front of wgmma; its table of instructions has no column for them."""
LEAST = 5e-4
"""Smaller shares are left out."""

Page = list[dict[str, str]]
Stalls = dict[int, dict[str, float]]


def jobs() -> dict[tuple[str, str], Job]:
    """(notebook, kernel): the product of each lesson kernel whose speed is recorded, in the lessons' order."""
    found = {}
    for (notebook, name), launch in GEMMS.items():
        gemm = Gemm(SIZE, SIZE, SIZE, DTYPES[notebook])
        job = Job(kernel(kernel_source(notebook, name), name), gemm, launch)
        if records.find("speeds", records.kernel_key(job)):
            found[notebook, name] = job
    return found


def pages(text: str) -> list[tuple[str, Page]]:
    """(kernel, its instructions) of each launch in ncu's page."""
    found: list[tuple[str, Page]] = []
    for row in csv.reader(text.splitlines()):
        if row[:1] == ["Kernel Name"]:
            found.append((row[1], []))
        elif row[:1] == ["Address"]:
            head = row
        elif found and len(row) == len(head):
            found[-1][1].append(dict(zip(head, row)))
    return found


def samples(page: Page) -> Counter[tuple[int, str]]:
    """By (number of the instruction, reason): how often a warp stood there.

    A wait for groups of copies stands behind DEPBAR on a GPU, and here at DEPBAR, whose line says what is waited for.
    What waits at WARPGROUP.DEPBAR waits for wgmma, and not at a barrier.
    """
    found: Counter[tuple[int, str]] = Counter()
    before = ""
    for at, row in enumerate(page):
        source = row["Source"]
        named = {
            column.removeprefix("stall_"): int(count)
            for column, count in row.items()
            if column.startswith("stall_") and "Not Issued" not in column
        }
        named[NOT_NAMED] = int(row[SAMPLES]) - sum(named.values())
        if "WARPGROUP.DEPBAR" in source:
            named[NOT_NAMED] += named.pop("barrier")
        if "DEPBAR.LE SB" in before:
            found[at - 1, "long_sb"] += named.pop("long_sb")
        found.update({(at, reason): count for reason, count in named.items() if count})
        before = source
    return found


def by_line(page: Page, code: Sequence[SassInstruction]) -> Stalls:
    """Line of the kernel's source -> reason -> share of all samples; line 0: of none.

    `code`: the same instructions with their lines; ncu shows what pads their end, too. Raises ValueError where they
    differ.
    """
    if len(page) < len(code) or any(one.opcode not in row["Source"].split() for one, row in zip(code, page)):
        raise ValueError("ncu shows other instructions than the kernel has here")
    counted = samples(page)
    total = sum(counted.values())
    of_lines: Counter[tuple[int, str]] = Counter()
    for (at, reason), count in counted.items():
        one = code[min(at, len(code) - 1)]
        of_lines[one.line or one.call_line or 0, reason] += count
    found: Stalls = {}
    for (line, reason), count in sorted(of_lines.items()):
        if count >= LEAST * total:
            found.setdefault(line, {})[reason] = round(count / total, 4)
    return found


def recorded(text: str, of: dict[tuple[str, str], Job]) -> dict[str, dict]:
    """{key of the measurement: notebook, kernel, lines} of a page with a launch of each kernel, in this order."""
    found = {}
    for ((notebook, name), job), (called, page) in zip(of.items(), pages(text), strict=True):
        if called != name:
            raise ValueError(f"ncu's page has {called} where {name} is expected")
        entry = {
            "notebook": notebook,
            "kernel": name,
            "lines": by_line(page, machine_code(compiled(job.kernel), ARCH)),
        }
        found[records.kernel_key(job)] = entry
    return found


def main() -> None:
    of = jobs()
    if sys.argv[1:]:
        text = Path(sys.argv[1]).read_text(encoding="utf-8")
        about = dict(word.split("=", 1) for word in sys.argv[2:])
    else:
        pages_of = [ncu.profiled(OPTIONS, job.gemm, [(job.kernel, job.launch)]).stdout for job in of.values()]
        text, about = "\n".join(pages_of), provenance()
    folder = Path(os.environ.get("OUT", HERE))
    rows = [f"{json.dumps(key)}: {json.dumps(entry)}" for key, entry in recorded(text, of).items()]
    text = f'{{"provenance": {json.dumps(about)},\n"kernels": {{\n' + ",\n".join(rows) + "\n}}\n"
    (folder / FILE).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
