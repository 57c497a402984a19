"""cp.async.bulk and cp.reduce.async.bulk: copies by the copy engine (PTX ISA, "Data Movement and Conversion
Instructions: Bulk copy", "Tensor copy")."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from ..ground.memory import UNIT, Buffer, Fault, Miss, in_bytes
from ..ground.tensor_map import BYTES, Layout
from ..observe import events
from ..ptx.opcode import DTYPES, Opcode, UnsupportedInstruction
from ..ptx.program import Address, Instruction
from ..races.shadow import Act, Reach
from ..units.bulk import CHUNK, Load, Store
from ..units.mbarriers import SIZE, Hopper
from .atomics import operation_of
from .memory import address_reader, constant, plain_offset
from .registry import Operands

UPDATES = Act(True, True, True)
"""What a copy does to its mbarrier, as races go."""
NOTHING = np.zeros(0, np.int64)
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


def bulk(decoder: Operands, ins: Instruction) -> Callable:
    """The step of an instruction of this family."""
    opcode = ins.opcode
    if opcode.has("commit_group"):

        def commit(machine: Hopper) -> None:
            machine.bulk.commit(machine.active())

        return commit
    if opcode.has("wait_group"):
        keep = constant(ins.operands[0], "cp.async.bulk.wait_group")
        read_only = opcode.has("read")

        def wait(machine: Hopper) -> None:
            machine.bulk.wait(machine.active(), keep, read_only)

        return wait
    if opcode.has("prefetch"):
        return lambda machine: None
    if any(opcode.has(m) for m in ("im2col", "im2col_no_offs", "scatter4", "gather4")):
        raise UnsupportedInstruction(
            "tensor copies with .im2col, .gather4 or .scatter4 are not simulated: only tiled ones are"
        )
    to_shared = "mbarrier::complete_tx::bytes" in opcode.text
    if "tensor" in opcode.modifiers:
        return _load_tensor(decoder, ins) if to_shared else _store_tensor(decoder, ins)
    if not (to_shared or opcode.has("bulk_group")):
        raise UnsupportedInstruction("this form of a bulk copy is not simulated")
    if "shared::cluster.shared::cta" in opcode.text:
        return _send_shared(decoder, ins)
    return _load(decoder, ins) if to_shared else _store(decoder, ins)


# --------------------------------------------------------------------------- operands


def shared_reader(decoder: Operands, operand: Address) -> Callable[[Hopper], np.ndarray]:
    """Bytes of shared memory, inside of their block, of the active lanes."""
    read = cluster_reader(decoder, operand)

    def offsets(machine: Hopper) -> np.ndarray:
        blocks, offset = read(machine)
        if (blocks != machine.block_of[machine.active()]).any():
            raise Fault(
                "unsupported-instruction",
                "a bulk copy from global memory to another block is simulated with .multicast::cluster only",
                0,
            )
        return offset

    return offsets


def cluster_reader(decoder: Operands, operand: Address) -> Callable[[Hopper], tuple[np.ndarray, np.ndarray]]:
    """For the active lanes the resident blocks, and the bytes of their shared memory, that they name."""
    read = address_reader(decoder, operand, wide=False)
    return lambda machine: machine.clusters.place(
        plain_offset(machine.spread(read(machine))), machine.active()
    )


def _tensor_reader(decoder: Operands, operand: Address) -> Callable:
    """For each active lane its map and its coordinates."""
    address = address_reader(decoder, replace(operand, coordinates=()), wide=True)
    coordinates = [decoder.source(each, "s32") for each in operand.coordinates]

    def read(machine: Hopper) -> list[tuple[Layout, list[int]]]:
        places = np.stack([machine.spread(each(machine)).astype(np.int64) for each in coordinates], axis=1)
        addresses = machine.spread(address(machine)).tolist()
        maps = [_map_at(machine, each, at, len(coordinates), decoder.pc) for at, each in enumerate(addresses)]
        return list(zip(maps, places.tolist(), strict=True))

    return read


def _map_at(machine: Hopper, address: int, at: int, rank: int, pc: int) -> Layout:
    """The tensor map at an address: of a parameter (their addresses are small), or in global memory."""
    if address < len(params := machine.params(at)):
        data = params[address : address + BYTES]
    else:
        buffer = machine.memory.find(address)
        first = address - buffer.base if buffer else 0
        data = buffer.memory.data[first : first + BYTES] if buffer else np.zeros(0, np.uint8)
        if buffer and len(data) == BYTES:
            machine.bulk.read_map(int(machine.active()[at]), pc, buffer, first)
    layout = Layout.unpack(np.ascontiguousarray(data)) if len(data) == BYTES else None
    if layout is None:
        raise missing(
            machine, "out-of-bounds", f"there is no tensor map at address {address:#x}", at, "no-array"
        )
    if len(layout.shape) != rank:
        text = f"the tensor map has {len(layout.shape)} dimensions, and the copy gives {rank} coordinates"
        raise Fault("unsupported-instruction", text, at)
    return layout


def chunks_at(
    machine: Hopper, offset: int, size: int, at: int, aligned: int, layout: Layout | None = None
) -> np.ndarray:
    """The chunks of a block's shared memory that `size` bytes from an offset on are."""
    if offset % aligned:
        text = (
            f"a bulk copy at {machine.shared.describe(offset)}; the address must be a multiple of {aligned}"
        )
        raise missing(machine, "misaligned", text, at)
    if not 0 <= offset <= machine.shared.size - size:
        text = (
            f"a bulk copy of {size} bytes at byte {offset} of shared memory, of which the block has "
            f"{in_bytes(machine.shared.size)}"
        )
        raise missing(machine, "out-of-bounds", text, at, "beyond-shared-memory")
    chunks = offset // CHUNK + np.arange(size // CHUNK)
    if layout:
        chunks = layout.swizzled(chunks)
    return chunks


