"""The verdict on a case: what was told of its faulty form, and what became of the mended one."""

import traceback

import numpy as np

import ptxsim
from tests.bugs.case import Case
from tests.sample import one_in

ORDERS = (None, 1, 2, 3)
"""Seeds: orders of the warps."""
GOOD = {"found", "as on GPU", "noted"}
"""Of a faulty form. Of a mended one: clean."""
BY_CHANCE = {"found", "MISSED (numbers right)"}

Told = dict[int | None, str]
"""{order: what was told}"""


def judged(case) -> tuple[bool, str]:
    """Whether all is told as it should be, and what was told, for who wants to know why not. What is no `Case` has two
    methods, `told` and `told_mended`, which get a list for messages and say what a `Case` gets in one order."""
    messages: list[str] = []
    if isinstance(case, Case):
        told, mended = in_all_orders(case, messages)
    else:
        told, mended = ({None: _guarded(form, messages)} for form in (case.told, case.told_mended))
    forms = set(told.values())
    good = forms <= GOOD or (getattr(case, "chance", False) and "found" in forms <= BY_CHANCE)
    words = f"faulty: {_short(told)}; mended: {_short(mended)}"
    return good and set(mended.values()) <= {"clean"}, "\n".join([words, *messages])


def in_all_orders(case: Case, messages: list[str]) -> tuple[Told, Told]:
    """Both forms in each order."""
    told: Told = {}
    mended: Told = {}
    for seed in one_in(3, ORDERS):
        if not case.only_mended:
            told[seed] = _guarded(_faulty, case, seed, messages)
        mended[seed] = _guarded(_mended, case, seed, messages)
    return told, mended


def _guarded(form, *given) -> str:
    try:
        return form(*given)
    except (ptxsim.LaunchError, ptxsim.CompileError) as error:
        given[-1].append(f"refused: {error}")
        return "refused"
    except Exception:
        given[-1].append(traceback.format_exc())
        return "crash"


def _launched(case, mended, seed):
    """(report, whether the numbers are right)"""
    kernel = ptxsim.compile(case.form(mended), "k", case.options)
    args, want = case.args(mended), case.want(case.args(mended))
    report = ptxsim.launch(
        kernel, case.grid, case.block, args, case.shared, seed=seed, cooperative=case.cooperative
    )
    return report, all(np.array_equal(np.ravel(args[i]), np.ravel(right)) for i, right in want)


def _names(hazard) -> set[str]:
    return {hazard.kind, hazard.cause}


def _faulty(case, seed, messages) -> str:
    report, right = _launched(case, False, seed)
    numbers = "right" if right else "wrong"
    if seed is None:
        messages.append(f"{report}\n  numbers {numbers}")
    marks = case.marked(False)
    lines = {line for mark in case.lines.split() for line in marks.get(mark, ())}
    hits = [hazard for hazard in report.hazards if _names(hazard) & set(case.kinds)]
    placed = [hazard for hazard in hits if not case.lines or {hazard.line, hazard.call_line} & lines]
    if any(word in hazard.message for hazard in report.hazards for word in case.unwanted):
        return "found, misleading"
    if any(hazard.kind == "unsupported-instruction" for hazard in report.hazards):
        return "refused"
    if placed:
        named = not case.words or any(word in each.message for each in placed for word in case.words)
        return "found" if named else "found, words lack"
    if any(word in note for note in report.notes for word in case.note):
        return "noted"
    if hits:
        return "wrong line"
    if not case.kinds:
        return "FALSE ALARM" if report.hazards else "MISSED (numbers right)" if right else "as on GPU"
    return "wrong kind" if report.hazards else f"MISSED (numbers {numbers})"


def _mended(case, seed, messages) -> str:
    report, right = _launched(case, True, seed)
    if any(not _names(hazard) & set(case.allowed_mended) for hazard in report.hazards):
        messages.append(f"mended, order {seed}: {report}")
        return "FALSE ALARM"
    return "clean" if right else "WRONG NUMBERS"


def _short(told: Told) -> str:
    verdicts = list(told.values())
    kinds = dict.fromkeys(verdicts)
    return (
        ", ".join(kinds if len(kinds) == 1 else (f"{verdicts.count(kind)} {kind}" for kind in kinds)) or "-"
    )
