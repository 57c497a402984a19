"""mbarrier: phases, parities and states; what they order and what not; what is wrong with their use."""

import numpy as np
import pytest

from tests.ptxsim.small_kernels import found, run_on_numbers

OPS = r"""
using u64 = unsigned long long;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(u64* b, int n)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(b)), "r"(n) : "memory");
}
__device__ void inval(u64* b) { asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(at(b)) : "memory"); }
__device__ void arrive(u64* b) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(b)) : "memory"); }
__device__ u64 arrive_state(u64* b)
{
    u64 state;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(at(b)) : "memory");
    return state;
}
__device__ void arrive_many(u64* b, int n)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" :: "r"(at(b)), "r"(n) : "memory");
}
__device__ void leave(u64* b)
{
    asm volatile("mbarrier.arrive_drop.shared::cta.b64 _, [%0];" :: "r"(at(b)) : "memory");
}
__device__ void expect(u64* b, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at(b)), "r"(bytes) : "memory");
}
__device__ bool try_once(u64* b, unsigned parity)
{
    unsigned done;
    asm volatile("{ .reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(at(b)), "r"(parity) : "memory");
    return done;
}
__device__ void unheard(u64* b, unsigned parity)
{
    asm volatile("{ .reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; }"
                 :: "r"(at(b)), "r"(parity) : "memory");
}
__device__ void wait(u64* b, unsigned parity) { while (!try_once(b, parity)) {} }
__device__ bool test(u64* b, u64 state)
{
    unsigned done;
    asm volatile("{ .reg .pred p;\nmbarrier.test_wait.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(at(b)), "l"(state) : "memory");
    return done;
}
"""
HOPPER = ("-arch=compute_90",)
SETUP = "__shared__ u64 bar[2]; __shared__ int tile[256];\n"


def ready(*counts: int) -> str:
    inits = "".join(f"init(&bar[{i}], {n}); " for i, n in enumerate(counts))
    return f"{SETUP}if (t == 0) {{ {inits}}}\n__syncthreads();\n"


def run(body, seed=None, before=OPS):
    """64 threads; the report and `out`."""
    return run_on_numbers(body, 64, before=before, block=64, seed=seed, options=HOPPER)


