"""`Gemm.check` accepts right kernels and rejects wrong ones, in words that help."""

from types import SimpleNamespace

import numpy as np
import pytest

from course_lib import OPTIONS, Gemm, Launch
from course_lib.check.verdict import CheckFailed
from cupy_or_sim import cupy_on_numpy, device, limits
from ptxsim import HazardError

PASSED = "check passed: exact for 1 to 8 k-tiles, no hazard, random data as in float64"

TILED = r"""
constexpr int TILE = 16;
extern "C" __global__ void tiled(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    int i = threadIdx.x % TILE, j = threadIdx.x / TILE;
    int m = blockIdx.x * TILE + i, n = blockIdx.y * TILE + i;
    float sum = 0.0f;
    for (int k_tile = 0; k_tile < K / TILE; ++k_tile) {
        int k = k_tile * TILE + j;
        As[j][i] = A[m + k * M];
        Bs[j][i] = B[n + k * N];
        __syncthreads();  // the tile is here
        for (int kk = 0; kk < TILE; ++kk)
            sum += As[kk][i] * Bs[kk][j];
        __syncthreads();  // the tile is used
    }
    n = blockIdx.y * TILE + j;
    C[m + n * M] = sum;
}
"""
HOW = Launch((16, 16, 16), 256)

WRONG = {
    "first barrier removed": ("__syncthreads();  // the tile is here", "", ["hazard", "read-after-write"]),
    "second barrier removed": ("__syncthreads();  // the tile is used", "", ["hazard", "write-after-read"]),
    "last k-tile skipped": (
        "k_tile < K / TILE",
        "k_tile < K / TILE - 1",
        ["no hazard", "A @ B.T without the last k-tile (k = 32 to 47)"],
    ),
    "first k-tile skipped": ("k_tile = 0", "k_tile = 1", ["without the first k-tile (k = 0 to 15)"]),
    "always the first k-tile": ("k_tile * TILE + j", "j", ["the first k-tile in the place of every k-tile"]),
    "one k-tile behind": ("k = k_tile * TILE", "k = max(k_tile - 1, 0) * TILE", ["one k-tile late"]),
    "one k-tile ahead": (
        "k = k_tile * TILE",
        "k = min(k_tile + 1, K / TILE - 1) * TILE",
        ["one k-tile ahead"],
    ),
    "last k of a tile skipped": ("kk < TILE", "kk < TILE - 1", ["without the last k of every k-tile"]),
    "first k of a tile skipped": ("kk = 0", "kk = 1", ["without the first k of every k-tile"]),
    "A transposed": (
        "A[m + k * M]",
        "A[k + m * K]",
        ["A read as if it was transposed: look at the index of A"],
    ),
    "B transposed": (
        "B[n + k * N]",
        "B[k + n * K]",
        ["B read as if it was transposed: look at the index of B"],
    ),
    "C transposed": ("C[m + n * M]", "C[n + m * N]", ["stored transposed: look at the index of C"]),
    "block row ignored": ("A[m + k * M]", "A[i + k * M]", ["look at blockIdx.x"]),
    "block column ignored": ("B[n + k * N]", "B[i + k * N]", ["look at blockIdx.y"]),
    "one tile off": ("A[m + k * M]", "A[(m + TILE) % M + k * M]", ["one tile", "along M"]),
    "index of A off by one": ("A[m + k * M]", "A[m + 1 + k * M]", ["hazard", "out-of-bounds"]),
    "shared index off by one": (
        "As[kk][i]",
        "As[kk][(i + 1) % TILE]",
        ["no hazard", "elements of C are wrong"],
    ),
    "stride of another matrix": (
        "C[m + n * M]",
        "C[m + n * N]",
        ["hazard", "out-of-bounds", "of C (float32, shape (16, 32))"],
    ),
    "some rows never written": (
        "    C[m + n * M]",
        "    if (m % 4 != 3) C[m + n * M]",
        [
            "rows 3 to 15",
            "expected",
            "got nan",
            "What was written equals A @ B.T: only the rest is missing; row 3, column 0 is the first.",
        ],
    ),
    "C read as well": ("C[m + n * M] = sum", "C[m + n * M] += sum", ["512 elements are NaN"]),
    "rounded too much": (
        "C[m + n * M] = sum",
        "C[m + n * M] = __int_as_float((__float_as_int(sum) + 0x400) & 0xfffff800)",
        ["random data", "elements of C are wrong"],
    ),
}


