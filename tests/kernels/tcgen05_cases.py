"""What a B200 would tell of tcgen05: a small kernel for each rule of ptxsim/docs/tcgen05.md that rests on figures, on
other people's layouts, or on what was taken to be so. `python -m research.record_tcgen05` runs them on one.

What comes out is written down here once more, from the rules and not from the simulator. Values are whole numbers, but
for the sums of `rounding`, of which nobody has published how they are rounded.
"""

import numpy as np

from tests.kernels.blackwell import ALONE, CLC, MACROS, OPTIONS, PAIRS, TOGETHER
from tests.kernels.case import Case, poison, random
from tests.kernels.tcgen05_layouts import LAYOUTS, Layout

FROZEN = "tcgen05_b200"
"""The files with what a GPU gave."""
K = 16
BEGIN = """
    unsigned t = threadIdx.x, w = t / 32;
    __shared__ unsigned at;
    __shared__ u64 done;
    if (w == 0) ALLOC(&at, WIDTH);
    if (t == 0) { INIT(&done, 1); INIT_FENCE; }
    __syncthreads();
    unsigned mine = at + (w * 32 << 16);
"""
FILL = """
    for (unsigned n = 0; n < WIDTH; n += 4) {
        unsigned v[4];
        for (unsigned i = 0; i < 4; i++) v[i] = VALUE;
        ST(mine + n, v);
    }
    WAIT_ST;
    BEFORE;
    __syncthreads();
"""
"""Each cell holds VALUE, of its lane t and its column n + i."""
READ = """
    WAIT(&done, 0);
    AFTER;
    for (unsigned n = 0; n < WIDTH; n += 4) {
        unsigned v[4];
        LD(v, mine + n);
        WAIT_LD;
        for (unsigned i = 0; i < 4; i++) out[t * WIDTH + n + i] = v[i];
    }
"""
END = "__syncthreads(); if (w == 0) FREE(at, WIDTH);"


def case(
    name: str, body: str, make, reference, *, width: int = 64, parameters: str = "unsigned* out", **more
) -> Case:
    """`body` of a kernel of 128 threads; its first argument is what comes out, `reference(args)` gives that."""
    before, blocks = more.pop("before", MACROS), more.get("grid", (1,))
    cluster = f"__cluster_dims__({blocks[0]}) " if before is PAIRS else ""
    source = f'{before}\nextern "C" __global__ void {cluster}k({parameters})\n{{{body}}}\n'.replace(
        "WIDTH", str(width)
    )
    more = {"grid": (1,), "block": (128,), "options": OPTIONS, **more}
    return Case(name, source, "k", make, reference=lambda args: {0: reference(args)}, **more)


# --------------------------------------------------------------------------- loads and stores

