"""What `ptxsim check` says to files as somebody has them who tries it for the first time."""

import sys
import types

import numpy as np
import pytest

import ptxsim
from ptxsim.__main__ import main
from ptxsim.command import files

KERNEL = "__global__ void twice(float* x) { x[threadIdx.x] *= 2; }\n"
PROGRAM = (
    f"#include <vector>\n{KERNEL}int main() {{ std::vector<float> x(32); twice<<<1, 32>>>(x.data()); }}\n"
)
TAKES_IT = "app.cu: it has a main: `ptxsim run app.cu` takes the program as it is, with its own launches\n"
MIRROR = """.version 8.0
.target sm_80
.address_size 64
.visible .entry mirror(.param .u64 .ptr .global .align 4 x)
.reqntid 128
{
    .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<4>;
    .shared .align 4 .b8 s[512];
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    mov.u32 %r2, s;
    shl.b32 %r3, %r1, 2;
    add.u32 %r4, %r2, %r3;
    st.shared.f32 [%r4], %f1;
    bar.sync 0;
    sub.u32 %r5, 508, %r3;
    add.u32 %r6, %r2, %r5;
    ld.shared.f32 %f2, [%r6];
    st.global.f32 [%rd3], %f2;
    ret;
}
"""


@pytest.fixture
def said(tmp_path, monkeypatch, capsys):
    """Checks a file of this text; the exit status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def check(text: str | bytes | None, *typed: str, name: str = "app.cu") -> tuple[int, str, str]:
        if text is not None:
            (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        status = main(["check", name, *typed])
        return status, *capsys.readouterr()

    return check


def test_a_program_is_told_of_run_where_check_does_not_do(said):
    status, _, err = said(PROGRAM)
    assert status == 2 and "twice has 1 parameter, and no --arg is given" in err and err.endswith(TAKES_IT)
    assert said(PROGRAM.replace("*= 2", "*= nothing"))[2].endswith(TAKES_IT)
    assert said(PROGRAM, "--kernel", "thrice")[2].endswith(TAKES_IT)
    status, out, err = said(PROGRAM, "--arg", "float[32]")
    assert status == 0 and "no hazard" in out and "ptxsim run" not in err
    assert "ptxsim run" not in said(KERNEL.replace("twice", "domain") + "// main()\n")[2]


def test_the_launch_that_was_assumed_is_said(said):
    assert said(KERNEL, "--arg", "float[32]")[2] == (
        "app.cu: no --grid and no --block: launched as 1 block of 32 threads\n"
    )
    assert said(KERNEL, "--grid", "2,2", "--arg", "float[32]")[2] == (
        "app.cu: no --block: launched as 2 x 2 blocks of 32 threads\n"
    )
    assert said(KERNEL, "--grid", "1", "--block", "32", "--arg", "float[32]")[2] == ""
    assert "launched" not in said(KERNEL)[2]


def test_a_block_that_the_ptx_asks_for_is_the_launch(said):
    status, out, err = said(MIRROR, "--arg", "float32[128]=arange", name="mirror.ptx")
    assert (status, out) == (0, "mirror.ptx: mirror: no hazard found\n")
    assert err == "mirror.ptx: no --grid and no --block: launched as 1 block of 128 threads\n"
    status, _, err = said(MIRROR, "--block", "32", "--arg", "float32[128]", name="mirror.ptx")
    assert (
        status == 2 and "made for blocks of 128 threads (.reqntid in its PTX), and the block is 32" in err
    ), err


@pytest.mark.parametrize(
    ("asked", "block", "taken"),
    [("128", 128, True), ("128", 64, False), ("128", (64, 2), False), ("16, 8", (16, 8), True), ("16, 8", 128, False)],
)  # fmt: skip
def test_another_block_is_refused(asked, block, taken):
    kernel, x = ptxsim.from_ptx(MIRROR.replace("128", asked, 1)), np.arange(128, dtype=np.float32)
    if taken:
        ptxsim.launch(kernel, 1, block, (x,))
        return
    with pytest.raises(ptxsim.LaunchError, match=r"a GPU refuses the launch\. Give it that block"):
        ptxsim.launch(kernel, 1, block, (x,))
    with pytest.raises(ptxsim.LaunchError, match="made for blocks of"):
        ptxsim.clean_side_by_side(kernel, [(1, (x,))], block)


def test_a_header_that_is_not_here_is_named(said):
    text = "#include <vector>\n#include <stdio.h>\n#include <cute/tensor.hpp>\n" + KERNEL
    status, _, err = said(text.replace("*= 2", "*= cute::two()"), "--arg", "float[32]")
    first, *errors = err.splitlines()
    assert status == 2 and "app.cu:4: error: " in errors[0]
    assert first == (
        "app.cu: not found, and left out: <cute/tensor.hpp>. If the kernel needs it, give the folder in which it "
        "lies: --option=-Ifolder"
    )
    status, _, err = said(text, "--arg", "float[32]")
    assert status == 0 and "cute" not in err


def test_headers_of_thrust_and_cub(said):
    text = """#include <thrust/device_vector.h>
