"""What goes deeper in lesson 02: find the bug."""

NOTEBOOK = "02_late_load"

READ_LAST = "        __syncthreads();                              // all have read it\n"
LAST_WAIT = "    wait_all();\n    __syncthreads();\n    multiply"

RIGHT_ANSWERS = {
    "02.4": [
        ("floats for bytes", [
            ("float* Bs = (float*)&shared[TM * TK * sizeof(float)];", "float* Bs = As + TM * TK;")]),
        ("groups", [("wait_all();", "commit_group();\n    wait_group<0>();")]),
    ],
}  # fmt: skip
WRONG_ANSWERS = {
    "02.4": [
        ("only the bytes", [(LAST_WAIT, "    __syncthreads();\n    multiply")], "wait for its own copies"),
        ("only the wait", [(" * sizeof(float)]", "]")], "In what does"),
        ("wait after the last barrier", [(LAST_WAIT, "    __syncthreads();\n    wait_all();\n    multiply")],
         "after the barrier"),
        ("the wait at the end of each turn", [
            (LAST_WAIT, "    __syncthreads();\n    multiply"),
            ("B + k_tile * TK * N, N);\n", "B + k_tile * TK * N, N);\n        wait_all();\n")],
         "it fails with one k-tile only"),
        ("no wait in the loop", [("        wait_all();\n        __syncthreads();\n", "        __syncthreads();\n")],
         "wait_all"),
        ("a loop that always makes a turn", [
            ("for (int k_tile = 1; k_tile < K / TK; ++k_tile) {", "int k_tile = 1;\n    do {"),
            ("        load(As, A + k", "        if (k_tile * TK < K) load(As, A + k"),
            ("        load(Bs, B + k", "        if (k_tile * TK < K) load(Bs, B + k"),
            ("    }\n    wait_all();\n    __syncthreads();\n    multiply(acc",
             "    } while (++k_tile < K / TK);\n    wait_all();\n    __syncthreads();\n    multiply(acc")],
         "it fails with one k-tile only"),
        ("second barrier lost", [(READ_LAST, "")], "a slow warp still multiplies"),
        ("twice the bytes", [("TM * TK * sizeof(float)]", "2 * TM * TK * sizeof(float)]")], "have 8192 bytes"),
        ("loop from 0", [("int k_tile = 1;", "int k_tile = 0;")], "follow k_tile"),
        ("last k-tile not multiplied", [(LAST_WAIT + "(acc, As, Bs, m, n);", "")], "follow k_tile"),
    ],
}  # fmt: skip
