"""wgmma in flight: tensor cores that work on their own (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions").

A wgmma reads shared memory and holds its registers until its warps have waited for its group. Its results are computed
when it is issued; who uses them, or changes what it reads, before the wait is found.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..gpus import WARP, WARPGROUP
from ..ptx.program import Instruction
from ..races.shadow import Reach, Reading
from .async_reads import CHUNK
from .unset import Twofold

THREADS = WARPGROUP * WARP
ISSUE = 60
"""Steps of work (work.py) of one warp's share."""


@dataclass(eq=False)
class Flight:
    """The share of some warps of one warpgroup in a wgmma: in flight until they waited for the group of this number."""

    warps: np.ndarray
    group: int
    pc: int
    reader: int  # the lane that its reads are told of: the first of these warps
    reading: Reading
    registers: frozenset[int]
    read: bool = False

    @property
    def chunks(self) -> np.ndarray:
        return self.reading.chunks


class AsyncMath:
    """Of one machine."""

    def __init__(self, machine: Twofold) -> None:
        self.machine = machine
        self.committed = np.zeros(machine.warps, np.int64)
        self.flights: list[Flight] = []
        self.done = [machine.orders.token() for _ in range(0, machine.launch.threads, THREADS)]
        # by warpgroup of a block, reads that are over: whoever waits knows of those of its own warpgroup only
        self.fenced = np.zeros(machine.warps, bool)  # made a wgmma.fence at all
        self.just_fenced = np.zeros(machine.warps, bool)  # and has waited for no wgmma since
        # registers that others wrote since the last wgmma.fence, by warp
        self.dirty: dict[int, np.ndarray] = {}

    # ---- what instructions call

    def fence(self) -> None:
        warps = self._warps()
        self.fenced[warps] = self.just_fenced[warps] = True
        for written in self.dirty.values():
            written[warps] = False

    def issue(self, pc: int, reads: list[tuple[np.ndarray, np.ndarray]], registers: frozenset[int]) -> None:
        """Warps start a wgmma on these registers: for each warpgroup its warps, and the chunks that it reads."""
        machine = self.machine
        flights = [self._take_off(pc, warps, chunks, registers) for warps, chunks in reads]
        readers = np.repeat([flight.reader for flight in flights], [len(chunks) for _, chunks in reads])
        chunks = np.concatenate([flight.chunks for flight in flights])
        machine.shadow.on_async_read(machine, Reach(readers, chunks, CHUNK, pc), noted=False)
        for flight in flights:
            self._ask_the_others(flight)

    def _ask_the_others(self, flight: Flight) -> None:
        """Each warp of a warpgroup begins by itself: one that knows less than the first one reads too early, alone."""
        machine, others = self.machine, flight.reader + WARP * np.arange(1, len(flight.warps))
        first = machine.orders.first_lane + flight.reader
        writers = machine.shadow.writers(flight.chunks, CHUNK)
        # of what one of its own threads has copied, that one may know more than the others
        own = ((writers >= first) & (writers < first + WARP * len(flight.warps))).any()
        for lane in others if own else machine.orders.behind(others, flight.reader):
            reads = Reach(np.full(len(flight.chunks), lane), flight.chunks, CHUNK, flight.pc)
            machine.shadow.on_begin_of_read(machine, reads)

    def _take_off(self, pc: int, warps: np.ndarray, chunks: np.ndarray, registers: frozenset[int]) -> Flight:
        """These warps of one warpgroup start."""
        machine = self.machine
        machine.work(ISSUE * len(warps))
        if not self.fenced[warps].all() or any(
            self.dirty[r][warps].any() for r in registers & self.dirty.keys()
        ):
            text = (
                "starts a wgmma on registers that other instructions wrote, with no wgmma.fence in between: the tensor "
                "cores may read what was there before"
            )
            self._report("missing-wgmma-fence", pc, warps, text)
        first = int(warps[0])
        reader = (
            first // machine.warps_per_block * machine.launch.threads + first % machine.warps_per_block * WARP
        )
        flight = Flight(warps, int(self.committed[first]), pc, reader, Reading(pc, chunks), registers)
        machine.async_reads.begin(flight.reading)
        self.flights.append(flight)
        return flight

    def must_be_set(self, adds: np.ndarray, pc: int, sums: list[int]) -> None:
        """Those of the active lanes that add to sums: instructions should have set the registers that hold them."""
        second = self.machine.second
        lanes = self.machine.active()
        unset = adds & second.any_unequal(sums)
        if unset.any():
            warps = np.unique(self.machine.warp_of[lanes[unset]])
            text = (
                "adds to sums that nobody has set: its registers hold anything. Set them to zero before the "
                "wgmma.fence, or make scale-d of the first wgmma zero"
            )
            self._report("uninitialised-read", pc, warps, text, "sums-not-set")

    def commit(self) -> None:
        self.committed[self._warps()] += 1

    def wait(self, keep: int) -> None:
        """The active warps wait until at most `keep` of their groups are in flight."""
        machine, warps = self.machine, self._warps()
        self.just_fenced[warps] = False
        left = []
        for flight in self.flights:
            over = np.isin(flight.warps, warps) & (flight.group < self.committed[flight.warps] - keep)
            if over.any():
                self._has_read(flight)
                flight.warps = flight.warps[~over]
            if len(flight.warps):
                left.append(flight)
        self.flights = left
        lanes = machine.active()
        warpgroups = self._warpgroup(lanes)
        for warpgroup in np.unique(warpgroups).tolist():
            machine.orders.acquire(lanes[warpgroups == warpgroup], self.done[warpgroup])

    def touch(
        self,
        pc: int,
        registers: frozenset[int],
        computed: frozenset[int],
        moved: Sequence[tuple[int, int | None]],
    ) -> None:
        """The active lanes use these registers of a wgmma in another instruction. They compute some registers, and set
        others to the value of a register, or (None) to what the source may have set them to before the last fence, if
        no wait came since (ptx/sunk.py)."""
        warps = self._warps()
        for flight in self.flights:
            if flight.registers & registers and (both := np.intersect1d(warps, flight.warps)).size:
                line = self.machine.launch.code.where(flight.pc)
                text = (
                    f"uses a register of the wgmma at {line}, which may still be at work: commit it and wait for its "
                    "group (wgmma.wait_group)"
                )
                self._report("unwaited-wgmma", pc, both, text)
                break
        for register in computed:
            self._written(register)[warps] = True
        for register, source in moved:
            behind = source is not None and self._written(source)[warps]
            self._written(register)[warps] = behind | ~self.just_fenced[warps]

    # ---- helpers

    def _written(self, register: int) -> np.ndarray:
        return self.dirty.setdefault(register, np.zeros(self.machine.warps, bool))

    def _warps(self) -> np.ndarray:
        return np.unique(self.machine.warp_of[self.machine.active()])

    def _warpgroup(self, lanes: np.ndarray) -> np.ndarray:
        """Of its block."""
        return lanes % self.machine.launch.threads // THREADS

    def _has_read(self, flight: Flight) -> None:
        """One of its warps has waited: all of it has read. (The warps of a warpgroup share what it reads.)"""
        if flight.read:
            return
        flight.read = True
        machine = self.machine
        machine.async_reads.end(flight.reading)
        lanes = np.full(len(flight.chunks), flight.reader)
        # `AsyncReads.on_write` looked out meanwhile
        machine.shadow.on_read_over(machine, Reach(lanes, flight.chunks, CHUNK, flight.pc))
        done = self.done[flight.reader % machine.launch.threads // THREADS]
        machine.orders.release_of(np.array([flight.reader]), done, machine.orders.trail.now)

    def _report(self, kind: str, pc: int, warps: np.ndarray, text: str, cause: str = "") -> None:
        machine = self.machine
        first = int(warps[0])
        lane = (
            first // machine.warps_per_block * machine.launch.threads + first % machine.warps_per_block * WARP
        )
        machine.log.add(
            kind, self._instruction(pc), f"{machine.describe_thread(lane)} {text}", len(warps), cause
        )

    def _instruction(self, pc: int) -> Instruction:
        return self.machine.launch.code.instructions[pc]
