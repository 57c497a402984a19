"""Lesson 00: its kernels are no GEMMs, so tests/lessons/test_lesson_kernels.py makes wrong variants of them itself."""

import numpy as np

from tests.kernels.case import fma32, poison, random
from tests.lessons.tables import right_answers, wrong_answers

NOTEBOOK = "00_start_here"


def _numbers_of(seed, n, integers):
    x = random(seed).randn(n).astype("f4")
    return np.rint(10 * x) if integers else x


def _saxpy(integers):
    def make():
        return [np.float32(1.7), *(_numbers_of(seed, 1000, integers) for seed in (1, 2)), np.int32(1000)]

    return make, (4,), (256,), lambda a: {2: fma32(a[0], a[1], a[2])}


def _mirror(integers):
    def make():
        return [_numbers_of(1, 768, integers), poison(768, "f4")]

    return make, (3,), (256,), lambda a: {1: a[0].reshape(3, 256)[:, ::-1].reshape(768)}


OTHERS = {"saxpy": _saxpy, "mirror": _mirror}
GAPS = ["00.1", "00.2"]
THE_LOOP = """    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i];"""
OUTER = "    C[m + n * M] = x[m] * y[n];\n"
RIGHT_ANSWERS = right_answers(
    """
00.1
    by bits
        threadIdx.x % 32 -> (threadIdx.x & 31)
        threadIdx.x / 32 -> (threadIdx.x >> 5)
    the first column of the block, then its offset
        C[m + n * M] -> C[m + blockIdx.y * 8 * M + threadIdx.x / 32 * M]
    M from the grid
        n * M -> n * gridDim.x * 32
    lanes of a warp backwards
        threadIdx.x % 32 -> 31 - threadIdx.x % 32

00.3
    the own element in a register
        tile[t] = x[t]; -> float mine = tile[t] = x[t];
        y[t] = tile[t] - tile -> y[t] = mine - tile
    neighbours in a warp by shuffles
        - if (t > 0)
        -         y[t] = tile[t] - tile[t - 1];
        -     else
        -         y[t] = tile[t];…
        + float left = __shfl_up_sync(0xffffffff, tile[t], 1);
        +     if (t % 32 == 0) left = t ? tile[t - 1] : 0;
        +     y[t] = tile[t] - left;…
    no if
        - if (t > 0)
        -         y[t] = tile[t] - tile[t - 1];
        -     else
        -         y[t] = tile[t];…
        + y[t] = t ? tile[t] - tile[t - 1] : tile[t];…
    a barrier more
        - __syncthreads();…
        + __syncthreads();
        +     __syncthreads();…
    thread 0 has ended
        - __syncthreads();…
        + if (t == 0) { y[0] = x[0]; return; }
        +     __syncthreads();…

00.2
    a block takes a piece that begins anywhere
        - $THE_LOOP…
        +     int per = (n + gridDim.x - 1) / gridDim.x, end = min(n, int(blockIdx.x + 1) * per);
        +     for (int i = blockIdx.x * per + threadIdx.x; i < end; i += blockDim.x)
        +         y[i] = a * x[i] + y[i];…
    while
        - $THE_LOOP…
        +     int i = threadIdx.x + blockDim.x * blockIdx.x;
        +     while (i < n) {
        +         y[i] += a * x[i];
        +         i += blockDim.x * gridDim.x;
        +     }…
    turns counted
        - $THE_LOOP…
        +     int all = gridDim.x * blockDim.x;
        +     for (int turn = 0; turn < (n + all - 1) / all; ++turn) {
        +         int i = turn * all + blockIdx.x * blockDim.x + threadIdx.x;
        +         if (i < n) y[i] = fmaf(a, x[i], y[i]);
        +     }…
    a block takes a stretch
        - $THE_LOOP…
        +     int turns = (n + gridDim.x * blockDim.x - 1) / (gridDim.x * blockDim.x);
        +     for (int turn = 0; turn < turns; ++turn) {
        +         int i = (blockIdx.x * turns + turn) * blockDim.x + threadIdx.x;
        +         if (i < n) y[i] = a * x[i] + y[i];
        +     }…
    pieces of whole 96 elements, and the rest for the last block
        - $THE_LOOP…
        +     int per = n / gridDim.x / 96 * 96, first = blockIdx.x * per;
        +     int end = blockIdx.x + 1 < gridDim.x ? first + per : n;
        +     for (int i = first + threadIdx.x; i < end; i += blockDim.x)
        +         y[i] = a * x[i] + y[i];…
    pieces of one more than the quotient, from the end of the array on
        - $THE_LOOP…
        +     int per = n / gridDim.x + 1, first = (gridDim.x - 1 - blockIdx.x) * per;
        +     for (int i = first + threadIdx.x; i < n && i < first + per; i += blockDim.x)
        +         y[i] = a * x[i] + y[i];…
""",
    **globals(),
)
WRONG_ANSWERS = wrong_answers(
    """
00.1
    only one size: for any M
        n * M -> n * 64
    two dimensions of a block that has one: threadIdx.y is 0
        threadIdx.x % 32 -> threadIdx.x % 32
        threadIdx.x / 32;        // -> threadIdx.y; //
    two dimensions, and the whole number: 32 rows and 8 columns
        threadIdx.x % 32 -> threadIdx.x
        threadIdx.x / 32;        // -> threadIdx.y; //
    every warp does all columns: one element
        - $OUTER
        +     for (int j = blockIdx.y * 8; j < blockIdx.y * 8 + 8; ++j)
        +         C[m + j * M] = x[m] * y[j];
    one warp does all: one element
        - $OUTER
        +     if (threadIdx.x < 32)
        +         for (int j = n; j < n + 8; ++j)
        +             C[m + j * M] = x[m] * y[j];
    one thread does all: one element
        - $OUTER
        +     if (threadIdx.x == 0)
        +         for (int i = 0; i < 256; ++i)
        +             C[m + i % 32 + (n + i / 32) * M] = x[m + i % 32] * y[n + i / 32];
    row by row: one column after the other
        C[m + n * M] -> C[m * N + n]
    rows and columns mixed up: 32 rows and 8 columns
        threadIdx.x % 32 -> threadIdx.x / 32
        threadIdx.x / 32;        // -> threadIdx.x % 32; //
    lanes along a row: 32 neighbouring rows
        threadIdx.x % 32 -> threadIdx.x / 8
        y * 8 + threadIdx.x / 32 -> y * 8 + threadIdx.x % 8
    no quotient: Which two threads have the same row
        y * 8 + threadIdx.x / 32 -> y * 8 + threadIdx.x % 8
    whole thread number: 32 rows and 8 columns
        threadIdx.x % 32 -> threadIdx.x
    the row times the length of a column: which of the two is multiplied
        C[m + n * M] -> C[m * M + n]
    columns of N elements: How many elements has a column
        C[m + n * M] -> C[m + n * N]
    columns of 32 elements: How many elements has a column
        C[m + n * M] -> C[m + n * 32]
    an endless loop: a loop has no end
        C[m -> for (int i = 0; i < 10;) C[m

00.3
    from global memory, without tile and barrier: x is read once
        __syncthreads(); ->
        tile[t] - tile[t - 1] -> x[t] - x[t - 1]
    the barrier is there, and nobody needs it: x is read once
        tile[t] - tile[t - 1] -> x[t] - x[t - 1]
    exchanged through y: x is read once
        tile[t] = x[t]; -> y[t] = x[t];
        - if (t > 0)
        -         y[t] = tile[t] - tile[t - 1];
        -     else
        -         y[t] = tile[t];…
        + float left = t > 0 ? y[t - 1] : 0;
        +     __syncthreads();
        +     y[t] -= left;…
    one warp does all: its own element
        - tile[t] = x[t];
        -     __syncthreads();…
        + if (t >= 32) return;
        +     for (int i = t; i < 256; i += 32) tile[i] = x[i];
        +     __syncwarp();
        +     for (; t < 224; t += 32)
        +         y[t] = t > 0 ? tile[t] - tile[t - 1] : tile[t];…
    barrier in the if: meet at a barrier
        __syncthreads(); ->
        - if (t > 0)…
        + if (t > 0) __syncthreads();
        +     if (t > 0)…
        - y[t] = tile[t];
        + y[t] = tile[t];
        +     __syncthreads();
    barrier in one branch: meet at a barrier
        __syncthreads(); ->
        - if (t > 0)
        -         y[t]…
        + if (t > 0) {
        +         __syncthreads();
        +         y[t]…
        -     else…
        +     } else…
    barrier for half the block: meet at a barrier
        __syncthreads(); -> if (t < 128) __syncthreads();
    barrier for all warps but one: what makes sure
        __syncthreads(); -> if (t >= 32) __syncthreads();
    barrier too early: what makes sure
        - tile[t] = x[t];
        -     __syncthreads();…
        + __syncthreads();
        +     tile[t] = x[t];…
    barrier too late: what makes sure
        __syncthreads(); ->
        - y[t] = tile[t];…
        + y[t] = tile[t];
        +     __syncthreads();…
    only the warp: what makes sure
        __syncthreads(); -> __syncwarp();
    a fence only: what makes sure
        __syncthreads(); -> __threadfence_block();
    the other way round: minus its left neighbour
        tile[t] - tile[t - 1] -> tile[t - 1] - tile[t]
    right neighbour: left neighbour
        tile[t - 1] -> tile[(t + 1) % 256]
    an endless loop: a loop has no end
        __syncthreads(); -> while (tile[t] == x[t]) __syncthreads();
    a typing mistake: "__syncthread" is undefined
        __syncthreads(); -> __syncthread();

00.2
    no loop: some elements keep their old y
        for (int i = -> int i =
        - ; i < n; i += gridDim.x * blockDim.x)…
        + ;
        +     if (i < n)…
    step of one block: two threads work on one element
        i += gridDim.x * blockDim.x -> i += blockDim.x
    every block from 0: two threads work on one element
        i = blockIdx.x * blockDim.x + threadIdx.x -> i = threadIdx.x
    all elements by all: two threads work
        i = blockIdx.x * blockDim.x + threadIdx.x -> i = 0
        i += gridDim.x * blockDim.x -> ++i
    the old y forgotten: becomes a * x[i] + y[i]
        a * x[i] + y[i] -> a * x[i]
    a one for the old y: becomes a * x[i] + y[i]
        a * x[i] + y[i] -> a * x[i] + 1
    one too far: the loop ends at n
        i < n -> i <= n
    no end: a loop has no end
        i < n; i += gridDim.x * blockDim.x -> i < n;
    only for this launch: Sizes come from the launch
        gridDim.x * blockDim.x -> 192
    the number of threads of another launch: Sizes come from the launch
        - blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x…
        + blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256…
    the last turn lost: left over when the threads have made all full turns
        - $THE_LOOP…
        +     int all = gridDim.x * blockDim.x;
        +     for (int t = 0; t < n / all; ++t) {
        +         int i = t * all + blockIdx.x * blockDim.x + threadIdx.x;
        +         y[i] = a * x[i] + y[i];
        +     }…
    a stretch for each thread: neighbouring threads must take neighbouring elements
        - $THE_LOOP…
        +     int each = (n + gridDim.x * blockDim.x - 1) / (gridDim.x * blockDim.x);
        +     int first = (blockIdx.x * blockDim.x + threadIdx.x) * each;
        +     for (int i = first; i < first + each && i < n; ++i)
        +         y[i] = a * x[i] + y[i];…
    every second element, then the others: neighbouring threads must take neighbouring elements
        - $THE_LOOP…
        +     int all = gridDim.x * blockDim.x, t = blockIdx.x * blockDim.x + threadIdx.x;
        +     for (int odd = 0; odd < 2; ++odd)
        +         for (int i = 2 * t + odd; i < n; i += 2 * all)
        +             y[i] = a * x[i] + y[i];…
    one thread does all: all threads of all blocks share the work
        - $THE_LOOP…
        +     if (blockIdx.x == 0 && threadIdx.x == 0)
        +         for (int i = 0; i < n; ++i)
        +             y[i] = a * x[i] + y[i];…
    block 0 does all: all threads of all blocks share
        - $THE_LOOP…
        +     for (int i = threadIdx.x; blockIdx.x == 0 && i < n; i += blockDim.x)
        +         y[i] = a * x[i] + y[i];…
    the last block does all: all threads of all blocks share
        - $THE_LOOP…
        +     for (int i = threadIdx.x; blockIdx.x == gridDim.x - 1 && i < n; i += blockDim.x)
        +         y[i] = a * x[i] + y[i];…
    the first turn by all, everything else by the last block: all threads of all blocks share
        - $THE_LOOP…
        +     int all = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
        +     if (i < n) y[i] = a * x[i] + y[i];
        +     if (blockIdx.x == gridDim.x - 1)
        +         for (i = all + threadIdx.x; i < n; i += blockDim.x)
        +             y[i] = a * x[i] + y[i];…
    one thread of each block: all threads of all blocks share the work
        - $THE_LOOP…
        +     if (threadIdx.x == 0)
        +         for (int i = blockIdx.x; i < n; i += gridDim.x)
        +             y[i] = a * x[i] + y[i];…
    one warp of each block: all threads of all blocks share
        - $THE_LOOP…
        +     for (int i = blockIdx.x * 32 + threadIdx.x; threadIdx.x < 32 && i < n; i += gridDim.x * 32)
        +         y[i] = a * x[i] + y[i];…
""",
    **globals(),
)
