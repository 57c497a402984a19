"""Lesson 04."""

from tests.lessons.tables import right_answers, variants, wrong_answers

NOTEBOOK = "04_tensor_cores"
OTHERS: dict = {}
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
    "plain_tile": variants("""
chunks of 4: misaligned|wrong|uninitialised
    chunk * 8; } -> chunk * 4; }
rows of half the length: wrong|uninitialised|write-after-write
    return row * TK -> return row * TK / 2
one turn only: uninitialised
    i < ROWS; i += TURN -> i < TURN; i += TURN
all turns of the same rows: made with row
    - + chunk * 8 + i * stride…
    + + chunk * 8…
a row of A for each column: look at A
    lane % 16, 2 * step -> lane / 2, 2 * step
B as if it was A: look at B
    lane % 8 + lane / 16 * 8, 2 * step + lane / 8 % 2 -> lane % 16, 2 * step + lane / 16
halves in the place of bytes: look at A
    a_row, i * 16 * TK * 2 -> a_row, i * 16 * TK
one fragment of B twice: look at B
    b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1] -> b[j / 2][0], b[j / 2][1]
no wait: unwaited-copy
    wait_all(); ->
upper half of C twice: wrong
    [i % 8][i / 8 % 2 * 2] -> [i % 8][0]
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
    __syncthreads();    TRACE -> TRACE
second barrier removed: write-after-read
    __syncthreads();                              // all have read it ->
rows of a piece: wrong|uninitialised|write-after-write
    (half * 8 + lane / 4) * 72 -> (half * 4 + lane / 4) * 72
one piece for two warps: write-after|read-after|wrong
    slot + warp * 16 * 72 -> slot + warp * 8 * 72
"""),
    ],
}
A, B = "As[lane % 16][lane / 16 * 8]", "Bs[lane % 8 + lane / 16 * 8][lane / 8 % 2 * 8]"
PLACE = "return row * TK + (chunk ^ row / 4 % 2) * 8;"
SYNC_READ = "        __syncthreads();                              // all have read it\n"
WAIT = """        wait_group<0>();
        __syncthreads();                              // the k-tile is complete
"""
GAPS = ["04.1", "04.2", "04.3", "04.4"]
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

04.2
    A's order: the order of A
        $B -> Bs[lane % 16][lane / 16 * 8]
    eight rows only: first row and its first column
        $B -> Bs[lane % 8][lane / 8 % 2 * 8]
    the second fragment first: first row and its
        $B -> Bs[lane % 8 + (1 - lane / 16) * 8][lane / 8 % 2 * 8]
    halves of the fragment exchanged: first row and its
        $B -> Bs[lane % 8 + lane / 16 * 8][8 - lane / 8 % 2 * 8]
    chunks for columns: column is 0 or 8
        $B -> Bs[lane % 8 + lane / 16 * 8][lane / 8 % 2]
    four rows of matrices: leaves the 16 x 16
        $B -> Bs[lane][0]
    the same row eight times: l % 8 is in the row
        $B -> Bs[lane / 16 * 8][lane / 8 % 2 * 8]
    the receiver's address: column is 0 or 8
        $B -> Bs[lane / 4][lane % 4 * 2]

04.3
    A read like B: matrices 0 and 1 of A
        16 * i + lane % 16 -> 16 * i + lane % 8 + lane / 16 * 8
        16 * step + lane / 16 * 8 -> 16 * step + lane / 8 % 2 * 8
    B read like A: leaves the tile
        Bs[lane % 8] -> Bs[lane % 16]
    both matrices of the first step: matrices 2 s and 2 s + 1
        b[2 * step] -> b[0]
        b[2 * step + 1] -> b[1]
    matrices two apart: k = 0 to 7 of the k-step
        b[2 * step + 1] -> b[step + 2]
        b[2 * step] -> b[step]
    one matrix too far: matrices 2 s and 2 s + 1
        b[2 * step + 1] -> b[(2 * step + 2) % 4]
    b exchanged: k = 0 to 7 of the k-step
        b[2 * step], b[2 * step + 1] -> b[2 * step + 1], b[2 * step]
    the same columns of A in both steps: a k-step is 16 columns
        16 * step + lane / 16 * 8 -> lane / 16 * 8
    the same rows of A twice: matrices 0 and 1 of A
        16 * i + lane % 16 -> lane % 16
    step in chunks: multiple of 8 halves
        16 * step + lane / 16 * 8 -> step + lane / 16 * 8
    an odd column of C: even column
        - + lane % 4 * 2;…
        + + lane % 4;…
    columns of C in another order: four lanes share a row of C
        - + lane % 4 * 2;…
        + + lane % 4 * 2 % 8 * 3 % 8;…
    eight lanes in a row of C: two lanes write one element of C
        - + lane / 4)…
        + + lane / 8)…
    a row of C for each lane: stores outside of C
        - + lane / 4)…
        + + lane)…
    row and column of C exchanged: even column
        - + lane / 4)…
        + + lane % 4 * 2)…
        - + lane % 4 * 2;…
        + + lane / 4;…

04.4
    plain: rows that meet
        $PLACE -> return row * TK + chunk * 8;
    the lesson's swizzle: one of six
        $PLACE -> return row * TK + (chunk ^ row * TK / 64 % (TK / 8)) * 8;
    the line: one of six
        $PLACE -> return row * TK + (chunk ^ row / 2 % 4) * 8;
    each row: rows that meet
        $PLACE -> return row * TK + (chunk ^ row % 2) * 8;
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
    rows of B by their index alone: the warp at (m, n)
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
    B over A: behind TM * TK
        copy_rows<THREADS, TN, TK>(slot + TM * TK, -> copy_rows<THREADS, TN, TK>(slot,
    the first k-tile only: move on by TK
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
    M for K: K halves apart
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

04.2
    bits
        $B -> Bs[lane & 7 | (lane & 16) >> 1][lane & 8]
    a condition
        $B -> Bs[lane % 8 + (lane < 16 ? 0 : 8)][lane / 8 % 2 ? 8 : 0]
    the rest of 16
        $B -> Bs[lane / 16 * 8 + lane % 16 % 8][lane % 16 / 8 * 8]

04.3
    bits
        Bs[lane % 8][lane / 8 * 8] -> Bs[lane & 7][lane & 24]
        16 * step + lane / 16 * 8 -> 16 * step | (lane & 16) >> 1
    row in parts
        16 * i + lane % 16 -> lane / 8 % 2 * 8 + i * 16 + lane % 8
    matrices in another order, in A and in B
        Bs[lane % 8][lane / 8 * 8] -> Bs[lane % 8][(lane / 8 ^ 1) * 8]
        16 * step + lane / 16 * 8 -> 16 * step + 8 - lane / 16 * 8
    a column of C with a mask
        - + lane % 4 * 2;…
        + + (lane & 3) * 2;…
        - + lane / 4)…
        + + (lane >> 2))…

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
SOLVED: dict = {}
