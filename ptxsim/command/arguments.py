"""`--arg float32[64]=zeros` as an array, `--arg int32=5` as a number, and the word for one that does not fit."""

import math
import re
from collections.abc import Sequence

import numpy as np

from ..compiler.signature import POINTER_BYTES, pointed_to
from ..front.arguments import Struct, packed_bytes
from ..front.kernel import Kernel, LaunchError
from ..ground import numbers

FILLS = ("random", "zeros", "ones", "arange", "nan")
OF_C = {"float": "float32", "double": "float64", "half": "float16", "int": "int32", "unsigned": "uint32"}
TYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
)
FORMS = f"""\
a parameter is one of
  float32[1024]        an array of random numbers; int32[16,64] has two dimensions
  float32[1024]=zeros  an array filled with {", ".join(FILLS[1:])} or {FILLS[0]}
  float32[1024]=x.npy  an array from a file of NumPy's
  int32=5              a number
  null                 a null pointer
  {{float32[8]; int=5}}  a struct, its members in their order; one of them may be a struct, too
with the type {", ".join(TYPES)},
or, as in C, {", ".join(OF_C)}"""

_ARRAY = re.compile(r"(?P<type>\w+)\[(?P<shape>\d+(?:,\d+)*)\](?:=(?P<fill>.+))?")
_NUMBER = re.compile(r"(?P<type>\w+)=(?P<value>.+)")

MOST_ELEMENTS = 1 << 26
"""Of an array: 8,192 x 8,192. What is filled with random numbers needs 8 bytes for each."""
MOST_DEEP = 20
"""Structs within each other."""

Argument = np.ndarray | np.generic | Struct | None


def arguments(texts: Sequence[str], kernel: Kernel) -> list[Argument]:
    """What the texts say, one for each parameter of the kernel. Raises LaunchError."""
    if len(texts) != len(kernel.params):
        raise LaunchError(_wrong_count(len(texts), kernel))
    found = []
    for number, text in enumerate(texts):
        try:
            found.append(argument(text))
            _check(found[-1], kernel, number)
        except (ValueError, OverflowError, OSError, MemoryError) as error:
            raise LaunchError(f"--arg {text} (number {number + 1}): {error}") from None
    return found


def argument(text: str, depth: int = 0) -> Argument:
    """An argument as FORMS says. Raises LaunchError, or what NumPy says of the value."""
    if text == "null":
        return None
    if found := _ARRAY.fullmatch(text):
        shape = tuple(int(size) for size in found["shape"].split(","))
        return _array(_type(found["type"]), shape, found["fill"] or "random")
    if found := _NUMBER.fullmatch(text):
        return _number(_type(found["type"]), found["value"])
    if text.startswith("{") and text.endswith("}"):
        if depth == MOST_DEEP:
            raise LaunchError(f"more than {MOST_DEEP} structs stand within each other")
        return Struct(*(argument(member.strip(), depth + 1) for member in _members(text[1:-1])))
    raise LaunchError(
        "it is no array (float32[1024], int32[16,64]=zeros), no number with its type (int32=5), no struct "
        "({float32[64]; int32=5}), and not null"
    )


def _members(text: str) -> list[str]:
    """The pieces between the semicolons that stand in no braces."""
    pieces, depth = [""], 0
    for char in text:
        depth += (char == "{") - (char == "}")
        if char == ";" and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += char
    return [piece for piece in pieces if piece.strip()]


def _type(name: str) -> np.dtype:
    if (known := OF_C.get(name, name)) not in TYPES:
        raise LaunchError(f"there is no type {name}; there are {', '.join((*TYPES, *OF_C))}")
    return np.dtype(known)


def _number(dtype: np.dtype, text: str) -> np.generic:
    try:
        return dtype.type(float(text) if dtype.kind == "f" else int(text, 0))
    except ValueError:
        what = "number" if dtype.kind == "f" else "whole number"
        raise LaunchError(f"{text!r} is no {what}; write {dtype}=5") from None
    except OverflowError:
        raise LaunchError(f"{text} does not fit into {dtype}") from None


