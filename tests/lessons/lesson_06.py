"""Lesson 06: waves, the share of a block, and what orders sums that change blocks."""

from tests.lessons import solved_function

NOTEBOOK = "06_complete_gemm"
DTYPE = "float16"
SOLVED = {"06.2": solved_function("waves"), "06.3": solved_function("share")}

TILES = "-(-M // TM) * -(-N // TN)  "
COUNT = "-(-tiles // places)"
IDLE = "(count * places - tiles) / places"
ROW, BEGIN, END = (
    "row = tiles * k_tiles",
    "begin = row * block // blocks",
    "end = row * (block + 1) // blocks",
)
FINISHES = "[tile for tile in range(tiles) if begin < (tile + 1) * k_tiles <= end]"
TEST = "begin < (tile + 1) * k_tiles <= end"
RETURN = "return begin, end, finishes"
WROTE = "__syncthreads();                              // all have written"
RAISED = "if (t == 0) release(flag);"
LOOK = """if (t == 0)
            while (!acquired(flag)) {}"""
KNOW = "__syncthreads();                              // all know"
LEAVE, TAKE = f"{WROTE}\n        {RAISED}", f"{LOOK}\n        {KNOW}"
LEAVES = "the link from the writes to the release is missing"
TAKES = "the link from the acquire to the reads is missing"

