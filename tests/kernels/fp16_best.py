"""The fastest mma.sync product so far, with 1 to 5 stages.

C = A @ B.T with A (M, K), B (N, K), C (M, N), all float16 and row-major (A and B contiguous along K); the sums
are float32 and rounded once. One block of 8 warps makes 256 x 128 of C, a warp 64 x 64 of it.

Against `gemm_fp16` of tests/kernels/pipelined.py:

* larger blocks: a k-tile brings 3/4 of the bytes for each multiplication;
* fragments are loaded one k-step ahead: A into a second set of registers, B pair by pair of columns into the
  registers whose math is done, so that ldmatrix comes in small portions between the math and never in a burst;
* the wait and the barrier lie before the last k-step's math, because all that this k-step needs from shared
  memory is in registers by then. Its math hides the first ldmatrix of the next k-tile;
* copies are issued in portions, in all k-steps but the last;
* blocks are numbered in groups of 8 block rows, so that those that run together share more of A and B in L2;
* C goes through shared memory, 16 rows at a time, so that a store writes 16 bytes.

With S stages at most S - 1 k-tiles are on their way while the first k-steps compute, and S - 2 behind the wait.
M, N and K must be multiples of the tile. K may have fewer k-tiles than the kernel has stages.
"""

from __future__ import annotations

from tests.kernels.pipelined import PIPELINE, Pipelined

