"""Lesson 02."""

import numpy as np

from tests.kernels.case import poison, random
from tests.lessons.lesson_01 import NO_LAST_TILE

NOTEBOOK = "02_producer_consumer"


def _round_trip(integers):
    def make():
        x = random(3).randn(2048).astype("f4")
        return [np.rint(10 * x) if integers else x, poison(2048, "f4")]

    return make, (2,), (256,), lambda a: {1: a[0].reshape(2, 1024)[:, ::-1].reshape(2048)}


def _hand_over(integers):
    make, *_ = _round_trip(integers)
    return make, (1,), (64,), lambda a: {1: a[0].reshape(64, 32)[:, ::-1].reshape(2048)}


OTHERS = {"round_trip": _round_trip, "hand_over": _hand_over}

COMPLETE = "__syncthreads();                              // the k-tile is complete"
ALL_READ = "__syncthreads();                              // all have read it"
NO_WAIT = ("wait removed", "wait_all();", "", "unwaited-copy")
NO_FIRST = ("first barrier removed", COMPLETE, "", "read-after-write|uninitialised-read")
NO_SECOND = ("second barrier removed", ALL_READ, "", "write-after-read")
MATH = [
    ("k off by one", "k < TK;", "k < TK - 1;", "without the last k of every k-tile|uninitialised|wrong"),
    ("rows of A for B", "m, n);\n", "n, m);\n", "wrong|past the end of As"),
    ("transposed tile", "As[warp][4 * lane]", "As[lane / 4][lane % 4 * 32 + 4 * warp]", "wrong"),
]
AHEAD = [
    ("same k-tile each time", "A + (k_tile + 1) * TK * M", "A", "wrong"),
    (
        "columns of the other matrix",
        "B + (k_tile + 1) * TK * N",
        "B + (k_tile + 1) * TK * M",
        "wrong|out-of-bounds",
    ),
    ("one k-tile too few", "k_tile + 1 < K / TK)", "k_tile + 2 < K / TK)", "wrong|uninitialised"),
    ("one k-tile too many", "k_tile + 1 < K / TK)", "k_tile < K / TK)", "out-of-bounds|hazard|wrong"),
]

LANDED = "        wait_all();\n        TRACE_END(copy, k_tile);\n"
SAYS_FULL = "        named_arrive<THREADS>(FULL + slot);           // my part of the k-tile has landed\n"
WAITS_FOR_FULL = "named_sync<THREADS>(FULL + slot);"
WAITS_FOR_EMPTY = "if (k_tile >= SLOTS) named_sync<THREADS>(EMPTY + slot);"
SLOT = "int slot = k_tile % SLOTS;\n        TRACE_BEGIN(barrier, k_tile);\n        named_sync"

WRONG = {
    "one_buffer": [
        NO_WAIT, NO_FIRST, NO_SECOND, NO_LAST_TILE, *MATH,
        ("same k-tile each time", "A + k_tile * TK * M", "A", "wrong"),
        ("columns of the other matrix", "B + k_tile * TK * N", "B + k_tile * TK * M", "wrong|out-of-bounds"),
    ],
    "early_copy": [
        NO_WAIT, NO_FIRST, NO_SECOND, NO_LAST_TILE, *AHEAD, *MATH[1:],
        ("first copy missing", "copy_async<16>(&Bs[warp][4 * lane], B);", "", "uninitialised-read"),
    ],
    "through_registers": [
        NO_FIRST, NO_SECOND, NO_LAST_TILE, *AHEAD[:3], *MATH,
        ("B stored as A", "*(float4*)&Bs[warp][4 * lane] = next_b", "*(float4*)&As[warp][4 * lane] = next_b", "uninit"),
    ],
    "specialised": [
        ("wait removed", "wait_all();", "", "unwaited-copy"),
        ("nobody waits for full", WAITS_FOR_FULL, "", "deadlock|read-after-write|uninit|unwaited"),
        ("nobody waits for empty", WAITS_FOR_EMPTY, "", "deadlock|wrong"),
        ("arrives before it waited", LANDED + SAYS_FULL, SAYS_FULL + LANDED, "unwaited|read-after-write"),
        ("waits for empty at once", "if (k_tile >= SLOTS) named_sync", "named_sync", "deadlock"),
        ("empty one turn too early", WAITS_FOR_FULL, f"{WAITS_FOR_FULL} named_arrive<THREADS>(EMPTY + slot);",
         "hazard"),
        ("one barrier for all slots", "EMPTY = FULL + SLOTS", "EMPTY = FULL", "deadlock|hazard"),
        ("too many threads", "32 * PRODUCERS + 256", "32 * PRODUCERS + 288", "deadlock"),
        ("half the columns", "k < TK; k += PRODUCERS", "k < TK / 2; k += PRODUCERS", "uninitialised-read"),
        ("same slot", SLOT, SLOT.replace("k_tile % SLOTS", "0"), "deadlock|wrong|read-after|write-after|unwaited"),
    ],
}  # fmt: skip

