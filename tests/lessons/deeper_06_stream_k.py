"""What goes deeper from lesson 06: stream-K, a scheduler, and products of one size in one launch.
tests/matmul/test_tail.py runs the other kernels."""

import numpy as np

from tests.kernels.case import poison, random
from tests.lessons import solved_function

NOTEBOOK = "06_stream_k"
DTYPE = "float16"

SOLVED = {"06.5": solved_function("tile_of")}


def _batch(integers):
    """Three products of 100 x 130 x 72 with five blocks; float32 sums, in an order of the tensor cores' own."""

    def make():
        A, B = (random(seed).randn(3, size, 72).astype("f2") for seed, size in ((5, 100), (6, 130)))
        A, B = (np.rint(2 * x) if integers else x for x in (A, B))
        return [A, B, poison((3, 100, 130), "f2"), *map(np.int32, (3, 100, 130, 72))]

    def product(args):
        C = args[0].astype("f4") @ args[1].astype("f4").transpose(0, 2, 1)
        return {2: C.astype("f2")}

    return make, (5,), (128,), product, 3 * 128 * 64 * 2, not integers


OTHERS = {"batch": _batch}

FIRST = "first = number // (group * across) * group        # row of this group"
ROWS = "rows = min(group, down - first)"
INSIDE = "inside = number % (group * across)"
ROW, COLUMN = "row = first + inside % rows", "column = inside // rows"
RETURN = "return row, column"

RIGHT_ANSWERS = {
    "06.5": [
        ("a list", [(RETURN, "return [row, column]")]),
        ("divmod", [(COLUMN, "column, row = divmod(inside, rows)"), (RETURN, "return first + row, column")]),
        ("what is left", [(INSIDE, "inside = number - first * across")]),
        ("a test in place of min", [(ROWS, "rows = group if first + group <= down else down % group")]),
        (
            "a loop over groups",
            [
                (FIRST, "first = 0"),
                (ROWS, "rows = min(group, down)"),
                (
                    INSIDE,
                    "inside = number\n    while inside >= rows * across:\n        inside -= rows * across\n"
                    "        first += rows\n        rows = min(group, down - first)",
                ),
            ],
        ),
        (
            "a list of all tiles",
            [
                (
                    RETURN,
                    "order = [(r, c) for f in range(0, down, group) for c in range(across) "
                    "for r in range(f, min(f + group, down))]\n    return order[number]",
                )
            ],
        ),
        ("numbers of NumPy", [(RETURN, "import numpy as np\n    return np.int64(row), np.int32(column)")]),
    ]
}  # fmt: skip
WRONG_ANSWERS = {
    "06.5": [
        ("every group is full", [(ROWS, "rows = group")], "how many rows has it"),
        ("the last group is as long as C", [(ROWS, "rows = min(group, down)")], "how many rows has it"),
        (
            "along the rows of a group",
            [(ROW, "row = first + inside // across"), (COLUMN, "column = inside % across")],
            "all their columns come before",
        ),
        ("row by row", [(RETURN, "return number // across, number % across")], "all their columns come before"),
        ("column by column", [(RETURN, "return number % down, number // down")], "all their columns come before"),
        (
            "groups of columns",
            [("tile_of(number, down, across,", "tile_of(number, across, down,"), (RETURN, "return column, row")],
            "over all columns",
        ),
        ("the column first", [(RETURN, "return column, row")], "return row, column"),
        ("from one on", [(RETURN, "return row + 1, column + 1")], "does not have"),
        ("the group's row forgotten", [(ROW, "row = inside % rows")], "add the first row of the group"),
        ("the first tile twice", [("    first =", "    number = max(number - 1, 0)\n    first =")], "comes 2 times"),
        ("groups of 16 only", [("    first =", "    group = 16\n    first =")], ""),
        ("upwards in a group", [(ROW, "row = first + rows - 1 - inside % rows")], "every tile comes once"),
        ("/", [(COLUMN, "column = inside / rows")], "/ makes a float"),
        ("16 always", [(FIRST, "group = 16\n    " + FIRST)], "use the argument group"),
        ("up and down", [(RETURN, "return (2 * first + rows - 1 - row if column % 2 else row), column")],
         "begins at the group's first row"),
        ("no default", [("group=16", "group")], "keep group=16"),
        ("another default", [("group=16", "group=8")], "keep group=16"),
        ("one number", [(RETURN, "return row")], "return row, column"),
        ("a gap", [(COLUMN, "column = None")], "which of its tiles"),
        ("a typo", [(COLUMN, "column = inside // row_s")], "stops with NameError"),
    ]
}  # fmt: skip
