"""Measure what copies to shared memory cost the loads beside them on this machine's GPU, and freeze it:
copies_beside_loads_h100.json.

    python tests/golden/record_copies_beside_loads.py

It needs CuPy and takes half a minute. In each turn a warp starts so many copies of 16 or 4 bytes a thread and loads so
many times four matrices with ldmatrix, without a bank conflict; it waits for the copies of the turn before. All blocks
copy the same 2 MB, which L2 has. The file goes to the folder that the environment variable OUT names, else next to this
script.
"""

import json
import os
import sys
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from course_lib import OPTIONS, cp
from cupy_or_sim import timing

HERE, FILE = Path(__file__).parent, "copies_beside_loads_h100.json"
SMS, WARPS, TURNS = 132, 8, 800
CODE = """
#include <course/cp_async.cuh>
extern "C" __global__ void __launch_bounds__(WARPS * 32) copies_beside_loads(
    const char* in, long long* cycles, int turns, unsigned* out)
{
    constexpr int OF_A_WARP = COPIES * SIZE * 32;
    alignas(128) __shared__ char matrices[512 + 16 * LOADS], to[WARPS][COPIES ? OF_A_WARP : 16];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned at = __cvta_generic_to_shared(matrices + lane * 16), sum = 0;
    __syncthreads();
    long long begin = clock64();
    #pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {
        const char* from = in + (turn * WARPS * OF_A_WARP + warp * OF_A_WARP) % (2 << 20);
        for (int i = 0; i < COPIES; ++i)
            copy_async<SIZE>(to[warp] + (i * 32 + lane) * SIZE, from + (i * 32 + lane) * SIZE);
        asm volatile("cp.async.commit_group;" ::: "memory");
        for (int i = 0; i < LOADS; ++i) {
            unsigned a, b, c, d;
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at + 16 * i) : "memory");
            sum += a ^ b ^ c ^ d;
        }
        asm volatile("cp.async.wait_group 1;" ::: "memory");
    }
    long long end = clock64();
    out[blockIdx.x * WARPS * 32 + threadIdx.x] = sum;
    if (threadIdx.x == 0) cycles[blockIdx.x] = end - begin;
}
"""


def kernel(size: int, copies: int, loads: int):
    """`size`: bytes that a thread copies each time: 16 go past L1, 4 through it."""
    names = {"SIZE": size, "COPIES": copies, "LOADS": loads, "WARPS": WARPS}
    defines = [f"-D{name}={value}" for name, value in names.items()]
    return cp.RawKernel(CODE, "copies_beside_loads", options=(*OPTIONS, *defines))


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
    found = [
        {"size": size, "copies": copies, "loads": loads, "cycles": cycles_of_a_turn(size, copies, loads)}
        for size, copies, loads in product((16, 4), (0, 1, 2, 4, 8), (32, 48, 64))
    ]
    made = {"gpu": timing.name(), "date": timing.today(), "points": found}
    (Path(os.environ.get("OUT", HERE)) / FILE).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
