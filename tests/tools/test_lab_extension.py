"""The extension for JupyterLab, as it ships. What it does is seen in a browser: tests/browser/test_lab.py."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from hiding_latency import lab
from tests.rules import ROOT

HERE = ROOT / "tools" / "lab_extension"
MADE = HERE / "labextensions" / "cuda-in-strings"


def checksums(folder: Path) -> str:
    """As `sha256sum` prints them in build.sh."""
    paths = [folder / name for name in ("build.sh", "package.json", "tsconfig.json")]
    paths += sorted((folder / "src").glob("*.ts"))
    lines = (
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n"
        for path in paths
    )
    return "".join(lines)


def test_what_ships_was_made_from_these_sources():
    made_from = (MADE / "made_from.sha256").read_text()
    assert made_from == checksums(HERE), (
        "run `bash tools/lab_extension/build.sh`, or a learner gets the old one"
    )


FOUND = """
from jupyter_core.paths import jupyter_path
from jupyterlab_server.config import get_federated_extensions
made = get_federated_extensions(jupyter_path("labextensions"))["cuda-in-strings"]
print(made["ext_path"], made["jupyterlab"]["_build"]["load"])
"""


def test_make_lab_finds_it_and_ones_own_extensions(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    paths = lab.environment()["JUPYTER_PATH"].split(os.pathsep)
    assert paths == [str(tmp_path), str(HERE)]
    command = [sys.executable, "-c", FOUND]
    said = subprocess.run(command, env=lab.environment(), check=True, capture_output=True, text=True).stdout
    folder, first = said.split()
    assert Path(folder) == MADE and (MADE / first).is_file()


def test_it_names_no_address_and_no_lock_of_one():
    files = [path for path in HERE.rglob("*") if path.is_file()]
    assert not [path for path in files if "lock" in path.name]
    assert not [path for path in files if re.search(r"https?://", path.read_text(encoding="utf-8"))]
