"""The kernels of tests/kernels/tcgen05_cases.py: nothing is reported, and the numbers are those of the rules; and a
B200's, once somebody has run `python -m research.record_tcgen05` there and its files lie in tests/golden."""

import pytest

from tests.kernels.case import fingerprint, mismatch
from tests.kernels.golden import load
from tests.kernels.tcgen05_cases import CASES, FROZEN
from tests.ptxsim.test_kernels import assert_right, simulate
from tests.sample import one_in


@pytest.mark.parametrize("case", one_in(4, CASES), ids=lambda case: case.name)
def test_it_gives_what_the_rules_say_and_what_a_gpu_gave(case):
    before, args, report = simulate(case)
    assert_right(case, before, args, report)
    assert not report.notes, str(report)
    if (frozen := load(FROZEN)) and case.name in frozen.cases:
        assert frozen.cases[case.name]["fingerprint"] == fingerprint(case)
        for index, expected in frozen.outputs(case.name).items():
            assert not (wrong := mismatch(case, index, expected, args[index])), wrong
