"""A sub-core of an SM, its warps and their blocks: what they wait for, and until when."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import InitVar, dataclass, field
from math import inf
from typing import ClassVar, Literal

from ..gpus import WARPGROUP
from .costs import (
    AGE,
    BESIDE_PRODUCTS,
    FMA,
    HEAVY,
    HOLDS_PRODUCTS,
    MBARRIER_LATENCY,
    MEMORY,
    MOST_LATE,
    NO_PIPE,
    PIPES,
    PRODUCT_LATENCY,
    PRODUCTS_AHEAD,
    QUEUE,
    READ_WINDOW,
    SPECIAL,
    TENSOR,
    Costs,
)
from .memory import Memory, Rates
from .reasons import FOR_BARRIER, FOR_COPIES, FOR_PIPE, FOR_RESULT, FOR_SHARED, FOR_TIME

OTHER_DATA = 1 << 36
"""Of a warp that goes round: its sectors of the next round lie so far away."""
OTHER_BLOCK = 1 << 44
"""And a block's from the next one's: blocks are taken to share nothing in L1."""

BEGUN = 1e9
"""Cycles that a warp in the middle of a group of wgmma is taken to have waited longer than others in a full line: more
than any play has. A: that it goes first, with attention's `AHEAD` in view (research/clock.md)."""

Use = Literal["copy", "wait", "barrier", "math", "store", "shared", ""]
"""What an instruction is for: to bring data from global memory, to wait for them, to wait for other warps, to multiply,
to bring data to global memory; to load or to store in shared memory; none of these."""
Unit = Literal["arithmetic", "tensor cores", "shared memory", "L2", "stores"]
"""The FMA units and the tensor cores of a sub-core, the port of shared memory and L1, the SM's way from L2, and to
it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One instruction of one warp, as an SM takes it; this one does nothing behind its issue (operations.py: others).

    `at`: its address. `stall`: cycles until the warp's next one may go. `yields`: another warp goes first. `waits`:
    scoreboards that are to be clear; `sets`: the one that its result clears, `read`: the one that is cleared when its
    operands have been read (-1: none). `hits` and `misses`: reads of the even and of the odd register bank where the
    sub-core's last instruction of this pipe was the same warp's, and where it was not. `interval`: cycles for which it
    has its `pipe`.

    `use`: what it is for. `keeps`: cycles for which its sub-core issues nothing else. `pair`: it adds a pair of
    registers, which it cannot read in the cycle behind a load's issue (M: beside NOPs, research/clock.md; C: LDG with
    IMAD.WIDE). `leaves`: what the warp waits for in the stall
    behind it. `gated`: it may be held by more than scoreboards. `multiplies`: it gets in line for the tensor cores.
    """

    at: int = 0
    stall: int = 1
    yields: bool = False
    waits: tuple[int, ...] = ()
    sets: int = -1
    read: int = -1
    hits: tuple[int, int] = (0, 0)
    misses: tuple[int, int] = (0, 0)
    pipe: int = NO_PIPE
    interval: float = 1.0
    pair: bool = False

    use: ClassVar[Use] = ""
    keeps: ClassVar[int] = 1
    leaves: ClassVar[int] = FOR_TIME
    gated: ClassVar[bool] = False
    multiplies: ClassVar[bool] = False

    def issue(self, warp: Warp, begin: float) -> None:
        """It has been issued, and its pipe begins then: what follows, and the warp goes on to its next one."""
        warp.step()

    def gate(self, warp: Warp) -> tuple[float, int] | None:
        """Until when it is held, and what for. None: nobody knows yet."""
        return -inf, FOR_TIME

    def serve(self, warp: Warp, begin: float) -> None:
        """It was first in line for memory, and goes there."""
        raise NotImplementedError

    def asks(self, rates: Rates) -> Sequence[tuple[Unit, float]]:
        """The units of the SM that it needs, and for how many cycles each."""
        return ()


