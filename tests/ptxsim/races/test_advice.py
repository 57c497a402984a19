"""What a race is told to lack, so that doing it mends the kernel."""

import re

import numpy as np
import pytest

from tests.ptxsim.races.mended import BULK
from tests.ptxsim.small_kernels import found, run, run_on_numbers
from tests.ptxsim.units.test_mbarrier import HOPPER, OPS

TILE = "__shared__ int tile[128];\n"
ELECTED = """
__shared__ u64 full; __shared__ int w[64];
if (t == 0) init(&full, COUNT);
__syncthreads();
if (t < 32) { w[t] = in[t]; BEFORE; if (t == 0) arrive(&full); }
else { wait(&full, 0); out[t] = w[63 - t]; }
"""
SYNCWARP = "A __syncwarp() is missing between "
SYNCTHREADS = "A __syncthreads() is missing between "
BRANCH = "no __syncthreads() can stand there: not all threads of the block take this branch"


@pytest.mark.parametrize(
    ("block", "body", "words"),
    [
        (32, "tile[t] = t; out[t] = tile[t ^ 1];", SYNCWARP + "that write and this read"),
        (128, "tile[t] = t; out[t] = tile[t ^ 1];", "A __syncwarp() is missing"),
        (
            128,
            "tile[t] = t; __syncwarp(); out[t] = tile[t ^ 1]; tile[t] = 0;",
            SYNCWARP + "that read and this write",
        ),
        (128, "tile[t & ~1] = t; out[t] = tile[t & ~1];", "Only one thread should write it"),
        (
            128,
            "if (t % 32 < 16) { tile[t] = t; out[t] = tile[t ^ 1]; }",
            "A __syncwarp(mask) is missing between that write and this read",
        ),
        (128, "tile[t] = t; out[t] = tile[(t + 1) % 128];", SYNCTHREADS + "that write and this read"),
        (128, "if (t < 64) { tile[t] = t; out[t] = tile[t ^ 32]; }", BRANCH),
        (128, "for (int i = t; i < 96; i += 32) { tile[i] = t; out[t] = tile[(i + 32) % 96]; }", BRANCH),
        (128, "if (t >= 64) { tile[t] = t; if (in[t] > 70) out[t] = tile[t ^ 32]; }", BRANCH),
        (128, "tile[t] = t; if (t < 64) out[t] = tile[t + 64];", "A __syncthreads() is missing"),
        (128, "if (in[0] == 0) { tile[t] = t; out[t] = tile[t ^ 32]; }", "A __syncthreads() is missing"),
    ],
)
def test_the_barrier_fits_the_place(block, body, words):
    report, _ = run_on_numbers(TILE + body, block=block)
    assert words in report.hazards[0].message, report


def test_a_warp_that_comes_first_is_not_all():
    """The first race is one of a warp, a later one is not."""
    body = TILE + "tile[t] = t;\nif (t < 32)\n__syncwarp();\nout[t] = tile[t < 64 ? t ^ 1 : t - 60];"
    report, _ = run_on_numbers(body, block=128)
    assert "A __syncthreads() is missing" in str(report), report


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            ELECTED.replace("COUNT", "1"),
            "what thread 0 did later, .* a __syncwarp\\(\\) is missing between the write",
        ),
        (
            ELECTED.replace("COUNT", "1")
            .replace("t < 32", "t < 64")
            .replace("BEFORE", "")
            .replace("w[64]", "w[128]")
            .replace("w[63 - t]", "w[127 - t]"),
            "is missing between the write and the arrival or the flag of thread 0",
        ),
        (  # all but two lanes of the warp arrive
            ELECTED.replace("COUNT", "30").replace("t == 0) arrive", "t < 30) arrive"),
            "a __syncwarp\\(\\) is missing between the write and the arrival or the flag of thread 0",
        ),
        (
            "__shared__ int w[64]; if (t < 32) { w[t] = in[t]; if (t == 0) "
            "{ __threadfence_block(); atomicExch(out + 64, 1); } }\nelse { while (atomicAdd(out + 64, 0) != 1) { } "
            "__threadfence_block(); out[t] = w[63 - t]; }",
            "a __syncwarp\\(\\) is missing between the write and the arrival or the flag of thread 0",
        ),
    ],
)
def test_before_an_elected_arrival(body, words):
    report, _ = run_on_numbers(
        body.replace("BEFORE;", ""), block=64 if "127" not in body else 128, before=OPS, options=HOPPER
    )
    assert re.search(words, report.hazards[0].message), report


FOR_ANOTHER_BLOCK = """
__shared__ int last; if (t < 64) { out[64 * blockIdx.x + t] = in[t]; SYNC }
if (t == 0) { __threadfence(); last = atomicAdd(out + 999, 1); __threadfence(); }
__syncthreads(); if (last == 0) out[256 + t] = out[t] + out[64 + t];"""


