"""JupyterLab as a learner meets it, from `make lab` on: a lesson runs, exercises are judged, Stop stops, an update
leaves what was written.

CI opens lesson 00; COURSE_ALL_LESSONS=1 opens each one, and the notebooks with more exercises.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from course_lib.lessons import sources
from tests.browser.live import PATIENCE
from tests.cupy_or_sim.test_style import contrast
from tests.rules import ROOT
from tests.sample import in_long

FIRST, *OTHERS = (path.name for path in sources.notebooks(sources.NOTEBOOKS))
MORE = [
    path.relative_to(sources.NOTEBOOKS).as_posix()
    for path in sources.every_notebook(sources.NOTEBOOKS)
    if path.parent != sources.NOTEBOOKS
]
CELL = ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell"
ENDLESS = """# in place of check_exercise("00.3", ...)
spin = 'extern "C" __global__ void spin(int* x) { while (true) atomicAdd(x, 1); }'
simulate(cp.RawKernel(spin, "spin", options=OPTIONS), (1,), (32,), (np.zeros(1, np.int32),), max_steps=10**10)
"""
MINUTES = 10  # for all cells of a lesson, on a busy machine


class Lab:
    """A clone of the course, and JupyterLab on its copies."""

    def __init__(self, folder: Path) -> None:
        self.root, self.mine = folder / "course", folder / "course" / "my_lessons"
        self.root.mkdir()
        self.git("init", "-q")
        tracked = ["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "-z"]
        names = subprocess.run(tracked, check=True, capture_output=True).stdout
        subprocess.run(["xargs", "-0", "cp", "--parents", "-t", self.root], input=names, check=True, cwd=ROOT)
        self.commit()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        of = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
        of += ("JUPYTERLAB_WORKSPACES_DIR", "JUPYTERLAB_SETTINGS_DIR")
        self.env = os.environ | {name: str(folder / name) for name in of}  # not those of who runs the tests
        self.env |= {"PYTHONPATH": str(self.root), "COURSE_BACKEND": "simulator"}
        options = ["--no-browser", f"--port={self.port}", "--IdentityProvider.token=x"]
        self.log = open(folder / "lab.log", "w+")  # noqa: SIM115 - closed in stop
        command = [sys.executable, "-m", "hiding_latency", "lab", "--", *options]
        self.process = subprocess.Popen(
            command, cwd=self.root, env=self.env, stdout=self.log, stderr=self.log
        )

    def git(self, *arguments: str) -> str:
        named = ["git", "-c", "user.name=x", "-c", "user.email=x", *arguments]
        return subprocess.run(named, cwd=self.root, check=True, capture_output=True, text=True).stdout

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")

    def address(self, name: str) -> str:
        until = time.monotonic() + 120
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return f"http://127.0.0.1:{self.port}/lab/tree/my_lessons/{name}?reset&token=x"
            except OSError:
                assert self.process.poll() is None and time.monotonic() < until, self.said()
                time.sleep(0.2)

    def said(self) -> str:
        self.log.seek(0)
        return self.log.read()

    def progress(self) -> list[dict]:
        return [json.loads(line) for line in (self.mine / "progress.jsonl").read_text().splitlines()]

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.process.kill()  # its kernels end when it is gone
            self.process.wait()
        self.log.close()


@pytest.fixture(scope="module")
def lab(browser, tmp_path_factory):
    lab = Lab(tmp_path_factory.mktemp("lab"))
    yield lab
    lab.stop()


@pytest.fixture
def opened(lab, open_page):
    """opened(name): a page of Lab with this copy, its kernel at rest."""

    def open_one(name: str):
        page = open_page(lab.address(name))
        page.wait_for_selector(f"{CELL} .jp-InputPrompt", timeout=PATIENCE)
        at_rest(page)
        return page

    return open_one


def at_rest(page, seconds: float = 300) -> None:
    """Wait until the kernel is there and no cell waits for it, for 2 s: between two cells it is idle for a moment, and
    a cell that waits may be one that is not drawn."""
    page.wait_for_function(
        """() => {
            const rest = ![...document.querySelectorAll('.jp-InputPrompt')].some(e => e.textContent.includes('*'))
                && document.querySelector('#jp-main-statusbar').textContent.includes('| Idle');
            window.restSince = rest ? window.restSince ?? Date.now() : null;
            return rest && Date.now() - window.restSince > 2000;
        }""",
        timeout=1000 * seconds,
        polling=100,
    )
    page.evaluate("window.restSince = null")


def menu(page, name: str, entry: str) -> None:
    assert not page.locator("dialog").count(), page.locator("dialog").first.inner_text()
    page.click(f".lm-MenuBar-itemLabel:text-is('{name}')")
    page.click(f".lm-Menu-itemLabel:text-is('{entry}')")


def save(page) -> None:
    menu(page, "File", "Save Notebook")
    page.wait_for_selector(".jp-mod-dirty", state="detached", timeout=PATIENCE)


def cell_with(page, text: str):
    """The code cell with this text, on the screen; the notebook draws what is near it only."""
    page.evaluate("document.querySelector('.jp-WindowedPanel-outer').scrollTop = 0")
    found = page.locator(CELL).filter(has_text=text)
    for _ in range(60):
        if found.count():
            found.first.scroll_into_view_if_needed()
            return found.first
        page.evaluate("document.querySelector('.jp-WindowedPanel-outer').scrollTop += 500")
        page.wait_for_timeout(50)
    raise AssertionError(f"no cell with {text}")


def rewrite(page, cell, source: str) -> None:
    """Type this text in place of the cell's, and run it."""
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(source)
    page.keyboard.press("Control+Enter")


