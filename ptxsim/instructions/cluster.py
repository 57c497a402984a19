"""Clusters: mapa, getctarank (PTX ISA, "Data Movement and Conversion Instructions"). barrier.py has barrier.cluster."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..memory import SHARED_WINDOW, Fault
from ..ptx.program import Instruction
from ..units.clusters import RANK_SHIFT
from .registry import machine


@machine("mapa")
def mapa(d, ins: Instruction) -> Callable:
    """mapa{.shared::cluster}.type d, a, block: the same place in the shared memory of another block of the cluster."""
    kind = ins.opcode.types[-1]
    window = 0 if ins.opcode.has("shared::cluster") else SHARED_WINDOW
    put, place, block = (
        d.target(ins.operands[0]),
        d.source(ins.operands[1], kind),
        d.source(ins.operands[2], "u32"),
    )

    def step(m) -> None:
        ranks = m.spread(block(m)).astype(np.int64)
        if (wrong := np.flatnonzero(ranks >= m.clusters.size)).size:
            text = f"mapa names block {ranks[wrong[0]]} of a cluster of {m.clusters.size}"
            raise Fault("out-of-bounds", text, int(wrong[0]), "no-such-block")
        offset = (m.spread(place(m)).astype(np.int64) - window) & (1 << RANK_SHIFT) - 1
        put(m, (window + (ranks + 1 << RANK_SHIFT) + offset).astype(f"u{8 if kind.endswith('64') else 4}"))

    return step


@machine("getctarank")
def getctarank(d, ins: Instruction) -> Callable:
    """getctarank{.shared::cluster}.type d, a: in which block of the cluster an address lies."""
    kind = ins.opcode.types[-1]
    window = 0 if ins.opcode.has("shared::cluster") else SHARED_WINDOW
    put, place = d.target(ins.operands[0]), d.source(ins.operands[1], kind)

    def step(m) -> None:
        lanes = m.active()
        blocks, _ = m.clusters.place(m.spread(place(m)).astype(np.int64) - window, lanes)
        put(m, (blocks % m.clusters.size).astype(np.uint32))

    return step
