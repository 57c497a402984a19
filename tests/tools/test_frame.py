"""The frame holds together: packages and versions, Makefile, tracked files, README, installer, runner."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

import conftest
from course_lib.lessons import sources
from tests import sample
from tests.rules import ABSOLUTE, ROOT
from tools import install
from tools.author import outputs
from tools.classroom import wheelhouse
from tools.learner import course

CONDA_NAMES = {"matplotlib-base": "matplotlib", "cupy": "cupy-cuda12x"}
"""Where conda-forge calls a package by another name than PyPI."""
OF_CUDA = ("cuda-version", "cuda-bindings", "cuda-nvrtc", "cuda-nvdisasm", "cuda-cudart-dev", "cuda-cccl")
CONDA_ONLY = {"python", "pip", *OF_CUDA}
NVRTC_PARTS = {
    "cuda-bindings",
    "nvidia-cuda-nvrtc",
    "nvidia-cuda-runtime",
    "nvidia-cuda-cccl",
    "nvidia-cuda-crt",
    "nvidia-cuda-nvdisasm",
}


# --- pyproject.toml, requirements.lock, environment.yml ---------------------------------------------------


def requirements(*extras: str) -> dict[str, Requirement]:
    """What pyproject.toml asks for, by name: the default and the named extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = list(project["dependencies"])
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    return {canonicalize_name(r.name): r for r in map(Requirement, lines)}


def pins(text: str) -> dict[str, str]:
    """Names and versions of a lock; raises ValueError on a line that is anything else."""
    found = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        match = re.fullmatch(r'([a-z0-9-]+)==([0-9a-z.]+)( ; sys_platform == "(darwin|win32)")?', line)
        if not match:
            raise ValueError(f"not a name, a version and nothing else: {line!r}")
        if match[1] in found:
            raise ValueError(f"{match[1]} is there twice")
        found[match[1]] = match[2]
    return found


def lock() -> dict[str, str]:
    return pins((ROOT / "requirements.lock").read_text(encoding="utf-8"))


def disagreements(asked: dict[str, Requirement], pinned: dict[str, str]) -> list[str]:
    """Requirements without a pin, or with a pin outside their range."""
    found = []
    for name, requirement in asked.items():
        if name not in pinned:
            found.append(f"{name} is not in the lock")
        elif pinned[name] not in requirement.specifier:
            found.append(f"{name}: {pinned[name]} is not {requirement.specifier}")
    return found


def test_the_lock_serves_every_requirement():
    asked = requirements("lab", "book", "dev", "browser", "classroom", "cuda12") | requirements("cuda13")
    asked.pop("cuda-toolkit")  # its version differs between the extras, which pin it themselves
    assert disagreements(asked, lock()) == []
    for extra in ("cuda12", "cuda13"):
        assert re.fullmatch(r"==[\d.]+", str(requirements(extra)["cuda-toolkit"].specifier))


def test_a_lock_that_disagrees_is_found():
    asked = {"numpy": Requirement("numpy>=2.1,<2.6"), "nbval": Requirement("nbval==0.11.*")}
    assert disagreements(asked, {"numpy": "2.4.6", "nbval": "0.11.0"}) == []
    assert disagreements(asked, {"numpy": "2.6.0", "nbval": "0.11.0"}) == ["numpy: 2.6.0 is not <2.6,>=2.1"]
    assert disagreements(asked, {"numpy": "2.4.6"}) == ["nbval is not in the lock"]


@pytest.mark.parametrize(
    "line",
    [
        "numpy",
        "numpy>=2",
        "numpy==2.4.6 --hash=sha256:00",
        "-e .",
        "numpy @ file:x",
        "--index-url x",
        "six==1\nsix==1",
    ],
)
def test_the_lock_holds_names_and_versions_only(line):
    with pytest.raises(ValueError):
        pins(line)


def installed() -> dict[str, str]:
    """What pip finds in this environment."""
    code = "from importlib.metadata import distributions as d\nfor x in d(): print(x.name, x.version)"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    return {canonicalize_name(name): version for name, version in map(str.split, out.splitlines())}


def test_the_lock_is_complete():
    """Every package that `make` has put into this environment is pinned, at the version that is there."""
    stamp = Path(sys.prefix) / "course-installed"
    if not stamp.exists() or stamp.read_text().split()[0] != install.fingerprint(ROOT):
        pytest.skip("this environment was not made by `make` from this lock")
    others = {"hiding-latency", "cuda-toolkit"} | ({"setuptools"} - set(requirements("dev")))
    there = {name: version for name, version in installed().items() if name not in others}
    assert {name: lock().get(name) for name in there} == there


def test_build_requirement_is_the_pinned_one():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["build-system"]["requires"] == [f"setuptools=={lock()['setuptools']}"]


