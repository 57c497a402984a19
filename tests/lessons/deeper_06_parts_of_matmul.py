"""What goes deeper from lesson 06: the parts of `matmul`. Their templates are run by tests/matmul."""

from tests.lessons import solved_function
from tests.lessons.tables import beside, right_answers, variants, wrong_answers

NOTEBOOK = "06_parts_of_matmul"
WRONG = {
    "complete": variants("""
tile at the wrong place: out-of-bounds|wrong
    at.x * 128, at.y * 256, 0 -> at.y * 128, at.x * 256, 0
stored at the wrong place: block-conflict|wrong
    at.x * 128, at.y * 256); -> at.x * 128, 0);
k-tiles left out: wrong numbers
    at.y * 256, 0, K -> at.y * 256, 0, K - 64
B's rows of another length: out-of-bounds|wrong
    M, N, K, K} -> M, N, K, N}
C's rows of another length: out-of-bounds|wrong|conflict
    M, N, N} -> M, N, M}
alpha of 2: wrong numbers
    nullptr, 1, 0 -> nullptr, 2, 0
"""),
}
DTYPE = "float16"

SOLVED = {"06.8": solved_function("launch_of")}

GRID = "(M + TM - 1) // TM, (N + TN - 1) // TN"
THREADS = "TM // WM * (TN // WN) * 32"
SHARED = "stages * (TM + TN) * TK * 2"
VALUE = "column < width ? from[row * width + column] : 0"
START, STEP = "blockIdx.x * blockDim.x + threadIdx.x", "gridDim.x * blockDim.x"
PLACE = "row = i / stride, column = i % stride"
LOOP = f"for (int i = {START}; i < rows * stride; i += {STEP}) {{"
ROW_AND_COLUMN = f"        int {PLACE};\n"
STORE = f"        to[i] = {VALUE};\n"
BODY = f"    {LOOP}\n{ROW_AND_COLUMN}{STORE}    }}\n"
NUMBERS = """\
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * width; i += gridDim.x * blockDim.x)
        to[i / width * stride + i % width] = from[i];
"""
BY_WARPS = """\
    int warp = (blockIdx.x * 256 + threadIdx.x) / 32, warps = gridDim.x * 8;
    for (int row = warp; row < rows; row += warps)
        for (int column = threadIdx.x % 32; column < stride; column += 32)
            to[row * stride + column] = column < width ? from[row * width + column] : 0;
"""
ALL_ROWS = "for (int row = blockIdx.x; row < rows; row += gridDim.x)"
BY_BLOCKS = """\
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const unsigned short* source = from + row * width;
        for (int column = threadIdx.x; column < width; column += blockDim.x) to[row * stride + column] = source[column];
        for (int column = width + threadIdx.x; column < stride; column += blockDim.x) to[row * stride + column] = 0;
    }
"""
ONE_ROW_EACH = BY_BLOCKS.replace(ALL_ROWS, "int row = blockIdx.x;\n    if (row < rows)")
ONLY_ROW_0 = BY_BLOCKS.replace("row += gridDim.x", "row += rows")

RIGHT_ANSWERS = {
    "06.8": [
        (
            "with ceil",
            [("def launch_of", "from math import ceil\ndef launch_of"), (GRID, "ceil(M / TM), ceil(N / TN)")],
        ),
        (
            "lists",
            [
                (GRID, "[-(-M // TM), -(-N // TN)]"),
                ("return grid, threads, shared_mem", "return [grid, threads, shared_mem]"),
            ],
        ),
        ("threads by elements", [(THREADS, "32 * TM * TN // (WM * WN)")]),
        ("sizes of both tiles", [(SHARED, "stages * (2 * TM * TK + 2 * TN * TK)")]),
        (
            "room for the sums",
            [(SHARED, "max(stages * (TM + TN) * TK * 2, threads // 32 * WM * (WN + 8) * 4)")],
        ),
    ],
} | right_answers(
    beside(__file__, "right.txt"),
    **globals(),
)

