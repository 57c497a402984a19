"""What is missing between the two accesses of a race: advice that fits the place.

In order of how much is known: a lock, whose atomics need fences; an arrival or a flag of one thread, behind which the
other has no order; a barrier inside a warp, or of a block, or, in a branch that not all threads take, of some warps;
and between blocks the part that a release or an acquire lacks.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from ..gpus import WARP
from ..ptx.locks import fence_between
from ..ptx.program import Instruction
from .messages import GRID
from .shadow import Race, Watched

NAMES = {
    "read-after-write": ("write", "read"),
    "write-after-read": ("read", "write"),
    "write-after-write": ("write", "other write"),
}
"""By the kind of a race: what the other thread did, and what this one does."""


class Why(NamedTuple):
    """A cause of `hazards.CAUSES`, and the sentence or the part of one that tells it."""

    cause: str
    text: str


class Stores(Protocol):
    """Bulk copies out of shared memory (`BulkCopies`, units/bulk.py)."""

    waited: dict[int, str]
    """By the pc of a store that came to its end without a wait for its arrival what was waited for: "read", or ""."""

    def overwrite(self, pc: int, lanes: np.ndarray, unit: np.ndarray, size: int) -> None:
        """These lanes start copies to these units of `size` bytes of shared memory."""


class Advised(Watched, Protocol):
    """What it takes to say what is missing."""

    @property
    def bulk(self) -> Stores: ...

    def places(self) -> Iterator[tuple[int, np.ndarray]]:
        """Where lanes are that do not run at the moment: the instruction at which each of them goes on, or waits."""


class Advice:
    """Of one machine."""

    def __init__(self, machine: Advised) -> None:
        self.machine = machine

    def in_block(self, race: Race, pc: int) -> Why:
        """Both threads are of one block."""
        theirs, mine = NAMES[race.kind]
        cause = "two-writers" if race.kind == "write-after-write" else "no-barrier"
        between = f"missing between that {theirs} and this {mine}"
        if words := self._in_lock(race, pc) or self._elected(race, theirs):
            return Why(cause, words)
        if race.one_warp:
            barrier = f"A __syncwarp() is {between}{self._of_some(race.lane)}"
        elif self._parted(race.lane, pc, self._pc(race.time)):
            barrier = (
                f"A barrier is {between}, and no __syncthreads() can stand there: not all threads of the block take "
                "this branch. End the branch before the barrier, or let only the warps that take it meet (bar.sync "
                "number, threads)"
            )
        else:
            barrier = f"A __syncthreads() is {between}"
        if race.kind != "write-after-write":
            return Why(cause, barrier)
        return Why(cause, f"Only one thread should write it, or {barrier[0].lower()}{barrier[1:]}")

    def between_blocks(self, race: Race, pc: int) -> Why:
        """They are of two blocks, and touch global memory."""
        theirs, mine = NAMES[race.kind]
        words = self._of_store(race, pc) or self._in_lock(race, pc) or self._elected(race, theirs)
        return Why("other-block", words or self._of_release(race, theirs, mine))

    # ---- what there is already

    def _of_store(self, race: Race, pc: int) -> str:
        """One of the two is a bulk store whose thread did not wait until it had arrived."""
        for at, line in ((pc, "this line"), (self._pc(race.time), self._line(race.time))):
            waited = self.machine.bulk.waited.get(at)
            if waited is None:
                continue
            how = (
                "waits for it with cp.async.bulk.wait_group.read alone, which says only that its source has been read"
                if waited
                else "never waits for it"
            )
            return (
                f"The thread of the bulk store at {line} {how}. Before its fence and its flag it waits until the bytes "
                "have arrived: cp.async.bulk.wait_group, without .read"
            )
        return ""

    def _in_lock(self, race: Race, pc: int) -> str:
        """Both stand between the taking of a lock and its giving back, and a fence is missing there."""
        code = self.machine.launch.code
        instructions, both = code.instructions, sorted((pc, self._pc(race.time)))
        for lock in code.locks:
            if not all(map(lock.holds, both)):
                continue
            missing = []
            acquires, releases = (instructions[at].opcode for at in (lock.taken, lock.given))
            if not acquires.has("acquire") and not fence_between(instructions, lock.taken, both[0]):
                missing.append(f"behind the taking of the lock ({code.where(lock.taken)})")
            if not releases.has("release") and not fence_between(instructions, both[1], lock.given):
                missing.append(f"before it is given back ({code.where(lock.given)})")
            if missing:
                many = "Two fences are" if len(missing) > 1 else "A fence is"
                words = ", and ".join(f"a __threadfence() {place}" for place in missing)
                return f"{many} missing in the lock: {words}. The atomics of a lock order nothing else by themselves"
        return ""

    def _elected(self, race: Race, theirs: str) -> str:
        """A mate of the other thread arrived, or set a flag, for it: this one knows of the mate, and not of the
        other."""
        orders, threads = self.machine.orders, self.machine.launch.threads
        first, other = race.other // threads * threads, race.other % threads
        mates = np.array(
            [lane for lane in range(threads) if lane // WARP != self._warp(race) and lane != other]
        )
        if not len(mates):
            return ""
        times = np.full(len(mates), race.time)
        unknown = orders.unseen(np.full(len(mates), race.lane), first + mates, times)
        known = mates[~unknown]
        near = known[known // WARP == other // WARP]
        if len(near) and len(near) < WARP - 1:
            mate, barrier = int(near[0]), "__syncwarp()"
            if threads > WARP and self._warp(race) == -1:  # to another block often all warps hand over
                barrier = "__syncthreads() (where only one warp has written: a __syncwarp())"
        elif len(known) == 1:
            mate, barrier = int(known[0]), "barrier of the threads of both"
        else:
            return ""
        name = self.machine.describe_lane(first + mate).partition(" of block")[0]
        return (
            f"This thread has an order behind what {name} did later, and that is in no order behind that {theirs}: a "
            f"{barrier} is missing between the {theirs} and the arrival or the flag of {name}, or every thread arrives "
            "for itself"
        )

    def _of_release(self, race: Race, theirs: str, mine: str) -> str:
        """Which of the four parts of a message is missing: fence and flag there, flag and fence here."""
        machine, them = self.machine, self.machine.describe_lane(race.other)
        fenced = self._fenced(race)
        lane, other, time = (np.array([number]) for number in (race.lane, race.other, race.time))
        if not machine.orders.messages.not_heard(lane, other, time)[0]:
            return (
                f"This thread has read the flag behind that {theirs}: a __threadfence() is missing between the read of "
                f"the flag and this {mine}"
            )
        if fenced:
            return (
                f"There is a fence behind that {theirs}. What is missing is the flag: {them}, or a thread behind a "
                "barrier with it, sets one by an atomic behind the fence, and this thread reads it by an atomic until "
                f"it is set, then __threadfence(), then this {mine}"
            )
        words = (
            "Blocks run in any order: what one block writes, another may use in the same launch only through atomics, "
            "or behind a flag, with a fence on both sides"
        )
        if machine.orders.messages.fences[GRID].index[race.lane]:
            return f"{words}. The fence is here; it is missing there: {theirs}, __threadfence(), flag"
        return f"{words}: {theirs}, __threadfence(), flag there; flag, __threadfence(), {mine} here"

    def _fenced(self, race: Race) -> bool:
        """Whether a fence of its block covers what the other thread did."""
        machine, threads = self.machine, self.machine.launch.threads
        first = race.other // threads * threads - machine.orders.first_lane
        if not 0 <= first < machine.lanes:
            return False  # its block has ended
        fences = machine.orders.messages.fences[GRID]
        covered = (fences.of(lane) for lane in range(first, first + threads))
        return any(found is not None and found[0][race.other % threads] > race.time for found in covered)

    # ---- where it is

    def _parted(self, lane: int, *pcs: int) -> bool:
        """Whether one branch decides about all of these instructions, and parts the threads of this lane's block."""
        machine, code = self.machine, self.machine.launch.code
        blocks = {code.flow.block_of(pc) for pc in pcs}
        for region in code.parted:
            if blocks <= region:
                inside = np.zeros(machine.lanes, bool)
                inside[machine.active()] = True
                for at, lanes in machine.places():
                    inside[lanes] |= code.flow.block_of(at) in region
                if not inside[machine.block_of == machine.block_of[lane]].all():
                    return True
        return False

    def _of_some(self, lane: int) -> str:
        """Where not all of a warp came to the instruction: which threads its barrier is for."""
        machine = self.machine
        warp = machine.warp_of == machine.warp_of[lane]
        here = np.zeros(machine.lanes, bool)
        here[slice(None) if machine.idx is None else machine.idx] = True
        if (here | ~machine.alive)[warp].all():
            return ""
        return ", with a mask of the threads that come there"

    def _warp(self, race: Race) -> int:
        """Of this thread, in the block of the other one; -1: it is in another block."""
        threads, mine = self.machine.launch.threads, race.lane + self.machine.orders.first_lane
        return mine % threads // WARP if mine // threads == race.other // threads else -1

    def _pc(self, time: int) -> int:
        return int(self.machine.orders.trail.pcs(time))

    def _line(self, time: int) -> str:
        instruction: Instruction = self.machine.launch.code.instructions[self._pc(time)]
        return str(instruction.where)
