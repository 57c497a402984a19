"""Which machine this is: `cp` (CuPy on a GPU, a stand-in on NumPy elsewhere) and the compile options."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

from .simulator import nvrtc

OPTIONS: tuple[str, ...] = ("--std=c++17", f"-I{Path(__file__).parent / 'include'}")
"""Compile options of every lesson: C++17 and the folder of the course's own headers."""


def __getattr__(name: str) -> ModuleType:
    """`cp`, found on first use: importing the course never imports CuPy."""
    if name != "cp":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if backend() == "cupy":
        return _cupy()
    from . import standin

    return standin


@cache
def backend() -> str:
    """Return "cupy" or "simulator". The environment variable COURSE_BACKEND overrides the choice."""
    wanted = os.environ.get("COURSE_BACKEND", "")
    if wanted not in ("", "cupy", "simulator"):
        raise ValueError(f"COURSE_BACKEND is {wanted!r}; allowed are 'cupy' and 'simulator', or unset it")
    if wanted == "cupy" and _gpu() is None:
        raise RuntimeError(
            f"COURSE_BACKEND=cupy, but {_why_simulated()}. With an NVIDIA GPU: pip install '.[cuda13]' (or "
            "'.[cuda12]' for a CUDA 12 driver). Without one: unset COURSE_BACKEND, and the simulator is used."
        )
    return wanted or ("simulator" if _why_simulated() else "cupy")


def show_env() -> None:
    """Print what this machine offers to the course, what is missing, and what works all the same."""
    simulated, gpu, cupy, compiler = backend() == "simulator", _gpu(), _cupy(), _nvrtc_version()
    if compiler:
        works = (
            "everything, simulated; measurements are recorded ones" if simulated else "everything, on the GPU"
        )
    else:
        works = "reading, recorded measurements; " + (
            "no kernels" if simulated else "kernels, without checks"
        )
    rows = {
        "backend": f"simulator: {_why_simulated()}" if simulated else "cupy",
        "GPU": "{}, compute capability {}.{}".format(*gpu) if gpu else "none used",
        "CuPy": cupy.__version__ if cupy else "none; only a GPU needs it",
        "NVRTC": compiler
        or "missing: "
        + (
            "NVIDIA makes none for macOS"
            if sys.platform == "darwin"
            else "pip install nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-cccl nvidia-cuda-crt"
        ),
        "works": works,
        "note": _conda_note(),
    }
    print("\n".join(f"{label:<9}{text}" for label, text in rows.items() if text))


@cache
def _cupy() -> ModuleType | None:
    """CuPy, or None where it is not installed or COURSE_BACKEND=simulator keeps it out."""
    if os.environ.get("COURSE_BACKEND") == "simulator":
        return None
    try:
        import cupy
    except ImportError:
        return None
    return cupy


@cache
def _gpu() -> tuple[str, int, int] | None:
    """Name and compute capability (major, minor) of the GPU that CuPy uses, or None."""
    cupy = _cupy()
    if cupy is None or not cupy.cuda.is_available():
        return None
    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    return properties["name"].decode(), properties["major"], properties["minor"]


def _why_simulated() -> str:
    """Why the lessons cannot run on a GPU here; "" where they can."""
    gpu = _gpu()
    if os.environ.get("COURSE_BACKEND") == "simulator":
        return "COURSE_BACKEND asks for it"
    if _cupy() is None:
        return "CuPy is not installed"
    if gpu is None:
        return "no NVIDIA GPU with a working driver was found"
    if gpu[1] < 8:
        return "{} has compute capability {}.{}, and cp.async needs 8.0".format(*gpu)
    return ""


def _nvrtc_version() -> str:
    try:
        return "{}.{}".format(*nvrtc.version())
    except nvrtc.NvrtcMissing:
        return ""


def _conda_note() -> str:
    """CuPy looks for CUDA headers in CONDA_PREFIX, which only activating the environment sets."""
    if not (Path(sys.prefix) / "conda-meta").is_dir() or os.environ.get("CONDA_PREFIX") == sys.prefix:
        return ""
    return (
        "this conda environment is not activated, so CuPy may fail to find the CUDA headers. Activate it\n"
        "         before you start Jupyter, or once inside it: "
        'python -m ipykernel install --user --name python3 --env CONDA_PREFIX "$CONDA_PREFIX"'
    )
