"""What a kernel is launched with: its arguments as bytes of parameters, and arrays as buffers in global memory."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..compiler import signature
from ..ground import numbers
from ..ground.memory import SPACING, Buffer, Bytes
from ..ground.tensor_map import TensorMap
from ..ptx import program as ptx
from .kernel import Kernel, LaunchError

POINTER, MAP_ALIGN = 8, 64
"""Bytes of a pointer, and to what a tensor map is aligned."""


class Struct:
    """A struct that is passed by value, by its members in their order: arrays (for pointers), None, NumPy scalars, and
    structs. They lie in it as C++ lays them out; padding is left out."""

    def __init__(self, *members: "np.ndarray | np.generic | TensorMap | Struct | None") -> None:
        self.members = members

    def __repr__(self) -> str:
        kinds = (
            f"{each.dtype}{list(each.shape)}" if isinstance(each, np.ndarray) else repr(each)
            for each in self.members
        )
        return f"Struct({', '.join(kinds)})"


@dataclass(frozen=True)
class Bound:
    """The parameters of a launch in bytes, a buffer for each array in memory, and for each argument its buffers: of a
    number none, of a struct several. `others`: buffers that no argument names, but memory may."""

    params: np.ndarray
    buffers: list[Buffer]
    buffers_of: list[tuple[Buffer, ...]]
    others: tuple[Buffer, ...] = ()


def bind(kernel: Kernel, args: Sequence, buffers: Sequence[Buffer] = ()) -> Bound:
    """`buffers`: of other arrays that are in memory already. Raises LaunchError for arguments that do not fit the
    kernel's parameters."""
    params = kernel.params
    if len(args) != len(params):
        names = f" ({', '.join(name for name, _ in kernel.declared)})" if kernel.declared else ""
        takes = "1 parameter" if len(params) == 1 else f"{len(params)} parameters"
        given = "1 argument was" if len(args) == 1 else f"{len(args)} arguments were"
        raise LaunchError(f"{kernel.name} has {takes}{names}, but {given} given")
    bound = Bound(np.zeros(kernel.code.program.param_bytes, np.uint8), [*buffers], [])
    for number, (param, arg) in enumerate(zip(params, args, strict=True)):
        name, is_pointer = kernel.about(number)
        owned: list[Buffer] = []
        if isinstance(arg, np.ndarray):
            if kernel.declared and not is_pointer and param.size == 8:
                raise LaunchError(
                    f"{name} is {_type(param)} in the kernel, no pointer; {_no_array(arg, name, param)}"
                )
            value = _pointer_or_record(arg, name, kernel, param, bound.buffers, owned)
        elif isinstance(arg, TensorMap):
            value = _map(arg, name, bound.buffers, owned)
        elif isinstance(arg, Struct):
            value = _packed(arg, name, bound.buffers, owned)[0]
        elif is_pointer and (arg is None or (isinstance(arg, (int, np.integer)) and arg == 0)):
            value = np.zeros(1, np.uint64)  # a null pointer
        else:
            value = _scalar(arg, name, param, is_pointer)
        raw = value.view(np.uint8).reshape(-1)
        if len(raw) != param.size:
            raise LaunchError(_wrong_size(arg, name, param, len(raw)))
        bound.params[param.offset : param.offset + param.size] = raw
        bound.buffers_of.append(tuple(owned))
    return bound


def _pointer_or_record(
    array: np.ndarray,
    name: str,
    kernel: Kernel,
    param: ptx.Variable,
    buffers: list[Buffer],
    owned: list[Buffer],
) -> np.ndarray:
    """An array's address; of one record, for a struct, its bytes, as CuPy passes it."""
    if array.size == 1 and array.dtype.kind == "V" and not param.kind and array.nbytes == param.size:
        return np.array(array.reshape(1))
    if param.size != POINTER:
        raise LaunchError(f"{name} is {_type(param)} in the kernel, but {_no_array(array, name, param)}")
    written = signature.pointed_to(name, kernel.source)
    if not _is_masked(array) and _has_numbers(array) and numbers.misread(array.dtype, written):
        number = numbers.number_of(written)
        floats = array.dtype.kind == "f" and number is not None and number.kind == "f"
        raise LaunchError(
            f"{name} is {written}* in the kernel, and the array is {array.dtype}; pass {name}.astype(np.{number})"
            + f", or, if its bytes are meant, {name}.view(np.{number})" * (not floats)
        )
    address = _pointer(array, name, buffers, owned)
    owned[-1].numbers = numbers.number_of(written) is not None
    return address


