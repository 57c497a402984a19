"""The PTX in a fat binary, the container in which nvcc puts what it makes for each GPU.

Its layout is not documented: a head of 16 bytes, then entries, each with a head that says its kind, its length and the
architecture. An entry of PTX is text, unless nvcc compressed it.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import NamedTuple

_MAGIC, _PTX, _LZ4, _ZSTD = 0xBA55ED50, 1, 0x2000, 0x8000
MOST_BEFORE = 1 << 16
"""A text of PTX says its version within so many bytes: comments may stand before."""
_HEAD, _ENTRY = struct.Struct("<IHHQ"), struct.Struct("<HHIQ")


class Ptx(NamedTuple):
    """A text and the architecture that it is made for, 90 for compute_90."""

    arch: int
    text: str


class NoPtx(ValueError):
    """A fat binary without a PTX text that the simulator can read."""


def ptx_in(binary: bytes, arch: int) -> str:
    """The text for the newest architecture up to this one; `binary` may be a text itself. Raises NoPtx."""
    if b".version" in binary[:MOST_BEFORE] and not binary.startswith(_MAGIC.to_bytes(4, "little")):
        return binary.decode(errors="replace")
    found, compressed = [], False
    for kind, for_arch, flags, payload in _entries(binary):
        if kind != _PTX:
            continue
        text = _expanded(payload) if flags & _ZSTD else None if flags & _LZ4 else payload
        if text is None:
            compressed = True
        else:
            found.append(Ptx(for_arch, text.rstrip(b"\0").decode(errors="replace")))
    fitting = [each for each in found if each.arch <= arch]
    if fitting:
        return max(fitting, key=lambda each: each.arch).text
    if found:
        made = ", ".join(f"compute_{each.arch}" for each in found)
        raise NoPtx(f"its kernels are made for {made}, and the GPU asked for is sm_{arch}: give --arch")
    if compressed:
        raise NoPtx("its PTX is compressed: build it with nvcc --no-compress")
    raise NoPtx(
        f"it has no PTX, only machine code: build it with nvcc -arch=compute_{arch} -code=compute_{arch} --no-compress"
    )


def _entries(binary: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """Of each entry its kind, architecture, flags and bytes."""
    magic, _, head, size = _HEAD.unpack_from(binary.ljust(_HEAD.size))
    if magic != _MAGIC:
        raise NoPtx("it has another kind of binary than the nvcc of CUDA 11 to 13 makes")
    at, end = head, head + size
    while at < end:
        kind, _, length, payload = _ENTRY.unpack_from(binary, at)
        (used,) = struct.unpack_from("<I", binary, at + 16)  # of a compressed one
        (arch,) = struct.unpack_from("<I", binary, at + 28)
        (flags,) = struct.unpack_from("<Q", binary, at + 40)
        yield kind, arch, flags, binary[at + length :][: used or payload]
        at += length + payload


def _expanded(payload: bytes) -> bytes | None:
    """What zstd compressed, where something here can read it."""
    with suppress(ImportError):
        return import_module("compression.zstd").decompress(payload)
    with suppress(ImportError):
        return import_module("zstandard").ZstdDecompressor().decompressobj().decompress(payload)
    if not (tool := shutil.which("zstd")):
        return None
    return subprocess.run([tool, "-d", "-c"], input=payload, capture_output=True, check=False).stdout or None
