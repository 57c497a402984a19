"""Run a command where it can do no harm: own namespaces, made by `unshare`, and limits. Linux only.

The command sees Python, the packages, the course and what the caller shows it, all read-only, and an empty /tmp.
There is no network, no home, no lesson of the teacher, no other process. It needs no rights: a user may make such
namespaces where the system allows it. sandbox.sh does the mounting. What runs inside has a low priority, and
cannot take a higher one.
"""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

from hiding_latency.packages import PACKAGES

ROOT = Path(__file__).resolve().parents[2]
EMPTY = ROOT / "build" / "sandbox"
"""The sandbox mounts its files over this folder, in its own view only; it stays empty."""
MEMORY = 8 << 30  # bytes of address space of each process; numpy and NVRTC reserve more than they use
MOST_MEMORY = 3 << 30  # bytes in use, of all processes of a sandbox together
CORES = 2  # that they keep busy, where somebody holds that
FILES = 256 << 20  # bytes, of /tmp and of each file in it
PROCESSES = 64  # and threads, where a kernel has 13; Linux counts them for users other than root
CPU_SECONDS = 600  # of each process, with all its threads
TOOLS = ("unshare", "mount", "umount", "pivot_root", "prlimit", "setpriv", "nice")
SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"),
    *("/etc/ld.so.cache", "/etc/passwd", "/etc/fonts"),
)
OWN_USERS = ("unshare", "--user", "--map-root-user", "setpriv", "--pdeathsig", "KILL")
"""Rights in a world of its own; it ends with the process that started it."""
OWN_REST = (
    *("unshare", "--mount", "--net", "--pid", "--ipc", "--uts", "--cgroup"),
    *("--fork", "--kill-child", "sh"),
)


def command(inside: list[str], seen: dict[Path, Path] | None = None) -> list[str]:
    """What to start so that `inside` runs in the sandbox.

    `seen` maps files and folders to the places where they are seen, beside the system, Python and the course. The
    process that starts is outside; killing it ends everything inside.
    """
    places = [Path(name) for name in (*SYSTEM, sys.base_prefix, sys.prefix, os.path.realpath(sys.prefix))]
    places += [ROOT / name for name in (*PACKAGES, "assets", "notebooks/figures")]
    pairs = {place: place for place in places if place.exists()} | (seen or {})
    mounts = [str(path) for what, where in pairs.items() for path in (what.resolve(), where)]
    variables = {
        "PATH": "/usr/bin:/bin",
        "HOME": "/tmp",
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "COURSE_BACKEND": "simulator",
        "LANG": "C.UTF-8",
    } | {name: "2" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")}
    clean = ["env", "-i", *(f"{name}={value}" for name, value in variables.items())]
    limits = {
        "SANDBOX_COURSE": ROOT,
        "SANDBOX_MEMORY": MEMORY,
        "SANDBOX_FILES": FILES,
        "SANDBOX_PROCESSES": PROCESSES,
        "SANDBOX_CPU": CPU_SECONDS,
    }
    around = ["env", f"PATH={_path()}", *(f"{name}={value}" for name, value in limits.items())]
    EMPTY.mkdir(parents=True, exist_ok=True)
    script = [str(Path(__file__).with_name("sandbox.sh")), str(EMPTY)]
    return [*scope(), *around, *OWN_USERS, *OWN_REST, *script, *mounts, "--", *clean, *inside]


@functools.cache
def scope() -> list[str]:
    """How a command starts whose processes together have limits that hold at every moment: by the systemd of
    the user who grades. Nothing where there is none; watch.py looks a few times a second in any case."""
    properties = [
        f"MemoryMax={MOST_MEMORY}",
        "MemorySwapMax=0",
        f"TasksMax={PROCESSES}",
        f"CPUQuota={CORES}00%",
    ]
    start = ["systemd-run", "--user", "--scope", "--quiet", "--collect"]
    start += [f"--property={each}" for each in properties]
    try:
        tried = subprocess.run([*start, "true"], stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [] if tried.returncode else start


def limited(command: list[str]) -> list[str]:
    """The same command outside, with what of the limits holds there too: how many processes a user has is not ours."""
    limits = [f"--as={MEMORY}", f"--fsize={FILES}", f"--cpu={CPU_SECONDS}", "--core=0"]
    found = shutil.which("prlimit", path=_path())
    return [found, *limits, "nice", "-n", "5", *command] if found else command


def _path() -> str:
    """Where programs are; pivot_root often is where only root looks."""
    return os.pathsep.join([os.environ.get("PATH", "/usr/bin:/bin"), "/usr/sbin", "/sbin"])


def why_not() -> str:
    """Why this machine has no sandbox; "" where it has one."""
    if not sys.platform.startswith("linux"):
        return "the sandbox needs Linux"
    if missing := [tool for tool in TOOLS if not shutil.which(tool, path=_path())]:
        return f"not found: {', '.join(missing)} (on Debian and Ubuntu in the package util-linux)"
    tried = subprocess.run(command(["true"]), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if not tried.returncode:
        return ""
    said = tried.stderr.strip().rpartition("\n")[2] or f"it ended with {tried.returncode}"
    return f"this system lets you make no namespaces ({said})"


def unsafe() -> bool:
    """Whether the teacher has said that no sandbox is needed."""
    return os.environ.get("COURSE_UNSAFE") == "yes"


@functools.cache
def refusal() -> str:
    """Why nothing may be graded here, and what to do; "" where it may."""
    if unsafe() or not (reason := why_not()):
        return ""
    return (
        f"Nothing is graded: {reason}. Submissions are programs, and would run with all your rights. Grade on a "
        "machine with a sandbox or, if you trust every one of them, with COURSE_UNSAFE=yes in the environment."
    )
