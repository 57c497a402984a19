"""Which notebooks `python -m tools.author.outputs` runs."""

import pytest

from tools.author import outputs


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "01",
            {
                "01_mainloop",
                "exercises/01_mainloop",
                "deeper/01_banks",
                "deeper/01_counts",
                "deeper/01_loop_and_grid",
            },
        ),
        ("01_mainloop", {"01_mainloop"}),
        ("exercises/01", {"exercises/01_mainloop"}),
        ("deeper/01_c", {"deeper/01_counts"}),
    ],
)
def test_a_number_names_a_lesson_with_all_that_belongs_to_it(monkeypatch, name, expected):
    monkeypatch.setenv("COURSE_BACKEND", "simulator")  # main sets it
    ran = set()
    monkeypatch.setattr(
        outputs,
        "renew",
        lambda path: ran.add(outputs.named(path).removeprefix("notebooks/").removesuffix(".ipynb")) or 0,
    )
    assert outputs.main((name,)) == 0
    assert ran == expected


def test_a_name_of_nothing_is_said(capsys):
    assert outputs.main(("1",)) == 2
    assert "No notebook begins with 1." in capsys.readouterr().err
