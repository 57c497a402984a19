"""cp.async: copies from global to shared memory that go on while the threads work (PTX ISA 9.7.9.25)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..hazards import IN_FLIGHT
from ..memory import LOCAL_WINDOW, SHARED_WINDOW, UNIT
from ..ptx import Immediate, Instruction
from .memory import address_reader, block_base, load_global
from .registry import UnsupportedInstruction, machine


@machine("cp")
def cp(d, ins: Instruction) -> Callable:
    """cp.async.{ca,cg} [dst], [src], size{, src-size} · commit_group · wait_group n · wait_all."""
    opcode, pc = ins.opcode, d.pc
    if not opcode.has("async") or opcode.has("bulk") or opcode.has("mbarrier"):
        raise UnsupportedInstruction("of the cp family only cp.async, its groups and waits are simulated")
    if opcode.has("commit_group"):
        return lambda m: m.copies.commit(pc)
    if opcode.has("wait_all"):
        return lambda m: m.copies.wait(None, pc)
    if opcode.has("wait_group"):
        keep = int(ins.operands[0].text, 0)
        if keep < 0:
            raise UnsupportedInstruction(
                "wait_group takes the number of groups that may stay in flight, 0 or more"
            )
        return lambda m: m.copies.wait(keep, pc)
    return _copy(d, ins)


def _copy(d, ins: Instruction) -> Callable:
    size = int(ins.operands[2].text, 0)
    bypass = ins.opcode.has("cg")
    allowed = (16,) if bypass else (4, 8, 16)
    if size not in allowed:
        raise UnsupportedInstruction(f"cp.async copies {allowed} bytes, not {size}")
    to = address_reader(d, ins.operands[0], wide=False)
    source = address_reader(d, ins.operands[1], wide=True)
    source_size = None
    if len(ins.operands) > 3 and not (
        isinstance(ins.operands[3], Immediate) and ins.operands[3].text == str(size)
    ):
        source_size = d.source(ins.operands[3], "u32")
    pc = d.pc

    def step(m) -> None:
        offsets = _plain_offset(m.spread(to(m)))
        unit = m.shared.locate(offsets, size, block_base(m))
        addresses = m.spread(source(m))
        if source_size is None:
            reads = None
            data = load_global(m, addresses, size, pc)
        else:
            wanted = m.spread(source_size(m))
            reads = wanted > 0
            data = _zero_filled(m, addresses, size, wanted, pc)
        m.counters.copied(m, pc, offsets, addresses, size, bypass, reads)
        m.shadow.on_write(m.idx, unit, size, pc, None, time=IN_FLIGHT)
        m.copies.issue(unit, data, size, pc)

    return step


def _plain_offset(addresses: np.ndarray) -> np.ndarray:
    """A shared address given as a generic one loses its window."""
    if addresses.max() >= SHARED_WINDOW and addresses.max() < LOCAL_WINDOW:
        return addresses - SHARED_WINDOW
    return addresses


def _zero_filled(m, addresses: np.ndarray, size: int, wanted: np.ndarray, pc: int) -> np.ndarray:
    """Only the first `wanted` bytes are read, the rest is zero; with 0 the source is not touched at all."""
    data = np.zeros(len(addresses), UNIT[size])
    whole = wanted >= size
    if whole.any():
        data[whole] = load_global(m, addresses[whole], size, pc)
    view = data.view(np.uint8).reshape(-1, size)
    for count in np.unique(wanted[~whole]):
        rows = np.flatnonzero(wanted == count)
        for byte in range(int(count)):
            view[rows, byte] = load_global(m, addresses[rows] + np.uint64(byte), 1, pc)
    return data
