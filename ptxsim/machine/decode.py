"""Instructions to steps: each PTX instruction becomes one Python function that acts on a machine.

A step reads registers, works on whole arrays of lanes and writes registers. Basic blocks are decoded when a
group of lanes first reaches them; an instruction that nobody executes need not be known.
"""

import importlib
import math
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial

import numpy as np

from .. import instructions
from ..ground.memory import UNIT, Fault
from ..ground.work import Work, work_of
from ..instructions.registry import CONTROL, MACHINE, PURE, Pure, gathering, takes_mask
from ..instructions.rounding import flush
from ..lanes import Lanes, Registers
from ..observe.counters import LineCounts, counts_of
from ..observe.recorder import Costs
from ..ptx.answers import looked_at
from ..ptx.branches import parting
from ..ptx.carried import carried, fill
from ..ptx.chance import order_matters
from ..ptx.counted import Counted, counted
from ..ptx.facts import not_simulated
from ..ptx.flow import Flow, targets_of
from ..ptx.guesses import first_guesses
from ..ptx.limits import check_meetings
from ..ptx.locks import Lock, locks, polling_atomics
from ..ptx.masks import by_chance
from ..ptx.opcode import DTYPES, Opcode, UnsupportedInstruction
from ..ptx.program import (
    Address,
    Immediate,
    Instruction,
    Pair,
    Program,
    Register,
    Special,
    Target,
    Variable,
    Vector,
    Where,
)
from ..ptx.provenance import ANY, Roots, arrays_of, roots_of, written_by
from ..ptx.repeats import Repeat, repeats
from ..ptx.rounds import asked_by, leaves_no_trace
from ..ptx.speculated import speculated
from ..ptx.sunk import moves, sunk
from ..ptx.unset import Unset, unset
from ..ptx.updates import Update, updates
from ..ptx.waits import waiting_loads
from ..units.access import Memories
from ..units.mbarriers import Hopper
from ..units.tensor_memory import Blackwell
from . import runs
from .unset import Watched

for _module in pkgutil.iter_modules(instructions.__path__):
    importlib.import_module(f"{instructions.__name__}.{_module.name}")

ALLOCATES = ("call.malloc", "call.cuda_malloc", "call.parameters")
"""Instructions that take memory for the kernel."""

Read = Callable[..., np.ndarray]
Write = Callable[..., None]


@dataclass(frozen=True)
class BasicBlock:
    """Instructions that run one after the other; `end` says where the lanes go on. `gathers`: before the first one
    lanes wait for others; it gives each active lane's mask of those (`registry.gathering`). `traceless`: others
    cannot see that they ran (ptx/rounds.py), but for atomics that change something."""

    first: int
    steps: tuple[tuple[int, Callable], ...]
    end: Callable
    end_pc: int
    work_end: int
    gathers: Callable | None
    traceless: bool
    work: Work
    length: int
    counts: LineCounts


