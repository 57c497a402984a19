"""What goes deeper from lesson 06: the parts of `matmul`. Their templates are run by tests/matmul."""

from tests.lessons import solved_function
from tests.lessons.tables import right_answers, variants, wrong_answers

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
    """
06.9
    a row for each warp
        $BODY -> $BY_WARPS
    a row for each block, two loops
        $BODY -> $BY_BLOCKS
    numbers, then zeros
        - $BODY
        + $NUMBERS
        +     int zeros = stride - width;
        +     if (zeros)
        +         for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * zeros; i += gridDim.x * blockDim.x)
        +             to[i / zeros * stride + width + i % zeros] = 0;
    a while loop
        - $LOOP…
        + int i = blockIdx.x * 256 + threadIdx.x;
        +     while (i < rows * stride) {…
        - $STORE
        + $STORE
        +         i += gridDim.x * 256;
    two dimensions counted on
        - $BODY
        +     int all = gridDim.x * 256, row = 0, column = blockIdx.x * 256 + threadIdx.x;
        +     for (;;) {
        +         while (column >= stride) { column -= stride; ++row; }
        +         if (row >= rows) return;
        +         to[row * stride + column] = column < width ? from[row * width + column] : 0;
        +         column += all;
        +     }
    clamped
        - $STORE
        +         unsigned short value = from[row * width + min(column, width - 1)];
        +         to[i] = value * (column < width);
""",
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
} | wrong_answers("""
06.9
    no guard: nothing may be read
        $VALUE -> from[row * width + column]
    rows of `from` by stride: begins at row * width
        from[row * width -> from[row * stride
    rows of `to` by width: has one place
        to[i] -> to[row * width + column]
    rows of `to` by width, no zeros: must become zeros
        - $BODY
        +     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * width; i += gridDim.x * blockDim.x)
        +         to[i / width * width + i % width] = from[i];
    no zeros: must become zeros
        $BODY -> $NUMBERS
    zeros in the last row only: not what comes next
        $VALUE -> row * width + column < rows * width ? from[row * width + column] : 0
    the copy in one piece: begins at row * stride
        $VALUE -> i < rows * width ? from[i] : 0
    no loop: how far does it step
        - $LOOP…
        + int i = $START;
        +     if (i < rows * stride) {…
    one block: how far does it step
        i += gridDim.x * blockDim.x -> i += rows * stride
    no end: behind the end of `to`
        i < rows * stride -> true
    an element too many: behind the last row
        i < rows * stride -> i <= rows * stride
    rows of the launch: fewer blocks than rows
        $BODY -> $ONE_ROW_EACH
    only row 0: fewer blocks than rows
        $BODY -> $ONLY_ROW_0
    no loop in a row: how far does it step
        - $BODY
        +     int warp = (blockIdx.x * 256 + threadIdx.x) / 32, warps = gridDim.x * 8;
        +     for (int row = warp; row < rows; row += warps)
        +         for (int column = threadIdx.x % 32; column < stride; column += stride)
        +             to[row * stride + column] = column < width ? from[row * width + column] : 0;
    zeros everywhere first: has one place
        - $BODY
        +     for (int i = threadIdx.x; i < rows * stride; i += 256) to[i] = 0;
        + $NUMBERS
    the block forgotten: how far does it step
        $START -> threadIdx.x
    all blocks copy all: copied more than once
        $START -> threadIdx.x
        $STEP -> blockDim.x
    all threads copy all: copied more than once
        $START -> 0
        $STEP -> 1
    one thread: one thread copies for many
        $LOOP -> for (int i = 0; i < rows * stride && blockIdx.x + threadIdx.x == 0; ++i) {
    a row for each thread: neighbouring elements of a row
        - $BODY
        +     for (int row = blockIdx.x * 256 + threadIdx.x; row < rows; row += gridDim.x * 256)
        +         for (int column = 0; column < stride; ++column)
        +             to[row * stride + column] = column < width ? from[row * width + column] : 0;
    columns and rows mixed up: stands in row i / stride
        $PLACE -> column = i / rows, row = i % rows
    divided by width: nothing may be read
        $PLACE -> row = i / width, column = i % width
    ones behind the row: should be zeros
        : 0; -> : 1;
    endless: a loop has no end
        i += gridDim.x * blockDim.x -> i += 0
""", **globals())  # fmt: skip
