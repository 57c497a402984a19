"""What orders accesses: who has seen what of whom (PTX ISA, "Memory Consistency Model": causality order).

Every tracked access and every ordering gets a time, one after the other, for the whole launch. What one thread did
before a time is ordered before what another does now, if the other has *seen* it up to that time. Two things hand on
what was seen:

* A **meeting** (a barrier, `__syncwarp`): all who take part release what they did and saw, and acquire what the others
  did and saw. Meetings, and arrivals at a barrier (release) that a later wait acquires, are kept here, in one table
  for the threads of all resident blocks.
* A **message** from any thread of the grid to another: release and acquire through memory. See messages.py.

Threads that always met together have seen the same and are one *agent* of the table: at first the warps. An ordering
that takes only a part of an agent divides it, in all blocks alike, so the table is as small as the program allows.
"""

from dataclasses import dataclass

import numpy as np

from ..gpus import WARP
from .messages import Chain, Letters, Messages, News, Released, joined

FEW = 8
"""Pairs alike that stand side by side are asked for once where there are so many of each kind."""


class Trail:
    """The times of a launch, and the instruction at each. Time 0 is before the launch."""

    def __init__(self) -> None:
        self.now = 1
        self._pcs = np.zeros(4096, np.int32)

    def step(self, pc: int) -> int:
        """A time of its own for this instruction."""
        time = self.now
        if time >= len(self._pcs):
            self._pcs = np.concatenate([self._pcs, np.zeros(max(len(self._pcs), time), np.int32)])
        self._pcs[time] = pc
        self.now += 1
        return time

    def pcs(self, times: np.ndarray | int) -> np.ndarray:
        """The instructions at times that `step` gave."""
        return self._pcs[times]


@dataclass
class Token:
    """What arrived at a barrier and waits to be acquired: for each block, up to which time what its threads did is
    brought, and the news that came with it (messages.py)."""

    times: np.ndarray
    news: np.ndarray

    def clear(self, blocks: np.ndarray) -> None:
        self.times[blocks] = self.news[blocks] = 0


