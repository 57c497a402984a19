"""Walk a kernel's machine code as one warp does, without data: integers, addresses and predicates are computed, what
comes from memory or from floating-point arithmetic is unknown.

So it costs no arrays, whatever the problem's size, and gives what time depends on: which instructions a warp issues,
and for each access to memory its wavefronts and sectors.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..compiler.disassembly import SassInstruction
from ..gpus import SECTOR, WARP
from ..observe.counters import NO_LANE, shared_wavefronts
from .accesses import Access, Arrived, Asked, AtBarrier, BulkCopied, BulkStored, Found, Made
from .arithmetic import HANDLERS
from .costs import SECTORS
from .operands import TRUE, ZERO_REGISTER, Decoded, decode
from .registers import LANES, Constants, Place, Registers, Triple, Value, of_lanes, one

LOCAL = 1 << 34
"""The first sector of local memory here; behind it each warp of a block has its own."""
NEWEST = 90
"""The highest compute capability whose machine code is walked, times ten."""
MOST_STEPS = 400_000
"""Of one warp: a walk that takes longer does not end."""


OWN = (1 << 24) - 1
"""Of an address in a cluster's shared memory what is behind the block's number."""
CLUSTER = -1
"""The number of the cluster's barrier."""

NOT_KNOWN = frozenset(["QGMMA", "IGMMA", "UTMAPF", "UTMAREDG", "UBLKCP", "UBLKRED", "RET"])
"""Instructions that no walk gets past: copies without a map, sums of Hopper's copy engine, ends of functions. A CALL
that comes to no RET is a branch: up to compute capability 8.9 ptxas leaves loops in this way."""
BRANCHES = frozenset(["BRA", "CALL"])


class Untraceable(ValueError):
    """A branch or an address depends on data, or an instruction is not known here."""


@dataclass(frozen=True)
class Step:
    """An instruction that a warp issued. `executes`: any lane does; `taken`: a branch that leaves its place."""

    decoded: Decoded
    executes: bool
    taken: bool
    access: Found | None


