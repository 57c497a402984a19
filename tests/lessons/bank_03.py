"""The exercises of the bank for lesson 03."""

from tests.lessons import solved_numbers
from tests.lessons.tables import right_answers, wrong_answers

FRAGMENTS = """            alignas(16) float a[4], b[4];             // fragments
            *(float4*)a = *(float4*)&As[buffer][k][m];
            *(float4*)b = *(float4*)&Bs[buffer][k][n];
"""
OUT = "        *(float4*)&C[j * M] = make_float4(acc[j][0], acc[j][1], acc[j][2], acc[j][3]);\n"
LOAD = "load((k + 1) % TK, (k_tile + (k + 1) / TK) % 2, (k + 1) % 2);"
OLD_LOAD = "load((k + 1) % TK, k_tile % 2, (k + 1) % 2);"
NEXT_DONE = """            if (k == TK - 1) {
                wait_all();
                __syncthreads();                      // the next k-tile is complete
            }
"""
BARRIER = "        __syncthreads();                              // all parts of this k-tile have landed\n"
ISSUE = "        if (k_tile + 1 < k_tiles)\n            issue(k_tile + 1);\n"
MULTIPLY = "        multiply(k_tile % 2);\n"
IN_LOOP = "        wait_all();\n" + BARRIER + ISSUE + MULTIPLY

