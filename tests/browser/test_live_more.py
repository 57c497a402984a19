"""The book's cells run in the page: predictions, exercises, figures, Stop, the playground, looks.

Compiler Explorer is a stand-in, which answers as its documentation says. In `make long` only: some minutes.
"""

import json

import pytest

from course_lib.lessons import sources
from cupy_or_sim import device
from hiding_latency.run import committed
from ptxsim.compiler import nvrtc
from tests.browser.conftest import LESSON
from tests.browser.live import (
    MINE,
    PATIENCE,
    SAID,
    Editor,
    as_given,
    begin_with,
    cell_of,
    link_to,
    press,
    printed,
    run,
    texts,
    write,
)
from tests.browser.test_book import CUT
from tests.lessons import cuda_of, replaced
from tests.lessons.reading import by_id, text_of
from tests.lessons.test_lesson_kernels import EXERCISES, WRONG_ANSWERS
from tools.book.build import write_sources


def test_a_figure_loads_what_it_needs_on_top(sitting):
    assert run(sitting, "c028").locator("pre span").count() > 20


def test_a_prediction_is_written_in_the_page_and_scored(sitting):
    write(sitting, "p3a", "my_after, my_early = 51, 9.34")
    said = texts(run(sitting, "c030p"))
    assert "FMAs after the copies: right, it is 51" in said and "you said 9.34 (2 times too high)" in said
    as_given(sitting, "p3a")
    said = texts(run(sitting, "c030p"))
    assert "early copy, ms: no prediction yet" in said and "it is" not in said
    assert not cell_of(sitting, "c030p").get_by_text("What came out").first.is_visible()


def answered(cell: str, name: str, changes=()) -> str:
    """The cell of an exercise as a reader fills it: with the text of its solution, some of it replaced."""
    _, solution = EXERCISES[name]
    text = cuda_of(solution)
    for old, new in changes:
        text = replaced(text, old, new)
    source = text_of(by_id(LESSON)[cell])
    return source[: source.index('r"""') + 4] + text + source[source.rindex('"""') :]


def test_an_exercise_is_judged_with_the_compiler_of_this_host(sitting):
    assert texts(run(sitting, "e2a")) == printed(LESSON, "e2a")
    write(sitting, "e2a", answered("e2a", "02.2"))
    assert "02.2 passed" in texts(run(sitting, "e2a"))
    _, changes, hint = WRONG_ANSWERS["02.2"][1]
    write(sitting, "e2a", answered("e2a", "02.2", changes))
    said = run(sitting, "e2a").inner_text()
    assert "02.2 not yet" in said and hint in said
    as_given(sitting, "e2a")


def test_stop_ends_a_loop_and_python_starts_again(sitting):
    write(sitting, "c040", "while True: pass")
    cell_of(sitting, "c040").locator("button.live-run").click()
    sitting.wait_for_timeout(500)
    cell_of(sitting, "c040").get_by_role("button", name="Stop").click()
    cell_of(sitting, "c040").locator("button.live-run:enabled").wait_for()
    assert "Stopped" in cell_of(sitting, "c040").locator(".live-state").first.inner_text()
    as_given(sitting, "c040")
    assert texts(run(sitting, "c040")) == printed(LESSON, "c040")


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False)])
def test_cells_that_ran_are_whole_at_each_width_and_axe_finds_nothing(sitting, keep, width, dark):
    run(sitting, "c028")
    look(sitting, keep, "live-sitting", width, dark)


def look(page, keep, name: str, width: int, dark: bool):
    from axe_playwright_python.sync_playwright import Axe

    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce")
    page.wait_for_timeout(500)  # the theme fades its colours in
    page.wait_for_function("document.getAnimations().every(each => each.playState !== 'running')")
    keep(page, f"{name}-{width}", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(CUT) == []
    found = Axe().run(page).response["violations"]
    hard = [each for each in found if each["impact"] in ("serious", "critical")]
    assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in hard] == []


def own_text(page, text: str):
    begin_with(page, "your own")
    Editor(page).fill(text)
    page.locator("[name=args]").fill("float32 64 zeros")


def test_a_break_of_another_lesson_runs_in_the_playground(playground):
    begin_with(playground, "round_trip: without its barrier")
    assert "read-after-write" in press(playground, "Run")
    assert playground.locator(".cm-cuda-found-number").count() > 0
    assert playground.said == [] and playground.outside == []


BROKEN = {
    "eJyrVi": "This link is broken",
    "!!!": "This link is broken",
    "eJyrVkrOzytJzStRslJQUqoFACpbBNY": "not made by this playground",
}
"""A link that was cut, one that was never one, one with {"content": ""}."""


