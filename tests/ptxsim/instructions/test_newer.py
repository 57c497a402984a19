"""Instructions of tests/kernels/newer.py: nothing is reported, and the numbers are NumPy's."""

import pytest

from tests.kernels.newer import CASES
from tests.ptxsim.test_kernels import assert_right, simulate


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_gives_the_reference_and_no_report(case, seed):
    assert_right(case, *simulate(case, seed))
