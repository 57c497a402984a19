"""CUDA C++ to PTX, and to a resource report, with NVRTC: no GPU and no driver are needed.

NVRTC is NVIDIA's compiler as a library. It is found and loaded on first use, so importing this module works
on machines that do not have it.
"""

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from ..ground.foreign import printable
from ..ground.interrupts import MessageOnly, in_background, result_of
from ..ptx.program import MAIN_FILE
from . import cache, headers, nested
from .disassembly import disassemble

DEFAULT_ARCH = "compute_80"
Wanted = tuple[str, str, tuple[str, ...], tuple[str, ...]]
"""What is compiled: the kind of text ("ptx"; "log", of ptxas; "code", the disassembled cubin), the source, name
expressions, and all options."""
HEADERS = ("cudart", "cccl", "nvcc")
"""Header sets that kernels include: the CUDA runtime's, `<cuda/...>` and `<nv/target>`, and `crt/`."""

HOW_TO_GET_NVRTC = (
    "On Linux, and on Windows inside WSL:\n"
    "    pip install cuda-bindings nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-cccl nvidia-cuda-crt\n"
    "For macOS NVIDIA makes none: compile kernels on a Linux machine."
)
OF_PTXAS = ("--ptxas-options=-v", "--no-cache")
"""What ptxas says of registers comes in the log. Where there is a driver, NVRTC would keep what it compiled, and then
ptxas says nothing."""
MOST_LINES = 15
"""Of the compiler's log in a message."""
NO_HEADERS = (
    "NVRTC has no headers of the C++ library. printf, assert and the functions of math need no #include; of the "
    "others, many exist as <cuda/std/...>, for example <cuda/std/cstdint>."
)


NOT_FOUND = "Give the folder in which it lies as an option of the compiler: -Ifolder"
NOT_AMONG_THESE = (
    "Only CUDA's own headers and the course's can be included here, by the names that they have in lessons."
)
ELSEWHERE: list[Callable[[Wanted], str | None]] = []
"""Who is asked for a text where there is no compiler: answers as `packed` or `refused` pack it, or None."""
_none_because = ""
WHY_NOT_OPENED = re.compile(r'(?:cannot|could not) open source file ("[^"\n]*")[^\n]*')
"""With all headers in memory no file is opened, and the reason says whether there is one."""
OF_THE_SOURCE = re.compile(r"^(?!__nv_name_map)\S.*\berror: ", re.M)
"""An error that is not of a name that is looked for."""
MISSING = re.compile(r'cannot open source file "([^"]+)"\n\s*#\s*include\s*([<"])')
"""A header that was not found, and how its #include was written."""


class NvrtcMissing(cache.ToolMissing):
    """NVRTC is not installed here; the message says what is missing and what to do."""


class CompileError(MessageOnly, Exception):
    """The CUDA source does not compile; the message is the compiler's log with the learner's line numbers, errors first
    and not too long. `log`: the whole log, where the compiler ran just now."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


@dataclass(frozen=True)
class Compiled:
    """A text, PTX or another, and the mangled name of every name expression that was asked for. `log`: what the
    compiler said besides, such as warnings; it is not kept."""

    text: str
    lowered: dict[str, str]
    log: str = ""

    @property
    def ptx(self) -> str:
        return self.text


@dataclass(frozen=True)
class Resources:
    """What a thread (registers, bytes of spills and local memory) and a block (the rest) of a kernel take."""

    registers: int
    spill_stores: int
    spill_loads: int
    static_shared: int
    local_bytes: int
    barriers: int


def compile_ptx(source: str, name_expressions: Sequence[str] = (), options: Sequence[str] = ()) -> Compiled:
    """Compile CUDA C++ `source` to PTX for a virtual architecture (compute_80 unless an option names one).

    `-ftz=true` is added because CuPy adds it, `-lineinfo` because every report names source lines.
    """
    return _compile(*wanted(source, options, name_expressions))


def all_headers(first: Sequence[str | Path] = ()) -> headers.Headers:
    """The headers in these folders and those of CUDA, for `compile_enclosed`."""
    return headers.read((*first, *_include_paths()))


def compile_enclosed(
    kind: str,
    source: str,
    names: Sequence[str],
    options: Sequence[str],
    known: headers.Headers,
    printed: Callable[[bytes], str] | None = None,
) -> Compiled:
    """Compile what somebody else sent: NVRTC is handed all headers that there are, looks for none on this machine, and
    nothing is kept. `kind` is "ptx", "log" for that of ptxas, or "code" for machine code, which `printed` disassembles.

    Raises CompileError. The texts are those of `compile_ptx`, the learner's file is named as there.
    """
    arch = asked_arch(options)
    if kind == "ptx":
        full = _full_options(options, arch.replace("sm_", "compute_"))
    else:
        full = (*_full_options(options, arch.replace("compute_", "sm_")), *OF_PTXAS)
    made = _compile_now(source, tuple(names), full, known)
    text = _names_of_headers(_text_of(made, kind, printed))
    return Compiled(_without_paths(text, ()), made.lowered, made.log)


def wanted(
    source: str,
    options: Sequence[str] = (),
    names: Sequence[str] = (),
    kind: str = "ptx",
    arch: str = "sm_90",
) -> Wanted:
    """What `compile_ptx` asks for, or for a real architecture `resources` (kind "log") and `machine_code` ("code")."""
    if kind == "ptx":
        full = _full_options(options, asked_arch(options).replace("sm_", "compute_"))
    else:
        full = (*_full_options(options, _specific(arch, options)), *OF_PTXAS)
    return kind, source, tuple(names), full


def packed(text: str, lowered: dict[str, str]) -> str:
    """A text as it is kept, behind a line that says what it is."""
    return f"{json.dumps({'lowered': lowered})}\n{text}"


def refused(error: str) -> str:
    """The compiler's errors as they are kept."""
    return f"{json.dumps({'error': True})}\n{error}"


