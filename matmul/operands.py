"""What `matmul` is given: operands as its kernels read them; and what is refused, in words."""

import ctypes
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from cupy_or_sim import device, timing
from cupy_or_sim.kernel import Array
from cupy_or_sim.tensor_maps import encoded
from ptxsim import TensorMap

TYPES = {"float16": "__half", "bfloat16": "__nv_bfloat16", "uint16": "__nv_bfloat16", "float32": "float"}
"""dtype of an array -> type in the kernel. NumPy has no bfloat16: it is ml_dtypes' type of that name where that is
installed (CuPy 14 takes it), or its bits as uint16."""
ACTIVATIONS = {None: 0, "relu": 1, "gelu": 2}
Box = tuple[int, int]
"""Rows and columns that the copy engine takes at once."""
LARGEST = 2**31 - 2**12
"""Of M, N and K: the kernel counts them, and the rest of the last tiles, in 32 bits."""
TILES_OF_N = 65_535
"""Blocks along N that a GPU takes; the smallest tile has 64 columns."""


@cache
def type_of(dtype: np.dtype) -> str | None:
    """Its type in the kernel, if it has one. Kept: NumPy takes microseconds to make up the name of a dtype."""
    return TYPES.get(dtype.name)


@dataclass
class Operand:
    """`rows` (of A; columns of B) x K, contiguous along K or along the rows. In memory these are `runs` of `width`
    elements that follow each other; `aligned`: all runs begin at multiples of 16 bytes. `stride`: from one run to the
    next in what the kernel reads; in a copy, whole lines of 128 bytes."""

    array: Array
    along_k: bool
    rows: int
    K: int

    def __post_init__(self) -> None:
        self.width, self.runs = (self.K, self.rows) if self.along_k else (self.rows, self.K)
        self.aligned = self.array.size == 0 or (self.width % 8 == 0 and begin(self.array) % 16 == 0)
        self.stride = self.width if self.aligned else -(-self.width // 64) * 64

    @property
    def word(self) -> int:
        """Bytes of the widest word at whose multiples all runs begin: 8, 4 or 2."""
        return next(size for size in (8, 4, 2) if (begin(self.array) | 2 * self.width) % size == 0)


def checked(
    A: Array, B: Array, out: Array, bias: Array, activation: object, beta: float, dtype: Any
) -> Array:
    """`out`, or a new array in its place. Raises when anything of what was given is not allowed."""
    given = {"A": A, "B": B, "out": out, "bias": bias}
    given = {name: array for name, array in given.items() if array is not None or name in "AB"}
    _check_places(given)
    if A.ndim != 2 or B.ndim != 2 or A.shape[1] != B.shape[0]:
        raise ValueError(
            f"A has shape {A.shape} and B {B.shape}; allowed are (M, K) and (K, N). To multiply by the transpose of "
            "B, pass B.T: it is a view, no copy"
        )
    shape = M, N = A.shape[0], B.shape[1]
    if max(M, N, A.shape[1]) > LARGEST or N > 64 * TILES_OF_N or (out is not None and M > 64 * TILES_OF_N):
        raise ValueError(
            f"M={M}, N={N}, K={A.shape[1]}: allowed are N up to {64 * TILES_OF_N:,} (M too where out is given), and up "
            f"to {LARGEST:,} for each. Multiply in parts"
        )
    kind = type_of(A.dtype)
    if kind in (None, "float") or type_of(B.dtype) != kind:
        raise TypeError(
            f"A is {A.dtype} and B is {B.dtype}; allowed are both float16, or both bfloat16 (uint16 is taken for its "
            f"bits). {_how_to_make_one_type(A.dtype, B.dtype)}"
        )
    for name, array in given.items():
        flags = array.flags
        if not (flags.c_contiguous or flags.f_contiguous):
            # What is written to a copy of `out` would be lost.
            way = "leave out away, and write out[...] = matmul(A, B)"
            raise ValueError(
                f"{name} is a view with gaps: shape {array.shape}, strides {array.strides}. Allowed are whole arrays, "
                f"contiguous along rows or columns: {way if name == 'out' else f'pass cp.ascontiguousarray({name})'}"
            )
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation is {activation!r}; allowed are {', '.join(map(repr, ACTIVATIONS))}")
    if bias is not None and (bias.shape != (N,) or type_of(bias.dtype) != kind):
        way = f"give it {N} numbers" if bias.shape != (N,) else _converted("bias", bias.dtype, A.dtype)
        raise ValueError(
            f"bias has shape {bias.shape} and dtype {bias.dtype}; allowed is one number for each column of the result: "
            f"shape ({N},), dtype {A.dtype}: {way}"
        )
    out = _output(out, shape, A.dtype, dtype, beta)
    check_apart(out, A=A, B=B, bias=bias)
    return out


def check_apart(out: Array, **read: object) -> None:
    for name, array in read.items():
        if array is not None and overlap(out, array):
            raise ValueError(
                f"out shares memory with {name}, which is still read while out is written: pass a copy"
            )


def _how_to_make_one_type(a: np.dtype, b: np.dtype) -> str:
    """Which of A and B to convert, and to what; never into the type that nothing can be converted to: bits."""
    fits = {name: type_of(dtype) not in (None, "float") for name, dtype in (("A", a), ("B", b))}
    if not any(fits.values()):
        return f"{_converted('A', a, np.dtype('f2'))}, and {_converted('B', b, np.dtype('f2'))}"
    return _converted("A", a, b) if not fits["A"] else _converted("B", b, a)


def _converted(name: str, dtype: np.dtype, wanted: np.dtype) -> str:
    if dtype.kind == "c":
        return f"{name} is complex, which no kernel here multiplies, and a conversion would drop its imaginary part"
    if np.dtype("u2") in (dtype, wanted):
        return f"make {name} anew as {wanted}: astype does not convert to or from bits in uint16"
    return f"convert: {name}.astype({f'cp.{wanted}' if wanted == np.float16 else wanted})"


def allowed_lessons(lesson: int | None) -> tuple[int, ...]:
    """Whose kernels may run. Lesson 07's needs compute capability 9.0 or, where it is asked for, the simulator."""
    if lesson not in (None, 6, 7):
        raise ValueError(f"lesson is {lesson!r}; allowed are 6 and 7, or leave it out")
    simulated = device.backend() == "simulator"
    capability = "9.0" if simulated else timing.capability()
    if lesson == 7 and capability != "9.0":
        raise ValueError(
            f"lesson 07's kernel needs a GPU of compute capability 9.0, and this one has {capability}: leave lesson "
            "out, and lesson 06's kernel runs"
        )
    if capability.startswith("7."):
        raise ValueError(
            f"matmul's kernels copy with cp.async, from compute capability 8.0 on, and this GPU has {capability}: set "
            "COURSE_BACKEND=simulator, or take cp.matmul"
        )
    return (lesson,) if lesson else (6, 7) if capability == "9.0" and not simulated else (6,)


def _check_places(given: dict[str, object]) -> None:
    """Arrays of `cp`, on the GPU in use."""
    cp = device.cp
    now = cp.cuda.Device().id if device.backend() == "cupy" else None
    for name, array in given.items():
        if not isinstance(array, cp.ndarray):
            kind = f"{type(array).__module__}.{type(array).__name__}"
            raise TypeError(f"{name} is a {kind}; allowed are arrays of cp: pass cp.asarray({name})")
        if now is not None and (there := array.data.device_id) != now:
            raise ValueError(
                f"{name} is on GPU {there}, and GPU {now} is in use: call matmul under `with cp.cuda.Device({there}):`"
            )


def _output(out: Array, shape: tuple[int, int], like: np.dtype, dtype: Any, beta: float) -> Array:
    name = "" if dtype is None else _name_of(dtype)
    kind = type_of(like) if dtype is None else TYPES.get(name)
    if kind is None:
        raise TypeError(f"dtype is {dtype!r}; allowed are 'float16', 'bfloat16' and 'float32'")
    if out is None and beta != 0:
        raise ValueError(
            f"beta is {beta}, and there is no out to take it times: pass out=C, or leave beta out"
        )
    if out is None:
        return device.cp.empty(shape, like if kind == type_of(like) else name.replace("bfloat", "uint"))
    if out.shape != shape or type_of(out.dtype) is None:
        raise ValueError(
            f"out has shape {out.shape} and dtype {out.dtype}; allowed is shape {shape} of float16, bfloat16 or "
            "float32: leave out away, or pass cp.empty of these"
        )
    if dtype is not None and type_of(out.dtype) != kind:
        raise ValueError(f"out is {out.dtype}, and dtype says {name}: leave one of them away")
    return out


def _name_of(dtype: Any) -> str:
    """float16 for np.float16, "f2", "half" and all that NumPy knows; what it does not know (bfloat16), as it is."""
    try:
        return np.dtype(dtype).name
    except TypeError:
        return str(dtype)


def address(array: Array) -> int:
    """Of its first element."""
    return array.data.ptr if device.backend() == "cupy" else array.ctypes.data


def begin(array: Array) -> int:
    """Where its first element lies, in bytes. For the simulator, which puts an allocation where a GPU would, that is
    within the allocation: NumPy in a browser aligns to 8 bytes alone."""
    if device.backend() == "cupy":
        return address(array)
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return address(array) - address(owner)


def overlap(one: Array, other: Array) -> bool:
    a, b = address(one), address(other)
    return bool(one.size and other.size) and a < b + other.nbytes and b < a + one.nbytes


def boxed(array: Array, rows: int, width: int, box: Box) -> TensorMap | ctypes.Array:
    """A map of this many rows of 16-bit numbers, as they lie in the memory of an array of `cp`, in such boxes; a box's
    row is the swizzle's, too."""
    if device.backend() == "cupy":
        return _at(address(array), rows, width, box)
    flat = (array if array.flags.c_contiguous else array.T).reshape(-1)
    return TensorMap(flat.view(np.uint16).reshape(rows, width), box, 2 * box[1])


@lru_cache(maxsize=1024)
def _at(place: int, rows: int, width: int, box: Box) -> ctypes.Array:
    """A map holds an address and sizes: kept here, it keeps no array, and is right for whatever lies there later."""
    form = as_strided(np.zeros(1, np.uint16), (rows, width), (2 * width, 2))  # is never read
    return ctypes.create_string_buffer(encoded(TensorMap(form, box, 2 * box[1]), place).tobytes())
