"""How fast the course is on this machine: `make bench`.

Without a GPU: the simulator against its targets. On a GPU also the lesson kernels against cuBLAS.
"""

import statistics
import subprocess
import sys
import time
from typing import Literal

import numpy as np

import ptxsim
from course_lib import OPTIONS, Gemm, kernel_source
from course_lib.lessons import sources
from cupy_or_sim import device
from tests.kernels.pipelined import Pipelined, gemm_fp16, gemm_fp32

LESSON, KERNEL = "01_mainloop", "register_tile"


def main() -> None:
    row("", "measured", "target", "")
    compare("import course_lib and use Gemm, s", import_seconds(), 0.5)
    compare("compile a kernel, s", compile_seconds("// no text ships for this one"), 0.3)
    compare("the same from what ships with the course, s", compile_seconds(), 0.1)
    kernel = ptxsim.compile(kernel_source(LESSON, KERNEL), KERNEL, OPTIONS)
    gemm_seconds(kernel, 64)  # decodes the PTX
    compare("GEMM 64x64x16 fp32, hazards on, 256^3, s", repeated(lambda: gemm_seconds(kernel, 256)), 0.6)
    compare("GEMM 64x64x16 fp32, hazards on, 512^3, s", repeated(lambda: gemm_seconds(kernel, 512)), 3.5)
    for pipelined, name, targets in (
        (gemm_fp32(2), "fp32, 2 stages", (1.2, 6)),
        (gemm_fp16(3), "fp16, 3 stages", (0.4, 1.5)),
    ):
        for size, target in zip((256, 512), targets, strict=True):
            what = f"GEMM {'x'.join(map(str, pipelined.tile))} {name}, {size}^3, s"
            compare(what, repeated(lambda p=pipelined, n=size: pipelined_seconds(p, n)), target)
    if device.backend() == "cupy":
        from course_lib import benchmark, lesson_kernel

        kernels = {name: lesson_kernel(LESSON, name) for name in sources.kernels(LESSON)}
        print(benchmark(Gemm(4096, 4096, 4096), kernels))


def row(*cells: str) -> None:
    print("{:<48}{:>10}{:>10}  {}".format(*cells), flush=True)


def compare(what: str, seconds: float, target: float) -> None:
    """A line with the verdict; no exit status, because a busy machine is no mistake in the code."""
    row(what, f"{seconds:.3f}", f"{target:g}", "reached" if seconds < target else "MISSED")


def repeated(measure) -> float:
    """The median of three."""
    return statistics.median(measure() for _ in range(3))


def fresh_process(code: str) -> float:
    """Run Python code in a process of its own; its last word is a number."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def import_seconds() -> float:
    code = (
        "import time; start = time.perf_counter(); from course_lib import Gemm, OPTIONS, simulate, timeline\n"
        "import sys; seconds = time.perf_counter() - start; assert 'cupy' not in sys.modules; print(seconds)"
    )
    return repeated(lambda: fresh_process(code))


def compile_seconds(more: str = "") -> float:
    """The first compilation in a process; NVRTC is loaded before, by asking for its version."""
    code = (
        "import time, ptxsim; from course_lib import OPTIONS, kernel_source\n"
        "from ptxsim.compiler import nvrtc; nvrtc.version()\n"
        f"source = kernel_source({LESSON!r}, {KERNEL!r}) + {more!r}\n"
        f"start = time.perf_counter(); ptxsim.compile(source, {KERNEL!r}, OPTIONS)\n"
        "print(time.perf_counter() - start)"
    )
    return repeated(lambda: fresh_process(code))


def gemm_seconds(kernel: ptxsim.Kernel, size: int) -> float:
    """Seconds of one simulated launch, with all hazard checks; the result must be exact."""
    gemm = Gemm(size, size, size)
    random = np.random.default_rng(0)
    A, B = (np.asfortranarray(random.integers(-4, 5, (size, size)).astype(np.float32)) for _ in "AB")
    args = (A, B, np.full((size, size), np.nan, np.float32, order="F"), *(np.int32(size),) * 3)
    launch = sources.kernel_launch(LESSON, KERNEL)
    start = time.perf_counter()
    report = ptxsim.launch(kernel, gemm.grid(launch), launch.block, args)
    seconds = time.perf_counter() - start
    if not report.ok or not np.array_equal(args[2], A @ B.T):
        raise SystemExit(f"the simulated {size}^3 GEMM is wrong:\n{report}")
    return seconds


def pipelined_seconds(kernel: Pipelined, size: int) -> float:
    """Seconds of one simulated launch of a test kernel with copies in flight; hazards, counters and clock on."""
    order: Literal["C", "F"] = "F" if kernel.dtype == "float32" else "C"
    random = np.random.default_rng(0)
    A, B = (np.asarray(random.integers(-4, 5, (size, size)), kernel.dtype, order=order) for _ in "AB")
    C = np.full((size, size), np.nan, np.float32, order=order)
    compiled = ptxsim.compile(kernel.source, kernel.kernel, OPTIONS)
    grid = (size // kernel.tile[0], size // kernel.tile[1])
    start = time.perf_counter()
    report = ptxsim.launch(
        compiled, grid, (kernel.threads,), (A, B, C, *(np.int32(size),) * 3), kernel.shared_mem
    )
    seconds = time.perf_counter() - start
    if not report.ok or not np.array_equal(C, A.astype(np.float64) @ B.T.astype(np.float64)):
        raise SystemExit(f"{kernel.name} at {size}^3 is wrong:\n{report}")
    return seconds


if __name__ == "__main__":
    main()
