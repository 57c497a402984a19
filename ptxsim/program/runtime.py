"""What each question of the program means: who answers it, by the names that the shim uses.

A launch runs when it is asked for, whatever its stream: an order that streams and events always allow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ptx.opcode import UnsupportedInstruction
from . import errors
from .arena import BASE, SIZE, Allocation
from .context import Context, Stopped
from .devices import MEMORY, attributes
from .fatbin import NoPtx, ptx_in
from .launches import Launches
from .memory import Memory
from .modules import Function, Module
from .progress import Progress
from .sites import mark
from .wire import Answer, Question


class Runtime:
    """Of one program. `options`: -I and -D, as it was compiled with."""

    def __init__(
        self, context: Context, progress: Progress, options: Sequence[str] = (), seed: int | None = None
    ) -> None:
        self.context, self.options = context, tuple(options)
        self.memory, self.launches = Memory(context), Launches(context, progress, seed)
        self.modules: list[Module] = []
        self.symbols: dict[int, tuple[Module, str]] = {}
        rooms = {
            self: (
                *("hello", "module", "function", "variable", "managed_variable", "symbol"),
                *("device", "attributes", "wait", "missing"),
            ),
            self.memory: (
                *("allocate", "release", "register_host", "unregister_host", "pointer", "memory_left"),
                *("copy", "fill", "reset", "touched"),
            ),
            self.launches: (
                *("parameters", "launch", "function_attributes", "set_function_attribute", "occupancy"),
            ),
        }
        self._answers: dict[str, Callable[..., Answer]] = {
            name: getattr(room, name) for room, names in rooms.items() for name in names
        }

    def answer(self, question: Question) -> Answer:
        """Raises Stopped where the program cannot go on."""
        answer = self._answers[question.what]
        return answer(*question.numbers, data=question.data) if question.data else answer(*question.numbers)

    # ---- the program, and what its objects bring along

    def hello(self, process: int, version: int) -> Answer:
        self.context.process = process
        return Answer(0, (BASE, SIZE))

    def module(self, data: bytes) -> Answer:
        try:
            text = ptx_in(data, self.context.arch)
        except NoPtx as reason:
            raise Stopped(f"the program cannot be run: {reason}") from None
        self.modules.append(Module(text, self.context.arena, self.options))
        return Answer(0, (len(self.modules) - 1,))

    def function(self, module: int, data: bytes) -> Answer:
        return Answer(0, (self.launches.add(Function(self.modules[module], data.decode())),))

    def variable(self, module: int, host: int, size: int, data: bytes) -> Answer:
        self.symbols[host] = self.modules[module], data.decode()
        return Answer()

    def managed_variable(self, module: int, host: int, size: int, data: bytes) -> Answer:
        self.variable(module, host, size, data)
        return self.symbol(host)

    def symbol(self, host: int) -> Answer:
        """The address and the bytes of a variable that the host knows by an address of its own."""
        found = self._variable(*self.symbols[host]) if host in self.symbols else None
        return Answer(0, (found.address, found.size)) if found else Answer(errors.INVALID_SYMBOL, (0, 0))

    def _variable(self, module: Module, name: str) -> Allocation | None:
        try:
            return module.variables.get(name)
        except UnsupportedInstruction as reason:
            raise Stopped(str(reason)) from None

    # ---- the GPU

    def device(self) -> Answer:
        gpu = self.context.gpu
        return Answer(0, (MEMORY,), (gpu.driver_name or f"NVIDIA {gpu.name}").encode())

    def attributes(self) -> Answer:
        known = attributes(self.context.gpu, self.context.arch)
        return Answer(0, [number for pair in known.items() for number in pair])

    def wait(self) -> Answer:
        """All that was asked for is done."""
        return Answer(self.context.lost)

    def missing(self, site: int, data: bytes) -> Answer:
        """A function of CUDA that the shim has not."""
        self.context.see(site)
        raise Stopped(
            f"the program calls {data.decode()}, which the simulator's runtime has not, at {mark(site)}"
        )
