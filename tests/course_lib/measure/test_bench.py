"""Benchmarks: keys of records, timing, record and replay, tables and pictures."""

import json
from dataclasses import fields, replace
from unittest.mock import Mock

import numpy as np
import pytest

from course_lib import OPTIONS, Launch, kernel_source
from course_lib.check.gemm import Gemm
from course_lib.check.job import Job
from course_lib.measure import bench, charts, records
from course_lib.measure.bench import benchmark, so_far
from course_lib.measure.results import Results
from course_lib.measure.roofline_chart import spread
from course_lib.measure.rows import HEADER, Row
from cupy_or_sim import cupy_on_numpy, keys, style, timing
from ptxsim import NvrtcMissing
from ptxsim.clock import measured as rates
from ptxsim.compiler import NvdisasmMissing
from ptxsim.gpus import file_name
from tests.fake_gpu import RTX_3090, FakeCupy, install

SOURCE = r"""
#include <course/timeline.cuh>
#define STEP 4
extern "C" __global__ void tiled(const float* A, const float* B, float* C, int M, int N, int K)
{
    int row = threadIdx.x;  // one row per thread
    if (row < M && K > STEP) C[row] = A[row] * 1e-3f;
    printf("a  b");
}
"""
GEMM = Gemm(128, 128, 64)


def kernel_of(source=SOURCE, name="tiled", options=OPTIONS):
    return FakeCupy({}).RawKernel(source, name, options)


def key_of(source=SOURCE, name="tiled", options=OPTIONS, gemm=GEMM, **changes):
    return records.kernel_key(Job(kernel_of(source, name, options), gemm, Launch(**changes)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("// one row per thread", ""),
        ("// one row per thread", "/* a line\n   for each thread */"),
        ("    int row", "int\trow"),
        ("row < M && K", "row<M&&K"),
        ("{\n", "\n{"),
        ("#define STEP 4", "# define  STEP \\\n 4"),
    ],
)
def test_comments_and_white_space_leave_the_key(old, new):
    assert old in SOURCE and key_of(SOURCE.replace(old, new)) == key_of()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("A[row]", "A[M]"),
        ("STEP 4", "STEP 8"),
        ("1e-3f", "1e-4f"),
        ("#define STEP 4\n", "#define STEP 4 "),
        ('"a  b"', '"a b"'),
        ("&&", "& &"),
        ("int row", "introw"),
    ],
)
def test_an_edit_changes_the_key(old, new):
    assert old in SOURCE and key_of(SOURCE.replace(old, new)) != key_of()


def test_options_count_but_not_paths():
    assert key_of(options=("--std=c++17", "-I/elsewhere/include")) == key_of()
    assert key_of(options=("-I", "/elsewhere", "--std=c++17", "--include-path=/usr")) == key_of()
    assert key_of(options=("--std=c++17", "-DCOURSE_HEADERS=0")) == key_of()  # see device.OPTIONS
    assert key_of(options=(*OPTIONS, "-DSTEP=8")) != key_of()


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"gemm": Gemm(128, 128, 128)},
        {"gemm": Gemm(128, 128, 64, "float16")},
        {"gemm": Gemm(128, 128, 64, zeros=True)},
        {"tile": (32, 64, 16)},
        {"threads": 128},
        {"shared_mem": 1024},
    ],
)
def test_problem_and_launch_are_in_the_key(change):
    assert key_of(**change) != key_of()


def test_an_edited_course_header_changes_the_key(tmp_path, monkeypatch):
    headers = tmp_path / "include" / "course"
    headers.mkdir(parents=True)
    (headers / "timeline.cuh").write_text('#include "course/inner.cuh"\n')
    (headers / "inner.cuh").write_text("int inner;")
    monkeypatch.setattr(keys, "INCLUDE", tmp_path / "include")
    before = key_of()
    (headers / "inner.cuh").write_text("int inner;  // why")
    assert key_of() == before
    (headers / "inner.cuh").write_text("long inner;")
    assert key_of() != before


# Timing, on a GPU that keeps a clock of its own.