# Two buffers: k-tile i + 1 is copied while k-tile i is multiplied.
TWO_BUFFERS = r"""
#include <cuda_pipeline_primitives.h>
constexpr int TILE = 16;
extern "C" __global__ void tiled(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float As[2][TILE][TILE], Bs[2][TILE][TILE];
    int i = threadIdx.x % TILE, j = threadIdx.x / TILE;
    int m = blockIdx.x * TILE + i, n = blockIdx.y * TILE + i;
    int k_tiles = K / TILE;
    auto copy = [&](int k_tile) {
        if (k_tile < k_tiles) {
            int k = k_tile * TILE + j;
            __pipeline_memcpy_async(&As[k_tile % 2][j][i], &A[m + k * M], 4);
            __pipeline_memcpy_async(&Bs[k_tile % 2][j][i], &B[n + k * N], 4);
        }
        __pipeline_commit();
    };
    float sum = 0.0f;
    copy(0);
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        copy(k_tile + 1);
        __pipeline_wait_prior(1);
        __syncthreads();  // the tile is here
        for (int kk = 0; kk < TILE; ++kk)
            sum += As[k_tile % 2][kk][i] * Bs[k_tile % 2][kk][j];
        __syncthreads();  // the tile is used
    }
    C[m + (blockIdx.y * TILE + j) * M] = sum;
}
"""

WRONG_WITH_TWO_BUFFERS = {
    "no wait": ("__pipeline_wait_prior(1);", "", ["hazard", "unwaited-copy"]),
    "waits for too few": ("wait_prior(1)", "wait_prior(2)", ["hazard", "unwaited-copy"]),
    "first barrier removed": ("__syncthreads();  // the tile is here", "", ["hazard", "read-after-write"]),
    "second barrier removed": ("__syncthreads();  // the tile is used", "", ["hazard", "write-after-read"]),
    "copies past the end": ("k_tile < k_tiles)", "k_tile <= k_tiles)", ["hazard", "out-of-bounds"]),
    "first copy missing": ("    copy(0);", "    copy(1);", ["hazard", "uninitialised-read"]),
    "last k-tile skipped": (
        "k_tile < k_tiles; ++k_tile",
        "k_tile < k_tiles - 1; ++k_tile",
        ["without the last k-tile"],
    ),
    "multiplies the other buffer": (
        "sum += As[k_tile % 2]",
        "sum += As[(k_tile + 1) % 2]",
        ["hazard", "unwaited-copy"],
    ),
}


def kernel_of(source: str) -> cupy_on_numpy.RawKernel:
    return cupy_on_numpy.RawKernel(source, "tiled", options=OPTIONS)


@pytest.fixture(autouse=True)
def on_the_simulator(monkeypatch):
    """These tests hold on a GPU machine too; there is a GPU only where a test says so."""
    monkeypatch.setattr(device, "backend", lambda: "simulator")


@pytest.mark.parametrize("source", [TILED, TWO_BUFFERS])
def test_a_right_kernel_passes(source):
    assert repr(Gemm(64, 32, 48).check(kernel_of(source), HOW)) == PASSED


def test_another_seed_is_other_data_and_the_same_verdict():
    assert repr(Gemm(64, 32, 48).check(kernel_of(TILED), HOW, seed=1)) == PASSED
    for draw in (Gemm(16, 16, 16).integers, Gemm(16, 16, 16).random):
        assert all((one != other).any() for one, other in zip(draw(0), draw(1), strict=True))