GAPS = ["02.1", "02.2", "02.3"]
PIECE_READ = "        __syncthreads();                              // all have read it\n"
COPY = "        copy_async<16>(&tile[4 * t], &in[1024 * piece + 4 * t]);\n"
LOADED = """    float4 next_a = *(const float4*)A;
    float4 next_b = *(const float4*)B;
"""
STORES = """        *(float4*)&As[j][i] = next_a;                 // waits until the loads are complete
        *(float4*)&Bs[j][i] = next_b;
"""
STORED = STORES + "        __syncthreads();                              // the k-tile is complete\n"
MULTIPLY = "        multiply(acc, As, Bs, i, 4 * j);\n"
AHEAD_ONCE = """        if (k_tile + 1 < K / TK) {
            next_a = *(const float4*)(A + (k_tile + 1) * TK * M);
            next_b = *(const float4*)(B + (k_tile + 1) * TK * N);
        }
"""
WAIT_FOR_EMPTY = """        if (k_tile >= SLOTS)
            named_sync<THREADS>(EMPTY + slot);
"""
SAY_FULL = "        named_arrive<THREADS>(FULL + slot);\n"
WAIT_FOR_FULL = "        named_sync<THREADS>(FULL + slot);\n"
SAY_EMPTY = """        if (k_tile + SLOTS < K / TK)
            named_arrive<THREADS>(EMPTY + slot);
"""
CONSUMERS = "    for (int k_tile = 0; k_tile < K / TK; ++k_tile) { // the consumers\n"

