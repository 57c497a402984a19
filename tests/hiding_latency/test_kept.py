"""What `make course` runs again: what changed, and what depends on it; the book when something in it changed."""

import json
from pathlib import Path

import nbformat
import pytest

from hiding_latency import kept
from hiding_latency import run as runner
from hiding_latency.outcome import code_cells, name_of, outcome, table
from hiding_latency.packages import PACKAGES
from tests.rules import ROOT
from tools import course
from tools.book.build import BookError

LIBRARY = (
    "course_lib/check/gemm.py",
    "cupy_or_sim/include/course/a.cuh",
    "course_lib/compiled/01_a.zip",
    "ptxsim/machine/machine.py",
    "assets/measurements/gpu.json",
    "requirements.lock",
)
OTHERS = ("docs/glossary.md", "course_lib/check/__pycache__/gemm.pyc", "assets/card.pdf", "tests/test_a.py")
CELLS = {
    "01_a": ("code", "tiled = 'a kernel'"),
    "02_b": ("code", 'kernel_source("01_a", "tiled")'),
    "03_c": ("markdown", "After [01](01_a.ipynb)."),
    "06_complete_gemm": ("code", "C = 1"),
    "07_d": ("code", "from course_lib import matmul"),
    "exercises/01_a": ("code", "answer = ____"),
}
FAILS = "03_c"


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    """A small course."""
    for name in (*LIBRARY, *OTHERS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("as it was")
    (tmp_path / "notebooks" / "exercises").mkdir(parents=True)
    for name, (kind, text) in CELLS.items():
        cell = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell}[kind](text)
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "notebooks" / f"{name}.ipynb")
    monkeypatch.setattr(course, "ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def run(root, monkeypatch):
    """Runs the course without a kernel, and returns the names of what ran and all outcomes."""
    ran = []

    async def run_lesson(path):
        notebook = runner.read(path)
        for cell in code_cells(notebook):
            cell.outputs = [nbformat.v4.new_output("stream", text="check passed: é\n")]
        ran.append(name_of(path))
        return outcome(ran[-1], notebook, 1.5, ["a reason"] * (ran[-1] == FAILS))

    def run(**options):
        ran.clear()
        outcomes = course.run_course(root / "notebooks", "simulator", **options)
        return set(ran), outcomes

    monkeypatch.setattr(runner, "run_lesson", run_lesson)
    return run


def change(path: Path) -> None:
    if path.suffix != ".ipynb":
        path.write_text("changed")
        return
    notebook = json.loads(path.read_text())
    notebook["cells"][0]["source"] = "# changed"
    path.write_text(json.dumps(notebook))


@pytest.mark.parametrize(
    ("file", "again"),
    [
        ("notebooks/01_a.ipynb", {"01_a", "02_b", "exercises/01_a"}),
        ("notebooks/02_b.ipynb", {"02_b"}),
        ("notebooks/exercises/01_a.ipynb", {"exercises/01_a"}),
        ("notebooks/06_complete_gemm.ipynb", {"06_complete_gemm"}),
        *((file, set(CELLS)) for file in LIBRARY),
        *((file, set()) for file in OTHERS),
    ],
)
def test_what_changed_runs_again_and_what_depends_on_it(root, run, file, again):
    assert run()[0] == set(CELLS)
    change(root / file)
    assert run()[0] == again | {FAILS}


def test_only_what_a_run_writes_may_change_in_a_notebook(root, run):
    run()
    path = root / "notebooks" / "01_a.ipynb"
    notebook = json.loads(path.read_text())
    output = nbformat.v4.new_output("stream", text="committed")
    notebook["cells"][0] |= {"execution_count": 7, "outputs": [output]}
    path.write_text(json.dumps(notebook, indent=3))
    assert run()[0] == {FAILS}
    notebook["cells"][0]["metadata"]["tags"] = ["raises-exception"]
    path.write_text(json.dumps(notebook))
    assert "01_a" in run()[0]


def test_what_did_not_run_again_is_as_it_was_and_is_said_to_be(run, capsys):
    _, first = run()
    assert "running 6 notebooks" in capsys.readouterr().out
    ran, second = run()
    assert ran == {FAILS}, "a failure is not remembered as done"
    said = capsys.readouterr().out
    assert "5 of 6 notebooks: as before" in said and "running 1 notebooks" in said
    assert [o.name for o in second] == [o.name for o in first], "in their order"
    for before, after in zip(first, second):
        assert after.before == (after.name != FAILS) and after.seconds == before.seconds == 1.5
        assert nbformat.writes(after.notebook) == nbformat.writes(before.notebook)
    assert table(second, "simulator").count("as before") == 5
    assert run(again=True)[0] == set(CELLS)


def test_another_machine_and_a_spoilt_file_run_again(root, run):
    run()
    spoilt = root / "build" / "ran" / "02_b.ipynb"
    spoilt.write_text(spoilt.read_text()[:-20])
    assert run()[0] == {"02_b", FAILS}
    keys = [
        kept.keys(root, [root / "notebooks" / "01_a.ipynb"], machine) for machine in ("simulator", "cupy")
    ]
    assert keys[0] != keys[1]


def test_the_book_is_written_when_something_in_it_changed(root, run, monkeypatch):
    written = []

    def write_book(outcomes, machine, out, live):
        out.mkdir(parents=True, exist_ok=True)
        written.append(out)
        return []

    monkeypatch.setattr(course, "write_book", write_book)
    _, outcomes = run()
    out = root / "build" / "course"

    def binds() -> int:
        before = len(written)
        assert course.bind(outcomes, "simulator", out)
        return len(written) - before

    assert (binds(), binds()) == (1, 0)
    outcomes = run()[1]
    assert binds() == 0, "kept runs are the same"
    change(root / "docs" / "glossary.md")
    assert (binds(), binds()) == (1, 0)
    outcomes[0].notebook.cells[0].outputs.clear()
    assert (binds(), binds()) == (1, 0)
    (out / "made-of").unlink()
    assert binds() == 1, "the book is not there"
    (root / "docs" / "glossary.md").write_text("again")

    def fails(*_):
        raise BookError("no")

    monkeypatch.setattr(course, "write_book", fails)
    assert not course.bind(outcomes, "simulator", out)
    monkeypatch.setattr(course, "write_book", write_book)
    assert binds() == 1, "a book that failed is tried again"


def test_the_library_reads_no_lesson_but_those_that_are_known():
    """A notebook that calls the library depends on no lesson: `matmul` has its kernels in headers, and names lesson 06
    in the keys of its plans alone."""
    names = [path.stem for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")]
    naming = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if path.name != "sources.py"
        and any(f'"{name}"' in path.read_text(encoding="utf-8") for name in names)
    }
    assert naming == {"matmul/matmul.py"}


def test_a_lesson_without_a_check_shows_none():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x")])
    shown = table([outcome("01_a", notebook, 1.0, [])], "simulator")
    assert "passed" not in shown and "0" not in shown.splitlines()[1].replace("1.0", "").replace("01_a", "")