@dataclass(slots=True, eq=False)
class Warp:
    """How far a warp is, when it may go on, and why not before. `marks`: -1 is the last; `loop`: (0, -1) is none."""

    ops: Sequence[Op]
    block: Block
    core: SubCore
    marks: tuple[int, ...]
    loop: tuple[int, int]
    k_tiles: Sequence[int]
    salt: int = field(init=False)
    warpgroup: int = field(init=False)  # which of its block's
    op: Op = field(init=False)
    place: int = 0
    mark: int = 0
    free: float = 0.0  # when the stall is over
    ready: float = 0.0  # and scoreboards are clear
    cause: int = FOR_TIME  # of what lies between
    last: float = -1.0  # when it issued
    turns: float = 0.0  # cycles since it could go: another went
    held: float = 0.0  # and the sub-core was held up
    end: float = 0.0
    since: tuple[float, int] = 0.0, FOR_TIME  # until when it is held besides, and by what
    asleep: bool = False  # until something is known that it waits for
    clear: list[float] = field(default_factory=lambda: [0.0] * 6)  # when each scoreboard will be
    due: list[int] = field(default_factory=lambda: [0] * 6)  # and how many that set it are still in line
    why: list[int] = field(default_factory=lambda: [FOR_RESULT] * 6)
    groups: list[float] = field(default_factory=list)  # when each group of copies will be there
    copied: float = 0.0  # and what is in none yet
    commits: int = 0  # groups, with those that are still in line
    times: list[float] = field(default_factory=list)
    products: list[float] = field(default_factory=list)  # when each group of wgmma will be done
    product: float = 0.0  # and what is in none yet
    multiplied: int = 0  # wgmma that it has issued
    begun: bool = False  # whether the last of them was in the middle of its group
    product_groups: int = 0  # with those that nobody serves yet
    sent: float = -inf  # when its last wgmma was issued
    late: float = 0.0  # cycles more before its next instruction
    awaited: dict[int, int] = field(default_factory=dict)  # the phase of each mbarrier waited for next

    def __post_init__(self) -> None:
        self.salt = self.block.number * OTHER_BLOCK
        self.warpgroup = self.block.size // WARPGROUP
        self.op = self.ops[0]

    @property
    def turn(self) -> int:
        """Its k-tile and its block, as one number."""
        if self.k_tiles:
            return self.k_tiles[min(self.place, len(self.k_tiles) - 1)] + self.block.number
        return len(self.times) + self.block.number

    def sets(self, scoreboard: int, time: float, why: int) -> None:
        if scoreboard >= 0 and time > self.clear[scoreboard]:
            self.clear[scoreboard], self.why[scoreboard] = time, why

    def look_ahead(self, at: float, cause: int) -> None:
        """When the next instruction may go, as far as the warp itself is concerned; held until `at` for this cause.
        If that is not known yet it falls asleep."""
        op = self.op
        self.since, self.ready = (at, cause), inf
        for scoreboard in op.waits:
            if self.due[scoreboard]:
                self.asleep = True
                return
        self.asleep = False
        if self.free > at:
            at = self.free
        for scoreboard in op.waits:
            if self.clear[scoreboard] > at:
                at, cause = self.clear[scoreboard], self.why[scoreboard]
        if op.gated:
            gate = op.gate(self)
            if gate is None:
                self.asleep = True
                return
            if gate[0] > at:
                at, cause = gate
        self.ready, self.cause = at, cause

    def step(self, held: bool = False) -> None:
        """Go on to the next instruction, or to a barrier's opening before it."""
        self.place += 1
        if self.place == self.loop[1]:
            self.place, self.mark = self.loop[0], 0
            self.salt += OTHER_DATA
        if self.place == len(self.ops):
            self.leave()
            return
        self.op = self.ops[self.place]
        if held:
            self.ready = inf
        else:
            self.look_ahead(self.free, FOR_TIME)

    def leave(self) -> None:
        """It has ended."""
        core = self.core
        self.end = core.time
        core.warps.remove(self)
        if not core.warps:
            core.time = inf

    def go(self, held_until: float, cause: int, time: float) -> None:
        """What held it is known at this time: it looks ahead again, and its sub-core looks at it."""
        self.look_ahead(held_until, cause)
        self.core.time = min(self.core.time, max(self.ready, time))

    def multiplies_later(self, cycles: float) -> None:
        """What the tensor cores have of its wgmma is done so much later."""
        done = self.core.time + PRODUCT_LATENCY
        if self.product > done:
            self.product += cycles
        for at in range(len(self.products) - 1, -1, -1):
            if self.products[at] <= done:
                break
            self.products[at] += cycles
        if self.op.gated and self.ready < inf:
            self.look_ahead(*self.since)

    def known(self, scoreboards: Iterable[int], time: float) -> None:
        """It is known when these will be clear: if it sleeps it looks ahead again."""
        for scoreboard in scoreboards:
            self.due[scoreboard] -= 1
        if self.asleep:
            self.go(*self.since, time)


