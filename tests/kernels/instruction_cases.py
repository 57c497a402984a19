"""One tiny kernel per PTX instruction, to be run on a GPU once and by the simulator in every test.

Each case runs as `kernel((1,), (n,), (out, *inputs))`: thread i applies one instruction, written as inline
PTX, to row i of a fixed table of edge cases and random bits. Inputs are bit patterns. Outputs are bit
patterns with every NaN made the same, or floats where a GPU only approximates the function. A few kernels of
one root share a source.
"""

import itertools
from dataclasses import dataclass

import numpy as np

ROWS = 128
STRIDES = (1, 7, 23, 29)
"""Of each operand through the edge values: different ones pair every edge with several others."""
KERNELS_PER_SOURCE = 8
INTS = ("s16", "u16", "s32", "u32", "s64", "u64")
LONG = ("s32", "u32", "s64", "u64")
MODES = ("rn", "rz", "rm", "rp")
INTEGRAL = ("rni", "rzi", "rmi", "rpi")
FLOAT_TESTS = ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]
FRACTION_BITS = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}


@dataclass(frozen=True)
class InstructionCase:
    """One instruction on a table of operands. `tolerance` t accepts |got - want| <= t * max(1, |want|)."""

    name: str
    source: str
    own_source: str
    """Its kernel without the others that share `source`."""
    kernel: str
    inputs: tuple[np.ndarray, ...]
    output_dtype: np.dtype
    exact: bool
    tolerance: float


@dataclass(frozen=True)
class Form:
    """An instruction and the types of its operands; `asm` replaces the plain `name %0, %1, ...;`."""

    name: str
    output: str
    inputs: tuple[str, ...]
    asm: str = ""
    tolerance: float = 0.0
    table: str = "edges"
    """Which rows: "edges", "nonzero" (the last operand is never 0) or "moderate" (floats of everyday size)."""

    def __post_init__(self) -> None:
        if len(self.inputs) > len(STRIDES):
            raise ValueError(
                f"{self.name}: a case has at most {len(STRIDES)} operands that come from its table, not "
                f"{len(self.inputs)}. Write a constant one into `asm`, or give STRIDES one more"
            )

    @property
    def root(self) -> str:
        return self.name.split(".")[0]

    @property
    def kernel(self) -> str:
        return "try_" + "".join(c if c.isalnum() else "_" for c in self.name)

    @property
    def text(self) -> str:
        places = ", ".join(f"%{i}" for i in range(1 + len(self.inputs)))
        return self.asm or f"{self.name} {places};"


# --------------------------------------------------------------------------- CUDA source

PRELUDE = """
__device__ unsigned short same_nan(unsigned short x, unsigned short infinity) {
    return (x & 0x7fff) > infinity ? 0x7fff : x;
}
__device__ unsigned same_nan_pair(unsigned x, unsigned short infinity) {
    return same_nan(x & 0xffff, infinity) | unsigned(same_nan(x >> 16, infinity)) << 16;
}
__device__ unsigned same_nan(unsigned x) { return (x & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : x; }
__device__ unsigned long long same_nan(unsigned long long x) {
    return (x & 0x7fffffffffffffff) > 0x7ff0000000000000 ? 0x7fffffffffffffff : x;
}
"""


def width(kind: str) -> int:
    """Bits of the register that holds a value; 8-bit types travel in 32-bit registers."""
    if kind.endswith("x2") or kind in ("s8", "u8", "pred"):
        return 32
    return int("".join(c for c in kind.removeprefix("b") if c.isdigit()))


C_TYPE = {16: "unsigned short", 32: "unsigned", 64: "unsigned long long"}
ASM_LETTER = {16: "h", 32: "r", 64: "l"}
FROM_BITS = {"f32": "__uint_as_float(%s)", "f64": "__longlong_as_double(%s)"}
TO_BITS = {
    "f16": "same_nan(d, 0x7c00)",
    "bf16": "same_nan(d, 0x7f80)",
    "f16x2": "same_nan_pair(d, 0x7c00)",
    "bf16x2": "same_nan_pair(d, 0x7f80)",
    "f32": "same_nan(__float_as_uint(d))",
    "f64": "same_nan((unsigned long long)__double_as_longlong(d))",
}
REGISTER = {"f32": ("float", "f"), "f64": ("double", "d")}


