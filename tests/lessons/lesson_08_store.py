"""Lesson 08, the sitting about results: its kernel and its exercise."""

from tests.lessons.tables import answers_beside, variants

NOTEBOOK = "08_never_a_pause"
DTYPE = "float16"

WRONG = {
    "complete": variants("""
no fence: missing-proxy-fence
    -                 fence_async();
a fence of one thread for all: missing-proxy-fence
    fence_async(); -> if (thread == 0) fence_async();
a fence of one lane for its warp: missing-proxy-fence
    fence_async(); -> if (thread % 32 == 0) fence_async();
nobody waits for the reads: write-after-read
    -                 if (thread == 0) wait_stores_read();
no barrier behind that wait: write-after-read
    - named_sync<128>(1 + mine / 64);
    -                 for…
    + for…
no barrier before the store: read-after-write|missing-proxy-fence
    - fence_async();
    -                 named_sync<128>(1 + mine / 64);
    + fence_async();
no wait at the end: exited-block
    -         if (thread == 0) wait_stores();
no swizzle: in a wrong place
    -  ^ lane % 8…
both halves to the same columns: are wrong
    n + half * 128 + box * 64 -> n + box * 64
sums of the first half twice: wrong|made with
    d + half * 64 + j * 8 -> d + j * 8
""")
}

GAPS = ["08.3"]

FENCE, WAIT = "        fence_async();\n", "        if (thread == 0) wait_stores_read();\n"
BARRIER, COMMIT = "        __syncthreads();\n", "            commit_stores();\n"
ONE_BOX = f"""\
{FENCE}{BARRIER}        if (thread == 0) {{
            store_box(C, n + box * 64, m, s.C);
{COMMIT}        }}
    }}
"""
ALL_BOXES = f"""\
    }}
{FENCE}{BARRIER}    if (thread == 0) {{
        for (int box = 0; box < 4; ++box) store_box(C, n + box * 64, m, s.B + box * 64 * 64);
{COMMIT}    }}
"""
RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
