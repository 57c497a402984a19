"""More exercises for lesson 07."""

from __future__ import annotations

import numpy as np

from ptxsim import Report
from ptxsim.gpus import H100, REGISTERS

from ...check.gemm import Gemm
from ...gpu.simulate import compiled, simulate
from .common import demand, demand_kernel, demand_no_hazard, results_of, whole_number

MOST_STEPS = 500_000
SLOT = (128 + 256) * 64 * 2
"""Bytes of a slot: a k-tile of A and of B, of 64 halves a row."""
BARRIERS = 64
"""Bytes behind the slots, for at most eight barriers."""


def _launched(
    kernel, shape: tuple[int, int, int], grid: tuple[int, int], slots: int
) -> tuple[np.ndarray, Report]:
    """Which elements of C are wrong, and the report of this launch of 384 threads."""
    gemm, random = Gemm(*shape, "float16"), np.random.default_rng(0)
    A, B = (random.integers(-4, 5, (size, gemm.K)).astype(np.float16) for size in (gemm.M, gemm.N))
    args = gemm.arguments(A, B)
    report = simulate(kernel, grid, (384,), gemm.passed(kernel, args), slots * SLOT + BARRIERS, MOST_STEPS)
    return args[2] != (A.astype("f4") @ B.astype("f4").T).astype(np.float16), report


def _demand_right(kernel, shape: tuple[int, int, int], grid: tuple[int, int], slots: int) -> None:
    """No hazard, and the exact product."""
    wrong, report = _launched(kernel, shape, grid, slots)
    demand_no_hazard(report)
    rows, columns = (np.flatnonzero(wrong.any(axis=axis)) for axis in (1, 0))
    if wrong.any():
        place = f"rows {rows[0]} to {rows[-1]}, columns {columns[0]} to {columns[-1]}"
        demand(
            False,
            f"no hazard, but the product is wrong in {place}, M={shape[0]}, N={shape[1]}, K={shape[2]}.",
            *(("wrong-from-row-64",) if rows[0] == 64 else ()),
            "wrong-numbers",
        )


# --------------------------------------------------------------------------- 07.11: phases of a ring

SLOTS, K_TILES = 3, 8
FORM = "(kernel, my_bytes, my_arrivals, my_full, my_empty)"


def _parities(values: object, name: str) -> list[int]:
    """Of each k-tile, as a list or as a text of digits."""
    fits = isinstance(values, (list, tuple, str, np.ndarray)) and len(values) == K_TILES
    digits = [str(value) for value in values] if fits else []
    demand(
        fits and set(digits) <= {"0", "1"},
        f"{name} is a list of eight parities, 0 or 1 for each k-tile, and not {values!r:.60}.",
        "no-parities",
    )
    return [int(digit) for digit in digits]


