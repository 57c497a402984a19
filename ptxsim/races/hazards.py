"""The kinds of findings, their causes, and the list of those of a launch."""

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from ..ground.memory import Miss
from ..lanes import Lanes
from ..ptx.program import Instruction, Where


class Kind(NamedTuple):
    """What a finding is called. `order`: lower ones stand first in a report; most serious first (much may follow from a
    bad address), and those that end the launch last, because they are the last to be found. `means` in a line. `race`:
    two accesses, and nothing orders them. `bad_address`: one that is made without effect. `fatal`: the kernel cannot go
    on after it."""

    name: str
    order: int
    means: str
    race: bool = False
    bad_address: bool = False
    fatal: bool = False


_KINDS: tuple[Kind, ...] = (
    Kind("out-of-bounds", 10, "an address outside of the array, or a copy that is told to "
         "read more than it copies", bad_address=True),
    Kind("misaligned", 20, "an address that is no multiple of the access's size", bad_address=True),
    Kind("unwaited-copy", 30, "reads what an asynchronous copy brings, before anybody waited for it", race=True),
    Kind("unwaited-tcgen05", 35, "comes to tensor memory before what works there is known to be done", race=True),
    Kind("read-after-write", 40, "reads what another thread of the block wrote, with no order "
         "between the two", race=True),
    Kind("write-after-read", 50, "writes what another thread of the block reads, with no "
         "order between the two", race=True),
    Kind("write-after-write", 60, "two threads of the block write different values, with no "
         "order between the two", race=True),
    Kind("block-conflict", 70, "the same in global memory, between threads of two blocks", race=True),
    Kind("order-dependent", 80, "volatile or relaxed accesses that nothing orders: another "
         "order changes what is read or stays"),
    Kind("missing-proxy-fence", 90, "the copy engine or the tensor cores reach what a thread wrote, "
         "or the copy engine overwrites what a thread read, with no fence.proxy.async in between"),
    Kind("unwaited-wgmma", 100, "uses a register of a wgmma before anybody waited for it"),
    Kind("missing-wgmma-fence", 110, "a wgmma on registers that other instructions wrote, with no wgmma.fence"),
    Kind("uninitialised-read", 120, "reads memory that nobody wrote, or a variable that nobody set"),
    Kind("barrier-divergence", 130, "not all threads come to the same barrier"),
    Kind("exited-block", 140, "uses the shared memory of a block that may have exited, or may not have started"),
    Kind("not-given-back", 145, "a block ends and holds columns of tensor memory"),
    Kind("warp-mask", 150, "a lane that is not in its own mask, or a value from a lane that is not there"),
    Kind("barrier-count", 160, "threads at a named barrier that disagree about their number", fatal=True),
    Kind("tensor-memory", 165, "columns, an address or a descriptor that tcgen05 does not take", fatal=True),
    Kind("mbarrier", 170, "an mbarrier that is not initialised, or twice; that counts "
         "what it cannot; used as plain memory", fatal=True),
    Kind("deadlock", 180, "all threads wait, and nobody is left to come", fatal=True),
    Kind("assertion-failed", 190, "assert() is false", fatal=True),
    Kind("trap", 200, "the kernel ended itself, with __trap()", fatal=True),
    Kind("no-function", 205, "a call through a pointer that leads to no such function", fatal=True),
    Kind("step-limit", 210, "much work and no end: a loop without an end, or a launch that is too large", fatal=True),
    Kind("unsupported-instruction", 220, "something that the simulator cannot run", fatal=True),
)  # fmt: skip
"""In any order: what is to be known of a kind stands in its fields."""

KINDS = tuple(sorted(_KINDS, key=lambda kind: kind.order))
"""In their order."""


class Cause(NamedTuple):
    """What is missing or wrong, where a kind has several causes. `means` in a line."""

    name: str
    means: str


