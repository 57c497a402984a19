"""What an instruction costs on an SM, and where each number comes from.

C: measured by the small kernel of this name (`make calibrate`; rates/). M: measured in another way, on an H100.
P: published. A: assumed. Times are cycles of the SM.
"""

from dataclasses import dataclass

NO_PIPE, FMA, HEAVY, ALU, TENSOR, SPECIAL, MEMORY = range(7)
PIPES = 7
"""The units of a sub-core. FMA: either of two that take 16 lanes a cycle; HEAVY: the one of these that multiplies
integers, too."""

CONSTANT_LATENCY = 35.0  # LDC. A
REGISTER_LATENCY = 20.0  # S2R, S2UR, R2UR. A
PENDING = 0.5
"""Wavefronts more of L1, for a load that finds its line on its way. M: at most so much; where all warps load lines that
are new, a load takes 1.4 to 1.5 cycles of an SM (research/record_waits.py), here 1.7, and 2.1 with a whole one. A:
that it is not less, with `naive` in view; none for the load that missed (C: LDG.128 in L2, 32 warps: 121 bytes a
cycle)."""
SECTORS = 4  # of a line
COPY_INTERVAL = 6.0  # of a sub-core's way to memory. M: cp.async of one warp (tests/golden/clock_h100.json)
PRODUCT_EVERY = 28.0  # from a warp's HGMMA to its next one. M: research/record_waits.py
PRODUCTS_AHEAD = 6
"""HGMMA that wait for the tensor cores of the first sub-core, where each warpgroup has its first warp: with so many,
the next one is held back. The other sub-cores' go on, and are served in the first one's order. M:
research/record_waits.py; two warpgroups that begin at once and one after the other (research/clock.md)"""
PRODUCT_LATENCY = 32.0  # behind the tensor cores' time, until it can be waited for. A
HOLDS_PRODUCTS = 1.0
"""Cycles by which an FFMA, FMUL or FADD holds up its sub-core's wgmma, and its warp's next instruction. M: beside a
warp of FMULs eight m64n128k16 take 1,008 cycles and not 512, an FMUL 1.97 and not 1.27; beside two warps wgmma get what
is left (tests/golden/arithmetic_beside_wgmma_h200.json). Other pipes do not hold them up (M: FMNMX, MUFU); IMAD do, by
0.3 in one warp and by 1 in two, which is left out."""
BESIDE_PRODUCTS = 2.5
"""For which an instruction of these other pipes keeps its pipe longer while its sub-core has wgmma. M: FMNMX 2.3, MUFU
2.9 (the same file)."""
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
whole ones, byte for byte (research/record_traffic.py)."""
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
BLOCK_START = 500.0
"""From a block's end to the begin of the next one in its place. M: blocks of one SM, assets' records of waves"""
START_EVERY = 158.0
"""From one block's begin to the next one's on the same SM, at least. M: blocks that do nothing, of 32 to 256 threads
(tests/golden/dram_nvidia-h200.json)."""
FIRST_WARP, NEXT_WARP = 230.0, 20.0
"""From the end of a short block to its successor's first warp, and from warp to warp. M: copies with one block on an SM
take 1,043 cycles and 21 for each warp ("few" of the same file)."""
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
