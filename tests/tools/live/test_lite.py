"""The JupyterLite site: its packages are pinned, its lock names the course, its lessons are the repository's.

What the site does in a browser: tests/browser/test_lite.py.
"""

import json
import re

import pytest

from course_lib.lessons import sources
from tools.live.lite import __main__ as lite
from tools.live.lite import environment
from tools.live.lite.lock import files, lock


@pytest.fixture
def wheel(tmp_path):
    path = tmp_path / "hiding_latency-9.9.9-py3-none-any.whl"
    path.write_bytes(b"the course")
    return path


def test_importing_the_course_loads_what_it_needs(wheel):
    packages = lock(wheel)["packages"]
    course = packages["hiding-latency"]
    assert course["version"] == "9.9.9" and course["file_name"] == wheel.name
    assert {"course_lib", "ptxsim"} <= {*course["imports"]}
    wanted, found = ["hiding-latency"], set()
    while wanted:
        found.add(name := wanted.pop())
        wanted += {*packages[name]["depends"]} - found
    assert {"numpy", "matplotlib", "pillow", "kiwisolver"} <= found


def test_every_package_of_the_lock_is_fetched(wheel):
    fetched = {file.name for file in files()}
    packages = lock(wheel)["packages"]
    assert {each["file_name"] for each in packages.values()} <= fetched | {wheel.name}
    assert all(name in packages for each in packages.values() for name in each["depends"])


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
