"""Hopper's instructions: every form of wgmma and stmatrix, tensor copies, mbarrier and clusters.

Inputs are small whole numbers, so that sums are exact in every format and a GPU must agree bit for bit.
"""

from __future__ import annotations

from functools import reduce
from itertools import product

import numpy as np

from ptxsim import TensorMap
from ptxsim.instructions.wgmma import _chunks as chunks_of
from tests.kernels.case import Case, poison, random, to_bf16

OPTIONS = ("--std=c++17", "-arch=sm_90a")
COMMON = r"""
typedef unsigned long long u64;
struct alignas(64) Map { u64 words[16]; };
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(u64* b, int n)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(b)), "r"(n) : "memory");
}
__device__ void expect(u64* b, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at(b)), "r"(bytes) : "memory");
}
__device__ void wait(u64* b, unsigned parity)
{
    asm volatile("{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra again;\n}"
                 :: "r"(at(b)), "r"(parity) : "memory");
}
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
"""

# --------------------------------------------------------------------------- wgmma

K_OF = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32}
BITS = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1}
MODES = {0: 0, 128: 1, 64: 2, 32: 3}  # swizzle of so many bytes: bits 62 and 63 of a descriptor
EIGHTS = {
    "e4m3": {0: 0, 1: 0x38, 2: 0x40, -1: 0xB8, -2: 0xC0},
    "e5m2": {0: 0, 1: 0x3C, 2: 0x40, -1: 0xBC, -2: 0xC0},
}


def bits_of(values: np.ndarray, kind: str) -> np.ndarray:
    """Small whole numbers as the bytes of a type."""
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16)
    if kind == "bf16":
        return to_bf16(values.astype(np.float32))
    if kind == "tf32":
        return values.astype(np.float32).view(np.uint32)
    return np.vectorize(EIGHTS[kind].__getitem__)(values).astype(np.uint8)


