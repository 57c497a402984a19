"""`timed`: calls of several kernels, measured on a GPU, replayed elsewhere, never run there."""

import json

import numpy as np
import pytest

from course_lib.instruments import modelled_us, timed
from cupy_or_sim import cupy_on_numpy, timing
from ptxsim import Untraceable
from tests.fake_gpu import FakeCupy, install

SOURCE = 'extern "C" __global__ void one(float* C) { C[0] = 1; }'


@pytest.fixture
def measured(folder, monkeypatch):
    """`three` launches 40 + 20 + 10 us of kernels, `fused` one of 50."""
    with monkeypatch.context() as patch:
        fake = install(patch, FakeCupy({"one": 40.0, "two": 20.0, "three": 10.0, "fused": 50.0}))
        patch.setenv("COURSE_RECORD", str(folder / "nvidia-h100-80gb-hbm3.json"))

        def run(*names):
            for name in names:
                fake.RawKernel(SOURCE, name)((1,), (1,), ())

        calls = {"three": lambda: run("one", "two", "three"), "fused": lambda: run("fused")}
        return timed("a comparison", lambda: calls, SOURCE)


def never():
    raise AssertionError("nothing is run where there is no GPU")


def test_measured(measured):
    assert measured.us("three") == pytest.approx(70) and measured.us("fused") == pytest.approx(50)
    assert measured.origin == "measured now on NVIDIA H100 80GB HBM3"
    assert "fused       50.0  50.0-50.0     0.714" in str(measured)


def test_replayed_with_its_origin(measured, folder):
    again = timed("a comparison", never, "// a comment\n" + SOURCE)
    assert again.calls == measured.calls
    assert again.origin == f"recorded on NVIDIA H100 80GB HBM3, {timing.today()}"
    (entry,) = json.loads((folder / "nvidia-h100-80gb-hbm3.json").read_text())["calls"].values()
    assert entry["title"] == "a comparison" and entry["repeats"] == 40


@pytest.mark.parametrize(
    ("title", "source"), [("another", SOURCE), ("a comparison", SOURCE.replace("= 1", "= 2"))]
)
def test_no_record_for_another_title_or_an_edited_source(measured, title, source):
    unknown = timed(title, never, source)
    assert unknown.us("three") is None and "no record" in unknown.origin
    assert str(unknown) == f"{title}: {unknown.origin}" and "<td>" not in unknown._repr_html_()


def test_a_call_that_is_not_there(measured):
    with pytest.raises(ValueError, match="no call 'four'; calls: three, fused"):
        measured.us("four")


def test_a_table_in_a_notebook(measured):
    page = measured._repr_html_()
    assert ">a comparison: measured now" in page and "<td>0.714</td>" in page


def test_a_launch_that_is_no_gemm_has_a_modelled_time():
    text = (
        'extern "C" __global__ void one(float* C, int n) {{ for (int i = 0; i < n; ++i) C[{}] = i / C[i]; }}'
    )
    by_number, by_data = (
        cupy_on_numpy.RawKernel(text.format(where), "one") for where in ("threadIdx.x", "(int)C[i]")
    )
    C = np.zeros(1)
    few, many = (modelled_us(by_number, (132,), (64,), (C, np.int32(n))) for n in (10, 1000))
    assert 3.7 < few < many
    with pytest.raises(Untraceable, match="depends on data"):
        modelled_us(by_data, (132,), (64,), (C, np.int32(10)))
