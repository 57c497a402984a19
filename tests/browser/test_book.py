"""The book in a browser, from plain files: what a reader sees on a phone, a tablet and a wide screen, light and dark.

It is made from the committed outputs of a few lessons; COURSE_ALL_LESSONS=1 takes all of them, and all exercises.
"""

import os
import re
from pathlib import Path

import pytest

from course_lib.lessons import sources
from hiding_latency import run
from hiding_latency.waiting import waiting
from tests.lessons.reading import ANSWER, cells_of
from tests.lessons.test_line_widths import CODE_SHOWN, KERNEL_SHOWN
from tests.rules import ROOT
from tests.sample import one_in, sample
from tools.author.numbers import text_shown
from tools.book.build import write_book
from tools.book.glossary import PAGE
from tools.book.pages import pages_of

SAMPLE = ("00", "03")
"""The first lesson, and the one with the most kinds of output: reports, diffs, machine code, tables, pictures."""
EVERY = sources.every_notebook(sources.NOTEBOOKS)
WHOLE = bool(os.environ.get("COURSE_ALL_LESSONS"))
PATHS = (
    EVERY
    if WHOLE
    else [path for path in sources.notebooks(sources.NOTEBOOKS) if path.name.startswith(SAMPLE)]
)
SHOWN = ("00_start_here", "00_start_here-1", "03_double_buffer-1", "03_double_buffer-2")
"""Of the sample's pages, the head of a lesson and three sittings."""
NAMES = [page.name for path in PATHS for page in pages_of(run.read(path), run.name_of(path))]
NAMES = NAMES if WHOLE else [name for name in NAMES if name in SHOWN]
FIRST = "notebooks/00_start_here-1"
"""A sitting with kernels, reports, figures, exercises and solutions."""
LINKED = ["cupy_or_sim/include/course/register_tile.cuh", "matmul/plans.py", "ptxsim/README"]
PAGES = [
    "index",
    PAGE,
    "docs/tuning",
    "docs/instructor",
    *(LINKED if WHOLE else ()),
    *(f"notebooks/{name}" for name in NAMES),
]
READERS = sample(
    ((name, dark) for at, name in enumerate(PAGES) for dark in (at % 2 == 0, at % 2 == 1)),
    kind=lambda case: case[0],
)
"""Every other page in the dark; each in light and dark with every case."""
SCREENS = (360, 768, 1280, 1920)
WIDTHS = one_in(5, [(name, width) for name in PAGES for width in SCREENS])
"""Each page at one width or two, in turn."""
CUT = """() => [...document.querySelectorAll("article pre, article table, article img, article svg")].filter(box => {
    if (!box.checkVisibility()) return false;
    for (let around = box; around.tagName !== "ARTICLE"; around = around.parentElement) {
        const style = getComputedStyle(around);
        if (/auto|scroll/.test(style.overflowX)) return false;
        if (around.scrollWidth > around.clientWidth + 1 && style.overflowX === "hidden") return true;
    }
    return box.getBoundingClientRect().right > innerWidth + 1 || box.scrollWidth > box.clientWidth + 1;
}).map(box => box.outerHTML.slice(0, 200))"""

