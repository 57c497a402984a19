"""Two figures to try a pipeline out with: drag its lengths, or step through its hand-over. Models, no measurements.

Where scripts run (a trusted notebook, the pages) both are moved by mouse and keys; elsewhere they stand still.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from . import explore_chart
from .cells import counted

LIMITS = {"copy": (50, 5000), "math": (100, 5000), "stages": (1, 8), "blocks": (1, 4)}
"""What `pipeline` takes, and its sliders reach: cycles, cycles, slots of a block, blocks on an SM."""
K_TILES = 512
"""Of each block: K = 4096 in k-tiles of 8."""
SPAN = 420
"""Of these, the last ones that the speed-up is counted over, when all are at work: whole rounds of the 1 to 7 copies on
their way."""


def schedule(copy: int, math: int, stages: int, blocks: int, k_tiles: int) -> list[tuple]:
    """Turns in the order of their math: (block, k-tile, cycle of its issue, cycle its math begins).

    A turn of the loop: wait, issue the next copy, math.
    """
    issued = [[0] * max(stages - 1, 1) for _ in range(blocks)]  # prologue: stages - 1 copies
    waiting = [(copy, 0, block) for block in range(blocks)]  # when its next k-tile is there
    turns, free = [], 0  # free: from when on nobody uses the math units, which blocks share
    for _ in range(blocks * k_tiles):
        there, k_tile, block = min(waiting)  # first come, first served
        begins = max(there, free)
        free = begins + math
        issued[block].append(there if stages > 1 else free)  # a single slot must be read first
        waiting[block] = max(free, issued[block][k_tile + 1] + copy), k_tile + 1, block
        turns.append((block, k_tile, issued[block][k_tile], begins))
    return turns


def pipeline(copy: int, math: int, stages: int = 1, blocks: int = 1) -> "Pipeline":
    """A figure of the model with four sliders, which start here.

    `copy`: cycles from the issue of a k-tile's copy until it has landed; `math`: cycles of its math when no other block
    computes; `stages`: slots of a block; `blocks`: blocks on an SM. Raises ValueError outside of LIMITS.
    """
    asked = {"copy": copy, "math": math, "stages": stages, "blocks": blocks}
    for name, (least, most) in LIMITS.items():
        if type(asked[name]) is not int or not least <= asked[name] <= most:
            raise ValueError(f"{name}={asked[name]!r}: it must be a whole number from {least} to {most}")
    return Pipeline(**asked)


@dataclass(frozen=True, repr=False)
class Pipeline:
    """One setting of the model. As text it is the result, in a notebook the figure."""

    copy: int
    math: int
    stages: int
    blocks: int

    def __repr__(self) -> str:
        turns = schedule(**asdict(self), k_tiles=K_TILES)
        begins = [begin for block, _, _, begin in turns if block == 0]
        cycles, k_tiles = begins[-1] - begins[-1 - SPAN], SPAN * self.blocks
        gain = _rounded(100 * k_tiles * (self.copy + self.math), cycles)
        busy = _rounded(100 * k_tiles * self.math, cycles)
        stages, blocks = counted(self.stages, "stage"), counted(self.blocks, "block")
        return (
            f"Model: copy {self.copy}, math {self.math}, {stages}, {blocks}. "
            f"A k-tile every {_rounded(cycles, k_tiles)}: {gain // 100}.{gain % 100:02} times as fast as one stage "
            f"and one block. Math {busy} % of the time."
        )

    def _repr_html_(self) -> str:
        turns = schedule(**asdict(self), k_tiles=K_TILES)
        return explore_chart.draggable(turns, asdict(self), LIMITS, repr(self))


def _rounded(a: int, b: int) -> int:
    """a / b as a whole number. In whole numbers the script's arithmetic is the same to the last bit."""
    return (2 * a + b) // (2 * b)


