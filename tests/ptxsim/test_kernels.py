"""The simulator on small CUDA kernels: nothing is reported, and the numbers are NumPy's and an H100's."""

from dataclasses import replace

import numpy as np
import pytest

from tests.kernels.case import fingerprint, mismatch, same_text
from tests.kernels.cases import CASES
from tests.kernels.golden import HOW_TO_RECORD, load
from tests.rules import missing
from tests.sample import one_in

FROZEN = load()

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def simulate(case, seed=None):
    """Run `case`; returns (arguments before, arguments after, report)."""
    from ptxsim import compile, launch

    kernel = compile(case.source, case.kernel, case.options, case.name_expressions)
    before, args = case.make(), case.make()
    report = launch(
        kernel, case.grid, case.block, args, case.shared_mem, seed=seed, cooperative=case.cooperative
    )
    return before, args, report


def assert_right(case, before, args, report):
    assert report.ok, str(report)
    for index, expected in case.reference(before).items():
        assert not (wrong := mismatch(case, index, expected, args[index])), wrong
    assert same_text(case.prints, report.output), report.output


def assert_as_frozen(case, args, report):
    """The same as on the H100, if its result is there (see `assert_current`)."""
    if FROZEN is None or case.name not in FROZEN.cases:
        return
    for index, expected in FROZEN.outputs(case.name).items():
        wrong = mismatch(case, index, expected, args[index])
        assert not wrong, f"differs from the H100: {wrong}"
    assert same_text(FROZEN.cases[case.name]["prints"], report.output)


def assert_current(*cases):
    """Each case has a frozen result, and it belongs to this source, launch and inputs. Where some have none the rest is
    compared all the same."""
    frozen = FROZEN.cases if FROZEN else {}
    there = [case for case in cases if case.name in frozen]
    changed = [case.name for case in there if frozen[case.name]["fingerprint"] != fingerprint(case)]
    assert not changed, (
        f"source, launch or inputs changed after the result was frozen: {changed}; {HOW_TO_RECORD}"
    )
    if new := [case.name for case in cases if case.name not in frozen]:
        missing(f"result: {new}; {HOW_TO_RECORD}")


@every_case
def test_right_kernel_gives_the_reference_and_no_report(case):
    before, args, report = simulate(case)
    assert_right(case, before, args, report)
    assert_as_frozen(case, args, report)


@pytest.mark.parametrize("seed", one_in(2, [1, 2]))
@pytest.mark.parametrize("case", [case for case in CASES if case.cheap], ids=lambda case: case.name)
def test_other_orders_of_warps_change_nothing(case, seed):
    assert_right(case, *simulate(case, seed))


@pytest.mark.parametrize("case", one_in(4, CASES), ids=lambda case: case.name)
def test_a_launch_that_is_only_computed_gives_the_same(case):
    from ptxsim import compile
    from ptxsim.front.arguments import bind
    from ptxsim.front.launch import launch_bound
    from ptxsim.machine.launched import Flags

    kernel = compile(case.source, case.kernel, case.options, case.name_expressions)
    before, args = case.make(), case.make()
    grid, block = ((*each, 1, 1)[:3] for each in (case.grid, case.block))
    flags = Flags(cooperative=case.cooperative, judged=False)
    report = launch_bound(kernel, grid, block, bind(kernel, args), case.shared_mem, flags=flags)
    assert_right(case, before, args, report)


@every_case
def test_frozen_result_is_current(case):
    assert_current(case)


@every_case
def test_reference_rejects_a_kernel_that_does_nothing(case):
    args = case.make()
    expected = case.reference(args)
    assert expected or case.prints
    for index, array in expected.items():
        assert mismatch(case, index, array, args[index])


def test_a_case_without_a_frozen_result_hides_no_stale_one(monkeypatch):
    new, stale, good = (replace(CASES[0], name="new"), replace(CASES[1], block=(1,)), CASES[2])
    with pytest.raises(AssertionError, match=rf"changed after the result was frozen: \['{stale.name}'\]"):
        assert_current(new, stale, good)
    monkeypatch.delenv("COURSE_NOTHING_MISSING", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"no frozen result: \['new'\]"):
        assert_current(new, good)
    monkeypatch.setenv("COURSE_NOTHING_MISSING", "1")
    with pytest.raises(pytest.fail.Exception, match=r"no frozen result: \['new'\]"):
        assert_current(new, good)


def test_a_new_case_in_a_shared_source_makes_no_other_stale():
    case = CASES[0]
    alone = replace(case, own_source=case.source)
    assert fingerprint(alone) == fingerprint(
        replace(alone, source=case.source + "__global__ void other() {}")
    )
    assert fingerprint(alone) != fingerprint(
        replace(alone, own_source=case.source + "__global__ void other() {}")
    )


def test_names_are_unique_and_cases_many():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) >= 28


def test_a_single_wrong_bit_or_nan_is_a_mismatch():
    exact = next(case for case in CASES if case.exact)
    close = next(case for case in CASES if not case.exact)
    right = np.linspace(1, 2, 5, dtype="f4")
    one_bit, with_nan = right.copy(), right.copy()
    one_bit.view("u4")[3] ^= 1
    with_nan[2] = np.nan
    assert mismatch(exact, 0, right, one_bit) and not mismatch(close, 0, right, one_bit)
    assert mismatch(exact, 0, right, with_nan) and mismatch(close, 0, right, with_nan)
    assert mismatch(exact, 0, np.float32([0.0]), np.float32([-0.0]))
    assert mismatch(exact, 0, right, right.astype("f8")) and not mismatch(exact, 0, right, right.copy())
