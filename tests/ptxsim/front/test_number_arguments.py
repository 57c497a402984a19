"""Numbers and arrays for the parameters of a kernel; and kernels named by an expression of C++."""

import numpy as np
import pytest

from ptxsim import CompileError, LaunchError, compile, launch
from ptxsim.ground.numbers import misread, number_of

TILE = """template <typename T, int N> __global__ void tile(T* x) { x[threadIdx.x] = N; }
namespace math { __global__ void two(float* x) { x[threadIdx.x] = 2; } }
"""


@pytest.mark.parametrize(
    ("name", "value"), [("tile<float, 32>", 32), ("math::two", 2), ("tile<float, 4 * 2>", 8)]
)
def test_a_template_is_compiled_by_its_instance(name, value):
    x = np.zeros(4, np.float32)
    assert launch(compile(TILE, name), 1, 4, (x,)).ok and (x == value).all()
    assert launch(compile(TILE, name, (), (name,)), 1, 4, (x,)).ok


def test_an_instance_that_there_is_not():
    with pytest.raises(LaunchError, match=r"the source has no kernel tile<nothing, 2>: .*nothing"):
        compile(TILE, "tile<nothing, 2>")
    with pytest.raises(CompileError, match="expected"):
        compile(TILE + "int;;= 3", "tile<float, 2>")


@pytest.mark.parametrize(
    ("declared", "given"),
    [("int n", 5), ("int n", -5), ("unsigned char n", 200), ("long long n", 2**40), ("unsigned long long n", 2**63),
     ("int n", True), ("int n", np.int64(-5)), ("long long n", np.uint8(7)), ("short n", np.int16(-3)),
     ("bool n", True), ("double n", 0.25), ("float n", np.float32(0.25)), ("half n", np.float16(0.25))],
)  # fmt: skip
def test_a_number_arrives(declared, given):
    source = f'#include <cuda_fp16.h>\nextern "C" __global__ void k({declared}, double* out) {{ *out = double(n); }}'
    out = np.zeros(1)
    assert launch(compile(source, "k"), 1, 1, (given, out)).ok and out[0] == float(given)


@pytest.mark.parametrize(
    ("declared", "given"),
    [("int n", 2**32), ("signed char n", 256), ("int n", 1.0), ("int n", np.float32(1)), ("long long n", np.int32(-1)),
     ("float n", 1), ("float n", 1.0), ("double n", 1), ("double n", np.float32(1)), ("float2 n", 5), ("int n", 1j),
     ("int n", np.datetime64(1, "s")), ("double n", np.longdouble(1)), ("int n", np.bytes_(b"abcd"))],
)  # fmt: skip
def test_a_number_that_would_be_misread_is_refused(declared, given):
    source = f'extern "C" __global__ void k({declared}, double* out) {{ out[0] = sizeof(n); }}'
    with pytest.raises(LaunchError, match=r"; pass (np\.|a NumPy scalar)"):
        launch(compile(source, "k"), 1, 1, (given, np.zeros(1)))


@pytest.mark.parametrize(
    ("written", "number"),
    [("int", "int32"), ("unsigned", "uint32"), ("unsigned int", "uint32"), ("long", "int64"), ("short int", "int16"),
     ("long long unsigned int", "uint64"), ("signed char", "int8"), ("uint16_t", "uint16"), ("int64_t", "int64"),
     ("size_t", "uint64"), ("half", "float16"), ("double", "float64"), ("bool", "bool")],
)  # fmt: skip
def test_numbers_of_c(written, number):
    assert number_of(written) == np.dtype(number)
    assert not misread(np.dtype(number), written)


@pytest.mark.parametrize("written", ["", "float2", "T", "void", "uint4", "intx_t", "struct int"])
def test_what_is_no_number_may_be_anything(written):
    assert number_of(written) is None and not misread(np.dtype("int64"), written)


@pytest.mark.parametrize(
    ("dtype", "written", "other"),
    [("int64", "int", True), ("int16", "int", True), ("bool", "int", True), ("uint32", "int", False),
     ("float32", "int", True), ("float16", "unsigned", False), ("int64", "unsigned", True), ("int8", "bool", False),
     ("int32", "float", True), ("uint32", "float", False), ("uint32", "double", True),
     ("complex64", "float", False), ("complex128", "float", True), ("float64", "half", True),
     ("float32", "unsigned char", False), ("float32", "char", False), ("float32", "signed char", True)],
)  # fmt: skip
def test_arrays_that_would_be_misread(dtype, written, other):
    assert misread(np.dtype(dtype), written) is other


def test_an_array_with_its_axes_exchanged_has_no_gaps():
    source = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] += 1; }'
    x = np.zeros((2, 3, 4), np.float32)
    for each in (x.transpose(1, 0, 2), np.copy(x.transpose(1, 2, 0), order="K"), x.reshape(1, 24, 1)):
        assert launch(compile(source, "k"), 1, 24, (each,)).ok and (each != 0).all()
    with pytest.raises(LaunchError, match="a view with gaps"):
        launch(compile(source, "k"), 1, 12, (x[:, :, ::2],))
    with pytest.raises(LaunchError, match="a view with gaps"):
        launch(compile(source, "k"), 1, 24, (x[::-1],))
