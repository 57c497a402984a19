"""From CUDA C++ to a kernel that the simulator can launch."""

import linecache
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from ..compiler import debug_names, joined, nvrtc, signature
from ..compiler.disassembly import SassInstruction, instructions_of, literals_of
from ..compiler.shared_arrays import Shape, shapes
from ..gpus import B200, H100, Gpu
from ..ground.foreign import text_of
from ..ground.memory import SPACING, Buffer, Bytes
from ..machine.decode import Code
from ..machine.machine import plain_name
from ..ptx import limits
from ..ptx import program as ptx
from ..ptx.opcode import UnsupportedInstruction
from ..ptx.program import Program, Variable
from ..ptx.provenance import arrays_of, roots_of
from ..ptx.together import predicated

JOINED = ("st", "atom", "red", "bar", "barrier")
ALIKE = "or another one like it: the compiler has joined the two"
_ENTRY = re.compile(r"\.entry\s+([\w$]+)")
_PLAIN = re.compile(r"[\w$]+")
"""A name, and no expression."""


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
    def params(self) -> tuple[Variable, ...]:
        return self.code.program.params

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """Of shared arrays, by name, where the source says it."""
        sizes = {plain_name(shared.name): shared.size for shared in self.code.program.shared}
        return shapes(self.source, self.options, sizes)

    def about(self, number: int) -> tuple[str, bool]:
        """The name of a parameter, and whether it is a pointer: by the source, or as the program uses it."""
        known = number < len(self.declared)  # a macro may have added some
        name, declared = self.declared[number] if known else (f"parameter {number + 1}", False)
        return name, declared or self.code.is_address(number)

    def __hash__(self) -> int:
        return id(self)


def compile(
    source: str, name: str, options: Sequence[str] = (), name_expressions: Sequence[str] = ()
) -> Kernel:
    """CUDA C++ to a kernel for the simulator.

    `name` is the name of an `extern "C"` kernel, an expression of C++ (`tile<float, 32>`, `math::scale`), one of
    `name_expressions`, or a mangled name. Kernels of one source with the same options and expressions share its
    variables.
    Raises CompileError with NVRTC's log, and LaunchError when there is no kernel of that name.
    """
    if not isinstance(source, str) or not isinstance(name, str):
        raise LaunchError(
            f"source and name are strings, not {type(source).__name__} and {type(name).__name__}"
        )
    if isinstance(options, str) or isinstance(name_expressions, str):
        raise LaunchError("options and name_expressions are tuples of strings, for example ('-arch=sm_90',)")
    options, expressions = tuple(options), tuple(name_expressions)
    if name in expressions or _PLAIN.fullmatch(name):
        return _compile(source, name, options, expressions)
    try:
        return _compile(source, name, options, (*expressions, name))
    except nvrtc.CompileError as error:
        if nvrtc.OF_THE_SOURCE.search(str(error)):
            raise
        reason = re.sub(r"^.*? error: ", "", str(error).partition("\n")[0])
        raise LaunchError(f"the source has no kernel {name}: {reason}") from None


def variables(
    source: str, options: Sequence[str] = (), name_expressions: Sequence[str] = ()
) -> dict[str, np.ndarray]:
    """The bytes (uint8) of each __device__ and __constant__ variable of a source, by its name in PTX: they are read and
    written by the kernels that are compiled with the same options and expressions, and may be here.

    Raises CompileError, and LaunchError where the simulator cannot run it."""
    try:
        found = _variables(source, tuple(options), tuple(name_expressions))
    except UnsupportedInstruction as reason:
        raise LaunchError(f"the simulator cannot run it: {reason}") from None
    return {each.label: each.memory.data for each in found}


@lru_cache(maxsize=64)
def _variables(
    source: str, options: tuple[str, ...], name_expressions: tuple[str, ...]
) -> tuple[Buffer, ...]:
    module = _module(nvrtc.compile_ptx(source, name_expressions, options).ptx, ptx.MAIN_FILE)
    variables = ptx.of_module(module)
    limits.check_variables(sum(each.size for each in variables))
    return tuple(_module_variables(module, variables))


