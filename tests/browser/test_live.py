"""The book's cells run in the page: Python in a real Chromium; the host that serves it compiles edited kernels.

One lesson, three Breaks, one link, one edited kernel: about a minute on idle cores. test_live_more.py has the rest,
test_live_lessons.py every cell of all lessons; both are in `make long` only.
"""

import json
from pathlib import Path

import nbformat

from course_lib.lessons import sources
from hiding_latency.copies import copy_of
from tests.browser.conftest import LESSON, opened
from tests.browser.live import (
    MINE,
    SAID,
    Editor,
    as_given,
    begin_with,
    cell_of,
    editor_of,
    link_to,
    loaded,
    opened_by_a_new_reader,
    press,
    printed,
    run,
    texts,
    whose,
    write,
)
from tests.lessons import cuda_of, replaced
from tests.lessons.reading import by_id, text_of
from tests.lessons.test_lesson_kernels import EXERCISES
from tests.sample import in_long

SITTING = f"notebooks/{LESSON}-2.html"


@in_long
def test_before_the_first_run_a_page_says_how_much_is_loaded_and_loads_nothing(
    live_book, open_page, live_host
):
    page = open_page(f"{live_host}/{SITTING}")
    about = json.loads((live_book / "_static/live/about.json").read_text())
    buttons = page.locator("button.live-run")
    assert buttons.count() >= 5
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


def test_the_clock_has_numbers_of_64_bits_where_numpy_has_32(sitting):
    """An address that all lanes have is one number of Python's, and no lane is a very small one."""
    text = "import numpy as np\nfrom ptxsim.clock.registers import of_lanes\n"
    write(sitting, "c028", text + "print(of_lanes(np.arange(2) == 0, 1 << 31, -(2**62)).tolist())")
    assert "[2147483648, -4611686018427387904]" in run(sitting, "c028").inner_text()
    as_given(sitting, "c028")


CLOCK = """
from course_lib import Gemm, benchmark, cp, lesson_kernel
kernel, launch = lesson_kernel("02_producer_consumer", "early_copy")
mine = cp.RawKernel(kernel.code + "// mine", kernel.name, options=kernel.options)
print(benchmark(Gemm(4096, 4096, 4096, "float32"), {"mine": (mine, launch)}, model=True).rows[0].origin)
"""


def test_the_clock_has_the_machine_code_of_an_edited_kernel(sitting):
    """It comes from the host, listed, as PTX does."""
    write(sitting, "c028", CLOCK)
    assert texts(run(sitting, "c028")).startswith("model of an H100")
    as_given(sitting, "c028")


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


def test_a_learners_week_what_is_written_and_solved_stays_and_goes_home(browser, live_host):
    """Monday: an answer that races, and a reload. Wednesday, the browser opened anew: the right one. Friday: the lesson
    has a new text. Then all goes home as a notebook."""
    address, solution = f"{live_host}/notebooks/{LESSON}-1.html", cuda_of(EXERCISES["02.1"][1])
    given = text_of(by_id(LESSON)["e1a"])
    right = given[: given.index('r"""') + 4] + solution + given[given.rindex('"""') :]
    racing = replaced(right, "wait_all();", "")

    page = opened(browser, address)
    write(page, "e1a", racing)
    said = run(page, "e1a").inner_text()
    assert "02.1 not yet: unwaited-copy" in said and "hazard" in said
    page.reload()
    assert editor_of(page, "e1a").text() == racing and "Yours." in whose(page, "e1a")
    assert "~ 02.1" in page.locator(".live-mine").inner_text()
    kept = page.context.storage_state()
    page.context.close()

    page = opened(browser, address, storage_state=kept)
    assert editor_of(page, "e1a").text() == racing
    write(page, "e1a", right)
    said = run(page, "e1a").inner_text()
    assert "02.1 passed" in said and "hazard" not in said
    assert "✓ Solved. Yours." in whose(page, "e1a") and "✓ 02.1" in page.locator(".live-mine").inner_text()

    page.evaluate(OF_AN_OLDER_VERSION, f"{LESSON}/e1a")
    page.reload()
    assert "the lesson has a new text here" in whose(page, "e1a")
    cell_of(page, "e1a").get_by_role("button", name="The lesson's new text").click()
    assert cell_of(page, "e1a").locator(".cell_input").is_visible() and whose(page, "e1a") == "✓ Solved."
    page.reload()
    cell_of(page, "e1a").get_by_role("button", name="Your text again").click()
    assert editor_of(page, "e1a").text() == right

    with page.expect_download() as waited:
        page.get_by_role("button", name="Take this lesson home").click()
    home = json.loads(Path(waited.value.path()).read_text(encoding="utf-8"))
    copy = json.loads(copy_of(sources.NOTEBOOKS / f"{LESSON}.ipynb"))
    assert waited.value.suggested_filename == f"{LESSON}.ipynb"
    nbformat.validate(home)
    for cell, mine in zip(copy["cells"], home["cells"], strict=True):
        if cell["id"] == "e1a":
            cell |= {"source": right.splitlines(keepends=True), "outputs": [], "execution_count": None}
        assert mine == cell
    assert page.said == [] and page.outside == []
    page.context.close()


