"""For pytest. In conftest.py: `pytest_plugins = ["ptxsim.program.fixture"]`; then a test asks for `cuda_program`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .report import ProgramReport
from .run import run


@pytest.fixture
def cuda_program() -> Callable[..., ProgramReport]:
    """Takes what `ptxsim.program.run` takes, and fails the test with the report if anything was found."""

    def check(*sources: Any, **how: Any) -> ProgramReport:
        report = run(*sources, **how)
        if not report.ok:
            pytest.fail(str(report), pytrace=False)
        return report

    return check
