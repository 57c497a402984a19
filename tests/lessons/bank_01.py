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

GAPS = ["01.12", "01.13"]
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
""",
    **globals(),
)
SOLVED = {"01.11": solved_numbers, "01.14": solved_numbers}
