"""pyodide-lock.json for notebooks: `import course_lib` there loads the course, NumPy and matplotlib by itself."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

from tools.live.pins import File, pins

LIST = Path(__file__).with_name("kernel.toml")
OF_LISTS = ("imports", "depends")


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


def lock(wheel: Path) -> dict:
    """Pyodide's lock: the pinned packages, those of the kernel, and the course."""
    made = pins().lock()
    figures = [file.package for file in pins().of("figures")]
    made["packages"]["matplotlib"]["depends"] = ["numpy", *(name for name in figures if name != "matplotlib")]
    for each in _kernel():
        made["packages"][each["package"]] = _entry(each)
    made["packages"]["hiding-latency"] = _course(wheel)
    return made


def _kernel() -> list[dict]:
    return tomllib.loads(LIST.read_text(encoding="utf-8"))["file"]


def _entry(pinned: dict) -> dict:
    return {
        "name": pinned["package"],
        "version": pinned["version"],
        "file_name": pinned["name"],
        "sha256": pinned["sha256"],
        "imports": pinned["imports"],
        "depends": pinned["depends"],
        "install_dir": pinned.get("install", "site"),
        "package_type": pinned.get("kind", "package"),
        "unvendored_tests": False,
    }


def _course(wheel: Path) -> dict:
    return _entry(
        {
            "package": "hiding-latency",
            "version": wheel.name.split("-")[1],
            "name": wheel.name,
            "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
            "imports": ["course_lib", "ptxsim"],
            "depends": ["numpy", "matplotlib"],
        }
    )
