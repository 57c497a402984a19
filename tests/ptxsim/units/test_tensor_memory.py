"""Tensor memory and tcgen05. No B200 was at hand: what a GPU does is as docs/tcgen05.md says."""

import re

import numpy as np
import pytest

from ptxsim import TensorMap, compile, launch
from tests.kernels.blackwell import MACROS, OPTIONS
from tests.sample import one_in

COLUMNS = """
    unsigned t = threadIdx.x, w = t / 32;
    __shared__ unsigned at;
    __shared__ u64 done;
    if (w == 0) ALLOC(&at, 64);
    if (t == 0) { INIT(&done, 1); INIT_FENCE; }
    __syncthreads();
    unsigned mine = at + (w * 32 << 16);
"""
TILES = """
    __shared__ alignas(1024) __half A[128 * 16], B[64 * 16];
    for (unsigned i = t; i < 128 * 16; i += 128) A[i] = in[i];
    for (unsigned i = t; i < 64 * 16; i += 128) B[i] = in[128 * 16 + i];
    FENCE_ASYNC;
    __syncthreads();
"""
PRODUCT = "if (t == 0) { MMA(at, PLAIN(A, 128), PLAIN(B, 64), WHAT(128, 64), 0); COMMIT(&done); }"
RESULT = """
    for (unsigned n = 0; n < 64; n += 4) {
        unsigned v[4];
        LD(v, mine + n);
        WAIT_LD;
        for (unsigned i = 0; i < 4; i++) out[t * 64 + n + i] = __uint_as_float(v[i]);
    }
"""
END = "__syncthreads(); if (w == 0) FREE(at, 64);"
SEEDS = pytest.mark.parametrize("seed", one_in(2, [None, 1, 2, 3]))


def kernel(body: str, parameters: str = "float* out, const __half* in"):
    return compile(f'{MACROS}\nextern "C" __global__ void k({parameters})\n{{{body}}}\n', "k", OPTIONS)


def in_chunks(matrix: np.ndarray) -> np.ndarray:
    """(rows, 16) as PLAIN tells of it."""
    return matrix.reshape(len(matrix), 2, 8).transpose(1, 0, 2).ravel()


def numbers(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-8, 9, (rows, columns)).astype(np.float16)


def multiply(body: str, seed: int | None = None):
    """The report of a kernel of 128 threads, and whether `out` holds the product."""
    a, b = numbers(128, 16), numbers(64, 16, 1)
    out = np.full((128, 64), np.nan, np.float32)
    report = launch(kernel(body), 1, 128, (out, np.concatenate([in_chunks(a), in_chunks(b)])), seed=seed)
    return report, np.array_equal(out, a.astype(np.float32) @ b.T.astype(np.float32))


@SEEDS
def test_a_product_comes_out_of_tensor_memory(seed):
    report, right = multiply(f"{COLUMNS}{TILES}{PRODUCT} WAIT(&done, 0);{RESULT}{END}", seed)
    assert report.ok and right, str(report)


@SEEDS
def test_products_of_one_thread_add_up_in_order(seed):
    twice = PRODUCT.replace(
        "COMMIT", "MMA(at, PLAIN(A, 128), PLAIN(B, 64), WHAT(128, 64) | 1u << 13, 1);" * 2 + "COMMIT"
    )
    report, right = multiply(f"{COLUMNS}{TILES}{twice} WAIT(&done, 0);{RESULT}{END}", seed)
    assert report.ok and not right, "A B - A B - A B, by the bit that negates A"


@SEEDS
def test_the_warp_that_asks_reads_the_address_at_once(seed):
    body = """
        __shared__ unsigned at;
        if (threadIdx.x < 32) { ALLOC(&at, 64); out[threadIdx.x] = at; FREE(at, 64); }
    """
    report, _ = multiply(body, seed)
    assert report.ok, str(report)


ARRIVES = """
    __shared__ u64 read;
    if (t == 0) { INIT(&read, 4); INIT_FENCE; }
    __syncthreads();
"""
ONE_FOR_ALL = f"""{COLUMNS}{ARRIVES}{TILES}{PRODUCT}
    WAIT(&done, 0);
    {RESULT}
    if (t % 32 == 0) ARRIVE(&read);
    if (t == 32) {{
        WAIT(&read, 0);
        MMA(at, PLAIN(A, 128), PLAIN(B, 64), WHAT(128, 64), 0);
        COMMIT(&done);
    }}
    WAIT(&done, 1);
    {RESULT}{END}"""
"""One lane of each warp tells that the warp has loaded."""


@SEEDS
def test_a_lane_behind_the_wait_speaks_for_its_warp(seed):
    report, right = multiply(ONE_FOR_ALL, seed)
    assert report.ok and right, str(report)


