"""A whole program, run here or from a recorded run."""

import sys

import pytest

from course_lib import HOPPER, OPTIONS
from course_lib.notebooks.figures.programs import NotRunHere, run_program
from ptxsim import program
from ptxsim.compiler import cache
from ptxsim.program.report import Conflict, ProgramReport
from tests.ptxsim.program.conftest import kept_library, nvcc  # noqa: F401

TWICE = r"""
#include <cstdio>
__global__ void twice(float* x) { x[threadIdx.x] *= 2; }

int main()
{
    float ones[32], *x;
    for (float& one : ones) one = 1;
    cudaMalloc(&x, sizeof(ones));
    cudaMemcpy(x, ones, sizeof(ones), cudaMemcpyHostToDevice);
    twice<<<1, 33>>>(x);
    cudaMemcpy(ones, x, sizeof(ones), cudaMemcpyDeviceToHost);
    printf("%g\n", ones[31]);
    return cudaFree(x);
}
"""


@pytest.fixture
def nothing_kept(tmp_path, monkeypatch):
    """What is recorded goes into this folder, and is found there; nothing else is."""
    monkeypatch.setattr(cache, "FOLDERS", [tmp_path])
    monkeypatch.setenv(cache.KEEP, str(tmp_path / "texts"))
    cache.look_again()
    yield tmp_path
    monkeypatch.undo()
    cache.look_again()


def test_a_program_is_run_here(nvcc, nothing_kept):  # noqa: F811
    run = run_program(TWICE, "twice.cu")
    assert (run.printed, run.kinds, run.lines, run.findings) == ("2\n", ["out-of-bounds"], [3], 1)
    assert repr(run).startswith("2\ntwice.cu:3: out-of-bounds (the first of 2): thread 32 of block 0: ")
    assert repr(run).endswith("\n1 launch of 1 kernel, 1 block: 1 hazard")
    assert max(map(len, run.report.splitlines())) <= 110


def test_a_mistake_of_typing_is_told_without_a_path(nvcc, nothing_kept):  # noqa: F811
    with pytest.raises(program.BuildError, match=r"^twice\.cu\(7\): error: "):
        run_program(TWICE.replace("float ones[32]", "floats ones[32]"), "twice.cu")


HEADER = r"""
#include <cstdio>
#include <course/wgmma.cuh>
__global__ void at_once() { wgmma_fence(); }

int main()
{
    at_once<<<1, 128>>>();
    return cudaDeviceSynchronize();
}
"""


def test_a_program_is_compiled_as_a_kernel_with_these_options(nvcc, nothing_kept):  # noqa: F811
    assert (
        run_program(HEADER, "at_once.cu", HOPPER).report == "1 launch of 1 kernel, 1 block: no hazard found"
    )
    with pytest.raises(program.BuildError, match=r"^wgmma needs --arch 90a"):
        run_program(HEADER, "at_once.cu", OPTIONS)


def runs(source, args, options, arch, at_once, stdout):
    """In place of the simulator."""
    stdout.write("PASS\n")
    message = f"{source}:9: a copy, " + "and what it says " * 20
    return ProgramReport(str(source), conflicts=(Conflict(message, f"{source}:12"),), seconds=1.5)


def cannot(source, args, options, arch, at_once, stdout):
    raise program.NoCompiler("there is no nvcc")


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is run elsewhere")
def test_a_recorded_run_is_what_was_run(nothing_kept, monkeypatch):
    monkeypatch.setattr(program, "run", runs)
    here = run_program("text", "a.cu")
    assert here.printed == "PASS\n" and here.kinds == ["stream-conflict"] and here.lines == [12]
    assert str(nothing_kept) not in here.report and "1.5" not in here.report
    cache.write(nothing_kept / "09.zip", nothing_kept / "texts")
    cache.look_again()
    monkeypatch.setattr(program, "run", cannot)
    assert run_program("text", "a.cu") == here
    with pytest.raises(NotRunHere, match=r"no run of this text is on file, .* there is no nvcc"):
        run_program("another text", "a.cu")
    with pytest.raises(NotRunHere, match="no run of this text is on file"):
        run_program("text", "a.cu", args=("5",))
    monkeypatch.setattr(sys, "platform", "darwin")
    assert run_program("text", "a.cu") == here
    with pytest.raises(NotRunHere, match="this is no Linux"):
        run_program("another text", "a.cu")


BESIDE = r"""
constexpr int BYTES = 4096;
__global__ void twice(float* x) { x[threadIdx.x] *= 2; }

int main(int argc, char** argv)
{
    float *x, *y, *here;
    cudaStream_t one, two;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    cudaMallocHost(&here, BYTES);
    cudaMalloc(&x, BYTES), cudaMalloc(&y, BYTES);
    cudaMemset(x, 0, BYTES);
    cudaDeviceSynchronize();
    twice<<<1, 32, 0, one>>>(x);
    if (argc > 1) cudaStreamSynchronize(one);
    cudaMemcpyAsync(y, here, BYTES, cudaMemcpyHostToDevice, two);
    cudaMemcpyAsync(here, x, BYTES, cudaMemcpyDeviceToHost, one);
    cudaDeviceSynchronize();
    cudaFree(x), cudaFree(y), cudaFreeHost(here);
    return argc;
}
"""


def test_a_run_knows_what_may_be_copied_beside_a_launch(nvcc, nothing_kept):  # noqa: F811
    free, waits = run_program(BESIDE, "a.cu"), run_program(BESIDE, "a.cu", args=("waits",))
    assert (free.beside, waits.beside) == ([1], [0])
    assert (free.alone, waits.alone) == ([""], [""])  # one copy only: none follows
    assert (free.memory, free.returned, waits.returned) == (8192, 1, 2)
