"""Names that CUDA had until version 13: those that headers/cuda12/ supplies, and what is said of the others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

SINCE = 13000
"""The version that has them no more."""
_FUNCTORS = "Equality|Inequality|Sum|Difference|Division|Max|Min"
_ITERATORS = "(?:Counting|Constant|Transform)InputIterator|DiscardOutputIterator"
_MACROS = "MAX|MIN|QUOTIENT_FLOOR|QUOTIENT_CEILING|ROUND_UP_NEAREST|ROUND_DOWN_NEAREST"
_PROPERTIES = (
    "clockRate|memoryClockRate|computeMode|deviceOverlap|kernelExecTimeoutEnabled|singleToDoublePrecisionPerfRatio"
    "|cooperativeMultiDeviceLaunch|maxTexture1DLinear"
)
_SUPPLIED = re.compile(
    r"\bcudaThread(?:Synchronize|Exit|[GS]etLimit|[GS]etCacheConfig)\b"
    rf"|(?<=\.)(?:{_PROPERTIES})\b|(?<=->)(?:{_PROPERTIES})\b"
    rf"|\bcub::(?:{_FUNCTORS}|{_ITERATORS})\b|\bCUB_(?:{_MACROS})\b"
    r"|\bthrust::(?:unary_function|binary_function|identity)\b"
    r"|(?<=[<\"])nvToolsExt\.h"
)
_COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|(#\s*include[^\n]*)|"(?:\\.|[^"\\\n])*"', re.S)

MULTI_DEVICE = "launch the kernel once for each device"
TEXTURES = "make a texture object, by cudaCreateTextureObject"
ASYNC = "call the algorithm with thrust::cuda::par_nosync"
GONE = {
    "cudaLaunchCooperativeKernelMultiDevice": (13, MULTI_DEVICE),
    "cudaLaunchParams": (13, MULTI_DEVICE),
    "multi_grid_group": (13, MULTI_DEVICE),
    "this_multi_grid": (13, MULTI_DEVICE),
    "cudaSetDoubleForDevice": (13, "leave it out: it does nothing"),
    "cudaSetDoubleForHost": (13, "leave it out: it does nothing"),
    "cub/grid/grid_barrier.cuh": (13, "launch cooperatively, with this_grid().sync()"),
    "GridBarrier": (13, "launch cooperatively, with this_grid().sync()"),
    "cub/device/device_spmv.cuh": (13, "write the product as a kernel of your own"),
    "DeviceSpmv": (13, "write the product as a kernel of your own"),
    "cub/util_compiler.cuh": (13, "leave it out"),
    "cub/host/mutex.cuh": (13, "take std::mutex"),
    "thrust/optional.h": (13, "take cuda::std::optional of <cuda/std/optional>"),
    "thrust/limits.h": (13, "take cuda::std::numeric_limits of <cuda/std/limits>"),
    "thrust/event.h": (13, ASYNC),
    "thrust/future.h": (13, ASYNC),
    "thrust/async": (13, ASYNC),
    "cudaBindTexture": (12, TEXTURES),
    "cudaBindTexture2D": (12, TEXTURES),
    "cudaBindTextureToArray": (12, TEXTURES),
    "cudaUnbindTexture": (12, TEXTURES),
    "textureReference": (12, TEXTURES),
    "texture": (12, TEXTURES),
    "surface": (12, "read and write the array itself, as surfaces are not simulated"),
    "cuda_texture_types.h": (13, "leave it out"),
    "cuda_surface_types.h": (13, "leave it out"),
    "texture_fetch_functions.h": (13, "leave it out"),
    "surface_functions.h": (13, "leave it out"),
    "nvToolsExt.h": (13, "include <nvtx3/nvToolsExt.h>, which needs no library"),
}
"""What CUDA has no more and nobody supplies: the version that has it no more, and what helps."""
WAITING_KERNEL = '"cudaDeviceSynchronize" is undefined in device code'
WHAT_COMES_BEHIND = (
    "since CUDA 12 a kernel cannot wait for those that it launches (cudaDeviceSynchronize): launch what comes behind "
    "them into cudaStreamTailLaunch, or let the host launch both"
)


def supplied(texts: Iterable[str]) -> list[str]:
    """The names in these texts that are CUDA 12's."""
    return sorted({name for text in texts for name in _SUPPLIED.findall(_code(text))})


def note(version: int, names: Iterable[str]) -> str:
    had = f"CUDA {version // 1000} has no {', '.join(names)}"
    return f"{had}: ptxsim supplied what CUDA 12 had (--no-cuda12 leaves it out)"


def _code(text: str) -> str:
    """Without comments and texts of the program."""
    return _COMMENT_OR_TEXT.sub(lambda found: found[1] or " ", text)


def text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def why_gone(said: str, version: int) -> str:
    """A line on the first name in the compiler's errors that went with a version of CUDA; "" for none."""
    if WAITING_KERNEL in said:
        return WHAT_COMES_BEHIND
    for line in said.splitlines():
        if "error" not in line:
            continue
        named = re.findall(r'"([^"]+)"|fatal error: (\S+): No such|error: (\w+) is not a template', line)
        for name in map("".join, named):
            for key in (name, name.rpartition("::")[2], name.rpartition("/")[0]):
                if key in GONE and version >= GONE[key][0] * 1000:
                    since, instead = GONE[key]
                    return f"{key} went with CUDA {since}, and this nvcc is of {version / 1000:g}: {instead}"
    return ""
