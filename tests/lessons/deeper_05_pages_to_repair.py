"""What goes deeper from lesson 05: pages to repair."""

from tests.lessons.tables import right_answers, wrong_answers

NOTEBOOK = "05_pages_to_repair"
DTYPE = "float16"
LOOP = """\
    int stage = 0;
    load_tile(0, 0);                                  // prologue: the first two k-tiles
    if (k_tiles > 1) load_tile(1, 1);

    for (int k = 2; k < k_tiles; ++k) {
        int produce = (stage + 2) % 3, consume = stage;
        __syncthreads();
        compute(consume);                             // the oldest k-tile
        load_tile(k, produce);                        // the newest
        stage = (stage + 1) % 3;
    }

    __syncthreads();                                  // epilogue: the k-tiles that are left
    compute(stage);
    if (k_tiles > 1) compute((stage + 1) % 3);
"""
SYNC, OLDEST = LOOP.splitlines(True)[6:8]
WRONG_ANSWERS = wrong_answers(
    """
05.5
    only the loop repaired: k-tile
        compute(stage); -> compute((stage + 2) % 3);
        compute((stage + 1) % 3); -> compute((stage + 1) % 3);
    one k-tile left out: twice, or never
        -     int stage = 0;…
        +     if (k_tiles < 2) return;
        +     int stage = 0;…
    only the epilogue repaired: nothing has filled
        (stage + 2) % 3, consume = stage -> stage, consume = (stage + 2) % 3
    only consume repaired: slot
        produce = (stage + 2) % 3 -> produce = stage
    only produce repaired: is overwritten
        consume = stage -> consume = (stage + 2) % 3
    the slot in the middle: slot
        produce = (stage + 2) % 3 -> produce = (stage + 1) % 3
    prologue not guarded: when there is only one
        if (k_tiles > 1) load_tile -> load_tile
    epilogue not guarded: with 1 or 2 the loop
        if (k_tiles > 1) compute -> compute
    no barrier in the loop:
        -         __syncthreads();
        -         compute(consume)…
        +         compute(consume)…
    copies that nobody waits for: does not wait for copies
        -         wait_all();
        +         commit_group();
    barrier behind the math: barrier must stand
        $SYNC$OLDEST -> $OLDEST$SYNC
    no barrier in the epilogue: barrier must stand
        -     __syncthreads();                                  // epilogue: the k-tiles that are left
    the last two the wrong way round, counted from the end:
        compute(stage); -> compute(k_tiles % 3);
    one slot, copied and multiplied in turn: only one in use
        - $LOOP
        +     for (int k = 0; k < k_tiles; ++k) {
        +         __syncthreads();
        +         load_tile(k, 0);
        +         __syncthreads();
        +         compute(0);
        +     }
    two slots, but in turn: only one in use
        - $LOOP
        +     for (int k = 0; k < k_tiles; ++k) {
        +         load_tile(k, k % 2);
        +         __syncthreads();
        +         compute(k % 2);
        +     }
""",
    **globals(),
)
RIGHT_ANSWERS = right_answers(
    """
05.5
    one loop over all k-tiles
        - $LOOP
        +     load_tile(0, 0);
        +     if (k_tiles > 1) load_tile(1, 1);
        +     for (int k = 0; k < k_tiles; ++k) {
        +         __syncthreads();
        +         compute(k % 3);
        +         if (k + 2 < k_tiles) load_tile(k + 2, (k + 2) % 3);
        +     }
    slots from the number of the k-tile
        produce = (stage + 2) % 3, consume = stage -> produce = k % 3, consume = (k - 2) % 3
    the other way round
        -     int stage = 0;…
        +     int stage = 2;…
        (stage + 2) % 3, consume = stage -> stage, consume = (stage + 1) % 3
        compute(stage); -> compute((stage + 1) % 3);
        1) compute((stage + 1) % 3); -> 1) compute((stage + 2) % 3);
    copies that are waited for later
        -         wait_all();
        +         commit_group();
        -         __syncthreads();
        -         compute(c…
        +         wait_group<1>();
        +         __syncthreads();
        +         compute(c…
        -     __syncthreads();                                  // ep…
        +     wait_all();
        +     __syncthreads();                                  // ep…
""",
    **globals(),
)