class Write:
    """What a load from shared memory brings to registers: when it comes, cycles that it needs, and who waits for it."""

    __slots__ = ("comes", "cycles", "last", "scoreboard", "warp")

    def __init__(self, comes: float, cycles: float, warp: Warp, scoreboard: int) -> None:
        self.comes, self.cycles, self.warp, self.scoreboard = comes, cycles, warp, scoreboard
        self.last = comes + cycles + MOST_LATE

    def end(self, begin: float) -> float:
        """If it goes on then, and no arithmetic is issued."""
        # not min and max: called very often
        end = (begin if begin > self.comes else self.comes) + self.cycles
        return end if end < self.last else self.last


Wgmma = tuple["Block", int, int]
"""One of a block: whose, which warpgroup's, and which of these."""


@dataclass(slots=True, eq=False)
class SubCore:
    """A sub-core: when its pipes are free, its registers are read and written, and its way to memory has room."""

    memory: Memory
    fma_halves: InitVar[float]
    warps: list[Warp] = field(default_factory=list)  # the oldest first
    time: float = 0.0  # when it may issue next
    pipes: list[float] = field(default_factory=lambda: [0.0] * PIPES)
    users: list[Warp | None] = field(
        default_factory=lambda: [None] * PIPES
    )  # whose registers are kept for `.reuse`
    banks: tuple[float, float] = 0.0, 0.0  # of even and of odd registers
    # For memory: since when, what and whose.
    line: deque[tuple[float, Op, Warp]] = field(default_factory=deque)
    busy: float = 0.0  # when the one before them has left
    serves: float = inf  # and when the first of them begins
    latest: Warp | None = None
    shut: tuple[float, float] = 0.0, 0.0  # from when to when there is no other issue behind the last one
    address: float = -1.0  # when the last load reads its address
    writes: deque[Write] = field(default_factory=deque)  # the first that came is the first to be written
    clean: float = 0.0  # from when on the next cycle for them may be
    multiplies: float = 0.0  # until when its tensor cores have wgmma
    ahead: deque[float] | None = None  # when its last wgmma began, if no more than these may wait
    cores: Sequence[SubCore] = ()  # all of the SM, if it is the first one
    order: deque[Wgmma] = field(default_factory=deque)  # in which it serves them
    # What its warps have issued of those that it does not serve yet: cycles, whether a group ends, and whose.
    parts: dict[Wgmma, tuple[float, bool, Warp]] = field(default_factory=dict)

    def __post_init__(self, fma_halves: float) -> None:
        if fma_halves < 2:
            self.pipes[FMA] = inf  # all goes to the half that multiplies integers

    def room(self, pipe: int) -> float:
        """When the pipe takes another instruction."""
        if pipe == MEMORY:
            return self.busy if len(self.line) >= QUEUE - 1 else 0.0
        free = self.pipes[pipe]
        return min(free, self.pipes[HEAVY]) if pipe == FMA else free

    def readable(self, reads: tuple[int, int]) -> float:
        """When an instruction can issue that reads so many even and odd registers."""
        (even, odd), (of_even, of_odd), at = self.banks, reads, 0.0
        if of_even:
            at = even + of_even - (READ_WINDOW if of_even < READ_WINDOW else of_even)
        if of_odd:
            other = odd + of_odd - (READ_WINDOW if of_odd < READ_WINDOW else of_odd)
            at = other if other > at else at
        return at

    def choose(self) -> Warp | None:
        """Who issues now. If nobody can: None, and `time` is when somebody may."""
        time, soonest, first = self.time, inf, inf
        found, able = None, []
        begin, opens = self.shut
        if begin < opens and time < opens:  # somebody has been woken in between
            self.time = opens
            return None
        if self.writes:
            self.write(time)
        for warp in self.warps:
            at = warp.ready
            if at <= time:
                pipe = warp.op.pipe
                if pipe:
                    at = self.room(pipe)
                elif self.ahead and warp.op.multiplies and len(self.ahead) == PRODUCTS_AHEAD:
                    at = self.ahead[0]
                if at <= time:
                    if time == opens > begin:
                        warp.held += max(time - max(begin, warp.ready, at), 0.0)
                    able.append(warp)
                    turn = warp.last + warp.block.start
                    if not pipe and at > warp.ready:  # it was held by a full line
                        turn -= BEGUN * warp.begun
                    elif warp is self.latest:
                        turn = -inf
                    if turn < first:
                        found, first = warp, turn
                    continue
            if at < soonest:
                soonest = at
        if found is None:
            self.time = min(soonest, self.writes[0].end(self.clean)) if self.writes else soonest
            return None
        self.hold(found, able)
        return found

    def hold(self, first: Warp, able: list[Warp]) -> None:
        """Until the registers of the one that goes can be read; and count for all that could go what they lose."""
        op = first.op
        held = 0.0
        if op.pipe:
            reads = op.hits if self.users[op.pipe] is first else op.misses
            held = self.readable(reads) - self.time
            if op.pair and self.address == self.time:
                held = max(held, 1.0)
        for warp in able:
            warp.turns += 1
        first.turns -= 1
        if held > 0:
            self.time += held
            for warp in able:
                warp.held += held

    def occupy(self, op: Op, warp: Warp) -> float:
        """Take the pipe and read the registers: when the pipe begins."""
        time, pipe, pipes = self.time, op.pipe, self.pipes
        begin = time
        if pipe != MEMORY:
            unit = HEAVY if pipe == FMA and pipes[HEAVY] < pipes[FMA] else pipe
            if pipes[unit] > time:  # not max: called very often
                begin = pipes[unit]
            pipes[unit] = begin + op.interval
            if self.multiplies > time:
                self.go_beside_products(pipe, unit, warp)
            if pipe != SPECIAL:
                if self.writes:
                    self.write(time)
                self.clean = time + 1  # this cycle's write is its result's
        reads = op.hits if self.users[pipe] is warp else op.misses
        self.users[pipe] = warp
        (even, odd), (of_even, of_odd) = self.banks, reads
        if of_even:
            even = (even if even > time else time) + of_even
        if of_odd:
            odd = (odd if odd > time else time) + of_odd
        self.banks = even, odd
        return begin

    def go_beside_products(self, pipe: int, unit: int, warp: Warp) -> None:
        """This warp's instruction goes to a unit of its pipe while the tensor cores have wgmma."""
        if pipe == FMA:
            warp.late = HOLDS_PRODUCTS
            self.hold_products(HOLDS_PRODUCTS)
        else:
            self.pipes[unit] += BESIDE_PRODUCTS

    def multiply(self, cycles: float, ends: bool, warp: Warp, time: float) -> None:
        """A warp has issued its part of a wgmma. All sub-cores serve them in the order of the first one's warps."""
        wgmma = warp.block, warp.warpgroup, warp.multiplied
        self.parts[wgmma] = cycles, ends, warp
        for core in self.cores:
            core.order.append(wgmma)
        for core in self.cores or (self,):
            core.serve_products(time)

    def serve_products(self, time: float) -> None:
        """A part that is there, and whose turn it is, begins when those before it are done."""
        while self.order and self.order[0] in self.parts:
            cycles, ends, warp = self.parts.pop(self.order.popleft())
            begins = max(self.pipes[TENSOR], time)
            if self.ahead is not None:
                self.ahead.append(begins)
            self.multiplies = self.pipes[TENSOR] = begins + cycles
            warp.product = self.multiplies + PRODUCT_LATENCY
            if ends:
                warp.products.append(warp.product)
                if warp.asleep:
                    warp.go(*warp.since, time)

    def hold_products(self, cycles: float) -> None:
        """All wgmma that the tensor cores have not done are done so much later."""
        self.multiplies += cycles
        self.pipes[TENSOR] += cycles
        if self.ahead:
            for at, begins in enumerate(self.ahead):
                if begins > self.time:
                    self.ahead[at] = begins + cycles
        for warp in self.warps:
            warp.multiplies_later(cycles)

    def write(self, until: float) -> None:
        """Loaded values go to registers, in the cycles before this one in which no arithmetic was issued."""
        while self.writes:
            first = self.writes[0]
            end = first.end(self.clean)
            if end > until:
                first.cycles -= max(until - max(self.clean, first.comes), 0.0)
                break
            if end > self.clean:
                self.clean = end
            self.writes.popleft()
            if first.scoreboard >= 0:
                first.warp.sets(first.scoreboard, end, FOR_SHARED)
                first.warp.due[first.scoreboard] -= 1
            if first.warp.asleep:
                first.warp.look_ahead(*first.warp.since)
        if until > self.clean:
            self.clean = until

    def enter(self, op: Op, warp: Warp, time: float) -> None:
        """An instruction gets in line for memory."""
        if not self.line:
            self.serves = max(time, self.busy)
        self.line.append((time, op, warp))

    def serve(self) -> None:
        """What is first in line for memory goes there."""
        _, op, warp = self.line.popleft()
        op.serve(warp, self.serves)

    def send(self, leaves: float) -> None:
        """The one that was first in line leaves."""
        self.busy = leaves
        self.serves = max(self.line[0][0], leaves) if self.line else inf


