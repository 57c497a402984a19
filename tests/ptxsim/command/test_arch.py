"""`--arch 100a`: kernels for a B200 as they are typed, and what of tcgen05 is refused by name."""

import shutil

import pytest

from ptxsim.__main__ import main
from ptxsim.program import compile as compiler
from tests.kernels.blackwell import MACROS
from tests.ptxsim.units.test_tensor_memory import COLUMNS, END, PRODUCT, RESULT, TILES, multiply

ONLY_100A = "#ifndef __CUDA_ARCH_FEAT_SM100_ALL\n#error compiled for another GPU\n#endif\n"
WAITED = f"{COLUMNS}{TILES}{PRODUCT} WAIT(&done, 0); AFTER;\n{RESULT}{END}"
HOST = """
#include <cstdio>
int main() {
    static __half in[192 * 16];
    for (int i = 0; i < 192 * 16; i++) in[i] = __float2half(1);
    float* out;
    __half* from;
    cudaMalloc(&out, 128 * 64 * 4);
    cudaMalloc(&from, sizeof(in));
    cudaMemcpy(from, in, sizeof(in), cudaMemcpyHostToDevice);
    product<<<1, 128>>>(out, from);
    static float sums[128 * 64];
    cudaMemcpy(sums, out, sizeof(sums), cudaMemcpyDeviceToHost);
    printf("%g\\n", sums[77]);
    cudaFree(out);
    cudaFree(from);
}
"""
LAUNCHED = ("--block", "128", "--arg", "float32[8192]", "--arg", "float16[3072]", "--grid", "1")


def kernel(body: str) -> str:
    return f"{MACROS}\n__global__ void product(float* out, const __half* in)\n{{{body}}}\n"


@pytest.mark.parametrize(
    ("line", "status", "said"), [("", 0, "no hazard"), ("WAIT(&done, 0);", 1, "unwaited-tcgen05")]
)
def test_a_kernel_is_checked(tmp_path, monkeypatch, capsys, line, status, said):
    monkeypatch.chdir(tmp_path)
    body = WAITED.replace(line, "__syncthreads();") if line else WAITED
    (tmp_path / "product.cu").write_text(f"#ifdef __CUDA_ARCH__\n{ONLY_100A}#endif\n{kernel(body)}")
    assert main(["check", "product.cu", "--arch", "100a", *LAUNCHED]) == status
    assert said in capsys.readouterr().out
    assert main(["check", "product.cu", *LAUNCHED]) == 2
    assert "compiled for another GPU" in capsys.readouterr().err


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++")
def test_a_program_is_run(tmp_path, monkeypatch, capfd):
    try:
        compiler.toolkit()
    except compiler.BuildError:
        pytest.skip("no nvcc")
    monkeypatch.chdir(tmp_path)
    own_map = "struct alignas(64) CUtensorMap { unsigned char bytes[128]; };"
    (tmp_path / "main.cu").write_text(kernel(WAITED).replace(own_map, "#include <cuda.h>") + HOST)
    assert main(["run", "main.cu", "--arch", "100a"]) == 0
    shown = capfd.readouterr()
    assert shown.out == "16\n" and "no hazard found" in shown.err
    assert main(["run", "main.cu"]) == 2
    assert "tcgen05 needs --arch 100a, and this is compiled for 90\n" in capfd.readouterr().err


REFUSED = (
    "kind::tf32", "kind::f8f6f4", "kind::i8", "kind::mxf8f6f4.block_scale.scale_vec::1X",
    "kind::mxf4.block_scale.scale_vec::2X", "kind::mxf4nvf4.block_scale.scale_vec::4X",
)  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_a_kind_that_is_not_simulated_is_named(kind):
    scales = ", [%1], [%1]" if "block" in kind else ""
    mma = f'"tcgen05.mma.cta_group::1.{kind} [%0], %2, %2, %1{scales}, p;"'
    body = f'asm volatile("{{.reg .pred p;\\nsetp.ne.b32 p, %1, 0;\\n" {mma} "}}" :: "r"(at), "r"(t), "l"(0ull));'
    report, _ = multiply(f"{COLUMNS} if (t == 0) {body}{END}")
    assert [hazard.kind for hazard in report.hazards] == ["unsupported-instruction"]
    assert f"'.{kind.partition('.')[0]}' is not simulated" in report.hazards[0].message


@pytest.mark.parametrize("opcode", ["mma.sp", "mma.ws", "shift"])
def test_an_instruction_that_is_not_simulated_is_named(opcode):
    report, _ = multiply(f'{COLUMNS} asm volatile("tcgen05.{opcode}.cta_group::1 [%0];" :: "r"(at));{END}')
    assert [hazard.kind for hazard in report.hazards] == ["unsupported-instruction"]
    assert f"tcgen05.{opcode}" in report.hazards[0].message
