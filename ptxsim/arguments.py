"""What a kernel is launched with: its arguments as bytes of parameters, and arrays as buffers in global memory."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .kernel import Kernel, LaunchError
from .memory import SPACING, Buffer, Bytes
from .ptx import program as ptx
from .tensor_map import TensorMap

POINTER, MAP_ALIGN = 8, 64
"""Bytes of a pointer, and to what a tensor map is aligned."""
FLOATS = {"float": "float32", "double": "float64", "half": "float16", "__half": "float16"}
_POINTER = re.compile(
    rf"\b({'|'.join(FLOATS)})\s*(?:const\s*)?\*\s*(?:const\s+)?(?:__restrict__\s+)?(\w+)\s*[,)]"
)


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
        raise LaunchError(
            f"{kernel.name} has {len(params)} parameters{names}, but {len(args)} arguments were given"
        )
    bound = Bound(np.zeros(kernel.code.program.param_bytes, np.uint8), [*buffers], [])
    for number, (param, arg) in enumerate(zip(params, args, strict=True)):
        name, is_pointer = _about(kernel, number)
        owned: list[Buffer] = []
        if isinstance(arg, np.ndarray):
            if kernel.declared and not is_pointer and param.size == 8:
                raise LaunchError(
                    f"{name} is a value of 8 bytes in the kernel, no pointer; the argument is an array"
                )
            _check_float(arg, name, kernel.source)
            value = _pointer(arg, name, bound.buffers, owned)
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


def _about(kernel: Kernel, number: int) -> tuple[str, bool]:
    """The name of a parameter, and whether it is a pointer: by the source, or because the program uses it as one."""
    known = number < len(kernel.declared)  # a macro may have added some
    name, declared = kernel.declared[number] if known else (f"argument {number}", False)
    return name, declared or kernel.code.is_address(number)


def _is_masked(array: np.ndarray) -> bool:
    # Who has a masked array has imported numpy.ma; it takes longer than a small launch.
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(array, masked.MaskedArray)


def _checked(array: np.ndarray, name: str, gaps: bool) -> np.ndarray:
    """The array as plain numbers in memory; with `gaps` it may be a view of an array that has none."""
    if _is_masked(array):
        raise LaunchError(f"{name} is a masked array; pass its data: {name}.data, or {name}.filled(...)")
    if array.dtype.hasobject or array.dtype.kind in "US":
        raise LaunchError(f"{name} is an array of dtype {array.dtype}; a kernel takes arrays of numbers")
    if not array.dtype.isnative:
        raise LaunchError(
            f"{name} is an array of dtype {array.dtype.str}, whose bytes are in another order than a "
            f"GPU's; pass {name}.astype({array.dtype.newbyteorder('=').name!r})"
        )
    whole = _owner(array) if gaps else array
    if not (whole.flags.c_contiguous or whole.flags.f_contiguous):
        raise LaunchError(
            f"{name} is a view with gaps (shape {array.shape}, strides {array.strides}); a kernel only gets the first "
            "address. Pass np.ascontiguousarray(...) or np.asfortranarray(...) of it"
        )
    if not array.flags.writeable:
        raise LaunchError(f"{name} is read-only (writeable=False); pass a copy of it")
    return np.asarray(array)


def _check_float(array: np.ndarray, name: str, source: str) -> None:
    """Refuse an array of one float type for a pointer to another: a GPU would read its bytes as other numbers."""
    kind = float_pointed_to(name, source)
    if kind and array.dtype.name in FLOATS.values() and array.dtype != FLOATS[kind]:
        raise LaunchError(
            f"{name} is {kind}* in the kernel, and the array is {array.dtype}; pass {name}.astype(np.{FLOATS[kind]})"
        )


def float_pointed_to(name: str, source: str) -> str | None:
    """One of FLOATS, if all kernels of the source that have a pointer of this name agree that it is one to that."""
    lists = " ".join(re.findall(r"__global__[^;{]*", source))
    declared = {kind for kind, parameter in _POINTER.findall(lists) if parameter == name}
    return declared.pop() if len(declared) == 1 else None


def _scalar(arg: object, name: str, param: ptx.Variable, is_pointer: bool) -> np.ndarray:
    if hasattr(arg, "__cuda_array_interface__"):
        raise LaunchError(
            f"{name} is an array on the GPU; the simulator needs it on the host: cp.asnumpy({name})"
        )
    if is_pointer and param.size == 8:
        raise LaunchError(
            f"{name} is a pointer in the kernel, but the argument is {arg!r}; pass an array, or None for a null pointer"
        )
    if isinstance(arg, np.generic):
        return np.array([arg])
    if isinstance(arg, bool):
        return np.array([arg])
    if isinstance(arg, int):  # CuPy passes a Python int as 64 bits and a float as a double
        if not -(2**63) <= arg < 2**63:
            raise LaunchError(
                f"{name} is {arg}, which does not fit into 64 bits; pass np.uint64(...) if that does"
            )
        return np.array([arg], np.int64)
    if isinstance(arg, float):
        return np.array([arg], np.float64)
    raise LaunchError(
        f"{name} is a {type(arg).__name__}; pass an array, or a NumPy scalar such as np.int32(4)"
    )


def _wrong_size(arg: object, name: str, param: ptx.Variable, given: int) -> str:
    if isinstance(arg, np.ndarray):
        return f"{name} is a value of {param.size} bytes in the kernel, but the argument is an array"
    if isinstance(arg, Struct):
        return f"{name} has {param.size} bytes in the kernel, and the members given make {given}"
    wrap = {
        4: "np.int32(...) or np.float32(...)",
        8: "np.int64(...) or np.float64(...)",
        2: "np.float16(...)",
    }
    return (
        f"{name} has {param.size} bytes in the kernel, but {arg!r} ({type(arg).__name__}) has {given}; "
        f"pass {wrap.get(param.size, 'a NumPy scalar')} of the parameter's own type"
    )


def _owner(array: np.ndarray) -> np.ndarray:
    """The array of which it is a view, or itself."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return np.asarray(array)  # no np.matrix, which can never be flat


def _place(array: np.ndarray, name: str, buffers: list[Buffer]) -> tuple[Buffer, int]:
    """Put an array into global memory: its buffer and its address. As on a GPU the whole allocation is there: a view
    of an array may be left for the rest of it, and arrays that share memory share a buffer."""
    owner = _owner(array)
    if not (owner.flags.c_contiguous or owner.flags.f_contiguous) or owner.dtype.hasobject:
        owner = array
    data = (owner if owner.flags.c_contiguous else owner.T).reshape(-1).view(np.uint8)
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