class Mbarrier:
    """Arrivals that make a phase, what of the present one is missing, and when those before it ended."""

    def __init__(self, count: int) -> None:
        self.count = self.missing = count
        self.expected = self.coming = 0.0  # bytes
        self.last = 0.0  # when the last of both has come
        self.ended: list[tuple[float, int]] = []  # and why who waits does
        # for which phase, and the scoreboard that its end clears
        self.waiting: list[tuple[Warp, int, int]] = []

    def came(self, done: float, time: float) -> None:
        """The latest of what is counted here will have come at `done`: the phase ends, if it was the last."""
        self.last = max(self.last, done)
        if self.missing > 0 or self.coming < self.expected:
            return
        self.ended.append((self.last + MBARRIER_LATENCY, FOR_COPIES if self.expected else FOR_BARRIER))
        self.missing += self.count
        self.expected = self.coming = self.last = 0.0
        self.release(time)

    def wait(self, warp: Warp, phase: int, scoreboard: int, time: float) -> None:
        self.waiting.append((warp, phase, scoreboard))
        self.release(time)

    def release(self, time: float) -> None:
        """Whoever waits for a phase that has ended, or will at a known time."""
        held, self.waiting = self.waiting, []
        for warp, phase, scoreboard in held:
            if phase < len(self.ended):
                warp.sets(scoreboard, *self.ended[phase])
                warp.known((scoreboard,), time)
            else:
                self.waiting.append((warp, phase, scoreboard))


