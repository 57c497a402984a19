"""All cells of all lessons, live in the book: they print what the lesson has as printed, but for what a reader shall
predict. Exercises get their verdicts, and links of the playground give a new reader the same report.

In `make long` only: half an hour. build/live_lessons.md has the tables afterwards.
"""

import json
import re
import time
from pathlib import Path

import pytest

from course_lib.lessons import sources
from hiding_latency import run
from tests.browser import live
from tests.browser.conftest import missing, watched
from tests.hiding_latency.compile_service.conftest import serving
from tests.lessons import cuda_of, replaced
from tests.lessons.reading import untold
from tests.lessons.test_lesson_kernels import EXERCISES, WRONG_ANSWERS
from tools.book.pages import pages_of
from tools.live.inside import notebook

TABLES = Path(__file__).parents[2] / "build" / "live_lessons.md"
LESSONS = [path.stem for path in sources.notebooks(sources.NOTEBOOKS)]
BANK = [f"exercises/{path.stem}" for path in sources.exercise_notebooks(sources.NOTEBOOKS)]
ALLOWED = {("00_start_here", "c03"): "which packages are installed, and whether there is a compiler"}
"""Cells that print something else in a page, and why."""
NOTE_ANSWERS = """() => {
    const ask = python.ask.bind(python);
    python.ask = async (...asked) => window.answer = await ask(...asked);
}"""
ASK_EDITED = """([notebook, cell, text]) =>
    python.ask("run", {notebook, cell, edits: {[cell]: text}}, {lessons: [notebook]})"""
ASK = "cell => python.ask('run', {notebook, cell, edits: {}}, {lessons: [notebook]})"


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    if not live.python_is_there():
        missing("Python for a browser (`make live`)")
    return live.write_live_book(tmp_path_factory.mktemp("live") / "course", [*LESSONS, *BANK])


@pytest.fixture(scope="module")
def host(book):
    """With a compiler: wrong answers do not ship."""
    with serving(book, seconds=20) as server:
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.fixture(scope="module")
def tables():
    """Lines for build/live_lessons.md, by title."""
    found: dict[str, list[str]] = {}
    yield found
    TABLES.parent.mkdir(exist_ok=True)
    parts = [f"## {title}\n\n" + "\n".join(lines) for title, lines in found.items()]
    TABLES.write_text("# The lessons live in the book\n\n" + "\n\n".join(parts) + "\n", encoding="utf-8")


@pytest.fixture
def open_live(browser, host):
    """Open a page of the book; its Python runs until another one is opened."""
    contexts = []

    def open_one(name: str):
        while contexts:
            contexts.pop().close()
        contexts.append(browser.new_context(viewport={"width": 1280, "height": 900}))
        page = watched(contexts[-1].new_page())
        page.set_default_timeout(live.PATIENCE)
        page.goto(f"{host}/notebooks/{name}.html")
        page.evaluate(NOTE_ANSWERS)
        return page

    yield open_one
    while contexts:
        contexts.pop().close()


# ---- every cell


def code_cells(page) -> list:
    return [cell for cell in page.notebook.cells if cell.cell_type == "code" and cell.id != notebook.NEVER]


def parts_of(name: str) -> list:
    """The pages of a notebook that have code."""
    return [
        page for page in pages_of(run.read(sources.NOTEBOOKS / f"{name}.ipynb"), name) if code_cells(page)
    ]


def said(outputs: list[dict]) -> dict[str, str]:
    """What a cell shows, by form: all that it prints, and all in each other form. Jupyter keeps what is printed, and
    what is shown in between, in another order than a page."""
    found: dict[str, str] = {}
    for each in outputs:
        data = {"printed": each["text"]} if "text" in each else each.get("data", {})
        if each["output_type"] == "error":
            data = {"error": each["evalue"]}
        for form, text in data.items():
            found[form] = found.get(form, "") + "".join(text)
    return found


def live_answer(page, cell) -> list[dict]:
    """Run a cell by its button, or, where it shows nothing and has none, by a question to Python."""
    if live.cell_of(page, cell.id).locator("button.live-run").count():
        live.run(page, cell.id)
        return page.evaluate("answer.outputs")
    return page.evaluate(ASK, cell.id)["outputs"]


def differences(cell, outputs: list[dict]) -> list[str]:
    """The forms that differ from the lesson's own; pictures are there or not."""
    here, there = said(cell.outputs), said(outputs)
    if "printed" in here:
        here["printed"] = untold(here["printed"])
    pictures = {form for form in here | there if form.startswith("image/")}
    return sorted(
        form
        for form in here | there
        if (form in here) != (form in there)
        or (form not in pictures and here[form].strip() != there[form].strip())
    )


@pytest.mark.parametrize("name", LESSONS)
def test_every_cell_prints_what_the_lesson_has_as_printed(name, open_live, tables):
    ran, breaks, differ, begin = 0, 0, {}, time.monotonic()
    for part in parts_of(name):
        page = open_live(part.name)
        for cell in code_cells(part):
            assert page.evaluate(
                "id => cells.find(each => each.id === id).given", cell.id
            ) == cell.source.rstrip("\n")
            outputs = live_answer(page, cell)
            ran += 1
            breaks += bool(page.evaluate("answer.blamed.length"))
            if (forms := differences(cell, outputs)) and (name, cell.id) not in ALLOWED:
                differ[cell.id] = forms, said(cell.outputs), said(outputs)
        assert page.said == [] and page.outside == []
    lines = tables.setdefault(
        "Cells", ["| lesson | cells | with a hazard | differ | seconds |", "|---|--:|--:|---|--:|"]
    )
    lines.append(f"| {name} | {ran} | {breaks} | {', '.join(differ)} | {time.monotonic() - begin:.0f} |")
    (TABLES.parent / f"live_{name}.json").write_text(json.dumps(differ, indent=1))
    assert differ == {}


