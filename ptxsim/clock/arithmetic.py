"""What instructions on integers, predicates and special registers do: all that addresses and branches come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..gpus import WARP
from .operands import ZERO_REGISTER, Decoded, Operand
from .registers import LANES, M, Registers, Value, is_set, signed, uniform, where


def _numbers(decoded: Decoded) -> tuple[Operand, list[Operand], list[Operand], list[Operand]]:
    """The result, predicates that are written, number sources, and predicates that are read."""
    operands = list(decoded.operands)
    written: list[Operand] = []
    while operands and operands[0].kind in ("P", "UP"):
        written.append(operands.pop(0))
    result = operands.pop(0)
    while operands and operands[0].kind in ("P", "UP"):
        written.append(operands.pop(0))
    sources = [one for one in operands if one.kind not in ("P", "UP")]
    read = [one for one in operands if one.kind in ("P", "UP")]
    return result, written, sources, read


def _add(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    result, written, sources, read = _numbers(decoded)
    extended = "X" in decoded.modifiers
    total: Value = 0
    if "64" in decoded.modifiers:
        for source in sources:
            value = warp.get64(source)
            total = None if total is None or value is None else total + (-value if source.negated else value)
        warp.put64(result, total, guard)
        return
    for source in sources:
        value = warp.get(source, logic=source.negated and source.kind != "imm")
        if value is None or total is None:
            total = None
            break
        total = total + value + (source.negated and not extended)
    for operand in read if extended else ():
        carry = warp.predicate(operand)
        total = None if total is None or carry is None else total + _int(carry)
    for operand in written:
        warp.put(operand, None if total is None else is_set(total >> 32), guard)
    warp.put(result, total, guard)


def _int(value: Value) -> Value:
    return value.astype(np.int64) if isinstance(value, np.ndarray) else int(value or 0)


def _lea(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    result, written, sources, read = _numbers(decoded)
    shift = sources[-1].number
    a, b = (
        warp.get(sources[0], logic="X" in decoded.modifiers),
        warp.get(sources[1], logic="X" in decoded.modifiers),
    )
    if a is None or b is None:
        total: Value = None
    elif "HI" in decoded.modifiers:
        if "SX32" in decoded.modifiers:
            high = signed(a) >> 31
        else:
            third = sources[2] if len(sources) > 3 else None
            high = warp.get(third) if third else 0
        total = None if high is None else ((signed(high) << 32 | a) >> (32 - shift) & M) + b
    else:
        total = (a << shift & M) + b
    if "X" in decoded.modifiers:
        carry = warp.predicate(read[0]) if read else False
        total = None if total is None or carry is None else total + _int(carry)
    for operand in written:
        warp.put(operand, None if total is None else is_set(total >> 32), guard)
    warp.put(result, total, guard)


def _multiply(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    result, written, sources, read = _numbers(decoded)
    a, b = warp.get(sources[0]), warp.get(sources[1])
    unsigned = "U32" in decoded.modifiers
    if "WIDE" in decoded.modifiers or "HI" in decoded.modifiers:
        c = warp.get64(sources[2])
        if a is None or b is None or c is None:
            total: Value = None
        else:
            total = (a * b if unsigned else signed(a) * signed(b)) + (-c if sources[2].negated else c)
        if "HI" in decoded.modifiers:
            warp.put(result, None if total is None else total >> 32, guard)
        else:
            warp.put64(result, total, guard)
            for operand in written:
                warp.put(operand, None, guard)
        return
    c = warp.get(sources[2], logic="X" in decoded.modifiers)
    zero = (isinstance(a, int) and a == 0) or (isinstance(b, int) and b == 0)
    product = 0 if zero else None if a is None or b is None else a * b
    total = None if product is None or c is None else (product & M) + c
    if "X" in decoded.modifiers:
        carry = warp.predicate(read[0]) if read else False
        total = None if total is None or carry is None else total + _int(carry)
    warp.put(result, total, guard)


def _logic(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    result, written, sources, _ = _numbers(decoded)
    table = sources[3].number
    a, b, c = (warp.get(one, logic=True) for one in sources[:3])
    value = _lut(a, b, c, table)
    for operand in written:
        warp.put(operand, is_set(value), guard)
    warp.put(result, value, guard)


def _lut(a: Value, b: Value, c: Value, table: int) -> Value:
    if a is None or b is None or c is None:
        return None
    value: Value = 0
    for row in range(8):
        if table >> row & 1:
            term = (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
            value = value | term
    return value & M


def _shift(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    result, _, sources, _ = _numbers(decoded)
    low, amount, high = (warp.get(one) for one in sources[:3])
    if amount is None or low is None or high is None:
        warp.put(result, None, guard)
        return
    wide = any(name in decoded.modifiers for name in ("U64", "S64"))
    amount = (
        amount & (63 if wide else 31) if "W" in decoded.modifiers else _clamped(amount, 63 if wide else 32)
    )
    hi = "HI" in decoded.modifiers
    if "L" in decoded.modifiers:
        if hi:
            both = (high << 32 | low) if isinstance(amount, int) and amount < 32 else low << 32
            value = (
                both << amount >> 32
                if isinstance(low, int) and isinstance(high, int)
                else _left(low, high, amount)
            )
        else:
            value = low << amount
    elif hi and not wide:
        value = (signed(high) if "S32" in decoded.modifiers else high) >> amount
    else:
        top = signed(high) if "S32" in decoded.modifiers or "S64" in decoded.modifiers else high
        value = (
            top >> amount
            if hi
            else (low >> amount) | (high << 1 << (31 - amount))
            if _small(amount)
            else top >> (amount - 32)
        )
    warp.put(result, value, guard)


def _small(amount: Value) -> bool:
    return bool(np.all(np.asarray(amount) < 32))


def _left(low: Value, high: Value, amount: Value) -> Value:
    return high << amount | (low >> 1 >> (31 - amount))


def _clamped(amount: Value, most: int) -> Value:
    return min(amount, most) if isinstance(amount, int) else np.minimum(amount, most)


def _move(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    differs, (result, source, *_) = [], decoded.operands
    if result.kind == "P" and decoded.name == "R2UR":  # whether lanes have other values, which are taken next
        differs, (result, source) = [result], decoded.operands[1:3]
    for operand in differs if "OR" not in decoded.modifiers else ():
        warp.put(operand, False, guard)
    if "64" in decoded.modifiers:
        warp.put64(result, warp.get64(source), guard)
    else:
        warp.put(result, warp.get(source), guard)


def _select(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    result, _, sources, read = _numbers(decoded)
    warp.put(result, where(warp.predicate(read[0]), warp.get(sources[0]), warp.get(sources[1])), guard)


COMPARE: dict[str, Callable] = {
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
}


def _both(a: Value, b: Value, how: frozenset[str]) -> Value:
    """AND, OR or XOR of predicates, of which one may be unknown."""
    if "OR" in how:
        if (a is True) or (b is True):
            return True
    elif "XOR" not in how and (a is False or b is False):
        return False
    if a is None or b is None:
        return None
    value = a | b if "OR" in how else a ^ b if "XOR" in how else a & b
    return bool(value) if isinstance(value, (bool, np.bool_)) else value


def _not(a: Value) -> Value:
    return None if a is None else ~a if isinstance(a, np.ndarray) else not a


SHORT_WAYS = {0x1FFFFFF: True, 0x727FFFFF: False}
"""With what ptxas compares the bits of a float32 of which 1 / x or the root is taken; and the answer, where it is far
from the ends of float32's range, as it is taken to be: these have a long way, too, as a division has."""


