"""cp.async: copies from global to shared memory that go on while the threads work (PTX ISA, "cp.async")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ..memory import UNIT
from ..observe import events
from ..ptx.opcode import UnsupportedInstruction
from ..ptx.program import Immediate, Instruction, Register
from ..races.shadow import Act
from ..units.access import Access, read
from .bulk import bulk
from .mbarrier import UPDATES, places_of
from .memory import address_reader, constant, plain_offset
from .registry import machine


@machine("cp")
def cp(d, ins: Instruction) -> Callable:
    """cp.async.{ca,cg} [dst], [src], size{, src-size}{, ignore-src}{, cache-policy} · commit_group · wait_group n ·
    wait_all · mbarrier.arrive{.noinc} [mbarrier]."""
    opcode, pc = ins.opcode, d.pc
    if opcode.has("bulk"):
        return bulk(d, ins)
    if opcode.text.startswith("cp.async.mbarrier.arrive"):
        return _arrive(d, ins)
    if not opcode.has("async"):
        raise UnsupportedInstruction("of the cp family only cp.async, its groups and waits are simulated")
    if opcode.has("commit_group"):
        return lambda m: m.copies.commit(pc)
    if opcode.has("wait_all"):
        return lambda m: m.copies.wait(None, pc)
    if opcode.has("wait_group"):
        keep = constant(ins.operands[0], "wait_group")
        if keep < 0:
            raise UnsupportedInstruction(
                "wait_group takes the number of groups that may stay in flight, 0 or more"
            )
        return lambda m: m.copies.wait(keep, pc)
    return _copy(d, ins)


def _copy(d, ins: Instruction) -> Callable:
    size = constant(ins.operands[2], "the size of a cp.async")
    bypass = ins.opcode.has("cg")
    allowed = (16,) if bypass else (4, 8, 16)
    if size not in allowed:
        raise UnsupportedInstruction(f"cp.async copies {allowed} bytes, not {size}")
    to = address_reader(d, ins.operands[0], wide=False)
    source = address_reader(d, ins.operands[1], wide=True)
    wanted = _wanted(d, ins, size)
    access = Access(d.pc, "global", size, Act(True, False), counted=False)
    pc = d.pc

    def step(m) -> None:
        offsets = plain_offset(m.spread(to(m)))
        unit = m.shared.locate(offsets, size, m.block_base[m.active()])
        addresses = m.spread(source(m))
        sizes = wanted(m) if wanted else None
        data = read(m, access, addresses) if sizes is None else _zero_filled(m, access, addresses, sizes)
        m.counters.copied(m, pc, offsets, addresses, size, bypass, None if sizes is None else sizes > 0)
        m.copies.issue(unit, addresses, data, size, pc, sizes)

    return step


def _arrive(d, ins: Instruction) -> Callable:
    """cp.async.mbarrier.arrive{.noinc}.shared.b64 [mbarrier]: when all copies of the thread so far have arrived, it
    arrives, too. Without .noinc the phase counts one arrival more for it."""
    places, noinc, pc = places_of(d, ins, 0, UPDATES), ins.opcode.has("noinc"), d.pc
    event_of = partial(events.MbarrierArriveAfterCopies, noinc=noinc)

    def step(m) -> None:
        lanes = m.active()
        for barrier, at, blocks in places(m):
            m.recorder.at_mbarrier(pc, event_of, barrier.offset, lanes[at], np.ones(len(blocks), np.int64))
            barrier.arrive_with_copies(lanes[at], blocks, not noinc)

    return step


def _wanted(d, ins: Instruction, size: int) -> Callable | None:
    """How many bytes of the source each lane reads; None: all."""
    rest = list(ins.operands[3:])
    if any(m.startswith("L2::cache_hint") for m in ins.opcode.modifiers):
        rest.pop()
    if not rest or (isinstance(rest[0], Immediate) and rest[0].text == str(size)):
        return None
    if isinstance(rest[0], Register) and rest[0].bits == 1:  # ignore-src: nothing is read where it is true
        ignored = d.source(rest[0], "pred")
        return lambda m: np.where(m.spread(ignored(m)), 0, size)
    read_size = d.source(rest[0], "u32")
    return lambda m: m.spread(read_size(m)).astype(np.int64)


def _zero_filled(m, access: Access, addresses: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Only the first `wanted` bytes are read, the rest is zero; with 0 the source is not touched at all."""
    size = access.size
    data = np.zeros(len(addresses), UNIT[size])
    lanes, whole = m.active(), wanted >= size
    active = m.idx
    if whole.any():
        m.idx = lanes[whole]
        data[whole] = read(m, access, addresses[whole])
    view, byte_access = data.view(np.uint8).reshape(-1, size), replace(access, size=1)
    for count in np.unique(wanted[~whole]).tolist():
        rows = np.flatnonzero(wanted == count)
        m.idx = lanes[rows]
        for byte in range(count):
            view[rows, byte] = read(m, byte_access, addresses[rows] + np.uint64(byte))
    m.idx = active
    return data
