"""JupyterLite in an environment of its own: `.venv-lite` has what requirements.txt pins, and nothing of the course."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
VENV = ROOT / ".venv-lite"
PINNED = Path(__file__).with_name("requirements.txt")
WHEELS = VENV / "share/jupyter/labextensions/@jupyterlite/pyodide-kernel-extension/static/pypi"
"""The wheels that the kernel brings with it."""
KEPT = VENV / "requirements.txt"
"""What was installed: its last file, so that an interrupted installation is not taken for a whole one."""


class LiteError(RuntimeError):
    """A command failed; the message is what it said."""


def prepare() -> None:
    """Install what is pinned, unless it is there."""
    if KEPT.is_file() and KEPT.read_bytes() == PINNED.read_bytes():
        return
    print(f"pip installs JupyterLite into {VENV.name}", flush=True)
    shutil.rmtree(VENV, ignore_errors=True)
    run(sys.executable, "-m", "venv", VENV)
    pip("install", "--no-deps", "--require-hashes", "-r", PINNED)  # the list is whole
    shutil.copy(PINNED, KEPT)


def pip(*command: object) -> None:
    """Run pip there."""
    run(VENV / "bin" / "python", "-m", "pip", "--quiet", "--disable-pip-version-check", *command)


def jupyter(*command: object, folder: Path) -> None:
    """Run Jupyter there, in this folder."""
    run(VENV / "bin" / "jupyter", *command, folder=folder)


def download(package: str, folder: Path) -> None:
    """The pinned file of a package that every Python can use."""
    folder.mkdir(parents=True, exist_ok=True)
    asked = folder / "asked.txt"
    asked.write_text(_pinned(package), encoding="utf-8")
    pip("download", "--no-deps", "--only-binary=:all:", "--require-hashes", "-d", folder, "-r", asked)
    asked.unlink()


def _pinned(package: str) -> str:
    """A package's lines in the list: its version, and each hash in a line of its own."""
    entries = re.split(r"\n(?=\S)", PINNED.read_text(encoding="utf-8"))
    return next(entry for entry in entries if entry.startswith(f"{package}=="))


def run(*command: object, folder: Path = ROOT) -> None:
    """Run a command. Raises LiteError with the end of what it said."""
    done = subprocess.run([str(each) for each in command], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise LiteError(f"{command[0]} failed:\n{(done.stdout + done.stderr)[-3000:]}")
