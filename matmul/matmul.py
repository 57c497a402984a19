"""C = A @ B with the kernels of lessons 06 and 07: any sizes, float16 and bfloat16, on a GPU and in the simulator."""

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from cupy_or_sim import device
from cupy_or_sim.kernel import Array
from cupy_or_sim.limits import this_gpu

from .batches import as_rows, nth
from .copies import Given, detour
from .given import allowed_lessons, check_apart, checked
from .hopper_plans import HopperPlan, cost, hopper_plan
from .lists import check_all_apart, problems
from .many import Launches, Product, product, together, us_together
from .plans import Plan, Shape, plan, predicted
from .ready import Launch, in_boxes, ready

LESSON = "06_complete_gemm"
MOST_KNOWN = 4096
"""Calls that are kept ready."""
SIX = 1.2
"""What lesson 06's kernel took for 89 problems on an H100, over what its rule says: that was fitted in another run."""


Finish = tuple[str | None, float, float]
"""activation, alpha, beta"""


class Call(NamedTuple):
    """A call of which all but the arrays is known: what it returns where no `out` is given, and its launches."""

    shape: tuple[int, ...]
    dtype: np.dtype
    launch: Launch


class Several(NamedTuple):
    """The same of a list of problems."""

    forms: list[tuple[tuple[int, ...], np.dtype]]
    launch: Launches

    def new(self, number: int) -> Array:
        """An output for this problem."""
        return device.cp.empty(*self.forms[number])


_known: dict[tuple | None, Call | Several] = {}
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
) -> Any:
    """activation(alpha * A @ B + beta * out + bias) with float32 sums, rounded once; returns `out`.

    A (M, K) and B (K, N) are both float16 or both bfloat16 (or its bits, as uint16). Views are read where they lie
    where one of their dimensions has no gaps, X.T and X[:, 64:128]; others are copied first. `out` (M, N) is float16,
    bfloat16 or float32, and written in place; without it, a new array of `dtype`, or of A's. `bias` has N numbers of
    A's dtype, `activation` is None, "relu" or "gelu". `lesson` is 6 or 7: whose kernel; without it 6 or, on a GPU of
    compute capability 9.0, the one that should be faster. Anything else raises TypeError or ValueError, and leaves
    `out` alone.

    A and B may be batches, (b, M, K) and (b, K, N), or one of them a batch: then `out` is (b, M, N). They may be lists
    of arrays, problems of any sizes: then `out` and `bias` are lists too, or None, and a list is returned.
    """
    if isinstance(A, list | tuple) or isinstance(B, list | tuple):
        return _listed(problems(A, B, out, bias), activation, alpha, beta, dtype, lesson)
    key = _key((A, B, out, bias), activation, alpha, beta, dtype, lesson)
    call = _found(key)
    if call is None:
        out = checked(A, B, out, bias, activation, beta, dtype)
        call = _prepared((A, B, out, bias), (activation, alpha, beta), allowed_lessons(lesson))
        _keep(key, call)
    elif out is None:
        out = device.cp.empty(call.shape, call.dtype)
    else:
        check_apart(out, A=A, B=B, bias=bias)
    call.launch(A, B, out, bias)
    return out


def _listed(
    given: list[Given], activation: str | None, alpha: float, beta: float, dtype: Any, lesson: int | None
) -> list[Array]:
    """The same for a list of problems."""
    key = _key(tuple(chain(*given)), activation, alpha, beta, dtype, lesson)
    several = _found(key)
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
        several = _prepared_list(given, (activation, alpha, beta), allowed_lessons(lesson))
        _keep(key, several)
    several.launch(given)
    return outs


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


def _found(key: tuple | None) -> Any:
    """The call that is kept under this key, if there is one."""
    try:
        return _known.get(key)
    except TypeError:  # a list for a dtype
        return None


def _keep(key: tuple | None, call: Call | Several) -> None:
    if key is None:
        return
    if len(_known) >= MOST_KNOWN:
        _known.clear()
    _known[key] = call


def _prepared(given: Given, finish: Finish, lessons: tuple[int, ...]) -> Call:
    """A call for arrays of these forms."""
    out, way = given[2], detour(given, finish[-1])
    if not out.size:
        return Call(out.shape, out.dtype, lambda *given: None)
    A, B, C, _ = way.forms(given)
    launch = one(A, B, C, finish, lessons) if out.ndim == 2 else batch(A, B, C, finish, lessons)
    if not way.needed:
        return Call(out.shape, out.dtype, launch)

    def by_copies(*given: Array) -> None:
        got = way.there(given)
        launch(*got)
        way.back(got, given)

    return Call(out.shape, out.dtype, by_copies)


def one(A: Array, B: Array, out: Array, finish: Finish, lessons: tuple[int, ...]) -> Launch:
    """The launches of one product."""
    each = product(A, B, out)
    left, right = each.left, each.right
    chosen = planned(each.shape, left.along_k, right.along_k, lessons, in_boxes(left, right, out, finish[-1]))
    launch = ready(chosen, left, right, out, *finish)
    return (lambda A, B, out, bias: launch(B, A, out, bias)) if each.exchanged else launch


def batch(A: Array, B: Array, out: Array, finish: Finish, lessons: tuple[int, ...]) -> Launch:
    """The launches of a batch: as one product where it is one, else all in one launch or one after the other."""
    if rows := as_rows(A, B, out):
        return one(*rows, finish, lessons)  # its launches look at no shape
    each, memory = product(A, B, out), here()[0]
    if 6 in lessons and us_together([each], memory) * SIX <= each.count * us_alone(each, lessons):
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
    if 6 not in lessons or us_together(products, memory) * SIX > alone:
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
    six = SIX * predicted(*each.shape, each.left.along_k, each.right.along_k, here()[0])[1]
    return min(six, cost(hopper_plan(*each.shape), *each.shape)) if 7 in lessons and each.shape[2] else six


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
