"""A call that is kept: what a GPU's driver is given, by a CuPy that is not there."""

import ctypes
import struct
from types import SimpleNamespace

import numpy as np
import pytest
from cuda.bindings import driver

from cupy_or_sim import device
from matmul import packed as packing
from matmul import warm
from matmul.packed import Nth, packed, packed_table


class Array:
    def __init__(self, place, shape=(8, 8), gpu=0):
        self.shape, self.strides, self.dtype = shape, (2 * shape[1], 2), np.dtype("f2")
        self.data = SimpleNamespace(ptr=place, device_id=gpu)


@pytest.fixture
def launches(monkeypatch):
    """What CuPy's driver is given: grid and block, the stream, and eight bytes of each argument."""
    seen, errors, stream = [], [], SimpleNamespace(ptr=77)

    class Refused(RuntimeError):
        def __init__(self, status):
            self.status = int(status)

    def start(function, *numbers):
        *dims, shared, queue, where, _ = numbers
        arguments = [ctypes.string_at(place, 8) for place in (ctypes.c_void_p * 4).from_address(where)]
        seen.append((dims, shared, queue, arguments))
        if errors:
            raise Refused(errors.pop())

    cuda = SimpleNamespace(
        driver=SimpleNamespace(launchKernel=start, CUDADriverError=Refused),
        get_current_stream=lambda: stream,
        runtime=SimpleNamespace(getDevice=lambda: 0),
        Device=lambda: SimpleNamespace(use=lambda: seen.append("context")),
    )
    monkeypatch.setattr(device, "backend", lambda: "cupy")
    monkeypatch.setattr(device, "cp", SimpleNamespace(cuda=cuda, ndarray=Array), raising=False)
    return seen, errors, stream


KERNEL = SimpleNamespace(name="gemm", kernel=SimpleNamespace(ptr=5))


def bytes_of(number):
    return ctypes.create_string_buffer(struct.pack("q", number), 8)


def numbers(arguments):
    return [struct.unpack("q", each)[0] for each in arguments]


def test_each_launch_gets_its_own_places_and_the_current_stream(launches, monkeypatch):
    seen, _, stream = launches
    monkeypatch.setattr(packing, "MOST_KNOWN", 2)
    mapped = []

    def boxed(array):
        mapped.append(array)
        return bytes_of(-array.data.ptr)

    launch = packed(KERNEL, (2, 3), (128,), 1024, (Nth(1), Nth(0, boxed), np.int64(-6), Nth(2)))
    one, two = Array(4096), Array(8192)
    launch(one, two, None)
    stream.ptr = 78
    launch(two, one, Array(512))
    launch(one, two, None)
    (dims, shared, queue, first), (_, _, second_queue, second), (*_, third) = seen
    assert dims == [2, 3, 1, 128, 1, 1] and shared == 1024 and (queue, second_queue) == (77, 78)
    assert numbers(first) == numbers(third) == [8192, -4096, -6, 0] and mapped == [one, two]
    assert numbers(second) == [4096, -8192, -6, 512]
    launch(two, two, None)
    launch(one, two, None)
    assert len(mapped) == 4 and numbers(seen[-1][-1]) == [8192, -4096, -6, 0], "no more are kept"


def test_a_table_takes_its_place(launches):
    launch = packed_table(KERNEL, (1,), (32,), 0, [np.int64(number) for number in (7, 8, 9)])
    launch(bytes_of(42))
    launch(bytes_of(43))
    assert [numbers(arguments) for *_, arguments in launches[0]] == [[42, 7, 8, 9], [43, 7, 8, 9]]


def test_a_launch_may_overlap_the_kernel_before_it(launches, monkeypatch):
    _, _, stream = launches
    seen, errors = [], [1, 0, 0, 0]

    def start(config, function, where, extra):
        dims = config.gridDimX, config.gridDimY, config.blockDimX, config.sharedMemBytes, int(config.hStream)
        allowed = [attribute.value.programmaticStreamSerializationAllowed for attribute in config.attrs]
        seen.append((dims, allowed, ctypes.string_at((ctypes.c_void_p * 1).from_address(where)[0], 8)))
        return (driver.CUresult(errors.pop()),)

    monkeypatch.setattr(driver, "cuLaunchKernelEx", start)
    monkeypatch.setattr(packing, "overlaps", lambda: True)
    launch = packed(KERNEL, (2, 3), (128,), 1024, (Nth(0),), dependent=True)
    for stream.ptr in (77, 78, 77):
        launch(Array(stream.ptr))
    assert [dims for dims, *_ in seen] == [(2, 3, 128, 1024, queue) for queue in (77, 78, 77)]
    assert all(allowed == [1] for _, allowed, _ in seen)
    assert numbers(place for *_, place in seen) == [77, 78, 77]
    with pytest.raises(RuntimeError, match="refuses the launch of gemm: CUDA_ERROR_INVALID_VALUE"):
        launch(Array(4096))


def test_a_thread_without_a_context_gets_one_and_other_errors_are_told(launches):
    seen, errors, _ = launches
    launch = packed(KERNEL, (1,), (32,), 0, (Nth(0), *[np.int64(0)] * 3))
    errors.append(driver.CUresult.CUDA_ERROR_INVALID_CONTEXT)
    launch(Array(4096))
    assert seen[1] == "context" and seen[0] == seen[2]
    errors.append(driver.CUresult.CUDA_ERROR_INVALID_VALUE)
    with pytest.raises(RuntimeError, match="refuses the launch of gemm: CUDA_ERROR_INVALID_VALUE"):
        launch(Array(4096))


def test_what_decides_a_call(launches):
    key, places = warm.form_of((Array(4096), Array(4104), None), "relu")
    assert places == [4096, 4104, None]
    assert key == warm.form_of((Array(8192), Array(8200), None), "relu")[0]
    for others in (
        ((Array(4098), Array(4104), None), "relu"),
        ((Array(4096, (4, 8)), Array(4104), None), "relu"),
        ((Array(4096), Array(4104), None), None),
    ):
        assert warm.form_of(*others)[0] not in (key, None)
    assert warm.form_of((Array(4096, gpu=1), Array(4104)))[0] is None
    assert warm.form_of((np.zeros(3), Array(4104)))[0] is None


def test_arrays_that_reach_over_each_other():
    reach = [(0, 128), (-64, 16), (0, 0), (0, 128)]
    assert not warm.meet([0, 1000, None, 128], reach) and warm.meet([0, 1000, None, 127], reach)
    assert warm.meet([0, 300, None, 140], reach) and not warm.meet([0, 332, None, 140], reach)


def test_no_more_calls_are_kept_than_a_program_needs(monkeypatch):
    monkeypatch.setattr(warm, "_known", {})
    monkeypatch.setattr(warm, "MOST_KNOWN", 2)
    for number in range(3):
        warm.keep((number,), number)
    warm.keep(None, "not kept")
    assert warm.found((2,)) == 2 and warm.found((0,)) is None and warm.found(([],)) is None
