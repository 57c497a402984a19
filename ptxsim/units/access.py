"""The one way of a memory instruction: find the place, tell those who watch, move the bytes.

An `Access` is what is known of it when the instruction is decoded. `read`, `write` and `update` run it for the active
lanes: through generic addresses window by window (PTX ISA, "Generic Addressing"), in global memory array by array.
Three watch every access: the counters, the recorder, and the shadow of the memory that it touches.

What lies out of bounds, or is misaligned, is reported and goes nowhere: a read or an atomic brings zero there, a write
does nothing, and the other lanes' accesses are made.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..ground.memory import (
    LOCAL_WINDOW,
    SHARED_WINDOW,
    UNIT,
    Array,
    Buffer,
    GlobalMemory,
    LocalMemory,
    Miss,
    SharedMemory,
    not_written,
    note_written,
)
from ..observe import events
from ..observe.counters import Observed
from ..races.findings import Explained, Findings
from ..races.shadow import Act, Reach, Shadow
from .clusters import Clusters
from .dependents import Dependence
from .turns import Turns

Place = SharedMemory | LocalMemory | Buffer
SPACES = ("global", "shared", "local", "param", "const")
OTHER = 0x71
"""Of what a byte that nobody has written holds otherwise: a large number in every type, and no NaN, which compares as
nothing."""
WINDOWS = {"global": 0, "shared": SHARED_WINDOW, "local": LOCAL_WINDOW}


@dataclass(frozen=True)
class Access:
    """`size` bytes for each lane in `space` ("generic": the address says which). `acquires` and `releases`: the
    operation itself does, by `.acquire` or `.release`. `counted`: not counted by somebody else. Not `coherent`: through
    the read-only cache (`ld.global.nc`), which need not see what this launch writes. `array`: the only one in shared
    memory that its addresses may reach, where that is known."""

    pc: int
    space: str
    size: int
    act: Act
    acquires: bool = False
    releases: bool = False
    counted: bool = True
    coherent: bool = True
    array: Array | None = None

    @cached_property
    def by_space(self) -> "dict[str, Access]":
        """The same access where a generic address has led into a window."""
        return {space: replace(self, space=space) for space in WINDOWS}

    @cached_property
    def uncounted(self) -> "Access":
        return replace(self, counted=False)


class Partly(NamedTuple):
    """What a load found where nobody has written some of the bytes: its lanes, the unit of each with other numbers in
    those bytes, and the first such byte in words."""

    lanes: np.ndarray
    units: np.ndarray
    place: str


class Holes(Exception):
    """A load has found such units, and nobody follows yet what becomes of them."""


class Memories(Observed, Explained, Protocol):
    """The memories that lanes reach, and who watches what they do there."""

    memory: GlobalMemory
    local: LocalMemory
    """Of all lanes, one behind the other."""
    block_base: np.ndarray
    """For each lane the first byte of its block in `shared`."""
    clusters: Clusters
    """Whose shared memory an address names."""
    shadow: Shadow
    """Watches shared memory."""
    dependence: Dependence
    findings: Findings
    turns: Turns
    holes: bool
    """Of some unit that a load reads just now, a part was never written."""
    partly: list[Partly]
    """What the last load found there; who follows it takes it."""
    still: bool | None
    """Whether no store has changed anything since somebody asked; None where nobody does."""

    def shadow_of(self, memory: SharedMemory | Buffer) -> Shadow | None:
        """What watches this memory; None for a buffer that the kernel only reads."""

    def check_written(self, access: Access, memory: LocalMemory | Buffer, unit: np.ndarray) -> None:
        """Report reads of memory that nobody has written, at these units of `access.size` bytes."""

    def fence_proxies(self, spaces: frozenset[str]) -> None:
        """The active lanes make a fence.proxy.async for these spaces."""


def read(machine: Memories, access: Access, addresses: np.ndarray) -> np.ndarray:
    """What lies at these addresses: a unit of `access.size` bytes for each active lane."""
    return _perform(machine, access, addresses, _read)


def write(machine: Memories, access: Access, addresses: np.ndarray, values: np.ndarray) -> None:
    """Put the units `values` there."""
    _perform(machine, access, addresses, _write, machine.spread(values))


def update(
    machine: Memories,
    access: Access,
    addresses: np.ndarray,
    operation: Callable,
    operands: list,
    running: Callable | None = None,
) -> np.ndarray:
    """Atomics: `operation(old, *operands)` lane after lane where lanes name one place; what was there before each.

    `operation` gives the new values, and which of them are written at all (None: all). `running`, where there is one,
    says all at once what comes of an old value and the operands of all lanes behind it, after each of them.
    """

    def act(
        machine: Memories, access: Access, memory: Place, unit: np.ndarray, *operands: np.ndarray
    ) -> np.ndarray:
        return _update(machine, access, memory, unit, operation, running, *operands)

    return _perform(machine, access, addresses, act, *map(machine.spread, operands))


def read_rows(
    machine: Memories, access: Access, addresses: np.ndarray, lanes: np.ndarray, readers: list[np.ndarray]
) -> np.ndarray:
    """ldmatrix: rows of shared memory (units of `access.size` bytes) at the addresses that these lanes give, one warp
    after the other. Other lanes receive them: each of `readers` has a lane for every 4 bytes of the rows."""
    try:
        unit, offsets = in_shared(machine, addresses.ravel(), lanes.ravel(), access.size, access.array)
    except Miss as miss:
        return _rows_that_are_there(machine, miss, access, addresses.ravel(), lanes.ravel(), readers)
    if access.counted:
        machine.counters.shared(machine, access.pc, offsets.reshape(addresses.shape), access.size)
    words = (unit[:, None] * (access.size // 4) + np.arange(access.size // 4)).ravel()
    for each in readers:
        machine.shadow.on_access(machine, access.act, Reach(each, words, 4, access.pc))
    return machine.shared.memory.units(access.size)[unit]


def _rows_that_are_there(
    machine: Memories,
    miss: Miss,
    access: Access,
    addresses: np.ndarray,
    lanes: np.ndarray,
    readers: list[np.ndarray],
) -> np.ndarray:
    active, machine.idx = machine.idx, lanes
    machine.missed(miss, access.pc)
    machine.idx, there = active, ~miss.bad
    found = np.zeros(len(there), UNIT[access.size])
    if there.any():
        readers = [each.reshape(len(there), -1)[there].ravel() for each in readers]
        found[there] = read_rows(machine, access.uncounted, addresses[there], lanes[there], readers)
    return found


def differs(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Per unit: whether the bytes differ (NaNs compare as bytes too)."""
    if a.dtype == UNIT[16]:
        pairs = a.view(np.uint64) != b.view(np.uint64)
        return pairs.reshape(-1, 2).any(axis=1)
    return a != b


