"""Threads that poll what nobody is left to change: a deadlock, told at once; and loops that do end, however long."""

import time

import numpy as np
import pytest

import ptxsim
from tests.ptxsim.small_kernels import found, run
from tests.ptxsim.units.test_mbarrier import HOPPER, OPS
from tests.sample import one_in

ASK = """asm volatile("{ .reg .pred p;\\nagain:\\nmbarrier.test_wait.parity.shared.b64 p, [%0], 0;\\n@!p bra again; }"
    :: "r"(at(&b[1])));"""
ASKS = "__shared__ u64 b[2]; if (t == 0) init(&b[1], 2);\n__syncthreads(); arrive(&b[1]);"
FLAG = "volatile int* flag = out;\n"
STUCK = {
    "an mbarrier": (ASKS.replace(" arrive(", " if (t == 0) arrive(") + ASK, "missing-arrival",
                    "Phase 0 of the mbarrier at b[1] lacks 1 of 2 arrivals"),
    "a flag": (FLAG + "while (flag[3] == 0) { }", "nobody-writes",
               "look again and again, at line 60, at element 3 of out (int32, shape (64,)), which is 0"),
    "a flag, and sleep in between": (FLAG + "for (int ns = 8; flag[3] == 0; ns = min(ns * 2, 256)) __nanosleep(ns);",
                                     "nobody-writes", "at element 3 of out"),
    "an atomic": ("while (atomicAdd(&out[1], 0) != 7) { }", "nobody-writes",
                  "element 1 of out (int32, shape (64,)), which is 0"),
    "a lock that nobody gives back": ("while (atomicCAS(out, 0, 1) != 0) { }", "nobody-writes",
                                      "out (int32, shape (64,)), which is 1"),
    "in shared memory": ("__shared__ volatile int f[2]; if (t == 0) f[1] = 5;\n__syncthreads(); while (f[1] != 6) { }",
                         "nobody-writes", "at f[1], which is 5"),
    "some poll, the others wait": (FLAG + "if (t < 32) while (flag[3] == 0) { }\n__syncthreads();", "nobody-writes",
                                   "Barrier 0 of block 0 has 32 of 64 threads: threads 32 to 63 came, threads 0 to 31"),
    "with a vote": (FLAG + "while (!__any_sync(~0u, flag[t] != 0)) { }", "nobody-writes", "element 0 of out"),
    "with a barrier": (FLAG + "while (!flag[2]) __syncthreads();", "nobody-writes", "element 2 of out"),
    "two places": (FLAG + "if (t < 32) while (flag[3] == 0) { }\nelse while (flag[9] == 0) { }", "nobody-writes",
                   "32 threads, thread 32 of block 0 among them, look again and again, at line 61, at element 9"),
}  # fmt: skip


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize(("body", "cause", "words"), STUCK.values(), ids=STUCK)
def test_a_poll_that_nobody_can_end(body, cause, words, seed):
    start = time.thread_time()
    report = run(body, np.zeros(64, np.int32), None, block=64, before=OPS, options=HOPPER, seed=seed)
    assert [hazard.kind for hazard in report.hazards][-1:] == ["deadlock"], report
    assert report.hazards[-1].cause == cause and words in report.hazards[-1].message, report
    assert time.thread_time() - start < 5


ENDS = {
    "a count": "for (int i = 0; flag[1] == 0 && i < 1500; ++i) { }",
    "a count of sleeps": "for (int i = 0; flag[1] == 0; ++i) { __nanosleep(20); if (i == 1500) break; }",
    "a count in the answer of a shuffle": "for (int i = 0; flag[1] == 0 && __shfl_sync(~0u, i, 3) < 1500; ++i) { }",
    "the clock": "long long start = clock64(); while (flag[1] == 0 && clock64() - start < 50000) { }",
    "another thread, later": "if (t == 63) { int x = 1; for (int i = 0; i < n; ++i) x = x * 5 + i; flag[2] = x;\n"
    "__threadfence(); flag[1] = 1; }\nelse while (flag[1] == 0) { }",
    "another thread, that polls too": "if (t == 63) { for (int i = 0; flag[3] == 0 && i < n; ++i) { } flag[1] = 1; }\n"
    "else while (flag[1] == 0) { }",
    "a lock": "if (t % 32 == 0) { while (atomicCAS(&out[4], 0, 1)) { }\n"
    "for (int i = 0; flag[5] == 0 && i < n; ++i) { }\n__threadfence(); atomicExch(&out[4], 0); }",
    "turns": "for (int turn = 0; turn < 64; ++turn) { while (flag[1] < turn / 2 * 2) { }\n"
    "if (t == turn) flag[1] = turn + 1;\n__syncthreads(); }",
}


