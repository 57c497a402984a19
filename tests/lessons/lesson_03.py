"""Lesson 03."""

import re

NOTEBOOK = "03_double_buffer"
OTHERS: dict = {}

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
    "early_issue": [
        NO_LAST_TILE, NO_GUARD, LATE_GUARD,
        ("no wait", "wait_all(); __syncthreads();", "__syncthreads();", "unwaited-copy"),
        ("no first barrier", "wait_all(); __syncthreads();", "wait_all();", "read-after-write"),
        ("barrier before the wait", "wait_all(); __syncthreads();", "__syncthreads(); wait_all();", "read-after-write"),
        ("no second barrier", "__syncthreads();                              // all have read it", "",
         "write-after-read"),
        ("issued before the fragments", "// the k-tile is complete\n",
         "\n        if (k_tile + 1 < K / TK) issue(k_tile + 1);\n", "unwaited|write-after-read"),
        ("no first k-tile", "    issue(0); ", "    ", "uninitialised-read|unwaited"),
        ("same k-tile again", "issue(k_tile + 1)", "issue(k_tile)", "wrong|one k-tile behind"),
    ],
    "two_buffers": [
        NO_WAIT, NO_BARRIER, NO_LAST_TILE, NO_GUARD, LATE_GUARD, SAME_TILE, WRONG_BUFFER, NO_SWAP, HALF_SWAP,
        ("issued before the barrier", f"{BARRIER}    // all parts have\n        if (k_tile + 1 < K / TK) {ISSUE}",
         f"if (k_tile + 1 < K / TK) {ISSUE}\n{BARRIER}", "write-after-read"),
        ("no first k-tile", "issue(0, 0);", "", "uninitialised-read|unwaited"),
        ("k off by one", "k < TK;", "k < TK - 1;", "without the last k of every k-tile"),
    ],
    "double_buffer": AHEAD,
    "wide_loads": [
        *AHEAD,
        ("too few bytes", "copy_async<16>(&As", "copy_async<8>(&As", "uninitialised-read"),
        ("shape of a warp", "warp % 2 * 64", "warp % 2 * 32", "wrong"),
        ("column of the other matrix", "4 * lane + warp * N", "4 * lane + warp * M", "wrong|out-of-bounds"),
    ],
    "fp32_best": [
        ("prologue behind the end", "if (k_tile < tiles) copy(", "copy(", "out-of-bounds"),
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

# ---- exercises

GAPS: list = []  # the gaps of 03.2 and 03.3 are whole blocks


def _lists(skeleton, solution, changes):
    """The three lists of 03.1."""
    for old, new in changes:
        assert old in solution
        solution = solution.replace(old, new)
    found = {}
    exec(re.search(r"```python\n(.*?)```", solution, re.DOTALL)[1], found)
    return found["multiplied_from"], found["issued"], found["issued_to"]


SOLVED = {"03.1": _lists}

PROLOGUE = f"    issue(0, 0);{' ' * 38}// k-tile 0 has no turn before it\n"
WAIT_AND_BARRIER = "        wait_all();\n        __syncthreads();\n"
ISSUE_NEXT = "        if (k_tile + 1 < k_tiles) issue(k_tile + 1, (k_tile + 1) % 2);\n"
MULTIPLY = "        multiply(k_tile % 2);\n"
HEAD_OF_LOOP = "    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {\n"
LOOP = PROLOGUE + HEAD_OF_LOOP + WAIT_AND_BARRIER + ISSUE_NEXT + MULTIPLY + "    }\n"

COMPLETE = (
    "if (k == TK - 1 && k_tile + 1 < k_tiles) { wait_all(); __syncthreads(); }"
    "   // the next k-tile is complete\n"
)
LOAD_NEXT = (
    f"            if (k < TK - 1) load(k + 1, k_tile % 2);{' ' * 20}// one k-block ahead\n"
    "            else if (k_tile + 1 < k_tiles) load(0, (k_tile + 1) % 2);\n"
)
ISSUE_EARLY = "            if (k == 0 && k_tile + 1 < k_tiles) issue(k_tile + 1, (k_tile + 1) % 2);\n"
BLOCKS = COMPLETE + LOAD_NEXT + ISSUE_EARLY + "            multiply(k);\n"

SHARED = "    __shared__ TileType smem_buffer[2];"
LAST_BARRIER = f"    __syncthreads();{' ' * 34}// with one tile there was no barrier yet\n"
LOAD_TILE = "        load_tile(data[k], smem_buffer[produce_stage]);\n"
COMPUTE = "        compute(smem_buffer[consume_stage]);\n"

OTHER_BUFFER = "    write = 1 - write;                                // the loop writes the other buffer\n"
COPY_B = "        copy_tile<THREADS>(Bs[write], B + k_tile * TK * N, N);\n"
AHEAD_BARRIER = f"        __syncthreads();{' ' * 30}// this k-tile is complete, the other buffer is free\n"

RIGHT_ANSWERS = {
    "03.1": [
        ("no copy is a dash", [('issued = [1, 2, 3, "none"]', 'issued = [1, 2, 3, "-"]')]),
        ("no copy is None", [('issued = [1, 2, 3, "none"]', "issued = [1, 2, 3, None]")]),
        ("None as a word", [('issued_to = [1, 0, 1, "none"]', 'issued_to = [1, 0, 1, "None"]')]),
        ("tuples", [("multiplied_from = [0, 1, 0, 1]", "multiplied_from = (0, 1, 0, 1)")]),
        ("no copy is empty", [('issued_to = [1, 0, 1, "none"]', 'issued_to = [1, 0, 1, ""]')]),
    ],
    "03.2": [
        (
            "buffers with names that change places",
            [
                (
                    LOOP,
                    """\
    int read = 0, write = 1, next = 1;
    issue(0, read);
    while (next <= k_tiles) {
        wait_all(); __syncthreads();
        if (next < k_tiles) issue(next, write);
        multiply(read);
        int old = read; read = write; write = old;
        ++next;
    }
""",
                )
            ],
        ),
        (
            "the last turn behind the loop",
            [
                (
                    LOOP,
                    """\
    issue(0, 0);
    for (int k_tile = 1; k_tile < k_tiles; ++k_tile) {
        wait_all(); __syncthreads();
        issue(k_tile, k_tile & 1);
        multiply(1 - (k_tile & 1));
    }
    wait_all(); __syncthreads();
    multiply((k_tiles - 1) % 2);
""",
                )
            ],
        ),
        (
            "groups, issue before the wait, two barriers",
            [
                (
                    LOOP,
                    """\
    issue(0, 0); commit_group();
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        if (k_tile + 1 < k_tiles) issue(k_tile + 1, (k_tile + 1) % 2);
        commit_group();
        wait_group<1>();
        __syncthreads();
        multiply(k_tile % 2);
        __syncthreads();
    }
""",
                )
            ],
        ),
        (
            "two turns at a time",
            [
                (
                    LOOP,
                    """\
    issue(0, 0);
    for (int k_tile = 0; k_tile < k_tiles; k_tile += 2) {
        wait_all(); __syncthreads();
        if (k_tile + 1 < k_tiles) issue(k_tile + 1, 1);
        multiply(0);
        if (k_tile + 1 == k_tiles) break;
        wait_all(); __syncthreads();
        if (k_tile + 2 < k_tiles) issue(k_tile + 2, 0);
        multiply(1);
    }
""",
                )
            ],
        ),
    ],
    "03.3": [
        (
            "the copy first, one load for all",
            [
                (
                    BLOCKS,
                    """\
if (k == 0 && k_tile + 1 < k_tiles) issue(k_tile + 1, (k_tile + 1) % 2);
            bool last = k == TK - 1;
            if (last) { wait_all(); __syncthreads(); }
            if (!last || k_tile + 1 < k_tiles) load((k + 1) % TK, (k_tile + last) % 2);
            multiply(k);
""",
                )
            ],
        ),
        (
            "the wait three k-blocks early",
            [
                (COMPLETE, "if (k == TK - 3) wait_all();\n            if (k == TK - 1) __syncthreads();\n"),
                ("if (k == 0 &&", "if (k == 1 &&"),
            ],
        ),
        (
            "the last k-tile loads from itself",
            [
                (
                    COMPLETE + LOAD_NEXT,
                    """\
if (k + 1 == TK) { wait_all(); __syncthreads(); }
            int next = k_tile + 1 < k_tiles ? (k_tile + 1) % 2 : k_tile % 2;
            load((k + 1) % TK, k + 1 < TK ? k_tile % 2 : next);
""",
                )
            ],
        ),
    ],
    "03.4": [
        (
            "in dynamic shared memory",
            [
                (SHARED, "    TileType* smem_buffer = (TileType*)smem;"),
                ("extern __shared__ uint8_t", "extern __shared__ __align__(16) uint8_t"),
            ],
        ),
        (
            "the barrier behind the prologue",
            [(LAST_BARRIER, ""), ("    // Mainloop\n", "    __syncthreads();\n    // Mainloop\n")],
        ),
        (
            "one barrier in each turn",
            [
                (LOAD_TILE + "\n        __syncthreads();\n", "        __syncthreads();\n" + LOAD_TILE),
                (COMPUTE + "\n        __syncthreads();\n", COMPUTE),
            ],
        ),
    ],
    "03.5": [
        (
            "two copies of 4 bytes",
            [
                ("int i = x; i < TM; i += 32", "int i = 2 * x; i < TM; i += 64"),
                (
                    "copy_async<4>(&As[buffer][y][i], &A[i + (k_tile * TK + y) * M]);",
                    "for (int e = i; e < i + 2; ++e) copy_async<4>(&As[buffer][y][e], &A[e + (k_tile * TK + y) * M]);",
                ),
                (
                    "copy_async<4>(&Bs[buffer][y][i], &B[i + (k_tile * TK + y) * N]);",
                    "for (int e = i; e < i + 2; ++e) copy_async<4>(&Bs[buffer][y][e], &B[e + (k_tile * TK + y) * N]);",
                ),
            ],
        ),
        (
            "four turns",
            [
                (
                    "for (int i = x; i < TM; i += 32) {",
                    "for (int turn = 0; turn < 4; ++turn) { int i = x + 32 * turn;",
                )
            ],
        ),
        (
            "all threads, column by column",
            [
                (
                    "for (int i = x; i < TM; i += 32) {",
                    "for (int t = threadIdx.x; t < TM * TK; t += 256) { int i = t % TM, y = t / TM;",
                )
            ],
        ),
    ],
    "03.6": [
        (
            "the prologue to buffer 1 - write",
            [
                (OTHER_BUFFER, ""),
                (
                    "    int write = 0;\n    copy_tile<THREADS>(As[write], A, M);\n"
                    "    copy_tile<THREADS>(Bs[write], B, N);\n",
                    "    int write = 1;\n    copy_tile<THREADS>(As[1 - write], A, M);\n"
                    "    copy_tile<THREADS>(Bs[1 - write], B, N);\n",
                ),
            ],
        ),
        (
            "buffers by the number of the k-tile",
            [
                (OTHER_BUFFER, ""),
                ("int read = 1 - write;", "write = k_tile % 2; int read = 1 - write;"),
                (
                    "    __syncthreads();\n    multiply",
                    "    write = K / TK % 2;\n    __syncthreads();\n    multiply",
                ),
            ],
        ),
        (
            "the math before the copy",
            [
                ("        multiply(acc, As[read], Bs[read], m, n);                 // this one\n", ""),
                (
                    "        copy_tile<THREADS>(As[write], A + k_tile",
                    "        multiply(acc, As[read], Bs[read], m, n);\n"
                    "        copy_tile<THREADS>(As[write], A + k_tile",
                ),
            ],
        ),
    ],
    "03.7": [
        (
            "one more barrier",
            [("        stage = 1 - stage;", "        __syncthreads();\n        stage = 1 - stage;")],
        ),
        (
            "no stage",
            [
                ("As[1 - stage]", "As[(k_tile + 1) % 2]"),
                ("Bs[1 - stage]", "Bs[(k_tile + 1) % 2]"),
                ("As[stage]", "As[k_tile % 2]"),
                ("Bs[stage]", "Bs[k_tile % 2]"),
            ],
        ),
        (
            "the math before the copy",
            [
                ("        multiply(acc, As[stage], Bs[stage], m, n);\n", ""),
                (
                    "        if (k_tile + 1",
                    "        multiply(acc, As[stage], Bs[stage], m, n);\n        if (k_tile + 1",
                ),
            ],
        ),
    ],
}

WRONG_ANSWERS = {
    "03.1": [
        ("the same k-tile", [("issued = [1, 2, 3,", "issued = [0, 1, 2,")], "the k-tile after the one"),
        ("a copy in the last turn", [('[1, 2, 3, "none"]', "[1, 2, 3, 4]")], "if there is one"),
        (
            "always buffer 0",
            [("multiplied_from = [0, 1, 0, 1]", "multiplied_from = [0, 0, 0, 0]")],
            "change places",
        ),
        (
            "buffers counted on",
            [("multiplied_from = [0, 1, 0, 1]", "multiplied_from = [0, 1, 2, 3]")],
            "change places",
        ),
        (
            "to the buffer that is read",
            [("issued_to = [1, 0, 1,", "issued_to = [0, 1, 0,")],
            "not read in this turn",
        ),
        ("three turns", [("multiplied_from = [0, 1, 0, 1]", "multiplied_from = [0, 1, 0]")], "four turns"),
        ("a number", [("multiplied_from = [0, 1, 0, 1]", "multiplied_from = 1")], "four turns"),
        (
            "words",
            [("multiplied_from = [0, 1, 0, 1]", 'multiplied_from = ["0", "1", "0", "1"]')],
            "without quotes",
        ),
        (
            "nothing to multiply",
            [("multiplied_from = [0,", "multiplied_from = [None,")],
            "k-tile 0 lies in buffer 0",
        ),
    ],
    "03.2": [
        ("no wait", [("        wait_all();\n", "")], "no thread waits for its own copies"),
        ("no barrier", [("        __syncthreads();\n", "")], "all parts have arrived"),
        (
            "barrier before the wait",
            [(WAIT_AND_BARRIER, "        __syncthreads();\n        wait_all();\n")],
            "first the wait, then the barrier",
        ),
        (
            "issued before the barrier",
            [("        __syncthreads();\n" + ISSUE_NEXT, ISSUE_NEXT + "        __syncthreads();\n")],
            "issue it after the barrier",
        ),
        ("no guard", [("if (k_tile + 1 < k_tiles) ", "")], "no next one to copy"),
        ("reads the other buffer", [("multiply(k_tile % 2)", "multiply((k_tile + 1) % 2)")], "on its way to"),
        (
            "same k-tile again",
            [("issue(k_tile + 1, (k_tile + 1) % 2)", "issue(k_tile, k_tile % 2)")],
            "the buffer that is being multiplied",
        ),
        (
            "to the buffer that is read",
            [("issue(k_tile + 1, (k_tile + 1) % 2)", "issue(k_tile + 1, k_tile % 2)")],
            "the buffer that is being multiplied",
        ),
        (
            "in turn",
            [
                (
                    LOOP,
                    HEAD_OF_LOOP
                    + "        issue(k_tile, k_tile % 2);\n"
                    + WAIT_AND_BARRIER
                    + MULTIPLY
                    + "    }\n",
                )
            ],
            "before the math of this one",
        ),
        (
            "issued behind the math",
            [(ISSUE_NEXT + MULTIPLY, MULTIPLY + ISSUE_NEXT)],
            "before the math of this one",
        ),
        ("no prologue", [(PROLOGUE, "")], "Who brings k-tile 0"),
        ("nothing issued in the loop", [(ISSUE_NEXT, "")], "issue it in the loop"),
        (
            "wait and barrier in the if",
            [
                (
                    WAIT_AND_BARRIER + ISSUE_NEXT,
                    "        if (k_tile + 1 < k_tiles) { wait_all(); __syncthreads();"
                    " issue(k_tile + 1, (k_tile + 1) % 2); }\n",
                )
            ],
            "only the issue belongs into the if",
        ),
        (
            "groups that nobody closes",
            [
                (
                    WAIT_AND_BARRIER + ISSUE_NEXT,
                    ISSUE_NEXT + "        wait_group<1>();\n        __syncthreads();\n",
                )
            ],
            "commit_group has closed",
        ),
        (
            "a wait that leaves the newest group",
            [("        wait_all();\n", "        commit_group();\n        wait_group<1>();\n")],
            "lets the n newest be late",
        ),
        (
            "a buffer for every k-tile",
            [("(k_tile + 1) % 2", "k_tile + 1"), ("multiply(k_tile % 2)", "multiply(k_tile)")],
            "only buffers 0 and 1",
        ),
        (
            "the k-tile after the next one",
            [("k_tile + 1 < k_tiles) issue(k_tile + 1,", "k_tile + 2 < k_tiles) issue(k_tile + 2,")],
            "k-tile t + 1 is on its way",
        ),
        (
            "a barrier for half of the threads",
            [("        __syncthreads();", "        if (threadIdx.x < 128) __syncthreads();")],
            "move it out of the if",
        ),
    ],
    "03.3": [
        (
            "no wait",
            [("wait_all(); __syncthreads(); }", "__syncthreads(); }")],
            "must wait for the next k-tile",
        ),
        ("no barrier", [("wait_all(); __syncthreads(); }", "wait_all(); }")], "all parts have arrived"),
        (
            "the wait in the next turn",
            [("k == TK - 1 && k_tile + 1 < k_tiles", "k == 0 && k_tile > 0")],
            "At which k-block",
        ),
        ("nothing issued", [(ISSUE_EARLY, "")], "issue it in the loop"),
        (
            "a k-block after the last one",
            [(LOAD_NEXT, "            load(k + 1, k_tile % 2);\n")],
            "What comes after the last k-block",
        ),
        (
            "a wait in every k-block",
            [("if (k == TK - 1 && k_tile + 1 < k_tiles) { wait", "{ wait")],
            "only before the last one",
        ),
        ("always the old buffer", [("load(0, (k_tile + 1) % 2)", "load(0, k_tile % 2)")], "After which load"),
        ("no guard of the copy", [("k == 0 && k_tile + 1 < k_tiles", "k == 0")], "no next one to copy"),
        (
            "not ahead",
            [
                (
                    BLOCKS,
                    """\
if (k == 0 && k_tile > 0) { wait_all(); __syncthreads(); }
            if (k == 0 && k_tile + 1 < k_tiles) issue(k_tile + 1, (k_tile + 1) % 2);
            load(k, k_tile % 2);
            multiply(k);
""",
                )
            ],
            "k-block k + 1 is loaded",
        ),
        (
            "the wait behind the math",
            [(BLOCKS, "multiply(k);\n            " + COMPLETE + ISSUE_EARLY + LOAD_NEXT)],
            "k-block k + 1 is loaded",
        ),
        (
            "multiplies the next one",
            [("            multiply(k);", "            multiply(k + 1);")],
            "one k-block earlier",
        ),
        ("a copy in every k-block", [("k == 0 && k_tile", "k_tile")], "issue it once"),
        (
            "the copy in the last k-block",
            [("if (k == 0 && k_tile", "if (k == TK - 1 && k_tile")],
            "early in the k-tile",
        ),
        (
            "to the buffer that is read",
            [("issue(k_tile + 1, (k_tile + 1) % 2)", "issue(k_tile + 1, k_tile % 2)")],
            "to the other buffer",
        ),
        ("the barrier in mid-tile", [("k == TK - 1 &&", "k == TK / 2 &&")], "After which load"),
    ],
    "03.4": [
        ("only __shared__", [(LAST_BARRIER, "")], "the loop never runs"),
        ("only a barrier", [(SHARED, "    TileType smem_buffer[2];")], "belongs to the block"),
        ("static", [(SHARED, "    static TileType smem_buffer[2];")], "lies in global memory"),
        (
            "no first barrier in the loop",
            [(LOAD_TILE + "\n        __syncthreads();\n", LOAD_TILE)],
            "between loading a tile and computing",
        ),
        (
            "no second barrier in the loop",
            [(COMPUTE + "\n        __syncthreads();\n", COMPUTE)],
            "a fast warp loads",
        ),
        (
            "a barrier behind the end",
            [(LAST_BARRIER, ""), ("    out[threadIdx.x]", "    __syncthreads();\n    out[threadIdx.x]")],
            "the loop never runs",
        ),
        ("one buffer", [("smem_buffer[2]", "smem_buffer[1]")], "two tiles of 64 floats"),
        (
            "computes with the new tile",
            [("int consume_stage = 0", "int consume_stage = 1")],
            "follow the two stages",
        ),
        ("loop from 0", [("int k = 1;", "int k = 0;")], "follow the two stages"),
        ("one turn too many", [("k < num_tiles", "k <= num_tiles")], "no next one to load"),
        (
            "a barrier for half of the threads",
            [(LAST_BARRIER, "    if (threadIdx.x < 32) __syncthreads();\n")],
            "move it out of the if",
        ),
    ],
    "03.5": [
        (
            "plain copies",
            [
                (
                    "copy_async<4>(&As[buffer][y][i], &A[i + (k_tile * TK + y) * M])",
                    "As[buffer][y][i] = A[i + (k_tile * TK + y) * M]",
                ),
                (
                    "copy_async<4>(&Bs[buffer][y][i], &B[i + (k_tile * TK + y) * N])",
                    "Bs[buffer][y][i] = B[i + (k_tile * TK + y) * N]",
                ),
            ],
            "let the copy be asynchronous",
        ),
        ("padding of 2 again", [("PAD = 1", "PAD = 2")], "keep PAD = 1"),
        ("only A repaired", [("copy_async<4>(&Bs", "copy_async<8>(&Bs")], "How many bytes"),
        ("only B repaired", [("copy_async<4>(&As", "copy_async<8>(&As")], "How many bytes"),
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
    "03.6": [
        (
            "reads what it writes",
            [(OTHER_BUFFER, ""), ("int read = 1 - write;", "int read = write;")],
            "name the same buffer",
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
        (
            "copies to the buffer that is read",
            [("(As[write], A + k", "(As[read], A + k"), ("(Bs[write], B + k", "(Bs[read], B + k")],
            "should be read now",
        ),
        ("no last barrier", [("    __syncthreads();\n    multiply", "    multiply")], "must stand between"),
        ("no barrier in the loop", [("        __syncthreads();\n", "")], "must stand between"),
    ],
    "03.7": [
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
        (
            "multiplies the other buffer",
            [("multiply(acc, As[stage], Bs[stage]", "multiply(acc, As[1 - stage], Bs[1 - stage]")],
            "",
        ),
    ],
}
