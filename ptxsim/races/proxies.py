"""Which writes of threads the copy engine and the tensor cores may see: those behind a fence.proxy.async.

By the PTX ISA ("Memory Consistency Model", proxy-preserved causality order) a fence has to stand somewhere on the way
from the write to the read: the write happens before it, and it happens before the read. Whose fence it is does not
matter. So each agent (orders.py) knows of every other one not only what it saw of it, but also what of that lies behind
a fence that it knows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Behind:
    """Of the agents of the resident blocks, numbered as in Orders.

    `known[i, j]`: what agent j of i's block did before this time is behind a fence that i knows. `last[i]`: when agent
    i made its last fence, which the others know once they have met it; 0: never.
    """

    known: np.ndarray
    last: np.ndarray

    @staticmethod
    def nothing(agents: int, of_block: int) -> Behind:
        return Behind(np.zeros((agents, of_block), np.int32), np.zeros(agents, np.int32))

    @property
    def any(self) -> bool:
        """Whether anybody made a fence."""
        return bool(self.last.any())

    def fence(self, agents: np.ndarray, seen: np.ndarray, now: int) -> None:
        """These agents make a fence now. `seen`: what each has seen."""
        self.known[agents] = np.maximum(self.known[agents], seen)
        self.last[agents] = now

    def together(self, agents: np.ndarray, group: np.ndarray) -> np.ndarray:
        """What the agents of each group know together: (groups, agents of a block)."""
        of_block = self.known.shape[1]
        known = np.zeros((int(group.max()) + 1, of_block), np.int32)
        np.maximum.at(known, group, self.known[agents])
        np.maximum.at(known, (group, agents % of_block), self.last[agents])
        return known

    def learn(self, agents: np.ndarray, brought: np.ndarray) -> None:
        self.known[agents] = np.maximum(self.known[agents], brought)

    def divided(self, parent: np.ndarray, blocks: int) -> Behind:
        """The same of smaller agents: the k-th one of a block was a part of agent parent[k]."""
        of_block = self.known.shape[1]
        known = self.known.reshape(blocks, of_block, of_block)[:, parent][:, :, parent]
        last = self.last.reshape(blocks, of_block)[:, parent]
        return Behind(
            np.ascontiguousarray(known).reshape(-1, len(parent)), np.ascontiguousarray(last).ravel()
        )
