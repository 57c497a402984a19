"""For pytest. In conftest.py: `pytest_plugins = ["ptxsim.program.fixture"]`; then a test asks for `cuda_program` or
`no_hazards`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from ..front.report import Report
from .report import ProgramReport
from .run import run

Found = TypeVar("Found", Report, ProgramReport)


@pytest.fixture
def cuda_program() -> Callable[..., ProgramReport]:
    """Takes what `ptxsim.program.run` takes, and fails the test with the report if anything was found."""

    def check(*sources: Any, **how: Any) -> ProgramReport:
        return _without_findings(run(*sources, **how))

    return check


@pytest.fixture
def no_hazards() -> Callable[[Report], Report]:
    """Takes the report of a launch (of `ptxsim.launch`, `ptxsim.triton`, `ptxsim.numba`), and fails the test with it if
    anything was found."""
    return _without_findings


def _without_findings(report: Found) -> Found:
    if not report.ok:
        pytest.fail(str(report), pytrace=False)
    return report
