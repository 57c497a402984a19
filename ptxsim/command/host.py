"""The GPU's part of a file that nvcc would divide: without `main`, `<vector>`, and what else only the host can use.

NVRTC compiles device code alone. A file that it refuses is compiled again as nvcc sees it: names that nvcc knows
without an #include are there, a header that NVRTC has not, or that is the host's, is empty, and a function without an
execution space is taken for device code. A declaration of the host that has an error even so is left out. Lines keep
their numbers.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ..compiler.nvrtc import MISSING, find_header, whole_log
from ..ptx.program import MAIN_FILE

MOST_ROUNDS = 12
"""An error may hide others: so often is what is left compiled again."""
PRELUDE = "as_nvcc.h"
AS_NVCC = """
#include <cuda_runtime.h>
#include <cuda/std/cstdint>
#include <cuda/std/climits>
using cuda::std::int8_t; using cuda::std::int16_t; using cuda::std::int32_t; using cuda::std::int64_t;
using cuda::std::uint8_t; using cuda::std::uint16_t; using cuda::std::uint32_t; using cuda::std::uint64_t;
using cuda::std::uintptr_t; using cuda::std::intptr_t;
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define HUGE_VALF INFINITY
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000)
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#define M_E 2.7182818284590452354
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_SQRT2 1.41421356237309504880
#define M_LN2 0.69314718055994530942
"""
"""What nvcc knows without an #include, or by the C library's headers."""

LIBRARIES = ("thrust/", "cub/")
OF_C = {
    *(
        "assert.h",
        "complex.h",
        "ctype.h",
        "errno.h",
        "float.h",
        "inttypes.h",
        "limits.h",
        "locale.h",
        "malloc.h",
    ),
    *(
        "math.h",
        "omp.h",
        "pthread.h",
        "setjmp.h",
        "signal.h",
        "stdarg.h",
        "stdbool.h",
        "stddef.h",
        "stdint.h",
    ),
    *("stdio.h", "stdlib.h", "string.h", "strings.h", "time.h", "unistd.h", "wchar.h", "windows.h"),
}
"""Headers that a kernel does not need, though they are not here."""

_MAIN = re.compile(r"\bmain\s*\(")
_WITHIN_A_BLOCK = re.compile(r"^#include <cub/(?:block|warp|thread)/[^>]+>", re.M)
_ERROR = re.compile(rf"^{re.escape(MAIN_FILE)}\((\d+)\): (?:catastrophic )?error", re.M)
_INCLUDED = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<([^>\n]+)>", re.M)
_OF_HOST = re.compile(r"^([^\s()]+)\(\d+\): error: A function explicitly marked as a __host__", re.M)
_NO_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/|R\"(\w*)\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'|^[ \t]*#(?:\\\n|[^\n])*",
    re.S | re.M,
)
_DIRECTIVE_OR_CHARACTER = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*|[^\n]", re.M)
_TRANSPARENT = re.compile(r"\b(?:namespace\b[\w:\s]*|extern\s*)$")
_OF_DEVICE = r"__(?:device|global|constant|shared|managed)__"
_MACRO_OF_DEVICE = re.compile(rf"^[ \t]*#[ \t]*define[ \t]+(\w+)[^\n]*{_OF_DEVICE}", re.M)


class Divided(NamedTuple):
    """A source and options for NVRTC, the lines (first, last) that are left out, and the headers that it includes and
    that are not here: empty ones stand for them."""

    source: str
    options: tuple[str, ...]
    left_out: tuple[tuple[int, int], ...] = ()
    not_here: tuple[str, ...] = ()


