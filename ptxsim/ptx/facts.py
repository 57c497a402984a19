"""The facts of each instruction of PTX, in one row: all that others ask of it besides what it computes.

What they compute is a function in instructions/, registered under the same name. A pure one, which maps registers to
registers, has a row only if there is more to say of it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal


@dataclass(frozen=True)
class Facts:
    """The facts of an instruction. As they stand they are a pure one's."""

    reads: bool = False
    """Memory, each lane for itself, as many bytes as its last type has."""
    writes: bool = False
    """The same; both: it is atomic."""
    result: bool = True
    """Whether its first operand is what it writes, if that is a register."""
    answers: bool = False
    """Whether threads of a block may get different results of the same operands."""
    trace: bool = False
    """Whether others may see that it ran (ptx/rounds.py); of atomics the machine sees it."""
    waits_for: Literal["", "mask", "warp", "aligned", "warpgroup"] = ""
    """The lanes that wait for each other before it: those of the mask in its last operand, all of the warp (`aligned`:
    if it says so), all of four warps."""
    counted_as: str = ""
    """The field of `Counts` (observe/counters.py) that counts the warps which execute it."""
    shared_as: str = ""
    """... and its accesses to shared memory."""
    mma: Callable[[str], float] = lambda text: 0.0
    """From its text, how many m16n8k16 of 16 bits it is for the tensor cores."""
    work: float = 1.0
    """How many times the work of a plain instruction it takes here (work.py)."""
    work_f64: float = 4.0
    """The same in float64."""

    @property
    def atomic(self) -> bool:
        return self.reads and self.writes

    @property
    def loads(self) -> bool:
        """Whether it reads memory and does nothing else to it."""
        return self.reads and not self.writes


BYTES_OF_INPUT = {"tf32": 4, "s8": 1, "u8": 1, "e4m3": 1, "e5m2": 1}
"""Of mma; of all others 2."""


def mma_of(text: str) -> float:
    """On an H100 an m16n8k16 of 16 bits takes 6 cycles, a k8 4."""
    depth = re.search(r"\.m16n8k(\d+)\.", text)
    size = next((BYTES_OF_INPUT[m] for m in text.split(".") if m in BYTES_OF_INPUT), 2)
    return 1.0 if depth and int(depth[1]) * size >= 32 else 0.67


