"""Barriers that not all threads come to (CUDA C++ Programming Guide, "Synchronization Functions": `__syncthreads()`
only where all threads of the block come to it; PTX ISA, "bar": all threads of a warp execute the same aligned barrier).

The hardware lets most such programs go on: it counts the warps that come to a barrier, wherever that stands, and
threads that have exited as come. So does the simulator, and reports.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..gpus import WARP
from ..races.findings import Explained
from ..races.sentences import mend


class Here(Protocol):
    """Lanes that wait at one instruction (`Waiting`, barriers.py)."""

    pc: int
    lanes: np.ndarray


class SyncCheck:
    """Watches one machine. A thread *passes a barrier by* when it takes a way around it and comes to where that way and
    the one through the barrier meet again, while others of its warp still wait; it is told from one that is late by how
    often each has come to that meeting point."""

    def __init__(self, machine: Explained) -> None:
        self.machine = machine
        # barrier, or instruction with a mask -> where the ways around it meet again
        self.points = machine.launch.code.meeting_points
        self.watched = frozenset().union(*self.points.values())
        # at each of those how often every lane came, without all others
        self.times: dict[int, np.ndarray] = {}
        # which lanes ever came to a barrier that not all came to at once
        self.came: dict[int, np.ndarray] = {}

    def come(self, pc: int, lanes: np.ndarray) -> None:
        """These lanes, not all of the machine, come to a watched place."""
        if pc not in self.times:
            self.times[pc] = np.zeros(self.machine.lanes, np.int32)
        self.times[pc][lanes] += 1

    def arrive(self, pc: int, lanes: np.ndarray) -> None:
        """These lanes, not all of the machine, come to a barrier."""
        if pc not in self.came:
            self.came[pc] = np.zeros(self.machine.lanes, bool)
        self.came[pc][lanes] = True

    def left_out(self, at: int, lane: int, other: int) -> str:
        """In words: a barrier to which only one of these two threads of a block came, and to which the other one's way
        does not lead. "" if there is none. `lane` is at the instruction `at`."""
        machine = self.machine
        other -= machine.orders.first_lane
        for pc, came in self.came.items():
            if came[lane] != came[other]:
                does, does_not = (lane, other) if came[lane] else (other, lane)
                places = (
                    [at] if does_not == lane else [at for at, lanes in machine.places() if does_not in lanes]
                )
                # Who is behind it in a loop, and never came, has passed it by; before it, may still come.
                if any(place <= pc and machine.launch.code.flow.leads(place, pc) for place in places):
                    continue
                return mend(
                    "left-out",
                    place=machine.launch.code.where(pc),
                    does=machine.describe_other(does),
                    does_not=machine.describe_other(does_not),
                )
        return ""

    def barrier(self, released: list, whole: np.ndarray) -> np.ndarray:
        """A barrier of whole blocks is complete, for the lanes `whole` (one bool each). Report who did not come to it
        as the others did; the lanes that passed it by."""
        if len(released) > 1:
            self._report_places(released)
        passed = [self._passed_by(entry, whole) for entry in released]
        return np.unique(np.concatenate(passed)) if passed else np.array([], int)

    def mask(self, pc: int, lanes: np.ndarray, masks: np.ndarray) -> None:
        """These lanes wait no longer for others that their masks name, since those have exited. Report who exited after
        taking a way around the place where they wait."""
        machine = self.machine
        if machine.alive.all() or not self.points.get(pc) or machine.launch.code.is_barrier(pc):
            return
        gone = np.setdiff1d(self._around(pc, lanes, np.flatnonzero(~machine.alive)), lanes)
        bits = masks.astype(np.uint32)
        for lane in gone.tolist():
            mates = machine.warp_of[lanes] == machine.warp_of[lane]
            named = np.flatnonzero(
                mates & (bits >> np.uint32(machine.thread_of[lane] % WARP) & 1).astype(bool)
            )
            if len(named):
                self._report_mask(pc, int(lanes[named[0]]), int(bits[named[0]]), lane)
                return

    def _report_mask(self, pc: int, waits: int, mask: int, absent: int) -> None:
        machine = self.machine
        machine.log.add(
            "warp-mask",
            machine.launch.code.instructions[pc],
            f"{machine.describe_thread(waits)} names lane {int(machine.thread_of[absent]) % WARP} in its mask "
            f"{mask:#010x}, and {machine.describe_other(absent)} takes a way around this place: it never comes, and "
            f"only its exit lets the others go on. {mend('mask-of-branch')}",
            cause="lane-passes-by",
        )

    def guard(self, pc: int, lanes: np.ndarray, taken: np.ndarray) -> None:
        """A barrier with a predicate: lanes of one warp must agree."""
        warps = self.machine.warp_of[lanes]
        mixed = np.intersect1d(warps[taken], warps[~taken])
        if len(mixed):
            skips = lanes[~taken & (warps == mixed[0])][0]
            waits = lanes[taken & (warps == mixed[0])][0]
            self._report(pc, int(skips), int(waits))

    def _report_places(self, released: Sequence[Here]) -> None:
        """Threads of one block have come to different barriers. (A copy of a macro's has the line of the other one.)"""
        machine, where = self.machine, self.machine.launch.code.where
        lanes = np.concatenate([entry.lanes for entry in released])
        pcs = np.repeat([entry.pc for entry in released], [len(entry.lanes) for entry in released])
        lowest = np.full(len(machine.blocks), np.iinfo(pcs.dtype).max)
        np.minimum.at(lowest, machine.block_of[lanes], pcs)
        others = np.flatnonzero(pcs != lowest[machine.block_of[lanes]])
        if not len(others):
            return
        second, other = int(pcs[others[0]]), int(lanes[others[0]])
        first = int(lowest[machine.block_of[other]])
        lane = int(lanes[(pcs == first) & (machine.block_of[lanes] == machine.block_of[other])][0])
        same = where(first) == where(second)
        if same and not machine.launch.code.flow.in_two_arms(first, second):
            return  # copies of one, in a loop that the compiler has unrolled
        place = "at another one in the same line" if same else f"at {where(second)}"
        machine.log.add(
            "barrier-divergence",
            machine.launch.code.instructions[first],
            f"threads of one block wait at different __syncthreads(): {machine.describe_thread(lane)} at "
            f"{where(first)}, {machine.describe_other(other)} {place}. {mend('one-barrier-for-all')}",
            cause="different-barriers",
        )

    def _passed_by(self, entry: Here, whole: np.ndarray) -> np.ndarray:
        """Exited threads of the blocks of these lanes that passed the barrier at which they waited by."""
        machine = self.machine
        passed = self._around(entry.pc, entry.lanes, np.flatnonzero(whole & ~machine.alive))
        if len(passed):
            waits = entry.lanes[machine.warp_of[entry.lanes] == machine.warp_of[passed[0]]][0]
            self._report(entry.pc, int(passed[0]), int(waits))
        return passed

    def _around(self, pc: int, lanes: np.ndarray, gone: np.ndarray) -> np.ndarray:
        """Which of the lanes `gone` took a way around the place where these lanes of their warps wait."""
        machine, found = self.machine, [np.array([], int)]
        for point in self.points.get(pc, ()):
            if len(gone) and point in self.times:
                times = self.times[point]
                most = np.full(machine.warps, np.iinfo(np.int32).max)
                np.minimum.at(most, machine.warp_of[lanes], times[lanes])
                found.append(gone[times[gone] > most[machine.warp_of[gone]]])
        return np.unique(np.concatenate(found))

    def _report(self, pc: int, skips: int, waits: int) -> None:
        machine = self.machine
        machine.log.add(
            "barrier-divergence",
            machine.launch.code.instructions[pc],
            f"{machine.describe_thread(skips)} passes this barrier by, and {machine.describe_other(waits)} of the "
            f"same warp waits at it. {mend('barrier-in-branch')}",
            cause="barrier-passed-by",
        )
