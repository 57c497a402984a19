"""`python -m tests.browser.lite_trial [LESSON ...]`: run lessons in the JupyterLite site and compare what they print.

The site is in build/course/lite (`python -m tools.live.lite`). A lesson's line: code cells; how many print another text
than in the repository, of those that print the same everywhere; errors that were not meant; requests to other hosts;
seconds until Python is there, and for all cells; memory of the browser's process for the page; what was loaded.
What differs goes to build/lite-differences.json, pictures to build/screenshots.
"""

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from course_lib.lessons import sources
from tests.browser.conftest import NAMES, SCREENSHOTS, watched
from tests.browser.lite import Opened, compared, errors, for_tests, served
from tools.live.lite.__main__ import ROOT, TARGET

FOUND = ROOT / "build" / "lite-differences.json"


def memory(chromium) -> int:
    """Megabytes of the largest of the browser's processes: the page's, in which Python runs."""
    processes = chromium.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return max(_resident(each["id"]) for each in processes if each["type"] == "renderer") // 1000


def _resident(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def try_one(chromium, address: str, name: str, dark: bool) -> tuple[str, list, bool]:
    """The lesson's line, what it prints otherwise, and whether it failed."""
    scheme = "dark" if dark else "light"
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    page, begin, sizes = watched(context.new_page()), time.monotonic(), []
    # What goes through the page's service worker is told twice.
    context.on(
        "response",
        lambda reply: sizes.append(
            int(reply.headers.get("content-length", 0)) * (not reply.from_service_worker)
        ),
    )
    try:
        notebook = Opened(page, address, name)
        ready = time.monotonic()
        cells = notebook.run_all()
        end = time.monotonic()
        count, others = compared(cells, name)
        wrong = errors(cells)
        code = sum(cell["cell_type"] == "code" for cell in cells)
        line = (
            f"{name[:2]}: {code} code cells, {len(others)} of {count} print another text, {len(wrong)} errors, "
            f"{len(page.outside)} requests to other hosts, ready {ready - begin:.0f} s, all cells {end - ready:.0f} s, "
            f"{memory(chromium)} MB of memory, {sum(sizes) / 1e6:.1f} MB loaded"
        )
        return "\n    ".join([line, *wrong, *page.outside]), others, bool(wrong or page.outside)
    finally:
        page.screenshot(path=SCREENSHOTS / f"lite-{name[:2]}-{scheme}.png")
        context.close()


def main(lessons: list[str]) -> int:
    """Return the exit status: 1 if anything failed, or another host was asked."""
    names = [path.name for path in sources.notebooks(sources.NOTEBOOKS)]
    wanted = [name for name in names if not lessons or name[:2] in lessons]
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    found, failed = {}, False
    with (
        tempfile.TemporaryDirectory(dir=ROOT / "build") as folder,
        served(for_tests(TARGET, Path(folder, "lite"))) as address,
        sync_playwright() as playwright,
    ):
        path = next(filter(None, map(shutil.which, NAMES)))
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for number, name in enumerate(wanted):
            line, found[name], bad = try_one(chromium, address, name, dark=number % 2 == 1)
            failed |= bad
            print(line, flush=True)
            FOUND.write_text(json.dumps(found, indent=1, ensure_ascii=False), encoding="utf-8")
        chromium.close()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
