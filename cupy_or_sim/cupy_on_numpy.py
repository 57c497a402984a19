"""`cp` where there is no GPU: NumPy's functions, and CUDA kernels that the simulator runs.

This module has the names of CuPy that the lessons use. What is not defined here is NumPy's.
"""

from collections.abc import Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

import ptxsim
from ptxsim.gpus import H100, SHARED_BY_DEFAULT

from .simulate import compiled, launch_simulated

ndarray = np.ndarray
Order = Literal["K", "A", "C", "F"]


def __getattr__(name: str) -> object:
    try:
        return getattr(np, name)
    except AttributeError:
        raise AttributeError(f"cp.{name}: NumPy, which stands in for CuPy here, has no {name!r}") from None


def asarray(a: Any, dtype: Any = None, order: Order = "K") -> np.ndarray:
    """A copy of `a`: as on a GPU, a kernel that writes it leaves the host's array alone."""
    return np.array(a, dtype=dtype, order=order)


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


class RawKernel:
    """A CUDA kernel with CuPy's calls and attributes, compiled when first needed."""

    name_expressions: tuple[str, ...] = ()
    _dynamic_limit: int | None = None

    def __init__(self, code: str, name: str, options: tuple[str, ...] = (), backend: str = "nvrtc") -> None:
        _check_options(options)
        if backend != "nvrtc":
            raise ValueError(f"backend={backend!r}: the simulator compiles with 'nvrtc' only")
        self.code, self.name, self.options, self.backend = code, name, options, backend

    def __repr__(self) -> str:
        return f"<RawKernel {self.name}, simulated>"

    def __call__(
        self, grid: tuple, block: tuple, args: Sequence, shared_mem: int = 0, dependent: bool = False
    ) -> None:
        """Launch the kernel and wait for it; raise HazardError when the simulator sees a hazard. `dependent`, which
        CuPy does not know: it may begin before the kernel before has ended."""
        if shared_mem and shared_mem > (most := self.max_dynamic_shared_size_bytes):
            raise ptxsim.LaunchError(
                f"kernel {self.name!r} may take {most} bytes of dynamic shared memory, not {shared_mem}: "
                f"set kernel.max_dynamic_shared_size_bytes = {shared_mem} before the launch"
            )
        launch_simulated(self, grid, block, args, shared_mem, dependent)

    @cached_property
    def _resources(self) -> ptxsim.Resources:
        return ptxsim.resources(compiled(self))

    num_regs = property(lambda self: self._resources.registers, doc="Registers of a thread on an H100.")
    shared_size_bytes = property(  # by the PTX: the assembler, which would say the same, takes seconds
        lambda self: compiled(self).code.program.static_shared, doc="Static, of a block."
    )
    local_size_bytes = property(lambda self: self._resources.local_bytes, doc="Local memory of a thread.")

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """Bytes of dynamic shared memory that a launch may ask for. Can be set."""
        if self._dynamic_limit is None:
            return SHARED_BY_DEFAULT - self.shared_size_bytes
        return self._dynamic_limit

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, size: int) -> None:
        most = H100.shared_block - self.shared_size_bytes
        if not 0 <= size <= most:
            raise ptxsim.LaunchError(
                f"max_dynamic_shared_size_bytes = {size} for kernel {self.name!r}: allowed are 0 to {most} "
                f"({H100.shared_block} bytes of a block, less {self.shared_size_bytes} static)"
            )
        self._dynamic_limit = size

    @property
    def attributes(self) -> dict[str, int]:
        names = ("num_regs", "shared_size_bytes", "local_size_bytes", "max_dynamic_shared_size_bytes")
        return {name: getattr(self, name) for name in names}

    def compile(self) -> None:
        """Compile now, so that a mistake in the source shows here and not at the first launch."""
        compiled(self)


class RawModule:
    """CUDA source with several kernels, or with templates that `name_expressions` name."""

    def __init__(
        self, *, code: str, options: tuple = (), name_expressions: Sequence[str] | None = None
    ) -> None:
        _check_options(options)
        self.code, self.options, self.name_expressions = code, options, tuple(name_expressions or ())

    def get_function(self, name: str) -> RawKernel:
        """The kernel of this name, compiled."""
        kernel = RawKernel(self.code, name, self.options)
        kernel.name_expressions = self.name_expressions
        kernel.compile()
        return kernel


def _check_options(options: object) -> None:
    if not isinstance(options, tuple):
        raise TypeError(f"options must be a tuple, such as OPTIONS or ('--std=c++17',); got {options!r}")
