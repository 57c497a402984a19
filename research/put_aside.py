"""Kernels that nobody looked at while the clock was built: how far is it from a GPU?

`python -m research.put_aside` models them, and writes put_aside_modelled.json; on a GPU it measures them, and
writes its file. put_aside_nvidia-h200.json was measured on 2026-11-24 and opened when the first was committed
(2026-11-26), an H100's on 2026-11-27: `python -m tools.author.clock` compares them. Three kinds: the ladder of
float32 products that everybody climbs, float16 products without what the lessons teach, and lessons' kernels with
another constant or another shape. All make C = A @ B.T in the layouts of `Gemm`.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from course_lib import HOPPER, OPTIONS, Gemm, Launch, cp, lesson_kernel
from course_lib.check.job import Job
from course_lib.measure import model
from cupy_or_sim import device, timing
from ptxsim.gpus import file_name
from tests.kernels.golden import FOLDER

ROWS = r"""
// A warp has 32 neighbouring columns of one row of C: its stores go to 32 places far apart.
extern "C" __global__ void rows(const float* A, const float* B, float* C, int M, int N, int K)
{
    int m = blockIdx.x * 32 + threadIdx.x / 32, n = blockIdx.y * 32 + threadIdx.x % 32;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[m + k * M] * B[n + k * N];
    C[m + n * M] = sum;
}
"""

TILES = r"""
constexpr int BM = @BM@, BN = @BN@, BK = @BK@, RM = @RM@, RN = @RN@, VEC = @VEC@, AHEAD = @AHEAD@;
constexpr int ACROSS = BM / RM, THREADS = ACROSS * (BN / RN);
constexpr int OF_A = BM * BK / VEC / THREADS, OF_B = BN * BK / VEC / THREADS;
struct alignas(4 * VEC) Vector { float at[VEC]; };

// Bring a k-tile into registers, VEC floats of a thread at a time.
template <int WIDTH, int COUNT> __device__ void load(Vector (&kept)[COUNT], const float* from, int stride)
{
    #pragma unroll
    for (int i = 0; i < COUNT; ++i) {
        int at = (threadIdx.x + i * THREADS) * VEC;
        kept[i] = *(const Vector*)&from[at % WIDTH + at / WIDTH * stride];
    }
}

template <int WIDTH, int COUNT> __device__ void store(float* tile, const Vector (&kept)[COUNT])
{
    #pragma unroll
    for (int i = 0; i < COUNT; ++i) *(Vector*)&tile[(threadIdx.x + i * THREADS) * VEC] = kept[i];
}

