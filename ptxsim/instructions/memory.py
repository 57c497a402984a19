"""Loads and stores: ld, st, cvta, isspacep, prefetch, fences, and packing moves (PTX ISA, "Data Movement and Conversion
Instructions" and "Parallel Synchronization and Communication Instructions")."""

import math
from collections.abc import Callable

import numpy as np

from ..ground.memory import LOCAL_WINDOW, SHARED_WINDOW, UNIT, Miss, in_bytes
from ..lanes import Lanes
from ..ptx.opcode import DTYPES, Opcode, UnsupportedInstruction
from ..ptx.program import Address, Immediate, Instruction, Register, Variable, Vector
from ..races.messages import BLOCK, CLUSTER, GRID
from ..races.proxies import ALL_SPACES, map_space
from ..races.shadow import Act
from ..units.access import SPACES, Access, Holes, Memories, read, write
from .registry import Operands, on_machine


def scope_of(decoder: Operands, opcode: Opcode) -> int:
    """The scope in an opcode; a cluster of one block is that block."""
    if opcode.has("cta") or (opcode.has("cluster") and math.prod(decoder.code.program.cluster) == 1):
        return BLOCK
    return CLUSTER if opcode.has("cluster") else GRID


def space_of(opcode: Opcode) -> str:
    """The state space in an opcode; "generic" when none is named."""
    names = [m.split("::")[0] for m in opcode.modifiers]
    return next((n for n in names if n in SPACES), "generic")


def vector_length(opcode: Opcode) -> int:
    return next((int(m[1]) for m in opcode.modifiers if m in ("v2", "v4", "v8")), 1)


def access_of(decoder: Operands, opcode: Opcode, space: str, size: int, reads: bool, writes: bool) -> Access:
    """What an instruction does with memory: strong if it is atomic, volatile, relaxed, acquire or release (PTX ISA,
    "Memory Consistency Model": volatile has the scope of the system), or a header's part of an atomic."""
    ordered = [m for m in ("relaxed", "acquire", "release", "acq_rel", "volatile") if opcode.has(m)]
    strong = bool(ordered) or (reads and writes) or decoder.pc in decoder.code.first_guesses
    act = Act(reads, writes, strong, scope_of(decoder, opcode))
    acquires = any(opcode.has(m) for m in ("acquire", "acq_rel"))
    releases = any(opcode.has(m) for m in ("release", "acq_rel"))
    array = decoder.code.shared_arrays.get(decoder.pc)
    coherent = not opcode.has("nc")
    return Access(decoder.pc, space, size, act, acquires, releases, coherent=coherent, array=array)


def address_reader(decoder: Operands, operand: Address, wide: bool) -> Callable:
    """A function machine -> addresses of the active lanes: uint64 if `wide` (global), int64 offsets otherwise."""
    dtype = np.uint64 if wide else np.int64
    offset = dtype(operand.offset) if not wide else np.uint64(operand.offset & (2**64 - 1))
    base = operand.base
    if isinstance(base, Register):
        read = decoder.source(base, f"u{base.bits}")
        if base.bits == 32 and not wide:
            # A compiler takes base and offset apart as it likes: the sum wraps, so a base below 0 is none.
            return lambda machine: (read(machine).astype(dtype) + offset) & 0xFFFFFFFF
        if not offset:
            return lambda machine: read(machine).astype(dtype, copy=False)
        return lambda machine: read(machine).astype(dtype, copy=False) + offset
    value = decoder.constant(base, np.dtype(np.uint64)) if isinstance(base, Variable) else None
    if value is None and base is not None:
        own = decoder.source(base, "u64")
        return lambda machine: own(machine).astype(dtype) + offset
    address = (np.zeros(1, np.uint64) if value is None else value).astype(dtype) + offset
    return lambda machine: address


def constant(operand: object, what: str) -> int:
    """The value of an operand that must be known when the kernel is compiled."""
    if not isinstance(operand, Immediate):
        raise UnsupportedInstruction(
            f'{what} takes a constant; pass it to asm() as "n"(...), not as "r"(...)'
        )
    return int(operand.text, 0)


def plain_offset(addresses: np.ndarray) -> np.ndarray:
    """A shared address given as a generic one loses its window."""
    if addresses.max() >= SHARED_WINDOW and addresses.max() < LOCAL_WINDOW:
        return addresses - SHARED_WINDOW
    return addresses


# --------------------------------------------------------------------------- instructions


