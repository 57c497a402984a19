"""Timelines: macros that vanish, marks on a GPU that is not there, replay, models, and the picture."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from course_lib import OPTIONS, Launch, cp, kernel_source, lesson_kernel, simulate
from course_lib.check.gemm import Gemm
from course_lib.measure import records
from course_lib.notebooks.figures import lesson_02, lesson_04, lesson_05
from course_lib.timelines import marks, modelled, timeline_chart
from course_lib.timelines.events import PHASES, Event, Shown, from_rows, to_rows, together
from course_lib.timelines.marks import NONE, cluster_of, options_of, points_of, traced
from course_lib.timelines.timeline import Timeline, timeline, timeline_of
from course_lib.timelines.timeline_chart import LOOKS
from cupy_or_sim import keys, style
from ptxsim import BlockCycles, Issue, SassInstruction
from ptxsim.compiler import nvrtc
from tests.course_lib.timelines.test_assembled import K_TILES, TURN, times
from tests.fake_gpu import FakeCupy, install
from tests.sample import sample

TRACED = r"""
#include <course/timeline.cuh>
extern "C" __global__ void tiled(const float* A, const float* B, float* C, int M, int N, int K TRACE_ARG)
{
    __shared__ float tile[16];
    float sum = 0;
    #pragma unroll 1
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


# ------------------------------------------------------------------------------------------------- macros

COPY_BEGIN, BARRIER_END, MATH_END = 0, 5, 7


def test_without_tracing_the_macros_leave_no_trace():
    assert "TRACE" not in PLAIN and "timeline" not in PLAIN
    assert body(TRACED) == body(PLAIN)


@pytest.mark.parametrize("way", marks.WAYS)
def test_a_traced_kernel_reads_the_clock_at_its_point_and_at_the_reference(way):
    one = body(traced(TRACED, "tiled"), *options_of(NONE, (BARRIER_END,), 0))
    both = body(traced(TRACED, "tiled"), *options_of(COPY_BEGIN, (BARRIER_END,), way))
    assert one.count("%clock") == 1 and both.count("%clock") == 2
    singly = both.count("st.global.v2.u32" if way & 8 else "st.global.u32")
    assert singly + 2 * both.count("st.global.v4.u32") == both.count("%clock")


def test_an_unknown_phase_does_not_compile_when_traced():
    with pytest.raises(nvrtc.CompileError, match="trace_sleep"):
        source = traced(TRACED.replace("(copy", "(sleep"), "tiled")
        nvrtc.compile_ptx(source, options=(*OPTIONS, *options_of(0, (5,), 0)))


def test_header_and_module_agree():
    header = keys.course_headers(TRACED)["course/timeline.cuh"]
    numbers = re.search(r"enum \{ (.*?) \};", header)[1].split(", ")
    assert numbers == [f"trace_{phase} = {2 * at}" for at, phase in enumerate(PHASES)]
    assert (
        f"[k-tile][{marks.BLOCKS} blocks, then {marks.OTHERS} rows of all others][{marks.WARPS} warps]"
        in header
    )
    assert f"k_tile * ({marks.BLOCKS + marks.OTHERS} * {marks.WARPS} * 16)" in header
    assert tuple(LOOKS) == PHASES


@pytest.mark.parametrize("way", marks.WAYS)
def test_marks_of_a_kernel_in_the_simulator(way):
    """Its clock is the model's: the end of the math comes behind the barrier of its k-tile, before that of the next."""
    kernel = cp.RawKernel(
        traced(TRACED, "tiled"), "tiled", options=(*OPTIONS, *options_of(MATH_END, (BARRIER_END,), way))
    )
    A, B, C = np.ones((64, 1), np.float32), np.ones((64, 1), np.float32), np.zeros(64, np.float32)
    rows = np.zeros((4, marks.BLOCKS + marks.OTHERS, marks.WARPS, 4), np.uint32)
    sizes = np.int32(1), np.int32(1), np.int32(64)
    extra = rows, np.uint32(0), np.uint32(1), np.uint32(0), np.int32(0)
    assert simulate(kernel, (1,), (64,), (A, B, C, *sizes, *extra)).ok
    assert not rows[:, 0, 2:].any() and not rows[:, 1:].any(), "one block of two warps"
    found = marks.Marks.of([np.moveaxis(rows[:, :1, :2], 0, 2)])
    assert not np.isnan(found.reference).any()
    seen = ~np.isnan(found.point[0])
    assert seen.sum(axis=1).tolist() == [3 + (way % 2 == 0)] * 2, "the last one waits for a reference in vain"
    for warp, k_tile in np.argwhere(seen):
        reference = found.reference[0, warp]
        assert reference[k_tile] < found.point[0, warp, k_tile]
        assert k_tile == 3 or found.point[0, warp, k_tile] < reference[k_tile + 1]


def test_points_and_clusters_are_read_in_the_source():
    names = [marks.name_of(point) for point in points_of(TRACED)]
    assert names[:3] == ["copy.begin", "copy.end", "barrier.begin"] and len(names) == 8
    assert cluster_of(TRACED) == 1 and cluster_of("void __cluster_dims__(4, 1, 1) f(") == 4
    assert cluster_of("constexpr int PAIR = 2; void __cluster_dims__(PAIR, 1, 1) f(") == 2


# ------------------------------------------------------------------------------------------------- on a GPU

LOOP = Launch(tile=(64, 64, 16), threads=96, shared_mem=60000)


def kernel_of(source=TRACED, name="tiled"):
    return FakeCupy({}).RawKernel(source, name, OPTIONS)


class Marking:
    """A GPU whose blocks pass their points as the made-up block of test_assembled.py. `slow`: {(point, way): how much
    longer a launch with this mark takes}; `moved`: {(point, reference): by how many cycles it comes too late};
    `noting`: how much longer one takes whose blocks note their begin and end."""

    def __init__(self, slow, moved=None, noting=0.0):
        self.slow, self.moved, self.noting, self.tried = slow, moved or {}, noting, []
        self.fake = FakeCupy({"tiled": 100.0}, self.launched)

    def launched(self, kernel, args):
        said = dict(re.findall(r"-D(TRACE_\w+)=(-?\d+)", " ".join(kernel.options)))
        if "Wave wave" in kernel.code:
            K = int(args[5])
            self.fake.run("tiled", 100.0 * self.noting)
            turn = TURN * (1 + self.noting) * (2 if K > 1024 else 1)  # beyond the L2
            args[-1][:] = 1000, 1000 + 500 * (K // 16), 0, (K // 16) * turn + 700, 3
        elif said:
            point, bits, way = (int(said[f"TRACE_{name}"]) for name in ("POINT", "REFERENCES", "WAY"))
            self.tried.append((point, way))
            self.fake.run("tiled", 100.0 * self.slow.get((point, way), 0.0))
            self.write(args[-5], point, [end for end in range(10) if bits >> end & 1])

    def write(self, rows, point, references):
        names = {0: "copy begin", 1: "copy end", 4: "wait begin", 5: "reference", 6: "math begin", 7: "math end",
                 8: "epilogue begin", 9: "epilogue end"}  # fmt: skip
        for warp in range(3):
            for k in range(K_TILES):
                rows[k, :32, warp, 2] = 10_000 + times(names[references[0]], warp, k)
                if point != NONE and (point < 8 or k == 0):
                    moved = self.moved.get((point, references[0]), 0)
                    rows[k, :32, warp, 0] = 10_000 + times(names[point], warp, k) + moved


def measured(monkeypatch, slow=None, moved=None, noting=0.0):
    marking = Marking(slow or {}, moved, noting)
    kernel = marking.fake.RawKernel(TRACED, "tiled", OPTIONS)
    with monkeypatch.context() as patch:
        install(patch, marking.fake)
        return marking, timeline(kernel, Gemm(128, 128, 1024), LOOP)


@pytest.mark.parametrize("noting", [0.0, 0.07])
def test_the_turn_by_speed_is_that_of_the_kernel_without_marks(folder, monkeypatch, noting):
    """Not of a longer K, nor of the launches that note the begin and the end of blocks."""
    _, seen = measured(monkeypatch, noting=noting)
    assert seen.about["turn"] == pytest.approx(TURN, abs=1)
    assert seen.about["noting"] == pytest.approx(noting, abs=0.005)


def test_measured_on_a_gpu_then_replayed_elsewhere(folder, monkeypatch):
    path = folder / "nvidia-h100-80gb-hbm3.json"
    with monkeypatch.context() as patch:
        patch.setenv("COURSE_RECORD", str(path))
        patch.setattr("course_lib.timelines.stalls.sampled", lambda *_: {"wait": 0.3})
        _, seen = measured(patch)
    assert seen.origin.startswith("measured now on NVIDIA H100 80GB HBM3, ")
    assert set(seen.parts) == {"start", "steady", "end"}
    assert seen.turn == TURN and seen.about["turn"] == TURN
    assert seen.cycles("math") == TURN - 300 - 50 and seen.cycles("epilogue") == 700
    assert seen.unmarked == 50, "20 from the barrier to the math, 30 behind it; a copy runs during the math"
    assert seen.share("barrier") == pytest.approx(0.3, abs=0.01) and seen.share("wait") is None
    assert (
        seen.about["left_out"] == []
        and "a turn: 1,000 cycles here, 1,000 by the kernel's speed" in seen.small_print
    )

    replayed = timeline(kernel_of(), Gemm(128, 128, 1024), LOOP)
    assert replayed.source == "recorded" and replayed.parts == seen.parts
    assert repr(replayed) == repr(seen) and replayed.small_print == seen.small_print
    assert not timeline(kernel_of(), Gemm(128, 128, 1024)).parts, "another launch has no record"
    (entry,) = json.loads(path.read_text())["timelines"].values()
    assert entry["kernel"] == "tiled" and entry["source"] == keys.source_key("tiled", TRACED)
    assert entry["ncu"] == {"wait": 0.3}


def test_the_way_that_disturbs_least_is_taken(monkeypatch):
    slow = {(COPY_BEGIN, way): 0.05 for way in marks.WAYS} | {(COPY_BEGIN, 4): 0.02, (MATH_END, 0): 0.2}
    marking, seen = measured(monkeypatch, slow)
    assert seen.about["disturbance"]["copy.begin"] == [4, pytest.approx(0.02, abs=0.002)]
    assert seen.about["disturbance"]["math.end"] == [1, pytest.approx(0, abs=0.002)]
    assert {way for point, way in marking.tried if point == MATH_END} == {0, 1}, (
        "the second one was good enough"
    )


def test_other_references_are_taken_where_phases_of_a_warp_overlap(monkeypatch):
    """A mark that moves what stands behind it, in a time in which nothing else is to be done: no launch is longer."""
    _, straight = measured(monkeypatch)
    (first,) = straight.about["references"]
    _, seen = measured(monkeypatch, moved={(MATH_END, points_by_name()[first]): 200})
    assert seen.about["references"] != [first]
    assert seen.cycles("math") == straight.cycles("math")
    _, all_moved = measured(monkeypatch, moved={(MATH_END, end): 200 for end in range(10)})
    assert all_moved.about["references"] == ["math.end"], "the one from which nothing is moved"


def points_by_name():
    return {marks.name_of(point): point for point in range(10)}


def test_what_disturbs_is_pale_and_what_disturbs_more_is_left_out(monkeypatch):
    slow = {(COPY_BEGIN, way): 0.05 for way in marks.WAYS} | {(MATH_END, way): -0.2 for way in marks.WAYS}
    _, seen = measured(monkeypatch, slow)
    assert seen.about["left_out"] == ["math.end"] and seen.share("math") is None
    assert seen.percent("math") == "not measured"
    copies = [event for event in seen.parts["steady"].events if event.phase == "copy"]
    assert all(event.begin_spread == 0.05 * TURN for event in copies)
    assert seen.small_print.endswith(
        "; pale for what they disturb: copy begin; left out, since they disturb more: math end"
    )


# ------------------------------------------------------------------------------------------------- pictures


def a_part(warps=8, k_tiles=4, spread=0):
    """Events as a main loop leaves them."""
    events = []
    for warp in range(warps):
        for k_tile in range(k_tiles):
            start = k_tile * 1600 + warp * 12
            events.append(Event(warp, "copy", 60 + k_tile, start, start + 460, spread, spread))
            events.append(Event(warp, "barrier", 60 + k_tile, start + 500, start + 520))
            events.append(Event(warp, "math", 60 + k_tile, start + 560, start + 1460))
    return Shown(tuple(events), k_tiles * 1600)


def a_timeline(**changes):
    about = {
        "turn": 1590,
        "turn_drawn": 1600,
        "disturbance": {"math.end": [0, 0.01]},
        "left_out": [],
        "shares": {},
    }
    gpu = "NVIDIA H100 80GB HBM3"
    end = Shown((*a_part().events, Event(0, "epilogue", 0, 6500, 8500)), 8500)
    parts = {"start": a_part(), "steady": a_part(), "end": end}
    made = Timeline(
        "tiled, 4096 x 4096 x 4096 float32", ("copy", "barrier", "math", "epilogue"), "recorded", gpu, "2026-11-21",
        parts, about,
    )  # fmt: skip
    return replace(made, **changes)


def an_entry(*left_out):
    about = a_timeline().about | {"left_out": [*left_out], "disturbance": {"barrier.end": [0, 0.01]}}
    part = {"rows": to_rows(a_part().events), "length": a_part().length}
    parts = {"steady": part, "end": part}
    return about | {
        "kernel": "tiled",
        "shape": [64, 64, 64],
        "dtype": "float32",
        "gpu": "a GPU",
        "date": "",
        "parts": parts,
    }


def test_phases_without_marks_between_them_are_one_stretch_of_no_phase():
    phases = ("copy", "barrier", "math")
    seen = timeline_of(an_entry("barrier.begin", "math.end"), phases, "recorded")
    assert seen.phases == ("copy", "barrier + math")
    assert {event.phase for event in seen.parts["steady"].events} == {*seen.phases}
    assert seen.cycles("math") == seen.cycles("barrier") == 0, "of these nobody knows"
    figure, alt = seen.figure()
    words = [text.get_text() for text in figure.axes[0].texts]
    assert {"copy", "barrier + math", "60", "63"} <= set(words) and not {"barrier", "math"} & set(words)
    assert "barrier + math 920" in alt
    assert lesson_04.nobody_multiplies(seen)[1] == alt, "who multiplies is not known"
    assert lesson_02.turn(seen)[1].endswith("no math")
    assert lesson_05.flights([("tiled", seen.cycles("math"), 700)])[1] == "no math was measured of tiled"

    whole = timeline_of(an_entry("math.end"), phases, "recorded")
    assert whole.phases == phases and whole.cycles("math") == 900, "its neighbour says where it ends"


def test_a_stretch_without_marks_counts_its_turn_by_the_math_in_it():
    events = [
        Event(0, "wait", 7, 0, 10),
        Event(0, "copy", 9, 10, 40),
        Event(0, "math", 7, 40, 90),
        Event(0, "wait", 8, 90, 95),
        Event(0, "copy", 10, 95, 180),
        Event(1, "math", 7, 50, 99),
    ]
    made = together(events, ("copy", "math"))
    stretches = [(e.warp, e.k_tile, e.begin, e.end) for e in made if e.phase == "copy + math"]
    assert stretches == [(0, 7, 10, 90), (1, 7, 50, 99), (0, 8, 95, 180)]
    assert [e.k_tile for e in made if e.phase == "wait"] == [7, 8]


def test_figure_names_origin_phases_and_k_tiles():
    figure, alt = a_timeline().figure()
    axes = figure.axes[0]
    words = [text.get_text() for text in axes.texts]
    assert {"copy", "barrier", "math"} <= set(words)
    assert [word for word in words if word.isdigit()] == ["60", "61", "62", "63"]
    rows = ["warp 0", "warp 2", "warp 4", "warp 6", "math, k-tile"]
    assert [label.get_text() for label in axes.get_yticklabels()] == rows
    assert "recorded on NVIDIA H100 80GB HBM3, 2026-11-21" in axes.get_title(loc="left")
    assert "recorded on NVIDIA H100 80GB HBM3, 2026-11-21" in alt and "math 900" in alt
    assert "1,600 cycles here, 1,590 by the kernel's speed" in axes.get_xlabel().replace("\n", " ")
    assert "epilogue" not in words
    assert len(style.png(figure)) < 60_000


def test_each_part_can_be_drawn_and_another_one_is_refused(capsys):
    figure, alt = a_timeline().figure("end")
    assert "epilogue" in [text.get_text() for text in figure.axes[0].texts] and "epilogue 2,000" in alt
    a_timeline().plot("seam")
    assert "has no seam: its blocks work on one tile each" in capsys.readouterr().out
    with pytest.raises(
        ValueError, match="part='middle'; a timeline has the parts 'start', 'steady', 'end', 'seam'"
    ):
        a_timeline().plot("middle")


def test_soft_edges_are_pale():
    def pale(figure):
        return [bar for bar in figure.axes[0].patches if bar.get_alpha()]

    sharp, soft = (a_timeline(parts={"steady": a_part(spread=spread)}).figure()[0] for spread in (0, 50))
    assert not pale(sharp) and len(pale(soft)) == 2 * 16, "of 4 warps and 4 k-tiles"
    assert {round(bar.get_width()) for bar in pale(soft)} == {50}


def test_timelines_are_compared_on_one_scale():
    part = a_part()
    short = a_timeline(title="short", parts={"steady": replace(part, length=4000)})
    figure, alt = timeline_chart.comparison((a_timeline(), short), "steady")
    first, second = figure.axes
    assert first.get_xlim() == second.get_xlim() == (0, pytest.approx(1.01 * 6400))
    assert "a turn: 1,600 cycles" in first.get_title(loc="left") and "short: a turn" in alt
    assert [line.get_xdata()[0] for line in second.lines] == [4000]


def test_timelines_of_one_kernel_are_told_apart_by_their_names(monkeypatch):
    shown = []
    monkeypatch.setattr(style, "show", lambda *what: shown.append(what))
    timeline.compare(a_timeline(), a_timeline(), names=("two slots", "three slots"))
    (figure, alt), title = shown[0], a_timeline().title
    assert [axes.get_title(loc="left").startswith(f"{name}: {title}, a turn")
            for axes, name in zip(figure.axes, ("two slots", "three slots"))] == [True, True]  # fmt: skip
    assert f"two slots: {title}: a turn" in alt and f"three slots: {title}: a turn" in alt
    with pytest.raises(ValueError, match="1 names for 2 timelines; give one for each, or none"):
        timeline.compare(a_timeline(), a_timeline(), names=("two slots",))


def test_a_comparison_draws_nothing_of_what_took_no_time():
    """Its edges may be far apart in other blocks."""
    events = (Event(0, "math", 0, 0, 300), Event(0, "wait", 1, 320, 320, 150, 130))
    timelines = [a_timeline(parts={"steady": Shown(events, 400)})] * 2
    figure, _ = timeline_chart.comparison(timelines, "steady")
    assert [round(bar.get_width()) for axes in figure.axes for bar in axes.patches] == [300, 300]


def test_the_k_tiles_of_warps_that_only_copy_are_named_too():
    events = [Event(warp, "math", k, 100 * k, 100 * k + 90) for warp in (0, 1) for k in range(4)]
    events += [Event(8, "copy", k + 1, 100 * k + 5, 100 * k + 60) for k in range(4)]
    parts = {"steady": Shown(tuple(events), 400)}
    axes = a_timeline(phases=("copy", "math"), parts=parts).figure()[0].axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()][-2:] == ["math, k-tile", "copy, k-tile"]
    numbers = [text.get_text() for text in axes.texts if text.get_text().isdigit()]
    assert numbers == ["0", "1", "2", "3", "1", "2", "3", "4"]


def hidden_bars(figure) -> list[str]:
    """Words on a bar that reach over other bars."""
    axes, renderer = figure.axes[0], FigureCanvasAgg(figure).get_renderer()
    bars = [bar.get_window_extent() for bar in axes.patches if not bar.get_alpha()]
    words = [
        (text.get_text(), text.get_window_extent(renderer)) for text in axes.texts if text.get_bbox_patch()
    ]
    return [word for word, box in words if sum(box.overlaps(bar) for bar in bars) > 1]


def test_parts_on_one_axis_with_a_cut_between_them():
    """Events end where their part does, and each part counts from its own begin."""
    timeline = a_timeline()
    figure, alt = timeline.figure("start", "end")
    (axes,) = figure.axes
    assert "A block from its first event on, then up to its last event." in alt and "epilogue 2,000" in alt
    words = [text.get_text() for text in axes.texts]
    assert words.count("//") == words.count("k-tiles left out") == 1
    start, end = (timeline.parts[part].length for part in ("start", "end"))
    cut = round(0.06 * (start + end))
    bars = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches if bar.get_width() < start]
    drawn = [bar for bar in bars if bar != (start, start + cut)]
    assert all(right <= start or left >= start + cut for left, right in drawn)
    assert max(right for _, right in drawn) == start + cut + end
    assert [label.get_text() for label in axes.get_xticklabels()].count("0") == 2
    assert {tick for tick in axes.get_xticks() if tick > start} >= {start + cut}