class Orders:
    """The orders among the threads of the resident blocks.

    Lanes are those of a machine, numbered block after block. `seen[b, i, j]`: what agent j of block b did before this
    time is ordered before what agent i of it does now; for j = i, what one of its lanes did for another one.
    """

    def __init__(
        self,
        trail: Trail,
        letters: Letters,
        first_block: int,
        blocks: int,
        threads: int,
        single: bool,
        cluster: int = 1,
    ) -> None:
        """`single`: each thread is an agent of its own from the start. `cluster`: blocks of one."""
        self.trail = trail
        self.threads = threads
        self.blocks = blocks
        self.first_lane = first_block * threads  # in the grid
        self.ended = np.zeros(blocks * threads, bool)  # by lane
        self._name_agents(np.arange(threads) // (1 if single else WARP))
        self.seen = np.full((blocks * self.agents, self.agents), trail.now, np.int32)
        self._settle()
        self.messages = Messages(letters, trail, first_block, blocks, threads, cluster)

    def _name_agents(self, agent_of: np.ndarray) -> None:
        """`agent_of`: the agent of each thread of a block. Agents of all blocks are numbered block after block."""
        self.agent_of = agent_of
        self.agents = int(agent_of.max()) + 1  # of a block
        self.first_of = np.unique(agent_of, return_index=True)[1]  # a thread of each agent
        self.sizes = np.tile(np.bincount(agent_of), self.blocks)
        self.agent_of_lane = (np.arange(self.blocks)[:, None] * self.agents + agent_of).ravel()
        self._note_ended()

    def end(self, lanes: np.ndarray) -> None:
        """These lanes do nothing any more: what they have not seen keeps nobody waiting to forget it."""
        self.ended[lanes] = True
        self._note_ended()
        self._settle()

    def _note_ended(self) -> None:
        alive = np.bincount(self.agent_of_lane[~self.ended], minlength=len(self.sizes))
        self.over = np.flatnonzero(alive == 0)  # agents

    # ---- meetings, and arrivals that a wait acquires

    def meet(self, lanes: np.ndarray | None, groups: np.ndarray | None = None) -> None:
        """These lanes (None: all) have met, those of each group among themselves; without `groups` those of a block."""
        self.trail.now += 1
        if lanes is None:
            self.seen[:] = self.floors[:] = self.lows[:] = self.trail.now
            self.low = self.trail.now
            self.floor: int | None = self.low
        else:
            agents, group = self._agents(lanes, groups)
            self.seen[agents] = self._together(agents, group)[group]
            self._settle()
        self.messages.meet(lanes, groups)

    def token(self) -> Token:
        """An empty one."""
        return Token(np.zeros((self.blocks, self.threads), np.int32), np.zeros(self.blocks, np.int32))

    def release(self, lanes: np.ndarray, token: Token) -> None:
        """Add to the token what these lanes did and saw until now."""
        self.trail.now += 1
        agents, group = self._agents(lanes, None)
        blocks = np.unique(agents // self.agents)
        brought = self._together(agents, group)[:, self.agent_of]
        token.times[blocks] = np.maximum(token.times[blocks], brought)
        self.messages.release(lanes, token.news)

    def release_of(self, lanes: np.ndarray, token: Token, time: int) -> None:
        """Add to the token what these lanes did before that time, and nothing that they saw."""
        self._agents(lanes, None)  # on their own from now on
        blocks, threads = np.divmod(lanes, self.threads)
        token.times[blocks, threads] = np.maximum(token.times[blocks, threads], time)

    def tell(self, chain: Chain, lanes: np.ndarray) -> None:
        """Add to a chain what these lanes did and saw until now, for threads of any block."""
        for released in self.said(lanes):
            chain.add(released)

    def said(self, lanes: np.ndarray) -> list[Released]:
        """The same, to be told later."""
        found: list[Released] = []
        for block in np.unique(lanes // self.threads).tolist():
            mine = lanes[lanes // self.threads == block]
            row = self.rows(mine).max(axis=0)
            each = mine[np.unique(self.messages.known[mine], return_index=True)[1]]
            found += [self.messages.said(lane, row) for lane in each.tolist()]
        return found

    def tell_of(self, chain: Chain, lane: int, time: int) -> None:
        """Add to a chain what this lane did before that time, and nothing that it saw."""
        row = np.zeros(self.threads, np.int32)
        row[lane % self.threads] = time
        self.messages.tell(chain, lane, row, alone=True)

    def acquire(self, lanes: np.ndarray, token: Token) -> None:
        """These lanes have seen what the token has of their blocks."""
        agents, _ = self._agents(lanes, None)
        brought = token.times[agents // self.agents][:, self.first_of]
        self.seen[agents] = np.maximum(self.seen[agents], brought)
        self._settle()
        self.messages.acquire(lanes, token.news)

    def hear_of(self, lanes: np.ndarray, token: Token) -> None:
        """The same once a fence of theirs follows."""
        for block in np.unique(lanes // self.threads).tolist():
            row = News({self.messages.first_block + block: token.times[block].copy()})
            news = joined([row, self.messages.book[token.news[block]]])
            self.messages.hear_of(lanes[lanes // self.threads == block], news)

    def _together(self, agents: np.ndarray, group: np.ndarray) -> np.ndarray:
        """What the agents of each group have seen and done together, up to now: (groups, agents of a block)."""
        order = np.argsort(group, kind="stable")
        starts = starts_of_runs(group[order])
        together = np.maximum.reduceat(self.seen[agents[order]], starts, axis=0)
        together[group, agents % self.agents] = self.trail.now
        return together

    def _settle(self) -> None:
        self.floors = self.seen.min(axis=1)  # by agent: all of its block before this is ordered before it
        if len(self.over):
            self.floors[self.over] = self.trail.now
            self.floors[self.over] = self.floors.min()
        self.lows = self.floors.reshape(self.blocks, -1).min(axis=1)  # the same of all of a block
        self.low = int(self.lows.min())
        self.floor = self.low if self.low == int(self.floors.max()) else None

    def _agents(self, lanes: np.ndarray, groups: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The agents of these lanes, numbered over all blocks, and the group of each, counted from 0."""
        agent_of = self.agent_of_lane[lanes]
        groups = lanes // self.threads if groups is None else groups
        count = np.bincount(agent_of, minlength=len(self.sizes))
        agents = np.flatnonzero(count)
        group_of = np.zeros(len(self.sizes), np.int64)
        group_of[agent_of] = groups
        if (count[agents] < self.sizes[agents]).any() or (group_of[agent_of] != groups).any():
            self._divide(lanes, groups)
            return self._agents(lanes, groups)
        return agents, _numbered(group_of[agents])

    def _divide(self, lanes: np.ndarray, groups: np.ndarray) -> None:
        """Make agents of which each belongs to one group as a whole, or to none."""
        group_of = np.full(self.blocks * self.threads, -1)
        group_of[lanes] = groups
        member = group_of.reshape(self.blocks, self.threads)
        member = member[(member >= 0).any(axis=1)]
        _, agent_of = np.unique(np.vstack([self.agent_of, member]), axis=1, return_inverse=True)
        old, old_agents = self.agent_of, self.agents
        self._name_agents(agent_of.reshape(-1))
        parent = old[self.first_of]
        seen = self.seen.reshape(self.blocks, old_agents, old_agents)[:, parent][:, :, parent]
        self.seen = np.ascontiguousarray(seen).reshape(-1, self.agents)
        self._settle()

    # ---- questions

    def row(self, agent: int) -> np.ndarray:
        """What this agent (numbered over all blocks) has seen, by thread of its block."""
        return self.seen[agent][self.agent_of]

    def rows(self, lanes: np.ndarray) -> np.ndarray:
        """What each of these lanes has seen, and done itself up to now, by thread of its block."""
        self.trail.now += 1
        rows = self.seen[self.agent_of_lane[lanes]][:, self.agent_of]
        rows[np.arange(len(lanes)), lanes % self.threads] = self.trail.now
        return rows

    def floor_of(self, lanes: np.ndarray) -> int | np.ndarray:
        """For these lanes the time before which everything in their block is ordered before them."""
        return self.floor if self.floor is not None else self.floors[self.agent_of_lane[lanes]]

    def known_of(self, lanes: np.ndarray) -> np.ndarray:
        """A number that is the same for lanes to whom `unseen` says the same of what others did."""
        return self.agent_of_lane[lanes] << 32 | self.messages.known[lanes]

    def behind(self, lanes: np.ndarray, lane: int) -> np.ndarray:
        """Those of these lanes of a block to which something that another of its lanes has seen is unknown; of what
        the agents of all of these did, it does not matter."""
        rows, own = self.agent_of_lane[lanes], self.agent_of_lane[lane]
        less = self.seen[rows] < self.seen[own]
        less[:, np.append(rows, own) % self.agents] = False
        return lanes[less.any(axis=1)]

    def unseen(self, lanes: np.ndarray, others: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Whether what the lanes `others` of the grid did at these times is unordered with what each lane does now."""
        if len(lanes) > FEW and lanes[0] == lanes[FEW]:
            starts = starts_of_runs(lanes, others, times)
            if len(starts) < len(lanes) // FEW:
                found = self.unseen(lanes[starts], others[starts], times[starts])
                return np.repeat(found, np.diff(starts, append=len(lanes)))
        mine, theirs = lanes + self.first_lane, others
        here = theirs // self.threads == mine // self.threads
        agent = self.agent_of[theirs % self.threads]
        seen = self.seen[self.agent_of_lane[lanes], agent]
        found = (~here | (times >= seen)) & (theirs != mine)
        return self.messages.not_told(lanes, theirs, times, found) if found.any() else found


def _numbered(groups: np.ndarray) -> np.ndarray:
    """The place of each among the different ones, from 0."""
    there = np.zeros(groups.max(initial=0) + 1, bool)
    there[groups] = True
    return (np.cumsum(there) - 1)[groups]


def starts_of_runs(*columns: np.ndarray) -> np.ndarray:
    """Where another value begins in one of these: a tile that a few copies brought, read for one lane, is a few
    runs."""
    found = np.ones(len(columns[0]), bool)
    found[1:] = columns[0][1:] != columns[0][:-1]
    for values in columns[1:]:
        found[1:] |= values[1:] != values[:-1]
    return np.flatnonzero(found)
