"""The exercises of the bank for lesson 01."""

from tests.lessons import solved_numbers
from tests.lessons.tables import answers_beside

PIECE = """    if (4 * i + 3 < n) {                              // four floats that all exist
        float4 v = *(const float4*)&x[4 * i];
        *(float4*)&y[4 * i] = make_float4(a * v.x, a * v.y, a * v.z, a * v.w);
    }"""
REST = """ else {                                          // at most three are left
        for (int j = 4 * i; j < n; ++j)
            y[j] = a * x[j];
    }
"""
BODY = PIECE + REST
LOAD = "        tile[i / 32][i % 32] = A[i % 32 + (i / 32) * M];\n"
TILE = "tile[32][33];                    // 33: a row and a column both go through all banks"
BARRIER = "    __syncthreads();\n"
SUMS_COPY = """    for (int i = t; i < 64 * 32; i += 256)
        tile[i] = x[i];                               // neighbours read neighbours
"""
SUMS_COMPLETE = "    __syncthreads();                                  // the tile is complete\n"
SUMS_ADD_UP = """    if (t < 32) {
        float sum = 0;
        for (int m = 0; m < 64; ++m)
            sum += tile[m + t * 64];
        sums[t] = sum;
    }
"""

GAPS = ["01.12", "01.13", "01.16"]
RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
SOLVED = {"01.11": solved_numbers, "01.14": solved_numbers, "01.15": solved_numbers}
