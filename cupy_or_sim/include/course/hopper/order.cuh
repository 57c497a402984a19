// Which tile, and which part of K, has a number.
#pragma once
#include <course/hopper/place.cuh>

// What a cluster makes at a time, from (m, n) of C on, with the k-tiles from `begin` to `end`, which are one part of K; then what
// one of its blocks does of that.
struct Piece { int m, n, part, begin, end; };

// A division by a number that the host knows, for what is small enough: number * divisor < 2^31. The GPU's takes 100 cycles, and the
// first piece is on everybody's way.
struct Divisor {
    int by;
    unsigned times;                                           // 2^31 / by, rounded up

    __device__ Divisor(unsigned long long both) : by((int)both), times(both >> 32) {}
    __device__ int operator()(int number) const { return (unsigned long long)number * times >> 31; }
};

// The pieces in their order: those below each other in a group, then those to the right of them; then the next group; then the
// next part of K, which has `k_part` k-tiles. The last group may have fewer rows.
template <typename Form>
struct Order {
    Divisor part, group, rows, last_rows;                     // pieces of a part, of a group; rows of a group, and of the last one
    int k_tiles, k_part, count;

    __device__ Piece operator()(int number, const Place<Form>& place) const
    {
        int k = part(number), inside = number - k * part.by, above = group(inside);
        inside -= above * group.by;
        Divisor down = (above + 1) * group.by < part.by ? rows : last_rows;
        int column = down(inside), row = above * rows.by + inside - column * down.by;
        int begin = k * k_part, k_tiles_here = min(k_tiles - begin, k_part);
        return {(row * Form::BELOW + place.row) * Form::TM, (column * Form::ACROSS + place.column) * Form::TN, k,
                begin + k_tiles_here * place.part / Form::SPLIT, begin + k_tiles_here * (place.part + 1) / Form::SPLIT};
    }
};
