"""Lesson 03."""

NOTEBOOK = "03_double_buffer"
OTHERS: dict = {}
TILE = (128, 128, 8)
LAUNCHES = {
    "single_buffer": {"tile": TILE, "threads": 256},
    "two_buffers": {"tile": TILE, "threads": 256},
    "double_buffer": {"tile": TILE, "threads": 256},
    "wide_loads": {"tile": TILE, "threads": 256},
    "fp32_best": {"tile": TILE, "threads": 128, "shared_mem": 3 * (128 + 128) * 8 * 4},
}

BARRIER = "TRACE_BEGIN(barrier, k_tile); __syncthreads(); TRACE_END(barrier, k_tile);"
ISSUE = "issue(k_tile + 1, write);"
NO_WAIT = ("wait removed", "TRACE_BEGIN(wait, k_tile); wait_all();", "", "unwaited-copy")
NO_BARRIER = (
    "barrier removed",
    "TRACE_BEGIN(barrier, k_tile); __syncthreads();",
    "",
    "read-after-write|write-after",
)
NO_LAST_TILE = (
    "last k-tile skipped",
    "k_tile < K / TK; ++k_tile) { // Mainloop",
    "k_tile < K / TK - 1; ++k_tile) { // Mainloop",
    "without the last k-tile|NaN|wrong",
)
NO_GUARD = ("copies behind the end", "k_tile + 1 < K / TK)", "k_tile < K / TK)", "out-of-bounds")
LATE_GUARD = (
    "last k-tile not copied",
    "k_tile + 1 < K / TK)",
    "k_tile + 2 < K / TK)",
    "wrong|one k-tile behind",
)
SAME_TILE = (
    "same k-tile again",
    "issue(k_tile + 1, write)",
    "issue(k_tile, write)",
    "wrong|one k-tile behind",
)
WRONG_BUFFER = (
    "copy to the buffer that is read",
    "issue(k_tile + 1, write)",
    "issue(k_tile + 1, read)",
    "unwaited|write-after",
)
NO_SWAP = (
    "buffers never change places",
    "read ^= 1; write ^= 1;",
    "",
    "write-after-read|wrong|one k-tile behind",
)
HALF_SWAP = (
    "only one index changes",
    "read ^= 1; write ^= 1;",
    "read ^= 1;",
    "unwaited|write-after|uninitialised|wrong",
)
LAYOUT = [
    ("half of the tile", "i < TM; i += 64", "i < TM / 2; i += 64", "uninitialised-read"),
    ("4 bytes for 8", "copy_async<8>(&As", "copy_async<4>(&As", "uninitialised-read"),
    (
        "columns of the other matrix",
        "(k_tile * TK + y) * M]",
        "(k_tile * TK + y) * N]",
        "wrong|out-of-bounds",
    ),
    ("columns of C", "8 * j * M]", "8 * j * N]", "out-of-bounds|wrong|block-conflict"),
    ("odd padding", "PAD = 2", "PAD = 1", "misaligned"),
]
AHEAD = [
    NO_WAIT, NO_BARRIER, NO_LAST_TILE, NO_GUARD, LATE_GUARD, SAME_TILE, WRONG_BUFFER, NO_SWAP, HALF_SWAP,
    ("swapped before the issue", "issue(k_tile + 1, write); read ^= 1; write ^= 1;",
     "read ^= 1; write ^= 1; issue(k_tile + 1, write);", "unwaited|write-after|uninitialised"),
    ("fragments from the old k-tile", "from = read;\n", "\n", "wrong"),
    ("wait one k-block late", "if (k == TK - 1) { ", "if (k == 0) { ", "unwaited|read-after-write|wrong"),
    ("fragments not ahead", "load((k + 1) % TK, from)", "load(k, from)", "wrong|unwaited"),
    ("no first fragments", "    load(0, from);\n", "", "NaN|wrong"),
    ("first k-tile not waited for", "issue(0, 0); wait_all(); __syncthreads();", "issue(0, 0); __syncthreads();",
     "unwaited"),
    ("no barrier in the prologue", "issue(0, 0); wait_all(); __syncthreads();", "issue(0, 0); wait_all();",
     "read-after-write"),
]  # fmt: skip

