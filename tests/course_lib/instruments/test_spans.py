"""`spans`: what blocks noted on a GPU, kept and shown again; models; the picture."""

import io

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from course_lib.instruments import span_chart, spans
from cupy_or_sim import style, timing
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
        "over time; ends are medians. who, model. a: 50 us, SMs busy 1% of it; 1st" in capsys.readouterr().out
    )


def area(collection):
    """Of its polygons, in microseconds times lines."""
    found = 0.0
    for path in collection.get_paths():
        x, y = path.vertices.T
        found += abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2
    return found


def test_the_picture_has_a_panel_for_each_and_an_area_for_what_comes_first_and_second(noted):
    figure, words = span_chart.drawing(noted)
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts] == ["1st", "2nd"]
    assert [area(each) for each in axes.collections] == [20 + 10, 30]
    assert "plain: 50 us" in words and "1st of 2 SMs until 30, 2nd of 1 SMs until 50" in words


SMS = 132


def out_of_step(at):
    """Rows of SMs with two blocks each at a time, of which one ends at 40 and the other at 80."""
    return [(sm, begin, end) for sm in range(SMS) for begin, end in ((0, at), (0, 80), (at, 100), (80, 120))]


def test_a_line_less_than_a_pixel_high_is_there_as_much_as_the_others(folder):
    """At each time each colour has as many pixels as it has SMs: bars of half a pixel fell out, or counted twice."""
    figure, words = span_chart.drawing(spans("who", lambda: {"a": out_of_step(at=40)}))
    assert "in 2 bands, since an SM makes 2 pieces at a time" in words
    (axes,) = figure.axes
    assert sum(map(area, axes.collections)) == pytest.approx(
        sum(end - begin for _, begin, end in out_of_step(40))
    )
    pixels = np.array(Image.open(io.BytesIO(style.png(figure))).convert("RGB"), float)
    box = axes.get_window_extent()
    scale = pixels.shape[1] / figure.bbox.width
    for us, wanted in (10, {"1st": 2}), (60, {"1st": 1, "2nd": 1}), (95, {"2nd": 2}), (110, {"2nd": 1}):
        x = (box.x0 + us / 121.2 * box.width) * scale
        column = pixels[:, round(x)]
        for name, places in wanted.items():
            colour = to_rgb(span_chart.COLOURS[int(name[0]) - 1])
            near = np.abs(column - 255 * np.array(colour)).max(1) < 40
            high = box.height * scale / (2 + span_chart.GAP)
            assert near.sum() == pytest.approx(places * high, abs=3), (us, name)