RIGHT_ANSWERS = right_answers(
    """
03.11
    a list of truths
        (0, 1, 0, 1) -> [int(order in 'bd') for order in 'abcd']
    floats
        (0, 1, 0, 1) -> (0.0, 1.0, 0.0, 1.0)

03.12
    two float4
        - $FRAGMENTS
        +             float4 a4 = *(float4*)&As[buffer][k][m], b4 = *(float4*)&Bs[buffer][k][n];
        +             float a[4] = {a4.x, a4.y, a4.z, a4.w}, b[4] = {b4.x, b4.y, b4.z, b4.w};
    x and y change places, turned in groups of lanes
        int m = 4 * x, n = 4 * y; -> int m = threadIdx.x % 8 * 4, n = threadIdx.x / 8 * 4;
    a pointer to the results
        - $OUT
        +         ((float4*)(C + j * M))[0] = *(float4*)acc[j];
        float acc[4][4] -> alignas(16) float acc[4][4]

03.13
    a choice
        (k_tile + (k + 1) / TK) % 2, (k + 1) % 2 -> k + 1 < TK ? k_tile % 2 : (k_tile + 1) % 2, (k + 1) % 2
    a name for the buffer
        - $NEXT_DONE
        +             int from = k_tile % 2;
        +             if (k == TK - 1) {
        +                 wait_all();
        +                 __syncthreads();                      // the next k-tile is complete
        +                 from ^= 1;
        +             }
        (k_tile + (k + 1) / TK) % 2 -> from
    counted in k-blocks
        - $LOAD…
        + int next = k_tile * TK + k + 1;
        +             load(next % TK, next / TK % 2, next % 2);…

03.14
    a second barrier after the math
        - $BARRIER
        - $ISSUE
        - $MULTIPLY
        + $ISSUE
        + $BARRIER
        + $MULTIPLY
        +         __syncthreads();
    a barrier more, before the copy
        - $IN_LOOP
        +         wait_all();
        +         __syncthreads();
        + $ISSUE
        + $BARRIER
        + $MULTIPLY
    groups
        -     issue(0);
        +     issue(0);
        +     commit_group();
        -         wait_all();
        +         wait_group<0>();
        -             issue(k_tile + 1);
        +             issue(k_tile + 1);
        +         commit_group();
""",
    **globals(),
)
WRONG_ANSWERS = wrong_answers(
    """
03.11
    two buffers are enough: waits for every copy
        (0, -> (1,
    two k-tiles: Who has waited for it
        (0, 1, -> (0, 2,
    b waits too: Who has waited for it
        (0, 1, -> (0, 0,
    started is on its way: begins with a wait
        1, 0, 1 -> 1, 1, 1
    d waits for all: leaves the newest group open
        0, 1) -> 0, 0)
    d has two: leaves the newest group open
        0, 1) -> 0, 2)
    all overlap: waits for every copy
        (0, 1, 0, 1) -> (1, 1, 1, 1)
    yes and no: is a whole number
        (0, -> ('no',

03.12
    as given: one load for the four floats of A
        int m = 4 * x, n = 4 * y; -> int m = x, n = y;
        - $FRAGMENTS
        +             float a[4], b[4];
        +             for (int i = 0; i < 4; ++i) a[i] = As[buffer][k][m + 8 * i];
        +             for (int j = 0; j < 4; ++j) b[j] = Bs[buffer][k][n + 8 * j];
        - $OUT
        +         for (int i = 0; i < 4; ++i)
        +             C[8 * i + 8 * j * M] = acc[j][i];
    only A wide: one load for the four floats of A
        n = 4 * y; -> n = y;
        -             *(float4*)b = *(float4*)&Bs[buffer][k][n];
        +             for (int j = 0; j < 4; ++j) b[j] = Bs[buffer][k][n + 8 * j];
        C[j * M] -> C[8 * j * M]
    C one by one: store them with 16 bytes
        - $OUT
        +         for (int i = 0; i < 4; ++i)
        +             C[i + j * M] = acc[j][i];
    not neighbours: m and n must be such numbers
        int m = 4 * x, n = 4 * y; -> int m = x, n = y;
    C as before: index of C fit them
        - $OUT
        +         for (int i = 0; i < 4; ++i)
        +             C[8 * i + 8 * j * M] = acc[j][i];
    A and B mixed up: acc[j][i] is row m + i
        &As[buffer][k][m] -> &As[buffer][k][n]
    no barrier: the loop with its one barrier was right
        $BARRIER ->
    the length of a k-tile for that of a column: does the index of C fit m and n
        C[j * M] -> C[j * TK]
    too far apart: m and n are 0, 4, ... 28
        int m = 4 * x -> int m = 16 * x
    A too far apart: lies outside this k-tile
        &As[buffer][k][m] -> &As[buffer][k][4 * m]
    a copy that is waited for: before the math, as it did
        - $IN_LOOP
        +         wait_all();
        + $BARRIER
        + $MULTIPLY
        + $ISSUE
    no end: a loop has no end
        ++k_tile -> k_tile += 0

03.13
    as given: Is it the buffer that should be read
        $LOAD -> $OLD_LOAD
    a barrier against the race: from which buffer
        $LOAD -> $OLD_LOAD
        -             if (k == 0 && k_tile…
        +             __syncthreads();
        +             if (k == 0 && k_tile…
    always the other buffer: Only the load of the last k-block
        (k_tile + (k + 1) / TK) % 2 -> (k_tile + 1) % 2
    the set of this k-block: which set
        % 2, (k + 1) % 2) -> % 2, k % 2)
    one k-block too early: Only the load of the last k-block
        (k + 1) / TK -> (k + 2) / TK
    k-block 7 once more: which k-block is loaded
        (k + 1) % TK, -> min(k + 1, TK - 1),
    wait one k-block too late: before anybody has waited
        $NEXT_DONE ->
        - $LOAD…
        + $LOAD
        +             if (k == TK - 1) {
        +                 wait_all();
        +                 __syncthreads();                      // the next k-tile is complete
        +             }…
    no barrier: that may not be complete
        -                 __syncthreads();                      // the next k-tile is complete
    no wait: before anybody has waited
        -                 wait_all();
    waits for the copy at once: waited for in the last one
        -                 issue(k_tile + 1);
        +                 issue(k_tile + 1), wait_all();

03.14
    the line in issue: who calls issue
        (29, -> (14,
    the line in multiply: who calls multiply
        - 31)
        + 21)
    changed over: who calls issue
        (29, 31) -> (31, 29)
    the barrier: who calls multiply
        - 31)
        + 30)
    nothing changed: a slow one still multiplies
        $BARRIER$ISSUE -> $ISSUE$BARRIER
    the barrier before the wait: first the wait
        -         wait_all();
        - $BARRIER
        + $BARRIER
        +         wait_all();
    no barrier: a thread's own copies
        $BARRIER ->
    the copy after the math: before the math, not after it
        $ISSUE$MULTIPLY -> $MULTIPLY$ISSUE
    the wait after the copy: before the math, not after it
        -         wait_all();
        - $BARRIER
        - $ISSUE
        + $BARRIER
        + $ISSUE
        +         wait_all();
        +         __syncthreads();
    only the warp waits: a thread's own copies
        - $BARRIER
        +         __syncwarp();
    the wrong buffer: which buffer holds
        multiply(k_tile % 2) -> multiply((k_tile + 1) % 2)
    one k-tile too many: no next one to copy
        k_tile + 1 < k_tiles -> k_tile < k_tiles
""",
    **globals(),
)
SOLVED = {"03.11": solved_numbers, "03.14": solved_numbers}
