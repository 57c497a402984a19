"""`make quick`: what a changed file asks for; that what its table names is there."""

import re
import runpy
import signal
import subprocess

import pytest

from tests import sample
from tests.rules import ROOT
from tools.author import quick


def test_every_place_of_the_table_is_there():
    for tests in quick.TABLE.values():
        for test in tests:
            file, _, name = test.partition(" -k ")[0].partition("::")
            assert "{" in file or (ROOT / file).exists(), test
            if name and "{" not in name:
                assert re.search(rf"^def {name}\(", (ROOT / file).read_text(), re.MULTILINE), test


@pytest.mark.parametrize(
    ("changed", "asked"),
    [
        ("ptxsim/instructions/bits.py", "[xor."),
        (
            "ptxsim/instructions/tensor.py",
            "test_right_kernel_gives_the_reference_and_no_report[mma_f16_k16_f32]",
        ),
        ("ptxsim/instructions/memory.py", "test_right_kernel_gives_the_reference_and_no_report[wgmma.n]"),
        ("tests/kernels/gemm.py", "tests/ptxsim/test_kernels.py"),
        ("tests/kernels/tensor.py", "test_frozen_result_is_current[mma_f16_k16_f32]"),
        ("tests/kernels/case.py", "tests/ptxsim/test_kernels.py"),
        (
            "tests/kernels/orders.py",
            "test_mistake_is_reported_where_it_is[barrier-divergence:first_thread_skips]",
        ),
        ("tests/ptxsim/instructions/exact.py", "test_instructions.py::test_edge_values"),
        ("ptxsim/races/hazards.py", "test_a_page_names_every_kind_of_hazard_and_those_that_end_a_launch"),
        ("tests/hiding_latency/compile_service/ask.py", "tests/hiding_latency/compile_service"),
        ("tests/golden/newer_h100.npz", "tests/ptxsim/instructions/test_newer.py"),
        ("course_lib/compiled/exercises/01_mainloop.zip", "notebooks/exercises/01_mainloop.ipynb"),
        ("Makefile", "tests/tools/test_makefile.py"),
        ("ptxsim/gpus.py", "tests/ptxsim/test_gpus.py"),
        ("ptxsim/races/findings.py", "tests/ptxsim/races/test_hazards_cases.py"),
        ("notebooks/answers/lesson_02.py", 'tests/lessons/test_lesson_kernels.py -k "02."'),
        ("notebooks/02_producer_consumer.ipynb", "test_every_notebook_with_kernels_has_a_room"),
        ("notebooks/05_three_stage.ipynb", "tests/tools/author/test_numbers.py"),
        ("course_lib/exercises/verdicts.py", "tests/course_lib/exercises/test_hints.py"),
        ("ptxsim/units/copies.py", "test_programs_that_were_once_judged_wrongly"),
        ("course_lib/measure/bench.py", "tests/course_lib/measure/test_bench.py"),
        ("hiding_latency/lab.py", "tests/hiding_latency"),
        ("tools/classroom/feedback.py", "tests/tools/classroom/test_feedback.py"),
        ("tools/book/static/book.css", "tests/tools/book/test_book.py"),
    ],
)
def test_a_changed_file_asks_for_its_tests(changed, asked):
    assert any(asked in test for test in quick.tests_of([changed]))


@pytest.mark.parametrize(
    ("wrong", "ended"),
    [
        ("", 0),
        ("ruff check", 1),
        ("ruff format", 1),
        ("pytest", 1),
        ("pytest", 5),
        ("pytest", -signal.SIGALRM),
        ("ruff check", -signal.SIGKILL),
    ],
)
def test_it_ends_well_where_each_step_does(monkeypatch, wrong, ended):
    """pytest ends with 5 where it finds no test, and with a negative status where a signal ends it: no success."""

    def step(command: list[str], **_: object) -> subprocess.CompletedProcess:
        return subprocess.CompletedProcess(command, ended if wrong in " ".join(command) else 0)

    monkeypatch.setattr(quick, "changes", list)
    monkeypatch.setattr(quick, "stale_reports", dict)
    monkeypatch.setattr(quick.subprocess, "run", step)
    assert quick.main() == (ended != 0)


def test_a_step_that_a_signal_ends_is_named(monkeypatch, tmp_path, capfd):
    (tmp_path / "timed.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGALRM)")
    monkeypatch.setattr(quick, "ROOT", tmp_path)
    assert not quick.run(["timed"])
    assert "timed was ended by SIGALRM" in capfd.readouterr().out


