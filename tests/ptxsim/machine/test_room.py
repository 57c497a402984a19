"""Blocks that wait for each other, and a GPU that holds fewer of them at once."""

import numpy as np
import pytest

import ptxsim
from tests.ptxsim.small_kernels import run, source_of
from tests.sample import one_in

MEET = """
extern __shared__ int s[];
s[t] = blockIdx.x;
if (t == 0) {
    __threadfence();
    atomicAdd(count, 1);
    while (LOOK < gridDim.x) { }  // HERE
    __threadfence();
    out[blockIdx.x] = s[0];
}
"""
VOLATILE, ATOMIC = "*(volatile unsigned*)count", "atomicAdd(count, 0)"
MOST_OF_AN_SM = 200 << 10
WORDS = (
    "8 of the grid's blocks have not begun, for the GPU (H100) holds 132 of them at once (1 on each of 132 SMs, "
    "limited by shared memory)"
)
STEPS = 20_000_000
"""Far more than it takes: no clock is read then, and a busy machine is no reason to stop."""
LOOKS = pytest.mark.parametrize("look", [VOLATILE, ATOMIC])


def meet(grid, look=VOLATILE, shared_mem=MOST_OF_AN_SM, **more):
    count, out = np.zeros(1, np.uint32), np.full(grid, -1, np.int32)
    parameters, options = "unsigned* count, int* out", ("-arch=sm_90",)
    body = MEET.replace("LOOK", look)
    report = run(
        body,
        count,
        out,
        parameters=parameters,
        grid=grid,
        options=options,
        shared_mem=shared_mem,
        max_steps=STEPS,
        **more,
    )
    return report, out


@LOOKS
@pytest.mark.parametrize("seed", one_in(2, [None, 1]))
def test_a_barrier_of_more_blocks_than_fit(look, seed):
    report, _ = meet(140, look, seed=seed)
    (hazard,) = report.hazards
    assert (hazard.kind, hazard.cause) == ("deadlock", "blocks-not-begun"), report
    assert WORDS in hazard.message and "at most 132 blocks" in hazard.message, report
    assert "// HERE" in report.kernel.source.splitlines()[hazard.line - 1]


@LOOKS
@pytest.mark.parametrize("grid", [100, 132])
def test_as_many_as_fit_meet(look, grid):
    report, out = meet(grid, look)
    assert report.ok and np.array_equal(out, np.arange(grid)), report


@pytest.mark.parametrize(("gpu", "fit"), [("A100", 108), ("H100", 264), ("RTX 3090", 82)])
def test_the_gpu_may_be_named(gpu, fit):
    """90 KB a block."""
    assert meet(fit, shared_mem=90 << 10, gpu=gpu)[0].ok
    report, _ = meet(fit + 1, shared_mem=90 << 10, gpu=gpu)
    assert report.hazards[0].cause == "blocks-not-begun" and f"the GPU ({gpu}) holds {fit} " in str(report)


def test_no_gpu_of_that_name():
    with pytest.raises(ValueError, match="no GPU 'H1000' is known"):
        meet(4, gpu="H1000")


REGISTERS = """
float a[100];
for (int i = 0; i < 100; ++i) a[i] = in[(t + i * 7) % 64];
for (int round = 0; round < 2; ++round)
    _Pragma("unroll") for (int i = 0; i < 100; ++i) a[i] = a[i] * a[(i * 37 + 11) % 100];
float sum = 0;
for (int i = 0; i < 100; ++i) sum += a[i];
out[t] = sum;
__syncthreads();
if (t == 0) { __threadfence(); atomicAdd(count, 1); while (*(volatile unsigned*)count < gridDim.x) { } }
"""


def test_registers_may_be_what_limits():
    args = np.zeros(1, np.uint32), np.zeros(512, np.float32), np.ones(64, np.float32)
    parameters = "unsigned* count, float* out, const float* in"
    kernel = ptxsim.compile(source_of(REGISTERS, parameters), "k", ("-arch=sm_90",))
    fit = 132 * ptxsim.launch(kernel, 1, 512, args).resources.occupancy.blocks
    args[0][:] = 0
    assert fit < 132 * 2048 // 512
    report = ptxsim.launch(kernel, fit + 1, 512, args)
    assert report.hazards[-1].cause == "blocks-not-begun" and "limited by registers" in str(report), report


CHAIN = """
if (t == 0) {
    ORDER
    if (mine > 0) while (*(volatile int*)(done + mine - 1) == 0) { }
    __threadfence();
    out[mine] = mine ? out[mine - 1] + 1 : 1;
    __threadfence();
    *(volatile int*)(done + mine) = 1;
}
"""
ORDERS = {
    "by its number": "int mine = blockIdx.x;",
    "by a ticket": "int mine = atomicAdd(done + gridDim.x, 1);",
}


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_who_waits_for_lower_numbers_goes_on(order, seed):
    """Blocks begin in the order of their numbers, as others end: a look back, a stream-K tile."""
    done, out = np.zeros(161, np.int32), np.zeros(160, np.int32)
    body = CHAIN.replace("ORDER", order)
    args = {"parameters": "int* done, int* out", "grid": 160, "options": ("-arch=sm_90",)}
    report = run(body, done, out, **args, shared_mem=MOST_OF_AN_SM, seed=seed)
    assert report.ok and np.array_equal(out, np.arange(1, 161)), report


LATER = """
if (t == 0 && blockIdx.x == 0) while (*(volatile int*)out == 0) { }
if (t == 0 && blockIdx.x == 139) atomicExch(out, 1);
"""


def test_one_that_waits_leaves_the_places_of_those_that_end():
    args = {"parameters": "int* out", "grid": 140, "options": ("-arch=sm_90",)}
    report = run(LATER, np.zeros(1, np.int32), **args, shared_mem=MOST_OF_AN_SM)
    assert report.ok, report


def test_a_cooperative_launch_is_refused():
    with pytest.raises(ptxsim.LaunchError) as refused:
        meet(140, cooperative=True)
    assert str(refused.value) == (
        "a cooperative launch of 140 blocks, and the GPU (H100) holds 132 of them at once (1 on each of 132 SMs, "
        "limited by shared memory): it refuses the launch (too large)"
    )
    assert meet(132, cooperative=True)[0].ok


def test_several_launches_side_by_side():
    kernel = ptxsim.compile(
        source_of(MEET.replace("LOOK", VOLATILE), "unsigned* count, int* out"), "k", ("-arch=sm_90",)
    )
    launches = [(n, (np.zeros(1, np.uint32), np.zeros(n, np.int32))) for n in (4, 100)]
    assert ptxsim.clean_side_by_side(kernel, launches, 32, MOST_OF_AN_SM) is not None
    launches.append((140, (np.zeros(1, np.uint32), np.zeros(140, np.int32))))
    assert ptxsim.clean_side_by_side(kernel, launches, 32, MOST_OF_AN_SM) is None
