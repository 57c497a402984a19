"""`waves`: blocks as bars on their SMs, noted by an object that is put into the kernel's text."""

import numpy as np
import pytest

from course_lib import OPTIONS, Launch, cp, lesson_kernel, simulate
from course_lib.check.gemm import Gemm
from course_lib.instruments import span_chart, waves
from course_lib.instruments.waves import spans_of
from course_lib.timelines.first_statement import with_first
from course_lib.timelines.watched import BEGIN_CYCLE, BEGIN_NS, END_CYCLE, END_NS, SM, cycles, mhz, with_marks
from tests.fake_gpu import FakeCupy, install

SOURCE = r"""
__device__ float twice(float x) { return 2 * x; }
template <int N> struct Unused {};
extern "C" __global__ void __launch_bounds__(64)
tiled(const float* A, const float* B, float* C, int M, int N, int K)
{
    if (blockIdx.x == 1) return;  // both ways out are seen
    __shared__ float tile[64];
    tile[threadIdx.x] = twice(A[threadIdx.x % M]);
    __syncthreads();
    C[threadIdx.x] = tile[63 - threadIdx.x];
}
"""


def kernel_of(source=SOURCE):
    return FakeCupy({}).RawKernel(source, "tiled", OPTIONS)


def test_each_block_notes_its_begin_and_its_end():
    kernel = cp.RawKernel(with_marks(SOURCE, "tiled"), "tiled", options=OPTIONS)
    A, B, C = np.ones(64, np.float32), np.ones(64, np.float32), np.zeros(64, np.float32)
    rows = np.zeros((3, 5), np.uint64)
    report = simulate(kernel, (3,), (64,), (A, B, C, np.int32(64), np.int32(1), np.int32(1), rows))
    assert report.hazards == () or {hazard.kind for hazard in report.hazards} == {"block-conflict"}
    assert (rows[:, END_CYCLE] > rows[:, BEGIN_CYCLE]).all() and (rows[:, END_NS] >= rows[:, BEGIN_NS]).all()


@pytest.mark.parametrize(
    "notebook, name", [("06_parts_of_matmul", "complete"), ("08_never_a_pause", "cluster")]
)
def test_the_lessons_kernels_compile_with_it(notebook, name):
    kernel, _ = lesson_kernel(notebook, name)
    watched = cp.RawKernel(with_marks(kernel.code, name), name, options=kernel.options)
    assert watched.num_regs > 0


def test_the_statement_comes_first_and_the_parameter_last():
    made = with_first('extern "C" __global__ void f(int (*a)[3], float* b)\n{ a; }', "f", "go();", "int c")
    assert made == 'extern "C" __global__ void f(int (*a)[3], float* b, int c)\n{ go(); a; }'
    with pytest.raises(ValueError, match="no __global__ function g"):
        with_first("__device__ void g() {}", "g", "go();")


def noted(fake_args):
    """What two rounds of three blocks on two SMs would write."""
    fake_args[-1][:] = [
        [1000, 3000, 50, 4050, 0], [1000, 2500, 9, 3009, 0], [1200, 4000, 70, 5670, 1],
        [3000, 6000, 4060, 10060, 0], [2600, 5000, 3200, 8000, 0], [4000, 7000, 5700, 11700, 1],
    ]  # fmt: skip


def test_measured_on_a_gpu_then_replayed_elsewhere(folder, monkeypatch):
    gemm, launch = Gemm(192, 128, 64), Launch(tile=(64, 64, 64), threads=64)
    with monkeypatch.context() as patch:
        install(patch, FakeCupy({}, lambda kernel, args: noted(args)))
        patch.setenv("COURSE_RECORD", str(folder / "nvidia-h100-80gb-hbm3.json"))
        seen = waves(kernel_of(), gemm, launch)
    assert seen.rows["tiled"].tolist() == [
        [0, 0, 2], [0, 0, 1.5], [0, 1.6, 4], [0, 2, 5], [1, 0.2, 3], [1, 3, 6]
    ]  # fmt: skip
    assert seen.us("tiled") == 6 and seen.busy("tiled", sms=2) == pytest.approx((5 + 5.8) / 12)
    again = waves(kernel_of(), gemm, launch)
    assert again.rows["tiled"].tolist() == seen.rows["tiled"].tolist()
    assert again.origin.startswith("recorded on NVIDIA H100 80GB HBM3, ")
    assert "no record" in waves(kernel_of(), gemm, launch.but(shared_mem=8)).origin


def test_blocks_that_share_an_sm_lie_side_by_side():
    rows = np.array([[0, 0, 2], [0, 0, 1.5], [0, 1.6, 4], [0, 2, 5], [1, 0.2, 3], [1, 3, 6]])
    turns, beside = span_chart.in_places(rows)
    assert turns.tolist() == [0, 0, 1, 1, 0, 1] and beside.tolist() == [0, 1, 1, 0, 0, 0]


def test_cycles_and_clock():
    rows = np.zeros((2, 5), np.int64)
    rows[:, END_NS], rows[:, END_CYCLE], rows[1, SM] = (1000, 2000), (1980, 3960), 1
    assert cycles(rows).tolist() == [1980, 3960] and mhz(rows).tolist() == [1980, 1980]
    assert spans_of(rows).tolist() == [[0, 0, 1], [1, 0, 2]]


def by_turn(rows):
    """Of the first, second ... block that begins on an SM: how many SMs have one, and the means of begin and end."""
    found = {}
    for sm in set(rows[:, 0]):
        for turn, (_, begin, end) in enumerate(rows[rows[:, 0] == sm]):
            found.setdefault(turn, []).append((begin, end))
    return [(len(each), *np.mean(each, axis=0)) for _, each in sorted(found.items())]


@pytest.mark.parametrize(
    "notebook, name, dtype, off",
    [("01_mainloop", "mainloop", "float32", 0.06), ("06_parts_of_matmul", "complete", "float16", 0.04)],
)
def test_modelled_waves_are_those_of_the_record(notebook, name, dtype, off):
    """The same number of SMs make a block of each turn; the means of its begin and end are `off` by a part of the
    launch. It is the clock's error: of `mainloop`'s time 2 %, of `complete`'s 4, and who of two blocks runs."""
    kernel, launch = lesson_kernel(notebook, name)
    gemm = Gemm(4096, 4096, 4096, dtype)
    kept, played = waves(kernel, gemm, launch), waves(kernel, gemm, launch, model=True)
    assert kept.origin.startswith("recorded on") and played.origin == "modelled for an H100"
    turns = zip(by_turn(kept.rows[name]), by_turn(played.rows[name]), strict=True)
    for (many, begin, end), (modelled, its_begin, its_end) in turns:
        assert many == modelled
        assert abs(its_begin - begin) < off * kept.us(name) and abs(its_end - end) < off * kept.us(name)
    both = kept.beside(played)
    assert list(both.rows) == [f"{name}, recorded", f"{name}, modelled"]
    assert both.origin.endswith("; modelled for an H100")


def test_a_block_that_makes_several_tiles_is_one_bar():
    kernel, launch = lesson_kernel("08_never_a_pause", "persistent")
    rows = waves(kernel, Gemm(4096, 4096, 4096, "float16"), launch, model=True).rows["persistent"]
    assert len(rows) == launch.blocks and (rows[:, 1] == 0).all() and rows[0, 2] > 150
