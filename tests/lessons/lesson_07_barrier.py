"""Lesson 07, sittings 1 and 2: mbarrier, boxes, wgmma."""

NOTEBOOK = "07_hopper"
DTYPE = "float16"

FENCE = "        wgmma_fence();\n"
COMMIT = "        wgmma_commit();\n"
WAIT = "        wgmma_wait<0>();\n"
WRONG = {
    "one_slot": [
        ("parity 0 in every turn", "wait(&s.full, k_tile % 2)", "wait(&s.full, 0)", "unwaited-copy"),
        ("bytes of A only", "expect(&s.full, (TM + TN)", "expect(&s.full, (TM)", "unwaited-copy|deadlock"),
        ("two arrivals", "init(&s.full, 1)", "init(&s.full, 2)", "deadlock"),
        (
            "no barrier behind the math",
            "__syncthreads();                       TRACE",
            "TRACE",
            "write-after-read",
        ),
        ("no wait for the math", WAIT, "", "write-after-read|unwaited-wgmma"),
        ("no commit", COMMIT, "", "write-after-read|unwaited-wgmma"),
        ("no fence", FENCE, "", "missing-wgmma-fence"),
        ("the same k-step of B", "b + 2 * k", "b", "wrong"),
        ("the same rows for both warpgroups", "s.A + mine * TK", "s.A", "wrong"),
    ],
}


EXPECT = "mbarrier_expect(&full, sizeof xs + sizeof ys);"
ONE = "        if (threadIdx.x == 0) {\n            mbarrier_expect"
ONE_THREAD = """\
        if (threadIdx.x == 0) {
            mbarrier_expect(&full, sizeof xs + sizeof ys);
            load_bytes(xs, x + p * PIECE, sizeof xs, &full);
            load_bytes(ys, y + p * PIECE, sizeof ys, &full);
        }
"""
TWO_THREADS = """\
        if (threadIdx.x < 2) {
            mbarrier_expect(&full, sizeof xs);
            if (threadIdx.x) load_bytes(xs, x + p * PIECE, sizeof xs, &full);
            else load_bytes(ys, y + p * PIECE, sizeof ys, &full);
        }
"""
SIXTEEN_BYTES = """\
        int i = threadIdx.x * 4;
        mbarrier_expect(&full, 32);
        load_bytes(xs + i, x + p * PIECE + i, 16, &full);
        load_bytes(ys + i, y + p * PIECE + i, 16, &full);
"""
X_ALONE = """\
        if (threadIdx.x == 0) {
            mbarrier_expect(&full, sizeof xs);
            load_bytes(xs, x + p * PIECE, sizeof xs, &full);
        }
"""
Y_BY_THREADS = """\
        for (int i = threadIdx.x; i < PIECE; i += blockDim.x) ys[i] = y[p * PIECE + i];
        __syncthreads();
"""
BY_THREADS = (
    "        for (int i = threadIdx.x; i < PIECE; i += blockDim.x) xs[i] = x[p * PIECE + i];\n" + Y_BY_THREADS
)
NEVER = "        if (pieces < 0) load_bytes(xs, x, sizeof xs, &full);\n"
HALVES = """\
            load_bytes(ys, y + p * PIECE, sizeof ys / 2, &full);
            load_bytes(ys + PIECE / 2, y + p * PIECE + PIECE / 2, sizeof ys / 2, &full);
"""
LOOP = "    for (int p = 0;"
READY = "        mbarrier_wait(&full, p % 2);\n"
ONE_AFTER_THE_OTHER = (
    X_ALONE
    + READY.replace("p % 2", "0")
    + X_ALONE.replace("xs", "ys").replace("x + p", "y + p")
    + READY.replace("p % 2", "1")
)
ONE_WAITS = f"        if (threadIdx.x == 0) {READY.strip()}\n"
ALL_ARRIVE = f"        else mbarrier_arrive(&full);\n{READY}"
MADE = """\
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        mbarrier_init_done();
    }
    __syncthreads();
"""
LEFT_OVER = """\
    }
    if (threadIdx.x == 0) {
        mbarrier_expect(&full, sizeof xs);
        load_bytes(xs, x, sizeof xs, &full);
    }
}"""
MADE_ANEW = [(MADE, ""), (ONE_THREAD, MADE + ONE_THREAD), ("p % 2);", "0);")]
AGAIN = """\
        if (p && threadIdx.x == 0) mbarrier_init(&full, 1);
        __syncthreads();
"""
PARITY = [(LOOP, f"    int parity = 0;\n{LOOP}"), ("p % 2);", "parity);\n        parity ^= 1;")]