def test_no_gap_of_the_host_is_measured(monkeypatch):
    fake = install(monkeypatch, FakeCupy({"short": 3.0}))
    times = timing.time_launches(lambda: fake.RawKernel("", "short")((1,), (1,), ()), repeats=60)
    assert np.allclose(times, 3.0)  # each call takes the host 10 microseconds


def test_the_spin_grows_until_the_host_is_ahead(monkeypatch):
    fake = install(monkeypatch, FakeCupy({"short": 3.0}))

    def slow_to_queue():
        fake.host += 900
        fake.RawKernel("", "short")((1,), (1,), ())

    times = timing.time_launches(slow_to_queue, repeats=60)
    assert np.allclose(times, 3.0)
    assert [name for name, *_ in fake.launched].count("spin") == 3


def test_a_launch_that_waits_is_refused(monkeypatch):
    fake = install(monkeypatch, FakeCupy({}))

    def waits():
        fake.RawKernel("", "short")((1,), (1,), ())
        fake.wait()

    with pytest.raises(RuntimeError, match="Does each of them wait"):
        timing.time_launches(waits, repeats=20)


def test_the_clock_is_counted_while_launches_run(monkeypatch):
    fake = install(monkeypatch, FakeCupy({"long": 700.0}))
    assert timing.sm_clock_mhz(lambda: fake.RawKernel("", "long")((1,), (1,), ()), 700.0) == 2000
    assert [name for name, *_ in fake.launched] == ["long"] * 6 + ["clock_rate"]


# Record and replay.


KERNELS = {
    "naive": (kernel_of(name="naive"), Launch((16, 16, 16), (16, 16))),
    "tiled": (kernel_of(), Launch()),
}
EDITED = kernel_of(SOURCE.replace("A[row]", "A[0]")), Launch()


@pytest.fixture
def measured(folder, monkeypatch):
    """The results of a benchmark on a GPU where every launch takes a known time, left in a record."""
    with monkeypatch.context() as patch:
        fake = install(patch, FakeCupy({"naive": 400.0, "tiled": 100.0, "cublas": 50.0}))
        patch.setattr(timing, "cublas", lambda gemm: lambda: fake.RawKernel("", "cublas")((1,), (1,), ()))
        patch.setenv("COURSE_RECORD", str(folder / "nvidia-h100-80gb-hbm3.json"))
        patch.setenv("COURSE_COMMIT", "abc1234")
        yield benchmark(
            GEMM,
            {
                label: (fake.RawKernel(kernel.code, kernel.name, kernel.options), launch)
                for label, (kernel, launch) in KERNELS.items()
            },
        )


def test_a_kernel_may_take_the_shared_memory_that_its_launch_asks_for(folder, monkeypatch):
    fake = install(monkeypatch, FakeCupy({}))
    monkeypatch.setattr(timing, "cublas", lambda gemm: lambda: fake.RawKernel("", "cublas")((1,), (1,), ()))
    kernel = fake.RawKernel(SOURCE, "tiled", OPTIONS)
    benchmark(GEMM, {"large": (kernel, Launch(shared_mem=60000)), "small": (kernel, Launch(shared_mem=1000))})
    assert kernel.max_dynamic_shared_size_bytes == 60000
    assert {shared for name, _, _, shared, _ in fake.launched if name == "tiled"} == {60000, 1000}


def test_a_peer_that_is_not_installed_takes_no_row_from_the_kernels(folder, monkeypatch):
    tiled = install(monkeypatch, FakeCupy({"tiled": 100.0})).RawKernel(SOURCE, "tiled", OPTIONS), Launch()
    monkeypatch.setattr(
        timing, "cublas", Mock(side_effect=timing.NoPeer("cuBLAS comes with CuPy: install it"))
    )
    monkeypatch.setenv("COURSE_RECORD", str(folder / "nvidia-h100-80gb-hbm3.json"))
    results = benchmark(GEMM, {"tiled": tiled, "again": tiled}, base="tiled")
    assert [row.tflops and row.of_peer for row in results.rows] == [None, None, None]
    assert results.gain("again", "tiled") == 1 and results.gain("tiled", "cuBLAS") is None
    assert "* not measured: cuBLAS comes with CuPy: install it" in repr(results)
    assert "measured now on NVIDIA H100" in repr(results) and not list(folder.glob("*.json"))


