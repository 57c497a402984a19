"""Micro-kernels for the counters: each makes one kind of memory access, in a pattern that is one expression of `lane`.

The warps of a block use the same pattern, each in a region of its own that begins at a multiple of 128 bytes. What is
loaded is used, so that no compiler removes it: a global load ends in a store that never happens, a shared load in
one coalesced store to global memory.
"""

import hashlib
from dataclasses import dataclass
from functools import partial

import numpy as np

VECTOR = {4: "unsigned", 8: "uint2", 16: "uint4"}
GLOBAL_WORDS = 1 << 16  # in the input and the output array of every micro-kernel


@dataclass(frozen=True)
class Micro:
    """One micro-kernel. `what` says which numbers are compared: those of "shared" or of "global" memory."""

    name: str
    """Also that of the kernel: a profiler tells the micro-kernels apart by it."""
    source: str
    what: str
    block: tuple[int, ...] = (64,)
    grid: tuple[int, ...] = (1,)
    shared_mem: int = 0

    @property
    def kernel(self) -> str:
        return self.name

    @property
    def warps(self) -> int:
        return self.block[0] // 32 * self.grid[0]

    def make(self) -> list[np.ndarray]:
        """Launch arguments (in, out): words in global memory."""
        return [np.zeros(GLOBAL_WORDS, np.uint32), np.zeros(GLOBAL_WORDS, np.uint32)]


HEAD = r"""extern "C" __global__ void NAME(const unsigned* in, unsigned* out) {
    extern __shared__ __align__(128) unsigned char bytes[];
    int t = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
"""
USE = "    out[t] = value;\n}\n"
USE_NEVER = "    if (value == 0x12345678u) out[t] = value;\n}\n"
FOLD = {4: "loaded", 8: "loaded.x ^ loaded.y", 16: "loaded.x ^ loaded.y ^ loaded.z ^ loaded.w"}
FILL = {4: "lane", 8: "make_uint2(lane, t)", 16: "make_uint4(lane, t, warp, 7)"}


def extent(pattern: str) -> int:
    """One more than the largest index of `pattern`, over the 32 lanes."""
    return max(eval(pattern.replace("/", "//"), {"lane": lane}) for lane in range(32)) + 1


