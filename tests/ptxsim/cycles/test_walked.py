"""What a warp issues, walked without data: the integers, and as many wavefronts and sectors as the simulator counts."""

import numpy as np
import pytest

import ptxsim
from course_lib import OPTIONS, Gemm, lesson_kernel
from cupy_or_sim.simulate import compiled
from ptxsim.cycles.model import parameters, triple
from ptxsim.cycles.walk import Untraceable, constants_of, walk_block
from ptxsim.kernel import machine_code

FRAME = 'extern "C" __global__ void k(int* out, const int* in, int n, int m) {{ {} }}'


def walked(source: str, n: int = 0, m: int = 1, threads: int = 32, block=(0, 0, 0)):
    """The steps of a block's warps, and where each warp stores what."""
    kernel = ptxsim.compile(FRAME.format(source), "k", OPTIONS)
    instructions = machine_code(kernel)
    constants = constants_of(parameters(kernel, (None, None, n, m)), (threads, 1, 1), (8, 8, 1))
    return walk_block(instructions, constants, block, (threads, 1, 1), (8, 8, 1))


def stored(source: str, **launch) -> set[int]:
    """Elements of `out` in whose sectors a warp stores."""
    sectors = {
        sector
        for steps in walked(source, **launch)
        for step in steps
        if step.decoded.name == "STG" and step.access
        for sector in step.access.sectors
    }
    return {(sector - (1 << 40) // 32) * 8 for sector in sectors}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("n * m + 3", 7 * 5 + 3),
        ("n / m", 1),
        ("n % m", 2),
        ("(unsigned)n / (unsigned)m * 8", 8),
        ("min(n, m) << 3", 40),
        ("(n ^ m) & 2 | 8", (7 ^ 5) & 2 | 8),
        ("(n > m ? 3 : 4) * 16", 48),
        ("(int)((long long)n * 1000000007ll >> 28)", 7 * 1000000007 >> 28),
        ("(n - 20) >> 1 & 31", -13 >> 1 & 31),
        ("abs(m - n) * 8", 16),
        ("(int)blockIdx.x * 64 + (int)gridDim.x", 3 * 64 + 8),
        ("__popc(0) + n * 8", 56),
    ],
)
def test_integers_are_computed(expression, value):
    found = stored(f"if (threadIdx.x == 0) out[{expression}] = 1;", n=7, m=5, block=(3, 0, 0))
    assert found == {value // 8 * 8}


def test_a_loop_runs_as_often_as_it_should():
    source = "for (int i = 0; i < n; ++i) out[i * 1024 + threadIdx.x] = i;"
    assert stored(source, n=13) == {i * 1024 + 8 * sector for i in range(13) for sector in range(4)}


def test_lanes_that_part_come_together_again():
    source = "int x = threadIdx.x < 9 ? in[0] : 1; if (threadIdx.x & 1) out[threadIdx.x * 8] = x; out[n] = 2;"
    found = stored(source, n=4096)
    assert found == {lane * 8 for lane in range(1, 32, 2)} | {4096}


def test_what_depends_on_data_is_said():
    with pytest.raises(Untraceable, match="line 1"):
        walked("while (in[n] > 0) out[n]++;")
    with pytest.raises(Untraceable, match="address"):
        walked("out[in[0]] = 1;")


def of_lesson(notebook: str, name: str, k_tiles: int):
    """The steps of each warp of a block of a lesson's kernel."""
    raw, launch = lesson_kernel(notebook, name)
    kernel, gemm = compiled(raw), Gemm(launch.tile[0], launch.tile[1], k_tiles * launch.tile[2])
    sizes = (None, None, None, *map(np.int32, (gemm.M, gemm.N, gemm.K)))
    block, grid = triple(launch.block), triple(gemm.grid(launch))
    constants = constants_of(parameters(kernel, sizes), block, grid)
    return walk_block(machine_code(kernel), constants, (0, 0, 0), block, grid)


def test_mbarriers_bulk_copies_and_wgmma_of_a_ring():
    """One thread makes four slots' barriers and copies 48 KB for each k-tile; each warp waits once for it."""
    first, *others = of_lesson("07_hopper", "ring", 6)
    made = [step.access.barrier[1] for step in first if step.access and "EXCH" in step.decoded.modifiers]
    assert sorted(made) == [1] * 4 + [2] * 4, "a copy fills a slot, two warpgroups free it"
    assert (
        sum(step.access.size for step in first if step.decoded.name == "UTMALDG" and step.access)
        == 6 * 48 << 10
    )
    for steps in others:
        assert sum(step.decoded.name == "HGMMA" for step in steps) == 6 * 4
        assert sum("TRYWAIT" in step.decoded.modifiers for step in steps) == 6
        assert not any(step.decoded.name == "UTMALDG" and step.executes for step in steps)


def test_stores_know_of_sectors_that_they_write_in_part():
    whole = walked("out[threadIdx.x] = n;")[0]
    halves = walked("((int4*)out)[2 * threadIdx.x] = make_int4(n, n, n, n);")[0]
    parts = [[step.access.parts for step in steps if step.decoded.name == "STG"] for steps in (whole, halves)]
    assert parts == [[0], [32]]


def test_spills_lie_where_each_warp_has_its_own():
    source = "int a[64]; for (int i = 0; i < 64; ++i) a[i * m & 63] = in[i]; out[threadIdx.x] = a[n & 63];"
    first, second = walked(source, n=3, m=7, threads=64)

    def sectors(steps):
        return {each for step in steps if step.decoded.name in ("LDL", "STL") for each in step.access.sectors}

    assert len(sectors(first)) == 64 * 4, "a word of all lanes is a line"
    assert not sectors(first) & sectors(second)


def test_what_is_not_known_is_said():
    with pytest.raises(Untraceable, match="does not know"):
        of_lesson("08_never_a_pause", "complete", 4)


@pytest.mark.parametrize("name", ["register_tile", "tiled"])
def test_wavefronts_and_sectors_are_those_that_the_simulator_counts(name):
    """Of PTX and of machine code alike: each access to memory stands in both."""
    raw, launch = lesson_kernel("01_mainloop", name)
    kernel, gemm = compiled(raw), Gemm(launch.tile[0], launch.tile[1], 4 * launch.tile[2])
    report = raw and ptxsim.launch(
        kernel, gemm.grid(launch), launch.block, gemm.arguments(*gemm.integers(seed=0)), launch.shared_mem
    )
    sizes = (None, None, None, *map(np.int32, (gemm.M, gemm.N, gemm.K)))
    block, grid = triple(launch.block), triple(gemm.grid(launch))
    constants = constants_of(parameters(kernel, sizes), block, grid)
    steps = [
        step for warp in walk_block(machine_code(kernel), constants, (0, 0, 0), block, grid) for step in warp
    ]
    shared = sum(
        step.access.wavefronts for step in steps if step.access and step.decoded.name in ("LDS", "STS")
    )
    sectors = sum(len(step.access.sectors) for step in steps if step.access)
    assert shared == report.counters.total.shared_wavefronts
    assert sectors == report.counters.total.global_sectors
