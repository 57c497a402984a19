"""What `matmul` is given, and what it refuses, in words."""

from typing import Any

import numpy as np

from cupy_or_sim import device, timing
from cupy_or_sim.kernel import Array

from .operands import ACTIVATIONS, TYPES, type_of
from .places import folded, shared

LARGEST = 2**31 - 2**12
"""Of M, N and K: the kernel counts them, and the rest of the last tiles, in 32 bits."""
TILES_OF_N = 65_535
"""Blocks along N that a GPU takes; the smallest tile has 64 columns."""


def checked(
    A: Array, B: Array, out: Array, bias: Array, activation: object, beta: float, dtype: Any
) -> Array:
    """`out`, or a new array in its place. Raises when anything of what was given is not allowed."""
    given = {"A": A, "B": B, "out": out, "bias": bias}
    given = {name: array for name, array in given.items() if array is not None or name in "AB"}
    _check_places(given)
    shape = _shape_of_product(A.shape, B.shape)
    M, N = shape[-2:]
    if max(M, N, A.shape[-1]) > LARGEST or N > 64 * TILES_OF_N or (out is not None and M > 64 * TILES_OF_N):
        raise ValueError(
            f"M={M}, N={N}, K={A.shape[-1]}: allowed are N up to {64 * TILES_OF_N:,} (M too where out is given), and "
            f"up to {LARGEST:,} for each. Multiply in parts"
        )
    kind = type_of(A.dtype)
    if kind in (None, "float") or type_of(B.dtype) != kind:
        raise TypeError(
            f"A is {A.dtype} and B is {B.dtype}; allowed are both float16, or both bfloat16 (uint16 is taken for its "
            f"bits). {_how_to_make_one_type(A.dtype, B.dtype)}"
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


def _shape_of_product(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """Of matrices (M, K) and (K, N), and of batches of these; a batch of one, or a matrix, goes with any batch."""
    batches = {size for shape in (a, b) for size in shape[:-2]} - {1}
    if not (len(a) in (2, 3) and len(b) in (2, 3) and a[-1] == b[-2] and len(batches) <= 1):
        raise ValueError(
            f"A has shape {a} and B {b}; allowed are (M, K) and (K, N), or batches, (b, M, K) and (b, K, N), where one "
            "may be a single matrix. To multiply by the transpose of B, pass B.T, or B.swapaxes(1, 2) of a batch: a "
            "view, no copy. For more dimensions reshape them into one"
        )
    batch = (batches.pop() if batches else 1,) if max(len(a), len(b)) == 3 else ()
    return (*batch, a[-2], b[-1])


def check_apart(out: Array, **read: Array) -> None:
    """Raises ValueError where `out` has an element in common with what is read."""
    for name, array in read.items():
        if array is not None and shared(out, array):
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


def _output(out: Array, shape: tuple[int, ...], like: np.dtype, dtype: Any, beta: float) -> Array:
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
    if folded(out):
        raise ValueError(
            f"out has shape {out.shape} and strides {out.strides}: elements of it lie over each other, and each can "
            "hold one number: pass an array where they do not"
        )
    return out


def _name_of(dtype: Any) -> str:
    """float16 for np.float16, "f2", "half" and all that NumPy knows; what it does not know (bfloat16), as it is."""
    try:
        return np.dtype(dtype).name
    except TypeError:
        return str(dtype)
