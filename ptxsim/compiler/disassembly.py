"""A cubin's machine code as a list of instructions: nvdisasm's text, and the control words in it.

From Volta on each instruction has 128 bits, and some of the upper ones are for the scheduler: how many cycles it waits
before the next instruction of the warp, and which of six scoreboards the instruction waits for and sets. NVIDIA does
not document them; the layout is that of Jia, Maggioni, Staiger and Scarpazza, "Dissecting the NVIDIA Volta GPU
Architecture via Microbenchmarking" (2018), section 2.
"""

import re
import struct
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ..ptx.program import MAIN_FILE
from .cache import ToolMissing

HOW_TO_GET_IT = (
    "nvdisasm, NVIDIA's disassembler, was not found. It is part of a CUDA toolkit, and a small package:\n"
    "    pip install nvidia-cuda-nvdisasm"
)
LITERALS = ".nv.constant2."
"""The section of constant bank 2; behind it stands the kernel's name."""
NO_BARRIER = 7
"""In a control word: the instruction sets no scoreboard."""

_FILE = re.compile(r'File "([^"]*)", line (\d+)')
_LABEL = re.compile(r"^(\.\w+):")
_INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;?\s*/\* 0x([0-9a-f]{16}) \*/")
_UPPER_HALF = re.compile(r"^\s*/\* 0x([0-9a-f]{16}) \*/")
_READ = re.compile(r"^\.text\.|//##|^\.\w+:|/\* 0x[0-9a-f]{16} \*/")
"""The lines that mean something here: a kernel's begin, a place in the source, a label, an instruction."""


class NvdisasmMissing(ToolMissing):
    """nvdisasm is not installed here; the message says what to do."""


@dataclass(frozen=True)
class Control:
    """What an instruction tells the scheduler: `stall` cycles until the warp's next one; whether another warp should
    come first (`yields`); the scoreboard that it sets and that is cleared when its result is there (`writes`), or when
    its operands have been read (`reads`); and those that it waits for. Scoreboards are numbered 0 to 5."""

    stall: int
    yields: bool
    writes: int | None
    reads: int | None
    waits: tuple[int, ...]

    def __str__(self) -> str:
        """In the columns that CuAssembler made usual: what it waits for, sets by reading and by writing, the stall."""
        waits = "".join(str(n) if n in self.waits else "-" for n in range(6))
        sets = ["-" if n is None else str(n) for n in (self.reads, self.writes)]
        return f"B{waits}:R{sets[0]}:W{sets[1]}:{'Y' if self.yields else '-'}:S{self.stall:02}"


@dataclass(frozen=True)
class SassInstruction:
    """One instruction at a byte address: its opcode with modifiers, its whole text with the guard, the learner's line,
    the line that called the function of that line, and where a branch goes (a byte address)."""

    address: int
    opcode: str
    text: str
    line: int
    call_line: int | None
    control: Control
    target: int | None = None


def control_of(upper: int) -> Control:
    """Read the upper 64 bits of an instruction."""
    bits = upper >> 41
    writes, reads = bits >> 5 & 7, bits >> 8 & 7
    return Control(
        stall=bits & 15,
        yields=not bits >> 4 & 1,
        writes=None if writes == NO_BARRIER else writes,
        reads=None if reads == NO_BARRIER else reads,
        waits=tuple(n for n in range(6) if bits >> 11 + n & 1),
    )


def disassemble(cubin: bytes, printed: Callable[[bytes], str] | None = None) -> str:
    """What `nvdisasm -c -gi -hex` prints of a cubin, as far as `parse` reads it; before it the kernels' literals.

    `printed` runs it in another way than here. Raises NvdisasmMissing, and RuntimeError with nvdisasm's own words.
    """
    lines = (printed or _printed)(cubin).splitlines()
    code = [re.sub(r"\s+", " ", line) for line in lines if _READ.search(line)]
    literals = [f"{name}: {data.hex()}" for name, data in _sections(cubin) if name.startswith(LITERALS)]
    return "\n".join(literals + code)


