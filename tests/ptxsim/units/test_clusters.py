"""Clusters: mbarriers of other blocks, arrivals without a release, and who is in a scope."""

import numpy as np
import pytest

from ptxsim import compile, launch
from tests.kernels.hopper_wrong import MACROS, OPTIONS

MORE = r"""
#define FENCE_INIT asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
#define FENCE_CLUSTER asm volatile("fence.acq_rel.cluster;" ::: "memory")
#define FENCE_BLOCK asm volatile("fence.acq_rel.cta;" ::: "memory")
#define RELAXED_SYNC asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory")
#define ARRIVE_AT(p) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(p) : "memory")
#define EXPECT(b, n) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" \
    :: "r"(AT(b)), "r"(n) : "memory")
#define WAIT(b) asm volatile("{\n.reg .pred p;\nagain:\n" \
    "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0;\n@!p bra again;\n}" :: "r"(AT(b)) : "memory")
#define TO_BOTH(to, from, n, b) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes" \
    ".multicast::cluster [%0], [%1], %2, [%3], %4;" :: "r"(AT(to)), "l"(from), "r"(n), "r"(AT(b)), "h"((short)3) \
    : "memory")
#define SEND(to, v, b) asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" \
    :: "r"(to), "r"(v), "r"(b) : "memory")
#define SEND_4(to, v, b) asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 " \
    "[%0], {%1, %2, %3, %4}, [%5];" :: "r"(to), "r"(v), "r"(v + 1), "r"(v + 2), "r"(v + 3), "r"(b) : "memory")
#define SEND_SUM(to, v, b, op) asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." \
    op " [%0], %1, [%2];" :: "r"(to), "r"(v), "r"(b) : "memory")
#define LEND(to, from, b) asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes " \
    "[%0], [%1], 128, [%2];" :: "r"(to), "r"(AT(from)), "r"(b) : "memory")
#define PUT(p, v, scope) asm volatile("st.release." scope ".global.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory")
#define GET(v, p, scope) asm volatile("ld.acquire." scope ".global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory")
"""
ARRIVES = """
    __shared__ u64 bar;
    unsigned there;
    if (t == 0) { INIT(&bar, 1); MADE; }
    MEET;
    THERE(there, &bar, 1 - blockIdx.x);
    if (t == 0) ARRIVE_AT(there);  // HERE
    WAIT(&bar);
    out[blockIdx.x * 32 + t] = 1;
    CLUSTER_SYNC;
"""
COPIES = """
    __shared__ u64 bar;
    __shared__ alignas(128) int tile[32];
    if (t == 0) { INIT(&bar, 1); MADE; EXPECT(&bar, 128); }
    MEET;
    if (t == 0 && blockIdx.x == 0) TO_BOTH(tile, in, 128, &bar);  // HERE
    __syncthreads();
    WAIT(&bar);
    out[blockIdx.x * 32 + t] = tile[t];
    CLUSTER_SYNC;
"""
SHARES = """
    __shared__ int tile[32];
    unsigned there;
    tile[t] = t;
    MADE;
    MEET;
    THERE(there, &tile[t], 1 - blockIdx.x);
    int value;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(there) : "memory");  // HERE
    out[blockIdx.x * 32 + t] = value;
    CLUSTER_SYNC;
"""
BODIES = {"arrives": ARRIVES, "copies": COPIES, "shares": SHARES}
RIGHT = {  # how the blocks of a cluster meet before one uses what another made
    "cluster barrier": ("", "CLUSTER_SYNC", ("arrives", "copies", "shares")),
    "fence of the inits": ("FENCE_INIT", "RELAXED_SYNC; __syncthreads()", ("arrives", "copies")),
    "fence of all": ("FENCE_CLUSTER", "RELAXED_SYNC; __syncthreads()", ("arrives", "copies", "shares")),
}
WRONG = {
    "block barrier": ("", "__syncthreads()", ("arrives", "copies", "shares")),
    "no barrier": ("FENCE_INIT", "__syncthreads()", ("arrives", "copies")),
    "relaxed, no fence": (
        "",
        "__syncthreads(); RELAXED_SYNC; __syncthreads()",
        ("arrives", "copies", "shares"),
    ),
    "fence of the inits alone": ("FENCE_INIT", "__syncthreads(); RELAXED_SYNC; __syncthreads()", ("shares",)),
    "fence of the block": (
        "FENCE_BLOCK",
        "__syncthreads(); RELAXED_SYNC; __syncthreads()",
        ("arrives", "shares"),
    ),
}
ORDERS = pytest.mark.parametrize("seed", [None, 1, 2, 3])


