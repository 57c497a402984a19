"""Deeper, lesson 03: a float32 kernel that passes cuBLAS."""

NOTEBOOK = "03_fp32_best"

WRONG = {
    "fp32_best": [
        ("prologue behind the end", "if (k_tile < tiles) copy(", "copy(", "out-of-bounds"),
        ("slot never changes", "write = next_slot(write);", "", "unwaited|write-after|wrong"),
        ("ring one short", "slot == (STAGES - 1) * SLOT", "slot == (STAGES - 2) * SLOT", "unwaited|write-after|wrong"),
        ("copies behind the end", "k_tile + STAGES - 1 < tiles", "k_tile + STAGES - 2 < tiles", "out-of-bounds|wrong"),
        ("reads one slot on too early", "k == TK - 1 && k_tile + 1 < tiles", "k == TK - 2 && k_tile + 1 < tiles",
         "wrong|unwaited"),
        ("last turn not copied", "k >= BARRIER &&", "k >= BARRIER && k < TK - 1 &&", "uninitialised-read|wrong"),
        ("fragments not ahead", "load((k + 1) % TK);", "load(k);", "wrong|unwaited|uninitialised"),
        ("rows mixed up", "acc[j][j % 2 ? 7 - i : i]", "acc[j][i]", "wrong"),
        ("lanes mixed up", "lane / 2 % 8 * 4", "lane % 8 * 4", "wrong|never written|block-conflict"),
    ],
}  # fmt: skip
