"""The names and the pointers among a kernel's parameters, as messages give them; never a reason to refuse a launch."""

import numpy as np
import pytest

from ptxsim import LaunchError, compile, launch
from ptxsim.compiler.signature import parameters

SCALE = """
// void scale(int wrong) {
extern "C" __global__ void scale(float* out, const float* in, /* a, b */ float factor, int n) {
    const char* s = "__global__ void scale(int a) {"; if (n > 0) out[n] = factor * in[n];
}
"""
TEMPLATE = """template <typename T, int N>
__global__ void fill(T *out, T value[]) { out[threadIdx.x] = value[N]; }"""


def test_names_and_pointers():
    assert parameters(SCALE, "scale", (8, 8, 4, 4)) == (
        ("out", True),
        ("in", True),
        ("factor", False),
        ("n", False),
    )
    assert parameters(TEMPLATE, "fill<float, 3>", (8, 8)) == (("out", True), ("value", True))
    assert parameters('extern "C" __global__ void empty() {}', "empty", ()) == ()
    assert parameters(SCALE, "nobody", ()) == ()
    bounded = "__global__ void __launch_bounds__(256, 2) go(int n) {}"
    assert parameters(bounded, "go", (4,)) == (("n", False),)


@pytest.mark.parametrize(
    ("declared", "sizes", "found"),
    [
        ("P<float, 4>* p, int n", (8, 4), (("p", True), ("n", False))),
        ("P<Q<int*, 2>, 4> p, int n", (16, 4), (("p", False), ("n", False))),
        ("float* p = nullptr, int n = F<2, 3>::x + 2 * 3", (8, 4), (("p", True), ("n", False))),
        ("int n = 1 << 3, float x = (1, 2)", (4, 4), (("n", False), ("x", False))),
        ("const float* __restrict__ p, unsigned long long n", (8, 8), (("p", True), ("n", False))),
        ("const float* RESTRICT p, MAYBE int n", (8, 4), (("p", True), ("n", False))),
        ("float (*p)[4], int n", (8, 4), (("p", True), ("n", False))),
        ("float p[][4], int n", (8, 4), (("p", True), ("n", False))),
        ("[[maybe_unused]] int n, const ns::Box p", (4, 12), (("n", False), ("p", False))),
        ("const __grid_constant__ Box n, Box& p", (12, 8), (("n", False), ("p", False))),
        ("float*, int n", (8, 4), (("argument 0", True), ("n", False))),
        ("void", (), ()),
        ("float* p, int n MORE", (8, 4), (("p", True), ("n", False))),
        ("float* p, int n MORE", (8, 4, 8), (("p", True), ("n", False))),
        ("float* p, int n", (8, 4, 8), ()),
        ("PAIR(float*, p), int n", (8, 4, 4), ()),
        ("FLOATS p, int n", (8, 4), (("p", False), ("n", False))),
        ("float* p, int n", (4, 8), ()),
        ("Foo unused, int n", (8, 4), (("unused", False), ("n", False))),
    ],
)
def test_parameter_lists(declared, sizes, found):
    source = f'extern "C" __global__ void go({declared}) {{ use(p, n); Foo f; }}'
    assert parameters(source, "go", sizes) == found


def test_lists_that_differ_are_not_believed():
    body = "{ p[n] = 1; }"
    old = f"#if 0\n__global__ void go(int n, float* p) {body}\n#endif\n"
    assert parameters(f"{old}__global__ void go(float* p, int n) {body}", "go", (8, 4)) == (
        ("p", True),
        ("n", False),
    )
    old = f"#if 0\n__global__ void go(float* n, int p) {body}\n#endif\n"
    assert parameters(f"{old}__global__ void go(float* p, int n) {body}", "go", (8, 4)) == ()
    declared = "__global__ void go(float* p, int n);\n"
    assert parameters(f"{declared}__global__ void go(float* p, int n) {body}", "go", (8, 4))


# ---- right launches are not refused

