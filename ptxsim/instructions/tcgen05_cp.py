"""tcgen05.cp: copies from shared to tensor memory (PTX ISA, "tcgen05.cp")."""

from collections.abc import Callable

import numpy as np

from ..gpus import WARP
from ..ground.tensor_cells import LANES
from ..ptx.opcode import Opcode, UnsupportedInstruction
from ..ptx.program import Instruction
from ..units.tensor_memory import Blackwell
from .descriptors import chunks_of, fetched
from .memory import address_reader
from .registry import Operands, on_machine
from .tcgen05_mma import Issue, as_of_wgmma, cells_at

SHAPES = {
    "128x256b": np.arange(128)[:, None],
    "128x128b": np.arange(128)[:, None],
    "4x256b": WARP * np.arange(4)[:, None],
    "64x128b.warpx2::02_13": np.arange(64)[:, None] + 64 * np.arange(2),
    "64x128b.warpx2::01_23": np.arange(64)[:, None] + WARP * (np.arange(64)[:, None] // WARP + np.arange(2)),
    "32x128b.warpx4": np.arange(32)[:, None] + WARP * np.arange(4),
}
"""The lanes that each row comes to: (rows, copies). Derived from CUTLASS's copy_traits_sm100.hpp."""


@on_machine("tcgen05.cp")
def cp(decoder: Operands, ins: Instruction) -> Callable:
    """tcgen05.cp.cta_group::n.shape{.warps} [place], descriptor: rows of 16 or 32 bytes in shared memory, each to one
    lane or to several. In a pair each block copies from its own shared memory to its own tensor memory."""
    place, source = (
        address_reader(decoder, ins.operands[0], wide=False),
        decoder.source(ins.operands[1], "b64"),
    )
    lanes, wide = SHAPES[shape := _shape(ins.opcode)], "256b" in shape
    in_pairs, pc = ins.opcode.has("cta_group::2"), decoder.pc

    def step(machine: Blackwell) -> None:
        places, sources = (machine.spread(read(machine)).tolist() for read in (place, source))
        for at, lane in enumerate(machine.active().tolist()):
            issue = Issue(machine, pc, at, lane, machine.tensor.blocks(pc, lane, at, in_pairs))
            _copy(issue, places[at], sources[at], lanes, 2 if wide else 1)

    return step


def _copy(issue: Issue, place: int, descriptor: int, lanes: np.ndarray, halves: int) -> None:
    """`halves`: chunks of a row."""
    start, first, few = place >> 16 & LANES - 1, place & 0xFFFF, len(lanes) == 4
    if start % WARP and not few:
        text = f"lane {start} in the address of {issue.name}: it begins at lane 0"
        raise issue.refuse(text, "bad-lane")
    chunks = chunks_of(as_of_wgmma(issue, descriptor), len(lanes), 2, False)[:, :halves]
    lane = lanes[:, :, None] + start % WARP
    cells = np.stack(cells_at(issue, lane, first + np.arange(4 * halves)))
    data, inside, (beyond, *_) = zip(
        *(fetched(issue.machine, chunks, base) for base in issue.bases), strict=True
    )
    issue.must_reach(beyond)
    tensor = issue.machine.tensor
    tensor.copy(issue.pc, issue.lane, cells.ravel(), np.unique(np.concatenate(inside)))
    rows = np.stack(data).view(np.uint32).reshape(len(data), len(lanes), 1, 4 * halves)
    tensor.cells[cells] = rows


def _shape(opcode: Opcode) -> str:
    """One of SHAPES."""
    shape = ".".join(each for each in opcode.modifiers if "x" in each)
    if shape not in SHAPES:
        raise UnsupportedInstruction(f"tcgen05.cp of the form .{shape} is not simulated")
    return shape
