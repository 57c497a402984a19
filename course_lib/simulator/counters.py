"""What a launch did, per source line: instructions, shared-memory wavefronts, global sectors.

Rules, as NVIDIA documents them in the Nsight Compute guide and its forums: shared memory has 32 banks of 4 bytes.
A warp's access is served in phases of 128 bytes: 32 lanes of 4 bytes or less, 16 lanes of 8, 8 lanes of 16. In one
wavefront each bank delivers one 4-byte word, to all lanes that want it. Global memory moves sectors of 32 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import NamedTuple

import numpy as np

from .ptx import Instruction

BANKS = 32
SECTOR = 32
WARP = 32
NO_LANE = -(2**62)
"""Stands for the address of a lane that takes no part."""


@dataclass
class Counts:
    """Instructions, requests and accesses count warps, as a GPU issues them; bytes count what the lanes move."""

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

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


class Pattern(NamedTuple):
    """An access to shared memory by one warp: the byte offset of each lane (-1: it takes no part), and how many
    bytes each lane moves."""

    offsets: tuple[int, ...]
    size: int


@dataclass(frozen=True)
class CounterTable:
    """`total`, and `by_line[line]` for every line of the learner's source that does something.

    `patterns[line]` has the accesses to shared memory at that line, without repetitions: those of the first warp
    that executed it, the first time.
    """

    total: Counts
    by_line: dict[int, Counts]
    patterns: dict[int, tuple[Pattern, ...]] = field(default_factory=dict, repr=False)

    def pattern(self, line: int, which: int = 0) -> Pattern:
        """One access to shared memory at `line`: the first one, or `which` of them."""
        found = self.patterns.get(line, ())
        if not found:
            lines = ", ".join(map(str, self.patterns)) or "none"
            raise ValueError(f"line {line} does not access shared memory; lines that do: {lines}")
        if not 0 <= which < len(found):
            raise ValueError(
                f"line {line} has {len(found)} patterns of access, 0 to {len(found) - 1}; not {which}"
            )
        return found[which]


@dataclass
class _Access:
    """One side of a memory instruction: warps that executed it, and what the rule says it cost and might cost."""

    warps: int = 0
    used: int = 0
    ideal: int = 0
    bytes: int = 0


class Counters:
    """Counts of one launch, by instruction; `table()` sums them up by source line."""

    def __init__(self, instructions: tuple[Instruction, ...]) -> None:
        self._instructions = instructions
        self._blocks: dict[int, list] = {}  # first pc of a basic block -> [its pcs, warps that ran it]
        self._sides: dict[tuple[int, str], _Access] = {}
        self._last: dict[tuple[int, str], tuple] = {}  # the last pattern of addresses, and what it cost
        self._first: dict[int, Pattern] = {}  # by instruction: its first access to shared memory

    # ---- what the machine calls

    def executed(self, pc: int, pcs: range, warps: int) -> None:
        self._blocks.setdefault(pc, [pcs, 0])[1] += warps

    def shared(self, m, pc: int, offsets: np.ndarray, size: int) -> None:
        """An access to shared memory at these byte offsets: one for each active lane, or rows (warps, lanes)."""
        self._count(m, (pc, "shared"), offsets, size, 4)

    def globally(self, m, pc: int, addresses: np.ndarray, size: int, reads: np.ndarray | None = None) -> None:
        """An access to global memory at these byte addresses, one for each active lane; `reads`: not all do."""
        places = addresses.astype(np.int64)
        if reads is not None:
            places = np.where(reads, places, NO_LANE)
        self._count(m, (pc, "global"), places, size, SECTOR)

    def _count(self, m, side: tuple[int, str], places: np.ndarray, size: int, unit: int) -> None:
        """A pattern that only moved by a multiple of `unit` bytes costs what it cost the last time."""
        origin = places.flat[0] // unit * unit
        pattern = places - origin if places.min() >= 0 else places
        last = self._last.get(side)
        if (
            last is None
            or last[0] is not m.idx
            or last[1].shape != pattern.shape
            or (last[1] != pattern).any()
        ):
            last = self._last[side] = (m.idx, pattern, _cost(m, pattern, size, side[1]))
            if side[1] == "shared" and side[0] not in self._first:
                self._first[side[0]] = Pattern(_first_warp(m, places), size)
        total, once = self._sides.setdefault(side, _Access()), last[2]
        if side[1] == "shared":
            m.recorder.wavefronts += once.used / max(once.warps, 1)
        total.warps += once.warps
        total.used += once.used
        total.ideal += once.ideal
        total.bytes += once.bytes

    # ---- the result

    def table(self) -> CounterTable:
        by_line: dict[int, Counts] = {}

        def add(pc: int, counts: Counts) -> None:
            line = self._instructions[pc].where.line
            by_line[line] = by_line.get(line, Counts()) + counts

        for pcs, warps in self._blocks.values():
            for pc in pcs:
                add(pc, self._issued(pc, warps))
        for (pc, where), access in self._sides.items():
            add(pc, self._moved(pc, where, access))
        return CounterTable(sum(by_line.values(), Counts()), dict(sorted(by_line.items())), self._patterns())

    def _patterns(self) -> dict[int, tuple[Pattern, ...]]:
        """By line; two patterns are one when one of them is the other, shifted by whole rows of banks."""
        by_line: dict[int, dict[tuple, Pattern]] = {}
        for pc, pattern in sorted(self._first.items()):
            row = min((o for o in pattern.offsets if o >= 0), default=0) // (4 * BANKS) * 4 * BANKS
            shifted = tuple(o - row if o >= 0 else o for o in pattern.offsets)
            kind = (self._instructions[pc].opcode.root, shifted, pattern.size)
            by_line.setdefault(self._instructions[pc].where.line, {}).setdefault(kind, pattern)
        return {line: tuple(kinds.values()) for line, kinds in sorted(by_line.items())}

    def _issued(self, pc: int, warps: int) -> Counts:
        opcode = self._instructions[pc].opcode
        return Counts(
            instructions=warps,
            fma=warps * (opcode.root == "fma"),
            mma=warps * (opcode.root == "mma"),
            ldmatrix=warps * (opcode.root == "ldmatrix"),
            barriers=warps * (opcode.root in ("bar", "barrier")),
        )

    def _moved(self, pc: int, where: str, access: _Access) -> Counts:
        root = self._instructions[pc].opcode.root
        if where == "global":
            return Counts(
                global_requests=access.warps,
                global_sectors=access.used,
                global_sectors_ideal=access.ideal,
                cp_async=access.warps * (root == "cp"),
                cp_async_bytes=access.bytes * (root == "cp"),
            )
        return Counts(
            shared_loads=access.warps * (root in ("ld", "ldmatrix")),
            shared_stores=access.warps * (root == "st"),
            shared_wavefronts=access.used,
            shared_wavefronts_ideal=access.ideal,
        )


def _cost(m, pattern: np.ndarray, size: int, where: str) -> _Access:
    rows = pattern if pattern.ndim == 2 else by_warp(m, pattern)
    used, ideal = shared_wavefronts(rows, size) if where == "shared" else global_sectors(rows, size)
    return _Access(len(rows), int(used.sum()), int(ideal.sum()), size * int((rows != NO_LANE).sum()))


def _first_warp(m, places: np.ndarray) -> tuple[int, ...]:
    rows = places if places.ndim == 2 else by_warp(m, places)
    return tuple(np.maximum(rows[0], -1).tolist())


def by_warp(m, places: np.ndarray) -> np.ndarray:
    """One row of 32 for each warp that takes part; NO_LANE where a lane does not."""
    lanes = m.active()
    warps, row = np.unique(m.warp_of[lanes], return_inverse=True)
    rows = np.full((len(warps), WARP), NO_LANE)
    rows[row, m.thread_of[lanes] % WARP] = places
    return rows


def shared_wavefronts(rows: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Wavefronts of accesses of `size` bytes at byte offsets `rows` (warps, lanes), and the least possible.

    Each phase of 128 bytes takes as many wavefronts as its busiest bank has distinct words to deliver.
    """
    words = rows[:, :, None] // 4 + np.arange(max(size // 4, 1))
    words = np.where(rows[:, :, None] == NO_LANE, NO_LANE, words)
    phases = np.sort(words.reshape(len(rows), -1, BANKS), axis=2)
    distinct = np.diff(phases, axis=2, prepend=NO_LANE) != 0
    phase = np.arange(phases.shape[0] * phases.shape[1]).reshape(phases.shape[:2])[:, :, None]
    load = np.bincount((phase * BANKS + phases % BANKS)[distinct], minlength=phase.size * BANKS)
    used = load.reshape(*phases.shape[:2], BANKS).max(axis=2)
    return used.sum(axis=1), (used > 0).sum(axis=1)


def global_sectors(rows: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Sectors that accesses of `size` bytes at byte addresses `rows` (warps, lanes) touch, and the least possible
    for as many distinct bytes."""

    def distinct(units: np.ndarray) -> np.ndarray:
        units = np.sort(np.where(rows == NO_LANE, NO_LANE, units), axis=1)
        return (np.diff(units, axis=1, prepend=NO_LANE) != 0).sum(axis=1)

    return distinct(rows // SECTOR), -(-distinct(rows // size) * size // SECTOR)
