"""The control flow of a program, without running it: where branches meet again, and what lies in a loop."""

from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property

from .program import Instruction, Target

EXIT = -1
ENDS = ("ret", "exit", "trap")


def targets_of(instruction: Instruction) -> list[int]:
    """Where an instruction may jump to."""
    items = (item for operand in instruction.operands for item in getattr(operand, "items", (operand,)))
    return [item.pc for item in items if isinstance(item, Target)]


class Flow:
    """Basic blocks and the ways between them. A block is named by its first instruction; EXIT is behind the last."""

    def __init__(self, instructions: tuple[Instruction, ...], leaders: Iterable[int]) -> None:
        self.starts = sorted(leader for leader in leaders if leader < len(instructions))
        ends = [*self.starts[1:], len(instructions)]
        self.only_ends = {start for start in self.starts if instructions[start].opcode.root in ENDS}
        self._ends = dict(zip(self.starts, ends, strict=True))
        self.next = {
            start: self._next(instructions[end - 1], end if end < len(instructions) else EXIT)
            for start, end in self._ends.items()
        }

    @staticmethod
    def _next(last: Instruction, behind: int) -> tuple[int, ...]:
        root = last.opcode.root
        jumps = [EXIT] if root in ENDS else targets_of(last)
        goes_on = bool(last.guard) or not jumps
        return tuple(dict.fromkeys([*jumps, behind] if goes_on else jumps))

    def range_of(self, block: int) -> range:
        """The instructions of a basic block."""
        return range(block, self._ends[block])

    def block_of(self, pc: int) -> int:
        """The basic block of an instruction."""
        return self.starts[bisect_right(self.starts, pc) - 1]

    def meeting_points(self, pc: int) -> frozenset[int]:
        """Where threads that go around `pc` come together again with those that come to it.

        For each branch with a way to `pc`, the block that all its ways lead through (its immediate postdominator), if
        `pc` lies before it. A way around that ends the thread leads nowhere, also by way of a `ret` that others share.
        """
        here = self.block_of(pc)
        return frozenset(meet for meet, between in self._around if meet != here and here in between)

    @cached_property
    def _around(self) -> list[tuple[int, set[int]]]:
        """For each branch where all its ways meet again, and the blocks before that."""
        found = [(self.behind[branch], ways) for branch, ways in self.next.items() if len(ways) > 1]
        return [
            (meet, self._reached(ways, meet)) for meet, ways in found if meet not in (EXIT, *self.only_ends)
        ]

    def decided_by(self, branch: int) -> frozenset[int]:
        """The blocks that a branch decides about: from it to where all its ways meet."""
        return frozenset(self._reached(self.next[branch], self.behind[branch]))

    def in_two_arms(self, first: int, second: int) -> bool:
        """Whether a branch leads one way to one of these instructions, and another way to the other, before its ways
        meet again. Copies that a compiler makes of a loop's body follow each other."""
        one, other = self.block_of(first), self.block_of(second)
        for branch, ways in self.next.items():
            arms = [self._reached((way,), self.behind[branch]) for way in ways] if len(ways) > 1 else []
            of_one, of_other = ([one in arm for arm in arms], [other in arm for arm in arms])
            if (
                any(of_one)
                and any(of_other)
                and not any(a and b for a, b in zip(of_one, of_other, strict=True))
            ):
                return True
        return False

    def in_loop(self, pc: int) -> bool:
        """Whether a thread may come to this instruction again."""
        here = self.block_of(pc)
        return here in self._reached(self.next[here], EXIT)

    def leads(self, first: int, last: int) -> bool:
        """Whether a thread may come from the one instruction to the other."""
        here, there = self.block_of(first), self.block_of(last)
        return (here == there and first < last) or there in self._reached(self.next[here], EXIT)

    def loops(self) -> list[set[int]]:
        """The natural loops: for each block that a later one jumps back to, all blocks from it to there."""
        before: dict[int, list[int]] = {block: [] for block in self.starts}
        for block, ways in self.next.items():
            for to in ways:
                if to != EXIT:
                    before[to].append(block)
        bodies: dict[int, set[int]] = {}
        for last, head in self._ways_back():
            body = bodies.setdefault(head, {head})
            waiting = [last]
            while waiting:
                block = waiting.pop()
                if block not in body:
                    body.add(block)
                    waiting += before[block]
        return list(bodies.values())

    def _ways_back(self) -> list[tuple[int, int]]:
        """The jumps, by their blocks, that a walk through the program finds to lead to where it came from."""
        if not self.starts:
            return []
        found, done, path = [], set(), {self.starts[0]: None}
        stack = [(self.starts[0], iter(self.next[self.starts[0]]))]
        while stack:
            block, ways = stack[-1]
            to = next(ways, None)
            if to is None:
                stack.pop()
                done.add(block)
                path.pop(block)
            elif to in path:
                found.append((block, to))
            elif to != EXIT and to not in done:
                path[to] = None
                stack.append((to, iter(self.next[to])))
        return found

    def _reached(self, ways: tuple[int, ...], stop: int) -> set[int]:
        """The blocks that can be reached without passing `stop`."""
        found: set[int] = set()
        waiting = list(ways)
        while waiting:
            block = waiting.pop()
            if block not in (stop, EXIT) and block not in found:
                found.add(block)
                waiting += self.next[block]
        return found

    @cached_property
    def behind(self) -> dict[int, int]:
        """The immediate postdominator of each block (Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm",
        on the reversed graph); EXIT too for a block from which no way ends."""
        order = self._back_from_exit()
        rank = {block: number for number, block in enumerate(order)}
        found = {EXIT: EXIT}

        def common(a: int, b: int) -> int:
            while a != b:
                a, b = (found[a], b) if rank[a] > rank[b] else (a, found[b])
            return a

        changed = True
        while changed:
            changed = False
            for block in order[1:]:
                place, *more = (to for to in self.next[block] if to in found)
                for to in more:
                    place = common(place, to)
                changed |= found.get(block) != place
                found[block] = place
        return {block: found.get(block, EXIT) for block in self.starts}

    def _back_from_exit(self) -> list[int]:
        """The blocks that lead to the exit, in reverse postorder of the reversed graph, EXIT first."""
        before: dict[int, list[int]] = {block: [] for block in (EXIT, *self.starts)}
        for block, ways in self.next.items():
            for to in ways:
                before[to].append(block)
        order, seen, stack = [], {EXIT}, [(EXIT, iter(before[EXIT]))]
        while stack:
            block, rest = stack[-1]
            fresh = next((b for b in rest if b not in seen), None)
            if fresh is None:
                order.append(block)
                stack.pop()
            else:
                seen.add(fresh)
                stack.append((fresh, iter(before[fresh])))
        return order[::-1]