def register(kind: str) -> tuple[str, str]:
    """C type and asm constraint of the register of a PTX type."""
    return REGISTER.get(kind, (C_TYPE[width(kind)], ASM_LETTER[width(kind)]))


def kernel_source(form: Form) -> str:
    # d is the result
    names = "abce"[: len(form.inputs)]
    parameters = ", ".join(f"const {C_TYPE[width(k)]}* {n}" for n, k in zip(names, form.inputs))
    values = (FROM_BITS.get(k, "%s") % f"{n}[i]" for n, k in zip(names, form.inputs))
    operands = ", ".join(f'"{register(k)[1]}"({value})' for k, value in zip(form.inputs, values))
    c_type, letter = register(form.output)
    result, out = (TO_BITS.get(form.output, "d"), C_TYPE[width(form.output)])
    if form.tolerance and form.output in REGISTER:
        result, out = "d", c_type
    return f"""
extern "C" __global__ void {form.kernel}({out}* out, {parameters}) {{
    int i = threadIdx.x;
    {c_type} d;
    asm volatile("{form.text}" : "={letter}"(d) : {operands});
    out[i] = {result};
}}
"""


# --------------------------------------------------------------------------- tables of operands


def edges(kind: str) -> list[int]:
    """Bit patterns that are likely to go wrong."""
    bits = width(kind)
    if kind.removesuffix("x2") in FRACTION_BITS:
        scalar = kind.removesuffix("x2")
        values = float_edges(scalar)
        return (
            [a | b << 16 for a, b in zip(values, values[5:] + values[:5])] if kind.endswith("x2") else values
        )
    top = 1 << bits - 1
    common = [0, 1, 2, 5, 8, 31, 32, 33, 63, 64, 127, 128, 255, 256]
    return [*common, top - 1, top, top + 1, 2 * top - 1, 2 * top - 2, 0x8765432112345678 % (2 * top)]


