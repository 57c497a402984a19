"""Measure what loads from shared memory cost the multiply-adds beside them on this machine's GPU, and freeze it:
loads_beside_math_h100.json.

    python tests/golden/record_loads_beside_math.py

It needs CuPy and takes a minute. Each thread has ROWS x COLUMNS sums in registers and adds outer products to them; it
loads LOADS times four floats anew for each of them, while it makes the one before. The file goes to the folder that
the environment variable OUT names, else next to this script.
"""

import json
import os
import sys
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from course_lib import cp
from cupy_or_sim import timing

HERE, FILE = Path(__file__).parent, "loads_beside_math_h100.json"
SMS, TURNS, SHARED, PRODUCTS = 132, 400, 16384, 8
SUMS, THREADS = ((8, 16), (8, 8), (16, 8), (4, 8)), (128, 256, 512)
CODE = """
__device__ __forceinline__ void load(float* out, unsigned address)
{
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(out[0]), "=f"(out[1]), "=f"(out[2]), "=f"(out[3]) : "r"(address) : "memory");
}
extern "C" __global__ void __launch_bounds__(THREADS, 1) outer_products(
    float* out, float x, float y, int turns, long long* cycles)
{
    extern __shared__ float values[];
    for (int i = threadIdx.x; i < 4096; i += THREADS) values[i] = x + i * y;
    __syncthreads();
    constexpr int FOURS = (ROWS + COLUMNS) / 4;
    float sum[ROWS][COLUMNS] = {}, of[2][4 * FOURS];
    unsigned a = __cvta_generic_to_shared(values), b = a + 4096;
    if (SPREAD) a += threadIdx.x / 2 % 8 * 16, b += (threadIdx.x % 2 + threadIdx.x / 16 % 2 * 2) * 16;
    for (int i = 0; i < 2 * FOURS; ++i) load(&of[i % 2][i / 2 * 4], (i < 4 ? a : b) + 64 * (i / 2));
    long long begin = clock64();
    #pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            #pragma unroll
            for (int i = 0; i < LOADS; ++i) load(&of[(k + 1) % 2][4 * i], (i < ROWS / 4 ? a : b) + 64 * i + 1024 * k);
            for (int j = 0; j < COLUMNS; ++j)
                for (int t = 0; t < ROWS; ++t) {
                    int i = j % 2 ? ROWS - 1 - t : t;
                    sum[i][j] += of[k % 2][i] * of[k % 2][ROWS + j];
                }
        }
    }
    long long end = clock64();
    float all = 0;
    for (int i = 0; i < ROWS * COLUMNS; ++i) all += sum[i / COLUMNS][i % COLUMNS];
    out[blockIdx.x * THREADS + threadIdx.x] = all;
    if (threadIdx.x == 0) cycles[blockIdx.x] = end - begin;
}
"""


def kernel(rows: int, columns: int, threads: int, loads: int, spread: bool, *options: str):
    """`spread`: lanes load from different places, as in a product."""
    names = {"ROWS": rows, "COLUMNS": columns, "THREADS": threads, "LOADS": loads, "SPREAD": int(spread)}
    defines = [f"-D{name}={value}" for name, value in names.items()]
    return cp.RawKernel(CODE, "outer_products", options=("--use_fast_math", *defines, *options))


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
    made = {"gpu": timing.name(), "date": timing.today(), "points": found}
    (Path(os.environ.get("OUT", HERE)) / FILE).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
