"""`cp` where there is no GPU: NumPy's functions, and CUDA kernels that the simulator runs.

This module has the names of CuPy that the lessons use. What is not defined here is NumPy's.
"""

import ctypes
from collections.abc import Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

import ptxsim
from ptxsim.compiler import nvrtc
from ptxsim.gpus import H100, REGISTERS, SHARED_BY_DEFAULT, WARP

from .simulate import compiled, launch_simulated

ndarray = np.ndarray
MAX_THREADS = 1024
"""Of a block."""
ATTRIBUTES = (
    *(
        "max_threads_per_block",
        "shared_size_bytes",
        "const_size_bytes",
        "local_size_bytes",
        "num_regs",
        "ptx_version",
    ),
    *("binary_version", "cache_mode_ca", "max_dynamic_shared_size_bytes", "preferred_shared_memory_carveout"),
)
"""Of a kernel, in CuPy's order."""
Order = Literal["K", "A", "C", "F"]


def __getattr__(name: str) -> object:
    try:
        return getattr(np, name)
    except AttributeError:
        raise AttributeError(f"cp.{name}: NumPy, which stands in for CuPy here, has no {name!r}") from None


def asarray(a: Any, dtype: Any = None, order: Order = "K") -> np.ndarray:
    """A copy of `a`, its bytes in a GPU's order: as on a GPU, a kernel that writes it leaves the host's array alone."""
    return array(a, dtype, order=order)


def array(
    a: Any, dtype: Any = None, copy: bool = True, order: Order = "K", subok: bool = False, ndmin: int = 0
) -> np.ndarray:
    """As NumPy's, its bytes in a GPU's order."""
    made = np.array(a, dtype=dtype, copy=copy or None, order=order, subok=subok, ndmin=ndmin)
    return made if made.dtype.isnative else made.astype(made.dtype.newbyteorder("="))


def asnumpy(a: Any, order: Order = "C") -> np.ndarray:
    """A copy of `a`, in C order unless asked otherwise, as CuPy makes it."""
    return np.array(a, order=order)


class Event:
    """A point in a stream. Here all work before it has finished, so nothing is kept and nothing is waited for."""

    done = True

    def record(self, stream: object = None) -> None:
        pass

    def synchronize(self) -> None:
        pass


class Stream:
    """A queue of launches. Here a launch has finished when it returns: all streams are one, in the program's order.

    So an event that should be waited for and is not does no harm here, as it may on a GPU.
    """

    null: "Stream"

    def __init__(self, null: bool = False, non_blocking: bool = False) -> None:
        pass

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def record(self, event: Event | None = None) -> Event:
        return event or Event()

    def wait_event(self, event: Event) -> None:
        pass

    def synchronize(self) -> None:
        pass


Stream.null = Stream(null=True)
cuda = SimpleNamespace(
    is_available=lambda: False,
    Device=lambda _=0: SimpleNamespace(synchronize=lambda: None),
    Event=Event,
    Stream=Stream,
    get_current_stream=lambda: Stream.null,
)


class MemoryPointer(np.ndarray):
    """Where a variable of a module lies: its bytes. `cp.ndarray(shape, dtype, pointer)` is an array there."""

    def __add__(self, offset: int) -> "MemoryPointer":  # type: ignore[override]
        return self[offset:].view(MemoryPointer)

    def copy_from(self, there: Any, size: int) -> None:
        """So many bytes of another array's `.data`, or from an address in the host's memory."""
        if isinstance(there, int | ctypes.c_void_p):
            there = ctypes.string_at(there, size)
        self[:size] = np.frombuffer(there, self.dtype)[:size]

    copy_from_host = copy_from_device = copy_from