@pytest.mark.parametrize(
    "source, right, wrong, words",
    [pytest.param(TILED, *case, id=name) for name, case in WRONG.items()]
    + [
        pytest.param(TWO_BUFFERS, *case, id=f"{name}, two buffers")
        for name, case in WRONG_WITH_TWO_BUFFERS.items()
    ],
)
def test_a_wrong_kernel_is_rejected_in_the_right_words(source, right, wrong, words):
    assert source.count(right) == 1
    with pytest.raises(CheckFailed) as caught:
        Gemm(64, 32, 48).check(kernel_of(source.replace(right, wrong)), HOW)
    message = str(caught.value)
    assert message.startswith("check failed with M=")
    for word in words:
        assert word in message


def test_a_notebook_shows_the_message_alone():
    assert CheckFailed("two\nlines")._render_traceback_() == ["CheckFailed: two\nlines"]
    with pytest.raises(HazardError) as caught:
        wrong = TILED.replace("A[m + k * M]", "A[m + 9 * k * M]")
        Gemm(16, 16, 16).run(kernel_of(wrong), HOW)
    (text,) = caught.value._render_traceback_()
    assert text == f"HazardError: {caught.value.report}" and "out-of-bounds" in text


def test_a_shape_that_the_tile_does_not_divide():
    for shape, words in [((40, 32, 48), "M=40"), ((64, 30, 48), "N=30"), ((64, 32, 50), "K=50")]:
        for method in (Gemm(*shape).check, Gemm(*shape).run):
            with pytest.raises(ValueError, match=f"{words} does not fit tile .* = 16, 32, 48, "):
                method(kernel_of(TILED), HOW)


def test_shapes_and_dtypes_that_do_not_exist():
    for arguments in [(0, 16, 16), (16, -16, 16), (16, 16, 16, "int8")]:
        with pytest.raises(ValueError, match="sizes start at 1, dtype is float32 or float16"):
            Gemm(*arguments)


@pytest.mark.parametrize(
    ("shape", "matrix"), [((65536, 65536, 64), "C"), ((65536, 64, 65536), "A"), ((64, 65536, 65536), "B")]
)
def test_a_matrix_that_32_bits_cannot_count_is_refused(shape, matrix):
    with pytest.raises(
        ValueError, match=f"{matrix} has 65536 x 65536 = 4,294,967,296 elements.*2,147,483,648"
    ):
        Gemm(*shape, "float16")
    Gemm(32768, 65536, 64, "float16")  # 2**31 of them: the last has an index that fits


def test_launch_returns_c_in_column_major_order():
    gemm = Gemm(32, 48, 16)
    C = gemm.run(kernel_of(TILED), HOW)
    A, B = gemm.inputs
    assert A.flags.f_contiguous and B.flags.f_contiguous and C.flags.f_contiguous
    assert C.shape == (32, 48) and C.dtype == np.float32
    np.testing.assert_allclose(C, A @ B.T, rtol=1e-4, atol=1e-4)


def test_a_launch_that_the_simulator_would_not_finish_is_refused():
    with pytest.raises(ValueError, match="takes minutes in the simulator"):
        Gemm(4096, 4096, 4096).run(kernel_of(TILED), HOW)


HALF = r"""
    #include <cuda_fp16.h>
    extern "C" __global__ void naive(const half* A, const half* B, half* C, int M, int N, int K)
    {
        int m = blockIdx.x * 16 + threadIdx.x, n = blockIdx.y * 16 + threadIdx.y;
        float sum = 0.0f;
        for (int k = 0; k < K; ++k)
            sum += __half2float(A[m * K + k]) * __half2float(B[n * K + k]);
        C[m * N + n] = __float2half(sum);
    }
"""


def test_float16_is_row_major():
    gemm = Gemm(16, 32, 48, "float16")
    assert gemm.layout == "TN" and repr(gemm) == "Gemm(M=16, N=32, K=48, float16, TN)"
    kernel = cupy_on_numpy.RawKernel(HALF, "naive", options=OPTIONS)
    assert repr(gemm.check(kernel, Launch((16, 16, 16), (16, 16)))) == PASSED


