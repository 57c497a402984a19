"""A failed assert: call __assertfail(expression, file, line, function, character size) (CUDA C++ Programming Guide,
"Assertion"). What is true is tested before it is called."""

from collections.abc import Callable

import numpy as np

from ..ground.memory import Fault
from ..ptx.program import Instruction, Variable
from ..units.access import Memories
from .registry import Operands, on_machine


@on_machine("assertfail")
def assertfail(decoder: Operands, ins: Instruction) -> Callable:
    """Ends the launch with the expression, its line and a thread for which it is false."""
    expression, _file, line, *_ = ins.operands

    def step(machine: Memories) -> None:
        lane = int(machine.active()[0])
        text = _string(machine, int(_parameter(machine, lane, expression, 8).view(np.uint64)[0]))
        number = int(_parameter(machine, lane, line, 4).view(np.uint32)[0])
        threads = f", and for {machine.count() - 1} other threads" if machine.count() > 1 else ""
        raise Fault("assertion-failed", f"assert({text}) in line {number} is false{threads}", 0)

    return step


def _parameter(machine: Memories, lane: int, variable: Variable, size: int) -> np.ndarray:
    """The bytes of a parameter of a device function, which lies in local memory."""
    first = lane * machine.local.stride + variable.offset
    return machine.local.memory.data[first : first + size]


def _string(machine: Memories, address: int) -> str:
    buffer = machine.memory.find(address)
    if buffer is None:
        return "..."
    data = buffer.memory.data[address - buffer.base :].tobytes()
    return data.partition(b"\0")[0].decode("utf-8", "replace")