def run(body: str, blocks: int, seed: int | None):
    """Blocks of 32 threads in clusters of two; the report, and what `out` holds."""
    source = (
        f"{MACROS}{MORE}\n"
        'extern "C" __global__ void __cluster_dims__(2) k(int* out, const int* in)\n'
        f"{{ int t = threadIdx.x; {body} }}\n"
    )
    out = np.zeros(32 * blocks, np.int32)
    args = (out, np.arange(32, dtype=np.int32))
    return launch(compile(source, "k", OPTIONS), (blocks,), (32,), args, seed=seed), out


def cases(table):
    return [
        pytest.param(BODIES[body].replace("MADE;", f"{made};").replace("MEET", meet), id=f"{body}: {name}")
        for name, (made, meet, bodies) in table.items()
        for body in bodies
    ]


def lines(report) -> list[str]:
    source = report.kernel.source.splitlines()
    return [source[hazard.line - 1] for hazard in report.hazards]


@ORDERS
@pytest.mark.parametrize("body", cases(RIGHT))
def test_blocks_that_met_use_what_each_other_made(body, seed):
    report, out = run(body, 2, seed)
    assert report.ok, str(report)
    assert np.array_equal(out, [1] * 64 if "ARRIVE_AT" in body else [*range(32)] * 2)


@ORDERS
@pytest.mark.parametrize("body", cases(WRONG))
def test_what_another_block_made_is_used_too_early(body, seed):
    report, _ = run(body, 2, seed)
    assert {hazard.kind for hazard in report.hazards} <= {
        "read-after-write",
        "mbarrier",
        "uninitialised-read",
    }
    assert len(report.hazards) and all("// HERE" in line for line in lines(report)), str(report)
    message = report.hazards[0].message
    assert "barrier.cluster.arrive" in message or "which no thread has written" in message, message


FLAG = """
    unsigned seen = 0;
    if (blockIdx.x == 0 && t == 0) {
        out[0] = 7;
        PUT(out + 1, 1, SCOPE);
    }
    if (blockIdx.x == READER && t == 0) {
        while (!seen) GET(seen, out + 1, SCOPE);
        out[2] = out[0];
    }
"""


@ORDERS
@pytest.mark.parametrize(
    ("scope", "reader", "right"),
    [("gpu", 1, True), ("gpu", 2, True), ("cluster", 1, True), ("cluster", 2, False), ("cta", 1, False)],
)
def test_a_message_reaches_those_in_its_scope(scope, reader, right, seed):
    report, out = run(FLAG.replace("SCOPE", f'"{scope}"').replace("READER", str(reader)), 4, seed)
    assert report.ok == right, str(report)
    assert out[2] == 7
    assert right or {hazard.kind for hazard in report.hazards} == {"block-conflict"}


FENCES = """
    unsigned seen = 0;
    volatile int* flag = (volatile int*)out + 1;
    if (blockIdx.x == 0 && t == 0) {
        out[0] = 7;
        FENCE;
        *flag = 1;
    }
    if (blockIdx.x == READER && t == 0) {
        while (!seen) seen = *flag;
        FENCE_CLUSTER;
        out[2] = out[0];
    }
"""


