"""Lesson 04."""

from tests.lessons.tables import right_answers, variants, wrong_answers

NOTEBOOK = "04_tensor_cores"
DTYPE = "float16"
COPY_B = "B + blockIdx.y * TN * K + k_tile * TK, K"
BLOCK = variants(
    """
last k-tile skipped: without the last k-tile|NaN|wrong
    int k_tile = 0; k_tile < K / TK; ++k_tile -> int k_tile = 0; k_tile < K / TK - 1; ++k_tile
same k-tile each time: wrong numbers
    A + blockIdx.x * TM * K + k_tile * TK, K -> A + blockIdx.x * TM * K, K
B with the columns of C: wrong|out-of-bounds
    $COPY_B -> B + blockIdx.y * TN * K + k_tile * TK, N
B over A: write-after-write|uninitialised-read
    slot + TM * TK, $COPY_B -> slot, $COPY_B
the other warps' rows: block-conflict|wrong|NaN|write-after|read-after
    n = warp / (TM / 64) * 64 -> n = warp % 2 * 64
row stride of C: wrong|out-of-bounds|block-conflict
    N + blockIdx.y * TN + n, N, sum -> N + blockIdx.y * TN + n, M, sum
""",
    **globals(),
)
WRONG = {
    "one_warp": variants("""
fragments of B turned round: wrong
    a, b[0], b[1] -> a, b[1], b[0]
halves of two fragments: wrong
    d[0], a, b[0], b[1] -> d[0], a, b[0], b[2]
B as if it was A: wrong
    &Bs[lane % 8 + lane / 16 * 8][lane / 8 % 2 * 8] -> &Bs[lane % 16][lane / 16 * 8]
one row for all: wrong
    &As[lane % 16] -> &As[lane / 16]
left half only: wrong
    - lane / 16 * 8]);
    -         ldmatrix_x4(b…
    + 0]);
    +         ldmatrix_x4(b…
no barrier after the copy: read-after-write
    - __syncwarp();
    -         unsigned…
    + unsigned…
no barrier after the math: write-after-read
    - __syncwarp();
    -     }…
    + }…
columns of C: misaligned|wrong|block-conflict
    lane % 4 * 2; -> lane % 4;
rows of C: wrong|write-after-write|NaN|block-conflict
    C[j * 8 + 8 * N] -> C[j * 8 + 4 * N]
"""),
    "warp_tile": variants("""
read without the swizzle: wrong
    As + swizzled<TK>(lane % 16, 2 * step + lane / 16) -> As + lane % 16 * TK + (2 * step + lane / 16) * 8
swizzle that drops a row: out-of-bounds|wrong|uninitialised
    chunk ^ row * TK / 64 % (TK / 8) -> chunk ^ row * TK / 64
swizzle with a sum: wrong|uninitialised|out-of|write-after-write
    chunk ^ row * TK / 64 % (TK / 8) -> chunk + row * TK / 64 % (TK / 8)
second step left out: wrong
    step < TK / 16; -> step < TK / 16 - 1;
step in halves: wrong
    2 * step + lane / 16) -> step + lane / 16)
rows of 8: wrong
    b_row, i * 16 * TK * 2 -> b_row, i * 8 * TK * 2
no wait: unwaited-copy
    wait_all(); ->
no barrier after the wait: read-after-write|unwaited-copy
    - __syncwarp();
    -         for…
    + for…
fragments of B: wrong
    b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1] -> b[j / 2][j % 2], b[j / 2][j % 2 + 2]
"""),
    "one_stage": [
        *BLOCK,
        *variants("""
no wait: unwaited-copy
    wait_group<0>(); ->
wait that waits for nothing: unwaited-copy
    wait_group<0>(); -> wait_group<1>();
first barrier removed: read-after-write|unwaited-copy
    __syncthreads();                              // the k-tile is complete ->
second barrier removed: write-after-read
    __syncthreads();                              // all have read it ->
rows of a piece: wrong|uninitialised|write-after-write
    (half * 8 + lane / 4) * 72 -> (half * 4 + lane / 4) * 72
one piece for two warps: write-after|read-after|wrong
    slot + warp * 16 * 72 -> slot + warp * 8 * 72
"""),
    ],
}
A = "As[lane % 16][lane / 16 * 8]"
PLACE = "return row * TK + (chunk ^ row / 4 % 2) * 8;"
BY_HAND = (
    "for (int i = 0; i < 4; ++i) "
    "a[i] = *(unsigned*)&As[place(lane / 4 + i % 2 * 8, 2 * step + i / 2) + lane % 4 * 2];"
)
SYNC_READ = "        __syncthreads();                              // all have read it\n"
WAIT = """        wait_group<0>();
        __syncthreads();                              // the k-tile is complete
"""
GAPS = ["04.1", "04.4"]
WRONG_ANSWERS = wrong_answers(
    """
04.1
    B's order: lies below matrix 0
        $A -> As[lane % 8 + lane / 16 * 8][lane / 8 % 2 * 8]
    eight rows only: first row and its first column
        $A -> As[lane % 8][lane / 16 * 8]
    chunks for columns: column is 0 or 8
        $A -> As[lane % 16][lane / 16]
    the copy's address: l % 8 is in the row
        $A -> As[lane / 2][lane % 2 * 8]
    the receiver's address: column is 0 or 8
        $A -> As[lane / 4][lane % 4 * 2]
    a row for each lane: leaves the 16 x 16
        $A -> As[lane][0]
    four columns of matrices: lies below matrix 0
        $A -> As[lane % 8][lane / 8 * 8]
    row and column exchanged: column is 0 or 8
        $A -> As[lane / 16 * 8][lane % 16]
    rows counted twice: leaves the 16 x 16
        $A -> As[lane % 16 + lane / 16 * 8][lane / 16 * 8]
    the right half first: first row and its first column
        $A -> As[lane % 16][8 - lane / 16 * 8]
    no ldmatrix, each register by hand: fills all four registers
        - ldmatrix_x4(a, &As[lane % 16][lane / 16 * 8]);…
        + for (int i = 0; i < 4; ++i) a[i] = *(unsigned*)&As[lane / 4 + i % 2 * 8][lane % 4 * 2 + i / 2 * 8];…

04.4
    plain: rows that meet
        $PLACE -> return row * TK + chunk * 8;
    the lesson's swizzle: one of six
        $PLACE -> return row * TK + (chunk ^ row * TK / 64 % (TK / 8)) * 8;
    the line: one of six
        $PLACE -> return row * TK + (chunk ^ row / 2 % 4) * 8;
    each row: rows that meet
        $PLACE -> return row * TK + (chunk ^ row % 2) * 8;
    right in rows 0 to 7 only: in rows 8 to 15
        $PLACE -> return row * TK + (chunk ^ (row < 8 ? row / 4 : 0)) * 8;
    only four of the six chunks move: count for each chunk
        $PLACE -> return row * TK + (chunk < 4 ? chunk ^ row / 4 % 2 : chunk) * 8;
    or in place of xor: each used once
        $PLACE -> return row * TK + (chunk | row / 4 % 2) * 8;
    a sum without end: one of six
        $PLACE -> return row * TK + (chunk + row / 4) * 8;
    one further in each row: rows that meet
        $PLACE -> return row * TK + (chunk + row) % 6 * 8;
    two places further: rows that meet
        $PLACE -> return row * TK + (chunk + row / 4 * 2) % 6 * 8;
    in bytes: the place is counted in halves
        $PLACE -> return (row * TK + (chunk ^ row / 4 % 2) * 8) * 2;
    chunk without its 8: 8 * seat
        $PLACE -> return row * TK + (chunk ^ row / 4 % 2);
    a swizzle for the copy only, reads by hand: leave the reads as they are
        ldmatrix_x4(a, &As[place(lane % 16, 2 * step + lane / 16)]); -> $BY_HAND
    the seats of a row turned round: rows that meet
        $PLACE -> return row * TK + (5 - chunk) * 8;
    every row by one of four: rows that meet
        $PLACE -> return row * TK + (chunk + row % 4) % 6 * 8;
    padded: do not pad
        As[16 * TK], Bs[16 * TK] -> As[16 * 56], Bs[16 * 56]
        $PLACE -> return row * 56 + chunk * 8;

04.5
    no wait: nobody waited for
        -         wait_group<0>();
    a wait that allows the group: nobody waited for
        wait_group<0> -> wait_group<1>
    no group closed: close the group
        -         commit_group();
    k-tiles one column apart: column k_tile * TK
        * TM * K + k_tile * TK -> * TM * K + k_tile
    warps side by side: 0 or 64
        warp % 2 * 64, n = warp / 2 * 64 -> warp % 2, n = warp / 2
    the first rows of A in each block: A begins at row blockIdx
        - A + blockIdx.x * TM * K + …
        + A + …
    rows of B by their index alone: Where do the rows of B begin
        slot + (TM + n) * TK -> slot + n * TK
    wait behind the barrier: first the wait, then a barrier
        -         wait_group<0>();
        -         __syncthreads();…
        +         __syncthreads();
        +         wait_group<0>();…
    no first barrier: first the wait, then a barrier
        -         __syncthreads();                              // the k-tile is complete
    no second barrier: a fast warp overwrites
        $SYNC_READ ->
    half of the k-steps: 64 / 16 k-steps
        step < TK / 16 -> step < TK / 32
    B over A: after TM * TK
        copy_rows<THREADS, TN, TK>(slot + TM * TK, -> copy_rows<THREADS, TN, TK>(slot,
    the first k-tile of A only: What changes from one k-tile
        A + blockIdx.x * TM * K + k_tile * TK, K -> A + blockIdx.x * TM * K, K
    both tiles always the first: moves on by TK
        * TM * K + k_tile * TK -> * TM * K
        * TN * K + k_tile * TK -> * TN * K
    one turn too few: K / TK turns
        k_tile < K / TK; ++k_tile -> k_tile < K / TK - 1; ++k_tile
    two pairs of warps: four different pairs
        m = warp % 2 * 64 -> m = warp / 2 * 64
    all warps the first rows of A: from m on
        slot + m * TK -> slot
    four warps below each other, as in one_stage: outside of C
        m = warp % 2 * 64, n = warp / 2 * 64 -> m = warp % 4 * 64, n = warp / 4 * 64
    32 rows a warp: outside of C
        m = warp % 2 * 64, n = warp / 2 * 64 -> m = warp * 32, n = 0
    TK for K: how far apart
        - + k_tile * TK, K);
        -         copy_rows…
        + + k_tile * TK, TK);
        +         copy_rows…
    copied twice at once: is copied once
        -         commit_group();
        +         copy_rows<THREADS, TM, TK>(slot, A + blockIdx.x * TM * K + k_tile * TK, K);
        +         commit_group();
    copied again when it is there: is copied once
        - $SYNC_READ
        + $SYNC_READ
        +         copy_rows<THREADS, TM, TK>(slot, A + blockIdx.x * TM * K + k_tile * TK, K);
        +         wait_all();
        +         __syncthreads();
    M for K: how far apart
        - + k_tile * TK, K);
        -         copy_rows…
        + + k_tile * TK, M);
        +         copy_rows…
""",
    **globals(),
)
LOOP_BODY = """        copy_rows<THREADS, TM, TK>(slot, A + blockIdx.x * TM * K + k_tile * TK, K);
        copy_rows<THREADS, TN, TK>(slot + TM * TK, B + blockIdx.y * TN * K + k_tile * TK, K);
        commit_group();
"""
RIGHT_ANSWERS = right_answers(
    """
04.1
    row in two parts
        $A -> As[lane % 8 + lane / 8 % 2 * 8][lane / 16 * 8]
    bits
        $A -> As[lane & 15][(lane >> 4) << 3]
    a condition
        $A -> As[lane % 16][lane < 16 ? 0 : 8]
    half a row as a bit
        $A -> As[lane & 15][lane / 2 & 8]

04.4
    a sum
        $PLACE -> return row * TK + (chunk + row / 4) % 6 * 8;
    one place in every second group of rows
        $PLACE -> return row * TK + (chunk + row / 4 % 2) % 6 * 8;
    an if
        - $PLACE…
        + if (row & 4) chunk = chunk % 2 ? chunk - 1 : chunk + 1;
        +     return row * TK + chunk * 8;…
    bits
        $PLACE -> return row * TK + ((chunk << 3) ^ ((row & 4) << 1));
    every second group of rows mirrored
        $PLACE -> return row * TK + (row / 4 % 2 ? 5 - chunk : chunk) * 8;
    three places further
        $PLACE -> return row * TK + (chunk + row / 4 % 2 * 3) % 6 * 8;

04.5
    all copies
        -         commit_group();
        -         wait_group<0>();…
        +         wait_all();…
    counted in columns
        int k_tile = 0; k_tile < K / TK; ++k_tile -> int k = 0; k < K; k += TK
        * TM * K + k_tile * TK -> * TM * K + k
        * TN * K + k_tile * TK -> * TN * K + k
    warps along N first
        m = warp % 2 * 64, n = warp / 2 * 64 -> m = warp / 2 * 64, n = warp % 2 * 64
    one copy ahead of the loop
        - for (int k_tile…
        + copy_rows<THREADS, TM, TK>(slot, A + blockIdx.x * TM * K, K);
        +     copy_rows<THREADS, TN, TK>(slot + TM * TK, B + blockIdx.y * TN * K, K);
        +     commit_group();
        +     for (int k_tile…
        $LOOP_BODY ->
        - $SYNC_READ
        + $SYNC_READ
        +         if (k_tile + 1 < K / TK) {
        +         copy_rows<THREADS, TM, TK>(slot, A + blockIdx.x * TM * K + (k_tile + 1) * TK, K);
        +         copy_rows<THREADS, TN, TK>(slot + TM * TK, B + blockIdx.y * TN * K + (k_tile + 1) * TK, K);
        +         commit_group();
        +         }
    steps unrolled by hand
        - for (int step = 0; step < TK / 16; ++step) {…
        + #pragma unroll
        +         for (int step = 3; step >= 0; --step) {…
""",
    **globals(),
)
