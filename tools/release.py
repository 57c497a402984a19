"""What a release consists of, in build/release: `make release TAG=v2.0.0`.

| file | what it is |
|---|---|
| three wheels | the course, ptxsim and matmul, of what git tracks |
| hiding_latency-2.0.0-book.zip | the book that `make course` wrote |
| notes.md | what is new in each of the three, from its CHANGELOG.md |
| SHA256SUMS | of all these |

A tag that is not this version, or a CHANGELOG.md that does not begin with its package's version, ends it before.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from hiding_latency import packages
from tools.install import ROOT

FOLDERS = packages.FOLDERS[::-1]
"""Of the packages, the course first; each has a pyproject.toml and a CHANGELOG.md."""
OUT = ROOT / "build" / "release"


def project(root: Path, folder: str) -> dict:
    return tomllib.loads((root / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def newest(root: Path, folder: str) -> tuple[str, str]:
    """The version at the top of a CHANGELOG.md, and what is said of it."""
    text = (root / folder / "CHANGELOG.md").read_text(encoding="utf-8")
    version, said = re.findall(r"^## ([\d.]+).*?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[0]
    return version, said


def wrong(root: Path, tag: str) -> list[str]:
    """What stands in the way of a release with this tag."""
    found = []
    if tag != f"v{project(root, '.')['version']}":
        found.append(f"The tag is {tag}, and pyproject.toml has {project(root, '.')['version']}.")
    for folder in FOLDERS:
        version, said = project(root, folder)["version"], newest(root, folder)[0]
        if said != version:
            found.append(f"{folder}/CHANGELOG.md begins with {said}, and its pyproject.toml has {version}.")
    if not (root / "build" / "course" / "index.html").is_file():
        found.append("There is no book: `make course` writes it.")
    return found


def notes(root: Path) -> str:
    """What is new, package by package."""
    parts = [(project(root, folder), newest(root, folder)[1].strip()) for folder in FOLDERS]
    return "\n\n".join(f"## {each['name']} {each['version']}\n\n{said}" for each, said in parts) + "\n"


def wheels(root: Path, out: Path) -> None:
    """Build the three wheels from a copy of what git tracks: pip leaves files beside what it builds."""
    with tempfile.TemporaryDirectory() as copy:
        listed = ["git", "ls-files", "-z", "--", ":!tests"]
        names = subprocess.run(listed, cwd=root, check=True, capture_output=True).stdout
        subprocess.run(["xargs", "-0", "cp", "--parents", "-t", copy], input=names, check=True, cwd=root)
        asked = ["git", "log", "-1", "--format=%ct"]
        seconds = subprocess.run(asked, cwd=root, check=True, capture_output=True, text=True).stdout.strip()
        pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(out)]
        at = os.environ | {"SOURCE_DATE_EPOCH": seconds}
        subprocess.run([*pip, *(str(Path(copy, folder)) for folder in FOLDERS)], check=True, env=at)


def main(tag: str) -> int:
    """Fill build/release; the exit status."""
    if found := wrong(ROOT, tag):
        print(*found, sep="\n", file=sys.stderr)
        return 1
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    wheels(ROOT, OUT)
    book = OUT / f"hiding_latency-{tag.removeprefix('v')}-book"
    shutil.make_archive(str(book), "zip", ROOT / "build" / "course")
    (OUT / "notes.md").write_text(notes(ROOT), encoding="utf-8")
    files = sorted(OUT.iterdir())
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (OUT / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    print(*(f"{path.stat().st_size / 1e6:6.1f} MB  {path.relative_to(ROOT)}" for path in files), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
