"""Races put into words: who, where, with whom, and what is missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..ground.memory import SharedMemory
from ..ground.tensor_cells import TensorCells
from ..ptx.program import Instruction, Where
from .advice import Advice, Advised, Why
from .hazards import RACES, Meeting
from .sentences import mend
from .shadow import (
    CHANGED,
    NOBODY,
    NOT_COHERENT,
    OVERWRITTEN,
    READ_BEFORE,
    UNFENCED,
    Race,
    Shadow,
    one_warp,
)
from .words_of_tensor_memory import conflict, flying

Place = tuple[int, int]
"""In the order of the text: the line, and the instruction."""


@dataclass(frozen=True)
class Landing:
    """How a copy arrived: the wait that covers it, and when the copy was issued."""

    wait_pc: int
    issued: int


class Flying(Protocol):
    """A copy that an mbarrier counts (`Load`, units/bulk.py)."""

    @property
    def issued(self) -> int:
        """When it was started."""


class Copies(Protocol):
    """Asynchronous copies in flight (`CopyQueue`, units/copies.py)."""

    def uncommitted(self, pc: int) -> bool:
        """Whether a copy of this instruction is in no committed group yet."""


class Counted(Protocol):
    """An mbarrier (`Mbarrier`, units/mbarriers.py)."""

    phase: np.ndarray
    """By block, the phase that is not complete yet."""

    @property
    def flying(self) -> Mapping[int, Sequence[Flying]]:
        """By block, the copies whose bytes it will count."""

    def last_answer(self, lane: int) -> tuple[int, int, int]:
        """The last phase that the lane asked for and that was over, the instruction that asked, and when. -2: none."""


class PassersBy(Protocol):
    """Threads that pass barriers by (`SyncCheck`, units/divergence.py)."""

    def left_out(self, at: int, lane: int, other: int) -> str:
        """In words: a barrier to which only one of two threads came: a lane of the machine, which is at the instruction
        `at`, and one of the grid."""


class Explained(Advised, Protocol):
    """What it takes to say of a race what is missing."""

    shared: SharedMemory
    """Of all resident blocks, one behind the other."""

    @property
    def copies(self) -> Copies: ...

    @property
    def mbarriers(self) -> Mapping[int, Counted]:
        """Those of the resident blocks, by their place in shared memory."""

    @property
    def sync_check(self) -> PassersBy: ...


class Findings:
    """Of one machine: hears of races from the shadows, and enters them into the log."""

    def __init__(self, machine: Explained) -> None:
        self.machine = machine
        self.advice = Advice(machine)
        self.of_warps: set[tuple[str, Where]] = set()  # findings that were told as of threads of one warp
        self.landings: dict[int, Landing] = {}  # by the time at which a copy arrived

    def race(self, shadow: Shadow, pc: int, race: Race) -> None:
        """The instruction at `pc` runs into another access."""
        if race.kind == READ_BEFORE and self.machine.log.has_race(self._instruction(pc)):
            return  # what nothing orders needs a barrier first
        self._meet(shadow, pc, race, strong=False)

    def _meet(self, shadow: Shadow, pc: int, race: Race, strong: bool) -> None:
        """`strong`: both accesses are, so it is no race, and a matter of chance."""
        machine = self.machine
        at = race.granule * shadow.granule
        kind = "write-after-read" if race.kind == CHANGED else race.kind
        if race.kind in (OVERWRITTEN, READ_BEFORE):
            kind = "missing-proxy-fence"
        elif race.kind == NOT_COHERENT:
            kind = "read-after-write" if self._instruction(pc).opcode.has("nc") else "write-after-read"
        if isinstance(shadow.buffer, TensorCells):
            self._in_tensor_memory(pc, race, shadow.buffer.element(at))
            return
        if shadow.buffer is None:
            place = machine.shared.describe(at % machine.shared.stride)
        else:
            place = shadow.buffer.element(at)
            if (
                race.other != NOBODY
                and kind != "missing-proxy-fence"
                and race.other // machine.launch.threads != self._lane(race) // machine.launch.threads
            ):
                kind = "block-conflict"
        self._add(pc, race, kind, place, strong)

    def _in_tensor_memory(self, pc: int, race: Race, place: str) -> None:
        """Its races have words, and orders, of their own."""
        mine, log, thread = self._instruction(pc), self.machine.log, self.machine.describe_thread(race.lane)
        if race.kind == "uninitialised-read":
            log.add(
                race.kind,
                mine,
                f"{thread} reads {place}, which nobody has written",
                race.count,
                "never-written",
            )
            return
        kind = "unwaited-tcgen05" if race.flying or race.kind == "unwaited-copy" else race.kind
        # what a warp does as a whole comes in its order
        if not race.flying and race.one_warp and mine.opcode.facts.waits_for:
            return
        if log.again(kind, mine, race.count):
            return
        theirs, them, line = self._instruction(self._pc(race.time)), self._other(race), self._line(race.time)
        why = (flying if kind == "unwaited-tcgen05" else conflict)(mine, theirs, them, line, place)
        meeting = Meeting(thread, them, line, place)
        log.tell(kind, mine, f"{thread} {why.text}", race.count, why.cause, meeting)

    def still_reads(self, pc: int, lanes: np.ndarray, places: np.ndarray, reader: int, owner: int) -> None:
        """These lanes start copies to these bytes of the resident shared memory, while a bulk store of another lane,
        at the instruction `reader`, may still read there."""
        machine = self.machine
        thread, them = machine.describe_thread(int(lanes[0])), machine.describe_thread(owner)
        place = machine.shared.describe(int(places[0]) % machine.shared.stride)
        line = str(self._instruction(reader).where)
        text = (
            f"{thread} starts a copy into {place}, which the bulk store of {them} at {line} may still read: "
            f"{mend('store-still-reads')}"
        )
        meeting, count = Meeting(thread, them, line, place), len(np.unique(lanes))
        machine.log.add("write-after-read", self._instruction(pc), text, count, "copy-still-reads", meeting)

    def doubts(self) -> None:
        """At the end, all that another order changes and nothing says is meant so, where no race says it already."""
        for shadow in (self.machine.shadow, *self.machine.launch.shadows.values()):
            for doubt in shadow.doubts():
                if self.machine.log.has_race(self._instruction(doubt.pc)):
                    continue
                writes = "read" if self._reads(doubt.pc) else "write"
                wrote = "read" if self._reads(self._pc(doubt.time)) else "write"
                kind, granule, count = f"{writes}-after-{wrote}", doubt.granule, doubt.count
                near = one_warp(self.machine, np.array([doubt.lane]), np.array([doubt.other]))
                race = Race(kind, granule, doubt.lane, doubt.other, doubt.time, False, count, near)
                self._meet(shadow, doubt.pc, race, strong=True)

    def _reads(self, pc: int) -> bool:
        return self._instruction(pc).opcode.facts.loads

    def _lane(self, race: Race) -> int:
        """In the grid."""
        return race.lane + self.machine.orders.first_lane

    def _add(self, pc: int, race: Race, kind: str, place: str, strong: bool) -> None:
        instruction = self._instruction(pc)
        told_as = "order-dependent" if strong else kind
        if self.machine.log.again(told_as, instruction, race.count):
            if race.one_warp or (told_as, instruction.where) not in self.of_warps:
                return
            self.of_warps.discard((told_as, instruction.where))  # it happens between warps as well: tell that
        elif race.one_warp:
            self.of_warps.add((told_as, instruction.where))
        thread = self.machine.describe_thread(race.lane)
        why = self._chance(pc, race, kind, place) if strong else self._why(pc, race, kind, place)
        meeting = None
        if race.other != NOBODY and told_as in RACES:
            meeting = Meeting(thread, self._other(race), self._line(race.time), place)
        self.machine.log.tell(told_as, instruction, f"{thread} {why.text}", race.count, why.cause, meeting)

    def _chance(self, pc: int, race: Race, kind: str, place: str) -> Why:
        """What the order of two strong accesses decides, and what would order them."""
        line, them = self._line(race.time), self._other(race)
        cause, missing = self._missing(race, kind, pc)
        does = {
            "read-after-write": f"reads {place}, which {them} changes at {line}: the read brings the old value or the "
            "new one",
            "write-after-read": f"changes {place}, which {them} reads at {line}: that read brings the old value or "
            "the new one",
            "write-after-write": f"writes to {place}, to which {them} writes another value at {line}: one of the two "
            "stays",
        }[race.kind]
        return Why(cause, f"{does}, as chance has it. No race, since both are volatile or relaxed, and no order "
                   f"either. {missing}")  # fmt: skip

    def _why(self, pc: int, race: Race, kind: str, place: str) -> Why:
        """What the thread does, and what is missing; its first word is the verb."""
        instruction = self._instruction(pc)
        if kind == "uninitialised-read":
            return Why("never-written", f"reads {place}, which no thread has written")
        if kind == "missing-proxy-fence":
            does = "read" if race.kind == UNFENCED else "overwrite"
            cause = "read-before-copy" if race.kind == READ_BEFORE else ""
            return Why(cause, f"lets {self._engine(instruction)} {does} {place}, {self._unfenced(race)}")
        if race.kind == NOT_COHERENT:
            return Why("read-only-cache", self._not_coherent(instruction, race, place))
        if kind == "unwaited-copy" or race.flying:
            cause, flight = self._flight(race, pc, "read" if kind == "unwaited-copy" else "write")
            return Why(cause, f"{'reads' if kind == 'unwaited-copy' else 'writes'} {place} before {flight}")
        return self._conflict(pc, race, kind, place)

    def _engine(self, instruction: Instruction) -> str:
        return "the tensor cores" if "mma" in instruction.opcode.text else "the copy engine"

    def _unfenced(self, race: Race) -> str:
        them, line = self._other(race), self._line(race.time)
        if race.kind == READ_BEFORE:
            return f"which {them} read at {line}. {mend('proxy-fence-read')}"
        do = "write" if race.kind == OVERWRITTEN else "read"
        return f"which {them} wrote at {line}. {mend('proxy-fence', do=do)}"

    def _not_coherent(self, instruction: Instruction, race: Race, place: str) -> str:
        them, line = self._other(race), self._line(race.time)
        what = (
            f"reads {place} through the read-only cache, and {them} writes it in the same launch, at {line}"
            if instruction.opcode.has("nc")
            else f"writes {place}, which {them} reads through the read-only cache at {line}"
        )
        return f"{what}. {mend('read-only-cache')}"

    def _flight(self, race: Race, pc: int, mine: str) -> Why:
        """A copy that nobody waited for before this access of `mine`."""
        line, copies = self._line(race.time), self.machine.copies
        them = self._other(race)
        started = self._instruction(self._pc(race.time)).opcode
        if "complete_tx" in started.text:
            kind, what = ("bulk", "copy") if started.root == "cp" else ("asynchronous", "store")
            return Why(
                "phase-not-awaited",
                f"the {kind} {what} into it is known to have arrived; {them} started the {what} at {line}. "
                f"{self._phase(race)}",
            )
        if "bulk_group" in started.text:
            return Why(
                "store-not-awaited",
                f"the bulk store into it is known to have arrived; {them} started the store at {line}. "
                f"{mend('wait-for-store')}",
            )
        why = Why("no-wait", mend("wait-for-group"))
        if copies.uncommitted(self._pc(race.time)):
            why = self._late_wait(race, pc, mine) or Why("no-commit", mend("commit", place=line))
        return Why(
            why.cause,
            f"the asynchronous copy into it is known to have arrived; {them} issued the copy at {line}. {why.text}",
        )

    def _late_wait(self, race: Race, pc: int, mine: str) -> Why | None:
        """Where the program waits for all copies, which needs no commit (PTX ISA, "cp.async.wait_all"), but not for
        this one before the access at `pc`."""
        instructions = self.machine.launch.code.instructions
        copy = self._pc(race.time)
        waits = [at for at, one in enumerate(instructions) if one.opcode.text == "cp.async.wait_all"]
        if not waits:
            return None
        # a compiler that unrolls a loop repeats the lines, not their order
        lines = all(_line_of(instructions[at].where) for at in (copy, pc, *waits))
        by = [(_line_of(one.where) * lines, at) for at, one in enumerate(instructions)]
        met = race.other != self._lane(race) and self._met_since(race, race.time)
        between = [at for at in waits if _passed(by[copy], by[at], by[pc])]
        behind = [at for at in waits if by[at] > by[pc]]
        wait = (between or behind or waits)[0]
        words = {"place": instructions[wait].where, "mine": mine}
        if between and not (met and self._barrier_between(by, copy, wait, pc)):
            return Why("wait-passed-by", mend("wait-passed-by", **words))
        if not between and not behind:
            return Why("wait-before-copy", mend("wait-before-copy", **words))
        if met:
            return Why("wait-behind-barrier", mend("wait-before-barrier", **words))
        return Why("no-wait", mend("wait-first", **words))

    def _barrier_between(self, by: Sequence[Place], copy: int, wait: int, pc: int) -> bool:
        """Whether barriers stand between the copy and the wait, and none between that and the access."""
        instructions = self.machine.launch.code.instructions
        barriers = [by[at] for at, one in enumerate(instructions) if one.opcode.root in ("bar", "barrier")]
        before = any(_passed(by[copy], at, by[wait]) for at in barriers)
        return before and not any(_passed(by[wait], at, by[pc]) for at in barriers)

    def _phase(self, race: Race) -> str:
        """Which phase of its mbarrier this thread did not wait for."""
        for barrier in self.machine.mbarriers.values():
            for block, loads in barrier.flying.items():
                if not any(load.issued == race.time for load in loads):
                    continue
                phase, (over, pc, time) = int(barrier.phase[block]), barrier.last_answer(race.lane)
                if over == phase - 1 and (time > race.time or not phase):
                    had = "was the phase before" if phase else "a fresh mbarrier has by itself"
                    place = self._instruction(pc).where
                    return mend(
                        "wrong-parity", place=place, asked=over % 2, had=had, phase=phase, parity=phase % 2
                    )
        return mend("wait-for-phase")

    def _conflict(self, pc: int, race: Race, kind: str, place: str) -> Why:
        instruction, line, them = self._instruction(pc), self._line(race.time), self._other(race)
        source = race.kind == "read-after-write" and instruction.opcode.root == "cp"
        if race.kind == CHANGED or (source and self._met_since(race, race.time)):
            wait = "cp.async.bulk.wait_group.read" if race.kind == CHANGED else "cp.async.wait_group"
            return Why(
                "copy-still-reads",
                f"copies from {place}, which {them} wrote at {line} while the copy may still have been on its way. "
                f"{mend('source-still-read', wait=wait)}",
            )
        cause, missing = self._missing(race, kind, pc)
        if self._makes_mbarrier(race.time):
            text = f"uses the mbarrier at {place}, which {them} initialises at {line}. {missing}"
            return Why("unknown-mbarrier", text)
        does, did = self._verbs(instruction, race, kind)
        return Why(cause, f"{does} {place}, {did.format(them=them, line=line)}. {missing}")

    def _verbs(self, instruction: Instruction, race: Race, kind: str) -> tuple[str, str]:
        mine = "updates" if instruction.opcode.facts.atomic else "writes"
        atomically = ", atomically," if self._instruction(self._pc(race.time)).opcode.facts.atomic else ""
        between = "with no barrier in between" if kind != "block-conflict" else "and nothing orders the two"
        return {
            "read-after-write": ("reads", f"which {{them}} wrote{atomically} at {{line}}, {between}"),
            "write-after-read": (mine, f"which {{them}} reads at {{line}}, {between}"),
            "write-after-write": (
                mine,
                f"to which {{them}} writes another value{atomically} at {{line}}, {between}",
            ),
        }[race.kind]

    def _missing(self, race: Race, kind: str, pc: int) -> Why:
        """What would put it right."""
        if why := self.advice.of_scope(race, pc):
            return why
        if kind == "block-conflict":
            return self.advice.between_blocks(race, pc)
        if race.other // self.machine.launch.threads != self._lane(race) // self.machine.launch.threads:
            return self._missing_in_cluster(race)
        landing = self.landings.get(race.time)
        if landing and self._met_since(race, landing.issued):
            wait = self._instruction(landing.wait_pc).where
            return Why(
                "wait-behind-barrier",
                mend("barrier-behind-wait", place=wait),
            )
        if left := self.machine.sync_check.left_out(pc, race.lane, race.other):
            return Why("left-out-of-barrier", left)
        return self.advice.in_block(race, pc)

    def _missing_in_cluster(self, race: Race) -> Why:
        """The other thread is in another block of the cluster."""
        other = "" if self._makes_mbarrier(race.time) else ", or by arrivals at each other's mbarriers"
        program = self.machine.launch.code.program
        if any("arrive.relaxed" in instruction.opcode.text for instruction in program.instructions):
            other += " (a .relaxed arrival tells only of what a fence before it covers)"
        return Why("no-cluster-barrier", mend("cluster", other=other))

    def _makes_mbarrier(self, time: int) -> bool:
        return self._instruction(self._pc(time)).opcode.text.startswith("mbarrier.init")

    def _met_since(self, race: Race, time: int) -> bool:
        """Whether the two threads met after that time."""
        lane, other = np.array([race.lane]), np.array([race.other])
        return not self.machine.orders.unseen(lane, other, np.array([time]))[0]

    # ---- helpers

    def _pc(self, time: int) -> int:
        return int(self.machine.orders.trail.pcs(time))

    def _instruction(self, pc: int) -> Instruction:
        return self.machine.launch.code.instructions[pc]

    def _line(self, time: int) -> str:
        return str(self._instruction(self._pc(time)).where)

    def _other(self, race: Race) -> str:
        """The other thread; with its block, if that is another one."""
        machine = self.machine
        block = race.other // machine.launch.threads
        same = block == (race.lane + machine.orders.first_lane) // machine.launch.threads
        if same and race.other == race.lane + machine.orders.first_lane:
            return "it itself"
        return (
            machine.describe_other(race.other - machine.orders.first_lane)
            if same
            else machine.describe_lane(race.other)
        )


def _line_of(where: Where) -> int:
    """The line of the kernel in which it stands, or from which it was called."""
    return where.call_line or where.line


def _passed(first: Place, at: Place, last: Place) -> bool:
    """Whether `at` is passed on the way from the first place to the last one; round a loop, if that comes earlier."""
    return first <= at <= last if first <= last else at >= first or at <= last
