"""Products in one launch: a batch, or a list of problems of any sizes."""

import ctypes
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np

from cupy_or_sim import device
from cupy_or_sim.kernel import Array
from ptxsim import Struct

from .copies import Given
from .float_plans import FloatPlan, float_plan_of_many
from .operands import ACTIVATIONS, Operand, type_of
from .packed import first, packed_table
from .plans import SIX, Plan, Shape, plan_of_many
from .ready import copier, float_kernel, gemm_kernel, rows_of, sms

SIZES = (32, 280)
"""So many products of different sizes a table may have: the first is quick to pass, the last is what a launch takes."""
FIELDS = struct.Struct("<10q7i4x")
"""A row of the table as C++ has it: four addresses, six long numbers, seven short ones."""
Kind = tuple[str, str, bool, bool, bool]
"""Types of the operands and of the output; whether the operands run along k; whether they are exchanged."""
Launches = Callable[[Sequence[Given]], None]
"""Launches kernels for some problems."""


@dataclass(frozen=True)
class Product:
    """A product, or a batch of products of one size: its operands, and how its output lies."""

    left: Operand
    right: Operand
    out_type: str
    c_stride: int
    c_next: int
    exchanged: bool

    @property
    def shape(self) -> Shape:
        return self.left.rows, self.right.rows, self.left.K

    @property
    def count(self) -> int:
        return max(self.left.count, self.right.count)

    @property
    def kind(self) -> Kind:
        """Those that have the same may share a launch."""
        layouts = self.left.along_k, self.right.along_k
        return str(type_of(self.left.dtype)), self.out_type, *layouts, self.exchanged


def product(A: Array, B: Array, out: Array) -> Product:
    """What has to be known of a problem's arrays."""
    left, right = Operand(A), Operand(B.swapaxes(-1, -2))
    exchanged, c_stride = rows_of(out)  # C.T = B.T @ A.T, and the rows of C.T are the columns of C
    if exchanged:
        left, right = right, left
    c_next = out.strides[0] // out.itemsize if out.ndim == 3 else 0
    return Product(left, right, str(type_of(out.dtype)), c_stride, c_next, exchanged)


def by_kind(products: Iterable[Product]) -> dict[Kind, list[int]]:
    """The numbers of the products that may share a launch; the deepest first, so that no long one is last."""
    kinds = defaultdict(list)
    for number, each in sorted(enumerate(products), key=lambda one: -one[1].left.K):
        kinds[each.kind].append(number)
    return kinds


def plan_for(kind: Kind, products: Sequence[Product], shared: int) -> tuple[Plan | FloatPlan, int, float]:
    """The plan for products of one kind, how many of its blocks an SM holds, and its microseconds."""
    shapes = [(each.shape, each.count) for each in products]
    if kind[0] == "float":
        single, us = float_plan_of_many(shapes, kind[3])
        return single, single.at_once, us
    plan, at_once, us = plan_of_many(shapes, kind[2], kind[3], shared)
    return plan, at_once, SIX * us


def us_together(products: Sequence[Product], shared: int) -> float:
    """What they should take in one launch of each kind, in microseconds."""
    return sum(
        plan_for(kind, [products[number] for number in numbers], shared)[2]
        for kind, numbers in by_kind(products).items()
    )


def together(
    products: Sequence[Product], shared: int, activation: str | None, alpha: float, beta: float
) -> Launches:
    """One launch for each kind of product among these, and for each 280 of a kind."""
    groups = []
    for kind, numbers in by_kind(products).items():
        finish = (np.float32(alpha), np.float32(beta), np.int32(kind[-1]), np.int32(ACTIVATIONS[activation]))
        for begin in range(0, len(numbers), SIZES[-1]):
            mine = numbers[begin : begin + SIZES[-1]]
            groups.append((mine, _launch([products[number] for number in mine], kind, shared, finish)))
    return partial(_run, groups)


def _run(groups: Iterable[tuple[list[int], Launches]], given: Sequence[Given]) -> None:
    for numbers, launch in groups:
        launch([given[number] for number in numbers])


def _launch(products: Sequence[Product], kind: Kind, shared: int, finish: tuple) -> Launches:
    plan, at_once, _ = plan_for(kind, products, shared)
    tiles = sum(each.count * prod(plan.tiles(*each.shape[:2])) for each in products)
    launch = tabled(
        plan, kind, min(tiles, sms() * at_once), [row_of(each, plan) for each in products], finish
    )
    copiers = [copier(each.left, each.right, False) for each in products]

    def run(given: Sequence[Given]) -> None:
        arrays = []
        for (A, B, out, bias), copies in zip(given, copiers, strict=True):
            a, b = (B, A) if kind[-1] else (A, B)
            a, b = copies(a, b) if copies else (a, b)
            arrays.append((a, b, bias, out))
        launch(arrays)

    return run


def tabled(
    plan: Plan | FloatPlan, kind: Kind, blocks: int, rows: Sequence[tuple], finish: tuple
) -> Callable[[Sequence[Given]], None]:
    """Launches the kernel of a plan on a table with these rows: on left and right operand, bias and output of each."""
    T, Out, a_along_k, b_along_k, _ = kind
    most = next(size for size in SIZES if len(rows) <= size)
    if isinstance(plan, FloatPlan):
        kernel = float_kernel(Out, plan, a_along_k, b_along_k, most)
    else:
        kernel = gemm_kernel(T, Out, plan, a_along_k, b_along_k, most)
    args = (np.int32(len(rows)), *finish)
    launch = packed_table(kernel, (blocks,), (plan.threads,), plan.shared_mem, args)
    return lambda arrays: launch(table(arrays, rows, most))


def row_of(each: Product, plan: Plan | FloatPlan) -> tuple[int, ...]:
    """All that the kernel reads of a product but its addresses, as FIELDS and `Products` in grouped.cuh have it."""
    strides = (operand.stride(False) for operand in (each.left, each.right))
    steps = (operand.step(False) for operand in (each.left, each.right))
    M, N, K = each.shape
    return (
        *strides,
        *steps,
        each.c_next,
        each.count * K,
        M,
        N,
        K,
        each.c_stride,
        each.count,
        *plan.tiles(M, N),
    )


def table(arrays: Sequence[Given], rows: Sequence[tuple], most: int) -> ctypes.Array | Struct:
    """The table of these products, as the kernel takes it."""
    if device.backend() == "cupy":
        memory = ctypes.create_string_buffer(FIELDS.size * most)
        for number, (four, row) in enumerate(zip(arrays, rows, strict=True)):
            places = (0 if array is None else array.data.ptr for array in four)
            FIELDS.pack_into(memory, number * FIELDS.size, *places, *row)
        return memory
    made = [_struct(map(first, four), row) for four, row in zip(arrays, rows, strict=True)]
    return Struct(*made, *[_struct([None] * 4, (0,) * 13)] * (most - len(made)))


def _struct(arrays: Iterable[Array], row: tuple[int, ...]) -> Struct:
    return Struct(*arrays, *map(np.int64, row[:6]), *map(np.int32, row[6:]))
