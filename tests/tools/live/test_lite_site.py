"""The JupyterLite site: its packages are pinned, its lock names the course, its lessons are the repository's.

What the site does in a browser: tests/browser/test_lite.py.
"""

import hashlib
import json
import re
import shutil
import zipfile

import pytest

from course_lib.lessons import sources
from tools.live import fetch, packages
from tools.live.lite import __main__ as lite
from tools.live.lite import environment
from tools.live.lite.lock import files, lock


@pytest.fixture
def shipped(tmp_path):
    """A folder with a file for each package, and the lock of these."""
    wheels = [tmp_path / f"{name}-9.9.9-py3-none-any.whl" for name in ("hiding_latency", "pyodide_kernel")]
    for path in [*wheels, *(tmp_path / file.name for file in files())]:
        path.write_bytes(path.name.encode())
    return tmp_path, lock(tmp_path, wheels)["packages"]


def test_importing_the_course_loads_what_it_needs(shipped):
    _, packages = shipped
    course = packages["hiding-latency"]
    assert course["version"] == "9.9.9" and {"course_lib", "ptxsim"} <= {*course["imports"]}
    wanted, found = ["hiding-latency"], set()
    while wanted:
        found.add(name := wanted.pop())
        wanted += {*packages[name]["depends"]} - found
    assert {"numpy", "matplotlib", "pillow", "kiwisolver"} <= found


def test_the_lock_names_files_by_their_hashes(shipped):
    folder, packages = shipped
    for package in packages.values():
        assert package["sha256"] == hashlib.sha256((folder / package["file_name"]).read_bytes()).hexdigest()
        assert all(name in packages for name in package["depends"])


def test_what_the_kernel_loads_is_in_the_lock(shipped):
    _, packages = shipped
    assert {"ssl", "sqlite3", "jedi", "ipython", "micropip", "pyodide-kernel"} <= {*packages}


def test_every_package_of_the_environment_is_pinned_with_its_hashes():
    entries = re.split(r"\n(?=\w)", environment.PINNED.read_text(encoding="utf-8"))
    assert all("==" in entry and "--hash=sha256:" in entry for entry in entries[1:]) and len(entries) > 50
    asked = [line for line in environment.PINNED.with_suffix(".in").read_text().splitlines() if "==" in line]
    assert asked and all(
        any(entry.startswith(line.replace("[contents]", "")) for entry in entries) for line in asked
    )


def test_lessons_are_those_of_the_repository(tmp_path):
    lite.put_lessons(tmp_path)
    for path in sources.every_notebook(sources.NOTEBOOKS):
        there = json.loads((tmp_path / path.relative_to(sources.NOTEBOOKS)).read_text(encoding="utf-8"))
        texts = [cell["source"] for cell in there["cells"] if cell.get("id") != lite.copies.PROGRESS_CELL]
        assert texts == [cell["source"] for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]


def test_no_other_host_is_asked():
    settings = lite.SETTINGS["jupyter-config-data"]["litePluginSettings"][lite.KERNEL]
    assert settings["disablePyPIFallback"]


def test_each_cell_says_in_which_notebook_it_is(tmp_path):
    lite.put_lessons(tmp_path)
    cells = json.loads((tmp_path / "exercises" / "02_producer_consumer.ipynb").read_text(encoding="utf-8"))[
        "cells"
    ]
    assert {cell["metadata"]["notebook"] for cell in cells} == {"exercises/02_producer_consumer.ipynb"}


@pytest.mark.skipif(not shutil.which("node") or bool(fetch.missing()), reason="needs Node and Pyodide")
def test_modules_ship_compiled_and_are_compiled_once(tmp_path, monkeypatch):
    wheel = tmp_path / "one-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("one/__init__.py", "x = 1")
        archive.writestr("one/data.txt", "data")
    monkeypatch.setattr(packages, "COMPILED", str(tmp_path / "kept"))
    packages.put_compiled([wheel], tmp_path / "out", fetch.FOLDER)
    with zipfile.ZipFile(tmp_path / "out" / wheel.name) as archive:
        assert {*archive.namelist()} == {"one/__init__.pyc", "one/data.txt"}
    monkeypatch.setattr(packages, "compile_in_place", lambda *_: pytest.fail("compiled again"))
    packages.put_compiled([wheel], tmp_path / "out", fetch.FOLDER)
