"""How many registers ptxas gives a kernel: what occupancy depends on."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from ..compiler.nvrtc import parse_resources
from ..gpus import Gpu
from .compile import tool_beside_nvcc
from .modules import Function

GUESS = 32
"""Where there is no ptxas, or it refuses the text."""


def registers_of(function: Function, gpu: Gpu) -> int:
    try:
        return parse_resources(_log(function.module.text, gpu.arch), function.entry).registers
    except (OSError, ValueError):
        return GUESS


@cache
def _log(text: str, arch: str) -> str:
    """What ptxas says of all kernels of a text."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "module.ptx")
        file.write_text(text, encoding="utf-8")
        wanted = arch + "a" if f".target {arch}a" in text else arch
        command = [tool_beside_nvcc("ptxas"), "-v", f"-arch={wanted}", "-o", f"{folder}/cubin", str(file)]
        return subprocess.run(command, capture_output=True, errors="surrogateescape", check=False).stderr
