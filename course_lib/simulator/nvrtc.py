"""CUDA C++ to PTX, and to a resource report, with NVRTC: no GPU and no driver are needed.

NVRTC is NVIDIA's compiler as a library. It is found and loaded on first use, so importing this module works
on machines that do not have it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType

from .interrupts import in_background, result_of
from .ptx import MAIN_FILE

DEFAULT_ARCH = "compute_80"
HEADERS = ("cudart", "cccl", "nvcc")
"""Header sets that kernels include: the CUDA runtime's, `<cuda/...>` and `<nv/target>`, and `crt/`."""

HOW_TO_GET_NVRTC = (
    "The simulator compiles CUDA C++ with NVRTC, which has packages for Linux and Windows:\n"
    "    pip install cuda-bindings nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-cccl nvidia-cuda-crt\n"
    "Reading the notebooks, their stored outputs and the recorded measurements works without it."
)
MOST_LINES = 15
"""Of the compiler's log in a message."""
NO_HEADERS = (
    "NVRTC has no headers of the C++ library. printf, assert and the functions of math need no #include; of the "
    "others, many exist as <cuda/std/...>, for example <cuda/std/cstdint>."
)


class NvrtcMissing(RuntimeError):
    """NVRTC is not installed here; the message says what is missing and what to do."""


class CompileError(Exception):
    """The CUDA source does not compile; the message is the compiler's log with the learner's line numbers."""


@dataclass(frozen=True)
class Compiled:
    """PTX text, and the mangled name of every name expression that was asked for."""

    ptx: str
    lowered: dict[str, str]


@dataclass(frozen=True)
class Resources:
    """What a thread (registers, bytes of spills and local memory) and a block (the rest) of a kernel take."""

    registers: int
    spill_stores: int
    spill_loads: int
    static_shared: int
    local_bytes: int
    barriers: int


def compile_ptx(
    source: str,
    name_expressions: Sequence[str] = (),
    options: Sequence[str] = (),
) -> Compiled:
    """Compile CUDA C++ `source` to PTX for a virtual architecture (compute_80 unless an option names one).

    `-ftz=true` is added because CuPy adds it, `-lineinfo` because every report names source lines.
    """
    arch = asked_arch(options).replace("sm_", "compute_")
    made = _compile(source, tuple(name_expressions), _full_options(options, arch))
    return Compiled(made.ptx, dict(made.lowered))


def resources(
    source: str,
    entry: str,
    options: Sequence[str] = (),
    arch: str = "sm_90",
    name_expressions: Sequence[str] = (),
) -> Resources:
    """What kernel `entry` (its mangled name) takes on a real architecture, as ptxas inside NVRTC says."""
    return parse_resources(_assemble(source, name_expressions, options, arch).log, entry)


def machine_code(
    source: str,
    name_expressions: Sequence[str] = (),
    options: Sequence[str] = (),
    arch: str = "sm_90",
) -> tuple[bytes, dict[str, str]]:
    """A cubin for a real architecture, with the source line of each instruction, and the lowered names."""
    made = _assemble(source, name_expressions, options, arch)
    return made.cubin, dict(made.lowered)


def asked_arch(options: Sequence[str]) -> str:
    """The architecture that `options` name, for example "sm_90", or the default."""
    for option in reversed(options):
        if _is_arch(option):
            return option.split("=", 1)[1]
    return DEFAULT_ARCH


def parse_resources(log: str, entry: str) -> Resources:
    """Read the part about kernel `entry` in a `ptxas -v` log."""
    parts = re.split(r"Compiling entry function '([^']+)'", log)
    texts = dict(zip(parts[1::2], parts[2::2], strict=True))
    if entry not in texts:
        known = ", ".join(sorted(texts)) or "none"
        raise ValueError(f"no kernel named {entry!r} was compiled; kernels in this source: {known}")

    def number(pattern: str) -> int:
        found = re.search(pattern, texts[entry])
        return int(found[1]) if found else 0

    return Resources(
        registers=number(r"Used (\d+) registers"),
        spill_stores=number(r"(\d+) bytes spill stores"),
        spill_loads=number(r"(\d+) bytes spill loads"),
        static_shared=number(r"(\d+) bytes smem"),
        local_bytes=number(r"(\d+) bytes stack frame"),
        barriers=number(r"used (\d+) barriers"),
    )


def _is_arch(option: str) -> bool:
    return option.startswith(("-arch=", "--gpu-architecture="))


