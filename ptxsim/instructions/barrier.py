"""Barriers of a block and of a warp: bar, barrier, bar.warp.sync (PTX ISA, "Parallel Synchronization")."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from ..gpus import WARP
from ..ground.memory import Fault
from ..lanes import Lanes
from ..observe import events
from ..ptx.opcode import UnsupportedInstruction
from ..ptx.program import Instruction
from ..units.barriers import ALL, Barrier, Synchronising
from ..units.mbarriers import Hopper
from .registry import Operands, control

BARRIERS = 16  # of a block


@control("bar")
def bar(decoder: Operands, ins: Instruction) -> Callable:
    """bar.sync a{, b} · bar.arrive a, b · bar.red.{popc,and,or} d, a{, b}, p."""
    opcode = ins.opcode
    if opcode.has("red"):
        return _reduction(decoder, ins)
    if not opcode.has("sync") and not opcode.has("arrive"):
        raise UnsupportedInstruction("only bar.sync, bar.arrive and bar.red are simulated")
    waits = opcode.has("sync")
    ident = decoder.source(ins.operands[0], "u32")
    count = decoder.source(ins.operands[1], "u32") if len(ins.operands) > 1 else None
    pc = decoder.pc
    resume = resume_at(pc + 1)

    def end(machine: Synchronising) -> None:
        everyone = machine.idx
        for lanes, number, needed in _groups(machine, ident, count):
            machine.idx = lanes
            machine.arrive(_known(number, needed), pc, needed, resume if waits else None)
        if not waits:
            machine.turns.add(pc + 1, everyone)

    return guarded(decoder, ins, end)


@control("barrier")
def barrier(decoder: Operands, ins: Instruction) -> Callable:
    """barrier.{sync,arrive,red}{.aligned}: the same as bar, where lanes of a warp need not come together.
    barrier.cluster: for all threads of a cluster."""
    return _of_cluster(decoder, ins) if ins.opcode.has("cluster") else bar(decoder, ins)


def _of_cluster(decoder: Operands, ins: Instruction) -> Callable:
    """barrier.cluster.arrive{.release,.relaxed} · barrier.cluster.wait."""
    pc = decoder.pc
    arrives, releases = ins.opcode.has("arrive"), not ins.opcode.has("relaxed")
    resume = resume_at(pc + 1)

    def end(machine: Hopper) -> None:
        lanes, active = machine.active(), machine.idx
        if arrives:
            machine.clusters.barrier.arrive(lanes, releases)
            machine.turns.add(pc + 1, active)
        else:
            machine.recorder.event(pc, events.ClusterWait())
            machine.clusters.barrier.wait(pc, lanes, resume)

    return guarded(decoder, ins, end)


def _groups(
    machine: Lanes, ident: Callable, count: Callable | None
) -> Iterator[tuple[np.ndarray | None, int, int]]:
    """The active lanes by the barrier that they name: (lanes, barrier, threads that complete it)."""
    number, needed = ident(machine), count(machine) if count else np.array([ALL])
    if len(number) == 1 and len(needed) == 1:
        yield machine.idx, int(number[0]), int(needed[0])
        return
    lanes = machine.active()
    number = machine.spread(number).astype(np.int64)
    needed = machine.spread(needed).astype(np.int64)
    for one, threads in np.unique(np.stack([number, needed]), axis=1).T.tolist():
        yield lanes[(number == one) & (needed == threads)], one, threads


def _known(ident: int, count: int) -> int:
    """The barrier's number; Fault for a barrier or a count that no GPU has."""
    if ident >= BARRIERS:
        text = f"there is no barrier {ident}; a block has barriers 0 to {BARRIERS - 1}"
        raise Fault("unsupported-instruction", text, 0)
    if count != ALL and (count % WARP or not count):
        text = f"barrier {ident} shall wait for {count} threads; barriers count whole warps: a multiple of {WARP}"
        raise Fault("barrier-count", text, 0, "part-of-warps")
    return ident


def resume_at(pc: int) -> Callable[[Synchronising, np.ndarray | None], None]:
    """What lanes do that waited: they go on at `pc`."""
    return lambda machine, lanes: machine.turns.add(pc, lanes)


def guarded(decoder: Operands, ins: Instruction, end: Callable) -> Callable:
    """A guarded barrier: lanes whose guard is false pass it by."""
    if ins.guard is None:
        return end
    read = decoder.source(ins.guard, "pred")
    pc = decoder.pc

    def guarded(machine: Synchronising) -> None:
        p, lanes = machine.spread(read(machine)), machine.active()
        if not p.all():
            if p.any() and machine.launch.code.is_barrier(pc):
                machine.sync_check.guard(pc, lanes, p)
            machine.turns.add(pc + 1, lanes[~p] if p.any() else machine.idx)
        if p.any():
            machine.idx = lanes[p] if not p.all() else machine.idx
            end(machine)

    return guarded


def _reduction(decoder: Operands, ins: Instruction) -> Callable:
    """__syncthreads_count, _and, _or: a barrier that counts a predicate over the block."""
    target = decoder.target(ins.operands[0])
    ident = decoder.source(ins.operands[1], "u32")
    count = decoder.source(ins.operands[2], "u32") if len(ins.operands) > 3 else None
    predicate = decoder.source(ins.operands[-1], "pred")
    kind = next(k for k in ("popc", "and", "or") if ins.opcode.has(k))
    pc = decoder.pc

    def answer(barrier: Barrier, machine: Synchronising, lanes: np.ndarray | None) -> None:
        blocks = machine.block_of[machine.all_lanes(lanes)]
        yes, voters = barrier.yes[blocks], barrier.voters[blocks]
        machine.idx = lanes
        target(machine, {"popc": yes.astype(np.uint32), "and": yes == voters, "or": yes > 0}[kind])
        machine.turns.add(pc + 1, lanes)

    def end(machine: Synchronising) -> None:
        everyone, votes = machine.active(), predicate(machine)
        for lanes, number, needed in _groups(machine, ident, count):
            barrier = machine.barrier(_known(number, needed))
            barrier.votes[everyone] = votes
            machine.idx = lanes
            machine.arrive(number, pc, needed, partial(answer, barrier))

    return guarded(decoder, ins, end)


@control("bar.warp")
def warp_sync(decoder: Operands, ins: Instruction) -> Callable:
    """bar.warp.sync mask (`__syncwarp`): the named lanes of a warp meet, and see each other's earlier accesses."""
    read = decoder.source(ins.operands[0], "b32")
    pc = decoder.pc
    resume = resume_at(pc + 1)

    def end(machine: Hopper) -> None:
        machine.recorder.work(pc + 1)
        masks = read(machine)
        all_lanes = machine.idx is None and len(masks) == 1 and masks[0] == 0xFFFFFFFF
        if all_lanes and not machine.warp_barrier.waiting:
            machine.orders.meet(machine.every_lane, machine.warp_of)
            machine.turns.add(pc + 1, None)
        else:
            masks = machine.spread(masks).astype(np.uint32)
            machine.check_own_mask(pc, masks)
            machine.warp_barrier.arrive(pc, machine.active(), masks, resume)

    return guarded(decoder, ins, end)