class RawKernel:
    """A CUDA kernel with CuPy's calls and attributes, compiled when first needed."""

    name_expressions: tuple[str, ...] = ()
    preferred_shared_memory_carveout = -1
    """Can be set, and changes nothing here."""
    cache_mode_ca = 0
    _dynamic_limit: int | None = None

    def __init__(
        self,
        code: str,
        name: str,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        *,
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        jitify: bool | None = None,
    ) -> None:
        _check_source(code, options, backend, jitify)
        _check_text("name", name)
        self.code, self.name, self.options, self.backend = code, name, options, backend
        self.enable_cooperative_groups = enable_cooperative_groups

    def __repr__(self) -> str:
        return f"<RawKernel {self.name}, simulated>"

    def __call__(
        self,
        grid: tuple,
        block: tuple,
        args: Sequence,
        *,
        shared_mem: int = 0,
        stream: Stream | None = None,
        dependent: bool = False,
    ) -> None:
        """Launch the kernel and wait for it; raise HazardError when the simulator sees a hazard. `dependent`, which
        CuPy does not know: it may begin before the kernel before has ended."""
        _check_launch(grid, block, args)
        if not isinstance(shared_mem, int | np.integer):
            raise TypeError(f"shared_mem is {shared_mem!r}; it is a whole number of bytes")
        shared_mem = int(shared_mem)
        if shared_mem and shared_mem > (most := self.max_dynamic_shared_size_bytes):
            raise ptxsim.LaunchError(
                f"kernel {self.name!r} may take {most} bytes of dynamic shared memory, not {shared_mem}: "
                f"set kernel.max_dynamic_shared_size_bytes = {shared_mem} before the launch"
            )
        launch_simulated(self, grid, block, args, shared_mem, dependent)

    @property
    def kernel(self) -> "RawKernel":
        """Itself, compiled."""
        self.compile()
        return self

    @cached_property
    def _resources(self) -> ptxsim.Resources:
        return ptxsim.resources(compiled(self))

    @property
    def _program(self) -> Any:
        return compiled(self).code.program

    num_regs = property(lambda self: self._resources.registers, doc="Registers of a thread on an H100.")
    shared_size_bytes = property(  # by the PTX: the assembler, which would say the same, takes seconds
        lambda self: self._program.static_shared, doc="Static, of a block."
    )
    local_size_bytes = property(lambda self: self._resources.local_bytes, doc="Local memory of a thread.")
    const_size_bytes = property(
        lambda self: sum(each.size for each in self._program.globals if each.space == "const"),
        doc="Of the module's __constant__ variables.",
    )
    max_threads_per_block = property(
        lambda self: (
            self._program.most_threads or min(MAX_THREADS, REGISTERS // max(self.num_regs, 1) // WARP * WARP)
        ),
        doc="As launch bounds say, or the registers.",
    )
    ptx_version = property(lambda self: _capability(self.options), doc="The virtual architecture: 80 or 90.")
    binary_version = property(lambda self: 90, doc="An H100's.")

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """Bytes of dynamic shared memory that a launch may ask for. Can be set."""
        if self._dynamic_limit is None:
            return SHARED_BY_DEFAULT - self.shared_size_bytes
        return self._dynamic_limit

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, size: int) -> None:
        if not isinstance(size, int | np.integer):
            raise TypeError(f"max_dynamic_shared_size_bytes is {size!r}; it is a whole number of bytes")
        most = H100.shared_block - self.shared_size_bytes
        if not 0 <= size <= most:
            raise ptxsim.LaunchError(
                f"max_dynamic_shared_size_bytes = {size} for kernel {self.name!r}: allowed are 0 to {most} "
                f"({H100.shared_block} bytes of a block, less {self.shared_size_bytes} static)"
            )
        self._dynamic_limit = int(size)

    @property
    def attributes(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in ATTRIBUTES}

    def compile(self, log_stream: object = None) -> None:
        """Compile now, so that a mistake in the source shows here and not at the first launch."""
        compiled(self)


class RawModule:
    """CUDA source with several kernels, with variables, or with templates that `name_expressions` name."""

    def __init__(
        self,
        *,
        code: str | None = None,
        path: str | None = None,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None,
        jitify: bool | None = None,
    ) -> None:
        if path is not None or code is None:
            raise TypeError("the simulator needs code=, the CUDA source; it reads no compiled file")
        _check_source(code, options, backend, jitify)
        self.code, self.options, self.name_expressions = code, options, tuple(name_expressions or ())
        self.enable_cooperative_groups = enable_cooperative_groups

    def compile(self, log_stream: object = None) -> None:
        """Compile now."""
        ptxsim.variables(self.code, self.options, self.name_expressions)

    def get_function(self, name: str) -> RawKernel:
        """The kernel of this name, compiled."""
        cooperative = self.enable_cooperative_groups
        kernel = RawKernel(self.code, name, self.options, enable_cooperative_groups=cooperative)
        kernel.name_expressions = self.name_expressions
        kernel.compile()
        return kernel

    def get_global(self, name: str | bytes) -> MemoryPointer:
        """Where a __device__ or __constant__ variable lies. Kernels of the same source and options see what is written
        there: `cp.ndarray((4,), cp.float32, module.get_global("table"))[:] = [1, 2, 3, 4]`."""
        wanted = name.decode() if isinstance(name, bytes) else name
        _check_text("name", wanted)
        known = ptxsim.variables(self.code, self.options, self.name_expressions)
        if wanted not in known:
            raise ptxsim.LaunchError(
                f"the source has no variable named {wanted!r} that a kernel uses; it has {', '.join(known) or 'none'}"
            )
        return known[wanted].view("V1").view(MemoryPointer)


def _capability(options: Sequence[str]) -> int:
    return int("".join(filter(str.isdigit, nvrtc.asked_arch(options))))


def _check_text(what: str, given: object) -> None:
    if not isinstance(given, str):
        raise TypeError(f"{what} is a {type(given).__name__}; it is a string")


def _check_source(code: object, options: object, backend: str, jitify: bool | None) -> None:
    _check_text("the source", code)
    if not isinstance(options, tuple):
        raise TypeError(f"options must be a tuple, such as OPTIONS or ('--std=c++17',); got {options!r}")
    for option in options:
        _check_text("an option", option)
    if backend != "nvrtc":
        raise ValueError(f"backend={backend!r}: the simulator compiles with 'nvrtc' only")
    if jitify:
        raise ValueError("jitify=True: the simulator compiles without it")


def _check_launch(grid: object, block: object, args: object) -> None:
    """Raises TypeError for what CuPy does not take; the sizes themselves are looked at later."""
    for what, size in (("grid", grid), ("block", block)):
        if not isinstance(size, tuple):
            example = f"({size},)" if isinstance(size, int | np.integer) else "(4,) or (4, 2)"
            raise TypeError(f"the {what} is {size!r}; CuPy takes a tuple: {example}")
    if not isinstance(args, tuple | list):
        raise TypeError(
            f"the arguments are a {type(args).__name__}; CuPy takes a tuple, also of one argument: (x,) with its comma"
        )
