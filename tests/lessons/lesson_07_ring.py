"""Lesson 07, sitting 3: the ring."""

from tests.lessons.tables import answers_beside

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
WAIT_FULL = "            mbarrier_wait(&s.full[slot], turn % 2);\n"
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
RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
