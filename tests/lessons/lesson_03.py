"""Lesson 03."""

import re

from tests.lessons.tables import right_answers, wrong_answers

NOTEBOOK = "03_double_buffer"
OTHERS: dict = {}

BARRIER = "TRACE_BEGIN(barrier, k_tile); __syncthreads(); TRACE_END(barrier, k_tile);"
ISSUE = "issue(k_tile + 1, write);"
NO_WAIT = ("wait removed", "TRACE_BEGIN(wait, k_tile); wait_all();", "", "unwaited-copy")
NO_BARRIER = (
    "barrier removed",
    "TRACE_BEGIN(barrier, k_tile); __syncthreads();",
    "",
    "read-after-write|write-after",
)
NO_LAST_TILE = (
    "last k-tile skipped",
    "k_tile < K / TK; ++k_tile) { // Mainloop",
    "k_tile < K / TK - 1; ++k_tile) { // Mainloop",
    "without the last k-tile|NaN|wrong",
)
NO_GUARD = ("copies behind the end", "k_tile + 1 < K / TK)", "k_tile < K / TK)", "out-of-bounds")
LATE_GUARD = (
    "last k-tile not copied",
    "k_tile + 1 < K / TK)",
    "k_tile + 2 < K / TK)",
    "wrong|one k-tile behind",
)
SAME_TILE = (
    "same k-tile again",
    "issue(k_tile + 1, write)",
    "issue(k_tile, write)",
    "wrong|one k-tile behind",
)
WRONG_BUFFER = (
    "copy to the buffer that is read",
    "issue(k_tile + 1, write)",
    "issue(k_tile + 1, read)",
    "unwaited|write-after",
)
NO_SWAP = (
    "buffers never change places",
    "read ^= 1; write ^= 1;",
    "",
    "write-after-read|wrong|one k-tile behind",
)
HALF_SWAP = (
    "only one index changes",
    "read ^= 1; write ^= 1;",
    "read ^= 1;",
    "unwaited|write-after|uninitialised|wrong",
)
LAYOUT = [
    ("half of the tile", "i < TM; i += 64", "i < TM / 2; i += 64", "uninitialised-read"),
    ("4 bytes for 8", "copy_async<8>(&As", "copy_async<4>(&As", "uninitialised-read"),
    (
        "columns of the other matrix",
        "(k_tile * TK + y) * M]",
        "(k_tile * TK + y) * N]",
        "wrong|out-of-bounds",
    ),
    ("columns of C", "8 * j * M]", "8 * j * N]", "out-of-bounds|wrong|block-conflict"),
    ("odd padding", "PAD = 2", "PAD = 1", "misaligned"),
]
AHEAD = [
    ("swapped before the issue", "issue(k_tile + 1, write); read ^= 1; write ^= 1;",
     "read ^= 1; write ^= 1; issue(k_tile + 1, write);", "unwaited|write-after|uninitialised"),
    ("fragments from the old k-tile", "from = read;\n", "\n", "wrong"),
    ("wait one k-block late", "if (k == TK - 1) { ", "if (k == 0) { ", "unwaited|read-after-write|wrong"),
    ("fragments not ahead", "load((k + 1) % TK, from)", "load(k, from)", "wrong|unwaited"),
    ("no first fragments", "    load(0, from);\n", "", "NaN|wrong"),
    ("first k-tile not waited for", "issue(0, 0); wait_all(); __syncthreads();", "issue(0, 0); __syncthreads();",
     "unwaited"),
    ("no barrier in the prologue", "issue(0, 0); wait_all(); __syncthreads();", "issue(0, 0); wait_all();",
     "read-after-write"),
]  # fmt: skip

