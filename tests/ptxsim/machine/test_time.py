"""What a kernel reads that asks for the time: issued instructions, and soon more where all wait for a time to come."""

import numpy as np
import pytest

from ptxsim import compile, launch

KERNEL = 'extern "C" __global__ void f(long long* out, int* count) {{ {} }}'
NOW = 'unsigned long long now; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));'
TIMER = f"auto timer = [] {{ {NOW} return (long long)now; }};"


def run(source: str, grid: int = 1, block: int = 64, seed: int | None = None, size: int = 4 * 64 * 3):
    out, count = np.zeros(size, np.int64), np.array([7], np.int32)
    report = launch(compile(KERNEL.format(source), "f"), grid, block, (out, count), seed=seed)
    assert report.ok, str(report)
    return out, count


READS = f"""{TIMER}
    __shared__ float x[256];
    long long a = clock64(), b, c;
    x[threadIdx.x] = threadIdx.x;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 64; ++i) sum += x[i] * x[(threadIdx.x ^ i) % 64];
    b = clock64();
    c = timer();
    atomicAdd(count, 1);
    long long* to = out + (blockIdx.x * blockDim.x + threadIdx.x) * 3;
    to[0] = a; to[1] = b; to[2] = c;
    if (sum < 0) to[0] = 0;
"""


def test_the_clock_counts_instructions_and_the_launch_happens_once():
    out, count = run(READS, grid=4)
    begin, end, timer = np.moveaxis(out.reshape(4, 64, 3), 2, 0)
    assert count[0] == 7 + 4 * 64
    assert (begin >= 0).all() and (end - begin > 50).all() and (end - begin < 5000).all()
    assert (end < timer).all() and (timer < end + 10).all(), "both count the same"
    again, _ = run(READS, grid=4, seed=3)
    assert (np.diff(again.reshape(4, 64, 3)) > 0).all()


def test_two_reads_are_as_many_apart_as_instructions_were_issued():
    """Every thread of a block that runs together has the same time, and in a straight line no two reads are equal."""
    out, _ = run("long long a = clock64(), b = clock64(); __syncthreads(); out[threadIdx.x] = b - a;")
    assert set(out[:64]) == {1}


SPINS = {
    "clock64": "long long start = clock64(); while (clock64() - start < AT_LEAST) {} long long end = clock64();",
    "clock": "unsigned start = clock(); while (clock() - start < AT_LEAST) {} unsigned end = clock();",
    "globaltimer": f"{TIMER} long long start = timer(); while (timer() - start < AT_LEAST) {{}}"
    " long long end = timer();",
    "nanosleep between": f"{TIMER} long long start = timer(); while (timer() - start < AT_LEAST) __nanosleep(100);"
    " long long end = timer();",
}


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("spin", SPINS)
@pytest.mark.parametrize("least", [20_000, 20_000_000])
def test_waiting_on_the_clock_ends(spin, least, seed):
    """Ten milliseconds, too, as the samples of CUDA have it: nobody else is left to run, so it goes quicker."""
    source = SPINS[spin].replace("AT_LEAST", str(least))
    out, _ = run(f"{source} out[blockIdx.x * 64 + threadIdx.x] = end - start;", grid=2, seed=seed)
    assert (out[:128] >= least).all() and (out[:128] < 8 * least).all()


def test_a_wait_ends_while_others_work():
    """One warp waits for a time to come; another one has time enough for its turns."""
    source = """
    long long start = clock64();
    if (threadIdx.x < 32) { while (clock64() - start < 3000) {} }
    else {
        long long turns = 0;
        while (clock64() - start < 100000 && turns < 200) turns += 1;
        out[threadIdx.x] = turns;
    }
    """
    out, _ = run(source)
    assert set(out[32:64]) == {200}


def test_only_one_block_reads_the_clock():
    source = """
        if (threadIdx.x == 0) atomicAdd(count, 1);
        if (blockIdx.x == 2) { out[threadIdx.x] = clock64(); __syncthreads(); out[32 + threadIdx.x] = clock64(); }
        __syncthreads();
        if (blockIdx.x == 1 && threadIdx.x == 0) printf("once");
    """
    out, count = np.zeros(64, np.int64), np.array([0], np.int32)
    report = launch(compile(KERNEL.format(source), "f"), 3, 32, (out, count))
    assert report.ok and report.output == "once" and count[0] == 3
    assert (out[:32] > 0).all() and (out[32:64] > out[:32]).all()
