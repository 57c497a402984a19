"""What goes deeper from lesson 06: the notes' own kernel, mended."""

from tests.lessons import replaced, solved_function, solved_kernel

NOTEBOOK = "06_notes_kernel"
DTYPE = "float16"


def _notes(skeleton, solution, changes=()):
    """The mended kernel and its launch; a change may be in either."""
    for old, new in changes:
        solution = replaced(solution, old, new)
    return solved_kernel(skeleton[0], solution), solved_function("notes_launch")(None, solution)


SOLVED = {"06.6": _notes}

BARRIER = "        __syncthreads();                              // all have read this k-tile\n"
OFFSET = "&smem[BLOCK_M * BLOCK_K * sizeof(__half)]"
TURNS, LOADS = "k < (K + BLOCK_K - 1) / BLOCK_K", "        load_tile(As, A, m_start, M, k * BLOCK_K, K);\n"
START = "    load_tile(As, A, m_start, M, 0, K);"
GRID, ROOM = "(N + 127) // 128, (M + 127) // 128", "128 * 16 * 2 + 16 * 128 * 2"


def k_tile_of(size):
    return [("BLOCK_K = 16;", f"BLOCK_K = {size};"), (ROOM, f"2 * 128 * {size} * 2")]


TWO_SLOTS = [
    (BARRIER, ""),
    ("auto mma_sync = [&] {", "auto mma_sync = [&](int slot) {"),
    ("As + m * BLOCK_K, Bs + n * BLOCK_K", "As + slot + m * BLOCK_K, Bs + slot + n * BLOCK_K"),
    ("        mma_sync();\n", "        mma_sync((k - 1) % 2 * 256 * BLOCK_K);\n"),
    ("    mma_sync();\n", "    mma_sync(((K + BLOCK_K - 1) / BLOCK_K - 1) % 2 * 256 * BLOCK_K);\n"),
    ("load_tile(As, A, m_start, M, k", "load_tile(As + k % 2 * 256 * BLOCK_K, A, m_start, M, k"),
    ("load_tile(Bs, B, n_start, N, k", "load_tile(Bs + k % 2 * 256 * BLOCK_K, B, n_start, N, k"),
    (ROOM, "2 * (128 + 128) * 16 * 2"),
]

COMMIT, WAIT = (
    "        commit_group();\n    }\n\n    wait",
    "        wait_group<0>();\n        __syncthreads();\n        mma",
)
BODY = (
    "    float accum[4][8][4] = {};\n",
    "    for (int i = threadIdx.x; i < 128 * 128; i += blockDim.x) {\n"
    "        int row = m_start + i / 128, column = n_start + i % 128;\n"
    "        float one = 0;\n"
    "        for (int k = 0; k < K && row < M && column < N; ++k)\n"
    "            one += float(A[row * K + k]) * float(B[column * K + k]);\n"
    "        if (row < M && column < N) C[row * N + column] = one;\n"
    "    }\n"
    "    return;\n"
    "    float accum[4][8][4] = {};\n",
)
NAIVE = [BODY]
RIGHT_ANSWERS = {
    "06.6": [
        ("a k-tile of 32", k_tile_of(32)),
        ("counted in halves", [(f"reinterpret_cast<__half*>({OFFSET})", "As + BLOCK_M * BLOCK_K")]),
        ("two slots in place of the barrier", TWO_SLOTS),
        ("the barrier first", [(BARRIER, ""), (LOADS, "        __syncthreads();\n" + LOADS)]),
        ("more room than is needed", [(ROOM, "32768")]),
        (
            "the grid turned, in the kernel too",
            [
                (GRID, "-(-M // 128), -(-N // 128)"),
                ("blockIdx.y * BLOCK_M, n_start = blockIdx.x", "blockIdx.x * BLOCK_M, n_start = blockIdx.y"),
            ],
        ),
        ("lists", [(GRID, "[-(-N // 128), -(-M // 128)]"), ("block = 128", "block = (128,)")]),
    ],
}
WRONG_ANSWERS = {
    "06.6": [
        ("no barrier", [(BARRIER, "")], "must stand between math and load"),
        ("a barrier behind the load", [(BARRIER, ""), (COMMIT, COMMIT.replace("}", "    __syncthreads();\n    }"))],
         "must stand between math and load"),
        ("offset in bytes", [(OFFSET, "&smem[BLOCK_M * BLOCK_K]")], "two tiles lie on each other"),
        ("offset of four bytes", [(OFFSET, "&smem[BLOCK_M * BLOCK_K * 4]")], "how many has a row of the tile?"),
        ("a k-tile of 8", k_tile_of(8), "how many has a row of the tile?"),
        ("a k-tile of 8 in more room", [("BLOCK_K = 16;", "BLOCK_K = 8;")], "an mma takes 16 k"),
        ("the launch still for 8", [(ROOM, "128 * 8 * 2 + 8 * 128 * 2")], "does the launch bring room"),
        ("K rounded down", [(TURNS, "k < K / BLOCK_K")], "may be only partly there"),
        ("from k = 0", [("int k = 1;", "int k = 0;")], "right to begin at 1"),
        ("N rounded down", [("(N + 127) // 128", "N // 128")], "columns from 256 on are never written"),
        ("M rounded down", [("(M + 127) // 128", "M // 128")], "rows from 128 on are never written"),
        ("the grid turned", [(GRID, "(M + 127) // 128, (N + 127) // 128")], "x counts tiles along N"),
        ("no wait", [("    wait_group<0>();                                  // epilogue\n", "")], "stand a wait"),
        ("no barrier before the math", [(WAIT, WAIT.replace("        __syncthreads();\n", ""))], "and then a barrier"),
        ("no epilogue", [("    mma_sync();\n    for", "    for")], "and the epilogue the last"),
        ("no launch", [("return grid, block, shared_mem", "return grid, block")], "return grid, block"),
        ("one block more, always", [(GRID, "N // 128 + 1, M // 128 + 1")], "needs no block more"),
        ("one column of blocks more", [(GRID, "-(-N // 128) + 1, -(-M // 128)")], "needs no block more"),
        ("a k-tile of zeros more", [(TURNS, "k < K / BLOCK_K + 1")], "rounding up adds nothing there"),
        ("one thread for each element", NAIVE, "repair what is around it"),
        ("nothing for a long K", [(START, "    if (K > 200) return;\n" + START)], "a number stands in the kernel"),
        ("four blocks alone", [(START, "    if (blockIdx.x > 3) return;\n" + START)], "a number stands in the kernel"),
        ("a grid of zero", [(GRID, "N // 512, M // 512")], "round up"),
    ],
}  # fmt: skip
