"""A tensor map that the launch itself writes into global memory: the copy engine sees it behind a fence for maps."""

import numpy as np
import pytest

import ptxsim
from tests.ptxsim.units.test_bulk_copies import COPIES
from tests.ptxsim.units.test_mbarrier import HOPPER
from tests.sample import one_in

KERNEL = """
__device__ void release() { asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory"); }
__device__ void acquire(const Map* map)
{
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%%0], 128;" :: "l"(map) : "memory");
}
extern "C" __global__ void k(const __grid_constant__ Map a, Map* maps, unsigned short* out)
{
    __shared__ alignas(1024) unsigned short tile[8 * 64];
    __shared__ u64 bar;
    int t = threadIdx.x;
    Map* map = maps + blockIdx.x;
    if (t == 0) init(&bar, 1);
    __syncthreads();
%s
    wait(&bar, 0);
    for (int i = t; i < 512; i += 64) out[i] = tile[i];
}
"""
WRITE = "if (t < 16) map->words[t] = a.words[t];\n"
USE = "{ expect(&bar, sizeof tile); load(tile, map, &bar, 0, 0); }  // HERE\n"
RIGHT = {
    "by the thread that copies": WRITE
    + "release(); __syncthreads(); if (t == 0) { acquire(map);\n"
    + USE
    + "}",
    "by each thread": WRITE + "release(); __syncthreads(); acquire(map); if (t == 0)\n" + USE,
    "by another thread, which it meets": WRITE
    + "release(); __syncthreads(); if (t == 40) acquire(map); __syncthreads(); if (t == 0)\n"
    + USE,
    "all by one thread": "if (t == 0) { for (int i = 0; i < 16; ++i) map->words[i] = a.words[i];\n"
    "release(); acquire(map);\n" + USE + "}",
}
WRONG = {
    "none": WRITE + "__syncthreads(); if (t == 0)\n" + USE,
    "a release alone": WRITE + "release(); __syncthreads(); if (t == 0)\n" + USE,
    "of another map": WRITE + "release(); __syncthreads(); acquire(maps + 2); if (t == 0)\n" + USE,
    "before the write": "acquire(map);\n" + WRITE + "__syncthreads(); if (t == 0)\n" + USE,
    "by a thread that has not met the writers": "acquire(map);\n"
    + WRITE
    + "__syncthreads(); if (t == 0)\n"
    + USE,
    "for bulk copies": WRITE
    + 'asm volatile("fence.proxy.async;" ::: "memory"); __syncthreads(); if (t == 0)\n'
    + USE,
}


def run(body, seed):
    a = np.arange(20 * 64, dtype=np.uint16).reshape(20, 64) + 1
    given, out = ptxsim.TensorMap(a, (8, 64), 0), np.zeros(512, np.uint16)
    maps = np.zeros((3, 128), np.uint8)
    kernel = ptxsim.compile(COPIES + KERNEL % body, "k", HOPPER)
    report = ptxsim.launch(kernel, 1, 64, (given, maps, out), seed=seed)
    return report, out, a


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_a_fence_for_maps_stands_between(body, seed):
    report, out, a = run(body, seed)
    assert report.ok and np.array_equal(out, a[:8].ravel()), str(report)


@pytest.mark.parametrize("seed", one_in(2, [None, 1]))
@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG)
def test_it_is_missing(body, seed):
    report, _, _ = run(body, seed)
    (hazard,) = report.hazards
    assert (hazard.kind, hazard.cause) == ("missing-proxy-fence", "tensor-map"), str(report)
    lines = report.kernel.source.splitlines()
    assert (
        "// HERE" in lines[(hazard.call_line or hazard.line) - 1]
        and "tensormap::generic.acquire" in hazard.message
    )


def test_no_barrier_behind_the_write_is_a_race():
    report, _, _ = run(WRITE + "release(); acquire(map); if (t == 63)\n" + USE, None)
    assert report.hazards[0].kind == "read-after-write", str(report)
