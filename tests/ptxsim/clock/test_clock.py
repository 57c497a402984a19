"""The clock's model against an H100 (frozen in tests/golden/clock_h100.json), and what must hold on every GPU."""

import hashlib
import itertools
import json
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from course_lib import OPTIONS
from course_lib.measure import marks
from course_lib.measure.assembled import Marks
from cupy_or_sim import device
from ptxsim import compile, estimate, launch
from ptxsim.arguments import bind
from ptxsim.clock.clock import extend, play, settle, steady
from ptxsim.gpus import H100
from ptxsim.observe.events import Arrive, Barrier, Commit, Copy, Store, Wait, Work
from tests.golden import record_traffic
from tests.kernels.pipelined import PIPELINED, gemm_fp16, gemm_fp32
from tests.rules import ROOT
from tests.sample import one_in

GOLDEN = json.loads((ROOT / "tests/golden/clock_h100.json").read_text())
MEASURED = GOLDEN["kernels"]
KERNELS = {p.name: p for p in PIPELINED}
SIZES, FAMILIES = (2048, 4096), ("fp32", "fp16")
HALVES = {"fitted on": (1, 3, 5), "tested on": (1, 2, 4)}
RATE = H100.rates
COPIES = Copy, Commit, Wait


def block_args(p, k_tiles: int) -> tuple:
    """Arguments of one block with that many k-tiles, and zeros in its operands."""
    tile_m, tile_n, tile_k = p.tile
    order = "F" if p.dtype == "float32" else "C"
    A, B = (np.zeros((rows, k_tiles * tile_k), p.dtype, order=order) for rows in (tile_m, tile_n))
    C = np.zeros((tile_m, tile_n), np.float32, order=order)
    return A, B, C, np.int32(tile_m), np.int32(tile_n), np.int32(k_tiles * tile_k)


