"""Lesson 05."""

from tests.lessons import solved_function
from tests.lessons.tables import answers_beside, variants

NOTEBOOK = "05_three_stage"
DTYPE = "float16"
RING = variants("""
wait for one group less: unwaited-copy
    wait_group<STAGES - 2>();    TRACE_END(wait, k_tile -> wait_group<STAGES - 1>();    TRACE_END(wait, k_tile
no wait: unwaited-copy
    wait_group<STAGES - 2>();    TRACE_END(wait, k_tile -> TRACE_END(wait, k_tile
no barrier in the loop: read-after-write|unwaited-copy|write-after-read
    __syncthreads();    TRACE_END(barrier, k_tile -> TRACE_END(barrier, k_tile
no commit: unwaited-copy
    commit_group(); ->
prologue of one k-tile less: uninitialised-read|unwaited-copy|wrong
    k_tile < STAGES - 1; ++k_tile) issue -> k_tile < STAGES - 2; ++k_tile) issue
no group behind the end: unwaited-copy
    -         }
    -         commit_group();  …
    +             commit_group();
    +         }  …
issue one k-tile too far: write-after-read|uninitialised|wrong|unwaited
    issue(k_tile + STAGES - 1); -> issue(k_tile + STAGES);
store before all have read: write-after-read
    __syncthreads();                                  // all have read the last slot ->
""")
WRONG = {
    "ring": RING,
    "three_stage": [
        *RING[:2],
        *variants("""
sets mixed up: wrong
    multiply(sum, a[1], b[1]); -> multiply(sum, a[0], b[0]);
next step of the same slot: wrong
    load(min(k_tile + 1, K / TK - 1), 0); -> load(k_tile, 0);
beyond the last k-tile: uninitialised-read|unwaited
    load(min(k_tile + 1, K / TK - 1), 0); -> load(k_tile + 1, 0);
first fragments not loaded: wrong|NaN
    -     load(0, 0);
no barrier in the prologue: read-after-write|unwaited-copy
    __syncthreads();    TRACE_END(barrier, 0); -> TRACE_END(barrier, 0);
"""),
    ],
}
GAPS = ["05.1"]
PROLOGUE = """\
    for (int k_tile = 0; k_tile < STAGES - 1; ++k_tile) {
        if (k_tile < k_tiles) start_copy(k_tile, k_tile);
        commit_group();
    }
"""
TURN = """\
        int ahead = k_tile + STAGES - 1;
        wait_group<STAGES - 2>();
        __syncthreads();
        if (ahead < k_tiles) start_copy(ahead, ahead % STAGES);
        commit_group();
        compute(k_tile % STAGES);
"""
WARM = "for (int k_tile = 0; k_tile < 3; ++k_tile) issue(k_tile);"
TURN_AHEAD = """\
        load(k_tile, 1);
        multiply_step(0);
        issue(k_tile + STAGES - 1);
        wait_group<STAGES - 2>();
        __syncthreads();
        load(k_tile + 1, 0);
        multiply_step(1);
"""
WAIT = "        wait_group"  # of a turn: eight blanks, the one before the loop has four
WAIT_OF_TWO = "        if (k_tile % 2) wait_group<0>();\n        else wait_group"
SLOTS = "ceil(latency / math) + 1 + issue_then_wait"

REMARKED = {
    "05.3": [
        (
            "a barrier at the top of the turn",
            [(TURN_AHEAD, "        __syncthreads();\n" + TURN_AHEAD)],
            "But the barrier in line 33 can go: all is right",
        ),
        (
            "a barrier at its end",
            [(TURN_AHEAD, TURN_AHEAD + "        __syncthreads();\n")],
            "can go: all is right",
        ),
    ]
}
RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
SOLVED = {"05.4": solved_function("slots_needed")}
