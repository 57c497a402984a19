"""clusterlaunchcontrol: blocks that run take over the work of clusters that wait for their turn (PTX ISA,
"clusterlaunchcontrol.try_cancel", ".query_cancel")."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..ground.memory import UNIT
from ..ptx.opcode import UnsupportedInstruction
from ..ptx.program import Instruction, Vector
from ..units.bulk import CHUNK
from ..units.mbarriers import Hopper
from .bulk import chunks_at, empty, reported, send, shared_reader
from .registry import Operands, on_machine


@on_machine("clusterlaunchcontrol.try_cancel")
def try_cancel(decoder: Operands, ins: Instruction) -> Callable:
    """clusterlaunchcontrol.try_cancel.async{.shared::cta}.mbarrier::complete_tx::bytes{.multicast::cluster::all}.b128
    [to], [mbarrier]: the next cluster that has not begun never does. 16 bytes come, to each block of the cluster where
    it says so: x, y and z of that one's first block, and whether there was one (as nvcc 13.0 reads them)."""
    to, barrier = (shared_reader(decoder, each) for each in ins.operands)
    to_all, pc = ins.opcode.has("multicast::cluster::all"), decoder.pc

    def step(machine: Hopper) -> None:
        places = zip(machine.active().tolist(), to(machine).tolist(), barrier(machine).tolist(), strict=True)
        for at, (lane, offset, counter) in enumerate(places):
            block = int(machine.block_of[lane])
            first = int(machine.clusters.first_of[block])
            load = empty(lane, pc, CHUNK)
            with reported(machine, pc):
                chunks = chunks_at(machine, offset, CHUNK, at, CHUNK)
                x, y, z, done = machine.cancel()
                data = np.array([x, y | z << 16, done, 0], np.uint32).view(UNIT[CHUNK])
                load = replace(load, chunks=chunks, data=data)
            blocks = list(range(first, first + machine.clusters.size)) if to_all else [block]
            send(machine, load, counter, blocks)

    return step


@on_machine("clusterlaunchcontrol.query_cancel")
def query_cancel(decoder: Operands, ins: Instruction) -> Callable:
    """clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, answer · .get_first_ctaid.v4.b32.b128 {x, y, z, _},
    answer · .get_first_ctaid::{x,y,z}.b32.b128 d, answer."""
    opcode, to = ins.opcode, ins.operands[0]
    read = decoder.source(ins.operands[1], "b128")
    puts = [decoder.target(each) for each in (to.items if isinstance(to, Vector) else (to,))]
    take: list[Callable[[np.ndarray], np.ndarray]]
    if opcode.has("is_canceled"):
        take = [lambda words: (words[:, 2] & 1).astype(bool)]
    elif opcode.has("get_first_ctaid"):
        take = [*PARTS.values(), PARTS["x"]]
    else:
        part = next((each for each in PARTS if opcode.has(f"get_first_ctaid::{each}")), "")
        if not part:
            raise UnsupportedInstruction(f"{opcode.text} is not simulated")
        take = [PARTS[part]]

    def step(machine: Hopper) -> None:
        words = np.ascontiguousarray(read(machine)).view(np.uint32).reshape(-1, 4)
        for put, part in zip(puts, take, strict=True):
            put(machine, part(words))

    return step


PARTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "x": lambda words: words[:, 0],
    "y": lambda words: words[:, 1] & 0xFFFF,
    "z": lambda words: words[:, 1] >> 16,
}
