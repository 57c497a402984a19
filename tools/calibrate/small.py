"""Small kernels: each repeats one machine instruction in a loop, and notes the clock before and behind it.

PTX is not what runs: ptxas merges additions, drops moves and splits wide operations. So each kernel says which machine
instruction it is about and how many of them stand in its loop, and a test reads both in the machine code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FRAME = r"""
extern "C" __global__ void small(float* memory, long long* clocks, float* sink, int turns, int zero)
{
    extern __shared__ __align__(128) unsigned char shared[];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int i = threadIdx.x; i < BYTES / 16; i += blockDim.x) ((int4*)shared)[i] = make_int4(zero, zero, zero, zero);
    unsigned here = (unsigned)__cvta_generic_to_shared(shared);
    SETUP
    __syncthreads();
    long long begin = clock64();
    #pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {
        BODY
    }
    AFTER
    long long end = clock64();
    if (lane == 0) {
        long long* mine = clocks + (blockIdx.x * (blockDim.x / 32) + warp) * 2;
        mine[0] = begin;
        mine[1] = end;
    }
    if (turns < 0) sink[threadIdx.x] = RESULT;
}
"""
BYTES = 32 << 10  # of shared memory, zeros
REACH = 1 << 16  # floats of global memory that a block reads or writes
SOME, MANY = (1, 4, 8), (1, 4, 8, 16, 32)  # warps
ONE = (1,)


@dataclass(frozen=True)
class Small:
    """A kernel whose loop holds `times` of a machine instruction. `opcode`: its name, and the modifiers that matter.
    `warps`: with how many of them it is measured. `everywhere`: also on all SMs at once, since they share what it
    needs."""

    name: str
    opcode: str
    times: int
    setup: str
    body: str
    result: str = "0"
    after: str = ""
    warps: tuple[int, ...] = MANY
    everywhere: bool = False
    hopper: bool = False  # what only compute capability 9.0 has

    @property
    def source(self) -> str:
        text = FRAME.replace("BYTES", str(BYTES)).replace("SETUP", self.setup).replace("BODY", self.body)
        return text.replace("AFTER", self.after).replace("RESULT", self.result)


VALUES = 16  # registers that a kernel works on in turn


def floats() -> str:
    return (
        " ".join(f"float f{i} = zero + {i}.5f;" for i in range(VALUES))
        + " float x = zero + 1.5f, y = zero + 0.25f;"
    )


def integers() -> str:
    return (
        " ".join(f"int i{i} = zero + {i} * lane;" for i in range(VALUES)) + " int p = lane + 3, q = lane + 5;"
    )


def sum_of(letter: str) -> str:
    return " + ".join(f"{letter}{i}" for i in range(VALUES))


def on_floats(text: str, times: int, one: bool = False) -> str:
    """%0 is one of the VALUES, %1 and %2 stay. `one`: always the same value, so that each waits for the one before."""
    return "".join(
        f'asm volatile("{text}" : "+f"(f{0 if one else i % VALUES}) : "f"(x), "f"(y));' for i in range(times)
    )


def on_integers(text: str, times: int, one: bool = False) -> str:
    """As on_floats; %3 is the value after %0, so that no two operations can be merged into one."""
    return "".join(
        f'asm volatile("{text}" : "+r"(i{0 if one else i % VALUES}) : "r"(p), "r"(q), "r"(i{(i + 1) % VALUES}));'
        for i in range(times)
    )


WIDTHS = {32: ("u32 %0", 1), 64: ("v2.u32 {%0, %1}", 2), 128: ("v4.u32 {%0, %1, %2, %3}", 4)}
VECTOR = "unsigned v0, v1, v2, v3, all = 0;"


def loads(text: str, count: int, address: str, offsets: list[int], dependent: bool) -> str:
    """A load of `count` registers from each offset; its values are used, or ptxas would drop it. `dependent`: each load
    takes its address from the one before, which is all zeros."""
    outputs = ", ".join(f'"=r"(v{i})' for i in range(count))
    kind = "l" if address == "from" else "r"
    used = f"{address} += v0;" if dependent else f"all ^= {' ^ '.join(f'v{i}' for i in range(count))};"
    one = f'asm volatile("{text}" : {outputs} : "{kind}"({address}) : "memory"); {used}'
    return f"{address} += zero;" + "".join(one.replace("OFFSET", str(offset)) for offset in offsets)


def shared_loads(bits: int, times: int, dependent: bool = False) -> str:
    kind, count = WIDTHS[bits]
    vector, values = kind.split(" ", 1)
    offsets = [0 if dependent else 512 * i for i in range(times)]
    return loads(f"ld.shared.{vector} {values}, [%{count} + OFFSET];", count, "at", offsets, dependent)


def matrices(times: int, count: int, dependent: bool = False) -> str:
    values = ", ".join(f"%{i}" for i in range(count))
    text = f"ldmatrix.sync.aligned.m8n8.x{count}.shared.b16 {{{values}}}, [%{count} + OFFSET];"
    offsets = [0 if dependent else 512 * i for i in range(times)]
    return loads(text, count, "at", offsets, dependent)


def shared_stores(bits: int, times: int) -> str:
    kind, count = WIDTHS[bits]
    vector = kind.split(" ", 1)[0]
    values = "%1" if count == 1 else "{" + ", ".join(["%1"] * count) + "}"
    return "".join(
        f'asm volatile("st.shared.{vector} [%0 + {512 * i}], {values};" :: "r"(at), "r"(zero) : "memory");'
        for i in range(times)
    )


def global_loads(bits: int, how: str, times: int, dependent: bool = False) -> str:
    """`how`: "ca" finds its data in L1, "cg" asks L2."""
    kind, count = WIDTHS[bits]
    vector, values = kind.split(" ", 1)
    apart = 4096 if how == "ca" else 16384  # bytes
    offsets = [0 if dependent else apart * i for i in range(times)]
    return loads(
        f"ld.global.{how}.{vector} {values}, [%{count} + OFFSET];", count, "from", offsets, dependent
    )


def products(times: int, chains: int) -> str:
    """m16n8k16 of 16-bit inputs with float32 sums; `chains` sums in turn."""
    return "".join(
        'asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 '
        '{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" '
        f': "+f"(f{4 * i}), "+f"(f{4 * i + 1}), "+f"(f{4 * i + 2}), "+f"(f{4 * i + 3}) '
        ': "r"(p), "r"(q), "r"(p), "r"(q), "r"(p), "r"(q));'
        for i in (n % chains for n in range(times))
    )


def halves(times: int) -> str:
    """Two floats made one register of 16-bit numbers."""
    return "".join(
        f'asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(f{i % VALUES}), "f"(x)); '
        f"f{i % VALUES} = __int_as_float(v);"
        for i in range(times)
    )


OUTER = "float a[8], b[8], c[8][8] = {};"
PRODUCT = """
        const float4* from = (const float4*)(shared + lane % 8 * 16) + turn * zero;
        *(float4*)&a[0] = from[0];
        *(float4*)&a[4] = from[8];
        *(float4*)&b[0] = from[16];
        *(float4*)&b[4] = from[24];
        #pragma unroll
        for (int j = 0; j < 8; ++j)
            for (int i = 0; i < 8; ++i) c[j][i] += a[i] * b[j];
