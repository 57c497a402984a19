"""cp.async.bulk and cp.reduce.async.bulk: copies by the copy engine (PTX ISA, "Data Movement and Conversion
Instructions: Bulk copy", "Tensor copy")."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from ..memory import UNIT, Buffer, Fault
from ..observe import events
from ..ptx.opcode import DTYPES, Opcode, UnsupportedInstruction
from ..ptx.program import Instruction
from ..races.shadow import Act
from ..tensor_map import BYTES, Layout
from ..units.bulk import CHUNK, Load, Store
from ..units.mbarriers import SIZE
from .atomics import operation_of
from .memory import address_reader, constant, plain_offset

UPDATES = Act(True, True, True)
"""What a copy does to its mbarrier, as races go."""
TENSOR_ALIGNED = 128
"""Bytes: where a box in shared memory must begin."""
TYPES = {"f2": "f16", "f4": "f32", "f8": "f64", "i4": "s32", "u4": "u32", "i8": "s64", "u8": "u64"}
"""Types of PTX by those of arrays, for reductions through tensor maps."""
REDUCED = {
    "add": ("u32", "s32", "u64", "f16", "bf16", "f32", "f64"),
    **dict.fromkeys(("min", "max"), ("u32", "s32", "u64", "s64", "f16", "bf16")),
    **dict.fromkeys(("inc", "dec"), ("u32",)),
    **dict.fromkeys(("and", "or", "xor"), ("b32", "b64")),
}
"""Types that each reduction takes in global memory (PTX ISA, "cp.reduce.async.bulk")."""
INTO_SHARED = ("u32", "s32", "b32")
"""And into shared memory; of u64 only sums."""


def bulk(d, ins: Instruction) -> Callable:
    """The step of an instruction of this family."""
    opcode, pc = ins.opcode, d.pc
    if opcode.has("commit_group"):

        def commit(m) -> None:
            m.recorder.event(pc, events.BulkCommit())
            m.bulk.commit(m.active())

        return commit
    if opcode.has("wait_group"):
        keep = constant(ins.operands[0], "cp.async.bulk.wait_group")
        read_only = opcode.has("read")

        def wait(m) -> None:
            m.recorder.event(pc, events.BulkWait(keep, read_only))
            m.bulk.wait(m.active(), keep, read_only)

        return wait
    if opcode.has("prefetch"):
        return lambda m: None
    if any(opcode.has(m) for m in ("im2col", "im2col_no_offs", "scatter4", "gather4")):
        raise UnsupportedInstruction(
            "tensor copies with .im2col, .gather4 or .scatter4 are not simulated: only tiled ones are"
        )
    to_shared = "mbarrier::complete_tx::bytes" in opcode.text
    if "tensor" in opcode.modifiers:
        return _load_tensor(d, ins) if to_shared else _store_tensor(d, ins)
    if not (to_shared or opcode.has("bulk_group")):
        raise UnsupportedInstruction("this form of a bulk copy is not simulated")
    if "shared::cluster.shared::cta" in opcode.text:
        return _send_shared(d, ins)
    return _load(d, ins) if to_shared else _store(d, ins)


# --------------------------------------------------------------------------- operands


def _shared_reader(d, operand) -> Callable:
    """Bytes of shared memory, inside of their block, of the active lanes."""
    read = cluster_reader(d, operand)

    def offsets(m) -> np.ndarray:
        blocks, offset = read(m)
        if (blocks != m.block_of[m.active()]).any():
            raise Fault(
                "unsupported-instruction",
                "a bulk copy from global memory to another block is simulated with .multicast::cluster only",
                0,
            )
        return offset

    return offsets


def cluster_reader(d, operand) -> Callable:
    """For the active lanes the resident blocks, and the bytes of their shared memory, that they name."""
    read = address_reader(d, operand, wide=False)
    return lambda m: m.clusters.place(plain_offset(m.spread(read(m))), m.active())


def _tensor_reader(d, operand) -> Callable:
    """For each active lane its map and its coordinates."""
    address = address_reader(d, replace(operand, coordinates=()), wide=True)
    coordinates = [d.source(each, "s32") for each in operand.coordinates]

    def read(m) -> Iterator[tuple[Layout, list[int]]]:
        places = np.stack([m.spread(each(m)).astype(np.int64) for each in coordinates], axis=1)
        for at, address_of in enumerate(m.spread(address(m)).tolist()):
            yield _map_at(m, address_of, at, len(coordinates), d.pc), places[at].tolist()

    return read


def _map_at(m, address: int, at: int, rank: int, pc: int) -> Layout:
    """The tensor map at an address: of a parameter (their addresses are small), or in global memory."""
    if address < len(m.launch.params):
        data = m.launch.params[address : address + BYTES]
    else:
        buffer = m.memory.find(address)
        first = address - buffer.base if buffer else 0
        data = buffer.memory.data[first : first + BYTES] if buffer else np.zeros(0, np.uint8)
    layout = Layout.unpack(np.ascontiguousarray(data)) if len(data) == BYTES else None
    if layout is None:
        raise Fault("out-of-bounds", f"there is no tensor map at address {address:#x}", at, "no-array")
    if len(layout.shape) != rank:
        text = f"the tensor map has {len(layout.shape)} dimensions, and the copy gives {rank} coordinates"
        raise Fault("unsupported-instruction", text, at)
    return layout


def _chunks(m, offset: int, size: int, at: int, aligned: int, layout: Layout | None = None) -> np.ndarray:
    """The chunks of a block's shared memory that `size` bytes from an offset on are."""
    if offset % aligned:
        text = f"a bulk copy at {m.shared.describe(offset)}; the address must be a multiple of {aligned}"
        raise Fault("misaligned", text, at)
    if not 0 <= offset <= m.shared.size - size:
        text = f"a bulk copy of {size} bytes at byte {offset} of shared memory, of which the block has {m.shared.size}"
        raise Fault("out-of-bounds", text, at, "beyond-shared-memory")
    chunks = offset // CHUNK + np.arange(size // CHUNK)
    if layout:
        chunks = layout.swizzled(chunks)
    return chunks


