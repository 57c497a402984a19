"""conftest.py: which tests go to one process, which notebooks a run takes."""

import re
import shutil
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import conftest
from course_lib.lessons import sources
from tests import sample
from tests.rules import ROOT
from tests.tools.made import write_notebook


def test_what_shares_something_runs_in_one_process():
    groups = [
        conftest.together(test)
        for test in (
            "notebooks/00_start_here.ipynb::Cell 1",
            "notebooks/00_start_here.ipynb::Cell 2",
            "tests/ptxsim/races/test_mutants.py::test_each_mistake_is_found[lesson.ring: drop wait: wait_group<0>();]",
            "tests/ptxsim/races/test_mutants.py::test_the_kernel_itself_is_right[lesson.ring-None]",
            "tests/ptxsim/races/test_sanitizer.py::test_right_kernels_are_right_on_the_gpu_too[lesson.ring: unchanged]",
            "tests/ptxsim/instructions/test_instructions.py::test_edge_values[add.s32]",
            "tests/cupy_or_sim/test_simulate.py::test_the_same[lesson.ring]",
        )
    ]
    assert groups == [
        *["notebooks/00_start_here.ipynb"] * 2,
        *["lesson.ring"] * 3,
        "tests/ptxsim/instructions/test_instructions.py::test_edge_values",
        "tests/cupy_or_sim/test_simulate.py::test_the_same[lesson.ring]",
    ]


def test_of_all_notebooks_every_lesson_is_run_and_in_make_long_all(monkeypatch):
    everything = sources.every_notebook(sources.NOTEBOOKS)
    monkeypatch.setattr(sample, "EVERY", True)
    assert sorted(conftest.sampled(sources.NOTEBOOKS)) == sorted(everything)
    monkeypatch.setattr(sample, "EVERY", False)
    of_a_run = set(conftest.sampled(sources.NOTEBOOKS))
    assert set(sources.notebooks(sources.NOTEBOOKS)) < of_a_run < set(everything)
    named = [path.as_posix() for path in everything]
    for args, ignored in ((named, set()), (["tests", "notebooks"], set(everything) - of_a_run)):
        config = SimpleNamespace(rootpath=ROOT, args=args)
        assert {path for path in everything if conftest.pytest_ignore_collect(path, config)} == ignored


def test_the_cells_of_a_notebook_run_in_one_process(tmp_path):
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "notebooks").mkdir()
    write_notebook(tmp_path / "notebooks" / "01_lesson.ipynb", "x = 0", *["x += 1"] * 9, "assert x == 9")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--nbval", "--numprocesses", "2", "notebooks"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_no_other_conftest_has_the_name_of_the_one_at_the_root():
    """One in a folder that is no package is called `conftest`, too, and is found in its place."""
    assert [
        path for path in ROOT.glob("tests/**/conftest.py") if not (path.parent / "__init__.py").exists()
    ] == []


def test_no_two_files_of_tests_are_one_module():
    """In folders that are no packages pytest imports a file by its name alone."""
    files = [
        path for path in (ROOT / "tests").rglob("test_*.py") if not (path.parent / "__init__.py").exists()
    ]
    assert [name for name, times in Counter(path.name for path in files).items() if times > 1] == []


PROGRAM = re.compile(r"^(if __name__ ==|def main\()", re.MULTILINE)


def test_no_file_of_tests_is_a_program():
    """What prints tables or tries more than a run of the tests stands in research/ or tools/author/."""
    assert PROGRAM.search("def f():\n    pass\n\n\ndef main() -> None:\n    pass\n")
    assert PROGRAM.search('import f\n\nif __name__ == "__main__":\n    f()\n')
    texts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    assert [name for name, text in texts.items() if PROGRAM.search(text)] == []
    assert list((ROOT / "tests" / "golden").glob("*.py")) == [], "data, and no program"
