"""The picture of a race: both orders, from the report's own threads, lines and place."""

import numpy as np
import pytest

import ptxsim
from course_lib import OPTIONS, cp, draw, edited, kernel_source, simulate
from course_lib.draw.race_chart import orders_figure
from cupy_or_sim.simulate import compiled

WITHOUT = edited(kernel_source("00_start_here", "mirror"), ("__syncthreads();", ""))
AGAIN = """extern "C" __global__ void again(float* y)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = t;
    __syncthreads();
    y[t] = tile[63 - t];
    tile[t] = 0;
}"""
TWO = """extern "C" __global__ void two(float* y)
{
    __shared__ float one;
    one = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = one;
}"""


def report(source: str, name: str, *arrays: np.ndarray):
    threads = len(arrays[-1])
    return simulate(cp.RawKernel(source, name, options=OPTIONS), (1,), (threads,), arrays)


def mirrored(seed: int | None = None) -> tuple[ptxsim.Report, np.ndarray]:
    kernel = cp.RawKernel(WITHOUT, "mirror", options=OPTIONS)
    x, y = np.arange(1024, dtype=np.float32), np.full(1024, np.nan, np.float32)
    return ptxsim.launch(compiled(kernel), (4,), (256,), (x, y), seed=seed), y


def test_a_read_and_a_write_in_both_orders():
    _, words = orders_figure(mirrored()[0])
    assert words == (
        "One launch in two orders; both accesses touch tile[255]. What the simulator saw: thread "
        "255 writes in line 7, then thread 0 of block 0 reads in line 9: it reads what was written. As legal, and not "
        "seen: thread 0 of block 0 reads in line 9, then thread 255 writes in line 7: it reads what was there before."
    )


def test_what_comes_first_stands_on_the_left():
    figure, _ = orders_figure(mirrored()[0])
    placed = sorted(
        (each.get_position(), each.get_text())
        for each in figure.axes[0].texts
        if " in line " in each.get_text()
    )
    write, read = "writes in line 7", "reads in line 9"
    assert [text for (_, y), text in placed if y < 2.5] == [write, read]
    assert [text for (_, y), text in placed if y > 2.5] == [read, write]


def test_the_other_order_is_one_that_the_simulator_may_take():
    right, wrong = mirrored()[1], mirrored(seed=2)[1]
    assert not np.isnan(right).any() and np.isnan(wrong).any()


@pytest.mark.parametrize(
    ("source", "name", "said"),
    [
        (
            AGAIN,
            "again",
            "reads in line 7, then thread 0 of block 0 writes in line 8: what was there was read",
        ),
        (TWO, "two", "writes in line 4: the second value stays. As legal"),
    ],
)
def test_other_races(source, name, said):
    assert said in orders_figure(report(source, name, np.zeros(64, np.float32)))[1]


def test_a_report_without_a_race_is_told():
    clean = report(kernel_source("00_start_here", "mirror"), "mirror", *(np.ones((2, 256), np.float32)))
    with pytest.raises(ValueError, match="has no race between two threads"):
        draw.orders(clean)
