"""Barriers of a block and of a warp: bar, barrier, bar.warp.sync (PTX ISA 9.7.13.1-2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from weakref import WeakKeyDictionary

import numpy as np

from ..memory import Fault
from ..ptx import Instruction
from .registry import UnsupportedInstruction, control, machine

BARRIERS = 16  # of a block
WARP = 32


@control("bar")
def bar(d, ins: Instruction) -> Callable:
    """bar.sync a{, b} · bar.arrive a, b · bar.red.{popc,and,or} d, a{, b}, p."""
    opcode = ins.opcode
    if opcode.has("red"):
        return _reduction(d, ins)
    if not opcode.has("sync") and not opcode.has("arrive"):
        raise UnsupportedInstruction("only bar.sync, bar.arrive and bar.red are simulated")
    waits = opcode.has("sync")
    ident = d.source(ins.operands[0], "u32")
    count = d.source(ins.operands[1], "u32") if len(ins.operands) > 1 else None
    pc = d.pc
    resume = _resume(pc + 1)

    def end(m) -> None:
        everyone = m.idx
        for lanes, number, needed in _groups(m, ident, count):
            m.idx = lanes
            m.arrive(_known(number, needed), pc, needed, resume if waits else None)
        if not waits:
            m.jump(pc + 1, everyone)

    return _guarded(d, ins, end)


@control("barrier")
def barrier(d, ins: Instruction) -> Callable:
    """barrier.{sync,arrive,red}{.aligned}: the same as bar here."""
    return bar(d, ins)


def _groups(
    m, ident: Callable, count: Callable | None
) -> Iterator[tuple[np.ndarray | None, int, int | None]]:
    """The active lanes by the barrier that they name: (lanes, barrier, threads that complete it)."""
    number, needed = ident(m), count(m) if count else None
    if len(number) == 1 and (needed is None or len(needed) == 1):
        yield m.idx, int(number[0]), None if needed is None else int(needed[0])
        return
    lanes, number = m.active(), m.spread(number)
    needed = np.zeros_like(number) if needed is None else m.spread(needed)
    for one, threads in np.unique(np.stack([number, needed]), axis=1).T.tolist():
        yield lanes[(number == one) & (needed == threads)], one, threads if count else None


def _known(ident: int, count: int | None) -> int:
    """The barrier's number; Fault for a barrier or a count that no GPU has."""
    if ident >= BARRIERS:
        raise Fault(
            "unsupported-instruction",
            f"there is no barrier {ident}; a block has barriers 0 to {BARRIERS - 1}",
            0,
        )
    if count is not None and (count % WARP or not count):
        raise Fault(
            "unsupported-instruction",
            f"barrier {ident} shall wait for {count} threads; barriers count whole warps: a multiple of {WARP}",
            0,
        )
    return ident


def _resume(pc: int) -> Callable:
    return lambda m, lanes: m.jump(pc, lanes)


def _guarded(d, ins: Instruction, end: Callable) -> Callable:
    """A guarded barrier: lanes whose guard is false pass it by."""
    if ins.guard is None:
        return end
    read = d.source(ins.guard, "pred")
    pc = d.pc

    def guarded(m) -> None:
        p, lanes = m.spread(read(m)), m.active()
        if not p.all():
            m.jump(pc + 1, lanes[~p] if p.any() else m.idx)
        if p.any():
            m.idx = lanes[p] if not p.all() else m.idx
            end(m)

    return guarded


def _reduction(d, ins: Instruction) -> Callable:
    """__syncthreads_count, _and, _or: a barrier that counts a predicate over the block."""
    target = d.target(ins.operands[0])
    ident = d.source(ins.operands[1], "u32")
    count = d.source(ins.operands[2], "u32") if len(ins.operands) > 3 else None
    predicate = d.source(ins.operands[-1], "pred")
    kind = next(k for k in ("popc", "and", "or") if ins.opcode.has(k))
    pc = d.pc
    votes: WeakKeyDictionary = WeakKeyDictionary()  # per machine: each lane's predicate

    def resume(m, lanes: np.ndarray | None) -> None:
        mine = votes[m]
        chosen = m.all_lanes(lanes)
        blocks = m.block_of[chosen]
        ones = np.bincount(blocks, weights=mine[chosen], minlength=len(m.blocks)).astype(np.uint32)
        totals = np.bincount(blocks, minlength=len(m.blocks))
        result = {"popc": ones, "and": ones == totals, "or": ones > 0}[kind]
        m.idx = lanes
        target(m, result[blocks])
        m.jump(pc + 1, lanes)

    def end(m) -> None:
        votes.setdefault(m, np.zeros(m.lanes, bool))[m.active()] = predicate(m)
        needed = int(count(m)[0]) if count else None
        m.arrive(_known(int(ident(m)[0]), needed), pc, needed, resume)

    return end


@machine("bar.warp", convergent=True)
def warp_sync(d, ins: Instruction) -> Callable:
    """__syncwarp: the named lanes of a warp have met, and see each other's earlier accesses."""

    def step(m) -> None:
        m.shadow.on_warp_sync(np.unique(m.warp_of[m.active()]))

    return step
