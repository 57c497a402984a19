"""Which kernel a name means: `scale`, `math::scale`, `tile<float, 16>`, `scale(int *, int)`, or none, the only one.

The compiler says what a source has. Its text is asked for what the compiler does not tell: the names of templates, of
which nothing is compiled before somebody asks for an instance, and their parameters.
"""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..compiler.nvrtc import OF_THE_SOURCE, CompileError, compile_ptx, find_header, whole_log
from ..compiler.signature import at_commas, qualified, without_comments
from ..front.kernel import Kernel, LaunchError, compile
from ..ptx.program import MAIN_FILE

TOO_MANY = ", ".join(["{}"] * 64)
"""Arguments of a call that fits no kernel: the compiler then lists what the name may mean."""

_ENTRY = re.compile(r"\.entry\s+([\w$]+)")
_PLAIN = re.compile(r"[\w:]+")
_SIGNATURE = re.compile(r"(?!static_cast\b)([\w:]+(?:\s*<.*>)?)\s*\((.*)\)")
_CANDIDATE = re.compile(r'^(\S+)\(\d+\): note .*?\bfunction (template )?"([^"]+)"', re.M)
_SCOPE = re.compile(r"\bnamespace\s+(?P<space>[\w:]+)\s*\{|(?P<template>\btemplate\s*<)|[{}]")
_KERNEL = re.compile(r"[^;{}]*?\b__global__\b[^;{}]*?\b(?!__)(\w+)\s*\(")
_WHOLE = re.compile(r"\b(int|unsigned|long|short|char|size_t|u?int\d+_t|uint|ushort|uchar|ulong|auto)\b")

Rows = dict[str, str]
"""What can be asked for, and what to know of it."""


def find(source: str, asked: str, options: Sequence[str] = ()) -> Kernel:
    """The kernel that is asked for, or, without a name, the only one.

    Raises CompileError, and LaunchError for a name that means no kernel, or several.
    """
    if asked and not _PLAIN.fullmatch(asked):
        return _instance(source, asked, options)
    entries = _ENTRY.findall(compile_ptx(source, (), options).ptx)
    if asked in entries:
        return _made(source, qualified(asked), asked, options)
    if asked:
        found = [entry for entry in entries if _may_mean(asked, qualified(entry))]
        if len(found) == 1:
            return _made(source, qualified(found[0]), found[0], options)
        if rows := _meant(source, {asked, *map(qualified, found)}, options):
            raise LaunchError(_asking(f"{asked} is {_how_many(rows)}", rows))
    rows = _all(source, entries, options)
    if not asked and len(rows) == len(entries) == 1:
        return _made(source, qualified(entries[0]), entries[0], options)
    if not rows:
        raise LaunchError(
            "the compiler found no __global__ function in it. (Of a template in a header name the instance, for "
            "example --kernel 'tile<float, 16>')"
        )
    raise LaunchError(_asking(f"no kernel is named {asked}" if asked else f"it has {_how_many(rows)}", rows))


def _instance(source: str, asked: str, options: Sequence[str]) -> Kernel:
    """Of a template; or an overloaded function by its parameters' types; or any other expression of C++."""
    signature = _SIGNATURE.fullmatch(asked)
    expression = f"(void (*)({signature[2]})){signature[1]}" if signature else asked
    try:
        entry = compile_ptx(source, (expression,), options).lowered[expression]
    except CompileError as error:
        if OF_THE_SOURCE.search(str(error)):
            raise
        reason = re.sub(r"^.*? error: ", "", str(error).partition("\n")[0])
        entries = _ENTRY.findall(compile_ptx(source, (), options).ptx)
        rows = _meant(source, _PLAIN.findall(asked)[:1], options) or _all(source, entries, options)
        raise LaunchError(_asking(f"{asked} is no kernel ({reason})", rows)) from None
    return _made(source, asked, entry, options, (expression,))


def _made(source: str, name: str, entry: str, options: Sequence[str], expressions: tuple = ()) -> Kernel:
    return replace(compile(source, entry, options, expressions), name=name)


def _may_mean(asked: str, name: str) -> bool:
    return f"::{name}".endswith(f"::{asked.removeprefix('::')}")


def _how_many(rows: Rows) -> str:
    return "several kernels" if len(rows) > 1 else "a template"


def _asking(why: str, rows: Rows) -> str:
    width = max(map(len, map(shlex.quote, rows)))
    lines = (f"    --kernel {shlex.quote(name):{width}}  {remark}".rstrip() for name, remark in rows.items())
    return "\n".join([f"{why}; ask for", *lines])


def _all(source: str, entries: Iterable[str], options: Sequence[str]) -> Rows:
    """All kernels that the compiler made, and the templates of the text."""
    times = Counter(map(qualified, entries))
    several = {name for name, count in times.items() if count > 1}
    rows = dict.fromkeys(sorted(times.keys() - several), "")
    return rows | _meant(source, several | (_templates(source).keys() - rows.keys()), options)


def _meant(source: str, names: Iterable[str], options: Sequence[str]) -> Rows:
    """The overloads and templates that these names may mean."""
    calls = "".join(f"{name}({TOO_MANY});" for name in sorted(names))
    log = whole_log(f"{source}\n__device__ void ptxsim_candidates() {{{calls}}}", options) if calls else ""
    rows = {}
    for file, template, name in sorted(_CANDIDATE.findall(log), key=lambda found: (bool(found[1]), found[2])):
        plain = _PLAIN.findall(name)[0]
        if template:
            parameters = _templates(_text(file, source, options)).get(plain, "")
            rows[f"{plain}<{_example(parameters)}>"] = (
                f"or another instance of template <{parameters or '...'}>"
            )
        else:
            rows[name] = ""
    return rows


def _text(file: str, source: str, options: Sequence[str]) -> str:
    header = None if file == MAIN_FILE else find_header(file, options)
    return header.read_text(encoding="utf-8", errors="replace") if header else source


def _templates(source: str) -> Rows:
    """The parameters of each template of a kernel, as they are written."""
    text, at, found = without_comments(source), 0, {}
    spaces: list[str] = []
    while scope := _SCOPE.search(text, at):
        at = scope.end()
        if scope["template"]:
            end = _closing_angle(text, at)
            if kernel := _KERNEL.match(text, end + 1):
                name = "::".join([*filter(None, spaces), kernel[1]])
                found[name] = " ".join(text[at:end].split())
            at = end
        elif scope[0] == "}":
            del spaces[-1:]
        else:
            spaces.append(scope["space"] or "")
    return found


def _closing_angle(text: str, start: int) -> int:
    depth = 1
    for at in range(start, len(text)):
        depth += (text[at] == "<") - (text[at] == ">")
        if depth == 0:
            return at
    return len(text)


def _example(parameters: str) -> str:
    """Arguments that a template with these parameters could take."""
    return ", ".join(map(_example_of, at_commas(parameters, "<([{", ">)]}")))


def _example_of(parameter: str) -> str:
    if "=" in parameter:
        return parameter.partition("=")[2].strip()
    if re.match(r"\s*(typename|class)\b", parameter):
        return "float"
    return "16" if _WHOLE.search(parameter) else "true" if "bool" in parameter else "..."
