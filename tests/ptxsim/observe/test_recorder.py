"""What is noted of the warps of a block."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np

from ptxsim import compile, launch
from ptxsim.observe.events import Load, Store, UseLoads, Work
from ptxsim.observe.recorder import Costs, Recorder

TURNS = """extern "C" __global__ void f(float* x, int turns)
{
    float sum = x[threadIdx.x];
    if (threadIdx.x >= 32)
        #pragma unroll 1
        for (int i = 0; i < turns; ++i) sum = fmaf(sum, sum, 1.0f);
    x[threadIdx.x] = sum;
}"""


def test_work_after_work_is_one_event_of_each_warp_with_its_own_sum():
    """Warps in step share what was noted; the first one leaves them before the loop."""
    events = launch(compile(TURNS, "f"), 1, 96, (np.zeros(96, np.float32), np.int32(10))).events
    for mine in events:
        kinds = [type(event) for event in mine if not isinstance(event, Work)]
        assert kinds == [Load, UseLoads, Store]
        assert all(not (isinstance(a, Work) and isinstance(b, Work)) for a, b in pairwise(mine))
    assert [sum(event.fma for event in mine if isinstance(event, Work)) for mine in events] == [0, 10, 10]
    assert events[1] == events[2] != events[0]


def test_warps_are_counted_from_the_first_of_their_block():
    """Of three blocks with two warps each, the second one is noted."""
    machine = SimpleNamespace(
        warps_per_block=2,
        blocks=range(3),
        launch=SimpleNamespace(threads=64),
        warp_of=np.arange(192) // 32,
        idx=np.array([5, 100, 101, 130]),
    )
    recorder = Recorder(machine, Costs(()), 1)
    assert recorder.warps() == [1]
    machine.idx = np.arange(64, 192)
    assert recorder.warps() == [0, 1]
