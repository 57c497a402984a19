"""Nobody can go on: who waits for what, who looks at what again and again, and what is lacking, in words."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from ..gpus import Room
from ..ground.memory import LOCAL_WINDOW, SHARED_WINDOW, Buffer, Fault
from ..instructions.memory import address_reader
from ..lanes import Launched
from ..ptx.opcode import DTYPES
from ..ptx.program import Address, Instruction
from ..ptx.rounds import NO_ROUNDS, QUESTIONS, Rounds
from ..units.barriers import Barrier, Gathering, Waiting
from ..units.mbarriers import Mbarrier, cause_of_deadlock
from ..units.tensor_memory import Blackwell
from .decode import Code, Decoder

MOST = 4
"""Of each kind: so many are named."""


class Running(Launched, Protocol):
    """A launch whose code can decode operands."""

    workspace: Buffer | None
    """Of a cooperative launch: where its blocks meet."""
    room: Room | None
    """Where blocks may wait for each other, and the GPU does not hold all at once."""

    @property
    def code(self) -> Code: ...


class Stuck(Blackwell, Protocol):
    """What it takes to say who waits for what."""

    @property
    def launch(self) -> Running: ...

    barriers: dict[int, Barrier]
    mbarriers: dict[int, Mbarrier]
    gatherings: dict[int, Gathering]

    def rendezvous(self) -> list:
        """All at which lanes may wait."""

    def blocks_to_come(self) -> int:
        """Of the grid, which begin when some of these have ended."""


Group = tuple[int, np.ndarray]
"""Where lanes are, by pc, and which."""


def deadlock(
    machine: Stuck, going_round: Sequence[Group] = (), rounds: Rounds = NO_ROUNDS
) -> tuple[Fault, int]:
    """The finding, and the instruction that it is about. `going_round`: lanes that run, and go `rounds` for ever."""
    code = machine.launch.code
    looks = {pc: lanes for pc, lanes in _looks(machine, going_round, rounds)}
    waiting = [entry for rendezvous in machine.rendezvous() for entry in rendezvous.waiting]
    lacks = [mbarrier.lacks() for mbarrier in machine.mbarriers.values() if mbarrier.waiting]
    asked = [_asked(machine, pc, lanes) for pc, lanes in looks.items() if _is_question(code, pc)]
    lacks = [*lacks, *(barrier.lacks(block) for barrier, block in dict.fromkeys(asked))][:MOST]
    does = [
        *(_waits(machine, entry) for entry in waiting),
        *(_looks_at(machine, *each) for each in looks.items()),
    ]
    text = "no thread can go on: " + "; ".join(does[:MOST])
    text += ". They wait for threads that never come" if waiting else ""
    more = [lack.text for lack in lacks]
    more += [words for barrier in machine.barriers.values() if barrier.waiting for words in barrier.lacks()][
        :MOST
    ]
    text += "".join(f". {each[0].upper()}{each[1:]}" for each in more)
    if any(_is_grid_barrier(machine, pc, lanes) for pc, lanes in looks.items()):
        text += f". {_who_left_the_grid(machine)}"
    room, later = machine.launch.room, machine.blocks_to_come() if looks else 0
    if later and room:
        text += f". {not_begun(later, room)}"
    elif later:
        text += f". {later} blocks of the grid begin only when these have ended"
    at = waiting[0].pc if waiting else next(iter(looks), 0)
    polls = "blocks-not-begun" if later and room else "nobody-writes"
    cause = cause_of_deadlock(lacks) or (polls if looks else "")
    if machine.registers.waiting:
        cause, text = "too-few-registers", f"{text}. {machine.registers.lack()}"
    elif machine.tensor.waiting:
        cause, text = "no-columns-left", f"{text}. {machine.tensor.lack()}"
    elif parted := _parted(machine):
        cause, at, text = "part-of-warpgroup", parted[0].pc, f"{text}. {_who_is_absent(machine, parted[0])}"
    return Fault("deadlock", text, cause=cause), at


def not_begun(blocks: int, room: Room) -> str:
    """Of so many blocks that wait for others to end."""
    return (
        f"{blocks:,} of the grid's blocks have not begun, for {room}. A block that waits for one of these waits for "
        f"ever: give the launch at most {room.blocks:,} blocks, or let a block wait only for those of lower numbers"
    )


def endless(machine: Stuck, group: Group) -> Fault:
    """The finding of lanes in a loop that looks at nothing."""
    pc, lanes = group
    loop, one = machine.launch.code.where(pc), len(lanes) == 1
    return Fault(
        "step-limit",
        f"{_threads(machine, lanes)} {'goes' if one else 'go'} round in the loop at {loop} for ever: nothing that it "
        "tests changes in a turn, and it reads nothing that another thread could change. (A plain variable is read "
        "once, before the loop: one that others write is volatile, or is read by an atomic)",
    )


def _looks(machine: Stuck, groups: Sequence[Group], rounds: Rounds) -> Iterator[Group]:
    """The instructions that look at memory, and the lanes that come to each."""
    flow = machine.launch.code.flow
    found: dict[int, list[np.ndarray]] = {}
    for pc, lanes in groups:
        for look in rounds.looks_from(flow, flow.block_of(pc)):
            found.setdefault(look, []).append(lanes)
    return ((pc, np.sort(np.concatenate(lanes))) for pc, lanes in sorted(found.items()))


def _is_question(code: Code, pc: int) -> bool:
    return code.instructions[pc].opcode.text.startswith(QUESTIONS)


def _asked(machine: Stuck, pc: int, lanes: np.ndarray) -> tuple[Mbarrier, int]:
    """The mbarrier that the first of these lanes asks, and its block."""
    offset = int(_addresses(machine, pc, lanes, wide=False)[0]) % SHARED_WINDOW
    return machine.mbarrier(offset), int(machine.block_of[lanes[0]])


def _waits(machine: Stuck, entry: Waiting) -> str:
    return f"{_threads(machine, entry.lanes)} at {_at(machine, entry.pc)}"


def _looks_at(machine: Stuck, pc: int, lanes: np.ndarray) -> str:
    code = machine.launch.code
    threads, one = _threads(machine, lanes), "s" * (len(lanes) == 1)
    if _is_question(code, pc):
        barrier, block = _asked(machine, pc, lanes)
        return f"{threads} ask{one} again and again, at {_at(machine, pc)}, for the end of phase {barrier.phase[block]}"
    if _is_grid_barrier(machine, pc, lanes):
        return f"{threads} wait{one} at {code.where(pc)} for the other blocks of the grid"
    return f"{threads} look{one} again and again, at {code.where(pc)}, at {_place(machine, pc, lanes)}"


def _is_grid_barrier(machine: Stuck, pc: int, lanes: np.ndarray) -> bool:
    """Whether the first of these lanes looks at where the blocks of a cooperative launch meet."""
    workspace = machine.launch.workspace
    if workspace is None or _is_question(machine.launch.code, pc):
        return False
    address = int(_addresses(machine, pc, lanes, wide=not _is_shared(machine, pc))[0])
    return workspace.base <= address < workspace.base + workspace.size


def _who_left_the_grid(machine: Stuck) -> str:
    """Which blocks do not come to the grid's barrier any more."""
    alive = np.bincount(machine.block_of[machine.alive], minlength=len(machine.blocks)) > 0
    ended = machine.blocks[~alive].tolist()
    named = ", ".join(map(str, sorted(ended)[:MOST])) + " and others" * (len(ended) > MOST)
    who = f"Of {len(alive)} blocks {len(ended)} ended before it: {named}. " if ended else ""
    return f"{who}Each block of the grid must come to each grid.sync(), as often as all others"


