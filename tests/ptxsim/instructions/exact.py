"""What each pure instruction gives, by the PTX manual, in Python integers and Fractions."""

import itertools
import operator
from collections.abc import Callable

from ptxsim.instructions import compare
from ptxsim.ptx.opcode import DTYPES, Opcode
from tests.ptxsim import oracle
from tests.ptxsim.oracle import FORMATS, MODES, Format

INTS = ("s16", "u16", "s32", "u32", "s64", "u64")
CASES: dict[str, Callable] = {}
"""Opcode to its oracle: a function of Python integers (bit patterns for floats) to an integer or a tuple."""


def bits_of(kind: str) -> int:
    return 1 if kind == "pred" else DTYPES[kind].itemsize * 8


def interpret(value: int, kind: str) -> int:
    """A bit pattern as the integer that the oracle computes with."""
    if kind == "pred":
        return value & 1
    value %= 1 << bits_of(kind)
    signed = kind in ("s8", "s16", "s32", "s64")
    return value - (1 << bits_of(kind)) if signed and value >> (bits_of(kind) - 1) else value


# --------------------------------------------------------------------------- integers


def low_bits(x: int, count: int) -> int:
    return x & ((1 << count) - 1)


def signed(x: int, width: int) -> int:
    x = low_bits(x, width)
    return x - (1 << width) if x >> (width - 1) else x


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def clamp(x: int, kind: str) -> int:
    width = bits_of(kind)
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if kind[0] == "s" else (0, (1 << width) - 1)
    return max(low, min(high, x))


for t in INTS:
    w = bits_of(t)
    ones = (1 << w) - 1
    CASES[f"add.{t}"] = lambda a, b: a + b
    CASES[f"sub.{t}"] = lambda a, b: a - b
    CASES[f"mul.lo.{t}"] = lambda a, b: a * b
    CASES[f"mul.hi.{t}"] = lambda a, b, w=w: a * b >> w
    CASES[f"mad.lo.{t}"] = lambda a, b, c: a * b + c
    CASES[f"mad.hi.{t}"] = lambda a, b, c, w=w: (a * b >> w) + c
    CASES[f"div.{t}"] = lambda a, b: truncated(a, b) if b else -1
    CASES[f"rem.{t}"] = lambda a, b: a - b * truncated(a, b) if b else a
    CASES[f"min.{t}"] = min
    CASES[f"max.{t}"] = max
    CASES[f"sad.{t}"] = lambda a, b, c: c + abs(a - b)
    CASES[f"shr.{t}"] = lambda a, n, w=w: a >> min(n, w)
    CASES[f"selp.{t}"] = lambda a, b, p: a if p else b
    CASES[f"mov.{t}"] = lambda a: a
    if t[0] == "s":
        CASES[f"abs.{t}"] = abs
        CASES[f"neg.{t}"] = lambda a: -a
    if w < 64:
        CASES[f"mul.wide.{t}"] = lambda a, b: a * b
        CASES[f"mad.wide.{t}"] = lambda a, b, c: a * b + c
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        verdict = getattr(operator, name)
        CASES[f"setp.{name}.{t}"] = lambda a, b, v=verdict: (v(a, b), not v(a, b))
        CASES[f"set.{name}.u32.{t}"] = lambda a, b, v=verdict: -int(v(a, b))
        CASES[f"set.{name}.f32.{t}"] = lambda a, b, v=verdict: 0x3F800000 if v(a, b) else 0


def field_amount(x: int, width: int) -> int:
    """PTX defines 0 to 255. An H100 cuts larger amounts to 8 bits for 32-bit types only."""
    return x & 255 if width == 32 else x


