"""One SM at work: the warps of its blocks, each with its instructions in order, on four sub-cores.

A sub-core issues at most one instruction a cycle, and an IMAD.WIDE in three. A warp's next one can go when the stall
before it is over, its scoreboards are clear and it is not held at a barrier; when its pipe is free and the way to
memory has room. Of the warps that can go the one that went last goes on, else the one that waited longest; warps of
older blocks have a start. An instruction whose registers cannot be read in time holds up the sub-core, and no other
warp slips in. When an instruction issues all that follows from it is known, but for barriers and for what waits in
line for memory, which comes to what all sub-cores share when it is first in line; so the model goes from event to
event, not from cycle to cycle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from math import inf

from ..gpus import SECTOR, SUB_CORES
from .costs import (
    AGE,
    ARRIVE,
    AWAIT,
    AWAIT_LATENCY,
    BARRIER,
    BRANCH,
    BULK,
    BULK_LATENCY,
    BULK_SHARE,
    BULK_STORE,
    COMMIT,
    COPIES_WAIT,
    COPY,
    EXIT,
    FMA,
    HEAVY,
    INIT,
    LOAD,
    MBARRIER_LATENCY,
    MEET,
    MEMORY,
    MOST_LATE,
    OF_AN_H100,
    PENDING,
    PIPES,
    PRODUCT,
    PRODUCT_EVERY,
    PRODUCT_LATENCY,
    PRODUCTS_AHEAD,
    PRODUCTS_WAIT,
    QUEUE,
    READ_WINDOW,
    SECTORS,
    SIGNAL,
    SPECIAL,
    STORE,
    STORE_BUFFER,
    TENSOR,
    VARIABLE,
    Costs,
    Op,
)
from .walk import Untraceable

REASONS = (
    "issues",
    "fixed time",
    "branch",
    "shared memory",
    "global memory",
    "copies",
    "other result",
    "barrier",
    "pipe busy",
    "register banks",
    "memory queue full",
    "another warp first",
)
"""What a warp spends its cycles on: it issues, or waits for this. An IMAD.WIDE that keeps the issue: register banks."""
(
    ISSUES,
    FOR_TIME,
    FOR_BRANCH,
    FOR_SHARED,
    FOR_GLOBAL,
    FOR_COPIES,
    FOR_RESULT,
    FOR_BARRIER,
    FOR_PIPE,
    FOR_BANKS,
    FOR_QUEUE,
    FOR_TURN,
) = range(len(REASONS))

WARPGROUP = 4  # warps that make a wgmma together
OPEN_ROW, OTHER_ROW, OTHER_ROWS = 277, 460, 5
"""Cycles that a line from DRAM comes later than one from L2, where its row of DRAM is open, and in one of five where it
is not. M: single lines, 262 to 290 and 440 to 480; `vector_copy`, whose warps load four lines at a time: a third of
them get theirs 285 cycles later than others of the same lines in L2, nearly all others 490."""
HASH = 2654435761  # of a line's number: which rows are open follows no pattern of addresses
ARRAY = 1 << 35
"""Sectors from one array in global memory to the next."""
OTHER_DATA = 1 << 36
"""Of a warp that goes round: its sectors of the next round lie so far away."""
OTHER_BLOCK = 1 << 44
"""And a block's from the next one's: blocks are taken to share nothing in L1."""


@dataclass(frozen=True)
class Rates:
    """What the SMs share, for one of them: bytes a cycle from L2 and to it while all SMs ask, and from L2 in a `burst`
    of so many bytes, which others do not have at the same time. `dram`: L2 cannot keep what is read. The lines of
    arrays `of_few` come from there (the sectors of array n begin at n * ARRAY), and of so many blocks that go `in_step`
    one waits for them, another one at each k-tile; the others find them in L2. `costs` are of an SM's own units."""

    l2_bytes: float = OF_AN_H100.l2_bytes
    l2_alone: float = OF_AN_H100.l2_alone
    burst: float = 32768.0  # A
    store_bytes: float = OF_AN_H100.store_bytes
    l1_sectors: int = 6144  # of L1, which is what shared memory leaves
    dram: bool = False
    of_few: frozenset[int] = frozenset()
    in_step: int = 1
    costs: Costs = OF_AN_H100

    def where_slower(self, part: float) -> Rates:
        """Where the SM's clock is `part` of the one at which they were measured, and L2's is the same."""
        faster = {name: getattr(self, name) / part for name in ("l2_bytes", "l2_alone", "store_bytes")}
        return replace(self, **faster)