WRONG_ANSWERS = {
    "06.8": [
        ("rounded down", [(GRID, "M // TM, N // TN")], "need a block: round up"),
        ("only N rounded down", [("(N + TN - 1) // TN", "N // TN")], "need a block: round up"),
        ("x and y swapped", [(GRID, "(N + TN - 1) // TN, (M + TM - 1) // TM")], "x counts the tiles down C"),
        ("swapped and rounded down", [(GRID, "N // TN, M // TM")], "x counts the tiles down C"),
        ("one too many", [(GRID, "M // TM + 1, N // TN + 1")], "needs no block more"),
        ("a tile added", [(GRID, "(M + TM) // TM, (N + TN) // TN")], "add tile - 1"),
        ("rounded to the nearest", [(GRID, "round(M / TM), round(N / TN)")], "few rows are used"),
        ("sides of the tile mixed up", [(GRID, "-(-M // TN), -(-N // TM)")], "N by TN"),
        ("tiles of warps", [(GRID, "-(-M // WM), -(-N // WN)")], "one of its warps makes"),
        ("divided by /", [(GRID, "M / TM, N / TN")], "/ makes a float"),
        ("a float, rounded", [(GRID, "float(-(-M // TM)), -(-N // TN)")], "whole numbers"),
        ("a number of blocks", [(GRID, "-(-M // TM) * -(-N // TN)")], "tiles down C, tiles across C"),
        ("a third dimension", [(GRID, "-(-M // TM), -(-N // TN), 1")], "tiles down C, tiles across C"),
        ("a wrong third dimension", [(GRID, "-(-M // TM), -(-N // TN), stages")], "tiles down C, tiles across C"),
        ("something else", [("(M + TM - 1)", "(M + 2 * TM)")], "draw it"),
        ("warps", [(THREADS, "TM // WM * (TN // WN)")], "a warp has 32"),
        ("always 128", [(THREADS, "128")], "as many warps as parts"),
        ("one warp", [(THREADS, "32")], "as many warps as parts"),
        ("warps along M", [(THREADS, "TM // WM * 32")], "times TN / WN"),
        ("warps along N", [(THREADS, "TN // WN * 32")], "times TN / WN"),
        ("warps added", [(THREADS, "(TM // WM + TN // WN) * 32")], "multiply"),
        ("a thread for each element", [(THREADS, "TM * TN")], "count warps first"),
        ("threads by /", [(THREADS, "TM / WM * TN / WN * 32")], "/ makes a float"),
        ("halves", [(SHARED, "stages * (TM + TN) * TK")], "counted in bytes"),
        ("one slot", [(SHARED, "TM * TK * 2 + TK * TN * 2")], "the ring has `stages` slots"),
        ("one slot in halves", [(SHARED, "(TM + TN) * TK")], "and a half has two bytes"),
        ("slots on their way", [(SHARED, "(stages - 1) * (TM + TN) * TK * 2")], "needs a slot, too"),
        ("TM * TN", [(SHARED, "stages * TM * TN * TK * 2")], "TM + TN"),
        ("TM * TN without TK", [(SHARED, "stages * TM * TN * 2")], "TM + TN"),
        ("no TK", [(SHARED, "stages * (TM + TN) * 2")], "has TK elements"),
        ("floats", [(SHARED, "stages * (TM + TN) * TK * 4")], "two bytes each"),
        ("the tile of A", [(SHARED, "stages * TM * TK * 2")], "and a tile of B"),
        ("a gap left", [(SHARED, "None")], "each is made of tile"),
        ("a gap in the grid", [("(M + TM - 1) // TM,", "None,")], "each is made of tile"),
        ("two things", [("return grid, threads, shared_mem", "return grid, threads")], "in this order"),
        ("flat", [("return grid, threads", "return *grid, threads")], "in this order"),
        ("a typo", [(THREADS, "TM // WM * (TN // Wn) * 32")], "warp two"),
    ],
} | wrong_answers(beside(__file__, "wrong.txt"), **globals())  # fmt: skip
