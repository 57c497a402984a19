"""The registers of one warp, of which only what decides time is known.

A value is an int where all lanes have the same, an array of 32 where they differ, None where it is unknown; registers
have 32 bits, without sign. A predicate is a bool, an array of bools, or None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..gpus import WARP
from .operands import TRUE, ZERO_REGISTER, Operand

M = 0xFFFFFFFF
SIGN = 0x80000000
LANES = np.arange(WARP, dtype=np.int64)
Triple = tuple[int, int, int]
Constants = Mapping[int, bytes]
"""By bank."""
Value = Any
"""int | np.ndarray | None, of which no type checker can follow the arithmetic."""


@dataclass(frozen=True)
class Place:
    """Where a warp stands: its number in the block, the block in the grid, and the sizes of both (x, y, z)."""

    warp: int
    block: Triple
    block_size: Triple
    grid: Triple


def signed(value: Value) -> Value:
    if value is None:
        return None
    if isinstance(value, int):
        return value - (1 << 32) if value & SIGN else value
    return np.where(value & SIGN, value - (1 << 32), value)


def uniform(value: Value) -> Value:
    """An array of one value as that value."""
    if isinstance(value, np.ndarray) and (value == value[0]).all():
        return value[0].item()
    return value


def of_lanes(condition: np.ndarray, yes: Value, no: Value) -> np.ndarray:
    """One of two values for each lane. In a browser NumPy gives Python's numbers 32 bits, and cuts off what is more."""
    return np.where(condition, *(np.int64(each) if type(each) is int else each for each in (yes, no)))


def where(condition: Value, yes: Value, no: Value) -> Value:
    if isinstance(condition, np.ndarray):
        if yes is None or no is None:
            return None
        return of_lanes(condition, yes, no)
    if condition is None:
        return None
    return yes if condition else no


def masked(value: Value) -> Value:
    return None if value is None else value & M


def one(value: Value) -> Value:
    """A uniform register takes one lane's value."""
    return int(value[0]) if isinstance(value, np.ndarray) else value


def is_set(value: Value) -> Value:
    if value is None:
        return None
    return value != 0


@dataclass
class Registers:
    """The registers of one warp; the constants of its launch."""

    place: Place
    constants: Constants
    registers: list[Value] = field(default_factory=lambda: [0] * ZERO_REGISTER + [0])
    uniform: list[Value] = field(default_factory=lambda: [0] * 256)
    predicates: list[Value] = field(default_factory=lambda: [False] * TRUE + [True])
    uniform_predicates: list[Value] = field(default_factory=lambda: [False] * TRUE + [True])
    mask: np.ndarray | None = None  # lanes that take part now; None: all

    def get(self, operand: Operand, logic: bool = False) -> Value:
        kind = operand.kind
        if kind == "R":
            value = self.registers[operand.number] if operand.number != ZERO_REGISTER else 0
        elif kind == "UR":
            value = self.uniform[operand.number] if operand.number != ZERO_REGISTER else 0
        elif kind == "imm":
            return operand.number
        elif kind == "const":
            value = self.constant(operand, 4)
        elif kind in ("P", "UP"):
            return self.predicate(operand)
        else:
            return None
        if operand.absolute and value is not None:
            value = where(is_set(value & SIGN), -value & M, value)
        if operand.negated and value is not None:
            return ~value & M if logic else -value & M
        return value

    def get64(self, operand: Operand) -> Value:
        """A pair of registers with its sign, so that it fits where lanes differ; or a 32-bit immediate with its own."""
        if operand.kind == "imm":
            return signed(operand.number)
        if operand.number == ZERO_REGISTER and operand.kind in ("R", "UR"):
            return 0
        if operand.kind == "const":
            value = self.constant(operand, 8)
            return None if value is None else (value & M) | signed(value >> 32) << 32
        kept = self.registers if operand.kind == "R" else self.uniform
        low, high = kept[operand.number], kept[operand.number + 1]
        return None if low is None or high is None else low | signed(high) << 32

    def constant(self, operand: Operand, size: int) -> Value:
        bank = self.constants.get(operand.bank)
        if bank is None:
            return None
        at: Value = operand.number
        for kind, number, _ in operand.terms:
            more = self.registers[number] if kind == "R" else self.uniform[number]
            if more is None or isinstance(more, np.ndarray):
                return None
            at = int(at) + more
        at = int(at) if isinstance(at, int) else 0
        return int.from_bytes(bank[at : at + size], "little")

    def predicate(self, operand: Operand) -> Value:
        kept = self.predicates if operand.kind == "P" else self.uniform_predicates
        value = kept[operand.number]
        if operand.negated and value is not None:
            return ~value if isinstance(value, np.ndarray) else not value
        return value

    def put(self, operand: Operand, value: Value, guard: np.ndarray | None) -> None:
        number = operand.number
        if operand.kind == "R":
            if number == ZERO_REGISTER:
                return
            kept, value = self.registers, masked(value)
        elif operand.kind == "UR":
            if number == ZERO_REGISTER:
                return
            kept, value = self.uniform, masked(one(value))
        else:
            if number == TRUE:
                return
            kept = self.predicates if operand.kind == "P" else self.uniform_predicates
        if guard is not None and operand.kind in ("R", "P"):
            old = kept[number]
            # lanes of which nothing is known are taken to have what the others get
            value = value if old is None or value is None else of_lanes(guard, value, old)
        kept[number] = value

    def put64(self, operand: Operand, value: Value, guard: np.ndarray | None) -> None:
        low, high = (None, None) if value is None else (value & M, value >> 32 & M)
        self.put(operand, low, guard)
        if operand.number != ZERO_REGISTER:
            self.put(Operand(operand.kind, operand.number + 1), high, guard)

    def address(self, operand: Operand) -> Value:
        total: Value = operand.number
        for kind, number, pair in operand.terms:
            kept = self.registers if kind == "R" else self.uniform
            if number == ZERO_REGISTER:
                continue
            value = kept[number]
            if pair:
                high = kept[number + 1]
                value = None if value is None or high is None else value | high << 32
            if value is None or total is None:
                return None
            total = total + value
        return total

    def special(self, name: str) -> Value:
        place, (x, y, _) = self.place, self.place.block_size
        threads = place.warp * WARP + LANES
        axis = "XYZ".find(name[-1])
        if name.startswith("SR_TID"):
            return uniform((threads % x, threads // x % y, threads // (x * y))[axis])
        if name.startswith("SR_CTAID"):
            return place.block[axis]
        if name.startswith("SR_NTID"):
            return place.block_size[axis]
        if name.startswith("SR_NCTAID"):
            return place.grid[axis]
        if name == "SR_LANEID":
            return LANES
        if name in ("SR_CgaCtaId", "SRZ"):
            return 0
        return None
