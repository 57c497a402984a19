"""What an instruction of machine code reads and writes: nvdisasm's text, taken apart.

The order of operands is nvdisasm's: results first, then sources, a guard in front ("@!P0"). Registers that an
instruction reads or writes several of (a pair for 64 bits, four for 128) are named by the first.
"""

import re
import struct
from dataclasses import dataclass, replace
from functools import lru_cache

from ..compiler.disassembly import Control, SassInstruction

ZERO_REGISTER, TRUE = 255, 7
"""RZ and URZ; PT and UPT."""
WIDE = {"64": 2, "128": 4, "M88": 1}

_GUARD = re.compile(r"@(!?)(U?)P(\d|T)\s+")
_REGISTER = re.compile(r"([-~|!]*)(UR|UP|R|P)(\d+|Z|T)\b")
_NUMBER = re.compile(r"[-+]?(0x[0-9a-f]+|\d+)$")
_CONSTANT = re.compile(r"([-~|]*)c\[(0x[0-9a-f]+)\]\[(?:(UR|R)(\d+|Z)\+?)?(-?0x[0-9a-f]+)?\]")
_ADDRESS = re.compile(r"(UR|R)(\d+|Z)(?:\.X\d+)?(?:\.(64|U32))?|([-+]*0x[0-9a-f]+)")


@dataclass(frozen=True)
class Operand:
    """`kind`: "R", "UR", "P" or "UP" (a register `number`), "imm" (`number`, of 32 bits), "const" (`bank`, `number` the
    byte, and perhaps a register), "mem" (an address), "SR" (a special register's `name`), "other".

    `terms` of an address: the registers that are added, as (kind, number, is a pair); `number` is added to them.
    """

    kind: str
    number: int = 0
    negated: bool = False  # -x of a number, !x of a predicate, ~x in logic
    absolute: bool = False
    reuse: bool = False
    bank: int = 0
    terms: tuple[tuple[str, int, bool], ...] = ()
    name: str = ""


@dataclass(frozen=True)
class Decoded:
    """`name` and `modifiers` of the opcode; the `guard`: (kind, number, negated), or None; `operands` in their order;
    `reads`: (operand's place among the sources, first register, how many, whether `.reuse` stands there);
    `width`: registers of a lane that a load brings or a store takes."""

    instruction: SassInstruction
    name: str
    modifiers: frozenset[str]
    guard: tuple[str, int, bool] | None
    operands: tuple[Operand, ...]
    reads: tuple[tuple[int, int, int, bool], ...]
    writes: tuple[int, int]
    width: int

    @property
    def control(self) -> Control:
        return self.instruction.control


def _split(text: str) -> list[str]:
    parts, depth, begin = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "[(") - (letter in ")]")
        if letter == "," and not depth:
            parts.append(text[begin:at])
            begin = at + 1
    return [part.strip() for part in [*parts, text[begin:]] if part.strip()]


def _number(digits: str, none: int) -> int:
    return none if digits in "ZT" else int(digits)


def _operand(text: str) -> Operand:
    text = text.strip()
    if text.startswith("desc["):
        text = text.partition("]")[2]
    if text.startswith("["):
        return _address(text)
    if found := _CONSTANT.match(text):
        terms = ((found[3], int(found[4]), False),) if found[3] and found[4] != "Z" else ()
        byte = int(found[5], 0) if found[5] else 0
        return Operand(
            "const",
            byte,
            "-" in found[1] or "~" in found[1],
            "|" in found[1],
            bank=int(found[2], 0),
            terms=terms,
        )
    if found := _REGISTER.match(text):
        kind = found[2]
        number = _number(found[3], TRUE if kind.endswith("P") else ZERO_REGISTER)
        return Operand(kind, number, bool(set("-~!") & set(found[1])), "|" in found[1], ".reuse" in text)
    if _NUMBER.match(text):
        return Operand("imm", int(text, 0) & 0xFFFFFFFF)
    if text.startswith("SR"):
        return Operand("SR", name=text)
    try:
        bits = struct.unpack(
            "<I", struct.pack("<f", float(text.replace("+INF", "inf").replace("-QNAN", "nan")))
        )[0]
        return Operand("imm", bits, name=text)
    except ValueError:
        return Operand("other", name=text)


