"""Measurements on file: how a kernel finds its record, and what a record says about its origin.

One file per GPU, `assets/measurements/<gpu>.json`, holds "provenance" (the machine, the software, the method) and the
parts PARTS (one entry per kernel, problem and compiler, found by its key).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path

from cupy_or_sim import device, timing
from cupy_or_sim.launch import Launch

from ..lessons.folders import place
from ..lessons.sources import in_one_piece

HERE = device.INCLUDE.parent
FOLDER = place("assets") / "measurements"
PARTS = ("speeds", "timelines", "waves", "profiles", "calls", "texts")
MARKS = "course/timeline.cuh"
_TOKEN = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?\*/|[^\S\n]+) | (?P<newline>\n) | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*'
    | \.?\d(?:[eEpP][+-]|[\w.'])* | \w+ | \+\+|--|&&|\|\||<<|>>|->|::|[-+*/%&|^=!<>]= | .""",
    re.VERBOSE | re.DOTALL,
)
_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](course/[^>"]+)[>"]', re.MULTILINE)


def canonical(source: str) -> str:
    """CUDA source without comments and white space: a token per line; preprocessor lines keep their end."""
    tokens, directive = [], False
    for match in _TOKEN.finditer(source.replace("\\\n", " ")):
        if match["newline"]:
            tokens += [""] if directive else []
            directive = False
        elif not match["skip"]:
            directive = directive or match[0] == "#"
            tokens.append(match[0])
    return "\n".join(tokens)


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def course_headers(source: str) -> dict[str, str]:
    """Every course header that the source includes, also through another header: {name: text}."""
    found: dict[str, str] = {}
    waiting = _INCLUDE.findall(source)
    while waiting:
        name = waiting.pop()
        path = HERE / "include" / name
        if name not in found and path.is_file():
            found[name] = path.read_text(encoding="utf-8")
            waiting += _INCLUDE.findall(found[name])
    return dict(sorted(found.items()))


def source_key(name: str, source: str) -> str:
    """Key of a kernel's text, in one piece, and its course headers; comments and white space do not change it, nor does
    the header of the marks, whose macros are empty in a kernel that is timed."""
    source = in_one_piece(source)
    headers = [text for name, text in course_headers(source).items() if name != MARKS]
    return _digest(name, canonical(source), [canonical(text) for text in headers])


def options_that_count(options: tuple[str, ...]) -> list[str]:
    """Options without paths, and without the fingerprint of headers that the kernel may not include."""
    kept, path_follows = [], False
    for option in options:
        if not path_follows and not option.startswith(("-I", "--include-path", "-DCOURSE_HEADERS=")):
            kept.append(option)
        path_follows = option in ("-I", "--include-path")
    return kept


def problem(gemm) -> dict:
    """The size and kind of a GEMM as a record holds it."""
    data = {"data": "zeros"} if gemm.zeros else {}  # all others are random
    return {"shape": [gemm.M, gemm.N, gemm.K], "dtype": gemm.dtype, "layout": gemm.layout, **data}


def kernel_key(kernel, gemm, launch: Launch) -> str:
    """Key of one measurement: the kernel's text, its options without paths, the problem and the launch."""
    text = source_key(kernel.name, kernel.code)
    return _digest(text, options_that_count(kernel.options), problem(gemm), *launch.record().values())


def text_key(options: str, kernel, gemm, launch: Launch) -> str:
    """Key of what a tool with these options prints of a kernel."""
    return _digest(kernel_key(kernel, gemm, launch), options.split())


def about(kernel, gemm, launch: Launch) -> dict:
    """What an entry says about its kernel; "source" lets a test find out that a kernel was edited since."""
    text = source_key(kernel.name, kernel.code)
    return {"kernel": kernel.name, "source": text, **problem(gemm), **launch.record()}


def cublas_key(gemm) -> str:
    """Key of cuBLAS on this problem."""
    return _digest("cuBLAS", problem(gemm))


def files() -> list[Path]:
    """The measurement files, the H100's first."""
    return sorted(FOLDER.glob("*.json"), key=lambda path: ("h100" not in path.name, path.name))


def stored_key(key: str, nvrtc: str) -> str:
    """Key of an entry in a file: what was measured, and the version of the compiler that made the binary."""
    return _digest(key, nvrtc)


def find(part: str, key: str) -> dict | None:
    """The entry with this key in one of the PARTS, and the GPU and compiler it came from."""
    for path in files():
        record = json.loads(path.read_text(encoding="utf-8"))
        origin = {name: record["provenance"][name] for name in ("gpu", "nvrtc")}
        if entry := record.get(part, {}).get(stored_key(key, origin["nvrtc"])):
            return origin | entry
    return None


def file_name(gpu: str) -> str:
    """File name for a GPU: "NVIDIA H100 80GB HBM3" -> "nvidia-h100-80gb-hbm3.json"."""
    return re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-") + ".json"


def remember(part: str, entries: dict[str, dict]) -> None:
    """In record mode (COURSE_RECORD=<path>) add the entries to that file; the file is never half written."""
    if not os.environ.get("COURSE_RECORD"):
        return
    path = Path(os.environ["COURSE_RECORD"])
    record: dict = {part: {} for part in PARTS}
    if path.exists():
        record |= json.loads(path.read_text(encoding="utf-8"))
    record["provenance"] = origin = timing.provenance()
    for key, entry in entries.items():  # the GPU stands once, in the provenance
        kept = {name: value for name, value in entry.items() if name != "gpu"}
        record[part][stored_key(key, origin["nvrtc"])] = kept
    write(path, record)


def write(path: Path, record: dict) -> None:
    """Write a record with one entry per line, in a fixed order, so that a diff shows what changed."""
    lines = [f' "provenance": {json.dumps(record["provenance"], indent=2)}']
    for part in PARTS:
        entries = [f'  "{key}": {json.dumps(entry)}' for key, entry in sorted(record.get(part, {}).items())]
        lines.append(f' "{part}": {{\n' + ",\n".join(entries) + "\n }")
    temporary = path.with_suffix(".partial")
    temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    os.replace(temporary, path)
