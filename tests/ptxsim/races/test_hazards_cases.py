"""Kernels with one known mistake: the report names its kind, the learner's line, the thread and the array."""

import re
from collections import Counter

import pytest

from ptxsim.races import hazards
from tests.kernels.cases import WRONG

KINDS = {kind.name for kind in hazards.KINDS} - {"unsupported-instruction"}
ELSEWHERE = {"order-dependent", "unwaited-tcgen05", "not-given-back", "tensor-memory"}
HOMES = "write them in known_wrong.py, orders.py or hopper_wrong.py of tests/kernels"
every_mistake = pytest.mark.parametrize("case", WRONG, ids=lambda case: f"{case.kind}:{case.name}")


def simulate(case):
    from ptxsim import compile, launch

    kernel = compile(case.source, case.name, case.options)
    return launch(
        kernel, case.grid, case.block, case.make(), shared_mem=case.shared_mem, max_steps=case.max_steps
    )


@every_mistake
def test_mistake_is_reported_where_it_is(case):
    report = simulate(case)
    assert not report.ok
    assert [hazard.kind for hazard in report.hazards] == [case.kind, *case.follows], str(report)
    hazard = report.hazards[0]
    assert hazard.line in case.lines("HERE"), str(report)
    assert hazard.call_line in (case.lines("CALLER") or {None}), str(report)
    assert hazard.count >= 1


@every_mistake
def test_message_names_the_thread_and_the_array(case):
    message = simulate(case).hazards[0].message
    if case.kind != "step-limit":
        assert re.search(r"\bthread \(?\d", message) and re.search(r"\bblock \(?\d", message), message
    if case.array:
        name, shape = case.array
        assert re.search(rf"\b{name}\b", message) and str(shape) in message, message


def test_every_kind_has_two_kernels():
    """But one, of which compute-sanitizer knows nothing: test_dependent.py has its kernels. Those of tensor memory are
    in test_tensor_memory.py."""
    kernels = Counter(case.kind for case in WRONG)
    few = {kind: kernels[kind] for kind in KINDS - ELSEWHERE if kernels[kind] < 2}
    assert not few, f"kernels of a kind are two or more, and there are {few}: {HOMES}"
    assert kernels.keys() <= KINDS - ELSEWHERE
