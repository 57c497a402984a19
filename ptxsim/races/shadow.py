"""What was done to a piece of memory, and by whom: every access is held against it, and races are found.

Two accesses of different threads to one place race when one of them writes, no order stands between them (orders.py),
and they are not both strong: atomic, volatile, relaxed, acquire or release (PTX ISA, "Memory Consistency Model":
morally strong). So a shadow keeps for each granule the last weak write, the weak reads, and the strong reads and
writes. A later weak write speaks for an earlier one: if they were unordered, that was reported; or both wrote the same,
and then the earlier one is kept too.

A granule is the smallest access that the kernel makes to that memory. All accesses are aligned to their size, so the
bookkeeping is exact to the byte.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from ..gpus import WARP
from ..ground.memory import UNIT, Buffer
from ..ground.tensor_cells import TensorCells
from ..ground.work import Budget
from .dependent import MOST_KEPT, Dependent, Doubt
from .hazards import Reporting
from .messages import BLOCK, CLUSTER, GRID
from .orders import FEW, Orders, starts_of_runs
from .proxies import GLOBAL, SHARED, ProxyFences
from .touches import Found, Touch, Touches, granules_of

IN_FLIGHT = 2**30
"""Added to the time of a write that is not complete: an asynchronous copy that nobody waited for."""
NEVER = 2**31 - 1
"""The time of a write that never was."""
CHECK = 15
"""Steps of work (work.py) of a check."""
MOST_GRANULES = 1 << 26
"""Of one memory; what lies behind is not watched. The tables of so many take 1.7 GB, if all is touched."""
ALL = slice(None)
"""All units of an access are watched."""


class Act(NamedTuple):
    """What an access does, as far as races go. `scope`: if it is strong."""

    reads: bool
    writes: bool
    strong: bool = False
    scope: int = GRID


class Reach(NamedTuple):
    """Who reaches what: lanes of the machine, the number of each one's unit of `size` bytes, and the instruction."""

    lanes: np.ndarray
    unit: np.ndarray
    size: int
    pc: int


class Spread(NamedTuple):
    """The same, granule by granule: the lane at each, and the instruction."""

    lanes: np.ndarray
    granules: np.ndarray
    pc: int

    def at(self, some: np.ndarray) -> "Spread":
        """Some of its granules."""
        return Spread(self.lanes[some], self.granules[some], self.pc)


Changed = Callable[[], np.ndarray] | None
"""Of a weak write: gives which lanes alter the bytes."""
CHANGED = "changed"
"""A race: somebody wrote to the source of a bulk store that may still have been on its way. Reported as
write-after-read."""
NOT_COHERENT = "not-coherent"
"""A race, reported as read-after-write or write-after-read: the read-only cache need not see what the launch writes,
whatever orders the two (CUDA C++ Programming Guide, `__ldg`: the data is read-only as long as the kernel runs)."""
UNFENCED = "missing-proxy-fence"
OVERWRITTEN = "overwritten"
"""The copy engine writes where a thread wrote, with no fence.proxy.async: reported as missing-proxy-fence."""
READ_BEFORE = "read-before"
"""The copy engine writes where a thread read, with no fence.proxy.async: reported as missing-proxy-fence."""
MOST_READS = 4096
"""Instructions whose reads wait to be entered, of those that a copy may overwrite."""
NOBODY = -1


@dataclass(frozen=True)
class Race:
    """A finding: its kind, the granule, the lane of the machine that found it, the lane of the grid that did the other
    access (NOBODY) and when, whether that is a copy still in flight, and how many lanes found one. `one_warp`:
    for each of those the other lane is of its own warp."""

    kind: str
    granule: int
    lane: int
    other: int
    time: int
    flying: bool
    count: int
    one_warp: bool = False


class Listener(Protocol):
    """Who hears of races (`Findings`, findings.py)."""

    def race(self, shadow: "Shadow", pc: int, race: Race) -> None:
        """The instruction at `pc` runs into another access."""


@dataclass(eq=False)
class Reading:
    """Tensor cores read these chunks, of 16 bytes, of the resident shared memory for the instruction at `pc`."""

    pc: int
    chunks: np.ndarray


class Reader(Protocol):
    """Who reads shared memory on its own for a while (`AsyncReads`, units/async_reads.py)."""

    def begin(self, reading: Reading) -> None: ...

    def end(self, reading: Reading) -> None: ...

    def on_write(self, unit: np.ndarray, size: int, pc: int, lanes: np.ndarray) -> None:
        """These lanes write these units of `size` bytes, or start a copy to them."""


