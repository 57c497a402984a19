"""Lesson 01."""

from tests.lessons.tables import right_answers, wrong_answers

NOTEBOOK = "01_mainloop"

FIRST_BARRIER = "__syncthreads();                              // the k-tile is complete"
SECOND_BARRIER = "__syncthreads();                              // all have read it"
NO_FIRST = ("first barrier removed", FIRST_BARRIER, "", "read-after-write")
NO_SECOND = ("second barrier removed", SECOND_BARRIER, "", "write-after-read")
NO_LAST_TILE = (
    "last k-tile skipped",
    "k_tile < K / TK;",
    "k_tile < K / TK - 1;",
    "without the last k-tile|NaN|wrong",
)
NO_LAST_K = ("k off by one", "k < TK;", "k < TK - 1;", "without the last k of every k-tile")
NO_FIRST_K = (
    "k off by one at the start",
    "int k = 0; k < TK;",
    "int k = 1; k < TK;",
    "without the first k of every",
)
COPIES = [
    ("same k-tile each time", "A + k_tile * TK * M, M", "A, M", "wrong"),
    ("transposed operand", "B + k_tile * TK * N, N", "B + k_tile * TK, K", "wrong|misaligned|out-of-bounds"),
    ("A with the columns of B", "A + k_tile * TK * M, M", "A + k_tile * TK * N, N", "wrong|out-of-bounds"),
]

WRONG = {
    "naive": [
        ("last k skipped", "k < K;", "k < K - 1;", "without the last k-tile|never written|wrong"),
        ("k off by one", "int k = 0;", "int k = 1;", "without the first k-tile|wrong"),
        ("transposed operand", "A[m + k * M]", "A[m * K + k]", "A read as if it was transposed"),
        ("result transposed", "C[m + n * M]", "C[m * N + n]", "stored transposed"),
        ("row off by one", "A[m + k * M]", "A[m + 1 + k * M]", "out-of-bounds|wrong"),
        ("wrong block", "blockIdx.x * 32", "blockIdx.y * 32", "wrong|out-of-bounds"),
    ],
    "tiled": [
        NO_FIRST, NO_SECOND, NO_LAST_TILE, NO_LAST_K,
        ("transposed operand", "As[k][m]", "As[m][k]", "wrong"),
        ("transposed tile", "B[t % TN + (t / TN) * N]", "B[t / TN + (t % TN) * N]", "wrong"),
        ("step off", "B += TK * N;", "B += TK * M;", "wrong|out-of-bounds"),
        ("blocks in one place", "(blockIdx.y * TN + n) * M", "n * M", "block-conflict"),
    ],
    "vector_copy": [
        NO_FIRST, NO_SECOND, NO_LAST_TILE, NO_LAST_K,
        ("transposed operand", "B[i + j * N]", "B[i * K + j]", "wrong|misaligned|out-of-bounds"),
        ("columns of the other matrix", "A[i + j * M]", "A[i + j * N]", "wrong|out-of-bounds"),
        ("B not copied", "t < 512", "t < 256", "uninitialised-read"),
        ("floats counted as bytes", "4 * (t % 8)", "16 * (t % 8)", "out-of-bounds|write-after-write|wrong"),
    ],
    "register_tile": [
        NO_FIRST, NO_SECOND, NO_LAST_TILE, NO_LAST_K, NO_FIRST_K, *COPIES,
        ("half the tile", "/ (4 * THREADS); ++turn", "/ (8 * THREADS); ++turn", "uninitialised-read"),
        ("turns on top of each other", "turn * THREADS + threadIdx.x", "threadIdx.x / 2", "uninitialised-read"),
        ("tiles mixed up", "float4 a4 = *(float4*)&As[k][m]", "float4 a4 = *(float4*)&Bs[k][m]", "wrong"),
        ("columns of C off by one", "*(float4*)&C[j * M]", "*(float4*)&C[(j + 1) * M]", "wrong|block-conflict|out-of"),
    ],
    "mainloop": [
        NO_FIRST, NO_SECOND, NO_LAST_TILE, NO_LAST_K, NO_FIRST_K, *COPIES,
        ("groups too close", "&As[k][m + 32]", "&As[k][m + 16]", "wrong"),
        ("shape of a warp", "warp % 2 * 64", "warp % 2 * 32", "wrong"),
        ("columns of C", "j / 4 * 16", "j / 4 * 4", "wrong|block-conflict"),
    ],
}  # fmt: skip