def _pointer(
    array: np.ndarray, name: str, buffers: list[Buffer], owned: list[Buffer], gaps: bool = False
) -> np.ndarray:
    """The address of an array; its buffer joins `buffers`, if it is new, and `owned`."""
    buffer, address = _place(_checked(array, name, gaps), name, buffers)
    owned.append(buffer)
    return np.array([address], np.uint64)


def _map(tensor: TensorMap, name: str, buffers: list[Buffer], owned: list[Buffer]) -> np.ndarray:
    """Its array may be a part of a larger one: a map knows how far the rows are apart."""
    return tensor.at(int(_pointer(tensor.array, name, buffers, owned, gaps=True)[0])).pack()


def _packed(struct: Struct, name: str, buffers: list[Buffer], owned: list[Buffer]) -> tuple[np.ndarray, int]:
    """The bytes of a struct, and its alignment."""
    raw, widest = b"", 1
    for number, member in enumerate(struct.members, 1):
        place = f"member {number} of {name}"
        if isinstance(member, Struct):
            value, align = _packed(member, place, buffers, owned)
        elif isinstance(member, TensorMap):
            value, align = _map(member, place, buffers, owned), MAP_ALIGN
        elif isinstance(member, np.ndarray):
            value, align = _pointer(member, place, buffers, owned), POINTER
        elif member is None:
            value, align = np.zeros(1, np.uint64), POINTER
        elif isinstance(member, np.generic):
            value, align = np.array([member]), member.nbytes
        else:
            raise LaunchError(
                f"{place} is a {type(member).__name__}; pass an array, None, a Struct, or a NumPy scalar such as "
                "np.int32(4)"
            )
        raw += bytes(-len(raw) % align) + value.tobytes()
        widest = max(widest, align)
    return np.frombuffer(raw + bytes(-len(raw) % widest), np.uint8), widest


def packed_bytes(struct: Struct) -> int:
    """How many bytes a struct has."""
    return len(_packed(struct, "it", [], [])[0])


def _is_masked(array: np.ndarray) -> bool:
    # Who has a masked array has imported numpy.ma; it takes longer than a small launch.
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(array, masked.MaskedArray)


def _has_numbers(array: np.ndarray) -> bool:
    return not array.dtype.hasobject and array.dtype.kind not in "US"


def _checked(array: np.ndarray, name: str, gaps: bool) -> np.ndarray:
    """The array as plain numbers in memory; with `gaps` it may be a view of an array that has none."""
    if _is_masked(array):
        raise LaunchError(f"{name} is a masked array; pass its data: {name}.data, or {name}.filled(...)")
    if not _has_numbers(array):
        raise LaunchError(f"{name} is an array of dtype {array.dtype}; a kernel takes arrays of numbers")
    if not array.dtype.isnative:
        raise LaunchError(
            f"{name} is an array of dtype {array.dtype.str}, whose bytes are in another order than a "
            f"GPU's; pass {name}.astype({array.dtype.newbyteorder('=').name!r})"
        )
    whole = _owner(array) if gaps else array
    if _without_gaps(whole) is None:
        raise LaunchError(
            f"{name} is a view with gaps (shape {array.shape}, strides {array.strides}); a kernel only gets the first "
            "address. Pass np.ascontiguousarray(...) or np.asfortranarray(...) of it"
        )
    if not array.flags.writeable:
        raise LaunchError(f"{name} is read-only (writeable=False); pass a copy of it")
    return np.asarray(array)


def _scalar(arg: object, name: str, param: ptx.Variable, is_pointer: bool) -> np.ndarray:
    if hasattr(arg, "__cuda_array_interface__"):
        raise LaunchError(
            f"{name} is an array on the GPU; the simulator needs it on the host: cp.asnumpy({name})"
        )
    if is_pointer and param.size == 8:
        raise LaunchError(
            f"{name} is a pointer in the kernel, but the argument is {arg!r}; pass an array, or None for a null pointer"
        )
    if not isinstance(arg, bool | int | float | complex | np.generic):
        raise LaunchError(
            f"{name} is a {type(arg).__name__}; pass an array, or a NumPy scalar such as np.int32(4)"
        )
    if isinstance(arg, np.generic) and (arg.dtype.kind not in "biufcV" or arg.dtype.char in "gG"):
        raise LaunchError(f"{name} is a {type(arg).__name__}, which a GPU does not know; {_pass(param)}")
    if numbers.whole(param.kind):
        return _whole_number(arg, name, param)
    value = np.array([arg])
    # A Python number for a struct: CuPy passes 8 bytes of it, whatever the struct is.
    plain = isinstance(arg, bool | int | float) and not isinstance(arg, np.generic)
    if value.dtype.hasobject or not numbers.may_be(value.dtype, param.kind) or (plain and not param.kind):
        raise LaunchError(
            f"{name} is {_type(param)} in the kernel, but the argument is {arg!r}; {_pass(param)}"
        )
    return value


