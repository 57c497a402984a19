"""tcgen05.cp, and loads and stores of the shape 16x32bx2. No B200 was at hand: what a GPU does is as docs/tcgen05.md
says."""

import numpy as np
import pytest

from ptxsim import compile, launch
from tests.kernels.blackwell import OPTIONS, PAIRS
from tests.ptxsim.units.test_tensor_memory import (
    COLUMNS,
    END,
    RESULT,
    SEEDS,
    TILES,
    in_chunks,
    kernel,
    multiply,
    numbers,
)

LANES = {  # shape: the rows that lie in each of a block's four quarters of 32 lanes
    "128x256b": [range(32), range(32, 64), range(64, 96), range(96, 128)],
    "128x128b": [range(32), range(32, 64), range(64, 96), range(96, 128)],
    "4x256b": [range(1), range(1, 2), range(2, 3), range(3, 4)],
    "64x128b.warpx2::02_13": [range(32), range(32, 64), range(32), range(32, 64)],
    "64x128b.warpx2::01_23": [range(32), range(32), range(32, 64), range(32, 64)],
    "32x128b.warpx4": [range(32), range(32), range(32), range(32)],
}
COPIED = """
    __shared__ alignas(1024) unsigned tile[128 * 32];
    for (unsigned i = t; i < 128 * 32; i += 128) tile[i] = in[i];
    FENCE_ASYNC;
    __syncthreads();
    if (t == 0) {
        CP("SHAPE", at, DESCRIPTOR);
        COMMIT(&done);
    }
    WAIT(&done, 0);
    for (unsigned n = 0; n < WORDS; n += 4) {
        unsigned v[4];
        LD(v, mine + n);
        WAIT_LD;
        for (unsigned i = 0; i < 4; i++) out[t * 8 + n + i] = v[i];
    }
"""
SWIZZLED = "(u64)((AT(tile) & 0x3FFFF) >> 4) | (u64)(1024 >> 4) << 32 | 1ull << 46 | 2ull << 61"


def plain(rows: np.ndarray) -> np.ndarray:
    """(128, 8) words as PLAIN tells of it."""
    return rows.reshape(128, 2, 4).transpose(1, 0, 2).ravel()


def swizzled(rows: np.ndarray) -> np.ndarray:
    """(128, 8) words, in rows of 128 bytes whose chunks of 16 bytes the swizzle moves."""
    tile = np.zeros((128, 8, 4), np.uint32)
    for row in range(128):
        for chunk in range(2):
            tile[row, chunk ^ row % 8] = rows[row, 4 * chunk : 4 * chunk + 4]
    return tile.ravel()


@pytest.mark.parametrize("layout", [plain, swizzled])
@pytest.mark.parametrize("shape", LANES)
def test_rows_come_to_their_lanes(shape, layout):
    words, told = 8 if "256b" in shape else 4, "PLAIN(tile, 128)" if layout is plain else SWIZZLED
    body = COPIED.replace("SHAPE", shape).replace("WORDS", str(words)).replace("DESCRIPTOR", told)
    rows, out = np.arange(1, 1025, dtype=np.uint32).reshape(128, 8), np.zeros((128, 8), np.uint32)
    data = np.zeros(128 * 32, np.uint32)
    data[: layout(rows).size] = layout(rows)
    report = launch(kernel(f"{COLUMNS}{body}{END}", "unsigned* out, const unsigned* in"), 1, 128, (out, data))
    assert report.ok, str(report)
    for quarter, of in enumerate(LANES[shape]):
        assert np.array_equal(out[32 * quarter : 32 * quarter + len(of), :words], rows[list(of), :words])


def test_each_block_of_a_pair_copies_its_own():
    begin = """
        unsigned t = threadIdx.x, w = t / 32, rank = blockIdx.x;
        __shared__ unsigned at;
        __shared__ u64 done;
        __shared__ alignas(1024) unsigned tile[128 * 8];
        for (unsigned i = t; i < 128 * 8; i += 128) tile[i] = in[rank * 128 * 8 + i];
        FENCE_ASYNC;
        if (t == 0) { INIT(&done, 1); INIT_FENCE; }
        CLUSTER_SYNC;
        if (w == 0) ALLOC(&at, 32);
        CLUSTER_SYNC;
        if (rank == 0 && t == 0) { CP("128x128b", at, PLAIN(tile, 128)); COMMIT_TO(&done, 3); }
        WAIT(&done, 0);
        unsigned v[4];
        LD(v, at + (w * 32 << 16));
        WAIT_LD;
        for (unsigned i = 0; i < 4; i++) out[(rank * 128 + t) * 4 + i] = v[i];
        __syncthreads();
        if (w == 0) FREE(at, 32);
        CLUSTER_SYNC;
    """
    head = 'extern "C" __global__ void __cluster_dims__(2) k(unsigned* out, const unsigned* in)'
    source = f"{PAIRS}{head}\n{{{begin}}}\n"
    rows, out = np.arange(2048, dtype=np.uint32).reshape(2, 128, 8), np.zeros((2, 128, 4), np.uint32)
    report = launch(compile(source, "k", OPTIONS), 2, 128, (out, np.stack([plain(each) for each in rows])))
    assert report.ok and np.array_equal(out, rows[:, :, :4]), str(report)


