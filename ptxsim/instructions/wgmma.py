"""wgmma: matrix products of four warps, out of shared memory (PTX ISA, "Asynchronous Warpgroup Level Matrix
Instructions"), and stmatrix."""

import re
from collections.abc import Callable
from functools import cache

import numpy as np

from ..gpus import WARP, WARPGROUP
from ..ground.memory import Miss
from ..lanes import Lanes
from ..observe import events
from ..ptx.opcode import UnsupportedInstruction
from ..ptx.program import Immediate, Instruction, Register, Vector
from ..races.shadow import Act
from ..units.access import Access, Memories, write
from ..units.async_reads import CHUNK
from ..units.mbarriers import Hopper
from .descriptors import K_BYTES, KINDS, matrix
from .elements import values
from .memory import address_reader, constant
from .registry import Operands, on_machine
from .tensor import whole_warpgroups, whole_warps

M = 64


@on_machine("wgmma")
def wgmma(decoder: Operands, ins: Instruction) -> Callable:
    """wgmma.fence, .commit_group, .wait_group n, .mma_async."""
    text, pc = ins.opcode.text, decoder.pc
    if text.startswith("wgmma.fence"):
        return _fence
    if text.startswith("wgmma.commit_group"):
        return _commit
    if text.startswith("wgmma.wait_group"):
        keep = constant(ins.operands[0], "wgmma.wait_group")
        return lambda machine: _wait(machine, pc, keep)
    return _mma(decoder, ins)


def _fence(machine: Hopper) -> None:
    whole_warpgroups(machine, "wgmma.fence")
    machine.math.fence()


def _commit(machine: Hopper) -> None:
    whole_warpgroups(machine, "wgmma.commit_group")
    machine.math.commit()


def _wait(machine: Hopper, pc: int, keep: int) -> None:
    whole_warpgroups(machine, "wgmma.wait_group")
    machine.recorder.event(pc, events.WgmmaWait(keep))
    machine.math.wait(keep)


def _form(text: str) -> tuple[int, str, str, str]:
    """N, the type of the sums, and those of A and B."""
    shape = re.search(r"\.m64n(\d+)k(\d+)\.(f16|f32)\.(\w+)\.(\w+)", text)
    if not shape or shape[4] not in KINDS or shape[5] not in KINDS or ".sp." in text:
        raise UnsupportedInstruction(
            "wgmma is simulated for dense f16, bf16, tf32, e4m3 and e5m2 inputs with f32 or f16 sums, not for "
            "sparse ones (wgmma.mma_async.sp) or integers"
        )
    n = int(shape[1])
    if n % 8 or not 8 <= n <= 256:
        raise UnsupportedInstruction(f"the N of wgmma is a multiple of 8 up to 256, not {n}")
    return n, shape[3], shape[4], shape[5]


def _mma(decoder: Operands, ins: Instruction) -> Callable:
    """wgmma.mma_async.sync.aligned.m64nNk.d.a.b  D, A or its descriptor, B's descriptor, scale-d, imm-scale-a,
    imm-scale-b{, imm-trans-a, imm-trans-b}: D = A B + D, or A B where scale-d is false."""
    n, to, kind_a, kind_b = _form(ins.opcode.text)
    sums, a, b, scale_d, *rest = ins.operands
    signs = [constant(each, "the scale of a wgmma") for each in rest[:2]]
    trans = [constant(each, "the layout of a wgmma's operand") for each in rest[2:]]
    from_registers = isinstance(a, Vector)
    if len(trans) == 1 or (from_registers and trans):
        trans = [0, trans[-1]]
    trans_a, trans_b = (*trans, 0, 0)[:2]
    registers = [item.index for item in sums.items]
    held = frozenset(registers) | (
        frozenset(i.index for i in a.items if isinstance(i, Register)) if from_registers else set()
    )
    keep = decoder.source(scale_d, "pred") if isinstance(scale_d, Register) else None
    always = isinstance(scale_d, Immediate) and constant(scale_d, "scale-d") != 0
    read_sums = [decoder.source(item, "b32") for item in sums.items]
    write_sums = [decoder.target(item) for item in sums.items]
    read_a = [decoder.source(item, "b32") for item in a.items] if from_registers else None
    descriptor_a = None if from_registers else decoder.source(a, "b64")
    descriptor_b = decoder.source(b, "b64")
    order, dtype = _order(n, to), np.dtype(np.float32 if to == "f32" else np.float16)
    read_bytes = ((0 if from_registers else M) + n) * K_BYTES // WARPGROUP  # a warp's share
    pc = decoder.pc

    def step(machine: Hopper) -> None:
        warps = whole_warpgroups(machine, "wgmma.mma_async")
        machine.counters.add(pc, wgmma=warps, wgmma_shared_bytes=warps * read_bytes)
        machine.recorder.event(pc, events.Wgmma())
        count = machine.count()
        lanes = machine.active()
        numbers = machine.warp_of[lanes[::WARP]]
        first_b = machine.spread(descriptor_b(machine))[::WARP]
        first_a = machine.spread(descriptor_a(machine))[::WARP] if descriptor_a else first_b
        adds = np.full(count, always) if keep is None else machine.spread(keep(machine))
        if adds.any():
            machine.math.must_be_set(adds, pc, registers)
        old = _sums(machine, read_sums, order, dtype)
        old[~adds[::WARP]] = 0
        result = np.empty_like(old)
        groups = (
            numbers // machine.warps_per_block * machine.warps_per_block
            + numbers % machine.warps_per_block // WARPGROUP
        )
        reads = []
        for key in dict.fromkeys(zip(groups.tolist(), first_a.tolist(), first_b.tolist())):
            at = np.flatnonzero((groups == key[0]) & (first_a == key[1]) & (first_b == key[2]))
            base = int(machine.block_base[lanes[at[0] * WARP]]) // CHUNK
            B, chunks = _matrix(machine, key[2], n, kind_b, bool(trans_b), base, at[0], pc)
            rows = numbers[at] % machine.warps_per_block % WARPGROUP
            if read_a:
                A = _fragments(machine, [read(machine) for read in read_a], at, kind_a, count)
            else:
                whole, more = _matrix(machine, key[1], M, kind_a, bool(trans_a), base, at[0], pc)
                A, chunks = whole.reshape(WARPGROUP, 16, -1)[rows], np.union1d(chunks, more)
            reads.append((numbers[at], chunks))
            result[at] = np.matmul(A * float(signs[0]), B.T * float(signs[1])) + old[at]
        machine.math.issue(pc, reads, held)
        back = np.empty((warps, order.size), dtype)
        back[:, order.ravel()] = result.reshape(warps, -1)
        bits = back.reshape(count, -1).view(np.uint32)
        for i, put in enumerate(write_sums):
            put(machine, np.ascontiguousarray(bits[:, i]))

    return step


