"""A lesson in the JupyterLite site, in a real Chromium: it prints what the repository says, its progress outlives the
page, and a kernel that was edited is compiled by the host that serves the page, if that has a compiler.

`python -m tests.browser.lite_trial` runs all lessons. In `make long` only: minutes where others work too.
"""

import os
import re

import pytest

from course_lib.lessons import lite as in_course
from course_lib.lessons import sources
from tests.browser.conftest import missing, watched
from tests.browser.lite import Opened, compared, errors, for_tests, text_of
from tests.compile_service.conftest import serving
from tests.lessons import cuda_of, reading
from tools.live import fetch
from tools.live.lite import __main__ as lite
from tools.live.lite.lock import files

LESSON = "00_start_here.ipynb"


def text(cell: str) -> str:
    """A cell of the lesson in the repository."""
    return reading.text_of(reading.by_id(sources.NOTEBOOKS / LESSON)[cell])


@pytest.fixture(scope="module")
def host(tmp_path_factory, browser):
    """`hiding-latency serve`: the site beside a book, and a compiler."""
    anew = bool(os.environ.get("COURSE_NOTHING_MISSING"))
    if fetch.missing(files=files()) and not (anew and fetch.main([], files()) == 0):
        missing("Python for a browser (`make lite`)")
    if not (anew or lite.TARGET.is_dir()):
        missing("The site (`make lite`)")
    book = tmp_path_factory.mktemp("book")
    if anew:
        lite.build(book / "site")
    for_tests(book / "site" if anew else lite.TARGET, book / "lite")
    with serving(book, seconds=5) as server:
        yield f"http://127.0.0.1:{server.server_port}/lite"


@pytest.fixture(scope="module")
def notebook(host, browser):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="dark")
    yield Opened(watched(context.new_page()), host, LESSON)
    context.close()


def test_a_lesson_prints_what_the_repository_says(notebook, keep):
    cells = notebook.run_all()
    count, others = compared(cells, LESSON)
    assert not errors(cells) and count > 15 and others == []
    keep(notebook.page, "lite-1280-dark")


def test_it_says_what_a_browser_has_not(notebook):
    said = text_of(notebook.run("c03"))
    assert "a browser reaches no GPU" in said and "a browser has none" in said


def test_an_edited_kernel_is_compiled_by_the_host_that_serves_the_page(notebook):
    notebook.run("c03")  # its imports
    kernel = cuda_of(text("c33"))
    mine = re.sub(r'r""".*?"""', lambda _: f'r"""{kernel}// mine"""', text("c31"), flags=re.DOTALL)
    assert "00.1 passed" in text_of(notebook.run("c31", mine))
    notebook.run("c03", "import course_lib.lessons.lite\ncourse_lib.lessons.lite.SERVICE = '/nobody'")
    assert in_course.WITHOUT_COMPILER in text_of(notebook.run("c31", mine.replace("// mine", "// other")))


def test_the_progress_outlives_the_page(notebook):
    """The test above solved 00.1."""
    notebook.run("c11", 'from course_lib import score\n\nscore([("blocks", 4, 4)])')
    notebook.open_again()
    said = text_of(notebook.run("safe-progress"))
    assert "✓ 00.1" in said and "· 00.2" in said and "prediction" in said


def test_a_copy_that_is_deleted_is_the_sites_own_again(notebook):
    mine, given = notebook.page.evaluate(
        """async (name) => {
        const { contents } = window.jupyterapp.serviceManager;
        const get = async () => (await contents.get(name, { content: true })).content;
        const cells = async () => (await get()).cells.map(({ source }) => source);
        const mine = await cells();
        await contents.delete(name);
        return [mine, await cells()].map((each) => each.flat().join(""));
    }""",
        LESSON,
    )
    assert '("blocks", 4, 4)' in mine and '("blocks", 4, 4)' not in given and "show_env()" in given


def test_no_other_host_was_asked(notebook):
    assert notebook.page.outside == []
