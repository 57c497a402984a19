"""cp.async: copies from global to shared memory that go on while the threads work (PTX ISA, "cp.async")."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ..ground.memory import UNIT, Fault
from ..observe import events
from ..ptx.opcode import UnsupportedInstruction
from ..ptx.program import Immediate, Instruction, Register
from ..races.shadow import Act
from ..units.access import Access, in_shared, read
from ..units.mbarriers import Hopper
from .bulk import bulk
from .mbarrier import UPDATES, places_of
from .memory import address_reader, constant, plain_offset
from .registry import Operands, on_machine


@on_machine("cp")
def cp(decoder: Operands, ins: Instruction) -> Callable[[Hopper], None]:
    """cp.async.{ca,cg} [dst], [src], size{, src-size}{, ignore-src}{, cache-policy} · commit_group · wait_group n ·
    wait_all · mbarrier.arrive{.noinc} [mbarrier]."""
    opcode, pc = ins.opcode, decoder.pc
    if opcode.has("bulk"):
        return bulk(decoder, ins)
    if opcode.text.startswith("cp.async.mbarrier.arrive"):
        return _arrive(decoder, ins)
    if not opcode.has("async"):
        raise UnsupportedInstruction("of the cp family only cp.async, its groups and waits are simulated")
    if opcode.has("commit_group"):
        return lambda machine: machine.copies.commit(pc)
    if opcode.has("wait_all"):
        return lambda machine: machine.copies.wait(None, pc)
    if opcode.has("wait_group"):
        keep = constant(ins.operands[0], "wait_group")
        if keep < 0:
            raise UnsupportedInstruction(
                "wait_group takes the number of groups that may stay in flight, 0 or more"
            )
        return lambda machine: machine.copies.wait(keep, pc)
    return _copy(decoder, ins)


def _copy(decoder: Operands, ins: Instruction) -> Callable:
    size = constant(ins.operands[2], "the size of a cp.async")
    bypass = ins.opcode.has("cg")
    allowed = (16,) if bypass else (4, 8, 16)
    if size not in allowed:
        raise UnsupportedInstruction(f"cp.async copies {allowed} bytes, not {size}")
    to = address_reader(decoder, ins.operands[0], wide=False)
    source = address_reader(decoder, ins.operands[1], wide=True)
    wanted = _wanted(decoder, ins, size)
    access = Access(decoder.pc, "global", size, Act(True, False), counted=False)
    pc, array = decoder.pc, decoder.code.shared_arrays.get(decoder.pc)

    def step(machine: Hopper) -> None:
        places = plain_offset(machine.spread(to(machine)))
        unit, offsets = in_shared(machine, places, machine.idx, size, array)
        machine.shared.check_data(unit, size)
        addresses = machine.spread(source(machine))
        sizes = wanted(machine) if wanted else None
        data = (
            read(machine, access, addresses)
            if sizes is None
            else _zero_filled(machine, access, addresses, sizes)
        )
        machine.counters.copied(
            machine, pc, offsets, addresses, size, bypass, None if sizes is None else sizes > 0
        )
        machine.copies.issue(unit, addresses, data, size, pc, sizes)

    return step


def _arrive(decoder: Operands, ins: Instruction) -> Callable:
    """cp.async.mbarrier.arrive{.noinc}.shared.b64 [mbarrier]: when all copies of the thread so far have arrived, it
    arrives, too. Without .noinc the phase counts one arrival more for it."""
    places, noinc, pc = places_of(decoder, ins, 0, UPDATES), ins.opcode.has("noinc"), decoder.pc
    event_of = partial(events.MbarrierArriveAfterCopies, noinc=noinc)

    def step(machine: Hopper) -> None:
        lanes = machine.active()
        for barrier, at, blocks in places(machine):
            machine.recorder.at_mbarrier(
                pc, event_of, barrier.offset, lanes[at], np.ones(len(blocks), np.int64)
            )
            barrier.arrive_with_copies(lanes[at], blocks, not noinc)

    return step


def _wanted(decoder: Operands, ins: Instruction, size: int) -> Callable[[Hopper], np.ndarray] | None:
    """How many bytes of the source each lane reads, at most `size`; None: all."""
    rest = list(ins.operands[3:])
    if any(m.startswith("L2::cache_hint") for m in ins.opcode.modifiers):
        rest.pop()
    if not rest or (isinstance(rest[0], Immediate) and rest[0].text == str(size)):
        return None
    if isinstance(rest[0], Register) and rest[0].bits == 1:  # ignore-src: nothing is read where it is true
        ignored = decoder.source(rest[0], "pred")
        return lambda machine: np.where(machine.spread(ignored(machine)), 0, size)
    read_size = decoder.source(rest[0], "u32")

    def wanted(machine: Hopper) -> np.ndarray:
        sizes = machine.spread(read_size(machine)).astype(np.int64)
        if (wrong := np.flatnonzero(sizes > size)).size:
            text = (
                f"a cp.async copies {size} bytes and is told to read {sizes[wrong[0]]}. Its last operand says how many "
                f"bytes of the source are read, 0 to {size}; the rest becomes zeros (a negative number is a large one)"
            )
            raise Fault("out-of-bounds", text, int(wrong[0]), "more-than-copied")
        return sizes

    return wanted


def _zero_filled(machine: Hopper, access: Access, addresses: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Only the first `wanted` bytes are read, the rest is zero; with 0 the source is not touched at all."""
    size = access.size
    data = np.zeros(len(addresses), UNIT[size])
    lanes, whole = machine.active(), wanted >= size
    active = machine.idx
    if whole.any():
        machine.idx = lanes[whole]
        data[whole] = read(machine, access, addresses[whole])
    view, byte_access = data.view(np.uint8).reshape(-1, size), replace(access, size=1)
    for count in np.unique(wanted[~whole]).tolist():
        rows = np.flatnonzero(wanted == count)
        machine.idx = lanes[rows]
        for byte in range(count):
            view[rows, byte] = read(machine, byte_access, addresses[rows] + np.uint64(byte))
    machine.idx = active
    return data
