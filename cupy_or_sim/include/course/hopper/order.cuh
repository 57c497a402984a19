// Which tile, and which part of K, has a number.
#pragma once
#include <course/hopper/layouts.cuh>
#include <course/hopper/place.cuh>

// What a cluster makes at a time: ROWS x COLUMNS of C from (m, n) on, with the k-tiles from `begin` to `end`, which are one
// part of K.
struct Piece { int m, n, part, begin, end; };

// The pieces in their order: `group` tiles below each other, then those to the right of them; then the next group; then the
// next part of K. The last group may have fewer rows.
template <int ROWS, int COLUMNS>
struct Order {
    int down, across, group, k_tiles, k_part, count;

    __device__ Order(int M, int N, int K, int group, int parts)
        : down((M + ROWS - 1) / ROWS), across((N + COLUMNS - 1) / COLUMNS), group(group), k_tiles((K + TK - 1) / TK),
          k_part((k_tiles + parts - 1) / parts), count(down * across * parts) {}
    __device__ Piece operator[](int number) const
    {
        int part = number / (down * across), inside = number % (down * across);
        int first = inside / (group * across) * group, rows = min(group, down - first);
        inside %= group * across;
        return {(first + inside % rows) * ROWS, inside / rows * COLUMNS, part, part * k_part, min(k_tiles, (part + 1) * k_part)};
    }
};

// Of a piece that a cluster makes, what the block at `place` does: its tile, and its part of the k-tiles.
template <int TM, int TN, int BELOW, int ACROSS, int SPLIT>
__device__ __forceinline__ Piece share_of(Piece piece, const Place<BELOW, ACROSS, SPLIT>& place)
{
    int k_tiles = piece.end - piece.begin, from = k_tiles * place.part / SPLIT, to = k_tiles * (place.part + 1) / SPLIT;
    return {piece.m + place.row * TM, piece.n + place.column * TN, piece.part, piece.begin + from, piece.begin + to};
}
