"""The Python packages of this repository, from the bottom up: what an installed course consists of. And the settings in
its pyproject.toml."""

import re
import shlex
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

FOLDERS = ("ptxsim", "matmul", ".")
"""Of the three distributions, each behind those that it depends on; in each lies a pyproject.toml."""
PACKAGES = ("ptxsim", "cupy_or_sim", "matmul", "course_lib", "hiding_latency")


def pyproject(root: Path = Path(__file__).parents[1]) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def brings(extra: str) -> str:
    """What to type for the packages of an extra, each by its own name: the course's name is on no index."""
    return f"pip install {shlex.join(_asked(extra))}"


def _asked(extra: str) -> list[str]:
    if (Path(__file__).parents[1] / "pyproject.toml").is_file():
        asked: list[str] = pyproject()["project"]["optional-dependencies"][extra]
        return asked
    lines = (
        re.fullmatch(r"(.*?) *; *extra == .(\w+).", line)
        for line in metadata.requires("hiding-latency") or ()
    )
    return [line[1] for line in lines if line and line[2] == extra]