def _array(dtype: np.dtype, shape: tuple[int, ...], fill: str) -> np.ndarray:
    if (size := math.prod(shape)) > MOST_ELEMENTS:
        raise LaunchError(
            f"it has {size:,} elements; an array takes at most {MOST_ELEMENTS:,} here. Simulate a smaller problem"
        )
    if fill == "random":
        random = np.random.default_rng(0)
        return (
            random.standard_normal(shape) if dtype.kind == "f" else random.integers(0, 100, shape)
        ).astype(dtype)
    if fill == "arange":
        return np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    if fill == "nan" and dtype.kind != "f":
        raise LaunchError(f"{dtype} has no NaN; fill it with another of {', '.join(FILLS)}")
    if fill in FILLS:
        return np.full(shape, {"zeros": 0, "ones": 1, "nan": np.nan}[fill], dtype)
    if not fill.endswith(".npy"):
        raise LaunchError(f"{fill!r} is none of {', '.join(FILLS)} and no .npy file")
    loaded = np.load(fill, mmap_mode="r")  # what it holds is read when its shape is known
    if not isinstance(loaded, np.ndarray):
        raise LaunchError(f"{fill} is an archive of arrays; save one with np.save")
    if loaded.dtype != dtype or loaded.shape != shape:
        raise LaunchError(
            f"the file holds {loaded.dtype}[{','.join(map(str, loaded.shape))}]; write that before the ="
        )
    return np.array(loaded)


def _wrong_count(given: int, kernel: Kernel) -> str:
    count = len(kernel.params)
    rows = (f"    {kernel.about(number)[0]}: {_wanted(kernel, number)}" for number in range(count))
    has = f"{kernel.name} has {count} parameter{'s' * (count != 1)}, and {given or 'no'} --arg is given"
    return "\n".join([f"{has}. In their order:" if count else has, *rows])


def _check(arg: Argument, kernel: Kernel, number: int) -> None:
    """Whether it can be this parameter."""
    size, pointer = kernel.params[number].size, kernel.about(number)[1]
    if isinstance(arg, Struct):
        given = packed_bytes(arg)
        if given != size:
            raise LaunchError(
                f"{kernel.about(number)[0]} is {_wanted(kernel, number)}; these members make {given} bytes"
            )
        return
    if isinstance(arg, np.generic):
        kind = kernel.params[number].kind
        fits = arg.nbytes == size and not pointer and numbers.may_be(arg.dtype, kind)
    else:
        fits = size == POINTER_BYTES and (arg is None or _points_to(arg.dtype, kernel, number))
    if not fits:
        raise LaunchError(f"{kernel.about(number)[0]} is {_wanted(kernel, number)}")


def _points_to(dtype: np.dtype, kernel: Kernel, number: int) -> bool:
    """Whether a pointer may point to such numbers: those of another type would be read as other values."""
    return not numbers.misread(dtype, _pointed_to(kernel, number))


def _wanted(kernel: Kernel, number: int) -> str:
    size, kind = kernel.params[number].size, kernel.params[number].kind
    if kernel.about(number)[1]:
        written = _pointed_to(kernel, number)
        example = numbers.number_of(written) or "int32"
        return f"a pointer{written and f' to {written}'}; give an array, such as {example}[1024], or null"
    if size == POINTER_BYTES and number >= len(kernel.declared) and numbers.whole(kind):
        return (
            "a pointer or a whole number of 8 bytes; give an array, such as int32[1024], or int64=5, or null"
        )
    if size in (1, 2, 4, 8):
        known = numbers.whole(kind), numbers.floating(kind)
        examples = [f"int{8 * size}=5"] * (not known[1]) + [f"float{8 * size}=0.5"] * (
            not known[0] and size > 1
        )
        what = "a whole number" if known[0] else "a number"
        return f"{what} of {size} byte{'s' * (size > 1)}; give {' or '.join(examples)}"
    return f"a struct of {size} bytes; give its members, such as {{float32[1024]; int32=5}}"


def _pointed_to(kernel: Kernel, number: int) -> str:
    """The type of C++ that a pointer points to, where the source says it."""
    return pointed_to(kernel.about(number)[0], kernel.source)
