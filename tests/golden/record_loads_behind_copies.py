"""Measure how long an ldmatrix takes behind copies to shared memory on this machine's GPU, and freeze it:
loads_behind_copies_h100.json.

    python tests/golden/record_loads_behind_copies.py

It needs CuPy and takes half a minute. In one block each warp starts so many copies of 16 bytes a thread, whose rows in
global memory have 512, 128 or 64 bytes: then a copy's 32 lanes ask for 4 lines, or for 8 halves. Behind them it loads
once with ldmatrix, and reads the clock when the values are there. The file goes to the folder that the environment
variable OUT names, else next to this script.
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

HERE, FILE = Path(__file__).parent, "loads_behind_copies_h100.json"
TURNS, LAUNCHES = 16, 20
CODE = """
#include <course/cp_async.cuh>
extern "C" __global__ void __launch_bounds__(WARPS * 32) loads_behind_copies(const char* in, int* cycles, int turns)
{
    extern __shared__ __align__(128) char matrices[];
    constexpr int ROWS = 512 / ROW, PITCH = ROW == 512 ? 512 : 2048;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, taken = 0;
    char* to = matrices + 512 + (warp * COPIES * 32 + lane) * 16;
    unsigned at = __cvta_generic_to_shared(matrices + lane * 16), sum = 0;
    #pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {
        const char* from = in + (warp * COPIES * ROWS + lane * 16 / ROW) * PITCH + lane * 16 % ROW
            + turn % (PITCH / ROW) * ROW;
        int begin, end;
        unsigned a, b, c, d;
        __syncthreads();
        asm volatile("mov.u32 %0, %%clock;" : "=r"(begin) :: "memory");
        for (int i = 0; i < COPIES; ++i) copy_async<16>(to + i * 512, from + i * ROWS * PITCH);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at) : "memory");
        sum += a ^ b ^ c ^ d;
        asm volatile("{ .reg .u32 t; add.u32 t, %1, 1; mov.u32 %0, %%clock; add.u32 %1, t, 0; }"
                     : "=r"(end), "+r"(sum) :: "memory");
        taken = end - begin;
        asm volatile("cp.async.wait_all;" ::: "memory");
    }
    if (lane == 0) {
        cycles[warp] = taken;
        cycles[WARPS + warp] = sum;
    }
}
"""


def kernel(row: int, warps: int, copies: int):
    """`row`: bytes that lie together in global memory."""
    names = {"ROW": row, "WARPS": warps, "COPIES": copies}
    defines = [f"-D{name}={value}" for name, value in names.items()]
    return cp.RawKernel(CODE, "loads_behind_copies", options=(*OPTIONS, *defines))


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
    found = [
        {"row": row, "warps": warps, "copies": copies, "cycles": cycles_until_loaded(row, warps, copies)}
        for row, warps, copies in product((512, 128, 64), (1, 4, 8), (1, 2, 4, 8, 16))
    ]
    made = {"gpu": timing.name(), "date": timing.today(), "points": found}
    (Path(os.environ.get("OUT", HERE)) / FILE).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
