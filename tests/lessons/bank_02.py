"""The exercises of the bank for lesson 02."""

from tests.lessons import solved_numbers
from tests.lessons.tables import answers_beside

START = """        if (p + 3 < pieces)
            copy_async<4>(&slots[(p + 3) % 4][t], &in[64 * (p + 3) + t]);
"""
COMMIT = "        commit_group();                               // in every turn, also when there was nothing to copy\n"
WAIT = (
    "        wait_group<3>();                              "
    "// the newest three may be on their way; piece p is older\n"
)
SAY_FULL = "named_arrive<64>(FULL + (piece - 1) % SLOTS);"
BEFORE = "                wait_group<1>();                      // the piece before this one has landed\n"
WHOLE = "            if (piece > 0) {\n" + BEFORE + "                " + SAY_FULL + "\n            }\n"
LAST = "        wait_all();\n        named_arrive<64>(FULL + (pieces - 1) % SLOTS);\n"

GAPS = ["02.12"]
REMARKED = {
    "02.13": [
        (
            "the consumers wait too",
            [("named_arrive<96>(EMPTY)", "named_sync<96>(EMPTY)")],
            "barrier 2 both sides wait",
        ),
    ],
}
RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
SOLVED = {"02.11": solved_numbers, "02.13": solved_numbers}