def _whole_number(arg: object, name: str, param: ptx.Variable) -> np.ndarray:
    """CuPy passes 64 bits of an int, and a NumPy scalar as it is, whose lower bytes the kernel reads: a number that
    fits arrives. Of a narrower one below zero the upper bytes would be missing."""
    if not isinstance(arg, bool | int | np.integer | np.bool_):
        raise LaunchError(
            f"{name} is {_type(param)} in the kernel, but the argument is {arg!r}; {_pass(param)}"
        )
    bits, value = 8 * param.size, int(arg)
    narrow = value < 0 and isinstance(arg, np.integer) and arg.nbytes < param.size
    if narrow or not -(1 << bits - 1) <= value < 1 << bits:
        raise LaunchError(
            f"{name} has {param.size} bytes in the kernel, and {arg!r} ({type(arg).__name__}) "
            f"{'has fewer' if narrow else 'needs more'}; {_pass(param)}"
        )
    return np.array([value % (1 << bits)], f"u{param.size}")


def _no_array(array: np.ndarray, name: str, param: ptx.Variable) -> str:
    one = f"; {_pass(param, f'{name}.item()')}" if array.size == 1 else ""
    return f"the argument is an array{one}"


def _type(param: ptx.Variable) -> str:
    kind = (
        "a whole number"
        if numbers.whole(param.kind)
        else "a float"
        if numbers.floating(param.kind)
        else "a value"
    )
    return f"{kind} of {param.size} byte{'s' * (param.size != 1)}"


def _pass(param: ptx.Variable, given: str = "...") -> str:
    """What to pass for a parameter."""
    if param.kind and (numbers.whole(param.kind) or numbers.floating(param.kind)):
        return f"pass np.{'int' if numbers.whole(param.kind) else 'float'}{8 * param.size}({given})"
    return f"pass a NumPy scalar, a record or a ptxsim.Struct of {param.size} byte{'s' * (param.size != 1)}"


def _wrong_size(arg: object, name: str, param: ptx.Variable, given: int) -> str:
    if isinstance(arg, Struct):
        return f"{name} has {param.size} bytes in the kernel, and the members given make {given}"
    kind = type(arg).__name__
    return f"{name} has {param.size} bytes in the kernel, but {arg!r} ({kind}) has {given}; {_pass(param)}"


def _without_gaps(array: np.ndarray) -> np.ndarray | None:
    """The array with its axes in the order of memory; None if it does not fill its piece of memory, forwards."""
    in_order = array.transpose(sorted(range(array.ndim), key=lambda axis: -array.strides[axis]))
    return in_order if in_order.flags.c_contiguous else None


def _owner(array: np.ndarray) -> np.ndarray:
    """The array of which it is a view, or itself."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return np.asarray(array)  # no np.matrix, which can never be flat


def _place(array: np.ndarray, name: str, buffers: list[Buffer]) -> tuple[Buffer, int]:
    """Put an array into global memory: its buffer and its address. As on a GPU the whole allocation is there: a view
    of an array may be left for the rest of it, and arrays that share memory share a buffer."""
    owner = _owner(array)
    whole = _without_gaps(owner)
    if whole is None or owner.dtype.hasobject:
        owner, whole = array, _without_gaps(array)
    assert whole is not None  # `_checked` saw that
    data = whole.reshape(-1).view(np.uint8)
    first = array.ctypes.data - owner.ctypes.data
    for buffer in buffers:
        at = array.ctypes.data - buffer.memory.data.ctypes.data
        if array.nbytes and 0 <= at <= buffer.size - array.nbytes:
            return buffer, buffer.base + at
    label = f"{name} ({array.dtype.name}, shape {array.shape})"
    base = (len(buffers) + 1) * SPACING
    buffer = Buffer(base, Bytes(data), label, array.dtype.itemsize, first, array.size)
    buffers.append(buffer)
    return buffer, base + first
