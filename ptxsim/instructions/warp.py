"""Exchanges inside a warp: shfl, vote, match, redux, activemask, elect (PTX ISA, "shfl.sync", "vote.sync",
"match.sync", "redux.sync", "activemask", "elect.sync").

All but activemask have a mask of the lanes that take part. Lanes of a warp that give different masks are different
groups, which have nothing to do with each other.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..gpus import WARP
from ..ptx.opcode import DTYPES, UnsupportedInstruction
from ..ptx.program import Instruction, Pair
from ..races.hazards import Reporting
from .registry import Operands, on_machine

FULL = 0xFFFFFFFF


class Groups(NamedTuple):
    """The active lanes by warp and mask: the group of each lane, the lane number in its warp, its mask, and the
    number of groups."""

    of: np.ndarray
    lane: np.ndarray
    mask: np.ndarray
    size: int

    def words(self, bits: np.ndarray) -> np.ndarray:
        """For each lane the 32 bits of its group, one for each lane for which `bits` is true."""
        words = np.zeros(self.size, np.uint32)
        np.bitwise_or.at(words, self.of[bits], np.uint32(1) << self.lane[bits].astype(np.uint32))
        return words[self.of]


def _groups(machine: Reporting, masks: np.ndarray, pc: int) -> Groups:
    lanes = machine.active()
    lane = machine.thread_of[lanes] % WARP
    if len(masks) == 1 and masks[0] == FULL:
        warps = machine.warp_of[lanes]
        of = np.cumsum(np.diff(warps, prepend=warps[0]) != 0)
        return Groups(of, lane, np.broadcast_to(masks, len(lanes)), int(of[-1]) + 1)
    masks = machine.spread(masks).astype(np.uint32)
    machine.check_own_mask(pc, masks)
    keys = machine.warp_of[lanes].astype(np.int64) << 32 | masks.astype(np.int64)
    _, of = np.unique(keys, return_inverse=True)
    return Groups(of, lane, masks, int(of.max()) + 1)


@on_machine("shfl")
def shfl(decoder: Operands, ins: Instruction) -> Callable:
    """shfl.sync.{up,down,bfly,idx}.b32  d|p, a, b, c, mask; c says how lanes are clamped and cut into segments."""
    mode = next((m for m in ins.opcode.modifiers if m in ("up", "down", "bfly", "idx")), None)
    if mode is None or len(ins.operands) != 5:
        raise UnsupportedInstruction("only shfl.sync.{up,down,bfly,idx} d, a, b, c, mask is simulated")
    to = ins.operands[0]
    value = decoder.target(to.first if isinstance(to, Pair) else to)
    flag = decoder.target(to.second) if isinstance(to, Pair) else None
    reads = [decoder.source(o, "b32") for o in ins.operands[1:]]
    pc = decoder.pc

    def step(machine: Reporting) -> None:
        a, b, c = (machine.spread(read(machine)) for read in reads[:3])
        groups = _groups(machine, reads[3](machine), pc)
        lane, b, c = groups.lane, b.astype(np.int64) & 31, c.astype(np.int64)
        segment, clamp = (c >> 8) & 31, c & 31
        low, high = lane & segment, (lane & segment) | (clamp & ~segment)
        source = {"up": lane - b, "down": lane + b, "bfly": lane ^ b, "idx": low | (b & ~segment)}[mode]
        inside = source >= high if mode == "up" else source <= high
        value(machine, _from_lane(machine, pc, mode, groups, a, np.where(inside, source, lane)))
        if flag:
            flag(machine, inside)

    return step


def _from_lane(
    machine: Reporting, pc: int, mode: str, groups: Groups, values: np.ndarray, source: np.ndarray
) -> np.ndarray:
    """Each lane's value of another lane of its group; all ones (NaN) of a lane that is not there. That is reported,
    but for steps up or down out of the mask, if some lane's step stays in it: a reduction makes them in lanes whose
    results nobody uses."""
    active = machine.active()
    place = np.full((groups.size, WARP), -1)
    place[groups.of, groups.lane] = np.arange(len(active))
    found = place[groups.of, source]
    result = np.where(found < 0, np.uint32(FULL), values[found])
    absent = found < 0
    if mode in ("up", "down"):
        some_stay = np.bincount(groups.of[found >= 0], minlength=groups.size) > 0
        absent &= (groups.mask >> source.astype(np.uint32) & 1).astype(bool) | ~some_stay[groups.of]
    absent = np.flatnonzero(absent)
    if len(absent):
        at = int(absent[0])
        block = machine.launch.threads
        wanted = int(machine.thread_of[active[at]]) - int(groups.lane[at]) + int(source[at])
        why = f"which does not exist: the block has {block} threads" if wanted >= block else (
            "which is not in its mask" if not int(groups.mask[at]) >> int(source[at]) & 1 else "which has exited"
        )  # fmt: skip
        machine.log.add(
            "warp-mask",
            machine.launch.code.instructions[pc],
            f"{machine.describe_thread(int(active[at]))} takes the value of lane {int(source[at])} of its warp, "
            f"{why}. What it gets is undefined",
            len(absent),
            "absent-lane",
        )
    return result


@on_machine("vote")
def vote(decoder: Operands, ins: Instruction) -> Callable:
    """vote.sync.{all,any,uni}.pred d, a, mask and .ballot.b32 d, a, mask."""
    mode = next(m for m in ins.opcode.modifiers if m in ("all", "any", "uni", "ballot"))
    write, read, masks = (
        decoder.target(ins.operands[0]),
        decoder.source(ins.operands[1], "pred"),
        decoder.source(ins.operands[2], "b32"),
    )
    pc = decoder.pc

    def step(machine: Reporting) -> None:
        p = machine.spread(read(machine))
        groups = _groups(machine, masks(machine), pc)
        yes, no = groups.words(p), groups.words(~p)
        results = {"ballot": yes, "all": no == 0, "any": yes != 0, "uni": (yes == 0) | (no == 0)}
        write(machine, results[mode])

    return step


@on_machine("activemask")
def activemask(decoder: Operands, ins: Instruction) -> Callable:
    """activemask.b32: the lanes of the warp that run together with this one."""
    write, pc = decoder.target(ins.operands[0]), decoder.pc

    def step(machine: Reporting) -> None:
        groups = _groups(machine, np.array([FULL], np.uint32), pc)
        masks = groups.words(np.ones(machine.count(), bool))
        if pc in machine.launch.code.masks_by_chance:
            _say_that_it_is_chance(machine, pc, masks)
        write(machine, masks)

    return step


def _say_that_it_is_chance(machine: Reporting, pc: int, masks: np.ndarray) -> None:
    """Where some lanes of a warp are elsewhere, those here may run apart as well."""
    alone = masks != machine.alive_bits()[machine.warp_of[machine.active()]]
    if alone.any():
        code = machine.launch.code
        machine.log.note(
            f"{code.where(pc)}: the mask at {code.where(code.masks_by_chance[pc])} comes from __activemask(), which "
            "says which lanes happen to run together. In a branch they need not: a GPU may run them in parts. If the "
            "result depends on who is in the mask, make it with __ballot_sync() before the branch"
        )


@on_machine("match")
def match(decoder: Operands, ins: Instruction) -> Callable:
    """match.{any,all}.sync d{|p}, a, mask: which lanes of the mask hold the same value."""
    kind = ins.opcode.types[-1]
    to = ins.operands[0]
    write = decoder.target(to.first if isinstance(to, Pair) else to)
    flag = decoder.target(to.second) if isinstance(to, Pair) else None
    read, masks = decoder.source(ins.operands[1], kind), decoder.source(ins.operands[2], "b32")
    pc = decoder.pc

    def step(machine: Reporting) -> None:
        values = machine.spread(read(machine)).astype(np.uint64)
        groups = _groups(machine, masks(machine), pc)
        pairs = np.stack([groups.of.astype(np.uint64), values])
        _, equal = np.unique(pairs, axis=1, return_inverse=True)
        same = groups._replace(of=equal, size=int(equal.max()) + 1).words(np.ones(len(values), bool))
        if ins.opcode.has("all"):
            all_equal = same == groups.words(np.ones(len(values), bool))
            same = np.where(all_equal, same, np.uint32(0))
            if flag:
                flag(machine, all_equal)
        write(machine, same)

    return step


@on_machine("redux")
def redux(decoder: Operands, ins: Instruction) -> Callable:
    """redux.sync.{add,min,max,and,or,xor} d, a, mask: a reduction over the lanes of the mask."""
    operations = {
        "add": np.add,
        "min": np.minimum,
        "max": np.maximum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }
    kind = ins.opcode.types[-1]
    if kind == "f32":
        raise UnsupportedInstruction("redux on float32 needs a newer GPU than sm_90")
    operation = operations[next(m for m in ins.opcode.modifiers if m in operations)]
    write, read, masks = (
        decoder.target(ins.operands[0]),
        decoder.source(ins.operands[1], kind),
        decoder.source(ins.operands[2], "b32"),
    )
    pc = decoder.pc

    def step(machine: Reporting) -> None:
        values = machine.spread(read(machine))
        groups = _groups(machine, masks(machine), pc)
        order = np.argsort(groups.of, kind="stable")
        starts = np.flatnonzero(np.diff(groups.of[order], prepend=-1))
        totals = operation.reduceat(np.ascontiguousarray(values[order]), starts).astype(DTYPES[kind])
        write(machine, totals[groups.of])

    return step


@on_machine("elect")
def elect(decoder: Operands, ins: Instruction) -> Callable:
    """elect.sync d|p, mask: one lane of the mask, here the lowest, gets true."""
    to = ins.operands[0]
    number, chosen = decoder.target(to.first), decoder.target(to.second)
    masks = decoder.source(ins.operands[1], "b32")
    pc = decoder.pc

    def step(machine: Reporting) -> None:
        groups = _groups(machine, masks(machine), pc)
        here = groups.words(np.ones(machine.count(), bool)).astype(np.int64)
        lowest = np.log2(here & -here).astype(np.uint32)
        number(machine, lowest)
        chosen(machine, groups.lane == lowest)

    return step
