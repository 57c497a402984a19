"""`matmul` of arrays that are not CuPy's; what it asks of CuPy's memory, and of its streams."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from cupy_or_sim import cp, device
from matmul import matmul, others, scratch
from tests.matmul.test_views import whole


class Tensor:
    """As PyTorch shows an array that lies on the GPU; this one lies on the host."""

    def __init__(self, array, typestr=None, only_read=False):
        self.array = array
        place = {"shape": array.shape, "strides": array.strides, "version": 2}
        data = (array.ctypes.data, only_read)
        self.__cuda_array_interface__ = {**place, "typestr": typestr or array.dtype.str, "data": data}


@pytest.fixture
def with_interface(monkeypatch):
    """A `cp` that takes arrays by the interface where they lie, as CuPy does."""

    def asarray(array):
        return array.array

    fake = SimpleNamespace(ndarray=np.ndarray, asarray=asarray)
    monkeypatch.setattr(others, "device", SimpleNamespace(cp=fake, backend=lambda: "cupy"))


def test_arrays_of_others_are_read_and_written_where_they_lie(with_interface):
    A, B, bias, out = whole(20, 40), whole(40, 24), whole(24), whole(20, 48)
    theirs = Tensor(out[:, 8:32])
    assert matmul(Tensor(A), Tensor(B), theirs, bias=Tensor(bias)) is theirs
    np.testing.assert_array_equal(out[:, 8:32], A.astype("f4") @ B.astype("f4") + bias)
    assert type(matmul(Tensor(A), Tensor(B))) is np.ndarray
    got = matmul([Tensor(A)], [Tensor(B)], out=[theirs])
    assert got == [theirs]


def test_what_the_interface_cannot_say(with_interface):
    A, B = whole(20, 40), whole(40, 24)
    with pytest.raises(
        TypeError, match=r"Tensor of two bytes without a type: bfloat16.*A\.view\(torch\.int16\)"
    ):
        matmul(Tensor(A, "<V2"), Tensor(B))
    with pytest.raises(ValueError, match=r"out is a .*Tensor that may only be read"):
        matmul(A, B, Tensor(whole(20, 24), only_read=True))
    with pytest.raises(TypeError, match="A is int64 and B is float16"):
        matmul(Tensor(A.astype("i8")), Tensor(B))


def test_without_a_gpu_an_array_on_one_is_refused():
    with pytest.raises(
        TypeError, match=r"B is a .*Tensor that lies on a GPU, and the simulator runs on the host"
    ):
        matmul(whole(20, 40), Tensor(whole(40, 24)))


def test_arrays_of_the_host_are_refused_on_a_gpu(monkeypatch):
    """They would have to be copied there, and back: the word says how."""

    class Array:
        pass

    cuda = SimpleNamespace(Device=lambda: SimpleNamespace(id=0), runtime=SimpleNamespace(getDevice=lambda: 0))
    monkeypatch.setattr(device, "backend", lambda: "cupy")
    monkeypatch.setattr(device, "cp", SimpleNamespace(ndarray=Array, cuda=cuda, empty=None), raising=False)
    with pytest.raises(
        TypeError, match=r"A is a numpy\.ndarray; allowed are arrays of cp: pass cp\.asarray\(A\)"
    ):
        matmul(np.ones((8, 8), np.float16), np.ones((8, 8), np.float16))


@pytest.mark.parametrize("capturing", [False, True])
def test_what_a_graph_uses_is_kept(capturing, monkeypatch):
    """The pool gives memory away again behind a call, and a graph launches the kernels later."""
    stream = SimpleNamespace(is_capturing=lambda: capturing)
    fake = SimpleNamespace(
        empty=np.empty, array=np.array, cuda=SimpleNamespace(get_current_stream=lambda: stream)
    )
    monkeypatch.setattr(scratch, "device", SimpleNamespace(cp=fake, backend=lambda: "cupy"))
    monkeypatch.setattr(scratch, "_of_graphs", [])
    made = scratch.scratch(8, np.float32)
    assert [each is made for each in scratch._of_graphs] == [True] * capturing


def test_all_memory_of_a_call_may_be_kept(monkeypatch):
    """Copies of views, rows that are moved, sums: each comes by way of `scratch`."""
    made = []
    monkeypatch.setattr(scratch, "kept", lambda array: made.append(array) or array)
    for module in ("copies", "ready"):
        monkeypatch.setattr(sys.modules[f"matmul.{module}"], "kept", scratch.kept)
    new, count = cp.empty, []

    def counted(*given, **more):
        count.append(1)
        return new(*given, **more)

    monkeypatch.setattr(device.cp, "empty", counted, raising=False)
    A, B = whole(20, 82)[:, ::2], whole(41, 24)
    matmul(A, B)
    matmul(A.astype("f4"), B.astype("f4"))
    matmul(whole(2, 20, 41), whole(2, 41, 24))
    results = 3
    assert len(count) - results <= len(made) and made
