"""`hiding-latency` in a folder of one's own: copies that lie alone, their links, what they print; what is missing."""

import json
import os
import re
import shlex
import subprocess
import sys

import nbformat
import pytest

from course_lib.lessons import sources
from hiding_latency import compared, copies, lab, lessons, linked, packages, places
from hiding_latency.__main__ import main
from tests.rules import ROOT
from tests.tools.made import write_notebook

LINK = re.compile(r"\]\(([^)#\s:]+)[^):]*\)")


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    """A folder of copies, made by the command."""
    folder = tmp_path_factory.mktemp("away") / "mine"
    assert main(["update", str(folder)]) == 0
    return folder


def links(path):
    """The relative links of a page or a notebook."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(each["source"]) for each in cells if each["cell_type"] == "markdown")
    return LINK.findall(re.sub(r"`[^`\n]*`", "", text))


def test_copies_go_where_the_learner_says(mine):
    assert len(sources.every_notebook(mine)) == len(sources.every_notebook(sources.NOTEBOOKS))
    assert lab.command(places.chosen(mine), [])[3] == f"--ServerApp.root_dir={mine}"
    assert "/lab/tree/00_start_here.ipynb" in lab.command(places.chosen(mine), [])[4]


def test_links_of_copies_lead_to_pages_beside_them(mine):
    found = {(path, link) for path in sources.every_notebook(mine) for link in links(path) if "/" in link}
    assert [(path.name, link) for path, link in found if not (path.parent / link).exists()] == []
    assert any("pages/docs/tuning.md" in link for _, link in found)
    pages = [path for path in (mine / linked.PAGES).rglob("*.md")]
    lost = {(page.name, link) for page in pages for link in links(page) if not (page.parent / link).exists()}
    assert len(pages) > 6 and lost == {("README.md", "../CONTRIBUTING.md")}, "what only a clone needs"


def test_a_page_is_not_the_learners(mine):
    page = mine / "pages" / "docs" / "tuning.md"
    before = page.read_bytes()
    page.write_text("old")
    assert main(["update", str(mine)]) == 0 and page.read_bytes() == before


def test_a_folder_taken_out_of_a_clone_brings_nothing_new(tmp_path, capsys):
    """The same lessons with other links: an edited copy stays, and no new version is put beside it."""
    place = places.Place(
        places.ROOT / "notebooks", tmp_path, places.version_of(ROOT), tmp_path, tmp_path, False
    )
    copies.update(place)
    edited = tmp_path / "05_three_stage.ipynb"
    edited.write_text(edited.read_text().replace("# 05 ·", "# mine, 05 ·", 1))
    assert any("docs/" in link for path in sources.every_notebook(tmp_path) for link in links(path))
    capsys.readouterr()
    assert main(["update", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "" and not list(tmp_path.rglob("*.new-*"))


def test_what_is_new_of_an_edited_copy_is_asked_by_the_command(mine, capsys):
    edited = mine / "05_three_stage.ipynb"
    before = edited.read_text()
    notebook = json.loads(before)
    notebook["cells"][0]["source"] = "# as it was"
    edited.write_text(json.dumps(notebook))
    given = json.loads((mine / ".course.json").read_text())
    given["cells"]["05_three_stage.ipynb"][notebook["cells"][0]["id"]] = copies.cell_hash(
        notebook["cells"][0]
    )
    (mine / ".course.json").write_text(json.dumps(given))
    assert main(["news", str(mine)]) == 0
    assert "hiding-latency news mine --lesson 05_three_stage.ipynb" in capsys.readouterr().out
    assert main(["news", str(mine), "--lesson", "05", "--take", "1"]) == 0
    assert json.loads(edited.read_text())["cells"] == json.loads(before)["cells"]


@pytest.mark.parametrize(("shown", "status"), [("4", 0), ("5", 1)])
def test_what_a_copy_prints_is_compared_with_what_it_shows(tmp_path, capfd, shown, status):
    write_notebook(tmp_path / "01_mine.ipynb", "print(2 + 2)")
    write_notebook(tmp_path / "notes.ipynb", "1 / 0")
    notebook = nbformat.read(tmp_path / "01_mine.ipynb", as_version=4)
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text=f"{shown}\n")]
    nbformat.write(notebook, tmp_path / "01_mine.ipynb")
    assert compared.main(tmp_path, []) == status
    said = capfd.readouterr().out
    assert "what 1 of its notebooks print" in said and ("1 passed" in said) == (status == 0)
    assert compared.main(tmp_path, ["02"]) == 2 and "no such lesson" in capfd.readouterr().err


def test_what_a_copy_does_not_show_is_not_compared(tmp_path, capfd):
    """A learner has not run that cell, or it waits for a prediction."""
    write_notebook(tmp_path / "01_mine.ipynb", "print(2 + 2)")
    assert compared.main(tmp_path, []) == 1, "no copy: all is compared"
    notebook = nbformat.read(tmp_path / "01_mine.ipynb", as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("1", id=copies.PROGRESS_CELL))
    nbformat.write(notebook, tmp_path / "01_mine.ipynb")
    assert compared.main(tmp_path, []) == 0 and "2 passed" in capfd.readouterr().out


def test_the_course_runs_and_keeps_what_ran(tmp_path, capsys, monkeypatch):
    (tmp_path / "lessons").mkdir()
    write_notebook(tmp_path / "lessons" / "01_a.ipynb", "print('check passed')")
    place = places.Place(tmp_path / "lessons", tmp_path / "mine", "1", tmp_path, tmp_path / "ran", True)
    for times in ("running 1", "1 of 1 notebooks: as before"):
        assert lessons.main(place, again=False) == 0
        said = capsys.readouterr().out
        assert times in said and "The book is no part of an installation" in said


@pytest.mark.parametrize(
    ("arguments", "needs"),
    [(["lab"], "jupyterlab"), (["test"], "nbval"), (["course"], "nbclient"), (["serve"], "tornado")],
)
def test_what_is_missing_is_said_with_how_to_get_it(mine, arguments, needs):
    """The bare wheel: the copies are made all the same."""
    code = "import sys, importlib.util as u; found = u.find_spec\n"
    code += f"u.find_spec = lambda name, *of: None if name == {needs!r} else found(name, *of)\n"
    code += f"from hiding_latency.__main__ import main; sys.exit(main({[*arguments, str(mine)]}))"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode in (1, 2) and f"{packages.brings('learn')} brings it." in done.stderr
    learn = packages.pyproject()["project"]["optional-dependencies"]["learn"]
    assert shlex.split(re.search(r"pip install (.*) brings", done.stderr)[1]) == learn


def test_options_behind_two_dashes_go_to_jupyterlab(mine, monkeypatch):
    asked = []
    monkeypatch.setattr(os, "execve", lambda program, command, _: asked.append(command))
    main(["lab", str(mine), "--", "--no-browser", "--port=9000"])
    assert asked[0][-2:] == ["--no-browser", "--port=9000"] and asked[0][1:3] == ["-m", "jupyterlab"]
    monkeypatch.setattr(sys, "argv", ["hiding-latency", "lab", str(mine)])
    main()
    assert "--no-browser" not in asked[1]
