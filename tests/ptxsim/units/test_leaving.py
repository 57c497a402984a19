"""A block that ends while copies into its shared memory are on their way: a note where they are its own, a finding
where another block of its cluster sent them."""

import pytest

from tests.ptxsim.small_kernels import run_on_numbers
from tests.ptxsim.units import test_bulk_copies, test_clusters
from tests.ptxsim.units.test_bulk_copies import LOAD

SEEDS = pytest.mark.parametrize("seed", [None, 1, 2])

LEFT = {
    "nobody asks": LOAD,
    "another phase is waited for": LOAD + "wait(&bar, 1);",
    "the copy behind the last wait": LOAD + "wait(&bar, 0); __syncthreads();\n" + LOAD,
    "bytes, and no arrival": "if (t == 0) load(tile, &a, &bar, x, y);",
    "an answer that nobody looks at": LOAD + "ask(0);",
}
AWAITED = {
    "all wait": LOAD + "wait(&bar, 0);",
    "one waits": LOAD + "if (t == 40) wait(&bar, 0);",
    "one asks until it is so": LOAD + "if (t == 40) while (!ask(0)) { }",
    "a prefetch into L2": """if (t == 0) asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %1}];"
                                                      :: "l"(&a), "r"(0));""",
}
TEST = """
    auto ask = [&](int parity) {
        int done;
        asm volatile("{\\n.reg .pred p;\\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\\n"
                     "selp.s32 %0, 1, 0, p;\\n}" : "=r"(done) : "r"(at(&bar)), "r"(parity) : "memory");
        return done;
    };
"""


@SEEDS
@pytest.mark.parametrize("body", LEFT.values(), ids=LEFT)
def test_a_copy_that_nobody_waits_for_is_noted(body, seed):
    report = test_bulk_copies.run(TEST + body, seed=seed)[0]
    assert report.ok, str(report)
    assert [note.cause for note in report.notes] == ["copy-in-flight-at-exit"]
    line = body.count("\n", 0, body.rindex("load(")) + 1
    first = report.kernel.source[: report.kernel.source.index(body)].count("\n")
    assert f"called from line {first + line}: " in report.notes[0]
    assert "the phase of the mbarrier" in report.notes[0]


@SEEDS
@pytest.mark.parametrize("body", AWAITED.values(), ids=AWAITED)
def test_a_copy_that_somebody_waits_for_is_not(body, seed):
    report = test_bulk_copies.run(TEST + body, seed=seed)[0]
    assert report.ok and not report.notes, str(report)


COPY = "__shared__ int tile[64]; COPY(&tile[t], &in[t]);"
ASYNC = {
    "nobody waits": (COPY, 1),
    "committed": (COPY + "COMMIT;", 1),
    "the last group is left": (COPY + "COMMIT;" + COPY.replace("tile", "more") + "COMMIT; WAIT(1);", 1),
    "one warp waits": (COPY + "COMMIT; if (t < 32) WAIT(0);", 1),
    "all wait": (COPY + "COMMIT; WAIT(0);", 0),
}


@pytest.mark.parametrize(("body", "notes"), ASYNC.values(), ids=ASYNC)
def test_the_same_of_cp_async(body, notes):
    report, _ = run_on_numbers(body, block=64)
    assert report.ok and len(report.notes) == notes, str(report)
    assert all("cp.async.wait_all" in note for note in report.notes)


def test_beside_a_finding_nothing_is_said_of_it():
    report, _ = run_on_numbers(COPY + "out[t] = tile[t];", block=64)
    assert [hazard.kind for hazard in report.hazards] == ["unwaited-copy"] and not report.notes


SENT = r"""
    __shared__ u64 bar;
    __shared__ alignas(128) int tile[32];
    if (t == 0) { INIT(&bar, 1); EXPECT(&bar, 128); }
    CLUSTER_SYNC;
    if (t == 0 && blockIdx.x == 0) TO_BOTH(tile, in, 128, &bar);  // HERE
    END
"""
ENDS = {
    "nobody waits": ("", "exit-before-arrival"),
    "the blocks meet": ("CLUSTER_SYNC;", "exit-before-arrival"),
    "only the sender waits": ("if (blockIdx.x == 0) WAIT(&bar); CLUSTER_SYNC;", "exit-before-arrival"),
    "only the other waits": ("if (blockIdx.x == 1) WAIT(&bar);", ""),
    "both wait": ("WAIT(&bar);", None),
}


@SEEDS
@pytest.mark.parametrize(("end", "cause"), ENDS.values(), ids=ENDS)
def test_a_copy_into_a_block_that_may_have_left(end, cause, seed):
    report, _ = test_clusters.run(SENT.replace("END", end), 2, seed)
    if cause:
        assert [(h.kind, h.cause) for h in report.hazards] == [("exited-block", cause)], str(report)
        assert "// HERE" in test_clusters.lines(report)[0]
        assert "waits for the phase of the mbarrier" in report.hazards[0].message
    else:
        assert report.ok and len(report.notes) == (cause is not None), str(report)


TO_OTHER = """asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
    "[%0], [%1], 128, [%2], %3;" :: "r"(AT(tile)), "l"(in), "r"(AT(&bar)), "h"((short)2) : "memory");"""


@SEEDS
def test_who_sends_may_leave_first(seed):
    """The copy is complete in the other block, which waits for it; nothing of the sender's is touched any more."""
    body = SENT.replace("TO_BOTH(tile, in, 128, &bar);", TO_OTHER)
    report, _ = test_clusters.run(body.replace("END", "if (blockIdx.x == 1) WAIT(&bar);"), 2, seed)
    assert report.ok and not report.notes, str(report)
