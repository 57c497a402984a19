"""Bad input of many kinds gets a clear word, the right exit status, and nothing is lost or left behind.

Programs here are the host's only, built by g++ in a second: nvcc is asked for where its headers are. What nvcc itself
says of a program is in test_words.py.
"""

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from ptxsim.__main__ import main
from ptxsim.program import compile as compiler
from ptxsim.program.runtime import Runtime
from tests.rules import ROOT
from tests.sample import one_in

CUDA = """#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <sys/wait.h>
extern "C" int cudaMalloc(void** p, size_t bytes);
extern "C" int cudaFree(void* p);
void use() { void* x; cudaMalloc(&x, 4); cudaFree(x); }
"""


def children() -> set[int]:
    """Processes that this one started and that are still there, or have ended and nobody asked how."""
    found = set()
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = each.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            found.add(int(each.parent.name))
    return found


@pytest.fixture(autouse=True)
def nothing_is_left_behind(tmp_path, monkeypatch):
    """No temporary folder, no process, no open file."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.chdir(tmp_path)
    processes, files = children(), len(os.listdir("/proc/self/fd"))
    yield
    assert os.listdir(folder) == []
    assert children() <= processes
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= files


@pytest.fixture
def typed(capfd):
    """Types `ptxsim run ...`: exit status, and what is said of it."""

    def run(*words: str) -> tuple[int, str]:
        try:
            status = main(["run", *words])
        except SystemExit as ended:
            status = ended.code
        return status, capfd.readouterr().err

    return run


@pytest.fixture
def built(nvcc, tmp_path):
    """Builds a host's program with the runtime library, without nvcc."""
    library = compiler.runtime_library(nvcc)

    def build(text: str) -> str:
        (tmp_path / "host.cpp").write_text(CUDA + text)
        subprocess.run(["g++", "host.cpp", "-o", "host", str(library)], cwd=tmp_path, check=True)
        return "./host"

    return build


TYPED = [
    ("first.cu 1024", "1024: there is no such file. Arguments of the program stand behind --: -- 1024\n"),
    (".", ". is a folder: give the program's files, which are sources (.cu, .cpp"),
    ("notes.py", "notes.py is none of the files that a program is built from: sources (.cu, .cpp"),
    ("first.cu tool", "tool is an executable, which is given alone"),
    (
        "first.cu --arch banana",
        "--arch banana is no compute capability: give one such as 80, 86, 90 or 90a\n",
    ),
    (
        "first.cu --arch sm_90",
        "--arch sm_90 is no compute capability: give one such as 80, 86, 90 or 90a\n",
    ),
    ("first.cu --limit 0", "argument --limit: 0 seconds are too few: give more than 0\n"),
    ("first.cu --limit soon", "argument --limit: invalid seconds value: 'soon'\n"),
    ("first.cu --sms 0", "argument --sms: 0 is too few: give 1 or more\n"),
    ("first.cu --gpus 0", "argument --gpus: 0 is too few: give 1 or more\n"),
    ("first.cu --json no/such/folder.json", "--json no/such/folder.json: there is no such folder\n"),
    ("first.cu -O3", "unrecognized arguments: -O3\n"),
    ("", "the following arguments are required: FILE\n"),
]


@pytest.mark.parametrize(("words", "said"), one_in(3, TYPED))
def test_what_is_typed(typed, tmp_path, words, said):
    for name in ("first.cu", "notes.py"):
        (tmp_path / name).touch()
    (tmp_path / "tool").touch(0o755)
    status, heard = typed(*words.split())
    assert status == 2 and said in heard and "Traceback" not in heard


def test_an_nvcc_that_is_too_old(typed, tmp_path, monkeypatch):
    (tmp_path / "first.cu").touch()
    monkeypatch.setattr(compiler.shutil, "which", lambda name: f"old/{name}")
    monkeypatch.setattr(compiler, "_version", lambda nvcc: 11080)
    monkeypatch.setattr(compiler, "_of_packages", list)
    compiler.toolkit.cache_clear()
    try:
        status, said = typed("first.cu")
    finally:
        compiler.toolkit.cache_clear()
    assert status == 2
    assert "no nvcc of CUDA 12 or later on PATH (old/nvcc is older), nor in this Python: pip install" in said


def test_the_library_cannot_be_kept(tmp_path, monkeypatch):
    (tmp_path / "a file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a file"))
    with pytest.raises(
        compiler.BuildError, match=r"cannot be written .*: set XDG_CACHE_HOME to a folder that can"
    ):
        compiler.runtime_library(compiler.Toolkit("nvcc", "nowhere", 13000))


