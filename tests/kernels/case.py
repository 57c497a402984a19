"""What a test kernel is: source, launch, inputs, expected results; and how a result is compared."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from cupy_or_sim.keys import options_that_count, source_key
from ptxsim import TensorMap

CPP17 = ("--std=c++17",)


@dataclass(frozen=True)
class Case:
    """A kernel that is right: it gives the expected numbers and nothing may be reported about it.

    `make()` returns fresh launch arguments, the same each time: NumPy arrays (outputs poisoned) and scalars.
    `reference(args)` gets the arguments before the launch and returns {index of argument: expected array}.
    """

    name: str
    source: str
    kernel: str
    make: Callable[[], list]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    reference: Callable[[list], dict[int, np.ndarray]]
    options: tuple[str, ...] = CPP17
    name_expressions: tuple[str, ...] = ()
    shared_mem: int = 0
    exact: bool = True
    """True: compared bit for bit (any NaN for a NaN). False: compared within `rtol` and `atol`."""
    rtol: float = 0.0
    atol: float = 0.0
    unordered: tuple[int, ...] = ()
    """Arguments whose elements may come out in any order."""
    prints: str = ""
    """What the kernel prints; the order of the lines is free."""
    cheap: bool = True
    """Fast enough to be repeated with other orders of warps."""
    without_reference: tuple[int, ...] = ()
    """Outputs that only a GPU can tell; `reference` leaves them out."""
    cooperative: bool = False
    """All blocks run at once, for grid.sync()."""
    own_source: str = ""
    """What of `source` decides the result, where kernels of other cases stand in it too; else all of it."""

    def outputs(self) -> list[int]:
        """The arguments that a frozen result holds."""
        return [*self.reference(self.make()), *self.without_reference]


@dataclass(frozen=True)
class WrongCase:
    """A kernel with one known mistake. The source marks its line with `// HERE`, and the line that calls
    the helper it sits in with `// CALLER`."""

    name: str
    """Of the case and of its kernel."""
    kind: str
    source: str
    make: Callable[[], list]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    array: tuple[str, tuple[int, ...]] | None = None
    """Name and shape of the global array that the message must name."""
    options: tuple[str, ...] = CPP17
    shared_mem: int = 0
    max_steps: int | None = None
    follows: tuple[str, ...] = ()
    """Kinds of findings that follow from the mistake."""

    def lines(self, marker: str) -> set[int]:
        """Numbers of the source lines that carry `marker`."""
        return {number for number, line in enumerate(self.source.splitlines(), 1) if f"// {marker}" in line}


def random(seed: int) -> np.random.RandomState:
    """The legacy generator: NumPy promises that its stream never changes."""
    return np.random.RandomState(seed)


def scaled(rng: np.random.RandomState, shape, most: int) -> np.ndarray:
    """Normal numbers times powers of two up to 2**most and down to 2**-most: exact, where the last bit of `np.exp`
    differs from one processor to another (seen with and without AVX-512)."""
    return np.ldexp(rng.randn(*np.atleast_1d(shape)), rng.randint(-most, most + 1, shape))


def poison(shape: int | Sequence[int], dtype, order: str = "C") -> np.ndarray:
    """An output array that is wrong until written: NaN, or the byte 0xA5 for integers."""
    dtype = np.dtype(dtype)
    array = np.empty(shape, dtype, order=order)
    if dtype.kind == "f":
        array[...] = np.nan
    else:
        array.ravel(order="K").view(np.uint8)[...] = 0xA5
    return array


def fma32(a, b, c) -> np.ndarray:
    """a * b + c for float32, rounded once. The product is exact in float64; rounding the sum there first can
    differ from a single rounding only on a tie, which happens once in 2**29 and not with our fixed inputs."""
    a, b, c = (np.asarray(x, np.float32).astype(np.float64) for x in (a, b, c))
    return (a * b + c).astype(np.float32)


def to_bf16(values: np.ndarray) -> np.ndarray:
    """Bits (uint16) of float32 values rounded to bfloat16, nearest even. No NaN."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits: np.ndarray) -> np.ndarray:
    """float32 values of bfloat16 bits (uint16)."""
    return (np.asarray(bits).astype(np.uint32) << 16).view(np.float32)


def array_of(argument):
    """The array that a tensor map is of; any other argument as it is."""
    return argument.array if isinstance(argument, TensorMap) else argument


def mismatch(case: Case, index: int, expected: np.ndarray, actual: np.ndarray) -> str:
    """Empty when argument `index` is right, else one line that says how far off it is."""
    actual = array_of(actual)
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"argument {index}: {actual.dtype}{actual.shape}, expected {expected.dtype}{expected.shape}"
    expected, actual = np.ascontiguousarray(expected).ravel(), np.ascontiguousarray(actual).ravel()
    if index in case.unordered:
        expected, actual = np.sort(expected), np.sort(actual)
    if case.exact:
        right = bits(expected) == bits(actual)
        if expected.dtype.kind == "f":
            right |= np.isnan(expected) & np.isnan(actual)  # no rule fixes the payload of a NaN
    else:
        right = np.isclose(actual, expected, rtol=case.rtol, atol=case.atol, equal_nan=True)
    if right.all():
        return ""
    first = int(np.argmin(right))
    return (
        f"argument {index}: {np.count_nonzero(~right)} of {right.size} elements differ; "
        f"flat element {first} is {actual[first]!r}, expected {expected[first]!r}"
    )


def bits(array: np.ndarray) -> np.ndarray:
    """The elements as unsigned integers of the same width."""
    return array.view(f"u{array.dtype.itemsize}")


def same_text(expected: str, actual: str) -> bool:
    """Equal up to the order of the lines."""
    return sorted(expected.splitlines()) == sorted(actual.splitlines())


@cache
def _source_key(source: str) -> str:
    return source_key("", source)


def fingerprint(case: Case) -> str:
    """A short hash of what decides the result: source with its course headers, launch and inputs."""
    launch = (case.kernel, tuple(options_that_count(case.options)), case.grid, case.block, case.shared_mem)
    digest = hashlib.sha256(f"{_source_key(case.own_source or case.source)}{launch}".encode())
    for argument in case.make():
        if isinstance(argument, TensorMap):
            digest.update(replace(argument.at(0), kind="").pack().tobytes())  # its type follows
        argument = array_of(argument)
        digest.update(f"{argument.dtype}{argument.shape}".encode())
        digest.update(argument.tobytes(order="A"))
    return digest.hexdigest()[:16]
