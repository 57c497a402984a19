"""Two pipelined matrix products, each with 1 to 5 stages: what the counters and the mutants run on.

C = A @ B.T with A (M, K), B (N, K), C (M, N) in float32. `gemm_fp32` has everything column-major (contiguous
along M and N); `gemm_fp16` has everything row-major (A and B contiguous along K) and uses tensor cores.
With one stage a block fetches a k-tile, waits for it, computes, and only then fetches the next. With S > 1
it keeps S - 1 k-tiles on their way while it computes. Nothing else differs between the stages of a family:
the launch bounds let the compiler take so many registers that every version of NVRTC tried so far gives 4
(fp32) and 2 (fp16) resident blocks per multiprocessor of an H100, traced or not.

M, N and K must be multiples of the tile. K may have fewer k-tiles than the kernel has stages.
"""

from dataclasses import dataclass

PIPELINE = r"""#include <course/timeline.cuh>
#include <cuda_fp16.h>

constexpr int STAGES = @STAGES@;

// Start to copy 16 bytes from global to shared memory.
__device__ void copy_16(void* to, const void* from)
{
    unsigned address = __cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(address), "l"(from) : "memory");
}

// All copies that this thread started since the last commit make one group.
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Wait until at most the NEWER newest groups of this thread are still on their way.
template <int NEWER> __device__ void wait()
{
    asm volatile("cp.async.wait_group %0;" :: "n"(NEWER) : "memory");
}
"""

FP32 = (
    PIPELINE
    + r"""
constexpr int TILE = 64, DEPTH = 16;                  // a block makes 64 x 64 of C from k-tiles of 16

// Start to bring 16 columns of 64 neighbouring floats: 256 threads, 16 bytes each.
__device__ void fetch(float (&tile)[DEPTH][TILE], const float* source, int stride)
{
    int column = threadIdx.x / 16, row = threadIdx.x % 16 * 4;
    copy_16(&tile[column][row], &source[row + column * stride]);
}

extern "C" __global__ void __launch_bounds__(256, 4)
gemm_fp32(const float* A, const float* B, float* C, int M, int N, int K TRACE_ARG)
{
    __shared__ __align__(16) float As[STAGES][DEPTH][TILE], Bs[STAGES][DEPTH][TILE];
    int m = threadIdx.x % 16 * 4, n = threadIdx.x / 16 * 4;      // the corner of this thread's 4 x 4 of C
    int tiles = K / DEPTH;
    A += blockIdx.x * TILE;
    B += blockIdx.y * TILE;
    float sum[4][4] = {};                             // [n][m]

    auto issue = [&](int tile, int slot) {
        if (tile < tiles) {
            TRACE_BEGIN(copy, tile);
            fetch(As[slot], A + tile * DEPTH * M, M);
            fetch(Bs[slot], B + tile * DEPTH * N, N);
            TRACE_END(copy, tile);
        }
        commit();                                     // an empty group too: the wait counts groups
    };

    // Prologue: the first STAGES - 1 k-tiles start on their way.
    for (int tile = 0; tile < STAGES - 1; ++tile) issue(tile, tile);

    // Mainloop.
    int slot = 0;                                     // where the k-tile of this turn lies
    for (int tile = 0; tile < tiles; ++tile) {
        if (STAGES == 1) issue(tile, 0);
        TRACE_BEGIN(wait, tile);
        wait<(STAGES > 1 ? STAGES - 2 : 0)>();        // my part of this k-tile has landed
        TRACE_END(wait, tile);
        TRACE_BEGIN(barrier, tile);
        __syncthreads();                              // all parts have, and the slot of the last turn is free
        TRACE_END(barrier, tile);
        if (STAGES > 1) issue(tile + STAGES - 1, slot == 0 ? STAGES - 1 : slot - 1);

        TRACE_BEGIN(math, tile);
        #pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            float4 a4 = *(float4*)&As[slot][k][m], b4 = *(float4*)&Bs[slot][k][n];
            float a[4] = {a4.x, a4.y, a4.z, a4.w}, b[4] = {b4.x, b4.y, b4.z, b4.w};
            for (int j = 0; j < 4; ++j)
                for (int i = 0; i < 4; ++i)
                    sum[j][i] += a[i] * b[j];
        }
        TRACE_END(math, tile);
        if (STAGES == 1) __syncthreads();             // all have read the only slot
        slot = slot + 1 == STAGES ? 0 : slot + 1;
    }

    // Epilogue.
    TRACE_BEGIN(epilogue, 0);
    C += blockIdx.x * TILE + m + (blockIdx.y * TILE + n) * M;
    for (int j = 0; j < 4; ++j)
        *(float4*)&C[j * M] = make_float4(sum[j][0], sum[j][1], sum[j][2], sum[j][3]);
    TRACE_END(epilogue, 0);
}
"""
)

