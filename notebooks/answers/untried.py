"""Sizes that a kernel treats apart from those that were tried: `if (k_tiles > 64) return;`, a loop that ends after 12,
`if (blockIdx.x > 8) return;`. The constants with which sizes, places of blocks and counters of loops are compared say
which."""

import re
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from cupy_or_sim.simulate import compiled
from ptxsim.compiler import Instruction, read_by, targets_of, written_by
from ptxsim.ptx.opcode import Opcode
from ptxsim.ptx.program import Address, Immediate, Register, Special, Variable

M, N, K = 3, 4, 5
"""Of a GEMM kernel's parameters (A, B, C, M, N, K)."""
MOST = 70
"""More blocks, or large k-tiles, are not tried: they would take seconds."""
MOST_K_TILES, MOST_COLUMNS = 260, 4500
"""Nor are longer sums: the lessons' largest products have 4096 columns, in k-tiles of 16 that are 256 of them."""
FURTHER = 4
"""More k-tiles: a compiler may count from a later turn on, and compare k_tile - 2 with 58 where 60 is written."""
MOVED = {"mov", "selp"}
COPIED = {"mov", "cvt", "add", "sub"}
PRODUCT = {"mul", "mad"}
MADE_OF = COPIED | PRODUCT | {"and", "or", "shl", "shr", "div", "rem", "min", "max", "neg", "not"}
COMPARED = {"setp", "min", "max"}
NAMED = (Special, Variable)
ROOTS = COMPARED | MADE_OF | MOVED

Starts = Mapping[int | str, float]
"""A parameter's number, or a special register -> how many pieces one of what it counts is: 1/16 if these are k-tiles,
and it counts their columns."""
Counted = dict[int, float]
"""Register -> the same."""


MOST_SLOTS = 9
"""More slots of a ring are not tried."""


def untried_constants(code: str, name: str, tried: Collection[int]) -> list[int]:
    """Values of a constant such as STAGES, up to MOST_SLOTS and not `tried`, at a number with which the text compares
    it: the compiler decides these, and the program does not show them."""
    sign, itself = r"\s*(?:[=!]=|[<>]=?)\s*", rf"\b{name}\b"
    beside = re.findall(rf"{itself}{sign}(\d+)|\b(\d+){sign}{itself}", code)
    numbers = {int(one or other) for one, other in beside}
    near = {number + more for number in numbers for more in (-1, 0, 1)}
    return sorted(number for number in near - {*tried} if 2 <= number <= MOST_SLOTS)


def untried(kernel: Any, tile_k: int, tried: Collection[int], size: int = K, ahead: int = 1) -> list[int]:
    """`Untried.k_tiles` of a kernel. `size`: which parameter K is; of pieces of one column, how many there are."""
    return Untried(kernel).k_tiles(tile_k, tried, size, ahead)


class _Step:
    """An instruction that makes or compares numbers."""

    def __init__(self, pc: int, each: Instruction) -> None:
        self.pc, self.each, self.root = pc, each, each.opcode.root
        self.made, self.read = written_by(each), read_by(each)

    @cached_property
    def constants(self) -> list[int]:
        return [_value(one) for one in self.each.operands[1:] if isinstance(one, Immediate)]

    @property
    def itself(self) -> bool:
        """Whether what is compared is asked for by itself."""
        return self.each.opcode.has("eq") or self.each.opcode.has("ne")


def _counts(opcode: Opcode) -> bool:
    """Whether it may make or compare whole numbers."""
    if opcode.root == "ld":
        return opcode.has("param")
    return opcode.root in ROOTS and ".f" not in opcode.text