@ORDERS
@pytest.mark.parametrize(
    ("fence", "reader", "right"),
    [("FENCE_CLUSTER", 1, True), ("FENCE_CLUSTER", 2, False), ("FENCE_BLOCK", 1, False)],
)
def test_a_fence_reaches_those_in_its_scope(fence, reader, right, seed):
    report, _ = run(FENCES.replace("FENCE;", f"{fence};", 1).replace("READER", str(reader)), 4, seed)
    assert report.ok == right, str(report)


@ORDERS
@pytest.mark.parametrize(("scope", "right"), [("gpu", True), ("cluster", False)])
def test_atomics_of_two_clusters(scope, right, seed):
    text = f'asm volatile("red.relaxed.{scope}.global.add.u32 [%0], 1;" :: "l"(out) : "memory");'
    report, out = run(text, 4, seed)
    assert (out[0], report.ok) == (128, right), str(report)


SENDS = """
    __shared__ u64 bar;
    __shared__ alignas(16) int tile[32];
    unsigned there, counter;
    tile[t] = 100;
    if (t == 0) { INIT(&bar, 1); EXPECT(&bar, BYTES); }
    CLUSTER_SYNC;
    THERE(there, &tile[t], 1 - blockIdx.x);
    THERE(counter, &bar, 1 - blockIdx.x);
    ACT;
    WAITS;
    out[blockIdx.x * 32 + t] = tile[t];  // HERE
    CLUSTER_SYNC;
"""
ACTS = {  # what 32 threads send to the other block's 100s, the bytes, and what is there afterwards
    "st.async": ("SEND(there, t, counter)", 128, np.arange(32)),
    "st.async.v4": ("if (t % 4 == 0) SEND_4(there, t, counter)", 128, np.arange(32)),
    "red.async.add": ('SEND_SUM(there, t, counter, "add.u32")', 128, 100 + np.arange(32)),
    "red.async.min": ('SEND_SUM(there, t - 8, counter, "min.s32")', 128, np.arange(32) - 8),
    "red.async.inc": (
        'SEND_SUM(there, 70 + t, counter, "inc.u32")',
        128,
        np.where(np.arange(32) <= 30, 0, 101),
    ),
    "to one place": (
        'SEND_SUM(there - 4 * t, 1, counter, "add.s32")',
        128,
        np.where(np.arange(32) == 0, 132, 100),
    ),
}


@ORDERS
@pytest.mark.parametrize("name", ACTS)
def test_a_store_that_an_mbarrier_of_another_block_counts(name, seed):
    act, size, there = ACTS[name]
    body = SENDS.replace("ACT;", f"{act};").replace("BYTES", str(size)).replace("WAITS", "WAIT(&bar)")
    report, out = run(body, 2, seed)
    assert report.ok, str(report)
    assert np.array_equal(out, [*there] * 2)


@ORDERS
@pytest.mark.parametrize("name", ["st.async", "st.async.v4"])
def test_its_value_is_read_before_the_phase_is_complete(name, seed):
    act, size, _ = ACTS[name]
    body = SENDS.replace("ACT;", f"{act};").replace("BYTES", str(size))
    report, _ = run(body.replace("WAITS", "__syncthreads()"), 2, seed)
    kinds = {hazard.kind for hazard in report.hazards}
    assert kinds and kinds <= {"unwaited-copy", "read-after-write", "write-after-read"}, str(report)


def test_bytes_that_do_not_come():
    act, size, _ = ACTS["st.async"]
    body = SENDS.replace("ACT;", f"{act};").replace("BYTES", str(size + 4)).replace("WAITS", "WAIT(&bar)")
    report, _ = run(body, 2, None)
    assert [hazard.kind for hazard in report.hazards] == ["deadlock"]
    assert "expect 132 bytes, of which 128 came" in report.hazards[0].message