_CAUSES = {
    "no-commit": "no cp.async.commit_group follows the copy, so no wait covers it",
    "no-wait": "nobody who may read waited for the group of the cp.async",
    "phase-not-awaited": "nobody who may read waited for the phase of the mbarrier that counts the bytes",
    "store-not-awaited": "nobody waited for a bulk store to arrive; .read waits for its source alone",
    "copy-still-reads": "the source of a copy is written while the copy may still read it",
    "wgmma-still-reads": "shared memory is written while a wgmma may still read it",
    "mma-still-reads": "shared memory is written while a tcgen05.mma or .cp may still read it",
    "product-not-awaited": "nobody waited for the mbarrier that tells of the tcgen05.mma or .cp",
    "tensor-store-not-awaited": "nobody waited for the tcgen05.st (tcgen05.wait::st)",
    "no-order-in-tensor-memory": "two accesses to tensor memory, and nothing orders them",
    "tensor-memory-read": "tensor memory is written or freed while a load or a product may still read it",
    "columns-not-held": "a column of tensor memory that the block has not allocated",
    "columns-not-taken": "a number of columns that tcgen05.alloc does not take",
    "alloc-after-relinquish": "tcgen05.alloc behind tcgen05.relinquish_alloc_permit",
    "not-allocated": "tcgen05.dealloc of columns that tcgen05.alloc did not give",
    "addresses-differ": "threads of a warp give different addresses in tensor memory",
    "bad-lane": "an address in tensor memory with a lane that the instruction does not take",
    "no-pair": "an instruction of a pair of blocks, and the launch has no pairs",
    "bad-descriptor": "a descriptor with fields that tcgen05.mma does not take",
    "no-columns-left": "tcgen05.alloc waits for columns that nobody gives back",
    "read-before-copy": "the copy engine overwrites what a thread read, with no fence.proxy.async in between",
    "no-barrier": "no barrier between the two accesses",
    "no-atomic": "threads read a place and write back what they made of it, without an atomic",
    "narrow-scope": "an atomic, or a relaxed access, of a scope in which the other thread is not",
    "no-fence": "a thread waits for a flag, and no fences order the rest behind it",
    "wrong-place": "an index that lost bits, or that the kernel does not read, leads to another thread's place",
    "read-only-cache": "a load through the read-only cache (ld.global.nc, __ldg) of what the launch writes",
    "two-writers": "two threads write where one should, or a barrier is missing",
    "wait-behind-barrier": "the wait for the copy stands after the barrier, not before it",
    "wait-before-copy": "the wait for the copy stands before it",
    "wait-passed-by": "a thread or a turn passes by the wait for the copy",
    "left-out-of-barrier": "one of the two threads came to a barrier and the other did not",
    "other-block": "the other thread is in another block, and nothing orders the two",
    "kernel-before": "memory is touched before griddepcontrol.wait, and the kernel before may still be at it",
    "tensor-map": "a copy takes a tensor map that the launch wrote, and no fence.proxy.tensormap stands between",
    "no-cluster-barrier": "the other thread is in another block of the cluster, and nothing orders the two",
    "unknown-mbarrier": "an mbarrier is used where nobody need know yet that it was made",
    "never-written": "no thread has written what is read",
    "local-array": "a thread reads its own local array, in which it never wrote",
    "sums-not-set": "an mma or a wgmma adds to registers that nobody has set",
    "variable-not-set": "results depend on a variable to which nothing was assigned",
    "barrier-passed-by": "some threads of a warp take a way around the barrier at which others wait",
    "different-barriers": "threads of one block wait at different __syncthreads()",
    "part-of-warp": "an instruction of the whole warp, and some of its lanes are not there",
    "part-of-warpgroup": "an instruction of a whole warpgroup, and some of its warps do not come to it",
    "exit-before-use": "a block may exit before another block of the cluster has used its shared memory",
    "use-before-start": "shared memory of another block is used, which may not have started",
    "exit-before-copy": "a block exits before a copy has read its shared memory",
    "exit-before-arrival": "a block exits before a copy of another block has arrived in its shared memory",
    "not-in-own-mask": "a lane gives a mask in which it is not",
    "lane-passes-by": "a mask names a lane that goes another way, and exits",
    "absent-lane": "a value is taken from a lane that is not there",
    "beyond-shared-memory": "an address outside of the block's shared memory",
    "beyond-shared-array": "an index that runs out of one shared array into another",
    "beyond-local-array": "an address outside of the thread's local arrays",
    "read-beyond-array": "a read behind the end of an array in global memory, or before it",
    "write-beyond-array": "a write behind the end of an array in global memory, or before it",
    "more-than-copied": "a cp.async is told to read more bytes than it copies",
    "no-array": "an address that belongs to no array",
    "not-from-malloc": "a kernel frees what no malloc() of a kernel gave, or frees it twice",
    "freed-array": "an address in memory that the host freed before the launch",
    "host-memory": "an address of the host's own memory",
    "no-such-block": "a block that the cluster has not",
    "different-counts": "threads at one barrier name different numbers of threads",
    "part-of-warps": "a barrier that counts a number of threads which is no multiple of 32",
    "bad-arrival-count": "a number of arrivals that no mbarrier can count",
    "no-mbarrier": "nobody has initialised the mbarrier",
    "mbarrier-as-data": "a plain access, or a copy, to the place of a valid mbarrier",
    "mbarrier-made-again": "an mbarrier initialised again, without mbarrier.inval",
    "no-mbarrier-yet": "an mbarrier of another block, which may still have to initialise it",
    "no-parity": "a wait for a parity that is not 0 or 1",
    "too-many-bytes": "a phase is told to expect more bytes than it can count",
    "too-many-arrivals": "more arrivals than the phase lacks",
    "mbarrier-elsewhere": "a copy to one block with an mbarrier in another",
    "missing-arrivals-and-bytes": "a phase lacks arrivals, and bytes that it was told to expect",
    "missing-bytes": "a phase has its arrivals and lacks bytes",
    "missing-arrivals": "a phase lacks several arrivals",
    "stuck-in-first-phases": "threads wait at several mbarriers, and each lacks an arrival in its phase 0",
    "missing-arrival": "a phase lacks one arrival",
    "blocks-not-begun": "threads poll memory, and blocks are left that begin only when others have ended",
    "nobody-writes": "threads poll memory that nobody is left to write",
    "too-few-registers": "a setmaxnreg.inc wants more registers than other warpgroups give back",
    "wrong-way": "a setmaxnreg.dec to more registers than a thread has, or an .inc to fewer",
}
CAUSES = tuple(Cause(name, means) for name, means in _CAUSES.items())
"""A kind that is not divided is its own cause: `misaligned`, `trap`, a deadlock without an mbarrier."""

