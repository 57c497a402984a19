"""Timelines: macros that vanish, events from a trace buffer, replay, and the picture."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from course_lib import OPTIONS, Launch, cp, kernel_source, lesson_kernel
from course_lib.check.gemm import Gemm
from course_lib.draw import style
from course_lib.measure import records, trace
from course_lib.measure.events import PHASES, Event, from_rows, to_rows
from course_lib.measure.timeline import Timeline, timeline, timeline_of
from course_lib.measure.timeline_chart import LOOKS
from course_lib.measure.trace import K_TILES, WARPS, events_of
from ptxsim.clock.played import Segment
from ptxsim.compiler import nvrtc
from tests.fake_gpu import FakeCupy, install

TRACED = r"""
#include <course/timeline.cuh>
extern "C" __global__ void tiled(const float* A, const float* B, float* C, int M, int N, int K TRACE_ARG)
{
    __shared__ float tile[16];
    float sum = 0;
    for (int k_tile = 0; k_tile < K / 16; ++k_tile) {
        TRACE_BEGIN(copy, k_tile);
        if (threadIdx.x < 16) tile[threadIdx.x] = A[k_tile * 16 + threadIdx.x];
        TRACE_END(copy, k_tile);
        TRACE_BEGIN(barrier, k_tile);
        __syncthreads();
        TRACE_END(barrier, k_tile);
        TRACE_BEGIN(math, k_tile);
        for (int k = 0; k < 16; ++k) sum += tile[k] * B[k];
        TRACE_END(math, k_tile);
        __syncthreads();
    }
    TRACE_BEGIN(epilogue, 0);
    C[threadIdx.x] = sum;
    TRACE_END(epilogue, 0);
}
"""
PLAIN = re.sub(r"(?m)^.*(TRACE_BEGIN|TRACE_END|#include).*\n", "", TRACED).replace(" TRACE_ARG", "")


def body(source, *options):
    """The kernel's PTX without the line numbers."""
    ptx = nvrtc.compile_ptx(source, options=(*OPTIONS, *options)).ptx
    text = "\n".join(line for line in ptx.splitlines() if not re.match(r"\s*(\.loc|//|$)", line))
    return text[text.index(".visible .entry") : text.rindex("ret;")]


def test_without_tracing_the_macros_leave_no_trace():
    assert "TRACE" not in PLAIN and "timeline" not in PLAIN
    assert body(TRACED) == body(PLAIN)


def test_with_tracing_the_clock_is_read_at_both_ends():
    assert body(TRACED, "-DCOURSE_TRACE").count("%clock64") >= 8
    assert "%clock64" not in body(TRACED)


def test_an_unknown_phase_does_not_compile_when_traced():
    with pytest.raises(nvrtc.CompileError, match="trace_sleep"):
        nvrtc.compile_ptx(TRACED.replace("(copy", "(sleep"), options=(*OPTIONS, "-DCOURSE_TRACE"))


def test_header_and_module_agree_on_the_buffer():
    header = records.course_headers(TRACED)["course/timeline.cuh"]
    enum = re.search(r"enum TracePhase \{ (.*?), trace_phases", header)[1]
    assert [name.strip() for name in enum.split(",")] == [f"trace_{phase}" for phase in PHASES]
    assert f"k_tile >= {K_TILES}" in header
    assert tuple(LOOKS) == PHASES
    assert f"[{WARPS} warps][{len(PHASES)} phases][{K_TILES} k-tiles][begin, end]" in header


def buffer_of(events):
    buffer = np.zeros((WARPS, len(PHASES), K_TILES, 2), dtype=np.int64)
    for warp, phase, k_tile, begin, end in events:
        buffer[warp, PHASES.index(phase), k_tile] = begin, end
    return buffer


def test_events_are_relative_ordered_and_lose_the_clock_read():
    buffer = buffer_of([(1, "math", 0, 1500, 1800), (0, "copy", 0, 1000, 1200), (0, "wait", 3, 1300, 1310)])
    assert events_of(buffer, read_cost=40) == [
        Event(0, "copy", 0, 0, 160),
        Event(0, "wait", 3, 300, 300),  # never shorter than nothing
        Event(1, "math", 0, 500, 760),
    ]
    assert events_of(np.zeros_like(buffer), 40) == []


def test_events_go_through_a_record_unchanged():
    events = events_of(buffer_of(a_loop()), 40)
    assert from_rows(json.loads(json.dumps(to_rows(events)))) == tuple(events)
    assert to_rows(events)[0] == [0, "copy", 0, 0, 460]


PHASES_IN_LOOP = ("copy", "barrier", "math", "epilogue")


