"""The stand-in for CuPy has CuPy's calls, attributes and errors."""

import numpy as np
import pytest

from cupy_or_sim import cupy_on_numpy as cp
from ptxsim import CompileError, HazardError, LaunchError

ADD = r"""
extern "C" __global__ void add(const float* a, const float* b, float* sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        sum[i] = a[i] + b[i];
}
"""
REVERSE = r"""
extern "C" __global__ void reverse(float* a)
{
    __shared__ float s[64];
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = s[63 - threadIdx.x];
}
"""
DYNAMIC = r"""
extern "C" __global__ void fill(int* out)
{
    extern __shared__ int s[];
    s[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = s[threadIdx.x];
}
"""
SCALE = r"""
template <typename T, int FACTOR> __global__ void scale(T* a) { a[threadIdx.x] *= FACTOR; }
extern "C" __global__ void clear(float* a) { a[threadIdx.x] = 0; }
"""


def test_array_functions_are_those_of_numpy():
    assert cp.zeros((2, 3), dtype=cp.float32).flags.c_contiguous
    assert cp.ndarray is np.ndarray
    assert cp.random.default_rng(0).random() == np.random.default_rng(0).random()
    with pytest.raises(
        AttributeError, match=r"cp\.fuse: NumPy, which stands in for CuPy here, has no 'fuse'"
    ):
        _ = cp.fuse


def test_there_is_no_gpu_and_nothing_to_wait_for():
    assert cp.cuda.is_available() is False
    cp.cuda.Device().synchronize()
    cp.cuda.Device(0).synchronize()
    cp.cuda.Stream.null.synchronize()


def test_streams_run_in_the_order_of_the_program():
    first, second = cp.cuda.Stream(), cp.cuda.Stream(non_blocking=True)
    a, b, total = (cp.ones(32, dtype=cp.float32) for _ in range(3))
    add = cp.RawKernel(ADD, "add")
    with first as entered:
        add((1,), (32,), (a, b, total, np.int32(32)))
        done = first.record()
    assert entered is first and done.done
    second.wait_event(done)
    with second:
        add((1,), (32,), (total, b, a, np.int32(32)))
    again = cp.cuda.Event()
    assert second.record(again) is again
    again.record(first)
    again.synchronize()
    cp.cuda.get_current_stream().wait_event(again)
    second.synchronize()
    assert (a == 3).all()
    with pytest.raises(ZeroDivisionError), first:
        _ = 1 / 0


def test_arrays_of_the_host_are_copied_both_ways():
    host = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    device = cp.asarray(host)
    assert device.flags.f_contiguous
    back = cp.asnumpy(device)
    device[0, 0] = 7
    assert host[0, 0] == 0 and back[0, 0] == 0
    assert back.flags.c_contiguous
    assert cp.asarray([1, 2], dtype=cp.float32).dtype == np.float32


def test_a_launch():
    a, b = cp.arange(100, dtype=cp.float32), cp.ones(100, dtype=cp.float32)
    total = cp.zeros_like(a)
    cp.RawKernel(ADD, "add")((4,), (32,), (a, b, total, np.int32(100)))
    assert (total == a + 1).all()


def test_attributes():
    kernel = cp.RawKernel(REVERSE, "reverse", options=("--std=c++17",))
    assert (kernel.code, kernel.name, kernel.options, kernel.backend) == (
        REVERSE,
        "reverse",
        ("--std=c++17",),
        "nvrtc",
    )
    assert kernel.shared_size_bytes == 64 * 4
    assert kernel.local_size_bytes == 0
    assert 0 < kernel.num_regs <= 255
    assert kernel.max_dynamic_shared_size_bytes == 48 * 1024 - 64 * 4
    assert kernel.attributes["num_regs"] == kernel.num_regs
    assert repr(kernel) == "<RawKernel reverse, simulated>"


def test_options_must_be_a_tuple():
    with pytest.raises(TypeError, match="options must be a tuple"):
        cp.RawKernel(ADD, "add", options=["--std=c++17"])
    with pytest.raises(TypeError, match="options must be a tuple"):
        cp.RawModule(code=ADD, options="--std=c++17")


