"""Lesson 06, sitting 1: three guards for the ring."""

from tests.lessons.own_gemm import K_TILES, ROWS, SMALL, STORE, WIDE, solved_own

NOTEBOOK = "06_complete_gemm"
DTYPE = "float16"
SOLVED = {"06.1": solved_own}

COPY = """        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
                     :: "r"(to + i * TK * 2), "l"(from + i * K), "r"(i < rows ? 16 : 0) : "memory");
"""
BY_STORES = """        if (i < rows) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                                   :: "r"(to + i * TK * 2), "l"(from + i * K) : "memory");
        else *(uint4*)(tile + swizzled<TK>(row, chunk) + i * TK) = make_uint4(0, 0, 0, 0);
"""
NOT_COPIED = """        if (i < size - first - row)
            asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
                         :: "r"(to + i * TK * 2), "l"(from + i * K), "r"(k + chunk * 8 < K ? 16 : 0) : "memory");
"""
EXISTING_ROW = """        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
                     :: "r"(to + i * TK * 2), "l"(from + (first + row + i < size ? i : size - 1 - first - row) * K),
                        "r"(k + chunk * 8 < K ? 16 : 0) : "memory");
"""
B_TOO = "            copy_tile<TN>"
COPY_OF_A = "            copy_tile<TM>(slot, A, m_tile, M, k_tile * TK, K);\n"
ISSUE = """        wait_group<STAGES - 2>();
        __syncthreads();
        issue(k_tile + STAGES - 1);
"""
COMMIT = "        commit_group();\n    };"
TILE = "    float sum[4][8][4] = {};\n"
MULTIPLY = "            multiply(sum, a, b);"
BEHIND = f"{MULTIPLY}\n        }}\n"
BY_HAND = """    if (m_tile + TM > M || n_tile + TN > N || K % TK) {
        for (int i = threadIdx.x; i < TM * TN; i += THREADS) {
            int row = m_tile + i / TN, column = n_tile + i % TN;
            float one = 0;
            if (row >= M || column >= N) continue;
            for (int k = 0; k < K; ++k) one += float(A[row * K + k]) * float(B[column * K + k]);
            C[row * N + column] = one;
        }
        return;
    }
"""

ZEROS_OR_A_CHUNK = [  # of which another chunk is read behind K: one that exists
    ("template <int ROWS>", "template <int ROWS, bool ZEROS = true>"),
    (ROWS, "!ZEROS || k + chunk * 8 < K ? size - first - row : 0"),
    (
        "matrix + (first + row) * K + k + chunk * 8;",
        "matrix + (first + row) * K + (k + chunk * 8 < K ? k + chunk * 8 : 0);",
    ),
]

