// Boxes of an operand, and what a block keeps in shared memory.
#pragma once
#include <course/hopper/wgmma.cuh>

constexpr int TK = 64, BOX = 64 * 64;                         // k of a k-tile; elements of a box: 8 KB

// An operand in boxes: 64 rows of 64 k or, where the operand is contiguous along its rows (M or N), 64 k of 64 rows.
template <bool ALONG_K>
struct Boxes {
    static constexpr int STEP = ALONG_K ? 2 : 128;            // from one k16 to the next, in a descriptor's units of 16 bytes

    // For wgmma: 8 rows (or 8 k) are 1024 bytes. Where boxes run across k, 64 more rows are the next box, 8 KB further.
    static __device__ __forceinline__ unsigned long long descriptor(const void* boxes)
    {
        return matrix_descriptor(boxes) + (ALONG_K ? 0 : (unsigned long long)(BOX * 2 / 16 - 1) << 16);
    }
    // Into this block, or where BLOCKS blocks share it into all of the cluster whose bit is set in `blocks`.
    template <int BLOCKS>
    static __device__ __forceinline__ void load(int blocks, void* to, const TensorMap& map, int row, int k, Mbarrier* barrier)
    {
        int x = ALONG_K ? k : row, y = ALONG_K ? row : k;
        if (BLOCKS == 1) load_box(to, map, x, y, barrier);
        else load_box_to(blocks, to, map, x, y, barrier);
    }
};

// The ring of a block, and two boxes of C for each consumer.
template <int TM, int TN, int SLOTS>
struct Ring {
    struct Slot { unsigned short A[TM * TK], B[TN * TK]; } slots[SLOTS];
    unsigned short C[TM / 64][2][BOX];
    Mbarrier full[SLOTS], empty[SLOTS];
};

// What a block keeps in shared memory. Where SPLIT blocks share the k-tiles of a tile: room for what the others have of its
// share of the sums, and what counts these bytes.
template <int TM, int TN, int SLOTS, int SPLIT>
struct Shared : Ring<TM, TN, SLOTS> {
    alignas(16) float received[SPLIT - 1][TM * TN / SPLIT];
    Mbarrier come;
};
template <int TM, int TN, int SLOTS>
struct Shared<TM, TN, SLOTS, 1> : Ring<TM, TN, SLOTS> {};

// Blocks on an SM, which has 228 KB for them and takes 1 KB more for each. One where registers change hands.
template <int TM, int BYTES>
constexpr int ON_AN_SM = TM == 128 ? 1 : 228 * 1024 / (BYTES + 1024);
