// The order in which persistent blocks make the tiles of C, as lessons 06 and 07 explain it.
#pragma once

// Where tile `number` lies: x counts tiles down the rows of C, y along its columns. Neighbours in number lie below each
// other, GROUP of them, so that tiles made at the same time read few rows of A and of B.
template <int GROUP>
__device__ __forceinline__ int2 grouped_tile(int number, int tiles_m, int tiles_n)
{
    int inside = number % (GROUP * tiles_n), first = number / (GROUP * tiles_n) * GROUP;
    int rows = min(GROUP, tiles_m - first);
    return make_int2(first + inside % rows, inside / rows);
}