def _full_options(options: Sequence[str], arch: str) -> tuple[str, ...]:
    """The learner's options without their architecture, plus what every kernel here is compiled with."""
    for option in options:
        if option in ("-G", "--device-debug", "-device-debug"):
            raise CompileError(
                f"the option {option} is not supported: it turns every optimisation off and so "
                "changes the program. Leave it out: line numbers are always kept."
            )
    kept = [option for option in options if not _is_arch(option)]
    if not any(option.startswith(("--std=", "-std=")) for option in kept):
        kept.append("--std=c++17")
    if not any(option.startswith(("-ftz=", "--ftz=")) for option in kept):
        kept.append("-ftz=true")
    return (*kept, "-lineinfo", f"-arch={arch}", *(f"-I{path}" for path in _include_paths()))


@lru_cache(maxsize=1)
def _include_paths() -> tuple[str, ...]:
    """Folders of the CUDA headers, wherever pip, conda or a CUDA toolkit put them."""
    from cuda import pathfinder

    found = (pathfinder.find_nvidia_header_directory(name) for name in HEADERS)
    return tuple(dict.fromkeys(path for path in found if path))


@lru_cache(maxsize=1)
def _nvrtc() -> ModuleType:
    try:
        from cuda.bindings import nvrtc
    except ImportError as error:
        raise NvrtcMissing(f"cuda-bindings cannot be imported ({error}).\n{HOW_TO_GET_NVRTC}") from error
    try:
        nvrtc.nvrtcVersion()
    except RuntimeError as error:
        raise NvrtcMissing(f"the NVRTC library was not found.\n{HOW_TO_GET_NVRTC}") from error
    return nvrtc


def version() -> tuple[int, int]:
    """NVRTC's version, for example (13, 5)."""
    _, major, minor = _nvrtc().nvrtcVersion()
    return major, minor


@dataclass(frozen=True)
class _Made:
    """What one compilation gives. `cubin` is empty for a virtual architecture; `lowered`: pairs of names."""

    ptx: str
    cubin: bytes
    log: str
    lowered: tuple[tuple[str, str], ...]


def _assemble(source: str, names: Sequence[str], options: Sequence[str], arch: str) -> _Made:
    """Compile for a real architecture, with what ptxas says of registers in the log."""
    # Where there is a driver, NVRTC keeps what it compiled, and then ptxas says nothing.
    full = (*_full_options(options, arch), "--ptxas-options=-v", "--no-cache")
    return _compile(source, tuple(names), full)


@lru_cache(maxsize=256)
def _compile(source: str, names: tuple[str, ...], options: tuple[str, ...]) -> _Made:
    """Compile once per process and argument list.

    In a thread of its own: a Ctrl-C reaches Python alone, not a library at work. After one the compiler goes on to its
    end, and nobody looks at what it made.
    """
    return result_of(in_background(lambda: _compile_now(source, names, options)), "the compiler")


def _compile_now(source: str, names: tuple[str, ...], options: tuple[str, ...]) -> _Made:
    nvrtc = _nvrtc()
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), MAIN_FILE.encode(), 0, None, None)
    try:
        for name in names:
            nvrtc.nvrtcAddNameExpression(program, name.encode())
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
        log = _text(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise CompileError(_readable(log) or f"NVRTC stopped without a message ({status.name})")
        lowered = tuple((name, _lowered_name(program, name)) for name in names)
        cubin = _bytes(program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
        return _Made(_text(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX), cubin, log, lowered)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _text(program: object, get_size: Callable, get_text: Callable) -> str:
    return _bytes(program, get_size, get_text).rstrip(b"\0 \n").decode(errors="replace")


def _bytes(program: object, get_size: Callable, get: Callable) -> bytes:
    _, size = get_size(program)
    buffer = bytearray(size)
    get(program, buffer)
    return bytes(buffer)


def _lowered_name(program: object, name: str) -> str:
    status, lowered = _nvrtc().nvrtcGetLoweredName(program, name.encode())
    if lowered is None:
        raise CompileError(f"no kernel matches the name expression {name!r} ({status.name})")
    return lowered.decode()


def _readable(log: str) -> str:
    """NVRTC's log, which quotes the source line under each error: errors before warnings, and not too many lines."""
    log = "\n".join(line for line in log.splitlines() if "detected in the compilation of" not in line)
    parts = [part for part in re.split(r"\n\s*\n", log) if part.strip()]
    parts.sort(key=lambda part: not re.search(r"\berror\b", part.lstrip("\n").partition("\n")[0]))
    lines = "\n\n".join(part.strip("\n") for part in parts).splitlines()
    if len(lines) > MOST_LINES:
        lines[MOST_LINES:] = [f"... and {len(lines) - MOST_LINES} more lines"]
    if "cannot open source file" in log:
        lines.append(NO_HEADERS)
    return "\n".join(lines)
