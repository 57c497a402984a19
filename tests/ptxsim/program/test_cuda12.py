"""Names that went with CUDA 13: programs that use them run, and an error about one that nobody supplies says so."""

import pytest

from ptxsim.__main__ import main
from ptxsim.program import cuda12
from tests.ptxsim.program.test_programs import CU
from tests.sample import in_long

PRINTED = "63 132 1979000 2619000\n"
TOLD = """CUB_MAX, clockRate, cub::ConstantInputIterator, cub::CountingInputIterator, cub::Max,
cub::TransformInputIterator, cudaThreadExit, cudaThreadSynchronize, memoryClockRate, nvToolsExt.h, thrust::identity,
thrust::unary_function"""


def _ran(nvcc, monkeypatch, capfd, *typed):
    if nvcc.version < cuda12.SINCE:
        pytest.skip("this nvcc has these names")
    monkeypatch.chdir(CU)
    assert main(["run", "before13.cu", *typed]) == 0
    return capfd.readouterr()


def test_a_program_of_cuda_12(nvcc, monkeypatch, capfd):
    printed, report = _ran(nvcc, monkeypatch, capfd)
    assert printed == PRINTED
    told = TOLD.replace("\n", " ")
    assert report.count(f"note: CUDA 13 has no {told}: ptxsim supplied what CUDA 12 had") == 1


@in_long
def test_all_of_cub(nvcc, monkeypatch, capfd):
    printed, report = _ran(nvcc, monkeypatch, capfd, "-D", "WHOLE")
    assert printed == PRINTED + "7 4 6\n" and "no hazard found" in report


def test_without_them_the_error_says_what_went(nvcc, monkeypatch, capfd):
    if nvcc.version < cuda12.SINCE:
        pytest.skip("this nvcc has these names")
    monkeypatch.chdir(CU)
    assert main(["run", "before13.cu", "--no-cuda12"]) == 2
    assert capfd.readouterr().err.endswith(
        "nvToolsExt.h went with CUDA 13, and this nvcc is of 13: include <nvtx3/nvToolsExt.h>, which needs no library\n"
    )


def test_only_what_the_program_itself_says_is_told():
    text = """
    // cudaThreadSynchronize();
    const char* said = "cub::Max";
    int clockRate = 5; double my_clockRate = prop.clockRate_of;
    std::unary_function<int, int> f;
    """
    assert cuda12.supplied([text]) == []
    assert cuda12.supplied(["int c = prop->clockRate;", '#include "nvToolsExt.h"']) == [
        "clockRate",
        "nvToolsExt.h",
    ]


SAID = {
    "texture": "x.cu(1): error: texture is not a template\n",
    "cudaBindTexture": 'x.cu(4): error: identifier "cudaBindTexture" is undefined\n',
    "this_multi_grid": 'x.cu(2): error: namespace "cooperative_groups" has no member "this_multi_grid"\n',
    "thrust/async": "x.cu:1:10: fatal error: thrust/async/copy.h: No such file or directory\n",
    "GridBarrier": 'x.cu(2): error: identifier "cub::GridBarrier" is undefined\n',
}


@pytest.mark.parametrize("name", SAID)
def test_an_error_about_a_name_that_went(name):
    assert cuda12.why_gone(SAID[name], 13000).startswith(f"{name} went with CUDA 1")


def test_a_kernel_that_waits_for_those_that_it_launches():
    said = 'x.cu(9): error: identifier "cudaDeviceSynchronize" is undefined in device code\n'
    assert cuda12.why_gone(said, 13000).endswith("into cudaStreamTailLaunch, or let the host launch both")
    assert cuda12.why_gone(said.replace(" in device code", ""), 13000) == ""


def test_other_errors_and_older_compilers():
    assert cuda12.why_gone('x.cu(3): error: identifier "mine" is undefined\n', 13000) == ""
    assert cuda12.why_gone(SAID["GridBarrier"], 12090) == ""
    assert cuda12.why_gone('x.cu(3): warning: identifier "texture" is never used\n', 13000) == ""
