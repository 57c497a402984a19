"""Lesson 08, sittings 1 and 2: roles, blocks that stay, clusters."""

from tests.lessons.lesson_07_ring import IN_TURN
from tests.lessons.tables import right_answers, wrong_answers

NOTEBOOK = "08_never_a_pause"
DTYPE = "float16"
TILES = [
    ("the parity of the math for the copy", "(turn + 1) % 2", "turn % 2", "deadlock"),
    ("two wgmma groups may be at work", "wgmma_wait<1>()", "wgmma_wait<2>()", "write-after-read"),
    ("the first warpgroup's rows for both", ".A + mine * TK", ".A", "wrong"),
]
"""Of `persistent` and `cluster`."""
END_OF_CLUSTER = (
    "    cluster_sync();                                   // until then the other block may arrive here\n"
)
WRONG = {
    "roles": [
        *IN_TURN,
        ("another slot freed", "empty[(k_tile - 1) % SLOTS]", "empty[k_tile % SLOTS]", "deadlock"),
    ],
    "persistent": [
        ("turns begin anew", "turn = count / SLOTS", "turn = k_tile / SLOTS", "write-after-read"),
        *TILES,
        (
            "the last slot of a tile is not freed",
            "wgmma_wait<0>();\n            if (threadIdx.x % 128 == 0) mbarrier_arrive(&s.empty[(count - 1) % SLOTS]);",
            "wgmma_wait<0>();",
            "deadlock",
        ),
        ("B by the tile's row", "tile.y * TN, &", "tile.x * TN, &", "wrong"),
        ("tiles left out", "number += gridDim.x", "number += 2 * gridDim.x", "wrong"),
    ],
    "cluster": [
        ("no meeting at the end", END_OF_CLUSTER, "", "exited-block"),
        ("arrivals of one block", "empty[slot], CLUSTER * 2)", "empty[slot], 2)", "write-after-read"),
        ("turns begin anew", "turn = count / SLOTS", "turn = k_tile / SLOTS", "mbarrier"),
        *TILES,
        (
            "the first block's rows for both",
            "(tile.x * CLUSTER + cluster_rank()) * TM",
            "tile.x * CLUSTER * TM",
            "wrong",
        ),
        ("no wait for an empty slot", "mbarrier_wait(&s.empty[slot], (turn + 1) % 2);", "", "mbarrier"),
    ],
}
GAPS = ["08.1"]

NUMBERS = "                int slot = count % SLOTS, turn = count / SLOTS;\n"
WAIT_EMPTY = "                mbarrier_wait(&s.empty[slot], (turn + 1) % 2);\n"
LOAD = "                load(slot, k_tile, m, n);\n"
WAIT_TILE = (
    "                if (k_tile == 0 && count > 0)"
    " mbarrier_wait(&s.empty[(count - 1) % SLOTS], (count - 1) / SLOTS % 2);\n"
)
WAIT_LANDED = "                mbarrier_wait(&s.full[slot], turn % 2);\n"
MADE_ANEW = "                if (k_tile == 0) mbarrier_init(&s.full[slot], 1);\n"
READ_ALL = "                wgmma_wait<0>();\n"
READ_ONE = "                wgmma_wait<1>();\n"
READ_LAST = "            wgmma_wait<0>();\n"
FREE_OWN = "                if (threadIdx.x == 128) mbarrier_arrive(&s.empty[slot]);\n"
FREE_BEFORE = (
    "                if (k_tile > 0 && threadIdx.x == 128) mbarrier_arrive(&s.empty[(count - 1) % SLOTS]);\n"
)
FREE_COUNTED = FREE_BEFORE.replace("k_tile > 0", "count > 0")
FREE_LAST = "            if (threadIdx.x == 128) mbarrier_arrive(&s.empty[(count - 1) % SLOTS]);\n"
STORE = "            store_sums(C + (size_t)m * N + n, N, d);\n"
BLOCK = "            __syncthreads();\n"
PRODUCER = """\
        for (int number = blockIdx.x; number < tiles && threadIdx.x == 0; number += gridDim.x) {
            int m = number / tiles_n * TM, n = number % tiles_n * TN;
            for (int k_tile = 0; k_tile < k_tiles; ++k_tile, ++count) {
                int slot = count % SLOTS, turn = count / SLOTS;
                mbarrier_wait(&s.empty[slot], (turn + 1) % 2);
                load(slot, k_tile, m, n);
            }
        }
"""
FLAT = """\
        int mine = (tiles - (int)blockIdx.x + (int)gridDim.x - 1) / (int)gridDim.x * k_tiles;
        for (; count < mine && threadIdx.x == 0; ++count) {
            int number = blockIdx.x + count / k_tiles * gridDim.x, slot = count % SLOTS;
            mbarrier_wait(&s.empty[slot], (count / SLOTS + 1) % 2);
            load(slot, count % k_tiles, number / tiles_n * TM, number % tiles_n * TN);
        }
"""
END = "    }\n    cluster_sync();\n}"
ARRIVE = "                if (thread < CLUSTER) mbarrier_arrive_at(&s.empty[slot], thread);\n"
READ = "                wgmma_wait<0>();\n"
ARRIVE_LATE = """\
                wgmma_wait<1>();
                if (k_tile > 0 && thread < CLUSTER) mbarrier_arrive_at(&s.empty[(count - 1) % SLOTS], thread);
"""

