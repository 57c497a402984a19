"""Which k of A meets which k of B in a kernel whose numbers are wrong, found with operands that carry their addresses.

One operand is 1 in eight neighbouring k (a chunk) of each row and 0 elsewhere, in its first element of them; the other
one holds in each element a number that says which row and which chunk it is. Then C says which one came.
"""

from collections.abc import Callable

import numpy as np

from .mistakes import Mistake

CHUNK = 8
"""Neighbours along k that move together: 16 bytes of halves, a row of `ldmatrix`."""
EXACT = 2048
"""Whole numbers up to this one are exact in float16."""
LOOK = "look at {}: where it is written, where it is read, which register is used."

Run = Callable[[np.ndarray, np.ndarray], np.ndarray]


def who_meets_whom(run: Run, M: int, N: int, K: int) -> Mistake | None:
    """What is wrong, or None. `run(A, B)` is C of one block and one k-tile, A (M, K), B (N, K)."""
    chunks = K // CHUNK
    if K % CHUNK or max(M, N) * chunks > EXACT:
        return None
    rows = {"A": M, "B": N}
    if _only_misplaced(run, M, N, K):
        text = "Each number of C is there, and some stand in a wrong place: look at the index of C."
        return _line("wrong-places", text)
    found = {name: _others(run, name, rows, chunks) for name in rows}  # of A: what meets the chunks of A
    if any(np.isnan(each).any() for each in found.values()):
        return None
    return _unused(found, run, rows, chunks) or _rows(found, run, rows, chunks) or _chunks(found, chunks)


def _line(cause: str, text: str) -> Mistake:
    return Mistake(cause, f"\n{text}")


def _only_misplaced(run: Run, M: int, N: int, K: int) -> bool:
    random = np.random.default_rng(4)
    A, B = (random.integers(-4, 5, (rows, K)).astype(np.float16) for rows in (M, N))
    C, right = run(A, B), A.astype(float) @ B.astype(float).T
    return not np.array_equal(C, right) and np.array_equal(np.sort(C, None), np.sort(right, None))


def _one_chunk(rows: int, chunks: int, chunk: int) -> np.ndarray:
    """1 in the first k of a chunk, in every row."""
    return np.tile((np.arange(chunks * CHUNK) == chunk * CHUNK).astype(np.float16), (rows, 1))


def _numbered(rows: int, chunks: int) -> np.ndarray:
    """In each element 1 + row * chunks + chunk."""
    return (1 + np.arange(rows * chunks)).reshape(rows, chunks).repeat(CHUNK, axis=1).astype(np.float16)


def _run(run: Run, name: str, mine: np.ndarray, other: np.ndarray) -> np.ndarray:
    """C with rows of `name` first, whichever operand that is."""
    return run(mine, other) if name == "A" else run(other, mine).T


def _others(run: Run, name: str, rows: dict[str, int], chunks: int) -> np.ndarray:
    """[chunk of `name`, its row, row of the other]: the number of what the chunk met; 0: nothing."""
    other = "AB".replace(name, "")
    numbers = _numbered(rows[other], chunks)
    return np.stack(
        [_run(run, name, _one_chunk(rows[name], chunks, chunk), numbers) for chunk in range(chunks)]
    )


def _times(run: Run, name: str, rows: dict[str, int], chunks: int, chunk: int) -> np.ndarray:
    """[row of `name`, row of the other]: how often a chunk of `name` is multiplied."""
    ones = np.ones((rows["AB".replace(name, "")], chunks * CHUNK), np.float16)
    return _run(run, name, _one_chunk(rows[name], chunks, chunk), ones)


def _k(chunk: int) -> str:
    return f"k = {CHUNK * chunk} to {CHUNK * chunk + CHUNK - 1}"


def _unused(found: dict[str, np.ndarray], run: Run, rows: dict[str, int], chunks: int) -> Mistake | None:
    """A chunk that meets nothing, or more than one."""
    never = {name: [c for c in range(chunks) if not met[c].any()] for name, met in found.items()}
    names = [name for name in never if never[name]]
    if len(names) == 2:
        first = never["A"][0]
        whole = all(first ^ 1 in missing for missing in never.values())  # both chunks of its 16
        cause, what = (
            ("no-k-step", "a k-step is missing") if whole else ("no-chunk", "half a k-step is left out")
        )
        return _line(cause, f"{_k(first)} of A and B is never multiplied: {what}.")
    if names:
        (name,) = names
        twice = ""
        for chunk in range(chunks):
            if (_times(run, name, rows, chunks, chunk) > 1).any():
                twice = f", and {_k(chunk)} more than once"
        text = f"{_k(never[name][0])} of {name} is never multiplied{twice}: {LOOK.format(name)}"
        return _line(f"unused-{name.lower()}", text)
    return None


def _rows(found: dict[str, np.ndarray], run: Run, rows: dict[str, int], chunks: int) -> Mistake | None:
    """Another row than that of C. What meets the chunks of A is a row of B."""
    for name, line in (("B", "column"), ("A", "row")):
        other = "AB".replace(name, "")
        # [chunk, row of the other operand, row of this one]
        came, of_k = np.divmod(found[other].astype(int) - 1, chunks)
        for chunk in range(chunks):
            wrong = (found[other][chunk] > 0) & (came[chunk] != np.arange(rows[name]))
            if wrong.any() and (wrong := wrong & (_times(run, other, rows, chunks, chunk) == 1)).any():
                row, at = np.argwhere(wrong)[0]
                where = f"{line.capitalize()} {at} of C is made with row {came[chunk, row, at]} of {name}"
                mine = of_k[chunk, row, at]
                met = _k(chunk) if mine == chunk else f"{_k(chunk)} of {other} meets its {_k(mine)}"
                look = f"look at {name}, where its rows are written and read, and at the {line} of C."
                return _line(f"other-row-of-{name.lower()}", f"{where} ({met}): {look}")
    return None


def _chunks(found: dict[str, np.ndarray], chunks: int) -> Mistake | None:
    """Another chunk of the right row. An operand is to blame when whole rows of it are right and others are not."""
    met = found["B"].transpose(0, 2, 1)  # [chunk of B, row of C, column of C]
    came = (met.astype(int) - 1) % chunks
    wrong = (met > 0) & (came != np.arange(chunks)[:, None, None])
    if not wrong.any():
        return None
    chunk, m, n = np.argwhere(wrong)[0]
    first = f"In row {m}, column {n} of C {_k(came[chunk, m, n])} of A meets {_k(chunk)} of B"
    any_wrong = wrong.any(axis=0)
    if any_wrong.all():
        return _line("other-order", f"{first}: A and B bring the same k, each in another order.")
    right_rows, right_columns = (~any_wrong.any(axis=axis) for axis in (1, 0))
    if right_rows.any() == right_columns.any():
        text = "elsewhere in C k meets k. A and B are both written in one way and read in another."
        return _line("other-k", f"{first}; {text}")
    name, line = ("A", "rows") if right_rows.any() else ("B", "columns")
    return _line(
        f"other-k-of-{name.lower()}",
        f"{first}; other {line} of C are right. The copy of {name} writes where the read does not look, "
        "or one register took the place of another.",
    )
