"""What an instruction costs on an SM, and where each number comes from.

C: measured by the small kernel of this name (`make calibrate`; rates/). M: measured in another way, on an H100.
P: published. A: assumed. Times are cycles of the SM.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from .operands import Decoded

NO_PIPE, FMA, HEAVY, ALU, TENSOR, SPECIAL, MEMORY = range(7)
PIPES = 7
"""The units of a sub-core. FMA: either of two that take 16 lanes a cycle; HEAVY: the one of these that multiplies
integers, too."""
(
    ARITHMETIC, VARIABLE, SHARED, LOAD, COPY, COMMIT, COPIES_WAIT, BARRIER, ARRIVE, STORE, BRANCH, EXIT,
    INIT, SIGNAL, AWAIT, BULK, PRODUCT, PRODUCTS_WAIT, BULK_STORE, MEET,
) = range(20)  # fmt: skip
"""What happens to an instruction behind its issue. VARIABLE: a scoreboard is cleared after a fixed time. INIT, SIGNAL,
AWAIT: of an mbarrier; BULK: a bulk copy; PRODUCT: wgmma; BULK_STORE: of the copy engine, waited for as copies are.
MEET: wgmma.fence, behind which the four warps of a warpgroup begin together."""

CONSTANT_LATENCY = 35.0  # LDC. A
REGISTER_LATENCY = 20.0  # S2R, S2UR, R2UR. A
PENDING = 0.5
"""Wavefronts more of L1, for a load that finds its line on its way. M: at most so much; where all warps load lines that
are new, a load takes 1.4 to 1.5 cycles of an SM (tests/golden/record_waits.py), here 1.7, and 2.1 with a whole one. A:
that it is not less, with `naive` in view; none for the load that missed (C: LDG.128 in L2, 32 warps: 121 bytes a
cycle)."""
SECTORS = 4  # of a line
COPY_INTERVAL = 6.0  # of a sub-core's way to memory. M: cp.async of one warp (tests/golden/clock_h100.json)
PRODUCT_EVERY = 28.0  # from a warp's HGMMA to its next one. M: tests/golden/record_waits.py
PRODUCTS_AHEAD = 6
"""HGMMA that wait for the tensor cores of the first sub-core, where each warpgroup has its first warp: with so many,
the next one is held back. The other sub-cores' go on. M: tests/golden/record_waits.py"""
PRODUCT_LATENCY = 32.0  # behind the tensor cores' time, until it can be waited for. A
BULK_LATENCY = (
    350.0  # from UTMALDG to its last byte, where nobody else asks. A: as a copy, and 50 to read its map
)
BULK_SHARE = 0.88  # of the time that a load's bytes take on the way from L2. A: lesson 07's ring moves 39 bytes a cycle
MBARRIER_LATENCY = 45.0
"""From a phase's end to who waits for it. M: from one warp to another and back are 166 cycles (record_waits.py)."""
AWAIT_LATENCY = 31.0
"""Of a wait for a phase that has ended. M: such waits in a row take 41 each, with their branches (record_waits.py)."""
OTHER_SM = 180.0  # more, where another block of the cluster arrives. P: from SM to SM (arXiv:2402.13499)
PART = 1.8
"""Of a sector's time, one that is written in part, which L2 reads first. M: half sectors take 3.6 times as long as
whole ones, byte for byte (tests/golden/record_traffic.py)."""
STORE_BUFFER = 2048  # bytes on their way to L2 that do not hold a warp back. A
QUEUE = 12  # instructions of a sub-core in line for memory, with the one that goes. A: research/clock.md
AGE = 160.0
"""Cycles by which warps of a younger block come later when it is asked who waited longest. M: the two blocks on an SM
of lesson 01's mainloop share it 62 to 38 (assets' record of waves); 50 to 50 with 64 and 128, 58 to 42 with 160 and
256, 63 to 37 with 512, but from 192 on lesson 02's one_buffer is 10 % too fast, and the order there is wrong. Fair
turns within a block: HMMA and LDSM with 8 to 32 warps (C)."""
MOST_LATE = 64.0
"""Cycles by which what is loaded from shared memory waits at most for cycles in which no arithmetic is issued: it takes
one of them for each register, because results of arithmetic, which take a fixed time, go first (P: Huerta et al.).
A: that nothing is written beside them, and this number (research/clock.md).
M: tests/golden/loads_beside_math_h100.json."""
WIDE_ISSUE = 3
"""Cycles for which a sub-core issues nothing else where it issues an IMAD.WIDE; the warp's own stall begins behind
them. M: beside NOPs (research/clock.md); C: IMAD.WIDE of one warp, FFMA with IMAD.WIDE."""
READ_WINDOW = 2  # cycles in which an instruction reads its registers. M: FFMA with LOP3; Huerta et al.: 3


