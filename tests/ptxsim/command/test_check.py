"""`ptxsim check`: its exit status, and places that an editor jumps to."""

import os
import subprocess
import sys
from unittest.mock import Mock

import pytest

from ptxsim.__main__ import main
from ptxsim.compiler.nvrtc import compile_ptx
from ptxsim.ground.interrupts import Interrupted
from tests.rules import ROOT

HEADER = """template <typename T> __device__ void put(T* tile, T x) { tile[threadIdx.x] = x; }
template <typename T, int N> __global__ void flip(T* x) {
    __shared__ T tile[N];
    put(tile, x[threadIdx.x]);
    x[threadIdx.x] = tile[N - 1 - threadIdx.x];
}
"""
REVERSE = """#include "tile.h"
__device__ float get(float* tile, int at) { return tile[at]; }
__global__ void reverse(float* x) {
    __shared__ float tile[256];
    put(tile, x[threadIdx.x]);
    x[threadIdx.x] = get(tile, 255 - threadIdx.x);
}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/tile.h").write_text(HEADER)
    (tmp_path / "src/bad.cu").write_text(REVERSE)
    return tmp_path


def check(*typed: str) -> int:
    return main(["check", "src/bad.cu", *typed])


def test_a_race(folder, capsys):
    assert check("--block", "256", "--arg", "float32[256]=arange") == 1
    first, *quoted = capsys.readouterr().out.splitlines()
    assert first.startswith(
        "src/bad.cu:6: read-after-write (in the function at line 2, called here) (the first of 256): "
    )
    assert [line.strip().partition(" ")[0] for line in quoted] == ["2", "6"]  # what reads, then who calls it


def test_a_race_in_a_header(folder, capsys):
    assert check("--kernel", "flip<float, 64>", "--block", "64", "--arg", "float32[64]") == 1
    assert capsys.readouterr().out.startswith("src/tile.h:5: read-after-write")


def test_a_name_of_any_bytes_where_the_terminal_knows_ascii(folder):
    """With LC_ALL=C, as in many containers: the name has no characters there, only bytes."""
    (folder / "für").mkdir()
    (folder / "für" / "bad.cu").write_text(
        REVERSE.replace('"tile.h"', '"../src/tile.h" // …'), encoding="utf-8"
    )
    typed = ["-m", "ptxsim", "check", "für/bad.cu", "--block", "256", "--arg", "float32[256]=arange"]
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, *typed], cwd=folder, env=environment, capture_output=True, encoding="utf-8"
    )
    assert (ran.returncode, ran.stdout[:28]) == (1, "für/bad.cu:6: read-after-wri"), ran.stdout + ran.stderr


def test_a_terminal_obeys_nothing_that_a_file_says(folder, capsys):
    (folder / "src/bad\x1b[2J.cu").write_text(
        'extern "C" __global__ void k(int* x) { printf("\\x1b[2Jall right"); x[0] = threadIdx.x; }'
    )
    assert main(["check", "src/bad\x1b[2J.cu", "--arg", "int32[1]"]) == 1
    assert main(["check", "src/bad\x1b[2J.cu"]) == 2
    out, err = capsys.readouterr()
    assert out.startswith(r"\x1b[2Jall right") and r"bad\x1b[2J.cu" in out and r"bad\x1b[2J.cu" in err
    assert "\x1b" not in out + err


def test_a_file_without_end_is_refused(capsys):
    assert main(["check", "/dev/zero"]) == 2
    assert "it has more than 67,108,864 bytes" in capsys.readouterr().err


def test_no_hazard(folder, capsys):
    text = REVERSE.replace("    x[", "    __syncthreads();\n    x[")
    (folder / "src/bad.cu").write_text(f"\ufeff// caf\u00e9\n{text}", encoding="utf-8")
    assert check("--block", "256", "--arg", "float32[256]") == 0
    assert capsys.readouterr().out == "src/bad.cu: reverse: no hazard found\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("return tile[at];", "return tile[at]", 'src/bad.cu:2: error: expected a ";"'),
        ("put(tile,", "put(nothing,", 'src/bad.cu:5: error: identifier "nothing" is undefined'),
        ('"tile.h"', '"tile.hh"', 'src/bad.cu:1: catastrophic error: cannot open source file "tile.hh"'),
        (REVERSE, "", "src/bad.cu: the compiler found no __global__ function in it"),
        (REVERSE, ".version 8.0\n", "src/bad.cu: the PTX has several kernels, or none; it has none: ask"),
        (REVERSE, "__global__ void f() {}", "src/bad.cu: f has 0 parameters, and 1 --arg is given\n"),
    ],
)
def test_what_cannot_run(folder, capsys, old, new, said):
    (folder / "src/bad.cu").write_text(REVERSE.replace(old, new))
    assert check("--block", "256", "--arg", "float32[256]") == 2
    assert capsys.readouterr().err.startswith(said)


@pytest.mark.parametrize("there", [True, False])
def test_ptx(there, folder, capsys):
    """As Triton, Numba and nvcc -ptx write it: its lines name a file, which may be there or not."""
    whole = REVERSE.replace('#include "tile.h"\n', HEADER)
    text = compile_ptx(whole, (), ("-lineinfo", "-arch=compute_80")).ptx.replace("kernel.cu", "my.py")
    (folder / "reverse.ptx").write_text(text)
    if there:
        (folder / "my.py").write_text(whole)
    assert main(["check", "reverse.ptx", "--block", "256", "--arg", "float32[256]=arange"]) == 1
    first, *quoted = capsys.readouterr().out.splitlines()
    assert first.startswith(
        "my.py:11: read-after-write (in the function at line 7, called here) (the first of 256)"
    )
    assert len(quoted) == 2 * there
    assert main(["check", "reverse.ptx", "--kernel", "turn", "--arg", "float32[256]"]) == 2
    assert "the PTX has no kernel named turn; it has _Z7reversePf" in capsys.readouterr().err


def test_an_error_in_a_header(folder, capsys):
    (folder / "src/tile.h").write_text(HEADER.replace("= x;", "= y;"))
    assert check() == 2
    assert capsys.readouterr().err.startswith('src/tile.h:1: error: identifier "y" is undefined')


def test_an_error_of_an_instance_names_both_places(folder, capsys):
    (folder / "src/bad.cu").write_text(
        '#include "tile.h"\ntemplate <class T> __device__ void take(T x) { x.y = 1; }\n'
        "template <class T> __global__ void g(T x) {\n    take(x);\n}\n"
    )
    assert check("--kernel", "g<int>", "--arg", "int=1") == 2
    said = capsys.readouterr().err
    assert said.startswith("src/bad.cu:2: error: ") and "at src/bad.cu:4" in said


@pytest.mark.parametrize(
    ("raised", "said"),
    [(Interrupted("the launch of k was stopped"), "src/bad.cu: the launch of k was stopped\n"),
     (KeyboardInterrupt(), "src/bad.cu: stopped\n"),
     (ZeroDivisionError("own mistake"), "Traceback")],
)  # fmt: skip
def test_what_stops_a_check_is_no_hazard(folder, capsys, monkeypatch, raised, said):
    monkeypatch.setattr("ptxsim.__main__.launch", Mock(side_effect=raised))
    assert check("--grid", "1", "--block", "256", "--arg", "float32[256]") == 2
    assert capsys.readouterr().err.startswith(said)


def test_dimensions(folder, capsys):
    with pytest.raises(SystemExit, match="2"):
        check("--grid", "2x2")
    assert "'2x2' is not one to three numbers, such as 4 or 4,2,1" in capsys.readouterr().err


def test_help_has_an_example_and_the_forms_of_an_argument(capsys):
    for typed in (["--help"], ["check", "--help"]):
        with pytest.raises(SystemExit, match="0"):
            main(typed)
        said = capsys.readouterr().out
        assert "ptxsim check reverse.cu" in said and "float32[1024]=zeros" in said and "int32=5" in said


@pytest.mark.parametrize(
    ("body", "typed", "words"),
    [
        (
            "while (atomicAdd(x, 1.0f) >= 0) { }",
            ["--max-steps", "9000"],
            "which is all that --max-steps 9,000 allows",
        ),
        (
            "while (atomicAdd(x, 1.0f) >= 0) { }",
            ["--max-steps", "9000"],
            "or give a larger --max-steps (A step",
        ),
        ("extern __shared__ float s[]; s[threadIdx.x] = x[1]; x[0] = s[3];", [], "give some: --shared BYTES"),
        (
            "__shared__ float s[20000]; s[threadIdx.x] = x[1]; x[0] = s[3];",
            [],
            "and give the launch --shared BYTES",
        ),
    ],
)
def test_it_speaks_of_its_own_options(folder, capsys, body, typed, words):
    (folder / "src/bad.cu").write_text(f"__global__ void f(float* x) {{ {body} }}")
    assert check(*typed, "--arg", "float32[64]=zeros") in (1, 2)
    said = "".join(capsys.readouterr())
    assert words in said and not any(word in said for word in ("simulate(", "shared_mem", "max_steps")), said


def test_a_struct_is_given_by_its_members(folder, capsys):
    source = "struct P { float* x; int n; };\n__global__ void f(P p) { p.x[p.n + threadIdx.x] = 1; }"
    (folder / "src/bad.cu").write_text(source)
    assert check("--arg", "{float32[64]=zeros; int32=3}") == 0
    assert check("--arg", "{float32[64]=zeros; int32=33}") == 1
    assert "element 64 of member 1 of p (float32, shape (64,))" in capsys.readouterr().out