def test_a_helper_of_tests_asks_for_no_test_of_make_long_alone(monkeypatch):
    monkeypatch.setattr(sample, "EVERY", False)
    ignored = runpy.run_path(ROOT / "tests/browser/conftest.py")["collect_ignore"]
    assert sorted(quick.HALF_HOURS) == sorted(f"tests/browser/{name}" for name in ignored)
    asked = quick.tests_of(["tests/kernels/case.py", "tests/browser/live.py"])
    assert "tests/browser/test_live.py" in asked and not {*asked} & {*quick.HALF_HOURS}


@pytest.mark.parametrize("name", ["known_wrong", "orders", "hopper_wrong"])
def test_wrong_kernels_ask_for_themselves_alone(name):
    asked = quick.tests_of([f"tests/kernels/{name}.py"])
    assert {test.partition("::")[0] for test in asked} == {quick.MISTAKES}
    assert f"{quick.MISTAKES}::test_every_kind_has_two_kernels" in asked and all(
        "::" in test for test in asked
    )


def test_a_helper_is_not_followed_through_a_test_file():
    """Others import test_lesson_kernels.py; mutants take minutes."""
    asked = quick.tests_of(["tests/kernels/to_mutate.py", "tests/kernels/lesson_cases.py"])
    assert "tests/lessons/test_one_text.py" in asked and "tests/lessons/test_volatile.py" not in asked
    assert not {*asked} & {*quick.MINUTES} and all((ROOT / file).exists() for file in quick.MINUTES)


@pytest.mark.parametrize(
    ("root", "source", "there"),
    [
        ("or", "for (int i = 0; i < n; ++i)", False),
        ("red", "__shared__ float reduced.x[4];", False),
        ("st", "first.x = last.x;", False),
        ("or", 'asm("or.b32 %0, %1, %2;" : "=r"(x)', True),
        ("or", 'asm("xor.b32 %0, %1, %2;" : "=r"(x)', False),
        ("red", r'asm("{ .reg .u32 x;\n\tred.global.add.u32 [%0], 1; }"', True),
        ("cp", "    cp.async.wait_all;", True),
        ("shfl", "x += __shfl_down_sync(~0u, x, 1);", True),
        ("atom", "atomicAdd(&sum, 1);", True),
    ],
)
def test_an_instruction_is_a_whole_word_of_ptx(root, source, there):
    assert quick.has(source, root) == there


def test_of_an_exercise_that_changed_every_answer_is_tried(monkeypatch):
    hints, wrong = "notebooks/answers/hints_02.toml", "tests/lessons/bank_02.wrong.txt"
    places = {hints: '["02.13"]', wrong: "02.11"}
    starts = {file: (ROOT / file).read_text().splitlines().index(name) for file, name in places.items()}
    assert not [
        test
        for test in quick.tests_of([hints, wrong])
        if not test.startswith(("tests/lessons", "tests/course_lib"))
    ]
    monkeypatch.setattr(quick, "changed_lines", lambda file: [starts[file] + 2])
    assert quick.exercises_of([hints, wrong, "tools/author/quick.py"]) == ["02.11", "02.13"]
    monkeypatch.setattr(quick, "changed_lines", lambda file: range(starts[file] + 400))
    assert quick.exercises_of([hints]) == [], "a lesson, and not an exercise"
    asked = []
    monkeypatch.setattr(quick, "run", lambda command, **settings: asked.append((command, settings)))
    quick.run_every_answer(["02.1", "02.13"])
    assert asked[0][0][-1] == "[02.1] or [02.1- or [02.13] or [02.13-"
    assert asked[0][1] == {"COURSE_EVERY_CASE": "1"}


ANSWERS = """from .common import demand
MOST = 3
def _near(answer):
    demand(answer < MOST)
def _first(answer):
    _near(answer)
def _second(answer):
    demand(answer)
EXERCISES = {
    "02.11": _first,
    "02.12": partial(_second, MOST),
}
"""


@pytest.mark.parametrize(
    ("line", "exercises"),
    [
        ("from .common import demand", set()),
        ("MOST = 3", {"02.11", "02.12"}),
        ("    demand(answer < MOST)", {"02.11"}),
        ("    demand(answer)", {"02.12"}),
        ('    "02.11": _first,', {"02.11"}),
    ],
)
def test_of_a_test_that_changed_its_exercises_are_tried(line, exercises):
    assert quick.callers(ANSWERS, ANSWERS.splitlines().index(line)) == exercises


def test_a_course_that_cannot_be_imported_hides_no_verdict(monkeypatch):
    monkeypatch.setitem(quick.sys.modules, "course_lib.exercises.answers", None)
    assert quick.exercises_of(["ptxsim/gpus.py"]) == []


