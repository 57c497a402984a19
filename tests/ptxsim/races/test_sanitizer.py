"""Mutants and known-wrong kernels under compute-sanitizer on an H100 (tests/golden/sanitizer_h100.json), against the
simulator's reports.

What racecheck, memcheck or synccheck found there, the simulator must find, at the same source lines. What it finds
and they do not is no concern here: tests/ptxsim/races/test_mutants.py shows that it is right.
"""

import json
import re
from itertools import chain

import pytest

from ptxsim.races.hazards import BAD_ADDRESS, FATAL
from tests.kernels.case import Case, WrongCase
from tests.kernels.cases import WRONG
from tests.kernels.to_mutate import by_name
from tests.ptxsim.races import mutate_hopper
from tests.ptxsim.races.judged import Outcome, judge_wrong, outcome
from tests.ptxsim.races.mutate import Mutant, fingerprint, mutants
from tests.rules import ROOT, missing

FILE = ROOT / "tests" / "golden" / "sanitizer_h100.json"
HOW_TO_RECORD = "run `python -m research.record_sanitizer` on a machine with an H100 and compute-sanitizer"
FROZEN = json.loads(FILE.read_text(encoding="utf-8"))["mutants"] if FILE.is_file() else []


def edited(row: dict) -> bool:
    """Whether the row is of a lesson's kernel that was edited since: that is done without a GPU at hand."""
    if not row["kernel"].startswith("lesson."):
        return False
    try:
        case = by_name(row["case"])
    except StopIteration:
        return True  # the kernel is gone
    return row["kernel_fingerprint"] != fingerprint(case.source, case.options)


TABLE = [row for row in FROZEN if not edited(row)]
ROWS = [pytest.param(row, id=f"{row['kernel']}: {row['mutant']}") for row in TABLE]

RACES = {"read-after-write", "write-after-read", "write-after-write", "unwaited-copy"}
WANTED = {  # what the sanitizer says: kinds of the simulator that say the same
    "access at mbarrier_init|CUDA barrier operation": RACES | {"mbarrier"},
    "Missing init|Missing wait|Unknown Error": {"mbarrier"},
    "Potential invalid __shared__ read": {"exited-block"},
    "invalid memcpy_async": {"unwaited-copy", "read-after-write", "write-after-write"},
    "hazard|Race reported": RACES,
    "Invalid __": {"out-of-bounds", "misaligned"},
    "isaligned": {"misaligned"},
    "Divergent thread": {"barrier-divergence", "deadlock"},
    "Invalid arguments|Illegal instruction": {"warp-mask"},
    "Warp assert": {"assertion-failed"},
    "trap": {"trap"},
}
JUDGES = ("racecheck", "hazards", "memcheck", "synccheck")

ARRIVALS = (
    "bar.arrive orders what the arriving threads did before it (PTX ISA, producer-consumer example of bar)"
)
MERGED = (
    "the simulator reports one hazard for a reading line and its call line, and names the first of two writes"
)
ASYNCHRONOUS = (
    "synccheck takes the arrival of a copy for one of those that are counted; it raises the count first (PTX ISA, "
    "cp.async.mbarrier.arrive)"
)
RELEASED = "st.release and ld.acquire order them (PTX ISA, Memory Consistency Model)"
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
    ("mbarrier.copies", "unchanged"): ASYNCHRONOUS,
    ("cluster.three_dimensions", "unchanged"): RELEASED,
    ("wrong.gives_up", "unchanged"): "the same trap; the sanitizer names the line behind it",
}
"""(kernel, mutant): why the sanitizer's finding is none, or none that is missed."""


def case_of(row: dict) -> Case | WrongCase:
    """Known-wrong kernels are in the table as "wrong.NAME"."""
    if row["kernel"].startswith("wrong."):
        return next(case for case in WRONG if case.name == row["case"])
    return by_name(row["case"])


NOT_ENDED = {
    (f"lesson.{kernel}", tool)
    for kernel in ("saxpy", "mirror", "round_trip")
    for tool in ("synccheck", "initcheck")
}
"""They came after a mutant of producer_consumer that hung, in one process; not run again."""


def simulated(row: dict) -> Outcome:
    case = case_of(row)
    if isinstance(case, WrongCase):
        return judge_wrong(case)
    return outcome(row["case"], mutant_of(case, row["mutant"]).source)


def mutant_of(case: Case | WrongCase, mutant_name: str) -> Mutant:
    source = case.source
    if mutant_name == "unchanged":
        return Mutant("unchanged", "unchanged", 0, source)
    every = chain(mutants(source), mutate_hopper.mutants(source))
    return next(mutant for mutant in every if mutant.name == mutant_name)


def kinds_for(text: str) -> set[str]:
    return next((kinds for pattern, kinds in WANTED.items() if re.search(pattern, text)), set())


def missed(row: dict) -> list[str]:
    """The sanitizer's findings that the simulator lacks. None when a finding ended the simulated launch, or an access
    went out of bounds: on the GPU that hits another array, and more goes wrong."""
    hazards = simulated(row).hazards
    if any(kind in FATAL | BAD_ADDRESS for kind, _ in hazards) and not row["kernel"].startswith("wrong."):
        return []
    return [
        f"{tool}: {finding['text']} at lines {finding['lines']}"
        for tool in JUDGES
        for finding in row[tool]
        if not any(
            kind in kinds_for(finding["text"]) and (lines & set(finding["lines"]) or not finding["lines"])
            for kind, lines in hazards
        )
    ]


@pytest.mark.parametrize("row", ROWS)
def test_what_the_sanitizer_finds_the_simulator_finds(row):
    case = case_of(row)
    source = mutant_of(case, row["mutant"]).source
    if row["mutant"] == "unchanged" and isinstance(case, Case):
        source = case.own_source or source
    assert row["fingerprint"] == fingerprint(source, case.options), HOW_TO_RECORD
    alarm = FALSE_ALARMS.get((row["kernel"], row["mutant"]))
    assert bool(missed(row)) == bool(alarm), missed(row) or "listed as a false alarm, but nothing differs"


RIGHT = [
    row
    for row in ROWS
    if row.values[0]["mutant"] == "unchanged" and not row.values[0]["kernel"].startswith("wrong.")
]


@pytest.mark.parametrize("row", RIGHT)
def test_right_kernels_are_right_on_the_gpu_too(row):
    assert {end for tool, end in row["ends"].items() if (row["kernel"], tool) not in NOT_ENDED} == {"right"}


def test_there_are_enough_mutants():
    if not TABLE:
        missing(f"findings; {HOW_TO_RECORD}")
    assert sum(row["mutant"] != "unchanged" for row in TABLE) >= 60
