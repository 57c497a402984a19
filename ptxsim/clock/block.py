"""One block on an SM: its warps' events, played in the order of their times against the rates of a GPU."""

import heapq
from collections.abc import Callable
from functools import partial

from ..gpus import SECTOR, SUB_CORES, Rates
from ..observe.events import (
    Arrive,
    Barrier,
    ClusterWait,
    Commit,
    Copy,
    Event,
    Load,
    ReadClock,
    Store,
    UseLoads,
    Wait,
    Work,
)
from .engines import Engines
from .played import Handler, Phase, Played, Segment, Stretch, Warp, phase_of

READ_CLOCK = 2  # cycles
CLUSTER = -1  # stands for the number of the cluster's barrier


def hoist_math(events: list[Event]) -> list[Event]:
    """Arithmetic that reads no memory moves up behind the work that loaded its operands, as ptxas moves it."""
    result: list[Event] = []
    loaded: tuple[int, Work] | None = None  # the last work with wavefronts, and where it stands
    for event in events:
        if isinstance(event, Work):
            if event.wavefronts:
                loaded = len(result), event
            elif event.math and loaded is not None:
                place, work = loaded
                loaded = place, work + event
                result[place] = work + event
                continue
        result.append(event)
    return result


class _Server:
    """A resource that serves one after the other, in the order in which they ask."""

    def __init__(self, stretch: float) -> None:
        self.stretch, self.free, self.busy = stretch, 0.0, 0.0

    def serve(self, time: float, cycles: float) -> float:
        """When a request made at `time` is done."""
        self.busy += cycles * self.stretch
        self.free = max(time, self.free) + cycles * self.stretch
        return self.free

    def slip_in(self, time: float, cycles: float) -> float:
        """When a few instructions are done, of which every other one comes between those of the request served now."""
        turns = 2 if self.free > time else 1
        self.serve(time, cycles)
        return time + turns * cycles * self.stretch


