"""Loads and stores: ld, st, cvta, isspacep, prefetch, fences, and packing moves (PTX ISA, "Data Movement and Conversion
Instructions" and "Parallel Synchronization and Communication Instructions")."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..memory import LOCAL_WINDOW, SHARED_WINDOW, UNIT, Fault
from ..ptx.opcode import DTYPES, Opcode, UnsupportedInstruction
from ..ptx.program import Address, Immediate, Instruction, Register, Variable, Vector
from ..races.messages import BLOCK, CLUSTER, GRID
from ..races.shadow import Act
from ..units.access import SPACES, Access, read, write
from .registry import machine


def scope_of(d, opcode: Opcode) -> int:
    """The scope in an opcode; a cluster of one block is that block."""
    if opcode.has("cta") or (opcode.has("cluster") and math.prod(d.code.program.cluster) == 1):
        return BLOCK
    return CLUSTER if opcode.has("cluster") else GRID


def space_of(opcode: Opcode) -> str:
    """The state space in an opcode; "generic" when none is named."""
    names = [m.split("::")[0] for m in opcode.modifiers]
    return next((n for n in names if n in SPACES), "generic")


def vector_length(opcode: Opcode) -> int:
    return next((int(m[1]) for m in opcode.modifiers if m in ("v2", "v4", "v8")), 1)


def access_of(d, opcode: Opcode, space: str, size: int, reads: bool, writes: bool) -> Access:
    """What an instruction does with memory: strong if it is atomic, volatile, relaxed, acquire or release (PTX ISA,
    "Memory Consistency Model": volatile has the scope of the system)."""
    ordered = [m for m in ("relaxed", "acquire", "release", "acq_rel", "volatile") if opcode.has(m)]
    strong = bool(ordered) or (reads and writes)
    act = Act(reads, writes, strong, scope_of(d, opcode))
    acquires = any(opcode.has(m) for m in ("acquire", "acq_rel"))
    releases = any(opcode.has(m) for m in ("release", "acq_rel"))
    return Access(d.pc, space, size, act, acquires, releases)


def address_reader(d, operand: Address, wide: bool) -> Callable:
    """A function machine -> addresses of the active lanes: uint64 if `wide` (global), int64 offsets otherwise."""
    dtype = np.uint64 if wide else np.int64
    offset = dtype(operand.offset) if not wide else np.uint64(operand.offset & (2**64 - 1))
    base = operand.base
    if isinstance(base, Register):
        read = d.source(base, f"u{base.bits}")
        return lambda m: read(m).astype(dtype) + offset
    value = d.constant(base, np.dtype(np.uint64)) if isinstance(base, Variable) else np.zeros(1, np.uint64)
    address = value.astype(dtype) + offset
    return lambda m: address


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


@machine("ld")
def ld(d, ins: Instruction) -> Callable:
    """ld{.space}{.v2,.v4}.type  d, [a]; cache operators and hints change nothing here."""
    space, count = space_of(ins.opcode), vector_length(ins.opcode)
    dtype = DTYPES[ins.opcode.types[-1]]
    size = count * dtype.itemsize
    if size > 16:
        raise UnsupportedInstruction("loads of more than 16 bytes need a newer GPU than sm_90")
    place = ins.operands[1]
    if isinstance(place.base, Variable) and place.base.space == "local":  # a device function's parameter
        space = "local"
    if space == "param":
        load = _parameter(d, place, size)
    else:
        access = access_of(d, ins.opcode, space, size, True, False)
        address = address_reader(d, place, space in ("global", "const", "generic"))

        def load(m) -> np.ndarray:
            return read(m, access, address(m))

    if count == 1:
        put = d.target(ins.operands[0])
        return lambda m: put(m, load(m).view(dtype))
    puts = [d.target(item) for item in ins.operands[0].items]

    def step(m) -> None:
        columns = load(m).view(dtype).reshape(-1, count)
        for j, put in enumerate(puts):
            put(m, np.ascontiguousarray(columns[:, j]))

    return step


def _parameter(d, place: Address, size: int) -> Callable:
    """A parameter of the kernel. One that is named is the same for all lanes; each lane may look for its own in an
    array inside of a struct."""
    if isinstance(place.base, Variable):
        first = place.base.offset + place.offset
        return lambda m: m.launch.params[first : first + size].view(UNIT[size])
    address = address_reader(d, place, wide=False)

    def load(m) -> np.ndarray:
        params, at = m.launch.params, address(m)
        outside = np.flatnonzero((at < 0) | (at > len(params) - size))
        if len(outside):
            where = f"byte {int(at[outside[0]])} of the kernel's parameters, which have {len(params)}"
            raise Fault("out-of-bounds", f"an access of {size} bytes at {where}", int(outside[0]))
        return params[at[:, None] + np.arange(size)].reshape(-1).view(UNIT[size])

    return load


@machine("ldu")
def ldu(d, ins: Instruction) -> Callable:
    """ldu: a load of read-only data at one address for the warp."""
    return ld(d, ins)


@machine("st")
def st(d, ins: Instruction) -> Callable:
    """st{.space}{.v2,.v4}.type  [a], b."""
    space, count = space_of(ins.opcode), vector_length(ins.opcode)
    if space == "param":  # parameters of device functions live in local memory
        space = "local"
    if space == "const":
        raise UnsupportedInstruction("a store to constant memory, which a kernel may only read")
    kind = ins.opcode.types[-1]
    size = count * DTYPES[kind].itemsize
    access = access_of(d, ins.opcode, space, size, False, True)
    address = address_reader(d, ins.operands[0], space in ("global", "generic"))
    items = ins.operands[1].items if count > 1 else (ins.operands[1],)
    gets = [d.source(item, f"u{8 * DTYPES[kind].itemsize}") for item in items]
    if count == 1:
        return lambda m: write(m, access, address(m), gets[0](m))

    def step(m) -> None:
        values = np.empty((m.count(), count), f"u{size // count}")
        for j, get in enumerate(gets):
            values[:, j] = get(m)
        write(m, access, address(m), values.reshape(-1).view(UNIT[size]))

    return step


@machine("cvta")
def cvta(d, ins: Instruction) -> Callable:
    """cvta{.to}.space.u64  d, a: between an address in a space and a generic one (PTX ISA 9.7.9.20)."""
    window = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space_of(ins.opcode), 0)
    offset = np.uint64(2**64 - window if ins.opcode.has("to") and window else window)
    read, write = d.source(ins.operands[1], "u64"), d.target(ins.operands[0])
    return lambda m: write(m, read(m) + offset)


@machine("isspacep")
def isspacep(d, ins: Instruction) -> Callable:
    """isspacep.space  p, a: does a generic address lie in this space? (PTX ISA 9.7.9.19)."""
    space = space_of(ins.opcode)
    read, write = d.source(ins.operands[1], "u64"), d.target(ins.operands[0])
    low, high = {
        "global": (0, SHARED_WINDOW),
        "const": (0, 0),
        "shared": (SHARED_WINDOW, LOCAL_WINDOW),
        "local": (LOCAL_WINDOW, 2**64 - 1),
    }[space]
    return lambda m: write(m, (read(m) >= np.uint64(low)) & (read(m) < np.uint64(high)))


@machine("fence")
def fence(d, ins: Instruction) -> Callable:
    """fence{.sc,.acq_rel}.scope: `__threadfence()` and its kin."""
    opcode = ins.opcode
    if opcode.has("proxy"):
        return _proxy_fence(opcode)
    if opcode.has("mbarrier_init"):
        return lambda m: m.clusters.fence_inits(m.active())
    scope = scope_of(d, opcode)

    def step(m) -> None:
        lanes, orders = m.active(), m.orders
        agents = orders.agent_of_lane[lanes]
        rows = {agent: orders.row(agent) for agent in np.unique(agents).tolist()}
        orders.messages.fence(lanes, scope, rows, agents)

    return step


def _proxy_fence(opcode: Opcode) -> Callable:
    """fence.proxy.async{.space}: what these lanes wrote before may be read by copy engine and tensor cores."""
    if opcode.has("async"):
        return lambda m: m.fence_proxies()
    if opcode.has("alias") or "tensormap" in opcode.text:
        return lambda m: None
    raise UnsupportedInstruction("of the proxies only .async, .alias and .tensormap are simulated")


@machine("membar")
def membar(d, ins: Instruction) -> Callable:
    """membar.{cta,gl,sys}: the older name of fence."""
    return fence(d, ins)


def _nothing(d, ins: Instruction) -> Callable:
    """Prefetches and pauses change nothing here."""
    return lambda m: None


for _root in ("prefetch", "prefetchu", "nanosleep", "discard", "applypriority"):
    machine(_root)(_nothing)


@machine("createpolicy")
def createpolicy(d, ins: Instruction) -> Callable:
    """createpolicy: how long L2 should keep lines; here a policy changes nothing, so any value is one."""
    write = d.target(ins.operands[0])
    return lambda m: write(m, np.zeros(1, np.uint64))


@machine("mov")
def mov(d, ins: Instruction) -> Callable | None:
    """mov with a vector on one side packs or unpacks (PTX ISA 9.7.9.6); the plain form is a pure instruction."""
    to, source = ins.operands
    bits = DTYPES[ins.opcode.types[-1]].itemsize * 8
    if isinstance(source, Vector):
        return _pack(d, to, source, bits)
    if isinstance(to, Vector):
        return _unpack(d, to, source, bits)
    return None


def _pack(d, to: Register, source: Vector, bits: int) -> Callable:
    part = bits // len(source.items)
    reads = [d.source(item, f"u{part}") for item in source.items]
    write = d.target(to)

    def step(m) -> None:
        columns = np.broadcast_arrays(*[read(m) for read in reads])
        write(m, np.ascontiguousarray(np.stack(columns, axis=1)).reshape(-1).view(f"u{bits // 8}"))

    return step


def _unpack(d, to: Vector, source: Register, bits: int) -> Callable:
    part = bits // len(to.items)
    read = d.source(source, f"u{bits}")
    writes = [d.target(item) for item in to.items]

    def step(m) -> None:
        columns = np.ascontiguousarray(read(m)).view(f"u{part // 8}").reshape(-1, len(writes))
        for j, put in enumerate(writes):
            put(m, np.ascontiguousarray(columns[:, j]))

    return step
