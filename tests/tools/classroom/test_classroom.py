"""From the release to marks with nbgrader's own commands: right, wrong, empty and hostile submissions."""

import csv
import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

from course_lib.lessons import sources
from tests.rules import ROOT, lacking
from tests.sample import in_long
from tests.tools.classroom import week
from tests.tools.classroom.hand_ins import CROWD, ENDLESS, NAME, PATCHED, answers, hand_in, marks
from tests.tools.classroom.hostile import HOSTILE
from tests.tools.classroom.test_sandbox import quietly
from tools.classroom import grade, release, sandbox
from tools.classroom.feedback import RULE

LESSON = sources.NOTEBOOKS / "00_start_here.ipynb"
ASSIGNMENTS = [
    name for name, path in release.notebooks().items() if '"exercise"' in path.read_text(encoding="utf-8")
]
"""Of a notebook without exercises there is none."""
LIMITS = ["--SandboxedExecute.timeout=15", f"--SandboxedExecute.most_memory={1 << 30}"]
"""Seconds for a cell, bytes for a submission."""


@pytest.fixture(scope="module")
def nbgrader():
    """A function that runs a command of nbgrader in a course; skips where there is no nbgrader or no sandbox."""
    if not importlib.util.find_spec("nbgrader"):
        lacking("nbgrader is not installed: make test WITH=classroom")
    if reason := sandbox.why_not():
        pytest.skip(reason)  # a system's to allow: it cannot be installed

    def run(course: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess:
        environment = os.environ | {"PYTHONPATH": str(ROOT)} | variables
        command = [sys.executable, "-m", "nbgrader", *arguments]
        return subprocess.run(
            command, cwd=course, env=environment, capture_output=True, text=True, timeout=900
        )

    return run


def given(nbgrader, course: Path, *names: str) -> None:
    """Assignments, as learners get them."""
    found = release.notebooks()
    release.write_course(course, found)  # all lessons: one may take a kernel of another
    release.write_course(course, {name: found[name] for name in names or [NAME]})
    for name in names or [NAME]:
        made = nbgrader(course, "generate_assignment", name)
        assert made.returncode == 0, made.stderr


def printed(course: Path, student: str, mark: str, name: str = NAME) -> str:
    """What a cell of a graded notebook printed, and its error."""
    notebook = nbformat.read(grade.graded(course, student, name), as_version=4)
    (cell,) = (c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == mark)
    return "".join(output.get("text", "") + output.get("evalue", "") for output in cell.outputs)


QUIET = """
import json, os, shutil, socket, time
from pathlib import Path

escaped = []

def attempt(what, action):
    try:
        if action():
            escaped.append(what)
    except (OSError, MemoryError):
        pass

def delete():
    seen = {place: os.path.exists(place) for place in [*PLACES, COURSE + "/course_lib/gemm.py"]}
    for place in [*PLACES, COURSE]:
        shutil.rmtree(place, ignore_errors=True)
    return seen != {place: os.path.exists(place) for place in seen}

def write():
    for place in [*PLACES, "/usr", "/etc", COURSE + "/course_lib", "/proc/sys/kernel"]:
        try:
            Path(place, "was_here").write_text("x")
            return True
        except OSError:
            pass

def solutions():
    for folder, _, files in os.walk(COURSE):
        for name in files:
            path = os.path.join(folder, name)
            if ".venv" not in path and any(text in open(path, errors="ignore").read() for text in SOLUTIONS):
                return True

def fill():
    with open(Path("/tmp", "large"), "wb") as file:
        for _ in range(1000):
            file.write(bytes(1 << 20))
    return True

attempt("deletes", delete)
attempt("writes", write)
attempt("finds solutions", solutions)
attempt("opens a socket", lambda: socket.create_connection(("127.0.0.1", PORT), 2))
attempt("looks up a name", lambda: socket.gethostbyname("example.org"))
attempt("fills the disk", fill)
attempt("takes 100 GB", lambda: bytes(100 << 30))
attempt("sees other processes", lambda: len([name for name in os.listdir("/proc") if name.isdigit()]) > 3)
attempt("signals others", lambda: os.kill(TEACHER, 0) is None)
attempt("knows secrets", lambda: "SECRET" in os.environ)
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        time.sleep(1000)

def check_exercise(name, answer):
    return type("Verdict", (), {"ok": True})
outer = None
print(json.dumps(["escaped", escaped]))
"""

HOG = """
kept = []
while True:
    kept.append(b"x" * (1 << 24))
"""
LARGE = """
import os
with open(os.path.join("/tmp", "large"), "wb") as file:
    os.posix_fallocate(file.fileno(), 0, 1 << 40)
"""
LOUD = 'print("x" * 100_000_000)'
SPINS = "while True: pass"
LOUD_IN_LINES = 'while True: print("a line " * 1000, flush=True)'


def state(*folders: Path) -> str:
    """Changes when a file of these folders does."""
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    known = [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files]
    return hashlib.sha256(repr(known).encode()).hexdigest()


def test_from_the_release_to_marks(nbgrader, tmp_path):
    course, home = tmp_path / "course", tmp_path / "home"
    home.mkdir()
    (home / "kept").touch()
    given(nbgrader, course)
    right = answers(LESSON)
    assert list(right) == ["00.1", "00.2", "00.3"]
    with_names = QUIET
    for name, value in {
        "PLACES": [str(home), str(course), str(ROOT / "notebooks"), str(ROOT / "tests")],
        "COURSE": str(ROOT),
        # a line of a solution in lesson 01
        "SOLUTIONS": [f"acc[j][i] += As[k][m + 32 * i] * Bs[k][n + {2 * 4} * j]"],
        "PORT": 22,
        "TEACHER": os.getpid(),
    }.items():
        with_names = re.sub(rf"\b{name}\b", lambda _, value=value: repr(value), with_names)
    hand_in(course, "right", right)
    hand_in(course, "wrong", right | {"00.3": right["00.3"].replace("__syncthreads();", "")})
    hand_in(course, "empty", {})
    hand_in(course, "quiet", right | {"00.1": with_names})
    hand_in(course, "loud", right | {"00.1": ENDLESS, "00.2": LOUD})
    hand_in(course, "lines", right | {"00.1": LOUD_IN_LINES, "00.2": "import os; os._exit(1)"})
    hand_in(course, "crowd", right | {"00.2": CROWD})
    hand_in(course, "hog", right | {"00.1": HOG, "00.2": LARGE})
    (course / "submitted" / "broken" / NAME).mkdir(parents=True)
    (course / "submitted" / "broken" / NAME / f"{NAME}.ipynb").write_text("{")

    before = state(home, ROOT / "notebooks", ROOT / "course_lib", course / "submitted", course / "source")
    graded = nbgrader(course, "autograde", NAME, *LIMITS, HOME=str(home), SECRET="x")
    after = state(home, ROOT / "notebooks", ROOT / "course_lib", course / "submitted", course / "source")
    assert "broken" in graded.stderr and graded.returncode == 1, "nbgrader says which file it cannot read"
    failed = re.findall(r"error processing assignment '.*' for student '(.*)'", graded.stderr)
    assert failed == ["broken"], graded.stderr
    quiet, stopped = printed(course, "quiet", "answer-00-1").split("Stopped: ")
    assert json.loads(quiet) == ["escaped", []]
    assert stopped.startswith("it left 5 processes running")
    assert "it started more than 10 processes" in printed(course, "crowd", "answer-00-2")
    assert "no complete answer in 15 seconds" in printed(course, "loud", "answer-00-1")
    assert "Stopped" in printed(course, "loud", "answer-00-2")
    assert "more than" in printed(course, "lines", "answer-00-1")
    assert "it took more than 1 GB of memory" in printed(course, "hog", "answer-00-1")
    assert "it took more than 1 GB of memory" in printed(course, "hog", "check-00-1"), (
        "the reason, not a NameError"
    )
    assert "File too large" in printed(course, "hog", "answer-00-2")
    assert "ended its kernel" in printed(course, "lines", "answer-00-2")
    assert before == after, "nothing outside changed"
    assert [
        path for path in Path("/proc").glob("[0-9]*/cmdline") if b"/run/connection.json" in quietly(path)
    ] == []
    sizes = {path: path.stat().st_size for path in (course / "autograded").rglob("*.ipynb")}
    assert max(sizes.values()) < 1_000_000, "what was printed is cut"

    for command in ("generate_feedback", NAME), ("export",):
        done = nbgrader(course, *command)
        assert done.returncode == 0, done.stderr
    expected = {"right": 3, "wrong": 2, "empty": 0, "quiet": 2, "loud": 1, "lines": 1, "crowd": 2, "hog": 1}
    assert marks(course) == expected | {"broken": "not graded yet"}
    for student in expected:
        page = (course / "feedback" / student / NAME / f"{NAME}.html").read_text(encoding="utf-8")
        assert f"Score: {expected[student]}.0 / 3.0" in page
        assert f"<head>{RULE}" in page, "a learner's script does not run in it"


SHOWS = """
from IPython.display import HTML, Markdown, display
from course_lib.draw import axes, new_figure, show
figure = new_figure(1)
axes(figure).plot([1, 2])
show(figure, "a line")
display(HTML("<table><tr><td>a cell</td></tr></table>"))
display(HTML(TAKES_OVER))
display(Markdown("[*slanted*](javascript:x)" + TAKES_OVER))
"""


@pytest.mark.parametrize(("points", "penalty", "score"), [(3.0, 0.0, 3.0), (3.0, 1.0, 2.0), (1.0, 2.0, 0.0)])
def test_a_penalty_is_taken_off_the_score(nbgrader, tmp_path, points, penalty, score):
    from tools.classroom import marks

    file = grade.graded(tmp_path, "kim", NAME)
    file.parent.mkdir(parents=True)
    file.touch()
    kim = SimpleNamespace(last_name="K", first_name="Kim", email=None)
    came = SimpleNamespace(
        timestamp=None, score=points, late_submission_penalty=penalty, total_seconds_late=90000
    )
    gradebook = SimpleNamespace(find_student=lambda _: kim, find_submission=lambda *_: came)
    row = marks._row(tmp_path, gradebook, SimpleNamespace(name=NAME, duedate=None, max_score=3.0), "kim")
    assert (row["raw_score"], row["late_submission_penalty"], row["score"]) == (points, penalty, score)
    assert row["remark"] == "late by 1 day, 1:00:00"


@in_long  # a minute; its parts stand in test_from_the_release_to_marks
def test_make_grade_says_what_came_what_is_missing_and_why(nbgrader, tmp_path, capsys, monkeypatch):
    """A locked cell that is gone costs nothing; a page shows what an answer shows, and nothing in it runs."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # in build/classroom the settings find it themselves
    other = "assignment_01_mainloop"
    given(nbgrader, tmp_path, NAME, other)
    right = answers(LESSON)
    takes_over = "".join(
        HOSTILE[name] for name in ("script", "meta refresh", "iframe", "event handler", "svg with a script")
    )
    shows = SHOWS.replace("TAKES_OVER", repr(takes_over))
    hand_in(tmp_path, "kim", right | {"00.1": right["00.1"] + shows})
    file = grade.submitted(tmp_path, "kim", NAME)
    notebook = nbformat.read(file, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.id not in ("needed", "check-00-1")]
    notebook.cells.append(nbformat.v4.new_markdown_cell("My *notes*." + takes_over))
    nbformat.write(notebook, file)
    hand_in(tmp_path, "lee", {})
    grade.submitted(tmp_path, "lee", NAME).write_text("{")
    hand_in(tmp_path, "max", {})
    grade.submitted(tmp_path, "max", NAME).unlink()

    monkeypatch.setattr(grade, "COURSE", tmp_path)
    assert grade.main() == 0, "one has marks; what is wrong with the others is said"
    said, wrong = capsys.readouterr()
    assert [line.partition(",")[0] for line in wrong.splitlines()[:-1]] == [
        f"cannot be graded: submitted/{student}/{NAME}" for student in ("lee", "max")
    ]
    assert re.search(rf"  \d of 3, kim, {NAME}: 3 of 3, \d+ s\n", said)
    assert re.search(rf"  \d of 3, lee, {NAME}: cannot be graded, it is no notebook", said)
    assert marks(tmp_path) == {
        "kim": 3,
        "lee": "it is no notebook (Notebook does not appear to be JSON: '{')",
        "max": f"the file {NAME}.ipynb is missing",
    }
    assert "lee,,,,?" in (tmp_path / "grades_wide.csv").read_text(encoding="utf-8-sig")
    with open(tmp_path / "grades.csv", newline="") as rows:
        assert {row["assignment"] for row in csv.DictReader(rows)} == {NAME}, f"nobody handed in {other}"
    page = (tmp_path / "feedback" / "kim" / NAME / f"{NAME}.html").read_text(encoding="utf-8")
    body = page.partition("<body>")[2]
    assert f"<head>{RULE}" in page and not re.search(
        r"<(script|meta|iframe|svg)|<[^>]*(onerror|javascript:)", body
    )
    assert re.search(r'<img (?=[^>]*alt="a line")[^>]*src="data:image/svg\+xml;base64,', body)
    for kept in (
        "<td>a cell</td>",
        "<em>slanted</em>",
        "<em>notes</em>",
        "Score: 3.0 / 3.0",
        '<span class="kn">import</span>',
        "00.3 passed",
    ):
        assert kept in body, kept

    for student in "lee", "max":
        hand_in(tmp_path, student, right)  # again, and whole
    assert grade.main() == 0
    assert "2 to grade, 1 as before" in capsys.readouterr().out
    assert marks(tmp_path) == {"kim": 3, "lee": 3, "max": 3}


PRINTED = """
from IPython.display import display
print("00.2 passed: right: the check finds no mistake in it.")
display({"text/plain": "1"}, raw=True)
any_launch = "____"
"""
LOGBOOK = """
import json, os
from pathlib import Path
for folder in Path("/tmp"), Path.cwd(), Path.home():
    (folder / ".course.json").write_text("{}")
    line = json.dumps({"exercise": "00.3", "solved": True, "answer": "0" * 16, "date": "2027-01-01"})
    (folder / "progress.jsonl").write_text(line)
os.environ["JPY_SESSION_NAME"] = str(Path("/tmp", "00_start_here.ipynb"))
"""
SHADOWS = """
import sys
import time
from pathlib import Path
for name in "course_lib", "tools/classroom", "cupy_or_sim", "json", "numpy":
    folder = Path("/tmp", name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "__init__.py").write_text(FAKE)
Path("/tmp", "tools/classroom/wire.py").write_text(FAKE)
Path("/tmp", "sitecustomize.py").write_text(FAKE)
sys.path.insert(0, "/tmp")
for name in [name for name in sys.modules if name.startswith(("course_lib", "cupy_or_sim", "tools"))]:
    del sys.modules[name]
"""
FAKE = """
def check_exercise(name, answer):
    return type("Verdict", (), {"ok": True})
def __getattr__(name):
    return lambda *a, **k: print("00.1 passed")
"""
READS = """
import os
from pathlib import Path
there = [path for path in Path(COURSE).rglob("*") if "answers" in path.name and "notebooks" in path.parts]
try:
    from course_lib.lessons import folders
    there.append(folders.module("answers.lesson_00"))
except ImportError:
    pass
print("found:", there)
"""


BEGINS = """
import os, threading, time
from IPython import get_ipython
from IPython.display import display
from ipykernel.kernelapp import IPKernelApp
from tools.classroom import wire
old = wire.hand_over

def hand_over(value):
    display("one")
    display("two", display_id="mark")
    old(value)

def sends():
    kernel = IPKernelApp.instance().kernel
    shown = {"data": {"text/plain": "1"}, "metadata": {}, "execution_count": 1}
    while True:
        for kind, content in ("execute_result", shown), ("comm_open", {}), ("clear_output", {"wait": False}):
            kernel.session.send(kernel.iopub_socket, kind, content, parent=kernel.get_parent())
        time.sleep(0.05)

wire.hand_over = hand_over
threading.Thread(target=sends, daemon=True).start()
"""
ENDS = """
for number in "one", "1", "2":
    transient = {"display_id": "mark"}
    get_ipython().display_pub.publish({"text/plain": number}, metadata={}, transient=transient, update=True)
if os.fork() == 0:
    os.setsid()
    time.sleep(1000)
"""
"""The first and the last cell of a notebook: outputs of what is handed over are changed later, by ids and in the
kernel's name; a process outlives its cell."""
UNKNOWN = """
def stops(*arguments, **options):
    raise Exception("cannot be graded, nobody knows what it is worth")
cp.RawKernel = stops
"""


def test_a_forged_verdict_gives_no_point(nbgrader, tmp_path, capsys, monkeypatch):
    """The check runs in another process, which gets an answer's values and nothing else."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    given(nbgrader, tmp_path)
    right = answers(LESSON)
    hand_in(tmp_path, "forger", {"00.1": PATCHED, "00.2": PRINTED, "00.3": LOGBOOK})
    file = grade.submitted(tmp_path, "forger", NAME)
    notebook = nbformat.read(file, as_version=4)
    for cell in notebook.cells:
        if cell.id.startswith("check-"):
            exercise = cell.id[6:].replace("-", ".")
            cell.outputs = [nbformat.v4.new_output("stream", text=f"{exercise} passed: right.")]
    first, last = nbformat.v4.new_code_cell(BEGINS, id="first"), nbformat.v4.new_code_cell(ENDS, id="last")
    mark = {
        "grade": True,
        "grade_id": "bonus",
        "locked": False,
        "points": 9,
        "schema_version": 3,
        "solution": False,
    }
    notebook.cells[0] = nbformat.v4.new_code_cell(
        "9", id=notebook.cells[0].id, metadata={"nbgrader": mark | {"task": False}}
    )
    notebook.cells[2:2] = [first]
    notebook.cells.append(last)
    notebook.metadata.given = notebook.metadata.judge = 3
    nbformat.write(notebook, file)
    shadows = SHADOWS.replace("FAKE", repr(FAKE))
    hand_in(
        tmp_path,
        "shadow",
        {"00.1": READS.replace("COURSE", repr(str(ROOT))), "00.2": shadows, "00.3": UNKNOWN},
    )
    hand_in(tmp_path, "restored", right | {"00.1": shadows + right["00.1"]})
    assert grade.grade(tmp_path) == []
    assert marks(tmp_path) == {"forger": 0, "shadow": 0, "restored": 0}
    assert printed(tmp_path, "shadow", "answer-00-1") == "found: []\n"
    said = next(line for line in capsys.readouterr().out.splitlines() if "forger" in line)
    assert said.count("the file that came says passed") == 3


@pytest.mark.skipif(
    os.environ.get("COURSE_ALL_LESSONS") != "1", reason="minutes: COURSE_ALL_LESSONS=1 grades all lessons"
)
@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_solutions_get_all_points_wrong_answers_and_the_stubs_none(nbgrader, tmp_path, name):
    lesson = release.notebooks()[name]
    given(nbgrader, tmp_path, name)
    right = answers(lesson)
    hand_in(tmp_path, "right", right, name)
    hand_in(tmp_path, "wrong", answers(lesson, wrong=True), name)
    hand_in(tmp_path, "stubs", {}, name)
    graded = nbgrader(tmp_path, "autograde", name)
    assert graded.returncode == 0, graded.stderr
    assert nbgrader(tmp_path, "export").returncode == 0
    notebook = nbformat.read(tmp_path / "autograded" / "right" / name / f"{name}.ipynb", as_version=4)
    checks = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    said = [output.get("text", output.get("evalue")) for cell in checks for output in cell.outputs[:1]]
    assert [text for text in said if "passed" not in text] == []
    assert marks(tmp_path) == {"right": len(right), "wrong": 0, "stubs": 0}
    stubs = nbformat.read(tmp_path / "autograded" / "stubs" / name / f"{name}.ipynb", as_version=4)
    errors = [
        output for cell in stubs.cells for output in cell.get("outputs", []) if output.output_type == "error"
    ]
    assert errors == [], "the stubs run"


@pytest.mark.skipif(os.environ.get("COURSE_ALL_LESSONS") != "1", reason="minutes: COURSE_ALL_LESSONS=1")
def test_a_teachers_week(nbgrader, tmp_path, capsys, monkeypatch):
    """Thirty submissions of one assignment, six of them broken, late, hostile, copied, handed in again, and empty."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    name, exercises = week.begin(tmp_path, "02")
    expected = week.hand_in_all(tmp_path, name)
    assert len(expected) == 30
    wrong, seconds = week.graded(tmp_path)
    lines = {line.split(", ")[1]: line for line in capsys.readouterr().out.splitlines() if " of 30, " in line}
    assert [line.split(", ")[0] for line in wrong] == [
        f"cannot be graded: submitted/broken/{name}",
        f"not graded yet: submitted/hostile/{name}",
    ]
    assert set(lines) == set(expected)
    assert marks(tmp_path) == expected | {"hostile": grade.LATER}
    shared = "PYTEST_XDIST_WORKER" in os.environ  # other tests have half of the cores
    assert seconds < (1200 if shared else 600), "ten minutes on two cores"
    last = exercises[-1]
    assert f"{last} cannot be graded, the answer was lost" in lines["broken"]
    assert "there is still a gap" in lines["empty"] and "put off" in lines["hostile"]
    with open(tmp_path / "grades_wide.csv", newline="", encoding="utf-8-sig") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert rows["broken"][last] == "?" and rows["empty"][last] == "0" and rows["copied"][last] == "1"
    assert rows["late"]["remarks"] == f"{name}: late by 1 day, 1:30:00"
    week.hand_in_again(tmp_path, name)
    assert week.graded(tmp_path)[0] == []  # broken's is as before
    assert "2 to grade, 28 as before" in capsys.readouterr().out
    assert "processes" in printed(tmp_path, "hostile", f"answer-{exercises[0].replace('.', '-')}", name)
    assert marks(tmp_path) == expected | {"resubmitted": len(exercises)}
    assert len(list((tmp_path / "feedback").rglob("*.html"))) == 30


@pytest.mark.skipif(os.environ.get("COURSE_ALL_LESSONS") != "1", reason="minutes: COURSE_ALL_LESSONS=1")
def test_hostile_submissions_hold_up_nobody(nbgrader, tmp_path, capsys, monkeypatch):
    """Twenty in place of a hundred, and five more that hang, spin, fork, print without end, and are hard to read: first
    in the list, and last. Those that never end have marks after the next call."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    given(nbgrader, tmp_path)
    right = answers(LESSON)
    honest = [f"h{number:02}" for number in range(20)]
    for student in honest:
        hand_in(tmp_path, student, right)

    def graded():
        (tmp_path / "graded.json").unlink(missing_ok=True)
        begin = time.monotonic()
        return grade.grade(tmp_path, at_once=2), time.monotonic() - begin

    wrong, alone = graded()
    assert wrong == []
    for student, code in {"hangs": ENDLESS, "spins": SPINS, "forks": CROWD, "prints": LOUD_IN_LINES}.items():
        hand_in(tmp_path, student, dict.fromkeys(right, code))
    hand_in(tmp_path, "hard", right)
    grade.submitted(tmp_path, "hard", NAME).write_text('{"source":"' + "<<<<<<<\n" * 32_000)
    for front in (True, False):
        monkeypatch.setattr(
            grade.random,
            "shuffle",
            lambda each, front=front: each.sort(key=lambda e: (e[1] in honest) == front),
        )
        wrong, seconds = graded()
        assert seconds < alone + 60 * max(1, alone / 80), (
            "a minute on an idle machine, where alone is about 60"
        )
        hard, *late = [line.partition("/")[2].partition("/")[0] for line in wrong]
        assert hard == "hard" and {"hangs", "spins"} <= {*late} <= {"hangs", "spins", "forks", "prints"}
        assert {who: points for who, points in marks(tmp_path).items() if who in honest} == dict.fromkeys(
            honest, 3
        )
    capsys.readouterr()
    with open(tmp_path / release.CONFIG, "a") as file:
        file.write("c.SandboxedExecute.timeout, c.SandboxedExecute.seconds_later = 15, 5\n")
    assert grade.grade(tmp_path, at_once=2) != [], "the one that is hard to read"
    assert f"{len(wrong)} to grade, {25 - len(wrong)} as before" in capsys.readouterr().out
    assert [marks(tmp_path)[who] for who in ("hangs", "spins", "forks", "prints")] == [0, 0, 0, 0]


@pytest.mark.skipif(os.environ.get("COURSE_ALL_LESSONS") != "1", reason="a minute: COURSE_ALL_LESSONS=1")
def test_the_way_through_an_exchange(nbgrader, tmp_path, monkeypatch):
    """docs/hub.md: handed out, handed in, collected, graded and given back with nbgrader's commands."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    course, home, shared = tmp_path / "course", tmp_path / "home", tmp_path / "exchange"
    home.mkdir()
    given(nbgrader, course)
    lines = re.search(r"```\n(c\.CourseDirectory.*?)```", (ROOT / "docs" / "hub.md").read_text(), re.DOTALL)[
        1
    ]
    lines = re.sub(r"(c.Exchange.root = ).*", rf'\1"{shared}"', lines)
    with open(course / release.CONFIG, "a") as file:
        file.write(lines)
    (home / release.CONFIG).write_text(
        f"c = get_config()\n{lines}c.Exchange.cache = {str(home / 'cache')!r}\n"
    )

    def do(place, command):
        done = nbgrader(place, command, NAME)
        assert done.returncode == 0, done.stderr

    do(course, "release_assignment")
    do(home, "fetch_assignment")
    hand_in(course, "kim", answers(LESSON))
    filled = grade.submitted(course, "kim", NAME)
    filled.rename(home / NAME / filled.name)
    filled.parent.rmdir()
    do(home, "submit")
    do(course, "collect")
    ((student, _),) = [(path.parent.parent.name, path) for path in (course / "submitted").rglob("*.ipynb")]
    assert grade.grade(course) == [] and marks(course) == {student: 3}
    do(course, "release_feedback")
    do(home, "fetch_feedback")
    (page,) = (home / NAME / "feedback").rglob("*.html")
    assert "Score: 3.0 / 3.0" in page.read_text(encoding="utf-8")
