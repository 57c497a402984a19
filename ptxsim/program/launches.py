"""Launches: whether CUDA takes one, the memory that its kernel may reach, and the simulator's run of it."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic

import numpy as np

from ..front.arguments import Bound
from ..front.kernel import Kernel, LaunchError
from ..front.launch import MAX_BLOCK, MAX_GRID, MAX_SIMULATED, MAX_THREADS, MOST_OF_A_BLOCK, launch_bound
from ..front.occupancy import occupancy, room
from ..front.report import Report
from ..gpus import REGISTERS, SHARED_BY_DEFAULT, WARP
from ..ground.asked import Asked
from ..ground.heap import ROOM, SIZE, Heap
from ..ground.memory import Buffer, Bytes, Seen, in_bytes
from ..ground.texture import Texture
from ..machine.launched import Flags
from ..observe.counters import Counters
from ..races.hazards import FATAL, HazardLog
from ..units.clusters import MOST_BLOCKS
from . import errors
from .arena import OF_KERNELS, Allocation
from .assembler import registers_of
from .context import Context, Stopped
from .late import Overwritten
from .modules import Function
from .orders import LAUNCH, STREAM, Piece
from .progress import Progress, TooLong
from .report import place_of
from .sites import mark
from .unchanged import Key, Unchanged, touched_only, watch
from .wire import Answer

DYNAMIC_SHARED = 8
"""Of cudaFuncAttribute: the most dynamic shared memory of a block."""
TAIL = 3
"""The stream of a kernel whose launches come behind all others (cudaStreamTailLaunch)."""
NULL = 4096
"""What lies below is taken for a null pointer."""
NOTHING = Bytes(np.zeros(0, np.uint8))
FEW = 3
"""Of launches that are alike, where not all are judged, so many are; then the fourth, the eighth and so on."""
MOST_GONE = 64
"""Allocations that were freed, and that a launch still knows."""

Three = tuple[int, int, int]


def _three(numbers: Sequence[int], first: int) -> Three:
    x, y, z = numbers[first : first + 3]
    return x, y, z


@dataclass(frozen=True)
class Begun:
    """A launch that CUDA takes. `data`: its parameters. `key`: where it is to be seen whether it changes anything."""

    function: Function
    grid: Three
    block: Three
    shared: int
    data: bytes
    cluster: Three
    cooperative: bool
    stream: int
    site: int
    judged: bool
    key: Key | None = None


class Launches:
    """Answers to what a program asks about its kernels. `seed`: of the order of the warps. Of launches that are alike,
    most are left out with `once`, and only computed with `judge_once`."""

    def __init__(
        self,
        context: Context,
        progress: Progress,
        textures: Mapping[int, Texture],
        seed: int | None = None,
        once: bool = False,
        judge_once: bool = False,
    ) -> None:
        self.context, self.progress, self.seed = context, progress, seed
        self.once, self.judge_once = once, judge_once
        self.textures = textures
        self.functions: list[Function] = []
        self.alike: Counter[tuple] = Counter()
        self.unchanged = Unchanged()
        self.heap_bytes = SIZE
        self._heap: tuple[Heap, Allocation] | None = (
            None  # what malloc and new of kernels give, once one asks
        )

    def add(self, function: Function) -> int:
        """Its number."""
        self.functions.append(function)
        return len(self.functions) - 1

    def parameters(self, number: int) -> Answer:
        """Where each begins, and its bytes."""
        params = self._kernel(self.functions[number]).params
        return Answer(0, [number for each in params for number in (each.offset, each.size)])

    def heap(self, size: int) -> Answer:
        """What cudaDeviceSetLimit says of it."""
        self.heap_bytes = size
        return Answer()

    def launch(self, number: int, *numbers: int, data: bytes = b"") -> Answer:
        grid, block = _three(numbers, 0), _three(numbers, 3)
        shared, cooperative, stream, site = numbers[6], bool(numbers[7]), *numbers[11:13]
        self.context.see(site)
        if self.context.lost:
            return Answer(self.context.lost)
        function = self.functions[number]
        cluster = _three(numbers, 8)
        if not all(cluster):
            cluster = self._kernel(function).code.program.cluster
        refused = self._why_not(function, grid, block, shared, cluster)
        if cooperative and not refused:
            refused = self._why_not_together(function, grid, block, shared, cluster)
        if refused:
            return self.context.refused(f"the launch of {function.name}", *refused, site)
        threads = int(np.prod(grid, dtype=object) * np.prod(block, dtype=object))
        if threads > MAX_SIMULATED:
            raise Stopped(
                f"the launch of {function.name} at {mark(site)} has {threads:,} threads; the simulator takes at most "
                f"{MAX_SIMULATED:,}, because more would run for hours. Run the program on a smaller problem"
            )
        known = (self.once or self.judge_once) and self._known((number, *numbers[:11]), function, data)
        if known and self.once:
            self.context.findings.leave_out(function.name)
            return Answer()
        key = (number, *numbers[:11], data)
        if (touched := self.unchanged.get(key)) is not None:
            work = self._begin(function, stream, site)
            for each in touched:
                self._order(work, *each)
            self.context.findings.repeat(function.name)
            return Answer()
        due = key if self.unchanged.is_due(key) else None
        begun = Begun(function, grid, block, shared, data, cluster, cooperative, stream, site, not known, due)
        with self.context.late.device():
            answer = self._with_children(begun)
        if function.speaks_to_host:
            self.context.late.show(self.context.orders.awaited(STREAM, stream))
        return answer

    def _with_children(self, first: Begun) -> Answer:
        """A launch, and behind it those that its kernels ask for; at the end those of the stream for that."""
        todo, last, output = deque([first]), deque[Begun](), ""
        while todo and not self.context.lost:
            begun = todo.popleft()
            asked: list[Asked] = []
            output += self._one(begun, asked)
            for each in asked:
                (last if each.stream == TAIL else todo).append(self._child(each, begun))
            if not todo:
                todo, last = last, deque()
        return Answer(self.context.lost, (), output.encode())

    def _child(self, asked: Asked, by: Begun) -> Begun:
        """A launch that a kernel asked for. Raises Stopped where CUDA would refuse it."""
        module, (heap, memory) = by.function.module, self._kept()
        entry = self._kernel(by.function).code.program.functions[asked.function]
        known = (
            each for each in self.functions if each.entry == entry and each.module in (module, *module.linked)
        )
        function = next(known, None) or Function(module, entry)
        program = self._kernel(function).code.program
        begin = asked.parameters - memory.address
        data = memory.memory.data[begin : begin + program.param_bytes].tobytes()
        heap.give(asked.parameters)
        if refused := self._why_not(function, asked.grid, asked.block, asked.shared, program.cluster):
            raise Stopped(f"{by.function.name} launches {function.name}, which CUDA refuses: {refused[1]}")
        return Begun(
            *(function, asked.grid, asked.block, asked.shared, data, program.cluster, False),
            *(by.stream, by.site, by.judged),
        )

    def _one(self, begun: Begun, asked: list[Asked]) -> str:
        """Run a launch; what it printed."""
        function = begun.function
        kernel = function.in_clusters(begun.cluster)
        self._check_variables(kernel, begun.site)
        work = self._begin(function, begun.stream, begun.site)
        if kernel.code.allocates:
            self._kept()
        bound, known = self._bound(kernel, function, np.frombuffer(begun.data, np.uint8).copy())
        buffers = [*known.items(), *self._variables(kernel)]
        if begun.key:
            watch(buffers, self.context.orders.needed)
        if self._heap:
            self._heap[0].buffer = known[self._heap[1]]
        report = self._run(kernel, begun, bound, asked)
        for allocation, buffer in known.items():
            if buffer.seen:
                self._order(work, allocation, buffer.seen)
        for allocation, buffer in buffers:
            if allocation.shared and isinstance(buffer.seen, Overwritten):
                self.context.late.wrote(work, buffer.seen)
        self.context.lost = next((errors.of_fatal(h.kind) for h in report.hazards if h.kind in FATAL), 0)
        told = report.output or asked or kernel.code.allocates or function.speaks_to_host or self.context.lost
        touched = touched_only(buffers) if begun.key and not told else None
        if begun.key and touched is not None:
            self.unchanged.note(begun.key, touched)
        else:
            self.unchanged.forget()
        return report.output

    def _begin(self, function: Function, stream: int, site: int) -> Piece:
        return self.context.orders.begin(stream, f"the launch of {function.name}", site, LAUNCH)

    def _order(self, work: Piece, allocation: Allocation, seen: Seen) -> None:
        if self.context.orders.needed:
            self.context.orders.seen(work, allocation, seen)

    def _variables(self, kernel: Kernel) -> Iterator[tuple[Allocation, Buffer]]:
        for variable in kernel.variables:
            if found := self.context.arena.find(variable.base):
                yield found, variable

    def _check_variables(self, kernel: Kernel, site: int) -> None:
        """Each GPU has __device__ variables of its own, and here are only those of one. Raises Stopped."""
        first = len(kernel.params)
        written = (v for number, v in enumerate(kernel.variables, first) if kernel.code.writes(number))
        if len(self.context.used) > 1 and (variable := next(written, None)):
            raise Stopped(
                f"{kernel.name}, launched at {mark(site)}, writes the __device__ variable {variable.label}, of which "
                "each GPU has its own, and the simulator has one: give the kernel an array, or let the program use one "
                "GPU"
            )

    def _kept(self) -> tuple[Heap, Allocation]:
        """What malloc and new of kernels give."""
        if self._heap is None:
            words = "the memory of malloc and new in kernels"
            made = self.context.arena.allocate(self.heap_bytes * ROOM // SIZE, OF_KERNELS, name=words)
            if made is None:
                raise Stopped("no addresses are left for what malloc and new in kernels give")
            self._heap = Heap(_buffer(made, words, 1), self.heap_bytes), made
        return self._heap

    def _known(self, how: tuple[int, ...], function: Function, data: bytes) -> bool:
        """Whether a launch is alike enough ones before: of the same size, with arguments at the same places. What its
        numbers are does not count."""
        kernel, params = self._kernel(function), np.frombuffer(data, np.uint8)
        places = tuple(
            _address(kernel, number, params) if param.size <= 8 else data[param.offset :][: param.size]
            for number, param in enumerate(kernel.params)
            if param.size > 8 or _is_pointer(kernel, number)
        )
        self.alike[how, places] += 1
        times = self.alike[how, places]
        return times > FEW and times.bit_count() > 1

    def function_attributes(self, number: int) -> Answer:
        function = self.functions[number]
        program, registers = self._kernel(function).code.program, registers_of(function, self.context.gpu)
        threads = program.most_threads or min(MAX_THREADS, REGISTERS // max(registers, 1) // WARP * WARP)
        most = self._most_shared(function)
        numbers = (program.static_shared, 0, program.local_bytes, threads, registers, self.context.arch, most)
        return Answer(0, numbers)

    def set_function_attribute(self, number: int, attribute: int, value: int) -> Answer:
        function = self.functions[number]
        if attribute != DYNAMIC_SHARED:
            return Answer()
        if value + self._kernel(function).code.program.static_shared > self.context.gpu.shared_block:
            return Answer(errors.INVALID_VALUE)
        function.most_shared = value
        return Answer()

    def occupancy(self, number: int, threads: int, shared: int) -> Answer:
        function = self.functions[number]
        if not 0 < threads <= MAX_THREADS:
            return Answer(errors.INVALID_VALUE, (0,))
        static = self._kernel(function).code.program.static_shared
        registers = registers_of(function, self.context.gpu)
        return Answer(0, (occupancy(self.context.gpu, threads, registers, static + shared).blocks,))

    def _kernel(self, function: Function) -> Kernel:
        try:
            return function.kernel
        except LaunchError as reason:
            raise Stopped(str(reason)) from None

    def _most_shared(self, function: Function) -> int:
        if function.most_shared is not None:
            return function.most_shared
        return SHARED_BY_DEFAULT - self._kernel(function).code.program.static_shared

    def _why_not(
        self, function: Function, grid: Three, block: Three, shared: int, cluster: Three
    ) -> tuple[int, str] | None:
        """The error of a launch that CUDA refuses, and why."""
        program, threads = self._kernel(function).code.program, block[0] * block[1] * block[2]
        if not all(grid) or not all(block):
            return errors.INVALID_CONFIGURATION, f"a grid of {grid} blocks of {block} threads has none"
        if threads > MAX_THREADS or any(b > most for b, most in zip(block, MAX_BLOCK, strict=True)):
            return errors.INVALID_CONFIGURATION, (
                f"a block of {block} has {threads:,} threads; {MOST_OF_A_BLOCK}"
            )
        if any(g > most for g, most in zip(grid, MAX_GRID, strict=True)):
            return (
                errors.INVALID_CONFIGURATION,
                f"a grid of {grid}; it has at most {MAX_GRID} blocks in x, y, z",
            )
        if program.only_block not in (None, block):
            return errors.INVALID_VALUE, (
                f"the kernel is made for blocks of {program.only_block} threads (.reqntid), and the block is {block}"
            )
        if program.most_threads is not None and threads > program.most_threads:
            return errors.LAUNCH_OUT_OF_RESOURCES, (
                f"its __launch_bounds__ are {program.most_threads} threads a block, and the block has {threads}"
            )
        if shared > (most := self._most_shared(function)):
            ask = "; cudaFuncSetAttribute with cudaFuncAttributeMaxDynamicSharedMemorySize gives more"
            asks = (
                function.most_shared is None
                and shared + program.static_shared <= self.context.gpu.shared_block
            )
            return errors.INVALID_VALUE, (
                f"{shared:,} bytes of dynamic shared memory, and a block gets {most:,}{ask * asks}"
            )
        if np.prod(cluster) > MOST_BLOCKS or any(g % c for g, c in zip(grid, cluster, strict=True)):
            return errors.INVALID_CLUSTER, f"a grid of {grid} in clusters of {cluster}"
        return None

    def _why_not_together(
        self, function: Function, grid: Three, block: Three, shared: int, cluster: Three
    ) -> tuple[int, str] | None:
        """The same of a cooperative launch: all blocks must fit into the GPU at once."""
        gpu, blocks = self.context.gpu, grid[0] * grid[1] * grid[2]
        shared += function.kernel.code.program.static_shared
        registers = partial(registers_of, function, gpu)
        space = room(gpu, blocks, block[0] * block[1] * block[2], shared, int(np.prod(cluster)), registers)
        return (errors.COOPERATIVE_TOO_LARGE, space.refuses(blocks)) if space else None

    def _run(self, kernel: Kernel, begun: Begun, bound: Bound, asked: list[Asked]) -> Report:
        function, grid, block, site = begun.function, begun.grid, begun.block, begun.site
        began, progress = monotonic(), self.progress.of(function.name, grid[0] * grid[1] * grid[2])

        def tell(report: Report) -> None:
            self.context.findings.launched(
                report, function.source_file, monotonic() - began, site, begun.judged
            )

        try:
            report = launch_bound(
                *(kernel, grid, block, bound, begun.shared, progress.budget()),
                flags=Flags(self.seed, begun.cooperative, judged=begun.judged),
                watch=progress.watch,
                counted=False,
                gpu=self.context.gpu,
                registers=partial(registers_of, function, self.context.gpu),
                heap=self._heap[0] if self._heap else None,
                textures=self.textures,
                asked=asked,
            )
        except LaunchError as reason:
            raise Stopped(str(reason)) from None
        except (KeyboardInterrupt, TooLong):
            log = progress.state.log if progress.state else HazardLog()
            tell(Report(kernel, grid, block, log.sorted(), Counters(()).table(), [], notes=log.notes))
            raise
        if endless := progress.endless(report):
            tell(replace(report, hazards=tuple(each for each in report.hazards if each is not endless)))
            raise TooLong(progress.too_long(place_of(kernel, function.source_file, endless)))
        tell(report)
        self.progress.ended(function.name, monotonic() - began)
        return report

    def _bound(
        self, kernel: Kernel, function: Function, params: np.ndarray
    ) -> tuple[Bound, dict[Allocation, Buffer]]:
        """The parameters, and all memory that the kernel may reach, called as the parameters that point to it."""
        arena, own = self.context.arena, {variable.base for variable in kernel.variables}
        known: dict[Allocation, Buffer] = {}
        host: list[Buffer] = []
        owners = [
            self._owner(kernel, function, number, params, own, known, host)
            for number in range(len(kernel.params))
        ]
        named = len(known)
        for each in (*arena.live, *list(arena.gone)[-MOST_GONE:]):
            if each not in known and each.address not in own:
                known[each] = _buffer(each, each.name or "an array", 1)
        for allocation, buffer in known.items():
            if allocation.shared and allocation.freed is None:
                buffer.seen = Overwritten(buffer.memory, self.context.orders.needed)
            elif self.context.orders.needed:
                buffer.seen = Seen(buffer.size)
        for variable in kernel.variables:
            found = arena.find(variable.base)
            variable.seen = Overwritten(variable.memory, False) if found and found.shared else None
        buffers = list(known.values())
        return Bound(params, [*buffers, *host], owners, tuple(buffers[named:])), known

    def _owner(
        self,
        kernel: Kernel,
        function: Function,
        number: int,
        params: np.ndarray,
        own: set[int],
        known: dict[Allocation, Buffer],
        host: list[Buffer],
    ) -> tuple[Buffer, ...]:
        """The memory that a parameter points to; it joins `known`, or `host`. () for none, or a variable of the
        module."""
        declared = kernel.declared[number] if number < len(kernel.declared) else None
        address = _address(kernel, number, params) if _is_pointer(kernel, number) else 0
        name, size = kernel.about(number)[0], function.element_bytes(number)
        found = self.context.arena.near(address)
        if found and found.address in own:
            return ()
        if found and found not in known:
            known[found] = _buffer(found, name, size)
        if found:
            return (known[found],)
        if declared is None or address < NULL:
            return ()
        host.append(Buffer(address, NOTHING, name, size, lost="host-memory"))
        return (host[-1],)


def _is_pointer(kernel: Kernel, number: int) -> bool:
    """Whether a parameter is one, or may be."""
    return number >= len(kernel.declared) or kernel.declared[number][1]


def _address(kernel: Kernel, number: int, params: np.ndarray) -> int:
    """The value of a parameter of 8 bytes; 0 for any other."""
    param = kernel.params[number]
    raw = params[param.offset : param.offset + param.size]
    return int(raw.view(np.uint64)[0]) if param.size == 8 else 0


def _buffer(allocation: Allocation, name: str, element: int) -> Buffer:
    """An allocation as a kernel's memory. One that was freed has no bytes any more."""
    made = f", allocated at {mark(allocation.site)}" if allocation.site else ""
    freed = f", freed at {mark(allocation.freed)}" if allocation.freed else ""
    label = f"{name} ({in_bytes(allocation.size)}{made}{freed})"
    if allocation.freed is not None:
        return Buffer(allocation.address, NOTHING, label, element, lost="freed-array")
    elements = allocation.size // element
    return Buffer(allocation.address, allocation.memory, label, element, 0, elements, allocation.written)
