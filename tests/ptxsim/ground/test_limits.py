"""What takes long or much memory: loops without an end are ended, right kernels run through, Ctrl-C is heard.

`python -m research.endless_loops` tells how long each endless loop takes.
"""

import re
import signal
import subprocess
import sys
import time
from itertools import count

import numpy as np
import pytest

from ptxsim.ground import work
from ptxsim.ground.memory import Fault
from ptxsim.races import messages, shadow
from tests.ptxsim.small_kernels import found, run
from tests.sample import one_in

PLAIN, VOLATILE = "int* out", "volatile int* out"
MANY = dict(grid=16, block=1024)
COPIES = """__shared__ int s[1024]; unsigned to = (unsigned)__cvta_generic_to_shared(&s[t]);
    for (;;) {{
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(out + t) : "memory");
        {then}
    }}"""
WORDS = "has not ended.*a loop goes on for ever, or the launch needs more: then simulate a smaller size.*max_steps="
ENDLESS = {
    "volatile, one warp": (VOLATILE, dict(), "for (int i = 0; out[0] < 5; ++i)\nout[t + 1] = i;"),
    "volatile, many warps": (VOLATILE, MANY, "while (out[0] < 5) out[t + 1] = 3;"),
    "atomics on one place": (PLAIN, MANY, "while (atomicXor(out, 2) != 1) { }"),
    "counting up": (PLAIN, MANY, "while (atomicAdd(out, 1) >= 0) { }"),
    "in shared memory": (PLAIN, MANY, "__shared__ int s; s = 0; __syncthreads(); while (atomicAdd(&s, 1) >= 0) { }"),
    "barriers": (VOLATILE, MANY, "__shared__ int s[1024]; s[t] = t;\n"
                 "do { __syncthreads(); s[t] += s[t ^ 1]; __syncthreads(); } while (out[0] != 3);"),
    "named barriers": (VOLATILE, MANY, "do BAR(1, 1024); while (out[0] != 3);"),
    "many blocks": (VOLATILE, dict(grid=65536), "for (int i = 0; i < 20000; ++i) out[0] = 3;"),
    "subnormal doubles": (PLAIN, MANY, "double x = 1e-310 * t; do x = __fma_rn(x, 0.5, 1e-320); while (x < 5);\n"
                          "out[0] = x;"),
    "rounded doubles": (PLAIN, MANY, "double x = t + 1; do x = __dmul_rz(x, 1.0000001); while (x > 0); out[0] = x;"),
    "shuffles": (PLAIN, MANY, "int x = t + 1; do x = __shfl_xor_sync(-1, x, 1) + 1; while (x); out[0] = x;"),
    "copies": (PLAIN, dict(), COPIES.format(then="")),
    "copies that are waited for": (PLAIN, MANY, COPIES.format(then='asm volatile("cp.async.wait_all;" ::: "memory");')),
    "copies of many": (PLAIN, MANY, COPIES.format(then='asm volatile("cp.async.commit_group;" ::: "memory");')),
    "printing": (VOLATILE, MANY, 'while (out[0] != 3) printf("%d", t);'),
}  # fmt: skip