@SEEDS
def test_a_warp_of_which_no_lane_speaks_is_found(seed):
    body = ONE_FOR_ALL.replace("INIT(&read, 4)", "INIT(&read, 3)").replace(
        "t % 32 == 0)", "t % 32 == 0 && t != 96)"
    )
    report, _ = multiply(body, seed)
    assert any(
        hazard.kind == "write-after-read"
        and hazard.cause in ("no-order-in-tensor-memory", "tensor-memory-read")
        for hazard in report.hazards
    ), str(report)


@SEEDS
def test_what_a_warp_has_stored_one_lane_of_it_may_multiply(seed):
    """Behind tcgen05.wait::st, with no __syncwarp."""
    body = f"""{COLUMNS}{TILES}
        unsigned v[4] = {{0, 0, 0, 0}};
        if (w == 0)
            for (unsigned n = 0; n < 64; n += 4) ST(mine + n, v);
        if (w == 0) WAIT_ST;
        if (t == 0) {{ MMA(at, PLAIN(A, 128), PLAIN(B, 64), WHAT(128, 64), 0); COMMIT(&done); }}
        WAIT(&done, 0);{RESULT}{END}"""
    report, right = multiply(body, seed)
    assert report.ok and right, str(report)


def test_a_commit_in_a_phase_that_lacks_bytes_alone_is_none_of_its_arrivals():
    report, _ = multiply(
        f"{COLUMNS}{TILES} if (t == 0) EXPECT(&done, 16); {PRODUCT} WAIT(&done, 0);{RESULT}{END}"
    )
    assert report.brief() == "deadlock" and "lacks 0 of 1 arrivals" in str(report)


WRONG = {
    "nobody waits for the product": (
        f"{COLUMNS}{TILES}{PRODUCT} __syncthreads();{RESULT}{END}",
        "LD(v",
        "unwaited-tcgen05",
        "product-not-awaited",
    ),
    "one warp waits": (
        f"{COLUMNS}{TILES}{PRODUCT} if (w == 0) WAIT(&done, 0);{RESULT}{END}",
        "LD(v",
        "unwaited-tcgen05|read-after-write",
        "product-not-awaited|no-order-in-tensor-memory",
    ),
    "no fence for what threads wrote": (
        f"{COLUMNS}{TILES.replace('FENCE_ASYNC;', '')}{PRODUCT} WAIT(&done, 0);{RESULT}{END}",
        "MMA(",
        "missing-proxy-fence",
        "missing-proxy-fence",
    ),
    "A is written while the product reads": (
        f"{COLUMNS}{TILES}{PRODUCT} __syncthreads(); A[t] = in[0]; WAIT(&done, 0);{RESULT}{END}",
        "A[t] = in[0]",
        "write-after-read",
        "mma-still-reads",
    ),
    "a second thread's product comes too early": (
        f"{COLUMNS}{TILES}{PRODUCT} __syncthreads(); if (t == 32) MMA(at, PLAIN(A, 128), PLAIN(B, 64), "
        f"WHAT(128, 64), 0); WAIT(&done, 0);{RESULT}{END}",
        "MMA(",
        "unwaited-tcgen05|write-after-write",
        "product-not-awaited|no-order-in-tensor-memory",
    ),
    "it is freed while a warp loads": (
        f"{COLUMNS}{TILES}{PRODUCT} WAIT(&done, 0);{RESULT} if (w == 0) FREE(at, 64);",
        "",
        "write-after-read|read-after-write|out-of-bounds|uninitialised-read",
        "no-order-in-tensor-memory|tensor-memory-read|columns-not-held|never-written",
    ),
    "a store that nobody waited for": (
        f"{COLUMNS} unsigned v[4] = {{t, t, t, t}}; ST(mine, v); LD(v, mine); WAIT_LD; out[t] = v[0];{END}",
        "LD(v",
        "unwaited-tcgen05",
        "tensor-store-not-awaited",
    ),
    "it stores over what a load still reads": (
        f"{COLUMNS} unsigned v[4] = {{t, t, t, t}}, x[4]; ST(mine, v); WAIT_ST; LD(x, mine); ST(mine, v); WAIT_ST; "
        f"WAIT_LD; out[t] = x[0];{END}",
        "ST(mine",
        "write-after-read",
        "tensor-memory-read",
    ),
    "columns that nobody has": (
        f"{COLUMNS} unsigned v[4] = {{t, t, t, t}}; ST(mine + 64, v); WAIT_ST;{END}",
        "ST(mine + 64",
        "out-of-bounds",
        "columns-not-held",
    ),
    "what nobody wrote": (
        f"{COLUMNS} unsigned v[4]; LD(v, mine); WAIT_LD; out[t] = v[0];{END}",
        "LD(v",
        "uninitialised-read",
        "never-written",
    ),
    "nobody gives back": (f"{COLUMNS} out[t] = mine;", "ALLOC(", "not-given-back", "not-given-back"),
    "a number of columns": (
        f"{COLUMNS.replace('64)', '48)')}",
        "ALLOC(",
        "tensor-memory",
        "columns-not-taken",
    ),
    "a part is given back": (
        f"{COLUMNS} __syncthreads(); if (w == 0) FREE(at, 32);",
        "FREE(at",
        "tensor-memory",
        "not-allocated",
    ),
    "asked again after it gave up": (
        f"{COLUMNS} if (w == 0) {{ RELINQUISH; ALLOC(&at, 32); }}",
        "ALLOC(&at, 32)",
        "tensor-memory",
        "alloc-after-relinquish",
    ),
    "more columns than there are": (
        f"{COLUMNS.replace('64)', '512)')} if (w == 0) ALLOC(&at, 32); __syncthreads();",
        "",
        "deadlock",
        "no-columns-left",
    ),
    "a lane in the middle": (
        f"{COLUMNS} unsigned v[4] = {{t, t, t, t}}; ST(mine + (8 << 16), v); WAIT_ST;{END}",
        "ST(mine",
        "tensor-memory",
        "bad-lane",
    ),
    "an address for each thread": (
        f"{COLUMNS} unsigned v[4] = {{t, t, t, t}}; ST(at + (t << 16), v); WAIT_ST;{END}",
        "ST(at",
        "tensor-memory",
        "addresses-differ",
    ),
    "the address is read before it is known": (
        COLUMNS.replace("__syncthreads();", "") + "out[t] = mine; __syncthreads(); if (w == 0) FREE(at, 64);",
        "unsigned mine",
        "read-after-write|uninitialised-read|write-after-read",
        "no-barrier|never-written",
    ),
}


