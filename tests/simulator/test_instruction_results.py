"""Single instructions, run by the simulator from inline PTX, give what an H100 gives."""

import pytest

from tests.kernels.adapt import from_instruction
from tests.kernels.instruction_cases import CASES
from tests.simulator.test_kernels import FROZEN, HOW_TO_RECORD, assert_as_frozen, assert_current, simulate


@pytest.mark.parametrize("instruction", CASES, ids=lambda case: case.name)
def test_instruction_runs_and_gives_the_frozen_result(instruction):
    case = from_instruction(instruction)
    _, args, report = simulate(case)
    assert report.ok, str(report)
    assert_as_frozen(case, args, report)


def test_frozen_results_are_current():
    if FROZEN is None:
        pytest.skip(f"no frozen results; {HOW_TO_RECORD}")
    for instruction in CASES:
        assert_current(from_instruction(instruction))
