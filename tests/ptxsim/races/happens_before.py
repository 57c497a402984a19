"""Small parallel programs, and which of their accesses race: an exact reference for the simulator's reports.

A program is a list of statements, each with the threads that execute it. The reference goes through them in the order
of the text, and keeps for every thread a vector clock: how many statements of every thread are ordered before what it
does now. Every byte keeps all accesses that were made to it. Nothing is summed up, so nothing can be lost; it is
slow, and simple enough to be seen to be right. RULES names what orders accesses; a reference without one of them is
wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

RULES = (
    "barrier", "arrive", "warp sync", "exit", "wait", "message", "fence of others", "atomic", "scope", "same value",
    "source in flight", "heard", "meant", "proxy fence", "proxy order",
)  # fmt: skip
NEAR, FAR = 0, 1


@dataclass
class Statement:
    """`who`: which threads of the grid execute it. `at`: the byte that each one accesses. What else it takes depends on
    `kind`: see `Reference`."""

    kind: str
    who: np.ndarray
    at: np.ndarray | None = None
    size: int = 4
    space: str = "shared"  # or "global"
    values: np.ndarray | None = None  # (threads, 16) bytes
    source: np.ndarray | None = None  # of an asynchronous copy: the byte in global memory
    strong: bool = False
    scope: int = FAR
    acquire: bool = False
    release: bool = False
    number: int = 0  # of a named barrier, or how many groups a wait leaves
    count: int = 0  # threads at a named barrier
    masks: np.ndarray | None = None  # of a warp sync


@dataclass
class Program:
    """`blocks` of `threads` each."""

    blocks: int
    threads: int
    shared: int
    globals: int
    statements: list[Statement] = field(default_factory=list)


@dataclass(eq=False)
class Past:
    """An access in the past: who, at which of its clock ticks, of which statement, and what it did. `until`: of an
    asynchronous copy the tick of the wait that completed it; None while it is in flight."""

    thread: int
    tick: int
    statement: int
    writes: bool
    reads: bool
    strong: bool
    wide: bool
    values: bytes
    at: int
    is_copy: bool = False
    until: int | None = None

    def may_write_the_same(self, other: Past, byte: int) -> bool:
        """To this byte of memory; what a copy brings is not known."""
        unknown = self.is_copy or other.is_copy
        return unknown or self.values[byte - self.at] == other.values[byte - other.at]


class Reference:
    """Runs a program; `races` has the pairs of statements that race, `maybe` those of which only the values decide.
    `chances` has, by place, the pairs of strong accesses that nothing orders, the earlier one first. `unfenced` has the
    pairs of a write and of a bulk store that reads it, ordered and with no proxy fence in between."""

    def __init__(self, program: Program, without: str = "") -> None:
        self.p, self.without = program, without
        self.n = program.blocks * program.threads
        # [t, u]: what u did before this tick is ordered before t's next; [t, n + u]: what u wrote before this tick, a
        # proxy fence covers that is ordered before t's next. Whatever hands on the one hands on the other.
        self.clock = np.eye(self.n, 2 * self.n, dtype=np.int64)
        # what t's fences cover, for its block and for all
        self.fenced = np.zeros((2, *self.clock.shape), np.int64)
        self.heard = np.zeros_like(self.clock)  # what t may acquire with a fence
        self.met = np.zeros_like(self.clock)  # the same, of all that t has met: strong reads need no fence
        self.unfenced: set[tuple[int, int]] = set()
        self.alive = np.ones(self.n, bool)
        self.memory: dict[tuple, list[Past]] = {}
        self.released: dict[tuple, dict] = {}  # at a place: [scope][block] -> clock
        self.copies: list[tuple[int, int, list[Past]]] = []  # in flight: thread, group, its accesses
        self.groups = np.zeros(self.n, int)
        self.tokens: dict[tuple, np.ndarray] = {}
        self.races: set[tuple[int, int]] = set()
        self.maybe: set[tuple[int, int]] = set()
        self.chances: dict[tuple, set[tuple[int, int]]] = {}
        for number, statement in enumerate(program.statements):
            self.run(number, statement)

    def has(self, rule: str) -> bool:
        return rule != self.without

    def run(self, number: int, s: Statement) -> None:
        threads = np.flatnonzero(s.who & self.alive)
        getattr(self, "do_" + s.kind)(number, s, threads)
        for t in threads:
            self.clock[t, t] += 1

    def block_of(self, t: int) -> int:
        return t // self.p.threads

    # ---- accesses

    def do_load(self, number: int, s: Statement, threads: np.ndarray) -> None:
        for t in threads:
            if s.strong:
                self.hear(t, s)
            self.access(number, s, t, reads=True, writes=False)

    def do_store(self, number: int, s: Statement, threads: np.ndarray) -> None:
        for t in threads:
            self.access(number, s, t, reads=False, writes=True)
            self.tell(t, s, atomic=False)

    def do_atomic(self, number: int, s: Statement, threads: np.ndarray) -> None:
        """One thread after the other; each acquires what the threads before it release, but they might come later."""
        earlier = {place: dict(found) for place, found in self.released.items()}
        for t in threads:
            self.hear(t, s, earlier)
            for place in self.bytes_of(s, t, int(s.at[t]), s.space):
                for before in self.memory.get(place, ()):
                    if not (before.strong or before.statement == number or self.ordered(before, t)):
                        self.maybe.add((before.statement, number))
            self.hear(t, s)
            self.access(number, s, t, reads=True, writes=True)
            self.tell(t, s, atomic=True)

    def bytes_of(self, s: Statement, t: int, at: int, space: str) -> list[tuple]:
        block = self.block_of(t) if space == "shared" else -1
        return [(space, block, at + i) for i in range(s.size)]

    def access(self, number: int, s: Statement, t: int, reads: bool, writes: bool) -> None:
        strong = s.strong and (s.kind != "atomic" or self.has("atomic"))
        values = s.values[t, : s.size].tobytes() if s.values is not None else b""
        past = Past(t, self.clock[t, t], number, writes, reads, strong, s.scope == FAR, values, int(s.at[t]))
        for place in self.bytes_of(s, t, int(s.at[t]), s.space):
            self.meet_past(place, past)
            self.memory.setdefault(place, []).append(past)

    def meet_past(self, place: tuple, now: Past) -> None:
        for before in self.memory.get(place, ()):
            if (before.writes or now.writes) and not self.ordered(before, now.thread):
                self.conflict(before, now, place)

    def ordered(self, before: Past, t: int) -> bool:
        if before.is_copy:
            return before.until is not None and (
                before.thread == t or self.clock[t, before.thread] > before.until
            )
        return before.thread == t or self.clock[t, before.thread] > before.tick

    def conflict(self, before: Past, now: Past, place: tuple) -> None:
        byte = place[-1]
        if before.strong and now.strong:
            near = self.block_of(before.thread) == self.block_of(now.thread)
            if near or (before.wide and now.wide) or not self.has("scope"):
                if not (self.has("heard") and self.met[now.thread, before.thread] > before.tick):
                    self.chances.setdefault(place, set()).add((before.statement, now.statement))
                return
        both_write = before.writes and now.writes and not (before.reads or now.reads)
        pair = before.statement, now.statement
        flying = before.is_copy and before.until is None and before.statement != now.statement
        same = both_write and not flying and before.may_write_the_same(now, byte)
        (self.maybe if same and self.has("same value") else self.races).add(pair)

    def by_chance(self, initial: Callable[[tuple], int]) -> tuple[set, set]:
        """Pairs of statements whose order decides a value: those that may be told, and those that must be, since every
        write to the place brings a value of its own. `initial`: the byte that lies at a place before the launch."""
        may, must = set(), set()
        for place, pairs in self.chances.items():
            writes = [past for past in self.memory[place] if past.writes]
            if self.has("meant") and any(past.reads for past in writes):  # an atomic
                continue
            may |= pairs
            if not any(past.is_copy for past in writes):
                brought = [past.values[place[-1] - past.at] for past in writes]
                if len({initial(place), *brought}) == 1 + len(brought):
                    must |= pairs
        return may, must

    # ---- barriers

    def share(self, threads: np.ndarray, extra: np.ndarray | None = None) -> None:
        """They have met."""
        if not len(threads):
            return
        seen = self.clock[threads].max(axis=0)
        for t in threads:
            seen[t] = self.clock[t, t] + 1
        if extra is not None:
            seen = np.maximum(seen, extra)
        fenced, met = self.fenced[:, threads].max(axis=1), self.met[threads].max(axis=0)
        for t in threads:
            own = self.clock[t, t]
            self.clock[t] = np.maximum(self.clock[t], seen)
            self.clock[t, t] = own
            if self.has("fence of others"):
                self.fenced[:, t] = fenced
            self.met[t] = met

    def do_barrier(self, number: int, s: Statement, threads: np.ndarray) -> None:
        """All threads of the block that have not exited; those count as come."""
        if not self.has("barrier"):
            return
        for block in range(self.p.blocks):
            mine = np.arange(block * self.p.threads, (block + 1) * self.p.threads)
            self.share(mine if self.has("exit") else mine[self.alive[mine]])

    def do_arrive(self, number: int, s: Statement, threads: np.ndarray) -> None:
        if not self.has("arrive"):
            return
        for t in threads:
            clock = self.clock[t].copy()
            clock[t] += 1
            key = (self.block_of(t), s.number)
            self.tokens[key] = np.maximum(self.tokens.get(key, 0), clock)

    def do_sync(self, number: int, s: Statement, threads: np.ndarray) -> None:
        for block in range(self.p.blocks):
            mine = threads[threads // self.p.threads == block]
            if len(mine):
                self.share(mine, self.tokens.pop((block, s.number), None))

    def do_warp_sync(self, number: int, s: Statement, threads: np.ndarray) -> None:
        if not self.has("warp sync"):
            return
        groups: dict[tuple, list[int]] = {}
        for t in threads:
            warp = (self.block_of(t), t % self.p.threads // 32)
            groups.setdefault((*warp, int(s.masks[t])), []).append(t)
        for (block, warp, mask), _ in groups.items():
            first = block * self.p.threads + warp * 32
            last = min(first + 32, (block + 1) * self.p.threads)
            self.share(np.array([t for t in range(first, last) if mask >> (t - first) & 1]))

    def do_exit(self, number: int, s: Statement, threads: np.ndarray) -> None:
        self.alive[threads] = False

    # ---- asynchronous copies

    def do_copy(self, number: int, s: Statement, threads: np.ndarray) -> None:
        for t in threads:
            tick = self.clock[t, t]
            write = Past(t, tick, number, True, False, False, True, b"", int(s.at[t]), is_copy=True)
            in_flight = self.has("source in flight")
            read = Past(t, tick, number, False, True, False, True, b"", int(s.source[t]), is_copy=in_flight)
            for place in self.bytes_of(s, t, int(s.at[t]), "shared"):
                self.meet_past(place, write)
                self.memory.setdefault(place, []).append(write)
            for place in self.bytes_of(s, t, int(s.source[t]), "global"):
                self.meet_past(place, read)
                self.memory.setdefault(place, []).append(read)
            self.copies.append((t, int(self.groups[t]), [write, read]))

    def do_commit(self, number: int, s: Statement, threads: np.ndarray) -> None:
        self.groups[threads] += 1

    def do_wait(self, number: int, s: Statement, threads: np.ndarray) -> None:
        if not self.has("wait"):
            return
        left = []
        for t, group, accesses in self.copies:
            if t in threads and group < self.groups[t] - s.number:
                for past in accesses:
                    past.until = self.clock[t, t]
            else:
                left.append((t, group, accesses))
        self.copies = left

    # ---- the copy engine

    def do_proxy_fence(self, number: int, s: Statement, threads: np.ndarray) -> None:
        """It covers what its thread wrote and what it knows of; not all that came earlier in time."""
        now = self.clock.diagonal().copy()
        for t in threads if self.has("proxy fence") else ():
            known = self.clock[t, : self.n] if self.has("proxy order") else now
            self.clock[t, self.n :] = np.maximum(self.clock[t, self.n :], known)
            self.clock[t, self.n + t] = self.clock[t, t] + 1

    def do_bulk_store(self, number: int, s: Statement, threads: np.ndarray) -> None:
        """Its thread waits for it at once."""
        for t in threads:
            for place in self.bytes_of(s, t, int(s.at[t]), s.space):
                for past in self.memory.get(place, ()):
                    covered = self.clock[t, self.n + past.thread] > past.tick
                    if past.writes and self.ordered(past, t) and not covered:
                        self.unfenced.add((past.statement, number))
            self.access(number, s, t, reads=True, writes=False)

    # ---- messages

    def do_fence(self, number: int, s: Statement, threads: np.ndarray) -> None:
        for t in threads:
            self.clock[t] = np.maximum(self.clock[t], self.heard[t])
            for scope in range(s.scope + 1):
                self.fenced[scope, t] = np.maximum(self.fenced[scope, t], self.clock[t])
                self.fenced[scope, t, t] = self.clock[t, t] + 1

    def place_of(self, t: int, s: Statement) -> tuple:
        return s.space, self.block_of(t) if s.space == "shared" else -1, int(s.at[t])

    def tell(self, t: int, s: Statement, atomic: bool) -> None:
        """What a strong write releases; a weak one, and one that is no atomic, begin anew."""
        place = self.place_of(t, s)
        if not (atomic and s.strong):
            for byte in self.bytes_of(s, t, int(s.at[t]), s.space):
                self.released.pop(byte, None)
        if not s.strong or not self.has("message"):
            return
        for scope in range(s.scope + 1):
            clock = self.clock[t].copy() if s.release else self.fenced[scope, t].copy()
            if s.release:
                clock[t] += 1
            if clock.any():
                key = (scope, self.block_of(t))
                found = self.released.setdefault(place, {})
                found[key] = np.maximum(found.get(key, 0), clock)

    def hear(self, t: int, s: Statement, released: dict | None = None) -> None:
        released = self.released if released is None else released
        for (scope, block), clock in released.get(self.place_of(t, s), {}).items():
            if scope == FAR or block == self.block_of(t):
                table = self.clock if s.acquire else self.heard
                own = self.clock[t, t]
                table[t] = np.maximum(table[t], clock)
                self.met[t] = np.maximum(self.met[t], clock)
                self.clock[t, t] = own
