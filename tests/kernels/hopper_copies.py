"""Tensor copies and bulk copies: boxes at all places, every reduction."""

from functools import reduce

import numpy as np

from ptxsim import TensorMap
from tests.kernels.case import Case, poison, random
from tests.kernels.hopper_common import COMMON, OPTIONS

FENCE = "        fence_async();\n"
"""Before the next copy over what was read. It decides nothing of the numbers that an H100 gave without it."""


def load_case(rank: int, dtype: str, swizzle: int) -> Case:
    """Boxes at many coordinates, some outside of the array, of an array of so many dimensions."""
    shape = (3, 4, 5, 9, 64)[5 - rank :] if rank > 1 else (200,)
    item = np.dtype(dtype).itemsize
    inner = max(swizzle, 32) // item
    box = (2, 1, 2, 3, inner)[5 - rank :] if rank > 1 else (inner,)
    size = int(np.prod(box)) * item
    numbers = random(rank)
    places = np.stack([numbers.randint(-3, n + 2, 12) for n in shape[::-1]], axis=1).astype(np.int32)
    places[0] = 0
    places[:, 0] = places[:, 0] * item // 16 * 16 // item  # an H100 takes no other place in a row
    coordinates = ", ".join(f"%{3 + i}" for i in range(rank))
    values = ", ".join(f'"r"(places[{i}])' for i in range(rank))
    source = f"""{COMMON}
extern "C" __global__ void load_boxes(const __grid_constant__ Map map, unsigned* out, const int* places)
{{
    __shared__ alignas(1024) unsigned tile[{size // 4}];
    __shared__ u64 bar;
    if (threadIdx.x == 0) init(&bar, 1);
    __syncthreads();
    for (int turn = 0; turn < 12; ++turn) {{
        if (threadIdx.x == 0) {{
            expect(&bar, {size});
            asm volatile("cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
                         "[%1, {{{coordinates}}}], [%2];"
                         :: "r"(at(tile)), "l"(&map), "r"(at(&bar)), {values} : "memory");
        }}
        wait(&bar, turn % 2);
        for (int i = threadIdx.x; i < {size // 4}; i += 32) out[i] = tile[i];
        out += {size // 4};
        places += {rank};
{FENCE}        __syncthreads();
    }}
}}
"""
    array = (np.arange(int(np.prod(shape))) % 250 + 1).astype(dtype).reshape(shape)

    def make() -> list:
        return [TensorMap(array.copy(), box, swizzle), poison(12 * size // 4, np.uint32), places.copy()]

    def reference(args: list) -> dict:
        found = []
        for place in places[:, ::-1]:
            index = [first + np.arange(n) for first, n in zip(place, box)]
            inside = reduce(np.logical_and.outer, [(i >= 0) & (i < n) for i, n in zip(index, shape)])
            part = array[np.ix_(*[np.clip(i, 0, n - 1) for i, n in zip(index, shape)])]
            chunks = (
                np.ascontiguousarray(np.where(inside, part, 0).astype(dtype)).view(np.uint8).reshape(-1, 16)
            )
            number = np.arange(len(chunks))
            moved = np.empty_like(chunks)
            moved[number ^ (number >> 3 & (swizzle // 16 - 1 if swizzle else 0))] = chunks
            found.append(moved.ravel())
        return {1: np.concatenate(found).view(np.uint32)}

    name = f"tma.load-{rank}d-{dtype}-{swizzle}"
    measured = source.replace(FENCE, "")
    return Case(
        name, source, "load_boxes", make, (1,), (32,), reference, options=OPTIONS, own_source=measured
    )


def store_case() -> Case:
    """Boxes out of shared memory, one of them beyond the edges, and bulk copies of plain bytes both ways."""
    source = f"""{COMMON}
extern "C" __global__ void store_boxes(const __grid_constant__ Map map, float* C, float* out, const float* in)
{{
    __shared__ alignas(1024) float tile[8 * 32];
    __shared__ alignas(128) float line[64];
    __shared__ u64 bar;
    if (threadIdx.x == 0) init(&bar, 1);
    for (int i = threadIdx.x; i < 256; i += 32) tile[i] = i;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {{
        for (int turn = 0; turn < 3; ++turn)
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {{%2, %3}}], [%1];"
                         :: "l"(&map), "r"(at(tile)), "r"(turn * 40), "r"(turn * 9) : "memory");
        asm volatile("cp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;" ::: "memory");
        expect(&bar, 256);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                     :: "r"(at(line)), "l"(in), "r"(at(&bar)) : "memory");
    }}
    wait(&bar, 0);
    line[threadIdx.x] += 1;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {{
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;"
                     :: "l"(out), "r"(at(line)) : "memory");
        asm volatile("cp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;" ::: "memory");
    }}
}}
"""

    def make() -> list:
        C = np.full((21, 100), -1, np.float32)
        return [TensorMap(C, (8, 32)), C, poison(64, np.float32), np.arange(64, dtype=np.float32)]

    def reference(args: list) -> dict:
        C = np.full((21 + 20, 100 + 60), -1, np.float32)
        for turn in range(3):
            C[turn * 9 : turn * 9 + 8, turn * 40 : turn * 40 + 32] = np.arange(256).reshape(8, 32)
        line = np.arange(64, dtype=np.float32)
        line[:32] += 1
        return {1: np.ascontiguousarray(C[:21, :100]), 2: line}

    return Case("tma.store", source, "store_boxes", make, (1,), (32,), reference, options=OPTIONS)


ADDED = {
    "add": lambda a, b: a + b,
    "min": np.minimum,
    "max": np.maximum,
    "inc": lambda a, b: np.where(a >= b, 0, a + 1).astype(a.dtype),
    "dec": lambda a, b: np.where((a == 0) | (a > b), b, a - 1).astype(a.dtype),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
TYPES = {
    "f16": "f2", "f32": "f4", "f64": "f8", "u32": "u4", "s32": "i4", "u64": "u8", "s64": "i8", "b32": "u4", "b64": "u8",
}  # fmt: skip
WHOLE = [
    *(("add", kind) for kind in ("u32", "s32", "u64", "f16", "f32", "f64")),
    *((name, kind) for name in ("min", "max") for kind in ("u32", "s32", "u64", "s64", "f16")),
    ("inc", "u32"), ("dec", "u32"),
    *((name, kind) for name in ("and", "or", "xor") for kind in ("b32", "b64")),
]  # fmt: skip
SHARED = [
    *(("add", kind) for kind in ("u32", "s32", "u64")),
    *((name, kind) for name in ("min", "max") for kind in ("u32", "s32")),
    ("inc", "u32"), ("dec", "u32"), ("and", "b32"), ("or", "b32"), ("xor", "b32"),
]  # fmt: skip


def pair(kind: str) -> list[np.ndarray]:
    """Two arrays of 64 bytes of a type: what is there, and what comes."""
    dtype = np.dtype(TYPES[kind])
    low = 0 if kind[0] in "ub" else -9
    return [random(seed).randint(low, 10, 64 // dtype.itemsize).astype(dtype) for seed in (3, 4)]


def rounds(name: str, kind: str) -> str:
    """What the name of a sum of halves says of subnormals."""
    return ".noftz" if (name, kind) == ("add", "f16") else ""


def as_words(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([array.view(np.uint32) for array in arrays])


def reductions_case() -> Case:
    """Every reduction into global memory that the PTX ISA has but those of bfloat16, on 64 bytes each."""
    steps = "".join(
        f"""
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.{name}{rounds(name, kind)}"
                     ".{kind} [%0], [%1], 64;" :: "l"(out + {16 * i}), "r"(at(tile + {16 * i})) : "memory");"""
        for i, (name, kind) in enumerate(WHOLE)
    )
    source = f"""{COMMON}
extern "C" __global__ void reduce_all(unsigned* out, const unsigned* in)
{{
    __shared__ alignas(128) unsigned tile[{16 * len(WHOLE)}];
    for (int i = threadIdx.x; i < {16 * len(WHOLE)}; i += 32) tile[i] = in[i];
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {{{steps}
        asm volatile("cp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;" ::: "memory");
    }}
}}
"""
    there, coming = (as_words([pair(kind)[i] for _, kind in WHOLE]) for i in (0, 1))
    after = as_words([ADDED[name](*pair(kind)) for name, kind in WHOLE])
    return Case(
        "bulk.reductions", source, "reduce_all", lambda: [there.copy(), coming.copy()], (1,), (32,),
        lambda args: {0: after}, options=OPTIONS,
    )  # fmt: skip


def neighbour_reductions_case() -> Case:
    """Every reduction into the shared memory of the other block of a cluster along y, and a plain copy there."""
    count = len(SHARED) + 1
    steps = "".join(
        f"""
        asm volatile("cp{".reduce" if name else ""}.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
                     "{name}{kind} [%0], [%1], 64, [%2];"
                     :: "r"(there + {64 * i}), "r"(at(mine + {16 * i})), "r"(bar_there) : "memory");"""
        for i, (name, kind) in enumerate([*((f".{name}", f".{kind}") for name, kind in SHARED), ("", "")])
    )
    source = f"""{COMMON}
extern "C" __global__ void __cluster_dims__(1, 2, 1)
reduce_there(unsigned* out, const unsigned* old, const unsigned* in)
{{
    __shared__ alignas(128) unsigned tile[{16 * count}], mine[{16 * count}];
    __shared__ u64 bar;
    unsigned there, bar_there, other = 1 - blockIdx.y, block = blockIdx.x + gridDim.x * blockIdx.y;
    for (int i = threadIdx.x; i < {16 * count}; i += 32) tile[i] = old[i], mine[i] = in[i];
    if (threadIdx.x == 0) {{
        init(&bar, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        expect(&bar, {64 * count});
    }}
    fence_async();
    cluster_sync();
    if (threadIdx.x == 0) {{
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(tile)), "r"(other));
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(bar_there) : "r"(at(&bar)), "r"(other));{steps}
    }}
    wait(&bar, 0);
    for (int i = threadIdx.x; i < {16 * count}; i += 32) out[block * {16 * count} + i] = tile[i];
    cluster_sync();
}}
"""
    last = np.arange(16, dtype=np.uint32)
    there = as_words([*(pair(kind)[0] for _, kind in SHARED), last])
    coming = as_words([*(pair(kind)[1] for _, kind in SHARED), last + 7])
    after = as_words([*(ADDED[name](*pair(kind)) for name, kind in SHARED), last + 7])
    return Case(
        "cluster.reductions", source, "reduce_there",
        lambda: [poison(4 * 16 * count, np.uint32), there.copy(), coming.copy()], (2, 2), (32,),
        lambda args: {0: np.tile(after, 4)}, options=OPTIONS,
    )  # fmt: skip


def tensor_reduction_case(name: str, dtype: str) -> Case:
    """Boxes of 4 rows of 64 bytes, one of them beyond the edges of the array."""
    item = np.dtype(dtype).itemsize
    wide = 64 // item
    source = f"""{COMMON}
extern "C" __global__ void reduce_boxes(const __grid_constant__ Map map, unsigned* C, const unsigned* in)
{{
    __shared__ alignas(128) unsigned tile[64];
    for (int i = threadIdx.x; i < 64; i += 32) tile[i] = in[i];
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {{
        for (int turn = 0; turn < 2; ++turn)
            asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.{name}.tile.bulk_group "
                         "[%0, {{%2, %3}}], [%1];"
                         :: "l"(&map), "r"(at(tile)), "r"(turn * {wide}), "r"(turn * 5) : "memory");
        asm volatile("cp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;" ::: "memory");
    }}
}}
"""
    numbers = random(len(name) + item)
    low = 0 if dtype[0] == "u" else -9
    before = numbers.randint(low, 10, (7, 3 * wide // 2)).astype(dtype)
    coming = numbers.randint(low, 10, (4, wide)).astype(dtype)

    def make() -> list:
        C = before.copy()
        return [TensorMap(C, (4, wide)), C, coming.view(np.uint32).ravel().copy()]

    def reference(args: list) -> dict:
        C = before.copy()
        C[:4, :wide] = ADDED[name](C[:4, :wide], coming)
        C[5:, wide:] = ADDED[name](C[5:, wide:], coming[:2, : wide // 2])
        return {1: C}

    return Case(f"tma.{name}-{dtype}", source, "reduce_boxes", make, (1,), (32,), reference, options=OPTIONS)


CASES = [
    *(load_case(rank, "uint16", 0) for rank in range(1, 6)),
    *(load_case(2, "uint16", swizzle) for swizzle in (32, 64, 128)),
    *(load_case(2, dtype, 0) for dtype in ("uint8", "float32", "float64")),
    load_case(3, "float32", 128),
    store_case(),
    reductions_case(),
    neighbour_reductions_case(),
    *(tensor_reduction_case("add", dtype) for dtype in ("float16", "float32", "int32")),
    *(tensor_reduction_case(name, "int32") for name in ("min", "max", "and", "or", "xor")),
    *(tensor_reduction_case(name, "uint32") for name in ("inc", "dec")),
]