@cache
def modelled(name: str, size: int, resident: int | None = None, gpu: str = "H100"):
    p = KERNELS[name]
    kernel = compile(p.source, p.kernel, OPTIONS)
    grid = (size // p.tile[0], size // p.tile[1])
    resident = resident or MEASURED[name]["resident"]
    return estimate(
        kernel, grid, (p.threads,), lambda n: block_args(p, n), size // p.tile[2], p.shared_mem, gpu, resident
    )


@cache
def events(name: str, k_tiles: int) -> list:
    p = KERNELS[name]
    kernel = compile(p.source, p.kernel, OPTIONS)
    return launch(kernel, (1,), (p.threads,), block_args(p, k_tiles), p.shared_mem).events


def k_tile(name: str, rates=RATE, resident: int = 1, without: tuple = ()) -> float:
    """Cycles of a k-tile in the main loop; events of the classes `without` left out."""
    kept = [[[e for e in warp if not isinstance(e, without)] for warp in events(name, n)] for n in (8, 12)]
    return steady(*kept, rates, resident)[1] / 4


# --------------------------------------------------------------------------- against the H100


@pytest.mark.parametrize("name", KERNELS)
def test_the_frozen_measurements_are_of_these_kernels(name):
    source = hashlib.sha256(KERNELS[name].source.encode()).hexdigest()[:16]
    assert source == MEASURED[name]["source"], f"{name} has changed: measure it again on an H100"


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("size", SIZES)
def test_speed_up_over_one_stage_within_15_percent(half, family, size):
    for stages in HALVES[half][1:]:
        one, more = f"{family}_s1", f"{family}_s{stages}"
        measured = MEASURED[one]["ms"][str(size)] / MEASURED[more]["ms"][str(size)]
        model = modelled(one, size).ms / modelled(more, size).ms
        assert abs(model / measured - 1) < 0.15, (more, measured, model)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("size", SIZES)
def test_order_where_medians_differ_by_more_than_5_percent(family, size):
    names = [name for name in KERNELS if name.startswith(family)]
    for slow, fast in itertools.permutations(names, 2):
        if MEASURED[slow]["ms"][str(size)] > 1.05 * MEASURED[fast]["ms"][str(size)]:
            assert modelled(slow, size).ms > modelled(fast, size).ms, (slow, fast)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("size", SIZES)
def test_times_themselves_within_25_percent(name, size):
    assert abs(modelled(name, size).ms / MEASURED[name]["ms"][str(size)] - 1) < 0.25


@pytest.mark.parametrize("stages", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("size", SIZES)
def test_the_one_fitted_number_explains_the_kernels_without_copies(stages, size):
    """`Rates.mma` is fitted to stages 1, 3 and 5; 2 and 4 test it."""
    name = f"fp16_s{stages}"
    waves, k_tiles = -(-((size // 128) ** 2) // 132) / 2, size // 32
    math = k_tile(name, resident=2, without=COPIES)
    ms = RATE.launch_us / 1e3 + waves * k_tiles * math / RATE.clock_mhz / 1e3
    assert abs(ms / MEASURED[name]["ms_without_copies"][str(size)] - 1) < 0.15


def test_without_any_fit_the_speed_ups_hold_too():
    measured_alone = replace(RATE, mma=GOLDEN["micro"]["cycles of an m16n8k16, 16 warps of 8 chains"])
    one = k_tile("fp16_s1", measured_alone, 2)
    for stages in (2, 3, 4, 5):
        cycles = {s: MEASURED[f"fp16_s{s}"]["k_tile_cycles"]["4096"] for s in (1, stages)}
        model = one / k_tile(f"fp16_s{stages}", measured_alone, 2)
        assert abs(model / (cycles[1] / cycles[stages]) - 1) < 0.2


# --------------------------------------------------------------------------- what must hold


@pytest.mark.parametrize("name", ["fp32_s1", "fp32_s2", "fp16_s1", "fp16_s2", "fp16_s3"])
@pytest.mark.parametrize("resident", [1, 2, 4])
def test_more_latency_never_speeds_up(name, resident):
    cycles = [k_tile(name, replace(RATE, l2_latency=latency), resident) for latency in (200, 700, 2000)]
    assert all(b > 0.995 * a for a, b in itertools.pairwise(cycles)), cycles


@pytest.mark.parametrize("what", ["fma", "mma", "wavefront", "shared_latency", "barrier"])
@pytest.mark.parametrize("name", ["fp32_s2", "fp16_s1", "fp16_s3"])
def test_slower_parts_never_speed_up(what, name):
    cycles = [k_tile(name, replace(RATE, **{what: factor * getattr(RATE, what)}), 2) for factor in (1, 2, 4)]
    assert all(b > 0.995 * a for a, b in itertools.pairwise(cycles)), cycles


def test_stages_hide_a_copy_as_long_as_they_cover_its_latency():
    cycles = {
        (s, t): k_tile(f"fp16_s{s}", replace(RATE, l2_bytes=100, l2_latency=t))
        for s in (1, 2, 3, 5)
        for t in (100, 900, 1500)
    }
    math = k_tile("fp16_s5", without=COPIES)
    assert cycles[1, 900] - cycles[1, 100] == pytest.approx(800, abs=1)  # one stage hides nothing,
    assert cycles[2, 100] < 1.15 * math  # a second one all of a short copy
    assert cycles[2, 900] > 1.15 * cycles[2, 100]  # and part of a long one,
    assert cycles[3, 900] < 1.05 * cycles[3, 100]  # a third what is left.
    assert cycles[5, 1500] < cycles[3, 1500] < cycles[2, 1500] < cycles[1, 1500]


def test_blocks_of_an_sm_hide_each_others_waiting_but_share_its_speed():
    alone, two, four = (k_tile("fp16_s1", resident=r) for r in (1, 2, 4))
    assert alone < two < 2 * alone and two < four < 4 * alone
    busiest = max(64 * RATE.mma, 16384 / RATE.l2_bytes)
    assert two >= 2 * busiest and four >= 0.99 * 4 * busiest


def test_a_long_loop_is_what_the_extrapolation_says():
    few, more = events("fp16_s3", 8), events("fp16_s3", 12)
    assert extend(few, more, 2) == events("fp16_s3", 16)
    first, four, stretch = steady(few, more, RATE, 2)
    assert first + 5 * four == pytest.approx(play(extend(few, more, 5), RATE, stretch).cycles, rel=0.01)
    with pytest.raises(ValueError, match="not alike"):
        extend(few, few, 1)


def test_a_wait_ends_before_the_barrier_and_the_barrier_before_the_math():
    played, _ = settle(events("fp16_s2", 8), RATE, 2)
    warps = [[s for s in played.segments if s.warp == warp] for warp in range(4)]
    for segments in warps:
        assert all(a.end <= b.begin for a, b in itertools.pairwise(segments))
        phases = [s.phase for s in segments if s.phase in ("wait", "barrier", "math")]
        assert all(phases[i - 1] == "barrier" for i, phase in enumerate(phases) if phase == "math")
        assert phases.count("math") == 8
    ends = [[s.end for s in segments if s.phase == "barrier"] for segments in warps]
    assert ends[0] == ends[1] == ends[2] == ends[3]


def test_named_barriers_let_a_producer_run_ahead():
    copy = [Copy(4096.0, 0.0), Commit(), Wait(0), Arrive(1, 64)]
    consume = [Barrier(1, 64), Work(10.0, 0.0, 64.0, 0.0)]
    played = play([copy * 3, consume * 3], RATE)
    assert len([s for s in played.segments if s.phase == "barrier" and s.warp == 1]) == 3
    assert not [s for s in played.segments if s.phase == "barrier" and s.warp == 0]


STORES = """extern "C" __global__ void f(float* out)
{
    for (int i = 0; i < 64; ++i) out[i * 512 + threadIdx.x / LANES * 8 + threadIdx.x % LANES] = 1;
}"""


@pytest.mark.parametrize("lanes, factor", [(8, 1), (4, 4), (2, 8)])  # that write to a sector of 8 floats
def test_a_store_to_part_of_a_sector_costs_l2_a_read_and_a_write_of_the_whole(lanes, factor):
    kernel = compile(STORES.replace("LANES", str(lanes)), "f")
    events = launch(kernel, (1,), (128,), (np.zeros(64 * 512, np.float32),)).events
    assert [event for event in events[0] if isinstance(event, Store)] == [Store(128.0, 32 / lanes)] * 64
    cycles = play(events, RATE).cycles - RATE.block_start
    assert cycles == pytest.approx(4 * 64 * factor * 128 / RATE.l2_bytes, rel=0.05)


@pytest.mark.skipif(device.backend() == "cupy", reason="there these kernels measure the GPU")
def test_kernels_that_measure_the_traffic_with_l2_read_the_model_here():
    for lanes, factor in ((32, 1), (8, 1), (4, 4), (2, 8)):
        out, rates = record_traffic.stores(lanes, blocks=1, turns=1)
        assert (out == 1).all() and rates[0] == pytest.approx(RATE.l2_alone / factor, rel=0.05)
    assert record_traffic.loads(blocks=2, turns=3) == pytest.approx(RATE.l2_alone, rel=0.05)


def test_events_that_never_meet_end_the_play():
    assert play([[Barrier(0, 64)], []], RATE).cycles > 0


# --------------------------------------------------------------------------- estimates


def test_an_estimate_says_what_it_is():
    text = str(modelled("fp16_s3", 4096))
    assert text.startswith("model, H100:") and "4 waves of 2 blocks an SM" in text
    assert any("L2" in line for line in modelled("fp16_s3", 4096).assumptions)


def test_other_gpus_and_small_problems():
    h100, a100, rtx = (modelled("fp16_s3", 4096, 2, gpu).ms for gpu in ("H100", "sm_80", "RTX 3090"))
    assert h100 < a100 < rtx
    assert modelled("fp32_s2", 64).ms < modelled("fp32_s2", 2048).ms
    with pytest.raises(ValueError, match="RTX 4090"):
        modelled("fp32_s2", 2048, 4, "RTX 4090")


# --------------------------------------------------------------------------- clock64() in the simulator


def run(source: str, grid: int, block: int, *args, seed=None):
    report = launch(compile(source, "f"), (grid,), (block,), args, seed=seed)
    assert report.ok, str(report)
    return report


READS = """extern "C" __global__ void f(long long* out, int* count)
{
    __shared__ float x[256];
    long long a = clock64(), b, ns;
    x[threadIdx.x] = threadIdx.x;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 64; ++i) sum += x[i] * x[(threadIdx.x ^ i) % 64];
    b = clock64();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    atomicAdd(count, 1);
    long long* to = out + (blockIdx.x * blockDim.x + threadIdx.x) * 3;
    to[0] = a; to[1] = b; to[2] = ns;
    if (sum < 0) to[0] = 0;
}"""


def test_clock_reads_cycles_of_the_model_and_the_launch_happens_once():
    out, count = np.zeros((4, 64, 3), np.int64), np.array([7], np.int32)
    run(READS, 4, 64, out, count)
    begin, end, ns = np.moveaxis(out, 2, 0)
    assert count[0] == 7 + 4 * 64
    assert (begin > 0).all() and (end - begin > 50).all() and (end - begin < 5000).all()
    assert np.abs(ns - end * 1000 / RATE.clock_mhz).max() < 50
    again = np.zeros_like(out)
    run(READS, 4, 64, again, count, seed=3)
    assert np.abs(again - out).max() < 500  # another order of the warps in the simulator changes little


def test_a_launch_of_the_same_sizes_has_the_same_clock(monkeypatch):
    """For whoever launches a kernel many times: the model is asked once."""
    source = """extern "C" __global__ void f(long long* out)
    {
        long long start = clock64();
        __syncthreads();
        out[threadIdx.x] = clock64() - start;
    }"""
    module = sys.modules[launch.__module__]
    asked, model, clocks = [], module.model_launch, {}
    monkeypatch.setattr(module, "model_launch", lambda *how: asked.append(how) or model(*how))
    kernel, took = compile(source, "f"), []
    for block in (64, 64, 32):
        out = np.zeros(64, np.int64)
        bound = bind(kernel, [out])
        module.launch_bound(kernel, (1, 1, 1), (block, 1, 1), bound, counted=False, clocks=clocks)
        took.append(out[:block].tolist())
    assert len(asked) == 2
    assert took[0] == took[1] and min(took[0]) > 0


def test_only_one_block_reads_the_clock():
    source = """__device__ int calls = 0;
    extern "C" __global__ void f(long long* out)
    {
        if (threadIdx.x == 0) atomicAdd(&calls, 1);
        if (blockIdx.x == 2) { out[threadIdx.x] = clock64(); __syncthreads(); out[32 + threadIdx.x] = clock64(); }
        __syncthreads();
        if (blockIdx.x == 2) out[64] = atomicAdd(&calls, 0) > 0;
        if (blockIdx.x == 1 && threadIdx.x == 0) printf("once");
    }"""
    out = np.zeros(65, np.int64)
    report = run(source, 3, 32, out)
    assert (out[:32] > 0).all() and (out[32:64] > out[:32]).all()
    assert report.output == "once"


def test_waiting_on_the_clock_ends():
    source = """extern "C" __global__ void f(long long* out)
    {
        long long start = clock64();
        while (clock64() - start < 20000) {}
        out[threadIdx.x] = clock64() - start;
    }"""
    out = np.zeros(64, np.int64)
    run(source, 1, 64, out)
    assert (out >= 20000).all()


def test_a_long_wait_on_the_clock_ends_soon():
    """Of ten milliseconds, as the samples of CUDA have it: nobody else is left to run, so the clock goes quicker."""
    source = """extern "C" __global__ void f(long long* out)
    {
        unsigned start = clock();
        while (clock() - start < 20000000) {}
        out[threadIdx.x] = clock() - start;
    }"""
    out = np.zeros(64, np.int64)
    report = run(source, 1, 64, out)
    assert report.ok and (out >= 20_000_000).all() and (out < 30_000_000).all()


def test_a_kernel_of_a_whole_program_reads_the_clock():
    """NVRTC cannot compile its source again, which has headers of the host."""
    source = 'extern "C" __global__ void f(long long* out) { if (!threadIdx.x) out[blockIdx.x] = clock64(); }'
    kernel = replace(compile(source, "f", OPTIONS), source="#include <cstdio>\n" + source)
    out = np.zeros(200, np.int64)
    assert launch(kernel, 200, 1024, (out,)).ok
    assert (out > 0).all()


COPY_END, WAIT_BEGIN, WAIT_END, BARRIER_END, MATH_END, EPILOGUE_BEGIN = 1, 2, 3, 5, 7, 8


def marked(p, point: int):
    """The kernel with marks at a point and behind the barrier."""
    options = *OPTIONS, *marks.options_of(point, (BARRIER_END,), way=0)
    return compile(marks.traced(p.source, p.kernel), p.kernel, options)


def test_a_program_without_a_clock_runs_once():
    p = gemm_fp32(2)
    assert not compile(p.source, p.kernel, OPTIONS).code.reads_clock
    assert marked(p, WAIT_END).code.reads_clock


@pytest.mark.parametrize("p", one_in(3, [gemm_fp16(3), gemm_fp16(1), gemm_fp32(2)]), ids=lambda p: p.name)
def test_a_traced_kernel_draws_a_sensible_timeline(p):
    tile_m, tile_n, tile_k = p.tile
    k_tiles, order = 8, "F" if p.dtype == "float32" else "C"
    random = np.random.RandomState(0)
    A, B = (
        np.asarray(random.randint(-3, 4, (2 * rows, k_tiles * tile_k)), p.dtype, order=order)
        for rows in (tile_m, tile_n)
    )
    sizes = (*map(np.int32, (2 * tile_m, 2 * tile_n, k_tiles * tile_k)),)
    times = {}
    for point in (COPY_END, WAIT_BEGIN, WAIT_END, MATH_END, EPILOGUE_BEGIN):
        C = np.zeros((2 * tile_m, 2 * tile_n), np.float32, order=order)
        rows = np.zeros((64, marks.BLOCKS + marks.OTHERS, marks.WARPS, 4), np.uint32)  # of up to 64 k-tiles
        extra = rows, np.uint32(0), np.uint32(1), np.uint32(0), np.int32(0)
        report = launch(marked(p, point), (2, 2), (p.threads,), (A, B, C, *sizes, *extra), p.shared_mem)
        assert report.ok, str(report)
        np.testing.assert_array_equal(C, A.astype(np.float64) @ B.astype(np.float64).T)
        assert not rows[:, 0, p.threads // 32 :].any()
        seen = Marks.of([np.moveaxis(rows[:k_tiles, :1, : p.threads // 32], 0, 2)])
        assert (np.diff(seen.reference[0], axis=1) > 0).all()
        times[point] = seen.point[0] - seen.reference[0]  # from the end of the barrier of the same k-tile
        if point == EPILOGUE_BEGIN:
            assert (seen.point[0, :, 0] > seen.reference[0, :, -1]).all()

    apart = 50  # cycles: the marks are of two launches
    assert (times[COPY_END] <= times[WAIT_BEGIN] + apart).all()
    assert (times[WAIT_BEGIN] <= times[WAIT_END] + apart).all() and (times[WAIT_END] <= 0).all()
    assert (times[MATH_END] > 0).all()
    waited = np.median((times[WAIT_END] - times[WAIT_BEGIN])[:, 4:])
    assert (waited > 200) == (p.stages == 1), waited

    phases = {s.phase for s in report.timeline}
    assert phases >= {"copy", "wait", "barrier", "math", "store"}
    assert {s.warp for s in report.timeline} == set(range(p.threads // 32))


def table() -> None:
    """The table of docs/clock.md: python -m tests.ptxsim.clock.test_clock."""
    for family, size, stages in itertools.product(FAMILIES, SIZES, (1, 2, 3, 4, 5)):
        one, name = f"{family}_s1", f"{family}_s{stages}"
        measured, model = MEASURED[name]["ms"][str(size)], modelled(name, size)
        speed_ups = MEASURED[one]["ms"][str(size)] / measured, modelled(one, size).ms / model.ms
        cycles = MEASURED[name]["k_tile_cycles"][str(size)], model.cycles_per_k_tile
        print(
            f"| {family} | {size}³ | {stages} | {measured:.4f} | {model.ms:.4f} | {speed_ups[0]:.2f} | "
            f"{speed_ups[1]:.2f} | {speed_ups[1] / speed_ups[0] - 1:+.0%} | {cycles[0]} | {cycles[1]:.0f} |"
        )


if __name__ == "__main__":
    table()


def test_a_few_instructions_slip_in_between_the_math_of_another_warp():
    """A producer warp on the sub-core of a computing one starts its copy long before that one is done."""
    math = [Work(1000.0, 1000.0, 0.0, 0.0)]
    copy = [Work(10.0, 0.0, 0.0, 0.0), Copy(16.0, 1.0), Wait(None)]
    played = play([math, [], [], [], copy], RATE)
    ends = {segment.warp: segment.end for segment in played.segments}
    assert ends[4] < RATE.block_start + 500 < ends[0]
