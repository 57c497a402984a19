"""Tensor cores: ldmatrix and mma.sync (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions"), and who holds
which element of a fragment."""

import re
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from ..gpus import WARP, WARPGROUP
from ..ground.memory import Fault
from ..lanes import Registers
from ..ptx.opcode import Opcode, UnsupportedInstruction
from ..ptx.program import Instruction, Register, Vector
from ..races.shadow import Act
from ..units.access import Access, Memories, read_rows
from ..units.barriers import warpgroup_of
from .elements import BITS, rounded, values
from .memory import address_reader
from .registry import Operands, on_machine


@cache
def fragment(operand: str, k: int = 16, bits: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the elements that each lane holds of an operand of mma.m16n8kK with inputs of 8, 16 or 32
    bits (PTX ISA, "Matrix Fragments for mma.m16n8k..."; all of them follow one rule).

    `operand` is "A" (16 x k), "B" (k x 8), or "C" (16 x 8; D is the same). Both arrays have shape (32, n): lane, then
    element in the order of its registers, those of a register from its low bits on.
    """
    lane = np.arange(WARP)[:, None]
    g, t = lane // 4, lane % 4
    of_register = 32 // bits
    if operand == "C":
        i = np.arange(4)[None, :]
        return g + 8 * (i // 2), 2 * t + i % 2
    register, i = np.divmod(np.arange((16 if operand == "A" else 8) * k // WARP)[None, :], of_register)
    if operand == "A":
        return g + 8 * (register % 2), of_register * (t + 4 * (register // 2)) + i
    return of_register * (t + 4 * register) + i, g + 0 * i


def whole_warps(machine: Registers) -> int:
    """Number of active warps; every lane of them must be there."""
    if machine.whole_warps and machine.whole_warps[0] is machine.idx:
        return machine.whole_warps[1]
    count = machine.count()
    lanes = machine.active()
    if (
        count % WARP
        or (machine.thread_of[lanes[::WARP]] % WARP).any()
        or (np.diff(machine.warp_of[lanes][::WARP]) == 0).any()
    ):
        text = "all 32 lanes of the warp must execute this instruction together"
        raise Fault("barrier-divergence", text, 0, "part-of-warp")
    machine.whole_warps = machine.idx, count // WARP
    return count // WARP


def whole_warpgroups(machine: Registers, name: str) -> int:
    """Number of active warps; every lane of their warpgroups must be there."""
    warps = whole_warps(machine)
    if machine.idx is None and machine.launch.threads % (WARPGROUP * WARP) == 0:
        return warps
    first = machine.active()[::WARP]  # of each warp
    groups = warpgroup_of(machine, first)
    parts = np.flatnonzero(np.bincount(groups)[groups] < WARPGROUP)
    if len(parts):
        mine = first[groups == groups[parts[0]]]
        text = _part_of_warpgroup(machine, name, mine)
        raise Fault("barrier-divergence", text, parts[0] * WARP, "part-of-warpgroup")
    return warps


def _part_of_warpgroup(machine: Registers, name: str, mine: np.ndarray) -> str:
    """In words: these warps (the first lane of each) execute an instruction of their warpgroup alone."""
    warps = (machine.thread_of[mine] // WARP).tolist()
    start, threads = warps[0] // WARPGROUP * WARPGROUP, machine.launch.threads
    text = (
        f"{name} is one instruction of a whole warpgroup, four warps of which the first is a multiple of {WARPGROUP}: "
        f"of warps {start} to {start + WARPGROUP - 1} only {', '.join(map(str, warps))} came to it. "
    )
    if (start + WARPGROUP) * WARP > threads:
        return text + f"The block has {threads} threads; give it a multiple of {WARPGROUP * WARP}"
    return (
        text
        + f"All threads from {start * WARP} to {(start + WARPGROUP) * WARP - 1} must take the same way to it"
    )


# --------------------------------------------------------------------------- ldmatrix


@on_machine("ldmatrix")
def ldmatrix(decoder: Operands, ins: Instruction) -> Callable:
    """ldmatrix.sync.aligned.m8n8.{x1,x2,x4}{.trans}.shared.b16: lanes 8i .. 8i+7 name the rows of matrix i.

    Lane t receives row t/4, columns 2(t%4) and the next, of each matrix; with .trans rows and columns change places.
    """
    ins.opcode.only("sync", "aligned", "m8n8", "x1", "x2", "x4", "trans", "shared", "shared::cta")
    count = next(int(m[1]) for m in ins.opcode.modifiers if m in ("x1", "x2", "x4"))
    trans = ins.opcode.has("trans")
    address = address_reader(decoder, ins.operands[1], wide=False)
    writes = [decoder.target(item) for item in getattr(ins.operands[0], "items", (ins.operands[0],))]
    access = Access(
        decoder.pc, "shared", 16, Act(True, False), array=decoder.code.shared_arrays.get(decoder.pc)
    )

    def step(machine: Memories) -> None:
        warps = whole_warps(machine)
        rows = machine.spread(address(machine)).reshape(warps, WARP)[:, : 8 * count]
        lanes = machine.active().reshape(warps, WARP)
        readers = [lanes[:, None, reader].repeat(count, axis=1).ravel() for reader in _readers(trans)]
        found = read_rows(machine, access, rows, lanes[:, : 8 * count], readers)
        elements = found.view(np.uint16).reshape(warps, count, 8, 8)
        if trans:
            elements = np.ascontiguousarray(elements.transpose(0, 1, 3, 2))
        data = elements.view(np.uint32).reshape(warps, count, WARP)
        for i, write in enumerate(writes):
            write(machine, np.ascontiguousarray(data[:, i]).reshape(-1))

    return step


def _readers(trans: bool) -> list[np.ndarray]:
    """Which lanes receive word j of row r (at position 4r + j): one lane, or two when the matrix is transposed."""
    if not trans:
        return [np.arange(WARP)]
    row, word = np.divmod(np.arange(WARP), 4)
    return [8 * word + row // 2, 8 * word + 4 + row // 2]


# --------------------------------------------------------------------------- mma


FORMS = {
    **{(kind, kind): ((8, 16), ("f32", "f16")[: 2 if kind == "f16" else 1]) for kind in ("f16", "bf16")},
    **{(a, b): ((16, 32), ("s32",)) for a in ("s8", "u8") for b in ("s8", "u8")},
    **{(a, b): ((32,), ("f32",)) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")},
    ("tf32", "tf32"): ((4, 8), ("f32",)),
}
"""By the types of A and B: k, and the types of the sums."""


@on_machine("mma")
def mma(decoder: Operands, ins: Instruction) -> Callable:
    """mma.sync.aligned.m16n8kK.row.col{.satfinite}.d.a.b.c: D = A B + C for a warp.

    Products are exact and the sum is rounded once; a GPU's tensor core rounds differently in the last bits.
    """
    return mma_together(decoder, [ins])


def mma_together(decoder: Operands, instructions: list[Instruction]) -> Callable:
    """The step of several mma of one opcode, of which none reads what another one writes."""
    opcode = instructions[0].opcode
    to, a, b, k = _checked(instructions[0])
    targets, *sources = zip(*(ins.operands for ins in instructions), strict=True)
    load_a = _loader(decoder, sources[0], a, "A", k)
    load_b = _loader(decoder, sources[1], b, "B", k)
    load_c = _loader(decoder, sources[2], to, "C", k)
    store = _storer(decoder, targets, to, k, opcode.has("satfinite"))

    def step(machine: Registers) -> None:
        warps = whole_warps(machine)
        store(machine, np.matmul(load_a(machine, warps), load_b(machine, warps)) + load_c(machine, warps))

    return step


def is_known(instruction: Instruction) -> bool:
    """Whether this mma is simulated."""
    try:
        return bool(_checked(instruction))
    except UnsupportedInstruction:
        return False


def _checked(ins: Instruction) -> tuple[str, str, str, int]:
    """What `_form` gives, for an mma with the operands that it must have. Raises UnsupportedInstruction."""
    to, a, b, k = _form(ins.opcode)
    sums = 128 * BITS[to] // 32 // WARP
    lengths = [sums, k * BITS[a] // 64, k * BITS[b] // 128, sums]
    if [len(operand.items) if isinstance(operand, Vector) else 0 for operand in ins.operands] != lengths:
        raise UnsupportedInstruction(
            "its operands are four lists of registers in braces: {} of D, {} of A, {} of B, {} of C".format(
                *lengths
            )
        )
    return to, a, b, k


@cache
def _form(opcode: Opcode) -> tuple[str, str, str, int]:
    """The types of D (and C), A and B, and k. Raises UnsupportedInstruction."""
    shape = re.fullmatch(
        r"mma\.sync\.aligned\.m16n8k(\d+)\.(row|col)\.(row|col)(\.satfinite)?\.(\w+)\.(\w+)\.(\w+)\.(\w+)",
        opcode.text,
    )
    to, a, b, c = shape.groups()[4:] if shape else ("", "", "", "")
    depths, kinds = FORMS.get((a, b), ((), ()))
    if not shape or int(shape[1]) not in depths or to not in kinds or c != to or (shape[4] and to != "s32"):
        raise UnsupportedInstruction(
            "mma.sync is simulated as m16n8k8 and k16 for f16 and bf16 inputs with f32, or f16, accumulators, k4 and "
            "k8 for tf32, k16 and k32 for s8 and u8 with s32, and k32 for e4m3 and e5m2 with f32"
        )
    if shape[2] + shape[3] != "rowcol":
        raise UnsupportedInstruction("mma.sync with these types is .row.col: A by rows, B by columns")
    return to, a, b, int(shape[1])


@cache
def _order(operand: str, k: int, bits: int) -> np.ndarray:
    """Where each element of a matrix lies among the lanes' elements."""
    rows, columns = fragment(operand, k, bits)
    order = np.empty({"A": (16, k), "B": (k, 8), "C": (16, 8)}[operand], np.intp)
    order[rows, columns] = np.arange(rows.size).reshape(rows.shape)
    return order


Known = tuple[np.ndarray | None, list[np.ndarray], np.ndarray]
"""Active lanes, registers, and the matrices that these are. A register's array is never written again: it is replaced,
so the same arrays are the same matrices."""
MOST_KNOWN, MOST_REGISTERS = 64, 1 << 18
"""Lists of fragments that are kept, and registers of each, over all lanes."""


def _key(operands: Sequence[Vector], kind: str, name: str, k: int) -> tuple:
    """What fragments are known by: their registers, and how their bits lie in matrices."""
    registers = tuple(item.index for each in operands for item in each.items if isinstance(item, Register))
    return registers, kind, name, k


def _keep(machine: Registers, key: tuple, matrices: np.ndarray) -> None:
    if machine.count() * len(key[0]) > MOST_REGISTERS:
        return
    if len(machine.fragments) == MOST_KNOWN:
        machine.fragments.clear()
    machine.fragments[key] = machine.idx, [machine.R[index] for index in key[0]], matrices


def _loader(decoder: Operands, operands: Sequence[Vector], kind: str, name: str, k: int) -> Callable:
    """Registers of all lanes to matrices (mma, warps, rows, columns) of float64; `name`: of the operand. Each fragment
    of A and B is used by several mma, and sums are those of earlier ones: they are read once."""
    each_once = list(dict.fromkeys(operands))
    which = [each_once.index(operand) for operand in operands]
    reads = [decoder.source(item, "b32") for operand in each_once for item in operand.items]
    order, key = _order(name, k, BITS[kind]), _key(each_once, kind, name, k)
    count, again = len(each_once), len(each_once) < len(operands)

    def read_matrices(machine: Registers, warps: int) -> np.ndarray:
        registers = np.empty((count, machine.count(), len(reads) // count), np.uint32)
        for i, read in enumerate(reads):
            registers[i * count // len(reads), :, i % (len(reads) // count)] = read(machine)
        matrices = values(registers, kind).reshape(count * warps, -1).take(order, axis=1)
        return matrices.reshape(count, warps, *order.shape)

    def load(machine: Registers, warps: int) -> np.ndarray:
        known: Known | None = machine.fragments.get(key)
        if (
            known
            and known[0] is machine.idx
            and all(machine.R[i] is held for i, held in zip(key[0], known[1]))
        ):
            matrices = known[2]
        else:
            matrices = read_matrices(machine, warps)
            if len(key[0]) == len(reads):  # none of them a constant
                _keep(machine, key, matrices)
        return matrices[which] if again else matrices

    return load


def _storer(decoder: Operands, targets: Sequence[Vector], kind: str, k: int, clips: bool) -> Callable:
    writes = [decoder.target(item) for target in targets for item in target.items]
    rows, columns = fragment("C")
    order, key = rows * 8 + columns, _key(targets, kind, "C", k)

    def store(machine: Registers, matrices: np.ndarray) -> None:
        sums = rounded(matrices, kind, clips)
        elements = sums.reshape(-1, 128).take(order, axis=1).reshape(len(targets), -1, 4).view(np.uint32)
        bits = np.ascontiguousarray(elements.transpose(0, 2, 1)).reshape(len(writes), -1)
        for write, each in zip(writes, bits, strict=True):
            write(machine, each)
        _keep(machine, key, sums.astype(np.float64))

    return store
