"""Lesson 03."""

import re

from tests.lessons.tables import right_answers, variants, wrong_answers

NOTEBOOK = "03_double_buffer"

LAYOUT = variants(
    """
too few bytes: uninitialised-read
    copy_async<16>(&As -> copy_async<8>(&As
column of the other matrix: wrong|out-of-bounds
    4 * lane + warp * N -> 4 * lane + warp * M
"""
)
AHEAD = variants(
    """
no wait: unwaited-copy
    wait_all();                           // my part of it has landed -> ;
no barrier: read-after-write|write-after
    __syncthreads();                      // it is complete -> ; //
last k-tile skipped: without the last k-tile|NaN|wrong
    k_tile < K / TK; ++k_tile -> k_tile < K / TK - 1; ++k_tile
copies behind the end: out-of-bounds
    k_tile + 1 < K / TK) issue -> k_tile < K / TK) issue
same k-tile again: wrong|one k-tile late|unwaited
    issue(k_tile + 1) -> issue(k_tile)
fragments of the old k-tile: wrong|write-after-read
    k < TK - 1 ? k_tile : next -> k_tile
wait one k-block late: unwaited|read-after-write|wrong
    if (k == TK - 1) { -> if (k == 0) {
behind the last k-tile: uninitialised|wrong
    min(k_tile + 1, K / TK - 1) -> k_tile + 1
no first fragments: NaN|wrong
    load(0, 0); ->
first k-tile not waited for: unwaited
    issue(0); wait_all(); __syncthreads(); -> issue(0); __syncthreads();
"""
)
WRONG = {
    "two_buffers": variants(
        """
no wait: unwaited-copy
    wait_all(); -> ;
no barrier: read-after-write|write-after
    __syncthreads(); -> ;
last k-tile skipped: without the last k-tile|NaN|wrong
    k_tile < K / TK; ++k_tile -> k_tile < K / TK - 1; ++k_tile
copies behind the end: out-of-bounds
    k_tile + 1 < K / TK) -> k_tile < K / TK)
last k-tile not copied: wrong|one k-tile late
    k_tile + 1 < K / TK) -> k_tile + 2 < K / TK)
same k-tile again: wrong|one k-tile late
    issue(k_tile + 1) -> issue(k_tile)
always buffer 0: write-after-read|unwaited|wrong
    k_tile % 2] -> 0]
no first k-tile: uninitialised-read|unwaited
    issue(0); -> ;
k off by one: without the last k of every k-tile
    k < TK; -> k < TK - 1;
shape of a warp: wrong
    warp % 2 * 64 -> warp % 2 * 32
"""
    )
    + LAYOUT,
    "double_buffer": AHEAD + LAYOUT,
    "narrow_loads": [
        *AHEAD[:1],
        *AHEAD[5:8],
        *variants(
            """
rows of the neighbour: wrong
    lane + 32 * i] -> lane + 31 * i]
columns of C: out-of-bounds|wrong|block-conflict
    8 * j * M] -> 8 * j * N]
columns of B: wrong
    warp + 8 * j] -> warp + 4 * j]
"""
        ),
    ],
}

# ---- exercises

GAPS = ["03.3"]


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

COMPLETE = "            if (k == TK - 1) { wait_all(); __syncthreads(); }\n"
LOAD_NEXT = (
    "            load((k + 1) % TK, (k < TK - 1 ? k_tile : next) % 2);"
    "                         // which k-block, out of which buffer?\n"
)
ISSUE_EARLY = "            if (k == 0 && k_tile + 1 < k_tiles) issue(k_tile + 1, (k_tile + 1) % 2);\n"
BLOCKS = COMPLETE + LOAD_NEXT + ISSUE_EARLY + "            multiply(k);\n"

