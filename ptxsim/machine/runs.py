"""FMAs in a row as one step, and mma in a row: an outer product in registers is some tens of them, and none reads what
another writes.

NumPy then works on one array of FMAs x lanes, or of mma x warps, in place of one small array after the other.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from ..instructions import tensor
from ..instructions.registry import Operands
from ..instructions.rounding import fma32_ftz, subnormal
from ..lanes import Registers
from ..ptx.program import Instruction, Register, Vector

FMA, MMA = "fma.rn.ftz.f32", "mma"
MOST_LANES = 4096
"""More of them keep NumPy busy one at a time, and the rows of a large array would take much memory."""

Step = tuple[int, Callable]  # pc, step


def joined(
    steps: list[Step],
    instructions: Sequence[Instruction],
    step_of: Callable,
    alone: Callable[[int], bool] = lambda pc: False,
) -> Iterator[Step]:
    """The steps of a basic block, those of each run as one. `step_of` makes it of the run's steps; `alone(pc)`: not of
    this instruction."""
    run: list[Step] = []
    written: set[int] = set()

    def end() -> Iterator[Step]:
        yield from [(run[0][0], step_of(run.copy()))] if len(run) > 1 else run
        run.clear()
        written.clear()

    for pc, step in steps:
        registers = set() if alone(pc) else _registers(instructions[pc])
        same = run and instructions[run[0][0]].opcode.text == instructions[pc].opcode.text
        if not registers or not same or written & registers:
            yield from end()
        if registers:
            run.append((pc, step))
            written.update(_indices(instructions[pc].operands[0]))
        else:
            yield pc, step
    yield from end()


def _registers(instruction: Instruction) -> set[int]:
    """What an FMA or an mma writes and reads; nothing for another instruction, and for one of constants."""
    opcode = instruction.opcode
    plain = opcode.text == FMA or (opcode.root == MMA and tensor.is_known(instruction))
    if not plain or instruction.guard:
        return set()
    operands = [_indices(operand) for operand in instruction.operands]
    return set().union(*operands) if all(operands) else set()


def _indices(operand: object) -> list[int]:
    """The registers of an operand of an FMA or an mma; none if a constant is among them."""
    items = operand.items if isinstance(operand, Vector) else (operand,)
    registers = [item.index for item in items if isinstance(item, Register)]
    return registers if len(registers) == len(items) else []


def mma_step(run: list[Step], instructions: Sequence[Instruction], decoder: Operands) -> Callable:
    """One step for the mma of `run`; for many lanes it is those of the run."""
    together = tensor.mma_together(decoder, [instructions[pc] for pc, _ in run])

    def step(machine: Registers) -> None:
        if machine.count() > MOST_LANES:
            for _, single in run:
                single(machine)
        else:
            together(machine)

    return step


def fma_step(
    run: list[Step], instructions: Sequence[Instruction], source: Callable, target: Callable
) -> Callable:
    """One step for the FMAs of `run`; `source` and `target` make functions that read and write an operand."""
    operands = [instructions[pc].operands for pc, _ in run]
    inputs = {operand.index: operand for _, *sources in operands for operand in sources}
    reads = [source(operand) for operand in inputs.values()]
    number = {index: row for row, index in enumerate(inputs)}
    places = np.array([[number[operand.index] for operand in sources] for _, *sources in operands]).T
    writes = [(target(operand), operand.index) for operand, *_ in operands]

    def step(machine: Registers) -> None:
        if machine.count() > MOST_LANES:
            for _, single in run:
                single(machine)
            return
        _look_for_subnormals(machine, inputs)
        values = np.empty((len(reads), machine.count()), np.float32)
        for row, read in enumerate(reads):
            values[row] = read(machine)
        results = fma32_ftz(*values[places])
        for (write, index), result in zip(writes, results, strict=True):
            clean = machine.idx is None or machine.clean[index]
            write(machine, result)
            machine.clean[index] = clean

    return step


def _look_for_subnormals(machine: Registers, registers: Iterable[int]) -> None:
    """Find out whether these are clean, at once: else each of them is looked at when it is read."""
    unknown = [index for index in registers if not machine.clean[index]]
    if unknown and not np.count_nonzero(
        subnormal(np.concatenate([machine.R[index].view(np.float32) for index in unknown]))
    ):
        for index in unknown:
            machine.clean[index] = True
