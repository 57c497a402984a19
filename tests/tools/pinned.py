"""What pyproject.toml asks for, and what the lock pins."""

import re
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.rules import ROOT

NVRTC_PARTS = {
    "cuda-bindings",
    "nvidia-cuda-nvrtc",
    "nvidia-cuda-runtime",
    "nvidia-cuda-cccl",
    "nvidia-cuda-crt",
    "nvidia-cuda-nvdisasm",
}


def requirements(*extras: str) -> dict[str, Requirement]:
    """What pyproject.toml asks for, by name: the default and the named extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = list(project["dependencies"])
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    return {canonicalize_name(r.name): r for r in map(Requirement, lines)}


def pins(text: str) -> dict[str, str]:
    """Names and versions of a lock; raises ValueError on a line that is anything else."""
    found = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        match = re.fullmatch(r'([a-z0-9-]+)==([0-9a-z.]+)( ; sys_platform == "(darwin|win32)")?', line)
        if not match:
            raise ValueError(f"not a name, a version and nothing else: {line!r}")
        if match[1] in found:
            raise ValueError(f"{match[1]} is there twice")
        found[match[1]] = match[2]
    return found


def lock() -> dict[str, str]:
    return pins((ROOT / "requirements.lock").read_text(encoding="utf-8"))