class Code:
    """A program with its basic blocks, decoded on demand. Holds nothing of any launch."""

    def __init__(self, program: Program, variables: dict[str, int], follows_loads: bool = False) -> None:
        """`follows_loads`: loads may bring bytes that nobody has written."""
        self.program, self.instructions = program, program.instructions
        self.follows_loads = follows_loads
        self.variables = variables  # address of each __device__ and __constant__ variable
        bits = (*program.register_bits, 1)  # the last one is the carry flag
        self.register_dtypes = [np.dtype(bool) if n == 1 else UNIT[max(n, 8) // 8] for n in bits]
        self.carry = Register(len(program.register_bits), 1)
        self.costs = Costs(self.instructions)
        self.leaders = self._leaders()
        self.flow = Flow(self.instructions, self.leaders)
        self.roots = roots_of(program)  # which arguments the address of each instruction may come from
        several = len({each.offset for each in program.shared}) > 1
        self.shared_arrays = (
            arrays_of(program) if several else {}
        )  # a single one ends where its block's memory does
        self.shared_granule = min([4, *(size for _, size in self._accesses("shared"))])
        self.meeting_points = self._meeting_points()
        self.lanes_apart = any(_syncs_part_of_a_warp(instruction) for instruction in self.instructions)
        self.in_async_proxy = np.array([_in_async_proxy(ins.opcode.text) for ins in self.instructions])
        self.uses_async_proxy = bool(self.in_async_proxy.any())
        self._copies_into_shared = any(
            "complete_tx" in self.instructions[pc].opcode.text for pc in np.flatnonzero(self.in_async_proxy)
        )
        self.cancels = any(ins.opcode.root == "clusterlaunchcontrol.try_cancel" for ins in self.instructions)
        self.in_clusters = math.prod(program.cluster) > 1
        self._blocks: dict[int, BasicBlock] = {}

    def block(self, pc: int) -> BasicBlock:
        found = self._blocks.get(pc)
        if found is None:
            found = self._blocks[pc] = self._decode(pc)
        return found

    def where(self, pc: int) -> Where:
        """The source line of an instruction."""
        return self.instructions[pc].where

    def leaves_no_trace(self, block: int) -> bool:
        return self.block(block).traceless

    def is_overwritten(self, pc: int) -> bool:
        """Whether the copy engine may overwrite what this instruction of a thread reads in shared memory."""
        return (
            self._copies_into_shared
            and not self.in_async_proxy[pc]
            and not self.instructions[pc].opcode.text.startswith("mbarrier")
        )

    def is_barrier(self, pc: int) -> bool:
        """Whether the instruction is an aligned barrier of a block."""
        opcode = self.instructions[pc].opcode
        if opcode.has("cluster"):
            return False
        return opcode.root == "bar" or (opcode.root == "barrier" and opcode.has("aligned"))

    def granule(self, root: int) -> int:
        """The smallest access to the memory that argument number `root` points to, at most 4."""
        return min([4, *(size for roots, size in self._smallest_by_roots.items() if roots >> root & 1)])

    def writes(self, root: int) -> bool:
        """Whether any instruction may write what argument number `root` points to."""
        return any(roots >> root & 1 for roots in self._written)

    @cached_property
    def _smallest_by_roots(self) -> dict[Roots, int]:
        """For each set of arguments that addresses may come from the smallest access. Every launch asks for each
        argument and variable, and <cuda/atomic> alone brings hundreds of variables: the program is read once."""
        found: dict[Roots, int] = {}
        for pc, size in self._accesses("global"):
            roots = self.roots.get(pc, ANY)
            found[roots] = min(found.get(roots, size), size)
        return found

    @cached_property
    def _written(self) -> frozenset[Roots]:
        """The sets of arguments that the addresses of writes may come from."""
        writes = [pc for pc, _ in self._accesses("global") if self.instructions[pc].opcode.facts.writes]
        return frozenset(self.roots.get(pc, ANY) for pc in writes)

    @cached_property
    def allocates(self) -> bool:
        """Whether it asks for memory itself: by malloc or new, or for the parameters of a launch."""
        return any(instruction.opcode.root in ALLOCATES for instruction in self.instructions)

    @cached_property
    def stores_in_bulk(self) -> bool:
        """Whether the copy engine may write global memory."""
        texts = (instruction.opcode.text for instruction in self.instructions)
        return any("async.bulk" in text and "global.shared" in text for text in texts)

    def is_address(self, root: int) -> bool:
        """Whether an address in global memory comes from argument number `root` alone: that is a pointer, and no number
        that an index is made of, such as a row length of type size_t."""
        alone = [pc for pc, roots in self.roots.items() if roots == 1 << root]
        return any(self.instructions[pc].opcode.has("global") for pc in alone)

    @cached_property
    def waits(self) -> frozenset[int]:
        """The loads that only wait for a value."""
        return waiting_loads(self.instructions, self.flow)

    @cached_property
    def unset(self) -> Unset:
        """Registers that may be read before anything has written them, but for those that are written when lanes go on
        behind a wait."""
        brought = self.plain_loads if self.follows_loads else frozenset[int]()
        found = unset(self.program, self.flow, self.carry.index, brought)
        ends = (each for each in self.instructions if found.registers and each.opcode.root in CONTROL)
        late = {index for each in ends for index in written_by(each)}
        return replace(found, registers=found.registers - late)

    @cached_property
    def _second(self) -> Watched:
        return Watched(self.program, self.unset, self.carry.index, self.follows_loads)

    @cached_property
    def following(self) -> "Code":
        """The same program, once its loads have brought bytes that nobody has written."""
        return self if self.follows_loads else Code(self.program, self.variables, True)

    def take_loaded(self, pc: int) -> Callable:
        """What takes to second values what the load at `pc` has found (units/unset.py)."""
        return self._second.take_loaded(pc, Decoder(self, pc))

    @cached_property
    def first_guesses(self) -> frozenset[int]:
        """The loads with which an atomic of a header begins."""
        return first_guesses(self.instructions)

    @cached_property
    def parted(self) -> list[frozenset[int]]:
        """For each branch that may part the threads of a block the basic blocks that it decides about."""
        return parting(self.instructions, self.flow)

    @cached_property
    def locks(self) -> tuple[Lock, ...]:
        return tuple(locks(self.instructions, self.flow))

    @cached_property
    def polls(self) -> frozenset[int]:
        """What a loop asks memory again and again: loads that wait, and atomics by which it goes on or ends."""
        return self.waits | polling_atomics(self.instructions, self.flow)

    @cached_property
    def updates(self) -> tuple[Update, ...]:
        return tuple(updates(self.instructions, self.flow))

    @cached_property
    def counted(self) -> list[Counted]:
        """Loops that count to an end."""
        return counted(self.instructions, self.flow)

    @cached_property
    def repeats(self) -> dict[int, Repeat]:
        """By its basic block, a loop whose rounds may come to be all alike; none that uses what nobody may have
        written."""
        if self.follows_loads:
            return {}
        doubtful = self.unset.registers
        return {
            block: each
            for block, each in repeats(self.instructions, self.flow).items()
            if not any(self._uses(pc) & doubtful for pc in self.flow.range_of(block))
        }

    def _uses(self, pc: int) -> set[int]:
        instruction = self.instructions[pc]
        return {*written_by(instruction), *asked_by(instruction)}

    @cached_property
    def looked_at(self) -> frozenset[int]:
        """The registers that the program looks at."""
        return looked_at(self.instructions)

    @cached_property
    def plain_loads(self) -> frozenset[int]:
        """The weak loads, by pc, but for those of parameters and constants."""
        return (
            frozenset(pc for pc, each in enumerate(self.instructions) if _loads_plainly(each))
            - self.first_guesses
        )

    @cached_property
    def speculated(self) -> frozenset[int]:
        """The loads from local memory, by pc, whose value counts only where a condition holds."""
        return speculated(self.instructions)

    @cached_property
    def carried(self) -> frozenset[int]:
        """The loads, by pc, that only carry values within shared memory."""
        return carried(self.instructions, "shared")

    @cached_property
    def of_structs(self) -> frozenset[int]:
        """The loads, by pc, that only carry what may lie between two members of a struct: a byte or two, or a word, if
        other loads stand in its line."""
        return fill(self.instructions, carried(self.instructions) & self.plain_loads)

    @cached_property
    def order_matters(self) -> bool:
        """Whether the order of the warps may change what the program does."""
        return order_matters(self.instructions)

    @cached_property
    def masks_by_chance(self) -> dict[int, int]:
        """By the pc of an activemask, the instruction whose mask it makes."""
        return by_chance(self.instructions, takes_mask)

    @cached_property
    def blocks_may_wait(self) -> bool:
        """Whether a block may wait for another one: a strong read of global memory stands in a loop."""
        return any(_reads_strongly(i) and self.flow.in_loop(pc) for pc, i in enumerate(self.instructions))

    def _meeting_points(self) -> dict[int, frozenset[int]]:
        found, count = {}, 0
        for pc, instruction in enumerate(self.instructions):
            if self.is_barrier(pc) or takes_mask(instruction):
                found[pc] = self.flow.meeting_points(pc)
                count += len(found[pc])
                check_meetings(count)
        return found

    def _leaders(self) -> set[int]:
        leaders = {0}
        for pc, instruction in enumerate(self.instructions):
            leaders.update(targets_of(instruction))
            if instruction.opcode.facts.waits_for or instruction.opcode.root == "activemask":
                leaders.add(pc)
            if instruction.opcode.root in CONTROL:
                leaders.add(pc + 1)
        return leaders - self._of_warps_that_are_there(leaders)

    def _of_warps_that_are_there(self, leaders: set[int]) -> set[int]:
        """Of these instructions those that lead only because they wait for a whole warp, and which come in one series
        behind another such one: its warp is there. So ldmatrix and mma side by side are one block."""
        found, there = set(), False
        others = {target for each in self.instructions for target in targets_of(each)}
        for pc, instruction in enumerate(self.instructions):
            root = instruction.opcode.root
            waits = instruction.opcode.facts.waits_for == "warp" and root not in CONTROL
            waits = waits and not instruction.guard
            if waits and there and pc not in others:
                found.add(pc)
            elif pc in leaders:
                there = waits
            there = there and root not in CONTROL
        return found

    def _accesses(self, space: str) -> Iterator[tuple[int, int]]:
        """The loads, stores and atomics that may go to a space (generic ones may), and the bytes of each."""
        others = {"shared", "global", "local", "param", "const"} - {space}
        for pc, instruction in enumerate(self.instructions):
            opcode = instruction.opcode
            named = {m.split("::")[0] for m in opcode.modifiers}
            accesses = opcode.facts.reads or opcode.facts.writes
            if accesses and opcode.types and not others & named:
                yield pc, DTYPES[opcode.types[-1]].itemsize

    def _decode(self, first: int) -> BasicBlock:
        steps = []
        loading: set[int] = set()  # registers that loads from global memory will fill
        pc = first
        while True:
            instruction = self.instructions[pc]
            ends = instruction.opcode.root in CONTROL
            leads = pc != first and pc in self.leaders
            if loading and (ends or leads or loading & _registers_read(instruction)):
                steps.append((pc, _use_loads(pc)))
                loading.clear()
            if ends or leads:
                break
            steps.append((pc, self._step(instruction, pc)))
            if instruction.opcode.root == "ld" and instruction.opcode.has("global"):
                loading |= _registers(instruction.operands[0])
            pc += 1
        end_pc, end = (pc - 1, _go_to(pc)) if leads else (pc, self._end(instruction, pc))
        masks = gathering(Decoder(self, first), self.instructions[first])
        mine = self.instructions[first : end_pc + 1]
        costs = [instruction.opcode.work for instruction in mine]
        joined = tuple(runs.joined(steps, self.instructions, self._run_step, self._second.concerns))
        length, counts = len(steps) + 1, counts_of(mine)
        traceless = all(leaves_no_trace(instruction) for instruction in mine)
        return BasicBlock(first, joined, end, end_pc, pc, masks, traceless, work_of(costs), length, counts)

    def _step(self, instruction: Instruction, pc: int) -> Callable:
        step = self._awaited(self._watched(self._build(MACHINE, instruction, pc), [pc]), [pc])
        step = self._second.step(step, pc, Decoder(self, pc))
        step = _guarded(Decoder(self, pc), instruction.guard, step) if instruction.guard else step
        return self._second.guarded(step, pc)

    def _end(self, instruction: Instruction, pc: int) -> Callable:
        return self._second.guarded(self._build(CONTROL, instruction, pc), pc)

    def _run_step(self, run: list[runs.Step]) -> Callable:
        decoder, instructions = Decoder(self, run[0][0]), self.instructions
        if instructions[run[0][0]].opcode.root == runs.MMA:
            step = runs.mma_step(run, instructions, decoder)
        else:
            read = partial(decoder.source, kind="f32", flushed=True)
            step = runs.fma_step(run, instructions, read, decoder.target)
        pcs = [pc for pc, _ in run]
        return self._awaited(self._watched(step, pcs), pcs)

    @cached_property
    def _of_wgmma(self) -> frozenset[int]:
        """The registers of matrices of wgmma."""
        vectors = (
            operand
            for instruction in self.instructions
            if instruction.opcode.root == "wgmma"
            for operand in instruction.operands
            if isinstance(operand, Vector)
        )
        return frozenset().union(*map(_registers, vectors))

    @cached_property
    def _sunk(self) -> frozenset[int]:
        return sunk(self.instructions, self.flow)

    @cached_property
    def _moves(self) -> dict[int, tuple[int, int | None]]:
        return moves(self.instructions)

    def _moved(self, pc: int) -> list[tuple[int, int | None]]:
        """Registers that this instruction does not compute behind a wgmma.fence: each is set to the value of another
        one, or (None) the source sets it before that fence, or to a constant."""
        if pc in self._sunk:
            return [(register, None) for register in written_by(self.instructions[pc])]
        return [self._moves[pc]] if pc in self._moves else []

    @cached_property
    def _followed(self) -> frozenset[int]:
        """The registers of wgmma, and those that are moved there."""
        found = set(self._of_wgmma)
        sources = set(self._moves.values())
        while more := {source for to, source in sources if to in found and source is not None} - found:
            found |= more
        return frozenset(found)

    @cached_property
    def _loaded(self) -> frozenset[int]:
        """The registers that tcgen05.ld fills."""
        loads = (each for each in self.instructions if each.opcode.root == "tcgen05.ld")
        return frozenset().union(*(_registers(each.operands[0]) for each in loads))

    def _awaited(self, step: Callable, pcs: list[int]) -> Callable:
        """An instruction that uses what tcgen05.ld brings: it waits for it."""
        read = frozenset().union(*(_registers_read(self.instructions[pc]) for pc in pcs)) & self._loaded
        if not read:
            return step

        def awaited(machine: Blackwell) -> None:
            machine.tensor.use(read)
            step(machine)

        return awaited

    def _watched(self, step: Callable, pcs: list[int]) -> Callable:
        """Other instructions that use registers of a wgmma, or write what is moved there: a wgmma in flight may hold
        them, or start without a fence."""
        instructions = [self.instructions[pc] for pc in pcs]
        if not self._of_wgmma or instructions[0].opcode.root == "wgmma":
            return step
        used = self._of_wgmma & frozenset().union(*(_registers(o) for i in instructions for o in i.operands))
        moved = [each for pc in pcs for each in self._moved(pc) if each[0] in self._followed]
        computed = self._followed & frozenset().union(
            *(written_by(self.instructions[pc]) for pc in pcs if not self._moved(pc))
        )
        if not (used or moved or computed):
            return step

        def watched(machine: Hopper) -> None:
            machine.math.touch(pcs[0], used, computed, moved)
            step(machine)

        return watched

    def _build(self, table: dict, instruction: Instruction, pc: int) -> Callable:
        """The step; for an unknown instruction, a step that stops with its name when it is reached."""
        decoder = Decoder(self, pc)
        try:
            if reason := not_simulated(instruction.opcode.text):
                raise UnsupportedInstruction(reason)
            build = table.get(instruction.opcode.root)
            step = build(decoder, instruction) if build else None
            return step or pure_step(decoder, instruction)
        except UnsupportedInstruction as reason:
            message = f"the simulator does not know '{instruction.text}': {reason}"
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
        ) as error:  # other operands
            message = (
                f"the simulator cannot read '{instruction.text}' ({error}): does an assembler take it? If it does, "
                "this is a mistake in the simulator; please report it, with the PTX"
            )

        def stop(machine: Lanes) -> None:
            raise Fault("unsupported-instruction", message)

        return stop


class Decoder:
    """Operands of the instruction at `pc` to functions that read and write them."""

    def __init__(self, code: Code, pc: int) -> None:
        self.code = code
        self.pc = pc

    def constant(self, operand: object, dtype: np.dtype) -> np.ndarray | None:
        """The value (shape (1,)) of an immediate or of a variable's address; None for anything else, and for what each
        block of a cluster has an address of its own for."""
        if isinstance(operand, Immediate):
            return operand.value(dtype)
        if isinstance(operand, Variable) and not (operand.space == "shared" and self.code.in_clusters):
            base = self.code.variables[operand.name] if operand.space in ("global", "const") else 0
            return np.array([base + operand.offset], np.uint64).astype(dtype)
        return None

    def source(self, operand: object, kind: str, flushed: bool = False) -> Read:
        """A function machine -> array of the active lanes' values (or of one value for all).

        `flushed`: float32 subnormals are read as zero (`.ftz`).
        """
        dtype = DTYPES[kind]
        value = self.constant(operand, dtype)
        if value is not None:
            return lambda machine: value
        if isinstance(operand, Variable):
            return _read_own_shared(operand.offset, dtype)
        if isinstance(operand, Special):
            return _read_special(operand.name, dtype, self.pc)
        if not isinstance(operand, Register):
            raise UnsupportedInstruction(f"it has {_words(operand)} where a value is read")
        if operand.bits == 1:
            return _read_predicate(operand)
        if operand.bits != 8 * dtype.itemsize:
            return _read_part(operand, dtype)
        return _read_flushed(operand.index) if flushed else _read(operand.index, dtype)

    def target(self, operand: object) -> Write:
        """A function (machine, array) that gives the active lanes a value; `_` and None swallow it."""
        if operand is None:
            return lambda machine, value: None
        if not isinstance(operand, Register):
            raise UnsupportedInstruction(f"it has {_words(operand)} where a register is written")
        return _write(operand.index, operand.bits)


def _read(index: int, dtype: np.dtype) -> Read:
    def read(machine: Registers) -> np.ndarray:
        a = machine.R[index]
        if a.dtype != dtype:
            a = a.view(dtype)
        return a if machine.idx is None or len(a) == 1 else a.take(machine.idx)

    return read


def _read_flushed(index: int) -> Read:
    float32 = np.dtype(np.float32)

    def read(machine: Registers) -> np.ndarray:
        a = machine.R[index]
        if a.dtype != float32:
            a = a.view(float32)
        if not machine.clean[index]:
            flushed = flush(a)
            if flushed is a:
                machine.clean[index] = True
            a = flushed
        return a if machine.idx is None or len(a) == 1 else a.take(machine.idx)

    return read


def _read_part(register: Register, dtype: np.dtype) -> Read:
    """A register that is wider than the type: its low bits. (Narrower ones are extended with zeros.)"""
    whole = UNIT[register.bits // 8]
    read_whole = _read(register.index, whole)
    bits = np.dtype(f"u{dtype.itemsize}")
    return lambda machine: read_whole(machine).astype(bits).view(dtype)


def _read_own_shared(offset: int, dtype: np.dtype) -> Read:
    """The address in a cluster of a byte of one's own block."""

    def read(machine: Memories) -> np.ndarray:
        addresses = (machine.clusters.own + offset).astype(dtype)
        return addresses if machine.idx is None else addresses.take(machine.idx)

    return read


def _read_predicate(register: Register) -> Read:
    index, negated = register.index, register.negated

    def read(machine: Registers) -> np.ndarray:
        a = machine.R[index]
        if machine.idx is not None and len(a) > 1:
            a = a.take(machine.idx)
        return ~a if negated else a

    return read


def _read_special(name: str, dtype: np.dtype, pc: int) -> Read:
    if "clock" in name or "timer" in name:
        shift = np.uint64(32 if name.endswith("_hi") else 0)
        return lambda machine: (machine.clock(pc) >> shift).astype(dtype)

    def read(machine: Registers) -> np.ndarray:
        a = machine.special(name)
        if a.dtype != dtype:
            a = a.astype(dtype)
        return a if machine.idx is None or len(a) == 1 else a.take(machine.idx)

    return read


def _write(index: int, bits: int) -> Write:
    size = max(bits // 8, 1)
    extended = (
        {}
        if size == 16
        else {"i": np.dtype(f"i{size}"), "u": np.dtype(f"u{size}"), "f": np.dtype(f"u{size}")}
    )

    def write(machine: Registers, value: np.ndarray) -> None:
        if value.dtype.itemsize != size:
            value = (value.view(f"u{value.dtype.itemsize}") if value.dtype.kind == "f" else value).astype(
                extended[value.dtype.kind]
            )
        machine.clean[index] = False
        if machine.idx is None:
            machine.R[index] = value
            return
        old = machine.R[index]
        new = np.full(machine.lanes, old[0]) if len(old) == 1 else old.copy()
        if new.dtype != value.dtype:
            new = new.view(value.dtype)
        new[machine.idx] = value
        machine.R[index] = new

    return write


# --------------------------------------------------------------------------- pure instructions


@cache
def _pure(build: Callable, opcode: Opcode) -> Pure:
    """One for each opcode: a program repeats the same few."""
    return build(opcode)


def pure_step(decoder: Decoder, instruction: Instruction) -> Callable:
    """The step of an instruction that maps lanes to lanes."""
    opcode = instruction.opcode
    build = PURE.get(opcode.root)
    if build is None:
        raise UnsupportedInstruction(f"there is no instruction '{opcode.root}'{_similar(opcode.root)}")
    spec = _pure(build, opcode)
    outputs = instruction.operands[0]
    targets = [outputs.first, outputs.second] if isinstance(outputs, Pair) else [outputs]
    flushed = opcode.has("ftz")
    reads = [
        decoder.source(operand, kind, flushed and kind == "f32")
        for operand, kind in zip(instruction.operands[1:], spec.inputs, strict=True)
    ]
    writes = [decoder.target(t) for t in targets]
    return (
        _with_carry(decoder, spec, reads, writes)
        if spec.reads_carry or spec.writes_carry
        else _plain(spec, reads, writes, flushed, targets)
    )


def _plain(spec: Pure, reads: list[Read], writes: list[Write], flushed: bool, targets: list) -> Callable:
    compute = spec.compute
    if len(spec.outputs) > 1:

        def step(machine: Registers) -> None:
            for write, value in zip(writes, compute(*[read(machine) for read in reads]), strict=False):
                write(machine, value)

        return step
    write = writes[0]
    if flushed and spec.outputs == ("f32",) and isinstance(targets[0], Register):
        return _flushed_step(compute, reads, write, targets[0].index)
    if len(reads) == 1:
        (first,) = reads
        return lambda machine: write(machine, compute(first(machine)))
    if len(reads) == 2:
        first, second = reads
        return lambda machine: write(machine, compute(first(machine), second(machine)))
    return lambda machine: write(machine, compute(*[read(machine) for read in reads]))


def _flushed_step(compute: Callable, reads: list[Read], write: Write, index: int) -> Callable:
    """A float32 result that has been flushed: later reads need not look for subnormals again."""

    def step(machine: Registers) -> None:
        clean = machine.idx is None or machine.clean[index]
        write(machine, compute(*[read(machine) for read in reads]))
        machine.clean[index] = clean

    return step


def _with_carry(decoder: Decoder, spec: Pure, reads: list[Read], writes: list[Write]) -> Callable:
    read_carry = decoder.source(decoder.code.carry, "pred")
    write_carry = decoder.target(decoder.code.carry)

    def step(machine: Registers) -> None:
        values = [read(machine) for read in reads]
        if spec.reads_carry:
            values.append(read_carry(machine))
        result = spec.compute(*values)
        if spec.writes_carry:
            result, carry = result
            write_carry(machine, carry)
        writes[0](machine, result)

    return step


def _similar(root: str) -> str:
    near = sorted(name for name in {*PURE, *MACHINE, *CONTROL} if name[:2] == root[:2])
    return f" (near it: {', '.join(near)})" if near else ""


# --------------------------------------------------------------------------- guards, jumps, warps


def _guarded(decoder: Decoder, guard: Register, step: Callable) -> Callable:
    """`@p step`: only for the lanes whose predicate is true."""
    read = decoder.source(guard, "pred")

    def guarded(machine: Registers) -> None:
        p = read(machine)
        if p.all():
            step(machine)
        elif p.any():
            whole = machine.idx
            machine.idx = np.flatnonzero(p) if whole is None else whole[p]
            step(machine)
            machine.idx = whole

    return guarded


def _loads_plainly(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    others = ("param", "const", "local", "volatile", "relaxed", "acquire")
    return opcode.root in ("ld", "ldu") and not any(map(opcode.has, others))


def _use_loads(pc: int) -> Callable:
    """Here a loaded value is used for the first time: the recorder notes that the warp waits for its loads."""
    return lambda machine: machine.recorder.use_loads(pc)


def _words(operand: object) -> str:
    """What kind of operand it is."""
    kinds = {Vector: "a list of registers", Address: "an address in brackets", Target: "a label"}
    return kinds.get(type(operand), "an operand of another kind")


def _registers(operand: object) -> set[int]:
    if isinstance(operand, Register):
        return {operand.index}
    if isinstance(operand, Address):
        return _registers(operand.base)
    if isinstance(operand, Vector):
        return set().union(*map(_registers, operand.items))
    return set()


def _registers_read(instruction: Instruction) -> set[int]:
    read = instruction.operands[instruction.opcode.facts.result :]
    return set().union(_registers(instruction.guard), *map(_registers, read))


def _go_to(pc: int) -> Callable:
    return lambda machine: machine.turns.add(pc, machine.idx)


def _syncs_part_of_a_warp(instruction: Instruction) -> bool:
    """Whether it may order some lanes of a warp and not others: `__syncwarp` with a mask that is not all lanes."""
    if instruction.opcode.root != "bar.warp":
        return False
    mask = instruction.operands[0]
    return not isinstance(mask, Immediate) or int(mask.text, 0) & 0xFFFFFFFF != 0xFFFFFFFF


ASYNC = ("wgmma.mma_async", "tcgen05.mma", "tcgen05.cp", "clusterlaunchcontrol.try_cancel")


def _in_async_proxy(opcode: str) -> bool:
    """Whether copy engine or tensor cores reach memory on their own (PTX ISA, "Async proxy"): not by cp.async without
    .bulk, nor by st.async."""
    return "async.bulk" in opcode or opcode.startswith(ASYNC)


def _reads_strongly(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    strong = any(opcode.has(m) for m in ("volatile", "relaxed", "acquire"))
    return (opcode.root == "ld" and strong and not opcode.has("shared")) or (
        opcode.root == "atom" and not opcode.has("shared") and not opcode.has("shared::cta")
    )
