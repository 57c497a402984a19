"""The runtime's rules without nvcc: questions as a program would ask them, with a kernel whose PTX is kept here."""

import struct
import zlib

import numpy as np

from ptxsim.program.arena import DEVICE
from ptxsim.program.context import Context
from ptxsim.program.devices import gpu_of
from ptxsim.program.memory import NO_STREAM
from ptxsim.program.progress import Progress
from ptxsim.program.report import Findings
from ptxsim.program.runtime import Runtime
from ptxsim.program.wire import Answer, Question

PTX = """
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 calls = 5;
.visible .entry copy(.param .u64 to, .param .u64 from, .param .u32 n)
.maxntid 512, 1, 1
{
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [to];
    ld.param.u64 %rd2, [from];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    atom.global.add.u32 %r3, [calls], 1;
    setp.ge.u32 %p, %r2, %r1;
    @%p bra $done;
    mul.wide.u32 %rd3, %r2, 4;
    add.s64 %rd4, %rd2, %rd3;
    add.s64 %rd5, %rd1, %rd3;
    ld.global.u32 %r4, [%rd4];
    st.global.u32 [%rd5], %r4;
$done:
    ret;
}
"""


def fat_binary(text: str, arch: int = 80, flags: int = 0, kind: int = 1) -> bytes:
    """As nvcc packs it."""
    compressed = zlib.crc32(text.encode()).to_bytes(4) if flags else b""  # nothing that could be read
    payload = compressed or text.encode() + b"\0" * (8 - len(text) % 8)
    head = struct.pack("<HHIQI", kind, 0x0101, 64, len(payload), len(compressed)) + b"\0" * 8
    entry = head + struct.pack("<IQQQ", arch, 0, flags, 0) + b"\0" * 8
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry) + len(payload)) + entry + payload


class Program:
    """One that has asked for its module, its kernel and its variable already."""

    def __init__(self, **how: bool) -> None:
        self.findings = Findings("kept.cu")
        self.context = Context(gpu_of(90), 90, self.findings)
        self.runtime = Runtime(self.context, Progress(60), **how)
        self.ask("hello", 1, 13000)
        (self.module,) = self.ask("module", 0, data=fat_binary(PTX)).numbers
        (self.kernel,) = self.ask("function", self.module, data=b"copy").numbers
        self.ask("variable", self.module, 777, 4, data=b"calls")

    def ask(self, what: str, *numbers: int, data: bytes = b"") -> Answer:
        return self.runtime.answer(Question(what, numbers, data))

    def allocate(self, size: int, kind: int = DEVICE) -> int:
        return self.ask("allocate", size, kind, 0).numbers[0]

    def filled(self, size: int) -> int:
        """An allocation in which zeros were written."""
        address = self.allocate(size)
        assert self.ask("fill", address, 0, size, 1, 0, 0).error == 0
        return address

    def copy(self, to: int, source: int, size: int, kind: int = 4, stream: int = NO_STREAM) -> int:
        return self.ask("copy", to, 0, source, 0, size, 1, kind, stream, 0).error

    def launch(
        self,
        to: int,
        source: int,
        count: int,
        block: int = 64,
        shared: int = 0,
        grid: int = 1,
        together: int = 0,
        stream: int = 0,
    ) -> Answer:
        how = (grid, 1, 1, block, 1, 1, shared, together, 0, 0, 0, stream, 0)
        return self.ask("launch", self.kernel, *how, data=struct.pack("<QQI", to, source, count))

    def words(self, address: int, count: int) -> np.ndarray:
        found = self.context.arena.find(address)
        return found.memory.data[address - found.address :][: 4 * count].view(np.uint32)

    def kinds(self) -> list[tuple[str, str]]:
        """Of the hazards that were found."""
        return [(each.hazard.kind, each.hazard.cause) for each in self.findings.report([], "", 0, 0).hazards]

    def conflicts(self) -> list[str]:
        return [each.message for each in self.findings.report([], "", 0, 0).conflicts]

    def refused(self) -> list[tuple[str, str, str]]:
        return [(each.call, each.error, each.why) for each in self.findings.report([], "", 0, 0).refused]
