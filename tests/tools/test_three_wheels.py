"""Three distributions, one on the other: ptxsim; matmul with cupy_or_sim; the course. No file, script or requirement
is in two of them, so that each can be removed and brought back without harm to the others.
"""

import base64
import csv
import hashlib
import re
import subprocess
import sys
import tomllib
import venv
from itertools import chain, combinations
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from hiding_latency.packages import FOLDERS
from tests.ptxsim.test_alone import link_files, needed
from tests.rules import ROOT
from tests.sample import in_long
from tests.tools.made import PIP, build_wheels
from tests.tools.pinned import OURS, project, requirements

SIMULATOR, MATMUL, COURSE = (project(folder)["name"] for folder in FOLDERS)
LOADS = {
    SIMULATOR: "ptxsim.program",
    MATMUL: "matmul, cupy_or_sim",
    COURSE: "course_lib.instruments, hiding_latency.lab",
}
"""What is imported of each, as a trial."""


def settings(folder: str) -> dict:
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))


def asked(folder: str) -> list[Requirement]:
    """All that one of them asks for, extras among it."""
    extras = project(folder).get("optional-dependencies", {}).values()
    return list(map(Requirement, chain(project(folder)["dependencies"], *extras)))


# ---- on each change


@pytest.mark.parametrize(("one", "other"), list(combinations(FOLDERS, 2)))
def test_no_file_and_no_script_is_in_two_of_them(one, other):
    """A file lies in the folder of its package, and no two of them have packages of one name or below it."""
    both = [settings(each)["tool"]["setuptools"] for each in (one, other)]
    tops = [{name.partition(".")[0] for name in each["packages"]} for each in both]
    assert tops[0] and not tops[0] & tops[1]
    globs = chain(*(globs for each in both for globs in each["package-data"].values()))
    assert [glob for glob in globs if ".." in glob or glob.startswith("/")] == []
    scripts = [project(each).get("scripts", {}).keys() for each in (one, other)]
    assert not scripts[0] & scripts[1]


def test_a_requirement_is_told_once():
    """numpy, the compiler and the versions of ptxsim too: who needs them has them from the one below."""
    tell = {
        each.name: {other for other in FOLDERS if each.name in {needs.name for needs in asked(other)}}
        for folder in FOLDERS
        for each in asked(folder)
        if each.name not in OURS
    }
    assert len(tell) > 20 and [name for name, folders in tell.items() if len(folders) > 1] == []
    bounded = [each for folder in FOLDERS for each in asked(folder) if each.name in OURS and each.specifier]
    assert sorted(each.name for each in bounded) == sorted([SIMULATOR, MATMUL])


def test_their_versions_belong_together():
    for needs in map(Requirement, [*project("matmul")["dependencies"], *project(".")["dependencies"]]):
        assert Version(project(OURS[needs.name])["version"]) in needs.specifier, needs
    newest = project("ptxsim")["version"].rpartition(".")[0]
    assert f"ptxsim>={newest},<2" in project("matmul")["dependencies"]
    assert str(Requirement(project(".")["dependencies"][0]).specifier) == f"=={project('matmul')['version']}"
    assert len({project(folder)["requires-python"] for folder in FOLDERS}) == 1
    assert len({str(settings(folder)["build-system"]) for folder in FOLDERS}) == 1


def test_no_message_asks_an_index_for_one_of_them():
    """None of them is published: whoever takes the name there would be installed."""
    told = re.compile(
        rf"pip install [^`\n]*?(?<![/\w.-])(?:{'|'.join(map(re.escape, OURS))})(?![\w-]*\.whl)(?![-\w])"
    )
    listed = ["git", "ls-files", "*.py", "*.md", "*.ipynb", "*.toml", "*.yml", "*.js"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    found = [(name, told.findall((ROOT / name).read_text(encoding="utf-8"))) for name in names]
    assert [each for each in found if each[1] and not each[0].startswith("tests/")] == []
    assert told.search("pip install 'ptxsim[nvcc]'") and told.search('pip install "hiding-latency[learn]"')
    by_path = ('pip install "./ptxsim[nvcc]"', "pip install ptxsim-1.3.0-py3-none-any.whl")
    assert not any(map(told.search, by_path))


# ---- installed


class Environment:
    """An environment of its own, with links to what the three need of others; they come from a folder of wheels."""

    def __init__(self, folder: Path, wheels: Path) -> None:
        venv.create(folder, symlinks=True)
        self.python, self.wheels = folder / "bin/python", wheels
        self.site = next(folder.glob("lib/python*/site-packages"))
        for each in needed([str(each) for each in requirements().values()]):
            link_files(each, self.site)

    def pip(self, *words: str) -> None:
        command = [sys.executable, "-m", "pip", "--python", self.python, *PIP[3:], *words]
        done = subprocess.run(command, capture_output=True, text=True)
        assert not done.returncode, done.stderr

    def install(self, name: str) -> None:
        self.pip("install", "--no-index", "-f", str(self.wheels), name)

    def uninstall(self, name: str) -> None:
        self.pip("uninstall", "--yes", name)

    def there(self) -> set[str]:
        """Those of the three that are here and whole: each file as it came, and their modules can be imported."""
        found = set()
        for name, modules in LOADS.items():
            records = list(self.site.glob(f"{name.replace('-', '_')}-[0-9]*.dist-info/RECORD"))
            done = subprocess.run(
                [self.python, "-I", "-c", f"import {modules}"], capture_output=True, text=True
            )
            if records and not done.returncode and self.as_they_came(records[0]):
                found.add(name)
        return found

    def as_they_came(self, record: Path) -> bool:
        for name, noted, _ in csv.reader(record.read_text().splitlines()):
            kind, _, digest = noted.partition("=")
            if kind:
                data = (self.site / name).read_bytes() if (self.site / name).is_file() else b""
                made = base64.urlsafe_b64encode(hashlib.new(kind, data).digest()).rstrip(b"=").decode()
                if made != digest:
                    return False
        return True


@in_long
def test_each_is_removed_and_brought_back_without_harm_to_the_others(tmp_path):
    """Each change asks for less: the names of their packages, above, and the files of the wheels, in test_wheel.py."""
    build_wheels(tmp_path / "wheels")
    here = Environment(tmp_path / "environment", tmp_path / "wheels")
    here.install(COURSE)
    assert here.there() == {SIMULATOR, MATMUL, COURSE}, "what one depends on comes along"
    assert {"ptxsim", "hiding-latency"} <= {path.name for path in here.python.parent.iterdir()}

    here.uninstall(COURSE)
    assert here.there() == {SIMULATOR, MATMUL}
    assert subprocess.run([here.python.parent / "ptxsim", "--help"], capture_output=True).returncode == 0
    here.uninstall(MATMUL)
    assert here.there() == {SIMULATOR}
    here.install(COURSE)
    assert here.there() == {SIMULATOR, MATMUL, COURSE}

    here.uninstall(SIMULATOR)
    assert here.there() == set() and len(list(here.site.glob("ptxsim"))) == 0
    here.install(SIMULATOR)
    assert here.there() == {SIMULATOR, MATMUL, COURSE}, "the others were whole"
