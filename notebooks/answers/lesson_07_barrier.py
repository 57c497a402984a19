"""The exercises of lesson 07 about mbarrier and wgmma."""

import numpy as np

from course_lib.check.gemm import Gemm
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import simulate
from ptxsim import Report
from ptxsim.observe.events import BulkCopy, Load

from .common import MOST_STEPS, demand, demand_kernel, demand_no_hazard, fail

PIECE, THREADS = 512, 128
MANY_COPIES = 4 * MOST_STEPS
"""Of a launch in which each thread copies its own 16 bytes, as in lessons 02 to 05: right, and more than one copy."""
HASTY = Launch((64, 256, 64), 128, 320 * 128 + 64)


def _difference(answer: object) -> None:
    """A kernel whose copy engine brings pieces of two arrays, right for any number of pieces."""
    demand_kernel(answer)
    random = np.random.default_rng(0)
    for pieces in 1, 2, 5:
        x, y = random.integers(-99, 100, (2, pieces * PIECE)).astype(np.float32)
        out = np.full(pieces * PIECE, np.nan, np.float32)
        args = x, y, out, np.int32(pieces)
        report = simulate(answer, (1,), (THREADS,), args, max_steps=MANY_COPIES)
        demand_no_hazard(report)
        right = x - y.reshape(-1, PIECE)[:, ::-1].ravel()
        wrong = np.flatnonzero(~np.isclose(out, right)) // PIECE
        if len(wrong):
            fail(f"piece {wrong[:1]} of {pieces} is wrong, and there is no hazard.", "wrong-numbers")
        _demand_the_engine(report, x.nbytes + y.nbytes)


def _demand_the_engine(report: Report, size: int) -> None:
    """Everything comes by the copy engine, and no thread reads global memory."""
    events = [event for mine in report.events for event in mine]
    brought = sum(event.bytes for event in events if isinstance(event, BulkCopy))
    text = f"the numbers are right, but the copy engine brings {brought:,} of {size:,} bytes."
    demand(brought >= size, text, "not-by-copies")
    if any(isinstance(event, Load) for event in events):
        fail("the numbers are right, but threads load from x or y themselves.", "not-by-copies")


def _hasty(answer: object) -> None:
    """A kernel that multiplies one tile right, of one k-tile and of several."""
    demand_kernel(answer)
    for k_tiles in 1, 5:
        gemm = Gemm(64, 256, 64 * k_tiles, "float16")
        (A, B, C, *_), report = gemm.simulated(answer, gemm.integers(seed=0), HASTY, MOST_STEPS)
        demand_no_hazard(report)
        last = next((k for k in (gemm.K, 64, 16) if np.array_equal(C, _of_the_last(k, A, B))), 0)
        if last not in (0, gemm.K):
            fail(f"of {gemm.K} columns only the last {last} are in the sums.", "only-last-columns")
        text = f"with {k_tiles} k-tile{'s' * (k_tiles > 1)} the product is wrong, and there is no hazard."
        demand(last, text, "wrong-numbers")


def _of_the_last(columns: int, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The product of so many last columns."""
    return (A[:, -columns:].astype("f4") @ B[:, -columns:].astype("f4").T).astype(np.float16)


EXERCISES = {
    "07.1": (_difference, {
        "missing-arrivals-and-bytes|missing-arrivals|stuck-in-first-phases|missing-arrival": "the barrier waits for "
        "arrivals that never come. How many does `mbarrier_init` ask for, "
        "and how many threads arrive in each phase?",
        "missing-bytes": "compare the bytes that were expected with those that came: both copies count, "
        "in every phase, and in bytes.",
        "no-mbarrier": "nobody has made the barrier: `mbarrier_init`, by one thread.",
        "mbarrier-made-again": "nobody resets a barrier: it is made once, before the loop, and its phases follow each "
        "other. Which parity has phase p?",
        "too-many-arrivals": "a phase gets more arrivals than it counts. Who arrives, and how often? And do all wait "
        "in every turn, for its parity, before anybody arrives again?",
        "unwaited-copy": "a piece is read before it has come. Which parity has the phase of piece p? Are all bytes of "
        "both copies expected? And is there a wait in every turn?",
        "unknown-mbarrier": "the barrier is used before all threads know of it: something must stand between "
        "`mbarrier_init` and its first use.",
        "read-after-write": "all threads must wait at the barrier: a thread that does not knows nothing of the copies.",
        "write-after-write": "a place is written twice: how many threads start a copy?",
        "write-after-read": "a piece comes while another one is still read.",
        "deadlock|barrier-divergence": "some threads wait for ever. Which ones come to the barrier, and which phase do "
        "they wait for?",
        "out-of-bounds|misaligned": "where does piece p begin, and how many bytes has it?",
        "not-by-copies": "each piece of `x` and of `y` comes by `load_bytes`, whose text stands above the kernel; "
        "threads read `xs` and `ys` alone.",
        "wrong-numbers": "which piece of x and of y is copied in turn p, and where to?",
        "": "turn p: one thread expects all bytes and starts both copies; all wait for parity p % 2.",
    }),
    "07.2": (_hasty, {
        "unwaited-wgmma|write-after-read": "the wgmma are still at work after the wait. It waits for groups: which "
        "ones are closed when it is called, and how many may it leave at work?",
        "missing-wgmma-fence": "a fence must stand before the first wgmma.",
        "mbarrier|unwaited-copy|deadlock": "the barrier and its bytes were right: look after `mbarrier_wait`.",
        "out-of-bounds": "a descriptor counts in units of 16 bytes. How many are 16 halves?",
        "only-last-columns": "each wgmma adds to d but the first one of all: its last argument says so, and was right.",
        "wrong-numbers": "every byte has come. How far apart are the columns of two k-steps, in the unit of a "
        "descriptor?",
        "": "look at the four lines after `wgmma_fence`.",
    }),
}  # fmt: skip