WRONG = {
    "single_buffer": [
        NO_WAIT, NO_BARRIER, NO_LAST_TILE, *LAYOUT,
        ("second barrier removed", "__syncthreads();                              // all have read it", "",
         "write-after-read|unwaited"),
        ("k off by one", "k < TK;", "k < TK - 1;", "without the last k of every k-tile"),
        ("same k-tile each time", "issue(k_tile);", "issue(0);", "wrong"),
    ],
    "two_buffers": [
        NO_WAIT, NO_BARRIER, NO_LAST_TILE, NO_GUARD, LATE_GUARD, SAME_TILE, WRONG_BUFFER, NO_SWAP, HALF_SWAP, *LAYOUT,
        ("issued before the barrier", f"{BARRIER}    // all parts have\n        if (k_tile + 1 < K / TK) {ISSUE}",
         f"if (k_tile + 1 < K / TK) {ISSUE}\n{BARRIER}", "write-after-read"),
        ("no first k-tile", "issue(0, 0);", "", "uninitialised-read|unwaited"),
        ("k off by one", "k < TK;", "k < TK - 1;", "without the last k of every k-tile"),
    ],
    "double_buffer": [*AHEAD, *LAYOUT],
    "wide_loads": [
        *AHEAD,
        ("too few bytes", "copy_async<16>(&As", "copy_async<8>(&As", "uninitialised-read"),
        ("shape of a warp", "warp % 2 * 64", "warp % 2 * 32", "wrong"),
        ("column of the other matrix", "4 * lane + warp * N", "4 * lane + warp * M", "wrong|out-of-bounds"),
    ],
    "fp32_best": [
        ("barrier removed", "wait_group<STAGES - 3>(); __syncthreads();", "wait_group<STAGES - 3>();",
         "read-after-write|write-after"),
        ("waits for one less", "wait_group<STAGES - 3>()", "wait_group<STAGES - 2>()", "unwaited-copy"),
        ("waits for one less at first", "wait_group<STAGES - 2>()", "wait_group<STAGES - 1>()", "unwaited-copy"),
        ("no barrier in the prologue", "wait_group<STAGES - 2>(); __syncthreads();", "wait_group<STAGES - 2>();",
         "read-after-write"),
        ("prologue behind the end", "if (k_tile < tiles) copy(", "copy(", "out-of-bounds"),
        ("no group", "commit_group(); A +=", "A +=", "unwaited-copy"),
        ("slot never changes", "write = next_slot(write);", "", "unwaited|write-after|wrong"),
        ("ring one short", "slot == (STAGES - 1) * SLOT", "slot == (STAGES - 2) * SLOT", "unwaited|write-after|wrong"),
        ("copies behind the end", "k_tile + STAGES - 1 < tiles", "k_tile + STAGES - 2 < tiles", "out-of-bounds|wrong"),
        ("reads one slot on too early", "k == TK - 1 && k_tile + 1 < tiles", "k == TK - 2 && k_tile + 1 < tiles",
         "wrong|unwaited"),
        ("last turn not copied", "k >= BARRIER &&", "k >= BARRIER && k < TK - 1 &&", "uninitialised-read|wrong"),
        ("fragments not ahead", "load((k + 1) % TK);", "load(k);", "wrong|unwaited|uninitialised"),
        ("rows mixed up", "acc[j][j % 2 ? 7 - i : i]", "acc[j][i]", "wrong"),
        ("lanes mixed up", "lane / 2 % 8 * 4", "lane % 8 * 4", "wrong|never written|block-conflict"),
    ],
}  # fmt: skip

