"""Whether the order of the warps may change what a program does.

Where no instruction reads what chance decides, every legal order runs the same instructions on the same values, unless
there is a race; and races are found by what orders accesses, not by when they came. So one order shows all, but for
barriers that more threads come to than a round counts.
"""

from .program import Instruction

STRONG = ("volatile", "relaxed", "acquire")


def order_matters(instructions: tuple[Instruction, ...]) -> bool:
    """Whether any of them reads what chance decides: what an atomic finds, a volatile or relaxed load, who runs
    together, whether a phase is over already, the time. A wait for the end of a phase (try_wait) is no such thing."""
    return any(_reads_chance(each) for each in instructions)


def _reads_chance(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    if opcode.root == "ld":
        return any(opcode.has(word) for word in STRONG)
    if any("clock" in name or "timer" in name for name in _specials(instruction)):
        return True
    return opcode.root in ("atom", "activemask") or opcode.text.startswith("mbarrier.test_wait")


def _specials(instruction: Instruction) -> list[str]:
    return [
        name for operand in instruction.operands if isinstance(name := getattr(operand, "name", None), str)
    ]
