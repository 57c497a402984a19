"""Lesson 04."""

from tests.lessons.tables import answers_beside, variants

NOTEBOOK = "04_tensor_cores"
DTYPE = "float16"
COPY_B = "B + blockIdx.y * TN * K + k_tile * TK, K"
BLOCK = variants(
    """
last k-tile skipped: without the last k-tile|NaN|wrong
    int k_tile = 0; k_tile < K / TK; ++k_tile -> int k_tile = 0; k_tile < K / TK - 1; ++k_tile
same k-tile each time: wrong numbers
    A + blockIdx.x * TM * K + k_tile * TK, K -> A + blockIdx.x * TM * K, K
B with the columns of C: wrong|out-of-bounds
    $COPY_B -> B + blockIdx.y * TN * K + k_tile * TK, N
B over A: write-after-write|uninitialised-read
    slot + TM * TK, $COPY_B -> slot, $COPY_B
the other warps' rows: block-conflict|wrong|NaN|write-after|read-after
    n = warp / (TM / 64) * 64 -> n = warp % 2 * 64
row stride of C: wrong|out-of-bounds|block-conflict
    N + blockIdx.y * TN + n, N, sum -> N + blockIdx.y * TN + n, M, sum
""",
    **globals(),
)
WRONG = {
    "one_warp": variants("""
fragments of B turned round: wrong
    a, b[0], b[1] -> a, b[1], b[0]
halves of two fragments: wrong
    d[0], a, b[0], b[1] -> d[0], a, b[0], b[2]
B as if it was A: wrong
    &Bs[lane % 8 + lane / 16 * 8][lane / 8 % 2 * 8] -> &Bs[lane % 16][lane / 16 * 8]
one row for all: wrong
    &As[lane % 16] -> &As[lane / 16]
left half only: wrong
    - lane / 16 * 8]);
    -         ldmatrix_x4(b…
    + 0]);
    +         ldmatrix_x4(b…
no barrier after the copy: read-after-write
    - __syncwarp();
    -         unsigned…
    + unsigned…
no barrier after the math: write-after-read
    - __syncwarp();
    -     }…
    + }…
columns of C: misaligned|wrong|block-conflict
    lane % 4 * 2; -> lane % 4;
rows of C: wrong|write-after-write|NaN|block-conflict
    C[j * 8 + 8 * N] -> C[j * 8 + 4 * N]
"""),
    "warp_tile": variants("""
read without the swizzle: wrong
    As + swizzled<TK>(lane % 16, 2 * step + lane / 16) -> As + lane % 16 * TK + (2 * step + lane / 16) * 8
swizzle that drops a row: out-of-bounds|wrong|uninitialised
    chunk ^ row * TK / 64 % (TK / 8) -> chunk ^ row * TK / 64
swizzle with a sum: wrong|uninitialised|out-of|write-after-write
    chunk ^ row * TK / 64 % (TK / 8) -> chunk + row * TK / 64 % (TK / 8)
second step left out: wrong
    step < TK / 16; -> step < TK / 16 - 1;
step in halves: wrong
    2 * step + lane / 16) -> step + lane / 16)
rows of 8: wrong
    b_row, i * 16 * TK * 2 -> b_row, i * 8 * TK * 2
no wait: unwaited-copy
    wait_all(); ->
no barrier after the wait: read-after-write|unwaited-copy
    - __syncwarp();
    -         for…
    + for…
fragments of B: wrong
    b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1] -> b[j / 2][j % 2], b[j / 2][j % 2 + 2]
"""),
    "one_stage": [
        *BLOCK,
        *variants("""
no wait: unwaited-copy
    wait_group<0>(); ->
wait that waits for nothing: unwaited-copy
    wait_group<0>(); -> wait_group<1>();
first barrier removed: read-after-write|unwaited-copy
    __syncthreads();                              // the k-tile is complete ->
second barrier removed: write-after-read
    __syncthreads();                              // all have read it ->
rows of a piece: wrong|uninitialised|write-after-write
    (half * 8 + lane / 4) * 72 -> (half * 4 + lane / 4) * 72
one piece for two warps: write-after|read-after|wrong
    slot + warp * 16 * 72 -> slot + warp * 8 * 72
"""),
    ],
}
A = "As[lane % 16][lane / 16 * 8]"
PLACE = "return row * TK + (chunk ^ row / 4 % 2) * 8;"
BY_HAND = (
    "for (int i = 0; i < 4; ++i) "
    "a[i] = *(unsigned*)&As[place(lane / 4 + i % 2 * 8, 2 * step + i / 2) + lane % 4 * 2];"
)
B = "Bs[lane % 8 + lane / 16 * 8][lane / 8 % 2 * 8]"
WAIT = "        wait_group<0>();\n"
MEET = "        __syncthreads();                              // this k-tile is complete, the other slot is free\n"
LEFT = (
    "    __syncthreads();                                  // all have read the last one: the sums go there\n"
)
ISSUE = "        if (k_tile + 1 < K / TK) issue(k_tile + 1);\n"
END_OF_MATH = """            multiply(sum, a, b);
        }
"""
BRING_B = "copy_rows<THREADS, TN, TK>(slot + TM * TK, B + blockIdx.y * TN * K + k_tile * TK, K);\n"
BRING = f"""    auto bring = [&](int k_tile) {{
        __half* slot = slots + k_tile % 2 * SLOT;
        {BRING_B}        commit_group();
    }};
"""
GAPS = ["04.1", "04.2", "04.4"]
CAN_GO = "can go: all is right without it"
REMARKED = {
    "04.5": [
        (
            "one in each k-step",
            [(END_OF_MATH, END_OF_MATH.replace(" b);\n", " b); __syncthreads();\n"))],
            CAN_GO,
        ),
        ("two in a turn", [(MEET, MEET + "        __syncthreads();\n")], CAN_GO),
        (
            "issued between the k-steps",
            [
                (ISSUE, ""),
                (
                    "multiply(sum, a, b);",
                    "multiply(sum, a, b); if (step == 0 && k_tile + 1 < K / TK) issue(k_tile + 1);",
                ),
            ],
            "only 50% of the next one is on its way",
        ),
        (
            "the next B behind the math",
            [
                ("        " + BRING_B, ""),
                ("    issue(0);\n", BRING + "    issue(0);\n    bring(0);\n"),
                (END_OF_MATH, END_OF_MATH + "        if (k_tile + 1 < K / TK) bring(k_tile + 1);\n"),
            ],
            "only 50% of the next one is on its way",
        ),
    ],
}
RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
