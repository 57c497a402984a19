"""Lesson 07, sitting 3: the ring."""

from tests.lessons.tables import right_answers, wrong_answers

NOTEBOOK = "07_hopper"
DTYPE = "float16"
IN_TURN = [
    ("the parity of the math for the copy", "(turn + 1) % 2", "turn % 2", "deadlock"),
    ("the other parity of full", "full[slot], turn % 2", "full[slot], (turn + 1) % 2", "unwaited-copy"),
    ("another parity for each k-tile", "full[slot], turn % 2", "full[slot], k_tile % 2", "unwaited-copy"),
    ("two wgmma groups may be at work", "wgmma_wait<1>()", "wgmma_wait<2>()", "write-after-read"),
    ("bytes of half a slot", "sizeof(Slot)", "sizeof(Slot) / 2", "unwaited-copy"),
    ("the first warpgroup's rows for both", ".A + mine * TK", ".A", "wrong"),
    ("columns of B by the rows of C", "k_tile * TK, n,", "k_tile * TK, m,", "wrong"),
]
"""Of `ring`, and of lesson 08's `roles`."""
WRONG = {
    "ring": [
        *IN_TURN,
        ("one copy too few", "k_tile + SLOTS - 1 < k_tiles", "k_tile + SLOTS < k_tiles", "deadlock"),
    ],
}
GAPS = ["07.3"]

EXPECT = "            mbarrier_expect(&s.full[slot], sizeof(Slot));\n"
FREE = "            if (k_tile > 0 && threadIdx.x == 128) mbarrier_arrive(&s.empty[(k_tile - 1) % SLOTS]);\n"
WAIT = "            wgmma_wait<1>();\n"
FREE_LATE = """\
            wgmma_wait<2>();
            if (k_tile > 1 && threadIdx.x == 128) mbarrier_arrive(&s.empty[(k_tile - 2) % SLOTS]);
"""
WAIT_EMPTY = "            mbarrier_wait(&s.empty[slot], (turn + 1) % 2);\n"
FREE_AT_ONCE = "            if (threadIdx.x == 128) mbarrier_arrive(&s.empty[slot]);\n"
READ_ALL = "            wgmma_wait<0>();\n"
WAIT_MULTIPLIED = (
    "            if (k_tile > 0) mbarrier_wait(&s.empty[(k_tile - 1) % SLOTS], (k_tile - 1) / SLOTS % 2);\n"
)
WAIT_LONGER = WAIT_MULTIPLIED.replace("k_tile > 0", "k_tile >= SLOTS - 1").replace(
    "k_tile - 1", "k_tile - SLOTS + 1"
)
WAIT_MULTIPLIED_LATER = WAIT_MULTIPLIED.replace("k_tile > 0", "k_tile >= SLOTS")
LOOP = "        for (int k_tile = 0; k_tile < k_tiles && threadIdx.x == 0; ++k_tile) {\n"
MADE_AGAIN = (
    "        for (int slot = 0; slot < SLOTS && threadIdx.x == 0; ++slot) mbarrier_init(&s.empty[slot], 1);\n"
)
NUMBERS = "int slot = k_tile % SLOTS, turn = k_tile / SLOTS;"
WAIT_PRIMED = WAIT_EMPTY.replace("(turn + 1) % 2", "turn % 2")
CONSUMER = "        float d[128];\n"
WRONG_ANSWERS = wrong_answers(
    """
07.3
    the parity of the math for the copy: the first has parity 1
        (turn + 1) % 2 -> turn % 2
    nothing expected: mbarrier_expect
        $EXPECT ->
    another parity for each k-tile: the first has parity 1
        (turn + 1) % 2 -> (k_tile + 1) % 2
    the other parity of full: does it wait for `full`
        slot], turn % 2 -> slot], (turn + 1) % 2
    no wait for full: does it wait for `full`
        -             mbarrier_wait(&s.full[slot], turn % 2);
    no wait for empty: does the producer wait
        $WAIT_EMPTY ->
    bytes of half a slot: are not those that come
        sizeof(Slot) -> sizeof(Slot) / 2
    bytes of all slots: are not those that come
        sizeof(Slot) -> sizeof(Shared)
    128 arrivals at full: more arrivals than come
        full[slot], 1) -> full[slot], 128)
    128 arrivals at empty: more arrivals than come
        empty[slot], 1) -> empty[slot], 128)
    nothing freed: never freed
        $FREE ->
    another slot freed: never freed
        [(k_tile - 1) % SLOTS] -> [k_tile % SLOTS]
    freed before the wait: freed before
        $WAIT$FREE -> $FREE_AT_ONCE$WAIT
    no wait for wgmma: freed before
        $WAIT ->
    128 threads arrive, one is counted: freed before
        k_tile > 0 && threadIdx.x == 128 -> k_tile > 0
    128 threads start copies: how many threads start
        -  && threadIdx.x == 0;…
        + ;…
    the first block's columns: its own rows
        k_tile * TK, n, -> k_tile * TK, 0,
    the first k-tile only: its own rows
        A, k_tile * TK, m -> A, 0, m
    three slots written down: made from SLOTS
        $NUMBERS -> int slot = k_tile % 3, turn = k_tile / 3;
    freed two k-tiles late: with two slots, which one
        $WAIT$FREE -> $FREE_LATE
    three slots in the turns of the producer: made from SLOTS
        -             $NUMBERS
        - $WAIT_EMPTY
        +             int slot = k_tile % SLOTS, turn = k_tile / 3;
        + $WAIT_EMPTY
    the turn for its parity: which parity, 0 or 1
        slot], turn % 2); -> slot], turn);
    the roles meet at barriers: one role alone
        $NUMBERS -> __syncthreads(); $NUMBERS
    barriers of two slots: nobody has made
        slot < SLOTS; ++slot -> slot < SLOTS - 1; ++slot
    one slot for all: goes to slot `t % SLOTS`
        $NUMBERS -> int slot = 0, turn = k_tile;
        $WAIT$FREE -> $READ_ALL$FREE_AT_ONCE
    two slots of three: goes to slot `t % SLOTS`
        $NUMBERS -> int slot = k_tile % 2, turn = k_tile / 2;
        [(k_tile - 1) % SLOTS] -> [(k_tile - 1) % 2]
    nothing ahead of the math: as soon as that slot is free
        $WAIT_EMPTY -> $WAIT_MULTIPLIED
        $WAIT$FREE -> $READ_ALL$FREE_AT_ONCE
    one slot stays free: as soon as that slot is free
        $WAIT_EMPTY -> $WAIT_LONGER
        $WAIT$FREE -> $READ_ALL$FREE_AT_ONCE
    each copy landed before the next one starts: who waits for `full`
        n, &s.full[slot]); -> n, &s.full[slot]); mbarrier_wait(&s.full[slot], turn % 2);
    the sums never begin: must set them
        k_tile > 0); -> true);
    barriers made again by the producer: made once
        $LOOP -> $MADE_AGAIN$LOOP
    only the first k-tiles ahead: as soon as that slot is free
        $WAIT_EMPTY -> $WAIT_MULTIPLIED_LATER
        $WAIT$FREE -> $READ_ALL$FREE_AT_ONCE
""",
    **globals(),
)