@dataclass(frozen=True)
class Costs:
    """The numbers marked C, which a GPU's small kernels give: measured.py says how. Here they are an H100's.

    `origin`: where those of another GPU come from, in words.
    """

    fma_interval: float = 2.0  # of each half of a sub-core's FMA units
    fma_halves: float = 2  # 1 where all FMA units multiply integers, too
    wide_interval: float = 4.0  # of the half that multiplies integers, where the result has 64 bits
    alu_interval: float = 2.0
    tensor_interval: float = 6.15  # of an m16n8k16
    special_interval: float = 8.0
    special_latency: float = 17.0
    shuffle_interval: float = 4.0
    shuffle_latency: float = 26.0
    taken: float = 10.0  # from a taken branch to what comes next
    least_memory: float = 4.0  # of a sub-core's way to memory, for an instruction
    wavefront: float = 2.0  # of that way, for a wavefront
    stored_values: float = 3.0  # more, for a store of several registers
    shared_latency: float = 21.2  # behind the last wavefront
    l1_latency: float = 31.2  # as shared memory's
    l2_latency: float = 288.0
    copy_latency: float = 300.0
    copied: float = 0.85  # of L1's tags for a line of a copy that bypasses L1
    copy_through_l1: float = 1.45  # more of L1's tags, for a copy that does not bypass L1
    product_interval: float = 0.5  # of a sub-core's tensor cores, for a column of wgmma
    barrier_arrival: float = 2.0
    barrier_latency: float = 9.5  # behind the last arrival
    l2_bytes: float = 35.4  # bytes a cycle that an SM gets from L2 while all of them ask
    l2_alone: float = (
        55.0  # and where few do. M: cp.async of 16 SMs of an H100 (tests/golden/clock_h100.json)
    )
    store_bytes: float = 20.0  # bytes a cycle that L2 takes from an SM while all of them store
    clock_mhz: int = 1980  # the SM's highest clock, at which all this was measured
    origin: str = ""


OF_AN_H100 = Costs()


class Op(NamedTuple):
    """One instruction of one warp, as an SM takes it.

    `hits` and `misses`: reads of the even and of the odd register bank where the sub-core's last instruction of this
    pipe was the same warp's, and where it was not. `sets`: the scoreboard that its result clears, `read`: the one that
    is cleared when its operands have been read (-1: none). `interval`: cycles of its pipe; `latency`: until the result
    is there. `amount`: wavefronts, or of COPIES_WAIT the groups that may be on their way. `sectors` of global memory,
    `past_l1` or not. `barrier`: which one, and for how many warps (0: all); of INIT, SIGNAL and AWAIT the mbarrier's
    address, and arrivals or the parity, with bytes as the `amount`; of BULK the `interval` is the part of the bytes for
    which this SM asks L2. PRODUCT, which waits in a queue of the tensor cores: the `amount` is 1 where a group ends.
    `writes`: registers of a lane that get what comes from shared memory. `issue`: cycles for which its sub-core issues
    nothing else. `pair`: it adds a pair of registers, which it cannot read in the cycle behind a load's issue (M:
    beside NOPs, research/clock.md; C: LDG with IMAD.WIDE).
    """

    at: int
    pipe: int
    kind: int
    stall: int
    yields: bool
    waits: tuple[int, ...]
    sets: int
    read: int
    hits: tuple[int, int]
    misses: tuple[int, int]
    interval: float = 1.0
    latency: float = 0.0
    amount: float = 0.0
    sectors: tuple[int, ...] = ()
    barrier: tuple[int, int] = (0, 0)
    past_l1: bool = False
    writes: int = 0
    issue: int = 1
    pair: bool = False


