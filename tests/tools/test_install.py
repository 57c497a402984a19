"""The installer: which extras, what of an environment stays, one at a time."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.rules import ROOT
from tests.tools.made import started
from tools import install


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


SETTINGS = ["requirements.lock", *(f"{folder}/pyproject.toml" for folder in install.FOLDERS)]


def put_settings(root: Path) -> None:
    for name in SETTINGS:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)


def test_the_fingerprint_follows_lock_metadata_and_place(tmp_path):
    seen = set()
    for place in ("a", "b"):
        put_settings(tmp_path / place)
        seen.add(install.fingerprint(tmp_path / place))
    for name in SETTINGS:
        (tmp_path / "b" / name).write_text("another")
        seen.add(install.fingerprint(tmp_path / "b"))
    assert len(seen) == 2 + len(SETTINGS) == 6


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
    put_settings(tmp_path)
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
    put_settings(tmp_path)
    environment(tmp_path / ".venv", "course-installed")
    (tmp_path / ".venv" / "course-installed").write_text(f"{install.fingerprint(tmp_path)} none")
    monkeypatch.setattr(install, "ROOT", tmp_path)
    monkeypatch.setattr(install, "starts", lambda venv: True)
    monkeypatch.setattr(install, "alone", lambda *what: pytest.fail("takes a lock"))
    monkeypatch.setattr(sys, "argv", ["install", "none"])
    install.main()


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


def test_what_it_says_speaks_to_a_learner(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(install, "install", lambda *asked: None)
    install.carry_out("afresh", tmp_path / ".venv", ("none", "dev", "nvcc"), install.choose_extra("")[1])
    said = capsys.readouterr().out.splitlines()[0]
    assert said == (
        "No NVIDIA driver found: kernels run in the simulator. With it comes what the course's own tests need "
        "and what whole programs need."
    )
    assert "Extra" not in said and all(install.EXTRAS.values()) and all(install.WITH.values())