class Warp(Registers):
    """One warp, and its walk."""

    def __init__(
        self,
        code: Sequence[Decoded],
        index: dict[int, int],
        place: Place,
        constants: Constants,
        loaded: Value = None,
    ) -> None:
        """`index`: of the instruction at each address. `loaded`: what every load brings, where that is known."""
        super().__init__(place, constants)
        self.code, self.index, self.loaded = code, index, loaded

    def walk(self) -> list[Step]:
        """Every instruction until all lanes have left. Of lanes that part, those at the lowest address go first."""
        steps: list[Step] = []
        self.waiting: dict[int, np.ndarray] = {}  # index -> lanes
        threads = self.place.block_size[0] * self.place.block_size[1] * self.place.block_size[2]
        self._go(self.place.warp * WARP + LANES < threads, 0)
        while self.at < len(self.code):
            if self.waiting:
                self._meet()
            if len(steps) > MOST_STEPS:
                raise Untraceable(f"the walk of a warp does not end within {MOST_STEPS} instructions")
            decoded = self.code[self.at]
            does = self._lanes(decoded, self.active)
            if decoded.name == "EXIT":
                steps.append(self._exit(decoded, does))
            elif decoded.name in BRANCHES:
                steps.append(self._branch(decoded, does))
            else:
                executes = does is None or bool(does.any())
                access = self._execute(decoded, does) if executes else None
                steps.append(Step(decoded, executes, False, access))
                self.at += 1
        return _with_bytes(steps)

    def _go(self, active: np.ndarray, at: int) -> None:
        """These lanes go on, from there."""
        self.active, self.at = active, at
        self.mask = None if active.all() else active

    def _meet(self) -> None:
        """Where lanes wait, those at the lowest address go, with all that have come there."""
        lowest = min(self.waiting)
        if lowest <= self.at:
            self.waiting[self.at] = self.active | self.waiting.get(self.at, False)
            self._go(self.waiting.pop(lowest), lowest)

    def _exit(self, decoded: Decoded, does: np.ndarray | None) -> Step:
        """It executes when the last lanes leave."""
        left = np.zeros(WARP, bool) if does is None else self.active & ~does
        ends = not left.any() and not self.waiting
        if left.any():
            self._go(left, self.at + 1)
        elif self.waiting:
            lowest = min(self.waiting)
            self._go(self.waiting.pop(lowest), lowest)
        else:
            self.at = len(self.code)
        return Step(decoded, ends, False, None)

    def _branch(self, decoded: Decoded, does: np.ndarray | None) -> Step:
        executes = does is None or bool(does.any())
        goes = self._branches(decoded, does, self.active) if executes else None
        if goes is None:
            self.at += 1
        else:
            target = self.index.get(decoded.instruction.target or -1, -1)
            if (goes == self.active).all():
                self.at = target
            else:
                self.waiting[target] = goes | self.waiting.get(target, False)
                self._go(self.active & ~goes, self.at + 1)
        return Step(decoded, executes, goes is not None, None)

    def _execute(self, decoded: Decoded, does: np.ndarray | None) -> Found | None:
        """What it does to what the warp knows, and its access."""
        name, lanes = decoded.name, self.active if does is None else does
        handler = HANDLERS.get(name)
        if handler is not None:
            handler(self, decoded, None if self.mask is None and (does is None or does.all()) else lanes)
            return None
        if name in MEMORY_NAMES:
            access = self.memory(decoded, lanes)
            self.forget(decoded, self.loaded)
            return access
        if name == "BAR":
            return self.barrier(decoded)
        if name == "UCGABAR_WAIT":
            return AtBarrier(CLUSTER)
        if name == "UTMALDG" or (name == "SYNCS" and "CCTL" not in decoded.modifiers):
            return self.mbarrier(decoded, lanes)
        if name in NOT_KNOWN:
            raise Untraceable(f"the clock does not know {name}, at line {decoded.instruction.line}")
        self.forget(decoded)
        return None

    def _lanes(self, decoded: Decoded, active: np.ndarray) -> np.ndarray | None:
        """Of the active lanes those whose guard holds; None: all."""
        if decoded.guard is None:
            return None
        kind, number, negated = decoded.guard
        value = (self.predicates if kind == "P" else self.uniform_predicates)[number]
        if value is None:
            if decoded.name == "EXIT" or decoded.name in BRANCHES | MEMORY_NAMES:
                what = "whether memory is accessed" if decoded.name in MEMORY_NAMES else "a branch"
                raise Untraceable(f"{what} depends on data, at line {decoded.instruction.line}")
            return None
        if isinstance(value, np.ndarray):
            return active & (~value if negated else value)
        return None if bool(value) != negated else np.zeros(WARP, bool)

    def _branches(self, decoded: Decoded, does: np.ndarray | None, active: np.ndarray) -> np.ndarray | None:
        if "DIV" in decoded.modifiers:
            return None
        goes = active if does is None else does
        for operand in decoded.operands:
            if operand.kind in ("P", "UP"):
                value = self.predicate(operand)
                if value is None:
                    raise Untraceable(f"a branch depends on data, at line {decoded.instruction.line}")
                goes = goes & (value if isinstance(value, np.ndarray) else np.full(WARP, bool(value)))
        if "ANY" in decoded.modifiers and goes.any():
            return active
        return goes if goes.any() else None

    def forget(self, decoded: Decoded, value: Value = None) -> None:
        """What it writes is unknown, or this value."""
        first, count = decoded.writes
        for number in range(first, first + count):
            if number < ZERO_REGISTER:
                self.registers[number] = value
        for operand in decoded.operands[: 1 + (decoded.name in ("SHFL", "LDG"))]:
            if operand.kind == "UR":
                for number in range(operand.number, operand.number + decoded.width):
                    self.uniform[number] = None
            elif operand.kind == "P" and operand.number != TRUE:
                self.predicates[operand.number] = None

    def barrier(self, decoded: Decoded) -> AtBarrier:
        """Which one, and for how many warps (0: all)."""
        numbers = [
            one(self.get(operand)) for operand in decoded.operands if operand.kind in ("R", "UR", "imm")
        ]
        if any(number is None for number in numbers):
            raise Untraceable(f"a barrier's number depends on data, at line {decoded.instruction.line}")
        number, threads = ([int(each or 0) for each in numbers] + [0, 0])[:2]
        return AtBarrier(number, threads // WARP)

    def mbarrier(self, decoded: Decoded, active: np.ndarray) -> Made | Arrived | Asked | BulkCopied:
        """Of which mbarrier; arrivals that it waits for, or that come; the parity that is waited for; bytes. Of a copy:
        the mbarrier, and to how many blocks it goes.

        Blocks of a cluster are taken to do the same at the same time: what one does to the same mbarrier of another one
        is done to its own.
        """
        if decoded.name == "UTMALDG":  # a pair of uniform registers: where to, and the mbarrier
            number = self.uniform[decoded.operands[0].terms[0][1] + 1]
            to = self.get(decoded.operands[2]) if "MULTICAST" in decoded.modifiers else 1
            if number is None or to is None:
                raise Untraceable(f"an mbarrier depends on data, at line {decoded.instruction.line}")
            return BulkCopied(int(number) & OWN, int(to).bit_count())
        place = next(operand for operand in decoded.operands if operand.kind == "mem")
        addresses, value = self.address(place), one(self.get(decoded.operands[-1]))
        if addresses is None or value is None:
            raise Untraceable(f"an mbarrier depends on data, at line {decoded.instruction.line}")
        of_lanes = np.broadcast_to(addresses, WARP)[active]
        address = int(of_lanes[0]) & OWN
        if "EXCH" in decoded.modifiers:  # the count, as the number that it is short of
            return Made(address, (1 << 20) - (int(value) >> 1))
        if "ARRIVE" in decoded.modifiers:
            expected = 0 if "A1T0" in decoded.modifiers else int(value)
            others = int((of_lanes > OWN).sum())
            return Arrived(address, int(active.sum()), expected, others)
        self.put(decoded.operands[0], True, active)
        return Asked(address, int(value) >> 31 & 1)

    def local(self, decoded: Decoded) -> Access:
        """Of a thread's own memory, where spills lie: a word of all lanes is a line."""
        address = one(self.address(next(each for each in decoded.operands if each.kind == "mem")))
        first = LOCAL + (self.place.warp << 20) + (int(address or 0) & 0xFFFFF) // 4 * SECTORS
        return Access(decoded.width, tuple(range(first, first + SECTORS * decoded.width)))

    def memory(self, decoded: Decoded, active: np.ndarray) -> Access:
        """Wavefronts and sectors of an access."""
        name = decoded.name
        places = [operand for operand in decoded.operands if operand.kind == "mem"]
        rows = []
        for operand in places:
            address = self.address(operand)
            if address is None:
                raise Untraceable(f"an address depends on data, at line {decoded.instruction.line}")
            rows.append(of_lanes(active, address, NO_LANE))
        size = 4 * decoded.width
        if name in ("LDSM", "STSM"):
            written = size * WARP if name == "STSM" else 0
            return Access(_matrices(rows[0].tobytes(), decoded.width), stored=written)
        if name in ("LDL", "STL"):
            return self.local(decoded)
        if name in ("LDS", "STS", "ATOMS"):
            written = size * int(active.sum()) if name == "STS" else 0
            return Access(_shared(rows[0].tobytes(), size, name == "LDS"), stored=written)
        if name == "LDGSTS":
            bypass = "BYPASS" in decoded.modifiers
            return _copied(rows[0].tobytes(), rows[1], size, bypass)
        narrow = {"U8": 1, "S8": 1, "U16": 2, "S16": 2}
        size = next((narrow[each] for each in decoded.modifiers if each in narrow), size)
        found = _global(rows[0], size)
        return replace(found, parts=_parts(rows[0], size)) if name in ("STG", "ST") else found


def _with_bytes(steps: list[Step]) -> list[Step]:
    """Each bulk copy with its bytes: what its mbarrier was told to expect, in equal parts. A copy to several blocks of
    a cluster brings so many parts: each of the others makes one like it."""
    told: dict[int, int] = {}
    copies: dict[int, list[tuple[int, BulkCopied]]] = {}

    def settle(address: int) -> None:
        waiting = copies.pop(address, [])
        blocks = sum(copy.blocks for _, copy in waiting)
        for at, copy in waiting:
            size = told.get(address, 0) * copy.blocks // blocks
            steps[at] = replace(steps[at], access=replace(copy, size=size))

    for at, step in enumerate(steps):
        if isinstance(step.access, Arrived) and step.access.expected:
            settle(step.access.mbarrier)
            told[step.access.mbarrier] = step.access.expected
        elif isinstance(step.access, BulkCopied):
            copies.setdefault(step.access.mbarrier, []).append((at, step.access))
    for address in list(copies):
        settle(address)
    return steps


def _with_stores(warps: list[list[Step]]) -> list[list[Step]]:
    """Each bulk store with its bytes: what the block wrote to shared memory, in equal parts."""
    stores = [
        (steps, at)
        for steps in warps
        for at, step in enumerate(steps)
        if step.decoded.name == "UTMASTG" and step.executes
    ]
    if stores:
        accesses = (step.access for steps in warps for step in steps)
        wrote = sum(access.stored for access in accesses if isinstance(access, Access))
        for steps, at in stores:
            steps[at] = replace(steps[at], access=BulkStored(wrote // len(stores)))
    return warps


MEMORY_NAMES = frozenset(
    [
        "LDS",
        "LDSM",
        "STS",
        "STSM",
        "LDG",
        "STG",
        "LDGSTS",
        "ATOMS",
        "LDL",
        "STL",
        "ATOMG",
        "RED",
        "REDG",
        "LD",
        "ST",
    ]
)
_KNOWN: dict[tuple, int] = {}
"""Wavefronts by the lanes' addresses relative to their first, on which banks depend modulo 128 bytes."""


def _relative(rows: bytes) -> np.ndarray:
    row = np.frombuffer(rows, np.int64).copy()
    there = row != NO_LANE
    if there.any():
        row[there] -= int(row[there].min()) & ~127
    return row


def _matrices(rows: bytes, count: int) -> int:
    row = _relative(rows)[: 8 * count]
    key = ("m", row.tobytes())
    if key not in _KNOWN:
        # the four words of a row of 16 bytes, eight rows to a wavefront where no two meet in a bank
        _KNOWN[key] = int(shared_wavefronts(row.reshape(count, 8), 16)[0].sum())
    return _KNOWN[key]


def _shared(rows: bytes, size: int, load: bool) -> int:
    row = _relative(rows)
    key = ("s", size, load, row.tobytes())
    if key not in _KNOWN:
        _KNOWN[key] = int(shared_wavefronts(row.reshape(1, WARP), size, load)[0][0])
    return _KNOWN[key]


def _copied(to: bytes, source: np.ndarray, size: int, bypass: bool) -> Access:
    """Past L1 a copy leaves the port alone; through L1 its lines count, and the banks as for a store. M:
    research/record_copies_beside_loads.py."""
    access = Access(0, _sectors(source, size))
    return access if bypass else replace(access, wavefronts=max(_shared(to, size, load=False), access.lines))


def _global(row: np.ndarray, size: int) -> Access:
    sectors = _sectors(row, size)
    per_wavefront = 4
    lines = len({sector // 4 for sector in sectors})
    return Access(max(lines, -(-len(sectors) // per_wavefront), 1), sectors)


def _parts(row: np.ndarray, size: int) -> int:
    """Sectors of which a store writes a part only."""
    words = np.unique(row[row != NO_LANE] // min(size, 4))
    _, counts = np.unique(words * min(size, 4) // SECTOR, return_counts=True)
    return int((counts * size < SECTOR).sum())


def _sectors(row: np.ndarray, size: int) -> tuple[int, ...]:
    there = row[row != NO_LANE]
    first, last = there // SECTOR, (there + size - 1) // SECTOR
    return tuple(sorted({*first.tolist(), *last.tolist()}))


def parameters_at(arch: str) -> int:
    """Where a kernel's parameters begin in constant bank 0; an architecture is "sm_90".

    Raises Untraceable for those behind Hopper, whose machine code nobody has taught the walk.
    """
    if not readable(arch):
        raise Untraceable(f"the clock reads that of sm_75 to sm_{NEWEST}, and this is {arch}")
    return 0x210 if _number(arch) >= 90 else 0x160


def readable(arch: str) -> bool:
    """Whether the walk knows the instructions of this architecture."""
    return _number(arch) <= NEWEST


def _number(arch: str) -> int:
    return int(arch.removeprefix("sm_").rstrip("af"))


def constants_of(
    parameters: Sequence[tuple[int, bytes]],
    block: Triple,
    grid: Triple,
    arch: str = "sm_90",
    literals: bytes = b"",
) -> Constants:
    """The constants of a launch, by bank. Bank 0: the sizes of block and grid, and parameters, as (offset, bytes)."""
    bank, begin = bytearray(1 << 13), parameters_at(arch)
    struct.pack_into("<6I", bank, 0, *block, *grid)
    for offset, data in parameters:
        bank[begin + offset : begin + offset + len(data)] = data
    return {0: bytes(bank), 2: literals}


def walk_block(
    instructions: Sequence[SassInstruction],
    constants: Constants,
    block: Triple,
    block_size: Triple,
    grid: Triple,
    loaded: Value = None,
) -> list[list[Step]]:
    """What each warp of one block issues. `loaded`: as in Warp."""
    code = [decode(each) for each in instructions]
    index = {each.address: at for at, each in enumerate(instructions)}
    warps = -(-block_size[0] * block_size[1] * block_size[2] // WARP)
    walks = [
        Warp(code, index, Place(warp, block, block_size, grid), constants, loaded).walk()
        for warp in range(warps)
    ]
    return _with_stores(walks)
