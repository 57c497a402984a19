"""Names of a kernel's parameters in the debug information of its PTX (`nvcc -G`), which is DWARF 2 in numbers."""

import re
from collections.abc import Iterator

PARAMETER, POINTER, FUNCTION = 0x05, 0x0F, 0x2E
"""Tags."""
NAME, TYPE, LINKED = 0x03, 0x49, 0x2007
"""Attributes."""
FIXED = {
    0x01: 8,
    0x05: 2,
    0x06: 4,
    0x07: 8,
    0x0B: 1,
    0x0C: 1,
    0x0E: 4,
    0x10: 4,
    0x11: 1,
    0x12: 2,
    0x13: 4,
    0x17: 4,
    0x19: 0,
}
"""Bytes of the forms that always have as many."""
BLOCK1, STRING, NUMBERS = 0x0A, 0x08, (0x0D, 0x0F)
HEADER = 11
"""Bytes of a unit before its first entry."""

_NUMBER = re.compile(r"\.b(8|16|32|64)\s+([^\n]+)")

Entry = tuple[int, dict[int, bytes]]
"""A tag, and the bytes of each attribute."""


def parameters(text: str, entry: str) -> tuple[tuple[str, bool], ...]:
    """Each parameter's name, and whether it is a pointer; () where the text does not tell."""
    info, kinds = _section(text, ".debug_info"), _section(text, ".debug_abbrev")
    try:
        entries = dict(_entries(info, _kinds(kinds)))
    except (IndexError, KeyError, ValueError):  # of another version
        return ()
    found, inside = [], False
    for tag, attributes in entries.values():
        if tag == FUNCTION:
            inside = entry.encode() in (attributes.get(NAME), attributes.get(LINKED))
        elif inside and tag == PARAMETER and {NAME, TYPE} <= attributes.keys():
            of, _ = entries.get(int.from_bytes(attributes[TYPE], "little"), (0, {}))
            found.append((attributes[NAME].decode("utf-8", "replace"), of == POINTER))
        elif inside:  # its own variables
            break
    return tuple(found)


def _section(text: str, name: str) -> bytes:
    """Its bytes; what is the address of a label is 0."""
    whole = re.search(rf"\.section\s+{re.escape(name)}\s*\{{([^}}]*)\}}", text)
    data = bytearray()
    for bits, numbers in _NUMBER.findall(whole[1] if whole else ""):
        for number in map(str.strip, numbers.split(",")):
            value = int(number) if number.lstrip("-").isdecimal() else 0
            data += (value % (1 << int(bits))).to_bytes(int(bits) // 8, "little")
    return bytes(data)


def _kinds(data: bytes) -> dict[int, tuple[int, bool, list[tuple[int, int]]]]:
    """By its code, of a kind of entries: tag, whether others stand in it, attributes with their forms."""
    found, at = {}, 0
    while at < len(data) and data[at]:
        code, at = _number(data, at)
        tag, at = _number(data, at)
        nested, at, forms = bool(data[at]), at + 1, []
        while any(data[at : at + 2]):
            attribute, at = _number(data, at)
            form, at = _number(data, at)
            forms.append((attribute, form))
        found[code], at = (tag, nested, forms), at + 2
    return found


def _entries(
    data: bytes, kinds: dict[int, tuple[int, bool, list[tuple[int, int]]]]
) -> Iterator[tuple[int, Entry]]:
    """Of the first unit, by their places."""
    at = HEADER
    while at < len(data):
        begin = at
        code, at = _number(data, at)
        if not code:  # the end of what stands in another one
            continue
        tag, _, forms = kinds[code]
        attributes = {}
        for attribute, form in forms:
            first, at = _value(data, at, form)
            attributes[attribute] = data[first:at].rstrip(b"\0") if form == STRING else data[first:at]
        yield begin, (tag, attributes)


def _value(data: bytes, at: int, form: int) -> tuple[int, int]:
    """Where an attribute's bytes begin, and where what follows does."""
    if form in FIXED:
        return at, at + FIXED[form]
    if form == STRING:
        return at, data.index(0, at) + 1
    if form == BLOCK1:
        return at + 1, at + 1 + data[at]
    if form in NUMBERS:
        return at, _number(data, at)[1]
    raise ValueError(form)


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    value = shift = 0
    while True:
        byte, at = data[at], at + 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
