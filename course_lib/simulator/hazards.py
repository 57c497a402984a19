"""Who touched what since which barrier: the shadow of shared and global memory, and the list of findings.

Every shared access gets a time (a counter). For each warp `v` the shadow keeps `seen[v, w]`: accesses that warp
`w` made before this time are ordered before what `v` does now. A barrier raises these marks; nothing else does
(PTX ISA 9.7.13.1). For each granule it keeps the last write (time, thread, instruction) and, per warp, the last
read. An access is a hazard when another thread's conflicting access is not yet seen.

A granule is the smallest access that the kernel makes to shared memory. All accesses are aligned to their size,
so the bookkeeping is exact to the byte.

Reads are only noted in a list at first, and entered into the shadow when a write needs them: a kernel whose
reads and writes are always a barrier apart never pays for that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .memory import UNIT, Buffer
from .ptx import Instruction

SEVERITY = (
    "unwaited-copy",
    "read-after-write",
    "write-after-read",
    "write-after-write",
    "uninitialised-read",
    "block-conflict",
    "out-of-bounds",
    "misaligned",
    "barrier-divergence",
    "deadlock",
    "step-limit",
    "unsupported-instruction",
)
FATAL = frozenset(SEVERITY[6:])

IN_FLIGHT = np.int32(2**31 - 1)  # cp.async issued, not yet waited for
NEVER = np.int32(2**31 - 2)  # nothing wrote this granule
ATOMIC = -2  # `writer` of a granule that atomics changed


@dataclass(frozen=True)
class Hazard:
    """One finding. `line` is the learner's own line; `call_line` the line that called the helper it stands in."""

    kind: str
    line: int
    call_line: int | None
    message: str
    count: int = 1

    def __str__(self) -> str:
        call = f", called from line {self.call_line}" if self.call_line else ""
        times = f" ({self.count} times; the first:)" if self.count > 1 else ""
        return f"{self.kind} at line {self.line}{call}{times}: {self.message}"


class HazardLog:
    """Findings, one for each (kind, line, call line); the first message stays, the others are counted."""

    def __init__(self) -> None:
        self._found: dict[tuple, Hazard] = {}

    def add(self, kind: str, instruction: Instruction, message: str, count: int = 1) -> None:
        where = instruction.where
        if where.header:
            message = f"{message} (in {where.header})"
        key = (kind, where.line, where.call_line)
        if key in self._found:
            old = self._found[key]
            self._found[key] = Hazard(*key, old.message, old.count + count)
        else:
            self._found[key] = Hazard(*key, message, count)

    def sorted(self) -> tuple[Hazard, ...]:
        """Most serious first; a finding that ended the launch comes last."""
        return tuple(sorted(self._found.values(), key=lambda h: SEVERITY.index(h.kind)))