@pytest.mark.parametrize(
    ("act", "kind", "words"),
    [
        ("SEND(there, t, (unsigned)AT(&bar))", "mbarrier", "must lie where the copy goes"),
        ("SEND(there + 2, t, counter)", "misaligned", "a multiple"),
        ("SEND(there + 4096, t, counter)", "out-of-bounds", "bytes"),
    ],
)
def test_a_store_that_cannot_be(act, kind, words):
    body = SENDS.replace("ACT;", f"{act};").replace("BYTES", "128").replace("WAITS", "WAIT(&bar)")
    report, _ = run(body, 2, None)
    assert report.hazards[-1].kind == kind and words in report.hazards[-1].message, str(report)


def test_whose_mbarrier_nobody_made():
    met = ARRIVES.replace("MADE", "").replace("MEET", "CLUSTER_SYNC")
    others = met.replace("if (t == 0) { INIT", "if (t == 0 && blockIdx.x == 0) { INIT")
    own = others.replace("THERE(there, &bar, 1 - blockIdx.x)", "THERE(there, &bar, blockIdx.x)")
    for body, words in (
        (others, "of block 1: its threads may still have to call mbarrier.init"),
        (own, "no mbarrier at bar: nobody has called mbarrier.init for it"),
    ):
        report, _ = run(body, 2, None)
        assert report.hazards[-1].kind == "mbarrier" and words in report.hazards[-1].message, str(report)


ORDERED = """
#define GIVE(p) asm volatile("mbarrier.arrive.ARRIVAL.cluster.shared::cluster.b64 _, [%0];" :: "r"(p) : "memory")
#define TAKE(b) asm volatile("{\\n.reg .pred p;\\nagain:\\n" \\
    "mbarrier.try_wait.parity.WAITING.cluster.shared::cta.b64 p, [%0], 0;\\n@!p bra again;\\n}" \\
    :: "r"(AT(b)) : "memory")
"""
GIVES = """
    __shared__ u64 bar;
    __shared__ int tile[32];
    unsigned there;
    if (t == 0) INIT(&bar, 32);
    CLUSTER_SYNC;
    THERE(there, &tile[t], 0);
    if (blockIdx.x == 1) {
        asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(there), "r"(t) : "memory");
        THERE(there, &bar, 0);
        FENCE; GIVE(there);
    } else {
        TAKE(&bar); LATE;
        out[t] = tile[31 - t];
    }
    CLUSTER_SYNC;
"""


@ORDERS
@pytest.mark.parametrize(
    ("arrive", "fence", "wait_for", "late", "right"),
    [
        ("release", "", "acquire", "", True),
        ("relaxed", "FENCE_CLUSTER", "acquire", "", True),
        ("release", "", "relaxed", "FENCE_CLUSTER", True),
        ("relaxed", "FENCE_CLUSTER", "relaxed", "FENCE_CLUSTER", True),
        ("relaxed", "", "acquire", "", False),
        ("relaxed", "FENCE_BLOCK", "acquire", "", False),
        ("release", "", "relaxed", "", False),
    ],
)
def test_a_relaxed_arrival_at_another_block(arrive, fence, wait_for, late, right, seed):
    macros = ORDERED.replace("ARRIVAL", arrive).replace("WAITING", wait_for)
    body = GIVES.replace("FENCE", fence).replace("LATE", late)
    report, out = run(f"\n{macros}{body}", 2, seed)
    assert {hazard.kind for hazard in report.hazards} == (set() if right else {"read-after-write"}), str(
        report
    )
    if right:
        assert np.array_equal(out[:32], np.arange(32)[::-1])


STORE = """
    __shared__ int tile[32];
    unsigned there;
    THERE(there, &tile[t], 1 - blockIdx.x);
    BEFORE;
    asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(there), "r"(t) : "memory");  // HERE
    AFTER;
    CLUSTER_SYNC;
    if (t < 16) out[blockIdx.x * 32 + t] = tile[t];
"""
SUM = STORE.replace("st.shared::cluster.u32", "red.relaxed.cluster.shared::cluster.add.u32")
ARRIVE, WAIT = (
    f'asm volatile("barrier.cluster.{part}.aligned;" ::: "memory")' for part in ("arrive", "wait")
)
FLAGS = """__syncthreads();
    if (t == 0) {
        int seen = 0;
        PUT(out + 30 + blockIdx.x, 1, "gpu");
        while (!seen) GET(seen, out + 31 - blockIdx.x, "gpu");
    }
    __syncthreads()"""