@pytest.mark.parametrize(
    ("system", "machine", "wanted"),
    [
        ("linux", "x86_64", True),
        ("linux", "aarch64", True),
        ("win32", "AMD64", True),
        ("darwin", "arm64", False),
        ("darwin", "x86_64", False),
        ("linux", "riscv64", False),
    ],
)
def test_nvrtc_is_asked_for_only_where_it_has_wheels(system, machine, wanted):
    asked = requirements()
    for name in NVRTC_PARTS:
        assert asked[name].marker.evaluate({"sys_platform": system, "platform_machine": machine}) is wanted
    assert all(requirement.marker is None for name, requirement in asked.items() if name not in NVRTC_PARTS)


def conda(text: str) -> dict[str, SpecifierSet]:
    """The packages of an environment.yml. conda's `=3.12` means any 3.12."""
    found = {}
    for line in yaml.safe_load(text)["dependencies"]:
        name, spec = re.fullmatch(r"([a-z0-9-]+)(.*)", line).groups()
        if re.match(r"=\d", spec):
            spec = "=" + spec if spec.endswith(".*") else f"={spec}.*"
        found[name] = SpecifierSet(spec)
    return found


def conda_disagreements(environment: dict[str, SpecifierSet]) -> list[str]:
    """Where an environment and pyproject.toml ask for different packages or different ranges."""
    asked = requirements("lab", "book", "dev", "cuda12")
    shared = {
        CONDA_NAMES.get(name, name): spec for name, spec in environment.items() if name not in CONDA_ONLY
    }
    pip_only = NVRTC_PARTS | {"cuda-toolkit", "nvidia-cuda-cccl-cu12", "nvidia-cuda-nvcc-cu12"}
    missing = sorted(set(asked) - pip_only - set(shared))
    extra = sorted(set(shared) - set(asked))
    ranges = [
        f"{name}: {shared[name]} here, {asked[name].specifier} in pyproject.toml"
        for name in shared
        if name in asked and shared[name] != asked[name].specifier
    ]
    return [f"{name} is missing" for name in missing] + [f"{name} is too much" for name in extra] + ranges