FP16 = (
    PIPELINE
    + r"""
constexpr int TILE = 128, DEPTH = 32;                 // a block makes 128 x 128 of C from k-tiles of 32
constexpr int SLOT = TILE * DEPTH;                    // halves in one k-tile of A or of B

// Where the 16-byte chunk `chunk` (0 .. 3, 8 halves along k) of a row lies in a slot. Eight rows that follow
// each other keep the same chunk in eight different groups of banks, so that ldmatrix reads them at once.
__device__ int swizzled(int row, int chunk) { return row * DEPTH + (chunk ^ row / 2 % 4) * 8; }

// Start to bring 128 rows of 32 neighbouring halves: 128 threads, 4 x 16 bytes each.
__device__ void fetch(__half* slot, const __half* source, int stride)
{
    int row = threadIdx.x / 4, chunk = threadIdx.x % 4;
    __half* to = slot + swizzled(row, chunk);         // the swizzle repeats every 8 rows
    const __half* from = source + row * stride + chunk * 8;
    #pragma unroll
    for (int turn = 0; turn < 4; ++turn)
        copy_16(to + turn * 32 * DEPTH, from + turn * 32 * stride);
}

// Four 8 x 8 matrices of halves from shared memory; lane l gives the address of row l % 8 of matrix l / 8.
__device__ void ldmatrix(unsigned (&out)[4], const __half* row)
{
    unsigned address = __cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3]) : "r"(address) : "memory");
}

// d += a @ b for a 16 x 16 piece of A and a 16 x 8 piece of B (the transpose of 8 rows of ours).
__device__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(128, 2)
gemm_fp16(const __half* A, const __half* B, float* C, int M, int N, int K TRACE_ARG)
{
    extern __shared__ __align__(128) __half shared[];
    __half *As = shared, *Bs = shared + STAGES * SLOT;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int m = warp % 2 * 64, n = warp / 2 * 64;         // the corner of this warp's 64 x 64 of C
    int tiles = K / DEPTH;
    A += blockIdx.x * TILE * K;
    B += blockIdx.y * TILE * K;
    float sum[4][8][4] = {};                          // [16 rows][8 columns][element of the fragment]

    auto issue = [&](int tile, int slot) {
        if (tile < tiles) {
            TRACE_BEGIN(copy, tile);
            fetch(As + slot * SLOT, A + tile * DEPTH, K);
            fetch(Bs + slot * SLOT, B + tile * DEPTH, K);
            TRACE_END(copy, tile);
        }
        commit();                                     // an empty group too: the wait counts groups
    };

    // Prologue: the first STAGES - 1 k-tiles start on their way.
    for (int tile = 0; tile < STAGES - 1; ++tile) issue(tile, tile);

    // Mainloop.
    int slot = 0;                                     // where the k-tile of this turn lies
    for (int tile = 0; tile < tiles; ++tile) {
        if (STAGES == 1) issue(tile, 0);
        TRACE_BEGIN(wait, tile);
        wait<(STAGES > 1 ? STAGES - 2 : 0)>();        // my part of this k-tile has landed
        TRACE_END(wait, tile);
        TRACE_BEGIN(barrier, tile);
        __syncthreads();                              // all parts have, and the slot of the last turn is free
        TRACE_END(barrier, tile);
        if (STAGES > 1) issue(tile + STAGES - 1, slot == 0 ? STAGES - 1 : slot - 1);

        TRACE_BEGIN(math, tile);
        #pragma unroll
        for (int k = 0; k < DEPTH / 8; k += 2) {      // in chunks of 8: each mma takes two
            // Matrices of A: rows 0-7 and 8-15 of the first chunk, then of the second.
            // Matrices of B: both chunks of rows 0-7, then of rows 8-15.
            const __half* a_row = As + slot * SLOT + m * DEPTH + swizzled(lane % 16, k + lane / 16);
            const __half* b_row = Bs + slot * SLOT + n * DEPTH
                                + swizzled(lane % 8 + lane / 16 * 8, k + lane / 8 % 2);
            unsigned a[4][4], b[4][4];
            for (int i = 0; i < 4; ++i) ldmatrix(a[i], a_row + i * 16 * DEPTH);
            for (int j = 0; j < 4; ++j) ldmatrix(b[j], b_row + j * 16 * DEPTH);
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 8; ++j)
                    mma(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
        TRACE_END(math, tile);
        if (STAGES == 1) __syncthreads();             // all have read the only slot
        slot = slot + 1 == STAGES ? 0 : slot + 1;
    }

    // Epilogue: a lane holds two neighbours in row lane / 4, and two in row lane / 4 + 8.
    TRACE_BEGIN(epilogue, 0);
    C += (blockIdx.x * TILE + m + lane / 4) * N + blockIdx.y * TILE + n + lane % 4 * 2;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 8; ++j) {
            float* c = C + i * 16 * N + j * 8;
            *(float2*)c = make_float2(sum[i][j][0], sum[i][j][1]);
            *(float2*)(c + 8 * N) = make_float2(sum[i][j][2], sum[i][j][3]);
        }
    TRACE_END(epilogue, 0);
}
"""
)


@dataclass(frozen=True)
class Pipelined:
    """A kernel with its launch: grid (M / tile[0], N / tile[1]), `threads` per block, `shared_mem` dynamic
    bytes. Compile it with `course_lib.OPTIONS`; `-DCOURSE_TRACE` adds the trace and its argument."""

    name: str
    source: str
    kernel: str
    tile: tuple[int, int, int]
    threads: int
    shared_mem: int
    dtype: str
    """Of A and B. C is float32."""
    stages: int


def gemm_fp32(stages: int) -> Pipelined:
    """float32, 64x64x16, column-major."""
    source = FP32.replace("@STAGES@", str(stages))
    return Pipelined(f"fp32_s{stages}", source, "gemm_fp32", (64, 64, 16), 256, 0, "float32", stages)


def gemm_fp16(stages: int) -> Pipelined:
    """float16 to float32, 128x128x32, row-major, 4 warps of 64x64 on tensor cores."""
    source = FP16.replace("@STAGES@", str(stages))
    shared_mem = stages * 2 * 128 * 32 * 2
    return Pipelined(
        f"fp16_s{stages}", source, "gemm_fp16", (128, 128, 32), 128, shared_mem, "float16", stages
    )


STAGES = (1, 2, 3, 4, 5)
PIPELINED = (*map(gemm_fp32, STAGES), *map(gemm_fp16, STAGES))
