"""The exercises of the bank for lesson 03."""

import re
from functools import cache

import numpy as np

from course_lib.check.gemm import Gemm
from course_lib.lessons.sources import kernel_source
from cupy_or_sim import device
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import simulate
from ptxsim import Report

from .common import (
    FOR_ALL,
    checked_gemm,
    demand,
    demand_kernel,
    demand_no_hazard,
    demand_whole_sectors,
    k_tiles_on_their_way,
    kernel_and_numbers,
)

NOTEBOOK = "exercises/03_double_buffer"
SMALL = Launch((32, 32, 8), 64)
K_TILES = 8
ONE_BLOCK = (32, 32, 8 * K_TILES)
MOST_STEPS = 20_000
"""Of a launch here, which takes less than 5,000."""


def _product(kernel: object, shape: tuple[int, int, int], *more: object) -> tuple[Report, bool]:
    """The report on a small product, and whether C is right; `more` follow K."""
    gemm = Gemm(*shape)
    A, B, C, *sizes = gemm.arguments(*gemm.integers(seed=0))
    args = (A, B, C, *sizes, *more)
    report = simulate(kernel, gemm.grid(SMALL), (64,), args, max_steps=MOST_STEPS)
    return report, np.array_equal(C, A @ B.T)


def _right(kernel: object) -> Report:
    """The report on one block of a kernel that is right, with many k-tiles and with few."""
    demand_kernel(kernel)
    reports = []
    for shape in ONE_BLOCK, (64, 32, 8), (32, 96, 24), (32, 32, 16):
        report, right = _product(kernel, shape)
        demand_no_hazard(report)
        if not right:
            checked_gemm(kernel, SMALL)  # its words say how it is wrong
        reports.append(report)
    return reports[0]


def _four_orders(answer: object) -> None:
    kernel, *said = kernel_and_numbers(answer, *(f"the number of k-tiles in order {name}" for name in "abcd"))
    for name, mine in zip("abcd", said):
        report, _ = _product(kernel, ONE_BLOCK, np.int8(ord(name)))
        demand_no_hazard(report)
        counted = k_tiles_on_their_way(report, K_TILES)
        demand(mine == counted, f"order {name} has not {mine} k-tiles on their way.", f"order-{name}")


def _demand_overlap(report: Report) -> None:
    found = k_tiles_on_their_way(report, K_TILES)
    demand(found, "the product is right, but no copy is on its way during the math.", "nothing-on-its-way")


def _wide_fragments(kernel: object) -> None:
    report = _right(kernel)
    _demand_overlap(report)
    loads, enough = report.counters.total.shared_loads, 2 * 2 * 8 * K_TILES  # of two warps
    text = f"the product is right, but {loads} loads from shared memory; {enough} do the same."
    demand(loads <= enough, text, "many-loads")
    demand_whole_sectors(report)


def _fragments_ahead(kernel: object) -> None:
    _demand_overlap(_right(kernel))


@cache
def _reported() -> tuple[int, int]:
    """The lines that call the writer and the reader, as the report on the kernel as given says."""
    given = device.cp.RawKernel(kernel_source(NOTEBOOK, "early"), "early", options=device.OPTIONS)
    first = _product(given, ONE_BLOCK)[0].hazards[0]
    read = re.search(r"reads at line \d+, called from line (\d+)", str(first))
    return first.call_line, int(read[1])


def _early(answer: object) -> None:
    kernel, writer, reader = kernel_and_numbers(answer, "the line of the writer", "the line of the reader")
    writes, reads = _reported()
    demand(writer == writes, f"the thread that writes does not come from line {writer}.", "other-writer")
    demand(reader == reads, f"the thread that reads does not come from line {reader}.", "other-reader")
    _fragments_ahead(kernel)


_LOOP = FOR_ALL | {
    "wait-behind-barrier": "the barrier says that all have waited: first the wait, then the barrier.",
    "out-of-bounds": "after the last k-tile there is no next one to copy; rows, columns and k-blocks end where the "
    "tile ends.",
}

EXERCISES = {
    "03.11": (_four_orders, {
        "order-a": "the wait comes after the issue, and wait_all waits for every copy.",
        "order-b": "the copy is started before the math. Who has waited for it when the math begins?",
        "order-c": "the next copy is started after the math, and the next turn begins with a wait.",
        "order-d": "wait_group<1> leaves the newest group open. Which k-tile is in it?",
        "": "four whole numbers, one for each order: a, b, c, d."}),
    "03.12": (_wide_fragments, _LOOP | {
        "misaligned": "16 bytes begin at a multiple of 4 floats: m and n must be such numbers.",
        "read-after-write|write-after-read": "the loop with its one barrier was right: only the fragments and the "
        "place of the results change.",
        "write-after-write|block-conflict": "two threads write to one place: does the index of C fit m and n?",
        "write-beyond-array": "a thread writes outside of C: m and n are 0, 4, ... 28. If they are, does the index of "
        "C fit them?",
        "unwaited-copy|uninitialised-read": "what is read lies outside this k-tile, or was not waited for: the loop "
        "was right, and fragments begin at rows 0 to 28.",
        "many-loads": "one load for the four floats of A, one for the four of B.",
        "wasted-sectors": "the fragments are right. Four neighbours of a column of C: store them with 16 bytes.",
        "nothing-on-its-way": "the copy of the next k-tile starts before the math, as it did.",
        "": "acc[j][i] is row m + i, column n + j, everywhere: in the fragments, and where C is written. And all "
        "8 k of a k-tile are multiplied, as before."}),
    "03.13": (_fragments_ahead, _LOOP | {
        "unwaited-copy": "the next k-tile is read before anybody has waited for it. Only the load of the last k-block, "
        "after the wait, goes to the other buffer.",
        "write-after-read": "a buffer is read although the next copy goes to it. Is it the buffer that should be read? "
        "If so, in which k-block must all have met, so that nobody reads it later?",
        "read-after-write": "a k-block is loaded from a k-tile that may not be complete: the barrier stands before it.",
        "uninitialised-read": "a buffer is read that nothing was copied to. Which k-tile is it, in which buffer?",
        "nothing-on-its-way": "the copy is started in the first k-block and waited for in the last one, not before.",
        "": "write down for the last k-block of a k-tile: which k-block is loaded, of which k-tile, from which buffer, "
        "to which set?"}),
    "03.14": (_early, _LOOP | {
        "other-writer": "\"called from line\" stands twice in a finding. The copy writes: who calls issue?",
        "other-reader": "\"called from line\" stands twice in a finding. The math reads: who calls multiply?",
        "write-after-read": "a fast thread copies into the buffer that a slow one still multiplies: where does a "
        "barrier keep them apart?",
        "read-after-write": "wait_all is about a thread's own copies. A barrier must follow before the math.",
        "unwaited-copy|uninitialised-read": "what is multiplied has not landed: which buffer holds k-tile k_tile, and "
        "which wait stands before the barrier?",
        "nothing-on-its-way": "start the next copy before the math, not after it, and wait for it in the next turn.",
        "": "each turn multiplies k-tile k_tile and starts the copy of the next one, if there is one."}),
}  # fmt: skip
