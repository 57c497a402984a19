"""A plan made ready: kernels, grids and numbers are there, and a call gives the arrays. Nothing here holds an array."""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from cupy_or_sim import device
from cupy_or_sim.headers import in_one_piece
from cupy_or_sim.kernel import Array, Kernel
from cupy_or_sim.limits import this_gpu

from .float_plans import FloatPlan
from .hopper_plans import HopperPlan
from .operands import ACTIVATIONS, Operand, boxer, type_of
from .packed import Nth, packed
from .places import begin
from .plans import Plan
from .scratch import kept, scratch

PARTS = "".join(f"#include <course/gemm/{part}.cuh>\n" for part in ("gemm", "around", "stream_k", "grouped"))
FLOAT_PARTS = "#include <course/gemm/float32.cuh>\n"
HOPPER_PARTS = "#include <course/hopper/kernel.cuh>\n"
WORDS = {8: "long long", 4: "int", 2: "short"}

OVERLAP = ("reduce", "pad")
"""Kernels that wait for the one before, or let the next one begin (course/gemm/dependent.cuh)."""

Launch = Callable[[Array, Array, Array, Array], None]
"""Launches kernels on the left operand, the right one, the output and the bias."""
ON_ALL = tuple(map(Nth, range(4)))
"""These, as a kernel's arguments."""


class Written(NamedTuple):
    """How a kernel writes its output: the type there, how many elements a row has in memory, what makes a result of a
    sum (alpha, beta, whether bias goes by rows, the activation), and whether the copy engine stores it in boxes: it is
    not read then, has A's type, and rows that begin at multiples of 16 bytes."""

    type: str
    stride: int
    finish: tuple
    boxes: bool = False


