"""Lesson 05."""

from tests.lessons import solved_function
from tests.lessons.tables import right_answers, variants, wrong_answers

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

WRONG_ANSWERS = wrong_answers(
    """
05.1
    waits for one more: how many groups may the wait leave
        <2> -> <1>
    waits for all: how many groups may the wait leave
        <2> -> <0>
    waits for nothing: newer than the one that is read
        <2> -> <3>
    two k-tiles in the prologue: has the prologue issued
        k_tile < 3; -> k_tile < 2;
    four k-tiles in the prologue: does the prologue do it as well
        k_tile < 3; -> k_tile < 4;
    four k-tiles in the prologue, and a wait for one more: does the loop issue one of them again
        k_tile < 3; -> k_tile < 4;
        <2> -> <3>
    no groups where there are fewer k-tiles: where K has fewer k-tiles than slots
        k_tile < 3; -> k_tile < 3 && k_tile < k_tiles;
    the first k-tile three times: has the prologue issued
        ) issue(k_tile); -> ) issue(0);
    from k-tile 1 on: must the prologue have issued
        ) issue(k_tile); -> ) issue(k_tile + 1);
    no prologue: must the prologue have issued
        -     $WARM
    only the first: has the prologue issued
        $WARM -> issue(0);

05.2
    waits for all: how many groups may the wait leave
        wait_group<STAGES - 2> -> wait_group<0>
    a count for three: made from STAGES
        wait_group<STAGES - 2> -> wait_group<1>
    a distance for three: made from STAGES
        k_tile + STAGES - 1 -> k_tile + 2
    slots for three: made from STAGES
        ahead % STAGES -> ahead % 3
        k_tile % STAGES -> k_tile % 3
    a prologue for three: does the prologue do it as well
        k_tile < STAGES - 1; -> k_tile < 2;
    no empty groups, and waits for all of the last ones: how many groups may the wait leave
        - $PROLOGUE
        +     for (int k_tile = 0; k_tile < STAGES - 1 && k_tile < k_tiles; ++k_tile) {
        +         start_copy(k_tile, k_tile);
        +         commit_group();
        +     }
        - $TURN
        +         if (k_tile + STAGES - 1 <= k_tiles) wait_group<STAGES - 2>();
        +         else wait_all();
        +         __syncthreads();
        +         if (k_tile + STAGES - 1 < k_tiles) {
        +             start_copy(k_tile + STAGES - 1, (k_tile + STAGES - 1) % STAGES);
        +             commit_group();
        +         }
        +         compute(k_tile % STAGES);
    waits for one less: Commit in every turn
        wait_group<STAGES - 2> -> wait_group<STAGES - 1>
    no commit behind the last k-tile: Commit in every turn
        -         if (ahead < k_tiles) start_copy(ahead, ahead % STAGES);
        -         commit_group();…
        +         if (ahead < k_tiles) { start_copy(ahead, ahead % STAGES); commit_group(); }…
    no commit in the turn: Commit in every turn
        -         commit_group();
        -         compute…
        +         compute…
    one commit for the prologue: Commit in every turn
        -         commit_group();
        -     }
        +     }
        +     commit_group();
    no barrier: must follow
        -         __syncthreads();
        -         if…
        +         if…
    barrier before the wait: a barrier must follow
        -         wait_group<STAGES - 2>();
        -         __syncthreads();…
        +         __syncthreads();
        +         wait_group<STAGES - 2>();…
    copies before the barrier: after which line is that sure
        - $TURN
        +         int ahead = k_tile + STAGES - 1;
        +         if (ahead < k_tiles) start_copy(ahead, ahead % STAGES);
        +         commit_group();
        +         wait_group<STAGES - 1>();
        +         __syncthreads();
        +         compute(k_tile % STAGES);
    copies behind the math: before the math
        - $TURN
        +         int ahead = k_tile + STAGES - 1;
        +         wait_group<STAGES - 2>();
        +         __syncthreads();
        +         compute(k_tile % STAGES);
        +         if (ahead < k_tiles) start_copy(ahead, ahead % STAGES);
        +         commit_group();
    no guard in the prologue: fewer k-tiles than slots
        if (k_tile < k_tiles) start -> start
    no guard in the turn: a k-tile that exists
        if (ahead < k_tiles) start -> start
    the slot behind: agree on the slot
        ahead % STAGES); -> (ahead + 1) % STAGES);
    slots without end for the math: start_copy and compute both
        compute(k_tile % STAGES) -> compute(k_tile)
    copies into the slot of this turn's k-tile: Which k-tile does that copy bring
        ahead % STAGES); -> k_tile % STAGES);
    the same slot: agree on the slot
        compute(k_tile % STAGES) -> compute(ahead % STAGES)
    no prologue: have been issued
        $PROLOGUE ->
    an endless prologue: the loop never ends
        ++k_tile) { -> k_tile += 0) {
    an endless loop: never ends
        -         compute(k_tile % STAGES);
        +         compute(k_tile % STAGES);
        +         k_tile -= k_tile == 0;
    a full stop in every other turn: in every turn
        $WAIT<STAGES - 2> -> $WAIT_OF_TWO<STAGES - 2>
    a typo: does not compile
        - commit_group();
        -         compute…
        + commit_groups();
        +         compute…
    another number of slots:
        STAGES = 3 -> STAGES = 4

05.3
    waits for nothing: which line says that it is there
        $WAIT<STAGES - 2> -> $WAIT<STAGES - 1>
    waits for all, as with one slot: may the newest k-tile still be late
        $WAIT<STAGES - 2> -> $WAIT<0>
    waits for all in every other turn: in every turn
        $WAIT<STAGES - 2> -> $WAIT_OF_TWO<STAGES - 2>
    a count for three: how many groups may be late
        $WAIT<STAGES - 2> -> $WAIT<1>
    a distance for three: for every number of slots
        issue(k_tile + STAGES - 1); -> issue(k_tile + 2);
    one group less than may be late: may the newest k-tile still be late
        $WAIT<STAGES - 2> -> $WAIT<(STAGES > 3 ? STAGES - 3 : 0)>
    no barrier: must stand between that wait and the load
        -         __syncthreads();
        -         load(k_tile + 1, 0);
        +         load(k_tile + 1, 0);
    loads before the barrier: must stand between that wait and the load
        -         __syncthreads();
        -         load(k_tile + 1, 0);
        +         load(k_tile + 1, 0);
        +         __syncthreads();
    the turn of the ring, which keeps the form and drops the idea: when it comes through the barrier
        - $TURN_AHEAD
        +         wait_group<STAGES - 2>();
        +         __syncthreads();
        +         load(k_tile, 0);
        +         multiply_step(0);
        +         load(k_tile, 1);
        +         multiply_step(1);
        +         issue(k_tile + STAGES - 1);
    both steps before the barrier: when it comes through the barrier
        - $TURN_AHEAD
        +         load(k_tile, 1);
        +         multiply_step(0);
        +         multiply_step(1);
        +         issue(k_tile + STAGES - 1);
        +         wait_group<STAGES - 2>();
        +         __syncthreads();
        +         load(k_tile + 1, 0);
    the first step only: when it comes through the barrier
        - $TURN_AHEAD
        +         if (k_tile > 0) load(k_tile, 0);
        +         load(k_tile, 1);
        +         multiply_step(0);
        +         multiply_step(1);
        +         issue(k_tile + STAGES - 1);
        +         wait_group<STAGES - 2>();
        +         __syncthreads();
    sets exchanged: what lies in set 0
        multiply_step(1); -> multiply_step(0);
    step 0 of the same k-tile: what lies in set 0
        load(k_tile + 1, 0); -> load(k_tile, 0);
    one k-tile too far: Which k-tile does turn t issue
        issue(k_tile + STAGES - 1); -> issue(k_tile + STAGES);
    behind the barrier one k-tile further, with the prologue as it is: which turn issues that one
        -         issue(k_tile + STAGES - 1);
        -         wait_group<STAGES - 2>();
        -         __syncthreads();…
        +         wait_group<STAGES - 2>();
        +         __syncthreads();
        +         issue(k_tile + STAGES);…
    issues behind the math: which line says that it is there
        - $TURN_AHEAD
        +         load(k_tile, 1);
        +         multiply_step(0);
        +         wait_group<STAGES - 2>();
        +         __syncthreads();
        +         load(k_tile + 1, 0);
        +         multiply_step(1);
        +         issue(k_tile + STAGES - 1);

05.4
    no slot for the math: needs a slot, too
        $SLOTS -> ceil(latency / math)
    no slot for the math, one for the order: needs a slot, too
        -  + 1 +…
        +  +…
    one order only: slots - 2
        -  + issue_then_wait…
    the order gains a slot: needs one slot more
        - + issue_then_wait…
        + - issue_then_wait…
    multiplications only: slots for half the math of a k-tile. Hint: a multiplication and an addition are two FLOP
        2 * tile_m -> tile_m
    a step only: whole k-tile
        tile_k / 2730 -> 16 / 2730
    rounded down: round up, and not down
        ceil( -> int(
    rounded down, and no slot for the math: which k-tile is not on its way
        ceil( -> int(
        -  + 1 +…
        +  +…
    the lesson's tile only: how many FLOP has the one that is asked for
        latency / math -> latency / 768
    another tile only: the same number of slots for every tile
        latency / math -> latency / 384
    rounded down, and one more: what is left over
        ceil(latency / math) + -> int(latency / math) + 1 +
    not rounded: round up
        ceil(latency / math) -> latency / math
    upside down: how many such turns must a copy have
        latency / math -> math / latency
    a typo: three whole numbers
        tile_n * -> tilen *
    a text: return the number
        return ceil -> return 'x' or ceil
""",
    **globals(),
)


