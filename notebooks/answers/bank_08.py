"""More exercises for lesson 08."""

from cupy_or_sim.simulate import compiled
from ptxsim.gpus import H100, REGISTERS

from .bank_07 import HOPPER_HINTS, demand_right
from .common import demand, demand_kernel, fail, results_of, whole_number

# --------------------------------------------------------------------------- 08.11: what fits


def _fits(tile_m: int, tile_n: int, kept: int, consumers: int, producer: int) -> tuple[int, int, int]:
    """Slots, bytes and registers, as the exercise counts them."""
    slot = (tile_m + tile_n) * 64 * 2 + 2 * 8
    slots, threads = (H100.shared_block - kept) // slot, 128 * (1 + consumers)
    granted = REGISTERS // threads // 8 * 8 * threads  # at the launch; setmaxnreg shares out no more
    return slots, slots * slot + kept, (granted - 128 * producer) // (128 * consumers) // 8 * 8


PLANS = (
    (128, 256, 0, 2, 40),
    (128, 256, 32_768, 2, 24),
    (128, 128, 0, 2, 56),
    (192, 256, 0, 3, 40),
    (192, 256, 0, 3, 32),
    (128, 256, 0, 2, 32),  # 65,536 would give a consumer 240, and the block has 64,512
    (128, 256, 35_840, 2, 40),  # four slots fit without their barriers
)


def _budget(answer: object) -> None:
    """The most slots, their bytes, the registers of a consumer's thread."""
    for case, plan in zip(PLANS, results_of(answer, "budget", PLANS)):
        call = f"budget{case}"
        if not isinstance(plan, (tuple, list)) or len(plan) != 3:
            fail(f"{call} is {plan!r:.40}: not three numbers.", "no-three-numbers")
        names = (f"{name} of {call}" for name in ("the slots", "shared_mem", "the registers"))
        mine = [whole_number(value, name) for value, name in zip(plan, names)]
        slots, shared_mem, registers = _fits(*case)
        unbarred = shared_mem - 16 * slots
        demand(mine[0] >= slots, f"{call}: {mine[0]} slots; one more fits.", "too-few-slots")
        if mine[0] > slots:
            fail(f"{call}: {mine[0]} slots need more than {H100.shared_block:,} bytes.", "too-many-slots")
        if mine[1] == unbarred:
            fail(f"{call}: {mine[1]:,} bytes hold the slots and no barriers.", "no-barriers")
        if mine[1] != shared_mem:
            fail(f"{call}: {mine[1]:,} bytes of shared memory for {slots} slots.", "other-bytes")
        if mine[2] % 8 != 0:
            fail(f"{call}: {mine[2]} registers, which is no multiple of 8.", "no-multiple-of-8")
        granted = mine[2] * 128 * case[3] + 128 * case[4] <= REGISTERS
        if mine[2] > registers and granted:
            fail(f"{call}: {mine[2]} registers, more than the launch gave.", "more-than-given")
        if mine[2] > registers:
            fail(f"{call}: {mine[2]} registers, more than there are.", "too-many-registers")
        if mine[2] != registers:
            fail(f"{call}: {mine[2]} registers, and 8 more would fit.", "too-few-registers")


# --------------------------------------------------------------------------- 08.12: a tall tile


def _tall(answer: object) -> None:
    """Right with tiles of 256 x 128."""
    demand_kernel(answer)
    for blocks_m, blocks_n, k_tiles in (1, 2, 2), (2, 1, 1):
        demand_right(answer, (256 * blocks_m, 128 * blocks_n, 64 * k_tiles), (blocks_m, blocks_n), 3)


# --------------------------------------------------------------------------- 08.13: A for both blocks


def _shared_a(answer: object) -> None:
    """Right, and its copies go to both blocks of the cluster."""
    demand_kernel(answer)
    for k_tiles in 3, 1:
        demand_right(answer, (128, 512, 64 * k_tiles), (2, 1), 2)
    if ".multicast::cluster" not in compiled(answer).ptx:
        fail("right, but each block loads all of A for itself alone.", "not-shared")