RIGHT_ANSWERS = {
    "02.1": [
        ("groups", [("wait_all();", "commit_group();\n        wait_group<0>();")]),
        ("second barrier at the top", [(PIECE_READ, ""), (COPY, "        __syncthreads();\n" + COPY)]),
        ("named barriers for all", [("#include <course/cp_async.cuh>", "#include <course/cp_async.cuh>\n"
          "#include <course/named_barrier.cuh>"), ("__syncthreads();", "named_sync<256>(1);")]),
    ],
    "02.2": [
        ("second barrier at the top", [
            (MULTIPLY + PIECE_READ, MULTIPLY), (STORES, "        __syncthreads();\n" + STORES)]),
        ("loads the last k-tile once more", [
            ("if (k_tile + 1 < K / TK) {", "{\n            int next = k_tile + 1 < K / TK ? k_tile + 1 : k_tile;"),
            ("(k_tile + 1) * TK * M", "next * TK * M"), ("(k_tile + 1) * TK * N", "next * TK * N")]),
        ("stores at the end of the turn", [
            (LOADED, LOADED + STORES + "        __syncthreads();\n"), (STORED + "        if", "        if"),
            (MULTIPLY + PIECE_READ, MULTIPLY + PIECE_READ + STORES + "        __syncthreads();\n")]),
        ("moves the pointers", [
            ("next_a = *(const float4*)(A + (k_tile + 1) * TK * M)", "A += TK * M, next_a = *(const float4*)A"),
            ("next_b = *(const float4*)(B + (k_tile + 1) * TK * N)", "B += TK * N, next_b = *(const float4*)B")]),
    ],
    "02.3": [
        ("the consumers say at first that all slots are empty", [
            (WAIT_FOR_EMPTY, "        named_sync<THREADS>(EMPTY + slot);\n"),
            (SAY_EMPTY, "        named_arrive<THREADS>(EMPTY + slot);\n"),
            (CONSUMERS, "    for (int s = 0; s < SLOTS; ++s) named_arrive<THREADS>(EMPTY + s);\n" + CONSUMERS)]),
        ("groups, and numbers for names", [
            ("wait_all();", "commit_group();\n        wait_group<0>();"), ("<THREADS>(", "<96>("),
            ("(FULL + slot)", "(5 + slot)"), ("(EMPTY + slot)", "(12 - slot)")]),
        ("the consumers arrive in every turn", [(SAY_EMPTY, "        named_arrive<THREADS>(EMPTY + slot);\n")]),
        ("three slots", [("SLOTS = 2", "SLOTS = 3")]),
        ("says it of the copy before", [("        wait_all();\n" + SAY_FULL, """        commit_group();
        if (k_tile > 0) { wait_group<1>(); named_arrive<THREADS>(FULL + (k_tile - 1) % SLOTS); }
        if (k_tile == K / TK - 1) { wait_group<0>(); named_arrive<THREADS>(FULL + slot); }
""")]),
        ("the first turns are named", [("if (k_tile >= SLOTS)", "if (k_tile != 0 && k_tile != 1)")]),
        ("the consumers say it before their first wait", [
            (WAIT_FOR_EMPTY, "        named_sync<THREADS>(EMPTY + slot);\n"),
            (SAY_EMPTY, "        named_arrive<THREADS>(EMPTY + slot);\n"),
            (WAIT_FOR_FULL, """        for (int s = 0; s < SLOTS && k_tile == 0; ++s)
            named_arrive<THREADS>(EMPTY + s);
""" + WAIT_FOR_FULL)]),
        ("a producer that loads and stores", [
            ("copy_async<16>(&As[slot][i / TM][i % TM], &A[i % TM + k * M]);",
             "*(float4*)&As[slot][i / TM][i % TM] = *(const float4*)&A[i % TM + k * M];"),
            ("copy_async<16>(&Bs[slot][i / TN][i % TN], &B[i % TN + k * N]);",
             "*(float4*)&Bs[slot][i / TN][i % TN] = *(const float4*)&B[i % TN + k * N];")]),
    ],
}  # fmt: skip
CAN_GO = "can go: all is right without it"
TWICE = "        __syncthreads();\n        __syncthreads();\n"
REMARKED = {
    "02.1": [
        ("a barrier at the top too", [(COPY, "        __syncthreads();\n" + COPY)], CAN_GO),
        ("four barriers", [(PIECE_READ, TWICE), (COPY, COPY + "        __syncthreads(); // ready\n")], CAN_GO),
    ],
    "02.2": [
        ("two at the end", [(PIECE_READ, TWICE)], "one of the barriers in lines 35 and 36 can go"),
        ("another one before the store", [(STORES, "        __syncthreads();\n" + STORES)], CAN_GO),
    ],
    "02.3": [
        ("the consumers meet as well", [(SAY_EMPTY, "        named_sync<64>(9);\n" + SAY_EMPTY)], CAN_GO),
    ],
}  # fmt: skip
FRAGMENTS = "load_fragments(a, b, As[slot][k], Bs[slot][k], m, n);"
FROM_GLOBAL = """for (int i = 0; i < 8; ++i) {
                a[i] = A[m + i % 4 + i / 4 * 32 + (k_tile * TK + k) * M];
                b[i] = B[n + i % 4 + i / 4 * 16 + (k_tile * TK + k) * N];
            }"""
