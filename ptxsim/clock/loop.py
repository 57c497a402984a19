"""How long a loop of machine code takes on one SM: warps that issue in order, on four sub-cores, one a cycle each.

An instruction goes when the stall before it is over, its scoreboards are clear and its pipe is free. Arithmetic is
done after a time that the compiler knows and has put into the stalls; what takes a time that it does not know sets a
scoreboard (disassembly.Control). What costs how much was measured by the small kernels of `make calibrate`. Of a loop
that waits for nobody else: no barriers, no copies, and loads that find their data in L1. It does not count how many
registers a sub-core reads in a cycle, and so takes FFMA beside other arithmetic to be up to 30 % faster than it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..compiler.disassembly import SassInstruction
from ..gpus import SUB_CORES

SETTLED, TURNS = 4, 12  # turns before a loop's time is taken, and in all


@dataclass(frozen=True)
class Cost:
    """`pipe`: the unit of a sub-core that works on it, and `interval`: for how many cycles, until its next one.
    `latency`: from its begin there until a scoreboard is clear. `wavefronts`: of the SM's port, one a cycle."""

    pipe: str
    interval: float
    latency: float = 0.0
    wavefronts: int = 0


# Measured on an NVIDIA H200 (ptxsim/rates/nvidia-h200.json), by the small kernels of these names.
ALU = Cost("alu", 2)  # IADD3, LOP3, SHF, PRMT, F2FP: 16.3 to 16.6 cycles for 32 warps
UNIFORM = Cost("uniform", 1)  # not measured
COSTS = {
    "FFMA": Cost("fma", 1),  # 8.5 for 32 warps; the loop's own instructions are in it
    "FMUL": Cost("fma", 1),
    "FADD": Cost("fma", 1),
    "IMAD": Cost("fma", 2),  # 16.0
    "HMMA": Cost("tensor", 6.15),  # 49.4
    "MUFU": Cost("special", 8, 17),  # 64.0; each on the result of the one before: 17.0
    "SHFL": Cost("memory", 4, 26, 1),  # 32.1; 26.0
    "BRA": Cost("branch", 1),
}
BRANCH = (
    10.0  # from a branch that is taken to the warp's next instruction: what one warp of FFMA takes longer
)
EARLIEST = 4.0  # cycles of a memory pipe for one instruction: one warp of STS.32, 4.5
WAVEFRONT = 2.0  # and for a wavefront: one warp of LDS.32 with 8, 16, 32 ways
VALUES = 3.0  # more, for a store of several registers: one warp of STS.64, 7.3, and of STS.128, 11.2
SHARED, L1 = 21.2, 31.2  # from the last wavefront until the value is there: LDS, LDSM and LDG, dependent
QUEUE = 8  # instructions of a sub-core on their way to the port. Assumed
WORDS = {"64": 2, "128": 4, "2": 2, "4": 4}
"""By the modifier: words of a lane (LDS.128), or matrices (LDSM.x4, which is written LDSM.16.M88.4)."""


def cost_of(instruction: SassInstruction, ways: int = 1) -> Cost:
    """What an instruction costs. `ways`: words of one bank, or lines, that its lanes touch, for each of their words."""
    name, *modifiers = instruction.opcode.split(".")
    if name in ("LDS", "LDSM", "LDG", "STS", "ATOMS"):
        words = next((WORDS[each] for each in reversed(modifiers) if each in WORDS), 1)
        wavefronts = words * ways
        interval = max(EARLIEST, WAVEFRONT * wavefronts) + VALUES * (name == "STS" and words > 1)
        latency = WAVEFRONT * wavefronts + (L1 if name == "LDG" else SHARED)
        return Cost("memory", interval, latency, wavefronts)
    return COSTS.get(name, UNIFORM if name.startswith("U") else ALU)


@dataclass
class _Warp:
    """How far a warp is, when it may go on, and when each scoreboard is clear."""

    core: _Core
    costs: Sequence[Cost]
    at: int = 0
    turns: int = 0
    free: float = 0.0
    settled: float = 0.0
    clear: dict[int, float] = field(default_factory=dict)

    def ready(self, loop: Sequence[SassInstruction]) -> float:
        waits = (self.clear.get(number, 0.0) for number in loop[self.at].control.waits)
        return max(self.free, self.core.free_for(self.costs[self.at]), *waits, 0.0)

    def step(self, instruction: SassInstruction, time: float, port: float) -> float:
        """Issue an instruction; gives the time when the SM's port is free again."""
        cost, control = self.costs[self.at], instruction.control
        begin = self.core.issue(cost, time)
        late = 0.0  # how long the port keeps it waiting
        if cost.wavefronts:
            port = max(port, time) + cost.wavefronts
            late = max(port - begin - cost.interval, 0.0)
        if control.writes is not None:
            self.clear[control.writes] = begin + late + cost.latency
        if control.reads is not None:
            self.clear[control.reads] = begin + late + cost.interval
        self.core.leave(cost, begin + late + cost.interval)
        self.free = time + max(control.stall, 1)
        self.at += 1
        if self.at == len(self.costs):
            self._turn(time)
        return port

    def _turn(self, time: float) -> None:
        self.at, self.turns, self.free = 0, self.turns + 1, max(self.free, time + BRANCH)
        if self.turns == SETTLED:
            self.settled = self.free

    @property
    def cycles(self) -> float:
        return (self.free - self.settled) / (TURNS - SETTLED)


@dataclass
class _Core:
    """A sub-core: it issues one instruction a cycle, each to a pipe; those to memory queue up before theirs."""

    next_issue: float = 0.0
    pipes: dict[str, float] = field(default_factory=dict)
    queue: list[float] = field(default_factory=list)

    def free_for(self, cost: Cost) -> float:
        if cost.pipe == "memory":
            return max(self.next_issue, self.queue[-QUEUE] if len(self.queue) >= QUEUE else 0.0)
        return max(self.next_issue, self.pipes.get(cost.pipe, 0.0))

    def issue(self, cost: Cost, time: float) -> float:
        """When its pipe begins."""
        self.next_issue = time + 1
        begin = max(time, self.pipes.get(cost.pipe, 0.0))
        self.pipes[cost.pipe] = begin + cost.interval
        return begin

    def leave(self, cost: Cost, time: float) -> None:
        if cost.pipe == "memory":
            self.queue = [*self.queue[-QUEUE:], time]


def loop_cycles(loop: Sequence[SassInstruction], warps: int, ways: int = 1) -> float:
    """Cycles of a turn in the steady state, of the slowest of so many warps on an SM.

    `loop`: from its head to the branch back. `ways`: as in cost_of, for all its loads. Of the warps that can issue at
    one time the one that waited longest goes first.
    """
    cores = [_Core() for _ in range(SUB_CORES)]
    costs = [cost_of(instruction, ways) for instruction in loop]
    every = [_Warp(cores[number % SUB_CORES], costs) for number in range(warps)]
    running, port = list(every), 0.0
    while running:
        time, _, first = min((warp.ready(loop), warp.free, number) for number, warp in enumerate(running))
        warp = running[first]
        port = warp.step(loop[warp.at], time, port)
        if warp.turns == TURNS:
            running.remove(warp)
    return max(warp.cycles for warp in every)
