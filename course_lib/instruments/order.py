"""In which order a GPU does things: the operations of a loop that the compiler keeps in their order, and how much
arithmetic it has put behind each of them."""

from dataclasses import dataclass

from ptxsim import SassInstruction

KEPT = {
    "BAR": "barrier",
    "LDS": "shared loads",
    "STS": "shared stores",
    "LDG": "loads",
    "LDGSTS": "asynchronous copies",
}
"""Opcodes that are shown, and what they are called. Of each other kind nothing is said but the FMAs."""
BAR = 16  # FMAs for each = of a bar


@dataclass(frozen=True)
class Stretch:
    """Operations of one kind that follow each other, and the FMAs from the first of them to the next kind."""

    what: str
    count: int
    fma: int


@dataclass(frozen=True, repr=False)
class Order:
    """The stretches of a piece of machine code, one after the other; `print` draws them, a line each."""

    name: str
    stretches: tuple[Stretch, ...]

    def after(self, what: str) -> int:
        """How many FMAs stand behind the first operation of this kind. Raises ValueError where there is none."""
        kinds = [stretch.what for stretch in self.stretches]
        if what not in kinds:
            raise ValueError(f"{self.name} has no {what!r} there; it has {', '.join(dict.fromkeys(kinds))}")
        return sum(stretch.fma for stretch in self.stretches[kinds.index(what) :])

    def __repr__(self) -> str:
        rows = (
            f"  {each.count:3} {each.what:20}{each.fma:5}  {'=' * ((each.fma + BAR // 2) // BAR)}".rstrip()
            for each in self.stretches
        )
        return "\n".join([f"{self.name}: FMAs, and after what they stand", *rows])


def order_of(name: str, instructions: tuple[SassInstruction, ...]) -> Order:
    """The order of these instructions of a kernel. What stands before the first operation is not counted."""
    rows: list[Stretch] = []
    for instruction in instructions:
        if instruction.text.startswith("@!PT"):  # never executed: it only keeps a distance
            continue
        opcode = instruction.opcode.partition(".")[0]
        if what := KEPT.get(opcode):
            if rows and rows[-1].what == what:
                rows[-1] = Stretch(what, rows[-1].count + 1, rows[-1].fma)
            else:
                rows.append(Stretch(what, 1, 0))
        elif opcode == "FFMA" and rows:
            rows[-1] = Stretch(rows[-1].what, rows[-1].count, rows[-1].fma + 1)
    return Order(name, tuple(rows))