def _own(m, lane: int, chunks: np.ndarray) -> np.ndarray:
    """The same among those of all resident blocks."""
    return chunks + int(m.block_base[lane]) // CHUNK


def _buffer(m, address: int, at: int) -> Buffer:
    buffer = m.memory.find(address)
    if buffer is None:
        text = f"a bulk copy at address {address:#x}, which is in no array"
        raise Fault("out-of-bounds", text, at, "no-array")
    return buffer


def _units(m, layout: Layout, coordinates: list[int], at: int) -> tuple[Buffer, np.ndarray, np.ndarray]:
    """A buffer, its units that lie in the box and in the array, and where these lie in the box."""
    if coordinates[0] * layout.itemsize % CHUNK:  # an H100 ends the launch: illegal instruction
        text = f"a tensor copy from element {coordinates[0]} of a row on; its place must be a multiple of {CHUNK} bytes"
        raise Fault("misaligned", text, at)
    offsets, inside = layout.place(coordinates)
    buffer = _buffer(m, layout.address, at)
    units = (offsets[inside] + layout.address - buffer.base) // layout.itemsize
    return buffer, units, np.flatnonzero(inside)


def _reduction(opcode: Opcode, kind: str) -> Callable | None:
    """What becomes of the old values and those of the copy, by the redOp of an opcode; None: it has none."""
    if not opcode.text.startswith("cp.reduce"):
        return None
    name = next((m for m in opcode.modifiers if m in REDUCED), "reduction")
    if kind not in REDUCED.get(name, ()):
        raise UnsupportedInstruction(f"a bulk {name} takes {', '.join(REDUCED.get(name, ()))}, not {kind}")
    change = operation_of(Opcode(f"red.global.{name}.{kind}"), "global")
    return lambda old, new: change(old, new.view(DTYPES[kind]))[0].view(old.dtype)


def _type_of(opcode: Opcode, layout: Layout) -> str:
    """The type of a reduction through a tensor map: that of its elements, as bits where it is a logical one."""
    kind = TYPES.get(layout.kind, layout.kind)
    return f"b{kind[1:]}" if any(opcode.has(name) for name in ("and", "or", "xor")) else kind


