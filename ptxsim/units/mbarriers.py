"""mbarrier: a barrier that lies in shared memory, and counts arrivals and bytes (PTX ISA, "mbarrier").

A phase is complete when all arrivals that it was initialised for have come, and all bytes that it was told to expect.
Arrivals release what their threads did and saw, and who finds a phase complete acquires it. A relaxed arrival releases
only what a fence before it covers, and who waits relaxed acquires with a fence behind the wait.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from ..ground.memory import Fault
from ..ground.work import LANES
from ..races.messages import BLOCK, CLUSTER, Chain, News, Released
from .access import Memories
from .async_math import AsyncMath
from .async_reads import AsyncReads
from .barriers import Rendezvous, Synchronising, Waiting
from .bulk import BulkCopies, Load
from .clusters import Clusters
from .copies import CopyQueue
from .registers import RegisterPool

SIZE = 8  # bytes of an mbarrier
MOST = 2**20 - 1
"""Arrivals and bytes that a phase may count (PTX ISA, "Contents of the mbarrier object")."""
NEVER_ASKED = -2
"""No phase: that before a fresh mbarrier's first one is -1."""
ROUND = 300
"""Steps of work (work.py) of an arrival or a question."""


@dataclass(eq=False)
class Question(Waiting):
    """Lanes that ask for the end of a phase, and wait for it: `phases`, of each lane."""

    phases: np.ndarray
    acquires: bool

    def keep(self, mine: np.ndarray) -> None:
        super().keep(mine)
        self.phases = self.phases[mine]


@dataclass(frozen=True, eq=False)
class Late:
    """Lanes of one block that arrive when what they started before a time is over: copies (cp.async), or products.
    `end(lanes)` makes it so, and gives the time up to which who hears of it knows what they did. `news`: what they
    bring besides, of the time at which they asked for it: an earlier phase brings none of it."""

    lanes: np.ndarray
    end: Callable[[np.ndarray], int]
    news: Sequence[Released] = ()


class Lack(NamedTuple):
    """What a phase lacks that somebody waits for, in words and in numbers."""

    text: str
    phase: int
    arrivals: int
    bytes: int


def cause_of_deadlock(lacks: list[Lack]) -> str:
    """The most telling of what mbarriers lack; "" if nobody waits for one. Bytes come first: their copies arrive only
    in a phase that has its arrivals."""
    if any(lack.arrivals and lack.bytes for lack in lacks):
        return "missing-arrivals-and-bytes"
    if any(lack.bytes for lack in lacks):
        return "missing-bytes"
    if any(lack.arrivals > 1 for lack in lacks):
        return "missing-arrivals"
    if len(lacks) > 1 and not any(lack.phase for lack in lacks):
        return "stuck-in-first-phases"
    return "missing-arrival" if lacks else ""


class Hopper(Memories, Synchronising, Protocol):
    """What works besides the lanes, and who waits for it."""

    copies: CopyQueue
    """cp.async."""
    bulk: BulkCopies
    """cp.async.bulk."""
    math: AsyncMath
    """wgmma."""
    async_reads: AsyncReads
    """Of shared memory, by tensor cores."""
    registers: RegisterPool
    """What setmaxnreg shares out."""
    clusters: Clusters

    def mbarrier(self, offset: int) -> "Mbarrier":
        """The mbarrier at this byte of shared memory, in every resident block."""

    def cancel(self) -> tuple[int, int, int, int]:
        """The next cluster whose turn has not come never begins: the place of its first block, and 1. 0: there is
        none."""