def test_a_word_on_a_bar_hides_no_other_bar():
    events = [Event(0, "copy", 0, 0, 9000)]
    for warp, math in ((4, 100), (8, 3000)):
        events += [Event(warp, "wait", 0, 4000, 4500), Event(warp, "math", 0, 4550, 4550 + math)]
    parts = {"steady": Shown(tuple(events), 9000)}
    figure, _ = a_timeline(phases=("copy", "wait", "math"), parts=parts).figure()
    assert hidden_bars(figure) == []
    for path in records.files():
        record = json.loads(path.read_text(encoding="utf-8"))
        drawn = [entry for entry in record["timelines"].values() if entry["shape"] == [4096, 4096, 4096]]
        # those of the lessons
        for entry in sample(drawn, lambda entry: (*entry["parts"], *entry["left_out"])):
            shown = timeline_of(record["provenance"] | entry, PHASES, "recorded")
            for part in shown.parts:
                figure, alt = shown.figure(part)
                assert hidden_bars(figure) == [], (part, alt)


def test_a_phase_too_short_for_its_name_has_it_above_its_longest_bar():
    events = [Event(0, "copy", 0, 0, 9000), Event(4, "barrier", 0, 100, 200), Event(4, "math", 0, 300, 4000)]
    events += [Event(4, "barrier", 1, 4000, 4300), Event(4, "values", 1, 4300, 4310)]
    parts = {"steady": Shown(tuple(events), 9000)}
    axes = a_timeline(phases=("copy", "barrier", "math", "values"), parts=parts).figure()[0].axes[0]
    (name,) = [text for text in axes.texts if text.get_text() == "barrier"]
    assert name.get_position() == (4150, 0.5), "between the rows of warps 0 and 4"
    assert "values" not in [text.get_text() for text in axes.texts], "a bar that nobody sees"


