"""Lesson 08, sittings 1 and 2: roles, blocks that stay, clusters."""

from tests.lessons.lesson_07_ring import IN_TURN
from tests.lessons.tables import answers_beside

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
        (
            "one warp of each consumer waits",
            "mbarrier_wait(&s.full[slot]",
            "if (threadIdx.x % 128 < 32) mbarrier_wait(&s.full[slot]",
            "read-after-write",
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
LOAD_SHARED = """\
                load_rows_shared<CLUSTER>(
                    TN, s.slots[slot].B, B, k_tile * TK, n, &s.full[slot]);
"""
MEETS = "                cluster_sync();\n"
REMARKED = {
    "08.2": [
        ("the blocks meet in each k-tile", [
            (" && threadIdx.x == 0;", ";"),
            ("mbarrier_wait(&s.empty", "if (threadIdx.x == 0) {\n                mbarrier_wait(&s.empty"),
            (LOAD_SHARED, LOAD_SHARED + "                }\n" + MEETS),
            (ARRIVE, ARRIVE + MEETS)], "the two blocks meet 8 times for 6 k-tiles"),
        ("they meet at the end of each tile", [
            ("            store_sums", "            cluster_sync();\n            store_sums"),
            (" && threadIdx.x == 0;", ";"),
            ("for (int k_tile = 0; k_tile < k_tiles; ++k_tile, ++count) {\n                int slot = count % SLOTS;\n"
             "                mbarrier_wait(&s.empty",
             "for (int k_tile = 0; k_tile <= k_tiles; ++k_tile, ++count) {\n"
             "                if (k_tile == k_tiles) { cluster_sync(); --count; continue; }\n"
             "                if (threadIdx.x != 0) continue;\n"
             "                int slot = count % SLOTS;\n                mbarrier_wait(&s.empty")],
         "the two blocks meet 4 times for 6 k-tiles"),
    ],
}  # fmt: skip

RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