def differing_bytes(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same of each byte: (units, bytes of one)."""
    a, b = (np.ascontiguousarray(each).view(np.uint8).reshape(len(each), -1) for each in (a, b))
    return a != b


def parts(kinds: np.ndarray) -> list[np.ndarray]:
    """Positions of each distinct value."""
    return [np.flatnonzero(kinds == k) for k in np.unique(kinds)]


# --------------------------------------------------------------------------- the place


def _perform(
    machine: Memories, access: Access, addresses: np.ndarray, act: Callable, *values: np.ndarray
) -> Any:
    """Run `act(machine, access, memory, unit, *values)` at each memory that the lanes touch; join the results."""
    if access.space == "generic":
        return _by_window(machine, access, addresses.view(np.uint64), act, *values)
    addresses = machine.spread(addresses)
    try:
        found = _locate(machine, access, addresses)
    except Miss as miss:
        return _without(machine, miss, access, addresses, act, *values)
    if found is None:
        several = machine.memory.parts(addresses, access.pc)
        return _in_parts(machine, several, access.uncounted, addresses, act, *values)
    return act(machine, access, *found, *values)


def _locate(machine: Memories, access: Access, addresses: np.ndarray) -> tuple | None:
    """The memory that the lanes touch, and their units in it; None: they touch several arrays. Raises Miss."""
    if access.space == "shared":
        unit, offsets = in_shared(machine, addresses, machine.idx, access.size, access.array)
        if machine.clusters.size > 1:
            machine.clusters.touch(machine.active(), unit * access.size // machine.shared.stride, access.pc)
        machine.shared.check_data(unit, access.size)
        if access.counted:
            machine.counters.shared(machine, access.pc, offsets, access.size)
        return machine.shared, unit
    if access.space == "local":
        return machine.local, machine.local.locate(addresses, access.size, machine.active())
    if access.counted and access.space == "global":
        _count_global(machine, access, addresses)
    if machine.dependence.any_open and access.space == "global":
        machine.dependence.touch(machine.active(), access.pc)
    found = machine.memory.locate(addresses, access.size, access.pc, access.act.writes)
    if found is not None:
        machine.launch.budget.access(*found, access.size)
    return found


def in_shared(
    machine: Memories,
    addresses: np.ndarray,
    lanes: np.ndarray | None,
    size: int,
    array: Array | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The units of `size` bytes of shared memory at the addresses of these lanes (None: of all), and their offsets
    inside of the block that each names. `array`: the only one that they may reach. Raises Miss."""
    if machine.clusters.size == 1:
        base = machine.block_base if lanes is None else machine.block_base[lanes]
    else:
        blocks, addresses = machine.clusters.place(addresses, machine.all_lanes(lanes))
        base = blocks * machine.shared.stride
    return machine.shared.locate(addresses, size, base, array), addresses


def _without(
    machine: Memories, miss: Miss, access: Access, addresses: np.ndarray, act: Callable, *values: np.ndarray
) -> np.ndarray:
    """Report the lanes that miss, and run it for the others; zeros where they miss."""
    machine.missed(miss, access.pc)
    result, there = np.zeros(len(addresses), UNIT[access.size]), np.flatnonzero(~miss.bad)
    if len(there):
        # shared memory is counted when it is found
        once = access if access.space == "shared" else access.uncounted
        found = _in_parts(machine, [there], once, addresses, act, *values)
        if found is not None:
            result[there] = found[there]
    return result


def _by_window(
    machine: Memories, access: Access, addresses: np.ndarray, act: Callable, *values: np.ndarray
) -> Any:
    window = (addresses >= np.uint64(SHARED_WINDOW)).astype(int) + (addresses >= np.uint64(LOCAL_WINDOW))
    spaces = list(WINDOWS)
    if (window == window[0]).all():
        space = spaces[int(window[0])]
        inner = addresses - np.uint64(WINDOWS[space])
        inner = inner if space == "global" else inner.astype(np.int64)
        return _perform(machine, access.by_space[space], inner, act, *values)
    return _in_parts(machine, parts(window), access, addresses, act, *values)


def _in_parts(
    machine: Memories,
    positions: list[np.ndarray],
    access: Access,
    addresses: np.ndarray,
    act: Callable,
    *values: np.ndarray,
) -> Any:
    """Run it for some of the lanes after the other."""
    whole, result = machine.idx, None
    for part in positions:
        machine.idx = machine.all_lanes(whole)[part]
        found = _perform(machine, access, addresses[part], act, *(value[part] for value in values))
        if found is not None:
            result = np.empty(len(addresses), found.dtype) if result is None else result
            result[part] = found
    machine.idx = whole
    return result


def _count_global(machine: Memories, access: Access, addresses: np.ndarray) -> None:
    machine.counters.globally(machine, access.pc, addresses, access.size)
    if machine.recorder.on:
        moved = access.size * len(addresses) / machine.active_warps()
        event = events.Store(moved) if access.act.writes else events.Load(moved)
        machine.recorder.event(access.pc, event)


# --------------------------------------------------------------------------- the bytes


def _read(machine: Memories, access: Access, memory: Place, unit: np.ndarray) -> np.ndarray:
    if access.act.strong:
        _hear(machine, access, memory, unit)  # first: what is acquired is ordered before this read, too
    _watch(machine, access, memory, unit)
    # where an index has 32 bits, in a browser, `take` casts none of 64 by itself
    found = memory.memory.units(access.size).take(unit.astype(np.intp, copy=False))
    if access.act.strong:
        machine.turns.looked(access.pc, unit, found)
    elif machine.holes:
        _note_holes(machine, access, memory, unit, found)
    return found


def _note_holes(
    machine: Memories, access: Access, memory: Place, unit: np.ndarray, found: np.ndarray
) -> None:
    """A part of some of these units was never written. Whole ones were reported, but for those that are only carried to
    another place."""
    machine.holes, size, code = False, access.size, machine.launch.code
    if isinstance(memory, LocalMemory):
        return
    missing, told = _missing(machine, memory, unit, size), access.pc not in code.carried | code.of_structs
    some = missing.any(axis=1) & ~(missing.all(axis=1) & told)
    at = np.flatnonzero(some)
    if not len(at):
        return
    bits = found[at].view(np.uint8).reshape(-1, size).copy()
    bits[missing[at]] = _others(bits, missing[at])[missing[at]]
    first = int(unit[at[0]]) * size + int(missing[at[0]].argmax())
    place = (
        machine.shared.describe(first % machine.shared.stride)
        if isinstance(memory, SharedMemory)
        else memory.byte(first)
    )
    machine.partly.append(Partly(machine.active()[at], bits.reshape(-1).view(UNIT[size]), place))


def _others(bits: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Other numbers for the bytes of units: large ones, and a zero where a part of a word is missing that is none."""
    large, size = np.where(bits == OTHER, OTHER - 1, OTHER), bits.shape[1]
    if size < 4:
        return np.where(bits == 0, large, 0)
    elements = np.repeat(missing.reshape(len(bits), -1, 4).all(axis=2), 4, axis=1)
    return np.where(elements | (bits == 0), large, 0)


def _missing(machine: Memories, memory: SharedMemory | Buffer, unit: np.ndarray, size: int) -> np.ndarray:
    """Which bytes of these units nobody has written: (units, size)."""
    if isinstance(memory, SharedMemory):
        return machine.shadow.unwritten(unit, size)
    found = not_written(memory.written, unit, size) if memory.written is not None else None
    return np.zeros((len(unit), size), bool) if found is None else found


def _write(machine: Memories, access: Access, memory: Place, unit: np.ndarray, values: np.ndarray) -> None:
    if isinstance(memory, LocalMemory):
        machine.still = machine.still and False
        memory.write(unit, access.size, values)
        return
    if machine.still:
        machine.still = not differs(memory.memory.units(access.size)[unit], values).any()
    if memory.written is not None:
        note_written(memory.written, unit, access.size)
    if memory.seen is not None:
        memory.seen.note("writes", unit, access.size)
    units = memory.memory.units(access.size)
    shadow = machine.shadow_of(memory)
    if shadow is None:
        units[unit] = values
        return
    reach = Reach(machine.active(), unit, access.size, access.pc)
    shadow.on_access(machine, access.act, reach, lambda: differs(units[unit], values))
    if access.act.strong:
        _tell(machine, access, memory, unit, atomic=False)
    else:
        machine.orders.messages.overwrite(memory, unit * access.size)
    units[unit] = values
    if (beaten := differs(units[unit], values)).any():
        if access.act.strong:
            shadow.on_chance(machine, access.act, reach, beaten)
        else:
            shadow.on_clash(machine, reach, beaten)


def _update(
    machine: Memories,
    access: Access,
    memory: Place,
    unit: np.ndarray,
    operation: Callable,
    running: Callable | None,
    *operands: np.ndarray,
) -> np.ndarray:
    if memory is not machine.local:
        _hear(machine, access, memory, unit)
    _watch(machine, access, memory, unit)
    units = memory.memory.units(access.size)
    order, ends = _in_turn(unit)
    if running is not None and len(ends) > ends[0] and _is_quiet(machine, access, memory):
        old, changed = _update_by_place(machine, units, unit, running, operands[0])
        if memory.written is not None:
            note_written(memory.written, unit, access.size)
    else:
        old, changed = _update_in_turn(machine, access, memory, unit, operation, operands, order, ends)
    if changed:
        machine.turns.changed()
    else:
        machine.turns.looked(access.pc, unit, old)
    return old


def _is_quiet(machine: Memories, access: Access, memory: Place) -> bool:
    """Nobody learns from these atomics what others did before."""
    messages = machine.orders.messages
    return memory is machine.local or not (access.releases or messages.fenced or messages.letters.get(memory))


def _update_by_place(
    machine: Memories, units: np.ndarray, unit: np.ndarray, running: Callable, values: np.ndarray
) -> tuple[np.ndarray, bool]:
    """Many lanes name few places: what was there before each lane, and whether anything has changed."""
    order = np.argsort(unit, kind="stable")
    firsts = np.flatnonzero(np.diff(unit[order], prepend=-1))
    old, changed = np.empty(len(unit), units.dtype), False
    for lanes in np.split(order, firsts[1:]):
        machine.work(1)
        place = unit[lanes[0]]
        steps = np.append(units[place : place + 1].view(values.dtype), values[lanes])
        steps = running(steps).view(units.dtype)
        old[lanes], units[place] = steps[:-1], steps[-1]
        changed = changed or bool((steps[1:] != steps[:-1]).any())
    return old, changed


def _update_in_turn(
    machine: Memories,
    access: Access,
    memory: Place,
    unit: np.ndarray,
    operation: Callable,
    operands: tuple[np.ndarray, ...],
    order: np.ndarray,
    ends: np.ndarray,
) -> tuple[np.ndarray, bool]:
    units = memory.memory.units(access.size)
    old, changed = np.empty(len(unit), units.dtype), False
    lanes, talks = machine.active(), memory is not machine.local
    for start, end in zip(np.append(0, ends[:-1]), ends, strict=True):
        machine.work(1)
        now = order[start:end]
        old[now] = before = units[unit[now]]
        after, written = operation(before, *(operand[now] for operand in operands))
        after = after.view(units.dtype)
        if talks:
            _hear(machine, access, memory, unit[now], lanes[now])
        if written is not None:
            now, after = now[written], after[written]
            before = before[written]
        changed = changed or bool(differs(before, after).any())
        units[unit[now]] = after
        if memory.written is not None:
            note_written(memory.written, unit[now], access.size)
        if talks:
            _tell(machine, access, memory, unit[now], True, lanes[now])
    return old, changed


def _in_turn(unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The order in which lanes get their turn, and where each turn ends: the k-th lane of each place in turn k."""
    order = np.argsort(unit, kind="stable")
    sorted_unit = unit[order]
    first = np.flatnonzero(np.diff(sorted_unit, prepend=-1))
    turn = np.arange(len(unit)) - np.repeat(first, np.diff(np.append(first, len(unit))))
    return order[np.argsort(turn, kind="stable")], np.cumsum(np.bincount(turn))


# --------------------------------------------------------------------------- those who watch


def _watch(machine: Memories, access: Access, memory: Place, unit: np.ndarray) -> None:
    if memory.written is not None:
        machine.check_written(access, memory, unit)
    if memory.seen is not None:
        memory.seen.note("changes" if access.act.writes else "reads", unit, access.size)
    if not isinstance(memory, LocalMemory) and (shadow := machine.shadow_of(memory)) is not None:
        reach = Reach(machine.active(), unit, access.size, access.pc)
        shadow.on_access(machine, access.act, reach)
        if not access.coherent:
            shadow.on_read_only(machine, reach)


def _hear(
    machine: Memories, access: Access, memory: Place, unit: np.ndarray, lanes: np.ndarray | None = None
) -> None:
    """A strong read: what was released at these places may be acquired."""
    messages = machine.orders.messages
    if messages.letters.get(memory):
        messages.read(
            memory, machine.active() if lanes is None else lanes, unit * access.size, access.acquires
        )


def _tell(
    machine: Memories,
    access: Access,
    memory: Place,
    unit: np.ndarray,
    atomic: bool,
    lanes: np.ndarray | None = None,
) -> None:
    """A strong write: what these lanes did and saw may be released with it."""
    messages = machine.orders.messages
    if access.releases or messages.fenced or messages.letters.get(memory):
        lanes = machine.active() if lanes is None else lanes
        rows = machine.orders.rows(lanes) if access.releases else None
        messages.write(memory, lanes, unit * access.size, access.act.scope, rows, atomic)
