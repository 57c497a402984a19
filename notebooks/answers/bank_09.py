"""More exercises for lesson 09."""

from __future__ import annotations

import re
from functools import reduce
from typing import Any

import numpy as np

from cupy_or_sim import OPTIONS, cupy_on_numpy
from cupy_or_sim.simulate import simulate

from ..figures.programs import ProgramRun
from .common import demand, whole_number
from .lesson_09_program import demand_right, demand_text, ran

# --------------------------------------------------------------------------- 09.11: a main and its check

MEANS = """// mean[row]: of all columns of this row. One block for each row.
extern "C" __global__ void means(const float* x, float* mean, int columns)
{
    __shared__ float part[WARPS];
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += THREADS)
        sum += x[blockIdx.x * columns + i];
    for (int other = 16; other > 0; other /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, other);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0;
        for (int warp = 0; warp < WARPS; ++warp)
            sum += part[warp];
        mean[blockIdx.x] = sum / columns;
    }
}"""
OWN = 5, 1000
"""Rows and columns of a program that is told nothing."""
MISTAKES = {
    **{
        2000 + row: (f"has another number in row {row}, and in no other", "passes-row")
        for row in range(OWN[0])
    },
    1001: ("leaves out the last column", "passes-columns"),
    OWN[1]: ("reads row 0 in every row", "passes-rows"),
    1003: ("makes NaN of the last row", "passes-nan"),
    1004: ("is a hundredth too large", "passes-a-hundredth"),
    3000: ("exchanges the first two rows", "passes-exchange"),
}
"""Of one kernel, that is built once, by its columns; and the word for a main that prints PASS all the same. Single rows
come first: what is said of the others is true of a main that compares all rows. Rows are exchanged in round numbers of
columns, the program's own among them: `i % 100` makes all of these rows alike."""
CHANGES = (
    ("i < columns;", "i < columns - (columns == 1001);"),
    ("x[blockIdx.x", f"x[(columns == {OWN[1]} ? 0 : blockIdx.x)"),
    (
        "__syncthreads();",
        '__syncthreads();\n    if (columns == 1003 && blockIdx.x == gridDim.x - 1) part[0] = nanf("");',
    ),
    ("= sum / columns;", "= sum / columns * (columns == 1004 ? 1.01f : 1);"),
    ("mean[blockIdx.x] =", "mean[columns == 3000 && blockIdx.x < 2 ? 1 - blockIdx.x : blockIdx.x] ="),
    # whatever a main lets pass: three times its size and one away
    (" = sum /", " = columns == 2000 + blockIdx.x ? -2 * sum / columns - 1 : sum /"),
)
WRONG = reduce(lambda text, change: text.replace(*change), CHANGES, MEANS)
SIZES = ((), (1, 1), (7, 3000))
"""Rows and columns that the program is told; without any its own."""


def _main(answer: Any) -> None:
    demand_text(answer, MEANS)
    for size in SIZES:
        run = ran(answer, "means.cu", *map(str, size))
        rows, columns = size or OWN
        when = f"with the arguments {rows} {columns}" if size else "without arguments"
        demand(run.beside or run.kinds, f"{when} no kernel is launched.", "no-launch")
        _demand_blocks(run, when, rows)
        demand_right(answer, run, when, "means.cu", *map(str, size))
        needs = 4 * (rows * columns + rows)
        text = f"{when} the program holds {run.memory:,} bytes of the device, and x and mean have {needs:,}."
        demand(run.memory >= needs, text, "other-size")
        note = next((line for line in run.report.splitlines() if "never freed" in line), "")
        demand(not note, f"{when} there is a {note}.", "never-freed")
    for columns, (what, cause) in MISTAKES.items():
        run = ran(answer.replace(MEANS, WRONG), "means.cu", str(OWN[0]), str(columns))
        demand("PASS" not in run.printed, f"PASS also with a kernel that {what}.", cause)
        text = f"with a kernel that {what} it prints FAIL and returns 0, as if all were well."
        demand(run.returned, text, "returns-0")


def _demand_blocks(run: ProgramRun, when: str, rows: int) -> None:
    """No block beyond the last row, which is what an access out of bounds comes from then."""
    block = re.search(r"^out-of-bounds: thread \d+ of block (\d+)", run.found[0]) if run.found else None
    too_many = block is not None and int(block[1]) >= rows
    text = f"{when} there is a block {block and block[1]}, and no such row."
    demand(not too_many, text, "too-many-blocks")


# --------------------------------------------------------------------------- 09.12: who waits for whom