COPY_ALONE = """    for (int i = threadIdx.x; i < TK * TM; i += THREADS)
        As[i / TM][i % TM] = A[i % TM + (i / TM) * M];
    __syncthreads();

    for"""
COPY_A = """for (int i = threadIdx.x; i < TK * TM; i += THREADS)
            As[i / TM][i % TM] = A[i % TM + (k_tile * TK + i / TM) * M];"""
COPY_B = """for (int i = threadIdx.x; i < TK * TN; i += THREADS)
            Bs[i / TN][i % TN] = B[i % TN + (k_tile * TK + i / TN) * N];"""
MATH = """for (int k = 0; k < TK; ++k)
            for (int j = 0; j < 4; ++j)
                for (int i = 0; i < 2; ++i)
                    acc[j][i] += As[k][m + 32 * i] * Bs[k][n + 8 * j];"""
ALL_HAVE_READ = SECOND_BARRIER + "\n"
FROM_GLOBAL = """for (int k = 0; k < TK; ++k)
            for (int j = 0; j < 4; ++j)
                for (int i = 0; i < 2; ++i)
                    acc[j][i] += A[m + 32 * i + (k_tile * TK + k) * M] * B[n + 8 * j + (k_tile * TK + k) * N];"""

GAPS = ["01.1", "01.2"]
RIGHT_ANSWERS = right_answers(
    """
01.1
    a row for each lane, columns by warps
        - $COPY_ALONE…
        +     for (int k = threadIdx.x / TM; k < TK; k += THREADS / TM)
        +         As[k][threadIdx.x % TM] = A[threadIdx.x % TM + k * M];
        +     __syncthreads();
        +     for…
    16 bytes
        - $COPY_ALONE…
        +     int r = threadIdx.x % 16 * 4, k = threadIdx.x / 16;
        +     *(float4*)&As[k][r] = *(const float4*)&A[r + k * M];
        +     __syncthreads();
        +     for…
    a warp for a column, two floats for each lane
        - $COPY_ALONE…
        +     for (int k = threadIdx.x / 32; k < TK; k += THREADS / 32)
        +         for (int r = threadIdx.x % 32; r < TM; r += 32)
        +             As[k][r] = A[r + k * M];
        +     __syncthreads();
        +     for…

01.2
    rows and columns of the tile by threads, pointers moved
        - $COPY_A…
        + for (int k = threadIdx.x / TM; k < TK; k += THREADS / TM)
        +             As[k][threadIdx.x % TM] = A[threadIdx.x % TM + k * M];…
        - $COPY_B…
        + for (int k = threadIdx.x / TN; k < TK; k += THREADS / TN)
        +             Bs[k][threadIdx.x % TN] = B[threadIdx.x % TN + k * N];
        +         A += TK * M;
        +         B += TK * N;…
    16 bytes
        - $COPY_A…
        + int t = threadIdx.x;
        +         *(float4*)&As[t / 16][t % 16 * 4] = *(const float4*)&A[t % 16 * 4 + (k_tile * TK + t / 16) * M];…
        - $COPY_B…
        + if (t < 128)
        +             *(float4*)&Bs[t / 8][t % 8 * 4] = *(const float4*)&B[t % 8 * 4 + (k_tile * TK + t / 8) * N];…
    the second barrier in front of the copy
        - $ALL_HAVE_READ
        +
        - $COPY_A…
        + __syncthreads();
        +         $COPY_A…
    operands in registers first
        - $MATH…
        + for (int k = 0; k < TK; ++k) {
        +             float a[2] = {As[k][m], As[k][m + 32]};
        +             for (int j = 0; j < 4; ++j) {
        +                 float b = Bs[k][n + 8 * j];
        +                 acc[j][0] = fmaf(a[0], b, acc[j][0]);
        +                 acc[j][1] = fmaf(a[1], b, acc[j][1]);
        +             }
        +         }…

01.3
    a barrier more
        - $ALL_HAVE_READ
        + $ALL_HAVE_READ
        +         __syncthreads();
    in the function, after its math
        - $ALL_HAVE_READ
        +
        - * Bs[k][n + j];
        + * Bs[k][n + j];
        +     __syncthreads();
    a barrier that counts
        $SECOND_BARRIER -> __syncthreads_count(1);
    not in the last turn of a loop to the end
        $SECOND_BARRIER -> if (k_tile < K / TK) __syncthreads();
""",
    **globals(),
)
WRONG_ANSWERS = wrong_answers(
    """
01.1
    no barrier: between writing the tile
        -     __syncthreads();
    only the warp waits: between writing the tile
        __syncthreads -> __syncwarp
    each thread copies one of the floats that it will read: between writing the tile
        -         As[i / TM][i % TM] = A[i % TM + (i / TM) * M];
        -     __syncthreads();
        +         As[TK - 1 - i / TM][i % TM] = A[i % TM + (TK - 1 - i / TM) * M];
    one turn only: never written
        - i += THREADS)
        -         As…
        + i += 10 * THREADS)
        +         As…
    columns of the tile's length: M floats long
        (i / TM) * M -> (i / TM) * TM
    tile turned round: row i % TM
        As[i / TM][i % TM] = -> As[i % TK][i / TK] =
    row and column mixed up: As[k][row]
        As[i / TM][i % TM] = -> As[i % TM][i / TM] =
    row and column of A mixed up: a column of A is M floats long
        A[i % TM + (i / TM) * M] -> A[i / TM + (i % TM) * M]
    the block counted twice: A already points
        A[i % TM -> A[blockIdx.x * TM + i % TM
    neighbouring threads take neighbouring columns: neighbouring rows (see the picture)
        As[i / TM][i % TM] = A[i % TM + (i / TM) * M] -> As[i % TK][i / TK] = A[i / TK + (i % TK) * M]
    a stretch for each thread: neighbouring rows (see the picture)
        - $COPY_ALONE…
        +     for (int i = threadIdx.x * 4; i < threadIdx.x * 4 + 4; ++i)
        +         As[i / TM][i % TM] = A[i % TM + (i / TM) * M];
        +     __syncthreads();
        +
        +     for…
    one thread copies all: one thread copies for many
        - int i = threadIdx.x; i < TK * TM; i += THREADS)
        -         As…
        + int i = 0; threadIdx.x == 0 && i < TK * TM; ++i)
        +         As…
    all threads copy all: one thread copies for many
        - int i = threadIdx.x; i < TK * TM; i += THREADS)
        -         As…
        + int i = 0; i < TK * TM; ++i)
        +         As…
    half of the threads copy: each of them has its part
        - $COPY_ALONE…
        +     if (threadIdx.x < 128)
        +         for (int i = threadIdx.x; i < TK * TM; i += 128)
        +             As[0][i] = A[i % TM + i / TM * M];
        +     __syncthreads();
        +     for…
    one warp copies all: each of them has its part
        - int i = threadIdx.x; i < TK * TM; i += THREADS)
        -         As…
        + int i = threadIdx.x; threadIdx.x < 32 && i < TK * TM; i += 32)
        +         As…
    no end: a loop has no end
        - i += THREADS)
        -         As…
        + i += 0)
        +         As…

01.2
    no first barrier: between writing the tile
        $FIRST_BARRIER ->
    no second barrier: a slow warp still multiplies
        $SECOND_BARRIER ->
    math before the copy: a slow warp still multiplies
        $MATH ->
        - $COPY_A…
        + $MATH
        +         $COPY_A…
    barrier between the copies: between writing the tile
        $FIRST_BARRIER ->
        - $COPY_B…
        + __syncthreads();
        +         $COPY_B…
    barrier for half the block: meet at a barrier
        $FIRST_BARRIER -> if (threadIdx.x < 128) __syncthreads();
    a barrier for each k: which two moments of a turn
        - for (int k = 0; k < TK; ++k)
        -             for (int j = 0; j < 4; ++j)
        + for (int k = 0; k < TK; ++k, __syncthreads())
        +             for (int j = 0; j < 4; ++j)
    tile turned round: stays below TK
        As[i / TM][i % TM] -> As[i % TM][i / TM]
    the math reads a turned tile: stays below TK
        Bs[k][n + 8 * j] -> Bs[n + 8 * j][k]
    rows and columns next to each other: come to wrong places
        m + 32 * i] * Bs[k][n + 8 * j] -> m + i] * Bs[k][n + j]
    tiles that nobody reads: the math reads A and B themselves
        $MATH -> $FROM_GLOBAL
    the sum of another column and row: to which acc[column][row] it adds
        acc[j][i] += -> acc[i][j] +=
    the tile of B filled from A: from which matrix each copy reads
        B[i % TN + -> A[i % TN +
    the step counted twice: How many columns lie between two turns
        - $ALL_HAVE_READ
        + $ALL_HAVE_READ
        +         A += TK * M;
    size of the other tile: How many rows has the tile
        B[i % TN + -> B[i % TM +
    columns of M floats in B: with M = N it is right
        i / TN) * N] -> i / TN) * M]
    columns of N floats in A: with M = N it is right
        i / TM) * M] -> i / TM) * N]
    columns of the length of a tile: one block is right, several are not
        i / TN) * N] -> i / TN) * TN]
    the first k-tile every time: every turn copies the same k-tile
        - k_tile * TK + …
    no sum: what becomes of the ones before
        acc[j][i] += -> acc[j][i] =
    a new sum in each turn: the sums of the turns before
        - $MATH…
        + for (int j = 0; j < 4; ++j)
        +             acc[j][0] = acc[j][1] = 0;
        +         $MATH…
    a k too few: a value of k is left out
        int k = 0; k < TK; -> int k = 0; k < TK - 1;
    k of B backwards: have both factors the same k
        * Bs[k] -> * Bs[TK - 1 - k]
    A one row further: B arrives as it should, A does not
        A[i % TM + -> A[(i + 1) % TM +
    B one row further: A arrives as it should, B does not
        B[i % TN + -> B[(i + 1) % TN +
    rows and columns of the math: come to wrong places
        [m + 32 * i] * Bs[k][n + 8 * j] -> [n + 8 * j] * Bs[k][m]
    k-tiles one column apart: At which column does k-tile 1 begin
        k_tile * TK + i / TM -> k_tile + i / TM
    columns of a thread too close: some columns of a tile are right
        n + 8 * j -> n + 4 * j
    rows of the warp in a row: some rows of a tile are right
        m + 32 * i -> m + i
    only half of the math: some columns of a tile are right
        - j < 4; ++j)
        -                 for…
        + j < 2; ++j)
        +                 for…
    neighbouring threads take neighbouring columns of A: neighbouring rows (see the picture)
        - As[i / TM][i % TM] = A[i % TM + (k_tile * TK + i / TM) * M]…
        + As[i % TK][i / TK] = A[i / TK + (k_tile * TK + i % TK) * M]…
    the block counted twice: an index leaves A or B
        B[i % TN -> B[blockIdx.y * TN + i % TN
    16 bytes from every float on: 16 bytes begin at a multiple of 4 floats
        - $COPY_A…
        + int t = threadIdx.x;
        +         *(float4*)&As[t / 16][t % 16] = *(float4*)&A[t];…
    no end: a loop has no end
        ++k_tile -> k_tile += 0
    a typing mistake: is undefined
        __syncthreads(); -> __synchthreads();
    no tiles at all: the math reads A and B themselves
        $COPY_A ->
        $COPY_B ->
        $MATH -> $FROM_GLOBAL

01.3
    at the begin of the function: a slow warp still multiplies
        $ALL_HAVE_READ ->
        -     for (int k = 0; k < TK; ++k)
        +     __syncthreads();
        +     for (int k = 0; k < TK; ++k)
    twice at the top: a slow warp still multiplies
        $ALL_HAVE_READ ->
        -     for (int k_tile = 1; k_tile < K / TK; ++k_tile) {
        +     for (int k_tile = 1; k_tile < K / TK; ++k_tile) {
        +         __syncthreads();
    barrier after the copy: a slow warp still multiplies
        $ALL_HAVE_READ ->
        - k_tile * TK * N, N);
        + k_tile * TK * N, N);
        +         __syncthreads();
    barrier between the copies: a slow warp still
        $ALL_HAVE_READ ->
        - copy_tile<THREADS>(Bs, B + k…
        + __syncthreads();
        +         copy_tile<THREADS>(Bs, B + k…
    only the warp waits: a slow warp still multiplies
        $SECOND_BARRIER -> __syncwarp();
    first barrier moved: between writing the tile
        - {
        -         __syncthreads();
        -         multiply…
        + {
        +         multiply…
    loop from 0: follow k_tile
        int k_tile = 1; -> int k_tile = 0;
    one turn less: follow k_tile
        k_tile < K / TK; -> k_tile < K / TK - 1;
    no last multiplication: follow k_tile
        -     __syncthreads();
        -     multiply(acc, As, Bs, m, n);
        -
""",
    **globals(),
)
