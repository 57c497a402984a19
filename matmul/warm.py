"""Calls that are kept ready, for a GPU, where each microsecond counts: found by the forms of their arrays."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from cupy_or_sim import device
from cupy_or_sim.kernel import Array

MOST_KNOWN = 4096
"""Calls that are kept ready."""
Places = list[int | None]
"""Where arrays begin."""


class Cupy(NamedTuple):
    """What of CuPy each call needs."""

    ndarray: Any
    device: Callable[[], int]


@cache
def cupy() -> Cupy:
    cp = device.cp
    return Cupy(cp.ndarray, cp.cuda.runtime.getDevice)


def form_of(arrays: Sequence[Array], *others: object) -> tuple[tuple | None, Places]:
    """What decides all of a call but where its arrays lie, and where they do; None: such a call is not kept."""
    places: Places = []
    if device.backend() != "cupy":
        return None, places
    array_type, device_now = cupy()
    now = device_now()
    forms: list[object] = [now, *others]
    for array in arrays:
        if array is None:
            forms.append(None)
            places.append(None)
            continue
        if type(array) is not array_type:
            return None, places
        memory = array.data
        place = memory.ptr
        if memory.device_id != now:
            return None, places
        forms += (array.shape, array.strides, array.dtype, place % 16)
        places.append(place)
    return tuple(forms), places


def meet(places: Places, reach: Sequence[tuple[int, int]]) -> bool:
    """Whether the last of some arrays reaches over a byte that another one reaches over. `reach`: from where each
    begins, the first byte and the one behind the last."""
    last, (low, high) = places[-1], reach[-1]
    assert last is not None, "there is an output"
    low, high = last + low, last + high
    for place, (first, behind) in zip(places[:-1], reach, strict=False):
        if place is not None and place + first < high and low < place + behind:
            return True
    return False


_known: dict[tuple | None, Any] = {}


def found(key: tuple | None) -> Any:
    """The call that is kept under this key, if there is one."""
    try:
        return _known.get(key)
    except TypeError:  # a list for a dtype
        return None


def keep(key: tuple | None, call: object) -> None:
    if key is None:
        return
    if len(_known) >= MOST_KNOWN:
        _known.clear()
    _known[key] = call
