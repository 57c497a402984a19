"""From source to a kernel, and from a kernel to a launch: what is checked before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from . import nvrtc, ptx
from .clock import Clock, model_launch
from .counters import Counters
from .decode import Code
from .hazards import FATAL, HazardLog
from .instructions.registry import UnsupportedInstruction
from .machine import Launch, Machine
from .memory import SPACING, Buffer, Bytes, Fault, GlobalMemory
from .report import Report

LANES_AT_ONCE = 16384
"""Blocks run in batches of about this many lanes: enough to keep NumPy busy, and little memory."""

SHARED_AT_ONCE, LOCAL_AT_ONCE = 16 << 20, 256 << 20
"""And of no more bytes of memory than this, unless a single block has more; shared memory is watched byte by byte."""

MAX_THREADS = 1024
MAX_SHARED = 227 * 1024
MAX_STATIC_SHARED = 48 * 1024
MAX_LOCAL = 512 * 1024
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
"""Limits of every GPU of compute capability 8.0 to 9.0 (CUDA C++ Programming Guide, compute capabilities);
227 KB of shared memory need 9.0, an 8.0 has 163 KB. Static arrays may take 48 KB, a thread's local memory 512 KB."""

MAX_SIMULATED = 2**28
"""Threads of a launch: NumPy would take minutes to hours for more."""


class LaunchError(ValueError):
    """The launch is wrong; nothing has run."""


@dataclass(frozen=True)
class Kernel:
    """A compiled kernel. `entry` is its name in the PTX; `declared` has each parameter's C++ name, and
    whether it is a pointer."""

    name: str
    entry: str
    source: str
    options: tuple[str, ...]
    name_expressions: tuple[str, ...]
    ptx: str
    declared: tuple[tuple[str, bool], ...]
    code: Code
    variables: tuple[Buffer, ...]

    @property
    def params(self) -> tuple[ptx.Variable, ...]:
        return self.code.program.params

    def __hash__(self) -> int:
        return id(self)


def compile(
    source: str, name: str, options: Sequence[str] = (), name_expressions: Sequence[str] = ()
) -> Kernel:
    """CUDA C++ to a kernel for the simulator.

    `name` is the name of an `extern "C"` kernel, one of `name_expressions`, or a mangled name.
    Raises CompileError with NVRTC's log, and LaunchError when there is no kernel of that name.
    """
    return _compile(source, name, tuple(options), tuple(name_expressions))


@lru_cache(maxsize=64)
def _compile(source: str, name: str, options: tuple[str, ...], name_expressions: tuple[str, ...]) -> Kernel:
    compiled = nvrtc.compile_ptx(source, name_expressions, options)
    entry = compiled.lowered.get(name, name)
    try:
        module = ptx.parse(compiled.ptx)
        names = list(ptx.kernels(module))
        if entry not in names:
            raise LaunchError(
                f"the source has no kernel named {name}; it has {', '.join(names) or 'none'}. "
                'Is it declared extern "C" __global__?'
            )
        program = ptx.link(module, entry)
    except UnsupportedInstruction as reason:
        raise LaunchError(f"the simulator cannot run {name}: {reason}") from None
    variables = tuple(_module_variables(program))
    code = Code(program, {v.label: v.base for v in variables})
    declared = nvrtc.parameters(source, name)
    return Kernel(name, entry, source, options, name_expressions, compiled.ptx, declared, code, variables)


def _module_variables(program: ptx.Program) -> list[Buffer]:
    """__device__ and __constant__ variables and string literals; they live as long as the kernel."""
    found = []
    for number, variable in enumerate(program.globals):
        data = np.zeros(max(variable.size, len(variable.data)), np.uint8)
        data[: len(variable.data)] = np.frombuffer(variable.data, np.uint8)
        found.append(Buffer((1024 + number) * SPACING, Bytes(data), variable.name, variable.align))
    return found


