"""Lesson 05."""

from tests.lessons import solved_function

NOTEBOOK = "05_three_stage"
OTHERS: dict = {}
DTYPE = "float16"
RING = [
    (
        "wait for one group less",
        "wait_group<STAGES - 2>();    TRACE_END(wait, k_tile",
        "wait_group<STAGES - 1>();    TRACE_END(wait, k_tile",
        "unwaited-copy",
    ),
    (
        "no wait",
        "wait_group<STAGES - 2>();    TRACE_END(wait, k_tile",
        "TRACE_END(wait, k_tile",
        "unwaited-copy",
    ),
    (
        "no barrier in the loop",
        "__syncthreads();    TRACE_END(barrier, k_tile",
        "TRACE_END(barrier, k_tile",
        "read-after-write|unwaited-copy|write-after-read",
    ),
    ("no commit", "commit_group();", "", "unwaited-copy"),
    (
        "prologue of one k-tile less",
        "k_tile < STAGES - 1; ++k_tile) issue",
        "k_tile < STAGES - 2; ++k_tile) issue",
        "uninitialised-read|unwaited-copy|wrong",
    ),
    (
        "no group behind the end",
        "        }\n        commit_group();  ",
        "            commit_group();\n        }  ",
        "unwaited-copy",
    ),
    (
        "issue one k-tile too far",
        "issue(k_tile + STAGES - 1);",
        "issue(k_tile + STAGES);",
        "write-after-read|uninitialised|wrong|unwaited",
    ),
    (
        "store before all have read",
        "__syncthreads();                                  // all have read the last slot",
        "",
        "write-after-read",
    ),
]
WRONG = {
    "ring": RING,
    "three_stage": [
        *RING[:2],
        ("sets mixed up", "multiply(sum, a[1], b[1]);", "multiply(sum, a[0], b[0]);", "wrong"),
        ("next step of the same slot", "load(min(k_tile + 1, K / TK - 1), 0);", "load(k_tile, 0);", "wrong"),
        (
            "beyond the last k-tile",
            "load(min(k_tile + 1, K / TK - 1), 0);",
            "load(k_tile + 1, 0);",
            "uninitialised-read|unwaited",
        ),
        ("first fragments not loaded", "    load(0, 0);\n", "", "wrong|NaN"),
        (
            "no barrier in the prologue",
            "__syncthreads();    TRACE_END(barrier, 0);",
            "TRACE_END(barrier, 0);",
            "read-after-write|unwaited-copy",
        ),
    ],
    "fastest": [
        (
            "moves on by one k-tile for each turn of several",
            "from[i] += STAGES * TK;",
            "from[i] += TK;",
            "wrong",
        ),
        (
            "the same slot again",
            "next = (slot + 1) % STAGES * SLOT * 2;",
            "next = slot * SLOT * 2;",
            "wrong",
        ),
        (
            "copies into the slot that is read",
            "slots + ahead % STAGES",
            "slots + (ahead + 1) % STAGES",
            "write-after-read|unwaited|wrong",
        ),
        ("one k-tile too far", "from[i] + ahead * TK", "from[i] + (ahead + 1) * TK", "wrong|out-of-bounds"),
        (
            "copies behind the end",
            "other, turn + other < k_tiles)",
            "other, true)",
            "out-of-bounds|write-after|wrong",
        ),
        ("fragments of B too early", "if (t % 8 == 7)", "if (t % 8 == 3)", "wrong"),
        ("sets of A mixed up", "a[step % 2][i], b", "a[ahead % 2][i], b", "wrong"),
    ],
}
GAPS = ["05.1"]
_PROLOGUE = """\
    for (int k_tile = 0; k_tile < STAGES - 1; ++k_tile) {
        if (k_tile < k_tiles) start_copy(k_tile, k_tile);
        commit_group();
    }
"""
_TURN = """\
        int ahead = k_tile + STAGES - 1;
        wait_group<STAGES - 2>();
        __syncthreads();
        if (ahead < k_tiles) start_copy(ahead, ahead % STAGES);
        commit_group();
        compute(k_tile % STAGES);
"""
_WARM = "for (int k_tile = 0; k_tile < 3; ++k_tile) issue(k_tile);"
_LOOP = """\
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
_SYNC, _OLDEST = _LOOP.splitlines(True)[6:8]
_SLOTS = "ceil(latency / math) + 1 + issue_then_wait"

WRONG_ANSWERS = {
    "05.1": [
        ("waits for one more", [("<2>", "<1>")], "how many groups may the wait leave"),
        ("waits for all", [("<2>", "<0>")], "how many groups may the wait leave"),
        ("waits for nothing", [("<2>", "<3>")], "newer than group 0"),
        ("two k-tiles in the prologue", [("k_tile < 3;", "k_tile < 2;")], "has the prologue issued"),
        ("four k-tiles in the prologue", [("k_tile < 3;", "k_tile < 4;")], "does the prologue do it as well"),
        ("the first k-tile three times", [(") issue(k_tile);", ") issue(0);")], "has the prologue issued"),
        ("from k-tile 1 on", [(") issue(k_tile);", ") issue(k_tile + 1);")], "must the prologue have issued"),
        ("no prologue", [(f"    {_WARM}\n", "")], "must the prologue have issued"),
        ("only the first", [(_WARM, "issue(0);")], "has the prologue issued"),
    ],
    "05.2": [
        (
            "waits for all",
            [("wait_group<STAGES - 2>", "wait_group<0>")],
            "how many groups may the wait leave",
        ),
        ("a count for three", [("wait_group<STAGES - 2>", "wait_group<1>")], "made from STAGES"),
        ("a distance for three", [("k_tile + STAGES - 1", "k_tile + 2")], "made from STAGES"),
        (
            "slots for three",
            [("ahead % STAGES", "ahead % 3"), ("k_tile % STAGES", "k_tile % 3")],
            "made from STAGES",
        ),
        (
            "a prologue for three",
            [("k_tile < STAGES - 1;", "k_tile < 2;")],
            "does the prologue do it as well",
        ),
        (
            "waits for one less",
            [("wait_group<STAGES - 2>", "wait_group<STAGES - 1>")],
            "Commit in every turn",
        ),
        (
            "no commit behind the last k-tile",
            [
                (
                    "        if (ahead < k_tiles) start_copy(ahead, ahead % STAGES);\n        commit_group();",
                    "        if (ahead < k_tiles) { start_copy(ahead, ahead % STAGES); commit_group(); }",
                )
            ],
            "Commit in every turn",
        ),
        (
            "no commit in the turn",
            [("        commit_group();\n        compute", "        compute")],
            "Commit in every turn",
        ),
        (
            "one commit for the prologue",
            [("        commit_group();\n    }\n", "    }\n    commit_group();\n")],
            "Commit in every turn",
        ),
        (
            "no barrier",
            [("        __syncthreads();\n        if", "        if")],
            "must follow",
        ),
        (
            "barrier before the wait",
            [
                (
                    "        wait_group<STAGES - 2>();\n        __syncthreads();",
                    "        __syncthreads();\n        wait_group<STAGES - 2>();",
                )
            ],
            "a barrier must follow",
        ),
        (
            "copies before the barrier",
            [
                (
                    _TURN,
                    _TURN.replace(
                        "        wait_group<STAGES - 2>();\n        __syncthreads();\n", ""
                    ).replace(
                        "        compute",
                        "        wait_group<STAGES - 1>();\n        __syncthreads();\n        compute",
                    ),
                )
            ],
            "after which line is that sure",
        ),
        (
            "copies behind the math",
            [
                (
                    _TURN,
                    _TURN.replace("        compute(k_tile % STAGES);\n", "").replace(
                        "        if (ahead", "        compute(k_tile % STAGES);\n        if (ahead"
                    ),
                )
            ],
            "before the math",
        ),
        ("no guard in the prologue", [("if (k_tile < k_tiles) start", "start")], "fewer k-tiles than slots"),
        ("no guard in the turn", [("if (ahead < k_tiles) start", "start")], "a k-tile that exists"),
        ("the slot behind", [("ahead % STAGES);", "(ahead + 1) % STAGES);")], "agree on the slot"),
        ("the same slot", [("compute(k_tile % STAGES)", "compute(ahead % STAGES)")], "agree on the slot"),
        ("no prologue", [(_PROLOGUE, "")], "have been issued"),
        ("an endless prologue", [("++k_tile) {", "k_tile += 0) {")], "the loop never ends"),
        (
            "an endless loop",
            [
                (
                    "        compute(k_tile % STAGES);\n",
                    "        compute(k_tile % STAGES);\n        k_tile -= k_tile == 0;\n",
                )
            ],
            "never ends",
        ),
        (
            "a typo",
            [("commit_group();\n        compute", "commit_groups();\n        compute")],
            "does not compile",
        ),
        ("another number of slots", [("STAGES = 3", "STAGES = 4")], ""),
    ],
    "05.3": [
        (
            "only the loop repaired",
            [
                ("compute(stage);", "compute((stage + 2) % 3);"),
                ("compute((stage + 1) % 3);", "compute((stage + 1) % 3);"),
            ],
            "k-tile",
        ),
        (
            "one k-tile left out",
            [("    int stage = 0;", "    if (k_tiles < 2) return;\n    int stage = 0;")],
            "twice, or never",
        ),
        (
            "only the epilogue repaired",
            [("(stage + 2) % 3, consume = stage", "stage, consume = (stage + 2) % 3")],
            "nothing has filled",
        ),
        ("only consume repaired", [("produce = (stage + 2) % 3", "produce = stage")], "slot"),
        ("only produce repaired", [("consume = stage", "consume = (stage + 2) % 3")], "is overwritten"),
        ("the slot in the middle", [("produce = (stage + 2) % 3", "produce = (stage + 1) % 3")], "slot"),
        ("prologue not guarded", [("if (k_tiles > 1) load_tile", "load_tile")], "when there is only one"),
        ("epilogue not guarded", [("if (k_tiles > 1) compute", "compute")], "with 1 or 2 the loop"),
        (
            "no barrier in the loop",
            [("        __syncthreads();\n        compute(consume)", "        compute(consume)")],
            "",
        ),
        (
            "copies that nobody waits for",
            [("        wait_all();\n", "        commit_group();\n")],
            "does not wait for copies",
        ),
        (
            "barrier behind the math",
            [
                (_SYNC + _OLDEST, _OLDEST + _SYNC),
            ],
            "barrier must stand",
        ),
        (
            "no barrier in the epilogue",
            [
                (
                    "    __syncthreads();                                  // epilogue: the k-tiles that are left\n",
                    "",
                )
            ],
            "barrier must stand",
        ),
        (
            "the last two the wrong way round, counted from the end",
            [("compute(stage);", "compute(k_tiles % 3);")],
            "",
        ),
    ],
    "05.4": [
        ("no slot for the math", [(_SLOTS, "ceil(latency / math)")], "needs a slot, too"),
        ("no slot for the math, one for the order", [(" + 1 +", " +")], "needs a slot, too"),
        ("one order only", [(" + issue_then_wait", "")], "slots - 2"),
        ("the order gains a slot", [("+ issue_then_wait", "- issue_then_wait")], "needs one slot more"),
        ("multiplications only", [("2 * tile_m", "tile_m")], "two FLOP"),
        ("a step only", [("tile_k / 2730", "16 / 2730")], "whole k-tile"),
        ("rounded down", [("ceil(", "int(")], "rounded up"),
        (
            "rounded down, and one more",
            [("ceil(latency / math) +", "int(latency / math) + 1 +")],
            "what is left over",
        ),
        ("not rounded", [("ceil(latency / math)", "latency / math")], "round up"),
        ("upside down", [("latency / math", "math / latency")], "S - 1 times"),
        ("a typo", [("tile_n *", "tilen *")], "three whole numbers"),
        ("a text", [("return ceil", "return 'x' or ceil")], "return the number"),
    ],
}


RIGHT_ANSWERS = {
    "05.1": [
        ("line by line", [(_WARM, "issue(0); issue(1); issue(2);")]),
        ("counted from one", [(_WARM, "for (int k_tile = 1; k_tile <= 3; ++k_tile) issue(k_tile - 1);")]),
        ("a while", [(_WARM, "int ahead = 0; while (ahead < 3) issue(ahead++);")]),
        ("the count computed", [("<2>", "<4 - 2>")]),
        ("waits for two only at the end", [("<2>();", "<2>(); if (k_tile + 1 == k_tiles) wait_group<0>();")]),
    ],
    "05.2": [
        (
            "all slots filled before the loop, and two barriers",
            [
                (_PROLOGUE, _PROLOGUE.replace("STAGES - 1", "STAGES")),
                (
                    _TURN,
                    """\
        wait_group<STAGES - 1>();
        __syncthreads();
        compute(k_tile % STAGES);
        __syncthreads();
        if (k_tile + STAGES < k_tiles) start_copy(k_tile + STAGES, k_tile % STAGES);
        commit_group();
