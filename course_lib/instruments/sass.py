"""What a GPU really runs: the machine code (SASS) of a kernel beside its source, without a GPU.

ptxas, the assembler inside NVRTC, moves, merges and drops instructions: whether a copy starts before the math, and
what stands between two barriers, is seen here and nowhere else.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

import ptxsim
from cupy_or_sim.kernel import Kernel
from cupy_or_sim.simulate import compiled
from ptxsim import SassInstruction

from .order import Order, order_of

SHOWN = 6
"""Instructions of one source line in the drawing; `at(line)` has all."""
MOST_LINES = 60


@dataclass(frozen=True)
class Sass:
    """Machine code in the order in which it lies in memory: of a kernel, or of a part of it."""

    kernel: ptxsim.Kernel
    arch: str
    instructions: tuple[SassInstruction, ...]

    def __len__(self) -> int:
        return len(self.instructions)

    def count(self, opcode: str) -> int:
        """How many instructions have this opcode, whatever follows it: `count("FFMA")`, `count("LDS.128")`."""
        return sum((i.opcode + ".").startswith(opcode + ".") for i in self.instructions)

    def at(self, line: int | str) -> Sass:
        """The instructions of a source line, given by its number or by a part of its text.

        Instructions of a function belong to its lines, and to the line that calls it. Raises ValueError.
        """
        lines = {line} if isinstance(line, int) else self._lines_with(line)
        return self._part(i for i in self.instructions if lines & {i.line, i.call_line})

    @property
    def between_barriers(self) -> tuple[Sass, ...]:
        """The pieces before, between and behind the instructions at which a block's threads wait for each other."""
        pieces: list[list[SassInstruction]] = [[]]
        for instruction in self.instructions:
            if instruction.opcode.startswith("BAR.SYNC"):
                pieces.append([])
            else:
                pieces[-1].append(instruction)
        return tuple(map(self._part, pieces))

    @property
    def loops(self) -> tuple[Sass, ...]:
        """Each loop, also one within another: from where a branch goes back to, up to that branch."""
        backs = [
            (back.target, back.address)
            for back in self.instructions
            if back.target is not None and back.target <= back.address
        ]
        return tuple(
            self._part(i for i in self.instructions if first <= i.address <= last) for first, last in backs
        )

    @property
    def loop(self) -> Sass:
        """The longest loop. Raises ValueError without any."""
        if not self.loops:
            raise ValueError(f"{self.kernel.name} has no loop on {self.arch}: no branch goes back")
        return max(self.loops, key=len)

    def behind_barrier(self, names: Mapping[str, str]) -> list[tuple[int, str]]:
        """Of a loop: what follows its first BAR.SYNC, round to it again, of the opcodes in `names`, under these names:
        (how many in a row, name). Raises ValueError where no barrier is."""
        opcodes = [i.opcode.partition(".")[0] for i in self.instructions]
        if "BAR" not in opcodes:
            raise ValueError(f"no barrier among these {len(self)} instructions of {self.kernel.name}")
        at = opcodes.index("BAR")
        round_again = [names[opcode] for opcode in opcodes[at + 1 :] + opcodes[:at] if opcode in names]
        return [(len(list(same)), name) for name, same in groupby(round_again)]

    @property
    def order(self) -> Order:
        """Barriers, copies and loads, and how many FMAs stand behind each: what the compiler made of an order."""
        return order_of(self.kernel.name, self.instructions)

    @property
    def serialized(self) -> bool:
        """Each of several wgmma is waited for before the next one begins, whatever the source says: ptxas does so, with
        a warning of C7510 to C7515, where registers do not suffice or are touched while a wgmma is at work."""
        of_wgmma = [i.opcode for i in self.instructions if i.opcode.startswith(("HGMMA", "WARPGROUP.DEPBAR"))]
        turns = "".join(opcode[0] for opcode in of_wgmma)
        return turns.count("H") > 1 and "HH" not in turns and not turns.endswith("H")

    @property
    def resources(self) -> ptxsim.Resources:
        """Registers, spills and shared memory, as ptxas counts them."""
        return ptxsim.resources(self.kernel, self.arch)

    def __str__(self) -> str:
        """The whole listing: control word, line, instruction."""
        rows = (f"{i.control}  {i.line or '':>4}  {i.text}" for i in self.instructions)
        return "\n".join([repr(self), *rows])

    def __repr__(self) -> str:
        needs = self.resources
        spills = (
            f"{needs.spill_stores + needs.spill_loads} bytes of spills" if needs.spill_stores else "no spills"
        )
        waits = ", each wgmma is waited for before the next: serialized by the compiler" * self.serialized
        return (
            f"{self.kernel.name} on {self.arch}: {len(self)} instructions, {needs.registers} registers, "
            f"{spills}{waits}"
        )

    def _repr_html_(self) -> str:
        return _drawing(self)

    def _part(self, instructions: Iterable[SassInstruction]) -> Sass:
        return replace(self, instructions=tuple(instructions))

    def _lines_with(self, text: str) -> set[int]:
        lines = self.kernel.source.splitlines()
        found = {number for number, line in enumerate(lines, 1) if text in line}
        if not found:
            raise ValueError(f"no line of {self.kernel.name} contains {text!r}")
        return found


def sass(kernel: Kernel, arch: str = "sm_90") -> Sass:
    """The machine code of a `cp.RawKernel` on a GPU architecture, by NVRTC's assembler and nvdisasm, without a GPU.

    Raises NvdisasmMissing where nvdisasm is not installed, and CompileError for a source or an architecture that NVRTC
    refuses.
    """
    one = compiled(kernel)
    return Sass(one, arch, ptxsim.machine_code(one, arch))


# --------------------------------------------------------------------------- the drawing

_STYLE = (
    "display:grid;grid-template-columns:minmax(18em,1fr) minmax(22em,1.2fr);gap:0 1.5em;"
    "font-family:monospace;font-size:.85em;line-height:1.35;text-align:left"
)
_SOURCE = "white-space:pre-wrap"
_CODE = "white-space:pre;overflow-x:auto;margin:0"


def _drawing(code: Sass) -> str:
    """Source on the left; right of each line its machine code, folded, with what it consists of as the title."""
    source = code.kernel.source.splitlines()
    by_line: dict[int, list[SassInstruction]] = {}
    for instruction in code.instructions:
        by_line.setdefault(instruction.line, []).append(instruction)
    shown = sorted(by_line)[:MOST_LINES]
    rows = [_row(line, source[line - 1] if line else "", by_line[line]) for line in shown]
    if left := len(by_line) - len(shown):
        rows.append(f"<div></div><div>... and {left} more lines</div>")
    return f"<div>{html.escape(repr(code))}</div><div style='{_STYLE}'>{''.join(rows)}</div>"


def _row(line: int, text: str, instructions: list[SassInstruction]) -> str:
    counts = Counter(i.opcode.partition(".")[0] for i in instructions).most_common(4)
    title = ", ".join(f"{n} {opcode}" for opcode, n in counts)
    left = f"{line:3}  {text}" if line else "     (no line)"
    body = html.escape("\n".join(_brief(instructions)))
    return (
        f"<div style='{_SOURCE}'>{html.escape(left)}</div>"
        f"<details><summary>{html.escape(title)}</summary><pre style='{_CODE}'>{body}</pre></details>"
    )


def _brief(instructions: list[SassInstruction]) -> list[str]:
    """The instructions of a line in the order of their addresses, long ones cut."""
    rows = [f"{i.control}  {i.text}" for i in instructions[:SHOWN]]
    return [*rows, f"... and {len(instructions) - SHOWN} more"] if len(instructions) > SHOWN else rows