LETTERS = 0.75
"""Of its own size a figure is drawn at least as large: letters of 12 pixels then have 9."""
SMALL = """least => [...document.querySelectorAll("article img")].filter(
    image => image.checkVisibility() && image.getBoundingClientRect().width < least * image.naturalWidth
).map(image => [image.alt.slice(0, 60), image.getBoundingClientRect().width, image.naturalWidth])"""
COLUMNS = {"numbered": KERNEL_SHOWN, "plain": CODE_SHOWN}
"""Characters of a line that a kernel, whose lines have numbers, and other code may have without being cut at 1280."""
SCROLLBAR = 15
"""Pixels that a page has less where the browser shows one; Playwright's shows none."""
WIDEST = """most => {
    for (const box of document.querySelectorAll("div.cell_input pre, div.cell_output pre")) {
        const number = [...box.querySelectorAll(".linenos")].at(-1);
        if (number) number.after("x".repeat(most.numbered) + "\\n");
        else box.append("\\n" + "x".repeat(most.plain));
    }
}"""
"""Each block of code gets a line of that width."""
CUT_CODE = """most => [...document.querySelectorAll("div.cell_input pre, div.cell_output pre")].filter(box => {
    const boxes = [box, box.closest(".output") ?? box];
    if (!box.checkVisibility() || boxes.every(each => each.scrollWidth <= each.clientWidth + 1)) return false;
    const numbers = box.querySelector(".linenos")?.textContent.length ?? 0;
    const longest = Math.max(...box.textContent.split("\\n").map(line => line.length)) - numbers;
    return longest <= (numbers ? most.numbered : most.plain);
}).map(box => box.textContent.slice(0, 200))"""
UNFOLD = """document.querySelectorAll("details.below-input").forEach(fold => { fold.open = true; })"""
"""Opens what came out: its looks are those of all outputs."""
SCROLLS = """() => [...document.querySelectorAll("div.highlight pre, div.cell_output pre")].filter(
    box => box.checkVisibility() && box.scrollWidth > box.clientWidth + 2 && !box.classList.contains("more")
).map(box => box.textContent.slice(0, 200))"""

MENUS = ("primary-toggle", "theme-switch-container")
"""Beside the title of a page's head."""
EACH_LOOK_ONCE = """() => {
    const seen = new Set();
    const ground = box => {
        const colour = getComputedStyle(box).backgroundColor;
        return colour === "rgba(0, 0, 0, 0)" && box.parentElement ? ground(box.parentElement) : colour;
    };
    const again = [...document.querySelectorAll("article pre")].flatMap(code => {
        const below = ground(code);
        return [...code.querySelectorAll("span")].filter(token => {
            const style = getComputedStyle(token);
            if (style.display !== "inline") return false;  // the rows of a diff, which would run together
            const look = [below, style.backgroundColor, style.color, style.fontWeight, style.fontSize].join();
            return seen.has(look) || (token.checkVisibility() && !seen.add(look));
        });
    });
    for (const token of again) token.replaceWith(...token.childNodes);
}"""
"""Makes tokens of code that look like one before them plain text: all of a lesson take axe 30 s."""


@pytest.fixture(scope="module")
def book(tmp_path_factory, browser):
    out = tmp_path_factory.mktemp("book") / "course"
    made = [run.committed(path) for path in PATHS]
    remarks = write_book(made, "recorded", out)
    of_all = [remark for remark in remarks if WHOLE or "xref_missing" not in remark]
    assert of_all == [], "a sample lacks the lessons beside it, and nothing else"
    return out


def address(book: Path, page: str) -> str:
    return (book / f"{page}.html").as_uri()


@pytest.mark.parametrize(("name", "width"), WIDTHS)
def test_a_page_is_whole_and_quiet(book, open_page, keep, name, width):
    page = open_page(address(book, name), width)
    assert page.locator("article details[open]").count() == 0
    page.evaluate(UNFOLD)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)  # the page follows the system
        keep(page, f"book-{name.replace('notebooks/', '').replace('/', '-')}-{width}-{theme}")
        assert page.evaluate("document.documentElement.dataset.theme") == theme
        assert page.evaluate(CUT) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"
        assert page.locator("article img:not([alt]), article img[alt='']").count() == 0
        assert page.said == [] and page.outside == []


@pytest.mark.parametrize("width", one_in(4, [1280, 1440, 1600, 1920]))
def test_code_of_the_agreed_width_is_not_cut(book, open_page, width):
    page = open_page(address(book, PAGES[-1]), width - SCROLLBAR)
    for name in PAGES:
        if name.startswith("notebooks/"):
            page.goto(address(book, name))
            page.evaluate(UNFOLD)
            page.evaluate("document.fonts.ready")
            page.evaluate(WIDEST, COLUMNS)
            assert page.evaluate(CUT_CODE, COLUMNS) == [], name
            sizes = page.evaluate("""[...document.querySelectorAll("div.highlight pre")].map(
                box => [parseFloat(getComputedStyle(box).fontSize), parseFloat(getComputedStyle(box).lineHeight)])""")
            assert all(letters >= 12 and line >= 1.4 * letters for letters, line in sizes)


