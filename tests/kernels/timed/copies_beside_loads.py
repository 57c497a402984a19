"""Copies to shared memory beside loads from it."""

from course_lib import OPTIONS, cp
from tests.kernels.golden import FOLDER

FILE = FOLDER / "copies_beside_loads_h100.json"
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
