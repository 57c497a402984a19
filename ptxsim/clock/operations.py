"""What instructions do behind their issue: a type for each kind, with what happens when it is issued, when it is first
in line for memory, what it may be held by, and which units of the SM it needs.

`core.Op` has what all instructions have; a type here has the fields of its kind besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..gpus import SECTOR
from .core import Mbarrier, Op, Unit, Use, Warp, Write
from .costs import (
    AWAIT_LATENCY,
    BULK_LATENCY,
    BULK_SHARE,
    COPY_INTERVAL,
    FMA,
    MEMORY,
    NO_PIPE,
    OF_AN_H100,
    PRODUCT_EVERY,
    TENSOR,
    WIDE_ISSUE,
)
from .memory import OPEN_ROW, Rates
from .reasons import FOR_BARRIER, FOR_BRANCH, FOR_COPIES, FOR_GLOBAL, FOR_PIPE, FOR_RESULT, FOR_SHARED

Asked = Sequence[tuple[Unit, float]]
WAVEFRONT = 128
"""Bytes that go through the port of shared memory at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arithmetic(Op):
    """On a pipe, and its result comes after a fixed time, which the stalls behind it know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wide(Arithmetic):
    """A product of 64 bits, beside which a sub-core issues nothing else."""

    keeps: ClassVar[int] = WIDE_ISSUE


@dataclass(frozen=True, slots=True, kw_only=True)
class Math(Arithmetic):
    """On the FMA units or the tensor cores of a sub-core."""

    use: ClassVar[Use] = "math"

    def asks(self, rates: Rates) -> Asked:
        if self.pipe == FMA:
            return [("arithmetic", self.interval / rates.costs.fma_halves)]
        return [("tensor cores", self.interval)] if self.pipe == TENSOR else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed(Op):
    """Clears a scoreboard `latency` cycles after its pipe began."""

    latency: float

    def issue(self, warp: Warp, begin: float) -> None:
        warp.sets(self.sets, begin + self.latency, FOR_RESULT)
        warp.sets(self.read, begin + self.interval, FOR_RESULT)
        warp.step()


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch(Op):
    """One that is taken. `taken`: cycles until what comes next."""

    taken: float = OF_AN_H100.taken
    leaves: ClassVar[int] = FOR_BRANCH

    def issue(self, warp: Warp, begin: float) -> None:
        warp.free = max(warp.free, begin + self.taken)
        warp.step()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit(Op):
    def issue(self, warp: Warp, begin: float) -> None:
        warp.leave()


# ------------------------------------------------------------------ in line for memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued(Op):
    """Gets in line for memory; what it sets is not known before it is first there."""

    pipe: int = MEMORY

    def issue(self, warp: Warp, begin: float) -> None:
        for scoreboard in self.scoreboards:
            warp.due[scoreboard] += 1
        warp.core.enter(self, warp, begin)
        warp.step()

    @property
    def scoreboards(self) -> list[int]:
        """Those that it sets."""
        return [scoreboard for scoreboard in (self.sets, self.read) if scoreboard >= 0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared(Queued):
    """An access to shared memory: `wavefronts` through its port; `latency`: from its turn to the result. `writes`:
    registers of a lane that get it, in cycles without results of arithmetic."""

    wavefronts: float
    latency: float = 0.0
    writes: int = 0
    use: ClassVar[Use] = "shared"
    what: ClassVar[int] = FOR_SHARED

    def serve(self, warp: Warp, begin: float) -> None:
        core, memory = warp.core, warp.core.memory
        # Behind the tags of the copies that came before. M: research/record_loads_behind_copies.py
        through = memory.through_port(max(begin, memory.tags), self.wavefronts)
        late = max(through - begin - self.interval, 0.0)
        leaves = begin + late + self.interval
        core.send(leaves)
        there = begin + late + self.latency
        if self.writes:
            core.writes.append(Write(there - self.writes, self.writes, warp, self.sets))
            core.time = min(core.time, core.writes[0].end(core.clean))
        else:
            warp.sets(self.sets, there, self.what)
        warp.sets(self.read, leaves, FOR_SHARED)
        warp.known([self.read] * (self.read >= 0) if self.writes else self.scoreboards, begin)

    def asks(self, rates: Rates) -> Asked:
        return [("shared memory", self.wavefronts)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shuffle(Shared):
    """Goes through the same port."""

    wavefronts: float = 1.0
    use: ClassVar[Use] = ""
    what: ClassVar[int] = FOR_RESULT


@dataclass(frozen=True, slots=True, kw_only=True)
class Passing(Shared):
    """Clears no scoreboard and asks memory for nothing, but has its place in line: R2UR, S2R and LDC where a stall
    covers them. A: that they are in line at all."""

    wavefronts: float = 0.0
    use: ClassVar[Use] = ""

    def asks(self, rates: Rates) -> Asked:
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Load(Queued):
    """Of `sectors` of global memory, in so many `wavefronts` through L1. `past_l1`: it is asked for in L2, always."""

    wavefronts: float
    sectors: tuple[int, ...]
    past_l1: bool = False
    use: ClassVar[Use] = "copy"

    def issue(self, warp: Warp, begin: float) -> None:
        # Measured for loads; whether stores and copies do so, too, nobody has looked.
        warp.core.address = begin + 1
        Queued.issue(self, warp, begin)

    def serve(self, warp: Warp, begin: float) -> None:
        memory = warp.core.memory
        late = max(memory.through_port(begin, self.wavefronts) - begin - self.interval, 0.0)
        leaves = begin + late + self.interval
        in_l1 = begin + late + memory.wavefront * self.wavefronts + memory.l1_latency
        done = max(in_l1, memory.loaded(self.sectors, warp, leaves, self.past_l1))
        warp.core.send(begin + self.interval)
        warp.sets(self.sets, done, FOR_GLOBAL)
        warp.sets(self.read, leaves, FOR_GLOBAL)
        warp.known(self.scoreboards, begin)

    def asks(self, rates: Rates) -> Asked:
        return _through_port_from_l2(self.wavefronts, self.sectors, rates)


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy(Queued):
    """From global to shared memory: `lookups`: cycles of L1's tags; `wavefronts` through L1 when its `sectors` come."""

    interval: float = COPY_INTERVAL
    lookups: float = 0.0
    wavefronts: float = 0.0
    sectors: tuple[int, ...]
    use: ClassVar[Use] = "copy"

    def serve(self, warp: Warp, begin: float) -> None:
        memory = warp.core.memory
        leaves = begin + self.interval
        looked_up = memory.look_up(leaves, self.lookups)
        comes = memory.from_l2(looked_up, len(self.sectors)) + memory.copy_latency
        done = max(memory.in_l2(number, warp, comes) for number in self.sectors)
        if self.wavefronts:
            memory.later(done, self.wavefronts)
        warp.copied = max(warp.copied, done)
        warp.core.send(leaves)
        warp.sets(self.sets, done, FOR_COPIES)
        warp.sets(self.read, looked_up, FOR_COPIES)
        warp.known(self.scoreboards, begin)

    def asks(self, rates: Rates) -> Asked:
        return _through_port_from_l2(self.wavefronts, self.sectors, rates)


