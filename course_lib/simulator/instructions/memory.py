"""Loads and stores: ld, st, cvta, isspacep, prefetch, fences, and packing moves (PTX ISA 9.7.9, 9.7.13)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..memory import LOCAL_WINDOW, SHARED_WINDOW, UNIT, Fault, SplitAccess
from ..ptx import Address, Instruction, Register, Variable, Vector
from .registry import DTYPES, Opcode, UnsupportedInstruction, machine

SPACES = ("global", "shared", "local", "param", "const")


def space_of(opcode: Opcode) -> str:
    """The state space in an opcode; "generic" when none is named."""
    names = [m.split("::")[0] for m in opcode.modifiers]
    return next((n for n in names if n in SPACES), "generic")


def vector_length(opcode: Opcode) -> int:
    return next((int(m[1]) for m in opcode.modifiers if m in ("v2", "v4", "v8")), 1)


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


def differs(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Per access: whether the bytes differ (NaNs compare as bytes too)."""
    if a.dtype == UNIT[16]:
        pairs = a.view(np.uint64) != b.view(np.uint64)
        return pairs.reshape(-1, 2).any(axis=1)
    return a != b


# --------------------------------------------------------------------------- one access, by space


def load_global(m, addresses: np.ndarray, size: int, pc: int, lanes: np.ndarray | None = None) -> np.ndarray:
    """`lanes`: the lane of each address, to look for conflicts between blocks; None: do not look."""
    try:
        buffer, unit = m.memory.locate(addresses, size, pc)
    except SplitAccess:
        out = np.empty(len(addresses), UNIT[size])
        for part in parts(addresses >> np.uint64(40)):
            out[part] = _remapped(
                part, load_global, m, addresses[part], size, pc, None if lanes is None else lanes[part]
            )
        return out
    if lanes is not None:
        blocks = m.block_of[lanes]
        foreign = m.global_shadow.on_read(buffer, unit, size, m.blocks[blocks])
        if foreign is not None:
            report_conflict(
                m, buffer, unit, size, lanes, foreign & ~m.fenced[blocks], pc, "reads", "writes it"
            )
    return buffer.memory.units(size)[unit]


def store_global(
    m, addresses: np.ndarray, size: int, values: np.ndarray, pc: int, lanes: np.ndarray, check: bool
) -> None:
    try:
        buffer, unit = m.memory.locate(addresses, size, pc)
    except SplitAccess:
        for part in parts(addresses >> np.uint64(40)):
            _remapped(part, store_global, m, addresses[part], size, values[part], pc, lanes[part], check)
        return
    units = buffer.memory.units(size)
    old = units[unit]
    units[unit] = values
    if not check:
        return
    blocks = m.block_of[lanes]
    read, written, together = m.global_shadow.on_write(buffer, unit, size, m.blocks[blocks])
    unfenced = ~m.fenced[blocks]
    if read is not None:
        report_conflict(m, buffer, unit, size, lanes, read & unfenced, pc, "writes", "reads it")
    if written is not None:
        clash = written & unfenced & differs(old, values)
        report_conflict(m, buffer, unit, size, lanes, clash, pc, "writes", "writes a different value")
    if together is not None:
        clash = together & unfenced & differs(units[unit], values)
        report_conflict(m, buffer, unit, size, lanes, clash, pc, "writes", "writes a different value")


def report_conflict(
    m, buffer, unit: np.ndarray, size: int, lanes: np.ndarray, bad: np.ndarray, pc: int, does: str, other: str
) -> None:
    if not bad.any():
        return
    at = int(np.flatnonzero(bad)[0])
    element = int(unit[at]) * size // buffer.itemsize
    m.log.add(
        "block-conflict",
        m.launch.code.program.instructions[pc],
        f"{m.describe_thread(int(lanes[at]))} {does} element {element} of {buffer.label}, and another block {other}. "
        "Blocks run in any order: what one block writes, no other may use in the same launch",
        int(bad.sum()),
    )


