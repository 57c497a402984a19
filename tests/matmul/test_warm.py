"""A call that is kept: what a GPU's driver is given, by a CuPy that is not there."""

import ctypes
import struct
from types import SimpleNamespace

import numpy as np
import pytest
from cuda.bindings import driver

from cupy_or_sim import device
from matmul import warm
from matmul.packed import ARRAY, BYTES, packed


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


def test_each_launch_gets_its_own_places_and_the_current_stream(launches):
    seen, _, stream = launches
    launch = packed(KERNEL, (2, 3), (128,), 1024, (ARRAY, BYTES, np.int64(-6), ARRAY))
    table = ctypes.create_string_buffer(struct.pack("q", 42), 8)
    launch(Array(4096), table, None)
    stream.ptr = 78
    launch(Array(8192), table, Array(512))
    (dims, shared, first_queue, first), (_, _, second_queue, second) = seen
    assert dims == [2, 3, 1, 128, 1, 1] and shared == 1024 and (first_queue, second_queue) == (77, 78)
    assert [struct.unpack("q", each)[0] for each in first] == [4096, 42, -6, 0]
    assert [struct.unpack("q", each)[0] for each in second] == [8192, 42, -6, 512]


def test_a_thread_without_a_context_gets_one_and_other_errors_are_told(launches):
    seen, errors, _ = launches
    launch = packed(KERNEL, (1,), (32,), 0, (ARRAY, *[np.int64(0)] * 3))
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
