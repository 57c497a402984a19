"""Which lines of a kernel stand between the marks of a phase."""

import re
from dataclasses import dataclass

from .events import Phase


@dataclass(frozen=True)
class Regions:
    """Of each phase but the math the first and the last line of each stretch between its marks. (Math is known by its
    instructions, and may begin in one turn of a loop and end in the next.)"""

    stretches: tuple[tuple[Phase, int, int], ...]

    @staticmethod
    def of(source: str) -> "Regions":
        """By the macros of timeline.cuh in the source; lines count from 1."""
        found, begun = [], {}
        for number, line in enumerate(source.splitlines(), 1):
            for edge, phase in re.findall(r"TRACE_(BEGIN|END)\(\s*(\w+)", line):
                if edge == "BEGIN":
                    begun[phase] = number
                elif phase in begun and phase != "math":
                    found.append((phase, begun.pop(phase), number))
        return Regions(tuple(found))

    def at(self, *lines: int | None) -> Phase | None:
        """The phase of the first of these lines that has one."""
        for line in lines:
            for phase, first, last in self.stretches:
                if line is not None and first <= line <= last:
                    return phase
        return None