def load_shared(m, addresses: np.ndarray, size: int, pc: int) -> np.ndarray:
    unit = m.shared.locate(addresses, size, block_base(m))
    m.counters.shared(m, pc, addresses, size)
    m.shadow.on_read(m.idx, unit, size, pc)
    return m.shared.memory.units(size)[unit]


def store_shared(m, addresses: np.ndarray, size: int, values: np.ndarray, pc: int) -> None:
    unit = m.shared.locate(addresses, size, block_base(m))
    units = m.shared.memory.units(size)
    m.counters.shared(m, pc, addresses, size)
    changed = differs(units[unit], values)
    m.shadow.on_write(m.idx, unit, size, pc, changed)
    units[unit] = values
    beaten = differs(units[unit], values)
    if beaten.any():
        m.shadow.on_clash(m.idx, unit, size, pc, beaten)


def block_base(m) -> np.ndarray:
    return m.block_base if m.idx is None else m.block_base[m.idx]


def load(m, space: str, addresses: np.ndarray, size: int, pc: int, check: bool = True) -> np.ndarray:
    """Bytes at these addresses, as units of `size` bytes. `check`: look for conflicts between blocks."""
    if space == "global":
        addresses = m.spread(addresses)
        m.counters.globally(m, pc, addresses, size)
        m.recorder.event(pc, "load", size * len(addresses) / m.active_warps())
        return load_global(m, addresses, size, pc, m.active() if check else None)
    if space == "const":
        return load_global(m, addresses, size, pc)
    if space == "shared":
        return load_shared(m, m.spread(addresses), size, pc)
    if space == "local":
        return m.local.memory.units(size)[m.local.locate(m.spread(addresses), size, m.active())]
    if space == "param":
        return _load_param(m, addresses, size)
    return _generic(
        m, addresses.view(np.uint64), lambda s, a, part: load(m, s, a, size, pc, check), UNIT[size]
    )


def store(
    m, space: str, addresses: np.ndarray, size: int, values: np.ndarray, pc: int, check: bool = True
) -> None:
    addresses, values = m.spread(addresses), m.spread(values)
    if space == "global":
        m.counters.globally(m, pc, addresses, size)
        m.recorder.event(pc, "store", size * len(addresses) / m.active_warps())
        store_global(m, addresses, size, values, pc, m.active(), check)
    elif space == "shared":
        store_shared(m, addresses, size, values, pc)
    elif space == "local":
        m.local.memory.units(size)[m.local.locate(addresses, size, m.active())] = values
    elif space == "generic":
        _generic(
            m, addresses.view(np.uint64), lambda s, a, part: store(m, s, a, size, values[part], pc), None
        )
    else:
        raise Fault("out-of-bounds", f"a store into {space} memory, which a kernel may only read")


def _load_param(m, addresses: np.ndarray, size: int) -> np.ndarray:
    params = m.launch.params
    return np.concatenate([params[int(a) : int(a) + size] for a in addresses]).view(UNIT[size])


