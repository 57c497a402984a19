"""What part of its time a kernel's warps wait, by Nsight Compute's samples of their program counters: nothing in the
kernel is changed. A sample names the instruction that a warp could not start, and why."""

import csv

from ..check.job import Job
from . import ncu
from .events import Phase

OPTIONS = ("--csv", "--page", "source", "--section", "SourceCounters")


def sampled(job: Job) -> dict[Phase, float]:
    """The shares of one launch; empty where ncu is missing or may not count."""
    try:
        text = ncu.profiled(OPTIONS, job.gemm, [(job.kernel, job.launch)]).stdout
    except RuntimeError:
        return {}
    return shares(text) if '"Source"' in text else {}


def shares(text: str) -> dict[Phase, float]:
    """Of what `ncu --page source --csv` prints of one kernel: the share of samples in which a warp waits for copies,
    and at a barrier.

    `wait`: a long scoreboard holds the instruction behind DEPBAR (cp.async.wait_group), or a branch (the loop around
    mbarrier.try_wait). `barrier`: all samples so named but those of WARPGROUP.DEPBAR, where wgmma is waited for, and of
    a cluster's barrier, where warps without work stand until their kernel ends.
    """
    rows = list(csv.DictReader(text[text.index('"Address"') :].splitlines()))
    total = sum(int(row["# Samples"]) for row in rows)
    wait = barrier = 0
    for before, row in zip([rows[0], *rows], rows):
        if "DEPBAR.LE SB" in before["Source"] or "BRA" in row["Source"]:
            wait += int(row["stall_long_sb"])
        if not any(other in row["Source"] for other in ("WARPGROUP", "CGABAR")):
            barrier += int(row["stall_barrier"])
    return {"wait": round(wait / total, 3), "barrier": round(barrier / total, 3)}
