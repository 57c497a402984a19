"""How far ahead of their FMAs the loads of a kernel's loop stand, read from its machine code."""

import re
from dataclasses import dataclass
from statistics import median

from course_lib.instruments.sass import sass
from cupy_or_sim.kernel import Kernel
from ptxsim import SassInstruction


@dataclass(frozen=True)
class LoadsAhead:
    """Of the loop of a kernel: its instructions; how many of them lie between a load from shared memory and the first
    FMA that needs it, in the middle of all loads; and how many FMAs stand behind the barrier that need nothing loaded
    after it, so that they can hide the first loads."""

    instructions: int
    distance: float
    free_fmas: int


def loads_ahead(kernel: Kernel) -> LoadsAhead:
    """Of a kernel with FMAs in a loop that has a barrier."""
    whole = sass(kernel).loop.instructions
    loop = [each for each in whole if not each.text.startswith("@!PT")]  # those are never executed
    barrier = max(at for at, each in enumerate(loop) if each.opcode.startswith("BAR.SYNC"))
    turn = [*loop[barrier + 1 :], *loop[: barrier + 1]]  # from the barrier once around
    distances: list[int] = []
    loaded: set[int] = set()
    free, all_free = 0, True
    for at, instruction in enumerate(turn):
        written, read = _registers(instruction)
        if instruction.opcode.startswith("LDS"):
            loaded |= written
            following = enumerate([*turn[at + 1 :], *turn[:at]], 1)
            distances.append(
                next(by for by, each in following if _fma(each) and written & _registers(each)[1])
            )
        elif _fma(instruction):
            all_free = all_free and not loaded & read
            free += all_free
    return LoadsAhead(len(whole), median(distances), free)


def show_loads_ahead(**kernels: Kernel) -> None:
    """Print a line for each kernel, called by its name."""
    print("the loop, in instructions    free FMAs after the barrier    in all    from a load to its FMA")
    for name, kernel in kernels.items():
        loop = loads_ahead(kernel)
        print(f"{name:27} {loop.free_fmas:28} {loop.instructions:9} {loop.distance:25.0f}")


def _fma(instruction: SassInstruction) -> bool:
    return instruction.opcode.startswith("FFMA")


def _registers(instruction: SassInstruction) -> tuple[set[int], set[int]]:
    """What an instruction writes, then what it reads. A load of 8 or 16 bytes fills 2 or 4 registers in a row."""
    numbers = [int(number) for number in re.findall(r"\bR(\d+)", instruction.text)]
    if not numbers:
        return set(), set()
    width = 4 if ".128" in instruction.opcode else 2 if ".64" in instruction.opcode else 1
    return set(range(numbers[0], numbers[0] + width)), set(numbers[1:])
