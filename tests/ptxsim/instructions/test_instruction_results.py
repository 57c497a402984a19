"""Single instructions, run by the simulator from inline PTX, give what an H100 gives."""

import pytest

from tests.kernels.adapt import from_instruction
from tests.kernels.instruction_cases import CASES
from tests.ptxsim.test_kernels import assert_as_frozen, assert_current, simulate


@pytest.mark.parametrize("instruction", CASES, ids=lambda case: case.name)
def test_instruction_runs_and_gives_the_frozen_result(instruction):
    case = from_instruction(instruction)
    _, args, report = simulate(case)
    assert report.ok, str(report)
    assert_as_frozen(case, args, report)


def test_frozen_results_are_current():
    assert_current(*map(from_instruction, CASES))