WRONG = {
    "single_buffer": [
        NO_WAIT, NO_BARRIER, NO_LAST_TILE, *LAYOUT,
        ("second barrier removed", "__syncthreads();                              // all have read it", "",
         "write-after-read|unwaited"),
        ("k off by one", "k < TK;", "k < TK - 1;", "without the last k of every k-tile"),
        ("same k-tile each time", "issue(k_tile);", "issue(0);", "wrong"),
    ],
    "early_issue": [
        NO_LAST_TILE, NO_GUARD, LATE_GUARD,
        ("no wait", "wait_all(); __syncthreads();", "__syncthreads();", "unwaited-copy"),
        ("no first barrier", "wait_all(); __syncthreads();", "wait_all();", "read-after-write"),
        ("barrier before the wait", "wait_all(); __syncthreads();", "__syncthreads(); wait_all();", "read-after-write"),
        ("no second barrier", "__syncthreads();                              // all have read it", "",
         "write-after-read"),
        ("issued before the fragments", "// the k-tile is complete\n",
         "\n        if (k_tile + 1 < K / TK) issue(k_tile + 1);\n", "unwaited|write-after-read"),
        ("no first k-tile", "    issue(0); ", "    ", "uninitialised-read|unwaited"),
        ("same k-tile again", "issue(k_tile + 1)", "issue(k_tile)", "wrong|one k-tile behind"),
    ],
    "two_buffers": [
        NO_WAIT, NO_BARRIER, NO_LAST_TILE, NO_GUARD, LATE_GUARD, SAME_TILE, WRONG_BUFFER, NO_SWAP, HALF_SWAP,
        ("issued before the barrier", f"{BARRIER}    // all parts have\n        if (k_tile + 1 < K / TK) {ISSUE}",
         f"if (k_tile + 1 < K / TK) {ISSUE}\n{BARRIER}", "write-after-read"),
        ("no first k-tile", "issue(0, 0);", "", "uninitialised-read|unwaited"),
        ("k off by one", "k < TK;", "k < TK - 1;", "without the last k of every k-tile"),
    ],
    "double_buffer": AHEAD,
    "wide_loads": [
        *AHEAD,
        ("too few bytes", "copy_async<16>(&As", "copy_async<8>(&As", "uninitialised-read"),
        ("shape of a warp", "warp % 2 * 64", "warp % 2 * 32", "wrong"),
        ("column of the other matrix", "4 * lane + warp * N", "4 * lane + warp * M", "wrong|out-of-bounds"),
    ],
    "fp32_best": [
        ("prologue behind the end", "if (k_tile < tiles) copy(", "copy(", "out-of-bounds"),
        ("slot never changes", "write = next_slot(write);", "", "unwaited|write-after|wrong"),
        ("ring one short", "slot == (STAGES - 1) * SLOT", "slot == (STAGES - 2) * SLOT", "unwaited|write-after|wrong"),
        ("copies behind the end", "k_tile + STAGES - 1 < tiles", "k_tile + STAGES - 2 < tiles", "out-of-bounds|wrong"),
        ("reads one slot on too early", "k == TK - 1 && k_tile + 1 < tiles", "k == TK - 2 && k_tile + 1 < tiles",
         "wrong|unwaited"),
        ("last turn not copied", "k >= BARRIER &&", "k >= BARRIER && k < TK - 1 &&", "uninitialised-read|wrong"),
        ("fragments not ahead", "load((k + 1) % TK);", "load(k);", "wrong|unwaited|uninitialised"),
        ("rows mixed up", "acc[j][j % 2 ? 7 - i : i]", "acc[j][i]", "wrong"),
        ("lanes mixed up", "lane / 2 % 8 * 4", "lane % 8 * 4", "wrong|never written|block-conflict"),
    ],
}  # fmt: skip

# ---- exercises

GAPS: list = []  # the gaps of 03.2 and 03.3 are whole blocks


def _lists(skeleton, solution, changes):
    """The three lists of 03.1."""
    for old, new in changes:
        assert old in solution
        solution = solution.replace(old, new)
    found = {}
    exec(re.search(r"```python\n(.*?)```", solution, re.DOTALL)[1], found)
    return found["multiplied_from"], found["issued"], found["issued_to"]


SOLVED = {"03.1": _lists}

PROLOGUE = f"    issue(0, 0);{' ' * 38}// k-tile 0 has no turn before it\n"
WAIT_AND_BARRIER = "        wait_all();\n        __syncthreads();\n"
ISSUE_NEXT = "        if (k_tile + 1 < k_tiles) issue(k_tile + 1, (k_tile + 1) % 2);\n"
MULTIPLY = "        multiply(k_tile % 2);\n"
HEAD_OF_LOOP = "    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {\n"
LOOP = PROLOGUE + HEAD_OF_LOOP + WAIT_AND_BARRIER + ISSUE_NEXT + MULTIPLY + "    }\n"

