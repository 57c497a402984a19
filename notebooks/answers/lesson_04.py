"""The exercises of lesson 04."""

import numpy as np

from course_lib.check.gemm import Gemm
from course_lib.check.verdict import CheckFailed
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import simulate

from .common import ALL_READ, COMPLETE, FOR_ALL, checked_gemm, demand, demand_kernel, demand_no_hazard, fail

_NARROW = Launch((32, 8, 32), 32)
_SIX_CHUNKS = Launch((16, 16, 48), 32)
_SQUARE = Launch((128, 128, 64), 128, 32768)

_LANE = np.arange(32)[:, None]
_ROW, _COLUMN = _LANE // 4, _LANE % 4 * 2 + np.arange(2)
"""Of the two halves that a lane receives of an 8 x 8 matrix."""


def _fragments(answer: object, corners: list[tuple[int, int]]) -> None:
    """A warp that loads registers from 16 x 16 halves. `corners`: first row and column of the matrix that belongs
    into each register."""
    demand_kernel(answer)
    tile, registers = np.arange(256, dtype=np.float16).reshape(16, 16), np.zeros((32, 4), np.uint32)
    report = simulate(answer, (1,), (32,), (tile, registers))
    demand_no_hazard(report)
    halves = registers.view(np.float16).reshape(32, 4, 2)
    if not np.isfinite(halves).all() or not (halves % 1 == 0).all():
        fail("a register holds what is not in the tile.", "not-in-tile")
    found = halves.astype(int)
    for i, (row, column) in enumerate(corners):
        wrong = (found[:, i] != 16 * (row + _ROW) + column + _COLUMN).any(axis=1)
        right = _words(row, column)
        held, causes = _piece(found[:, i], i)
        demand(not wrong.any(), f"register {i} holds {held}; it should hold {right}.", *causes)
    used = report.counters.total.ldmatrix
    demand(used == 1, f"the registers are right, and {used} ldmatrix were made, not 1.", "not-by-ldmatrix")


def _piece(found: np.ndarray, register: int) -> tuple[str, tuple[str, ...]]:
    """What a register of the 32 lanes holds, in words and in words that the hints know: an 8 x 8 matrix of the tile,
    if it is one."""
    row, column = divmod(int(found[0, 0]), 16)
    if np.array_equal(found, 16 * (row + _ROW) + column + _COLUMN):
        order = {(1, 0, 8): "order-of-b", (1, 8, 0): "order-of-a"}.get((register, row, column))
        return _words(row, column), (*([order] if order else ()), "other-matrix")
    lanes = ", ".join(f"row {found[lane, 0] // 16} in lane {lane}" for lane in (0, 4, 8))
    return f"no matrix of eight neighbouring rows ({lanes})", ()


def _words(row: int, column: int) -> str:
    return f"rows {row} to {row + 7}, k = {column} to {column + 7}"


def _fragment_of_a(answer: object) -> None:
    _fragments(answer, [(0, 0), (8, 0), (0, 8), (8, 8)])


def _fragments_of_b(answer: object) -> None:
    _fragments(answer, [(0, 0), (0, 8), (8, 0), (8, 8)])


def _narrow(answer: object) -> None:
    checked_gemm(answer, _NARROW, "float16")


def _six_chunks(answer: object) -> None:
    """Right, in the given shared memory, and without a bank conflict of `ldmatrix`."""
    kernel = checked_gemm(answer, _SIX_CHUNKS, "float16")
    gemm = Gemm(*_SIX_CHUNKS.tile, "float16")
    report = simulate(kernel, (1, 1), (_SIX_CHUNKS.threads,), gemm.arguments(*gemm.inputs))
    loads = [counts for counts in report.counters.by_line.values() if counts.ldmatrix]
    made, right = sum(counts.ldmatrix for counts in loads), 2 * _SIX_CHUNKS.tile[2] // 16
    text = f"the numbers are right, and {made} ldmatrix are made for a k-tile, not {right}."
    demand(made == right, text, "not-by-ldmatrix")
    used = sum(counts.shared_wavefronts for counts in loads) / made
    demand(
        used == 4,
        f"the numbers are right, and an `ldmatrix` takes {used:.3g} wavefronts instead of 4.",
        "many-wavefronts",
    )
    if report.resources.static_shared > 3072:
        fail("the tiles take more than 3072 bytes of shared memory.", "much-shared-memory")