@SEEDS
@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_found_where_it_is(name, seed):
    body, line, kinds, causes = WRONG[name]
    report, _ = multiply(body.replace("; ", ";\n").replace("{ MMA", "{\nMMA"), seed)
    source = report.kernel.source.splitlines()
    places = [
        source[each.line - 1]
        for each in report.hazards
        if re.fullmatch(kinds, each.kind) and re.fullmatch(causes, each.cause)
    ]
    assert any(line in place for place in places), str(report)


SHAPES = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4}


@pytest.mark.parametrize(
    ("shape", "times"), one_in(3, [(s, n) for s in SHAPES for n in (1, 2, 4, 8, 16, 32)])
)
def test_what_a_warp_stores_it_loads(shape, times):
    count = SHAPES[shape] * times
    if count > 128:
        return
    names = ", ".join(f"%{i}" for i in range(count))
    inputs = ", ".join(f'"r"(v[{i}])' for i in range(count))
    outputs = ", ".join(f'"=r"(v[{i}])' for i in range(count))
    end = f'[%{count}];"'
    body = f"""
        unsigned t = threadIdx.x, w = t / 32, v[{count}];
        __shared__ unsigned at;
        if (w == 0) ALLOC(&at, 512);
        __syncthreads();
        unsigned mine = at + (w * 32 << 16) + (SIXTEEN << 16);
        for (unsigned i = 0; i < {count}; i++) v[i] = 1000 * t + i;
        asm volatile("tcgen05.st.sync.aligned.{shape}.x{times}.b32 [%{count}], {{{names}}};"
            :: {inputs}, "r"(mine) : "memory");
        WAIT_ST;
        for (unsigned i = 0; i < {count}; i++) v[i] = 0;
        asm volatile("tcgen05.ld.sync.aligned.{shape}.x{times}.b32 {{{names}}}, {end} : {outputs} : "r"(mine));
        WAIT_LD;
        for (unsigned i = 0; i < {count}; i++) out[t * {count} + i] = v[i];
        __syncthreads();
        if (w == 0) FREE(at, 512);
    """
    out = np.zeros((128, count), np.uint32)
    half = "16" if shape != "32x32b" and times == 2 else "0"
    report = launch(kernel(body.replace("SIXTEEN", half), "unsigned* out"), 1, 128, (out,))
    assert report.ok, str(report)
    assert np.array_equal(out, 1000 * np.arange(128)[:, None] + np.arange(count))


