"""The fastest mma.sync product so far, with 2, 3 or 4 stages.

C = A @ B.T with A (M, K), B (N, K), C (M, N), all float16 and row-major (A and B contiguous along K); the sums
are float32 and rounded once. One block of 8 warps makes 128 x 256 of C, a warp 64 x 64 of it.

Against `gemm_fp16` of tests/kernels/pipelined.py:

* larger blocks: a k-tile brings 3/4 of the bytes for each multiplication;
* fragments are loaded one k-step ahead: A into a second set of registers, B pair by pair of columns into the
  registers whose math is done, so that ldmatrix comes in small portions between the math;
* the wait and the barrier lie before the last k-step's math, because all that this k-step needs from shared
  memory is in registers by then. Its math hides the first ldmatrix of the next k-tile;
* few other instructions come between the mma: the mainloop is unrolled by the stages, so that slots are constants,
  and every address has its register. 75 instead of 111 others for 128 mma, in the SASS of NVRTC 13.0;
* copies are issued four at a time, in the middle of a k-step, away from most of its ldmatrix. One copy at a time was
  slower on an H100: ptxas puts three loads that are switched off in front of a copy that follows an ldmatrix;
* blocks are numbered in groups of 16 block rows, so that those that run together share more of A and B in L2;
* C goes through shared memory, 16 rows at a time, so that a store writes 16 bytes.

With S stages at most S - 1 k-tiles are on their way while the first k-steps compute, and S - 2 behind the wait.
M, N and K must be multiples of the tile. K may have fewer k-tiles than the kernel has stages.
"""

from __future__ import annotations

from tests.kernels.pipelined import PIPELINE, Pipelined