def _without_b(kernel: object) -> bool:
    """Whether C has numbers other than 0 when all of B is 0: then rows of A were taken for rows of B."""
    gemm = Gemm(128, 128, 128, "float16")
    A, B = gemm.integers(seed=0)
    args, _ = gemm.simulated(kernel, (A, np.zeros_like(B)), _SQUARE)
    return bool(np.nan_to_num(args[2]).any())


def _square(answer: object) -> None:
    try:
        kernel = checked_gemm(answer, _SQUARE, "float16")
    except CheckFailed as error:
        kernel = answer[0] if isinstance(answer, tuple) else answer
        if "wrong-numbers" in error.causes and _without_b(kernel):
            fail("with all of B zero, C is not zero: some of it is made without B.", "a-for-b")
        raise
    gemm = Gemm(128, 128, 128, "float16")
    args = gemm.arguments(*gemm.inputs)
    report = simulate(kernel, (1, 1), (_SQUARE.threads,), args, _SQUARE.shared_mem)
    total = report.counters.total
    demand(total.cp_async, "no asynchronous copy was made.", "not-by-copies")
    if total.cp_async > 128:
        fail(f"{total.cp_async} copies of a warp are made where 128 are enough.", "copied-again")
    if total.ldmatrix < 256:
        fail("fragments did not come out of shared memory by `ldmatrix`.", "not-from-shared")
    demand(total.mma == 1024, f"{total.mma} mma for 128 x 128 x 128 of C and k; 1024 are enough.", "many-mma")


_ADDRESS = {
    "misaligned": "a lane names the first of 8 halves: its column is 0 or 8.",
    "uninitialised-read|out-of-bounds": "an address leaves the 16 x 16 halves: rows are 0 to 15, columns 0 or 8.",
}
_ONE_OF_EIGHT = (
    "lanes 8 i to 8 i + 7 name the eight rows of matrix i, one after the other: l % 8 is in the row."
)
_BRINGS = {
    "write-after-write": "two lanes write one element of C: l / 4 is the row of lane l, l % 4 * 2 its first column.",
    "write-beyond-array": "a lane stores outside of C: its row is 0 to 7 (the kernel adds 8 and 16), its column "
    "0 to 6.",
    "misaligned": "an `ldmatrix` row begins at a multiple of 8 halves, a `__half2` of C in an even column.",
    "uninitialised-read|out-of-bounds": "an address leaves the tile: rows of B are 0 to 7, those of A 0 to "
    "31, and each lane names the first of 8 halves.",
    "block-conflict": "lanes of two blocks write one element of C: a lane's row is 0 to 7, its column 0 to 6.",
    "wrong-places": "four lanes share a row of C: l / 4 is the row, l % 4 * 2 the first column.",
    "unused-a|other-row-of-a|other-k-of-a": "matrices 0 and 1 of A lie below each other, 2 and 3 "
    "to the right of them; a k-step is 16 columns.",
    "unused-b|other-row-of-b|other-k-of-b": "the four matrices of B are the same 8 rows, 8 columns "
    "further each; k-step s uses matrices 2 s and 2 s + 1.",
    "other-order": "the first of two registers of B is k = 0 to 7 of the k-step, as a[0], a[1] "
    "are; k-step s is columns 16 s to 16 s + 15 of A and of B.",
    "no-k-step": "each k-step has other columns of A and other registers of B.",
    "": "lane l names row l % 8 of matrix l / 8; the pictures of A and B show where each matrix belongs.",
}

_BY_LDMATRIX = "one `ldmatrix_x4` of the warp fills all four registers: only its address is asked for."

