"""Collect what `make` installs, as files in build/wheelhouse, for machines without a network: `make wheelhouse`.

What a teacher's `make classroom` adds is among them: where the folder is, nothing is taken from anywhere else.
They serve machines of the same kind: system, processor and version of Python. tools/install.py uses the folder where
it finds it.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from hiding_latency.packages import FOLDERS
from tools.install import ALWAYS, ROOT, WHEELHOUSE, stamp_of


def wanted() -> list[str]:
    """What to collect: the course with the extras installed here, tests and classroom, and what builds and installs."""
    extras = sorted({*ALWAYS, *stamp_of(ROOT / ".venv").split()[1:], "dev", "classroom"} - {"none"})
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    ours = [*(f"./{folder}" for folder in FOLDERS[:-1]), f".[{','.join(extras)}]"]
    return [*ours, *re.findall(r"^(?:setuptools|pip|uv)==\S+", lock, re.MULTILINE)]


def collect(place: Path) -> int:
    """Fill the folder, all or nothing, and return pip's exit status."""
    part = place.with_name(place.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    quiet = ["--quiet", "--progress-bar=off", "--disable-pip-version-check"]
    what = ["--only-binary=:all:", "--constraint=requirements.lock", *wanted()]  # laptops build nothing
    done = subprocess.run([sys.executable, "-m", "pip", "download", *quiet, "--dest", part, *what], cwd=ROOT)
    if not done.returncode:
        shutil.rmtree(place, ignore_errors=True)
        os.replace(part, place)
    return done.returncode


def main() -> int:
    print("Collecting the packages; this takes some minutes.", flush=True)
    place = ROOT / WHEELHOUSE
    if status := collect(place):
        print(
            "pip could not get all of them (above). What was there before is left as it was.", file=sys.stderr
        )
        return status
    wheels = [path.stat().st_size for path in place.iterdir()]
    python = ".".join(map(str, sys.version_info[:2]))
    print(
        f"{WHEELHOUSE}: {len(wheels)} packages, {sum(wheels) / 1e6:.0f} MB, for {sys.platform}, Python {python}."
    )
    print(
        "Copy the course's folder, without .venv, to each machine of that kind; make lab then needs no network."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