RIGHT_ANSWERS = {
    "06.1": [
        ("two slots", [*SMALL, ("STAGES = 3", "STAGES = 2")]),
        (
            "two sums at once where N is even",
            [*SMALL, (STORE, f"if (N % 2 == 0) {{ {WIDE} }}\n else {STORE}")],
        ),
        ("a row that exists", [*SMALL, (COPY, EXISTING_ROW)]),
        ("zeros stored", [*SMALL, (COPY, BY_STORES)]),
        ("no groups left", [*SMALL, ("wait_group<STAGES - 2>", "wait_group<0>")]),
        ("without min", [*SMALL, (K_TILES, "K / TK + (K % TK > 0)")]),
    ]
}
WRONG_ANSWERS = {
    "06.1": [
        ("ends after 32 k-tiles", [*SMALL, (K_TILES, "(min(K, 1024) + TK - 1) / TK")],
         "does a number stand where the number of k-tiles"),
        ("a guard off by one", [*SMALL, ("row < M &&", "row <= M &&")], "rows of C behind M are stored"),
        ("limits exchanged", [*SMALL, ("row < M && column < N", "row < N && column < M")], "is the first"),
        ("no guard for rows", [*SMALL, ("row < M && column < N", "column < N")], "rows of C behind M are stored"),
        ("no guard for columns", [*SMALL, ("row < M && column < N", "row < M")], "they lie in the next row"),
        ("a thread without a row ends", [*SMALL, (TILE, "    if (m_tile + m + lane / 4 >= M) return;\n" + TILE)],
         "must still come to each barrier"),
        ("a warp without rows ends", [(TILE, "    if (m_tile + m >= M || n_tile + n >= N) return;\n" + TILE)],
         "Do all threads still copy"),
        ("K rounded down", [*SMALL, (K_TILES, "K / TK")], "one more turn"),
        ("no zeros behind K", [*SMALL, (ROWS, "size - first - row")], "how many bytes may cp.async read"),
        ("rows that are not there left as they are", [*SMALL, (COPY, NOT_COPIED)], "nobody has written the rows"),
        ("zeros in A alone", [*SMALL, *ZEROS_OR_A_CHUNK, ("copy_tile<TN>", "copy_tile<TN, false>")],
         "a zero in one operand is not enough"),
        ("zeros in B alone", [*SMALL, *ZEROS_OR_A_CHUNK, ("copy_tile<TM>", "copy_tile<TM, false>")],
         "a zero in one operand is not enough"),
        ("rows that are not there", [*SMALL, (ROWS, "k + chunk * 8 < K ? ROWS : 0")], "rows of A behind M are read"),
        ("only B's rows are guarded", [*SMALL, ("A, m_tile, M,", "A, m_tile, 1 << 20,")],
         "rows of A behind M are read"),
        ("only A's rows are guarded", [*SMALL, ("B, n_tile, N,", "B, n_tile, 1 << 20,")],
         "rows of B behind N are read"),
        ("the last k-tile", [*SMALL, ("k_tile < k_tiles; ++k_tile) {", "k_tile < k_tiles - 1; ++k_tile) {")],
         "without the last k-tile"),
        ("a race in the ring", [("        __syncthreads();\n        issue", "        issue")], "between"),
        ("issues before the barrier",
         [(ISSUE, "        issue(k_tile + STAGES - 1);\n        wait_group<0>();\n        __syncthreads();\n")],
         "What must stand between math and load"),
        ("src-size in halves", [*SMALL, ("i < rows ? 16 : 0", "i < rows ? 8 : 0")], "in halves or in bytes"),
        ("as many bytes as are left in a row",
         [*SMALL, (ROWS, "size - first - row"), ("i < rows ? 16 : 0", "i < rows ? (K - k - chunk * 8) * 2 : 0")],
         "its last number goes from 0 to 16"),
        ("a negative number of bytes behind K",
         [*SMALL, (ROWS, "size - first - row"),
          ("i < rows ? 16 : 0", "i < rows ? min(16, (K - k - chunk * 8) * 2) : 0")],
         "below 0 is billions"),
        ("a negative number of bytes behind M",
         [*SMALL, ("i < rows ? 16 : 0", "min(16, (rows - i) * 16)")], "below 0 is billions"),
        ("rows of C lie M apart", [*SMALL, ("C[row * N + column]", "C[row * M + column]")],
         "how far apart are two rows of C"),
        ("a wait too late", [*SMALL, ("wait_group<STAGES - 2>", "wait_group<STAGES - 1>")], "stand a wait"),
        ("two sums at once", [*SMALL, (STORE, WIDE)], "a wide store needs that"),
        ("a turn too many", [*SMALL, (K_TILES, "(K + TK - 1) / TK + 1")], "no guard stands in the math"),
        ("nothing is on its way", [*SMALL, (COMMIT, COMMIT.replace(";", ";\n        wait_group<0>();", 1))],
         "before an earlier one is multiplied"),
        ("the edges without the ring", [*SMALL, (TILE, BY_HAND + TILE)], "on tensor cores, at every edge"),
        ("each k-tile twice", [*SMALL, (B_TOO, COPY_OF_A + B_TOO)], "by two copies of one k-tile"),
        ("four slots in the room of three", [("STAGES = 3", "STAGES = 4")], "as all slots take"),
        ("half of a k-step", [*SMALL, (ROWS, "k + chunk * 8 + 8 < K ? size - first - row : 0")], "half a k-step"),
        ("too little shared memory", [*SMALL, ("launch", {"shared_mem": 8192})], "as all slots take"),
        ("rows and columns of a sum exchanged",
         [*SMALL, ("16 * i + e / 2", "16 * i + e % 2"), ("% 4 * 2 + e % 2", "% 4 * 2 + e / 2")], "the wrong places"),
        ("B is compared with M", [*SMALL, ("B, n_tile, N,", "B, n_tile, M,")], "With what is each size compared"),
        ("only whole warps are stored",
         [*SMALL, ("row < M && column < N", "m_tile + m + 64 <= M && n_tile + n + 64 <= N")],
         "Each sum asks for its own row"),
        ("a launch without a tile", [("launch", ((128, 128, 32), 128))], "Launch(tile="),
    ]
}  # fmt: skip
REMARKED = {
    "06.1": [
        ("two barriers more in each step", [*SMALL, (MULTIPLY, f"__syncthreads(); {MULTIPLY} __syncthreads();")],
         "one of the barriers in line"),
        ("a barrier at the end of a turn", [*SMALL, (BEHIND, f"{BEHIND}        __syncthreads();\n")], "can go"),
    ]
}  # fmt: skip
