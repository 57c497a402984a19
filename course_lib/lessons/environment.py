"""What this machine offers to the course, what is missing, and what works all the same."""

import os
import re
import sys
from importlib import metadata
from pathlib import Path

from cupy_or_sim import device
from ptxsim.compiler import nvrtc


def show_env() -> None:
    """Print what this machine offers to the course, what is missing, and what works all the same."""
    simulated, (cupy, gpu, reason) = device.backend() == "simulator", device.machine()
    works = "everything, simulated; measurements are recorded ones" if simulated else "everything, on the GPU"
    if not simulated and re.search(r" 7\.\d$", gpu):
        works = "lessons 00 and 01 on the GPU; the others, which copy with cp.async, in the simulator"
    try:
        compiler = "{}.{}".format(*nvrtc.version())
    except nvrtc.NvrtcMissing:
        why = {"darwin": "NVIDIA makes none for macOS", "emscripten": "a browser has none"}
        compiler = "missing: " + why.get(sys.platform, "`make install` installs it")
        works = f"the lessons as they are; kernels that you edit {'do not run' if simulated else 'are not checked'}"
        if sys.platform == "emscripten":
            works = "the lessons, simulated, measurements recorded; edited kernels if `make serve` serves this page"
    print("course  ", _version())
    print("backend ", f"simulator: {reason}" if simulated else "cupy")
    print("GPU     ", gpu or "none used")
    print("CuPy    ", cupy.__version__ if cupy else "none; only a GPU needs it")
    print("NVRTC   ", compiler)
    print("works   ", works)
    # CuPy looks for CUDA headers in CONDA_PREFIX, which only activating the environment sets.
    if (Path(sys.prefix) / "conda-meta").is_dir() and os.environ.get("CONDA_PREFIX") != sys.prefix:
        print("note     this conda environment is not activated, so CuPy may not find the CUDA headers.")
        print("         Activate it before you start Jupyter, or once inside it:")
        print('         python -m ipykernel install --user --name python3 --env CONDA_PREFIX "$CONDA_PREFIX"')


def measures_here(command: str) -> bool:
    """Whether this machine can do what measures on a GPU; if not, it is said."""
    if device.backend() == "cupy":
        return True
    told = f"{command} measures on a GPU, and this machine has none that the course can use:"
    print(told, file=sys.stderr)
    show_env()
    return False


def _version() -> str:
    try:
        return metadata.version("hiding-latency")
    except metadata.PackageNotFoundError:
        return "not installed, used from its folder"