def test_several_warps_that_hand_over_to_another_block_are_told_of_their_barrier():
    more = {"grid": 2, "block": 64, "size": 1024}
    report, _ = run_on_numbers(FOR_ANOTHER_BLOCK.replace("SYNC", ""), **more)
    assert "a __syncthreads() (where only one warp has written: a __syncwarp()) is missing" in str(report), (
        report
    )
    report, _ = run_on_numbers(FOR_ANOTHER_BLOCK.replace("SYNC", "__syncthreads();"), **more)
    assert report.ok, report


def test_what_it_says_of_an_elected_arrival_mends_it():
    body = ELECTED.replace("COUNT", "1").replace("BEFORE", "__syncwarp()")
    report, _ = run_on_numbers(body, block=64, before=OPS, options=HOPPER)
    assert report.ok, report


LOCK = "while (TAKE(lock) != 0) { }\nTAKEN *n += 1; GIVEN\natomicExch(lock, 0);"


@pytest.mark.parametrize(
    ("taken", "given", "words"),
    [
        (
            "",
            "",
            "Two fences are missing in the lock: a __threadfence() behind the taking of the lock (line 12), and a",
        ),
        (
            "__threadfence();",
            "",
            "A fence is missing in the lock: a __threadfence() before it is given back (line 14)",
        ),
        (
            "",
            "__threadfence();",
            "A fence is missing in the lock: a __threadfence() behind the taking of the lock",
        ),
        ("__threadfence();", "__threadfence();", ""),
    ],
)
@pytest.mark.parametrize("how", [dict(grid=3, block=1), dict(grid=1, block=96)])
@pytest.mark.parametrize("take", ["atomicCAS(lock, 0, 1)", "atomicExch(lock, 1)"])
def test_a_lock_lacks_fences(taken, given, words, take, how):
    body = LOCK.replace("TAKE(lock)", take).replace("TAKEN", taken).replace("GIVEN", given)
    if how["block"] > 1:
        body = f"if (t % 32 == 0) {{ {body} }}"
    report = run(body, np.zeros(1, np.int32), np.zeros(1, np.int32), parameters="int* lock, int* n", **how)
    assert report.ok if not words else words in report.hazards[0].message, report


MESSAGE = """
__shared__ alignas(16) int b[4];
if (blockIdx.x == 0) { b[t % 4] = t % 4; PROXY; __syncwarp();
    if (t == 0) { STORE(out, b, 16); COMMIT_BULK; WAITED;
    __threadfence(); atomicExch(flag, 1); } }
else if (t == 0) { while (atomicAdd(flag, 0) == 0) { } __threadfence(); out[8] = out[1]; }
"""


@pytest.mark.parametrize(
    ("waited", "words"),
    [
        (
            "WAIT_READ(0)",
            "with cp.async.bulk.wait_group.read alone, which says only that its source has been read",
        ),
        ("", "never waits for it"),
        ("WAIT_ALL(0)", ""),
    ],
)
def test_a_bulk_store_behind_a_flag(waited, words):
    body = MESSAGE.replace("WAITED", waited)
    report = run(
        body,
        np.zeros(16, np.int32),
        np.zeros(1, np.int32),
        parameters="int* out, int* flag",
        grid=2,
        before=BULK,
        options=("-arch=sm_90a",),
    )
    if words:
        messages = [hazard.message for hazard in report.hazards if hazard.kind == "block-conflict"]
        assert messages and words in messages[0] and "without .read" in messages[0], report
    else:
        assert "block-conflict" not in [hazard.kind for hazard in report.hazards], report


OVERWRITTEN = """
__shared__ alignas(128) int b[32]; __shared__ u64 full;
if (t == 0) init(&full, 1);
b[t % 32] = t % 32; PROXY; __syncthreads();
if (t == 0) { STORE(out, b, 64); COMMIT_BULK; STORE(out + 16, b + 16, 64); COMMIT_BULK; READ }
__syncthreads();
NEXT
"""
TAKES = "{ expect(&full, 64); LOAD(b, out + 64, 64, &full); /* HERE */ wait(&full, 0); WAIT_READ(0); }"


