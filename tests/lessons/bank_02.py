"""The exercises of the bank for lesson 02."""

from tests.lessons import solved_numbers

START = """        if (p + 3 < pieces)
            copy_async<4>(&slots[(p + 3) % 4][t], &in[64 * (p + 3) + t]);
"""
COMMIT = "        commit_group();                               // in every turn, also when there was nothing to copy\n"
WAIT = (
    "        wait_group<3>();                              "
    "// the newest three may be on their way; piece p is older\n"
)
USE = "        out[64 * p + t] = 2 * slots[p % 4][t];\n"
SAY_FULL = "named_arrive<64>(FULL + (piece - 1) % SLOTS);"
BEFORE = "                wait_group<1>();                      // the piece before this one has landed\n"
WHOLE = "            if (piece > 0) {\n" + BEFORE + "                " + SAY_FULL + "\n            }\n"
LAST = "        wait_all();\n        named_arrive<64>(FULL + (pieces - 1) % SLOTS);\n"

GAPS = ["02.12"]
RIGHT_ANSWERS = {
    "02.11": [
        ("a list", [("(1, 3, 3)", "[1, 3, 3]")]),
        (
            "counted",
            [("(1, 3, 3)", "tuple(sum(map(len, ([0], [1, 2], [], [3])[:4 - n])) for n in (3, 2, 1))")],
        ),
    ],
    "02.12": [
        (
            "no empty groups, and an end of its own",
            [
                (
                    START + COMMIT + WAIT,
                    START.replace("pieces)\n", "pieces) {\n") + "            commit_group();\n"
                    "            wait_group<3>();\n        } else\n            wait_all();\n",
                )
            ],
        ),
        ("waits first", [(START + COMMIT + WAIT, "        wait_group<2>();\n" + START + COMMIT)]),
        (
            "uses it, then starts the next copy",
            [
                (
                    START + COMMIT + WAIT,
                    "        wait_group<2>();\n        float mine = slots[p % 4][t];\n" + START + COMMIT,
                ),
                ("2 * slots[p % 4][t]", "2 * mine"),
            ],
        ),
        ("bits for remainders", [("(p + 3) % 4", "p + 3 & 3")]),
    ],
    "02.13": [
        ("the consumers wait too", [("named_arrive<96>(EMPTY)", "named_sync<96>(EMPTY)")]),
        (
            "a barrier for each consumer",
            [
                (
                    "                named_sync<96>(EMPTY); ",
                    "                { named_sync<64>(EMPTY); named_sync<64>(EMPTY + 1); }",
                ),
                ("named_arrive<96>(EMPTY)", "named_arrive<64>(EMPTY + warp - 1)"),
            ],
        ),
        ("the producer waits at FULL too", [("named_arrive<96>(FULL)", "named_sync<96>(FULL)")]),
    ],
    "02.14": [
        ("the slot before", [("(piece - 1) % SLOTS", "(slot + SLOTS - 1) % SLOTS")]),
        ("by a condition", [("(piece - 1) % SLOTS", "(slot ? slot - 1 : SLOTS - 1)")]),
        (
            "waits for the piece before at the top of the turn",
            [
                (WHOLE, ""),
                (
                    "            copy_async<4>",
                    "            int before = (piece + SLOTS - 1) % SLOTS;\n            copy_async<4>",
                ),
                (
                    "            commit_group();\n",
                    "            commit_group();\n            wait_group<1>();\n            if (piece)\n"
                    "                named_arrive<64>(FULL + before);\n",
                ),
            ],
        ),
    ],
}
WRONG_ANSWERS = {
    "02.11": [
        ("the empty group not counted", [("(1, 3, 3)", "(1, 3, 4)")], "an empty one"),
        ("nothing at first", [("(1,", "(0,")], "which one is the oldest"),
        ("copies instead of groups", [("(1, 3, 3)", "(1, 2, 3)")], "the newest two groups"),
        ("one group for each copy", [("(1,", "(2,")], "which one is the oldest"),
        ("waits for so many", [("(1, 3, 3)", "(3, 2, 1)")], "which one is the oldest"),
        ("all landed", [("(1, 3, 3)", "(4, 4, 4)")], "which one is the oldest"),
        ("the second all", [("(1, 3, 3)", "(1, 4, 4)")], "the newest two groups"),
        ("only two looks", [("(1, 3, 3)", "(1, 3)")], "three whole numbers"),
    ],
    "02.12": [
        ("no wait", [(WAIT, "")], "a copy is still on its way"),
        ("one group too many", [("wait_group<3>", "wait_group<4>")], "a copy is still on its way"),
        ("no commit", [(COMMIT, "")], "a copy is still on its way"),
        (
            "commits only with a copy",
            [
                (
                    START + COMMIT,
                    START.replace("pieces)\n", "pieces) {\n") + "            commit_group();\n        }\n",
                )
            ],
            "in the last ones",
        ),
        ("waits for all", [(WAIT, "        wait_all();\n")], "they may stay on their way"),
        ("nothing left on its way", [("wait_group<3>", "wait_group<0>")], "they may stay on their way"),
        ("one left", [("wait_group<3>", "wait_group<1>")], "they may stay on their way"),
        ("a barrier to be sure", [(WAIT, WAIT + "        __syncthreads();\n")], "for no other thread"),
        ("always a copy", [("        if (p + 3 < pieces)\n", "")], "pieces 0 to pieces - 1"),
        ("one piece too many", [("p + 3 < pieces", "p + 3 <= pieces")], "pieces 0 to pieces - 1"),
        ("the slot of this piece", [("slots[(p + 3) % 4]", "slots[p % 4]")], "Which slot is that"),
        ("no copy", [(START, "")], "nothing was copied to"),
        (
            "plain loads",
            [
                (
                    "copy_async<4>(&slots[(p + 3) % 4][t], &in[64 * (p + 3) + t]);",
                    "slots[(p + 3) % 4][t] = in[64 * (p + 3) + t];",
                )
            ],
            "by one copy_async",
        ),
    ],
    "02.13": [
        ("the line of the consumers", [("(12,", "(16,")], "names thread 0"),
        ("the line in the header", [("(12,", "(9,")], "names thread 0"),
        ("only one consumer", [("96)\n", "64)\n")], "both consumers"),
        ("who waits there", [("96)\n", "32)\n")], "both consumers"),
        ("nothing changed", [("<96>(EMPTY)", "<64>(EMPTY)")], "add up the threads that come"),
        (
            "only the producer's count",
            [("named_arrive<96>(EMPTY)", "named_arrive<64>(EMPTY)")],
            "both sides must agree",
        ),
        (
            "only the consumers' count",
            [("named_sync<96>(EMPTY)", "named_sync<64>(EMPTY)")],
            "both sides must agree",
        ),
        (
            "no wait at EMPTY",
            [("                named_sync<96>(EMPTY); ", "                ;")],
            "Does it wait at EMPTY",
        ),
        (
            "everybody waits at one barrier",
            [("named_sync<96>(EMPTY)", "__syncthreads()"), ("named_arrive<96>(EMPTY)", "__syncthreads()")],
            "is two barriers",
        ),
        ("waits in every turn", [("            if (piece > 0)\n", "")], "add up the threads that come"),
        ("FULL for one consumer", [("<96>(FULL)", "<64>(FULL)")], "count everybody who comes"),
    ],
    "02.14": [
        ("as given", [("(piece - 1) % SLOTS", "slot")], "how often FULL is said"),
        ("the slot after", [("(piece - 1) % SLOTS", "(piece + 1) % SLOTS")], "how often FULL is said"),
        ("a remainder as in Python", [("(piece - 1) % SLOTS", "(slot - 1) % SLOTS")], "(0 - 1) % 3 is -1"),
        ("the slot before, without a remainder", [("(piece - 1) % SLOTS", "slot - 1")], "barrier 0"),
        ("waits for all", [(BEFORE, "                wait_all();\n")], "nothing overlaps"),
        (
            "waits for its own copy and says so",
            [
                (WHOLE, "            wait_all();\n            named_arrive<64>(FULL + slot);\n"),
                (LAST, ""),
            ],
            "nothing overlaps",
        ),
        ("no wait", [(BEFORE, "")], "called full while its copy"),
        ("two left on their way", [("wait_group<1>", "wait_group<2>")], "called full while its copy"),
        ("the last piece not said", [(LAST, "")], "once for each piece"),
        ("no remainder", [("(piece - 1) % SLOTS", "piece - 1")], "how often FULL is said"),
        (
            "the last one not waited for",
            [("        wait_all();\n        named", "        named")],
            "called full while its copy",
        ),
    ],
}
SOLVED = {"02.11": solved_numbers, "02.13": solved_numbers}