def ready(
    chosen: Plan | HopperPlan,
    left: Operand,
    right: Operand,
    out: Array,
    activation: str | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Launch:
    """The launches of a plan for all arrays of these forms. `out` has in memory, whatever its shape says, as many rows
    as `left` and as many columns as `right`."""
    M, N = left.rows, right.rows
    T, Out = type_of(left.dtype), type_of(out.dtype)
    turned = isinstance(chosen, HopperPlan) and chosen.turned
    by_row, c_stride = rows_of(out)
    finish = (
        np.float32(alpha),
        np.float32(beta),
        np.int32(by_row != turned),
        np.int32(ACTIVATIONS[activation]),
    )
    assert T and Out, "types that were checked"
    if chosen.split == 1:
        boxes = isinstance(chosen, HopperPlan) and chosen.boxable and in_boxes(left, right, out, beta)
        written = Written(Out, c_stride, finish, boxes)
        if not turned:
            return launcher(chosen, left, right, written)
        launch = launcher(chosen, right, left, written)
        return lambda a, b, C, bias: launch(b, a, C, bias)
    stride = sums_stride(N)
    plain = (np.float32(1), np.float32(0), np.int32(0), np.int32(0))
    gemm = launcher(chosen, left, right, Written("float", stride, plain))
    reduce = reducer(chosen.split, T, M, N, Written(Out, c_stride, finish))
    size = chosen.split * M * stride

    def run(a: Array, b: Array, C: Array, bias: Array) -> None:
        sums = scratch(size, np.float32)
        gemm(a, b, sums, None)
        reduce(sums, C, bias)

    return run


def in_boxes(left: Operand, right: Operand, out: Array, beta: float) -> bool:
    """Whether the copy engine can store `out`."""
    N, c_stride = right.rows, rows_of(out)[1]
    aligned = (N | c_stride) % 8 == 0 and c_stride >= N and begin(out) % 16 == 0
    return beta == 0 and type_of(out.dtype) == type_of(left.dtype) and aligned


def sums_stride(N: int) -> int:
    """From one row to the next of the sums of a part of K: `reduce` reads 16 bytes at a time."""
    return -(-N // 8) * 8


def reducer(split: int, T: str, M: int, N: int, out: Written) -> Callable[[Array, Array, Array], None]:
    """What adds the sums of all parts of K, and finishes them: launched on the sums, the output and the bias."""
    grid, numbers = (-(-N // 128), min(-(-M // 4), 65_535)), (M, N, sums_stride(N), out.stride)
    args = (Nth(0), np.int32(split), Nth(1), Nth(2), *out.finish, *map(np.int32, numbers))
    return packed(kernel_of(f"reduce<{T}, {out.type}>"), grid, (32, 4), 0, args, dependent=True)


def rows_of(out: Array) -> tuple[bool, int]:
    """Whether its columns are what a kernel takes for rows, and how many elements are from one to the next."""
    down, across = (stride // out.itemsize for stride in out.strides[-2:])
    M, N = out.shape[-2:]
    if N <= 1 or across == 1:
        return False, down if M > 1 else N
    return True, across


def launcher(chosen: Plan | HopperPlan, left: Operand, right: Operand, out: Written) -> Launch:
    """The kernel of the plan's lesson; see below."""
    if isinstance(chosen, HopperPlan):
        return hopper_launcher(chosen, left, right, out)
    return gemm_launcher(chosen, left, right, out)


def gemm_launcher(chosen: Plan, left: Operand, right: Operand, out: Written) -> Launch:
    """Lesson 06's kernel, which stores no boxes."""
    M, N, K = left.rows, right.rows, left.K
    kernel = gemm_kernel(str(type_of(left.dtype)), out.type, chosen, left.along_k, right.along_k)
    head = (*ON_ALL, *out.finish, *map(np.int32, (M, N, K)))
    tail = (np.int64(left.stride(False)), np.int64(right.stride(False)), np.int32(out.stride))
    copies, block, shared_mem = copier(left, right, False), (chosen.threads,), chosen.shared_mem
    if not chosen.shared_by:
        middle = (np.int32(chosen.groups(M)), np.int32(chosen.k_part(K)))
        gemm = packed(kernel, chosen.grid(M, N), block, shared_mem, (*head, *middle, *tail))
        return gemm if copies is None else lambda a, b, C, bias: gemm(*copies(a, b), C, bias)
    blocks, whole = chosen.stream(M, N, K, sms())
    size = blocks * chosen.tile[0] * chosen.tile[1]
    shared = packed(kernel, (blocks,), block, shared_mem, (*head, np.int32(whole), Nth(4), Nth(5), *tail))

    def run(a: Array, b: Array, C: Array, bias: Array) -> None:
        a, b = copies(a, b) if copies else (a, b)
        shared(a, b, C, bias, scratch(size, np.float32), kept(device.cp.zeros(blocks, np.int32)))

    return run


def hopper_launcher(chosen: HopperPlan, left: Operand, right: Operand, out: Written) -> Launch:
    """Lesson 07's kernel."""
    M, N, K = left.rows, right.rows, left.K
    expression = hopper_instance(
        str(type_of(left.dtype)), out.type, chosen, left.along_k, right.along_k, out.boxes, chosen.turned
    )
    shared_mem = chosen.shared_mem(right.along_k)
    kernel = with_shared(kernel_of(expression), shared_mem)
    a_box, b_box, c_box, rest = chosen.boxes(left.along_k, right.along_k)
    of_a, of_b = (
        Nth(number, boxer(each.runs, each.width, each.stride(True), box))
        for number, (each, box) in enumerate(((left, a_box), (right, b_box)))
    )
    of_C = (*((N, M) if chosen.turned else (M, N)), out.stride)
    whole, last = (Nth(2, boxer(*of_C, box)) if out.boxes else of_a for box in (c_box, rest))
    numbers = (*map(np.int32, (M, N, out.stride)), *chosen.order(M, N, K))
    args = (of_a, of_b, whole, last, *ON_ALL[2:], *out.finish, *numbers)
    copies, blocks = copier(left, right, True), (chosen.blocks(M, N, sms()),)
    gemm = packed(kernel, blocks, (chosen.threads,), shared_mem, args, dependent=True)
    return gemm if copies is None else lambda a, b, C, bias: gemm(*copies(a, b), C, bias)


def copier(
    left: Operand, right: Operand, boxes: bool
) -> Callable[[Array, Array], tuple[Array, Array]] | None:
    """What puts operands in place: those that the kernel cannot read where they lie are copied to rows that it can,
    all in one launch. None if there are none."""
    moved = [(at, operand) for at, operand in enumerate((left, right)) if not operand.in_place(boxes)]
    if not moved:
        return None
    sizes = [
        (at, operand.different * operand.runs * operand.stride(boxes), operand.dtype) for at, operand in moved
    ]
    args = [
        (Nth(2 * i), Nth(2 * i + 1), *in_halves(operand, boxes))
        for i, (_, operand) in enumerate((moved[0], moved[-1]))
    ]
    kernel = kernel_of(f"pad<unsigned {WORDS[min(operand.word for _, operand in moved)]}>")
    blocks, products = (
        max(numbers) for numbers in zip(*((-(-each.runs // 8), each.different) for _, each in moved))
    )
    pad = packed(kernel, (blocks, len(moved), products), (32, 8), 0, args[0] + args[1])

    def copies(*arrays: Array) -> tuple[Array, Array]:
        placed = list(arrays)
        for at, size, dtype in sizes:
            placed[at] = scratch(size, dtype)
        pairs = [(arrays[at], placed[at]) for at, _, _ in sizes]
        pad(*pairs[0], *pairs[-1])
        return placed[0], placed[1]

    return copies


def in_halves(moved: Operand, boxes: bool) -> tuple:
    """What `pad` takes of an operand. It counts in elements of two bytes."""
    size = moved.itemsize // 2
    lengths = (moved.runs, moved.width * size, moved.stride(boxes) * size, moved.different)
    return *map(np.int32, lengths), np.int64(moved.apart * size), np.int64(moved.next * size)


def gemm_kernel(T: str, Out: str, chosen: Plan, a_along_k: bool, b_along_k: bool, sizes: int = 0) -> Kernel:
    return with_shared(kernel_of(instance(T, Out, chosen, a_along_k, b_along_k, sizes)), chosen.shared_mem)


def float_kernel(Out: str, chosen: FloatPlan, a_along_k: bool, b_along_k: bool, sizes: int) -> Kernel:
    """Of a table of products."""
    return _float_kernel(f"float32<{Out}, {_template_of(chosen, a_along_k, b_along_k)}, {sizes}>", chosen)


def plain_float_kernel(chosen: FloatPlan, a_along_k: bool, b_along_k: bool) -> Kernel:
    """Of one product, which is stored plainly."""
    return _float_kernel(f"float32_plain<{_template_of(chosen, a_along_k, b_along_k)}>", chosen)


def _template_of(chosen: FloatPlan, *layouts: bool) -> str:
    numbers = *chosen.tile, chosen.rows, chosen.at_once
    return ", ".join((*map(str, numbers), *(str(layout).lower() for layout in layouts)))


def _float_kernel(expression: str, chosen: FloatPlan) -> Kernel:
    return with_shared(kernel_of(expression), chosen.shared_mem)


@lru_cache(maxsize=1024)
def hopper_instance(T: str, Out: str, chosen: HopperPlan, *flags: bool) -> str:
    """The name of a plan's instance of `hopper`."""
    numbers = ", ".join(map(str, (*chosen.tile, chosen.slots, chosen.below, chosen.across, chosen.together)))
    return f"hopper<{T}, {Out}, {numbers}, {', '.join(str(flag).lower() for flag in flags)}>"


def with_shared(kernel: Kernel, size: int) -> Kernel:
    """The kernel, which may have so many bytes of dynamic shared memory."""
    if kernel.max_dynamic_shared_size_bytes < size:
        kernel.max_dynamic_shared_size_bytes = size
    return kernel


@lru_cache(maxsize=1024)
def instance(T: str, Out: str, chosen: Plan, a_along_k: bool, b_along_k: bool, sizes: int = 0) -> str:
    """The name of a plan's instance of `gemm` or `stream_k`; where K is in parts, Out is float. With `sizes`, of
    `grouped`."""
    numbers = ", ".join(map(str, (*chosen.tile, *chosen.warp, chosen.stages)))
    name = "grouped" if sizes else "stream_k" if chosen.shared_by else "gemm"
    layouts = f"{str(a_along_k).lower()}, {str(b_along_k).lower()}"
    return f"{name}<{T}, {Out}, {numbers}, {layouts}{f', {sizes}' * bool(sizes)}>"


@cache
def sms() -> int:
    """Streaming multiprocessors of this GPU; without one, of an H100."""
    return this_gpu().sms


@cache
def matmul_source(lesson: int | str) -> str:
    """The CUDA source of `matmul`'s kernels in one piece: the headers in course/gemm, and for lesson 7 those in
    course/hopper behind them; for "float32" its own."""
    if lesson == "float32":
        return in_one_piece(FLOAT_PARTS)
    return in_one_piece(PARTS + HOPPER_PARTS * (lesson == 7))


@cache
def kernel_of(expression: str) -> Kernel:
    """One instance of the lessons' templates, or of those for float32."""
    name = expression.partition("<")[0]
    code = matmul_source({"hopper": 7, "float32": "float32", "float32_plain": "float32"}.get(name, 6))
    options = device.HOPPER if name == "hopper" else device.OPTIONS
    if name in OVERLAP and device.backend() == "simulator":  # on a GPU CuPy names its architecture
        options += ("-arch=compute_90",)
    module = device.cp.RawModule(code=code, options=options, name_expressions=(expression,))
    return module.get_function(expression)
