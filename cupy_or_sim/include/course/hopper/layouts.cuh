// Boxes of an operand, and what a block keeps in shared memory.
#pragma once
#include <course/hopper/wgmma.cuh>

constexpr int TK = 64, BOX = 64 * 64;                         // k of a k-tile; elements of a box: 8 KB

// An operand's tile: ROWS of A, or columns of B, times TK. Along K it is rows of 64 k, in one box or, where blocks share it, in one
// from each. Where the operand is contiguous along its rows (M or N), boxes are 64 k of 64 rows, and the last may hold more
// than the tile.
template <bool ALONG_K, int ROWS>
struct Boxes {
    static constexpr int STEP = ALONG_K ? 2 : 128;            // from one k16 to the next, in a descriptor's units of 16 bytes
    static constexpr int HELD = ALONG_K ? ROWS : (ROWS + 63) / 64 * 64;

    // For wgmma: 8 rows (or 8 k) are 1024 bytes. Where boxes run across k, 64 more rows are the next box, 8 KB further.
    static __device__ __forceinline__ unsigned long long descriptor(const void* boxes)
    {
        return matrix_descriptor(boxes) + (ALONG_K ? 0 : (unsigned long long)(BOX * 2 / 16 - 1) << 16);
    }
    // Block `number` of the BLOCKS that share it loads its part, into all blocks of the cluster whose bit is set in `blocks`.
    template <int BLOCKS>
    static __device__ __forceinline__ void load(int number, int blocks, unsigned short* to, const TensorMap& map, int row, int k,
                                                Mbarrier* barrier)
    {
        constexpr int PART = ALONG_K ? ROWS / BLOCKS : 64;
        static_assert(!ALONG_K || PART % 8 == 0, "8 rows are what repeats");
        for (int i = number * PART; i < ROWS; i += BLOCKS * PART) {
            int x = ALONG_K ? k : row + i, y = ALONG_K ? row + i : k;
            if (BLOCKS == 1) load_box(to + i * TK, map, x, y, barrier);
            else load_box_to(blocks, to + i * TK, map, x, y, barrier);
        }
    }
};

// What is known of a launch when it is compiled: a block's tile, slots of its ring; a cluster's blocks, as Place says; layouts.
template <int TM_, int TN_, int SLOTS_, int BELOW_, int ACROSS_, int SPLIT_, bool A_ALONG_K_, bool B_ALONG_K_>
struct Form {
    static constexpr int TM = TM_, TN = TN_, SLOTS = SLOTS_, BELOW = BELOW_, ACROSS = ACROSS_, SPLIT = SPLIT_;
    static constexpr int BLOCKS = BELOW * ACROSS * SPLIT, CONSUMERS = TM / 64;        // of a cluster; of a block
    static constexpr bool A_ALONG_K = A_ALONG_K_, B_ALONG_K = B_ALONG_K_;
    using Left = Boxes<A_ALONG_K, TM>;
    using Right = Boxes<B_ALONG_K, TN>;
};

// A block's ring, and two boxes of C for each consumer.
template <typename Form>
struct Ring {
    struct Slot { unsigned short A[Form::Left::HELD * TK], B[Form::Right::HELD * TK]; } slots[Form::SLOTS];
    unsigned short C[Form::CONSUMERS][2][BOX];
    Mbarrier full[Form::SLOTS], empty[Form::SLOTS];
};

// Where blocks share the k-tiles of a tile: room for what the others have of this block's share of the sums, and what counts
// these bytes.
template <typename Form, int OTHERS = Form::SPLIT - 1>
struct Received {
    alignas(16) float received[OTHERS][Form::TM * Form::TN / Form::SPLIT];
    Mbarrier come;
};
template <typename Form>
struct Received<Form, 0> {};

// What a block keeps in shared memory.
template <typename Form>
struct Shared : Ring<Form>, Received<Form> {};

// Blocks on an SM, which has 228 KB for them and takes 1 KB more for each. One where registers change hands.
template <typename Form>
constexpr int ON_AN_SM = Form::CONSUMERS > 1 ? 1 : 228 * 1024 / (sizeof(Shared<Form>) + 1024);

// A block that has an SM to itself, no cluster and one consumer: nothing there hides how it begins. So its producer asks for the
// first k-tile before it meets the others. Where something does hide it, this gains nothing, or loses 3 %.
template <typename Form>
constexpr bool HAS_SM = Form::BLOCKS == 1 && Form::CONSUMERS == 1 && ON_AN_SM<Form> == 1;
