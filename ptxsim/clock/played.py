"""What a play of one block's events leaves behind, and how far each of its warps is meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass
class Segment:
    """A warp is in `phase` (copy, wait, barrier, math, wgmma, load, store) from begin to end, in cycles. `k_tile`: of a
    warp that waits at mbarriers, the one that it is at, counted through all tiles; -1 before, and of others."""

    warp: int
    phase: str
    begin: float
    end: float
    k_tile: int = -1


PHASES = {
    "copy": "copy",
    "wait": "wait",
    "barrier": "barrier",
    "store": "store",
    "load": "load",
    "join": "load",
    "bulk": "copy",
    "bulk_store": "store",
    "bulk_wait": "store",
    "wgmma": "wgmma",
    "wgmma_wait": "wgmma",
}


RESOURCES = ("arithmetic", "shared memory", "L2")
"""Of which `Played.spans` tells when they serve this block: the first sub-core, the port of shared memory, the way from
L2. Of a kernel that uses Hopper's engines also "tensor cores" (the first sub-core's), "copy engine" (bytes are on their
way to shared memory) and "stores" (whoever stores: bytes are on their way to L2)."""


@dataclass(frozen=True)
class Stretch:
    """How many times longer than alone a block's service takes: in the sub-cores, the shared-memory port, on the way
    from L2, and in the tensor cores, where they work on their own (wgmma)."""

    core: float = 1.0
    shared: float = 1.0
    l2: float = 1.0
    tensor: float = 1.0


ALONE = Stretch()


@dataclass
class Played:
    """Cycles from the block's start to its end, how long it kept each resource busy, what its warps did, when it kept
    the resources of RESOURCES busy, and the cycle of each warp's clock reads. `stuck`: warps that wait for ever,
    because the other blocks of the cluster do not do at each moment what this one does."""

    cycles: float = 0.0
    busy: Stretch = Stretch(0.0, 0.0, 0.0, 0.0)
    segments: list[Segment] = field(default_factory=list)
    spans: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    clocks: list[list[float]] = field(default_factory=list)
    stuck: int = 0


@dataclass
class Warp:
    """Of the block that is played: how far it is, and what it waits for."""

    index: int
    at: int = 0
    copies: float = 0.0  # when the copies since the last commit have landed
    groups: list[float] = field(default_factory=list)  # when each committed group has landed
    loads: float = 0.0  # when the values loaded so far have arrived
    k_tile: int = -1
    segment: Segment | None = None


class Player(Protocol):
    """What the engines ask of the block that is played."""

    events: list
    rates: object
    l2: object
    shared: object
    stores: object

    def push(self, time: float, warp: Warp) -> None: ...

    def at(self, time: float, action: object) -> None: ...

    def note(self, warp: Warp, phase: str, begin: float, end: float) -> None: ...
