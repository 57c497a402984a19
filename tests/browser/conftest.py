"""A real browser for the tests in this folder: the system's Chromium, driven by Playwright.

`browser` is one Chromium for all tests of a file: while Playwright runs, its process has an event loop, which tests of
other files would run into. `open_page(address, width=1280, dark=False)` opens an address and gives a Playwright page
that remembers what a reader would not see: `page.said`, errors in the console and in scripts, and `page.outside`, what
it asked of other machines. Such a request is refused. `keep(page, name)` leaves a picture in build/screenshots.
Without Chromium or Playwright these tests are skipped, or fail under COURSE_NOTHING_MISSING=1.

`live_book` is a book whose cells run in the page; `sitting` and `playground` are pages of it, each with a Python of its
own that all tests of a file share. Minutes of such tests are in `make long` only.
"""

import shutil
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.browser import live
from tests.hiding_latency.compile_service.conftest import serving
from tests.rules import lacking
from tests.sample import EVERY

collect_ignore = [] if EVERY else ["test_live_more.py", "test_live_lessons.py", "test_week.py"]
LESSON = "02_producer_consumer"
SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
HERE = ("localhost", "127.0.0.1", "::1")


def missing(what: str):
    """Skip the test, or fail where nothing may be missing."""
    lacking(f"{what} is missing: install Chromium, and `make install WITH=browser`")


@pytest.fixture(scope="module")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("Playwright")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if not path:
        missing("Chromium")
    with sync_playwright() as playwright:
        # The sandbox refuses to start as root, and in most containers.
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser):
    opened = []

    def open_one(address: str, width: int = 1280, dark: bool = False, height: int = 900, **options):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", **options
        )
        opened.append(context)
        page = watched(context.new_page())
        page.goto(address)
        return page

    yield open_one
    for context in opened:
        context.close()


def watched(page):
    """The page with two lists, `said` and `outside`, that fill while it is open."""
    page.said, page.outside = [], []
    page.on("console", lambda line: page.said.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: page.said.append(str(error)))

    def ask(route):
        address = urlsplit(route.request.url)
        if address.scheme in ("http", "https", "ws", "wss") and address.hostname not in HERE:
            page.outside.append(route.request.url)
            route.abort()
        else:
            route.continue_()

    page.context.route("**/*", ask)
    return page


def opened(browser, address: str, **options):
    """A page of one reader; an option is `storage_state`, what his browser keeps."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
    page = watched(context.new_page())
    page.set_default_timeout(live.PATIENCE)
    page.goto(address)
    return page


@pytest.fixture
def keep():
    """Keep a picture of the page at the end of its fades: `keep(page, "book-390-dark")`; CI keeps the folder."""

    def keep_one(page, name: str, full_page: bool = False) -> Path:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        page.screenshot(path=path, full_page=full_page, animations="disabled")
        return path

    return keep_one


@pytest.fixture(scope="session")
def live_book(tmp_path_factory):
    """One lesson, as committed."""
    if not live.python_is_there():
        missing("Python for a browser (`make live`)")
    return live.write_live_book(tmp_path_factory.mktemp("live") / "course", [LESSON])


@pytest.fixture(scope="module")
def live_host(live_book):
    """`hiding-latency serve`: the book with a compiler."""
    with serving(live_book, seconds=5) as server:
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.fixture(scope="module")
def plain_host(live_book):
    with live.plain_server(live_book) as address:
        yield address


@pytest.fixture(scope="module")
def shared(browser):
    """Pages for several tests, since each starts a Python of its own: `shared(address)`."""
    pages = {}

    def open_one(address: str):
        if address not in pages:
            pages[address] = opened(browser, address)
        return pages[address]

    yield open_one
    for page in pages.values():
        page.context.close()


@pytest.fixture
def sitting(shared, live_host):
    return shared(f"{live_host}/notebooks/{LESSON}-2.html")


@pytest.fixture
def playground(shared, live_host):
    return shared(f"{live_host}/playground.html")
