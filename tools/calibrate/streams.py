"""What DRAM gives and takes: kernels that read arrays, write one, or do both, each longer than L2 keeps."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from cupy_or_sim import device, timing

SOURCE = r"""
#define EACH 4
#define AT(i) (blockIdx.x * (size_t)(blockDim.x * EACH) + (i) * blockDim.x + threadIdx.x)

extern "C" __global__ void reads(const float4* a, const float4* b, float4* c)
{
    float4 kept[EACH];
    #pragma unroll
    for (int i = 0; i < EACH; ++i) kept[i] = a[AT(i)];
    float sum = 0;
    #pragma unroll
    for (int i = 0; i < EACH; ++i) sum += kept[i].x + kept[i].y + kept[i].z + kept[i].w;
    if (sum == 12345.678f) c[0] = kept[0];
}

extern "C" __global__ void writes(const float4* a, const float4* b, float4* c)
{
    float x = threadIdx.x;
    #pragma unroll
    for (int i = 0; i < EACH; ++i) c[AT(i)] = make_float4(x, x, x, i);
}

extern "C" __global__ void copies(const float4* a, const float4* b, float4* c)
{
    float4 kept[EACH];
    #pragma unroll
    for (int i = 0; i < EACH; ++i) kept[i] = a[AT(i)];
    #pragma unroll
    for (int i = 0; i < EACH; ++i) c[AT(i)] = kept[i];
}

extern "C" __global__ void sums(const float4* a, const float4* b, float4* c)
{
    float4 one[EACH], two[EACH];
    #pragma unroll
    for (int i = 0; i < EACH; ++i) { one[i] = a[AT(i)]; two[i] = b[AT(i)]; }
    #pragma unroll
    for (int i = 0; i < EACH; ++i)
        c[AT(i)] = make_float4(one[i].x + two[i].x, one[i].y + two[i].y, one[i].z + two[i].z, one[i].w + two[i].w);
}
"""
ARRAYS = {"reads": 1, "sums": 3, "copies": 2, "writes": 1}
"""Of each kernel: how many it touches. All but the reads write one of them."""
RATES = {"read": "reads", "third": "sums", "half": "copies", "written": "writes"}
"""The fields of `ptxsim.gpus.Dram`, and the kernel that measures each."""
THREADS, EACH = 256, 64  # of a block; bytes of a thread
SHORT, LONG = 256 << 20, 768 << 20
"""Bytes that two launches touch: what both take besides falls out."""
REPEATS = 20


def rates() -> Mapping[str, float]:
    """TB/s of this machine's GPU, by field. Raises RuntimeError where the longer launch takes no longer."""
    return {field: round(_rate(kernel), 2) for field, kernel in RATES.items()}


def _rate(name: str) -> float:
    cp = device.cp
    kernel = cp.RawKernel(SOURCE, name, options=("--std=c++17",))
    arrays = tuple(cp.arange(LONG // 4, dtype=np.float32) for _ in range(3))
    touched, times = [], []
    for size in (SHORT, LONG):
        blocks = size // ARRAYS[name] // (THREADS * EACH)
        run = partial(kernel, (blocks,), (THREADS,), arrays)
        touched.append(blocks * THREADS * EACH * ARRAYS[name])
        times.append(float(np.median(timing.burst(run, REPEATS))))
    if not times[1] > times[0]:
        raise RuntimeError(f"{name}: {LONG >> 20} MiB took {times[1]} us, and {SHORT >> 20} MiB {times[0]}")
    return (touched[1] - touched[0]) / (times[1] - times[0]) / 1e6