@on_machine("ld")
def ld(decoder: Operands, ins: Instruction) -> Callable:
    """ld{.space}{.v2,.v4}.type  d, [a]; cache operators and hints change nothing here."""
    if space_of(ins.opcode) == "param" and not _is_local(ins.operands[1]):
        put, size = _taking(decoder, ins)
        load = _parameter(decoder, ins.operands[1], size)
        return lambda machine: put(machine, load(machine))
    if _is_wide(ins.opcode):
        return _wide_load(decoder, ins)
    access, address, put = loading(decoder, ins)
    if decoder.code.follows_loads:
        return lambda machine: put(machine, read(machine, access, address(machine)))

    def step(machine: Memories) -> None:
        put(machine, read(machine, access, address(machine)))
        if machine.partly:
            raise Holes

    return step


def loading(decoder: Operands, ins: Instruction) -> tuple[Access, Callable, Callable]:
    """Of a load its access, its addresses, and what takes the units that it finds to registers."""
    put, size = _taking(decoder, ins)
    place = ins.operands[1]
    space = "local" if _is_local(place) else space_of(ins.opcode)
    access = access_of(decoder, ins.opcode, space, size, True, False)
    return access, address_reader(decoder, place, space in ("global", "const", "generic")), put


WIDE, HALF = 32, 16
"""Bytes of the widest loads and stores, of sm_100 (PTX ISA, "ld", "st"): here two of half of them."""


def _is_wide(opcode: Opcode) -> bool:
    return bool(opcode.types) and vector_length(opcode) * DTYPES[opcode.types[-1]].itemsize == WIDE


def _wide_load(decoder: Operands, ins: Instruction) -> Callable:
    """Of what nobody has written whole halves are found."""
    if space_of(ins.opcode) not in ("global", "generic"):
        raise UnsupportedInstruction("loads of 32 bytes are for global memory alone")
    access = access_of(decoder, ins.opcode, space_of(ins.opcode), HALF, True, False)
    address = address_reader(decoder, ins.operands[1], wide=True)
    puts, dtype = [decoder.target(each) for each in ins.operands[0].items], DTYPES[ins.opcode.types[-1]]

    def step(machine: Memories) -> None:
        places = _aligned(machine, address)
        halves = [read(machine, access, places + np.uint64(first)) for first in (0, HALF)]
        machine.partly.clear()
        columns = np.stack(halves, axis=1).view(dtype).reshape(-1, len(puts)).T
        for put, column in zip(puts, columns, strict=True):
            put(machine, np.ascontiguousarray(column))

    return step


def _wide_store(decoder: Operands, ins: Instruction) -> Callable:
    if space_of(ins.opcode) not in ("global", "generic"):
        raise UnsupportedInstruction("stores of 32 bytes are for global memory alone")
    access = access_of(decoder, ins.opcode, space_of(ins.opcode), HALF, False, True)
    address = address_reader(decoder, ins.operands[0], wide=True)
    size = DTYPES[ins.opcode.types[-1]].itemsize
    gets = [decoder.source(each, f"b{8 * size}") for each in ins.operands[1].items]

    def step(machine: Memories) -> None:
        places = _aligned(machine, address)
        found = np.empty((machine.count(), len(gets)), f"u{size}")
        for j, get in enumerate(gets):
            found[:, j] = get(machine)
        halves = found.reshape(-1).view(UNIT[HALF]).reshape(-1, 2)
        for j, first in enumerate((0, HALF)):
            write(machine, access, places + np.uint64(first), np.ascontiguousarray(halves[:, j]))

    return step


def _aligned(machine: Memories, address: Callable) -> np.ndarray:
    """The addresses of the active lanes. Raises Miss, where one is no multiple of 32."""
    places = machine.spread(address(machine))
    if (bad := places % WIDE != 0).any():
        first = int(places[bad.argmax()])
        words = (
            f"an access of {in_bytes(WIDE)} at address {first:#x}; the address must be a multiple of {WIDE}"
        )
        raise Miss("misaligned", bad, lambda: words)
    return places


def _is_local(place: Address) -> bool:
    """A parameter of a device function is in local memory."""
    return isinstance(place.base, Variable) and place.base.space == "local"


def _taking(decoder: Operands, ins: Instruction) -> tuple[Callable, int]:
    """A function (machine, units) that takes what a load finds to its registers, and the bytes of a unit."""
    count, dtype = vector_length(ins.opcode), DTYPES[ins.opcode.types[-1]]
    size = count * dtype.itemsize
    if size > 16:
        raise UnsupportedInstruction("what part of a load of 32 bytes nobody has written is not followed")
    if count == 1:
        write_one = decoder.target(ins.operands[0])
        return lambda machine, units: write_one(machine, units.view(dtype)), size
    puts = [decoder.target(item) for item in ins.operands[0].items]

    def put(machine: Memories, units: np.ndarray) -> None:
        for write_one, element in zip(puts, units.view(dtype).reshape(-1, count).T.copy(), strict=True):
            write_one(machine, element)

    return put, size