@dataclass(frozen=True)
class Stream:
    """A warp: its instructions, and its block on this SM (0 is the oldest).

    `marks`: indices of instructions whose issue time is wanted. `loop`: from where to where it goes round without end,
    as indices; each time with other data in global memory. `k_tiles`: each instruction's; without it one begins at each
    mark.
    """

    ops: Sequence[Op]
    block: int
    marks: tuple[int, ...] = ()
    loop: tuple[int, int] | None = None
    k_tiles: Sequence[int] = ()


Spent = dict[tuple[int, int], float]
"""Cycles of all warps, by the address of the instruction that they issued or waited to issue, and by the reason."""


@dataclass(frozen=True)
class Played:
    """`ends[w]`: when warp w ended, in cycles, or the play did; `times[w]`: when it issued its marked instructions;
    `spent`: what all warps spent their cycles on, from `since` on."""

    ends: list[float]
    times: list[list[float]]
    spent: Spent = field(repr=False)
    since: float = 0.0

    @property
    def end(self) -> float:
        return max(self.ends)


def run(
    streams: Sequence[Stream], rates: Rates = Rates(), issues: int = 0, shown: int | None = None
) -> Played:
    """Play warps that all begin at once until the last one has ended, or the last one of the block that is `shown`.

    Those that loop: for so many `issues`, and half as many before these, in which they get going.
    """
    return _Sm(streams, rates, shown).run(issues)


class _Warp:
    """How far a warp is, when it may go on, and why not before."""

    __slots__ = (
        *(
            "block",
            "cause",
            "clear",
            "copied",
            "core",
            "end",
            "free",
            "groups",
            "last",
            "loop",
            "mark",
            "marks",
            "op",
        ),
        *(
            "asleep",
            "awaited",
            "commits",
            "due",
            "held",
            "k_tiles",
            "ops",
            "place",
            "product",
            "products",
            "ready",
            "salt",
        ),
        *("sent", "since", "times", "turns", "warpgroup", "why"),
    )

    def __init__(self, stream: Stream, core: _Core) -> None:
        self.ops, self.block, self.core = stream.ops, stream.block, core
        self.marks, self.mark = (*stream.marks, -1), 0
        self.loop = stream.loop or (0, -1)
        self.k_tiles = stream.k_tiles
        self.salt = stream.block * OTHER_BLOCK
        self.warpgroup = 0  # which of its block's
        self.place, self.op = 0, stream.ops[0]
        self.free = self.ready = 0.0  # when the stall is over; and scoreboards are clear
        self.cause = FOR_TIME  # of what lies between
        self.last = -1.0  # when it issued
        self.turns = self.held = 0.0  # cycles since it could go: another went; the sub-core was held up
        self.end = 0.0
        self.since = 0.0, FOR_TIME  # until when it is held besides, and by what
        self.asleep = False  # until something is known that it waits for
        self.clear = [0.0] * 6  # when each scoreboard will be
        self.due = [0] * 6  # and how many instructions that set it are still in line
        self.why = [FOR_RESULT] * 6
        self.groups: list[float] = []  # when each group of copies will be there
        self.copied = 0.0  # and what is in none yet
        self.commits = 0  # groups, with those that are still in line
        self.times: list[float] = []
        self.products: list[float] = []  # when each group of wgmma will be done
        self.product = 0.0  # and what is in none yet
        self.sent = -inf  # when its last wgmma was issued
        self.awaited: dict[int, int] = {}  # the phase of each mbarrier that is waited for next

    @property
    def k_tile(self) -> int:
        """The number of the one that it is at."""
        if self.k_tiles:
            return self.k_tiles[min(self.place, len(self.k_tiles) - 1)]
        return len(self.times)

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
        if op.kind in (COPIES_WAIT, PRODUCTS_WAIT):
            groups, why = (self.groups, FOR_COPIES) if op.kind == COPIES_WAIT else (self.products, FOR_PIPE)
            made = self.commits if op.kind == COPIES_WAIT else len(groups)
            behind = made - 1 - int(op.amount)
            self.asleep = behind >= len(groups)
            if self.asleep:
                return
            if behind >= 0 and groups[behind] > at:
                at, cause = groups[behind], why
        if op.kind == PRODUCT and self.sent + PRODUCT_EVERY > at:
            at, cause = self.sent + PRODUCT_EVERY, FOR_PIPE
        self.ready, self.cause = at, cause


