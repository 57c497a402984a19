"""What the first screen says to a reporter's file as it is."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.rules import ROOT

CASES = []
FILES = Path(__file__).parent / "files"
SCREEN = 14
"""Lines."""


@dataclass
class First:
    """What is `typed` behind `python -m ptxsim`, a command and a file, ends with status `code`; of each group of `wanted`
    words one stands on the first screen, and none of `unwanted`."""

    name: str
    report: str
    typed: str
    code: int
    wanted: tuple | list = ()
    unwanted: tuple | list = ()

    def told(self, messages):
        command, file, *options = self.typed.split()
        typed = [sys.executable, "-m", "ptxsim", command, str(FILES / file), *options]
        done = subprocess.run(typed, cwd=ROOT, capture_output=True, text=True, timeout=300)
        screen = "\n".join((done.stdout + done.stderr).splitlines()[:SCREEN])
        lacks = [group for group in self.wanted if not any(word in screen for word in group)]
        has = [word for word in self.unwanted if word in screen]
        messages.append(f"{' '.join(typed[3:])}\n{screen}\n  lacks {lacks}, has {has}")
        if done.returncode != self.code:
            return f"exit {done.returncode}, not {self.code}"
        return "words lack" if lacks else "misleading" if has else "found"

    def told_mended(self, messages):
        return "clean"


CASES += [
    First(
        "program with main(), given to check: says that `ptxsim run` takes it",
        "PacktPublishing/Learn-CUDA-Programming#2 (book's programs)",
        "check whole.cu",
        2,
        [("ptxsim run",), ("reduce<float",)],
    ),
    First(
        "template in a file of a PyTorch extension, no torch here",
        "pytorch extension tutorial files; karpathy/llm.c#439 (own file)",
        "check torch_ext.cu",
        2,
        [("relu_kernel<float>",)],
    ),
    First(
        "kernel of a PyTorch extension with `<=`: out of bounds, by line",
        "risc0/risc0#3803, boostorg/compute#772 (tail without a bound)",
        "check torch_plain.cu --block 256 --arg float32[200] --arg float32[200] --arg int64=200",
        1,
        [("torch_plain.cu:7",), ("out-of-bounds",)],
    ),
    First(
        "thrust and <cub/cub.cuh> included, kernel with cub::BlockReduce",
        "NVIDIA/cccl#6035, #5405",
        "check thrust.cu --block 64 --arg int32[64] --arg int32[64]",
        0,
        [("no hazard", "ptxsim run", "cub/block")],
        ["allocator_traits"],
    ),
    First(
        "the same program by `ptxsim run`",
        "NVIDIA/cccl#6035",
        "run thrust.cu",
        0,
        [("no hazard",)],
    ),
    First(
        "CuTe kernel, cutlass not installed: names the header and how to give its folder",
        "NVlabs/tiny-cuda-nn#132, NVIDIA/cutlass#529",
        "check cutlass.cu",
        2,
        [("cute/tensor.hpp", "cutlass/gemm/device/gemm.h"), ("-I",)],
    ),
    First(
        "header of one's own beside the file",
        "NVIDIA/cuda-samples#303",
        "check local.cu --arg float32[32]",
        0,
        [("no hazard",)],
    ),
    First(
        "twenty usual headers in one file",
        "NVIDIA/cuda-samples#303",
        "check heads.cu --arg float32[32] --arg float32[32]",
        0,
        [("no hazard",)],
    ),
    First(
        "a .py with a CuPy RawKernel",
        "cupy/cupy#3185 (scripts in threads)",
        "check cupy_code.py",
        2,
        [("Python",)],
        ['identifier "import"'],
    ),
    First(
        "exercise of a web site: solve() with a launch, barrier in a branch",
        "1bit-MONSTER/1bit-MONSTER#1262, Luce-Org/lucebox#225 (barrier behind a bound)",
        "check leet.cu --grid 2,2 --block 16,16 --arg float32[20,24] --arg float32[24,20] --arg int32=20 --arg int32=24",
        1,
        [("barrier-divergence",), ("leet.cu:8",)],
    ),
    First("file without a kernel", "(own)", "check nokernel.cu", 2, [("no __global__",)]),
    First("HIP file", "ROCm/rocm-systems#5707 (HIP tests)", "check hip.cpp", 2, [("hip",)]),
    First(
        "tcgen05: refused by name",
        "NVIDIA/cutlass#3316",
        "check sm100.cu --option=-arch=sm_100a --arg float32[32]",
        1,
        [("tcgen05",)],
    ),
    First(
        "unsigned i >= 0 going down",
        "(learner's loop) openucx/ucc#100-like; own",
        "check trit.cu --arg uint32[8] --arg int32=8",
        1,
        [("below 0",)],
    ),
    First(
        "float sum; never set: some word",
        "tile-ai/tilelang#2936",
        "check uninit.cu --arg float32[8] --arg float32[32] --arg int32=8",
        1,
        [("uninitialised", "before its value is set")],
    ),
    First(
        "run: cooperative launch too large",
        "cupy/cupy#8778",
        "run coop.cu",
        1,
        [("TooLarge",), ("132",)],
    ),
    First(
        "run: cudaMemcpy of 8 of 12 bytes, last word read",
        "NVIDIA/cudf#8873",
        "run mask.cu -D BYTES=8",
        1,
        [("uninitialised-read",)],
    ),
    First(
        "run: cudaMemcpy of 9 of 12 bytes, all but the first byte of the last word masked out: legal",
        "NVIDIA/cudf#8873",
        "run mask.cu -D BYTES=9",
        0,
        [("no hazard found",)],
    ),
    First(
        "directory / missing file: words of the tool's own",
        "(own)",
        "check missing.cu",
        2,
        [("missing.cu",)],
        ["Errno"],
    ),
]
