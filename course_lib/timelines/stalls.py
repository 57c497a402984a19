"""What part of its time a kernel's warps wait for copies and at barriers, by Nsight Compute's samples."""

from collections.abc import Sequence

from ..check.job import Job
from ..measure import samples
from .events import Phase


def sampled(job: Job) -> dict[Phase, float]:
    """The shares of one launch; empty where ncu is missing or may not count."""
    try:
        return shares(samples.sampled(job))
    except RuntimeError:
        return {}


def shares(rows: Sequence[samples.Row]) -> dict[Phase, float]:
    """`wait`: for copies, as `samples.shares` finds them. `barrier`: but for that of a cluster, where warps without
    work stand until their kernel ends."""
    wait = barrier = 0.0
    for (at, reason), share in samples.shares(rows).items():
        if reason == "copies":
            wait += share
        elif reason == "barrier" and "CGABAR" not in rows[at].opcode:
            barrier += share
    return {"wait": round(wait, 3), "barrier": round(barrier, 3)}