def test_the_resources_of_a_model_are_rows():
    spans = {"tensor cores": [[0, 500], [1000, 3000]], "L2": [[0, 100]]}
    figure, alt = a_timeline(
        source="model", about={}, parts={"steady": replace(a_part(), spans=spans)}
    ).figure()
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()][-2:] == ["tensor cores", "L2"]
    assert (
        f"Serving this block, of the time drawn: tensor cores {2500 / 6400:.0%}, L2 {100 / 6400:.0%}." in alt
    )


def test_few_events_can_be_drawn():
    parts = {"steady": Shown((), 0), "end": Shown((Event(5, "epilogue", 0, 0, 100),), 100)}
    odd = Timeline("odd", ("wait", "epilogue"), "measured", "some GPU", "2026-01-01", parts)
    _, alt = odd.figure("end")
    assert "epilogue 100" in alt and "measured now on some GPU" in alt


def test_events_go_through_a_record_unchanged():
    events = a_part(spread=7).events
    assert from_rows(json.loads(json.dumps(to_rows(events)))) == events
    assert to_rows(events)[0] == [0, "copy", 60, 0, 460, 7, 7]


def test_without_a_record_one_line_says_so(folder, capsys):
    shown = timeline(kernel_of(), Gemm(128, 128, 64))
    shown.plot()
    why = "no record of this kernel as it stands now: it needs a GPU to be measured"
    assert capsys.readouterr().out == f"{shown!r}: {why}.\n"
    assert repr(shown) == "Timeline(tiled, 128 x 128 x 64 float32: copy, barrier, math, epilogue)"