GAPS = ["03.1"]
WAIT_AND_BARRIER = "        wait_all();\n        __syncthreads();\n"
GUARDED = "        if (k_tile + 1 < K / TK) issue(k_tile + 1);\n"
OTHER_BUFFER = "    write = 1 - write;                                // the loop writes the other buffer\n"
COPY_B = "        copy_tile<THREADS>(Bs[write], B + k_tile * TK * N, N);\n"
AHEAD_BARRIER = f"        __syncthreads();{' ' * 30}// this k-tile is complete, the other buffer is free\n"
WRONG_ANSWERS = {
    "03.1": [
        (
            "barrier before the wait",
            [(WAIT_AND_BARRIER, "        __syncthreads();\n        wait_all();\n")],
            "all parts",
        ),
        ("no wait", [("        wait_all();\n", "")], "Wait for your own part first"),
        ("no barrier", [("        __syncthreads();\n", "")], "all parts"),
        (
            "issued before the barrier",
            [("        __syncthreads();\n" + GUARDED, GUARDED + "        __syncthreads();\n")],
            "issue it behind the barrier",
        ),
        ("no guard", [("if (k_tile + 1 < K / TK)", "if (k_tile < K / TK)")], "no next one to copy"),
        ("same k-tile again", [("issue(k_tile + 1)", "issue(k_tile)")], "which k-tile do you issue"),
        (
            "a buffer for every k-tile",
            [("As[k_tile % 2][k]", "As[k_tile][k]"), ("Bs[k_tile % 2][k]", "Bs[k_tile][k]")],
            "only buffers 0 and 1",
        ),
        ("guard too strict", [("k_tile + 1 < K / TK", "k_tile + 2 < K / TK")], "k-tile t + 1 is on its way"),
        (
            "reads the other buffer",
            [("As[k_tile % 2][k]", "As[1 - k_tile % 2][k]"), ("Bs[k_tile % 2][k]", "Bs[1 - k_tile % 2][k]")],
            "read the buffer of this k-tile",
        ),
    ],
    "03.2": [
        (
            "reads what it writes",
            [(OTHER_BUFFER, ""), ("int read = 1 - write;", "int read = write;")],
            "must stand between",
        ),
        (
            "prologue to the other one",
            [(OTHER_BUFFER, ""), ("int write = 0;", "int write = 1;")],
            "which one is read",
        ),
        ("loop from 0", [("int k_tile = 1;", "int k_tile = 0;")], "follow k_tile"),
        (
            "no last multiplication",
            [("    multiply(acc, As[1 - write], Bs[1 - write], m, n);\n", "")],
            "follow k_tile",
        ),
        (
            "barrier behind the copy",
            [
                ("        __syncthreads();\n", ""),
                (COPY_B, COPY_B + "        __syncthreads();\n"),
                ("   // the next one", ""),
            ],
            "Which barrier",
        ),
        ("no last barrier", [("    __syncthreads();\n    multiply", "    multiply")], "must stand between"),
        ("no barrier in the loop", [("        __syncthreads();\n", "")], "must stand between"),
    ],
    "03.3": [
        ("padding of 2 again", [("PAD = 1", "PAD = 2")], "keep PAD = 1"),
        ("only A repaired", [("copy_async<4>(&Bs", "copy_async<8>(&Bs")], "How many bytes"),
        (
            "half of the floats",
            [("int i = x; i < TM; i += 32", "int i = x; i < TM; i += 64")],
            "how far apart",
        ),
        (
            "every other float",
            [("int i = x; i < TM; i += 32", "int i = 2 * x; i < TM; i += 64")],
            "how far apart",
        ),
        (
            "one place twice",
            [("int i = x; i < TM; i += 32", "int i = 2 * x; i < TM; i += 32")],
            "Lane x starts",
        ),
    ],
    "03.4": [
        (
            "barrier behind the copy",
            [
                (AHEAD_BARRIER, ""),
                (
                    "        multiply(acc, As[stage]",
                    "        __syncthreads();\n        multiply(acc, As[stage]",
                ),
            ],
            "Which barrier",
        ),
        ("no barrier", [(AHEAD_BARRIER, "")], "must stand between"),
        ("no guard", [("if (k_tile + 1 < K / TK)", "")], "no next one to copy"),
        (
            "no prologue",
            [("    copy_tile<THREADS>(As[0], A, M); ", "//"), ("    copy_tile<THREADS>(Bs[0], B, N);\n", "")],
            "nothing was copied",
        ),
        (
            "same k-tile again",
            [
                ("A + (k_tile + 1) * TK * M", "A + k_tile * TK * M"),
                ("B + (k_tile + 1) * TK * N", "B + k_tile * TK * N"),
            ],
            "turn t copies k-tile t + 1",
        ),
    ],
}
SOLVED: dict = {}
