"""Nsight Compute's samples of one launch: at which machine instruction its warps stood, and what for.

Every so many cycles ncu looks at the warps of an SM. A sample names the next instruction of a warp, and why the warp
does not issue it in this cycle, or that it does. So samples are shares of the time. Nothing in the kernel is changed.
"""

import csv
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import ptxsim
from cupy_or_sim.simulate import compiled

from ..check.job import Job
from . import ncu
from .places import lines_at

OPTIONS = ("--csv", "--page", "source", "--section", "SourceCounters", "--cache-control", "none")
OTHER = "other"
"""Of a warp's time, what has no name of its own here: code that is not there yet, the end of a warp, fences."""
NAMES = {
    "selected": "issues",
    "wait": "fixed time",
    "branch_resolving": "branch",
    "short_sb": "shared memory",
    "long_sb": "global memory",
    "mio": "memory queue full",
    "lg": "memory queue full",
    "tex": "memory queue full",
    "barrier": "barrier",
    "math": "pipe busy",
    "gmma": "pipe busy",
    "dispatch": "register banks",
    "not_selected": "another warp first",
}
"""What ncu calls a reason: what `ptxsim.REASONS` calls it. Dispatch is held back for more than register banks; from
lesson 01's `mainloop` on the two are within 7 points of each other (30 kernels on an H100, 2026-11-27)."""

COPIES = ("LDGSTS", "UTMALDG", "UBLKCP")
"""Instructions that bring global memory to shared memory."""
ACCESSES = (*COPIES, "LDG.", "LD.", "LDL", "STG", "ST.", "STL", "ATOMG", "ATOM.", "RED.", "UTMASTG")
"""All that go to global or local memory."""


@dataclass(frozen=True)
class Row:
    """A machine instruction: its text, the samples of warps that stood at it, and how many for what, as ncu says it."""

    text: str
    samples: int
    stalls: dict[str, int]

    @property
    def opcode(self) -> str:
        """With its modifiers, without the guard."""
        words = self.text.split()
        return words[1] if words[0].startswith("@") else words[0]


def sampled(job: Job) -> list[Row]:
    """Launch a kernel once under ncu. Raises RuntimeError, which says why there are no samples."""
    try:
        done = ncu.profiled(OPTIONS, job.gemm, [(job.kernel, job.launch)])
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"ncu was not through after {ncu.TIMEOUT} s") from None
    if refused := ncu.refusal(done.stdout + done.stderr):
        raise RuntimeError(refused)
    found = pages(done.stdout)
    if not found or not any(row.samples for row in found[0][1]):
        raise RuntimeError(f"ncu took no samples of {job.kernel.name}")
    return found[0][1]


def pages(text: str) -> list[tuple[str, list[Row]]]:
    """Of what `ncu --page source --csv` prints: each kernel's name, and its instructions by address."""
    found: list[tuple[str, list[Row]]] = []
    header: list[str] = []
    for cells in csv.reader(text.splitlines()):
        first = cells[0] if cells else ""
        if first == "Kernel Name":
            found.append((cells[1], []))
        elif first == "Address":
            header = cells
        elif first.startswith("0x"):
            found[-1][1].append(_row(dict(zip(header, cells))))
    return found


def _row(cells: dict[str, str]) -> Row:
    """The page has no column for gmma, wgmma's queue: it is what all samples have more than the columns together."""
    samples = int(cells["# Samples"])
    stalls = {
        name.removeprefix("stall_"): int(count)
        for name, count in cells.items()
        if name.startswith("stall_") and not name.endswith("(Not Issued)")
    }
    counted = {"gmma": samples - sum(stalls.values()), **stalls}
    return Row(cells["Source"].strip(), samples, {name: count for name, count in counted.items() if count})


FOR_WGMMA = {("barrier", "WARPGROUP"), ("mio", "HGMMA")}
"""What ncu calls the wait for the tensor cores at instructions of wgmma."""


def shares(rows: Sequence[Row]) -> dict[tuple[int, str], float]:
    """By (index of the instruction, reason) the share of a warp's time, in the words of `ptxsim.REASONS` and OTHER.

    ncu does not tell copies from loads and stores, nor mbarriers from any of these. "copies" is a long scoreboard
    behind DEPBAR (cp.async.wait_group), at a branch (the loop around mbarrier.try_wait, whatever that waits for), and
    where the last access to global memory before it is a copy, whose addresses have not been read yet.
    """
    total = sum(row.samples for row in rows)
    found: dict[tuple[int, str], float] = {}
    accessed = ""
    for at, (before, row) in enumerate(zip([rows[0], *rows], rows)):
        copies = (
            before.opcode.startswith("DEPBAR") or row.opcode.startswith("BRA") or accessed.startswith(COPIES)
        )
        for stall, count in row.stalls.items():
            if stall == "long_sb" and copies:
                reason = "copies"
            elif (stall, row.opcode.partition(".")[0]) in FOR_WGMMA:
                reason = "pipe busy"
            else:
                reason = NAMES.get(stall, OTHER)
            found[at, reason] = found.get((at, reason), 0.0) + count / total
        if row.opcode.startswith(ACCESSES):
            accessed = row.opcode
    return found


def entry(job: Job, rows: Sequence[Row], arch: str) -> dict:
    """What a record keeps of a kernel's samples on a GPU architecture, "sm_90": `samples`, their number, and `shares`,
    {place of a line (`places.lines_at`, -1 for none): {reason: share}}. Raises RuntimeError where they are of other
    machine code than is made here."""
    one = compiled(job.kernel)
    instructions = ptxsim.machine_code(one, arch)
    if [row.opcode for row in rows[: len(instructions)]] != [each.opcode for each in instructions]:
        raise RuntimeError(f"the machine code that ncu saw of {one.name} is not the one that is made here")
    place = {line: at for at, line in lines_at(one.source).items()}
    lines = ptxsim.by_line(instructions, shares(rows))
    return {
        "samples": sum(row.samples for row in rows),
        "shares": {
            str(place.get(line, -1)): {reason: round(share, 5) for reason, share in found.items()}
            for line, found in sorted(lines.items())
        },
    }


def lines_of(entry: Mapping, source: str) -> ptxsim.Shares:
    """The shares in a record's entry by line of today's text, 0 for none."""
    line_at = lines_at(source)
    return {line_at.get(int(place), 0): found for place, found in entry["shares"].items()}