""",
                ),
            ],
        ),
        (
            "two barriers, and the wait behind the copies",
            [
                (
                    _TURN,
                    _TURN.replace(
                        "        wait_group<STAGES - 2>();\n        __syncthreads();\n", ""
                    ).replace(
                        "        compute",
                        "        wait_group<STAGES - 1>();\n        __syncthreads();\n        compute",
                    )
                    + "        __syncthreads();\n",
                )
            ],
        ),
        (
            "no empty groups, and another wait at the end",
            [
                (
                    _PROLOGUE,
                    "    for (int k_tile = 0; k_tile < STAGES - 1 && k_tile < k_tiles; ++k_tile) {\n"
                    "        start_copy(k_tile, k_tile);\n        commit_group();\n    }\n",
                ),
                (
                    _TURN,
                    """\
        if (k_tile + STAGES - 1 <= k_tiles) wait_group<STAGES - 2>();
        else wait_all();
        __syncthreads();
        if (k_tile + STAGES - 1 < k_tiles) {
            start_copy(k_tile + STAGES - 1, (k_tile + STAGES - 1) % STAGES);
            commit_group();
        }
        compute(k_tile % STAGES);
""",
                ),
            ],
        ),
        (
            "slots that are counted",
            [
                (
                    _PROLOGUE,
                    "    int fill = 0, use = 0;\n    for (; fill < STAGES - 1; ++fill) {\n"
                    "        if (fill < k_tiles) start_copy(fill, fill);\n        commit_group();\n    }\n",
                ),
                (
                    _TURN,
                    """\
        wait_group<STAGES - 2>();
        __syncthreads();
        if (k_tile + STAGES - 1 < k_tiles) start_copy(k_tile + STAGES - 1, fill);
        commit_group();
        compute(use);
        fill = fill + 1 == STAGES ? 0 : fill + 1;
        use = use + 1 == STAGES ? 0 : use + 1;