RIGHT_ANSWERS = {
    "06.2": [
        (
            "with ceil",
            [
                ("def waves", "from math import ceil\ndef waves"),
                (TILES, "ceil(M / TM) * ceil(N / TN)"),
                (COUNT, "ceil(tiles / places)"),
            ],
        ),
        ("by what the last one has", [(IDLE, "1 - (tiles - (count - 1) * places) / places")]),
        ("by the remainder", [(IDLE, "-tiles % places / places")]),
        ("by a test", [(IDLE, "1 - tiles % places / places if tiles % places else 0")]),
        ("as a float", [(COUNT, "float(-(-tiles // places))")]),
        ("as a fraction", [(IDLE, "__import__('fractions').Fraction(count * places - tiles, places)")]),
    ],
    "06.3": [
        (
            "longer shares first",
            [
                (BEGIN, "begin = block * (row // blocks) + min(block, row % blocks)"),
                (END, "end = begin + row // blocks + (block < row % blocks)"),
            ],
        ),
        (
            "cuts rounded up",
            [(BEGIN, "begin = -(-row * block // blocks)"), (END, "end = -(-row * (block + 1) // blocks)")],
        ),
        ("by division", [(FINISHES, "list(range(begin // k_tiles, end // k_tiles))")]),
        (
            "a set",
            [
                (
                    FINISHES,
                    "{k_tile // k_tiles for k_tile in range(begin, end) if k_tile % k_tiles == k_tiles - 1}",
                )
            ],
        ),
        ("backwards, as it works", [(FINISHES, FINISHES + "[::-1]")]),
        (
            "numbers of NumPy",
            [(RETURN, "import numpy as np\n    return np.int64(begin), np.int32(end), np.array(finishes)")],
        ),
    ],
    "06.10": [
        ("every thread looks", [(LOOK, "while (!acquired(flag)) {}"), (KNOW, "")]),
        (
            "the last thread",
            [
                (RAISED, RAISED.replace("0", "int(blockDim.x) - 1")),
                (LOOK, LOOK.replace("0", "int(blockDim.x) - 1")),
            ],
        ),
        (
            "do and while",
            [
                (
                    LOOK,
                    "if (t == 0) {\n            int up;\n            do up = acquired(flag); while (!up);\n        }",
                )
            ],
        ),
        (
            "all threads wait together",
            [(TAKE, "while (!__syncthreads_or(t == 0 && acquired(flag))) {}")],
        ),
        (
            "pauses that grow",
            [
                (
                    LOOK,
                    "if (t == 0)\n            for (unsigned ns = 8; !acquired(flag); ns = ns < 256 ? 2 * ns : ns)\n"
                    "                __nanosleep(ns);",
                )
            ],
        ),
        (
            "counts its looks",
            [
                (LOOK, "int looks = 0;\n        if (t == 0)\n            while (!acquired(flag)) ++looks;"),
                (KNOW, "__syncthreads();\n        if (looks == 7) C[t] = looks;"),
            ],
        ),
        (
            "fences, too",
            [
                (WROTE, "__threadfence();\n        __syncthreads();"),
                (KNOW, "__syncthreads();\n        __threadfence();"),
            ],
        ),
    ],
}
WRONG_ANSWERS = {
    "06.2": [
        ("rounded down", [(COUNT, "tiles // places")], "left over need a wave"),
        ("not rounded", [(COUNT, "tiles / places")], "about as long as a full one"),
        ("one more", [(COUNT, "tiles // places + 1")], "do not add 1"),
        ("at_once forgotten", [("sms * at_once", "sms")], "has `at_once` blocks"),
        ("at_once on the wrong side", [("sms * at_once", "sms / at_once")], "fewer waves"),
        ("132 always", [("sms * at_once", "132 * at_once")], "sms is an argument"),
        ("one SM", [("sms * at_once", "at_once")], "all SMs"),
        ("tiles", [(COUNT, "tiles")], "are one wave"),
        ("area", [(TILES, "M * N / (TM * TN)"), (COUNT, "-int(-tiles // places)")], "in each direction"),
        ("tiles rounded down", [(TILES, "(M // TM) * (N // TN)")], "reaches over the edge"),
        ("sides exchanged", [(TILES, "-(-M // TN) * -(-N // TM)  ")], "TM rows of C"),
        ("the busy share", [(IDLE, "1 - (count * places - tiles) / places")], "1 minus that"),
        ("the remainder", [(IDLE, "tiles % places / places")], "1 minus that"),
        ("a full wave is idle", [(IDLE, "1 - tiles % places / places")], "full, not empty"),
        ("percent", [(IDLE, "100 * (count * places - tiles) / places")], "from 0 to 1"),
        ("places", [(IDLE, "count * places - tiles")], "divide by all places"),
        ("of all waves", [(IDLE, "1 - tiles / (count * places)")], "the places of one wave"),
        ("of SMs", [(IDLE, "-tiles % sms / sms")], "sms * at_once places"),
        ("something else", [(IDLE, "0.5")], "how many of these are empty"),
        ("only the waves", [("return count, idle", "return count")], "return count, idle"),
        ("a gap left", [(IDLE, "None")], "tiles first"),
        ("a text", [(IDLE, "f'{-tiles % places / places:%}'")], "plain numbers"),
        ("no default", [(", sms=132", ", sms")], "with and without sms"),
    ],
    "06.3": [
        ("places as floats",
         [(BEGIN, "begin = int(row / blocks * block)"), (END, "end = int(row / blocks * (block + 1))")],
         "a float is not exact"),
        ("length rounded down", [(BEGIN, "begin = row // blocks * block"), (END, "end = begin + row // blocks")],
         "drops the rest"),
        ("length rounded up", [(BEGIN, "begin = -(-row // blocks) * block"), (END, "end = begin - (-row // blocks)")],
         "reaches over the end"),
        ("length rounded up, cut off", [(BEGIN, "begin = min(-(-row // blocks) * block, row)"),
                                        (END, "end = min(begin - (-row // blocks), row)")],
         "no share be two k-tiles longer"),
        ("the last one takes the rest", [(BEGIN, "begin = row // blocks * block"),
                                         (END, "end = row if block == blocks - 1 else begin + row // blocks")],
         "no share be two k-tiles longer"),
        ("whole tiles for each", [(BEGIN, "begin = tiles * block // blocks * k_tiles"),
                                  (END, "end = tiles * (block + 1) // blocks * k_tiles")],
         "no share be two k-tiles longer"),
        ("the last k-tile, not the one behind", [(END, "end = row * (block + 1) // blocks - 1")], "*behind* the last"),
        ("two have one", [(BEGIN, "begin = max(row * block // blocks - 1, 0)")], "two blocks would make one k-tile"),
        ("from 1", [(BEGIN, "begin = row * block // blocks + 1"), (END, "end = row * (block + 1) // blocks + 1")],
         "counted from 0"),
        ("tiles that lie in it", [(TEST, "begin <= tile * k_tiles and (tile + 1) * k_tiles <= end")],
         "begun by another block"),
        ("tiles it touches", [(TEST, "begin < (tile + 1) * k_tiles and tile * k_tiles < end")],
         "two blocks would store"),
        ("tiles that begin in it", [(TEST, "begin <= tile * k_tiles < end")], "*last* k-tile"),
        ("a tile that ends with it", [(TEST, "begin < (tile + 1) * k_tiles < end")], "may end where a tile ends"),
        ("a tile that ended before", [(TEST, "begin <= (tile + 1) * k_tiles <= end")], "finished by the block before"),
        ("half tiles", [("[tile for", "[tile + 0.5 for")], "tiles are whole numbers"),
        ("texts", [("[tile for", "[str(tile) for")], "tiles are whole numbers"),
        ("each tile twice", [("[tile for", "2 * [tile for")], "name it once"),
        ("one tile too many", [(FINISHES, "list(range(begin // k_tiles, end // k_tiles + 1))")], "draw five tiles"),
        ("one tile, not a list", [(FINISHES, "(end - 1) // k_tiles")], "no tile, one, or several"),
        ("a float", [(BEGIN, "begin = row * block / blocks")], "makes a float"),
        ("two things", [(RETURN, "return begin, end")], "return begin, end, finishes"),
        ("for four blocks", [(ROW, "row, blocks = tiles * k_tiles, 4")], ""),
        ("a typo", [(ROW, "row = tile * k_tiles")], "whole numbers"),
    ],
    "06.10": [
        ("no barrier before the flag", [(WROTE, "")], LEAVES),
        ("the flag first", [(LEAVE, f"{RAISED}\n        __syncthreads();")], LEAVES),
        ("no barrier behind the wait", [(KNOW, "")], TAKES),
        ("the barrier before the wait", [(LOOK, "__syncthreads();"), (KNOW, LOOK)], TAKES),
        ("no wait", [(LOOK, "")], "Is there a loop, and when does it end?"),
        ("looks once", [(LOOK, "if (t == 0) acquired(flag);")], "Is there a loop, and when does it end?"),
        ("a barrier of one thread", [
            (LEAVE, "if (t == 0) {\n            __syncthreads();\n            release(flag);\n        }")],
         "outside of the if of one thread"),
        ("whoever finds no flag returns", [(TAKE, "if (!acquired(flag)) return;")],
         "go on only then"),
        ("looks once, and then turns", [(LOOK, "if (t == 0)\n            for (int up = acquired(flag); !up;) {}")],
         "go on only then"),
        ("waits while the flag is up", [(LOOK, LOOK.replace("!acquired", "acquired"))],
         "Is there a loop, and when does it end?"),
        ("waits for the sums", [(LOOK, "while (isnan(*(volatile float*)&left[t])) {}")],
         "Is there a loop, and when does it end?"),
        ("looks twenty times, with pauses", [
            (LOOK, "if (t == 0)\n            for (int i = 0; i < 20 && !acquired(flag); ++i) __nanosleep(1000);")],
         "Is there a loop, and when does it end?"),
        ("looks fifty times", [
            (LOOK, "if (t == 0)\n            for (int i = 0; i < 50 && !acquired(flag); ++i) {}")],
         "later than any number of looks"),
        ("looks twenty thousand times", [
            (LOOK, "if (t == 0)\n            for (int i = 0; i < 20000 && !acquired(flag); ++i) {}")],
         "later than any number of looks"),
        ("looks two billion times", [
            (LOOK, "if (t == 0)\n            for (int i = 0; i >= 0 && i < 2000000000 && !acquired(flag); ++i) {}")],
         "later than any number of looks"),
        ("looks for some cycles", [
            (LOOK, "long long from = clock64();\n        if (t == 0)\n"
                   "            while (!acquired(flag) && clock64() - from < 100000) {}")],
         "later than any number of looks"),
        ("nobody raises it", [(RAISED, "")], "who in block 0 releases it"),
        ("a plain store", [(RAISED, "if (t == 0) *flag = 1;")], "a plain store is no release"),
        ("a plain load", [(LOOK, "if (t == 0)\n            while (!*(volatile int*)flag) {}")],
         "a plain load is no acquire"),
        ("a plain load, and a fence behind the barrier", [
            (LOOK, "if (t == 0)\n            while (!*(volatile int*)flag) {}"),
            (KNOW, "__syncthreads();\n        __threadfence();")],
         "Behind the barrier it is too late"),
        ("nothing left by blocks of more than 300 threads", [
            (LEAVE, f"if (blockDim.x > 300) return;\n        {LEAVE}")],
         "where blockDim.x should"),
        ("every thread raises it", [(WROTE, ""), (RAISED, "release(flag);")], LEAVES),
        ("a barrier of one warp", [(WROTE, "__syncwarp();")], LEAVES),
        ("a fence in place of the barrier", [(WROTE, "__threadfence();")], LEAVES),
        ("a fence behind the wait", [(KNOW, "__threadfence();")], TAKES),
        ("a barrier of one warp behind the wait", [(KNOW, "__syncwarp();")], TAKES),
        ("block 1 adds up again what block 0 has", [
            (LOOK, ""), (KNOW, "C[t] = sum + sums[t];\n        return;")], "finds those of block 0 in `left`"),
        ("nobody raises it, and nobody looks", [
            (LEAVE, ""), (LOOK, ""),
            (KNOW, "sum += sums[t];\n        C[t] = sum;\n        return;")],
         "the flag is how block 0 says"),
        ("block 0 writes C", [
            (LEAVE, "C[t] = sum + sums[t + blockDim.x];"), (LOOK, "return;"), (KNOW, "")],
         "block 1 takes them, adds and writes C"),
        ("nothing is left", [("left[t] = sum;", ""), ("sum + left[t]", "sum + sums[t]")], "only the two gaps"),
    ],
}  # fmt: skip
