"""tcgen05: tensor memory (PTX ISA, "TensorCore 5th Generation Family Instructions"). tcgen05_mma.py has its products,
units/tensor_memory.py the memory and its order."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from ..gpus import WARP
from ..ground.memory import Fault
from ..ground.tensor_cells import CELLS, COLUMNS, LANES
from ..lanes import Lanes
from ..ptx.opcode import Opcode, UnsupportedInstruction
from ..ptx.program import Instruction, Register, Vector
from ..races.shadow import Act, Reach
from ..units.access import Access, write
from ..units.mbarriers import SIZE, Late
from ..units.tensor_memory import Blackwell, Product
from .barrier import guarded
from .bulk import cluster_reader
from .mbarrier import UPDATES
from .memory import address_reader, constant
from .registry import Operands, control, on_machine
from .tensor import whole_warps

# --------------------------------------------------------------------------- columns


@control("tcgen05.alloc")
def alloc(decoder: Operands, ins: Instruction) -> Callable:
    """tcgen05.alloc.cta_group::n.sync.aligned.shared::cta.b32 [to], columns: the first one's number comes to shared
    memory."""
    pc, in_pairs = decoder.pc, _in_pairs(ins.opcode)
    to, columns = address_reader(decoder, ins.operands[0], wide=False), decoder.source(ins.operands[1], "u32")
    access = Access(pc, "shared", 4, Act(False, True), array=decoder.code.shared_arrays.get(pc))

    def end(machine: Blackwell) -> None:
        whole_warps(machine)
        addresses, asked = machine.spread(to(machine)), machine.spread(columns(machine))

        def resume(place: np.ndarray, machine: Blackwell, lanes: np.ndarray, first: int) -> None:
            machine.idx = lanes
            write(machine, access, place, np.full(len(lanes), first, np.uint32))
            # the warp that asks may read it at once (PTX ISA, "tcgen05.alloc", example)
            machine.orders.meet(lanes, machine.warp_of[lanes])
            machine.turns.add(pc + 1, lanes)

        for lanes, at in _warps(machine):
            machine.tensor.ask(pc, lanes, int(asked[at][0]), partial(resume, addresses[at]), in_pairs)

    return guarded(decoder, ins, end)


@on_machine("tcgen05.dealloc")
def dealloc(decoder: Operands, ins: Instruction) -> Callable:
    """tcgen05.dealloc.cta_group::n.sync.aligned.b32 place, columns: each block of a pair frees its own."""
    first, columns = (decoder.source(each, "u32") for each in ins.operands)
    pc = decoder.pc

    def step(machine: Blackwell) -> None:
        whole_warps(machine)
        places, counts = machine.spread(first(machine)), machine.spread(columns(machine))
        for lanes, at in _warps(machine):
            machine.tensor.give_back(pc, lanes, int(places[at][0]) & 0xFFFF, int(counts[at][0]))

    return step


@on_machine("tcgen05.relinquish_alloc_permit")
def relinquish(decoder: Operands, ins: Instruction) -> Callable:
    """tcgen05.relinquish_alloc_permit.cta_group::n.sync.aligned: the block asks for no columns any more."""

    def step(machine: Blackwell) -> None:
        whole_warps(machine)
        for lanes, _ in _warps(machine):
            machine.tensor.relinquish(lanes)

    return step


def _in_pairs(opcode: Opcode) -> bool:
    return opcode.has("cta_group::2")


def _warps(machine: Lanes) -> Iterator[tuple[np.ndarray, slice]]:
    """The lanes of each active warp, and where these stand among all that are active."""
    lanes = machine.active()
    for first in range(0, len(lanes), WARP):
        yield lanes[first : first + WARP], slice(first, first + WARP)


# --------------------------------------------------------------------------- loads and stores


@on_machine("tcgen05.ld")
def ld(decoder: Operands, ins: Instruction) -> Callable:
    """tcgen05.ld.sync.aligned.shape.xN.b32 {registers}, [place]{, columns between two halves}."""
    registers, shape = _registers_of(ins.operands[0]), _shape(ins)
    place, puts = address_reader(decoder, ins.operands[1], wide=False), [decoder.target(r) for r in registers]
    indices, pc = [r.index for r in registers if isinstance(r, Register)], decoder.pc

    def step(machine: Blackwell) -> None:
        found = np.empty((whole_warps(machine) * WARP, len(puts)), np.uint32)
        places = machine.spread(place(machine))
        for lanes, at in _warps(machine):
            cells = _cells(machine, pc, shape, lanes, places[at])
            machine.tensor.load(pc, lanes, cells, indices)
            found[at] = machine.tensor.cells[cells]
        for i, put in enumerate(puts):
            put(machine, np.ascontiguousarray(found[:, i]))

    return step


@on_machine("tcgen05.st")
def st(decoder: Operands, ins: Instruction) -> Callable:
    """tcgen05.st.sync.aligned.shape.xN.b32 [place]{, columns between two halves}, {registers}."""
    shape, place = _shape(ins), address_reader(decoder, ins.operands[0], wide=False)
    gets, pc = [decoder.source(r, "b32") for r in _registers_of(ins.operands[-1])], decoder.pc

    def step(machine: Blackwell) -> None:
        whole_warps(machine)
        given = np.stack([machine.spread(get(machine)) for get in gets], axis=1)
        places = machine.spread(place(machine))
        for lanes, at in _warps(machine):
            cells = _cells(machine, pc, shape, lanes, places[at])
            machine.tensor.store(pc, lanes, cells)
            machine.tensor.cells[cells] = given[at]

    return step


@on_machine("tcgen05.wait::ld")
def wait_for_loads(decoder: Operands, ins: Instruction) -> Callable:
    """tcgen05.wait::ld.sync.aligned."""
    return partial(_wait, loads=True)


@on_machine("tcgen05.wait::st")
def wait_for_stores(decoder: Operands, ins: Instruction) -> Callable:
    """tcgen05.wait::st.sync.aligned."""
    return partial(_wait, loads=False)


def _wait(machine: Blackwell, loads: bool) -> None:
    whole_warps(machine)
    machine.tensor.wait(machine.active(), loads)


def _registers_of(operand: object) -> list:
    return list(operand.items) if isinstance(operand, Vector) else [operand]


@dataclass(frozen=True, eq=False)
class Shape:
    """Of a load or a store: for each thread and register the lane (of the warp's 32) and the column. `half`: it takes
    16 of the 32 lanes."""

    name: str
    lane: np.ndarray
    column: np.ndarray
    half: bool


def _shape(ins: Instruction) -> Shape:
    opcode = ins.opcode
    if wrong := [m for m in opcode.modifiers if m.startswith(("pack", "unpack", "red", "stat"))]:
        raise UnsupportedInstruction(f"tcgen05 with .{wrong[0]} is not simulated")
    name = next((m for m in opcode.modifiers if re.fullmatch(r"\d+x\d+b(x2)?", m)), "")
    times = next((int(m[1:]) for m in opcode.modifiers if re.fullmatch(r"x\d+", m)), 0)
    if name not in SHAPES or not 1 <= times * SHAPES[name] <= 128:
        raise UnsupportedInstruction(f"tcgen05 has no shape {name or 'without a name'} x{times}")
    apart = constant(ins.operands[1 + (opcode.root == "tcgen05.ld")], name) if name == "16x32bx2" else 0
    return _table(name, times, apart)


SHAPES = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}
"""Registers of each thread for one repetition."""


@cache
def _table(name: str, times: int, apart: int) -> Shape:
    """Derived from CUTLASS's copy_traits_sm100.hpp, since the PTX ISA tells it by figures alone. `apart`: columns
    between the two halves of 16x32bx2."""
    t, r = np.arange(WARP)[:, None], np.arange(times * SHAPES[name])[None, :]
    lane, column = {
        "32x32b": (t + 0 * r, r + 0 * t),
        "16x64b": (8 * (t % 2) + t // 4 + 0 * r, t // 2 % 2 + 2 * r),
        "16x128b": (t // 4 + 8 * (r % 2), t % 4 + 4 * (r // 2)),
        "16x32bx2": (t % 16 + 0 * r, r + t // 16 * apart),
        "16x256b": (t // 4 + 8 * (r // 2 % 2), 2 * (t % 4) + r % 2 + 8 * (r // 4)),
    }[name]
    return Shape(name, lane, column, name != "32x32b")


def _cells(machine: Blackwell, pc: int, shape: Shape, lanes: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Of a warp, for each thread and register. `places`: the address that each thread gives."""
    place = int(places[0])
    if (places != place).any():
        other = int((places != place).argmax())
        at, given = int(np.searchsorted(machine.active(), lanes[other])), int(places[other])
        words = f"its address in tensor memory is {given:#x}, and {place:#x} that of the warp's first thread"
        raise Fault("tensor-memory", words, at, "addresses-differ")
    block, warp = int(machine.block_of[lanes[0]]), int(machine.thread_of[lanes[0]]) // WARP % 4
    lane, column = place >> 16, place & 0xFFFF
    if lane >= 2 * LANES or lane % WARP not in ((0, 16) if shape.half else (0,)):
        begins = "0 or 16" if shape.half else "0"
        text = f"lane {lane} in the address of a {shape.name} access: of the warp's 32 lanes it begins at {begins}"
        raise Fault("tensor-memory", text, int(np.searchsorted(machine.active(), lanes[0])), "bad-lane")
    if lane % LANES // WARP not in (0, warp):
        machine.log.note(
            f"{machine.launch.code.where(pc)}: a warp reaches the 32 lanes of tensor memory that its number says, and "
            f"warp {warp} of four names lane {lane}: the GPU takes lane {WARP * warp + lane % WARP}"
        )
    columns = column + shape.column
    if columns.max() >= COLUMNS:
        text = f"column {int(columns.max())} of tensor memory, which has {COLUMNS}"
        raise Fault(
            "tensor-memory", text, int(np.searchsorted(machine.active(), lanes[0])), "columns-not-held"
        )
    cells = block * CELLS + (WARP * warp + lane % WARP + shape.lane) * COLUMNS + columns
    machine.tensor.must_be_held(pc, lanes, cells)
    return cells


# --------------------------------------------------------------------------- who hears of products


@on_machine("tcgen05.commit")
def commit(decoder: Operands, ins: Instruction) -> Callable:
    """tcgen05.commit.cta_group::n.mbarrier::arrive::one{.shared::cluster}{.multicast::cluster}.b64 [mbarrier]{, mask}:
    arrives there once, or at the same place in each block of the mask, when all products that the thread has started
    are over."""
    address, pc = cluster_reader(decoder, ins.operands[0]), decoder.pc
    mask = decoder.source(ins.operands[1], "b16") if ins.opcode.has("multicast::cluster") else None

    def step(machine: Blackwell) -> None:
        blocks, offsets = address(machine)
        masks = machine.spread(mask(machine)).tolist() if mask else []
        for at, (lane, block, offset) in enumerate(
            zip(machine.active().tolist(), blocks.tolist(), offsets.tolist(), strict=True)
        ):
            end = partial(_end, machine, machine.tensor.under_way(lane))
            machine.tensor.fences.before(np.array([lane]), machine.orders.trail.step(pc))
            first = int(machine.clusters.first_of[block])
            named = [i for i in range(16) if masks[at] >> i & 1] if mask else [block - first]
            if named and named[-1] >= machine.clusters.size:
                text = f"the mask {masks[at]:#x} names blocks that the cluster of {machine.clusters.size} has not"
                raise Fault("tensor-memory", text, at, "no-such-block")
            for each in named:
                _tell(machine, pc, at, lane, first + each, offset, end)

    return step


def _tell(
    machine: Blackwell, pc: int, at: int, lane: int, block: int, offset: int, end: Callable[[np.ndarray], int]
) -> None:
    """The mbarrier at this place of a block gets an arrival of this lane, later."""
    one, there = np.array([lane]), np.array([block])
    barrier = machine.mbarrier(offset)
    if not barrier.count[block]:
        active, machine.idx = machine.idx, one
        barrier.must_be_there(one, there)
        machine.idx = active
    machine.shadow.on_access(machine, UPDATES, Reach(one, barrier.unit(there), SIZE, pc))
    machine.clusters.touch(one, there, pc)
    barrier.arrive_late(block, Late(one, end), with_news=True)


def _end(machine: Blackwell, products: list[Product], lanes: np.ndarray) -> int:
    return machine.tensor.end(products)


# --------------------------------------------------------------------------- fences that only a note asks for


@on_machine("tcgen05.fence::before_thread_sync")
def fence_before(decoder: Operands, ins: Instruction) -> Callable:
    """tcgen05.fence::before_thread_sync: no machine instruction comes of it, and it orders nothing here."""
    pc = decoder.pc
    return lambda machine: machine.tensor.fences.before(machine.active(), machine.orders.trail.step(pc))


@on_machine("tcgen05.fence::after_thread_sync")
def fence_after(decoder: Operands, ins: Instruction) -> Callable:
    """tcgen05.fence::after_thread_sync: the same."""
    return lambda machine: machine.tensor.fences.after(machine.active())
