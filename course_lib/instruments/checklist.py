"""Twelve things to look at in a GEMM kernel, ticked from what the simulator, the assembler and the profiler say of it.

The twelve are those of the notes that the course started from; the targets are those of an H100.
"""

import html
from dataclasses import dataclass

from cupy_or_sim.kernel import Kernel
from cupy_or_sim.launch import Launch
from ptxsim.gpus import REGISTERS, SUB_CORES

from ..check.job import Job
from ..check.problem import Problem
from .evidence import FLOP_PER_CLOCK, WGMMA_FLOP_PER_CLOCK, Evidence

NO_LOOP = "not measured: no loop was found"
MARKS = {True: "✓", False: "✗", None: "?"}
WARPS = 2 * SUB_CORES  # enough, if each has several mma that do not wait for each other
OVERHEAD = {"tensor": 1.0, "fma": 0.1}
"""Instructions beside math and its loads, for each mma or FMA. An mma keeps the tensor cores of its sub-core busy for
6 cycles, in which 6 instructions may start; an FMA takes the place of one."""


@dataclass(frozen=True)
class Item:
    """One thing: its value in this kernel, the target, whether it is met (None: not measured), and why that matters.
    `printed`: how the notes name it, with their target."""

    name: str
    value: str
    target: str
    ok: bool | None
    why: str
    printed: str