MEETINGS = {"barrier": "CLUSTER_SYNC", "relaxed barrier": "RELAXED_SYNC", "flags": FLAGS}


@ORDERS
@pytest.mark.parametrize(
    "body",
    [
        STORE.replace("BEFORE", "").replace("AFTER", ""),
        STORE.replace("BEFORE", "__syncthreads()").replace("AFTER", ""),
        STORE.replace("BEFORE", ARRIVE).replace("AFTER", WAIT),
        SUM.replace("BEFORE", ARRIVE).replace("AFTER", WAIT),
    ],
    ids=["nothing", "a barrier of the block", "no wait yet", "a sum, no wait yet"],
)
def test_another_block_may_not_have_started(body, seed):
    report, _ = run(body, 2, seed)
    causes = [hazard.cause for hazard in report.hazards]
    assert causes[:1] == ["use-before-start"] or "red." in body, str(report)
    assert "use-before-start" in causes or "never-written" in causes
    assert "// HERE" in lines(report)[0], str(report)


@ORDERS
@pytest.mark.parametrize("meeting", MEETINGS)
def test_another_block_is_known_to_have_started(meeting, seed):
    report, out = run(STORE.replace("BEFORE", MEETINGS[meeting]).replace("AFTER", ""), 2, seed)
    assert report.ok, str(report)
    assert np.array_equal(out[:16], range(16))


LENDS = """
    __shared__ u64 bar, back;
    __shared__ alignas(128) int tile[32], came[32];
    unsigned there, counts, answer;
    if (t == 0) { INIT(&bar, 1); INIT(&back, 1); EXPECT(&bar, 128); FENCE_INIT; }
    tile[t] = t + blockIdx.x;
    FENCE_ASYNC;
    __syncthreads();
    RELAXED_SYNC;
    THERE(there, came, 1 - blockIdx.x);
    THERE(counts, &bar, 1 - blockIdx.x);
    THERE(answer, &back, 1 - blockIdx.x);
    if (t == 0) LEND(there, tile, counts);  // HERE
    BEFORE;
    WAIT(&bar);
    out[blockIdx.x * 32 + t] = came[t];
    AFTER;
"""
RELAXED_ARRIVE = ARRIVE.replace(".arrive.", ".arrive.relaxed.")
ENDS = {  # what comes before the wait for the copy, and behind it; whether the block that lends knows of its end
    "nothing": ("", "", False),
    "a barrier of the block": ("__syncthreads()", "__syncthreads()", False),
    "a meeting before the wait": ("RELAXED_SYNC", "", False),
    "an arrival before the wait": (RELAXED_ARRIVE, WAIT, False),
    "a meeting": ("", "CLUSTER_SYNC", True),
    "a relaxed meeting": ("", "RELAXED_SYNC", True),
    "a second meeting": ("RELAXED_SYNC", "RELAXED_SYNC", True),
    "an answer": ("", "if (t == 0) { ARRIVE_AT(answer); } WAIT(&back)", True),
}


@ORDERS
@pytest.mark.parametrize("end", ENDS)
def test_a_block_that_ends_while_another_copies_from_it(end, seed):
    before, after, right = ENDS[end]
    report, out = run(LENDS.replace("BEFORE", before).replace("AFTER", after), 2, seed)
    assert [hazard.cause for hazard in report.hazards] == ([] if right else ["exit-before-copy"]), str(report)
    assert np.array_equal(out, [*range(1, 33), *range(32)])
    if not right:
        assert "// HERE" in lines(report)[0] and "exits" in report.hazards[0].message


@ORDERS
def test_a_copy_from_another_block_that_nobody_waits_for(seed):
    body = LENDS.replace("BEFORE", "").replace("AFTER", "RELAXED_SYNC").replace("    WAIT(&bar);\n", "")
    report, _ = run(body.replace("came[t]", "t"), 2, seed)
    assert [hazard.kind for hazard in report.hazards] == ["exited-block"], str(report)