def region(pattern: str, width: int) -> int:
    """Elements from one warp's region to the next; a multiple of 128 bytes."""
    return -(-extent(pattern) * width // 128) * 128 // width


def access(
    space: str,
    name: str,
    op: str,
    width: int,
    pattern: str,
    active: str = "true",
    block: int = 64,
    grid: int = 1,
) -> Micro:
    """Load or store elements of `width` bytes of shared or global memory at index `pattern`, where `active`."""
    step, load, is_shared = region(pattern, width), op == "load", space == "shared"
    array, warp = ("bytes", "warp") if is_shared else ("in" if load else "out", "(t / 32)")
    constant = "const " * (load and not is_shared)
    place = f"(({constant}{VECTOR[width]}*){array})[{warp} * {step} + ({pattern})]"
    if load:
        body = f"    {VECTOR[width]} loaded = {{}};\n    if ({active}) loaded = {place};\n"
        body += f"    unsigned value = {FOLD[width]};\n{USE if is_shared else USE_NEVER}"
    else:
        body = f"    if ({active}) {place} = {FILL[width]};\n}}\n"
    full = f"{space}_{op}_{width}_{name}"
    size = block // 32 * step * width * is_shared
    return Micro(full, HEAD.replace("NAME", full) + body, space, (block,), (grid,), size)


shared, global_ = partial(access, "shared"), partial(access, "global")


def ldmatrix(name: str, count: int, row_bytes: str, trans: bool = False) -> Micro:
    """ldmatrix .x{count}: each lane gives the address of one row of 16 bytes, `row_bytes` into its warp's region."""
    outputs = ", ".join(f"%{i}" for i in range(count))
    binds = ", ".join(f'"=r"(v[{i}])' for i in range(count))
    step = region(row_bytes + " + 15", 1)
    full = f"ldmatrix_x{count}{'_trans' * trans}_{name}"
    body = f"""    unsigned v[4] = {{}};
    unsigned row = (unsigned)__cvta_generic_to_shared(bytes) + warp * {step} + ({row_bytes});
    asm volatile("ldmatrix.sync.aligned.m8n8.x{count}{".trans" * trans}.shared.b16 {{{outputs}}}, [%{count}];"
                 : {binds} : "r"(row));
    unsigned value = v[0] ^ v[1] ^ v[2] ^ v[3];
"""
    return Micro(full, HEAD.replace("NAME", full) + body + USE, "shared", shared_mem=2 * step)


def cp_async(name: str, width: int, to: str, source: str = "lane", cache: str = "", what: str = "shared",
             active: str = "true", block: int = 64) -> Micro:  # fmt: skip
    """cp.async of `width` bytes from global element `source` to shared element `to`."""
    cache = cache or ("cg" if width == 16 else "ca")
    step, source_step = region(to, width), region(source, width)
    full = f"cp_async_{cache}_{width}_{name}"
    body = f"""    const {VECTOR[width]}* from = (const {VECTOR[width]}*)in + warp * {source_step} + ({source});
    unsigned place = (unsigned)__cvta_generic_to_shared(bytes) + (warp * {step} + ({to})) * {width};
    if ({active})
        asm volatile("cp.async.{cache}.shared.global [%0], [%1], {width};" :: "r"(place), "l"(from) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
}}
"""
    source_text = HEAD.replace("NAME", full) + body
    return Micro(full, source_text, what, (block,), shared_mem=block // 32 * step * width)


def transpose(name: str, row: int) -> Micro:
    """A 32x32 tile of floats written by rows and read by columns; `row` words from one row to the next."""
    full = f"transpose_{name}"
    body = f"""    unsigned* tile = (unsigned*)bytes;
    for (int step = 0; step < 32; step += 8) tile[(warp + step) * {row} + lane] = t;
    __syncthreads();
    unsigned value = 0;
    for (int step = 0; step < 32; step += 8) value ^= tile[lane * {row} + warp + step];
"""
    return Micro(full, HEAD.replace("NAME", full) + body + USE, "shared", (256,), shared_mem=32 * row * 4)


def atomic(space: str, name: str, pattern: str, used: bool) -> Micro:
    """atomicAdd of a word of shared or global memory at index `pattern`; what was there is used, or is not."""
    full = f"atomic_{space}_{'used' if used else 'unused'}_{name}"
    step = region(pattern, 4)
    array = "((unsigned*)bytes)" if space == "shared" else "out"
    warps = "warp" if space == "shared" else "t / 32"
    call = f"atomicAdd(&{array}[{warps} * {step} + ({pattern})], (unsigned)t)"
    body = f"    unsigned value = {call};\n{USE_NEVER}" if used else f"    {call};\n}}\n"
    return Micro(full, HEAD.replace("NAME", full) + body, space, shared_mem=8 * step * (space == "shared"))


STRIDES = (1, 2, 3, 4, 8, 16, 17, 32, 33)
SAME = {  # patterns in which lanes share addresses
    "broadcast": "0",
    "halves_same": "lane / 16",
    "two_far": "lane % 2 * 64",
    "pairs_1": "lane / 2",  # lanes n and n ^ 1 equal
    "pairs_2": "lane / 4 * 2 + lane % 2",  # lanes n and n ^ 2 equal
    "pairs_4": "lane / 8 * 4 + lane % 4",
    "pairs_16": "lane % 16",
    "quads": "lane / 4",
    "eights": "lane / 8",
    "modulo_8": "lane % 8",
    "modulo_4": "lane % 4",
    "pairs_1_stride_4": "lane / 2 * 4",
    "pairs_1_stride_8": "lane / 2 * 8",
    "some_pairs": "lane - lane % 2 * (lane / 16)",  # only the upper half has pairs
}
OTHER = {
    "reverse": "31 - lane",
    "random": "lane * 37 % 61 * 29 % 128",
    "exchanged": "lane ^ 5",
    "offset_1": "lane + 1",
    "rows_of_4_padded": "lane / 4 * 5 + lane % 4",
    "rows_of_8_padded": "lane / 8 * 9 + lane % 8",
    "rows_of_4_far": "lane / 4 * 8 + lane % 4",
    "columns_swizzled": "lane * 8 + (3 ^ lane % 8)",
}
ACTIVE = {"first_13": "lane < 13", "odd": "lane % 2", "one": "lane == 9", "second_8": "lane / 8 == 1"}

SHARED = [
    *(
        shared(f"stride_{s}", op, width, f"lane * {s}")
        for op in ("load", "store")
        for width in (4, 8, 16)
        for s in STRIDES
    ),
    *(shared(name, "load", 16, pattern) for name, pattern in SAME.items()),
    *(
        shared(name, "load", width, SAME[name])
        for width in (4, 8)
        for name in ("broadcast", "two_far", "pairs_1", "pairs_2", "modulo_8")
    ),
    *(
        shared(name, "store", width, pattern)
        for width in (4, 8, 16)
        for name, pattern in OTHER.items()
        if width == 16 or "_of_" not in name
    ),
    *(
        shared(name, "load", width, OTHER[name])
        for width in (4, 8, 16)
        for name in ("random", "rows_of_4_padded", "columns_swizzled")
    ),
    shared("pairs_1_first_16", "load", 16, "lane / 2", "lane < 16"),
    shared("pairs_1_even", "load", 16, "lane / 2", "lane % 2 == 0"),
    shared("two_far_pairs_1", "load", 16, "lane / 2 % 2 * 64"),
    shared("pairs_2_stride_16", "load", 8, "(lane / 4 * 2 + lane % 2) * 16"),
    shared("pairs_1", "store", 16, "lane / 2"),
    *(shared(name, "load", 16, "lane", active) for name, active in ACTIVE.items()),
    *(shared(name, "store", 8, "lane * 2", active) for name, active in ACTIVE.items()),
    shared("broadcast", "store", 4, "0"),
    shared("many_warps", "load", 16, "lane", block=256, grid=2),
    shared("many_warps_stride_2", "load", 8, "lane * 2", block=256, grid=2),
    transpose("unpadded", 32),
    transpose("padded", 33),
]

ROWS = {  # bytes from the start of the warp's region to the row that a lane points at
    "contiguous": "lane * 16",
    "rows_of_64": "lane * 64",
    "rows_of_80": "lane * 80",
    "rows_of_128": "lane * 128",
    "rows_of_64_swizzled": "lane * 64 + ((lane / 2) % 4) * 16",
    "rows_of_128_swizzled": "lane % 16 * 128 + ((lane / 16) ^ (lane % 8)) * 16",
    "rows_of_64_two_chunks": "lane % 16 * 64 + lane / 16 * 16",
}
LDMATRIX = [
    *(ldmatrix(name, 4, rows) for name, rows in ROWS.items()),
    *(
        ldmatrix(name, 4, ROWS[name], trans=True)
        for name in ("contiguous", "rows_of_64", "rows_of_128_swizzled")
    ),
    *(
        ldmatrix(name, count, ROWS[name])
        for count in (1, 2)
        for name in ("contiguous", "rows_of_64", "rows_of_80")
    ),
    *(ldmatrix("rows_of_64", count, ROWS["rows_of_64"], trans=True) for count in (1, 2)),
]

CP_ASYNC = [
    *(cp_async("contiguous", width, "lane") for width in (4, 8, 16)),
    *(cp_async("stride_2", width, "lane * 2") for width in (4, 8, 16)),
    cp_async("column_unpadded", 4, "lane * 32"),
    cp_async("column_padded", 4, "lane * 33"),
    cp_async("column_of_quads", 4, "lane % 4 * 132 + lane / 4"),
    cp_async("rows_of_80", 16, "lane / 4 * 5 + lane % 4"),
    cp_async("rows_of_128_half", 16, "lane / 4 * 8 + lane % 4"),
    cp_async("column_unpadded", 16, "lane * 8"),
    cp_async("rows_of_64_swizzled", 16, "lane / 4 * 4 + (lane % 4 ^ lane / 8 % 4)"),
    cp_async("rows_of_128_swizzled", 16, "lane / 8 * 8 + (lane % 8 ^ lane / 8)"),
    cp_async("contiguous", 16, "lane", cache="ca"),
    cp_async("many_warps", 16, "lane", block=256),
    cp_async("first_13", 16, "lane", active="lane < 13"),
    *(
        cp_async(name, 16, "lane", active=active)
        for name, active in {
            "first_12": "lane < 12",
            "first_16": "lane < 16",
            "odd": "lane % 2",
            "one": "lane == 9",
            "but_one": "lane != 9",
        }.items()
    ),
    cp_async("first_13", 4, "lane", active="lane < 13"),
    cp_async("rows_of_80", 16, "lane / 4 * 5 + lane % 4", cache="ca"),
    cp_async("stride_2", 16, "lane * 2", cache="ca"),
    cp_async("from_misaligned_16", 16, "lane", "lane + 1", cache="ca"),
    cp_async("random_to_random", 16, "lane * 37 % 61 * 29 % 128", "lane * 53 % 67 * 31 % 256"),
    cp_async("random_to_random", 4, "lane * 37 % 61 * 29 % 128", "lane * 53 % 67 * 31 % 256"),
    cp_async("from_contiguous", 16, "lane", what="global"),
    cp_async("from_rows_of_64", 16, "lane", "lane / 4 * 64 + lane % 4", what="global"),
    cp_async("from_misaligned_16", 16, "lane", "lane + 1", what="global"),
    cp_async("from_misaligned_4", 4, "lane", "lane + 1", what="global"),
    cp_async("from_stride_2", 4, "lane", "lane * 2", what="global"),
    cp_async("from_contiguous", 4, "lane", what="global"),
]

ANYWHERE = "lane * 37 % 61 * 29 % 509"
GLOBAL = [
    *(
        global_(name, op, width, pattern)
        for op in ("load", "store")
        for width in (4, 8, 16)
        for name, pattern in {
            "coalesced": "lane",
            "stride_2": "lane * 2",
            "stride_32": "lane * 32",
            "next_element": "lane + 1",
            "random": ANYWHERE,
        }.items()
    ),
    *(
        global_(name, "load", width, pattern)
        for width in (4, 16)
        for name, pattern in {
            "broadcast": "0",
            "reverse": "31 - lane",
            "pairs_1": "lane / 2",
            "rows_of_4": "lane / 4 * 64 + lane % 4",
            "misaligned_16_bytes": "lane + 4" if width == 4 else "lane + 1",
            "stride_3": "lane * 3",
        }.items()
    ),
    *(
        global_(name, op, width, "lane", active)
        for name, active in ACTIVE.items()
        for op, width in (("load", 4), ("store", 16))
    ),
    global_("many_warps", "load", 16, "lane", block=256, grid=4),
    global_("many_warps", "store", 4, "lane", block=256, grid=4),
]

ATOMICS = [
    atomic(space, name, pattern, used)
    for space in ("shared", "global")
    for name, pattern in {
        "own": "lane", "one": "0", "four": "lane % 4", "stride_2": "lane * 2", "stride_32": "lane * 32",
        "random": OTHER["random"],
    }.items()
    for used in (True, False)
]  # fmt: skip

MICRO: list[Micro] = [*SHARED, *LDMATRIX, *CP_ASYNC, *GLOBAL, *ATOMICS]


def by_name(name: str) -> Micro:
    """The micro-kernel with this name."""
    return next(micro for micro in MICRO if micro.name == name)


def fingerprint(micro: Micro) -> str:
    """A short hash of source and launch."""
    launch = (micro.source, micro.block, micro.grid, micro.shared_mem)
    return hashlib.sha256(repr(launch).encode()).hexdigest()[:12]
