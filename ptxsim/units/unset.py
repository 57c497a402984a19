"""What would come out if registers that nobody has set held something else.

A register holds anything until an instruction writes it. Here it holds zero. Where a program may read one before
(ptx/unset.py), a second value stands beside each such register: what it would hold if the zero had been another number.
An instruction that maps registers to registers runs on both. Where the two differ in an address, at a branch, or in
what goes into global memory, the program's results depend on what nobody has set.

So nothing is said of a value that is only copied, or computed and dropped, or chosen away: compilers make such code of
right programs.

What a load finds where nobody has written some of its bytes is followed in the same way, from the first such load on:
its second value has other numbers in those bytes. A struct is copied with the bytes between its members, the last
words of a row with what lies behind it: that goes into memory as it is, and is not written there either.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np

from ..ground.memory import SHARED_WINDOW, UNIT, Bytes, Miss
from ..ptx.program import Instruction
from ..ptx.provenance import registers
from ..ptx.unset import MATH
from ..races.hazards import HazardLog
from .access import OTHER, Memories, differing_bytes, differs, in_shared

MOVES = frozenset(("mov", "selp", "cvt", "cvta", "prmt", "shfl", "bfi", "bfe"))
"""Instructions that take a value as it is."""
BITWISE = MOVES | {"and", "or", "xor", "not", "lop3", "shl", "shr", "shf"}
"""Instructions that take bytes out of a word, and put them into another one."""
SUMS = 3
"""The operand of an mma that it adds to."""


class Use(NamedTuple):
    """The first instruction that computed with such a value; `sums`: as what an mma adds to."""

    pc: int
    sums: bool


class Load(NamedTuple):
    """A load that found such a value, and the first byte that nobody has written, in words."""

    pc: int
    place: str


class Twofold(Memories, Protocol):
    """Lanes whose registers have second values."""

    second: "SecondValues"


class Untouched:
    """What a register holds otherwise as long as nothing but writes has come to it: these lanes have not written it.
    Registers that are written together share one."""

    def __init__(self, lanes: np.ndarray) -> None:
        self.lanes = lanes
        self._behind: tuple[np.ndarray, Untouched | None] | None = None

    def without(self, active: np.ndarray) -> "Untouched | None":
        """Once these lanes have written it, too; None where no lane is left."""
        if self._behind is None or self._behind[0] is not active:
            left = self.lanes.copy()
            left[active] = False
            self._behind = active, Untouched(left) if left.any() else None
        return self._behind[1]


class SecondValues:
    """Of one machine."""

    def __init__(self, machine: Memories, wanted: frozenset[int]) -> None:
        self.machine = machine
        nobody_wrote = Untouched(np.ones(machine.lanes, bool))
        self.values: dict[int, np.ndarray | Untouched] = dict.fromkeys(wanted, nobody_wrote)
        self.wanted = wanted
        self.uses: dict[int, Use] = {}  # by register, if anything has computed with it
        self.loads: dict[int, Load] = {}  # by register, if it comes of memory
        self.stored: _Stored | None = None  # once such a value lies in shared memory

    # ---- what registers hold

    @contextmanager
    def in_place(
        self, touched: frozenset[int], before: Mapping[int, np.ndarray] = MappingProxyType({})
    ) -> Iterator[None]:
        """Inside, these registers hold their second values; where they have none, what stands in `before`, or what they
        hold. Behind it they hold what they held."""
        R, clean = self.machine.R, self.machine.clean
        held = {index: (R[index], clean[index]) for index in touched}
        for index in touched:
            R[index], clean[index] = self._value(index, before.get(index, R[index])), False
        log, self.machine.log = self.machine.log, HazardLog()
        try:
            yield
        finally:
            self.machine.log = log
            for index, (values, flag) in held.items():
                R[index], clean[index] = values, flag

    def put(self, index: int, second: np.ndarray, use: Use | None, load: Load | None = None) -> None:
        """The second value of a register that has just been written; `use` and `load`: of what it comes."""
        if not _differ(second, self.machine.R[index]).any():
            if index in self.values:
                self._forget(index)
            return
        self.values[index] = second
        if use:
            self.uses[index] = use
        elif self.machine.idx is None:
            self.uses.pop(index, None)
        if load:
            self.loads[index] = load
        elif self.machine.idx is None:
            self.loads.pop(index, None)

    def take(self, pc: int, put: Callable, every: frozenset[int], writes: frozenset[int]) -> None:
        """What the load at `pc` has just found (`Partly`); `put(machine, units)` takes units to `every` of its
        registers, and `writes` are those that anybody reads."""
        machine, idx = self.machine, self.machine.idx
        found, machine.partly = machine.partly, []
        with self.in_place(every):
            for part in found:
                machine.idx = part.lanes
                put(machine, part.units)
            machine.idx = idx
            values = {index: machine.R[index] for index in writes}
        for index, second in values.items():
            self.put(index, second, None, Load(pc, found[0].place))

    def settle(self, written: frozenset[int]) -> None:
        """The active lanes have written these registers, with what everybody knows."""
        machine = self.machine
        for index in written & self.values.keys():
            second = self.values[index]
            if machine.idx is None:
                self._forget(index)
            elif isinstance(second, Untouched):
                left = second.without(machine.idx)
                if left is None:
                    self._forget(index)
                else:
                    self.values[index] = left
            else:
                second = np.broadcast_to(second, machine.lanes).copy()
                mine = machine.R[index].view(second.dtype)
                second[machine.idx] = mine if len(mine) == 1 else mine[machine.idx]
                self.put(index, second, None)

    def unequal(self, index: int, size: int = 16) -> np.ndarray:
        """Of which active lanes the two values of a register differ in their low `size` bytes: a bool for each."""
        machine, second = self.machine, self.values.get(index)
        if second is None:
            return np.zeros(machine.count(), bool)
        if isinstance(second, Untouched):
            found = second.lanes
        else:
            found = np.broadcast_to(_differ(second, machine.R[index], size), machine.lanes)
        return found if machine.idx is None else found[machine.idx]

    def any_unequal(self, several: Iterable[int]) -> np.ndarray:
        """The same of any of these registers."""
        found, seen = np.zeros(self.machine.count(), bool), set()
        for index in several:
            second = self.values.get(index)
            if second is not None and id(second) not in seen:
                seen.add(id(second))
                found = found | self.unequal(index)
        return found

    def _value(self, index: int, first: np.ndarray) -> np.ndarray:
        """The second value of a register that holds `first`."""
        second = self.values.get(index)
        if isinstance(second, Untouched):
            return np.where(second.lanes, _other(first.dtype), first)
        return first if second is None else second

    def _forget(self, index: int) -> None:
        del self.values[index]
        self.uses.pop(index, None)
        self.loads.pop(index, None)

    # ---- where it matters

    def ask(
        self, pc: int, used: list[int], what: str, size: int = 16, only: np.ndarray | None = None
    ) -> None:
        """The active lanes use these registers for something that matters: `what`. `only`: some of those lanes."""
        for index in used:
            if index not in self.values:
                continue
            lanes = self.unequal(index, size)
            at = np.flatnonzero(lanes if only is None else lanes & only)
            if len(at):
                self._report(pc, index, int(self.machine.active()[at[0]]), len(at), what)

    def _report(self, pc: int, index: int, lane: int, count: int, what: str) -> None:
        machine = self.machine
        code, load = machine.launch.code, self.loads.get(index)
        use = self.uses.get(index, Use(pc, False))
        told = load.pc if load else use.pc
        place = "" if str(code.where(told)) == str(code.where(pc)) else f" at {code.where(pc)}"
        if load:
            text = (
                f"{machine.describe_thread(lane)} reads {load.place}, which nobody has written, and {what}{place} "
                "depends on it. It is to be written before, or left out by a mask or a condition"
            )
            machine.log.add("uninitialised-read", code.instructions[told], text, count, "never-written")
            return
        if use.sums:
            text, cause = "adds to sums that nobody has set: its registers hold anything", "sums-not-set"
        else:
            text, cause = (
                "uses a variable to which nothing has been assigned: it holds anything",
                "variable-not-set",
            )
        text = (
            f"{machine.describe_thread(lane)} {text}, and {what}{place} depends on it. Give it a value first"
        )
        machine.log.add("uninitialised-read", code.instructions[use.pc], text, count, cause)


class _Stored:
    """Second values in shared memory: bytes, and when each granule of its shadow was written. They count while nobody
    has written there since."""

    def __init__(self, machine: Memories) -> None:
        self.shadow = machine.shadow
        self.bytes = Bytes(machine.shared.memory.data.copy())
        self.use: Use | None = None  # that any of them comes of
        self.load: Load | None = None
        self.times = np.full(self.shadow.granules, -1, np.int64)

    def note(
        self, unit: np.ndarray, size: int, values: np.ndarray, use: Use | None, load: Load | None
    ) -> None:
        """These units have just been written."""
        self.use, self.load = self.use or use, self.load or load
        self.bytes.units(size)[unit] = values
        granules = self._granules(unit, size)
        self.times[granules] = self.shadow.write_time[granules]

    def found(self, unit: np.ndarray, size: int, first: np.ndarray) -> np.ndarray:
        """What these units hold otherwise, which hold `first`."""
        granules = self._granules(unit, size)
        still = (self.times[granules] == self.shadow.write_time[granules]).reshape(len(unit), -1).all(axis=1)
        return np.where(still, self.bytes.units(size)[unit], first)

    def _granules(self, unit: np.ndarray, size: int) -> np.ndarray:
        count = size // self.shadow.granule
        found = (unit[:, None] * count + np.arange(count)).ravel()
        return np.minimum(found, self.shadow.granules - 1)


def _other(dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "b":
        return np.ones(1, bool)
    return np.full(dtype.itemsize, OTHER, np.uint8).view(dtype)


def _differ(a: np.ndarray, b: np.ndarray, size: int = 16) -> np.ndarray:
    """Whether the low `size` bytes differ, element by element. One of both may stand for all lanes."""
    if a.dtype.kind in "bc":
        return differs(*np.broadcast_arrays(a, b.view(a.dtype)))
    bits = UNIT[a.dtype.itemsize]
    found = a.view(bits) ^ b.view(bits)
    return (found & bits.type((1 << 8 * min(size, bits.itemsize)) - 1)) != 0


# --------------------------------------------------------------------------- steps


def on_both(
    step: Callable, pc: int, instruction: Instruction, reads: frozenset[int], writes: frozenset[int]
) -> Callable:
    """The step of an instruction that maps registers to registers, on both values."""
    touched = reads | writes

    def both(machine: Twofold) -> None:
        second = machine.second
        if touched.isdisjoint(second.values):
            step(machine)
            return
        if not second.any_unequal(reads).any():
            step(machine)
            second.settle(writes)
            return
        use, load = _use(second, pc, instruction), _load(second, reads)
        before = {index: machine.R[index] for index in touched}
        step(machine)
        with second.in_place(touched, before):
            step(machine)
            found = {index: machine.R[index] for index in writes & second.wanted}
        for index, values in found.items():
            second.put(index, values, use, load)

    return both


def _load(second: SecondValues, read: Iterable[int]) -> Load | None:
    """The load of which all comes that is not known of these registers."""
    held = {index for index in read if index in second.values}
    return min(second.loads[index] for index in held) if held and held <= second.loads.keys() else None


def _use(second: SecondValues, pc: int, instruction: Instruction) -> Use | None:
    """What has first computed with what this one reads: it itself, if it is the first to do more than move it."""
    read = [registers(operand) for operand in instruction.operands[1:]]
    held = [index for indices in read for index in indices if index in second.values]
    known = [second.uses[index] for index in held if index in second.uses]
    if known:
        return min(known)
    moves = BITWISE if second.loads.keys() >= set(held) else MOVES
    if not held or instruction.opcode.root in moves:
        return None
    sums = instruction.opcode.root in MATH and not second.values.keys().isdisjoint(read[SUMS - 1])
    return Use(pc, sums)


def settled(step: Callable, writes: frozenset[int]) -> Callable:
    """The step of an instruction that writes what everybody knows into these registers."""

    def run(machine: Twofold) -> None:
        step(machine)
        machine.second.settle(writes)

    return run


def take_loaded(pc: int, put: Callable, every: frozenset[int], writes: frozenset[int]) -> Callable:
    """What takes to second values what the load at `pc` has found where a part was never written."""

    def take(machine: Twofold) -> None:
        machine.second.settle(writes)
        machine.second.take(pc, put, every, writes)

    return take


def followed(step: Callable, take: Callable) -> Callable:
    """The step of a load that may find such units."""

    def run(machine: Twofold) -> None:
        step(machine)
        if machine.partly:
            take(machine)

    return run


def asked(step: Callable, pc: int, used: list[int], what: str) -> Callable:
    """The step of an instruction that uses these registers for what matters."""

    def run(machine: Twofold) -> None:
        machine.second.ask(pc, used, what)
        step(machine)

    return run


def stores(
    step: Callable, pc: int, base: int | None, values: list[int], size: int, alone: bool, computes: bool
) -> Callable:
    """The step of a store or an atomic that takes these registers, `size` bytes of each, to an address in register
    `base` (None: it is in global memory). Part of a struct may be unset, and is copied with it: a value that is only
    copied counts where the store is `alone` in its line. `computes`: an atomic that makes something of the value."""

    def run(machine: Twofold) -> None:
        second = machine.second
        asks = [
            index
            for index in values
            if index in second.uses
            or (index in second.values and (computes or (alone and index not in second.loads)))
        ]
        if asks:
            only = None
            if base is not None:
                only = machine.spread(_active(machine, base)) < np.uint64(SHARED_WINDOW)
            second.ask(pc, asks, "what is stored", size, only)
        step(machine)

    return run


def compares(step: Callable, used: frozenset[int]) -> Callable:
    """The step of an atomicCAS that takes these registers. Who changes a part of a word so has read the rest of it
    before, which may be unset, and puts it back: where the word was as it was read, it is known from now on."""

    def run(machine: Twofold) -> None:
        machine.second.settle(used & machine.second.loads.keys())
        step(machine)

    return run


def carries(
    step: Callable,
    pc: int,
    address: Callable,
    values: Callable,
    size: int,
    used: frozenset[int],
    alone: bool,
) -> Callable:
    """The step of a store of the units `values(machine)`, made of the registers `used`. What was not written where they
    come from is not written where they go, if that memory knows which bytes are; where it does not, a whole number that
    is the only one of its line is used by who reads it there."""

    def run(machine: Twofold) -> None:
        second = machine.second
        mine = [index for index in used & second.loads.keys() if index not in second.uses]
        step(machine)
        if not mine:
            return
        with second.in_place(used):
            other = machine.spread(values(machine))
        missing = differing_bytes(machine.spread(values(machine)), other)
        try:
            found = machine.memory.locate(machine.spread(address(machine)).view(np.uint64), size, pc, True)
        except Miss:
            return
        if found is None:
            return
        buffer, unit = found
        if buffer.written is not None:
            buffer.written.data[(unit[:, None] * size + np.arange(size))[missing]] = 0
        elif alone and buffer.numbers and buffer.itemsize == size:
            second.ask(pc, mine, "what is stored", size)

    return run


def _active(machine: Twofold, index: int) -> np.ndarray:
    found = machine.R[index]
    return found if machine.idx is None or len(found) == 1 else found[machine.idx]


def stores_shared(
    step: Callable, address: Callable, values: Callable, size: int, used: frozenset[int]
) -> Callable:
    """The step of a store of the units `values(machine)`, made of the registers `used`, into shared memory."""

    def run(machine: Twofold) -> None:
        second = machine.second
        step(machine)
        if used.isdisjoint(second.values):
            return
        with second.in_place(used):
            found = values(machine)
        unit = _units(machine, address, size)
        if unit is None:
            return
        second.stored = second.stored or _Stored(machine)
        use = min((second.uses[index] for index in used & second.uses.keys()), default=None)
        load = min((second.loads[index] for index in used & second.loads.keys()), default=None)
        second.stored.note(unit, size, machine.spread(found), use, load)

    return run


def loads_shared(
    step: Callable, pc: int, address: Callable, put: Callable, size: int, writes: frozenset[int]
) -> Callable:
    """The step of a load from shared memory; `put(machine, units)` takes what it found to its registers."""

    def run(machine: Twofold) -> None:
        second, stored = machine.second, machine.second.stored
        unit = _units(machine, address, size) if stored else None
        before = {index: machine.R[index] for index in writes}
        step(machine)
        if stored is None or unit is None:
            second.settle(writes)
            return
        first = machine.shared.memory.units(size)[unit]
        units, load = stored.found(unit, size, first), stored.load
        if load and not stored.use and (missing := differing_bytes(first, units)).any():
            at = int(missing.any(axis=1).argmax())
            place = int(unit[at]) * size + int(missing[at].argmax())
            load = Load(pc, machine.shared.describe(place % machine.shared.stride))
        with second.in_place(writes, before):
            put(machine, units)
            found = {index: machine.R[index] for index in writes}
        for index, values in found.items():
            second.put(index, values, stored.use, load)

    return run


def _units(machine: Twofold, address: Callable, size: int) -> np.ndarray | None:
    """Where in shared memory the active lanes' addresses are; None where one of them is bad."""
    try:
        return in_shared(machine, machine.spread(address(machine)), machine.idx, size)[0]
    except Miss:
        return None
