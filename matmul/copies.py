"""Views that no kernel reads or writes where they lie: they go by way of a copy, which `cp` makes."""

from typing import NamedTuple

from cupy_or_sim import device
from cupy_or_sim.kernel import Array

from .places import straight

Given = tuple[Array, Array, Array, Array]
"""A, B, out and bias of a problem."""


class Detour(NamedTuple):
    """Which of A, B, out and bias are not straight, and whether the kernel reads `out`."""

    bent: tuple[bool, ...]
    reads_out: bool

    @property
    def needed(self) -> bool:
        return any(self.bent)

    def forms(self, given: Given) -> Given:
        """Arrays of the forms that the kernel gets."""
        A, B, out, bias = (
            _new(array) if bent else array for array, bent in zip(given, self.bent, strict=True)
        )
        return A, B, out, bias

    def there(self, given: Given) -> Given:
        """What the kernel gets."""
        copied = (*self.bent[:2], self.bent[2] and self.reads_out, self.bent[3])
        A, B, out, bias = (_copy(array) if bent else array for array, bent in zip(given, copied, strict=True))
        return A, B, _new(out) if self.bent[2] and not self.reads_out else out, bias

    def back(self, got: Given, given: Given) -> None:
        """What the kernel wrote, to where `out` lies."""
        if self.bent[2]:
            given[2][...] = got[2]


def detour(given: Given, beta: float) -> Detour:
    return Detour(tuple(array is not None and not straight(array) for array in given), beta != 0)


def _new(array: Array) -> Array:
    return device.cp.empty(array.shape, array.dtype)


def _copy(array: Array) -> Array:
    return device.cp.array(array, order="C")
