"""mbarrier: barriers in shared memory (PTX ISA, "Parallel Synchronization and Communication Instructions")."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from ..ground.memory import Fault, Miss
from ..lanes import Lanes
from ..observe import events
from ..ptx.opcode import UnsupportedInstruction
from ..ptx.program import Instruction, Register
from ..races.shadow import Act, Reach
from ..units.mbarriers import SIZE, Hopper, Mbarrier
from .memory import address_reader, plain_offset
from .registry import Operands, control

WRITES, UPDATES, READS = Act(False, True), Act(True, True, True), Act(True, False, True)
"""As races go: mbarrier.init writes as plain stores do, the others as atomics and strong reads. (inval, too: when
cuda::pipeline ends, one lane invalidates for its whole warp.)"""


@control("mbarrier")
def mbarrier(decoder: Operands, ins: Instruction) -> Callable:
    """mbarrier.{init,inval,expect_tx,complete_tx,arrive,arrive_drop,test_wait,try_wait,pending_count}."""
    opcode = ins.opcode
    form = next((name for name in FORMS if opcode.text.startswith(f"mbarrier.{name}")), None)
    if form is None or opcode.has("noComplete"):
        raise UnsupportedInstruction("this form of mbarrier is not simulated")
    step, pc = FORMS[form](decoder, ins), decoder.pc

    def end(machine: Hopper) -> None:
        everyone = machine.idx
        lanes = step(machine)  # that go on; others wait
        if lanes is None or len(lanes):
            machine.turns.add(pc + 1, everyone if lanes is None else lanes)

    if ins.guard is None:
        return end
    read = decoder.source(ins.guard, "pred")

    def guarded(machine: Hopper) -> None:
        p, lanes = machine.spread(read(machine)), machine.active()
        if not p.all():
            machine.turns.add(pc + 1, lanes[~p])
        if p.any():
            machine.idx = lanes[p]
            end(machine)

    return guarded


def _number(
    decoder: Operands, ins: Instruction, at: int, kind: str, missing: int
) -> Callable[[Lanes], np.ndarray]:
    """An operand that may be left out, as int64 for each active lane."""
    if len(ins.operands) <= at:
        return lambda machine: np.full(machine.count(), missing, np.int64)
    read = decoder.source(ins.operands[at], kind)
    return lambda machine: machine.spread(read(machine)).astype(np.int64)


def places_of(decoder: Operands, ins: Instruction, at: int, act: Act) -> Callable:
    """A function of the machine: the mbarriers that the active lanes name, each with the positions of its lanes, and
    the blocks in whose memory these name it."""
    address = address_reader(decoder, ins.operands[at], wide=False)
    pc = decoder.pc

    def places(machine: Hopper) -> Iterator[tuple[Mbarrier, np.ndarray, np.ndarray]]:
        active, lanes = machine.idx, machine.active()
        blocks, offsets = machine.clusters.place(plain_offset(machine.spread(address(machine))), lanes)
        try:
            unit = machine.shared.locate(offsets, SIZE, blocks * machine.shared.stride)
        except Miss as miss:  # the launch ends: who waits there would wait for ever
            machine.missed(miss, pc)
            words = "no mbarrier can be there: it has 8 bytes of shared memory, at a multiple of 8"
            raise Fault("mbarrier", words, miss.lane, "no-mbarrier") from None
        if act is not READS:
            machine.clusters.touch(lanes, blocks, pc)
        for offset in np.unique(offsets).tolist():
            at = np.flatnonzero(offsets == offset)
            machine.idx = lanes[at]  # a Fault names one of them
            barrier = machine.mbarrier(offset)
            if act is not WRITES:
                barrier.must_be_there(lanes[at], blocks[at])
            machine.shadow.on_access(machine, act, Reach(lanes[at], unit[at], SIZE, pc))
            yield barrier, at, blocks[at]
        machine.idx = active

    return places


def _init(decoder: Operands, ins: Instruction) -> Callable:
    places, count, pc = places_of(decoder, ins, 0, WRITES), _number(decoder, ins, 1, "u32", 1), decoder.pc

    def step(machine: Hopper) -> None:
        counts, lanes = count(machine), machine.active()
        for barrier, at, blocks in places(machine):
            again = np.append(blocks[1:] == blocks[:-1], False)  # another lane of the same block follows
            if again.any():  # one thread makes it: over one that is there already the effect is undefined
                machine.shadow.on_clash(machine, Reach(lanes[at], barrier.unit(blocks), SIZE, pc), again)
            machine.recorder.at_mbarrier(pc, events.MbarrierInit, barrier.offset, lanes[at], counts[at])
            barrier.init(blocks, counts[at])
            machine.clusters.made[lanes[at]] = machine.orders.trail.now

    return step


def _inval(decoder: Operands, ins: Instruction) -> Callable:
    places = places_of(decoder, ins, 0, UPDATES)

    def step(machine: Hopper) -> None:
        for barrier, _, blocks in places(machine):
            barrier.inval(blocks)

    return step


def _expect(decoder: Operands, ins: Instruction) -> Callable:
    places, size, pc = places_of(decoder, ins, 0, UPDATES), _number(decoder, ins, 1, "u32", 0), decoder.pc

    def step(machine: Hopper) -> None:
        sizes, lanes = size(machine), machine.active()
        for barrier, at, blocks in places(machine):
            _expects(machine, pc, barrier, lanes[at], blocks, sizes[at])

    return step


def _expects(
    machine: Hopper, pc: int, barrier: Mbarrier, lanes: np.ndarray, blocks: np.ndarray, sizes: np.ndarray
) -> None:
    machine.counters.add(pc, expected_bytes=int(sizes.sum()))
    machine.recorder.at_mbarrier(pc, events.MbarrierExpect, barrier.offset, lanes, sizes)
    barrier.expect(blocks, sizes)


def _complete(decoder: Operands, ins: Instruction) -> Callable:
    raise UnsupportedInstruction(
        "mbarrier.complete_tx simulates a copy; copies themselves count their bytes here"
    )


def _arrive(decoder: Operands, ins: Instruction, leave: bool = False) -> Callable:
    """arrive{.expect_tx} state, [address]{, count or bytes}; `_` for a state that nobody wants."""
    places = places_of(decoder, ins, 1, UPDATES)
    expects, releases = ins.opcode.has("expect_tx"), not ins.opcode.has("relaxed")
    number = _number(decoder, ins, 2, "u32", 0 if expects else 1)
    put = decoder.target(ins.operands[0]) if ins.operands[0] is not None else None
    pc = decoder.pc

    def step(machine: Hopper) -> None:
        lanes, numbers = machine.active(), number(machine)
        counts = np.ones(len(lanes), np.int64) if expects else numbers
        states = np.zeros(len(lanes), np.uint64)
        for barrier, at, blocks in places(machine):
            if expects:
                _expects(machine, pc, barrier, lanes[at], blocks, numbers[at])
            machine.recorder.at_mbarrier(pc, events.MbarrierArrive, barrier.offset, lanes[at], counts[at])
            states[at] = barrier.arrive(lanes[at], blocks, counts[at], leave, releases)
        if put:
            put(machine, states)

    return step


def _wait(decoder: Operands, ins: Instruction, blocks: bool) -> Callable:
    """{test,try}_wait{.parity} done, [address], state or parity{, time}. try_wait says once that a phase is not
    complete, so that a wait without a loop is found, and then waits. Who does not look at the answer knows nothing."""
    places, put, pc = places_of(decoder, ins, 1, READS), decoder.target(ins.operands[0]), decoder.pc
    answer, parity = ins.operands[0], ins.opcode.has("parity")
    looks = isinstance(answer, Register) and answer.index in decoder.code.looked_at
    acquires = not ins.opcode.has("relaxed")
    which = _number(decoder, ins, 2, "u32" if parity else "b64", 0)

    def resume(machine: Hopper, lanes: np.ndarray, barrier: Mbarrier) -> None:
        machine.idx = lanes if len(lanes) < machine.lanes else None
        machine.recorder.waited(barrier.offset, lanes, barrier.phase[machine.block_of[lanes]] - 1)
        put(machine, np.ones(1, bool))
        machine.turns.add(pc + 1, machine.idx)

    def step(machine: Hopper) -> np.ndarray:
        lanes, active, asked = machine.active(), machine.idx, which(machine)
        answers, stays = np.zeros(len(lanes), bool), np.zeros(len(lanes), bool)
        for barrier, at, _ in places(machine):  # always one's own
            mine = lanes[at]
            if parity:
                _must_be_parities(asked[at])
            phases = barrier.phase_of(mine, asked[at] & 1) if parity else asked[at] >> 32
            if not looks:
                answers[at] = barrier.is_over(mine, phases)
                continue
            answers[at] = done = barrier.ask(pc, mine, phases, acquires)
            machine.recorder.waited(barrier.offset, mine[done], phases[done])
            again = ~done & (barrier.told[mine] == phases)
            barrier.told[mine[~done]] = phases[~done]
            if blocks and again.any():
                stays[at] = again
                barrier.wait(pc, mine[again], phases[again], partial(resume, barrier=barrier), acquires)
        goes_on = lanes[~stays]
        if len(goes_on):
            machine.idx = active if not stays.any() else goes_on
            put(machine, answers[~stays])
        return goes_on

    return step


def _must_be_parities(asked: np.ndarray) -> None:
    """Fault, where a parity is neither 0 nor 1 (PTX ISA, "mbarrier.test_wait, mbarrier.try_wait")."""
    if (wrong := np.flatnonzero((asked != 0) & (asked != 1))).size:
        number = int(asked[wrong[0]])
        text = (
            f"a wait for parity {number}: a parity is 0 or 1, and that of phase p is p % 2. What a wait for another "
            "number waits for is not said"
        )
        raise Fault("mbarrier", text, int(wrong[0]), "no-parity")


def _pending(decoder: Operands, ins: Instruction) -> Callable:
    put, state = decoder.target(ins.operands[0]), decoder.source(ins.operands[1], "b64")
    return lambda machine: put(machine, (state(machine) & np.uint64(0xFFFFFFFF)).astype(np.uint32))


FORMS: dict[str, Callable] = {
    "init": _init,
    "inval": _inval,
    "expect_tx": _expect,
    "complete_tx": _complete,
    "arrive_drop": lambda decoder, ins: _arrive(decoder, ins, leave=True),
    "arrive": _arrive,
    "test_wait": lambda decoder, ins: _wait(decoder, ins, blocks=False),
    "try_wait": lambda decoder, ins: _wait(decoder, ins, blocks=True),
    "pending_count": _pending,
}