extern "C" __global__ void __launch_bounds__(THREADS)
tiles(const float* A, const float* B, float* C, int M, int N, int K)
{
    alignas(16) __shared__ float As[BK * BM], Bs[BK * BN];
    int m = threadIdx.x % ACROSS * RM, n = threadIdx.x / ACROSS * RN;
    A += blockIdx.x * BM;
    B += blockIdx.y * BN;
    float sum[RN][RM] = {};
    Vector a_next[OF_A], b_next[OF_B];
    if (AHEAD) { load<BM>(a_next, A, M); load<BN>(b_next, B, N); }
    for (int k = 0; k < K; k += BK) {
        if (!AHEAD) { load<BM>(a_next, A + k * M, M); load<BN>(b_next, B + k * N, N); }
        store<BM>(As, a_next);
        store<BN>(Bs, b_next);
        __syncthreads();
        if (AHEAD && k + BK < K) { load<BM>(a_next, A + (k + BK) * M, M); load<BN>(b_next, B + (k + BK) * N, N); }
        #pragma unroll (RM * RN > 64 ? 1 : BK)
        for (int kk = 0; kk < BK; ++kk) {
            float a[RM], b[RN];
            #pragma unroll
            for (int i = 0; i < RM; ++i) a[i] = As[kk * BM + m + i];
            #pragma unroll
            for (int j = 0; j < RN; ++j) b[j] = Bs[kk * BN + n + j];
            #pragma unroll
            for (int j = 0; j < RN; ++j)
                #pragma unroll
                for (int i = 0; i < RM; ++i) sum[j][i] += a[i] * b[j];
        }
        __syncthreads();
    }
    #pragma unroll
    for (int j = 0; j < RN; ++j)
        #pragma unroll
        for (int i = 0; i < RM; ++i) {
            float value = sum[j][i];
            for (int heavy = 0; heavy < @HEAVY@; ++heavy) value += 1e-30f * erff(value);  // C does not change
            C[blockIdx.x * BM + m + i + (blockIdx.y * BN + n + j) * M] = value;
        }
}
"""

SLICES = r"""
// Eight warps share out K of one 32 x 32 tile, and add up at the end: for few tiles and a long K.
extern "C" __global__ void __launch_bounds__(256)
slices(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float sums[32][33];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, m = lane % 8 * 4, n = lane / 8 * 8;
    for (int i = warp; i < 32; i += 8) sums[i][lane] = 0;
    __syncthreads();
    float sum[8][4] = {};
    for (int k = warp; k < K; k += 8) {
        float4 a = *(const float4*)&A[blockIdx.x * 32 + m + k * M];
        for (int half = 0; half < 2; ++half) {
            float4 b = *(const float4*)&B[blockIdx.y * 32 + n + half * 4 + k * N];
            float of_a[4] = {a.x, a.y, a.z, a.w}, of_b[4] = {b.x, b.y, b.z, b.w};
            for (int j = 0; j < 4; ++j)
                for (int i = 0; i < 4; ++i) sum[half * 4 + j][i] += of_a[i] * of_b[j];
        }
    }
    for (int j = 0; j < 8; ++j)
        for (int i = 0; i < 4; ++i) atomicAdd(&sums[n + j][m + i], sum[j][i]);
    __syncthreads();
    for (int i = warp; i < 32; i += 8) C[blockIdx.x * 32 + lane + (blockIdx.y * 32 + i) * M] = sums[i][lane];
}
"""

FRAGMENTS = r"""
#include <cuda_fp16.h>

