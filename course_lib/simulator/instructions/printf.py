"""printf from a kernel: call vprintf(format, arguments) (CUDA C++ Programming Guide, formatted output)."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from ..memory import LOCAL_WINDOW
from ..ptx import Instruction
from .registry import UnsupportedInstruction, machine

MOST_PRINTED = 10_000
"""Calls of one launch that print. A GPU stops too, when the buffer is full."""

WIDEST = 999  # characters of a number

_FORMAT = re.compile(r"%([-+ #0]*)(\*|\d+)?(\.\d+)?(hh|h|ll|l|z)?([diouxXcsfFeEgGp%])")


@machine("call")
def call(d, ins: Instruction) -> Callable:
    """Calls of device functions are inlined before; what is left here is vprintf."""
    if not ins.opcode.has("vprintf"):
        raise UnsupportedInstruction("only printf is known outside the kernel's own source")
    _, text, values = ins.operands

    def step(m) -> None:
        output = m.launch.output
        if len(output) > MOST_PRINTED:
            return
        for lane in m.active()[: MOST_PRINTED - len(output)]:
            output.append(_print(m, int(lane), _pointer(m, lane, text), _pointer(m, lane, values)))
        if len(output) == MOST_PRINTED:
            output.append(
                f"... the simulator shows the first {MOST_PRINTED} printf calls of a launch. "
                "Let fewer threads print: if (threadIdx.x == 0) printf(...)\n"
            )

    return step


def _pointer(m, lane: int, variable) -> int:
    return int(_local(m, lane, variable.offset, 8).view(np.uint64)[0])


def _local(m, lane: int, offset: int, size: int) -> np.ndarray:
    start = int(lane) * m.local.stride + offset
    found = m.local.memory.data[start : start + size]
    return np.pad(found, (0, size - len(found)))  # a format may ask for more arguments than there are


def _string(m, address: int) -> str:
    buffer = m.memory.find(address)
    if buffer is None:
        return "(null)"
    data = buffer.memory.data[address - buffer.base :]
    end = np.flatnonzero(data == 0)
    return bytes(data[: end[0]] if len(end) else data).decode("utf-8", "replace")


def _print(m, lane: int, text: int, values: int) -> str:
    """One lane's line. Arguments lie in local memory, each aligned to its size (varargs: double, int, 64-bit)."""
    at = values - LOCAL_WINDOW if values >= LOCAL_WINDOW else values

    def argument(size: int, dtype: str) -> object:
        nonlocal at
        at = -(-at // size) * size
        value = _local(m, lane, at, size).view(dtype)[0]
        at += size
        return value.item()

    def replace(match: re.Match) -> str:
        flags, width, precision, length, kind = (g or "" for g in match.groups())
        if kind == "%":
            return "%"
        if width == "*":
            width = str(argument(4, "i4"))
            flags, width = (flags + "-", width[1:]) if width[0] == "-" else (flags, width)
        width = str(min(int(width), WIDEST)) if width else ""
        precision = f".{min(int(precision[1:]), WIDEST)}" if precision else ""
        if kind in "fFeEgG":
            return f"%{flags}{width}{precision}{kind}" % argument(8, "f8")
        if kind == "s":
            return f"%{flags}{width}{precision}s" % _string(m, argument(8, "u8"))
        if kind == "p":
            return f"{argument(8, 'u8'):#x}"
        if kind == "c":
            return chr(argument(4, "u4") & 0xFF)
        signed = "i" if kind in "di" else "u"
        wide = length in ("l", "ll", "z")
        spec = "d" if kind in "diu" else kind
        return f"%{flags}{width}{precision}{spec}" % argument(8 if wide else 4, f"{signed}{8 if wide else 4}")

    return _FORMAT.sub(replace, _string(m, text))