class SharedShadow:
    """Bookkeeping for the shared memory of all resident blocks.

    `unit` arguments count accesses of `size` bytes from the start of all blocks' shared memory, as
    `SharedMemory.locate` returns them; `lanes` are the lanes that made them (None: all of them).
    """

    def __init__(
        self,
        total_bytes: int,
        stride: int,
        granule: int,
        warp_of: np.ndarray,
        thread_of: np.ndarray,
        block_of: np.ndarray,
        warps_per_block: int,
        report: Callable[..., None],
        describe: Callable[[int], str],
    ) -> None:
        self.granule = granule
        self.stride = stride
        self.warp_of, self.thread_of, self.block_of = warp_of, thread_of, block_of
        self.warps_per_block = warps_per_block
        self.report = report
        self.describe = describe
        granules = total_bytes // granule
        warps = int(warp_of[-1]) + 1
        self.now = 1
        self.write_time = np.full(granules, NEVER, np.int32)
        self.writer = np.zeros(granules, np.int32)
        self.write_pc = np.zeros(granules, np.int32)
        self.seen = np.ones((warps, warps_per_block), np.int32)
        self.floor = np.ones(warps, np.int32)
        self.common_floor: int | None = 1
        self.pending: list[tuple] = []
        self._reads: _Reads | None = None
        self._views: dict[int, np.ndarray] = {1: self.write_time}

    # ---- what instructions call

    def on_read(self, lanes: np.ndarray | None, unit: np.ndarray, size: int, pc: int) -> None:
        count = size // self.granule
        times = self._gather(self.write_time, unit, count)
        floor = self._floor(lanes, count)
        if times.max() >= floor if isinstance(floor, int) else (times >= floor).any():
            self._check_read(lanes, unit, count, pc, times >= floor)
        self.pending.append((lanes, unit, count, pc, self.now))
        self.now += 1
        if len(self.pending) > 512:
            self._enter_reads()

    def on_write(
        self,
        lanes: np.ndarray | None,
        unit: np.ndarray,
        size: int,
        pc: int,
        changed: np.ndarray | None,
        *,
        time: int = 0,
    ) -> None:
        """`changed`: per access, whether it alters the bytes (None: take it that all do).

        `time`: IN_FLIGHT when a cp.async is issued.
        """
        count = size // self.granule
        self._enter_reads()
        granules = self._granules(unit, count)
        self._check_write(lanes, granules, count, pc, changed)
        self._note_write(lanes, granules, count, pc, time or self.now)

    def on_land(self, lanes: np.ndarray | None, unit: np.ndarray, size: int, pc: int) -> None:
        """A cp.async reaches shared memory: from now on the lane that issued it may read it."""
        count = size // self.granule
        self._note_write(lanes, self._granules(unit, count), count, pc, self.now)

    def on_atomic(self, lanes: np.ndarray | None, unit: np.ndarray, size: int, pc: int) -> None:
        """Atomics do not race with atomics; with plain reads and writes they do."""
        count = size // self.granule
        granules = self._granules(unit, count)
        plain = self.writer[granules] != ATOMIC
        bad = (self.write_time[granules] >= self._floor(lanes, count)) & plain
        if bad.any():
            self._check_read(lanes, unit, count, pc, bad)
        self._enter_reads()
        self._check_write(lanes, granules[plain], count, pc, None, plain)
        self._note_write(lanes, granules, count, pc, self.now)
        self.writer[granules] = ATOMIC

    def on_clash(
        self, lanes: np.ndarray | None, unit: np.ndarray, size: int, pc: int, beaten: np.ndarray
    ) -> None:
        """Lanes of one instruction wrote different values to one place; `beaten` ones did not prevail."""
        count = size // self.granule
        granules = self._granules(unit, count)
        self._report("write-after-write", pc, self._lanes(lanes, count), granules, np.repeat(beaten, count))

    def on_barrier(self, warps: np.ndarray, marks: np.ndarray | None = None) -> None:
        """These warps of one block have met: each has now seen what all of them did and saw.

        `marks`: what warps that arrived without waiting (bar.arrive) had done and seen; see `mark`.
        """
        self.now += 1
        if not len(warps):  # arrivals alone completed the barrier
            return
        met = self.seen[warps].max(axis=0)
        met[warps % self.warps_per_block] = self.now
        if marks is not None:
            met = np.maximum(met, marks)
        self.seen[warps] = np.maximum(self.seen[warps], met)
        self.floor = self.seen.min(axis=1)
        self._settle()

    def on_barrier_of_all(self) -> None:
        """Every warp of every resident block has met at its block's barrier."""
        self.now += 1
        self.seen[:] = self.now
        self.floor[:] = self.now
        self.common_floor = self.now
        self.pending.clear()

    def mark(self, warps: np.ndarray) -> np.ndarray:
        """What these warps of one block have done and seen until now, for `on_barrier` of a later wait."""
        self.now += 1
        marks = self.seen[warps].max(axis=0)
        marks[warps % self.warps_per_block] = self.now
        return marks

    def on_warp_sync(self, warps: np.ndarray) -> None:
        """The lanes of each of these warps have met (bar.warp.sync)."""
        self.now += 1
        self.seen[warps, warps % self.warps_per_block] = self.now
        self.floor = self.seen.min(axis=1)
        self._settle()

    # ---- helpers

    def _settle(self) -> None:
        low = int(self.floor.min())
        self.common_floor = low if low == int(self.floor.max()) else None
        self.pending = [entry for entry in self.pending if entry[4] >= low]

    def _floor(self, lanes: np.ndarray | None, count: int) -> int | np.ndarray:
        if self.common_floor is not None:
            return self.common_floor
        warps = self.warp_of if lanes is None else self.warp_of[lanes]
        return np.repeat(self.floor[warps], count)

    def _gather(self, table: np.ndarray, unit: np.ndarray, count: int) -> np.ndarray:
        """table (one int32 a granule) at every granule of these accesses, flat."""
        if count in (1, 2, 4):
            view = self._views.get(count)
            if view is None:
                view = self._views[count] = table.view(UNIT[4 * count])
            return view[unit].view(np.int32)
        return table[self._granules(unit, count)]

    def _granules(self, unit: np.ndarray, count: int) -> np.ndarray:
        return unit if count == 1 else (unit[:, None] * count + np.arange(count)).ravel()

    def _lanes(self, lanes: np.ndarray | None, count: int) -> np.ndarray:
        return np.repeat(np.arange(len(self.warp_of)) if lanes is None else lanes, count)

    def _note_write(
        self, lanes: np.ndarray | None, granules: np.ndarray, count: int, pc: int, time: int
    ) -> None:
        self.write_time[granules] = time
        self.writer[granules] = np.repeat(self.thread_of if lanes is None else self.thread_of[lanes], count)
        self.write_pc[granules] = pc
        self.now += 1

    def _enter_reads(self) -> None:
        if self.pending and self._reads is None:
            warps = len(self.floor)
            self._reads = _Reads(self.stride // self.granule, warps, len(self.write_time))
        for lanes, unit, count, pc, time in self.pending:
            self._reads.enter(
                self._granules(unit, count),
                self._lanes(lanes, count),
                self.warp_of,
                self.seen,
                pc,
                time,
                self.warps_per_block,
            )
        self.pending.clear()

    def _unseen(self, lanes: np.ndarray, threads: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Whether accesses by `threads` (of the same block) at `times` are unordered with each lane's own."""
        seen = self.seen[self.warp_of[lanes], np.maximum(threads, 0) // 32]
        return (times >= seen) & (threads != self.thread_of[lanes])

    def _check_read(
        self, lanes: np.ndarray | None, unit: np.ndarray, count: int, pc: int, bad: np.ndarray
    ) -> None:
        granules = self._granules(unit, count)[bad]
        lanes = self._lanes(lanes, count)[bad]
        times = self.write_time[granules]
        threads = self.writer[granules]
        self._report("uninitialised-read", pc, lanes, granules, times == NEVER)
        self._report("unwaited-copy", pc, lanes, granules, times == IN_FLIGHT)
        settled = times < NEVER
        self._report("read-after-write", pc, lanes, granules, settled & self._unseen(lanes, threads, times))

    def _check_write(
        self,
        lanes: np.ndarray | None,
        granules: np.ndarray,
        count: int,
        pc: int,
        changed: np.ndarray | None,
        only: np.ndarray | None = None,
    ) -> None:
        lanes = self._lanes(lanes, count)
        if only is not None:
            lanes = lanes[only]
        times = self.write_time[granules]
        floor = self._floor(lanes, 1)
        bad = (times >= floor) & (times != NEVER)
        if changed is not None:
            bad &= np.repeat(changed, count)
        if bad.any():
            threads = self.writer[granules]
            unseen = (times == IN_FLIGHT) | self._unseen(lanes, threads, times)
            self._report("write-after-write", pc, lanes, granules, bad & unseen)
        if self._reads is not None:
            bad = self._reads.last[granules] >= floor
            if bad.any():
                self._check_reads(pc, lanes[bad], granules[bad])

    def _check_reads(self, pc: int, lanes: np.ndarray, granules: np.ndarray) -> None:
        """Write after read: look at each warp's reads of these granules."""
        reads = self._reads
        first = self.warp_of[lanes] // self.warps_per_block * self.warps_per_block
        found = np.zeros(len(lanes), bool)
        reader = np.zeros(len(lanes), np.int32)
        for w in range(self.warps_per_block):
            key = (first + w) * reads.per_block + granules % reads.per_block
            unseen = reads.time[key] >= self.seen[self.warp_of[lanes], w]
            own_lane = np.where(self.warp_of[lanes] == first + w, self.thread_of[lanes] % 32, 32).astype(
                np.uint64
            )
            others = reads.mask[key] & ~(np.uint64(1) << own_lane)
            unseen &= others != 0
            reader[unseen] = 32 * w + np.log2(
                (others & -others.view(np.int64).astype(np.uint64))[unseen]
            ).astype(np.int32)
            found |= unseen
        self._report("write-after-read", pc, lanes, granules, found, reader)

    def _report(
        self,
        kind: str,
        pc: int,
        lanes: np.ndarray,
        granules: np.ndarray,
        where: np.ndarray,
        reader: np.ndarray | None = None,
    ) -> None:
        if not where.any():
            return
        at = int(np.flatnonzero(where)[0])
        granule = int(granules[at])
        place = self.describe(granule * self.granule % self.stride)
        if reader is not None:
            other, other_pc = int(reader[at]), int(self._reads.pc[granule])
        else:
            other, other_pc = int(self.writer[granule]), int(self.write_pc[granule])
        self.report(kind, pc, int(lanes[at]), place, other, other_pc, len(np.unique(lanes[where])))


class _Reads:
    """Reads of shared memory: the last time a granule was read by anyone, and by each warp, and by which lanes."""

    def __init__(self, per_block: int, warps: int, granules: int) -> None:
        self.per_block = per_block
        self.last = np.zeros(granules, np.int32)
        self.pc = np.zeros(granules, np.int32)
        self.time = np.zeros(warps * per_block, np.int32)
        self.mask = np.zeros(warps * per_block, np.uint64)

    def enter(
        self,
        granules: np.ndarray,
        lanes: np.ndarray,
        warp_of: np.ndarray,
        seen: np.ndarray,
        pc: int,
        time: int,
        warps_per_block: int,
    ) -> None:
        warps = warp_of[lanes]
        key = warps * self.per_block + granules % self.per_block
        stale = self.time[key] < seen[warps, warps % warps_per_block]
        self.mask[key[stale]] = 0
        np.bitwise_or.at(
            self.mask, key, np.uint64(1) << (lanes_in_warp(lanes, warps, warp_of)).astype(np.uint64)
        )
        self.time[key] = time
        self.last[granules] = time
        self.pc[granules] = pc


def lanes_in_warp(lanes: np.ndarray, warps: np.ndarray, warp_of: np.ndarray) -> np.ndarray:
    """Position of each lane in its warp; lanes of a warp are numbered one after the other."""
    return lanes - np.searchsorted(warp_of, warps)


class GlobalShadow:
    """Which blocks read and wrote each granule of a buffer. Blocks run in any order, so what one of them writes,
    another may neither read nor write in the same launch (unless it writes the same value).

    Volatile accesses, atomics, and blocks that ran a __threadfence() are left out: they order things on purpose.
    """

    NOBODY, SEVERAL = -1, -2

    def __init__(self, granule: int) -> None:
        self.granule = granule

    def on_read(self, buffer: Buffer, unit: np.ndarray, size: int, blocks: np.ndarray) -> np.ndarray | None:
        """Note that these blocks read here; per access, whether another block wrote there. None: nobody did."""
        granules, mine = self._spread(unit, size, blocks)
        readers = self._table(buffer, "readers")
        before = readers[granules]
        readers[granules] = np.where((before == self.NOBODY) | (before == mine), mine, self.SEVERAL)
        together = granules[(readers[granules] != mine) & (before == self.NOBODY)]
        readers[together] = self.SEVERAL
        if "writers" not in buffer.touched:
            return None
        return self._foreign(self._table(buffer, "writers")[granules], mine, len(unit))

    def on_write(
        self, buffer: Buffer, unit: np.ndarray, size: int, blocks: np.ndarray
    ) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]:
        """Note that these blocks wrote here.

        Per access, whether another block has read there, wrote there before, and writes there by this same
        instruction and came later; None instead of an array where none did.
        """
        granules, mine = self._spread(unit, size, blocks)
        read = self._foreign(self._table(buffer, "readers")[granules], mine, len(unit))
        writers = self._table(buffer, "writers")
        written = self._foreign(writers[granules], mine, len(unit))
        writers[granules] = mine
        return read, written, self._foreign(writers[granules], mine, len(unit))

    def _spread(self, unit: np.ndarray, size: int, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        count = size // self.granule
        granules = unit if count == 1 else (unit[:, None] * count + np.arange(count)).ravel()
        return granules, np.repeat(blocks, count)

    def _table(self, buffer: Buffer, name: str) -> np.ndarray:
        table = buffer.touched.get(name)
        if table is None:
            table = buffer.touched[name] = np.full(-(-buffer.size // self.granule), self.NOBODY, np.int32)
        return table

    def _foreign(self, found: np.ndarray, mine: np.ndarray, accesses: int) -> np.ndarray | None:
        foreign = (found != self.NOBODY) & (found != mine)
        return foreign.reshape(accesses, -1).any(axis=1) if foreign.any() else None
