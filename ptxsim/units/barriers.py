"""Who waits for whom: barriers of a block, barriers of a warp, and lanes that come together for one instruction.

Each is a `Rendezvous`: lanes come and wait, and go on when their condition holds. It is looked at again when somebody
comes and when somebody exits. When nobody can become ready any more, that is a deadlock.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from ..gpus import WARP, WARPGROUP
from ..ground.memory import Fault
from ..ground.work import LANES
from ..lanes import Lanes
from ..races.findings import Explained
from ..races.orders import Token
from .divergence import SyncCheck
from .turns import Turns

ROUND = 700
"""Steps of work (work.py) of an arrival at a barrier that not all come to at once."""
MOST = 4
"""Runs of threads, and blocks, that a message names."""
ALL = -1  # threads that complete a barrier: all of the block that have not exited


@dataclass(eq=False)
class Waiting:
    """Lanes that wait at one instruction. `resume(machine, lanes)` is what those do that may go on."""

    pc: int
    lanes: np.ndarray
    resume: Callable

    def take(self, mine: np.ndarray) -> Self:
        """Those chosen leave."""
        gone = type(self)(**vars(self))
        gone.keep(mine)
        self.keep(~mine)
        return gone

    def keep(self, mine: np.ndarray) -> None:
        """The others are gone."""
        self.lanes = self.lanes[mine]


@dataclass(eq=False)
class Masked(Waiting):
    """They wait for lanes of their warp: for those of the mask that each one gives."""

    masks: np.ndarray

    def keep(self, mine: np.ndarray) -> None:
        super().keep(mine)
        self.masks = self.masks[mine]


Entry = TypeVar("Entry", bound=Waiting)


class Synchronising(Explained, Protocol):
    """Who goes on, and who waits for whom."""

    turns: Turns
    """Where lanes go on."""
    sync_check: SyncCheck
    """Watches barriers that not all threads come to."""
    warp_barrier: "WarpBarrier"

    def exit(self, lanes: np.ndarray | None) -> None:
        """These lanes (None: all) are done. Who waited only for them goes on."""

    def arrive(self, ident: int, pc: int, count: int, resume: Callable | None) -> None:
        """The active lanes reach barrier `ident`, which `count` threads complete (or ALL). `resume(machine, lanes)`
        runs for those that it lets go; without it they do not wait."""

    def barrier(self, ident: int) -> "Barrier":
        """The barrier of this number, in every resident block."""

    def alive_bits(self) -> np.ndarray:
        """For each warp its lanes that have not exited: (warps,), uint32."""


class Rendezvous(Generic[Entry]):
    """Lanes that wait for each other."""

    def __init__(self, machine: Synchronising) -> None:
        self.machine = machine
        self.waiting: list[Entry] = []

    def take(self, ready: np.ndarray) -> list[Entry]:
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


class Barrier(Rendezvous[Waiting]):
    """One of the barriers of a block (PTX ISA, "bar, barrier"), in every resident block."""

    def __init__(self, machine: Synchronising, ident: int) -> None:
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
        blocks = np.unique(self.machine.block_of[lanes])
        if count != ALL and (self.arrived + self._threads(lanes) > count)[blocks].any():
            warps = self.machine.warp_of[lanes]
            for warp in np.unique(warps):  # one after the other: a round may be complete in between
                self._arrive(pc, lanes[warps == warp], count, resume)
        else:
            self._arrive(pc, lanes, count, resume)

    def _arrive(self, pc: int, lanes: np.ndarray, count: int, resume: Callable | None) -> None:
        self.machine.work(ROUND + 5 * len(lanes) / LANES)
        blocks = np.unique(self.machine.block_of[lanes])
        self._check_count(lanes, blocks, count)
        self.machine.sync_check.arrive(pc, lanes)
        self.expected[blocks] = count
        self.arrived += self._threads(lanes)
        self.here[lanes] = True
        if resume:
            self.waiting.append(Waiting(pc, lanes, resume))
        else:
            self.token = self.token or self.machine.orders.token()
            self.machine.orders.release(lanes, self.token)
        self.look_again(lanes)

    def _check_count(self, lanes: np.ndarray, blocks: np.ndarray, count: int) -> None:
        """All who come to a round name the same number of threads."""
        before = self.expected[blocks]
        odd = np.flatnonzero((before != 0) & (before != count))
        if len(odd):
            self.machine.idx = lanes[self.machine.block_of[lanes] == blocks[odd[0]]][:1]
            words = {ALL: "all threads of the block"}
            one, other = (words.get(int(n), f"{n} threads") for n in (count, before[odd[0]]))
            text = f"comes to barrier {self.ident} and names {one}; others in this round named {other}"
            text += ". On a GPU this hangs, or ends the launch with an error"
            raise Fault("barrier-count", text, 0, "different-counts")

    def everyone_votes(self) -> None:
        """All threads of all blocks came at once."""
        self.yes = self.votes.reshape(len(self.machine.blocks), -1).sum(axis=1)
        self.voters = np.full(len(self.machine.blocks), self.machine.launch.threads)

    def _threads(self, lanes: np.ndarray) -> np.ndarray:
        """As how many threads of each block these lanes count: a warp as 32, whoever of it has exited."""
        machine = self.machine
        alive = np.bincount(machine.warp_of, weights=machine.alive, minlength=machine.warps)
        came = np.bincount(machine.warp_of[lanes], minlength=machine.warps)
        return (WARP * came / np.maximum(alive, 1)).reshape(-1, machine.warps_per_block).sum(axis=1)

    def lacks(self) -> list[str]:
        """In words, of each block in which somebody waits here: who came, and who is missing."""
        found = []
        for block in np.unique(
            self.machine.block_of[np.concatenate([each.lanes for each in self.waiting])]
        ).tolist():
            mine = self.machine.block_of == block
            came, alive = np.flatnonzero(mine & self.here), mine & self.machine.alive
            late, gone = np.flatnonzero(alive & ~self.here), np.flatnonzero(mine & ~self.machine.alive)
            count = self.expected[block] if self.expected[block] != ALL else np.count_nonzero(alive)
            named = f"barrier {self.ident} of block {self.machine.blocks[block]}"
            words = f"{named} has {len(came)} of {count} threads: {self._runs(came)} came"
            if len(late):
                words += f", {self._runs(late)} wait{'s' * (len(late) == 1)} elsewhere"
            if len(gone):
                words += f", {self._runs(gone)} {'has' if len(gone) == 1 else 'have'} exited"
            found.append(words)
        return found

    def _runs(self, lanes: np.ndarray) -> str:
        """Lanes of one block in words: "threads 0 to 31, 64 to 95"."""
        runs = np.split(lanes, np.flatnonzero(np.diff(lanes) > 1) + 1)
        name = self.machine.describe_other
        ends = (dict.fromkeys((name(int(run[0])), name(int(run[-1])))) for run in runs)
        words = [" to ".join(end.removeprefix("thread ") for end in each) for each in ends]
        more = f" and {len(words) - MOST} more" * (len(words) > MOST)
        return f"thread{'s' * (len(lanes) > 1)} {', '.join(words[:MOST])}{more}"

    def look_again(self, lanes: np.ndarray) -> None:
        blocks = np.unique(self.machine.block_of[lanes])
        done = blocks[self._complete()[blocks]]
        if len(done):
            self._let_go(done)

    def _complete(self) -> np.ndarray:
        """For each block whether this round is complete."""
        machine = self.machine
        missing = np.bincount(
            machine.block_of, weights=machine.alive & ~self.here, minlength=len(machine.blocks)
        )
        enough = self.arrived > self.expected - 0.5
        return np.where(self.expected == ALL, missing == 0, enough) & (self.expected != 0)

    def _let_go(self, blocks: np.ndarray) -> None:
        """The round of these blocks is complete."""
        machine = self.machine
        chosen = np.zeros(len(machine.blocks), bool)
        chosen[blocks] = True
        mine = chosen[machine.block_of]
        released = self.take(mine)
        whole = mine & (self.expected[machine.block_of] == ALL)
        self.here[mine], self.expected[blocks], self.arrived[blocks] = False, 0, 0
        lanes = (
            np.sort(np.concatenate([entry.lanes for entry in released]), kind="stable")
            if released
            else np.array([], int)
        )
        passed_by = machine.sync_check.barrier(released, whole) if whole.any() else np.array([], int)
        if len(lanes):
            exited = np.setdiff1d(np.flatnonzero(whole & ~machine.alive), passed_by)
            machine.orders.meet(np.union1d(lanes, exited) if len(exited) else lanes)
        if self.token is not None:
            if len(lanes):
                machine.orders.acquire(lanes, self.token)
            self.token.clear(blocks)
        self.yes = np.bincount(
            machine.block_of[lanes], weights=self.votes[lanes], minlength=len(machine.blocks)
        ).astype(int)
        self.voters = np.bincount(machine.block_of[lanes], minlength=len(machine.blocks))
        for entry in released:
            entry.resume(machine, entry.lanes)


class WarpBarrier(Rendezvous[Masked]):
    """`bar.warp.sync`: the lanes that a mask names meet, wherever in the program each one waits."""

    def arrive(self, pc: int, lanes: np.ndarray, masks: np.ndarray, resume: Callable) -> None:
        self.waiting.append(Masked(pc, lanes, resume, masks))
        self.look_again(lanes)

    def look_again(self, lanes: np.ndarray) -> None:
        if not self.waiting:
            return
        here = np.concatenate([entry.lanes for entry in self.waiting])
        masks = np.concatenate([entry.masks for entry in self.waiting])
        groups, complete = gathered(self.machine, here, masks)
        if not complete.any():
            return
        ready = np.zeros(self.machine.lanes, bool)
        ready[here[complete]] = True
        for entry in self.waiting:
            mine = ready[entry.lanes]
            if mine.any():
                self.machine.sync_check.mask(entry.pc, entry.lanes[mine], entry.masks[mine])
        self.machine.orders.meet(*self._with_exited(here[complete], groups[complete], masks[complete]))
        for entry in self.take(ready):
            entry.resume(self.machine, entry.lanes)

    def _with_exited(
        self, lanes: np.ndarray, groups: np.ndarray, masks: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """These lanes, each with its group, and those that the masks name and that have exited: they count as come."""
        machine = self.machine
        if machine.alive.all():
            return lanes, groups
        kinds, one = np.unique(groups, return_index=True)
        start = lanes[one] - machine.thread_of[lanes[one]] % WARP  # of each group's warp
        group, bit = np.nonzero(masks[one][:, None] >> np.arange(WARP, dtype=np.uint32) & 1)
        there = machine.thread_of[start[group]] + bit < machine.launch.threads
        named, groups_of = (start[group] + bit)[there], kinds[group[there]]
        gone = ~machine.alive[named]
        return np.concatenate([lanes, named[gone]]), np.concatenate([groups, groups_of[gone]])


class Gathering(Rendezvous[Masked]):
    """Lanes that come together before an instruction of several lanes (`shfl.sync`, `mma.sync`, an aligned barrier)."""

    def __init__(self, machine: Synchronising, pc: int) -> None:
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
        if complete.any():
            self.machine.sync_check.mask(self.pc, lanes[complete], masks[complete])
        rest = ~complete
        self.waiting = [Masked(self.pc, lanes[rest], self._go_on, masks[rest])] if rest.any() else []
        return lanes[complete]

    def look_again(self, lanes: np.ndarray) -> None:
        """Somebody exited: lanes that waited only for those come to the instruction once more."""
        for entry in self.waiting:
            complete = self._complete(entry.lanes, entry.masks, lanes)
            if complete.any():
                self.machine.turns.add(self.pc, entry.take(complete).lanes)
        self.waiting = [entry for entry in self.waiting if len(entry.lanes)]

    def _complete(self, lanes: np.ndarray, masks: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Which of these lanes, that wait with these masks, wait no longer since others came or exited. Those are of
        the same block."""
        near = np.zeros(len(self.machine.blocks), bool)
        near[self.machine.block_of[new]] = True
        at = np.flatnonzero(near[self.machine.block_of[lanes]])
        complete = np.zeros(len(lanes), bool)
        if len(at):
            complete[at] = gathered(self.machine, lanes[at], masks[at])[1]
        return complete

    def give_up(self) -> np.ndarray:
        """All that wait here; they go on without those that never come."""
        lanes = self.waiting[0].lanes
        self.waiting = []
        return lanes

    def absent(self) -> np.ndarray:
        """Lanes of other warps for which a warpgroup waits here."""
        if not self.waiting or self.waiting[0].masks.dtype != np.uint64:
            return np.array([], int)
        alive = np.flatnonzero(self.machine.alive)
        here = warpgroup_of(self.machine, self.waiting[0].lanes)
        mates = alive[np.isin(warpgroup_of(self.machine, alive), here)]
        return np.setdiff1d(mates, self.waiting[0].lanes)

    def _go_on(self, machine: Synchronising, lanes: np.ndarray) -> None:
        machine.turns.add(self.pc, lanes)


