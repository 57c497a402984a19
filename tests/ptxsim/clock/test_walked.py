"""What a warp issues, walked without data: the integers, and as many wavefronts and sectors as the simulator counts."""

import itertools

import numpy as np
import pytest

import ptxsim
from course_lib import OPTIONS, Gemm, lesson_kernel
from cupy_or_sim.simulate import compiled
from ptxsim.clock.accesses import Access
from ptxsim.clock.model import parameters, triple
from ptxsim.clock.walk import Untraceable, constants_of, walk_block
from ptxsim.front.kernel import literals, machine_code
from tests.sample import one_in

FRAME = 'extern "C" __global__ void k(int* out, const int* in, int n, int m) {{ {} }}'


def walked(source: str, n: int = 0, m: int = 1, threads: int = 32, block=(0, 0, 0), arch: str = "sm_90"):
    """The steps of a block's warps, and where each warp stores what."""
    kernel = ptxsim.compile(FRAME.format(source), "k", OPTIONS)
    sizes = (threads, 1, 1), (8, 8, 1)
    found = parameters(kernel, (None, None, n, m), arch)
    constants = constants_of(found, *sizes, arch, literals(kernel, arch))
    return walk_block(machine_code(kernel, arch), constants, block, *sizes)


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


@pytest.mark.parametrize("arch", one_in(5, ["sm_90", "sm_75", "sm_80", "sm_86", "sm_89"]))
@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("n * m + 3", 7 * 5 + 3),
        ("n * m + 4096", 7 * 5 + 4096),
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
def test_integers_are_computed(expression, value, arch):
    found = stored(f"if (threadIdx.x == 0) out[{expression}] = 1;", n=7, m=5, block=(3, 0, 0), arch=arch)
    assert found == {value // 8 * 8}


@pytest.mark.parametrize("n", [-1.5, 0.0, 2.5, float("nan")])
@pytest.mark.parametrize(
    "condition", ["x != 0", "!(x < 1)", "fabsf(x) > 1", "-x <= 1 && threadIdx.x", "x == 2.5f"]
)
@pytest.mark.parametrize("arch", one_in(2, ["sm_80", "sm_90"]))
def test_floats_of_parameters_are_compared(n, condition, arch):
    bits = int(np.float32(n).view(np.int32))
    source = f"float x = __int_as_float(n); if ({condition}) out[8] = m; else out[16] = m;"
    holds = {
        "x != 0": n != 0,
        "!(x < 1)": not n < 1,
        "fabsf(x) > 1": abs(n) > 1,
        "-x <= 1 && threadIdx.x": -n <= 1,
        "x == 2.5f": n == 2.5,
    }[condition]
    lane_0 = {16} if "threadIdx" in condition else set()
    assert stored(source, n=bits, m=1, arch=arch) == ({8} | lane_0 if holds else {16})


@pytest.mark.parametrize("arch", ["sm_75", "sm_86", "sm_90"])
def test_a_loop_runs_as_often_as_it_should(arch):
    source = "for (int i = 0; i < n; ++i) out[i * 1024 + threadIdx.x] = i;"
    assert stored(source, n=13, arch=arch) == {
        i * 1024 + 8 * sector for i in range(13) for sector in range(4)
    }


def test_machine_code_that_nobody_taught_the_walk_is_said():
    with pytest.raises(Untraceable, match="sm_75 to sm_90, and this is sm_120"):
        walked("out[0] = n;", arch="sm_120")


def test_lanes_that_part_come_together_again():
    source = "int x = threadIdx.x < 9 ? in[0] : 1; if (threadIdx.x & 1) out[threadIdx.x * 8] = x; out[n] = 2;"
    found = stored(source, n=4096)
    assert found == {lane * 8 for lane in range(1, 32, 2)} | {4096}


def test_what_depends_on_data_is_said():
    with pytest.raises(Untraceable, match="line 1"):
        walked("while (in[n] > 0) out[n]++;")
    with pytest.raises(Untraceable, match="line 1"):
        walked("if (__int_as_float(in[n]) > 1e30f) return; out[n] = 1;")
    with pytest.raises(Untraceable, match="address"):
        walked("out[in[0]] = 1;")


def of_lesson(notebook: str, name: str, k_tiles: int, tiles: int = 1, arch: str = "sm_90"):
    """The steps of each warp of a block of a lesson's kernel, or of one of a cluster, that makes so many tiles."""
    raw, launch = lesson_kernel(notebook, name)
    kernel, (M, N, K) = compiled(raw), launch.tile
    sizes = (None, None, None, *map(np.int32, (tiles * M, N, k_tiles * K)))
    block, grid = triple(launch.block), triple(kernel.code.program.cluster)
    constants = constants_of(parameters(kernel, sizes, arch), block, grid, arch, literals(kernel, arch))
    return walk_block(machine_code(kernel, arch), constants, (0, 0, 0), block, grid)


@pytest.mark.parametrize("arch", one_in(3, ["sm_80", "sm_86", "sm_89"]))
@pytest.mark.parametrize(
    ("notebook", "name"),
    [("01_mainloop", "mainloop"), ("03_double_buffer", "two_buffers"), ("05_three_stage", "ring")],
)
def test_other_architectures_move_the_same_data(notebook, name, arch):
    """Not by the same instructions: ptxas leaves loops with CALL there, and keeps numbers in constant bank 2."""

    def moved(which: str) -> set:
        steps = itertools.chain(*of_lesson(notebook, name, 6, arch=which))
        accesses = [
            step.access for step in steps if step.access and step.decoded.name in ("LDG", "LDGSTS", "STG")
        ]
        return {sector for access in accesses for sector in access.sectors}

    assert moved(arch) == moved("sm_90") != set()


def test_mbarriers_bulk_copies_and_wgmma_of_a_ring():
    """One thread makes four slots' barriers and copies 48 KB for each k-tile; each warp waits once for it."""
    first, *others = of_lesson("07_hopper", "ring", 6)
    made = [step.access.count for step in first if step.access and "EXCH" in step.decoded.modifiers]
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


def of_block(warps, name: str, modifier: str = ""):
    """What a block's instructions of this name access."""
    return [
        step.access
        for steps in warps
        for step in steps
        if step.decoded.name == name and step.access and (not modifier or modifier in step.decoded.modifiers)
    ]


@pytest.mark.parametrize("name", ["persistent", "cluster", "complete"])
def test_a_block_goes_round_its_tiles(name):
    warps = of_lesson("08_never_a_pause", name, 6, tiles=3)
    assert [sum(step.decoded.name == "HGMMA" for step in steps) for steps in warps] == 4 * [0] + 8 * [
        3 * 6 * 4
    ]
    assert sum(copy.size for copy in of_block(warps, "UTMALDG")) == 3 * 6 * 48 << 10
    assert len(of_block(warps, "SYNCS", "TRYWAIT")) == 3 * 6 * (1 + 8)


def test_a_cluster_shares_copies_and_its_blocks_arrive_at_each_other():
    """Each of two blocks copies half of B for both, 16 KB of it in two copies; a slot is freed by both."""
    warps = of_lesson("08_never_a_pause", "cluster", 6)
    copies = {(copy.size >> 10, copy.blocks) for copy in of_block(warps, "UTMALDG")}
    assert copies == {(8, 1), (16, 2)}, "what it brings here, and to how many blocks it goes"
    counts = sorted(made.count for made in of_block(warps, "SYNCS", "EXCH"))
    assert counts == [1] * 4 + [4] * 4
    freed = {(each.arrivals, each.elsewhere) for each in of_block(warps, "SYNCS", "A1T0")}
    assert freed == {(2, 1)}, "one lane here, one there"


def test_stores_of_the_copy_engine_take_what_was_written_to_shared_memory():
    warps = of_lesson("08_never_a_pause", "complete", 4, tiles=2)
    assert [store.size for store in of_block(warps, "UTMASTG")] == 2 * 8 * [64 * 64 * 2]


BULK = (
    "__shared__ __align__(128) int s[64]; __shared__ unsigned long long b; "
    'asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" :: '
    '"r"((unsigned)__cvta_generic_to_shared(s)), "l"(in), "r"((unsigned)__cvta_generic_to_shared(&b)) : "memory"); '
    "out[0] = s[n];"
)


def test_what_is_not_known_is_said():
    with pytest.raises(Untraceable, match="does not know UBLKCP"):
        walked(BULK)


def test_a_division_takes_the_short_way_and_its_function_is_not_come_to():
    """Where one is near the ends of float32's range a function takes over, which returns by data."""
    quotient = "__int_as_float(in[threadIdx.x]) / __int_as_float(in[threadIdx.x + 32])"
    warps = walked(f"out[threadIdx.x] = __float_as_int({quotient});")
    names = {step.decoded.name for steps in warps for step in steps}
    assert {"FCHK", "MUFU"} <= names and not {"CALL", "RET"} & {
        step.decoded.name for steps in warps for step in steps if step.taken
    }


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
    sectors = sum(len(step.access.sectors) for step in steps if isinstance(step.access, Access))
    assert shared == report.counters.total.shared_wavefronts
    assert sectors == report.counters.total.global_sectors
