"""What DRAM, L2 and the start of blocks take, by kernels that do little else: dram_<gpu>.json in tests/golden.

`python -m research.record_dram` on a GPU (two minutes). "streams": microseconds of a launch that reads, writes or both,
by the bytes that it touches in all; launches of one kind on the same arrays follow each other, so what fits stays in
L2. "apart": of reads of one sector in so many. "few": of copies with little in flight. "blocks": of blocks that do
nothing. "atomics": of sums in global memory.
"""

import json
import sys

import cupy as cp
import numpy as np

from cupy_or_sim import timing
from ptxsim.gpus import file_name
from tests.kernels.golden import FOLDER
from tools.calibrate import streams

SOURCE = (
    streams.SOURCE
    + r"""
extern "C" __global__ void one_each(const float4* a, const float4* b, float4* c)
{
    size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    c[at] = a[at];
}

extern "C" __global__ void words(const float* a, const float* b, float* c)
{
    size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    c[at] = a[at];
}

extern "C" __global__ void in_turns(const float4* a, const float4* b, float4* c, int turns)
{
    size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x, step = gridDim.x * (size_t)blockDim.x;
    for (int i = 0; i < turns; ++i, at += step) c[at] = a[at];
}

extern "C" __global__ void apart(const float* a, float* c, int words)
{
    float sum = 0;
    #pragma unroll
    for (int i = 0; i < 4; ++i) sum += a[(blockIdx.x * (size_t)1024 + i * 256 + threadIdx.x) * words];
    if (sum == 12345.678f) c[0] = sum;
}

extern "C" __global__ void nothing(float* a) { if (a == nullptr) a[threadIdx.x] = 0; }

extern "C" __global__ void red(float* a, unsigned mask)
{
    atomicAdd(&a[(blockIdx.x * 256 + threadIdx.x) & mask], 1.0f);
}

extern "C" __global__ void red_of_a_warp(float* a, unsigned mask)
{
    if (threadIdx.x % 32 == 0) atomicAdd(&a[(blockIdx.x * 8 + threadIdx.x / 32) & mask], 1.0f);
}
"""
)
MB = 1 << 20
REPEATS = 30
SIZES = (4, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 128, 192, 256, 512, 1024, 3072)


def times(kernel, blocks: int, threads: int, args: tuple, shared: int = 0) -> list[float]:
    """Microseconds: the 10th, 50th and 90th of a hundred, of launches that follow each other."""

    def run() -> None:
        kernel((blocks,), (threads,), args, shared_mem=shared)

    for _ in range(3):
        run()
    return np.percentile(timing.burst(run, REPEATS), (10, 50, 90)).round(2).tolist()


def main() -> None:
    get = cp.RawModule(code=SOURCE, options=("--std=c++17",)).get_function
    a, b, c = (cp.random.random(1 << 28, dtype=cp.float32) for _ in range(3))  # 1 GiB each
    found: dict = {"gpu": timing.name(), "date": timing.today(), "streams": {}}
    for name, parts in streams.ARRAYS.items():
        rows = found["streams"][name] = {}
        for size in SIZES:
            blocks = size * MB // parts // (256 * 64)
            if blocks * 256 * 64 <= a.nbytes:
                rows[str(blocks * 256 * 64 * parts // MB)] = times(get(name), blocks, 256, (a, b, c))
    rows = found["apart"] = {}
    for words in (1, 8, 16, 32, 64):
        blocks = min(a.size // words // 1024, 1 << 16)
        label = f"a word of {words}, {blocks} blocks of 1024"
        rows[label] = times(get("apart"), blocks, 256, (a, c, words))
    rows = found["few"] = {}
    for name, each in (("one_each", 16), ("words", 4)):
        for threads in (64, 128, 256, 512, 1024):
            for shared in (0, 48 << 10, 100 << 10, 200 << 10):
                kernel = get(name)
                kernel.max_dynamic_shared_size_bytes = shared
                blocks = (256 * MB) // each // threads
                label = f"{name}, {threads} threads, {shared >> 10} KB, {blocks} blocks"
                rows[label] = times(kernel, blocks, threads, (a, b, c), shared)
    for blocks in (132, 264, 528, 1056):
        for turns in (4, 16):
            label = f"in_turns, 256 threads, {blocks} blocks, {turns} turns"
            rows[label] = times(get("in_turns"), blocks, 256, (a, b, c, np.int32(turns)))
    rows = found["blocks"] = {}
    for threads in (32, 128, 256, 1024):
        for blocks in (1, 132, 1320, 13200, 132000, 1320000):
            rows[f"{threads} threads, {blocks} blocks"] = times(get("nothing"), blocks, threads, (a,))
    rows = found["atomics"] = {}
    for name in ("red", "red_of_a_warp"):
        for bits in (0, 5, 10, 16, 24):
            label = f"{name}, {1 << bits} places, 16384 blocks of 256"
            rows[label] = times(get(name), 16384, 256, (c, np.uint32((1 << bits) - 1)))
    found["sm_mhz"] = timing.sm_clock_mhz(lambda: get("copies")((32768,), (256,), (a, b, c)), 200)
    path = FOLDER / f"dram_{file_name(timing.name())}" if len(sys.argv) < 2 else sys.argv[1]
    with open(path, "w") as file:
        json.dump(found, file, indent=1)
    print(path)


if __name__ == "__main__":
    main()
