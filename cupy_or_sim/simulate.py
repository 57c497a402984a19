"""The simulator brought upstairs: it takes kernels and arrays of CuPy or of the stand-in."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

import ptxsim
from ptxsim.observe.events import Event

from .given import check_kernel
from .kernel import Array, Kernel
from .tensor_maps import made_from

Copies = dict[int, tuple[Array, np.ndarray]]
"""Address -> an array, and its copy on the host."""


def simulate(
    kernel: Kernel,
    grid: tuple,
    block: tuple,
    args: Sequence,
    shared_mem: int = 0,
    max_steps: int | None = None,
    seed: int | None = None,
    in_turn: str | None = None,
    dependent: bool = False,
) -> ptxsim.Report:
    """Run a launch in the simulator, on every machine, and return its report. `seed`: in another order of the warps.
    `in_turn`: its blocks one after the other, from block 0 "up" or from the last one "down". `dependent`: it may begin
    before the kernel before has ended.

    Array arguments are updated in place, as a launch would. Nothing is raised for a hazard: after one that
    stops the kernel, it is the last entry of `report.hazards`.
    """
    copies: Copies = {}
    values = [_on_host(arg, copies) for arg in args]
    report = ptxsim.launch(
        compiled(kernel),
        grid,
        block,
        values,
        shared_mem,
        max_steps,
        seed,
        cooperative=bool(getattr(kernel, "enable_cooperative_groups", False)),
        in_turn=in_turn,
        dependent=dependent,
    )
    for array, copy in copies.values():
        array.set(copy)
    return report


def clean_side_by_side(
    kernel: Kernel,
    launches: Sequence[tuple[tuple, Sequence]],
    block: tuple,
    shared_mem: int = 0,
    max_steps: int | None = None,
) -> list[list[Event]] | None:
    """None if one of several launches, each a grid and its arguments, has a finding, else the events of the first one;
    quicker than one after the other (`ptxsim.clean_side_by_side`)."""
    copies: Copies = {}
    on_host = [(grid, [_on_host(arg, copies) for arg in args]) for grid, args in launches]
    events = ptxsim.clean_side_by_side(compiled(kernel), on_host, block, shared_mem, max_steps)
    for array, copy in copies.values():
        array.set(copy)
    return events


def launch_simulated(
    kernel: Kernel, grid: tuple, block: tuple, args: Sequence, shared_mem: int = 0, dependent: bool = False
) -> None:
    """A launch as on a GPU, in the simulator: print what the kernel prints. Raises HazardError for a hazard."""
    report = simulate(kernel, grid, block, args, shared_mem, dependent=dependent)
    print(report.output, end="")
    if not report.ok:
        raise ptxsim.HazardError(report)


def compiled(kernel: Kernel) -> ptxsim.Kernel:
    """The simulator's form of a `cp.RawKernel`, or of a function of a `cp.RawModule`."""
    check_kernel(kernel)
    if kernel.code is None:
        raise TypeError("this kernel was loaded from a compiled file; the simulator needs its CUDA source")
    expressions = getattr(kernel, "name_expressions", None)
    if type(kernel).__module__.startswith("cupy."):
        # CuPy shows the name expressions of a RawModule's function in the pickled state only.
        state: Any = kernel.__getstate__()
        expressions = state["name_expressions"]
    name = kernel.name
    if not re.fullmatch(r"[\w$]+", name) and name not in (expressions or ()):
        raise ptxsim.LaunchError(
            f"{name!r} is an expression of C++, such as a template's instance. CuPy finds it where it is named: "
            f"cp.RawModule(code=source, options=OPTIONS, name_expressions=({name!r},)).get_function({name!r})"
        )
    return ptxsim.compile(kernel.code, name, kernel.options, expressions or ())


def _on_host(arg: object, copies: Copies) -> object:
    """An argument as the simulator takes it."""
    if made := made_from(arg):
        return ptxsim.TensorMap(_to_host(made.array, copies), made.box, made.swizzle)
    return _to_host(arg, copies) if hasattr(arg, "__cuda_array_interface__") else arg


def _to_host(array: Array, copies: Copies) -> np.ndarray:
    """A copy in the same memory order; an array that is passed twice stays one array."""
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise ptxsim.LaunchError(
            f"an array of shape {array.shape} is a view with gaps, and a kernel sees only its first address. "
            "Pass cp.ascontiguousarray(array) or cp.asfortranarray(array)."
        )
    return copies.setdefault(array.data.ptr, (array, array.get(order="A")))[1]
