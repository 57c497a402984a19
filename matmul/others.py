"""Arrays of other libraries that lie on the GPU, such as PyTorch's: they are taken as they lie there, by the CUDA Array
Interface."""

from typing import Any

from cupy_or_sim import device
from cupy_or_sim.kernel import Array

from .copies import Given

INTERFACE = "__cuda_array_interface__"


def taken(name: str, array: Any) -> Array:
    """An array of `cp` in the memory of the one given; what has no such interface, as it is."""
    if array is None or isinstance(array, device.cp.ndarray) or not hasattr(array, INTERFACE):
        return array
    kind, about = f"{type(array).__module__}.{type(array).__name__}", getattr(array, INTERFACE)
    if device.backend() == "simulator":
        raise TypeError(
            f"{name} is a {kind} that lies on a GPU, and the simulator runs on the host: pass its numbers in an array "
            "of NumPy"
        )
    if about["typestr"][1:] == "V2":
        raise TypeError(
            f"{name} is a {kind} of two bytes without a type: bfloat16, of which this interface knows nothing. Pass "
            f"its bits: cp.asarray({name}.view(torch.int16)).view(cp.uint16) in PyTorch"
        )
    if name == "out" and about["data"][1]:
        raise ValueError(f"out is a {kind} that may only be read: pass another one")
    return device.cp.asarray(array)


def all_taken(given: Given) -> Given:
    """The same of a problem."""
    A, B, out, bias = map(taken, ("A", "B", "out", "bias"), given)
    return A, B, out, bias
