"""Create `.venv` and install the course into it; do nothing when that is done already.

`make` runs it before every target, with the standard library only. pip brings uv, and uv the rest, in a quarter of
pip's time. What is installed is written down last, in `.venv/course-installed`; when the lock, the package metadata or
the place of this folder changes, uv runs again. `.venv/course-installing` lies there from start to end. Found at the
start, it means that a run before was interrupted; a half-copied package can then be taken for a whole one, so
everything is installed afresh.
By these two marks it knows its own: a `.venv` without them is somebody else's and is never touched.
"""

import argparse
import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from hiding_latency.packages import FOLDERS
from hiding_latency.safely import alone

ROOT = Path(__file__).resolve().parent.parent
WHEELHOUSE = Path("build", "wheelhouse")
"""Packages as files, for a room without a network; `make wheelhouse` fills it. Where it is, nobody else is asked."""
EXTRAS = {
    "none": "kernels run in the simulator, as EXTRA says",
    "cuda12": "CuPy for CUDA 12, as EXTRA says",
    "cuda13": "CuPy for CUDA 13, as EXTRA says",
}
"""What runs kernels, and how a learner reads that it was chosen by hand."""
ALWAYS = ("lab", "book")
"""Extras that every environment here has; `pip install .` of the library alone brings neither."""
WITH = {
    "dev": "what the course's own tests need",
    "browser": "what tests in a browser need",
    "classroom": "what teachers need",
    "nvcc": "what whole programs need",
    "compilers": "what kernels in Python need",
}
"""More extras, asked for by name: what contributors, CI and teachers need and learners do not."""
MARKS = ("course-installing", "course-installed")
STAGES = ("Resolved", "Downloading", "Prepared", "Installed", "Bytecode compiled")
"""Lines of uv that say how far it is."""
FOR_UV = {
    "index_url": "UV_DEFAULT_INDEX",
    "extra_index_url": "UV_INDEX",
    "find_links": "UV_FIND_LINKS",
    "no_index": "UV_NO_INDEX",
    "trusted_host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "client_cert": "SSL_CLIENT_CERT",
    "proxy": "ALL_PROXY",
}
"""Where packages come from: pip's setting -> uv's. uv does not read pip's."""
CUDA13_ONLY = ("nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "nvidia-cuda-cccl", "nvidia-cuda-crt")
"""What extra cuda12 replaces: CuPy for CUDA 12 would load NVRTC 13 if it were there (seen with CuPy 14.2)."""

LACKING = (
    f"{WHEELHOUSE} may lack what was asked for. Run make wheelhouse again on a machine with a network, or remove the "
    "folder to take packages from the network."
)


class Failed(SystemExit):
    """pip or uv failed; the message says what it said."""


def gpu_line() -> str:
    """What nvidia-smi says about the first GPU: "driver, compute capability, name"; "" without a driver."""
    query = ["nvidia-smi", "--query-gpu=driver_version,compute_cap,name", "--format=csv,noheader"]
    try:
        asked = subprocess.run(query, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return ""
    return asked.stdout.strip().partition("\n")[0]


def choose_extra(gpu: str) -> tuple[str, str]:
    """The extra for this machine, and why. `gpu` is a line from `gpu_line`."""
    if not gpu:
        return "none", "no NVIDIA driver found: kernels run in the simulator"
    driver, capability, name = [part.strip() for part in gpu.split(",", 2)]
    found = f"{name}, driver {driver}"
    major = int(re.split(r"\D", driver)[0] or 0)
    if re.match(r"[1-6]\.|7\.[0-4]", capability):
        return "none", f"{found}: compute capability {capability}, the lessons need 7.5: simulator"
    if major >= 580:
        return "cuda13", f"{found}: drivers from 580 on run CUDA 13: CuPy for CUDA 13"
    if major >= 525:
        return "cuda12", f"{found}: drivers from 525 to 579 run CUDA 12: CuPy for CUDA 12"
    return "none", f"{found}: CuPy needs a driver from 525 on: simulator"


def fingerprint(root: Path) -> str:
    """Changes when what is to be installed, or the place it is installed from, changes."""
    parts = [
        str(root).encode(),
        (root / "requirements.lock").read_bytes(),
        *((root / folder / "pyproject.toml").read_bytes() for folder in FOLDERS),
    ]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def plan(installed: str, interrupted: bool, starts: bool, wanted: str, extras: tuple[str, ...]) -> str:
    """What to do: "nothing", "install" over what is there, or "afresh".

    `installed` is the text of the stamp ("" without one): a fingerprint and extras, the one for the GPU first, as in
    `extras`. An environment with more than what is asked for serves too: a cluster's login node finds no driver and
    shares its files with the GPU nodes.
    """
    has, *has_extras = installed.split() or [""]
    if interrupted or not starts:
        return "afresh"
    gpu = extras[0]
    if has_extras[:1] in (["cuda12"], ["cuda13"]) and gpu not in ("none", has_extras[0]):
        return "afresh"  # never two CuPy packages in one environment
    return "nothing" if has == wanted and set(extras) - {"none"} <= set(has_extras) else "install"


def joined(installed: str, extras: tuple[str, ...]) -> tuple[str, ...]:
    """The extras to install: those asked for, and what the environment has besides."""
    has = tuple(installed.split()[1:])
    kept = has[:1] if extras[0] == "none" and has[:1] else extras[:1]
    return kept + tuple(name for name in WITH if name in has + extras)


def foreign(venv: Path) -> bool:
    """Whether something is there that this tool did not make. An empty folder is free for use."""
    if not venv.is_dir():
        return os.path.lexists(venv)  # a file, or a link that leads nowhere
    return any(venv.iterdir()) and not any((venv / mark).exists() for mark in MARKS)


def python_of(venv: Path) -> Path:
    """The interpreter inside an environment."""
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def starts(venv: Path) -> bool:
    """Whether the environment's interpreter runs and has pip; it does not after Python was removed."""
    try:
        subprocess.run([python_of(venv), "-c", "import pip"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def sources() -> dict[str, str]:
    """Environment variables that tell pip and uv where packages come from; none where there is no wheelhouse."""
    wheels = ROOT / WHEELHOUSE
    if not wheels.is_dir():
        return {}
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheels.as_uri()}
    return pip | {"UV_OFFLINE": "1", "UV_NO_INDEX": "1", "UV_FIND_LINKS": str(wheels)}


def for_uv(python: Path) -> dict[str, str]:
    """What pip was told about its sources, in its files or by PIP_*, in uv's words; what uv was told itself holds."""
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "config", "list"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    told = {"UV_INDEX_STRATEGY": "unsafe-best-match"}  # as pip: any index may have the locked version
    for line in sorted(lines, key=lambda line: (line.startswith(":env:"), line)):  # these are heeded most
        setting, _, value = line.partition("=")
        if name := FOR_UV.get(setting.rpartition(".")[2].replace("-", "_")):
            told[name] = ("," if name == "UV_FIND_LINKS" else " ").join(ast.literal_eval(value).split())
    return {name: value for name, value in told.items() if name not in os.environ}


def run(command: list[str], log: Path, told: dict[str, str]) -> None:
    """Run pip or uv with more in its environment: all that it says goes into the log, what it does now on the screen,
    and its end too when it fails."""
    with (
        open(log, "a", encoding="utf-8") as file,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            cwd=ROOT,
            env=os.environ | told,
        ) as process,
    ):
        for line in process.stdout or ():
            file.write(line)
            if line.startswith(STAGES):
                print(f"  {line}", end="", flush=True)
    if process.returncode:
        tail = log.read_text(encoding="utf-8").splitlines()[-15:]
        again = f"Installing failed; all that was said is in {log}. Run the same command again to try again."
        raise Failed("\n".join([*tail, again, *([LACKING] if sources() else [])]))


def packages(venv: Path) -> set[Path]:
    """The packages in an environment, a folder for each version."""
    return set(venv.rglob("*.dist-info"))


def empty(venv: Path) -> None:
    """Delete all but the mark of a started installation: a run that stops in here leaves it known as ours."""
    for path in venv.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != "course-installing":
            path.unlink()


def install(venv: Path, extras: tuple[str, ...], afresh: bool) -> None:
    """Make the environment and install the course with the locked versions.

    An environment to which nothing could be added is as good as before, and is marked so.
    """
    venv.mkdir(exist_ok=True)
    before = "" if afresh else stamp_of(venv)
    (venv / "course-installing").touch()
    (venv / "course-installed").unlink(missing_ok=True)
    if afresh:
        try:
            empty(venv)
        except OSError as error:
            sys.exit(
                f"Cannot delete the old .venv: {error}. Close what uses it, then run the same command again."
            )
    if not python_of(venv).exists():
        # not the .venv that a learner may have activated
        base = getattr(sys, "_base_executable", sys.executable)
        made = subprocess.run([base, "-m", "venv", venv], capture_output=True, text=True)
        if made.returncode:
            hint = "On Debian and Ubuntu: sudo apt install python3-venv"
            sys.exit(f"{made.stdout}{made.stderr}{base} cannot make .venv (above). {hint}")
    log, python, there = venv / "course-install.log", python_of(venv), packages(venv)
    wanted = ",".join([*ALWAYS, *(name for name in extras if name != "none")])
    program = str(python)
    pip = [program, "-m", "pip", "--disable-pip-version-check", "--no-input", "install"]
    uv, here, locked = [program, "-m", "uv", "pip"], ["--python", program], ["-c", "requirements.lock"]
    try:
        run([*pip, *locked, "uv"], log, sources())
        told = sources() or for_uv(python)
        ours = [word for folder in FOLDERS[:-1] for word in ("-e", f"./{folder}")]
        what = [*locked, *ours, "-e", f".[{wanted}]", "pip"]
        run([*uv, "install", *here, "--compile-bytecode", *what], log, told)
    except Failed:
        if before and packages(venv) == there:
            done(venv, before)
        raise
    if "cuda12" in extras:
        run([*uv, "uninstall", *here, *CUDA13_ONLY], log, told)
    done(venv, " ".join([fingerprint(ROOT), *extras]))


def done(venv: Path, stamp: str) -> None:
    """Mark the environment as whole: while the other mark is there, this one does not count."""
    (venv / "course-installed").write_text(stamp, encoding="utf-8")
    (venv / "course-installing").unlink()


def stamp_of(venv: Path) -> str:
    """The text of the stamp, "" without one."""
    try:
        return (venv / "course-installed").read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def what_to_do(venv: Path, extras: tuple[str, ...]) -> str:
    """`plan` for the environment as it is at this moment; ends here when it is somebody else's."""
    if foreign(venv):
        sys.exit(
            ".venv is there and `make` did not make it, so it is left as it is. The course needs this name: "
            "move yours away (mv .venv .venv-mine), then run the same command again."
        )
    interrupted = (venv / "course-installing").exists()
    return plan(stamp_of(venv), interrupted, starts(venv), fingerprint(ROOT), extras)


def carry_out(todo: str, venv: Path, extras: tuple[str, ...], why: str) -> None:
    """Install, and say what is done, why, and how long it took."""
    begin = time.monotonic()
    version = ".".join(map(str, sys.version_info[:3]))
    again = venv.exists() and todo == "afresh"
    more = " and ".join(WITH[name] for name in extras[1:])
    print(f"{why[:1].upper()}{why[1:]}.{more and f' With it comes {more}.'}")
    if sources():
        print(f"Packages come from {WHEELHOUSE} only. Remove it to take them from the network.")
    print(f"{'Making .venv again' if again else 'Installing into .venv'} with Python {version}.", flush=True)
    install(venv, extras if todo == "afresh" else joined(stamp_of(venv), extras), todo == "afresh")
    print(f"Installed in {time.monotonic() - begin:.0f} s.", flush=True)


def main() -> None:
    """Look at the machine and at `.venv`, and install what is missing."""
    parser = argparse.ArgumentParser(description="Create .venv and install the course into it.")
    parser.add_argument("extra", nargs="?", choices=EXTRAS, help="default: chosen from the NVIDIA driver")
    parser.add_argument("--with", dest="more", nargs="*", choices=WITH, default=[], help="further extras")
    asked = parser.parse_args()
    extra, why = (asked.extra, EXTRAS[asked.extra]) if asked.extra else choose_extra(gpu_line())
    extras = (extra, *(name for name in WITH if name in asked.more))
    venv = ROOT / ".venv"
    if what_to_do(venv, extras) == "nothing":
        return  # without a lock, so that a folder that one can only read serves too
    try:
        with alone(ROOT / "build" / "install.lock", "Another make installs into .venv: waiting for it."):
            todo = what_to_do(venv, extras)  # the other one may have done it
            if todo != "nothing":
                carry_out(todo, venv, extras, why)
    except KeyboardInterrupt:
        sys.exit("\nStopped. Run the same command again: what is half installed is then made afresh.")


if __name__ == "__main__":
    main()
