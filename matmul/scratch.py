"""Memory that a call needs for itself: from the pool of `cp`, to which it goes back behind the call. A graph of CUDA
that is being captured will use it in each of its launches: then it is kept, as long as the program runs."""

from typing import Any

from cupy_or_sim import device
from cupy_or_sim.kernel import Array

_of_graphs: list[Array] = []


def scratch(shape: Any, dtype: Any) -> Array:
    """A new array, with anything in it."""
    return kept(device.cp.empty(shape, dtype))


def kept(array: Array) -> Array:
    """An array that nobody but a launch knows."""
    if device.backend() == "cupy" and device.cp.cuda.get_current_stream().is_capturing():
        _of_graphs.append(array)
    return array