def _is_shared(machine: Stuck, pc: int) -> bool:
    instruction: Instruction = machine.launch.code.instructions[pc]
    return any("shared" in modifier for modifier in instruction.opcode.modifiers)


def _place(machine: Stuck, pc: int, lanes: np.ndarray) -> str:
    """What the first of these lanes looks at, and what is there."""
    instruction: Instruction = machine.launch.code.instructions[pc]
    shared = _is_shared(machine, pc)
    address = int(_addresses(machine, pc, lanes, wide=not shared)[0])
    if shared or SHARED_WINDOW <= address < LOCAL_WINDOW:
        block, place = machine.clusters.place(np.array([address % SHARED_WINDOW]), lanes[:1])
        name, memory = machine.shared.describe(int(place[0])), machine.shared.memory.data
        offset = int(block[0]) * machine.shared.stride + int(place[0])
    else:
        buffer = machine.memory.find(address)
        if buffer is None:
            return f"address {address:#x}"
        offset = address - buffer.base
        name, memory = buffer.element(offset), buffer.memory.data
    dtype = DTYPES[instruction.opcode.types[-1]]
    value = memory[offset : offset + dtype.itemsize].view(dtype)[0]
    left = "of those that have begun nobody is left" if _held_back(machine) else "nobody is left"
    return f"{name}, which is {value}, and {left} to change it"


def _held_back(machine: Stuck) -> int:
    """Blocks for which the GPU has no room yet."""
    return machine.blocks_to_come() if machine.launch.room else 0


def _addresses(machine: Stuck, pc: int, lanes: np.ndarray, wide: bool) -> np.ndarray:
    code = machine.launch.code
    operand = next(each for each in code.instructions[pc].operands if isinstance(each, Address))
    active, machine.idx = machine.idx, lanes
    addresses = address_reader(Decoder(code, pc), operand, wide)(machine)
    machine.idx = active
    return addresses


def _threads(machine: Stuck, lanes: np.ndarray) -> str:
    first = machine.describe_thread(int(lanes[0]))
    return f"{len(lanes)} threads, {first} among them," if len(lanes) > 1 else f"1 thread, {first},"


def _at(machine: Stuck, pc: int) -> str:
    code = machine.launch.code
    return f"{code.where(pc)} ({code.instructions[pc].opcode.text})"


def _parted(machine: Stuck) -> list[Gathering]:
    """Where a part of a warpgroup waits for the rest. Not for warps that wait at an mbarrier: that lacks."""
    entries = [entry for mbarrier in machine.mbarriers.values() for entry in mbarrier.waiting]
    at_mbarriers = [lane for entry in entries for lane in entry.lanes.tolist()]
    absent = ((each, each.absent()) for each in machine.gatherings.values())
    return [each for each, lanes in absent if len(lanes) and not np.isin(lanes, at_mbarriers).any()]


def _who_is_absent(machine: Stuck, gathering: Gathering) -> str:
    code, lane = machine.launch.code, int(gathering.absent()[0])
    return (
        f"{code.instructions[gathering.pc].opcode.root} at {code.where(gathering.pc)} is one instruction "
        "of a whole warpgroup, four warps of which the first is a multiple of 4, and "
        f"{machine.describe_thread(lane)} does not come to it: all 128 threads must take the same way"
    )
