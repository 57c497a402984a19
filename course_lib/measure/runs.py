"""The peer beside kernels is that of their own run: speeds of two runs differ by some percent, and its own with them.

An entry of a record says how fast the peer was in its process, as `peer_tflops`.
"""

from collections.abc import Iterable

NEAR = 0.005
"""Runs of a day whose peer differs by less count as one: no share changes by a percent."""


def by_run(entries: Iterable[dict]) -> list[list[dict]]:
    """The entries that have a speed, one list for each GPU, date and peer's speed, in the order of their first."""
    runs: list[list[dict]] = []
    for entry in entries:
        of_this = (run for run in runs if _one_run(run[0], entry))
        if run := next(of_this, None):
            run.append(entry)
        elif entry.get("peer_tflops"):
            runs.append([entry])
    return runs


def peer_of(run: list[dict], known: Iterable[dict], flop: float) -> dict:
    """The entry of the peer in a run: one of the known ones, or what the kernels' entries say of it. `flop` of the
    problem."""
    for entry in known:
        if _one_run(run[0], entry):
            return entry
    tflops = run[0]["peer_tflops"]
    said = {name: run[0][name] for name in ("gpu", "origin", "date") if name in run[0]}
    return said | {"tflops": tflops, "peer_tflops": tflops, "median_us": flop / tflops / 1e6}


def _one_run(first: dict, other: dict) -> bool:
    theirs = other.get("peer_tflops")
    near = theirs and abs(theirs / first["peer_tflops"] - 1) < NEAR
    return bool(near) and _same(first, other, "gpu") and _same(first, other, "date")


def _same(one: dict, other: dict, part: str) -> bool:
    return one.get(part) == other.get(part)