def test_which_lines_of_a_file_changed(monkeypatch):
    hunks = "@@ -3 +3 @@ a\n-x\n+y\n@@ -9,0 +10,2 @@\n+y\n+z\n@@ -20,2 +22,0 @@\n-x\n"
    monkeypatch.setattr(quick, "git", lambda *asked: hunks)
    assert quick.changed_lines("a.py") == [2, 9, 10]


def test_pytest_is_shown_with_a_count_for_each_file_and_ruff_once_more_behind_it(monkeypatch, capsys):
    def step(command: list[str], **_: object) -> subprocess.CompletedProcess:
        return subprocess.CompletedProcess(command, int("check" in command and "--check" not in command))

    monkeypatch.setattr(quick, "changes", lambda: ["tests/kernels/orders.py"])
    monkeypatch.setattr(quick, "stale_reports", dict)
    monkeypatch.setattr(quick.subprocess, "run", step)
    assert quick.main() == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(re.fullmatch(rf"   {quick.MISTAKES}, \d\d tests", line) for line in lines)
    assert max(map(len, lines)) < 200
    assert lines[0] == lines[-2] == "== ruff check ."


def test_all_run_in_one_pytest_and_a_k_is_about_its_own_file():
    kernels, other = "tests/lessons/test_lesson_kernels.py", "tests/tools/test_pages.py"
    places, expression = quick.selected(
        [f'{kernels} -k "01."', other, f"{kernels}::test_a", f'{kernels} -k "02."']
    )
    assert sorted(places) == [kernels, other]
    assert expression == "(not test_lesson_kernels.py or 01. or 02. or test_a)"
    assert quick.selected([f'{kernels} -k "01."', kernels, other])[1] == ""


def test_nothing_is_run_twice():
    chosen = [
        "tests/a/test_b.py",
        "tests/a/test_b.py::test_c",
        "tests/a/test_d.py::test_e",
        "tests/f/test_g.py",
        "tests/f",
    ]
    assert quick.selected(chosen) == (["tests/a/test_b.py", "tests/a/test_d.py::test_e", "tests/f"], "")


def test_every_tracked_file_asks_for_tests_or_says_why_not():
    assert not [file for file in quick.git("ls-files").split() if not quick.tested(file)]


def test_instructions_ask_for_their_own_cases_and_for_every_case_there_is():
    of_compare = quick.tests_of(["ptxsim/instructions/compare.py"])
    assert any("[setp." in test for test in of_compare) and not any("[add." in test for test in of_compare)
    from tests.kernels.instruction_cases import CASES

    files = [file for file in quick.git("ls-files").split() if file.startswith("ptxsim/instructions/")]
    asked = "\n".join(quick.tests_of(files))
    assert not [case.name for case in CASES if f"[{case.name}]" not in asked]


def test_a_file_without_a_test_is_named_and_no_success(monkeypatch, capsys):
    monkeypatch.setattr(quick, "changes", lambda: ["LICENSE", "gone.py", ".ci/run", "ptxsim/README.md"])
    monkeypatch.setattr(quick, "stale_reports", dict)
    monkeypatch.setattr(quick, "run", lambda *_, **__: True)
    assert quick.main() == 0
    monkeypatch.setattr(quick, "TABLE", {})
    assert quick.main() == 1
    said = capsys.readouterr().out
    assert "no test ran for .ci/run" in said and "no test ran for ptxsim/README.md" in said
    assert "LICENSE" not in said and "gone.py" not in said


def test_words_that_are_gone_are_named_with_all_their_places(monkeypatch):
    """A page may break its lines within them."""
    sentence = "is read before the copy that writes it was waited for"
    monkeypatch.setattr(quick, "git", lambda *asked: {
        "diff": f'-    "{sentence} {{since}}"\n',
        "ls-files": "a.ipynb b.ipynb" if asked[-1].endswith(".ipynb") else "a.md b.md",
    }[asked[0]])  # fmt: skip
    monkeypatch.setattr(quick, "shown", lambda path: sentence)
    broken = sentence.replace("copy that", "copy\n  that")
    monkeypatch.setattr(quick.Path, "read_text", lambda path, **_: broken if path.name == "b.md" else "")
    assert quick.stale_reports() == {sentence: ["a.ipynb", "b.ipynb", "b.md"]}


def test_notebooks_that_show_what_a_changed_file_draws_are_named(monkeypatch, capsys):
    monkeypatch.setattr(quick, "changes", lambda: ["course_lib/measure/charts.py"])
    monkeypatch.setattr(quick, "stale_reports", dict)
    monkeypatch.setattr(quick, "run", lambda *_, **__: True)
    assert quick.main() == 0
    said = capsys.readouterr().out
    assert "no test compares what they show" in said and "  notebooks/05_three_stage.ipynb" in said