def test_measured_rows(measured):
    naive, tiled, cublas = measured.rows
    assert [row.label for row in measured.rows] == ["naive", "tiled", "cuBLAS"]
    assert naive.median_us == pytest.approx(400) and tiled.median_us == pytest.approx(100)
    assert naive.repeats == 60 and cublas.repeats == 120
    assert tiled.tflops == pytest.approx(2 * 128 * 128 * 64 / 100 / 1e6, abs=0.01)
    assert tiled.origin == f"measured now on NVIDIA H100 80GB HBM3, {timing.today()}"
    assert naive.intensity == 4.0 and tiled.intensity == 16.0 and cublas.intensity is None


def a_record(folder, **changes):
    """A record made by hand: a size at which numbers are readable."""
    gemm = Gemm(4096, 4096, 4096)
    entries = {}
    for label, tflops in {"naive": 4.0, "tiled": 31.5, "cuBLAS": 52.0}.items():
        median = round(2 * 4096**3 / tflops / 1e6, 2)
        entry = {"tflops": tflops, "median_us": median, "p10_us": 0.99 * median, "p90_us": 1.02 * median}
        entry |= {"label": label, "repeats": 20, "peer_tflops": 52.0, "date": "2026-11-21"}
        key = records.peer_key(gemm) if label == "cuBLAS" else ""
        if not key:
            kernel, launch = KERNELS[label]
            key = records.kernel_key(Job(kernel, gemm, launch))
        entries[records.stored_key(key, "13.0")] = entry
    provenance = {"gpu": "NVIDIA H100 80GB HBM3", "nvrtc": "13.0"}
    record = {"provenance": provenance, "speeds": entries, "timelines": {}} | changes
    records.write(folder / "nvidia-h100-80gb-hbm3.json", record)
    return gemm


def record_otherwise(folder, label, **changes):
    """Change what the record says of one kernel."""
    path = folder / "nvidia-h100-80gb-hbm3.json"
    record = json.loads(path.read_text())
    next(entry for entry in record["speeds"].values() if entry["label"] == label).update(changes)
    records.write(path, record)


def test_cublas_beside_kernels_is_that_of_their_run(folder):
    """The record keeps cuBLAS of the last run only; what each kernel was compared with stands in its own entry."""
    gemm = a_record(folder)
    record_otherwise(folder, "tiled", peer_tflops=45.0)
    results = benchmark(gemm, KERNELS)
    naive, tiled, last, other = results.rows
    assert results.kernels == (naive, tiled)
    assert (last.label, last.tflops, other.label, other.tflops) == ("cuBLAS", 52.0, "cuBLAS", 45.0)
    assert naive.origin == last.origin != tiled.origin == other.origin
    assert naive.tflops / last.tflops == naive.of_peer and tiled.tflops / other.tflops == tiled.of_peer
    lines = str(results).splitlines()
    assert lines[2] == "* recorded on NVIDIA H100 80GB HBM3, 2026-11-21, run 2"
    assert lines[5].split()[:3] == ["tiled", "*", "31.5"] and lines[7].split()[:3] == ["cuBLAS", "*", "45.0"]
    assert results.gain("tiled", "cuBLAS") == 0.7 and results.gain("cuBLAS", "tiled") == 1 / 0.7
    assert "cuBLAS * 45.0" in results.figure()[1]


def test_runs_whose_cublas_hardly_differs_have_one_row(folder):
    gemm = a_record(folder)
    record_otherwise(folder, "tiled", peer_tflops=52.0 * 1.001)
    assert [row.label for row in benchmark(gemm, KERNELS).rows] == ["naive", "tiled", "cuBLAS"]


