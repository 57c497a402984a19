"""A kernel of Triton, `triton.jit`, compiled for a GPU that need not be there.

What Triton makes of the arguments when it launches is done here as well, since its own launcher wants a GPU: a whole
number that is 1 becomes a constant, arrays and numbers that 16 divides are marked so, and behind the parameters come
two addresses of scratch memory.
"""

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ..front.kernel import LaunchError
from ..front.launch import launch
from ..front.report import Report
from ..gpus import H100, WARP, Gpu, find_gpu
from ..ptx.program import file_of
from .compilers import Declared, capability, compiler, named

DTYPES = {
    "i1": np.dtype(bool),
    **{f"{kind}{8 * size}": np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)},
    **{f"fp{8 * size}": np.dtype(f"f{size}") for size in (2, 4, 8)},
}
"""Triton's types of numbers that NumPy has."""
NAMES = {dtype: name for name, dtype in DTYPES.items()}
ALIGNED = 16
"""What Triton asks of an address or a number, to read and write 16 bytes at a time."""
DIVISIBLE = [["tt.divisibility", ALIGNED]]
SCRATCH = [("scratch memory", True), ("the profiler's memory", True)]

Grid = int | Sequence[int] | Callable[[dict], int | Sequence[int]]


def triton(
    kernel: Any,
    grid: Grid,
    args: Sequence,
    constexprs: Mapping[str, Any] | None = None,
    *,
    types: Mapping[str, str] | None = None,
    gpu: str | Gpu = H100,
    **how: Any,
) -> Report:
    """Compile a function under `triton.jit` for these arguments, run it as `kernel[grid](*args, **constexprs)` would,
    and report what was found.

    `grid`: 1 to 3 numbers, or a function of the arguments by their names. `args` are NumPy arrays, which are changed in
    place, numbers, and None. `constexprs`: the kernel's constants by their names, and the compiler's options
    (num_warps, num_stages, ...). `types`: Triton's type of an argument for which NumPy has none, {"x": "*bf16"} for an
    array of uint16. `how` is handed to `ptxsim.launch` (seed, max_steps, in_turn).
    Raises CompilerMissing, what Triton raises for a kernel that it cannot compile, and LaunchError.
    """
    theirs = compiler("triton", "triton")
    gpu = find_gpu(gpu)
    given, options = _given(theirs, kernel, args, constexprs or {})
    constants = {name: arg for name, arg in given.items() if _is_constant(kernel, name, arg)}
    passed = {name: arg for name, arg in given.items() if name not in constants}
    known = types or {}
    as_types = {name: known.get(name) or _type(name, arg) for name, arg in passed.items()}
    made = _compiled(theirs, kernel, as_types, passed, constants, options, gpu)
    blocks = _blocks(grid, given)
    about = made.metadata
    declared: list[Declared] = [(name, as_types[name].startswith("*")) for name in passed]
    scratch = np.zeros(about.global_scratch_size * prod(blocks) * about.num_ctas, np.uint8)
    values = [_value(arg, as_types[name]) for name, arg in passed.items()]
    return launch(
        named(_in_its_file(made.asm["ptx"], kernel.fn), kernel.fn.__name__, declared + SCRATCH),
        (blocks[0] * about.num_ctas, *blocks[1:]),
        about.num_warps * WARP,
        [*values, scratch if scratch.size else None, None],
        about.shared,
        gpu=gpu,
        **how,
    )


def _given(
    theirs: Any, kernel: Any, args: Sequence, constexprs: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments by their names, and the compiler's options. Raises LaunchError where they do not fit the kernel."""
    if not isinstance(kernel, theirs.runtime.JITFunction):
        inner = (
            f"; it holds one: pass {type(kernel).__name__}.fn and its constants"
            if hasattr(kernel, "fn")
            else ""
        )
        raise LaunchError(f"a {type(kernel).__name__} is no function under @triton.jit{inner}")
    names = kernel.arg_names
    try:
        bound = signature(kernel.fn).bind(*args, **{k: v for k, v in constexprs.items() if k in names})
    except TypeError as error:
        raise LaunchError(f"{kernel.fn.__name__}({', '.join(names)}): {error}") from None
    bound.apply_defaults()
    return dict(bound.arguments), {k: v for k, v in constexprs.items() if k not in names}


def _is_constant(kernel: Any, name: str, arg: Any) -> bool:
    """As Triton specialises: what is declared so, None, and a 1 that it is not told to leave."""
    parameter = kernel.params[kernel.arg_names.index(name)]
    one = type(arg) is int and arg == 1 and not parameter.do_not_specialize
    return parameter.is_constexpr or arg is None or one


def _type(name: str, arg: Any) -> str:
    """Triton's type of an argument. Raises LaunchError for one that it cannot be told of."""
    if type(arg) is int:
        return "i32" if -(2**31) <= arg < 2**31 else "u64" if arg >= 2**63 else "i64"
    if type(arg) is float:
        return "fp32"
    if type(arg) is bool:
        return "i1"
    if isinstance(arg, np.ndarray | np.generic) and arg.dtype in NAMES:
        return "*" * isinstance(arg, np.ndarray) + NAMES[arg.dtype]
    raise LaunchError(
        f"{name} is {_shown(arg)}; pass NumPy arrays and scalars of numbers, Python's numbers, or None"
    )


def _shown(arg: Any) -> str:
    return f"an array of {arg.dtype}" if isinstance(arg, np.ndarray) else f"a {type(arg).__name__}"


def _compiled(
    theirs: Any,
    kernel: Any,
    types: Mapping[str, str],
    passed: Mapping[str, Any],
    constants: Mapping[str, Any],
    options: Mapping[str, Any],
    gpu: Gpu,
) -> Any:
    """What `triton.compile` makes."""
    names, (major, minor) = kernel.arg_names, capability(gpu)
    attrs = {(names.index(name),): DIVISIBLE for name, arg in passed.items() if _divides(kernel, name, arg)}
    source = theirs.compiler.ASTSource(
        kernel,
        {name: types.get(name, "constexpr") for name in names},
        {(names.index(name),): value for name, value in constants.items()},
        attrs,
    )
    target = theirs.backends.compiler.GPUTarget("cuda", 10 * major + minor, WARP)
    return theirs.compile(source, target=target, options={"enable_fp_fusion": True, **options})


def _in_its_file(text: str, function: Any) -> str:
    """PTX that names the file of this function. Triton keeps what it compiled by a function's text, and so may name a
    file in which the same text stood before, in another folder or another notebook."""
    own, before = function.__code__.co_filename, file_of(text, function.__name__)
    moved = before and (Path(before).name == Path(own).name or not Path(before).exists())
    return text.replace(f'"{before}"', f'"{own}"') if moved else text


def _divides(kernel: Any, name: str, arg: Any) -> bool:
    """Whether 16 divides an address or a whole number, and Triton may use it."""
    if kernel.params[kernel.arg_names.index(name)].do_not_specialize:
        return False
    if isinstance(arg, np.ndarray):
        owner = arg
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        return (arg.ctypes.data - owner.ctypes.data) % ALIGNED == 0
    return type(arg) is int and arg % ALIGNED == 0


def _value(arg: Any, kind: str) -> Any:
    """An argument as the parameter of this type holds it."""
    return arg if isinstance(arg, np.ndarray) or kind not in DTYPES else DTYPES[kind].type(arg)


def _blocks(grid: Grid, given: dict[str, Any]) -> tuple[int, ...]:
    found = grid(given) if callable(grid) else grid
    return (found,) if isinstance(found, int) else tuple(found)