NOTES = {"copy-in-flight-at-exit": "a block may end while a copy into its shared memory is on its way"}
"""Causes of notes, for which programs ask."""

ORDER = {kind.name: kind.order for kind in KINDS}
FATAL = frozenset(kind.name for kind in KINDS if kind.fatal)
BAD_ADDRESS = frozenset(kind.name for kind in KINDS if kind.bad_address)
RACES = frozenset(kind.name for kind in KINDS if kind.race)
WORDS = ORDER.keys() | {cause.name for cause in CAUSES} | NOTES.keys()
"""All that a finding or a note may be called: what a program, or a hint, can match instead of sentences."""


class Meeting(NamedTuple):
    """The two accesses of a race, in words: what `thread` ("thread 0 of block 0") does at the finding's line came, this
    time, after what `other` ("thread 255") did at `other_place` ("line 7"). Both touch `memory`."""

    thread: str
    other: str
    other_place: str
    memory: str


@dataclass(frozen=True)
class Hazard:
    """One finding. `cause`: a word for what is missing or wrong, one of CAUSES or the kind itself; it stays when the
    sentences of `message` change. `line` is the learner's own line; `call_line` the line that called the helper it
    stands in. `header`: the header and its line, if the place is in one that the learner did not call from a line of
    his own. `meeting`: of a race, the two accesses. Raises ValueError for a kind or a cause that is not declared."""

    kind: str
    cause: str
    line: int
    call_line: int | None
    message: str
    count: int = 1
    header: str | None = None
    meeting: Meeting | None = None

    def __post_init__(self) -> None:
        if self.kind not in ORDER or self.cause not in WORDS:
            raise ValueError(f"no declared kind and cause of a hazard: {self.kind!r}, {self.cause!r}")

    @property
    def place(self) -> str:
        return str(Where(self.line, self.call_line, self.header))

    @property
    def first_of(self) -> str:
        """Of how many the message tells the first, where there are several."""
        return f" (the first of {self.count})" if self.count > 1 else ""

    def __str__(self) -> str:
        return f"{self.kind} at {self.place}{self.first_of}: {self.message}"