BEFORE = """template <class T, int N> struct P { T x[N]; };
#define POINTER(T) T*
#define PAIR float* p, int n
#define MORE , int n
"""
LISTS = [
    "P<float, 4>* p, int n",
    "float* p /* int, int */, int n // float* q",
    "float* p, int n = 2 * 3",
    "POINTER(float) p, int n",
    "PAIR",
    "float* p MORE",
    "void* p, const int n",
]


@pytest.mark.parametrize("declared", LISTS)
@pytest.mark.parametrize("before", ["", "#if 0\n__global__ void k(int p, float* n) { p = *n; }\n#endif\n"])
def test_right_launches_run(declared, before):
    source = f'{BEFORE}{before}extern "C" __global__ void k({declared}\n) {{ ((float*)p)[n] = 1; }}'
    out = np.zeros(4, np.float32)
    assert launch(compile(source, "k"), (1,), (1,), (out, np.int32(2))).ok
    assert out.tolist() == [0, 0, 1, 0]


def test_a_launch_with_a_number_for_a_pointer_is_refused_with_its_name():
    source = f'{BEFORE}extern "C" __global__ void k(P<float, 4>* p, int n) {{ p->x[n] = 1; }}'
    with pytest.raises(
        LaunchError, match=r"p is a pointer in the kernel, but the argument is 5; pass an array"
    ):
        launch(compile(source, "k"), (1,), (1,), (5, np.int32(2)))
    with pytest.raises(LaunchError, match=r"k has 2 parameters \(p, n\), but 1 argument was given"):
        launch(compile(source, "k"), (1,), (1,), (5,))
    with pytest.raises(LaunchError, match=r"k has 1 parameter \(n\), but 2 arguments were given"):
        launch(compile('extern "C" __global__ void k(int n) {}', "k"), (1,), (1,), (5, 6))


@pytest.mark.parametrize(
    "body",
    [
        "out[threadIdx.x * pitch] = 1;",
        "const char* row = (const char*)out + pitch * sizeof(float) * threadIdx.x; *(float*)row = 1;",
        "extern __shared__ float s[]; s[threadIdx.x * pitch] = 1; out[threadIdx.x * pitch] = s[threadIdx.x * pitch];",
    ],
)
@pytest.mark.parametrize("pitch_type", ["size_t", "long long"])
def test_a_number_of_8_bytes_in_an_index_is_no_pointer(body, pitch_type):
    source = f'extern "C" __global__ void k(float* out, {pitch_type} pitch) {{ {body} }}'
    out = np.zeros(8, np.float32)
    assert launch(compile(source, "k"), (1,), (4,), (out, np.int64(2)), shared_mem=32).ok
    assert out.tolist() == [1, 0] * 4


def test_a_pointer_behind_another_name_may_be_null():
    source = "using Floats = float*;\n"
    source += 'extern "C" __global__ void k(Floats p, Floats out) { *out = p ? *p : 3; }'
    out = np.zeros(1, np.float32)
    assert launch(compile(source, "k"), (1,), (1,), (None, out)).ok
    assert out[0] == 3


def test_an_array_of_another_float_type_is_refused():
    source = 'extern "C" __global__ void k(const float* x, double* __restrict__ y) { *y = *x; }'
    single, double = np.ones(1, np.float32), np.ones(1)
    kernel = compile(source, "k")
    with pytest.raises(
        LaunchError, match=r"x is float\* in the kernel, and the array is float64; pass x.astype"
    ):
        launch(kernel, (1,), (1,), (double, double))
    with pytest.raises(LaunchError, match=r"y is double\* in the kernel, and the array is float32"):
        launch(kernel, (1,), (1,), (single, single))
    assert launch(kernel, (1,), (1,), (single, double)).ok
    bits = single.view(np.int32)
    with pytest.raises(LaunchError, match=r"or, if its bytes are meant, x\.view\(np\.float32\)"):
        launch(kernel, (1,), (1,), (bits, double))
    assert launch(kernel, (1,), (1,), (bits.view(np.float32), double)).ok
