"""`python -m tools.live.lite [PLACE ...]`: write the lessons as notebooks in the browser.

The site is build/course/lite, beside the book. The files of Python come from these places, as for `tools.live.fetch`,
where they are not in build/pyodide.
"""

import itertools
import json
import shutil
import sys
import tempfile
from pathlib import Path

from course_lib.lessons import sources
from course_lib.lessons.lite import NOTEBOOK
from hiding_latency import copies
from hiding_latency.packages import PACKAGES
from tools.live import fetch
from tools.live.lite import environment
from tools.live.lite.lock import files, lock
from tools.live.packages import put_compiled

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
TARGET = ROOT / "build" / "course" / "lite"
OF_THE_COURSE = (*PACKAGES, "notebooks", "assets", "tools/lab_extension")
OF_LAB = ROOT / "hiding_latency" / "labconfig" / "default_setting_overrides.json"
EXTENSION = ROOT / "tools" / "lab_extension" / "labextensions" / "cuda-in-strings"
KERNEL = "@jupyterlite/pyodide-kernel-extension:kernel"
OF_THE_KERNEL = (
    ("ssl", "sqlite3", "jedi", "ipython", "micropip"),
    ("piplite", "pyodide_kernel", "ipykernel"),
    ("comm",),
)
"""What a kernel loads before its first cell: from Pyodide's release, from the kernel's own package, from neither."""
DARK_AT_NIGHT = {"@jupyterlab/apputils-extension:themes": {"adaptive-theme": True}}
"""Light or dark as the reader's system is, like the book."""
LINES = {"name": "lines", "extensions": [".jsonl"], "fileFormat": "text", "mimeTypes": ["text/plain"]}
"""The file with the progress. JupyterLite would take it for JSON, and writing one line would never end."""
SETTINGS = {
    "jupyter-lite-schema-version": 0,
    "jupyter-config-data": {
        "appName": "Hiding latency",
        "fileTypes": {"lines": LINES},
        "litePluginSettings": {
            KERNEL: {
                "disablePyPIFallback": True,  # no other host is asked
                # All at once, in place of one after the other, each looked for first.
                "loadPyodideOptions": {
                    "packages": [*itertools.chain(*OF_THE_KERNEL), "hiding-latency"],
                    "env": {"PYTHONSAFEPATH": "1"},  # each import would ask the page for its folder
                },
            },
        },
    },
}


def build(target: Path = TARGET) -> dict[str, int]:
    """Write the site; return its size by folder, in bytes."""
    environment.prepare()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        put_python(root / "static" / "pyodide", wheels(root / "wheels"))
        put_lessons(root / "lessons")
        overrides = json.loads(OF_LAB.read_text(encoding="utf-8")) | DARK_AT_NIGHT
        (root / "overrides.json").write_text(json.dumps(overrides), encoding="utf-8")
        (root / "jupyter-lite.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
        given = ["--apps=lab", "--no-sourcemaps", f"--LiteBuildConfig.federated_extensions={EXTENSION}"]
        given += [f"--contents={root / 'lessons'}", f"--output-dir={target}"]
        environment.jupyter("lite", "build", f"--lite-dir={root}", *given, folder=root)
        for left in target.rglob("*.map"):
            left.unlink()
    return sizes(target)


def wheels(folder: Path) -> list[Path]:
    """What Pyodide's release has not: the course, and some of the kernel."""
    _, own, others = OF_THE_KERNEL
    for name in others:
        environment.download(name, folder)
    found = [next(environment.WHEELS.glob(f"{name}-*.whl")) for name in own]
    return [course_wheel(folder), *found, *(next(folder.glob(f"{name}-*.whl")) for name in others)]


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
    return next(folder.glob("hiding_latency-*.whl"))


def put_python(folder: Path, wheels: list[Path]) -> None:
    """Pyodide's files, these wheels among them, and its lock."""
    pinned = [fetch.FOLDER / file.name for file in files()]
    modules = [path for path in pinned if path.suffix == ".whl" or path.name == "python_stdlib.zip"]
    put_compiled([*modules, *wheels], folder, fetch.FOLDER)
    for path in pinned:
        if path not in modules:
            shutil.copy(path, folder)
    (folder / "pyodide-lock.json").write_text(json.dumps(lock(folder, wheels)), encoding="utf-8")


def put_lessons(folder: Path) -> None:
    """The copies that `make lab` gives a learner, lessons as they are with a cell that shows the progress; and in each
    cell's metadata its notebook's name, which nothing else says in a browser."""
    for lesson in sources.every_notebook(ROOT / "notebooks"):
        name = lesson.relative_to(ROOT / "notebooks")
        notebook = json.loads(copies.copy_of(lesson))
        for cell in notebook["cells"]:
            cell["metadata"][NOTEBOOK] = name.as_posix()
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(notebook, indent=1, ensure_ascii=False), encoding="utf-8")


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