OF_AN_OLDER_VERSION = """name => {
    const { texts, at } = kept.read(name);
    kept.write(name, { texts: texts.map(each => ({ ...each, given: "as an older version had it" })), at });
}"""


SMALL = 'k = r"""\nextern "C" __global__ void f(float* out)  // __global__ in words\n{\n    int n;\n}\n"""'


def test_the_editor_knows_cuda_indents_finds_and_marks_what_a_report_names(sitting, keep):
    box, given = cell_of(sitting, "c027"), text_of(by_id(LESSON)["c027"])
    write(sitting, "c027", given.replace("wait_all();", "", 1))
    run(sitting, "c028")
    numbers = box.locator(".cm-cuda-found-number")
    assert numbers.count() >= 1 and "unwaited-copy" in " ".join(
        numbers.evaluate_all("all => all.map(each => each.title)")
    )
    keep(sitting, "live-editor")
    write(sitting, "c027", SMALL)
    box.locator(".live-editor").scroll_into_view_if_needed()
    box.locator(".cm-cuda-qualifier").first.wait_for()
    assert box.locator(".cm-cuda-qualifier").all_inner_texts() == ["__global__"]
    assert {"void", "float"} <= {*box.locator(".cm-line span").all_inner_texts()}
    assert box.locator(".cm-cuda-lines .cm-gutterElement").all_inner_texts()[-6:] == [*"123456"]
    box.locator(".cm-line", has_text="{").click()
    for key in ("End", "Enter", "i", "n", "t", " ", "i", ";", "Control+f"):
        sitting.keyboard.press(key)
    assert "{\n    int i;\n    int n;\n}" in editor_of(sitting, "c027").text()
    assert box.locator(".cm-search").is_visible()
    as_given(sitting, "c027")


def test_breaks_of_other_sittings_and_lessons_run_in_the_playground(playground):
    begin_with(playground, "specialised: a slot is filled too early")
    assert "deadlock" in press(playground, "Run")
    begin_with(playground, "two_buffers: no wait")
    assert "unwaited-copy" in press(playground, "Run")
    assert playground.locator(".cm-cuda-found-number").count() > 0


def test_a_link_brings_a_new_reader_to_the_same_report(playground, open_page):
    begin_with(playground, "two_buffers: no wait")
    first = press(playground, "Run")
    other = opened_by_a_new_reader(open_page, link_to(playground))
    assert other.locator("#which option:checked").inner_text() == "two_buffers: no wait"
    assert other.evaluate("playground.content()") == playground.evaluate("playground.content()")
    assert press(other, "Run") == first
    for page in (playground, other):
        assert page.said == [] and page.outside == []


def test_a_pasted_text_runs_its_report_is_in_view_on_a_phone_and_the_text_stays(playground):
    begin_with(playground, "two_buffers")
    playground.set_viewport_size({"width": 390, "height": 800})
    Editor(playground).fill("#include <cuda_fp16.h>\n" * 60 + MINE)
    assert SAID in press(playground, "Run")
    assert playground.evaluate("playground.content().name") == "mine"
    begin, height = playground.evaluate(
        "(({ top, height }) => [top, height])(playground.report.getBoundingClientRect())"
    )
    assert begin >= 0 and begin + min(height, 400) <= 800
    playground.reload()
    playground.wait_for_function("window.playground?.mine")
    assert Editor(playground).text().endswith(MINE)
    assert "Yours" in playground.locator(".live-whose").inner_text()
    playground.get_by_role("button", name="As it was").click()
    assert playground.evaluate("playground.content().name") == "two_buffers"
    assert playground.said == [] and playground.outside == []


FORBIDDEN = """Object.defineProperty(window, "localStorage", {
    get() { throw new DOMException("forbidden", "SecurityError"); },
})"""


def test_a_browser_that_keeps_nothing_is_named_and_asks_before_a_text_is_lost(live_host, browser):
    page = opened(browser, "about:blank")
    page.add_init_script(FORBIDDEN)
    page.goto(f"{live_host}/{SITTING}")
    assert "This browser keeps nothing here" in page.locator(".live-mine").inner_text()
    write(page, "c027", SMALL)
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.reload()
    assert asked == ["beforeunload"]
    page.context.close()


@in_long
def test_without_javascript_or_as_a_file_a_page_says_so_once(live_book, live_host, browser):
    for name in (SITTING, "playground.html"):
        plain, as_file = {"java_script_enabled": False}, (live_book / name).as_uri()
        for address, options, words in (
            (f"{live_host}/{name}", plain, "JavaScript is switched off"),
            (as_file, {}, "make serve"),
        ):
            page = opened(browser, address, **options)
            (said,) = page.locator(".live-hint").filter(visible=True).all_inner_texts()
            assert words in said and page.locator("button.live-run").count() == 0
            assert page.said == [] and page.outside == []
            page.context.close()
