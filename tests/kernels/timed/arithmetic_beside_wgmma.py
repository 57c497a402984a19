"""Arithmetic of other warps beside wgmma: one warpgroup multiplies, the others issue one kind of instruction."""

from course_lib import cp
from cupy_or_sim import device
from tests.kernels.golden import FOLDER

FILE = FOLDER / "arithmetic_beside_wgmma_h200.json"
EACH, COLUMNS, AT_ONCE = 8, 128, 256
"""wgmma of a product, their columns, and instructions of the others between two looks at whether it is over."""
ALONE = 1_000_000  # cycles for which the others run where there are no products
SHARED = 32 << 10  # two halves of 128 rows, 64 columns each
REGISTERS = ", ".join(f"%{at}" for at in range(COLUMNS // 2))
SUMS = ", ".join(f'"+f"(d[{at}])' for at in range(COLUMNS // 2))
INSTRUCTIONS = {
    "none": "__nanosleep(20000)",
    "FMUL": 'asm volatile("mul.ftz.f32 %0, %0, %1;" : "+f"(x[i]) : "f"(a))',
    "FFMA": 'asm volatile("fma.rn.ftz.f32 %0, %0, %1, %2;" : "+f"(x[i]) : "f"(a), "f"(b))',
    "FADD": 'asm volatile("add.ftz.f32 %0, %1, %2;" : "+f"(x[i % 4]) : "f"(x[i % 4]), "f"(x[i]))',
    "FMNMX": 'asm volatile("max.ftz.f32 %0, %0, %1;" : "+f"(x[i]) : "f"(x[(i + 5) % 32]))',
    "MUFU": 'asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[i]))',
    "IADD": 'asm volatile("add.s32 %0, %0, %1;" : "+r"(h[i % 16]) : "r"(h[(i + 3) % 16]))',
}
"""Of IADD ptxas makes IMAD and IADD3, three to two."""
CODE = """
#include <course/named_barrier.cuh>
#include <course/wgmma.cuh>
__device__ __forceinline__ void product(float (&d)[COLUMNS / 2], unsigned (&p)[4 * EACH], unsigned long long b)
{
    wgmma_fence();
    #pragma unroll
    for (int i = 0; i < EACH; ++i)
        asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
                     "{REGISTERS}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
                     : SUMS : "r"(p[4 * i]), "r"(p[4 * i + 1]), "r"(p[4 * i + 2]), "r"(p[4 * i + 3]), "l"(b + 128 * i));
    wgmma_commit();
}
extern "C" __global__ void __launch_bounds__(128 * (1 + OTHERS)) beside(long long* out, int turns, float seed)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ int done;
    for (int i = threadIdx.x; i < SHARED / 4; i += blockDim.x) ((int*)memory)[i] = 0;
    if (threadIdx.x == 0) done = 0;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x < 128) {
        float d[COLUMNS / 2], sum = 0;
        unsigned p[4 * EACH];
        unsigned long long b = matrix_descriptor(memory) + ((SHARED / 2 >> 4) - 1 << 16);   // rows of 16 after 16
        for (int i = 0; i < COLUMNS / 2; ++i) d[i] = seed;
        for (int i = 0; i < 4 * EACH; ++i) p[i] = 0;
        for (int i = 0; i < 4; ++i) {
            product(d, p, b);
            wgmma_wait<0>();
        }
        long long begin = clock64();
        if (turns) {
            product(d, p, b);
            for (int turn = 1; turn < turns; ++turn) {
                product(d, p, b);
                wgmma_wait<1>();
            }
            wgmma_wait<0>();
        } else
            while (clock64() - begin < ALONE) ;
        long long took = clock64() - begin;
        if (threadIdx.x == 0) out[blockIdx.x * 3] = took;
        named_sync<128>(3);
        *(volatile int*)&done = 1;
        for (int i = 0; i < COLUMNS / 2; ++i) sum += d[i];
        if (sum == 12345.f) out[0] = 1;
    } else {
        float x[32], a = seed, b = seed * 2, sum = 0;
        unsigned h[16];
        for (int i = 0; i < 32; ++i) x[i] = seed + i;
        for (int i = 0; i < 16; ++i) h[i] = i;
        long long count = 0, begin = clock64();
        while (!*(volatile int*)&done) {
            #pragma unroll
            for (int r = 0; r < AT_ONCE / 32; ++r)
                #pragma unroll
                for (int i = 0; i < 32; ++i) { INSTRUCTION; }
            ++count;
        }
        long long took = clock64() - begin;
        if (threadIdx.x == 128) {
            out[blockIdx.x * 3 + 1] = count * AT_ONCE;
            out[blockIdx.x * 3 + 2] = took;
        }
        for (int i = 0; i < 32; ++i) sum += x[i];
        for (int i = 0; i < 16; ++i) sum += h[i];
        if (sum == 12345.f) out[1] = 1;
    }
}
"""


def kernel(others: int, instruction: str):
    """So many other warpgroups. Beside two of them ptxas lets each wgmma wait for the one before."""
    texts = {"REGISTERS": REGISTERS, "SUMS": SUMS, "INSTRUCTION": INSTRUCTIONS[instruction]}
    code = CODE
    for name, text in texts.items():
        code = code.replace(name, text)
    numbers = {
        "OTHERS": others,
        "EACH": EACH,
        "COLUMNS": COLUMNS,
        "AT_ONCE": AT_ONCE,
        "ALONE": ALONE,
        "SHARED": SHARED,
    }
    defines = [f"-D{name}={value}" for name, value in numbers.items()]
    return cp.RawKernel(code, "beside", options=(*device.HOPPER, *defines))