PRODUCT = """
    if (t == 0) {
        CP("128x256b", at + 32, PLAIN(A, 128));
        MMA_T(at, at + 32, PLAIN(B, 32), WHAT(128, 32), 0);
        COMMIT(&done);
    }
"""
HALF = RESULT.replace("n < 64", "n < 32")


@SEEDS
def test_a_product_waits_for_the_copy_of_its_thread(seed):
    a, b = numbers(128, 16), numbers(32, 16, 1)
    out = np.full((128, 64), np.nan, np.float32)
    tiles = np.concatenate([in_chunks(a), in_chunks(b), np.zeros(32 * 16, np.float16)])
    report = launch(
        kernel(f"{COLUMNS}{TILES}{PRODUCT} WAIT(&done, 0);{HALF}{END}"), 1, 128, (out, tiles), seed=seed
    )
    assert report.ok and np.array_equal(out[:, :32], a.astype(np.float32) @ b.T.astype(np.float32)), str(
        report
    )


AGAIN = 'CP("128x128b", at, PLAIN(A, 128)); COMMIT'
COPY = 'if (t == 0) { CP("128x256b", at, PLAIN(A, 128)); COMMIT(&done); }'
READ = "unsigned v[4]; LD(v, mine); WAIT_LD; out[t] = __uint_as_float(v[0]);"
WRONG = {
    "nobody waits for the copy": (f"{COPY} __syncthreads(); {READ}", "LD(v", "product-not-awaited"),
    "no fence for what threads wrote": (f"{COPY} WAIT(&done, 0); {READ}", "CP(", "missing-proxy-fence"),
    "its source is written meanwhile": (
        f"{COPY} __syncthreads(); A[t] = in[0]; WAIT(&done, 0); {READ}",
        "A[t] = in[0]",
        "mma-still-reads",
    ),
    "a second copy does not wait for the first": (
        f"{COPY.replace('COMMIT', AGAIN)} WAIT(&done, 0); {READ}",
        "CP(",
        "product-not-awaited",
    ),
    "it overwrites what a product still reads": (
        f"{PRODUCT.replace('COMMIT', AGAIN.replace('at,', 'at + 32,'))} WAIT(&done, 0); {READ}",
        "CP(",
        "tensor-memory-read",
    ),
    "a column that nobody has": (
        f"{COPY.replace('at,', 'at + 60,')} WAIT(&done, 0);",
        "CP(",
        "columns-not-held",
    ),
    "a lane in the middle": (f"{COPY.replace('at,', 'at + (8 << 16),')} WAIT(&done, 0);", "CP(", "bad-lane"),
}


@SEEDS
@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_found_where_it_is(name, seed):
    body, line, cause = WRONG[name]
    tiles = TILES.replace("FENCE_ASYNC;", "") if cause == "missing-proxy-fence" else TILES
    report, _ = multiply(f"{COLUMNS}{tiles}{body}{END}".replace("; ", ";\n").replace("{ CP", "{\nCP"), seed)
    source = report.kernel.source.splitlines()
    assert any(each.cause == cause and line in source[each.line - 1] for each in report.hazards), str(report)


def test_a_copy_that_decompresses_is_refused_by_name():
    body = COPY.replace("128x256b", "128x256b.b8x16.b6x16_p32")
    report, _ = multiply(f"{COLUMNS}{TILES}{body} WAIT(&done, 0);{END}")
    assert [each.kind for each in report.hazards] == ["unsupported-instruction"]
    assert "128x256b.b8x16.b6x16_p32" in report.hazards[0].message


@pytest.mark.parametrize("apart", [4, 32])
def test_the_two_halves_of_16x32bx2(apart):
    """The lower 16 threads of a warp have lanes 0 to 15 from the first column on, the upper ones those lanes so many
    columns further."""
    body = f"""{COLUMNS}
        unsigned v[4] = {{4 * t, 4 * t + 1, 4 * t + 2, 4 * t + 3}};
        asm volatile("tcgen05.st.sync.aligned.16x32bx2.x4.b32 [%0], {apart}, {{%1, %2, %3, %4}};"
            :: "r"(mine), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");
        WAIT_ST;
        for (unsigned half = 0; half < 2; half++) {{
            LD(v, mine + half * {apart});
            WAIT_LD;
            for (unsigned i = 0; i < 4; i++) out[half * 512 + 4 * t + i] = v[i];
        }}
        asm volatile("tcgen05.ld.sync.aligned.16x32bx2.x4.b32 {{%0, %1, %2, %3}}, [%4], {apart};"
            : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(mine));
        WAIT_LD;
        for (unsigned i = 0; i < 4; i++) out[1024 + 4 * t + i] = v[i];
        {END}"""
    out = np.zeros((3, 4, 32, 4), np.uint32)
    report = launch(kernel(body, "unsigned* out"), 1, 128, (out,))
    assert report.ok, str(report)
    stored = np.arange(512).reshape(4, 32, 4)
    assert np.array_equal(out[0, :, :16], stored[:, :16]) and np.array_equal(out[1, :, :16], stored[:, 16:])
    assert np.array_equal(out[2], stored)