def _sums(machine: Lanes, reads: list[Callable], order: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """(warps, 16, n) out of the registers of D, as float64."""
    held = np.empty((machine.count(), len(reads)), np.uint32)
    for i, read in enumerate(reads):
        held[:, i] = read(machine)
    return held.view(dtype).reshape(-1, order.size).take(order, axis=1).astype(np.float64)


@cache
def _order(n: int, kind: str) -> np.ndarray:
    """Of the 16 x n sums of a warp, where each lies among its lanes' elements (PTX ISA, "Register Fragments and Shared
    Memory Matrix Layouts"): as in an mma.sync of 16 x 8, n / 8 times side by side."""
    lane = np.arange(WARP)[:, None]
    i = np.arange(n // 2)[None, :]
    rows, columns = lane // 4 + 8 * (i // 2 % 2), 8 * (i // 4) + 2 * (lane % 4) + i % 2
    order = np.empty((16, n), np.intp)
    order[rows, columns] = np.arange(rows.size).reshape(rows.shape)
    return order


def _fragments(
    machine: Lanes, registers: list[np.ndarray], at: np.ndarray, kind: str, count: int
) -> np.ndarray:
    """A (16 x k, for each of these warps) from the four registers of its lanes."""
    words = np.stack([machine.spread(each) for each in registers], axis=1).reshape(-1, WARP, 4)[at]
    elements = values(words, kind).reshape(len(at), WARP, -1)
    each = 4 // KINDS[kind]
    lane, i = np.arange(WARP)[:, None], np.arange(4 * each)[None, :]
    register = i // each
    rows = lane // 4 + 8 * (register % 2) + 0 * i
    columns = lane % 4 * each + i % each + 4 * each * (register // 2)
    A = np.empty((len(at), 16, 8 * each))
    A[:, rows, columns] = elements
    return A


def _matrix(
    machine: Hopper, descriptor: int, rows: int, kind: str, trans: bool, base: int, at: int, pc: int
) -> tuple[np.ndarray, np.ndarray]:
    """The numbers, and the chunks, of a matrix; what of it lies outside of shared memory is reported."""
    numbers, chunks, beyond = matrix(machine, descriptor, rows, kind, trans, base)
    if beyond:
        warp = np.arange(machine.count()) // WARP == at
        machine.missed(
            Miss("out-of-bounds", warp, lambda: f"wgmma reads {beyond}", "beyond-shared-memory"), pc
        )
    return numbers, chunks


# --------------------------------------------------------------------------- stmatrix


@on_machine("stmatrix")
def stmatrix(decoder: Operands, ins: Instruction) -> Callable:
    """stmatrix.sync.aligned.m8n8.{x1,x2,x4}{.trans}.shared.b16 [address], {registers}: ldmatrix, the other way."""
    ins.opcode.only("sync", "aligned", "m8n8", "x1", "x2", "x4", "trans", "shared", "shared::cta")
    trans = ins.opcode.has("trans")
    address = address_reader(decoder, ins.operands[0], wide=False)
    reads = [decoder.source(item, "b32") for item in getattr(ins.operands[1], "items", (ins.operands[1],))]
    array = decoder.code.shared_arrays.get(decoder.pc)
    half, word = (Access(decoder.pc, "shared", size, Act(False, True), array=array) for size in (2, 4))
    lane = np.arange(WARP)

    def step(machine: Memories) -> None:
        warps = whole_warps(machine)
        rows = machine.spread(address(machine)).reshape(warps, WARP)
        if (rows[:, : 8 * len(reads)] % CHUNK).any():
            warp = (rows[:, : 8 * len(reads)] % CHUNK).any(axis=1)
            words = "the rows of stmatrix begin at multiples of 16 bytes"
            raise Miss("misaligned", warp.repeat(WARP), lambda: words)
        for i, read in enumerate(reads):
            values, starts = machine.spread(read(machine)), rows[:, 8 * i : 8 * i + 8]
            if not trans:
                write(machine, word, (starts[:, lane // 4] + lane % 4 * 4).reshape(-1), values)
                continue
            for part in (0, 1):
                places = starts[:, lane % 4 * 2 + part] + lane // 4 * 2
                write(machine, half, places.reshape(-1), (values >> np.uint32(16 * part)).astype(np.uint16))

    return step
