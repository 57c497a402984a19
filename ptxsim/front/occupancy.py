"""How many blocks fit on an SM, and what one launch takes on a GPU.

Rules of allocation: the toolkit's cuda_occupancy.h.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from ..compiler import nvrtc
from ..gpus import MAX_REGISTERS, REGISTER_UNIT, REGISTERS, SUB_CORES, WARP, Gpu, Room, find_gpu
from ..ptx.program import Immediate, Program
from .kernel import Kernel

OF_A_THREAD = REGISTER_UNIT // WARP
"""A thread's registers are given out in multiples of this many."""
LARGEST_CHANGE = 256
"""The most registers that setmaxnreg may name (PTX ISA)."""


@dataclass(frozen=True)
class Occupancy:
    """Blocks that an SM holds at a time, the warps these have, their share of all warps that an SM can hold, and
    what runs out first."""

    blocks: int
    warps: int
    share: float
    limit: str


def occupancy(gpu: Gpu, threads: int, registers: int, shared: int) -> Occupancy:
    """How many blocks of `threads` threads, with `registers` a thread and `shared` bytes a block, an SM holds.

    The rules of the CUDA Occupancy Calculator; no carve-out of the L1 cache is asked for.
    """
    warps = -(-threads // WARP)
    per_warp = _round_up(max(registers, 1) * WARP, REGISTER_UNIT)
    per_block = _round_up(shared + gpu.reserved, gpu.shared_unit)
    room = {
        "warps": gpu.warps // warps,
        "blocks": gpu.blocks,
        "registers": REGISTERS // SUB_CORES // per_warp * SUB_CORES // warps,
    }
    if per_block:
        room["shared memory"] = gpu.shared // per_block if shared <= gpu.shared_block else 0
    blocks = min(room.values())
    limit = " and ".join(name for name, most in room.items() if most == blocks)
    return Occupancy(blocks, blocks * warps, blocks * warps / gpu.warps, limit)


def refusal(gpu: Gpu, threads: int, registers: int, shared: int) -> str:
    """What a block of `threads` threads, with `registers` a thread and `shared` bytes, asks for and the GPU does not
    give, in words; "" where it fits."""
    limit = occupancy(gpu, threads, registers, shared)
    asked = {
        "warps": f"{threads} threads a block, and {gpu.name} gives {gpu.warps * WARP}",
        "registers": f"{registers} registers for each of {threads} threads, and {gpu.name} gives {REGISTERS:,} a block",
        "shared memory": f"{_kb(shared)} of shared memory a block, and {gpu.name} gives {_kb(gpu.shared_block)}",
    }
    return "" if limit.blocks else f"asks for {asked[limit.limit.split(' and ')[0]]}"


def room(
    gpu: Gpu, blocks: int, threads: int, shared: int, cluster: int, registers: Callable[[], int]
) -> Room | None:
    """What a GPU has for so many blocks of `threads` threads and `shared` bytes, in clusters of `cluster` blocks; None
    where it holds all of them at once. `registers` of a thread: asked only where they may decide, for the assembler
    takes its time."""
    most = min(MAX_REGISTERS, REGISTERS // threads)
    if blocks <= max(occupancy(gpu, threads, most, shared).blocks, 1) * gpu.sms:
        return None
    fit = occupancy(gpu, threads, registers(), shared)
    on_sm = max(fit.blocks, 1)
    at_once = max(on_sm * gpu.sms // cluster, 1) * cluster
    return Room(gpu, at_once, on_sm, fit.limit) if blocks > at_once else None


def _kb(size: int) -> str:
    return f"{size / 1024:.4g} KB"


def _round_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


def registers_at_launch(program: Program) -> int | None:
    """Registers that each thread of a kernel with setmaxnreg has at its launch, as ptxas decides: as many as the bounds
    leave, but no more than its largest .inc names. ptxas is not asked: it may crash on a wrong kernel.

    None for other kernels, and where ptxas ignores setmaxnreg because the bounds do not fix the number.
    """
    changes = [each for each in program.instructions if each.opcode.root == "setmaxnreg"]
    if not changes:
        return None
    if program.most_registers:
        most = program.most_registers
    elif program.fewest_blocks and program.most_threads:
        warps = _round_up(-(-program.most_threads // WARP), SUB_CORES) * program.fewest_blocks
        most = REGISTERS // (warps * WARP) // OF_A_THREAD * OF_A_THREAD
    else:
        return None
    numbers = [each.operands[0] for each in changes if each.opcode.has("inc")]
    wanted = [int(number.text, 0) for number in numbers if isinstance(number, Immediate)]
    return _round_up(min(most, max(wanted, default=LARGEST_CHANGE)), OF_A_THREAD)


@dataclass(frozen=True, repr=False)
class LaunchResources:
    """What one launch takes on a GPU, as ptxas reports it, and the occupancy that follows.

    `registers` of a thread; `spills`: bytes that a thread stores and loads because it has too few registers;
    `static_shared` and `dynamic_shared`: bytes of a block.
    """

    gpu: Gpu
    registers: int
    spills: int
    static_shared: int
    dynamic_shared: int
    occupancy: Occupancy

    def __repr__(self) -> str:
        spills = f"{self.spills} bytes of spills" if self.spills else "no spills"
        shared = f"{self.static_shared:,} + {self.dynamic_shared:,} bytes of shared memory (static + dynamic)"
        fit = self.occupancy
        blocks = f"{fit.blocks or 'no'} block{'s' * (fit.blocks != 1)}"
        warps = f"{fit.warps} of {self.gpu.warps} warps, {fit.share:.0%}"
        return (
            f"{self.gpu.name} ({self.gpu.arch}): {self.registers} registers a thread, {spills}, {shared}; "
            f"{blocks} on an SM at a time ({warps}), limited by {fit.limit}"
        )


def launch_resources(name: str | Gpu, kernel: Kernel, threads: int, dynamic_shared: int) -> LaunchResources:
    """Compile the kernel for the GPU, by its name or architecture, which takes a moment, and see what fits."""
    gpu = find_gpu(name)
    try:
        used = nvrtc.resources(kernel.source, kernel.entry, kernel.options, gpu.arch, kernel.name_expressions)
    except nvrtc.CompileError as error:  # ptxas repeats itself for each instruction
        missing = "; ".join(dict.fromkeys(re.findall(r"Feature '.*", str(error))))
        message = f"{kernel.name} does not compile for a {gpu.name} ({gpu.arch}): {missing or error}"
        raise nvrtc.CompileError(message) from None
    spills, shared = used.spill_stores + used.spill_loads, used.static_shared
    fit = occupancy(gpu, threads, used.registers, shared + dynamic_shared)
    return LaunchResources(gpu, used.registers, spills, shared, dynamic_shared, fit)
