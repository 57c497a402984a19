"""What is said of a program that cannot be built, or not run to its end."""

import os
import signal
import subprocess
import sys
from typing import NamedTuple

import pytest

from ptxsim.__main__ import main
from ptxsim.program import compile as compiler
from tests.rules import ROOT
from tests.sample import sample

KERNEL = "#include <cstdio>\n__global__ void f(int* x) { *x += 1; }\n"
MANAGED = "int* x; cudaMallocManaged(&x, 4); *x = 1; "
FORKS = "#include <unistd.h>\n#include <sys/wait.h>\n" + KERNEL
LOOP = "__global__ void f(int* x, long n) { for (long i = 0; i < n; ++i) x[0] += i; }\n"
FILLS = "int main() { char* x; cudaMalloc(&x, 9); cudaMemset(x, 0, 9); cudaMemset(x, 1, 9); cudaFree(x); }"
HUGE = "f<<<1 << 30, 1024>>>(x);"


class Case(NamedTuple):
    """A program; what is said of it, and with which exit status. `how`: built wrongly, run, or with a library."""

    how: str
    text: str
    said: str
    status: int = 2
    typed: str = ""


CUBLAS = """#include <cublas_v2.h>
#include <cublasLt.h>
int main(int count, char** arguments) {
    cublasHandle_t handle; cublasLtHandle_t other; float* x;
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS || cublasLtCreate(&other)) return 3;
    if (cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH)) return 4;
    cudaMallocManaged(&x, 4); *x = 0; f<<<1, 1>>>((int*)x); cudaDeviceSynchronize(); cudaFree(x);
    if (count == CALLS) cublasSaxpy(handle, 1, x, x, 1, x, 1);
    return cublasDestroy(handle);
}
"""
CONDITION = """int main() { cudaGraph_t g; cudaGraphCreate(&g, 0); cudaGraphConditionalHandle h;
    cudaGraphConditionalHandleCreate(&h, g); }
__global__ void f() {}"""
OPENMP = """#include <omp.h>
__global__ void f(int* x) { *x = 3; }
int main() {
    int *x[2], wrong = 2;
    omp_set_num_threads(2);
    #pragma omp parallel
    {
        int i = omp_get_thread_num();
        cudaMallocManaged(&x[i], 4);
        f<<<1, 1>>>(x[i]);
        cudaDeviceSynchronize();
        #pragma omp critical
        wrong -= *x[i] == 3;
        cudaFree(x[i]);
    }
    return wrong;
}"""
NVML = """extern "C" int nvmlDeviceGetFanSpeed(void*, unsigned*);
int main() { unsigned speed; nvmlDeviceGetFanSpeed(nullptr, &speed); }"""
DRIVER = "#include <cuda.h>\nint main() { CUlinkState made; cuLinkCreate(0, nullptr, nullptr, &made); }"
ARRAY = "int main() { cudaMipmappedArray_t a; cudaMallocMipmappedArray(&a, nullptr, {8, 8, 1}, 2); }"
READS = 'int main() { int n; if (scanf("%d", &n) != 1) return 5; }'
WGMMA = """__global__ void f() {
    asm volatile("wgmma.fence.sync.aligned; wgmma.commit_group.sync.aligned; setmaxnreg.dec.sync.aligned.u32 40;");
}
"""
LAUNCHES = """__global__ void child() {}
__global__ void parent() { child<<<1, 1>>>(); }
int main() { parent<<<1, 1>>>(); }
"""
NO_PTX = '__global__ void g() { asm volatile("wgmna;"); }\n'
CASES = [
    Case("built", "#include <cub\\cub.cuh>\nint main() {}", r"takes a \ in the name of a header: write cub/cub.cuh"),
    Case("built", '#include "nowhere.h"\nint main() {}', "nowhere.h is in none of the folders of headers: give"),
    Case("built", "#include <cudnn.h>\nint main() {}", "the program uses cuDNN. Its kernels come as machine code"),
    Case("built", "#include <curand_kernel.h>\nint main() {}", "curand_kernel.h comes with cuRAND: pip install"),
    Case("run", KERNEL + NVML, "at program.cu:4: it asks for what is measured of a real GPU"),
    Case("linked", KERNEL + "int main() {}", "there is no library other (-lother) in the usual", 2, "-lother"),
    Case("built", KERNEL + 'int main() { int x = "a"; }', "program.cu(3): error: a value of type"),
    Case("built", "int main() {}", "nvcc cannot compile for compute_76: give another --arch", typed="--arch 76"),
    Case("built", WGMMA, "wgmma and setmaxnreg need --arch 90a, and this is compiled for 90\n"),
    Case("built", WGMMA + NO_PTX, "Not a name of any known instruction: 'wgmna'"),
    Case("built", LAUNCHES, "Launches by kernels need --option=-rdc=true, as with nvcc"),
    Case("run", LAUNCHES, "2 launches of 2 kernels, 2 blocks", 0, "--option=-rdc=true"),
    Case("run", OPENMP, "note: the program uses OpenMP, and was built with --option=-Xcompiler=-fopenmp -lgomp", 0),
    Case("linked", KERNEL, "no file has a main: give all files of the program\n"),
    Case("linked", "void other(); int main() { other(); }", "no file has other(): give all files of the program"),
    Case("closed", KERNEL + CUBLAS, "s: no hazard found", 0, "-D CALLS=2"),
    Case("closed", KERNEL + CUBLAS, "calls cublasSaxpy_v2 at program.cu:10: the program uses cuBLAS.", 2, "-D CALLS=1"),
    Case("run", KERNEL + ARRAY, "calls cudaMallocMipmappedArray, which the simulator's runtime has not, at"),
    Case("run", CONDITION, "at program.cu:2: a graph with conditions is not simulated. Let the host decide"),
    Case("run", KERNEL + DRIVER, "has not, at program.cu:4: of the driver's API there are", 2, "-lcuda -l cublas"),
    Case("run", KERNEL + "int main() {}", "no kernel was launched, 0.0 s: there was nothing to look at"),
    Case("run", KERNEL + FILLS, "no kernel was launched, 2 other calls, ", 0),
    Case("run", KERNEL + "int main() { " + MANAGED + HUGE + "}", "threads; the simulator takes at most 268,435,456"),
    Case("run", KERNEL + READS, "the program ended with status 5", 1),
    Case("run", FORKS + "int main() { " + MANAGED + "if (!fork()) { f<<<1, 1>>>(x); return cudaGetLastError(); } int s;"
         "wait(&s); f<<<1, 1>>>(x); cudaDeviceSynchronize(); cudaFree(x); return 10 * *x + WEXITSTATUS(s); }",
         "note: the program forks", 1),
    Case("run", "__global__ void f() { __trap(); }\nint main() { f<<<1, 1>>>(); }", "program.cu:1: trap", 1),
    Case("run", LOOP + "int main() { " + MANAGED + "f<<<1, 1>>>(x, 1L << 40); cudaFree(x); }",
         " s, and is at program.cu:1: it needs more, or a loop goes on for ever. Run the "
         "program on a smaller problem, or give --limit SECONDS\n", 2, "--limit 1"),
]  # fmt: skip


