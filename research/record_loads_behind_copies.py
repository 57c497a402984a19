"""Measure how long an ldmatrix takes behind copies to shared memory on this machine's GPU, and freeze it:
loads_behind_copies_h100.json.

    python -m research.record_loads_behind_copies

It needs CuPy and takes half a minute. In one block each warp starts so many copies of 16 bytes a thread, whose rows in
global memory have 512, 128 or 64 bytes: then a copy's 32 lanes ask for 4 lines, or for 8 halves. Behind them it loads
once with ldmatrix, and reads the clock when the values are there. The file goes to the folder that the environment
variable OUT names, else to tests/golden.
"""

from itertools import product

import numpy as np

from course_lib import cp
from research.points import freeze
from tests.kernels.timed.loads_behind_copies import FILE, TURNS, kernel

LAUNCHES = 20


def cycles_until_loaded(row: int, warps: int, copies: int) -> float:
    """Of the warps' median, the median of some launches."""
    made, shared = kernel(row, warps, copies), 512 * (1 + warps * copies)
    made.max_dynamic_shared_size_bytes = shared
    source, cycles, found = cp.zeros(1 << 24, np.uint8), cp.zeros(2 * warps, np.int32), []
    for _ in range(LAUNCHES):
        made((1,), (warps * 32,), (source, cycles, np.int32(TURNS)), shared_mem=shared)
        found.append(np.median(cp.asnumpy(cycles)[:warps]))
    return float(np.median(found))


def main() -> None:
    freeze(
        FILE,
        [
            {"row": row, "warps": warps, "copies": copies, "cycles": cycles_until_loaded(row, warps, copies)}
            for row, warps, copies in product((512, 128, 64), (1, 4, 8), (1, 2, 4, 8, 16))
        ],
    )


if __name__ == "__main__":
    main()
