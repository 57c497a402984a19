"""What a kernel is to all that runs it, and what its arrays are."""

from collections.abc import Sequence
from typing import Any, Protocol

Array = Any
"""An array of `cp`: NumPy's or CuPy's, which says nothing of its types."""


class Kernel(Protocol):
    """A `cp.RawKernel`, or a function of a `cp.RawModule`, CuPy's or the stand-in's. Called, it is launched."""

    max_dynamic_shared_size_bytes: int

    @property
    def code(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def options(self) -> tuple[str, ...]: ...

    @property
    def num_regs(self) -> int: ...

    @property
    def shared_size_bytes(self) -> int: ...

    def __call__(
        self, grid: tuple[int, ...], block: tuple[int, ...], args: Sequence[object], *, shared_mem: int = 0
    ) -> None: ...