@pytest.mark.parametrize("width", one_in(3, [390, 1280, 1920]))
def test_a_bar_of_the_first_page_is_as_long_as_the_speed_beside_it(book, open_page, width):
    page = open_page(address(book, "index"), width)
    bars = page.locator(".bar").evaluate_all("""all => all.map(
        bar => [bar.getBoundingClientRect().width, parseFloat(bar.parentElement.textContent)])""")
    longest, most = bars[-1]
    assert len(bars) == 8 and longest > 150
    assert [pytest.approx(longest * speed / most, abs=1) for _, speed in bars] == [bar for bar, _ in bars]


def test_what_scrolls_shows_it_until_its_end(book, open_page):
    page = open_page(address(book, FIRST), 390)
    page.evaluate("document.fonts.ready")
    assert page.evaluate(SCROLLS) == []
    box = page.query_selector("div.highlight pre.more")
    box.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
    page.wait_for_function("box => !box.classList.contains('more')", arg=box)


@pytest.mark.parametrize(("name", "dark"), READERS)
def test_nothing_stands_in_the_way_of_some_readers(book, open_page, name, dark):
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(address(book, name), 1280, dark, reduced_motion="reduce")
    page.wait_for_timeout(500)  # the theme fades its colours in
    page.evaluate(EACH_LOOK_ONCE)
    found = Axe().run(page).response["violations"]
    assert [
        (
            each["id"],
            each["nodes"][0]["html"][:300],
            each["nodes"][0]["failureSummary"][:300],
            len(each["nodes"]),
        )
        for each in found
        if each["impact"] in ("serious", "critical")
    ] == []


def test_comments_are_quieter_than_code_in_the_dark(book, open_page):
    page = open_page(address(book, FIRST), 1280, True, reduced_motion="reduce")
    page.wait_for_timeout(500)
    seen = page.evaluate("""() => [...document.querySelectorAll("div.highlight :is(.c, .c1, .cm)")].map(
        token => getComputedStyle(token).color)""")
    spread = [max(channels) - min(channels) for colour in set(seen) if (channels := rgb(colour))]
    assert seen and max(spread) < 40, f"grey, not a colour: {set(seen)}"


