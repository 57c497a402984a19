"""What the pages for contributors, and the docstrings that list modules, say is there, and all of it."""

import re
from pathlib import Path

import course_lib.backend

ROOT = Path(__file__).parent.parent
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def commands() -> set[str]:
    """What the tools call themselves by, in the first line of their docstrings: `python -m tools.NAME`."""
    first_lines = (
        path.read_text(encoding="utf-8").partition("\n")[0] for path in (ROOT / "tools").glob("*.py")
    )
    return {found[0] for line in first_lines for found in re.finditer(r"python -m tools\.\w+", line)}


def test_each_command_is_told_to_those_who_need_it():
    pages = CONTRIBUTING + "".join(
        (ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/instructor.md")
    )
    assert {"python -m tools.sittings", "python -m tools.progress"} <= commands()
    assert [command for command in commands() if command not in pages] == []


def test_each_file_that_contributing_names_is_there():
    named = re.findall(
        r"`(?:python )?((?:course_lib|tests|tools|docs|assets|notebooks)/[\w./]*)`", CONTRIBUTING
    )
    named += [name.replace(".", "/") + ".py" for name in re.findall(r"python -m (tools\.\w+)", CONTRIBUTING)]
    named = [name for name in named if "NN" not in name]
    assert len(named) > 12 and [name for name in named if not (ROOT / name).exists()] == []


def test_the_list_of_what_stands_behind_is_whole():
    listed = set(re.findall(r"\w+", course_lib.backend.__doc__))
    modules = {path.stem for path in Path(course_lib.backend.__file__).parent.glob("*.py")} - {"__init__"}
    assert modules - listed == set()


def test_notebooks_import_from_behind_what_the_list_says():
    """ "Of these a notebook itself imports `gpu` and `ncu`, no other." """
    pattern = re.compile(
        r"from course_lib\.backend(?:\.\w+)? import [\w, ]+|import course_lib\.backend[\w.]*"
    )
    notebooks = [
        *(ROOT / "notebooks").glob("[0-9]*.ipynb"),
        *(ROOT / "notebooks/exercises").glob("[0-9]*.ipynb"),
    ]
    found = {
        line
        for path in notebooks
        for line in pattern.findall(path.read_text(encoding="utf-8"))
        if not line.startswith("from course_lib.backend.colab")  # the cell that only Colab runs
    }
    assert {line.split("import ")[1].strip() for line in found} == {"gpu", "ncu"}