// mma.sync whose fragments come by loads of 4 bytes from shared memory, with rows @PAD@ halves longer, no ldmatrix.
constexpr int BM = 128, BN = 128, BK = 32, ROW = BK + @PAD@;
extern "C" __global__ void __launch_bounds__(256)
fragments(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    alignas(16) __shared__ __half As[BM * ROW], Bs[BN * ROW];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = lane / 4, pair = lane % 4 * 2;
    int m = warp % 2 * 64, n = warp / 2 * 32;
    float d[4][4][4] = {};
    for (int k = 0; k < K; k += BK) {
        for (int i = threadIdx.x; i < BM * BK / 8; i += 256) {
            int at = i / 4, part = i % 4 * 8;
            *(uint4*)&As[at * ROW + part] = *(const uint4*)&A[(blockIdx.x * BM + at) * K + k + part];
            *(uint4*)&Bs[at * ROW + part] = *(const uint4*)&B[(blockIdx.y * BN + at) * K + k + part];
        }
        __syncthreads();
        for (int kk = 0; kk < BK; kk += 16) {
            unsigned a[4][4], b[4][2];
            for (int i = 0; i < 4; ++i)
                for (int part = 0; part < 4; ++part)
                    a[i][part] = *(unsigned*)&As[(m + i * 16 + row + part % 2 * 8) * ROW + kk + pair + part / 2 * 8];
            for (int j = 0; j < 4; ++j)
                for (int part = 0; part < 2; ++part)
                    b[j][part] = *(unsigned*)&Bs[(n + j * 8 + row) * ROW + kk + pair + part * 8];
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                                 : "+f"(d[i][j][0]), "+f"(d[i][j][1]), "+f"(d[i][j][2]), "+f"(d[i][j][3])
                                 : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]), "r"(b[j][0]), "r"(b[j][1]));
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            for (int part = 0; part < 4; ++part) {
                int at_m = blockIdx.x * BM + m + i * 16 + row + part / 2 * 8;
                C[at_m * N + blockIdx.y * BN + n + j * 8 + pair + part % 2] = __float2half(d[i][j][part]);
            }
}
"""


@dataclass(frozen=True)
class Point:
    """One kernel on one problem."""

    name: str
    kernel: cp.RawKernel
    gemm: Gemm
    launch: Launch


def points() -> Iterator[Point]:
    """All of them; each name once."""
    yield from _ladder()
    yield from _without_ldmatrix()
    yield from _lessons()


def _own(
    name: str, source: str, function: str, shape: tuple, launch: Launch, dtype: str = "float32"
) -> Point:
    kernel = cp.RawKernel(source, function, options=OPTIONS)
    size = "x".join(map(str, shape))
    return Point(f"{name}, {size}", kernel, Gemm(*shape, dtype), launch)


def _tiles(
    name: str, shape: tuple, tile: tuple, thread: tuple, vec: int = 4, ahead: int = 0, heavy: int = 0
) -> Point:
    words = dict(zip(("BM", "BN", "BK", "RM", "RN"), (*tile, *thread), strict=True))
    source = TILES
    for word, value in (words | {"VEC": vec, "AHEAD": ahead, "HEAVY": heavy}).items():
        source = source.replace(f"@{word}@", str(value))
    threads = tile[0] // thread[0] * (tile[1] // thread[1])
    return _own(name, source, "tiles", shape, Launch(tile, threads))


def _ladder() -> Iterator[Point]:
    cube, half = (4096,) * 3, (2048,) * 3
    yield _own("rows", ROWS, "rows", half, Launch((32, 32, 1), 1024))
    yield _tiles("1-D", cube, (64, 64, 8), (8, 1), vec=1)
    yield _tiles("2-D", cube, (128, 128, 8), (8, 8), vec=1)
    yield _tiles("2-D, 16 bytes", cube, (128, 128, 8), (8, 8))
    yield _tiles("2-D, 16 bytes", half, (128, 128, 8), (8, 8))
    yield _tiles("2-D small", half, (64, 64, 16), (4, 4))
    yield _tiles("2-D long", cube, (128, 64, 16), (8, 4))
    yield _tiles("2-D ahead", cube, (128, 128, 8), (8, 8), ahead=1)
    yield _tiles("2-D ahead, deep", cube, (128, 128, 16), (8, 8), ahead=1)
    yield _tiles("2-D ahead", (4096, 4096, 64), (128, 128, 8), (8, 8), ahead=1)
    yield _tiles("spills", half, (128, 128, 8), (16, 16))
    yield _tiles("heavy epilogue", (4096, 4096, 256), (128, 128, 8), (8, 8), ahead=1, heavy=8)
    yield _own("slices", SLICES, "slices", (256, 256, 8192), Launch((32, 32, 8), 256))
    yield _own("slices", SLICES, "slices", (8192, 32, 8192), Launch((32, 32, 8), 256))


def _without_ldmatrix() -> Iterator[Point]:
    launch = Launch((128, 128, 32), 256)
    plain, padded = (FRAGMENTS.replace("@PAD@", pad) for pad in "08")
    yield _own("fragments", plain, "fragments", (4096,) * 3, launch, "float16")
    yield _own("fragments, padded", padded, "fragments", (4096,) * 3, launch, "float16")
    yield _own("fragments, padded", padded, "fragments", (4096, 4096, 64), launch, "float16")


EDITED: tuple[tuple[str, str, dict[str, str], dict, tuple], ...] = (
    # the lesson and its kernel, changes to its text, changes to its launch, the shape
    ("01_mainloop", "tiled", {}, {}, (2048, 2048, 2048)),
    ("01_mainloop", "register_tile", {}, {}, (2048, 2048, 256)),
    ("01_mainloop", "mainloop", {}, {}, (512, 4096, 4096)),
    ("02_producer_consumer", "one_buffer", {}, {}, (1024, 4096, 1024)),
    ("02_producer_consumer", "through_registers", {}, {}, (4096, 4096, 64)),
    ("03_documented_example", "example_two_buffers", {}, {}, (1024, 1024, 4096)),
    ("03_fp32_best", "fp32_best", {"STAGES = 3": "STAGES = 4"}, {"shared_mem": 32768}, (4096, 4096, 4096)),
    ("03_fp32_best", "fp32_best", {}, {}, (1024, 1024, 1024)),
    ("04_padding", "plain_tile", {}, {}, (2048, 2048, 2048)),
    ("04_tensor_cores", "one_stage", {}, {}, (8192, 512, 4096)),
    ("05_three_stage", "ring", {"STAGES = 3": "STAGES = 2"}, {"shared_mem": 49152}, (4096, 4096, 4096)),
    (
        "05_three_stage",
        "three_stage",
        {"STAGES = 3": "STAGES = 4"},
        {"shared_mem": 98304},
        (4096, 4096, 4096),
    ),
    ("05_three_stage", "three_stage", {}, {}, (4096, 4096, 96)),
    ("05_fastest", "fastest", {}, {}, (1024, 1024, 8192)),
    ("06_parts_of_matmul", "complete", {}, {}, (8192, 256, 8192)),
    ("08_never_a_pause", "roles", {"SLOTS = 4": "SLOTS = 2"}, {"shared_mem": 98368}, (4096, 4096, 4096)),
    ("08_never_a_pause", "roles", {}, {}, (4096, 512, 4096)),
    ("08_never_a_pause", "persistent", {}, {"blocks": 66}, (4096, 4096, 4096)),
    ("08_never_a_pause", "complete", {}, {}, (8192, 8192, 256)),
)


def _lessons() -> Iterator[Point]:
    for place, name, edits, changes, shape in EDITED:
        kernel, launch = lesson_kernel(place, name)
        text = kernel.code
        for old, new in edits.items():
            if old not in text:
                raise ValueError(f"{name} of {place} has no {old!r} to change")
            text = text.replace(old, new)
        options = HOPPER if place[:2] in ("08_never_a_pause", "08") else OPTIONS
        edited = cp.RawKernel(text, name, options=options)
        words = [*edits.values(), *(f"{value} blocks" for key, value in changes.items() if key == "blocks")]
        size = "x".join(map(str, shape))
        dtype = "float16" if "__half" in text else "float32"
        yield Point(
            ", ".join((f"{place[:2]} {name}", *words, size)),
            edited,
            Gemm(*shape, dtype),
            launch.but(**changes),
        )


MODELLED = FOLDER / "put_aside_modelled.json"
REPEATS = 20


def modelled(point: Point) -> dict:
    """Microseconds by the model, and how long it took; or why it cannot follow the kernel."""
    start = time.monotonic()
    try:
        us = 1000 * model.by_machine_code(Job(point.kernel, point.gemm, point.launch)).ms
    except Exception as error:  # each of them is a result
        return {"us": None, "why": f"{type(error).__name__}: {error}"[:200]}
    return {"us": round(us, 2), "seconds": round(time.monotonic() - start, 1)}


def measured(point: Point) -> dict:
    """Microseconds on this GPU, the median and its spread; exact on whole numbers."""
    gemm = point.gemm
    gemm.check(point.kernel, point.launch)
    _, run = gemm.prepare(point.kernel, gemm.inputs, point.launch)
    p10, us, p90 = np.percentile(timing.burst(run, REPEATS), (10, 50, 90)).round(2).tolist()
    return {"us": us, "spread": [p10, p90], "mhz": timing.sm_clock_mhz(run, us)}


def main() -> None:
    gpu = device.backend() == "cupy"
    found = {}
    for point in points():
        found[point.name] = (measured if gpu else modelled)(point)
        print(point.name, found[point.name], flush=True)
    about = {"gpu": timing.name(), "date": timing.today()} if gpu else {}
    path = FOLDER / f"put_aside_{file_name(timing.name())}" if gpu else MODELLED
    path.write_text(json.dumps(about | {"kernels": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
