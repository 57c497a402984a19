"""C = A @ B with the kernels of lessons 06 and 07: any sizes, float16 and bfloat16, on a GPU and in the simulator."""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from cupy_or_sim import device
from cupy_or_sim.kernel import Array
from cupy_or_sim.limits import this_gpu

from .hopper_plans import HopperPlan, hopper_plan
from .operands import Operand, allowed_lessons, check_apart, checked
from .plans import Plan, Shape, plan
from .ready import in_boxes, ready

LESSON = "06_complete_gemm"
MOST_KNOWN = 4096
"""Calls that are kept ready."""


class Call(NamedTuple):
    """A call of which all but the arrays is known: what it returns where no `out` is given, and its launches."""

    shape: tuple[int, int]
    dtype: np.dtype
    launch: Callable[[Array, Array, Array, Array], None]


_known: dict[tuple, Call] = {}
"""By the forms of the arrays (`_form`) and all else that a call is given: on a GPU, where each microsecond counts."""


def matmul(
    A: Array,
    B: Array,
    out: Array = None,
    bias: Array = None,
    activation: str | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    dtype: Any = None,
    lesson: int | None = None,
) -> Array:
    """activation(alpha * A @ B + beta * out + bias) with float32 sums, rounded once; returns `out`.

    A (M, K) and B (K, N) are both float16 or both bfloat16 (or its bits, as uint16), each contiguous along rows or
    columns: `X.T` is a column-major operand. `out` (M, N) is float16, bfloat16 or float32; without it, a new array of
    `dtype`, or of A's. `bias` has N numbers of A's dtype, `activation` is None, "relu" or "gelu". `lesson` is 6 or 7:
    whose kernel; without it 6 or, on a GPU of compute capability 9.0, the one that should be faster. Anything else
    raises TypeError or ValueError, and leaves `out` alone.
    """
    key = _key((A, B, out, bias), activation, alpha, beta, dtype, lesson)
    try:
        call = _known.get(key) if key else None
    except TypeError:  # a list for a dtype
        call = key = None
    if call is None:
        out = checked(A, B, out, bias, activation, beta, dtype)
        call = _prepared(A, B, out, activation, alpha, beta, allowed_lessons(lesson))
        if key:
            _keep(key, call)
    elif out is None:
        out = device.cp.empty(call.shape, call.dtype)
    else:
        check_apart(out, A=A, B=B, bias=bias)
    call.launch(A, B, out, bias)
    return out


def _key(arrays: tuple, *others: object) -> tuple | None:
    """What decides all of a call but where its arrays lie; None: it is not kept."""
    if device.backend() != "cupy":
        return None
    array_type, now = device.cp.ndarray, device.cp.cuda.runtime.getDevice()
    forms: list[tuple | None] = []
    for array in arrays:
        if array is None:
            forms.append(None)
        elif type(array) is array_type and array.data.device_id == now:
            forms.append((array.shape, array.strides, array.dtype, array.data.ptr % 16))
        else:
            return None  # it is refused in words
    return (now, *forms, *others)


def _keep(key: tuple, call: Call) -> None:
    if len(_known) >= MOST_KNOWN:
        _known.clear()
    _known[key] = call


def _prepared(
    A: Array,
    B: Array,
    out: Array,
    activation: str | None,
    alpha: float,
    beta: float,
    lessons: tuple[int, ...],
) -> Call:
    (M, K), N = A.shape, B.shape[1]
    left, right = Operand(A, A.flags.c_contiguous, M, K), Operand(B, B.flags.f_contiguous, N, K)
    exchanged = not out.flags.c_contiguous  # C.T = B.T @ A.T, and the rows of C.T are the columns of C
    if exchanged:
        left, right = right, left
    if not (M and N):
        return Call(out.shape, out.dtype, lambda A, B, out, bias: None)
    boxes = in_boxes(left, right, out, beta)
    chosen = planned((left.rows, right.rows, K), left.along_k, right.along_k, lessons, boxes)
    launch = ready(chosen, left, right, out, activation, alpha, beta)
    if exchanged:
        return Call(out.shape, out.dtype, lambda A, B, out, bias: launch(B, A, out, bias))
    return Call(out.shape, out.dtype, launch)


@lru_cache(maxsize=1024)
def planned(
    shape: Shape, a_along_k: bool, b_along_k: bool, lessons: tuple[int, ...], boxes: bool = True
) -> Plan | HopperPlan:
    """The plan for a problem, with the kernel of lesson 07 where that may run. `boxes`: the copy engine can store C."""
    if 7 in lessons and all(shape):
        chosen = hopper_plan(*shape, boxes)
        return chosen.fitting(a_along_k if chosen.turned else b_along_k)
    return plan(*shape, a_along_k, b_along_k, *here())


@cache
def here() -> tuple[int, str]:
    """Bytes of shared memory that a block may have, and the GPU's name; the simulator is an H100."""
    gpu = this_gpu()
    return gpu.shared_block, gpu.driver_name