WRONG_ANSWERS = wrong_answers(
    """
08.1
    turns begin anew in each tile: go on from tile to tile
        count % SLOTS, turn = count / SLOTS -> k_tile % SLOTS, turn = k_tile / SLOTS
    only the turns begin anew: go on from tile to tile
        turn = count / SLOTS -> turn = k_tile / SLOTS
    the producer's turns begin anew: go on from tile to tile
        - $NUMBERS
        - $WAIT_EMPTY
        +                 int slot = k_tile % SLOTS, turn = k_tile / SLOTS;
        + $WAIT_EMPTY
    one tile and no more: does the block make all of its tiles
        number < tiles -> number < (int)gridDim.x
    a tile for each block, at least: where does tile `number` begin
        number < tiles -> number < max(tiles, (int)gridDim.x)
    all tiles by each block: block b makes the tiles
        number += gridDim.x -> number += 1
    128 threads copy: how many threads call `load`
        -  && threadIdx.x == 0;…
        + ;…
    freed before the wait: freed before
        $READ_ALL$FREE_OWN -> $FREE_OWN$READ_ALL
    the sums go on from tile to tile: start the sums
        k_tile > 0); -> count > 0);
    the parity of the math for the copy: the first has parity 1
        (turn + 1) % 2 -> turn % 2
    the last slot of a tile is never freed: that of the last k-tile
        $READ_ALL$FREE_OWN -> $READ_ONE$FREE_BEFORE
        $STORE -> $READ_LAST$STORE
    the last slot of a tile is freed behind the store: still hold
        $READ_ALL$FREE_OWN -> $READ_ONE$FREE_BEFORE
        $STORE -> $READ_LAST$STORE$FREE_LAST
    the producer waits for the end of a tile: but its slot
        $LOAD -> $WAIT_TILE$LOAD
    rows for columns: Its row and its column
        m = number / tiles_n * TM, n = number % tiles_n * TN -> m = number % tiles_n * TM, n = number / tiles_n * TN
    no wait for full: what they must
        -                 mbarrier_wait(&s.full[slot], turn % 2);
    a barrier for both roles: waits for ever
        $STORE -> $STORE$BLOCK
    each copy landed before the next one starts: who waits for `full`
        $LOAD -> $LOAD$WAIT_LANDED
    the sums never begin: must set them
        k_tile > 0); -> true);
    another arrival at the end of a tile: arrive twice for one k-tile
        $READ_ALL$FREE_OWN -> $READ_ONE$FREE_COUNTED
        $STORE -> $READ_LAST$FREE_LAST$STORE
    barriers of each tile: made, once for all tiles
        $LOAD -> $MADE_ANEW$LOAD

08.2
    freed before the wait: freed before
        $READ$ARRIVE -> $ARRIVE$READ
    the producer's turn begins anew: go on from tile to tile
        (count / SLOTS + 1) -> (k_tile / SLOTS + 1)
    no meeting at the end: when its last thread leaves
        - $END…
        +     }
        + }…
    the block's barrier at the end: when its last thread leaves
        - $END…
        +     }
        +     __syncthreads();
        + }…
    both turns begin anew: go on from tile to tile
        count / SLOTS % 2 -> k_tile / SLOTS % 2
        (count / SLOTS + 1) -> (k_tile / SLOTS + 1)
    slots and turns begin anew: go on from tile to tile
        count % SLOTS -> k_tile % SLOTS
        count / SLOTS -> k_tile / SLOTS
    arrivals at home: consumers of both
        - $ARRIVE
        +                 if (thread == 0) mbarrier_arrive(&s.empty[slot]);
        empty[slot], CLUSTER) -> empty[slot], 1)
    freed one turn late, the last one never: that of the last k-tile
        $READ$ARRIVE -> $ARRIVE_LATE
        -             store_sums…
        +             wgmma_wait<0>();
        +             store_sums…
    arrivals at home, made for both: how many come
        - $ARRIVE
        +                 if (thread == 0) mbarrier_arrive(&s.empty[slot]);
    each block fetches all of B: half of B, for both
        load_rows_shared<CLUSTER>( -> load_rows(
""",
    **globals(),
)


RIGHT_ANSWERS = right_answers(
    """
08.1
    freed one k-tile later
        $READ_ALL$FREE_OWN -> $READ_ONE$FREE_BEFORE
        $STORE -> $READ_LAST$FREE_LAST$STORE
    columns of tiles first
        m = number / tiles_n * TM, n = number % tiles_n * TN -> m = number % (M / TM) * TM, n = number / (M / TM) * TN
    a count of one loop over all k-tiles
        - $PRODUCER
        + $FLAT
    slot and parity counted on
        int slot = count % SLOTS, turn = count / SLOTS; -> int slot = count % SLOTS, turn = (count - slot) / SLOTS;
    neighbouring tiles for each block
        tiles && threadIdx.x == 0; number += gridDim.x -> LAST && threadIdx.x == 0; ++number
        number < tiles; number += gridDim.x -> number < LAST; ++number
        number = blockIdx.x -> number = tiles * blockIdx.x / gridDim.x
        LAST -> tiles * (blockIdx.x + 1) / gridDim.x
    all arrive
        empty[slot], 1) -> empty[slot], 128)
        if (threadIdx.x == 128) mbarrier_arrive -> mbarrier_arrive

08.2
    freed one turn late
        $READ$ARRIVE -> $ARRIVE_LATE
        -             store_sums…
        +             wgmma_wait<0>();
        +             if (thread < CLUSTER) mbarrier_arrive_at(&s.empty[(count - 1) % SLOTS], thread);
        +             store_sums…
    another two threads arrive
        - $ARRIVE
        +                 if (thread % 64 == 0) mbarrier_arrive_at(&s.empty[slot], thread / 64);
    only the consumers meet
        - $END…
        +         cluster_sync();
        +     }
        + }…
    a parity that is turned over
        - k_tiles = K / TK, count = 0; …
        + k_tiles = K / TK, count = 0, parity = 0; …
        - count / SLOTS % 2);…
        + parity);
        +                 if (slot == SLOTS - 1) parity ^= 1;…
""",
    **globals(),
)