def test_other_compilers_are_refused():
    with pytest.raises(ValueError, match="backend='nvcc'"):
        cp.RawKernel(ADD, "add", backend="nvcc")


def test_a_mistake_in_the_source_shows_at_compile():
    kernel = cp.RawKernel(ADD.replace("a[i] +", "c[i] +"), "add")
    with pytest.raises(CompileError, match='identifier "c" is undefined'):
        kernel.compile()


def test_a_module_with_templates_and_a_plain_kernel():
    module = cp.RawModule(code=SCALE, name_expressions=["scale<float, 3>", "scale<int, 5>"])
    a = cp.ones(32, dtype=cp.float32)
    module.get_function("scale<float, 3>")((1,), (32,), (a,))
    assert (a == 3).all()
    b = cp.ones(32, dtype=cp.int32)
    module.get_function("scale<int, 5>")((1,), (32,), (b,))
    assert (b == 5).all()
    module.get_function("clear")((1,), (32,), (a,))
    assert (a == 0).all()


def test_a_template_that_nobody_named_says_how_to_name_it():
    for make in (
        lambda: cp.RawModule(code=SCALE).get_function("scale<float, 3>"),
        lambda: cp.RawKernel(SCALE, "scale<float, 3>")((1,), (32,), (cp.ones(32, dtype=cp.float32),)),
    ):
        with pytest.raises(LaunchError, match=r"name_expressions=\('scale<float, 3>',\)\)\.get_function\("):
            make()
    with pytest.raises(
        LaunchError, match=r"It is a template, .* when it is named: scale<float>, for example"
    ):
        cp.RawModule(code=SCALE).get_function("scale")


TABLE = r"""
__constant__ float table[4];
__device__ int launches;
extern "C" __global__ void lookup(float* a) { a[threadIdx.x] = table[threadIdx.x]; }
extern "C" __global__ void count() { if (threadIdx.x == 0) launches += 1; }
"""


def test_constant_memory_is_filled_from_outside():
    module, a = cp.RawModule(code=TABLE), cp.zeros(4, dtype=cp.float32)
    table = cp.ndarray((4,), cp.float32, module.get_global("table"))
    lookup = module.get_function("lookup")
    for values in ([1, 2, 3, 4], [5, 6, 7, 8]):
        table[:] = cp.asarray(values, dtype=cp.float32)
        lookup((1,), (4,), (a,))
        assert a.tolist() == values
    module.get_global("table").copy_from_host(np.float32([9]).ctypes.data, 4)
    second = cp.ndarray((1,), cp.float32, module.get_global("table") + 4)
    second[...] = 8
    lookup((1,), (4,), (a,))
    assert a.tolist() == [9, 8, 7, 8]
    assert isinstance(table, cp.ndarray)
    with pytest.raises(
        LaunchError, match="no variable named 'tables' that a kernel uses; it has table, launches"
    ):
        module.get_global("tables")


def test_kernels_of_a_module_share_its_variables():
    module = cp.RawModule(code=TABLE + "// shared\n")
    launches = cp.ndarray((1,), cp.int32, module.get_global("launches"))
    for _ in range(3):
        module.get_function("count")((1,), (32,), ())
    other = cp.RawModule(code=TABLE + "// shared\n", options=("-DOTHER",))
    assert launches[0] == 3 and cp.ndarray((1,), cp.int32, other.get_global("launches"))[0] == 0


def test_a_cooperative_kernel():
    source = r"""#include <cooperative_groups.h>
    extern "C" __global__ void meet(int* a) {
        a[blockIdx.x] = 1;
        cooperative_groups::this_grid().sync();
        if (blockIdx.x == 0 && threadIdx.x == 0) a[0] += a[1] + a[2];
    }"""
    a = cp.zeros(3, dtype=cp.int32)
    cp.RawKernel(source, "meet", enable_cooperative_groups=True)((3,), (1,), (a,))
    assert a.tolist() == [3, 1, 1]


