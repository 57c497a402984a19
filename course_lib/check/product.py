"""One product of two matrices, C = A @ B.T: its inputs, and what comes out."""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from cupy_or_sim import device, timing
from cupy_or_sim.kernel import Array
from cupy_or_sim.launch import Tile

from .mistakes import Mistake, Order, guess, product
from .problem import Problem

# dtype -> memory order; its name (NT: contiguous along M and N, TN: along K); allowed |error| / sqrt(K)
# on normal data: several times the worst of a right kernel, far below that of a less exact type.
DTYPES: dict[str, tuple[Order, str, float]] = {"float32": ("F", "NT", 4e-5), "float16": ("C", "TN", 3e-3)}
LARGEST = (64, 4)
"""Of the whole numbers in A and B. Their sums are exact in float32 for K up to 65,536, and too large for float16 to
hold them exactly from K of some 100 on."""

MOST_ELEMENTS = 2**31
"""Of a matrix: the lessons' kernels count them in 32 bits with a sign."""


class Product(Problem):
    """C = A @ B.T with A (M,K), B (N,K), C (M,N); float32 is column-major (NT), float16 row-major (TN).

    What is launched and timed reads normal random numbers; `zeros`: zeros, for which a chip draws less power.
    """

    matrices, peer = "ABC", timing.CUBLAS

    def __init__(self, M: int, N: int, K: int, dtype: str = "float32", zeros: bool = False) -> None:
        if min(M, N, K) < 1 or dtype not in DTYPES:
            raise ValueError(f"Gemm({M}, {N}, {K}, {dtype!r}): sizes start at 1, dtype is float32 or float16")
        for name, rows, columns in (("A", M, K), ("B", N, K), ("C", M, N)):
            if rows * columns > MOST_ELEMENTS:
                raise ValueError(
                    f"Gemm({M}, {N}, {K}): {name} has {rows} x {columns} = {rows * columns:,} elements; the lessons' "
                    f"kernels count up to {MOST_ELEMENTS:,}, in 32 bits. Take a smaller shape"
                )
        self.M, self.N, self.K, self.dtype, self.zeros = M, N, K, dtype, zeros
        self.order, self.layout, self.error = DTYPES[dtype]

    def __repr__(self) -> str:
        size = f"M={self.M}, N={self.N}, K={self.K}"
        return f"{type(self).__name__}({size}, {self.dtype}, {self.layout}{', zeros' * self.zeros})"

    @property
    def title(self) -> str:
        return f"C = A @ B.T, {self.M} x {self.N} x {self.K} {self.dtype}{', zeros' * self.zeros}"

    @property
    def size(self) -> str:
        return f"M={self.M}, N={self.N}, K={self.K}"

    @property
    def flops(self) -> int:
        return 2 * self.M * self.N * self.K

    @property
    def operands(self) -> int:
        return (self.M + self.N) * self.K * np.dtype(self.dtype).itemsize

    def record(self) -> dict:
        data = {"data": "zeros"} if self.zeros else {}  # all others are random
        return {"shape": [self.M, self.N, self.K], "dtype": self.dtype, "layout": self.layout, **data}

    @cached_property
    def inputs(self) -> tuple:
        """A and B of what is launched, where this machine's kernels read them."""
        return self.here(self._pair(np.zeros)) if self.zeros else self.random(seed=0)

    def like(self, M: int, N: int, K: int) -> "Product":
        return Product(M, N, K, self.dtype)

    def small(self, tile: Tile, k_tiles: int, blocks_m: int, blocks_n: int) -> "Product":
        """M, N and K all differ."""
        M, N, K = blocks_m * tile[0], blocks_n * tile[1], k_tiles * tile[2]
        while N == K:
            N += tile[1]
        while M in (N, K):
            M += tile[0]
        return self.like(M, N, K)

    def shorter(self, K: int) -> "Product":
        shorter = self.like(self.M, self.N, K)
        shorter.inputs = tuple(_first_columns(matrix, K) for matrix in self.inputs)
        return shorter

    def peers_call(self) -> Callable[[], None]:
        return timing.cublas(self)

    def numbers(self) -> tuple:
        return np.int32(self.M), np.int32(self.N), np.int32(self.K)

    def given(self) -> tuple:
        return self.M, self.N, self.K, self.dtype, self.zeros

    def integers(self, seed: int) -> tuple:
        """A and B of whole numbers, on the host."""
        random, largest = np.random.default_rng(seed), iter(LARGEST)
        return self._pair(lambda shape: random.integers(-(most := next(largest)), most + 1, shape))

    def random(self, seed: int) -> tuple:
        """A and B of normal random numbers, where this machine's kernels read them."""
        random = np.random.default_rng(seed)
        return self.here(self._pair(lambda shape: random.standard_normal(shape, np.float32)))

    def _pair(self, draw: Callable[[tuple[int, int]], np.ndarray]) -> tuple:
        shapes = ((self.M, self.K), (self.N, self.K))
        return tuple(draw(shape).astype(self.dtype, order=self.order) for shape in shapes)

    def expected(self, *inputs: Array) -> Array:
        A, B = inputs
        return product(A, B)

    def limit(self, *inputs: Array) -> float:
        return self.error * self.K**0.5

    def guess(self, result: np.ndarray, inputs: tuple, tile: Tile) -> Mistake | None:
        A, B = inputs
        return guess(result, A, B, tile, self.order)


def _first_columns(matrix: Array, K: int) -> Array:
    """A copy of a matrix' columns 0 to K - 1, in the same order."""
    order = "F" if matrix.flags.f_contiguous else "C"
    return device.cp.asarray(matrix[:, :K], order=order)