def _compare(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    _, _, a_, b_, *read = decoded.operands
    a, b = warp.get(a_), warp.get(b_)
    if a is None and isinstance(b, int) and b in SHORT_WAYS:
        holds: Value = SHORT_WAYS[b]
    elif a is None or b is None:
        holds = None
    else:
        if "U32" not in decoded.modifiers:
            a, b = signed(a), signed(b)
        name = next(name for name in COMPARE if name in decoded.modifiers)
        holds = COMPARE[name](a, b)
        if "EX" in decoded.modifiers:
            low = warp.predicate(read[1])
            strict = COMPARE[name.replace("E", "T") if name in ("LE", "GE") else name](a, b)
            if low is None:
                holds = None
            elif name == "NE":
                holds = holds | low
            elif name == "EQ":
                holds = holds & low
            else:
                holds = strict | ((a == b) & low)
    _answer(warp, decoded, holds, guard)


def _answer(warp: Registers, decoded: Decoded, holds: Value, guard: np.ndarray | None) -> None:
    """Of a comparison, in two predicates: whether it holds, and whether it does not."""
    if holds is not None:
        holds = np.asarray(holds)
        holds = bool(holds.flat[0]) if holds.all() or not holds.any() else holds
    first, second, _, _, *read = decoded.operands
    other = warp.predicate(read[0]) if read else True
    warp.put(first, _both(holds, other, decoded.modifiers), guard)
    warp.put(second, _both(_not(holds), other, decoded.modifiers), guard)


def _compare_floats(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    """Of what comes from memory or from arithmetic nothing is known; of a parameter and a literal it is."""
    a, b = (_float_in(warp, one) for one in decoded.operands[2:4])
    name = next((each for each in decoded.modifiers if each.removesuffix("U") in COMPARE), None)
    if a is None or b is None or name is None:
        return _answer(warp, decoded, None, guard)
    disordered = np.isnan(a) | np.isnan(b)
    holds = COMPARE[name.removesuffix("U")](a, b) & ~disordered
    _answer(warp, decoded, holds | disordered if name.endswith("U") else holds, guard)


def _float_in(warp: Registers, operand: Operand) -> Value:
    if operand.kind == "imm" and not operand.name:  # nvdisasm writes 1 for 1.0
        return np.float32(signed(operand.number))
    bits = warp.get(replace(operand, negated=False, absolute=False))
    if bits is None:
        return None
    number = np.abs(_float_of(bits)) if operand.absolute else _float_of(bits)
    return -number if operand.negated else number


def _predicates(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    first, second, *rest = decoded.operands
    inputs = [warp.predicate(one) for one in rest if one.kind in ("P", "UP")]
    tables = [one.number for one in rest if one.kind == "imm"]
    for operand, table in zip((first, second), tables):
        if table in (0x80,) and all(isinstance(one, bool) for one in inputs):
            value: Value = all(inputs)
        elif any(one is None for one in inputs):
            value = None
        else:
            value = False
            for row in range(8):
                if table >> row & 1:
                    term: Value = True
                    for bit, one in zip((4, 2, 1), inputs):
                        term = term & (one if row & bit else _not(one))
                    value = value | term
        warp.put(operand, value, guard)


def _smaller(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    result, _, sources, read = _numbers(decoded)
    values = [warp.get(one) for one in sources]
    if any(value is None for value in values):
        warp.put(result, None, guard)
        return
    if decoded.name == "VIADDMNMX":
        values = [values[0] + values[1] & M, values[2]]
    if "U32" not in decoded.modifiers:
        values = [signed(value) for value in values]
    least = warp.predicate(read[0])
    value = (np.minimum if least else np.maximum)(*values)
    warp.put(result, value if isinstance(value, np.ndarray) else int(value), guard)


def _special(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    value = warp.special(decoded.operands[1].name)
    if decoded.name == "CS2R" and "32" not in decoded.modifiers:
        warp.put64(decoded.operands[0], value, guard)
    else:
        warp.put(decoded.operands[0], value, guard)


def _load_constant(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    result, source = decoded.operands[:2]
    value = warp.constant(source, 4 * decoded.width)
    for at in range(decoded.width):
        part = None if value is None else value >> 32 * at
        warp.put(Operand(result.kind, result.number + at), part, guard)


def _float_of(value: Value) -> np.ndarray:
    return (np.asarray(value, np.int64) & M).astype(np.uint32).view(np.float32)


def _bits_of(value: np.ndarray) -> Value:
    bits = np.asarray(value, np.float32).view(np.uint32).astype(np.int64)
    return uniform(bits) if bits.ndim else int(bits)


def _to_float(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    value = warp.get(decoded.operands[1])
    if value is not None:
        number = np.asarray(value if "U32" in decoded.modifiers else signed(value), np.float64)
        near = number.astype(np.float32)
        if "RP" in decoded.modifiers:
            near = np.where(near < number, np.nextafter(near, np.float32(np.inf)), near)
        value = _bits_of(near)
    warp.put(decoded.operands[0], value, guard)


def _from_float(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    value = warp.get(decoded.operands[1])
    if value is not None:
        number = np.trunc(_float_of(value).astype(np.float64))
        whole = np.clip(
            np.nan_to_num(number, nan=0, posinf=M), 0 if "U32" in decoded.modifiers else -(2**31), M
        )
        value = whole.astype(np.int64)
        value = value if value.ndim else int(value)
    warp.put(decoded.operands[0], value, guard)


def _function(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    value = warp.get(decoded.operands[1])
    if value is not None and "RCP" in decoded.modifiers:
        with np.errstate(all="ignore"):
            value = _bits_of(np.float32(1) / _float_of(value))
    else:
        value = None
    warp.put(decoded.operands[0], value, guard)


def _halves(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    """The way to make a constant: 0 times 0, and a number for each half."""
    result, a, _, *parts = decoded.operands
    value: Value = None
    if (
        a.kind == "R"
        and a.number == ZERO_REGISTER
        and len(parts) == 2
        and all(one.kind == "imm" for one in parts)
    ):
        halves = [
            int(np.float32(float(one.name) if one.name else one.number).astype(np.float16).view(np.uint16))
            for one in parts
        ]
        value = halves[0] << 16 | halves[1]
    warp.put(result, value, guard)


def _permute(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    result, a_, which_, b_ = decoded.operands[:4]
    a, which, b = warp.get(a_), warp.get(which_), warp.get(b_)
    value: Value = None
    if a is not None and b is not None and isinstance(which, int):
        value = 0
        for byte in range(4):
            chosen = which >> 4 * byte & 7
            value = value | ((a if chosen < 4 else b) >> 8 * (chosen % 4) & 255) << 8 * byte
    warp.put(result, value, guard)


def _absolute(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    value = signed(warp.get(decoded.operands[1]))
    warp.put(decoded.operands[0], None if value is None else abs(value), guard)


def _vote(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    operands = list(decoded.operands)
    inputs = warp.predicate(operands[-1])
    ballot: Value = None
    if inputs is not None:
        lanes = inputs if isinstance(inputs, np.ndarray) else np.full(WARP, bool(inputs))
        lanes = lanes if warp.mask is None else lanes & warp.mask
        ballot = int((lanes.astype(np.int64) << LANES).sum())
        holds = bool(lanes.any()) if "ANY" in decoded.modifiers else bool(lanes.all())
    for operand in operands[:-1]:
        value = (holds if operand.kind in ("P", "UP") else ballot) if inputs is not None else None
        warp.put(operand, value, guard)


def _shuffle(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    predicate, result, source, lane, *_ = decoded.operands
    value, other = warp.get(source), warp.get(lane)
    if isinstance(value, np.ndarray):
        if other is None or "IDX" not in decoded.modifiers:
            value = None
        else:
            value = (
                value[np.asarray(other) % WARP] if isinstance(other, np.ndarray) else int(value[other % WARP])
            )
    warp.put(result, value, guard)
    warp.put(predicate, True, guard)


def _elect(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    """The first lane of those that take part."""
    lanes = np.full(WARP, True) if guard is None else guard
    first = np.full(WARP, False)
    first[int(lanes.argmax())] = True
    warp.put(decoded.operands[0], first, guard)


def _divides(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    """Whether a division takes the long way, a function: it does for numbers near the ends of float32's range, and is
    taken not to."""
    warp.put(decoded.operands[0], False, guard)


def _granted(warp: Registers, decoded: Decoded, guard: np.ndarray | None) -> None:
    if decoded.operands[0].kind == "UP":
        warp.put(decoded.operands[0], True, guard)


HANDLERS: dict[str, Callable[[Registers, Decoded, np.ndarray | None], None]] = {
    **dict.fromkeys(("IADD3", "UIADD3", "VIADD", "IADD"), _add),
    **dict.fromkeys(("LEA", "ULEA"), _lea),
    **dict.fromkeys(("IMAD", "UIMAD"), _multiply),
    **dict.fromkeys(("LOP3", "ULOP3"), _logic),
    **dict.fromkeys(("SHF", "USHF"), _shift),
    **dict.fromkeys(("MOV", "UMOV", "R2UR"), _move),
    **dict.fromkeys(("SEL", "USEL"), _select),
    **dict.fromkeys(("ISETP", "UISETP"), _compare),
    "FSETP": _compare_floats,
    **dict.fromkeys(("PLOP3", "UPLOP3"), _predicates),
    **dict.fromkeys(("VIMNMX", "VIADDMNMX", "IMNMX"), _smaller),
    **dict.fromkeys(("S2R", "S2UR", "CS2R"), _special),
    **dict.fromkeys(("LDC", "ULDC"), _load_constant),
    **dict.fromkeys(("VOTE", "VOTEU"), _vote),
    "ELECT": _elect,
    "FCHK": _divides,
    "USETMAXREG": _granted,
    "I2F": _to_float,
    "F2I": _from_float,
    "MUFU": _function,
    "HFMA2": _halves,
    "PRMT": _permute,
    "IABS": _absolute,
    "SHFL": _shuffle,
}