def test_a_kernel_without_macros_is_refused():
    with pytest.raises(ValueError, match="TRACE_ARG after the last parameter"):
        timeline(kernel_of(PLAIN), Gemm(128, 128, 64))


# ------------------------------------------------------------------------------------------------- models


def test_a_modelled_timeline_needs_no_record_and_says_what_it_is(monkeypatch):
    def on_the_gpu(self, on_host):
        raise AssertionError("the model runs on the host and needs nothing on the GPU")

    monkeypatch.setattr(Gemm, "here", on_the_gpu)
    kernel = cp.RawKernel(kernel_source("01_mainloop", "mainloop"), "mainloop", options=OPTIONS)
    seen = timeline(kernel, Gemm(4096, 4096, 4096), Launch((128, 128, 32), 256), model=True)
    assert seen.origin.startswith("model of an H100, not a measurement; times of the lessons")
    assert set(seen.parts) == {"start", "steady", "end"}
    assert seen.small_print.startswith("the oldest of the SM's 2 blocks, which goes first; a turn: ")
    assert seen.about["turn_drawn"] < seen.turn < 12_000
    start = seen.parts["start"]
    assert set(start.spans) == {"arithmetic", "shared memory", "L2"}
    copies = [event.k_tile for event in start.events if event.warp == 0 and event.phase == "copy"]
    assert copies[:4] == [0, 1, 2, 3] and {event.phase for event in start.events} >= {
        "copy",
        "barrier",
        "math",
    }
    assert all(0 <= begin <= end <= part.length for part in seen.parts.values()
               for used in part.spans.values() for begin, end in used)  # fmt: skip