@lru_cache(maxsize=64)
def _compile(source: str, name: str, options: tuple[str, ...], name_expressions: tuple[str, ...]) -> Kernel:
    compiled = nvrtc.compile_ptx(source, name_expressions, options)
    entry = compiled.lowered.get(name, name)
    module = _parsed(compiled.ptx, name)
    names = list(ptx.kernels(module))
    if entry not in names:
        raise LaunchError(
            f"the source has no kernel named {name}; it has {', '.join(names) or 'none'}. {_why_not(source, name)}"
        )
    kernel = _linked(module, name, entry, source, options, name_expressions, compiled.ptx)
    return (
        replace(kernel, variables=_variables(source, options, name_expressions))
        if kernel.variables
        else kernel
    )


def _why_not(source: str, name: str) -> str:
    """Why a kernel may have another name in the PTX, or none."""
    text = signature.without_comments(source)
    if re.search(rf"\btemplate\s*<[^;{{}}]*\b__global__\b[^;{{}}]*?\b{re.escape(name)}\s*\(", text):
        return (
            f"It is a template, of which an instance is compiled when it is named: {name}<float>, for example"
        )
    return 'Is it declared extern "C" __global__?'


def from_ptx(text: str, name: str = "") -> Kernel:
    """A kernel of PTX that some compiler has made (nvcc -ptx, Triton, Numba), by its name there; the only one of a
    text needs none.

    Its source is the file that its lines name, if that can be read; of a text without lines it is that text. Raises
    LaunchError when there is no kernel of that name, or the simulator cannot run it.
    """
    names = _ENTRY.findall(text)
    entry = name or (names[0] if len(names) == 1 else "")
    if entry not in names:
        which = f"no kernel named {name}" if name else "several kernels, or none"
        raise LaunchError(
            f"the PTX has {which}; it has {', '.join(names) or 'none'}: ask for one of them by name"
        )
    place = ptx.file_of(text, entry)
    source = _source(Path(place)) if place else text
    kernel = _linked(_parsed(text, entry, place), entry, entry, source, (), (), text)
    if kernel.declared:
        return kernel
    named = debug_names.parameters(text, entry)
    known = len(named) == len(kernel.params)
    return replace(kernel, declared=named if known else _declared(text, entry))


def _source(path: Path) -> str:
    """The file that the lines of a PTX name, or the notebook's cell; "" if it cannot be read."""
    try:
        return text_of(path, errors="replace").removeprefix("\ufeff")
    except (OSError, ValueError):  # a path may hold a NUL
        # IPython leaves the text of its cells there; for another name linecache would search Python's path
        return "".join(linecache.getlines(str(path))) if str(path) in linecache.cache else ""


def _declared(text: str, entry: str) -> tuple[tuple[str, bool], ...]:
    """Each parameter's name in the PTX, and whether it says that it is a pointer; () where it says it of none."""
    between = re.search(rf"\.entry\s+{re.escape(entry)}\s*\(([^)]*)\)", text)
    found = (
        re.findall(r"\.param\b([^,]*?)([\w$]+)\s*(?:\[\d+\])?\s*(?:,|$)", between[1].strip())
        if between
        else []
    )
    parameters = tuple((name, ".ptr" in kind) for kind, name in found)
    return parameters if any(pointer for _, pointer in parameters) else ()


_module = lru_cache(maxsize=8)(ptx.parse)
"""Several kernels of one text are asked for one after the other, and its variables."""


@contextmanager
def _read(name: str) -> Iterator[None]:
    """While the PTX of a kernel is read, which somebody may have cut or written by hand. Raises LaunchError."""
    try:
        yield
    except UnsupportedInstruction as reason:
        raise LaunchError(f"the simulator cannot run {name}: {reason}") from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise LaunchError(
            f"the PTX of {name} cannot be read ({type(error).__name__}: {limits.shown(str(error))}): does an assembler "
            "take it? If it does, this is a mistake in the simulator; please report it, with the PTX"
        ) from error


def _parsed(text: str, name: str, main: str = ptx.MAIN_FILE) -> ptx.Module:
    with _read(name):
        return _module(text, main)