def test_an_array_that_would_be_misread_is_refused():
    source = (
        'extern "C" __global__ void copy(const int* from, int* to) { to[threadIdx.x] = from[threadIdx.x]; }'
    )
    kernel, to = cp.RawKernel(source, "copy"), cp.zeros(4, dtype=cp.int32)
    for dtype in (np.int64, np.int16, np.bool_, np.float32):
        words = rf"from is int\* in the kernel, and the array is {np.dtype(dtype)}; pass from\.astype\(np\.int32\)"
        with pytest.raises(LaunchError, match=words):
            kernel((1,), (4,), (cp.ones(4, dtype=dtype), to))
    kernel((1,), (4,), (cp.full(4, 7, dtype=np.uint32), to))
    kernel((1,), (2,), (cp.arange(1, dtype=np.int64).view(np.int32), to))
    assert to.tolist() == [0, 0, 7, 7]


def test_sizes_and_arguments_in_the_forms_that_cupy_takes():
    kernel, a = cp.RawKernel(REVERSE, "reverse"), cp.zeros(64, dtype=cp.float32)
    for grid, words in (
        (1, r"the grid is 1; CuPy takes a tuple: \(1,\)"),
        ([1], r"the grid is \[1\]; CuPy takes a tuple"),
    ):
        with pytest.raises(TypeError, match=words):
            kernel(grid, (64,), (a,))
    with pytest.raises(TypeError, match=r"a tuple, also of one argument: \(x,\) with its comma"):
        kernel((1,), (64,), a)
    kernel((1,), (64,), [a], shared_mem=np.uint8(64), stream=cp.cuda.Stream.null)


def test_a_module_without_that_kernel():
    with pytest.raises(Exception, match="nothing"):
        cp.RawModule(code=SCALE).get_function("nothing")


def test_a_hazard_is_raised_with_its_report():
    kernel = cp.RawKernel(REVERSE.replace("__syncthreads();", ""), "reverse")
    with pytest.raises(HazardError) as caught:
        kernel((1,), (64,), (cp.zeros(64, dtype=cp.float32),))
    assert caught.value.kind == "read-after-write"
    assert not caught.value.report.ok
    assert caught.value.report.hazards[0].line == 7


def test_printf_goes_to_stdout(capsys):
    source = 'extern "C" __global__ void hello() { printf("thread %d\\n", threadIdx.x); }'
    cp.RawKernel(source, "hello")((1,), (2,), ())
    assert capsys.readouterr().out == "thread 0\nthread 1\n"


def test_more_dynamic_shared_memory_must_be_asked_for():
    kernel, out = cp.RawKernel(DYNAMIC, "fill"), cp.zeros(32, dtype=cp.int32)
    with pytest.raises(
        LaunchError, match=r"set kernel\.max_dynamic_shared_size_bytes = 65536 before the launch"
    ):
        kernel((1,), (32,), (out,), shared_mem=65536)
    kernel.max_dynamic_shared_size_bytes = 65536
    kernel((1,), (32,), (out,), shared_mem=65536)
    assert (out == cp.arange(32)).all()


def test_no_block_gets_more_shared_memory_than_there_is():
    kernel = cp.RawKernel(REVERSE, "reverse")
    kernel.max_dynamic_shared_size_bytes = 227 * 1024 - 256
    with pytest.raises(LaunchError, match="allowed are 0 to 232192"):
        kernel.max_dynamic_shared_size_bytes = 227 * 1024


def test_a_bad_launch_is_refused():
    kernel, a = cp.RawKernel(REVERSE, "reverse"), cp.zeros(64, dtype=cp.float32)
    for grid, block, args in [
        ((1,), (2048,), (a,)),
        ((1,), (64,), ()),
        ((1,), (64,), (1,)),
        ((1,), (32,), (a[::2],)),
    ]:
        with pytest.raises(LaunchError):
            kernel(grid, block, args)
    assert (a == 0).all()
