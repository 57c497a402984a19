"""Kernels and variables of a program: PTX texts, read when one of them is first asked for."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from ..compiler import signature
from ..front.kernel import Kernel, LaunchError
from ..ground.memory import Buffer, in_bytes
from ..machine.decode import Code
from ..ptx import program as ptx
from ..ptx.opcode import DTYPES, UnsupportedInstruction
from .arena import VARIABLE, Allocation, Arena

PLAIN = (1, 1, 1)
"""A cluster of one block: none."""
SPACES = ("global", "const")
_EXTERN = re.compile(r"^\.extern\s+\.(?:global|const)\b[^;]*?([\w$]+)(?:\[\d*\])?;", re.M)
"""Variables that another module has."""


@dataclass(eq=False)
class Module:
    """What one object file brings along. `options`: -I and -D, as they were given. `linked`: the modules with which it
    shares functions and variables (nvcc -rdc=true), itself among them."""

    text: str
    arena: Arena
    options: tuple[str, ...] = ()
    linked: Sequence[Module] = ()
    _parsed: dict[str, ptx.Module] = field(default_factory=dict)

    @property
    def texts(self) -> str:
        """Its own text, and those that it is linked with."""
        return "\n".join([self.text, *(each.text for each in self._with_others() if each is not self)])

    def has(self, kernel: str) -> bool:
        return kernel in self._own("").functions

    @property
    def variables(self) -> dict[str, Allocation]:
        """__device__ and __constant__ variables that its kernels may use."""
        return {name: made for each in self._with_others() for name, made in each.placed.items()}

    @cached_property
    def placed(self) -> dict[str, Allocation]:
        """Its own variables, with what they hold at the start."""
        elsewhere = set(_EXTERN.findall(self.text))
        declared = [
            v for v in self._own("").variables.values() if v.space in SPACES and v.name not in elsewhere
        ]
        placed = {}
        for variable in declared:
            made = self.arena.allocate(
                max(variable.size, len(variable.data), 1), VARIABLE, name=variable.name
            )
            if made is None:
                raise LaunchError("no addresses are left for the program's variables")
            made.memory.data[: len(variable.data)] = np.frombuffer(variable.data, np.uint8)
            placed[variable.name] = made
        for variable in declared:
            for at, name, more in variable.addresses:
                base = placed[name].address if name in placed else self._address_of(name)
                if base is None:
                    raise UnsupportedInstruction(ptx.unknown_address(name))
                address = np.array([base + more], np.uint64)
                placed[variable.name].memory.data[at : at + 8] = address.view(np.uint8)
        return placed

    def _address_of(self, name: str) -> int | None:
        """Of a function of this module, or of one that it is linked with."""
        found = (each._own("").address_of(name) for each in self._with_others())
        return next((address for address in found if address is not None), None)

    def parsed(self, main: str) -> ptx.Module:
        """As PTX whose own file is `main`, with what it is linked with."""
        own = self._own(main)
        others = [each._own("") for each in self._with_others() if each is not self]
        functions = {
            name: function for other in others for name, function in other.functions.items() if function.scope
        }
        functions |= {n: f for n, f in own.functions.items() if f.scope or n not in functions}
        variables = {name: variable for other in others for name, variable in other.variables.items()}
        return ptx.Module(functions, variables | own.variables)

    def _own(self, main: str) -> ptx.Module:
        if main not in self._parsed:
            self._parsed[main] = ptx.parse(self.text, main)
        return self._parsed[main]

    def _with_others(self) -> Sequence[Module]:
        return self.linked or (self,)


@dataclass(eq=False)
class Function:
    """A kernel that the program registered. `most_shared`: dynamic shared memory that it may have, once the program
    asked for more."""

    module: Module
    entry: str
    most_shared: int | None = None
    _with_cluster: dict[tuple[int, ...], Kernel] = field(default_factory=dict)

    @cached_property
    def name(self) -> str:
        """As the program wrote it, `scale<float, 4>`."""
        full = demangled(self.entry)
        return re.sub(r"^void ", "", full[: _end_of_name(full)])

    @cached_property
    def speaks_to_host(self) -> bool:
        """Whether it has fences or atomics for the whole system: somebody may look at its memory while it runs."""
        return any(each.opcode.has("sys") for each in self.kernel.code.instructions)

    @cached_property
    def source_file(self) -> str:
        return ptx.file_of(self.module.text, self.entry)

    @cached_property
    def kernel(self) -> Kernel:
        """Raises LaunchError where the simulator cannot run it."""
        try:
            program = ptx.link(self.module.parsed(self.source_file), self.entry)
            variables = self.module.variables
        except KeyError:
            raise LaunchError(f"there is no kernel {self.entry} in the program's PTX") from None
        except UnsupportedInstruction as reason:
            raise LaunchError(f"the simulator cannot run {self.name}: {reason}") from None
        buffers = tuple(_buffer_of(variables[each.name], each.align) for each in program.globals)
        code = Code(program, {name: each.address for name, each in variables.items()})
        source = _text(self.source_file)
        declared = signature.parameters(source, self.entry, [param.size for param in program.params])
        options = self.module.options
        texts = self.module.texts
        return Kernel(self.name, self.entry, source, options, (), texts, declared, code, buffers)

    def in_clusters(self, cluster: tuple[int, int, int]) -> Kernel:
        """The kernel, launched with clusters of so many blocks."""
        if cluster == PLAIN or cluster == self.kernel.code.program.cluster:
            return self.kernel
        if cluster not in self._with_cluster:
            program = replace(self.kernel.code.program, cluster=cluster)
            self._with_cluster[cluster] = replace(self.kernel, code=Code(program, self.kernel.code.variables))
        return self._with_cluster[cluster]

    @cached_property
    def element_bytes(self) -> Callable[[int], int]:
        """For the number of a parameter, the bytes of what it points to, as far as the program shows."""
        code = self.kernel.code
        sizes: dict[int, int] = {}
        for pc, roots in code.roots.items():
            types = code.instructions[pc].opcode.types
            if types and roots > 0:
                size = DTYPES[types[-1]].itemsize
                sizes[roots] = min(size, sizes.get(roots, size))
        return lambda number: sizes.get(1 << number, 1)


def demangled(name: str) -> str:
    return demangled_all([name])[0]


def demangled_all(names: Sequence[str]) -> list[str]:
    """As C++ wrote them, where the host's tools say it."""
    if not (tool := shutil.which("c++filt")):
        return [signature.qualified(name) for name in names]
    said = subprocess.run([tool], input="\n".join(names), capture_output=True, text=True, check=False).stdout
    return said.splitlines() or list(names)


def _end_of_name(full: str) -> int:
    """Where the parameters begin: at the last bracket that is in no other."""
    depth = 0
    for at in range(len(full) - 1, -1, -1):
        depth += (full[at] == ")") - (full[at] == "(")
        if full[at] == "(" and depth == 0:
            return at
    return len(full)


def _buffer_of(variable: Allocation, align: int) -> Buffer:
    label = f"{variable.name} ({in_bytes(variable.size)})"
    return Buffer(variable.address, variable.memory, label, align, 0, variable.size // align)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return ""