@pytest.mark.parametrize(
    "case", sample(CASES, lambda case: case.how), ids=lambda case: "-".join(case.said.split()[:6])
)
def test_what_is_said(nvcc, tmp_path, monkeypatch, capfd, case):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.cu").write_text(case.text)
    assert main(["run", "program.cu", *case.typed.split()]) == case.status
    assert case.said in capfd.readouterr().err


def test_the_report_begins_a_line_of_its_own(nvcc, tmp_path):
    (tmp_path / "program.cu").write_text('#include <cstdio>\nint main() { printf("no end"); }\n')
    typed = [sys.executable, "-m", "ptxsim", "run", "program.cu"]
    ran = subprocess.run(typed, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ran.stdout.startswith("no end\nprogram.cu: "), ran.stdout


TIMED = """#include <chrono>
#include <cstdio>
__global__ void f() {}
int main() {
    auto begun = std::chrono::steady_clock::now();
    f<<<1, 1>>>();
    printf("%g s", std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
}
"""


def test_times_that_a_program_prints_are_named_once(nvcc, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.cu").write_text(TIMED)
    assert main(["run", "program.cu"]) == 0
    note = "note: times that the program measures are the simulator's, no GPU's\n"
    assert capfd.readouterr().err.count(note) == 1


AGAIN = (
    KERNEL
    + """int main() {
    int* x; cudaMallocManaged(&x, 4); *x = 0;
    for (int i = 0; i < 20; ++i) f<<<1, 1>>>(x);
    cudaDeviceSynchronize(); printf("%d\\n", *x); cudaFree(x); }"""
)


@pytest.mark.parametrize(
    ("option", "printed", "said"),
    [
        ("--judge-each-launch-once", "20\n", "14 launches only computed"),
        ("--each-launch-once", "6\n", "14 launches left out"),
    ],
)
def test_launches_that_are_like_others(nvcc, tmp_path, monkeypatch, capfd, option, printed, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "again.cu").write_text(AGAIN)
    assert main(["run", "again.cu", option]) == 0
    shown = capfd.readouterr()
    assert shown.out == printed
    assert f" of 1 kernel, {20 if option.startswith('--judge') else 6} blocks, {said}, " in shown.err
    with pytest.raises(SystemExit):
        main(["run", "again.cu", "--each-launch-once", "--judge-each-launch-once"])


def test_the_samples_header_knows_that_cublas_is_there(nvcc, tmp_path, monkeypatch, capfd):
    """As helper_cuda.h of CUDA's samples asks for it."""
    monkeypatch.chdir(tmp_path)
    text = """#include <cublas_v2.h>
    #ifdef CUBLAS_API_H_
    const char* said(cublasStatus_t) { return "cublas"; }
    #endif
    int main() { return said(CUBLAS_STATUS_SUCCESS)[0] != 'c'; }"""
    (tmp_path / "program.cu").write_text(text)
    assert main(["run", "program.cu"]) == 2
    assert "there was nothing to look at" in capfd.readouterr().err


def test_a_header_that_a_package_brings_along(nvcc, tmp_path, monkeypatch, capfd):
    folder = tmp_path / f"nvidia/cu{nvcc.version // 1000}/include"
    folder.mkdir(parents=True)
    (folder / "curand_kernel.h").write_text("__device__ int curand() { return 4; }\n")
    text = "__global__ void f(int* x) { *x += curand(); }\nint main() { " + MANAGED + "f<<<1, 1>>>(x); "
    (tmp_path / "program.cu").write_text(
        "#include <curand_kernel.h>\n"
        + text
        + "cudaDeviceSynchronize(); int n = *x; cudaFree(x); return n != 5; }"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["run", str(tmp_path / "program.cu")]) == 0, capfd.readouterr().err


def test_there_is_no_such_file(nvcc, capsys):
    assert main(["run", "nothing.cu"]) == 2
    assert capsys.readouterr().err == "nothing.cu: there is no such file\n"


def test_a_gpu_that_is_not_known(capsys):
    assert main(["run", "nothing.cu", "--arch", "50"]) == 2
    assert capsys.readouterr().err == "no GPU of compute capability 5.0 is known here\n"


@pytest.mark.parametrize(
    ("tool", "said"), [("nvcc", 'pip install "./ptxsim[nvcc]" in a clone'), ("g++", "there is no g++")]
)
def test_without_a_compiler(monkeypatch, tmp_path, capsys, tool, said):
    (tmp_path / "program.cu").touch()
    found = {"g++": "/usr/bin/g++"} if tool == "nvcc" else {}
    monkeypatch.setattr(compiler.shutil, "which", found.get)
    monkeypatch.setattr(compiler, "_of_packages", list)
    compiler.toolkit.cache_clear()
    try:
        assert main(["run", str(tmp_path / "program.cu")]) == 2
    finally:
        compiler.toolkit.cache_clear()
    assert said in capsys.readouterr().err


LONG = """#include <cstdio>
__shared__ int t[64];
__global__ void race(int* x) { t[threadIdx.x] = threadIdx.x; x[threadIdx.x] = t[63 - threadIdx.x]; }
__global__ void longer(int* x) { for (int i = 0; i < 100000; ++i) x[blockIdx.x * 256 + threadIdx.x] += i; }
int main() {
    int* x;
    cudaMallocManaged(&x, 1 << 24);
    race<<<1, 64>>>(x);
    puts("begun");
    fflush(stdout);
    longer<<<1024, 256>>>(x);
}
"""


@pytest.mark.parametrize("heard", [signal.SIGINT, signal.SIGTERM])
def test_who_stops_it_is_told_what_was_seen_so_far(nvcc, tmp_path, heard):
    (tmp_path / "long.cu").write_text(LONG)
    command = [sys.executable, "-m", "ptxsim", "run", "long.cu"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True, **pipes)
    assert running.stdout.readline() == "begun\n"
    (os.killpg if heard == signal.SIGINT else os.kill)(running.pid, heard)  # a terminal tells all of them
    _, said = running.communicate(timeout=60)
    assert running.returncode == 1
    assert said.startswith("long.cu:3: read-after-write")
    assert said.endswith("s: 1 hazard, stopped by Ctrl-C or kill: this is what was seen so far\n")
