"""The figures of draw/explore.py in a real browser: by mouse and keys, narrow and wide, light and dark; and the
script's model against the one in Python."""

import itertools

import pytest

from course_lib.draw import explore_chart
from course_lib.draw.explore import K_TILES, LIMITS, handover, pipeline, schedule
from tests.sample import in_long

GRID = [
    *itertools.product((50, 969, 1500, 5000), (100, 768, 1480, 5000), (1, 2, 3, 5), (1, 2, 4)),
    *itertools.product((333,), (777,), (4, 8), (1, 2, 3, 4)),
    *zip((51, 102, 204, 1001), (101, 1203, 303, 4999), (2, 3, 4, 5), (3, 3, 3, 3)),
]
THEMES = {"light": ("#ffffff", "#222"), "dark": ("#121212", "#ddd")}


@pytest.fixture
def show(open_page, tmp_path):
    """Open a page with these figures from a file, as somebody reads the pages; nothing may go wrong there."""
    pages = []

    def open_with(*figures, width=900, theme="light"):
        paper, ink = THEMES[theme]
        outputs = "".join(f"<section>{figure._repr_html_()}</section>" for figure in figures)
        file = tmp_path / f"{len(pages)}.html"
        file.write_text(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f'<title>Figures</title><body style="background:{paper};color:{ink};font-family:sans-serif">'
            f"<main><h1>Figures</h1>{outputs}</main>"
        )
        pages.append(open_page(file.as_uri(), width=width, dark=theme == "dark"))
        return pages[-1]

    yield open_with
    for page in pages:
        assert page.said == [] and page.outside == []


def result(page, number=0):
    return page.locator(".course-explore [role=status]").nth(number).inner_text()


def test_the_script_computes_draws_and_says_what_python_does(show):
    page = show(pipeline(969, 1480))
    settings = [dict(zip(LIMITS, values)) for values in GRID]
    assert len(settings) >= 200
    found = page.evaluate(
        "settings => settings.map(document.querySelector('.course-explore').model)", settings
    )
    for setting, (words, svg) in zip(settings, found):
        assert words == repr(pipeline(**setting))
        assert svg == explore_chart.timeline_svg(schedule(**setting, k_tiles=K_TILES), setting, "still"), (
            setting
        )


def test_a_figure_begins_with_its_still_form(show):
    page = show(pipeline(1500, 768, 3, 2))
    assert result(page) == repr(pipeline(1500, 768, 3, 2))
    assert [slider.input_value() for slider in page.get_by_role("slider").all()] == ["1500", "768", "3", "2"]
    assert page.locator(".course-explore :is(img, .still)").count() == 0