def send(m, load: Load, barrier_offset: int, blocks: list[int]) -> None:
    """Start a copy to the same place in each of these blocks. The mbarrier of each counts its bytes; the thread must
    know that it was made."""
    barrier = m.mbarrier(barrier_offset)
    if load.buffer is not None:
        m.counters.add(
            load.pc, bulk_copies=1, bulk_bytes=load.size, bulk_landed_bytes=load.size * len(blocks)
        )
    m.recorder.of_lane(load.pc, load.lane, events.BulkCopy(barrier_offset, load.size, len(blocks)))
    for block in blocks:
        lane, at = np.array([load.lane]), np.array([block])
        barrier.must_be_there(lane, at)
        m.shadow.on_access(m, UPDATES, lane, barrier.unit(at), SIZE, load.pc)
        m.clusters.touch(lane, at, load.pc)
        there = replace(load, chunks=load.chunks + block * m.shared.stride // load.grain)
        barrier.take_off(block, m.bulk.issue(there))


def _receivers(d, ins: Instruction, at: int) -> Callable:
    """For each active lane the resident blocks to which it copies: its own, or those that a mask names."""
    if "multicast" not in ins.opcode.text:
        return lambda m: [[block] for block in m.block_of[m.active()].tolist()]
    mask = d.source(ins.operands[at], "b16")

    def read(m) -> list[list[int]]:
        found = []
        for lane, bits in zip(m.active().tolist(), m.spread(mask(m)).tolist(), strict=True):
            first = int(m.clusters.first_of[m.block_of[lane]])
            found.append([first + i for i in range(m.clusters.size) if bits >> i & 1])
            if bits >> m.clusters.size:
                raise Fault(
                    "out-of-bounds",
                    f"the mask {bits:#x} of a copy names blocks that the cluster of {m.clusters.size} has not",
                    0,
                    "no-such-block",
                )
        return found

    return read


# --------------------------------------------------------------------------- copies


def _send_out(m, store: Store) -> None:
    """Start a copy to global memory."""
    m.counters.add(store.pc, bulk_stores=1, bulk_store_bytes=store.data.nbytes)
    m.recorder.of_lane(store.pc, store.lane, events.BulkStore(store.data.nbytes))
    m.bulk.store(store)


def _load_tensor(d, ins: Instruction) -> Callable:
    """cp.async.bulk.tensor.nd.shared::cluster.global.mbarrier::complete_tx::bytes{.multicast::cluster} [to],
    [map, {x, y}], [mbarrier]{, mask}."""
    to, barrier = _shared_reader(d, ins.operands[0]), _shared_reader(d, ins.operands[2])
    tensor, receivers = _tensor_reader(d, ins.operands[1]), _receivers(d, ins, 3)
    pc = d.pc

    def step(m) -> None:
        of_lane = zip(
            m.active().tolist(), to(m).tolist(), barrier(m).tolist(), tensor(m), receivers(m), strict=True
        )
        for at, (lane, offset, by, (layout, coordinates), blocks) in enumerate(of_lane):
            size, itemsize = layout.box_bytes, layout.itemsize
            chunks = _chunks(m, offset, size, at, TENSOR_ALIGNED, layout)
            buffer, units, inside = _units(m, layout, coordinates, at)
            data = np.zeros(size // itemsize, UNIT[itemsize])
            data[inside] = buffer.memory.units(itemsize)[units]
            load = Load(lane, pc, 0, chunks, data.view(UNIT[CHUNK]), buffer, units, itemsize, size)
            send(m, load, by, blocks)

    return step


def _load(d, ins: Instruction) -> Callable:
    """cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes{.multicast::cluster} [to], [from], size,
    [mbarrier]{, mask}."""
    to, barrier = _shared_reader(d, ins.operands[0]), _shared_reader(d, ins.operands[3])
    source, size = address_reader(d, ins.operands[1], wide=True), d.source(ins.operands[2], "u32")
    receivers = _receivers(d, ins, 4)
    pc = d.pc

    def step(m) -> None:
        sizes, sources = m.spread(size(m)).tolist(), m.spread(source(m)).tolist()
        of_lane = zip(m.active().tolist(), to(m).tolist(), barrier(m).tolist(), receivers(m), strict=True)
        for at, (lane, offset, by, blocks) in enumerate(of_lane):
            chunks = _chunks(m, offset, _whole(sizes[at], at), at, CHUNK)
            buffer, units = _run_of(m, sources[at], sizes[at], at, "read-beyond-array")
            data = buffer.memory.units(CHUNK)[units]
            load = Load(lane, pc, 0, chunks, data, buffer, units, CHUNK, sizes[at])
            send(m, load, by, blocks)

    return step


def _send_shared(d, ins: Instruction) -> Callable:
    """cp{.reduce}.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes{.redOp.type} [to], [from], size,
    [mbarrier]: to a block of the cluster, in which the mbarrier lies as well."""
    to, barrier = cluster_reader(d, ins.operands[0]), cluster_reader(d, ins.operands[3])
    source, size, pc = _shared_reader(d, ins.operands[1]), d.source(ins.operands[2], "u32"), d.pc
    kind = ins.opcode.types[-1] if ins.opcode.types else "b32"
    if kind not in INTO_SHARED and not (kind == "u64" and ins.opcode.has("add")):
        raise UnsupportedInstruction(
            f"a bulk reduction into shared memory takes {', '.join(INTO_SHARED)}, not {kind}"
        )
    change, width = _reduction(ins.opcode, kind), DTYPES[kind].itemsize

    def step(m) -> None:
        sizes, (blocks, offsets), (others, counters) = m.spread(size(m)).tolist(), to(m), barrier(m)
        for at, (lane, start) in enumerate(zip(m.active().tolist(), source(m).tolist(), strict=True)):
            in_one_block(int(blocks[at]), int(others[at]), at)
            read = _own(m, lane, _chunks(m, start, _whole(sizes[at], at), at, CHUNK))
            chunks = _chunks(m, int(offsets[at]), sizes[at], at, CHUNK)
            data = m.shared.memory.units(CHUNK)[read]
            load = Load(lane, pc, 0, chunks, data, m.shared, read, CHUNK, sizes[at], width, change)
            send(m, load, int(counters[at]), [int(blocks[at])])

    return step


def in_one_block(block: int, of_mbarrier: int, at: int) -> None:
    if block != of_mbarrier:
        text = "a copy to one block, and its mbarrier in another; it must lie where the copy goes"
        raise Fault("mbarrier", text, at, "mbarrier-elsewhere")


def _store_tensor(d, ins: Instruction) -> Callable:
    """cp{.reduce}.async.bulk.tensor.nd.global.shared::cta{.redOp}.bulk_group [map, {x, y}], [from]."""
    tensor, source = _tensor_reader(d, ins.operands[0]), _shared_reader(d, ins.operands[1])
    pc, opcode = d.pc, ins.opcode

    def step(m) -> None:
        for at, (lane, offset, (layout, coordinates)) in enumerate(
            zip(m.active().tolist(), source(m).tolist(), tensor(m), strict=True)
        ):
            chunks = _own(m, lane, _chunks(m, offset, layout.box_bytes, at, TENSOR_ALIGNED, layout))
            buffer, units, inside = _units(m, layout, coordinates, at)
            data = m.shared.memory.units(CHUNK)[chunks].view(UNIT[layout.itemsize])[inside]
            chunks = chunks[np.unique(inside * layout.itemsize // CHUNK)]  # what is outside is not read
            change = _reduction(opcode, _type_of(opcode, layout))
            if len(chunks):  # else all of it lies outside
                _send_out(m, Store(lane, pc, 0, 0, chunks, buffer, units, data, change))

    return step


def _store(d, ins: Instruction) -> Callable:
    """cp{.reduce}.async.bulk.global.shared::cta.bulk_group{.redOp.type} [to], [from], size."""
    to, source = address_reader(d, ins.operands[0], wide=True), _shared_reader(d, ins.operands[1])
    size, pc = d.source(ins.operands[2], "u32"), d.pc
    kind = ins.opcode.types[-1] if ins.opcode.types else "b32"
    change, itemsize = _reduction(ins.opcode, kind), DTYPES[kind].itemsize

    def step(m) -> None:
        sizes, places = m.spread(size(m)).tolist(), m.spread(to(m)).tolist()
        for at, (lane, offset) in enumerate(zip(m.active().tolist(), source(m).tolist(), strict=True)):
            chunks = _own(m, lane, _chunks(m, offset, _whole(sizes[at], at), at, CHUNK))
            buffer, units = _run_of(m, places[at], sizes[at], at, "write-beyond-array")
            data = m.shared.memory.units(CHUNK)[chunks]
            if change:
                units = (units[:, None] * (CHUNK // itemsize) + np.arange(CHUNK // itemsize)).ravel()
                data = data.view(UNIT[itemsize])
            _send_out(m, Store(lane, pc, 0, 0, chunks, buffer, units, data, change))

    return step


def _whole(size: int, at: int) -> int:
    if size % CHUNK:
        raise Fault("misaligned", f"a bulk copy of {size} bytes; the size must be a multiple of {CHUNK}", at)
    return size


def _run_of(m, address: int, size: int, at: int, beyond: str) -> tuple[Buffer, np.ndarray]:
    """A buffer, and its chunks from an address on. `beyond`: the cause, if it ends before them."""
    buffer = _buffer(m, address, at)
    first = address - buffer.base
    if first % CHUNK:
        raise Fault(
            "misaligned",
            f"a bulk copy at {buffer.element(first)}; the address must be a multiple of {CHUNK}",
            at,
        )
    if first + size > buffer.size:
        text = f"a bulk copy of {size} bytes from {buffer.element(first)} on, which has {buffer.elements} elements"
        raise Fault("out-of-bounds", text, at, beyond)
    return buffer, first // CHUNK + np.arange(size // CHUNK)
