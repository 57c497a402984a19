"""What each question of the program means: who answers it, by the names that the shim uses.

A launch runs when it is asked for, whatever its stream: an order that streams and events always allow. The host sees
what it wrote only when it has waited for it (late.py).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence

from ..ptx.opcode import UnsupportedInstruction
from . import errors
from .arena import BASE, SIZE, Allocation
from .blas import Blas
from .compile import closed, library_of
from .context import Context, Stopped
from .devices import MEMORY, attributes
from .fatbin import NoPtx, ptx_in
from .launches import Launches
from .memory import Memory
from .modules import Function, Module
from .orders import STREAM, Clock
from .progress import Progress
from .sites import mark
from .tensor_maps import NotSimulated, Refused, encode
from .textures import Textures
from .wire import Answer, Question

NOT_THERE = {
    "cudaGraphConditional|cudaGraphSetConditional": "a graph with conditions is not simulated. Let the host decide, "
    "and launch a graph, or its kernels, each time",
    "cu[A-Z]": "of the driver's API there are contexts, modules, memory, launches, streams and events. CUDA's runtime "
    "has more here",
    "cuda(Create|Destroy|Get)Surface|cudaBindSurface": "surfaces are not simulated. Let the kernel write an array, and "
    "copy it: cudaMemcpy2DToArray",
    "cuda.*Mipmapped": "mip maps are not simulated. Make an array, and a texture, of each level",
    "cudaIpc": "memory that processes share is not simulated: let one process use CUDA",
    "nvml": "it asks for what is measured of a real GPU, and there is none here: leave it out",
    "cudaGraphics|cudaGL|cudaEGL|cudaVDPAU": "pictures of other libraries are not simulated",
}
"""What begins so, why it is not there, and the way round it."""


LEAVES_MEMORY = {
    *("launch", "parameters", "function_attributes", "set_function_attribute", "occupancy"),
    *("device", "attributes", "allocate", "pointer", "range", "memory_left", "note"),
    *("record", "wait_event", "wait", "query", "host_function"),
}
"""Questions after which memory of the device is as it was. "stream" is none: after a second stream more is to be known
of what a launch touches."""
HEIGHT = {"copy": 5, "fill": 3}
"""Which number says how many rows are written."""


class Runtime:
    """Of one program. `options`: -I and -D, as it was compiled with. `seed`, `once`, `judge_once`: as Launches has
    them."""

    def __init__(
        self,
        context: Context,
        progress: Progress,
        options: Sequence[str] = (),
        seed: int | None = None,
        once: bool = False,
        judge_once: bool = False,
    ) -> None:
        self.context, self.options = context, tuple(options)
        self.memory, self.textures = Memory(context), Textures(context)
        self.launches = Launches(context, progress, self.textures.made, seed, once, judge_once)
        self.modules: list[Module] = []
        self.linked: list[Module] = []  # those that share functions and variables
        self.symbols: dict[int, tuple[Module, str]] = {}
        self._not_ready: dict[tuple[int, int], Clock] = {}  # what a query said so of, and what was not over
        rooms = {
            self: (
                *("hello", "module", "function", "variable", "managed_variable", "symbol"),
                *("entry", "named_variable"),
                *(
                    "device",
                    "attributes",
                    "wait",
                    "query",
                    "host_function",
                    "stream",
                    "record",
                    "wait_event",
                    "missing",
                    "tensor_map",
                    "unknown_entry",
                    "forked",
                    "note",
                    "use_device",
                ),
            ),
            self.memory: (
                *(
                    "allocate",
                    "release",
                    "register_host",
                    "unregister_host",
                    "pointer",
                    "range",
                    "memory_left",
                ),
                *("copy", "fill", "reset", "touched"),
            ),
            Blas(context): ("gemm",),
            self.textures: ("texture", "no_texture"),
            self.launches: (
                *(
                    "parameters",
                    "launch",
                    "function_attributes",
                    "set_function_attribute",
                    "occupancy",
                    "heap",
                ),
            ),
        }
        self._answers: dict[str, Callable[..., Answer]] = {
            name: getattr(room, name) for room, names in rooms.items() for name in names
        }

    def answer(self, question: Question) -> Answer:
        """Raises Stopped where the program cannot go on."""
        self._see_writing(question)
        answer = self._answers[question.what]
        return answer(*question.numbers, data=question.data) if question.data else answer(*question.numbers)

    def _see_writing(self, question: Question) -> None:
        """Launches that it may have an influence on run again. (A launch sees to that itself.)"""
        unchanged, numbers = self.launches.unchanged, question.numbers
        one_row = question.what in HEIGHT and numbers[HEIGHT[question.what]] == 1
        if one_row or question.what == "release":
            unchanged.forget_all_with(self.context.arena.find(numbers[0]))
        elif question.what not in LEAVES_MEMORY:
            unchanged.forget()

    # ---- the program, and what its objects bring along

    def hello(self, process: int, version: int) -> Answer:
        if self.context.process:
            raise Stopped(
                "two processes of the program use CUDA, and the simulator answers one: let only one of them use it"
            )
        self.context.process = process
        return Answer(0, (BASE, SIZE))

    def module(self, linked: int, data: bytes) -> Answer:
        try:
            text = ptx_in(data, self.context.arch)
        except NoPtx as reason:
            raise Stopped(f"the program cannot be run: {reason}") from None
        self.modules.append(Module(text, self.context.arena, self.options, self.linked if linked else ()))
        self.linked += self.modules[-1:] * bool(linked)
        return Answer(0, (len(self.modules) - 1,))

    def function(self, module: int, data: bytes) -> Answer:
        return Answer(0, (self.launches.add(Function(self.modules[module], data.decode())),))

    def entry(self, module: int, data: bytes) -> Answer:
        """The number of a kernel by its name, of a module that the program loaded itself."""
        known = self.modules[module].has(data.decode())
        return self.function(module, data) if known else Answer(errors.NOT_FOUND)

    def named_variable(self, module: int, data: bytes) -> Answer:
        """The address and the bytes of a variable of such a module."""
        found = self._variable(self.modules[module], data.decode())
        return Answer(0, (found.address, found.size)) if found else Answer(errors.NOT_FOUND)

    def variable(self, module: int, host: int, size: int, data: bytes) -> Answer:
        self.symbols[host] = self.modules[module], data.decode()
        return Answer()

    def managed_variable(self, module: int, host: int, size: int, data: bytes) -> Answer:
        self.variable(module, host, size, data)
        if found := self._variable(*self.symbols[host]):
            found.managed = True
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
        return Answer(0, (MEMORY, self.context.gpus), (gpu.driver_name or f"NVIDIA {gpu.name}").encode())

    def use_device(self, number: int) -> Answer:
        """One thread of the program goes on with this GPU."""
        self.context.used.add(number)
        return Answer()

    def attributes(self) -> Answer:
        known = attributes(self.context.gpu, self.context.arch)
        return Answer(0, [number for pair in known.items() for number in pair])

    def stream(self, handle: int, alone: int) -> Answer:
        self.context.orders.stream(handle, alone)
        return Answer()

    def record(self, event: int, stream: int) -> Answer:
        self.context.orders.record(event, stream)
        return Answer()

    def wait_event(self, stream: int, event: int) -> Answer:
        self.context.orders.wait_event(stream, event)
        return Answer()

    def wait(self, what: int, handle: int) -> Answer:
        """The host waits. All that was asked for is done anyway; from now on the host sees it."""
        self.context.host_waits(what, handle)
        return Answer(self.context.lost)

    def query(self, what: int, handle: int) -> Answer:
        """The host asks whether something is over. Work of which it does not know that is not: once."""
        orders = self.context.orders
        clock = orders.awaited(what, handle)
        if not orders.host_knows(clock) and self._not_ready.get((what, handle)) != clock:
            self._not_ready[what, handle] = clock
            return Answer(self.context.lost or errors.NOT_READY)
        return self.wait(what, handle)

    def host_function(self, stream: int) -> Answer:
        """A stream calls a function of the host, and what the stream did before is over."""
        self.context.late.show(self.context.orders.awaited(STREAM, stream))
        return Answer()

    def tensor_map(self, *numbers: int, data: bytes) -> Answer:
        """The bytes of a map, or an error of the driver."""
        kind, rank, address, interleave, swizzle, fill = numbers
        lists = struct.unpack("<20Q", data)
        try:
            return Answer(0, (), encode(kind, rank, address, interleave, swizzle, fill, lists))
        except NotSimulated as reason:
            raise Stopped(f"the simulator has no tensor maps with {reason}") from None
        except Refused as reason:
            return self.context.refused("cuTensorMapEncodeTiled", errors.INVALID_VALUE, str(reason), 0)

    def unknown_entry(self, data: bytes) -> Answer:
        """A function of the driver that the program looked for."""
        name = data.decode()
        self.context.findings.note(
            f"the program asked the driver for {name}, and was told that it is not there"
        )
        return Answer()

    def forked(self) -> Answer:
        self.context.findings.note(
            "the program forks: what the new process asks of CUDA gets an error, as on a GPU"
        )
        return Answer()

    def note(self, data: bytes) -> Answer:
        """What the shim has to say."""
        self.context.findings.note(data.decode())
        return Answer()

    def missing(self, site: int, data: bytes) -> Answer:
        """A function of CUDA that the shim has not, or of a library that nobody may read."""
        self.context.see(site)
        name = data.decode()
        library = library_of(name)
        why = f": {closed(library)}" if library else ""
        why = why or next((f": {words}" for start, words in NOT_THERE.items() if re.match(start, name)), "")
        which = "" if library else ", which the simulator's runtime has not,"
        raise Stopped(f"the program calls {name}{which} at {mark(site)}{why}")