@pytest.mark.parametrize("swizzle", one_in(2, [32, 64, 128]))
@pytest.mark.parametrize(("m", "n"), one_in(2, [(128, 8), (128, 136), (64, 64), (64, 256), (128, 256)]))
def test_what_the_copy_engine_brings_swizzled_is_multiplied(m, n, swizzle):
    """K-major, with the copy engine's own swizzle; K is one row of it."""
    k = swizzle // 2
    code = {128: 2, 64: 4, 32: 6}[swizzle]
    body = f"""
        unsigned t = threadIdx.x, w = t / 32;
        extern __shared__ __align__(1024) __half tiles[];
        __shared__ unsigned at;
        __shared__ u64 came, done;
        __half *A = tiles, *B = tiles + {m * k};
        if (w == 0) ALLOC(&at, 256);
        if (t == 0) {{
            INIT(&came, 1); INIT(&done, 1); INIT_FENCE;
            EXPECT(&came, {(m + n) * k * 2});
            COPY(A, &mapA, 0, 0, &came);
            COPY(B, &mapB, 0, 0, &came);
        }}
        __syncthreads();
        if (t == 0) {{
            WAIT(&came, 0);
            for (unsigned i = 0; i < {k // 16}; i++) {{
                u64 more = (u64)({8 * swizzle} >> 4) << 32 | 1ull << 46 | {code}ull << 61;
                MMA(at, (u64)((AT(A) + 32 * i) >> 4) | more, (u64)((AT(B) + 32 * i) >> 4) | more, WHAT({m}, {n}), i);
            }}
            COMMIT(&done);
        }}
        WAIT(&done, 0);
        unsigned row = {m} == 128 ? t : w * 16 + t % 32;
        for (unsigned c = 0; c < {n}; c += 4) {{
            unsigned v[4];
            LD(v, at + (w * 32 << 16) + c);
            if ({m} == 128 || t % 32 < 16)
                for (unsigned i = 0; i < 4; i++) out[row * {n} + c + i] = __uint_as_float(v[i]);
        }}
        WAIT_LD;
        __syncthreads();
        if (w == 0) FREE(at, 256);
    """
    a, b = numbers(m, k), numbers(n, k, 1)
    out = np.full((m, n), np.nan, np.float32)
    maps = "const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB"
    args = (TensorMap(a, (m, k), swizzle), TensorMap(b, (n, k), swizzle), out)
    report = launch(kernel(body, f"{maps}, float* out"), 1, 128, args, shared_mem=(m + n) * k * 2)
    assert report.ok, str(report)
    assert np.array_equal(out, a.astype(np.float32) @ b.T.astype(np.float32))


FIELDS = {  # bit of the instruction descriptor: what it is
    0: "sparse", 2: "sparse", 3: "zero", 6: "zero", 23: "zero", 29: "zero", 30: "shift", 5: "type of D", 8: "type of A",
    11: "type of B", 22: "N", 28: "M",
}  # fmt: skip


@pytest.mark.parametrize("bit", one_in(4, FIELDS))
def test_a_field_that_means_nothing_here_is_refused(bit):
    body = f"{COLUMNS}{TILES}{PRODUCT} WAIT(&done, 0);{RESULT}{END}".replace(
        "WHAT(128, 64)", f"(WHAT(128, 64) ^ 1u << {bit})"
    )
    report, _ = multiply(body)
    assert [hazard.cause for hazard in report.hazards] == ["bad-descriptor"], str(report)


TWO_PHASES = f"""{COLUMNS}{TILES}
    __shared__ u64 read;
    if (t == 0) {{ INIT(&read, 3); INIT_FENCE; }}
    __syncthreads();
    if (t == 0) {{
        MMA(at, PLAIN(A, 128), PLAIN(B, 64), WHAT(128, 64), 0);
        COMMIT(&done);
        WAIT(&read, 0);
        MMA(at, PLAIN(A, 128), PLAIN(B, 64), WHAT(128, 64), 0);
        COMMIT(&done);
    }}
    if (w > 0) {{
        WAIT(&done, 0);
        {RESULT}
        if (t % 32 == 0) ARRIVE(&read);
        WAIT(&done, 1);
    }}
    {END}"""
"""A second product takes the place of the first one, which three warps have read before."""


@pytest.mark.parametrize("seed", [None, 1, 2, 3, 4, 5])
def test_a_commit_tells_of_no_product_behind_it(seed):
    """Both are issued before anybody waits for the first; who hears of that has not heard of the other."""
    report, _ = multiply(TWO_PHASES, seed)
    assert report.ok, str(report)
    report, _ = multiply(TWO_PHASES.replace("WAIT(&read, 0);", ""), seed)
    assert not report.ok


def test_both_phases_may_be_over_before_somebody_asks_for_the_first():
    """One warp waits: it misses a phase in some of the drawn orders, and never where all comes as late as it may."""
    product = PRODUCT.removesuffix("}")
    body = f"{COLUMNS}{TILES}{product}{product.partition('{')[2]} }}\n"
    body += f"if (w == 1) {{ WAIT(&done, 0); WAIT(&done, 1); }}{END}"
    found = [[hazard.kind for hazard in multiply(body, seed)[0].hazards] for seed in (None, *range(1, 9))]
    assert not found[0] and 2 <= found.count(["deadlock"]) <= 7
