"""Matrices that a kernel takes as tensor maps, and launches of persistent kernels."""

import ctypes
import sys
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

from course_lib import HOPPER, OPTIONS, Gemm, Launch, simulate
from course_lib.check.job import Job
from course_lib.check.verdict import CheckFailed
from course_lib.measure import records
from cupy_or_sim import cupy_on_numpy, tensor_map, tensor_maps
from cupy_or_sim.device import options_for
from cupy_or_sim.tensor_maps import box_of, mapped
from matmul import operands
from ptxsim import TensorMap

COPIES = r"""
#include <course/tma.cuh>
extern "C" __global__ void copies(const __grid_constant__ TensorMap A, __half* out, int x, int y)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ Mbarrier full;               // the tile behind it begins at a multiple of 1024
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        mbarrier_init_done();
        mbarrier_expect(&full, 64 * 64 * 2);
        load_box(memory, A, x, y, &full);
    }
    __syncthreads();
    mbarrier_wait(&full, 0);
    for (int i = threadIdx.x; i < 64 * 64; i += blockDim.x) out[i] = ((__half*)memory)[i];
}
""".replace("#include", "#include <cuda_fp16.h>\n#include", 1)

PERSISTENT = r"""
extern "C" __global__ void persistent(const float* A, const float* B, float* C, int M, int N, int K)
{
    for (int tile = blockIdx.x; tile < M / 16 * (N / 16); tile += gridDim.x) {
        int m = tile % (M / 16) * 16 + threadIdx.x % 16, n = tile / (M / 16) * 16 + threadIdx.x / 16;
        float sum = 0;
        for (int k = 0; k < K; ++k) sum += A[m + k * M] * B[n + k * N];
        C[m + n * M] = sum;
    }
}
"""
MANY = Launch((16, 16, 16), 256, blocks=132)


def test_a_box_lies_in_shared_memory_as_its_swizzle_says():
    kernel = cupy_on_numpy.RawKernel(COPIES, "copies", options=HOPPER)
    A = np.arange(100 * 128, dtype=np.float16).reshape(100, 128)
    out = np.full((64, 8, 8), np.nan, np.float16)  # 64 rows of 8 chunks of 16 bytes
    report = simulate(
        kernel, (1,), (128,), (tensor_map(A, box_of("float16")), out, np.int32(64), np.int32(50)), 8192
    )
    assert report.ok
    box = np.zeros((64, 8, 8), np.float16)  # what lies beyond the matrix is zero
    box[:50] = A[50:, 64:].reshape(50, 8, 8)
    for row in range(64):
        for chunk in range(8):
            assert (out[row, chunk ^ row % 8] == box[row, chunk]).all()


def test_the_parameters_that_are_tensor_maps():
    def kernel(name, code):
        return SimpleNamespace(name=name, code=code)

    assert mapped(kernel("copies", COPIES)) == ["A"]
    other = (
        "void gemm_all(TensorMap X) {} void gemm(const __grid_constant__ TensorMap A,\n  TensorMap C, int M)"
    )
    assert mapped(kernel("gemm", other)) == ["A", "C"]
    assert mapped(kernel("persistent", PERSISTENT)) == []


def test_hoppers_headers_ask_for_hoppers_options():
    assert options_for(COPIES) == HOPPER == (*OPTIONS, "-arch=sm_90a")
    assert (
        options_for("#include <course/wgmma.cuh>") == options_for("#include <course/cluster.cuh>") == HOPPER
    )
    assert options_for("#include <course/cp_async.cuh>") == options_for(PERSISTENT) == OPTIONS


@pytest.mark.parametrize(
    ("array", "box", "words"),
    [
        (np.zeros((64, 60), np.float16), (64, 64), "rows must begin at multiples of 16 bytes"),
        (np.zeros((64, 64), np.float16), (64, 128), "rows of at most so many bytes"),
        (np.zeros((64, 64), np.float16), (64,), "the box 1 numbers"),
        (np.zeros((512, 64), np.float16), (512, 64), "the box has 512 elements"),
    ],
    ids=["pitch", "swizzle", "dimensions", "box"],
)
def test_what_the_copy_engine_cannot_do_is_refused(array, box, words):
    with pytest.raises(ValueError, match=words):
        tensor_map(array, box)


