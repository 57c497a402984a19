"""Tensor memory: where the tensor cores of Blackwell keep their sums (PTX ISA, "Tensor Memory").

A block has 128 lanes of 512 columns of 32 bits. It asks for columns, touches them by instructions that go on by
themselves, and gives them back. A product (tcgen05.mma) is over for who waited for an mbarrier that a later
tcgen05.commit of its thread tells; what a warp stores, when it waited (tcgen05.wait::st); what it loads, when it waited
(tcgen05.wait::ld) or has used all registers that the load fills. As with wgmma, numbers are computed at once, and who
comes too early is found.

No GPU with it was at hand: docs/tcgen05.md says of each rule where it comes from.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, cast

import numpy as np

from ..gpus import WARP
from ..ground.memory import Fault
from ..ground.tensor_cells import CELLS, COLUMNS, LANES, TensorCells
from ..races.shadow import Act, Reach, Reading, Shadow, Watched
from ..races.unwatched import Unwatched
from .async_reads import CHUNK
from .barriers import Rendezvous, Waiting
from .mbarriers import Hopper
from .tensor_fences import TensorFences
from .tensor_orders import AsWatched, TensorOrders

SLICE = 32
"""Columns are given in so many, or twice, four, eight or sixteen times as many."""
ISSUE = 200
"""Steps of work (work.py) of a product."""
NOTHING = np.zeros(0, np.int64)


@dataclass(eq=False)
class Product:
    """A tcgen05.mma, or a tcgen05.cp, of one lane: the cells that it writes, those that it reads (of A), and what of
    shared memory. In a pair they are of both blocks. `behind`: those of other lanes that are over before it is. `over`:
    the time before which it was."""

    lane: int
    pc: int
    issued: int
    cells: np.ndarray
    read: np.ndarray
    reading: Reading
    behind: list["Product"]
    over: int = 0


@dataclass(eq=False)
class Load:
    """A tcgen05.ld of one warp: the lane and the cell of each number that it reads; `left`, by register, the lanes of
    the warp that have not used it yet."""

    warp: int
    pc: int
    lanes: np.ndarray
    cells: np.ndarray
    left: dict[int, np.ndarray]


@dataclass(eq=False)
class Store:
    """A tcgen05.st of one warp."""

    warp: int
    pc: int
    issued: int
    lanes: np.ndarray
    cells: np.ndarray


@dataclass(eq=False)
class Asking(Waiting):
    """A warp that asks for columns: `blocks` of them, where those of a pair ask together."""

    columns: int
    blocks: list[int]


class Allocation(NamedTuple):
    """So many columns, and the instruction that asked for them."""

    columns: int
    pc: int


@dataclass
class Columns:
    """Of one block: by the first column of each, what tcgen05.alloc has given."""

    held: dict[int, Allocation] = field(default_factory=dict)
    relinquished: bool = False

    def which(self) -> np.ndarray:
        """Which columns are held."""
        held = np.zeros(COLUMNS, bool)
        for first, given in self.held.items():
            held[first : first + given.columns] = True
        return held

    def __str__(self) -> str:
        return (
            ", ".join(f"{first} to {first + given.columns - 1}" for first, given in self.held.items())
            or "none"
        )


class Blackwell(Hopper, Protocol):
    """What has tensor memory."""

    tensor: "TensorMemory"
    judged: bool
    """Whether anybody looks for races."""


class TensorMemory(Rendezvous[Asking]):
    """Of all resident blocks. Cells are numbered block after block, lane after lane, column after column."""

    machine: Blackwell

    def __init__(self, machine: Blackwell) -> None:
        super().__init__(machine)
        self.columns = [Columns() for _ in range(len(machine.blocks))]
        self.products: list[Product] = []
        self.loads: list[Load] = []
        self.stores: list[Store] = []
        self.orders = TensorOrders(machine)
        self.watched = cast(Watched, AsWatched(machine, self.orders))
        self.fences = TensorFences(machine, self.orders)
        self._cells: np.ndarray | None = None
        self._shadow: Shadow | None = None
        self._read: np.ndarray | None = None  # by cell, how many instructions read it just now

    @property
    def cells(self) -> np.ndarray:
        """Their bits."""
        if self._cells is None:
            self._cells = np.full(len(self.columns) * CELLS, 0xFFFFFFFF, np.uint32)
        return self._cells

    @property
    def shadow(self) -> Shadow:
        if self._shadow is None:
            watch = Shadow if self.machine.judged else Unwatched
            self._shadow = watch(4 * len(self.columns) * CELLS, 4, self.machine.launch.budget, TensorCells())
        return self._shadow

    # ---- columns

    def blocks(self, pc: int, lane: int, at: int, in_pairs: bool, meets: bool = False) -> list[int]:
        """The block of a lane, or the two of its pair, for an instruction of both: it uses the shared memory of the
        other one, where (`meets`) a warp waits for that. Raises Fault, where there is none; `at`: the position of the
        lane among the active ones."""
        clusters, block = self.machine.clusters, int(self.machine.block_of[lane])
        if not in_pairs:
            return [block]
        if clusters.size % 2:
            text = (
                f"an instruction of a pair of blocks (cta_group::2), in a cluster of {clusters.size}: the launch has "
                "no pairs. __cluster_dims__(2) makes some"
            )
            raise Fault("tensor-memory", text, at, "no-pair")
        pair = clusters.pair(block)
        clusters.touch(np.array([lane]), np.array([sum(pair) - block]), pc, meets)
        return pair

    def ask(self, pc: int, lanes: np.ndarray, columns: int, resume: Callable, in_pairs: bool) -> None:
        """A warp asks for columns, and waits until its block has so many free: `resume(machine, lanes, first one)`. In
        a pair a warp of each block asks, and both get the same columns."""
        if columns < SLICE or columns > COLUMNS or columns & columns - 1:
            self._refuse(
                f"tcgen05.alloc takes 32, 64, 128, 256 or 512 columns, not {columns}", "columns-not-taken"
            )
        if self.columns[self._block(lanes)].relinquished:
            self._refuse(
                "tcgen05.alloc after tcgen05.relinquish_alloc_permit: the block has given up the right to ask for "
                "columns. A GPU ends the kernel",
                "alloc-after-relinquish",
            )
        at = int(np.searchsorted(self.machine.active(), lanes[0]))
        blocks = self.blocks(pc, int(lanes[0]), at, in_pairs, meets=True)
        self.waiting.append(Asking(pc, lanes, resume, columns, blocks))
        self._hand_out()

    def relinquish(self, lanes: np.ndarray) -> None:
        self.columns[self._block(lanes)].relinquished = True

    def give_back(self, pc: int, lanes: np.ndarray, first: int, columns: int) -> None:
        """A warp frees an allocation: nobody may be at it, nor come to it later."""
        block = self._block(lanes)
        held = self.columns[block].held
        if first not in held or held[first].columns != columns:
            self._refuse(
                f"tcgen05.dealloc of {columns} columns from column {first} on: the block holds {self.columns[block]}. "
                "It gives back what tcgen05.alloc gave, as a whole. A GPU ends the kernel",
                "not-allocated",
            )
        cells = (block * LANES + np.arange(LANES)[:, None]) * COLUMNS + np.arange(first, first + columns)
        cells = cells.ravel()
        self._must_not_be_read(pc, lanes[:1], cells)
        reach = Reach(np.full(len(cells), lanes[0]), cells, 4, pc)
        self.shadow.on_access(self.watched, Act(False, True), reach)
        self.shadow.empty(cells)
        del held[first]
        self._hand_out()

    def look_again(self, lanes: np.ndarray) -> None:
        """An exit gives nothing back."""

    def lack(self) -> str:
        """What the first warp that waits here lacks, in words."""
        first = self.waiting[0]
        held = int(self.columns[self._block(first.lanes)].which().sum())
        return (
            f"tcgen05.alloc at {self.machine.launch.code.where(first.pc)} asks for {first.columns} columns, and the "
            f"block holds {held} of {COLUMNS} already: tcgen05.dealloc gives them back"
        )

    def finish(self) -> None:
        """The kernel ends: all columns are given back by then."""
        for block, columns in zip(self.machine.blocks.tolist(), self.columns, strict=True):
            for first, given in columns.held.items():
                text = (
                    f"block {block} ends and holds {given.columns} columns of tensor memory, from column {first} on: "
                    "before its end tcgen05.dealloc gives back what tcgen05.alloc gave"
                )
                self.machine.log.add("not-given-back", self.machine.launch.code.instructions[given.pc], text)

    def _hand_out(self) -> None:
        """Whoever can have now what it asked for goes on; first come, first served."""
        for entry in list(self.waiting):
            asking, first = self._together(entry), self._room(entry)
            if entry in asking and len(asking) == len(entry.blocks) and first is not None:
                for each in asking:
                    self.waiting.remove(each)
                    self.columns[self._block(each.lanes)].held[first] = Allocation(each.columns, each.pc)
                    each.resume(self.machine, each.lanes, first)

    def _together(self, entry: Asking) -> list[Asking]:
        """The first warp of each of its blocks that asks for as much."""
        found: dict[int, Asking] = {}
        for each in self.waiting:
            if each.blocks == entry.blocks and each.columns == entry.columns:
                found.setdefault(self._block(each.lanes), each)
        return list(found.values())

    def _room(self, entry: Asking) -> int | None:
        """The first of so many columns, at a multiple of their number, that are free in all its blocks."""
        held = np.any([self.columns[block].which() for block in entry.blocks], axis=0)
        places = range(0, COLUMNS, entry.columns)
        return next((at for at in places if not held[at : at + entry.columns].any()), None)

    # ---- products

    def multiply(
        self,
        pc: int,
        lane: int,
        cells: np.ndarray,
        adds: bool,
        read: np.ndarray,
        chunks: np.ndarray,
    ) -> None:
        """This lane starts a product: the cells that it writes (and reads, if it adds to them), the cells of A that it
        reads, and the chunks of the resident shared memory."""
        reading, ahead = self._read_shared(pc, lane, chunks), self._ahead(lane, read, ("tcgen05.cp",))
        if len(read):
            others = self._apart(read, ahead)
            self._begin_read(pc, np.full(len(others), lane), others)
            self._count(read, 1)
        ahead += self._ahead(lane, cells, ("tcgen05.mma", "tcgen05.cp"))
        issued = self._start(pc, lane, cells, adds, ahead)
        behind = [each for each in ahead if each.lane != lane]
        self.products.append(Product(lane, pc, issued, cells, read, reading, behind))

    def copy(self, pc: int, lane: int, cells: np.ndarray, chunks: np.ndarray) -> None:
        """This lane starts a copy of these chunks to these cells; it waits for nothing that the lane started before."""
        reading = self._read_shared(pc, lane, chunks)
        issued = self._start(pc, lane, cells, False, [])
        self.products.append(Product(lane, pc, issued, cells, NOTHING, reading, []))

    def _read_shared(self, pc: int, lane: int, chunks: np.ndarray) -> Reading:
        machine, reading = self.machine, Reading(pc, chunks)
        machine.work(ISSUE)
        reach = Reach(np.full(len(chunks), lane), chunks, CHUNK, pc)
        machine.shadow.on_async_read(machine, reach, noted=False)
        machine.async_reads.begin(reading)
        return reading

    def _start(self, pc: int, lane: int, cells: np.ndarray, adds: bool, ahead: list[Product]) -> int:
        """What it writes; it comes behind those that are `ahead` by itself."""
        others = self._apart(cells, ahead)
        self._must_not_be_read(pc, np.array([lane]), cells)
        shadow, machine = self.shadow, self.machine
        if len(others):
            reach = Reach(np.full(len(others), lane), others, 4, pc)
            self._look(pc, reach.lanes, others, writes=True)
            if adds:
                shadow.on_begin_of_read(self.watched, reach)
            shadow.on_start(self.watched, reach)
        time = machine.orders.trail.step(pc)
        shadow.on_flight(self.watched, Reach(np.full(len(cells), lane), cells, 4, pc), time)
        return time

    def _ahead(self, lane: int, cells: np.ndarray, roots: tuple[str, ...]) -> list[Product]:
        """Of what is at these cells those of these roots behind which a product of this lane comes by itself: its own,
        and others' in front of a tcgen05.fence that it has heard of."""
        started, code = set(self.shadow.flights(cells).tolist()), self.machine.launch.code.instructions
        found = [each for each in self.products if each.issued in started]
        found = [each for each in found if code[each.pc].opcode.root in roots]
        return [
            each for each in found if each.lane == lane or self.fences.orders(each.lane, each.issued, lane)
        ]

    def _apart(self, cells: np.ndarray, ahead: list[Product]) -> np.ndarray:
        """Those of the cells at which none of these is."""
        return cells[~np.isin(self.shadow.flights(cells), [each.issued for each in ahead])]

    def under_way(self, lane: int) -> list[Product]:
        """The products of this lane that nobody knows to be over."""
        return [each for each in self.products if each.lane == lane]

    def end(self, products: list[Product]) -> int:
        """These are over, where they were not; the time before which they are: nothing that came later is told."""
        for each in products:
            if each not in self.products:
                continue
            self.products.remove(each)
            for earlier in each.behind:
                earlier.lane = each.lane  # who hears of this one knows that they are over
            self.end(each.behind)
            self._end(each)
        return max((each.over for each in products), default=0)

    def _end(self, product: Product) -> None:
        """It has read and written at any time up to now."""
        machine, lane, pc = self.machine, product.lane, product.pc
        machine.async_reads.end(product.reading)
        chunks = product.reading.chunks
        machine.shadow.on_read_over(machine, Reach(np.full(len(chunks), lane), chunks, CHUNK, pc))
        if len(product.read):
            self._count(product.read, -1)
            self.shadow.on_read_over(
                self.watched, Reach(np.full(len(product.read), lane), product.read, 4, pc)
            )
        written = Reach(np.full(len(product.cells), lane), product.cells, 4, pc)
        time = machine.orders.trail.step(pc)
        self.shadow.on_land(self.watched, written, product.issued, time)
        self.fences.before(np.array([lane]), time)  # tcgen05.commit implies one
        product.over = machine.orders.trail.now

    # ---- loads and stores of a warp

    def load(self, pc: int, lanes: np.ndarray, cells: np.ndarray, registers: list[int]) -> None:
        """A warp's lanes read these cells (lane, register) into these registers."""
        each, cells = np.repeat(lanes, cells.shape[1]), cells.ravel()
        written = ~self.shadow.unwritten(cells, 4)[:, 0]
        # A load takes all 32 lanes of the warp, and those of half a matrix hold something in 16 of them.
        some = written if written.any() else ~written
        self._begin_read(pc, each[some], cells[some])
        self._count(cells, 1)
        left = {register: np.ones(WARP, bool) for register in registers}
        self.loads.append(Load(self._warp(lanes), pc, each, cells, left))

    def use(self, registers: frozenset[int]) -> None:
        """The active lanes use these registers: a load whose registers all lanes have used is over."""
        if not self.loads:
            return
        lanes = self.machine.active()
        for load in [each for each in self.loads if each.left.keys() & registers]:
            mine = lanes[self.machine.warp_of[lanes] == load.warp] % self.machine.launch.threads % WARP
            for register in load.left.keys() & registers:
                load.left[register][mine] = False
                if not load.left[register].any():
                    del load.left[register]
            if not load.left:
                self._loaded(load)

    def store(self, pc: int, lanes: np.ndarray, cells: np.ndarray) -> None:
        """A warp's lanes write these cells (lane, register)."""
        each, cells = np.repeat(lanes, cells.shape[1]), cells.ravel()
        self._must_not_be_read(pc, lanes, cells)
        self._look(pc, each, cells, writes=True)
        issued = self.shadow.on_start(self.watched, Reach(each, cells, 4, pc))
        self.stores.append(Store(self._warp(lanes), pc, issued, each, cells))

    def wait(self, lanes: np.ndarray, loads: bool) -> None:
        """These warps wait for their loads, or for their stores."""
        warps = set(np.unique(self.machine.warp_of[lanes]).tolist())
        for load in [each for each in self.loads if loads and each.warp in warps]:
            self._loaded(load)
        for store in [each for each in self.stores if not loads and each.warp in warps]:
            self.stores.remove(store)
            time = self.machine.orders.trail.step(store.pc)
            reach = Reach(store.lanes, store.cells, 4, store.pc)
            self.shadow.on_land(self.watched, reach, store.issued, time)
        self.orders.wait(lanes)

    def _loaded(self, load: Load) -> None:
        self.loads.remove(load)
        self._count(load.cells, -1)
        self.shadow.on_read_over(self.watched, Reach(load.lanes, load.cells, 4, load.pc))

    # ---- helpers

    def _begin_read(self, pc: int, lanes: np.ndarray, cells: np.ndarray) -> None:
        self._look(pc, lanes, cells)
        self.shadow.on_begin_of_read(self.watched, Reach(lanes, cells, 4, pc))

    def _look(self, pc: int, lanes: np.ndarray, cells: np.ndarray, writes: bool = False) -> None:
        """At what was done to these cells before: fences may be missing."""
        if self.machine.judged:
            self.fences.look(self.shadow, pc, lanes, cells, writes)

    def must_be_held(self, pc: int, lanes: np.ndarray, cells: np.ndarray) -> None:
        """Report the first of these lanes' cells in a column that the block does not hold."""
        block = int(cells.ravel()[0]) // CELLS
        bad = ~self.columns[block].which()[cells.ravel() % COLUMNS]
        if bad.any():
            column = int(cells.ravel()[bad.argmax()]) % COLUMNS
            text = (
                f"{self.machine.describe_thread(int(lanes[0]))} touches column {column} of tensor memory, which the "
                f"block does not hold: it holds {self.columns[block]}. tcgen05.alloc gives columns"
            )
            instruction = self.machine.launch.code.instructions[pc]
            self.machine.log.add("out-of-bounds", instruction, text, int(bad.sum()), "columns-not-held")

    def _must_not_be_read(self, pc: int, lanes: np.ndarray, cells: np.ndarray) -> None:
        """Report a change of cells that somebody reads just now."""
        if (
            self._read is None
            or not self.machine.judged
            or not (hit := np.flatnonzero(self._read[cells])).size
        ):
            return
        machine, cell = self.machine, int(cells[hit[0]])
        pcs = [each.pc for each in self.loads if cell in each.cells]
        pcs += [each.pc for each in self.products if cell in each.read]
        code = machine.launch.code
        reader = code.instructions[pcs[0]].opcode.root
        wait = "tcgen05.wait::ld" if reader == "tcgen05.ld" else "the phase that its tcgen05.commit tells"
        does = "frees" if code.instructions[pc].opcode.root == "tcgen05.dealloc" else "changes"
        text = (
            f"{machine.describe_thread(int(lanes[0]))} {does} {TensorCells().element(4 * cell)}, which the {reader} at "
            f"{code.where(pcs[0])} may still read: first {wait}, then an order between the two"
        )
        machine.log.add("write-after-read", code.instructions[pc], text, len(hit), "tensor-memory-read")

    def _count(self, cells: np.ndarray, change: int) -> None:
        if self._read is None:
            self._read = np.zeros(len(self.columns) * CELLS, np.int16)
        self._read[cells] += change

    def _block(self, lanes: np.ndarray) -> int:
        return int(self.machine.block_of[lanes[0]])

    def _warp(self, lanes: np.ndarray) -> int:
        return int(self.machine.warp_of[lanes[0]])

    def _refuse(self, text: str, cause: str) -> None:
        raise Fault("tensor-memory", text, 0, cause)
