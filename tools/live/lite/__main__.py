"""`python -m tools.live.lite [PLACE ...]`: write the lessons as notebooks in the browser.

The site is build/course/lite, beside the book. The files of Python come from these places, as for `tools.live.fetch`,
where they are not in build/pyodide.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from tools.learner import copies
from tools.live import fetch
from tools.live.lite import environment
from tools.live.lite.lock import files, lock

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
TARGET = ROOT / "build" / "course" / "lite"
OF_THE_COURSE = ("course_lib", "ptxsim", "notebooks", "assets", "tools/lab_extension")
OF_LAB = ROOT / "tools" / "learner" / "labconfig" / "default_setting_overrides.json"
IN_NO_RELEASE = "comm"
"""The one package that the kernel wants and Pyodide's release has not."""
EXTENSION = ROOT / "tools" / "lab_extension" / "labextensions" / "cuda-in-strings"
KERNEL = "@jupyterlite/pyodide-kernel-extension:kernel"
SETTINGS = {
    "jupyter-lite-schema-version": 0,
    "jupyter-config-data": {
        "appName": "Hiding latency",
        "litePluginSettings": {KERNEL: {"disablePyPIFallback": True}},  # no other host is asked
    },
}


def build(target: Path = TARGET) -> dict[str, int]:
    """Write the site; return its size by folder, in bytes."""
    environment.prepare()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        put_python(root / "static" / "pyodide", course_wheel(root / "wheel"))
        put_lessons(root / "lessons")
        environment.download(IN_NO_RELEASE, root / "wheels")
        shutil.copy(OF_LAB, root / "overrides.json")
        (root / "jupyter-lite.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
        given = [f"--piplite-wheels={each}" for each in (root / "wheels").glob("*.whl")]
        given += ["--apps=lab", "--no-sourcemaps", f"--LiteBuildConfig.federated_extensions={EXTENSION}"]
        given += [f"--contents={root / 'lessons'}", f"--output-dir={target}"]
        environment.jupyter("lite", "build", f"--lite-dir={root}", *given, folder=root)
        for left in target.rglob("*.map"):
            left.unlink()
    return sizes(target)


def course_wheel(folder: Path) -> Path:
    """The course's wheel, made of a copy: pip leaves build/ where it works."""
    source = folder / "source"
    for name in OF_THE_COURSE:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ROOT.glob("*"):
        if path.is_file():
            shutil.copy(path, source)
    options = ["--no-deps", "--no-build-isolation", "--disable-pip-version-check", "-w", folder]
    environment.run(sys.executable, "-m", "pip", "-q", "wheel", *options, source)
    return next(folder.glob("*.whl"))


def put_python(folder: Path, wheel: Path) -> None:
    """Pyodide's files, the course among them, and its lock."""
    folder.mkdir(parents=True)
    for file in files():
        shutil.copy(fetch.FOLDER / file.name, folder)
    shutil.copy(wheel, folder)
    (folder / "pyodide-lock.json").write_text(json.dumps(lock(wheel)), encoding="utf-8")


def put_lessons(folder: Path) -> None:
    """The copies that `make lab` gives a learner: the lessons as they are, with a cell that shows the progress."""
    for lesson in copies.originals(ROOT):
        place = folder / lesson.relative_to(ROOT / "notebooks")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(copies.copy_of(lesson), encoding="utf-8")


def sizes(site: Path) -> dict[str, int]:
    """Bytes of each folder of the site."""
    found: dict[str, int] = {}
    for path in (path for path in site.rglob("*") if path.is_file()):
        name = path.relative_to(site).parts[0]
        found[name] = found.get(name, 0) + path.stat().st_size
    return found


def main(places: list[str]) -> int:
    """Return the exit status."""
    if status := fetch.main(places, files()):
        return status
    try:
        found = build()
    except environment.LiteError as error:
        print(error, file=sys.stderr)
        return 1
    rows = [
        f"{size / 1e6:6.1f} MB  {name}" for name, size in sorted(found.items(), key=lambda each: -each[1])
    ]
    print(*rows[:4], f"{sum(found.values()) / 1e6:6.1f} MB  in all: {TARGET}", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
