"""A launch of which all but the arrays is known: on a GPU its arguments lie in memory as the driver reads them, for
each set of places that arrays had. CuPy would make all of them anew, in some 6 microseconds."""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from threading import Lock
from typing import Any

import numpy as np

from cupy_or_sim import device, timing
from cupy_or_sim.kernel import Array, Kernel

MOST_KNOWN = 256
"""Sets of places whose arguments are kept, for each launch."""
Start = Callable[[int], int]
"""Starts a kernel whose arguments' addresses lie there; returns the driver's error, or 0."""


@dataclass(frozen=True)
class Nth:
    """In the place of an argument: the array of this number among those that a launch is given, or None; or its tensor
    map, which `boxer` (operands.py) makes."""

    number: int
    boxed: Callable[[Array], Any] | None = None


def packed(
    kernel: Kernel, grid: tuple, block: tuple, shared_mem: int, args: Sequence, dependent: bool = False
) -> Callable[..., None]:
    """A function that launches the kernel on arrays, which take the places of each Nth among `args`. The others are
    NumPy scalars. On the GPU and the device in use now; it may be called in any thread. `dependent`: it may begin
    before the kernel before it has ended, and waits for that one itself (course/gemm/dependent.cuh)."""
    if device.backend() == "simulator":
        return _simulated(kernel, grid, block, shared_mem, args, dependent)
    start = _starter(kernel, grid, block, shared_mem, dependent and overlaps())
    known: dict[tuple[int, ...], _Arguments] = {}

    def launch(*given: Array) -> None:
        places = tuple([0 if array is None else array.data.ptr for array in given])
        found = known.get(places)
        if found is None:
            if len(known) >= MOST_KNOWN:
                known.clear()
            found = known[places] = _Arguments(args, given, places)
        if error := start(found.where):
            _again(kernel, start, found, error)

    return launch


def packed_table(
    kernel: Kernel, grid: tuple, block: tuple, shared_mem: int, args: Sequence
) -> Callable[[Any], None]:
    """The same of a kernel whose first argument is a table (many.py), which it is launched on, before these others."""
    if device.backend() == "simulator":
        return _simulated(kernel, grid, block, shared_mem, (Nth(0, lambda table: table), *args), False)
    start, lock = _starter(kernel, grid, block, shared_mem, False), Lock()
    arguments = _Arguments((Nth(0), *args), (), (0,))

    def launch(table: ctypes.Array) -> None:
        with lock:
            arguments.addresses[0] = ctypes.addressof(table)
            if error := start(arguments.where):
                _again(kernel, start, arguments, error)

    return launch


def _simulated(
    kernel: Any, grid: tuple, block: tuple, shared_mem: int, args: Sequence, dependent: bool
) -> Callable[..., None]:
    def launch(*given: Any) -> None:
        whole = [_of(arg, given) if isinstance(arg, Nth) else arg for arg in args]
        kernel(grid, block, tuple(whole), shared_mem=shared_mem, dependent=dependent)

    return launch


def _of(arg: Nth, given: Sequence[Any]) -> Any:
    return arg.boxed(given[arg.number]) if arg.boxed else first(given[arg.number])


class _Arguments:
    """The arguments of a launch in memory, and the table of their addresses, which lies at `where`."""

    def __init__(self, args: Sequence, given: Sequence[Array], places: Sequence[int]) -> None:
        # These live as long as what reads them.
        self.values = [self._value(arg, given, places) for arg in args]
        self.addresses = (ctypes.c_void_p * len(args))(*map(ctypes.addressof, self.values))
        self.where = ctypes.addressof(self.addresses)

    @staticmethod
    def _value(arg: Any, given: Sequence[Array], places: Sequence[int]) -> Any:
        if not isinstance(arg, Nth):
            return ctypes.create_string_buffer(np.asarray(arg).tobytes())
        return arg.boxed(given[arg.number]) if arg.boxed else ctypes.c_uint64(places[arg.number])


@cache
def overlaps() -> bool:
    """Whether a kernel may begin before the one before it has ended: from compute capability 9.0 on."""
    return float(timing.capability()) >= 9


def _starter(kernel: Any, grid: tuple, block: tuple, shared_mem: int, dependent: bool) -> Start:
    dims = (*grid, *(1,) * (3 - len(grid)), *block, *(1,) * (3 - len(block)))
    return (_overlapped if dependent else _alone)(kernel.kernel.ptr, dims, shared_mem)


def _again(kernel: Any, start: Start, arguments: _Arguments, error: int) -> None:
    """After an error: that of a thread's first call goes away, of another one RuntimeError is raised."""
    from cuda.bindings import driver

    if error == driver.CUresult.CUDA_ERROR_INVALID_CONTEXT:
        device.cp.cuda.Device().use()
        error = start(arguments.where)
    if error:
        raise RuntimeError(f"the driver refuses the launch of {kernel.name}: {driver.CUresult(error).name}")


def _alone(function: int, dims: tuple[int, ...], shared_mem: int) -> Start:
    """Of a launch that begins when the kernel before it has ended."""
    driver, current = device.cp.cuda.driver, device.cp.cuda.get_current_stream
    form = (function, *dims, shared_mem)

    def start(where: int) -> int:
        try:
            driver.launchKernel(*form, current().ptr, where, 0)
        except driver.CUDADriverError as error:
            return error.status
        return 0

    return start


def _overlapped(function: int, dims: tuple[int, ...], shared_mem: int) -> Start:
    """Of one that may begin before. CuPy's driver knows of no such launch."""
    from cuda.bindings import driver

    handle, current, done = driver.CUfunction(function), device.cp.cuda.get_current_stream, driver.CUresult(0)
    config = lru_cache(maxsize=64)(lambda queue: _overlapping(dims, shared_mem, queue))

    def start(where: int) -> int:
        error = driver.cuLaunchKernelEx(config(current().ptr), handle, where, 0)[0]
        return 0 if error is done else int(error)

    return start


def _overlapping(dims: tuple[int, ...], shared_mem: int, queue: int) -> Any:
    """Grid, block, shared memory and stream for it."""
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
    config.hStream = driver.CUstream(queue)
    return config


def first(array: Array) -> Array:
    """For the simulator, which refuses a view with gaps: its first element; the kernel finds the others behind it."""
    gaps = array is not None and not (array.flags.c_contiguous or array.flags.f_contiguous)
    return array[tuple(slice(0, 1) for _ in array.shape)] if gaps else array