def _parameter(decoder: Operands, place: Address, size: int) -> Callable[[Memories], np.ndarray]:
    """A parameter of the kernel. One that is named is the same for all lanes; each lane may look for its own in an
    array inside of a struct."""
    if isinstance(place.base, Variable):
        first = place.base.offset + place.offset
        return lambda machine: machine.parameter(first, size)
    address = address_reader(decoder, place, wide=False)

    def load(machine: Memories) -> np.ndarray:
        at = address(machine)
        room = len(machine.params(0))
        outside = (at < 0) | (at > room - size)
        if outside.any():
            where = f"byte {int(at[outside.argmax()])} of the kernel's parameters, which have {room}"
            words = f"an access of {in_bytes(size)} at {where}"
            machine.missed(Miss("out-of-bounds", machine.spread(outside), lambda: words), decoder.pc)
            at = np.where(outside, 0, at)
        found = machine.parameters_at(at, size)
        found[np.broadcast_to(outside, len(found))] = 0
        return found.reshape(-1).view(UNIT[size])

    return load


@on_machine("ldu")
def ldu(decoder: Operands, ins: Instruction) -> Callable:
    """ldu: a load of read-only data at one address for the warp."""
    return ld(decoder, ins)


@on_machine("st")
def st(decoder: Operands, ins: Instruction) -> Callable:
    """st{.space}{.v2,.v4}.type  [a], b."""
    if _is_wide(ins.opcode):
        return _wide_store(decoder, ins)
    access, address, values = storing(decoder, ins)
    return lambda machine: write(machine, access, address(machine), values(machine))


def storing(decoder: Operands, ins: Instruction) -> tuple[Access, Callable, Callable]:
    """Of a store its access, its addresses, and the units that it stores: one for each active lane, or one."""
    space, count = space_of(ins.opcode), vector_length(ins.opcode)
    if space == "param":  # parameters of device functions live in local memory
        space = "local"
    if space == "const":
        raise UnsupportedInstruction("a store to constant memory, which a kernel may only read")
    kind = ins.opcode.types[-1]
    size = count * DTYPES[kind].itemsize
    access = access_of(decoder, ins.opcode, space, size, False, True)
    address = address_reader(decoder, ins.operands[0], space in ("global", "generic"))
    items = ins.operands[1].items if count > 1 else (ins.operands[1],)
    gets = [decoder.source(item, f"b{8 * DTYPES[kind].itemsize}") for item in items]
    if count == 1:
        return access, address, gets[0]

    def values(machine: Memories) -> np.ndarray:
        found = np.empty((machine.count(), count), f"u{size // count}")
        for j, get in enumerate(gets):
            found[:, j] = get(machine)
        return found.reshape(-1).view(UNIT[size])

    return access, address, values


@on_machine("cvta")
def cvta(decoder: Operands, ins: Instruction) -> Callable:
    """cvta{.to}.space.u64  d, a: between an address in a space and a generic one (PTX ISA 9.7.9.20)."""
    window = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space_of(ins.opcode), 0)
    offset = np.uint64(2**64 - window if ins.opcode.has("to") and window else window)
    read, write = decoder.source(ins.operands[1], "u64"), decoder.target(ins.operands[0])
    return lambda machine: write(machine, read(machine) + offset)


@on_machine("isspacep")
def isspacep(decoder: Operands, ins: Instruction) -> Callable:
    """isspacep.space  p, a: does a generic address lie in this space? (PTX ISA 9.7.9.19)."""
    space = space_of(ins.opcode)
    read, write = decoder.source(ins.operands[1], "u64"), decoder.target(ins.operands[0])
    of_shared, of_local = (SHARED_WINDOW, LOCAL_WINDOW), (LOCAL_WINDOW, 2**64 - 1)
    windows = {"global": (0, SHARED_WINDOW), "const": (0, 0), "shared": of_shared, "local": of_local}
    low, high = windows[space]
    return lambda machine: write(
        machine, (read(machine) >= np.uint64(low)) & (read(machine) < np.uint64(high))
    )


@on_machine("fence")
def fence(decoder: Operands, ins: Instruction) -> Callable[[Memories], None]:
    """fence{.sc,.acq_rel,.acquire,.release}{.sync_restrict::space}.scope: `__threadfence()` and its kin."""
    opcode = ins.opcode
    if opcode.has("mbarrier_init"):
        return lambda machine: machine.clusters.fence_inits(machine.active())
    if opcode.has("async::generic"):
        return _both_fences(_thread_fence(scope_of(decoder, opcode)))
    if opcode.has("proxy"):
        return _proxy_fence(decoder, ins)
    return _thread_fence(scope_of(decoder, opcode))


