"""Launches side by side: what they compute, and what they find, is what each finds by itself."""

import numpy as np
import pytest

import ptxsim
from ptxsim.observe.events import Barrier

SUM = r"""
__device__ int calls;
extern "C" __global__ void sum(const float* x, float* y, int n) {
    __shared__ float part[64];
    float mine = 0;
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) mine += x[i];
    part[threadIdx.x] = mine;
    SYNC
    for (int step = 32; step; step /= 2) {
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) { y[blockIdx.x + gridDim.x * blockIdx.y] = part[0] + 1000 * blockIdx.y; COUNT }
}
"""
GRIDS = [((1,), 64), ((3, 2), 500), ((2, 1, 1), 7), ((5,), 64 * 9)]


def compiled(sync="__syncthreads();", count=""):
    return ptxsim.compile(SUM.replace("SYNC", sync).replace("COUNT", count), "sum")


def arguments(grid, n, seed=0):
    x = np.random.default_rng(seed).integers(0, 9, n).astype(np.float32)
    return x, np.full(int(np.prod(grid)), np.nan, np.float32), np.int32(n)


@pytest.mark.parametrize("count", ["", "atomicAdd(&calls, 1);"], ids=["apart", "with a variable"])
def test_each_computes_what_it_computes_by_itself(count):
    kernel = compiled(count=count)
    together = [(grid, arguments(grid, n)) for grid, n in GRIDS]
    assert ptxsim.clean_side_by_side(kernel, together, 64)
    for grid, (x, y, n) in together:
        alone = x, np.full_like(y, np.nan), n
        assert ptxsim.launch(kernel, grid, 64, alone).ok
        np.testing.assert_array_equal(y, alone[1])


def test_the_first_ones_events_are_those_that_it_has_by_itself():
    kernel = compiled()
    for (grid, n), *others in (GRIDS, GRIDS[::-1]):
        together = [(grid, arguments(grid, n)), *((grid, arguments(grid, n)) for grid, n in others)]
        events = ptxsim.clean_side_by_side(kernel, together, 64)
        alone = ptxsim.launch(kernel, grid, 64, arguments(grid, n)).events
        assert _barriers(events) == _barriers(alone)
        assert len(_barriers(events)[0]) == 7


def _barriers(events):
    return [[event for event in mine if isinstance(event, Barrier)] for mine in events]


@pytest.mark.parametrize("wrong", range(len(GRIDS)))
def test_an_access_beyond_one_array_is_found_though_other_launches_have_one(wrong):
    together = [(grid, list(arguments(grid, n))) for grid, n in GRIDS]
    x, _, n = together[wrong][1]
    together[wrong][1][2] = np.int32(n + 1)
    assert not ptxsim.clean_side_by_side(compiled(), together, 64)
    assert x.size == n


def test_a_race_is_found():
    together = [(grid, arguments(grid, n)) for grid, n in GRIDS]
    assert not ptxsim.clean_side_by_side(compiled(sync=""), together, 64)


LAST = r"""
extern "C" __global__ void last(float* x, int n) {
    __shared__ float kept[64];
    if (threadIdx.x == 32) kept[0] = n;
    if (n != 5) __syncthreads();
    if (threadIdx.x == 0) x[0] = kept[0];
}
"""


@pytest.mark.parametrize(("sizes", "clean"), [((3, 4, 6), True), ((3, 4, 5), False), ((5,), False)])
def test_a_race_that_one_size_has_is_found_among_others(sizes, clean):
    launches = [((1,), (np.zeros(1, np.float32), np.int32(n))) for n in sizes]
    assert (ptxsim.clean_side_by_side(ptxsim.compile(LAST, "last"), launches, 64) is not None) == clean


STRUCT = r"""
struct Numbers { int at[4]; };
extern "C" __global__ void pick(const Numbers numbers, int* out) {
    out[threadIdx.x] = numbers.at[threadIdx.x % 4];
}
"""


def test_a_lane_looks_into_the_parameters_of_its_own_launch():
    kernel = ptxsim.compile(STRUCT, "pick")
    structs = [ptxsim.Struct(*(np.int32(10 * launch + i) for i in range(4))) for launch in range(3)]
    outs = [np.zeros(8, np.int32) for _ in structs]
    assert ptxsim.clean_side_by_side(kernel, [((1,), each) for each in zip(structs, outs, strict=True)], 8)
    for launch, out in enumerate(outs):
        assert out.tolist() == [10 * launch + i for i in range(4)] * 2


ENDLESS = 'extern "C" __global__ void wait(volatile int* go, int n) { while (go[0] < n) ; }'


def test_a_launch_that_does_not_end_is_no_clean_one():
    launches = [((1,), (np.full(1, 3, np.int32), np.int32(n))) for n in (2, 3, 4)]
    assert not ptxsim.clean_side_by_side(ptxsim.compile(ENDLESS, "wait"), launches, 32, max_steps=20_000)


def test_what_does_not_fit_the_kernel_is_told_before_anything_runs():
    good, short = arguments((1,), 64), arguments((1,), 64)[:2]
    with pytest.raises(ptxsim.LaunchError, match="3 parameters"):
        ptxsim.clean_side_by_side(compiled(), [((1,), good), ((1,), short)], 64)
    assert np.isnan(good[1]).all()