def placed(values: np.ndarray, kind: str, swizzle: int, trans: bool) -> tuple[np.ndarray, int]:
    """A matrix (rows, k) as bytes of shared memory from a multiple of 1024 on; its descriptor, without an address."""
    size = BITS[kind]
    rows = len(values)
    if not trans:
        leading, stride = (rows * 16, 128) if swizzle == 0 else (16, 8 * swizzle)
    elif swizzle == 0:
        leading, stride = 128, 2 * 128  # of k; of rows
    else:
        leading, stride = 16 * swizzle, 8 * swizzle  # of rows; of k
    descriptor = MODES[swizzle] << 62 | stride // 16 << 32 | leading // 16 << 16
    chunks = chunks_of(descriptor, rows, size, trans)
    raw = bits_of(values.T if trans else values, kind)
    image = np.zeros((int(chunks.max()) + 1, 16), np.uint8)
    image[chunks] = np.ascontiguousarray(raw).view(np.uint8).reshape(*chunks.shape, 16)
    whole = -(-image.size // 1024) * 1024
    return np.pad(image.ravel(), (0, whole - image.size)), descriptor


def wgmma_text(
    n: int, to: str, kind_a: str, kind_b: str, trans=(0, 0), from_registers=False, signs=(1, 1), add=1
) -> str:
    """One wgmma, its sums given to `out`."""
    sums = n // 2 if to == "f32" else n // 4
    letter, c_type = ("f", "float") if to == "f32" else ("r", "unsigned")
    d = ", ".join(f"%{i}" for i in range(sums))
    a = "{%" + ", %".join(str(sums + i) for i in range(4)) + "}" if from_registers else f"%{sums}"
    b = f"%{sums + 4}" if from_registers else f"%{sums + 1}"
    ins = ", ".join(f'"r"(ra[{i}])' for i in range(4)) if from_registers else '"l"(da)'
    both = K_OF[kind_a] == 16
    more = (f", {trans[1]}" if from_registers else f", {trans[0]}, {trans[1]}") if both else ""
    return f"""{{
    {c_type} d[{sums}];
    for (int i = 0; i < {sums}; ++i) d[i] = {"threadIdx.x % 4 + i % 3" if to == "f32" else "0x3C003C00"};
    for (int i = 0; i < {sums}; ++i) asm volatile("" : "+{letter}"(d[i]) :: "memory");     // written before the fence
    {'for (int i = 0; i < 4; ++i) asm volatile("" : "+r"(ra[i]) :: "memory");' if from_registers else ""}
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n{n}k{K_OF[kind_a]}.{to}.{kind_a}.{kind_b} {{{d}}}, {a}, {b}, "
                 "{add}, {signs[0]}, {signs[1]}{more};"
                 : {", ".join(f'"+{letter}"(d[{i}])' for i in range(sums))} : {ins}, "l"(db));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < {sums}; ++i) (({c_type}*)out)[threadIdx.x * {sums} + i] = d[i];
    out += 128 * {sums};
}}
"""


FORMS = {
    # name: (n, to, A, B, swizzle of A, of B, trans, from registers, signs, add)
    **{f"n{n}": (n, "f32", "f16", "f16", 128, 128, (0, 0), False, (1, 1), 1) for n in range(8, 257, 8)},
    **{
        f"{a}{'t' if ta else ''}-{b}{'t' if tb else ''}": (
            64,
            "f32",
            "f16",
            "f16",
            a,
            b,
            (ta, tb),
            False,
            (1, 1),
            1,
        )
        for (a, b) in ((0, 0), (32, 32), (64, 64), (128, 128), (0, 128), (64, 32))
        for ta, tb in product((0, 1), (0, 1))
    },
    "bf16": (64, "f32", "bf16", "bf16", 128, 128, (0, 0), False, (1, 1), 1),
    "bf16-turned": (64, "f32", "bf16", "bf16", 128, 128, (1, 1), False, (1, 1), 1),
    "tf32": (64, "f32", "tf32", "tf32", 128, 128, (0, 0), False, (1, 1), 1),
    **{
        f"{a}-{b}": (64, "f32", a, b, 128, 64, (0, 0), False, (1, 1), 1)
        for a, b in product(("e4m3", "e5m2"), ("e4m3", "e5m2"))
    },
    "f16-sums": (64, "f16", "f16", "f16", 128, 128, (0, 0), False, (1, 1), 1),
    "e4m3-f16-sums": (64, "f16", "e4m3", "e4m3", 128, 128, (0, 0), False, (1, 1), 1),
    "registers": (64, "f32", "f16", "f16", 0, 128, (0, 0), True, (1, 1), 1),
    "registers-turned": (64, "f32", "f16", "f16", 0, 128, (0, 1), True, (1, 1), 1),
    "registers-bf16": (64, "f32", "bf16", "bf16", 0, 128, (0, 0), True, (1, 1), 1),
    "registers-tf32": (64, "f32", "tf32", "tf32", 0, 128, (0, 0), True, (1, 1), 1),
    "registers-e4m3": (64, "f32", "e4m3", "e4m3", 0, 128, (0, 0), True, (1, 1), 1),
    "minus-a": (64, "f32", "f16", "f16", 128, 128, (0, 0), False, (-1, 1), 1),
    "minus-b": (64, "f32", "f16", "f16", 128, 128, (0, 0), False, (1, -1), 1),
    "no-sums-before": (64, "f32", "f16", "f16", 128, 128, (0, 0), False, (1, 1), 0),
}
GROUPS = {
    "wgmma.n": [name for name in FORMS if name[0] == "n" and name[1:].isdigit()],
    "wgmma.layouts": [name for name in FORMS if name[0].isdigit()],
    "wgmma.types": [
        name for name in FORMS if not (name[0].isdigit() or (name[0] == "n" and name[1:].isdigit()))
    ],
}


def operands(name: str) -> tuple[np.ndarray, np.ndarray]:
    n, _, kind, *_ = FORMS[name]
    numbers = random(len(name) + n)
    return numbers.randint(-2, 3, (64, K_OF[kind])), numbers.randint(-2, 3, (n, K_OF[kind]))


def sums_of(name: str) -> np.ndarray:
    """What each of 128 threads holds afterwards (PTX ISA, "Register Fragments for wgmma")."""
    n, to, _, _, _, _, _, _, signs, add = FORMS[name]
    A, B = operands(name)
    C = signs[0] * signs[1] * (A @ B.T)
    thread, i = np.arange(128)[:, None], np.arange(n // 2)[None, :]
    rows = thread // 32 * 16 + thread % 32 // 4 + 8 * (i // 2 % 2)
    found = C[rows, 8 * (i // 4) + 2 * (thread % 4) + i % 2]
    if to == "f16":
        return (found + add).astype(np.float16).view(np.uint32)
    return (found + add * (thread % 4 + i % 3)).astype(np.float32).view(np.uint32)


def a_registers(name: str) -> np.ndarray:
    """The four registers of each of 128 threads that hold A (PTX ISA, the same section)."""
    kind = FORMS[name][2]
    each = 4 // BITS[kind]
    raw = bits_of(operands(name)[0], kind)
    thread, i = np.arange(128)[:, None], np.arange(4 * each)[None, :]
    register = i // each
    rows = thread // 32 * 16 + thread % 32 // 4 + 8 * (register % 2)
    columns = thread % 4 * each + i % each + 4 * each * (register // 2)
    return np.ascontiguousarray(raw[rows, columns]).view(np.uint32).reshape(128, 4)


def wgmma_case(group: str) -> Case:
    names = GROUPS[group]
    images, where, registers, at = [], [], [], 0
    for name in names:
        _, _, kind_a, kind_b, swizzle_a, swizzle_b, trans, from_registers, *_ = FORMS[name]
        A, B = operands(name)
        image_a, da = (
            placed(A, kind_a, swizzle_a, bool(trans[0])) if not from_registers else (np.zeros(0, np.uint8), 0)
        )
        image_b, db = placed(B, kind_b, swizzle_b, bool(trans[1]))
        where.append([da, db, at // 16, len(image_a) // 16, len(image_b) // 16])
        images += [image_a, image_b]
        at += len(image_a) + len(image_b)
        registers.append(a_registers(name) if from_registers else np.zeros((128, 4), np.uint32))
    steps = "".join(
        f"""
    for (int i = threadIdx.x; i < w[3] + w[4]; i += 128) tile[i] = image[w[2] + i];
    for (int i = 0; i < 4; ++i) ra[i] = fragments[threadIdx.x * 4 + i];
    fence_async();
    __syncthreads();
    da = w[0] | at(tile) / 16; db = w[1] | at(tile + w[3]) / 16;
    {wgmma_text(n, to, a, b, trans, from_registers, signs, add)}
    w += 5; fragments += 512;
    __syncthreads();"""
        for n, to, a, b, _, _, trans, from_registers, signs, add in map(FORMS.__getitem__, names)
    )
    source = f"""{COMMON}
extern "C" __global__ void __launch_bounds__(128)
wgmma_forms(unsigned* out, const uint4* image, const u64* w, const unsigned* fragments)
{{
    __shared__ alignas(1024) uint4 tile[2816];
    unsigned ra[4];
    u64 da, db;
    {steps}
}}
"""
    expected = [sums_of(name) for name in names]

    def make() -> list:
        total = sum(each.size for each in expected)
        numbers = np.array(where, np.uint64)
        return [poison(total, np.uint32), np.concatenate(images), numbers, np.concatenate(registers)]

    reference = {0: np.concatenate([each.ravel() for each in expected])}
    return Case(group, source, "wgmma_forms", make, (1,), (128,), lambda args: reference, options=OPTIONS)


# --------------------------------------------------------------------------- stmatrix


def stmatrix_case() -> Case:
    forms = list(product((1, 2, 4), (False, True)))
    steps = ""
    for count, trans in forms:
        registers = ", ".join(f"%{i + 1}" for i in range(count))
        values = ", ".join(f'"r"(in[threadIdx.x * 4 + {i}])' for i in range(count))
        steps += f"""
    for (int i = threadIdx.x; i < 512; i += 32) tile[i] = 0;
    __syncwarp();
    asm volatile("stmatrix.sync.aligned.m8n8.x{count}{".trans" if trans else ""}.shared.b16 [%0], {{{registers}}};"
                 :: "r"(at(tile + threadIdx.x * 16)), {values} : "memory");
    __syncwarp();
    for (int i = threadIdx.x; i < 512; i += 32) out[i] = tile[i];
    out += 512;
    __syncwarp();"""
    source = f"""{COMMON}
extern "C" __global__ void stmatrix_forms(unsigned short* out, const unsigned* in)
{{
    __shared__ alignas(128) unsigned short tile[512];
    {steps}
}}
"""
    values = random(5).randint(0, 2**31, (32, 4)).astype(np.uint32)

    def reference(args: list) -> dict:
        found = np.zeros((len(forms), 32, 16), np.uint16)
        for at, (count, trans) in enumerate(forms):
            for i in range(count):
                matrix = np.ascontiguousarray(values[:, i]).view(np.uint16).reshape(8, 8)
                found[at, 8 * i : 8 * i + 8, :8] = matrix.T if trans else matrix
        return {0: found.ravel()}

    def make() -> list:
        return [poison(512 * len(forms), np.uint16), values.copy()]

    return Case("stmatrix.forms", source, "stmatrix_forms", make, (1,), (32,), reference, options=OPTIONS)


# --------------------------------------------------------------------------- tensor copies


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
        __syncthreads();
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
    return Case(name, source, "load_boxes", make, (1,), (32,), reference, options=OPTIONS)


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


# --------------------------------------------------------------------------- mbarrier, clusters


def mbarrier_case() -> Case:
    source = f"""{COMMON}
__device__ unsigned test(u64* b, unsigned parity)
{{
    unsigned done;
    asm volatile("{{ .reg .pred p;\\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\\nselp.u32 %0, 1, 0, p; }}"
                 : "=r"(done) : "r"(at(b)), "r"(parity) : "memory");
    return done;
}}
__device__ u64 arrive(u64* b, int n)
{{
    u64 state;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;" : "=l"(state) : "r"(at(b)), "r"(n) : "memory");
    return state;
}}
__device__ unsigned pending(u64 state)
{{
    unsigned n;
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(n) : "l"(state));
    return n;
}}
extern "C" __global__ void phases(unsigned* out)
{{
    __shared__ u64 bar;
    if (threadIdx.x == 0) {{
        init(&bar, 5);
        for (int turn = 0; turn < 4; ++turn) {{
            *out++ = test(&bar, 0); *out++ = test(&bar, 1);
            *out++ = pending(arrive(&bar, 2));
            *out++ = test(&bar, turn % 2);
            *out++ = pending(arrive(&bar, 3));
            *out++ = test(&bar, 0); *out++ = test(&bar, 1);
        }}
        asm volatile("mbarrier.arrive_drop.shared::cta.b64 _, [%0];" :: "r"(at(&bar)) : "memory");
        arrive(&bar, 4);
        *out++ = test(&bar, 0);
        *out++ = pending(arrive(&bar, 4));
        *out++ = test(&bar, 1);
    }}
}}
"""

    def reference(args: list) -> dict:
        found = []
        for turn in range(4):
            before = [0, 1] if turn % 2 == 0 else [1, 0]
            found += [*before, 5, 0, 3, *before[::-1]]
        return {0: np.array([*found, 1, 4, 1], np.uint32)}

    return Case(
        "mbarrier.phases",
        source,
        "phases",
        lambda: [poison(31, np.uint32)],
        (1,),
        (32,),
        reference,
        options=OPTIONS,
    )


def cluster_case() -> Case:
    """Two clusters of four blocks: their numbers, remote loads, stores, arrivals, and a copy to all blocks at once."""
    source = f"""{COMMON}
extern "C" __global__ void __cluster_dims__(4, 1, 1) neighbours(const __grid_constant__ Map map, unsigned* out)
{{
    __shared__ alignas(128) unsigned tile[4 * 32];
    __shared__ unsigned mine[32], given[32];
    __shared__ u64 bar, came;
    unsigned rank, size, id, there, value, t = threadIdx.x;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(id));
    mine[t] = 1000 * blockIdx.x + t;
    if (t == 0) {{
        init(&bar, 1);
        init(&came, 32 * 4);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }}
    cluster_sync();
    unsigned next = (rank + 1) % size;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(&mine[t])), "r"(next));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(there) : "memory");
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(&given[t])), "r"(next));
    asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(there), "r"(rank * 100 + t) : "memory");
    for (unsigned block = 0; block < size; ++block) {{
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(&came)), "r"(block));
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(there) : "memory");
    }}
    asm volatile("{{\\n.reg .pred p;\\nagain:\\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0;\\n"
                 "@!p bra again;\\n}}" :: "r"(at(&came)) : "memory");
    if (t == 0) {{
        expect(&bar, sizeof tile);
        asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1, {{%3}}], [%2], %4;" :: "r"(at(tile + 32 * rank)), "l"(&map), "r"(at(&bar)),
                     "r"(32 * (id * 4 + rank)), "h"((unsigned short)15) : "memory");
    }}
    wait(&bar, 0);
    out += blockIdx.x * 7 * 32;
    out[t] = rank * 16 + size * 4 + id;
    out[32 + t] = value;
    out[64 + t] = given[t];
    for (int i = 0; i < 4; ++i) out[96 + 32 * i + t] = tile[32 * i + t];
    cluster_sync();
}}
"""
    values = np.arange(8 * 32, dtype=np.uint32) * 3

    def make() -> list:
        return [TensorMap(values.copy(), (32,)), poison(8 * 7 * 32, np.uint32)]

    def reference(args: list) -> dict:
        found, t = np.zeros((8, 7, 32), np.uint32), np.arange(32)
        for block in range(8):
            rank, first = block % 4, block // 4 * 4
            found[block, 0] = rank * 16 + 16 + block // 4
            found[block, 1] = 1000 * (first + (rank + 1) % 4) + t
            found[block, 2] = (rank - 1) % 4 * 100 + t
            found[block, 3:] = values.reshape(8, 32)[first : first + 4]
        return {1: found.ravel()}

    return Case("cluster.neighbours", source, "neighbours", make, (8,), (32,), reference, options=OPTIONS)


# --------------------------------------------------------------------------- reductions, copies between blocks

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
    "f16": "f2",
    "f32": "f4",
    "f64": "f8",
    "u32": "u4",
    "s32": "i4",
    "u64": "u8",
    "s64": "i8",
    "b32": "u4",
    "b64": "u8",
}
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


def copies_at_mbarrier_case() -> Case:
    """cp.async.mbarrier.arrive: with it counted by the phase (noinc), and without."""
    source = f"""{COMMON}
extern "C" __global__ void late_arrivals(unsigned* out, const unsigned* in)
{{
    __shared__ alignas(16) unsigned tile[2][256];
    __shared__ u64 bar[2];
    int t = threadIdx.x;
    if (t == 0) {{ init(&bar[0], 64); init(&bar[1], 64); }}
    __syncthreads();
    for (int turn = 0; turn < 4; ++turn) {{
        for (int i = 0; i < 2; ++i)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                         :: "r"(at(&tile[i][4 * t])), "l"(in + turn * 512 + i * 256 + 4 * t) : "memory");
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(at(&bar[0])) : "memory");
        asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" :: "r"(at(&bar[1])) : "memory");
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(&bar[1])) : "memory");
        wait(&bar[turn % 2], turn % 2);
        wait(&bar[1 - turn % 2], turn % 2);
        for (int i = t; i < 512; i += 64) out[turn * 512 + i] = tile[i / 256][i % 256 ^ 85];
        __syncthreads();
    }}
}}
"""
    given = np.arange(2048, dtype=np.uint32) * 3 + 1
    expected = given.reshape(-1, 256)[:, np.arange(256) ^ 85].ravel()
    return Case(
        "mbarrier.copies", source, "late_arrivals", lambda: [poison(2048, np.uint32), given.copy()], (1,), (64,),
        lambda args: {0: expected}, options=OPTIONS,
    )  # fmt: skip


def box_of_clusters_case() -> Case:
    """Clusters in three dimensions: their numbers, and a message to the next block by release and acquire."""
    grid, cluster = np.array((4, 2, 4)), np.array((2, 2, 2))
    source = f"""{COMMON}
extern "C" __global__ void __cluster_dims__(2, 2, 2) box_of_clusters(unsigned* out)
{{
    __shared__ unsigned given, flag;
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z), given_there, flag_there, seen = 0;
    given = flag = 0;
    cluster_sync();
    out += block * 10;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(out[0]));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(out[1]));
    asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(out[2]));
    asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(out[3]));
    asm("mov.u32 %0, %%cluster_ctaid.z;" : "=r"(out[4]));
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(out[5]));
    asm("mov.u32 %0, %%clusterid.y;" : "=r"(out[6]));
    asm("mov.u32 %0, %%clusterid.z;" : "=r"(out[7]));
    asm("mov.u32 %0, %%nclusterid.z;" : "=r"(out[8]));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(given_there) : "r"(at(&given)), "r"((out[0] + 1) % out[1]));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(flag_there) : "r"(at(&flag)), "r"((out[0] + 1) % out[1]));
    asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(given_there), "r"(block) : "memory");
    asm volatile("st.release.cluster.shared::cluster.u32 [%0], 1;" :: "r"(flag_there) : "memory");
    while (!seen) asm volatile("ld.acquire.cluster.shared::cta.u32 %0, [%1];" : "=r"(seen) : "r"(at(&flag)) : "memory");
    out[9] = given;
    cluster_sync();
}}
"""

    def reference(args: list) -> dict:
        x, y, z = (part.ravel() for part in np.meshgrid(*map(np.arange, grid), indexing="ij"))
        place = np.stack([x, y, z], axis=1)
        place = place[np.lexsort(place.T)]  # x is the fastest
        inside, whole = place % cluster, place // cluster
        rank = inside @ (1, 2, 4)
        of = {(*w, r): number for number, (w, r) in enumerate(zip(whole.tolist(), rank.tolist()))}
        before = [of[(*w, (r - 1) % 8)] for w, r in zip(whole.tolist(), rank.tolist())]
        columns = [rank, 0 * rank + 8, *inside.T, *whole.T, 0 * rank + 2, before]
        return {0: np.stack(columns, axis=1).astype(np.uint32).ravel()}

    return Case(
        "cluster.three_dimensions", source, "box_of_clusters", lambda: [poison(320, np.uint32)], (4, 2, 4), (1,),
        reference, options=OPTIONS,
    )  # fmt: skip


SENT = {  # name: what a thread sends to its place in the neighbour, which has 100 + t, and what is there then
    "st.u32": ("SEND(row, t)", lambda t: t),
    "st.v2.u32": ("if (t % 2 == 0) SEND_2(row, t)", lambda t: t),
    "st.v4.u32": ("if (t % 4 == 0) SEND_4(row, t)", lambda t: t),
    "st.b64": ("if (t % 2 == 0) SEND_LONG(row, t | (u64)(t + 1) << 32)", lambda t: t),
    "red.add.u32": ('RED(row, t, "add.u32")', lambda t: 100 + 2 * t),
    "red.add.s32": ('RED(row, -t, "add.s32")', lambda t: 100 + 0 * t),
    "red.min.s32": ('RED(row, 8 - t, "min.s32")', lambda t: 8 - t),
    "red.min.u32": ('RED(row, 8 - t, "min.u32")', lambda t: np.where(t > 8, 100 + t, 8 - t)),
    "red.max.s32": ('RED(row, 8 - t, "max.s32")', lambda t: 100 + t),
    "red.max.u32": ('RED(row, 8 - t, "max.u32")', lambda t: np.where(t > 8, 8 - t, 100 + t)),
    "red.inc.u32": ('RED(row, 110, "inc.u32")', lambda t: np.where(t >= 10, 0, 101 + t)),
    "red.dec.u32": ('RED(row, 110, "dec.u32")', lambda t: np.where(t > 10, 110, 99 + t)),
    "red.and.b32": ('RED(row, 30, "and.b32")', lambda t: 100 + t & 30),
    "red.or.b32": ('RED(row, 30, "or.b32")', lambda t: 100 + t | 30),
    "red.xor.b32": ('RED(row, 30, "xor.b32")', lambda t: 100 + t ^ 30),
}


def sends_case() -> Case:
    """Stores and reductions into the other block that its mbarrier counts, and a plain copy for both blocks."""
    sends = "\n".join(
        f"    {{ unsigned row = there + {128 * i}; {how}; }}" for i, (how, _) in enumerate(SENT.values())
    )
    kind = "shared::cluster.mbarrier::complete_tx::bytes"
    source = f"""{COMMON}
#define SEND(to, v) asm volatile("st.async.{kind}.u32 [%0], %1, [%2];" :: "r"(to), "r"(v), "r"(counts) : "memory")
#define SEND_2(to, v) asm volatile("st.async.{kind}.v2.u32 [%0], {{%1, %2}}, [%3];" \\
    :: "r"(to), "r"(v), "r"(v + 1), "r"(counts) : "memory")
#define SEND_4(to, v) asm volatile("st.async.{kind}.v4.u32 [%0], {{%1, %2, %3, %4}}, [%5];" \\
    :: "r"(to), "r"(v), "r"(v + 1), "r"(v + 2), "r"(v + 3), "r"(counts) : "memory")
#define SEND_LONG(to, v) asm volatile("st.async.{kind}.b64 [%0], %1, [%2];" :: "r"(to), "l"(v), "r"(counts) : "memory")
#define RED(to, v, what) asm volatile("red.async.relaxed.cluster.{kind}." what " [%0], %1, [%2];" \\
    :: "r"(to), "r"(v), "r"(counts) : "memory")
extern "C" __global__ void __cluster_dims__(2, 1, 1) sends(unsigned* out, const unsigned* in)
{{
    __shared__ alignas(16) unsigned rows[{len(SENT)}][32], both[64];
    __shared__ u64 bar;
    int t = threadIdx.x;
    unsigned there, counts;
    for (int i = 0; i < {len(SENT)}; ++i) rows[i][t] = 100 + t;
    if (t == 0) {{
        init(&bar, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        expect(&bar, sizeof(rows) + sizeof(both));
    }}
    cluster_sync();
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(&rows[0][t])), "r"(1 - blockIdx.x));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(counts) : "r"(at(&bar)), "r"(1 - blockIdx.x));
{sends}
    if (t == 0 && blockIdx.x == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                     " [%0], [%1], %2, [%3], %4;"
                     :: "r"(at(both)), "l"(in), "r"((int)sizeof(both)), "r"(at(&bar)), "h"((short)3) : "memory");
    asm volatile("{{\\n.reg .pred p;\\nagain:\\n"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0;\\n@!p bra again;\\n}}"
                 :: "r"(at(&bar)) : "memory");
    out += blockIdx.x * (sizeof(rows) + sizeof(both)) / 4;
    for (int i = 0; i < {len(SENT)}; ++i) out[i * 32 + t] = rows[i][t];
    for (int i = t; i < 64; i += 32) out[{32 * len(SENT)} + i] = both[i];
    cluster_sync();
}}
"""
    given, t = np.arange(64, dtype=np.uint32) * 5 + 3, np.arange(32)
    one = np.concatenate([*((then(t) & 0xFFFFFFFF).astype(np.uint32) for _, then in SENT.values()), given])
    return Case(
        "cluster.sends", source, "sends", lambda: [poison(2 * one.size, np.uint32), given.copy()], (2,), (32,),
        lambda args: {0: np.tile(one, 2)}, options=OPTIONS,
    )  # fmt: skip


CASES = [
    *(wgmma_case(group) for group in GROUPS),
    stmatrix_case(),
    *(load_case(rank, "uint16", 0) for rank in range(1, 6)),
    *(load_case(2, "uint16", swizzle) for swizzle in (32, 64, 128)),
    *(load_case(2, dtype, 0) for dtype in ("uint8", "float32", "float64")),
    load_case(3, "float32", 128),
    store_case(),
    mbarrier_case(),
    cluster_case(),
    reductions_case(),
    neighbour_reductions_case(),
    *(tensor_reduction_case("add", dtype) for dtype in ("float16", "float32", "int32")),
    *(tensor_reduction_case(name, "int32") for name in ("min", "max", "and", "or", "xor")),
    *(tensor_reduction_case(name, "uint32") for name in ("inc", "dec")),
    copies_at_mbarrier_case(),
    box_of_clusters_case(),
    sends_case(),
]
