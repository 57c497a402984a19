"""The registers that the warpgroups of a block share out anew (PTX ISA, "setmaxnreg").

At the launch every thread gets equally many, and none are left. What a warpgroup gives back (.dec) others may take
(.inc), and who wants more than are free waits. A warpgroup that exits gives nothing back.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..gpus import REGISTER_UNIT, WARP, WARPGROUP
from ..ground.memory import Fault
from .barriers import Rendezvous, Synchronising, Waiting, warpgroup_of

THREADS = WARPGROUP * WARP
UNIT = REGISTER_UNIT // WARP


@dataclass(eq=False)
class Request(Waiting):
    """One warpgroup that wants `number` registers for each thread."""

    number: int


class RegisterPool(Rendezvous[Request]):
    """Of every resident block. Only where it is known how many registers a thread has at the launch."""

    def __init__(self, machine: Synchronising) -> None:
        super().__init__(machine)
        self.at_launch = machine.launch.registers or 0
        self.held: dict[int, int] = {}  # by warpgroup, registers of a thread, where they are no longer those
        self.free = np.zeros(len(machine.blocks), np.int64)

    def give_back(self, lanes: np.ndarray, number: int) -> None:
        """These lanes, whole warpgroups, keep this number of registers each. Raises Fault if they have fewer."""
        for at, group, mine in self._warpgroups(lanes):
            has = self._held(group)
            if number > has:
                text = (
                    f"setmaxnreg.dec to {number} registers a thread, and its warpgroup has {has}{self._launched()}. "
                    f".dec gives registers back: name {has} or fewer, or take more with setmaxnreg.inc"
                )
                raise Fault("unsupported-instruction", text, at, "wrong-way")
            self.held[group] = number
            self.free[self.machine.block_of[mine[0]]] += THREADS * (has - number)
        self._hand_out()

    def take_more(self, pc: int, lanes: np.ndarray, number: int, resume: Callable) -> None:
        """These lanes, whole warpgroups, wait until each can have this number of registers. Raises Fault if they have
        more."""
        for at, group, mine in self._warpgroups(lanes):
            has = self._held(group)
            if number < has:
                text = (
                    f"setmaxnreg.inc to {number} registers a thread, and its warpgroup has {has}{self._launched()}. "
                    f".inc takes registers: name {has} or more, or give some back with setmaxnreg.dec"
                )
                raise Fault("unsupported-instruction", text, at, "wrong-way")
            self.waiting.append(Request(pc, mine, resume, number))
        self._hand_out()

    def look_again(self, lanes: np.ndarray) -> None:
        """An exit gives no registers back."""

    def lack(self) -> str:
        """What the first warpgroup that waits here lacks, in words."""
        first = self.waiting[0]
        has = self._held(self._group(first))
        block = self.machine.block_of[first.lanes[0]]
        free = int(self.free[block])
        threads = self.machine.launch.threads
        return (
            f"setmaxnreg.inc at {self.machine.launch.code.where(first.pc)} asks for {first.number} registers a thread: "
            f"its warpgroup has {has} and needs {THREADS * (first.number - has):,} more, and {free:,} are free. At the "
            f"launch the block was granted {self.at_launch} x {threads} = {self.at_launch * threads:,}; an .inc gets "
            "only what the .dec of other warpgroups gives back. Give back more there, or ask for "
            f"no more than {self._share(block)}"
        )

    # ---- helpers

    def _warpgroups(self, lanes: np.ndarray) -> list[tuple[int, int, np.ndarray]]:
        """These lanes by warpgroup: where they begin, its number, its lanes."""
        numbers = warpgroup_of(self.machine, lanes[::THREADS]).tolist()
        return [(n * THREADS, number, lanes[n * THREADS :][:THREADS]) for n, number in enumerate(numbers)]

    def _group(self, entry: Waiting) -> int:
        return int(warpgroup_of(self.machine, entry.lanes[:1])[0])

    def _held(self, group: int) -> int:
        return self.held.get(group, self.at_launch)

    def _launched(self) -> str:
        return f" ({self.at_launch} at the launch)"

    def _share(self, block: int) -> int:
        """What each thread of those who took and want more could have of what the others of this block gave back."""
        mine = [entry.lanes[0] for entry in self.waiting if self.machine.block_of[entry.lanes[0]] == block]
        groups = set(
            warpgroup_of(self.machine, self.machine.every_lane[self.machine.block_of == block]).tolist()
        )
        wanting = set(warpgroup_of(self.machine, np.array(mine)).tolist())
        more = {group for group in groups if self._held(group) > self.at_launch} | wanting
        given = sum(self.at_launch - self._held(group) for group in groups - more)
        return self.at_launch + given // len(more) // UNIT * UNIT

    def _hand_out(self) -> None:
        """Whoever can have now what it asked for goes on; first come, first served."""
        still: list[Request] = []
        for entry in self.waiting:
            group, block = self._group(entry), self.machine.block_of[entry.lanes[0]]
            more = THREADS * (entry.number - self._held(group))
            if more > self.free[block]:
                still.append(entry)
                continue
            self.free[block] -= more
            self.held[group] = entry.number
            entry.resume(self.machine, entry.lanes)
        self.waiting = still