def test_a_damaged_library_is_built_again(nvcc, tmp_path, monkeypatch):
    """Emptied by a full disk, cut off by the end of a machine; or another file in its place."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    built = []

    def build(tools, name, names, made):
        built.append(name)
        made.write_bytes(b"a library")

    monkeypatch.setattr(compiler, "_build_runtime", build)
    library = compiler.runtime_library(nvcc)
    for damaged in b"", b"a lib", b"another one":
        library.write_bytes(damaged)
        assert compiler.runtime_library(nvcc).read_bytes() == b"a library"
    (library.parent / "sha256").unlink()
    assert compiler.runtime_library(nvcc) == compiler.runtime_library(nvcc) == library
    assert len(built) == 5


def test_two_files_have_a_main(nvcc, typed, tmp_path):
    for name in ("first.cpp", "second.cpp"):
        (tmp_path / name).write_text("int main() {}\n")
    assert typed("first.cpp", "second.cpp") == (2, "two files have a main: give the files of one program\n")


def test_an_executable_of_another_machine(nvcc, typed, tmp_path):
    (tmp_path / "other").write_bytes(b"\x7fELF" + b"\0" * 60)
    (tmp_path / "other").chmod(0o755)
    status, said = typed("./other")
    assert status == 2 and said.endswith("other is no program of this machine: give its sources\n")


@pytest.mark.parametrize(
    ("text", "said", "status"),
    [
        ("int main() { abort(); }", "the program was ended by SIGABRT before it used CUDA", 2),
        ("int main() { use(); throw 1; }", "no kernel was launched", 2),
        ("int main() { use(); raise(9); }", "the program was ended by SIGKILL", 2),
        ("int main() { return 3; }", "the program never asked for CUDA: no file has a kernel", 2),
        ("int main() { use(); return 3; }", "the program ended with status 3", 1),
        ("int main() { use(); closefrom(3); use(); }", "the program ended with status 70", 1),
        (
            "int main() { int s; if (!fork()) { use(); _exit(0); } wait(&s); use(); }",
            "two processes of the program use CUDA, and the simulator answers one: let only one of them use it",
            2,
        ),
    ],
)
def test_a_program_that_ends_badly(built, typed, text, said, status):
    ended, heard = typed(built("#include <csignal>\n" + text))
    assert ended == status and said in heard and "Traceback" not in heard


def test_a_program_reads_what_it_is_given(built, tmp_path):
    (tmp_path / "given").write_text("41\n")
    program = built('int main() { int n; use(); printf("%d\\n", scanf("%d", &n) ? n + 1 : 0); }')
    with (tmp_path / "given").open() as given:
        done = subprocess.run([*RUN, program], stdin=given, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.stdout == "42\n"


def test_a_process_that_the_program_leaves_behind_is_not_waited_for(built, typed, tmp_path):
    program = built(
        'int main() { use(); if (!fork()) { FILE* f = fopen("child", "w"); fprintf(f, "%d", getpid()); fclose(f); '
        'fclose(stdout); fclose(stderr); pause(); } while (access("child", F_OK)) usleep(1000); }'
    )
    try:
        status, said = typed(program)
        child = int((tmp_path / "child").read_text())
        os.kill(child, 0)
    finally:
        os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)
    assert status == 2 and "no kernel was launched" in said


RUN = (sys.executable, "-m", "ptxsim", "run")
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(ROOT / "build")}


def test_ended_from_outside(built, tmp_path):
    program = built('int main() { use(); printf("%d\\n", getpid()); fflush(stdout); pause(); }')
    running = subprocess.Popen(
        [*RUN, program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT | {"TMPDIR": tempfile.tempdir},
    )
    pid = int(running.stdout.readline())
    running.terminate()
    _, said = running.communicate(timeout=60)
    assert running.returncode == 2 and "this is what was seen so far" in said
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_ended_while_a_compiler_works(tmp_path, monkeypatch):
    """At the first of four files: no compiler is left, and no other one starts."""
    slow = tmp_path / "nvcc"
    at_once = '[ "$1" = --version ] && exit'
    slow.write_text(f"#!/bin/sh\n{at_once}\nsleep 300 & echo $$ $! >> {tmp_path}/started\nwait\n")
    slow.chmod(0o755)
    monkeypatch.setattr(compiler, "toolkit", lambda: compiler.Toolkit(str(slow), "", 13000))
    monkeypatch.setattr(compiler, "runtime_library", lambda tools: tmp_path / "library")
    monkeypatch.setattr(compiler.os, "cpu_count", lambda: 1)

    def stop() -> None:
        while not (tmp_path / "started").exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=stop, daemon=True).start()
    sources = [str(tmp_path / f"{name}.cu") for name in "abcd"]
    for each in sources:
        Path(each).write_text("")
    with pytest.raises(KeyboardInterrupt):
        compiler.build(compiler.Build(tuple(sources)), tmp_path)
    (started,) = (tmp_path / "started").read_text().splitlines()
    for pid in map(int, started.split()):
        with pytest.raises(ProcessLookupError):
            _until_gone(pid)


def _until_gone(pid: int) -> None:
    """Raises ProcessLookupError once it is gone, or only its parent's to clear away."""
    for _ in range(200):
        os.kill(pid, 0)
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            raise ProcessLookupError
        time.sleep(0.05)


def test_a_report_that_cannot_be_written_is_printed(built, typed, tmp_path):
    (tmp_path / "folder").mkdir()
    status, said = typed(built("int main() { use(); return 3; }"), "--json", "folder")
    assert status == 2
    assert "the program ended with status 3\n--json folder cannot be written: Is a directory\n" in said


def test_a_mistake_of_the_simulator_loses_nothing(built, typed, tmp_path, monkeypatch):
    answer = Runtime.answer

    def wrong(self, question):
        return 1 / 0 if question.what == "release" else answer(self, question)

    monkeypatch.setattr(Runtime, "answer", wrong)
    status, said = typed(built("int main() { use(); }"), "--json", "report.json")
    assert status == 2 and "the simulator failed (ZeroDivisionError): this is what was seen so far\n" in said
    assert json.loads((tmp_path / "report.json").read_text())["status"] == 2
