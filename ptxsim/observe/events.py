"""What one warp does, as far as a replay needs to know: a class for each kind of event. `Event` is any of them.

Bytes, sectors and wavefronts are the warp's share: where several warps run an instruction together, their mean.
An mbarrier is named by its offset in shared memory, in bytes. Events of different classes are never equal.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MOST_EVENTS = 4000  # of one warp; what comes later is not recorded


@dataclass(frozen=True, slots=True)
class Work:
    """All instructions between two other events, where they compute or use shared memory: `fma` instructions (float32)
    and `mma` (as many m16n8k16 as would take the same time), `wavefronts` of shared memory."""

    fma: float
    mma: float
    wavefronts: float

    @property
    def math(self) -> float:
        """FMA and mma instructions."""
        return self.fma + self.mma

    def __add__(self, more: "Work") -> "Work":
        return Work(self.fma + more.fma, self.mma + more.mma, self.wavefronts + more.wavefronts)


# --------------------------------------------------------------------------- cp.async


@dataclass(frozen=True, slots=True)
class Copy:
    """cp.async: so many bytes set off to shared memory."""

    bytes: float


@dataclass(frozen=True, slots=True)
class Commit:
    """cp.async.commit_group: the copies since the last one are a group."""


@dataclass(frozen=True, slots=True)
class Wait:
    """cp.async.wait_group: until all but the newest `keep` commit groups have landed. None, cp.async.wait_all: until
    every copy has, also one in no group."""

    keep: int | None


# --------------------------------------------------------------------------- bar


@dataclass(frozen=True, slots=True)
class Barrier:
    """bar.sync, barrier.sync, bar.red: come to barrier number `id` and wait there for `count` threads in all. None: for
    all threads of the block that have not exited."""

    id: int
    count: int | None


@dataclass(frozen=True, slots=True)
class Arrive:
    """bar.arrive: come to the barrier and go on."""

    id: int
    count: int | None


# --------------------------------------------------------------------------- global memory


@dataclass(frozen=True, slots=True)
class Load:
    """A read of global memory: ld."""

    bytes: float


@dataclass(frozen=True, slots=True)
class UseLoads:
    """An instruction needs the value of an earlier ld.global: the warp waits for all that it has loaded."""


@dataclass(frozen=True, slots=True)
class Store:
    """A write to global memory: st, red or atom."""

    bytes: float


# --------------------------------------------------------------------------- mbarriers


@dataclass(frozen=True, slots=True)
class MbarrierInit:
    """mbarrier.init: a phase is complete after so many arrivals."""

    mbarrier: int
    arrivals: int


@dataclass(frozen=True, slots=True)
class MbarrierExpect:
    """mbarrier.expect_tx, or .arrive.expect_tx before it arrives: the phase lacks so many bytes more."""

    mbarrier: int
    bytes: int


@dataclass(frozen=True, slots=True)
class MbarrierArrive:
    """mbarrier.arrive of the warp's lanes."""

    mbarrier: int
    arrivals: int


@dataclass(frozen=True, slots=True)
class MbarrierArriveAfterCopies:
    """cp.async.mbarrier.arrive: arrive when the warp's cp.async so far have landed. Without `noinc` the phase counts
    these arrivals besides those that it waits for anyway."""

    mbarrier: int
    arrivals: int
    noinc: bool


@dataclass(frozen=True, slots=True)
class MbarrierWait:
    """mbarrier.{test,try}_wait that found its phase complete. `ahead`: that phase's number, less the number of times
    that the warp has waited there before."""

    mbarrier: int
    ahead: int


# --------------------------------------------------------------------------- the copy engine


@dataclass(frozen=True, slots=True)
class BulkCopy:
    """cp.async.bulk, or cp.reduce.async.bulk, to shared memory: the engine fetches so many bytes and brings them to the
    same place in so many `blocks` of the cluster; each block's mbarrier counts them."""

    mbarrier: int
    bytes: int
    blocks: int


@dataclass(frozen=True, slots=True)
class BulkStore:
    """cp.async.bulk, or cp.reduce.async.bulk, from shared to global memory."""

    bytes: int


# --------------------------------------------------------------------------- wgmma, and clusters


@dataclass(frozen=True, slots=True)
class Wgmma:
    """wgmma.mma_async: a warp's share of it."""


@dataclass(frozen=True, slots=True)
class WgmmaWait:
    """wgmma.wait_group: until all but the newest `keep` wgmma groups are done."""

    keep: int


@dataclass(frozen=True, slots=True)
class ClusterWait:
    """barrier.cluster.wait: for all threads of the cluster."""


Event = (
    Work | Copy | Commit | Wait | Barrier | Arrive | Load | UseLoads | Store
    | MbarrierInit | MbarrierExpect | MbarrierArrive | MbarrierArriveAfterCopies | MbarrierWait
    | BulkCopy | BulkStore | Wgmma | WgmmaWait | ClusterWait
)  # fmt: skip


def in_flight(events: Iterable[Event]) -> Iterator[tuple[Event, list[float], float]]:
    """Each event of a warp; behind it, the bytes of its groups of cp.async that may be on their way, and bytes that are
    not committed yet."""
    groups: list[float] = []
    current = 0.0
    for event in events:
        match event:
            case Copy():
                current += event.bytes
            case Commit():
                groups, current = [*groups, current], 0.0
            case Wait(keep=None):
                groups, current = [], 0.0
            case Wait(keep=int(newest)):
                groups = groups[max(len(groups) - newest, 0) :]
        yield event, groups, current
