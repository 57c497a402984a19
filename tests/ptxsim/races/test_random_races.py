"""Random parallel programs in PTX: the simulator reports a race where the reference has one, and nowhere else.

`python -m research.random_races 0 20000` tries these seeds.
"""

import re

import pytest

from tests.ptxsim.races.happens_before import RULES, Program, Reference
from tests.ptxsim.races.random_programs import BulkGenerator, Generator, initial_data, run
from tests.sample import EVERY

PROGRAMS = 300 if EVERY else 100
BULK_PROGRAMS = 100 if EVERY else 50
TOGETHER = 50  # programs in one test
RACES = ("read-after-write", "write-after-read", "write-after-write", "block-conflict", "unwaited-copy")
ALLOWED = {"barrier-divergence"}
CHANCE = "order-dependent"
PROXY = "missing-proxy-fence"


def disagreement(program: Program, report, without: str = "") -> str:
    """What the simulator's report says and the reference does not, or the other way round; "" when they agree."""
    reference = Reference(program, without)
    races = {frozenset(pair) for pair in reference.races}
    maybe = races | {frozenset(pair) for pair in reference.maybe}
    reported = set()
    if wrong := disagreement_on_chance(program, reference, report):
        return wrong
    if wrong := disagreement_on_proxies(reference, report, maybe):
        return wrong
    for hazard in report.hazards:
        if hazard.kind in ALLOWED or hazard.kind in (CHANCE, PROXY):
            continue
        lines = {hazard.line, *map(int, re.findall(r"\bline (\d+)", hazard.message))}
        pair = frozenset(line - 1 for line in lines)
        if hazard.kind not in RACES or not any(pair >= race for race in maybe if hazard.line - 1 in race):
            return f"false alarm: {hazard}"
        reported |= pair
    # A write that races hides what lay there: it speaks for what comes behind it, too.
    spoken_for = {first for first, second in map(sorted_pair, races) if second in reported}
    missed = [sorted(race) for race in races if not race & reported and min(race) not in spoken_for]
    return f"missed: statements {missed[0]}" if missed else ""


def disagreement_on_chance(program: Program, reference: Reference, report) -> str:
    """The same for values of strong accesses that another order changes."""
    data = initial_data(program)
    may, must = reference.by_chance(lambda place: int(data[place[-1]]) if place[0] == "global" else 0)
    told = {
        hazard.line - 1: {int(line) - 1 for line in re.findall(r"\bline (\d+)", hazard.message)}
        for hazard in report.hazards
        if hazard.kind == CHANCE
    }
    for now, others in told.items():
        if not any((before, now) in may for before in others):
            return f"false chance: statements {others} and {now}"
    racing = {hazard.line - 1 for hazard in report.hazards if hazard.kind in RACES}  # which says it already
    missed = [pair for pair in sorted(must) if pair[1] not in told.keys() | racing]
    return f"missed chance: statements {missed[0]}" if missed else ""


def disagreement_on_proxies(reference: Reference, report, maybe: set[frozenset]) -> str:
    """The same for proxy fences. Of writes that race, the simulator knows one."""
    told = set()
    for hazard in report.hazards:
        if hazard.kind == PROXY:
            pairs = [(int(line) - 1, hazard.line - 1) for line in re.findall(r"\bline (\d+)", hazard.message)]
            if not set(pairs) & reference.unfenced:
                return f"false alarm: {hazard}"
            told.add(hazard.line - 1)
    racing = set().union(*maybe)
    missed = [pair for pair in sorted(reference.unfenced) if pair[1] not in told and not racing & set(pair)]
    return f"missed proxy fence: statements {missed[0]}" if missed else ""


def sorted_pair(race: frozenset) -> tuple[int, int]:
    """The earlier and the later statement of a race; they may be one."""
    return min(race), max(race)


def program_of(seed: int) -> Program:
    return Generator(seed).program()


def bulk_program_of(seed: int) -> Program:
    return BulkGenerator(seed).program()


ONCE_WRONG = (1146, 2839, 3597, 5348, 7772, 11253, 14441, 19778)
"""A source written behind a barrier, exited lanes of a mask, one value from many threads, atomics that take turns in
one instruction, one place that several threads copy to, a race that hides another one, a fence for the block behind one
for all, two copies to one place: the first programs that were judged wrongly."""


@pytest.mark.parametrize("seed", ONCE_WRONG)
def test_programs_that_were_once_judged_wrongly(seed):
    program = program_of(seed)
    assert not disagreement(program, run(program))


@pytest.mark.parametrize("first", range(0, PROGRAMS, TOGETHER))
def test_random_programs_race_where_the_reference_says(first):
    programs = {seed: program_of(seed) for seed in range(first, first + TOGETHER)}
    wrong = {
        seed: found for seed, program in programs.items() if (found := disagreement(program, run(program)))
    }
    assert not wrong, wrong


SHOWN_BY = {
    "barrier": 1, "source in flight": 2, "atomic": 3, "warp sync": 8, "scope": 9, "exit": 14, "same value": 17,
    "wait": 37, "arrive": 89, "message": 90, "fence of others": 90,
    "heard": 98, "meant": 3,
}  # fmt: skip
"""For each rule of the reference the first program that needs it."""
BULK_SHOWN_BY = {"proxy fence": 0, "proxy order": 2}
"""The same among those with bulk stores."""


def test_each_rule_of_the_reference_is_needed():
    assert SHOWN_BY.keys() | BULK_SHOWN_BY.keys() == set(RULES)
    for shown_by, make in ((SHOWN_BY, program_of), (BULK_SHOWN_BY, bulk_program_of)):
        for rule, seed in shown_by.items():
            program = make(seed)
            assert disagreement(program, run(program), without=rule), rule


@pytest.mark.parametrize("first", range(0, BULK_PROGRAMS, TOGETHER))
def test_random_programs_lack_proxy_fences_where_the_reference_says(first):
    programs = {seed: bulk_program_of(seed) for seed in range(first, first + TOGETHER)}
    wrong = {
        seed: found for seed, program in programs.items() if (found := disagreement(program, run(program)))
    }
    assert not wrong, wrong
