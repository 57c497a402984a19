"""st.async and red.async: stores into another block of the cluster that an mbarrier there counts (PTX ISA, "st.async",
"red.async"). They are copies out of registers: they arrive as bulk copies do."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..ground.memory import UNIT
from ..ptx.opcode import DTYPES, Opcode, UnsupportedInstruction
from ..ptx.program import Instruction
from ..units.bulk import Load
from ..units.mbarriers import Hopper
from .atomics import operation_of
from .bulk import cluster_reader, in_one_block, missing, reported, send
from .memory import vector_length
from .registry import Operands, on_machine

NOTHING = np.zeros(0, np.int64)


@on_machine("st.async")
def store(decoder: Operands, ins: Instruction) -> Callable:
    """st.async{.weak}.shared::cluster.mbarrier::complete_tx::bytes{.v2,.v4}.type  [to], values, [mbarrier]."""
    return _send_values(decoder, ins, None)


@on_machine("red.async")
def reduce(decoder: Operands, ins: Instruction) -> Callable:
    """red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.op.type  [to], value, [mbarrier]."""
    kind = ins.opcode.types[-1]
    change = operation_of(Opcode(ins.opcode.text.replace("red.async", "red")), "shared")
    return _send_values(decoder, ins, lambda old, new: change(old, new.view(DTYPES[kind]))[0].view(old.dtype))


def _send_values(decoder: Operands, ins: Instruction, change: Callable | None) -> Callable:
    if "mbarrier::complete_tx::bytes" not in ins.opcode.text:
        raise UnsupportedInstruction(f"{ins.opcode.text} without an mbarrier is not simulated")
    count, width, pc = vector_length(ins.opcode), DTYPES[ins.opcode.types[-1]].itemsize, decoder.pc
    to, barrier = cluster_reader(decoder, ins.operands[0]), cluster_reader(decoder, ins.operands[2])
    items = ins.operands[1].items if count > 1 else (ins.operands[1],)
    reads, size = [decoder.source(item, f"u{8 * width}") for item in items], count * width

    def step(machine: Hopper) -> None:
        (blocks, offsets), (others, counters) = to(machine), barrier(machine)
        values = np.stack([machine.spread(read(machine)) for read in reads], axis=1)
        for at, lane in enumerate(machine.active().tolist()):
            in_one_block(int(blocks[at]), int(others[at]), at)
            data = np.ascontiguousarray(values[at]).view(UNIT[size])
            load = Load(lane, pc, 0, NOTHING, data[:0], None, NOTHING, size, size, width, change, size)
            with reported(machine, pc):
                place = np.array([_aligned(machine, int(offsets[at]), size, at) // size])
                load = replace(load, chunks=place, data=data)
            send(machine, load, int(counters[at]), [int(blocks[at])])

    return step


def _aligned(machine: Hopper, offset: int, size: int, at: int) -> int:
    place = machine.shared.describe(offset)
    if not 0 <= offset <= machine.shared.size - size:
        text = f"a store of {size} bytes at byte {offset}, behind shared memory"
        raise missing(machine, "out-of-bounds", text, at, "beyond-shared-memory")
    if offset % size:
        text = f"a store of {size} bytes at {place}; the address must be a multiple of it"
        raise missing(machine, "misaligned", text, at)
    return offset
