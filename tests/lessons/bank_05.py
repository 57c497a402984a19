"""The exercises in notebooks/exercises/05_three_stage.ipynb."""

from tests.lessons import replaced, solved_function, solved_kernel, solved_numbers


def _cures(skeleton, solution, changes=()):
    return skeleton[0], *solved_function("my_answer")(skeleton, solution, changes)


def _kernel_and_opcode(skeleton, solution, changes=()):
    for old, new in changes:
        solution = replaced(solution, old, new)
    return solved_kernel(skeleton[0], solution), solved_function("my_opcode")(skeleton, solution)


_NEWER = "int newer = k_tiles - 1 - k_tile;             // k-tiles behind this one\n        "
_WAITS = """if (newer >= 2) wait_group<2>();
        else if (newer == 1) wait_group<1>();
        else wait_group<0>();"""
_ALL = _NEWER + _WAITS
_LOOP = """    for (int step = 0; step < steps; step += 2) {     // two k-steps a turn: each set has a constant number
        load(1, min(step + 1, steps - 1));
        multiply(0);
        if (step + 1 == steps) break;                 // an odd number of k-steps
        load(0, min(step + 2, steps - 1));
        multiply(1);
    }
"""
_AS_IT_WAS = """    for (int step = 0; step < steps; ++step) {
        load((step + 1) % 2, min(step + 1, steps - 1));
        multiply(step % 2);
    }
"""
_PAIRS = """    int step = 0;
    #pragma unroll 1
    for (; step + 1 < steps; step += 2) {
        load(1, step + 1);
        multiply(0);
        load(0, min(step + 2, steps - 1));
        multiply(1);
    }
    if (step < steps) multiply(0);
"""
_MOVED = """    for (int step = 0; step < steps; ++step) {
        load(1, min(step + 1, steps - 1));
        multiply(0);
        for (int i = 0; i < 4; ++i) a[0][i] = a[1][i], b[0][i] = b[1][i];
    }
"""
_FROM_BEFORE = """    #pragma unroll 1
    for (int step = -1; step < steps; ++step) {
        load(1, min(step + 1, steps - 1));
        if (step >= 0) multiply(0);
        for (int i = 0; i < 4; ++i) a[0][i] = a[1][i], b[0][i] = b[1][i];
    }
"""
_TWICE = """    for (int step = 0; step < steps; ++step) {
        load(0, step);
        multiply(0);
    }
"""
_BEHIND = """    for (int step = 0; step < steps; ++step) {
        multiply(0);
        load(0, min(step + 1, steps - 1));
    }
"""
_TWO_BEHIND = """    for (int step = 0; step < steps; step += 2) {
        multiply(0);
        load(1, min(step + 1, steps - 1));
        if (step + 1 == steps) break;
        multiply(1);
        load(0, min(step + 2, steps - 1));
    }
"""
_BETWEEN = """    for (int step = 0; step < steps; ++step) {
        mma_m16n8k16(d[0], a[0], b[0][0], b[0][1]);
        load(1, min(step + 1, steps - 1));
        mma_m16n8k16(d[1], a[0], b[0][2], b[0][3]);
        for (int i = 0; i < 4; ++i) a[0][i] = a[1][i], b[0][i] = b[1][i];
    }
"""
_TOGETHER = """    for (int step = 0; step < steps; step += 2) {
        load(0, step);
        load(1, min(step + 1, steps - 1));
        multiply(0);
        if (step + 1 < steps) multiply(1);
    }
"""
_AHEAD_ONCE = """    load(0, 0);
    if (steps > 1) load(1, 1);
    multiply(0);
    if (steps > 1) multiply(1);
    #pragma unroll 1
    for (int step = 2; step < steps; ++step) {
        load(0, step);
        multiply(0);
    }
"""
_SELECTED = """    for (int step = 0; step < steps; ++step) {
        int next = min(step + 1, steps - 1);
        if (step % 2) load(0, next), multiply(1);
        else load(1, next), multiply(0);
    }
"""
_DOUBLED = """    for (int step = 0; step < steps; ++step) {
        load(0, step);
        load(1, steps - 1 - step);
        multiply(0);
    }
"""
_BRANCHES = [("#pragma unroll 1\n" + _LOOP, "#pragma unroll 1\n" + _SELECTED)]

_PROLOGUE = """    for (int row = 0; row < STAGES - 1; ++row) {
        if (row < rows) start_copy(row, row);
        commit_group();
    }"""
