// Where a block stands in its cluster, and with whom it shares what.
#pragma once
#include <course/hopper/layouts.cuh>

// BELOW blocks below each other read the same columns of B, ACROSS beside each other the same rows of A; SPLIT such groups
// share the k-tiles of the same tiles.
template <typename Form>
struct Place {
    static constexpr int BELOW = Form::BELOW, ACROSS = Form::ACROSS, BLOCKS = Form::BLOCKS;
    static constexpr int GROUP = BELOW * ACROSS;              // blocks that share no k-tiles
    static constexpr int MATES = BELOW + ACROSS - 1;          // blocks, itself too, that fill a block's slots
    int rank, row, column, part;

    __device__ Place()
        : rank(BLOCKS > 1 ? cluster_rank() : 0), row(rank % BELOW), column(rank % GROUP / BELOW), part(rank / GROUP) {}
    // A bit for each block that gets this block's share of A: those beside it; and of B: those below each other.
    __device__ int beside() const { return ((1 << GROUP) - 1) / ((1 << BELOW) - 1) << (part * GROUP + row); }
    __device__ int below() const { return ((1 << BELOW) - 1) << (rank - row); }
    // The rank of one of its mates: those of its column, then that of its row.
    __device__ int mate(int i) const
    {
        int other = i - BELOW + (i - BELOW >= column);        // a column that is not its own
        return i < BELOW ? rank - row + i : rank + (other - column) * BELOW;
    }
};
