"""The exercises of the bank for lesson 03."""

from tests.lessons import solved_numbers
from tests.lessons.tables import answers_beside

FRAGMENTS = """            alignas(16) float a[4], b[4];             // fragments
            *(float4*)a = *(float4*)&As[buffer][k][m];
            *(float4*)b = *(float4*)&Bs[buffer][k][n];
"""
OUT = "        *(float4*)&C[j * M] = make_float4(acc[j][0], acc[j][1], acc[j][2], acc[j][3]);\n"
LOAD = "load((k + 1) % TK, (k_tile + (k + 1) / TK) % 2, (k + 1) % 2);"
OLD_LOAD = "load((k + 1) % TK, k_tile % 2, (k + 1) % 2);"
NEXT_DONE = """            if (k == TK - 1) {
                wait_all();
                __syncthreads();                      // the next k-tile is complete
            }
"""
BARRIER = "        __syncthreads();                              // all parts of this k-tile have landed\n"
ISSUE = "        if (k_tile + 1 < k_tiles)\n            issue(k_tile + 1);\n"
MULTIPLY = "        multiply(k_tile % 2);\n"
IN_LOOP = "        wait_all();\n" + BARRIER + ISSUE + MULTIPLY

MEET = "        __syncthreads();                              // this piece is complete, the other buffer is free\n"
NEXT = "        if (piece + 1 < pieces) issue(piece + 1);\n"
ADD = """        for (int i = threadIdx.x; i < PIECE; i += THREADS) {
            float v = buffers[piece % 2][i];
            sum += v * v;
        }
"""
TURNS = f"""    issue(0);
    for (int piece = 0; piece < pieces; ++piece) {{
        wait_all();
{MEET}{NEXT}{ADD}    }}
"""

REMARKED = {
    "03.14": [
        (
            "one more behind the math",
            [(MULTIPLY, MULTIPLY + "        __syncthreads();\n")],
            "in line 32 can go",
        )
    ],
    "03.15": [
        (
            "three barriers",
            [(NEXT, "        __syncthreads();\n" + NEXT + "        __syncthreads();\n")],
            "can go",
        )
    ],
}
RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
SOLVED = {"03.11": solved_numbers, "03.14": solved_numbers, "03.15": solved_numbers}
