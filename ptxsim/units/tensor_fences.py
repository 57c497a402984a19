"""tcgen05.fence between threads (PTX ISA, "Canonical synchronization patterns" of tcgen05): before_thread_sync behind
what one warp does in tensor memory, an order, and after_thread_sync before what another one does there.

No machine instruction comes of it, so what lacks one is noted, and is no finding.
"""

from bisect import bisect_left
from collections import defaultdict
from functools import partial
from operator import itemgetter

import numpy as np

from ..races.proxies import Fence, fence_of
from ..races.shadow import IN_FLIGHT, Shadow
from .mbarriers import Hopper
from .tensor_orders import WARPS, TensorOrders


class TensorFences:
    """Those of one machine, warp by warp: a load or a store is one's as a whole."""

    def __init__(self, machine: Hopper, orders: TensorOrders) -> None:
        self.machine, self.unseen = machine, orders.unseen
        # of a warp: when and by which lanes of the grid
        self.before_sync: dict[int, list[tuple[int, np.ndarray]]] = defaultdict(list)
        # of a warp the last one, and the position of a lane in it
        self.after_sync: dict[int, tuple[Fence, int]] = {}
        self.told: set[tuple[str, str]] = set()

    def before(self, lanes: np.ndarray, time: int) -> None:
        """What these lanes' warps did in tensor memory until then comes before what they tell others."""
        warps = self.machine.warp_of[lanes]
        for warp in np.unique(warps).tolist():
            self.before_sync[warp].append((time, lanes[warps == warp] + self.machine.orders.first_lane))

    def after(self, lanes: np.ndarray) -> None:
        """What these lanes' warps do in tensor memory from now on comes behind what they have heard."""
        fence = fence_of(self.machine.orders, lanes)
        for warp, at in zip(*np.unique(self.machine.warp_of[lanes], return_index=True), strict=True):
            self.after_sync[int(warp)] = fence, int(at)

    def orders(self, other: int, time: int, lane: int) -> bool:
        """Whether fences of both warps stand between what a lane started at a time and what another one starts now."""
        made = self._before(int(self.machine.warp_of[other]), time)
        return made is not None and self._heard(int(self.machine.warp_of[lane]), *made)

    def _before(self, warp: int, time: int) -> tuple[int, np.ndarray] | None:
        """The first fence of this warp behind that time: when and by whom; None: there is none."""
        made = self.before_sync[warp]
        first = bisect_left(made, time, key=itemgetter(0))
        return made[first] if first < len(made) else None

    def _heard(self, warp: int, time: int, others: np.ndarray) -> bool:
        """Whether this warp made a fence when it knew of what one of the other lanes did at that time."""
        fence, at = self.after_sync.get(warp, (None, 0))
        return fence is not None and bool(fence.knew(at, others, np.full(len(others), time)).any())

    def look(self, shadow: Shadow, pc: int, lanes: np.ndarray, cells: np.ndarray, writes: bool) -> None:
        """These lanes touch these cells, which others have written before, or read, too (`writes`)."""
        if not len(cells):
            return
        times = shadow.write_time[cells]
        at = (times > 0) & (times < IN_FLIGHT)
        self._note(pc, lanes[at], shadow.writer[cells[at]], times[at])
        if writes:
            shadow.reads.meeting(partial(self._note, pc), lanes, cells, np.zeros(1, np.int64))

    def _note(self, pc: int, lanes: np.ndarray, others: np.ndarray, times: np.ndarray) -> np.ndarray:
        """What is in order with what `others`, lanes of the grid, did at these times, but for a fence."""
        machine = self.machine
        theirs = machine.warp_of[others - machine.orders.first_lane]
        kinds = np.stack([machine.warp_of[lanes], theirs, times])
        for at in np.unique(kinds, axis=1, return_index=True)[1].tolist():
            self._note_one(pc, int(lanes[at]), int(theirs[at]), int(others[at]), int(times[at]))
        return np.zeros(len(lanes), bool)

    def _note_one(self, pc: int, lane: int, warp: int, other: int, time: int) -> None:
        machine = self.machine
        mine, there = int(machine.warp_of[lane]), int(machine.orders.trail.pcs(time))
        first, second = (machine.launch.code.instructions[each].opcode.root for each in (there, pc))
        if mine == warp and (first in WARPS or second not in WARPS):
            return  # it comes in order, or behind its own wait
        if self.unseen(np.array([lane]), np.array([other]), np.array([time]))[0]:
            return  # a finding says so
        if (made := self._before(warp, time)) is None:
            self._tell(there, "before_thread_sync is missing behind", pc)
        if not self._heard(mine, *(made or (time, np.array([other])))):
            self._tell(pc, "after_thread_sync is missing before", there)

    def _tell(self, pc: int, lacks: str, other: int) -> None:
        """Of each fence once, for the first instruction on its other side."""
        code = self.machine.launch.code
        place, there = str(code.where(pc)), code.where(other)
        mine, theirs = (code.instructions[each].opcode.root for each in (pc, other))
        if (place, lacks) not in self.told:
            self.told.add((place, lacks))
            self.machine.log.note(
                f"{place}: by the text of PTX a tcgen05.fence::{lacks} this {mine}, between it and the barrier or "
                f"mbarrier that orders it with the {theirs} at {there}. No machine instruction comes of such a fence: "
                "it holds a compiler back"
            )
