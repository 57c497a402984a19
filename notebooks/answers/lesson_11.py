"""The exercises of lesson 11: sums in tensor memory, a ring that the tensor cores free, and two tiles of sums."""

import re
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from course_lib.check.gemm import Gemm
from course_lib.check.mistakes import product, where_wrong
from course_lib.check.verdict import CheckFailed
from cupy_or_sim import cupy_on_numpy, tensor_map
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import simulate
from ptxsim import Report
from ptxsim.observe.events import BulkCopy, Event, MbarrierArrive, MbarrierInit, MbarrierWait

from .common import demand, demand_all_landed, demand_also, demand_kernel, fail, in_short
from .lesson_07_ring import demand_all_slots, demand_no_wait_for_landing
from .replay import flights
from .untried import untried

STEPS = 1_000_000
"""Of one launch: some five times what the solutions take."""
ROWS, COLUMNS, DEPTH, BLOCKS = 128, 128, 64, 3
"""Of 11.1: rows of a block, columns, how deep they are multiplied, and blocks: the third one's rows are no lanes."""
TILE, SLOTS = (128, 64, 64), 3
"""Of 11.2 and 11.3."""
THREADS, SLOT, ROUND = 192, (128 + 64) * 64 * 2, 128
"""Threads of a block; bytes of a slot, and for what lies behind the slots."""
ORDERS = (1, 2, 3)
EARLY = 1
"""An order of the warps, as all that are drawn, in which commits may arrive early."""
ORDER = (
    "tensor-memory",
    "out-of-bounds",
    "uninitialised-read",
    "unwaited-copy",
    "unwaited-tcgen05",
    "write-after-read",
    "mbarrier",
    "deadlock",
)
"""What is told first, where one mistake makes several findings."""
NO_WAIT = (
    "PTX wants a `tcgen05_wait_ld()` between the loads and the barrier behind which the columns are given back; here "
    "each load is over where `v` is used."
)
NO_QUARTER = (
    "PTX wants the lane at which the warp's quarter begins in the address; DeepGEMM leaves it out, too."
)
COMMITTED = "A commit tells of products; of their loads the four warps tell by `mbarrier_arrive`."
AT_ZERO = "right where its columns begin at 0, and not where they begin at 256"
SUMS = "unsigned sums = s.sums;"
TILE_SUMS = "unsigned tile_sums = sums + half * TN;"
START, EXPECT = "start_k_tile<", "mbarrier_expect("
STORE = "            store_row<TN>("
"""Of the exercises' texts, what a check puts something beside."""
BOTH = "            if (mine < 3) mbarrier_wait(&s.sums_full[1 - half], (mine + 1) / 2 % 2);\n"
"""Before it writes one of the first three tiles, the changed kernel waits for the sums of the next one."""
READ = "if (mine == 1) mbarrier_wait(&s.sums_empty[0], 0); "
"""Before it multiplies tile 1, the changed kernel waits until tile 0 has been loaded."""
END = "    if (warp == 0) tcgen05_dealloc"
ARRIVE_ONCE_MORE = (
    "    if (threadIdx.x == 0)"
    ' asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], {};" :: "r"({}) : "memory");\n'
)
"""Behind all tiles no phase has begun: it takes as many arrivals as it counts."""
WAIT = "mbarrier_wait("
LATE = (
    "__device__ void wait_late(Mbarrier* barrier, int parity) {{ if ({}) "
    "for (long long from = clock64(); clock64() - from < 4000;); mbarrier_wait(barrier, parity); }} "
)
"""In no line of its own: lines keep their numbers."""
COPIES, MULTIPLIES, FETCH = "threadIdx.x / 32 == 4", "threadIdx.x / 32 == 5", "threadIdx.x < 128"
"""The roles, by their warps."""


