"""Two float32 products C = A @ B.T that overlap copies and math: a double buffer, and the fastest one so far.

A (M, K), B (N, K) and C (M, N) are column-major (contiguous along M and N); M, N and K are multiples of the
tile. Any number of k-tiles will do, one too. docs/tuning.md tells what was tried on the way.
"""

from __future__ import annotations

from .pipelined import PIPELINE, Pipelined

DOUBLE_BUFFER = r"""#include <course/timeline.cuh>

constexpr int TM = 128, TN = 128, TK = 8, PAD = 2;    // the padded rows keep 8-byte copies aligned

// Start to copy two floats from global to shared memory.
__device__ void copy_8(void* to, const void* from)
{
    unsigned address = __cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"(address), "l"(from) : "memory");
}

__device__ void wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }

extern "C" __global__ void __launch_bounds__(256)
double_buffer(const float* A, const float* B, float* C, int M, int N, int K TRACE_ARG)
{
    alignas(8) __shared__ float As[2][TK][TM + PAD], Bs[2][TK][TN + PAD];
    int x = threadIdx.x % 32, y = threadIdx.x / 32;   // 32 x 8 threads, for the copy and for the math
    int tiles = K / TK;
    A += blockIdx.x * TM;
    B += blockIdx.y * TN;
    float acc[16][4] = {};                            // columns y, y + 8, ...; rows x, x + 32, ...
    float a[2][4], b[2][16];                          // fragments of this k-block and of the next one

    auto issue = [&](int tile, int buffer) {
        TRACE_BEGIN(copy, tile);
        for (int i = 2 * x; i < TM; i += 64) {
            copy_8(&As[buffer][y][i], &A[i + (tile * TK + y) * M]);
            copy_8(&Bs[buffer][y][i], &B[i + (tile * TK + y) * N]);
        }
        TRACE_END(copy, tile);
    };
    auto load = [&](int k, int buffer) {              // the fragments of k-block k, from shared memory
        for (int i = 0; i < 4; ++i) a[k % 2][i] = As[buffer][k][x + 32 * i];
        for (int j = 0; j < 16; ++j) b[k % 2][j] = Bs[buffer][k][y + 8 * j];
    };

    // Prologue: the first k-tile and its first fragments.
    issue(0, 0);
    wait_all();
    __syncthreads();
    int read = 0, write = 1;                          // the buffer of the newest k-tile; the other one
    int source = read;                                // the buffer that fragments come from
    load(0, source);

    // Mainloop.
    for (int tile = 0; tile < tiles; ++tile) {
        #pragma unroll
        for (int k = 0; k < TK; ++k) {
            if (k == TK - 1) {                        // the next fragments lie in the next k-tile
                TRACE_BEGIN(wait, tile);
                wait_all();
                TRACE_END(wait, tile);
                TRACE_BEGIN(barrier, tile);
                __syncthreads();
                TRACE_END(barrier, tile);
                source = read;
            }
            load((k + 1) % TK, source);
            if (k == 0 && tile + 1 < tiles) {
                issue(tile + 1, write);
                read ^= 1;
                write ^= 1;
            }
            if (k == 0) TRACE_BEGIN(math, tile);
            for (int j = 0; j < 16; ++j)
                for (int i = 0; i < 4; ++i)
                    acc[j][i] += a[k % 2][i] * b[k % 2][j];
            if (k == TK - 2) TRACE_END(math, tile);
        }
    }

    // Epilogue.
    TRACE_BEGIN(epilogue, 0);
    C += blockIdx.x * TM + x + (blockIdx.y * TN + y) * M;
    for (int j = 0; j < 16; ++j)
        for (int i = 0; i < 4; ++i)
            C[32 * i + 8 * j * M] = acc[j][i];
    TRACE_END(epilogue, 0);
}
"""

