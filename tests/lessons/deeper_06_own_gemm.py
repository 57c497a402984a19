"""What goes deeper from lesson 06: a GEMM of one's own, by the checklist."""

from tests.lessons.own_gemm import STORE, solved_own

NOTEBOOK = "06_own_gemm"
DTYPE = "float16"


def _own(skeleton, solution, changes=()):
    """The solution with the launch that its text names."""
    of_64 = ("launch", {"tile": (128, 128, 64), "shared_mem": 3 * 256 * 64 * 2})
    return solved_own(skeleton, solution, [of_64, *changes])


SOLVED = {"06.7": _own}

SHORT = [("TK = 64", "TK = 32"), ("launch", {"tile": (128, 128, 32), "shared_mem": 3 * 256 * 32 * 2})]

RIGHT_ANSWERS = {
    "06.7": [
        ("two slots", [("STAGES = 3", "STAGES = 2"), ("launch", {"shared_mem": 2 * 256 * 64 * 2})]),
        ("more shared memory than is needed", [("launch", {"shared_mem": 100_000})]),
    ]
}
WRONG_ANSWERS = {
    "06.7": [
        ("k-tiles of 32", SHORT, "still on the checklist: overhead"),
        ("no swizzle of its own", [("swizzled<TK>(row, chunk));", "row * TK + chunk * 8);")],
         "written in one way and read in another"),
        ("not unrolled", [("        for (int step", "        #pragma unroll 1\n        for (int step")],
         "must be a constant"),
        ("a guard off by one", [("row < M &&", "row <= M &&")], "rows of C behind M are stored"),
        ("no guard for columns", [(STORE, STORE.replace(" && column < N", ""))], "they lie in the next row"),
    ]
}  # fmt: skip