""",
                ),
            ],
        ),
        (
            "a barrier more",
            [
                (
                    "        compute(k_tile % STAGES);\n",
                    "        compute(k_tile % STAGES);\n        __syncthreads();\n",
                )
            ],
        ),
        (
            "a lambda",
            [
                (
                    _PROLOGUE,
                    "    auto go = [&](int t) { if (t < k_tiles) start_copy(t, t % STAGES); commit_group(); };\n"
                    "    for (int t = 0; t < STAGES - 1; ++t) go(t);\n",
                ),
                (
                    "        if (ahead < k_tiles) start_copy(ahead, ahead % STAGES);\n        commit_group();\n",
                    "        go(ahead);\n",
                ),
            ],
        ),
    ],
    "05.3": [
        (
            "one loop over all k-tiles",
            [
                (
                    _LOOP,
                    """\
    load_tile(0, 0);
    if (k_tiles > 1) load_tile(1, 1);
    for (int k = 0; k < k_tiles; ++k) {
        __syncthreads();
        compute(k % 3);
        if (k + 2 < k_tiles) load_tile(k + 2, (k + 2) % 3);
    }
""",
                )
            ],
        ),
        (
            "slots from the number of the k-tile",
            [("produce = (stage + 2) % 3, consume = stage", "produce = k % 3, consume = (k - 2) % 3")],
        ),
        (
            "the other way round",
            [
                ("    int stage = 0;", "    int stage = 2;"),
                ("(stage + 2) % 3, consume = stage", "stage, consume = (stage + 1) % 3"),
                ("compute(stage);", "compute((stage + 1) % 3);"),
                ("1) compute((stage + 1) % 3);", "1) compute((stage + 2) % 3);"),
            ],
        ),
        (
            "copies that are waited for later",
            [
                ("        wait_all();\n", "        commit_group();\n"),
                (
                    "        __syncthreads();\n        compute(c",
                    "        wait_group<1>();\n        __syncthreads();\n        compute(c",
                ),
                (
                    "    __syncthreads();                                  // ep",
                    "    wait_all();\n    __syncthreads();                                  // ep",
                ),
            ],
        ),
    ],
    "05.4": [
        ("without ceil", [("ceil(latency / math)", "-int(-latency // math)")]),
        (
            "by Little's law",
            [
                (
                    "    math = 2 * tile_m * tile_n * tile_k / 2730\n",
                    "    math = 2 * tile_m * tile_n * tile_k / 2730\n    slot = 2 * (tile_m + tile_n) * tile_k\n",
                ),
                ("ceil(latency / math)", "ceil(slot / math * latency / slot)"),
            ],
        ),
        (
            "counted up",
            [
                (
                    "    return " + _SLOTS,
                    "    slots = 1\n    while (slots - 1 - issue_then_wait) * math < latency:\n"
                    "        slots += 1\n    return slots",
                )
            ],
        ),
        ("as a float", [(_SLOTS, "float(" + _SLOTS + ")")]),
    ],
}
SOLVED = {"05.4": solved_function("slots_needed")}
