"""Which kernel a name means, for the kernels that people have; and the word for a name that means none, or several."""

import re

import pytest

from ptxsim import CompileError, LaunchError
from ptxsim.command.kernels import find

HEADER = """template <typename T,
          int N> // a size
__global__ void __launch_bounds__(N) in_header(T* x) { x[0] = N; }
"""
SOURCE = r"""
// __global__ void in_comment(float* x) {}
__device__ const char* text = "__global__ void in_string(float* x) {}";
#if 0
template <typename T> __global__ void switched_off(T* x) {}
#endif
#define KERNEL(name) __global__ void name(float* x)
extern "C" __global__ void c(float* x) { x[0] = 1; }
__global__ void plain(float* x, int n) { x[n] = 1; }
static __global__ void hidden(float* x) { x[0] = 1; }
__global__ void __launch_bounds__(256, 2) bounded(float* x) { x[0] = 1; }
KERNEL(by_macro) { x[0] = 1; }
namespace math { namespace fast { __global__ void add(float* x) { x[0] = 1; } } }
namespace math { template <class T> __global__ void scale(T* x) { x[0] = 1; } }
namespace { __global__ void nowhere(float* x) { x[0] = 1; } }
struct Pair { int a, b; };
__global__ void many(float* x) { x[0] = 1; }
__global__ void many(int* x, Pair p) { x[0] = p.a; }
template <class T> __global__ void many(T x) { *x = 1; }
template <typename T, int N = 4, bool FAST = false> __global__ void tile(T* x) { x[0] = N; }
template <typename T, int N> __global__ void made(T* x) { x[0] = N; }
template __global__ void made<float, 3>(float*);
__device__ int helper(int n) { return n; }
"""


def refused(asked: str, source: str = SOURCE, options: tuple = ()) -> str:
    with pytest.raises(LaunchError) as error:
        find(source, asked, options)
    return str(error.value)


@pytest.mark.parametrize(
    ("asked", "name", "entry"),
    [
        ("c", "c", "c"),
        ("::c", "c", "c"),
        ("plain", "plain", "_Z5plainPfi"),
        ("_Z5plainPfi", "plain", "_Z5plainPfi"),
        ("hidden", "hidden", "_Z6hiddenPf"),
        ("bounded", "bounded", "_Z7boundedPf"),
        ("by_macro", "by_macro", "_Z8by_macroPf"),
        ("math::fast::add", "math::fast::add", "_ZN4math4fast3addEPf"),
        ("add", "math::fast::add", "_ZN4math4fast3addEPf"),
        ("made", "made", "_Z4madeIfLi3EEvPT_"),
        ("made<float, 5>", "made<float, 5>", "_Z4madeIfLi5EEvPT_"),
        ("math::scale<int>", "math::scale<int>", "_ZN4math5scaleIiEEvPT_"),
        ("tile<float>", "tile<float>", "_Z4tileIfLi4ELb0EEvPT_"),
        ("many(int *, Pair)", "many(int *, Pair)", "_Z4manyPi4Pair"),
        ("many(float*)", "many(float*)", "_Z4manyPf"),
        ("(void (*)(float *))many", "(void (*)(float *))many", "_Z4manyPf"),
    ],
)
def test_a_name_and_its_kernel(asked, name, entry):
    kernel = find(SOURCE, asked)
    assert (kernel.name, kernel.entry) == (name, entry)


def test_of_a_namespace_without_a_name():
    assert find(SOURCE, "nowhere").name == "nowhere"


def test_the_names_of_parameters_are_known_of_mangled_kernels():
    assert find(SOURCE, "plain").declared == (("x", True), ("n", False))


@pytest.mark.parametrize("text", ['extern "C" __global__ void one() {}', "__global__ void one() {}"])
def test_the_only_kernel_needs_no_name(text):
    assert find(text, "").name == "one"
    assert find(f"{text}\n// template <class T> __global__ void another(T x) {{}}", "").name == "one"