EXERCISES = {
    "04.1": (_fragment_of_a, {
        **_ADDRESS,
        "not-by-ldmatrix": _BY_LDMATRIX,
        "order-of-b": "matrix 1 of A lies below matrix 0, not beside it: look at a2 a3.",
        "other-matrix": "write down for each of the four matrices its first row and its first column, "
        "then find l / 8 and l / 16 in them.",
        "": _ONE_OF_EIGHT}),
    "04.2": (_fragments_of_b, {
        **_ADDRESS,
        "not-by-ldmatrix": _BY_LDMATRIX,
        "order-of-a": "that is the order of A. Registers 0 and 1 are one fragment of B: the "
        "same eight rows, left and right half.",
        "other-matrix": "write down for each of the four matrices its first row and its first column: "
        "matrices 0 and 1 are one fragment, 2 and 3 the next.",
        "": _ONE_OF_EIGHT}),
    "04.3": (_narrow, _BRINGS),
    "04.4": (_six_chunks, {
        "out-of-bounds|uninitialised-read": "the seat leaves its row: it must be one of six, and the place is "
        "counted in halves, 8 for each chunk.",
        "write-after-write": "two chunks have one seat, or a seat lies outside of its row: the six seats are at "
        "row * TK + 0, 8, ... 40, each used once.",
        "many-wavefronts": "count for each chunk, in rows 0 to 7 and in rows 8 to 15, in which of the eight groups of "
        "banks it lies, (6 * row + seat) % 8; rows that meet need seats of which one is even and one is odd.",
        "not-by-ldmatrix": "leave the reads as they are: only `place` is asked for, and both the copy and the reads "
        "ask it.",
        "much-shared-memory": "do not pad: the six seats of a row are enough.",
        "misaligned": "a chunk is 8 halves: its place is row * TK + 8 * seat, with a seat of 0 to 5.",
        "": "the function must give each chunk of a row another one of the row's six seats."}),
    "04.5": (_square, {
        **FOR_ALL,
        "unwaited-copy": "a thread reads what nobody waited for: close the group, then wait for all groups, and let "
        "the barrier come after the wait.",
        **COMPLETE,
        "read-after-write": "first the wait, then a barrier, then the first read: only then all copies are there.",
        **ALL_READ,
        "misaligned": "16 bytes begin at a multiple of 8 halves: m and n are 0 or 64, and a k-tile begins in column "
        "k_tile * TK.",
        "one-block-row|one-block-column": "A begins at row blockIdx.x * TM, B at row blockIdx.y * TN.",
        "write-beyond-array": "a warp stores outside of C: its 64 x 64 begin at row m, column n of the block's "
        "128 x 128. Four warps need four different pairs (m, n); which values may m and n have?",
        "beyond-shared-memory": "an address leaves shared memory, which has 128 rows of A and after them 128 of B, "
        "TK halves each. Do m and n leave room for 64 rows?",
        "out-of-bounds": "a copy reads outside of its matrix: A begins at row blockIdx.x * TM, B at row "
        "blockIdx.y * TN, and rows are K halves apart.",
        "write-after-write": "two copies write one place: B lies after TM * TK halves of A, and each k-tile is copied "
        "once.",
        "no-k-step": "a k-tile of 64 has 64 / 16 k-steps.",
        "block-conflict|rest-missing": "four warps need four different pairs (m, n) of 0 and 64.",
        "no-last-k-tile|no-first-k-tile": "the loop makes K / TK turns.",
        "first-k-tile-always|k-tile-behind|k-tile-ahead|no-last-k|no-first-k": "the column of A and of B in global "
        "memory moves on by TK with each k-tile.",
        "a-for-b": "what is read as rows of B are rows of A. Where do the rows of B begin in shared memory?",
        "other-row-of-a|other-row-of-b|wrong-places": "the warp at (m, n) multiplies the rows of A from m on with the "
        "rows of B from n on.",
        "copied-again": "each k-tile of A and of B is copied once, by all threads together.",
        "not-from-shared": "each warp loads its fragments out of the tiles that were copied: `load_fragments`.",
        "wrong-numbers": "with one k-tile each row of A meets the right row of B; with more it does not. What changes "
        "from one k-tile to the next, and how far apart are two rows in global memory?",
        "many-mma|not-by-copies": "each warp makes only its own 64 x 64 of C, with `copy_rows` before it.",
        "step-limit": "a loop does not end: does its counter grow?",
        "": "go through one turn aloud: who has copied what, who knows that it is there, what is multiplied, and when "
        "may it be overwritten?"}),
}  # fmt: skip
