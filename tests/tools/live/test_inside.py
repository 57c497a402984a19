"""What runs inside the page, on this Python: cells in any order, their outputs, who is blamed, who compiles."""

import json
import re
import sys

import pytest

from course_lib import OPTIONS, cp, kernel_source, simulate
from course_lib.exercises.predictions import TELL
from course_lib.lessons import sources
from ptxsim.compiler import elsewhere as compiler
from ptxsim.compiler import nvrtc
from tests.lessons import cuda_of, replaced
from tests.lessons.reading import ANSWER, cells_of, tags_of, untold
from tests.lessons.test_lesson_kernels import EXERCISES
from tests.sample import sample
from tools.live.inside import blame, elsewhere, names, notebook, outputs
from tools.live.site import code_alone, course_files

LESSONS = sample(sources.every_notebook(sources.NOTEBOOKS), kind=lambda path: path.parent.name)


@pytest.fixture(autouse=True)
def stand_in():
    """As in the page, a stand-in for IPython; other tests shall not find it."""
    before = {name: sys.modules.get(name) for name in sys.modules if name.partition(".")[0] == "IPython"}
    outputs.stand_in_for_ipython()
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "IPython"]:
        del sys.modules[name]
    sys.modules |= before


def opened(*cells: str) -> notebook.Notebook:
    made = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {}, "source": text} for n, text in enumerate(cells)
    ]
    return notebook.Notebook(json.dumps({"cells": made}))


def text_of(found: list[dict]) -> str:
    """All that outputs show, as text: what was printed first, as the repository keeps a cell that also draws."""
    return "".join(
        "".join(each["text"]) if "text" in each else f"{''.join(each['data']['text/plain'])}\n"
        for each in sorted(found, key=lambda each: "text" not in each)
    ).strip()


@pytest.mark.parametrize(
    ("source", "read", "written"),
    [
        ("b = a + 1", {"a"}, {"b"}),
        ("a = 1\nb = a", set(), {"a", "b"}),
        ("a += 1", {"a"}, {"a"}),
        ("import numpy as np", set(), {"np"}),
        ("def f(x):\n    return x + k", {"k"}, {"f"}),
        ("def f(x, k=0):\n    return x + k", set(), {"f"}),
        ("[i for i in data]", {"data"}, set()),
        ("x[0] = y", {"x", "y"}, {"x"}),
        ("x.shape = y", {"x", "y"}, {"x"}),
        ("kernel((1,), (32,), (A, B))", {"kernel", "A", "B"}, {"A", "B"}),
        ("report = simulate(kernel, (1,), (32,), args)", {"simulate", "kernel", "args"}, {"report", "args"}),
        ("this is no Python", set(), set()),
    ],
)
def test_what_a_cell_reads_and_writes(source, read, written):
    assert [{*each} - {*dir(__builtins__), "range"} for each in names.reads_and_writes(source)] == [
        read,
        written,
    ]


def test_a_cell_runs_after_what_it_needs_and_nothing_else():
    book = opened("a = 2", "print('not needed')\nc = 1", "b = a * 10", "print(b)\nb + 1")
    answer = book.run("c3", {})
    assert text_of(answer["outputs"]) == "20\n21" and sorted(book.ran) == [0, 2, 3]


def test_a_cell_never_sees_what_was_made_below_it():
    book = opened("a = 1", "print(a)", "a = 2", "print(a)")
    order = ["c3", "c1", "c3"]
    assert [text_of(book.run(cell, {})["outputs"]) for cell in order] == ["2", "1", "2"]


def test_an_edited_cell_runs_again_and_so_does_what_needs_it():
    book = opened("a = None", "b = [a]", "print(b)")
    assert text_of(book.run("c2", {})["outputs"]) == "[None]"
    assert text_of(book.run("c2", {"c0": "a = 5"})["outputs"]) == "[5]"
    assert text_of(book.run("c2", {})["outputs"]) == "[None]"