COMPLETE = (
    "if (k == TK - 1 && k_tile + 1 < k_tiles) { wait_all(); __syncthreads(); }"
    "   // the next k-tile is complete\n"
)
LOAD_NEXT = (
    f"            if (k < TK - 1) load(k + 1, k_tile % 2);{' ' * 20}// one k-block ahead\n"
    "            else if (k_tile + 1 < k_tiles) load(0, (k_tile + 1) % 2);\n"
)
ISSUE_EARLY = "            if (k == 0 && k_tile + 1 < k_tiles) issue(k_tile + 1, (k_tile + 1) % 2);\n"
BLOCKS = COMPLETE + LOAD_NEXT + ISSUE_EARLY + "            multiply(k);\n"

SHARED = "    __shared__ TileType smem_buffer[2];"
LAST_BARRIER = f"    __syncthreads();{' ' * 34}// with one tile there was no barrier yet\n"
LOAD_TILE = "        load_tile(data[k], smem_buffer[produce_stage]);\n"
COMPUTE = "        compute(smem_buffer[consume_stage]);\n"

OTHER_BUFFER = "    write = 1 - write;                                // the loop writes the other buffer\n"
COPY_B = "        copy_tile<THREADS>(Bs[write], B + k_tile * TK * N, N);\n"
AHEAD_BARRIER = f"        __syncthreads();{' ' * 30}// this k-tile is complete, the other buffer is free\n"

RIGHT_ANSWERS = right_answers(
    """
03.1
    no copy is a dash
        issued = [1, 2, 3, "none"] -> issued = [1, 2, 3, "-"]
    no copy is None
        issued = [1, 2, 3, "none"] -> issued = [1, 2, 3, None]
    None as a word
        issued_to = [1, 0, 1, "none"] -> issued_to = [1, 0, 1, "None"]
    tuples
        multiplied_from = [0, 1, 0, 1] -> multiplied_from = (0, 1, 0, 1)
    no copy is empty
        issued_to = [1, 0, 1, "none"] -> issued_to = [1, 0, 1, ""]

03.2
    buffers with names that change places
        - $LOOP
        +     int read = 0, write = 1, next = 1;
        +     issue(0, read);
        +     while (next <= k_tiles) {
        +         wait_all(); __syncthreads();
        +         if (next < k_tiles) issue(next, write);
        +         multiply(read);
        +         int old = read; read = write; write = old;
        +         ++next;
        +     }
    the last turn behind the loop
        - $LOOP
        +     issue(0, 0);
        +     for (int k_tile = 1; k_tile < k_tiles; ++k_tile) {
        +         wait_all(); __syncthreads();
        +         issue(k_tile, k_tile & 1);
        +         multiply(1 - (k_tile & 1));
        +     }
        +     wait_all(); __syncthreads();
        +     multiply((k_tiles - 1) % 2);
    groups, issue before the wait, two barriers
        - $LOOP
        +     issue(0, 0); commit_group();
        +     for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        +         if (k_tile + 1 < k_tiles) issue(k_tile + 1, (k_tile + 1) % 2);
        +         commit_group();
        +         wait_group<1>();
        +         __syncthreads();
        +         multiply(k_tile % 2);
        +         __syncthreads();
        +     }
    two turns at a time
        - $LOOP
        +     issue(0, 0);
        +     for (int k_tile = 0; k_tile < k_tiles; k_tile += 2) {
        +         wait_all(); __syncthreads();
        +         if (k_tile + 1 < k_tiles) issue(k_tile + 1, 1);
        +         multiply(0);
        +         if (k_tile + 1 == k_tiles) break;
        +         wait_all(); __syncthreads();
        +         if (k_tile + 2 < k_tiles) issue(k_tile + 2, 0);
        +         multiply(1);
        +     }

03.3
    the copy first, one load for all
        - $BLOCKS
        + if (k == 0 && k_tile + 1 < k_tiles) issue(k_tile + 1, (k_tile + 1) % 2);
        +             bool last = k == TK - 1;
        +             if (last) { wait_all(); __syncthreads(); }
        +             if (!last || k_tile + 1 < k_tiles) load((k + 1) % TK, (k_tile + last) % 2);
        +             multiply(k);
    the wait three k-blocks early
        - $COMPLETE
        + if (k == TK - 3) wait_all();
        +             if (k == TK - 1) __syncthreads();
        if (k == 0 && -> if (k == 1 &&
    the last k-tile loads from itself
        - $COMPLETE
        - $LOAD_NEXT
        + if (k + 1 == TK) { wait_all(); __syncthreads(); }
        +             int next = k_tile + 1 < k_tiles ? (k_tile + 1) % 2 : k_tile % 2;
        +             load((k + 1) % TK, k + 1 < TK ? k_tile % 2 : next);

03.4
    in dynamic shared memory
        - $SHARED…
        +     TileType* smem_buffer = (TileType*)smem;…
        extern __shared__ uint8_t -> extern __shared__ __align__(16) uint8_t
    the barrier behind the prologue
        $LAST_BARRIER ->
        -     // Mainloop
        +     __syncthreads();
        +     // Mainloop
    one barrier in each turn
        - $LOAD_TILE
        -
        -         __syncthreads();
        +         __syncthreads();
        + $LOAD_TILE
        - $COMPUTE
        -
        -         __syncthreads();
        + $COMPUTE

03.5
    two copies of 4 bytes
        int i = x; i < TM; i += 32 -> int i = 2 * x; i < TM; i += 64
        - copy_async<4>(&As[buffer][y][i], &A[i + (k_tile * TK + y) * M]);…
        + for (int e = i; e < i + 2; ++e) copy_async<4>(&As[buffer][y][e], &A[e + (k_tile * TK + y) * M]);…
        - copy_async<4>(&Bs[buffer][y][i], &B[i + (k_tile * TK + y) * N]);…
        + for (int e = i; e < i + 2; ++e) copy_async<4>(&Bs[buffer][y][e], &B[e + (k_tile * TK + y) * N]);…
    four turns
        for (int i = x; i < TM; i += 32) { -> for (int turn = 0; turn < 4; ++turn) { int i = x + 32 * turn;
    all threads, column by column
        - for (int i = x; i < TM; i += 32) {…
        + for (int t = threadIdx.x; t < TM * TK; t += 256) { int i = t % TM, y = t / TM;…

03.6
    the prologue to buffer 1 - write
        $OTHER_BUFFER ->
        -     int write = 0;
        -     copy_tile<THREADS>(As[write], A, M);
        -     copy_tile<THREADS>(Bs[write], B, N);
        +     int write = 1;
        +     copy_tile<THREADS>(As[1 - write], A, M);
        +     copy_tile<THREADS>(Bs[1 - write], B, N);
    buffers by the number of the k-tile
        $OTHER_BUFFER ->
        int read = 1 - write; -> write = k_tile % 2; int read = 1 - write;
        -     __syncthreads();
        -     multiply…
        +     write = K / TK % 2;
        +     __syncthreads();
        +     multiply…
    the math before the copy
        -         multiply(acc, As[read], Bs[read], m, n);                 // this one

        -         copy_tile<THREADS>(As[write], A + k_tile…
        +         multiply(acc, As[read], Bs[read], m, n);
        +         copy_tile<THREADS>(As[write], A + k_tile…

03.7
    one more barrier
        -         stage = 1 - stage;…
        +         __syncthreads();
        +         stage = 1 - stage;…
    no stage
        As[1 - stage] -> As[(k_tile + 1) % 2]
        Bs[1 - stage] -> Bs[(k_tile + 1) % 2]
        As[stage] -> As[k_tile % 2]
        Bs[stage] -> Bs[k_tile % 2]
    the math before the copy
        -         multiply(acc, As[stage], Bs[stage], m, n);

        -         if (k_tile + 1…
        +         multiply(acc, As[stage], Bs[stage], m, n);
        +         if (k_tile + 1…
""",
    **globals(),
)

