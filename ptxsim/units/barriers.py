"""Who waits for whom: barriers of a block, barriers of a warp, and lanes that come together for one instruction.

Each is a `Rendezvous`: lanes come and wait, and go on when their condition holds. It is looked at again when somebody
comes and when somebody exits. When nobody can become ready any more, that is a deadlock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..gpus import WARP, WARPGROUP
from ..memory import Fault
from ..races.findings import Explained
from ..races.orders import Token
from ..work import LANES
from .divergence import SyncCheck

ROUND = 700
"""Steps of work (work.py) of an arrival at a barrier that not all come to at once."""
ALL = -1  # threads that complete a barrier: all of the block that have not exited


@dataclass(eq=False)
class Waiting:
    """Lanes that wait at one instruction. `resume(machine, lanes)` is what those do that may go on; `masks`: for lanes
    that wait for lanes of their warp, the mask that each one gives."""

    pc: int
    lanes: np.ndarray
    resume: Callable
    masks: np.ndarray | None = None

    def take(self, mine: np.ndarray) -> Waiting:
        """Those chosen leave."""
        gone = Waiting(
            self.pc, self.lanes[mine], self.resume, None if self.masks is None else self.masks[mine]
        )
        self.lanes = self.lanes[~mine]
        self.masks = None if self.masks is None else self.masks[~mine]
        return gone


class Scheduler(Explained, Protocol):
    """Where lanes go on, and who waits for whom."""

    sync_check: SyncCheck
    """Watches barriers that not all threads come to."""
    warp_barrier: WarpBarrier

    def jump(self, pc: int, lanes: np.ndarray | None) -> None:
        """These lanes (None: all) go on at `pc`, together with those already there."""

    def exit(self, lanes: np.ndarray | None) -> None:
        """These lanes (None: all) are done. Who waited only for them goes on."""

    def arrive(self, ident: int, pc: int, count: int, resume: Callable | None) -> None:
        """The active lanes reach barrier `ident`, which `count` threads complete (or ALL). `resume(machine, lanes)`
        runs for those that it lets go; without it they do not wait."""

    def barrier(self, ident: int) -> Barrier:
        """The barrier of this number, in every resident block."""

    def alive_bits(self) -> np.ndarray:
        """For each warp its lanes that have not exited: (warps,), uint32."""


class Rendezvous:
    """Lanes that wait for each other."""

    def __init__(self, machine) -> None:
        self.m = machine
        self.waiting: list[Waiting] = []

    def take(self, ready: np.ndarray) -> list[Waiting]:
        """The waiting lanes of which `ready` (one bool a lane of the machine) says so; they wait no longer."""
        taken = []
        for entry in self.waiting:
            mine = ready[entry.lanes]
            if mine.any():
                taken.append(entry.take(mine))
        self.waiting = [entry for entry in self.waiting if len(entry.lanes)]
        return taken

    def look_again(self, lanes: np.ndarray) -> None:
        """These lanes came or exited: let go whoever waited for them."""
        raise NotImplementedError


class Barrier(Rendezvous):
    """One of the barriers of a block (PTX ISA, "bar, barrier"), in every resident block."""

    def __init__(self, machine, ident: int) -> None:
        super().__init__(machine)
        self.ident = ident
        blocks = len(machine.blocks)
        self.expected = np.zeros(blocks, np.int64)  # threads that complete this round; 0: nobody has come yet
        self.arrived = np.zeros(blocks)  # threads that came; a warp counts as 32
        self.here = np.zeros(machine.lanes, bool)
        self.token: Token | None = None  # what bar.arrive brought
        self.votes = np.zeros(machine.lanes, bool)  # of bar.red
        self.yes = self.voters = np.zeros(blocks, np.int64)  # of the round that was completed last

    def arrive(self, pc: int, lanes: np.ndarray, count: int, resume: Callable | None) -> None:
        """These lanes come; without `resume` they do not wait (bar.arrive)."""
        blocks = np.unique(self.m.block_of[lanes])
        if count != ALL and (self.arrived + self._threads(lanes) > count)[blocks].any():
            warps = self.m.warp_of[lanes]
            for warp in np.unique(warps):  # one after the other: a round may be complete in between
                self._arrive(pc, lanes[warps == warp], count, resume)
        else:
            self._arrive(pc, lanes, count, resume)

    def _arrive(self, pc: int, lanes: np.ndarray, count: int, resume: Callable | None) -> None:
        self.m.work(ROUND + 5 * len(lanes) / LANES)
        blocks = np.unique(self.m.block_of[lanes])
        self._check_count(lanes, blocks, count)
        self.m.sync_check.arrive(pc, lanes)
        self.expected[blocks] = count
        self.arrived += self._threads(lanes)
        self.here[lanes] = True
        if resume:
            self.waiting.append(Waiting(pc, lanes, resume))
        else:
            self.token = self.token or self.m.orders.token()
            self.m.orders.release(lanes, self.token)
        self.look_again(lanes)

    def _check_count(self, lanes: np.ndarray, blocks: np.ndarray, count: int) -> None:
        """All who come to a round name the same number of threads."""
        before = self.expected[blocks]
        odd = np.flatnonzero((before != 0) & (before != count))
        if len(odd):
            self.m.idx = lanes[self.m.block_of[lanes] == blocks[odd[0]]][:1]
            words = {ALL: "all threads of the block"}
            one, other = (words.get(int(n), f"{n} threads") for n in (count, before[odd[0]]))
            text = f"comes to barrier {self.ident} and names {one}; others in this round named {other}"
            text += ". On a GPU this hangs, or ends the launch with an error"
            raise Fault("barrier-count", text, 0, "different-counts")

    def everyone_votes(self) -> None:
        """All threads of all blocks came at once."""
        self.yes = self.votes.reshape(len(self.m.blocks), -1).sum(axis=1)
        self.voters = np.full(len(self.m.blocks), self.m.launch.threads)

    def _threads(self, lanes: np.ndarray) -> np.ndarray:
        """As how many threads of each block these lanes count: a warp as 32, whoever of it has exited."""
        m = self.m
        alive = np.bincount(m.warp_of, weights=m.alive, minlength=m.warps)
        came = np.bincount(m.warp_of[lanes], minlength=m.warps)
        return (WARP * came / np.maximum(alive, 1)).reshape(-1, m.warps_per_block).sum(axis=1)

    def look_again(self, lanes: np.ndarray) -> None:
        blocks = np.unique(self.m.block_of[lanes])
        done = blocks[self._complete()[blocks]]
        if len(done):
            self._let_go(done)

    def _complete(self) -> np.ndarray:
        """For each block whether this round is complete."""
        m = self.m
        missing = np.bincount(m.block_of, weights=m.alive & ~self.here, minlength=len(m.blocks))
        enough = self.arrived > self.expected - 0.5
        return np.where(self.expected == ALL, missing == 0, enough) & (self.expected != 0)

    def _let_go(self, blocks: np.ndarray) -> None:
        """The round of these blocks is complete."""
        m = self.m
        chosen = np.zeros(len(m.blocks), bool)
        chosen[blocks] = True
        mine = chosen[m.block_of]
        released = self.take(mine)
        whole = mine & (self.expected[m.block_of] == ALL)
        self.here[mine], self.expected[blocks], self.arrived[blocks] = False, 0, 0
        lanes = (
            np.sort(np.concatenate([entry.lanes for entry in released])) if released else np.array([], int)
        )
        passed_by = m.sync_check.barrier(released, whole) if whole.any() else np.array([], int)
        if len(lanes):
            exited = np.setdiff1d(np.flatnonzero(whole & ~m.alive), passed_by)
            m.orders.meet(np.union1d(lanes, exited) if len(exited) else lanes)
        if self.token is not None:
            if len(lanes):
                m.orders.acquire(lanes, self.token)
            self.token.clear(blocks)
        self.yes = np.bincount(m.block_of[lanes], weights=self.votes[lanes], minlength=len(m.blocks)).astype(
            int
        )
        self.voters = np.bincount(m.block_of[lanes], minlength=len(m.blocks))
        for entry in released:
            entry.resume(m, entry.lanes)


class WarpBarrier(Rendezvous):
    """`bar.warp.sync`: the lanes that a mask names meet, wherever in the program each one waits."""

    def arrive(self, pc: int, lanes: np.ndarray, masks: np.ndarray, resume: Callable) -> None:
        self.waiting.append(Waiting(pc, lanes, resume, masks))
        self.look_again(lanes)

    def look_again(self, lanes: np.ndarray) -> None:
        if not self.waiting:
            return
        here = np.concatenate([entry.lanes for entry in self.waiting])
        masks = np.concatenate([entry.masks for entry in self.waiting])
        groups, complete = gathered(self.m, here, masks)
        if not complete.any():
            return
        ready = np.zeros(self.m.lanes, bool)
        ready[here[complete]] = True
        self.m.orders.meet(*self._with_exited(here[complete], groups[complete], masks[complete]))
        for entry in self.take(ready):
            entry.resume(self.m, entry.lanes)

    def _with_exited(
        self, lanes: np.ndarray, groups: np.ndarray, masks: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """These lanes, each with its group, and those that the masks name and that have exited: they count as come."""
        m = self.m
        if m.alive.all():
            return lanes, groups
        kinds, one = np.unique(groups, return_index=True)
        start = lanes[one] - m.thread_of[lanes[one]] % WARP  # of each group's warp
        group, bit = np.nonzero(masks[one][:, None] >> np.arange(WARP, dtype=np.uint32) & 1)
        there = m.thread_of[start[group]] + bit < m.launch.threads
        named, groups_of = (start[group] + bit)[there], kinds[group[there]]
        gone = ~m.alive[named]
        return np.concatenate([lanes, named[gone]]), np.concatenate([groups, groups_of[gone]])


class Gathering(Rendezvous):
    """Lanes that come together before an instruction of several lanes (`shfl.sync`, `mma.sync`, an aligned barrier)."""

    def __init__(self, machine, pc: int) -> None:
        super().__init__(machine)
        self.pc = pc

    def come(self, lanes: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """These lanes come; those that may go on now, others that waited among them. The rest waits."""
        came = lanes
        if self.waiting:
            (entry,) = self.waiting
            order = np.argsort(np.concatenate([entry.lanes, lanes]), kind="stable")
            masks = np.concatenate([entry.masks, masks])[order]
            lanes = np.concatenate([entry.lanes, lanes])[order]
        complete = self._complete(lanes, masks, came)
        rest = ~complete
        self.waiting = [Waiting(self.pc, lanes[rest], self._go_on, masks[rest])] if rest.any() else []
        return lanes[complete]

    def look_again(self, lanes: np.ndarray) -> None:
        """Somebody exited: lanes that waited only for those come to the instruction once more."""
        for entry in self.waiting:
            complete = self._complete(entry.lanes, entry.masks, lanes)
            if complete.any():
                self.m.jump(self.pc, entry.take(complete).lanes)
        self.waiting = [entry for entry in self.waiting if len(entry.lanes)]

    def _complete(self, lanes: np.ndarray, masks: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Which of these lanes, that wait with these masks, wait no longer since others came or exited. Those are of
        the same block."""
        near = np.zeros(len(self.m.blocks), bool)
        near[self.m.block_of[new]] = True
        at = np.flatnonzero(near[self.m.block_of[lanes]])
        complete = np.zeros(len(lanes), bool)
        if len(at):
            complete[at] = gathered(self.m, lanes[at], masks[at])[1]
        return complete

    def give_up(self) -> np.ndarray:
        """All that wait here; they go on without those that never come."""
        lanes = self.waiting[0].lanes
        self.waiting = []
        return lanes

    def _go_on(self, m, lanes: np.ndarray) -> None:
        m.jump(self.pc, lanes)


