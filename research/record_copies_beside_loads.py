"""Measure what copies to shared memory cost the loads beside them on this machine's GPU, and freeze it:
copies_beside_loads_h100.json.

    python -m research.record_copies_beside_loads

It needs CuPy and takes half a minute. In each turn a warp starts so many copies of 16 or 4 bytes a thread and loads so
many times four matrices with ldmatrix, without a bank conflict; it waits for the copies of the turn before. All blocks
copy the same 2 MB, which L2 has. The file goes to the folder that the environment variable OUT names, else to
tests/golden.
"""

from itertools import product

import numpy as np

from course_lib import cp
from research.points import freeze
from tests.kernels.timed.copies_beside_loads import FILE, SMS, TURNS, WARPS, kernel


def cycles_of_a_turn(size: int, copies: int, loads: int) -> float:
    made = kernel(size, copies, loads)
    source, cycles, out = (
        cp.zeros(4 << 20, np.uint8),
        cp.zeros(SMS, np.int64),
        cp.zeros(SMS * 1024, np.uint32),
    )

    def total(turns: int) -> float:
        for _ in range(3):
            made((SMS,), (WARPS * 32,), (source, cycles, np.int32(turns), out))
        return float(np.median(cp.asnumpy(cycles)))

    return round((total(TURNS + 200) - total(200)) / TURNS, 1)


def main() -> None:
    freeze(
        FILE,
        [
            {"size": size, "copies": copies, "loads": loads, "cycles": cycles_of_a_turn(size, copies, loads)}
            for size, copies, loads in product((16, 4), (0, 1, 2, 4, 8), (32, 48, 64))
        ],
    )


if __name__ == "__main__":
    main()