def _thread_fence(scope: int) -> Callable:

    def step(machine: Memories) -> None:
        lanes, orders = machine.active(), machine.orders
        agents = orders.agent_of_lane[lanes]
        rows = {agent: orders.row(agent) for agent in np.unique(agents).tolist()}
        orders.messages.fence(lanes, scope, rows, agents)

    return step


def _both_fences(thread_fence: Callable) -> Callable:
    """fence.proxy.async::generic.{acquire,release}.sync_restrict::space.cluster: what the copy engine and
    threads of the cluster do is ordered in one direction. Here, as both fences are, in both."""

    def step(machine: Memories) -> None:
        machine.fence_proxies(ALL_SPACES)
        thread_fence(machine)

    return step


def _proxy_fence(decoder: Operands, ins: Instruction) -> Callable[[Memories], None]:
    """fence.proxy.async{.space}: what these lanes wrote before, there, copy engine and tensor cores may touch."""
    opcode = ins.opcode
    if opcode.has("async"):
        named = space_of(opcode)
        spaces = ALL_SPACES & {named} or ALL_SPACES
        return lambda machine: machine.fence_proxies(spaces)
    if "tensormap" in opcode.text and opcode.has("acquire"):
        return _map_fence(decoder, ins.operands[0])
    if opcode.has("alias") or "tensormap" in opcode.text:
        return lambda machine: None
    raise UnsupportedInstruction("of the proxies only .async, .alias and .tensormap are simulated")


def _map_fence(decoder: Operands, operand: Address) -> Callable[[Memories], None]:
    """fence.proxy.tensormap::generic.acquire.scope [map], 128: what these lanes know to be written there, the copy
    engine may take for a tensor map."""
    read = address_reader(decoder, operand, wide=True)

    def step(machine: Memories) -> None:
        active, lanes, addresses = machine.idx, machine.active(), machine.spread(read(machine))
        for address in np.unique(addresses).tolist():
            machine.idx = lanes[addresses == address]
            machine.fence_proxies(frozenset((map_space(address),)))
        machine.idx = active

    return step


@on_machine("membar")
def membar(decoder: Operands, ins: Instruction) -> Callable:
    """membar.{cta,gl,sys}: the older name of fence."""
    return fence(decoder, ins)


def _nothing(decoder: Operands, ins: Instruction) -> Callable:
    """Prefetches and pauses change nothing here."""
    return lambda machine: None


for _root in ("prefetch", "prefetchu", "nanosleep", "discard", "applypriority"):
    on_machine(_root)(_nothing)


@on_machine("griddepcontrol")
def griddepcontrol(decoder: Operands, ins: Instruction) -> Callable:
    """griddepcontrol.{wait,launch_dependents}: for the kernel before this one; and the next may begin, which changes
    nothing here, where it comes later."""
    waits = ins.opcode.has("wait")
    return lambda machine: machine.dependence.wait() if waits else None


@on_machine("createpolicy")
def createpolicy(decoder: Operands, ins: Instruction) -> Callable:
    """createpolicy: how long L2 should keep lines; here a policy changes nothing, so any value is one."""
    write = decoder.target(ins.operands[0])
    return lambda machine: write(machine, np.zeros(1, np.uint64))


@on_machine("mov")
def mov(decoder: Operands, ins: Instruction) -> Callable | None:
    """mov with a vector on one side packs or unpacks (PTX ISA 9.7.9.6); the plain form is a pure instruction."""
    to, source = ins.operands
    bits = DTYPES[ins.opcode.types[-1]].itemsize * 8
    if isinstance(source, Vector):
        return _pack(decoder, to, source, bits)
    if isinstance(to, Vector):
        return _unpack(decoder, to, source, bits)
    return None


def _pack(decoder: Operands, to: Register, source: Vector, bits: int) -> Callable:
    part = bits // len(source.items)
    reads = [decoder.source(item, f"u{part}") for item in source.items]
    write, whole = decoder.target(to), UNIT[bits // 8]

    def step(machine: Lanes) -> None:
        columns = np.broadcast_arrays(*[read(machine) for read in reads])
        write(machine, np.ascontiguousarray(np.stack(columns, axis=1)).reshape(-1).view(whole))

    return step


def _unpack(decoder: Operands, to: Vector, source: Register, bits: int) -> Callable:
    part = bits // len(to.items)
    read = decoder.source(source, f"b{bits}")
    writes = [decoder.target(item) for item in to.items]

    def step(machine: Lanes) -> None:
        columns = np.ascontiguousarray(read(machine)).view(f"u{part // 8}").reshape(-1, len(writes))
        for j, put in enumerate(writes):
            put(machine, np.ascontiguousarray(columns[:, j]))

    return step
