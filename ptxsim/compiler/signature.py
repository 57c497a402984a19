"""The parameters of a kernel as its author wrote them: names and pointers, for messages.

PTX says how many parameters there are and how large each is, but no names, and below compute_100 not which ones are
pointers. So the source is searched for the kernel's parameter list, which is believed only where it agrees with the
PTX. This is no compiler and expands no macro: when nothing agrees, or two lists do that differ, the answer is ().
"""

import re
from collections.abc import Sequence

Parameters = tuple[tuple[str, bool], ...]

POINTER_BYTES = 8

_LENGTH = re.compile(r"L?(\d+)")
_NAMELESS = "_GLOBAL__N_"
"""How the name begins that the compiler gives to a namespace without one."""
_COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
_ANGLES = re.compile(r"<[^<>]*>")
_ATTRIBUTE = re.compile(r"\[\[.*?\]\]")
_ARRAY = re.compile(r"\[[^\]]*\]")
_WORD = re.compile(r"(?:\w+\s*::\s*)*([A-Za-z_]\w*)")
_BUILT_IN = frozenset(
    ["void", "bool", "char", "short", "int", "long", "signed", "unsigned", "float", "double", "auto"]
)
_QUALIFIERS = frozenset(
    [
        *("const", "volatile", "struct", "class", "enum", "typename"),
        *("restrict", "__restrict", "__restrict__", "__grid_constant__"),
    ]
)


def qualified(entry: str) -> str:
    """`math::scale` for `_ZN4math5scaleEPf`, without template arguments. A name that C++ did not mangle stays."""
    if not entry.startswith("_Z"):
        return entry
    nested, rest = entry.startswith("_ZN"), re.sub("^_ZN?", "", entry)
    parts: list[str] = []
    while (length := _LENGTH.match(rest)) and (nested or not parts):
        end = length.end() + int(length[1])
        parts.append(rest[length.end() : end])
        rest = rest[end:]
    return "::".join(part for part in parts if not part.startswith(_NAMELESS)) or entry


def without_comments(source: str) -> str:
    """Nor strings. Its lines keep their numbers."""
    return _COMMENT_OR_STRING.sub(lambda found: "\n" * found[0].count("\n") or " ", source)


def at_commas(text: str, opening: str = "([{", closing: str = ")]}") -> list[str]:
    """The pieces of a list, divided at the commas that stand in no bracket."""
    pieces, depth = [""], 0
    for char in text:
        depth += (char in opening) - (char in closing)
        if char == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += char
    return pieces


def parameters(source: str, entry: str, sizes: Sequence[int]) -> Parameters:
    """(C++ name, is it a pointer) of each parameter of the kernel with this name, mangled or not; () when unsure.

    `sizes` are the bytes of the parameters in the PTX. A macro behind the last name may add some: those are left out.
    """
    text = without_comments(source)
    plain = re.escape(re.split(r"[<(]", qualified(entry))[0].split("::")[-1].strip())
    lists = re.finditer(rf"__global__[^;{{}}]*?\b{plain}\s*\(", text)
    believed = {found for match in lists if (found := _read(text, match.end(), sizes)) is not None}
    return believed.pop() if len(believed) == 1 else ()


def _read(text: str, start: int, sizes: Sequence[int]) -> Parameters | None:
    """The parameter list that begins at `start`; None where it does not agree with the sizes."""
    end = _closing(text, start)
    body = re.match(r"\)\s*\{", text[end:])
    first = end + body.end() if body else end
    used = set(_WORD.findall(text[first : _closing(text, first)])) if body else set()
    found: list[tuple[str, bool]] = []
    more = False
    for piece in _pieces(text[start:end]):
        name, more = _name(piece, used)
        found.append((name or f"argument {len(found)}", "*" in piece or "[" in piece))
    enough = len(found) == len(sizes) or (more and len(found) < len(sizes))
    fits = all(size == POINTER_BYTES for (_, pointer), size in zip(found, sizes, strict=False) if pointer)
    return tuple(found) if enough and fits else None


def _closing(text: str, start: int) -> int:
    """Where the bracket closes that was opened just before `start`."""
    depth = 1
    for at in range(start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at
    return len(text)


def _pieces(text: str) -> list[str]:
    """The parameters of a list, without template arguments, attributes, default values and array sizes."""
    while (shorter := _ANGLES.sub(" ", text)) != text:
        text = shorter
    pieces = [_ARRAY.sub("[]", _ATTRIBUTE.sub(" ", piece.split("=")[0])).strip() for piece in at_commas(text)]
    return [] if pieces in (["void"], [""]) else pieces


def _name(piece: str, used: set[str]) -> tuple[str, bool]:
    """The name in a declaration such as `const float* __restrict__ A`, and whether a macro follows it.

    The last word that the kernel's body uses; the last word if it uses none.
    """
    words = [word for word in _WORD.findall(piece) if word not in _QUALIFIERS]
    built_in = any(word in _BUILT_IN for word in words)
    words = [word for word in words if word not in _BUILT_IN]
    if not built_in and len(words) > 1:
        words = words[1:]  # the first one is the type
    if not words:
        return "", False
    name = next((word for word in reversed(words) if word in used), words[-1])
    return name, words[-1] != name


def pointed_to(name: str, source: str) -> str:
    """The C++ type that pointers of this name point to, as `unsigned int`, if all kernels of the source that have one
    agree; else ""."""
    lists = " ".join(re.findall(r"__global__[^;{]*", without_comments(source)))
    pointer = rf"([\w: ]+?)\s*\*\s*(?:const\b\s*)?(?:__restrict(?:__)?\s+)?{re.escape(name)}\s*[,)]"
    kinds = (
        re.sub(r"\b(?:const|volatile)\b|\b(?:cuda::)?std::", "", kind) for kind in re.findall(pointer, lists)
    )
    found = {" ".join(kind.split()) for kind in kinds}
    return found.pop() if len(found) == 1 else ""
