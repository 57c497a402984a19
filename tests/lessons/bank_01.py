"""The exercises of the bank for lesson 01."""

from tests.lessons import solved_numbers
from tests.lessons.tables import right_answers, wrong_answers

PIECE = """    if (4 * i + 3 < n) {                              // four floats that all exist
        float4 v = *(const float4*)&x[4 * i];
        *(float4*)&y[4 * i] = make_float4(a * v.x, a * v.y, a * v.z, a * v.w);
    }"""
REST = """ else {                                          // at most three are left
        for (int j = 4 * i; j < n; ++j)
            y[j] = a * x[j];
    }
"""
BODY = PIECE + REST
LOAD = "        tile[i / 32][i % 32] = A[i % 32 + (i / 32) * M];\n"
TILE = "tile[32][33];                    // 33: a row and a column both go through all banks"
BARRIER = "    __syncthreads();\n"
SUMS_COPY = """    for (int i = t; i < 64 * 32; i += 256)
        tile[i] = x[i];                               // neighbours read neighbours
"""
SUMS_COMPLETE = "    __syncthreads();                                  // the tile is complete\n"
SUMS_ADD_UP = """    if (t < 32) {
        float sum = 0;
        for (int m = 0; m < 64; ++m)
            sum += tile[m + t * 64];
        sums[t] = sum;
    }
"""