def test_a_record_says_where_it_comes_from(measured, folder):
    record = json.loads((folder / "nvidia-h100-80gb-hbm3.json").read_text())
    provenance = record["provenance"]
    assert provenance["gpu"] == "NVIDIA H100 80GB HBM3" and provenance["commit"] == "abc1234"
    assert {"sm_count", "driver", "cuda", "nvrtc", "cupy", "date", "l2", "method"} <= set(provenance)
    assert provenance["cuda"] == "13.2" and provenance["l2"] == "warm" and provenance["cublas"] == "13.2.1"
    for entry in record["speeds"].values():
        assert {"median_us", "p10_us", "p90_us", "repeats", "tflops", "peer_tflops"} <= set(entry)
        assert entry["sm_clock_mhz"] == 2000
    by_label = {entry["label"]: entry for entry in record["speeds"].values()}
    assert by_label["tiled"]["registers"] == 64 and by_label["tiled"]["shape"] == [128, 128, 64]
    assert by_label["naive"]["threads"] == [16, 16]
    assert by_label["cuBLAS"]["before_us"] == by_label["cuBLAS"]["after_us"] == 50
    assert not list(folder.glob("*.partial"))


def test_a_second_benchmark_adds_to_the_record(measured, folder):
    path = folder / "nvidia-h100-80gb-hbm3.json"
    before = json.loads(path.read_text())["speeds"]
    records.remember("speeds", {"ffff": {"label": "new"}})
    key = records.stored_key("ffff", json.loads(path.read_text())["provenance"]["nvrtc"])
    assert json.loads(path.read_text())["speeds"] == before | {key: {"label": "new"}}


def test_an_entry_belongs_to_the_compiler_that_made_its_binary(folder):
    a_record(folder)
    key = records.peer_key(Gemm(4096, 4096, 4096))
    assert records.find("speeds", key)["nvrtc"] == "13.0"
    # the entries were made by 13.0
    a_record(folder, provenance={"gpu": "NVIDIA H100 80GB HBM3", "nvrtc": "13.5"})
    assert records.find("speeds", key) is None


def test_replay(folder):
    results = benchmark(a_record(folder), KERNELS)
    assert [row.tflops for row in results.rows] == [4.0, 31.5, 52.0]
    assert results.rows[1].origin == "recorded on NVIDIA H100 80GB HBM3, 2026-11-21"
    text = repr(results)
    assert text.splitlines()[1:] == [
        "recorded on NVIDIA H100 80GB HBM3, 2026-11-21",
        "kernel  TFLOP/s  times naive  of cuBLAS  median us        10-90 %",
        "naive       4.0            -         8%     34,360  34,016-35,047",
        "tiled      31.5         7.88        61%      4,363    4,320-4,450",
        "cuBLAS     52.0            -       100%      2,643    2,617-2,696",
    ]
    page = results._repr_html_()
    assert page.count("recorded on") == 1 and "<td>tiled</td><td>31.5</td><td>7.88</td>" in page
    assert "<th>times<br>naive</th>" in page, "two lines"


def test_rows_from_elsewhere_have_a_mark_that_the_caption_explains(folder):
    gemm = a_record(folder)
    record_otherwise(folder, "tiled", date="2026-11-24")
    results = benchmark(gemm, {"edited": EDITED} | KERNELS | {"again": KERNELS["tiled"]})
    lines = repr(results).splitlines()
    assert lines[1:4] == [
        "recorded on NVIDIA H100 80GB HBM3, 2026-11-21",
        "* recorded on NVIDIA H100 80GB HBM3, 2026-11-24",
        "** no record: the kernel was edited, or never measured",
    ]
    assert "times the measured row above" in lines[4]
    names = [line.partition("  ")[0] for line in lines[5:]]
    assert names == ["edited **", "naive", "tiled *", "again *", "cuBLAS", "cuBLAS *"]
    assert all(line in results._repr_html_() for line in lines[1:4])


FULL = Row(
    "tiled", "recorded", "a GPU", tflops=31.5, median_us=4363.2, p10_us=4320, p90_us=4450, repeats=20, registers=96,
    sm_clock_mhz=1980, flop_per_clock=120, sustained=30.2, sustained_mhz=1410, watts=700, limits="power",
    peer="cuBLAS", of_peer=0.61, intensity=32.0, gain=7.88, over="naive",
)  # fmt: skip