class Block:
    """Plays the events of a block's warps, in the order of their times."""

    def __init__(self, events: list[list[Event]], rates: Rates, stretch: Stretch) -> None:
        self.events, self.rates = events, rates
        self.cores = [_Server(stretch.core) for _ in range(SUB_CORES)]
        self.shared, self.l2 = _Server(stretch.shared), _Server(stretch.l2)
        self.stores = _Server(1.0)  # they go the other way
        self.engines = Engines(self, [_Server(stretch.tensor) for _ in range(SUB_CORES)])
        self.handlers = self.handlers_of_warps() | self.engines.handlers()
        self.queue: list[tuple[float, int, Callable[[float], None]]] = []
        self.order = 0
        self.alive = len(events)
        self.barriers: dict[int, list] = {}
        self.played = Played(clocks=[[] for _ in events])

    def run(self) -> Played:
        for index in range(len(self.events)):
            self.push(self.rates.block_start, Warp(index))
        while self.queue:
            time, _, action = heapq.heappop(self.queue)
            action(time)
        self.played.stuck = self.alive
        core = sum(core.busy for core in self.cores) / SUB_CORES
        self.played.busy = Stretch(core, self.shared.busy, self.l2.busy, self.engines.busy())
        return self.played

    def step(self, warp: Warp, time: float) -> None:
        """The next event of a warp."""
        if warp.at == len(self.events[warp.index]):
            self.alive -= 1
            return
        event = self.events[warp.index][warp.at]
        warp.at += 1
        end = self.handlers[type(event)](time, warp, event)
        if end is not None:
            if phase := phase_of(event):
                self.note(warp, phase, time, end)
            self.push(end, warp)

    def push(self, time: float, warp: Warp) -> None:
        """The warp goes on at that time."""
        self.at(time, partial(self.step, warp))

    def at(self, time: float, action: Callable[[float], None]) -> None:
        self.order += 1
        self.played.cycles = max(self.played.cycles, time)
        heapq.heappush(self.queue, (time, self.order, action))

    def note(self, warp: Warp, phase: Phase, begin: float, end: float) -> None:
        """Make a segment of it, or the last segment longer if that has the same phase and k-tile."""
        if end <= begin:
            return
        last = warp.segment
        if last is not None and (last.phase, last.k_tile) == (phase, warp.k_tile):
            last.end = end
        else:
            warp.segment = Segment(warp.index, phase, begin, end, warp.k_tile)
            self.played.segments.append(warp.segment)

    # ---- a method for each class of events: returns when the warp goes on, or None if something else wakes it

    def handlers_of_warps(self) -> dict[type[Event], Handler]:
        """For what needs no engine."""
        return {
            Work: self.do_work,
            Copy: self.do_copy,
            Commit: self.do_commit,
            Wait: self.do_wait,
            Load: self.do_load,
            UseLoads: self.do_use_loads,
            Store: self.do_store,
            ReadClock: self.do_read_clock,
            Arrive: self.do_arrive,
            Barrier: self.do_barrier,
            ClusterWait: self.do_cluster_wait,
        }

    def do_work(self, time: float, warp: Warp, work: Work) -> float:
        rates = self.rates
        busy = max(work.issue_slots, work.fma * rates.fma, work.mma * rates.mma)
        core = self.cores[warp.index % SUB_CORES]
        if not (work.math or work.wavefronts):
            return core.slip_in(time, busy)
        end = core.serve(time, busy)
        if work.wavefronts:
            end = max(end, self.shared.serve(time, work.wavefronts * rates.wavefront)) + rates.shared_latency
        return end + (rates.mma_latency if work.mma else 0.0)

    def do_copy(self, time: float, warp: Warp, copy: Copy) -> float:
        self.shared.serve(time, copy.wavefronts * self.rates.wavefront)
        warp.copies = max(warp.copies, self.fetch(time, copy.bytes))
        return time + self.rates.copy_issue

    def fetch(self, time: float, size: float) -> float:
        return self.l2.serve(time, size / self.rates.l2_bytes) + self.rates.l2_latency

    def do_commit(self, time: float, warp: Warp, _: Commit) -> float:
        warp.groups.append(max([warp.copies, *warp.groups[-1:]]))  # groups complete in order
        warp.copies = 0.0
        return time

    def do_wait(self, time: float, warp: Warp, wait: Wait) -> float:
        if wait.keep is None:
            return max([time, warp.copies, *warp.groups])
        return max([time, *warp.groups[: len(warp.groups) - wait.keep]])

    def do_load(self, time: float, warp: Warp, load: Load) -> float:
        warp.loads = max(warp.loads, self.fetch(time, load.bytes))
        return time + self.rates.copy_issue

    def do_use_loads(self, time: float, warp: Warp, _: UseLoads) -> float:
        return max(time, warp.loads)

    def do_store(self, time: float, warp: Warp, store: Store) -> float:
        """Nobody waits for a store to arrive, but the next one waits for its turn on the way to L2."""
        moved = store.sectors * SECTOR
        if store.bytes < moved:  # L2 reads the sectors that it writes in part, and then writes them whole
            moved *= 2
        return max(time + self.rates.copy_issue, self.stores.serve(time, moved / self.rates.l2_bytes))

    def do_read_clock(self, time: float, warp: Warp, _: ReadClock) -> float:
        self.played.clocks[warp.index].append(time)
        return time + READ_CLOCK

    def do_arrive(self, time: float, warp: Warp, barrier: Arrive) -> float:
        self.meet(time, warp, barrier.id, barrier.count, waits=False)
        return time

    def do_barrier(self, time: float, warp: Warp, barrier: Barrier) -> None:
        self.meet(time, warp, barrier.id, barrier.count, waits=True)

    def do_cluster_wait(self, time: float, warp: Warp, _: ClusterWait) -> None:
        """The cluster's barrier: the other blocks come when this one comes."""
        self.meet(time, warp, CLUSTER, None, waits=True)

    def meet(self, time: float, warp: Warp, ident: int, count: int | None, waits: bool) -> None:
        there = self.barriers.setdefault(ident, [])
        there.append((time, warp, waits))
        if len(there) < (count // 32 if count else self.alive):
            return
        end = max(t for t, _, _ in there) + self.rates.barrier + self.rates.barrier_warp * len(there)
        for t, other, waited in there:
            if waited:
                self.note(other, "barrier", t, end)
                self.push(end, other)
        there.clear()