"""  # what a thread does in a float32 GEMM
ALL_SUMS = " + ".join(f"c[{j}][{i}]" for j in range(8) for i in range(8))


def warpgroup_setup(n: int) -> str:
    """The sums of 64 x n products, and two matrices without swizzle in shared memory (PTX ISA, Matrix Descriptor)."""
    return f"""
    float f[{n // 2}] = {{}};
    auto matrix = [&](unsigned offset) {{
        return (unsigned long long)((here + offset) >> 4 & 0x3fff) | 128ull / 16 << 16 | 256ull / 16 << 32;
    }};
    unsigned long long A = matrix(0), B = matrix(8192);
    asm volatile("fence.proxy.async;" ::: "memory");  // the zeros, for the tensor cores"""


def warpgroup_products(times: int, n: int) -> str:
    """m64n<n>k16 of 16-bit inputs in shared memory, with float32 sums, one group on its way."""
    sums = ", ".join(f"%{i}" for i in range(n // 2))
    kept = ", ".join(f'"+f"(f[{i}])' for i in range(n // 2))
    one = (
        f'asm volatile("wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16 {{{sums}}}, %{n // 2}, %{n // 2 + 1}, '
        f'1, 1, 1, 0, 0;" : {kept} : "l"(A), "l"(B));'
    )
    begin = 'asm volatile("wgmma.fence.sync.aligned;" ::: "memory");'
    end = 'asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;" ::: "memory");'
    return begin + one * times + end


def at(stride: int, apart: int = 0) -> str:
    """The address of a lane's first access, `stride` bytes from its neighbour's."""
    return f"unsigned at = here + lane * {stride} % 16384 + warp * {apart};"


def place(floats_apart: int, warps_apart: int) -> str:
    return f"const float* from = memory + (size_t)blockIdx.x * {REACH} + lane * {floats_apart} + warp * {warps_apart};"


def sums(count: int) -> str:
    return " ".join(f"float f{i} = zero;" for i in range(count)) + " unsigned p = zero, q = zero;"


def copies(how: str, times: int, size: int) -> str:
    return "".join(
        f'asm volatile("cp.async.{how}.shared.global [%0 + {512 * i}], [%1 + {16384 * i}], {size};" '
        ':: "r"(at), "l"(from) : "memory");'
        for i in range(times)
    )


def of_floats(name: str, text: str, times: int = 64) -> Small:
    """An instruction on floats; "dependent" in its name: each on the result of the one before, with a single warp."""
    one = "dependent" in name
    return _arithmetic(name, floats(), on_floats(text, times, one), times, sum_of("f"), one)


def of_integers(name: str, text: str, times: int = 64) -> Small:
    """An instruction on integers, as of_floats."""
    one = "dependent" in name
    return _arithmetic(name, integers(), on_integers(text, times, one), times, sum_of("i"), one)


def _arithmetic(name: str, setup: str, body: str, times: int, result: str, one: bool) -> Small:
    return Small(name, re.match(r"\w+", name)[0], times, setup, body, result, warps=ONE if one else MANY)


def opcode_of(name: str) -> str:
    """ "LDS" of "LDS.32", "LDS.128" of "LDS.128", "LDSM.4" of "LDSM.x4": as nvdisasm writes the width."""
    operation, _, width = re.match(r"\w+(?:\.x?\d+)?", name)[0].replace("x", "").partition(".")
    return operation if width in ("", "1", "32") else f"{operation}.{width}"


def in_shared(name: str, body: str, lane_bytes: int) -> Small:
    """16 instructions on shared memory, whose lanes are so many bytes apart."""
    one = "dependent" in name
    setup, result = VECTOR + at(lane_bytes), "at" if one else "all"
    return Small(name, opcode_of(name), 16, setup, body, result, warps=ONE if one else MANY)


def in_global(name: str, body: str, lane_floats: int, warp_floats: int = 0, times: int = 8) -> Small:
    """Instructions on global memory, whose lanes and warps are so many floats apart."""
    one = "dependent" in name
    setup, result = VECTOR + place(lane_floats, warp_floats), "(size_t)from" if one else "all"
    warps, everywhere = ONE if one else MANY, not one and "in L1" not in name
    return Small(name, opcode_of(name), times, setup, body, result, warps=warps, everywhere=everywhere)


def copying(name: str, body: str, lane_bytes: int) -> Small:
    """Eight cp.async of each lane."""
    setup = at(lane_bytes, 512) + place(lane_bytes // 4, 8 * lane_bytes)
    return Small(name, opcode_of(name), 8, setup, body, after=LANDED, everywhere=True)


def warpgroup(n: int) -> Small:
    result = " + ".join(f"f[{i}]" for i in range(0, n // 2, 8))
    setup, body = warpgroup_setup(n), warpgroup_products(8, n)
    return Small(f"HGMMA.64x{n}x16", "HGMMA", 8, setup, body, result, FINISHED, warps=(4, 8), hopper=True)


def tensor(chains: int) -> Small:
    """HMMA on so many sums in turn."""
    name, result = f"HMMA.16816.F32, {chains} sums", " + ".join(f"f{i}" for i in range(4 * chains))
    return Small(name, "HMMA", 32, sums(4 * chains), products(32, chains), result)


LANDED = 'asm volatile("cp.async.wait_all;" ::: "memory");'
FINISHED = 'asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");'
STORE_16 = (
    'asm volatile("st.global.v4.u32 [%0 + OFFSET], {%1, %1, %1, %1};" :: "l"(from), "r"(zero) : "memory");'
)
ADD_SHARED = 'asm volatile("red.shared.add.u32 [%0], %1;" :: "r"(at), "r"(lane) : "memory");'
SYNC = 'asm volatile("bar.sync 0;" ::: "memory");'

SMALL = (
    # ---- arithmetic
    of_floats("FFMA", "fma.rn.f32 %0, %1, %2, %0;"),
    of_floats("FFMA, dependent", "fma.rn.f32 %0, %1, %2, %0;"),
    Small("FFMA, outer product", "FFMA", 64, OUTER, PRODUCT, ALL_SUMS, warps=SOME),
    of_floats("FMUL", "mul.rn.f32 %0, %1, %0;"),
    of_floats("FADD", "add.rn.f32 %0, %1, %0;"),
    of_floats("MUFU.EX2", "ex2.approx.ftz.f32 %0, %0;", 32),
    of_floats("MUFU.EX2, dependent", "ex2.approx.ftz.f32 %0, %0;", 32),
    Small("F2FP", "F2FP", 32, floats() + " int v;", halves(32), sum_of("f")),
    of_integers("IADD3", "{ .reg .s32 t; add.s32 t, %0, %3; add.s32 %0, t, %1; }"),
    of_integers("LOP3", "lop3.b32 %0, %0, %3, %1, 0x96;"),
    of_integers("IMAD", "mad.lo.s32 %0, %0, %1, %2;"),
    of_integers("IMAD, dependent", "mad.lo.s32 %0, %0, %1, %2;"),
    of_integers("SHF", "shf.l.wrap.b32 %0, %0, %3, %1;"),
    of_integers("PRMT", "prmt.b32 %0, %0, %3, %1;", 32),
    of_integers("SHFL", "shfl.sync.idx.b32 %0, %0, %1, 31, -1;", 32),
    of_integers("SHFL, dependent", "shfl.sync.idx.b32 %0, %0, %1, 31, -1;", 32),
    # ---- tensor cores
    *(tensor(chains) for chains in (1, 2, 4, 8)),
    *(warpgroup(n) for n in (64, 128, 256)),
    # ---- shared memory; 2 ways: two words of a bank
    in_shared("LDS.32, dependent", shared_loads(32, 16, True), 4),
    *(in_shared(f"LDS.{bits}", shared_loads(bits, 16), bits // 8) for bits in WIDTHS),
    *(in_shared(f"LDS.32, {ways} ways", shared_loads(32, 16), 4 * ways) for ways in (2, 4, 8, 16, 32)),
    in_shared("LDS.32, one word", shared_loads(32, 16), 0),
    *(in_shared(f"STS.{bits}", shared_stores(bits, 16), bits // 8) for bits in WIDTHS),
    *(in_shared(f"LDSM.x{count}", matrices(16, count), 16) for count in (1, 2, 4)),
    in_shared("LDSM.x4, dependent", matrices(16, 4, True), 16),
    in_shared("ATOMS.ADD", ADD_SHARED * 16, 4),
    # ---- global memory, in L1 and in L2; 2 lines: of 128 bytes each
    in_global("LDG.32 in L1, dependent", global_loads(32, "ca", 16, True), 1, times=16),
    *(in_global(f"LDG.{bits} in L1", global_loads(bits, "ca", 8), bits // 32) for bits in WIDTHS),
    in_global("LDG.32 in L1, one word", global_loads(32, "ca", 8), 0),
    in_global("LDG.32 in L1, 2 lines", global_loads(32, "ca", 8), 2),
    in_global("LDG.32 in L1, 32 lines", global_loads(32, "ca", 8), 32),
    in_global("LDG.32 in L2, dependent", global_loads(32, "cg", 16, True), 1, times=16),
    *(in_global(f"LDG.{bits} in L2", global_loads(bits, "cg", 8), bits // 32, bits) for bits in WIDTHS),
    in_global("STG.128", "".join(STORE_16.replace("OFFSET", str(16384 * i)) for i in range(8)), 4, 128),
    # ---- copies to shared memory
    Small(
        "LDGSTS.128, waited for", "LDGSTS", 1, at(16) + place(4, 0), copies("cg", 1, 16) + LANDED, warps=ONE
    ),
    copying("LDGSTS.128", copies("cg", 8, 16), 16),
    copying("LDGSTS.32", copies("ca", 8, 4), 4),
    # ---- barriers, and reading the clock
    Small("BAR.SYNC", "BAR", 8, "", SYNC * 8),
    Small("CS2R", "CS2R", 8, "long long s = zero;", "s += clock64();" * 8, "s", warps=ONE),
)