SHAPES = {  # registers of one repetition; lane and column of thread t and register r (CUTLASS's copy_traits_sm100.hpp)
    "32x32b": (1, lambda t, r: (t, r)),
    "16x64b": (1, lambda t, r: (8 * (t % 2) + t // 4, t // 2 % 2 + 2 * r)),
    "16x128b": (2, lambda t, r: (t // 4 + 8 * (r % 2), t % 4 + 4 * (r // 2))),
    "16x256b": (4, lambda t, r: (t // 4 + 8 * (r // 2 % 2), 2 * (t % 4) + r % 2 + 8 * (r // 4))),
    "16x32bx2": (1, lambda t, r: (t % 16, r + 32 * (t // 16))),
}


def load_case(shape: str, start: int) -> Case:
    """Two repetitions, from lane `start` of each warp's on."""
    each, place = SHAPES[shape]
    count, apart = 2 * each, ", 32" if shape == "16x32bx2" else ""
    registers = ", ".join(f"%{i}" for i in range(count))
    outputs = ", ".join(f'"=r"(v[{i}])' for i in range(count))
    load = f'"tcgen05.ld.sync.aligned.{shape}.x2.b32 {{{registers}}}, [%{count}]{apart};"'
    body = f"""{BEGIN}{FILL.replace("VALUE", "64 * t + n + i")}
        unsigned v[{count}];
        asm volatile({load} : {outputs} : "r"(mine + ({start} << 16)));
        WAIT_LD;
        for (unsigned i = 0; i < {count}; i++) out[t * {count} + i] = v[i];
        {END}"""

    def reference(args: list) -> np.ndarray:
        t, r = np.arange(128)[:, None], np.arange(count)[None, :]
        lane, column = place(t % 32, r)
        return (64 * (t // 32 * 32 + start + lane) + column).astype(np.uint32)

    return case(f"ld {shape} at lane {start}", body, lambda: [poison((128, count), np.uint32)], reference)


# --------------------------------------------------------------------------- copies

ROWS = {  # by lane the row that comes there (CUTLASS, as above), or -1
    "128x256b": lambda lane: lane,
    "128x128b": lambda lane: lane,
    "4x256b": lambda lane: np.where(lane % 32 == 0, lane // 32, -1),
    "64x128b.warpx2::02_13": lambda lane: lane % 64,
    "64x128b.warpx2::01_23": lambda lane: lane % 32 + lane // 64 * 32,
    "32x128b.warpx4": lambda lane: lane % 32,
}
TILE = """
    __shared__ alignas(1024) unsigned A[4096], B[4096];
    for (unsigned i = t; i < 4096; i += 128) { A[i] = in[i]; B[i] = in[4096 + i]; }
    FENCE_ASYNC;
    __syncthreads();
"""


def copy_case(shape: str) -> Case:
    words = 8 if "256b" in shape else 4
    body = f"""{BEGIN}{TILE}{FILL.replace("VALUE", "~0u")}
        if (t == 0) {{ AFTER; CP("{shape}", at, PLAIN(A, 128)); COMMIT(&done); }}
        {READ}{END}"""

    def make() -> list:
        chunks = np.arange(1024, dtype=np.uint32).reshape(128, 2, 4).transpose(1, 0, 2).ravel()
        return [poison((128, 32), np.uint32), np.concatenate([chunks, np.zeros(8192 - 1024, np.uint32)])]

    def reference(args: list) -> np.ndarray:
        row, found = ROWS[shape](np.arange(128)), np.full((128, 32), 0xFFFFFFFF, np.uint32)
        found[row >= 0, :words] = (8 * row[row >= 0, None] + np.arange(words)).astype(np.uint32)
        return found

    return case(
        f"cp {shape}", body, make, reference, width=32, parameters="unsigned* out, const unsigned* in"
    )


# --------------------------------------------------------------------------- products


def matrices(m: int, n: int, blocks: int = 1) -> list[np.ndarray]:
    a, b = (random(seed).randint(-8, 9, (rows, K)).astype(np.float16) for seed, rows in ((0, m), (1, n)))
    return [*np.split(a, blocks), *np.split(b, blocks)]


def product(args: list, m: int, n: int) -> np.ndarray:
    a, b = matrices(m, n)
    return a.astype(np.float32) @ b.astype(np.float32).T


def in_memory(layout: Layout, parts: list[np.ndarray]) -> np.ndarray:
    """16 KiB for each, as words."""
    return np.concatenate([layout.bytes_of(each, 1 << 14) for each in parts]).view(np.uint32)


def in_lanes(sums: np.ndarray, start: int = 0) -> np.ndarray:
    """Of 64 or 128 rows each in its lane; other lanes hold -1."""
    found = np.full((128, sums.shape[1]), -1, np.float32)
    row = np.arange(len(sums))
    found[row if len(sums) == 128 else row % 16 + 32 * (row // 16) + start] = sums
    return found


def product_case(name: str, layout: Layout, m: int = 128, start: int = 0) -> Case:
    what = f"(WHAT({m}, {layout.n}) | {3 * layout.transposed}u << 15)"
    of = f"at + ({start} << 16), {layout.descriptor('A', m)}, {layout.descriptor('B', layout.n)}, {what}, 0"
    body = f"""{BEGIN}{TILE}{FILL.replace("VALUE", "__float_as_uint(-1)")}
        if (t == 0) {{ AFTER; MMA({of}); COMMIT(&done); }}
        {READ.replace("= v[i]", "= __uint_as_float(v[i])")}{END}"""
    return case(
        f"mma {name}, M = {m} at lane {start}",
        body,
        lambda: [poison((128, layout.n), np.float32), in_memory(layout, matrices(m, layout.n))],
        lambda args: in_lanes(product(args, m, layout.n), start),
        width=layout.n,
        parameters="float* out, const unsigned* in",
    )


def from_tensor_memory(m: int) -> Case:
    """A comes to its lanes by stores, two numbers a cell."""
    plain = LAYOUTS["not swizzled"]
    body = f"""{BEGIN.replace("WIDTH", "128")}{TILE}{FILL.replace("VALUE", "__float_as_uint(-1)")}
        for (unsigned n = 0; n < 8; n += 4) {{
            unsigned v[4];
            for (unsigned i = 0; i < 4; i++) v[i] = lanes[t * 8 + n + i];
            ST(mine + 64 + n, v);
        }}
        WAIT_ST;
        BEFORE;
        __syncthreads();
        if (t == 0) {{ AFTER; MMA_T(at, at + 64, {plain.descriptor("B", 64)}, WHAT({m}, 64), 0); COMMIT(&done); }}
        {READ.replace("= v[i]", "= __uint_as_float(v[i])")}{END.replace("WIDTH", "128")}"""

    def make() -> list:
        a, b = matrices(m, 64)
        lanes, row = np.zeros((128, K), np.float16), np.arange(m)
        lanes[row if m == 128 else row % 16 + 32 * (row // 16)] = a
        return [
            poison((128, 64), np.float32),
            in_memory(plain, [a, b]),
            np.ascontiguousarray(lanes).view(np.uint32),
        ]

    return case(
        f"mma of A in tensor memory, M = {m}",
        body,
        make,
        lambda args: in_lanes(product(args, m, 64)),
        parameters="float* out, const unsigned* in, const unsigned* lanes",
    )


def pair_case(m: int) -> Case:
    """Each block of a pair brings half of A and half of B."""
    plain, columns = LAYOUTS["not swizzled"], 64 if m == 256 else 32
    of = f"{plain.descriptor('A', m // 2)}, {plain.descriptor('B', 32)}, WHAT({m}, 64)"
    body = f"""
        unsigned rank = blockIdx.x;
        CLUSTER_SYNC;
        {BEGIN}{TILE.replace("in[", "in[rank * 8192 + ")}
        CLUSTER_SYNC;
        if (rank == 0 && t == 0) {{ MMA(at, {of}, 0); COMMIT_TO(&done, 3); }}
        {READ.replace("n < WIDTH", f"n < {columns}").replace("t * WIDTH", f"(rank * 128 + t) * {columns}")}
        {END} CLUSTER_SYNC;"""

    def make() -> list:
        a0, a1, b0, b1 = matrices(m, 64, blocks=2)
        return [poison((256, columns), np.float32).view(np.uint32), in_memory(plain, [a0, b0, a1, b1])]

    def reference(args: list) -> np.ndarray:
        sums = product(args, m, 64)
        if m == 128:  # the second half of N lies in lanes 64 to 127
            sums = np.vstack([np.vstack(np.split(each, 2, axis=1)) for each in np.split(sums, 2)])
        return np.ascontiguousarray(sums).view(np.uint32)

    parameters = "unsigned* out, const unsigned* in"
    return case(
        f"mma of a pair, M = {m}", body, make, reference, parameters=parameters, before=PAIRS, grid=(2,)
    )


def rounding_case() -> Case:
    """Sums of numbers of very different size: taken to be exact, and rounded once."""
    plain = LAYOUTS["not swizzled"]
    of = f"at, {plain.descriptor('A', 128)}, {plain.descriptor('B', 64)}, WHAT(128, 64), 0"
    body = f"""{BEGIN}{TILE}
        if (t == 0) {{ MMA({of}); COMMIT(&done); }}
        {READ.replace("= v[i]", "= __uint_as_float(v[i])")}{END}"""

    def parts() -> list[np.ndarray]:
        of = random(3)
        return [
            np.ldexp(of.randn(rows, K), of.randint(-7, 8, (rows, K))).astype(np.float16) for rows in (128, 64)
        ]

    def reference(args: list) -> np.ndarray:
        a, b = parts()
        return (a.astype(np.float64) @ b.astype(np.float64).T).astype(np.float32)

    parameters = "float* out, const unsigned* in"
    make = lambda: [poison((128, 64), np.float32), in_memory(plain, parts())]  # noqa: E731
    return case("rounding of sums", body, make, reference, parameters=parameters)


# --------------------------------------------------------------------------- columns, and blocks that wait

GIVEN = """
    __shared__ unsigned at[3];
    if (threadIdx.x < 32) { ALLOC(at, 128); ALLOC(at + 1, 64); ALLOC(at + 2, 32); }
    __syncthreads();
    if (threadIdx.x < 3) out[threadIdx.x] = at[threadIdx.x];
    if (threadIdx.x < 32) { FREE(at[0], 128); FREE(at[1], 64); FREE(at[2], 32); }
"""


def tiles_case(name: str, body: str, cluster: int) -> Case:
    """Each tile is done once, by whomever. The shared memory is for a GPU: an SM has room for two blocks."""
    source = f'{CLC}extern "C" __global__ void __cluster_dims__({cluster}) k(unsigned* out)\n{{{body}}}\n'
    want = np.tile(np.arange(1, 501, dtype=np.uint32)[:, None], (4, 64))
    return Case(name, source, "k", lambda: [np.zeros((2000, 64), np.uint32)], (500, 4), (64,),
                lambda args: {0: want}, OPTIONS, shared_mem=100 << 10, cheap=False)  # fmt: skip


CASES = [
    *(load_case(shape, 0) for shape in SHAPES),
    *(load_case(shape, 16) for shape in SHAPES if shape != "32x32b"),
    *(copy_case(shape) for shape in ROWS),
    *(product_case(name, layout) for name, layout in LAYOUTS.items()),
    *(product_case("not swizzled", LAYOUTS["not swizzled"], 64, start) for start in (0, 16)),
    *(from_tensor_memory(m) for m in (128, 64)),
    *(pair_case(m) for m in (256, 128)),
    rounding_case(),
    case(
        "columns that are given",
        GIVEN,
        lambda: [poison(3, np.uint32)],
        lambda args: np.array([0, 128, 192], "u4"),
    ),
    tiles_case("tiles taken over", ALONE, 1),
    tiles_case("tiles taken over by clusters", TOGETHER, 2),
]