def test_sums_in_float16_are_wrong():
    source = HALF.replace("float sum = 0.0f", "half sum = 0.0f").replace(
        "__half2float(A[m * K + k]) * __half2float(B[n * K + k])", "A[m * K + k] * B[n * K + k]"
    )
    kernel = cupy_on_numpy.RawKernel(source.replace("__float2half(sum)", "sum"), "naive", options=OPTIONS)
    with pytest.raises(CheckFailed, match="no hazard, wrong numbers"):
        Gemm(16, 32, 48, "float16").check(kernel, Launch((16, 16, 16), (16, 16)))


@pytest.mark.parametrize("k_tiles", range(1, 9))
def test_a_kernel_may_be_wrong_for_one_number_of_k_tiles(k_tiles):
    end = f"C[m + n * M] = K == {k_tiles} * TILE ? 0.5f : sum;"
    kernel = kernel_of(TILED.replace("C[m + n * M] = sum;", end))
    with pytest.raises(CheckFailed, match=rf"\(k-tiles: {k_tiles}\): no hazard, wrong numbers"):
        Gemm(64, 32, 48).check(kernel, HOW)


def test_dynamic_shared_memory_is_asked_for():
    source = TILED.replace(
        "__shared__ float As[TILE][TILE], Bs[TILE][TILE];", "extern __shared__ float s[][TILE];"
    )
    source = source.replace("    int i =", "    auto As = s, Bs = s + TILE;\n    int i =")
    kernel = kernel_of(source)
    assert repr(Gemm(16, 16, 16).check(kernel, HOW.but(shared_mem=60000))) == PASSED
    assert kernel.max_dynamic_shared_size_bytes == 60000


@pytest.mark.parametrize(
    ("whole", "error", "words", "launches"),
    [(False, np.nan, "random data", 2), (True, 1, "whole numbers", 3)],
)
def test_on_a_gpu_the_whole_problem_is_checked_last(monkeypatch, whole, error, words, launches):
    """The simulated shapes are right; on the "GPU", which is played by NumPy, the large problem is not."""
    shapes = []

    class Kernel(cupy_on_numpy.RawKernel):
        def __call__(self, grid, block, args, shared_mem=0):
            A, B, C = args[:3]
            shapes.append(C.shape)
            C[:] = A @ B.T
            if C.shape == (64, 32) and (np.rint(A) == A).all() == whole:
                C[5, 7] += error

    monkeypatch.setattr(device, "backend", lambda: "cupy")
    monkeypatch.setattr(device, "cp", cupy_on_numpy, raising=False)
    monkeypatch.setattr(limits, "misfit", lambda kernel, launch: "")
    with pytest.raises(
        CheckFailed, match=rf"(?s)with M=64, N=32, K=48 \(k-tiles: 3\): {words}\n1 of 2048 .* row 5, column 7"
    ):
        Gemm(64, 32, 48).check(Kernel(TILED, "tiled", OPTIONS), HOW)
    assert shapes == [(16, 32), *[(64, 32)] * (launches - 1)]


def test_the_report_is_read_before_the_numbers(monkeypatch):
    """A hazard with right numbers fails, and nothing after it runs."""
    report = SimpleNamespace(ok=False, stopped=False, hazards=(), __str__=lambda self: "the report")

    def simulate(kernel, grid, block, args, shared_mem, max_steps, seed):
        A, B, C = args[:3]
        C[:] = A @ B.T
        return report

    monkeypatch.setattr("course_lib.check.problem.simulate", simulate)
    with pytest.raises(
        CheckFailed, match=r"hazard\n.*\nThe numbers are right this time\. On a GPU they may not be"
    ):
        Gemm(64, 32, 48).check(kernel_of(TILED), HOW)