@pytest.mark.parametrize("name", one_in(3, ENDLESS))
def test_an_endless_loop_ends(name, monkeypatch):
    parameters, how, body = ENDLESS[name]
    """It takes about 15 seconds; a thirtieth of it here."""
    monkeypatch.setattr(work, "PATIENCE", work.PATIENCE // 30)
    start = time.thread_time()
    report = run(body, np.zeros(1100, np.int32), parameters=parameters, **how)
    assert found(report)[0][-1] == "step-limit", report
    assert re.search(WORDS, report.hazards[-1].message)
    assert time.thread_time() - start < 5


def goes_on(monkeypatch):
    """A second each time that somebody looks, on the wall and of the processor."""
    seconds = count()
    for clock in ("monotonic", "process_time"):
        monkeypatch.setattr(work, clock, seconds.__next__)


@pytest.mark.parametrize(("parameters", "how", "body"), ENDLESS.values(), ids=ENDLESS)
def test_a_clock_ends_an_endless_loop(parameters, how, body, monkeypatch):
    """Where the steps would not."""
    monkeypatch.setattr(work, "PATIENCE", 10**12)
    goes_on(monkeypatch)
    monkeypatch.setattr(work, "SECONDS", 20)
    report = run(body, np.zeros(1100, np.int32), parameters=parameters, **how)
    assert found(report)[0][-1] == "step-limit", report
    assert "no thread has ended and no new part of an array was touched" in report.hazards[-1].message


@pytest.mark.parametrize(
    ("body", "ends"),
    [
        ("out[t] = x;", False),
        ("out[t + 64 * (i / 16)] = x;", True),  # new parts of an array
        ("if (i / 500 == t) return; out[t] = x;", True),  # threads that end
    ],
)
def test_the_clock_runs_while_nothing_gets_on(body, ends, monkeypatch):
    goes_on(monkeypatch)
    monkeypatch.setattr(work, "SECONDS", 5000)
    loop = f'int x = t; for (int i = 0; i < n; ++i) {{ {body} asm volatile("" ::: "memory"); }} out[t] = x;'
    how = dict(parameters="int* out, int n")
    report = run(loop, np.zeros(1 << 17, np.int32), np.int32(6000), **how)
    assert found(report)[0] == ([] if ends else ["step-limit"])
    assert run(loop, np.zeros(1 << 17, np.int32), np.int32(6000), max_steps=10**9, **how).ok  # and no clock


def test_a_machine_that_sleeps_ends_no_kernel(monkeypatch):
    """The clock on the wall is an hour further at each look; what this process had of a processor is not."""
    hours = count(0, 3600)
    monkeypatch.setattr(work, "monotonic", hours.__next__)
    budget = work.Budget(None)
    for _ in range(1000):
        budget.spend(1)
    monkeypatch.setattr(work, "process_time", lambda: budget.began + work.SECONDS + 1)
    with pytest.raises(Fault, match="no thread has ended"):
        budget.spend(1)


@pytest.mark.parametrize(
    ("how", "words"),
    [(dict(max_steps=2000), "which is all that max_steps=2,000 allows"), (dict(), "no thread has ended")],
)
def test_a_launch_that_only_needs_more_is_told_so(how, words, monkeypatch):
    """Its loop ends, later."""
    monkeypatch.setattr(work, "PATIENCE", 5000)
    body = "int x = t; for (int i = 0; i < n; ++i) x = x * 3 + i; out[t] = x;"
    report = run(body, np.zeros(32, np.int32), np.int32(10**6), parameters="int* out, int n", **how)
    assert found(report)[0] == ["step-limit"]
    message = report.hazards[0].message
    assert words in message and re.search(WORDS, message)


def test_fences_of_many_blocks():
    """Of 8192 warps, in blocks that may wait for each other: all of them run at once."""
    body = "for (int i = 0; i < 4; ++i) { __threadfence(); if (out[0]) return; }"
    start = time.thread_time()
    assert run(body, np.zeros(32, np.int32), parameters=VOLATILE, grid=1024, block=256).ok
    assert time.thread_time() - start < 10


def test_a_loop_of_fences_needs_no_more_memory():
    """It waits for nobody, and has seen the same at each of them."""
    kept = []

    class Fences(messages._Fences):
        def set(self, *what):
            super().set(*what)
            kept.append(len(self.kept))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(messages, "_Fences", Fences)
        run(
            "do __threadfence(); while (!out[0]);", np.zeros(1, np.int32), parameters=VOLATILE, max_steps=5000
        )
    assert len(kept) > 100 and max(kept) == 2


@pytest.mark.parametrize(("parameters", "how", "body"), [*ENDLESS.values()][:2], ids=[*ENDLESS][:2])
def test_a_number_of_steps_ends_it_too(parameters, how, body):
    reports = [
        run(body, np.zeros(1100, np.int32), parameters=parameters, max_steps=2000, **how) for _ in range(2)
    ]
    assert found(reports[0])[0][-1] == "step-limit"
    assert str(reports[0]) == str(reports[1])


def test_a_launch_that_gets_on_may_take_long(monkeypatch):
    """New blocks, and new parts of an array, show that it gets on."""
    monkeypatch.setattr(work, "PATIENCE", 20_000)
    out = np.zeros(1 << 18, np.int32)
    blocks = "int x = t; for (int i = 0; i < n; ++i) x = x * 3 + n; out[blockIdx.x * 256 + t] = x;"
    report = run(blocks, out, np.int32(500), parameters="int* out, int n", grid=1024, block=256)
    assert report.ok, report
    pages = "for (int i = t; i < n; i += 32) out[i] = i;"
    report = run(pages, out, np.int32(len(out)), parameters="int* out, int n")
    assert report.ok, report
    monkeypatch.setattr(work, "MOST", 20_000)
    assert found(run(pages, out, np.int32(len(out)), parameters="int* out, int n"))[0] == ["step-limit"]


# ---- memory

BYTES = """
import resource
import numpy as np
from tests.ptxsim.small_kernels import run

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

a, b = np.ones(1 << 24, np.uint8), np.zeros(1 << 24, np.uint8)
what = "unsigned char* out, const unsigned char* in"
body = "int i = blockIdx.x * 1024 + t; for (int k = 0; k < 8; ++k) out[8 * i + k] = in[8 * i + k];"
small = run(body, b[:8192], a[:8192], parameters=what, block=1024)
before = peak()
report = run(body, b, a, parameters=what, grid=2048, block=1024)
print(report.ok, bool((b == a).all()), peak() - before)
"""


def python(code, **how):
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how
    )


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss counts kilobytes on Linux")
def test_the_bookkeeping_of_bytes_stays_small():
    """32 MB of arrays, of which the half that is written is watched byte by byte."""
    out, errors = python(BYTES).communicate(timeout=100)
    assert out.startswith("True True"), errors
    assert int(out.split()[-1]) < 8 * (1 << 25)