# fmt: off
FACTS = {
    # Memory, thread by thread
    "ld": Facts(reads=True, shared_as="shared_loads"),
    "ldu": Facts(reads=True),
    "st": Facts(writes=True, result=False, trace=True, shared_as="shared_stores"),
    "atom": Facts(reads=True, writes=True, answers=True),
    "red": Facts(reads=True, writes=True, result=False, trace=True),
    "st.async": Facts(result=False, trace=True),
    "red.async": Facts(result=False, trace=True),
    "cp": Facts(result=False, trace=True),
    "fence": Facts(result=False),
    "membar": Facts(result=False),
    "prefetch": Facts(result=False),
    "prefetchu": Facts(result=False),
    "discard": Facts(result=False, trace=True),
    "applypriority": Facts(result=False, trace=True),
    # Addresses and moves
    "mov": Facts(),
    "cvta": Facts(),
    "isspacep": Facts(),
    "mapa": Facts(),
    "tex": Facts(),
    "getctarank": Facts(),
    "createpolicy": Facts(),
    # Lanes of a warp
    "shfl": Facts(answers=True, waits_for="mask", work=8),
    "vote": Facts(answers=True, waits_for="mask"),
    "match": Facts(answers=True, waits_for="mask"),
    "redux": Facts(waits_for="mask"),
    "elect": Facts(answers=True, waits_for="mask"),
    "activemask": Facts(answers=True),
    # Tensor cores
    "fma": Facts(counted_as="fma", work_f64=24),
    "ldmatrix": Facts(trace=True, waits_for="warp", counted_as="ldmatrix", shared_as="shared_loads"),
    "stmatrix": Facts(result=False, trace=True, waits_for="warp", counted_as="stmatrix"),
    "mma": Facts(trace=True, waits_for="warp", counted_as="mma", mma=mma_of, work=40),
    "wgmma": Facts(trace=True, waits_for="warpgroup"),
    "tcgen05.alloc": Facts(result=False, trace=True, waits_for="warp"),
    "tcgen05.dealloc": Facts(result=False, trace=True, waits_for="warp"),
    "tcgen05.relinquish_alloc_permit": Facts(result=False, trace=True, waits_for="warp"),
    "tcgen05.mma": Facts(result=False, trace=True, work=40),
    "tcgen05.cp": Facts(result=False, trace=True, work=8),
    "tcgen05.commit": Facts(result=False, trace=True),
    "tcgen05.ld": Facts(trace=True, waits_for="warp", work=8),
    "tcgen05.st": Facts(result=False, trace=True, waits_for="warp", work=8),
    "tcgen05.wait::ld": Facts(result=False, trace=True, waits_for="warp"),
    "tcgen05.wait::st": Facts(result=False, trace=True, waits_for="warp"),
    "tcgen05.fence::before_thread_sync": Facts(result=False),
    "tcgen05.fence::after_thread_sync": Facts(result=False),
    "wmma.load": Facts(reads=True, trace=True, waits_for="warp", work=8),
    "wmma.store": Facts(writes=True, result=False, trace=True, waits_for="warp", work=8),
    "wmma.mma": Facts(trace=True, waits_for="warp", work=40),
    # Blocks that wait for their turn
    "clusterlaunchcontrol.try_cancel": Facts(result=False, trace=True),
    "clusterlaunchcontrol.query_cancel": Facts(),
    # Barriers
    "bar": Facts(result=False, trace=True, waits_for="warp", counted_as="barriers"),
    "barrier": Facts(result=False, trace=True, waits_for="aligned", counted_as="barriers"),
    "bar.warp": Facts(result=False),
    "mbarrier": Facts(trace=True),
    "setmaxnreg": Facts(result=False, trace=True, waits_for="warpgroup"),
    "griddepcontrol": Facts(result=False, trace=True),
    "nanosleep": Facts(result=False),
    # Where to go on
    "bra": Facts(result=False),
    "brx": Facts(result=False),
    "call": Facts(trace=True),
    "call.malloc": Facts(trace=True),
    "call.cuda_malloc": Facts(trace=True),
    "call.free": Facts(trace=True),
    "call.parameters": Facts(trace=True),
    "call.launch": Facts(trace=True),
    "call.stream": Facts(trace=True),
    "call.nothing": Facts(trace=True),
    "call.indirect": Facts(result=False),
    "ret": Facts(result=False, trace=True),
    "exit": Facts(result=False, trace=True),
    "trap": Facts(result=False, trace=True),
    "assertfail": Facts(result=False, trace=True),
}
# fmt: on
"""By root: an opcode's first word, or the two words that stand here."""

PURE = Facts()


def facts_of(root: str) -> Facts:
    return FACTS.get(root, PURE)


TWO_WORDS = tuple(f"{root}." for root in FACTS if "." in root)


def root_of(text: str) -> str:
    """The name under which an opcode's row stands: two words where others share the first."""
    two = next((words for words in TWO_WORDS if f"{text}.".startswith(words)), "")
    return two[:-1] or text.split(".", 1)[0]


NOT_SIMULATED = {
    "surfaces": ("istypep", "suld", "sust", "sured", "suq"),
    "mip maps, gathers and queries of textures": ("tex.level", "tex.grad", "tex.base", "tld4", "txq"),
    "tensor maps made or changed by a kernel": ("tensormap",),
    "shifts in tensor memory": ("tcgen05.shift",),
    "products with scales of blocks, sparse ones and those of one warp": ("tcgen05.mma.sp", "tcgen05.mma.ws"),
    "instructions for debuggers": ("brkpt", "pmevent"),
}
"""What a GPU has and the simulator has not, and how its instructions and special registers begin."""


@lru_cache(maxsize=1 << 14)
def not_simulated(name: str) -> str:
    """In words: why an instruction or a special register of this name is not simulated; "" if it may be."""
    known = (
        f"{what} cannot be simulated" for what, starts in NOT_SIMULATED.items() if name.startswith(starts)
    )
    return next(known, "")