SOURCE = (
    PIPELINE
    + r"""
constexpr int TM = 128, TN = 256, TK = 64, THREADS = 256;            // the tile of a block
constexpr int GROUP = 16;                             // block rows that are numbered together
constexpr int CHUNKS = TK / 8;                        // 16-byte chunks (8 halves along k) in a row of a k-tile
constexpr int TURN = THREADS / CHUNKS;                // rows that all threads bring with one copy each
constexpr int COPIES = (TM + TN) / TURN;              // of a thread for a k-tile: the rows of A, then those of B
constexpr int ROW = TK * 2, SLOT = (TM + TN) * ROW;   // bytes in shared memory

// Where a chunk of a row lies in a slot, in bytes. Eight rows that follow each other keep the same chunk in eight
// different groups of banks, so that ldmatrix reads them at once.
__device__ int swizzled(int row, int chunk) { return row * ROW + (chunk ^ row % 8) * 16; }

// Start to copy 16 bytes; the address in shared memory has 32 bits, as the instruction wants it.
__device__ void copy_16(unsigned to, const void* from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from) : "memory");
}

// Four 8 x 8 matrices of halves from shared memory; lane l gives the address of row l % 8 of matrix l / 8.
__device__ void ldmatrix(unsigned (&out)[4], unsigned address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3]) : "r"(address) : "memory");
}

// Keep this value in a register: without it the compiler works addresses out again in every turn, to save registers.
__device__ void pin(unsigned& value) { asm volatile("" : "+r"(value)); }

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
    int m = warp % 2 * 64, n = warp / 2 * 64;         // the corner of this warp's 64 x 64 of C
    int tiles = K / TK;

    // Which 128 x 256 of C: groups of GROUP block rows, inside a group down the rows first.
    int block = blockIdx.y * gridDim.x + blockIdx.x, per_group = GROUP * gridDim.y;
    int first = block / per_group * GROUP, rows = min(GROUP, gridDim.x - first);
    int block_m = first + block % per_group % rows, block_n = block % per_group / rows;
    A += block_m * TM * K;
    B += block_n * TN * K;
    C += (block_m * TM + m) * N + block_n * TN + n;

    // Copies. Each has its own pointer, which moves once in STAGES k-tiles: the way there is a constant.
    unsigned base = __cvta_generic_to_shared(shared);
    int row = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
    unsigned to = base + swizzled(row, chunk);        // the swizzle repeats every 8 rows
    pin(to);
    const __half* from[COPIES];
    #pragma unroll
    for (int i = 0; i < COPIES; ++i)
        from[i] = (i * TURN < TM ? A + (row + i * TURN) * K : B + (row + i * TURN - TM) * K) + chunk * 8;
    auto copy = [&](int i, int ahead, bool more) {    // copy i of the k-tile that lies `ahead` of the pointers
        if (more) copy_16(to + ahead % STAGES * SLOT + i * TURN * ROW, from[i] + ahead * TK);
    };

    // Fragments: A's of this k-step and of the next one, B's of one. Matrices of A: rows 0-7 and 8-15 of the first
    // chunk, then of the second. Matrices of B: both chunks of rows 0-7, then of rows 8-15.
    float sum[4][8][4] = {};                          // [16 rows][8 columns][element of the fragment]
    unsigned a[2][4][4], b[4][4];                     // [k-step even, odd][16 rows], [2 x 8 columns]
    unsigned a_lane[4], b_lane[4];                    // where they lie in slot 0, for each k-step of 2 chunks
    #pragma unroll
    for (int step = 0; step < 4; ++step) {
        a_lane[step] = base + swizzled(m + lane % 16, 2 * step + lane / 16);
        b_lane[step] = base + swizzled(TM + n + lane % 8 + lane / 16 * 8, 2 * step + lane / 8 % 2);
        pin(a_lane[step]);
        pin(b_lane[step]);
    }
    auto load_a = [&](int step, int i, int slot) { ldmatrix(a[step % 2][i], a_lane[step] + (slot + i * 16 * ROW)); };
    auto load_b = [&](int step, int pair, int slot) { ldmatrix(b[pair], b_lane[step] + (slot + pair * 16 * ROW)); };

    // Prologue: the first k-tiles start on their way; the fragments of the first k-step.
    #pragma unroll
    for (int tile = 0; tile < STAGES - 1; ++tile) {
        TRACE_BEGIN(copy, tile);
        #pragma unroll
        for (int i = 0; i < COPIES; ++i) copy(i, tile, tile < tiles);
        commit();                                     // an empty group too: the wait counts groups
        TRACE_END(copy, tile);
    }
    TRACE_BEGIN(wait, 0);
    wait<STAGES - 2>();
    TRACE_END(wait, 0);
    TRACE_BEGIN(barrier, 0);
    __syncthreads();
    TRACE_END(barrier, 0);
    for (int i = 0; i < 4; ++i) {
        load_a(0, i, 0);
        load_b(0, i, 0);
    }

    // Mainloop, STAGES k-tiles a turn, so that every slot is a constant.
    #pragma unroll 1
    for (int turn = 0; turn < tiles; turn += STAGES) {
        #pragma unroll
        for (int slot = 0; slot < STAGES; ++slot) {
            int tile = turn + slot;
            if (slot > 0 && tile >= tiles) break;
            bool more = tile + STAGES - 1 < tiles;
            // Behind the last k-tile the fragments of its first k-step are loaded again, and not used.
            int next_slot = tile + 1 == tiles ? slot * SLOT : (slot + 1) % STAGES * SLOT;
            TRACE_BEGIN(math, tile);
            #pragma unroll
            for (int step = 0; step < 4; ++step) {
                if (step == 3) {
                    TRACE_BEGIN(wait, tile + 1);
                    wait<STAGES - 2>();               // my part of the next k-tile has landed
                    TRACE_END(wait, tile + 1);
                    TRACE_BEGIN(barrier, tile + 1);
                    __syncthreads();                  // all parts have, and all have read this slot
                    TRACE_END(barrier, tile + 1);
                }
                int next = (step + 1) % 4, where = step < 3 ? slot * SLOT : next_slot;
                #pragma unroll
                for (int i = 0; i < 4; ++i) load_a(next, i, where);
                if (step == 0) TRACE_BEGIN(copy, tile + STAGES - 1);
                #pragma unroll
                for (int j = 0; j < 8; ++j) {
                    #pragma unroll
                    for (int turn = 0; turn < 4; ++turn) {
                        int i = j % 2 ? 3 - turn : turn;      // there and back: the same A fragment twice running
                        if (j == 4 && step < 3) copy(step * 4 + turn, slot + STAGES - 1, more);
                        mma(sum[i][j], a[step % 2][i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
                    }
                    if (j % 2) load_b(next, j / 2, where);
                }
                if (step == 2) {
                    commit();
                    TRACE_END(copy, tile + STAGES - 1);
                }
            }
            TRACE_END(math, tile);
        }
        #pragma unroll
        for (int i = 0; i < COPIES; ++i) from[i] += STAGES * TK;
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
            *(uint4*)&C[(i * 16 + row) * N + column] = *(uint4*)&mine[row * PITCH + column];
        }
        __syncwarp();
    }
    TRACE_END(epilogue, 0);
}
"""
)


def gemm_fp16_best(stages: int) -> Pipelined:
    """float16 to float16, 128x256x64, row-major, 8 warps of 64x64 on tensor cores. C is float16."""
    return Pipelined(
        f"fp16_best_s{stages}",
        SOURCE.replace("@STAGES@", str(stages)),
        "gemm_fp16_best",
        (128, 256, 64),
        256,
        stages * (128 + 256) * 64 * 2,
        "float16",
        stages,
    )


FP16_BEST = tuple(gemm_fp16_best(stages) for stages in (2, 3, 4))