SOURCE = (
    PIPELINE
    + r"""
constexpr int TILE_M = 256, TILE_N = 128, DEPTH = @DEPTH@;
constexpr int THREADS = 256, GROUP = 8;               // GROUP block rows are numbered together
constexpr int CHUNKS = DEPTH / 8;                     // 16-byte chunks (8 halves along k) in a row of a k-tile
constexpr int ROUND = THREADS / CHUNKS;               // rows that all threads bring with one copy each
constexpr int ROUNDS = (TILE_M + TILE_N) / ROUND;     // for the rows of A, then of B
constexpr int SLOT = (TILE_M + TILE_N) * DEPTH;       // halves in one k-tile of A and B
constexpr int STEPS = DEPTH / 16;                     // an mma takes 16 of k

// Where a chunk of a row lies in a slot. Eight rows that follow each other keep the same chunk in eight
// different groups of banks, so that ldmatrix reads them at once.
__device__ int swizzled(int row, int chunk)
{
    return row * DEPTH + (chunk ^ row * CHUNKS / 8 % CHUNKS) * 8;
}

// Four 8 x 8 matrices of halves from shared memory; lane l gives the address of row l % 8 of matrix l / 8.
__device__ void ldmatrix(unsigned (&out)[4], unsigned address)
{
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

extern "C" __global__ void __launch_bounds__(THREADS, 1)
gemm_fp16_best(const __half* A, const __half* B, __half* C, int M, int N, int K TRACE_ARG)
{
    extern __shared__ __align__(128) __half shared[];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int m = warp % 4 * 64, n = warp / 4 * 64;         // the corner of this warp's 64 x 64 of C
    int tiles = K / DEPTH;

    // Which 256 x 128 of C: groups of GROUP block rows, inside a group down the rows first.
    int block = blockIdx.y * gridDim.x + blockIdx.x, per_group = GROUP * gridDim.y;
    int first = block / per_group * GROUP, rows = min(GROUP, gridDim.x - first);
    A += (first + block % per_group % rows) * TILE_M * K;
    B += block % per_group / rows * TILE_N * K;
    C += (first + block % per_group % rows) * TILE_M * N + block % per_group / rows * TILE_N;

    // Copies: this thread's place in the first round; the others lie ROUND rows further each.
    int row = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
    const __half *a_from = A + row * K + chunk * 8, *b_from = B + row * K + chunk * 8;
    __half* to = shared + swizzled(row, chunk);       // the swizzle repeats every 8 rows
    auto issue = [&](int tile, int slot, int part, int parts) {          // one of `parts` portions
        if (part == 0) TRACE_BEGIN(copy, tile);
        #pragma unroll
        for (int round = ROUNDS * part / parts; round < ROUNDS * (part + 1) / parts; ++round) {
            const __half* from = round * ROUND < TILE_M ? a_from + round * ROUND * K
                                                        : b_from + (round * ROUND - TILE_M) * K;
            if (tile < tiles) copy_16(to + slot * SLOT + round * ROUND * DEPTH, from);
        }
        if (part + 1 < parts) return;
        commit();                                     // an empty group too: the wait counts groups
        TRACE_END(copy, tile);
        a_from += DEPTH;
        b_from += DEPTH;
    };

    // Fragments. Matrices of A: rows 0-7 and 8-15 of the first chunk, then of the second. Matrices of B: both
    // chunks of rows 0-7, then of rows 8-15. A k-step is two chunks further: 32 bytes, and the swizzle is an XOR.
    unsigned base = __cvta_generic_to_shared(shared);
    unsigned a_lane = base + 2 * swizzled(m + lane % 16, lane / 16);
    unsigned b_lane = base + 2 * swizzled(TILE_M + n + lane % 8 + lane / 16 * 8, lane / 8 % 2);
    float sum[4][8][4] = {};                          // [16 rows][8 columns][element of the fragment]
    unsigned a[2][4][4], b[4][4];                     // [k-step even, odd][16 rows], [2 x 8 columns]
    auto load_a = [&](int slot, int step) {
        #pragma unroll
        for (int i = 0; i < 4; ++i)
            ldmatrix(a[step % 2][i], (a_lane ^ step * 32) + 2 * (slot * SLOT + i * 16 * DEPTH));
    };
    auto load_b = [&](int slot, int step, int pair) {
        ldmatrix(b[pair], (b_lane ^ step * 32) + 2 * (slot * SLOT + pair * 16 * DEPTH));
    };

    // Prologue: the first k-tiles start on their way; the fragments of the first k-step.
    for (int tile = 0; tile < (STAGES > 1 ? STAGES - 1 : 1); ++tile) issue(tile, tile, 0, 1);
    TRACE_BEGIN(wait, 0);
    wait<(STAGES > 1 ? STAGES - 2 : 0)>();
    TRACE_END(wait, 0);
    TRACE_BEGIN(barrier, 0);
    __syncthreads();
    TRACE_END(barrier, 0);
    load_a(0, 0);
    for (int pair = 0; pair < 4; ++pair) load_b(0, 0, pair);

    // Mainloop.
    int slot = 0, free_slot = STAGES - 1;             // of this k-tile; of the one whose copies are issued now
    #pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        // Behind the last k-tile the fragments of its first k-step are loaded again, and not used.
        int next = tile + 1 == tiles ? slot : slot + 1 == STAGES ? 0 : slot + 1;
        TRACE_BEGIN(math, tile);
        #pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            bool last = step == STEPS - 1;
            if (last) {
                if (STAGES == 1) {
                    __syncthreads();                  // all have read the only slot
                    issue(tile + 1, 0, 0, 1);
                }
                TRACE_BEGIN(wait, tile + 1);
                wait<(STAGES > 1 ? STAGES - 2 : 0)>();    // my part of the next k-tile has landed
                TRACE_END(wait, tile + 1);
                TRACE_BEGIN(barrier, tile + 1);
                __syncthreads();                      // all parts have, and all have read this slot
                TRACE_END(barrier, tile + 1);
            }
            int from = last ? next : slot, ahead = (step + 1) % STEPS;
            load_a(from, ahead);
            if (STAGES > 1 && !last) issue(tile + STAGES - 1, free_slot, step, STEPS - 1);
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                #pragma unroll
                for (int turn = 0; turn < 4; ++turn) {
                    int i = j % 2 ? 3 - turn : turn;  // there and back: the same A fragment twice running
                    mma(sum[i][j], a[step % 2][i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
                }
                if (j % 2) load_b(from, ahead, j / 2);
            }
        }
        TRACE_END(math, tile);
        free_slot = slot;
        slot = next;
    }

    // Epilogue, 16 rows of C at a time: a lane holds two neighbours in row lane / 4, and two in row lane / 4 + 8.
    TRACE_BEGIN(epilogue, 0);
    __syncthreads();                                  // nobody reads the slots any more
    constexpr int PITCH = 64 + 8;                     // halves; 144 bytes: eight rows in different banks
    __half* mine = shared + warp * 16 * PITCH;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            __half* c = mine + lane / 4 * PITCH + j * 8 + lane % 4 * 2;
            *(__half2*)c = __floats2half2_rn(sum[i][j][0], sum[i][j][1]);
            *(__half2*)(c + 8 * PITCH) = __floats2half2_rn(sum[i][j][2], sum[i][j][3]);
        }
        __syncwarp();
        #pragma unroll
        for (int turn = 0; turn < 4; ++turn) {        // 8 lanes write 128 bytes of a row
            int row = turn * 4 + lane / 8, column = lane % 8 * 8;
            *(uint4*)&C[(m + i * 16 + row) * N + n + column] = *(uint4*)&mine[row * PITCH + column];
        }
        __syncwarp();
    }
    TRACE_END(epilogue, 0);
}
"""
)


def gemm_fp16_best(stages: int, depth: int = 32) -> Pipelined:
    """float16 to float16, 256x128x`depth`, row-major, 8 warps of 64x64 on tensor cores. C is float16.

    `depth` is 32 (1 to 5 stages fit into 227 KB of shared memory) or 64 (1 to 4 stages, a little faster).
    """
    source = SOURCE.replace("@STAGES@", str(stages)).replace("@DEPTH@", str(depth))
    shared_mem = stages * (256 + 128) * depth * 2
    return Pipelined(
        f"fp16_best_k{depth}_s{stages}",
        source,
        "gemm_fp16_best",
        (256, 128, depth),
        256,
        shared_mem,
        "float16",
        stages,
    )


FP16_BEST = (
    *(gemm_fp16_best(stages, 32) for stages in (1, 2, 3, 4, 5)),
    *(gemm_fp16_best(stages, 64) for stages in (1, 2, 3, 4)),
)