def launch(
    kernel: Kernel,
    grid: Sequence[int],
    block: Sequence[int],
    args: Sequence,
    shared_mem: int = 0,
    max_steps: int | None = None,
    seed: int | None = None,
) -> Report:
    """Run a kernel over the whole grid and report what was found.

    `args` are NumPy arrays (contiguous, in C or Fortran order; changed in place, as a launch would) and
    NumPy scalars of the parameters' sizes. `shared_mem` is dynamic shared memory in bytes. `max_steps` ends
    an endless loop; the default allows about ten seconds. `seed` chooses another legal order of the warps.

    Raises LaunchError before anything runs. A hazard never raises; one that stops the kernel is the last in
    the report.
    """
    grid, block = _three(grid, "grid"), _three(block, "block")
    _check_limits(grid, block, kernel, shared_mem)
    params, buffers = _bind(kernel, args)
    threads = block[0] * block[1] * block[2]
    blocks = grid[0] * grid[1] * grid[2]
    static = kernel.code.program.static_shared
    batch = _blocks_at_once(threads, static + shared_mem, kernel.code.program.local_bytes)

    def run(watched: int = 0, clock: Clock | None = None) -> tuple[Launch, list]:
        state = Launch(
            code=kernel.code,
            grid=grid,
            block=block,
            params=params,
            memory=GlobalMemory([*buffers, *kernel.variables]),
            shared_bytes=-(-static // 16) * 16 + shared_mem if shared_mem else static,
            log=HazardLog(),
            counters=Counters(kernel.code.program.instructions),
            max_steps=max_steps or _ten_seconds(min(batch, blocks) * threads),
            seed=seed,
            watched=watched,
            clock=clock,
        )
        return state, _run(state, blocks, batch, kernel.variables)

    if kernel.code.reads_clock:
        state, events = _with_clock(run, kernel, grid, block, shared_mem, [*buffers, *kernel.variables])
    else:
        state, events = run()
    counters, output = state.counters.table(), "".join(state.output)
    return Report(kernel, grid, block, state.log.sorted(), counters, events, output, shared_mem)


def _run(state: Launch, blocks: int, batch: int, variables: Sequence[Buffer]) -> list:
    """Run all blocks; return the clock's events of the watched one."""
    events: list = []
    with np.errstate(all="ignore"):
        try:
            for first in range(0, blocks, batch):
                state.steps = 0
                machine = Machine(state, np.arange(first, min(first + batch, blocks)))
                if machine.recorder.on:
                    events = machine.recorder.events
                machine.run()
                # Its parts refer to it: do not leave their large arrays to the garbage collector.
                vars(machine).clear()
        except Fault:
            pass  # it is in the log
        finally:
            for variable in variables:
                variable.touched.clear()
    return events


def _with_clock(
    run: Callable, kernel: Kernel, grid: tuple, block: tuple, shared_mem: int, buffers: list[Buffer]
) -> tuple[Launch, list]:
    """For a program that reads the clock: run it for its events, then again with the clock that the model makes of
    them. The model needs a block that reads the clock; if the first does not, a run goes to another."""
    before = [buffer.memory.data.copy() for buffer in buffers]

    def again(**how) -> tuple[Launch, list]:
        for buffer, data in zip(buffers, before, strict=True):
            buffer.memory.data[:] = data
            buffer.touched.clear()
        return run(**how)

    state, events = run()
    if state.reader and not _stopped(state):
        state, events = again(watched=state.reader)
    if state.reader is None or _stopped(state):
        return state, events
    return again(watched=state.watched, clock=model_launch(kernel, grid, block, shared_mem, events))


def _stopped(state: Launch) -> bool:
    return any(hazard.kind in FATAL for hazard in state.log.sorted())


def _blocks_at_once(threads: int, shared_bytes: int, local_bytes: int) -> int:
    by_memory = min(SHARED_AT_ONCE // (shared_bytes + 1), LOCAL_AT_ONCE // (threads * local_bytes + 1))
    return max(1, min(LANES_AT_ONCE // threads, by_memory))


def _ten_seconds(lanes: int) -> int:
    """Instructions that take about ten seconds on a laptop: 4 us each, and 4 ns for each lane."""
    return int(10 / (4e-6 + 4e-9 * lanes))


def _three(dims: Sequence[int], what: str) -> tuple[int, int, int]:
    dims = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if not 1 <= len(dims) <= 3 or not all(isinstance(d, (int, np.integer)) for d in dims):
        raise LaunchError(f"the {what} is {dims!r}; it must be one to three integers, for example (4, 2)")
    return (*(int(d) for d in dims), 1, 1)[:3]


def _check_limits(grid: tuple, block: tuple, kernel: Kernel, shared_mem: int) -> None:
    threads = block[0] * block[1] * block[2]
    if min(grid) < 1 or min(block) < 1:
        raise LaunchError(f"grid {grid} and block {block}: every number must be at least 1")
    if threads > MAX_THREADS or any(b > most for b, most in zip(block, MAX_BLOCK, strict=True)):
        raise LaunchError(
            f"a block of {block} has {threads} threads; a block has at most {MAX_THREADS}, and {MAX_BLOCK} in x, y, z"
        )
    if any(g > most for g, most in zip(grid, MAX_GRID, strict=True)):
        raise LaunchError(f"a grid of {grid} is too large; at most {MAX_GRID} in x, y, z")
    if shared_mem < 0:
        raise LaunchError(f"shared_mem is {shared_mem}; it is a number of bytes, 0 or more")
    total = threads * grid[0] * grid[1] * grid[2]
    if total > MAX_SIMULATED:
        raise LaunchError(
            f"a grid of {grid} with blocks of {block} has {total:,} threads; the simulator takes at most "
            f"{MAX_SIMULATED:,}, because more would run for hours. Simulate a smaller problem"
        )
    _check_memory(kernel.code.program, shared_mem)


def _check_memory(program: ptx.Program, shared_mem: int) -> None:
    static = program.static_shared
    if static > MAX_STATIC_SHARED:
        raise LaunchError(
            f"the __shared__ arrays of the kernel take {static} bytes; arrays of a fixed size may take at most "
            f"{MAX_STATIC_SHARED}. Use smaller tiles, or dynamic shared memory: declare "
            "extern __shared__ float name[]; and give the launch shared_mem=..., in bytes"
        )
    if static + shared_mem > MAX_SHARED:
        raise LaunchError(
            f"the block would use {static + shared_mem} bytes of shared memory ({static} static, "
            f"{shared_mem} dynamic); a block has at most {MAX_SHARED}. Use smaller tiles or fewer stages"
        )
    if program.local_bytes > MAX_LOCAL:
        raise LaunchError(
            f"the arrays that each thread declares for itself take {program.local_bytes} bytes; a thread has at most "
            f"{MAX_LOCAL}. Keep large arrays in global memory, and pass them to the kernel"
        )


def _bind(kernel: Kernel, args: Sequence) -> tuple[np.ndarray, list[Buffer]]:
    """The parameter bytes of a launch, and a buffer for every array."""
    params = kernel.params
    if len(args) != len(params):
        names = f" ({', '.join(name for name, _ in kernel.declared)})" if kernel.declared else ""
        raise LaunchError(
            f"{kernel.name} has {len(params)} parameters{names}, but {len(args)} arguments were given"
        )
    buffers: list[Buffer] = []
    data = np.zeros(kernel.code.program.param_bytes, np.uint8)
    for number, (param, arg) in enumerate(zip(params, args, strict=True)):
        name, is_pointer = (
            kernel.declared[number] if number < len(kernel.declared) else (f"argument {number}", False)
        )
        if isinstance(arg, np.ndarray):
            value = np.array([_address(arg, name, buffers)], np.uint64)
        else:
            value = _scalar(arg, name, param, is_pointer)
        raw = value.view(np.uint8).reshape(-1)
        if len(raw) != param.size:
            raise LaunchError(_wrong_size(arg, name, param, len(raw)))
        data[param.offset : param.offset + param.size] = raw
    return data, buffers


def _scalar(arg: object, name: str, param: ptx.Variable, is_pointer: bool) -> np.ndarray:
    if hasattr(arg, "__cuda_array_interface__"):
        raise LaunchError(
            f"{name} is an array on the GPU; the simulator needs it on the host: cp.asnumpy({name})"
        )
    if is_pointer:
        raise LaunchError(f"{name} is a pointer in the kernel, but the argument is {arg!r}; pass an array")
    if isinstance(arg, np.generic):
        return np.array([arg])
    if isinstance(arg, bool):
        return np.array([arg])
    if isinstance(arg, int):  # CuPy passes a Python int as 64 bits and a float as a double
        return np.array([arg], np.int64)
    if isinstance(arg, float):
        return np.array([arg], np.float64)
    raise LaunchError(
        f"{name} is a {type(arg).__name__}; pass an array, or a NumPy scalar such as np.int32(4)"
    )


def _wrong_size(arg: object, name: str, param: ptx.Variable, given: int) -> str:
    if isinstance(arg, np.ndarray):
        return f"{name} is a value of {param.size} bytes in the kernel, but the argument is an array"
    wrap = {
        4: "np.int32(...) or np.float32(...)",
        8: "np.int64(...) or np.float64(...)",
        2: "np.float16(...)",
    }
    return (
        f"{name} has {param.size} bytes in the kernel, but {arg!r} ({type(arg).__name__}) has {given}; "
        f"pass {wrap.get(param.size, 'a NumPy scalar')} of the parameter's own type"
    )


def _address(array: np.ndarray, name: str, buffers: list[Buffer]) -> int:
    """Map an array into global memory. Arrays that share memory share a range of addresses."""
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise LaunchError(
            f"{name} is a view with gaps (shape {array.shape}, strides {array.strides}); a kernel only gets the first "
            "address. Pass np.ascontiguousarray(...) or np.asfortranarray(...) of it"
        )
    if array.dtype.hasobject or array.dtype.kind in "US":
        raise LaunchError(f"{name} is an array of dtype {array.dtype}; a kernel takes arrays of numbers")
    flat = (array if array.flags.c_contiguous else array.T).reshape(-1).view(np.uint8)
    if not array.flags.writeable:
        raise LaunchError(f"{name} is read-only (writeable=False); pass a copy of it")
    start = array.ctypes.data
    for buffer in buffers:
        offset = start - buffer.memory.data.ctypes.data
        if flat.size and 0 <= offset <= buffer.size - flat.size:
            return buffer.base + offset
    base = (len(buffers) + 1) * SPACING + _offset_in_allocation(array)
    label = f"{name} ({array.dtype.name}, shape {array.shape})"
    buffers.append(Buffer(base, Bytes(flat), label, array.dtype.itemsize))
    return base


def _offset_in_allocation(array: np.ndarray) -> int:
    """How far a view begins behind its array: a GPU aligns allocations to 256 bytes, not views into them."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return (array.ctypes.data - owner.ctypes.data) % 256
