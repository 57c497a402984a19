"""Which machine this is: `cp` (CuPy on a GPU, a stand-in on NumPy elsewhere) and the compile options."""

import hashlib
import os
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

INCLUDE = Path(__file__).parent / "include"
_HEADERS = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(INCLUDE.rglob("*.cuh"))))

HEADERS = "-DCOURSE_HEADERS="
OPTIONS: tuple[str, ...] = ("--std=c++17", f"-I{INCLUDE}", f"{HEADERS}0x{_HEADERS.hexdigest()[:8]}")
"""Compile options of every lesson: C++17 and the folder of the course's own headers. Nothing uses the last one;
it makes CuPy, which keeps compiled kernels on disk, compile them again when a header was edited."""
HOPPER: tuple[str, ...] = (*OPTIONS, "-arch=sm_90a")
"""Compile options of lesson 07: wgmma is in no other architecture, not even in a later one. All else of that lesson
(mbarrier, TMA, multicast, clusters, stmatrix, setmaxnreg) is in sm_100a and sm_120a as well: on such a GPU CuPy adds
its own -arch behind these options, and NVRTC takes the last one and keeps the "a"."""
BLACKWELL: tuple[str, ...] = (*OPTIONS, "-arch=sm_100a")
"""Compile options of lesson 11: tcgen05 is in no architecture before, and not in sm_120."""
_OF_BLACKWELL = re.compile(r"#include <course/tcgen05")
_OF_HOPPER = re.compile(r"#include <course/(mbarrier|tma|cluster|wgmma|attention)")


def options_for(source: str) -> tuple[str, ...]:
    """BLACKWELL for a kernel that includes the header of lesson 11, HOPPER for one that includes those of lesson 07,
    OPTIONS for any other."""
    if _OF_BLACKWELL.search(source):
        return BLACKWELL
    return HOPPER if _OF_HOPPER.search(source) else OPTIONS


def __getattr__(name: str) -> ModuleType:
    """`cp`, found on first use: importing the course never imports CuPy."""
    if name != "cp":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if backend() == "cupy" and (cupy := machine()[0]):
        return cupy
    from . import cupy_on_numpy

    return cupy_on_numpy


@cache
def backend() -> str:
    """Return "cupy" or "simulator". The environment variable COURSE_BACKEND overrides the choice."""
    wanted = os.environ.get("COURSE_BACKEND", "")
    if wanted not in ("", "cupy", "simulator"):
        raise ValueError(f"COURSE_BACKEND is {wanted!r}; allowed are 'cupy' and 'simulator', or unset it")
    _, gpu, reason = machine()
    if wanted == "cupy" and not gpu:
        raise RuntimeError(
            f"COURSE_BACKEND=cupy, but {reason}. With an NVIDIA GPU: `make EXTRA=cuda13`, or EXTRA=cuda12 for a "
            "CUDA 12 driver. Without one: unset COURSE_BACKEND, and the simulator is used."
        )
    return wanted or ("simulator" if reason else "cupy")


def only_on(capability: str, or_newer: bool = False) -> None:
    """From here on everything runs in the simulator, unless the GPU has just this compute capability, say "9.0".

    `or_newer`: a higher one will do as well. Where a call changes something it is printed. Import `cp` behind it.
    """
    if backend() != "cupy":
        return
    gpu = machine()[1]
    mine, wanted = (tuple(map(int, text.split()[-1].split("."))) for text in (gpu, capability))
    if mine != wanted and not (or_newer and mine > wanted):
        os.environ["COURSE_BACKEND"] = "simulator"
        backend.cache_clear()
        machine.cache_clear()
        print(f"{gpu}. What follows needs {capability}{' or newer' * or_newer}: it runs in the simulator.")


@cache
def machine() -> tuple[ModuleType | None, str, str]:
    """CuPy where there is one; the GPU in words; why it is not used, "" where it is."""
    if os.environ.get("COURSE_BACKEND") == "simulator":
        return None, "", "COURSE_BACKEND asks for it"
    try:
        import cupy
    except ImportError:
        browser = sys.platform == "emscripten"
        return None, "", "a browser reaches no GPU with CUDA" if browser else "CuPy is not installed"
    if not cupy.cuda.is_available():
        return cupy, "", "no NVIDIA GPU with a working driver was found"
    about = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    gpu = f"{about['name'].decode()}, compute capability {about['major']}.{about['minor']}"
    old = f"compute capability 7.5 is needed, for most kernels 8.0, and this is {gpu}"
    return cupy, gpu, "" if (about["major"], about["minor"]) >= (7, 5) else old