def test_a_kernel_beside_a_template_is_not_the_only_one():
    both = "__global__ void one() {}\ntemplate <class T> __global__ void another(T x) {}"
    assert refused("", both).startswith("it has several kernels")


def test_an_instance_that_the_source_makes_is_its_only_kernel():
    source = "template <int N> __global__ void f(int* x) { *x = N; }\ntemplate __global__ void f<3>(int*);"
    assert find(source, "").entry == "_Z1fILi3EEvPi"


def test_several_kernels_are_listed_with_what_to_ask_for():
    rows = refused("").splitlines()
    assert rows[0] == "it has several kernels; ask for"
    assert rows[1:9] == [
        f"    --kernel {name}"
        for name in ["bounded", "by_macro", "c", "hidden", "made", "math::fast::add", "nowhere", "plain"]
    ]
    assert [re.split(r"(?<=')\s{2,}", row.strip()) for row in rows[9:]] == [
        ["--kernel 'many(float *)'"],
        ["--kernel 'many(int *, Pair)'"],
        ["--kernel 'many<float>'", "or another instance of template <class T>"],
        ["--kernel 'math::scale<float>'", "or another instance of template <class T>"],
        [
            "--kernel 'tile<float, 4, false>'",
            "or another instance of template <typename T, int N = 4, bool FAST = false>",
        ],
    ]


@pytest.mark.parametrize("asked", ["nobody", "in_comment", "in_string", "switched_off", "helper", "text"])
def test_a_name_that_no_kernel_has(asked):
    assert refused(asked).startswith(f"no kernel is named {asked}; ask for\n    --kernel bounded\n")


def test_a_template_named_bare():
    assert refused("tile") == (
        "tile is a template; ask for\n    --kernel 'tile<float, 4, false>'  "
        "or another instance of template <typename T, int N = 4, bool FAST = false>"
    )


def test_a_template_of_a_header_named_bare(tmp_path):
    (tmp_path / "tile.h").write_text(HEADER)
    source, options = '#include "tile.h"\n', (f"-I{tmp_path}",)
    told = "--kernel 'in_header<float, 16>'  or another instance of template <typename T, int N>"
    assert told in refused("in_header", source, options)
    assert find(source, "in_header<float, 8>", options).name == "in_header<float, 8>"
    assert refused("", source, options).startswith("the compiler found no __global__ function in it")


def test_a_name_of_several_kernels():
    assert refused("many").splitlines()[:3] == [
        "many is several kernels; ask for",
        "    --kernel 'many(float *)'",
        "    --kernel 'many(int *, Pair)'",
    ]


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("tile<>", "cannot determine which instance"),
        ("tile<floot>", 'identifier "floot" is undefined'),
        ("many(int, int)", "cannot determine which instance of overloaded function"),
        ("nobody<3>", 'identifier "nobody" is undefined'),
        ("*", "expected an expression"),
    ],
)
def test_an_instance_that_is_none(asked, reason):
    assert refused(asked).startswith(f"{asked} is no kernel (") and reason in refused(asked)


def test_a_source_without_a_kernel():
    assert refused("", "__device__ int x;").startswith("the compiler found no __global__ function")
    assert refused("k", "__device__ int x;").startswith("the compiler found no __global__ function")


@pytest.mark.parametrize("asked", ["", "f", "nobody", "f<int>", "f<floot>"])
def test_an_error_of_the_source_is_told_before_one_of_the_name(asked):
    with pytest.raises(CompileError, match=r"kernel.cu\(2\): error: identifier .y. is undefined"):
        find("template <class T> __global__ void f(T* x) {}\n__global__ void g(int* x) { *x = y; }", asked)


def test_an_error_of_an_instance():
    with pytest.raises(CompileError, match="four"):
        find('template <int N> __global__ void f() { static_assert(N == 4, "four"); }', "f<3>")