def _address(text: str) -> Operand:
    terms: list[tuple[str, int, bool]] = []
    offset = 0
    for kind, number, wide, plain in _ADDRESS.findall(text):
        if plain:
            offset += int(plain.replace("+-", "-").replace("--", "").lstrip("+"), 0)
        else:
            terms.append((kind, _number(number, ZERO_REGISTER), wide == "64"))
    return Operand("mem", offset, terms=tuple(terms))


def _operand_width(name: str, modifiers: frozenset[str], place: int, width: int) -> int:
    """Registers that the source at this place is made of."""
    if name == "HMMA":
        return ((4, 2, 4) if "16816" in modifiers or "16832" in modifiers else (2, 1, 4))[min(place, 2)]
    if name == "IMAD" and ("WIDE" in modifiers or "HI" in modifiers):
        return 2 if place == 2 else 1
    if name in ("DFMA", "DADD", "DMUL"):
        return 2
    return width if name in ("STG", "STS", "STL", "ST", "STSM", "RED", "REDG", "ATOMS", "ATOMG") else 1


def _width(name: str, modifiers: frozenset[str]) -> int:
    if name in ("LDSM", "STSM"):
        return 4 if "4" in modifiers else 2 if "2" in modifiers else 1
    return 4 if "128" in modifiers else 2 if "64" in modifiers else 1


def _written(name: str, modifiers: frozenset[str], width: int) -> int:
    if name == "HMMA":
        return 4 if "F32" in modifiers else 2
    if name == "CS2R":
        return 1 if "32" in modifiers else 2
    if (name == "IMAD" and "WIDE" in modifiers) or name in ("DFMA", "DADD", "DMUL"):
        return 2
    return width if name in ("LDG", "LDS", "LDL", "LD", "LDSM", "LDC", "ULDC", "ATOMS", "ATOMG") else 1


STORES = frozenset(("STG", "STS", "STL", "ST", "STSM", "RED", "REDG", "EXIT", "BRA", "BAR", "LDGSTS", "NOP"))
"""Their operands are all sources."""


GLOBAL = frozenset(("LDG", "STG", "LD", "ST", "ATOMG", "RED", "REDG"))


def _extended(operand: Operand) -> Operand:
    """The address of 64 bits that `.E` asks for. On sm_75 nvdisasm names its first register, and does not say that it
    is a pair, or adds a register of 32 bits to a uniform pair."""
    terms = operand.terms
    if operand.kind != "mem" or any(pair for _, _, pair in terms):
        return operand
    alone = len(terms) == 1
    return replace(operand, terms=tuple((kind, number, alone or kind == "UR") for kind, number, _ in terms))


@lru_cache(maxsize=1 << 14)
def decode(instruction: SassInstruction) -> Decoded:
    """Take an instruction's text apart."""
    text = instruction.text
    guard = None
    if found := _GUARD.match(text):
        guard = (found[2] + "P", _number(found[3], TRUE), bool(found[1]))
        text = text[found.end() :]
    opcode, _, rest = text.partition(" ")
    name, *more = opcode.split(".")
    modifiers = frozenset(more)
    operands = tuple(map(_operand, _split(rest)))
    if name in GLOBAL and "E" in modifiers:
        operands = tuple(map(_extended, operands))
    width = _width(name, modifiers)
    sources = operands if name in STORES else operands[1:]
    reads: list[tuple[int, int, int, bool]] = []
    place = 0
    for operand in sources:
        if operand.kind == "mem":
            for kind, number, pair in operand.terms:
                if kind == "R" and number != ZERO_REGISTER:
                    reads.append((place, number, 1 + pair, False))
        elif operand.kind == "R" and operand.number != ZERO_REGISTER:
            reads.append(
                (place, operand.number, _operand_width(name, modifiers, place, width), operand.reuse)
            )
        if operand.kind not in ("P", "UP"):
            place += 1
    first = next((each for each in operands[:2] if each.kind in ("R", "UR")), None)
    result = first is not None and name not in STORES and first.kind == "R" and first.number != ZERO_REGISTER
    writes = (first.number if first and result else -1, _written(name, modifiers, width) if result else 0)
    return Decoded(instruction, name, modifiers, guard, operands, tuple(reads), writes, width)
