"""How much anybody may ask for."""

import os
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Limits:
    """Sizes are bytes, times are seconds."""

    text: int = 64 << 10
    """Of a source. The longest kernel of the lessons has 9 kB."""
    body: int = 256 << 10
    """Of a request: JSON writes some characters as six."""
    names: int = 16
    """Name expressions in a request, and options."""
    seconds: float = 5.0
    """Of the processor's work for one compilation; the slowest kernel of the lessons takes 1."""
    patience: float = 30.0
    """Until a compilation is done, on a machine that is busy with others."""
    memory: int = 512 << 20
    """Of one compilation, beyond what the loaded compiler takes. The largest kernel of the lessons needs a tenth."""
    stack: int = 64 << 20
    """Of one compilation: text that is nested too deeply ends there."""
    answer: int = 4 << 20
    """Of PTX, of a log, of machine code and its listing."""
    walls: bool = True
    """Whether nothing but the system's own walls keeps a disassembler from files: without them it lists nothing."""
    at_once: int = field(default_factory=lambda: min(8, max(4, 2 * (os.cpu_count() or 1))))
    """Compilations at a time: more than cores, so that some that take long leave room for the others."""
    waiting: int = 60
    """Texts that wait for their turn."""
    connections: int = 400
    """At a time; a browser opens six."""
    share: float = 0.25
    """Of places at work, places to wait and connections, what one sender (an address) may take."""
    request: float = 15.0
    """Until a request's head has come, from its connection's begin or from the answer before it; and then its body."""
    sign: float = 5.0
    """Until the process that holds the compiler gives a sign of life; one that gives none is replaced."""
    kept: int = 64 << 20
    """Of answers that are kept."""

    def of_one(self, most: int) -> int:
        """What one sender may take of so many."""
        return max(1, int(most * self.share))

    def told(self) -> dict[str, float]:
        """Those that a page tells its reader."""
        names = ("text", "seconds", "memory", "answer", "at_once", "waiting")
        return {name: getattr(self, name) for name in names}