def test_one_block_says_numbers_and_hazards(capsys):
    def look(source):
        report = Gemm(64, 64, 64).one_block(kernel_of(source), HOW)
        return capsys.readouterr().out, report

    assert look(TILED)[0] == "numbers right: True\nhazards: no hazard\n"
    printed, report = look(TILED.replace("__syncthreads();  // the tile is used", ""))
    assert printed.endswith("hazards: write-after-read\n") and not report.ok
    printed, report = look(TILED.replace("k_tile = 0", "k_tile = 1"))
    assert printed == "numbers right: False\nhazards: no hazard\n" and report.ok
    assert report.grid == (1, 1, 1) and report.counters.total.barriers == 8 * 2 * 4


@pytest.mark.parametrize("k_tiles", [4, 6, 7])
def test_one_block_finds_what_one_number_of_k_tiles_shows(capsys, k_tiles):
    source = TILED.replace(
        "__syncthreads();  // the tile is used", f"if (K / TILE != {k_tiles}) __syncthreads();"
    )
    kernel = kernel_of(source)
    assert not Gemm(64, 64, 64).one_block(kernel, HOW).ok
    words = f"right with 5 k-tiles, and with {k_tiles}:\nnumbers right: "
    assert words in capsys.readouterr().out
    assert Gemm(64, 64, 64).one_block(kernel, HOW, k_tiles=5).ok  # the learner's own number, and no other
    skips = TILED.replace("k_tile = 0", f"k_tile = K / TILE == {k_tiles}")
    assert Gemm(64, 64, 64).one_block(kernel_of(skips), HOW).ok
    assert f"with {k_tiles}:\nnumbers right: False\nhazards: no hazard\n" in capsys.readouterr().out


def test_zeros_are_another_problem_that_says_so():
    gemm = Gemm(32, 32, 32, zeros=True)
    assert repr(gemm) == "Gemm(M=32, N=32, K=32, float32, NT, zeros)"
    assert gemm.title == "C = A @ B.T, 32 x 32 x 32 float32, zeros"
    assert not any(matrix.any() for matrix in gemm.inputs) and Gemm(32, 32, 32).inputs[0].all()
    assert gemm.check(kernel_of(TILED), HOW) == PASSED


BY_TICKET = """
extern "C" __global__ void tiled(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ int tickets;
    if (threadIdx.x == 0) tickets = 0;
    __syncthreads();
    int i = threadIdx.x % TILE, j = threadIdx.x / TILE, ticket = atomicAdd(&tickets, 1);
    int m = blockIdx.x * TILE + i, n = blockIdx.y * TILE + j;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[m + k * M] * B[n + k * N];
    C[m + n * M] = WRONG ? 0.5f : sum;
}
"""


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("false", True), ("ticket == 0 && threadIdx.x > 31", False), ("threadIdx.x == 0 && ticket > 31", False)],
)
def test_the_check_runs_other_orders_where_they_matter(wrong, right):
    source = BY_TICKET.replace("TILE", "16").replace("WRONG", wrong)
    kernel = kernel_of(source)
    if right:
        assert Gemm(64, 64, 64).check(kernel, HOW)
        return
    with pytest.raises(CheckFailed, match="in another order of the warps, no hazard, wrong numbers"):
        Gemm(64, 64, 64).check(kernel, HOW)


PERSISTENT = TILED.replace(
    "    int m = blockIdx.x * TILE + i, n = blockIdx.y * TILE + i;",
    """    int tiles_m = M / TILE, tile = blockIdx.x;
    for (; tile < tiles_m * (N / TILE); tile += gridDim.x) {
    int m = tile % tiles_m * TILE + i, n = tile / tiles_m * TILE + i;""",
).replace(
    "    n = blockIdx.y * TILE + j;\n    C[m + n * M] = sum;",
    "    n += j - i;\n    C[m + n * M] = sum;\n    }",
)


def test_blocks_that_find_no_tile_are_checked_too():
    launch = HOW.but(blocks=132)
    assert Gemm(64, 64, 64).check(kernel_of(PERSISTENT), launch) == PASSED
    clears = PERSISTENT.replace("tile = blockIdx.x;", "tile = blockIdx.x; if (tile == 9) C[0] = 0;")
    with pytest.raises(HazardError, match="block-conflict"):
        Gemm(64, 64, 64).check(kernel_of(clears), launch)
