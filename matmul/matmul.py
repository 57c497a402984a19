"""C = A @ B with the kernels of lessons 06 and 07: any sizes, float16 and bfloat16, on a GPU and in the simulator."""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np

from cupy_or_sim import device
from cupy_or_sim.headers import in_one_piece
from cupy_or_sim.limits import this_gpu

from .hopper_plans import HopperPlan, hopper_plan
from .operands import ACTIVATIONS, Operand, allowed_lessons, begin, boxed, checked, type_of
from .plans import Plan, Shape, plan, predicted

LESSON = "06_complete_gemm"
PARTS = "".join(f"#include <course/gemm/{part}.cuh>\n" for part in ("gemm", "around", "stream_k"))
HOPPER_PARTS = "#include <course/hopper/kernel.cuh>\n"
WORDS = {8: "long long", 4: "int", 2: "short"}


def matmul(
    A: object,
    B: object,
    out: object = None,
    bias: object = None,
    activation: str | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    dtype: object = None,
    lesson: int | None = None,
) -> object:
    """activation(alpha * A @ B + beta * out + bias) with float32 sums, rounded once; returns `out`.

    A (M, K) and B (K, N) are both float16 or both bfloat16 (or its bits, as uint16), each contiguous along rows or
    columns: `X.T` is a column-major operand. `out` (M, N) is float16, bfloat16 or float32; without it, a new array of
    `dtype`, or of A's. `bias` has N numbers of A's dtype, `activation` is None, "relu" or "gelu". `lesson` is 6 or 7:
    whose kernel; without it 6 or, on a GPU of compute capability 9.0, the one that should be faster. Anything else
    raises TypeError or ValueError, and leaves `out` alone.
    """
    out = checked(A, B, out, bias, activation, beta, dtype)
    lessons = allowed_lessons(lesson)
    (M, K), N = A.shape, B.shape[1]
    left, right = Operand(A, A.flags.c_contiguous, M, K), Operand(B, B.flags.f_contiguous, N, K)
    if not out.flags.c_contiguous:  # C.T = B.T @ A.T, and the rows of C.T are the columns of C
        left, right = right, left
    if M and N:
        chosen = planned((left.rows, right.rows, K), left.along_k, right.along_k, lessons)
        run(chosen, left, right, out, bias, activation, alpha, beta)
    return out


@lru_cache(maxsize=1024)
def planned(shape: Shape, a_along_k: bool, b_along_k: bool, lessons: tuple[int, ...]) -> Plan | HopperPlan:
    """The plan for a problem, with the kernel of one of these lessons."""
    memory, name = here()
    if 7 in lessons and all(shape):
        hopper, us = hopper_plan(*shape)
        if 6 not in lessons or us <= predicted(*shape, a_along_k, b_along_k, memory)[1]:
            return hopper
    return plan(*shape, a_along_k, b_along_k, memory, name)


