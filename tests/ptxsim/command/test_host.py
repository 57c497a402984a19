"""A file as people have them, kernels and the program around them: what is the host's is left out, and nothing else."""

import pytest

from ptxsim.__main__ import main
from ptxsim.command.host import divide

PROGRAM = r"""#include <cstdio>
#include <cuda_profiler_api.h>
#include <nobody/has_this.hpp>
#define CHECK(call) do { if ((call) != cudaSuccess) { fprintf(stderr, "no"); exit(1); } } while (0)
#define HD __host__ __device__
constexpr int up(int n) { return (n + 31) / 32 * 32; }
HD inline float half_of(float x) { return x / 2; }
std::vector<float> everything;

struct Timer {  // a { that is none
    cudaEvent_t start;
    Timer() { cudaEventCreate(&start); }
};
namespace app {
__global__ void scale(float* x, uint32_t n) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float tile[up(100)];
    tile[threadIdx.x] = i < n ? half_of(x[i]) : INFINITY;
    if (i < n) x[i] = tile[threadIdx.x ^ 1];
}

void run(std::vector<float>& x)
{
    float* d;
#ifdef NEVER
    nothing();
#endif
    CHECK(cudaMalloc(&d, x.size() * 4));
    scale<<<4, 128>>>(d, x.size());
}
}  // namespace app

int main() {
    std::vector<float> x(512, 1.0f);
    app::run(x);
    printf("}\n");
}
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "app.cu"
    path.write_text(PROGRAM)
    return path


def check(*typed: str) -> int:
    return main(["check", "app.cu", "--grid", "4", "--block", "128", *typed])


def test_a_race_in_the_kernel_of_a_program(file, capsys):
    assert check("--arg", "float[512]", "--arg", "unsigned=512") == 1
    said = capsys.readouterr()
    assert said.out.startswith("app.cu:19: read-after-write")
    assert said.err == "app.cu: left out, as only the host's: lines 8, 10-13, 22-30, 33-37\n"


def test_an_error_in_the_kernel_stays_one(file, capsys):
    file.write_text(PROGRAM.replace("half_of(x[i])", "nothing(x[i])"))
    assert check() == 2
    assert 'app.cu:18: error: identifier "nothing" is undefined' in capsys.readouterr().err


def test_a_function_is_the_gpus_by_a_macro_too(file, capsys):
    file.write_text(PROGRAM.replace("return x / 2;", "return nothing;"))
    assert check() == 2
    assert 'app.cu:7: error: identifier "nothing" is undefined' in capsys.readouterr().err


def test_a_header_of_ones_own_must_be_there(file, capsys):
    file.write_text('#include "tile.h"\n' + PROGRAM)
    assert check() == 2
    said = capsys.readouterr().err
    assert 'app.cu:1: catastrophic error: cannot open source file "tile.h"' in said
    assert "\nGive the folder in which it lies: --option=-Ifolder\n" in said and "NVRTC has no" not in said


def test_a_source_that_compiles_stays_as_it_is(tmp_path):
    source = "int;\n__global__ void k(float* x) { x[0] = 1; }\n"
    assert divide(source, ["-DN=4"], tmp_path) == (source, ("-DN=4",), (), ())
    assert not list(tmp_path.iterdir())
