"""Measure what SMs move to and from L2 in a cycle on this machine's GPU, and freeze it: "traffic" in clock_h100.json.

    python -m research.record_traffic

It needs CuPy and compute capability 9.0, and takes seconds. Each block has an SM and a region of its own, which stays
in L2. The file goes to the folder that the environment variable OUT names, else to tests/golden.
"""

import json
import os
from pathlib import Path

import numpy as np

from course_lib import OPTIONS, cp
from cupy_or_sim import tensor_map
from cupy_or_sim.device import HOPPER
from tests.kernels.golden import FOLDER

SMS, TURNS, TRIES = 132, 16, 5
ONE_BLOCK = 200 << 10  # bytes of shared memory, so that an SM has one block

FLOATS = 32768  # of a block's region
STORES = """
extern "C" __global__ void stores(float* out, long long* cycles, int turns)
{
    constexpr int LINES = 256 / LANES;                     // lines of 128 bytes that all threads write a part of
    float* mine = out + (size_t)blockIdx.x * FLOATS + threadIdx.x / LANES * 32 + threadIdx.x % LANES;
    __syncthreads();
    long long begin = clock64();
    for (int turn = 1; turn <= turns; ++turn) {
        for (int line = 0; line < FLOATS / 32; line += LINES)
            for (int part = 0; part < 32; part += LANES) mine[line * 32 + part] = turn;
        asm volatile("" ::: "memory");                     // else the compiler stores in the last turn only
    }
    __syncthreads();
    if (threadIdx.x == 0) cycles[blockIdx.x] = clock64() - begin;
}
"""
LANES = {"lines": 32, "whole sectors": 8, "half sectors": 4, "quarter sectors": 2}

ROWS, K_TILES, SLOTS = 384, 4, 4
SLOT = ROWS * 128
LOADS = """
#include <course/tma.cuh>
extern "C" __global__ void loads(const __grid_constant__ TensorMap A, long long* cycles, int k_tiles)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Mbarrier* full = (Mbarrier*)(memory + SLOTS * ROWS * 128);
    if (threadIdx.x > 0) return;
    for (int slot = 0; slot < SLOTS; ++slot) mbarrier_init(&full[slot], 1);
    mbarrier_init_done();
    long long begin = clock64();
    for (int k = 0; k < k_tiles + SLOTS; ++k) {
        int slot = k % SLOTS;
        if (k >= SLOTS) mbarrier_wait(&full[slot], (k / SLOTS + 1) % 2);
        if (k >= k_tiles) continue;
        mbarrier_expect(&full[slot], ROWS * 128);
        load_rows(ROWS, memory + slot * ROWS * 128, A, k % K_TILES * 64, blockIdx.x * ROWS, &full[slot]);
    }
    cycles[blockIdx.x] = clock64() - begin;
}
"""


def stores(lanes: int, blocks: int, turns: int) -> tuple[object, np.ndarray]:
    """What one launch wrote, and its bytes per cycle for each block: `lanes` neighbours write to one place."""
    out, cycles = cp.zeros(blocks * FLOATS, np.float32), cp.zeros(blocks, np.int64)
    source = STORES.replace("LANES", str(lanes)).replace("FLOATS", str(FLOATS))
    kernel = cp.RawKernel(source, "stores", options=OPTIONS)
    kernel.max_dynamic_shared_size_bytes = ONE_BLOCK
    kernel((blocks,), (256,), (out, cycles, np.int32(turns)), shared_mem=ONE_BLOCK)
    return out, turns * FLOATS * 4 / cp.asnumpy(cycles)


def loads(blocks: int, turns: int) -> np.ndarray:
    """Bytes per cycle for each block of one launch, 48 KB at a time and four of them on their way."""
    A, cycles = cp.zeros((blocks * ROWS, K_TILES * 64), np.float16), cp.zeros(blocks, np.int64)
    source = LOADS.replace("SLOTS", str(SLOTS)).replace("K_TILES", str(K_TILES)).replace("ROWS", str(ROWS))
    kernel = cp.RawKernel(source, "loads", options=HOPPER)
    kernel.max_dynamic_shared_size_bytes = SLOTS * (SLOT + 8)
    args = tensor_map(A, (64, 64)), cycles, np.int32(turns * K_TILES)
    kernel((blocks,), (32,), args, shared_mem=SLOTS * (SLOT + 8))
    return turns * K_TILES * SLOT / cp.asnumpy(cycles)


def figures(launch) -> list[float]:
    """Median and slowest SM, in the median of a few launches after one to warm up."""
    tries = [launch() for _ in range(TRIES + 1)][1:]
    return [round(float(np.median([of(rates) for rates in tries])), 1) for of in (np.median, np.min)]


def main() -> None:
    path = FOLDER / "clock_h100.json"
    golden = json.loads(path.read_text())
    found = {
        f"stores, {name}, {blocks} SMs": figures(
            lambda lanes=lanes, blocks=blocks: stores(lanes, blocks, TURNS)[1]
        )
        for name, lanes in LANES.items()
        for blocks in (SMS, 16)
    }
    found |= {f"bulk copies, {blocks} SMs": figures(lambda n=blocks: loads(n, TURNS)) for blocks in (SMS, 16)}
    golden["traffic"] = {
        "what": "bytes per cycle and SM, median and slowest SM; stores: bytes given",
        **found,
    }
    for name, each in found.items():
        print(f"{name:32} {each[0]:6.1f} {each[1]:6.1f}")
    target = Path(os.environ.get("OUT", FOLDER)) / path.name
    target.write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
