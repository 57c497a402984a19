"""What is still on its way into a block when it ends: copies into its shared memory that nobody waited for.

PTX says nothing of them. Where a block copies into another one, which may have left, that is a finding: an H200 ends
the launch with an error. Where a block copies into its own memory it is a note: an H200 keeps the memory until such
copies have landed.
"""

from collections.abc import Iterator
from typing import Protocol

from ..races.hazards import Reporting
from .bulk import Load
from .copies import CopyQueue
from .mbarriers import Mbarrier


class Leaving(Reporting, Protocol):
    """What the blocks leave behind."""

    copies: CopyQueue
    mbarriers: dict[int, Mbarrier]


def tell_of_others(machine: Leaving) -> set[tuple[int, int]]:
    """All threads have exited. Copies into other blocks that no thread there has waited for; nothing is said beside
    reads that lack such a wait. Of each copy that is told the lane, and the block among the resident."""
    told: set[tuple[int, int]] = set()
    if any(hazard.kind == "unwaited-copy" for hazard in machine.log.sorted()):
        return told
    for block, load in _left(machine):
        if int(machine.block_of[load.lane]) == block:
            continue
        text = (
            f"{machine.describe_thread(load.lane)} copies into the shared memory of block "
            f"{int(machine.blocks[block])}, and no thread there waits for that copy: the block may have exited when it "
            "arrives, and an H200 then ends the launch with an error. In each block that a copy goes to, a thread "
            "waits for the phase of the mbarrier that counts it, before the end"
        )
        instruction = machine.launch.code.instructions[load.pc]
        machine.log.add("exited-block", instruction, text, cause="exit-before-arrival")
        told.add((load.lane, block))
    return told


def note_own(machine: Leaving) -> None:
    """Those into the own block. Nothing is said beside findings, of which they often come."""
    if machine.log.sorted():
        return
    waits = {
        load.pc: "a thread waits for the phase of the mbarrier that counts it" for _, load in _left(machine)
    }
    waits |= {copy.pc: "its thread waits for it (cp.async.wait_all)" for copy in machine.copies.queue}
    for pc, mend in waits.items():
        machine.log.note(
            f"{machine.launch.code.where(pc)}: nobody waits for this copy, so the block may end while it is still on "
            "its way into the block's shared memory. PTX does not say what happens then; an H200 gave the memory away "
            f"only when the copies had landed. Before the end {mend}, or the copy is not started",
            cause="copy-in-flight-at-exit",
        )


def _left(machine: Leaving) -> Iterator[tuple[int, Load]]:
    """The resident blocks that copies with an mbarrier are still on their way to, and the copies."""
    for mbarrier in machine.mbarriers.values():
        for block, flying in mbarrier.flying.items():
            yield from ((block, load) for load in flying if len(load.chunks))
