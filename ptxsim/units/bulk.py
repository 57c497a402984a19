"""The copy engine: bulk copies in flight (PTX ISA, "cp.async.bulk", "cp.async.bulk.tensor").

A copy into shared memory arrives when somebody asks its mbarrier for the end of a phase that lacks nothing but bytes:
as late as the rules allow. A copy out of shared memory has read its source, and has arrived, when its thread waited
for its group. Until then nobody may touch the place that a copy goes to, nor change the place that it comes from.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..ground.memory import UNIT, Buffer, SharedMemory, note_written
from ..ground.tensor_map import BYTES
from ..races.proxies import map_space
from ..races.shadow import CHANGED, OVERWRITTEN, UNFENCED, Act, Reach
from .access import Memories, differs

CHUNK = 16
"""Bytes of the unit in which the copy engine writes shared memory."""
ISSUE = 200
"""Steps of work (work.py) of a copy."""


@dataclass(frozen=True, eq=False)
class Load:
    """A copy into shared memory: a lane started it at a time; `data` comes to chunks (of `grain` bytes) of the resident
    shared memory, from units of a buffer, or of shared memory, or out of registers. `size`: the bytes that its mbarrier
    counts. `change` makes the new values, of `width` bytes, of the old ones and of those that come; None: they replace
    the old ones."""

    lane: int
    pc: int
    issued: int
    chunks: np.ndarray
    data: np.ndarray
    buffer: Buffer | SharedMemory | None
    units: np.ndarray
    unit_size: int
    size: int
    width: int = 4
    change: Callable | None = None
    grain: int = CHUNK

    @property
    def target(self) -> Reach:
        return Reach(np.full(len(self.chunks), self.lane), self.chunks, self.grain, self.pc)

    @property
    def source(self) -> Reach:
        return Reach(np.full(len(self.units), self.lane), self.units, self.unit_size, self.pc)


@dataclass(eq=False)
class Store:
    """A copy out of shared memory, of a lane's group with this number; `change` makes the new values of the old."""

    lane: int
    pc: int
    group: int
    issued: int
    chunks: np.ndarray
    buffer: Buffer
    units: np.ndarray
    data: np.ndarray
    change: Callable | None
    read: bool = False  # its source was waited for

    def repeats(self, last: "Store") -> bool:
        """Whether it is the same copy, by another lane."""
        same = self.pc == last.pc and self.lane != last.lane and self.buffer is last.buffer
        return same and np.array_equal(self.units, last.units) and np.array_equal(self.chunks, last.chunks)

    @property
    def source(self) -> Reach:
        return Reach(np.full(len(self.chunks), self.lane), self.chunks, CHUNK, self.pc)

    @property
    def target(self) -> Reach:
        return Reach(np.full(len(self.units), self.lane), self.units, self.data.dtype.itemsize, self.pc)