def _printed(cubin: bytes) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(cubin)
        done = subprocess.run(nvdisasm(str(file)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"nvdisasm cannot read the machine code: {done.stderr.strip()}")
    return done.stdout


def nvdisasm(file: str) -> list[str]:
    """The command that prints a file of machine code. Raises NvdisasmMissing."""
    return [_nvdisasm(), "-c", "-gi", "-hex", file]


def _sections(cubin: bytes) -> list[tuple[str, bytes]]:
    """The name and the bytes of each section of an ELF-64 file."""
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    length, count, names = struct.unpack_from("<3H", cubin, 0x3A)
    headers = [struct.unpack_from("<2I4Q", cubin, table + length * number) for number in range(count)]
    first = headers[names][4]
    return [
        (cubin[first + name : cubin.index(0, first + name)].decode(), cubin[offset : offset + size])
        for name, _, _, _, offset, size in headers
    ]


def literals_of(listing: str, entry: str) -> bytes:
    """Constant bank 2 of one kernel: numbers that no instruction has room for. Up to compute capability 8.9."""
    found = re.search(rf"^{re.escape(LITERALS + entry)}: (\w+)$", listing, re.MULTILINE)
    return bytes.fromhex(found[1]) if found else b""


@lru_cache(maxsize=64)
def instructions_of(listing: str, entry: str) -> tuple[SassInstruction, ...]:
    """The instructions of one kernel, up to its last one that is no padding. Raises ValueError without any."""
    found = parse(listing, entry)
    if not found:
        raise ValueError(f"the machine code has no kernel named {entry}")
    return found


@lru_cache(maxsize=1)
def _nvdisasm() -> str:
    from cuda import pathfinder

    found = pathfinder.find_nvidia_binary_utility("nvdisasm")
    if found is None:
        raise NvdisasmMissing(HOW_TO_GET_IT)
    return found


def parse(listing: str, entry: str) -> tuple[SassInstruction, ...]:
    """The instructions of one kernel in what `nvdisasm -c -gi -hex` prints."""
    labels: dict[str, int] = {}
    rows: list[tuple[int, str, int, int | None, int]] = []
    own: list[int] = []  # lines of the learner's file, the innermost first
    waiting: list[str] = []  # labels of the next instruction
    comes_new = inside = False
    for text in listing.splitlines():
        if text.startswith(".text."):
            inside = text == f".text.{entry}:"
        elif not inside:
            continue
        elif "//##" in text:
            own, comes_new = own * comes_new, True
            own += [int(line) for file, line in _FILE.findall(text) if Path(file).name == MAIN_FILE]
            own = list(dict.fromkeys(own))
        elif label := _LABEL.match(text):
            waiting.append(label[1])
        elif found := _INSTRUCTION.search(text):
            comes_new, address = False, int(found[1], 16)
            labels.update(dict.fromkeys(waiting, address))
            waiting.clear()
            rows.append((address, found[2], *_place(own), 0))
        elif rows and (upper := _UPPER_HALF.match(text)):
            rows[-1] = (*rows[-1][:4], int(upper[1], 16))
    made = [_instruction(row, labels) for row in rows]
    while made and (made[-1].opcode == "NOP" or made[-1].target == made[-1].address):
        made.pop()  # behind the last instruction stand a branch to itself and padding
    return tuple(made)


def _place(own: list[int]) -> tuple[int, int | None]:
    return (own[0] if own else 0), (own[1] if len(own) > 1 else None)


def _instruction(row: tuple, labels: dict[str, int]) -> SassInstruction:
    address, text, line, call_line, upper = row
    words = text.split()
    opcode = words[1] if words[0].startswith("@") else words[0]
    label = re.search(r"`\((\.\w+)\)", text)
    return SassInstruction(
        address, opcode, text, line, call_line, control_of(upper), labels.get(label[1]) if label else None
    )