@pytest.mark.parametrize("seed", one_in(2, [None, 1]))
@pytest.mark.parametrize("body", ENDS.values(), ids=ENDS)
def test_a_loop_that_ends_is_no_deadlock(body, seed):
    body = "volatile int* flag = out;\n" + body
    args = np.zeros(64, np.int32), np.int32(1500)
    report = run(body, *args, parameters="int* out, int n", block=64, seed=seed)
    assert not report.stopped, report


@pytest.mark.parametrize(
    "body",
    ["int x = t; do x = __shfl_xor_sync(-1, x, 1) | 1; while (x); out[0] = x;",
     "while (n > 0) asm volatile(\"\");\nout[0] = n;",
     "for (int i = t; i < n; i = i % n) asm volatile(\"\");\nout[0] = n;"],
)  # fmt: skip
def test_a_loop_that_looks_at_nothing_has_no_end(body):
    report = run(body, np.zeros(64, np.int32), np.int32(9), parameters="int* out, int n", max_steps=10**5)
    assert [hazard.kind for hazard in report.hazards] == ["step-limit"], report
    assert "for ever: nothing that it tests changes in a turn" in str(report), report


WAITS = """#include <cuda/barrier>
extern "C" __global__ void k(int* out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> b;
    if (threadIdx.x == 0) init(&b, 65);
    __syncthreads();
    b.arrive_and_wait(); out[threadIdx.x] = 1;
}"""


def test_the_wait_of_a_library_sleeps_by_the_clock():
    """Below sm_90, where it polls: how long it sleeps hangs on the clock, and whether it goes on does not."""
    report = ptxsim.launch(ptxsim.compile(WAITS, "k", ("-std=c++17",)), 1, 64, (np.zeros(64, np.int32),))
    assert report.hazards[0].kind == "deadlock" and "mbarrier at b lacks 1 of 65 arrivals" in str(report), (
        report
    )


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("if (t < 32) BAR(3, 64);", "Barrier 3 of block 0 has 32 of 64 threads: threads 0 to 31 came"),
        ("if (t < 32) ARRIVE(2, 96); if (t >= 64 && t < 96) BAR(2, 96);\nif (t >= 96) __syncthreads();",
         "Barrier 2 of block 0 has 64 of 96 threads: threads 0 to 31, 64 to 95 came"),
        ("if (t < 32) BAR(1, 64); else if (t < 64) BAR(2, 64); else __syncthreads();",
         "Barrier 0 of block 0 has 64 of 128 threads: threads 64 to 127 came, threads 0 to 63 wait elsewhere"),
        ("if (blockIdx.x && t < 32) BAR(3, 64);", "Barrier 3 of block 1 has 32 of 64 threads"),
    ],
)  # fmt: skip
def test_a_barrier_says_who_came(body, words):
    report = run(
        body, np.zeros(64, np.int32), parameters="int* out", block=128, grid=2 if "block" in body else 1
    )
    assert report.hazards[-1].kind == "deadlock" and words in report.hazards[-1].message, report


def test_blocks_that_do_not_come_to_the_barrier_of_the_grid_are_named():
    body = "auto grid = cooperative_groups::this_grid();\n"
    body += "for (int i = 0; i < in[blockIdx.x]; ++i)\ngrid.sync(); // HERE"
    turns = np.array([2, 3, 2], np.int32)
    how = dict(before="#include <cooperative_groups.h>\n", grid=3, cooperative=True)
    report = run(body, np.zeros(64, np.int32), turns, **how)
    words = "Of 3 blocks 2 ended before it: 0, 2. Each block of the grid must come to each grid.sync()"
    assert found(report) == (["deadlock"], set()) and words in report.hazards[0].message, report
    assert run(body.replace("in[blockIdx.x]", "in[0]"), np.zeros(64, np.int32), turns, **how).ok