OTHER_BUFFER = "    write = 1 - write;                                // the loop writes the other buffer\n"
COPY_B = "        copy_tile<THREADS>(Bs[write], B + k_tile * TK * N, N);\n"

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
    no wait in the last k-tile
        k == TK - 1) { -> k == TK - 1 && k_tile + 1 < k_tiles) {
    the buffer by a sum
        (k < TK - 1 ? k_tile : next) % 2 -> (k + 1 < TK ? k_tile % 2 : next % 2)
    k-block by a condition
        (k + 1) % TK -> k + 1 < TK ? k + 1 : 0
    nothing loaded behind the end
        - $LOAD_NEXT
        +             if (k < TK - 1) load(k + 1, k_tile % 2);
        +             else if (k_tile + 1 < k_tiles) load(0, (k_tile + 1) % 2);
    the copy first, the wait two k-blocks early
        - $BLOCKS
        +             if (k == 0 && k_tile + 1 < k_tiles) issue(k_tile + 1, (k_tile + 1) % 2);
        +             if (k == TK - 3) wait_all();
        +             if (k == TK - 1) __syncthreads();
        +             load((k + 1) % TK, (k < TK - 1 ? k_tile : next) & 1);
        +             multiply(k);

03.4
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

    a barrier at the end of each turn
        -         int read = 1 - write;…
        +         __syncthreads(); int read = 1 - write;…
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
    no guard, the last k-tile again: Which k-tile is left for it
        if (k_tile + 1 < k_tiles) issue(k_tile + 1, -> issue(min(k_tile + 1, k_tiles - 1),
    groups, one barrier: a second barrier
        - $PROLOGUE
        +     issue(0, 0); commit_group();

        - $WAIT_AND_BARRIER
        - $ISSUE_NEXT
        + $ISSUE_NEXT
        +         commit_group();
        +         wait_group<1>();
        +         __syncthreads();
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

    every second copy behind its math: Every turn but the last
        - $LOOP
        +     issue(0, 0);
        +     for (int t = 0; t < k_tiles; t += 2) {
        +         wait_all(); __syncthreads();
        +         if (t + 1 < k_tiles) issue(t + 1, 1);
        +         multiply(0);
        +         if (t + 1 == k_tiles) break;
        +         wait_all(); __syncthreads();
        +         multiply(1);
        +         __syncthreads();
        +         if (t + 2 < k_tiles) issue(t + 2, 0);
        +     }
    a full stop in every odd turn: Every turn but the last
        - $MULTIPLY
        +         if (k_tile % 2) wait_all();
        + $MULTIPLY
    a full stop in every even turn: Every turn but the last
        - $MULTIPLY
        +         if (k_tile % 2 == 0) wait_all();
        + $MULTIPLY
    a full stop in the second half: Every turn but the last
        - $MULTIPLY
        +         if (k_tile > 3) wait_all();
        + $MULTIPLY
    copied twice, buffer 1 never read: a k-tile is copied once
        - $LOOP
        +     for (int t = 0; t < k_tiles; ++t) {
        +         issue(t, 0); wait_all(); __syncthreads();
        +         if (t + 1 < k_tiles) issue(t + 1, 1);
        +         multiply(0);
        +         wait_all(); __syncthreads();
        +     }

03.3
    no wait: must wait for the next k-tile
        k == TK - 1) { wait_all(); -> k == TK - 1) {
    no barrier: all parts have arrived
        k == TK - 1) { wait_all(); __syncthreads(); } -> k == TK - 1) { wait_all(); }
    the wait in k-block 0: At which k-block
        k == TK - 1) { -> k == 0) {
    the wait in mid-tile: After which load
        k == TK - 1) { -> k == TK / 2) {
    a wait in every k-block: only before the last one
        k == TK - 1) { -> true) {
    always the old buffer: with fragments of the k-tile before
        (k < TK - 1 ? k_tile : next) % 2 -> k_tile % 2
    the old buffer, all one k-block late: with fragments of the k-tile before
        k == TK - 1) { -> k == 0) {
        (k < TK - 1 ? k_tile : next) % 2 -> k_tile % 2
    not ahead: k-block k + 1 is loaded
        k == TK - 1) { -> k == 0) {
        load((k + 1) % TK, (k < TK - 1 ? k_tile : next) % 2) -> load(k, k_tile % 2)
    not ahead, the wait where it was: k-block k + 1 is loaded
        - $BLOCKS
        +             load(k, k_tile % 2);
        +             if (k == TK - 1 && k_tile + 1 < k_tiles) { wait_all(); __syncthreads(); }
        +             if (k == 0 && k_tile + 1 < k_tiles) issue(k_tile + 1, (k_tile + 1) % 2);
        +             multiply(k);
    ahead across the barrier only: in every k-block
        - $BLOCKS
        +             if (k > 0) load(k, k_tile % 2);
        +             if (k == 0 && k_tile + 1 < k_tiles) issue(k_tile + 1, (k_tile + 1) % 2);
        +             if (k == TK - 1) { wait_all(); __syncthreads(); }
        +             multiply(k);
        +             if (k == TK - 1) load(0, next % 2);
    behind the math: k-block k + 1 is loaded
        - $BLOCKS
        +             multiply(k);
        +             if (k == TK - 1) { wait_all(); __syncthreads(); }
        +             load((k + 1) % TK, (k < TK - 1 ? k_tile : next) % 2);
        +             if (k == 0 && k_tile + 1 < k_tiles) issue(k_tile + 1, (k_tile + 1) % 2);
    loaded twice, used late: After which load
        multiply(k); -> load(k, k_tile % 2); multiply(k);
    a k-block too far: What comes after the last k-block
        load((k + 1) % TK, -> load(k + 1,
    the copy in the last k-block: early in the k-tile
        if (k == 0 && k_tile -> if (k == TK - 1 && k_tile
    multiplies the next one: one k-block earlier
        -             multiply(k);…
        +             multiply(k + 1);…

03.4
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
    the last one out of the other buffer: multiplied after the loop
        multiply(acc, As[1 - write], Bs[1 - write] -> multiply(acc, As[write], Bs[write]
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

    one buffer, in turn: Which k-tile should the copy bring
        $OTHER_BUFFER ->
        int read = 1 - write; -> __syncthreads(); multiply(acc, As[0], Bs[0], m, n);
        -         multiply(acc, As[read], Bs[read], m, n);                 // this one
        -         write = 1 - write;
        multiply(acc, As[1 - write], Bs[1 - write] -> multiply(acc, As[write], Bs[write]
""",
    **globals(),
)
