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
    // Into this block, or into every block of the cluster.
    template <int CLUSTER>
    static __device__ __forceinline__ void load(void* to, const TensorMap& map, int row, int k, Mbarrier* barrier)
    {
        int x = ALONG_K ? k : row, y = ALONG_K ? row : k;
        if (CLUSTER == 1) load_box(to, map, x, y, barrier);
        else load_box_to((1 << CLUSTER) - 1, to, map, x, y, barrier);
    }
};

// What a block keeps in shared memory. An SM has 228 KB for its blocks, and takes 1 KB more of it for each.
template <int TM, int TN, int SLOTS>
struct Shared {
    struct Slot { unsigned short A[TM * TK], B[TN * TK]; } slots[SLOTS];
    unsigned short C[TM / 64][2][BOX];                        // two boxes of C for each consumer
    Mbarrier full[SLOTS], empty[SLOTS];

    static constexpr int BYTES = SLOTS * ((TM + TN) * TK * 2 + 16) + TM / 64 * BOX * 4;
    static constexpr int ON_AN_SM = 228 * 1024 / (BYTES + 1024);
};
