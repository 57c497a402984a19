"""One GEMM problem, C = A @ B.T: its inputs, a launch, and a verdict on a kernel."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from . import device
from .backend.meetings import who_meets_whom
from .backend.mistakes import guess, product, where_wrong
from .report import compiled, simulate
from .simulator import Report, assemble
from .simulator.hazards import Hazard
from .simulator.interrupts import in_background, result_of
from .simulator.report import MessageOnly

# dtype -> memory order; its name (NT: contiguous along M and N, TN: along K); allowed |error| / sqrt(K)
# on normal data: several times the worst of a right kernel, far below that of a less exact type.
DTYPES = {"float32": ("F", "NT", 4e-5), "float16": ("C", "TN", 3e-3)}
SMALL = ((3, 1, 2), (1, 2, 3), (2, 3, 1), (5, 2, 1), (4, 1, 1), (6, 1, 1), (7, 1, 1), (8, 1, 1))
"""(k-tiles, blocks along M, along N) of the simulated checks: a pipeline may fail for one number only."""
LARGEST = (64, 4)
"""Of the whole numbers in A and B. Their sums are exact in float32 for K up to 65,536, and too large for float16 to
hold them exactly from K of some 100 on."""

Tile = tuple[int, int, int]
Threads = int | tuple[int, ...]


class CheckFailed(MessageOnly, AssertionError):
    """The kernel is wrong; the message says how. `hazards`, if any were found, the most serious first; `picture`: a
    drawing of what is wrong, and its description in words."""

    def __init__(self, message: str, hazards: tuple[Hazard, ...] = (), picture: tuple | None = None) -> None:
        super().__init__(message)
        self.hazards, self.picture = hazards, picture


class Verdict(str):
    """What `Gemm.check` returns when everything is right: one line."""

    __repr__ = str.__str__


class Gemm:
    """C = A @ B.T with A (M,K), B (N,K), C (M,N); float32 is column-major (NT), float16 row-major (TN).

    What is launched and timed reads normal random numbers; `zeros`: zeros, for which a chip draws less power.
    """

    def __init__(self, M: int, N: int, K: int, dtype: str = "float32", zeros: bool = False) -> None:
        if min(M, N, K) < 1 or dtype not in DTYPES:
            raise ValueError(f"Gemm({M}, {N}, {K}, {dtype!r}): sizes start at 1, dtype is float32 or float16")
        self.M, self.N, self.K, self.dtype, self.zeros = M, N, K, dtype, zeros
        self.order, self.layout, self._limit = DTYPES[dtype]

    def __repr__(self) -> str:
        return (
            f"Gemm(M={self.M}, N={self.N}, K={self.K}, {self.dtype}, {self.layout}{', zeros' * self.zeros})"
        )

    @property
    def title(self) -> str:
        return f"C = A @ B.T, {self.M} x {self.N} x {self.K} {self.dtype}{', zeros' * self.zeros}"

    @cached_property
    def inputs(self) -> tuple:
        """A and B of what is launched, where this machine's kernels read them."""
        return self._here(self._pair(np.zeros)) if self.zeros else self._random(seed=0)

    def grid(self, tile: Tile) -> tuple[int, int]:
        """Blocks along M (blockIdx.x) and N (blockIdx.y). The tile must divide the shape."""
        for name, size, step in zip("MNK", (self.M, self.N, self.K), tile, strict=True):
            if size % step:
                raise ValueError(
                    f"{name}={size} does not fit tile {tile}: the kernel takes {name} = {step}, {2 * step}, "
                    f"{3 * step}, ... Change the shape of the Gemm, or the tile of the kernel."
                )
        return self.M // tile[0], self.N // tile[1]

    def arguments(self, A: object, B: object) -> tuple:
        """A kernel's arguments (A, B, C, M, N, K). C is new and full of NaN: what is never written shows."""
        like = np if isinstance(A, np.ndarray) else device.cp
        C = like.full((self.M, self.N), np.nan, self.dtype, order=self.order)
        return A, B, C, np.int32(self.M), np.int32(self.N), np.int32(self.K)

    def launch(
        self, kernel, tile: Tile = (64, 64, 16), threads: Threads = 256, shared_mem: int = 0
    ) -> object:
        """Run the kernel on `inputs` and return C. `shared_mem` is dynamic shared memory, in bytes."""
        if device.backend() == "simulator" and self.M * self.N * self.K > 1024**3:
            raise ValueError(f"{self} takes minutes in the simulator: without a GPU take 512 x 512 x 512")
        C, run = self.prepare(kernel, self.inputs, tile, threads, shared_mem)
        run()
        return C

    def prepare(
        self, kernel, inputs: tuple, tile: Tile, threads: Threads, shared_mem: int, *extra: object
    ) -> tuple[object, Callable[[], None]]:
        """C, and a function that launches the kernel on `inputs` and does nothing else. `extra` follow K."""
        grid, block, args = self.grid(tile), _block(threads), (*self.arguments(*inputs), *extra)
        if shared_mem and shared_mem > kernel.max_dynamic_shared_size_bytes:
            kernel.max_dynamic_shared_size_bytes = shared_mem
        return args[2], lambda: kernel(grid, block, args, shared_mem=shared_mem)

    def prepare_block(
        self, kernel, inputs: tuple, tile: Tile, threads: Threads, shared_mem: int, *extra: object
    ) -> tuple[object, Callable[[], None]]:
        """As `prepare`, for one block alone: the one in the middle of the grid, at the pointers of its tile."""
        m, n = (count // 2 * size for count, size in zip(self.grid(tile), tile[:2], strict=True))
        A, B, C, *sizes = self.arguments(*inputs)
        args = (A[m:], B[n:], C[m:, n:], *sizes, *extra)
        if shared_mem and shared_mem > kernel.max_dynamic_shared_size_bytes:
            kernel.max_dynamic_shared_size_bytes = shared_mem
        return C, lambda: kernel((1, 1), _block(threads), args, shared_mem=shared_mem)

    def one_block(
        self, kernel, tile: Tile = (64, 64, 16), threads: Threads = 256, shared_mem: int = 0, k_tiles: int = 5
    ) -> Report:
        """Simulate one block of `k_tiles` k-tiles; print whether C is right, and the hazards; return the report."""
        small = Gemm(tile[0], tile[1], k_tiles * tile[2], self.dtype)
        args, report = small._simulated(kernel, tile, threads, shared_mem)
        right = not where_wrong(args[2], product(*args[:2]).astype(self.dtype), limit=0.0)
        why = "" if right or not report.ok else small._meetings(kernel, tile, threads, shared_mem)
        print(f"numbers right: {right}\nhazards: {report.brief()}{why}")
        return report

    def check(
        self, kernel, tile: Tile = (64, 64, 16), threads: Threads = 256, shared_mem: int = 0, seed: int = 0
    ) -> Verdict:
        """Return a verdict, or raise CheckFailed with the hazard, or with where and how C is wrong.

        First small shapes in the simulator, on every machine: integers, so that C must be exact, and no
        hazard allowed. Then random numbers against float64; then, on a GPU, the whole problem with both.
        """
        self.grid(tile)
        launch = tile, threads, shared_mem
        first, *others = [_small(tile, self.dtype, *counts) for counts in SMALL]
        first._check_simulated(kernel, *launch, seed)
        # A GPU asks more of a kernel than the simulator does; its assembler works meanwhile.
        assembled = in_background(lambda: assemble(compiled(kernel), _block(threads), shared_mem))
        for gemm in others:
            gemm._check_simulated(kernel, *launch, seed)
        result_of(assembled, "the compiler")
        first._check_here(kernel, launch, first._random(seed), "random data", first._limit)
        if device.backend() == "cupy":
            self._check_here(kernel, launch, self._random(seed), "random data", self._limit)
            self._check_here(kernel, launch, self._here(self._integers(seed)), "whole numbers", 0.0)
        return Verdict("check passed: exact for 1 to 8 k-tiles, no hazard, random data as in float64")

    def _check_simulated(self, kernel, tile: Tile, threads: Threads, shared_mem: int, seed: int) -> None:
        args, report = self._simulated(kernel, tile, threads, shared_mem, seed)
        self._judge(report, *args[:3], tile, lambda: self._meetings(kernel, tile, threads, shared_mem))

    def _meetings(self, kernel, *launch: object) -> str:
        """For tensor cores: which k of A meets which k of B in one block and one k-tile, if that is wrong."""
        one = Gemm(*launch[0], self.dtype)
        run = lambda *inputs: one._simulated(kernel, *launch, inputs=inputs)[0][2].astype(float)  # noqa: E731
        return who_meets_whom(run, *launch[0]) if self.dtype == "float16" else ""

    def _simulated(
        self, kernel, tile: Tile, threads: Threads, shared_mem: int, seed: int = 0, inputs=()
    ) -> tuple:
        args = self.arguments(*(inputs or self._integers(seed)))
        return args, simulate(kernel, self.grid(tile), _block(threads), args, shared_mem)

    def _check_here(self, kernel, launch: tuple, inputs: tuple, words: str, limit: float) -> None:
        """Launch on this machine's backend and compare with float64; `limit` 0: equal, once rounded to the dtype."""
        C, run = self.prepare(kernel, inputs, *launch)
        run()
        expected = product(*inputs) if limit else product(*inputs).astype(self.dtype)
        if wrong := where_wrong(C, expected, limit * self.K**0.5):
            raise CheckFailed(f"{self._failed(launch[0])} {words}\n{wrong}")

    def _integers(self, seed: int) -> tuple:
        """A and B of whole numbers, on the host."""
        random, largest = np.random.default_rng(seed), iter(LARGEST)
        return self._pair(lambda shape: random.integers(-(most := next(largest)), most + 1, shape))

    def _random(self, seed: int) -> tuple:
        """A and B of normal random numbers, where this machine's kernels read them."""
        random = np.random.default_rng(seed)
        return self._here(self._pair(lambda shape: random.standard_normal(shape, np.float32)))

    def _here(self, on_host: tuple) -> tuple:
        return tuple(device.cp.asarray(matrix, order=self.order) for matrix in on_host)

    def _pair(self, draw: Callable[[tuple[int, int]], np.ndarray]) -> tuple:
        shapes = ((self.M, self.K), (self.N, self.K))
        return tuple(draw(shape).astype(self.dtype, order=self.order) for shape in shapes)

    def _failed(self, tile: Tile) -> str:
        return f"check failed with M={self.M}, N={self.N}, K={self.K} (k-tiles: {self.K // tile[2]}):"

    def _judge(self, report: object, A, B, C: np.ndarray, tile: Tile, meetings: Callable[[], str]) -> None:
        """The report comes first: a race may leave the numbers right, on this machine, today."""
        if wrong := where_wrong(C, product(A, B).astype(self.dtype), limit=0.0):
            wrong += guess(C, A, B, tile, self.order)
        if not report.ok:
            wrong = wrong or "The numbers are right this time. On a GPU they may not be: remove the hazard."
            text = f"{self._failed(tile)} hazard\n{report}" + f"\n{wrong}" * (not report.stopped)
            raise CheckFailed(text, report.hazards)
        if wrong:
            wrong += "" if "What was written equals" in wrong else meetings()
            raise CheckFailed(f"{self._failed(tile)} no hazard, wrong numbers\n{wrong}")


def _small(tile: Tile, dtype: str, k_tiles: int, blocks_m: int, blocks_n: int) -> Gemm:
    """A small problem; M, N and K all differ, so that mixing them up shows."""
    M, N, K = blocks_m * tile[0], blocks_n * tile[1], k_tiles * tile[2]
    while N == K:
        N += tile[1]
    while M in (N, K):
        M += tile[0]
    return Gemm(M, N, K, dtype)


def _block(threads: Threads) -> tuple[int, ...]:
    return threads if isinstance(threads, tuple) else (threads,)
