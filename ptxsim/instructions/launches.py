"""Launches by kernels (CUDA C++ Programming Guide, "CUDA Dynamic Parallelism"): a kernel asks for a buffer for the
parameters, fills it, and asks for the launch. Who runs the launch of this kernel runs those behind it, which is one of
the orders that a GPU may take."""

from collections.abc import Callable

import numpy as np

from ..ground.asked import Asked
from ..ground.memory import Fault
from ..lanes import Launched
from ..ptx.program import Instruction, Variable
from ..races.shadow import Act
from ..units.access import Access, Memories, write
from .printf import in_local
from .registry import Operands, on_machine

MOST_BYTES = 4096
"""Of parameters."""
CALL = 20
"""Steps of work (work.py) of each call."""
STREAM = 16
"""The handle of each stream that a kernel makes; those below have names of their own."""


@on_machine("call.parameters")
def parameters(decoder: Operands, ins: Instruction) -> Callable:
    """__cudaCDP2GetParameterBufferV2(kernel, grid, block, bytes of shared memory): where its parameters belong."""
    result, function, grid, block, shared = ins.operands

    def step(machine: Memories) -> None:
        lanes, begun = machine.active(), _begun(machine.launch)
        machine.work(CALL * len(lanes))
        given = []
        for lane in lanes.tolist():
            address = machine.launch.heap.take(MOST_BYTES)
            x, y = (_numbers(machine, lane, each, "u4", 3) for each in (grid, block))
            (kernel,), (of_shared,) = (
                _numbers(machine, lane, function, "u8"),
                _numbers(machine, lane, shared, "u4"),
            )
            begun[address] = Asked(kernel, (x[0], x[1], x[2]), (y[0], y[1], y[2]), of_shared, address)
            given.append(address)
        _give(machine, result, given, np.uint64)

    return step


@on_machine("call.launch")
def launch(decoder: Operands, ins: Instruction) -> Callable:
    """__cudaCDP2LaunchDeviceV2(parameters, stream)"""
    result, buffer, stream = ins.operands

    def step(machine: Memories) -> None:
        lanes, launch = machine.active(), machine.launch
        machine.work(CALL * len(lanes))
        for lane in lanes.tolist():
            (address,), (where,) = (_numbers(machine, lane, each, "u8") for each in (buffer, stream))
            if launch.asked is not None and address in launch.begun:
                launch.asked.append(launch.begun.pop(address)._replace(stream=where))
        _give(machine, result, [0] * len(lanes), np.uint32)

    return step


@on_machine("call.stream")
def stream(decoder: Operands, ins: Instruction) -> Callable:
    """__cudaCDP2StreamCreateWithFlags(stream, flags)"""
    result, pointer, _ = ins.operands
    access = Access(decoder.pc, "generic", 8, Act(False, True))

    def step(machine: Memories) -> None:
        lanes = machine.active()
        units, places = in_local(machine, pointer.offset, lanes, 8)
        write(machine, access, units[places].copy(), np.full(len(lanes), STREAM, np.uint64))
        _give(machine, result, [0] * len(lanes), np.uint32)

    return step


@on_machine("call.nothing")
def nothing(decoder: Operands, ins: Instruction) -> Callable:
    """A call that does nothing here, and says that all is well."""
    return lambda machine: _give(machine, ins.operands[0], [0] * machine.count(), np.uint32)


def _begun(launch: Launched) -> dict[int, Asked]:
    if launch.asked is None:
        raise Fault("unsupported-instruction", "launches by kernels are run by `ptxsim run` alone", 0)
    return launch.begun


def _numbers(machine: Memories, lane: int, variable: Variable, dtype: str, count: int = 1) -> list[int]:
    """A lane's numbers in a parameter of the call."""
    first = lane * machine.local.stride + variable.offset
    return machine.local.memory.data[first : first + count * int(dtype[1])].view(dtype).tolist()


def _give(machine: Memories, result: Variable, values: list[int], dtype: type) -> None:
    size = np.dtype(dtype).itemsize
    _, places = in_local(machine, result.offset, machine.active(), size)
    machine.local.write(places, size, np.array(values, dtype))
