"""What the walk finds of an instruction that reaches beyond its warp's registers: a type for each kind."""

from dataclasses import dataclass

from .costs import SECTORS


@dataclass(frozen=True)
class Access:
    """To memory: `wavefronts` in shared memory or L1; the `sectors` of global memory, which are numbered, and of those
    of a store how many it writes in part; bytes that it stores in shared memory."""

    wavefronts: int = 0
    sectors: tuple[int, ...] = ()
    parts: int = 0
    stored: int = 0

    @property
    def lines(self) -> int:
        """Of 128 bytes."""
        return len({sector // SECTORS for sector in self.sectors})


@dataclass(frozen=True)
class AtBarrier:
    """The barrier of this number, for so many warps (0: all)."""

    number: int
    warps: int = 0


@dataclass(frozen=True)
class Made:
    """An mbarrier, by its address in the block's shared memory; `count`: arrivals of a phase."""

    mbarrier: int
    count: int


@dataclass(frozen=True)
class Arrived:
    """At an mbarrier: so many lanes; bytes that are `expected`; `elsewhere`: lanes that mean another block's."""

    mbarrier: int
    arrivals: int
    expected: int = 0
    elsewhere: int = 0


@dataclass(frozen=True)
class Asked:
    """Whether an mbarrier's phase of this parity has ended."""

    mbarrier: int
    parity: int


@dataclass(frozen=True)
class BulkCopied:
    """What an mbarrier counts: a copy of so many bytes (`size`), to so many blocks."""

    mbarrier: int
    blocks: int
    size: int = 0


@dataclass(frozen=True)
class BulkStored:
    """So many bytes of shared memory."""

    size: int


Found = Access | AtBarrier | Made | Arrived | Asked | BulkCopied | BulkStored