class Barrier:
    """How many warps have come, when the last of them has been counted, and who waits."""

    def __init__(self) -> None:
        self.came = 0
        self.gate = 0.0
        self.held: list[Warp] = []


class Block:
    """A block on the SM: the oldest one is number 0. What its warps share."""

    def __init__(self, number: int, costs: Costs) -> None:
        self.number, self.costs = number, costs
        self.start = AGE * number
        self.size = 0  # warps
        self.barriers: dict[int, Barrier] = {}
        self.mbarriers: dict[int, Mbarrier] = {}
        self.meeting: dict[int, list[Warp]] = {}  # of each warpgroup, before its wgmma

    def arrive(self, number: int, warps: int, time: float, held: Warp | None) -> None:
        """At a barrier, which opens when the last of its warps (0: of all) has come; this one may be held there."""
        barrier = self.barriers.setdefault(number, Barrier())
        barrier.gate = max(barrier.gate, time) + self.costs.barrier_arrival
        barrier.came += 1
        if held is not None:
            barrier.held.append(held)
        if barrier.came == (warps or self.size):
            barrier.came = 0
            opens = barrier.gate + self.costs.barrier_latency
            free, barrier.held = barrier.held, []
            for warp in free:
                warp.go(opens, FOR_BARRIER, time)

    def meet(self, warp: Warp, time: float) -> None:
        """The warps of a warpgroup go on to their wgmma when the last of them has come."""
        held = self.meeting.setdefault(warp.warpgroup, [])
        held.append(warp)
        warp.ready = inf
        if len(held) == WARPGROUP:
            del self.meeting[warp.warpgroup]
            for other in held:
                other.go(time + 1, FOR_PIPE, time)
