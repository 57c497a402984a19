"""How large a program in PTX may be. What a text asks for is measured before anything is made of it: a line of it may
name more registers than any memory holds.

Compilers stay far below; those of a GPU are where a GPU has one.
"""

from .opcode import UnsupportedInstruction

MOST_REGISTERS = 100_000
"""Of a kernel, with those of the functions that it calls."""
MOST_DEEP = 100
"""Blocks in braces within each other, of functions that call each other, too; and vectors."""
MOST_ALIGNED = 1 << 16
"""Bytes to which a variable may be aligned."""
MOST_BYTES = 1 << 28
"""Of all variables of a module in global and constant memory."""
MOST_PARAMETERS = 32_764
"""Bytes of a kernel's parameters (CUDA C++ Programming Guide)."""
MOST_MEETINGS = 1 << 18
"""Of all barriers together, the basic blocks at which the ways around one and through it meet; a large kernel of the
lessons has twenty."""
SHOWN = 40
"""Characters of a word in a message."""


def whole(text: str) -> int:
    """A whole number of at most 64 bits, as a text writes sizes, lines and offsets."""
    try:
        number = int(text, 0) if len(text) <= SHOWN else -1
    except ValueError:
        number = -1
    if not 0 <= number < 1 << 64:
        raise UnsupportedInstruction(f"{shown(text)} stands where PTX has a whole number of at most 64 bits")
    return number


def shown(text: str) -> str:
    """A word of the text for a message; of a long one its beginning."""
    return repr(text) if len(text) <= SHOWN else f"{text[:SHOWN]!r}... ({len(text):,} characters)"


def check_registers(count: int) -> None:
    if count > MOST_REGISTERS:
        raise UnsupportedInstruction(
            f"it declares {count:,} registers, and the simulator takes at most {MOST_REGISTERS:,} of a kernel with the "
            "functions that it calls. Declare as many as it uses"
        )


def check_depth(depth: int) -> None:
    if depth > MOST_DEEP:
        raise UnsupportedInstruction(
            f"more than {MOST_DEEP} braces, or calls of functions, stand within each other; the simulator takes no more"
        )


def check_meetings(count: int) -> None:
    if count > MOST_MEETINGS:
        raise UnsupportedInstruction(
            "it has so many barriers and branches that what leads around each of them cannot be held in memory. "
            "Simulate a smaller kernel"
        )


def check_alignment(name: str, align: int) -> None:
    if align > MOST_ALIGNED or align & align - 1:
        raise UnsupportedInstruction(
            f"{shown(name)} is aligned to {align:,} bytes; an alignment is a power of two, at most "
            f"{MOST_ALIGNED:,}"
        )


def check_variables(size: int) -> None:
    """The bytes of a module's variables in global and constant memory."""
    if size > MOST_BYTES:
        raise UnsupportedInstruction(
            f"its variables in global memory have {size:,} bytes, and the simulator takes at most {MOST_BYTES:,}. "
            "Declare smaller ones, or pass arrays to the kernel"
        )


def check_parameters(size: int) -> None:
    """The bytes of a kernel's parameters."""
    if size > MOST_PARAMETERS:
        raise UnsupportedInstruction(
            f"its parameters have {size:,} bytes, and those of a kernel at most {MOST_PARAMETERS:,}. Pass an array, "
            "or a pointer to it"
        )
