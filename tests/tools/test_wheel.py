"""An installed course, not a checked-out one, finds its notebooks, measurements and compiled texts."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from hiding_latency.packages import FOLDERS, PACKAGES
from tests.rules import ROOT
from tests.tools.made import install_wheels

OUTSIDE = """
import course_lib
from course_lib import Gemm, benchmark, draw, kernel_source, lesson_kernel, show_env
from course_lib.exercises.answers import exercises
from course_lib.exercises.hints import hints
from course_lib.lessons import sources
from course_lib.instruments import sass
from course_lib.measure import records
from course_lib.notebooks.figures.single import parts  # beside a lesson
assert "__global__" in parts("gemm")
assert INSTALLED in course_lib.__file__, course_lib.__file__
show_env()
assert "__global__" in kernel_source("01_mainloop", "tiled")
kernel, launch = lesson_kernel("01_mainloop", "mainloop")
results = benchmark(Gemm(4096, 4096, 4096), {"mainloop": (kernel, launch)})
assert "NVIDIA H100" in repr(results), repr(results)
kernel, launch = lesson_kernel("07_hopper", "one_slot")  # its headers are there
assert Gemm(128, 256, 128, "float16").one_block(kernel, launch).ok
results.plot()
assert hints("02.1")[""]
assert INSTALLED in exercises()["02.1"].__code__.co_filename  # answers and figures came along, and are found
draw.figure("05.ring", 4, turns=(0, 1))
print(len(sources.notebooks(sources.NOTEBOOKS)), "lessons,", len(records.files()), "records")
"""


CHECKSUMS = Path("cuda-in-strings/made_from.sha256")


def settings(folder: str) -> dict:
    read = tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))
    return read["tool"]["setuptools"]


def test_every_package_is_named():
    inits = [path for top in PACKAGES for path in (ROOT / top).rglob("__init__.py")]
    found = {path.parent.relative_to(ROOT).as_posix().replace("/", ".") for path in inits}
    mapped = settings(".")["package-dir"].keys()
    named = [name for folder in FOLDERS for name in settings(folder)["packages"] if name not in mapped]
    assert sorted(found) == sorted(named)


def notebooks_and_book() -> list[str]:
    """Names under which the packages of extras `lab` and `book` are imported, and IPython, which they bring."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [line for extra in ("lab", "book") for line in project["optional-dependencies"][extra]]
    return ["IPython", *(re.match(r"[\w-]+", line)[0].replace("-", "_") for line in asked)]


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder into which the three wheels of this checkout were installed, without what they need."""
    folder = tmp_path_factory.mktemp("wheel")
    install_wheels(folder)
    return folder


def test_a_wheel_brings_the_extension_to_where_lab_looks(installed):
    there = installed / "site" / "share" / "jupyter" / "labextensions"
    here = ROOT / "tools" / "lab_extension" / "labextensions"
    files = {path.relative_to(here) for path in here.rglob("*") if path.is_file()} - {CHECKSUMS}
    assert files == {path.relative_to(there) for path in there.rglob("*") if path.is_file()}
    assert len(files) > 3


def test_a_build_leaves_nothing_in_a_package(installed):
    """A clone in which somebody has built the wheels, as the pages say, has no second copy of a module."""
    source = installed / "source"
    inits = {path.relative_to(source) for top in PACKAGES for path in (source / top).rglob("__init__.py")}
    listed = ["git", "ls-files", *(f"{top}/*__init__.py" for top in PACKAGES)]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert inits == set(map(Path, names)) and len(inits) > 20


def test_a_wheel_holds_what_the_lessons_read(installed):
    names = [name for wheel in installed.glob("*.whl") for name in zipfile.ZipFile(wheel).namelist()]
    assert len(names) == len(set(names)) and len(set(names)) > 500, "no file is in two of the three"
    there = {name.removeprefix("course_lib/") for name in names}
    for pattern in (
        "ptxsim/**/*.py",
        "ptxsim/docs/*",
        "ptxsim/program/shim/*",
        "ptxsim/program/headers/**/*.*",
        "matmul/**/*.py",
        "matmul/*.md",
        "hiding_latency/**/*.py",
        "notebooks/**/[0-9][0-9]_*.ipynb",
        "notebooks/*/*.py",
        "assets/**/*.json",
        "assets/*.svg",
        "assets/*.pdf",
        "cupy_or_sim/**/*.cuh",
        "course_lib/**/*.js",
        "course_lib/**/*.css",
        "course_lib/**/*.zip",
    ):
        wanted = {p.relative_to(ROOT).as_posix().removeprefix("course_lib/") for p in ROOT.glob(pattern)}
        assert wanted and wanted <= there, pattern


def test_an_installed_course_works_elsewhere(installed, tmp_path):
    """`--target` stands for an environment of its own: what the course needs comes from this one.

    What only the extras bring cannot be imported: nothing that draws or checks may want it.
    """
    code = f"import sys; sys.path.insert(0, {str(installed / 'site')!r}); INSTALLED = '/site/course_lib/'\n"
    code += f"sys.modules |= dict.fromkeys({notebooks_and_book()})\n{OUTSIDE}"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    lessons = len(list((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")))
    gpus = len(list((ROOT / "assets" / "measurements").glob("*.json")))
    assert done.stdout.endswith(f"{lessons} lessons, {gpus} records\n")


def test_an_installed_course_gives_its_commands(installed, tmp_path):
    """In another folder: copies with their pages, the word for an update, the simulator."""
    scripts = [path.read_text() for path in (installed / "site").glob("*.dist-info/entry_points.txt")]
    assert sorted(re.findall(r"^([\w-]+) = (\w+)", "\n".join(scripts), re.MULTILINE)) == [
        ("hiding-latency", "hiding_latency"),
        ("ptxsim", "ptxsim"),
    ]
    environment = os.environ | {"PYTHONPATH": str(installed / "site")}

    def said(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", *words], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert not done.returncode, done.stderr
        return done.stdout

    assert "notebooks made" in said("hiding_latency", "update", "mine")
    given = tmp_path / "mine" / ".course.json"
    given.write_text(re.sub('"version": ".*?"', '"version": "1.0.0"', given.read_text()))
    edited = tmp_path / "mine" / "00_start_here.ipynb"
    edited.write_text(edited.read_text().replace("Start here", "Start here, mine"))
    before = edited.read_bytes()
    assert "you had 1.0.0: pages/CHANGELOG.md says what is new" in said("hiding_latency", "update", "mine")
    assert (tmp_path / "mine" / "pages" / "CHANGELOG.md").is_file() and edited.read_bytes() == before
    assert "check" in said("ptxsim", "--help")
