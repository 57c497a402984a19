"""A launch of which all but the arrays is known: on a GPU its arguments lie in memory as the driver reads them, and
only the places of arrays change from call to call. CuPy would make all of them anew, in some 6 microseconds."""

import ctypes
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np

from cupy_or_sim import device
from cupy_or_sim.kernel import Array, Kernel

ARRAY, BYTES = object(), object()
"""In the place of an argument: an array of `cp`, or None; what lies in memory as the kernel reads it, a tensor map as
`boxed` makes it (operands.py), or a table (many.py)."""


def packed(kernel: Kernel, grid: tuple, block: tuple, shared_mem: int, args: Sequence) -> Callable[..., None]:
    """A function that launches the kernel on what it is given for each ARRAY and BYTES among `args`, in their order.
    The others are NumPy scalars. On the GPU and the device in use now; it may be called in any thread."""
    open_places = [place for place, arg in enumerate(args) if arg is ARRAY or arg is BYTES]
    if device.backend() == "cupy":
        return _in_memory(kernel, grid, block, shared_mem, args, open_places)

    def launch(*given: Any) -> None:
        whole = list(args)
        for place, value in zip(open_places, given, strict=True):
            whole[place] = first(value) if args[place] is ARRAY else value
        kernel(grid, block, tuple(whole), shared_mem=shared_mem)

    return launch


def _in_memory(
    kernel: Any, grid: tuple, block: tuple, shared_mem: int, args: Sequence, open_places: list[int]
) -> Callable[..., None]:
    from cuda.bindings import driver

    values = [_room(arg) for arg in args]
    addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    lies = {place for place in open_places if args[place] is BYTES}
    dims = (*grid, *(1,) * (3 - len(grid)), *block, *(1,) * (3 - len(block)))
    function, where = driver.CUfunction(kernel.kernel.ptr), ctypes.addressof(addresses)
    start, current, lock = driver.cuLaunchKernel, device.cp.cuda.get_current_stream, Lock()

    def launch(*given: Any) -> None:
        with lock:
            for place, value in zip(open_places, given, strict=True):
                if place in lies:  # it lies in memory itself
                    addresses[place] = ctypes.addressof(value)
                else:
                    values[place].value = 0 if value is None else value.data.ptr
            (error,) = start(function, *dims, shared_mem, current().ptr, where, 0)
            if error == driver.CUresult.CUDA_ERROR_INVALID_CONTEXT:  # the first call of a thread
                device.cp.cuda.Device().use()
                (error,) = start(function, *dims, shared_mem, current().ptr, where, 0)
        if error:
            raise RuntimeError(f"the driver refuses the launch of {kernel.name}: {error.name}")

    return launch


def first(array: Array) -> Array:
    """For the simulator, which refuses a view with gaps: its first element; the kernel finds the others behind it."""
    gaps = array is not None and not (array.flags.c_contiguous or array.flags.f_contiguous)
    return array[tuple(slice(0, 1) for _ in array.shape)] if gaps else array


def _room(arg: object) -> ctypes.Array | ctypes.c_void_p:
    """An argument's bytes; of an array room for its place."""
    if arg is ARRAY or arg is BYTES:
        return ctypes.c_void_p(0)
    return ctypes.create_string_buffer(np.asarray(arg).tobytes())