def a_loop(warps=8, k_tiles=16):
    """Events as a main loop leaves them."""
    for warp in range(warps):
        for k_tile in range(k_tiles):
            start = 1000 + k_tile * 1600 + warp * 12
            yield warp, "copy", k_tile, start, start + 500
            yield warp, "barrier", k_tile, start + 500, start + 560
            yield warp, "math", k_tile, start + 560, start + 1500
        yield warp, "epilogue", 0, 1000 + k_tiles * 1600, 3000 + k_tiles * 1600


def a_timeline():
    events = tuple(events_of(buffer_of(a_loop()), 40))
    gpu = "NVIDIA H100 80GB HBM3"
    return Timeline(
        "tiled, 4096 x 4096 x 4096 float32", PHASES_IN_LOOP, "recorded", gpu, "2026-11-21", 40, events
    )


def test_figure_names_origin_phases_and_k_tiles():
    figure, alt = a_timeline().figure()
    axes = figure.axes[0]
    words = [text.get_text() for text in axes.texts]
    assert {"copy", "barrier", "math"} <= set(words)
    assert [word for word in words if word.isdigit()] == ["0", "1", "2", "3"]
    rows = ["warp 0", "warp 2", "warp 4", "warp 6", "k-tile of warp 6"]
    assert [label.get_text() for label in axes.get_yticklabels()] == rows
    assert "recorded on NVIDIA H100 80GB HBM3, 2026-11-21" in axes.get_title(loc="left")
    assert "recorded on NVIDIA H100 80GB HBM3, 2026-11-21" in alt and "math 900" in alt
    assert "epilogue" not in words  # it comes long after the drawn k-tiles
    assert len(style.png(figure)) < 60_000


def hidden_bars(figure) -> list[str]:
    """Words on a bar that reach over other bars."""
    axes, renderer = figure.axes[0], FigureCanvasAgg(figure).get_renderer()
    bars = [bar.get_window_extent() for bar in axes.patches]
    words = [
        (text.get_text(), text.get_window_extent(renderer)) for text in axes.texts if text.get_bbox_patch()
    ]
    return [word for word, box in words if sum(box.overlaps(bar) for bar in bars) > 1]


def test_a_word_on_a_bar_hides_no_other_bar():
    events = [Event(0, "copy", 0, 0, 9000)]
    for warp, math in ((4, 100), (8, 3000)):
        events += [Event(warp, "wait", 0, 4000, 4500), Event(warp, "math", 0, 4550, 4550 + math)]
    figure, _ = replace(a_timeline(), phases=("copy", "wait", "math"), events=tuple(events)).figure()
    assert hidden_bars(figure) == []
    record = json.loads((records.FOLDER / "nvidia-h100-80gb-hbm3.json").read_text(encoding="utf-8"))
    for entry in record["timelines"].values():
        figure, alt = timeline_of(record["provenance"] | entry, PHASES, "recorded").figure()
        assert hidden_bars(figure) == [], alt


def test_the_resources_of_a_model_are_rows():
    spans = {"tensor cores": [[0, 500], [1000, 9000]], "L2": [[0, 100]]}
    figure, alt = replace(a_timeline(), source="model", spans=spans).figure()
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()][-2:] == ["tensor cores", "L2"]
    last = max(event.end for event in a_timeline().events if event.k_tile < 4 and event.phase != "epilogue")
    share = (500 + min(9000, last) - 1000) / last
    assert f"At work for this block: tensor cores {share:.0%}, L2 {100 / last:.0%} of the time drawn." in alt


def test_few_events_can_be_drawn():
    events = (Event(5, "epilogue", 0, 0, 100),)
    _, alt = Timeline("odd", ("wait", "epilogue"), "measured", "some GPU", "2026-01-01", 0, events).figure()
    assert "epilogue 100" in alt and "measured now on some GPU" in alt


def kernel_of(source=TRACED, name="tiled"):
    return FakeCupy({}).RawKernel(source, name, OPTIONS)


def test_without_a_record_one_line_says_so(folder, capsys):
    shown = timeline(kernel_of(), Gemm(128, 128, 64))
    shown.plot()
    why = "no record of this kernel as it stands now: it needs a GPU to be measured"
    assert capsys.readouterr().out == f"{shown!r}: {why}.\n"
    assert repr(shown) == "Timeline(tiled, 128 x 128 x 64 float32: copy, barrier, math, epilogue)"


def test_a_kernel_without_macros_is_refused():
    with pytest.raises(ValueError, match="TRACE_ARG after the last parameter"):
        timeline(kernel_of(PLAIN), Gemm(128, 128, 64))