WRONG_ANSWERS = {
    "02.1": [
        ("no wait", [("wait_all();", ";")], "wait for its own copies, as wait_all does"),
        ("wait before the copy", [("wait_all();", ""), (COPY, "        wait_all();\n" + COPY)],
         "the wait comes before the copy"),
        ("waits for piece 0 only", [("wait_all();", "if (piece == 0) wait_all();")], "not every thread waits"),
        ("half of the threads wait", [("wait_all();", "if (t < 128) wait_all();")], "not every thread waits"),
        ("barrier before the wait", [
            ("wait_all();  ", "__syncthreads();  "),
            ("__syncthreads();                              // the piece is", "wait_all();  // the piece is")],
         "after the barrier"),
        ("no first barrier", [("__syncthreads();                              // the piece is complete", "")],
         "a barrier must follow"),
        ("no second barrier", [(PIECE_READ, "")], "when may the next copy start"),
        ("barrier in an if", [("        __syncthreads();                              // the piece",
                               "        if (t < 128) __syncthreads();  // the piece")], "move it out of the if"),
        ("one piece four times", [("&in[1024 * piece + 4 * t]", "&in[4 * t]")], "copy its own piece"),
        ("always to the first piece", [("out[1024 * piece + i]", "out[i]")], "never written"),
        ("one float behind the tile", [("tile[1023 - i]", "tile[1024 - i]")], "the tile has floats 0 to 1023"),
        ("not in reverse", [("tile[1023 - i]", "tile[i]")], "goes out as float 1023 - i"),
        ("4 bytes a thread", [("copy_async<16>", "copy_async<4>")], "256 threads with 16 bytes"),
        ("thread t from float t on", [("&tile[4 * t]", "&tile[t]")], "a multiple of 4 floats"),
        ("floats counted as bytes", [("&in[1024 * piece + 4 * t]", "&in[4096 * piece + 16 * t]")], "has 1024 floats"),
        ("past the tile", [("tile[1023 - i]", "in[1024 * piece + 1023 - i]")], "is read from the tile"),
        ("past the tile, no barrier", [
            ("tile[1023 - i]", "in[1024 * piece + 1023 - i]"), ("__syncthreads();", "")], "is read from the tile"),
        ("reads only its own", [
            ("for (int i = t; i < 1024; i += 256)", "for (int i = 1023 - 4 * t; i > 1019 - 4 * t; --i)")],
         "Who has copied them"),
        ("thread 0 copies all", [
            (COPY, "        for (int i = 0; i < 1024 && t == 0; i += 4)\n"
             "            copy_async<16>(&tile[i], &in[1024 * piece + i]);\n")], "all 8 warps copy"),
        ("one warp copies all", [
            (COPY, "        for (int i = 4 * t; i < 1024 && t < 32; i += 128)\n"
             "            copy_async<16>(&tile[i], &in[1024 * piece + i]);\n")], "all 8 warps copy"),
        ("4 bytes at a time", [
            (COPY, "        for (int i = t; i < 1024; i += 256)\n"
             "            copy_async<4>(&tile[i], in + 1024 * piece + i);\n")], "one copy_async<16> of each thread"),
        ("each thread writes four neighbours", [
            ("for (int i = t; i < 1024; i += 256)", "for (int i = 4 * t; i < 4 * t + 4; ++i)")],
         "neighbouring threads write neighbouring floats"),
        ("half past the tile", [("tile[1023 - i]", "(i < 512 ? tile[1023 - i] : in[1024 * piece + 1023 - i])")],
         "is read from the tile"),
        ("without cp.async", [
            (COPY, "        *(float4*)&tile[4 * t] = *(const float4*)&in[1024 * piece + 4 * t];\n")],
         "is about copy_async"),
        ("endless loop", [("i += 256", "i += 0")], "a loop does not end"),
        ("two buffers", [
            ("tile[1024]; ", "tile[2048]; "), ("&tile[4 * t]", "&tile[piece % 2 * 1024 + 4 * t]"),
            ("tile[1023 - i]", "tile[piece % 2 * 1024 + 1023 - i]"), (PIECE_READ, "")], "leave the tile as it is"),
        ("one warp writes all", [
            ("for (int i = t; i < 1024; i += 256)", "for (int i = t; i < 1024 && t < 32; i += 32)")],
         "and all write"),
        ("a barrier behind each float", [
            ("            out[1024 * piece + i] = tile[1023 - i];",
             "        { out[1024 * piece + i] = tile[1023 - i]; __syncthreads(); }")],
         "A barrier for each of them is enough"),
    ],
    "02.2": [
        ("load after the math", [(MULTIPLY, ""), ("        if (k_tile + 1", MULTIPLY + "        if (k_tile + 1")],
         "hides only a load that stands before it"),
        ("no first barrier", [(STORED, STORES)], "between the stores"),
        ("no second barrier", [(MULTIPLY + PIECE_READ, MULTIPLY)], "a slow warp still multiplies"),
        ("no end", [("k_tile + 1 < K / TK)", "true)")], "has no next one"),
        ("columns of M floats in B", [("(k_tile + 1) * TK * N", "(k_tile + 1) * TK * M")], "one of B has N"),
        ("columns of N floats in A", [("(k_tile + 1) * TK * M", "(k_tile + 1) * TK * N")], "column of A has M"),
        ("this k-tile again", [("(k_tile + 1) * TK", "k_tile * TK")], "which k-tile must that be"),
        ("k-tile 0 never loaded", [(" = *(const float4*)A;", " = {};"), (" = *(const float4*)B;", " = {};")],
         "in which turn is it multiplied"),
        ("stores before the math", [(MULTIPLY, STORES + MULTIPLY)], "between the stores"),
        ("B not stored", [("        *(float4*)&Bs[j][i] = next_b;\n", "")], "must have been loaded"),
        ("row before column", [("&As[j][i]", "&As[i][j]"), ("&Bs[j][i]", "&Bs[i][j]")], "the column comes first"),
        ("the next one is another variable", [("            next_a =", "            float4 next_a ="),
         ("            next_b =", "            float4 next_b =")], "does it get there"),
        ("A and B exchanged", [
            ("&As[j][i] = next_a", "&As[j][i] = next_b"), ("&Bs[j][i] = next_b", "&Bs[j][i] = next_a")],
         "to which tile"),
        ("wrong from turn 2 on", [("(k_tile + 1) * TK * M", "TK * M"), ("(k_tile + 1) * TK * N", "TK * N")],
         "turns 0, 1 and 2"),
        ("another place of the tile", [("&As[j][i] = next_a", "&As[j][(i + 4) % TM] = next_a")], "which place of it"),
        ("math with swapped places", [("As, Bs, i, 4 * j)", "As, Bs, 4 * j, i)")], "in which turn is it multiplied"),
        ("one k-tile too few", [("k_tile + 1 < K / TK)", "k_tile + 2 < K / TK)")], "in which turn is it multiplied"),
        ("nothing new behind turn 39", [("k_tile + 1 < K / TK)", "k_tile + 1 < K / TK && k_tile < 40)")],
         "right with few k-tiles, and not with"),
        ("waits for the next one before the math", [
            (MULTIPLY, "        if (next_a.x != next_a.x || next_b.x != next_b.x) __trap();\n" + MULTIPLY)],
         "whose value nobody touches"),
        ("throws the early load away", [
            ("next_a = *(const float4*)(A + (k", "next_a.x = *(volatile const float*)(A + (k"),
            ("next_b = *(const float4*)(B + (k", "next_b.x = *(volatile const float*)(B + (k"),
            (MULTIPLY, MULTIPLY + AHEAD_ONCE)],
         "each k-tile is asked for once"),
        ("in turn, with cp.async", [
            ("constexpr int TM", "#include <course/cp_async.cuh>\nconstexpr int TM"), (LOADED, ""),
            (STORES, "        copy_async<16>(&As[j][i], A + k_tile * TK * M);\n"
             "        copy_async<16>(&Bs[j][i], B + k_tile * TK * N);\n        wait_all();\n"),
            (AHEAD_ONCE, "")], "here a k-tile waits in registers"),
        ("only A ahead", [
            ("            next_b = *(const float4*)(B + (k_tile + 1) * TK * N);\n", ""),
            (MULTIPLY, MULTIPLY + "        if (k_tile + 1 < K / TK)\n"
             "            next_b = *(const float4*)(B + (k_tile + 1) * TK * N);\n")], "whose value nobody touches"),
        ("ahead in every second turn", [
            ("        if (k_tile + 1 < K / TK) {", "        if (k_tile % 2 && k_tile + 1 < K / TK) {"),
            (MULTIPLY, MULTIPLY + "        if (k_tile % 2 == 0 && k_tile + 1 < K / TK) {\n"
             "            next_a = *(const float4*)(A + (k_tile + 1) * TK * M);\n"
             "            next_b = *(const float4*)(B + (k_tile + 1) * TK * N);\n        }\n")],
         "whose value nobody touches"),
        ("loads behind the math, with an idle FMA after them", [
            (AHEAD_ONCE, ""), (MULTIPLY, MULTIPLY + AHEAD_ONCE + "        float zero = 0.0f * As[0][0];\n"
             "        for (int c = 0; c < 4; ++c) acc[c][0] = fmaf(zero, zero, acc[c][0]);\n")],
         "before the next k-tile is asked for"),
        ("endless loop", [("++k_tile", "k_tile += 0")], "a loop does not end"),
    ],
    "02.3": [
        ("the consumers meet by __syncthreads, and say it", [(SAY_EMPTY, "        __syncthreads();\n" + SAY_EMPTY)],
         "need no meeting of their own"),
        ("the consumers meet by __syncthreads alone", [(SAY_EMPTY, "        __syncthreads();\n")],
         "need no meeting of their own"),
        ("empty without the slot", [(SAY_EMPTY, SAY_EMPTY.replace(" + slot);", ");"))], "EMPTY + slot: the producer"),
        ("empty said at full", [(SAY_EMPTY, SAY_EMPTY.replace("EMPTY", "FULL"))], "EMPTY + slot: the producer"),
        ("one warp says it", [(SAY_EMPTY, SAY_EMPTY.replace("if (", "if (warp == 1 && "))], "so all 64 threads arrive"),
        ("ahead for an even number of k-tiles only", [
            ("k_tile % SLOTS", "K / TK % 2 ? 0 : k_tile % SLOTS"),
            ("k_tile >= SLOTS", "k_tile >= (K / TK % 2 ? 1 : SLOTS)"),
            ("k_tile + SLOTS <", "k_tile + (K / TK % 2 ? 1 : SLOTS) <"),
        ], "an even number or an odd one"),
        ("past the slots", [(FRAGMENTS, FROM_GLOBAL)], "multiply what lies in the slots"),
        ("no wait for the copies", [("wait_all();", "")], "wait for its own copies"),
        ("full before the wait", [("        wait_all();\n" + SAY_FULL, SAY_FULL + "        wait_all();\n")],
         "first the wait, then the barrier"),
        ("waits for empty at once", [("if (k_tile >= SLOTS)", "")], "that was never full"),
        ("one turn too late", [("k_tile >= SLOTS", "k_tile > SLOTS")], "needs an arrival of its own"),
        ("conditions of one slot", [("k_tile >= SLOTS", "k_tile > 0"), ("k_tile + SLOTS < K", "k_tile + 1 < K")],
         "needs an arrival of its own"),
        ("producer never waits", [(WAIT_FOR_EMPTY, "")], "What must hold it back"),
        ("nobody says empty", [(SAY_EMPTY, "")], "has something to say"),
        ("says empty from turn SLOTS on", [("k_tile + SLOTS < K / TK", "k_tile >= SLOTS")], "from its first turn on"),
        ("one lane says empty", [(SAY_EMPTY, SAY_EMPTY.replace("if (", "if (lane == 0 && "))],
         "all 96 threads for each opening"),
        ("one lane says full", [(SAY_FULL, "        if (lane == 0)\n    " + SAY_FULL)],
         "all 96 threads for each opening"),
        ("no empty at all", [(WAIT_FOR_EMPTY, ""), (SAY_EMPTY, "")], "What must hold it back"),
        ("counts warps", [("<THREADS>", "<3>")], "counts threads, not warps"),
        ("counts the warps of the consumers", [("<THREADS>", "<2>")], "counts threads, not warps"),
        ("says empty for eight k-tiles only", [("k_tile + SLOTS < K / TK", "k_tile < 6")], "one side waits"),
        ("consumers do not wait", [(WAIT_FOR_FULL, "")], "must wait at FULL"),
        ("consumers only arrive", [(WAIT_FOR_FULL, WAIT_FOR_FULL.replace("sync", "arrive"))], "must wait at FULL"),
        ("empty before the math", [(SAY_EMPTY, ""), (WAIT_FOR_FULL, WAIT_FOR_FULL + SAY_EMPTY)], "after their math"),
        ("counts only the others", [("<THREADS>(", "<64>(")], "all in all"),
        ("each side counts itself", [
            (SAY_FULL, SAY_FULL.replace("THREADS", "32")), (WAIT_FOR_FULL, WAIT_FOR_FULL.replace("THREADS", "64"))],
         "all in all"),
        ("one EMPTY for both slots", [("EMPTY + slot", "EMPTY")], "before a slow producer has come once"),
        ("one EMPTY for both slots, said in every turn", [
            (SAY_EMPTY, "        named_arrive<THREADS>(EMPTY + slot);\n"), ("EMPTY + slot", "EMPTY")],
         "before a slow producer has come once"),
        ("empty said in mid-math", [
            (SAY_EMPTY, ""), ("multiply_add(acc, a, b);", "multiply_add(acc, a, b);\n"
             "            if (k == 4 && k_tile + SLOTS < K / TK) named_arrive<THREADS>(EMPTY + slot);")], "all of it"),
        ("one consumer does all", [
            ("<THREADS>(", "<64>("), ("if (warp == 0) return;", "if (warp != 1) return;"),
            ("float acc[8][8] = {};", "float acc[8][8] = {}, right[8][8] = {};"),
            ("multiply_add(acc, a, b);", "multiply_add(acc, a, b); load_fragments(a, b, As[slot][k], Bs[slot][k], "
             "m, n + 32); multiply_add(right, a, b);"),
            ("M, acc);\n", "M, acc);\n    store_tile(C + blockIdx.x * TM + m + (blockIdx.y * TN + n + 32) * M, M, "
             "right);\n")], "64 x 32 results each"),
        ("one pair for all slots", [("FULL + slot", "FULL"), ("EMPTY + slot", "EMPTY")], "FULL + slot and EMPTY"),
        ("full and empty are one", [("EMPTY + slot", "FULL + slot")], "FULL + slot and EMPTY + slot"),
        ("the barrier of the other slot", [("sync<THREADS>(EMPTY + slot)", "sync<THREADS>(EMPTY + 1 - slot)")],
         "of the slot that it is about to fill"),
        ("the producer waits at full too", [(SAY_FULL, SAY_FULL.replace("arrive", "sync"))], "only arrives and goes"),
        ("the consumers wait at empty too", [(SAY_EMPTY, SAY_EMPTY.replace("arrive", "sync"))], "only arrives and"),
        ("everybody waits everywhere", [
            (SAY_FULL, SAY_FULL.replace("arrive", "sync")), (SAY_EMPTY, SAY_EMPTY.replace("arrive", "sync"))],
         "only arrives and goes"),
        ("fills only a slot that has been asked for", [
            (WAIT_FOR_EMPTY, "        if (k_tile >= 1)\n"
             "            named_sync<THREADS>(EMPTY + (k_tile - 1) % SLOTS);\n"),
            ("k_tile + SLOTS < K", "k_tile + 1 < K")], "may be filled while this one is multiplied"),
        ("__syncthreads() for both", [
            (WAIT_FOR_EMPTY, ""), (SAY_FULL, "        __syncthreads();\n"), (SAY_EMPTY, ""),
            (WAIT_FOR_FULL, "        __syncthreads();\n")],
         "two kinds of warps"),
        ("one slot", [("SLOTS = 2", "SLOTS = 1")], "Leave SLOTS as it is"),
        ("endless loop", [("warp == 0; ++k_tile", "warp == 0; k_tile += 0")], "a loop does not end"),
    ],
}  # fmt: skip
