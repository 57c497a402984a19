"""The exercises of the bank for lesson 00."""

from tests.lessons import solved_numbers
from tests.lessons.tables import right_answers, wrong_answers

NEXT = "    if (t == 0 && i + 64 < n)\n        tile[64] = x[i + 64];\n"
ADD = "            tile[t] += tile[t + half];                // 256 numbers become 128, then 64, 32, ...\n"
IF_ADD = "        if (t < half)\n" + ADD
TURN = "    for (int half = 128; half > 0; half /= 2) {\n" + IF_ADD + "        __syncthreads();\n    }\n"
COPIED = "    __syncthreads();\n    for (int half"
COPY = """    for (int i = t; i < 64 * 32; i += 256)
        tile[i] = x[i];                               // neighbours read neighbours
"""
COMPLETE = "    __syncthreads();                                  // the tile is complete\n"
ADD_UP = """    if (t < 32) {
        float sum = 0;
        for (int m = 0; m < 64; ++m)
            sum += tile[m + t * 64];
        sums[t] = sum;
    }
"""

GAPS = ["00.14"]
RIGHT_ANSWERS = right_answers(
    """
00.11
    fractions without a rest
        (5, 8, 4, 2) -> (5.0, 32 * 2 / 8, 4, 32 / 2 / 8)
    counted by a set
        5, -> len({(t + 1) // 8 for t in range(32)}),
    numbers of NumPy
        (5, 8, 4, 2) -> __import__('numpy').array([5, 8, 4, 2])

00.12
    the last thread brings it
        t == 0 && i + 64 < n -> t == 63 && i + 1 < n
        x[i + 64] -> x[i + 1]
    a loop over the tile
        -     if (i < n)
        -         tile[t] = x[i];
        - $NEXT
        +     for (int j = t; j < 65 && blockIdx.x * 64 + j < n; j += 64)
        +         tile[j] = x[blockIdx.x * 64 + j];
    two neighbours for each thread
        $NEXT ->
        tile[t + 1]) / 2 -> (t < 63 ? tile[t + 1] : x[i + 1])) / 2

00.13
    the barrier at the top of the turn
        - $COPIED…
        +     for (int half…
        - $IF_ADD
        -         __syncthreads();
        +         __syncthreads();
        + $IF_ADD
    neighbours first
        - $TURN
        +     for (int step = 1; step < 256; step *= 2) {
        +         if (t % (2 * step) == 0)
        +             tile[t] += tile[t + step];
        +         __syncthreads();
        +     }
    the last turns in one warp
        -         __syncthreads();
        -     }…
        +         if (half > 32) __syncthreads(); else __syncwarp();
        +     }…
    halves by shifting
        half > 0; half /= 2 -> half; half >>= 1
    the sum in a register
        -     tile[t] = x…
        +     float mine;
        +     tile[t] = mine = x…
        tile[t] += tile[t + half]; -> tile[t] = mine += tile[t + half];

00.14
    a warp takes a column
        - $COPY
        - $COMPLETE
        - $ADD_UP
        +     for (int n = t / 32; n < 32; n += 8)
        +         tile[n * 32 + t % 32] = x[n * 64 + t % 32] + x[n * 64 + t % 32 + 32];
        +     __syncthreads();
        +     if (t < 32) {
        +         float sum = 0;
        +         for (int i = 0; i < 32; ++i)
        +             sum += tile[t * 32 + i];
        +         sums[t] = sum;
        +     }
    a running sum in registers, added in shared memory
        - $COPY
        - $COMPLETE
        - $ADD_UP
        +     if (t < 32) tile[t] = 0;
        +     __syncthreads();
        +     for (int i = t; i < 64 * 32; i += 256)
        +         atomicAdd(&tile[i / 64], x[i]);
        +     __syncthreads();
        +     if (t < 32) sums[t] = tile[t];
    a warp adds by shuffles
        - $COPY
        - $COMPLETE
        - $ADD_UP
        +     for (int n = t / 32; n < 32; n += 8) {
        +         float sum = x[n * 64 + t % 32] + x[n * 64 + t % 32 + 32];
        +         for (int half = 16; half > 0; half /= 2)
        +             sum += __shfl_down_sync(0xffffffff, sum, half);
        +         if (t % 32 == 0) tile[n] = sum;
        +     }
        +     __syncthreads();
        +     if (t < 32) sums[t] = tile[t];
    eight threads a column
        - $COPY
        - $COMPLETE
        - $ADD_UP
        +     if (t < 32) tile[t] = 0;
        +     __syncthreads();
        +     float sum = 0;
        +     for (int m = t % 8; m < 64; m += 8)
        +         sum += x[m + t / 8 * 64];
        +     atomicAdd(&tile[t / 8], sum);
        +     __syncthreads();
        +     if (t < 32) sums[t] = tile[t];
    as two dimensions
        - $COPY
        +     for (int n = t / 64; n < 32; n += 4)
        +         tile[n * 64 + t % 64] = x[n * 64 + t % 64];
""",
    **globals(),
)
WRONG_ANSWERS = wrong_answers(
    """
00.11
    as if aligned: How many sectors do they touch
        5, -> 4,
    one sector for each lane: load a does not take 32 sectors
        (5, 8, 4, 2) -> (32, 32, 32, 32)
    half a sector counted as none: is one left out
        8, -> 4,
    a sector for each lane with a gap: is one left out
        8, -> 32,
    backwards as one by one: which lane wants which
        4, -> 32,
    backwards as a fifth sector: which lane wants which
        4, -> 5,
    two lanes, two requests: How many different floats
        2) -> 4)
    bytes: load a does not take 128
        (5, 8, 4, 2) -> (128, 128, 128, 128)
    words: is a whole number
        5, -> 'five',
    one number: four whole numbers
        (5, 8, 4, 2) -> (5,)
    half a sector: is a whole number, and not 7.5
        8, -> 7.5,

00.12
    the thread that has no neighbour at all: thread ... of block
        (63, -> (0,
    counted from 1: thread ... of block
        (63, -> (64,
    the byte: counts bytes
        - 64)
        + 256)
    the element before: counts bytes
        - 64)
        + 63)
    nothing changed: has no thread of its own
        $NEXT ->
    without looking at n: does the one that you bring exist
        t == 0 && i + 64 < n -> t == 0
    one too far: does the one that you bring exist
        i + 64 < n -> i + 64 <= n
    after the barrier: before the barrier
        $NEXT ->
        -     __syncthreads();
        +     __syncthreads();
        + $NEXT
    the wrong element: the first one of the next block
        x[i + 64] -> x[i + 63]
    all threads bring it: needs one thread
        t == 0 && i + 64 < n -> i + 64 < n
    blocks that overlap: two blocks write one element
        $NEXT ->
        blockIdx.x * 64 + t -> blockIdx.x * 63 + t
    the tile larger: has no thread of its own
        $NEXT ->
        tile[65] -> tile[128]
    the neighbour left out: the first one of the next block
        tile[t + 1]) / 2 -> tile[t < 63 ? t + 1 : t]) / 2
    not written: the first one of the next block
        $NEXT ->
        if (i + 1 < n) -> if (i + 1 < n && t < 63)

00.13
    as given: all threads must meet
        - $TURN
        +     for (int half = 128; half > 0; half /= 2) {
        +         if (t < half) {
        +             tile[t] += tile[t + half];                // 256 numbers become 128, then 64, 32, ...
        +         __syncthreads(); }
        +     }
    no barrier in the loop: between two turns
        - $TURN
        +     for (int half = 128; half > 0; half /= 2) {
        +         if (t < half)
        +             tile[t] += tile[t + half];                // 256 numbers become 128, then 64, 32, ...
        +     }
    only the warp waits: between two turns
        - $TURN
        +     for (int half = 128; half > 0; half /= 2) {
        +         if (t < half)
        +             tile[t] += tile[t + half];                // 256 numbers become 128, then 64, 32, ...
        +         __syncwarp();
        +     }
    no barrier before the loop: before the first one
        - $COPIED…
        +     for (int half…
    a turn too many: t + half must stay below 256
        half = 128; -> half = 256;
    a turn too few: Is every number added
        half > 0; -> half > 1;
    from the quarter: Is every number added
        half = 128; -> half = 64;
    no sum: Is every number added
        tile[t] += tile[t + half] -> tile[t] = tile[t + half]
    one thread adds all: half of the threads rest
        - $TURN
        +     if (t == 0)
        +         for (int i = 1; i < 256; ++i) tile[0] += tile[i];
    barriers to be sure: one in each turn are enough
        -         __syncthreads();
        -     }…
        +         __syncthreads(); __syncthreads();
        +     }…
    a fence only: between two turns
        - $TURN
        +     for (int half = 128; half > 0; half /= 2) {
        +         if (t < half)
        +             tile[t] += tile[t + half];                // 256 numbers become 128, then 64, 32, ...
        +         __threadfence_block();
        +     }
    no end: a loop has no end
        half /= 2 -> half /= 1

00.14
    as before: must read 32 neighbouring floats
        -     for (int i = t; i < 64 * 32; i += 256)
        -         tile[i] = x[i];                               // neighbours read neighbours
        -     __syncthreads();                                  // the tile is complete
        sum += tile[m -> sum += x[m
    no barrier: a barrier must stand
        $COMPLETE ->
    the warp waits alone: a barrier must stand
        - $COMPLETE
        +     __syncwarp();
    added up in global memory: belongs in shared memory
        - $COPY
        - $COMPLETE
        - $ADD_UP
        +     if (t < 32) sums[t] = 0;
        +     __syncthreads();
        +     for (int i = t; i < 2048; i += 256)
        +         atomicAdd(&sums[i / 64], x[i]);
    added up by many at once: let one thread do it
        - $COPY
        - $COMPLETE
        - $ADD_UP
        +     if (t < 32) tile[t] = 0;
        +     __syncthreads();
        +     for (int i = t; i < 2048; i += 256)
        +         tile[i / 64] += x[i];
        +     __syncthreads();
        +     if (t < 32) sums[t] = tile[t];
    one turn of the copy: a part of the tile is never written
        i += 256 -> i += 64 * 32
    one too far: where does the loop end
        i < 64 * 32 -> i <= 64 * 32
    one thread copies all: share the work out
        int i = t; i < 64 * 32; i += 256 -> int i = 0; i < 64 * 32 && t == 0; ++i
    a stretch for each thread: must read 32 neighbouring floats
        int i = t; i < 64 * 32; i += 256 -> int i = 8 * t; i < 8 * t + 8; ++i
    the sums of rows: column n has the 64 elements
        tile[m + t * 64] -> tile[m * 32 + t]
    half a column: column n has the 64 elements
        m < 64 -> m < 32
    no end: a loop has no end
        i += 256 -> i += 0
""",
    **globals(),
)
SOLVED = {"00.11": solved_numbers, "00.12": solved_numbers}