BEST = (
    PIPELINE.replace("@STAGES@", "4").replace("#include <cuda_fp16.h>\n", "")
    + r"""
constexpr int TM = 128, TN = 128, TK = 8;
constexpr int SLOT = TM * TK;                         // floats of a k-tile of A, and as many of B
constexpr int BARRIER = 4;                            // the k-step that begins with the barrier

extern "C" __global__ void __launch_bounds__(128, 2)
fp32_best(const float* A, const float* B, float* C, int M, int N, int K TRACE_ARG)
{
    alignas(16) __shared__ float As[STAGES][TK][TM], Bs[STAGES][TK][TN];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int m = warp % 2 * 64 + lane / 2 % 8 * 4;         // rows m .. m + 3 and m + 32 .. m + 35
    int n = warp / 2 * 64 + (lane % 2 + lane / 16 * 2) * 4;      // columns n .. n + 3, n + 16 .. n + 19, ...
    int tiles = K / TK;
    const float *a_from = &As[0][0][m], *b_from = &Bs[0][0][n];  // in the first slot
    float *a_to = &As[0][0][0] + threadIdx.x * 4, *b_to = &Bs[0][0][0] + threadIdx.x * 4;
    A += blockIdx.x * TM + lane * 4 + warp * M;       // 128 threads copy four columns at a time
    B += blockIdx.y * TN + lane * 4 + warp * N;
    int read = 0, write = (STAGES - 1) * SLOT;        // slots that fragments come from and copies go to
    float acc[16][8] = {};                            // [column][row]
    float a[2][8], b[2][16];                          // fragments of this k-step and of the next one

    auto copy = [&](int part, int slot) {             // a quarter of what this thread copies of a k-tile
        size_t k = part % 2 * 4;
        if (part < 2) copy_16(a_to + slot + k * TM, A + k * M);
        else          copy_16(b_to + slot + k * TN, B + k * N);
    };
    auto next_slot = [](int slot) { return slot == (STAGES - 1) * SLOT ? 0 : slot + SLOT; };
    auto next_tile = [&] { commit(); A += TK * (size_t)M; B += TK * (size_t)N; };
    auto load = [&](int k) {                          // the fragments of k-step k
        for (int i = 0; i < 8; i += 4)  *(float4*)&a[k % 2][i] = *(float4*)&a_from[read + k * TM + i * 8];
        for (int j = 0; j < 16; j += 4) *(float4*)&b[k % 2][j] = *(float4*)&b_from[read + k * TN + j * 4];
    };

    // Prologue: the first STAGES - 1 k-tiles start on their way; fragments of the first k-step.
    for (int tile = 0; tile < STAGES - 1; ++tile) {
        if (tile < tiles)
            for (int part = 0; part < 4; ++part) copy(part, tile * SLOT);
        next_tile();                                  // an empty group too: the wait counts groups
    }
    wait<STAGES - 2>();
    __syncthreads();
    load(0);

    // Mainloop. The barrier stands in mid-tile: k-steps before and behind it hide it.
    for (int tile = 0; tile < tiles; ++tile) {
        #pragma unroll
        for (int k = 0; k < TK; ++k) {
            if (k == BARRIER) {
                wait<STAGES - 3>();                   // my part of the next k-tile has landed
                __syncthreads();                      // all parts have, and the slot of the last one is free
            }
            if (k == TK - 1 && tile + 1 < tiles) read = next_slot(read);
            load((k + 1) % TK);
            if (k >= BARRIER && tile + STAGES - 1 < tiles) copy(k - BARRIER, write);
            for (int t = 0; t < 16; ++t)              // even columns, then odd ones; rows to and fro
                for (int s = 0; s < 8; ++s) {
                    int j = t % 8 * 2 + t / 8, i = t % 2 ? 7 - s : s;
                    acc[j][i] += a[k % 2][i] * b[k % 2][j];
                }
        }
        next_tile();
        write = next_slot(write);
    }

    // Epilogue. The sums go to new registers, four in a row for the 16-byte store. Without that the compiler
    // ties the registers of the whole mainloop, and two operands of an FMA more often share a register bank.
    C += blockIdx.x * TM + m + (blockIdx.y * TN + n) * M;
    for (int j = 0; j < 16; ++j)
        for (int i = 0; i < 8; i += 4) {
            float* c = acc[j] + i;
            *(float4*)&C[i * 8 + (j / 4 * 16 + j % 4) * M]
                = make_float4(c[0] + 0.0f, c[1] + 0.0f, c[2] + 0.0f, c[3] + 0.0f);
        }
}
"""
)

DOUBLE_BUFFERED = Pipelined(
    "double_buffer", DOUBLE_BUFFER, "double_buffer", (128, 128, 8), 256, 0, "float32", 2
)
FP32_BEST = Pipelined("fp32_best", BEST, "fp32_best", (128, 128, 8), 128, 0, "float32", 4)
FP32_KERNELS = (DOUBLE_BUFFERED, FP32_BEST)