@dataclass(frozen=True)
class Access:
    """What the walk found of an instruction: wavefronts in shared memory or L1, and the sectors of global memory, which
    are numbered, and its lines; or which barrier, and for how many warps (0: all), as in `Op`; bytes that an mbarrier
    expects or a bulk copy brings, or that are stored in shared memory; of a store the sectors that it writes in part,
    of arrivals those at another block's mbarrier."""

    wavefronts: int = 0
    sectors: tuple[int, ...] = ()
    barrier: tuple[int, int] = (0, 0)
    size: int = 0
    parts: int = 0

    @property
    def lines(self) -> int:
        """Of 128 bytes."""
        return len({sector // SECTORS for sector in self.sectors})


UNIFORM_ALU = frozenset(
    ["UMOV", "UIADD3", "USHF", "ULEA", "ULOP3", "UISETP", "USEL", "UIMAD", "ULDC", "UPLOP3", "VOTEU", "UP2UR"]
)
WHOLE_FMA = frozenset(["FFMA", "FMUL", "FADD", "FFMA2"])
FIXED_HEAVY = frozenset(["IMAD", "HFMA2", "HADD2", "HMUL2"])
VARIABLES = {
    **dict.fromkeys(("MUFU", "F2I", "I2F", "POPC"), SPECIAL),
    "SHFL": MEMORY,
    **dict.fromkeys(("LDC", "ULDC", "S2R", "S2UR", "R2UR"), NO_PIPE),
}
"""The pipes of instructions that take a fixed time and clear a scoreboard."""
LOADS_SHARED = frozenset(["LDS", "LDSM", "ATOMS"])
STORES_SHARED = frozenset(["STS", "STSM"])
LOADS_GLOBAL = frozenset(["LDG", "LDL", "LD", "ATOMG"])
STORES_GLOBAL = frozenset(["STG", "STL", "ST", "RED"])
CONTROLS = frozenset(
    [
        "NOP",
        "BSSY",
        "BSYNC",
        "WARPSYNC",
        "YIELD",
        "DEPBAR",
        "LDGDEPBAR",
        "ERRBAR",
        "MEMBAR",
        "CCTL",
        "FENCE",
        "BRA",
        "CALL",
        "EXIT",
        "BAR",
        "CGAERRBAR",
        "UCGABAR_ARV",
        "UCGABAR_WAIT",
        "UTMACMDFLUSH",
    ]
)
ON_MEMORY = LOADS_SHARED | STORES_SHARED | LOADS_GLOBAL | STORES_GLOBAL | {"LDGSTS"}


def op_of(
    decoded: Decoded,
    before: Decoded | None,
    access: Access | None,
    executes: bool,
    taken: bool,
    costs: Costs = OF_AN_H100,
) -> Op:
    """`before`: the warp's last instruction of the same pipe. `executes`: whether any lane does."""
    control = decoded.control
    hits, misses = _banks(decoded, before)
    op = Op(
        at=decoded.instruction.address,
        pipe=NO_PIPE,
        kind=ARITHMETIC,
        stall=max(control.stall, 1),
        yields=control.yields,
        waits=control.waits,
        sets=-1 if control.writes is None else control.writes,
        read=-1 if control.reads is None else control.reads,
        hits=hits,
        misses=misses,
    )
    if not executes:
        return op
    name = decoded.name
    if name in ON_MEMORY and access is not None:
        return _on_memory(op, decoded, access, costs)
    if name in ON_HOPPER:
        return _of_hopper(op, decoded, access, costs)
    if name in CONTROLS:
        return _of_control(op, decoded, access, taken)
    if name in VARIABLES and (control.writes is not None or name == "SHFL"):
        return _variable(op, name, costs)
    if name in UNIFORM_ALU:
        return op
    pipe = pipe_of(decoded)
    half = (
        "1688" in decoded.modifiers and "TF32" not in decoded.modifiers
    )  # P: half the products in half the time
    fma, tensor = costs.fma_interval, costs.tensor_interval / (1 + half)
    intervals = {FMA: fma, HEAVY: fma, TENSOR: tensor}
    if pipe == HEAVY and "WIDE" in decoded.modifiers:
        pair = any(count == 2 for _, _, count, _ in decoded.reads)
        return op._replace(pipe=pipe, interval=costs.wide_interval, issue=WIDE_ISSUE, pair=pair)
    return op._replace(pipe=pipe, interval=intervals.get(pipe, costs.alu_interval))


def _variable(op: Op, name: str, costs: Costs) -> Op:
    pipe = VARIABLES[name]
    if pipe == NO_PIPE:
        latency = CONSTANT_LATENCY if name in ("LDC", "ULDC") else REGISTER_LATENCY
        return op._replace(kind=VARIABLE, latency=latency)
    if pipe == SPECIAL:
        interval, latency = costs.special_interval, costs.special_latency
    else:
        interval, latency = costs.shuffle_interval, costs.shuffle_latency
    return op._replace(
        pipe=pipe, kind=VARIABLE, interval=interval, latency=latency, amount=float(pipe == MEMORY)
    )


def _on_memory(op: Op, decoded: Decoded, access: Access, costs: Costs) -> Op:
    name, wavefronts = decoded.name, access.wavefronts
    if name == "LDGSTS":
        bypass = "BYPASS" in decoded.modifiers
        lookup = costs.copied * access.lines if bypass else wavefronts + costs.copy_through_l1
        return op._replace(
            pipe=MEMORY,
            kind=COPY,
            interval=COPY_INTERVAL,
            latency=lookup,
            amount=wavefronts,
            sectors=access.sectors,
        )
    kind = SHARED if name in LOADS_SHARED | STORES_SHARED else LOAD if name in LOADS_GLOBAL else STORE
    interval = max(costs.least_memory, costs.wavefront * wavefronts)
    interval += costs.stored_values * (name in STORES_SHARED and decoded.width > 1)
    latency = costs.wavefront * wavefronts + costs.shared_latency
    if kind == STORE:
        latency = len(access.sectors) + (PART - 1) * access.parts
    op = op._replace(past_l1={"STRONG", "GPU"} <= decoded.modifiers)
    return op._replace(
        pipe=MEMORY,
        kind=kind,
        interval=interval,
        latency=latency,
        amount=wavefronts,
        sectors=access.sectors,
        writes=decoded.width if name in LOADS_SHARED else 0,
    )


def _of_control(op: Op, decoded: Decoded, access: Access | None, taken: bool) -> Op:
    name = decoded.name
    if name == "EXIT":
        return op._replace(kind=EXIT)
    if name == "BAR":
        kind = ARRIVE if "ARV" in decoded.modifiers else BARRIER
        return op._replace(kind=kind, barrier=access.barrier if access else (0, 0))
    if name == "UCGABAR_WAIT":  # the other blocks of the cluster come when this one does
        return op._replace(kind=BARRIER, barrier=access.barrier if access else (0, 0))
    if name in ("LDGDEPBAR", "UTMACMDFLUSH"):
        return op._replace(kind=COMMIT)
    if name == "DEPBAR":
        groups = next((one.number for one in decoded.operands if one.kind == "imm"), 0)
        return op._replace(kind=COPIES_WAIT, amount=groups)
    return op._replace(kind=BRANCH) if taken else op


ON_HOPPER = frozenset(["HGMMA", "SYNCS", "UTMALDG", "UTMASTG", "WARPGROUP", "ELECT", "USETMAXREG"])


def _of_hopper(op: Op, decoded: Decoded, access: Access | None, costs: Costs) -> Op:
    name, modifiers = decoded.name, decoded.modifiers
    if name == "HGMMA":
        columns = int(next(each for each in modifiers if each.count("x") == 2).split("x")[1])
        ends = any(one.name == "gsb0" for one in decoded.operands)
        return op._replace(kind=PRODUCT, interval=costs.product_interval * columns, amount=float(ends))
    if name == "WARPGROUP" and "ARRIVE" in modifiers:
        return op._replace(kind=MEET)
    if name == "WARPGROUP" and "DEPBAR" in modifiers:
        groups = next((one.number for one in decoded.operands if one.kind == "imm"), 0)
        return op._replace(kind=PRODUCTS_WAIT, amount=groups)
    if access is None or name not in ("SYNCS", "UTMALDG", "UTMASTG"):
        return op
    if name == "UTMASTG":
        return op._replace(kind=BULK_STORE, amount=access.size)
    if name == "UTMALDG":
        part = 1 / max(access.barrier[1], 1)
        return op._replace(kind=BULK, barrier=access.barrier, amount=access.size, interval=part)
    kind = INIT if "EXCH" in modifiers else SIGNAL if "ARRIVE" in modifiers else AWAIT
    late = OTHER_SM if access.parts else 0.0
    return op._replace(kind=kind, barrier=access.barrier, amount=access.size, latency=late)


def pipe_of(decoded: Decoded) -> int:
    """Its pipe, as far as `.reuse` is concerned."""
    name = decoded.name
    if name in WHOLE_FMA:
        return FMA
    if name in FIXED_HEAVY:
        return HEAVY
    if name == "HMMA":
        return TENSOR
    if name in UNIFORM_ALU or name in CONTROLS or name in ON_HOPPER:
        return NO_PIPE
    if name in ON_MEMORY or name in VARIABLES:
        return MEMORY
    return ALU


@lru_cache(maxsize=1 << 15)
def _banks(decoded: Decoded, before: Decoded | None) -> tuple[tuple[int, int], tuple[int, int]]:
    kept = {(place, number) for place, number, _, reuse in before.reads if reuse} if before else set()
    return (_counted(decoded.reads, kept), _counted(decoded.reads, set()))


def _counted(reads: Iterable[tuple[int, int, int, bool]], kept: set[tuple[int, int]]) -> tuple[int, int]:
    """Reads of the bank of even and of odd registers; a register that two operands name is read once."""
    banks = [0, 0]
    for number in {
        first + more
        for place, first, count, _ in reads
        if (place, first) not in kept
        for more in range(count)
    }:
        banks[number % 2] += 1
    return banks[0], banks[1]
