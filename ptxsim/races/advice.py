"""What is missing between the two accesses of a race: advice that fits the place. The words stand in sentences.py.

In order of how much is known: a wgmma that may still read; an access whose scope is too narrow; a lock, whose atomics
need fences; an arrival or a flag of one thread, behind which the other has no order; an update that wants an atomic; an
index that leads to another thread's place; a flag without fences; then a barrier inside a warp, or of a block, or, in a
branch that not all threads take, around it; and between blocks the part that a release or an acquire lacks.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from ..gpus import WARP
from ..ptx.locks import fence_between
from ..ptx.program import Instruction
from ..ptx.updates import Update
from .messages import BLOCK, GRID
from .sentences import mend
from .shadow import Race, Shadow
from .wrong_place import Placed, overlapping, unread_index, wrapped_index

NAMES = {
    "read-after-write": ("write", "read"),
    "write-after-read": ("read", "write"),
    "write-after-write": ("write", "other write"),
}
"""By the kind of a race: what the other thread did, and what this one does."""
STRONG = ("volatile", "relaxed", "acquire", "release")


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


class Advised(Placed, Protocol):
    """What it takes to say what is missing."""

    shadow: Shadow
    """What watches shared memory."""

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
        theirs, _ = NAMES[race.kind]
        if self._instruction(self._pc(race.time)).opcode.root == "wgmma":
            return Why("wgmma-still-reads", mend("wgmma-read"))
        cause = "two-writers" if race.kind == "write-after-write" else "no-barrier"
        if words := self._in_lock(race, pc) or self._elected(race, theirs, pc):
            return Why(cause, words)
        if why := self._misplaced(race, pc):
            return why
        if words := self._by_flag(race):
            return Why("no-fence", words)
        both = (self._instruction(at) for at in (pc, self._pc(race.time)))
        return Why(cause, self._barrier(race, pc) + overlapping(*both))

    def between_blocks(self, race: Race, pc: int) -> Why:
        """They are of two blocks, and touch global memory."""
        theirs, mine = NAMES[race.kind]
        words = self._of_store(race, pc) or self._in_lock(race, pc) or self._elected(race, theirs, pc)
        if words := words or self._behind_flag(race, theirs, mine):
            return Why("other-block", words)
        return self._misplaced(race, pc) or Why("other-block", self._of_release(race, pc, theirs, mine))

    def of_scope(self, race: Race, pc: int) -> Why | None:
        """Both accesses are strong, and one of them counts in a block alone, or in a cluster, in which the other thread
        is not."""
        threads, cluster = self.machine.launch.threads, self.machine.launch.cluster_size
        mine, other = (race.lane + self.machine.orders.first_lane) // threads, race.other // threads
        both = [self._instruction(at) for at in (pc, self._pc(race.time))]
        if mine == other or not all(map(_is_strong, both)):
            return None
        for each in both:
            group = "block" if each.opcode.has("cta") else "cluster" if each.opcode.has("cluster") else ""
            if group == "block" or (group and mine // cluster != other // cluster):
                return Why("narrow-scope", mend("wider-scope", place=each.where, group=group))
        return None

    # ---- what there is already

    def _of_store(self, race: Race, pc: int) -> str:
        """One of the two is a bulk store whose thread did not wait until it had arrived."""
        for at, place in ((pc, "this line"), (self._pc(race.time), str(self._where(race.time)))):
            waited = self.machine.bulk.waited.get(at)
            if waited is None:
                continue
            return mend("store-read" if waited else "store-unwaited", place=place)
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
                name = "lock-twice" if len(missing) > 1 else "lock"
                return mend(name, first=missing[0], second=missing[-1])
        return ""

    def _elected(self, race: Race, theirs: str, pc: int) -> str:
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
            mate, name = int(near[0]), "elected-in-warp"
            if threads > WARP and self._warp(race) == -1:  # to another block often all warps hand over
                name = "elected-in-block"
        elif len(known) == 1:
            mate, name = int(known[0]), "elected"
        else:
            return ""
        who = self.machine.describe_lane(first + mate).partition(" of block")[0]
        return mend(name, mate=who, theirs=theirs)

    def _by_flag(self, race: Race) -> str:
        """This thread has waited for a place that the other one changed later on."""
        machine, me = self.machine, race.lane + self.machine.orders.first_lane
        theirs, mine = NAMES[race.kind]
        for shadow in (machine.shadow, *machine.launch.shadows.values()):
            for looked in (shadow.strong_reads, shadow.strong_writes):
                granules, times = looked.of_lane(me)
                pcs = machine.orders.trail.pcs(times)
                waits = np.isin(pcs, list(machine.launch.code.polls)) & (times > race.time)
                set_there, when = shadow.strong_writes.of_lane(race.other)
                flags = np.isin(granules[waits], set_there[when > race.time])
                if flags.any():
                    place = self._instruction(int(pcs[waits][flags][0])).where
                    fence = "__threadfence_block"
                    return mend("flag", place=place, fence=fence, theirs=theirs, mine=mine)
        return ""

    def _behind_flag(self, race: Race, theirs: str, mine: str) -> str:
        """This thread has read a flag, and no fence follows."""
        pair = (np.array([number]) for number in (race.lane, race.other, race.time))
        unheard = self.machine.orders.messages.not_heard(*pair)[0]
        return "" if unheard else mend("fence-behind-flag", theirs=theirs, mine=mine)

    def _of_release(self, race: Race, pc: int, theirs: str, mine: str) -> str:
        """Which of the other parts of a message is missing: fence and flag there, flag and fence here."""
        if race.kind == "write-after-write" and self._once(pc, self._pc(race.time)):
            return mend("one-block-writes")
        if self._fenced(race, GRID):
            return mend("no-flag", theirs=theirs, mine=mine, them=self.machine.describe_lane(race.other))
        fences = self.machine.orders.messages.fences
        here = bool(fences[GRID].index[race.lane])
        if self._fenced(race, BLOCK) or (fences[BLOCK].index[race.lane] and not here):
            return mend("narrow-fence", theirs=theirs, mine=mine)
        return mend("blocks-fenced-here" if here else "blocks", theirs=theirs, mine=mine)

    def _fenced(self, race: Race, scope: int) -> bool:
        """Whether a fence of its block, of this scope or a wider one, covers what the other thread did."""
        machine, threads = self.machine, self.machine.launch.threads
        first = race.other // threads * threads - machine.orders.first_lane
        if not 0 <= first < machine.lanes:
            return False  # its block has ended
        fences = machine.orders.messages.fences[scope]
        covered = (fences.of(lane) for lane in range(first, first + threads))
        return any(found is not None and found[0][race.other % threads] > race.time for found in covered)

    # ---- what no order mends

    def _misplaced(self, race: Race, pc: int) -> Why | None:
        """Threads that share a place and want an atomic, or that should not be at one place."""
        if words := self._update(pc, self._pc(race.time)):
            return Why("no-atomic", words)
        cause = "wrong-place"
        if words := unread_index(self.machine, race):
            return Why(cause, words)
        words = wrapped_index(self.machine, race, (pc, self._pc(race.time)))
        return Why(cause, words) if words else None

    def _update(self, *pcs: int) -> str:
        """Both accesses are parts of one update, or of two of which none comes behind the other."""
        code = self.machine.launch.code
        first, second = ([each for each in code.updates if pc in (each.load, each.store)] for pc in pcs)
        for mine in first:
            for other in second:
                if self._one_statement(mine, other):
                    return self._in_words(mine, other)
            if self._instruction(pcs[1]).opcode.facts.atomic and mine.store != pcs[1]:
                return mend("atomic-too", place=code.where(mine.store), atomic=mine.atomic)
        for other in second:
            if self._instruction(pcs[0]).opcode.facts.atomic:
                return mend("atomic-too", place=code.where(other.store), atomic=other.atomic)
        return ""

    def _one_statement(self, mine: Update, other: Update) -> bool:
        code = self.machine.launch.code
        if code.where(mine.store) == code.where(other.store):
            return True
        return not code.flow.leads(mine.store, other.load) and not code.flow.leads(other.store, mine.load)

    def _in_words(self, mine: Update, other: Update) -> str:
        for each in (mine, other):
            if self._instruction(each.store).opcode.facts.atomic:
                return mend("read-by-atomic", place=self._instruction(each.load).where)
        return mend("atomic", atomic=mine.atomic)

    # ---- barriers

    def _barrier(self, race: Race, pc: int) -> str:
        theirs, mine = NAMES[race.kind]
        other = self._pc(race.time)
        if race.kind == "write-after-write" and self._once(pc, other):
            return mend("one-writer")
        words = self._which_barrier(race, pc, other, {"theirs": theirs, "mine": mine})
        if race.kind != "write-after-write":
            return words
        return mend("one-writer-or", barrier=words[0].lower() + words[1:])

    def _which_barrier(self, race: Race, pc: int, other: int, names: dict[str, str]) -> str:
        machine = self.machine
        of, group = (machine.warp_of, "warp") if race.one_warp else (machine.block_of, "block")
        mates = np.flatnonzero(of == of[race.lane])
        inside = self._inside(mates, pc, other)
        if inside is None:
            barrier = "__syncwarp" if race.one_warp else "__syncthreads"
            alone = self._inside(mates, pc) is not None or self._inside(mates, other) is not None
            return mend("barrier-outside" if alone else "barrier", barrier=barrier, group=group, **names)
        if race.one_warp:
            bits = 1 << (machine.thread_of[mates].astype(np.int64) % WARP)
            return mend("syncwarp-of-some", mask=int(bits[inside].sum()), whole=int(bits.sum()), **names)
        words, warps = mend("two-branches", **names), machine.warp_of[mates]
        taken = [inside[warps == warp] for warp in np.unique(warps)]
        whole = sum(each.all() for each in taken)
        if whole == sum(each.any() for each in taken) and whole > 1:  # whole warps, and several
            words += mend("bar.sync", warps=whole, threads=whole * WARP)
        return words

    def _inside(self, mates: np.ndarray, *pcs: int) -> np.ndarray | None:
        """Which of these lanes are in a branch that decides about all of these instructions, and that not all of them
        take; None: there is none."""
        machine, code = self.machine, self.machine.launch.code
        blocks = {code.flow.block_of(pc) for pc in pcs}
        for region in code.parted:
            if blocks <= region:
                inside = np.zeros(machine.lanes, bool)
                inside[machine.active()] = True
                for at, lanes in machine.places():
                    inside[lanes] |= code.flow.block_of(at) in region
                if not inside[mates].all():
                    return inside[mates]
        return None

    # ---- helpers

    def _once(self, pc: int, other: int) -> bool:
        """Whether both are one instruction outside of any loop: no barrier can stand between."""
        return pc == other and not self.machine.launch.code.flow.in_loop(pc)

    def _warp(self, race: Race) -> int:
        """Of this thread, in the block of the other one; -1: it is in another block."""
        threads, mine = self.machine.launch.threads, race.lane + self.machine.orders.first_lane
        return mine % threads // WARP if mine // threads == race.other // threads else -1

    def _pc(self, time: int) -> int:
        return int(self.machine.orders.trail.pcs(time))

    def _instruction(self, pc: int) -> Instruction:
        return self.machine.launch.code.instructions[pc]

    def _where(self, time: int) -> str:
        return str(self._instruction(self._pc(time)).where)


def _is_strong(access: Instruction) -> bool:
    return access.opcode.facts.atomic or any(map(access.opcode.has, STRONG))
