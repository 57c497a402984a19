"""One GEMM problem, C = A @ B.T: its inputs, and a launch of a kernel on them."""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from cupy_or_sim import device, limits
from cupy_or_sim.kernel import Kernel
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import launch_simulated, simulate
from cupy_or_sim.tensor_maps import box_of, mapped, tensor_map
from ptxsim import Report

from .mistakes import Order

# dtype -> memory order; its name (NT: contiguous along M and N, TN: along K); allowed |error| / sqrt(K)
# on normal data: several times the worst of a right kernel, far below that of a less exact type.
DTYPES: dict[str, tuple[Order, str, float]] = {"float32": ("F", "NT", 4e-5), "float16": ("C", "TN", 3e-3)}
LARGEST = (64, 4)
"""Of the whole numbers in A and B. Their sums are exact in float32 for K up to 65,536, and too large for float16 to
hold them exactly from K of some 100 on."""

MOST_ELEMENTS = 2**31
"""Of a matrix: the lessons' kernels count them in 32 bits with a sign."""


class Problem:
    """C = A @ B.T with A (M,K), B (N,K), C (M,N); float32 is column-major (NT), float16 row-major (TN).

    What is launched and timed reads normal random numbers; `zeros`: zeros, for which a chip draws less power.
    """

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
        self.order, self.layout, self.limit = DTYPES[dtype]

    def __repr__(self) -> str:
        size = f"M={self.M}, N={self.N}, K={self.K}"
        return f"{type(self).__name__}({size}, {self.dtype}, {self.layout}{', zeros' * self.zeros})"

    @property
    def title(self) -> str:
        return f"C = A @ B.T, {self.M} x {self.N} x {self.K} {self.dtype}{', zeros' * self.zeros}"

    @cached_property
    def inputs(self) -> tuple:
        """A and B of what is launched, where this machine's kernels read them."""
        return self.here(self._pair(np.zeros)) if self.zeros else self.random(seed=0)

    def like(self, M: int, N: int, K: int) -> "Problem":
        """A problem of the same kind and another size."""
        return Problem(M, N, K, self.dtype)

    def grid(self, launch: Launch) -> tuple[int, ...]:
        """Blocks along M (blockIdx.x) and N (blockIdx.y), or those that share the tiles out. The tile must divide the
        shape."""
        for name, size, step in zip("MNK", (self.M, self.N, self.K), launch.tile, strict=True):
            if size % step:
                raise ValueError(
                    f"{name}={size} does not fit tile {launch.tile}: the kernel takes {name} = {step}, {2 * step}, "
                    f"{3 * step}, ... Change the shape of the Gemm, or the tile of the kernel."
                )
        return (launch.blocks,) if launch.blocks else self.tiles(launch)

    def tiles(self, launch: Launch) -> tuple[int, int]:
        """Tiles along M and N."""
        return self.M // launch.tile[0], self.N // launch.tile[1]

    def arguments(self, A: object, B: object) -> tuple:
        """A kernel's arguments (A, B, C, M, N, K). C is new and full of NaN: what is never written shows."""
        like = device.cp if isinstance(A, device.cp.ndarray) else np
        C = like.full((self.M, self.N), np.nan, self.dtype, order=self.order)
        return A, B, C, np.int32(self.M), np.int32(self.N), np.int32(self.K)

    def passed(self, kernel: Kernel, args: tuple) -> tuple:
        """`arguments` as this kernel takes them: a matrix whose parameter is a `TensorMap` as a map of boxes of 64 rows
        of 128 bytes, swizzled."""
        maps = mapped(kernel)
        matrices = zip("ABC", args[:3], strict=True)
        boxed = [tensor_map(X, box_of(self.dtype)) if name in maps else X for name, X in matrices]
        return (*boxed, *args[3:])

    def prepare(
        self, kernel: Kernel, inputs: tuple, launch: Launch, extra: tuple = ()
    ) -> tuple[object, Callable[[], None]]:
        """C, and a function that launches the kernel on `inputs` and does nothing else. `extra` follow K. Raises
        DoesNotFit when the launch asks for more than the GPU in use gives."""
        if said := limits.misfit(kernel, launch):
            raise limits.DoesNotFit(said)
        args, grid, shared_mem = (*self.arguments(*inputs), *extra), self.grid(launch), launch.shared_mem
        passed = self.passed(kernel, args)
        if shared_mem and shared_mem > kernel.max_dynamic_shared_size_bytes:
            kernel.max_dynamic_shared_size_bytes = shared_mem
        return args[2], lambda: kernel(grid, launch.block, passed, shared_mem=shared_mem)

    def launched(self, kernel: Kernel, inputs: tuple, launch: Launch) -> object:
        """C of one launch; of one that does not fit the GPU in use, in the simulator, which raises HazardError."""
        if limits.misfit(kernel, launch):
            args = self.arguments(*inputs)
            passed = self.passed(kernel, args)
            launch_simulated(kernel, self.grid(launch), launch.block, passed, launch.shared_mem)
            return args[2]
        C, run = self.prepare(kernel, inputs, launch)
        run()
        return C

    def simulated(
        self,
        kernel: Kernel,
        inputs: tuple,
        launch: Launch,
        max_steps: int | None = None,
        order: int | None = None,
    ) -> tuple[tuple, Report]:
        """The arguments after a launch in the simulator, C among them, and its report. `order`: of the warps, by its
        seed."""
        args, grid = self.arguments(*inputs), self.grid(launch)
        passed = self.passed(kernel, args)
        return args, simulate(kernel, grid, launch.block, passed, launch.shared_mem, max_steps, order)

    def integers(self, seed: int) -> tuple:
        """A and B of whole numbers, on the host."""
        random, largest = np.random.default_rng(seed), iter(LARGEST)
        return self._pair(lambda shape: random.integers(-(most := next(largest)), most + 1, shape))

    def random(self, seed: int) -> tuple:
        """A and B of normal random numbers, where this machine's kernels read them."""
        random = np.random.default_rng(seed)
        return self.here(self._pair(lambda shape: random.standard_normal(shape, np.float32)))

    def here(self, on_host: tuple) -> tuple:
        """These matrices where this machine's kernels read them."""
        return tuple(device.cp.asarray(matrix, order=self.order) for matrix in on_host)

    def _pair(self, draw: Callable[[tuple[int, int]], np.ndarray]) -> tuple:
        shapes = ((self.M, self.K), (self.N, self.K))
        return tuple(draw(shape).astype(self.dtype, order=self.order) for shape in shapes)
