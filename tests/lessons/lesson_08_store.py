"""Lesson 08, the sitting about results: its kernel and its exercise."""

from tests.lessons.tables import right_answers, variants, wrong_answers

NOTEBOOK = "08_never_a_pause"
DTYPE = "float16"

WRONG = {
    "complete": variants("""
no fence: missing-proxy-fence
    -                 fence_async();
a fence of one thread for all: missing-proxy-fence
    fence_async(); -> if (thread == 0) fence_async();
a fence of one lane for its warp: missing-proxy-fence
    fence_async(); -> if (thread % 32 == 0) fence_async();
nobody waits for the reads: write-after-read
    -                 if (thread == 0) wait_stores_read();
no barrier behind that wait: write-after-read
    - named_sync<128>(1 + mine / 64);
    -                 for…
    + for…
no barrier before the store: read-after-write|missing-proxy-fence
    - fence_async();
    -                 named_sync<128>(1 + mine / 64);
    + fence_async();
no wait at the end: exited-block
    -         if (thread == 0) wait_stores();
no swizzle: in a wrong place
    -  ^ lane % 8…
both halves to the same columns: are wrong
    n + half * 128 + box * 64 -> n + box * 64
sums of the first half twice: wrong|made with
    d + half * 64 + j * 8 -> d + j * 8
""")
}

GAPS = ["08.3"]

FENCE, WAIT = "        fence_async();\n", "        if (thread == 0) wait_stores_read();\n"
BARRIER, COMMIT = "        __syncthreads();\n", "            commit_stores();\n"
ONE_BOX = f"""\
{FENCE}{BARRIER}        if (thread == 0) {{
            store_box(C, n + box * 64, m, s.C);
{COMMIT}        }}
    }}
"""
ALL_BOXES = f"""\
    }}
{FENCE}{BARRIER}    if (thread == 0) {{
        for (int box = 0; box < 4; ++box) store_box(C, n + box * 64, m, s.B + box * 64 * 64);
{COMMIT}    }}
"""
RIGHT_ANSWERS = right_answers(
    """
08.3
    waits right after the store
        $WAIT$BARRIER ->
        - $COMMIT
        -         }
        + $COMMIT
        +             wait_stores_read();
        +         }
        + $BARRIER
    pairs in place of matrices
        -             stmatrix_x4(s.C + row * 64 + chunk * 8, packed(sum[0], sum[1]), packed(sum[2], sum[3]),
        -                         packed(sum[4], sum[5]), packed(sum[6], sum[7]));
        +             for (int i = 0; i < 4; ++i) {
        +                 int r = warp * 16 + i % 2 * 8 + lane / 4, at = (2 * j + i / 2) ^ r % 8;
        +                 *(unsigned*)&s.C[r * 64 + at * 8 + lane % 4 * 2] = packed(sum[2 * i], sum[2 * i + 1]);
        +             }
    all four boxes where B was
        $WAIT$BARRIER ->
        s.C + row -> s.B + box * 64 * 64 + row
        $ONE_BOX -> $ALL_BOXES
    waits until C is written
        wait_stores_read() -> wait_stores()
    the storing thread fences
        $FENCE$BARRIER -> $BARRIER
        -             store_box…
        +             fence_async();
        +             store_box…
    another thread stores
        if (thread == 0) wait_stores -> if (thread == 64) wait_stores
        - if (thread == 0) {
        -             store…
        + if (thread == 64) {
        +             store…
    only reads at the end
        - wait_stores();
        - }…
        + wait_stores_read();
        + }…
""",
    **globals(),
)
WRONG_ANSWERS = wrong_answers(
    """
08.3
    no fence: a proxy of its own
        $FENCE ->
    a fence of one thread for all: every thread that wrote
        fence_async(); -> if (thread == 0) fence_async();
    a fence of one lane for its warp: every thread that wrote
        fence_async(); -> if (lane == 0) fence_async();
    a fence of one warp for all: every thread that wrote
        fence_async(); -> if (warp == 0) fence_async();
    a fence before the writes: every thread that wrote
        $FENCE$BARRIER -> $BARRIER
        - $WAIT
        + $WAIT
        +         fence_async();
    nobody waits for the reads: still reads the one before
        $WAIT ->
    no commit: who closes them
        $COMMIT ->
    no barrier behind the wait: The others learn it
        $WAIT$BARRIER -> $WAIT
    no barrier before the store: one thread starts the store for all
        $FENCE$BARRIER -> $FENCE
    no swizzle: swizzled by its row
        -  ^ row % 8…
    swizzled by another row: swizzled by its row
        ^ row % 8 -> ^ row / 8
    all boxes to the same columns: from 64 b on
        n + box * 64 -> n
    sums of a place of their own: A, B and `d` are right
        d + box * 32 -> d + box * 8
    the sums of the first box: which of `d`
        d + box * 32 -> d
    the same columns for all blocks: two blocks write one place
        n + box * 64 -> box * 64
    matrices in another order: matrix 1 lies below matrix 0
        - packed(sum[2], sum[3]),
        -                         packed(sum[4], sum[5])…
        + packed(sum[4], sum[5]),
        +                         packed(sum[2], sum[3])…
    a barrier for one thread: move it out of the if
        - $BARRIER
        -         if (thread == 0) {
        -             store…
        +         if (thread == 0) {
        +     $BARRIER
        +             store…
    16 rows for all warps: which row and which chunk
        warp * 16 + lane % 16 -> lane % 16
    no wait at the end: gives its shared memory
        -     if (thread == 0) wait_stores();
    all threads start the store: the same one thread
        - if (thread == 0) {
        -             store…
        + {
        +             store…
    a chunk beyond its row: a chunk's place is 0 to 7
        ^ row % 8 -> ^ row % 16
    two boxes of four: Which boxes are stored
        box < 4 -> box < 2
    the row before the column: takes the column first
        n + box * 64, m, s.C -> m, n + box * 64, s.C
""",
    **globals(),
)
