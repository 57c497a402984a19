"""FMAs in a row as one step: an outer product in registers is some tens of them, and none reads what another writes.

NumPy then works on one array of FMAs x lanes, in place of one small array after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..instructions.rounding import fma32_ftz
from ..lanes import Registers
from ..ptx.program import Instruction, Register

OPCODE = "fma.rn.ftz.f32"
MOST_LANES = 4096
"""More of them keep NumPy busy one FMA at a time, and the rows of a large array would take much memory."""

Step = tuple[int, Callable]  # pc, step


def joined(steps: list[Step], instructions: list[Instruction], step_of: Callable) -> Iterator[Step]:
    """The steps of a basic block, those of each run of FMAs as one. `step_of` makes it of the run's pcs."""
    run: list[Step] = []
    written: set[int] = set()

    def end() -> Iterator[Step]:
        yield from [(run[0][0], step_of(run.copy()))] if len(run) > 1 else run
        run.clear()
        written.clear()

    for pc, step in steps:
        registers = _registers(instructions[pc])
        if not registers or written & registers:
            yield from end()
        if registers:
            run.append((pc, step))
            written.add(instructions[pc].operands[0].index)
        else:
            yield pc, step
    yield from end()


def _registers(instruction: Instruction) -> set[int]:
    """What an FMA writes and reads; nothing for another instruction, and for an FMA of constants."""
    operands = instruction.operands
    plain = instruction.opcode.text == OPCODE and not instruction.guard
    return {o.index for o in operands} if plain and all(isinstance(o, Register) for o in operands) else set()


def run_step(
    run: list[Step], instructions: list[Instruction], source: Callable, target: Callable
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
        values = np.empty((len(reads), machine.count()), np.float32)
        for row, read in enumerate(reads):
            values[row] = read(machine)
        results = fma32_ftz(*(values[which] for which in places))
        for (write, index), result in zip(writes, results, strict=True):
            clean = machine.idx is None or machine.clean[index]
            write(machine, result)
            machine.clean[index] = clean

    return step