def source_of(lab, number: str, change) -> str:
    """The cell of an exercise as the lesson brings it, with the text changed."""
    cells = json.loads((lab.root / "notebooks" / FIRST).read_text(encoding="utf-8"))["cells"]
    source = next(text for c in cells if f'check_exercise("{number}"' in (text := "".join(c["source"])))
    return change(source)


def test_lab_asks_nothing_and_says_little_when_it_opens(lab, opened):
    """Jupyter's news is what it asks for by itself; a lesson that is unsaved at once, what it asks for in the end.
    Where it was typed stand our line and the address to open."""
    page = opened(FIRST)
    page.wait_for_timeout(2000)
    assert not page.locator(".jp-mod-dirty").count()
    assert "news" not in page.inner_text("body"), page.locator(".Toastify").all_inner_texts()
    assert "Nbgrader" not in page.locator(".lm-MenuBar-itemLabel").all_inner_texts()
    assert len(lab.said().splitlines()) <= 8, lab.said()


def test_names_are_whole_and_prose_is_as_wide_as_one_reads(opened, keep):
    page = opened(FIRST)
    page.locator(".jp-DirListing-itemText").first.wait_for()
    names = page.locator(".jp-DirListing-itemText").evaluate_all(
        "all => all.map(e => [e.innerText.trim(), e.scrollWidth <= e.clientWidth + 1 "
        "&& getComputedStyle(e).textOverflow])"
    )
    assert FIRST in [name for name, _ in names] and all(whole for _, whole in names), names
    page.set_viewport_size({"width": 1920, "height": 900})
    page.wait_for_timeout(500)
    widths = page.locator(".jp-MarkdownOutput").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect().width)"
    )
    assert 400 < max(widths) < 900
    keep(page, "lab-wide")


