"""malloc and free in a kernel (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation and Operations"); nvcc
makes them of new and delete, too."""

from collections.abc import Callable

import numpy as np

from ..ground.memory import Miss
from ..ptx.program import Instruction
from ..races.shadow import Act
from ..units.access import Access, Memories, write
from .printf import in_local
from .registry import Operands, on_machine

CALL = 5
"""Steps of work (work.py) of each."""
MEMORY_ALLOCATION = 2
"""The error cudaErrorMemoryAllocation."""


@on_machine("call.malloc")
def malloc(decoder: Operands, ins: Instruction) -> Callable:
    """malloc(bytes): lane after lane."""
    result, size = ins.operands

    def step(machine: Memories) -> None:
        lanes = machine.active()
        units, places = in_local(machine, size.offset, lanes, 8)
        machine.work(CALL * len(lanes))
        given = [machine.launch.heap.take(each) for each in units[places].tolist()]
        _, to = in_local(machine, result.offset, lanes, 8)
        machine.local.write(to, 8, np.array(given, np.uint64))

    return step


@on_machine("call.cuda_malloc")
def cuda_malloc(decoder: Operands, ins: Instruction) -> Callable:
    """cudaMalloc(pointer, bytes) in a kernel: the same."""
    result, pointer, size = ins.operands
    access = Access(decoder.pc, "generic", 8, Act(False, True))

    def step(machine: Memories) -> None:
        lanes = machine.active()
        units, places = in_local(machine, size.offset, lanes, 8)
        machine.work(CALL * len(lanes))
        given = np.array([machine.launch.heap.take(each) for each in units[places].tolist()], np.uint64)
        write(machine, access, units[in_local(machine, pointer.offset, lanes, 8)[1]].copy(), given)
        _, to = in_local(machine, result.offset, lanes, 4)
        machine.local.write(to, 4, np.where(given == 0, MEMORY_ALLOCATION, 0).astype(np.uint32))

    return step


@on_machine("call.free")
def free(decoder: Operands, ins: Instruction) -> Callable:
    """free(pointer)."""
    *result, pointer = ins.operands

    def step(machine: Memories) -> None:
        lanes = machine.active()
        units, places = in_local(machine, pointer.offset, lanes, 8)
        machine.work(CALL * len(lanes))
        pointers = units[places]
        bad = np.array([each != 0 and not machine.launch.heap.give(each) for each in pointers.tolist()])
        if bad.any():
            words = (
                f"free, or delete, of {int(pointers[bad.argmax()]):#x}, which is no memory that malloc or new in a "
                "kernel has given, or which was freed before"
            )
            machine.missed(Miss("out-of-bounds", bad, lambda: words, "not-from-malloc"), decoder.pc)
        for each in result:  # cudaFree's
            _, to = in_local(machine, each.offset, lanes, 4)
            machine.local.write(to, 4, np.zeros(len(lanes), np.uint32))

    return step