class BulkCopies:
    """Of one machine."""

    def __init__(self, machine: Memories) -> None:
        self.machine = machine
        self.committed = np.zeros(machine.lanes, np.int64)
        self.stores: list[Store] = []
        self.waited: dict[int, str] = {}  # of stores that nobody saw arrive, by pc: "read", or ""

    # ---- into shared memory

    def issue(self, load: Load) -> Load:
        """The copy starts; as `load`, with its time."""
        machine = self.machine
        machine.work(ISSUE)
        target = load.target
        self._gets_on(load.buffer, load.units, load.unit_size)
        _note_seen(load.buffer, "reads", load.units, load.unit_size)
        self.overwrite(load.pc, target.lanes, load.chunks, load.grain)
        if load.buffer is machine.shared:
            machine.shadow.on_async_read(machine, load.source)
        elif load.buffer is not None:
            self._reach(load.buffer, load.source, writes=False)
        if load.change:
            self._reach(machine.shared, target, writes=True)
        elif len(load.chunks):
            machine.shadow.on_issue(machine, target)
        return Load(**{**vars(load), "issued": machine.orders.trail.now - 1})

    def land(self, load: Load) -> None:
        """It arrives. Who acquires the phase of its mbarrier is ordered behind it, and behind nothing that the thread
        that started it did later."""
        if not len(load.chunks):
            return
        machine = self.machine
        machine.turns.stirred = True
        memory = machine.shared.memory.units(load.grain)
        if load.change:
            machine.shadow.on_update(machine, load.target, load.issued)
            view = UNIT[load.width]
            new = load.change(memory[load.chunks].view(view), load.data.view(view))
            memory[load.chunks] = new.view(UNIT[load.grain])
        else:
            memory[load.chunks] = load.data
            machine.shadow.on_land(machine, load.target, load.issued, load.issued)
        if load.buffer is machine.shared:
            machine.shadow.on_changed(machine, load.source, load.issued + 1)
        elif load.buffer is not None and len(load.units) and (shadow := machine.shadow_of(load.buffer)):
            # who has heard that it came knows of all that its thread did until it was started
            shadow.on_late_read(machine, load.source, load.issued)
            shadow.on_changed(machine, load.source, load.issued)

    def read_map(self, lane: int, pc: int, buffer: Buffer, first: int) -> None:
        """A copy of this lane takes the tensor map at this byte of a buffer. What the launch itself has written there,
        the copy engine sees behind a fence for tensor maps."""
        machine = self.machine
        if not (shadow := machine.shadow_of(buffer)):
            return
        units = first // CHUNK + np.arange(BYTES // CHUNK)
        reach = Reach(np.full(len(units), lane), units, CHUNK, pc)
        shadow.on_access(machine, Act(True, False), reach)
        for race in shadow.unfenced(machine, reach, UNFENCED, map_space(buffer.base + first)):
            line = machine.launch.code.where(int(machine.orders.trail.pcs(race.time)))
            text = (
                f"{machine.describe_thread(lane)} starts a copy by the tensor map at {buffer.element(first)}, which "
                f"{machine.describe_lane(race.other)} wrote in this launch, at {line}. The copy engine reads maps "
                "through a proxy of their own: behind its write the writer calls "
                "fence.proxy.tensormap::generic.release.gpu, and before the copy the thread that starts it "
                "fence.proxy.tensormap::generic.acquire.gpu [map], 128"
            )
            machine.log.add(
                "missing-proxy-fence", machine.launch.code.instructions[pc], text, cause="tensor-map"
            )

    # ---- out of shared memory

    def store(self, store: Store) -> None:
        machine = self.machine
        machine.work(ISSUE)
        machine.shadow.on_async_read(machine, store.source)
        store.issued = machine.orders.trail.now - 1
        store.group = int(self.committed[store.lane])
        if self.stores and store.repeats(self.stores[-1]):
            machine.log.note(
                f"several threads start the bulk store at {machine.launch.code.where(store.pc)}, each of them the "
                "whole copy to the same place: one is enough"
            )
        self.stores.append(store)
        self._gets_on(store.buffer, store.units, store.data.dtype.itemsize)
        self._reach(store.buffer, store.target, writes=True)

    def overwrite(self, pc: int, lanes: np.ndarray, unit: np.ndarray, size: int) -> None:
        """These lanes start copies to these units of `size` bytes. What a store may still read there is told here, and
        not when it has read it."""
        reading = [store for store in self.stores if not store.read and len(store.chunks)]
        if not (reading and len(unit)):
            return
        chunks = unit * size // CHUNK
        first, last = chunks.min(), chunks.max()
        for store in reading:
            if last < store.chunks.min() or store.chunks.max() < first:
                continue
            hit = np.isin(chunks, store.chunks)
            if hit.any():
                self.machine.findings.still_reads(pc, lanes[hit], unit[hit] * size, store.pc, store.lane)
                store.chunks = store.chunks[~np.isin(store.chunks, chunks)]

    def commit(self, lanes: np.ndarray) -> None:
        self.committed[lanes] += 1

    def wait(self, lanes: np.ndarray, keep: int, read_only: bool) -> None:
        """These lanes wait until all but the last `keep` of their groups have read their sources, and unless
        `read_only`, have arrived."""
        limit = np.full(self.machine.lanes, -1, np.int64)
        limit[lanes] = self.committed[lanes] - keep
        left = []
        for store in self.stores:
            if store.group >= limit[store.lane]:
                left.append(store)
                continue
            self._has_read(store)
            if read_only:
                left.append(store)
            else:
                self._arrive(store)
        self.stores = left

    def finish(self) -> None:
        """The kernel ends: what is in flight arrives."""
        machine = self.machine
        for store in self.stores:
            if not store.read:
                text = (
                    f"{machine.describe_thread(store.lane)} exits, and its block with it, while this copy may still "
                    "read the block's shared memory: cp.async.bulk.commit_group and .wait_group.read come before the "
                    "end"
                )
                instruction = machine.launch.code.instructions[store.pc]
                machine.log.add("exited-block", instruction, text, cause="exit-before-copy")
            self.waited[store.pc] = "read" if store.read else ""
            self._has_read(store)
            self._arrive(store)
        self.stores = []

    def _reach(self, memory: Buffer | SharedMemory, reach: Reach, writes: bool) -> None:
        """The copy engine comes to what threads may have written."""
        if len(reach.unit) and (shadow := self.machine.shadow_of(memory)):
            shadow.on_async_touch(self.machine, reach, OVERWRITTEN if writes else UNFENCED)

    def _gets_on(self, buffer: Buffer | SharedMemory | None, units: np.ndarray, size: int) -> None:
        """A copy that touches a new part of an array shows that the launch does not go round in circles."""
        if isinstance(buffer, Buffer) and len(units):
            self.machine.launch.budget.access(buffer, units, size)

    def _has_read(self, store: Store) -> None:
        """It may have read its source at any time up to now: who writes there must know of this wait."""
        if not store.read:
            store.read = True
            self.machine.shadow.on_changed(self.machine, store.source, store.issued + 1, CHANGED)
            self.machine.shadow.on_access(self.machine, Act(True, False), store.source)

    def _arrive(self, store: Store) -> None:
        machine, size = self.machine, store.data.dtype.itemsize
        memory = store.buffer.memory.units(size)
        if len(store.units) and (shadow := machine.shadow_of(store.buffer)):
            act, target = Act(bool(store.change), True, bool(store.change)), store.target
            changed = None if store.change else lambda: differs(memory[store.units], store.data)
            altered = changed() if changed else np.ones(len(store.units), bool)
            shadow.on_late_arrival(machine, target, store.issued, altered)
            shadow.on_access(machine, act, target, changed)
        if store.buffer.written is not None:
            note_written(store.buffer.written, store.units, size)
        _note_seen(store.buffer, "changes" if store.change else "writes", store.units, size)
        memory[store.units] = store.change(memory[store.units], store.data) if store.change else store.data


def _note_seen(memory: Buffer | SharedMemory | None, kind: str, units: np.ndarray, size: int) -> None:
    """For who wants to know what a launch touches of an array."""
    if isinstance(memory, Buffer) and memory.seen is not None and len(units):
        memory.seen.note(kind, units, size)
