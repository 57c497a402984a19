"""Loads from shared memory beside multiply-adds."""

from course_lib import cp
from tests.kernels.golden import FOLDER

FILE = FOLDER / "loads_beside_math_h100.json"
SMS, TURNS, SHARED, PRODUCTS = 132, 400, 16384, 8
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