def _phases(answer: object) -> None:
    """Bytes, arrivals and parities with which the kernel is right; the simulator says what others do to it."""
    demand(
        isinstance(answer, tuple) and len(answer) == 5,
        f"the answer is {FORM}, and not {answer!r:.60}.",
        "wrong-form",
    )
    kernel, *given = answer
    demand_kernel(kernel)
    mine = [whole_number(value, name) for value, name in zip(given, ("my_bytes", "my_arrivals"))]
    lists = [_parities(value, name) for value, name in zip(given[2:], ("my_full", "my_empty"))]
    masks = [sum(parity << k_tile for k_tile, parity in enumerate(parities)) for parities in lists]
    names = "BYTES", "ARRIVALS", "FULL_PARITIES", "EMPTY_PARITIES"
    options = [f"-D{name}={value}" for name, value in zip(names, [*mine, *masks])]
    filled = type(kernel)(kernel.code, kernel.name, options=(*kernel.options, *options))
    wrong, report = _launched(filled, (128, 256, 64 * K_TILES), (1, 1), SLOTS)
    found = f"the simulator finds {report.brief()}." if not report.ok else "the product is wrong."
    for name, number, right in zip(("my_bytes", "my_arrivals"), mine, (SLOT, 2)):
        side = "few" if number < right else "many"
        demand(number == right, f"{name} = {number} is too {side}: {found}", f"{name}-too-{side}")
    turns = [k_tile // SLOTS for k_tile in range(K_TILES)]
    for name, parities, first in (("my_full", lists[0], 0), ("my_empty", lists[1], 1)):
        off = [k for k, turn in enumerate(turns) if parities[k] != (turn + first) % 2]
        demand(not off, f"{name} is wrong for k-tile {', '.join(map(str, off))}: {found}", name)
    demand(report.ok and not wrong.any(), f"{found[:-1]}: take the kernel of the exercise as it is.")


# --------------------------------------------------------------------------- 07.12: what fits


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
        demand(
            isinstance(plan, (tuple, list)) and len(plan) == 3,
            f"{call} is {plan!r:.40}: not three numbers.",
            "no-three-numbers",
        )
        names = (f"{name} of {call}" for name in ("the slots", "shared_mem", "the registers"))
        mine = [whole_number(value, name) for value, name in zip(plan, names)]
        slots, shared_mem, registers = _fits(*case)
        unbarred = shared_mem - 16 * slots
        demand(mine[0] >= slots, f"{call}: {mine[0]} slots; one more fits.", "too-few-slots")
        demand(
            mine[0] <= slots,
            f"{call}: {mine[0]} slots need more than {H100.shared_block:,} bytes.",
            "too-many-slots",
        )
        demand(
            mine[1] != unbarred, f"{call}: {mine[1]:,} bytes hold the slots and no barriers.", "no-barriers"
        )
        demand(
            mine[1] == shared_mem,
            f"{call}: {mine[1]:,} bytes of shared memory for {slots} slots.",
            "other-bytes",
        )
        demand(
            mine[2] % 8 == 0, f"{call}: {mine[2]} registers, which is no multiple of 8.", "no-multiple-of-8"
        )
        granted = mine[2] * 128 * case[3] + 128 * case[4] <= REGISTERS
        demand(
            mine[2] <= registers or not granted,
            f"{call}: {mine[2]} registers, more than the launch gave.",
            "more-than-given",
        )
        demand(
            mine[2] <= registers, f"{call}: {mine[2]} registers, more than there are.", "too-many-registers"
        )
        demand(
            mine[2] == registers, f"{call}: {mine[2]} registers, and 8 more would fit.", "too-few-registers"
        )


# --------------------------------------------------------------------------- 07.13: two mistakes


def _ring(answer: object) -> None:
    """A right ring: for more k-tiles than two turns of it, and for one."""
    demand_kernel(answer)
    for k_tiles in 10, 1:
        _demand_right(answer, (128, 256, 64 * k_tiles), (1, 1), 4)


# --------------------------------------------------------------------------- 07.14: a tall tile


def _tall(answer: object) -> None:
    """Right with tiles of 256 x 128."""
    demand_kernel(answer)
    for blocks_m, blocks_n, k_tiles in (1, 2, 2), (2, 1, 1):
        _demand_right(answer, (256 * blocks_m, 128 * blocks_n, 64 * k_tiles), (blocks_m, blocks_n), 3)


# --------------------------------------------------------------------------- 07.15: A for both blocks


def _shared_a(answer: object) -> None:
    """Right, and its copies go to both blocks of the cluster."""
    demand_kernel(answer)
    for k_tiles in 3, 1:
        _demand_right(answer, (128, 512, 64 * k_tiles), (2, 1), 2)
    demand(
        ".multicast::cluster" in compiled(answer).ptx,
        "right, but each block loads all of A for itself alone.",
        "not-shared",
    )


_HOPPER = {
    "misaligned": "a box and a slot begin at a multiple of 1024 bytes: is a struct or an address changed?",
    "exited-block": "the cluster_sync() at the end was right: put it back.",
    "barrier-divergence": "no thread of the others comes to a barrier inside the if: use mbarriers.",
}

EXERCISES = {
    "07.11": (_phases, {
        "wrong-form|no-kernel": "leave the kernel as it is, and write two numbers and two lists.",
        "no-whole-number": "a number of bytes, and a number of arrivals.",
        "no-parities": "one parity for each of eight k-tiles, such as [0, 1, 0, 1, 0, 1, 0, 1].",
        "my_bytes-too-few": "the phase ends before both matrices have landed, and the rest is counted in the next "
        "one: TM rows of A and TN of B, of TK halves, 2 bytes each.",
        "my_bytes-too-many": "the phase waits for bytes that nobody sends: TM rows of A and TN of B, of TK halves, "
        "2 bytes each.",
        "my_arrivals-too-few": "each phase must need every arrival of one turn. How many threads call "
        "mbarrier_arrive for one k-tile?",
        "my_arrivals-too-many": "the phase waits for arrivals that never come. How many threads call "
        "mbarrier_arrive for one k-tile?",
        "my_full": "k-tile t is number t / SLOTS in its slot, and phases are counted from 0. The consumer waits for "
        "the end of the phase with that number.",
        "my_empty": "in turn 0 every slot is free: the phase before the first, parity 1, has always ended. In turn 1 "
        "the producer waits for the phase that the consumers end in turn 0.",
        "": "put the cell back as it was, and write your numbers."}),
    "07.12": (_budget, {
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
    "07.13": (_ring, {
        **_HOPPER,
        "write-after-read": "the producer overwrites a slot too early. A phase of `empty` ends after as many arrivals "
        "as it was initialised for: how many come for one k-tile, and does each stand after a wait for the math?",
        "mbarrier": "more arrivals come than a phase needs: how many threads arrive for one k-tile, and what was the "
        "barrier initialised for?",
        "deadlock": "somebody waits for what never comes. For one k-tile, how many threads arrive, at which slot's "
        "barrier, and what was it initialised for? (One role alone cannot meet at a __syncthreads().)",
        "unwaited-copy|unwaited-wgmma": "the waits for full and for the math were right: put them back.",
        "uninitialised-read|out-of-bounds": "rows of A that are not in the slot: where does row 64 begin, in halves?",
        "wrong-from-row-64": "no slot is overwritten early any more. Rows 64 to 127 belong to the second "
        "warpgroup: where does its A begin? A pointer to __half counts halves.",
        "wrong-numbers": "which rows of A does each warpgroup read, and which rows of C does it write?",
        "": "there are two: one in who arrives, one in where a warpgroup's A begins."}),
    "07.14": (_tall, {
        **_HOPPER,
        "deadlock|mbarrier": "the ring was right: sizeof(Slot) bytes, and an arrival of each of two warpgroups.",
        "write-after-read|unwaited-wgmma": "the ring was right, and needs no change.",
        "unwaited-copy|uninitialised-read|beyond-shared-memory": "rows are read that are not in this slot: each "
        "warpgroup takes 64 rows of the first operand, and 256 of the second. Which matrix has 256 rows now?",
        "block-conflict|write-beyond-array": "a block writes beyond its 256 x 128 of C. Are TM and TN those of the new "
        "tile? Is the thread counted in its warpgroup, from 0 to 127? Then: the row of C comes from the column of the "
        "sums, its column from the row of the sums and from the warpgroup.",
        "write-after-write": "two threads write one element of C: its row comes from the column of the sums, its "
        "column from the row of the sums and from the warpgroup.",
        "wrong-numbers": "the tensor cores make 64 rows of the first operand by all 256 of the second. Thread t "
        "holds in d[4 j + 2 h + i] row 16 (t / 32) + t % 32 / 4 + 8 h and column 8 j + 2 (t % 4) + i of that product. "
        "Which of the two is a row of C now?",
        "": "exchange the two operands: B's 64 rows first, A's 256 second. Then C comes out turned."}),
    "07.15": (_shared_a, {
        **_HOPPER,
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
