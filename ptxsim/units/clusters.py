"""Clusters: blocks that run at the same time, and may touch each other's shared memory (PTX ISA, "Cluster of
Cooperative Thread Arrays").

In a cluster each address of shared memory has the rank of its block above the offset, from bit 24 on, that of one's own
memory, too: so compilers make it (machine code of nvcc 13.0 for sm_90a: SR_CgaCtaId, shifted by 24), and kernels clear
bit 24 to name the even block of a pair. The machine takes the blocks of a grid cluster by cluster, so that those of one
are neighbours there; in a cluster x is the fastest (PTX ISA, "%cluster_ctarank").
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..races.messages import Chain
from .barriers import Rendezvous, Synchronising, Waiting

RANK_SHIFT = 24
HALF = 1 << RANK_SHIFT - 1
"""Offsets lie this far around 0: one a little below comes of an index below 0, and is no other block's."""
MOST_BLOCKS = 16
"""Of a cluster, on an H100 (CUDA C++ Programming Guide: 8, and 16 where a kernel asks for more)."""


def cluster_by_cluster(grid: tuple[int, ...], cluster: tuple[int, ...]) -> np.ndarray:
    """The numbers of a grid's blocks (x is the fastest), those of each cluster together."""
    (gx, gy, gz), (cx, cy, cz) = grid, cluster
    number = np.arange(gx * gy * gz).reshape(gz // cz, cz, gy // cy, cy, gx // cx, cx)
    return number.transpose(0, 2, 4, 1, 3, 5).ravel()


@dataclass(eq=False)
class Lent:
    """A copy out of the shared memory of a lane's block into another's: whether it has landed, and who has heard of
    it: lanes, when, and in which phase of the cluster's barrier they arrive next."""

    lane: int
    pc: int
    landed: bool = False
    heard: list[tuple[np.ndarray, int, int]] = field(default_factory=list)


class Clusters:
    """Of one machine: `size` blocks each; 1 where the launch has no clusters."""

    def __init__(self, machine: Synchronising, size: int) -> None:
        self.machine, self.size = machine, size
        # of each lane the address of its block's first byte
        self.own = machine.block_of % size << RANK_SHIFT
        # of each block's cluster, among the resident
        self.first_of = np.arange(len(machine.blocks)) // size * size
        # (lane, another block): when it last used that block's memory
        self.uses: dict[tuple[int, int], int] = {}
        # (an mbarrier, its block, another block): the newest copy out of that block's memory that it counts
        self.lent: dict[tuple[object, int, int], Lent] = {}
        # by instruction, such a first use that may come too early
        self.early: dict[int, tuple[int, int]] = {}
        self.began = machine.orders.trail.step(0)  # what a thread does comes after that
        self.made = np.zeros(machine.lanes, np.int32)  # up to when each lane initialised mbarriers
        self.made_known = np.zeros(machine.lanes, np.int32)  # and a fence.mbarrier_init of it covers them
        self.barrier = ClusterBarrier(machine, size, self.made_known)

    def place(self, addresses: np.ndarray, lanes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of addresses of shared memory that these lanes give: the block (a resident one), and the offset in it."""
        own = self.machine.block_of[lanes]
        if self.size == 1:
            return own, addresses
        above = addresses + HALF
        rank = above >> RANK_SHIFT & 0xFF
        return self.first_of[own] + np.minimum(rank, self.size - 1), (above & (1 << RANK_SHIFT) - 1) - HALF

    def pair(self, block: int) -> list[int]:
        """The two blocks of a cluster, of ranks that differ in their lowest bit, of which this is one."""
        even = block - (block - int(self.first_of[block])) % 2
        return [even, even + 1]

    def beside(self, block: int, like: int) -> int:
        """Of the pair of `block` the one whose rank has the lowest bit of `like`'s."""
        return self.pair(block)[(like - int(self.first_of[like])) % 2]

    def touch(self, lanes: np.ndarray, blocks: np.ndarray, pc: int, meets: bool = False) -> None:
        """These lanes use the shared memory of these blocks. `meets`: threads there wait for that, and cannot exit."""
        away = blocks != self.machine.block_of[lanes]
        now = self.machine.orders.trail.step(pc) if away.any() else 0
        for lane, block in zip(lanes[away].tolist(), blocks[away].tolist(), strict=True):
            if (lane, block) not in self.uses and not self._has_started(lane, block):
                self.early.setdefault(pc, (lane, block))
            if not meets:
                self.uses[lane, block] = now

    def lend(self, lane: int, pc: int, mbarrier: object, block: int) -> None:
        """This lane starts a copy from its block's memory to another block, whose mbarrier counts the bytes."""
        source = int(self.machine.block_of[lane])
        if source != block:
            self.lent[mbarrier, block, source] = Lent(lane, pc)

    def lands(self, lane: int, pc: int, mbarrier: object, block: int) -> None:
        """The copy has landed there."""
        lent = self.lent.get((mbarrier, block, int(self.machine.block_of[lane])))
        if lent and (lent.lane, lent.pc) == (lane, pc):
            lent.landed = True

    def hear(self, mbarrier: object, block: int, lanes: np.ndarray) -> None:
        """These lanes have heard that the last phase of their block's mbarrier has ended."""
        for (other, there, _), lent in self.lent.items():
            if other is mbarrier and there == block and lent.landed:
                time = self.machine.orders.trail.step(lent.pc)
                lent.heard.append((lanes, time, self.barrier.next_phase(lanes)))

    def _has_started(self, lane: int, block: int) -> bool:
        """Whether this lane knows that this block of its cluster runs: of anything that a thread there did, or by the
        cluster's barrier, however relaxed."""
        machine, threads = self.machine, self.machine.launch.threads
        there = np.arange(block * threads, (block + 1) * threads) + machine.orders.first_lane
        mine, began = np.full(threads, lane), np.full(threads, self.began)
        return bool(self.barrier.passed[lane]) or not machine.orders.unseen(mine, there, began).all()

    def fence_inits(self, lanes: np.ndarray) -> None:
        """fence.mbarrier_init: a later arrival at the cluster's barrier, a relaxed one too, tells of the mbarriers that
        these lanes have initialised."""
        self.made_known[lanes] = self.made[lanes]

    def finish(self, told: set[tuple[int, int]]) -> None:
        """All threads have exited. Shared memory lives as long as a thread of its block: of each use by another block
        some thread there must have heard before it exited. (A later use by a lane stands for its earlier ones.) And its
        first use must come after the block has started. `told`: lanes and blocks of which this was said already."""
        self._tell_early()
        machine = self.machine
        for (lane, block), time in self.uses.items():
            if (lane, block) in told:
                continue
            lanes = np.arange(block * machine.launch.threads, (block + 1) * machine.launch.threads)
            other = np.full(len(lanes), lane + machine.orders.first_lane)
            if machine.orders.unseen(lanes, other, np.full(len(lanes), time)).all():
                text = (
                    f"{machine.describe_thread(lane)} uses the shared memory of block {int(machine.blocks[block])}, "
                    "whose threads may all have exited by then. At its end a block waits for the others of its "
                    "cluster: barrier.cluster.arrive and .wait"
                )
                instruction = machine.launch.code.instructions[int(machine.orders.trail.pcs(time))]
                machine.log.add("exited-block", instruction, text, cause="exit-before-use")

        for lent in self.lent.values():
            if not self._is_back(lent):
                text = (
                    f"{machine.describe_thread(lent.lane)} exits, and its block with it, while this copy may still "
                    "read the block's shared memory. At its end a block waits for those that get its copies: "
                    "barrier.cluster.arrive and .wait"
                )
                instruction = machine.launch.code.instructions[lent.pc]
                machine.log.add("exited-block", instruction, text, cause="exit-before-copy")

    def _is_back(self, lent: Lent) -> bool:
        """Whether some thread of the block that lends knew, before it exited, that the copy was complete: of one that
        had heard of it, or by the cluster's barrier, however relaxed."""
        machine, threads = self.machine, self.machine.launch.threads
        block = int(machine.block_of[lent.lane])
        mine = np.arange(block * threads, (block + 1) * threads)
        for lanes, time, phase in lent.heard:
            if self.barrier.passed[mine].max() >= phase:
                return True
            for lane in (lanes + machine.orders.first_lane).tolist():
                if not machine.orders.unseen(mine, np.full(threads, lane), np.full(threads, time)).all():
                    return True
        return False

    def _tell_early(self) -> None:
        """Where no race says already that the two blocks have not met."""
        machine = self.machine
        for pc, (lane, block) in self.early.items():
            instruction = machine.launch.code.instructions[pc]
            if not machine.log.has_race(instruction) and not machine.log.has(
                "uninitialised-read", instruction
            ):
                text = (
                    f"{machine.describe_thread(lane)} uses the shared memory of block {int(machine.blocks[block])}, "
                    "which may not have started yet. Before the first use the blocks of the cluster meet: "
                    "barrier.cluster.arrive and .wait"
                )
                machine.log.add("exited-block", instruction, text, cause="use-before-start")


class ClusterBarrier(Rendezvous[Waiting]):
    """barrier.cluster: all threads of all blocks of a cluster arrive, and wait later (PTX ISA, "barrier.cluster").

    Arrays have an entry for each resident cluster."""

    def __init__(self, machine: Synchronising, size: int, made_known: np.ndarray) -> None:
        super().__init__(machine)
        self.size, self.made_known = size, made_known
        clusters = -(-len(machine.blocks) // size)
        self.here = np.zeros(machine.lanes, bool)
        self.passed = np.zeros(
            machine.lanes, np.int64
        )  # the phase, plus one, for whose end a lane has waited last
        self.phase = np.zeros(clusters, np.int64)
        self.of_lane = np.zeros(machine.lanes, np.int64)  # the phase that a lane arrived in last, plus one
        self.chains = [Chain() for _ in range(clusters)]
        self.complete = np.zeros(clusters, np.int64)  # length of the chain when the last phase was complete

    def _cluster(self, lanes: np.ndarray) -> np.ndarray:
        return self.machine.block_of[lanes] // self.size

    def arrive(self, lanes: np.ndarray, releases: bool) -> None:
        clusters = self._cluster(lanes)
        self.here[lanes] = True
        self.of_lane[lanes] = self.phase[clusters] + 1
        tell = self.machine.orders.tell if releases else self._tell_fenced
        for cluster in np.unique(clusters).tolist():
            tell(self.chains[cluster], lanes[clusters == cluster])
        self._look(np.unique(clusters))

    def _tell_fenced(self, chain: Chain, lanes: np.ndarray) -> None:
        """A relaxed arrival: what fences of these lanes have released before."""
        for lane in lanes.tolist():
            self.machine.orders.messages.tell_fenced(chain, lane)
            if self.made_known[lane]:
                self.machine.orders.tell_of(chain, lane, int(self.made_known[lane]))

    def next_phase(self, lanes: np.ndarray) -> int:
        """The phase, plus one, in which the last of these lanes will arrive next."""
        return int((self.phase[self._cluster(lanes)] + 1 + self.here[lanes]).max())

    def wait(self, pc: int, lanes: np.ndarray, resume: Callable) -> None:
        self.waiting.append(Waiting(pc, lanes, resume))
        self._look(np.unique(self._cluster(lanes)))

    def look_again(self, lanes: np.ndarray) -> None:
        self._look(np.unique(self._cluster(lanes)))

    def _look(self, clusters: np.ndarray) -> None:
        machine = self.machine
        of = machine.block_of // self.size
        missing = np.bincount(of, weights=machine.alive & ~self.here, minlength=len(self.phase))
        came = np.bincount(of, weights=self.here, minlength=len(self.phase))
        for cluster in clusters[(missing[clusters] == 0) & (came[clusters] > 0)].tolist():
            self.here[of == cluster] = False
            self.phase[cluster] += 1
            self.complete[cluster] = self.chains[cluster].length
        ready = self.of_lane <= self.phase[of]
        active = machine.idx
        for entry in self.take(ready):
            self.passed[entry.lanes] = self.of_lane[entry.lanes]
            for cluster in np.unique(self._cluster(entry.lanes)).tolist():
                mine = entry.lanes[self._cluster(entry.lanes) == cluster]
                machine.orders.messages.hear(mine, self.chains[cluster], int(self.complete[cluster]))
            entry.resume(machine, entry.lanes)
        machine.idx = active
