"""Deeper, lesson 03: the documented example."""

NOTEBOOK = "03_documented_example"

BARRIER = "TRACE_BEGIN(barrier, k_tile); __syncthreads(); TRACE_END(barrier, k_tile);"
ISSUE = "issue(k_tile + 1, write);"
NO_WAIT = ("wait removed", "TRACE_BEGIN(wait, k_tile); wait_all();", "", "unwaited-copy")
NO_BARRIER = (
    "barrier removed",
    "TRACE_BEGIN(barrier, k_tile); __syncthreads();",
    "",
    "read-after-write|write-after",
)
NO_LAST_TILE = (
    "last k-tile skipped",
    "k_tile < K / TK; ++k_tile) { // Mainloop",
    "k_tile < K / TK - 1; ++k_tile) { // Mainloop",
    "without the last k-tile|NaN|wrong",
)
NO_GUARD = ("copies behind the end", "k_tile + 1 < K / TK)", "k_tile < K / TK)", "out-of-bounds")
LATE_GUARD = (
    "last k-tile not copied",
    "k_tile + 1 < K / TK)",
    "k_tile + 2 < K / TK)",
    "wrong|one k-tile late",
)
SAME_TILE = ("same k-tile again", "issue(k_tile + 1, write)", "issue(k_tile, write)", "wrong|one k-tile late")
WRONG_BUFFER = (
    "copy to the buffer that is read",
    "issue(k_tile + 1, write)",
    "issue(k_tile + 1, read)",
    "unwaited|write-after",
)
NO_SWAP = (
    "buffers never change places",
    "read ^= 1; write ^= 1;",
    "",
    "write-after-read|wrong|one k-tile late",
)
HALF_SWAP = (
    "only one index changes",
    "read ^= 1; write ^= 1;",
    "read ^= 1;",
    "unwaited|write-after|uninitialised|wrong",
)
LAYOUT = [
    ("half of the tile", "i < TM; i += 64", "i < TM / 2; i += 64", "uninitialised-read"),
    ("4 bytes for 8", "copy_async<8>(&As", "copy_async<4>(&As", "uninitialised-read"),
    (
        "columns of the other matrix",
        "(k_tile * TK + y) * M]",
        "(k_tile * TK + y) * N]",
        "wrong|out-of-bounds",
    ),
    ("columns of C", "8 * j * M]", "8 * j * N]", "out-of-bounds|wrong|block-conflict"),
    ("odd padding", "PAD = 2", "PAD = 1", "misaligned"),
]
AHEAD = [
    ("swapped before the issue", "issue(k_tile + 1, write); read ^= 1; write ^= 1;",
     "read ^= 1; write ^= 1; issue(k_tile + 1, write);", "unwaited|write-after|uninitialised"),
    ("fragments from the old k-tile", "from = read;\n", "\n", "wrong"),
    ("wait one k-block late", "if (k == TK - 1) { ", "if (k == 0) { ", "unwaited|read-after-write|wrong"),
    ("fragments not ahead", "load((k + 1) % TK, from)", "load(k, from)", "wrong|unwaited"),
    ("no first fragments", "    load(0, from);\n", "", "NaN|wrong"),
    ("first k-tile not waited for", "issue(0, 0); wait_all(); __syncthreads();", "issue(0, 0); __syncthreads();",
     "unwaited"),
    ("no barrier in the prologue", "issue(0, 0); wait_all(); __syncthreads();", "issue(0, 0); wait_all();",
     "read-after-write"),
]  # fmt: skip

WRONG = {
    "single_buffer": [
        NO_WAIT, NO_BARRIER, NO_LAST_TILE, *LAYOUT,
        ("second barrier removed", "__syncthreads();                              // all have read it", "",
         "write-after-read|unwaited"),
        ("k off by one", "k < TK;", "k < TK - 1;", "without the last k of every k-tile"),
        ("same k-tile each time", "issue(k_tile);", "issue(0);", "wrong"),
    ],
    "early_issue": [
        NO_LAST_TILE, NO_GUARD, LATE_GUARD,
        ("no wait", "wait_all(); __syncthreads();", "__syncthreads();", "unwaited-copy"),
        ("no first barrier", "wait_all(); __syncthreads();", "wait_all();", "read-after-write"),
        ("barrier before the wait", "wait_all(); __syncthreads();", "__syncthreads(); wait_all();", "read-after-write"),
        ("no second barrier", "__syncthreads();                              // all have read it", "",
         "write-after-read"),
        ("issued before the fragments", "// the k-tile is complete\n",
         "\n        if (k_tile + 1 < K / TK) issue(k_tile + 1);\n", "unwaited|write-after-read"),
        ("no first k-tile", "    issue(0); ", "    ", "uninitialised-read|unwaited"),
        ("same k-tile again", "issue(k_tile + 1)", "issue(k_tile)", "wrong|one k-tile late"),
    ],
    "example_two_buffers": [
        NO_WAIT, NO_BARRIER, NO_LAST_TILE, NO_GUARD, LATE_GUARD, SAME_TILE, WRONG_BUFFER, NO_SWAP, HALF_SWAP,
        ("issued before the barrier", f"{BARRIER}   // all have\n        if (k_tile + 1 < K / TK) {ISSUE}",
         f"if (k_tile + 1 < K / TK) {ISSUE}\n{BARRIER}", "write-after-read"),
        ("no first k-tile", "issue(0, 0);", "", "uninitialised-read|unwaited"),
        ("k off by one", "k < TK;", "k < TK - 1;", "without the last k of every k-tile"),
    ],
    "example_double_buffer": AHEAD,
}  # fmt: skip