def test_a_broken_or_foreign_link_is_said(plain_host, open_page):
    page = open_page(f"{plain_host}/playground.html")
    for part, words in BROKEN.items():
        page.goto(f"{plain_host}/playground.html?{part}#{part}")
        page.locator(".live-state", has_text=words).wait_for(timeout=PATIENCE)
    assert page.said == []


def test_the_serving_host_compiles_a_text_of_ones_own(playground):
    own_text(playground, MINE)
    assert SAID in press(playground, "Run")
    own_text(playground, MINE.replace("2.5f", "nothing"))
    assert 'identifier "nothing" is undefined' in press(playground, "Run")


class CompilerExplorer:
    """A stand-in: answers as its documentation says, with what NVRTC here makes. `asked`: what came."""

    def __init__(self, page):
        self.asked = []
        page.context.route("https://godbolt.org/**", self.answer)

    def answer(self, route):
        address, asked = route.request.url.partition("godbolt.org")[2], route.request.post_data
        self.asked.append((address, asked and json.loads(asked)))
        found = (
            self.compiled(json.loads(asked)["source"])
            if asked
            else [{"id": f"nvcc{n}", "name": "NVCC", "semver": f"{n}.0"} for n in ("9", "13", "12")]
        )
        route.fulfill(json=found, headers={"Access-Control-Allow-Origin": "*"})

    def compiled(self, source: str) -> dict:
        options = [each for each in device.OPTIONS if not each.startswith("-DCOURSE")]
        try:
            made = nvrtc.compile_ptx(source, (), options)
        except nvrtc.CompileError as error:
            return {"code": 2, "stderr": [{"text": str(error)}], "devices": {}}
        lines = [{"text": line} for line in made.ptx.splitlines()]
        return {"code": 0, "stderr": [], "asm": [], "devices": {"PTX (sm_80)": {"asm": lines}}}


def test_compiler_explorer_is_asked_after_a_yes_and_a_link_needs_no_compiler(plain_host, open_page):
    page = open_page(f"{plain_host}/playground.html")
    page.set_default_timeout(PATIENCE)
    explorer = CompilerExplorer(page)
    page.locator("#which").wait_for()
    own_text(page, MINE)
    assert "a browser has no CUDA compiler" in press(page, "Run")
    assert explorer.asked == [] and page.outside == []
    page.get_by_role("button", name="Send it to godbolt.org").click()
    page.get_by_text(SAID).wait_for()
    (_, _), (address, asked) = explorer.asked
    assert address == "/api/compiler/nvcc13/compile" and asked["source"].startswith('#line 1 "kernel.cu"\n')
    assert "-arch=compute_80" in asked["options"]["userArguments"]
    link = link_to(page)
    page.goto("about:blank")
    page.goto(link)
    page.locator("#which").wait_for()
    page.wait_for_function("window.playground?.inputs")
    report = press(page, "Run")
    assert "PTX that came with the link" in report and SAID in report and len(explorer.asked) == 2
    assert page.get_by_role("button", name="Send it to godbolt.org").is_visible()
    text = page.evaluate("playground.content().ptx && playground.editor.text")
    for changed in (f"{text} ", text):
        Editor(page).fill(changed)
        assert page.evaluate("playground.content().ptx") is None, "it was of another text"
    assert "a browser has no CUDA compiler" in press(page, "Run")


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False)])
def test_the_playground_is_whole_at_each_width_and_axe_finds_nothing(playground, keep, width, dark):
    begin_with(playground, "early_copy: a barrier less: all have read it")
    assert "write-after-read" in press(playground, "Run")
    look(playground, keep, "playground", width, dark)


def test_all_of_the_playground_is_reached_by_keyboard(playground):
    playground.locator("#which").focus()
    reached = set()
    for _ in range(14):
        reached.add(
            playground.evaluate(
                "document.activeElement.ariaLabel || document.activeElement.textContent.trim()"
            )
        )
        playground.keyboard.press("Escape")  # by which Tab leaves the editor
        playground.keyboard.press("Tab")
    source = "CUDA source of the kernel. Tab indents; Escape, then Tab, leaves."
    assert {"Run", "Check all sizes", "Link to this", source} <= reached


def test_a_book_without_python_has_none_of_it(tmp_path):
    source = tmp_path / "course"
    path = sources.NOTEBOOKS / "00_start_here.ipynb"
    write_sources([committed(path)], "recorded", source)
    assert not (source / "playground.md").exists()
    assert "playground" not in (source / "index.md").read_text(encoding="utf-8")


def test_the_first_page_leads_to_the_playground(live_host, open_page):
    page = open_page(f"{live_host}/index.html")
    page.get_by_role("link", name="Try it here").click()
    page.locator("#which").wait_for()
    assert page.url.endswith("/playground.html")