@pytest.mark.parametrize("name, hidden", [("cluster", False), ("complete", True)])
def test_a_model_of_persistent_blocks_shows_the_seam_of_two_tiles(name, hidden):
    """Two tiles of 8 k-tiles; the first one's stores, by threads or by the copy engine, and the math of the second."""
    kernel, launch = lesson_kernel("08_never_a_pause", name)
    seam = timeline(kernel, Gemm(8192, 8192, 512, "float16"), launch, model=True).parts["seam"]
    for warp in (4, 8):  # the consumers
        mine = [event for event in seam.events if event.warp == warp]
        assert {6, 7, 8} <= {event.k_tile for event in mine if event.phase == "math"}
        assert [event.k_tile for event in mine if event.phase == "epilogue"] == [7]
    stores = seam.spans["stores"]
    assert stores and seam.spans["tensor cores"]
    behind = sum(
        max(min(end, math[1]) - max(begin, math[0]), 0)
        for begin, end in stores
        for math in seam.spans["tensor cores"]
    )
    share = behind / sum(end - begin for begin, end in stores)
    assert share > 0.35 if hidden else share < 0.3, share


def test_a_phase_that_is_missing_in_a_k_tile_took_no_time_there():
    """A model leaves out a wait that waits for nothing; parts of a phase add up; the epilogue has no k-tile."""
    events = [
        (0, "wait", 0, 0, 90),
        (0, "math", 1, 90, 100),
        (0, "math", 1, 110, 120),
        (0, "math", 2, 130, 140),
    ]
    events += [(0, "math", 0, 100, 110), (0, "epilogue", 2, 150, 180), (1, "copy", 0, 0, 7)]
    parts = {"steady": {"rows": events, "length": 180}}
    entry = {"kernel": "k", "shape": [1], "dtype": "f", "gpu": "", "date": "", "parts": parts}
    shown = timeline_of(entry, (), "model")
    assert {phase: shown.cycles(phase) for phase in ("wait", "math", "epilogue", "copy")} == {
        "wait": 0, "math": 10, "epilogue": 30, "copy": 7,
    }  # fmt: skip


