"""Loads of lines that are on their way, mbarriers, wgmma in line."""

from course_lib import cp
from tests.kernels.golden import FOLDER

FILE = FOLDER / "waits_h100.json"
SMS, TURNS, LOADS, REGION = 132, 512, 8, 1 << 16
NEW, SAME = 256, 0  # floats from one turn to the next
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
