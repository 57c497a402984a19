"""Measure what arithmetic of other warps costs wgmma, and wgmma them, on this machine's GPU, and freeze it:
arithmetic_beside_wgmma_h200.json.

    python -m research.record_arithmetic_beside_wgmma

It needs CuPy, compute capability 9.0 and a minute. In a block on each SM one warpgroup multiplies, eight m64n128k16
after eight; one or two others issue nothing but one kind of instruction until it is over. `product`: cycles of eight;
`each`: of an instruction of each of the others' warps, and `alone` where nobody multiplies. The file goes to the folder
that the environment variable OUT names, else to tests/golden.
"""

from itertools import product

import numpy as np

from course_lib import cp
from research.points import freeze
from tests.kernels.timed.arithmetic_beside_wgmma import FILE, INSTRUCTIONS, SHARED, kernel

SMS, TURNS = 132, 2000


def cycles(others: int, instruction: str, turns: int) -> tuple[float, float]:
    """Of what the first warpgroup does, and of one instruction: the SMs' median."""
    made, out = kernel(others, instruction), cp.zeros(3 * SMS, np.int64)
    for _ in range(2):
        made((SMS,), (128 * (1 + others),), (out, np.int32(turns), np.float32(0)), shared_mem=SHARED)
    first, issued, took = cp.asnumpy(out).reshape(SMS, 3).T
    return float(np.median(first)), float(np.median(took / np.maximum(issued, 1)))


def row(others: int, instruction: str) -> dict:
    first, each = cycles(others, instruction, TURNS)
    found = {"others": others, "instruction": instruction, "product": round(first / TURNS, 1)}
    if instruction == "none":
        return found
    return {**found, "each": round(each, 2), "alone": round(cycles(others, instruction, 0)[1], 2)}


def main() -> None:
    freeze(FILE, [row(others, instruction) for others, instruction in product((1, 2), INSTRUCTIONS)])


if __name__ == "__main__":
    main()