def float_edges(kind: str) -> list[int]:
    """Zero, subnormals, around 1, ties of integers (0.5, 1.5, 2.5), large, infinity, NaN; both signs."""
    fraction = FRACTION_BITS[kind]
    bits = width(kind)
    infinity = (1 << bits - 1) - (1 << fraction)
    one = (infinity >> 1) & ~((1 << fraction) - 1)
    step = 1 << fraction
    some = [0, 1, step - 1, step, step + 1, one - step, one - 1, one, one + 1, one + step // 2]
    some += [one + step + step // 4, one + 7 * step + 5, one - 9 * step + 3]
    some += [infinity - 1, infinity, infinity + step // 2]
    return some + [x | 1 << bits - 1 for x in some]


def operand_table(form: Form) -> tuple[np.ndarray, ...]:
    """Half edge values against each other, half random; the same for every form with the same types."""
    random = np.random.RandomState(20)
    columns = [_column(kind, i, form.table, random) for i, kind in enumerate(form.inputs)]
    if form.table == "nonzero":
        columns[-1][columns[-1] == 0] = 3
    return tuple(columns)


def _column(kind: str, position: int, table: str, random: np.random.RandomState) -> np.ndarray:
    dtype = np.dtype(f"u{width(kind) // 8}")
    if table == "moderate":
        return moderate(kind, random)
    values = np.array(edges(kind), np.uint64)
    picked = values[
        (np.arange(ROWS) * STRIDES[position] + np.arange(ROWS) // len(values) * position) % len(values)
    ]
    noise = random.randint(0, 256, (ROWS, 8)).astype(np.uint8).view(np.uint64).ravel()
    narrow = random.randint(0, 70, ROWS).astype(np.uint64)  # useful as shift amounts and lengths
    mixed = np.where(random.randint(0, 3, ROWS) == 0, narrow, noise)
    is_float = kind.removesuffix("x2") in FRACTION_BITS
    return np.where(np.arange(ROWS) % 2 == 0, picked, noise if is_float else mixed).astype(dtype)


def moderate(kind: str, random: np.random.RandomState) -> np.ndarray:
    """Floats between -3 and 3, with zero, infinity and NaN first."""
    dtype = {"f16": np.float16, "f16x2": np.float16, "f32": np.float32, "f64": np.float64}[kind]
    values = random.uniform(-3, 3, ROWS * (2 if kind == "f16x2" else 1)).astype(dtype)
    values[:6] = [0, -0.0, np.nan, 1, 0.5, 2]
    return values.view(f"u{width(kind) // 8}")


# --------------------------------------------------------------------------- forms


def plain(name: str, inputs: int, **more) -> Form:
    """All operands have the opcode's last type."""
    kind = name.split(".")[-1]
    return Form(name, kind, (kind,) * inputs, **more)


def integer_forms() -> list[Form]:
    forms = [plain(f"{op}.{t}", 2) for op in ("add", "sub", "mul.lo", "mul.hi", "min", "max") for t in INTS]
    forms += [plain(f"{op}.{t}", 2, table="nonzero") for op in ("div", "rem") for t in INTS]
    forms += [plain(f"{op}.{t}", 3) for op in ("mad.lo", "mad.hi", "sad") for t in INTS]
    forms += [plain(f"{op}.{t}", 1) for op in ("abs", "neg") for t in ("s16", "s32", "s64")]
    forms += [plain(name, 2) for name in ("add.sat.s32", "sub.sat.s32")]
    forms += [plain(name, 3) for name in ("mad.hi.sat.s32", "mad24.hi.sat.s32")]
    for t, wide in {"s16": "s32", "u16": "u32", "s32": "s64", "u32": "u64"}.items():
        forms += [Form(f"mul.wide.{t}", wide, (t, t)), Form(f"mad.wide.{t}", wide, (t, t, wide))]
    for part, t in itertools.product(("lo", "hi"), ("s32", "u32")):
        forms += [plain(f"mul24.{part}.{t}", 2), plain(f"mad24.{part}.{t}", 3)]
    for a, b in itertools.product(("s32", "u32"), repeat=2):
        result = "u32" if a == b == "u32" else "s32"
        forms += [Form(f"{op}.{a}.{b}", result, (a, b, result)) for op in ("dp4a", "dp2a.lo", "dp2a.hi")]
    for mode, t in itertools.product(("wrap", "clamp"), ("s32", "u32")):
        forms.append(Form(f"szext.{mode}.{t}", t, (t, "u32")))
    return forms + carry_forms()


def carry_forms() -> list[Form]:
    """Pairs that pass the carry on: the second instruction's result shows what the first one left."""
    forms = []
    for t in LONG:
        for first, second in {"add": "addc", "sub": "subc"}.items():
            text = f"{{{{ .reg .b{width(t)} x; {first}.cc.{t} x, %1, %2; {second}.cc.{t} x, %2, %1; "
            forms.append(Form(f"{first}.cc.{t}", t, (t, t), text + f"{second}.{t} %0, x, %2; }}}}"))
        for part in ("lo", "hi"):
            text = f"{{{{ .reg .b{width(t)} x; mad.{part}.cc.{t} x, %1, %2, %3; madc.{part}.cc.{t} x, %3, %1, x; "
            forms.append(
                Form(f"mad.{part}.cc.{t}", t, (t,) * 3, text + f"madc.{part}.{t} %0, %2, x, %3; }}}}")
            )
    return [Form(f.name, f.output, f.inputs, f.asm.replace("{{", "{").replace("}}", "}")) for f in forms]


def bit_forms() -> list[Form]:
    forms = [plain(f"{op}.{t}", 2) for op in ("and", "or", "xor") for t in ("b16", "b32", "b64")]
    forms += [plain(f"{op}.{t}", 1) for op in ("not", "cnot") for t in ("b16", "b32", "b64")]
    forms += [Form(f"shl.{t}", t, (t, "u32")) for t in ("b16", "b32", "b64")]
    forms += [Form(f"shr.{t}", t, (t, "u32")) for t in INTS]
    forms += [plain(f"shf.{way}.{mode}.b32", 3) for way in "lr" for mode in ("wrap", "clamp")]
    forms += [plain(f"bmsk.{mode}.b32", 2) for mode in ("wrap", "clamp")]
    forms += [Form(f"bfe.{t}", t, (t, "u32", "u32")) for t in LONG]
    forms += [Form(f"bfind{more}.{t}", "u32", (t,)) for t in LONG for more in ("", ".shiftamt")]
    for t in ("b32", "b64"):
        forms += [plain(f"brev.{t}", 1), Form(f"clz.{t}", "u32", (t,)), Form(f"popc.{t}", "u32", (t,))]
        for position, length in ((0, 8), (5, 20), (30, 40), (70, 3)):
            asm = f"bfi.{t} %0, %1, %2, {position}, {length};"
            forms.append(Form(f"bfi.{t} {position} {length}", t, (t, t), asm))
        forms.append(Form(f"bfi.{t}", t, (t, "u32", "u32"), f"bfi.{t} %0, %1, {0x5A5A5A5A}, %2, %3;"))
    for table in (0xE8, 0x96, 0x1B, 0x80, 0xFE, 0x3C):
        forms.append(Form(f"lop3.b32 {table:#x}", "b32", ("b32",) * 3, f"lop3.b32 %0, %1, %2, %3, {table};"))
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        forms.append(Form(f"prmt.b32{mode}", "b32", ("b32",) * 3))
    return forms


def compare_forms() -> list[Form]:
    forms = []
    for t in ("s16", "s32", "s64"):
        forms += [setp(f"setp.{test}.{t}", t) for test in FLOAT_TESTS[:6]]
    for t in ("u16", "u32", "u64"):
        forms += [setp(f"setp.{test}.{t}", t) for test in ("eq", "ne", "lo", "ls", "hi", "hs", "lt", "ge")]
    for t in ("f32", "f64", "f16", "f16x2"):
        forms += [setp(f"setp.{test}.{t}", t) for test in FLOAT_TESTS]
    forms += [
        setp(f"setp.lt.{combine}.{t}", t, True) for combine in ("and", "or", "xor") for t in ("s32", "f32")
    ]
    forms += [setp("setp.lt.ftz.f32", "f32"), setp("setp.equ.ftz.f32", "f32")]
    for t in ("s32", "u64", "f32", "f64"):
        forms += [
            Form(f"set.{test}.{out}.{t}", out, (t, t))
            for test in ("ne", "ge")
            for out in ("u32", "s32", "f32")
        ]
    forms += [Form(f"set.{test}.f16x2.f16x2", "f16x2", ("f16x2",) * 2) for test in ("ltu", "gt")]
    forms += [Form(f"set.{test}.f16.f16", "f16", ("f16",) * 2) for test in ("ltu", "gt")]
    for t in ("b16", "b32", "b64", "f32", "f64"):
        asm = f"{{ .reg .pred p; setp.ne.u32 p, %3, 0; selp.{t} %0, %1, %2, p; }}"
        forms.append(Form(f"selp.{t}", t, (t, t, "u32"), asm))
    forms += [Form(f"slct.{t}.s32", t, (t, t, "s32")) for t in ("u16", "b32", "u64", "f32", "f64")]
    forms += [Form(f"slct.{t}.f32", t, (t, t, "f32")) for t in ("b32", "f64")]
    for test, t in itertools.product(
        ["finite", "infinite", "number", "notanumber", "normal", "subnormal"], ("f32", "f64")
    ):
        asm = f"{{ .reg .pred p; testp.{test}.{t} p, %1; selp.u32 %0, 1, 0, p; }}"
        forms.append(Form(f"testp.{test}.{t}", "u32", (t,), asm))
    return forms


def setp(name: str, kind: str, combined: bool = False) -> Form:
    """The predicates of a setp as bits: p and q, or p alone for f16, which has no q."""
    third, condition = (", c", "setp.ne.u32 c, %3, 0; ") if combined else ("", "")
    both, more = ("p", "") if kind == "f16" else ("p|q", "@q add.u32 %0, %0, 2; ")
    asm = f"{{ .reg .pred p, q, c; {condition}{name} {both}, %1, %2{third}; selp.u32 %0, 1, 0, p; {more}}}"
    return Form(name, "u32", (kind, kind, "u32") if combined else (kind, kind), asm)


def convert_forms() -> list[Form]:
    small = ("s8", "u8", *INTS)
    forms = [cvt(f"cvt.{d}.{a}") for d, a in itertools.product(small, repeat=2) if d != a]
    forms += [cvt(f"cvt.sat.{d}.{a}") for d, a in itertools.product(small, repeat=2) if not fits(a, d)]
    for t in ("f16", "f32", "f64"):
        forms += [cvt(f"cvt.{mode}.{d}.{t}") for d in LONG for mode in INTEGRAL]
        forms += [cvt(f"cvt.{mode}.{t}.{a}") for a in LONG for mode in MODES]
        forms += [cvt(f"cvt.{mode}.{t}.{t}") for mode in INTEGRAL]
        forms += [cvt(f"cvt.rzi.{d}.{t}") for d in small[:4]] + [cvt(f"cvt.rn.{t}.{a}") for a in small[:4]]
    for mode in MODES:
        forms += [cvt(f"cvt.{mode}.{d}.{a}") for d, a in (("f16", "f32"), ("f16", "f64"), ("f32", "f64"))]
        forms.append(cvt(f"cvt.{mode}.ftz.f32.f64"))
    plain_ones = "f32.f16 f64.f16 f64.f32 ftz.f64.f32 sat.f32.f32 ftz.f32.f16 rn.sat.f16.f32 rn.sat.f32.f64 sat.f64.f64"
    forms += [cvt(f"cvt.{rest}") for rest in plain_ones.split()]
    forms += [cvt(f"cvt.{mode}.ftz.{d}.f32") for d in ("s32", "u32") for mode in INTEGRAL]
    forms += [cvt(f"cvt.rn.sat.f32.{a}") for a in ("s32", "u64")]
    for mode, after in itertools.product(("rn", "rz"), ("", ".relu")):
        forms += [cvt(f"cvt.{mode}{after}.{d}.f32") for d in ("f16", "bf16")]
        forms += [Form(f"cvt.{mode}{after}.{d}x2.f32", f"{d}x2", ("f32", "f32")) for d in ("f16", "bf16")]
    forms.append(Form("cvt.rna.tf32.f32", "b32", ("f32",)))
    return forms


def fits(source: str, target: str) -> bool:
    """Whether every value of one integer type exists in the other; `.sat` is not allowed then."""
    spare = int(target[1:]) - int(source[1:])
    return spare >= 0 if source[0] == target[0] else target[0] == "s" and spare > 0


def cvt(name: str) -> Form:
    target, source = name.split(".")[-2:]
    return Form(name, target, (source,))


def float_forms() -> list[Form]:
    forms = []
    for t, mode in itertools.product(("f32", "f64"), MODES):
        forms += [plain(f"{op}.{mode}.{t}", 2) for op in ("add", "sub", "mul", "div")]
        forms += [plain(f"fma.{mode}.{t}", 3), plain(f"rcp.{mode}.{t}", 1)]
    forms += [plain(f"sqrt.{mode}.f32", 1) for mode in MODES] + [plain("sqrt.rn.f64", 1)]
    for t in ("f32", "f64"):
        forms += [plain(f"{op}.{t}", 2) for op in ("add", "min", "max", "copysign")]
        forms += [plain(f"{op}.{t}", 1) for op in ("abs", "neg")]
    for mode in MODES:
        forms += [
            plain(f"{op}.{mode}.{more}.f32", 2) for op in ("add", "sub", "mul") for more in ("ftz", "sat")
        ]
        forms += [plain(f"fma.{mode}.{more}.f32", 3) for more in ("ftz", "sat", "ftz.sat")]
    forms += [plain(f"{op}.ftz.f32", 2) for op in ("div.rn", "min", "max", "min.NaN", "max.NaN")]
    forms += [plain(f"{op}.NaN.f32", 2) for op in ("min", "max")]
    forms += [plain(f"{op}.ftz.f32", 1) for op in ("abs", "neg", "rcp.rn", "sqrt.rn")]
    return forms


def half_forms() -> list[Form]:
    forms = []
    for t in ("f16", "f16x2"):
        forms += [
            plain(f"{op}{more}.{t}", 2) for op in ("add", "sub", "mul") for more in ("", ".ftz", ".sat")
        ]
        forms += [plain(f"fma.rn{more}.{t}", 3) for more in ("", ".ftz", ".sat", ".relu", ".ftz.relu")]
        forms += [plain(f"{op}.ftz.{t}", 2) for op in ("min", "max")] + [plain(f"neg.ftz.{t}", 1)]
    for t in ("bf16", "bf16x2"):
        forms += [plain(f"fma.rn{more}.{t}", 3) for more in ("", ".relu")]
    for t in ("f16", "f16x2", "bf16", "bf16x2"):
        forms += [plain(f"{op}{more}.{t}", 2) for op in ("min", "max") for more in ("", ".NaN")]
        forms += [plain(f"{op}.{t}", 1) for op in ("abs", "neg")]
    return forms


def approximate_forms() -> list[Form]:
    """Functions that a GPU approximates, on everyday values."""
    close = {"tolerance": 2.0**-20, "table": "moderate"}
    forms = [
        plain(f"{op}.approx{ftz}.f32", 1, **close) for op in ("rcp", "sqrt", "rsqrt") for ftz in ("", ".ftz")
    ]
    forms += [plain(f"{op}.approx.f32", 1, **close) for op in ("ex2", "lg2", "sin", "cos")]
    forms += [plain(f"div.{op}.f32", 2, **close) for op in ("approx", "full", "approx.ftz", "full.ftz")]
    forms += [plain("tanh.approx.f32", 1, tolerance=2.0**-10, table="moderate")]
    forms += [plain("rsqrt.approx.f64", 1, **close)]
    return forms


def every_form() -> list[Form]:
    kinds = (
        integer_forms,
        bit_forms,
        compare_forms,
        convert_forms,
        float_forms,
        half_forms,
        approximate_forms,
    )
    return list({form.kernel: form for kind in kinds for form in kind()}.values())


# --------------------------------------------------------------------------- cases


def every_case() -> list[InstructionCase]:
    cases = []
    for _, same_root in itertools.groupby(sorted(every_form(), key=root_of), root_of):
        forms = list(same_root)
        for first in range(0, len(forms), KERNELS_PER_SOURCE):
            group = forms[first : first + KERNELS_PER_SOURCE]
            source = PRELUDE + "".join(map(kernel_source, group))
            cases += [_case(form, source) for form in group]
    return cases


def root_of(form: Form) -> str:
    return form.root


def _case(form: Form, source: str) -> InstructionCase:
    letter = "f" if form.tolerance else "u"
    return InstructionCase(
        name=form.name,
        source=source,
        own_source=PRELUDE + kernel_source(form),
        kernel=form.kernel,
        inputs=operand_table(form),
        output_dtype=np.dtype(f"{letter}{width(form.output) // 8}"),
        exact=not form.tolerance,
        tolerance=form.tolerance,
    )


CASES: list[InstructionCase] = every_case()
