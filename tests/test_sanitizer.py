"""Mutants under compute-sanitizer on an H100 (tests/golden/sanitizer_h100.json), against the simulator's reports.

What racecheck or memcheck found there, the simulator must find, at the same source lines. What it finds and they do not
is no concern here: tests/test_mutants.py shows that it is right.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from course_lib.simulator.hazards import FATAL
from tests.judged import Outcome, outcome
from tests.kernels.to_mutate import by_name, groups
from tests.mutate import Mutant, fingerprint, mutants

FILE = Path(__file__).parent / "golden" / "sanitizer_h100.json"
HOW_TO_RECORD = (
    "run `python tests/golden/record_sanitizer.py` on a machine with an H100 and compute-sanitizer"
)
FROZEN = json.loads(FILE.read_text(encoding="utf-8"))["mutants"] if FILE.is_file() else []


def edited(row: dict) -> bool:
    """Whether the row is of a lesson's kernel that was edited since: that is done without a GPU at hand."""
    if not row["kernel"].startswith("lesson."):
        return False
    case = next((case for group in groups().values() for case in group if case.name == row["case"]), None)
    return case is None or row["kernel_fingerprint"] != fingerprint(case.source, case.options)


TABLE = [row for row in FROZEN if not edited(row)]
ROWS = [pytest.param(row, id=f"{row['kernel']}: {row['mutant']}") for row in TABLE]

RACES = {"read-after-write", "write-after-read", "write-after-write", "unwaited-copy"}
WANTED = {  # what the sanitizer says: kinds of the simulator that say the same
    "invalid memcpy_async": {"unwaited-copy", "read-after-write", "write-after-write"},
    "hazard|Race reported": RACES,
    "Invalid": {"out-of-bounds"},
    "isaligned": {"misaligned"},
}

ARRIVALS = (
    "bar.arrive orders what the arriving threads did before it (PTX ISA, producer-consumer example of bar)"
)
MERGED = (
    "the simulator reports one hazard for a reading line and its call line, and names the first of two writes"
)
FALSE_ALARMS: dict[tuple[str, str], str] = {
    ("producer_consumer", "unchanged"): ARRIVALS,
    ("producer_consumer", "drop bounds check: if (threadIdx.x < 64) {"): ARRIVALS,
    ("lesson.hand_over", "unchanged"): ARRIVALS,
    ("lesson.specialised", "unchanged"): ARRIVALS,
    (
        "lesson.specialised",
        "other stage: int m = warp % 2 * 64 + lane % 8 * 4, n = warp / 2 * 32 + lane / 8 * 4;",
    ): ARRIVALS,
    ("lesson.through_registers", "drop barrier: __syncthreads();"): MERGED,
}
"""(kernel, mutant): why the sanitizer's finding is none, or none that is missed."""


def simulated(row: dict) -> Outcome:
    return outcome(row["case"], mutant_of(row["case"], row["mutant"]).source)


def mutant_of(case_name: str, mutant_name: str) -> Mutant:
    source = by_name(case_name).source
    if mutant_name == "unchanged":
        return Mutant("unchanged", "unchanged", 0, source)
    return next(mutant for mutant in mutants(source) if mutant.name == mutant_name)


def kinds_for(text: str) -> set[str]:
    return next((kinds for pattern, kinds in WANTED.items() if re.search(pattern, text)), set())


def missed(row: dict) -> list[str]:
    """The sanitizer's findings that the simulator lacks. None when a finding ended the simulated launch: the GPU goes
    on after an access out of bounds that hits another array, and more goes wrong."""
    hazards = simulated(row).hazards
    if any(kind in FATAL for kind, _ in hazards):
        return []
    return [
        f"{tool}: {finding['text']} at lines {finding['lines']}"
        for tool in ("racecheck", "hazards", "memcheck")
        for finding in row[tool]
        if not any(
            kind in kinds_for(finding["text"]) and (lines & set(finding["lines"]) or not finding["lines"])
            for kind, lines in hazards
        )
    ]


@pytest.mark.parametrize("row", ROWS)
def test_what_the_sanitizer_finds_the_simulator_finds(row):
    mutant = mutant_of(row["case"], row["mutant"])
    assert row["fingerprint"] == fingerprint(mutant.source, by_name(row["case"]).options), HOW_TO_RECORD
    alarm = FALSE_ALARMS.get((row["kernel"], row["mutant"]))
    assert bool(missed(row)) == bool(alarm), missed(row) or "listed as a false alarm, but nothing differs"


@pytest.mark.parametrize("row", [row for row in ROWS if row.values[0]["mutant"] == "unchanged"])
def test_right_kernels_are_right_on_the_gpu_too(row):
    assert set(row["ends"].values()) == {"right"}


def test_there_are_enough_mutants():
    if not TABLE:
        pytest.skip(f"no frozen findings; {HOW_TO_RECORD}")
    assert sum(row["mutant"] != "unchanged" for row in TABLE) >= 60


def summary() -> str:
    """A table: mutants by rule, and how many of them each judge found."""
    judged: dict[str, Counter] = {}
    for row in TABLE:
        count = judged.setdefault(row["mutant"].split(":")[0], Counter())
        ours = simulated(row)
        count["mutants"] += 1
        count["racecheck"] += bool(row["racecheck"] or row["hazards"])
        count["memcheck"] += bool(row["memcheck"])
        count["wrong on the H100"] += "wrong" in row["ends"].values()
        count["simulator"] += bool(ours.hazards)
        count["wrong in the simulator"] += not ours.right
    columns = ["mutants", "racecheck", "memcheck", "wrong on the H100", "simulator", "wrong in the simulator"]
    rows = [
        ["rule", *columns],
        ["---"] * 7,
        *([rule, *(str(c[k]) for k in columns)] for rule, c in judged.items()),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    print(summary())
