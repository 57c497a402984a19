"""A book whose cells run in the page, and what a reader does there, for the tests of it."""

import os
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from course_lib.lessons import sources
from hiding_latency.run import committed
from tests.lessons.reading import by_id
from tools.book.build import write_book
from tools.live import fetch

PATIENCE = 600_000
"""Milliseconds; on a quiet machine Python is ready after some seconds, and no cell takes half a minute."""

MINE = 'extern "C" __global__ void mine(float* out) { out[threadIdx.x] = 2.5f * threadIdx.x; }'
SAID = "argument 1 is now 0 2.5 5 7.5"
"""A kernel of one's own, which does not ship, and what a launch with 64 threads says."""


def python_is_there() -> bool:
    """Whether Python for a browser lies in build/pyodide. Where nothing may be missing, pip gets it: 77 MB, once."""
    return not fetch.missing() or bool(os.environ.get("COURSE_NOTHING_MISSING") and fetch.main([]) == 0)


def write_live_book(out: Path, names: list[str]) -> Path:
    """A book of these notebooks as committed, whose cells run."""
    found = [committed(sources.NOTEBOOKS / f"{name}.ipynb") for name in names]
    write_book(found, "recorded", out, live=True)
    return out


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def plain_server(folder: Path):
    """Any server of files: nobody compiles there. Its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


# ---- a page of a lesson


def cell_of(page, cell: str):
    return page.locator(f"div.cell.tag_live-{cell}")


def run(page, cell: str):
    """Run a cell and wait for what it prints; the box of its outputs."""
    box = cell_of(page, cell)
    box.locator("button.live-run").click()
    box.locator("button.live-run:enabled").wait_for()
    return box.locator(".live-output")


class Editor:
    """Where a reader writes, in a box of the page."""

    def __init__(self, box):
        self.area = box.locator(".live-editor .cm-content")

    def text(self) -> str:
        return self.area.evaluate("area => area.closest('.live-editor').editor.text")

    def fill(self, text: str):
        """As if it were pasted in the place of all."""
        self.area.evaluate("(area, text) => area.closest('.live-editor').editor.paste(text)", text)


def editor_of(page, cell: str) -> Editor:
    return Editor(cell_of(page, cell))


def write(page, cell: str, text: str):
    """Put a text into a cell, as a reader who edits it."""
    box = cell_of(page, cell)
    if not box.locator(".live-editor").count():
        box.get_by_role("button", name="Edit").click()
    Editor(box).fill(text)


def whose(page, cell: str) -> str:
    """What stands beside a cell of what the reader has there."""
    return cell_of(page, cell).locator(".live-whose").inner_text()


def as_given(page, cell: str):
    cell_of(page, cell).get_by_role("button", name="As in the lesson").click()


def printed(name: str, cell: str) -> str:
    """What a lesson has as printed, and not as HTML."""
    outputs = [each for each in by_id(name)[cell]["outputs"] if "text/html" not in each.get("data", {})]
    return "".join("".join(each.get("text") or each["data"]["text/plain"]) for each in outputs).strip()


def texts(box) -> str:
    return "\n".join(box.locator(".output:is(.stream, .text_plain) pre").all_inner_texts()).strip()


def loaded(page) -> list[str]:
    return page.evaluate("performance.getEntriesByType('resource').map(each => each.name)")


# ---- the playground


def press(page, name: str) -> str:
    """Press a button, wait, and return the report."""
    page.get_by_role("button", name=name, exact=True).click()
    page.wait_for_function("!playground.working")
    return page.locator("#live-playground .live-output").inner_text()


def link_to(page) -> str:
    page.get_by_role("button", name="Link to this").click()
    page.locator(".live-state", has_text="characters").wait_for()
    return page.url


def begin_with(page, label: str):
    """Choose a kernel by what stands in the list."""
    page.locator("#which").select_option(label=label)


def opened_by_a_new_reader(open_page, link: str):
    """A link in a profile that has nothing of ours; the page, ready to run."""
    page = open_page(link)
    page.set_default_timeout(PATIENCE)
    page.wait_for_function("window.playground?.inputs")
    return page
