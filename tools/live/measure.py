"""`python -m tools.live.measure [BOOK]`: how large and how quick a book's live cells are, in Chromium on this machine.

It opens a sitting of lesson 02 from plain files on this machine, starts Python and runs a Break twice. Printed are
megabytes, seconds until Python was there and ready, seconds of the Break, memory of the tab, and the work of the tab's
process, which tells more than seconds where others work on the machine, too. Needs `make live` and
`make install WITH=browser`.
"""

import os
import shutil
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE, BREAK = "notebooks/02_producer_consumer-1.html", "c009"
NOTE_STEPS = """() => {
    window.steps = {};
    python.listeners.add(() => { steps[python.state] ??= performance.now(); });
}"""
RUN = """async cell => {
    const begin = performance.now();
    await python.ask("run", {notebook, cell, edits: {}}, {lessons: [notebook]});
    return (performance.now() - begin) / 1000;
}"""


class Counting(SimpleHTTPRequestHandler):
    """A server of files that counts what it sends."""

    sent = 0

    def copyfile(self, source, outputfile):
        Counting.sent += os.fstat(source.fileno()).st_size
        super().copyfile(source, outputfile)

    def log_message(self, *_):
        pass


def measure(book: Path) -> dict[str, float]:
    """What is printed, by its words."""
    from playwright.sync_api import sync_playwright

    with (
        ThreadingHTTPServer(("127.0.0.1", 0), partial(Counting, directory=str(book))) as server,
        sync_playwright() as playwright,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = chromium.new_page()
        page.set_default_timeout(300_000)
        page.goto(f"http://127.0.0.1:{server.server_port}/{PAGE}")
        page.wait_for_load_state("networkidle")
        of_the_page, before = Counting.sent, _tab(chromium)
        page.evaluate(NOTE_STEPS)
        page.evaluate("python.start()")
        page.wait_for_function("python.state === 'ready'")
        began, there, ready = (
            page.evaluate("steps")[step] for step in ("starting", "Python is here", "ready")
        )
        started = _tab(chromium)
        first, second = (page.evaluate(RUN, BREAK) for _ in range(2))
        after = _tab(chromium)
        found = {
            "MB of the page itself": of_the_page / 1e6,
            "MB more until the first Break has run": (Counting.sent - of_the_page) / 1e6,
            "seconds until Python and NumPy are there": (there - began) / 1000,
            "seconds until ready": (ready - began) / 1000,
            "seconds of work until ready": started[0] - before[0],
            "seconds of the first Break": first,
            "seconds of the same Break again": second,
            "seconds of work for both": after[0] - started[0],
            "MB of memory of the tab before": before[1],
            "MB of memory of the tab when ready": started[1],
            "MB of memory of the tab after the Breaks": after[1],
        }
        chromium.close()
        server.shutdown()
    return found


def _tab(chromium) -> tuple[float, float]:
    """Seconds of work and megabytes of memory of the process that shows the page."""
    processes = chromium.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    pages = [(each["cpuTime"], _megabytes(each["id"])) for each in processes if each["type"] == "renderer"]
    return max(pages, key=lambda page: page[1])


def _megabytes(process: int) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main(arguments: list[str]) -> int:
    """Return the exit status."""
    book = Path(arguments[0]) if arguments else ROOT / "build" / "course"
    if not (book / "_static" / "live" / "about.json").is_file():
        print(f"The cells of {book} do not run in the page: `make live` writes a book whose cells do.")
        return 1
    for words, value in measure(book).items():
        print(f"{value:8.2f} {words}")
    print(f"{os.getloadavg()[0]:8.2f} load of this machine, which has {os.cpu_count()} cores")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