@dataclass(frozen=True)
class Checklist:
    """What `checklist` returns: it shows itself, and `checklist[name]` is one item."""

    title: str
    items: tuple[Item, ...]

    def __getitem__(self, name: str) -> Item:
        found = {item.name: item for item in self.items}
        if name not in found:
            raise KeyError(f"there is no item {name!r}; items: {', '.join(found)}")
        return found[name]

    @property
    def missed(self) -> tuple[str, ...]:
        """Names of the items whose target is not met."""
        return tuple(item.name for item in self.items if item.ok is False)

    def __repr__(self) -> str:
        rows = [(MARKS[item.ok], item.name, item.value, item.target) for item in self.items]
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = []
        for row, item in zip(rows, self.items):
            lines.append("  ".join(map(str.ljust, row, widths)).rstrip())
            lines += [] if item.ok else [f"   {item.why}"]
        return "\n".join([self._heading(), *lines])

    def _repr_html_(self) -> str:
        def line(tag: str, *cells: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        header = line("th", "", "item", "this kernel", "target on an H100", "in print", "why")
        rows = (
            line("td", MARKS[item.ok], item.name, item.value, item.target, item.printed, item.why)
            for item in self.items
        )
        return f"<table><caption>{html.escape(self._heading())}</caption>{header}{''.join(rows)}</table>"

    def _heading(self) -> str:
        counts = {ok: sum(item.ok is ok for item in self.items) for ok in MARKS}
        unknown = f", {counts[None]} not measured" if counts[None] else ""
        return f"{self.title}: {counts[True]} of {len(self.items)} met{unknown}"


def checklist(kernel: Kernel, gemm: Problem, launch: Launch) -> Checklist:
    """Tick the twelve items for a kernel with this launch on a problem.

    Counters are those of one simulated block; machine code and resources are an H100's; how busy the math units are
    comes from the profiler's record, else from a speed, else from the model, which ticks nothing. Raises HazardError or
    CheckFailed for a kernel that is wrong.
    """
    found = Evidence(Job.given(kernel, gemm, launch))
    items = (*memory(found), *compute(found), *resources(found))
    return Checklist(f"{kernel.name}, {gemm.M} x {gemm.N} x {gemm.K} {gemm.dtype}", items)


def memory(found: Evidence) -> tuple[Item, ...]:
    """Global memory, and shared memory's banks."""
    total = found.total
    sectors = total.global_sectors / total.global_sectors_ideal
    waves, where, times = _of_warps(found)
    words = f" Most of it in line {where}: {times:.1f} x." if waves > 1.05 else ""
    M, N, _ = found.tile
    again = f"Over the whole grid A is read {found.gemm.N // N} times, and B {found.gemm.M // M} times: L2 serves that."
    return (
        Item("coalesced", f"{sectors:.2f} x the fewest sectors", "at most 1.05 x", sectors <= 1.05,
             "Global memory moves whole sectors of 32 bytes: lanes of a warp must use all of each.",
             "coalesced global memory access"),
        _wide(found),
        Item("bank conflicts", f"{waves:.2f} x the fewest wavefronts", "at most 1.05 x", waves <= 1.05,
             f"A bank of shared memory delivers one word in a cycle; a second one waits.{words}{COPIES}",
             "no bank conflicts in shared memory"),
        Item("redundant loads", f"{found.read_twice:.2f} x each element, in a block", "at most 1.05 x",
             found.read_twice <= 1.05, f"What a block needs twice it should keep in shared memory. {again}",
             "minimal redundant loads"),
    )  # fmt: skip


COPIES = " Copies (cp.async) are left out: beside reads they cost next to nothing (deeper/05_limits)."


def compute(found: Evidence) -> tuple[Item, ...]:
    """The main loop, and the units that multiply."""
    return _busy(found), _depth(found), _unrolled(found), _overhead(found)


def resources(found: Evidence) -> tuple[Item, ...]:
    """What a block takes of an SM."""
    needs, gpu, threads = found.needs, found.gpu, found.threads
    fit, shared = needs.occupancy, needs.static_shared + needs.dynamic_shared
    room = min(255, REGISTERS // threads)
    slower = "Slots hide latency, and so do mma that do not wait for each other: few warps are enough then."
    return (
        Item("occupancy", f"{fit.warps} of {gpu.warps} warps, {fit.share:.0%}", f"at least {WARPS} warps",
             fit.warps >= WARPS, slower, "occupancy > 50 %"),
        Item("registers", f"{needs.registers} a thread", f"at most {room}, with {threads} threads",
             needs.registers <= room, "Sums and fragments live there: few registers are a small tile, and many copies.",
             "registers < 64 per thread"),
        Item("shared memory", f"{shared:,} bytes a block", f"at most {gpu.shared_block:,} bytes",
             shared <= gpu.shared_block, f"An SM has {gpu.shared:,}; the system takes {gpu.reserved:,} for each block.",
             "shared memory < 192 KB/SM"),
        Item("spills", f"{needs.spills} bytes", "0", not needs.spills,
             "A spilled register is stored to memory and loaded again, mostly inside the loop.",
             "no register spilling"),
    )  # fmt: skip


def _of_warps(found: Evidence) -> tuple[float, int, float]:
    """Wavefronts that reads and stores of warps take, over the fewest; the line of the source with the most too many,
    and how many times the fewest it takes. Lines that copy are left out: their wavefronts are a rule of the simulator,
    and no time that an H100 was seen to take."""
    lines = {line: counts for line, counts in found.by_line.items() if not counts.cp_async}
    used, fewest = (
        sum(getattr(counts, name) for counts in lines.values())
        for name in ("shared_wavefronts", "shared_wavefronts_ideal")
    )
    if not fewest:
        return 1.0, 0, 1.0
    worst = max(lines, key=lambda line: lines[line].shared_wavefronts - lines[line].shared_wavefronts_ideal)
    counts = lines[worst]
    return used / fewest, worst, counts.shared_wavefronts / max(counts.shared_wavefronts_ideal, 1)


def _wide(found: Evidence) -> Item:
    code = found.loop if found.loop and found.count(found.loop, "LDG", "LDGSTS") else found.code
    loads = [i.opcode for i in code.instructions if i.opcode.startswith(("LDG.", "LDGSTS"))] if code else []
    wide = sum(".128" in opcode for opcode in loads)
    value = f"{wide} of {len(loads)} loads in the machine code" if loads else "not measured"
    why = "A warp moves 512 bytes with one instruction of 16 bytes a lane: fewer instructions and requests."
    ok = wide == len(loads) if loads else None
    return Item("wide copies", value, "all of 16 bytes", ok, why, "vectorized loads (128-bit)")


def _busy(found: Evidence) -> Item:
    busy, tensor = found.busy, found.units == "tensor"
    units = "tensor cores" if tensor else "FMA units"
    value = "" if busy.percent is None else f"{busy.percent:.0f} % {units}"
    of = f"{FLOP_PER_CLOCK[found.units]} FLOP per cycle and SM"
    most = f", all that mma.sync can do; wgmma: {WGMMA_FLOP_PER_CLOCK}"
    why = f"Source: {busy.origin}. 100 % are {of}{most * tensor}."
    ok = (busy.percent or 0) >= 80 if busy.measured else None
    if not busy.measured:
        value = f"not measured; {value} in the model" if value else "not measured"
    target = f"at least 80 % of {'mma.sync' if tensor else 'the FMA units'}"
    return Item("math units busy", value, target, ok, why, "Tensor Core utilization > 80 %")


def _depth(found: Evidence) -> Item:
    value = f"{found.on_their_way:.1f} k-tiles on their way, {found.slots} slot{'s' * (found.slots != 1)}"
    why = "While a warp multiplies one k-tile, the next must be coming; how many slots pay depends on the problem."
    ok = found.on_their_way >= 0.9
    return Item("pipeline depth", value, "at least 1 on its way", ok, why, "pipeline depth 2-4 stages")


def _unrolled(found: Evidence) -> Item:
    why = "Without an inner loop, indices are constants, and loads move between the math of other k-steps."
    value, ok = NO_LOOP, None
    if found.loop:
        math, of = found.math_in_the_loop, found.math_of_a_k_tile
        value, ok = f"{math} in the loop, of {of:.0f} a k-tile", math >= 0.95 * of
    return Item("unrolled", value, "all math of a k-tile", ok, why, "loop unrolling")


def _overhead(found: Evidence) -> Item:
    name, limit = {"tensor": "mma", "fma": "FMA"}[found.units], OVERHEAD[found.units]
    why = "Addresses, conditions, waits: each takes the place of an instruction that computes or loads."
    value, ok = NO_LOOP, None
    if found.loop:
        useful = found.math_in_the_loop + found.count(found.loop, "LDS", "LDSM", "LDG", "LDGSTS", "STS")
        extra = (len(found.loop) - useful) / found.math_in_the_loop
        value, ok = f"{len(found.loop)} instructions, {extra:.2f} extra for each {name}", extra <= limit
    return Item("overhead", value, f"at most {limit:g} for each {name}", ok, why, "minimal overhead")
