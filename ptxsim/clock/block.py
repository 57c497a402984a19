"""One block on an SM: its warps' events, played in the order of their times against the rates of a GPU."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial

from ..gpus import SUB_CORES, Rates
from ..observe.counters import SECTOR
from ..observe.recorder import Event
from .engines import Engines
from .played import PHASES, RESOURCES, Played, Segment, Stretch, Warp

CLOCK_READ = 2  # cycles
CLUSTER = -1  # stands for the number of the cluster's barrier


def hoist_math(events: list[Event]) -> list[Event]:
    """Arithmetic that reads no memory moves up behind the work that loaded its operands, as ptxas moves it."""
    result: list[Event] = []
    loaded = None  # where the last work with wavefronts stands
    for event in events:
        if event[0] == "work" and event[4] == 0 and (event[2] or event[3]) and loaded is not None:
            result[loaded] = ("work", *(a + b for a, b in zip(result[loaded][1:], event[1:], strict=True)))
            continue
        if event[0] == "work" and event[4]:
            loaded = len(result)
        result.append(event)
    return result


class _Server:
    """A resource that serves one after the other, in the order in which they ask."""

    def __init__(self, stretch: float) -> None:
        self.stretch, self.free, self.busy = stretch, 0.0, 0.0
        self.spans: list[tuple[float, float]] = []  # when it served, without gaps between neighbours

    def serve(self, time: float, cycles: float, seen: bool = True) -> float:
        """When a request made at `time` is done; `seen`: it shows in the spans."""
        self.busy += cycles * self.stretch
        begin = max(time, self.free)
        self.free = begin + cycles * self.stretch
        if seen and self.spans and begin <= self.spans[-1][1]:
            begin = self.spans.pop()[0]
        if seen and self.free > begin:
            self.spans.append((begin, self.free))
        return self.free

    def slip_in(self, time: float, cycles: float) -> float:
        """When a few instructions are done, of which every other one comes between those of the request served now."""
        turns = 2 if self.free > time else 1
        self.serve(time, cycles, seen=False)
        return time + turns * cycles * self.stretch


class Block:
    """Plays the events of a block's warps, in the order of their times."""

    def __init__(self, events: list[list[Event]], rates: Rates, stretch: Stretch) -> None:
        self.events, self.rates = events, rates
        self.cores = [_Server(stretch.core) for _ in range(SUB_CORES)]
        self.shared, self.l2 = _Server(stretch.shared), _Server(stretch.l2)
        self.stores = _Server(1.0)  # they go the other way
        self.engines = Engines(self, [_Server(stretch.tensor) for _ in range(SUB_CORES)])
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
        servers = self.cores[0], self.shared, self.l2
        spans = {name: server.spans for name, server in zip(RESOURCES, servers)}
        self.played.spans = spans | self.engines.spans()
        return self.played

    def step(self, warp: Warp, time: float) -> None:
        """The next event of a warp."""
        if warp.at == len(self.events[warp.index]):
            self.alive -= 1
            return
        event = self.events[warp.index][warp.at]
        warp.at += 1
        name = "do_" + event[0]
        end = getattr(self if hasattr(self, name) else self.engines, name)(time, warp, *event[1:])
        if end is not None:
            math = event[0] == "work" and any(event[2:])
            self.note(warp, "math" if math else PHASES.get(event[0], ""), time, end)
            self.push(end, warp)

    def push(self, time: float, warp: Warp) -> None:
        """The warp goes on at that time."""
        self.at(time, partial(self.step, warp))

    def at(self, time: float, action: Callable[[float], None]) -> None:
        self.order += 1
        self.played.cycles = max(self.played.cycles, time)
        heapq.heappush(self.queue, (time, self.order, action))

    def note(self, warp: Warp, phase: str, begin: float, end: float) -> None:
        """Make a segment of it, or the last segment longer if that has the same phase and k-tile."""
        if not phase or end <= begin:
            return
        last = warp.segment
        if last is not None and (last.phase, last.k_tile) == (phase, warp.k_tile):
            last.end = end
        else:
            warp.segment = Segment(warp.index, phase, begin, end, warp.k_tile)
            self.played.segments.append(warp.segment)

    # ---- one method an event: returns when the warp goes on, or None if something else wakes it

    def do_work(
        self, time: float, warp: Warp, issue: float, fma: float, mma: float, wavefronts: float
    ) -> float:
        rates = self.rates
        busy = max(issue, fma * rates.fma, mma * rates.mma)
        core = self.cores[warp.index % SUB_CORES]
        if not (fma or mma or wavefronts):
            return core.slip_in(time, busy)
        end = core.serve(time, busy, seen=bool(fma or mma))
        if wavefronts:
            end = max(end, self.shared.serve(time, wavefronts * rates.wavefront)) + rates.shared_latency
        return end + (rates.mma_latency if mma else 0.0)

    def do_copy(self, time: float, warp: Warp, size: float, wavefronts: float) -> float:
        self.shared.serve(time, wavefronts * self.rates.wavefront)
        warp.copies = max(warp.copies, self.fetch(time, size))
        return time + self.rates.copy_issue

    def fetch(self, time: float, size: float) -> float:
        return self.l2.serve(time, size / self.rates.l2_bytes) + self.rates.l2_latency

    def do_commit(self, time: float, warp: Warp) -> float:
        warp.groups.append(max([warp.copies, *warp.groups[-1:]]))  # groups complete in order
        warp.copies = 0.0
        return time

    def do_wait(self, time: float, warp: Warp, keep: int | None) -> float:
        if keep is None:
            return max([time, warp.copies, *warp.groups])
        return max([time, *warp.groups[: len(warp.groups) - keep]])

    def do_load(self, time: float, warp: Warp, size: float) -> float:
        warp.loads = max(warp.loads, self.fetch(time, size))
        return time + self.rates.copy_issue

    def do_join(self, time: float, warp: Warp) -> float:
        return max(time, warp.loads)

    def do_store(self, time: float, warp: Warp, size: float, sectors: float) -> float:
        """Nobody waits for a store to arrive, but the next one waits for its turn on the way to L2."""
        moved = sectors * SECTOR
        if size < moved:  # L2 reads the sectors that it writes in part, and then writes them whole
            moved *= 2
        return max(time + self.rates.copy_issue, self.stores.serve(time, moved / self.rates.l2_bytes))

    def do_clock(self, time: float, warp: Warp) -> float:
        self.played.clocks[warp.index].append(time)
        return time + CLOCK_READ

    def do_arrive(self, time: float, warp: Warp, ident: int, count: int | None) -> float:
        self.meet(time, warp, ident, count, waits=False)
        return time

    def do_barrier(self, time: float, warp: Warp, ident: int, count: int | None) -> None:
        self.meet(time, warp, ident, count, waits=True)

    def do_cluster(self, time: float, warp: Warp) -> None:
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
