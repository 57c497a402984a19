"""setmaxnreg gets what the launch granted and no more (PTX ISA, "setmaxnreg"): a pool for each block."""

import numpy as np
import pytest

import ptxsim
from ptxsim import compile, launch
from ptxsim.front.occupancy import registers_at_launch

OPTIONS = ("-arch=sm_90a",)
MACROS = """
#define DEC(n) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(n))
#define INC(n) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(n))
"""
BOTH = "if (w) INC(240); else DEC(24);"
BOUNDS = "__launch_bounds__({}, 1)"


def kernel_of(body, threads, bounds=BOUNDS):
    head = f'extern "C" __global__ void {bounds.format(threads)} kernel(int* out)'
    return compile(
        f"{MACROS}{head}\n{{\nint w = threadIdx.x / 128;\n{body}\nout[threadIdx.x] = w;\n}}",
        "kernel",
        OPTIONS,
    )


def run(body, threads, bounds=BOUNDS, seed=None, grid=2):
    return launch(kernel_of(body, threads, bounds), grid, threads, (np.zeros(threads, np.int32),), seed=seed)


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize(
    ("threads", "body", "words"),
    [
        # more than was given back: 128 x 128 of the 2 x 128 x 72 that two consumers want
        (384, "if (w == 0) DEC(40);\nelse\nINC(240);", ["240 registers", "384 = 64,512", "9,216 more"]),
        (
            384,
            "if (w == 0) DEC(56);\nelse\nINC(232);",
            ["168 x 384", "6,144 are free", "ask for no more than 224"],
        ),
        (512, "if (w == 0) DEC(24);\nelse\nINC(168);", ["has 128", "5,120 more", "128 x 512 = 65,536"]),
        # nobody gives any back
        (384, "if (w)\nINC(232);", ["8,192 more, and 0 are free"]),
        (384, "INC(176);", ["1,024 more, and 0 are free"]),
        # given back too late: behind the barrier that the other warpgroup does not reach
        (512, "if (w)\nINC(136);\n__syncthreads();\nif (w == 0) DEC(104);", ["1,024 more, and 0 are free"]),
        (
            384,
            "if (w)\nINC(232);\n__syncthreads();\nif (w == 0) DEC(40);",
            ["0 are free", "Give back more there"],
        ),
    ],
)
def test_an_inc_that_can_never_be_served_is_a_deadlock(threads, body, words, seed):
    report = run(body, threads, seed=seed)
    (hazard,) = report.hazards
    assert (hazard.kind, hazard.cause) == ("deadlock", "too-few-registers"), report
    assert "INC" in report.kernel.source.splitlines()[hazard.line - 1]
    assert all(each in hazard.message for each in words), hazard.message


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize(
    ("body", "line", "words"),
    [
        ("DEC(200);", "DEC(200)", "setmaxnreg.dec to 200 registers a thread, and its warpgroup has 168"),
        ("if (w == 0)\nDEC(176);\nelse INC(232);", "DEC(176)", "168 at the launch"),
        ("DEC(40);\n__syncthreads();\nDEC(80);", "DEC(80)", "has 40 (168 at the launch)"),
        ("if (w == 0)\nINC(40);\nelse INC(232);", "INC(40)", "setmaxnreg.inc to 40 registers a thread"),
        (
            "if (w == 0) DEC(40);\nelse INC(232);\n__syncthreads();\nif (w == 1)\nINC(168);",
            "INC(168)",
            "has 232",
        ),
        ("DEC(64);\nINC(168);\nINC(160);", "INC(160)", "name 168 or more"),
    ],
)
def test_dec_to_more_and_inc_to_less_are_told(body, line, words, seed):
    report = run(body, 384, seed=seed, grid=1)
    hazard = next(each for each in report.hazards if each.cause == "wrong-way")
    assert hazard.kind == "unsupported-instruction"
    assert report.kernel.source.splitlines()[hazard.line - 1].startswith(line)
    assert words in hazard.message


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize(
    ("threads", "body"),
    [
        (384, "if (w == 0) DEC(40); else INC(232);"),  # CUTLASS, two consumers
        (384, "if (w == 0) DEC(24); else INC(240);"),
        (512, "if (w == 0) DEC(32); else INC(160);"),  # three consumers
        (256, "if (w == 0) DEC(24); else INC(240);"),
        (384, "if (w == 0) { DEC(40); return; } INC(232);"),
        (384, "if (w == 0) DEC(40); else if (w == 1) INC(296 - 64);"),
        (384, "for (int k = 0; k < 3; ++k) { DEC(40); __syncthreads(); INC(168); __syncthreads(); }"),
        (256, "INC(256);\nif (w == 0) DEC(128);\n__syncthreads();\nif (w) INC(256);"),
        (256, "if (w) INC(232);\n__syncthreads();\nif (w == 0) DEC(24);"),  # the launch gives 232
        (256, "DEC(64);\n__syncthreads();\nif (w == 0) { INC(128); DEC(64); } else { INC(128); DEC(64); }"),
    ],
)
def test_right_patterns_are_clean(threads, body, seed):
    report = run(body, threads, seed=seed)
    assert report.ok and not report.notes, report


@pytest.mark.parametrize("bounds", ["", "__launch_bounds__({})"])
def test_where_the_count_at_the_launch_is_not_fixed_setmaxnreg_does_nothing(bounds):
    body = "if (w)\nINC(232);"
    assert registers_at_launch(kernel_of(body, 384, bounds).code.program) is None
    report = run(body, 384, bounds)
    assert report.ok and len(report.notes) == 1 and "ptxas ignores setmaxnreg" in report.notes[0]


def test_maxnreg_fixes_the_count_too_and_the_launch_rounds_it_up():
    report = run("if (w)\nINC(104);", 256, "__maxnreg__(90)")
    assert "96 x 256 = 24,576" in report.hazards[0].message


@pytest.mark.parametrize(
    ("bounds", "body"),
    [
        *(
            (f"__launch_bounds__({threads}, 1)", BOTH)
            for threads in (128, 160, 256, 384, 416, 512, 640, 1024)
        ),
        ("__launch_bounds__(384, 2)", BOTH),
        ("__launch_bounds__(128, 4)", BOTH),
        ("__launch_bounds__(384, 1, 2)", BOTH),
        ("__maxnreg__(50)", BOTH),
        ("__maxnreg__(168)", BOTH),
        ("__launch_bounds__(128, 1)", "DEC(40);"),
        ("__launch_bounds__(256, 1)", "if (w) INC(128); else DEC(24);"),
        ("__launch_bounds__(384, 1)", "INC(40);"),
        ("__launch_bounds__(384, 1)", 'DEC(40); printf("%d", w);'),
    ],
)
def test_the_count_at_the_launch_is_what_ptxas_says(bounds, body):
    kernel = kernel_of(body, 128, bounds)
    found = ptxsim.resources(kernel).registers
    assert registers_at_launch(kernel.code.program) == -(-found // 8) * 8


@pytest.mark.parametrize("bounds", ["", "__launch_bounds__(384)"])
def test_ptxas_ignores_setmaxnreg_where_the_bounds_fix_no_count(bounds):
    kernel = kernel_of(BOTH, 128, bounds)
    assert registers_at_launch(kernel.code.program) is None
    assert ptxsim.resources(kernel).registers < 24