def test_a_column_shows_its_number_of_the_record():
    """Each of them, with a row in which no number is missing: a new one gets a line here."""
    assert [each.name for each in fields(Row) if getattr(FULL, each.name) == each.default] == []
    assert dict(zip(HEADER, FULL.cells(), strict=True)) == {
        "kernel": "tiled",
        "TFLOP/s": "31.5",
        "gain": "7.88",
        "of peer": "61%",
        "median us": "4,363",
        "10-90 %": "4,320-4,450",
        "registers": "96",
        "sustained TFLOP/s": "30 at 1410 MHz, 700 W",
    }


def test_columns_that_nobody_fills_are_left_out(folder):
    gemm = a_record(folder)
    assert "sustained" not in repr(benchmark(gemm, KERNELS))
    record_otherwise(folder, "naive", sustained=3.5, sustained_mhz=1410, watts=700, flop_per_clock=17)
    text = repr(benchmark(gemm, KERNELS))
    assert "sustained TFLOP/s" in text and "4 at 1410 MHz, 700 W" in text and "FLOP/clk/SM" not in text


def test_gain_names_its_base(folder):
    gemm, three = a_record(folder), KERNELS | {"tiled again": KERNELS["tiled"]}
    assert [(row.over, row.gain) for row in benchmark(gemm, three).rows] == [
        ("", None), ("naive", 31.5 / 4), ("tiled", 1.0), ("", None)
    ]  # fmt: skip
    assert "times the row above" in repr(benchmark(gemm, three))
    assert "times naive" in repr(benchmark(gemm, three, base="naive"))
    rows = benchmark(gemm, three, base="naive").rows
    assert [(row.over, row.gain) for row in rows[1:3]] == [("naive", 31.5 / 4)] * 2
    with pytest.raises(ValueError, match="base='nave' is none of the kernels: naive, tiled"):
        benchmark(gemm, KERNELS, base="nave")


def test_the_gain_of_one_kernel_over_another(folder):
    gemm = a_record(folder)
    results = benchmark(gemm, KERNELS | {"edited": EDITED})
    assert results.gain("tiled", "naive") == 31.5 / 4
    assert results.gain("edited", "naive") is None
    with pytest.raises(ValueError, match="there is no row 'tild'; rows: naive, tiled"):
        results.gain("tild", "naive")


def test_rows_of_two_gpus_have_no_gain_and_a_picture_names_both():
    here = Row("here", "measured now on A", "A", tflops=10.0, median_us=2.0, p10_us=2.0, p90_us=2.0)
    there = replace(here, label="there", origin="recorded on B", gpu="B", tflops=30.0)
    assert Results("two", "float32", (here, there), 8.0).gain("there", "here") is None
    _, alt = charts.bars("two", "float32", [here, there])
    assert "two, measured now on A; * recorded on B: here 10.0; there * 30.0." in alt


def test_a_gain_is_over_a_row_of_the_same_gpu(folder):
    gemm = a_record(folder)
    path = folder / "nvidia-h100-80gb-hbm3.json"
    record = json.loads(path.read_text())
    key = next(key for key, entry in record["speeds"].items() if entry["label"] == "tiled")
    elsewhere = {"provenance": {"gpu": "B", "nvrtc": "13.0"}, "speeds": {key: record["speeds"].pop(key)}}
    records.write(path, record)
    records.write(folder / "b.json", elsewhere)
    _, tiled, *cublas = benchmark(gemm, KERNELS).rows
    assert (tiled.gpu, tiled.tflops, tiled.gain) == ("B", 31.5, None)
    assert [(row.label, row.gpu) for row in cublas] == [("cuBLAS", "NVIDIA H100 80GB HBM3"), ("cuBLAS", "B")]