EXERCISES = {
    "08.11": (_budget, {
        "gap|stops": "slots first: bytes of one slot, then how many of them fit.",
        "no-function": "pass budget, without brackets.",
        "no-whole-number": "whole numbers: // divides and rounds down.",
        "no-three-numbers": "return slots, shared_mem, registers.",
        "too-few-slots": f"the limit is {H100.shared_block:,} bytes, less what is kept; a slot has tile_m + tile_n "
        "rows of 64 halves, and 16 bytes of barriers.",
        "too-many-slots": f"the limit is {H100.shared_block:,} bytes for all: slots, their barriers (16 bytes each "
        "slot), and what is kept.",
        "no-barriers": "each slot has a full and an empty barrier of 8 bytes.",
        "other-bytes": "the slots with their barriers, and what is kept; not the rest of the limit.",
        "no-multiple-of-8": "setmaxnreg takes multiples of 8: round down.",
        "more-than-given": f"setmaxnreg shares out what all threads got at the launch: {REGISTERS:,} divided by "
        "the threads of the block, rounded down to a multiple of 8, for each. Who asks for more waits for ever.",
        "too-many-registers": "the producer's 128 threads keep theirs; the rest is shared by 128 threads of each "
        "consumer.",
        "too-few-registers": "what the producer's 128 threads leave of what the launch gave is shared by 128 threads "
        "of each consumer. Rounded down twice: what each thread gets at the launch, and the result.",
        "": "bytes of one slot, slots that fit, registers that are left."}),
    "08.12": (_tall, {
        **HOPPER_HINTS,
        "deadlock|mbarrier": "the ring was right: sizeof(Slot) bytes, and an arrival of each of two warpgroups.",
        "write-after-read|unwaited-wgmma": "the ring was right, and needs no change.",
        "unwaited-copy|uninitialised-read|beyond-shared-memory": "rows are read that are not in this slot: each "
        "warpgroup takes 64 rows of the first operand, and 256 of the second. Which matrix has 256 rows now?",
        "wrong-from-column-64": "columns 64 to 127 belong to the second warpgroup. Which rows of B does it take, "
        "and where do they begin, in halves? And which rows of A?",
        "block-conflict|write-beyond-array": "a block writes beyond its 256 x 128 of C. How far apart are two rows of "
        "C? Are TM and TN those of the new "
        "tile? Is the thread counted in its warpgroup, from 0 to 127? Then: the row of C comes from the column of the "
        "sums, its column from the row of the sums and from the warpgroup.",
        "write-after-write": "two threads write one element of C: its row comes from the column of the sums, its "
        "column from the row of the sums and from the warpgroup.",
        "wrong-numbers": "the tensor cores make 64 rows of the first operand by all 256 of the second. Thread t "
        "holds in d[4 j + 2 h + i] row 16 (t / 32) + t % 32 / 4 + 8 h and column 8 j + 2 (t % 4) + i of that product. "
        "Which of the two is a row of C now?",
        "": "exchange the two operands: B's 64 rows first, A's 256 second. Then C comes out turned."}),
    "08.13": (_shared_a, {
        **HOPPER_HINTS,
        "unwaited-copy|write-after-write": "the bytes of a phase do not fit those that land: each barrier expects all "
        "of A and B of its own block, whoever sends them, and each row must be sent once.",
        "write-after-read": "a copy overwrites a slot of the other block, whose consumers still read it. Whose "
        "arrivals must the producer wait for now, and how many are they?",
        "deadlock": "somebody waits for arrivals or bytes that never come. Each empty barrier is told by "
        "the consumers of both blocks, and each full barrier counts the bytes of a whole slot.",
        "mbarrier": "more arrivals come than a phase needs: two blocks have two consumers each.",
        "out-of-bounds": "rows of A that are not in the tile, or a block that is not in the cluster of two.",
        "uninitialised-read": "a part of A never comes: each of the two blocks loads its half for both.",
        "wrong-numbers": "both blocks have the same rows of A, and each its own columns of C, from its own rows "
        "of B. Which matrix is the same in both?",
        "not-shared": "load_rows_shared<2> in place of load_rows: one copy for both, from each block a half.",
        "": "A comes from both blocks, so a slot is free when the consumers of both have read it."}),
}  # fmt: skip
