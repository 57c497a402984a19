"""Lesson 11: sums in tensor memory. No B200 was at hand: what is right here is right by ptxsim's rules."""

from tests.lessons.tables import answers_beside, variants

NOTEBOOK = "11_tensor_memory"
DTYPE = "float16"
OF_BOTH = variants("""
no columns are given back: not-given-back
    -     if (warp == 0) tcgen05_dealloc<TN>(sums);
nobody waits for the sums: unwaited-tcgen05|write-after-read|read-after-write
    mbarrier_wait(&s.done, 0); ->
the first warp alone waits for the sums: unwaited-tcgen05|read-after-write
    mbarrier_wait(&s.done, 0); -> if (warp == 0) mbarrier_wait(&s.done, 0);
nobody tells of the sums: deadlock
    tcgen05_commit(&s.done); ->
all k-tiles set the sums: wrong
    k_tile > 0); -> false);
no k-tile sets the sums: uninitialised-read
    k_tile > 0); -> true);
half of the columns: tensor-memory|out-of-bounds
    tcgen05_alloc<TN> -> tcgen05_alloc<TN / 2>
columns of B by the rows of C: wrong
    k_tile * TK, n, -> k_tile * TK, m,
""")
MEETING = "    __syncthreads();                                  // all four warps have loaded\n"
WRONG = {
    "one_tile": [
        *OF_BOTH,
        ("columns are given back early", MEETING, "", "write-after-read|tensor-memory"),
        ("one slot is filled early", "            mbarrier_wait(&s.empty, k_tile % 2);", "",
         "write-after-read|mbarrier"),
        ("the math comes before its bytes", "            mbarrier_wait(&s.full, k_tile % 2);\n", "", "unwaited-copy"),
    ],
    "tensor_ring": [
        *OF_BOTH,
        ("columns are given back early", MEETING, "", "write-after-read|tensor-memory|unwaited-tcgen05"),
        ("who multiplies frees the slot", "tcgen05_commit(&s.empty[slot])", "mbarrier_arrive(&s.empty[slot])",
         "write-after-read"),
        ("who multiplies tells of the sums", "tcgen05_commit(&s.done)", "mbarrier_arrive(&s.done)",
         "unwaited-tcgen05|read-after-write"),
        ("the parity of the math for the copy", "(turn + 1) % 2", "turn % 2", "deadlock"),
        ("another parity for each k-tile", "full[slot], turn % 2", "full[slot], k_tile % 2",
         "unwaited-copy|uninitialised-read"),
        ("bytes of half a slot", "sizeof(Slot));", "sizeof(Slot) / 2);", "unwaited-copy|deadlock"),
    ],
    "two_halves": variants("""
no columns are given back: not-given-back
    -     if (warp == 0) tcgen05_dealloc<2 * TN>(sums);
columns for one tile: tensor-memory|out-of-bounds
    tcgen05_alloc<2 * TN> -> tcgen05_alloc<TN>
who multiplies does not wait for a half: wrong
    -             mbarrier_wait(&s.sums_empty[half], (turn + 1) % 2);
the parity of those who fetch for who multiplies: deadlock
    sums_empty[half], (turn + 1) % 2 -> sums_empty[half], turn % 2
nobody waits for the sums: unwaited-tcgen05|read-after-write
    -             mbarrier_wait(&s.sums_full[half], turn % 2);
nobody tells of the sums: deadlock
    -             tcgen05_commit(&s.sums_full[half]);
arrivals of one warp: write-after-read|mbarrier|deadlock
    sums_empty[half], 128) -> sums_empty[half], 32)
always the other half is fetched: unwaited-tcgen05|uninitialised-read
    sums + half * TN + (warp -> sums + (1 - half) * TN + (warp
the ring begins anew with each tile: wrong
    int slot = count % SLOTS; -> int slot = k_tile % SLOTS;
"""),
}  # fmt: skip
GAPS = ["11.1", "11.2", "11.3"]

WAIT_DONE = "    mbarrier_wait(&s.done, 0);\n"
AFTER = "    tcgen05_after_sync();\n    float most"
WAIT_LD = "        tcgen05_wait_ld();\n"
LOAD = "        tcgen05_ld(v, sums + (warp * 32 << 16) + n);\n"
USE = "        for (int i = 0; i < 16; ++i) most = fmaxf(most, v[i]);\n"
BEFORE = "    tcgen05_before_sync();\n    __syncthreads();\n    if (warp == 0) tcgen05_dealloc"
FREE = "    if (warp == 0) tcgen05_dealloc<TN>(sums);\n"
COMMIT = "            tcgen05_commit(&s.empty[slot]);\n"
LAST = "        }\n        tcgen05_commit(&s.done);\n"
START = "            start_k_tile<TN>(sums, s.slots[slot].A, s.slots[slot].B, k_tile > 0);\n"
WAIT_EMPTY = "            mbarrier_wait(&s.empty[slot], (turn + 1) % 2);\n"
WAIT_FULL = "            mbarrier_wait(&s.full[slot], turn % 2);\n"
EXPECT = "            mbarrier_expect(&s.full[slot], sizeof(Slot));\n"
LOAD_B = "            load_rows(TN, s.slots[slot].B, B, k_tile * TK, n, &s.full[slot]);\n"
NUMBERS = "int slot = k_tile % SLOTS, turn = k_tile / SLOTS;"
SUMS_EMPTY = "            mbarrier_wait(&s.sums_empty[half], (turn + 1) % 2);\n"
SUMS_FULL = "            mbarrier_wait(&s.sums_full[half], turn % 2);\n"
TELL = "            tcgen05_commit(&s.sums_full[half]);\n"
ARRIVE = "            mbarrier_arrive(&s.sums_empty[half]);\n"
STORE = "            tcgen05_after_sync();\n            store_row"
RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
REMARKED = {
    "11.1": [
        ("the registers wait by themselves", [(WAIT_LD, "")], "PTX wants a `tcgen05_wait_ld()`"),
        ("the hardware puts in the quarter", [("(warp * 32 << 16) + ", "")], "PTX wants the lane"),
        (
            "it waits before it loads",
            [(WAIT_LD, ""), (LOAD, WAIT_LD + LOAD)],
            "PTX wants a `tcgen05_wait_ld()`",
        ),
    ],
    "11.3": [
        (
            "a commit for each lane",
            [("mbarrier_arrive(&s.sums_empty", "tcgen05_commit(&s.sums_empty")],
            "A commit tells of products",
        )
    ],
}
