"""pyodide-lock.json for notebooks: `import course_lib` there loads the course, NumPy and matplotlib by itself."""

import hashlib
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from hiding_latency.packages import PACKAGES
from tools.live.pins import File, pins

LIST = Path(__file__).with_name("kernel.toml")
OF_LISTS = ("imports", "depends")
COURSE = {"imports": [*PACKAGES], "depends": ["numpy", "matplotlib"]}


def kernel_files() -> list[File]:
    """What kernel.toml pins, as files to fetch."""
    known = File.__dataclass_fields__
    return [
        File(
            **{key: tuple(value) if key in OF_LISTS else value for key, value in each.items() if key in known}
        )
        for each in _kernel()
    ]


def files() -> list[File]:
    """All files that the site needs of Pyodide's release."""
    return [*pins().files, *kernel_files()]


def lock(folder: Path, wheels: Iterable[Path]) -> dict:
    """Pyodide's lock: the pinned packages and these wheels, all of which lie in the folder as they ship."""
    made = pins().lock()
    packages = made["packages"]
    figures = [file.package for file in pins().of("figures")]
    packages["matplotlib"]["depends"] = ["numpy", *(name for name in figures if name != "matplotlib")]
    for each in [*_kernel(), *map(_of_wheel, wheels)]:
        packages[each["package"]] = _entry(each)
    for package in packages.values():
        package["sha256"] = hashlib.sha256((folder / package["file_name"]).read_bytes()).hexdigest()
    return made


@cache
def _kernel() -> list[dict]:
    return tomllib.loads(LIST.read_text(encoding="utf-8"))["file"]


def _of_wheel(wheel: Path) -> dict:
    name, version = wheel.name.split("-")[:2]
    package = name.replace("_", "-")
    loads = COURSE if package == "hiding-latency" else {"imports": [name], "depends": []}
    return {"package": package, "version": version, "name": wheel.name, **loads}


def _entry(pinned: dict) -> dict:
    return {
        "name": pinned["package"],
        "version": pinned["version"],
        "file_name": pinned["name"],
        "imports": pinned["imports"],
        "depends": pinned["depends"],
        "install_dir": pinned.get("install", "site"),
        "package_type": pinned.get("kind", "package"),
        "unvendored_tests": False,
    }
