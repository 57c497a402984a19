"""The kernels of lesson 07 with one small mistake each: the simulator reports it, or the numbers are wrong.

What survives is listed with the reason.
"""

import pytest

from tests.kernels.hopper_lessons import CASES
from tests.ptxsim.races.judged import outcome
from tests.ptxsim.races.mutate_hopper import mutants
from tests.sample import sample

SURVIVE: dict[tuple[str, str], str] = {}
"""(case, mutant) -> why it does the same."""

# a persistent one, and one with a block for each tile
RIGHT = sample(CASES[::-1], lambda case: len(case.grid))
EVERY = [(case, mutant) for case in CASES[::-1] for mutant in mutants(case.source)]


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: case.name)
def test_the_kernel_itself_is_right(case):
    assert outcome(case.name, case.source).found == ""


@pytest.mark.parametrize(
    ("case", "mutant"),
    [
        pytest.param(*each, id=f"{each[0].kernel}: {each[1].name}")
        for each in sample(EVERY, lambda each: each[1].rule)
    ],
)
def test_each_mistake_is_found(case, mutant):
    assert bool(outcome(case.name, mutant.source).found) != ((case.name, mutant.name) in SURVIVE)
