"""What would come out if registers that nobody has set held something else.

A register holds anything until an instruction writes it. Here it holds zero. Where a program may read one before
(ptx/unset.py), a second value stands beside each such register: what it would hold if the zero had been another number.
An instruction that maps registers to registers runs on both. Where the two differ in an address, at a branch, or in
what goes into global memory, the program's results depend on what nobody has set.

So nothing is said of a value that is only copied, or computed and dropped, or chosen away: compilers make such code of
right programs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np

from ..memory import SHARED_WINDOW, UNIT, Bytes, Miss
from ..ptx.program import Instruction
from ..ptx.provenance import registers
from ..ptx.unset import MATH
from ..races.hazards import HazardLog
from .access import Memories, differs

BYTE = 0x71
"""Of what such a register holds otherwise: a large number in every type, and no NaN, which compares as nothing."""
MOVES = frozenset(("mov", "selp", "cvt", "cvta", "prmt", "shfl", "bfi", "bfe"))
"""Instructions that take a value as it is."""
SUMS = 3
"""The operand of an mma that it adds to."""


class Use(NamedTuple):
    """The first instruction that computed with such a value; `sums`: as what an mma adds to."""

    pc: int
    sums: bool


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

    def put(self, index: int, second: np.ndarray, use: Use | None) -> None:
        """The second value of a register that has just been written; `use`: of what it comes."""
        if not _differ(second, self.machine.R[index]).any():
            if index in self.values:
                self._forget(index)
            return
        self.values[index] = second
        if use:
            self.uses[index] = use
        elif self.machine.idx is None:
            self.uses.pop(index, None)

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
        use = self.uses.get(index, Use(pc, False))
        code = machine.launch.code
        place = "" if code.where(use.pc) == code.where(pc) else f" at {code.where(pc)}"
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
        self.times = np.full(self.shadow.granules, -1, np.int64)

    def note(self, unit: np.ndarray, size: int, values: np.ndarray, uses: list[Use]) -> None:
        """These units have just been written."""
        self.use = min([*uses, *([self.use] if self.use else [])], default=None)
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
    return np.full(dtype.itemsize, BYTE, np.uint8).view(dtype)


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
        use = _use(second, pc, instruction)
        before = {index: machine.R[index] for index in touched}
        step(machine)
        with second.in_place(touched, before):
            step(machine)
            found = {index: machine.R[index] for index in writes & second.wanted}
        for index, values in found.items():
            second.put(index, values, use)

    return both


def _use(second: SecondValues, pc: int, instruction: Instruction) -> Use | None:
    """What has first computed with what this one reads: it itself, if it is the first to do more than move it."""
    read = [registers(operand) for operand in instruction.operands[1:]]
    held = [index for indices in read for index in indices if index in second.values]
    known = [second.uses[index] for index in held if index in second.uses]
    if known:
        return min(known)
    if not held or instruction.opcode.root in MOVES:
        return None
    sums = instruction.opcode.root in MATH and not second.values.keys().isdisjoint(read[SUMS - 1])
    return Use(pc, sums)


def settled(step: Callable, writes: frozenset[int]) -> Callable:
    """The step of an instruction that writes what everybody knows into these registers."""

    def run(machine: Twofold) -> None:
        step(machine)
        machine.second.settle(writes)

    return run


def asked(step: Callable, pc: int, used: list[int], what: str) -> Callable:
    """The step of an instruction that uses these registers for what matters."""

    def run(machine: Twofold) -> None:
        machine.second.ask(pc, used, what)
        step(machine)

    return run


def stores(step: Callable, pc: int, base: int | None, values: list[int], size: int, alone: bool) -> Callable:
    """The step of a store or an atomic that takes these registers, `size` bytes of each, to an address in register
    `base` (None: it is in global memory). Part of a struct may be unset, and is copied with it: a value that is only
    copied counts where the store is `alone` in its line."""

    def run(machine: Twofold) -> None:
        second = machine.second
        asks = [index for index in values if index in second.values and (alone or index in second.uses)]
        if asks:
            only = None
            if base is not None:
                only = machine.spread(_active(machine, base)) < np.uint64(SHARED_WINDOW)
            second.ask(pc, asks, "what is stored", size, only)
        step(machine)

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
        uses = [second.uses[index] for index in used & second.uses.keys()]
        second.stored.note(unit, size, machine.spread(found), uses)

    return run


def loads_shared(
    step: Callable, address: Callable, put: Callable, size: int, writes: frozenset[int]
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
        units = stored.found(unit, size, machine.shared.memory.units(size)[unit])
        with second.in_place(writes, before):
            put(machine, units)
            found = {index: machine.R[index] for index in writes}
        for index, values in found.items():
            second.put(index, values, stored.use)

    return run


def _units(machine: Twofold, address: Callable, size: int) -> np.ndarray | None:
    """Where in shared memory the active lanes' addresses are; None where one of them is bad."""
    base = machine.block_base if machine.idx is None else machine.block_base[machine.idx]
    try:
        return machine.shared.locate(machine.spread(address(machine)), size, base)
    except Miss:
        return None