class _Write:
    """What a load from shared memory brings to registers: when it comes, cycles that it needs, and who waits for it."""

    __slots__ = ("comes", "cycles", "last", "scoreboard", "warp")

    def __init__(self, comes: float, cycles: float, warp: _Warp, scoreboard: int) -> None:
        self.comes, self.cycles, self.warp, self.scoreboard = comes, cycles, warp, scoreboard
        self.last = comes + cycles + MOST_LATE

    def end(self, begin: float) -> float:
        """If it goes on then, and no arithmetic is issued."""
        end = (
            begin if begin > self.comes else self.comes
        ) + self.cycles  # not min and max: called very often
        return end if end < self.last else self.last


class _Core:
    """A sub-core: when its pipes are free, its registers are read and written, and its way to memory has room."""

    __slots__ = (
        *("banks", "busy", "latest", "line", "pipes", "serves", "time", "users", "warps"),
        *("address", "ahead", "clean", "shut", "writes"),
    )

    def __init__(self, fma_halves: float) -> None:
        self.warps: list[_Warp] = []  # the oldest first
        self.time = 0.0  # when it may issue next
        self.pipes = [0.0] * PIPES
        if fma_halves < 2:
            self.pipes[FMA] = inf  # all goes to the half that multiplies integers
        self.users: list[_Warp | None] = [None] * PIPES  # whose registers are kept for `.reuse`
        self.banks = 0.0, 0.0  # of even and of odd registers
        self.line: deque[tuple[float, Op, _Warp]] = deque()  # for memory: since when, what and whose
        self.busy = 0.0  # when the one before them has left
        self.serves = inf  # and when the first of them begins
        self.latest: _Warp | None = None
        self.shut = 0.0, 0.0  # from when to when there is no other issue behind the last one
        self.address = -1.0  # when the last load reads its address
        self.writes: deque[_Write] = deque()  # the first that came is the first to be written
        self.clean = 0.0  # from when on the next cycle for them may be
        self.ahead: deque[float] | None = None  # when its last wgmma began, if no more than these may wait

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

    def choose(self) -> _Warp | None:
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
                elif self.ahead and warp.op.kind == PRODUCT and len(self.ahead) == PRODUCTS_AHEAD:
                    at = self.ahead[0]
                if at <= time:
                    if time == opens > begin:
                        warp.held += max(time - max(begin, warp.ready, at), 0.0)
                    able.append(warp)
                    turn = -inf if warp is self.latest else warp.last + AGE * warp.block
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

    def hold(self, first: _Warp, able: list[_Warp]) -> None:
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

    def occupy(self, op: Op, warp: _Warp) -> float:
        """Take the pipe and read the registers: when the pipe begins."""
        time, pipe, pipes = self.time, op.pipe, self.pipes
        begin = time
        if pipe != MEMORY:
            unit = HEAVY if pipe == FMA and pipes[HEAVY] < pipes[FMA] else pipe
            if pipes[unit] > time:  # not max: called very often
                begin = pipes[unit]
            pipes[unit] = begin + op.interval
            if pipe != SPECIAL:
                if self.writes:
                    self.write(time)
                self.clean = time + 1  # this cycle's write is its result's
        # Measured for loads; whether stores and copies do so, too, nobody has looked.
        if op.kind == LOAD:
            self.address = time + 1
        reads = op.hits if self.users[pipe] is warp else op.misses
        self.users[pipe] = warp
        (even, odd), (of_even, of_odd) = self.banks, reads
        if of_even:
            even = (even if even > time else time) + of_even
        if of_odd:
            odd = (odd if odd > time else time) + of_odd
        self.banks = even, odd
        return begin

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

    def enter(self, op: Op, warp: _Warp, time: float) -> None:
        """An instruction gets in line for memory."""
        if not self.line:
            self.serves = max(time, self.busy)
        self.line.append((time, op, warp))

    def send(self, leaves: float) -> None:
        """The one that was first in line leaves."""
        self.busy = leaves
        self.serves = max(self.line[0][0], leaves) if self.line else inf