def test_an_error_names_the_line_of_the_cell_and_a_cell_above_is_named():
    book = opened("a = 1\nb = 1 / 0", "print(b)")
    assert text_of(book.run("c0", {})["outputs"]) == "line 2 of the cell: ZeroDivisionError: division by zero"
    assert text_of(book.run("c1", {})["outputs"]).startswith("A cell above failed: a = 1\nline 2 of the cell")


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_prints_the_same_as_in_a_notebook_and_tells_nobody_what_they_shall_predict(
    path, monkeypatch
):
    """Every cell in what its own needs made: had one been missed, a name would be missing."""
    monkeypatch.delenv(TELL, raising=False)
    committed = {cell.get("id"): cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]}
    book = notebook.Notebook(code_alone(path.read_bytes()).decode())
    for cell in book.cells:
        said = book.run(cell.id, {})["outputs"]
        assert not [each for each in said if each["output_type"] == "error"], cell.id
        if "nbval-ignore-output" not in cell.tags:
            assert text_of(said) == untold(text_of(committed[cell.id]["outputs"])), cell.id
        assert not ANSWER.search(text_of(said)), cell.id


RACE = r"""
extern "C" __global__ void race(float* out)
{
    __shared__ float tile[64];
    tile[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
"""


def test_whoever_launches_the_report_is_noted_and_its_lines_are_blamed():
    out = cp.zeros(64, "float32")
    with blame.noted() as reports:
        simulate(cp.RawKernel(RACE, "race", options=OPTIONS), (1,), (64,), (out,))
    (found,) = blame.lines(blame.bad(reports))
    assert (found["kernel"], found["line"], found["kinds"]) == ("race", 6, ["read-after-write"])
    assert found["text"] == RACE.splitlines()[5]
    simulate(cp.RawKernel(RACE, "race", options=OPTIONS), (1,), (64,), (out,))
    assert len(reports) == 1, "only meanwhile"


def test_the_page_of_a_report_that_the_cell_does_not_show_comes_along():
    cells = (
        "from course_lib import cp, OPTIONS, simulate",
        f"race = r'''{RACE}'''\nk, out = cp.RawKernel(race, 'race', options=OPTIONS), cp.zeros(64, 'float32')",
        "print(simulate(k, (1,), (64,), (out,)).brief())",
        "simulate(k, (1,), (64,), (out,))",
    )
    book = opened(*cells)
    hidden, shown = book.run("c2", {}), book.run("c3", {})
    assert len(hidden["reports"]) == 1 and "#cuda-line/race/6" in hidden["reports"][0]
    assert shown["reports"] == [] and shown["blamed"] == hidden["blamed"] != []


def answered(notebook_of: str, cell: str, answer: str, changes=()) -> dict:
    """What the page gets of an exercise whose cell is filled with the text of the solution, some of it replaced."""
    book = notebook.Notebook((sources.NOTEBOOKS / f"{notebook_of}.ipynb").read_text(encoding="utf-8"))
    given, text = book.cells[book.place[cell]].source, cuda_of(answer)
    for old, new in changes:
        text = replaced(text, old, new)
    filled = given[: given.index('r"""') + 4] + text + given[given.rindex('"""') :]
    return book.run(cell, {cell: filled})


def test_a_right_answer_shows_no_hazard_of_the_altered_kernels_that_its_check_tries():
    answer = answered("02_producer_consumer", "e1a", EXERCISES["02.1"][1])
    assert "02.1 passed" in text_of(answer["outputs"])
    assert answer["reports"] == [] and answer["blamed"] == []


def test_a_wrong_answer_shows_the_report_that_its_verdict_names():
    solution = EXERCISES["02.1"][1]
    answer = answered("02_producer_consumer", "e1a", solution, [("wait_all();", "")])
    (page,) = answer["reports"]
    assert "02.1 not yet: unwaited-copy" in text_of(answer["outputs"]) and "unwaited-copy" in page
    assert "unwaited-copy" in answer["blamed"][0]["kinds"]