def handover(slots: int = 2, k_tiles: int = 4) -> "Handover":
    """A figure that steps through the hand-over between a producer warp and a consumer warp, by named barriers.

    Raises ValueError unless there are 1 to 4 slots and 1 to 8 k-tiles.
    """
    for name, number, most in ("slots", slots, 4), ("k_tiles", k_tiles, 8):
        if type(number) is not int or not 1 <= number <= most:
            raise ValueError(f"{name}={number!r}: it must be a whole number from 1 to {most}")
    return Handover(slots, k_tiles)


@dataclass(frozen=True)
class Handover:
    """The hand-over of some k-tiles through some slots. As text it is one line, in a notebook the figure."""

    slots: int
    k_tiles: int

    def steps(self) -> list[dict[str, str]]:
        """What each of the two does in a step, what each slot holds and how many threads came to each barrier."""
        return list(_steps(self.slots, self.k_tiles))

    def __repr__(self) -> str:
        slots, k_tiles = counted(self.slots, "slot"), counted(self.k_tiles, "k-tile")
        return f"Model: {k_tiles} handed over through {slots}, in {len(self.steps())} steps"

    def _repr_html_(self) -> str:
        return explore_chart.stepped(self.steps(), repr(self))


def _steps(slots: int, k_tiles: int) -> Iterator[dict[str, str]]:
    holds = ["empty"] * slots
    came: Counter[str] = Counter()
    opened: Counter[str] = Counter()

    def come(barrier: str) -> bool:
        """32 threads more; at 64 the barrier opens."""
        came[barrier] += 32
        opened[barrier] += came[barrier] == 64
        return came[barrier] == 64

    def sync(barrier: str) -> Iterator[str]:
        before = opened[barrier]
        if come(barrier):
            yield f"goes on at {barrier}"
        while opened[barrier] == before:
            yield f"waits at {barrier}"

    def producer() -> Iterator[str]:
        for k_tile in range(k_tiles):
            slot = k_tile % slots
            if k_tile >= slots:
                yield from sync(f"EMPTY {slot}")
            holds[slot] = f"copy of k-tile {k_tile}"
            yield f"copies k-tile {k_tile}"
            holds[slot] = f"k-tile {k_tile}"
            come(f"FULL {slot}")
            yield f"arrives at FULL {slot}"

    def consumer() -> Iterator[str]:
        for k_tile in range(k_tiles):
            slot = k_tile % slots
            yield from sync(f"FULL {slot}")
            for _ in range(2):  # the math takes two steps, a copy one
                yield f"multiplies k-tile {k_tile}"
            holds[slot] = "has been read"
            if k_tile + slots < k_tiles:
                come(f"EMPTY {slot}")
                yield f"arrives at EMPTY {slot}"

    sides = producer(), consumer()
    while (doing := [next(side, "is done") for side in sides]) != ["is done"] * 2:
        step = {"producer": doing[0]}
        for slot in range(slots):
            step[f"slot {slot}"] = holds[slot]
            step |= {barrier: str(came[barrier]) for barrier in (f"FULL {slot}", f"EMPTY {slot}")}
        sentence = _sentence(doing[0], doing[1], [barrier for barrier in came if came[barrier] == 64])
        yield step | {"consumer": doing[1], "what to see": sentence}
        for barrier in came:
            came[barrier] %= 64


def _sentence(producer: str, consumer: str, opened: list[str]) -> str:
    """The one thing to see in a step."""
    if opened:
        allowed = {"FULL": "the consumer may read slot", "EMPTY": "the producer may fill slot"}
        return " ".join(f"{barrier} opens: {allowed[barrier[:-2]]} {barrier[-1]}." for barrier in opened)
    if consumer.startswith("waits"):
        return "The consumer waits: its k-tile is not there yet."
    if producer.startswith("waits"):
        return "The producer waits: no slot is empty."
    if producer.startswith("copies") and consumer.startswith("multiplies"):
        return "Both work: the copy runs behind the math."
    if producer.startswith("arrives"):
        return f"The producer says that slot {producer[-1]} is full, and goes on at once."
    return "Nobody will fill this slot again, so the consumer will not come to its EMPTY."
