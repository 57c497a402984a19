"""What becomes of a kernel, right or mutated, in the simulator: simulated once, however many tests ask."""

import re
from dataclasses import dataclass
from functools import cache

from ptxsim import Kernel, Report, compile, launch
from tests.kernels.case import Case, WrongCase, mismatch
from tests.kernels.to_mutate import by_name

MAX_STEPS = 1_000_000


@dataclass(frozen=True)
class Outcome:
    """`hazards`: the kind of each and the source lines that it names. `right`: the numbers are those of NumPy."""

    hazards: tuple[tuple[str, frozenset[int]], ...]
    right: bool
    wavefronts: int

    @property
    def found(self) -> str:
        """The most serious hazard, or "wrong numbers", or "" """
        return self.hazards[0][0] if self.hazards else "" if self.right else "wrong numbers"


@cache
def outcome(case_name: str, source: str, seed: int | None = None) -> Outcome:
    """Launch `source` as the case of this name is launched; `seed` chooses another order of the warps."""
    case = by_name(case_name)
    args = case.make()
    report = launch(
        build(case, source), case.grid, case.block, args, shared_mem=case.shared_mem, max_steps=MAX_STEPS, seed=seed
    )  # fmt: skip
    right = not any(mismatch(case, i, x, args[i]) for i, x in case.reference(case.make()).items())
    return Outcome(findings(report), right, report.counters.total.shared_wavefronts)


@cache
def judge_wrong(case: WrongCase) -> Outcome:
    """What becomes of a known-wrong kernel; nobody knows its right numbers."""
    kernel = compile(case.source, case.name, case.options)
    report = launch(
        kernel, case.grid, case.block, case.make(), shared_mem=case.shared_mem, max_steps=case.max_steps
    )  # fmt: skip
    return Outcome(findings(report), True, 0)


def findings(report: Report) -> tuple[tuple[str, frozenset[int]], ...]:
    return tuple((hazard.kind, lines_of(hazard)) for hazard in report.hazards)


def build(case: Case, source: str) -> Kernel:
    """The kernel of a case made from this source. Raises CompileError."""
    return compile(source, case.kernel, case.options, case.name_expressions)


def lines_of(hazard) -> frozenset[int]:
    """The line of a hazard, the line that called it, and those that its message names."""
    named = {int(number) for number in re.findall(r"\bline (\d+)", hazard.message)}
    return frozenset({hazard.line, hazard.call_line, *named} - {None})
