// Another order of the blocks, for lesson 05's fastest kernel.
#pragma once

// Which tile of C this block makes: x counts tiles down the rows of C, y tiles along its columns. Blocks that start one
// after the other make tiles below each other, GROUP of them, then the next GROUP to the right, and so on to the last
// column; only then come the rows below. So those that run together read few rows of A and of B, and L2 has them.
template <int GROUP>
__device__ __forceinline__ uint2 grouped_block()
{
    unsigned block = blockIdx.y * gridDim.x + blockIdx.x, blocks = GROUP * gridDim.y;   // blocks of a full group
    unsigned first = block / blocks * GROUP, rows = min(GROUP, gridDim.x - first);      // the last group may have fewer rows
    return make_uint2(first + block % blocks % rows, block % blocks / rows);
}