_COUNT, _BARRIER = "        wait_group<STAGES - 4>();\n", "        __syncthreads();\n"
_ISSUE = """        if (ahead < rows) start_copy(ahead, ahead % STAGES);
        commit_group();
"""
_WHERE_THERE_IS_ONE = """        if (ahead < rows) {
            start_copy(ahead, ahead % STAGES);
            commit_group();
        }
"""
_COMPUTE = "        compute(row, (row - 1) % STAGES, row % STAGES, (row + 1) % STAGES);"
_SECOND = _COMPUTE + "\n        __syncthreads();"
_LATE = "        wait_group<STAGES - 3>();\n        __syncthreads();\n"

GAPS = ["05.12"]
SOLVED = {"05.11": solved_numbers, "05.13": _cures, "05.14": _kernel_and_opcode}
RIGHT_ANSWERS = {
    "05.11": [("a list of them", [("3, 1, 2, 2", "tuple([3, 1, 2, 2])")]),
              ("as fractions", [("3, 1, 2, 2", "3.0, 1.0, 4 / 2, 6 - 4")])],
    "05.12": [
        ("a switch", [
            (_WAITS, "switch (min(newer, 2)) {\n            case 0: wait_group<0>(); break;\n"
                     "            case 1: wait_group<1>(); break;\n            default: wait_group<2>();\n        }")]),
        ("without a variable", [
            (_ALL, "if (k_tile + 2 < k_tiles) wait_group<2>();\n"
                   "        else if (k_tile + 1 < k_tiles) wait_group<1>();\n        else wait_all();")]),
        ("by how many are issued", [
            (_ALL, "int issued = min(k_tile + 3, k_tiles);\n        if (issued - k_tile == 3) wait_group<2>();\n"
                   "        else if (issued - k_tile == 2) wait_group<1>();\n        else wait_group<0>();")]),
        ("the strictest last", [(_WAITS, "wait_group<2>();\n        if (newer < 2) wait_group<1>();\n"
                                         "        if (newer < 1) wait_group<0>();")]),
    ],
    "05.13": [("another order of the letters", [('"BCD"', '"D, C, B"')]),
              ("a list", [('"BCD", "C"', '["B", "C", "D"], "C"')]),
              ("small letters", [('"BCD", "C"', '"bcd", "c"')])],
    "05.14": [
        ("no load before the loop", [("    load(0, 0);\n", ""), ("    #pragma unroll 1\n" + _LOOP, _FROM_BEFORE)]),
        ("the rest behind the loop", [("    #pragma unroll 1\n" + _LOOP, _PAIRS)]),
        ("the sets moved", [(_LOOP, _MOVED)]),
        ("a branch for each set", _BRANCHES),
        ("the other opcode", [('"LDL"', '"stl"')]),
    ],
    "05.15": [
        ("issue before the wait, and two barriers", [
            (_COUNT + _BARRIER + _ISSUE + _COMPUTE, _ISSUE + _LATE + _SECOND)]),
        ("all slots filled before the loop", [
            (_PROLOGUE, _PROLOGUE.replace("STAGES - 1", "STAGES")), ("row + STAGES - 2", "row + STAGES - 1"),
            (_COUNT + _BARRIER + _ISSUE + _COMPUTE, _LATE + _SECOND + "\n" + _ISSUE)]),
        ("the free slot by its old row", [("ahead % STAGES", "(row + STAGES - 2) % STAGES")]),
    ],
}  # fmt: skip
WRONG_ANSWERS = {
    "05.11": [
        ("all slots but one, always", [("3, 1, 2, 2", "3, 3, 3, 3")], "wait_group<0> leaves nothing"),
        ("all slots", [("3, 1, 2, 2", "4, 1, 2, 2")], "another one issued before the math"),
        ("the count of the wait", [("3, 1, 2, 2", "2, 0, 2, 2")], "another one issued before the math"),
        ("nothing behind wait_group<0>", [("3, 1, 2, 2", "3, 0, 2, 2")], "issued between it and the math"),
        ("an issue behind the math counted", [("3, 1, 2, 2", "3, 1, 3, 2")], "after the math"),
        ("groups for k-tiles", [("3, 1, 2, 2", "3, 1, 2, 3")], "a k-tile has two of them"),
        ("what the wait leaves", [("3, 1, 2, 2", "3, 1, 2, 1")], "one more is issued before the math"),
        ("a part of a k-tile", [("3, 1, 2, 2", "3, 1, 2, 1.5")], "a number of k-tiles, such as 2"),
        ("one number", [("3, 1, 2, 2", "3")], "write four numbers"),
    ],
    "05.12": [
        ("leaves three", [(_ALL, "wait_group<3>();")], "a wait that leaves three waits for nothing"),
        ("empty groups", [
            (_ALL, "for (int end = k_tiles; end < k_tile + 3; ++end)\n            if (k_tile == max(0, end - 2)) "
                   "commit_group();\n        wait_group<2>();")], "has no empty ones"),
        ("the count of the lesson", [(_ALL, "wait_group<2>();")], "where K is 5 x 32. Hint: a k-tile is read before"),
        ("all waited for where there are more than five", [
            (_WAITS, "if (k_tiles > 5) wait_group<0>();\n        else " + _WAITS)], "two at most"),
        ("ends after 20 k-tiles", [("k_tiles = K / TK;", "k_tiles = min(K / TK, 20);")],
         "does a number stand where the number of k-tiles"),
        ("one newer, where there are two", [
            (_WAITS, "if (newer >= 1) wait_group<1>();\n        else wait_group<0>();")], "two at most"),
        ("none newer", [(_ALL, "wait_group<0>();")], "two at most"),
        ("all in the last but one", [("else if (newer == 1) wait_group<1>();\n        ", "")], "two at most"),
        ("one turn too early", [("newer >= 2", "newer > 2")], "two at most"),
        ("one turn too late", [("newer >= 2", "newer >= 1")], "fewer than two newer groups exist"),
        ("the last turn left out", [("else wait_group<0>();", "")], "fewer than two newer groups exist"),
        ("by the number of the turn, for 1 and 4 k-tiles", [
            (_ALL, "if (k_tile < 2 && k_tiles > 1) wait_group<2>();\n        else if (k_tile == 2) wait_group<1>();\n"
                   "        else wait_group<0>();")], "fewer than two newer groups exist"),
        ("by the number of the turn, for four and their multiples", [
            (_ALL, "if (k_tiles == 1 || k_tile == 3) wait_group<0>();\n"
                   "        else if (k_tile == 2) wait_group<1>();\n        else wait_group<2>();")],
         "fewer than two newer groups exist"),
        ("by the number of the turn, for 1 and 5 k-tiles", [
            (_ALL, "if (k_tiles == 1 || k_tile == 4) wait_group<0>();\n"
                   "        else if (k_tile == 3) wait_group<1>();\n        else wait_group<2>();")],
         "fewer than two newer groups exist"),
        ("the wait behind the barrier", [
            (_ALL + "\n        __syncthreads();", _NEWER + "__syncthreads();\n        " + _WAITS)],
         "Is the wait before the barrier"),
        ("a count that is no constant", [(_ALL, "wait_group<newer>();")], "it does not compile"),
    ],
    "05.13": [
        ("the other way round", [('"write-after-read"', '"read-after-write"')], "may still read, in turn t - 1"),
        ("the copy to blame", [('"write-after-read"', '"unwaited-copy"')], "may still read, in turn t - 1"),
        ("the wait", [('"BCD"', '"A"')], "a wait is about the thread's own copies"),
        ("a meeting of lanes", [('"BCD"', '"BCDE"')], "the lanes of one warp"),
        ("only the lesson's", [('"BCD"', '"C"')], "three different ways"),
        ("no more slots", [('"BCD"', '"BC"')], "three different ways"),
        ("the barrier is best", [('"C"', '"B"')], "uses the barrier that is there already"),
        ("more slots are best", [('"C"', '"D"')], "does with three slots"),
        ("best of the others", [('"C"', '"A"')], "one letter out of my_cures"),
        ("a letter that is not there", [('"BCD"', '"BCF"')], "those of the table"),
    ],
    "05.14": [
        ("as it was", [(_LOOP, _AS_IT_WAS)], "still get a number that changes"),
        ("another opcode", [('"LDL"', '"LDSM"')], "L stands for local"),
        ("unrolled by two, the compiler's way", [
            ("    #pragma unroll 1\n" + _LOOP, "    #pragma unroll 2\n" + _AS_IT_WAS)],
         "still get a number that changes"),
        ("left to the compiler", [("    #pragma unroll 1\n" + _LOOP, _AS_IT_WAS)], "not unrolled"),
        ("one set, and its first k-step loaded twice", [(_LOOP, _TWICE)], "into the other set first"),
        ("one set only", [(_LOOP, "    for (int step = 0; step < steps; ++step) {\n        if (step) load(0, step);\n"
                                  "        multiply(0);\n    }\n")], "into the other set first"),
        ("one set, and a fragment loaded twice", [
            (_LOOP, "    for (int step = 0; step < steps; ++step) {\n        if (step) load(0, step);\n"
                    "        multiply(0);\n    }\n"),
            ("    load(0, 0);\n", "    load(0, 0);\n    ldmatrix_x4(a[0], &As[lane % 16][lane / 16 * 8]);\n")],
         "into the other set first"),
        ("both loads, then both multiplies", [("    load(0, 0);\n", ""), (_LOOP, _TOGETHER)],
         "into the other set first"),
        ("one set, and a k-step that nobody needs", [("    load(0, 0);\n", ""), (_LOOP, _DOUBLED)],
         "what a set holds already need not come again"),
        ("ahead before the loop only", [("    load(0, 0);\n", ""), ("    #pragma unroll 1\n" + _LOOP, _AHEAD_ONCE)],
         "into the other set first"),
        ("one set, loaded behind its mma", [(_LOOP, _BEHIND)], "into the other set first"),
        ("two sets, each loaded behind the mma", [(_LOOP, _TWO_BEHIND)], "into the other set first"),
        ("loaded between the two mma", [(_LOOP, _BETWEEN)], "into the other set first"),
        ("odd numbers forgotten", [("if (step + 1 == steps) break;", "")],
         "when their number is odd"),
        ("a step too far", [
            ("load(0, min(step + 2, steps - 1));", "load(0, step + 2);"), ("PITCH = 128 + 8", "PITCH = 128")],
         "min(..., steps - 1) was the guard"),
        ("sets exchanged", [("multiply(0);", "multiply(1);")], "which set holds which k-step"),
        ("only half of the fragments", [("load(1, min(step + 1, steps - 1));", "load(1, step);")],
         "which set holds which k-step"),
    ],
    "05.15": [
        ("a barrier more", [(_COMPUTE, _SECOND)], "what two threads would do without it"),
        ("a barrier more, in PTX", [(_COMPUTE, _COMPUTE + '\n        asm volatile("bar.sync 0;");')],
         "what two threads would do without it"),
        ("a barrier more, in a lambda that is called twice", [
            (_PROLOGUE, _PROLOGUE + "\n    auto meet = [&] { wait_group<STAGES - 4>(); __syncthreads(); };"),
            (_COUNT + _BARRIER + _ISSUE + _COMPUTE, "        meet();\n" + _ISSUE + _COMPUTE + "\n        meet();")],
         "what two threads would do without it"),
        ("waits for one less", [(_COUNT, _COUNT.replace("4", "3"))],
         "the count of the wait is too large: how many groups are newer"),
        ("waits for one less, where the copy comes first", [
            (_COUNT + _BARRIER + _ISSUE + _COMPUTE, _ISSUE + _LATE.replace("3", "2") + _SECOND)],
         "the count of the wait is too large: how many groups are newer"),
        ("waits for all", [(_COUNT, _COUNT.replace("STAGES - 4", "0"))], "how many groups may the wait leave"),
        ("no barrier", [(_BARRIER, "")], "reads its neighbours' numbers"),
        ("the copy before the barrier", [(_BARRIER + _ISSUE, _ISSUE + _BARRIER)], "free behind the barrier"),
        ("the copy behind the math", [(_ISSUE + _COMPUTE, _COMPUTE + "\n" + _ISSUE)], "start before compute"),
        ("the counts of the lesson", [("row + STAGES - 2", "row + STAGES - 1"), (_COUNT, _COUNT.replace("4", "2"))],
         "Which row does that copy bring"),
        ("no empty groups", [(_ISSUE, _WHERE_THERE_IS_ONE)],
         "also where there is nothing to copy"),
        ("a prologue of two", [("row < STAGES - 1", "row < 2")], "how many groups are newer"),
        ("no prologue", [(_PROLOGUE, "")], "which rows are issued"),
        ("a count for five", [(_COUNT, _COUNT.replace("STAGES - 4", "1"))], "made from STAGES"),
        ("a distance for five", [("row + STAGES - 2", "row + 3")], "made from STAGES"),
        ("rows that are not there", [("if (ahead < rows) ", "")], "a row that exists"),
        ("above for below", [("(row + 1) % STAGES", "(row - 1) % STAGES")], "the slots of row - 1, row and row + 1"),
        ("ends after 30 rows", [("row + 1 < rows", "row + 1 < min(rows, 30)")], "does a number stand where `rows`"),
        ("nothing done above 20 rows", [(_PROLOGUE, "    if (rows > 20) return;\n" + _PROLOGUE)],
         "does a number stand where `rows`"),
        ("stops behind row 20", [(_COUNT, "        if (row > 20) break;\n" + _COUNT)],
         "does a number stand where `rows`"),
        ("nothing done for six slots", [(_PROLOGUE, "    if (STAGES == 6) return;\n" + _PROLOGUE)], "made from STAGES"),
        ("a copy into the slot of row - 1", [
            (_PROLOGUE, _PROLOGUE.replace("STAGES - 1", "STAGES")), ("row + STAGES - 2", "row + STAGES - 1"),
            (_COUNT, _COUNT.replace("4", "3"))], "its slot is still in use"),
    ],
}  # fmt: skip
