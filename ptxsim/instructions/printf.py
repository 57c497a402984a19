"""printf from a kernel: call vprintf(format, arguments) (CUDA C++ Programming Guide, Formatted Output)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ground.memory import LOCAL_WINDOW, SHARED_WINDOW
from ..lanes import Launched
from ..ptx.opcode import UnsupportedInstruction
from ..ptx.program import Instruction
from ..units.access import Memories
from . import c_format
from .registry import Operands, on_machine

MOST_PRINTED = 10_000
"""Calls of one launch that print."""

MOST_CHARACTERS = 1 << 20
"""And what they print in all: the default size of a GPU's buffer by the Programming Guide, where later output
overwrites earlier."""

CALL = 5
"""Steps of work (work.py) of a line."""

NOTE = (
    f"... the simulator shows the first {MOST_PRINTED} printf calls of a launch, and of those the first "
    f"{MOST_CHARACTERS:,} characters (1 MiB). Let fewer threads print: if (threadIdx.x == 0) printf(...)\n"
)


@on_machine("call")
def call(decoder: Operands, ins: Instruction) -> Callable:
    """Calls of device functions are inlined before; what is left here is vprintf."""
    if not ins.opcode.has("vprintf"):
        raise UnsupportedInstruction("only printf is known outside the kernel's own source")
    *result, text, values = ins.operands

    def step(machine: Memories) -> None:
        lanes = machine.active()
        texts = _pointers(machine, text.offset, lanes)
        arguments = _pointers(machine, values.offset, lanes)
        for lane, address, at in zip(lanes.tolist(), texts.tolist(), arguments.tolist()):
            if _full(machine.launch):
                break
            machine.work(CALL)
            if (format_ := _string(machine, lane, address)) is not None:
                _say(machine.launch, _line(machine, lane, format_, at))
        for variable in result:
            _, places = in_local(machine, variable.offset, lanes, 4)
            machine.local.write(places, 4, _counts(machine, lanes, texts).view(np.uint32))

    return step


def _full(launch: Launched) -> bool:
    return len(launch.output) >= MOST_PRINTED or launch.printed >= MOST_CHARACTERS


def _say(launch: Launched, line: str) -> None:
    line = line[: MOST_CHARACTERS - launch.printed]
    launch.output.append(line)
    launch.printed += len(line)
    if _full(launch):
        launch.output.append(NOTE if line.endswith("\n") else "\n" + NOTE)


def _counts(machine: Memories, lanes: np.ndarray, texts: np.ndarray) -> np.ndarray:
    """What printf returns: the number of arguments of its format; -1 for a null pointer."""
    counts = np.full(len(lanes), -1, np.int32)
    for address in np.unique(texts):
        same = np.flatnonzero(texts == address)
        # In shared and local memory each lane may have another text at the same address.
        for group in np.split(same, len(same)) if address >= SHARED_WINDOW else [same]:
            format_ = _string(machine, int(lanes[group[0]]), int(address))
            if format_ is not None:
                counts[group] = c_format.arguments(format_)
    return counts


def _line(machine: Memories, lane: int, text: str, values: int) -> str:
    """One lane's text. Its arguments lie in local memory one after the other, each aligned to its size."""
    local, at = _bytes(machine, lane, LOCAL_WINDOW), values % LOCAL_WINDOW

    def argument(size: int, dtype: str) -> Any:
        nonlocal at
        start = -(-at // size) * size
        at = start + size
        found = local[start:at]
        found = np.pad(found, (0, size - len(found)))  # a format may ask for more arguments than there are
        return found.view(dtype)[0].item()

    def converted(conversion: c_format.Conversion) -> str:
        width = argument(4, "i4") if conversion.width is None else 0
        value = argument(conversion.bytes, conversion.dtype)
        if conversion.kind == "s":
            found = _string(machine, lane, value)
            value = "(null)" if found is None else found
        return conversion.text(value, width)

    return "".join(p if isinstance(p, str) else converted(p) for p in c_format.pieces(text))


# --- memory


def in_local(machine: Memories, offset: int, lanes: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """All local memory in units of `size` bytes, and where in it each lane's `offset` is."""
    return machine.local.memory.units(size), (lanes * machine.local.stride + offset) // size


def _pointers(machine: Memories, offset: int, lanes: np.ndarray) -> np.ndarray:
    units, places = in_local(machine, offset, lanes, 8)
    return units[places]


def _bytes(machine: Memories, lane: int, address: int) -> np.ndarray:
    """The memory from a generic address on to the end of its array, as one lane sees it; empty where there is none."""
    if address >= LOCAL_WINDOW:
        first, address, data = lane * machine.local.stride, address - LOCAL_WINDOW, machine.local.memory.data
        return data[first : first + machine.local.size][address:]
    if address >= SHARED_WINDOW:
        block, offset = machine.clusters.place(np.array([address - SHARED_WINDOW]), np.array([lane]))
        first = int(block[0]) * machine.shared.stride
        return machine.shared.memory.data[first : first + machine.shared.size][int(offset[0]) :]
    buffer = machine.memory.find(address)
    return buffer.memory.data[address - buffer.base :] if buffer else np.zeros(0, np.uint8)


def _string(machine: Memories, lane: int, address: int) -> str | None:
    """The text at a generic address up to its zero byte; None where there is no memory."""
    data = _bytes(machine, lane, address)
    if not len(data):
        return None
    for most in (256, MOST_CHARACTERS):  # most strings are short
        text, zero, _ = data[:most].tobytes().partition(b"\0")
        if zero:
            break
    return text.decode("utf-8", "replace")
