"""What a submission may take of the machine, tried as the ordinary user who grades."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools.classroom import sandbox, watch

NOBODY = 65534


def run(monkeypatch, script: str) -> subprocess.CompletedProcess:
    """A shell's script in the sandbox. For root, Linux does not count processes: then as a user who is nobody."""
    user = {}
    if os.geteuid() == 0:
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        monkeypatch.setattr(sys, "base_prefix", "/usr")  # root's own Python is not for others to see
    if reason := sandbox.why_not():
        pytest.skip(reason)
    done = subprocess.run(
        sandbox.command(["sh", "-c", script]), capture_output=True, text=True, timeout=60, **user
    )
    if "bind" in done.stderr:
        pytest.skip("this folder can be read by root only")
    return done


def test_a_fork_bomb_gets_few_processes_and_ends_with_its_submission(monkeypatch):
    name = f"{os.getpid()}.5"  # the processes are found again by what they sleep
    bomb = f"(i=0; while [ $i -lt 400 ]; do sleep {name} & i=$((i+1)); done)"
    done = run(monkeypatch, f"{bomb}; set -- /proc/[0-9]*; echo $#")  # the shell counts without a new process
    assert 20 < int(done.stdout) < 70, done.stderr
    assert [path for path in Path("/proc").glob("[0-9]*/cmdline") if name.encode() in quietly(path)] == []


def test_a_process_that_only_counts_ends(monkeypatch):
    monkeypatch.setattr(sandbox, "CPU_SECONDS", 1)
    begin = time.monotonic()
    done = run(monkeypatch, "sh -c 'while :; do :; done'; echo $?")
    assert time.monotonic() - begin < 30 and int(done.stdout) > 128, "ended by a signal"


def test_the_rest_of_the_machine_goes_first(monkeypatch):
    done = run(monkeypatch, "nice; nice -n -5 nice; ulimit -t")
    assert done.stdout.split() == ["5", "5", str(sandbox.CPU_SECONDS)]


def test_a_submission_has_a_world_of_its_own(monkeypatch):
    """Without this machine's network, processes and files; whether or not there is a network here."""
    worlds = ("net", "pid", "mnt", "ipc", "uts", "user", "cgroup")
    done = run(monkeypatch, f"for world in {' '.join(worlds)}; do readlink /proc/self/ns/$world; done")
    inside = done.stdout.split()
    assert len(inside) == len(worlds), done.stderr
    assert [world for world in inside if world in map(os.readlink, Path("/proc/self/ns").iterdir())] == []


def test_without_a_sandbox_time_memory_and_files_have_limits(monkeypatch):
    monkeypatch.setenv("COURSE_UNSAFE", "yes")
    command = sandbox.limited(["sh", "-c", "ulimit -t; ulimit -v; sleep 30 & sleep 30"])
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    seconds, memory = (int(process.stdout.readline()) for _ in range(2))
    assert seconds == sandbox.CPU_SECONDS and memory * 1024 == sandbox.MEMORY
    until = time.monotonic() + 20
    while watch.started(process.pid) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    assert watch.started(process.pid) == 2, "of its session, beside the shell"
    watch.end(process.pid)
    process.wait()
    process.stdout.close()
    while watch.started(process.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert watch.started(process.pid) == 0


def test_a_sandbox_that_ends_while_somebody_looks_ends_no_watch(monkeypatch):
    looked = []

    def gone(*_):
        looked.append(1)
        raise ProcessLookupError

    monkeypatch.setattr(Path, "glob", gone)
    monkeypatch.setattr(watch, "EVERY", 0.01)
    watched = watch.Watch(1 << 30)
    watched.begin(1 << 30)  # nobody: it is not this process that ends
    time.sleep(0.3)
    watched.stop()
    assert len(looked) > 2 and watched.why == ""


def test_between_two_cells_nobody_is_looked_at(monkeypatch):
    looked = []
    monkeypatch.setattr(watch, "started", lambda pid: looked.append(pid) or 0)
    monkeypatch.setattr(watch, "in_use", lambda pid: 0)
    monkeypatch.setattr(watch, "EVERY", 0.01)
    watched = watch.Watch(1 << 30)
    watched.begin(1 << 30)
    time.sleep(0.2)
    watched.rest()
    time.sleep(0.05)  # whoever looked then is through
    before = len(looked)
    time.sleep(0.2)
    watched.stop()
    assert before == len(looked) > 2 and {*looked} == {1 << 30}


@pytest.mark.parametrize(
    ("there", "limited"), [("exit 1", False), ('while [ "$1" != true ]; do shift; done; exec "$@"', True)]
)
def test_where_the_users_systemd_is_it_holds_the_limits_too(monkeypatch, tmp_path, there, limited):
    """A stand-in: it refuses, or runs what it is given."""
    (tmp_path / "systemd-run").write_text(f"#!/bin/sh\n{there}\n")
    (tmp_path / "systemd-run").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    sandbox.scope.cache_clear()
    begin = sandbox.command(["true"])[:9]
    sandbox.scope.cache_clear()
    assert (begin[:3] == ["systemd-run", "--user", "--scope"]) is limited
    assert (f"--property=MemoryMax={3 << 30}" in begin and "--property=TasksMax=64" in begin) is limited


def quietly(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
