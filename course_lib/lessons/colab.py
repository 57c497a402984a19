"""Google Colab: what a notebook's first cell there does, once it has fetched the course."""

import importlib
import subprocess
import sys

from ptxsim.compiler import nvrtc

PACKAGES = (
    "cuda-bindings==12.9.*",
    "cuda-pathfinder",
    "nvidia-cuda-nvrtc-cu12==12.9.*",
    "nvidia-cuda-runtime-cu12==12.9.*",
    "nvidia-cuda-cccl-cu12==12.9.*",
    "nvidia-cuda-nvcc-cu12==12.9.*",
    "nvidia-cuda-nvdisasm>=13.2,<14",
)
"""The compiler of CUDA 12, because Colab's own CuPy is for CUDA 12 and would take a newer one that it finds."""


def prepare() -> None:
    """Install NVRTC where there is none; lessons that are not edited run without it. Never installs a CuPy."""
    try:
        nvrtc.version()
    except nvrtc.NvrtcMissing:
        # or it would change Colab's own packages
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps"]
        subprocess.run([*pip, *PACKAGES], check=True)
        importlib.invalidate_caches()
