"""`simulate` takes kernels and arrays of either kind, and never needs a GPU."""

import numpy as np
import pytest

from course_lib import OPTIONS, simulate
from cupy_or_sim import cupy_on_numpy
from ptxsim import LaunchError

COPY = r"""
extern "C" __global__ void copy(const float* from, float* to, int n)
{
    int i = threadIdx.x;
    to[i] = from[i] + n;
}
"""
SCALE = "template <typename T> __global__ void scale(T* a) { a[threadIdx.x] *= 2; }"


class GpuArray:
    """What `simulate` uses of a CuPy array. Its memory is out of a NumPy function's reach."""

    def __init__(self, values: np.ndarray) -> None:
        self.__cuda_array_interface__ = {"version": 3}
        self._values = values
        self.flags, self.shape = values.flags, values.shape
        self.data = type("Memory", (), {"ptr": values.ctypes.data})

    def get(self, order: str = "C") -> np.ndarray:
        return self._values.copy(order=order)

    def set(self, values: np.ndarray) -> None:
        assert values.flags.f_contiguous == self._values.flags.f_contiguous
        self._values[...] = values


class GpuKernel:
    """What `simulate` uses of a CuPy kernel: name expressions are in the pickled state only."""

    __module__ = "cupy._core.raw"

    def __init__(
        self, code: str, name: str, options: tuple = (), name_expressions: tuple | None = None
    ) -> None:
        self.code, self.name, self.options = code, name, options
        self._expressions = name_expressions

    def __getstate__(self) -> dict:
        return {"name_expressions": self._expressions}


@pytest.mark.parametrize("make_kernel", [cupy_on_numpy.RawKernel, GpuKernel])
def test_arrays_are_updated_in_place(make_kernel):
    a, b = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    report = simulate(make_kernel(COPY, "copy", OPTIONS), (1,), (32,), (a, b, np.int32(1)))
    assert report.ok and report.hazards == ()
    assert (b == a + 1).all()


def test_gpu_arrays_are_copied_back_in_their_memory_order():
    values = np.asfortranarray(np.arange(32, dtype=np.float32).reshape(4, 8))
    result = np.zeros((4, 8), np.float32, order="F")
    report = simulate(GpuKernel(COPY, "copy"), (1,), (32,), (GpuArray(values), GpuArray(result), np.int32(1)))
    assert report.ok
    assert (result == values + 1).all()


def test_a_gpu_array_passed_twice_stays_one_array():
    values = GpuArray(np.arange(32, dtype=np.float32))
    assert simulate(GpuKernel(COPY, "copy"), (1,), (32,), (values, values, np.int32(1))).ok
    assert (values.get() == np.arange(32) + 1).all()


def test_a_gpu_view_with_gaps_is_refused():
    view = GpuArray(np.zeros((8, 8), np.float32)[:, :4])
    with pytest.raises(LaunchError, match="view with gaps"):
        simulate(GpuKernel(COPY, "copy"), (1,), (32,), (view, view, np.int32(1)))


def test_a_function_of_a_cupy_module_has_the_mangled_name():
    kernel = GpuKernel(SCALE, "_Z5scaleIfEvPT_", name_expressions=("scale<float>", "scale<int>"))
    a = np.ones(32, np.float32)
    assert simulate(kernel, (1,), (32,), (a,)).ok
    assert (a == 2).all()


def test_it_returns_after_a_hazard_that_stops_the_kernel():
    a = np.zeros(16, np.float32)
    report = simulate(cupy_on_numpy.RawKernel(COPY, "copy"), (1,), (32,), (a, a, np.int32(1)))
    assert not report.ok
    assert report.hazards[-1].kind == "out-of-bounds"
    assert report.hazards[-1].line == 5


def test_max_steps_ends_an_endless_loop():
    source = 'extern "C" __global__ void spin(volatile int* a) { while (a[0] == 0); }'
    report = simulate(
        cupy_on_numpy.RawKernel(source, "spin"), (1,), (1,), (np.zeros(1, np.int32),), max_steps=1000
    )
    assert [hazard.kind for hazard in report.hazards] == ["step-limit"]


@pytest.mark.parametrize(("in_turn", "order"), [("up", [0, 1, 2, 3]), ("down", [3, 2, 1, 0])])
def test_blocks_run_in_turn(in_turn, order):
    source = """extern "C" __global__ void number(unsigned* begun, unsigned* order)
    {
        if (threadIdx.x == 0) order[atomicAdd(begun, 1)] = blockIdx.x;
    }"""
    kernel = cupy_on_numpy.RawKernel(source, "number", options=OPTIONS)
    begun, found = np.zeros(1, np.uint32), np.full(4, 99, np.uint32)
    simulate(kernel, (4,), (32,), (begun, found), in_turn=in_turn)
    assert found.tolist() == order


def test_what_is_not_a_kernel_is_refused():
    with pytest.raises(TypeError, match=r"expected cp.RawKernel\(source, name, options=OPTIONS\), got a str"):
        simulate(COPY, (1,), (32,), ())
    with pytest.raises(TypeError, match="loaded from a compiled file"):
        simulate(GpuKernel(None, "copy"), (1,), (32,), ())


def test_a_kernel_of_cupy_itself_needs_no_gpu():
    cupy = pytest.importorskip("cupy")
    a, b = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    assert simulate(cupy.RawKernel(COPY, "copy", options=OPTIONS), (1,), (32,), (a, b, np.int32(1))).ok
    assert (b == a + 1).all()


def test_the_brief_names_each_kind_once():
    a = np.zeros(16, np.float32)
    assert (
        simulate(cupy_on_numpy.RawKernel(COPY, "copy"), (1,), (16,), (a, a, np.int32(1))).brief()
        == "no hazard"
    )
    assert (
        simulate(cupy_on_numpy.RawKernel(COPY, "copy"), (1,), (32,), (a, a, np.int32(1))).brief()
        == "out-of-bounds"
    )


def test_counters_are_found_by_a_text_of_the_line():
    a, b = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    counters = simulate(cupy_on_numpy.RawKernel(COPY, "copy"), (1,), (32,), (a, b, np.int32(1))).counters
    assert counters.at("to[i] =") == counters.at(5) == counters.by_line[5]
    # the sum of all such lines
    assert counters.at("i").global_requests == counters.total.global_requests == 2
    with pytest.raises(
        ValueError, match=r"nothing is counted at 'of\[i\]'; lines that do something: \[2, 4, 5, 6"
    ):
        counters.at("of[i]")
    with pytest.raises(ValueError, match=r"line 'to\[i\] =' does not access shared memory"):
        counters.pattern("to[i] =")