def gathered(m, lanes: np.ndarray, masks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For lanes that wait with masks: the group of each (its warp and mask), and whether all lanes are here that the
    mask names and that have not exited, of the whole warpgroup where it says so (bit 32)."""
    warps = m.warp_of[lanes]
    keys = warps.astype(np.int64) << 33 | masks.astype(np.int64)
    _, groups = np.unique(keys, return_inverse=True)
    bits = np.uint32(1) << (m.thread_of[lanes] % WARP).astype(np.uint32)
    here = np.zeros(int(groups.max()) + 1, np.uint32)
    np.bitwise_or.at(here, groups, bits)
    wanted = masks.astype(np.uint32) & m.alive_bits()[warps]
    complete = wanted & ~here[groups] == 0
    if masks.dtype == np.uint64 and (masks >> np.uint64(32)).any():
        complete &= _warpgroups_complete(m, lanes[complete])[_warpgroup_of(m, lanes)]
    return groups, complete


def _warpgroup_of(m, lanes: np.ndarray) -> np.ndarray:
    warps = m.warp_of[lanes]
    of_a_block = -(-m.warps_per_block // WARPGROUP)
    return warps // m.warps_per_block * of_a_block + warps % m.warps_per_block // WARPGROUP


def _warpgroups_complete(m, lanes: np.ndarray) -> np.ndarray:
    """By warpgroup, whether these lanes are all that it has and that have not exited."""
    alive = np.flatnonzero(m.alive)
    most = int(_warpgroup_of(m, np.array([m.lanes - 1]))[0]) + 1
    here, wanted = (np.bincount(_warpgroup_of(m, each), minlength=most) for each in (lanes, alive))
    return here == wanted