def _largest(answer: Any) -> str | None:
    """The largest number of each row of a product, by three blocks."""
    demand_kernel(answer)
    noted = _largest_found(answer)
    demand_also(partial(_largest_found, _behind_other_columns(answer)), AT_ZERO, "no-base")
    own = answer.code.rpartition("__syncwarp();")[2]
    remarks = [noted] if noted else []
    remarks += [NO_WAIT] if not re.search(r"(?s)tcgen05[_.]ld\b.*(_wait_ld\(|wait::ld)", own) else []
    remarks += [NO_QUARTER] if not re.search(r"<<|\b65536|0x", own) else []
    return " ".join(remarks) or None


def _largest_found(answer: Any) -> str | None:
    """Raise what is wrong with the largest numbers, or give what is noted."""
    for seed, below in (0, 0), (1, 0), (2, 40):
        random = np.random.default_rng(seed)
        a, b = (random.integers(-4, 5, (rows, DEPTH)).astype(np.float16) for rows in (BLOCKS * ROWS, COLUMNS))
        if below:  # each sum is below 0, and most have a fraction that half has no bits for
            a, b = (abs(a) + 1) * np.float16(4.25), -abs(b) - 1
        found = np.full(BLOCKS * ROWS, np.nan, np.float32)
        maps = (tensor_map(each, (64, 64)) for each in (a, b))
        report = simulate(answer, (BLOCKS,), (128,), (*maps, found), (ROWS + COLUMNS) * DEPTH * 2 + 64, STEPS)
        _demand_clean(report)
        noted = _noted(report)
        sums = product(a, b)
        if not (wrong := where_wrong(found[:, None], sums.max(1)[:, None], 0.0, "out")):
            continue
        above = np.unique(found[found > sums.max(1)])
        if len(above) == 1 and np.array_equal(found, np.maximum(sums.max(1), above)):
            fail(
                f"each number is the largest one, or {above[0]:g} where all are below it.", "begins-too-high"
            )
        for cause, words, mistaken in _mistaken(sums):
            if np.array_equal(found, mistaken):
                fail(f"each number is {words}.", cause)
        demand(np.isfinite(found).any(), "no result is a number, in any row.", "never-a-number")
        fail(
            wrong.replace(", columns 0 to 0", ""),
            "wrong-numbers" if np.isfinite(found).all() else "some-rows",
        )
    return noted


