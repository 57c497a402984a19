"""tcgen05.mma: products whose sums lie in tensor memory (PTX ISA, "TensorCore 5th Generation Family Instructions")."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..gpus import WARP
from ..ground.memory import Fault, Miss
from ..ground.tensor_cells import CELLS, COLUMNS, LANES
from ..ptx.opcode import UnsupportedInstruction
from ..ptx.program import Address, Instruction, Vector
from ..units.async_reads import CHUNK
from ..units.tensor_memory import Blackwell
from .descriptors import matrix
from .elements import values
from .memory import address_reader
from .registry import Operands, on_machine

K = 16
"""Of a product of 16-bit inputs."""
SWIZZLES = {0: 0, 2: 1, 4: 2, 6: 3}
"""Of a descriptor: bits 61 to 63 here, and the two bits 62 and 63 of wgmma that mean the same."""
TYPES = {0: "f16", 1: "bf16"}
"""Of A and B, by their bits."""


@dataclass(frozen=True)
class Product:
    """What an instruction descriptor says (PTX ISA, "Instruction descriptor")."""

    m: int
    n: int
    sums: str
    a: str
    b: str
    signs: tuple[int, int]
    transposed: tuple[bool, bool]


@dataclass(frozen=True, eq=False)
class Issue:
    """Of a product: the lane that starts it, the position of that among the active ones, and the blocks whose memory
    it uses: its own, or a pair."""

    machine: Blackwell
    pc: int
    at: int
    lane: int
    blocks: list[int]

    @property
    def in_pairs(self) -> bool:
        return len(self.blocks) == 2

    @property
    def name(self) -> str:
        return self.machine.launch.code.instructions[self.pc].opcode.root

    @property
    def bases(self) -> list[int]:
        """The first chunk of the shared memory of each block."""
        return [block * self.machine.shared.stride // CHUNK for block in self.blocks]

    def must_reach(self, beyond: str) -> None:
        """Tell what of its matrix lies outside of shared memory, if something does."""
        if beyond:
            one = np.arange(self.machine.count()) == self.at
            miss = Miss("out-of-bounds", one, lambda: f"{self.name} reads {beyond}", "beyond-shared-memory")
            self.machine.missed(miss, self.pc)

    def refuse(self, text: str, cause: str) -> Fault:
        return Fault("tensor-memory", text, self.at, cause)


@on_machine("tcgen05.mma")
def mma(decoder: Operands, ins: Instruction) -> Callable:
    """tcgen05.mma.cta_group::n.kind::f16 [d], a or [a], b, what{, lanes to leave out}, p: D = A B + D, or A B where p
    is false; `what`: the instruction descriptor. A comes from shared memory by a descriptor, or from tensor memory. In
    a pair each block has half of the rows of A and D, and of B half of N."""
    opcode = ins.opcode
    opcode.only("mma", "cta_group::1", "cta_group::2", "kind::f16")
    d, a, b, what, *left_out, p = ins.operands
    if not opcode.has("kind::f16") or not all(isinstance(each, Vector) for each in left_out):
        raise UnsupportedInstruction("of tcgen05.mma only .kind::f16 is simulated, without a scale of D")
    masks = [decoder.source(each, "b32") for vector in left_out for each in vector.items]
    to, adds = address_reader(decoder, d, wide=False), decoder.source(p, "pred")
    in_tensor_memory, in_pairs = isinstance(a, Address), opcode.has("cta_group::2")
    first = address_reader(decoder, a, wide=False) if isinstance(a, Address) else decoder.source(a, "b64")
    second, descriptor = decoder.source(b, "b64"), decoder.source(what, "b32")
    pc = decoder.pc

    def step(machine: Blackwell) -> None:
        if any(mask(machine).any() for mask in masks):
            raise Fault(
                "unsupported-instruction", "a tcgen05.mma that leaves out lanes of D is not simulated", 0
            )
        lanes = machine.active()
        numbers = (machine.spread(read(machine)).tolist() for read in (to, first, second, descriptor, adds))
        for at, (lane, place, of_a, of_b, bits, add) in enumerate(zip(lanes.tolist(), *numbers, strict=True)):
            issue = Issue(machine, pc, at, lane, machine.tensor.blocks(pc, lane, at, in_pairs))
            _multiply(issue, _product(issue, bits), place, of_a, of_b, in_tensor_memory, bool(add))

    return step


def _product(issue: Issue, bits: int) -> Product:
    sums, a, b = (bits >> 4 & 3), bits >> 7 & 7, bits >> 10 & 7
    m, n = (bits >> 24 & 31) << 4, (bits >> 17 & 63) << 3
    rows, unit = ((128, 256), 16) if issue.in_pairs else ((64, 128), 8)
    wrong = {
        "a sparse matrix (bits 0 to 2)": bits & 0b111,
        "bits 3, 6, 23 and 29, which are zero,": bits & (1 << 3 | 1 << 6 | 1 << 23 | 1 << 29),
        "a shift (bits 30 and 31)": bits >> 30,
        f"type {sums} of D": sums not in (0, 1),
        f"type {a} of A": a not in TYPES,
        f"type {b} of B": b not in TYPES,
        f"M = {m}, which is {rows[0]} or {rows[1]},": m not in rows,
        f"N = {n}, which is a multiple of {unit} up to 256,": n % unit or not unit <= n <= 256,
        "sums in f16 of inputs in bf16": sums == 0 and 1 in (a, b),
    }
    if found := next((name for name, bad in wrong.items() if bad), ""):
        text = f"the instruction descriptor {bits:#010x} of a tcgen05.mma has {found}"
        raise issue.refuse(text.rstrip(","), "bad-descriptor")
    signs = (-1 if bits >> 13 & 1 else 1, -1 if bits >> 14 & 1 else 1)
    transposed = (bool(bits >> 15 & 1), bool(bits >> 16 & 1))
    return Product(m, n, ("f16", "f32")[sums], TYPES[a], TYPES[b], signs, transposed)


def _multiply(
    issue: Issue, product: Product, place: int, of_a: int, of_b: int, in_tensor_memory: bool, adds: bool
) -> None:
    tensor = issue.machine.tensor
    cells = _cells(issue, place, product.m, product.n)
    B, chunks = _matrix(issue, of_b, product.n, product.b, product.transposed[1])
    read = np.zeros(0, np.int64)
    if in_tensor_memory:
        where = _cells(issue, of_a, product.m, K // 2, of_sums=False)
        read = where.ravel()
        A = values(np.ascontiguousarray(tensor.cells[where]), product.a).reshape(product.m, K)
    else:
        A, more = _matrix(issue, of_a, product.m, product.a, product.transposed[0])
        chunks = np.union1d(chunks, more)
    tensor.multiply(issue.pc, issue.lane, cells.ravel(), adds, read, chunks)
    dtype = np.dtype(np.float32 if product.sums == "f32" else np.float16)
    sums = np.matmul(A * float(product.signs[0]), B.T * float(product.signs[1]))
    if adds:
        old = tensor.cells[cells] if dtype.itemsize == 4 else tensor.cells[cells].astype(np.uint16)
        sums += old.view(dtype).astype(np.float64)
    tensor.cells[cells] = sums.astype(dtype).view(f"u{dtype.itemsize}").astype(np.uint32)


def _cells(issue: Issue, place: int, m: int, columns: int, of_sums: bool = True) -> np.ndarray:
    """The cells (m, columns) of a matrix in tensor memory: in a pair half of its rows in each block."""
    start, first, rows = place >> 16, place & 0xFFFF, m // len(issue.blocks)
    folded = rows == 64 and issue.in_pairs
    halves = rows == 64 and not issue.in_pairs
    if folded and not of_sums:
        raise UnsupportedInstruction("A of 128 rows of a pair, in tensor memory, is not simulated")
    if start >= 2 * LANES or start % WARP not in ((0, 16) if halves else (0,)):
        allowed = "0, or 16 where M = 64" if halves else "0"
        text = f"lane {start} in the address of a matrix of tcgen05.mma: it begins at lane {allowed}"
        raise issue.refuse(text, "bad-lane")
    lane, column = _layout(rows, columns, folded, start % WARP)
    return np.concatenate(cells_at(issue, lane, first + column))


def cells_at(issue: Issue, lane: np.ndarray, column: np.ndarray) -> list[np.ndarray]:
    """Of each block the cells at these places."""
    if column.max() >= COLUMNS:
        text = f"a matrix of {issue.name} reaches column {column.max()} of tensor memory, which has {COLUMNS}"
        raise issue.refuse(text, "columns-not-held")
    of_blocks = [block * CELLS + lane * COLUMNS + column for block in issue.blocks]
    for cells in of_blocks:
        issue.machine.tensor.must_be_held(issue.pc, np.array([issue.lane]), cells)
    return of_blocks


def _layout(rows: int, columns: int, folded: bool, start: int) -> tuple[np.ndarray, np.ndarray]:
    """For each number of a block's rows its lane and column: 128 rows lie in a lane each, 64 in half of the lanes, and
    64 of a pair beside each other (`folded`: the second half of N in lanes 64 to 127). From CUTLASS's
    mma_traits_sm100_frag.hpp, since the PTX ISA tells it by figures alone."""
    row, column = (
        np.arange(rows)[:, None] + np.zeros(columns, np.int64),
        np.arange(columns) + np.zeros((rows, 1), int),
    )
    if folded:
        return row + 64 * (column >= columns // 2), column % (columns // 2)
    return (row if rows == LANES else row % 16 + 32 * (row // 16) + start), column


def _matrix(
    issue: Issue, descriptor: int, rows: int, kind: str, transposed: bool
) -> tuple[np.ndarray, np.ndarray]:
    """A matrix in shared memory (rows, K), and the chunks that it lies in; in a pair half of the rows in each block, at
    the same place."""
    told, each = as_of_wgmma(issue, descriptor), rows // len(issue.blocks)
    parts = [matrix(issue.machine, told, each, kind, transposed, base) for base in issue.bases]
    numbers, chunks, (beyond, *_) = zip(*parts, strict=True)
    issue.must_reach(beyond)
    return np.concatenate(numbers), np.concatenate(chunks)


def as_of_wgmma(issue: Issue, descriptor: int) -> int:
    """The same matrix by a descriptor of wgmma (PTX ISA, "Shared memory descriptor")."""
    wrong = {
        "bits 46 to 48, which are 0b001,": descriptor >> 46 & 7 != 1,
        "a base offset (bits 49 to 51)": descriptor >> 49 & 7,
        "an absolute distance (bit 52)": descriptor >> 52 & 1,
        "bits 53 to 60, which are zero,": descriptor >> 53 & 0xFF,
        f"swizzle {descriptor >> 61}": descriptor >> 61 not in SWIZZLES,
        "bits 14, 15, 30 and 31, which are zero,": descriptor & (3 << 14 | 3 << 30),
    }
    if found := next((name for name, bad in wrong.items() if bad), ""):
        text = f"the descriptor {descriptor:#018x} of a matrix of {issue.name} has {found}"
        raise issue.refuse(text.rstrip(","), "bad-descriptor")
    return descriptor & (1 << 46) - 1 | SWIZZLES[descriptor >> 61] << 62