def _generic(m, addresses: np.ndarray, access: Callable, dtype: np.dtype | None) -> np.ndarray | None:
    """Run an access through generic addresses, window by window (PTX ISA 5.2: the windows of cvta)."""
    spaces = [("global", 0), ("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW)]
    kind = (addresses >= np.uint64(SHARED_WINDOW)).astype(int) + (addresses >= np.uint64(LOCAL_WINDOW))
    if len(addresses) == 1 and kind[0]:
        addresses, kind = m.spread(addresses), m.spread(kind)
    out = None
    for part in parts(kind):
        space, base = spaces[int(kind[part[0]])]
        inner = addresses[part] - np.uint64(base)
        inner = inner if space == "global" else inner.astype(np.int64)
        if len(part) == len(addresses):
            return access(space, inner, slice(None))
        whole, m.idx = m.idx, m.active()[part]
        values = access(space, inner, part)
        m.idx = whole
        if dtype is not None:
            out = np.empty(len(addresses), dtype) if out is None else out
            out[part] = values
    return out


def parts(kinds: np.ndarray) -> list[np.ndarray]:
    """Positions of each distinct value."""
    return [np.flatnonzero(kinds == k) for k in np.unique(kinds)]


def _remapped(part: np.ndarray, function: Callable, *args):
    """Call on some of the lanes; a Fault then names its lane among all of them."""
    try:
        return function(*args)
    except Fault as fault:
        if fault.lane is not None:
            fault.lane = int(part[fault.lane])
        raise


# --------------------------------------------------------------------------- instructions


@machine("ld")
def ld(d, ins: Instruction) -> Callable:
    """ld{.space}{.v2,.v4}.type  d, [a]   (PTX ISA 9.7.9.8); cache operators and hints change nothing here."""
    space, count = space_of(ins.opcode), vector_length(ins.opcode)
    dtype = DTYPES[ins.opcode.types[-1]]
    size = count * dtype.itemsize
    if size > 16:
        raise UnsupportedInstruction("loads of more than 16 bytes need a newer GPU than sm_90")
    place = ins.operands[1]
    if isinstance(place.base, Variable) and place.base.space == "local":  # a device function's parameter
        space = "local"
    address = address_reader(d, place, space in ("global", "const", "generic"))
    pc, check = d.pc, not _on_purpose(ins.opcode)
    if count == 1:
        write = d.target(ins.operands[0])
        return lambda m: write(m, load(m, space, address(m), size, pc, check).view(dtype))
    writes = [d.target(item) for item in ins.operands[0].items]

    def step(m) -> None:
        columns = load(m, space, address(m), size, pc, check).view(dtype).reshape(-1, count)
        for j, write in enumerate(writes):
            write(m, np.ascontiguousarray(columns[:, j]))

    return step


@machine("ldu")
def ldu(d, ins: Instruction) -> Callable:
    """ldu: a load of read-only data at one address for the warp (PTX ISA 9.7.9.10)."""
    return ld(d, ins)


@machine("st")
def st(d, ins: Instruction) -> Callable:
    """st{.space}{.v2,.v4}.type  [a], b   (PTX ISA 9.7.9.11)."""
    space, count = space_of(ins.opcode), vector_length(ins.opcode)
    if space == "param":  # parameters of device functions live in local memory
        space = "local"
    kind = ins.opcode.types[-1]
    size = count * DTYPES[kind].itemsize
    address = address_reader(d, ins.operands[0], space in ("global", "generic"))
    items = ins.operands[1].items if count > 1 else (ins.operands[1],)
    reads = [d.source(item, f"u{8 * DTYPES[kind].itemsize}") for item in items]
    pc, check = d.pc, not _on_purpose(ins.opcode)
    if count == 1:
        return lambda m: store(m, space, address(m), size, reads[0](m), pc, check)

    def step(m) -> None:
        values = np.empty((m.count(), count), f"u{size // count}")
        for j, read in enumerate(reads):
            values[:, j] = read(m)
        store(m, space, address(m), size, values.reshape(-1).view(UNIT[size]), pc, check)

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


def _on_purpose(opcode: Opcode) -> bool:
    """Volatile, relaxed and ordered accesses are how blocks talk to each other."""
    return any(opcode.has(m) for m in ("volatile", "relaxed", "acquire", "release"))


@machine("fence")
def fence(d, ins: Instruction) -> Callable:
    """__threadfence(): the block takes care of the order of its own accesses to global memory (PTX ISA 9.7.13.4)."""
    if not any(ins.opcode.has(m) for m in ("gl", "sys", "gpu", "cluster")):
        return _nothing(d, ins)

    def step(m) -> None:
        m.fenced[m.block_of[m.active()]] = True

    return step


@machine("membar")
def membar(d, ins: Instruction) -> Callable:
    """membar.{cta,gl,sys}: the older name of fence."""
    return fence(d, ins)


def _nothing(d, ins: Instruction) -> Callable:
    """Prefetches and pauses change nothing here."""
    return lambda m: None


for _root in ("prefetch", "prefetchu", "nanosleep", "discard", "applypriority"):
    machine(_root)(_nothing)


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
        for j, write in enumerate(writes):
            write(m, np.ascontiguousarray(columns[:, j]))

    return step