def run(
    chosen: Plan | HopperPlan,
    left: Operand,
    right: Operand,
    out: object,
    bias: object = None,
    activation: str | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> None:
    """Launch the kernels of a plan. In memory `out` has as many rows as `left`, and as many columns as `right`."""
    M, N = left.rows, right.rows
    T, Out = type_of(left.array.dtype), type_of(out.dtype)
    by_row = np.int32(not out.flags.c_contiguous)
    finish = (bias, np.float32(alpha), np.float32(beta), by_row, np.int32(ACTIVATIONS[activation]))
    launch = launch_hopper if isinstance(chosen, HopperPlan) else launch_gemm
    if chosen.split == 1:
        launch(chosen, left, right, out, finish, N)
        return
    stride = -(-N // 8) * 8  # sums of each part, for `reduce` to add and to finish
    sums = device.cp.empty(chosen.split * M * stride, np.float32)
    launch(chosen, left, right, sums, (None, np.float32(1), np.float32(0), np.int32(0), np.int32(0)), stride)
    args = (sums, np.int32(chosen.split), out, *finish, *map(np.int32, (M, N, stride, N)))
    kernel_of(f"reduce<{T}, {Out}>")((-(-N // 128), min(-(-M // 4), 65_535)), (32, 4), args)


def launch_gemm(chosen: Plan, left: Operand, right: Operand, out: object, finish: tuple, stride: int) -> None:
    """Lesson 06's kernel. Rows of `out` have `stride` elements."""
    M, N, K = left.rows, right.rows, left.K
    T, Out = type_of(left.array.dtype), type_of(out.dtype)
    kernel = gemm_kernel(T, Out, chosen, left.along_k, right.along_k)
    strides = (np.int64(left.stride), np.int64(right.stride), np.int32(stride))
    if chosen.shared_by:
        blocks, whole = chosen.stream(M, N, K, sms())
        sums = device.cp.empty(blocks * chosen.tile[0] * chosen.tile[1], np.float32)
        grid, order = (blocks,), (np.int32(whole), sums, device.cp.zeros(blocks, np.int32))
    else:
        grid, order = chosen.grid(M, N), (np.int32(chosen.groups(M)), np.int32(chosen.k_part(K)))
    args = (*aligned(left, right), out, *finish, *map(np.int32, (M, N, K)), *order, *strides)
    kernel(grid, (chosen.threads,), args, shared_mem=chosen.shared_mem)


def launch_hopper(
    chosen: HopperPlan, left: Operand, right: Operand, out: object, finish: tuple, stride: int
) -> None:
    """Lesson 07's kernel. Its copy engine stores C where it can, in boxes: C is not read, and has A's type and rows
    that begin at multiples of 16 bytes."""
    M, N, K = left.rows, right.rows, left.K
    T, Out = type_of(left.array.dtype), type_of(out.dtype)
    boxes = chosen.split == 1 and Out == T and finish[2] == 0 and N % 8 == 0 and begin(out) % 16 == 0
    maps = [
        boxed(array, operand.runs, operand.stride)
        for operand, array in zip((left, right), aligned(left, right), strict=True)
    ]
    maps.append(boxed(out, M, N) if boxes else maps[0])
    expression = hopper_instance(T, Out, chosen, left.along_k, right.along_k, boxes)
    kernel = with_shared(kernel_of(expression), chosen.shared_mem)
    numbers = map(np.int32, (M, N, K, chosen.group, chosen.split, stride))
    grid, args = (chosen.blocks(M, N, sms()),), (*maps, out, *finish, *numbers)
    kernel(grid, (chosen.threads,), args, shared_mem=chosen.shared_mem)


def aligned(*operands: Operand) -> list[object]:
    """The operands' arrays. Those whose rows do not begin at multiples of 16 bytes are copied to rows that do, all in
    one launch."""
    arrays, moved = [operand.array for operand in operands], []
    for number, operand in enumerate(operands):
        if not operand.aligned:
            arrays[number] = device.cp.empty(operand.runs * operand.stride, np.uint16)
            numbers = map(np.int32, (operand.runs, operand.width, operand.stride))
            moved.append((operand, (operand.array, arrays[number], *numbers)))
    if moved:
        word = min(operand.word for operand, _ in moved)
        blocks = max(-(-operand.runs // 8) for operand, _ in moved)
        args = moved[0][1] + moved[-1][1]
        kernel_of(f"pad<unsigned {WORDS[word]}>")((blocks, len(moved)), (32, 8), args)
    return arrays


def gemm_kernel(T: str, Out: str, chosen: Plan, a_along_k: bool, b_along_k: bool) -> object:
    return with_shared(kernel_of(instance(T, Out, chosen, a_along_k, b_along_k)), chosen.shared_mem)


@lru_cache(maxsize=1024)
def hopper_instance(T: str, Out: str, chosen: HopperPlan, *layouts_and_boxes: bool) -> str:
    """The name of a plan's instance of `hopper`."""
    numbers = ", ".join(map(str, (*chosen.tile, chosen.slots, chosen.cluster)))
    return f"hopper<{T}, {Out}, {numbers}, {', '.join(str(flag).lower() for flag in layouts_and_boxes)}>"


def with_shared(kernel: object, size: int) -> object:
    """The kernel, which may have so many bytes of dynamic shared memory."""
    if kernel.max_dynamic_shared_size_bytes < size:
        kernel.max_dynamic_shared_size_bytes = size
    return kernel


@lru_cache(maxsize=1024)
def instance(T: str, Out: str, chosen: Plan, a_along_k: bool, b_along_k: bool) -> str:
    """The name of a plan's instance of `gemm` or `stream_k`; where K is in parts, Out is float."""
    numbers = ", ".join(map(str, (*chosen.tile, *chosen.warp, chosen.stages)))
    name = "stream_k" if chosen.shared_by else "gemm"
    return f"{name}<{T}, {Out}, {numbers}, {str(a_along_k).lower()}, {str(b_along_k).lower()}>"


@cache
def here() -> tuple[int, str]:
    """Bytes of shared memory that a block may have, and the GPU's name; the simulator is an H100."""
    gpu = this_gpu()
    return gpu.shared_block, gpu.driver_name


@cache
def sms() -> int:
    """Streaming multiprocessors of this GPU; without one, of an H100."""
    return this_gpu().sms


@cache
def matmul_source(lesson: int) -> str:
    """The CUDA source of `matmul`'s kernels in one piece: the headers in course/gemm, and for lesson 7 those in
    course/hopper behind them."""
    return in_one_piece(PARTS + HOPPER_PARTS * (lesson == 7))


@cache
def kernel_of(expression: str) -> object:
    """One instance of the lessons' templates."""
    hopper = expression.startswith("hopper")
    code, options = matmul_source(7 if hopper else 6), device.HOPPER if hopper else device.OPTIONS
    module = device.cp.RawModule(code=code, options=options, name_expressions=(expression,))
    return module.get_function(expression)