WRONG_ANSWERS = wrong_answers(
    """
03.1
    the same k-tile: the k-tile after the one
        issued = [1, 2, 3, -> issued = [0, 1, 2,
    a copy in the last turn: if there is one
        [1, 2, 3, "none"] -> [1, 2, 3, 4]
    always buffer 0: change places
        multiplied_from = [0, 1, 0, 1] -> multiplied_from = [0, 0, 0, 0]
    buffers counted on: change places
        multiplied_from = [0, 1, 0, 1] -> multiplied_from = [0, 1, 2, 3]
    to the buffer that is read: not read in this turn
        issued_to = [1, 0, 1, -> issued_to = [0, 1, 0,
    three turns: four turns
        multiplied_from = [0, 1, 0, 1] -> multiplied_from = [0, 1, 0]
    a number: four turns
        multiplied_from = [0, 1, 0, 1] -> multiplied_from = 1
    words: without quotes
        multiplied_from = [0, 1, 0, 1] -> multiplied_from = ["0", "1", "0", "1"]
    nothing to multiply: k-tile 0 lies in buffer 0
        multiplied_from = [0, -> multiplied_from = [None,

03.2
    no wait: no thread waits for its own copies
        -         wait_all();
    no barrier: all parts have arrived
        -         __syncthreads();
    barrier before the wait: first the wait, then the barrier
        - $WAIT_AND_BARRIER
        +         __syncthreads();
        +         wait_all();
    issued before the barrier: issue it after the barrier
        -         __syncthreads();
        - $ISSUE_NEXT
        + $ISSUE_NEXT
        +         __syncthreads();
    no guard: no next one to copy
        - if (k_tile + 1 < k_tiles) …
    reads the other buffer: on its way to
        multiply(k_tile % 2) -> multiply((k_tile + 1) % 2)
    same k-tile again: the buffer that is being multiplied
        issue(k_tile + 1, (k_tile + 1) % 2) -> issue(k_tile, k_tile % 2)
    to the buffer that is read: the buffer that is being multiplied
        issue(k_tile + 1, (k_tile + 1) % 2) -> issue(k_tile + 1, k_tile % 2)
    in turn: before the math of this one
        - $LOOP
        + $HEAD_OF_LOOP
        +         issue(k_tile, k_tile % 2);
        + $WAIT_AND_BARRIER
        + $MULTIPLY
        +     }
    issued behind the math: before the math of this one
        $ISSUE_NEXT$MULTIPLY -> $MULTIPLY$ISSUE_NEXT
    no prologue: Who brings k-tile 0
        $PROLOGUE ->
    nothing issued in the loop: issue it in the loop
        $ISSUE_NEXT ->
    wait and barrier in the if: only the issue belongs into the if
        - $WAIT_AND_BARRIER
        - $ISSUE_NEXT
        +         if (k_tile + 1 < k_tiles) { wait_all(); __syncthreads(); issue(k_tile + 1, (k_tile + 1) % 2); }
    groups that nobody closes: commit_group has closed
        - $WAIT_AND_BARRIER
        - $ISSUE_NEXT
        + $ISSUE_NEXT
        +         wait_group<1>();
        +         __syncthreads();
    a wait that leaves the newest group: lets the n newest be late
        -         wait_all();
        +         commit_group();
        +         wait_group<1>();
    a buffer for every k-tile: only buffers 0 and 1
        (k_tile + 1) % 2 -> k_tile + 1
        multiply(k_tile % 2) -> multiply(k_tile)
    the k-tile after the next one: k-tile t + 1 is on its way
        k_tile + 1 < k_tiles) issue(k_tile + 1, -> k_tile + 2 < k_tiles) issue(k_tile + 2,
    a barrier for half of the threads: move it out of the if
        -         __syncthreads();…
        +         if (threadIdx.x < 128) __syncthreads();…

03.3
    no wait: must wait for the next k-tile
        wait_all(); __syncthreads(); } -> __syncthreads(); }
    no barrier: all parts have arrived
        wait_all(); __syncthreads(); } -> wait_all(); }
    the wait in the next turn: At which k-block
        k == TK - 1 && k_tile + 1 < k_tiles -> k == 0 && k_tile > 0
    nothing issued: issue it in the loop
        $ISSUE_EARLY ->
    a k-block after the last one: What comes after the last k-block
        - $LOAD_NEXT
        +             load(k + 1, k_tile % 2);
    a wait in every k-block: only before the last one
        if (k == TK - 1 && k_tile + 1 < k_tiles) { wait -> { wait
    always the old buffer: After which load
        load(0, (k_tile + 1) % 2) -> load(0, k_tile % 2)
    no guard of the copy: no next one to copy
        k == 0 && k_tile + 1 < k_tiles -> k == 0
    not ahead: k-block k + 1 is loaded
        - $BLOCKS
        + if (k == 0 && k_tile > 0) { wait_all(); __syncthreads(); }
        +             if (k == 0 && k_tile + 1 < k_tiles) issue(k_tile + 1, (k_tile + 1) % 2);
        +             load(k, k_tile % 2);
        +             multiply(k);
    the wait behind the math: k-block k + 1 is loaded
        - $BLOCKS
        + multiply(k);
        +             $COMPLETE
        + $ISSUE_EARLY
        + $LOAD_NEXT
    multiplies the next one: one k-block earlier
        -             multiply(k);…
        +             multiply(k + 1);…
    a copy in every k-block: issue it once
        k == 0 && k_tile -> k_tile
    the copy in the last k-block: early in the k-tile
        if (k == 0 && k_tile -> if (k == TK - 1 && k_tile
    to the buffer that is read: to the other buffer
        issue(k_tile + 1, (k_tile + 1) % 2) -> issue(k_tile + 1, k_tile % 2)
    the barrier in mid-tile: After which load
        k == TK - 1 && -> k == TK / 2 &&

03.4
    only __shared__: the loop never runs
        $LAST_BARRIER ->
    only a barrier: belongs to the block
        - $SHARED…
        +     TileType smem_buffer[2];…
    static: lies in global memory
        - $SHARED…
        +     static TileType smem_buffer[2];…
    no first barrier in the loop: between loading a tile and computing
        - $LOAD_TILE
        -
        -         __syncthreads();
        + $LOAD_TILE
    no second barrier in the loop: a fast warp loads
        - $COMPUTE
        -
        -         __syncthreads();
        + $COMPUTE
    a barrier behind the end: the loop never runs
        $LAST_BARRIER ->
        -     out[threadIdx.x]…
        +     __syncthreads();
        +     out[threadIdx.x]…
    one buffer: two tiles of 64 floats
        smem_buffer[2] -> smem_buffer[1]
    computes with the new tile: follow the two stages
        int consume_stage = 0 -> int consume_stage = 1
    loop from 0: follow the two stages
        int k = 1; -> int k = 0;
    one turn too many: no next one to load
        k < num_tiles -> k <= num_tiles
    a barrier for half of the threads: move it out of the if
        - $LAST_BARRIER
        +     if (threadIdx.x < 32) __syncthreads();

03.5
    plain copies: let the copy be asynchronous
        - copy_async<4>(&As[buffer][y][i], &A[i + (k_tile * TK + y) * M])…
        + As[buffer][y][i] = A[i + (k_tile * TK + y) * M]…
        - copy_async<4>(&Bs[buffer][y][i], &B[i + (k_tile * TK + y) * N])…
        + Bs[buffer][y][i] = B[i + (k_tile * TK + y) * N]…
    padding of 2 again: keep PAD = 1
        PAD = 1 -> PAD = 2
    only A repaired: How many bytes
        copy_async<4>(&Bs -> copy_async<8>(&Bs
    only B repaired: How many bytes
        copy_async<4>(&As -> copy_async<8>(&As
    half of the floats: how far apart
        int i = x; i < TM; i += 32 -> int i = x; i < TM; i += 64
    every other float: how far apart
        int i = x; i < TM; i += 32 -> int i = 2 * x; i < TM; i += 64
    one place twice: Lane x starts
        int i = x; i < TM; i += 32 -> int i = 2 * x; i < TM; i += 32

03.6
    reads what it writes: name the same buffer
        $OTHER_BUFFER ->
        int read = 1 - write; -> int read = write;
    prologue to the other one: which one is read
        $OTHER_BUFFER ->
        int write = 0; -> int write = 1;
    loop from 0: follow k_tile
        int k_tile = 1; -> int k_tile = 0;
    no last multiplication: follow k_tile
        -     multiply(acc, As[1 - write], Bs[1 - write], m, n);
    barrier behind the copy: Which barrier
        -         __syncthreads();

        - $COPY_B
        + $COPY_B
        +         __syncthreads();
        -    // the next one…
    copies to the buffer that is read: should be read now
        (As[write], A + k -> (As[read], A + k
        (Bs[write], B + k -> (Bs[read], B + k
    no last barrier: must stand between
        -     __syncthreads();
        -     multiply…
        +     multiply…
    no barrier in the loop: must stand between
        -         __syncthreads();

03.7
    barrier behind the copy: Which barrier
        $AHEAD_BARRIER ->
        -         multiply(acc, As[stage]…
        +         __syncthreads();
        +         multiply(acc, As[stage]…
    no barrier: must stand between
        $AHEAD_BARRIER ->
    no guard: no next one to copy
        if (k_tile + 1 < K / TK) ->
    no prologue: nothing was copied
        -     copy_tile<THREADS>(As[0], A, M); …
        + //…
        -     copy_tile<THREADS>(Bs[0], B, N);
    same k-tile again: turn t copies k-tile t + 1
        A + (k_tile + 1) * TK * M -> A + k_tile * TK * M
        B + (k_tile + 1) * TK * N -> B + k_tile * TK * N
    multiplies the other buffer:
        multiply(acc, As[stage], Bs[stage] -> multiply(acc, As[1 - stage], Bs[1 - stage]
""",
    **globals(),
)