def test_an_edited_kernel_has_no_record(folder, capsys):
    gemm = a_record(folder)
    edited = {"edited <1>": EDITED}
    results = benchmark(gemm, KERNELS | edited)
    row = results.rows[2]
    assert row.tflops is None and row.origin.startswith("no record: the kernel was edited")
    assert "edited &lt;1&gt;" in results._repr_html_() and "edited" in repr(results)
    _, alt = results.figure()
    assert "edited" not in alt and "tiled 31.5" in alt
    for draw in (only := benchmark(gemm, edited)).figure, only.roofline_figure:  # cuBLAS is there
        assert "edited" not in draw()[1]
    nothing = benchmark(Gemm(64, 64, 64), edited)
    nothing.plot()
    nothing.roofline()
    assert capsys.readouterr().out.count("nothing to draw. no record") == 2


def test_the_h100_is_asked_first(folder):
    a_record(folder)
    (folder / "another.json").write_text("{}")
    assert [path.name for path in records.files()] == ["nvidia-h100-80gb-hbm3.json", "another.json"]
    assert file_name("NVIDIA H100 80GB HBM3") == "nvidia-h100-80gb-hbm3.json"


def test_bars(folder):
    figure, alt = benchmark(a_record(folder), KERNELS).figure()
    words = [text.get_text() for text in figure.axes[0].texts]
    assert "31.5, 7.88 x naive, 61% of cuBLAS" in words
    assert any("ceiling 66.9 TFLOP/s" in text for text in words)
    assert "recorded on NVIDIA H100 80GB HBM3" in alt and "7.88 x naive" in alt
    assert len(style.png(figure)) < 60_000


def test_roofline(folder):
    results = benchmark(a_record(folder), KERNELS)
    figure, alt = results.roofline_figure()
    words = [text.get_text() for text in figure.axes[0].texts]
    assert {"naive: 4.0", "tiled: 31.5"} <= set(words) and any("2.85 TB/s" in text for text in words)
    assert "each byte moved once: 683 FLOP/byte" in words
    assert "tiled 31.5 at 16 FLOP/byte" in alt
    assert len(style.png(figure)) < 60_000


def test_two_problems_under_one_roofline(folder, capsys):
    results = benchmark(a_record(folder), KERNELS)
    half = replace(results, title="in half", kind="float16, TN")
    figure, alt = results.roofline_figure(half)
    words = " ".join(text.get_text() for text in figure.axes[0].texts)
    assert "648 TFLOP/s (mma" in words and "66.9 TFLOP/s (float32, NT)" in words, (
        "labels cross the lower roof"
    )
    assert "moved once" not in words
    assert alt.count("tiled 31.5 at 16 FLOP/byte") == 2 and "float32 and in half" in alt
    results.roofline(half)
    assert capsys.readouterr().out.strip() == alt


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ([], []),
        ([1, 5], [1, 5]),
        ([4, 5], [3.5, 5.5]),
        ([1, 4, 5], [1, 3.5, 5.5]),
        ([2.9, 4, 5], [1.967, 3.967, 5.967]),
    ],
)
def test_labels_keep_their_distance(wanted, found):
    assert spread(wanted, 2) == pytest.approx(found, abs=1e-3)


def test_a_gpu_without_known_ceilings_is_drawn_without(folder):
    gemm = a_record(folder, provenance={"gpu": "another GPU", "nvrtc": "13.0"})
    results = benchmark(gemm, KERNELS)
    for draw in (results.figure, results.roofline_figure):
        assert not any("66.9" in text.get_text() for text in draw()[0].axes[0].texts)


def test_the_name_of_cublas_is_taken():
    with pytest.raises(ValueError, match="none with the label 'cuBLAS'"):
        benchmark(GEMM, {"cuBLAS": KERNELS["tiled"]})