for t in ("s32", "u32", "s64", "u64"):
    w = bits_of(t)
    mask = (1 << w) - 1
    CASES[f"add.cc.{t}"] = lambda a, b, w=w: (a + b, (a + b) >> w)
    CASES[f"addc.{t}"] = lambda a, b, c: a + b + c
    CASES[f"addc.cc.{t}"] = lambda a, b, c, w=w: (a + b + c, (a + b + c) >> w)
    # A difference is the sum of a, the complement of b, and 1 or the carry: no borrow leaves a carry.
    CASES[f"sub.cc.{t}"] = lambda a, b: (a - b, a >= b)
    CASES[f"subc.{t}"] = lambda a, b, c: a - b - (1 - c)
    CASES[f"subc.cc.{t}"] = lambda a, b, c: (a - b - (1 - c), a >= b + (1 - c))
    for part in ("lo", "hi"):

        def product(a: int, b: int, part: str = part, w: int = w, t: str = t, mask: int = mask) -> int:
            a, b = (signed(a, w), signed(b, w)) if t[0] == "s" else (a, b)
            return (a * b >> (w if part == "hi" else 0)) & mask

        def with_carry(a: int, b: int, c: int, carry: int = 0, product: Callable = product, w: int = w):
            total = product(a, b) + c + carry
            return total, total >> w

        CASES[f"mad.{part}.cc.{t}"] = with_carry
        CASES[f"madc.{part}.cc.{t}"] = with_carry
        CASES[f"madc.{part}.{t}"] = lambda a, b, c, carry, f=with_carry: f(a, b, c, carry)[0]

    def bfe(a: int, position: int, length: int, w: int = w, t: str = t) -> int:
        position, length = field_amount(position, w), field_amount(length, w)
        sign = t[0] == "s" and length and a >> min(position + length - 1, w - 1) & 1
        picked = [(a >> position + i & 1) if i < length and position + i < w else sign for i in range(w)]
        return sum(int(bit) << i for i, bit in enumerate(picked))

    def bfind(a: int, w: int = w, t: str = t) -> int:
        return (~a if a < 0 else a).bit_length() - 1

    CASES[f"bfe.{t}"] = bfe
    CASES[f"bfind.{t}"] = bfind
    CASES[f"bfind.shiftamt.{t}"] = lambda a, w=w, f=bfind: -1 if f(a) < 0 else w - 1 - f(a)

for t in ("b16", "b32", "b64"):
    w = bits_of(t)
    CASES[f"and.{t}"] = lambda a, b: a & b
    CASES[f"or.{t}"] = lambda a, b: a | b
    CASES[f"xor.{t}"] = lambda a, b: a ^ b
    CASES[f"not.{t}"] = lambda a: ~a
    CASES[f"cnot.{t}"] = lambda a: int(a == 0)
    CASES[f"shl.{t}"] = lambda a, n, w=w: a << min(n, w)
    CASES[f"shr.{t}"] = lambda a, n, w=w: a >> min(n, w)
    CASES[f"selp.{t}"] = lambda a, b, p: a if p else b
    CASES[f"mov.{t}"] = lambda a: a


def fns(mask: int, base: int, n: int) -> int:
    """The PTX ISA's own program; a base above 31, which it leaves open, finds nothing (as on an H200)."""
    if base > 31:
        return -1
    if n == 0:
        return base if mask >> base & 1 else -1
    ones = [i for i in (range(base, 32) if n > 0 else range(base, -1, -1)) if mask >> i & 1]
    return ones[abs(n) - 1] if abs(n) <= len(ones) else -1


CASES["fns.b32"] = fns

for t in ("b32", "b64"):
    w = bits_of(t)
    CASES[f"popc.{t}"] = lambda a: a.bit_count()
    CASES[f"clz.{t}"] = lambda a, w=w: w - a.bit_length()
    CASES[f"brev.{t}"] = lambda a, w=w: int(f"{a:0{w}b}"[::-1], 2)

    def bfi(a: int, b: int, position: int, length: int, w: int = w) -> int:
        position, length = field_amount(position, w), field_amount(length, w)
        for i in range(min(length, w)):
            if position + i < w:
                b = b & ~(1 << position + i) | (a >> i & 1) << position + i
        return b

    CASES[f"bfi.{t}"] = bfi