def _through_port_from_l2(wavefronts: float, sectors: tuple[int, ...], rates: Rates) -> Asked:
    from_l2: tuple[Unit, float] = "L2", SECTOR * len(sectors) / rates.l2_bytes
    return [("shared memory", wavefronts), from_l2] if wavefronts else [from_l2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Store(Queued):
    """Of `sectors` of global memory, in so many `wavefronts`. `written`: sectors by what they take, where one that is
    written in part takes longer."""

    wavefronts: float
    written: float
    sectors: tuple[int, ...] = ()
    use: ClassVar[Use] = "store"

    def serve(self, warp: Warp, begin: float) -> None:
        memory = warp.core.memory
        late = max(memory.through_port(begin, self.wavefronts) - begin - self.interval, 0.0)
        leaves = max(begin + late + self.interval, memory.to_l2(begin, SECTOR * self.written))
        if memory.new:
            leaves = max(leaves, memory.to_dram(self.sectors, warp, begin))
        memory.written(self.sectors, warp, leaves)
        warp.core.send(leaves)
        warp.sets(self.read, leaves, FOR_GLOBAL)
        warp.known(self.scoreboards, begin)

    def asks(self, rates: Rates) -> Asked:
        stores: tuple[Unit, float] = "stores", SECTOR * self.written / rates.store_bytes
        return [("shared memory", self.wavefronts), stores]


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit(Queued):
    """Makes a group of the warp's copies when all before it have gone; takes nothing of the way to memory."""

    pipe: int = NO_PIPE

    def issue(self, warp: Warp, begin: float) -> None:
        warp.commits += 1
        Queued.issue(self, warp, begin)

    def serve(self, warp: Warp, begin: float) -> None:
        there = max(warp.copied, warp.groups[-1] if warp.groups else 0.0)
        warp.groups.append(there)
        warp.sets(self.sets, there, FOR_COPIES)
        warp.core.send(begin)
        warp.known(self.scoreboards, begin)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiesWait(Op):
    """Until no more than so many `groups` of copies are on their way."""

    groups: int = 0
    use: ClassVar[Use] = "wait"
    gated: ClassVar[bool] = True

    def gate(self, warp: Warp) -> tuple[float, int] | None:
        last = warp.commits - 1 - self.groups
        if last >= len(warp.groups):
            return None
        return (warp.groups[last], FOR_COPIES) if last >= 0 else (0.0, FOR_COPIES)


# ------------------------------------------------------------------ at barriers


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrive(Op):
    """At the barrier of this `number`, which opens for so many `warps` (0: all of the block)."""

    number: int = 0
    warps: int = 0

    def issue(self, warp: Warp, begin: float) -> None:
        warp.step()
        warp.block.arrive(self.number, self.warps, begin, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync(Arrive):
    """The same, and the warp waits until it opens."""

    use: ClassVar[Use] = "barrier"

    def issue(self, warp: Warp, begin: float) -> None:
        warp.step(held=True)
        warp.block.arrive(self.number, self.warps, begin, warp)


@dataclass(frozen=True, slots=True, kw_only=True)
class AtMbarrier(Op):
    """`mbarrier`: its address in the block's shared memory."""

    mbarrier: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Init(AtMbarrier):
    """`count`: arrivals of a phase."""

    count: int

    def issue(self, warp: Warp, begin: float) -> None:
        warp.step()
        warp.block.mbarriers[self.mbarrier] = Mbarrier(self.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal(AtMbarrier):
    """So many `arrivals`, and bytes that are `expected` from copies; what another block of the cluster does comes
    `late`."""

    arrivals: int
    expected: int = 0
    late: float = 0.0

    def issue(self, warp: Warp, begin: float) -> None:
        warp.step()
        mbarrier = warp.block.mbarriers[self.mbarrier]
        mbarrier.missing -= self.arrivals
        mbarrier.expected += self.expected
        mbarrier.came(begin + self.late, begin)


@dataclass(frozen=True, slots=True, kw_only=True)
class Await(AtMbarrier):
    """Asks whether a phase has ended: the first one, or none, where the first `parity` asked for is 1; then each time
    the next. The scoreboard is clear when it has."""

    parity: int
    use: ClassVar[Use] = "wait"

    def issue(self, warp: Warp, begin: float) -> None:
        phase = warp.awaited.get(self.mbarrier, -self.parity)
        warp.awaited[self.mbarrier] = phase + 1
        mbarrier = warp.block.mbarriers[self.mbarrier]
        if phase < len(mbarrier.ended):
            why = mbarrier.ended[phase][1] if phase >= 0 else FOR_BARRIER
            warp.sets(self.sets, begin + AWAIT_LATENCY, why)
        if phase >= 0:
            warp.due[self.sets] += 1
            mbarrier.wait(warp, phase, self.sets, begin)
        warp.step()


# ------------------------------------------------------------------ of Hopper's copy engine and tensor cores


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulk(AtMbarrier):
    """A copy of so many bytes (`size`) to shared memory. Of one for several blocks this SM asks L2 for a `part`."""

    size: int
    part: float = 1.0
    use: ClassVar[Use] = "copy"

    def issue(self, warp: Warp, begin: float) -> None:
        warp.step()
        memory, mbarrier = warp.core.memory, warp.block.mbarriers[self.mbarrier]
        late = OPEN_ROW if memory.dram else 0  # A: machine code does not say of which array it is
        comes = memory.from_l2(begin, BULK_SHARE * self.size / SECTOR, self.part)
        mbarrier.coming += self.size
        mbarrier.came(comes + BULK_LATENCY + late, begin)

    def asks(self, rates: Rates) -> Asked:
        return [("L2", BULK_SHARE * self.part * self.size / rates.l2_bytes)]


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkStore(Op):
    """So many bytes (`size`) from shared memory, waited for as copies are: until they have been read."""

    size: int
    use: ClassVar[Use] = "store"

    def issue(self, warp: Warp, begin: float) -> None:
        memory = warp.core.memory
        leaves = memory.to_l2(begin, self.size)
        warp.copied = max(warp.copied, memory.through_port(begin, self.size / WAVEFRONT), leaves)
        warp.step()

    def asks(self, rates: Rates) -> Asked:
        return [("shared memory", self.size / WAVEFRONT), ("stores", self.size / rates.store_bytes)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Meet(Op):
    """wgmma.fence, behind which the four warps of a warpgroup begin together."""

    def issue(self, warp: Warp, begin: float) -> None:
        warp.step()
        warp.block.meet(warp, begin)


@dataclass(frozen=True, slots=True, kw_only=True)
class Product(Op):
    """A warp's part of a wgmma: `cycles` of its sub-core's tensor cores, for which it gets in line. `ends`: a group
    ends with it."""

    cycles: float
    ends: bool = False
    use: ClassVar[Use] = "math"
    gated: ClassVar[bool] = True
    multiplies: ClassVar[bool] = True

    def gate(self, warp: Warp) -> tuple[float, int]:
        return warp.sent + PRODUCT_EVERY, FOR_PIPE

    def issue(self, warp: Warp, begin: float) -> None:
        warp.sent = begin
        warp.multiplied += 1
        warp.begun = not self.ends
        warp.product_groups += self.ends
        warp.step()
        warp.core.multiply(self.cycles, self.ends, warp, begin)

    def asks(self, rates: Rates) -> Asked:
        return [("tensor cores", self.cycles)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductsWait(Op):
    """Until no more than so many `groups` of wgmma are at work."""

    groups: int = 0
    use: ClassVar[Use] = "math"
    gated: ClassVar[bool] = True

    def gate(self, warp: Warp) -> tuple[float, int] | None:
        last = warp.product_groups - 1 - self.groups
        if last >= len(warp.products):
            return None
        return (warp.products[last], FOR_PIPE) if last >= 0 else (0.0, FOR_PIPE)