def resources(
    source: str,
    entry: str,
    options: Sequence[str] = (),
    arch: str = "sm_90",
    name_expressions: Sequence[str] = (),
) -> Resources:
    """What kernel `entry` (its mangled name) takes on a real architecture, as ptxas inside NVRTC says."""
    return parse_resources(_compile(*wanted(source, options, name_expressions, "log", arch)).text, entry)


def machine_code(source: str, name_expressions: Sequence[str], options: Sequence[str], arch: str) -> Compiled:
    """What nvdisasm makes of a cubin for a real architecture, with the source line of each instruction."""
    return _compile(*wanted(source, options, name_expressions, "code", arch))


def whole_log(source: str, options: Sequence[str] = ()) -> str:
    """All that the compiler says of a source with an error in it; "" of one that compiles."""
    full = _full_options(options, asked_arch(options).replace("sm_", "compute_"))
    try:
        _made(source, (), full)
    except CompileError as error:
        return _without_paths(error.log, full)
    return ""


def find_header(name: str, options: Sequence[str]) -> Path | None:
    """Where the header is whose name stands in a text; None where the folders of CUDA's headers are not known."""
    return next((path for _, path in _found(name, options)), None)


def header_inside(name: str, options: Sequence[str]) -> Path | None:
    """The same, if it lies in one of the folders of headers: a text may name any file of a machine, by `#line`."""
    return next((path for folder, path in _found(name, options) if path.is_relative_to(folder)), None)