STEP = "a + 2 * k, b + 2 * k"
MATH = "wgmma_m64n256k16(d, a + 2 * k, b + 2 * k, k_tile > 0 || k > 0);\n"
MOVING = "{ wgmma_m64n256k16(d, a, b, k_tile > 0 || k > 0); a += 2; b += 2; }\n"
ALL_STEPS = f"        for (int k = 0; k < TK / 16; ++k)\n            {MATH}{COMMIT}"
HELPER = "        start_k_tile(d, s.A, s.B, k_tile > 0);\n"
RIGHT_ANSWERS = {
    "07.1": [
        (
            "each thread copies 16 bytes",
            [("init(&full, 1)", "init(&full, 128)"), (ONE_THREAD, SIXTEEN_BYTES)],
        ),
        ("two threads copy", [("init(&full, 1)", "init(&full, 2)"), (ONE_THREAD, TWO_THREADS)]),
        ("all arrive", [("init(&full, 1)", "init(&full, 128)"), (READY, ALL_ARRIVE)]),
        ("in halves", [("            load_bytes(ys, y + p * PIECE, sizeof ys, &full);\n", HALVES)]),
        ("the last thread copies", [("threadIdx.x == 0", "threadIdx.x == 127")]),
        ("a parity that turns", PARITY),
    ],
    "07.2": [
        ("descriptors that move", [(MATH, MOVING)]),
        ("a group for each", [(MATH + COMMIT, f"{{ {MATH.strip()} {COMMIT.strip()} }}\n")]),
        ("the header's function", [(ALL_STEPS, HELPER)]),
        (
            "waits for each",
            [(MATH + COMMIT + WAIT, f"{{ {MATH.strip()} {COMMIT.strip()} {WAIT.strip()} }}\n")],
        ),
    ],
}
WRONG_ANSWERS = {
    "07.1": [
        ("parity 0", [("p % 2);\n", "0);\n")], "Which parity has the phase"),
        (
            "ends after 20 pieces",
            [("p < pieces; ++p", "p < min(pieces, 20); ++p")],
            "does a number stand where `pieces` should",
        ),
        ("made anew for each piece", MADE_ANEW, "nobody resets a barrier"),
        (
            "made anew from the second piece on",
            [(ONE_THREAD, AGAIN + ONE_THREAD), ("p % 2);", "0);")],
            "nobody resets a barrier",
        ),
        ("the phase for its parity", [("p % 2);\n", "p);\n")], "which parity, 0 or 1"),
        ("the other parity", [("p % 2);\n", "1 - p % 2);\n")], "Which parity has the phase"),
        ("bytes of one array", [("sizeof xs + sizeof ys", "sizeof xs")], "all bytes of both copies"),
        ("floats for bytes", [("sizeof xs + sizeof ys", "2 * PIECE")], "compare the bytes"),
        ("half a piece", [("sizeof ys, &full);", "sizeof ys / 2, &full);")], "compare the bytes"),
        ("nothing expected", [(f"            {EXPECT}\n", "")], "arrivals that never come"),
        ("no bytes expected", [(EXPECT, "mbarrier_arrive(&full);")], "all bytes of both copies"),
        (
            "floats for bytes everywhere",
            [
                (
                    ONE_THREAD,
                    ONE_THREAD.replace("sizeof xs + sizeof ys", "2 * PIECE")
                    .replace("sizeof xs", "PIECE")
                    .replace("sizeof ys", "PIECE"),
                )
            ],
            "Sizes are counted in bytes",
        ),
        ("one copy after the other", [(ONE_THREAD + READY, ONE_AFTER_THE_OTHER)], "a second trip to memory"),
        ("an arrival of each thread", [("init(&full, 1)", "init(&full, 128)")], "arrivals that never come"),
        ("no wait", [(READY, "")], "a wait in every turn"),
        ("one thread waits", [(READY, ONE_WAITS)], "or meet one that has"),
        (
            "made by all threads",
            [("    if (threadIdx.x == 0) {\n        mbarrier_init(", "    {\n        mbarrier_init(")],
            "one thread makes the barrier",
        ),
        ("both to one place", [("load_bytes(ys, y +", "load_bytes(xs, y +")], "where does each copy go"),
        (
            "known to nobody",
            [("    }\n    __syncthreads();\n", "    }\n")],
            "until then they do not know of it",
        ),
        (
            "all threads copy",
            [(ONE, ONE.replace("if (threadIdx.x == 0) ", ""))],
            "more arrivals than it counts",
        ),
        ("the first piece always", [("x + p * PIECE", "x")], "which piece of x and of y"),
        ("an offset in bytes", [("y + p * PIECE", "y + p * sizeof ys")], "where does piece p begin"),
        ("no barrier made", [("        mbarrier_init(&full, 1);\n", "")], "nobody has made the barrier"),
        ("no copy at all", [(ONE_THREAD + READY, BY_THREADS)], "each piece of `x` and of `y` comes by"),
        (
            "a copy that never starts",
            [(ONE_THREAD + READY, NEVER + BY_THREADS)],
            "each piece of `x` and of `y` comes by",
        ),
        (
            "y by threads",
            [(ONE_THREAD, X_ALONE), (READY, READY + Y_BY_THREADS)],
            "each piece of `x` and of `y` comes by",
        ),
        ("y read twice", [("- ys[", "- y[p * PIECE + ")], "threads read `xs` and `ys` alone"),
        ("one copy more, behind the loop", [("    }\n}", LEFT_OVER)], "nobody leaves before"),
        ("copied once", [(ONE, ONE.replace("== 0", "== 0 && p == 0"))], "arrivals that never come"),
    ],
    "07.2": [
        ("only the order mended", [(STEP, "a + k, b + k")], "in the unit of a descriptor"),
        ("only the step mended", [(COMMIT + WAIT, WAIT + COMMIT)], "which ones are closed"),
        ("no commit", [(COMMIT, "")], "which ones are closed"),
        ("one group may be left", [("wgmma_wait<0>", "wgmma_wait<1>")], "which ones are closed"),
        ("the step of A only", [("b + 2 * k", "b + k")], "in the unit of a descriptor"),
        ("a step in bytes", [(STEP, "a + 32 * k, b + 32 * k")], "How many are 16 halves"),
        ("a step in halves", [(STEP, "a + 16 * k, b + 16 * k")], "How many are 16 halves"),
        (
            "k-tiles of 16",
            [("k_tile < K / TK", "k_tile < K / 16")],
            "4 k-tiles are copied, 3 of them from behind",
        ),
        ("one thread waits", [(WAIT, f"if (threadIdx.x == 0) {WAIT}")], "for all threads of the warpgroup"),
        ("each k-tile begins anew", [("k_tile > 0 || k > 0", "k > 0")], "its last argument says so"),
        ("each k-step begins anew", [("k_tile > 0 || k > 0", "0")], "its last argument says so"),
        (
            "one wait behind the loop",
            [(WAIT, ""), ("    store_sums", f"{WAIT}    store_sums")],
            "is there a wait for them in every turn",
        ),
        (
            "a phase that never ends",
            [("expect(&s.full, (TM", "expect(&s.full, (2 * TM")],
            "the barrier and its bytes were right",
        ),
        ("adds to sums that nobody has set", [("k_tile > 0 || k > 0", "1")], "must set the sums"),
        ("A twice", [("matrix_descriptor(s.B)", "matrix_descriptor(s.A)")], "of A and of B"),
        ("no wait at all", [(WAIT, "")], "is there a wait for them in every turn"),
        (
            "returns with many k-tiles",
            [("    float d[128];", "    float d[128];\n    if (K > 512) return;")],
            "with fewer k-tiles it is right",
        ),
        (
            "returns in all blocks but a row of them",
            [("    float d[128];", "    float d[128];\n    if (blockIdx.y > 0) return;")],
            "with fewer blocks it is right",
        ),
        (
            "returns in a far block",
            [("    float d[128];", "    float d[128];\n    if (blockIdx.x > 5) return;")],
            "with fewer blocks it is right",
        ),
        ("the fence behind the math", [(FENCE, ""), (COMMIT, FENCE + COMMIT)], "before the first wgmma"),
        (
            "one warp waits",
            [("        mbarrier_wait(&s.full", "        if (threadIdx.x < 32) mbarrier_wait(&s.full")],
            "all 128 threads waited",
        ),
    ],
}