RIGHT_ANSWERS = right_answers(
    """
05.1
    line by line
        $WARM -> issue(0); issue(1); issue(2);
    counted from one
        $WARM -> for (int k_tile = 1; k_tile <= 3; ++k_tile) issue(k_tile - 1);
    a while
        $WARM -> int ahead = 0; while (ahead < 3) issue(ahead++);
    the count computed
        <2> -> <4 - 2>
    waits for two only at the end
        <2>(); -> <2>(); if (k_tile + 1 == k_tiles) wait_group<0>();

05.2
    all slots filled before the loop, and two barriers
        - $PROLOGUE
        +     for (int k_tile = 0; k_tile < STAGES; ++k_tile) {
        +         if (k_tile < k_tiles) start_copy(k_tile, k_tile);
        +         commit_group();
        +     }
        - $TURN
        +         wait_group<STAGES - 1>();
        +         __syncthreads();
        +         compute(k_tile % STAGES);
        +         __syncthreads();
        +         if (k_tile + STAGES < k_tiles) start_copy(k_tile + STAGES, k_tile % STAGES);
        +         commit_group();
    two barriers, and the wait behind the copies
        - $TURN
        +         int ahead = k_tile + STAGES - 1;
        +         if (ahead < k_tiles) start_copy(ahead, ahead % STAGES);
        +         commit_group();
        +         wait_group<STAGES - 1>();
        +         __syncthreads();
        +         compute(k_tile % STAGES);
        +         __syncthreads();
    slots that are counted
        - $PROLOGUE
        +     int fill = 0, use = 0;
        +     for (; fill < STAGES - 1; ++fill) {
        +         if (fill < k_tiles) start_copy(fill, fill);
        +         commit_group();
        +     }
        - $TURN
        +         wait_group<STAGES - 2>();
        +         __syncthreads();
        +         if (k_tile + STAGES - 1 < k_tiles) start_copy(k_tile + STAGES - 1, fill);
        +         commit_group();
        +         compute(use);
        +         fill = fill + 1 == STAGES ? 0 : fill + 1;
        +         use = use + 1 == STAGES ? 0 : use + 1;
    a barrier more
        -         compute(k_tile % STAGES);
        +         compute(k_tile % STAGES);
        +         __syncthreads();
    a lambda
        - $PROLOGUE
        +     auto go = [&](int t) { if (t < k_tiles) start_copy(t, t % STAGES); commit_group(); };
        +     for (int t = 0; t < STAGES - 1; ++t) go(t);
        -         if (ahead < k_tiles) start_copy(ahead, ahead % STAGES);
        -         commit_group();
        +         go(ahead);

05.3
    issue at the top
        - $TURN_AHEAD
        +         issue(k_tile + STAGES - 1);
        +         load(k_tile, 1);
        +         multiply_step(0);
        +         wait_group<STAGES - 2>();
        +         __syncthreads();
        +         load(k_tile + 1, 0);
        +         multiply_step(1);
    loads behind the math of the other set
        - $TURN_AHEAD
        +         multiply_step(0);
        +         load(k_tile, 1);
        +         issue(k_tile + STAGES - 1);
        +         wait_group<STAGES - 2>();
        +         __syncthreads();
        +         multiply_step(1);
        +         load(k_tile + 1, 0);
    a barrier more
        -         issue(k_tile + STAGES - 1);
        +         __syncthreads();
        +         issue(k_tile + STAGES - 1);
    nothing loaded behind the end
        load(k_tile + 1, 0); -> if (k_tile + 1 < k_tiles) load(k_tile + 1, 0);
    a count with a name
        -         issue(k_tile + STAGES - 1);
        -         wait_group<STAGES - 2>();
        +         constexpr int late = STAGES - 2;
        +         issue(k_tile + late + 1);
        +         wait_group<late>();

05.4
    without ceil
        ceil(latency / math) -> -int(-latency // math)
    by Little's law
        -     math = 2 * tile_m * tile_n * tile_k / 2730
        +     math = 2 * tile_m * tile_n * tile_k / 2730
        +     slot = 2 * (tile_m + tile_n) * tile_k
        ceil(latency / math) -> ceil(slot / math * latency / slot)
    counted up
        -     return $SLOTS…
        +     slots = 1
        +     while (slots - 1 - issue_then_wait) * math < latency:
        +         slots += 1
        +     return slots…
    as a float
        $SLOTS -> float($SLOTS)
""",
    **globals(),
)
SOLVED = {"05.4": solved_function("slots_needed")}