for name in ("and", "or", "xor"):
    CASES[f"{name}.pred"] = CASES[f"{name}.b32"]
    CASES[f"setp.lt.{name}.s32"] = lambda a, b, c, f=CASES[f"{name}.b32"]: (f(a < b, c), f(a >= b, c))
CASES["not.pred"] = lambda a: 1 - a
CASES["mov.pred"] = lambda a: a
CASES["set.gt.and.u32.s32"] = lambda a, b, c: -int(a > b and bool(c))
CASES["add.sat.s32"] = lambda a, b: clamp(a + b, "s32")
CASES["sub.sat.s32"] = lambda a, b: clamp(a - b, "s32")
CASES["mad.hi.sat.s32"] = lambda a, b, c: clamp((a * b >> 32) + c, "s32")
for name, verdict in {"lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge}.items():
    CASES[f"set.{name}.u32.u32"] = lambda a, b, v=verdict: -int(v(a, b))
for name in ("or", "xor"):
    CASES[f"set.gt.{name}.u32.s32"] = lambda a, b, c, f=CASES[f"{name}.b32"]: -int(f(a > b, bool(c)))
for t in ("b16", "b32", "b64"):
    CASES[f"setp.eq.{t}"] = lambda a, b: (a == b, a != b)
    CASES[f"set.ne.u32.{t}"] = lambda a, b: -int(a != b)
CASES["setp.lo.u32"] = lambda a, b: (a < b, a >= b)
CASES["setp.hs.u64"] = lambda a, b: (a >= b, a < b)
CASES["slct.u32.s32"] = lambda a, b, c: a if c >= 0 else b
CASES["slct.ftz.u32.f32"] = lambda a, b, c: (
    a if oracle.compare(oracle.F32, "ge", oracle.F32.flush(c), 0) else b
)
CASES["slct.f32.f32"] = lambda a, b, c: a if oracle.compare(oracle.F32, "ge", c, 0) else b

for t, part in itertools.product(("s32", "u32"), ("lo", "hi")):

    def low24(a: int, t: str = t) -> int:
        return signed(a, 24) if t == "s32" else low_bits(a, 24)

    CASES[f"mul24.{part}.{t}"] = lambda a, b, f=low24, s=16 * (part == "hi"): f(a) * f(b) >> s
    CASES[f"mad24.{part}.{t}"] = lambda a, b, c, f=low24, s=16 * (part == "hi"): (f(a) * f(b) >> s) + c
CASES["mad24.hi.sat.s32"] = lambda a, b, c: clamp((signed(a, 24) * signed(b, 24) >> 16) + c, "s32")


def parts(x: int, width: int, kind: str) -> list[int]:
    cut = [x >> i & ((1 << width) - 1) for i in range(0, 32, width)]
    return [signed(value, width) for value in cut] if kind == "s32" else cut


for ta, tb in itertools.product(("s32", "u32"), repeat=2):
    CASES[f"dp4a.{ta}.{tb}"] = lambda a, b, c, ta=ta, tb=tb: (
        c + sum(map(int.__mul__, parts(a, 8, ta), parts(b, 8, tb)))
    )
    for i, part in enumerate(("lo", "hi")):
        CASES[f"dp2a.{part}.{ta}.{tb}"] = lambda a, b, c, ta=ta, tb=tb, i=i: (
            c + sum(map(int.__mul__, parts(a, 16, ta), parts(b, 8, tb)[2 * i :]))
        )

for mode in ("wrap", "clamp"):

    def amount(n: int, mode: str = mode) -> int:
        return n & 31 if mode == "wrap" else min(n, 32)

    CASES[f"shf.l.{mode}.b32"] = lambda a, b, n, f=amount: ((b << 32 | a) << f(n)) >> 32
    CASES[f"shf.r.{mode}.b32"] = lambda a, b, n, f=amount: (b << 32 | a) >> f(n)
    CASES[f"bmsk.{mode}.b32"] = lambda a, b, f=amount: ((1 << f(b)) - 1) << f(a)
    CASES[f"szext.{mode}.u32"] = lambda a, n, f=amount: low_bits(a, f(n))
    CASES[f"szext.{mode}.s32"] = lambda a, n, f=amount: signed(a, f(n)) if f(n) else 0

CASES["lop3.b32"] = lambda a, b, c, table: sum(
    (table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i for i in range(32)
)


def prmt_bytes(a: int, b: int, digits: list[int]) -> int:
    pool = [(b << 32 | a) >> 8 * i & 255 for i in range(8)]
    chosen = [(255 if pool[d & 7] & 128 else 0) if d & 8 else pool[d & 7] for d in digits]
    return sum(byte << 8 * i for i, byte in enumerate(chosen))


PRMT_DIGITS = {
    "f4e": lambda n: [n + i for i in range(4)],
    "b4e": lambda n: [(n - i) % 8 for i in range(4)],
    "rc8": lambda n: [n] * 4,
    "ecl": lambda n: [max(n, i) for i in range(4)],
    "ecr": lambda n: [min(n, i) for i in range(4)],
    "rc16": lambda n: [2 * (n & 1), 2 * (n & 1) + 1] * 2,
}
CASES["prmt.b32"] = lambda a, b, c: prmt_bytes(a, b, [c >> 4 * i & 15 for i in range(4)])
for name, digits in PRMT_DIGITS.items():
    CASES[f"prmt.b32.{name}"] = lambda a, b, c, f=digits: prmt_bytes(a, b, f(c & 3))

PACKED = {
    f"{name}.{t}": f
    for name, f in {"add": int.__add__, "min": min, "max": max}.items()
    for t in ("s16x2", "u16x2")
}
PACKED["min.s16x2.relu"] = lambda a, b: max(min(a, b), 0)
PACKED["max.s16x2.relu"] = lambda a, b: max(a, b, 0)
for name, f in PACKED.items():

    def packed(a: int, b: int, f: Callable = f, kind: str = name.split(".")[1][:-2]) -> int:
        halves = [f(interpret(a >> s, kind), interpret(b >> s, kind)) & 0xFFFF for s in (0, 16)]
        return halves[0] | halves[1] << 16

    CASES[name] = packed

for width, count in ((16, 2), (8, 4)):

    def differences(a: int, b: int, width: int = width) -> list[int]:
        return [abs(x - y) for x, y in zip(parts(a, width, "u32"), parts(b, width, "u32"))]

    CASES[f"vabsdiff{count}.u32.u32.u32"] = lambda a, b, c, f=differences, width=width: sum(
        x << i * width for i, x in enumerate(f(a, b))
    )
    CASES[f"vabsdiff{count}.u32.u32.u32.add"] = lambda a, b, c, f=differences: c + sum(f(a, b))

# --------------------------------------------------------------------------- floats


def in_mode(exact: Callable, f: Format, mode: str) -> Callable:
    return lambda *operands: exact(f, *operands, mode)


def saturated(compute: Callable, f: Format) -> Callable:
    return lambda *operands: oracle.saturate(f, compute(*operands))


for t in ("f32", "f64"):
    f = FORMATS[t]
    for mode in MODES:
        for name in ("add", "sub", "mul", "fma", "div"):
            CASES[f"{name}.{mode}.{t}"] = in_mode(getattr(oracle, name), f, mode)
        CASES[f"rcp.{mode}.{t}"] = lambda a, f=f, mode=mode: oracle.div(f, f.bias << f.fraction, a, mode)
        CASES[f"mad.{mode}.{t}"] = CASES[f"fma.{mode}.{t}"]
    CASES[f"add.{t}"] = lambda a, b, f=f: oracle.add(f, a, b)
    CASES[f"mov.{t}"] = lambda a: a
    CASES[f"copysign.{t}"] = lambda a, b, f=f: (a & f.sign_bit) | (b & ~f.sign_bit)
    CASES[f"selp.{t}"] = lambda a, b, p: a if p else b
    for mode in MODES:
        CASES[f"sqrt.{mode}.{t}"] = in_mode(oracle.sqrt, f, mode)
for name in ("add", "sub", "mul", "fma"):
    g = getattr(oracle, name)
    CASES[f"{name}.rn.ftz.f32"] = lambda *x, g=g: oracle.F32.flush(g(oracle.F32, *map(oracle.F32.flush, x)))
    CASES[f"{name}.rn.sat.f32"] = lambda *x, g=g: oracle.saturate(oracle.F32, g(oracle.F32, *x))
CASES["mad.rn.ftz.f32"] = CASES["fma.rn.ftz.f32"]

for t, f in FORMATS.items():
    CASES[f"neg.{t}"] = lambda a, f=f: a ^ f.sign_bit
    CASES[f"abs.{t}"] = lambda a, f=f: a & ~f.sign_bit
    for name in ("min", "max"):
        CASES[f"{name}.{t}"] = lambda a, b, f=f, name=name: oracle.extreme(f, name, a, b, False)
        if t != "f64":
            CASES[f"{name}.NaN.{t}"] = lambda a, b, f=f, name=name: oracle.extreme(f, name, a, b, True)
    for name in compare.FLOAT_COMPARISONS:

        def setp(a: int, b: int, f: Format = f, name: str = name) -> tuple[bool, bool]:
            return oracle.compare(f, name, a, b), not oracle.compare(f, name, a, b)

        CASES[f"setp.{name}.{t}"] = setp
    CASES[f"set.leu.u32.{t}"] = lambda a, b, f=f: -int(oracle.compare(f, "leu", a, b))

for name in compare.FLOAT_COMPARISONS:
    CASES[f"set.{name}.u32.f32"] = lambda a, b, name=name: -int(oracle.compare(oracle.F32, name, a, b))
CASES["set.gt.ftz.u32.f32"] = lambda a, b: (
    -int(oracle.compare(oracle.F32, "gt", oracle.F32.flush(a), oracle.F32.flush(b)))
)

for t in ("f16", "bf16"):
    f = FORMATS[t]
    for name in ("add", "sub", "mul", "fma"):
        CASES[f"{name}.rn.{t}"] = in_mode(getattr(oracle, name), f, "rn")
        CASES[f"{name}.rn.sat.{t}"] = saturated(in_mode(getattr(oracle, name), f, "rn"), f)
    CASES[f"fma.rn.relu.{t}"] = lambda *x, f=f: relu(f, oracle.fma(f, *x))
    CASES[f"set.gt.{t}.{t}"] = lambda a, b, f=f: f.bias << f.fraction if oracle.compare(f, "gt", a, b) else 0
for name in ("add", "mul", "fma"):
    g = getattr(oracle, name)
    CASES[f"{name}.rn.ftz.f16"] = lambda *x, g=g: oracle.F16.flush(g(oracle.F16, *map(oracle.F16.flush, x)))


def relu(f: Format, a: int) -> int:
    return 0 if f.negative(a) and not f.is_nan(a) else a


def pairwise(scalar: Callable) -> Callable:
    """The oracle of a packed type: its scalar oracle on the low and on the high half."""

    def compute(*operands: int):
        low, high = (scalar(*(x >> shift & 0xFFFF for x in operands)) for shift in (0, 16))
        return (low[0], high[0]) if isinstance(low, tuple) else low | high << 16

    return compute


for text, scalar in list(CASES.items()):
    op = Opcode(text)
    if op.types and op.types[-1] in ("f16", "bf16") and op.types[0] != "u32":
        CASES[".".join([op.root, *(m + "x2" if m in FORMATS else m for m in op.modifiers)])] = pairwise(
            scalar
        )

for t in ("f32", "f64"):
    f = FORMATS[t]
    for name, verdict in {
        "finite": lambda a, f=f: f.is_finite(a),
        "infinite": lambda a, f=f: f.is_infinite(a),
        "number": lambda a, f=f: not f.is_nan(a),
        "notanumber": lambda a, f=f: f.is_nan(a),
        "normal": lambda a, f=f: f.is_finite(a) and (a & f.infinity != 0 or a & ~f.sign_bit == 0),
        "subnormal": lambda a, f=f: a & f.infinity == 0 and a & ~f.sign_bit != 0,
    }.items():
        CASES[f"testp.{name}.{t}"] = verdict

# --------------------------------------------------------------------------- conversions

INTEGRAL = ("rni", "rzi", "rmi", "rpi")
CVT_INTS = ("s8", "u8", *INTS)

for a_type, d_type in itertools.product(CVT_INTS, repeat=2):
    CASES[f"cvt.{d_type}.{a_type}"] = lambda a: a
    CASES[f"cvt.sat.{d_type}.{a_type}"] = lambda a, d=d_type: clamp(a, d)


def float_to_integer(f: Format, a: int, mode: str, target: str) -> int:
    if f.is_nan(a):
        return 1 << bits_of(target) - 1 if f.bits == 64 or bits_of(target) == 64 else 0
    if f.is_infinite(a):
        return clamp(-(1 << 80) if f.negative(a) else 1 << 80, target)
    return clamp(oracle.to_integral(f, a, mode), target)


def to_whole(f: Format, a: int, mode: str) -> int:
    if not f.is_finite(a):
        return a
    return f.round(oracle.Fraction(oracle.to_integral(f, a, mode)), negative_zero=f.negative(a))


for (t, f), integer_type in itertools.product(FORMATS.items(), CVT_INTS):
    for mode in INTEGRAL:
        CASES[f"cvt.{mode}.{integer_type}.{t}"] = lambda a, f=f, mode=mode, d=integer_type: float_to_integer(
            f, a, mode, d
        )
    for mode in MODES:
        CASES[f"cvt.{mode}.{t}.{integer_type}"] = lambda a, f=f, mode=mode: f.round(oracle.Fraction(a), mode)

for (a_type, a_format), (d_type, d_format) in itertools.product(FORMATS.items(), repeat=2):
    for mode in MODES if a_type != d_type else ():
        CASES[f"cvt.{mode}.{d_type}.{a_type}"] = lambda a, s=a_format, d=d_format, mode=mode: oracle.convert(
            s, d, a, mode
        )
    for mode in INTEGRAL if a_type == d_type else ():
        CASES[f"cvt.{mode}.{d_type}.{a_type}"] = lambda a, f=a_format, mode=mode: to_whole(f, a, mode)

CASES["cvt.f32.f16"] = CASES["cvt.rn.f32.f16"]
CASES["cvt.f32.bf16"] = CASES["cvt.rn.f32.bf16"]
CASES["cvt.f64.f32"] = CASES["cvt.rn.f64.f32"]
CASES["cvt.rn.ftz.f32.f64"] = lambda a: oracle.F32.flush(oracle.convert(oracle.F64, oracle.F32, a))
CASES["cvt.ftz.f64.f32"] = lambda a: oracle.convert(oracle.F32, oracle.F64, oracle.F32.flush(a))
CASES["cvt.sat.f32.f32"] = lambda a: oracle.saturate(oracle.F32, a)
CASES["cvt.rn.sat.f16.f32"] = lambda a: oracle.saturate(oracle.F16, oracle.convert(oracle.F32, oracle.F16, a))
for t in ("f16", "bf16"):
    f = FORMATS[t]
    CASES[f"cvt.rn.relu.{t}.f32"] = lambda a, f=f: relu(f, oracle.convert(oracle.F32, f, a))
    for mode in ("rn", "rz"):
        CASES[f"cvt.{mode}.{t}x2.f32"] = lambda a, b, f=f, mode=mode: (
            oracle.convert(oracle.F32, f, a, mode) << 16 | oracle.convert(oracle.F32, f, b, mode)
        )


def tf32_away(a: int) -> int:
    return (a + 0x1000) & 0xFFFFE000 if oracle.F32.is_finite(a) else a


CASES["cvt.rna.tf32.f32"] = tf32_away
