"""What a launch touches of global memory, from the walks of a few of its blocks: no array is made for it.

A block in the middle of the grid is compared with its neighbour in each direction. What of an array is new to the
neighbour is new to each further block in that direction: so the launch touches as much as one block does, once for each
direction, with what is new there. That is exact where blocks' places go up in equal steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from ..gpus import SECTOR
from .accesses import Access
from .instructions import LOADS_GLOBAL, STORES_GLOBAL
from .memory import ARRAY
from .registers import Triple
from .walk import Step

Walk = Callable[[Triple], list[list[Step]]]
"""What each warp of the block at this place issues."""
SUMS = frozenset(["RED", "REDG", "ATOMG"])
WRITES, READS = STORES_GLOBAL | SUMS, LOADS_GLOBAL | SUMS | {"LDGSTS"}


@dataclass(frozen=True)
class Footprint:
    """Sectors that all blocks read together, and that they write, by array; each counts once. `new`: of an array's
    sectors that a block touches, the part that no block before it has touched."""

    read: Mapping[int, float]
    written: Mapping[int, float]
    new: Mapping[int, float]

    @property
    def bytes_read(self) -> float:
        return SECTOR * sum(self.read.values())

    @property
    def bytes_written(self) -> float:
        return SECTOR * sum(self.written.values())

    @property
    def size(self) -> float:
        """Bytes of all arrays together, where one that is read and written counts once."""
        arrays = {*self.read, *self.written}
        return SECTOR * sum(max(self.read.get(each, 0.0), self.written.get(each, 0.0)) for each in arrays)

    def grown(self, other: Footprint, times: float) -> Footprint:
        """So many `times` farther than from this one to the `other`."""

        def farther(mine: Mapping[int, float], its: Mapping[int, float]) -> dict[int, float]:
            return {each: mine[each] + times * (its.get(each, 0.0) - mine[each]) for each in mine}

        return Footprint(farther(self.read, other.read), farther(self.written, other.written), self.new)


def middle_of(grid: Triple) -> Triple:
    """The block that stands for all others: those at an edge may have less to do."""
    x, y, z = grid
    return x // 2, y // 2, z // 2


def footprint(walk: Walk, grid: Triple) -> Footprint:
    """Of a launch of `grid` blocks."""
    middle = middle_of(grid)
    of_one = _touched(walk(middle))
    neighbours = []
    for direction, size in enumerate(grid):
        if size > 1:
            step = [0, 0, 0]
            step[direction] = 1 if middle[direction] + 1 < size else -1
            x, y, z = (at + more for at, more in zip(middle, step))
            neighbours.append((size, _touched(walk((x, y, z)))))
    read, written = (
        {array: _of_all(sectors, [(size, other[way].get(array, set())) for size, other in neighbours])
         for array, sectors in of_one[way].items()}
        for way in (0, 1)
    )  # fmt: skip
    of_blocks = {
        array: prod(grid) * len(of_one[0].get(array, ()) or of_one[1][array]) for array in {*read, *written}
    }
    new = {array: read.get(array, written.get(array, 0.0)) / of_blocks[array] for array in of_blocks}
    return Footprint(read, written, new)


def _of_all(sectors: set[int], neighbours: list[tuple[int, set[int]]]) -> float:
    """Sectors of an array that all blocks touch: `sectors` by one of them, by its neighbours in directions with so many
    blocks."""
    found = float(len(sectors))
    for size, others in neighbours:
        found *= 1 + (size - 1) * len(others - sectors) / len(sectors)
    return found


def _touched(warps: list[list[Step]]) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    """The sectors that a block reads and that it writes, by array. Array 0 is local memory."""
    read: dict[int, set[int]] = {}
    written: dict[int, set[int]] = {}
    for steps in warps:
        for step in steps:
            if isinstance(step.access, Access) and step.access.sectors:
                array = step.access.sectors[0] // ARRAY
                for names, found in ((READS, read), (WRITES, written)):
                    if array and step.decoded.name in names:
                        found.setdefault(array, set()).update(step.access.sectors)
    return read, written
