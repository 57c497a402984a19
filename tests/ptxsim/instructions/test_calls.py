"""Calls through pointers, and what kernels allocate themselves."""

import numpy as np
import pytest

import ptxsim
from ptxsim.front.kernel import LaunchError
from tests.ptxsim.small_kernels import found, run_on_numbers

FUNCTIONS = """
typedef int (*F)(int, int);
__device__ __noinline__ int sum(int x, int y) { return x + y; }
__device__ __noinline__ int product(int x, int y) { return x * y; }
__device__ __noinline__ int less(int x, int y) { return x - y; }
__device__ F table[3] = {sum, product, less};
"""


@pytest.mark.parametrize("divide", (1, 32))
def test_each_thread_calls_what_its_pointer_leads_to(divide):
    body = f"F f = table[t / {divide} % 3]; out[t] = f(in[t], 3);"
    report, out = run_on_numbers(body, before=FUNCTIONS, block=96, size=96)
    x = np.arange(96)
    assert report.ok
    assert np.array_equal(out, np.choose(x // divide % 3, [x + 3, x * 3, x - 3]))


def test_a_race_in_a_function_is_told_with_the_line_of_its_call():
    before = (
        "__device__ __noinline__ int next(int* s) { return s[(threadIdx.x + 1) % 64]; } // HERE\n"
        "__device__ __noinline__ int own(int* s) { return s[threadIdx.x]; }\n"
    )
    body = "__shared__ int s[64]; s[t] = in[t];\nout[t] = (in[0] ? own : next)(s);"
    report, _ = run_on_numbers(body, before=before, block=64, size=64)
    assert found(report) == (["read-after-write"], set())
    assert report.hazards[0].call_line == report.kernel.source.count("\n") - 1


TREE = """
struct Node { __device__ virtual int count() const { return 1; } };
struct Pair : Node {
    const Node *left, *right;
    __device__ Pair(const Node* left, const Node* right) : left(left), right(right) {}
    __device__ int count() const override { return left->count() + right->count(); }
};
"""


def test_virtual_functions_and_new():
    body = "Node* p = new Pair(new Node, new Node); out[t] = (in[t] % 2 ? p : new Node)->count();"
    report, out = run_on_numbers(body, before=TREE, size=64, block=64)
    assert report.ok, report
    assert np.array_equal(out, 1 + np.arange(64) % 2)


def test_recursion_through_a_pointer_is_called_so():
    before = (
        "typedef int (*F)(int);\n__device__ int down(int x);\n__device__ F table[1] = {down};\n"
        "__device__ __noinline__ int down(int x) { return x ? 1 + table[0](x - 1) : 0; } // HERE\n"
    )
    report, _ = run_on_numbers("out[t] = table[in[0]](0) + down(in[t] / 31);", before=before)
    assert found(report) == (["unsupported-instruction"], set())
    assert "thread 31 of block 0: recursion: device function _Z4downi" in report.hazards[0].message


MAYBE = """
struct Maybe { __device__ virtual bool get(int x, int& v) const { if (x % 2) v = x; return x % 2; } };
struct Never : Maybe { __device__ bool get(int x, int& v) const override { return false; } };
"""


@pytest.mark.parametrize(
    ("uses", "kinds"),
    [
        ("out[t] = got ? v : -1;", []),
        ("out[t] = got ? 2 * v + 1 : -1;", []),
        ("out[t] = v + got;", ["uninitialised-read"]),
    ],
)
def test_a_variable_that_a_virtual_function_sets_or_not(uses, kinds):
    """The compiler loads it in any case, and chooses behind that."""
    body = (
        f"Maybe* m = in[t] < 16 ? new Maybe : new Never; int v; bool got = m->get(in[t], v);\n{uses} // HERE"
    )
    report, out = run_on_numbers(body, before=MAYBE, size=32)
    assert found(report) == (kinds, set())
    assert kinds or (out[15] in (15, 31) and out[16] == out[17] == -1)


def test_what_malloc_gives_holds_nothing_and_is_apart():
    before = "__device__ __noinline__ int* of(int n) { int* p = (int*)malloc(4 * n); p[0] = n; return p; }"
    body = (
        "int* p = of(in[t] + 1); int* q = of(2); out[t] = p[0];\nout[t] += q[1]; // HERE\nfree(p); free(q);"
    )
    report, out = run_on_numbers(body, before=before, size=32)
    assert found(report) == (["uninitialised-read"], set())
    assert "the memory of malloc and new" in report.hazards[0].message
    assert np.array_equal(out, 1 + np.arange(32))


def test_no_room_is_a_null_pointer():
    report, out = run_on_numbers("out[t] = malloc((size_t)(in[t] + 1) << 20) != nullptr;", block=8, size=8)
    assert report.ok and out.tolist() == [1, 1, 1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("body", ("free(out);", "int* p = (int*)malloc(4); free(p);\nfree(p); // HERE"))
def test_free_of_what_malloc_has_not_given(body):
    report, _ = run_on_numbers(body + " // HERE")
    assert found(report) == (["out-of-bounds"], set())
    assert report.hazards[0].cause == "not-from-malloc"


def test_a_call_without_a_prototype_is_refused():
    text = (
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n"
        "{ .reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; call %rd1, other; ret; }"
    )
    with pytest.raises(LaunchError, match="without a prototype"):
        ptxsim.from_ptx(text)