def test_on_a_gpu_the_map_remembers_its_matrix_for_the_simulator(monkeypatch):
    """The driver's 128 bytes say nothing to the simulator."""
    A = np.arange(64 * 64, dtype=np.float16).reshape(64, 64)
    on_gpu = SimpleNamespace(
        **{name: getattr(A, name) for name in ("ndim", "shape", "strides", "itemsize", "dtype", "flags")},
        data=SimpleNamespace(ptr=4096),
        get=lambda order: A.copy(),
        set=lambda copy: None,
        __cuda_array_interface__={},
    )
    made = TensorMap(on_gpu, (64, 64), 128)
    kind = np.dtype((np.void, 128), metadata={"made": made})
    argument = np.frombuffer(bytes(128), kind)[0]
    assert tensor_maps.made_from(argument) is made
    assert tensor_maps.made_from(np.float32(1)) is None and tensor_maps.made_from(np.void(b"x")) is None
    kernel = cupy_on_numpy.RawKernel(COPIES, "copies", options=HOPPER)
    out = np.full(64 * 64, np.nan, np.float16)
    assert simulate(kernel, (1,), (128,), (argument, out, np.int32(0), np.int32(0)), 8192).ok
    assert sorted(out.tolist()) == sorted(A.ravel().tolist())


def test_a_persistent_kernel_takes_several_tiles_in_a_small_check():
    kernel = cupy_on_numpy.RawKernel(PERSISTENT, "persistent", options=OPTIONS)
    gemm = Gemm(64, 64, 64)
    assert gemm.check(kernel, MANY).startswith("check passed")
    assert gemm.grid(MANY) == (132,) and gemm.tiles(MANY) == (4, 4)
    assert Launch((16, 16, 16), 256, 0, 132).small().blocks == 2
    assert Launch((16, 16, 16), 256, 0, 2).small().blocks == 2
    assert Launch((16, 16, 16), 256, 0).small().blocks is None
    one_tile = cupy_on_numpy.RawKernel(
        PERSISTENT.replace("tile += gridDim.x", "tile += M * N"), "persistent", options=OPTIONS
    )
    with pytest.raises(CheckFailed, match="no hazard, wrong numbers"):
        gemm.check(one_tile, MANY)


def test_the_number_of_blocks_is_in_the_key_of_a_record_only_where_it_is_given():
    kernel, gemm = cupy_on_numpy.RawKernel(PERSISTENT, "persistent", options=OPTIONS), Gemm(64, 64, 64)
    plain = Launch((16, 16, 16), 256)
    keys = {records.kernel_key(Job(kernel, gemm, plain.but(blocks=blocks))) for blocks in (None, 128, 132)}
    assert len(keys) == 3 and records.kernel_key(Job(kernel, gemm, plain)) in keys
    assert "blocks" not in records.about(Job(kernel, gemm, plain))
    assert records.about(Job(kernel, gemm, plain.but(blocks=128)))["blocks"] == 128


def test_the_driver_makes_a_map_once_for_an_address_and_sizes(monkeypatch):
    made = []
    monkeypatch.setattr(operands.device, "backend", lambda: "cupy")
    monkeypatch.setattr(operands, "encoded", lambda *given: made.append(given) or np.void(bytes(128)))
    first, second = (SimpleNamespace(data=SimpleNamespace(ptr=place)) for place in (4096, 8192))
    boxed = operands.boxer(72, 136, 136, (64, 64))
    assert boxed(first) is boxed(first)
    boxed(second), operands.boxer(136, 72, 80, (64, 64))(first)
    assert [place for _, place in made] == [4096, 8192, 4096]
    assert made[0][0].at(4096).strides == (2, 272) and made[0][0].at(4096).shape == (136, 72)
    monkeypatch.setattr(operands, "MOST_KNOWN", 2)
    again = SimpleNamespace(data=SimpleNamespace(ptr=512))
    boxed(again), boxed(first)
    assert [place for _, place in made[3:]] == [512, 4096], "no more are kept"


@pytest.mark.parametrize("columns, promoted", [(128, 256), (136, 128)])
def test_what_the_driver_is_asked_for(columns, promoted, monkeypatch):
    """A thread that has no context yet gets one; L2 fetches 256 bytes only where rows begin at multiples of them."""
    made, used, asked = ctypes.create_string_buffer(b"map", 128), [], []
    driver = MagicMock()
    driver.CUtensorMapL2promotion.configure_mock(
        CU_TENSOR_MAP_L2_PROMOTION_L2_128B=128, CU_TENSOR_MAP_L2_PROMOTION_L2_256B=256
    )
    result = SimpleNamespace(getPtr=lambda: ctypes.addressof(made))

    def encode(*arguments):
        asked.append(arguments)
        answers = driver.CUresult
        return (answers.CUDA_SUCCESS, result) if used else (answers.CUDA_ERROR_INVALID_CONTEXT, None)

    driver.cuTensorMapEncodeTiled = encode
    monkeypatch.setitem(sys.modules, "cuda.bindings", SimpleNamespace(driver=driver))
    cupy = SimpleNamespace(cuda=SimpleNamespace(Device=lambda: SimpleNamespace(use=lambda: used.append(1))))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    A = np.zeros((64, columns), np.float16)
    assert bytes(tensor_maps.encoded(TensorMap(A, (64, 64), 128), 4096))[:3] == b"map"
    assert len(asked) == 2 and asked[0] == asked[1] and promoted in asked[1]