class Watched(Reporting, Protocol):
    """What a shadow asks of the machine whose accesses it watches."""

    orders: Orders
    holes: bool
    """Of some unit that a load reads just now, a part was never written."""

    @property
    def proxy_fences(self) -> ProxyFences: ...

    @property
    def findings(self) -> Listener: ...

    @property
    def async_reads(self) -> Reader: ...

    def is_async(self, pcs: np.ndarray) -> np.ndarray:
        """Which of these instructions reach memory through the async proxy."""


class Shadow:
    """Of the shared memory of all resident blocks, or of a buffer in global memory."""

    def __init__(
        self,
        size: int,
        granule: int,
        budget: Budget,
        buffer: Buffer | TensorCells | None = None,
        block: int = 0,
    ) -> None:
        """`size` in bytes, of shared memory if there is no `buffer`; then `block` of them are one block's, and only its
        threads touch them; 0: those of other blocks of a cluster do, too."""
        self.granules = min(-(-size // granule), MOST_GRANULES)
        self.clipped = self.granules * granule < size
        self.granule, self.buffer, self.shared = granule, buffer, (shared := buffer is None)
        self.private = shared and block > 0  # to the threads of one block
        of_block = max(block // granule if self.private else self.granules, 1)
        # Shared and tensor memory hold nothing at first; what a buffer holds was written before the launch.
        empty = shared or isinstance(buffer, TensorCells)
        fresh = np.full(self.granules, NEVER, np.int32) if empty else np.zeros(self.granules, np.int32)
        self.write_time = fresh
        self.writer = np.zeros(self.granules, np.int32)  # lane of the grid
        self.reads = Touches(self.granules, of_block, budget)
        self.also_wrote = Touches(self.granules, of_block, budget)  # weak writes of what others wrote as well
        self.strong_reads = Touches(self.granules, of_block, budget)
        self.strong_writes = Touches(self.granules, of_block, budget)
        self.last_strong: tuple[np.ndarray, np.ndarray] | None = (
            None  # who wrote, and when; for the async proxy
        )
        self.read_only = Touches(self.granules, of_block, budget)  # reads through the read-only cache
        self.by_threads = Touches(self.granules, of_block, budget) if shared else None
        """Reads since the copy engine wrote there, in a kernel whose copies come into shared memory."""
        self.readers = np.zeros(0, bool)  # by lane of the machine, who read so
        self.fenced = np.zeros(max(self.granules // of_block, 1), np.int64)
        """By block, up to when all who read so have made a fence that a copying thread knows of."""
        self.dependent: Dependent | None = None  # once there are strong accesses
        self._new_dependent = partial(Dependent, self.granules, of_block, budget)
        self.narrow: dict[int, set[int]] = {BLOCK: set(), CLUSTER: set()}
        """By scope, instructions whose strong accesses have no wider one."""
        self._views: dict[int, np.ndarray] = {1: self.write_time}
        self.of_system = (1, 0)
        """Granules of a block, and how many of them, the first ones, are the system's."""

    def leave_to_system(self, block: int, size: int) -> None:
        """The first `size` bytes of each `block` of them are the system's: NVIDIA's own code alone works there, by
        rules of its own. What its atomics order is noted elsewhere."""
        self.of_system = block // self.granule, size // self.granule

    # ---- what accesses call

    def on_access(self, machine: Watched, act: Act, reach: Reach, changed: Changed = None) -> None:
        """`changed()`: for a weak write, which lanes alter the bytes. Writing what is there is no race of two
        writes."""
        lanes, unit, size, pc = reach
        inside, unit, count = self._inside(unit, size)
        lanes, unit = lanes[inside], unit[inside]
        if not len(lanes):
            return
        if changed is not None and inside is not ALL:
            changed = partial(_some_of, changed, inside)
        low = self._low(machine.orders)
        if act.writes or act.strong or self._any_narrow or self._recent(machine.orders, lanes, unit, count):
            self._check(machine, act, _spread(lanes, unit, count, pc), count, changed)
            machine.work(CHECK)
        time = machine.orders.trail.step(pc)
        if act.writes and self.read_only.latest:
            spread = _spread(lanes, unit, count, pc)
            found = self.read_only.since(spread.lanes, spread.granules, 0)
            self._report_found(machine, NOT_COHERENT, spread, found)
        if act.writes and self.shared:
            machine.async_reads.on_write(unit, size, pc, lanes)
        if act.writes and not act.strong:
            granules = granules_of(unit, count)
            self._write(machine.orders, lanes, granules, count, time)
            each = np.repeat(lanes, count)
            beaten = self.writer[granules] != each + machine.orders.first_lane
            if beaten.any():
                touch = Touch(each[beaten], machine.orders.first_lane, granules[beaten], 1, time)
                self.also_wrote.note(touch, low)
            return
        touch = Touch(lanes, machine.orders.first_lane, unit, count, time)
        if self.by_threads and not act.writes and machine.launch.code.is_overwritten(pc):
            self._note_reader(machine, touch, self.by_threads)
        if not act.strong:
            self.reads.note(touch, low)
            return
        self._depend(machine, act, touch, pc, low, changed)
        if act.scope != GRID:
            self.narrow[act.scope].add(pc)
            self._check_within(machine, act, _spread(lanes, unit, count, pc), time)
        if act.reads and not act.writes:
            self.strong_reads.note(touch, low)
        else:
            self.strong_writes.note(touch, low)
            if machine.launch.code.uses_async_proxy:
                self._keep_last_strong(*touch.spread(), time)
            if self.shared:  # it holds something now
                granules = granules_of(unit, count)
                self.write_time[granules[self.write_time[granules] == NEVER]] = 0

    def on_read_only(self, machine: Watched, reach: Reach) -> None:
        """These lanes have read through the read-only cache: what nobody writes in this launch, not even they."""
        lanes, unit, size, pc = reach
        inside, unit, count = self._inside(unit, size)
        lanes, unit = lanes[inside], unit[inside]
        spread = _spread(lanes, unit, count, pc)
        self._report(machine, NOT_COHERENT, spread, self.write_time[spread.granules] > 0)
        if self.strong_writes.latest:
            found = self.strong_writes.since(spread.lanes, spread.granules, 0)
            self._report_found(machine, NOT_COHERENT, spread, found)
        touch = Touch(lanes, machine.orders.first_lane, unit, count, machine.orders.trail.step(pc))
        self.read_only.note(touch)

    def writers(self, unit: np.ndarray, size: int) -> np.ndarray:
        """The lanes of the grid that wrote last at the first byte of these units of shared memory."""
        return self.writer[unit * (size // self.granule)]

    def flights(self, unit: np.ndarray) -> np.ndarray:
        """Of these granules when what is on its way to them did start; 0: nothing is."""
        times = self.write_time[unit]
        return np.where((times >= IN_FLIGHT) & (times != NEVER), times - IN_FLIGHT, 0)

    def empty(self, unit: np.ndarray) -> None:
        """From now on nobody has written these granules."""
        self.write_time[unit] = NEVER

    def unwritten(self, unit: np.ndarray, size: int) -> np.ndarray:
        """Which bytes of these units nobody has written: (units, size)."""
        granules = np.minimum(granules_of(unit, size // self.granule), self.granules - 1)
        return np.repeat(self.write_time[granules] == NEVER, self.granule).reshape(-1, size)

    def on_issue(self, machine: Watched, reach: Reach) -> None:
        """An asynchronous copy to these units starts."""
        lanes, unit, size, pc = reach
        count = size // self.granule
        self._check(machine, Act(False, True), _spread(lanes, unit, count, pc), count, None)
        self.on_async_touch(machine, reach, OVERWRITTEN)
        machine.async_reads.on_write(unit, size, pc, lanes)
        time = machine.orders.trail.step(pc)
        self.on_flight(machine, reach, time)
        # who is ordered behind the copy is ordered behind what the copy was checked against
        if not self.private:
            self.reads.forget(granules_of(unit, count), time)

    def on_start(self, machine: Watched, reach: Reach) -> int:
        """Something starts that writes these units and takes a while; the time at which it does. `on_land` follows."""
        lanes, unit, size, pc = reach
        count = size // self.granule
        self._check(machine, Act(False, True), _spread(lanes, unit, count, pc), count, None)
        time = machine.orders.trail.step(pc)
        self.on_flight(machine, reach, time)
        return time

    def on_flight(self, machine: Watched, reach: Reach, time: int) -> None:
        """Copies that these lanes started at that time are on their way to these units."""
        lanes, unit, size, _ = reach
        count = size // self.granule
        self._write(machine.orders, lanes, granules_of(unit, count), count, time + IN_FLIGHT)

    def on_land(self, machine: Watched, reach: Reach, started: int, time: int) -> None:
        """A copy arrives that started at an earlier time: from now on the lane that issued it may read it, where no
        later copy is on its way."""
        lanes, unit, size, _ = reach
        count = size // self.granule
        granules, lanes = granules_of(unit, count), np.repeat(lanes, count)
        mine = self.write_time[granules] == started + IN_FLIGHT
        self._write(machine.orders, lanes[mine], granules[mine], 1, time)

    def on_update(self, machine: Watched, reach: Reach, time: int) -> None:
        """A copy that these lanes started at an earlier time arrives, and changes what is there as an atomic does."""
        lanes, unit, size, pc = reach
        count = size // self.granule
        self._check(machine, Act(True, True, True), _spread(lanes, unit, count, pc), count, None)
        machine.async_reads.on_write(unit, size, pc, lanes)
        self.strong_writes.note(Touch(lanes, machine.orders.first_lane, unit, count, time))

    def on_async_read(self, machine: Watched, reach: Reach, noted: bool = True) -> None:
        """The copy engine or the tensor cores read here for one lane. `noted`: as a read of now; otherwise
        `on_read_over` follows."""
        if noted:
            self.on_access(machine, Act(True, False), reach)
        else:
            self.on_begin_of_read(machine, reach)
        self.on_async_touch(machine, reach)

    def on_begin_of_read(self, machine: Watched, reach: Reach) -> None:
        """A read begins here for one lane; `on_read_over` follows."""
        lanes, unit, size, pc = reach
        count = size // self.granule
        self._check(machine, Act(True, False), _spread(lanes, unit, count, pc), count, None)

    def on_async_touch(self, machine: Watched, reach: Reach, kind: str = UNFENCED) -> None:
        """The copy engine or the tensor cores reach these units, for one lane, through a proxy of their own: behind a
        fence.proxy.async (proxies.py) of what threads did there before. What is not ordered before is a race.
        cuda::memcpy_async asks nobody for a fence."""
        if (
            not machine.is_async(np.array([reach.pc])).all()
            or machine.launch.code.where(reach.pc).memcpy_async
        ):
            return
        for race in self.unfenced(machine, reach, kind, SHARED if self.shared else GLOBAL):
            machine.findings.race(self, reach.pc, race)
        if kind == OVERWRITTEN and self.by_threads and self.by_threads.latest:
            self._tell_unfenced_reads(machine, self._watched(reach), self.by_threads)

    def _tell_unfenced_reads(self, machine: Watched, spread: Spread, reads: Touches) -> None:
        """The copy engine writes here for these lanes: behind a fence.proxy.async of what threads read here before."""
        orders, fences = machine.orders, machine.proxy_fences
        if not len(spread.lanes):
            return

        def unfenced(lanes: np.ndarray, others: np.ndarray, times: np.ndarray) -> np.ndarray:
            found = ~orders.unseen(lanes, others, times)
            found[found] = fences.uncovered(orders, SHARED, lanes[found], others[found], times[found])
            return found

        lanes, granules, _ = spread
        block, readers = int(granules[0]) // reads.of_block, np.flatnonzero(self.readers)
        if self.private:
            readers = readers[readers // machine.launch.threads == block]
        if len(readers):
            known = fences.known_of(orders, SHARED, int(lanes[0]), readers).min()
            self.fenced[block] = max(self.fenced[block], known)
        self._report_found(
            machine, READ_BEFORE, spread, reads.meeting(unfenced, lanes, granules, self.fenced)
        )
        reads.forget(granules, orders.trail.now)

    def _note_reader(self, machine: Watched, touch: Touch, reads: Touches) -> None:
        if not len(self.readers):
            self.readers = np.zeros(len(machine.orders.agent_of_lane), bool)
        self.readers[touch.lanes] = True
        reads.note(touch)
        if len(reads.noted) > MOST_READS:
            reads.enter()

    def unfenced(self, machine: Watched, reach: Reach, kind: str, space: str) -> list[Race]:
        """What threads wrote there before, and no fence of this space lies between: the last plain write, and the last
        strong one."""
        spread, tables = self._watched(reach), [(self.writer, self.write_time)]
        if self.last_strong is not None:
            tables.append(self.last_strong)
        races = (self._unfenced(machine, kind, space, spread, *each) for each in tables)
        return [race for race in races if race]

    def _unfenced(
        self,
        machine: Watched,
        kind: str,
        space: str,
        spread: Spread,
        writers: np.ndarray,
        times: np.ndarray,
    ) -> Race | None:
        """`writers` and `times` are tables by granule."""
        lanes, granules, _ = _one_of_each_run(spread, writers, times)
        times, writers = times[granules], writers[granules].astype(np.int64)
        at = np.flatnonzero((times > 0) & (times < IN_FLIGHT))
        at = at[~machine.is_async(machine.orders.trail.pcs(times[at]))]
        at = at[~machine.orders.unseen(lanes[at], writers[at], times[at])] if len(at) else at
        if len(at):
            left = machine.proxy_fences.uncovered(
                machine.orders, space, lanes[at], writers[at], times[at].astype(np.int64)
            )
            at = at[left]
        if not len(at):
            return None
        first = at[0]
        return Race(kind, int(granules[first]), int(lanes[first]), int(writers[first]),
                    int(times[first]), False, len(np.unique(lanes[at])))  # fmt: skip

    def on_clash(self, machine: Watched, reach: Reach, beaten: np.ndarray) -> None:
        """Lanes of one instruction wrote different values to one place; `beaten` ones did not prevail."""
        lanes, unit, size, pc = reach
        inside, unit, count = self._inside(unit[beaten], size)
        spread = _spread(lanes[beaten][inside], unit[inside], count, pc)
        if len(spread.lanes):
            self._report(machine, "write-after-write", spread)

    def on_chance(self, machine: Watched, act: Act, reach: Reach, beaten: np.ndarray) -> None:
        """The same of strong writes: chance says which value stays."""
        lanes, unit, size, pc = reach
        inside, unit, count = self._inside(unit, size)
        lanes, unit, beaten = lanes[inside], unit[inside], beaten[inside]
        time, span = machine.orders.trail.step(pc), _span(machine, act.scope)
        for place in np.unique(unit[beaten])[:MOST_KEPT].tolist():
            here = unit == place
            lost = int(lanes[here & beaten][0])
            stays = int(lanes[here & ~beaten][-1]) + machine.orders.first_lane
            apart = (lost + machine.orders.first_lane) // span != stays // span
            if self.dependent and (act.scope == GRID or self.private or not apart):  # otherwise they race
                self.dependent.doubt(Doubt(pc, place * count, lost, stays, time, int(beaten.sum())), pc)

    def on_read_over(self, machine: Watched, reach: Reach) -> None:
        """Reads that began earlier, and were checked then, are over now."""
        lanes, unit, size, pc = reach
        touch = Touch(
            lanes, machine.orders.first_lane, unit, size // self.granule, machine.orders.trail.step(pc)
        )
        self.reads.note(touch, self._low(machine.orders))

    def on_late_read(self, machine: Watched, reach: Reach, time: int) -> None:
        """Copies that these lanes started have read here: as of now for what was written before, and as of that time
        for who writes later."""
        inside, unit, count = self._inside(reach.unit, reach.size)
        lanes, unit = reach.lanes[inside], unit[inside]
        if not len(lanes):
            return
        if self._any_narrow or self._recent(machine.orders, lanes, unit, count):
            self._check(machine, Act(True, False), _spread(lanes, unit, count, reach.pc), count, None)
        self.reads.note(Touch(lanes, machine.orders.first_lane, unit, count, time), self._low(machine.orders))

    def on_changed(self, machine: Watched, reach: Reach, since: int, kind: str = "read-after-write") -> None:
        """These lanes' copies read here at some time since then: nobody may have written here meanwhile, not even
        behind a barrier that the lanes have passed too."""
        spread = self._watched(reach)
        times = self.write_time[spread.granules]
        self._report(machine, kind, spread, (times >= since) & (times != NEVER))
        if self.strong_writes.latest:
            found = self.strong_writes.since(spread.lanes, spread.granules, since)
            self._report_found(machine, kind, spread, found)

    def on_late_arrival(self, machine: Watched, reach: Reach, since: int, changed: np.ndarray) -> None:
        """A copy that one lane started at a time arrives here: meanwhile the lane itself may not have read here, nor
        written another value. `changed`: which units the copy alters."""
        inside, _, count = self._inside(reach.unit, reach.size)
        spread, trail = self._watched(reach), machine.orders.trail
        granules, owners = spread.granules, spread.lanes + machine.orders.first_lane
        found = self.reads.own_since(owners, granules, since + 1)
        if found is not None:
            self._tell_arrival(machine, "unwaited-copy", spread.at(found.bad), found.times[found.bad], since)
        times = self.write_time[granules]
        wrote = (self.writer[granules] == owners) & (times > since) & (times < IN_FLIGHT)
        wrote &= np.repeat(changed[inside], count) & (trail.pcs(np.where(wrote, times, 0)) != reach.pc)
        self._tell_arrival(machine, "write-after-write", spread.at(wrote), times[wrote], since)

    def _tell_arrival(
        self, machine: Watched, kind: str, spread: Spread, times: np.ndarray, started: int
    ) -> None:
        """Accesses of these lanes at these times met a copy of theirs that was still on its way."""
        pcs = machine.orders.trail.pcs(times)
        for pc in np.unique(pcs).tolist():
            lanes, granules, _ = spread.at(pcs == pc)
            lane = int(lanes[0])
            race = Race(kind, int(granules[0]), lane, lane + machine.orders.first_lane, started, True, 1)
            machine.findings.race(self, pc, race)

    def doubts(self) -> list[Doubt]:
        """Strong accesses whose outcome another order changes, until now."""
        return self.dependent.settled() if self.dependent else []

    # ---- helpers

    def _depend(self, machine: Watched, act: Act, touch: Touch, pc: int, low: int, changed: Changed) -> None:
        """A strong access: is what it finds or leaves there a matter of chance?"""
        self.dependent = dependent = self.dependent or self._new_dependent()
        if (act.reads and act.writes) or pc in machine.launch.code.waits:
            dependent.mean(granules_of(touch.unit, touch.count))
        elif act.reads:
            dependent.read(machine.orders, touch, low, pc, self._races_of_strong(machine, act))
        elif changed is not None and (some := changed()).any():
            altered = replace(touch, lanes=touch.lanes[some], unit=touch.unit[some])
            dependent.change(machine.orders, altered, low, pc, self._races_of_strong(machine, act))

    def _inside(self, unit: np.ndarray, size: int) -> tuple[np.ndarray | slice, np.ndarray, int]:
        """Which of these units are watched; the units, and how many granules each has."""
        if size < self.granule:  # a copy that reads some bytes of a word
            unit, size = unit * size // self.granule, self.granule
        count = size // self.granule
        if self.clipped and (unit >= self.granules // count).any():
            return unit < self.granules // count, unit, count
        block, reserved = self.of_system
        if reserved and (of_system := unit * count % block < reserved).any():
            return ~of_system, unit, count
        return ALL, unit, count

    def _watched(self, reach: Reach) -> Spread:
        """Of its granules those that are watched."""
        inside, unit, count = self._inside(reach.unit, reach.size)
        return _spread(reach.lanes[inside], unit[inside], count, reach.pc)

    def _low(self, orders: Orders) -> int:
        """What is older than this orders nobody any more."""
        return orders.low if self.private else 0

    def _write(self, orders: Orders, lanes: np.ndarray, granules: np.ndarray, count: int, time: int) -> None:
        self.write_time[granules] = time
        self.writer[granules] = np.repeat(lanes + orders.first_lane, count)

    def _recent(self, orders: Orders, lanes: np.ndarray, unit: np.ndarray, count: int) -> bool:
        """Whether a weak read may run into a write: one comparison for most accesses of a right kernel."""
        if self.strong_writes.latest:
            return True
        times = self._gather(unit, count)
        if not self.private:
            return bool((times > 0).any())
        floor = orders.floor_of(lanes)
        if self.also_wrote.latest >= np.min(floor):
            return True
        return bool((times >= (floor if isinstance(floor, int) else np.repeat(floor, count))).any())

    def _gather(self, unit: np.ndarray, count: int) -> np.ndarray:
        """The times of the last writes at every granule of these units."""
        if count not in (1, 2, 4) or len(self.write_time) % count:
            return self.write_time[granules_of(unit, count)]
        view = self._views.get(count)
        if view is None:
            view = self._views[count] = self.write_time.view(UNIT[4 * count])
        return view[unit].view(np.int32)

    def _check(self, machine: Watched, act: Act, spread: Spread, count: int, changed: Changed) -> None:
        """`count`: granules of a lane. There are none where all of an operand lies outside of shared memory."""
        orders, low = machine.orders, self._low(machine.orders)
        lanes, granules, _ = spread
        if not len(lanes):
            return
        self._check_last_write(machine, act, spread, count, changed)
        kind = "read-after-write" if act.reads else "write-after-write"
        if self.also_wrote.latest:
            some = np.repeat(changed(), count) if changed is not None else np.ones(len(lanes), bool)
            if some.any():
                found = self.also_wrote.found(orders, lanes[some], granules[some], low)
                self._report_found(machine, kind, spread.at(some), found)
        too_narrow = self._too_narrow(machine, act) if act.strong else None
        strong_ones_count = not act.strong or act.scope != GRID or self._any_narrow
        if self.strong_writes.latest and strong_ones_count:
            found = self.strong_writes.found(orders, lanes, granules, low, too_narrow)
            self._report_found(machine, kind, spread, found)
        if act.writes:
            found = self.reads.found(orders, lanes, granules, low)
            self._report_found(machine, "write-after-read", spread, found)
            if self.strong_reads.latest and strong_ones_count:
                found = self.strong_reads.found(orders, lanes, granules, low, too_narrow)
                self._report_found(machine, "write-after-read", spread, found)

    def _check_last_write(
        self, machine: Watched, act: Act, spread: Spread, count: int, changed: Changed
    ) -> None:
        whole = spread
        if changed is None:
            spread = _one_of_each_run(spread, self.writer, self.write_time)
        lanes, granules, _ = spread
        times = self.write_time[granules]
        if act.reads and (times == NEVER).any():
            self._tell_unwritten(machine, whole, count)
        flying = (times >= IN_FLIGHT) & (times != NEVER)
        if flying.any():
            self._report(machine, "unwaited-copy" if act.reads else "write-after-write", spread, flying)
        at = np.flatnonzero((times > 0) & (times < IN_FLIGHT))
        bad = np.zeros(len(times), bool)
        bad[at] = machine.orders.unseen(lanes[at], self.writer[granules[at]].astype(np.int64), times[at])
        if not bad.any():
            return
        if not act.reads and changed is not None:
            same = bad & ~np.repeat(changed(), count)
            self._keep_writers(machine.orders, granules[same], times[same])
            bad &= ~same
            if not bad.any():
                return
        self._report(machine, "read-after-write" if act.reads else "write-after-write", spread, bad)

    def _tell_unwritten(self, machine: Watched, spread: Spread, count: int) -> None:
        """Somebody reads what nobody has written. Of what a plain load finds there only a part may be used."""
        code, never = machine.launch.code, self.write_time[spread.granules] == NEVER
        plain = spread.pc in code.plain_loads
        if plain or code.instructions[spread.pc].opcode.has("cas"):  # which may be for a part of the word
            each = never.reshape(-1, count)
            told = each.all(axis=1) & (spread.pc not in code.carried)
            if spread.pc in code.of_structs:
                told &= ~self._beside_written(spread.granules[::count])
            machine.holes |= plain and bool((each.any(axis=1) & ~told).any())
            never = np.repeat(told, count)
        self._report(machine, "uninitialised-read", spread, never)

    def _beside_written(self, granules: np.ndarray) -> np.ndarray:
        """Which of these lie in 8 bytes of which some were written."""
        count = 8 // self.granule
        near = (granules // count * count)[:, None] + np.arange(count)
        return (self.write_time[np.minimum(near, self.granules - 1)] != NEVER).any(axis=1)

    def _keep_last_strong(self, lanes: np.ndarray, granules: np.ndarray, time: int) -> None:
        if self.last_strong is None:
            self.last_strong = np.zeros(self.granules, np.int32), np.zeros(self.granules, np.int32)
        writers, times = self.last_strong
        writers[granules], times[granules] = lanes, time

    def _keep_writers(self, orders: Orders, granules: np.ndarray, times: np.ndarray) -> None:
        """The last writers of these granules, at these times: another thread now writes the same, unordered."""
        for time in np.unique(times):
            at = granules[times == time]
            lanes = self.writer[at].astype(np.int64) - orders.first_lane
            self.also_wrote.note(Touch(lanes, orders.first_lane, at, 1, int(time)), self._low(orders))

    @property
    def _any_narrow(self) -> bool:
        return any(self.narrow.values())

    def _races_of_strong(self, machine: Watched, act: Act) -> Callable | None:
        """Which pairs of strong accesses race; None: none can."""
        return self._too_narrow(machine, act) if act.scope != GRID or self._any_narrow else None

    def _too_narrow(self, machine: Watched, act: Act) -> Callable:
        """Which of some strong accesses are too narrow for this one, or this one for them: they are of another block,
        and one has the scope of its block; or of another cluster, and one has the scope of its cluster."""
        orders = machine.orders

        def matters(lanes: np.ndarray, others: np.ndarray, times: np.ndarray) -> np.ndarray:
            found, pcs = np.zeros(len(lanes), bool), orders.trail.pcs(times)
            for scope, instructions in self.narrow.items():
                span = _span(machine, scope)
                apart = others // span != (lanes + orders.first_lane) // span
                found |= apart if act.scope == scope else apart & np.isin(pcs, list(instructions))
            return found

        return matters

    def _check_within(self, machine: Watched, act: Act, spread: Spread, time: int) -> None:
        """Strong accesses of one instruction with a narrow scope: lanes of two blocks, or of two clusters, at one place
        race."""
        if self.private or not act.writes:
            return
        lanes, granules = spread.lanes + machine.orders.first_lane, spread.granules
        order = np.argsort(granules, kind="stable")
        same = np.diff(granules[order]) == 0
        apart = np.diff(lanes[order] // _span(machine, act.scope)) != 0
        at = np.flatnonzero(same & apart)
        if len(at):
            first, second = order[at[0]], order[at[0] + 1]
            kind = "read-after-write" if act.reads else "write-after-write"
            lane = int(lanes[second]) - machine.orders.first_lane
            race = Race(kind, int(granules[first]), lane, int(lanes[first]), time, False, len(at))
            machine.findings.race(self, spread.pc, race)

    def _report_found(self, machine: Watched, kind: str, spread: Spread, found: Found | None) -> None:
        if found is not None and found.bad.any():
            lanes, granules, pc = spread.at(found.bad)
            others, times = found.lanes[found.bad], found.times[found.bad]
            lane, other, count = int(lanes[0]), int(others[0]), len(np.unique(lanes))
            near = one_warp(machine, lanes, others)
            race = Race(kind, int(granules[0]), lane, other, int(times[0]), False, count, near)
            machine.findings.race(self, pc, race)

    def _report(self, machine: Watched, kind: str, spread: Spread, where: np.ndarray | None = None) -> None:
        """Report `kind` against the last writes, where it is."""
        if where is not None and not where.any():
            return
        lanes, granules, pc = spread if where is None else spread.at(where)
        granule, lane, count = int(granules[0]), int(lanes[0]), len(np.unique(lanes))
        if (time := int(self.write_time[granule])) == NEVER:
            race = Race(kind, granule, lane, NOBODY, 0, False, count)
        else:
            near = one_warp(machine, lanes, self.writer[granules])
            other, flying = int(self.writer[granule]), time >= IN_FLIGHT
            race = Race(kind, granule, lane, other, time % IN_FLIGHT, flying, count, near)
        machine.findings.race(self, pc, race)


def _some_of(changed: Callable[[], np.ndarray], inside: np.ndarray | slice) -> np.ndarray:
    return changed()[inside]


def _spread(lanes: np.ndarray, unit: np.ndarray, count: int, pc: int) -> Spread:
    """Units of `count` granules each."""
    return Spread(np.repeat(lanes, count), granules_of(unit, count), pc)


def _one_of_each_run(spread: Spread, writers: np.ndarray, times: np.ndarray) -> Spread:
    """Of granules side by side that one lane touches, and that one lane wrote at one time, the first; `writers` and
    `times` are tables by granule."""
    lanes, granules, _ = spread
    if len(lanes) <= FEW or lanes[0] != lanes[FEW]:
        return spread
    return spread.at(starts_of_runs(lanes, writers[granules], times[granules]))


def one_warp(machine: Watched, lanes: np.ndarray, others: np.ndarray) -> bool:
    """Whether each of these lanes of the machine is of the same warp as the other one, of the grid."""
    mine, threads = lanes + machine.orders.first_lane, machine.launch.threads
    same = (mine // threads == others // threads) & (mine % threads // WARP == others % threads // WARP)
    return bool(same.all())


def _span(machine: Watched, scope: int) -> int:
    """Lanes in a block, or in a cluster."""
    return machine.launch.threads * (machine.launch.cluster_size if scope == CLUSTER else 1)
