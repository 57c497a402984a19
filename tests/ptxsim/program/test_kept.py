"""Objects of the compiler are kept: what is the same is not made again, and nothing that is not whole is taken."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from ptxsim.__main__ import main
from ptxsim.ground import whole
from ptxsim.program import compile as compiler
from ptxsim.program.kept import Kept, headers_in
from tests.rules import ROOT

LONG_AGO = 1_000_000_000


@pytest.fixture
def source(tmp_path):
    return _written(tmp_path / "a.cu", "one")


def _written(file: Path, text: str) -> Path:
    file.write_text(text)
    os.utime(file, (LONG_AGO, LONG_AGO))
    return file


def _keep(
    kept: Kept, made: Path, source: Path, content: bytes = b"object\nof it", recipe: str = "nvcc"
) -> None:
    made.write_bytes(content)
    kept.write([recipe], made, [source], time.time())


def test_what_is_the_same_is_not_made_again(tmp_path, source):
    _keep(Kept(tmp_path / "kept"), tmp_path / "first.o", source)
    assert Kept(tmp_path / "kept").read(["nvcc"], tmp_path / "again.o") == [source]
    assert (tmp_path / "again.o").read_bytes() == b"object\nof it"


def _edited(folder, source):
    source.write_text("two")


def _removed(folder, source):
    source.unlink()


def _cut(folder, source):
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:-1])


def _emptied(folder, source):
    (file,) = folder.iterdir()
    file.write_bytes(b"")


def _of_another_kind(folder, source):
    (file,) = folder.iterdir()
    file.write_bytes(b"[1]\n")


@pytest.mark.parametrize("spoil", [_edited, _removed, _cut, _emptied, _of_another_kind])
def test_what_changed_or_is_damaged_is_made_again(tmp_path, source, spoil):
    _keep(Kept(tmp_path / "kept"), tmp_path / "first.o", source)
    spoil(tmp_path / "kept", source)
    assert Kept(tmp_path / "kept").read(["nvcc"], tmp_path / "again.o") is None


def test_another_recipe_is_another_object(tmp_path, source):
    _keep(Kept(tmp_path / "kept"), tmp_path / "first.o", source)
    assert Kept(tmp_path / "kept").read(["nvcc", "-O3"], tmp_path / "again.o") is None


def test_a_source_that_was_edited_meanwhile_is_not_kept(tmp_path, source):
    (tmp_path / "first.o").write_bytes(b"of the text before")
    source.write_text("two")
    Kept(tmp_path / "kept").write(["nvcc"], tmp_path / "first.o", [source], time.time() - 60)
    assert not (tmp_path / "kept").exists()


def test_no_more_is_kept_than_may_be_and_what_was_not_used_goes_first(tmp_path, source):
    kept = Kept(tmp_path / "kept", most=2000)
    for number in range(3):
        _keep(kept, tmp_path / "first.o", source, bytes(700), str(number))
        os.utime(kept._place([str(number)]), (LONG_AGO + number,) * 2)
        kept.read(["0"], tmp_path / "again.o")
    there = [kept.read([str(number)], tmp_path / "again.o") is not None for number in range(3)]
    assert there == [True, False, True]


def test_what_a_killed_program_left_goes(tmp_path, source):
    folder = tmp_path / "kept"
    folder.mkdir()
    left, new = _written(folder / ".a.1.part", "half"), folder / ".b.2.part"
    new.write_text("somebody writes it now")
    _keep(Kept(folder), tmp_path / "first.o", source)
    assert not left.exists() and new.exists()


def test_a_full_disk_only_keeps_nothing(tmp_path, source, monkeypatch):
    real = whole.os.replace

    def full(*names):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(whole.os, "replace", full)
    _keep(Kept(tmp_path / "kept"), tmp_path / "first.o", source)
    monkeypatch.setattr(whole.os, "replace", real)
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_folder_that_cannot_be_made_keeps_nothing(tmp_path, source):
    _keep(Kept(source / "kept"), tmp_path / "first.o", source)
    assert Kept(source / "kept").read(["nvcc"], tmp_path / "again.o") is None


def _keep_and_read(folder: str, number: int) -> bool:
    place = Path(folder)
    kept, made = Kept(place / "kept", most=5000), place / f"{number}.o"
    right = True
    for turn in range(30):
        content = bytes([number]) * 1000
        _keep(kept, made, place / "a.cu", content, str(turn % 3))
        if kept.read([str(turn % 3)], made) is not None:
            right &= len(set(made.read_bytes())) == 1 and made.stat().st_size == 1000
    return right


def test_two_that_run_at_once_read_whole_objects(tmp_path, source):
    with ProcessPoolExecutor(2) as pool:
        assert list(pool.map(_keep_and_read, [str(tmp_path)] * 2, [1, 2])) == [True, True]


def test_a_header_that_comes_before_another_changes_the_recipe(tmp_path):
    before = headers_in([tmp_path, tmp_path / "nowhere"])
    (tmp_path / "printed.txt").touch()
    assert headers_in([tmp_path, tmp_path / "nowhere"]) == before
    (tmp_path / "sizes.cuh").touch()
    assert headers_in([tmp_path, tmp_path / "nowhere"]) != before


PROGRAM = """#include "n.h"
__global__ void f(int* x) { *x = N; }
int main() {
    int n, *x;
    cudaMalloc(&x, 4);
    f<<<1, 1>>>(x);
    cudaMemcpy(&n, x, 4, cudaMemcpyDefault);
    cudaFree(x);
    return n;
}
"""


def test_the_second_run_of_a_program_calls_no_compiler(nvcc, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    shutil.copytree(ROOT / "build/ptxsim", tmp_path / "cache/ptxsim", ignore=lambda *_: ["objects"])
    _written(tmp_path / "a.cu", PROGRAM)
    _written(tmp_path / "n.h", "#define N 0\n")
    ran, real = [], compiler._Compilers.run
    monkeypatch.setattr(compiler._Compilers, "run", lambda *how: ran.append(how) or real(*how))
    monkeypatch.chdir(tmp_path)
    typed = ["run", "a.cu", "--option=-Wno-deprecated-declarations"]
    assert [main(typed), main(typed), len(ran)] == [0, 0, 1]
    _written(tmp_path / "n.h", "#define N 3\n")
    assert [main(typed), len(ran)] == [1, 2]
    assert "the program ended with status 3" in capfd.readouterr().err


SLOW = """#!/bin/sh
case "$*" in *--version*|*--dryrun*) exec {nvcc} "$@";; esac
touch {folder}/begun.$$ $TMPDIR/tmpxft
sleep 100 & wait
"""


@pytest.mark.parametrize("heard", [signal.SIGTERM, signal.SIGINT])
def test_a_build_that_is_stopped_leaves_nothing(nvcc, tmp_path, heard):
    """More files than compilers at once: none of the others may begin."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "nvcc").write_text(SLOW.format(nvcc=nvcc.nvcc, folder=tmp_path))
    (folder / "nvcc").chmod(0o755)
    sources = [f"{number}.cu" for number in range((os.cpu_count() or 1) + 2)]
    for name in sources:
        (tmp_path / name).write_text("int main() {}\n")
    (tmp_path / "tmp").mkdir()
    environment = os.environ | {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "TMPDIR": str(tmp_path / "tmp"),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "ptxsim", "run", *sources]
    running = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    _wait(lambda: list(tmp_path.glob("begun.*")), 60)
    running.send_signal(heard)
    _, said = running.communicate(timeout=30)
    begun = [int(each.suffix[1:]) for each in tmp_path.glob("begun.*")]
    assert (running.returncode, said) == (2, "stopped\n")
    assert len(begun) <= (os.cpu_count() or 1)
    _wait(lambda: not any(Path(f"/proc/{process}").exists() for process in begun), 10)
    assert list((tmp_path / "tmp").iterdir()) == []


def _wait(done, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.05)