def divide(source: str, options: Sequence[str], headers: Path) -> Divided:
    """The GPU's part of a source, if NVRTC refuses the whole. `headers`: an empty folder, which may be filled and has
    to stay while the result is compiled."""
    if not whole_log(source, options):
        return Divided(source, tuple(options))
    (headers / PRELUDE).write_text(AS_NVCC, encoding="utf-8")
    as_nvcc = (*options, f"-I{headers}", f"--pre-include={PRELUDE}", "-default-device")
    not_here = [name for name in _INCLUDED.findall(source) if not find_header(name, options)]
    _make_empty(not_here, headers)
    _divide_libraries(source, as_nvcc, headers)
    rest, left_out = source, []
    for _ in range(MOST_ROUNDS):
        log = whole_log(rest, as_nvcc)
        of_library = {name for name, bracket in MISSING.findall(log) if bracket == "<"}
        named = of_library | set(_OF_HOST.findall(log)) - {MAIN_FILE}
        made = _make_empty(named, headers)
        found = [] if made else list(_of_host(rest, {int(line) for line in _ERROR.findall(log)}))
        for start, end in found:
            left_out.append((_line(rest, start), _line(rest, end)))
            rest = rest[:start] + _emptied(rest[start:end]) + rest[end:]
        if not made and not found:
            break
    return Divided(rest, as_nvcc, tuple(sorted(left_out)), tuple(filter(_of_somebody, not_here)))


def is_program(source: str) -> bool:
    """Whether it has a main."""
    return bool(_MAIN.search(_NO_CODE.sub(" ", source)))


def _of_somebody(header: str) -> bool:
    """Whether it is no header of the C and C++ libraries, nor of an operating system."""
    return "." in header and header not in OF_C and not header.startswith("sys/")


def _divide_libraries(source: str, options: Sequence[str], headers: Path) -> None:
    """Of Thrust and CUB what a kernel can use: Thrust's algorithms and vectors and CUB's algorithms for the whole
    device are called by the host, and NVRTC cannot read their headers."""
    for name in _INCLUDED.findall(source):
        path = find_header(name, options) if name.startswith(LIBRARIES) else None
        if path and whole_log(f"#include <{name}>\n", options):
            made = headers / name
            made.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text(encoding="utf-8", errors="replace")
            made.write_text("\n".join(_WITHIN_A_BLOCK.findall(text)), encoding="utf-8")


def _make_empty(names: Iterable[str], headers: Path) -> bool:
    """Whether headers of these names were not there, and are now."""
    within = (name for name in names if not Path(name).is_absolute() and ".." not in Path(name).parts)
    new = [path for path in map(headers.joinpath, within) if not path.exists()]
    for path in new:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return bool(new)


def _of_host(source: str, lines: set[int]) -> Iterator[tuple[int, int]]:
    """From where to where the declarations of the host go in which these lines are."""
    code = _NO_CODE.sub(lambda found: _emptied(found[0], directives=False), source)
    of_device = re.compile("|".join([_OF_DEVICE, *map(r"\b{}\b".format, _MACRO_OF_DEVICE.findall(source))]))
    for start, end in _declarations(code):
        declared = code[start:end]
        head = declared.partition("{")[0]
        if lines.isdisjoint(range(_line(code, start), _line(code, end) + 1)):
            continue
        if not of_device.search(head if ")" in head else declared):
            yield start, end


def _declarations(code: str) -> Iterator[tuple[int, int]]:
    """The declarations of all namespaces, in a source without comments, strings and directives."""
    start, depth = 0, 0
    for mark in re.finditer("[{};]", code):
        head = code[start : mark.start()]
        if mark[0] == "{" and depth == 0 and _TRANSPARENT.search(head):
            start = mark.end()
            continue
        depth += (mark[0] == "{") - (mark[0] == "}")
        if depth < 0:  # a namespace ends
            start, depth = mark.end(), 0
        elif depth == 0 and (mark[0] == ";" or _ends_function(code, start, mark.end())):
            yield start + len(code[start:]) - len(code[start:].lstrip()), mark.end()
            start = mark.end()


def _ends_function(code: str, start: int, end: int) -> bool:
    return ")" in code[start:end].partition("{")[0] and not code[end:].lstrip().startswith(";")


def _emptied(text: str, directives: bool = True) -> str:
    """As many lines and characters of nothing; the directives may stay."""
    if not directives:
        return re.sub(r"[^\n]", " ", text)
    return _DIRECTIVE_OR_CHARACTER.sub(
        lambda found: found[0] if found[0].lstrip().startswith("#") else " ", text
    )


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