def test_the_mouse_moves_the_picture(show):
    page = show(pipeline(969, 1480))
    before = page.locator(".course-explore svg").inner_html()
    box = page.get_by_role("slider", name="stages").bounding_box()
    page.mouse.move(box["x"] + 9, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(
        box["x"] + box["width"] / (LIMITS["stages"][1] - 1) + 4, box["y"] + box["height"] / 2, steps=4
    )
    page.mouse.up()
    assert result(page) == repr(pipeline(969, 1480, 2))
    assert page.locator(".course-explore svg").inner_html() != before
    assert page.get_by_text("slot 1").count() == 1


def test_the_keys_move_the_picture_and_one_sees_where_one_is(show):
    page = show(pipeline(969, 1480))
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert result(page) == repr(pipeline(969, 1480, 2))
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowLeft")
    assert result(page) == repr(pipeline(969, 1472, 2))
    focused = "getComputedStyle(document.activeElement)"
    assert (
        page.evaluate(f"{focused}.outlineStyle") == "solid"
        and page.evaluate(f"{focused}.outlineWidth") == "3px"
    )


def test_a_script_that_runs_elsewhere_finds_its_figure(open_page):
    """Some hosts put the HTML into the page first, and run a copy of each script from another place."""
    page = open_page("about:blank")
    for figure in pipeline(969, 1480), handover(), pipeline(800, 2000):
        page.evaluate(
            """text => {
                const place = document.body.appendChild(document.createElement("div"));
                place.innerHTML = text;
                const script = document.createElement("script");
                script.text = place.querySelector("script").text;
                document.head.append(script);
            }""",
            figure._repr_html_(),
        )
    assert result(page, 0) == repr(pipeline(969, 1480)) and result(page, 1).startswith("Step 1")
    page.get_by_role("slider", name="stages").nth(1).press("ArrowRight")
    assert result(page, 2) == repr(pipeline(800, 2000, 2)) and result(page, 0) == repr(pipeline(969, 1480))
    assert page.said == []


def test_jupyterlab_keeps_its_hands_off_our_keys(show):
    """It takes keys (b: a new cell) from whatever is focused and does not itself carry this mark."""
    page = show(pipeline(969, 1480), handover())
    for control in page.locator(".course-explore :is(input, button)").all():
        assert control.get_attribute("data-lm-suppress-shortcuts") == "true"


def test_every_slider_goes_through_its_start_to_its_ends(show):
    page = show(pipeline(969, 1480, 2, 2))
    for name, key, wanted in ("copy", "Home", (57, 1480, 2, 2)), ("math", "End", (57, 5000, 2, 2)):
        page.get_by_role("slider", name=name).press(key)
        assert result(page) == repr(pipeline(*wanted))


def test_several_figures_on_a_page_do_not_touch_each_other(show):
    page = show(pipeline(969, 1480), pipeline(800, 2000, 2), handover(), pipeline(969, 1480))
    page.get_by_role("slider", name="blocks").nth(1).press("ArrowRight")
    assert [result(page, n) for n in (0, 1, 3)] == [
        repr(pipeline(*setting)) for setting in ((969, 1480), (800, 2000, 2, 2), (969, 1480))
    ]
    hatches = page.locator("pattern").evaluate_all("all => all.map(one => one.id)")
    assert len(hatches) == len(set(hatches)) == 3


def test_stepping_shows_the_steps_that_python_computed(show):
    figure = handover(2, 4)
    page = show(figure)
    steps = figure.steps()
    shown = page.locator(".course-explore .now")
    next_step = page.get_by_role("button", name="Next")
    for number, step in enumerate(steps, 1):
        assert result(page) == f"Step {number} of {len(steps)}. {step['what to see']}"
        text = shown.inner_text()
        assert step["producer"] in text and step["consumer"] in text and step["slot 1"] in text
        next_step.press("Enter") if number % 2 or number == len(steps) else next_step.click()
    assert result(page).startswith(f"Step {len(steps)} of")
    for key, number in ("ArrowLeft", len(steps) - 1), ("Home", 1), ("ArrowRight", 2), ("End", len(steps)):
        page.keyboard.press(key)
        assert result(page).startswith(f"Step {number} of")
    page.get_by_role("button", name="Back").click()
    assert result(page).startswith(f"Step {len(steps) - 1} of")


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", [390, 900])
def test_readable_everywhere(show, keep, width, theme):
    from axe_playwright_python.sync_playwright import Axe

    page = show(pipeline(1500, 768, 3, 2), handover(), width=width, theme=theme)
    page.get_by_role("button", name="Next").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width, (
        "the page is cut or scrolls sideways"
    )
    for figure in page.locator(".course-explore").all():
        assert figure.evaluate("figure => figure.scrollWidth <= figure.clientWidth"), "a part of it is cut"
    serious = [
        found["id"]
        for found in Axe().run(page).response["violations"]
        if found["impact"] in ("serious", "critical")
    ]
    assert serious == []
    keep(page, f"explore-{width}-{theme}", full_page=True)


@in_long
def test_without_scripts_the_still_forms_are_there(open_page, tmp_path):
    file = tmp_path / "still.html"
    file.write_text(pipeline(969, 1480)._repr_html_() + handover()._repr_html_())
    page = open_page(file.as_uri(), java_script_enabled=False)
    assert page.get_by_text(repr(pipeline(969, 1480))).is_visible()
    assert page.locator("img").bounding_box()["width"] > 600
    assert page.get_by_text("run the cell, and it can be moved").count() == 2
    assert page.locator("table").is_visible() and page.get_by_role("slider").count() == 0