@pytest.mark.parametrize("kernel", ["early_copy", "round_trip"])
def test_a_text_with_the_headers_in_it_gives_the_same_ptx(kernel):
    """Lines and files too: a report names the same ones."""
    source = kernel_source("02_producer_consumer", kernel)
    whole = elsewhere.with_headers(source)
    assert "#include <course/" not in whole
    cuda = [option for option in OPTIONS if not option.startswith("-I")]
    known, alone = nvrtc.compile_ptx(source, (), OPTIONS).ptx, nvrtc.compile_ptx(whole, (), cuda).ptx
    plain = [re.sub(r'"[^"]*/(kernel\.cu)"', r'"\1"', text) for text in (known, alone)]
    assert re.findall(r"\.loc\s+\d+ \d+ \d+", plain[0]) == re.findall(r"\.loc\s+\d+ \d+ \d+", plain[1])
    assert plain[0].count("bar.sync") == plain[1].count("bar.sync")


def test_who_is_asked_gets_both_forms_of_the_text_and_an_answer_is_believed(monkeypatch):
    asked = []
    monkeypatch.setattr(compiler, "_send", [])
    monkeypatch.setattr(compiler, "_known", {})
    monkeypatch.setattr(elsewhere.cache, "HINTS", list(elsewhere.cache.HINTS))
    real = nvrtc.compile_ptx(RACE, (), OPTIONS).ptx

    def send(question):
        asked.append(json.loads(question))
        return json.dumps([200, {"ptx": real, "log": "", "lowered": {}}])

    elsewhere.ask_by(send)
    wanted = nvrtc.wanted(RACE + "// mine", OPTIONS)
    assert compiler._asked(wanted).endswith(real)
    assert asked[0]["source"] == RACE + "// mine" and asked[0]["whole"].startswith('#line 1 "kernel.cu"\n')


def test_the_page_asks_and_is_answered_in_json():
    from tools.live.inside import bridge  # it brings the stand-in for IPython

    asked = {"notebook": "00_start_here", "cell": "c05", "edits": {"c05": "print(1 + 1)"}}
    steps: list[str] = []
    answer = json.loads(bridge.ask("run", json.dumps(asked), steps.append))
    assert answer == {
        "outputs": [{"output_type": "stream", "name": "stdout", "text": "2\n"}],
        "reports": [],
        "blamed": [],
        "progress": "",
    }
    assert steps == [""]


def test_what_is_solved_is_kept_in_lines_as_in_jupyterlab_and_a_cell_as_given_is_no_answer():
    from tools.live.inside import bridge  # it brings the stand-in for IPython

    def asked(text, progress=""):
        question = {"notebook": "00_start_here", "cell": "c05", "edits": {"c05": text}, "progress": progress}
        return json.loads(bridge.ask("run", json.dumps(question)))

    passed = "from course_lib.exercises import logbook\nlogbook.keep_exercise('{}', True)"
    before = asked(passed.format("03.4"))["progress"]
    assert json.loads(before)["exercise"] == "03.4" and json.loads(before)["solved"] is True
    both = asked(passed.format("00.1"), before)["progress"].splitlines()
    assert both[0] == before.strip() and json.loads(both[1])["exercise"] == "00.1"
    shown = asked("from course_lib import show_progress\nshow_progress('00')", "\n".join(both))["outputs"]
    assert "✓ 00.1" in text_of(shown)
    exercise = next(
        cell for cell in cells_of(sources.NOTEBOOKS / "00_start_here.ipynb") if "exercise" in tags_of(cell)
    )
    given = {"notebook": "00_start_here", "cell": exercise["id"], "edits": {}, "progress": ""}
    assert json.loads(bridge.ask("run", json.dumps(given)))["progress"] == ""


def test_a_page_has_what_its_exercises_read():
    names = {name for name, _ in course_files()}
    assert {f"notebooks/answers/{name}" for name in ("lesson_01.py", "hints_01.toml", "hints.toml")} <= names
    assert not any("pyproject" in name for name in names)