EVEN = """
    __shared__ u64 bar;
    if (t == 0) { INIT(&bar, 2); FENCE_INIT; }
    CLUSTER_SYNC;
    if (t == 0) ARRIVE_AT(AT(&bar) & 0xFEFFFFFF);
    if (blockIdx.x % 2 == 0) WAIT(&bar);
    out[blockIdx.x * 32 + t] = AT(&bar) >> 24;
    CLUSTER_SYNC;
"""


@ORDERS
def test_an_address_has_the_rank_of_its_block_in_bit_24(seed):
    report, out = run(EVEN, 4, seed)
    assert report.ok, str(report)
    assert out.reshape(4, 32).tolist() == [[rank] * 32 for rank in (0, 1, 0, 1)]


OWN = {
    "a name": "out[at] = tile[t];",
    "beside a name": "tile[(t + 1) % 32] += 0; out[at] = (tile + 4)[(int)t - 4];",
    "generic": "volatile int* p = tile + t; out[at] = *p;",
    "ldmatrix": """
        int r[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0])
            : "r"(AT(tile) + t % 8 * 16) : "memory");
        out[at] = r[0];""",
    "cp.async": """
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(AT(tile + t)), "l"(in + (31 - t)) : "memory");
        asm volatile("cp.async.wait_all;" ::: "memory");
        out[at] = 31 - tile[t];""",
    "atomic": "atomicAdd(tile + t, 0); out[at] = atomicOr(tile + t, 0);",
    "back from its rank": """
        unsigned rank;
        asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(rank) : "r"(AT(tile)));
        unsigned there;
        THERE(there, tile + t, rank);
        out[at] = there == AT(tile + t) && rank == blockIdx.x % 2 ? t : -1;""",
}


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("name", OWN)
def test_each_block_of_a_cluster_reaches_its_own_memory(name, seed):
    fill = "__shared__ alignas(128) int tile[32]; int at = blockIdx.x * 32 + t; tile[t] = t; __syncwarp();"
    report, out = run(fill + OWN[name] + "CLUSTER_SYNC;", 4, seed)
    assert report.ok, str(report)
    assert out.tolist() == [*range(32)] * 4


@pytest.mark.parametrize("index", ["t - 40", "t + 33"])
def test_beside_its_memory_is_no_other_block(index):
    body = f"__shared__ int tile[32]; tile[t] = t; __syncwarp(); out[t] = tile[{index}]; CLUSTER_SYNC;"
    report, _ = run(body, 2, None)
    assert [hazard.kind for hazard in report.hazards] == ["out-of-bounds"], str(report)
    assert "16777" not in str(report)


@pytest.mark.parametrize(("address", "right"), [("AT(B)", False), ("(AT(B) & 0x3FFFF)", True)])
def test_a_descriptor_takes_no_rank_with_it(address, right):
    """Its address has 18 bits. The rank above them would stand in the distance of B's core matrices."""
    tiles = MACROS.replace("AT(A) / 16", "(AT(A) & 0x3FFFF) / 16").replace("AT(B) / 16", f"{address} / 16")
    source = f"""{tiles}
extern "C" __global__ void __cluster_dims__(2) k(float* out)
{{
    TILES;
    FENCE_ASYNC;
    CLUSTER_SYNC;
    WG_FENCE;
    WGMMA(d, a, b, 0);
    WG_COMMIT;
    WG_WAIT(0);
    out[blockIdx.x * 128 + t] = d[0];
    CLUSTER_SYNC;
}}
"""
    out = np.full(256, np.nan, np.float32)
    report = launch(compile(source, "k", OPTIONS), (2,), (128,), (out,))
    assert report.ok == right, str(report)
    assert set(out[:128].tolist()) == {16.0} and (set(out[128:].tolist()) == {16.0}) == right
