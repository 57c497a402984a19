"""What a launch did, per source line: instructions, shared-memory wavefronts, global sectors.

Rules, as NVIDIA documents them in the Nsight Compute guide and its forums: shared memory has 32 banks of 4 bytes.
A warp's access is served in phases of 128 bytes: 32 lanes of 4 bytes or less, 16 lanes of 8, 8 lanes of 16. In one
wavefront each bank delivers one 4-byte word, to all lanes that want it. Global memory moves sectors of 32 bytes.
Four rules are documented nowhere and fitted to what Nsight Compute counts on an H100 (test_counters.py):
when phases of wide loads merge, what cp.async costs in wavefronts and in sectors, and what atomics cost.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple, Protocol

import numpy as np

from ..gpus import BANKS, SECTOR, WARP
from ..ground.memory import SPACING
from ..lanes import Lanes
from ..ptx.program import Instruction
from .recorder import Recorder

NO_LANE = -(2**62)
"""Stands for the address of a lane that takes no part."""
MOST_PATTERNS, MOST_BYTES = 500, 1 << 16
"""Of how many patterns of addresses the costs are kept, and of how large ones."""


@dataclass
class Counts:
    """Instructions, requests and accesses count warps, as a GPU issues them; bytes count what the lanes move.

    Hopper: a wgmma counts for each of its four warps, and what it reads of shared memory once for all four. Bulk copies
    count one by one: `bulk_bytes` what they fetch, `bulk_landed_bytes` what comes to all blocks of a multicast;
    `expected_bytes`: what mbarriers were told to expect.
    """

    instructions: int = 0
    fma: int = 0
    mma: int = 0
    ldmatrix: int = 0
    barriers: int = 0
    shared_loads: int = 0
    shared_stores: int = 0
    shared_wavefronts: int = 0
    shared_wavefronts_ideal: int = 0
    global_requests: int = 0
    global_sectors: int = 0
    global_sectors_ideal: int = 0
    cp_async: int = 0
    cp_async_bytes: int = 0
    wgmma: int = 0
    wgmma_shared_bytes: int = 0
    stmatrix: int = 0
    bulk_copies: int = 0
    bulk_bytes: int = 0
    bulk_landed_bytes: int = 0
    bulk_stores: int = 0
    bulk_store_bytes: int = 0
    expected_bytes: int = 0


class Pattern(NamedTuple):
    """An access to memory by one warp: the byte offset of each lane in shared memory or in its array (-1: it takes no
    part), and how many bytes each lane moves."""

    offsets: tuple[int, ...]
    size: int


Patterns = dict[int, tuple[Pattern, ...]]
"""Line -> accesses."""


@dataclass(frozen=True)
class CounterTable:
    """`total`, and `by_line[line]` for every line of the learner's source that does something.

    `patterns[line]` has the accesses to shared memory at that line, without repetitions: those of the first warp
    that executed it, the first time. `global_patterns[line]`: the same of loads and stores of global memory.
    """

    total: Counts
    by_line: dict[int, Counts]
    patterns_of: Callable[[str], Patterns] = field(repr=False)
    source: str = field(default="", repr=False)

    @cached_property
    def patterns(self) -> Patterns:
        return self.patterns_of("shared")

    @cached_property
    def global_patterns(self) -> Patterns:
        return self.patterns_of("global")

    def at(self, line: int | str) -> Counts:
        """Counts of a line of the source, given by its number or by a part of its text; of several lines, their sum.

        Raises ValueError when nothing is counted there.
        """
        lines = [line] if isinstance(line, int) else self._lines_with(line)
        found = [vars(self.by_line[number]) for number in lines if number in self.by_line]
        if not found:
            raise ValueError(f"nothing is counted at {line!r}; lines that do something: {[*self.by_line]}")
        return Counts(**{name: sum(counts[name] for counts in found) for name in found[0]})

    def pattern(self, line: int | str, which: int = 0, memory: str = "shared") -> Pattern:
        """One access to shared memory, or to "global", at a line (as for `at`): the first one, or `which` of them."""
        patterns = {"shared": self.patterns, "global": self.global_patterns}[memory]
        lines = [line] if isinstance(line, int) else self._lines_with(line)
        found = next((patterns[number] for number in lines if number in patterns), ())
        if not found:
            known = ", ".join(map(str, patterns)) or "none"
            raise ValueError(f"line {line!r} does not access {memory} memory; lines that do: {known}")
        if not 0 <= which < len(found):
            raise ValueError(
                f"line {line} has {len(found)} patterns of access, 0 to {len(found) - 1}; not {which}"
            )
        return found[which]

    def _lines_with(self, text: str) -> list[int]:
        return [number for number, line in enumerate(self.source.splitlines(), 1) if text in line]


LineCounts = dict[tuple[int, str], int]
"""(line, field of `Counts`) -> number"""


def counts_of(instructions: Sequence[Instruction]) -> LineCounts:
    """What one warp counts when it executes these instructions, but for what their accesses cost."""
    counts: LineCounts = defaultdict(int)
    for instruction in instructions:
        counts[instruction.where.line, "instructions"] += 1
        if name := instruction.opcode.facts.counted_as:
            counts[instruction.where.line, name] += 1
    return counts


@dataclass
class _Access:
    """One side of a memory instruction: warps that executed it, and what the rule says it cost and might cost."""

    warps: int = 0
    used: int = 0
    ideal: int = 0
    bytes: int = 0


class Observed(Lanes, Protocol):
    """Who counts and notes what the lanes do."""

    counters: "Counters"
    recorder: Recorder


class Counters:
    """Counts of one launch, by instruction; `table()` sums them up by source line. `on`: somebody asks for them."""

    on = True

    def __init__(self, instructions: tuple[Instruction, ...]) -> None:
        self._instructions = instructions
        self._blocks: dict[int, list] = {}  # first pc of a basic block -> [its counts, warps that ran it]
        self._sides: dict[tuple[int, str], _Access] = {}
        self._others: Counter[tuple[int, str]] = Counter()  # (pc, field of `Counts`)
        self._last: dict[tuple[int, str], tuple] = {}  # the last pattern of addresses, and what it cost
        self._known: dict[tuple, _Access] = {}  # what a pattern costs: unrolled loops repeat theirs
        self._first: dict[int, Pattern] = {}  # by instruction: its first access to shared memory
        self._first_global: dict[int, Pattern] = {}

    # ---- what the machine calls

    def executed(self, machine: Observed, pc: int, counts: LineCounts) -> None:
        self._blocks.setdefault(pc, [counts, 0])[1] += machine.active_warps()

    def add(self, pc: int, **numbers: int) -> None:
        """Count so many more of these fields of `Counts`."""
        for name, number in numbers.items():
            self._others[pc, name] += number

    def shared(self, machine: Observed, pc: int, offsets: np.ndarray, size: int) -> None:
        """An access to shared memory at these byte offsets: one for each active lane, or rows (warps, lanes)."""
        pattern = _shifted(offsets, 4)
        facts = self._instructions[pc].opcode.facts
        rule = atomic_wavefronts if facts.atomic else partial(shared_wavefronts, load=facts.reads)
        self._count(machine, (pc, "shared"), pattern, lambda rows: rule(rows, size), size)
        if pc not in self._first:
            self._first[pc] = Pattern(_first_warp(machine, offsets), size)

    def globally(self, machine: Observed, pc: int, addresses: np.ndarray, size: int) -> None:
        """An access to global memory at these byte addresses, one for each active lane."""
        addresses = addresses.astype(np.int64)
        if pc not in self._first_global:
            self._first_global[pc] = Pattern(_first_warp(machine, addresses % SPACING), size)
        pattern = _shifted(addresses, SECTOR)
        rule = atomic_sectors if self._instructions[pc].opcode.facts.atomic else global_sectors
        self._count(machine, (pc, "global"), pattern, lambda rows: rule(rows, size), size)

    def copied(
        self,
        machine: Observed,
        pc: int,
        to: np.ndarray,
        source: np.ndarray,
        size: int,
        bypass: bool,
        reads: np.ndarray | None,
    ) -> None:
        """A cp.async of each active lane, from an address to an offset. `bypass`: .cg, past L1. `reads`: not all
        lanes read, some fill with zeros."""
        source = source.astype(np.int64)
        sides = np.stack([_shifted(to, 4 * BANKS), _shifted(source, 4 * BANKS)])
        wavefronts = partial(copy_wavefronts, size=size, bypass=bypass)
        self._count(machine, (pc, "shared"), sides, lambda rows: wavefronts(*rows), size)
        if reads is not None:
            sides = np.where(reads, sides, NO_LANE)
        sectors = partial(copy_sectors, size=size, bypass=bypass)
        self._count(machine, (pc, "global"), sides, lambda rows: sectors(*rows), size)
        if pc not in self._first:
            self._first[pc] = Pattern(_first_warp(machine, to), size)

    def _count(
        self, machine: Observed, side: tuple[int, str], pattern: np.ndarray, rule: Callable, size: int
    ) -> None:
        """Count by `rule`, which follows from the opcode and `size`; a pattern that did not change costs what it cost
        the last time."""
        last = self._last.get(side)
        as_before = last is not None and last[0] is machine.idx and last[1].shape == pattern.shape
        if last is None or not as_before or (last[1] != pattern).any():
            last = self._last[side] = (machine.idx, pattern, self._cost(machine, side, pattern, rule, size))
        total, once = self._sides.setdefault(side, _Access()), last[2]
        if side[1] == "shared":
            machine.recorder.wavefronts += once.used / max(once.warps, 1)
        total.warps += once.warps
        total.used += once.used
        total.ideal += once.ideal
        total.bytes += once.bytes

    def _cost(
        self, machine: Observed, side: tuple[int, str], pattern: np.ndarray, rule: Callable, size: int
    ) -> _Access:
        if pattern.nbytes > MOST_BYTES:
            return _cost(machine, pattern, rule, size)
        active = None if machine.idx is None else machine.idx.tobytes()
        key = self._instructions[side[0]].opcode, side[1], size, active, pattern.shape, pattern.tobytes()
        if key not in self._known:
            if len(self._known) == MOST_PATTERNS:
                self._known.clear()
            self._known[key] = _cost(machine, pattern, rule, size)
        return self._known[key]

    # ---- the result

    def table(self, source: str = "") -> CounterTable:
        by_line: dict[int, Counter] = defaultdict(Counter)
        for counts, warps in self._blocks.values():
            for (line, name), number in counts.items():
                by_line[line][name] += number * warps
        for (pc, where), access in self._sides.items():
            by_line[self._instructions[pc].where.line].update(self._moved(pc, where, access))
        for (pc, name), number in self._others.items():
            by_line[self._instructions[pc].where.line][name] += number
        total = sum(by_line.values(), Counter())
        lines = {line: Counts(**by_line[line]) for line in sorted(by_line)}
        return CounterTable(Counts(**total), lines, self._patterns, source)

    def _patterns(self, memory: str) -> Patterns:
        """By line, of "shared" or "global" memory; two patterns are one when one is the other, shifted by whole units
        (rows of banks, sectors)."""
        first, unit = {"shared": (self._first, 4 * BANKS), "global": (self._first_global, SECTOR)}[memory]
        by_line: dict[int, dict[tuple, Pattern]] = {}
        for pc, pattern in sorted(first.items()):
            row = min((o for o in pattern.offsets if o >= 0), default=0) // unit * unit
            shifted = tuple(o - row if o >= 0 else o for o in pattern.offsets)
            kind = (self._instructions[pc].opcode.root, shifted, pattern.size)
            by_line.setdefault(self._instructions[pc].where.line, {}).setdefault(kind, pattern)
        return {line: tuple(kinds.values()) for line, kinds in sorted(by_line.items())}

    def _moved(self, pc: int, where: str, access: _Access) -> dict[str, int]:
        opcode = self._instructions[pc].opcode
        if where == "global":
            copied = opcode.root == "cp"
            return dict(
                global_requests=access.warps,
                global_sectors=access.used,
                global_sectors_ideal=access.ideal,
                cp_async=access.warps * copied,
                cp_async_bytes=access.bytes * copied,
            )
        moved = dict(shared_wavefronts=access.used, shared_wavefronts_ideal=access.ideal)
        if name := opcode.facts.shared_as:
            moved[name] = access.warps
        return moved


class NoCounters(Counters):
    """Of a launch whose counts nobody asks for: they take a tenth to a half of its time."""

    on = False

    def __init__(self) -> None:
        super().__init__(())

    def executed(self, *what: object) -> None: ...

    def add(self, pc: int, **numbers: int) -> None: ...

    def shared(self, *what: object) -> None: ...

    def globally(self, *what: object) -> None: ...

    def copied(self, *what: object) -> None: ...


def _shifted(places: np.ndarray, unit: int) -> np.ndarray:
    """The same pattern near zero: what it costs does not change when it moves by a multiple of `unit` bytes."""
    return places - places.flat[0] // unit * unit


def _cost(machine: Lanes, pattern: np.ndarray, rule: Callable, size: int) -> _Access:
    """`pattern`: one place a lane; rows of lanes (ldmatrix); or both sides of a copy, each with one a lane."""
    if pattern.ndim == 1:
        rows = first = by_warp(machine, pattern)
    elif pattern.shape == (2, machine.count()):
        rows = np.stack([by_warp(machine, side) for side in pattern])
        first = rows[1]
    else:
        rows = first = pattern
    used, ideal = rule(rows)
    return _Access(len(first), int(used.sum()), int(ideal.sum()), size * int((first != NO_LANE).sum()))


def _first_warp(machine: Lanes, places: np.ndarray) -> tuple[int, ...]:
    rows = places if places.ndim == 2 else by_warp(machine, places)
    return tuple(np.maximum(rows[0], -1).tolist())


def by_warp(machine: Lanes, places: np.ndarray) -> np.ndarray:
    """One row of 32 for each warp that takes part; NO_LANE where a lane does not."""
    if machine.idx is None and machine.launch.threads % WARP == 0:
        return places.reshape(-1, WARP)
    lanes = machine.active()
    warps, row = np.unique(machine.warp_of[lanes], return_inverse=True)
    rows = np.full((len(warps), WARP), NO_LANE)
    rows[row, machine.thread_of[lanes] % WARP] = places
    return rows


def bank_cycles(rows: np.ndarray, size: int, lanes: int, merge: bool = True) -> np.ndarray:
    """Wavefronts when `lanes` lanes are served at once: for each group of them as many as the busiest bank has
    distinct words to deliver; without `merge` a word counts for each lane. `rows`: byte offsets (warps, lanes)."""
    words = rows[:, :, None] // 4 + np.arange(max(size // 4, 1))
    words = np.where(rows[:, :, None] == NO_LANE, NO_LANE, words)
    groups = np.sort(words.reshape(len(rows), rows.shape[1] // lanes, -1), axis=2)
    distinct = _new(groups) if merge else groups != NO_LANE
    number = np.arange(groups.shape[0] * groups.shape[1]).reshape(groups.shape[:2])[:, :, None]
    banks = (number * BANKS + groups % BANKS)[distinct].astype(np.intp, copy=False)
    load = np.bincount(banks, minlength=number.size * BANKS)
    return load.reshape(*groups.shape[:2], BANKS).max(axis=2).sum(axis=1)


def _neighbours_agree(rows: np.ndarray) -> np.ndarray:
    """Warps in which all lanes n and n ^ 1 have one address, or all lanes n and n ^ 2; absent lanes agree."""

    def agree(distance: int) -> np.ndarray:
        other = rows[:, np.arange(rows.shape[1]) ^ distance]
        return ((rows == other) | (rows == NO_LANE) | (other == NO_LANE)).all(axis=1)

    return agree(1) | agree(2)


def shared_wavefronts(rows: np.ndarray, size: int, load: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Wavefronts of accesses of `size` bytes at byte offsets `rows` (warps, lanes), and the least possible.

    A plain `load` (not ldmatrix) of 8 or 16 bytes serves twice as many lanes at once when neighbours agree.
    """
    lanes = 32 // max(size // 4, 1)
    used = bank_cycles(rows, size, min(lanes, rows.shape[1]))
    if load and size > 4:
        used = np.where(_neighbours_agree(rows), bank_cycles(rows, size, 2 * lanes), used)
    return used, _least(used, rows, size)