RIGHT_ANSWERS = right_answers(
    """
07.3
    waits for all, frees at once
        - $WAIT
        - $FREE
        +             wgmma_wait<0>();
        + $FREE_AT_ONCE
    all 128 threads arrive
        empty[slot], 1) -> empty[slot], 128)
        k_tile > 0 && threadIdx.x == 128 -> k_tile > 0
    four warps arrive
        empty[slot], 1) -> empty[slot], 4)
        threadIdx.x == 128 -> threadIdx.x % 32 == 0
    a warp waits, one lane copies
        -  && threadIdx.x == 0;…
        +  && threadIdx.x < 32;…
        - $EXPECT
        +             if (threadIdx.x > 0) continue;
        + $EXPECT
    slot and parity counted on
        - $LOOP
        -             $NUMBERS…
        +         int slot = -1, turn = -1;
        + $LOOP
        +             slot = slot + 1 == SLOTS || k_tile == 0 ? 0 : slot + 1;
        +             turn += slot == 0;…
    the producer waits from the second turn on
        - $WAIT_EMPTY
        +             if (turn > 0) mbarrier_wait(&s.empty[slot], (turn - 1) % 2);
    the consumer frees all slots before it begins
        $WAIT_EMPTY -> $WAIT_PRIMED
        - $CONSUMER
        + $CONSUMER
        +         for (int slot = 0; slot < SLOTS && threadIdx.x == 128; ++slot) mbarrier_arrive(&s.empty[slot]);
    the last slot is freed as well
        -         wgmma_wait<0>();
        -         store…
        +         wgmma_wait<0>();
        +         if (threadIdx.x == 128) mbarrier_arrive(&s.empty[(k_tiles - 1) % SLOTS]);
        +         store…
""",
    **globals(),
)
