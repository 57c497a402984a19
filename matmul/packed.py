"""A launch of which all but the arrays is known: on a GPU its arguments lie in memory as the driver reads them, and
only the places of arrays change from call to call. CuPy would make all of them anew, in some 6 microseconds."""

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from threading import Lock
from typing import Any

import numpy as np

from cupy_or_sim import device, timing
from cupy_or_sim.kernel import Array, Kernel

ARRAY, BYTES = object(), object()
"""In the place of an argument: an array of `cp`, or None; what lies in memory as the kernel reads it, a tensor map as
`boxer` makes it (operands.py), or a table (many.py)."""


def packed(
    kernel: Kernel, grid: tuple, block: tuple, shared_mem: int, args: Sequence, dependent: bool = False
) -> Callable[..., None]:
    """A function that launches the kernel on what it is given for each ARRAY and BYTES among `args`, in their order.
    The others are NumPy scalars. On the GPU and the device in use now; it may be called in any thread. `dependent`: it
    may begin before the kernel before it has ended, and waits for that one itself (course/gemm/dependent.cuh)."""
    open_places = [place for place, arg in enumerate(args) if arg is ARRAY or arg is BYTES]
    if device.backend() == "cupy":
        return _in_memory(kernel, grid, block, shared_mem, args, open_places, dependent and overlaps())

    simulated: Any = kernel  # CuPy's know of no `dependent`

    def launch(*given: Any) -> None:
        whole = list(args)
        for place, value in zip(open_places, given, strict=True):
            whole[place] = first(value) if args[place] is ARRAY else value
        simulated(grid, block, tuple(whole), shared_mem=shared_mem, dependent=dependent)

    return launch


@cache
def overlaps() -> bool:
    """Whether a kernel may begin before the one before it has ended: from compute capability 9.0 on."""
    return float(timing.capability()) >= 9


def _in_memory(
    kernel: Any,
    grid: tuple,
    block: tuple,
    shared_mem: int,
    args: Sequence,
    open_places: list[int],
    dependent: bool,
) -> Callable[..., None]:
    from cuda.bindings import driver

    arrays = [number for number, place in enumerate(open_places) if args[place] is ARRAY]
    lying = [(number, place) for number, place in enumerate(open_places) if args[place] is BYTES]
    places, write = (
        ctypes.create_string_buffer(8 * len(arrays) or 1),
        struct.Struct(f"{len(arrays)}Q").pack_into,
    )
    values = [None if arg is ARRAY or arg is BYTES else _bytes(arg) for arg in args]
    addresses = (ctypes.c_void_p * len(args))(
        *(0 if value is None else ctypes.addressof(value) for value in values)
    )
    for row, number in enumerate(arrays):
        addresses[open_places[number]] = ctypes.addressof(places) + 8 * row
    dims = (*grid, *(1,) * (3 - len(grid)), *block, *(1,) * (3 - len(block)))
    form, lock = (kernel.kernel.ptr, *dims, shared_mem), Lock()
    start = (_overlapped if dependent else _alone)(form, ctypes.addressof(addresses))

    def launch(*given: Any) -> None:
        with lock:
            if lying:
                for number, place in lying:
                    addresses[place] = ctypes.addressof(given[number])
                write(places, 0, *[_place(given[number]) for number in arrays])
            else:
                write(places, 0, *[0 if array is None else array.data.ptr for array in given])
            error = start()
            if error == driver.CUresult.CUDA_ERROR_INVALID_CONTEXT:  # the first call of a thread
                device.cp.cuda.Device().use()
                error = start()
        if error:
            raise RuntimeError(
                f"the driver refuses the launch of {kernel.name}: {driver.CUresult(error).name}"
            )

    launch.values = values  # type: ignore[attr-defined]  # these live as long as what reads them
    return launch


def _alone(form: tuple[int, ...], where: int) -> Callable[[], int]:
    """A launch of this form, whose arguments' addresses lie there; it returns the driver's error, or 0. By CuPy's
    driver, which takes 2.9 microseconds where that of cuda-bindings takes 3.4 (host of an H100, 2026-11-27)."""
    driver, current = device.cp.cuda.driver, device.cp.cuda.get_current_stream

    def start() -> int:
        try:
            driver.launchKernel(*form, current().ptr, where, 0)
        except driver.CUDADriverError as error:
            return error.status
        return 0

    return start


def _overlapped(form: tuple[int, ...], where: int) -> Callable[[], int]:
    """The same of a launch that overlaps the kernel before it."""
    from cuda.bindings import driver

    function, current = driver.CUfunction(form[0]), device.cp.cuda.get_current_stream
    config, queue_of = _overlapping(form[1:7], form[7]), lru_cache(maxsize=64)(driver.CUstream)

    def start() -> int:
        config.hStream = queue_of(current().ptr)
        return int(driver.cuLaunchKernelEx(config, function, where, 0)[0])

    return start


def _overlapping(dims: tuple[int, ...], shared_mem: int) -> Any:
    """Grid, block and shared memory for it."""
    from cuda.bindings import driver

    config, attribute = driver.CUlaunchConfig(), driver.CUlaunchAttribute()
    (
        config.gridDimX,
        config.gridDimY,
        config.gridDimZ,
        config.blockDimX,
        config.blockDimY,
        config.blockDimZ,
    ) = dims
    attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    attribute.value.programmaticStreamSerializationAllowed = 1
    config.sharedMemBytes, config.attrs, config.numAttrs = shared_mem, [attribute], 1
    return config


def _place(array: Array) -> int:
    return 0 if array is None else array.data.ptr


def first(array: Array) -> Array:
    """For the simulator, which refuses a view with gaps: its first element; the kernel finds the others behind it."""
    gaps = array is not None and not (array.flags.c_contiguous or array.flags.f_contiguous)
    return array[tuple(slice(0, 1) for _ in array.shape)] if gaps else array


def _bytes(arg: object) -> ctypes.Array:
    return ctypes.create_string_buffer(np.asarray(arg).tobytes())