GAPS = ["01.12", "01.13", "01.16"]
RIGHT_ANSWERS = right_answers(
    """
01.11
    fractions without a rest
        (2, 1, 1, 8, 4) -> (32 / 16, 33 / 33, 1.0, 32 / 4, 32 * 16 / 128)
    counted
        8, -> max(sum(8 * t % 32 == bank for t in range(32)) for bank in range(32)),

01.12
    the rest by as many threads
        - $BODY
        + $PIECE
        +     if (i < n % 4)
        +         y[n - 1 - i] = a * x[n - 1 - i];
    pieces counted
        4 * i + 3 < n -> i < n / 4
    pointers to pieces
        - $BODY
        +     const float4* from = (const float4*)x;
        +     float4* to = (float4*)y;
        +     int whole = n / 4;
        +     if (i < whole) {
        +         float4 v = from[i];
        +         v.x *= a, v.y *= a, v.z *= a, v.w *= a;
        +         to[i] = v;
        +     }
        +     for (int j = 4 * whole; j < n && i == whole; ++j) y[j] = x[j] * a;
    first out, then the pieces
        - $BODY
        +     if (4 * i + 4 > n) {
        +         for (int j = 0; j < 4; ++j)
        +             if (4 * i + j < n) y[4 * i + j] = a * x[4 * i + j];
        +         return;
        +     }
        + $PIECE

01.13
    columns exchanged in each row
        $TILE -> tile[32][32];
        tile[i / 32][i % 32] -> tile[i / 32][(i + i / 32) % 32]
        tile[i % 32][i / 32] -> tile[i % 32][(i / 32 + i) % 32]
    by exclusive or
        $TILE -> tile[32][32];
        tile[i / 32][i % 32] -> tile[i / 32][i % 32 ^ i / 32]
        tile[i % 32][i / 32] -> tile[i % 32][i / 32 ^ i % 32]
    turned on the way in
        tile[i / 32][i % 32] -> tile[i % 32][i / 32]
        = tile[i % 32][i / 32] -> = tile[i / 32][i % 32]
    lanes and warps
        - $LOAD
        +         { int lane = threadIdx.x % 32, k = i / 32; tile[k][lane] = A[lane + k * M]; }

01.14
    fractions without a rest
        (4, 2, 1) -> (16 / 4, 16 / 8, 16 / 16)
    a list
        (4, 2, 1) -> [4, 2, 1]

01.15
    fractions without a rest
        (5, 8, 4, 2) -> (5.0, 32 * 2 / 8, 4, 32 / 2 / 8)
    counted by a set
        5, -> len({(t + 1) // 8 for t in range(32)}),
    numbers of NumPy
        (5, 8, 4, 2) -> __import__('numpy').array([5, 8, 4, 2])

01.16
    a warp takes a column
        - $SUMS_COPY
        - $SUMS_COMPLETE
        - $SUMS_ADD_UP
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
        - $SUMS_COPY
        - $SUMS_COMPLETE
        - $SUMS_ADD_UP
        +     if (t < 32) tile[t] = 0;
        +     __syncthreads();
        +     for (int i = t; i < 64 * 32; i += 256)
        +         atomicAdd(&tile[i / 64], x[i]);
        +     __syncthreads();
        +     if (t < 32) sums[t] = tile[t];
    a warp adds by shuffles
        - $SUMS_COPY
        - $SUMS_COMPLETE
        - $SUMS_ADD_UP
        +     for (int n = t / 32; n < 32; n += 8) {
        +         float sum = x[n * 64 + t % 32] + x[n * 64 + t % 32 + 32];
        +         for (int half = 16; half > 0; half /= 2)
        +             sum += __shfl_down_sync(0xffffffff, sum, half);
        +         if (t % 32 == 0) tile[n] = sum;
        +     }
        +     __syncthreads();
        +     if (t < 32) sums[t] = tile[t];
    eight threads a column
        - $SUMS_COPY
        - $SUMS_COMPLETE
        - $SUMS_ADD_UP
        +     if (t < 32) tile[t] = 0;
        +     __syncthreads();
        +     float sum = 0;
        +     for (int m = t % 8; m < 64; m += 8)
        +         sum += x[m + t / 8 * 64];
        +     atomicAdd(&tile[t / 8], sum);
        +     __syncthreads();
        +     if (t < 32) sums[t] = tile[t];
    as two dimensions
        - $SUMS_COPY
        +     for (int n = t / 64; n < 32; n += 4)
        +         tile[n * 64 + t % 64] = x[n * 64 + t % 64];
""",
    **globals(),
)
WRONG_ANSWERS = wrong_answers(
    """
01.11
    a has no conflict: how many of these floats lie in each
        (2, -> (1,
    a all in one: how many of these floats lie in each
        (2, -> (32,
    b as a column: Write down the first few
        2, 1, 1, -> 2, 32, 1,
    c one after the other: served together
        1, 8 -> 4, 8
    d as many as the distance times four: Which banks are that
        8, -> 32,
    d as few as the banks: Which banks are that
        8, -> 4,
    e no conflict, so one: 16 bytes each
        4) -> 1)
    e a conflict: 16 bytes each
        4) -> 16)
    too few: five whole numbers
        (2, 1, 1, 8, 4) -> (2, 1)

01.12
    no rest: also the last one, two or three
        - $REST
        +
    one piece too many: only if float 4 * i + 3 exists
        4 * i + 3 < n -> 4 * i < n
    one float too far: only if float 4 * i + 3 exists
        4 * i + 3 < n -> 4 * i + 3 <= n
    one by one: 16 bytes for each whole piece
        - $BODY
        +     for (int j = 4 * i; j < 4 * i + 4 && j < n; ++j)
        +         y[j] = a * x[j];
    only the loads are wide: 16 bytes for each whole piece
        - *(float4*)&y[4 * i] = make_float4(a * v.x, a * v.y, a * v.z, a * v.w);…
        + y[4 * i] = a * v.x; y[4 * i + 1] = a * v.y; y[4 * i + 2] = a * v.z; y[4 * i + 3] = a * v.w;…
    pieces one float apart: begin at a multiple of 4 floats
        x[4 * i]; -> x[i];
    not multiplied in the rest: each float of x is multiplied once
        = a * x[j] -> = x[j]
    the rest of all by all: only what is left, and once
        - $REST
        +
        +     for (int j = n / 4 * 4; j < n; ++j)
        +         y[j] = a * x[j];
    the rest too long: one by one up to n
        j < n; -> j < n + 1;
    one factor forgotten: each float of x is multiplied once
        a * v.w -> v.w

01.13
    no tile: turn it round in shared memory
        $BARRIER ->
        $LOAD ->
        -         B[i % 32 + (i / 32) * N] = tile[i % 32][i / 32];
        +         B[i / 32 + (i % 32) * N] = A[i % 32 + (i / 32) * M];
    not turned in shared memory: turn it round in shared memory
        tile[i % 32][i / 32]; -> tile[i / 32][i % 32];
        B[i % 32 + (i / 32) * N] -> B[i / 32 + (i % 32) * N]
    rows of 32: What if a row is one float longer
        [33] -> [32]
    rows of 34: What if a row is one float longer
        [33] -> [34]
    no barrier: a barrier must stand
        $BARRIER ->
    only the warp waits: a barrier must stand
        - $BARRIER
        +     __syncwarp();
    not turned at all: is element (n, m) of B
        tile[i % 32][i / 32] -> tile[i / 32][i % 32]
    blocks not exchanged: a column of A has M floats
        blockIdx.y * 32 + blockIdx.x * 32 * N -> blockIdx.x * 32 + blockIdx.y * 32 * N
    columns of M in B: two threads write one element
        (i / 32) * N] -> (i / 32) * M]
        blockIdx.x * 32 * N -> blockIdx.x * 32 * M
    one turn: never written
        - i += 256)
        -         tile…
        + i += 1024)
        +         tile…
    barrier for some: all threads must meet
        - $BARRIER
        +     if (threadIdx.x < 128) __syncthreads();

01.14
    all the same: any multiple of 4 bytes
        (4, 2, 1) -> (1, 1, 1)
    as float2: any multiple of 4 bytes
        (4, -> (2,
    merged: two float2
        2, -> 1,
    split: two float2
        2, -> 4,
    floats: may all of it come at once
        1) -> 4)
    halves: may all of it come at once
        1) -> 2)
    bytes: any multiple of 4 bytes
        (4, 2, 1) -> (16, 16, 16)
    no number: is a whole number
        1) -> 'one')

01.15
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

01.16
    as before: must read 32 neighbouring floats
        -     for (int i = t; i < 64 * 32; i += 256)
        -         tile[i] = x[i];                               // neighbours read neighbours
        -     __syncthreads();                                  // the tile is complete
        sum += tile[m -> sum += x[m
    sums written in each turn: or of sums
        - $SUMS_ADD_UP
        +     if (t < 32) sums[t] = 0;
        +     for (int m = 0; m < 64; m += 16) {
        +         for (int i = m; i < m + 16 && t < 32; ++i)
        +             sums[t] += tile[i + t * 64];
        +         __syncthreads();
        +     }
    no barrier: a barrier must stand
        $SUMS_COMPLETE ->
    the warp waits alone: a barrier must stand
        - $SUMS_COMPLETE
        +     __syncwarp();
    added up in global memory: belongs in shared memory
        - $SUMS_COPY
        - $SUMS_COMPLETE
        - $SUMS_ADD_UP
        +     if (t < 32) sums[t] = 0;
        +     __syncthreads();
        +     for (int i = t; i < 2048; i += 256)
        +         atomicAdd(&sums[i / 64], x[i]);
    added up by many at once: let one thread do it
        - $SUMS_COPY
        - $SUMS_COMPLETE
        - $SUMS_ADD_UP
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
SOLVED = {"01.11": solved_numbers, "01.14": solved_numbers, "01.15": solved_numbers}
