"""The exercises of the bank for lesson 00."""

from tests.lessons import solved_numbers
from tests.lessons.tables import answers_beside

NEXT = "    if (t == 0 && i + 64 < n)\n        tile[64] = x[i + 64];\n"
ADD = "            tile[t] += tile[t + half];                // 256 numbers become 128, then 64, 32, ...\n"
IF_ADD = "        if (t < half)\n" + ADD
TURN = "    for (int half = 128; half > 0; half /= 2) {\n" + IF_ADD + "        __syncthreads();\n    }\n"
COPIED = "    __syncthreads();\n    for (int half"

RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
SOLVED = {"00.11": solved_numbers, "00.12": solved_numbers}
