"""A problem that a kernel solves: its inputs, and a launch of a kernel on them. What is computed, subclasses say."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np

from cupy_or_sim import device, limits
from cupy_or_sim.kernel import Array, Kernel
from cupy_or_sim.launch import Launch, Tile
from cupy_or_sim.simulate import launch_simulated, simulate
from cupy_or_sim.tensor_maps import box_of, mapped, tensor_map
from ptxsim import Report

from .mistakes import Mistake, Order


class Problem(ABC):
    """`M` rows of `N` results each, summed over `K`: what a launch's tile is a tile of."""

    matrices: ClassVar[str]
    """Letters of the matrices that a kernel takes first, as its parameters are called; the last is the result."""
    M: int
    N: int
    K: int
    peer: ClassVar[str]
    """The library that kernels are compared with."""
    dtype: str
    layout: str
    order: Order = "C"

    @property
    @abstractmethod
    def title(self) -> str:
        """What is computed, and its size."""

    @property
    @abstractmethod
    def size(self) -> str:
        """Its size, as a check's message names it."""

    @property
    @abstractmethod
    def flops(self) -> int:
        """Floating-point operations."""

    @property
    @abstractmethod
    def operands(self) -> int:
        """Bytes that all blocks together read."""

    @abstractmethod
    def record(self) -> dict:
        """Size and kind, as a file of measurements holds them."""

    @abstractmethod
    def like(self, M: int, N: int, K: int) -> "Problem":
        """A problem of the same kind and another size."""

    @abstractmethod
    def small(self, tile: Tile, k_tiles: int, blocks_m: int, blocks_n: int) -> "Problem":
        """A small one for a check, whose sizes differ where they may, so that mixing them up shows."""

    @abstractmethod
    def shorter(self, K: int) -> "Problem":
        """The same problem with fewer K, on the first part of its inputs."""

    @abstractmethod
    def numbers(self) -> tuple:
        """What a kernel takes behind the matrices."""

    @abstractmethod
    def given(self) -> tuple:
        """What it was made of."""

    def arguments(self, *inputs: object) -> tuple:
        """A kernel's arguments. The result is new and full of NaN: what is never written shows."""
        like = device.cp if isinstance(inputs[0], device.cp.ndarray) else np
        result = like.full((self.M, self.N), np.nan, self.dtype, order=self.order)
        return *inputs, result, *self.numbers()

    def exact(self) -> "Problem":
        """The same problem, where need be with other numbers, as `integers` solves it exactly."""
        return self

    @abstractmethod
    def peers_call(self) -> Callable[[], None]:
        """On a GPU: a function that lets the peer solve it once, and does nothing else."""

    @abstractmethod
    def integers(self, seed: int) -> tuple:
        """Inputs on the host from which the result comes out exactly, once rounded to its type."""

    @abstractmethod
    def random(self, seed: int) -> tuple:
        """Inputs of normal random numbers, where this machine's kernels read them."""

    @abstractmethod
    def expected(self, *inputs: Array) -> Array:
        """The result in float64."""

    @abstractmethod
    def limit(self, *inputs: Array) -> Array | float:
        """By how much the result on random inputs may differ from the expected one: several times the worst of a right
        kernel, far below that of a less exact type."""

    @abstractmethod
    def guess(self, result: np.ndarray, inputs: tuple, tile: Tile) -> Mistake | None:
        """The known mistake that makes exactly this of exact inputs."""

    @cached_property
    def inputs(self) -> tuple:
        """Of what is launched, where this machine's kernels read them."""
        return self.random(seed=0)

    def grid(self, launch: Launch) -> tuple[int, ...]:
        """Blocks along M (blockIdx.x) and N (blockIdx.y), or those that share the tiles out. The tile must divide the
        shape."""
        for name, size, step in zip("MNK", (self.M, self.N, self.K), launch.tile, strict=True):
            if size % step:
                raise ValueError(
                    f"{name}={size} does not fit tile {launch.tile}: the kernel takes {name} = {step}, {2 * step}, "
                    f"{3 * step}, ... Change the shape of the problem, or the tile of the kernel."
                )
        return (launch.blocks,) if launch.blocks else self.tiles(launch)

    def tiles(self, launch: Launch) -> tuple[int, int]:
        """Tiles along M and N."""
        return self.M // launch.tile[0], self.N // launch.tile[1]

    def passed(self, kernel: Kernel, args: tuple) -> tuple:
        """`arguments` as this kernel takes them: a matrix whose parameter is a `TensorMap` as a map of boxes of 64 rows
        of 128 bytes, swizzled."""
        maps = mapped(kernel)
        count = len(self.matrices)
        matrices = zip(self.matrices, args[:count], strict=True)
        boxed = [tensor_map(X, box_of(self.dtype)) if name in maps else X for name, X in matrices]
        return (*boxed, *args[count:])

    def result(self, args: tuple) -> Array:
        """Of a kernel's arguments the one that it writes."""
        return args[len(self.matrices) - 1]

    def prepare(
        self, kernel: Kernel, inputs: tuple, launch: Launch, extra: tuple = ()
    ) -> tuple[object, Callable[[], None]]:
        """The result, and a function that launches the kernel on `inputs` and does nothing else. `extra` follow all
        other arguments. Raises DoesNotFit when the launch asks for more than the GPU in use gives."""
        if said := limits.misfit(kernel, launch):
            raise limits.DoesNotFit(said)
        args, grid, shared_mem = (*self.arguments(*inputs), *extra), self.grid(launch), launch.shared_mem
        passed = self.passed(kernel, args)
        if shared_mem and shared_mem > kernel.max_dynamic_shared_size_bytes:
            kernel.max_dynamic_shared_size_bytes = shared_mem
        return self.result(args), lambda: kernel(grid, launch.block, passed, shared_mem=shared_mem)

    def launched(self, kernel: Kernel, inputs: tuple, launch: Launch) -> object:
        """The result of one launch; of one that does not fit the GPU in use, in the simulator, which raises
        HazardError."""
        if limits.misfit(kernel, launch):
            args = self.arguments(*inputs)
            passed = self.passed(kernel, args)
            launch_simulated(kernel, self.grid(launch), launch.block, passed, launch.shared_mem)
            return self.result(args)
        result, run = self.prepare(kernel, inputs, launch)
        run()
        return result

    def simulated(
        self,
        kernel: Kernel,
        inputs: tuple,
        launch: Launch,
        max_steps: int | None = None,
        order: int | None = None,
    ) -> tuple[tuple, Report]:
        """The arguments after a launch in the simulator, the result among them, and its report. `order`: of the warps,
        by its seed."""
        args, grid = self.arguments(*inputs), self.grid(launch)
        passed = self.passed(kernel, args)
        return args, simulate(kernel, grid, launch.block, passed, launch.shared_mem, max_steps, order)

    def here(self, on_host: Sequence[np.ndarray]) -> tuple:
        """These matrices where this machine's kernels read them."""
        return tuple(device.cp.asarray(matrix, order=self.order) for matrix in on_host)
