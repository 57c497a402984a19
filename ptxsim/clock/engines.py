"""What works beside the warps, as the clock sees it: mbarriers, the copy engine, and tensor cores that are given wgmma.

An mbarrier counts arrivals and bytes as the real one does (PTX ISA, "mbarrier"); the other blocks of a cluster are
taken to do at each moment what the watched one does. So a copy to n blocks brings n times its bytes, of which n - 1
come from the copies of the others, and an arrival at another block's mbarrier stands for theirs at this one's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from ..gpus import SUB_CORES
from ..observe.events import (
    BulkCommit,
    BulkCopy,
    BulkStore,
    BulkWait,
    Event,
    MbarrierArrive,
    MbarrierArriveAfterCopies,
    MbarrierAsk,
    MbarrierExpect,
    MbarrierInit,
    MbarrierWait,
    Wgmma,
    WgmmaCommit,
    WgmmaWait,
)
from .played import Handler, Player, Server, Warp

N = 256
"""Of the wgmma that `Rates.wgmma` tells the time of."""
LEAST = 16
"""Cycles of an m64nNk16 at a full clock: N / 2 down to N = 64; below, 16 + N / 4 (arXiv 2501.12084: 18 at N = 8, 24 at
N = 32)."""


def wgmma_cycles(n: int) -> float:
    """Cycles for which a wgmma of this N keeps the four tensor cores busy, at a clock that nothing holds back."""
    return max(n / 2, LEAST + n / 4)


@dataclass
class _Mbarrier:
    count: int = 0
    pending: int = 0
    bytes: int = 0
    phase: int = 0
    waiting: list[tuple[int, float, Warp]] = field(default_factory=list)  # (phase, since, who)


@dataclass
class _Groups:
    """Of a warp: when what it started since its last commit is done, and each of its groups."""

    open: float = 0.0
    closed: list[float] = field(default_factory=list)

    def commit(self) -> None:
        self.closed.append(max([self.open, *self.closed[-1:]]))  # in order
        self.open = 0.0

    def done(self, keep: int) -> float:
        """When all but the last `keep` groups are."""
        return max([0.0, *self.closed[: max(len(self.closed) - keep, 0)]])


class Engines:
    """Of one block that is played. Each do_... is for one class of events, as in block.py."""

    def __init__(self, block: Player, servers: Sequence[Server]) -> None:
        """`servers`: the tensor cores of the sub-cores."""
        self.block, self.rates = block, block.rates
        self.tensor = servers
        self.mbarriers: dict[int, _Mbarrier] = {}
        self.waits: dict[tuple[int, int], int] = {}  # (warp, mbarrier): how many
        self.math: dict[int, _Groups] = {}
        self.mathematicians = {
            warp
            for warp, events in enumerate(block.events)
            if any(isinstance(event, Wgmma) for event in events)
        }
        self.reads: dict[int, _Groups] = {}  # of stores, by warp: until their sources are read
        self.stores: dict[int, _Groups] = {}
        self.bulk_copies = 0  # that it was asked for

    def handlers(self) -> dict[type[Event], Handler]:
        return {
            MbarrierInit: self.do_init,
            MbarrierExpect: self.do_expect,
            MbarrierArrive: self.do_arrive,
            MbarrierArriveAfterCopies: self.do_arrive_after_copies,
            MbarrierAsk: self.do_ask,
            MbarrierWait: self.do_wait,
            BulkCopy: self.do_bulk_copy,
            BulkStore: self.do_bulk_store,
            BulkCommit: self.do_bulk_commit,
            BulkWait: self.do_bulk_wait,
            Wgmma: self.do_wgmma,
            WgmmaCommit: self.do_wgmma_commit,
            WgmmaWait: self.do_wgmma_wait,
        }

    # ---- mbarriers

    def at(self, offset: int) -> _Mbarrier:
        return self.mbarriers.setdefault(offset, _Mbarrier())

    def do_init(self, time: float, warp: Warp, init: MbarrierInit) -> float:
        self.mbarriers[init.mbarrier] = _Mbarrier(init.arrivals, init.arrivals)
        return time

    def do_expect(self, time: float, warp: Warp, expect: MbarrierExpect) -> float:
        self.at(expect.mbarrier).bytes += expect.bytes
        return time

    def do_arrive(self, time: float, warp: Warp, arrive: MbarrierArrive) -> float:
        self.arrive(arrive.mbarrier, arrive.arrivals, time)
        return time

    def do_arrive_after_copies(self, time: float, warp: Warp, arrive: MbarrierArriveAfterCopies) -> float:
        if not arrive.noinc:
            self.at(arrive.mbarrier).pending += arrive.arrivals
        landed = max([time, warp.copies, *warp.groups])
        self.block.at(landed, partial(self.arrive, arrive.mbarrier, arrive.arrivals))
        return time

    def arrive(self, offset: int, arrivals: int, time: float) -> None:
        barrier = self.at(offset)
        barrier.pending -= arrivals
        self.look(barrier, time)

    def do_ask(self, time: float, warp: Warp, _: MbarrierAsk) -> float:
        return time

    def do_wait(self, time: float, warp: Warp, wait: MbarrierWait) -> float | None:
        warp.k_tile = self.next_k_tile(warp)
        barrier, key = self.at(wait.mbarrier), (warp.index, wait.mbarrier)
        phase = self.waits.get(key, 0) + wait.ahead
        self.waits[key] = self.waits.get(key, 0) + 1
        if phase < barrier.phase:
            return time
        barrier.waiting.append((phase, time, warp))
        return None

    def next_k_tile(self, warp: Warp) -> int:
        """Of a warp that waits: a wgmma group is a k-tile; a warp without wgmma waits once for each."""
        if warp.index in self.mathematicians:
            return len(self.math.get(warp.index, _Groups()).closed)
        return warp.k_tile + 1

    def look(self, barrier: _Mbarrier, time: float) -> None:
        """Complete the phase, if it lacks nothing, and wake who waits for it."""
        if barrier.pending or barrier.bytes:
            return
        barrier.phase += 1
        barrier.pending = barrier.count
        end = time + self.rates.barrier
        for phase, since, warp in barrier.waiting:
            if phase < barrier.phase:
                self.block.note(warp, "wait", since, end)
                self.block.push(end, warp)
        barrier.waiting = [entry for entry in barrier.waiting if entry[0] >= barrier.phase]

    # ---- copies

    def do_bulk_copy(self, time: float, warp: Warp, copy: BulkCopy) -> float:
        self.bulk_copies += 1
        end = self.block.l2.serve(time, copy.bytes / self.rates.l2_bulk) + self.rates.l2_latency
        self.block.at(end, partial(self.land, self.at(copy.mbarrier), copy.bytes * copy.blocks))
        return time + self.rates.copy_issue

    def land(self, barrier: _Mbarrier, size: int, time: float) -> None:
        barrier.bytes -= size
        self.look(barrier, time)

    def do_bulk_store(self, time: float, warp: Warp, store: BulkStore) -> float:
        port = store.bytes / 128 * self.rates.wavefront
        read = self.block.shared.serve(time, port) + self.rates.shared_latency
        end = self.block.stores.serve(read, store.bytes / self.rates.l2_bulk) + self.rates.l2_latency
        for groups, at in ((self.reads, read), (self.stores, end)):
            mine = groups.setdefault(warp.index, _Groups())
            mine.open = max(mine.open, at)
        return time + self.rates.copy_issue

    def do_bulk_commit(self, time: float, warp: Warp, _: BulkCommit) -> float:
        for groups in (self.reads, self.stores):
            groups.setdefault(warp.index, _Groups()).commit()
        return time

    def do_bulk_wait(self, time: float, warp: Warp, wait: BulkWait) -> float:
        groups = (self.reads if wait.read else self.stores).get(warp.index, _Groups())
        return max(time, groups.done(wait.keep))

    # ---- tensor cores

    def do_wgmma(self, time: float, warp: Warp, wgmma: Wgmma) -> float:
        """Each warp of the warpgroup gives its share to the tensor core of its sub-core, and goes on."""
        cycles = self.rates.wgmma * wgmma_cycles(wgmma.n) / wgmma_cycles(N)
        read = self.block.shared.serve(time, wgmma.wavefronts * self.rates.wavefront)
        end = max(read, self.tensor[warp.index % SUB_CORES].serve(time, cycles)) + self.rates.mma_latency
        mine = self.math.setdefault(warp.index, _Groups())
        mine.open = max(mine.open, end)
        return time + 1

    def do_wgmma_commit(self, time: float, warp: Warp, _: WgmmaCommit) -> float:
        self.math.setdefault(warp.index, _Groups()).commit()
        return time

    def do_wgmma_wait(self, time: float, warp: Warp, wait: WgmmaWait) -> float:
        return max(time, self.math.get(warp.index, _Groups()).done(wait.keep))

    # ---- what is said of them

    def busy(self) -> float:
        return sum(core.busy for core in self.tensor) / SUB_CORES