def test_measured_on_a_gpu_then_replayed_elsewhere(folder, monkeypatch):
    def write_clocks(kernel, args):
        if kernel.name == "empty_phases":
            args[-1][0, PHASES.index("math"), :] = (100, 140)
        elif kernel.name == "tiled" and "-DCOURSE_TRACE" in kernel.options:
            launched.append(kernel)
            assert not args[-1].any(), "the buffer is cleared before every launch"
            args[-1][:] = buffer_of(a_loop())

    gemm, launched = Gemm(128, 128, 256), []
    path = folder / "nvidia-h100-80gb-hbm3.json"
    with monkeypatch.context() as patch:
        fake = install(patch, FakeCupy({}, write_clocks))
        patch.setenv("COURSE_RECORD", str(path))
        measured = timeline(kernel_of(), gemm, Launch(shared_mem=60000))
    name, grid, block, shared_mem, options = fake.launched[-1]
    assert (name, grid, block, shared_mem) == ("tiled", (1, 1), (256,), 60000), "one traced block"
    assert options == (*OPTIONS, "-DCOURSE_TRACE")
    assert {kernel.max_dynamic_shared_size_bytes for kernel in launched} == {60000}
    assert measured.origin.startswith("measured now on NVIDIA H100 80GB HBM3, ")
    assert measured.read_cost == 40 and measured.cycles("math") == 900

    replayed = timeline(kernel_of(), gemm, Launch(shared_mem=60000))
    assert replayed.source == "recorded" and replayed.events == measured.events
    assert repr(replayed) == repr(measured)
    assert not timeline(kernel_of(), gemm).events, "another launch has no record"
    (entry,) = json.loads(path.read_text())["timelines"].values()
    assert entry["kernel"] == "tiled" and entry["source"] == records.source_key("tiled", TRACED)


def test_a_modelled_timeline_needs_no_record_and_says_what_it_is(monkeypatch):
    def on_the_gpu(self, on_host):
        raise AssertionError("the model runs on the host and needs nothing on the GPU")

    monkeypatch.setattr(Gemm, "here", on_the_gpu)
    kernel = cp.RawKernel(kernel_source("01_mainloop", "mainloop"), "mainloop", options=OPTIONS)
    modelled = timeline(kernel, Gemm(4096, 4096, 4096), Launch((128, 128, 32), 256), model=True)
    assert modelled.origin.startswith("model of an H100, not a measurement; times of the lessons")
    assert set(modelled.spans) == {"arithmetic", "shared memory", "L2"}
    copies = [event for event in modelled.events if event.warp == 0 and event.phase == "copy"]
    assert [event.k_tile for event in copies] == list(range(len(copies))) and len(copies) == 8
    assert {event.phase for event in modelled.events} >= {"copy", "barrier", "math"}


@pytest.mark.parametrize("name, hidden", [("cluster", False), ("complete", True)])
def test_a_model_of_persistent_blocks_shows_the_seam_of_two_tiles(name, hidden):
    """Two tiles of 8 k-tiles; the first one's stores, by threads or by the copy engine, and the math of the second."""
    kernel, launch = lesson_kernel("07_hopper", name)
    modelled = timeline(kernel, Gemm(8192, 8192, 512, "float16"), launch, model=True)
    for warp in (0, 4, 8):  # the producer and both consumers
        mine = [event for event in modelled.events if event.warp == warp]
        assert [event.k_tile for event in mine if event.phase == ("math" if warp else "copy")] == [*range(16)]
        assert [event.k_tile for event in mine if event.phase == "epilogue"] == ([7, 15] if warp else [])
    later = max(event.begin for event in modelled.events if event.phase == "math" and event.k_tile == 12)
    stores = [(begin, end) for begin, end in modelled.spans["stores"] if begin < later]
    behind = sum(
        max(min(end, math[1]) - max(begin, math[0]), 0)
        for begin, end in stores
        for math in modelled.spans["tensor cores"]
    )
    share = behind / sum(end - begin for begin, end in stores)
    assert share > 0.9 if hidden else share < 0.2, share


def test_a_phase_that_is_missing_in_a_k_tile_took_no_time_there():
    """A model leaves out a wait that waits for nothing; parts of a phase add up; the epilogue has no k-tile."""
    events = [
        (0, "wait", 0, 0, 90),
        (0, "math", 1, 90, 100),
        (0, "math", 1, 110, 120),
        (0, "math", 2, 130, 140),
    ]
    events += [(0, "math", 0, 100, 110), (0, "epilogue", 2, 150, 180), (1, "copy", 0, 0, 7)]
    shown = timeline_of(
        {"kernel": "k", "shape": [1], "dtype": "f", "gpu": "", "date": "", "read_cost": 0, "events": events},
        (),
        "model",
    )
    assert {phase: shown.cycles(phase) for phase in ("wait", "math", "epilogue", "copy")} == {
        "wait": 0, "math": 10, "epilogue": 30, "copy": 7,
    }  # fmt: skip


def test_what_comes_between_stores_of_results_is_epilogue():
    parts = [("math", 0, 10), ("store", 10, 12), ("math", 12, 14), ("store", 14, 20)]
    segments = [Segment(0, phase, begin, end) for phase, begin, end in parts]
    assert trace._phases(segments) == [Event(0, "math", 0, 0, 10), Event(0, "epilogue", 0, 10, 20)]