RIGHT = {
    "all-arrive-and-wait": (
        ready(64) + "tile[t] = t; arrive(&bar[0]); wait(&bar[0], 0); out[t] = tile[63 - t];",
        lambda t: 63 - t,
    ),
    "two-phases": (
        ready(64) + "tile[t] = t; arrive(&bar[0]); wait(&bar[0], 0); int a = tile[63 - t];\n"
        "arrive(&bar[0]); wait(&bar[0], 1); tile[t] = a + 1; arrive(&bar[0]); wait(&bar[0], 0); out[t] = tile[63 - t];",
        lambda t: t + 1,
    ),
    "one-warp-gives-another-takes": (
        ready(32, 32) + "for (int i = 0; i < 4; ++i) {\n"
        "  if (t < 32) { if (i) wait(&bar[1], (i - 1) & 1); tile[t] = 10 * i + t; arrive(&bar[0]); }\n"
        "  else { wait(&bar[0], i & 1); out[t] = tile[t - 32]; arrive(&bar[1]); }\n}",
        lambda t: np.where(t < 32, 0, 30 + t - 32),
    ),
    "an-answer-in-memory": (
        ready(64) + "__shared__ int told[64]; tile[t] = t; arrive(&bar[0]);\n"
        "do told[t] = try_once(&bar[0], 0); while (!*(volatile int*)&told[t]); out[t] = tile[63 - t];",
        lambda t: 63 - t,
    ),
    "an-answer-that-goes-around": (
        ready(64) + "tile[t] = t; arrive(&bar[0]);\n"
        "for (int turns = 0; turns < 2 && !(try_once(&bar[0], 0) ^ (t > 99)); ++turns) {}\nout[t] = tile[63 - t];",
        lambda t: 63 - t,
    ),
    "state-and-test-wait": (
        ready(64)
        + "tile[t] = t; u64 s = arrive_state(&bar[0]); while (!test(&bar[0], s)) {}\nout[t] = tile[63 - t];",
        lambda t: 63 - t,
    ),
    "one-arrives-for-many": (
        ready(64) + "tile[t] = t; __syncwarp(); if (t % 32 == 0) arrive_many(&bar[0], 32);\n"
        "wait(&bar[0], 0); out[t] = tile[63 - t];",
        lambda t: 63 - t,
    ),
    "some-leave": (
        ready(64) + "tile[t] = t; if (t < 32) leave(&bar[0]); else {\n"
        "arrive(&bar[0]); wait(&bar[0], 0); int a = tile[63 - t]; arrive(&bar[0]); wait(&bar[0], 1); out[t] = a; }",
        lambda t: np.where(t < 32, 0, 63 - t),
    ),
    "two-phases-in-one-instruction": (
        ready(32) + "arrive(&bar[0]); wait(&bar[0], 1); out[t] = t;",
        lambda t: t,
    ),
    "the-phase-before-the-first-is-complete": (ready(1) + "wait(&bar[0], 1); out[t] = t;", lambda t: t),
    "plain-memory-before-and-after": (
        SETUP + "bar[t & 1] = 5; __syncthreads(); if (t == 0) init(&bar[0], 64); __syncthreads();\n"
        "arrive(&bar[0]); wait(&bar[0], 0); bar[1] = 7; __syncthreads();\n"
        "if (t == 0) { inval(&bar[0]); bar[0] = 3; } __syncthreads(); out[t] = bar[0];",
        lambda t: 0 * t + 3,
    ),
    "made-anew-behind-inval": (
        ready(64) + "for (int i = 0; i < 3; ++i) {\n"
        "  tile[t] = i + t; arrive(&bar[0]); wait(&bar[0], 0); out[t] = tile[63 - t]; __syncthreads();\n"
        "  if (t == 0) { inval(&bar[0]); init(&bar[0], 64); } __syncthreads();\n}",
        lambda t: 65 - t,
    ),
    "inval-by-one-made-anew-by-another": (
        ready(64)
        + "if (t == 0) inval(&bar[0]); __syncthreads(); if (t == 33) init(&bar[0], 32); __syncthreads();\n"
        "if (t < 32) arrive(&bar[0]); wait(&bar[0], 0); out[t] = t;",
        lambda t: t,
    ),
    "who-waits-writes-where-copies-came-from": (
        ready(32) + "out[t] = t; __syncthreads();\n"
        "if (t < 32) { COPY(&tile[t], out + t);\n"
        'asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(at(&bar[0])) : "memory");\n'
        "} else { wait(&bar[0], 0); out[t - 32] = 100 + tile[63 - t]; }",
        lambda t: np.where(t < 32, 131 - t, t),
    ),
    "bytes-that-are-not-expected": (
        ready(64) + "expect(&bar[0], 0); wait(&bar[0], 0); out[t] = t;",
        lambda t: t,
    ),
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("seed", [None, 3])
def test_what_an_mbarrier_orders(name, seed):
    body, expected = RIGHT[name]
    report, out = run(body, seed)
    assert report.ok, str(report)
    assert np.array_equal(np.where(out == -1, 0, out), expected(np.arange(64)))


WRONG = {
    "read-after-write": {
        "no-wait": ready(64) + "tile[t] = t; arrive(&bar[0]);\nout[t] = tile[63 - t]; // HERE",
        "one-question-is-no-wait": ready(64)
        + "tile[t] = t; if (t < 32) arrive(&bar[0]);\ntry_once(&bar[0], 0);\nout[t] = tile[63 - t]; // HERE",
        "nobody-looks-at-the-answer": ready(32) + "if (t < 32) {\ntile[t] = t; // HERE\narrive(&bar[0]); }\n"
        "else { unheard(&bar[0], 0);\nout[t] = tile[t - 32]; // HERE\n}",
        "nobody-looks-at-the-second-answer": ready(64)
        + "tile[t] = t; arrive(&bar[0]); try_once(&bar[0], 0); try_once(&bar[0], 0);\n"
        "out[t] = tile[63 - t]; // HERE",
        "an-answer-that-is-dropped": ready(64)
        + "tile[t] = t; u64 s = arrive_state(&bar[0]); bool done = test(&bar[0], s); done = !done;\n"
        "out[t] = tile[63 - t]; // HERE",
        "the-parity-of-the-phase-before": ready(33)
        + "if (t < 32) {\ntile[t] = t; // HERE\narrive(&bar[0]); }\n"
        "else { wait(&bar[0], 1);\nout[t] = tile[t - 32]; // HERE\n}",
        "arrives-before-it-writes": ready(64)
        + "arrive(&bar[0]);\ntile[t] = t; // HERE\nwait(&bar[0], 0);\nout[t] = tile[63 - t]; // HERE",
        "stores-behind-an-arrival-of-copies": ready(32) + "if (t < 32) { COPY(&tile[t], in + t);\n"
        'asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(at(&bar[0])) : "memory");\n'
        "tile[64 + t] = t; // HERE\n} else { wait(&bar[0], 0);\nout[t] = tile[t + 32]; // HERE\n}",
        "used-before-others-know-of-it": SETUP
        + "if (t == 0) init(&bar[0], 64);\narrive(&bar[0]); out[t] = t;",
    },
    "write-after-read": {
        "the-next-tile-before-all-have-read": ready(32) + "for (int i = 0; i < 2; ++i) {\n"
        "if (t < 32) {\ntile[t] = 10 * i + t; // HERE\narrive(&bar[0]); }\n"
        "else { wait(&bar[0], i & 1);\nout[t] = tile[t - 32]; // HERE\n} }",
    },
    "unwaited-copy": {
        "the-next-copies-before-all-have-read": ready(32) + "if (t < 32) for (int i = 0; i < 2; ++i) {\n"
        "COPY(&tile[t], in + t); // HERE\n"
        'asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(at(&bar[0])) : "memory");\n'
        "} else { wait(&bar[0], 0);\nout[t] = tile[t - 32]; // HERE\n}",
    },
    "mbarrier": {
        "nobody-initialised-it": SETUP + "arrive(&bar[0]); // HERE\nout[t] = t;",
        "no-arrivals": SETUP + "if (t == 0)\ninit(&bar[0], 0); // HERE\nout[t] = t;",
        "more-at-once-than-it-lacks": ready(2) + "if (t == 0) arrive_many(&bar[0], 3); // HERE\nout[t] = t;",
    },
    "write-after-write": {
        "made-by-two-threads": SETUP
        + "if (t < 2) init(&bar[0], 64); // HERE\n__syncthreads(); arrive(&bar[0]); wait(&bar[0], 0); out[t] = t;",
    },
    "deadlock": {
        "one-arrival-too-few": ready(65) + "arrive(&bar[0]); wait(&bar[0], 0); out[t] = t;",
        "the-other-parity": ready(64) + "arrive(&bar[0]); wait(&bar[0], 0); wait(&bar[0], 1); out[t] = t;",
        "bytes-that-never-come": ready(1)
        + "if (t == 0) expect(&bar[0], 1024); wait(&bar[0], 0); out[t] = t;",
    },
    "misaligned": {
        "misaligned": SETUP + "init((u64*)((char*)bar + 4), 1); // HERE\nout[t] = t;",
    },
}


@pytest.mark.parametrize(
    ("kind", "body"),
    [pytest.param(kind, body, id=name) for kind, bodies in WRONG.items() for name, body in bodies.items()],
)
def test_what_is_wrong_with_an_mbarrier(kind, body):
    report, _ = run(body)
    kinds, _ = found(report)
    assert kinds and kinds[0] == kind, str(report)
    if "// HERE" in body:
        marked = {n for n, text in enumerate(report.kernel.source.splitlines(), 1) if "// HERE" in text}
        assert {hazard.call_line or hazard.line for hazard in report.hazards} <= marked, str(report)


AS_DATA = {
    "a store": "if (t == 5)\nbar[0] = 0; // HERE",
    "half of it": "if (t == 5)\n((int*)bar)[1] = 7; // HERE",
    "16 bytes": "if (t == 5)\n*(int4*)bar = int4{}; // HERE",
    "a load": "if (bar[0] == 3) return; // HERE",
    "an atomic": "if (t == 5)\natomicAdd(&bar[0], 1ull); // HERE",
    "a generic address": "if (t == 5)\n*(t < 64 ? (char*)bar : (char*)out) = 1; // HERE",
    "a copy": "if (t == 5)\nCOPY(&bar[0], in); // HERE",
    "between two phases": "arrive(&bar[0]); wait(&bar[0], 0);\nif (t == 5)\nbar[0] = 0; // HERE\n__syncthreads();"
    "arrive(&bar[0]); wait(&bar[0], 1);",
}


@pytest.mark.parametrize("name", AS_DATA)
def test_an_mbarrier_is_no_plain_memory(name):
    body = ready(64).replace("u64 bar", "alignas(16) u64 bar") + AS_DATA[name] + "\nout[t] = t;"
    report, _ = run(body)
    assert found(report) == (["mbarrier"], set()), str(report)
    assert report.hazards[0].cause == "mbarrier-as-data" and "bar[" in report.hazards[0].message


AGAIN = {
    "in each turn": SETUP + "for (int i = 0; i < 2; ++i) {\nif (t == 0)\ninit(&bar[0], 64); // HERE\n"
    "__syncthreads(); arrive(&bar[0]); wait(&bar[0], 0); __syncthreads();\n}",
    "before anybody came": ready(64) + "if (t == 0)\ninit(&bar[0], 64); // HERE\n",
    "for another number of arrivals": ready(64)
    + "arrive(&bar[0]); wait(&bar[0], 0); __syncthreads();\nif (t == 0)\ninit(&bar[0], 32); // HERE\n",
    "by another thread": ready(64) + "if (t == 40)\ninit(&bar[0], 64); // HERE\n",
    "in the midst of a phase": ready(2) + "if (t == 0) arrive(&bar[0]);\n__syncthreads();\nif (t == 0)\n"
    "init(&bar[0], 2); // HERE\n",
    "after inval of its neighbour": ready(64, 64)
    + "if (t == 0) { inval(&bar[1]);\ninit(&bar[0], 64); // HERE\n}",
}


@pytest.mark.parametrize("name", AGAIN)
def test_an_mbarrier_is_made_once(name):
    report, _ = run(AGAIN[name] + "\nout[t] = t;")
    (hazard,) = report.hazards
    assert (hazard.kind, hazard.cause) == ("mbarrier", "mbarrier-made-again"), str(report)
    assert "// HERE" in report.kernel.source.splitlines()[hazard.call_line - 1]
    assert "at bar[0] already" in hazard.message and "mbarrier.inval" in hazard.message


RELAXED = (
    OPS
    + r"""
#define FENCE asm volatile("fence.acq_rel.cta;" ::: "memory")
#define ARRIVE_BY(sem) asm volatile("mbarrier.arrive." sem ".shared::cta.b64 _, [%0];" :: "r"(at(&bar[0])) : "memory")
#define EXPECT_BY(sem) asm volatile("mbarrier.arrive.expect_tx." sem ".shared::cta.b64 _, [%0], 0;" \
    :: "r"(at(&bar[0])) : "memory")
#define WAIT_BY(form) { unsigned done; do asm volatile("{ .reg .pred p;\nmbarrier." form \
    ".shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at(&bar[0])) : "memory"); \
    while (!done); }
"""
)
RELEASE, RELAXED_ARRIVE = (f'ARRIVE_BY("{sem}.cta");' for sem in ("release", "relaxed"))
ACQUIRE, RELAXED_WAIT = (f'WAIT_BY("try_wait.parity.{sem}.cta");' for sem in ("acquire", "relaxed"))


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize(
    ("arrive", "wait_for", "right"),
    [
        (RELEASE, ACQUIRE, True),
        ("FENCE;" + RELAXED_ARRIVE, ACQUIRE, True),
        ("FENCE;" + RELAXED_ARRIVE.replace("cta", "cluster"), ACQUIRE, True),
        ('FENCE; EXPECT_BY("relaxed.cta");', ACQUIRE, True),
        (RELEASE, RELAXED_WAIT + "FENCE;", True),
        ("FENCE;" + RELAXED_ARRIVE, RELAXED_WAIT + "FENCE;", True),
        (RELAXED_ARRIVE, RELAXED_WAIT + "__syncthreads();", True),
        (RELAXED_ARRIVE, ACQUIRE, False),
        (RELAXED_ARRIVE.replace("cta", "cluster"), ACQUIRE, False),
        (RELAXED_ARRIVE + "FENCE;", ACQUIRE, False),
        ('EXPECT_BY("relaxed.cta");', ACQUIRE, False),
        (RELEASE, RELAXED_WAIT, False),
        (RELEASE, RELAXED_WAIT.replace("try", "test"), False),
        (RELEASE, "FENCE;" + RELAXED_WAIT, False),
        ("FENCE;" + RELAXED_ARRIVE, RELAXED_WAIT, False),
        (RELAXED_ARRIVE, RELAXED_WAIT + "FENCE;", False),
    ],
)
def test_what_a_relaxed_arrival_and_a_relaxed_wait_order(arrive, wait_for, right, seed):
    body = ready(64) + f"tile[t] = t; // HERE\n{arrive} {wait_for}\nout[t] = tile[63 - t]; // HERE"
    report, _ = run(body, seed, RELAXED)
    assert found(report) == ([] if right else ["read-after-write"], set()), str(report)


@pytest.mark.parametrize(
    ("parity", "right"),
    [("in[0] * 0", True), ("in[0] * 0 + 1", True), ("in[0] * 0 + 2", False), ("in[0] * 0 + 4", False),
     ("t / 32 * 2", False), ("-1", False)],
)  # fmt: skip
def test_a_parity_is_0_or_1(parity, right):
    body = ready(64) + f"arrive(&bar[0]);\nif (t % 32 == 0)\nwait(&bar[0], {parity}); // HERE\nout[t] = t;"
    if parity.endswith("+ 1"):  # that of the phase which comes next
        body = body.replace("// HERE", "").replace("arrive(&bar[0]);", "")
    report, _ = run(body)
    assert [hazard.cause for hazard in report.hazards] == ([] if right else ["no-parity"]), str(report)
    if not right:
        assert "a parity is 0 or 1" in report.hazards[0].message


def test_an_arrival_too_many_is_told_of_its_phase():
    # the bytes keep the phase from its end
    body = ready(1) + "if (t == 0) { expect(&bar[0], 16);\narrive(&bar[0]); // HERE\n} out[t] = t;"
    report, _ = run(body)
    assert "an arrival in a phase that has all its arrivals (1) already." in report.hazards[0].message


def test_a_deadlock_says_what_is_missing():
    for name, words in (
        ("one-arrival-too-few", "lacks 1 of 65 arrivals"),
        ("bytes-that-never-come", "told to expect 1024 bytes, of which 0 came"),
    ):
        report, _ = run(WRONG["deadlock"][name])
        assert words in report.hazards[-1].message
        assert "bar" in report.hazards[-1].message
