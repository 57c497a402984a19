"""Libraries' kernels for Blackwell in the simulator: `python -m research.tcgen05_libraries FOLDER`, where FOLDER holds
DeepGEMM (deepseek-ai) at 54e22612 and cutlass (NVIDIA) at 7107b055.

DeepGEMM's header is compiled as it stands, with two of CUDA's functions that NVRTC has not; CUTLASS's tutorials are
whole programs, and compare with a product of the host themselves. Prints a row of
ptxsim/docs/tcgen05_kernels.csv for each.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import ptxsim
from ptxsim.program import run
from research.tcgen05_kernels import SEEDS, from_bfloat16, tell, to_bfloat16

BEFORE = """
__device__ inline void cudaGridDependencySynchronize() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ inline void cudaTriggerProgrammaticLaunchCompletion()
{ asm volatile("griddepcontrol.launch_dependents;"); }
#include <deep_gemm/impls/sm100_bf16_gemm.cuh>
"""
UTILITY = "#pragma once\n#include <cuda/std/utility>\nnamespace std { using namespace cuda::std; }\n"
"""What DeepGEMM takes from a header of the host."""
SHARED = 220 << 10
PROGRAMS = {
    "01_mma_sm100": ("128", "256", "64"),
    "02_mma_tma_sm100": ("128", "256", "64"),
    "03_mma_tma_multicast_sm100": ("512", "1024", "64"),
    "04_mma_tma_2sm_sm100": ("512", "1024", "64"),
    "05_mma_tma_epi_sm100": ("512", "1024", "64"),
}
"""Of examples/cute/tutorial/blackwell, with the smallest M, N, K that fill a cluster."""


@dataclass(frozen=True)
class Form:
    """Of sm100_bf16_gemm: where A and B are contiguous, and the type of C."""

    major: str
    sums: str

    @property
    def name(self) -> str:
        major = f"cute::UMMA::Major::{self.major}"
        numbers = "0, 0, 0, 128, 128, 64, 1, 128, 128, 128, 4, 128, 128, 1, false, 4, 64, false, false"
        return (
            f"deep_gemm::sm100_bf16_gemm_impl<{major}, {major}, {numbers}, deep_gemm::GemmType::Normal, false, "
            f"{self.sums}, 100>"
        )


FORMS = (Form("K", "cutlass::bfloat16_t"), Form("MN", "float"))


def deep_gemm(folder: Path, form: Form) -> Iterator[tuple[ptxsim.Report, bool]]:
    """256 x 256 x 192 in four orders of warps: the report, and whether every number is right."""
    m, n, k = 256, 256, 192
    random = np.random.default_rng(0)
    a, b = (random.integers(-1, 2, (rows, k)).astype(np.float32) for rows in (m, n))
    with tempfile.TemporaryDirectory() as stubs:
        Path(stubs, "utility").write_text(UTILITY, encoding="utf-8")
        folders = (stubs, folder / "DeepGEMM/deep_gemm/include", folder / "cutlass/include")
        kernel = ptxsim.compile(
            BEFORE,
            form.name,
            ("-arch=sm_100a", "--std=c++20", "--device-int128", "-default-device", "-w",
             *(f"-I{each}" for each in folders)),
        )  # fmt: skip
    along_k = form.major == "K"
    maps = [
        ptxsim.TensorMap(to_bfloat16(each), (128, 64), 128)
        if along_k
        else ptxsim.TensorMap(to_bfloat16(np.ascontiguousarray(each.T)), (64, 64), 128)
        for each in (a, b)
    ]
    for seed in SEEDS:
        c = np.full((m, n), 0x7FFF, np.uint16) if along_k else np.full((m, n), np.nan, np.float32)
        to = ptxsim.TensorMap(c, (128, 64 if along_k else 32), 128)
        arguments = (np.zeros(4, np.int32), m, n, k, *maps, to)
        report = ptxsim.launch(kernel, 4, 256, arguments, shared_mem=SHARED, seed=seed)
        yield report, np.array_equal(from_bfloat16(c) if along_k else c, a @ b.T)


def main(folder: Path) -> None:
    for form in FORMS:
        started = time.process_time()
        found = list(deep_gemm(folder, form))
        kinds = sorted({hazard.kind for report, _ in found for hazard in report.hazards})
        right, seconds = sum(right for _, right in found), time.process_time() - started
        name = f"DeepGEMM's sm100_bf16_gemm, {form.major}-major, {form.sums.rpartition(':')[2]}"
        told = ", ".join(kinds) or "none"
        tell(name, "256 x 256 x 192", f"{right} of {len(found)}", told, f"{seconds:.1f}")
    tutorials = folder / "cutlass/examples/cute/tutorial/blackwell"
    cutlass = folder / "cutlass"
    include = [cutlass / "include", cutlass.joinpath("tools", "util", "include"), cutlass / "examples/common"]
    for name, size in PROGRAMS.items():
        started = time.monotonic()
        report = run(
            tutorials / f"{name}.cu",
            args=size,
            options=[*(f"-I{each}" for each in (*include, tutorials)), "--expt-relaxed-constexpr"],
            arch="100a",
        )
        kinds = sorted({each.hazard.kind for each in report.hazards})
        right = "yes" if not report.stopped and not report.returned else "no"
        took = f"{time.monotonic() - started:.0f} by the clock"
        tell(f"CUTLASS's {name}", " x ".join(size), right, ", ".join(kinds) or "none", took)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
