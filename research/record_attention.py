"""Measure which share of the tensor cores' rate variants of attention reach on this machine's GPU, and freeze it:
attention_h200.json.

    python -m research.record_attention

It needs CuPy, compute capability 9.0 and a minute. The share is what they multiply in a cycle of the SMs' clock, which
while they run is uncertain by some percent: the mean of three bursts. The file goes to the folder that the environment
variable OUT names, else to tests/golden.
"""

import math

import numpy as np

from course_lib import cp
from cupy_or_sim import timing
from cupy_or_sim.tensor_maps import tensor_map
from research.points import freeze
from tests.kernels.timed.attention import (
    DEPTH,
    FILE,
    FLOP,
    FLOP_A_CYCLE,
    HEADS,
    KEYS,
    LENGTH,
    SMS,
    VARIANTS,
    blocks,
    kernel,
    named,
    shared,
)

BURSTS = 3


def share(**changed: int) -> float:
    made, rows = kernel(**changed), HEADS * LENGTH
    made.max_dynamic_shared_size_bytes = shared(**changed)
    random = cp.random.default_rng(1)
    arrays = [random.standard_normal((rows, DEPTH), dtype=cp.float32).astype(cp.float16) for _ in range(3)]
    arrays.append(cp.empty_like(arrays[0]))
    maps = [tensor_map(array, (box, 64)) for array, box in zip(arrays, (64, KEYS, KEYS, 64), strict=True)]
    tiles, scale = blocks(**changed), np.float32(DEPTH**-0.5 * math.log2(math.e))
    args = (*maps, np.int32(LENGTH), np.int32(tiles), scale)
    threads = 128 * (changed.get("WG", 2) + 1)

    def run() -> None:
        made((tiles,), (threads,), args, shared_mem=shared(**changed))

    found = []
    for _ in range(BURSTS):
        us = float(np.median(timing.burst(run, 20)))
        found.append(FLOP / us / timing.sm_clock_mhz(run, us) / SMS / FLOP_A_CYCLE)
    return round(float(np.mean(found)), 3)


def main() -> None:
    freeze(FILE, [{"variant": variant, "share": share(**named(variant))} for variant in VARIANTS])


if __name__ == "__main__":
    main()
