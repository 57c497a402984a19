"""What pyproject.toml asks for, and what the lock pins."""

import re
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hiding_latency.packages import FOLDERS
from tests.rules import ROOT

NVRTC_PARTS = {
    "cuda-bindings",
    "nvidia-cuda-nvrtc",
    "nvidia-cuda-runtime",
    "nvidia-cuda-cccl",
    "nvidia-cuda-crt",
    "nvidia-cuda-nvdisasm",
}


def project(folder: str = ".") -> dict:
    """What a distribution of ours says of itself."""
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


OURS = {project(folder)["name"]: folder for folder in FOLDERS}
"""Name of a distribution -> its folder."""


def requirements(*extras: str, of: str = ".") -> dict[str, Requirement]:
    """What the three ask others for, by name: the course, or the one in another folder, with the named extras, and what
    of ours it needs in turn."""
    lines = list(project(of)["dependencies"])
    for extra in extras:
        lines += project(of)["optional-dependencies"][extra]
    found = {}
    for each in map(Requirement, lines):
        name = canonicalize_name(each.name)
        found |= requirements(*each.extras, of=OURS[name]) if name in OURS else {name: each}
    return found


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