def rgb(colour: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", colour)[:3]]


@pytest.mark.parametrize("asked", ["barriers", "cp.async"])
def test_search_shows_where_a_word_stands(book, open_page, asked):
    page = open_page(address(book, "search") + f"?q={asked}")
    page.get_by_text("Search finished").wait_for()
    hits = page.locator("#search-results ul.search > li").all()
    marked = [hit.locator("ul.excerpts mark").all_inner_texts() for hit in hits]
    stem = asked.removesuffix("s")
    assert hits and sum(any(stem in mark.lower() for mark in found) for found in marked) >= len(hits) / 2
    place = page.locator("ul.excerpts a[href*='#']").first
    place.click()
    page.wait_for_load_state()
    assert (
        page.evaluate("document.getElementById(decodeURIComponent(location.hash.slice(1)))?.tagName")
        == "SECTION"
    )
    assert page.said == [] and page.outside == []


@pytest.mark.parametrize(
    ("asked", "first"), [("barriers", "0"), *([("wgmma", "07"), ("bank conflict", "0")] if WHOLE else [])]
)
def test_search_finds_lessons_first(book, open_page, asked, first):
    page = open_page(address(book, "search") + f"?q={asked}")
    page.get_by_text("Search finished").wait_for()
    found = page.locator("#search-results ul.search > li > a").evaluate_all("all => all.map(a => a.pathname)")
    lessons = [re.search(r"/notebooks/\d", path) is not None for path in found]
    assert f"/notebooks/{first}" in found[0] and lessons == sorted(lessons, reverse=True) and not all(lessons)


def test_search_for_a_word_that_is_nowhere(book, open_page):
    page = open_page(address(book, "search") + "?q=zyzzyva")
    page.get_by_text("did not match").wait_for()
    assert page.locator("ul.excerpts").count() == 0 and page.said == []


def test_reports_keep_their_columns(book, open_page):
    page = open_page(address(book, FIRST))
    fonts = page.evaluate("""[...document.querySelectorAll("div.cell_output pre")].map(
        box => [getComputedStyle(box).fontFamily, getComputedStyle(box).wordBreak])""")
    assert fonts and all("monospace" in font and breaks == "normal" for font, breaks in fonts)


@pytest.mark.parametrize("width", one_in(4, SCREENS))
def test_figures_have_letters_that_can_be_read(book, open_page, width):
    """A figure is drawn for 720 pixels; where there are fewer, its box scrolls, the page does not."""
    page = open_page(address(book, FIRST), width)
    for name in [*PAGES, "docs/house", "docs/measurements"]:
        page.goto(address(book, name))
        page.evaluate(UNFOLD)
        page.evaluate("document.fonts.ready")
        assert page.evaluate(SMALL, LETTERS) == [], name
        assert page.evaluate("document.documentElement.scrollWidth") == width, name
    page.goto(address(book, FIRST))
    assert page.locator("div.cell_output img").count() > 0


@pytest.mark.parametrize("width", [SCREENS[0], 390])
def test_a_long_title_is_shortened_on_a_phone(book, open_page, width):
    page = open_page(address(book, FIRST), width)
    head = page.locator("li.breadcrumb-item:not(.breadcrumb-home) a").first
    head.evaluate("link => { link.textContent = '07 · Hopper: copies and math that run on their own' }")
    assert page.evaluate("document.documentElement.scrollWidth") == width and head.count() == 1
    title = page.locator("li.breadcrumb-item:not(.breadcrumb-home):visible").bounding_box()
    before, behind = (page.locator(f".bd-header-article .{name}").bounding_box() for name in MENUS)
    assert before["x"] + before["width"] <= title["x"]
    assert title["x"] + title["width"] <= behind["x"]


def test_the_stripes_of_a_diff_are_as_long_as_its_longest_line(book, open_page):
    page = open_page(address(book, "notebooks/03_double_buffer-1"), 390)
    page.evaluate(UNFOLD)
    rows = page.evaluate("""[...document.querySelectorAll("div.cell_output pre")].flatMap(box =>
        [...box.querySelectorAll(":scope > span[style*='block;background']")].map(
            row => [row.offsetWidth, box.scrollWidth]))""")
    assert rows and [row for row in rows if row[0] < 0.9 * row[1]] == []


@pytest.mark.parametrize("kind", ["pre[style*=pre-wrap]", ".tag_exercise .cell_output pre"])
def test_a_report_and_a_verdict_are_read_on_a_phone_without_scrolling(book, open_page, kind):
    page = open_page(address(book, FIRST), 390)
    page.evaluate(UNFOLD)
    boxes = page.locator(f"div.cell{kind}" if kind[0] == "." else f"div.cell {kind}").evaluate_all(
        "all => all.map(box => box.scrollWidth - box.clientWidth)"
    )
    assert boxes and set(boxes) == {0}


def test_code_can_be_copied(book, open_page):
    page = open_page(address(book, FIRST), permissions=["clipboard-read", "clipboard-write"])
    box = page.locator("div.tag_kernel div.highlight").first
    box.hover()
    box.locator("button.copybtn").click()
    box.locator("button.copybtn.success").wait_for()
    code = page.evaluate("navigator.clipboard.readText()")
    without_numbers = "box => box.querySelectorAll('.linenos').forEach(number => number.remove())"
    box.evaluate(without_numbers)
    assert code.strip() == box.locator("pre").text_content().strip() and "__global__ void saxpy" in code
    assert page.locator(".cell_output div.highlight pre").count() > 0
    assert page.locator(".cell_output button.copybtn").count() == 0, "what code prints is not to be copied"
    assert page.said == [] and page.outside == []


@pytest.mark.skipif(not WHOLE, reason="the sample links to no listing")
def test_of_a_listing_the_code_is_copied_and_not_its_numbers(book, open_page):
    page = open_page(
        address(book, "cupy_or_sim/include/course/register_tile.cuh"),
        permissions=["clipboard-read", "clipboard-write"],
    )
    page.locator("div.highlight").hover()
    page.locator("button.copybtn").click()
    page.locator("button.copybtn.success").wait_for()
    header = ROOT / "cupy_or_sim" / "include" / "course" / "register_tile.cuh"
    code = page.evaluate("navigator.clipboard.readText()")
    assert code.strip() == header.read_text(encoding="utf-8").strip()


def test_a_finger_sees_the_copy_button(book, open_page):
    page = open_page(address(book, FIRST), 390, has_touch=True, is_mobile=True)
    shown = page.evaluate("getComputedStyle(document.querySelector('button.copybtn')).opacity")
    assert float(shown) == 1


def test_paper_has_no_solutions(book, open_page, keep):
    page = open_page(address(book, FIRST))
    page.locator("details.solution").first.locator("summary").click()
    assert page.locator("details.solution pre").first.is_visible()
    page.emulate_media(media="print")
    keep(page, "book-print")
    assert not any(fold.is_visible() for fold in page.locator("details.solution").all())
    assert page.evaluate(CUT) == []


@pytest.mark.parametrize("name", ["00_start_here-1", "00_start_here-2", "03_double_buffer-1"])
def test_what_came_out_is_seen_by_a_click_and_not_on_paper(book, open_page, name):
    page = open_page(address(book, f"notebooks/{name}"))
    article, cells = page.locator("article"), cells_of(name.rpartition("-")[0])
    told = {match[0] for cell in cells for match in ANSWER.finditer(text_shown(cell))}
    folds = [article.locator(f"div.tag_live-{cell} details.below-input") for cell in waiting(cells)]
    here = [fold for fold in folds if fold.count()]
    assert len(here) > 1 and any(line in article.text_content() for line in told)
    for media in ("screen", "print"):
        page.emulate_media(media=media)
        assert not [line for line in told if line in article.inner_text()]
        assert not any(fold.locator(".cell_output").is_visible() for fold in here)
    page.emulate_media(media="screen")
    for fold in here:
        assert fold.locator("summary").inner_text() == "What came out"
        fold.locator("summary").click()
        assert fold.locator(".cell_output").is_visible()
    assert [line for line in told if line in article.inner_text()]
    page.emulate_media(media="print")
    assert not [line for line in told if line in article.inner_text()], "paper cannot be folded"


def test_a_reader_gets_from_sitting_to_sitting(book, open_page):
    page = open_page(address(book, "notebooks/00_start_here"))
    page.locator("article li a").first.click()
    page.wait_for_url(address(book, FIRST))
    following = page.locator(".prev-next-footer a.right-next")
    assert "Sitting 2" in following.inner_text()
    following.click()
    page.wait_for_url("**/00_start_here-2.html")
    assert "Sitting 1" in page.locator(".prev-next-footer a.left-prev").inner_text()
    assert page.locator(".bd-sidebar-primary li.current a", has_text="min)").count() > 1, (
        "its sittings are open"
    )
    page.locator(".bd-breadcrumbs a", has_text="00").click()
    page.wait_for_url(address(book, "notebooks/00_start_here"))
    assert page.said == []


def test_a_reader_gets_from_the_first_page_to_a_lesson_and_a_word(book, open_page):
    page = open_page(address(book, "index"))
    run, read = (page.locator(".start a", has_text=word) for word in ("Run it", "Read"))
    read.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    # A key starts on its way to a place and does not wait for it.
    page.wait_for_url("**/index.html#run-it")
    assert page.locator("#run-it pre").is_visible() and run.is_visible()
    read.click()
    page.locator("article li a").first.click()
    page.locator("a.word").first.click()
    page.wait_for_url("**/docs/glossary.html#term-*")
    assert page.said == []
