"""Lesson 07, exercises about rings of full and empty barriers, and about clusters."""

NOTEBOOK = "07_hopper"
OTHERS: dict = {}
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
"""Of `ring` and `roles`."""
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
    "ring": [
        *IN_TURN,
        ("one copy too few", "k_tile + SLOTS - 1 < k_tiles", "k_tile + SLOTS < k_tiles", "deadlock"),
    ],
    "roles": [
        *IN_TURN,
        (
            "another slot freed",
            "empty[(k_tile - 1) % SLOTS]",
            "empty[k_tile % SLOTS]",
            "deadlock",
        ),
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
        (
            "arrivals of one block",
            "empty[slot], CLUSTER * 2)",
            "empty[slot], 2)",
            "write-after-read",
        ),
        ("turns begin anew", "turn = count / SLOTS", "turn = k_tile / SLOTS", "mbarrier"),
        *TILES,
        (
            "the first block's rows for both",
            "(tile.x * CLUSTER + cluster_rank()) * TM",
            "tile.x * CLUSTER * TM",
            "wrong",
        ),
        (
            "no wait for an empty slot",
            "mbarrier_wait(&s.empty[slot], (turn + 1) % 2);",
            "",
            "mbarrier",
        ),
    ],
}
GAPS = ["07.2"]
SOLVED: dict = {}

EXPECT = "            mbarrier_expect(&s.full[slot], sizeof(Slot));\n"
FREE = "            if (k_tile > 0 && threadIdx.x == 128) mbarrier_arrive(&s.empty[(k_tile - 1) % SLOTS]);\n"
WAIT = "            wgmma_wait<1>();\n"
WAIT_EMPTY = "            mbarrier_wait(&s.empty[slot], (turn + 1) % 2);\n"
WAIT_FULL = "            mbarrier_wait(&s.full[slot], turn % 2);\n"
FREE_AT_ONCE = "            if (threadIdx.x == 128) mbarrier_arrive(&s.empty[slot]);\n"
LOOP = "        for (int k_tile = 0; k_tile < k_tiles && threadIdx.x == 0; ++k_tile) {\n"
LAST = """\
        wgmma_wait<0>();
        if (threadIdx.x == 128) mbarrier_arrive(&s.empty[(k_tiles - 1) % SLOTS]);
"""
NUMBERS = "int slot = k_tile % SLOTS, turn = k_tile / SLOTS;"
END = "    }\n    cluster_sync();\n}"
ARRIVE = "                if (thread < CLUSTER) mbarrier_arrive_at(&s.empty[slot], thread);\n"
READ = "                wgmma_wait<0>();\n"
ARRIVE_LATE = """\
                wgmma_wait<1>();
                if (k_tile > 0 && thread < CLUSTER) mbarrier_arrive_at(&s.empty[(count - 1) % SLOTS], thread);
"""
LAST_OF_PAIR = """\
            wgmma_wait<0>();
            if (thread < CLUSTER) mbarrier_arrive_at(&s.empty[(count - 1) % SLOTS], thread);
"""

