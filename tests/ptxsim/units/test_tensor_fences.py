"""tcgen05.fence: a missing one is a note, and no finding. No B200 was at hand: what a GPU does is as docs/tcgen05.md
says."""

import re

import pytest

from tests.ptxsim.units.test_tensor_memory import (
    COLUMNS,
    END,
    ONE_FOR_ALL,
    PRODUCT,
    RESULT,
    SEEDS,
    TILES,
    multiply,
)

STORED = f"""{COLUMNS}{TILES}
    unsigned v[4] = {{0, 0, 0, 0}};
    for (unsigned n = 0; n < 64; n += 4) ST(mine + n, v);
    WAIT_ST;
    BEFORE;
    __syncthreads();
    if (t == 0) {{
AFTER;
MMA(at, PLAIN(A, 128), PLAIN(B, 64), WHAT(128, 64), 1);
COMMIT(&done);
    }}
    WAIT(&done, 0);
    AFTER;
    {RESULT}{END}"""
TWICE = f"""{COLUMNS}{TILES}{PRODUCT}
    WAIT(&done, 0);
    AFTER;
    {RESULT}
    BEFORE;
    __syncthreads();
    if (t == 32) {{
AFTER;
MMA(at, PLAIN(A, 128), PLAIN(B, 64), WHAT(128, 64), 0);
COMMIT(&done);
    }}
    WAIT(&done, 1);
    AFTER;
    {RESULT}{END}"""
"""A product that adds to what each warp has stored; and a second thread's, over what each warp has loaded."""
LAST_LANES = ONE_FOR_ALL.replace("WAIT(&done, 0);", "WAIT(&done, 0); AFTER;").replace(
    "WAIT(&done, 1);", "WAIT(&done, 1); AFTER;"
)
LAST_LANES = LAST_LANES.replace("WAIT(&read, 0);", "WAIT(&read, 0); AFTER;")
LAST_LANES = LAST_LANES.replace("if (t % 32 == 0) ARRIVE", "BEFORE; if (t % 32 == 31) ARRIVE")
"""Of each warp the last lane tells that it has loaded; all of them have made the fence."""
MISSING = {
    "behind a store": (STORED, "WAIT_ST;\n    BEFORE;", "before_thread_sync is missing behind", "ST(mine"),
    "before a product": (STORED, "{\nAFTER;", "after_thread_sync is missing before", "MMA("),
    "behind a product": (
        STORED,
        "WAIT(&done, 0);\n    AFTER;",
        "after_thread_sync is missing before",
        "LD(v",
    ),
    "behind a load": (TWICE, "    BEFORE;", "before_thread_sync is missing behind", "LD(v"),
    "before the next product": (TWICE, "{\nAFTER;", "after_thread_sync is missing before", "MMA("),
}


@SEEDS
@pytest.mark.parametrize("body", [STORED, TWICE, LAST_LANES], ids=["stored", "twice", "last lanes"])
def test_with_its_fences_a_kernel_has_no_note(body, seed):
    report, right = multiply(body, seed)
    assert report.ok and right and not report.notes, str(report)


@SEEDS
@pytest.mark.parametrize("name", MISSING)
def test_a_missing_fence_is_noted_at_its_line(name, seed):
    body, fence, told, line = MISSING[name]
    report, right = multiply(body.replace(fence, re.sub("(BEFORE|AFTER);", "", fence), 1), seed)
    assert report.ok and right, str(report)
    source = report.kernel.source.splitlines()
    (note,) = report.notes
    assert told in note and line in source[int(re.match(r"line (\d+):", note)[1]) - 1], note


CP = 'CP("128x256b", at + 32, PLAIN(A, 128));'
PIPELINED = f"""{COLUMNS}{TILES}
    __shared__ u64 started;
    if (t == 0) {{ INIT(&started, 1); INIT_FENCE; }}
    __syncthreads();
    if (t == 0) {{
        {CP}
        BEFORE;
        ARRIVE(&started);
    }}
    if (t == 32) {{
        WAIT(&started, 0);
        AFTER;
        MMA_T(at, at + 32, PLAIN(B, 32), WHAT(128, 32), 0);
        COMMIT(&done);
    }}
    WAIT(&done, 0);
    AFTER;
    A[t] = in[0];
    {RESULT.replace("n < 64", "n < 32")}{END}"""
"""A copy of one thread and a product of another one: in order behind a fence, and nobody waits for the copy's end."""


@SEEDS
@pytest.mark.parametrize("start", [CP, "MMA(at, PLAIN(A, 128), PLAIN(B, 32), WHAT(128, 32), 0);"])
def test_two_threads_products_and_copies_come_in_order_behind_a_fence(start, seed):
    body = PIPELINED.replace(CP, start)
    if start != CP:
        body = body.replace("MMA_T(at, at + 32, ", "MMA(at, PLAIN(A, 128), ")
    report, _ = multiply(body, seed)
    assert report.ok and not report.notes, str(report)
    for fence in ("BEFORE;\n", "AFTER;\n"):
        report, _ = multiply(body.replace(fence, "", 1), seed)
        assert "product-not-awaited" in [hazard.cause for hazard in report.hazards], str(report)