def _linked(
    module: ptx.Module,
    name: str,
    entry: str,
    source: str,
    options: tuple[str, ...],
    name_expressions: tuple[str, ...],
    text: str,
) -> Kernel:
    with _read(name):
        program = ptx.link(module, entry)
        variables = tuple(_module_variables(module, program.globals))
        if program.reserved_shared:
            program = replace(program, instructions=predicated(program.instructions))
        declared = signature.parameters(source, entry, [param.size for param in program.params])
        program = _with_joined_lines(program, source, declared)
        code = Code(program, {v.label: v.base for v in variables})
    return Kernel(name, entry, source, options, name_expressions, text, declared, code, variables)


def _with_joined_lines(program: Program, source: str, declared: tuple[tuple[str, bool], ...]) -> Program:
    """Stores and barriers for which the PTX tells no line get one that the source has."""
    lost = [
        pc for pc, each in enumerate(program.instructions) if each.where.joined and each.opcode.root in JOINED
    ]
    if not lost or not source:
        return program
    shared, roots = arrays_of(program), roots_of(program)
    instructions = list(program.instructions)
    for pc in lost:
        where, line = instructions[pc].where, 0
        if instructions[pc].opcode.root in ("bar", "barrier"):
            line = joined.barrier_behind(source, where.line)
        elif pc in shared:
            line = joined.store_behind(source, where.line, plain_name(shared[pc].name))
        elif (root := roots.get(pc, 0)).bit_count() == 1 and root > 0 and root.bit_length() <= len(declared):
            line = joined.store_behind(source, where.line, declared[root.bit_length() - 1][0])
        if line:
            found = replace(where, line=line, joined=ALIKE)
            instructions[pc] = replace(instructions[pc], where=found)
    return replace(program, instructions=tuple(instructions))


def _module_variables(module: ptx.Module, variables: Sequence[Variable]) -> list[Buffer]:
    """__device__ and __constant__ variables and string literals; they live as long as the kernel."""
    found = []
    for number, variable in enumerate(variables):
        data = np.zeros(max(variable.size, len(variable.data)), np.uint8)
        data[: len(variable.data)] = np.frombuffer(variable.data, np.uint8)
        found.append(Buffer((1024 + number) * SPACING, Bytes(data), variable.name, variable.align))
    _put_addresses(module, variables, found)
    return found


def _put_addresses(module: ptx.Module, variables: Sequence[Variable], buffers: list[Buffer]) -> None:
    """Variables that are initialised with addresses of others, and of functions."""
    bases = {buffer.label: buffer.base for buffer in buffers}
    for variable, buffer in zip(variables, buffers, strict=True):
        for at, name, more in variable.addresses:
            base = bases.get(name, module.address_of(name))
            if base is None:
                raise UnsupportedInstruction(ptx.unknown_address(name))
            buffer.memory.data[at : at + 8] = np.array([base + more], np.uint64).view(np.uint8)


def meant_for(kernel: Kernel) -> Gpu:
    """The GPU whose limits count where nobody names one: an H100, and a B200 for what is compiled for it."""
    return B200 if nvrtc.asked_arch(kernel.options).endswith(("_100", "_100a")) else H100


def resources(kernel: Kernel, arch: str = "") -> nvrtc.Resources:
    """Registers, spills and shared memory of a kernel on a real GPU architecture, as ptxas reports them; without one,
    on that of the GPU that it is meant for."""
    arch = arch or meant_for(kernel).arch
    return nvrtc.resources(kernel.source, kernel.entry, kernel.options, arch, kernel.name_expressions)


def machine_code(kernel: Kernel, arch: str = "sm_90") -> tuple[SassInstruction, ...]:
    """The instructions that ptxas makes of a kernel for a real GPU architecture, by address, with their source lines.

    Raises NvdisasmMissing where nvdisasm is not installed, and CompileError for a source or an architecture that NVRTC
    refuses.
    """
    made = nvrtc.machine_code(kernel.source, kernel.name_expressions, kernel.options, arch)
    return instructions_of(made.text, made.lowered.get(kernel.name, kernel.entry))


def literals(kernel: Kernel, arch: str) -> bytes:
    """What constant bank 2 holds in the machine code of a kernel."""
    made = nvrtc.machine_code(kernel.source, kernel.name_expressions, kernel.options, arch)
    return literals_of(made.text, made.lowered.get(kernel.name, kernel.entry))
