"""A kernel of Numba, `numba.cuda.jit`, compiled for a GPU that need not be there.

What a launch hands over is Numba's: an array is seven numbers or more in PTX (its object, its parent, how many elements
there are, the bytes of one, the address, then for each dimension the extent and the bytes from one to the next), and a
number has the type that `numba.typeof` gives: a Python float is a float64.
"""

from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from typing import Any

import numpy as np

from ..front.kernel import LaunchError
from ..front.launch import launch
from ..front.report import Report
from ..gpus import H100, Gpu, find_gpu
from .compilers import capability, compiler, named

Passed = tuple[str, bool, Any]
"""A parameter in PTX: its name, whether it is a pointer, and what is passed."""


def numba(
    kernel: Callable,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence,
    shared_mem: int = 0,
    *,
    gpu: str | Gpu = H100,
    **how: Any,
) -> Report:
    """Compile a function, or what `numba.cuda.jit` made of one, for these arguments, run it, and report what was found.

    `args` are NumPy arrays, which are changed in place, and numbers. `shared_mem`: bytes of dynamic shared memory.
    `how` is handed to `ptxsim.launch` (seed, max_steps, in_turn, cooperative).
    Raises CompilerMissing, what Numba raises for a kernel that it cannot compile, and LaunchError.
    """
    theirs, cuda = compiler("numba", "numba-cuda"), compiler("numba.cuda", "numba-cuda")
    function = getattr(kernel, "py_func", kernel)
    names = _names(function, args)
    gpu = find_gpu(gpu)
    fast = getattr(kernel, "targetoptions", {}).get("fastmath", False)
    ptx, _ = cuda.compile_ptx(
        function,
        tuple(theirs.typeof(arg) for arg in args),
        cc=capability(gpu),
        device=False,
        lineinfo=True,
        fastmath=fast,
    )
    passed = [each for name, arg in zip(names, args, strict=True) for each in _passed(name, arg)]
    made = named(ptx, function.__name__, [(name, pointer) for name, pointer, _ in passed])
    values = [value for _, _, value in passed]
    return launch(made, grid, block, values, shared_mem, gpu=gpu, **how)


def _names(function: Callable, args: Sequence) -> tuple[str, ...]:
    """The function's parameters. Raises LaunchError where the arguments are not as many, or no array or number."""
    names = tuple(signature(function).parameters)
    if len(names) != len(args):
        raise LaunchError(
            f"{function.__name__} has {len(names)} parameters ({', '.join(names)}), and {len(args)} were given"
        )
    for name, arg in zip(names, args, strict=True):
        if not isinstance(arg, np.ndarray | np.generic | bool | int | float):
            raise LaunchError(f"{name} is a {type(arg).__name__}; pass NumPy arrays and numbers")
    return names


def _passed(name: str, arg: Any) -> Iterator[Passed]:
    """An argument as Numba's launch passes it."""
    if not isinstance(arg, np.ndarray):
        yield name, False, _number(arg)
        return
    yield f"{name} (its object)", True, None
    yield f"{name} (its parent)", True, None
    yield f"{name}.size", False, np.int64(arg.size)
    yield f"{name}.itemsize", False, np.int64(arg.itemsize)
    yield name, True, arg
    for what, numbers in (("shape", arg.shape), ("strides", arg.strides)):
        for number, value in enumerate(numbers):
            yield f"{name}.{what}[{number}]", False, np.int64(value)


def _number(arg: bool | int | float | np.generic) -> np.generic:
    if isinstance(arg, np.generic):
        return arg
    return {bool: np.bool_, int: np.int64, float: np.float64}[type(arg)](arg)
