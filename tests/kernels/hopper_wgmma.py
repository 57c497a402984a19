"""Every form of wgmma and of stmatrix.

Inputs are small whole numbers, so that sums are exact in every format and a GPU must agree bit for bit.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from ptxsim.instructions.descriptors import chunks_of
from tests.kernels.case import Case, poison, random, to_bf16
from tests.kernels.hopper_common import COMMON, OPTIONS

K_OF = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32}
BITS = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1}
MODES = {0: 0, 128: 1, 64: 2, 32: 3}  # swizzle of so many bytes: bits 62 and 63 of a descriptor
EIGHTS = {
    "e4m3": {0: 0, 1: 0x38, 2: 0x40, -1: 0xB8, -2: 0xC0},
    "e5m2": {0: 0, 1: 0x3C, 2: 0x40, -1: 0xBC, -2: 0xC0},
}


@dataclass(frozen=True)
class Form:
    """One wgmma: n, types of the sums, of A and of B; their swizzles in bytes; which of them are turned."""

    n: int = 64
    to: str = "f32"
    a: str = "f16"
    b: str = "f16"
    swizzles: tuple[int, int] = (128, 128)
    turned: tuple[int, int] = (0, 0)
    from_registers: bool = False
    signs: tuple[int, int] = (1, 1)
    add: int = 1


SIZES = {f"n{n}": Form(n) for n in range(8, 257, 8)}
LAYOUTS = {
    f"{a}{'t' if ta else ''}-{b}{'t' if tb else ''}": Form(swizzles=(a, b), turned=(ta, tb))
    for (a, b) in ((0, 0), (32, 32), (64, 64), (128, 128), (0, 128), (64, 32))
    for ta, tb in product((0, 1), (0, 1))
}
KINDS = {
    "bf16": Form(a="bf16", b="bf16"),
    "bf16-turned": Form(a="bf16", b="bf16", turned=(1, 1)),
    "tf32": Form(a="tf32", b="tf32"),
    **{
        f"{a}-{b}": Form(a=a, b=b, swizzles=(128, 64)) for a, b in product(("e4m3", "e5m2"), ("e4m3", "e5m2"))
    },
    "f16-sums": Form(to="f16"),
    "e4m3-f16-sums": Form(to="f16", a="e4m3", b="e4m3"),
    "registers": Form(swizzles=(0, 128), from_registers=True),
    "registers-turned": Form(swizzles=(0, 128), turned=(0, 1), from_registers=True),
    **{
        f"registers-{a}": Form(a=a, b=a, swizzles=(0, 128), from_registers=True)
        for a in ("bf16", "tf32", "e4m3")
    },
    "minus-a": Form(signs=(-1, 1)),
    "minus-b": Form(signs=(1, -1)),
    "no-sums-before": Form(add=0),
}
GROUPS = {"wgmma.n": SIZES, "wgmma.layouts": LAYOUTS, "wgmma.types": KINDS}


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


def wgmma_text(form: Form) -> str:
    """One wgmma, its sums given to `out`."""
    n, to, trans, from_registers = form.n, form.to, form.turned, form.from_registers
    sums = n // 2 if to == "f32" else n // 4
    letter, c_type = ("f", "float") if to == "f32" else ("r", "unsigned")
    d = ", ".join(f"%{i}" for i in range(sums))
    a = "{%" + ", %".join(str(sums + i) for i in range(4)) + "}" if from_registers else f"%{sums}"
    b = f"%{sums + 4}" if from_registers else f"%{sums + 1}"
    ins = ", ".join(f'"r"(ra[{i}])' for i in range(4)) if from_registers else '"l"(da)'
    both = K_OF[form.a] == 16
    more = (f", {trans[1]}" if from_registers else f", {trans[0]}, {trans[1]}") if both else ""
    return f"""{{
    {c_type} d[{sums}];
    for (int i = 0; i < {sums}; ++i) d[i] = {"threadIdx.x % 4 + i % 3" if to == "f32" else "0x3C003C00"};
    for (int i = 0; i < {sums}; ++i) asm volatile("" : "+{letter}"(d[i]) :: "memory");     // written before the fence
    {'for (int i = 0; i < 4; ++i) asm volatile("" : "+r"(ra[i]) :: "memory");' if from_registers else ""}
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n{n}k{K_OF[form.a]}.{to}.{form.a}.{form.b} {{{d}}}, {a}, {b}, "
                 "{form.add}, {form.signs[0]}, {form.signs[1]}{more};"
                 : {", ".join(f'"+{letter}"(d[{i}])' for i in range(sums))} : {ins}, "l"(db));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < {sums}; ++i) (({c_type}*)out)[threadIdx.x * {sums} + i] = d[i];
    out += 128 * {sums};
}}
"""


def operands(name: str, form: Form) -> tuple[np.ndarray, np.ndarray]:
    numbers = random(len(name) + form.n)
    return numbers.randint(-2, 3, (64, K_OF[form.a])), numbers.randint(-2, 3, (form.n, K_OF[form.a]))


def sums_of(form: Form, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """What each of 128 threads holds afterwards (PTX ISA, "Register Fragments for wgmma")."""
    C = form.signs[0] * form.signs[1] * (A @ B.T)
    thread, i = np.arange(128)[:, None], np.arange(form.n // 2)[None, :]
    rows = thread // 32 * 16 + thread % 32 // 4 + 8 * (i // 2 % 2)
    found = C[rows, 8 * (i // 4) + 2 * (thread % 4) + i % 2]
    if form.to == "f16":
        return (found + form.add).astype(np.float16).view(np.uint32)
    return (found + form.add * (thread % 4 + i % 3)).astype(np.float32).view(np.uint32)


def a_registers(kind: str, A: np.ndarray) -> np.ndarray:
    """The four registers of each of 128 threads that hold A (PTX ISA, the same section)."""
    each = 4 // BITS[kind]
    raw = bits_of(A, kind)
    thread, i = np.arange(128)[:, None], np.arange(4 * each)[None, :]
    register = i // each
    rows = thread // 32 * 16 + thread % 32 // 4 + 8 * (register % 2)
    columns = thread % 4 * each + i % each + 4 * each * (register // 2)
    return np.ascontiguousarray(raw[rows, columns]).view(np.uint32).reshape(128, 4)


def wgmma_case(group: str) -> Case:
    images, where, registers, expected, steps, at = [], [], [], [], "", 0
    for name, form in GROUPS[group].items():
        A, B = operands(name, form)
        of_a, of_b = (
            (*each, bool(turned)) for *each, turned in zip((form.a, form.b), form.swizzles, form.turned)
        )
        image_a, da = (np.zeros(0, np.uint8), 0) if form.from_registers else placed(A, *of_a)
        image_b, db = placed(B, *of_b)
        where.append([da, db, at // 16, len(image_a) // 16, len(image_b) // 16])
        images += [image_a, image_b]
        at += len(image_a) + len(image_b)
        registers.append(a_registers(form.a, A) if form.from_registers else np.zeros((128, 4), np.uint32))
        expected.append(sums_of(form, A, B))
        steps += f"""
    for (int i = threadIdx.x; i < w[3] + w[4]; i += 128) tile[i] = image[w[2] + i];
    for (int i = 0; i < 4; ++i) ra[i] = fragments[threadIdx.x * 4 + i];
    fence_async();
    __syncthreads();
    da = w[0] | at(tile) / 16; db = w[1] | at(tile + w[3]) / 16;
    {wgmma_text(form)}
    w += 5; fragments += 512;
    __syncthreads();"""
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

    def make() -> list:
        total = sum(each.size for each in expected)
        numbers = np.array(where, np.uint64)
        return [poison(total, np.uint32), np.concatenate(images), numbers, np.concatenate(registers)]

    reference = {0: np.concatenate([each.ravel() for each in expected])}
    return Case(group, source, "wgmma_forms", make, (1,), (128,), lambda args: reference, options=OPTIONS)


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


CASES = [*map(wgmma_case, GROUPS), stmatrix_case()]
