"""A load from shared memory behind copies to it."""

from course_lib import OPTIONS, cp
from tests.kernels.golden import FOLDER

FILE = FOLDER / "loads_behind_copies_h100.json"
TURNS = 16
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