class Mbarrier(Rendezvous[Question]):
    """The mbarrier at one place of shared memory, in every resident block. Arrays have an entry for each block.

    `blocks`: in which block's memory lies the mbarrier that each of some lanes names.
    """

    machine: Hopper

    def __init__(self, machine: Hopper, offset: int) -> None:
        super().__init__(machine)
        blocks = len(machine.blocks)
        self.offset = offset
        self.count = np.zeros(blocks, np.int64)  # arrivals that complete a phase; 0: not initialised
        self.pending = np.zeros(blocks, np.int64)  # of them, how many are missing
        self.bytes = np.zeros(blocks, np.int64)  # expected, and not there yet
        self.expected = np.zeros(blocks, np.int64)  # all that this phase was told to expect
        self.phase = np.zeros(blocks, np.int64)  # phases that are complete
        self.coming, self.complete = machine.orders.token(), machine.orders.token()
        self.chains: dict[int, Chain] = {}  # by block, what threads of other blocks of the cluster brought
        self.known: dict[int, int] = {}  # of that, how many releases came before the last phase was complete
        self.flying: dict[int, list[Load]] = {}  # by block, the copies whose bytes it will count
        self.late: dict[int, list[Late]] = {}  # by block, arrivals that wait for copies of their threads
        self.told = np.full(machine.lanes, -1, np.int64)  # the phase that a lane heard not to be complete
        # by lane: the last phase that it asked for and that was over, the instruction, and when
        self.answered = np.full((3, machine.lanes), NEVER_ASKED, np.int64)

    def unit(self, blocks: np.ndarray) -> np.ndarray:
        """Its place in these blocks, in units of its size."""
        return (self.offset + blocks * self.machine.shared.stride) // SIZE

    # ---- what instructions call; all for one block's lanes or those of many, with a number for each lane

    def init(self, blocks: np.ndarray, count: np.ndarray) -> None:
        if (wrong := np.flatnonzero((count < 1) | (count > MOST))).size:
            text = f"mbarrier.init counts 1 to {MOST} arrivals, not {count[wrong[0]]}"
            raise Fault("mbarrier", text, int(wrong[0]), "bad-arrival-count")
        self._must_be_free(blocks)
        self.machine.shared.hold(self.unit(blocks), True)
        self.count[blocks] = self.pending[blocks] = count
        self.bytes[blocks] = self.expected[blocks] = self.phase[blocks] = 0
        self.coming.clear(blocks)
        self.complete.clear(blocks)
        for block in blocks.tolist():
            self.chains.pop(block, None)
            self.known.pop(block, None)

    def inval(self, blocks: np.ndarray) -> None:
        self.machine.shared.hold(self.unit(blocks), False)
        self.count[blocks] = 0

    def _must_be_free(self, blocks: np.ndarray) -> None:
        """Fault, where one lies there already (PTX ISA, "mbarrier.init": over a valid one the effect is undefined)."""
        if (wrong := np.flatnonzero(self.count[blocks])).size:
            text = (
                f"there is an mbarrier at {self.machine.shared.describe(self.offset)} already, and the effect of a "
                "second mbarrier.init on it is undefined. Nobody resets an mbarrier: make it once, and wait for phase "
                "p with the parity p % 2. Where the place shall hold another one, mbarrier.inval and a barrier come "
                "first"
            )
            raise Fault("mbarrier", text, int(wrong[0]), "mbarrier-made-again")

    def must_be_there(self, lanes: np.ndarray, blocks: np.ndarray) -> None:
        """Fault, where these lanes find no mbarrier."""
        if (wrong := np.flatnonzero(self.count[blocks] == 0)).size:
            at = int(wrong[0])
            place = self.machine.shared.describe(self.offset)
            text, cause = (
                f"there is no mbarrier at {place}: nobody has called mbarrier.init for it",
                "no-mbarrier",
            )
            if blocks[at] != self.machine.block_of[lanes[at]]:
                text = (
                    f"there is no mbarrier at {place} of block {int(self.machine.blocks[blocks[at]])}: its threads "
                    "may still have to call mbarrier.init. First the blocks of the cluster meet: "
                    "barrier.cluster.arrive and .wait"
                )
                cause = "no-mbarrier-yet"
            raise Fault("mbarrier", text, at, cause)

    def expect(self, blocks: np.ndarray, size: np.ndarray) -> None:
        """So many more bytes will come in this phase."""
        np.add.at(self.bytes, blocks, size)
        np.add.at(self.expected, blocks, size)
        if (wrong := np.flatnonzero(np.abs(self.bytes[blocks]) > MOST)).size:
            text = f"a phase counts at most {MOST} bytes, not {self.bytes[blocks[wrong[0]]]}"
            raise Fault("mbarrier", text, int(wrong[0]), "too-many-bytes")
        self._look(np.unique(blocks))

    def arrive(
        self,
        lanes: np.ndarray,
        blocks: np.ndarray,
        count: np.ndarray,
        leave: bool = False,
        releases: bool = True,
    ) -> np.ndarray:
        """These lanes arrive, each `count` times, and go on; what a lane is told of the phase that it arrived in.

        `leave`: later phases need so many arrivals less (arrive_drop). `releases`: what they did and saw; else what
        fences of them cover.
        """
        self.machine.work(ROUND + 5 * len(lanes) / LANES)
        where = blocks.astype(np.intp, copy=False)
        came = np.bincount(where, weights=count, minlength=len(self.machine.blocks)).astype(np.int64)
        if (came > self.pending).any():  # some belong to the next phase
            alone = [
                self._arrive(lanes[i : i + 1], blocks[i : i + 1], count[i : i + 1], leave, releases)
                for i in range(len(lanes))
            ]
            return np.concatenate(alone)
        return self._arrive(lanes, blocks, count, leave, releases)

    def _arrive(
        self, lanes: np.ndarray, blocks: np.ndarray, count: np.ndarray, leave: bool, releases: bool
    ) -> np.ndarray:
        if (wrong := np.flatnonzero(count > self.pending[blocks])).size:
            at = int(wrong[0])
            text = self._in_words(int(count[at]), int(blocks[at]))
            raise Fault("mbarrier", text, at, "too-many-arrivals")
        state = self.phase[blocks] << 32 | self.pending[blocks]
        (self._release if releases else self._tell_fenced)(lanes, blocks)
        np.subtract.at(self.pending, blocks, count)
        if leave:
            np.subtract.at(self.count, blocks, count)
        self._look(np.unique(blocks))
        return state

    def _in_words(self, count: int, block: int) -> str:
        """More arrivals than the phase lacks."""
        waited = (
            "Let who arrives again wait for the end of that phase first, or let mbarrier.init count all arrivals of a "
            "phase"
        )
        if not (lacks := self.pending[block]):
            return f"an arrival in a phase that has all its arrivals ({self.count[block]}) already. {waited}"
        return f"{count} arrivals at once, and the phase lacks {lacks} of {self.count[block]}. {waited}"

    def ask(self, pc: int, lanes: np.ndarray, phases: np.ndarray, acquires: bool = True) -> np.ndarray:
        """Whether these phases are complete, for each lane; those for which they are have acquired it, or heard of
        it."""
        self.machine.work(ROUND + 5 * len(lanes) / LANES)
        blocks = self.machine.block_of[lanes]
        # nothing arrives for a phase that has ended
        self._deliver(np.unique(blocks[phases >= self.phase[blocks]]))
        done = phases < self.phase[blocks]
        if done.any():
            self._acquire(lanes[done], acquires)
            self.told[lanes[done]] = -1
            for row, what in zip(
                self.answered, (phases[done], pc, self.machine.orders.trail.now), strict=True
            ):
                row[lanes[done]] = what
        return done

    def last_answer(self, lane: int) -> tuple[int, int, int]:
        """The last phase that the lane asked for and that was over, the instruction that asked, and when."""
        phase, pc, time = self.answered[:, lane].tolist()
        return phase, pc, time

    def is_over(self, lanes: np.ndarray, phases: np.ndarray) -> np.ndarray:
        """Whether they are, for lanes that do not look at the answer: they acquire nothing, and nothing arrives for
        them."""
        self.machine.work(ROUND + 5 * len(lanes) / LANES)
        return phases < self.phase[self.machine.block_of[lanes]]

    def phase_of(self, lanes: np.ndarray, parity: np.ndarray) -> np.ndarray:
        """Of the two phases that a parity may mean, the one that is not complete, or was completed last."""
        blocks = self.machine.block_of[lanes]
        if (
            self.late and self.machine.turns.by_chance()
        ):  # all that may arrive has arrived before somebody asks
            for block in self.late.keys() & set(blocks.tolist()):
                self._deliver_late(block, early=True)
        now = self.phase[blocks]
        return np.where(now & 1 == parity, now, now - 1)

    def take_off(self, block: int, load: Load) -> None:
        """A copy is on its way."""
        self.flying.setdefault(block, []).append(load)
        if load.buffer is self.machine.shared:
            self.machine.clusters.lend(load.lane, load.pc, self, block)
        self._look(np.array([block]))

    def arrive_with_copies(self, lanes: np.ndarray, blocks: np.ndarray, counts_more: bool) -> None:
        """These lanes arrive when their copies so far have. `counts_more`: the phase needs their arrivals as well."""
        if counts_more:
            np.add.at(self.pending, blocks, 1)
        time = self.machine.orders.trail.now
        for block in np.unique(blocks).tolist():
            self.arrive_late(
                block, Late(lanes[blocks == block], partial(self.machine.copies.land, time=time))
            )

    def arrive_late(self, block: int, late: Late, with_news: bool = False) -> None:
        """An arrival that waits for something. `with_news`: its lanes bring what they did and saw until now, too."""
        if with_news:
            late = replace(late, news=self.machine.orders.said(late.lanes))
        self.late.setdefault(block, []).append(late)
        self._look(np.array([block]))

    def wait(
        self, pc: int, lanes: np.ndarray, phases: np.ndarray, resume: Callable, acquires: bool = True
    ) -> None:
        """These lanes wait for the end of these phases."""
        self.waiting.append(Question(pc, lanes, resume, phases, acquires))

    def look_again(self, lanes: np.ndarray) -> None:
        """Nobody waits for the exit of a thread here."""

    def lacks(self, block: int | None = None) -> Lack:
        """What the block lacks, or the first one in which somebody waits here."""
        block = int(self.machine.block_of[self.waiting[0].lanes[0]]) if block is None else block
        place = self.machine.shared.describe(self.offset)
        text = (
            f"phase {self.phase[block]} of the mbarrier at {place} lacks {self.pending[block]} of {self.count[block]} "
            "arrivals"
        )
        if self.expected[block] or self.bytes[block]:
            came = self.expected[block] - self.bytes[block]
            text += f", and was told to expect {self.expected[block]} bytes, of which {came} came"
        return Lack(text, int(self.phase[block]), int(self.pending[block]), int(self.bytes[block]))

    # ---- helpers

    def _chain(self, block: int) -> Chain:
        return self.chains.setdefault(block, Chain())

    def _release(self, lanes: np.ndarray, blocks: np.ndarray) -> None:
        """What these lanes did and saw, to who waits at the mbarriers in these blocks."""
        own = self.machine.block_of[lanes] == blocks
        if own.any():
            self.machine.orders.release(lanes[own], self.coming)
        for block in np.unique(blocks[~own]).tolist():  # from other blocks of the cluster
            self.machine.orders.tell(self._chain(block), lanes[~own & (blocks == block)])

    def _tell_fenced(self, lanes: np.ndarray, blocks: np.ndarray) -> None:
        """The same of what the last fence of each lane covers."""
        own = self.machine.block_of[lanes] == blocks
        for lane, block, near in zip(lanes.tolist(), blocks.tolist(), own.tolist(), strict=True):
            self.machine.orders.messages.tell_fenced(self._chain(block), lane, BLOCK if near else CLUSTER)

    def _acquire(self, lanes: np.ndarray, acquires: bool) -> None:
        """What the last complete phase brought; unless it `acquires`, the lanes have only heard of it."""
        orders = self.machine.orders
        (orders.acquire if acquires else orders.hear_of)(lanes, self.complete)
        for block in np.unique(self.machine.block_of[lanes]).tolist():
            mine = lanes[self.machine.block_of[lanes] == block]
            self.machine.clusters.hear(self, block, mine)
            if self.known.get(block):
                chain, length = self.chains[block], self.known[block]
                if acquires:
                    orders.messages.hear(mine, chain, length)
                else:
                    orders.messages.hear_of(mine, News({}, {chain: length}))

    def _deliver(self, blocks: np.ndarray) -> None:
        """Somebody asks for the end of a phase: in blocks where it lacks nothing but bytes and what waits for them,
        copies arrive."""
        for block in blocks.tolist():
            if self.late.get(block):
                self._deliver_late(block)
            flying = self.flying.get(block)
            while flying and self.pending[block] == 0:
                load = flying.pop(0)
                self.machine.bulk.land(load)
                self.machine.clusters.lands(load.lane, load.pc, self, block)
                if int(self.machine.block_of[load.lane]) == block:
                    self.machine.orders.release_of(np.array([load.lane]), self.coming, load.issued + 1)
                else:
                    self.machine.orders.tell_of(self._chain(block), load.lane, load.issued + 1)
                self.bytes[block] -= load.size
                self._complete(np.array([block]))

    def _deliver_late(self, block: int, early: bool = False) -> None:
        """What is late arrives where the phase that somebody asks for needs it; `early`: all of it, one phase after
        another."""
        late, phase = self.late[block], self.phase[block]

        def needed() -> bool:
            return self.phase[block] == phase and self.pending[block] <= sum(len(each.lanes) for each in late)

        # a phase that lacks bytes alone takes no arrival any more: they belong to the next one
        while late and self.pending[block] > 0 and (early or needed()):
            first, many = late.pop(0), int(self.pending[block])
            if len(first.lanes) > many:  # the others belong to the next phase
                late.insert(0, replace(first, lanes=first.lanes[many:]))
            lanes = first.lanes[:many]
            time = first.end(lanes)
            for released in first.news:
                self._chain(block).add(released)
            if int(self.machine.block_of[lanes[0]]) == block:
                self.machine.orders.release_of(lanes, self.coming, time)
            else:
                self.machine.orders.tell_of(self._chain(block), int(lanes[0]), time)
            self.pending[block] -= len(lanes)
            self._complete(np.array([block]))

    def _look(self, blocks: np.ndarray) -> None:
        """These blocks lack less than before."""
        asking = {int(block) for entry in self.waiting for block in self.machine.block_of[entry.lanes]}
        self._complete(blocks)
        self._deliver(np.array([block for block in blocks.tolist() if block in asking], np.int64))

    def _complete(self, blocks: np.ndarray) -> None:
        """Complete the phases of these blocks that lack nothing any more, and let go who waits for them."""
        done = blocks[(self.pending[blocks] == 0) & (self.bytes[blocks] == 0)]
        if not len(done):
            return
        self.machine.turns.stirred = True
        self.complete.times[done] = self.coming.times[done]
        self.complete.news[done] = self.coming.news[done]
        for block in self.chains.keys() & set(done.tolist()):
            self.known[block] = self.chains[block].length
        self.phase[done] += 1
        self.pending[done] = self.count[done]
        self.expected[done] = 0
        ready = np.zeros(self.machine.lanes, bool)
        for entry in self.waiting:
            ready[entry.lanes[entry.phases < self.phase[self.machine.block_of[entry.lanes]]]] = True
        active = self.machine.idx  # of the instruction that completes the phase: it may stand amid others
        for entry in self.take(ready):
            self._acquire(entry.lanes, entry.acquires)
            entry.resume(self.machine, entry.lanes)
        self.machine.idx = active