def _own(machine: Hopper, lane: int, chunks: np.ndarray) -> np.ndarray:
    """The same among those of all resident blocks."""
    return chunks + int(machine.block_base[lane]) // CHUNK


def _buffer(machine: Hopper, address: int, at: int) -> Buffer:
    buffer = machine.memory.find(address)
    if buffer is None:
        text = f"a bulk copy at address {address:#x}, which is in no array"
        raise missing(machine, "out-of-bounds", text, at, "no-array")
    return buffer


def _units(
    machine: Hopper, layout: Layout, coordinates: list[int], at: int
) -> tuple[Buffer, np.ndarray, np.ndarray]:
    """A buffer, its units that lie in the box and in the array, and where these lie in the box."""
    if coordinates[0] * layout.itemsize % CHUNK:  # an H100 ends the launch: illegal instruction
        text = f"a tensor copy from element {coordinates[0]} of a row on; its place must be a multiple of {CHUNK} bytes"
        raise missing(machine, "misaligned", text, at)
    offsets, inside = layout.place(coordinates)
    buffer = _buffer(machine, layout.address, at)
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


def send(
    machine: Hopper, load: Load, barrier_offset: int, blocks: list[int], counting: list[int] | None = None
) -> None:
    """Start a copy to the same place in each of these blocks. The mbarrier of each counts its bytes, or that of the
    block beside it in `counting`; the thread must know that it was made."""
    barrier = machine.mbarrier(barrier_offset)
    if machine.dependence.any_open and load.buffer is not machine.shared:
        machine.dependence.touch(np.array([load.lane]), load.pc)
    if load.buffer is not None:
        machine.counters.add(
            load.pc, bulk_copies=1, bulk_bytes=load.size, bulk_landed_bytes=load.size * len(blocks)
        )
    machine.recorder.of_lane(load.pc, load.lane, events.BulkCopy(barrier_offset, load.size, len(blocks)))
    for block, where in zip(blocks, counting or blocks, strict=True):
        lane, at = np.array([load.lane]), np.array([where])
        barrier.must_be_there(lane, at)
        machine.shadow.on_access(machine, UPDATES, Reach(lane, barrier.unit(at), SIZE, load.pc))
        machine.clusters.touch(lane, at, load.pc)
        machine.clusters.touch(lane, np.array([block]), load.pc)
        there = replace(load, chunks=load.chunks + block * machine.shared.stride // load.grain)
        machine.shared.check_data(there.chunks, load.grain, int(np.searchsorted(machine.active(), load.lane)))
        barrier.take_off(where, machine.bulk.issue(there))


def _receivers(decoder: Operands, ins: Instruction, at: int) -> Callable[[Hopper], list[list[int]]]:
    """For each active lane the resident blocks to which it copies: its own, or those that a mask names."""
    if "multicast" not in ins.opcode.text:
        return lambda machine: [[block] for block in machine.block_of[machine.active()].tolist()]
    mask = decoder.source(ins.operands[at], "b16")

    def read(machine: Hopper) -> list[list[int]]:
        found = []
        for lane, bits in zip(machine.active().tolist(), machine.spread(mask(machine)).tolist(), strict=True):
            first = int(machine.clusters.first_of[machine.block_of[lane]])
            found.append([first + i for i in range(machine.clusters.size) if bits >> i & 1])
            if bits >> machine.clusters.size:
                text = f"the mask {bits:#x} of a copy names blocks that the cluster of {machine.clusters.size} has not"
                miss = missing(machine, "out-of-bounds", text, len(found) - 1, "no-such-block")
                machine.missed(miss, decoder.pc)
        return found

    return read


def missing(machine: Hopper, kind: str, text: str, at: int, cause: str = "") -> Miss:
    """That of the active lane at this position."""
    return Miss(kind, np.arange(machine.count()) == at, lambda: text, cause)


@contextmanager
def reported(machine: Hopper, pc: int) -> Iterator[None]:
    """What a copy misses is reported."""
    try:
        yield
    except Miss as miss:
        machine.missed(miss, pc)


# --------------------------------------------------------------------------- copies


def empty(lane: int, pc: int, size: int) -> Load:
    """A copy that may not be made: it moves nothing, and its bytes count, so that who waits for them goes on."""
    return Load(lane, pc, 0, NOTHING, np.zeros(0, UNIT[CHUNK]), None, NOTHING, CHUNK, size)


def _send_out(machine: Hopper, store: Store) -> None:
    """Start a copy to global memory."""
    if machine.dependence.any_open:
        machine.dependence.touch(np.array([store.lane]), store.pc)
    machine.counters.add(store.pc, bulk_stores=1, bulk_store_bytes=store.data.nbytes)
    machine.recorder.of_lane(store.pc, store.lane, events.BulkStore(store.data.nbytes))
    machine.bulk.store(store)


def _load_tensor(decoder: Operands, ins: Instruction) -> Callable:
    """cp.async.bulk.tensor.nd.shared::cluster.global.mbarrier::complete_tx::bytes{.multicast::cluster}{.cta_group::n}
    [to], [map, {x, y}], [mbarrier]{, mask}. With .cta_group::2 the mbarrier may lie in the other block of the pair."""
    to, barrier = shared_reader(decoder, ins.operands[0]), cluster_reader(decoder, ins.operands[2])
    in_pairs = ins.opcode.has("cta_group::2")
    tensor, receivers = _tensor_reader(decoder, ins.operands[1]), _receivers(decoder, ins, 3)
    pc = decoder.pc

    def step(machine: Hopper) -> None:
        lanes, offsets = machine.active().tolist(), to(machine).tolist()
        counters, barriers = (each.tolist() for each in barrier(machine))
        of_lane = zip(lanes, offsets, counters, barriers, tensor(machine), receivers(machine), strict=True)
        for at, (lane, offset, counter, by, (layout, coordinates), blocks) in enumerate(of_lane):
            counting = [machine.clusters.beside(block, counter) for block in blocks] if in_pairs else blocks
            if not in_pairs:
                in_one_block(int(machine.block_of[lane]), counter, at)
            size, itemsize = layout.box_bytes, layout.itemsize
            load = empty(lane, pc, size)
            with reported(machine, pc):
                chunks = chunks_at(machine, offset, size, at, TENSOR_ALIGNED, layout)
                load = replace(load, chunks=chunks, data=np.zeros(len(chunks), UNIT[CHUNK]))
                buffer, units, inside = _units(machine, layout, coordinates, at)
                data = np.zeros(size // itemsize, UNIT[itemsize])
                data[inside] = buffer.memory.units(itemsize)[units]
                data = data.view(UNIT[CHUNK])
                load = replace(load, data=data, buffer=buffer, units=units, unit_size=itemsize)
            send(machine, load, by, blocks, counting)

    return step


def _load(decoder: Operands, ins: Instruction) -> Callable:
    """cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes{.multicast::cluster} [to], [from], size,
    [mbarrier]{, mask}."""
    to, barrier = shared_reader(decoder, ins.operands[0]), shared_reader(decoder, ins.operands[3])
    source, size = address_reader(decoder, ins.operands[1], wide=True), decoder.source(ins.operands[2], "u32")
    receivers = _receivers(decoder, ins, 4)
    pc = decoder.pc

    def step(machine: Hopper) -> None:
        sizes, sources = machine.spread(size(machine)).tolist(), machine.spread(source(machine)).tolist()
        lanes, offsets, barriers = machine.active().tolist(), to(machine).tolist(), barrier(machine).tolist()
        of_lane = zip(lanes, offsets, barriers, receivers(machine), strict=True)
        for at, (lane, offset, by, blocks) in enumerate(of_lane):
            load = empty(lane, pc, sizes[at])
            with reported(machine, pc):
                chunks = chunks_at(machine, offset, _whole(machine, sizes[at], at), at, CHUNK)
                load = replace(load, chunks=chunks, data=np.zeros(len(chunks), UNIT[CHUNK]))
                buffer, units = _run_of(machine, sources[at], sizes[at], at, "read-beyond-array")
                load = replace(load, data=buffer.memory.units(CHUNK)[units], buffer=buffer, units=units)
            send(machine, load, by, blocks)

    return step


def _send_shared(decoder: Operands, ins: Instruction) -> Callable:
    """cp{.reduce}.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes{.redOp.type} [to], [from], size,
    [mbarrier]: to a block of the cluster, in which the mbarrier lies as well."""
    to, barrier = cluster_reader(decoder, ins.operands[0]), cluster_reader(decoder, ins.operands[3])
    source = shared_reader(decoder, ins.operands[1])
    size = decoder.source(ins.operands[2], "u32")
    pc = decoder.pc
    kind = ins.opcode.types[-1] if ins.opcode.types else "b32"
    if kind not in INTO_SHARED and not (kind == "u64" and ins.opcode.has("add")):
        raise UnsupportedInstruction(
            f"a bulk reduction into shared memory takes {', '.join(INTO_SHARED)}, not {kind}"
        )
    change, width = _reduction(ins.opcode, kind), DTYPES[kind].itemsize

    def step(machine: Hopper) -> None:
        sizes = machine.spread(size(machine)).tolist()
        blocks, offsets = to(machine)
        others, counters = barrier(machine)
        for at, (lane, start) in enumerate(
            zip(machine.active().tolist(), source(machine).tolist(), strict=True)
        ):
            in_one_block(int(blocks[at]), int(others[at]), at)
            load = empty(lane, pc, sizes[at])
            with reported(machine, pc):
                read = _own(
                    machine, lane, chunks_at(machine, start, _whole(machine, sizes[at], at), at, CHUNK)
                )
                chunks = chunks_at(machine, int(offsets[at]), sizes[at], at, CHUNK)
                data = machine.shared.memory.units(CHUNK)[read]
                load = Load(lane, pc, 0, chunks, data, machine.shared, read, CHUNK, sizes[at], width, change)
            send(machine, load, int(counters[at]), [int(blocks[at])])

    return step


def in_one_block(block: int, of_mbarrier: int, at: int) -> None:
    if block != of_mbarrier:
        text = "a copy to one block, and its mbarrier in another; it must lie where the copy goes"
        raise Fault("mbarrier", text, at, "mbarrier-elsewhere")


def _store_tensor(decoder: Operands, ins: Instruction) -> Callable:
    """cp{.reduce}.async.bulk.tensor.nd.global.shared::cta{.redOp}.bulk_group [map, {x, y}], [from]."""
    tensor, source = _tensor_reader(decoder, ins.operands[0]), shared_reader(decoder, ins.operands[1])
    pc, opcode = decoder.pc, ins.opcode

    def step(machine: Hopper) -> None:
        for at, (lane, offset, (layout, coordinates)) in enumerate(
            zip(machine.active().tolist(), source(machine).tolist(), tensor(machine), strict=True)
        ):
            with reported(machine, pc):
                chunks = chunks_at(machine, offset, layout.box_bytes, at, TENSOR_ALIGNED, layout)
                chunks = _own(machine, lane, chunks)
                buffer, units, inside = _units(machine, layout, coordinates, at)
                data = machine.shared.memory.units(CHUNK)[chunks].view(UNIT[layout.itemsize])[inside]
                chunks = chunks[np.unique(inside * layout.itemsize // CHUNK)]  # what is outside is not read
                change = _reduction(opcode, _type_of(opcode, layout))
                if len(chunks):  # else all of it lies outside
                    _send_out(machine, Store(lane, pc, 0, 0, chunks, buffer, units, data, change))

    return step


def _store(decoder: Operands, ins: Instruction) -> Callable:
    """cp{.reduce}.async.bulk.global.shared::cta.bulk_group{.redOp.type} [to], [from], size."""
    to, source = address_reader(decoder, ins.operands[0], wide=True), shared_reader(decoder, ins.operands[1])
    size, pc = decoder.source(ins.operands[2], "u32"), decoder.pc
    kind = ins.opcode.types[-1] if ins.opcode.types else "b32"
    change, itemsize = _reduction(ins.opcode, kind), DTYPES[kind].itemsize

    def step(machine: Hopper) -> None:
        sizes, places = machine.spread(size(machine)).tolist(), machine.spread(to(machine)).tolist()
        for at, (lane, offset) in enumerate(
            zip(machine.active().tolist(), source(machine).tolist(), strict=True)
        ):
            with reported(machine, pc):
                chunks = chunks_at(machine, offset, _whole(machine, sizes[at], at), at, CHUNK)
                chunks = _own(machine, lane, chunks)
                buffer, units = _run_of(machine, places[at], sizes[at], at, "write-beyond-array")
                data = machine.shared.memory.units(CHUNK)[chunks]
                if change:
                    units = (units[:, None] * (CHUNK // itemsize) + np.arange(CHUNK // itemsize)).ravel()
                    data = data.view(UNIT[itemsize])
                _send_out(machine, Store(lane, pc, 0, 0, chunks, buffer, units, data, change))

    return step


def _whole(machine: Hopper, size: int, at: int) -> int:
    if size % CHUNK:
        text = f"a bulk copy of {size} bytes; the size must be a multiple of {CHUNK}"
        raise missing(machine, "misaligned", text, at)
    return size


def _run_of(machine: Hopper, address: int, size: int, at: int, beyond: str) -> tuple[Buffer, np.ndarray]:
    """A buffer, and its chunks from an address on. `beyond`: the cause, if it ends before them."""
    buffer = _buffer(machine, address, at)
    first = address - buffer.base
    if first % CHUNK:
        text = f"a bulk copy at {buffer.element(first)}; the address must be a multiple of {CHUNK}"
        raise missing(machine, "misaligned", text, at)
    if first + size > buffer.size:
        text = f"a bulk copy of {size} bytes from {buffer.element(first)} on, which has {buffer.elements} elements"
        raise missing(machine, "out-of-bounds", text, at, beyond)
    return buffer, first // CHUNK + np.arange(size // CHUNK)
