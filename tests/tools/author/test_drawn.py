"""Which notebooks show what a changed file draws."""

import pytest

from tools.author.drawn import notebooks_that_show

SPEEDS, WAVES = "notebooks/05_three_stage.ipynb", "notebooks/deeper/06_stream_k.ipynb"


@pytest.mark.parametrize("changed", ["course_lib/measure/rows.py", "course_lib/measure/charts.py"])
def test_a_table_of_speeds_is_shown_by_the_lessons_that_measure(changed):
    """The files are not imported by the notebooks: `benchmark` leads to them."""
    assert SPEEDS in notebooks_that_show([changed])
    assert SPEEDS not in notebooks_that_show([changed, SPEEDS])


@pytest.mark.parametrize(
    ("changed", "shown"),
    [
        ("course_lib/instruments/waves.py", WAVES),
        ("course_lib/timelines/timeline_chart.py", SPEEDS),
        ("cupy_or_sim/style.py", SPEEDS),
    ],
)
def test_a_picture_is_shown_where_it_is_asked_for(changed, shown):
    assert shown in notebooks_that_show([changed])


def test_a_lessons_own_figures_are_its_own():
    shown = notebooks_that_show(["notebooks/figures/lesson_03.py"])
    assert "notebooks/03_double_buffer.ipynb" in shown and all("/03_" in name for name in shown)


def test_what_stands_beside_a_lesson_is_shown_where_cells_call_it():
    shown = notebooks_that_show(["notebooks/figures/tensor_share.py"])
    assert "notebooks/07_hopper.ipynb" in shown and not any("/03_" in name for name in shown)


def test_what_draws_nothing_is_shown_nowhere():
    assert notebooks_that_show(["course_lib/check/gemm.py", "README.md", SPEEDS, "gone.py"]) == []