def test_a_model_is_no_measurement():
    kernel = cupy_on_numpy.RawKernel(kernel_source("01_mainloop", "tiled"), "tiled", options=OPTIONS)
    launch = Launch((32, 32, 32), 1024)
    results = benchmark(Gemm(4096, 4096, 4096), {"model of tiled": (kernel, launch)}, model=True)
    (row,) = results.rows  # no cuBLAS: nobody can run it here
    assert row.origin.startswith("model of an H100, not a measurement; times of")
    assert 3 < row.tflops < 15 and row.of_peer is None and row.repeats is None
    assert "model of an H100" in repr(results) and "of cuBLAS" not in results.figure()[1]
    assert "ceiling 66.9" in " ".join(text.get_text() for text in results.figure()[0].axes[0].texts)


def test_on_a_calibrated_gpu_the_model_is_of_that_one(tmp_path, monkeypatch):
    """But of an H100 where the launch does not fit."""
    kept = json.loads((rates.RATES / "nvidia-h200.json").read_text())
    monkeypatch.setattr(rates, "RATES", tmp_path)
    fake = install(monkeypatch, FakeCupy(gpu=RTX_3090))
    kernel = fake.RawKernel(kernel_source("01_mainloop", "tiled"), "tiled", OPTIONS)
    asked = Gemm(4096, 4096, 4096), {"tiled": (kernel, Launch((32, 32, 32), 1024))}
    (before,) = benchmark(*asked, model=True).rows
    (tmp_path / file_name(RTX_3090.driver_name)).write_text(json.dumps(kept))
    (own,) = benchmark(*asked, model=True).rows
    assert before.origin.startswith("model of an H100, not a measurement")
    assert own.origin.startswith(
        "model of an NVIDIA GeForce RTX 3090, calibrated 2026-11-24; not a measurement"
    )
    assert own.median_us > 1.3 * before.median_us, "82 SMs instead of 132"
    kernel.num_regs = 128
    (large,) = benchmark(*asked, model=True).rows
    assert large.origin == before.origin


def test_a_kernel_that_the_model_cannot_follow_has_a_row_that_says_why(monkeypatch):
    source = kernel_source("01_mainloop", "tiled")
    begin = source.index("{", source.index("tiled(")) + 1
    by_data = f"{source[:begin]} if (A[0] > 1e30f) return; {source[begin:]}"
    made = {
        label: cupy_on_numpy.RawKernel(text, "tiled", options=OPTIONS)
        for label, text in {"tiled": source, "by data": by_data}.items()
    }
    kernels = {label: (kernel, Launch((32, 32, 32), 1024)) for label, kernel in made.items()}
    found = benchmark(Gemm(4096, 4096, 4096), kernels, model=True)
    known, unknown = found.rows
    assert "within 15 % of the measured ones" in known.origin and known.tflops
    assert (
        unknown.origin.startswith("no model: a branch depends on data, at line ") and unknown.tflops is None
    )
    assert f"* {unknown.origin}" in str(found)

    for missing in NvdisasmMissing, NvrtcMissing:
        nobody = Mock(side_effect=missing("the tool was not found.\n    pip install it"))
        monkeypatch.setattr(bench, "by_machine_code", nobody)
        (row,) = benchmark(Gemm(4096, 4096, 4096), {"tiled": kernels["tiled"]}, model=True).rows
        assert row.origin == "no model: the tool was not found."


def test_progress_shows_each_kernel_as_a_fraction_of_its_own_cublas(folder, capsys):
    results = benchmark(a_record(folder), KERNELS)
    figure, alt = charts.fractions([("first", list(results.rows[:2])), ("second", list(results.rows[1:2]))])
    assert alt.count("tiled 61%") == 2 and "naive 8%" in alt
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["naive", "tiled", "tiled"]
    so_far(results)
    said = capsys.readouterr().out
    assert "tiled 61%" in said and "cuBLAS 100%" not in said
    so_far(benchmark(Gemm(64, 64, 64), KERNELS))
    assert "Nothing to draw. no record" in capsys.readouterr().out


def test_the_ceiling_is_that_of_the_type():
    for name in ("NVIDIA H100 80GB HBM3", "H100"):
        assert charts.ceiling(name, "float16, TN")[0] == 648
        assert charts.ceiling(name, "float32, NT")[0] == 66.9
    assert charts.ceiling("", "float32, NT") == charts.ceiling("A100", "float16, TN") == (0, "")
