"""C = A @ B with the kernels of lessons 06 and 07: any sizes, on a GPU and in the simulator."""

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from cupy_or_sim import device
from cupy_or_sim.kernel import Array
from cupy_or_sim.limits import this_gpu

from . import warm
from .batches import as_rows, nth
from .copies import Given, detour
from .float32 import float_launch
from .float_plans import FloatPlan, float_plan
from .given import allowed_lessons, check_apart, checked
from .hopper_plans import HopperPlan, cost, hopper_plan
from .lists import check_all_apart, problems
from .many import Launches, Product, product, together, us_together
from .others import all_taken
from .places import span
from .plans import SIX, Plan, Shape, plan, predicted
from .ready import Launch, in_boxes, ready

LESSON = "06_complete_gemm"
FEW = 16
"""Rows or columns for which lesson 06's kernel has a tile, and lesson 07's four times too many."""
LISTS = (list, tuple)
Finish = tuple[str | None, float, float]
"""activation, alpha, beta"""


class Call(NamedTuple):
    """A call of which all but the arrays is known: what it returns where no `out` is given, its launches, and how far
    A, B, bias and `out` reach."""

    shape: tuple[int, ...]
    dtype: np.dtype
    launch: Launch
    reach: tuple[tuple[int, int], ...]


class Several(NamedTuple):
    """The same of a list of problems."""

    forms: list[tuple[tuple[int, ...], np.dtype]]
    launch: Launches

    def new(self, number: int) -> Array:
        """An output for this problem."""
        return device.cp.empty(*self.forms[number])


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
) -> Any:
    """activation(alpha * A @ B + beta * out + bias) with float32 sums, rounded once; returns `out`.

    A (M, K) and B (K, N) are both float16, both bfloat16 (or its bits, as uint16) or both float32. Views are read
    where they lie where one of their dimensions has no gaps, X.T and X[:, 64:128]; others are copied first. `out`
    (M, N) is of one of these types, and written in place; without it, a new array of `dtype`, or of A's. `bias` has N
    numbers of A's dtype, `activation` is None, "relu" or "gelu". `lesson` is 6 or 7: whose kernel; without it 6 or, on
    a GPU of compute capability 9.0, 7 where C has more than 16 rows and columns. Anything else raises TypeError or
    ValueError, and leaves `out` alone.

    A and B may be batches, (b, M, K) and (b, K, N), or one of them a batch: then `out` is (b, M, N). They may be lists
    of arrays, problems of any sizes: then `out` and `bias` are lists too, or None, and a list is returned.
    """
    if isinstance(A, LISTS) or isinstance(B, LISTS):
        return _listed(problems(A, B, out, bias), activation, alpha, beta, dtype, lesson)
    theirs, (key, places) = out, warm.form_of((A, B, bias, out), activation, alpha, beta, dtype, lesson)
    if key is None:
        A, B, out, bias = all_taken((A, B, out, bias))
        key, places = warm.form_of((A, B, bias, out), activation, alpha, beta, dtype, lesson)
    call = warm.found(key)
    if call is None:
        out = checked(A, B, out, bias, activation, beta, dtype)
        call = _prepared((A, B, out, bias), (activation, alpha, beta), allowed_lessons(lesson, A.dtype))
        warm.keep(key, call)
    elif out is None:
        out = warm.cupy().ndarray(call.shape, call.dtype)  # what `empty` calls
    elif warm.meet(places, call.reach):
        check_apart(out, A=A, B=B, bias=bias)
    call.launch(A, B, out, bias)
    return out if theirs is None else theirs


def _listed(
    given: list[Given], activation: str | None, alpha: float, beta: float, dtype: Any, lesson: int | None
) -> list[Array]:
    """The same for a list of problems."""
    theirs, given = [out for _, _, out, _ in given], [all_taken(each) for each in given]
    # A list of one problem is not the problem itself.
    key, _ = warm.form_of(tuple(chain(*given)), len(given), activation, alpha, beta, dtype, lesson)
    several = warm.found(key)
    outs = [out for _, _, out, _ in given]
    if several is None:
        for number, (A, B, out, bias) in enumerate(given):
            try:
                outs[number] = checked(A, B, out, bias, activation, beta, dtype)
            except (TypeError, ValueError) as error:
                raise type(error)(f"problem {number}: {error}") from None
    else:
        outs = [several.new(number) if out is None else out for number, out in enumerate(outs)]
    given = [(A, B, out, bias) for (A, B, _, bias), out in zip(given, outs, strict=True)]
    check_all_apart(given)
    if several is None:
        dtypes = {A.dtype for A, *_ in given}
        several = _prepared_list(given, (activation, alpha, beta), allowed_lessons(lesson, *dtypes))
        warm.keep(key, several)
    several.launch(given)
    return [out if other is None else other for out, other in zip(outs, theirs, strict=True)]


