"""Clusters: mapa, getctarank (PTX ISA, "Data Movement and Conversion Instructions"). barrier.py has barrier.cluster."""

from collections.abc import Callable

import numpy as np

from ..ground.memory import SHARED_WINDOW, Miss
from ..ptx.program import Instruction
from ..units.access import Memories
from ..units.clusters import HALF, RANK_SHIFT
from .registry import Operands, on_machine

NOWHERE = HALF - 16
"""An offset behind all shared memory."""


@on_machine("mapa")
def mapa(decoder: Operands, ins: Instruction) -> Callable:
    """mapa{.shared::cluster}.type d, a, block: the same place in the shared memory of another block of the cluster."""
    kind = ins.opcode.types[-1]
    window = 0 if ins.opcode.has("shared::cluster") else SHARED_WINDOW
    put, place, block = (
        decoder.target(ins.operands[0]),
        decoder.source(ins.operands[1], kind),
        decoder.source(ins.operands[2], "u32"),
    )

    def step(machine: Memories) -> None:
        ranks = machine.spread(block(machine)).astype(np.int64)
        if (wrong := ranks >= machine.clusters.size).any():
            text = f"mapa names block {ranks[wrong.argmax()]} of a cluster of {machine.clusters.size}"
            machine.missed(Miss("out-of-bounds", wrong, lambda: text, "no-such-block"), decoder.pc)
        offset = (machine.spread(place(machine)).astype(np.int64) - window) & (1 << RANK_SHIFT) - 1
        offset[wrong] = NOWHERE
        put(
            machine,
            (window + (ranks << RANK_SHIFT) + offset).astype(f"u{8 if kind.endswith('64') else 4}"),
        )

    return step


@on_machine("getctarank")
def getctarank(decoder: Operands, ins: Instruction) -> Callable:
    """getctarank{.shared::cluster}.type d, a: in which block of the cluster an address lies."""
    kind = ins.opcode.types[-1]
    window = 0 if ins.opcode.has("shared::cluster") else SHARED_WINDOW
    put, place = decoder.target(ins.operands[0]), decoder.source(ins.operands[1], kind)

    def step(machine: Memories) -> None:
        lanes = machine.active()
        blocks, _ = machine.clusters.place(machine.spread(place(machine)).astype(np.int64) - window, lanes)
        put(machine, (blocks % machine.clusters.size).astype(np.uint32))

    return step
