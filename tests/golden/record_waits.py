"""Measure what some waits cost on this machine's GPU, and freeze it: waits_h100.json.

    python tests/golden/record_waits.py

It needs CuPy, compute capability 9.0 and some seconds. `lines`: cycles of an SM for a load, where all warps load
the same lines, and these are new each time or not. `there_and_back`: cycles from one warp to another and back by two
mbarriers; `ready`: of a wait for a phase that has ended. `in_line`: cycles at which two warps of a warpgroup have
issued one wgmma after the other, the first warp and the last. The file goes to the folder that the environment
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
from cupy_or_sim import device, timing

HERE, FILE = Path(__file__).parent, "waits_h100.json"
SMS, TURNS, LOADS, REGION = 132, 512, 8, 1 << 16
WARPS, NEW, SAME = (1, 4, 8, 16, 32), 256, 0
GROUPS, EACH, READY = 6, 4, 32
LINES = """
extern "C" __global__ void lines(const float* from, float* out, int turns, int step, int word, long long* cycles)
{
    int warp = threadIdx.x / 32, at = blockIdx.x * REGION + (word ? warp : threadIdx.x % 32);
    float sum[LOADS] = {};
    __syncthreads();
    long long begin = clock64();
    #pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {
        float loaded[LOADS];
        #pragma unroll
        for (int i = 0; i < LOADS; ++i) loaded[i] = from[at + i * 32];
        #pragma unroll
        for (int i = 0; i < LOADS; ++i) sum[i] += loaded[i];
        at += step;
    }
    long long end = clock64();
    float all = 0;
    for (int i = 0; i < LOADS; ++i) all += sum[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = all;
    if (threadIdx.x % 32 == 0) {
        cycles[(blockIdx.x * 32 + warp) * 2] = begin;
        cycles[(blockIdx.x * 32 + warp) * 2 + 1] = end;
    }
}
"""
THERE_AND_BACK = """
#include <course/mbarrier.cuh>
extern "C" __global__ void there_and_back(float* out, int turns, long long* cycles)
{
    __shared__ Mbarrier there, back;
    if (threadIdx.x == 0) {
        mbarrier_init(&there, 1);
        mbarrier_init(&back, 1);
        mbarrier_init_done();
    }
    __syncthreads();
    long long begin = clock64();
    for (int turn = 0; turn < turns; ++turn) {
        if (threadIdx.x < 32) {
            if (threadIdx.x == 0) mbarrier_arrive(&there);
            mbarrier_wait(&back, turn % 2);
        } else {
            mbarrier_wait(&there, turn % 2);
            if (threadIdx.x == 32) mbarrier_arrive(&back);
        }
    }
    long long end = clock64();
    out[threadIdx.x] = turns;
    if (threadIdx.x == 0) cycles[0] = end - begin;
}
"""
READY_ONES = """
#include <course/mbarrier.cuh>
extern "C" __global__ void ready(long long* cycles)
{
    __shared__ Mbarrier barrier;
    if (threadIdx.x == 0) {
        mbarrier_init(&barrier, 1);
        mbarrier_init_done();
    }
    __syncthreads();
    long long begin = clock64();
    #pragma unroll
    for (int i = 0; i < READY; ++i) mbarrier_wait(&barrier, 1);
    long long end = clock64();
    if (threadIdx.x == 0) cycles[0] = end - begin;
}
"""
IN_LINE = """
#include <course/wgmma.cuh>
extern "C" __global__ void __launch_bounds__(128, 1) in_line(float* out, unsigned* issued)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    for (int i = threadIdx.x; i < 12288; i += 128) ((int*)memory)[i] = 0;
    float d[128] = {};
    unsigned at[GROUPS * EACH];
    unsigned long long a = matrix_descriptor(memory), b = matrix_descriptor(memory + 16384);
    __syncthreads();
    #pragma unroll
    for (int group = 0; group < GROUPS; ++group) {
        wgmma_fence();
        #pragma unroll
        for (int k = 0; k < EACH; ++k) {
            wgmma_m64n256k16(d, a + 2 * k, b + 2 * k, 1);
            asm volatile("mov.u32 %0, %%clock;" : "=r"(at[group * EACH + k]) :: "memory");
        }
        wgmma_commit();
    }
    wgmma_wait<0>();
    float all = 0;
    for (int i = 0; i < 128; ++i) all += d[i];
    out[threadIdx.x] = all;
    if (threadIdx.x % 32 == 0)
        for (int i = 0; i < GROUPS * EACH; ++i) issued[threadIdx.x / 32 * GROUPS * EACH + i] = at[i];
}
"""


def kernel(code: str, name: str, *options: str):
    names = {"REGION": REGION, "LOADS": LOADS, "GROUPS": GROUPS, "EACH": EACH, "READY": READY}
    return cp.RawKernel(
        code, name, options=(*(f"-D{name}={value}" for name, value in names.items()), *options)
    )


def of_lines(warps: int, step: int, word: int) -> float:
    """For a load of a warp."""
    made, cycles = kernel(LINES, "lines", *OPTIONS), cp.zeros((SMS, 32, 2), np.int64)
    data, out = cp.zeros(SMS * REGION + TURNS * NEW, np.float32), cp.empty(SMS * 1024, np.float32)
    best = np.inf
    for _ in range(3):
        args = data, out, np.int32(TURNS), np.int32(step), np.int32(word), cycles
        made((SMS,), (32 * warps,), args)
        noted = cp.asnumpy(cycles)[:, :warps]
        best = min(best, float(np.median(noted[:, :, 1].max(1) - noted[:, :, 0].min(1))))
    return round(best / TURNS / LOADS / warps, 2)


def of_mbarriers() -> dict[str, float]:
    out, cycles, found = cp.empty(64, np.float32), cp.zeros(1, np.int64), {}
    for _ in range(2):
        kernel(THERE_AND_BACK, "there_and_back", *device.HOPPER)((1,), (64,), (out, np.int32(TURNS), cycles))
        found["there_and_back"] = round(int(cycles[0]) / TURNS, 1)
        kernel(READY_ONES, "ready", *device.HOPPER)((1,), (32,), (cycles,))
        found["ready"] = round(int(cycles[0]) / READY, 1)
    return found


def of_wgmma() -> list[list[int]]:
    """Of the first warp and of the last, from the first one's first wgmma on."""
    made, issued = kernel(IN_LINE, "in_line", *device.HOPPER), cp.zeros((4, GROUPS * EACH), np.uint32)
    for _ in range(2):
        made((1,), (128,), (cp.empty(128, np.float32), issued), shared_mem=49152)
    times = cp.asnumpy(issued).astype(np.int64)
    return (times[[0, 3]] - times[0, 0]).tolist()


def main() -> None:
    points = [
        {"warps": warps, "step": step, "word": word, "cycles": of_lines(warps, step, word)}
        for warps, step, word in product(WARPS, (NEW, SAME), (0, 1))
    ]
    about = {"gpu": timing.name(), "date": timing.today()}
    found = {"provenance": about, **of_mbarriers(), "in_line": of_wgmma(), "lines": points}
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items())
    folder = Path(os.environ.get("OUT", HERE))
    (folder / FILE).write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
