"""The figures of draw/explore.py in JupyterLab itself: alive where a notebook is trusted, still where it is not.

A server and a kernel for each test, half a minute, so only where COURSE_ALL_LESSONS=1 asks for it:
`COURSE_ALL_LESSONS=1 .venv/bin/python -m pytest tests/browser/test_explore_lab.py`. Again after a new JupyterLab.
"""

import os
import re
import subprocess
import sys

import nbformat
import pytest

from course_lib.draw.explore import handover, pipeline
from tests.browser.live import PATIENCE
from tests.rules import ROOT

pytestmark = pytest.mark.skipif(
    not os.environ.get("COURSE_ALL_LESSONS"), reason="half a minute: COURSE_ALL_LESSONS=1 runs it"
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a server whose folder holds figures.ipynb, made elsewhere and so not trusted."""
    folder = tmp_path_factory.mktemp("lab")
    notebook = nbformat.v4.new_notebook(
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    )
    for text, figure in ("pipeline(969, 1480)", pipeline(969, 1480)), ("handover()", handover()):
        data = {"text/html": figure._repr_html_(), "text/plain": repr(figure)}
        output = nbformat.v4.new_output("execute_result", data=data, execution_count=1)
        source = f"from course_lib.draw.explore import handover, pipeline\n{text}"
        notebook.cells.append(nbformat.v4.new_code_cell(source, outputs=[output], execution_count=1))
    nbformat.write(notebook, folder / "figures.ipynb")
    own = {f"JUPYTER_{kind}_DIR": str(folder / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--port=0"),
            *("--IdentityProvider.token=", f"--notebook-dir={folder}"),
        ],
        env=os.environ | own | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield next(
            found[0] for line in server.stderr if (found := re.search(r"http://localhost:\d+/lab", line))
        )
    finally:
        server.terminate()
        server.communicate()


@pytest.fixture
def notebook(lab, open_page):
    page = open_page(f"{lab}/tree/figures.ipynb?reset")
    page.locator(".course-explore").nth(1).wait_for(timeout=PATIENCE)
    return page


def test_untrusted_shows_the_still_forms(notebook, keep):
    assert notebook.get_by_role("slider").count() == notebook.locator(".course-explore script").count() == 0
    assert notebook.get_by_text(repr(pipeline(969, 1480))).first.is_visible()
    picture = notebook.locator(".course-explore img")
    assert picture.evaluate("picture => picture.complete && picture.naturalWidth > 0")
    assert picture.bounding_box()["width"] > 500 and picture.bounding_box()["height"] > 60
    assert notebook.locator(".course-explore table").is_visible()
    keep(notebook, "explore-lab-untrusted")


def test_once_run_the_figures_take_mouse_and_keys_and_lab_does_not(notebook, keep):
    cells = notebook.locator(".jp-Cell").count()
    notebook.get_by_text("| Idle").wait_for()  # cells that are sent to a kernel that only begins may be lost
    notebook.get_by_role("menuitem", name="Run", exact=True).click()
    notebook.get_by_text("Run All Cells", exact=True).click()
    slider = notebook.get_by_role("slider", name="stages")
    slider.wait_for(timeout=PATIENCE)
    notebook.get_by_role("button", name="Next").wait_for()
    slider.focus()
    for key in "ArrowRight", "ArrowUp", "ArrowDown", "b", "d", "d":  # to Lab: up, down, new cell, delete
        notebook.keyboard.press(key)
    first, second = notebook.locator(".course-explore [role=status]").all_inner_texts()
    assert first == repr(pipeline(969, 1480, 2)) and second.startswith("Step 1")
    notebook.get_by_role("button", name="Next").focus()
    for key in "Enter", "ArrowRight", "a":
        notebook.keyboard.press(key)
    assert notebook.locator(".course-explore [role=status]").last.inner_text().startswith("Step 3")
    assert notebook.locator(".jp-Cell").count() == cells
    keep(notebook, "explore-lab-run")