def _found(name: str, options: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """(folder, file) where a header of this name is; a name with `..` or `/` in front leads out of the folder."""
    folders = [option[2:] for option in options if option.startswith("-I")]
    with contextlib.suppress(ImportError):
        folders += _include_paths()
    for folder in map(os.path.abspath, folders):
        path = Path(os.path.normpath(os.path.join(folder, name)))
        if path.is_file():
            yield folder, path


def asked_arch(options: Sequence[str]) -> str:
    """The architecture that `options` name, for example "sm_90", or the default."""
    for option in reversed(options):
        if _is_arch(option):
            return option.split("=", 1)[1]
    return DEFAULT_ARCH


def _specific(arch: str, options: Sequence[str]) -> str:
    """sm_90a for sm_90, if that is what the options ask for: wgmma is in no plain architecture."""
    asked = asked_arch(options).replace("compute_", "sm_")
    return asked if asked == arch + "a" else arch


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
    return (*kept, "-lineinfo", f"-arch={arch}")


@lru_cache(maxsize=1)
def _include_paths() -> tuple[str, ...]:
    """Folders of the CUDA headers, wherever pip, conda or a CUDA toolkit put them."""
    from cuda import pathfinder

    found = (pathfinder.find_nvidia_header_directory(name) for name in HEADERS)
    return tuple(dict.fromkeys(path for path in found if path))


def use_none(why: str) -> None:
    """From now on this process compiles nothing itself, as if there were no NVRTC: who is in ELSEWHERE is asked.

    It is for texts of others, which would include files of this machine. `why` is told where nobody answers."""
    global _none_because
    _none_because = why


def _nvrtc() -> ModuleType:
    if _none_because:
        raise NvrtcMissing(_none_because)
    return _loaded()


@lru_cache(maxsize=1)
def _loaded() -> ModuleType:
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


@lru_cache(maxsize=256)
def _compile(kind: str, source: str, names: tuple[str, ...], options: tuple[str, ...]) -> Compiled:
    """The one way to the compiler, once per process and argument list: what was kept, or NVRTC's result.

    `kind` is "ptx", "log" (of ptxas), or "code" (the disassembled cubin).
    """
    asked = (kind, source, names, options)
    try:
        text = cache.kept(cache.key_of(*asked), lambda: _fresh(*asked)) if cache.in_use() else _fresh(*asked)
    except NvrtcMissing:
        text = next(filter(None, (ask(asked) for ask in ELSEWHERE)), "")
        if not text:
            raise
    head, _, body = text.partition("\n")
    about = json.loads(head)
    if "error" in about:
        raise CompileError(body)
    return Compiled(body, about["lowered"])


def _fresh(kind: str, source: str, names: tuple[str, ...], options: tuple[str, ...]) -> str:
    """What NVRTC makes, or its error, behind a line that says which; without the paths of this machine."""
    try:
        made = _made(source, names, options)
    except CompileError as error:
        return refused(_without_paths(str(error), options))
    return packed(_without_paths(_text_of(made, kind), options), made.lowered)


def _text_of(made: "_Made", kind: str, printed: Callable[[bytes], str] | None = None) -> str:
    texts = {
        "ptx": lambda: made.ptx,
        "log": lambda: made.log,
        "code": lambda: disassemble(made.cubin, printed),
    }
    return texts[kind]()


def _without_paths(text: str, options: Sequence[str]) -> str:
    """Headers are named as in an #include, and the learner's source MAIN_FILE."""
    folders = [option[2:] for option in options if option.startswith("-I")]
    for folder in (*folders, *_include_paths()):
        text = text.replace(f"{Path(folder).as_posix()}/", "")
    return re.sub(rf'"[^"\n]*[/\\]{MAIN_FILE}"', f'"{MAIN_FILE}"', text)


@dataclass(frozen=True)
class _Made:
    """What one compilation gives. `cubin` is empty for a virtual architecture."""

    ptx: str
    cubin: bytes
    log: str
    lowered: dict[str, str]


@lru_cache(maxsize=16)  # `resources` and the machine code of a kernel come of one compilation
def _made(source: str, names: tuple[str, ...], options: tuple[str, ...]) -> _Made:
    """Compile in a thread of its own: a Ctrl-C reaches Python alone, not a library at work. After one the compiler goes
    on to its end, and nobody looks at what it made."""
    return result_of(
        in_background(lambda: _compile_now(source, names, options), nested.STACK), "the compiler"
    )


def _compile_now(
    source: str, names: tuple[str, ...], options: tuple[str, ...], known: headers.Headers | None = None
) -> _Made:
    """`known`: the headers, all in memory; without them the folders of CUDA's headers are searched."""
    nvrtc = _nvrtc()
    if why := nested.too_deep(source):
        raise CompileError(why, why)
    flags = list(options) if known else [*options, *(f"-I{path}" for path in _include_paths())]
    texts = (len(known), list(known.values()), list(known)) if known else (0, None, None)
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), MAIN_FILE.encode(), *texts)
    try:
        for name in names:
            nvrtc.nvrtcAddNameExpression(program, name.encode())
        (status,) = nvrtc.nvrtcCompileProgram(program, len(flags), [os.fsencode(flag) for flag in flags])
        log = _text(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            log = WHY_NOT_OPENED.sub(r"cannot open source file \1", log) if known else log
            raise CompileError(
                _readable(log, bool(known)) or f"NVRTC stopped without a message ({status.name})", log
            )
        lowered = {name: _lowered_name(program, name) for name in names}
        cubin = _bytes(program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
        log = re.sub(r"^.*Compile time = .*\n?", "", log, flags=re.MULTILINE)
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


def _names_of_headers(text: str) -> str:
    """A text in which headers in memory have their own names: NVRTC puts the working directory before them."""
    here = re.escape(Path.cwd().as_posix().rstrip("/"))
    names = r"^\s*\.file\s+\d+\s|^ //## File | inlined at "
    return re.sub(rf'({names})"{here}/', r'\1"', text, flags=re.MULTILINE)


def _readable(log: str, enclosed: bool = False) -> str:
    """NVRTC's log, which quotes the source line under each error: errors before warnings, and not too many lines."""
    log = "\n".join(line for line in log.splitlines() if "detected in the compilation of" not in line)
    parts = [part for part in re.split(r"\n\s*\n", log) if part.strip()]
    parts.sort(key=lambda part: not re.search(r"\berror\b", part.lstrip("\n").partition("\n")[0]))
    lines = "\n\n".join(part.strip("\n") for part in parts).splitlines()
    if len(lines) > MOST_LINES:
        lines[MOST_LINES:] = [f"... and {len(lines) - MOST_LINES} more lines"]
    if missing := MISSING.search(log):
        nearer = NOT_AMONG_THESE if enclosed else NOT_FOUND
        lines.append(NO_HEADERS if missing[2] == "<" else nearer)
    return printable("\n".join(lines))