#include <thrust/pair.h>
#include <cub/cub.cuh>
__global__ void sum(const int* x, int* y) {
    using Reduce = cub::BlockReduce<int, 64>;
    __shared__ typename Reduce::TempStorage temp;
    thrust::pair<int, int> both(Reduce(temp).Sum(x[threadIdx.x]), 1);
    if (threadIdx.x == 0) y[0] = both.first;
}
int main() { thrust::device_vector<int> x(64, 1); sum<<<1, 64>>>(thrust::raw_pointer_cast(x.data()), nullptr); }
"""
    status, out, err = said(text, "--grid", "1", "--block", "64", "--arg", "int[64]", "--arg", "int[1]")
    assert (status, out) == (0, "app.cu: sum: no hazard found\n"), err
    assert err == "app.cu: left out, as only the host's: lines 10\n"


def test_what_is_no_file_to_check(said, tmp_path):
    assert said(None, name="nobody.cu")[2] == "nobody.cu: there is no such file\n"
    (tmp_path / "some.cu").write_text(KERNEL)
    assert said(None, name="nobody.cu")[2] == "nobody.cu: there is no such file; beside it lie some.cu\n"
    assert said(None, name=".")[2] == ".: it is a folder; name a file, such as some.cu\n"
    assert said(None, name="nowhere/nobody.cu")[2] == "nowhere/nobody.cu: there is no such file\n"
    for machine_code in (b"\x7fELF\2\1\1\x33", b"\x50\xed\x55\xba\1\0"):
        status, _, err = said(machine_code, name="app.cubin")
        assert status == 2 and "app.cubin: it is machine code" in err and "nvcc -ptx" in err
    assert said(b"\x93NUMPY\1\0v\0")[2] == "app.cu: it is no text; give CUDA C++ or PTX\n"
    assert said("", name="notes.ipynb")[2].startswith(
        "notes.ipynb: it is a notebook; write the kernel's text into"
    )
    assert "Errno" not in said(None, name="x" * 300)[2]


def test_a_text_of_another_encoding(said):
    assert said(KERNEL.encode("utf-16"), "--arg", "float[32]")[0] == 0
    assert said(MIRROR.encode() + b"\0", "--arg", "float[128]")[0] == 0


def test_python_is_told_how_to_get_there(said):
    status, _, err = said("import cupy as cp\n", name="app.py")
    assert status == 2 and err.startswith("app.py: it is Python.")
    assert all(word in err for word in ("CuPy", "Numba", "Triton", "ptxsim check x.ptx"))


def test_what_python_is_told_can_be_typed(capsys):
    """Its lines, with stand-ins for the compilers."""
    lines = files.PYTHON.splitlines()
    given = {
        **{"ptxsim": ptxsim, "grid": 1, "source": f'extern "C" {KERNEL}', "function": None, "types": None},
        "cuda": types.SimpleNamespace(compile_ptx=lambda function, types, cc, lineinfo: (MIRROR, None)),
        "compiled": types.SimpleNamespace(asm={"ptx": MIRROR}),
    }
    cupy = lines[1].partition(":  ")[2].replace('"name"', '"twice"')
    numba = lines[2].partition(":   ")[2]
    triton = lines[3].partition(":  ")[2].partition(", of")[0]
    then = lines[4].removeprefix("and then ").partition(". Or")[0].replace("(arrays and numbers)", "(x,)")
    for made, block in ((cupy, 32), (numba, 128), (triton, 128)):
        exec(f"{made}\n{then}", {**given, "block": block, "x": np.ones(128, np.float32)})
        assert capsys.readouterr().out.endswith(": no hazard found\n")


def test_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    name, number = capsys.readouterr().out.split()
    pyproject = (files.Path(ptxsim.__file__).parent / "pyproject.toml").read_text()
    assert name == "ptxsim" and f'\nversion = "{number}"\n' in pyproject and sys.version_info >= (3, 11)
