"""The Python packages of this repository, from the bottom up: what an installed course consists of. And the settings in
its pyproject.toml."""

import tomllib
from pathlib import Path
from typing import Any

PACKAGES = (
    "ptxsim",
    "cupy_or_sim",
    "matmul",
    "course_lib",
    "hiding_latency",
)


def pyproject(root: Path = Path(__file__).parents[1]) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