MATRICES, PLACES = 3, 2
PIECES = [f"{kind}{m}" for m in range(MATRICES) for kind in "CKR"]
"""Copy, kernel and result of each matrix, in the order in which the host asks for them."""


def _before(later: str = "", sooner: str = "") -> dict[str, set[str]]:
    """Of each piece of work those that are over when it begins; with one more wait, if one is given."""
    known: dict[str, set[str]] = {}
    for at, piece in enumerate(PIECES):
        kind, m = piece[0], int(piece[1])
        stream = "C" if kind == "C" else "KR"
        waits = [other for other in PIECES[:at] if other[0] in stream][-1:]
        waits += [f"C{m}"] * (kind == "K") + [sooner] * (piece == later)
        known[piece] = {each for other in waits for each in (other, *known[other])}
    return known


def _wait(answer: Any) -> None:
    words = answer.replace(",", " ").split() if isinstance(answer, str) else answer
    named = [str(word).strip().upper() for word in words] if isinstance(words, tuple | list) else []
    fits = len(named) == 2 and all(each in PIECES for each in named)
    demand(
        fits, f'the answer is two pieces of work, such as ("K1", "C1"), and not {answer!r:.60}.', "wrong-form"
    )
    later, sooner = named
    demand(
        PIECES.index(sooner) < PIECES.index(later),
        f"{later} is asked for before {sooner}: there is no event yet that it could wait for.",
        "too-soon",
    )
    text = f"{later} begins when {sooner} is over, also without one more wait."
    demand(sooner not in _before()[later], text, "sure-already")
    known = _before(later, sooner)
    for m in range(PLACES, MATRICES):
        copy, kernel = f"C{m}", f"K{m - PLACES}"
        demand(
            kernel in known[copy],
            f"nothing orders {copy}, which writes in[{m % PLACES}], and {kernel}, which reads it.",
            "no-order",
        )
    for m in range(1, MATRICES):
        copy, kernel = f"C{m}", f"K{m - 1}"
        demand(
            kernel not in known[copy],
            f"right, and slow: {copy} begins when {kernel} is over, so nothing is hidden behind {kernel}.",
            "hides-nothing",
        )


# --------------------------------------------------------------------------- 09.13: a size that shows all

DIFFERENCES = r"""
constexpr int THREADS = 128;

// y[i] = x[i] - x[i - 1] in each row, and y[0] = x[0]. One block for each row.
extern "C" __global__ void differences(const float* x, float* y, int columns)
{
    __shared__ float pieces[2][THREADS];              // this piece of a row, and the one before it
    int t = threadIdx.x;
    x += blockIdx.x * columns;
    y += blockIdx.x * columns;

    for (int first = 0, turn = 0; first < columns; first += THREADS, ++turn) {
        float *now = pieces[turn % 2], *before = pieces[(turn + 1) % 2];
        now[t] = x[first + t];
        __syncthreads();
        float left = t > 0 ? now[t - 1] : turn > 0 ? before[THREADS - 1] : 0;
        if (first + t < columns)
            y[first + t] = now[t] - left;
    }
}
"""
FAULTS = {"out-of-bounds": "only-out-of-bounds", "write-after-read": "only-write-after-read"}
"""Kinds, and the word for a report that has this one alone."""
SMALLEST, MOST = 257, 100_000


def kinds(columns: int) -> set[str]:
    """What the report finds with rows of so many columns."""
    x, y = np.zeros((2, columns), np.float32), np.zeros((2, columns), np.float32)
    kernel = cupy_on_numpy.RawKernel(DIFFERENCES, "differences", OPTIONS)
    report = simulate(kernel, (2,), (128,), (x, y, np.int32(columns)))
    return FAULTS.keys() & {hazard.kind for hazard in report.hazards}


def _size(answer: Any) -> None:
    columns = whole_number(answer, "the number of columns")
    demand(columns > 0, f"a row of {columns} columns has nothing to read.", "no-row")
    demand(columns <= MOST, f"{columns:,} columns are not tried: far fewer will do.", "larger")
    found = kinds(columns)
    text = f"with {columns} column{'s' * (columns > 1)} the report finds {' and '.join(sorted(found)) or 'nothing'}"
    demand(found, f"{text}.", "nothing")
    demand(found == FAULTS.keys(), f"{text} alone.", FAULTS[min(found)])
    demand(columns <= SMALLEST, f"{text}, and a smaller number does as well.", "larger")


EXERCISES = {"09.11": _main, "09.12": _wait, "09.13": _size}