def test_environment_and_pyproject_ask_for_the_same():
    environment = conda((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert conda_disagreements(environment) == []
    assert all(str(spec) for name, spec in environment.items() if name != "pip"), "a package without a pin"
    assert {str(environment[name]) for name in OF_CUDA} == {"==12.9.*"}, "all of one CUDA"
    assert Version(lock()["nvidia-cuda-nvrtc-cu12"]) in environment["cuda-nvrtc"], "the one extra cuda12 has"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert Version(str(environment["python"])[2:-2]) in SpecifierSet(project["requires-python"])


def test_an_environment_that_disagrees_is_found():
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    for wrong in (
        text.replace("numpy>=2.1,<2.6", "numpy>=2.1,<2.7"),
        re.sub(r"\n  - nbval.*", "", text),
        text + "  - pandas>=2\n",
    ):
        assert len(conda_disagreements(conda(wrong))) == 1


def test_every_line_of_the_environment_says_why():
    lines = (ROOT / "environment.yml").read_text(encoding="utf-8").splitlines()
    items = [line for line in lines if line.lstrip().startswith("- ")]
    assert items and [line for line in items if "#" not in line] == []


def test_conda_uses_one_channel_only():
    channels = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["channels"]
    assert channels == ["conda-forge", "nodefaults"]


# --- tracked files ----------------------------------------------------------------------------------------

ADDRESS = re.compile(
    r"--(?:extra-)?index-url|--find-links|\bindex-url\b|https?://[\w.-]*(?:pypi|pythonhosted|/simple)"
)


def tracked() -> list[Path]:
    """Every text file that git knows, and what it would take in; as git does, a zero byte tells a binary one."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    files = [path for path in (ROOT / name for name in names) if path.is_file()]
    return [path for path in files if b"\0" not in path.read_bytes()[:8000]]


def found_in(path: Path, pattern: re.Pattern) -> list[str]:
    text = path.read_bytes().decode("utf-8", errors="ignore")
    return [f"{path.relative_to(ROOT)}: {match[0]}" for match in pattern.finditer(text)]


@pytest.mark.parametrize("pattern", [ABSOLUTE, ADDRESS], ids=["absolute path", "index address"])
def test_no_machine_of_ours_in_any_file(pattern):
    files = [path for path in tracked() if path != Path(__file__)]  # which has to name what it looks for
    assert [hit for path in files for hit in found_in(path, pattern)] == []


@pytest.mark.parametrize(
    "text", ["see /home/someone/x", '"/tmp/a.json"', "-I/opt/cuda", r"C:\Users", "(/scratch/x)"]
)
def test_absolute_paths_are_found(text):
    assert ABSOLUTE.search(text)


@pytest.mark.parametrize(
    "text", ["a/home/b", "https://x.org/root/y", "./tmp/x", "$HOME/work/x", "/usr/bin/env", "A / B"]
)
def test_other_slashes_are_not(text):
    assert not ABSOLUTE.search(text)


@pytest.mark.parametrize(
    "text", ["--index-url x", "--find-links y", "https://pypi.org/simple", "index-url = z"]
)
def test_index_addresses_are_found(text):
    assert ADDRESS.search(text)


# --- README -----------------------------------------------------------------------------------------------

README = ROOT / "README.md"


def test_the_measured_tables_are_current():
    from course_lib.measure import records
    from tools.author import figures, marked

    record = json.loads(records.files()[0].read_text(encoding="utf-8"))
    shown = figures.measured(record)
    page = (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8")
    text, why = README.read_text(encoding="utf-8"), "run `python -m tools.author.figures`"
    assert marked.between(page, "measured", figures.full_table(record, shown)) == page, why
    assert marked.between(text, "measured", figures.short_table(record, shown)) == text, why
    assert {(row.lesson, row.kernel) for row in shown} >= figures.STEPS.keys()


def test_links_in_the_readme_lead_somewhere():
    """Every file named in a link; every lesson named in its table, and every `make` target in the text."""
    text = README.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert links and [link for link in links if not (ROOT / link).exists()] == []
    names = [path.stem for path in sources.notebooks(sources.NOTEBOOKS)]
    assert sorted(re.findall(r"^\| `(\d\d_\w+)` \|", text, re.MULTILINE)) == names
    assert set(re.findall(r"\bmake ([a-z]+)\b", text)) <= set(targets())


# --- Makefile ---------------------------------------------------------------------------------------------


def make(*arguments: str) -> subprocess.CompletedProcess:
    """As typed in a shell, also where the tests themselves run under a make that was told things."""
    told = {"MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS", "MAKELEVEL", "WITH"}
    env = {name: value for name, value in os.environ.items() if name not in told}
    return subprocess.run(["make", "-C", str(ROOT), *arguments], capture_output=True, text=True, env=env)


def targets() -> list[str]:
    line = re.search(r"^\.PHONY:(.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    return line[1].split()


@pytest.mark.parametrize(
    ("file", "text", "stays"),
    [
        ("submitted/kim/a/a.ipynb", "{}", True),
        ("nbgrader_config.py", "# a teacher's own", True),
        ("nbgrader_config.py", "# ours", False),
        ("release/a/a.ipynb", "{}", False),
    ],
)
def test_make_clean_leaves_what_no_command_makes_again(tmp_path, file, text, stays):
    shutil.copy(ROOT / "Makefile", tmp_path)
    for path, said in (("tools/classroom/nbgrader_config.py", "# ours"), (f"build/classroom/{file}", text)):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(said)
    (tmp_path / "build" / "course").mkdir()
    done = subprocess.run(["make", "clean"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert (tmp_path / "build" / "classroom" / file).exists() == stays == ("stays" in done.stdout)
    assert not (tmp_path / "build" / "course").exists()


@pytest.mark.parametrize("target", sorted(set(targets()) - {"help", "clean", "install"}))
def test_every_target_makes_the_environment_first(target):
    text = make("-n", target).stdout
    assert "tools/install.py" in text
    assert text.index("tools/install.py") < text.index(".venv/bin/python")


def test_help_names_every_target():
    text = make("help").stdout
    assert re.findall("^To .*", text, re.MULTILINE) == ["To learn", "To change the course", "To teach"]
    assert [name for name in targets() if name != "help" and text.count(f"  make {name} ") != 1] == []


@pytest.mark.parametrize(("step", "well"), [("true", True), ("false", False)])
def test_make_test_ends_as_its_steps_do(step, well):
    """Each step is `$(RUN) -m ...`; the environment is taken as made."""
    assert (make("--old-file=install", "test", f"RUN={step}").returncode == 0) is well


def test_make_says_when_python_is_too_old(tmp_path):
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2\nexit 1\n')
    old.chmod(0o755)
    result = make("install", f"PYTHON={old}")
    assert result.returncode != 0
    assert "No suitable Python" in result.stderr and "3.11 or later" in result.stderr


def test_ci_calls_make_test_and_nothing_else():
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if "make" in line] == ['exec make test WITH="browser classroom"']
    for step in ("ruff check .", "ruff format --check .", "pytest --nbval"):
        assert step in make("-n", "test").stdout


# --- installer --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gpu", "extra", "why"),
    [
        ("", "none", "no NVIDIA driver"),
        ("580.65.06, 9.0, NVIDIA H100 80GB HBM3", "cuda13", "580"),
        ("595.10, 12.0, NVIDIA GeForce RTX 5090", "cuda13", "580"),
        ("570.86.10, 8.0, NVIDIA A100", "cuda12", "525 to 579"),
        ("525.60.13, 8.9, NVIDIA L4", "cuda12", "525 to 579"),
        ("470.256.02, 8.0, NVIDIA A100", "none", "from 525"),
        ("580.65.06, 7.0, Tesla V100", "none", "7.5"),
        ("580.65.06, 7.5, Tesla T4", "cuda13", "CUDA 13"),
        ("[N/A], 9.0, NVIDIA H100", "none", "from 525"),
    ],
)
def test_the_driver_chooses_the_extra(gpu, extra, why):
    chosen, reason = install.choose_extra(gpu)
    assert chosen == extra and why in reason


@pytest.mark.parametrize(
    ("installed", "interrupted", "starts", "extras", "todo"),
    [
        ("new none", False, True, "none", "nothing"),
        ("new cuda13", False, True, "cuda13", "nothing"),
        ("new cuda13", False, True, "none", "nothing"),  # a login node of a cluster
        ("new none", False, True, "cuda13", "install"),  # a driver was added
        ("old none", False, True, "none", "install"),  # the lock changed
        ("", False, False, "none", "afresh"),  # not there
        ("new none", False, False, "none", "afresh"),  # its Python is gone
        ("", True, True, "none", "afresh"),  # interrupted
        ("new none", True, True, "none", "afresh"),
        ("new cuda12", False, True, "cuda13", "afresh"),  # never two CuPy packages
        ("new none", False, True, "none dev", "install"),
        ("new none dev", False, True, "none", "nothing"),
        ("new none", False, True, "none browser", "install"),
        ("new none browser classroom", False, True, "none browser", "nothing"),
        ("new none browser", False, True, "none", "nothing"),  # what CI added stays
        ("new cuda13 browser", False, True, "none browser", "nothing"),
    ],
)
def test_what_the_installer_does(installed, interrupted, starts, extras, todo):
    assert install.plan(installed, interrupted, starts, wanted="new", extras=tuple(extras.split())) == todo


@pytest.mark.parametrize(
    ("installed", "extras", "all_of_them"),
    [
        ("old none browser", "none", "none browser"),
        ("old cuda13 browser", "none dev classroom", "cuda13 dev browser classroom"),
        ("old none", "cuda13", "cuda13"),
        ("", "none browser", "none browser"),
    ],
)
def test_the_installer_keeps_the_extras_that_were_there(installed, extras, all_of_them):
    assert install.joined(installed, tuple(extras.split())) == tuple(all_of_them.split())


def test_a_learners_environment_has_no_tests_no_browser_and_no_nbgrader():
    for_others = set(requirements("dev", "browser", "classroom")) - set(requirements("lab", "book"))
    assert for_others >= {"pytest", "nbval", "ruff", "playwright", "nbgrader"}


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (["lab"], ""),
        (["course"], ""),
        (["course", "AGAIN=1"], ""),
        (["test"], "dev"),
        (["quick"], "dev"),
        (["outputs"], "dev"),
        (["record"], "dev"),
        (["bench"], "dev"),
        (["grade"], "classroom"),
        (["long"], "browser classroom dev"),
        (["test", "WITH=browser classroom"], "browser classroom dev"),
    ],
)
def test_a_target_asks_for_what_it_needs(arguments, asked):
    installs = re.search(r"tools/install.py(.*?);", make("-n", *arguments).stdout)[1]
    assert installs.split() == ["--with", *asked.split()] * bool(asked)


def test_the_fingerprint_follows_lock_metadata_and_place(tmp_path):
    seen = set()
    for place, lock_text, metadata in [("a", "x", "y"), ("b", "x", "y"), ("c", "xx", "y"), ("c", "x", "yy")]:
        folder = tmp_path / place
        folder.mkdir(exist_ok=True)
        (folder / "requirements.lock").write_text(lock_text)
        (folder / "pyproject.toml").write_text(metadata)
        seen.add(install.fingerprint(folder))
    assert len(seen) == 4


def environment(venv: Path, *names: str) -> None:
    """A folder that looks like an environment, with these files."""
    for name in ("pyvenv.cfg", "bin/python", "lib/kept.py", *names):
        (venv / name).parent.mkdir(parents=True, exist_ok=True)
        (venv / name).touch()


@pytest.mark.parametrize("kind", ["without pip", "with pip", "a file", "a link to one", "a link to nothing"])
def test_what_others_made_is_left_as_it_is(tmp_path, monkeypatch, kind):
    venv = tmp_path / ".venv"
    if kind == "a file":
        venv.touch()
    elif kind.startswith("a link"):
        venv.symlink_to(tmp_path / "elsewhere")
    if kind not in ("a file", "a link to nothing"):
        environment(tmp_path / "elsewhere" if kind == "a link to one" else venv)
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr(install, "ROOT", tmp_path)
    monkeypatch.setattr(install, "fingerprint", lambda root: "new")
    monkeypatch.setattr(install, "starts", lambda venv: kind == "with pip")
    monkeypatch.setattr(install, "install", lambda *what: pytest.fail(f"installs: {what}"))
    monkeypatch.setattr(sys, "argv", ["install", "none"])
    with pytest.raises(SystemExit, match=r"did not make it.*mv .venv"):
        install.main()
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("mark", ["course-installing", "course-installed"])
def test_what_the_installer_made_it_may_make_again(tmp_path, mark):
    venv, link = tmp_path / "venv", tmp_path / "link"
    assert not install.foreign(venv), "not there"
    venv.mkdir()
    assert not install.foreign(venv), "stopped before the first mark, or an empty folder: nothing to lose"
    environment(venv, mark)
    link.symlink_to(venv)
    assert not install.foreign(venv) and not install.foreign(link)


def test_a_removal_that_is_stopped_can_go_on(tmp_path, monkeypatch):
    """Ctrl-C in the middle of it: what is left is still known as the installer's own."""
    environment(tmp_path / "venv", "course-installed")
    whole = shutil.rmtree

    def stopped(path, **options):
        for file in path.iterdir():
            if file.is_file():
                file.unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", stopped)
    with pytest.raises(KeyboardInterrupt):
        install.install(tmp_path / "venv", "none", afresh=True)
    assert not install.foreign(tmp_path / "venv")
    monkeypatch.setattr(shutil, "rmtree", whole)
    monkeypatch.setattr(install, "python_of", lambda venv: Path(sys.executable))
    monkeypatch.setattr(install, "run", lambda *what: None)
    install.install(tmp_path / "venv", "none", afresh=True)
    assert [path.name for path in (tmp_path / "venv").iterdir()] == ["course-installed"]


def test_a_link_stays_when_its_environment_is_made_again(tmp_path, monkeypatch):
    environment(tmp_path / "disk", "course-installing")
    (tmp_path / "venv").symlink_to(tmp_path / "disk")
    monkeypatch.setattr(install, "python_of", lambda venv: Path(sys.executable))
    monkeypatch.setattr(install, "run", lambda *what: None)
    install.install(tmp_path / "venv", "none", afresh=True)
    assert (tmp_path / "venv").is_symlink()
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["course-installed"]


FAILS = """#!/bin/sh
case "$*" in *" uv"|*" config list") exit 0 ;; esac
echo "Resolved 2 packages"
{does}
echo "error: it went wrong" >&2
exit 2
"""


@pytest.mark.parametrize(
    ("does", "stamp", "left"),
    [
        (":", "old none", ["course-installed"]),
        ("mkdir {venv}/lib/a-1.0.dist-info", "old none", ["course-installing"]),
        (":", "", ["course-installing"]),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="a shell script stands for Python")
def test_what_changed_nothing_leaves_an_environment_that_is_whole(tmp_path, monkeypatch, does, stamp, left):
    """Else the next command would install everything afresh."""
    venv = tmp_path / "venv"
    environment(venv, "course-installing")
    if stamp:
        (venv / "course-installed").write_text(stamp)
    python = tmp_path / "python"
    python.write_text(FAILS.format(does=does.format(venv=venv)))
    python.chmod(0o755)
    monkeypatch.setattr(install, "ROOT", tmp_path)
    monkeypatch.setattr(install, "python_of", lambda venv: python)
    with pytest.raises(SystemExit, match="it went wrong") as failed:
        install.install(venv, ("none", "classroom"), afresh=False)
    assert "wheelhouse" not in str(failed.value)
    assert sorted(path.name for path in venv.glob("course-install[ie]*")) == left
    if left == ["course-installed"]:
        assert install.stamp_of(venv) == stamp
    (tmp_path / install.WHEELHOUSE).mkdir(parents=True)
    with pytest.raises(SystemExit, match=r"build/wheelhouse may lack .* Run make wheelhouse again"):
        install.install(venv, ("none", "classroom"), afresh=False)


def started(code: str, *arguments: object) -> subprocess.Popen:
    """A Python of its own in this folder that runs the code."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


INSTALLS = """
import sys, time
from pathlib import Path
from tools import install

def run(command, log, told):
    with open(log, "a") as file:
        print(command[2], file=file)
    time.sleep(1)

install.ROOT = Path(sys.argv.pop())
install.python_of = lambda venv: Path(sys.executable)
install.run = run
install.main()
"""


def test_of_two_installers_at_once_one_waits(tmp_path):
    for name in ("requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    both = [started(INSTALLS, "none", tmp_path) for _ in range(2)]
    said = [process.communicate(timeout=60) for process in both]
    assert [(process.returncode, err) for process, (_, err) in zip(both, said)] == [(0, "")] * 2
    assert sorted("waiting for it" in out for out, _ in said) == [False, True]
    assert {path.name for path in (tmp_path / ".venv").iterdir()} == {
        "course-installed",
        "course-install.log",
    }
    assert (tmp_path / ".venv" / "course-install.log").read_text() == "pip\nuv\n", (
        "the second had nothing to do"
    )


HOLDS = """
import sys, time
from pathlib import Path
from tools import install
with install.alone(Path(sys.argv[1]), "waiting"):
    print("in", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def test_a_killed_process_leaves_no_lock(tmp_path):
    lock_file = tmp_path / "build" / "a.lock"
    with started(HOLDS, lock_file, 60) as first:
        assert first.stdout.readline() == "in\n"
        with started(HOLDS, lock_file, 0) as second:
            assert second.stdout.readline() == "waiting\n"
            assert second.poll() is None
            first.kill()
            assert second.communicate(timeout=30) == ("in\n", "")
    assert second.returncode == 0


def test_a_finished_installation_needs_no_lock(tmp_path, monkeypatch):
    """Students start from a teacher's folder that they cannot write to."""
    for name in ("requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    environment(tmp_path / ".venv", "course-installed")
    (tmp_path / ".venv" / "course-installed").write_text(f"{install.fingerprint(tmp_path)} none")
    monkeypatch.setattr(install, "ROOT", tmp_path)
    monkeypatch.setattr(install, "starts", lambda venv: True)
    monkeypatch.setattr(install, "alone", lambda *what: pytest.fail("takes a lock"))
    monkeypatch.setattr(sys, "argv", ["install", "none"])
    install.main()


def test_a_wheelhouse_has_what_the_installer_asks_for_by_name():
    others = {Requirement(line).name for line in wheelhouse.wanted()[1:]}
    assert others == {"setuptools", "pip", "uv"} and others <= set(lock())


@pytest.mark.parametrize("stamp", ["", "x none", "x cuda13 browser", "x none classroom"])
def test_a_wheelhouse_has_what_a_teacher_installs_later(monkeypatch, stamp):
    """`make classroom` asks nobody else once there is one."""
    monkeypatch.setattr(wheelhouse, "stamp_of", lambda venv: stamp)
    extras = wheelhouse.wanted()[0].removeprefix(".[").removesuffix("]").split(",")
    assert extras.count("classroom") == 1
    assert set(extras) >= {*install.ALWAYS, *stamp.split()[1:]} - {"none"}


def test_uv_takes_packages_from_where_pip_would(tmp_path, monkeypatch):
    """uv reads none of pip's settings itself. A variable beats a file; what uv was told beats both."""
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_", "SSL_CERT", "ALL_PROXY"))]:
        monkeypatch.delenv(name)
    settings = (
        "index-url = a\nextra-index-url =\n  b\n  c\nfind-links = d e\nproxy = f\nretries = 7\ncert = g\n"
    )
    (tmp_path / "pip.conf").write_text(f"[global]\n{settings}[install]\ncert = h\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_INDEX_URL", "i")
    monkeypatch.setenv("UV_INDEX", "j")
    assert (
        install.for_uv(Path(sys.executable)).items()
        >= {
            "UV_DEFAULT_INDEX": "i",
            "UV_FIND_LINKS": "d,e",
            "ALL_PROXY": "f",
            "SSL_CERT_FILE": "h",
            "UV_INDEX_STRATEGY": "unsafe-best-match",
        }.items()
    )
    assert "UV_INDEX" not in install.for_uv(Path(sys.executable))
    monkeypatch.delenv("UV_INDEX")
    assert install.for_uv(Path(sys.executable))["UV_INDEX"] == "b c"


def test_extra_cuda12_takes_out_what_it_replaces():
    assert set(install.CUDA13_ONLY) == NVRTC_PARTS - {"cuda-bindings", "nvidia-cuda-nvdisasm"}


# --- runner -----------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def nothing_kept(tmp_path, monkeypatch):
    """What ran before is looked for, and kept, in the test's own folder."""
    monkeypatch.setattr(course, "ROOT", tmp_path)


def write_notebook(path: Path, *cells: str | tuple[str, str]) -> None:
    """A notebook of code cells; a tuple is a cell and its tag."""
    pairs = [cell if isinstance(cell, tuple) else (cell, "") for cell in cells]
    made = [
        nbformat.v4.new_code_cell(source, metadata={"tags": [tag] if tag else []}) for source, tag in pairs
    ]
    heading = nbformat.v4.new_markdown_cell("# A & B")
    nbformat.write(nbformat.v4.new_notebook(cells=[heading, *made]), path)


def test_the_runner_tells_right_from_wrong(tmp_path):
    write_notebook(tmp_path / "01_a.ipynb", "print('check passed: 2 cases')", ("1 / 0", "raises-exception"))
    write_notebook(
        tmp_path / "02_b.ipynb", "print('check passed: x')", "1 / 0", ("2", "raises-exception"), "print(3)"
    )
    write_notebook(tmp_path / "03_c.ipynb", "import os; os._exit(1)", "print('check passed')")
    good, bad, dead = course.run_course(tmp_path, "simulator")
    assert (good.cells, good.checks, good.failures) == (2, 1, ())
    assert (bad.cells, bad.checks) == (4, 1)
    assert [failure.partition(":")[0] for failure in bad.failures] == [
        "code cell 2 raised ZeroDivisionError",
        "code cell 3 should have raised an exception and did not",
    ]
    assert dead.checks == 0 and "the kernel ended by itself" in dead.failures[0]
    assert "FAILED" in course.table([bad], "simulator") and "FAILED" not in course.table([good], "simulator")
    assert "1 passed" in course.table([good], "simulator")
    again = course.run_course(tmp_path, "simulator")
    assert [outcome.before for outcome in again] == [True, False, False]
    assert (again[0].cells, again[0].checks, again[1].failures) == (2, 1, bad.failures)


@pytest.mark.parametrize(("why", "bound", "status"), [([], True, 0), (["no"], True, 1), ([], False, 1)])
def test_the_course_ends_well_with_its_book_and_without_failures(tmp_path, monkeypatch, why, bound, status):
    ran = course.outcome("01_a", nbformat.v4.new_notebook(), 1.0, why)
    monkeypatch.setattr(course, "ROOT", tmp_path)
    monkeypatch.setattr(course, "bring_copies", lambda: None)
    monkeypatch.setattr(course, "run_course", lambda *_: [ran])
    monkeypatch.setattr(course, "bind", lambda *_: bound)
    assert course.main() == status


def test_a_lesson_that_fails_keeps_its_outputs_and_ends_make_outputs(tmp_path, monkeypatch):
    path = tmp_path / "01_a.ipynb"
    write_notebook(path, "1 / 0")
    before = path.read_bytes()
    monkeypatch.setattr(outputs, "compile_anew", lambda *_: None)
    assert outputs.renew(path) == 1 and path.read_bytes() == before


def test_the_table_counts_what_a_page_of_exercises_holds():
    cells = [nbformat.v4.new_code_cell("x", metadata={"tags": ["exercise"]}) for _ in range(4)]
    pages = course.outcome("exercises/01_a", nbformat.v4.new_notebook(cells=cells), 1.0, [])
    shown = course.table([pages], "simulator")
    assert "4 exercises" in shown and "passed" not in shown


def with_cells(cells: str) -> str:
    """The text of a notebook file with these cells, right or wrong."""
    return f'{{"nbformat": 4, "nbformat_minor": 5, "metadata": {{}}, "cells": {cells}}}'


BROKEN = {
    "": "it is empty",
    '{"cells": [': "line 1 column 12",
    "<<<<<<< HEAD\n{}": "line 1 column 1",
    "[]": "it is JSON, and nbformat says",
    "\udcff": "can't decode byte 0xff in position 0",
    with_cells("null"): "it is JSON, and nbformat says",
    with_cells('[{"cell_type": "code"}]'): "missing an expected key: metadata",
    with_cells('[{"cell_type": "raw", "id": "a", "metadata": {}, "source": 3}]'): "not valid under any",
}
"""Text of a file that is no notebook -> what the runner says of it."""


def test_a_broken_notebook_fails_and_the_others_run(tmp_path):
    for number, text in enumerate(BROKEN):
        (tmp_path / f"{number:02}_broken.ipynb").write_bytes(text.encode(errors="surrogateescape"))
    write_notebook(tmp_path / "99_good.ipynb", "print('check passed')")
    *broken, good = course.run_course(tmp_path, "simulator")
    assert good.checks == 1 and good.failures == ()
    for outcome, why in zip(broken, BROKEN.values(), strict=True):
        (line,) = outcome.failures
        assert line.startswith("cannot be used as a notebook: ") and why in line and "\n" not in line
        assert "cannot be used" in outcome.notebook.cells[0].source, "and no page of an earlier run stays"
    assert "00_broken, cannot be used as a notebook: it is empty" in course.table(broken, "simulator")


OURS = {"01_lesson.ipynb", "exercises/01_lesson.ipynb"}


def scratch_and_lesson(folder: Path) -> None:
    """A lesson, and what a learner may have beside it: notes, JupyterLab's copy of the lesson, a folder."""
    (folder / "mine").mkdir(parents=True)
    (folder / "exercises").mkdir()
    own = ("notes.ipynb", "01_lesson-Copy1.ipynb", "mine/01_lesson.ipynb", "exercises/01_lesson-Copy1.ipynb")
    for name in OURS:
        write_notebook(folder / name, "import os")
    for name in own:
        write_notebook(folder / name, "1 / 0")


def test_the_runner_leaves_scratch_notebooks_alone(tmp_path, capsys):
    scratch_and_lesson(tmp_path)
    outcomes = course.run_course(tmp_path, "simulator")
    assert [(outcome.name, outcome.failures) for outcome in outcomes] == [
        ("01_lesson", ()),
        ("exercises/01_lesson", ()),
    ]
    assert "left alone: 01_lesson-Copy1.ipynb, notes.ipynb" in capsys.readouterr().out


def test_make_test_leaves_scratch_notebooks_alone(tmp_path):
    """pytest and ruff, as `make test` calls them, look at the lessons only."""
    scratch_and_lesson(tmp_path / "notebooks")
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, tmp_path)
    for command in ("pytest --nbval --collect-only --quiet notebooks", "ruff check --show-files ."):
        called = [sys.executable, "-m", *command.split()]
        plain = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
        said = subprocess.run(called, cwd=tmp_path, capture_output=True, text=True, env=plain).stdout
        seen = {name.partition("notebooks/")[2] for name in re.findall(r"\S+\.ipynb", said)}
        assert seen == OURS, command


def test_committed_results_do_not_count(tmp_path):
    """A cell that never runs keeps no old output."""
    write_notebook(tmp_path / "01_a.ipynb", "import os; os._exit(1)", "print('check passed')")
    notebook = nbformat.read(tmp_path / "01_a.ipynb", as_version=4)
    notebook.cells[2].outputs = [nbformat.v4.new_output("stream", text="check passed\n")]
    nbformat.write(notebook, tmp_path / "01_a.ipynb")
    (outcome,) = course.run_course(tmp_path, "simulator")
    assert outcome.checks == 0 and outcome.failures


RUNS = """
import sys
from pathlib import Path
from tools.learner import course
course.ROOT = Path(sys.argv[1])
sys.exit(course.main())
"""


WAITS = """
import pathlib, time
deadline = time.monotonic() + 60
while not pathlib.Path("here").exists():
    assert time.monotonic() < deadline, "the other lesson did not run meanwhile"
    time.sleep(0.05)
"""


def test_lessons_run_at_the_same_time_and_keep_their_order(tmp_path, capsys):
    write_notebook(tmp_path / "01_a.ipynb", WAITS)
    write_notebook(tmp_path / "02_b.ipynb", "open('here', 'w').close()")
    paths = [tmp_path / "01_a.ipynb", tmp_path / "02_b.ipynb"]
    first, second = asyncio.run(course.run_all(paths, at_once=2))
    assert (first.name, first.failures, second.name, second.failures) == ("01_a", (), "02_b", ())
    said = re.sub(r"\d+ s", "- s", capsys.readouterr().out).splitlines()
    assert [line.partition(",")[0] for line in said] == ["1 of 2", "2 of 2"], "how far it is"
    assert sorted(line.partition(", ")[2] for line in said) == ["01_a: - s", "02_b: - s"]


@pytest.mark.parametrize(
    ("machine", "cores", "expected"),
    [("cupy", 8, 1), ("simulator", 1, 1), ("simulator", 2, 2), ("simulator", 64, 4)],
)
def test_on_a_gpu_no_lesson_disturbs_the_times_of_another(
    tmp_path, monkeypatch, capsys, machine, cores, expected
):
    monkeypatch.setattr(course.os, "cpu_count", lambda: cores)
    (tmp_path / "01_empty.ipynb").touch()
    course.run_course(tmp_path, machine)
    assert f"{expected} at a time" in capsys.readouterr().out


def test_of_two_courses_at_once_one_waits(tmp_path):
    (tmp_path / "notebooks").mkdir()
    write_notebook(tmp_path / "notebooks" / "01_a.ipynb", "print('check passed')")
    with install.alone(tmp_path / "build" / "course.lock", ""):
        process = started(RUNS, tmp_path)
        assert "waiting for it" in process.stdout.readline()
        assert not (tmp_path / "build" / "course").exists()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and err == "" and "01_a" in out


def test_ctrl_c_leaves_nothing_half_written(tmp_path):
    (tmp_path / "notebooks").mkdir()
    code = "open('started', 'w').close()\nimport time; time.sleep(60)"
    write_notebook(tmp_path / "notebooks" / "01_a.ipynb", code)
    with started(RUNS, tmp_path) as process:
        deadline = time.monotonic() + 60
        begun = tmp_path / "notebooks" / "started"
        while not begun.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Stopped" in out and err == ""
    assert [path.name for path in (tmp_path / "build").iterdir()] == ["course.lock"]


# --- tests on several cores ---------------------------------------------------------------------------------


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
    for args, ignored in (
        ([path.as_posix() for path in everything], set()),
        (
            ["tests", "notebooks"],
            set(everything) - of_a_run,
        ),
    ):
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