class Untried:
    """What a kernel makes of numbers, and compares: which sizes it treats apart. None, for nearly every kernel; one
    that does not matter costs a launch, and is no finding. `threads`: of a block."""

    def __init__(self, kernel: Any, threads: int = 1) -> None:
        self.program, self.threads = compiled(kernel).code.program, threads
        self.steps = [
            _Step(pc, one) for pc, one in enumerate(self.program.instructions) if _counts(one.opcode)
        ]
        self.touching: dict[int, list[_Step]] = {}
        for step in self.steps:
            for register in {*step.made, *step.read}:
                self.touching.setdefault(register, []).append(step)

    def k_tiles(
        self, tile_k: int, tried: Collection[int], size: int = K, ahead: int = 1, most: int = 0
    ) -> list[int]:
        """Numbers of k-tiles, up to `most` (0: to MOST or MOST_K_TILES), at a constant that K or a loop's counter is
        compared with, and not `tried`: above all of these, or one that is asked for by itself. `ahead`: how many turns
        before its use one is copied."""
        # a counter may be compared before it counts the turn that begins
        most = most or max(MOST, min(MOST_K_TILES, MOST_COLUMNS // tile_k))
        return self._apart({size: 1 / tile_k}, tried, 2 + ahead, most, further=FURTHER)

    def blocks(self, starts: Starts, tried: int, most: int = MOST) -> list[int]:
        """The same of blocks, or of tiles that one block makes: so many that one lies behind the constant. `starts`:
        what counts them, such as "%ctaid.x"; `tried`: the most that were."""
        return self._apart(starts, range(1, tried + 1), 2, most)

    def _apart(
        self, starts: Starts, tried: Collection[int], behind: int, most: int, further: int = 0
    ) -> list[int]:
        """Numbers of pieces, up to `most`: so far `behind` a constant, and `further`, where more than were tried are
        behind it; at one that is asked for by itself that one and all so far behind it."""
        counted, found = self._counted(starts), set[int]()
        for pieces, itself in (*self._constants(counted), *self._constants_beside(counted)):
            if itself:
                found |= {pieces} | {*range(max(pieces, max(tried) + 1), pieces + behind + 1)}
            elif max(tried) < pieces + behind <= most:
                found.add(min(pieces + behind + further, most))
        return sorted(number for number in found - {*tried} if 0 < number <= most)

    @cached_property
    def _places(self) -> set[int]:
        """Registers that hold the place of a thread or block, the size of a block or grid, where an array begins, and
        what is made of these alone: added to a count they change nothing of what it counts."""
        found: set[int] = set()
        for step in self.steps:
            begins = any(isinstance(one, NAMED) for one in step.each.operands)
            if step.root in MADE_OF and (begins or step.read) and found.issuperset(step.read):
                found.update(step.made)
        return found

    def _counted(self, starts: Starts) -> Counted:
        """Of the registers that hold one of these, what is made of it, and what is compared with that."""
        params, found = self.program.params, Counted()
        for key, one in starts.items():
            name = key if isinstance(key, str) else "".join(each.name for each in params[key : key + 1])
            found |= dict.fromkeys(self._holding.get(name, ()), one)
        waiting = deque(found)
        while waiting:
            for step in self.touching[waiting.popleft()]:
                for register, one in self._told_by(step, found):
                    if register not in found:
                        found[register] = one
                        waiting.append(register)
        return found

    @cached_property
    def _holding(self) -> dict[str, list[int]]:
        """Name of a parameter, or of a special register -> the registers that it is read to."""
        found: dict[str, list[int]] = {}
        for step in self.steps:
            for one in step.each.operands[1:]:
                named = one.base if isinstance(one, Address) else one
                if isinstance(named, NAMED):
                    found.setdefault(named.name, []).extend(step.made)
        return found

    @cached_property
    def _threads(self) -> Counted:
        """A number of blocks times the threads of a block counts these."""
        return dict.fromkeys(self._holding.get("%ntid.x", ()), 1 / self.threads)

    def _told_by(self, step: _Step, counted: Counted) -> Iterator[tuple[int, float]]:
        """The registers that count pieces because of this instruction, and how many."""
        known = [counted[register] for register in step.read if register in counted]
        new = counted.keys().isdisjoint(step.made)
        if (
            new
            and step.root in MADE_OF
            and known
            and all(one in counted or one in self._places for one in step.read)
        ):
            one = _of_what_is_made(step, counted, self._threads)
            yield from ((register, one) for register in step.made)
        if step.root in COPIED and not new:
            before = [register for register in step.read if register not in self._places]
            if len(before) == 1:  # a counter, before it is the next one
                yield before[0], counted[step.made[0]]
        if step.root in COMPARED and known:
            yield from ((register, min(known)) for register in step.read)

    def _constants(self, counted: Counted) -> Iterator[tuple[int, bool]]:
        """The constants with which these registers are compared, in pieces, and whether for one by itself."""
        for step in self.steps:
            if step.root not in COMPARED:
                continue
            if known := [counted[register] for register in step.read if register in counted]:
                # of ~k_tiles and -24 as well
                yield from ((_whole(abs(value) * min(known)), step.itself) for value in step.constants)
            if step.constants == [0]:
                bits = ((one, bit) for one in step.read if one in counted for bit in self._lowest_bits(one))
                yield from ((_whole(bit * counted[one]), False) for one, bit in bits)

    def _lowest_bits(self, register: int) -> list[int]:
        """Of each mask that leaves a part of a count in this register: below that bit nothing is left, and a compiler
        asks so whether `count >> 6` is 0."""
        masks = [one for one in self.touching[register] if one.root == "and" and one.made == [register]]
        return [value & -value for one in masks for value in one.constants if value]

    def _constants_beside(self, counted: Counted) -> Iterator[tuple[int, bool]]:
        """The same of counters that stand beside one of these in its loop, and are compared with nothing else."""
        plain = [
            (step, by) for step, by in self._counters if by and not counted.keys() & {*step.made, *step.read}
        ]
        limited = [(step, by, limits) for step, by in plain if (limits := self._limits(step))]
        if not limited:
            return
        a_turn = {
            self._loop(step.pc): by * counted[step.made[0]] if by else 1.0
            for step, by in self._counters
            if step.made[0] in counted
        }
        for step, by, limits in limited:
            if pieces := a_turn.get(self._loop(step.pc)):
                yield from ((_whole(far / by * pieces), itself) for far, itself in limits)

    @cached_property
    def _counters(self) -> list[tuple[_Step, int]]:
        """Instructions that add to what they read, at once or by a copy, and how much; 0 if that is no constant."""
        found = []
        for step in self.steps:
            if step.root in ("add", "sub") and step.read:
                back = (
                    one for one in self.touching[step.made[0]] if one.root == "mov" and one.read == step.made
                )
                itself = {*step.made, *(made for one in back for made in one.made)} & {*step.read}
                if itself:
                    by = step.constants or [
                        value for one in {*step.read} - itself for value in self._moved(one)
                    ]
                    found.append((step, max(map(abs, by), default=0)))
        return found

    def _limits(self, counter: _Step) -> list[tuple[int, bool]]:
        """How far a counter may be from where it began when it is compared, and whether that is asked for by itself."""
        registers = {*counter.made, *counter.read}
        begins = [value for one in registers for value in self._moved(one)]
        compares = [step for one in registers for step in self.touching[one] if step.root in COMPARED]
        return [
            (abs(value - first), step.itself)
            for step in compares
            for value in step.constants
            for first in begins
        ]

    def _moved(self, register: int, deep: int = 2) -> list[int]:
        """The constants that come to a register, also by copies."""
        moves = [one for one in self.touching[register] if one.root in MOVED and one.made == [register]]
        found = [value for one in moves for value in one.constants]
        sources = [other for one in moves for other in one.read if deep]
        return found + [value for other in sources for value in self._moved(other, deep - 1)]

    def _loop(self, pc: int) -> tuple[int, int] | None:
        """The first and the last instruction of the innermost loop around an instruction."""
        around = [(last - first, (first, last)) for first, last in self._loops if first <= pc <= last]
        return min(around)[1] if around else None

    @cached_property
    def _loops(self) -> list[tuple[int, int]]:
        jumps = ((pc, targets_of(each)) for pc, each in enumerate(self.program.instructions))
        return [(first, pc) for pc, targets in jumps for first in targets if first <= pc]


def _of_what_is_made(step: _Step, counted: Counted, threads: Counted) -> float:
    """How many pieces one of it is: of a count times a constant, so many less."""
    operands = step.each.operands[1:]
    factors, added = (operands[:2], operands[2:]) if step.root in PRODUCT else ((), operands)
    known = [counted[one.index] for one in added if isinstance(one, Register) and one.index in counted]
    if any(isinstance(one, Register) and one.index in counted for one in factors):
        known.append(prod(_of_factor(one, counted, threads) for one in factors))
    return min(known) * _times(step)


def _of_factor(one: Any, counted: Counted, threads: Counted) -> float:
    if isinstance(one, Immediate):
        return 1 / max(abs(_value(one)), 1)
    return counted.get(one.index, threads.get(one.index, 1.0)) if isinstance(one, Register) else 1.0


def _times(step: _Step) -> float:
    """What is made of a count by a constant counts so many times as many."""
    if step.root not in ("shl", "shr", "div") or not step.constants:
        return 1.0
    by = float(max(step.constants[0], 1) if step.root == "div" else 2 ** min(step.constants[0], 64))
    return 1 / by if step.root == "shl" else by


def _value(constant: Immediate) -> int:
    return int(constant.value(np.dtype(np.int64))[0])


def _whole(pieces: float) -> int:
    """Whole ones; of 1/3 of 9 columns three."""
    return int(round(pieces, 6))