# ---- exercises


def filled(source: str, name: str, changes=()) -> str:
    """The cell of an exercise as a reader fills it: with the text of its solution, some of it replaced."""
    solution = EXERCISES[name][1]
    for old, new in changes:
        solution = replaced(solution, old, new)
    if "```cuda" in solution:
        return source[: source.index('r"""') + 4] + cuda_of(solution) + source[source.rindex('"""') :]
    answer = re.search(r"```python\n(.*?)```", solution, re.DOTALL)[1]
    parts = re.findall(r"^(my_[a-z_]+) = None", source, re.MULTILINE)
    if "my_answer" in answer and "my_answer" not in source and parts:  # the cell has a name for each part
        answer += f"{', '.join(parts)} = my_answer\n"
    *above, check = source.rstrip().split("\n")
    return "\n".join([*above, answer, check])


def judged() -> dict[str, list[tuple]]:
    """By notebook: cell, exercise. Those whose answer is one kernel, or Python without a kernel."""
    found = {}
    for name in [*LESSONS, *BANK]:
        for part in parts_of(name):
            for cell in code_cells(part):
                exercise = re.search(r'check_exercise\("([\d.]+)"', cell.source)
                if (
                    "exercise" in cell.metadata.get("tags", ())
                    and exercise
                    and _is_one(cell.source, exercise[1])
                ):
                    found.setdefault(name, []).append((cell, exercise[1]))
    return found


def _is_one(source: str, exercise: str) -> bool:
    kernel, python = (kind in EXERCISES[exercise][1] for kind in ("```cuda", "```python"))
    return kernel != python and (python or source.count('r"""') == 1) and wrong_answer(exercise) is not None


def wrong_answer(exercise: str):
    """The first one that changes text of the solution: (what is wrong, changes, hint)."""
    solution = EXERCISES[exercise][1]
    for answer in WRONG_ANSWERS[exercise]:
        if all(isinstance(new, str) and old in solution for old, new in answer[1]):
            return answer
    return None


JUDGED = judged()


def test_there_are_forty_exercises_with_one_answer():
    assert sum(map(len, JUDGED.values())) >= 40


@pytest.fixture(scope="module")
def one_python(browser, host):
    """A page whose Python judges all exercises, asked as a button asks it: `ask(notebook, cell, text)` gives what the
    cell prints, how many texts this host had to compile, and which reports the page shows."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, sent = watched(context.new_page()), []
    page.set_default_timeout(live.PATIENCE)
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.goto(f"{host}/notebooks/{LESSONS[0]}-1.html")

    def ask(name: str, cell: str, text: str) -> tuple[str, int, list[str]]:
        before = len(sent)
        answer = page.evaluate(ASK_EDITED, [name, cell, text])
        shown = said(answer["outputs"])
        text = shown.get("printed", "") + shown.get("text/plain", "")
        return text, len(sent) - before, answer["reports"]

    yield ask
    assert page.said == [] and page.outside == []
    context.close()


@pytest.mark.parametrize("name", JUDGED)
def test_right_and_wrong_answers_get_their_verdicts(name, one_python, tables):
    differ = []
    for cell, exercise in JUDGED[name]:
        _, changes, hint = wrong_answer(exercise)
        right, compiled, reports = one_python(name, cell.id, filled(cell.source, exercise))
        wrong, _, _ = one_python(name, cell.id, filled(cell.source, exercise, changes))
        if f"{exercise} passed" not in right or compiled or reports:
            differ.append((exercise, compiled, right, reports))
        if f"{exercise} not yet" not in wrong or hint not in wrong:
            differ.append((exercise, hint, wrong))
    names = ", ".join(exercise for _, exercise in JUDGED[name])
    lines = tables.setdefault(
        "Exercises", ["| notebook | a right and a wrong answer of | differ |", "|---|---|---|"]
    )
    lines.append(f"| {name} | {names} | {', '.join(each[0] for each in differ)} |")
    assert differ == []


# ---- links


LINKS = 20


def test_twenty_links_give_a_new_reader_the_same_report(host, browser, tables):
    def opened(address: str):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = watched(context.new_page())
        page.set_default_timeout(live.PATIENCE)
        page.goto(address)
        page.wait_for_function("window.playground?.inputs")
        return page

    first = opened(f"{host}/playground.html")
    labels = first.locator("#which option").all_inner_texts()
    chosen = [label for label in labels if ": " in label]  # the Breaks
    chosen += [label for label in labels if label not in chosen and label != "your own"]
    lines = tables.setdefault("Links", ["| kernel | characters | report |", "|---|--:|---|"])
    assert len(chosen) >= LINKS
    for label in chosen[:LINKS]:
        live.begin_with(first, label)
        report = live.press(first, "Run")
        link = live.link_to(first)
        other = opened(link)
        assert live.press(other, "Run") == report, label
        assert other.said == [] and other.outside == []
        other.context.close()
        lines.append(f"| {label} | {len(link)} | {report.strip().splitlines()[0][:80]} |")
    first.context.close()