@pytest.mark.parametrize(
    ("read", "body", "right"),
    [
        ("", f"if (t == 0) {TAKES}", False),
        ("", f"if (t == 32) {TAKES}\nif (t == 0) WAIT_READ(0);", False),
        ("", "if (t < 4) COPY(b + t, in + t); /* HERE */ COMMIT; WAIT(0); WAIT_READ(0);", False),
        ("WAIT_READ(1);", f"if (t == 0) {TAKES}", True),
        ("WAIT_READ(1);", f"if (t == 0) {TAKES}".replace("LOAD(b,", "LOAD(b + 16,"), False),
        ("WAIT_READ(0);", f"if (t == 32) {TAKES}", True),
    ],
)
def test_a_copy_over_the_source_of_a_store_is_told_at_that_copy(read, body, right):
    body = OVERWRITTEN.replace("READ", read, 1).replace("NEXT", body.replace("/* HERE */", "// HERE\n"))
    out, more = np.zeros(256, np.int32), dict(before=OPS + BULK, block=64, options=("-arch=sm_90a",))
    report = run(body, out, np.zeros(64, np.int32), **more)
    told = {(hazard.kind, hazard.cause) for hazard in report.hazards if hazard.kind != "exited-block"}
    assert told == (set() if right else {("write-after-read", "copy-still-reads")}), report
    assert right or "which the bulk store of thread 0 of block 0 at line" in report.hazards[0].message
    assert found(report)[1] <= {hazard.line for hazard in report.hazards if hazard.kind == "exited-block"}


FENCE = "__threadfence();"
FLAG = """
if (blockIdx.x == 0) { y[0] = 5; TELL; atomicExch(flag, 1); }
else { while (atomicAdd(flag, 0) == 0) { } TELL; y[1] = y[0]; }
"""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (FLAG.replace("TELL;", ""), "write, __threadfence(), flag there; flag, __threadfence(), read here"),
        (FLAG.replace("TELL;", FENCE, 1), "is missing between the read of the flag and this read"),
        (
            FLAG.replace("TELL; y", f"{FENCE} y"),
            "The fence is here; it is missing there: write, __threadfence(), flag",
        ),
        (
            FLAG.replace("TELL; atomicExch(flag, 1)", FENCE).replace("(flag, 0) == 0", "(flag, 1) < 3"),
            "What is missing is the flag: thread 0 of block 0",
        ),
    ],
)
def test_the_part_of_a_message_that_is_missing(body, words):
    """In an order in which the write comes first."""
    body = body.replace("TELL;", "")

    def ordered(seed):
        args = np.zeros(4, np.int32), np.zeros(1, np.int32)
        return run(body, *args, parameters="int* y, int* flag", grid=2, block=1, seed=seed)

    report = next(report for report in map(ordered, range(20)) if " reads element 0 of y" in str(report))
    assert words in report.hazards[0].message, report


MEET = "COPY(&tile[t], in + t); __syncthreads();\n"
ALL = 'asm volatile("cp.async.wait_all;" ::: "memory");'
HALF_WAIT = "COPY(&tile[t], in + t);\nif (t < 32)\nALL\n__syncthreads();\n"
TURNS = """
for (int turn = 0; turn < 4; ++turn) {
BEFORE
COPY(&tile[t], in + t);
THEN
__syncthreads();
out[t] = tile[t ^ 32];
__syncthreads(); }
""".strip()


def turns(before, then):
    return TURNS.replace("BEFORE", before).replace("THEN", then)


AHEAD = """
COPY(&tile[t], in + t);
for (int turn = 0; turn < 4; ++turn) {
if (turn == 0) ALL
__syncthreads();
out[t] = tile[64 * (turn % 2) + (t ^ 32)];
COPY(&tile[64 * ((turn + 1) % 2) + t], in + t); }
""".strip()


@pytest.mark.parametrize(
    ("body", "cause", "words"),
    [
        (
            MEET + "out[t] = tile[t ^ 32];\nALL",
            "wait-behind-barrier",
            "stands behind the barrier and this read: first",
        ),
        (
            "COPY(&tile[t], in + t);\nout[t] = tile[t];\nALL",
            "no-wait",
            "wait_all, line 15) stands behind this read",
        ),
        (MEET + "tile[t ^ 32] = t;\nALL", "wait-behind-barrier", "stands behind the barrier and this write"),
        (
            ALL + MEET + "out[t] = tile[t ^ 32];",
            "wait-before-copy",
            "stands before the copy",
        ),
        (MEET + "if (t < 32) ALL\nout[t] = tile[t ^ 32];", "wait-behind-barrier", "behind"),
        (
            HALF_WAIT + "out[t] = tile[t ^ 32];",
            "wait-passed-by",
            "line 15) was passed by, by a thread or in a turn",
        ),
        (turns("", "if (turn == 0) ALL"), "wait-passed-by", "line 16) was passed by"),
        (turns("ALL", ""), "wait-before-copy", "line 14) stands before the copy"),
        (AHEAD, "wait-passed-by", "was passed by"),
        (MEET + "out[t] = tile[t ^ 32];", "no-commit", "No cp.async.commit_group follows"),
    ],
)
def test_a_wait_for_all_copies_needs_no_commit(body, cause, words):
    report, _ = run_on_numbers(TILE + body.replace("ALL", ALL), block=64)
    assert report.hazards[0].cause == cause and words in report.hazards[0].message, report