def gathered(machine: Synchronising, lanes: np.ndarray, masks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For lanes that wait with masks: the group of each (its warp and mask), and whether all lanes are here that the
    mask names and that have not exited, of the whole warpgroup where it says so (bit 32)."""
    warps = machine.warp_of[lanes]
    keys = warps.astype(np.int64) << 33 | masks.astype(np.int64)
    _, groups = np.unique(keys, return_inverse=True)
    bits = np.uint32(1) << (machine.thread_of[lanes] % WARP).astype(np.uint32)
    here = np.zeros(int(groups.max()) + 1, np.uint32)
    np.bitwise_or.at(here, groups, bits)
    wanted = masks.astype(np.uint32) & machine.alive_bits()[warps]
    complete = wanted & ~here[groups] == 0
    if masks.dtype == np.uint64 and (masks >> np.uint64(32)).any():
        complete &= _warpgroups_complete(machine, lanes[complete])[warpgroup_of(machine, lanes)]
    return groups, complete


def warpgroup_of(machine: Lanes, lanes: np.ndarray) -> np.ndarray:
    """The warpgroup of each of these lanes, numbered block after block."""
    warps = machine.warp_of[lanes]
    of_a_block = -(-machine.warps_per_block // WARPGROUP)
    return warps // machine.warps_per_block * of_a_block + warps % machine.warps_per_block // WARPGROUP


def _warpgroups_complete(machine: Lanes, lanes: np.ndarray) -> np.ndarray:
    """By warpgroup, whether these lanes are all that it has and that have not exited."""
    alive = np.flatnonzero(machine.alive)
    most = int(warpgroup_of(machine, np.array([machine.lanes - 1]))[0]) + 1
    here, wanted = (np.bincount(warpgroup_of(machine, each), minlength=most) for each in (lanes, alive))
    return here == wanted
