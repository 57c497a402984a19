"""Barriers of a block and of a warp: bar, barrier, bar.warp.sync (PTX ISA, "Parallel Synchronization")."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..gpus import WARP
from ..memory import Fault
from ..observe import events
from ..ptx.opcode import UnsupportedInstruction
from ..ptx.program import Instruction
from ..units.barriers import ALL
from .registry import control, whole_warp

BARRIERS = 16  # of a block


def _aligned(d, ins: Instruction) -> Callable | None:
    """All threads of a warp come to an aligned barrier together."""
    return whole_warp(d, ins) if ins.opcode.root == "bar" or ins.opcode.has("aligned") else None


@control("bar", gathers=_aligned)
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


@control("barrier", gathers=_aligned)
def barrier(d, ins: Instruction) -> Callable:
    """barrier.{sync,arrive,red}{.aligned}: the same as bar, where lanes of a warp need not come together.
    barrier.cluster: for all threads of a cluster."""
    return _of_cluster(d, ins) if ins.opcode.has("cluster") else bar(d, ins)


def _of_cluster(d, ins: Instruction) -> Callable:
    """barrier.cluster.arrive{.release,.relaxed} · barrier.cluster.wait."""
    pc = d.pc
    arrives, releases = ins.opcode.has("arrive"), not ins.opcode.has("relaxed")
    resume = _resume(pc + 1)

    def end(m) -> None:
        lanes, active = m.active(), m.idx
        if arrives:
            m.clusters.barrier.arrive(lanes, releases)
            m.jump(pc + 1, active)
        else:
            m.recorder.event(pc, events.ClusterWait())
            m.clusters.barrier.wait(pc, lanes, resume)

    return _guarded(d, ins, end)


def _groups(m, ident: Callable, count: Callable | None) -> Iterator[tuple[np.ndarray | None, int, int]]:
    """The active lanes by the barrier that they name: (lanes, barrier, threads that complete it)."""
    number, needed = ident(m), count(m) if count else np.array([ALL])
    if len(number) == 1 and len(needed) == 1:
        yield m.idx, int(number[0]), int(needed[0])
        return
    lanes, number, needed = m.active(), m.spread(number).astype(np.int64), m.spread(needed).astype(np.int64)
    for one, threads in np.unique(np.stack([number, needed]), axis=1).T.tolist():
        yield lanes[(number == one) & (needed == threads)], one, threads


def _known(ident: int, count: int) -> int:
    """The barrier's number; Fault for a barrier or a count that no GPU has."""
    if ident >= BARRIERS:
        raise Fault(
            "unsupported-instruction",
            f"there is no barrier {ident}; a block has barriers 0 to {BARRIERS - 1}",
            0,
        )
    if count != ALL and (count % WARP or not count):
        raise Fault(
            "barrier-count",
            f"barrier {ident} shall wait for {count} threads; barriers count whole warps: a multiple of {WARP}",
            0,
            "part-of-warps",
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
            if p.any() and m.launch.code.is_barrier(pc):
                m.sync_check.guard(pc, lanes, p)
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

    def end(m) -> None:
        number, needed = int(ident(m)[0]), int(count(m)[0]) if count else ALL
        barrier = m.barrier(_known(number, needed))

        def resume(m, lanes: np.ndarray | None) -> None:
            blocks = m.block_of[m.all_lanes(lanes)]
            yes, voters = barrier.yes[blocks], barrier.voters[blocks]
            m.idx = lanes
            target(m, {"popc": yes.astype(np.uint32), "and": yes == voters, "or": yes > 0}[kind])
            m.jump(pc + 1, lanes)

        barrier.votes[m.active()] = predicate(m)
        m.arrive(number, pc, needed, resume)

    return _guarded(d, ins, end)


@control("bar.warp")
def warp_sync(d, ins: Instruction) -> Callable:
    """bar.warp.sync mask (`__syncwarp`): the named lanes of a warp meet, and see each other's earlier accesses."""
    read = d.source(ins.operands[0], "b32")
    pc = d.pc
    resume = _resume(pc + 1)

    def end(m) -> None:
        m.recorder.work(pc + 1)
        masks = read(m)
        if m.idx is None and len(masks) == 1 and masks[0] == 0xFFFFFFFF and not m.warp_barrier.waiting:
            m.orders.meet(m.every_lane, m.warp_of)
            m.jump(pc + 1, None)
        else:
            masks = m.spread(masks).astype(np.uint32)
            m.check_own_mask(pc, masks)
            m.warp_barrier.arrive(pc, m.active(), masks, resume)

    return _guarded(d, ins, end)