def _mistaken(sums: np.ndarray) -> list[tuple[str, str, np.ndarray]]:
    """Of each known mistake: a word for it, in words, and what comes out."""
    quarters = sums.reshape(BLOCKS, 4, 32, COLUMNS)
    pieces = sums.reshape(len(sums), COLUMNS // 16, 16)
    first = np.broadcast_to(quarters[:, :1], quarters.shape).reshape(sums.shape)
    return [
        ("first-lanes", "that of warp 0's rows, in all four quarters", first.max(1)),
        ("first-columns", "the largest of the first 16 columns", sums[:, :16].max(1)),
        ("not-last-columns", "the largest of all but the last 16 columns", sums[:, :-16].max(1)),
        ("every-other-piece", "the largest of every other 16 columns", pieces[:, ::2].max((1, 2))),
        ("one-column", "one column of sixteen, the first of each", sums[:, ::16].max(1)),
        ("first-block", "that of the first block's rows", np.tile(sums[:ROWS].max(1), BLOCKS)),
        ("other-sign", "the smallest of its row", sums.min(1)),
        ("absolute", "the largest without its sign", abs(sums).max(1)),
        ("rounded", "the largest without its fraction", np.trunc(sums.max(1))),
        ("rounded", "the largest, rounded to half", sums.max(1).astype(np.float16)),
    ]


def _behind_other_columns(answer: Any) -> Any:
    """The same kernel, whose columns begin at 256: it asks for so many others before, and gives them back behind."""
    own = r"tcgen05_alloc<[^;]*>\(&s\.sums\)"
    others = r"tcgen05_alloc<256>(&s.sums), \g<0>, tcgen05_dealloc<256>(0)"
    source = re.sub(own, others, answer.code)
    return cupy_on_numpy.RawKernel(source, answer.name, options=answer.options)


def _noted(report: Report) -> str | None:
    """What a right answer is told: the first note on tensor memory."""
    note = next((str(note) for note in report.notes if "tensor memory" in note or "tcgen05" in note), "")
    return f"Noted: {note}." if note else None


def _demand_clean(report: Report) -> None:
    """Raise the finding that says most, where there is one."""
    if not report.ok:
        found = sorted(report.hazards, key=lambda h: ORDER.index(h.kind) if h.kind in ORDER else len(ORDER))
        raise CheckFailed(str(found[0]), tuple(found))


def _run(
    kernel: Any, tiles: tuple[int, int, int], slots: int, blocks: int | None = None, order: int | None = None
) -> Report:
    """Raise what is wrong with a product of so many tiles along M, N and K, or give its report. `order`: of the warps,
    by its seed."""
    M, N, K = (size * count for size, count in zip(TILE, tiles, strict=True))
    gemm = Gemm(M, N, K, "float16")
    launch = Launch(TILE, THREADS, slots * SLOT + ROUND, blocks)
    args, report = gemm.simulated(kernel, gemm.integers(seed=0), launch, STEPS, order)
    _demand_clean(report)
    wrong = where_wrong(args[2], product(*args[:2]).astype(gemm.dtype), limit=0.0)
    demand(not wrong, wrong, "wrong-numbers")
    demand_all_landed(report)
    return report


def _in_other_orders(kernel: Any, tiles: tuple[int, int, int], blocks: int | None = None) -> None:
    """A kernel that is right in one order of the warps is right in others."""
    for order in ORDERS:
        try:
            _run(kernel, tiles, SLOTS, blocks, order)
        except CheckFailed as error:
            text = f"right in one order of the warps, and in another one {in_short(error)}"
            raise CheckFailed(text, error.hazards, error.causes) from None


def _with_slots(answer: Any, slots: int) -> Any:
    """The same kernel with another number of slots."""
    source = re.sub(r"\bSLOTS\s*=\s*3\b", f"SLOTS = {slots}", answer.code)
    return cupy_on_numpy.RawKernel(source, answer.name, options=answer.options)


def _demand_ring(answer: Any) -> str | None:
    """A ring that is right for one and two slots too, for fewer k-tiles than slots and for several blocks."""
    demand_kernel(answer)
    count = len(re.findall(r"\bSLOTS\s*=\s*3\b", answer.code))
    demand(count == 1, "leave `SLOTS = 3` in its line: the check puts other numbers there.")
    seven = _run(answer, (1, 1, 7), SLOTS)
    _run(answer, (1, 1, 1), SLOTS)
    _run(answer, (2, 2, 2), SLOTS)
    _in_other_orders(answer, (1, 1, 4))
    for slots in 2, 1:
        try:
            _run(_with_slots(answer, slots), (1, 1, 4), slots)
        except CheckFailed as error:
            found = error.hazards[0].kind if error.hazards else "wrong numbers"
            cause = "stuck-with-fewer-slots" if found == "deadlock" else "fixed-slots"
            fail(f"right for three slots, and {found} for SLOTS = {slots}.", cause)
    for k_tiles in untried(answer, TILE[2], (1, 2, 7)):
        longer = partial(_run, answer, (1, 1, k_tiles), SLOTS)
        demand_also(longer, f"right with 7 k-tiles, and not with {k_tiles}", "many-k-tiles")
    demand_also(partial(_run, _behind_other_columns(answer), (1, 1, 2), SLOTS), AT_ZERO, "no-base")
    demand_all_slots(seven, SLOTS)
    demand_no_wait_for_landing(seven)
    _demand_ahead(seven, 7)
    _demand_no_wait_for_math(
        seven,
        "who multiplies waits for the tensor cores before it starts the next k-tile: it needs the bytes alone.",
    )
    late = "right, and not where who {} comes late to each wait"
    _demand_right_late(answer, MULTIPLIES, (1, 1, 7), late.format("multiplies"), "begins-late")
    _demand_right_late(answer, COPIES, (1, 1, 7), late.format("copies"), "comes-late")
    with_two = "right, and not with two slots where who copies comes late to each wait"
    _demand_right_late(_with_slots(answer, 2), COPIES, (1, 1, 4), with_two, "comes-late")
    _demand_goes_on(
        answer,
        (START, "mbarrier_wait(&s.full[0], 1)"),
        "slot 0 is not filled again before k-tile 2 is multiplied, and k-tile 0 has long been read.",
        "freed-late",
    )
    _demand_goes_on(
        answer,
        (EXPECT, "mbarrier_wait(&s.empty[0], 0)"),
        "k-tile 0 is not multiplied before k-tile 1 is asked for: it needs its own bytes alone.",
        "waits-for-more",
        calls=1,
    )
    return _noted(seven)


def _demand_right_late(
    answer: Any, who: str, tiles: tuple[int, int, int], seen: str, cause: str, blocks: int | None = None
) -> None:
    """Still right where some threads come late to each wait: a phase that they wait for may long be over, and in this
    order of the warps the next one, too."""
    late = LATE.format(who) + 'extern "C"'
    source = answer.code.replace(WAIT, "wait_late(").replace('extern "C"', late, 1)
    kernel = cupy_on_numpy.RawKernel(source, answer.name, options=answer.options)
    demand_also(partial(_run, kernel, tiles, SLOTS, blocks, EARLY), seen, cause)


def _demand_goes_on(answer: Any, held: tuple[str, str], words: str, cause: str, calls: int = 2) -> None:
    """Behind so many calls of the first text a thread waits for the second one, which need not wait for it."""
    call, until = held
    source = answer.code.replace(call, f"(calls_so_far++ == {calls} ? {until} : (void)0), {call}")
    source = source.replace(SUMS, f"{SUMS} int calls_so_far = 0;")
    try:
        _run(cupy_on_numpy.RawKernel(source, answer.name, options=answer.options), (1, 1, 7), SLOTS)
    except CheckFailed:
        fail(f"the numbers are right, but {words}", cause)


def _demand_ahead(report: Report, k_tiles: int) -> None:
    """All slots are filled while nothing is multiplied: in a replay the tensor cores never arrive."""
    copies = sum(isinstance(event, BulkCopy) for mine in report.events for event in mine)
    demand(
        copies % k_tiles == 0,
        f"the product is right, but of {k_tiles} k-tiles {copies} copies are made: some are of a k-tile that is not "
        "there, which comes as zeros.",
        "too-many-k-tiles",
    )
    ahead = flights(report.events) * k_tiles // copies
    demand(
        ahead >= SLOTS,
        f"the product is right, but before the first k-tile is multiplied {ahead} of {SLOTS} slots are filled.",
        "not-ahead",
    )


def _demand_no_wait_for_math(report: Report, words: str, others: bool = False) -> None:
    """Who waits for k-tiles that have landed waits for nothing else before the last one; with `others` also for what
    other warps tell, or several threads."""
    landing = {event.mbarrier for mine in report.events for event in mine if isinstance(event, BulkCopy)}
    for mine in report.events:
        waits = [event.mbarrier for event in mine if isinstance(event, MbarrierWait)]
        last = max((at for at, mbarrier in enumerate(waits) if mbarrier in landing), default=0)
        told = _told_by_others(report, mine) if others else set()
        demand(
            {*waits[: last + 1]} <= landing | told or not last,
            f"the numbers are right, but {words}",
            "waits-for-math",
        )


def _told_by_others(report: Report, warp: list[Event]) -> set[int]:
    """Barriers at which other warps arrive, or which count more than the one arrival of a commit."""
    arrived = {
        e.mbarrier
        for each in report.events
        if each is not warp
        for e in each
        if isinstance(e, MbarrierArrive)
    }
    made = (e for each in report.events for e in each if isinstance(e, MbarrierInit))
    return arrived | {e.mbarrier for e in made if e.arrivals > 1}


def _two_tiles(answer: Any) -> str | None:
    """Right for one to twelve tiles a block, with the products of a tile at work while the one before is written."""
    demand_kernel(answer)
    five = None
    for tiles, blocks in ((5, 1, 2), 1), ((1, 1, 1), 1), ((2, 3, 1), 4), ((2, 1, 5), 1), ((4, 3, 1), 1):
        try:
            report = _run(answer, tiles, SLOTS, blocks)
        except CheckFailed as error:
            if not re.search(r"wait\w*\(&s\.sums_empty", answer.code):
                fail(f"nobody waits for `sums_empty`: {in_short(error)}", "no-wait-for-empty")
            if five is None or not error.hazards:
                raise
            many = f"{tiles[0] * tiles[1]} tiles for {blocks} block{'s' * (blocks > 1)}"
            raise CheckFailed(f"with {many}: {error}", error.hazards) from None
        five = five or report
    assert five
    for who, words in (MULTIPLIES, "who multiplies comes"), (FETCH, "those who fetch come"):
        seen = f"right, and not where {words} late to each wait"
        _demand_right_late(answer, who, (4, 1, 2), seen, "comes-late", 1)
    _in_other_orders(answer, (4, 1, 2), 1)
    demand_also(partial(_run, _behind_other_columns(answer), (3, 1, 1), SLOTS, 1), AT_ZERO, "no-base")
    _demand_whole_phases(answer, five)
    _demand_no_wait_for_math(
        five,
        "who multiplies waits for the products of a tile before it begins the next one: the tensor cores rest between "
        "tiles.",
        others=True,
    )
    _demand_beside(
        answer,
        4,
        [(STORE, BOTH + STORE)],
        "a tile is not multiplied before the one in front of it has been written: one tile of sums is at work at a "
        "time.",
        "in-turn",
    )
    _demand_beside(
        answer,
        2,
        [(TILE_SUMS, READ + TILE_SUMS)],
        "tile 0 is not loaded before tile 1 is multiplied: it needs its own products alone.",
        "fetched-late",
    )
    remarks = [_noted(five) or ""] + [COMMITTED] * bool(
        re.search(r"tcgen05_commit\(&s\.sums_empty", answer.code)
    )
    return " ".join(filter(None, remarks)) or None


def _demand_whole_phases(answer: Any, report: Report) -> None:
    """As many arrive as are counted: behind the last tile each phase of a barrier lacks all of its arrivals."""
    made = {e.mbarrier: e.arrivals for mine in report.events for e in mine if isinstance(e, MbarrierInit)}
    again = (ARRIVE_ONCE_MORE.format(count, mbarrier) for mbarrier, count in made.items() if count > 1)
    try:
        _run(_put_beside(answer, [(END, "".join(again) + END)]), (5, 1, 2), SLOTS, 1, EARLY)
    except CheckFailed:
        fail(
            "the numbers are right, but at a barrier a tile has other arrivals than a phase counts: each phase ends "
            "a little earlier or later than the one before.",
            "too-many-arrivals",
        )


def _put_beside(answer: Any, changes: Iterable[tuple[str, str]]) -> Any:
    """The same kernel with other texts for lines of the exercise."""
    source = answer.code
    for line, longer in changes:
        demand(
            source.count(line) == 1, f"leave the line with `{line.strip()}` as it is: the check changes it."
        )
        source = source.replace(line, longer)
    return cupy_on_numpy.RawKernel(source, answer.name, options=answer.options)


def _demand_beside(
    answer: Any, tiles: int, changes: Iterable[tuple[str, str]], words: str, cause: str
) -> None:
    """Still right where one of two roles waits for what the other one need not wait for."""
    try:
        _run(_put_beside(answer, changes), (tiles, 1, 2), SLOTS, 1)
    except CheckFailed:
        fail(f"the numbers are right, but {words}", cause)


EXERCISES = {"11.1": _largest, "11.2": _demand_ring, "11.3": _two_tiles}