def atomic_wavefronts(rows: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Atomics: lanes of one word are served one after the other, as those of one bank are."""
    used = bank_cycles(rows, size, 32 // max(size // 4, 1), merge=False)
    return used, _least(used, rows, size)


def atomic_sectors(rows: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Atomics: lanes of one address come one after the other, each with a sector of its own."""
    earlier = np.tril(np.ones((WARP, WARP), bool), -1)
    turn = ((rows[:, :, None] == rows[:, None, :]) & earlier).sum(axis=2)
    keys = np.where(rows == NO_LANE, NO_LANE, rows // SECTOR * WARP + turn)
    return _distinct(keys, WARP), _fewest_sectors(rows, size)


def copy_wavefronts(
    to: np.ndarray, source: np.ndarray, size: int, bypass: bool
) -> tuple[np.ndarray, np.ndarray]:
    """cp.async. Through L1 (.ca) both sides have bank conflicts. Past L1 (.cg) a wavefront takes, for 8 lanes, the
    sectors of one 128-byte line of shared memory whose numbers differ from the source's by the same XOR.
    """
    if bypass:
        turn = (to // SECTOR ^ source // SECTOR) % 4
        used = _distinct(np.where(to == NO_LANE, NO_LANE, to // (4 * BANKS) * 4 + turn), 8)
    else:
        lanes = 32 // max(size // 4, 1)
        used = np.maximum(bank_cycles(to, size, lanes), bank_cycles(source, size, lanes))
    return used, _least(used, to, size)


def _least(used: np.ndarray, rows: np.ndarray, size: int) -> np.ndarray:
    active = (rows != NO_LANE).sum(axis=1)
    return np.minimum(used, -(-active * size // (4 * BANKS)))


def global_sectors(rows: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Sectors that accesses of `size` bytes at byte addresses `rows` (warps, lanes) touch, and the least possible
    for as many distinct bytes."""
    sectors = _distinct(np.where(rows == NO_LANE, NO_LANE, rows // SECTOR), WARP)
    return sectors, _fewest_sectors(rows, size)


def copy_sectors(
    to: np.ndarray, source: np.ndarray, size: int, bypass: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Sectors that cp.async fetches. Past L1, for 8 lanes, as many as the side that has more of them."""
    if not bypass:
        return global_sectors(source, size)
    absent = source == NO_LANE
    sides = [_distinct(np.where(absent, NO_LANE, side // SECTOR), 8, total=False) for side in (to, source)]
    return np.maximum(*sides).sum(axis=1), _fewest_sectors(source, size)


def _fewest_sectors(rows: np.ndarray, size: int) -> np.ndarray:
    distinct = _distinct(np.where(rows == NO_LANE, NO_LANE, rows // size), WARP)
    return -(-distinct * size // SECTOR)


def _distinct(keys: np.ndarray, lanes: int, total: bool = True) -> np.ndarray:
    """How many different keys each group of `lanes` lanes has; in `total`, or (warps, groups)."""
    ordered = np.sort(keys.reshape(len(keys), -1, lanes), axis=2)
    found = _new(ordered)
    return found.sum(axis=(1, 2)) if total else found.sum(axis=2)


def _new(ordered: np.ndarray) -> np.ndarray:
    """Where along the last axis another value stands than before it; absent lanes, the least, are none."""
    found = ordered != NO_LANE
    found[:, :, 1:] &= ordered[:, :, 1:] != ordered[:, :, :-1]
    return found
