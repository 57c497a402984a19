"""Measure what loads from shared memory cost the multiply-adds beside them on this machine's GPU, and freeze it:
loads_beside_math_h100.json.

    python -m research.record_loads_beside_math

It needs CuPy and takes a minute. Each thread has ROWS x COLUMNS sums in registers and adds outer products to them; it
loads LOADS times four floats anew for each of them, while it makes the one before. The file goes to the folder that
the environment variable OUT names, else to tests/golden.
"""

from itertools import product

import numpy as np

from course_lib import cp
from research.points import freeze
from tests.kernels.timed.loads_beside_math import FILE, PRODUCTS, SHARED, SMS, TURNS, kernel

SUMS, THREADS = ((8, 16), (8, 8), (16, 8), (4, 8)), (128, 256, 512)


def share(row: dict) -> float | None:
    """Of the 128 multiply-adds that an SM can make in a cycle; None where there are too few registers."""
    made = kernel(*(row[name] for name in ("rows", "columns", "threads", "loads", "spread")))
    if made.local_size_bytes:
        return None
    out, cycles = cp.empty(SMS * row["threads"], np.float32), cp.zeros(SMS, np.int64)
    for _ in range(2):
        made(
            (SMS,),
            (row["threads"],),
            (out, np.float32(1.1), np.float32(0.3), np.int32(TURNS), cycles),
            shared_mem=SHARED,
        )
    return round(
        row["rows"] * row["columns"] * row["threads"] * PRODUCTS * TURNS / float(cycles.mean()) / 128, 3
    )


def main() -> None:
    found = []
    for (rows, columns), threads in product(SUMS, THREADS):
        for loads, spread in product(sorted({0, 1, 2, 3, 4, (rows + columns) // 4}), (False, True)):
            row = {"rows": rows, "columns": columns, "threads": threads, "loads": loads, "spread": spread}
            if (reached := share(row)) is not None:
                found.append({**row, "share": reached})
    freeze(FILE, found)


if __name__ == "__main__":
    main()