WRONG_ANSWERS = {
    "07.2": [
        ("the parity of the math for the copy", [("(turn + 1) % 2", "turn % 2")], "the first has parity 1"),
        ("nothing expected", [(EXPECT, "")], "mbarrier_expect"),
        (
            "another parity for each k-tile",
            [("(turn + 1) % 2", "(k_tile + 1) % 2")],
            "the first has parity 1",
        ),
        (
            "the other parity of full",
            [("slot], turn % 2", "slot], (turn + 1) % 2")],
            "does it wait for `full`",
        ),
        ("no wait for full", [(WAIT_FULL, "")], "does it wait for `full`"),
        ("no wait for empty", [(WAIT_EMPTY, "")], "does the producer wait"),
        ("bytes of half a slot", [("sizeof(Slot)", "sizeof(Slot) / 2")], "are not those that come"),
        ("bytes of all slots", [("sizeof(Slot)", "sizeof(Shared)")], "are not those that come"),
        ("128 arrivals at full", [("full[slot], 1)", "full[slot], 128)")], "more arrivals than come"),
        ("128 arrivals at empty", [("empty[slot], 1)", "empty[slot], 128)")], "more arrivals than come"),
        ("nothing freed", [(FREE, "")], "never freed"),
        ("another slot freed", [("[(k_tile - 1) % SLOTS]", "[k_tile % SLOTS]")], "never freed"),
        ("freed before the wait", [(WAIT + FREE, FREE_AT_ONCE + WAIT)], "freed before"),
        ("no wait for wgmma", [(WAIT, "")], "freed before"),
        (
            "128 threads arrive, one is counted",
            [("k_tile > 0 && threadIdx.x == 128", "k_tile > 0")],
            "freed before",
        ),
        ("128 threads start copies", [(" && threadIdx.x == 0;", ";")], "how many threads start"),
        ("the first block's columns", [("k_tile * TK, n,", "k_tile * TK, 0,")], "its own rows"),
        ("the first k-tile only", [("A, k_tile * TK, m", "A, 0, m")], "its own rows"),
        (
            "three slots written down",
            [(NUMBERS, "int slot = k_tile % 3, turn = k_tile / 3;")],
            "made from SLOTS",
        ),
        ("barriers of two slots", [("slot < SLOTS; ++slot", "slot < SLOTS - 1; ++slot")], "nobody has made"),
    ],
    "07.5": [
        ("freed before the wait", [(READ + ARRIVE, ARRIVE + READ)], "freed before"),
        (
            "the producer's turn begins anew",
            [("(count / SLOTS + 1)", "(k_tile / SLOTS + 1)")],
            "go on from tile to tile",
        ),
        ("no meeting at the end", [(END, "    }\n}")], "when its last thread leaves"),
        (
            "the block's barrier at the end",
            [(END, "    }\n    __syncthreads();\n}")],
            "when its last thread leaves",
        ),
        (
            "both turns begin anew",
            [("count / SLOTS % 2", "k_tile / SLOTS % 2"), ("(count / SLOTS + 1)", "(k_tile / SLOTS + 1)")],
            "go on from tile to tile",
        ),
        (
            "slots and turns begin anew",
            [("count % SLOTS", "k_tile % SLOTS"), ("count / SLOTS", "k_tile / SLOTS")],
            "go on from tile to tile",
        ),
        (
            "arrivals at home",
            [
                (ARRIVE, "                if (thread == 0) mbarrier_arrive(&s.empty[slot]);\n"),
                ("empty[slot], CLUSTER)", "empty[slot], 1)"),
            ],
            "consumers of both",
        ),
        (
            "freed one turn late, the last one never",
            [
                (READ + ARRIVE, ARRIVE_LATE),
                ("            store_sums", "            wgmma_wait<0>();\n            store_sums"),
            ],
            "that of the last k-tile",
        ),
        (
            "each block fetches all of B",
            [("load_rows_shared<CLUSTER>(", "load_rows(")],
            "half of B, for both",
        ),
    ],
}


RIGHT_ANSWERS = {
    "07.2": [
        ("waits for all, frees at once", [(WAIT + FREE, "            wgmma_wait<0>();\n" + FREE_AT_ONCE)]),
        (
            "all 128 threads arrive",
            [("empty[slot], 1)", "empty[slot], 128)"), ("k_tile > 0 && threadIdx.x == 128", "k_tile > 0")],
        ),
        (
            "four warps arrive",
            [("empty[slot], 1)", "empty[slot], 4)"), ("threadIdx.x == 128", "threadIdx.x % 32 == 0")],
        ),
        (
            "a warp waits, one lane copies",
            [
                (" && threadIdx.x == 0;", " && threadIdx.x < 32;"),
                (EXPECT, "            if (threadIdx.x > 0) continue;\n" + EXPECT),
            ],
        ),
        (
            "slot and parity counted on",
            [
                (
                    LOOP + "            " + NUMBERS,
                    "        int slot = -1, turn = -1;\n"
                    + LOOP
                    + "            slot = slot + 1 == SLOTS || k_tile == 0 ? 0 : slot + 1;\n"
                    + "            turn += slot == 0;",
                ),
            ],
        ),
        (
            "the producer waits from the second turn on",
            [(WAIT_EMPTY, "            if (turn > 0) mbarrier_wait(&s.empty[slot], (turn - 1) % 2);\n")],
        ),
        (
            "the last slot is freed as well",
            [("        wgmma_wait<0>();\n        store", LAST + "        store")],
        ),
    ],
    "07.5": [
        (
            "freed one turn late",
            [
                (READ + ARRIVE, ARRIVE_LATE),
                ("            store_sums", LAST_OF_PAIR + "            store_sums"),
            ],
        ),
        ("only the consumers meet", [(END, "        cluster_sync();\n    }\n}")]),
        (
            "a parity that is turned over",
            [
                ("k_tiles = K / TK, count = 0; ", "k_tiles = K / TK, count = 0, parity = 0; "),
                ("count / SLOTS % 2);", "parity);\n                if (slot == SLOTS - 1) parity ^= 1;"),
            ],
        ),
    ],
}
