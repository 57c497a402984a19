"""mbarrier: barriers in shared memory (PTX ISA, "Parallel Synchronization and Communication Instructions")."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from ..observe import events
from ..ptx.opcode import UnsupportedInstruction
from ..ptx.program import Instruction
from ..races.shadow import Act
from ..units.mbarriers import SIZE, Mbarrier
from .memory import address_reader, plain_offset
from .registry import control

WRITES, UPDATES, READS = Act(False, True), Act(True, True, True), Act(True, False, True)
"""As races go: mbarrier.init writes as plain stores do, the others as atomics and strong reads. (inval, too: when
cuda::pipeline ends, one lane invalidates for its whole warp.)"""


@control("mbarrier")
def mbarrier(d, ins: Instruction) -> Callable:
    """mbarrier.{init,inval,expect_tx,complete_tx,arrive,arrive_drop,test_wait,try_wait,pending_count}."""
    opcode = ins.opcode
    form = next((name for name in FORMS if opcode.text.startswith(f"mbarrier.{name}")), None)
    if form is None or opcode.has("noComplete"):
        raise UnsupportedInstruction("this form of mbarrier is not simulated")
    step, pc = FORMS[form](d, ins), d.pc

    def end(m) -> None:
        everyone = m.idx
        lanes = step(m)  # that go on; others wait
        if lanes is None or len(lanes):
            m.jump(pc + 1, everyone if lanes is None else lanes)

    if ins.guard is None:
        return end
    read = d.source(ins.guard, "pred")

    def guarded(m) -> None:
        p, lanes = m.spread(read(m)), m.active()
        if not p.all():
            m.jump(pc + 1, lanes[~p])
        if p.any():
            m.idx = lanes[p]
            end(m)

    return guarded


def _number(d, ins: Instruction, at: int, kind: str, missing: int) -> Callable:
    """An operand that may be left out, as int64 for each active lane."""
    if len(ins.operands) <= at:
        return lambda m: np.full(m.count(), missing, np.int64)
    read = d.source(ins.operands[at], kind)
    return lambda m: m.spread(read(m)).astype(np.int64)


def places_of(d, ins: Instruction, at: int, act: Act) -> Callable:
    """A function of the machine: the mbarriers that the active lanes name, each with the positions of its lanes, and
    the blocks in whose memory these name it."""
    address = address_reader(d, ins.operands[at], wide=False)
    pc = d.pc

    def places(m) -> Iterator[tuple[Mbarrier, np.ndarray, np.ndarray]]:
        active, lanes = m.idx, m.active()
        blocks, offsets = m.clusters.place(plain_offset(m.spread(address(m))), lanes)
        unit = m.shared.locate(offsets, SIZE, blocks * m.shared.stride)
        if act is not READS:
            m.clusters.touch(lanes, blocks, pc)
        for offset in np.unique(offsets).tolist():
            at = np.flatnonzero(offsets == offset)
            m.idx = lanes[at]  # a Fault names one of them
            barrier = m.mbarrier(offset)
            if act is not WRITES:
                barrier.must_be_there(lanes[at], blocks[at])
            m.shadow.on_access(m, act, lanes[at], unit[at], SIZE, pc)
            yield barrier, at, blocks[at]
        m.idx = active

    return places


def _init(d, ins: Instruction) -> Callable:
    places, count, pc = places_of(d, ins, 0, WRITES), _number(d, ins, 1, "u32", 1), d.pc

    def step(m) -> None:
        counts, lanes = count(m), m.active()
        for barrier, at, blocks in places(m):
            again = np.append(blocks[1:] == blocks[:-1], False)  # another lane of the same block follows
            if again.any():  # one thread makes it: over one that is there already the effect is undefined
                m.shadow.on_clash(m, lanes[at], barrier.unit(blocks), SIZE, pc, again)
            m.recorder.at_mbarrier(pc, events.MbarrierInit, barrier.offset, lanes[at], counts[at])
            barrier.init(blocks, counts[at])
            m.clusters.made[lanes[at]] = m.orders.trail.now

    return step


def _inval(d, ins: Instruction) -> Callable:
    places = places_of(d, ins, 0, UPDATES)

    def step(m) -> None:
        for barrier, _, blocks in places(m):
            barrier.inval(blocks)

    return step


def _expect(d, ins: Instruction) -> Callable:
    places, size, pc = places_of(d, ins, 0, UPDATES), _number(d, ins, 1, "u32", 0), d.pc

    def step(m) -> None:
        sizes, lanes = size(m), m.active()
        for barrier, at, blocks in places(m):
            _expects(m, pc, barrier, lanes[at], blocks, sizes[at])

    return step


def _expects(m, pc: int, barrier: Mbarrier, lanes: np.ndarray, blocks: np.ndarray, sizes: np.ndarray) -> None:
    m.counters.add(pc, expected_bytes=int(sizes.sum()))
    m.recorder.at_mbarrier(pc, events.MbarrierExpect, barrier.offset, lanes, sizes)
    barrier.expect(blocks, sizes)


def _complete(d, ins: Instruction) -> Callable:
    raise UnsupportedInstruction(
        "mbarrier.complete_tx simulates a copy; copies themselves count their bytes here"
    )


def _arrive(d, ins: Instruction, leave: bool = False) -> Callable:
    """arrive{.expect_tx} state, [address]{, count or bytes}; `_` for a state that nobody wants."""
    places = places_of(d, ins, 1, UPDATES)
    expects = ins.opcode.has("expect_tx")
    number = _number(d, ins, 2, "u32", 0 if expects else 1)
    put = d.target(ins.operands[0]) if ins.operands[0] is not None else None
    pc = d.pc

    def step(m) -> None:
        lanes, numbers = m.active(), number(m)
        counts = np.ones(len(lanes), np.int64) if expects else numbers
        states = np.zeros(len(lanes), np.uint64)
        for barrier, at, blocks in places(m):
            if expects:
                _expects(m, pc, barrier, lanes[at], blocks, numbers[at])
            m.recorder.at_mbarrier(pc, events.MbarrierArrive, barrier.offset, lanes[at], counts[at])
            states[at] = barrier.arrive(lanes[at], blocks, counts[at], leave)
        if put:
            put(m, states)

    return step


def _wait(d, ins: Instruction, blocks: bool) -> Callable:
    """{test,try}_wait{.parity} done, [address], state or parity{, time}. try_wait says once that a phase is not
    complete, so that a wait without a loop is found, and then waits."""
    places, put, pc = places_of(d, ins, 1, READS), d.target(ins.operands[0]), d.pc
    parity = ins.opcode.has("parity")
    which = _number(d, ins, 2, "u32" if parity else "b64", 0)

    def resume(m, lanes: np.ndarray, barrier: Mbarrier) -> None:
        m.idx = lanes if len(lanes) < m.lanes else None
        m.recorder.waited(barrier.offset, lanes, barrier.phase[m.block_of[lanes]] - 1)
        put(m, np.ones(1, bool))
        m.jump(pc + 1, m.idx)

    def step(m) -> np.ndarray:
        lanes, active, asked = m.active(), m.idx, which(m)
        answers, stays = np.zeros(len(lanes), bool), np.zeros(len(lanes), bool)
        for barrier, at, _ in places(m):  # always one's own
            mine = lanes[at]
            phases = barrier.phase_of(mine, asked[at] & 1) if parity else asked[at] >> 32
            answers[at] = done = barrier.ask(mine, phases)
            m.recorder.waited(barrier.offset, mine[done], phases[done])
            m.recorder.asks(mine[~done])
            again = ~done & (barrier.told[mine] == phases)
            barrier.told[mine[~done]] = phases[~done]
            if blocks and again.any():
                stays[at] = again
                barrier.wait(pc, mine[again], phases[again], partial(resume, barrier=barrier))
        goes_on = lanes[~stays]
        if len(goes_on):
            m.idx = active if not stays.any() else goes_on
            put(m, answers[~stays])
        return goes_on

    return step


def _pending(d, ins: Instruction) -> Callable:
    put, state = d.target(ins.operands[0]), d.source(ins.operands[1], "b64")
    return lambda m: put(m, (state(m) & np.uint64(0xFFFFFFFF)).astype(np.uint32))


FORMS: dict[str, Callable] = {
    "init": _init,
    "inval": _inval,
    "expect_tx": _expect,
    "complete_tx": _complete,
    "arrive_drop": lambda d, ins: _arrive(d, ins, leave=True),
    "arrive": _arrive,
    "test_wait": lambda d, ins: _wait(d, ins, blocks=False),
    "try_wait": lambda d, ins: _wait(d, ins, blocks=True),
    "pending_count": _pending,
}