class _Memory:
    """What the sub-cores share: the port of shared memory and L1, the tags of L1, and the way to L2 and back."""

    def __init__(self, rates: Rates) -> None:
        self.sector, self.alone = SECTOR / rates.l2_bytes, SECTOR / rates.l2_alone
        self.burst = rates.burst / rates.l2_bytes
        self.byte, self.most = 1 / rates.store_bytes, rates.l1_sectors
        self.dram, self.of_few, self.in_step = rates.dram, rates.of_few, rates.in_step
        self.wavefront, self.l1_latency = rates.costs.wavefront, rates.costs.l1_latency
        self.l2_latency, self.copy_latency = rates.costs.l2_latency, rates.costs.copy_latency
        self.port = self.tags = self.l2 = self.share = self.stores = 0.0  # when each is free
        self.fills: list[tuple[float, float]] = []  # what will come through the port: when, wavefronts
        self.cached: dict[int, float] = {}  # sectors in L1, and when they are there
        self.fetched: dict[int, float] = {}  # lines from DRAM

    def through_port(self, time: float, wavefronts: float) -> float:
        """When so many wavefronts are through; what came before went before."""
        while self.fills and self.fills[0][0] <= time:
            came, waves = heappop(self.fills)
            self.port = max(self.port, came) + waves
        self.port = max(self.port, time) + wavefronts
        return self.port

    def from_l2(self, time: float, sectors: float, part: float = 1.0) -> float:
        """When so many sectors have come, but for the latency: at the rate of an SM alone, and over longer times at the
        one that is left when all SMs ask, which counts a `part` of them."""
        self.l2 = max(self.l2, time) + self.alone * sectors
        self.share = max(self.share, time - self.burst) + self.sector * sectors * part
        return max(self.l2, self.share)

    def in_l2(self, sector: int, warp: _Warp, time: float) -> float:
        """When its line comes, which would come at this time if L2 had it. Where a line has come once, it has."""
        if sector // ARRAY not in self.of_few:
            return time
        line = (sector + warp.salt) // SECTORS
        there = self.fetched.get(line)
        if there is None:
            late = 0
            if (warp.k_tile + warp.block) % self.in_step == 0:
                late = OPEN_ROW if (line * HASH >> 15 & 0xFFFF) % OTHER_ROWS else OTHER_ROW
            there = self.fetched[line] = time + late
        return max(time, there)

    def shared(self, op: Op, warp: _Warp, begin: float) -> None:
        # Behind the tags of the copies that came before. M: tests/golden/record_loads_behind_copies.py
        late = max(self.through_port(max(begin, self.tags), op.amount) - begin - op.interval, 0.0)
        leaves = begin + late + op.interval
        warp.core.send(leaves)
        there, core = begin + late + op.latency, warp.core
        if op.writes:
            core.writes.append(_Write(there - op.writes, op.writes, warp, op.sets))
            core.time = min(core.time, core.writes[0].end(core.clean))
        else:
            warp.sets(op.sets, there, FOR_RESULT if op.kind == VARIABLE else FOR_SHARED)
        warp.sets(op.read, leaves, FOR_SHARED)

    def load(self, op: Op, warp: _Warp, begin: float) -> None:
        late = max(self.through_port(begin, op.amount) - begin - op.interval, 0.0)
        leaves = begin + late + op.interval
        done = begin + late + self.wavefront * op.amount + self.l1_latency
        cached, looked_up, pending = self.cached, leaves, {}
        for number in op.sectors:
            there = cached.get(number + warp.salt)
            if there is None or op.past_l1:
                there = self.in_l2(number, warp, self.from_l2(leaves, 1) + self.l2_latency)
                cached[number + warp.salt] = there
                if len(cached) > self.most:
                    del cached[next(iter(cached))]
            elif there > looked_up:
                pending[number // SECTORS] = there
            if there > done:
                done = there
        for there in pending.values():
            heappush(self.fills, (there, PENDING))
        warp.core.send(begin + op.interval)
        warp.sets(op.sets, done, FOR_GLOBAL)
        warp.sets(op.read, leaves, FOR_GLOBAL)

    def copy(self, op: Op, warp: _Warp, begin: float) -> None:
        leaves = begin + op.interval
        self.tags = max(self.tags, leaves) + op.latency
        comes = self.from_l2(self.tags, len(op.sectors)) + self.copy_latency
        done = max(self.in_l2(number, warp, comes) for number in op.sectors)
        if op.amount:
            heappush(self.fills, (done, op.amount))
        warp.copied = max(warp.copied, done)
        warp.core.send(leaves)
        warp.sets(op.sets, done, FOR_COPIES)
        warp.sets(op.read, self.tags, FOR_COPIES)

    def bulk(self, time: float, size: float, part: float) -> float:
        """When a bulk copy's last byte has come. Of those for several blocks this SM asks L2 for a `part`."""
        late = OPEN_ROW if self.dram else 0  # A: machine code does not say of which array it is
        return self.from_l2(time, BULK_SHARE * size / SECTOR, part) + BULK_LATENCY + late

    def bulk_store(self, time: float, size: float) -> float:
        """When a bulk store has read shared memory: as fast as L2 takes its bytes, but for what a buffer holds."""
        self.stores = max(self.stores, time) + self.byte * size
        return max(self.through_port(time, size / 128), self.stores - self.byte * STORE_BUFFER)

    def store(self, op: Op, warp: _Warp, begin: float) -> None:
        late = max(self.through_port(begin, op.amount) - begin - op.interval, 0.0)
        self.stores = max(self.stores, begin) + self.byte * SECTOR * op.latency
        leaves = max(begin + late + op.interval, self.stores - self.byte * STORE_BUFFER)
        for number in op.sectors:  # written through, and there for who loads it
            if number + warp.salt in self.cached or len(self.cached) < self.most:
                self.cached[number + warp.salt] = leaves
        warp.core.send(leaves)
        warp.sets(op.read, leaves, FOR_GLOBAL)


class _Mbarrier:
    """Arrivals that make a phase, what of the present one is missing, and when those before it ended."""

    def __init__(self, count: int) -> None:
        self.count = self.missing = count
        self.expected = self.coming = 0.0  # bytes
        self.last = 0.0  # when the last of both has come
        self.ended: list[tuple[float, int]] = []  # and why who waits does
        self.waiting: list[
            tuple[_Warp, int, int]
        ] = []  # for which phase, and the scoreboard that its end clears

    def ends(self) -> bool:
        """Begin the next phase, if all of this one have come."""
        if self.missing > 0 or self.coming < self.expected:
            return False
        self.ended.append((self.last + MBARRIER_LATENCY, FOR_COPIES if self.expected else FOR_BARRIER))
        self.missing += self.count
        self.expected = self.coming = self.last = 0.0
        return True


def _set_by(op: Op) -> list[int]:
    """The scoreboards that it sets."""
    return [scoreboard for scoreboard in (op.sets, op.read) if scoreboard >= 0]


class _Sm:
    def __init__(self, streams: Sequence[Stream], rates: Rates, shown: int | None) -> None:
        self.costs = rates.costs
        self.cores = [_Core(rates.costs.fma_halves) for _ in range(SUB_CORES)]
        self.cores[0].ahead = deque(maxlen=PRODUCTS_AHEAD)
        self.memory = _Memory(rates)
        self.warps = []
        self.size: dict[int, int] = {}  # warps of each block
        for number, stream in enumerate(streams):
            warp = _Warp(stream, self.cores[number % SUB_CORES])
            warp.core.warps.append(warp)
            self.warps.append(warp)
            warp.warpgroup = self.size.get(stream.block, 0) // WARPGROUP
            self.size[stream.block] = self.size.get(stream.block, 0) + 1
        self.waits_for = self.size.keys() if shown is None else (shown,)  # blocks
        self.left = sum(self.size[block] for block in self.waits_for)
        self.spent: Spent = {}
        self.came: dict[tuple[int, int], int] = {}  # at each barrier of each block
        self.held: dict[tuple[int, int], list[_Warp]] = {}
        self.gates: dict[tuple[int, int], float] = {}
        self.mbarriers: dict[tuple[int, int], _Mbarrier] = {}

    def run(self, issues: int) -> Played:
        first, second, third, fourth = self.cores
        remaining, since, time = issues + issues // 2 or -1, 0.0, 0.0
        while self.left and remaining:
            core = first if first.time <= second.time else second
            other = third if third.time <= fourth.time else fourth
            core = core if core.time <= other.time else other
            way = first if first.serves <= second.serves else second
            other = third if third.serves <= fourth.serves else fourth
            way = way if way.serves <= other.serves else other
            if way.serves < inf and way.serves <= core.time:
                self.serve(way)
                continue
            warp = core.choose()
            if warp is None:
                if core.time == way.serves == inf and all(each.time == inf for each in self.cores):
                    raise Untraceable("the clock on machine code sees warps that wait for ever")
                continue
            time = core.time
            remaining -= 1
            if remaining == issues:
                self.spent, since = {}, time
            self.issue(core, warp)
        for warp in self.warps:  # who issued nothing since waits at a barrier for the others' end
            if not warp.end and 0 <= warp.last < since:
                self.spent[warp.op.at, FOR_BARRIER] = (
                    self.spent.get((warp.op.at, FOR_BARRIER), 0.0) + time - since
                )
        ends = [warp.end or time for warp in self.warps]
        return Played(ends, [warp.times for warp in self.warps], self.spent, since)

    def issue(self, core: _Core, warp: _Warp) -> None:
        """A warp's next instruction goes."""
        op, time = warp.op, core.time
        kind = op.kind
        self.account(core, warp)
        if warp.place == warp.marks[warp.mark]:
            warp.times.append(time)
            warp.mark += 1
        warp.last = time
        core.latest = None if op.yields else warp
        begin = core.occupy(op, warp) if op.pipe else time
        core.time = time + op.issue
        if op.issue > 1:
            core.shut = time + 1, core.time
        warp.free = time + op.issue - 1 + op.stall
        if op.pipe == MEMORY or kind == COMMIT:
            warp.commits += kind == COMMIT
            for scoreboard in _set_by(op):
                warp.due[scoreboard] += 1
            core.enter(op, warp, time)
        elif kind == VARIABLE:
            warp.sets(op.sets, begin + op.latency, FOR_RESULT)
            warp.sets(op.read, begin + op.interval, FOR_RESULT)
        elif kind == BULK_STORE:
            warp.copied = max(warp.copied, self.memory.bulk_store(time, op.amount))
        elif kind == BRANCH:
            warp.free = max(warp.free, time + self.costs.taken)
        elif kind == PRODUCT:
            self.multiply(op, warp, time)
        elif kind == AWAIT:
            self.wait(op, warp, time)
        self.step(core, warp)
        if kind == MEET:
            self.meet(warp, time)
        if kind in (BARRIER, ARRIVE):
            self.arrive(op, warp, time)
        elif kind in (INIT, SIGNAL, BULK):
            self.signal(op, warp, time)

    def serve(self, core: _Core) -> None:
        """What is first in line for memory goes there; a group of copies is closed when all before it have gone."""
        begin = core.serves
        _, op, warp = core.line.popleft()
        if op.kind == COMMIT:
            warp.groups.append(max(warp.copied, warp.groups[-1] if warp.groups else 0.0))
            warp.sets(op.sets, warp.groups[-1], FOR_COPIES)
            core.send(begin)
        elif op.kind == LOAD:
            self.memory.load(op, warp, begin)
        elif op.kind == COPY:
            self.memory.copy(op, warp, begin)
        elif op.kind == STORE:
            self.memory.store(op, warp, begin)
        else:
            self.memory.shared(op, warp, begin)
        self.known(warp, [op.read] * (op.read >= 0) if op.writes else _set_by(op), begin)

    def known(self, warp: _Warp, scoreboards: Sequence[int], time: float) -> None:
        """It is known when these will be clear: who sleeps looks ahead again."""
        for scoreboard in scoreboards:
            warp.due[scoreboard] -= 1
        if warp.asleep:
            warp.look_ahead(*warp.since)
            warp.core.time = min(warp.core.time, max(warp.ready, time))

    def account(self, core: _Core, warp: _Warp) -> None:
        """Where the cycles since the warp's last issue went."""
        op, time, spent = warp.op, core.time, self.spent
        address = op.at
        spent[address, ISSUES] = spent.get((address, ISSUES), 0.0) + 1.0
        last, at = warp.last, warp.free
        if last < 0:
            warp.held = warp.turns = 0.0
            return
        if time == last + 1:  # nothing lies between
            return

        def add(reason: int, cycles: float) -> None:
            key = address, reason
            spent[key] = spent.get(key, 0.0) + cycles

        if at > last + 1:
            before = warp.ops[warp.place - 1]
            add(FOR_BRANCH if before.kind == BRANCH else FOR_TIME, at - last - 1)
        if warp.ready > at:
            add(warp.cause, warp.ready - at)
            at = warp.ready
        held, turns = warp.held, warp.turns
        rest = time - at - held - turns
        if held > 0:
            add(FOR_BANKS, held)
        if turns > 0:
            add(FOR_TURN, turns)
        if rest > 0:
            add(FOR_QUEUE if op.pipe == MEMORY else FOR_PIPE, rest)
        warp.held = warp.turns = 0.0

    def step(self, core: _Core, warp: _Warp) -> None:
        """Go on to the warp's next instruction."""
        kind = warp.op.kind
        warp.place += 1
        if warp.place == warp.loop[1]:
            warp.place, warp.mark = warp.loop[0], 0
            warp.salt += OTHER_DATA
        if kind == EXIT or warp.place == len(warp.ops):
            warp.end = core.time
            core.warps.remove(warp)
            self.left -= warp.block in self.waits_for
            if not core.warps:
                core.time = inf
            return
        warp.op = warp.ops[warp.place]
        if kind == BARRIER:
            warp.ready = inf
        else:
            warp.look_ahead(warp.free, FOR_TIME)

    def arrive(self, op: Op, warp: _Warp, time: float) -> None:
        """At a barrier, which opens when the last of its warps has come."""
        number, warps = op.barrier
        name = warp.block, number
        self.gates[name] = max(self.gates.get(name, 0.0), time) + self.costs.barrier_arrival
        self.came[name] = self.came.get(name, 0) + 1
        if op.kind == BARRIER:
            self.held.setdefault(name, []).append(warp)
        if self.came[name] == (warps or self.size[warp.block]):
            self.came[name] = 0
            opens = self.gates[name] + self.costs.barrier_latency
            for other in self.held.pop(name, []):
                other.look_ahead(opens, FOR_BARRIER)
                other.core.time = min(other.core.time, max(other.ready, time))

    def multiply(self, op: Op, warp: _Warp, time: float) -> None:
        """A wgmma gets in line for its sub-core's tensor cores."""
        core = warp.core
        begins = max(core.pipes[TENSOR], time)
        if core.ahead is not None:
            core.ahead.append(begins)
        core.pipes[TENSOR] = begins + op.interval
        warp.sent, warp.product = time, core.pipes[TENSOR] + PRODUCT_LATENCY
        if op.amount:
            warp.products.append(warp.product)

    def meet(self, warp: _Warp, time: float) -> None:
        """The warps of a warpgroup go on to their wgmma when the last of them has come."""
        name = warp.block, -1 - warp.warpgroup
        held = self.held.setdefault(name, [])
        held.append(warp)
        warp.ready = inf
        if len(held) == WARPGROUP:
            del self.held[name]
            for other in held:
                other.look_ahead(time + 1, FOR_PIPE)
                other.core.time = min(other.core.time, max(other.ready, time))

    def signal(self, op: Op, warp: _Warp, time: float) -> None:
        """An mbarrier is made, arrived at, or the target of a bulk copy."""
        number, count = op.barrier
        name = warp.block, number
        if op.kind == INIT:
            self.mbarriers[name] = _Mbarrier(count)
            return
        found = self.mbarriers[name]
        if op.kind == BULK:
            done = self.memory.bulk(time, op.amount, op.interval)
            found.coming += op.amount
        else:
            done = time + op.latency
            found.missing -= count
            found.expected += op.amount
        found.last = max(found.last, done)
        if found.ends():
            self.release(found, time)

    def release(self, found: _Mbarrier, time: float) -> None:
        """Whoever waits for a phase that has ended, or will at a known time."""
        held, found.waiting = found.waiting, []
        for warp, phase, scoreboard in held:
            if phase < len(found.ended):
                warp.sets(scoreboard, *found.ended[phase])
                self.known(warp, [scoreboard], time)
            else:
                found.waiting.append((warp, phase, scoreboard))

    def wait(self, op: Op, warp: _Warp, time: float) -> None:
        """For a phase: the first one, or none, where the first parity asked for is 1; then each time for the next."""
        number, parity = op.barrier
        phase = warp.awaited.get(number, -parity)
        warp.awaited[number] = phase + 1
        found = self.mbarriers[warp.block, number]
        if phase < len(found.ended):
            warp.sets(op.sets, time + AWAIT_LATENCY, found.ended[phase][1] if phase >= 0 else FOR_BARRIER)
        if phase < 0:
            return
        warp.due[op.sets] += 1
        found.waiting.append((warp, phase, op.sets))
        self.release(found, time)
