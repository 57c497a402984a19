"""What goes deeper from lesson 08: two consumers in turn."""

from tests.lessons import kernel, solved_function
from tests.lessons.tables import right_answers, variants, wrong_answers

NOTEBOOK = "08_ping_pong"
DTYPE = "float16"
WRONG = {
    "ping_pong": variants("""
nobody waits for the turn: unwaited-copy
    - if (count > 0) named_sync<256>(3 + me);…
nobody hands it over: deadlock
    - if (number + step < tiles) named_arrive<256>(3 + other);…
handed over to oneself: deadlock
    named_arrive<256>(3 + other) -> named_arrive<256>(3 + me)
the first tile waits, too: deadlock
    if (count > 0) named_sync -> named_sync
a barrier of 128 threads: barrier-count
    named_sync<256>(3 + me) -> named_sync<128>(3 + me)
the other's k-tiles are not counted: unwaited-copy
    number += 2 * step, count += k_tiles -> number += 2 * step
both begin at k-tile 0: write-after-read
    count = me * k_tiles; -> count = 0;
every tile by both: deadlock
    number += 2 * step, count -> number += step, count
arrivals of two readers in each block: deadlock
    empty[slot], CLUSTER); -> empty[slot], CLUSTER * 2);
arrivals of one block: write-after-read
    empty[slot], CLUSTER); -> empty[slot], 1);
rows of the other consumer, as in complete: wrong
    s.slots[slot].A, s.slots -> s.slots[slot].A + me * 64, s.slots
both write into one buffer: read-after-write
    s.C[me] -> s.C[0]
no meeting at the end: exited-block
    -     cluster_sync();                                   // until…
    +     // until…
"""),
}


def _filled(skeleton, solution, changes=()):
    """The kernel of the unfilled cell with the solution's two texts in its gaps, one after the other."""
    source = skeleton.code
    for name in "my_turn", "hand_over":
        source = source.replace("____", solved_function(name)(skeleton, solution, changes), 1)
    return kernel(source, skeleton.name)


SOLVED = {"08.4": _filled}

RIGHT_ANSWERS = right_answers("""
08.4
    by the number of the tile
        count > k_tiles -> number >= step
    by the first tile
        if (count > k_tiles) -> if (me == 1 || number > first)
    a wait for all of the store
        wait_stores_read() -> wait_stores()
    all threads ask
        if (thread == 0) wait_stores_read -> wait_stores_read
    the barriers exchanged
        named_sync<256>(5 + me) -> named_sync<256>(6 - me)
        named_arrive<256>(5 + other) -> named_arrive<256>(6 - other)
    who hands over waits until the other comes
        named_arrive<256>(5 + other) -> named_sync<256>(5 + other)
    a barrier in between
        named_sync<256>(5 + me); -> { named_sync<256>(5 + me); named_sync<128>(1 + me); }
""")
REMARKED = {
    "08.4": [
        ("handed over behind the last tile, too", [("if (number + step < tiles) named_arrive", "named_arrive")],
         "behind the last tile 128 threads arrive for a consumer that does not come"),
    ],
}  # fmt: skip
WRONG_ANSWERS = wrong_answers("""
08.4
    nobody waits for the buffer: before its warp hands the buffer over
        if (count > k_tiles) named_sync<256>(5 + me); ->
    the reads are not waited for: before its warp hands the buffer over
        if (thread == 0) wait_stores_read(); ->
    handed over, then waited for: before its warp hands the buffer over
        if (thread == 0) wait_stores_read(); -> if (number + step < tiles) named_arrive<256>(5 + other);
        -             if (number + step < tiles) named_arrive<256>(5 + other);\"""
        +             if (thread == 0) wait_stores_read();\"""
    another thread asks: before its warp hands the buffer over
        thread == 0 -> thread == 1
    the first tile waits, too: first tile of all
        count > k_tiles -> count > 0
    nobody hands it over: an arrival that never comes
        if (number + step < tiles) named_arrive<256>(5 + other); ->
    handed over to oneself: an arrival that never comes
        named_arrive<256>(5 + other) -> named_arrive<256>(5 + me)
    the barriers of the tensor cores: an arrival that never comes
        named_sync<256>(5 + me) -> named_sync<256>(3 + me)
        named_arrive<256>(5 + other) -> named_arrive<256>(3 + other)
    each meets itself: of 128 one consumer is enough
        named_sync<256> -> named_sync<128>
        named_arrive<256> -> named_arrive<128>
    a barrier of 128 threads: two times 128 threads
        named_sync<256> -> named_sync<128>
    the first two tiles do not wait: before its warp hands the buffer over
        count > k_tiles -> count > 2 * k_tiles
""")
