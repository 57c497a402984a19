"""Exchanges inside a warp: shfl, vote, match, redux, activemask, elect (PTX ISA 9.7.9.6 and 9.7.13)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ptx import Instruction, Pair
from .registry import DTYPES, UnsupportedInstruction, machine


def _lane(m) -> np.ndarray:
    return (m.thread_of[m.active()] % 32).astype(np.int64)


@machine("shfl", convergent=True)
def shfl(d, ins: Instruction) -> Callable:
    """shfl.sync.{up,down,bfly,idx}.b32  d|p, a, b, c, mask (PTX ISA 9.7.9.6: how c clamps and segments)."""
    mode = next(m for m in ins.opcode.modifiers if m in ("up", "down", "bfly", "idx"))
    to = ins.operands[0]
    value = d.target(to.first if isinstance(to, Pair) else to)
    flag = d.target(to.second) if isinstance(to, Pair) else None
    reads = [d.source(o, "b32") for o in ins.operands[1:4]]

    def step(m) -> None:
        a, b, c = (m.spread(read(m)) for read in reads)
        lane = _lane(m)
        segment = (c.astype(np.int64) >> 8) & 31
        clamp = c.astype(np.int64) & 31
        b = b.astype(np.int64) & 31
        low, high = lane & segment, (lane & segment) | (clamp & ~segment)
        source = {
            "up": lambda: lane - b,
            "down": lambda: lane + b,
            "bfly": lambda: lane ^ b,
            "idx": lambda: low | (b & ~segment),
        }[mode]()
        inside = source >= high if mode == "up" else source <= high
        source = np.where(inside, source, lane)
        value(m, _from_lane(m, a, source))
        if flag:
            flag(m, inside)

    return step


def _from_lane(m, values: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Each active lane's value of another lane of its warp; a lane that is not active gives its own back."""
    active = m.active()
    table = np.zeros(m.lanes, values.dtype)
    table[active] = values
    wanted = active - m.thread_of[active] % 32 + source
    wanted = np.where((wanted < m.lanes) & (source < 32), wanted, active)
    same = m.warp_of[np.minimum(wanted, m.lanes - 1)] == m.warp_of[active]
    return table[np.where(same, wanted, active)]


def _ballots(m, bits: np.ndarray) -> np.ndarray:
    """For each active lane the 32 bits of its warp's active lanes."""
    active = m.active()
    warps = m.warp_of[active]
    words = np.zeros(int(m.warp_of[-1]) + 1, np.uint64)
    np.add.at(words, warps, bits.astype(np.uint64) << (m.thread_of[active] % 32).astype(np.uint64))
    return words[warps].astype(np.uint32)


@machine("vote", convergent=True)
def vote(d, ins: Instruction) -> Callable:
    """vote.sync.{all,any,uni}.pred and .ballot.b32 (PTX ISA 9.7.13.9)."""
    mode = next(m for m in ins.opcode.modifiers if m in ("all", "any", "uni", "ballot"))
    write, read = d.target(ins.operands[0]), d.source(ins.operands[1], "pred")

    def step(m) -> None:
        p = m.spread(read(m))
        yes = _ballots(m, p)
        everyone = _ballots(m, np.ones(len(p), bool))
        write(
            m,
            {"ballot": yes, "all": yes == everyone, "any": yes != 0, "uni": (yes == everyone) | (yes == 0)}[
                mode
            ],
        )

    return step


@machine("activemask")
def activemask(d, ins: Instruction) -> Callable:
    """activemask.b32: the lanes of the warp that run together with this one."""
    write = d.target(ins.operands[0])
    return lambda m: write(m, _ballots(m, np.ones(m.count(), bool)))


@machine("match", convergent=True)
def match(d, ins: Instruction) -> Callable:
    """match.{any,all}.sync: which lanes of the warp hold the same value (PTX ISA 9.7.13.10)."""
    kind = ins.opcode.types[-1]
    to = ins.operands[0]
    write = d.target(to.first if isinstance(to, Pair) else to)
    flag = d.target(to.second) if isinstance(to, Pair) else None
    read = d.source(ins.operands[1], kind)

    def step(m) -> None:
        values = m.spread(read(m)).astype(np.uint64)
        _, groups = np.unique(
            np.stack([m.warp_of[m.active()].astype(np.uint64), values]), axis=1, return_inverse=True
        )
        words = np.zeros(int(groups.max()) + 1, np.uint64)
        np.add.at(words, groups, np.uint64(1) << (m.thread_of[m.active()] % 32).astype(np.uint64))
        same = words[groups].astype(np.uint32)
        if ins.opcode.has("all"):
            equal = same == _ballots(m, np.ones(len(values), bool))
            same = np.where(equal, same, np.uint32(0))
            if flag:
                flag(m, equal)
        write(m, same)

    return step


@machine("redux", convergent=True)
def redux(d, ins: Instruction) -> Callable:
    """redux.sync.{add,min,max,and,or,xor}: a reduction over the warp's lanes (PTX ISA 9.7.13.11)."""
    operations = {
        "add": (np.add, 0),
        "min": (np.minimum, None),
        "max": (np.maximum, None),
        "and": (np.bitwise_and, None),
        "or": (np.bitwise_or, 0),
        "xor": (np.bitwise_xor, 0),
    }
    kind = ins.opcode.types[-1]
    if kind == "f32":
        raise UnsupportedInstruction("redux on float32 needs a newer GPU than sm_90")
    operation = operations[next(m for m in ins.opcode.modifiers if m in operations)][0]
    write, read = d.target(ins.operands[0]), d.source(ins.operands[1], kind)

    def step(m) -> None:
        values = np.ascontiguousarray(m.spread(read(m)))
        warps = m.warp_of[m.active()]
        starts = np.flatnonzero(np.diff(warps, prepend=-1))
        totals = operation.reduceat(values, starts).astype(DTYPES[kind])
        write(m, np.repeat(totals, np.diff(np.append(starts, len(warps)))))

    return step
