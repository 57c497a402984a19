"""What a GPU refuses and the simulator would run: PTX that ptxas rejects, blocks that are larger than their kernel
allows, more registers than there are."""

import numpy as np
import pytest

import ptxsim
from course_lib import OPTIONS, Gemm, Launch, cp, kernel_source
from ptxsim import CompileError, LaunchError, assemble
from tests.ptxsim.small_kernels import run, source_of

BOUNDS = 'extern "C" __global__ void __launch_bounds__({}) k(int* out) {{ out[threadIdx.x] = 1; }}'


@pytest.mark.parametrize(("bounds", "block", "right"), [(64, 64, True), (64, 65, False), (64, (8, 9), False),
                                                        ("64, 2", 128, False), ("256, 2", 128, True)])  # fmt: skip
def test_a_block_is_not_larger_than_its_launch_bounds(bounds, block, right):
    kernel, out = ptxsim.compile(BOUNDS.format(bounds), "k"), np.zeros(128, np.int32)
    if right:
        assert ptxsim.launch(kernel, 1, block, (out,)).ok
    else:
        with pytest.raises(LaunchError, match=r"__launch_bounds__ of 64 threads .*invalid value"):
            ptxsim.launch(kernel, 1, block, (out,))
        assert not out.any()


MANY_REGISTERS = """float x[90]; for (int i = 0; i < 90; ++i) x[i] = out[i * 1024 + t];
for (int j = 0; j < 90; ++j) { __syncthreads(); for (int i = 0; i < 90; ++i) x[i] = x[i] * x[(i + 7) % 90] + j; }
for (int i = 0; i < 90; ++i) out[i * 1024 + t] = x[i];""".replace(
    "for (int i", "\n#pragma unroll\nfor (int i"
)


def test_the_registers_of_a_block_must_be_there():
    out = np.zeros(90 * 1024, np.float32)
    with pytest.raises(
        LaunchError, match=r"takes \d+ registers a thread, and with 1024 .*out of resources.*__launch"
    ):
        run(MANY_REGISTERS, out, parameters="float* out", block=1024)
    kernel = ptxsim.compile(source_of(MANY_REGISTERS, "float* out"), "k")
    assemble(kernel, (256,))  # 256 threads fit, and with launch bounds 1,024 do
    bounded = kernel.source.replace("void k(", "void __launch_bounds__(1024) k(")
    assemble(ptxsim.compile(bounded, "k"), (1024,))


REJECTED = {
    "a label twice": 'asm volatile("L: mov.u32 %0, 1; L: mov.u32 %0, 2;" : "+r"(t));',
    "an arrival without a count": 'asm volatile("bar.arrive 1;" ::: "memory");',
    "a wrong width": 'asm volatile("mov.u32 %0, %1;" : "=l"(out) : "r"(t));',
}


@pytest.mark.parametrize("body", REJECTED.values(), ids=REJECTED)
def test_what_ptxas_rejects_is_rejected(body):
    kernel = ptxsim.compile(source_of(body + "out[t] = t;", "int* out"), "k")
    with pytest.raises(CompileError, match=r"k does not compile for a H100 \(sm_90\): ptxas.*error"):
        assemble(kernel, (32,))


def test_a_check_says_so_even_if_the_numbers_are_right():
    source = kernel_source("01_mainloop", "tiled")
    marks = 'asm volatile("{ .reg .u32 x; L: mov.u32 x, 1; L: mov.u32 x, 2; }");\n'
    launch = Launch((32, 32, 32), 1024)
    wrong = source.replace("{\n", "{\n" + marks, 1)
    assert wrong != source
    with pytest.raises(CompileError, match="Duplicate definition of label"):
        Gemm(64, 64, 64).check(cp.RawKernel(wrong, "tiled", options=OPTIONS), launch)
