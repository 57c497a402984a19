"""Public kernels for Blackwell that their author ran on a B200, here in the simulator:
`python -m research.tcgen05_kernels FOLDER`, where FOLDER holds gau-nernst/learn-cuda at 1454f8b7.

Nothing of them is copied: their device parts are cut out of the files, compiled for sm_100a and launched on small
matrices of -1, 0 and 1, whose sums bfloat16 holds exactly. Prints a row of ptxsim/docs/tcgen05_kernels.csv for each.
"""

import csv
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import ptxsim

SEEDS = (None, 1, 2, 3)
OPTIONS = ("-arch=sm_100a", "--std=c++17")
BEFORE = """#include <cuda_bf16.h>
#include <cuda/std/cstdint>
#include <cuda/std/tuple>
using cuda::std::uint32_t; using cuda::std::uint64_t; using cuda::std::int64_t; using cuda::std::int16_t;
namespace std { using cuda::std::tuple; }
struct alignas(64) CUtensorMap { unsigned char bytes[128]; };
"""


@dataclass(frozen=True)
class Public:
    """A kernel: its file, its name, M, N, K and what a block takes of each; the innermost numbers of a box that is
    copied; its slots. `transposed`: A and B lie in memory with K as rows. `plain`: A comes by plain loads. `blocks`:
    not one for each tile. `pair`: two blocks share a tile of B. `bytes`: of shared memory beside the slots."""

    file: str
    name: str
    size: tuple[int, int, int]
    tile: tuple[int, int, int]
    inner: int = 64
    stages: int = 1
    threads: int = 128
    blocks: int = 0
    transposed: bool = False
    plain: bool = False
    pair: bool = False
    bytes: int = 0


KERNELS = (
    Public("matmul_v1.cu", "matmul_v1_kernel<128, 64, true>", (128, 256, 192), (128, 128, 64), inner=8),
    Public("matmul_v2.cu", "matmul_v2_kernel<128, 64, true>", (256, 128, 192), (128, 128, 64)),
    Public("matmul_v2.cu", "matmul_v2_kernel<256, 128, true>", (128, 256, 256), (128, 256, 128)),
    Public("matmul_v3.cu", "matmul_v3_kernel<128, 64, 2>", (128, 128, 320), (128, 128, 64), stages=2),
    Public("matmul_v4.cu", "matmul_v4_kernel<128, 64, 4>", (256, 128, 512), (128, 128, 64), stages=4),
    Public("_matmul_v4_trans.cu", "matmul_v4_trans_kernel<128, 64, 3>", (128, 128, 256), (128, 128, 64),
           stages=3, transposed=True),
    Public("_matmul_tmem.cu", "matmul_tmem_kernel<128, 128, 64>", (128, 128, 192), (128, 128, 64),
           plain=True, bytes=20),
    Public("_matmul_tmem.cu", "matmul_tmem_kernel<64, 128, 64>", (64, 128, 192), (64, 128, 64),
           plain=True, bytes=20),
    Public("matmul_v5.cu", "matmul_v5_kernel<256, 64, 2, 4, false>", (256, 256, 320), (128, 256, 64), stages=4,
           pair=True),
    Public("matmul_v6.cu", "matmul_v6_kernel<256, 64, 2, 4, false>", (256, 512, 256), (128, 256, 64), stages=4,
           pair=True, threads=192, blocks=2),
    Public("matmul_v7.cu", "matmul_v7_kernel_cutlass<256, 2, 3, false, false>", (512, 256, 192), (128, 256, 64),
           stages=3, pair=True, threads=192, blocks=2, bytes=3 * 16 + 36),
    Public("matmul_v7.cu", "matmul_v7_kernel_cutlass<256, 2, 3, true, false>", (256, 512, 256), (128, 256, 64),
           stages=3, pair=True, threads=192, blocks=2, bytes=3 * 16 + 36),
)  # fmt: skip


def source_of(folder: Path, file: str) -> str:
    """The device part of a file, behind that of its headers."""
    texts = [(folder / "02e_matmul_sm100" / name).read_text() for name in ("profiler.h", "common.h", file)]
    texts[1] = texts[1].partition("inline\nvoid check_cu")[0]
    host = re.search(r"\ntemplate <[^>]*>\nvoid \w+_launch\(", texts[2])
    assert host, f"{file} has another form than at the commit"
    texts[2] = texts[2][: host.start()]
    lines = (line for text in texts for line in text.splitlines() if not line.startswith("#include"))
    return BEFORE + "\n".join(lines)


def to_bfloat16(numbers: np.ndarray) -> np.ndarray:
    """The bits of numbers that bfloat16 holds."""
    return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def from_bfloat16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def in_columns(matrix: np.ndarray, width: int) -> np.ndarray:
    """(rows, columns) as (columns / width, rows, width), in place."""
    return matrix.reshape(len(matrix), -1, width).transpose(1, 0, 2)


def launches(folder: Path, public: Public) -> Iterator[tuple[ptxsim.Report, bool]]:
    """For each order of warps the report, and whether every number is right."""
    (m, n, k), (bm, bn, bk) = public.size, public.tile
    random = np.random.default_rng(0)
    a, b = (random.integers(-1, 2, (rows, k)).astype(np.float32) for rows in (m, n))
    kernel = ptxsim.compile(source_of(folder, public.file), public.name, OPTIONS)
    rows = (bm, bn // 2 if public.pair else bn)  # that one block brings
    brought = rows[1] if public.plain else sum(rows)
    for seed in SEEDS:
        c = np.full((m, n), 0x7FFF, np.uint16)
        first, second = (map_of(each, rows, public) for each, rows in zip((a, b), rows, strict=True))
        # its warps load 32 rows each, and use 16 of them where M is 64
        plain = np.concatenate([to_bfloat16(a), np.zeros((16, k), np.uint16)])
        profiler = (np.zeros(1, np.int64), 0) if public.pair else ()
        report = ptxsim.launch(
            kernel,
            public.blocks or m // bm * (n // bn),
            public.threads,
            (plain if public.plain else first, second, c, m, n, k, *profiler),
            shared_mem=brought * bk * 2 * public.stages + public.bytes,
            seed=seed,
        )
        yield report, np.array_equal(from_bfloat16(c), a @ b.T)


def map_of(matrix: np.ndarray, rows: int, public: Public) -> ptxsim.TensorMap:
    """By which a block brings so many rows of K numbers."""
    inner, bk = public.inner, public.tile[2]
    bits = to_bfloat16(np.ascontiguousarray(matrix.T) if public.transposed else matrix)
    box = (rows // 64, bk, 64) if public.transposed else (bk // inner, rows, inner)
    return ptxsim.TensorMap(in_columns(bits, inner), box, 128 if inner == 64 else 0)


def tell(*cells: str) -> None:
    """A row of the file."""
    csv.writer(sys.stdout, lineterminator="\n").writerow(cells)
    sys.stdout.flush()


def main(folder: Path) -> None:
    tell("kernel", "M x N x K", "right", "findings", "seconds")
    for public in KERNELS:
        started = time.process_time()
        found = list(launches(folder, public))
        kinds = {hazard.kind for report, _ in found for hazard in report.hazards}
        right = sum(right for _, right in found)
        size = " x ".join(map(str, public.size))
        seconds = time.process_time() - started
        told = ", ".join(sorted(kinds)) or "none"
        tell(f"learn-cuda's {public.name}", size, f"{right} of {len(found)}", told, f"{seconds:.1f}")
        for report, _ in found:
            for hazard in report.hazards:
                print(f"    {hazard}", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
