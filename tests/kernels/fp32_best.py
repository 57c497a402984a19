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
    PIPELINE.replace("@STAGES@", "3").replace("#include <cuda_fp16.h>\n", "")
    + r"""
constexpr int TM = 128, TN = 128, TK = 8;
constexpr int THREADS = TM * TN / 128;                // each makes 16 columns of 8 rows
constexpr int BARRIER = TK / 2;                       // the k-step that begins with the barrier
constexpr int SLOT = (TM + TN) * TK;                  // floats of one k-tile: A, and B behind it
constexpr int TURN = 4 * THREADS;                     // floats that all threads together copy at once
constexpr int TURNS_A = TM * TK / TURN, TURNS = SLOT / TURN;

extern "C" __global__ void __launch_bounds__(THREADS, 256 / THREADS)
fp32_best(const float* A, const float* B, float* C, int M, int N, int K TRACE_ARG)
{
    extern __shared__ __align__(16) float slots[];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int m = warp % 2 * 64 + lane / 2 % 8 * 4;         // rows m .. m + 3 and m + 32 .. m + 35
    int n = warp / 2 * 64 + (lane % 2 + lane / 16 * 2) * 4;      // columns n .. n + 3, n + 16 .. n + 19, ...
    int tiles = K / TK;
    A += blockIdx.x * TM + threadIdx.x * 4 % TM + threadIdx.x * 4 / TM * M;
    B += blockIdx.y * TN + threadIdx.x * 4 % TN + threadIdx.x * 4 / TN * N;
    float *a_from = slots + m, *b_from = slots + TM * TK + n, *to = slots + threadIdx.x * 4;
    int read = 0, write = (STAGES - 1) * SLOT;        // slots that fragments come from and copies go to
    float acc[16][8] = {};                            // [column][row]
    float a[2][8], b[2][16];                          // fragments of this k-step and of the next one

    auto copy = [&](int turn, int slot) {             // 16 bytes: first all of A, then all of B
        size_t done = (turn < TURNS_A ? turn : turn - TURNS_A) * TURN;
        copy_16(to + slot + turn * TURN, turn < TURNS_A ? A + done / TM * M : B + done / TN * N);
    };
    auto next_tile = [&] { commit(); A += TK * (size_t)M; B += TK * (size_t)N; };
    auto next_slot = [](int slot) { return slot == (STAGES - 1) * SLOT ? 0 : slot + SLOT; };
    auto load = [&](int k) {                          // the fragments of k-step k
        for (int i = 0; i < 8; i += 4)  *(float4*)&a[k % 2][i] = *(float4*)&a_from[read + k * TM + i * 8];
        for (int j = 0; j < 16; j += 4) *(float4*)&b[k % 2][j] = *(float4*)&b_from[read + k * TN + j * 4];
    };

    // Prologue: the first STAGES - 1 k-tiles start on their way; fragments of the first k-step.
    for (int tile = 0; tile < STAGES - 1; ++tile) {
        if (tile < tiles)
            for (int turn = 0; turn < TURNS; ++turn) copy(turn, tile * SLOT);
        next_tile();                                  // an empty group too: the wait counts groups
    }
    wait<STAGES - 2>();
    __syncthreads();
    load(0);

    // Mainloop. The barrier stands in mid-tile, so that no one waits for the fragments behind it.
    for (int tile = 0; tile < tiles; ++tile) {
        #pragma unroll
        for (int k = 0; k < TK; ++k) {
            if (k == BARRIER) {
                TRACE_BEGIN(wait, tile);
                wait<STAGES - 3>();                   // my part of the next k-tile has landed
                TRACE_END(wait, tile);
                TRACE_BEGIN(barrier, tile);
                __syncthreads();                      // all parts have, and the slot of the last one is free
                TRACE_END(barrier, tile);
            }
            if (k == TK - 1 && tile + 1 < tiles) read = next_slot(read);
            load((k + 1) % TK);
            int turn = k - BARRIER;                   // one turn in each k-step behind the barrier
            if (turn >= 0 && turn < TURNS && tile + STAGES - 1 < tiles) copy(turn, write);
            for (int j = 0; j < 16; ++j)              // rows to and fro: neighbours share an operand
                for (int s = 0; s < 8; ++s) {
                    int i = j % 2 ? 7 - s : s;
                    acc[j][i] += a[k % 2][i] * b[k % 2][j];
                }
        }
        next_tile();
        write = next_slot(write);
    }

    // Epilogue. The sums go to new registers, four in a row for the 16-byte store. Without that the compiler
    // ties the registers of the whole mainloop, and two operands of an FMA more often share a register bank.
    TRACE_BEGIN(epilogue, 0);
    C += blockIdx.x * TM + m + (blockIdx.y * TN + n) * M;
    for (int j = 0; j < 16; ++j)
        for (int i = 0; i < 8; i += 4) {
            float* c = acc[j] + i;
            *(float4*)&C[i * 8 + (j / 4 * 16 + j % 4) * M]
                = make_float4(c[0] + 0.0f, c[1] + 0.0f, c[2] + 0.0f, c[3] + 0.0f);
        }
    TRACE_END(epilogue, 0);
}
"""
)

DOUBLE_BUFFERED = Pipelined(
    "double_buffer", DOUBLE_BUFFER, "double_buffer", (128, 128, 8), 256, 0, "float32", 2
)
FP32_BEST = Pipelined("fp32_best", BEST, "fp32_best", (128, 128, 8), 128, 3 * 2 * 128 * 8 * 4, "float32", 3)
FP32_KERNELS = (DOUBLE_BUFFERED, FP32_BEST)