WATCHED = 1 << 10
BEHIND = {
    "stores of blocks to their own places": ("out[at + 32 * blockIdx.x + t] = t;", None),
    "stores of two blocks to one place": ("out[at + 8 * t] = blockIdx.x;", "block-conflict"),
    "of the same value": ("out[at + 8 * t] = 5;", None),
    "loads and stores": ("out[at + 8 * t] += blockIdx.x + 1;", "block-conflict"),
    "two lanes to one place": ("if (blockIdx.x == 0) out[at + t / 2 * 8] = t;", "write-after-write"),
    "atomics and a store": ("atomicAdd(out + at + 8 * t, 1); out[at + 8 * t] = 3;", "block-conflict"),
    "words and bytes": ("((char*)out)[4 * at + t] = t; out[at + t] = blockIdx.x;", "block-conflict"),
    "copies": ("__shared__ int s[32]; COPY(s + t, out + at + 8 * t); COMMIT; out[at + 8 * t] = 1;\n"
               "WAIT(0); out[at + 8 * t + 1] = s[t];", "block-conflict"),
    "copies of some bytes": ('__shared__ int s[32]; asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: '
                             '"r"(SHARED(s + t)), "l"(out + at + 8 * t), "r"(t & 3) : "memory"); COMMIT;\n'
                             "out[at + 8 * t] = 1; WAIT(0); out[at + 8 * t + 1] = s[t];", "block-conflict"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "kind"), BEHIND.values(), ids=BEHIND)
def test_a_large_array_is_watched_up_to_a_place(body, kind, monkeypatch):
    """Nothing is said of what lies behind; at the border, of what lies before it."""
    monkeypatch.setattr(shadow, "MOST_GRANULES", WATCHED)
    for at, seen in ((0, True), (WATCHED // 4 - 16, True), (WATCHED - 16, True), (WATCHED, False)):
        report = run(body, np.zeros(4096, np.int32), np.int32(at), parameters="int* out, int at", grid=2)
        if "char" not in body or at in (0, WATCHED):  # a byte is a granule: the border is elsewhere
            assert (kind in found(report)[0]) == (seen and kind is not None), (at, report)


def test_an_array_of_more_than_64_mb_of_bytes():
    body = "long i = (blockIdx.x ? n - 1024 : 0) + t; out[i] = 1; if (t) out[i - 1] = 2;"
    out = np.zeros((1 << 26) + 4096, np.uint8)
    report = run(body, out, np.int32(len(out)), parameters="unsigned char* out, int n", grid=2, block=1024)
    assert found(report)[0] == ["write-after-write"] and (out[:1024] == out[-1024:]).all(), report


# ---- Ctrl-C

SLOW_TO_COMPILE = '''
import sys
import ptxsim
print("go", flush=True)
ptxsim.compile("""
template <int N, int S> struct F {
    static __device__ int f(int x) { return F<N - 1, S>::f(x) * 3 + F<N - 1, S>::f(x ^ N); }
};
template <int S> struct F<0, S> { static __device__ int f(int x) { return x + S; } };
extern "C" __global__ void k(int* o)
{
    o[0] = F<24, 0>::f(o[0]); o[1] = F<24, 1>::f(o[1]); o[2] = F<24, 2>::f(o[2]); o[3] = F<24, 3>::f(o[3]);
    o[4] = F<24, 4>::f(o[4]); o[5] = F<24, 5>::f(o[5]); o[6] = F<24, 6>::f(o[6]); o[7] = F<24, 7>::f(o[7]);
}
""", "k")
'''
NEVER_ENDS = """
import numpy as np
from tests.ptxsim.small_kernels import run
from tests.sample import one_in
def launch(**steps):
    run("while (atomicAdd(out, 1) >= 0) { }", np.zeros(4, np.int32), parameters="int* out", **steps)
launch(max_steps=1)  # compiles it
print("go", flush=True)
launch()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a signal to another process is something else there")
@pytest.mark.parametrize(
    ("code", "words"),
    [(SLOW_TO_COMPILE, "the compiler was stopped"), (NEVER_ENDS, "the launch of k was stopped")],
)
def test_ctrl_c_is_heard(code, words):
    """In less time than their work takes, on a busy machine too: half a minute and more, and fifteen seconds."""
    process = python(code)
    process.stdout.readline()
    time.sleep(1.5)
    start = time.perf_counter()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert time.perf_counter() - start < 10
    assert errors.rstrip().endswith(words), errors


def test_a_notebook_shows_a_ctrl_c_in_a_line(capsys):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.run_cell(
        "from ptxsim.ground.interrupts import interruptible\n"
        "with interruptible('the launch of k'):\n    raise KeyboardInterrupt"
    )
    out = capsys.readouterr()
    lines = [line for line in (out.out + out.err).splitlines() if line.strip()]
    assert lines == ["Interrupted: the launch of k was stopped"]