MARKED = """
    TRACE_BEGIN(wait, k); wait_all(); TRACE_END(wait, k);
    TRACE_BEGIN(copy, k);
    copy();
    TRACE_END(copy, k);
    TRACE_BEGIN(math, k);
    multiply();
    TRACE_END(math, k);
    __syncthreads();
"""


def events_of(*issues: tuple[str, int, int]) -> list[tuple[str, int, int]]:
    """The events of a warp that does this, in `use`, at a line of MARKED, until a time."""
    lines = sorted({line for _, line, _ in issues})
    instructions = tuple(SassInstruction(line, "", "", line, None, None) for line in lines)
    begins = [0, *(end for *_, end in issues)]
    warp = tuple(Issue(begin, end, line, use, 3) for begin, (use, line, end) in zip(begins, issues))
    block = BlockCycles(None, 1, 0.0, 0.0, (warp,), {}, instructions)
    return [(event.phase, event.begin, event.end) for event in modelled._events(block, MARKED)]


def test_phases_are_those_between_the_marks():
    assert events_of(("", 1, 5), ("wait", 2, 40), ("", 4, 45), ("copy", 4, 50), ("shared", 4, 60)) == [
        ("wait", 5, 40), ("copy", 40, 60),
    ]  # fmt: skip
    math = (
        ("shared", 7, 10),
        ("math", 4, 20),
        ("", 9, 21),
        ("math", 7, 30),
        ("barrier", 9, 50),
        ("math", 7, 60),
    )
    assert events_of(("copy", 4, 5), *math) == [("copy", 0, 5), ("math", 5, 30), ("math", 50, 60)], (
        "a barrier that is not marked; the lines of math say little"
    )
    assert events_of(("math", 7, 9), ("store", 9, 20)) == [("math", 0, 9)], "an epilogue that is not marked"


@pytest.mark.parametrize("missing", [1, 4, 8])
def test_a_k_tile_whose_math_left_no_mark_breaks_no_part(missing):
    events = [Event(0, "math", k, 100 * k, 100 * k + 60) for k in range(11) if k != missing]
    parts = modelled._times_of_parts(events)
    assert parts["start"][0] <= parts["steady"][0] <= parts["end"][0]
    assert parts["end"][0] == 100 * (8 - (missing == 8))