class Note(str):
    """A sentence about what is no fault, and need not go well elsewhere. `cause`: one of NOTES, a word that stays when
    the sentence changes; "" where no program asks for it."""

    cause: str

    def __new__(cls, text: str, cause: str = "") -> "Note":
        note = super().__new__(cls, text)
        note.cause = cause
        return note


class HazardLog:
    """Findings, one for each (kind, line, call line); the first message stays, the others are counted."""

    def __init__(self) -> None:
        self._found: dict[tuple, Hazard] = {}
        self._notes: dict[Note, None] = {}

    def note(self, text: str, cause: str = "") -> None:
        """Each once."""
        self._notes.setdefault(Note(text, cause))

    @property
    def notes(self) -> tuple[Note, ...]:
        return tuple(self._notes)

    @property
    def count(self) -> int:
        """Of all findings, each as often as it was found."""
        return sum(hazard.count for hazard in self._found.values())

    def add(
        self,
        kind: str,
        instruction: Instruction,
        message: str,
        count: int = 1,
        cause: str = "",
        meeting: Meeting | None = None,
    ) -> None:
        """`cause`: "" where the kind is not divided."""
        if not self.again(kind, instruction, count):
            self.tell(kind, instruction, message, count, cause, meeting)

    def tell(
        self,
        kind: str,
        instruction: Instruction,
        message: str,
        count: int,
        cause: str,
        meeting: Meeting | None,
    ) -> None:
        """The same in these words, also where it was found and counted already."""
        where, key = instruction.where, self._key(kind, instruction)
        if where.header and where.line:
            message = f"{message} (in {where.header})"
        if where.joined:
            message = f"{message}. (This line, {where.joined}.)"
        if old := self._found.get(key):
            count = old.count
        self._found[key] = Hazard(
            kind, cause or kind, where.line, where.call_line, message, count, where.header, meeting
        )

    def again(self, kind: str, instruction: Instruction, count: int) -> bool:
        """Count a finding that is there already; whether it is. (A loop may repeat it, and words take time.)"""
        old = self._found.get(key := self._key(kind, instruction))
        if old:
            self._found[key] = replace(old, count=old.count + count)
        return old is not None

    def has_race(self, instruction: Instruction) -> bool:
        """Whether a race of this instruction is among them."""
        return any(self.has(kind, instruction) for kind in RACES)

    def has(self, kind: str, instruction: Instruction) -> bool:
        """Whether a finding of this kind at this instruction is among them."""
        return self._key(kind, instruction) in self._found

    def _key(self, kind: str, instruction: Instruction) -> tuple:
        where = instruction.where
        return kind, where.line, where.call_line, where.header if not where.line else None

    def sorted(self) -> tuple[Hazard, ...]:
        """Most serious first; a finding that ended the launch comes last."""
        return tuple(sorted(self._found.values(), key=lambda hazard: ORDER[hazard.kind]))


class Reporting(Lanes, Protocol):
    """What it takes to report a finding: the log, and threads in words."""

    log: HazardLog

    def alive_bits(self) -> np.ndarray:
        """For each warp its lanes that have not exited."""

    def describe_thread(self, lane: int) -> str:
        """A lane of this machine: "thread (3, 0) of block 5"."""

    def describe_other(self, lane: int) -> str:
        """The same when the block was named already: "thread (3, 0)"."""

    def describe_lane(self, lane: int) -> str:
        """A lane of the grid: "thread (3, 0) of block 5"."""

    def missed(self, miss: Miss, pc: int) -> None:
        """Report accesses of active lanes that cannot be made."""

    def check_own_mask(self, pc: int, masks: np.ndarray) -> None:
        """Report active lanes that are not in the mask of their warp that each one gives."""
