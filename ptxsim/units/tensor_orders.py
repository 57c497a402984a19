"""What orders accesses to tensor memory: what orders threads (races/orders.py), and two things more. A warp loads and
stores as a whole, so what it has waited for (tcgen05.wait) each of its lanes may tell of. And a barrier of the cluster
is an order for tensor memory, however relaxed."""

from bisect import bisect_left
from collections import defaultdict
from typing import Any

import numpy as np

from .mbarriers import Hopper

WARPS = ("tcgen05.ld", "tcgen05.st")
"""What a warp does as a whole; the rest is a thread's."""


class TensorOrders:
    """The orders of a machine, as the shadow of tensor memory asks for them."""

    def __init__(self, machine: Hopper) -> None:
        self._machine = machine
        self._waits: dict[int, list[int]] = defaultdict(list)  # by warp, when it waited
        # by lane, the phase of the cluster's barrier that it came to, or comes to, behind its last wait
        self._phase = np.zeros(machine.lanes, np.int64)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine.orders, name)

    def wait(self, lanes: np.ndarray) -> None:
        """These warps have waited for their loads, or for their stores."""
        trail = self._machine.orders.trail
        for warp in np.unique(self._machine.warp_of[lanes]).tolist():
            self._waits[warp].append(trail.now)
        trail.now += 1
        self._phase[lanes] = self._machine.clusters.barrier.next_phase(lanes)

    def unseen(self, lanes: np.ndarray, others: np.ndarray, times: np.ndarray) -> np.ndarray:
        """As `Orders.unseen`."""
        found = self._machine.orders.unseen(lanes, others, times)
        if found.any():
            theirs = others[found] - self._machine.orders.first_lane
            found[found] = self._unheard(lanes[found], theirs, times[found].astype(np.int64))
        return found

    def _unheard(self, lanes: np.ndarray, theirs: np.ndarray, times: np.ndarray) -> np.ndarray:
        """`theirs`: lanes of the machine."""
        machine, phase = self._machine, self._phase[theirs]
        met = (phase > 0) & (machine.clusters.barrier.passed[lanes] >= phase) & (machine.clusters.size > 1)
        warps = machine.warp_of[theirs]
        alike = lanes << 44 | warps << 31 | times
        _, first, of = np.unique(alike, return_index=True, return_inverse=True)
        each = zip(lanes[first].tolist(), warps[first].tolist(), times[first].tolist(), strict=True)
        return ~met & np.array([not self._told(*one) for one in each])[of]

    def _told(self, lane: int, warp: int, time: int) -> bool:
        """Whether a lane knows that a warp has waited for what it had under way at that time."""
        machine, waits = self._machine, self._waits[warp]
        instruction = machine.launch.code.instructions[int(machine.orders.trail.pcs(time))]
        at = bisect_left(waits, time)
        if at == len(waits) or instruction.opcode.root not in WARPS:
            return False
        mates = np.flatnonzero(machine.warp_of == warp)
        if lane in mates:
            return True
        who, when = np.full(len(mates), lane), np.full(len(mates), waits[at])
        return not machine.orders.unseen(who, mates + machine.orders.first_lane, when).all()


class AsWatched:
    """A machine, as the shadow of its tensor memory sees it: with orders of its own."""

    def __init__(self, machine: Hopper, orders: TensorOrders) -> None:
        self._machine, self.orders = machine, orders

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)