@pytest.mark.parametrize("name", [FIRST, *OTHERS, *MORE])
def test_a_lesson_runs_in_lab(lab, opened, keep, name):
    if name != FIRST and not os.environ.get("COURSE_ALL_LESSONS"):
        pytest.skip("only lesson 00 here; COURSE_ALL_LESSONS=1 runs all")
    page = opened(name)
    menu(page, "Run", "Run All Cells")
    page.wait_for_timeout(1000)
    at_rest(page, 60 * MINUTES)
    save(page)
    cells = json.loads((lab.mine / name).read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    meant = [c for c in cells if "raises-exception" in c["metadata"].get("tags", ())]
    assert sum(output["output_type"] == "error" for output in outputs) == len(meant)
    assert all(
        c["execution_count"] for c in cells if c["cell_type"] == "code" and "".join(c["source"]).strip()
    )
    html = ["".join(output.get("data", {}).get("text/html", "")) for output in outputs]
    pictures = [text for text in html if text.startswith("<img ")]
    assert all(re.search(r' alt="[^"]', text) for text in pictures)  # of all; drawn are those near the end
    assert not any({"image/png", "image/svg+xml"} & output.get("data", {}).keys() for output in outputs)
    drawn = page.locator(".jp-OutputArea-output img").evaluate_all(
        "all => all.map(i => [i.alt, i.naturalWidth])"
    )
    assert all(alt and width for alt, width in drawn)
    assert (pictures and drawn) or name in MORE, "a lesson has pictures, exercises need none"
    number = Path(name).name[:2]
    progress = cell_with(page, "# What you have solved").locator(".jp-OutputArea")
    progress.get_by_text(f"lesson {number}").wait_for(timeout=PATIENCE)
    keep(page, f"lab-{'exercises-' * (name in MORE)}{number}")
    assert page.outside == [] and lab.git("status", "--short") == ""
    assert "NbGrader | WARNING" not in lab.said()  # it is there in CI, for the classroom


def test_an_exercise_is_solved_another_one_fails_and_an_endless_one_is_stopped(lab, opened, keep):
    page = opened(FIRST)
    imports = "import numpy as np\n\nfrom course_lib import OPTIONS, check_exercise, cp, simulate\n"

    def run(number: str, change):
        cell = cell_with(page, f'check_exercise("{number}"')
        rewrite(page, cell, imports + source_of(lab, number, change))
        return cell

    rows = ("threadIdx.x % 32", "threadIdx.x / 32", "m + n * M")

    def filled(source: str) -> str:
        for gap in rows:
            source = source.replace("____", gap, 1)
        return source

    cell = run("00.1", filled)
    at_rest(page)
    assert "00.1 passed: right" in cell.inner_text()
    cell = run("00.2", lambda source: source.replace("____", "y[0] = 1;"))
    at_rest(page)
    assert re.search("00.2 not yet: .+ Hint: ", cell.inner_text())
    assert [(line["exercise"], line["solved"]) for line in lab.progress()] == [
        ("00.1", True),
        ("00.2", False),
    ]
    keep(page, "lab-verdicts")

    cell.locator("xpath=following-sibling::*[.//summary]").first.locator("summary").first.click()
    until = time.monotonic() + 60
    while "opened" not in lab.progress()[-1]:
        assert time.monotonic() < until, "what is unfolded is noted"
        page.wait_for_timeout(100)
    assert {"exercise": "00.2", "opened": "hint"}.items() <= lab.progress()[-1].items()

    cell = cell_with(page, 'check_exercise("00.3"')
    rewrite(page, cell, imports + ENDLESS)
    page.wait_for_timeout(2500)
    assert "[*]" in cell.inner_text()
    start = time.monotonic()
    page.click("[data-jp-item-name='interrupt'] button, jp-button[data-command='notebook:interrupt-kernel']")
    cell.locator(".jp-OutputArea-output", has_text="Interrupted").wait_for(timeout=PATIENCE)
    assert time.monotonic() - start < 2
    shown = cell.locator(".jp-OutputArea").inner_text().strip()
    assert len(shown.splitlines()) <= 3 and len(shown) < 300, shown
    keep(page, "lab-interrupted")
    cell = run("00.1", filled)  # the kernel goes on
    at_rest(page)
    assert "00.1 passed" in cell.inner_text()
    save(page)


RACE = r'''race = r"""
extern "C" __global__ void race(const float* x, float* y)
{
    __shared__ float tile[____];                      // one value of each thread
    tile[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = tile[255 - threadIdx.x];
}
"""
'''
SIMULATED = """import numpy as np
from course_lib import OPTIONS, check_exercise, cp, simulate
race = race.replace("____", "256")
report = simulate(cp.RawKernel(race, "race", options=OPTIONS), (1,), (256,), [np.zeros(256, np.float32)] * 2)
"""
VERDICT = 'check_exercise("00.3", cp.RawKernel(race, "race", options=OPTIONS))'
COLOURS = """cell => Object.fromEntries([...cell.querySelectorAll('.cm-line span')].map(
    span => [span.textContent.trim(), getComputedStyle(span).color]))"""
CURSOR = """() => {
    const node = getSelection().anchorNode;
    const line = (node.nodeType === 3 ? node.parentElement : node).closest('.cm-line');
    return [...line.parentElement.children].filter(e => e.matches('.cm-line')).indexOf(line) + 1;
}"""


def hexadecimal(colour: str) -> str:
    """Of "rgb(1, 2, 3)"."""
    return "#" + "".join(f"{int(part):02x}" for part in re.findall(r"\d+", colour)[:3])


def written(lab, name: str, texts: dict[str, str]) -> str:
    """A notebook with these cells, by id, among the learner's copies."""
    notebook = json.loads((lab.root / "notebooks" / FIRST).read_text(encoding="utf-8"))
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    notebook["cells"] = [cell | {"id": name, "source": text} for name, text in texts.items()]
    lab.address(name)  # when Lab answers, the folder is there
    (lab.mine / name).write_text(json.dumps(notebook))
    return name


@pytest.fixture
def kernel(lab, opened):
    """Lab with a kernel, and below it a report on it and a verdict: the page, and the three cells."""
    texts = {"kernel": RACE, "report": f"{SIMULATED}report", "verdict": VERDICT}
    page = opened(written(lab, "race.ipynb", texts))
    return page, *(page.locator(CELL).nth(place) for place in range(3))


def theme(page, name: str) -> None:
    page.click(".lm-MenuBar-itemLabel:text-is('Settings')")
    page.hover(".lm-Menu-itemLabel:text-is('Theme')")
    page.click(f".lm-Menu-itemLabel:text-is('{name}')")
    page.wait_for_selector(f"body[data-jp-theme-name='{name}']", state="attached")


def test_a_kernel_is_shown_as_cuda_and_its_lines_are_counted(kernel, keep):
    """Not as one string of Python; its first line is that of the quotes, as in a report."""
    page, cell, report, _ = kernel
    cell.locator(".cm-cuda-gap").wait_for()
    words = ("__global__", "void", "threadIdx", "// one value of each thread", '"C"', "255", "race")
    for name in ("JupyterLab Light", "JupyterLab Dark"):
        theme(page, name)
        colours = cell.evaluate(COLOURS)
        plain = cell.locator(".cm-content").evaluate("e => getComputedStyle(e).color")
        shown = [colours.get(word) for word in words]
        assert None not in shown and plain not in shown, colours
        assert len(set(shown)) >= 5, colours  # words, types, built-ins, comments, strings, numbers
        ground = cell.locator(".jp-InputArea-editor").evaluate("e => getComputedStyle(e).backgroundColor")
        comment = colours["// one value of each thread"]
        assert contrast(hexadecimal(comment), hexadecimal(ground)) >= 4.5, (name, comment, ground)
        keep(page, f"lab-kernel-{name.split()[1].lower()}")
    theme(page, "JupyterLab Light")
    numbers = cell.locator(".cm-cuda-lines .cm-gutterElement span").all_inner_texts()
    assert numbers == [str(line) for line in range(1, len(RACE.strip().splitlines()) + 1)]
    assert not report.locator(".cm-cuda-lines:visible").count(), "a cell of Python looks as before"

    cell.locator(".cm-line", has_text="tile[threadIdx.x] =").click()
    page.keyboard.press("Control+/")
    assert "    // tile[threadIdx.x] = x[threadIdx.x];" in cell.locator(".cm-content").inner_text()
    page.keyboard.press("Control+/")
    page.keyboard.press("End")
    page.keyboard.insert_text("if (threadIdx.x) {")
    page.keyboard.press("Enter")
    page.keyboard.insert_text("return;")
    assert "{\n        return;" in cell.locator(".cm-content").inner_text(), "it indents as C++"


@in_long
def test_the_colours_come_however_early_an_editor_is(kernel):
    """Lab's own Python and ours are loaded at the same time as the first cells are drawn."""
    page, cell, *_ = kernel
    for _ in range(10):
        page.reload()
        cell.locator(".cm-cuda-gap").wait_for(timeout=PATIENCE)
        at_rest(page)
        assert {"void", "// one value of each thread"} <= set(cell.evaluate(COLOURS))


def test_a_line_of_a_finding_puts_the_cursor_there_and_marks_it_until_it_is_edited(kernel, keep):
    page, cell, report, verdict = kernel
    menu(page, "Run", "Run All Cells")
    found = cell.locator(".cm-cuda-found")
    found.wait_for(timeout=PATIENCE)
    assert "255 - threadIdx.x" in found.inner_text()
    assert cell.locator(".cm-cuda-found-number").all_inner_texts() == ["▶ 6"]
    for output, text in ((report, "6"), (verdict, "line 6")):
        link = output.locator("a[href='#cuda-line/race/6']")
        link.wait_for(timeout=PATIENCE)
        assert link.inner_text() == text
        output.locator(".cm-content").click()
        link.click()
        page.wait_for_function(
            "document.activeElement.closest('.jp-CodeCell')?.innerText.includes('shared__')"
        )
        assert page.evaluate(CURSOR) == 6
    assert not page.locator("dialog").count() and not page.evaluate("location.hash")
    keep(page, "lab-report-clicked")

    page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    assert cell.locator(".cm-cuda-found-number").all_inner_texts() == ["▶ 7"], "it moves with its line"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    page.keyboard.type(" ")
    assert not found.count() and not cell.locator(".cm-cuda-found-number").count()
    report.locator("a[href^='#cuda-line']").click()
    page.wait_for_timeout(300)
    assert page.evaluate(CURSOR) == 7, "the text of a line counts for more than its number"
    at_rest(page)


@pytest.mark.parametrize(
    ("wrong", "line", "said"),
    [
        ("tile[threadIdx.x] = x[threadIdx.x]", 6, 'expected a ";"'),
        ("tile[threadIdx.x] = x[threadIdx.x];", 6, "A __syncthreads() is missing"),
    ],
    ids=["compiler", "launch"],
)
def test_an_error_of_a_launch_is_told_in_few_lines_and_its_line_is_marked(lab, opened, wrong, line, said):
    launch = (
        "from course_lib import OPTIONS, cp\n"
        'cp.RawKernel(race, "race", options=OPTIONS)((1,), (256,), (cp.zeros(256, cp.float32),) * 2)'
    )
    kernel = RACE.replace("____", "256").replace("tile[threadIdx.x] = x[threadIdx.x];", wrong)
    page = opened(written(lab, f"error{len(wrong)}.ipynb", {"kernel": kernel, "launch": launch}))
    menu(page, "Run", "Run All Cells")
    page.locator(CELL).first.locator(".cm-cuda-found").wait_for()
    assert page.locator(".cm-cuda-found-number").all_inner_texts() == [f"▶ {line}"]
    told = page.locator(".jp-RenderedText[data-mime-type*=stderr]").inner_text()
    assert said in told and "Traceback" not in told and len(told.splitlines()) < 10, told


@in_long  # its parts are tested without a browser in hiding_latency
def test_an_update_leaves_what_was_written(lab, opened, keep):
    page = opened(FIRST)
    cell = cell_with(page, "my_blocks = None")
    rewrite(page, cell, "my_blocks = 4\nmy_idle_threads = 24")
    at_rest(page)
    save(page)
    before = (lab.mine / FIRST).read_bytes()
    lesson = lab.root / "notebooks" / FIRST
    lesson.write_text(lesson.read_text().replace("# 00 · Start here", "# 00 · Start here, once more"))
    settings = lab.root / "pyproject.toml"
    settings.write_text(re.sub("(?m)^version = .*", 'version = "9.9.0"', settings.read_text()))
    lab.commit()  # as `git pull` would
    code = "from hiding_latency import copies, places; print(*copies.update(places.here()), sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=lab.root, env=lab.env, capture_output=True, text=True
    )
    beside = FIRST.replace(".ipynb", ".new-9.9.0.ipynb")
    assert f"you changed it, so it stays as it is. The new version is beside it: {beside}" in done.stdout, (
        done.stderr
    )
    assert (lab.mine / FIRST).read_bytes() == before
    page = opened(beside)
    page.locator("h1", has_text="Start here, once more").first.wait_for(timeout=PATIENCE)
    keep(page, "lab-updated")
    assert lab.git("status", "--short") == ""
