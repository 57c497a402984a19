"""Shared arrays as their author declared them, for messages: `full[1]` and not byte 8.

PTX knows a shared array's name and its bytes, and neither type nor dimensions. So the source is searched for
declarations of that name, which are believed where they agree with the bytes; one number that the text does not say
(a template's parameter, the size of a type) follows from the others. This is no compiler: when nothing agrees, or two
declarations do that differ, nothing is said.
"""

import ast
import math
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .signature import at_commas, without_comments

_DECLARATION = re.compile(r"\b__shared__\b([^;{}]*)")
_DECLARATOR = re.compile(r"(\w+)\s*((?:\[[^\]]*\]\s*)*)(?:[=({].*)?$", re.S)
_ALIGNED = re.compile(r"\b(?:__align__|alignas|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)")
_NO_TYPE = re.compile(
    r"\b(?:__shared__|static|extern|const|volatile|struct|unsigned(?=\s+(?:char|short|int|long)))\b"
)
_CONSTANT = re.compile(r"(?:\bconst(?:expr)?\b[\w\s]*?\b|[{,]\s*)(\w+)\s*=\s*([^;,{}]+)\s*(?=[;,}])")
_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\S[^\n]*)$", re.M)
_OPTION = re.compile(r"(?:-D|--define-macro=)\s*(\w+)(?:=(.*))?$")
_ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*([^;]+);|\btypedef\s+([^;]+?)\s*\b(\w+)\s*;")
_SUFFIX = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b")
_BYTES = {
    **dict.fromkeys(("bool", "char", "signed char", "int8_t", "uint8_t", "uchar"), 1),
    **dict.fromkeys(("short", "half", "__half", "bfloat16", "__nv_bfloat16", "nv_bfloat16"), 2),
    **dict.fromkeys(("int16_t", "uint16_t", "ushort"), 2),
    **dict.fromkeys(("int", "unsigned", "float", "int32_t", "uint32_t", "uint", "half2", "__half2"), 4),
    **dict.fromkeys(("__nv_bfloat162", "nv_bfloat162", "char4", "uchar4"), 4),
    **dict.fromkeys(("long", "long long", "long int", "long long int", "double", "int64_t", "uint64_t"), 8),
    **dict.fromkeys(("size_t", "float2", "int2", "uint2"), 8),
    **dict.fromkeys(("float4", "int4", "uint4", "double2"), 16),
}
_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}


@dataclass(frozen=True)
class Shape:
    """Bytes of an element, and how many elements each dimension but the first has; () of a plain variable too."""

    element: int
    inner: tuple[int, ...]
    plain: bool

    def index(self, offset: int) -> str:
        """`[1][5]` for a byte of the array, and "" for a plain variable."""
        number, indices = offset // self.element, []
        for size in reversed(self.inner):
            number, index = divmod(number, size)
            indices.append(index)
        return "" if self.plain else "".join(f"[{index}]" for index in (number, *reversed(indices)))


def shapes(source: str, options: Sequence[str], sizes: Mapping[str, int]) -> dict[str, Shape]:
    """Of shared arrays (name to bytes; 0: dynamic) those whose shape the source says."""
    text = without_comments(source)
    constants = _constants(text, options)
    aliases = {name or other: kind or told for name, kind, told, other in _ALIAS.findall(text)}
    agreed: dict[str, set[Shape]] = {}
    for kind, name, dims in _declared(text):
        if name in sizes and (shape := _shape(_bytes(kind, aliases), dims, sizes[name], constants)):
            agreed.setdefault(name, set()).add(shape)
    return {name: found.pop() for name, found in agreed.items() if len(found) == 1}


def _declared(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """The type, the name and the dimensions, as they are written."""
    for declaration in _DECLARATION.finditer(text):
        kind = None
        for piece in at_commas(_ALIGNED.sub(" ", declaration[1]), "([{<", ")]}>"):
            found = _DECLARATOR.search(piece)
            if found is None:
                break
            kind = piece[: found.start()] if kind is None else kind
            yield kind, found[1], re.findall(r"\[([^\]]*)\]", found[2])


def _bytes(kind: str, aliases: Mapping[str, str]) -> int | None:
    """Of a type; None if it is none that every program knows."""
    for _ in range(4):  # an alias of an alias
        kind = " ".join(_NO_TYPE.sub(" ", kind).split()).removesuffix(
            " int" if kind.count("int") == 1 else "\0"
        )
        if kind in _BYTES:
            return _BYTES[kind]
        kind = aliases.get(kind, "")
    return None


def _shape(element: int | None, dims: list[str], size: int, constants: Mapping[str, str]) -> Shape | None:
    counts = [_value(dim, constants) for dim in dims]
    if not size:  # dynamic: extern __shared__ float tile[];
        inner = [count for count in counts[1:] if count is not None]
        known = element is not None and dims and len(inner) == len(counts) - 1
        return Shape(element, tuple(inner), False) if element is not None and known else None
    numbers = [element, *counts]
    product = math.prod(number for number in numbers if number is not None)
    if product <= 0 or size % product or numbers.count(None) > 1 or (None not in numbers and product != size):
        return None
    first, *rest = (size // product if number is None else number for number in numbers)
    return Shape(first, tuple(rest[1:]), not rest)


def _constants(text: str, options: Sequence[str]) -> dict[str, str]:
    """The expressions of names, by name; of one that the text gives two values none."""
    found = [*_CONSTANT.findall(text), *_DEFINED.findall(text)]
    found += [(option[1], option[2] or "1") for each in options if (option := _OPTION.match(each))]
    values: dict[str, set[str]] = {}
    for name, value in found:
        values.setdefault(name, set()).add(value.strip())
    return {name: several.pop() for name, several in values.items() if len(several) == 1}


def _value(expression: str, constants: Mapping[str, str], depth: int = 8) -> int | None:
    """Of an expression of whole numbers and constants; None for any other."""
    try:
        tree = ast.parse(_SUFFIX.sub(r"\1", expression).strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return _computed(tree, constants, depth)


def _computed(tree: ast.expr, constants: Mapping[str, str], depth: int) -> int | None:
    if isinstance(tree, ast.Constant):
        return tree.value if type(tree.value) is int else None
    if isinstance(tree, ast.Name):
        known = depth and tree.id in constants
        return _value(constants[tree.id], constants, depth - 1) if known else None
    if isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATORS:
        left, right = (_computed(side, constants, depth) for side in (tree.left, tree.right))
        if left is None or right is None:
            return None
        try:
            return _OPERATORS[type(tree.op)](left, right)
        except (ZeroDivisionError, ValueError):
            return None
    return None
