"""The book's cells run in the page: Python in a real Chromium; the host that serves it compiles edited kernels.

One lesson, three Breaks, one link, one edited kernel: about a minute on idle cores. test_live_more.py has the rest,
test_live_lessons.py every cell of all lessons; both are in `make long` only.
"""

import json

from tests.browser.conftest import LESSON
from tests.browser.live import (
    as_given,
    begin_with,
    cell_of,
    link_to,
    loaded,
    opened_by_a_new_reader,
    press,
    printed,
    run,
    texts,
    write,
)
from tests.lessons.reading import by_id, text_of

SITTING = f"notebooks/{LESSON}-2.html"


def test_before_the_first_run_a_page_says_how_much_is_loaded_and_loads_nothing(
    live_book, open_page, live_host
):
    page = open_page(f"{live_host}/{SITTING}")
    about = json.loads((live_book / "_static/live/about.json").read_text())
    buttons = page.locator("button.live-run")
    assert buttons.count() >= 7
    assert {*buttons.all_inner_texts()} == {f"Run here (loads {about['bytes']['first'] / 1e6:.1f} MB once)"}
    assert [name for name in loaded(page) if "pyodide" in name or name.endswith(".zip")] == []
    assert page.said == [] and page.outside == []


def test_a_break_runs_and_its_lines_are_marked_in_the_kernel(sitting, keep):
    box = run(sitting, "c028")
    assert texts(box) == printed(LESSON, "c028")
    assert "write-after-read" in box.inner_text()
    marked = cell_of(sitting, "c027").locator("span.blamed")
    assert marked.count() == 2 and "write-after-read" in marked.first.get_attribute("title")
    cell_of(sitting, "c027").locator("details").evaluate("fold => fold.open = true")
    tops = marked.evaluate_all("all => all.map(each => each.getBoundingClientRect().top)")
    assert tops[0] < tops[1], "one below the other"
    keep(sitting, "live-break")
    assert sitting.said == [] and sitting.outside == []


def test_a_later_cell_shares_what_is_loaded(sitting):
    assert texts(run(sitting, "c040")) == printed(LESSON, "c040")
    assert {*sitting.locator("button.live-run").all_inner_texts()} == {"Run here"}
    assert len([name for name in loaded(sitting) if name.endswith("worker.js")]) == 1


def test_an_edited_kernel_gives_the_errors_of_its_own_line(sitting):
    given = text_of(by_id(LESSON)["c027"])
    write(sitting, "c027", given.replace("wait_all();", "wait_everything();", 1))
    said = run(sitting, "c028").inner_text()
    assert 'identifier "wait_everything" is undefined' in said
    as_given(sitting, "c027")
    assert texts(run(sitting, "c028")) == printed(LESSON, "c028")


def test_breaks_of_other_sittings_and_lessons_run_in_the_playground(playground):
    begin_with(playground, "specialised: a slot is filled too early")
    assert "deadlock" in press(playground, "Run")
    begin_with(playground, "two_buffers: no wait")
    assert "unwaited-copy" in press(playground, "Run")
    assert playground.locator(".live-numbers .blamed").count() > 0


def test_a_link_brings_a_new_reader_to_the_same_report(playground, open_page):
    begin_with(playground, "two_buffers: no wait")
    first = press(playground, "Run")
    other = opened_by_a_new_reader(open_page, link_to(playground))
    assert other.evaluate("playground.content()") == playground.evaluate("playground.content()")
    assert press(other, "Run") == first
    for page in (playground, other):
        assert page.said == [] and page.outside == []
