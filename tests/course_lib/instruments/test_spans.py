"""`spans`: what blocks noted on a GPU, kept and shown again; models; the picture."""

import numpy as np
import pytest

from course_lib.instruments import span_chart, spans
from cupy_or_sim import timing
from tests.fake_gpu import FakeCupy, install

SOURCE = 'extern "C" __global__ void one(float* C) { C[0] = 1; }'
ROWS = [(1, 130.0, 140.0), (0, 100.0, 120.0), (0, 120.0, 150.0)]


@pytest.fixture
def noted(folder, monkeypatch):
    with monkeypatch.context() as patch:
        install(patch, FakeCupy({}))
        patch.setenv("COURSE_RECORD", str(folder / "nvidia-h100-80gb-hbm3.json"))
        return spans("who", lambda: {"plain": np.array(ROWS)}, SOURCE)


def never():
    raise AssertionError("nothing is run where there is no GPU")


def test_rows_count_from_the_first_begin(noted):
    assert noted.rows["plain"].tolist() == [[0, 0, 20], [0, 20, 50], [1, 30, 40]]
    assert noted.us("plain") == 50 and noted.busy("plain", sms=2) == pytest.approx(0.6)
    assert noted.origin == "noted now on NVIDIA H100 80GB HBM3"


def test_shown_again_with_its_origin(noted):
    again = spans("who", never, "// a comment\n" + SOURCE)
    assert again.rows["plain"].tolist() == noted.rows["plain"].tolist()
    assert again.origin == f"recorded on NVIDIA H100 80GB HBM3, {timing.today()}"


def test_no_record(noted, capsys):
    unknown = spans("who", never, SOURCE.replace("= 1", "= 2"))
    assert unknown.us("plain") is unknown.busy("plain") is None
    unknown.plot()
    assert "who: no record" in capsys.readouterr().out


def test_a_model_runs_everywhere(folder, capsys):
    modelled = spans("who", lambda: {"a": iter(ROWS), "b": ROWS[:1]})
    assert str(modelled).splitlines() == ["who: model", "a: 50.0 us, 1% busy", "b: 10.0 us, 1% busy"]
    modelled.plot()
    assert (
        "A line for each SM, over time. who, model. a: 50 us, SMs busy 1% of it; b" in capsys.readouterr().out
    )


def test_the_picture_has_a_panel_for_each_and_a_bar_for_each_span(noted):
    figure, words = span_chart.drawing(noted)
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts] == ["1st", "2nd"] and len(axes.patches) == 3
    assert "plain: 50 us" in words