def _prepared(given: Given, finish: Finish, lessons: tuple[int, ...]) -> Call:
    """A call for arrays of these forms."""
    A, B, out, bias = given
    way, reach = detour(given, finish[-1]), tuple(map(span, (A, B, bias, out)))
    if not out.size:
        return Call(out.shape, out.dtype, lambda *given: None, reach)
    A, B, C, _ = way.forms(given)
    launch = one(A, B, C, finish, lessons) if out.ndim == 2 else batch(A, B, C, finish, lessons)
    if not way.needed:
        return Call(out.shape, out.dtype, launch, reach)

    def by_copies(*given: Array) -> None:
        got = way.there(given)
        launch(*got)
        way.back(got, given)

    return Call(out.shape, out.dtype, by_copies, reach)


def one(A: Array, B: Array, out: Array, finish: Finish, lessons: tuple[int, ...]) -> Launch:
    """The launches of one product."""
    each = product(A, B, out)
    left, right = each.left, each.right
    if each.kind[0] == "float":
        plan, _ = planned_float(each.shape, right.along_k)
        return _exchanged(each, float_launch(plan, each, out, *finish))
    chosen = planned(each.shape, left.along_k, right.along_k, lessons, in_boxes(left, right, out, finish[-1]))
    return _exchanged(each, ready(chosen, left, right, out, *finish))


def _exchanged(each: Product, launch: Launch) -> Launch:
    """What takes A and B in their order."""
    return (lambda A, B, out, bias: launch(B, A, out, bias)) if each.exchanged else launch


def batch(A: Array, B: Array, out: Array, finish: Finish, lessons: tuple[int, ...]) -> Launch:
    """The launches of a batch: as one product where it is one, else all in one launch or one after the other."""
    if rows := as_rows(A, B, out):
        return one(*rows, finish, lessons)  # its launches look at no shape
    each, memory = product(A, B, out), here()[0]
    if 6 in lessons and us_together([each], memory) <= each.count * us_alone(each, lessons):
        launches = together([each], memory, *finish)
        return lambda *given: launches([given])
    # Where each begins at multiples of 16 bytes comes again after eight.
    alone = []
    for i in range(min(each.count, 8)):
        a, b, c = nth(i, A, B, out)
        alone.append(one(a, b, c, finish, lessons))

    def run(A: Array, B: Array, out: Array, bias: Array) -> None:
        for i in range(each.count):
            a, b, c = nth(i, A, B, out)
            alone[i % 8](a, b, c, bias)

    return run


def _prepared_list(given: list[Given], finish: Finish, lessons: tuple[int, ...]) -> Several:
    """Those whose result has elements, all in one launch or one after the other; views as in `_prepared`."""
    forms = [(out.shape, out.dtype) for _, _, out, _ in given]
    some = [number for number, (_, _, out, _) in enumerate(given) if out.size]
    ways = {number: detour(given[number], finish[-1]) for number in some}
    products = [product(*ways[number].forms(given[number])[:3]) for number in some]
    memory = here()[0]
    alone = sum(each.count * us_alone(each, lessons) for each in products)
    if 6 not in lessons or us_together(products, memory) > alone:
        calls = {number: _prepared(given[number], finish, lessons) for number in some}

        def in_turn(given: Sequence[Given]) -> None:
            for number, call in calls.items():
                call.launch(*given[number])

        return Several(forms, in_turn)
    launches = together(products, memory, *finish)

    def run(given: Sequence[Given]) -> None:
        got = [ways[number].there(given[number]) for number in some]
        launches(got)
        for number, each in zip(some, got, strict=True):
            ways[number].back(each, given[number])

    return Several(forms, run)


def us_alone(each: Product, lessons: tuple[int, ...]) -> float:
    """What one of a batch should take by itself, in microseconds."""
    if each.kind[0] == "float":
        return planned_float(each.shape, each.right.along_k)[1]
    six = SIX * predicted(*each.shape, each.left.along_k, each.right.along_k, here()[0])[1]
    return min(six, cost(hopper_plan(*each.shape), *each.shape)) if 7 in lessons and each.shape[2] else six


@lru_cache(maxsize=1024)
def planned(
    shape: Shape, a_along_k: bool, b_along_k: bool, lessons: tuple[int, ...], boxes: bool = True
) -> Plan | HopperPlan:
    """The plan for a problem, with the kernel of lesson 07 where that may run. `boxes`: the copy engine can store C."""
    if 7 in lessons and all(shape) and (6 not in lessons or min(shape[:2]) > FEW):
        chosen = hopper_plan(*shape, boxes)
        return chosen.fitting(a_along_k if chosen.turned else b_along_k)
    return plan(*shape, a_along_k, b_along_k, *here())


@lru_cache(maxsize=1024)
def planned_float(shape: Shape, b_along_k: bool) -> tuple[FloatPlan, float]:
    """The plan for a problem of float32, and the time it should take."""
    return float_plan(*shape, b_along_k)


@cache
def here() -> tuple[int, str]:
    """Bytes of shared memory that a block may have, and the GPU's name; the simulator is an H100."""
    gpu = this_gpu()
    return gpu.shared_block, gpu.driver_name
